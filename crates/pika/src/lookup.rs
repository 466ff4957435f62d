//! Look-up in a public table.
//!
//! **Source**: Pika (Wagh 2022), Fig. 3, semi-honest. **Deviation**: w is a dealt sign, and w b is dealt with it, so
//! that one opening makes the product; keys of half-trees; a table smaller than the domain is a window. **Model**:
//! semi-honest, 1 of 3; party 2 has dealt. **Notation**: D the table, i = x - first the place, of n bits; r the point,
//! y_p the leaves of party p's key, y_0 - y_1 = w e_r; b uniform.
//!
//! 1. Open X = i + r mod 2^n.
//! 2. v_p = (-1)^p sum over j of y_p[X - j] D[j], local: v_0 + v_1 = w D[i].
//! 3. Open V = v - b mod 2^k.
//! 4. D[i] = V w + w b, local.
//!
//! Rounds: 2. Sent by each of parties 0 and 1: n and k bits. The lowest bit of an entry takes no sign and ends with
//! step 2: 1 round, n bits. Numbers that may lie outside of the table are compared with its ends and moved there before.

use std::ops::Range;
use std::sync::Arc;

use quorate_engine::{Chunks, Ctx, Linear, Result, Sharing, Stocks};
use quorate_fss::{Corrections, Keys, Side, Table, lookup};
use quorate_gadgets::lookup::{self as gadget, Lookup};
use quorate_gadgets::stream;
use quorate_ring::meter::{Kernel, charge, stream as charge_stream};
use quorate_ring::{Bits, Ring, Vector};

use crate::points::{self, correction_bytes};
use crate::setup::Pika;
use crate::share::Share;
use crate::stock::Kind;

type A = Share<Vector>;
type B = Share<Bits>;

/// The most bits of a place.
pub(crate) const MOST_BITS: u32 = 26;
/// The most entries of a table in which a real function is looked up: beyond, gadgets take less time.
pub(crate) const MOST_ENTRIES: usize = 1 << 17;
/// The most bits of an entry.
const WORD_BITS: u32 = 64;

/// Whether keys serve: elsewhere the general gadget does.
pub(crate) fn has_keys(place_bits: u32, bits: u32) -> bool {
    (1..=MOST_BITS).contains(&place_bits) && bits <= WORD_BITS
}

impl Pika {
    /// The entry of each number.
    pub(crate) async fn look_up(&self, ctx: &Ctx, x: &A, table: &Lookup<'_>) -> Result<A> {
        let (ring, n) = (table.entries.ring(), table.place_bits());
        if !has_keys(n, ring.bits()) {
            return gadget::lookup(self, ctx, x, table).await;
        }
        let sums = Sums::new(self, ctx, table, ring);
        let work = async |ctx: Ctx, range: Range<usize>| {
            let place = gadget::place(self, &ctx, &stream::slice(self, x, range.clone()), table).await?;
            let dealt = self.draw(&ctx, Kind::Lookup { place_bits: n, bits: ring.bits() }, range.len()).await?;
            let [r, roots, corrections, b, w, product] = dealt.into_vectors()?;
            let opened = self.open_long(&ctx, &self.add(&place, &r)).await?;
            let sum = sums.of(self, &opened, &roots, &corrections)?;
            let masked = self.open_long(&ctx, &self.sub(&sum, &b)).await?;
            Ok(self.add(&self.linear(&w, &Linear::Factors(&masked)), &product))
        };
        stream::to_vector(self, ctx, chunks(x.len(), n), work).await
    }

    /// The lowest bit of each number's entry.
    pub(crate) async fn look_up_bit(&self, ctx: &Ctx, x: &A, table: &Lookup<'_>) -> Result<B> {
        let n = table.place_bits();
        if !has_keys(n, 1) {
            return gadget::lookup_bit(self, ctx, x, table).await;
        }
        let sums = Sums::new(self, ctx, table, Ring::of(1));
        let work = async |ctx: Ctx, range: Range<usize>| {
            let place = gadget::place(self, &ctx, &stream::slice(self, x, range.clone()), table).await?;
            let dealt = self.draw(&ctx, Kind::Point { place_bits: n }, range.len()).await?;
            let [r, roots, corrections] = dealt.into_vectors()?;
            let opened = self.open_long(&ctx, &self.add(&place, &r)).await?;
            Ok(sums.of(self, &opened, &roots, &corrections)?.map(Vector::low_bit))
        };
        stream::to_lanes(self, ctx, chunks(x.len(), n), work).await
    }
}

/// Chunks of keys for so many bits: what is held of each is the key, twice, and some elements.
fn chunks(len: usize, place_bits: u32) -> Chunks {
    Chunks::of_bytes(len, 2 * 16 * points::blocks(place_bits) + 128)
}

/// A table over which sums are taken.
struct Sums {
    place_bits: u32,
    ring: Ring,
    len: usize,
    /// Where there are keys.
    table: Option<Arc<Table>>,
}

impl Sums {
    /// The entries over this ring, which has no more bits than their own.
    fn new(s: &Pika, ctx: &Ctx, table: &Lookup<'_>, ring: Ring) -> Sums {
        let needed = !(ctx.is_dry() || s.deals());
        let make = || Table::backwards(ring, &table.entries.convert(ring).to_u64s());
        let kept = || Some(table.entries.kept(make)).filter(|kept| kept.ring() == ring);
        let words = needed.then(|| kept().unwrap_or_else(|| Arc::new(make())));
        Sums { place_bits: table.place_bits(), ring, len: table.entries.len(), table: words }
    }

    /// This party's summand of w D[X - r] for each X.
    fn of(&self, s: &Pika, opened: &Vector, roots: &A, corrections: &A) -> Result<A> {
        let count = opened.len();
        let Some(table) = self.table.as_ref().filter(|_| !opened.is_shape()) else {
            self.charge(s, count);
            return Ok(Share::shape((self.ring, count)));
        };
        let shape = points::shape(self.place_bits)?;
        let side = if s.me == 0 { Side::First } else { Side::Second };
        let bytes = correction_bytes(corrections, shape.key_bytes());
        let corrections = Corrections::from_bytes(shape, count, &bytes).map_err(|_| crate::stock::MISSING)?;
        let keys = Keys::new(points::roots(side, roots), corrections).map_err(|_| crate::stock::MISSING)?;
        let starts: Vec<u64> = opened.to_u64s().iter().map(|&x| table.start(x) & shape.mask()).collect();
        Ok(Share((*lookup(&s.hash, &keys, &starts, table).values).clone()))
    }

    /// What the sums would take: hashes of the tree, and passes over the table by four keys.
    fn charge(&self, s: &Pika, count: usize) {
        if s.deals() {
            return;
        }
        let hashes = (self.len >> 7) + (self.len >> 9) + self.place_bits as usize;
        charge(Kernel::Draw, 16 * hashes * count);
        charge_stream(self.len * (self.ring.bits() as usize).div_ceil(8) / 4 * count);
    }
}
