//! The side that makes the tables.

use std::ops::Range;

use quorate_circuits::Program;
use quorate_crypto::{TABLES_BYTES, Tccr};

use crate::slots::Slots;
use crate::walk::{Pack, Task, Walk};
use crate::{Delta, GarbleError, Labels};

/// Garbles a program for all instances of its inputs, chunk by chunk.
pub struct Garbler<'a> {
    walk: Walk<'a>,
    delta: Delta,
    inputs: &'a Labels,
    slots: Slots,
    /// The first instance.
    first: usize,
    outputs: Labels,
    /// The end of a pack's tables whose beginning was in the last chunk.
    spilled: Vec<u8>,
}

impl<'a> Garbler<'a> {
    /// Begins a garbling. `inputs` are the labels of 0 of every input wire. `first_tweak` is a multiple of
    /// [`SEGMENT_TWEAKS`](quorate_crypto::SEGMENT_TWEAKS). From it on, no other use of this hash in the session may
    /// have one of the next [`tweaks_used`](crate::tweaks_used) tweaks.
    ///
    /// # Errors
    /// [`GarbleError::Shape`], [`GarbleError::Tweak`].
    pub fn new(
        program: &'a Program,
        hash: &'a Tccr,
        delta: &Delta,
        first_tweak: u128,
        inputs: &'a Labels,
    ) -> Result<Garbler<'a>, GarbleError> {
        Self::of_range(program, hash, delta, first_tweak, inputs, 0..inputs.instances())
    }

    /// Begins as [`Garbler::new`] does, for some of the instances only: whole batches of 16, and the last ones. All
    /// instances together have the tables that they have in one garbling.
    pub(crate) fn of_range(
        program: &'a Program,
        hash: &'a Tccr,
        delta: &Delta,
        first_tweak: u128,
        inputs: &'a Labels,
        instances: Range<usize>,
    ) -> Result<Garbler<'a>, GarbleError> {
        inputs.expect(program.input_wires(), inputs.instances())?;
        Ok(Garbler {
            walk: Walk::new(program, instances.clone(), hash, first_tweak)?,
            delta: delta.clone(),
            slots: Slots::new(program, instances.len()),
            first: instances.start,
            outputs: Labels::zeros(program.output_slots().len(), instances.len()),
            inputs,
            spilled: Vec::new(),
        })
    }

    /// Returns the bytes of tables that are still to come.
    pub fn bytes_left(&self) -> u64 {
        self.walk.bytes_left() + self.spilled.len() as u64
    }

    /// Fills `chunk` with the next tables. Returns the number of bytes: the whole chunk, except for the last tables.
    pub fn garble(&mut self, chunk: &mut [u8]) -> usize {
        let mut written = self.drain(chunk);
        loop {
            match self.walk.next(written < chunk.len()) {
                Task::Load(batch) => self.slots.load(self.inputs, batch),
                Task::Local(batch, gates) => self.slots.local(gates, batch, self.delta.expose()),
                Task::Pack(pack) => {
                    let rest = &mut chunk[written..];
                    written += match rest.get_mut(..pack.bytes()) {
                        Some(whole) => self.pack(&pack, whole),
                        None => self.spill(&pack, rest),
                    };
                }
                Task::Store(batch) => {
                    self.slots.store(self.walk.program(), &mut self.outputs, batch, batch.first - self.first)
                }
                Task::Full | Task::Done => return written,
            }
        }
    }

    /// Returns the labels of 0 of the outputs, after the last tables.
    ///
    /// # Errors
    /// [`GarbleError::MissingTables`] if some tables were not taken.
    pub fn finish(mut self) -> Result<Labels, GarbleError> {
        self.garble(&mut []);
        match self.bytes_left() {
            0 => Ok(self.outputs),
            missing_bytes => Err(GarbleError::MissingTables { missing_bytes }),
        }
    }

    /// Moves the bytes that did not fit into the last chunk to this one.
    fn drain(&mut self, chunk: &mut [u8]) -> usize {
        let bytes = self.spilled.len().min(chunk.len());
        chunk[..bytes].copy_from_slice(&self.spilled[..bytes]);
        self.spilled.drain(..bytes);
        bytes
    }

    /// Garbles a pack that does not fit into a chunk, up to its end.
    fn spill(&mut self, pack: &Pack, rest: &mut [u8]) -> usize {
        let mut whole = vec![0; pack.bytes()];
        self.pack(pack, &mut whole);
        self.spilled = whole;
        self.drain(rest)
    }

    fn pack(&mut self, pack: &Pack, chunk: &mut [u8]) -> usize {
        let (hash, delta) = (self.walk.hash(pack.tweaks), self.delta.expose());
        self.slots.ands(pack, |inputs, out| match chunk.try_into() {
            Ok(tables) => hash.garble_ands(inputs, delta, pack.tweaks, tables, out),
            Err(_) => {
                let mut tables = [0; TABLES_BYTES];
                hash.garble_ands(inputs, delta, pack.tweaks, &mut tables, out);
                pack.copy_live(chunk, &tables);
            }
        });
        chunk.len()
    }
}
