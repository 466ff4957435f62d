//! Look-up in a public table, by places that are dealt as verified keys.
//!
//! **Source**: ours (docs/security/pika-malicious.md). **Model**: malicious, one of three. **Notation**: D the table,
//! i = x - first the place of an entry, of n bits, proven; r = 2^b r_h + r_l the dealt place (`digits`); e_l and e_h
//! one-hot, with tags; b_i and c = b_(r_h) dealt.
//!
//! 1. Open X = i + r mod 2^n.
//! 2. g_i = sum_j e_l(j) D[X - 2^b i - j mod 2^n] for all i below 2^(n-b), with tags, local: the entry is g_(r_h).
//! 3. Open g_i - b_i mod 2^k for all i.
//! 4. D[X - r] = sum_i (g_i - b_i) e_h(i) + c, local.
//!
//! With one key the entry is g_0, and step 2 is the last. Sent by each of P0 and P1: n bits, and 32 k if there are two
//! keys. Rounds: 1, and 1 more with two keys. Keys are evaluated again where they are used: values are not kept.

use std::sync::Arc;

use quorate_authenticated::shared::Shared;
use quorate_authenticated::{Material, SharedBits, Tagged};
use quorate_engine::{Chunks, Ctx, Linear, Result, Sharing, Stocks};
use quorate_fss::verified::{Windows, charge_windows};
use quorate_gadgets::lookup::{self as gadget, Lookup, place_bits};
use quorate_gadgets::{Functions, stream};
use quorate_ring::{Ring, Vector, Wiped};

use super::PikaMalicious;
use super::digits::{Digits, charge_copies, keys_of, values};

/// The largest number of entries of a table in which a real function is looked up. Beyond it, gadgets take less time.
pub(super) const MOST_ENTRIES: usize = (1 << 17) + 1;

impl PikaMalicious {
    /// Returns the entry of each number.
    pub(super) async fn look_up(&self, ctx: &Ctx, x: &Tagged, table: &Lookup) -> Result<Tagged> {
        match Digits::new(self.third.params, table.place_bits(), table.entries.ring()) {
            Some(digits) => self.by_digits(ctx, x, table, (digits, table.entries.ring())).await,
            None => self.online.lookup(ctx, x, table).await,
        }
    }

    /// Returns the lowest bit of each number's entry.
    pub(super) async fn look_up_bit(&self, ctx: &Ctx, x: &Tagged, table: &Lookup) -> Result<SharedBits> {
        let ring = Ring::of(1);
        match Digits::new(self.third.params, table.place_bits(), ring) {
            Some(digits) => {
                let bit = self.by_digits(ctx, x, table, (digits, ring)).await?;
                self.lsb(ctx, &bit).await
            }
            None => self.online.lookup_bit(ctx, x, table).await,
        }
    }

    /// Returns the bytes that look-ups of numbers by digits hold at a time.
    pub(super) fn under_way(&self, (entries, bits): (usize, u32), len: u64) -> Option<u64> {
        let digits = Digits::new(self.third.params, place_bits(entries), Ring::of(bits))?;
        let Chunks { chunk, window, .. } = chunks(0, digits);
        Some(len.min((chunk * window) as u64) * bytes_of(digits) as u64)
    }

    async fn by_digits(&self, ctx: &Ctx, x: &Tagged, table: &Lookup, (digits, ring): (Digits, Ring)) -> Result<Tagged> {
        let (n, choices) = (table.place_bits(), digits.choices());
        let make = || {
            let entries = table.entries.convert(ring).to_u64s();
            Windows::new(self.third.pairs.hash().kernel(), n, digits.lower_bits(), ring, &entries)
        };
        let words = !ctx.is_dry() && !self.third.pairs.deals();
        let windows = words.then(|| table.entries.kept(make, |kept| kept.ring() == ring && kept.place_bits() == n));
        let table = table.clone();
        let work = async move |s: &PikaMalicious, ctx: &Ctx, x: Tagged| {
            let len = s.shape(&x).1;
            let place = gadget::place(s, ctx, &x, &table).await?;
            let drawn = s.draw(ctx, digits.kind(), len).await?;
            let (r, elements, blocks) = parts(drawn)?;
            let r = s.linear(&r, &Linear::Reduce(Ring::of(n)));
            let opened = s.open(ctx, &s.add(&place, &r)).await?;
            let (sums, hot) = s.sums(digits, ring, windows.as_ref(), (&opened, &blocks))?;
            let Some([b, c]) = elements else { return Ok(sums) };
            let masked = s.open(ctx, &s.sub(&sums, &b)).await?;
            let chosen = s.linear(&hot, &Linear::Factors(&masked));
            let axis = quorate_engine::Axis { outer: len, len: choices, inner: 1 };
            Ok(s.add(&s.linear(&chosen, &Linear::SumAxis(axis)), &c))
        };
        let operands = |range| stream::slice(self, x, range);
        stream::to_vector(self, ctx, chunks(self.shape(x).1, digits), operands, work).await
    }

    /// Step 2: returns the sums, and e_h with its tags.
    fn sums(
        &self,
        digits: Digits,
        ring: Ring,
        windows: Option<&Arc<Windows>>,
        (opened, blocks): (&Vector, &Vector),
    ) -> Result<(Tagged, Tagged)> {
        let (len, choices) = (opened.len(), digits.choices());
        let wide = self.third.params.shares(ring);
        let shapes = digits.shapes();
        let Some(windows) = windows.filter(|_| !opened.is_shape()) else {
            if !self.third.pairs.deals() {
                charge_copies(digits, len);
            }
            shapes.iter().take(1).for_each(|&shape| charge_windows(shape, windows_bits(digits), len));
            let shape = |count: usize| {
                let shape = || Vector::shape(wide, count * len);
                Tagged::of(ring, &Shared { share: shape(), tag: shape() })
            };
            return Ok((shape(choices.max(1)), shape(choices)));
        };
        let hash = self.evaluating();
        let keys = keys_of(digits, self.third.pairs.me, blocks, len)?;
        let reduced = |[share, tag]: [Wiped<Vector>; 2]| {
            let reduce = |x: &Vector| Linear::Reduce(wide).apply(x);
            Tagged::of(ring, &Shared { share: reduce(&share), tag: reduce(&tag) })
        };
        let sums = reduced(windows.sums(&hash, &keys[0], &opened.to_u64s()));
        let hot = match keys.get(1) {
            Some(keys) => reduced(values(&hash, keys)),
            None => self.online.blank(false, (ring, 0)),
        };
        Ok((sums, hot))
    }
}

fn windows_bits(digits: Digits) -> u32 {
    digits.lower_bits() + digits.choices().max(1).trailing_zeros()
}

/// Returns the place, b and c if there are any, and the keys.
fn parts(material: Material) -> Result<(Tagged, Option<[Tagged; 2]>, Wiped<Vector>)> {
    const MISSING: quorate_engine::Error = quorate_engine::Error::Bug { what: "a stock of places lacks a part" };
    let Material { vectors, mut blocks, .. } = material;
    let blocks = blocks.pop().ok_or(MISSING)?;
    let mut vectors = vectors.into_iter();
    let place = vectors.next().ok_or(MISSING)?;
    let elements: Vec<Tagged> = vectors.collect();
    match elements.is_empty() {
        true => Ok((place, None, blocks)),
        false => Ok((place, Some(elements.try_into().map_err(|_| MISSING)?), blocks)),
    }
}

/// Returns chunks; each number takes keys twice, and elements with tags of b, e_h, their sums and openings. A chunk
/// that waits for its openings takes about half of that. The more chunks wait, the fewer waits there are for slow
/// links.
fn chunks(len: usize, digits: Digits) -> Chunks {
    const WAITING: usize = 4;
    let chunks = Chunks::of_bytes(len, bytes_of(digits));
    Chunks { window: WAITING * chunks.window, ..chunks }
}

fn bytes_of(digits: Digits) -> usize {
    let keys: usize = digits.shapes().iter().map(|shape| 2 * shape.key_bytes()).sum();
    keys + 128 + 32 * 6 * digits.choices()
}
