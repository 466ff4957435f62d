//! Look-up in a public table.
//!
//! **Source**: Pika (Wagh 2022), Fig. 3, semi-honest. **Deviation**: w is a dealt sign, and w b is dealt with it, so
//! that one opening gives the product; keys of half-trees; a table smaller than the domain is a window. **Model**:
//! semi-honest, 1 of 3; party 2 has dealt. **Notation**: D the table, i = x - first the place, of n bits; r the point,
//! y_p the leaves of party p's key, y_0 - y_1 = w e_r; b uniform.
//!
//! 1. Open X = i + r mod 2^n.
//! 2. v_p = (-1)^p sum over j of y_p[X - j] D[j], local: v_0 + v_1 = w D[i].
//! 3. Open V = v - b mod 2^k.
//! 4. D[i] = V w + w b, local.
//!
//! Rounds: 2. Sent by each of parties 0 and 1: n and k bits. The lowest bit of an entry takes no sign and ends with
//! step 2: 1 round, n bits. Numbers that may lie outside of the table are compared with its ends and moved there
//! before.

use quorate_additive::stock::MISSING;
use quorate_engine::{Chunks, Ctx, Linear, Result, Sharing, Stocks};
use quorate_fss::{Places, Table};
use quorate_gadgets::lookup::{self as gadget, Lookup, place_bits};
use quorate_gadgets::stream;
use quorate_ring::{Bits, Ring, Vector};

use crate::kind::Kind;
use crate::points;
use crate::setup::Pika;
use crate::share::Share;

type A = Share<Vector>;
type B = Share<Bits>;

/// The largest number of bits of a place.
pub(crate) const MOST_BITS: u32 = 26;
/// The largest number of entries of a table in which a real function is looked up. Beyond it, gadgets take less time.
pub(crate) const MOST_ENTRIES: usize = (1 << 17) + 1;
/// The largest number of bits of an entry.
const WORD_BITS: u32 = 64;

/// Returns whether keys serve this look-up; otherwise the general gadget does.
pub(crate) fn has_keys(place_bits: u32, bits: u32) -> bool {
    (1..=MOST_BITS).contains(&place_bits) && bits <= WORD_BITS
}

impl Pika {
    /// Returns the entry of each number.
    pub(crate) async fn look_up(&self, ctx: &Ctx, x: &A, table: &Lookup) -> Result<A> {
        let (ring, n) = (table.entries.ring(), table.place_bits());
        if !has_keys(n, ring.bits()) {
            return gadget::lookup(self, ctx, x, table).await;
        }
        let kind = Kind::Lookup { place_bits: n, bits: ring.bits() };
        let (chunks, places, table) = (chunks(x.len(), &kind), places(self, ctx, table, ring)?, table.clone());
        let work = async move |s: &Pika, ctx: &Ctx, x: A| {
            let place = gadget::place(s, ctx, &x, &table).await?;
            let dealt = s.draw(ctx, kind.clone(), x.len()).await?;
            let [r, roots, b, w, product, corrections] = dealt.into_vectors()?;
            let sum = s.sums(ctx, &places, &s.add(&place, &r), [&roots, &corrections]).await?;
            let masked = s.open_long(ctx, &s.sub(&sum, &b)).await?;
            Ok(s.add(&s.linear(&w, &Linear::Factors(&masked)), &product))
        };
        stream::to_vector(self, ctx, chunks, |range| stream::slice(self, x, range), work).await
    }

    /// Returns the lowest bit of each number's entry.
    pub(crate) async fn look_up_bit(&self, ctx: &Ctx, x: &A, table: &Lookup) -> Result<B> {
        let n = table.place_bits();
        if !has_keys(n, 1) {
            return gadget::lookup_bit(self, ctx, x, table).await;
        }
        let kind = Kind::Point { place_bits: n };
        let places = places(self, ctx, table, Ring::of(1))?;
        let (chunks, table) = (chunks(x.len(), &kind), table.clone());
        let work = async move |s: &Pika, ctx: &Ctx, x: A| {
            let place = gadget::place(s, ctx, &x, &table).await?;
            let dealt = s.draw(ctx, kind.clone(), x.len()).await?;
            let [r, roots, corrections] = dealt.into_vectors()?;
            Ok(s.sums(ctx, &places, &s.add(&place, &r), [&roots, &corrections]).await?.map(Vector::low_bit))
        };
        stream::to_lanes(self, ctx, chunks, |range| stream::slice(self, x, range), work).await
    }

    /// Runs steps 1 and 2.
    async fn sums(&self, ctx: &Ctx, places: &Places, masked: &A, [roots, corrections]: [&A; 2]) -> Result<A> {
        let opened = self.open_long(ctx, masked).await?;
        if self.deals() {
            return Ok(Share::shape((places.ring(), opened.len())));
        }
        let sums = places.sums(&self.evaluating(), self.side(), &opened, [roots, corrections]).map_err(|_| MISSING)?;
        Ok(Share::of(sums.into_inner()))
    }
}

/// Returns chunks of a kind that has keys.
pub(crate) fn chunks(len: usize, kind: &Kind) -> Chunks {
    Chunks::of_bytes(len, bytes_of(kind))
}

/// Returns the bytes that are held for each number: keys, twice, and some elements.
fn bytes_of(kind: &Kind) -> usize {
    let blocks: usize = kind.keys().iter().map(|shape| shape.key_blocks()).sum();
    2 * 16 * blocks + 128
}

/// Returns the bytes that look-ups of `len` numbers by keys hold at a time, including correlations that are made
/// meanwhile.
pub(crate) fn under_way(entries: usize, bits: u32, len: u64) -> Option<u64> {
    let place_bits = place_bits(entries);
    let kind = Kind::Lookup { place_bits, bits };
    let Chunks { chunk, window, .. } = chunks(0, &kind);
    has_keys(place_bits, bits).then(|| 2 * len.min((chunk * window) as u64) * bytes_of(&kind) as u64)
}

/// Returns the entries over this ring, in the form for look-ups by keys.
fn places(s: &Pika, ctx: &Ctx, table: &Lookup, ring: Ring) -> Result<Places> {
    let make = || Table::backwards(ring, &table.entries.convert(ring).to_u64s());
    let words = !(ctx.is_dry() || s.deals());
    let words = words.then(|| table.entries.kept(make, |kept| kept.ring() == ring));
    Ok(Places::new(points::shape(table.place_bits())?, ring, table.entries.len(), words))
}
