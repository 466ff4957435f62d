//! Multiplication triples over Z_2^k from additively homomorphic encryption: shares of random a, b and of c = a b.
//!
//! **Source**: Demmler, Schneider, Zohner (ABY), NDSS 2015, section III-A4, protocol 1; packing after Pullonen,
//! Bogdanov, Schneider 2012. **Deviation**: in each half of a row another party has the key, so that both work at once;
//! see the cryptosystems for theirs. **Model**: semi-honest. **Notation**: the key's owner, the paper's P_0, has a_0,
//! b_0, the other party a_1, b_1; C bytes of a ciphertext; each ciphertext back holds P answers.
//!
//! | step | owner | other party |
//! |---|---|---|
//! | 1 | sends Enc(a_0), Enc(b_0) | |
//! | 2 | | draws r, sends Enc(a_0)^(b_1) Enc(b_0)^(a_1) Enc(r); c_1 = a_1 b_1 - r |
//! | 3 | c_0 = a_0 b_0 + what it decrypts | |
//!
//! Rounds 2. Each party owns half of n triples, n/2: it sends 2 C n/2 bytes in step 1 and C ceil(n/2 / P) in step 2.
//! With a modulus of phi bits C is phi/4 bytes and P = (phi - 1) / (2 k + 73) for Paillier, C phi/8 and P 1 for DGK.
//! Timing depends only on k, n and the sizes of keys.

use std::ops::Range;

use quorate_crypto::Seed;
use quorate_engine::{Chunks, Ctx, Error, Misuse, Result};
use quorate_ring::{Ring, Vector, Wiped};
use zeroize::Zeroize;

use crate::options::{Options, SESSION_TRIPLES, Scheme};
use crate::setup::{He, LOST};
use crate::steps::{Batch, Factors, bytes};

/// About the number of triples in a half of a chunk, and the number of chunks under way.
const HALF_CHUNK: usize = 64;
const WINDOW: usize = 2;
/// With more triples, the answers of a session would hide less than stated.
const TOO_MANY: &str = "a session makes fewer than 2^32 triples by Paillier's cryptosystem: start another session, or \
                        take triples from oblivious transfer";

/// Shares of triples over a ring: the sums of the parties' shares satisfy c = a b. Wiped on drop.
pub struct Triples {
    /// The first factors.
    pub a: Wiped<Vector>,
    /// The second factors.
    pub b: Wiped<Vector>,
    /// The products.
    pub c: Wiped<Vector>,
}

/// Returns the chunks of [`He::triples`]: whole packs in each half.
pub(crate) fn chunks(options: Options, ring: Ring, len: usize) -> Chunks {
    let chunk = 2 * HALF_CHUNK.next_multiple_of(options.pack(ring.bits()));
    Chunks { len, chunk, window: WINDOW }
}

/// Returns the triples under the first party's key, and those under the other's.
pub(crate) fn halves(len: usize) -> [Range<usize>; 2] {
    let cut = len.div_ceil(2);
    [0..cut, cut..len]
}

impl He {
    /// Makes `len` triples over a ring of at most 64 bits. Both parties call it. A long row is made in chunks; every
    /// party of the lane must then call it.
    ///
    /// # Errors
    /// [`Misuse::RingBits`] for a larger ring; [`Misuse::Other`] once a session has made too many triples;
    /// [`Error::Malformed`] for messages that are no ciphertexts; any error that ends a run.
    pub async fn triples(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Triples> {
        if ring.bits() > 64 {
            return Err(Misuse::RingBits { bits: ring.bits() }.into());
        }
        self.count(ctx, len)?;
        let [mut a, mut b, mut c] =
            [0; 3].map(|_| Wiped(if ctx.is_dry() { Vector::shape(ring, len) } else { Vector::zeros(ring, len) }));
        let work = async |ctx: Ctx, range: Range<usize>| self.batch_of_triples(&ctx, ring, range.len()).await;
        let sink = |range: Range<usize>, part: Triples| {
            a.write_at(range.start, &part.a);
            b.write_at(range.start, &part.b);
            c.write_at(range.start, &part.c);
        };
        ctx.stream(chunks(self.options, ring, len), work, sink).await?;
        Ok(Triples { a, b, c })
    }

    /// Counts triples, including all that were only begun. Each answer hides its factors statistically, so a session
    /// may make a limited number.
    fn count(&self, ctx: &Ctx, len: usize) -> Result<()> {
        let all = self.triples.get().saturating_add(len as u64);
        if self.options.scheme == Scheme::Paillier && all >= SESSION_TRIPLES {
            return Err(Misuse::Other { what: TOO_MANY }.into());
        }
        if !ctx.is_dry() {
            self.triples.set(all);
        }
        Ok(())
    }

    async fn batch_of_triples(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Triples> {
        let mut own = ctx.randomness().stream(&self.private);
        let [mut a, mut b]: [Wiped<Vector>; 2] = [0; 2].map(|_| Wiped(own.draw((ring, len))));
        let mut seed = [0; 32];
        own.fill_bytes(&mut seed);
        a.reduce();
        b.reduce();
        let [first, second] = halves(len);
        let (own, theirs) = if ctx.me() < self.peer { (first, second) } else { (second, first) };
        let [own_bytes, their_bytes] = [&own, &theirs].map(|half| bytes(self.options, ring, half.len()));
        let [of_own, of_theirs] = [&own, &theirs].map(|half| Factors::of([&a, &b], half));
        let batch = Batch { options: self.options, ring, own: of_own, theirs: of_theirs, seed: Seed::from_bytes(seed) };
        seed.zeroize();
        let malformed = |what| Error::Malformed { peer: self.peer, what };
        // Step 1.
        let factors = self.swap(ctx, &self.steps.encrypt(&batch), their_bytes[0]).await?;
        // Step 2.
        let (answers, masks) = self.steps.answer(&batch, &factors).map_err(malformed)?;
        let answers = self.swap(ctx, &answers, own_bytes[1]).await?;
        // Step 3.
        let sums = self.steps.decrypt(&batch, &answers).map_err(malformed)?;
        let mut c = Wiped(a.clone());
        c.mul_assign(&b);
        c.add_at(own.start, &sums);
        c.add_at(theirs.start, &masks);
        c.reduce();
        Ok(Triples { a, b, c })
    }

    async fn swap(&self, ctx: &Ctx, message: &[u8], length: usize) -> Result<Vec<u8>> {
        ctx.exchange_bytes(&[(self.peer, message)], &[(self.peer, length)]).await?.pop().ok_or(LOST)
    }
}

#[cfg(test)]
mod tests {
    use quorate_engine::testing::online;
    use quorate_engine::{Phase, dry};

    use super::*;
    use crate::options::Level;

    const RING: Ring = Ring::of(8);

    #[test]
    fn a_session_makes_fewer_than_2_to_the_32_triples_by_paillier() {
        let options = Options { scheme: Scheme::Paillier, level: Level::insecure(256, 0) };
        let ends = online(2, async |ctx| {
            let he = He::setup(ctx, 1 - ctx.me(), options).await?;
            he.triples.set(SESSION_TRIPLES - 4);
            he.triples(ctx, RING, 2).await?;
            he.triples(ctx, RING, 1).await?;
            he.triples(ctx, RING, 1).await.map(drop)
        });
        let errors: Vec<String> = ends.into_iter().map(|end| end.unwrap_err().to_string()).collect();
        assert!(errors.iter().any(|error| error.contains("fewer than 2^32 triples")), "{errors:?}");
    }

    #[test]
    fn triples_of_dry_runs_do_not_count() {
        let left = |scheme, begun, len| {
            let he = He::dry(1, Options { scheme, level: Level::LONG });
            he.triples.set(begun);
            let made = dry::run(0, 2, Phase::Offline, async |ctx| he.triples(ctx, RING, len).await.map(drop));
            made.map(|_| he.triples.get()).ok()
        };
        assert_eq!(left(Scheme::Paillier, SESSION_TRIPLES - 5, 4), Some(SESSION_TRIPLES - 5));
        assert_eq!(left(Scheme::Paillier, SESSION_TRIPLES - 5, 5), None);
        assert_eq!(left(Scheme::Dgk, SESSION_TRIPLES - 5, 5), Some(SESSION_TRIPLES - 5));
    }
}
