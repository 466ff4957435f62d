//! Points as keys of function secret sharing that the two parties make themselves, and the further parts of a look-up.
//!
//! **Source**: half-trees (Guo et al. 2023) that two parties make level by level, as Doerner and Shelat (CCS 2017) do
//! for other trees; `quorate-fss` has the trees. **Deviation**: one Delta for all keys of a session, the xor of those
//! of both directions' correlated transfers, so that (1 - r_i) Delta takes only a transfer with the choice bit r_i; the
//! unit vector of the lowest bits by doubling. **Model**: semi-honest, 1 of 2; `docs/security/aby.md`.
//!
//! **Notation**: r the point, of n bits. Bit i of it is r_(0,i) xor r_(1,i), and party p knows its bits: they are its
//! choices in correlated transfers from the other, each of which serves all uses of its bit. u = min(n, 9) bits make a
//! leaf, d = n - u levels. Delta = Delta_0 xor Delta_1, whose lowest bits are 0 and 1: Delta_p is the correlation of
//! the transfers that p sends, without the lowest bit for party 0. Party p's root is Delta_p xor a coin of both.
//!
//! 1. For each bit of r a correlated transfer either way. From the one in which party 0 chooses they have shares of
//!    r_(0,i) Delta_1, from the other one of r_(1,i) Delta_0; r_(p,i) Delta_p is local.
//! 2. Side by side:
//!    - for each level both send their sum of H over it, xor their share of (1 - r_i) Delta: CW_i is the xor of both;
//!    - the unit vector e of the lowest j bits is doubled for the next bit b: (e xor b e, b e). Of b e the products of
//!      one party's b and the other's share of e take 2^j bits each way, under pads of the bit's transfers;
//!    - r modulo 2^n is the sum of 2^i (r_(0,i) + r_(1,i) - 2 r_(0,i) r_(1,i)), the products modulo 2^(n-1-i).
//! 3. Both send the sums of H over the blocks of the leaves, xor their share of e: CW'.
//! 4. For a look-up: s_p, this party's share of whether w is -1, is its choice in a transfer from the other, which
//!    makes pads (kept, offset = kept - the other pad; chosen) modulo 2^(k-1). Online a message of k - 1 bits each way
//!    takes the sign off.
//!
//! | rounds | sent by each party, n > 9 |
//! |---|---|
//! | 2 + max(d, u - 1); for a look-up 1 more | 16 d + 128 bytes, 31 n + n (n - 1) / 4 bits; 32 bits more |

use quorate_additive::blank;
use quorate_additive::open::NOT_OPENED;
use quorate_additive::product::in_rows;
use quorate_engine::{Ctx, Result, Sharing};
use quorate_fss::{Growing, Roots, Shape, Side};
use quorate_ot::source::Choices;
use quorate_ot::{ReceivedCots, SentCots};
use quorate_ring::chosen::Masks;
use quorate_ring::meter::{Kernel, charge};
use quorate_ring::{Bits, Module, Ring, Vector};
use zeroize::Zeroizing;

use crate::Share;
use crate::keys::{BLOCK, shape, sign_ring};
use crate::kind::Material;
use crate::setup::Aby;
use crate::summands::lifted;

type A = Share<Vector>;
type B = Share<Bits>;

/// The uses of a bit's transfers: pads of the unit vector's first and second 128 bits, and of products modulo 2^k.
const UNIT: [u32; 2] = [0, 1];
const PRODUCT: u32 = 2;

/// The transfers for all bits of a batch of points: those of bit i start at i times `len`.
struct Transfers {
    sent: SentCots,
    received: ReceivedCots,
    len: usize,
}

impl Transfers {
    fn of_bit(&self, bit: u32) -> std::ops::Range<usize> {
        bit as usize * self.len..(bit as usize + 1) * self.len
    }
}

/// Returns the bit of each lane as a word of zeros or ones.
fn masks(bits: &Bits) -> Zeroizing<Vec<u128>> {
    let words = bits.words_of(0);
    let masks = Masks::new();
    Zeroizing::new((0..bits.lanes()).map(|k| masks.block(words[k / 64], k % 64)).collect())
}

/// Xors words with others.
fn xored(words: &mut [u128], others: &[u128]) {
    words.iter_mut().zip(others).for_each(|(word, other)| *word ^= other);
}

impl Aby {
    /// Returns this party's part of Delta in trees; the lowest bits of both parties' parts are 0 and 1.
    fn tree_delta(&self) -> Zeroizing<u128> {
        Zeroizing::new(self.of_sender(self.me, self.ot.delta()))
    }

    /// Returns a block of transfers that a party sends, as one under its part of Delta.
    fn of_sender(&self, sender: usize, block: u128) -> u128 {
        if sender == 0 { block & !1 } else { block }
    }

    /// Makes `len` points; with `bits`, also the further parts of look-ups over Z_2^bits.
    pub(crate) async fn make_points(&self, ctx: &Ctx, n: u32, bits: Option<u32>, len: usize) -> Result<Material> {
        let shape = shape(n)?;
        let all = n as usize * len;
        let (sent, received) = self
            .ot
            .both(
                ctx,
                async |ctx: Ctx| self.ot.send_cots_for_uses(&ctx, all, false).await,
                async |ctx: Ctx| self.ot.receive_cots_for_uses(&ctx, Choices::Random(all)).await,
            )
            .await?;
        let transfers = Transfers { sent, received, len };
        let r = in_rows(&Share::of(transfers.received.choices().clone()), n as usize, len);
        let coins: A = Share::of(ctx.randomness().stream(&self.pair).draw((BLOCK, len)));
        let delta = self.tree_delta();
        let roots = coins.map(|coins| match ctx.is_dry() {
            true => coins.clone(),
            false => {
                let roots = coins.wide_words().iter().map(|coin| coin ^ *delta);
                Vector::from_u128s(BLOCK, &Zeroizing::new(roots.collect::<Vec<u128>>()))
            }
        });
        let (growing, (unit, place)) = ctx
            .join(
                async |ctx: Ctx| self.grow_levels(&ctx, shape, &transfers, (&roots, &r)).await,
                async |ctx: Ctx| {
                    ctx.join(
                        async |ctx: Ctx| self.double_units(&ctx, shape, &transfers, &r).await,
                        async |ctx: Ctx| self.add_bits(&ctx, &transfers, &r).await,
                    )
                    .await
                },
            )
            .await?;
        drop(transfers);
        let (corrections, signs) = self.finish_leaves(ctx, shape, growing, &unit).await?;
        let mut made = Material::of_vectors(vec![place, roots, corrections]);
        if let Some(bits) = bits {
            made.vectors.extend(self.make_sign_pads(ctx, &signs, sign_ring(bits)).await?);
            made.bits.push(signs);
        }
        Ok(made)
    }

    /// Grows the trees with the corrections of all levels; `None` in a dry run.
    async fn grow_levels(
        &self,
        ctx: &Ctx,
        shape: Shape,
        transfers: &Transfers,
        (roots, r): (&A, &B),
    ) -> Result<Option<Growing>> {
        let (delta, side) = (self.tree_delta(), self.side());
        let mut growing = (!ctx.is_dry()).then(|| Growing::new(shape, Roots::new(side, roots.wide_words().to_vec())));
        for level in 0..shape.levels() {
            let bit = shape.bits() - 1 - level as u32;
            let mut own = blank::<Vector>(ctx.is_dry(), (BLOCK, transfers.len));
            if let Some(growing) = &mut growing {
                let mut sums = Zeroizing::new(growing.level_sums(self.trees.own()));
                let range = transfers.of_bit(bit);
                let (sent, received) = (transfers.sent.blocks(), transfers.received.blocks());
                let blocks = sent.as_slice()[range.clone()].iter().zip(&received.as_slice()[range]);
                let chosen = masks(&r.map(|r| r.row(bit as usize)));
                for ((sum, (sent, received)), chosen) in sums.iter_mut().zip(blocks).zip(chosen.iter()) {
                    *sum ^= self.of_sender(self.me, *sent) ^ self.of_sender(self.peer(), *received) ^ *delta & !chosen;
                }
                own = Vector::from_u128s(BLOCK, &sums);
            } else {
                charge(Kernel::Draw, (16 * transfers.len) << level);
            }
            let corrections = self.open_xor(ctx, own).await?;
            if let Some(growing) = &mut growing {
                growing.correct(self.trees.own(), &corrections);
            }
        }
        Ok(growing)
    }

    /// Returns the xor of both parties' words.
    async fn open_xor(&self, ctx: &Ctx, own: Vector) -> Result<Vec<u128>> {
        let theirs = self.pass_both(ctx, &own).await?;
        if ctx.is_dry() {
            return Ok(Vec::new());
        }
        let mut words = own.to_u128s();
        xored(&mut words, &theirs.to_u128s());
        Ok(words)
    }

    /// Exchanges vectors of one shape, and returns the peer's.
    async fn pass_both(&self, ctx: &Ctx, own: &Vector) -> Result<Vector> {
        let received = ctx.exchange(&[(self.peer(), own)], &[(self.peer(), own.shape_of())]).await?;
        received.into_iter().next().ok_or(NOT_OPENED)
    }

    /// Returns xor shares of the unit vectors of the leaf's bits, 128 of them in a vector.
    async fn double_units(&self, ctx: &Ctx, shape: Shape, transfers: &Transfers, r: &B) -> Result<Units> {
        let mut units = Units::of_bit(self.me, r, shape.blocks(), ctx.is_dry());
        for bit in 1..shape.leaf_bits().trailing_zeros() {
            let ring = Ring::of(1 << bit);
            let words = ring.bits().div_ceil(128) as usize;
            let range = transfers.of_bit(bit);
            let pads = |number: &u32| transfers.sent.pads(*number, range.clone());
            let sent: Vec<[quorate_ot::Blocks; 2]> = UNIT[..words].iter().map(pads).collect();
            let chosen: Vec<quorate_ot::Blocks> =
                UNIT[..words].iter().map(|number| transfers.received.pads(*number, range.clone())).collect();
            if ctx.is_dry() {
                self.pass_both(ctx, &Vector::shape(ring, transfers.len)).await?;
                continue;
            }
            let mut hidden = units.words[..words].to_vec();
            for (hidden, [zero, one]) in hidden.iter_mut().zip(&sent) {
                xored(hidden, zero.as_slice());
                xored(hidden, one.as_slice());
            }
            let own = to_vector(ring, &hidden);
            let theirs = Zeroizing::new(to_words(&self.pass_both(ctx, &own).await?));
            let bits = masks(&r.map(|r| r.row(bit as usize)));
            let mut products = Zeroizing::new(Vec::with_capacity(words));
            for word in 0..words {
                let mut product = units.words[word].clone();
                xored(&mut product, &theirs[word]);
                product.iter_mut().zip(bits.iter()).for_each(|(product, bit)| *product &= bit);
                xored(&mut product, sent[word][0].as_slice());
                xored(&mut product, chosen[word].as_slice());
                product.iter_mut().for_each(|product| *product &= u128::MAX >> (128 - ring.bits().min(128)));
                products.push(product);
            }
            units.double(bit, &products);
        }
        Ok(units)
    }

    /// Returns shares of the points modulo 2^n. Party 1 sends, party 0 chooses.
    async fn add_bits(&self, ctx: &Ctx, transfers: &Transfers, r: &B) -> Result<A> {
        let n = r.rows() as u32;
        let mut place = r.map(|r| r.to_vector(Ring::of(n)));
        let ring = |bit: u32| Ring::of(n - 1 - bit);
        let own = |bit: u32| r.map(|r| r.row(bit as usize).to_vector(ring(bit)));
        let mut products: Vec<A> = Vec::new();
        if self.me == 1 {
            let mut hidden = Vec::new();
            for bit in 0..n - 1 {
                let pads = transfers.sent.pads(PRODUCT, transfers.of_bit(bit));
                let [mut zero, one] = pads.map(|pads| Share::of(pads.to_vector(ring(bit))));
                hidden.push(self.add(&self.sub(&zero, &one), &own(bit)));
                zero.neg_assign();
                products.push(zero);
            }
            let outgoing: Vec<_> = hidden.iter().map(|hidden| (self.peer(), &**hidden)).collect();
            ctx.exchange(&outgoing, &[]).await?;
        } else {
            let incoming: Vec<_> = (0..n - 1).map(|bit| (self.peer(), (ring(bit), transfers.len))).collect();
            for (bit, hidden) in (0..).zip(ctx.exchange::<Vector>(&[], &incoming).await?) {
                let pads = transfers.received.pads(PRODUCT, transfers.of_bit(bit));
                let mut product = Share::of(pads.to_vector(ring(bit)));
                product.add_mul_assign(&hidden, &own(bit));
                products.push(product);
            }
        }
        for (bit, product) in (0..).zip(&products) {
            place.sub_assign(&lifted(product, Ring::of(n), bit + 1));
        }
        Ok(place)
    }

    /// Returns the corrections in blocks, and this party's shares of whether w is -1.
    async fn finish_leaves(&self, ctx: &Ctx, shape: Shape, growing: Option<Growing>, units: &Units) -> Result<(A, B)> {
        let (blocks, len) = (shape.blocks(), units.len);
        let ring = Ring::of(shape.leaf_bits().min(128) as u32);
        let Some(mut growing) = growing else {
            charge(Kernel::Draw, (16 * len * blocks) << shape.levels());
            self.open_xor(ctx, Vector::shape(ring, blocks * len)).await?;
            let corrections = Share::of(Vector::shape(BLOCK, shape.key_blocks() * len));
            return Ok((corrections, Share::of(Bits::shape(1, len))));
        };
        let mut sums = Zeroizing::new(growing.leaf_sums(self.trees.own()));
        for (key, sums) in sums.chunks_exact_mut(blocks).enumerate() {
            sums.iter_mut().zip(units.words.iter()).for_each(|(sum, words)| *sum ^= words[key]);
        }
        let corrections = self.open_xor(ctx, Vector::from_u128s(ring, &sums)).await?;
        let (corrections, mut signs) = growing.finish(&corrections);
        let signs = Share::of(std::mem::replace(&mut signs.0, Bits::zeros(1, 0)));
        Ok((Share::of(Vector::from_u128s(BLOCK, &corrections.to_blocks())), signs))
    }

    /// Makes pads of transfers in which each party's signs are its choices: this party's first pads, the first less the
    /// second ones, and those that it chose of the peer's.
    async fn make_sign_pads(&self, ctx: &Ctx, signs: &B, ring: Ring) -> Result<[A; 3]> {
        let len = signs.lanes();
        let (sent, received) = self
            .ot
            .both(
                ctx,
                async |ctx: Ctx| self.ot.send_cots_for_uses(&ctx, len, true).await,
                async |ctx: Ctx| self.ot.receive_cots_for_uses(&ctx, Choices::Given(signs)).await,
            )
            .await?;
        let [kept, other] = sent.pads(PRODUCT, 0..len).map(|pads| Share::of(pads.to_vector(ring)));
        let chosen = Share::of(received.pads(PRODUCT, 0..len).to_vector(ring));
        let offset = self.sub(&kept, &other);
        Ok([kept, offset, chosen])
    }

    /// Returns the side whose keys a party has.
    pub(crate) fn side(&self) -> Side {
        if self.me == 0 { Side::First } else { Side::Second }
    }
}

/// A party's shares of unit vectors: `words[w]` has bits 128 w to 128 w + 127 of all.
struct Units {
    words: Zeroizing<Vec<Vec<u128>>>,
    len: usize,
}

impl Units {
    /// Returns shares of the unit vectors of the lowest bit, (1 - b, b); in a dry run only their number.
    fn of_bit(me: usize, r: &B, blocks: usize, dry: bool) -> Units {
        let len = r.lanes();
        if dry {
            return Units { words: Zeroizing::new(Vec::new()), len };
        }
        let one = u128::from(me == 0);
        let mut words = vec![vec![0; len]; blocks];
        let bits = masks(&r.map(|r| r.row(0)));
        words[0].iter_mut().zip(bits.iter()).for_each(|(word, bit)| *word = bit & 3 ^ one);
        Units { words: Zeroizing::new(words), len }
    }

    /// Extends the unit vectors by one bit, from the products of these, of 2^bit bits, with it.
    fn double(&mut self, bit: u32, products: &[Vec<u128>]) {
        let (words, bits) = (products.len(), 1u32 << bit);
        for (i, product) in products.iter().enumerate() {
            xored(&mut self.words[i], product);
            match bits < 128 {
                true => self.words[0].iter_mut().zip(product).for_each(|(word, product)| *word |= product << bits),
                false => self.words[words + i].copy_from_slice(product),
            }
        }
    }
}

/// Returns words of up to 256 bits, given by halves, as elements; bits above the ring's are dropped.
fn to_vector(ring: Ring, halves: &[Vec<u128>]) -> Vector {
    match halves {
        [low, high] => Vector::from_halves(ring, low, high),
        _ => Vector::from_u128s(ring, &halves[0]),
    }
}

fn to_words(vector: &Vector) -> Vec<Vec<u128>> {
    if vector.ring().bits() <= 128 {
        return vec![vector.to_u128s()];
    }
    let limbs = Zeroizing::new(vector.to_limbs());
    let half = |at: usize| limbs.iter().map(|limbs| u128::from(limbs[at + 1]) << 64 | u128::from(limbs[at])).collect();
    vec![half(0), half(2)]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use quorate_engine::Phase;
    use quorate_engine::testing::parties;
    use quorate_fss::{Corrections, Keys, window};

    use super::*;

    const LEN: usize = 600;
    const RING: u32 = 13;

    /// Returns the look-ups of one batch at each party, and the parties.
    fn made(n: u32, len: usize) -> Vec<(Material, Aby)> {
        parties(2, |mut party| {
            let mut run = party.begin_alone().unwrap();
            let work = async |ctx: &Ctx| {
                let aby = Aby::setup(ctx).await?;
                Ok((aby.make_points(ctx, n, Some(RING), len).await?, aby))
            };
            let made = run.phase(Phase::Offline, work).unwrap();
            run.finish();
            party.leave(false);
            made
        })
    }

    /// Returns every leaf of each key of a party.
    fn leaves(n: u32, made: &Material, aby: &Aby) -> Vec<Vec<bool>> {
        let shape = shape(n).unwrap();
        let len = made.vectors[0].len();
        let corrections = Corrections::from_blocks(shape, len, made.vectors[2].wide_words()).unwrap();
        let keys = Keys::new(Roots::new(aby.side(), made.vectors[1].wide_words().to_vec()), corrections).unwrap();
        let all = window(aby.trees.own(), &keys, &vec![0; len], 1 << n);
        all.to_bools().chunks(1 << n).map(<[bool]>::to_vec).collect()
    }

    #[test]
    fn keys_differ_at_the_point_alone_and_their_sign_is_shared() {
        for n in 1..=11 {
            let both = made(n, LEN);
            assert!(both[0].0.vectors[2].wide_words() == both[1].0.vectors[2].wide_words(), "corrections, n = {n}");
            let [first, second] = [0, 1].map(|me| leaves(n, &both[me].0, &both[me].1));
            let [place, other] = [0, 1].map(|me| both[me].0.vectors[0].to_u64s());
            let signs = [0, 1].map(|me| both[me].0.bits[0].to_bools());
            let mut seen = BTreeSet::new();
            for k in 0..LEN {
                let point = (place[k] + other[k]) as usize & ((1 << n) - 1);
                let differ: Vec<usize> = (0..1 << n).filter(|&i| first[k][i] != second[k][i]).collect();
                assert_eq!(differ, [point], "n = {n}");
                assert_eq!(signs[0][k] ^ signs[1][k], !first[k][point], "the sign, n = {n}");
                seen.insert((point, first[k][point]));
            }
            assert!(n > 3 || seen.len() == 2 << n, "points and signs of {n} bits: {}", seen.len());
            assert!(seen.len() > 50.min(1 << n), "points of {n} bits");
        }
    }

    #[test]
    fn uses_of_a_transfer_have_pads_of_their_own() {
        assert_eq!(UNIT.into_iter().chain([PRODUCT]).collect::<BTreeSet<_>>().len(), 3);
    }

    /// Tests the condition of a look-up's step 3: the chosen pad is that of the sign.
    #[test]
    fn pads_are_those_of_the_signs() {
        let both = made(3, LEN);
        let pads = |me: usize| [3, 4, 5].map(|i| both[me].0.vectors[i].to_u64s());
        let all = [pads(0), pads(1)];
        for me in 0..2 {
            let ([kept, offset, _], [.., chosen]) = (&all[me], &all[1 - me]);
            for (k, sign) in both[1 - me].0.bits[0].to_bools().into_iter().enumerate() {
                let other = kept[k].wrapping_sub(offset[k]) & ((1 << (RING - 1)) - 1);
                assert_eq!(chosen[k], if sign { other } else { kept[k] });
            }
        }
    }

    /// Delta's lowest bit distinguishes the sides, and neither party knows the rest of Delta.
    #[test]
    fn roots_differ_by_what_both_parties_have_of_delta() {
        let both = made(4, LEN);
        let roots = |me: usize| {
            let (made, aby) = &both[me];
            let roots = made.vectors[1].wide_words().iter().map(|root| root & !1 | me as u128);
            (roots.collect::<Vec<u128>>(), *aby.tree_delta())
        };
        let ((first, delta), (second, other)) = (roots(0), roots(1));
        assert_eq!((delta & 1, other & 1), (0, 1), "the lowest bits of both parts");
        assert!(delta >> 64 != other >> 64, "the parts are alike");
        assert!(first.iter().zip(&second).all(|(a, b)| a ^ b == delta ^ other), "roots differ by Delta");
        assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), LEN, "a root comes twice");
    }
}
