//! Tables that are kept whole: the calling thread's threads share the instances of a circuit.

use std::cmp::Ordering;
use std::ops::Range;

use quorate_circuits::Program;
use quorate_crypto::{RUN, Tccr};
use quorate_ring::meter;
use quorate_ring::threads::{side_by_side, threads};

use crate::walk::{charge_evaluating, charge_garbling, table_bytes};
use crate::{Delta, Evaluator, GarbleError, Garbler, Labels};

/// Bytes of tables from which threads share the work.
const GRAIN_BYTES: u64 = 256 << 10;

/// Garbles all instances as [`Garbler::new`] and [`Garbler::garble`] do, and writes their tables. Returns the labels of
/// 0 of the outputs.
///
/// # Errors
/// Those of [`Garbler::new`]; [`GarbleError::MissingTables`], [`GarbleError::SurplusTables`] unless `tables` has room
/// for exactly the tables.
pub fn garble(
    program: &Program,
    hash: &Tccr,
    delta: &Delta,
    first_tweak: u128,
    inputs: &Labels,
    tables: &mut [u8],
) -> Result<Labels, GarbleError> {
    let (bytes, expected) = (tables.len(), table_bytes(program, inputs.instances()));
    match (bytes as u64).cmp(&expected) {
        Ordering::Less => return Err(GarbleError::MissingTables { missing_bytes: expected - bytes as u64 }),
        Ordering::Greater => return Err(GarbleError::SurplusTables { bytes, left_bytes: expected }),
        Ordering::Equal => {}
    }
    let mut rest = tables;
    let cut = |bytes| rest.split_off_mut(..bytes).unwrap_or_default();
    in_parts(program, inputs, cut, |instances, tables| {
        let mut garbler = Garbler::of_range(program, hash, delta, first_tweak, inputs, instances)?;
        garbler.garble(tables);
        garbler.finish()
    })
}

/// Evaluates all instances as [`Evaluator::new`] and [`Evaluator::evaluate`] do. `tables` gives a range of the bytes of
/// their tables, in pieces that may be cut anywhere. Returns the active labels of the outputs.
///
/// # Errors
/// Those of [`Evaluator::new`], [`Evaluator::evaluate`] and [`Evaluator::finish`].
pub fn evaluate<'t>(
    program: &Program,
    hash: &Tccr,
    first_tweak: u128,
    inputs: &Labels,
    tables: impl Fn(Range<usize>) -> Vec<&'t [u8]> + Sync,
) -> Result<Labels, GarbleError> {
    let mut from = 0;
    let cut = |bytes| {
        from += bytes;
        from - bytes..from
    };
    in_parts(program, inputs, cut, |instances, bytes| {
        let mut evaluator = Evaluator::of_range(program, hash, first_tweak, inputs, instances)?;
        tables(bytes).into_iter().try_for_each(|piece| evaluator.evaluate(piece))?;
        evaluator.finish()
    })
}

/// Charges a dry run with [`garble`].
pub fn charge_garble(program: &Program, instances: usize) {
    charge_shared(program, instances, || charge_garbling(program, instances));
}

/// Charges a dry run with [`evaluate`].
pub fn charge_evaluate(program: &Program, instances: usize) {
    charge_shared(program, instances, || charge_evaluating(program, instances));
}

fn charge_shared(program: &Program, instances: usize, charge: impl FnOnce()) {
    match is_shared(program, instances) {
        true => meter::shared(charge),
        false => charge(),
    }
}

/// Returns whether several threads share the instances, where there are several.
fn is_shared(program: &Program, instances: usize) -> bool {
    instances > RUN && table_bytes(program, instances) >= GRAIN_BYTES
}

/// Does `work` on parts of the instances side by side, each of whole batches or the last ones, with its tables; `cut`
/// takes the next bytes of tables.
fn in_parts<T: Send>(
    program: &Program,
    inputs: &Labels,
    mut cut: impl FnMut(usize) -> T,
    work: impl Fn(Range<usize>, T) -> Result<Labels, GarbleError> + Sync,
) -> Result<Labels, GarbleError> {
    let instances = inputs.instances();
    let threads = if is_shared(program, instances) { threads() } else { 1 };
    let each = instances.div_ceil(threads).next_multiple_of(RUN);
    if each >= instances {
        return work(0..instances, cut(table_bytes(program, instances) as usize));
    }
    let ranges: Vec<_> = (0..instances).step_by(each).map(|from| from..(from + each).min(instances)).collect();
    let mut done: Vec<_> = ranges.iter().map(|_| Ok(Labels::zeros(0, 0))).collect();
    let parts = ranges.iter().zip(&mut done).map(|(range, done)| {
        let tables = cut(table_bytes(program, range.len()) as usize);
        (range.clone(), tables, done)
    });
    side_by_side(parts.collect(), |(range, tables, done)| *done = work(range, tables));
    let mut outputs = Labels::zeros(program.output_slots().len(), instances);
    for (range, part) in ranges.into_iter().zip(done) {
        let part = part?;
        for wire in 0..part.wires() {
            outputs.wire_mut(wire)[range.clone()].copy_from_slice(part.wire(wire));
        }
    }
    Ok(outputs)
}
