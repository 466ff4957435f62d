//! The traversal of a program that garbler and evaluator make in step.
//!
//! Instances are processed in batches of 16, the last ones in a batch of 1, 2, 4, 8 or 16 *lanes*, some of which may be
//! empty. Within a batch the program's steps follow each other. The ANDs of a step form *packs* of at most 16 (gate,
//! lane) pairs: one gate with 16 lanes, 16 gates with one. A pack is hashed together, and its tables are together: 16
//! bytes of T_G for each pair, then 16 bytes of T_E.

use std::ops::Range;

use quorate_circuits::{And, Local, Program};
use quorate_crypto::{RUN, SEGMENT_TWEAKS, TABLES_BYTES, Tables, Tccr};
use quorate_ring::meter::{Kernel, charge};

use crate::{GarbleError, LABEL_BYTES};

/// The bytes of a gate's tables: the two rows of half gates.
pub const TABLE_BYTES: usize = 32;

/// Tweaks of a pack: a run for each half.
const PACK_TWEAKS: u128 = 2 * RUN as u128;

/// Instances that are processed together.
#[derive(Clone, Copy)]
pub(crate) struct Batch {
    /// The first one.
    pub first: usize,
    /// The number of instances.
    pub live: usize,
    /// The number of lanes: a power of two, at most 16.
    pub lanes: usize,
}

/// ANDs that are hashed together.
#[derive(Clone, Copy)]
pub(crate) struct Pack<'a> {
    pub ands: &'a [And],
    /// The first tweak of each half.
    pub tweaks: [u128; 2],
    pub batch: Batch,
}

impl Pack<'_> {
    /// Returns the bytes of its tables.
    pub fn bytes(&self) -> usize {
        TABLE_BYTES * self.ands.len() * self.batch.live
    }

    /// Copies the tables of each gate and lane that is not empty: first all T_G, then all T_E.
    pub fn copy_live(&self, chunk: &mut [u8], tables: &Tables) {
        let (lane_bytes, live_bytes) = (LABEL_BYTES * self.batch.lanes, LABEL_BYTES * self.batch.live);
        let half = chunk.len() / 2;
        for (to, from) in chunk.chunks_exact_mut(half).zip(tables.chunks_exact(TABLES_BYTES / 2)) {
            for (to, from) in to.chunks_exact_mut(live_bytes).zip(from.chunks_exact(lane_bytes)) {
                to.copy_from_slice(&from[..live_bytes]);
            }
        }
    }

    /// Undoes [`copy_live`](Self::copy_live); the rest is zeros.
    pub fn spread_live(&self, chunk: &[u8]) -> Tables {
        let (lane_bytes, live_bytes) = (LABEL_BYTES * self.batch.lanes, LABEL_BYTES * self.batch.live);
        let mut tables = [0; TABLES_BYTES];
        for (from, to) in chunk.chunks_exact(chunk.len() / 2).zip(tables.chunks_exact_mut(TABLES_BYTES / 2)) {
            for (from, to) in from.chunks_exact(live_bytes).zip(to.chunks_exact_mut(lane_bytes)) {
                to[..live_bytes].copy_from_slice(from);
            }
        }
        tables
    }
}

/// The next task.
pub(crate) enum Task<'a> {
    /// Copy the inputs of a batch to their slots.
    Load(Batch),
    /// Run local gates.
    Local(Batch, &'a [Local]),
    /// Garble or evaluate ANDs.
    Pack(Pack<'a>),
    /// Copy the outputs of a batch from their slots.
    Store(Batch),
    /// The next task is a pack, but the caller wants none.
    Full,
    /// The end.
    Done,
}

/// The place within a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Load,
    Local,
    Ands(usize),
}

/// The position in a program, and the hash for that position.
pub(crate) struct Walk<'a> {
    program: &'a Program,
    /// The instances that are still to come.
    instances: Range<usize>,
    step: usize,
    place: Place,
    tweak: u128,
    bytes_left: u64,
    session_hash: &'a Tccr,
    segment: Option<(u128, Tccr)>,
}

impl<'a> Walk<'a> {
    /// Begins at an instance that is the first of a batch; `first_tweak` is that of instance 0.
    pub fn new(
        program: &'a Program,
        instances: Range<usize>,
        session_hash: &'a Tccr,
        first_tweak: u128,
    ) -> Result<Walk<'a>, GarbleError> {
        if !first_tweak.is_multiple_of(SEGMENT_TWEAKS) {
            return Err(GarbleError::Tweak { multiple: SEGMENT_TWEAKS });
        }
        debug_assert!(instances.start.is_multiple_of(RUN), "a batch has all its instances");
        Ok(Walk {
            program,
            bytes_left: table_bytes(program, instances.len()),
            tweak: first_tweak.wrapping_add(packs(program, instances.start) * PACK_TWEAKS),
            instances,
            step: 0,
            place: Place::Load,
            session_hash,
            segment: None,
        })
    }

    pub fn program(&self) -> &'a Program {
        self.program
    }

    /// Returns the next task; a pack only if `pack_wanted`.
    pub fn next(&mut self, pack_wanted: bool) -> Task<'a> {
        if self.instances.is_empty() {
            return Task::Done;
        }
        let batch = self.batch();
        loop {
            match self.place {
                Place::Load => {
                    self.place = Place::Local;
                    return Task::Load(batch);
                }
                Place::Local if self.step == self.program.len() => {
                    (self.instances.start, self.step, self.place) = (batch.first + batch.live, 0, Place::Load);
                    return Task::Store(batch);
                }
                Place::Local => {
                    self.place = Place::Ands(0);
                    return Task::Local(batch, self.program.step(self.step).local);
                }
                Place::Ands(from) => {
                    let rest = &self.program.step(self.step).ands[from..];
                    if rest.is_empty() {
                        (self.step, self.place) = (self.step + 1, Place::Local);
                        continue;
                    }
                    return if pack_wanted { self.pack(batch, from, rest) } else { Task::Full };
                }
            }
        }
    }

    fn pack(&mut self, batch: Batch, from: usize, rest: &'a [And]) -> Task<'a> {
        let ands = &rest[..rest.len().min(RUN / batch.lanes)];
        let tweaks = [self.tweak, self.tweak.wrapping_add(RUN as u128)];
        self.place = Place::Ands(from + ands.len());
        self.tweak = self.tweak.wrapping_add(PACK_TWEAKS);
        let pack = Pack { ands, tweaks, batch };
        self.bytes_left -= pack.bytes() as u64;
        Task::Pack(pack)
    }

    /// Goes back to before the last pack.
    pub fn undo(&mut self, pack: &Pack) {
        let Place::Ands(done) = self.place else { unreachable!("a pack came last") };
        self.place = Place::Ands(done - pack.ands.len());
        self.tweak = pack.tweaks[0];
        self.bytes_left += pack.bytes() as u64;
    }

    fn batch(&self) -> Batch {
        let live = self.instances.len().min(RUN);
        Batch { first: self.instances.start, live, lanes: live.next_power_of_two() }
    }

    /// Returns the hash whose key serves these tweaks.
    pub fn hash(&mut self, tweaks: [u128; 2]) -> &Tccr {
        let index = tweaks[0] / SEGMENT_TWEAKS;
        if self.segment.as_ref().is_none_or(|(of, _)| *of != index) {
            self.segment = None;
        }
        &self.segment.get_or_insert_with(|| (index, self.session_hash.segment(index))).1
    }

    /// Returns the bytes of tables from here to the end.
    pub fn bytes_left(&self) -> u64 {
        self.bytes_left
    }
}

/// Returns the bytes of all tables: 32 for each AND of each instance.
pub fn table_bytes(program: &Program, instances: usize) -> u64 {
    TABLE_BYTES as u64 * program.and_count() * instances as u64
}

/// Returns the number of packs.
fn packs(program: &Program, instances: usize) -> u128 {
    let in_a_batch =
        |lanes: usize| -> u128 { program.steps().map(|step| step.ands.len().div_ceil(RUN / lanes) as u128).sum() };
    let full = (instances / RUN) as u128 * u128::from(program.and_count());
    let rest = instances % RUN;
    full + if rest == 0 { 0 } else { in_a_batch(rest.next_power_of_two()) }
}

/// Returns the number of tweaks that a garbling takes from its first one on; a multiple of [`SEGMENT_TWEAKS`].
pub fn tweaks_used(program: &Program, instances: usize) -> u128 {
    (packs(program, instances) * PACK_TWEAKS).next_multiple_of(SEGMENT_TWEAKS)
}

/// Charges a dry run with garbling a program.
pub fn charge_garbling(program: &Program, instances: usize) {
    charge_gates(Kernel::Garble, program, instances);
}

/// Charges a dry run with evaluating a garbled program.
pub fn charge_evaluating(program: &Program, instances: usize) {
    charge_gates(Kernel::Evaluate, program, instances);
}

fn charge_gates(kernel: Kernel, program: &Program, instances: usize) {
    // A local gate reads two labels and writes one; inputs and outputs go to their slots and back.
    let rest = instances % RUN;
    let lanes = instances - rest + if rest == 0 { 0 } else { rest.next_power_of_two() };
    let labels = 3 * program.local_count() as usize + 2 * (program.input_wires() + program.output_slots().len());
    charge(Kernel::Stream, labels.saturating_mul(LABEL_BYTES * lanes));
    charge(kernel, usize::try_from(packs(program, instances)).unwrap_or(usize::MAX));
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_circuits::{Goal, Order, catalog};
    use quorate_crypto::SessionId;

    /// Returns the runs of tweaks that a garbling uses, in order.
    fn runs(program: &Program, instances: usize, first: u128) -> Vec<u128> {
        let hash = Tccr::new(&SessionId::from_bytes([0; 32]));
        let mut walk = Walk::new(program, 0..instances, &hash, first).unwrap();
        let mut runs = Vec::new();
        loop {
            match walk.next(true) {
                Task::Pack(pack) => {
                    assert!(!pack.ands.is_empty() && pack.ands.len() * pack.batch.lanes <= RUN);
                    assert_eq!(pack.tweaks[0] / SEGMENT_TWEAKS, (pack.tweaks[1] + RUN as u128 - 1) / SEGMENT_TWEAKS);
                    runs.extend(pack.tweaks);
                }
                Task::Done => return runs,
                _ => {}
            }
        }
    }

    #[test]
    fn no_tweak_is_used_twice_nor_beyond_what_is_said() {
        for order in [Order::Runs(16), Order::Runs(1), Order::Layers] {
            let program = Program::new(&catalog::mul(16, Goal::Depth), order);
            for instances in (0..40).chain([100, 131]) {
                let first = 7 << 64;
                let runs = runs(&program, instances, first);
                assert!(runs.windows(2).all(|pair| pair[1] - pair[0] == RUN as u128), "runs of tweaks overlap");
                let used = runs.last().map_or(0, |last| last + RUN as u128 - first);
                assert_eq!(used.next_multiple_of(SEGMENT_TWEAKS), tweaks_used(&program, instances));
                assert_eq!(runs.first().copied().unwrap_or(first), first);
            }
        }
    }

    #[test]
    fn a_pack_that_is_put_back_comes_again() {
        let program = Program::new(&catalog::add(8, Goal::Size), Order::Runs(16));
        let hash = Tccr::new(&SessionId::from_bytes([0; 32]));
        let mut walk = Walk::new(&program, 0..3, &hash, 0).unwrap();
        let mut packs = 0;
        loop {
            match walk.next(true) {
                Task::Pack(pack) => {
                    walk.undo(&pack);
                    let left = walk.bytes_left();
                    assert!(matches!(walk.next(false), Task::Full));
                    let Task::Pack(again) = walk.next(true) else { panic!("the pack does not come again") };
                    assert_eq!((again.ands, again.tweaks), (pack.ands, pack.tweaks));
                    assert_eq!(walk.bytes_left(), left - pack.bytes() as u64);
                    packs += 1;
                }
                Task::Done => break,
                _ => {}
            }
        }
        assert_eq!((packs, walk.bytes_left()), (7, 0));
    }
}
