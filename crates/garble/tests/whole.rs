//! Tables that are kept whole are those that come in chunks, on any number of threads.

use std::ops::Range;

use quorate_circuits::{Circuit, Goal, Order, Program, catalog};
use quorate_garble::{GarbleError, table_bytes, whole};
use quorate_ring::threads::set_threads;

use crate::common::Sides;

const THREADS: [usize; 4] = [1, 2, 3, 7];
const TWEAK: u128 = 5 << 64;

/// Returns a range of the tables in pieces of `most` bytes or less.
fn pieces(tables: &[u8], range: Range<usize>, most: usize) -> Vec<&[u8]> {
    tables[range].chunks(most).collect()
}

fn check(circuit: &Circuit, instances: &[usize]) {
    let mut sides = Sides::new(7);
    let program = Program::new(circuit, Order::Runs(16));
    for &instances in instances {
        let inputs = sides.bits(program.input_wires(), instances);
        let zero = sides.labels(program.input_wires(), instances);
        let active = zero.encode(&sides.delta, &inputs).unwrap();
        let (expected, zero_out) = sides.garble(&program, &zero, TWEAK, 1 << 18);
        let active_out = sides.evaluate(&program, &active, TWEAK, &expected, 1 << 18).unwrap();
        for threads in THREADS {
            set_threads(threads).unwrap();
            let mut tables = vec![0; expected.len()];
            let made = whole::garble(&program, &sides.hash, &sides.delta, TWEAK, &zero, &mut tables).unwrap();
            assert!(made == zero_out && tables == expected, "{instances} instances, {threads} threads");
            let cut = |range| pieces(&tables, range, 100_003);
            let found = whole::evaluate(&program, &sides.hash, TWEAK, &active, cut).unwrap();
            assert!(found == active_out, "{instances} instances, {threads} threads");
        }
        set_threads(1).unwrap();
    }
}

#[test]
fn every_number_of_threads_has_the_tables_of_one() {
    check(&catalog::aes128(), &[0, 1, 16, 17, 75]);
    check(&catalog::mul(16, Goal::Depth), &[3, 50, 400]);
}

#[test]
fn tables_of_another_length_are_refused() {
    let mut sides = Sides::new(8);
    let program = Program::new(&catalog::mul(16, Goal::Size), Order::Runs(16));
    let labels = sides.labels(program.input_wires(), 400);
    let bytes = table_bytes(&program, 400) as usize;
    let [short, long] = [
        GarbleError::MissingTables { missing_bytes: 1 },
        GarbleError::SurplusTables { bytes: bytes + 1, left_bytes: bytes as u64 },
    ];
    for threads in THREADS {
        set_threads(threads).unwrap();
        for (length, refusal) in [(bytes - 1, short), (bytes + 1, long)] {
            let mut tables = vec![0; length];
            let made = whole::garble(&program, &sides.hash, &sides.delta, 0, &labels, &mut tables);
            assert_eq!(made.err(), Some(refusal));
        }
        let tables = vec![0; bytes];
        let cut = |range: Range<usize>| pieces(&tables, range.start..range.end.min(bytes - 1), 1 << 12);
        assert_eq!(whole::evaluate(&program, &sides.hash, 0, &labels, cut).err(), Some(short));
    }
    set_threads(1).unwrap();
}
