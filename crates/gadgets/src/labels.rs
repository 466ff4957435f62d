//! Yao's sharing: labels of wires, on which circuits run in a constant number of rounds.
//!
//! A backend that garbles names its type of labels as [`Garbles::Y`]; one that does not names [`NoLabels`].

use quorate_circuits::Program;
use quorate_engine::{Ctx, Error, Misuse, Positions, Result};
use quorate_ring::Bits;

use crate::Gadgets;

/// One party's labels of a matrix of wires, of rows and lanes like bits.
pub trait Labels: Clone + Send + Sync {
    /// Returns the numbers of rows and lanes.
    fn shape(&self) -> (usize, usize);
    /// Returns the rows at these positions, which may repeat.
    fn gather_rows(&self, rows: &[u32]) -> Self;
    /// Returns the lanes at these positions, which may repeat.
    fn gather_lanes(&self, lanes: &Positions<'_>) -> Self;
    /// Stacks the rows of all parts (at least one), in order.
    fn concat_rows(parts: &[&Self]) -> Self;
    /// Puts the lanes of all parts (at least one) side by side.
    fn concat_lanes(parts: &[&Self]) -> Self;
    /// Splits the only row into `rows` rows: row r, lane l is lane `l * rows + r`.
    fn lanes_to_rows(&self, rows: usize) -> Self;
    /// Undoes [`Labels::lanes_to_rows`].
    fn rows_to_lanes(&self) -> Self;
}

/// Garbled circuits in addition to the sharing. The default bodies are those of a protocol that does not garble:
/// everything that makes labels fails.
#[allow(async_fn_in_trait)] // futures are single-threaded on purpose
pub trait Garbles: Gadgets {
    /// Labels of wires.
    type Y: Labels;

    /// Whether the protocol garbles.
    const GARBLES: bool = false;

    /// Returns public bits as labels.
    ///
    /// # Errors
    /// [`Misuse`](quorate_engine::Misuse) if the protocol does not garble, as in all methods of this trait that return
    /// a result.
    fn public_labels(&self, _bits: &Bits) -> Result<Self::Y> {
        Err(NO_LABELS)
    }

    /// Converts one party's bits to labels; `value` is `Some` exactly at the owner (ignored in a dry run).
    async fn input_labels(
        &self,
        ctx: &Ctx,
        owner: usize,
        shape: (usize, usize),
        value: Option<&Bits>,
    ) -> Result<Self::Y> {
        self.bits_to_labels(ctx, &self.input_bits(ctx, owner, shape, value).await?).await
    }

    /// Converts bits to labels: B2Y.
    async fn bits_to_labels(&self, _ctx: &Ctx, _x: &Self::B) -> Result<Self::Y> {
        Err(NO_LABELS)
    }

    /// Converts labels to bits, locally: Y2B.
    fn labels_to_bits(&self, _x: &Self::Y) -> Result<Self::B> {
        Err(NO_LABELS)
    }

    /// Converts the bits of x to labels, one row for each bit: A2Y.
    async fn ring_to_labels(&self, ctx: &Ctx, x: &Self::A) -> Result<Self::Y> {
        self.bits_to_labels(ctx, &self.bit_decompose(ctx, x).await?).await
    }

    /// Returns the outputs of a circuit for inputs as labels: a row for each wire.
    async fn garble(&self, _ctx: &Ctx, _program: &Program, _inputs: &Self::Y) -> Result<Self::Y> {
        Err(NO_LABELS)
    }
}

/// The error of a protocol that does not garble.
const NO_LABELS: Error =
    Error::Misuse { what: Misuse::Other { what: "Yao's sharing, which this protocol does not have" } };

/// The labels of a protocol without labels: this type has no values.
#[derive(Clone)]
pub enum NoLabels {}

/// Returns some part of a concatenation of at least one.
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

    fn gather_lanes(&self, _: &Positions<'_>) -> Self {
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
