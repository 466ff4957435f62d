//! 1-of-N OT, N = 2, 4, 8, 16: the leaves of comparisons.
//!
//! **Source**: the small-field correlations of Roy 2022 used as 1-of-N OT. **Deviation**: m = log2 N correlated OTs
//! with one Delta are combined: Q = sum of z^b q_b over GF(2^128), b < m. Entry j has the pad H(Q + j(z) Delta), where
//! j(z) is the polynomial whose coefficients are j's bits. The receiver of index c has Q + c(z) Delta. For j other than
//! c it lacks (j(z) + c(z)) Delta, an invertible multiple of Delta. Every entry has a tweak of its own, so the argument
//! for the hash holds as for one multiple (docs/security/ot.md). **Model**: that of the extension.
//!
//! | protocol | rounds, with checks | bits by the receiver | by the sender |
//! |---|---|---|---|
//! | random entries and index | 1, 3 | m (128/f - 1) | 0 |
//! | chosen | 2, 4 | m 128/f | N l |
//!
//! Entries are in Z_2^l, l up to 64. Table i is elements i N to (i+1) N - 1. Row b of an index is its bit b.

use quorate_engine::{Ctx, Misuse, Result};
use quorate_ring::chosen::Masks;
use quorate_ring::{Bits, Ring, Vector, Wiped};
use zeroize::Zeroizing;

use crate::blocks::Blocks;
use crate::cot::charge_hashes;
use crate::flat::{flat, tall};
use crate::roots::LOST;
use crate::setup::{Ot, fits};
use crate::source::{Choices, Received, Receiver, Sender, Sent};

/// Returns z x in GF(2^128) modulo z^128 + z^7 + z^2 + z + 1.
fn double(x: u128) -> u128 {
    (x << 1) ^ (0x87 & Masks::new().block((x >> 64) as u64, 63))
}

/// Returns j(z) x, for j of at most four bits; x is secret, j is not.
fn multiple(x: u128, j: usize) -> u128 {
    (0..4).rev().fold(0, |sum, bit| double(sum) ^ if j >> bit & 1 == 1 { x } else { 0 })
}

/// Returns the sum of z^b x_b over the bits b; each bit has `len` OTs, one bit's after the other's.
fn combine(blocks: &Blocks, len: usize) -> Vec<u128> {
    let rows: Vec<&[u128]> = blocks.as_slice().chunks_exact(len.max(1)).collect();
    (0..len).map(|i| rows.iter().rev().fold(0, |sum, row| double(sum) ^ row[i])).collect()
}

/// Returns log2 N.
fn index_bits(n: usize) -> Result<usize> {
    match n {
        2 | 4 | 8 | 16 => Ok(n.trailing_zeros() as usize),
        _ => Err(Misuse::Other { what: "a table of a 1-of-N OT has 2, 4, 8 or 16 entries" }.into()),
    }
}

fn check_ring(ring: Ring) -> Result<()> {
    if ring.bits() <= 64 { Ok(()) } else { Err(Misuse::RingBits { bits: ring.bits() }.into()) }
}

impl Ot {
    /// Returns `len` tables of n random entries each, of which the peer gets one entry at a random index.
    ///
    /// # Errors
    /// [`Misuse`] for another n or a ring of more than 64 bits; whatever ends a run.
    pub async fn send_random_tables(&self, ctx: &Ctx, n: usize, ring: Ring, len: usize) -> Result<Vector> {
        let bits = index_bits(n)?;
        check_ring(ring)?;
        let sent = self.sender.extend(ctx, bits * len, false).await?;
        Ok(self.table_pads(&sent, n, len).to_vector(ring))
    }

    /// Returns the indices, bit b in row b, and the entries of `len` random tables.
    ///
    /// # Errors
    /// [`Misuse`] for another n or a ring of more than 64 bits; whatever ends a run.
    pub async fn receive_random_tables(&self, ctx: &Ctx, n: usize, ring: Ring, len: usize) -> Result<(Bits, Vector)> {
        let bits = index_bits(n)?;
        check_ring(ring)?;
        let received = self.receiver.extend(ctx, Choices::Random(bits * len)).await?;
        let index = tall(&received.choices, bits, len);
        let entries = self.entry_pads(&received, &index, n).to_vector(ring);
        Ok((index, entries))
    }

    /// Sends OTs of tables of n entries each: the peer gets one entry of each.
    ///
    /// # Errors
    /// [`Misuse`] for another n or a ring of more than 64 bits; whatever ends a run.
    pub async fn send_tables(&self, ctx: &Ctx, n: usize, tables: &Vector) -> Result<()> {
        let bits = index_bits(n)?;
        check_ring(tables.ring())?;
        let len = tables.len() / n;
        fits("entries of whole tables", tables.len(), len * n)?;
        let sent = self.sender.extend(ctx, bits * len, true).await?;
        let mut masked = Wiped(self.table_pads(&sent, n, len).to_vector(tables.ring()));
        masked.add_assign(tables);
        ctx.exchange(&[(self.peer, &*masked)], &[]).await?;
        Ok(())
    }

    /// Receives the entries at these indices, bit b in row b, over the ring.
    ///
    /// # Errors
    /// [`Misuse`] unless there are 1 to 4 rows; whatever ends a run.
    pub async fn receive_tables(&self, ctx: &Ctx, index: &Bits, ring: Ring) -> Result<Vector> {
        let (n, len) = (1usize << index.rows().min(5), index.lanes());
        index_bits(n)?;
        check_ring(ring)?;
        let choices = Wiped(flat(index));
        let received = self.receive_for(ctx, &choices).await?;
        let own = Wiped(self.entry_pads(&received, index, n).to_vector(ring));
        let tables = ctx.exchange::<Vector>(&[], &[(self.peer, (ring, n * len))]).await?.pop().ok_or(LOST)?;
        let mut entries = select(&tables, index);
        entries.sub_assign(&own);
        entries.reduce();
        Ok(entries)
    }

    /// Returns the pads of all entries.
    fn table_pads(&self, sent: &Sent, n: usize, len: usize) -> Blocks {
        if sent.blocks.is_shape() {
            charge_hashes(&sent.blocks, n);
            return Blocks::shape(n * len);
        }
        let multiples: Zeroizing<Vec<u128>> =
            Zeroizing::new((0..n).map(|j| multiple(self.sender.delta(), j)).collect());
        let combined = Zeroizing::new(combine(&sent.blocks, len));
        let mut pads = Vec::with_capacity(n * len);
        combined.iter().for_each(|q| pads.extend(multiples.iter().map(|offset| q ^ offset)));
        let mut pads = Blocks::new(pads);
        self.sending.segment(sent.instance).hash_run(pads.as_mut_slice(), 0);
        pads
    }

    /// Returns the pads of the entries at the receiver's indices.
    fn entry_pads(&self, received: &Received, index: &Bits, n: usize) -> Blocks {
        let len = index.lanes();
        if received.blocks.is_shape() {
            charge_hashes(&received.blocks, 1);
            return Blocks::shape(len);
        }
        let tweak = |(i, c): (usize, &u64)| (n * i) as u128 + u128::from(*c);
        let indices = Zeroizing::new(index.to_vector(Ring::of(4)).to_u64s());
        let tweaks: Zeroizing<Vec<u128>> = Zeroizing::new(indices.iter().enumerate().map(tweak).collect());
        let mut pads = Blocks::new(combine(&received.blocks, len));
        self.receiving.segment(received.instance).hash_each(pads.as_mut_slice(), &tweaks);
        pads
    }
}

/// Returns the entry at each index; it reads every entry.
fn select(tables: &Vector, index: &Bits) -> Vector {
    let (ring, len) = (tables.ring(), index.lanes());
    if tables.is_shape() || index.is_shape() {
        return Vector::shape(ring, len);
    }
    let n = 1usize << index.rows();
    let (words, indices) = (tables.to_u64s(), Zeroizing::new(index.to_vector(Ring::of(4)).to_u64s()));
    let entry = |(table, c): (&[u64], &u64)| {
        let chosen = |(j, entry): (u64, &u64)| entry & equal_mask(j, *c);
        (0u64..).zip(table).map(chosen).fold(0, |sum, entry| sum | entry)
    };
    let entries: Zeroizing<Vec<u64>> = Zeroizing::new(words.chunks_exact(n).zip(indices.iter()).map(entry).collect());
    Vector::from_u64s(ring, &entries)
}

/// Returns all ones if a = b, else 0; both are below 2^32.
fn equal_mask(a: u64, b: u64) -> u64 {
    Masks::new().word((a ^ b).wrapping_sub(1), 63)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_are_linear_and_differ() {
        let x = 0x8123_4567_89ab_cdef_0011_2233_4455_6677u128;
        assert_eq!(multiple(x, 1), x);
        assert_eq!(multiple(x, 2), (x << 1) ^ 0x87);
        for j in 0..16 {
            for k in 0..16 {
                assert_eq!(multiple(x, j) ^ multiple(x, k), multiple(x, j ^ k));
                assert_eq!(multiple(x, j) == multiple(x, k), j == k);
                assert_eq!(equal_mask(j as u64, k as u64), if j == k { u64::MAX } else { 0 });
            }
        }
    }

    /// Blocks that two batches share give unrelated pads: no tweak repeats under a key.
    #[test]
    fn every_batch_has_pads_of_its_own() {
        let (ot, len) = (Ot::dry(1, crate::Options::default()), 20);
        let blocks = Blocks::new((0..2 * len as u128).map(|i| (i << 64) | (5 * i)).collect());
        let index = Bits::zeros(2, len);
        let pads = |instance| {
            let sent = Sent { blocks: blocks.clone(), instance };
            let received = Received { choices: Bits::zeros(1, 2 * len), blocks: blocks.clone(), instance };
            let all = ot.table_pads(&sent, 4, len).as_slice().to_vec();
            // In a dry run both directions have one key.
            let own = ot.entry_pads(&received, &index, 4).as_slice().to_vec();
            assert!(all.iter().step_by(4).eq(&own));
            all
        };
        let mut all: Vec<u128> = [0, 1, 1 << 64, u128::MAX].into_iter().flat_map(pads).collect();
        all.sort_unstable();
        assert_eq!(all.len(), 4 * 4 * len);
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn every_entry_is_selected_by_its_index() {
        for bits in 1..=4usize {
            let n = 1 << bits;
            let tables = Vector::from_u64s(Ring::of(9), &(0..(n * n) as u64).map(|i| i * 7 + 1).collect::<Vec<_>>());
            let index: Vec<bool> = (0..bits).flat_map(|b| (0..n).map(move |i| i >> b & 1 == 1)).collect();
            let entries = select(&tables, &Bits::from_bools(bits, n, &index)).to_u64s();
            assert!((0..n).all(|i| entries[i] == ((i * n + i) as u64 * 7 + 1) % 512));
        }
    }
}
