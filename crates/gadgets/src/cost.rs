//! What gadgets use of a sharing's primitives, for one element. A backend turns this into bytes; tests hold it equal to dry
//! runs and to the wire. These are the default bodies' costs: a backend that overrides a gadget has its own.
//!
//! Where values lie side by side in a message their bits are added up, since bytes are rounded per message.

/// Online rounds, and what is used in them, in bits per element; correlations per element.
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
    /// Random bits, by the bits of their ring.
    pub random_bits: Vec<u32>,
    /// edaBits, by the bits of their ring, and their cut.
    pub edabits: Vec<(u32, Option<u32>)>,
}

impl Uses {
    /// All messages of openings, ANDs and products, in bits.
    pub fn messages(&self) -> impl Iterator<Item = u64> + '_ {
        self.opened.iter().chain(&self.ands).chain(&self.products).copied()
    }

    /// `count` of these side by side, in the same messages.
    fn times(mut self, count: u64) -> Uses {
        [&mut self.opened, &mut self.ands, &mut self.products].into_iter().flatten().for_each(|bits| *bits *= count);
        self.random_bits = self.random_bits.repeat(count as usize);
        self.edabits = self.edabits.repeat(count as usize);
        self
    }

    /// This, then `next`.
    fn then(self, next: Uses) -> Uses {
        let rounds = self.rounds + next.rounds;
        Uses { rounds, ..self.beside(next) }
    }

    /// This and `other` in the same rounds, in messages of their own.
    fn beside(mut self, other: Uses) -> Uses {
        self.rounds = self.rounds.max(other.rounds);
        self.opened.extend(other.opened);
        self.ands.extend(other.ands);
        self.products.extend(other.products);
        self.random_bits.extend(other.random_bits);
        self.edabits.extend(other.edabits);
        self
    }
}

/// ceil(log2 x).
fn log2(x: u64) -> u32 {
    x.next_power_of_two().trailing_zeros()
}

fn layers(ands: Vec<u64>) -> Uses {
    Uses { rounds: ands.len() as u32, ands, ..Uses::default() }
}

fn opening(bits: u32) -> Uses {
    Uses { rounds: 1, opened: vec![bits.into()], ..Uses::default() }
}

fn masked_opening(k: u32, cut: Option<u32>) -> Uses {
    Uses { edabits: vec![(k, cut)], ..opening(k) }
}

/// ANDs of a Sklansky network over `width` positions, level by level.
pub fn sklansky(width: u64) -> Vec<u64> {
    (0..log2(width))
        .map(|level| {
            let moved = (0..width).filter(|i| i >> level & 1 == 1);
            moved.map(|i| 1 + u64::from(i >> (level + 1) > 0)).sum()
        })
        .collect()
}

/// ANDs of a tree over `width` positions, level by level; the lowest group's propagate only if it is wanted.
pub fn carry_tree(mut width: u64, propagate: bool) -> Vec<u64> {
    let mut levels = Vec::new();
    while width > 1 {
        levels.push(2 * (width / 2) - u64::from(!propagate));
        width = width.div_ceil(2);
    }
    levels
}

/// The AND of `width` rows.
fn and_all(mut width: u64) -> Vec<u64> {
    let mut levels = Vec::new();
    while width > 1 {
        levels.push(width / 2);
        width = width.div_ceil(2);
    }
    levels
}

/// BitAdd of k bits, with or without the carry out.
pub fn add(k: u32, carry_out: bool) -> Uses {
    let positions = u64::from(k) - u64::from(!carry_out);
    match positions {
        0 => Uses::default(),
        _ => layers(vec![positions]).then(layers(sklansky(positions))),
    }
}

/// The top bit over Z_2^k.
pub fn msb(k: u32) -> Uses {
    match k {
        1 => Uses::default(),
        _ => masked_opening(k, None).then(layers(carry_tree(u64::from(k) - 1, false))),
    }
}

/// Less-than over the full signed range of Z_2^k.
pub fn lt_full(k: u32) -> Uses {
    msb(k).times(3).then(layers(vec![1]))
}

/// Less-than where the difference is proven to fit `width` bits.
pub fn lt_difference(width: u32) -> Uses {
    msb(width.max(1))
}

/// Equality with zero over Z_2^k.
pub fn eqz(k: u32) -> Uses {
    match k {
        1 => Uses::default(),
        _ => masked_opening(k, None).then(layers(and_all(k.into()))),
    }
}

/// The bits of an element of Z_2^k.
pub fn bit_decompose(k: u32) -> Uses {
    match k {
        1 => Uses::default(),
        _ => masked_opening(k, None).then(layers(sklansky(u64::from(k) - 1))),
    }
}

/// A bit as an element of Z_2^k.
pub fn bit_to_ring(k: u32) -> Uses {
    match k {
        1 => Uses::default(),
        _ => Uses { random_bits: vec![k], ..opening(1) },
    }
}

/// A bit times an element of Z_2^k, and selection by a bit.
pub fn mask(k: u32) -> Uses {
    Uses { products: vec![k.into()], random_bits: vec![k], ..opening(1) }
}

/// Exact truncation over Z_2^k by `shift` bits.
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

/// The rounds of a tournament of `rows` candidates over Z_2^k: for each, how many pairs meet, and what a pair uses.
/// `index_bits` is the ring of the places, where they are wanted.
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
