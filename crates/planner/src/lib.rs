//! The planner: it chooses in which sharing each node of a run is computed, where a protocol offers several.
//!
//! Prices come from the caller, through [`Prices`], which also says how long pricing takes; the planner does not depend
//! on a protocol. All parties come to the same assignment. It depends on the program, on options that they share, and
//! on prices that they agreed on ([decision
//! 0021](../../../docs/decisions/0021-sharings-are-chosen-by-dry-runs.md)).
//!
//! | module | what belongs in it |
//! |---|---|
//! | `assign` | the decision: when planning pays, by the prices of steps or by those of whole runs |
//! | `outline` | the steps of a run and the sharings in which each can run |
//! | `book` | prices and plans that are known already |
//! | `prices` | what the planner asks of its caller |
//! | `problem` | priced steps, the seconds of an assignment, the search for the best one, and its rivals |
//! | `work` | the nodes of a run, its reveals, and the sharing of each node |
#![forbid(unsafe_code)]

mod assign;
mod book;
mod outline;
mod prices;
mod problem;
mod work;

pub use assign::{Chosen, Decision, Planner, Rivals};
pub use book::Book;
pub use outline::{Conditions, offered, pin};
pub use prices::Prices;
pub use problem::StepPrice;
pub use work::{Domains, Reveal, Work, native};
