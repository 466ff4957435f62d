//! Numbers for circuits: all of them if they are few, otherwise random ones and corner cases.
#![allow(dead_code, reason = "each test file uses a part")]

use quorate_circuits::{Circuit, Order, Program, from_rows, to_rows};

/// SplitMix64: enough to spread test values.
pub struct Random(pub u64);

impl Random {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn wide(&mut self) -> u128 {
        u128::from(self.word()) << 64 | u128::from(self.word())
    }
}

pub fn mask(width: u32) -> u128 {
    if width >= 128 { u128::MAX } else { (1 << width) - 1 }
}

/// Returns the two's complement value of a number of `width` bits.
pub fn signed(value: u128, width: u32) -> i128 {
    let shift = 128 - width;
    ((value << shift) as i128) >> shift
}

/// Returns instances for groups of these widths: all if they are few, else corner cases and random numbers of all
/// sizes.
pub fn instances(widths: &[u32]) -> Vec<Vec<u128>> {
    let bits: u32 = widths.iter().sum();
    let mut groups = vec![Vec::new(); widths.len()];
    if bits <= 12 {
        for all in 0..1u128 << bits {
            let mut rest = all;
            for (group, &width) in groups.iter_mut().zip(widths) {
                group.push(rest & mask(width));
                rest >>= width;
            }
        }
        return groups;
    }
    let mut random = Random(u64::from(bits));
    for i in 0..700u32 {
        for (group, &width) in groups.iter_mut().zip(widths) {
            let word = random.wide();
            let top = 1u128 << (width - 1);
            group.push(
                mask(width)
                    & match random.word() % 8 {
                        0 => 0,
                        1 => 1,
                        2 => u128::MAX,
                        3 => top,
                        4 => top - 1,
                        5 => word >> (random.word() % 128),
                        6 if i > 0 => group[i as usize - 1],
                        _ => word,
                    },
            );
        }
    }
    groups
}

/// Compares the circuit with `expected` on all [`instances`], in every order of gates. `expected` gets one number for
/// each input group and returns one for each output group.
pub fn check(name: &str, circuit: &Circuit, expected: impl Fn(&[u128]) -> Vec<u128>) {
    let groups = instances(circuit.inputs());
    let rows = to_rows(circuit.inputs(), &groups);
    let outputs = from_rows(circuit.outputs(), &circuit.evaluate(&rows).unwrap());
    assert!(groups.iter().all(|group| !group.is_empty()), "{name}: nothing to check");
    for i in 0..groups.first().map_or(0, Vec::len) {
        let inputs: Vec<u128> = groups.iter().map(|group| group[i]).collect();
        let got: Vec<u128> = outputs.iter().map(|group| group[i]).collect();
        let mut wanted = expected(&inputs);
        wanted.iter_mut().zip(circuit.outputs()).for_each(|(value, &width)| *value &= mask(width));
        assert_eq!(got, wanted, "{name} {:?} of {inputs:x?}", circuit.inputs());
    }
    for order in [Order::Layers, Order::Runs(16)] {
        let program = Program::new(circuit, order);
        let again = from_rows(circuit.outputs(), &program.evaluate(&rows).unwrap());
        assert_eq!(again, outputs, "{name} in {order:?}");
    }
}
