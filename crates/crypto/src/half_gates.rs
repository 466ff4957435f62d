//! The AND gates of garbled circuits, 16 at a time: four hashes each or two, and a few sums.
//!
//! **Source**: Zahur, Rosulek, Evans, "Two Halves Make a Whole", Eurocrypt 2015 (ePrint 2014/756), figure 2; its names
//! are kept: W are labels, p and s colours (lowest bits), R is the difference of the labels of 0 and 1, j and j' are
//! tweaks. The gates are in this crate because they are one kernel with the hash; the crate `garble` defines garbled
//! circuits.

use crate::tccr::{RUN, Run, Tccr};

/// Bytes of the tables of 16 gates: all T_G, then all T_E.
pub const TABLES_BYTES: usize = 2 * 16 * RUN;

/// The tables of 16 gates.
pub type Tables = [u8; TABLES_BYTES];

impl Tccr {
    /// GbAnd: computes the tables and the labels of 0 on the outputs from the labels of 0 on both inputs.
    #[inline]
    pub fn garble_ands(&self, inputs: [&Run; 2], r: u128, tweaks: [u128; 2], tables: &mut Tables, out: &mut Run) {
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = self.wide_for(tweaks) {
            return wide.garble_ands(inputs, r, tweaks, tables, out);
        }
        self.garble_portably(inputs, r, tweaks, tables, out);
    }

    /// The AND part of Ev: computes the active labels on the outputs from those on both inputs and the tables.
    #[inline]
    pub fn evaluate_ands(&self, inputs: [&Run; 2], tweaks: [u128; 2], tables: &Tables, out: &mut Run) {
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = self.wide_for(tweaks) {
            return wide.evaluate_ands(inputs, tweaks, tables, out);
        }
        self.evaluate_portably(inputs, tweaks, tables, out);
    }

    fn garble_portably(&self, [wa0, wb0]: [&Run; 2], r: u128, [j, j2]: [u128; 2], tables: &mut Tables, out: &mut Run) {
        let mut a = [*wa0, wa0.map(|label| label ^ r)];
        let mut b = [*wb0, wb0.map(|label| label ^ r)];
        self.hash_pair(&mut a, [j, j]);
        self.hash_pair(&mut b, [j2, j2]);
        let ([ha0, ha1], [hb0, hb1]) = (&a, &b);
        let (generator, evaluator) = rows_mut(tables);
        for i in 0..RUN {
            let (pa, pb) = (mask(wa0[i]), mask(wb0[i]));
            // First half gate.
            let tg = ha0[i] ^ ha1[i] ^ (pb & r);
            let wg0 = ha0[i] ^ (pa & tg);
            // Second half gate.
            let te = hb0[i] ^ hb1[i] ^ wa0[i];
            let we0 = hb0[i] ^ (pb & (te ^ wa0[i]));
            // Combine the halves.
            (generator[i], evaluator[i]) = (tg.to_le_bytes(), te.to_le_bytes());
            out[i] = wg0 ^ we0;
        }
    }

    fn evaluate_portably(&self, [wa, wb]: [&Run; 2], tweaks: [u128; 2], tables: &Tables, out: &mut Run) {
        let mut hashes = [*wa, *wb];
        self.hash_pair(&mut hashes, tweaks);
        let [ha, hb] = &hashes;
        let (generator, evaluator) = rows(tables);
        for i in 0..RUN {
            let (sa, sb) = (mask(wa[i]), mask(wb[i]));
            let (tg, te) = (u128::from_le_bytes(generator[i]), u128::from_le_bytes(evaluator[i]));
            let wg = ha[i] ^ (sa & tg);
            let we = hb[i] ^ (sb & (te ^ wa[i]));
            out[i] = wg ^ we;
        }
    }
}

/// Returns all ones if the lowest bit is set, else zeros.
fn mask(label: u128) -> u128 {
    (label & 1).wrapping_neg()
}

type Rows = [[u8; 16]; RUN];

fn rows(tables: &Tables) -> (&Rows, &Rows) {
    let [generator, evaluator] = bytemuck::cast_ref::<Tables, [Rows; 2]>(tables);
    (generator, evaluator)
}

fn rows_mut(tables: &mut Tables) -> (&mut Rows, &mut Rows) {
    let [generator, evaluator] = bytemuck::cast_mut::<Tables, [Rows; 2]>(tables);
    (generator, evaluator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Seed, SessionId};

    struct Case {
        inputs: [Run; 2],
        r: u128,
        tweaks: [u128; 2],
    }

    fn cases() -> Vec<Case> {
        let mut prg = Seed::from_bytes([5; 32]).prg("quorate/crypto/test", b"");
        let mut draw = || {
            let mut runs = [[0; RUN]; 3];
            prg.fill(bytemuck::cast_slice_mut(&mut runs));
            runs
        };
        [[0, 16], [1 << 64, 1 << 70 | 32], [u128::MAX - 20, 77]]
            .map(|tweaks| {
                let [a, b, r] = draw();
                Case { inputs: [a, b], r: r[0] | 1, tweaks }
            })
            .into()
    }

    /// Returns the active labels of these bits.
    fn active(zero: &Run, r: u128, bits: u32) -> Run {
        std::array::from_fn(|i| zero[i] ^ if bits >> i & 1 == 1 { r } else { 0 })
    }

    #[test]
    fn evaluation_gives_the_label_of_the_product() {
        let hash = Tccr::new(&SessionId::from_bytes([4; 32]));
        for case in cases() {
            let [a, b] = &case.inputs;
            let (mut tables, mut zero) = ([0; TABLES_BYTES], [0; RUN]);
            hash.garble_ands([a, b], case.r, case.tweaks, &mut tables, &mut zero);
            for (x, y) in [(0u32, 0u32), (0xffff, 0), (0, 0xffff), (0xffff, 0xffff), (0x1234, 0x8f3e)] {
                let mut got = [0; RUN];
                let inputs = [&active(a, case.r, x), &active(b, case.r, y)];
                hash.evaluate_ands(inputs, case.tweaks, &tables, &mut got);
                assert_eq!(got, active(&zero, case.r, x & y));
            }
        }
    }

    #[test]
    fn every_path_gives_the_same() {
        let hash = Tccr::new(&SessionId::from_bytes([4; 32]));
        for case in cases() {
            let inputs = [&case.inputs[0], &case.inputs[1]];
            let (mut tables, mut out) = (([0; TABLES_BYTES], [0; TABLES_BYTES]), ([0; RUN], [0; RUN]));
            hash.garble_ands(inputs, case.r, case.tweaks, &mut tables.0, &mut out.0);
            hash.garble_portably(inputs, case.r, case.tweaks, &mut tables.1, &mut out.1);
            assert_eq!((tables.0, out.0), (tables.1, out.1));
            hash.evaluate_ands(inputs, case.tweaks, &tables.0, &mut out.0);
            hash.evaluate_portably(inputs, case.tweaks, &tables.1, &mut out.1);
            assert_eq!(out.0, out.1);
        }
    }
}
