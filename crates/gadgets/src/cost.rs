//! The costs of gadgets in a sharing's primitives, for one element. A backend turns them into bytes; tests compare them
//! with dry runs and with messages. They hold for the default bodies: a backend that overrides a gadget has its own
//! costs. One that makes products of neighbouring mask bits ([`Sharing::comparison_masks`](quorate_engine::Sharing))
//! has lower ones.
//!
//! The bits of values that share a message are added up, since bytes are rounded per message.

use crate::lookup::{by_elements, halves, place_bits};

/// Online rounds, and the primitives used in them, in bits per element; correlations per element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Causal rounds.
    pub rounds: u32,
    /// Openings: bits of each message.
    pub opened: Vec<u64>,
    /// ANDs: rows of each message.
    pub ands: Vec<u64>,
    /// Products over Z_2^k: bits of each message.
    pub products: Vec<u64>,
    /// For sharings that cut a batch into blocks, one for each party: inputs of one party's values, in bits of each
    /// message.
    pub owned: Vec<u64>,
    /// For the same sharings: products of one party's values with those of all others, in bits of each of their two
    /// messages.
    pub paired: Vec<u64>,
    /// Random bits, by the bits of their ring.
    pub random_bits: Vec<u32>,
    /// edaBits, by the bits of their ring, and their cut.
    pub edabits: Vec<(u32, Option<u32>)>,
    /// Truncation masks, by the bits of their ring, and their cut.
    pub trunc_masks: Vec<(u32, u32)>,
    /// Wide edaBits, by the bits of both rings.
    pub wide_edabits: Vec<(u32, u32)>,
}

impl Uses {
    /// Returns the bits of all messages of openings, ANDs and products.
    pub fn messages(&self) -> impl Iterator<Item = u64> + '_ {
        self.opened.iter().chain(&self.ands).chain(&self.products).copied()
    }

    /// Returns the costs of `count` instances side by side, in the same messages.
    pub fn times(mut self, count: u64) -> Uses {
        let messages = [&mut self.opened, &mut self.ands, &mut self.products, &mut self.owned, &mut self.paired];
        messages.into_iter().flatten().for_each(|bits| *bits *= count);
        self.random_bits = self.random_bits.repeat(count as usize);
        self.edabits = self.edabits.repeat(count as usize);
        self.trunc_masks = self.trunc_masks.repeat(count as usize);
        self.wide_edabits = self.wide_edabits.repeat(count as usize);
        self
    }

    /// Returns the costs of this, then `next`.
    pub fn then(self, next: Uses) -> Uses {
        let rounds = self.rounds + next.rounds;
        Uses { rounds, ..self.beside(next) }
    }

    /// Returns the costs of this and `other` in the same rounds, in messages of their own.
    pub fn beside(mut self, other: Uses) -> Uses {
        self.rounds = self.rounds.max(other.rounds);
        self.opened.extend(other.opened);
        self.ands.extend(other.ands);
        self.products.extend(other.products);
        self.random_bits.extend(other.random_bits);
        self.edabits.extend(other.edabits);
        self.owned.extend(other.owned);
        self.paired.extend(other.paired);
        self.trunc_masks.extend(other.trunc_masks);
        self.wide_edabits.extend(other.wide_edabits);
        self
    }
}

/// Returns ceil(log2 x).
fn log2(x: u64) -> u32 {
    x.next_power_of_two().trailing_zeros()
}

/// Returns the costs of layers of ANDs, one after the other; `ands` has the rows of each.
pub fn layers(ands: Vec<u64>) -> Uses {
    Uses { rounds: ands.len() as u32, ands, ..Uses::default() }
}

fn opening(bits: u32) -> Uses {
    Uses { rounds: 1, opened: vec![bits.into()], ..Uses::default() }
}

fn masked_opening(k: u32, cut: Option<u32>) -> Uses {
    Uses { edabits: vec![(k, cut)], ..opening(k) }
}

/// Returns the ANDs of a Sklansky network over `width` positions, level by level.
pub fn sklansky(width: u64) -> Vec<u64> {
    (0..log2(width))
        .map(|level| {
            let moved = (0..width).filter(|i| i >> level & 1 == 1);
            moved.map(|i| 1 + u64::from(i >> (level + 1) > 0)).sum()
        })
        .collect()
}

/// Returns the ANDs of [`all_by_pairs`](crate::prefix::all_by_pairs) over `width` positions, level by level.
pub fn by_pairs(width: u64) -> Vec<u64> {
    let (pairs, within) = (width / 2, width.div_ceil(2).saturating_sub(1));
    let joined = (pairs > 0).then(|| 2 * pairs - 1);
    joined.into_iter().chain(sklansky(pairs.max(1))).chain((within > 0).then_some(within)).collect()
}

/// Returns the ANDs of a tree over `width` positions, level by level. Those of the lowest group's propagate are
/// included only if `propagate`.
pub fn carry_tree(mut width: u64, propagate: bool) -> Vec<u64> {
    let mut levels = Vec::new();
    while width > 1 {
        levels.push(2 * (width / 2) - u64::from(!propagate));
        width = width.div_ceil(2);
    }
    levels
}

/// Returns the ANDs of the AND of `width` rows, level by level.
pub fn and_all(mut width: u64) -> Vec<u64> {
    let mut levels = Vec::new();
    while width > 1 {
        levels.push(width / 2);
        width = width.div_ceil(2);
    }
    levels
}

/// Returns the costs of BitAdd of k bits, with or without the carry out.
pub fn add(k: u32, carry_out: bool) -> Uses {
    let positions = u64::from(k) - u64::from(!carry_out);
    match positions {
        0 => Uses::default(),
        _ => layers(vec![positions]).then(layers(sklansky(positions))),
    }
}

/// Returns the costs of the top bit over Z_2^k.
pub fn msb(k: u32) -> Uses {
    match k {
        1 => Uses::default(),
        _ => masked_opening(k, None).then(layers(carry_tree(u64::from(k) - 1, false))),
    }
}

/// Returns the costs of less-than over the full signed range of Z_2^k.
pub fn lt_full(k: u32) -> Uses {
    msb(k).times(3).then(layers(vec![1]))
}

/// Returns the costs of equality with zero over Z_2^k.
pub fn eqz(k: u32) -> Uses {
    match k {
        1 => Uses::default(),
        _ => masked_opening(k, None).then(layers(and_all(k.into()))),
    }
}

/// Returns the costs of the bits of an element of Z_2^k.
pub fn bit_decompose(k: u32) -> Uses {
    match k {
        1 => Uses::default(),
        _ => masked_opening(k, None).then(layers(sklansky(u64::from(k) - 1))),
    }
}

/// Returns the costs of converting a bit to an element of Z_2^k.
pub fn bit_to_ring(k: u32) -> Uses {
    match k {
        1 => Uses::default(),
        _ => Uses { random_bits: vec![k], ..opening(1) },
    }
}

/// Returns the costs of a bit times an element of Z_2^k, and of selection by a bit.
pub fn mask(k: u32) -> Uses {
    Uses { products: vec![k.into()], random_bits: vec![k], ..opening(1) }
}

/// Returns the costs of exact truncation over Z_2^k by `shift` bits.
pub fn trunc_exact(k: u32, shift: u32) -> Uses {
    let d = shift.min(k - 1);
    if d == 0 {
        return Uses::default();
    }
    let low = layers(carry_tree(d.into(), false));
    let high = layers(carry_tree((k - d).into(), true));
    let wraps = low.beside(high).then(layers(vec![1]));
    masked_opening(k, Some(d)).then(wraps).then(bit_to_ring(k).beside(bit_to_ring(d)))
}

/// Returns the costs of exact truncation over Z_2^k, of numbers that fit k - 1 bits.
pub fn trunc_bounded(k: u32, shift: u32) -> Uses {
    match shift.min(k.saturating_sub(2)) {
        0 => Uses::default(),
        d => {
            let low = layers(carry_tree(d.into(), false));
            masked_opening(k, Some(d)).then(low).then(bit_to_ring(k).beside(bit_to_ring(d)))
        }
    }
}

/// Returns the costs of probabilistic truncation over Z_2^k by `shift` bits.
pub fn trunc_prob(k: u32, shift: u32) -> Uses {
    match shift {
        0 => Uses::default(),
        _ => Uses { trunc_masks: vec![(k, shift)], ..opening(k) },
    }
}

/// Returns the costs of converting an element of Z_2^k to Z_2^wide.
pub fn convert(k: u32, wide: u32) -> Uses {
    if wide <= k {
        return Uses::default();
    }
    let masked = Uses { wide_edabits: vec![(k, wide)], ..opening(k) };
    masked.then(layers(carry_tree(k.into(), false))).then(bit_to_ring(wide - k))
}

/// Returns the costs of converting `count` rows of bits, lowest first, to an element of Z_2^k.
pub fn word(count: u32, k: u32) -> Uses {
    let groups = (0..count).step_by(4).map(|from| bit_to_ring(k - from).times((count - from).min(4).into()));
    groups.fold(Uses::default(), Uses::beside)
}

/// Returns the costs of a quotient of `digits` digits, of integers without signs over Z_2^k. Divisors have `y_bits`
/// bits and may be 0. The decomposition of the operands costs `operands`.
pub fn int_quotient(y_bits: u32, digits: u32, k: u32, operands: Uses) -> Uses {
    let last = layers(vec![y_bits.into()]).then(layers(carry_tree(y_bits.into(), false)));
    let digit_by_digit = (1..digits).map(|_| add(y_bits + 1, false)).fold(Uses::default(), Uses::then).then(last);
    let divides = layers(and_all(y_bits.into()));
    operands.then(divides).then(digit_by_digit).then(layers(vec![digits.into()])).then(word(digits, k))
}

/// Returns the costs of the one-hot rows of a number of `bits` bits.
fn one_hot(bits: u32) -> Uses {
    if bits <= 1 {
        return Uses::default();
    }
    let (low, high) = (bits / 2, bits.div_ceil(2));
    one_hot(low).beside(one_hot(high)).then(layers(vec![((1 << low) - 1) << high]))
}

/// Returns the costs of a look-up over Z_2^k, of numbers that all have one of `entries` entries of `width` bits.
pub fn lookup(entries: usize, width: u32, k: u32) -> Uses {
    let n = place_bits(entries);
    if n == 0 || width == 0 {
        return Uses::default();
    }
    let place = bit_decompose(n);
    if by_elements(n, width as usize) {
        return place.then(one_hot(n)).then(bit_to_ring(k).times(entries as u64 - 1));
    }
    let (low, high) = halves(n, width as usize);
    let chosen = match high {
        0 => one_hot(n),
        _ => {
            let parts = entries.div_ceil(1 << low) as u64;
            one_hot(low).beside(one_hot(high)).then(layers(vec![parts * u64::from(width)]))
        }
    };
    place.then(chosen).then(bit_to_ring(k).times(width.into()))
}

/// A link between parties, for predictions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Seconds from a message's start to the start of an answer.
    pub round_trip_seconds: f64,
    /// Bytes per second that a party can send.
    pub bytes_per_second: f64,
}

impl Link {
    /// Returns the seconds for `rounds` rounds in which a party sends `bytes` bytes in total.
    pub fn seconds(self, rounds: u32, bytes: u64) -> f64 {
        f64::from(rounds) * self.round_trip_seconds / 2.0 + bytes as f64 / self.bytes_per_second
    }
}

/// Returns the index of the first form with the least time. Each form is given by its rounds and the bytes that a party
/// sends.
pub fn cheaper(forms: &[(u32, u64)], link: Link) -> usize {
    let seconds = |&(rounds, bytes): &(u32, u64)| link.seconds(rounds, bytes);
    let better = |best: usize, i: usize| if seconds(&forms[i]) < seconds(&forms[best]) { i } else { best };
    (0..forms.len()).fold(0, better)
}

/// Returns the rounds of a tournament of `rows` candidates over Z_2^k: for each round, the number of pairs and the
/// costs of a pair. `index_bits` has the bits of the ring of places, where they are wanted.
pub fn tournament(k: u32, mut rows: u64, compare: &Uses, index_bits: Option<u32>) -> Vec<(u64, Uses)> {
    let choose = mask(k);
    let choose = match index_bits {
        Some(bits) => choose.beside(mask(bits)),
        None => choose,
    };
    let mut rounds = Vec::new();
    while rows > 1 {
        rounds.push((rows / 2, compare.clone().then(choose.clone())));
        rows = rows.div_ceil(2);
    }
    rounds
}
