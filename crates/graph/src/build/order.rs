//! Rows in the order of keys.

use super::{Builder, Built};
use crate::error::Fault;
use crate::graph::Graph;
use crate::interval::Interval;
use crate::node::{NodeId, Op};
use crate::rules::Truncation;
use crate::shape;

/// Where steps may be garbled, up to this many rows are sorted by a network: it takes two messages then.
const FEW_TO_GARBLE: usize = 256;

impl Graph {
    /// Returns the range of sort keys. Opened comparisons are independent of the data only if it holds, so it is the
    /// dtype's where truncation may fail, with however small a probability.
    pub fn key_range(&self, key: NodeId) -> Interval {
        let node = self.node(key);
        if self.rules().truncation == Truncation::Probabilistic { node.dtype.range() } else { node.range() }
    }

    /// Returns whether the family puts rows in the order of these keys: its parties follow the protocol, so that opened
    /// comparisons are no reveal; its widest ring holds keys with their places and a spare bit; and garbling is no
    /// choice.
    pub fn can_order(&self, key: NodeId) -> bool {
        let (rows, rules) = (self.node(key).elements(), self.rules());
        let place_bits = rows.next_power_of_two().trailing_zeros();
        let fits = self.key_range(key).span_bits() + place_bits < rules.rings.most_bits;
        let is_garbled = rules.may_garble && rows <= FEW_TO_GARBLE;
        !rules.proves_bounds && fits && !is_garbled
    }
}

impl Builder<'_> {
    /// Builds the order of all arrays by the key, which has one number for each row (of the first axis). The result is
    /// the key itself if that is public. [`Builder::in_order`] takes arrays out.
    ///
    /// # Errors
    /// Arrays of other numbers of rows; a key for which [`Graph::can_order`] does not hold.
    pub fn order(&mut self, arrays: &[NodeId], key: NodeId, descending: bool) -> Built {
        self.attempt(|b| b.build_order(arrays, key, descending))
    }

    /// Builds array `index` of an order; equal keys keep their order. Public keys only move rows.
    pub fn in_order(&mut self, order: NodeId, index: usize, array: NodeId, descending: bool) -> Built {
        self.attempt(|b| match b.graph.get(order)?.is_public() {
            true => b.build_moved(array, order, descending),
            false => b.build_part(order, index),
        })
    }

    fn build_order(&mut self, arrays: &[NodeId], key: NodeId, descending: bool) -> Result<NodeId, Fault> {
        let all = [arrays, &[key]].concat();
        let (rows, total, widest) = self.together(&all)?;
        let node = self.graph.get(key)?;
        if node.elements() != rows {
            return Err(Fault::ShuffleShapes { first: [rows].as_slice().into(), shape: node.shape.as_slice().into() });
        }
        if node.is_public() {
            return Ok(key);
        }
        if !self.graph.can_order(key) {
            return Err(Fault::NoOrder { dtype: node.dtype });
        }
        let total = total - node.elements();
        self.graph.push(Op::Order { rows, descending }, all, vec![total], widest, &self.at)
    }

    /// Builds the rows of an array in the order of a public key.
    fn build_moved(&mut self, array: NodeId, key: NodeId, descending: bool) -> Result<NodeId, Fault> {
        let keys = self.graph.node(key).constant().ok_or(Fault::NoOrder { dtype: self.graph.node(key).dtype })?;
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        order.sort_by_key(|&row| if descending { -keys[row as usize] } else { keys[row as usize] });
        let to = self.graph.get(array)?.shape.clone();
        let width = shape::numbered(&to)? / keys.len().max(1);
        let row = |&row: &u32| (0..width as u32).map(move |i| row * width as u32 + i);
        self.build_gather(array, order.iter().flat_map(row).collect(), &to)
    }
}
