//! Circuits that are garbled before their inputs are known.
//!
//! **Source**: aby, section IV, whose setup phase garbles. **Deviation**: labels of bits that enter from outside are
//! also drawn before, and sent when values are known. The paper garbles with the labels that its transfers give.
//! `docs/security/garbling.md` has the argument for inputs that are chosen after the tables are known. **Model**:
//! semi-honest, 1 of 2.
//!
//! The garbler runs the circuits of the online phase by itself, in the offline phase, on the same lanes, and so with
//! the same keys of the hash. Labels flow from one circuit to the next as online; labels of values from other sharings
//! are fresh. Afterwards the garbler keeps the labels of outputs of the circuits. The tables go to the evaluator, which
//! keeps them until it uses them. Online the garbler sends a label for each bit that enters, and has nothing to do for
//! a circuit.

use std::ops::Range;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use quorate_additive::stock::MISSING;
use quorate_circuits::Program;
use quorate_crypto::Tccr;
use quorate_engine::{Chunks, Ctx, Demand, Draw, Error, Held, Incoming, Ledger, Phase, Result};
use quorate_gadgets::Labels as _;
use quorate_garble::{LABEL_BYTES, Labels, TABLE_BYTES, table_bytes, whole};
use quorate_ring::meter::{self, Effort};

use crate::kind::Kind;
use crate::setup::Aby;
use crate::yao::circuits::{LANE_BYTES, LANES, MESSAGE_BYTES, messages};
use crate::yao::{EVALUATOR, GARBLER, YaoLabels, unlike};

/// The largest number of bytes of tables that are kept. Larger tables are streamed, since both parties would hold them.
const MOST_BYTES: usize = 1 << 30;

/// When circuits are garbled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Garbling {
    /// When they are used: tables are streamed and never kept.
    #[default]
    Streamed,
    /// With the correlations, if these are made ahead: tables are kept until they are used.
    Ahead,
}

/// The tables one after the other, at their places in the demand: all at the garbler, in messages at the evaluator.
#[derive(Default)]
struct Tables {
    made: Vec<u8>,
    received: Vec<Incoming>,
}

impl Tables {
    /// Returns a range of the bytes that the evaluator received, in pieces. It ends early where they end.
    fn pieces(&self, bytes: Range<usize>) -> Vec<&[u8]> {
        let messages = bytes.start / MESSAGE_BYTES..bytes.end.div_ceil(MESSAGE_BYTES).min(self.received.len());
        let piece = |message: usize| {
            let (all, start) = (&self.received[message], message * MESSAGE_BYTES);
            all.get(bytes.start.saturating_sub(start)..all.len().min(bytes.end - start)).unwrap_or_default()
        };
        messages.map(piece).collect()
    }
}

/// The state of circuits that are garbled ahead.
#[derive(Default)]
pub(crate) struct Garbled {
    pub garbling: Held<Garbling>,
    tables: RwLock<Tables>,
    /// The number of tables that the garbler has made.
    made: Held<usize>,
    /// The work of garbling the circuits of a dry run, which belongs to its offline phase.
    work: Held<Effort>,
}

impl Garbled {
    /// Gives access to the tables, for as many workers at a time as evaluate circuits.
    fn read(&self) -> RwLockReadGuard<'_, Tables> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Tables> {
        self.tables.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn clear(&self) {
        *self.write() = Tables::default();
        self.made.set(0);
        self.work.set(Effort::default());
    }
}

impl Aby {
    /// Chooses when circuits are garbled; it must be the same at both parties and in dry runs. The default is
    /// `Streamed`.
    pub fn set_garbling(&self, garbling: Garbling) {
        self.garbled.garbling.set(garbling);
    }

    /// Returns when the circuits of a demand, recorded with [`Garbling::Ahead`], are best garbled, if a byte of the
    /// offline phase counts `offline_weight`. It is ahead if that saves at least half of the online bytes, or takes no
    /// more in all. If tables take more than 1 GiB, it is streamed.
    pub fn garbling_for(demand: &Demand<Kind>, offline_weight: f64) -> Garbling {
        let bytes = |kind, each: usize| demand.totals().get(&kind).copied().unwrap_or(0).saturating_mul(each);
        let (tables, labels) = (bytes(Kind::GarbledAnd, TABLE_BYTES), bytes(Kind::EntryLabel, LABEL_BYTES));
        let saves = labels <= tables / 2 || offline_weight * tables as f64 + labels as f64 <= tables as f64;
        if saves && tables <= MOST_BYTES { Garbling::Ahead } else { Garbling::Streamed }
    }

    /// Returns whether this party garbles ahead, and has nothing to do for circuits online.
    pub fn garbles_alone(&self) -> bool {
        self.me == GARBLER && self.garbled.garbling.get() == Garbling::Ahead
    }

    /// Adds work of a dry run to the cost of garbling ahead, in the offline phase.
    pub fn defer(&self, work: &Effort) {
        let mut sum = self.garbled.work.get();
        sum += *work;
        self.garbled.work.set(sum);
    }

    /// Returns whether the circuits that run now are garbled with the correlations.
    pub(crate) fn is_ahead(&self) -> bool {
        self.garbled.garbling.get() == Garbling::Ahead && !matches!(*self.stock.ledger(), Ledger::OnDemand)
    }

    /// Garbles ahead, after the correlations, all circuits and conversions to labels that `online` will run, on the
    /// lanes of this run's online phase. `online` gets the garbler's context for work [alone](Ctx::is_alone), in which
    /// it may leave out everything else. Its result is the garbler's labels: online, circuits give the garbler shapes.
    /// Nothing is done if no circuit is demanded.
    ///
    /// # Errors
    /// Those of `online`; any error that ends a run.
    pub async fn garble_ahead<T>(&self, ctx: &Ctx, online: impl AsyncFnOnce(&Ctx) -> Result<T>) -> Result<Option<T>> {
        let wanted = match &*self.stock.ledger() {
            Ledger::Stocked(demand) => demand.totals().get(&Kind::GarbledAnd).copied(),
            _ => None,
        };
        let Some(tables) = wanted else { return Ok(None) };
        let mut made = None;
        if ctx.is_dry() {
            meter::fresh(tables * TABLE_BYTES);
            meter::charge_all(&self.garbled.work.take());
        } else {
            *self.garbled.write() = Tables::default();
        }
        if self.me == GARBLER && !ctx.is_dry() {
            self.garbled.write().made = vec![0; tables * TABLE_BYTES];
            made = Some(ctx.alone(Phase::Online, online)?);
            if self.garbled.made.get() != tables {
                return Err(Error::Bug { what: "circuits that were foreseen and not garbled" });
            }
        }
        self.hand_over(ctx, tables).await?;
        if self.me == GARBLER {
            self.garbled.clear();
        }
        Ok(made)
    }

    /// Sends the tables from the garbler to the evaluator, which keeps the messages.
    async fn hand_over(&self, ctx: &Ctx, tables: usize) -> Result<()> {
        let chunks = Chunks { len: tables, chunk: LANE_BYTES / TABLE_BYTES, window: LANES };
        let work = async |ctx: Ctx, range: Range<usize>| {
            let (mut at, mut received) = (range.start * TABLE_BYTES, Vec::new());
            for length in messages((range.len() * TABLE_BYTES) as u64) {
                let part = at..at + length;
                if self.me == GARBLER {
                    let write = |frame: &mut [u8]| frame.copy_from_slice(&self.garbled.read().made[part]);
                    ctx.send_bytes(EVALUATOR, length, write).await?;
                } else {
                    let message = ctx.receive_bytes(GARBLER, length).await?;
                    received.extend((!ctx.is_dry()).then_some(message));
                }
                at += length;
            }
            Ok(received)
        };
        ctx.stream_alike(chunks, work, |_, part| self.garbled.write().received.extend(part)).await
    }

    /// Returns the place of a draw in the stock; `None` in a dry run.
    fn place(&self, ctx: &Ctx, kind: &Kind, len: usize) -> Result<Option<Range<usize>>> {
        match self.stock.place(ctx, kind, len)? {
            Draw::Stock(range) => Ok(Some(range)),
            Draw::Recorded => Ok(None),
            Draw::Make => Err(Error::Bug { what: "tables made ahead in a run that streams them" }),
        }
    }

    /// Runs a circuit on tables that exist; or makes them, at the garbler alone. Online the garbler gets a shape: it
    /// already has the labels. No messages are sent, so the parties need not be in step: a garbler may leave such steps
    /// out.
    pub(crate) fn run_ahead(&self, ctx: &Ctx, program: &Program, inputs: &YaoLabels) -> Result<YaoLabels> {
        let (rows, instances) = (program.output_slots().len(), inputs.shape().1);
        let tables = table_bytes(program, instances) as usize / TABLE_BYTES;
        let place = self.place(ctx, &Kind::GarbledAnd, tables)?;
        let hash = self.garbling.segment(ctx.randomness().instance());
        match (place, inputs.held()) {
            (Some(tables), Some(zero)) if ctx.is_alone() => self.garble_at(program, &hash, zero, tables),
            (Some(tables), Some(active)) if self.me == EVALUATOR => self.evaluate(program, &hash, active, tables),
            (place, _) => {
                if place.is_none() {
                    self.charge(program, instances);
                }
                Ok(YaoLabels::zeros(true, rows, instances))
            }
        }
    }

    fn charge(&self, program: &Program, instances: usize) {
        if self.me == EVALUATOR {
            return whole::charge_evaluate(program, instances);
        }
        self.defer(&meter::deferred(|| whole::charge_garble(program, instances)));
    }

    fn evaluate(&self, program: &Program, hash: &Tccr, active: &Labels, tables: Range<usize>) -> Result<YaoLabels> {
        let (all, start) = (self.garbled.read(), tables.start * TABLE_BYTES);
        let pieces = |bytes: Range<usize>| all.pieces(start + bytes.start..start + bytes.end);
        Ok(whole::evaluate(program, hash, 0, active, pieces).map_err(unlike)?.into())
    }

    /// Makes the tables of a circuit, at the places from which they will be drawn.
    fn garble_at(&self, program: &Program, hash: &Tccr, zero: &Labels, tables: Range<usize>) -> Result<YaoLabels> {
        let mut all = self.garbled.write();
        let bytes = all.made.get_mut(tables.start * TABLE_BYTES..tables.end * TABLE_BYTES).ok_or(MISSING)?;
        let outputs = whole::garble(program, hash, &self.delta()?, 0, zero, bytes).map_err(unlike)?;
        self.garbled.made.set(self.garbled.made.get() + tables.len());
        Ok(outputs.into())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use quorate_circuits::{Goal, Order, catalog};
    use quorate_engine::Stocks;
    use quorate_engine::testing::parties;
    use quorate_engine::{Misuse, Party, Sharing, dry};
    use quorate_gadgets::{Family, Garbles, MakesAhead};
    use quorate_ring::Bits;

    use super::*;

    const REFUSAL: Error = Error::Misuse { what: Misuse::Other { what: "a refusal" } };
    /// The number of attempts that each party breaks off, and the largest number of attempts until both succeed
    /// together.
    const BROKEN_OFF: usize = 3;
    const MOST: usize = 50;

    /// Returns what this party has of an attempt, block by block: tables, or labels of 0 of bits that enter.
    fn held(aby: &Aby) -> Vec<u128> {
        let block = |bytes: &[u8]| u128::from_le_bytes(bytes.try_into().unwrap());
        match aby.me {
            GARBLER => aby.stock.made()[&Kind::EntryLabel].vectors[0].to_u128s(),
            _ => aby.garbled.read().received.iter().flat_map(|part| part.chunks_exact(16)).map(block).collect(),
        }
    }

    /// Computes the square of a public number on labels, five times; all of it twice, on the same labels.
    async fn square(aby: &Aby, ctx: &Ctx) -> Result<YaoLabels> {
        let program = Program::new(&catalog::mul(8, Goal::Size), Order::Runs(16));
        let bits = if ctx.is_dry() { Bits::shape(16, 5) } else { Bits::constant(true, 16, 5) };
        let labels = aby.bits_to_labels(ctx, &aby.public_bits(&bits)).await?;
        aby.garble(ctx, &program, &labels).await?;
        aby.garble(ctx, &program, &labels).await
    }

    /// Makes one attempt; what was held in it goes to `blocks`.
    fn attempt(
        party: &mut Party,
        (aby, demand): (&Aby, &Demand<Kind>),
        breaks_off: bool,
        blocks: &mut Vec<u128>,
    ) -> Result<Vec<bool>> {
        let mut run = party.begin_alone()?;
        let made = run.phase(Phase::Offline, async |ctx| {
            aby.make_all(ctx, demand.clone()).await?;
            let made = aby.garble_ahead(ctx, async |ctx: &Ctx| square(aby, ctx).await).await?;
            blocks.extend(held(aby));
            Ok(made)
        })?;
        let opened = run.phase(Phase::Online, async |ctx| {
            let here = square(aby, ctx).await?;
            let opened = aby.open_bits(ctx, &aby.labels_to_bits(&made.unwrap_or(here))?).await?;
            if breaks_off { Err(REFUSAL) } else { Ok(opened.to_bools()) }
        })?;
        run.finish();
        Ok(opened)
    }

    #[test]
    fn attempts_after_failed_ones_have_labels_and_tables_of_their_own() {
        let all = parties(2, |mut party| {
            let mut run = party.begin_alone().unwrap();
            let aby = run.phase(Phase::Offline, async |ctx| Aby::setup(ctx).await).unwrap();
            run.finish();
            let dry = Aby::dry(2, party.me()).unwrap();
            [&aby, &dry].into_iter().for_each(|aby| aby.set_garbling(Garbling::Ahead));
            dry.record_demand();
            dry::run(party.me(), 2, Phase::Online, async |ctx| square(&dry, ctx).await).unwrap();
            let (demand, mut blocks) = (dry.take_demand(), Vec::new());
            for tries in 0..MOST {
                let done = attempt(&mut party, (&aby, &demand), tries < BROKEN_OFF, &mut blocks);
                aby.forget();
                let Tables { made, received } = &*aby.garbled.read();
                assert!(aby.stock.made().is_empty() && made.is_empty() && received.is_empty());
                match done {
                    Ok(opened) => return (opened, blocks),
                    Err(error) => assert!(!error.is_final(), "{error}"),
                }
            }
            panic!("the parties do not find together");
        });
        // 255 squared is 1 modulo 2^8.
        let expected: Vec<bool> = (0..8 * 5).map(|i| i < 5).collect();
        // Labels of 16 bits, and twice a table of two blocks an AND, five times.
        let each = [5 * 16, 2 * 5 * 2 * catalog::mul(8, Goal::Size).counts().and as usize];
        for (me, (opened, blocks)) in all.into_iter().enumerate() {
            assert_eq!(opened, expected);
            assert!(blocks.len() >= 2 * each[me], "{} blocks", blocks.len());
            assert_eq!(
                blocks.iter().collect::<BTreeSet<_>>().len(),
                blocks.len(),
                "blocks of a failed attempt came again"
            );
        }
    }
}
