//! Widths and security parameters.
//!
//! | s | sg, promised | sg' | W - k | V - k |
//! |---|---|---|---|---|
//! | 64 | 57 | 58 | 116 | 128 |
//! | 48 | 42 | 43 | 86 | 96 |
//! | 32 | 26 | 27 | 54 | 64 |
//!
//! Values of triples in the making are elements of Z_2^W, W = k + 2 sg'. Their tags, and words that are opened whole,
//! are elements of Z_2^V, V = k + 2 s.

use quorate_engine::{Misuse, Result};
use quorate_ring::Ring;

/// The parameters of a session: the number of bits of its keys, which fixes the other widths, and its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    key_bits: u32,
    inner_bits: u32,
    bits: BitForms,
    /// Whether random bits are made by square roots in every case in which they can be.
    roots: bool,
    triples: TripleForm,
    /// Whether products of matrices may take matrix triples where a party knows one of the matrices.
    matrices: bool,
    digit_bits: u32,
    /// Whether intermediate values may have more bits than the values of programs.
    wide: bool,
    /// Whether numbers with bits are made by cut and choose even where proofs take less.
    cuts: bool,
}

/// The number of bits of a digit of the keys. More bits mean fewer bytes for each, and more local work.
const DIGIT_BITS: u32 = 5;

/// The largest number of bits of a value under keys of 64 bits.
const MOST_BITS: u32 = 126;

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

/// The form of shared bits, and what is made from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BitForms {
    /// Bits with MACs of their own.
    Auto,
    /// Bits as elements.
    Elements,
    /// Bits as elements, with masks put together from random bits.
    Paper,
}

impl Default for Params {
    fn default() -> Self {
        Params::with_keys(64)
    }
}

impl Params {
    /// Returns the parameters for keys of 64 or 48 bits, or of 32 bits if 26 bits of statistical security are enough
    /// (`allow_weak`).
    ///
    /// # Errors
    /// [`Misuse`] for any other number of bits.
    pub fn new(key_bits: u32, allow_weak: bool) -> Result<Params> {
        match (key_bits, allow_weak) {
            (64 | 48, _) | (32, true) => Ok(Params::with_keys(key_bits)),
            (32, false) => {
                let what = "mac=32 gives 26 bits of statistical security, 40 are usual: take 48, or allow_weak";
                Err(Misuse::Other { what }.into())
            }
            _ => Err(Misuse::Other { what: "keys have 64, 48 or 32 bits" }.into()),
        }
    }

    /// Returns keys and an inner security so short that forgeries pass often enough to be counted. As for real keys,
    /// `inner_bits` is less than `key_bits`, so that W < V.
    #[cfg(feature = "testing")]
    pub fn insecure(key_bits: u32, inner_bits: u32) -> Params {
        assert!(0 < inner_bits && inner_bits < key_bits, "W is less than V");
        Params { key_bits, inner_bits, digit_bits: DIGIT_BITS.min(key_bits), ..Params::default() }
    }

    fn with_keys(key_bits: u32) -> Params {
        let (bits, triples) = (BitForms::Auto, TripleForm::T3);
        let inner_bits = match key_bits {
            64 => 58,
            48 => 43,
            _ => 27,
        };
        Params {
            key_bits,
            inner_bits,
            bits,
            roots: false,
            triples,
            matrices: false,
            digit_bits: DIGIT_BITS,
            wide: false,
            cuts: false,
        }
    }

    /// Returns these parameters with keys in digits of one bit: the published form of authentication, COPE of Cramer et
    /// al. 2018.
    #[cfg(feature = "testing")]
    pub fn with_cope(self) -> Params {
        Params { digit_bits: 1, ..self }
    }

    /// Returns these parameters with numbers and their bits made by cut and choose wherever that is possible.
    pub fn with_cut_and_choose(self) -> Params {
        Params { cuts: true, ..self }
    }

    /// Whether numbers with bits are made by cut and choose even where proofs take less.
    pub(crate) fn always_cuts(self) -> bool {
        self.cuts
    }

    /// Returns W and L of triples over Z_2^k, for tests that change what is sent of one row.
    #[cfg(feature = "testing")]
    pub fn insecure_rows(self, ring: Ring) -> (usize, usize) {
        (self.values(ring).bits() as usize, self.noise_bits())
    }

    /// Returns the number of numbers in a bucket if `count` numbers are made by cut and choose.
    #[cfg(feature = "testing")]
    pub fn insecure_bucket(self, count: usize) -> usize {
        crate::privateedabit::Sizes::of(count, self.inner_bits()).map_or(0, |sizes| sizes.bucket)
    }

    /// Returns these parameters with multiplication triples from published parts only.
    pub fn with_triples_in_buckets(self) -> Params {
        Params { triples: TripleForm::Buckets, ..self }
    }

    /// Returns these parameters with multiplication triples that need no division.
    pub fn with_triples_under_two_keys(self) -> Params {
        Params { triples: TripleForm::TwoKeys, ..self }
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

    pub(crate) fn has_matrix_triples(self) -> bool {
        self.matrices && self.marks_count()
    }

    pub(crate) fn triples(self) -> TripleForm {
        self.triples
    }

    /// Returns f, the number of bits of a digit of the keys in authentication.
    pub(crate) fn digit_bits(self) -> u32 {
        self.digit_bits
    }

    /// Returns these parameters for sessions in which a third party deals. The bounds of its check and of the check of
    /// openings are the same for values of any width, so intermediate values may have any number of bits that has a
    /// carrier.
    pub(crate) fn dealt(self) -> Params {
        Params { wide: true, ..self }
    }

    /// Returns these parameters with bits as elements.
    pub fn with_bits_as_elements(self) -> Params {
        Params { bits: BitForms::Elements, ..self }
    }

    /// Returns these parameters with the protocols of the paper: bits as elements, masks put together from random bits,
    /// and its circuit of carries.
    pub fn as_in_the_paper(self) -> Params {
        Params { bits: BitForms::Paper, ..self }
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

    /// Returns whether products of values that a party knows take triples of their own. They do not in sessions with
    /// another form of triples, which have all triples in that form.
    pub(crate) fn marks_count(self) -> bool {
        self.triples == TripleForm::T3
    }

    /// Returns whether masks are put together from random bits, and carries are computed as in the paper.
    pub(crate) fn is_paper(&self) -> bool {
        self.bits == BitForms::Paper
    }

    /// Returns whether bits have MACs of their own.
    pub(crate) fn bits_have_macs(&self) -> bool {
        self.bits == BitForms::Auto
    }

    /// Refuses values with more bits than intermediate values may have.
    pub(crate) fn check_values(self, ring: Ring) -> Result<()> {
        if ring.bits() <= self.most_bits_inside() {
            return Ok(());
        }
        if self.most_bits_inside() == MOST_BITS {
            return Err(Misuse::RingBits { bits: ring.bits() }.into());
        }
        let what = "with mac=48 or 32, values have at most 32 bits, also on the way: take mac=64, or a smaller dtype \
                    if this step fits with one";
        Err(Misuse::Other { what }.into())
    }

    /// Refuses triples with more bits than random bits of the widest values take, which is two more than those values
    /// have.
    pub(crate) fn check_triples(self, ring: Ring) -> Result<()> {
        match ring.bits() <= self.most_bits_inside() + 2 {
            true => Ok(()),
            false => Err(Misuse::RingBits { bits: ring.bits() }.into()),
        }
    }

    /// Returns s, the number of bits of the keys.
    pub fn key_bits(self) -> u32 {
        self.key_bits
    }

    /// Returns the promised statistical security, in bits.
    pub fn security_bits(self) -> u32 {
        self.inner_bits - 1
    }

    /// Returns sg', the statistical security of each intermediate step, in bits.
    pub(crate) fn inner_bits(self) -> u32 {
        self.inner_bits
    }

    /// Returns the largest number of bits of a program's values. All of their words have carriers; keys shorter than 64
    /// bits are for values of at most 32 bits.
    pub fn most_bits(self) -> u32 {
        if self.key_bits == 64 { MOST_BITS } else { 32 }
    }

    /// Returns the largest number of bits of intermediate values.
    pub(crate) fn most_bits_inside(self) -> u32 {
        if self.wide { MOST_BITS } else { self.most_bits() }
    }

    /// Returns Z_2^(k+s), the ring of shares and tags.
    pub fn shares(self, ring: Ring) -> Ring {
        Ring::of(ring.bits() + self.key_bits)
    }

    /// Returns Z_2^s, the ring of keys.
    pub(crate) fn keys(self) -> Ring {
        Ring::of(self.key_bits)
    }

    /// Returns Z_2^W, the ring of the products that triples are made from.
    pub(crate) fn values(self, ring: Ring) -> Ring {
        Ring::of(ring.bits() + 2 * self.inner_bits())
    }

    /// Returns Z_2^V, the ring of words that are opened whole.
    pub(crate) fn words(self, ring: Ring) -> Ring {
        Ring::of(ring.bits() + 2 * self.key_bits)
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
        let short = Params::new(48, false).unwrap();
        assert!(short.check_values(Ring::of(32)).is_ok() && short.check_values(Ring::of(33)).is_err());
        let dealt = short.dealt();
        assert!(dealt.check_values(Ring::of(126)).is_ok() && dealt.check_values(Ring::of(127)).is_err());
        assert!(dealt.most_bits() == 32 && dealt.security_bits() == 42);
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
