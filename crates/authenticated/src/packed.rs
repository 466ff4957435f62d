//! Correlations as bytes, for pools.
//!
//! A party that computes keeps all of its shares, tags, MACs and keys. A party that deals computes on shapes, and keeps
//! only the values that it owns: its masks.

use quorate_engine::{Ctx, Error, Layout, Misuse, Packed, Result, Stocks, unpack_part};
use quorate_ot::Blocks;
use quorate_ring::{Bits, Ring, Vector, Wiped};

use crate::forms::{Form, SharedBits};
use crate::kind::{Kind, Material};
use crate::party::Authenticated;
use crate::tagged::Tagged;

const BLOCK_BYTES: usize = size_of::<u128>();
const SHORT: Misuse = Misuse::Other { what: "stored correlations have fewer bytes than their layout" };

impl Packed for Tagged {
    fn pack(&self, out: &mut Vec<u8>) {
        self.share.pack(out);
        self.tag.pack(out);
    }

    fn unpack(&mut self, bytes: &mut &[u8]) -> Result<()> {
        unpack_part(&mut *self.share, bytes)?;
        unpack_part(&mut *self.tag, bytes)
    }
}

impl Packed for SharedBits {
    fn pack(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Form::Elements(bits) => bits.elements.pack(out),
            Form::Macs(bits) => {
                bits.own.pack(out);
                let blocks = bits.peers.iter().flat_map(|peer| [&peer.macs, &peer.keys]);
                blocks.flat_map(Blocks::as_slice).for_each(|block| out.extend(block.to_le_bytes()));
            }
        }
    }

    fn unpack(&mut self, bytes: &mut &[u8]) -> Result<()> {
        match &mut self.0 {
            Form::Elements(bits) => bits.elements.unpack(bytes),
            Form::Macs(bits) => {
                unpack_part(&mut *bits.own, bytes)?;
                let blocks = bits.peers.iter_mut().flat_map(|peer| [&mut peer.macs, &mut peer.keys]);
                blocks.filter(|blocks| !blocks.is_shape()).try_for_each(|blocks| unpack_blocks(blocks, bytes))
            }
        }
    }
}

fn unpack_blocks(blocks: &mut Blocks, bytes: &mut &[u8]) -> Result<()> {
    let (own, rest) = bytes.split_at_checked(BLOCK_BYTES * blocks.len()).ok_or(SHORT)?;
    let (words, _) = own.as_chunks::<BLOCK_BYTES>();
    blocks.as_mut_slice().iter_mut().zip(words).for_each(|(block, word)| *block = u128::from_le_bytes(*word));
    *bytes = rest;
    Ok(())
}

/// The part of correlations of a kind that a party keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    All,
    /// The values, without tags and MACs.
    Values,
    Nothing,
}

impl Authenticated {
    fn kept(&self, kind: &Kind) -> Kept {
        if !self.keys.watches() {
            return Kept::All;
        }
        match *kind {
            Kind::Mask { owner, .. } | Kind::BitMask { owner } if owner == self.keys.me => Kept::Values,
            Kind::Triple { .. }
            | Kind::OneSided { .. }
            | Kind::KnownMatrices { .. }
            | Kind::Owned { .. }
            | Kind::OwnedMatrices { .. }
            | Kind::Random { .. }
            | Kind::Mask { .. }
            | Kind::BitTriple
            | Kind::BitMask { .. }
            | Kind::BitZero
            | Kind::Link
            | Kind::DaBit { .. }
            | Kind::RandomBit { .. }
            | Kind::EdaBit { .. }
            | Kind::ComparisonMask { .. }
            | Kind::DotTriple { .. }
            | Kind::MatrixTriple { .. }
            | Kind::ConvTriple { .. }
            | Kind::TruncMask { .. }
            | Kind::Place { .. } => Kept::Nothing,
        }
    }

    /// Returns the bytes of `len` packed correlations at this party.
    pub fn packed_bytes(&self, kind: &Kind, len: usize) -> usize {
        let (Layout { vectors, bits, blocks }, kept) = (kind.layout(), self.kept(kind));
        let (parts, peers) = match kept {
            Kept::All => (2, self.keys.parties - 1),
            Kept::Values => (1, 0),
            Kept::Nothing => return 0,
        };
        let shares = |ring: Ring, count: usize| parts * self.keys.params.shares(ring).packed_bytes(count);
        let of_bits = |rows: usize| match self.has_macs() {
            true => Bits::packed_bytes(rows, len) + 2 * BLOCK_BYTES * peers * rows * len,
            false => shares(Ring::of(1), rows * len),
        };
        let vectors = vectors.into_iter().map(|(ring, count)| shares(ring, count * len));
        let blocks = blocks.into_iter().map(|count| BLOCK_BYTES * count * len);
        vectors.chain(bits.into_iter().map(of_bits)).chain(blocks).sum()
    }

    /// Refuses to pack correlations while openings that were made for them wait for their check.
    ///
    /// # Errors
    /// [`Error::Bug`].
    pub fn check_made(&self, ctx: &Ctx) -> Result<()> {
        const UNCHECKED: Error = Error::Bug { what: "correlations for a pool before the check of their openings" };
        self.keys.in_use()?;
        if self.is_all_checked(ctx) { Ok(()) } else { Err(UNCHECKED) }
    }

    /// Appends correlations as bytes.
    pub fn pack(&self, material: &Material, out: &mut Vec<u8>) {
        material.pack(out);
    }

    /// Reads `len` correlations.
    ///
    /// # Errors
    /// [`Misuse`](quorate_engine::Misuse) unless `bytes` has exactly their bytes.
    pub fn unpack(&self, kind: &Kind, len: usize, bytes: &[u8]) -> Result<Material> {
        let (layout, kept) = (kind.layout(), self.kept(kind));
        let mut material = self.blank_material(kept != Kept::All, &layout, len);
        if kept == Kept::Values {
            for value in &mut material.vectors {
                value.share = Wiped(Vector::zeros(value.share.ring(), value.share.len()));
            }
            for bits in &mut material.bits {
                let (rows, lanes) = bits.shape();
                let Form::Macs(bits) = &mut bits.0 else { continue };
                bits.own = Wiped(Bits::zeros(rows, lanes));
            }
        }
        material.unpack(bytes)?;
        Ok(material)
    }
}
