//! Refused inputs, detected changes, and labels and tables that must not repeat.

use crate::common::Sides;
use quorate_circuits::{Goal, Order, Program, catalog};
use quorate_garble::{Delta, Evaluator, GarbleError, Garbler, Labels, table_bytes, tweaks_used};
use quorate_ring::Bits;

fn one_and() -> Program {
    Program::new(&catalog::mux(1), Order::Runs(16))
}

#[test]
fn shapes_deltas_and_tweaks_are_checked() {
    let (program, mut sides) = (one_and(), Sides::new(1));
    let labels = sides.labels(4, 5);
    let shape = GarbleError::Shape { wires: 3, instances: 5, got_wires: 4, got_instances: 5 };
    assert_eq!(Garbler::new(&program, &sides.hash, &sides.delta, 0, &labels).err(), Some(shape));
    assert_eq!(Evaluator::new(&program, &sides.hash, 0, &labels).err(), Some(shape));
    let labels = sides.labels(3, 5);
    let tweak = GarbleError::Tweak { multiple: 4096 };
    assert_eq!(Garbler::new(&program, &sides.hash, &sides.delta, 1 << 11, &labels).err(), Some(tweak));
    assert_eq!(Evaluator::new(&program, &sides.hash, 4095, &labels).err(), Some(tweak));
    assert_eq!(Delta::from_correlation(6).err(), Some(GarbleError::EvenDelta));
    assert_eq!(Delta::from_correlation(7).unwrap().expose(), 7);
    assert_eq!(Delta::random().unwrap().expose() & 1, 1);
    let bits = Bits::zeros(3, 6);
    let shape = GarbleError::Shape { wires: 3, instances: 6, got_wires: 3, got_instances: 5 };
    assert_eq!(labels.encode(&sides.delta, &bits).err(), Some(shape));
    assert!(labels.open(&sides.delta, &Labels::zeros(3, 4)).is_err());
    assert!(labels.clone().xor_assign(&Labels::zeros(2, 5)).is_err());
    assert!(Labels::concat_wires(&[&labels, &Labels::zeros(1, 4)]).is_err());
    assert!(Labels::from_blocks(2, 3, vec![0; 5]).is_err());
}

#[test]
fn every_bit_of_delta_but_the_lowest_is_a_coin() {
    // A random bit stays the same over 128 draws with probability 2^-127.
    let deltas: Vec<u128> = (0..128).map(|_| Delta::random().unwrap().expose()).collect();
    let (ever, always) = deltas.iter().fold((0, u128::MAX), |(ever, always), delta| (ever | delta, always & delta));
    assert_eq!((ever, always), (u128::MAX, 1));
}

#[test]
fn labels_travel_as_bytes() {
    let labels = Sides::new(2).labels(3, 5);
    let mut bytes = vec![0; 3 * 5 * 16];
    labels.write_to(&mut bytes);
    assert!(Labels::from_bytes(3, 5, &bytes).unwrap() == labels);
    let error = Labels::from_bytes(3, 5, &bytes[1..]).unwrap_err();
    assert_eq!(error, GarbleError::LabelBytes { expected_bytes: 240, got_bytes: 239 });
    let error = Labels::from_bytes(usize::MAX, usize::MAX, &bytes).unwrap_err();
    assert_eq!(error, GarbleError::LabelBytes { expected_bytes: u64::MAX, got_bytes: 240 });
    let [first, rest] = [0..1, 1..3].map(|wires| wires.flat_map(|wire| labels.wire(wire).to_vec()).collect::<Vec<_>>());
    let parts = [Labels::from_blocks(1, 5, first), Labels::from_blocks(2, 5, rest)].map(Result::unwrap);
    assert!(Labels::concat_wires(&[&parts[0], &parts[1]]).unwrap() == labels);
}

#[test]
fn missing_and_surplus_tables_are_refused() {
    let (program, mut sides) = (one_and(), Sides::new(3));
    let zero = sides.labels(3, 5);
    let (tables, _) = sides.garble(&program, &zero, 0, 64);
    assert_eq!(tables.len(), 5 * 32);
    for len in 0..tables.len() {
        let error = sides.evaluate(&program, &zero, 0, &tables[..len], 48).unwrap_err();
        assert_eq!(error, GarbleError::MissingTables { missing_bytes: (tables.len() - len) as u64 });
    }
    let longer = [&tables[..], &[0]].concat();
    let error = sides.evaluate(&program, &zero, 0, &longer, 96).unwrap_err();
    assert_eq!(error, GarbleError::SurplusTables { bytes: 65, left_bytes: 64 });
    let mut garbler = Garbler::new(&program, &sides.hash, &sides.delta, 0, &zero).unwrap();
    garbler.garble(&mut [0; 33]);
    assert_eq!(garbler.finish().err(), Some(GarbleError::MissingTables { missing_bytes: 127 }));
}

/// A changed table gives the right label, if the changed half was not used, or none.
#[test]
fn a_changed_table_never_gives_the_wrong_label() {
    let program = Program::new(&catalog::mul(2, Goal::Size), Order::Runs(16));
    let mut sides = Sides::new(4);
    let inputs = sides.bits(4, 16);
    let zero = sides.labels(4, 16);
    let active = zero.encode(&sides.delta, &inputs).unwrap();
    let (tables, zero) = sides.garble(&program, &zero, 0, 4096);
    let right = zero.open(&sides.delta, &sides.evaluate(&program, &active, 0, &tables, 4096).unwrap()).unwrap();
    let (mut caught, mut harmless) = (0, 0);
    for at in 0..tables.len() {
        let mut changed = tables.clone();
        changed[at] ^= 1 << (at % 8);
        let outputs = sides.evaluate(&program, &active, 0, &changed, 4096).unwrap();
        match zero.open(&sides.delta, &outputs) {
            Err(error) => {
                assert_eq!(error, GarbleError::NotALabel);
                caught += 1;
            }
            Ok(bits) => {
                assert_eq!(bits.to_bools(), right.to_bools());
                harmless += 1;
            }
        }
    }
    // Each half is used if a colour is set: half of the time.
    assert!(caught > tables.len() / 4 && harmless > tables.len() / 4, "{caught} caught, {harmless} harmless");
}

#[test]
fn sides_that_differ_get_no_labels() {
    let (program, mut sides) = (one_and(), Sides::new(5));
    let zero = sides.labels(3, 64);
    let (tables, zero_out) = sides.garble(&program, &zero, 0, 4096);
    let other = sides.evaluate(&program, &zero, 4096, &tables, 4096).unwrap();
    assert_eq!(zero_out.open(&sides.delta, &other).err(), Some(GarbleError::NotALabel));
}

#[test]
fn labels_of_one_value_differ_from_instance_to_instance() {
    let program = Program::new(&catalog::mul(6, Goal::Size), Order::Runs(16));
    let mut sides = Sides::new(6);
    // All instances have the same input labels: their outputs differ only by their tweaks.
    let one = sides.labels(12, 1);
    let mut zero = Labels::zeros(12, 50);
    (0..12).for_each(|wire| zero.wire_mut(wire).fill(one.wire(wire)[0]));
    let active = zero.encode(&sides.delta, &Bits::constant(true, 12, 50)).unwrap();
    let (tables, _) = sides.garble(&program, &zero, 0, 1 << 14);
    let outputs = sides.evaluate(&program, &active, 0, &tables, 1 << 14).unwrap();
    // The lowest output is an AND of the inputs, and so are all others.
    let mut seen: Vec<u128> = outputs.blocks().to_vec();
    seen.extend(tables.chunks_exact(16).map(|row| u128::from_le_bytes(row.try_into().unwrap())));
    let all = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), all, "a label or a row of a table is there twice");
    // Another first tweak gives other tables.
    let (others, _) = sides.garble(&program, &zero, 1 << 12, 1 << 14);
    assert!(tables.chunks_exact(16).zip(others.chunks_exact(16)).all(|(row, other)| row != other));
}

#[test]
fn colours_of_active_labels_are_even() {
    let program = Program::new(&catalog::mul(8, Goal::Size), Order::Runs(16));
    let mut sides = Sides::new(7);
    let zero = sides.labels(16, 4000);
    let active = zero.encode(&sides.delta, &Bits::zeros(16, 4000)).unwrap();
    let (tables, _) = sides.garble(&program, &zero, 0, 1 << 16);
    let outputs = sides.evaluate(&program, &active, 0, &tables, 1 << 16).unwrap();
    for row in 0..8 {
        let ones: u32 = outputs.colours().words_of(row).iter().map(|word| word.count_ones()).sum();
        // Six standard deviations of 32.
        assert!((1810..=2190).contains(&ones), "{ones} of 4000 colours are set, and the value is always 0");
    }
}

#[test]
fn sizes_are_known_before() {
    let circuit = catalog::aes128();
    let program = Program::new(&circuit, Order::Runs(16));
    assert_eq!(table_bytes(&program, 1000), 6_400_000 * 32);
    assert_eq!(tweaks_used(&program, 1600), 100 * 6400 * 32);
    assert_eq!(tweaks_used(&program, 0), 0);
    assert!(tweaks_used(&program, 1) >= 2 * 6400 && tweaks_used(&program, 1).is_multiple_of(4096));
}

#[test]
fn secrets_are_not_printed() {
    let (program, mut sides) = (one_and(), Sides::new(8));
    let labels = sides.labels(3, 2);
    assert_eq!(format!("{:?}", sides.delta), "Delta(..)");
    assert_eq!(format!("{labels:?}"), "labels of 3 wires in 2 instances");
    let garbler = Garbler::new(&program, &sides.hash, &sides.delta, 0, &labels).unwrap();
    assert_eq!(garbler.bytes_left(), 64);
}
