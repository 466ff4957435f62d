//! The local work of the steps of [`triples`](crate::triples), with keys or in a dry run on shapes.

use std::ops::Range;

use quorate_crypto::Seed;
use quorate_ring::threads::side_by_side;
use quorate_ring::{Ring, Vector, Wiped};
use zeroize::Zeroizing;

use crate::coins::Coins;
use crate::keys::{Keys, Shapes};
use crate::options::Options;
use crate::scheme::{Parsed, PublicKey, Query, SecretKey, Words};

/// Returns the bytes of the ciphertexts of `len` triples' factors, and of their answers.
pub(crate) fn bytes(options: Options, ring: Ring, len: usize) -> [usize; 2] {
    [2 * len, len.div_ceil(options.pack(ring.bits()))].map(|ciphertexts| ciphertexts * options.ciphertext_bytes())
}

/// The factors of some triples.
pub(crate) struct Factors {
    pub a: Wiped<Vector>,
    pub b: Wiped<Vector>,
}

impl Factors {
    pub fn of([a, b]: [&Vector; 2], half: &Range<usize>) -> Factors {
        Factors { a: Wiped(a.slice(half.clone())), b: Wiped(b.slice(half.clone())) }
    }

    fn words(&self) -> [Words; 2] {
        [&self.a, &self.b].map(|factors| Zeroizing::new(factors.to_u64s()))
    }
}

/// One party's values of a batch before its first message.
pub(crate) struct Batch {
    pub options: Options,
    pub ring: Ring,
    /// This party's factors: of the triples under its own key, and of those under its peer's.
    pub own: Factors,
    pub theirs: Factors,
    /// The seed of this batch's coins.
    pub seed: Seed,
}

/// The local work of the steps: with keys, or in a dry run on shapes.
pub(crate) trait Steps {
    /// Step 1: returns this party's factors, encrypted.
    fn encrypt(&self, batch: &Batch) -> Vec<u8>;
    /// Step 2: returns the answers, and this party's shares -r.
    fn answer(&self, batch: &Batch, factors: &[u8]) -> Parsed<(Vec<u8>, Wiped<Vector>)>;
    /// Step 3: returns the content of the answers.
    fn decrypt(&self, batch: &Batch, answers: &[u8]) -> Parsed<Wiped<Vector>>;
}

impl Batch {
    fn pack(&self) -> usize {
        self.options.pack(self.ring.bits())
    }

    /// Returns the numbers of triples under this party's key, and under its peer's.
    fn lens(&self) -> [usize; 2] {
        [self.own.a.len(), self.theirs.a.len()]
    }

    fn vector(&self, words: &Words) -> Wiped<Vector> {
        Wiped(Vector::from_u64s(self.ring, words))
    }
}

impl<S: SecretKey> Steps for Keys<S> {
    /// Encrypts triple by triple.
    fn encrypt(&self, batch: &Batch) -> Vec<u8> {
        let words = batch.own.words();
        let ciphertexts = each(2 * batch.lens()[0], |i| {
            let coins = &mut Coins::new(&batch.seed, "quorate/he/encrypt", i as u64);
            self.own.encrypt(batch.ring.bits(), words[i % 2][i / 2], coins)
        });
        ciphertexts.concat()
    }

    fn answer(&self, batch: &Batch, factors: &[u8]) -> Parsed<(Vec<u8>, Wiped<Vector>)> {
        let factors = self.theirs.read(factors)?;
        let [x, y] = batch.theirs.words();
        let pairs = factors.chunks_exact(2).zip(x.iter().zip(y.iter()));
        let queries: Vec<Query<'_>> = pairs.map(|(pair, (&x, &y))| Query { a: &pair[0], b: &pair[1], x, y }).collect();
        let packs: Vec<&[Query<'_>]> = queries.chunks(batch.pack()).collect();
        let answers = each(packs.len(), |i| {
            let coins = &mut Coins::new(&batch.seed, "quorate/he/answer", i as u64);
            self.theirs.answer(batch.ring.bits(), packs[i], coins)
        });
        let mut shares = Zeroizing::new(Vec::with_capacity(queries.len()));
        let mut message = Vec::new();
        for (ciphertext, masks) in answers {
            message.extend_from_slice(&ciphertext);
            shares.extend_from_slice(&masks);
        }
        Ok((message, batch.vector(&shares)))
    }

    fn decrypt(&self, batch: &Batch, answers: &[u8]) -> Parsed<Wiped<Vector>> {
        let answers = self.own.read(answers)?;
        let ([len, _], pack, k) = (batch.lens(), batch.pack(), batch.ring.bits());
        let held = each(answers.len(), |i| self.own.decrypt(k, &answers[i], pack.min(len - i * pack)));
        let mut sums = Zeroizing::new(Vec::with_capacity(len));
        for words in held {
            sums.extend_from_slice(&words?);
        }
        Ok(batch.vector(&sums))
    }
}

/// A dry run: messages are zeros, and the work on ciphertexts is not charged.
impl Steps for Shapes {
    fn encrypt(&self, batch: &Batch) -> Vec<u8> {
        let [own, _] = batch.lens();
        vec![0; bytes(batch.options, batch.ring, own)[0]]
    }

    fn answer(&self, batch: &Batch, _: &[u8]) -> Parsed<(Vec<u8>, Wiped<Vector>)> {
        let [_, theirs] = batch.lens();
        let message = vec![0; bytes(batch.options, batch.ring, theirs)[1]];
        Ok((message, Wiped(Vector::shape(batch.ring, theirs))))
    }

    fn decrypt(&self, batch: &Batch, _: &[u8]) -> Parsed<Wiped<Vector>> {
        let [own, _] = batch.lens();
        Ok(Wiped(Vector::shape(batch.ring, own)))
    }
}

/// Returns the results of `work` for every number below `count`, on all threads of the party.
fn each<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut done: Vec<Option<T>> = (0..count).map(|_| None).collect();
    side_by_side(done.iter_mut().enumerate().collect(), |(i, slot)| *slot = Some(work(i)));
    done.into_iter().flatten().collect()
}
