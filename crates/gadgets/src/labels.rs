//! Yao's sharing beside the others: labels of wires, on which circuits run in a constant number of rounds.
//!
//! A backend that garbles names its labels as [`Gadgets::Y`](crate::Gadgets::Y); one that does not, [`NoLabels`].

use quorate_engine::{Error, Misuse};

/// One party's labels of a matrix of wires: rows by lanes, as bits are.
pub trait Labels: Clone {
    /// Rows and lanes.
    fn shape(&self) -> (usize, usize);
    /// The rows at these positions, which may repeat.
    fn gather_rows(&self, rows: &[u32]) -> Self;
    /// The lanes at these positions, which may repeat.
    fn gather_lanes(&self, lanes: &[u32]) -> Self;
    /// Rows of all parts, at least one, one below the other.
    fn concat_rows(parts: &[&Self]) -> Self;
    /// Lanes of all parts, at least one, side by side.
    fn concat_lanes(parts: &[&Self]) -> Self;
    /// The only row, of so many lanes at a time, as one row for each of these: row r, lane l is lane `l * rows + r`.
    fn lanes_to_rows(&self, rows: usize) -> Self;
    /// Undoes [`Labels::lanes_to_rows`].
    fn rows_to_lanes(&self) -> Self;
}

/// What a protocol says that does not garble.
pub const NO_LABELS: Error =
    Error::Misuse { what: Misuse::Other { what: "Yao's sharing, which this protocol has not" } };

/// The labels of a protocol that has none: there are no values of this type.
#[derive(Clone)]
pub enum NoLabels {}

/// Some part of a join of at least one.
fn any(parts: &[&NoLabels]) -> NoLabels {
    match parts.first() {
        Some(never) => match **never {},
        None => panic!("nothing to join"),
    }
}

impl Labels for NoLabels {
    fn shape(&self) -> (usize, usize) {
        match *self {}
    }

    fn gather_rows(&self, _: &[u32]) -> Self {
        match *self {}
    }

    fn gather_lanes(&self, _: &[u32]) -> Self {
        match *self {}
    }

    fn concat_rows(parts: &[&Self]) -> Self {
        any(parts)
    }

    fn concat_lanes(parts: &[&Self]) -> Self {
        any(parts)
    }

    fn lanes_to_rows(&self, _: usize) -> Self {
        match *self {}
    }

    fn rows_to_lanes(&self) -> Self {
        match *self {}
    }
}
