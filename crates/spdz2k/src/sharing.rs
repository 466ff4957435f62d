//! The family behind the interface that gadgets are written in; every gadget is the general one.

use quorate_circuits::Program;
use quorate_engine::{
    Checked, Ctx, EdaBits, Form, Linear, LinearBits, Misuse, Opened, Result, Sharing, Stocks, TruncMasks, Update,
    UpdateBits,
};
use quorate_gadgets::{
    Gadgets, Garbles, NoLabels, Sign, Width, circuit, compare, compiled_here, convert, decompose, equality,
    gadgets_here, select, trunc_prob, truncate, widen,
};
use quorate_ring::{Bits, Ring, Vector};

use crate::bits::{TaggedBits, from_elements, to_elements};
use crate::party::Spdz2k;
use crate::stock::Kind;
use crate::tagged::Tagged;

quorate_gadgets::functions_here! { Spdz2k, Tagged }

impl Garbles for Spdz2k {
    type Y = NoLabels;
}

impl Gadgets for Spdz2k {
    gadgets_here! { Spdz2k, Tagged, TaggedBits }

    compiled_here! { Spdz2k:
        fn msb(s, ctx, at x: Tagged) -> TaggedBits { compare::msb(s, ctx, x) }
        fn lt(s, ctx, at x: Tagged, at y: Tagged, val width: Width) -> TaggedBits { compare::lt(s, ctx, x, y, width) }
        fn eqz(s, ctx, at x: Tagged) -> TaggedBits { equality::eqz(s, ctx, x) }
        fn bit_decompose(s, ctx, at x: Tagged) -> TaggedBits { decompose::bit_decompose(s, ctx, x) }
        fn compose(s, ctx, at x: TaggedBits, val ring: Ring) -> Tagged { convert::compose(s, ctx, x, ring) }
        fn trunc_exact(s, ctx, at x: Tagged, val shift: u32) -> Tagged { truncate::trunc_exact(s, ctx, x, shift) }
        fn trunc_prob(s, ctx, at x: Tagged, val shift: u32) -> Tagged { trunc_prob::trunc_prob(s, ctx, x, shift) }
        fn convert(s, ctx, at x: Tagged, val ring: Ring, val sign: Sign) -> Tagged {
            widen::convert(s, ctx, x, ring, sign)
        }
        fn mask(s, ctx, at bit: TaggedBits, at x: Tagged) -> Tagged { select::mask(s, ctx, bit, x) }
        fn mux(s, ctx, at bit: TaggedBits, at x: Tagged, at y: Tagged) -> Tagged { select::mux(s, ctx, bit, x, y) }
        fn circuit(s, ctx, at program: Program, at inputs: TaggedBits) -> TaggedBits {
            circuit::evaluate(s, ctx, program, inputs)
        }
    }
}

impl Sharing for Spdz2k {
    type A = Tagged;
    type B = TaggedBits;

    const CHECKED: bool = true;
    const MOST_BITS: u32 = 126;

    fn shape(&self, x: &Tagged) -> (Ring, usize) {
        x.shape()
    }

    fn bit_shape(&self, x: &TaggedBits) -> (usize, usize) {
        x.shape()
    }

    fn public(&self, value: &Vector) -> Tagged {
        let nothing = self.blank(value.is_shape(), (value.ring(), value.len()));
        self.add_public(&nothing, value)
    }

    fn public_bits(&self, value: &Bits) -> TaggedBits {
        let elements = self.public(&to_elements(value, Ring::of(1)));
        TaggedBits { rows: value.rows(), lanes: value.lanes(), elements }
    }

    fn add(&self, x: &Tagged, y: &Tagged) -> Tagged {
        x.zip(y, Vector::add_assign)
    }

    fn sub(&self, x: &Tagged, y: &Tagged) -> Tagged {
        x.zip(y, Vector::sub_assign)
    }

    fn add_public(&self, x: &Tagged, value: &Vector) -> Tagged {
        self.plus(x, &value.convert(x.share.ring()))
    }

    fn linear(&self, x: &Tagged, map: &Linear<'_>) -> Tagged {
        x.linear(map)
    }

    fn update(&self, x: &mut Tagged, y: &Tagged, update: &Update) {
        x.update(y, update);
    }

    fn concat(&self, parts: &[&Tagged]) -> Tagged {
        Tagged::concat(parts)
    }

    fn xor(&self, x: &TaggedBits, y: &TaggedBits) -> TaggedBits {
        x.zip(y, Vector::add_assign)
    }

    fn xor_public(&self, x: &TaggedBits, value: &Bits) -> TaggedBits {
        let value = to_elements(value, x.elements.share.ring());
        TaggedBits { elements: self.plus(&x.elements, &value), ..*x }
    }

    fn linear_bits(&self, x: &TaggedBits, map: &LinearBits<'_>) -> TaggedBits {
        x.linear(map)
    }

    fn update_bits(&self, x: &mut TaggedBits, y: &TaggedBits, update: &UpdateBits<'_>) {
        x.update(y, update);
    }

    fn concat_rows(&self, parts: &[&TaggedBits]) -> TaggedBits {
        TaggedBits::concat_rows(parts)
    }

    fn concat_lanes(&self, parts: &[&TaggedBits]) -> TaggedBits {
        TaggedBits::concat_lanes(parts)
    }

    fn low_bit(&self, x: &Tagged) -> TaggedBits {
        TaggedBits { rows: 1, lanes: x.shape().1, elements: x.linear(&Linear::Reduce(Ring::of(1))) }
    }

    fn as_top_bit(&self, x: &TaggedBits, ring: Ring) -> Tagged {
        x.elements.linear(&Linear::Raise(ring, ring.bits() - 1))
    }

    compiled_here! { Spdz2k:
        fn input(s, ctx, val owner: usize, val shape: (Ring, usize), maybe value: Vector) -> Tagged {
            s.share_input(ctx, owner, shape, value)
        }
        fn input_bits(s, ctx, val owner: usize, val shape: (usize, usize), maybe value: Bits) -> TaggedBits {
            s.share_input_bits(ctx, owner, shape, value)
        }
        fn bilinear(s, ctx, val form: Form, at x: Tagged, at y: Tagged) -> Tagged { s.multiply(ctx, form, x, y) }
        fn and(s, ctx, at x: TaggedBits, at y: TaggedBits) -> TaggedBits { s.multiply_bits(ctx, x, y) }
        fn open(s, ctx, at x: Tagged) -> Opened<Vector> {
            async { Ok(ctx.opened(s.open_elements(ctx, x).await?)) }
        }
        fn open_bits(s, ctx, at x: TaggedBits) -> Opened<Bits> {
            async { Ok(ctx.opened(from_elements(&s.open_elements(ctx, &x.elements).await?, x.shape()))) }
        }
        fn check(s, ctx) -> Checked { s.check_openings(ctx) }
        fn reveal(s, ctx, at checked: Checked, at x: Tagged, val to: Option<usize>) -> Option<Opened<Vector>> {
            s.reveal_vector(ctx, checked, x, to)
        }
        fn reveal_bits(s, ctx, at checked: Checked, at x: TaggedBits, val to: Option<usize>) -> Option<Opened<Bits>> {
            s.reveal_matrix(ctx, checked, x, to)
        }
    }

    async fn random_bits(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Tagged> {
        let [bits] = self.draw(ctx, Kind::RandomBit { bits: ring.bits() }, len).await?.into_vectors()?;
        Ok(bits)
    }

    async fn edabits(
        &self,
        ctx: &Ctx,
        ring: Ring,
        cut: Option<u32>,
        len: usize,
    ) -> Result<EdaBits<Tagged, TaggedBits>> {
        self.draw_edabits(ctx, (ring, ring), cut, len).await
    }

    async fn trunc_masks(&self, ctx: &Ctx, ring: Ring, shift: u32, len: usize) -> Result<TruncMasks<Tagged>> {
        self.draw_trunc_masks(ctx, ring, shift, len).await
    }

    async fn wide_edabits(&self, ctx: &Ctx, ring: Ring, wide: Ring, len: usize) -> Result<EdaBits<Tagged, TaggedBits>> {
        if wide.bits() <= ring.bits() {
            return Err(Misuse::Other { what: "a wide edaBit needs a ring larger than its bits" }.into());
        }
        self.draw_edabits(ctx, (ring, wide), None, len).await
    }

    async fn shuffle(&self, ctx: &Ctx, columns: &[&Tagged], rows: usize) -> Result<Vec<Tagged>> {
        self.shuffle_rows(ctx, columns, rows).await
    }
}
