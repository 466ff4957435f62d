//! The transcript of a check: what P2 opens, and what has to be zero.
//!
//! **Source**: `check`, steps 3 to 5. **Model**: malicious, one of three. P0 and P1 hash what P2 sent both, and their
//! summands of zeros, P1 with the other sign: the hashes agree if P2 sent both the same and all zeros are zero.

use quorate_crypto::ct_eq;
use quorate_engine::{Ctx, Error, Result};
use quorate_ring::{Module, Ring, Vector, meter};
use zeroize::Zeroizing;

use super::Third;
use super::summands::Summands;
use crate::setup::DEALER;

const DEALT: &str = "what the dealer dealt";
const DOMAIN: &str = "quorate 2026 pika dealt v1";
const HASH_BYTES: usize = 32;

/// The transcript that P0 and P1 compare.
pub(crate) struct Transcript<'b> {
    pub third: &'b Third,
    pub ctx: &'b Ctx,
    pub me: usize,
    hasher: blake3::Hasher,
}

impl<'b> Transcript<'b> {
    pub fn new(third: &'b Third, ctx: &'b Ctx) -> Transcript<'b> {
        let mut hasher = blake3::Hasher::new_derive_key(DOMAIN);
        hasher.update(third.pairs.session().as_bytes());
        Transcript { third, ctx, me: third.pairs.me, hasher }
    }

    pub fn is_dealer(&self) -> bool {
        self.me == DEALER
    }

    /// Opens a value of P2: P2 adds up its summands and sends both the sum.
    pub async fn open(&mut self, summands: &Summands<Vector>) -> Result<Vector> {
        let shape = summands.0[0].shape_of();
        if self.is_dealer() {
            let opened = summands.total().into_inner();
            return self.tell([&opened, &opened]).await.map(|()| opened);
        }
        self.hear(shape).await
    }

    /// Sends P0 and P1 a value each.
    pub async fn tell(&self, to: [&Vector; 2]) -> Result<()> {
        self.ctx.send(0, to[0]).await?;
        self.ctx.send(1, to[1]).await
    }

    async fn hear(&mut self, shape: (Ring, usize)) -> Result<Vector> {
        let opened: Vector = self.ctx.receive(DEALER, shape).await?;
        self.absorb(&opened);
        Ok(opened)
    }

    fn absorb<M: Module>(&mut self, x: &M) {
        if self.ctx.is_dry() {
            return self.charge(M::packed_bytes(x.shape_of()));
        }
        // The capacity is reserved at once: a reallocation would leave a copy behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(M::packed_bytes(x.shape_of())));
        x.pack(&mut bytes);
        self.hasher.update(&bytes);
    }

    /// Charges a dry run with the hashing of bytes: a byte takes as long as a loop over `HASHED_BYTES` bytes.
    pub fn charge(&self, bytes: usize) {
        const HASHED_BYTES: usize = 4;
        meter::stream(HASHED_BYTES * bytes);
    }

    /// Absorbs bytes that both parties must have alike.
    pub fn same(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
    }

    /// Absorbs a summand of zeros; P1 absorbs its negative.
    pub fn zero(&mut self, mut summand: Vector) {
        if self.me == 1 {
            summand.neg_assign();
        }
        self.absorb(&summand);
        summand.wipe();
    }

    /// Absorbs xor summands of zeros.
    pub fn zero_words(&mut self, words: Vec<u64>) {
        let words = Zeroizing::new(words);
        if !self.ctx.is_dry() {
            words.iter().for_each(|word| {
                self.hasher.update(&word.to_le_bytes());
            });
        }
    }

    /// Runs the last step of the check: P0 and P1 compare hashes.
    pub async fn compare(self) -> Result<()> {
        if self.is_dealer() {
            return Ok(());
        }
        let (hash, peer) = (*self.hasher.finalize().as_bytes(), 1 - self.me);
        let other = self.ctx.exchange_bytes(&[(peer, &hash)], &[(peer, HASH_BYTES)]).await?;
        match self.ctx.is_dry() || ct_eq(&other[0], &hash) {
            true => Ok(()),
            false => Err(Error::Cheating { check: DEALT }),
        }
    }
}
