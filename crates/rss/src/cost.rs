//! The costs of the protocols of `rss`, by the paper's formulas. Tests check that they equal the dry run and the bytes
//! on the wire.
//!
//! Bytes are those sent by all parties together; divide by n for the paper's average per party.

use quorate_gadgets::cost::{self as gadgets, Uses, layers};

use crate::forms::Made;
use crate::kind::Kind;

/// Rounds, and payload bytes sent by all n parties together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The number of sequential rounds.
    pub rounds: u32,
    /// Payload bytes, of all parties.
    pub bytes: u64,
}

impl Cost {
    /// Returns the cost of both in the same rounds.
    pub fn beside(self, other: Cost) -> Cost {
        Cost { rounds: self.rounds.max(other.rounds), bytes: self.bytes + other.bytes }
    }

    /// Returns the cost of both, one after the other.
    pub fn then(self, next: Cost) -> Cost {
        Cost { rounds: self.rounds + next.rounds, bytes: self.bytes + next.bytes }
    }
}

fn packed(bits: u64, len: usize) -> u64 {
    (bits * len as u64).div_ceil(8)
}

/// Returns the cost of one round in which `messages` messages of `bits` bits per element are sent.
fn round(messages: u64, bits: u32, len: usize) -> Cost {
    Cost { rounds: 1, bytes: messages * packed(bits.into(), len) }
}

fn log2(x: u64) -> u32 {
    x.next_power_of_two().trailing_zeros()
}

/// Returns the corruptions tolerated by n parties.
pub fn threshold(n: usize) -> u64 {
    (n as u64 - 1) / 2
}

/// Returns the cost of Mul, DotProd and MatMul: t elements a party for every element of the result.
pub fn mul(n: usize, k: u32, results: usize) -> Cost {
    round(n as u64 * threshold(n), k, results)
}

/// Returns the cost of Open to all: t elements a party.
pub fn open(n: usize, k: u32, len: usize) -> Cost {
    round(n as u64 * threshold(n), k, len)
}

/// Returns the cost of Open to one: t elements in total.
pub fn open_to_one(n: usize, k: u32, len: usize) -> Cost {
    round(threshold(n), k, len)
}

/// Returns the cost of MulPub: n - 1 elements a party.
pub fn mulpub(n: usize, k: u32, len: usize) -> Cost {
    round(n as u64 * (n as u64 - 1), k, len)
}

/// Returns the cost of Input by a computing party: t elements by the owner.
pub fn input(n: usize, k: u32, len: usize) -> Cost {
    round(threshold(n), k, len)
}

/// Returns the cost of random bits. RandBit: MulPub over Z_2^(k+2). Three parties' summands: one is input, and
/// multiplied by the other.
pub fn random_bit(n: usize, form: Made, k: u32, len: usize) -> Cost {
    match form {
        Made::OfSummands if k == 1 => Cost::default(),
        Made::OfSummands => {
            let input = Uses { rounds: 1, owned: vec![k.into()], ..Uses::default() };
            online(n, &input.then(Uses { rounds: 1, paired: vec![k.into()], ..Uses::default() }), len)
        }
        Made::OfContributions | Made::OfRandomBits => mulpub(n, k + 2, len),
    }
}

/// Returns the cost of a uniform sum of k bits, with the words of its summands over rings of `words` bits.
fn uniform_sum(n: usize, form: Made, k: u32, carry_out: bool, words: &[u32], len: usize) -> Cost {
    match form {
        Made::OfSummands => online(n, &summands(k, carry_out, words), len),
        Made::OfContributions | Made::OfRandomBits => contributions(n, k, carry_out, words, len),
    }
}

/// Returns the cost of contributions: t+1 parties input their words, and k bits each. These are added up by t adders,
/// in ceil(log2(t+1)) layers.
fn contributions(n: usize, k: u32, carry_out: bool, words: &[u32], len: usize) -> Cost {
    let t = threshold(n);
    let inputs =
        words.iter().chain([&k]).map(|&bits| round((t + 1) * t, bits, len)).fold(Cost::default(), Cost::beside);
    let adder = gadgets::add(k, carry_out);
    let ands: u64 = adder.messages().map(|rows| packed(rows, len)).sum();
    inputs.then(Cost { rounds: log2(t + 1) * adder.rounds, bytes: t * n as u64 * t * ands })
}

/// Returns the uses of a sum of three parties' summands: the words of one summand are input, and digits of two bits
/// give the carries.
fn summands(k: u32, carry_out: bool, words: &[u32]) -> Uses {
    let owned = |bits: u64| Uses { rounds: 1, owned: vec![bits], ..Uses::default() };
    let words = words.iter().map(|&bits| owned(bits.into())).fold(Uses::default(), Uses::beside);
    let positions = u64::from(k) - u64::from(!carry_out);
    let (lower, upper) = (positions.div_ceil(2), positions / 2);
    if positions == 0 {
        return words;
    }
    let products = if upper > 0 { owned(upper) } else { Uses::default() };
    let pairs = products.then(Uses { rounds: 1, paired: vec![lower + 2 * upper], ..Uses::default() });
    let within = if lower > 1 { layers(vec![lower - 1]) } else { Uses::default() };
    words.beside(pairs.then(layers(gadgets::by_pairs(upper))).then(within))
}

/// Returns the cost of a shuffle: a resharing for each set of t parties, one after the other; among three parties, two
/// rounds of two messages each.
pub fn shuffle(n: usize, k: u32, len: usize) -> Cost {
    let passes = match n {
        3 if len == 0 => return Cost::default(),
        3 => return round(2, k, len).then(round(2, k, len)),
        5 => 10,
        _ => 35,
    };
    (0..passes).map(|_| mul(n, k, len)).fold(Cost::default(), Cost::then)
}

/// Returns the cost of edaBit(k), whose words are shared over Z_2^k. With a cut, they are shared a second time, and the
/// sums have a carry out. The 2t carries become elements by random bits, made at the same time, over Z_2^k and Z_2^cut.
pub fn edabit(n: usize, form: Made, k: u32, cut: Option<u32>, len: usize) -> Cost {
    match (form, cut) {
        (Made::OfRandomBits, _) => random_bit(n, form, k, k as usize * len),
        (_, None) => uniform_sum(n, form, k, false, &[k], len),
        (_, Some(cut)) => cut_sums(n, form, k, cut, threshold(n) as usize, len),
    }
}

/// Returns the cost of a sum with a cut, where `small` bits are converted into Z_2^small_ring together with the t
/// carries into the cut.
fn cut_sums(n: usize, form: Made, k: u32, small_ring: u32, small: usize, len: usize) -> Cost {
    let (into, out) = (threshold(n) as usize * len, small * len);
    let random = random_bit(n, form, k, into).beside(random_bit(n, form, small_ring, out));
    uniform_sum(n, form, k, true, &[k, k], len).beside(random).then(open(n, 1, into).beside(open(n, 1, out)))
}

/// Returns the cost of a mask for TruncPr by `cut`: an edaBit with a cut, and its top bit converted with the carries,
/// into Z_2^(cut+1).
pub fn trunc_mask(n: usize, form: Made, k: u32, cut: u32, len: usize) -> Cost {
    match form {
        Made::OfRandomBits => random_bit(n, form, k, k as usize * len),
        _ => cut_sums(n, form, k, cut + 1, threshold(n) as usize + 1, len),
    }
}

/// Returns the cost of an edaBit of k bits over Z_2^wide: t carries out, converted into Z_2^(wide-k).
pub fn wide_edabit(n: usize, form: Made, k: u32, wide: u32, len: usize) -> Cost {
    if form == Made::OfRandomBits {
        return random_bit(n, form, wide, k as usize * len);
    }
    let carries = threshold(n) as usize * len;
    let sums = uniform_sum(n, form, k, true, &[wide], len);
    match wide - k {
        1 => sums,
        bits => sums.beside(random_bit(n, form, bits, carries)).then(open(n, 1, carries)),
    }
}

/// Returns the cost of `len` correlations of one kind, made together.
pub fn correlation(n: usize, kind: Kind, form: Made, len: usize) -> Cost {
    match kind {
        Kind::RandBit { bits } => random_bit(n, form, bits, len),
        Kind::EdaBit { bits, cut } => edabit(n, form, bits, (cut > 0).then_some(cut), len),
        Kind::TruncMask { bits, cut } => trunc_mask(n, form, bits, cut, len),
        Kind::WideEdaBit { bits, wide } => wide_edabit(n, form, bits, wide, len),
    }
}

/// Returns the cost of the online part of a gadget: messages from each party to t others; for three parties also inputs
/// and products by blocks.
pub fn online(n: usize, uses: &Uses, len: usize) -> Cost {
    let sum = |bits: &mut dyn Iterator<Item = u64>| bits.map(|bits| packed(bits, len)).sum::<u64>();
    let all = n as u64 * threshold(n) * sum(&mut uses.messages());
    let by_blocks = sum(&mut uses.owned.iter().copied()) + 2 * sum(&mut uses.paired.iter().copied());
    Cost { rounds: uses.rounds, bytes: all + by_blocks }
}

/// Returns the cost of the offline part of a gadget, with all correlations of a kind made at once, and the kinds side
/// by side.
pub fn offline(n: usize, uses: &Uses, len: usize) -> Cost {
    offline_by(n, uses, Made::by(n)[0], len)
}

/// Returns the cost of the offline part of a gadget, like [`offline`], with correlations of any form.
pub fn offline_by(n: usize, uses: &Uses, form: Made, len: usize) -> Cost {
    let random_bits = uses.random_bits.iter().map(|&bits| Kind::RandBit { bits });
    let edabits = uses.edabits.iter().map(|&(bits, cut)| Kind::EdaBit { bits, cut: cut.unwrap_or(0) });
    let masks = uses.trunc_masks.iter().map(|&(bits, cut)| Kind::TruncMask { bits, cut });
    let wide = uses.wide_edabits.iter().map(|&(bits, wide)| Kind::WideEdaBit { bits, wide });
    let mut totals = std::collections::BTreeMap::new();
    for kind in random_bits.chain(edabits).chain(masks).chain(wide) {
        *totals.entry(kind).or_insert(0) += len;
    }
    totals.into_iter().map(|(kind, len)| correlation(n, kind, form, len)).fold(Cost::default(), Cost::beside)
}

/// The uses of gadgets with n parties: three parties work on summands that parties know, more parties on masked
/// openings.
pub mod gadget {
    use quorate_gadgets::cost::{self as masked, Uses, and_all, carry_tree, layers, sklansky};

    /// Returns the uses of k bits of one summand, which are input, and of `generates` products with the bits of the
    /// other.
    fn pairs(k: u32, generates: u64) -> Uses {
        owned(k).then(Uses { rounds: 1, paired: vec![generates], ..Uses::default() })
    }

    fn owned(bits: u32) -> Uses {
        Uses { rounds: 1, owned: vec![bits.into()], ..Uses::default() }
    }

    /// Returns the uses of the top bit over Z_2^k.
    pub fn msb(n: usize, k: u32) -> Uses {
        match (n, u64::from(k) - 1) {
            (3, low) if low > 0 => pairs(k, low).then(layers(carry_tree(low, false))),
            _ => masked::msb(k),
        }
    }

    /// Returns the uses of less-than over the full signed range.
    pub fn lt_full(n: usize, k: u32) -> Uses {
        msb(n, k).times(3).then(layers(vec![1]))
    }

    /// Returns the uses of equality with zero.
    pub fn eqz(n: usize, k: u32) -> Uses {
        match (n, k) {
            (3, 2..) => owned(k).then(layers(and_all(k.into()))),
            _ => masked::eqz(k),
        }
    }

    /// Returns the uses of the bits of an element.
    pub fn bit_decompose(n: usize, k: u32) -> Uses {
        match (n, u64::from(k) - 1) {
            (3, low) if low > 0 => pairs(k, low).then(layers(sklansky(low))),
            _ => masked::bit_decompose(k),
        }
    }

    /// Returns the uses of exact truncation.
    pub fn trunc_exact(n: usize, k: u32, shift: u32) -> Uses {
        let d = shift.min(k - 1);
        if n != 3 || d == 0 {
            return masked::trunc_exact(k, shift);
        }
        let trees = layers(carry_tree(d.into(), false)).beside(layers(carry_tree((k - d).into(), true)));
        let carries = pairs(k, k.into()).then(trees.then(layers(vec![1])));
        owned(k).beside(carries).then(masked::bit_to_ring(k).beside(masked::bit_to_ring(d)))
    }

    /// Returns the uses of probabilistic truncation.
    pub fn trunc_prob(n: usize, k: u32, shift: u32) -> Uses {
        match (n, shift) {
            (3, 1..) => owned(k).beside(pairs(shift, shift.into())),
            _ => masked::trunc_prob(k, shift),
        }
    }

    /// Returns the uses of a conversion into another ring.
    pub fn convert(n: usize, k: u32, wide: u32) -> Uses {
        if n != 3 || wide <= k {
            return masked::convert(k, wide);
        }
        let carry = pairs(k, k.into()).then(layers(carry_tree(k.into(), false)));
        owned(wide).beside(carry.then(masked::bit_to_ring(wide - k)))
    }
}

/// The figures of the paper's tables, in bits sent per party for one element; log k is rounded up.
pub mod paper {
    use super::{log2, threshold};

    /// Returns Table 13's bits for RandBit: n - 1 elements of Z_2^(k+2).
    pub fn random_bit(n: usize, k: u32) -> f64 {
        (n as f64 - 1.0) * f64::from(k + 2)
    }

    /// Returns Table 13's bits for edaBit(k): t^2 (log k + 1) + t + 1/2 elements.
    pub fn edabit(n: usize, k: u32) -> f64 {
        let t = threshold(n) as f64;
        (t * t * f64::from(log2(k.into()) + 1) + t + 0.5) * f64::from(k)
    }

    /// Returns Table 3's bits for MSB with edaBits, as an element of Z_2^k: t^2 (log k + 1) + 7t + 1/2 elements.
    pub fn msb(n: usize, k: u32) -> f64 {
        let t = threshold(n) as f64;
        edabit(n, k) + 6.0 * t * f64::from(k)
    }

    /// Returns Table 3's bits for TruncPr with edaBits: t^2 (log k + 2/k + 4) + t (1/k + 4) + 1/2 elements.
    pub fn trunc_prob(n: usize, k: u32) -> f64 {
        let (t, k, log) = (threshold(n) as f64, f64::from(k), f64::from(log2(k.into())));
        (t * t * (log + 2.0 / k + 4.0) + t * (1.0 / k + 4.0) + 0.5) * k
    }

    /// Returns Table 3's bits for Convert with edaBits: t^2 (log k + 1) + t (2k' + log k + 3) elements.
    pub fn convert(n: usize, k: u32, wide: u32) -> f64 {
        let (t, log) = (threshold(n) as f64, f64::from(log2(k.into())));
        (t * t * (log + 1.0) + t * (2.0 * f64::from(wide) + log + 3.0)) * f64::from(k)
    }

    /// Returns Table 13's rounds of edaBit(k).
    pub fn edabit_rounds(n: usize, k: u32) -> u32 {
        log2(threshold(n) + 1) * (log2(k.into()) + 1) + 1
    }

    /// Returns Table 3's rounds of MSB with edaBits.
    pub fn msb_rounds(n: usize, k: u32) -> u32 {
        edabit_rounds(n, k) + log2(u64::from(k) - 1) + 3
    }
}
