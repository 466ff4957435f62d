//! Garbled circuits between the parties: tables stream from the garbler to the evaluator.
//!
//! **Source**: aby, section III-C; [`quorate_garble`] for the gates. **Model**: semi-honest, 1 of 2.
//!
//! The garbler sends its tables in messages of 256 KiB as it makes them. It waits only for room at the evaluator, which
//! uses each message as it comes. Neither holds more than a few of them besides the labels of inputs and outputs and a
//! program's slots. Many instances go through in several lanes, so that the data under way fills a long line.
//!
//! No two gates of a session share a tweak under one key. Each stretch of gates that goes through one lane has a hash
//! of its own, whose key is the number that run, lane and use give ([`Tccr::segment`](quorate_crypto::Tccr::segment)).
//! Within it, tweaks count from 0.

use quorate_circuits::Program;
use quorate_engine::{Chunks, Ctx, Misuse, Result};
use quorate_gadgets::Labels as Matrix;
use quorate_garble::{Evaluator, Garbler, TABLE_BYTES, charge_evaluating, charge_garbling, table_bytes};

use crate::setup::Aby;
use crate::yao::{EVALUATOR, GARBLER, YaoLabels, unlike};

/// The number of bytes of tables in a message.
pub(crate) const MESSAGE_BYTES: usize = 256 << 10;
/// The number of bytes of tables that go through a lane, if there are instances for several lanes.
pub(crate) const LANE_BYTES: usize = 2 << 20;
/// The number of lanes side by side.
pub(crate) const LANES: usize = 8;
/// The number of instances that are garbled together.
const TOGETHER: usize = quorate_crypto::RUN;

/// Returns the chunks of instances that share a lane.
fn lanes(program: &Program, instances: usize) -> Chunks {
    let each = TABLE_BYTES * program.and_count().max(1) as usize;
    let chunk = (LANE_BYTES / each / TOGETHER * TOGETHER).max(TOGETHER);
    Chunks { len: instances, chunk, window: LANES }
}

impl Aby {
    /// Returns the labels of a circuit's outputs.
    pub(crate) async fn run_garbled(&self, ctx: &Ctx, program: &Program, inputs: &YaoLabels) -> Result<YaoLabels> {
        let (rows, instances) = inputs.shape();
        if rows != program.input_wires() {
            return Err(
                Misuse::Other { what: "a circuit with another number of input wires than rows of labels" }.into()
            );
        }
        if self.is_ahead() {
            // The garbler does not run these online, so a stream would wait for its progress.
            return self.run_ahead(ctx, program, inputs);
        }
        let lanes = lanes(program, instances);
        if lanes.count() <= 1 {
            return self.run_in_lane(ctx, program, inputs).await;
        }
        let mut outputs = YaoLabels::zeros(ctx.is_dry(), program.output_slots().len(), instances);
        let (aby, program) = (self.clone(), program.clone());
        let work = async move |ctx: Ctx, inputs: YaoLabels| aby.run_in_lane(&ctx, &program, &inputs).await;
        ctx.spread(
            lanes,
            |range| inputs.slice_lanes(range),
            work,
            |range, part| outputs.write_lanes_at(range.start, &part),
        )
        .await?;
        Ok(outputs)
    }

    async fn run_in_lane(&self, ctx: &Ctx, program: &Program, inputs: &YaoLabels) -> Result<YaoLabels> {
        match self.me {
            GARBLER => self.garble_in_lane(ctx, program, inputs).await,
            _ => self.evaluate_in_lane(ctx, program, inputs).await,
        }
    }

    async fn garble_in_lane(&self, ctx: &Ctx, program: &Program, inputs: &YaoLabels) -> Result<YaoLabels> {
        let hash = self.garbling.segment(ctx.randomness().instance());
        let Some(zero) = inputs.held() else {
            charge_garbling(program, inputs.shape().1);
            for length in messages(table_bytes(program, inputs.shape().1)) {
                ctx.send_bytes(EVALUATOR, length, |_| ()).await?;
            }
            return Ok(YaoLabels::zeros(true, program.output_slots().len(), inputs.shape().1));
        };
        let mut garbler = Garbler::new(program, &hash, &self.delta()?, 0, zero).map_err(unlike)?;
        for length in messages(garbler.bytes_left()) {
            let write = |tables: &mut [u8]| {
                garbler.garble(tables);
            };
            ctx.send_bytes(EVALUATOR, length, write).await?;
        }
        Ok(garbler.finish().map_err(unlike)?.into())
    }

    async fn evaluate_in_lane(&self, ctx: &Ctx, program: &Program, inputs: &YaoLabels) -> Result<YaoLabels> {
        let hash = self.garbling.segment(ctx.randomness().instance());
        let Some(active) = inputs.held() else {
            charge_evaluating(program, inputs.shape().1);
            for length in messages(table_bytes(program, inputs.shape().1)) {
                ctx.receive_bytes(GARBLER, length).await?;
            }
            return Ok(YaoLabels::zeros(true, program.output_slots().len(), inputs.shape().1));
        };
        let mut evaluator = Evaluator::new(program, &hash, 0, active).map_err(unlike)?;
        for length in messages(evaluator.bytes_left()) {
            evaluator.evaluate(&ctx.receive_bytes(GARBLER, length).await?).map_err(unlike)?;
        }
        Ok(evaluator.finish().map_err(unlike)?.into())
    }
}

/// Returns the lengths of the messages for `bytes` bytes.
pub(crate) fn messages(bytes: u64) -> impl Iterator<Item = usize> {
    let whole = bytes / MESSAGE_BYTES as u64;
    let rest = (bytes % MESSAGE_BYTES as u64) as usize;
    (0..whole).map(|_| MESSAGE_BYTES).chain((rest > 0).then_some(rest))
}
