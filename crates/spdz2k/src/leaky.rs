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

use crate::keys::Keys;
use crate::macs::{MacBits, hash, keep_chosen, xor_chosen};
use crate::tinyot::TinyOt;

const EQUAL: &str = "triples of bits in the making";
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
        let hashed = |blocks: &Blocks, party: usize| {
            let mut hashed = blocks.clone();
            if dry {
                charge(Kernel::Draw, 2 * BLOCK_BYTES * len);
            }
            let hash = Tccr::new(&self.session).segment(party as u128).segment(instance);
            for (i, part) in hashed.as_mut_slice().chunks_mut(SEGMENT).enumerate() {
                hash.segment(i as u128).hash_run(part, 0);
            }
            hashed
        };
        // Step 1.
        let of_zero = hashed(&x.keys, self.me);
        let mut garbled = x.keys.clone();
        garbled.as_mut_slice().iter_mut().for_each(|key| *key ^= ends.delta());
        let mut garbled = hashed(&garbled, self.me);
        let c = product(&y, ends.delta());
        add(&mut garbled, &[&of_zero, &c]);
        let told = ctx.exchange_bytes(&[(ends.peer, &bytes_of(&garbled))], &[(ends.peer, BLOCK_BYTES * len)]).await?;
        let mut others = if dry { Blocks::shape(len) } else { blocks_of(&told[0]) };
        // Step 2.
        add(&mut others, &[&c]);
        keep_chosen(&mut others, &x.own);
        let mut sum = hashed(&x.macs, ends.peer);
        add(&mut sum, &[&of_zero, &others, &product(&r, ends.delta())]);
        let own = if dry { Bits::shape(1, len) } else { sum.to_bits(1) };
        let told = ctx.exchange::<Bits>(&[(ends.peer, &own)], &[(ends.peer, (1, len))]).await?;
        let mut flips = told.into_iter().next().ok_or(Error::Bug { what: "no bits were told" })?;
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

/// x D + K(x) + M(x).
fn product(x: &MacBits, delta: u128) -> Blocks {
    let mut product = x.keys.clone();
    add(&mut product, &[&x.macs]);
    if !product.is_shape() {
        xor_chosen(&mut product, &x.own, delta);
    }
    product
}

fn add(into: &mut Blocks, others: &[&Blocks]) {
    for other in others {
        into.as_mut_slice().iter_mut().zip(other.as_slice()).for_each(|(into, other)| *into ^= other);
    }
}

fn bytes_of(blocks: &Blocks) -> Vec<u8> {
    match blocks.is_shape() {
        true => vec![0; BLOCK_BYTES * blocks.len()],
        false => blocks.as_slice().iter().flat_map(|block| block.to_le_bytes()).collect(),
    }
}

fn blocks_of(bytes: &[u8]) -> Blocks {
    Blocks::new(bytes.as_chunks::<BLOCK_BYTES>().0.iter().map(|block| u128::from_le_bytes(*block)).collect())
}
