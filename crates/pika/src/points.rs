//! Points as keys of function secret sharing, and what a look-up needs beside them.
//!
//! **Source**: Pika, Fig. 2 (F_Lookup's preprocessing), with keys of `quorate-fss` in place of those of its Fig. 4;
//! seeds for all that is uniform. **Model**: semi-honest, 1 of 3. **Notation**: r = r_0 + r_1 mod 2^n the point; w is 1
//! or -1, the sign with which leaf r of the first key less that of the second counts; b uniform mod 2^k.
//!
//! Parties 0 and 1 draw their summands of r and b and the roots of their keys from seeds that they have in common with
//! party 2, party 0 its summands of w and w b, too. Party 2 sends both the corrections of the keys, and party 1 what is
//! left of w and w b.
//!
//! | sent by party 2 | to party 0 | to party 1 |
//! |---|---|---|
//! | look-up, n > 9 | 16 (n - 5) bytes: 176 for n = 16 | the same, and 2 k bits |
//! | point | the same | the same |

use quorate_engine::{Ctx, Result};
use quorate_fss::{Roots, Shape, Side, deal};
use quorate_ring::meter::{Kernel, charge};
use quorate_ring::{Ring, Vector};
use zeroize::Zeroizing;

use crate::setup::{DEALER, Pika};
use crate::share::Share;
use crate::stock::{MISSING, Material};

type A = Share<Vector>;

/// Nodes of a tree, and parts of its corrections.
const BLOCK: Ring = Ring::of(128);
const BLOCK_BYTES: usize = 16;

/// The shape of keys for so many bits, at most [`MOST_BITS`](crate::lookup::MOST_BITS).
pub(crate) fn shape(place_bits: u32) -> Result<Shape> {
    Shape::wide(place_bits).map_err(|_| MISSING)
}

/// Blocks of a key's corrections.
pub(crate) fn blocks(place_bits: u32) -> usize {
    Shape::wide(place_bits).map_or(0, Shape::key_blocks)
}

/// What parties 0 and 1 hold of a point: r, the root, the corrections; b, w and w b over a ring of so many bits.
pub(crate) fn layout(place_bits: u32, bits: Option<u32>) -> Vec<(Ring, usize)> {
    let point = [(Ring::of(place_bits), 1), (BLOCK, 1), (BLOCK, blocks(place_bits))];
    point.into_iter().chain(bits.into_iter().flat_map(|bits| [(Ring::of(bits), 1); 3])).collect()
}

/// What a side draws.
struct Drawn {
    r: A,
    roots: A,
    b: Option<A>,
    /// w and w b, at party 0.
    rest: Option<[A; 2]>,
}

impl Drawn {
    fn points(&self, other: &Drawn) -> Zeroizing<Vec<u64>> {
        Zeroizing::new(self.r.zip(&other.r, Vector::add_assign).to_u64s())
    }
}

/// Roots of a side from the blocks that it drew.
pub(crate) fn roots(side: Side, blocks: &Vector) -> Roots {
    Roots::new(side, blocks.wide_words().to_vec())
}

impl Pika {
    /// Deals `len` points, or receives this party's part of them.
    pub(crate) async fn deal_points(&self, ctx: &Ctx, n: u32, bits: Option<u32>, len: usize) -> Result<Material> {
        let shape = shape(n)?;
        let element = bits.map(Ring::of);
        let coins = ctx.randomness();
        let draw = |party: usize, peer: usize| {
            let mut coins = coins.stream(self.coins_with(peer));
            let mut next = |ring: Ring| Share(coins.draw((ring, len)));
            let (r, roots, b) = (next(Ring::of(n)), next(BLOCK), element.map(&mut next));
            let rest = element.filter(|_| party == 0).map(|ring| [next(ring), next(ring)]);
            Drawn { r, roots, b, rest }
        };
        let mut corrections = Share::shape((BLOCK, blocks(n) * len));
        let mut left = element.map(|ring| [(); 2].map(|()| Share::shape((ring, len))));
        let mut own = None;
        if !self.deals() {
            own = Some(draw(self.me, DEALER));
        } else if ctx.is_dry() {
            charge(Kernel::Draw, 4 * (shape.levels() + shape.blocks()) * BLOCK_BYTES * len);
            charge(Kernel::Draw, 2 * len * (BLOCK_BYTES + 8));
        } else {
            let (first, second) = (draw(0, 0), draw(1, 1));
            let sides = [(Side::First, &first), (Side::Second, &second)];
            let [of_first, of_second] = sides.map(|(side, drawn)| roots(side, &drawn.roots));
            let dealt = deal(&self.hash, shape, &first.points(&second), of_first, of_second);
            corrections = Share(Vector::from_u128s(BLOCK, &dealt.corrections.to_blocks()));
            if let (Some([w, wb]), Some((b0, b1))) = (&first.rest, first.b.as_ref().zip(second.b.as_ref())) {
                let b = b0.zip(b1, Vector::add_assign);
                let mut sign = Share(dealt.first_bits.to_vector(b.ring()));
                sign.shl(1);
                sign.add_scalar(1u128.wrapping_neg());
                let mut product = sign.clone();
                product.mul_assign(&b);
                left = Some([sign.zip(w, Vector::sub_assign), product.zip(wb, Vector::sub_assign)]);
            }
        }
        let mut received = None;
        for party in 0..2 {
            received = self.pass_long(ctx, (DEALER, party), &corrections).await?.or(received);
        }
        let mut rest = Vec::new();
        for part in left.iter().flatten() {
            rest.extend(self.pass_long(ctx, (DEALER, 1), part).await?);
        }
        let Some(Drawn { r, roots, b, rest: drawn }) = own else {
            let layout = quorate_engine::Layout { vectors: layout(n, bits), bits: vec![] };
            return Ok(quorate_engine::Stocks::blank_material(self, true, &layout, len));
        };
        let point = [r, roots, received.ok_or(MISSING)?];
        let rest = drawn.map_or(rest, Vec::from);
        Ok(Material { vectors: point.into_iter().chain(b).chain(rest).collect(), bits: vec![] })
    }
}
