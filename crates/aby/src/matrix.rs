//! Matrix triples: shares of a, b and a b for a random (m x k) a and a random (k x n) b.
//!
//! **Source**: products by correlated oblivious transfer (Gilboa 1999), as in section III-A5 of aby; with a row as the
//! message of a transfer, as in SecureML (Mohassel, Zhang 2017, section IV-C). **Model**: semi-honest, 1 of 2.
//!
//! **Notation**: there are two products, each of one party's a with the other's b. In each, the *chooser* has the
//! factor with fewer rows or columns besides the common side, bit by bit as its choices. The *sender* has rows of the
//! other factor. For bit j of an element of a and row r of b: keys K_0, K_1 at the sender, K_c at the chooser, pads P
//! from them. The sender sends r + P_0 - P_1 over Z_2^(bits-j). Shares of c r are -P_0 at the sender and P_c + c (what
//! was sent) at the chooser; they count 2^j.
//!
//! | rounds | transfers | bits sent by each party |
//! |---|---|---|
//! | that of random oblivious transfer + 1 | bits k min(m, n) each way | k m n (bits^2 + bits) / 2, besides transfers |

use std::ops::Range;

use quorate_additive::blank;
use quorate_additive::product::in_rows;
use quorate_additive::stock::MISSING;
use quorate_engine::{Chunks, Ctx, Result};
use quorate_ring::{Conv, Ring, Vector};

use crate::Share;
use crate::kind::Material;
use crate::pads::pads;
use crate::setup::Aby;

type A = Share<Vector>;

/// The bytes of one message of a block: the messages for all bits of the ring fit together into the cache of a core.
const BLOCK_BYTES: usize = 1 << 15;

/// A product of a (m x k) and b (k x n), where the bits of a are choices.
#[derive(Clone, Copy)]
pub(crate) struct Product {
    pub ring: Ring,
    m: usize,
    k: usize,
    pub n: usize,
}

impl Product {
    /// Returns the product whose narrower factor is chosen, (a b)^T = b^T a^T, and whether the product is transposed.
    pub(crate) fn narrow_first(ring: Ring, (m, k, n): (usize, usize, usize)) -> (Product, bool) {
        if m > n { (Product { ring, m: n, k, n: m }, true) } else { (Product { ring, m, k, n }, false) }
    }

    /// Returns a group's filters times all patches. The bits of filters are the choices, since patches are not
    /// independent.
    pub(crate) fn of_filters(ring: Ring, conv: &Conv) -> Product {
        Product { ring, m: conv.filters, k: conv.patch(), n: conv.batch * conv.places() }
    }

    /// Returns the elements of a that are worked on together: whole rows of it, or a part of one.
    pub fn blocks(self) -> Vec<Range<usize>> {
        let row_bytes = (self.n * self.ring.carrier().bytes()).max(1);
        let most = (BLOCK_BYTES / row_bytes).max(1);
        let (each, per) = if most >= self.k { (most / self.k * self.k, self.m * self.k) } else { (most, self.k) };
        let starts = (0..self.m * self.k).step_by(per.max(1));
        let part = |start: usize| (start..start + per).step_by(each).map(move |at| at..(at + each).min(start + per));
        starts.flat_map(part).collect()
    }

    /// Returns the number of transfers for a block, one for each bit.
    fn transfers(self, block: &Range<usize>) -> usize {
        block.len() * self.ring.bits() as usize
    }

    /// Returns the shape of one message: a row for each element of the block, over Z_2^(bits-j).
    fn message(self, j: u32, block: &Range<usize>) -> (Ring, usize) {
        (Ring::of(self.ring.bits() - j), block.len() * self.n)
    }

    /// Adds up the parts that belong to one row of the result, and puts the sum there.
    fn gather_up(self, ctx: &Ctx, sum: &mut A, block: &Range<usize>, parts: &A) {
        let first = block.start / self.k;
        let rows = block.len().div_ceil(self.k);
        let axis = block.len() / rows;
        let added = parts.map(|parts| parts.sum_axis(rows, axis, self.n));
        if ctx.is_dry() {
            let mut place = sum.slice(0..added.len());
            place.add_assign(&added);
            return;
        }
        sum.add_at(first * self.n, &added);
    }
}

/// Returns 2^j x over the whole ring.
fn weighted(x: &Vector, ring: Ring, j: u32) -> Vector {
    let mut weighted = x.convert(ring);
    weighted.shl(j);
    weighted
}

impl Aby {
    /// Makes shares of a (m x k) and b (k x n) over the ring, and of their product.
    pub(crate) async fn make_matrix_triple(
        &self,
        ctx: &Ctx,
        ring: Ring,
        (m, k, n): (usize, usize, usize),
    ) -> Result<Material> {
        let (product, turned) = Product::narrow_first(ring, (m, k, n));
        let Product { m: rows, n: columns, .. } = product;
        let sent: A = Share::of(ctx.randomness().stream(&self.private).draw((ring, k * columns)));
        let (chosen, sum) = self.multiply_rows(ctx, product, &sent).await?;
        let vectors = match turned {
            false => vec![chosen, sent, sum],
            true => vec![transposed(&sent, k, columns), transposed(&chosen, rows, k), transposed(&sum, rows, columns)],
        };
        Ok(Material::of_vectors(vectors))
    }

    /// Returns this party's share of a random first factor, and of its product with the second factor, whose share is
    /// `sent`.
    pub(crate) async fn multiply_rows(&self, ctx: &Ctx, product: Product, sent: &A) -> Result<(A, A)> {
        let choose = async |ctx: Ctx| self.choose_rows(&ctx, product).await;
        let send = async |ctx: Ctx| self.send_rows(&ctx, product, sent).await;
        // Lanes have one order at both parties: first those in which party 0 chooses.
        let ((chosen, of_chosen), of_sent) = match self.me {
            0 => ctx.join(choose, send).await?,
            _ => {
                let (of_sent, chosen) = ctx.join(send, choose).await?;
                (chosen, of_sent)
            }
        };
        let mut sum = of_chosen;
        sum.add_assign(&of_sent);
        let own = Share::of(Vector::matmul(&chosen, sent, (product.m, product.k, product.n)));
        sum.add_assign(&own);
        Ok((chosen, sum))
    }

    /// Runs the chooser: returns its factor, which the transfers chose, and its share of the product.
    async fn choose_rows(&self, ctx: &Ctx, product: Product) -> Result<(A, A)> {
        let Product { ring, m, k, n } = product;
        let blocks = product.blocks();
        let mut factor = Share::of(blank::<Vector>(ctx.is_dry(), (ring, m * k)));
        let mut sum = Share::of(blank::<Vector>(ctx.is_dry(), (ring, m * n)));
        let aby = self.clone();
        let work = async move |ctx: Ctx, block: Range<usize>| {
            let (choices, keys) = aby.ot.receive_random(&ctx, product.transfers(&block)).await?;
            let choices = in_rows(&Share::of(choices), ring.bits() as usize, block.len());
            let mut parts = Share::of(blank::<Vector>(ctx.is_dry(), (ring, block.len() * n)));
            let receive = async |ctx: Ctx, j: usize| {
                let message = product.message(j as u32, &block);
                Ok(Share::of(ctx.exchange::<Vector>(&[], &[(aby.peer(), message)]).await?.pop().ok_or(MISSING)?))
            };
            let received = ctx.join_all(ring.bits() as usize, receive).await?;
            let rows: Vec<u32> = (0..block.len() as u32).flat_map(|row| std::iter::repeat_n(row, n)).collect();
            for (j, received) in (0..).zip(received) {
                let chosen = choices.map(|c| c.row(j as usize));
                let (narrow, len) = product.message(j, &block);
                let range = j as usize * block.len()..(j as usize + 1) * block.len();
                let mut part = pads(&ctx, part_of(keys.as_slice(), range), block.len(), &[(narrow, n)]).remove(0);
                let repeated = chosen.map(|c| c.to_vector(narrow).gather(&rows));
                debug_assert_eq!(repeated.len(), len);
                part.add_mul_assign(&repeated, &received);
                parts.add_assign(&part.map(|part| weighted(part, ring, j)));
            }
            Ok((choices.map(|c| c.to_vector(ring)), parts))
        };
        let chunks = Chunks { len: blocks.len(), chunk: 1, window: 4 };
        let class = |at: usize| blocks[at].len();
        ctx.spread_classes(
            chunks,
            class,
            |at| blocks[at.start].clone(),
            work,
            |at, (own, parts)| {
                let block = &blocks[at.start];
                factor.write_at(block.start, &own);
                product.gather_up(ctx, &mut sum, block, &parts);
            },
        )
        .await?;
        Ok((factor, sum))
    }

    /// Runs the sender of rows of `factor` (k x n): returns its share of the product.
    async fn send_rows(&self, ctx: &Ctx, product: Product, factor: &A) -> Result<A> {
        let Product { ring, m, k, n } = product;
        let blocks = product.blocks();
        let mut sum = Share::of(blank::<Vector>(ctx.is_dry(), (ring, m * n)));
        let operands = |at: Range<usize>| {
            let block = blocks[at.start].clone();
            let elements = block.clone().flat_map(|at| (0..n).map(move |i| (at % k * n + i) as u32));
            (block, factor.map(|f| f.gather(&elements.collect::<Vec<_>>())))
        };
        let aby = self.clone();
        let work = async move |ctx: Ctx, (block, rows): (Range<usize>, A)| {
            let [zeros, ones] = aby.ot.send_random(&ctx, product.transfers(&block)).await?;
            let mut parts = Share::of(blank::<Vector>(ctx.is_dry(), (ring, block.len() * n)));
            let mut messages = Vec::new();
            for j in 0..ring.bits() {
                let (narrow, _) = product.message(j, &block);
                let range = j as usize * block.len()..(j as usize + 1) * block.len();
                let pad =
                    |keys: &[u128]| pads(&ctx, part_of(keys, range.clone()), block.len(), &[(narrow, n)]).remove(0);
                let (zero, one) = (pad(zeros.as_slice()), pad(ones.as_slice()));
                let mut message = rows.map(|rows| rows.convert(narrow));
                message.add_assign(&zero);
                message.sub_assign(&one);
                messages.push(message);
                parts.sub_assign(&zero.map(|zero| weighted(zero, ring, j)));
            }
            let send =
                async |ctx: Ctx, j: usize| ctx.exchange::<Vector>(&[(aby.peer(), &*messages[j])], &[]).await.map(drop);
            ctx.join_all(messages.len(), send).await?;
            Ok(parts)
        };
        let chunks = Chunks { len: blocks.len(), chunk: 1, window: 4 };
        let class = |at: usize| blocks[at].len();
        ctx.spread_classes(chunks, class, operands, work, |at, parts| {
            product.gather_up(ctx, &mut sum, &blocks[at.start], &parts)
        })
        .await?;
        Ok(sum)
    }
}

/// Returns a range of keys; none in a dry run.
fn part_of(keys: &[u128], range: Range<usize>) -> &[u128] {
    keys.get(range).unwrap_or(&[])
}

/// Returns the transpose of a (rows x columns) matrix.
fn transposed(x: &A, rows: usize, columns: usize) -> A {
    if x.is_shape() {
        return x.map(|x| x.gathered_shape(rows * columns));
    }
    let index: Vec<u32> = (0..columns).flat_map(|j| (0..rows).map(move |i| (i * columns + j) as u32)).collect();
    x.map(|x| x.gather(&index))
}
