//! Widths and parameters of the making of correlations.
//!
//! | s | sg' | W - k | V - k |
//! |---|---|---|---|
//! | 64 | 58 | 116 | 128 |
//! | 48 | 43 | 86 | 96 |
//! | 32 | 27 | 54 | 64 |
//!
//! Values of triples in the making are elements of Z_2^W, W = k + 2 sg'. Their tags, and words that are opened whole,
//! are elements of Z_2^V, V = k + 2 s.

use std::ops::Deref;

use quorate_authenticated::Params as Online;
use quorate_engine::{Misuse, Result};
use quorate_ot::vole::Digits;
use quorate_ring::Ring;

/// The parameters of a session: those of what its parties compute with, and how they make correlations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    online: Online,
    /// Whether random bits are made by square roots in every case in which they can be.
    roots: bool,
    triples: TripleForm,
    /// Whether products of matrices may take matrix triples where a party knows one of the matrices.
    matrices: bool,
    pub(crate) digit_bits: u32,
    /// Whether numbers with bits are made by cut and choose even where proofs take less.
    cuts: bool,
}

/// The number of bits of a digit of the keys. More bits mean fewer bytes for each, and more local work.
pub(crate) const DIGIT_BITS: u32 = 5;

/// How multiplication triples are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TripleForm {
    /// Our triples, with a division (`triple`).
    T3,
    /// Triples from published parts only (`bucket_triple`).
    Buckets,
    /// Our triples without a division (`two_keys`).
    TwoKeys,
}

impl Default for Params {
    fn default() -> Self {
        Params::of(Online::default())
    }
}

impl Deref for Params {
    type Target = Online;

    fn deref(&self) -> &Online {
        &self.online
    }
}

impl Params {
    /// Returns the parameters for keys of 64 or 48 bits, or of 32 bits if 26 bits of statistical security are enough
    /// (`allow_weak`).
    ///
    /// # Errors
    /// [`Misuse`] for any other number of bits.
    pub fn new(key_bits: u32, allow_weak: bool) -> Result<Params> {
        Online::new(key_bits, allow_weak).map(Params::of)
    }

    /// Returns the usual ways to make correlations for these parameters.
    pub fn of(online: Online) -> Params {
        Params { online, roots: false, triples: TripleForm::T3, matrices: false, digit_bits: DIGIT_BITS, cuts: false }
    }

    /// Returns the parameters of what parties compute with.
    pub fn online(self) -> Online {
        self.online
    }

    /// Returns these parameters with numbers and their bits made by cut and choose wherever that is possible.
    pub fn with_cut_and_choose(self) -> Params {
        Params { cuts: true, ..self }
    }

    /// Whether numbers with bits are made by cut and choose even where proofs take less.
    pub(crate) fn always_cuts(self) -> bool {
        self.cuts
    }

    /// Returns these parameters with multiplication triples from published parts only.
    pub fn with_triples_in_buckets(self) -> Params {
        Params { triples: TripleForm::Buckets, online: self.online.without_marks(), ..self }
    }

    /// Returns these parameters with multiplication triples that need no division.
    pub fn with_triples_under_two_keys(self) -> Params {
        Params { triples: TripleForm::TwoKeys, online: self.online.without_marks(), ..self }
    }

    /// Returns these parameters with matrix triples where a party knows a matrix and they take less. Experimental.
    ///
    /// # Errors
    /// [`Misuse`] if all triples are to have another form.
    pub fn with_matrix_triples(self) -> Result<Params> {
        match self.marks_count() {
            true => Ok(Params { matrices: true, ..self }),
            false => Err(Misuse::Other { what: "matrices=experimental goes with triples=t3 alone" }.into()),
        }
    }

    /// Returns these parameters with the protocols of the paper: bits as elements, masks put together from random bits,
    /// and its circuit of carries.
    pub fn as_in_the_paper(self) -> Params {
        Params { online: self.online.as_in_the_paper(), ..self }
    }

    pub(crate) fn has_matrix_triples(self) -> bool {
        self.matrices && self.marks_count()
    }

    pub(crate) fn triples(self) -> TripleForm {
        self.triples
    }

    /// Returns the form of keys in authentication: digits of f bits.
    ///
    /// # Errors
    /// [`Misuse`] for numbers of bits that keys do not have.
    pub(crate) fn digits(self) -> Result<Digits> {
        Digits::new(self.key_bits(), self.digit_bits)
    }

    /// Returns these parameters with random bits by square roots, whatever the number of parties.
    pub fn with_bits_by_roots(self) -> Params {
        Params { roots: true, ..self }
    }

    /// Returns whether `parties` parties make random bits from bits that they prove. Two parties do if their bits have
    /// MACs, triples are T3, and they did not ask for square roots.
    pub(crate) fn bits_from_proofs(self, parties: usize) -> bool {
        parties == 2 && self.bits_have_macs() && !self.roots && self.marks_count()
    }

    /// Refuses triples with more bits than random bits of the widest values take, which is two more than those values
    /// have.
    pub(crate) fn check_triples(self, ring: Ring) -> Result<()> {
        match ring.bits() <= self.most_bits_inside() + 2 {
            true => Ok(()),
            false => Err(Misuse::RingBits { bits: ring.bits() }.into()),
        }
    }

    /// Returns Z_2^W, the ring of the products that triples are made from.
    pub(crate) fn values(self, ring: Ring) -> Ring {
        Ring::of(ring.bits() + 2 * self.inner_bits())
    }

    /// Returns Z_2^V, the ring of words that are opened whole.
    pub(crate) fn words(self, ring: Ring) -> Ring {
        Ring::of(ring.bits() + 2 * self.key_bits())
    }

    /// Returns L, the number of random bits that go into each factor beside its own.
    pub(crate) fn noise_bits(self) -> usize {
        2 * self.inner_bits() as usize + 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authenticate::ROWS;

    #[test]
    fn widths_are_those_of_the_design() {
        for (key_bits, k, values, words, noise) in
            [(64, 64, 180, 192, 132), (48, 32, 118, 128, 102), (32, 32, 86, 96, 70)]
        {
            let (params, ring) = (Params::new(key_bits, true).unwrap(), Ring::of(k));
            assert_eq!((params.values(ring).bits(), params.words(ring).bits()), (values, words));
            assert_eq!(params.noise_bits(), noise);
            assert!(params.words(Ring::of(params.most_bits() + 2)).bits() <= Ring::MOST_BITS);
        }
        assert!(Params::new(40, true).is_err() && Params::new(32, false).is_err());
        assert!(Params::default().check_triples(Ring::of(129)).is_err());
    }

    /// The probability with which a lie about words passes if c of their bits matter (docs/security/spdz2k.md, whole
    /// words).
    fn words(s: i32, c: i32) -> f64 {
        let power = |bits: i32| f64::from(-bits).exp2();
        let above = (c - s).clamp(0, s);
        match c <= s {
            true => f64::from(c + 1) * power(c),
            false => (3.0 + f64::from(s - 2 - above) * power(above)) * power(s),
        }
    }

    /// The probability with which a lie about words passes if tags are right; a forger can reach it exactly.
    fn words_with_right_tags(s: i32, c: i32) -> f64 {
        let power = |bits: i32| f64::from(-bits).exp2();
        let above = (c - s).clamp(0, s);
        match c <= s {
            true => (f64::from(c) / 2.0 + 1.0) * power(c),
            false => (2.0 + f64::from(s - above - 2) * power(above + 1)) * power(s),
        }
    }

    /// On tiny keys, over all chi: the best forger of one lie passes with exactly the probability of the bound.
    #[test]
    fn words_that_were_lied_about_pass_as_often_as_is_said() {
        for s in 3..=6 {
            for c in 1..=2 * s + 1 {
                // alpha times chi times the lie, modulo 2^c: the lie counts as 1.
                let often = |chi: u64| {
                    let mut counts = std::collections::BTreeMap::new();
                    (0..1u64 << s).for_each(|alpha| *counts.entry((alpha * chi) % (1 << c)).or_insert(0) += 1);
                    counts.into_values().max().unwrap_or(0)
                };
                let all: u64 = (0..1u64 << s).map(often).sum();
                assert_eq!(all as f64 * f64::from(-2 * s).exp2(), words_with_right_tags(s, c), "s = {s}, c = {c}");
            }
        }
    }

    fn power(bits: i32) -> f64 {
        f64::from(-bits).exp2()
    }

    /// The number of digits that lie below the one that holds this bit of a key.
    fn below(bit: i32) -> f64 {
        f64::from(bit / DIGIT_BITS as i32)
    }

    /// The probability with which words pass whatever was authenticated: the sum in docs/security/spdz2k.md, whole
    /// words.
    fn words_with_any_tags(s: i32, c: i32) -> f64 {
        let rows = ROWS as i32;
        let lucky = |left: i32, p: i32| below(p) * power(p) * power(rows * (left - p).min(s));
        let given = |left: i32| {
            let most = left.min(s);
            power(most) + (0..most).map(|p| lucky(left, p)).sum::<f64>()
        };
        let most = c.min(s);
        (0..most).map(|u| power(u + 1) * given(c - u)).sum::<f64>() + power(most)
    }

    /// The bound of words holds for these numbers of digits and rows.
    #[test]
    fn tags_that_are_off_win_no_more_than_the_bound_of_words() {
        for s in [32, 48, 64] {
            for c in 1..=2 * s + 8 {
                let (any, right) = (words_with_any_tags(s, c), words_with_right_tags(s, c));
                assert!(right <= any && any <= words(s, c), "s = {s}, c = {c}: {right}, {any}, {}", words(s, c));
            }
        }
    }

    /// The probability with which the row check passes: two guesses, and luck with tags.
    fn row_check(s: i32) -> f64 {
        let lucky = |p: i32| below(p) * power(p) * power(ROWS as i32 * (s + 1 - p));
        2.0 * power(s) + (0..s).map(lucky).sum::<f64>()
    }

    /// The probability with which the proof of a party's bits or products passes.
    fn proofs(s: i32) -> f64 {
        // Two classes of keys modulo 2^(n/2).
        let classes = |n: i32| (2.0 * power((n.max(0) + 1) / 2)).max(2.0 * power(s)).min(1.0);
        let patterns: f64 = (0..s).map(below).sum();
        let lucky = |b: i32| (patterns * power(ROWS as i32 * b)).min(1.0);
        let given = |n: i32| (0..2 * s).map(|b| (lucky(b) - lucky(b + 1)) * classes(n - b)).sum::<f64>();
        (0..s).map(|t| power(t + 1) * given(2 * s + 1 - t)).sum::<f64>() + power(s)
    }

    /// A session states the minimum over its parts, rounded down. The bounds of the parts, computed here, equal the
    /// table of the docs to a tenth of a bit, and none is below what is promised.
    #[test]
    fn what_is_promised_is_the_least_of_all_parts() {
        let docs = include_str!("../../../docs/security/spdz2k.md");
        let table: Vec<Vec<&str>> = docs
            .lines()
            .skip_while(|line| !line.starts_with("| part |"))
            .skip(2)
            .take_while(|line| line.starts_with('|'))
            .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
            .collect();
        assert_eq!(table.len(), 14);
        for (column, key_bits) in [(1, 64), (2, 48), (3, 32)] {
            let params = Params::new(key_bits, true).unwrap();
            let (s, inner) = (key_bits as i32, params.inner_bits() as i32);
            // Lies that t makes easier: with probability 2^-i it leaves i more bits.
            let eased = |upto: i32, most: i32| (0..upto).map(|i| power(i + 1) * words(s, most - i)).sum::<f64>();
            assert!(power(s) + eased(s, 2 * s + 1) < 4.1 * power(s));
            let parts = [
                ("row check", row_check(s)),
                ("words that are opened", words(s, s)),
                ("sacrifice of a triple", power(inner + 1) + eased(inner + 1, 2 * s - inner + 1)),
                // 4.1 is on the safe side of 4 2^-s, the sum of all of its lies.
                ("the same of a leaky", 4.1 * power(s)),
                ("the same of a triple under two keys", power(inner + 1) + eased(inner + 1, 2 * s + 1)),
                ("sacrifice of matrix", power(inner + 1) + words(s, 2 * s - inner + 1) + words(s, 2 * s + 1)),
                ("distance by what passing tells of the X", power(inner + 8)),
                ("distance by what passing tells of the factor a", power(inner + 6)),
                ("bits and products", proofs(s)),
                ("numbers of one party", power(inner)),
                // The smallest buckets have three members: a batch that leaks somewhere passes with 1/8 at most.
                ("buckets of leaky", power(inner) / (1.0 - power(3))),
                ("bits with MACs that become", power(inner)),
            ];
            for (name, probability) in parts {
                let bits = -probability.log2();
                let row = table.iter().find(|row| row[0].starts_with(name)).unwrap();
                assert_eq!((bits * 10.0).floor() / 10.0, row[column].parse::<f64>().unwrap(), "{name}, s = {s}");
            }
            let least = table.iter().map(|row| row[column].parse::<f64>().unwrap()).fold(f64::MAX, f64::min);
            assert_eq!(least.floor(), f64::from(params.security_bits()), "s = {s}");
        }
    }
}
