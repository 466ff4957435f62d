//! The side that reads the tables.

use std::ops::Range;

use quorate_circuits::Program;
use quorate_crypto::Tccr;

use crate::slots::Slots;
use crate::walk::{Pack, Task, Walk};
use crate::{GarbleError, Labels};

/// Evaluates a garbled program on active labels, chunk by chunk.
pub struct Evaluator<'a> {
    walk: Walk<'a>,
    inputs: &'a Labels,
    slots: Slots,
    /// The first instance.
    first: usize,
    outputs: Labels,
    /// The beginning of a pack's tables whose end has not arrived yet.
    begun: Vec<u8>,
}

impl<'a> Evaluator<'a> {
    /// Begins an evaluation of the garbler's program, with its hash and first tweak, on the active labels of every
    /// input wire.
    ///
    /// # Errors
    /// [`GarbleError::Shape`], [`GarbleError::Tweak`].
    pub fn new(
        program: &'a Program,
        hash: &'a Tccr,
        first_tweak: u128,
        inputs: &'a Labels,
    ) -> Result<Evaluator<'a>, GarbleError> {
        Self::of_range(program, hash, first_tweak, inputs, 0..inputs.instances())
    }

    /// Begins as [`Evaluator::new`] does, for some of the instances only: whole batches of 16, and the last ones. All
    /// instances together have the tables that they have in one evaluation.
    pub(crate) fn of_range(
        program: &'a Program,
        hash: &'a Tccr,
        first_tweak: u128,
        inputs: &'a Labels,
        instances: Range<usize>,
    ) -> Result<Evaluator<'a>, GarbleError> {
        inputs.expect(program.input_wires(), inputs.instances())?;
        Ok(Evaluator {
            walk: Walk::new(program, instances.clone(), hash, first_tweak)?,
            slots: Slots::new(program, instances.len()),
            first: instances.start,
            outputs: Labels::zeros(program.output_slots().len(), instances.len()),
            inputs,
            begun: Vec::new(),
        })
    }

    /// Returns the bytes of tables that are still to come: a bound for the data to accept from the peer.
    pub fn bytes_left(&self) -> u64 {
        self.walk.bytes_left() - self.begun.len() as u64
    }

    /// Continues with the next tables, which may be cut anywhere.
    ///
    /// # Errors
    /// [`GarbleError::SurplusTables`], after which the evaluation cannot continue.
    pub fn evaluate(&mut self, tables: &[u8]) -> Result<(), GarbleError> {
        if tables.len() as u64 > self.bytes_left() {
            return Err(GarbleError::SurplusTables { bytes: tables.len(), left_bytes: self.bytes_left() });
        }
        let mut rest = tables;
        loop {
            match self.walk.next(!rest.is_empty()) {
                Task::Load(batch) => self.slots.load(self.inputs, batch),
                Task::Local(batch, gates) => self.slots.local(gates, batch, 0),
                Task::Pack(pack) => {
                    let wanted = pack.bytes() - self.begun.len();
                    let Some((ours, others)) = rest.split_at_checked(wanted) else {
                        self.begun.extend_from_slice(rest);
                        self.walk.undo(&pack);
                        return Ok(());
                    };
                    rest = others;
                    if self.begun.is_empty() {
                        self.pack(&pack, ours);
                    } else {
                        let mut whole = std::mem::take(&mut self.begun);
                        whole.extend_from_slice(ours);
                        self.pack(&pack, &whole);
                    }
                }
                Task::Store(batch) => {
                    self.slots.store(self.walk.program(), &mut self.outputs, batch, batch.first - self.first)
                }
                Task::Full | Task::Done => return Ok(()),
            }
        }
    }

    /// Returns the active labels of the outputs, after the last tables.
    ///
    /// # Errors
    /// [`GarbleError::MissingTables`] if some tables did not arrive.
    pub fn finish(mut self) -> Result<Labels, GarbleError> {
        self.evaluate(&[])?;
        match self.bytes_left() {
            0 => Ok(self.outputs),
            missing_bytes => Err(GarbleError::MissingTables { missing_bytes }),
        }
    }

    fn pack(&mut self, pack: &Pack, bytes: &[u8]) {
        let hash = self.walk.hash(pack.tweaks);
        self.slots.ands(pack, |inputs, out| match bytes.try_into() {
            Ok(tables) => hash.evaluate_ands(inputs, pack.tweaks, tables, out),
            Err(_) => hash.evaluate_ands(inputs, pack.tweaks, &pack.spread_live(bytes), out),
        });
    }
}
