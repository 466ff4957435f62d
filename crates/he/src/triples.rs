//! Multiplication triples over Z_2^k from additively homomorphic encryption: shares of random a, b and of c = a b.
//!
//! **Source**: Demmler, Schneider, Zohner (ABY), NDSS 2015, section III-A4, protocol 1; packing after Pullonen,
//! Bogdanov, Schneider 2012. **Deviation**: in each half of a row another party has the key, so that both work at
//! once; for what the cryptosystems change, see there. **Model**: semi-honest. **Notation**: the key's owner, the
//! paper's P_0, has a_0, b_0, the other party a_1, b_1; C bytes of a ciphertext; each ciphertext back holds P answers.
//!
//! | step | owner | other party |
//! |---|---|---|
//! | 1 | sends Enc(a_0), Enc(b_0) | |
//! | 2 | | draws r, sends Enc(a_0)^(b_1) Enc(b_0)^(a_1) Enc(r); c_1 = a_1 b_1 - r |
//! | 3 | c_0 = a_0 b_0 + what it decrypts | |
//!
//! Rounds 2. Of n triples each party owns a half, n/2: it sends 2 C n/2 bytes in step 1 and C ceil(n/2 / P) in step 2.
//! With a modulus of phi bits C is phi/4 bytes and P = (phi - 1) / (2 k + 73) for Paillier, C phi/8 and P 1 for DGK.
//! Timing depends on k, n and the sizes of keys.

use std::ops::Range;

use crypto_bigint::BoxedUint;
use quorate_crypto::Seed;
use quorate_engine::{Chunks, Ctx, Error, Misuse, Result};
use quorate_ring::threads::side_by_side;
use quorate_ring::{Ring, Vector, Wiped};
use zeroize::{Zeroize, Zeroizing};

use crate::coins::Coins;
use crate::options::{Options, SESSION_TRIPLES, Scheme};
use crate::scheme::{PublicKey, Query, SecretKey, Words};
use crate::setup::{He, Keys, LOST, Pair};
use crate::work::charge_triples;

/// Triples of a half of a chunk, about; chunks under way.
const HALF_CHUNK: usize = 64;
const WINDOW: usize = 2;
/// Beyond them the answers of a session would hide less than is stated.
const TOO_MANY: &str = "a session makes fewer than 2^32 triples by Paillier's cryptosystem: start another session, or \
                        take triples from oblivious transfer";

/// Shares of triples over a ring: the parties' sums give c = a b. Wiped on drop.
pub struct Triples {
    /// The first factors.
    pub a: Wiped<Vector>,
    /// The second factors.
    pub b: Wiped<Vector>,
    /// The products.
    pub c: Wiped<Vector>,
}

/// How [`He::triples`] cuts a row: whole packs in each half.
pub(crate) fn chunks(options: Options, ring: Ring, len: usize) -> Chunks {
    let chunk = 2 * HALF_CHUNK.next_multiple_of(options.pack(ring.bits()));
    Chunks { len, chunk, window: WINDOW }
}

/// The triples whose keys are the first party's, and the other's.
pub(crate) fn halves(len: usize) -> [Range<usize>; 2] {
    let cut = len.div_ceil(2);
    [0..cut, cut..len]
}

/// Bytes of the ciphertexts of so many triples' factors, and of their answers.
pub(crate) fn bytes(options: Options, ring: Ring, len: usize) -> [usize; 2] {
    [2 * len, len.div_ceil(options.pack(ring.bits()))].map(|ciphertexts| ciphertexts * options.ciphertext_bytes())
}

/// What one party knows of a batch before it talks.
struct Batch {
    k: u32,
    pack: usize,
    /// This party's factors, of which those in `own` are encrypted under its key.
    a: Words,
    b: Words,
    own: Range<usize>,
    theirs: Range<usize>,
    /// Where this batch's coins grow from.
    seed: Seed,
}

impl He {
    /// `len` triples over a ring of at most 64 bits. Both call it; a long row goes in chunks, for which every party of
    /// the session must call it.
    ///
    /// # Errors
    /// [`Misuse::RingBits`] for a larger ring; [`Misuse::Other`] once these are too many for a session;
    /// [`Error::Malformed`] for what are no ciphertexts; whatever ends a run.
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

    /// Each answer hides its factors statistically, so that a session may make so many only. Whatever was begun counts.
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
        let [first, second] = halves(len);
        let (own, theirs) = if ctx.me() < self.peer { (first, second) } else { (second, first) };
        if ctx.is_dry() {
            let [queries, answers] = [own.len(), theirs.len()].map(|len| bytes(self.options, ring, len));
            self.swap(ctx, &vec![0; queries[0]], answers[0]).await?;
            self.swap(ctx, &vec![0; answers[1]], queries[1]).await?;
            charge_triples(self.options, ring.bits(), own.len(), theirs.len());
            return Ok(Triples { a, b, c: Wiped(Vector::shape(ring, len)) });
        }
        a.reduce();
        b.reduce();
        let batch = Batch {
            k: ring.bits(),
            pack: self.options.pack(ring.bits()),
            a: Zeroizing::new(a.to_u64s()),
            b: Zeroizing::new(b.to_u64s()),
            own,
            theirs,
            seed: Seed::from_bytes(seed),
        };
        seed.zeroize();
        let crossed = match &self.keys {
            Keys::Paillier(keys) => self.cross(ctx, ring, keys, &batch).await?,
            Keys::Dgk(keys) => self.cross(ctx, ring, keys, &batch).await?,
            Keys::None => return Err(Error::Bug { what: "homomorphic encryption without keys" }),
        };
        let mut c = Wiped(Vector::from_u64s(ring, &crossed));
        c.add_mul_assign(&a, &b);
        c.reduce();
        Ok(Triples { a, b, c })
    }

    /// Shares of a_0 b_1 + a_1 b_0 modulo 2^k.
    async fn cross<S: SecretKey>(&self, ctx: &Ctx, ring: Ring, keys: &Pair<S>, batch: &Batch) -> Result<Words> {
        let malformed = |what| Error::Malformed { peer: self.peer, what };
        let [own_bytes, their_bytes] = [&batch.own, &batch.theirs].map(|half| bytes(self.options, ring, half.len()));
        // Step 1.
        let received = self.swap(ctx, &batch.encrypt(&keys.own), their_bytes[0]).await?;
        // Step 2.
        let factors = keys.theirs.read(&received).map_err(malformed)?;
        let (answers, masks) = batch.answer(&keys.theirs, &factors);
        let received = self.swap(ctx, &answers, own_bytes[1]).await?;
        // Step 3.
        let answers = keys.own.read(&received).map_err(malformed)?;
        let sums = batch.decrypt(&keys.own, &answers).map_err(malformed)?;
        let mut crossed = Zeroizing::new(vec![0; batch.a.len()]);
        crossed[batch.own.clone()].copy_from_slice(&sums);
        crossed[batch.theirs.clone()].copy_from_slice(&masks);
        Ok(crossed)
    }

    async fn swap(&self, ctx: &Ctx, message: &[u8], length: usize) -> Result<Vec<u8>> {
        ctx.exchange_bytes(&[(self.peer, message)], &[(self.peer, length)]).await?.pop().ok_or(LOST)
    }
}

impl Batch {
    /// Step 1: the owner's factors, encrypted, triple by triple.
    fn encrypt<S: SecretKey>(&self, key: &S) -> Vec<u8> {
        let ciphertexts = each(2 * self.own.len(), |i| {
            let e = self.own.start + i / 2;
            let factor = if i.is_multiple_of(2) { self.a[e] } else { self.b[e] };
            key.encrypt(self.k, factor, &mut Coins::new(&self.seed, "quorate/he/encrypt", i as u64))
        });
        ciphertexts.concat()
    }

    /// Step 2: the answers, and this party's shares -r.
    fn answer<P: PublicKey>(&self, key: &P, factors: &[BoxedUint]) -> (Vec<u8>, Words) {
        let queries: Vec<Query<'_>> = self
            .theirs
            .clone()
            .zip(factors.chunks_exact(2))
            .map(|(e, pair)| Query { a: &pair[0], b: &pair[1], x: self.a[e], y: self.b[e] })
            .collect();
        let packs: Vec<&[Query<'_>]> = queries.chunks(self.pack).collect();
        let answers = each(packs.len(), |i| {
            key.answer(self.k, packs[i], &mut Coins::new(&self.seed, "quorate/he/answer", i as u64))
        });
        let mut shares = Zeroizing::new(Vec::with_capacity(self.theirs.len()));
        let mut message = Vec::new();
        for (ciphertext, masks) in answers {
            message.extend_from_slice(&ciphertext);
            shares.extend_from_slice(&masks);
        }
        (message, shares)
    }

    /// Step 3: what the answers hold.
    fn decrypt<S: SecretKey>(&self, key: &S, answers: &[BoxedUint]) -> std::result::Result<Words, &'static str> {
        let len = self.own.len();
        let held = each(answers.len(), |i| key.decrypt(self.k, &answers[i], self.pack.min(len - i * self.pack)));
        let mut sums = Zeroizing::new(Vec::with_capacity(len));
        for words in held {
            sums.extend_from_slice(&words?);
        }
        Ok(sums)
    }
}

/// What `work` gives for every number below `count`, on as many threads as there are.
fn each<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut done: Vec<Option<T>> = (0..count).map(|_| None).collect();
    side_by_side(done.iter_mut().enumerate().collect(), |(i, slot)| *slot = Some(work(i)));
    done.into_iter().flatten().collect()
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
    fn what_dry_runs_make_does_not_count() {
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
