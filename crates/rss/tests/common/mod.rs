//! Parties, shares and oracles for the tests of this crate.
#![allow(dead_code)] // every test binary uses its own part

use std::fmt::Debug;

use quorate_crypto::SessionId;
#[allow(unused_imports)]
pub use quorate_engine::Stocks;
use quorate_engine::testing::parties;
use quorate_engine::{Costs, Ctx, Demand, Phase, Result, Run, dry};
use quorate_gadgets::testing;
#[allow(unused_imports)]
pub use quorate_gadgets::testing::{all, all_pairs, mask, noise, open, open_bits, share, share_bits, signed};
#[allow(unused_imports)]
pub use quorate_gadgets::{Family, MakesAhead};
use quorate_ring::{Bits, Vector};
use quorate_rss::{BitForm, CorrelationForm, Forms, Kind, Rss, Shared};

pub type A = Shared<Vector>;
pub type B = Shared<Bits>;

/// The session of parties with seeds that tests choose.
pub fn session() -> SessionId {
    SessionId::from_bytes([0; 32])
}

/// The paper's gadgets and correlations, for every number of parties.
pub const PAPER: Forms = Forms { bits: BitForm::Masked, correlations: CorrelationForm::Contributions };

/// Runs [`testing::run`] over `rss`.
pub fn run<T: Send>(n: usize, work: impl AsyncFn(&Rss, &Ctx) -> Result<T> + Sync) -> Vec<(T, Costs)> {
    testing::run(n, work)
}

/// Runs [`testing::agreed`] over `rss`.
pub fn agreed<T: Send + PartialEq + Debug>(n: usize, work: impl AsyncFn(&Rss, &Ctx) -> Result<T> + Sync) -> T {
    testing::agreed(n, work)
}

/// Runs `work` like [`run`], with the correlations of a dry run's demand made ahead.
pub fn run_stocked<T: Send>(n: usize, work: impl AsyncFn(&Rss, &Ctx) -> Result<T> + Sync) -> Vec<(T, Costs)> {
    parties(n, |mut party| {
        let rss: Rss = testing::ready(&mut party);
        let (demand, _) = dry_online(n, party.me(), &work);
        let mut run = party.begin_alone().unwrap();
        stock(&mut run, &rss, &demand);
        let out = run.phase(Phase::Online, async |ctx| work(&rss, ctx).await).unwrap();
        let costs = run.finish();
        party.leave(false);
        (out, costs)
    })
}

/// Makes the demanded correlations.
fn stock(run: &mut Run<'_>, rss: &Rss, demand: &Demand<Kind>) {
    run.phase(Phase::Offline, async |ctx| rss.make_all(ctx, demand.clone()).await).unwrap();
}

/// Runs the online phase dry; returns its demand and its costs.
pub fn dry_online<T>(n: usize, me: usize, work: &impl AsyncFn(&Rss, &Ctx) -> Result<T>) -> (Demand<Kind>, Costs) {
    let rss = Rss::dry(n, me).unwrap();
    rss.record_demand();
    let (_, costs) = dry::run(me, n, Phase::Online, async |ctx| work(&rss, ctx).await).unwrap();
    (rss.take_demand(), costs)
}

/// Makes a demand in a dry run; returns the costs.
pub fn dry_offline(n: usize, me: usize, demand: &Demand<Kind>) -> Costs {
    let rss = Rss::dry(n, me).unwrap();
    let prepare = async |ctx: &Ctx| rss.make_all(ctx, demand.clone()).await;
    dry::run(me, n, Phase::Offline, prepare).unwrap().1
}
