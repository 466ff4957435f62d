//! ANDs of bits with MACs, of which a cheater may learn one factor: half of the time it is caught.
//!
//! **Source**: the half-gate leaky AND of Katz, Ranellucci, Rosulek, Wang 2018 (ePrint 2018/578), Fig. 2. **Model**:
//! malicious, 1 of 2. **Notation**: x, y, r random bits with MACs; M and K the MACs and keys of [`crate::tinyot`]; D
//! the Delta of a party. What is said of one party holds for both.
//!
//! | step | rounds | what |
//! |---|---|---|
//! | 1 | 1 | C = y D + K(y) + M(y); send G = H(K(x)) + H(K(x) + D) + C |
//! | 2 | 1 | S = H(K(x)) + H(M(x)) + x (G of the peer + C) + r D + K(r) + M(r); send d, its lowest bit |
//! | 3 | 2 | both have the same T = S + (d + d of the peer) D: compare hashes over the batch, committed first |
//!
//! z = r + d + d of the peer is x y. Both C add up to y (D_A + D_B), so both S add up to (x y + r) (D_A + D_B), and the
//! lowest bit of D_A + D_B is 1. A wrong G changes S where the peer's x is 1: that is the leak, and step 3 finds it.

use quorate_crypto::Tccr;
use quorate_engine::{Ctx, Error, Result};
use quorate_ot::Blocks;
use quorate_ring::Bits;
use quorate_ring::meter::{Kernel, charge};
use zeroize::Zeroizing;

use crate::keys::Keys;
use crate::macs::{MacBits, hash, xor_chosen};
use crate::tinyot::TinyOt;

const EQUAL: &str = "triples of bits in the making";
const SILENT: Error = Error::Bug { what: "nothing was told" };
const BLOCK_BYTES: usize = 16;
/// Blocks that are hashed under one key.
const SEGMENT: usize = 1 << 12;

impl Keys {
    /// x, y and x y.
    pub(crate) async fn leaky_ands(&self, ctx: &Ctx, ends: &TinyOt<'_>, len: usize) -> Result<[MacBits; 3]> {
        let drawn = ends.random(ctx, 3 * len).await?;
        let [x, y, r] = [0, 1, 2].map(|i| drawn.slice(i * len..(i + 1) * len));
        drop(drawn);
        let (instance, dry) = (ctx.randomness().instance(), ctx.is_dry());
        let base = Tccr::new(&self.session);
        let hashing = |party: usize, part: usize| base.segment(party as u128).segment(instance).segment(part as u128);
        if dry {
            charge(Kernel::Draw, 6 * BLOCK_BYTES * len);
        }
        // Step 1. Of c, which both steps take, nothing is kept.
        let c = |i: usize| lifted(&y, i, ends.delta());
        let (of_zero, mut garbled) = garbled(&x, ends.delta(), c, |part| hashing(self.me, part));
        garbled.resize(BLOCK_BYTES * len, 0);
        let told = ctx.exchange_bytes(&[(ends.peer, &garbled)], &[(ends.peer, BLOCK_BYTES * len)]).await?;
        drop(garbled);
        // Step 2.
        let others = told.first().ok_or(SILENT)?.as_chunks::<BLOCK_BYTES>().0;
        let mut sum = x.macs.clone();
        for (part, sum) in sum.as_mut_slice().chunks_mut(SEGMENT).enumerate() {
            hashing(ends.peer, part).hash_run(sum, 0);
            for (i, sum) in (part * SEGMENT..).zip(sum) {
                let chosen = (u128::from_le_bytes(others[i]) ^ c(i)) & word(&x, i);
                *sum ^= of_zero.as_slice()[i] ^ chosen ^ lifted(&r, i, ends.delta());
            }
        }
        drop((told, of_zero));
        let own = if dry { Bits::shape(1, len) } else { sum.to_bits(1) };
        let told = ctx.exchange::<Bits>(&[(ends.peer, &own)], &[(ends.peer, (1, len))]).await?;
        let mut flips = told.into_iter().next().ok_or(SILENT)?;
        flips.xor_assign(&own);
        // Step 3.
        if !dry {
            xor_chosen(&mut sum, &flips, ends.delta());
        }
        let compared = hash(&sum);
        let said = ctx.commit_and_open(&self.session, "quorate/spdz2k/leaky", &compared).await?;
        if !dry && said[ends.peer] != compared {
            return Err(Error::Cheating { check: EQUAL });
        }
        let z = r.flipped(&flips, (ends.first, ends.delta()));
        Ok([x, y, z])
    }
}

/// Step 1: H(K(x)), and what is sent.
fn garbled(x: &MacBits, delta: u128, c: impl Fn(usize) -> u128, hashing: impl Fn(usize) -> Tccr) -> (Blocks, Vec<u8>) {
    let mut of_zero = x.keys.clone();
    let mut garbled = Vec::with_capacity(BLOCK_BYTES * x.len());
    let mut of_one = Zeroizing::new([0; SEGMENT]);
    for (part, zero) in of_zero.as_mut_slice().chunks_mut(SEGMENT).enumerate() {
        let (hash, of_one) = (hashing(part), &mut of_one[..zero.len()]);
        of_one.iter_mut().zip(&*zero).for_each(|(one, key)| *one = key ^ delta);
        hash.hash_run(zero, 0);
        hash.hash_run(of_one, 0);
        for (i, (zero, one)) in (part * SEGMENT..).zip(zero.iter().zip(&*of_one)) {
            garbled.extend_from_slice(&(zero ^ one ^ c(i)).to_le_bytes());
        }
    }
    (of_zero, garbled)
}

/// All ones where bit i is one.
fn word(x: &MacBits, i: usize) -> u128 {
    0u128.wrapping_sub((x.own.words_of(0)[i / 64] >> (i % 64) & 1).into())
}

/// x D + K(x) + M(x), of bit i.
fn lifted(x: &MacBits, i: usize, delta: u128) -> u128 {
    x.keys.as_slice()[i] ^ x.macs.as_slice()[i] ^ word(x, i) & delta
}
