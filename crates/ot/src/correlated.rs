//! Shares of the product of a bit and an element, for many bits of one element: correlated OT over Z_2^m, m up to 256.
//!
//! **Source**: Gilboa 1999, from correlated OT; as `product`, for more than 128 bits, for bits whose weights are known
//! later, and without adding up. **Model**: that of the extension; a malicious sender may use another element for every
//! bit, which whoever relies on it has to check. **Notation**: OT (r, e) has the choice bit c of row r and element e;
//! its pads p_0, p_1 are reduced to the bits of the row.
//!
//! | step | sender | receiver |
//! |---|---|---|
//! | 1 | | chooses c, or chance does |
//! | 2 | sends y = p_0 - p_1 + b; share -p_0 | share p_c + c y |
//!
//! The shares of (r, e) add up to c b_e modulo two to the bits of row r. Rounds 2, with checks 4.

use quorate_crypto::Tccr;
use quorate_engine::{Ctx, Error, Linear, Result};
use quorate_ring::meter::{Kernel, charge};
use quorate_ring::threads::{side_by_side, threads};
use quorate_ring::{Bits, Ring, Vector, Wiped};
use zeroize::Zeroizing;

use crate::cot::charge_hashes;
use crate::roots::LOST;
use crate::setup::Ot;
use crate::source::{Choices, Receiver, Sender};

/// Elements from which on the rows of a batch go to several threads.
const THREADED: usize = 64;
/// Rows that a thread works on before they are put in order.
const ROWS_OF_A_THREAD: usize = 8;

/// Bytes of the sender's message for `len` elements and rows of so many bits.
pub fn message_bytes(rows: &[u32], len: usize) -> usize {
    rows.iter().map(|&bits| Ring::of(bits).packed_bytes(len)).sum()
}

/// A row as its sender has it: the element, by OT, and the bits that its pads are reduced to.
#[derive(Clone, Copy)]
pub struct Row<'v> {
    /// b, over a ring that is not smaller than the row's.
    pub element: &'v Vector,
    /// m.
    pub bits: u32,
}

impl Ot {
    /// Shares of c b_e for the peer's bits c; `given` where the peer decides. By row, over as many bits as it has.
    ///
    /// # Errors
    /// [`Error::Cheating`] where the peer fails the check of the extension, and whatever ends a run.
    pub async fn send_correlated(
        &self,
        ctx: &Ctx,
        b: &Vector,
        rows: &[u32],
        given: bool,
    ) -> Result<Vec<Wiped<Vector>>> {
        let rows: Vec<Row<'_>> = rows.iter().map(|&bits| Row { element: b, bits }).collect();
        let len = b.len();
        self.send_products_of_bits(ctx, (rows.len(), len), &[&rows], given).await?.pop().ok_or(LOST)
    }

    /// The same for several factors at once: the bits c of `count` rows of `len` OTs times each of them, under pads of
    /// their own from the same OTs. A factor has an element for each row, or for the first ones only. By factor, row.
    ///
    /// # Errors
    /// As [`Ot::send_correlated`].
    pub async fn send_products_of_bits(
        &self,
        ctx: &Ctx,
        (count, len): (usize, usize),
        factors: &[&[Row<'_>]],
        given: bool,
    ) -> Result<Vec<Vec<Wiped<Vector>>>> {
        let sent = self.sender.extend(ctx, count * len, given).await?;
        let (hash, delta) = (self.sending.segment(sent.instance), self.sender.delta());
        let bytes = |rows: &&[Row<'_>]| rows.iter().map(|row| Ring::of(row.bits).packed_bytes(len)).sum::<usize>();
        let mut message = Vec::with_capacity(factors.iter().map(bytes).sum());
        let mut shares = Vec::with_capacity(factors.len());
        for (factor, rows) in factors.iter().enumerate() {
            let row = |row: usize, &Row { element, bits }: &Row<'_>| {
                let ring = Ring::of(bits);
                if element.is_shape() {
                    charge_row(ring, len, 2);
                    return (vec![0; ring.packed_bytes(len)], Wiped(Vector::shape(ring, len)));
                }
                let place = Place { factor, row, rows: count, len };
                let blocks = &sent.blocks.as_slice()[row * len..(row + 1) * len];
                let mut zero = place.pads(&hash, blocks, 0, ring);
                let mut answer = place.pads(&hash, blocks, delta, ring);
                answer.rsub_assign(&zero);
                answer.add_assign(&Wiped(Linear::Reduce(ring).apply(element)));
                let mut bytes = Vec::with_capacity(ring.packed_bytes(len));
                answer.pack(&mut bytes);
                zero.neg_assign();
                (bytes, zero)
            };
            let mut by_row = Vec::with_capacity(rows.len());
            each_row(rows, sent.blocks.is_shape() || len < THREADED, row, |(bytes, share)| {
                message.extend(bytes);
                by_row.push(share);
            });
            shares.push(by_row);
        }
        ctx.exchange_bytes(&[(self.peer, &message)], &[]).await?;
        Ok(shares)
    }

    /// The same as the OTs' receiver, with the bits: one row, those of the first row's elements first.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a message of a wrong length, and whatever ends a run.
    pub async fn receive_correlated(
        &self,
        ctx: &Ctx,
        choices: Choices<'_>,
        rows: &[u32],
    ) -> Result<(Bits, Vec<Wiped<Vector>>)> {
        let (choices, mut shares) = self.receive_products_of_bits(ctx, choices, rows.len(), &[rows]).await?;
        Ok((choices, shares.pop().ok_or(LOST)?))
    }

    /// [`Ot::send_products_of_bits`] as the OTs' receiver, with the bits of `count` rows; by factor the bits of its
    /// rows.
    ///
    /// # Errors
    /// As [`Ot::receive_correlated`].
    pub async fn receive_products_of_bits(
        &self,
        ctx: &Ctx,
        choices: Choices<'_>,
        count: usize,
        factors: &[&[u32]],
    ) -> Result<(Bits, Vec<Vec<Wiped<Vector>>>)> {
        let len = choices.len() / count.max(1);
        let received = self.receiver.extend(ctx, choices).await?;
        let bytes = factors.iter().map(|rows| message_bytes(rows, len)).sum();
        let message = ctx.exchange_bytes(&[], &[(self.peer, bytes)]).await?.pop().ok_or(LOST)?;
        if message.len() != bytes {
            return Err(Error::Malformed { peer: self.peer, what: "correlated OTs of a wrong length" });
        }
        let hash = self.receiving.segment(received.instance);
        let (mut shares, mut start) = (Vec::with_capacity(factors.len()), 0);
        for (factor, rows) in factors.iter().enumerate() {
            let ends = rows.iter().scan(start, |end, &bits| {
                *end += Ring::of(bits).packed_bytes(len);
                Some(*end)
            });
            let ends: Vec<usize> = ends.collect();
            start = ends.last().copied().unwrap_or(start);
            let row = |row: usize, &bits: &u32| {
                let ring = Ring::of(bits);
                if received.blocks.is_shape() {
                    charge_row(ring, len, 1);
                    return Ok(Wiped(Vector::shape(ring, len)));
                }
                let place = Place { factor, row, rows: count, len };
                let mut share = place.pads(&hash, &received.blocks.as_slice()[row * len..(row + 1) * len], 0, ring);
                let chosen = Wiped(Wiped(received.choices.slice_lanes(row * len..(row + 1) * len)).to_vector(ring));
                let answer = &message[ends[row] - ring.packed_bytes(len)..ends[row]];
                let answer = Vector::unpack(ring, len, answer).map_err(|_| LOST)?;
                share.add_mul_assign(&answer, &chosen);
                Ok(share)
            };
            let mut by_row: Vec<Result<_>> = Vec::with_capacity(rows.len());
            each_row(rows, received.blocks.is_shape() || len < THREADED, row, |share| by_row.push(share));
            shares.push(by_row.into_iter().collect::<Result<_>>()?);
        }
        Ok((received.choices, shares))
    }
}

/// The same work for every row, whose results go to `sink` in order; on the threads of the party unless it is `little`.
fn each_row<R: Sync, T: Send>(rows: &[R], little: bool, work: impl Fn(usize, &R) -> T + Sync, mut sink: impl FnMut(T)) {
    if little || threads() == 1 {
        return rows.iter().enumerate().for_each(|(row, of)| sink(work(row, of)));
    }
    // So many at a time, so that little is held on the way.
    let most = ROWS_OF_A_THREAD * threads();
    for (part, rows) in rows.chunks(most).enumerate() {
        let mut done: Vec<Option<T>> = rows.iter().map(|_| None).collect();
        let each = done.iter_mut().zip(rows).enumerate().collect();
        side_by_side(each, |(row, (slot, of))| *slot = Some(work(part * most + row, of)));
        done.into_iter().flatten().for_each(&mut sink);
    }
}

/// Charges a dry run with the pads of a row, and with packing it.
fn charge_row(ring: Ring, len: usize, pads: usize) {
    charge_hashes(&crate::Blocks::shape(len), pads * ring.bits().div_ceil(128) as usize);
    charge(Kernel::Pack, len * ring.carrier().bytes().div_ceil(16));
}

/// A row of OTs among all rows of a batch, and which factor its pads are for.
struct Place {
    factor: usize,
    row: usize,
    rows: usize,
    len: usize,
}

impl Place {
    /// What blocks, each plus `shift`, hash to in a ring: beyond 128 bits by a second hash. Every hash of a block has
    /// a tweak of its own.
    fn pads(&self, hash: &Tccr, blocks: &[u128], shift: u128, ring: Ring) -> Wiped<Vector> {
        let half = |number: usize| {
            let mut pads: Zeroizing<Vec<u128>> = Zeroizing::new(blocks.iter().map(|block| block ^ shift).collect());
            let number = 2 * self.factor + number;
            hash.hash_run(&mut pads, ((number * self.rows + self.row) * self.len) as u128);
            pads
        };
        let low = half(0);
        if ring.bits() <= 128 {
            return Wiped(Vector::from_u128s(ring, &low));
        }
        Wiped(Vector::from_halves(ring, &low, &half(1)))
    }
}

#[cfg(test)]
mod tests {
    use quorate_engine::testing::online;
    use quorate_engine::{Phase, dry};
    use quorate_ring::threads::set_threads;

    use super::*;
    use crate::{Options, cost};

    const ROWS: [u32; 6] = [180, 179, 128, 129, 1, 64];
    /// So many that there are several tiles of OTs, and rows go to several threads.
    const LEN: usize = 1500;

    fn element(i: usize) -> [u64; 4] {
        std::array::from_fn(|limb| (i as u64 + 3).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7 * limb as u32))
    }

    /// The choices and shares of the receiver, who chooses or not; the shares of the sender.
    async fn rows(ctx: &Ctx, ot: &Ot, given: Option<&Bits>) -> Result<(Option<Bits>, Vec<Wiped<Vector>>)> {
        let b = match ctx.is_dry() {
            true => Vector::shape(Ring::of(180), LEN),
            false => Vector::from_limbs(Ring::of(180), &(0..LEN).map(element).collect::<Vec<_>>()),
        };
        if ctx.me() == 0 {
            return Ok((None, ot.send_correlated(ctx, &b, &ROWS, given.is_some()).await?));
        }
        let choices = given.map_or(Choices::Random(ROWS.len() * LEN), Choices::Given);
        let (choices, shares) = ot.receive_correlated(ctx, choices, &ROWS).await?;
        Ok((Some(choices), shares))
    }

    #[test]
    fn shares_add_up_to_the_product_of_bit_and_element() {
        let picks: Vec<bool> = (0..ROWS.len() * LEN).map(|i| i * i % 7 < 3).collect();
        let wanted = Bits::from_bools(1, picks.len(), &picks);
        for (given, threads) in [(None, 1), (Some(&wanted), 1), (None, 3), (Some(&wanted), 2)] {
            let ends = online(2, async |ctx| {
                set_threads(threads).unwrap();
                let ot = Ot::setup(ctx, 1 - ctx.me(), Options::MALICIOUS).await?;
                rows(ctx, &ot, given).await
            });
            let ends: Vec<_> = ends.into_iter().map(|end| end.unwrap()).collect();
            let (((_, sent), _), ((choices, received), costs)) = (&ends[0], &ends[1]);
            let choices = choices.as_ref().unwrap().to_bools();
            assert!(given.is_none() || choices == picks);
            for (row, &bits) in ROWS.iter().enumerate() {
                let mut sum = (*sent[row]).clone();
                sum.add_assign(&received[row]);
                let chosen: Vec<[u64; 4]> =
                    (0..LEN).map(|e| if choices[row * LEN + e] { element(e) } else { [0; 4] }).collect();
                assert_eq!(sum.to_limbs(), Vector::from_limbs(Ring::of(bits), &chosen).to_limbs(), "row {row}");
            }
            let dry = async |ctx: &Ctx| rows(ctx, &Ot::dry(1 - ctx.me(), Options::MALICIOUS), given).await;
            let predicted = dry::together(&[0, 0], Phase::Online, dry).unwrap();
            let (sent, setup) = (costs.online.sent.iter().sum::<u64>(), cost::setup(Options::MALICIOUS));
            assert_eq!(sent, predicted[1].1.online.sent.iter().sum::<u64>() + setup.by_receiver);
            assert_eq!(costs.online.rounds, predicted[1].1.online.rounds + setup.rounds);
        }
    }

    const OTHER_ROWS: [u32; 3] = [122, 130, 7];

    /// Two factors, the second one for the first rows only.
    async fn two_factors(ctx: &Ctx, ot: &Ot) -> Result<(Option<Bits>, Vec<Vec<Wiped<Vector>>>)> {
        let element = |ring: u32, start: usize| match ctx.is_dry() {
            true => Vector::shape(Ring::of(ring), LEN),
            false => Vector::from_limbs(Ring::of(ring), &(start..start + LEN).map(element).collect::<Vec<_>>()),
        };
        if ctx.me() == 0 {
            let (one, other) = (element(180, 0), element(130, 100));
            let first = ROWS.map(|bits| Row { element: &one, bits });
            let second = OTHER_ROWS.map(|bits| Row { element: &other, bits });
            return Ok((None, ot.send_products_of_bits(ctx, (ROWS.len(), LEN), &[&first, &second], false).await?));
        }
        let choices = Choices::Random(ROWS.len() * LEN);
        let (choices, shares) = ot.receive_products_of_bits(ctx, choices, ROWS.len(), &[&ROWS, &OTHER_ROWS]).await?;
        Ok((Some(choices), shares))
    }

    #[test]
    fn one_bit_chooses_the_same_of_several_factors_under_pads_of_their_own() {
        let ends = online(2, async |ctx| {
            let ot = Ot::setup(ctx, 1 - ctx.me(), Options::MALICIOUS).await?;
            two_factors(ctx, &ot).await
        });
        let ends: Vec<_> = ends.into_iter().map(|end| end.unwrap()).collect();
        let (((_, sent), _), ((choices, received), costs)) = (&ends[0], &ends[1]);
        let choices = choices.as_ref().unwrap().to_bools();
        for (factor, rows) in [&ROWS[..], &OTHER_ROWS].into_iter().enumerate() {
            for (row, &bits) in rows.iter().enumerate() {
                let mut sum = (*sent[factor][row]).clone();
                sum.add_assign(&received[factor][row]);
                let of = |e: usize| if choices[row * LEN + e] { element(100 * factor + e) } else { [0; 4] };
                let expected = Vector::from_limbs(Ring::of(bits), &(0..LEN).map(of).collect::<Vec<_>>());
                assert_eq!(sum.to_limbs(), expected.to_limbs(), "factor {factor}, row {row}");
            }
        }
        let small = Ring::of(7);
        assert_ne!(sent[0][2].convert(small).to_u64s(), sent[1][2].to_u64s(), "pads are used twice");
        let dry = async |ctx: &Ctx| two_factors(ctx, &Ot::dry(1 - ctx.me(), Options::MALICIOUS)).await;
        let predicted = dry::together(&[0, 0], Phase::Online, dry).unwrap();
        let (sent, setup) = (costs.online.sent.iter().sum::<u64>(), cost::setup(Options::MALICIOUS));
        assert_eq!(sent, predicted[1].1.online.sent.iter().sum::<u64>() + setup.by_receiver);
    }
}
