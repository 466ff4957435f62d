//! Wire labels: 128 secret bits for each wire of each instance.

use quorate_crypto::{CryptoError, Prg, os_random};
use quorate_ring::Bits;
use zeroize::Zeroize;

use crate::GarbleError;

/// Bytes of a label.
pub const LABEL_BYTES: usize = 16;

/// The difference between the labels of 0 and of 1 on every wire: the garbler's secret. Its lowest bit is set, so that
/// the two differ in colour. Wiped on drop, never printed.
#[derive(Clone)]
pub struct Delta(u128);

impl Delta {
    /// Draws it from the operating system's generator.
    ///
    /// # Errors
    /// [`CryptoError::OsRandom`] if the system provides no randomness.
    pub fn random() -> Result<Delta, CryptoError> {
        let mut bytes = [0; LABEL_BYTES];
        os_random(&mut bytes)?;
        let delta = Delta(u128::from_le_bytes(bytes) | 1);
        bytes.zeroize();
        Ok(delta)
    }

    /// Takes the correlation of oblivious transfers, so that their messages are labels.
    ///
    /// # Errors
    /// [`GarbleError::EvenDelta`] unless its lowest bit is set.
    pub fn from_correlation(correlation: u128) -> Result<Delta, GarbleError> {
        if correlation & 1 == 0 { Err(GarbleError::EvenDelta) } else { Ok(Delta(correlation)) }
    }

    /// The secret, for the protocols that make labels.
    pub fn expose(&self) -> u128 {
        self.0
    }
}

impl Drop for Delta {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl std::fmt::Debug for Delta {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Delta(..)")
    }
}

/// A label for every wire of every instance. The garbler holds those of 0, the evaluator the active ones. A label's
/// *colour* is its lowest bit. Wiped on drop, never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Labels {
    instances: usize,
    wires: usize,
    /// The labels, wire by wire.
    blocks: Vec<u128>,
}

impl Labels {
    /// Returns zeros: labels of public constants, or room to write labels to.
    pub fn zeros(wires: usize, instances: usize) -> Labels {
        Labels { instances, wires, blocks: vec![0; wires * instances] }
    }

    /// Returns fresh labels, for inputs that get no labels from a protocol.
    pub fn random(prg: &mut Prg, wires: usize, instances: usize) -> Labels {
        let mut labels = Labels::zeros(wires, instances);
        prg.fill(bytemuck::cast_slice_mut(&mut labels.blocks));
        labels
    }

    /// Takes these labels, wire by wire.
    ///
    /// # Errors
    /// [`GarbleError::Shape`] unless their number matches the shape.
    pub fn from_blocks(wires: usize, instances: usize, blocks: Vec<u128>) -> Result<Labels, GarbleError> {
        if wires.checked_mul(instances) != Some(blocks.len()) {
            return Err(GarbleError::Shape { wires, instances, got_wires: 1, got_instances: blocks.len() });
        }
        Ok(Labels { instances, wires, blocks })
    }

    /// Reads the output of [`write_to`](Self::write_to).
    ///
    /// # Errors
    /// [`GarbleError::LabelBytes`] unless the number of bytes matches the shape; memory is allocated only then.
    pub fn from_bytes(wires: usize, instances: usize, bytes: &[u8]) -> Result<Labels, GarbleError> {
        let expected_bytes = (wires as u64).saturating_mul(instances as u64).saturating_mul(LABEL_BYTES as u64);
        if bytes.len() as u64 != expected_bytes {
            return Err(GarbleError::LabelBytes { expected_bytes, got_bytes: bytes.len() as u64 });
        }
        let mut labels = Labels::zeros(wires, instances);
        bytemuck::cast_slice_mut(&mut labels.blocks).copy_from_slice(bytes);
        Ok(labels)
    }

    /// Writes the labels, 16 bytes each, wire by wire.
    ///
    /// # Panics
    /// Unless `out` has exactly the bytes of the labels.
    pub fn write_to(&self, out: &mut [u8]) {
        out.copy_from_slice(bytemuck::cast_slice(&self.blocks));
    }

    /// The number of wires.
    pub fn wires(&self) -> usize {
        self.wires
    }

    /// The number of instances.
    pub fn instances(&self) -> usize {
        self.instances
    }

    /// All labels, wire by wire.
    pub fn blocks(&self) -> &[u128] {
        &self.blocks
    }

    /// The labels of one wire, an instance each.
    ///
    /// # Panics
    /// Unless there is such a wire.
    pub fn wire(&self, wire: usize) -> &[u128] {
        &self.blocks[wire * self.instances..(wire + 1) * self.instances]
    }

    /// The labels of one wire, to be written, an instance each.
    ///
    /// # Panics
    /// Unless there is such a wire.
    pub fn wire_mut(&mut self, wire: usize) -> &mut [u128] {
        &mut self.blocks[wire * self.instances..(wire + 1) * self.instances]
    }

    /// Returns the wires of all parts, one part after the other.
    ///
    /// # Errors
    /// [`GarbleError::Shape`] unless all parts have the same number of instances.
    pub fn concat_wires(parts: &[&Labels]) -> Result<Labels, GarbleError> {
        let instances = parts.first().map_or(0, |part| part.instances);
        let wires = parts.iter().map(|part| part.wires).sum();
        let mut blocks = Vec::with_capacity(wires * instances);
        for part in parts {
            part.expect(part.wires, instances)?;
            blocks.extend_from_slice(&part.blocks);
        }
        Ok(Labels { instances, wires, blocks })
    }

    /// Xors label by label: with labels of 0 this is the garbler's part of a free xor, with active ones the
    /// evaluator's.
    ///
    /// # Errors
    /// [`GarbleError::Shape`] unless both have one shape.
    pub fn xor_assign(&mut self, other: &Labels) -> Result<(), GarbleError> {
        other.expect(self.wires, self.instances)?;
        self.blocks.iter_mut().zip(&other.blocks).for_each(|(to, from)| *to ^= from);
        Ok(())
    }

    /// Returns the labels for these bits, from those of 0: bit (w, i) of wire w in instance i.
    ///
    /// # Errors
    /// [`GarbleError::Shape`] unless there is a bit for each label.
    pub fn encode(&self, delta: &Delta, bits: &Bits) -> Result<Labels, GarbleError> {
        let mut active = self.clone();
        active.shift(delta, bits)?;
        Ok(active)
    }

    /// Adds `delta` where a bit is set: turns labels of 0 into active ones, or the reverse.
    ///
    /// # Errors
    /// [`GarbleError::Shape`] unless there is a bit for each label.
    pub fn shift(&mut self, delta: &Delta, bits: &Bits) -> Result<(), GarbleError> {
        self.expect(bits.rows(), bits.lanes())?;
        for wire in 0..self.wires {
            let words = bits.words_of(wire);
            for (i, label) in self.wire_mut(wire).iter_mut().enumerate() {
                *label ^= delta.0 & mask(u128::from(words[i / 64] >> (i % 64)));
            }
        }
        Ok(())
    }

    /// Returns the colours: shares of the values, if one side holds labels of 0 and the other active ones.
    pub fn colours(&self) -> Bits {
        let mut bits = Bits::zeros(self.wires, self.instances);
        for wire in 0..self.wires {
            let words = bits.words_of_mut(wire);
            for (i, label) in self.wire(wire).iter().enumerate() {
                words[i / 64] |= ((*label & 1) as u64) << (i % 64);
            }
        }
        bits
    }

    /// Reads active labels that the evaluator sent back, given those of 0. This also proves that the evaluator
    /// evaluated: it can make up neither label of a wire that it did not reach.
    ///
    /// # Errors
    /// [`GarbleError::NotALabel`] if one is neither label; the error does not reveal which. [`GarbleError::Shape`].
    pub fn open(&self, delta: &Delta, active: &Labels) -> Result<Bits, GarbleError> {
        active.expect(self.wires, self.instances)?;
        let mut difference = self.clone();
        difference.xor_assign(active)?;
        // The difference is 0 or delta; in either case, nothing is left once delta is taken off where the colour
        // differs.
        let strange = difference.blocks.iter().fold(0, |strange, &d| strange | (d ^ (delta.0 & mask(d))));
        if strange != 0 { Err(GarbleError::NotALabel) } else { Ok(difference.colours()) }
    }

    /// Checks the shape; the error has both shapes.
    pub(crate) fn expect(&self, wires: usize, instances: usize) -> Result<(), GarbleError> {
        let (got_wires, got_instances) = (self.wires, self.instances);
        match (got_wires, got_instances) == (wires, instances) {
            true => Ok(()),
            false => Err(GarbleError::Shape { wires, instances, got_wires, got_instances }),
        }
    }
}

impl Drop for Labels {
    fn drop(&mut self) {
        wipe(&mut self.blocks);
    }
}

/// Overwrites labels with zeros, many at once, even if they are not read afterwards.
pub(crate) fn wipe(blocks: &mut [u128]) {
    blocks.fill(0);
    zeroize::optimization_barrier(blocks);
}

impl std::fmt::Debug for Labels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "labels of {} wires in {} instances", self.wires, self.instances)
    }
}

/// Returns all ones if the lowest bit is set, else zeros.
#[inline(always)]
pub(crate) fn mask(label: u128) -> u128 {
    let half = ((label & 1) as u64).wrapping_neg();
    u128::from(half) << 64 | u128::from(half)
}
