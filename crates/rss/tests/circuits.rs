//! Tests of circuits over `rss`: results equal those in the clear, rounds are the AND-depth, and bytes those of the
//! ANDs.

use crate::common::*;
use quorate_circuits::{Circuit, Gate, Goal, Program, Sign, catalog};
use quorate_engine::{Error, Sharing};
use quorate_gadgets::circuit::{evaluate, in_rounds};
use quorate_gadgets::{Gadgets, Garbles};
use quorate_ring::{Bits, Ring};

fn random_inputs(circuit: &Circuit, lanes: usize) -> Vec<bool> {
    noise(7, circuit.input_wires() as usize * lanes).iter().map(|word| word & 1 == 1).collect()
}

/// Returns the opened outputs of a run, those in the clear, and the run's online rounds and bytes of party 0.
fn both(n: usize, circuit: &Circuit, lanes: usize) -> ([Vec<bool>; 2], u32, u64) {
    let program = in_rounds(circuit);
    let (wires, inputs) = (circuit.input_wires() as usize, random_inputs(circuit, lanes));
    let clear = circuit.evaluate(&Bits::from_bools(wires, lanes, &inputs)).unwrap();
    let mut runs = run(n, async |rss, ctx| {
        let x = share_bits(rss, ctx, wires, lanes, &inputs).await?;
        let before = ctx.depth();
        let y = evaluate(rss, ctx, &program, &x).await?;
        let rounds = ctx.depth() - before;
        Ok((open_bits(rss, ctx, &y).await?, rounds))
    });
    let ((opened, rounds), costs) = runs.remove(0);
    ([opened, clear.to_bools()], rounds, costs.online.bytes())
}

#[test]
fn arithmetic_and_comparisons() {
    let goals = [Goal::Size, Goal::Depth];
    for goal in goals {
        for width in [1, 2, 7, 16] {
            let circuits = [
                catalog::add(width, goal),
                catalog::sub(width, goal),
                catalog::mul(width, goal),
                catalog::less_than(width, Sign::Signed, goal),
                catalog::equal(width),
                catalog::mux(width),
            ];
            for circuit in circuits {
                for lanes in [1, 65] {
                    let ([opened, clear], rounds, _) = both(3, &circuit, lanes);
                    assert_eq!(opened, clear, "{circuit:?}, {lanes} lanes");
                    assert_eq!(rounds as usize, circuit.depth(), "{circuit:?}");
                }
            }
        }
    }
    let ([opened, clear], ..) = both(5, &catalog::divide(8, Sign::Signed, Goal::Size), 40);
    assert_eq!(opened, clear);
}

/// Tests constants, inverters of inverters, an input as an output, and an output twice.
#[test]
fn every_kind_of_gate() {
    let gates = [
        Gate::Inv(0),
        Gate::Inv(2),
        Gate::Constant(true),
        Gate::Xor(2, 4),
        Gate::And(2, 5),
        Gate::Inv(6),
        Gate::And(7, 4),
        Gate::Constant(false),
        Gate::Xor(9, 8),
        Gate::And(9, 2),
    ];
    let outputs = vec![0, 3, 4, 5, 6, 7, 8, 9, 10, 10, 11, 1];
    let circuit = Circuit::new(vec![2], gates, vec![outputs.len() as u32], outputs).unwrap();
    for n in [3, 5, 7] {
        let ([opened, clear], ..) = both(n, &circuit, 130);
        assert_eq!(opened, clear, "n {n}");
    }
}

#[test]
fn aes_at_its_stated_cost() {
    let circuit = catalog::aes128();
    let lanes = 64;
    let ([opened, clear], rounds, _) = both(3, &circuit, lanes);
    assert_eq!(opened, clear);
    assert_eq!(rounds as usize, circuit.depth());
    let program = in_rounds(&circuit);
    let (_, costs) = dry_online(3, 0, &async |rss, ctx| {
        let inputs = rss.public_bits(&Bits::shape(circuit.input_wires() as usize, lanes));
        evaluate(rss, ctx, &program, &inputs).await
    });
    // One bit to one party for each AND.
    assert_eq!(costs.online.bytes(), circuit.counts().and * lanes as u64 / 8);
    assert_eq!(costs.online.rounds as usize, circuit.depth());
}

/// A long batch runs in chunks that run side by side.
#[test]
fn rounds_do_not_grow_with_the_batch() {
    let circuit = catalog::less_than(32, Sign::Unsigned, Goal::Depth);
    let lanes = 300_000;
    let program: Program = in_rounds(&circuit);
    let (_, costs) = dry_online(3, 0, &async |rss, ctx| {
        evaluate(rss, ctx, &program, &rss.public_bits(&Bits::shape(64, lanes))).await
    });
    assert_eq!(costs.online.rounds as usize, circuit.depth());
}

#[test]
fn other_numbers_of_inputs_are_refused() {
    let program = in_rounds(&catalog::add(4, Goal::Size));
    let refused = run(3, async |rss, ctx| {
        let inputs = rss.public_bits(&Bits::zeros(7, 5));
        Ok(evaluate(rss, ctx, &program, &inputs).await.map(|_| ()))
    });
    assert!(refused.iter().all(|(result, _)| matches!(result, Err(Error::Misuse { .. }))));
}

/// Tests numbers composed of bits, in every ring up to 8 bits and some wide ones. There are no labels.
#[test]
fn bits_compose_and_nothing_is_garbled() {
    for k in [1, 2, 3, 5, 8, 33, 64] {
        let ring = Ring::of(k);
        let values: Vec<u64> = noise(k.into(), 70).iter().map(|x| x & mask(k)).collect();
        let composed = agreed(3, async |rss, ctx| {
            let x = share(rss, ctx, ring, &values).await?;
            let bits = rss.bit_decompose(ctx, &x).await?;
            assert!(rss.bits_to_labels(ctx, &bits).await.is_err());
            open(rss, ctx, &rss.compose(ctx, &bits, ring).await?).await
        });
        assert_eq!(composed, values, "k {k}");
    }
}
