//! Boolean circuits on shared bits: one round for every layer of ANDs.
//!
//! **Source**: GMW, as in section III-B of aby: XOR is local, an AND takes one multiplication over Z_2, and ANDs of one
//! layer share a round. **Model**: that of the sharing. Correlations: those of its ANDs. Rounds: the circuit's
//! AND-depth, whatever the batch. Timing depends only on the circuit and the batch.
//!
//! Inverters cost nothing and change no share. A slot is a place that holds the value of one wire for a while. For
//! every slot the party notes whether its value is held inverted, and corrects that where an AND reads it and at the
//! end.

use quorate_circuits::{And, Local, Order, Program, Slot};
use quorate_engine::{Chunks, Ctx, LinearBits, Misuse, Result, RowStep, Sharing, UpdateBits};
use quorate_ring::Bits;

use crate::stream;

/// Bytes of working memory per lane and slot, all shares together.
const BYTES_PER_SLOT: usize = 2;

/// Evaluates a circuit on these inputs and returns its outputs. Row i is wire i of the inputs or outputs; a lane is an
/// instance. Order the program by [`Order::Layers`]: every step is then a round.
///
/// # Errors
/// [`Misuse`] unless there is a row for every input wire; any error that ends a run.
pub async fn evaluate<S: Sharing>(s: &S, ctx: &Ctx, program: &Program, inputs: &S::B) -> Result<S::B> {
    let (rows, lanes) = s.bit_shape(inputs);
    if rows != program.input_wires() {
        return Err(Misuse::Other { what: "a circuit with another number of input wires than rows of bits" }.into());
    }
    let chunks = Chunks::of_bytes(lanes, program.slots() * BYTES_PER_SLOT);
    let program = program.clone();
    let work = async move |s: &S, ctx: &Ctx, inputs: S::B| run(s, ctx, &program, &inputs).await;
    stream::to_lanes(s, ctx, chunks, |range| stream::slice_lanes(s, inputs, range), work).await
}

/// Returns a circuit as a program whose steps are rounds.
pub fn in_rounds(circuit: &quorate_circuits::Circuit) -> Program {
    Program::new(circuit, Order::Layers)
}

async fn run<S: Sharing>(s: &S, ctx: &Ctx, program: &Program, inputs: &S::B) -> Result<S::B> {
    let spare = program.slots() - program.input_wires();
    let mut values = s.linear_bits(inputs, &LinearBits::ZerosBelow(spare));
    let mut inverted = vec![false; program.slots()];
    let (mut written, mut products): (Vec<Slot>, S::B) = (Vec::new(), rows(s, inputs, &[]));
    for step in program.steps() {
        written.iter().for_each(|&slot| inverted[slot as usize] = false);
        let local: Vec<RowStep> = step.local.iter().map(of_row).collect();
        s.update_bits(&mut values, &products, &UpdateBits::Steps(&written, &local));
        step.local.iter().for_each(|local| note(&mut inverted, local));
        written = step.ands.iter().map(|and| and.out).collect();
        let operand = |slot: fn(&And) -> Slot| {
            let slots: Vec<Slot> = step.ands.iter().map(slot).collect();
            upright(s, ctx, &values, &inverted, &slots)
        };
        products = match step.ands {
            [] => rows(s, inputs, &[]),
            _ => s.and(ctx, &operand(|and| and.a), &operand(|and| and.b)).await?,
        };
    }
    written.iter().for_each(|&slot| inverted[slot as usize] = false);
    s.update_bits(&mut values, &products, &UpdateBits::Steps(&written, &[]));
    Ok(upright(s, ctx, &values, &inverted, program.output_slots()))
}

/// Returns the row step of a local gate on a share; inversions are noted elsewhere.
fn of_row(local: &Local) -> RowStep {
    match *local {
        Local::Xor { out, a, b } => RowStep::Xor { out, a, b },
        Local::Inv { out, a } => RowStep::Copy { out, from: a },
        Local::Constant { out, .. } => RowStep::Clear { out },
    }
}

/// Notes whether the slot that a local gate writes is held inverted.
fn note(inverted: &mut [bool], local: &Local) {
    match *local {
        Local::Xor { out, a, b } => inverted[out as usize] = inverted[a as usize] ^ inverted[b as usize],
        Local::Inv { out, a } => inverted[out as usize] = !inverted[a as usize],
        Local::Constant { out, bit } => inverted[out as usize] = bit,
    }
}

fn rows<S: Sharing>(s: &S, x: &S::B, slots: &[Slot]) -> S::B {
    s.linear_bits(x, &LinearBits::GatherRows(slots))
}

/// Returns the true values of these slots, with inversions undone.
fn upright<S: Sharing>(s: &S, ctx: &Ctx, values: &S::B, inverted: &[bool], slots: &[Slot]) -> S::B {
    let held = rows(s, values, slots);
    let flips: Vec<bool> = slots.iter().map(|&slot| inverted[slot as usize]).collect();
    if !flips.contains(&true) {
        return held;
    }
    let lanes = s.bit_shape(values).1;
    let flips = if ctx.is_dry() { Bits::shape(flips.len(), lanes) } else { Bits::of_rows(&flips, lanes) };
    s.xor_public(&held, &flips)
}
