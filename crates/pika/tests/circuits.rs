//! Circuits over `pika` equal the same circuits in the clear.

use crate::common::*;
use quorate_circuits::{Goal, catalog};
use quorate_gadgets::circuit::{evaluate, in_rounds};
use quorate_ring::Bits;

#[test]
fn sums_and_products() {
    for (width, lanes) in [(1, 70), (7, 70), (16, 5)] {
        for circuit in
            [catalog::add(width, Goal::Size), catalog::add(width, Goal::Depth), catalog::mul(width, Goal::Depth)]
        {
            let wires = circuit.input_wires() as usize;
            let inputs: Vec<bool> = noise(7, wires * lanes).iter().map(|word| word & 1 == 1).collect();
            let clear = circuit.evaluate(&Bits::from_bools(wires, lanes, &inputs)).unwrap();
            let program = in_rounds(&circuit);
            let shown = agreed(async |s, ctx| {
                let x = share_bits(s, ctx, wires, lanes, &inputs).await?;
                open_bits(s, ctx, &evaluate(s, ctx, &program, &x).await?).await
            });
            assert_eq!(shown, clear.to_bools(), "{width} bits, {lanes} lanes");
        }
    }
}
