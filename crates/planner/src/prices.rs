//! What the planner asks of its caller: predicted costs, which all parties predict alike.

use quorate_graph::{Domain, Graph, NodeId};

use crate::problem::StepPrice;
use crate::work::Work;

/// The source of prices. All parties return equal numbers.
pub trait Prices {
    /// The error of a prediction.
    type Error;

    /// Returns the number of parties.
    fn parties(&self) -> usize;

    /// Returns the seconds of a round in which hardly anything is sent.
    fn round_seconds(&self) -> f64;

    /// Returns the price of node `id` in a sharing, with its operands in that sharing.
    ///
    /// # Errors
    /// Any error of the prediction.
    fn step(&self, graph: &Graph, id: NodeId, domain: Domain) -> Result<StepPrice, Self::Error>;

    /// Returns the price of converting the value of node `id` from one sharing to another.
    ///
    /// # Errors
    /// Any error of the prediction.
    fn conversion(&self, graph: &Graph, id: NodeId, from: Domain, to: Domain) -> Result<StepPrice, Self::Error>;

    /// Returns the seconds of a run; the offline phase is weighed.
    ///
    /// # Errors
    /// Any error of the prediction.
    fn whole(&self, work: &Work<'_>) -> Result<f64, Self::Error>;
}
