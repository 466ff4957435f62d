//! Look-ups in a public table.
//!
//! **Source**: Pika (Wagh 2022), Fig. 3, semi-honest, with keys that both parties made. **Deviation**: no party knows
//! the sign w, so a message of transfers removes it; a table smaller than the domain is a window. **Model**:
//! semi-honest, 1 of 2. **Notation**: that of [`points`](crate::points); D the table, i = x - first the place.
//!
//! 1. Open X = i + r mod 2^n.
//! 2. v_p = (-1)^p sum over j of y_p[X - j] D[j], local: v_0 + v_1 = w D[i].
//! 3. w = (1 - 2 s_0)(1 - 2 s_1). Party p has a_p = (1 - 2 s_p) v_p, and sends a_p + offset: both have shares of
//!    s_q a_p, q the other, and D[i] = sum over p of a_p - 2 s_q a_p. Modulo 2^k that takes k - 1 bits.
//!
//! Rounds: 2. Sent by each party: n and k - 1 bits. The lowest bit of an entry takes no sign and ends with step 2: 1
//! round, n bits. Numbers that may lie outside of the table are compared with its ends and moved there before.
//!
//! Keys serve for places of two bits or more. The general gadget takes more rounds online; it sends the same at two
//! bits, and more from three bits on. It serves for one bit, which is a bit already, and for tables over more than 64
//! bits.

use quorate_additive::open::NOT_OPENED;
use quorate_additive::stock::MISSING;
use quorate_engine::{Chunks, Ctx, Result, Sharing, Stocks};
use quorate_fss::{Places, Table};
use quorate_gadgets::convert::signs;
use quorate_gadgets::lookup::{self as gadget, Lookup};
use quorate_gadgets::stream;
use quorate_ring::{Bits, Module, Ring, Vector};

use crate::Share;
use crate::keys::{self, MOST_BITS};
use crate::kind::Kind;
use crate::setup::Aby;
use crate::summands::lifted;

type A = Share<Vector>;
type B = Share<Bits>;

/// The largest number of entries of a table in which a real function is looked up.
pub(crate) const MOST_ENTRIES: usize = (1 << 17) + 1;
/// The largest number of bits of an entry.
const WORD_BITS: u32 = 64;

/// Returns whether look-ups use keys, which then take less than the general gadget.
pub(crate) fn has_keys(place_bits: u32, bits: u32) -> bool {
    (2..=MOST_BITS).contains(&place_bits) && bits <= WORD_BITS
}

/// Returns chunks of keys for `place_bits` bits; each takes the key, twice, and some elements.
pub(crate) fn chunks(len: usize, place_bits: u32) -> Chunks {
    Chunks::of_bytes(len, 2 * 16 * keys::sizes(place_bits).2 + 128)
}

/// Returns the entries over this ring, in the form for look-ups by keys.
fn places(ctx: &Ctx, table: &Lookup, ring: Ring) -> Result<Places> {
    let make = || Table::backwards(ring, &table.entries.convert(ring).to_u64s());
    let words = (!ctx.is_dry()).then(|| table.entries.kept(make, |kept| kept.ring() == ring));
    Ok(Places::new(keys::shape(table.place_bits())?, ring, table.entries.len(), words))
}

impl Aby {
    /// Returns the entry of each number.
    pub(crate) async fn look_up_public(&self, ctx: &Ctx, x: &A, table: &Lookup) -> Result<A> {
        let (ring, n) = (table.entries.ring(), table.place_bits());
        if !has_keys(n, ring.bits()) {
            return gadget::lookup(self, ctx, x, table).await;
        }
        if ring.bits() == 1 {
            return Ok(self.look_up_public_bit(ctx, x, table).await?.map(|bits| bits.to_vector(ring)));
        }
        let (places, table) = (places(ctx, table, ring)?, table.clone());
        let work = async move |s: &Aby, ctx: &Ctx, x: A| {
            let place = gadget::place(s, ctx, &x, &table).await?;
            let kind = Kind::Lookup { place_bits: n, bits: ring.bits() };
            let mut drawn = s.draw(ctx, kind, x.len()).await?;
            let sign = drawn.bits.pop().ok_or(MISSING)?;
            let [r, roots, corrections, kept, offset, chosen] = drawn.into_vectors()?;
            let mut own = s.sums(ctx, &places, &s.add(&place, &r), [&roots, &corrections]).await?;
            own.mul_assign(&Share::of(signs(&sign, ring)));
            s.without_sign(ctx, own, (&sign, [&kept, &offset, &chosen])).await
        };
        stream::to_vector(self, ctx, chunks(x.len(), n), |range| stream::slice(self, x, range), work).await
    }

    /// Returns the lowest bit of each number's entry.
    pub(crate) async fn look_up_public_bit(&self, ctx: &Ctx, x: &A, table: &Lookup) -> Result<B> {
        let n = table.place_bits();
        if !has_keys(n, 1) {
            return gadget::lookup_bit(self, ctx, x, table).await;
        }
        let (places, table) = (places(ctx, table, Ring::of(1))?, table.clone());
        let work = async move |s: &Aby, ctx: &Ctx, x: A| {
            let place = gadget::place(s, ctx, &x, &table).await?;
            let drawn = s.draw(ctx, Kind::Point { place_bits: n }, x.len()).await?;
            let [r, roots, corrections] = drawn.into_vectors()?;
            Ok(s.sums(ctx, &places, &s.add(&place, &r), [&roots, &corrections]).await?.map(Vector::low_bit))
        };
        stream::to_lanes(self, ctx, chunks(x.len(), n), |range| stream::slice(self, x, range), work).await
    }

    /// Runs steps 1 and 2.
    async fn sums(&self, ctx: &Ctx, places: &Places, masked: &A, [roots, corrections]: [&A; 2]) -> Result<A> {
        let opened = self.open_long(ctx, masked, None).await?.ok_or(NOT_OPENED)?;
        let sums = places.sums(&self.evaluating(), self.side(), &opened, [roots, corrections]).map_err(|_| MISSING)?;
        Ok(Share::of(sums.into_inner()))
    }

    /// Step 3: returns the product of `own` and the peer's with both signs.
    async fn without_sign(&self, ctx: &Ctx, own: A, (sign, [kept, offset, chosen]): (&B, [&A; 3])) -> Result<A> {
        let narrow = kept.ring();
        let hidden = own.map(|own| own.convert(narrow)).zip(offset, Vector::add_assign);
        let received = ctx.exchange(&[(self.peer(), &*hidden)], &[(self.peer(), hidden.shape_of())]).await?;
        let theirs = received.into_iter().next().ok_or(NOT_OPENED)?;
        let mut twice = self.sub(chosen, kept);
        twice.add_mul_assign(&theirs, &Share::of(sign.to_vector(narrow)));
        Ok(self.sub(&own, &lifted(&twice, own.ring(), 1)))
    }
}
