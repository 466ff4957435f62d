//! Multiplication triples: shares of random a, b and of c = a b, over Z_2^k or for bits.
//!
//! **Source**: Gilboa 1999, see `product`, and for bits Asharov, Lindell, Schneider, Zohner 2013, as in ABY, section
//! III-B. **Model**: semi-honest; over a malicious extension a party can still make c wrong. **Notation**: each party
//! is the receiver of one direction, whose random choices are its share of a, and the sender of the other.
//!
//! | correlation | OTs each way | rounds, with checks | bytes by each party, f = 4 |
//! |---|---|---|---|
//! | triple over Z_2^k | k | 2, 4 | k (3.875 + (k+1)/16): at k = 64 508 |
//! | bit triple | 1 | 1, 3 | 3.875 |
//! | a bit and columns of r bits | 1 | 1, 3 | 3.875 |
//!
//! For bits: b is the sender's p_0 + p_1, its share of the product p_0, the receiver's p_c = p_0 + c (p_0 + p_1).

use std::ops::Range;

use quorate_engine::{Chunks, Ctx, Result};
use quorate_ring::{Bits, Module, Ring, Vector, Wiped};

use crate::flat::tall;
use crate::product::{check_ring, sum_of_products};
use crate::rows::{bit_chunks, chunks, matrix, vectors};
use crate::setup::Ot;
use crate::source::{Choices, Receiver, Sender};

/// Shares of triples over a ring: the sums of the parties' shares satisfy c = a b. Wiped on drop.
pub struct Triples {
    /// The first factors.
    pub a: Wiped<Vector>,
    /// The second factors.
    pub b: Wiped<Vector>,
    /// The products.
    pub c: Wiped<Vector>,
}

/// Shares of triples of bits: the xors of the parties' shares satisfy c = a and b. Wiped on drop.
pub struct BitTriples {
    /// The first factors; one row where they select columns.
    pub a: Wiped<Bits>,
    /// The second factors.
    pub b: Wiped<Bits>,
    /// The products.
    pub c: Wiped<Bits>,
}

impl Ot {
    /// Returns the chunks with as large a window as fills the line.
    fn filling(&self, chunks: Chunks) -> Chunks {
        Chunks { window: self.window.get(), ..chunks }
    }

    /// Makes `len` triples over a ring of at most 64 bits. Both parties call it. A long row is made in chunks; every
    /// party of the lane must then call it.
    ///
    /// # Errors
    /// [`Misuse::RingBits`](quorate_engine::Misuse::RingBits) for a larger ring; any error that ends a run.
    pub async fn triples(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Triples> {
        check_ring(ring)?;
        let [mut a, mut b, mut c] = [0; 3].map(|_| vectors(ctx, ring, len));
        let ot = self.clone();
        let work = async move |ctx: Ctx, len: usize| ot.batch_of_triples(&ctx, ring, len).await;
        let sink = |range: Range<usize>, part: Triples| {
            a.write_at(range.start, &part.a);
            b.write_at(range.start, &part.b);
            c.write_at(range.start, &part.c);
        };
        ctx.spread(self.filling(chunks(ring, len)), |range| range.len(), work, sink).await?;
        Ok(Triples { a, b, c })
    }

    /// Makes triples of `rows` x `lanes` bits, bit by bit. Both parties call it; see [`Ot::triples`] for long rows.
    ///
    /// # Errors
    /// Any error that ends a run.
    pub async fn bit_triples(&self, ctx: &Ctx, rows: usize, lanes: usize) -> Result<BitTriples> {
        let made = self.select_triples_in(ctx, 1, rows * lanes).await?;
        let turned = |bits: Wiped<Bits>| Wiped(tall(&bits, rows, lanes));
        if rows == 1 {
            return Ok(made);
        }
        let BitTriples { a, b, c } = made;
        Ok(BitTriples { a: turned(a), b: turned(b), c: turned(c) })
    }

    /// Makes random bits a, one row, columns b of `rows` bits, and c = b where a is 1, else 0. Both parties call it;
    /// see [`Ot::triples`] for long rows.
    ///
    /// # Errors
    /// Any error that ends a run.
    pub async fn select_triples(&self, ctx: &Ctx, rows: usize, lanes: usize) -> Result<BitTriples> {
        self.select_triples_in(ctx, rows, lanes).await
    }

    async fn select_triples_in(&self, ctx: &Ctx, rows: usize, lanes: usize) -> Result<BitTriples> {
        let [mut a, mut b, mut c] = [1, rows, rows].map(|rows| matrix(ctx, rows, lanes));
        let ot = self.clone();
        let work = async move |ctx: Ctx, lanes: usize| ot.batch_of_selections(&ctx, rows, lanes).await;
        let sink = |range: Range<usize>, part: BitTriples| {
            a.write_lanes_at(range.start, &part.a);
            b.write_lanes_at(range.start, &part.b);
            c.write_lanes_at(range.start, &part.c);
        };
        ctx.spread(self.filling(bit_chunks(rows, lanes)), |range| range.len(), work, sink).await?;
        Ok(BitTriples { a, b, c })
    }

    async fn batch_of_triples(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Triples> {
        let ots = ring.bits() as usize * len;
        let b: Wiped<Vector> = Wiped(ctx.randomness().stream(&self.private).draw((ring, len)));
        let send = async |ctx: Ctx| {
            let sent = self.sender.extend(&ctx, ots, false).await?;
            self.answer_products(&ctx, sent, &b).await.map(Wiped)
        };
        let receive = async |ctx: Ctx| {
            let received = self.receiver.extend(&ctx, Choices::Random(ots)).await?;
            let bits = Wiped(tall(&received.choices, ring.bits() as usize, len));
            let share = self.take_products(&ctx, received, &bits, ring).await?;
            Ok((Wiped(bits.to_vector(ring)), Wiped(share)))
        };
        let (sent, (a, received)) = self.both(ctx, send, receive).await?;
        let c = Wiped(sum_of_products(&a, &b, &sent, &received));
        let mut b = b;
        b.reduce();
        Ok(Triples { a, b, c })
    }

    async fn batch_of_selections(&self, ctx: &Ctx, rows: usize, len: usize) -> Result<BitTriples> {
        let send = async |ctx: Ctx| {
            let sent = self.sender.extend(&ctx, len, false).await?;
            let [share, mut b] = self.tall_pads(&sent, rows).map(Wiped);
            b.add_assign(&share);
            Ok((b, share))
        };
        let receive = async |ctx: Ctx| {
            let received = self.receiver.extend(&ctx, Choices::Random(len)).await?;
            let share = Wiped(self.tall_pad(&received, rows));
            Ok((Wiped(received.choices), share))
        };
        let ((b, sent), (a, mut c)) = self.both(ctx, send, receive).await?;
        c.add_assign(&sent);
        let own = Wiped(a.broadcast_row(rows));
        c.add_mul_assign(&own, &b);
        Ok(BitTriples { a, b, c })
    }
}
