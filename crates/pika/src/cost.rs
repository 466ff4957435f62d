//! The costs of the protocols of `pika`, by formula and by party. Tests hold formulas, dry runs and the wire equal.
//!
//! Rounds are those of a protocol that all parties begin together. Party 2's messages go one way: they make a round for
//! the one that receives them.

use std::collections::BTreeMap;

use quorate_engine::Form;
use quorate_fss::Shape;
use quorate_gadgets::cost::{self as gadgets, Uses, and_all, carry_tree, layers};
use quorate_ring::{Conv, Ring};

use crate::chunks;
use crate::kind::Kind;
use crate::setup::{DEALER, PARTIES};

/// Rounds, and payload bytes sent, by party.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The number of rounds, one after the other.
    pub rounds: [u32; PARTIES],
    /// The number of payload bytes.
    pub bytes: [u64; PARTIES],
}

impl Cost {
    fn joined(self, other: Cost, rounds: fn(u32, u32) -> u32) -> Cost {
        Cost {
            rounds: std::array::from_fn(|i| rounds(self.rounds[i], other.rounds[i])),
            bytes: std::array::from_fn(|i| self.bytes[i] + other.bytes[i]),
        }
    }

    /// Returns the cost of both in the same rounds.
    #[must_use]
    pub fn beside(self, other: Cost) -> Cost {
        self.joined(other, u32::max)
    }

    /// Returns the cost of both, one after the other, if parties 0 and 1 end the first one together.
    #[must_use]
    pub fn then(self, next: Cost) -> Cost {
        self.joined(next, |a, b| a + b)
    }
}

/// The online part of a protocol, and the correlations that it uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bill {
    /// The cost of the part that depends on inputs.
    pub online: Cost,
    /// The number of correlations by kind.
    pub demand: BTreeMap<Kind, usize>,
}

impl Bill {
    fn of(online: Cost) -> Bill {
        Bill { online, demand: BTreeMap::new() }
    }

    fn using(mut self, kind: Kind, len: usize) -> Bill {
        if len > 0 {
            *self.demand.entry(kind).or_default() += len;
        }
        self
    }

    fn joined(mut self, other: Bill, costs: fn(Cost, Cost) -> Cost) -> Bill {
        self.online = costs(self.online, other.online);
        other.demand.into_iter().fold(self, |bill, (kind, len)| bill.using(kind, len))
    }

    /// Returns the bill of this protocol, followed by `next`.
    #[must_use]
    pub fn then(self, next: Bill) -> Bill {
        self.joined(next, Cost::then)
    }

    /// Returns the cost of dealing the correlations: all of a kind at once, the kinds side by side.
    pub fn offline(&self) -> Cost {
        self.demand.iter().map(|(kind, &len)| correlation(kind, len)).fold(Cost::default(), Cost::beside)
    }
}

fn packed(bits: u64, len: usize) -> u64 {
    (bits * len as u64).div_ceil(8)
}

/// Returns the cost of one round in which parties 0 and 1 send each other `bits` bits for each element.
fn exchanged(bits: u64, len: usize) -> Cost {
    let bytes = packed(bits, len);
    Cost { rounds: [1, 1, 0], bytes: [bytes, bytes, 0] }
}

/// Returns the cost of `bytes` bytes from one party to another; only the receiver has a round.
fn passed(from: usize, to: usize, bytes: u64) -> Cost {
    let mut cost = Cost::default();
    cost.bytes[from] = bytes;
    cost.rounds[to] = u32::from(bytes > 0);
    cost
}

/// Returns the bill of an input of a vector over Z_2^k.
pub fn input(owner: usize, k: u32, len: usize) -> Bill {
    match owner {
        DEALER => Bill::of(passed(DEALER, 1, packed(k.into(), len))),
        _ => Bill::default(),
    }
}

/// Returns the bill of an opening to parties 0 and 1.
pub fn open(k: u32, len: usize) -> Bill {
    Bill::of(exchanged(k.into(), len))
}

/// Returns the bill of a reveal to all, or to one.
pub fn reveal(to: Option<usize>, k: u32, len: usize) -> Bill {
    let bytes = packed(k.into(), len);
    Bill::of(match to {
        None => Cost { rounds: [1; PARTIES], bytes: [2 * bytes, 2 * bytes, 0] },
        Some(DEALER) => passed(0, DEALER, bytes).beside(passed(1, DEALER, bytes)),
        Some(to) => passed(1 - to, to, bytes),
    })
}

/// Returns the bill of element-wise products.
pub fn mul(k: u32, len: usize) -> Bill {
    Bill::of(exchanged(2 * u64::from(k), len)).using(Kind::Triple { bits: k }, len)
}

/// Returns the bill of sums of products along the middle axis, of more than one pair each.
pub fn dot(k: u32, (outer, axis, inner): (usize, usize, usize)) -> Bill {
    let chunks = chunks::of_products(Ring::of(k), outer, axis * inner);
    let lines = (0..chunks.count()).map(|i| exchanged(2 * u64::from(k), axis * inner * chunks.range(i).len()));
    let online = lines.fold(Cost::default(), Cost::beside);
    Bill::of(online).using(Kind::DotTriple { bits: k, axis, inner }, outer)
}

/// Returns the bill of a product of an (m x k) and a (k x n) matrix over Z_2^bits.
pub fn matmul(bits: u32, (m, k, n): (usize, usize, usize)) -> Bill {
    Bill::of(exchanged(bits.into(), m * k + k * n)).using(Kind::MatrixTriple { bits, m, k, n }, 1)
}

/// Returns the bill of a convolution over Z_2^bits.
pub fn convolution(bits: u32, conv: Conv) -> Bill {
    let opened = conv.lens().iter().sum();
    Bill::of(exchanged(bits.into(), opened)).using(Kind::ConvTriple { bits, conv }, 1)
}

/// Returns the bill of making a value of Z_2^k the factor of this name.
pub fn as_factor(k: u32, len: usize, factor: u32) -> Bill {
    Bill::of(exchanged(k.into(), len)).using(Kind::FactorMask { bits: k, len, factor }, 1)
}

/// Returns the bill of a product by such a factor, on the right or on the left, of a form that one triple serves.
pub fn by_factor(k: u32, form: Form, right: bool, factor: u32) -> Bill {
    let other = form.lens(0)[usize::from(!right)];
    Bill::of(exchanged(k.into(), other)).using(Kind::TripleBy { bits: k, form, right, factor }, 1)
}

/// Returns the bill of an AND of `rows` rows.
pub fn and(rows: u64, len: usize) -> Bill {
    Bill::of(exchanged(2 * rows, len)).using(Kind::BitTriple, rows as usize * len)
}

/// Returns the bill of random bits, which send nothing online.
pub fn random_bits(k: u32, len: usize) -> Bill {
    match k {
        1 => Bill::default(),
        _ => Bill::default().using(Kind::DaBit { bits: k }, len),
    }
}

/// Returns the bill of a bit times an element, and of a selection by a bit.
pub fn mask(k: u32, len: usize) -> Bill {
    let online = exchanged(1, len).beside(exchanged(k.into(), len));
    Bill::of(online).using(Kind::Selection { bits: k }, len)
}

/// Returns the bill of the top bit over Z_2^k: half of the k - 1 positions are left after the dealt products of
/// neighbours.
pub fn msb(k: u32, len: usize) -> Bill {
    let pairs = (k as usize - 1) / 2;
    match k {
        1 => Bill::default(),
        2 => open(k, len).using(Kind::EdaBit { bits: k, cut: 0 }, len),
        _ => {
            let masked = open(k, len).using(Kind::ComparisonMask { bits: k, pairs }, len);
            masked.then(gadget(&layers(carry_tree((u64::from(k) - 1).div_ceil(2), false)), len))
        }
    }
}

/// Returns the bill of the top bit over Z_2^k by a key.
pub fn msb_by_key(k: u32, len: usize) -> Bill {
    open(k, len).using(Kind::SignKey { bits: k }, len)
}

/// Returns the bill of less-than over the full signed range of Z_2^k.
pub fn lt_full(k: u32, len: usize) -> Bill {
    msb(k, 3 * len).then(and(1, len))
}

/// Returns the bill of equality with zero over Z_2^k: the first level is dealt.
pub fn eqz(k: u32, len: usize) -> Bill {
    match k {
        1 => Bill::default(),
        _ => {
            let masked = open(k, len).using(Kind::ComparisonMask { bits: k, pairs: k as usize / 2 }, len);
            masked.then(gadget(&layers(and_all(u64::from(k).div_ceil(2))), len))
        }
    }
}

/// Returns the bill of equality with zero over Z_2^k by a key.
pub fn eqz_by_key(k: u32, len: usize) -> Bill {
    open(k, len).using(Kind::Point { place_bits: k }, len)
}

/// Returns the bill of the bits of an element.
pub fn bit_decompose(k: u32, len: usize) -> Bill {
    gadget(&gadgets::bit_decompose(k), len)
}

/// Returns the bill of a bit as an element of Z_2^k.
pub fn bit_to_ring(k: u32, len: usize) -> Bill {
    gadget(&gadgets::bit_to_ring(k), len)
}

/// Returns the bill of exact truncation over Z_2^k.
pub fn trunc_exact(k: u32, shift: u32, len: usize) -> Bill {
    gadget(&gadgets::trunc_exact(k, shift), len)
}

/// Returns the bill of exact truncation over Z_2^k by keys.
pub fn trunc_exact_by_keys(k: u32, shift: u32, len: usize) -> Bill {
    match shift.min(k - 1) {
        0 => Bill::default(),
        d => {
            let opened = open(k, len).using(Kind::FloorKeys { bits: k, cut: d }, len);
            opened.then(gadget(&gadgets::bit_to_ring(k).beside(gadgets::bit_to_ring(d)), len))
        }
    }
}

/// Returns the bill of exact truncation over Z_2^k of numbers that fit k - 1 bits.
pub fn trunc_bounded(k: u32, shift: u32, len: usize) -> Bill {
    gadget(&gadgets::trunc_bounded(k, shift), len)
}

/// Returns the bill of exact truncation over Z_2^k, by a key, of numbers that fit k - 1 bits.
pub fn trunc_bounded_by_key(k: u32, shift: u32, len: usize) -> Bill {
    match shift.min(k.saturating_sub(2)) {
        0 => Bill::default(),
        d => open(k, len).using(Kind::BoundedFloorKey { bits: k, cut: d }, len).then(bit_to_ring(k, len)),
    }
}

/// Returns the bill of probabilistic truncation over Z_2^k.
pub fn trunc_prob(k: u32, shift: u32, len: usize) -> Bill {
    gadget(&gadgets::trunc_prob(k, shift), len)
}

/// Returns the bill of converting an element of Z_2^k to Z_2^wide.
pub fn convert(k: u32, wide: u32, len: usize) -> Bill {
    gadget(&gadgets::convert(k, wide), len)
}

/// Returns the bill of a shuffle of rows; `columns` gives the bits of an element and the elements of a row, column by
/// column.
pub fn shuffle(rows: usize, columns: &[(u32, usize)]) -> Bill {
    if rows < 2 {
        return Bill::default();
    }
    let bytes = columns.iter().map(|&(bits, width)| packed(bits.into(), rows * width)).sum();
    // Party 0 moves what it received, then party 1 moves what follows from that.
    let mut online = passed(1, 0, bytes).beside(passed(0, 1, bytes));
    online.rounds[1] *= 2;
    let kind = |mover| Kind::Permutation { rows, columns: columns.to_vec(), mover };
    Bill::of(online).using(kind(0), 1).using(kind(1), 1)
}

/// Returns the bill of look-ups of numbers with an entry, in a table with places of n bits and entries over Z_2^k.
pub fn lookup(n: u32, k: u32, len: usize) -> Bill {
    open(n, len).then(open(k, len)).using(Kind::Lookup { place_bits: n, bits: k }, len)
}

/// Returns the bill of look-ups of the lowest bit of an entry.
pub fn lookup_bit(n: u32, len: usize) -> Bill {
    open(n, len).using(Kind::Point { place_bits: n }, len)
}

/// Returns the cost of sending the corrections of keys to parties 0 and 1.
fn keys(kind: &Kind, len: usize) -> Cost {
    let sent = |shape: Shape| {
        let bytes = 16 * (shape.key_blocks() * len) as u64;
        passed(DEALER, 0, bytes).beside(passed(DEALER, 1, bytes))
    };
    kind.keys().into_iter().map(sent).fold(Cost::default(), Cost::beside)
}

/// Returns the bill of a gadget with the uses of the default bodies.
fn gadget(uses: &Uses, len: usize) -> Bill {
    let opened = uses.opened.iter().copied();
    let doubled = uses.ands.iter().chain(&uses.products).map(|bits| 2 * bits);
    let bytes = opened.chain(doubled).map(|bits| packed(bits, len)).sum();
    let online = Cost { rounds: [uses.rounds, uses.rounds, 0], bytes: [bytes, bytes, 0] };
    let ands = uses.ands.iter().map(|&rows| (Kind::BitTriple, rows as usize));
    let products = uses.products.iter().map(|&bits| (Kind::Triple { bits: bits as u32 }, 1));
    let random_bits = uses.random_bits.iter().filter(|&&bits| bits > 1).map(|&bits| (Kind::DaBit { bits }, 1));
    let edabits = uses.edabits.iter().map(|&(bits, cut)| (Kind::EdaBit { bits, cut: cut.unwrap_or(0) }, 1));
    let masks = uses.trunc_masks.iter().map(|&(bits, cut)| (Kind::TruncMask { bits, cut }, 1));
    let wide = uses.wide_edabits.iter().map(|&(bits, wide)| (Kind::WideEdaBit { bits, wide }, 1));
    let all = ands.chain(products).chain(random_bits).chain(edabits).chain(masks).chain(wide);
    all.fold(Bill::of(online), |bill, (kind, each)| bill.using(kind, each * len))
}

/// Returns the cost of dealing `len` correlations of one kind together: each part that follows from others is a
/// message.
pub fn correlation(kind: &Kind, len: usize) -> Cost {
    let each = |parts: &[u64]| parts.iter().map(|&bits| packed(bits, len)).sum::<u64>();
    let bits = |bits: u32| u64::from(bits);
    let to_party_1 = match *kind {
        Kind::Triple { bits: k } | Kind::DaBit { bits: k } | Kind::EdaBit { bits: k, cut: 0 } => each(&[bits(k)]),
        Kind::DotTriple { bits: k, inner, .. } => each(&[bits(k) * inner as u64]),
        Kind::MatrixTriple { bits: k, m, n, .. } => len as u64 * packed(bits(k), m * n),
        Kind::ConvTriple { bits: k, conv } => len as u64 * packed(bits(k), conv.len_out()),
        Kind::FactorMask { .. } => 0,
        Kind::TripleBy { bits: k, form, .. } => len as u64 * packed(bits(k), form.len_out(0)),
        Kind::BitTriple => each(&[1]),
        Kind::EdaBit { bits: k, .. } | Kind::Selection { bits: k } => each(&[bits(k), bits(k)]),
        Kind::ComparisonMask { bits: k, pairs } => each(&[bits(k), pairs as u64]),
        Kind::TruncMask { bits: k, cut } => each(&[bits(k), bits(cut) + 1]),
        Kind::WideEdaBit { bits: k, wide } => each(&[bits(wide - k), bits(k)]),
        Kind::Lookup { bits: k, .. } => each(&[bits(k), bits(k)]),
        Kind::Point { .. } => 0,
        Kind::SignKey { .. } => each(&[1]),
        Kind::FloorKeys { bits: k, .. } => each(&[bits(k)]),
        Kind::BoundedFloorKey { bits: k, cut } => each(&[bits(k), bits(cut)]),
        Kind::Permutation { rows, ref columns, mover } => {
            let column = |&(k, width): &(u32, usize)| packed(bits(k), rows * width);
            return passed(DEALER, mover, len as u64 * columns.iter().map(column).sum::<u64>());
        }
    };
    keys(kind, len).beside(passed(DEALER, 1, to_party_1))
}
