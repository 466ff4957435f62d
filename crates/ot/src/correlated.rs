//! Correlated OT over Z_2^m, m up to 256: shares of the products of many bits with one element.
//!
//! **Source**: Gilboa 1999, from correlated OT. It differs from `product` in that it takes more than 128 bits, leaves
//! the weights of the bits open, and does not add up. **Model**: that of the extension. A malicious sender may use
//! another element for every bit; protocols that rely on it have to check this. **Notation**: OT (r, e) has the choice
//! bit c of row r and element e; its pads p_0, p_1 are reduced to the bits of the row.
//!
//! | step | sender | receiver |
//! |---|---|---|
//! | 1 | | chooses c, or chance does |
//! | 2 | sends y = p_0 - p_1 + b; share -p_0 | share p_c + c y |
//!
//! The shares of (r, e) add up to c b_e modulo 2^m, for the m bits of row r. Rounds 2, with checks 4. Many OTs are
//! extended in parts side by side, each with its check, before any y is sent. Rows are handed over as they are made.

use std::ops::Range;

use quorate_crypto::Tccr;
use quorate_engine::{Ctx, Result};
use quorate_ring::meter::{Kernel, charge};
use quorate_ring::threads::side_by_side;
use quorate_ring::{Bits, Halves, Ring, Vector, Wiped, wipe_words};

use crate::cot::charge_hashes_of;
use crate::setup::Ot;
use crate::source::{Choices, Received, Receiver, Sender, Sent};

/// OTs processed together: their pads fit a core's first cache.
const TILE: usize = 256;
/// Number of elements from which the rows of a message go to several threads.
const THREADED: usize = 64;
/// OTs extended together, unless one row has more: a part takes so little memory that it is used again.
const PART: usize = if cfg!(test) { 1 << 12 } else { 1 << 17 };
/// Bytes of a message; its rows, which may go to several threads, are sent as they are made.
const MESSAGE_BYTES: usize = if cfg!(test) { 1 << 13 } else { 1 << 20 };

/// Returns the bytes of the sender's messages for `len` elements and rows of these numbers of bits.
pub fn message_bytes(rows: &[u32], len: usize) -> usize {
    rows.iter().map(|&bits| Ring::of(bits).packed_bytes(len)).sum()
}

/// A row at its sender: the elements, one for each OT, and the bits to which its pads are reduced.
#[derive(Clone, Copy)]
pub struct Row<'v> {
    /// b, over a ring that is not smaller than the row's.
    pub element: &'v Vector,
    /// m.
    pub bits: u32,
}

impl Ot {
    /// Makes shares of c b_e for several factors b at once, as the OTs' sender; `given` if the peer decides the bits.
    /// The peer's bits c, `count` rows of `len` OTs, are multiplied by each factor, under pads of their own from the
    /// same OTs. A factor has an element for each row, or only for the first ones. `sink` gets the shares part by part,
    /// ordered by factor and then by row, each over the bits of its row.
    ///
    /// # Errors
    /// [`Error::Cheating`](quorate_engine::Error::Cheating) if the peer fails the check of the extension; whatever ends
    /// a run.
    pub async fn send_products_of_bits(
        &self,
        ctx: &Ctx,
        (count, len): (usize, usize),
        factors: &[&[Row<'_>]],
        given: bool,
        mut sink: impl FnMut([usize; 2], Wiped<Vector>),
    ) -> Result<()> {
        let parts = parts((count, len));
        let extend = async |ctx: Ctx, i: usize| self.sender.extend(&ctx, parts[i].len() * len, given).await;
        let sent = ctx.join_all(parts.len(), extend).await?;
        let bits: Vec<Vec<u32>> = factors.iter().map(|rows| rows.iter().map(|row| row.bits).collect()).collect();
        let bits: Vec<&[u32]> = bits.iter().map(|bits| &bits[..]).collect();
        for (part, Sent { blocks, instance }) in parts.iter().zip(sent) {
            let (hash, delta) = (self.sending.segment(instance), self.sender.delta());
            for message in messages(&places(&bits, part, (count, len))) {
                let mut shares = Vec::new();
                let write = |mut out: &mut [u8]| {
                    let bytes = |place: &Place| out.split_off_mut(..place.bytes()).unwrap_or_default();
                    shares = with_each_row(message, bytes, |place, out| {
                        let Row { element, .. } = factors[place.factor][place.row];
                        place.send(&hash, blocks.as_slice(), delta, element, out)
                    });
                };
                ctx.send_bytes(self.peer, message.iter().map(Place::bytes).sum(), write).await?;
                if ctx.is_dry() {
                    shares = message.iter().map(|place| place.dry(2)).collect();
                }
                message.iter().zip(shares).for_each(|(place, share)| sink([place.factor, place.row], share));
            }
        }
        Ok(())
    }

    /// Makes shares of c b_e for the peer's b, as the OTs' receiver. Also returns the bits c in one row, those of the
    /// first row's elements first.
    ///
    /// # Errors
    /// [`Error::Malformed`](quorate_engine::Error::Malformed) for a message of a wrong length, and whatever ends a run.
    pub async fn receive_correlated(
        &self,
        ctx: &Ctx,
        choices: Choices<'_>,
        rows: &[u32],
        mut sink: impl FnMut(usize, Wiped<Vector>),
    ) -> Result<Bits> {
        self.receive_products_of_bits(ctx, choices, rows.len(), &[rows], |[_, row], share| sink(row, share)).await
    }

    /// Makes shares of c b_e for several factors b of the peer, as the OTs' receiver. There are `count` rows of bits
    /// c; `factors` has the bits of the rows of each factor. Also returns the bits c in one row.
    ///
    /// # Errors
    /// Those of [`Ot::receive_correlated`].
    pub async fn receive_products_of_bits(
        &self,
        ctx: &Ctx,
        choices: Choices<'_>,
        count: usize,
        factors: &[&[u32]],
        mut sink: impl FnMut([usize; 2], Wiped<Vector>),
    ) -> Result<Bits> {
        let len = choices.len() / count.max(1);
        let parts = parts((count, len));
        let given = match choices {
            Choices::Random(_) => None,
            Choices::Given(bits) => {
                let part = |rows: &Range<usize>| Wiped(bits.slice_lanes(rows.start * len..rows.end * len));
                Some(parts.iter().map(part).collect::<Vec<_>>())
            }
        };
        let extend = async |ctx: Ctx, i: usize| {
            let choices =
                given.as_ref().map_or(Choices::Random(parts[i].len() * len), |given| Choices::Given(&given[i]));
            self.receiver.extend(&ctx, choices).await
        };
        let received = ctx.join_all(parts.len(), extend).await?;
        let mut choices = Vec::with_capacity(parts.len());
        for (part, Received { choices: bits, blocks, instance }) in parts.iter().zip(received) {
            let (bits, hash) = (Wiped(bits), self.receiving.segment(instance));
            for message in messages(&places(factors, part, (count, len))) {
                let told = ctx.receive_bytes(self.peer, message.iter().map(Place::bytes).sum()).await?;
                let mut rest = &told[..];
                let bytes = |place: &Place| rest.split_off(..place.bytes()).unwrap_or_default();
                let shares = match ctx.is_dry() {
                    true => message.iter().map(|place| place.dry(1)).collect(),
                    false => with_each_row(message, bytes, |place, told| {
                        place.receive(&hash, blocks.as_slice(), &bits, told)
                    }),
                };
                message.iter().zip(shares).for_each(|(place, share)| sink([place.factor, place.row], share));
            }
            choices.push(bits);
        }
        Ok(Bits::concat_lanes(&choices.iter().map(|bits| &**bits).collect::<Vec<_>>()))
    }
}

/// Returns the ranges of rows that are extended together: at least one part.
fn parts((rows, len): (usize, usize)) -> Vec<Range<usize>> {
    let each = (PART / len.max(1)).max(1);
    (0..rows.max(1)).step_by(each).map(|first| first..rows.min(first + each)).collect()
}

/// The place of a row of OTs in a batch, the factor that its pads are for, and the bits to which they are reduced.
#[derive(Clone, Copy)]
struct Place {
    factor: usize,
    row: usize,
    rows: usize,
    len: usize,
    ring: Ring,
    /// The place of its first OT in its part.
    at: usize,
}

/// Returns the rows of a part in order, with the bits of each factor's rows.
fn places(factors: &[&[u32]], part: &Range<usize>, (rows, len): (usize, usize)) -> Vec<Place> {
    let of = |(factor, bits): (usize, &&[u32])| {
        let rows_of = part.start.min(bits.len())..part.end.min(bits.len());
        let row =
            |row: usize| Place { factor, row, rows, len, ring: Ring::of(bits[row]), at: (row - part.start) * len };
        rows_of.map(row).collect::<Vec<_>>()
    };
    factors.iter().enumerate().flat_map(of).collect()
}

/// Returns the rows of each message.
fn messages(mut places: &[Place]) -> Vec<&[Place]> {
    let mut messages = Vec::new();
    while !places.is_empty() {
        let mut bytes = 0;
        let fits = |place: &&Place| {
            bytes += place.bytes();
            bytes <= MESSAGE_BYTES
        };
        let rows = places.iter().take_while(fits).count().max(1);
        messages.extend(places.split_off(..rows));
    }
    messages
}

/// Runs `work` on every row of a message and its bytes, on the threads of the party.
fn with_each_row<B: Send>(
    message: &[Place],
    bytes: impl FnMut(&Place) -> B,
    work: impl Fn(&Place, B) -> Wiped<Vector> + Sync,
) -> Vec<Wiped<Vector>> {
    let little = message[0].len < THREADED;
    let parts = message.iter().zip(message.iter().map(bytes));
    if little {
        return parts.map(|(place, bytes)| work(place, bytes)).collect();
    }
    let mut shares: Vec<Option<Wiped<Vector>>> = message.iter().map(|_| None).collect();
    side_by_side(parts.zip(&mut shares).collect(), |((place, bytes), share)| *share = Some(work(place, bytes)));
    shares.into_iter().flatten().collect()
}

impl Place {
    fn bytes(&self) -> usize {
        self.ring.packed_bytes(self.len)
    }

    /// Step 2 at the sender: writes the masked elements, and returns its share.
    fn send(&self, hash: &Tccr, blocks: &[u128], delta: u128, element: &Vector, out: &mut [u8]) -> Wiped<Vector> {
        let same = element.ring().carrier() == self.ring.carrier();
        let converted = (!same).then(|| Wiped(element.convert(self.ring)));
        let element = converted.as_deref().unwrap_or(element);
        let mut share = Wiped(Vector::zeros(self.ring, self.len));
        let (mut zero, mut one) = (Pads::new(), Pads::new());
        for range in self.tiles() {
            let pads = [zero.fill(self, hash, (&range, blocks), 0), one.fill(self, hash, (&range, blocks), delta)];
            share.set_masked(range.clone(), element, pads, &mut out[self.packed(range)]);
        }
        share
    }

    /// Step 2 at the receiver: returns its share.
    fn receive(&self, hash: &Tccr, blocks: &[u128], choices: &Bits, told: &[u8]) -> Wiped<Vector> {
        let chosen = Wiped(choices.slice_lanes(self.at..self.at + self.len));
        let mut share = Wiped(Vector::zeros(self.ring, self.len));
        let mut pads = Pads::new();
        for range in self.tiles() {
            let pads = pads.fill(self, hash, (&range, blocks), 0);
            share.set_unmasked(range.clone(), &chosen, pads, &told[self.packed(range)]);
        }
        share
    }

    /// Returns a share of a dry run, charged for `pads` pads of the row, and for packing it.
    fn dry(&self, pads: usize) -> Wiped<Vector> {
        charge_hashes_of(self.len, pads * self.ring.bits().div_ceil(128) as usize);
        charge(Kernel::Pack, self.len * self.ring.carrier().bytes().div_ceil(16));
        Wiped(Vector::shape(self.ring, self.len))
    }

    fn tiles(&self) -> impl Iterator<Item = Range<usize>> {
        let len = self.len;
        (0..len).step_by(TILE).map(move |start| start..len.min(start + TILE))
    }

    /// Returns the range of a tile's elements among the row's bytes: tiles start at whole bytes.
    fn packed(&self, tile: Range<usize>) -> Range<usize> {
        self.ring.packed_bytes(tile.start)..self.ring.packed_bytes(tile.end)
    }
}

/// The pads of a tile, wiped on drop.
struct Pads {
    low: Vec<u128>,
    high: Vec<u128>,
}

impl Pads {
    fn new() -> Pads {
        Pads { low: vec![0; TILE], high: vec![0; TILE] }
    }

    /// Fills in the hashes of a tile's blocks, each plus `shift`; bits beyond 128 come from a second hash. Every hash
    /// of a block has a tweak of its own.
    fn fill(
        &mut self,
        place: &Place,
        hash: &Tccr,
        (tile, blocks): (&Range<usize>, &[u128]),
        shift: u128,
    ) -> Halves<'_> {
        let blocks = &blocks[place.at..][tile.clone()];
        let (low, high) = (&mut self.low[..blocks.len()], &mut self.high[..blocks.len()]);
        low.iter_mut().zip(blocks).for_each(|(to, block)| *to = block ^ shift);
        let tweaks = [0, 1].map(|half| {
            let number = 2 * place.factor + half;
            ((number * place.rows + place.row) * place.len + tile.start) as u128
        });
        match place.ring.bits() > 128 {
            true => hash.hash_twice(low, high, tweaks),
            false => hash.hash_run(low, tweaks[0]),
        }
        Halves { low, high }
    }
}

impl Drop for Pads {
    fn drop(&mut self) {
        wipe_words(&mut self.low);
        wipe_words(&mut self.high);
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
    /// Enough elements for several tiles of OTs, and for several threads.
    const LEN: usize = 1500;

    fn element(i: usize) -> [u64; 4] {
        std::array::from_fn(|limb| (i as u64 + 3).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7 * limb as u32))
    }

    /// Returns the choices and shares of a receiver that chooses or not, and the shares of the sender.
    async fn rows(ctx: &Ctx, ot: &Ot, given: Option<&Bits>) -> Result<(Option<Bits>, Vec<Wiped<Vector>>)> {
        let b = match ctx.is_dry() {
            true => Vector::shape(Ring::of(180), LEN),
            false => Vector::from_limbs(Ring::of(180), &(0..LEN).map(element).collect::<Vec<_>>()),
        };
        let mut shares = Vec::new();
        let mut sink = |row, share| {
            assert_eq!(row, shares.len());
            shares.push(share);
        };
        if ctx.me() == 0 {
            let all = ROWS.map(|bits| Row { element: &b, bits });
            let sink = |[_, row]: [usize; 2], share| sink(row, share);
            ot.send_products_of_bits(ctx, (all.len(), LEN), &[&all], given.is_some(), sink).await?;
            return Ok((None, shares));
        }
        let choices = given.map_or(Choices::Random(ROWS.len() * LEN), Choices::Given);
        let choices = ot.receive_correlated(ctx, choices, &ROWS, sink).await?;
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

    /// Tests that the tests above go through several parts, of several messages each.
    #[test]
    fn every_row_is_in_one_part_and_one_message() {
        let parts = parts((ROWS.len(), LEN));
        assert_eq!(parts, [0..2, 2..4, 4..6]);
        let rows: Vec<[usize; 2]> = parts
            .iter()
            .flat_map(|part| {
                let places = places(&[&ROWS, &OTHER_ROWS], part, (ROWS.len(), LEN));
                let messages = messages(&places);
                assert!(messages.len() > 1 && messages.iter().all(|rows| !rows.is_empty()));
                messages.concat().iter().map(|place| [place.factor, place.row]).collect::<Vec<_>>()
            })
            .collect();
        let of = |factor: usize, rows: Range<usize>| rows.map(move |row| [factor, row]).collect::<Vec<_>>();
        assert_eq!(rows, [of(0, 0..2), of(1, 0..2), of(0, 2..4), of(1, 2..3), of(0, 4..6)].concat());
        assert_eq!(super::parts((3, PART + 1)), [0..1, 1..2, 2..3]);
        assert_eq!(super::parts((0, 0)).len(), 1);
    }

    const OTHER_ROWS: [u32; 3] = [122, 130, 7];

    /// Uses two factors, the second one for the first rows only.
    async fn two_factors(ctx: &Ctx, ot: &Ot) -> Result<(Option<Bits>, Vec<Vec<Wiped<Vector>>>)> {
        let element = |ring: u32, start: usize| match ctx.is_dry() {
            true => Vector::shape(Ring::of(ring), LEN),
            false => Vector::from_limbs(Ring::of(ring), &(start..start + LEN).map(element).collect::<Vec<_>>()),
        };
        let mut shares = vec![vec![], vec![]];
        let sink = |[factor, row]: [usize; 2], share| {
            assert_eq!(row, shares[factor].len());
            shares[factor].push(share);
        };
        if ctx.me() == 0 {
            let (one, other) = (element(180, 0), element(130, 100));
            let first = ROWS.map(|bits| Row { element: &one, bits });
            let second = OTHER_ROWS.map(|bits| Row { element: &other, bits });
            ot.send_products_of_bits(ctx, (ROWS.len(), LEN), &[&first, &second], false, sink).await?;
            return Ok((None, shares));
        }
        let choices = Choices::Random(ROWS.len() * LEN);
        let rows: [&[u32]; 2] = [&ROWS, &OTHER_ROWS];
        let choices = ot.receive_products_of_bits(ctx, choices, ROWS.len(), &rows, sink).await?;
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
