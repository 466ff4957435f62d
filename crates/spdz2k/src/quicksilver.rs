//! Sums of numbers that one party knows: a proof that bits with MACs add up to public ones.
//!
//! **Source**: QuickSilver (Yang, Sarkar, Weng, Wang 2021, ePrint 2021/076), over GF(2^128), with MACs of bits as its
//! correlations. **Deviation**: nothing is committed to for an AND, since the sums are public: their bits give the
//! carries. **Model**: malicious, all but one. **Notation**: x and y the numbers of owner P_i, of w bits; c their
//! public sum modulo 2^w; P_i has M of each of its bits b towards P_j, and P_j K = M + b D, D its Delta.
//!
//! The carry into bit j is x_j + y_j + c_j. So c is the sum if
//!
//! - x_0 + y_0 + c_0 = 0,
//! - p_j q_j = z_j for all j < w - 1, with p_j = x_j + y_j, q_j = y_j + c_j, z_j = x_j + x_(j+1) + y_(j+1) + c_(j+1).
//!
//! Of p, q, z both have M and K as of single bits: a public c_j counts at P_j, as c_j D. Let u* be 128 random bits for
//! each peer as an element of GF(2^128), with M* and K*.
//!
//! | step | rounds | what |
//! |---|---|---|
//! | 1 | 2 | toss chi in GF(2^128) for each relation |
//! | 2 | 1 | P_i tells each P_j A0 = sum chi M_p M_q + M*, A1 = sum chi (M_z + p M_q + q M_p) + sum chi M_0 + u* |
//! | 3 | | P_j: sum chi (K_p K_q + D K_z) + D sum chi K_0 + K* = A0 + D A1, or the run ends |
//!
//! M_0 and K_0 are of x_0 + y_0 + c_0. 32 bytes to each peer, whatever is proven.

use quorate_crypto::{ct_eq, gf128};
use quorate_engine::{Ctx, Error, Result};
use quorate_ring::{Bits, meter};
#[cfg(feature = "testing")]
use quorate_ring::{Ring, Vector};
use zeroize::Zeroizing;

use crate::coins::Coins;
use crate::keys::Keys;
use crate::macs::MacBits;
#[cfg(feature = "testing")]
use crate::twists::Twist;
use crate::weights::doubled;

const SUMS: &str = "the proof of what a party's numbers add up to";
const BLOCK_BYTES: usize = 16;
/// Random bits that mask a proof towards one peer.
pub(crate) const MASK: usize = 128;
/// Bytes that are read and written for each relation, about, with each peer in each direction.
const STREAMED: usize = 16 * 20;

/// What every party proves of its own numbers: bits in rows, the lowest first, a number in each lane.
pub(crate) struct Claim<'b> {
    pub x: &'b MacBits,
    pub y: &'b MacBits,
    /// By owner, what both add up to.
    pub sums: &'b [Bits],
    /// Random bits, used once, `MASK` for each of a party's peers: in one row.
    pub masks: &'b MacBits,
}

/// What an owner tells a peer: A0 and A1.
#[derive(Clone, Copy)]
struct Proof {
    constant: u128,
    linear: u128,
}

impl Keys {
    /// All steps.
    ///
    /// # Errors
    /// [`Error::Cheating`] where numbers of a peer add up to something else; whatever ends a run.
    pub(crate) async fn check_sums(&self, ctx: &Ctx, claim: &Claim<'_>) -> Result<()> {
        let peers = self.peers();
        let chi = Coins::toss(ctx, &self.session).await?.blocks(claim.x.len());
        meter::stream(2 * STREAMED * claim.x.len() * peers.len());
        let proof = |i: usize| match &chi {
            Some(chi) => self.said(claim.proof((self.me, i), chi)).to_bytes(),
            None => [0; 2 * BLOCK_BYTES],
        };
        let own: Vec<_> = (0..peers.len()).map(proof).collect();
        let outgoing: Vec<_> = peers.iter().zip(&own).map(|(&peer, own)| (peer, &own[..])).collect();
        let incoming: Vec<_> = peers.iter().map(|&peer| (peer, 2 * BLOCK_BYTES)).collect();
        let told = ctx.exchange_bytes(&outgoing, &incoming).await?;
        let Some(chi) = chi else { return Ok(()) };
        let mut holds = true;
        for (i, (&peer, told)) in peers.iter().zip(&told).enumerate() {
            let Proof { constant, linear } = Proof::from_bytes(told);
            // The owner counts its peers without itself.
            let mask = self.me - usize::from(self.me > peer);
            let expected = claim.expected((peer, i), mask, (&chi, *self.delta));
            let told = constant ^ gf128::mul(linear, *self.delta);
            holds &= ct_eq(&expected.to_le_bytes(), &told.to_le_bytes());
        }
        match holds {
            true => Ok(()),
            false => Err(Error::Cheating { check: SUMS }),
        }
    }

    /// What is told: the proof, but for a cheater in a test.
    fn said(&self, proof: Proof) -> Proof {
        #[cfg(feature = "testing")]
        {
            let both = Vector::from_u128s(Ring::of(128), &[proof.constant, proof.linear]);
            let both = self.twisted(Twist::Proof, &both).to_u128s();
            Proof { constant: both[0], linear: both[1] }
        }
        #[cfg(not(feature = "testing"))]
        proof
    }
}

impl Proof {
    fn to_bytes(self) -> [u8; 2 * BLOCK_BYTES] {
        let mut bytes = [0; 2 * BLOCK_BYTES];
        bytes[..BLOCK_BYTES].copy_from_slice(&self.constant.to_le_bytes());
        bytes[BLOCK_BYTES..].copy_from_slice(&self.linear.to_le_bytes());
        bytes
    }

    /// Of so many bytes as there are.
    fn from_bytes(bytes: &[u8]) -> Proof {
        let word =
            |at: usize| bytes[at..at + BLOCK_BYTES].iter().rev().fold(0, |word, &byte| word << 8 | u128::from(byte));
        Proof { constant: word(0), linear: word(BLOCK_BYTES) }
    }
}

impl Claim<'_> {
    /// Step 2, towards the peer of this number.
    fn proof(&self, (me, peer): (usize, usize), chi: &[u128]) -> Proof {
        let (rows, lanes) = self.x.shape();
        let [x, y, masks] = [self.x, self.y, self.masks].map(|bits| bits.peers[peer].macs.as_slice());
        let [x, y] = [x, y].map(|all| move |row: usize| &all[row * lanes..(row + 1) * lanes]);
        let words = self.masks.own.words_of(0);
        let mut proof = Proof {
            constant: combined(&masks[peer * MASK..(peer + 1) * MASK]),
            linear: u128::from(words[2 * peer]) | u128::from(words[2 * peer + 1]) << 64,
        };
        let mut weights = chi.chunks(lanes.max(1));
        let mut next = || weights.next().unwrap_or_default();
        proof.linear ^= gf128::inner_product(next(), &sum([x(0), y(0)]));
        for j in 1..rows {
            let (weights, j) = (next(), j - 1);
            let (mut p, q, mut z) = (sum([x(j), y(j)]), y(j), sum([x(j), x(j + 1), y(j + 1)]));
            let y_bits = self.y.own.words_of(j);
            add_where(&mut z, &xor(self.x.own.words_of(j), y_bits), |i| q[i]);
            add_where(&mut z, &xor(y_bits, self.sums[me].words_of(j)), |i| p[i]);
            proof.linear ^= gf128::inner_product(weights, &z);
            gf128::mul_assign(&mut p, weights);
            proof.constant ^= gf128::inner_product(&p, q);
        }
        proof
    }

    /// Step 3, the left side, of the owner that is the peer of this number, with its mask of this number.
    fn expected(&self, (owner, peer): (usize, usize), mask: usize, (chi, delta): (&[u128], u128)) -> u128 {
        let (rows, lanes) = self.x.shape();
        let [x, y, masks] = [self.x, self.y, self.masks].map(|bits| bits.peers[peer].keys.as_slice());
        let [x, y] = [x, y].map(|all| move |row: usize| &all[row * lanes..(row + 1) * lanes]);
        let public = |keys: &mut [u128], row: usize| add_where(keys, self.sums[owner].words_of(row), |_| delta);
        let mut weights = chi.chunks(lanes.max(1));
        let mut next = || weights.next().unwrap_or_default();
        let (mut products, mut first) = (combined(&masks[mask * MASK..(mask + 1) * MASK]), sum([x(0), y(0)]));
        public(&mut first, 0);
        let mut times_delta = gf128::inner_product(next(), &first);
        for j in 1..rows {
            let (weights, j) = (next(), j - 1);
            let (mut p, mut q, mut z) = (sum([x(j), y(j)]), sum([y(j)]), sum([x(j), x(j + 1), y(j + 1)]));
            public(&mut q, j);
            public(&mut z, j + 1);
            times_delta ^= gf128::inner_product(weights, &z);
            gf128::mul_assign(&mut p, weights);
            products ^= gf128::inner_product(&p, &q);
        }
        products ^ gf128::mul(times_delta, delta)
    }
}

/// The sum of z^i times block i.
fn combined(blocks: &[u128]) -> u128 {
    blocks.iter().rev().fold(0, |sum, block| doubled(sum) ^ block)
}

/// Blocks added up, one by one.
fn sum<const N: usize>(parts: [&[u128]; N]) -> Zeroizing<Vec<u128>> {
    let mut sum = Zeroizing::new(parts[0].to_vec());
    for part in &parts[1..] {
        sum.iter_mut().zip(*part).for_each(|(sum, block)| *sum ^= block);
    }
    sum
}

fn xor(x: &[u64], y: &[u64]) -> Zeroizing<Vec<u64>> {
    Zeroizing::new(x.iter().zip(y).map(|(x, y)| x ^ y).collect())
}

/// Adds blocks where bits are set.
fn add_where(into: &mut [u128], bits: &[u64], blocks: impl Fn(usize) -> u128) {
    for (i, into) in into.iter_mut().enumerate() {
        *into ^= blocks(i) & 0u128.wrapping_sub((bits[i / 64] >> (i % 64) & 1).into());
    }
}

#[cfg(test)]
mod tests {
    use quorate_crypto::{Prg, Seed};
    use quorate_ot::Blocks;
    use quorate_ring::{Ring, Vector, Wiped};

    use super::*;
    use crate::macs::WithPeer;

    const PARTIES: usize = 3;
    const DELTAS: [u128; PARTIES] = [0x1234_5678_9abc_def1 << 60 | 1, u128::MAX << 1, 0xfeed_0000_1111 << 80 | 2];

    fn block(coins: &mut Prg) -> u128 {
        u128::from(coins.next_u64()) << 64 | u128::from(coins.next_u64())
    }

    /// Where a party keeps what it has with a peer.
    fn place(party: usize, peer: usize) -> usize {
        peer - usize::from(peer > party)
    }

    /// Every party's part of random bits, with right MACs.
    fn random(coins: &mut Prg, (rows, lanes): (usize, usize)) -> Vec<MacBits> {
        let len = rows * lanes;
        let own: Vec<Vec<bool>> = (0..PARTIES).map(|_| (0..len).map(|_| coins.next_u64() & 1 == 1).collect()).collect();
        let nothing = WithPeer { macs: Blocks::new(vec![0; len]), keys: Blocks::new(vec![0; len]) };
        let part = |own: &Vec<bool>| MacBits {
            own: Wiped(Bits::from_bools(rows, lanes, own)),
            peers: vec![nothing.clone(); PARTIES - 1],
        };
        let mut parts: Vec<MacBits> = own.iter().map(part).collect();
        for party in 0..PARTIES {
            for peer in (0..PARTIES).filter(|peer| *peer != party) {
                let keys: Vec<u128> = (0..len).map(|_| block(coins)).collect();
                let mac = |(key, bit): (&u128, &bool)| key ^ if *bit { DELTAS[peer] } else { 0 };
                let macs = keys.iter().zip(&own[party]).map(mac).collect();
                parts[party].peers[place(party, peer)].macs = Blocks::new(macs);
                parts[peer].peers[place(peer, party)].keys = Blocks::new(keys);
            }
        }
        parts
    }

    /// Numbers of all parties, what they add up to, and coins.
    struct Case {
        x: Vec<MacBits>,
        y: Vec<MacBits>,
        masks: Vec<MacBits>,
        sums: Vec<Bits>,
        chi: Vec<u128>,
    }

    impl Case {
        fn new(coins: &mut Prg, (rows, lanes): (usize, usize)) -> Case {
            let [x, y] = [0, 1].map(|_| random(coins, (rows, lanes)));
            let masks = random(coins, (1, MASK * (PARTIES - 1)));
            let number = |bits: &MacBits| bits.own.to_vector(Ring::of(rows as u32));
            let sum = |(x, y): (&MacBits, &MacBits)| {
                let mut sum: Vector = number(x);
                sum.add_assign(&number(y));
                sum.to_bits(0..rows as u32)
            };
            let sums = x.iter().zip(&y).map(sum).collect();
            Case { x, y, masks, sums, chi: (0..rows * lanes).map(|_| block(coins)).collect() }
        }

        fn claim(&self, party: usize) -> Claim<'_> {
            Claim { x: &self.x[party], y: &self.y[party], sums: &self.sums, masks: &self.masks[party] }
        }

        fn proof(&self, owner: usize, peer: usize) -> Proof {
            self.claim(owner).proof((owner, place(owner, peer)), &self.chi)
        }

        fn holds(&self, owner: usize, peer: usize) -> bool {
            let Proof { constant, linear } = Proof::from_bytes(&self.proof(owner, peer).to_bytes());
            let keys = (&self.chi[..], DELTAS[peer]);
            let expected = self.claim(peer).expected((owner, place(peer, owner)), place(owner, peer), keys);
            expected == constant ^ gf128::mul(linear, DELTAS[peer])
        }
    }

    fn pairs() -> impl Iterator<Item = (usize, usize)> {
        (0..PARTIES).flat_map(|owner| (0..PARTIES).map(move |peer| (owner, peer))).filter(|(owner, peer)| owner != peer)
    }

    /// Right sums are proven; one that is off in any bit is not, at any peer.
    #[test]
    fn proofs_hold_for_sums_alone() {
        let mut coins = Seed::from_bytes([3; 32]).prg("quorate/spdz2k/quicksilver/test", b"");
        for (rows, lanes) in [(1, 3), (2, 1), (5, 67), (64, 2)] {
            let mut case = Case::new(&mut coins, (rows, lanes));
            assert!(pairs().all(|(owner, peer)| case.holds(owner, peer)), "{rows} bits");
            for row in 0..rows {
                case.sums
                    .iter_mut()
                    .for_each(|sums| sums.words_of_mut(row)[(lanes - 1) / 64] ^= 1 << ((lanes - 1) % 64));
                assert!(pairs().all(|(owner, peer)| !case.holds(owner, peer)), "bit {row} of {rows}");
                case.sums
                    .iter_mut()
                    .for_each(|sums| sums.words_of_mut(row)[(lanes - 1) / 64] ^= 1 << ((lanes - 1) % 64));
            }
        }
    }

    /// Every peer is told A1 below its own random bits.
    #[test]
    fn every_peer_has_a_mask_of_its_own() {
        let mut coins = Seed::from_bytes([4; 32]).prg("quorate/spdz2k/quicksilver/test", b"");
        let mut case = Case::new(&mut coins, (4, 5));
        for bit in [0, 63, 64, 127] {
            let before = [1, 2].map(|peer| case.proof(0, peer).linear);
            case.masks[0].own.words_of_mut(0)[(MASK + bit) / 64] ^= 1 << (bit % 64);
            let after = [1, 2].map(|peer| case.proof(0, peer).linear);
            assert_eq!([before[0] ^ after[0], before[1] ^ after[1]], [0, 1 << bit]);
        }
    }
}
