//! Garbled evaluations, compared with evaluations in the clear: every builder's circuit, published files, any batch.

use std::path::Path;

use crate::common::Sides;
use proptest::prelude::*;
use quorate_circuits::{
    Circuit, Direction, Extreme, Gate, Goal, Order, Program, Sign, bristol, catalog, from_rows, to_rows,
};

const ORDER: Order = Order::Runs(16);

fn builders(width: u32) -> Vec<(&'static str, Circuit)> {
    let mut all = vec![
        ("equal", catalog::equal(width)),
        ("is_zero", catalog::is_zero(width)),
        ("mux", catalog::mux(width)),
        ("swap_if", catalog::swap_if(width)),
        ("shift_by", catalog::shift_by(width, 3, Direction::Right(Sign::Signed))),
    ];
    for goal in [Goal::Size, Goal::Depth] {
        all.push(("add", catalog::add(width, goal)));
        all.push(("sub", catalog::sub(width, goal)));
        all.push(("neg", catalog::neg(width, goal)));
        all.push(("mul", catalog::mul(width, goal)));
        all.push(("square", catalog::square(width, goal)));
        all.push(("popcount", catalog::popcount(width, goal)));
        for sign in [Sign::Unsigned, Sign::Signed] {
            all.push(("mul_wide", catalog::mul_wide(width, sign, goal)));
            all.push(("less_than", catalog::less_than(width, sign, goal)));
            all.push(("divide", catalog::divide(width, sign, goal)));
            all.push(("extremum", catalog::extremum(5, width, Extreme::Max, sign, goal)));
        }
    }
    all
}

#[test]
fn every_builder() {
    let mut sides = Sides::new(1);
    for (width, instances) in [(1, 7), (2, 16), (3, 33), (8, 70), (13, 5), (32, 18), (64, 1)] {
        for (name, circuit) in builders(width) {
            sides.check(name, &circuit, ORDER, instances, (1 << 12, 1 << 12));
        }
    }
}

#[test]
fn every_batch_size() {
    let mut sides = Sides::new(2);
    let circuit = catalog::less_than(9, Sign::Signed, Goal::Depth);
    for instances in 0..=130 {
        sides.check("less_than", &circuit, ORDER, instances, (512, 512));
    }
}

#[test]
fn every_order_of_gates_and_any_cut_of_the_tables() {
    let mut sides = Sides::new(3);
    let circuit = catalog::mul(12, Goal::Depth);
    for order in [Order::Layers, Order::Runs(1), Order::Runs(5), ORDER] {
        for (instances, chunks) in
            [(3, (1, 7)), (16, (33, 1)), (21, (511, 513)), (40, (100_000, 32)), (1, (31, 90_000))]
        {
            sides.check("mul", &circuit, order, instances, chunks);
        }
    }
}

#[test]
fn aes_over_many_segments() {
    let mut sides = Sides::new(4);
    let circuit = catalog::aes128();
    sides.check("aes", &circuit, ORDER, 37, (1 << 16, 1 << 15));
    // FIPS 197, appendix C.1.
    let program = Program::new(&circuit, ORDER);
    let inputs = vec![vec![0x000102030405060708090a0b0c0d0e0f], vec![0x00112233445566778899aabbccddeeff]];
    let zero = sides.labels(256, 1);
    let active = zero.encode(&sides.delta, &to_rows(circuit.inputs(), &inputs)).unwrap();
    let (tables, zero) = sides.garble(&program, &zero, 0, 4096);
    assert_eq!(tables.len(), 6400 * 32);
    let active = sides.evaluate(&program, &active, 0, &tables, 4096).unwrap();
    let outputs = from_rows(circuit.outputs(), &zero.open(&sides.delta, &active).unwrap());
    assert_eq!(outputs, [[0x69c4e0d86a7b0430d8cdb78070b4c55a]]);
}

#[test]
fn constants_inputs_as_outputs_and_repeated_outputs() {
    let gates =
        [Gate::Constant(true), Gate::Constant(false), Gate::And(0, 2), Gate::And(2, 3), Gate::Inv(2), Gate::Xor(1, 1)];
    let outputs = vec![2, 3, 4, 5, 6, 7, 0, 0, 4];
    let circuit = Circuit::new(vec![2], gates, vec![9], outputs).unwrap();
    let mut sides = Sides::new(5);
    for instances in [1, 2, 3, 16, 20] {
        sides.check("constants", &circuit, ORDER, instances, (100, 100));
    }
    let wires = Circuit::new(vec![3], [], vec![2], vec![2, 0]).unwrap();
    sides.check("wires", &wires, ORDER, 5, (1, 1));
}

#[test]
#[ignore = "needs the published circuits"]
fn published_circuits() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/circuits");
    let answers = std::fs::read_to_string(root.join("known_answers.json")).unwrap();
    let answers: serde_json::Value = serde_json::from_str(&answers).unwrap();
    let number = |value: &serde_json::Value| u128::from_str_radix(value.as_str().unwrap(), 16).unwrap();
    let mut sides = Sides::new(6);
    let circuits = answers["circuits"].as_array().unwrap();
    assert!(circuits.len() >= 12);
    for known in circuits {
        let name = known["circuit"].as_str().unwrap();
        let circuit = bristol::read(&std::fs::read(root.join(name)).unwrap()).unwrap();
        let vectors = known["vectors"].as_array().unwrap();
        let column = |key: &str, group: usize| vectors.iter().map(|vector| number(&vector[key][group])).collect();
        let inputs: Vec<Vec<u128>> = (0..circuit.inputs().len()).map(|group| column("i", group)).collect();
        let expected: Vec<Vec<u128>> = (0..circuit.outputs().len()).map(|group| column("o", group)).collect();
        let inputs = to_rows(circuit.inputs(), &inputs);
        assert_eq!(from_rows(circuit.outputs(), &circuit.evaluate(&inputs).unwrap()), expected);
        sides.check_on(name, &circuit, &Program::new(&circuit, ORDER), &inputs, (1 << 14, 1 << 14));
    }
}

fn gate(wires: u32) -> impl Strategy<Value = Gate> {
    prop_oneof![
        2 => (0..wires, 0..wires).prop_map(|(a, b)| Gate::Xor(a, b)),
        3 => (0..wires, 0..wires).prop_map(|(a, b)| Gate::And(a, b)),
        1 => (0..wires).prop_map(Gate::Inv),
        1 => any::<bool>().prop_map(Gate::Constant),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_circuits(
        gates in (1u32..6, 0u32..120).prop_flat_map(|(inputs, count)| {
            let gates: Vec<_> = (inputs..inputs + count).map(gate).collect();
            (Just(inputs), gates, prop::collection::vec(0..inputs + count, 0..6))
        }),
        instances in 1usize..40,
        run in 1usize..20,
        chunks in (1usize..600, 1usize..600),
        seed in any::<u8>(),
    ) {
        let (inputs, gates, outputs) = gates;
        let circuit = Circuit::new(vec![inputs], gates, vec![outputs.len() as u32], outputs).unwrap();
        Sides::new(seed).check("random", &circuit, Order::Runs(run), instances, chunks);
    }
}
