//! `rss` as a backend: the traits that gadgets are written for.

use quorate_circuits::Program;
use quorate_engine::{
    Checked, Ctx, EdaBits, Form, Linear, LinearBits, Opened, Result, Sharing, TruncMasks, Update, UpdateBits,
    check_party,
};
use quorate_gadgets::order::Keys;
use quorate_gadgets::{
    Gadgets, Garbles, NoLabels, Sign, Width, circuit, compare, compiled_here, convert, decompose, equality,
    gadgets_here, lookup, order, select, trunc_prob, truncate, widen,
};
use quorate_ring::{Bits, Module, Ring, Vector};

use crate::setup::Rss;
use crate::share::Shared;

type Values = Shared<Vector>;
type Packed = Shared<Bits>;

/// The largest table in which a real function is looked up, in entries. A larger table would halve the bytes but take
/// longer.
const MOST_ENTRIES: usize = (1 << 13) + 1;
/// The largest table in which quotients of integers are looked up, in entries.
const MOST_QUOTIENTS: usize = 1 << 11;

quorate_gadgets::functions_here! {
    Rss, Values, Packed, lookup::lookup, lookup::lookup_bit, MOST_ENTRIES, MOST_QUOTIENTS
}

impl Garbles for Rss {
    type Y = NoLabels;
}

/// Three parties run gadgets on the summands that they know, unless [`Forms`](crate::Forms) select others.
impl Gadgets for Rss {
    gadgets_here! { Rss, Values, Packed }

    compiled_here! { Rss:
        fn order(s, ctx, at key: Values, val keys: Keys, all columns: Values) -> Vec<Values> {
            order::order(s, ctx, key, keys, columns)
        }
        fn msb(s, ctx, at x: Values) -> Packed {
            async {
                match s.uses_summands() {
                    true => s.msb_of_summands(ctx, x).await,
                    false => compare::msb(s, ctx, x).await,
                }
            }
        }
        fn lt(s, ctx, at x: Values, at y: Values, val width: Width) -> Packed {
            async move {
                match width {
                    Width::Difference(bits) if s.uses_summands() && (2..=x.shape.0.bits()).contains(&bits) => {
                        s.less_of_summands(ctx, x, y, Ring::of(bits)).await
                    }
                    _ => compare::lt(s, ctx, x, y, width).await,
                }
            }
        }
        fn eqz(s, ctx, at x: Values) -> Packed {
            async {
                match s.uses_summands() && x.shape.0.bits() > 1 {
                    true => s.eqz_of_summands(ctx, x).await,
                    false => equality::eqz(s, ctx, x).await,
                }
            }
        }
        fn bit_decompose(s, ctx, at x: Values) -> Packed {
            async {
                match s.uses_summands() {
                    true => s.decompose_summands(ctx, x).await,
                    false => decompose::bit_decompose(s, ctx, x).await,
                }
            }
        }
        fn compose(s, ctx, at x: Packed, val ring: Ring) -> Values { convert::compose(s, ctx, x, ring) }
        fn trunc_exact(s, ctx, at x: Values, val shift: u32) -> Values {
            async move {
                match s.uses_summands() {
                    true => s.truncate_summands(ctx, x, shift).await,
                    false => truncate::trunc_exact(s, ctx, x, shift).await,
                }
            }
        }
        fn trunc_prob(s, ctx, at x: Values, val shift: u32) -> Values {
            async move {
                trunc_prob::check_shift(x.shape.0, shift)?;
                match s.uses_summands() && shift > 0 {
                    true => s.round_summands(ctx, x, shift).await,
                    false => trunc_prob::trunc_prob(s, ctx, x, shift).await,
                }
            }
        }
        fn convert(s, ctx, at x: Values, val ring: Ring, val sign: Sign) -> Values {
            async move {
                match s.uses_summands() && ring.bits() > x.shape.0.bits() {
                    true => s.widen_summands(ctx, x, ring, sign.offset(x.shape.0)).await,
                    false => widen::convert(s, ctx, x, ring, sign).await,
                }
            }
        }
        fn mask(s, ctx, at bit: Packed, at x: Values) -> Values { select::mask(s, ctx, bit, x) }
        fn mux(s, ctx, at bit: Packed, at x: Values, at y: Values) -> Values { select::mux(s, ctx, bit, x, y) }
        fn circuit(s, ctx, at program: Program, at inputs: Packed) -> Packed {
            circuit::evaluate(s, ctx, program, inputs)
        }
    }
}

impl Rss {
    fn public_shares<M: Module>(&self, value: &M) -> Shared<M> {
        let shape = value.shape_of();
        let mut shared: Shared<M> = match value.is_shape() {
            true => Shared::phantom(shape, self.share_count()),
            false => Shared::zeros(shape, self.share_count()),
        };
        if let Some(own) = self.maps.public_share {
            shared.shares[own].add_assign(value);
        }
        shared
    }

    fn plus_public<M: Module>(&self, x: &Shared<M>, value: &M) -> Shared<M> {
        let mut sum = x.clone();
        if let Some(own) = self.maps.public_share {
            sum.shares[own].add_assign(value);
        }
        sum
    }

    /// Merges several sharings into one, share by share.
    fn merge<M: Module>(&self, parts: &[&Shared<M>], merge: impl Fn(&[&M]) -> M) -> Shared<M> {
        let share = |i: usize| merge(&parts.iter().map(|part| &part.shares[i]).collect::<Vec<_>>());
        let shares: Vec<M> = (0..self.share_count()).map(share).collect();
        Shared::new(shares[0].shape_of(), shares)
    }
}

impl Rss {
    /// Returns the low bits of the shares; their sum modulo 2 is the low bit of the value.
    pub fn low_bit(&self, x: &Shared<Vector>) -> Shared<Bits> {
        x.map(Vector::low_bit)
    }

    /// Returns 2^(k-1) times a sum, which depends on that sum modulo 2 only.
    pub fn as_top_bit(&self, x: &Shared<Bits>, ring: Ring) -> Shared<Vector> {
        x.map(|share| {
            let mut top = share.to_vector(ring);
            top.shl(ring.bits() - 1);
            top
        })
    }
}

impl Sharing for Rss {
    type A = Shared<Vector>;
    type B = Shared<Bits>;

    const CHECKED: bool = false;
    /// A random bit is made in a ring of two more bits, and its square roots in a carrier word of 128 bits.
    const MOST_BITS: u32 = 126;

    fn shape(&self, x: &Self::A) -> (Ring, usize) {
        x.shape
    }

    fn bit_shape(&self, x: &Self::B) -> (usize, usize) {
        x.shape
    }

    fn public(&self, value: &Vector) -> Self::A {
        self.public_shares(value)
    }

    fn public_bits(&self, value: &Bits) -> Self::B {
        self.public_shares(value)
    }

    fn add(&self, x: &Self::A, y: &Self::A) -> Self::A {
        x.zip(y, Vector::add_assign)
    }

    fn sub(&self, x: &Self::A, y: &Self::A) -> Self::A {
        x.zip(y, Vector::sub_assign)
    }

    fn add_public(&self, x: &Self::A, value: &Vector) -> Self::A {
        self.plus_public(x, value)
    }

    fn linear(&self, x: &Self::A, map: &Linear<'_>) -> Self::A {
        x.map(|share| map.apply(share))
    }

    fn update(&self, x: &mut Self::A, y: &Self::A, update: &Update) {
        x.shares.iter_mut().zip(&y.shares).for_each(|(x, y)| update.apply(x, y));
        x.shape = x.shares[0].shape_of();
    }

    fn concat(&self, parts: &[&Self::A]) -> Self::A {
        self.merge(parts, Vector::concat)
    }

    fn xor(&self, x: &Self::B, y: &Self::B) -> Self::B {
        x.zip(y, Bits::xor_assign)
    }

    fn xor_public(&self, x: &Self::B, value: &Bits) -> Self::B {
        self.plus_public(x, value)
    }

    fn linear_bits(&self, x: &Self::B, map: &LinearBits<'_>) -> Self::B {
        x.map(|share| map.apply(share))
    }

    fn update_bits(&self, x: &mut Self::B, y: &Self::B, update: &UpdateBits<'_>) {
        x.shares.iter_mut().zip(&y.shares).for_each(|(x, y)| update.apply(x, y));
        x.shape = x.shares[0].shape_of();
    }

    fn concat_rows(&self, parts: &[&Self::B]) -> Self::B {
        self.merge(parts, Bits::concat_rows)
    }

    fn concat_lanes(&self, parts: &[&Self::B]) -> Self::B {
        self.merge(parts, Bits::concat_lanes)
    }

    async fn lsb(&self, _: &Ctx, x: &Self::A) -> Result<Self::B> {
        Ok(self.low_bit(x))
    }

    async fn bit_to_msb(&self, _: &Ctx, x: &Self::B, ring: Ring) -> Result<Self::A> {
        Ok(self.as_top_bit(x, ring))
    }

    compiled_here! { Rss:
        fn input(s, ctx, val owner: usize, val shape: (Ring, usize), maybe value: Vector) -> Values {
            s.share_long_input(ctx, owner, shape, value)
        }
        fn input_bits(s, ctx, val owner: usize, val shape: (usize, usize), maybe value: Bits) -> Packed {
            s.share_input(ctx, owner, shape, value)
        }
        fn bilinear(s, ctx, val form: Form, at x: Values, at y: Values) -> Values { s.multiply(ctx, form, x, y) }
        fn and(s, ctx, at x: Packed, at y: Packed) -> Packed { s.multiply_bits(ctx, x, y) }
        fn open(s, ctx, at x: Values) -> Opened<Vector> {
            async { Ok(ctx.opened(s.open_long(ctx, x, |_| true).await?.ok_or(NOT_OPENED)?)) }
        }
        fn open_bits(s, ctx, at x: Packed) -> Opened<Bits> {
            async { Ok(ctx.opened(s.open_where(ctx, x, |_| true).await?.ok_or(NOT_OPENED)?)) }
        }
        fn reveal(s, ctx, at checked: Checked, at x: Values, val to: Option<usize>) -> Option<Opened<Vector>> {
            async move {
                checked.allows_reveals(ctx)?;
                to.map_or(Ok(()), |to| check_party(ctx, to))?;
                let value = s.open_long(ctx, x, move |party| to.is_none_or(|to| party == to)).await?;
                Ok(value.map(|value| ctx.revealed(value)))
            }
        }
        fn reveal_bits(s, ctx, at checked: Checked, at x: Packed, val to: Option<usize>) -> Option<Opened<Bits>> {
            async move {
                checked.allows_reveals(ctx)?;
                to.map_or(Ok(()), |to| check_party(ctx, to))?;
                let bits = s.open_where(ctx, x, |party| to.is_none_or(|to| party == to)).await?;
                Ok(bits.map(|bits| ctx.revealed(bits)))
            }
        }
        fn random_bits(s, ctx, val ring: Ring, val len: usize) -> Values { s.draw_random_bits(ctx, ring, len) }
        fn edabits(s, ctx, val ring: Ring, val cut: Option<u32>, val len: usize) -> EdaBits<Values, Packed> {
            s.draw_edabits(ctx, ring, cut, len)
        }
        fn trunc_masks(s, ctx, val ring: Ring, val shift: u32, val len: usize) -> TruncMasks<Values> {
            s.draw_trunc_masks(ctx, ring, shift, len)
        }
        fn wide_edabits(s, ctx, val ring: Ring, val wide: Ring, val len: usize) -> EdaBits<Values, Packed> {
            s.draw_wide_edabits(ctx, ring, wide, len)
        }
        fn shuffle(s, ctx, all columns: Values, val rows: usize) -> Vec<Values> { s.shuffle_rows(ctx, columns, rows) }
    }

    async fn check(&self, _ctx: &Ctx) -> Result<Checked> {
        Ok(Checked::unneeded())
    }
}

const NOT_OPENED: quorate_engine::Error = quorate_engine::Error::Bug { what: "an opening to all gave nothing" };
