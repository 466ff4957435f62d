//! The dealing of correlations by party 2.
//!
//! **Source**: ours; Boyle, Gilboa, Ishai, Nof 2019 (section 2) for shares that a dealer and a party draw from a common
//! seed. **Model**: semi-honest, 1 of 3; party 2 knows all that it deals, and nothing of the values that it is used on.
//!
//! A correlation has parts that are uniform (a and b of a triple) and parts that follow from these (a b). Parties 0 and
//! 1 draw their shares of the uniform parts, each from its seed with party 2. Of the parts that follow, party 0 draws
//! its share. Party 2, which can draw all of that, sends party 1 the rest. Each part that follows is one message; party
//! 0 receives nothing. A permutation is drawn completely but for the mover's part of the moved mask, which is sent. The
//! roots of a key are drawn, and its corrections are sent to both ([`points`](crate::points)).
//!
//! | correlation | bits sent for one |
//! |---|---|
//! | triple, sum of products, matrix triple | k for each element of the result |
//! | mask of a factor | 0 |
//! | triple by a factor | k for each element of the result |
//! | bit triple | 1 |
//! | random bit mod 2^k | k |
//! | edaBit; with a cut | k; 2 k |
//! | comparison mask with p products | k + p |
//! | truncation mask by m | k + m + 1 |
//! | edaBit of k bits mod 2^k' | k' |
//! | selection | 2 k |
//! | permutation | an element for each element |
//! | look-up among 2^n | 2 k, and a key |
//! | point | a key |
//! | key of a sign | 1, and a key |
//! | keys of a truncation by m; of a bounded one | k, and two keys; k + m, and a key |

use std::sync::Arc;

use quorate_additive::blank;
use quorate_additive::order::stored_order;
use quorate_additive::stock::one_after_the_other;
use quorate_engine::{Ctx, Form, Result, Stocks, Stream};
use quorate_fss::Dealt;
use quorate_ring::meter::deferred;
use quorate_ring::{Bits, Ring, Vector};
use zeroize::Zeroizing;

use crate::kind::{Kind, Material};
use crate::pass::Way;
use crate::points::signs;
use crate::setup::{DEALER, Pika};
use crate::share::Share;
use crate::shuffle::moved_rows;

type A = Share<Vector>;
type B = Share<Bits>;

/// The party that is sent the parts that follow; party 0 draws them.
const RECEIVER: usize = 1;

/// Values of the parts of correlations: vectors, and matrices of bits.
struct Parts {
    vectors: Vec<A>,
    bits: Vec<B>,
}

impl Kind {
    /// Returns the numbers of its vectors, and of its matrices of bits, that are uniform: the first ones. The others
    /// follow.
    fn uniform(&self) -> (usize, usize) {
        match self {
            Kind::FactorMask { .. } | Kind::TripleBy { .. } => (1, 0),
            Kind::Triple { .. } | Kind::DotTriple { .. } | Kind::MatrixTriple { .. } | Kind::ConvTriple { .. } => {
                (2, 0)
            }
            Kind::BitTriple => (0, 2),
            Kind::DaBit { .. } => (0, 1),
            Kind::Selection { .. } => (1, 1),
            Kind::Point { .. } | Kind::SignKey { .. } | Kind::BoundedFloorKey { .. } => (2, 0),
            Kind::Lookup { .. } | Kind::FloorKeys { .. } => (3, 0),
            Kind::EdaBit { .. }
            | Kind::ComparisonMask { .. }
            | Kind::TruncMask { .. }
            | Kind::WideEdaBit { .. }
            | Kind::Permutation { .. } => (1, 0),
        }
    }

    /// Draws the uniform parts of `len` correlations, or all parts except corrections of keys.
    fn draw(&self, coins: &mut Stream, len: usize, all: bool) -> Parts {
        let layout = self.layout(0);
        let shared = layout.vectors.len() - self.keys().len();
        let (vectors, bits) = if all { (shared, layout.bits.len()) } else { self.uniform() };
        Parts {
            vectors: layout.vectors[..vectors]
                .iter()
                .map(|(ring, n)| Share::of(coins.draw((*ring, n * len))))
                .collect(),
            bits: layout.bits[..bits].iter().map(|&rows| Share::of(coins.draw((rows, len)))).collect(),
        }
    }

    /// Returns the parts that follow from both parties' shares of the uniform parts, and from the leaves of dealt keys
    /// or the mask of a factor.
    fn follow(&self, first: &Parts, second: &Parts, (leaves, mask): (&Bits, &Vector), len: usize) -> Parts {
        let value = |i: usize| first.vectors[i].zip(&second.vectors[i], Vector::add_assign);
        let row = |i: usize| first.bits[i].zip(&second.bits[i], Bits::xor_assign);
        let vectors = |vectors: Vec<A>| Parts { vectors, bits: vec![] };
        match *self {
            Kind::Triple { .. } => vectors(vec![product(value(0), &value(1))]),
            Kind::DotTriple { axis, inner, .. } => {
                let form = Form::Dot { outer: len, axis, inner };
                vectors(vec![combined(form, &value(0), &value(1), inner * len)])
            }
            Kind::MatrixTriple { m, k, n, .. } => {
                vectors(vec![one_by_one(Form::MatMul { m, k, n }, &value(0), &value(1), len)])
            }
            Kind::ConvTriple { conv, .. } => vectors(vec![one_by_one(Form::Conv(conv), &value(0), &value(1), len)]),
            // These are dealt one by one.
            Kind::TripleBy { form, right, .. } => {
                let a = value(0);
                let [left, right] = if right { [&a, mask] } else { [mask, &a] };
                vectors(vec![combined(form, left, right, form.len_out(0))])
            }
            Kind::BitTriple => {
                let mut both = row(0);
                both.and_assign(&row(1));
                Parts { vectors: vec![], bits: vec![both] }
            }
            Kind::DaBit { bits } => vectors(vec![row(0).map(|bit| bit.to_vector(Ring::of(bits)))]),
            Kind::Selection { bits } => {
                let bit = row(0).map(|bit| bit.to_vector(Ring::of(bits)));
                let chosen = product(value(0), &bit);
                vectors(vec![bit, chosen])
            }
            Kind::EdaBit { bits, cut } => {
                let r = value(0);
                let shifted = (cut > 0).then(|| shifted(r.clone(), cut));
                Parts { vectors: shifted.into_iter().collect(), bits: vec![r.map(|r| r.to_bits(0..bits))] }
            }
            Kind::ComparisonMask { bits, pairs } => {
                let rows = value(0).map(|r| r.to_bits(0..bits));
                let of_pairs = |upper: usize| (0..pairs).map(|i| 2 * i as u32 + upper as u32).collect::<Vec<_>>();
                let [mut both, upper] = [0, 1].map(|upper| rows.map(|rows| rows.gather_rows(&of_pairs(upper))));
                both.and_assign(&upper);
                Parts { vectors: vec![], bits: vec![rows, both] }
            }
            Kind::TruncMask { bits, cut } => {
                let r = value(0);
                let low = shifted(r.map(|r| r.convert(Ring::of(bits - 1))), cut).map(|low| low.convert(Ring::of(bits)));
                vectors(vec![low, r.map(|r| r.to_bits(bits - 1..bits).to_vector(Ring::of(cut + 1)))])
            }
            Kind::WideEdaBit { bits, wide } => {
                let long = |part: &Parts| part.vectors[0].map(|r| r.convert(Ring::of(bits + 1)));
                let sum = long(first).zip(&long(second), Vector::add_assign);
                let carry = sum.map(|sum| sum.to_bits(bits..bits + 1).to_vector(Ring::of(wide - bits)));
                Parts { vectors: vec![carry], bits: vec![sum.map(|sum| sum.to_bits(0..bits))] }
            }
            Kind::Lookup { bits, .. } => {
                let sign = signs(leaves, Ring::of(bits));
                vectors(vec![sign.clone(), product(sign, &value(2))])
            }
            Kind::SignKey { bits } => {
                Parts { vectors: vec![], bits: vec![value(0).map(|r| r.to_bits(bits - 1..bits))] }
            }
            Kind::FloorKeys { cut, .. } => vectors(vec![shifted(value(0), cut)]),
            Kind::BoundedFloorKey { bits, cut } => {
                let top = value(0).map(|r| r.to_bits(bits - 1..bits).to_vector(Ring::of(cut)));
                vectors(vec![shifted(value(0), cut), top])
            }
            // These are dealt in another way.
            Kind::Permutation { .. } => vectors(vec![]),
            Kind::Point { .. } | Kind::FactorMask { .. } => vectors(vec![]),
        }
    }
}

fn product(mut a: A, b: &A) -> A {
    a.mul_assign(b);
    a
}

fn combined(form: Form, a: &Vector, b: &Vector, len: usize) -> A {
    let mut sum = Share::of(blank::<Vector>(a.is_shape(), (a.ring(), len)));
    form.accumulate(&mut sum, a, b);
    sum
}

/// Applies the form to each of `len` pairs of operands, which lie one after the other.
fn one_by_one(form: Form, a: &A, b: &A, len: usize) -> A {
    let lens @ [left, _] = form.lens(a.len() / len.max(1));
    let one = |i: usize| {
        let part = |x: &A, each: usize| x.map(|x| x.slice(i * each..(i + 1) * each));
        combined(form, &part(a, lens[0]), &part(b, lens[1]), form.len_out(left))
    };
    let all: Vec<A> = (0..len).map(one).collect();
    match all.len() {
        0 => a.map(|a| a.slice(0..0)),
        _ => Share::of(Vector::concat(&all.iter().map(|one| &**one).collect::<Vec<_>>())),
    }
}

/// Returns floor(x / 2^d) of the reduced element.
fn shifted(mut x: A, d: u32) -> A {
    x.reduce();
    x.shr_logical(d);
    x
}

impl Pika {
    /// Deals `len` correlations, or receives this party's part of them.
    pub(crate) async fn deal(&self, ctx: &Ctx, kind: &Kind, len: usize) -> Result<Material> {
        if let Kind::Permutation { rows, columns, mover } = kind {
            if len == 1 {
                return self.deal_permutation(ctx, *rows, columns, *mover).await; // not held twice while it is joined
            }
            let mut dealt = Vec::new();
            for _ in 0..len {
                dealt.push(self.deal_permutation(ctx, *rows, columns, *mover).await?);
            }
            return Ok(one_after_the_other(&dealt.iter().collect::<Vec<_>>()));
        }
        let coins = ctx.randomness();
        let draw = |peer: usize, all: bool| kind.draw(&mut coins.stream(self.coins_with(peer)), len, all);
        let shapes = kind.keys();
        let mut keys: Vec<Option<Dealt>> = shapes.iter().map(|_| None).collect();
        let Parts { mut vectors, mut bits } = match self.me {
            DEALER => {
                let (first, second) = (draw(0, true), draw(RECEIVER, false));
                for (i, (key, &shape)) in keys.iter_mut().zip(&shapes).enumerate() {
                    let r = first.vectors[0].zip(&second.vectors[0], Vector::add_assign);
                    // Their roots are drawn after r.
                    *key = self.deal_keys(shape, &r, [&first.vectors[1 + i], &second.vectors[1 + i]]);
                }
                if let (Kind::FactorMask { factor, .. }, false) = (kind, ctx.is_dry()) {
                    self.masks.keep(*factor, first.vectors[0].zip(&second.vectors[0], Vector::add_assign));
                }
                let mask = self.mask_for(ctx, kind)?;
                let leaves = keys.first().and_then(Option::as_ref).map(|dealt| (*dealt.first_bits).clone());
                let leaves = leaves.unwrap_or_else(|| Bits::shape(1, len));
                let mut sent = kind.follow(&first, &second, (&leaves, &mask), len);
                let (vectors, bits) = kind.uniform();
                sent.vectors.iter_mut().zip(&first.vectors[vectors..]).for_each(|(x, drawn)| x.sub_assign(drawn));
                sent.bits.iter_mut().zip(&first.bits[bits..]).for_each(|(x, drawn)| x.xor_assign(drawn));
                sent
            }
            me => draw(DEALER, me != RECEIVER),
        };
        let layout = kind.layout(RECEIVER);
        let (drawn_vectors, drawn_bits) = kind.uniform();
        let way: Way = (DEALER, RECEIVER);
        let shared = layout.vectors.len() - shapes.len();
        for (i, &(ring, count)) in layout.vectors[..shared].iter().enumerate().skip(drawn_vectors) {
            let place = match self.deals() {
                true => std::mem::replace(&mut vectors[i - drawn_vectors], Share::shape((ring, count * len))),
                false => Share::shape((ring, count * len)),
            };
            vectors.extend(self.pass_long(ctx, way, &place).await?);
        }
        for (i, &rows) in layout.bits.iter().enumerate().skip(drawn_bits) {
            let place = match self.deals() {
                true => std::mem::replace(&mut bits[i - drawn_bits], Share::shape((rows, len))),
                false => Share::shape((rows, len)),
            };
            bits.extend(self.pass(ctx, way, &*place).await?);
        }
        for (&shape, dealt) in shapes.iter().zip(&keys) {
            vectors.push(self.pass_corrections(ctx, shape, dealt.as_ref(), len).await?);
        }
        match self.deals() {
            true => Ok(self.shape_of(kind, len)),
            false => Ok(Material::new(vectors, bits)),
        }
    }

    /// Returns the mask of the factor that this kind is dealt for.
    fn mask_for(&self, ctx: &Ctx, kind: &Kind) -> Result<Arc<A>> {
        match *kind {
            Kind::TripleBy { factor, .. } if !ctx.is_dry() => self.masks.of(factor),
            Kind::TripleBy { bits, form, right, .. } => {
                let mut mask = Share::shape((Ring::of(bits), 0));
                // The mask exists already: it takes no new memory.
                deferred(|| mask = Share::shape((Ring::of(bits), form.lens(0)[usize::from(right)])));
                Ok(Arc::new(mask))
            }
            _ => Ok(Arc::new(Share::shape((Ring::of(1), 0)))),
        }
    }

    /// Returns the shapes that party 2 keeps.
    fn shape_of(&self, kind: &Kind, len: usize) -> Material {
        self.blank_material(true, &self.layout(kind), len)
    }

    /// Deals a permutation pi to the mover, a and b to the other party, and D = pi(a) - b to the mover.
    async fn deal_permutation(
        &self,
        ctx: &Ctx,
        rows: usize,
        columns: &[(u32, usize)],
        mover: usize,
    ) -> Result<Material> {
        let columns: Vec<(Ring, usize)> = columns.iter().map(|&(bits, width)| (Ring::of(bits), width)).collect();
        let coins = ctx.randomness();
        let drawn_order = |peer: usize| match ctx.is_dry() {
            true => Zeroizing::default(),
            false => coins.stream(self.coins_with(peer)).permutation(rows),
        };
        let masks = |peer: usize| -> [Vec<A>; 2] {
            let mut drawn = coins.stream(self.coins_with(peer));
            let draw = |_: usize| columns.iter().map(|&(ring, n)| Share::of(drawn.draw((ring, rows * n)))).collect();
            [0, 1].map(draw)
        };
        let mut moved: Vec<A> = columns.iter().map(|&(ring, width)| Share::shape((ring, rows * width))).collect();
        let mut kept = Vec::new();
        if self.deals() {
            let (order, [a, b]) = (drawn_order(mover), masks(1 - mover));
            moved = a.iter().zip(&columns).map(|(a, (_, width))| moved_rows(a, &order, *width)).collect();
            moved.iter_mut().zip(&b).for_each(|(moved, b)| moved.sub_assign(b));
        } else if self.me == mover {
            let order = drawn_order(DEALER);
            kept.push(stored_order((!ctx.is_dry()).then_some(&order), rows));
        } else {
            kept.extend(masks(DEALER).into_iter().flatten());
        }
        for part in &moved {
            kept.extend(self.pass_long(ctx, (DEALER, mover), part).await?);
        }
        match self.deals() {
            true => {
                let columns = columns.iter().map(|(ring, width)| (ring.bits(), *width)).collect();
                Ok(self.shape_of(&Kind::Permutation { rows, columns, mover }, 1))
            }
            false => Ok(Material::of_vectors(kept)),
        }
    }
}

#[cfg(test)]
mod tests {
    use quorate_engine::{Phase, dry};
    use quorate_ring::meter::{Effort, charged};

    use super::*;

    /// Returns the work of dealing one permutation, with or without what joins several.
    fn work(me: usize, alone: bool) -> Effort {
        let before = charged();
        let deal = async |ctx: &Ctx| {
            let (pika, columns) = (Pika::dry(3, me)?, vec![(64, 2)]);
            let made = match alone {
                true => pika.deal_permutation(ctx, 1000, &columns, 0).await?,
                false => pika.deal(ctx, &Kind::Permutation { rows: 1000, columns, mover: 0 }, 1).await?,
            };
            Ok(made.vectors.len())
        };
        dry::run(me, 3, Phase::Offline, deal).unwrap();
        charged() - before
    }

    /// A copy would double the memory of the largest correlation of a shuffle.
    #[test]
    fn one_permutation_is_not_copied() {
        for me in 0..3 {
            assert_eq!(work(me, false), work(me, true), "party {me}");
        }
    }
}
