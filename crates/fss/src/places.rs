//! Look-ups of hidden places in a public table by two parties, the same for all ways to make their keys.
//!
//! **Source**: Wagh, "Pika", PETS 2022, figure 3. **Notation**: X = i + r opened, i a place, r a key's point; D the
//! table. A side's summand of w D[i] is (-1)^p times the sum over j of y_p(X - j) D[j].

use std::sync::Arc;

use quorate_ring::meter::{self, Kernel};
use quorate_ring::{Ring, Vector, Wiped};

use crate::{Corrections, FssError, Hash, Keys, Roots, Shape, Side, Table, lookup};

/// A public table for look-ups at places that keys hide.
pub struct Places {
    shape: Shape,
    ring: Ring,
    len: usize,
    /// `None` in a dry run.
    table: Option<Arc<Table>>,
}

impl Places {
    /// Makes a table of `len` entries over this ring: one that is read [backwards](Table::backwards), or `None` in a
    /// dry run.
    ///
    /// # Panics
    /// If there are more entries than points.
    pub fn new(shape: Shape, ring: Ring, len: usize, table: Option<Arc<Table>>) -> Places {
        assert!(len as u64 - 1 <= shape.mask(), "a table of more entries than there are points");
        Places { shape, ring, len, table }
    }

    /// Returns the ring of the entries.
    pub fn ring(&self) -> Ring {
        self.ring
    }

    /// Returns this side's summand of w D[X - r] for each X in `opened`, for keys with these roots and [blocks of
    /// corrections](Corrections::to_blocks), both over 128 bits.
    ///
    /// # Errors
    /// [`FssError`] unless the numbers of roots, of corrections and of X match.
    pub fn sums(
        &self,
        hash: &Hash,
        side: Side,
        opened: &Vector,
        [roots, corrections]: [&Vector; 2],
    ) -> Result<Wiped<Vector>, FssError> {
        let count = opened.len();
        let Some(table) = self.table.as_ref().filter(|_| !opened.is_shape()) else {
            self.charge(count);
            return Ok(Wiped(Vector::shape(self.ring, count)));
        };
        let corrections = Corrections::from_blocks(self.shape, count, corrections.wide_words())?;
        let keys = Keys::new(Roots::new(side, roots.wide_words().to_vec()), corrections)?;
        let starts: Vec<u64> = opened.to_u64s().iter().map(|&x| table.start(x) & self.shape.mask()).collect();
        let sums = lookup(hash, &keys, &starts, table);
        Ok(Wiped((*sums.values).clone()))
    }

    /// Charges the costs of the sums: hashes of the tree, and passes over the table by four keys.
    fn charge(&self, count: usize) {
        let hashes = (self.len >> 7) + (self.len >> 9) + self.shape.bits() as usize;
        meter::charge(Kernel::Draw, 16 * hashes * count);
        meter::stream(self.len * (self.ring.bits() as usize).div_ceil(8) / 4 * count);
    }
}
