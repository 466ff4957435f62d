//! Dry runs: a program's own code on vectors without data, at one party, with nothing sent.
//!
//! Gives exact rounds and bytes, and (through a backend's [`Ledger`](crate::Ledger)) the demand for correlations. Costs
//! of all parties take one dry run each, since a protocol may treat parties differently.

use std::rc::Rc;

use crate::costs::{Costs, Phase};
use crate::ctx::Ctx;
use crate::depth::Depth;
use crate::error::Result;
use crate::scheduler::Core;

/// Runs one phase as party `me` of `parties`; lanes and uses are those of a real run.
pub fn run<T>(
    me: usize,
    parties: usize,
    phase: Phase,
    work: impl AsyncFnOnce(&Ctx) -> Result<T>,
) -> Result<(T, Costs)> {
    run_after(me, parties, phase, [0, 0], work)
}

/// [`run`] where this party and the others have so many rounds behind them, which those counted include: how many come
/// on top of whose tells whom a step waits for.
pub fn run_after<T>(
    me: usize,
    parties: usize,
    phase: Phase,
    [own, others]: [u32; 2],
    work: impl AsyncFnOnce(&Ctx) -> Result<T>,
) -> Result<(T, Costs)> {
    let core = Rc::new(Core::new(me, parties, None));
    core.deepest(phase).set(Depth { own, others });
    let ctx = Ctx::root(core.clone(), phase, 0);
    let result = core.drive(work(&ctx))?;
    let costs = core.costs.borrow().clone();
    Ok((result, costs))
}
