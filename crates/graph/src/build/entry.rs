//! The entry of clients' values where parties may cheat: random combinations, by which parties show each other that
//! they input what clients gave them, and rows that count.

use super::{Builder, Built};
use crate::dtype::Dtype;
use crate::error::Fault;
use crate::node::{Node, NodeId, Op};

/// The dtype and the number of words of a seed.
const SEED: Dtype = Dtype::Uint { bits: 32 };
const SEED_WORDS: usize = 8;

impl Builder<'_> {
    /// Builds random combinations of what each holder inputs: arrays of unsigned integers with a row for each place,
    /// whose last `rows` elements are masks. The other elements are multiplied by coins of `coin_bits` bits, drawn from
    /// the exclusive or of all seeds, which are arrays of 8 unsigned integers of 32 bits. The result has one axis: for
    /// each of these elements `rows` coins; then for each holder and place `rows` sums of products, each plus a mask.
    ///
    /// # Errors
    /// [`Fault::EntryArrays`]: no holder, arrays of unlike shapes or dtypes, no mask, or coins wider than the ring.
    pub fn combined(&mut self, held: &[NodeId], seeds: &[NodeId], rows: usize, coin_bits: u32) -> Built {
        self.attempt(|b| b.build_combined(held, seeds, rows, coin_bits))
    }

    /// Builds the rows of `a` that count: the others are zeros. Each party states a bit for each row; all bits are
    /// opened, and the run ends unless all parties state the same.
    ///
    /// # Errors
    /// [`Fault::EntryArrays`]: numbers without a sign, and bits for their rows, are needed.
    pub fn counted(&mut self, a: NodeId, stated: &[NodeId]) -> Built {
        self.attempt(|b| b.build_counted(a, stated))
    }

    fn build_combined(
        &mut self,
        held: &[NodeId],
        seeds: &[NodeId],
        rows: usize,
        coin_bits: u32,
    ) -> Result<NodeId, Fault> {
        let first = self.graph.get(*held.first().ok_or(Fault::EntryArrays)?)?;
        let (dtype, shape) = (first.dtype, first.shape.clone());
        let &[places, row] = shape.as_slice() else { return Err(Fault::EntryArrays) };
        let fits = dtype.is_unsigned() && (1..=dtype.bits().min(64)).contains(&coin_bits) && (1..row).contains(&rows);
        let alike = |b: &Self, ids: &[NodeId], dtype, shape: &[usize]| {
            ids.iter().try_fold(true, |all, &id| {
                b.graph.get(id).map(|node| all && node.dtype == dtype && node.shape.as_slice() == shape)
            })
        };
        if !fits || !alike(self, held, dtype, &shape)? || seeds.is_empty() || !alike(self, seeds, SEED, &[SEED_WORDS])?
        {
            return Err(Fault::EntryArrays);
        }
        let elements = rows * (row - rows) + held.len() * places * rows;
        let op = Op::Combined { holders: held.len(), rows, coin_bits };
        self.graph.append(Node::new(op, [held, seeds].concat(), vec![elements], dtype, &self.at))
    }

    fn build_counted(&mut self, a: NodeId, stated: &[NodeId]) -> Result<NodeId, Fault> {
        let node = self.graph.get(a)?;
        let (dtype, shape) = (node.dtype, node.shape.clone());
        let rows = shape.first().map(|rows| vec![*rows]);
        let fits =
            |id: &NodeId| self.graph.get(*id).map(|node| node.dtype == Dtype::Bit && Some(node.shape.to_vec()) == rows);
        let all_fit = stated.iter().try_fold(!stated.is_empty(), |all, id| fits(id).map(|fits| all && fits))?;
        if !all_fit || !dtype.is_unsigned() {
            return Err(Fault::EntryArrays);
        }
        let operands = [&[a], stated].concat();
        self.graph.push(Op::Counted, operands, shape.to_vec(), dtype, &self.at)
    }
}
