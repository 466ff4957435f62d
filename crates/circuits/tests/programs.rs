//! Programs: independent ANDs within steps, and memory that depends on the width.

use crate::common::Random;
use quorate_circuits::{Circuit, Gate, Goal, Local, Order, Program, Sign, catalog};
use quorate_ring::Bits;

const ORDERS: [Order; 5] = [Order::Layers, Order::Runs(0), Order::Runs(1), Order::Runs(7), Order::Runs(64)];

/// Returns a circuit of random gates, some of them unused, with outputs that are inputs, constants and repeated.
fn random_circuit(seed: u64) -> Circuit {
    let mut random = Random(seed);
    let inputs = 1 + (random.word() % 9) as u32;
    let gates = random.word() % 300;
    let mut below = |wires: u64| (random.word() % wires) as u32;
    let gates: Vec<Gate> = (0..gates)
        .map(|i| {
            let wires = u64::from(inputs) + i;
            match below(8) {
                0..=2 => Gate::Xor(below(wires), below(wires)),
                3..=5 => Gate::And(below(wires), below(wires)),
                6 => Gate::Inv(below(wires)),
                _ => Gate::Constant(below(2) == 1),
            }
        })
        .collect();
    let wires = u64::from(inputs) + gates.len() as u64;
    let outputs: Vec<u32> = (0..7).map(|_| below(wires)).collect();
    Circuit::new(vec![inputs], gates, vec![3, 4], outputs).unwrap()
}

/// Evaluates gate by gate over wires, with a bool each.
fn defined(circuit: &Circuit, inputs: &[bool]) -> Vec<bool> {
    let mut wires = inputs.to_vec();
    for (_, gate) in circuit.gates() {
        wires.push(match gate {
            Gate::Xor(a, b) => wires[a as usize] ^ wires[b as usize],
            Gate::And(a, b) => wires[a as usize] & wires[b as usize],
            Gate::Inv(a) => !wires[a as usize],
            Gate::Constant(bit) => bit,
        });
    }
    circuit.output_wires().iter().map(|&wire| wires[wire as usize]).collect()
}

#[test]
fn random_circuits_give_the_same_in_every_order() {
    for seed in 0..300 {
        let circuit = random_circuit(seed);
        let rows = circuit.input_wires() as usize;
        let lanes = [0, 1, 63, 64, 65, 130, 512, 513, 1100][seed as usize % 9];
        let mut random = Random(seed + 1000);
        let inputs: Vec<bool> = (0..rows * lanes).map(|_| random.word() & 1 == 1).collect();
        let bits = Bits::from_bools(rows, lanes, &inputs);
        let mut expected = vec![false; 7 * lanes];
        for lane in 0..lanes {
            let inputs: Vec<bool> = (0..rows).map(|row| inputs[row * lanes + lane]).collect();
            for (row, bit) in defined(&circuit, &inputs).into_iter().enumerate() {
                expected[row * lanes + lane] = bit;
            }
        }
        for order in ORDERS {
            let program = Program::new(&circuit, order);
            assert_eq!(program.evaluate(&bits).unwrap().to_bools(), expected, "circuit {seed} in {order:?}");
            assert_eq!(program.and_count(), circuit.counts().and);
            steps_are_independent(&program);
        }
        assert_eq!(circuit.evaluate(&bits).unwrap().to_bools(), expected);
    }
}

fn steps_are_independent(program: &Program) {
    let mut gates = 0;
    for step in program.steps() {
        for (i, and) in step.ands.iter().enumerate() {
            let others = step.ands.iter().enumerate().filter(|&(j, _)| j != i);
            assert!(others.into_iter().all(|(_, other)| ![other.out, other.a, other.b].contains(&and.out)));
            assert!(and.out != and.a && and.out != and.b);
            assert!([and.out, and.a, and.b].into_iter().all(|slot| (slot as usize) < program.slots()));
        }
        gates += step.ands.len() as u64;
    }
    assert_eq!(gates, program.and_count());
}

#[test]
fn layers_are_as_few_as_the_depth_and_runs_as_short_as_asked() {
    for circuit in [catalog::aes128(), catalog::mul(32, Goal::Depth), catalog::add(64, Goal::Size)] {
        let layered = Program::new(&circuit, Order::Layers);
        let with_ands = layered.steps().filter(|step| !step.ands.is_empty()).count();
        assert_eq!(with_ands, circuit.depth());
        let layers: Vec<u64> = layered.steps().map(|step| step.ands.len() as u64).filter(|&ands| ands > 0).collect();
        assert_eq!(layers, circuit.layers());
        let runs = Program::new(&circuit, Order::Runs(16));
        assert!(runs.steps().all(|step| step.ands.len() <= 16));
    }
    // If there is a choice of gates, runs are full.
    let runs = Program::new(&catalog::aes128(), Order::Runs(16));
    assert!(runs.len() <= 6400 / 16 * 3 / 2, "{} runs", runs.len());
}

#[test]
fn memory_follows_the_width() {
    let slots = |circuit: &Circuit, order| Program::new(circuit, order).slots();
    let aes = catalog::aes128();
    assert!(slots(&aes, Order::Runs(1)) < 600, "{}", slots(&aes, Order::Runs(1)));
    assert!(slots(&aes, Order::Runs(16)) < 800, "{}", slots(&aes, Order::Runs(16)));
    // A hundred additions one after the other need no more slots than one.
    let mut b = quorate_circuits::Builder::new();
    let (mut x, y) = (b.input(32), b.input(32));
    for _ in 0..100 {
        x = b.add(&x, &y, Goal::Size);
    }
    let chain = b.finish(&[&x]).unwrap();
    assert!(slots(&chain, Order::Runs(1)) < 150, "{}", slots(&chain, Order::Runs(1)));
    // Layers run ahead into the next additions: they need more slots, but no more for a longer chain.
    assert!(slots(&chain, Order::Layers) < 600, "{}", slots(&chain, Order::Layers));
    assert!(slots(&catalog::less_than(64, Sign::Unsigned, Goal::Size), Order::Runs(8)) < 160);
}

#[test]
fn inputs_must_match() {
    let program = Program::new(&catalog::add(4, Goal::Size), Order::Layers);
    let error = program.evaluate(&Bits::zeros(7, 3)).unwrap_err();
    assert_eq!(error.to_string(), "the circuit has 8 input wires, and values for 7 were given");
    let shape = program.evaluate(&Bits::shape(8, 3)).unwrap();
    assert!(shape.is_shape() && (shape.rows(), shape.lanes()) == (4, 3));
}

#[test]
fn local_gates_may_reuse_what_they_read() {
    let program = Program::new(&catalog::mux(1), Order::Runs(1));
    let locals: Vec<Local> = program.steps().flat_map(|step| step.local.to_vec()).collect();
    assert_eq!((locals.len(), program.slots()), (2, 4));
}
