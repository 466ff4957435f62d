//! Parties, shares and oracles for the tests of this crate.
#![allow(dead_code)] // every test binary uses its own part

use std::fmt::Debug;

use quorate_aby::{Aby, Garbling, Kind, Share, YaoLabels};
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

pub type A = Share<Vector>;
pub type B = Share<Bits>;

/// Runs [`testing::run`] over `aby`.
pub fn run<T: Send>(work: impl AsyncFn(&Aby, &Ctx) -> Result<T> + Sync) -> Vec<(T, Costs)> {
    testing::run(2, work)
}

/// Runs [`testing::agreed`] over `aby`.
pub fn agreed<T: Send + PartialEq + Debug>(work: impl AsyncFn(&Aby, &Ctx) -> Result<T> + Sync) -> T {
    testing::agreed(2, work)
}

/// Runs `work` with correlations made ahead, and then on demand, in one session; returns the costs of both.
pub fn run_both<T: Send>(work: impl AsyncFn(&Aby, &Ctx) -> Result<T> + Sync) -> Vec<[Costs; 2]> {
    parties(2, |mut party| {
        let aby: Aby = testing::ready(&mut party);
        let (demand, _) = dry_online(party.me(), &work);
        let costs = [true, false].map(|ahead| {
            let mut run = party.begin_alone().unwrap();
            if ahead {
                stock(&mut run, &aby, &demand);
            } else {
                aby.forget();
            }
            run.phase(Phase::Online, async |ctx| work(&aby, ctx).await).unwrap();
            run.finish()
        });
        party.leave(false);
        costs
    })
}

/// Makes the correlations of a demand.
fn stock(run: &mut Run<'_>, aby: &Aby, demand: &Demand<Kind>) {
    run.phase(Phase::Offline, async |ctx| aby.make_all(ctx, demand.clone()).await).unwrap();
}

/// Dry-runs the online phase; returns its demand and its costs.
pub fn dry_online<T>(me: usize, work: &impl AsyncFn(&Aby, &Ctx) -> Result<T>) -> (Demand<Kind>, Costs) {
    let aby = Aby::dry(2, me).unwrap();
    dry_online_of(&aby, me, work)
}

/// Dry-runs the online phase of a given party, as [`dry_online`] does.
pub fn dry_online_of<T>(aby: &Aby, me: usize, work: &impl AsyncFn(&Aby, &Ctx) -> Result<T>) -> (Demand<Kind>, Costs) {
    aby.record_demand();
    let (_, costs) = dry::run(me, 2, Phase::Online, async |ctx| work(aby, ctx).await).unwrap();
    (aby.take_demand(), costs)
}

/// Makes correlations, and garbles ahead the circuits of `online`, which is the garbler's work alone.
pub async fn make_ahead<T>(
    aby: &Aby,
    ctx: &Ctx,
    demand: Demand<Kind>,
    online: impl AsyncFn(&Aby, &Ctx) -> Result<T>,
) -> Result<Option<T>> {
    aby.make_all(ctx, demand).await?;
    aby.garble_ahead(ctx, async |ctx: &Ctx| online(aby, ctx).await).await
}

/// Runs `values`, and then `labels` on its result; the garbler does the latter ahead. Returns the phases' costs.
pub fn run_ahead<V, T: Send>(
    values: impl AsyncFn(&Aby, &Ctx) -> Result<V> + Sync,
    labels: impl AsyncFn(&Aby, &Ctx, &V) -> Result<YaoLabels> + Sync,
    result: impl AsyncFn(&Aby, &Ctx, &YaoLabels) -> Result<T> + Sync,
) -> Vec<(T, Costs)> {
    let first = async |aby: &Aby, ctx: &Ctx| labels(aby, ctx, &values(aby, ctx).await?).await;
    let online = async |aby: &Aby, ctx: &Ctx, made: Option<YaoLabels>| {
        let here = first(aby, ctx).await?;
        result(aby, ctx, &made.unwrap_or(here)).await
    };
    parties(2, |mut party| {
        let aby: Aby = testing::ready(&mut party);
        aby.set_garbling(Garbling::Ahead);
        let dry = Aby::dry(2, party.me()).unwrap();
        dry.set_garbling(Garbling::Ahead);
        let (demand, planned) = dry_online_of(&dry, party.me(), &async |aby, ctx| online(aby, ctx, None).await);
        let mut offline = dry_offline_of(&dry, party.me(), &demand);
        offline.online = planned.online;
        let mut run = party.begin_alone().unwrap();
        let made = run.phase(Phase::Offline, async |ctx| make_ahead(&aby, ctx, demand, &first).await).unwrap();
        let out = run.phase(Phase::Online, async |ctx| online(&aby, ctx, made).await).unwrap();
        let costs = run.finish();
        party.leave(false);
        assert_eq!((&costs.offline, &costs.online), (&offline.offline, &offline.online), "planned and measured");
        (out, costs)
    })
}

/// Returns the cost of making a demand, by a dry run.
pub fn dry_offline(me: usize, demand: &Demand<Kind>) -> Costs {
    dry_offline_of(&Aby::dry(2, me).unwrap(), me, demand)
}

/// Returns the cost of making `demand`, as [`dry_offline`] does, for the party by which it was recorded.
pub fn dry_offline_of(aby: &Aby, me: usize, demand: &Demand<Kind>) -> Costs {
    let nothing = async |_: &Aby, _: &Ctx| Ok(());
    let prepare = async |ctx: &Ctx| make_ahead(aby, ctx, demand.clone(), nothing).await.map(|_| ());
    dry::run(me, 2, Phase::Offline, prepare).unwrap().1
}
