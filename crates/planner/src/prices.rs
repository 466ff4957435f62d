//! What the planner asks of its caller: predicted costs, which all parties predict alike.

use quorate_graph::{Domain, Graph, NodeId};

use crate::problem::StepPrice;
use crate::work::Work;

/// The source of prices. All parties return equal numbers, or their plans differ.
///
/// A [`Book`](crate::Book) keeps prices, and which of them a party finds there depends on its earlier requests. So a
/// price may depend only on what is named here, and on what stays the same throughout a session.
pub trait Prices {
    /// The error of a prediction.
    type Error;

    /// Returns the seconds of a round in which hardly anything is sent.
    fn round_seconds(&self) -> f64;

    /// Returns the price of node `id` in a sharing, with its operands in that sharing. It depends only on the node's
    /// [`Graph::step_hash`] and the sharing.
    ///
    /// # Errors
    /// Any error of the prediction.
    fn step(&self, graph: &Graph, id: NodeId, domain: Domain) -> Result<StepPrice, Self::Error>;

    /// Returns the price of converting the value of node `id` from one sharing to another. It depends only on the bits
    /// of the node's dtype, its [`Graph::width`], the number of its elements, and the two sharings.
    ///
    /// # Errors
    /// Any error of the prediction.
    fn conversion(&self, graph: &Graph, id: NodeId, from: Domain, to: Domain) -> Result<StepPrice, Self::Error>;

    /// Returns the seconds of a run; the offline phase is weighed. They depend only on the steps by their
    /// [`Graph::step_hash`], the operands and the sharing of each, and the reveals.
    ///
    /// # Errors
    /// Any error of the prediction.
    fn whole(&self, work: &Work<'_>) -> Result<f64, Self::Error>;

    /// Returns the approximate seconds that it takes to price a step of this number of rounds in one sharing, with the
    /// conversions from and to it. It is a formula, since the parties' clocks differ.
    fn seconds_to_price(&self, rounds: u32) -> f64;

    /// Returns the approximate seconds that [`Prices::whole`] takes for this number of steps and of rounds. It is a
    /// formula, since the parties' clocks differ.
    fn seconds_to_price_whole(&self, steps: usize, rounds: u32) -> f64;
}
