//! Sums of numbers that one party knows: a proof that bits with MACs add up to public bits.
//!
//! **Source**: QuickSilver (Yang, Sarkar, Weng, Wang 2021, ePrint 2021/076), over GF(2^128), with MACs of bits as its
//! correlations. **Deviation**: an AND takes no commitment, since the sums are public and their bits give the carries.
//! **Model**: malicious, all but one. **Notation**: x and y the numbers of owner P_i, of w bits; c their
//! public sum modulo 2^w; P_i has M of each of its bits b towards P_j, and P_j K = M + b D, D its Delta.
//!
//! The carry into bit j is x_j + y_j + c_j. So c is the sum if
//!
//! - x_0 + y_0 + c_0 = 0,
//! - p_j q_j = z_j for all j < w - 1, with p_j = x_j + y_j, q_j = y_j + c_j, z_j = x_j + x_(j+1) + y_(j+1) + c_(j+1).
//!
//! p, q and z have M and K as single bits do; a public c_j enters at P_j, as c_j D. Let u* be 128 random bits for each
//! peer as an element of GF(2^128), with M* and K*.
//!
//! | step | rounds | what |
//! |---|---|---|
//! | 1 | 2 | toss chi in GF(2^128) for each relation |
//! | 2 | 1 | P_i sends each P_j A0 = sum chi M_p M_q + M*, A1 = sum chi (M_z + p M_q + q M_p) + sum chi M_0 + u* |
//! | 3 | | P_j: sum chi (K_p K_q + D K_z) + D sum chi K_0 + K* = A0 + D A1, or the run ends |
//!
//! M_0 and K_0 belong to x_0 + y_0 + c_0. The proof takes 32 bytes to each peer, whatever its size.

use quorate_adversary::Twist;
use quorate_authenticated::keys::Keys;
use quorate_authenticated::macs::MacBits;
use quorate_authenticated::weights::doubled;
use quorate_crypto::{ct_eq, gf128};
use quorate_engine::{Ctx, Error, Result};
use quorate_ring::chosen::Masks;
use quorate_ring::{Bits, meter};
use zeroize::Zeroizing;

use crate::coins::Coins;

const SUMS: &str = "the proof of what a party's numbers add up to";
const BLOCK_BYTES: usize = 16;
/// The number of random bits that mask a proof towards one peer.
pub(crate) const MASK: usize = 128;
/// The approximate number of bytes that are read and written for each relation, with each peer in each direction.
const STREAMED: usize = 16 * 20;

/// The claim that every party proves of its own numbers: bits in rows, the lowest first, a number in each lane.
pub(crate) struct SumClaim<'b> {
    pub x: &'b MacBits,
    /// The other summands: as many numbers as x has, or a multiple of that; x is added to each piece of that length.
    pub y: &'b MacBits,
    /// The sums of both by owner, in the lanes of y.
    pub sums: &'b [Bits],
    /// Random bits, used once, `MASK` for each of a party's peers: in one row.
    pub masks: &'b MacBits,
}

/// The message of an owner to a peer: A0 and A1.
#[derive(Clone, Copy)]
struct Proof {
    constant: u128,
    linear: u128,
}

impl Proof {
    fn to_bytes(self) -> [u8; 2 * BLOCK_BYTES] {
        let mut bytes = [0; 2 * BLOCK_BYTES];
        bytes[..BLOCK_BYTES].copy_from_slice(&self.constant.to_le_bytes());
        bytes[BLOCK_BYTES..].copy_from_slice(&self.linear.to_le_bytes());
        bytes
    }

    /// Reads a proof of the right length.
    fn from_bytes(bytes: &[u8]) -> Proof {
        let word =
            |at: usize| bytes[at..at + BLOCK_BYTES].iter().rev().fold(0, |word, &byte| word << 8 | u128::from(byte));
        Proof { constant: word(0), linear: word(BLOCK_BYTES) }
    }
}

/// The left side of step 3: the part that counts once, and the part that is multiplied by D.
#[derive(Default)]
struct Side {
    products: u128,
    times_delta: u128,
}

/// MACs or keys of x, and of a piece of y that has as many numbers as x.
struct Piece<'b> {
    /// For x and for y: all rows, and the number of lanes of a row.
    of: [(&'b [u128], usize); 2],
    /// The start of the piece in a row of y.
    start: usize,
}

impl<'b> Piece<'b> {
    fn x(&self, row: usize) -> &'b [u128] {
        let (x, lanes) = self.of[0];
        &x[row * lanes..(row + 1) * lanes]
    }

    fn y(&self, row: usize) -> &'b [u128] {
        let ((_, numbers), (y, lanes)) = (self.of[0], self.of[1]);
        &y[row * lanes + self.start..][..numbers]
    }

    /// Returns p, q and z of relation j, without their public parts.
    fn of_relation(&self, j: usize) -> [Zeroizing<Vec<u128>>; 3] {
        let (x, y) = (self.x(j), self.y(j));
        [sum([x, y]), sum([y]), sum([x, self.x(j + 1), self.y(j + 1)])]
    }
}

impl SumClaim<'_> {
    /// Runs all steps.
    ///
    /// # Errors
    /// [`Error::Cheating`] where numbers of a peer have another sum; any error that ends a run.
    pub async fn check(&self, ctx: &Ctx, keys: &Keys) -> Result<()> {
        let peers = keys.peers();
        let mut coins = Coins::toss(ctx, &keys.session).await?;
        meter::stream(2 * STREAMED * self.y.len() * peers.len());
        let (proofs, expected) = if ctx.is_dry() { Default::default() } else { self.both_sides(keys, &mut coins) };
        let said = |proof: &Proof| Proof { constant: keys.twisted(Twist::Proof, proof.constant), ..*proof };
        let message = |i: usize| proofs.get(i).map_or([0; 2 * BLOCK_BYTES], |proof| said(proof).to_bytes());
        let own: Vec<_> = (0..peers.len()).map(message).collect();
        let outgoing: Vec<_> = peers.iter().zip(&own).map(|(&peer, own)| (peer, &own[..])).collect();
        let incoming: Vec<_> = peers.iter().map(|&peer| (peer, 2 * BLOCK_BYTES)).collect();
        let told = ctx.exchange_bytes(&outgoing, &incoming).await?;
        let mut holds = true;
        for (expected, told) in expected.iter().zip(&told) {
            let Proof { constant, linear } = Proof::from_bytes(told);
            let told = constant ^ gf128::mul(linear, *keys.delta);
            holds &= ct_eq(&expected.to_le_bytes(), &told.to_le_bytes());
        }
        match holds {
            true => Ok(()),
            false => Err(Error::Cheating { check: SUMS }),
        }
    }

    /// Returns, by peer, the messages of step 2 and the left sides of step 3. Goes row by row, so coins are used at
    /// once.
    fn both_sides(&self, keys: &Keys, coins: &mut Coins) -> (Vec<Proof>, Vec<u128>) {
        let peers = keys.peers();
        let mut proofs: Vec<Proof> = (0..peers.len()).map(|peer| self.mask(peer)).collect();
        // The owner counts its peers without itself.
        let side = |(peer, &owner): (usize, &usize)| self.mask_of(peer, keys.me - usize::from(keys.me > owner));
        let mut sides: Vec<Side> = peers.iter().enumerate().map(side).collect();
        for row in 0..self.x.shape().0 {
            let chi = coins.blocks(self.y.shape().1).unwrap_or_default();
            for (peer, &owner) in peers.iter().enumerate() {
                self.prove_row(&mut proofs[peer], (keys.me, peer), (row, &chi));
                self.expect_row(&mut sides[peer], (owner, peer), (row, &chi), *keys.delta);
            }
        }
        (proofs, sides.iter().map(|side| side.products ^ gf128::mul(side.times_delta, *keys.delta)).collect())
    }

    /// Returns the start of a proof towards the peer of this number: the mask.
    fn mask(&self, peer: usize) -> Proof {
        let (macs, words) = (self.masks.peers[peer].macs.as_slice(), self.masks.own.words_of(0));
        Proof {
            constant: combined(&macs[peer * MASK..(peer + 1) * MASK]),
            linear: u128::from(words[2 * peer]) | u128::from(words[2 * peer + 1]) << 64,
        }
    }

    /// Returns the start of the left side for the owner that is the peer of this number: its mask `mask`.
    fn mask_of(&self, peer: usize, mask: usize) -> Side {
        let keys = self.masks.peers[peer].keys.as_slice();
        Side { products: combined(&keys[mask * MASK..(mask + 1) * MASK]), times_delta: 0 }
    }

    fn pieces<'b>(&self, x: &'b [u128], y: &'b [u128]) -> impl Iterator<Item = Piece<'b>> {
        let [numbers, lanes] = [self.x, self.y].map(|bits| bits.shape().1);
        (0..lanes).step_by(numbers.max(1)).map(move |start| Piece { of: [(x, numbers), (y, lanes)], start })
    }

    /// Step 2: adds a row to the proof towards the peer of this number. The first row has the linear relation, others
    /// have relations of degree 2.
    fn prove_row(&self, proof: &mut Proof, (me, peer): (usize, usize), (row, chi): (usize, &[u128])) {
        let [x, y] = [self.x, self.y].map(|bits| bits.peers[peer].macs.as_slice());
        for (piece, chi) in self.pieces(x, y).zip(chi.chunks(self.x.shape().1.max(1))) {
            let Some(j) = row.checked_sub(1) else {
                proof.linear ^= gf128::inner_product(chi, &sum([piece.x(0), piece.y(0)]));
                continue;
            };
            let [mut p, q, mut z] = piece.of_relation(j);
            let x_bit = bit_of(self.x.own.words_of(j), 0);
            let [y_bit, sum_bit] = [&*self.y.own, &self.sums[me]].map(|bits| bit_of(bits.words_of(j), piece.start));
            add_where(&mut z, |i| x_bit(i) ^ y_bit(i), |i| q[i]);
            add_where(&mut z, |i| y_bit(i) ^ sum_bit(i), |i| p[i]);
            proof.linear ^= gf128::inner_product(chi, &z);
            gf128::mul_assign(&mut p, chi);
            proof.constant ^= gf128::inner_product(&p, &q);
        }
    }

    /// Step 3: adds a row to the left side for the owner that is the peer of this number.
    fn expect_row(&self, side: &mut Side, (owner, peer): (usize, usize), (row, chi): (usize, &[u128]), delta: u128) {
        let [x, y] = [self.x, self.y].map(|bits| bits.peers[peer].keys.as_slice());
        for (piece, chi) in self.pieces(x, y).zip(chi.chunks(self.x.shape().1.max(1))) {
            let public = |keys: &mut [u128], row: usize| {
                add_where(keys, bit_of(self.sums[owner].words_of(row), piece.start), |_| delta);
            };
            let Some(j) = row.checked_sub(1) else {
                let mut first = sum([piece.x(0), piece.y(0)]);
                public(&mut first, 0);
                side.times_delta ^= gf128::inner_product(chi, &first);
                continue;
            };
            let [mut p, mut q, mut z] = piece.of_relation(j);
            public(&mut q, j);
            public(&mut z, j + 1);
            side.times_delta ^= gf128::inner_product(chi, &z);
            gf128::mul_assign(&mut p, chi);
            side.products ^= gf128::inner_product(&p, &q);
        }
    }
}

/// Returns the sum of z^i times block i.
fn combined(blocks: &[u128]) -> u128 {
    blocks.iter().rev().fold(0, |sum, block| doubled(sum) ^ block)
}

/// Returns the sums of blocks, one by one.
fn sum<const N: usize>(parts: [&[u128]; N]) -> Zeroizing<Vec<u128>> {
    let mut sum = Zeroizing::new(parts[0].to_vec());
    for part in &parts[1..] {
        sum.iter_mut().zip(*part).for_each(|(sum, block)| *sum ^= block);
    }
    sum
}

/// Returns a function that gives the bits from `start` on as 0 or 1.
fn bit_of(words: &[u64], start: usize) -> impl Fn(usize) -> u64 + '_ {
    move |i| words[(start + i) / 64] >> ((start + i) % 64) & 1
}

/// Adds blocks where bits are 1.
fn add_where(into: &mut [u128], bit: impl Fn(usize) -> u64, blocks: impl Fn(usize) -> u128) {
    let masks = Masks::new();
    into.iter_mut().enumerate().for_each(|(i, into)| *into ^= blocks(i) & masks.block(bit(i), 0));
}

#[cfg(test)]
mod tests {
    use quorate_crypto::{Prg, Seed};
    use quorate_engine::Linear;
    use quorate_ot::Blocks;
    use quorate_ring::{Ring, Vector, Wiped};

    use super::*;
    use quorate_authenticated::macs::WithPeer;

    const PARTIES: usize = 3;
    /// The number of pieces: numbers y for each x.
    const TIMES: usize = 3;
    const DELTAS: [u128; PARTIES] = [0x1234_5678_9abc_def1 << 60 | 1, u128::MAX << 1, 0xfeed_0000_1111 << 80 | 2];

    fn block(coins: &mut Prg) -> u128 {
        u128::from(coins.next_u64()) << 64 | u128::from(coins.next_u64())
    }

    /// The place at which a party keeps what it has with a peer.
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

    /// The numbers of all parties, their sums, and coins.
    struct Case {
        x: Vec<MacBits>,
        y: Vec<MacBits>,
        masks: Vec<MacBits>,
        sums: Vec<Bits>,
        chi: Vec<u128>,
    }

    impl Case {
        fn new(coins: &mut Prg, (rows, lanes): (usize, usize)) -> Case {
            let [x, y] = [lanes, TIMES * lanes].map(|lanes| random(coins, (rows, lanes)));
            let masks = random(coins, (1, MASK * (PARTIES - 1)));
            let number = |bits: &MacBits| bits.own.to_vector(Ring::of(rows as u32));
            let sum = |(x, y): (&MacBits, &MacBits)| {
                let mut sum: Vector = number(y);
                sum.add_assign(&Linear::Repeat(TIMES).apply(&number(x)));
                sum.to_bits(0..rows as u32)
            };
            let sums = x.iter().zip(&y).map(sum).collect();
            Case { x, y, masks, sums, chi: (0..rows * TIMES * lanes).map(|_| block(coins)).collect() }
        }

        fn claim(&self, party: usize) -> SumClaim<'_> {
            SumClaim { x: &self.x[party], y: &self.y[party], sums: &self.sums, masks: &self.masks[party] }
        }

        /// What one party finds, row by row, of a claim about an owner's numbers.
        fn by_rows<T>(
            &self,
            party: usize,
            mut found: T,
            mut add: impl FnMut(&SumClaim<'_>, &mut T, (usize, &[u128])),
        ) -> T {
            let claim = self.claim(party);
            let rows = self.chi.chunks(claim.y.shape().1).enumerate();
            rows.for_each(|row| add(&claim, &mut found, row));
            found
        }

        fn proof(&self, owner: usize, peer: usize) -> Proof {
            let peer = place(owner, peer);
            let start = self.claim(owner).mask(peer);
            self.by_rows(owner, start, |claim, proof, row| claim.prove_row(proof, (owner, peer), row))
        }

        fn holds(&self, owner: usize, peer: usize) -> bool {
            let Proof { constant, linear } = Proof::from_bytes(&self.proof(owner, peer).to_bytes());
            let (delta, of_owner) = (DELTAS[peer], place(peer, owner));
            let start = self.claim(peer).mask_of(of_owner, place(owner, peer));
            let side =
                self.by_rows(peer, start, |claim, side, row| claim.expect_row(side, (owner, of_owner), row, delta));
            side.products ^ gf128::mul(side.times_delta, delta) == constant ^ gf128::mul(linear, delta)
        }
    }

    fn pairs() -> impl Iterator<Item = (usize, usize)> {
        (0..PARTIES).flat_map(|owner| (0..PARTIES).map(move |peer| (owner, peer))).filter(|(owner, peer)| owner != peer)
    }

    /// Right sums are proven; a sum that is off in any bit is not, at any peer.
    #[test]
    fn proofs_hold_for_sums_alone() {
        let mut coins = Seed::from_bytes([3; 32]).prg("quorate/spdz2k/quicksilver/test", b"");
        for (rows, lanes) in [(1, 3), (2, 1), (5, 67), (64, 2)] {
            let mut case = Case::new(&mut coins, (rows, lanes));
            let last = TIMES * lanes - 1;
            assert!(pairs().all(|(owner, peer)| case.holds(owner, peer)), "{rows} bits");
            for row in 0..rows {
                case.sums.iter_mut().for_each(|sums| sums.words_of_mut(row)[last / 64] ^= 1 << (last % 64));
                assert!(pairs().all(|(owner, peer)| !case.holds(owner, peer)), "bit {row} of {rows}");
                case.sums.iter_mut().for_each(|sums| sums.words_of_mut(row)[last / 64] ^= 1 << (last % 64));
            }
        }
    }

    /// Every peer receives an A1 that is masked by random bits of its own.
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
