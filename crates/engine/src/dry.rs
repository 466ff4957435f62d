//! Dry runs: a program's own code on vectors without data, at one party, with nothing sent.
//!
//! A dry run gives exact rounds and bytes, and (through a backend's [`Ledger`](crate::Ledger)) the demand for
//! correlations. The costs of all parties need one dry run for each party, since a protocol may treat parties
//! differently.
//!
//! One party's dry run computes the depth of the others exactly if there are only two parties, or if all do the same.
//! Otherwise ([`Costs::apart`]) its rounds are a guess: [`together`] runs all parties, which exchange their depths.

use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use crate::costs::{Costs, Phase};
use crate::ctx::Ctx;
use crate::depth::Depth;
use crate::depth_board::Board;
use crate::error::{Error, Result};
use crate::scheduler::{Core, driven};

/// Runs one phase as party `me` of `parties`; lanes and uses are those of a real run.
pub fn run<T>(
    me: usize,
    parties: usize,
    phase: Phase,
    work: impl AsyncFnOnce(&Ctx) -> Result<T>,
) -> Result<(T, Costs)> {
    let core = Rc::new(Core::new(me, parties, None));
    let ctx = Ctx::root(core.clone(), phase, 0);
    let result = driven(work(&ctx), |poll| core.drive(poll))?;
    let costs = core.costs.borrow().clone();
    Ok((result, costs))
}

/// Runs one phase as all parties at once. Party i starts with `rounds[i]` rounds behind it. Returns results and costs
/// by party.
///
/// # Errors
/// The first error of any party.
pub fn together<T>(rounds: &[u32], phase: Phase, work: impl AsyncFn(&Ctx) -> Result<T>) -> Result<Vec<(T, Costs)>> {
    let (board, parties) = (Rc::new(Board::default()), rounds.len());
    let core = |(me, &own): (usize, &u32)| {
        let core = Core::dry_together(me, parties, board.clone());
        core.deepest(phase).set(Depth { own, others: 0 });
        Rc::new(core)
    };
    let cores: Vec<Rc<Core>> = rounds.iter().enumerate().map(core).collect();
    let lanes: Vec<Ctx> = cores.iter().map(|core| Ctx::root(core.clone(), phase, 0)).collect();
    let mut running: Vec<_> = lanes.iter().map(|ctx| Some(Box::pin(work(ctx)))).collect();
    let mut done: Vec<Option<T>> = (0..parties).map(|_| None).collect();
    let mut context = Context::from_waker(Waker::noop());
    while running.iter().any(Option::is_some) {
        let (told, left) = (board.told.get(), running.iter().flatten().count());
        for (party, future) in running.iter_mut().enumerate() {
            if let Some(Poll::Ready(result)) = future.as_mut().map(|future| future.as_mut().poll(&mut context)) {
                (done[party], *future) = (Some(result?), None);
            }
        }
        if told == board.told.get() && left == running.iter().flatten().count() {
            return Err(Error::bug("parties wait for each other in a dry run"));
        }
    }
    let costs = cores.iter().map(|core| core.costs.borrow().clone());
    Ok(done.into_iter().flatten().zip(costs).collect())
}
