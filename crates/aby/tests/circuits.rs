//! Circuits over `aby` equal the same circuits in the clear.

use crate::common::*;
use quorate_circuits::{Circuit, Goal, catalog};
use quorate_gadgets::circuit::{evaluate, in_rounds};
use quorate_ring::Bits;

fn check(name: &str, circuit: &Circuit, lanes: usize) {
    let wires = circuit.input_wires() as usize;
    let inputs: Vec<bool> = noise(7, wires * lanes).iter().map(|word| word & 1 == 1).collect();
    let clear = circuit.evaluate(&Bits::from_bools(wires, lanes, &inputs)).unwrap();
    let program = in_rounds(circuit);
    let opened = agreed(async |aby, ctx| {
        let x = share_bits(aby, ctx, wires, lanes, &inputs).await?;
        open_bits(aby, ctx, &evaluate(aby, ctx, &program, &x).await?).await
    });
    assert_eq!(opened, clear.to_bools(), "{name}, {lanes} lanes");
}

#[test]
fn arithmetic() {
    for width in [1, 7, 16] {
        for goal in [Goal::Size, Goal::Depth] {
            check("sum", &catalog::add(width, goal), 70);
            check("product", &catalog::mul(width, goal), 5);
        }
    }
}
