//! The costs of the protocols of `aby`, by formula. Tests check that formulas, dry runs and messages agree.
//!
//! Bytes are those sent by both parties together.

use std::collections::BTreeMap;
use std::ops::Range;

use quorate_engine::Chunks;
use quorate_gadgets::stream;
use quorate_garble::TABLE_BYTES;
use quorate_ot::{Options, cost as transfers};
use quorate_ring::{Conv, Ring};

use crate::digits::{Entry, Table};
use crate::keys;
use crate::kind::Kind;
use crate::lookup::{answer_bits, halves};
use crate::make::chunks;
use crate::matrix::Product;
use crate::public_table;

pub use crate::yao::cost as yao;

/// Rounds, and payload bytes sent by both parties together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The number of rounds, one after the other.
    pub rounds: u32,
    /// The number of payload bytes of all parties.
    pub bytes: u64,
}

impl Cost {
    /// Returns the cost of both in the same rounds.
    #[must_use]
    pub fn beside(self, other: Cost) -> Cost {
        Cost { rounds: self.rounds.max(other.rounds), bytes: self.bytes + other.bytes }
    }

    /// Returns the cost of both, one after the other.
    #[must_use]
    pub fn then(self, next: Cost) -> Cost {
        Cost { rounds: self.rounds + next.rounds, bytes: self.bytes + next.bytes }
    }
}

impl From<transfers::Cost> for Cost {
    fn from(cost: transfers::Cost) -> Cost {
        Cost { rounds: cost.rounds, bytes: cost.by_sender + cost.by_receiver }
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
        other.demand.into_iter().fold(self, |plan, (kind, len)| plan.using(kind, len))
    }

    /// Returns the bill of this protocol, followed by `next`.
    #[must_use]
    pub fn then(self, next: Bill) -> Bill {
        self.joined(next, Cost::then)
    }

    /// Returns the bill of both in the same rounds.
    #[must_use]
    pub fn beside(self, other: Bill) -> Bill {
        self.joined(other, Cost::beside)
    }

    /// Returns the cost of making the correlations: all of a kind at once, the kinds side by side.
    pub fn offline(&self) -> Cost {
        self.demand.iter().map(|(kind, &len)| correlation(kind, len)).fold(Cost::default(), Cost::beside)
    }
}

fn packed(bits: u64, len: usize) -> u64 {
    (bits * len as u64).div_ceil(8)
}

/// Returns the bill of one round in which each party sends `bits` bits for each element.
fn exchanged(bits: u64, len: usize) -> Bill {
    Bill::of(Cost { rounds: 1, bytes: 2 * packed(bits, len) })
}

/// Returns the cost of one round in which `bits` bits are sent for each element: by one party, or by each for half of
/// them.
fn passed(bits: u64, len: usize) -> Cost {
    Cost { rounds: 1, bytes: packed(bits, len) }
}

/// Returns the bill of an input: nothing is sent.
pub fn input() -> Bill {
    Bill::default()
}

/// Returns the bill of an opening to both.
pub fn open(k: u32, len: usize) -> Bill {
    exchanged(k.into(), len)
}

/// Returns the bill of an opening to one.
pub fn open_to_one(k: u32, len: usize) -> Bill {
    Bill::of(passed(k.into(), len))
}

/// Returns the bill of element-wise products, and of sums of products.
pub fn mul(k: u32, len: usize) -> Bill {
    exchanged(2 * u64::from(k), len).using(Kind::Triple { bits: k }, len)
}

/// Returns the bill of a product of an (m x k) and a (k x n) matrix over Z_2^bits.
pub fn matmul(bits: u32, (m, k, n): (usize, usize, usize)) -> Bill {
    exchanged(bits.into(), m * k + k * n).using(Kind::MatrixTriple { bits, m, k, n }, 1)
}

/// Returns the bill of a convolution over Z_2^bits.
pub fn convolution(bits: u32, conv: Conv) -> Bill {
    exchanged(bits.into(), conv.lens().iter().sum()).using(Kind::ConvTriple { bits, conv }, 1)
}

/// Returns the bill of an AND of `rows` rows.
pub fn and(rows: u64, len: usize) -> Bill {
    exchanged(2 * rows, len).using(Kind::BitTriple, rows as usize * len)
}

fn and_both(rows: u64, len: usize) -> Bill {
    exchanged(3 * rows, len).using(Kind::BitPair, rows as usize * len)
}

/// Returns the bill of random bits, which send nothing online.
pub fn random_bits(k: u32, len: usize) -> Bill {
    match k {
        1 => Bill::default(),
        _ => Bill::default().using(Kind::BitProduct { bits: k - 1 }, len),
    }
}

/// Returns the bill of a bit as an element.
pub fn bit_to_ring(k: u32, len: usize) -> Bill {
    match k {
        1 => Bill::default(),
        _ => exchanged(1, len).beside(random_bits(k, len)),
    }
}

/// Returns the bill of a number from its bits: bit i over Z_2^(k-i).
pub fn compose(k: u32, len: usize) -> Bill {
    let chunks = stream::chunks(len, k);
    let sent = (0..chunks.count()).map(|i| exchanged(u64::from(k) - 1, chunks.range(i).len()).online);
    let online = if k == 1 { Cost::default() } else { sent.fold(Cost::default(), Cost::beside) };
    (1..k).fold(Bill::of(online), |plan, bits| plan.using(Kind::BitProduct { bits }, len))
}

/// Returns the bill of a bit times an element, and of a selection by a bit.
pub fn mask(k: u32, len: usize) -> Bill {
    exchanged(1, len).beside(exchanged(k.into(), len)).using(Kind::Selection { bits: k }, len)
}

/// Returns the lanes of each party's tables in all chunks, with `times` lanes for each element.
fn tables_of(chunks: Chunks, times: usize) -> [usize; 2] {
    let sizes = (0..chunks.count()).map(|i| halves(times * chunks.range(i).len()).map(|half| half.len()));
    sizes.fold([0; 2], |[a, b], [c, d]| [a + c, b + d])
}

/// Returns the bill of looking up a table: the chooser's bits, then the sender's.
fn look_up(table: Table, chunks: Chunks, times: usize) -> Bill {
    let lanes = times * chunks.len;
    let online = passed(table.choice_bits() as u64, lanes).then(passed(answer_bits(&table.digits()) as u64, lanes));
    let tables = tables_of(chunks, times);
    (0..2).fold(Bill::of(online), |plan, sender| plan.using(Kind::Tables { table, sender }, tables[sender]))
}

/// Returns the bill of the generate of `width` digits, and of their propagate if it is wanted.
fn tree(mut width: u64, propagate: bool, len: usize) -> Bill {
    let last = if propagate { 1 } else { 2 };
    let mut plan = Bill::default();
    while width > last {
        plan = plan.then(and_both(width / 2, len));
        width = width.div_ceil(2);
    }
    if width == 2 { plan.then(and(1, len)) } else { plan }
}

fn carry(bits: u32, chunks: Chunks, times: usize) -> Bill {
    let table = Table::Carry { bits };
    look_up(table, chunks, times).then(tree(table.digits().len() as u64, false, times * chunks.len))
}

/// Returns the bill of the top bit.
pub fn msb(k: u32, len: usize) -> Bill {
    match k {
        1 => Bill::default(),
        _ => carry(k - 1, stream::chunks(len, k), 1),
    }
}

/// Returns the bill of less-than over the full signed range: three carries.
pub fn lt_full(k: u32, len: usize) -> Bill {
    carry(k, stream::chunks(len, 3 * k), 3)
}

/// Returns the bill of equality with zero.
pub fn eqz(k: u32, len: usize) -> Bill {
    let table = Table::Equal { bits: k };
    let mut plan = look_up(table, stream::chunks(len, k), 1);
    let mut width = table.digits().len() as u64;
    while width > 1 {
        plan = plan.then(and(width / 2, len));
        width = width.div_ceil(2);
    }
    plan
}

/// Returns the bill of all bits.
pub fn bit_decompose(k: u32, len: usize) -> Bill {
    if k == 1 {
        return Bill::default();
    }
    let table = Table::Prefixes { bits: k - 1 };
    let digits = table.digits();
    let (mut plan, width) = (look_up(table, stream::chunks(len, k), 1), digits.len() as u64);
    for level in (0..).take_while(|level| 1 << level < width) {
        plan = plan.then(and_both((0..width).filter(|i| i >> level & 1 == 1).count() as u64, len));
    }
    let inner = |digit: &crate::digits::Digit| if digit.entry == Entry::Pairs { u64::from(digit.width) - 1 } else { 0 };
    match digits.iter().map(inner).sum() {
        0 => plan,
        rows => plan.then(and(rows, len)),
    }
}

/// Returns the bill of exact truncation.
pub fn trunc_exact(k: u32, shift: u32, len: usize) -> Bill {
    let d = shift.min(k - 1);
    if d == 0 {
        return Bill::default();
    }
    let table = Table::Carries { low: d, high: k - d };
    let digits = table.digits();
    let low = digits.iter().filter(|digit| digit.low < d).count();
    let trees = tree(low as u64, false, len).beside(tree((digits.len() - low) as u64, true, len));
    let carries = look_up(table, stream::chunks(len, 2 * k), 1).then(trees).then(and(1, len));
    carries.then(bit_to_ring(k, len).beside(bit_to_ring(d, len)))
}

/// Returns the bill of probabilistic truncation.
pub fn trunc_prob(shift: u32, len: usize) -> Bill {
    match shift {
        0 => Bill::default(),
        bits => exchanged(1, len).using(Kind::BitProduct { bits }, len),
    }
}

/// Returns the bill of a conversion into another ring.
pub fn convert(k: u32, wide: u32, len: usize) -> Bill {
    match wide > k {
        true => carry(k, stream::chunks(len, 2 * wide), 1).then(bit_to_ring(wide - k, len)),
        false => Bill::default(),
    }
}

/// Returns the bill of look-ups in a public table over Z_2^k, for numbers with an entry and places of `place_bits`
/// bits.
///
/// # Panics
/// If the general gadget serves: for places of one bit, or of more than 26 bits, and for rings of more than 64 bits.
pub fn lookup(place_bits: u32, k: u32, len: usize) -> Bill {
    if k == 1 {
        return lookup_bit(place_bits, len);
    }
    let message = |len: usize| exchanged(u64::from(k) - 1, len).online;
    let kind = Kind::Lookup { place_bits, bits: k };
    opened_places(place_bits, k, len)
        .then(Bill::of(by_chunks(public_table::chunks(len, place_bits), message)))
        .using(kind, len)
}

/// Returns the bill of look-ups of the lowest bits of entries.
///
/// # Panics
/// In the cases of [`lookup`].
pub fn lookup_bit(place_bits: u32, len: usize) -> Bill {
    opened_places(place_bits, 1, len).using(Kind::Point { place_bits }, len)
}

fn opened_places(place_bits: u32, k: u32, len: usize) -> Bill {
    assert!(public_table::has_keys(place_bits, k), "the general gadget serves");
    let opened = |len: usize| exchanged(place_bits.into(), len).online;
    Bill::of(by_chunks(public_table::chunks(len, place_bits), opened))
}

/// Returns the sum of the costs of all chunks, in the same rounds.
fn by_chunks(chunks: Chunks, cost: impl Fn(usize) -> Cost) -> Cost {
    (0..chunks.count()).map(|i| cost(chunks.range(i).len())).fold(Cost::default(), Cost::beside)
}

/// Returns the bill of a shuffle; `columns` gives the bits of an element and the elements of a row, column by column.
pub fn shuffle(rows: usize, columns: &[(u32, usize)]) -> Bill {
    if rows < 2 || columns.is_empty() {
        return Bill::default();
    }
    let moved = columns.iter().map(|&(bits, width)| passed(bits.into(), rows * width));
    let pass = Bill::of(moved.fold(Cost::default(), Cost::beside));
    let pass = |mover| pass.clone().using(Kind::Permutation { rows, columns: columns.to_vec(), mover }, 1);
    pass(0).then(pass(1))
}

fn bit_products(bits: u32, len: usize) -> Cost {
    match len {
        0 => Cost::default(),
        _ => transfers::bit_products(Options::default(), Ring::of(bits), len).into(),
    }
}

/// Returns the cost of a permutation: the switches' transfers, a bit and a correction for each; all parts side by side.
fn permutation(rows: usize, columns: &[(u32, usize)]) -> Cost {
    let parts = crate::shuffle::parts(rows);
    let part = |count: usize| {
        let flips = Cost::from(transfers::cots(Options::default(), count)).then(passed(1, count));
        let moved = columns.iter().map(|&(bits, width)| passed(bits.into(), count * width));
        flips.then(moved.fold(Cost::default(), Cost::beside))
    };
    (0..parts.count()).map(|i| part(parts.range(i).len())).fold(Cost::default(), Cost::beside)
}

/// Returns the cost of points that both parties make; with `bits`, also of removing the sign of look-ups over Z_2^bits.
fn made_points(place_bits: u32, bits: Option<u32>, len: usize) -> Cost {
    let options = Options::default();
    let (levels, leaf_bits, blocks) = keys::sizes(place_bits);
    let both = |cost: transfers::Cost| Cost::from(cost.both_ways());
    let once = |bits: u64| exchanged(bits, len).online;
    let choices = both(transfers::cots(options, place_bits as usize * len));
    let in_turn = |costs: &mut dyn Iterator<Item = Cost>| costs.fold(Cost::default(), Cost::then);
    let trees = in_turn(&mut (0..levels).map(|_| once(128)));
    let units = in_turn(&mut (1..leaf_bits).map(|bit| once(1 << bit)));
    let products = (1..place_bits).map(|bits| passed(bits.into(), len)).fold(Cost::default(), Cost::beside);
    let leaf = once((128 * (blocks - levels) as u64).min(1 << leaf_bits));
    let made = choices.then(trees.beside(units).beside(products)).then(leaf);
    match bits {
        Some(_) => made.then(both(transfers::cots_for(options, len))),
        None => made,
    }
}

/// Returns the cost of one of both directions of a matrix product: for each bit of a chosen element a transfer, and a
/// message of `n` elements, over Z_2^bits to Z_2.
fn rows_product(product: Product) -> Cost {
    let bits = product.ring.bits();
    let block = |block: Range<usize>| {
        let bytes: usize = (1..=bits).map(|bits| Ring::of(bits).packed_bytes(block.len() * product.n)).sum();
        let transfers = Cost::from(transfers::cots(Options::default(), block.len() * bits as usize));
        transfers.then(Cost { rounds: 1, bytes: bytes as u64 })
    };
    product.blocks().into_iter().map(block).fold(Cost::default(), Cost::beside)
}

/// Returns the cost of one batch of correlations.
fn batch(kind: &Kind, len: usize) -> Cost {
    let options = Options::default();
    match kind {
        Kind::Triple { bits } if *bits <= 64 => transfers::triples(options, Ring::of(*bits), len).into(),
        Kind::Triple { bits } => {
            let of_bit = |bits| bit_products(bits, len).beside(bit_products(bits, len));
            (1..=*bits).map(of_bit).fold(Cost::default(), Cost::beside)
        }
        &Kind::MatrixTriple { bits, m, k, n } => {
            let one = rows_product(Product::narrow_first(Ring::of(bits), (m, k, n)).0);
            (0..2 * len).map(|_| one).fold(Cost::default(), Cost::beside)
        }
        &Kind::ConvTriple { bits, conv } => {
            let one = rows_product(Product::of_filters(Ring::of(bits), &conv));
            (0..2 * len * conv.groups).map(|_| one).fold(Cost::default(), Cost::beside)
        }
        Kind::BitTriple => transfers::bit_triples(options, 1, len).into(),
        Kind::BitPair => transfers::select_triples(options, 2, len).into(),
        Kind::BitProduct { bits } => {
            let cut = len.div_ceil(2);
            bit_products(*bits, cut).beside(bit_products(*bits, len - cut))
        }
        Kind::Selection { bits } => {
            let both = bit_products(*bits, len).beside(bit_products(*bits, len));
            both.beside(batch(&Kind::BitProduct { bits: *bits }, len))
        }
        Kind::Tables { table, .. } => transfers::cots(options, table.choice_bits() * len).into(),
        Kind::InputLabel => transfers::cots(options, len).into(),
        Kind::EntryLabel => Cost::default(),
        Kind::GarbledAnd => Cost { rounds: 1, bytes: (TABLE_BYTES * len) as u64 },
        &Kind::Lookup { place_bits, bits } => made_points(place_bits, Some(bits), len),
        &Kind::Point { place_bits } => made_points(place_bits, None, len),
        Kind::Permutation { rows, columns, .. } => {
            let one = permutation(*rows, columns);
            (0..len).map(|_| one).fold(Cost::default(), Cost::beside)
        }
    }
}

/// Returns the cost of `len` correlations of one kind, made together.
pub fn correlation(kind: &Kind, len: usize) -> Cost {
    let chunks = chunks(kind, len);
    (0..chunks.count()).map(|i| batch(kind, chunks.range(i).len())).fold(Cost::default(), Cost::beside)
}

/// The paper's costs, in bits sent by both parties for one element.
pub mod paper {
    /// The security parameter.
    const KAPPA: u64 = 128;

    /// Returns Table I's bits for sharing and opening: l.
    pub const fn share_or_open(l: u64) -> u64 {
        l
    }

    /// Returns Table I's bits for B2A and Y2A: l kappa + (l^2 + l) / 2.
    pub const fn b2a(l: u64) -> u64 {
        l * KAPPA + (l * l + l) / 2
    }

    /// Returns Table I's bits for A2B and A2Y: 6 l kappa.
    pub const fn a2b(l: u64) -> u64 {
        6 * l * KAPPA
    }

    /// Returns Table I's bits for B2Y: 2 l kappa.
    pub const fn b2y(l: u64) -> u64 {
        2 * l * KAPPA
    }

    /// Returns the bits of an arithmetic triple by section III-A5: 2 l transfers of kappa + (l + 1) / 2 bits.
    pub const fn triple(l: u64) -> u64 {
        2 * l * KAPPA + l * (l + 1)
    }
}
