//! ANDs of bits with MACs, of which a cheater may learn one factor; it is caught with probability one half.
//!
//! **Source**: the half-gate leaky AND of Katz, Ranellucci, Rosulek, Wang 2018 (ePrint 2018/578), Fig. 2, for any
//! number of parties as in Wang, Ranellucci, Katz 2017 (ePrint 2017/189). **Deviation**: the check of step 3 among more
//! than two parties is ours; whatever its result, it shows nothing of a Delta. **Model**: malicious, all but one.
//! **Notation**: x, y, r random bits with MACs; M_j and K_j the MACs and keys of [`crate::tinyot`] with peer j, M and K
//! the sums of all; D the Delta of a party. Each step is written for one party and holds for all.
//!
//! | step | rounds | what |
//! |---|---|---|
//! | 1 | 1 | C = y D + K(y) + M(y); send each peer j G_j = H(K_j(x)) + H(K_j(x) + D) + C |
//! | 2 | 1 | S = x C + r D + K(r) + M(r) + sum of H(K_j(x)) + H(M_j(x)) + x (G of j); send d, its lowest bit |
//! | 3 | 2; 5 if n > 2 | T = S + (sum of all d) D: the T of all parties add up to 0 |
//!
//! z = r + sum of all d is x y. All C add up to y times the sum of all D, so all S add up to x y + r times that, and
//! its lowest bit is 1. A wrong G changes S where the peer's own x is 1: that is the leak, and step 3 finds it.
//!
//! Step 3 of two parties: they have the same T; they compare hashes over the batch, committed first. Of more than two:
//!
//! | step | rounds | what |
//! |---|---|---|
//! | 3a | 2 | toss chi in GF(2^64) for each AND; t = sum chi T, half by half |
//! | 3b | 1 | rho: 128 random bits with MACs, in GF(2^128); by step 1 shares of rho t, with C = z^b t for bit b |
//! | 3c | 2 | commit to the shares of rho t, open: 0, or the run ends |
//!
//! The sum of all t itself must not be seen: where a check fails it is a sum of Deltas, which hide earlier results.

use quorate_adversary::Twist;
use quorate_authenticated::macs::{MacBits, hash, xor_chosen};
use quorate_authenticated::weights;
use quorate_crypto::{Tccr, ct_eq};
use quorate_engine::{Ctx, Error, Result};
use quorate_ot::Blocks;
use quorate_ring::chosen::Masks;
use quorate_ring::meter::{Kernel, charge};
use quorate_ring::{Bits, Ring, Vector};
use zeroize::Zeroizing;

use crate::coins::Coins;
use crate::tinyot::TinyOt;

const SUMS: &str = "quorate 2026 spdz2k sums of leaky ands v1";
const EQUAL: &str = "triples of bits in the making";
const SILENT: Error = Error::Bug { what: "nothing was told" };
const BLOCK_BYTES: usize = 16;
/// The ring of blocks.
const BLOCK: Ring = Ring::of(128);
/// The number of bits of rho.
const FACTOR: usize = 128;
/// The number of blocks that are hashed under one key.
const SEGMENT: usize = 1 << 12;

/// Leaky ANDs, or random bits for them: all x, all y and all z in one row. z is r before the ANDs are made.
pub(crate) struct Leaky {
    pub bits: MacBits,
    pub count: usize,
    /// The bits of rho for the check, among more than two parties.
    rho: Option<MacBits>,
}

impl Leaky {
    /// Draws the random bits.
    pub async fn draw(ctx: &Ctx, ends: &TinyOt<'_>, count: usize) -> Result<Leaky> {
        if !ends.has_several_peers() {
            return Ok(Leaky { bits: ends.random(ctx, 3 * count).await?, count, rho: None });
        }
        let bits = ends.random(ctx, 3 * count + FACTOR).await?;
        let rho = Some(bits.slice(3 * count..3 * count + FACTOR));
        Ok(Leaky { bits, count, rho })
    }

    /// Makes leaky ANDs from random bits.
    pub async fn ands(self, ctx: &Ctx, ends: &TinyOt<'_>) -> Result<Leaky> {
        let Leaky { mut bits, count, rho } = self;
        // C is computed anew in both steps, and not kept.
        let c = |i: usize| lifted(&bits, count + i, ends.delta());
        let more = |i: usize| lifted(&bits, 2 * count + i, ends.delta());
        let mut sum = times_bits(ctx, ends, (&bits, count), c, more).await?;
        let own = if ctx.is_dry() { Bits::shape(1, count) } else { sum.to_bits(1) };
        let own = ends.keys.twisted(Twist::Flip, own);
        let outgoing: Vec<_> = ends.peers.iter().map(|&peer| (peer, &own)).collect();
        let incoming: Vec<_> = ends.peers.iter().map(|&peer| (peer, (1, count))).collect();
        let told = ctx.exchange::<Bits>(&outgoing, &incoming).await?;
        let mut flips = own;
        told.iter().for_each(|told| flips.xor_assign(told));
        // Step 3.
        if !ctx.is_dry() {
            xor_chosen(&mut sum, &flips, ends.delta());
        }
        match &rho {
            None => compare_sums(ctx, ends, &sum).await?,
            Some(rho) => add_up_to_nothing(ctx, ends, &sum, rho).await?,
        }
        bits.flip(2 * count, &flips, (ends.first, ends.delta()));
        Ok(Leaky { bits, count, rho })
    }
}

/// Returns shares of x c for the first bits; c is the sum of all parties' parts. `more` of this party is added.
async fn times_bits(
    ctx: &Ctx,
    ends: &TinyOt<'_>,
    (x, len): (&MacBits, usize),
    c: impl Fn(usize) -> u128,
    more: impl Fn(usize) -> u128,
) -> Result<Blocks> {
    let instance = ctx.randomness().instance();
    let base = Tccr::new(&ends.keys.session);
    // Each pair of sender and receiver has a key of its own: Delta and tweaks are the same for all.
    let hashing = |[from, to]: [usize; 2], part: usize| {
        base.segment((from as u128) << 64 | to as u128).segment(instance).segment(part as u128)
    };
    if ctx.is_dry() {
        charge(Kernel::Draw, 6 * BLOCK_BYTES * len * ends.peers.len());
    }
    // Step 1.
    let (mut of_zero, mut messages) = (Vec::new(), Vec::new());
    for (&peer, with_peer) in ends.peers.iter().zip(&x.peers) {
        let (zero, message) =
            garbled((&with_peer.keys, len), ends.delta(), &c, |part| hashing([ends.keys.me, peer], part));
        of_zero.push(zero);
        messages.push(message);
    }
    let outgoing: Vec<_> = ends.peers.iter().copied().zip(&messages).collect();
    let incoming: Vec<_> = ends.peers.iter().map(|&peer| (peer, (BLOCK, len))).collect();
    let told = ctx.exchange::<Vector>(&outgoing, &incoming).await?;
    drop(messages);
    // Step 2. What this party alone adds goes with the first peer's part.
    let mut sum: Option<Blocks> = None;
    for (i, (&peer, told)) in ends.peers.iter().zip(&told).enumerate() {
        let hash = |part| hashing([peer, ends.keys.me], part);
        let part = match i {
            0 => evaluated((x, i), told, &of_zero[i], hash, |at| (c(at), more(at))),
            _ => evaluated((x, i), told, &of_zero[i], hash, |_| (0, 0)),
        };
        sum = Some(match sum {
            None => part,
            Some(sum) => added(sum, &part),
        });
    }
    sum.ok_or(SILENT)
}

/// Runs step 3 of two parties.
async fn compare_sums(ctx: &Ctx, ends: &TinyOt<'_>, sums: &Blocks) -> Result<()> {
    let compared = hash(ends.keys.hasher(SUMS), sums);
    let said = ctx.commit_and_open(&ends.keys.session, "quorate/spdz2k/leaky", &compared).await?;
    if !ctx.is_dry() && !ct_eq(&said[ends.peers[0]], &compared) {
        return Err(Error::Cheating { check: EQUAL });
    }
    Ok(())
}

/// Runs step 3 of more than two parties.
async fn add_up_to_nothing(ctx: &Ctx, ends: &TinyOt<'_>, sums: &Blocks, rho: &MacBits) -> Result<()> {
    let chi = Coins::toss(ctx, &ends.keys.session).await?.words(sums.len()).unwrap_or_default();
    let mut multiples = Zeroizing::new([0; FACTOR]);
    multiples[0] = weights::of_blocks(&chi, sums.as_slice());
    (1..FACTOR).for_each(|b| multiples[b] = weights::doubled(multiples[b - 1]));
    let shares = times_bits(ctx, ends, (rho, FACTOR), |b| multiples[b], |_| 0).await?;
    let share = shares.as_slice().iter().fold(0, |sum, share| sum ^ share);
    let said = ctx.commit_and_open(&ends.keys.session, "quorate/spdz2k/leaky/sum", &share.to_le_bytes()).await?;
    let mut total = [0; BLOCK_BYTES];
    said.iter().for_each(|said| total.iter_mut().zip(said).for_each(|(total, byte)| *total ^= byte));
    if !ctx.is_dry() && !ct_eq(&total, &[0; BLOCK_BYTES]) {
        return Err(Error::Cheating { check: EQUAL });
    }
    Ok(())
}

/// Returns the xor of blocks.
fn added(mut x: Blocks, y: &Blocks) -> Blocks {
    x.as_mut_slice().iter_mut().zip(y.as_slice()).for_each(|(x, y)| *x ^= y);
    x
}

/// Step 1: returns H(K(x)), and the message to the peer whose keys these are.
fn garbled(
    (keys, len): (&Blocks, usize),
    delta: u128,
    c: impl Fn(usize) -> u128,
    hashing: impl Fn(usize) -> Tccr,
) -> (Blocks, Vector) {
    let mut of_zero = first(keys, len);
    if of_zero.is_shape() {
        return (of_zero, Vector::shape(BLOCK, len));
    }
    let mut garbled = Vector::zeros(BLOCK, len);
    let mut next = garbled.bytes_mut().as_chunks_mut::<BLOCK_BYTES>().0.iter_mut();
    let mut of_one = Zeroizing::new([0; SEGMENT]);
    for (part, zero) in of_zero.as_mut_slice().chunks_mut(SEGMENT).enumerate() {
        let (hash, of_one) = (hashing(part), &mut of_one[..zero.len()]);
        of_one.iter_mut().zip(&*zero).for_each(|(one, key)| *one = key ^ delta);
        hash.hash_run(zero, 0);
        hash.hash_run(of_one, 0);
        for ((i, (zero, one)), garbled) in (part * SEGMENT..).zip(zero.iter().zip(&*of_one)).zip(&mut next) {
            *garbled = (zero ^ one ^ c(i)).to_ne_bytes();
        }
    }
    (of_zero, garbled)
}

/// Step 2, with one peer: returns H(K(x)) + H(M(x)) + x (message of the peer + c) + more, where `own` gives c and more.
fn evaluated(
    (x, peer): (&MacBits, usize),
    told: &Vector,
    of_zero: &Blocks,
    hashing: impl Fn(usize) -> Tccr,
    own: impl Fn(usize) -> (u128, u128),
) -> Blocks {
    let mut sum = first(&x.peers[peer].macs, of_zero.len());
    let others = told.wide_words();
    for (part, sum) in sum.as_mut_slice().chunks_mut(SEGMENT).enumerate() {
        hashing(part).hash_run(sum, 0);
        for (i, sum) in (part * SEGMENT..).zip(sum) {
            let (c, more) = own(i);
            *sum ^= of_zero.as_slice()[i] ^ more ^ (others[i] ^ c) & word(x, i);
        }
    }
    sum
}

/// Returns the first blocks, or their shape.
fn first(blocks: &Blocks, len: usize) -> Blocks {
    if blocks.is_shape() { Blocks::shape(len) } else { Blocks::new(blocks.as_slice()[..len].to_vec()) }
}

/// Returns all ones if bit i is one, and 0 otherwise.
fn word(x: &MacBits, i: usize) -> u128 {
    Masks::new().block(x.own.words_of(0)[i / 64], i % 64)
}

/// Returns x D + K(x) + M(x) for bit i.
fn lifted(x: &MacBits, i: usize, delta: u128) -> u128 {
    let with_peers = x.peers.iter().fold(0, |sum, peer| sum ^ peer.keys.as_slice()[i] ^ peer.macs.as_slice()[i]);
    with_peers ^ word(x, i) & delta
}
