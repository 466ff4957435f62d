//! A party of a computation: deterministic scheduling, lanes, causal rounds, flow control, costs, one abort for all.
//!
//! Protocols are async functions over vectors. They communicate through a [`Ctx`], never through a socket. A [`Ctx`]
//! has the party's number, its *lane* and its *depth*. [`Party`] runs protocols over real links. [`dry::run`] runs the
//! same functions on *shapes*: vectors that have a ring and a length but no data. This gives their exact rounds, bytes
//! and demand for correlations before anything is sent.
//!
//! - A *lane* is a sequence of steps with messages of its own. Lanes fork, and parallel lanes share rounds.
//! - The *depth* of a lane is the number of messages in the longest chain that led to its present state. Rounds are
//!   counted by it.
//! - Parties call a function *in step* if each of them calls it at the same place in the sequence of calls on its lane.
//! - A *draw* is one use of correlations. Its name is (lane, use): all parties number the uses of a lane alike.
//! - A *family* is a way to share and compute. Its *backend*, the type that does so at one party, implements
//!   [`Sharing`], and [`Stocks`] for its correlations.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod alike;
mod alone;
mod among;
mod attempts;
mod bell;
mod calibrate;
pub mod clock;
mod confirm;
mod correlations;
mod costs;
mod counting;
mod crew;
mod ctx;
mod depth;
mod depth_board;
pub mod dry;
mod elsewhere;
mod error;
mod fork;
mod handshake;
mod held;
#[cfg(test)]
mod hostile_tests;
mod job_clock;
mod lane;
mod lane_table;
mod linear;
mod lockstep;
mod making;
mod making_clock;
mod oneway;
mod opened;
mod openings;
mod owner;
mod pace;
mod packed;
mod party;
mod patience;
mod permutation;
mod plans;
mod rates;
mod scheduler;
mod sending;
mod sharing;
mod slot;
mod steps;
mod stock;
mod stream;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod together;
mod toss;
mod turn_by_turn;
mod turns;
mod wire;

pub use alike::InTurn;
pub use attempts::{BRANCH_RUNS, BRANCHES, SIDES};
pub use correlations::{Demand, Draw, Ledger, Request};
pub use costs::{Costs, Phase, StepCosts, Traffic};
pub use ctx::{Ctx, Randomness, Stream};
pub use depth::Depth;
pub use elsewhere::counted_as_shared;
pub use error::{Cause, Error, Fault, Mismatch, Misuse, Result, Step};
pub use fork::Join;
pub use handshake::{Agreement, Greeting, Trace};
pub use held::Held;
pub use job_clock::JobSeconds;
pub use lane::LaneId;
pub use linear::{Axis, Linear, LinearBits, Positions, RowStep, Update, UpdateBits};
pub use making_clock::Making;
pub use oneway::Incoming;
pub use opened::{Believed, Checked, Opened};
pub use openings::Openings;
pub use owner::{check_owner, check_party};
pub use pace::Pace;
pub use packed::{Packed, unpack_part};
pub use party::{Party, Run};
pub use permutation::{SHUFFLED_ELEMENTS, check_rows};
pub use rates::Rates;
pub use sharing::{ComparisonMasks, EdaBits, Form, Sharing, TruncMasks, check_edabit_cut};
pub use slot::Slot;
pub use steps::Steps;
pub use stock::{Layout, Material, MaterialOf, Stock, Stocks, Stored};
pub use stream::Chunks;
pub use turns::Turn;
