//! Parties, shares and oracles for the tests of this crate.
#![allow(dead_code)]

use std::fmt::Debug;

#[allow(unused_imports)]
pub use quorate_engine::Stocks;
use quorate_engine::testing::parties;
use quorate_engine::{Costs, Ctx, Demand, Phase, Result, dry};
use quorate_gadgets::testing;
#[allow(unused_imports)]
pub use quorate_gadgets::testing::{
    all, all_pairs, mask, noise, open, open_bits, share, share_bits, shown, shown_bits, signed,
};
#[allow(unused_imports)]
pub use quorate_gadgets::{Family, MakesAhead};
use quorate_pika::{Comparisons, Kind, Pika, Share};
use quorate_ring::{Bits, Vector};

pub const N: usize = 3;

pub type A = Share<Vector>;
pub type B = Share<Bits>;

/// [`testing::run`] over `pika`.
pub fn run<T: Send>(work: impl AsyncFn(&Pika, &Ctx) -> Result<T> + Sync) -> Vec<(T, Costs)> {
    testing::run(N, work)
}

/// [`testing::agreed`] over `pika`.
pub fn agreed<T: Send + PartialEq + Debug>(work: impl AsyncFn(&Pika, &Ctx) -> Result<T> + Sync) -> T {
    testing::agreed(N, work)
}

/// Runs `work` with correlations made ahead, and then on demand, in one session; returns the costs of both.
pub fn run_both<T: Send>(work: impl AsyncFn(&Pika, &Ctx) -> Result<T> + Sync) -> Vec<[Costs; 2]> {
    let demand = demand_of_all(&work);
    parties(N, |mut party| {
        let pika: Pika = testing::ready(&mut party);
        let costs = [true, false].map(|ahead| {
            let mut run = party.begin_alone().unwrap();
            match ahead {
                true => {
                    run.phase(Phase::Offline, async |ctx| pika.make_all(ctx, demand.clone()).await).unwrap();
                }
                false => pika.forget(),
            }
            run.phase(Phase::Online, async |ctx| work(&pika, ctx).await).unwrap();
            run.finish()
        });
        party.leave(false);
        costs
    })
}

/// Returns a party for dry runs that compares as parties of tests do.
pub fn dry_party(me: usize) -> Pika {
    let pika = Pika::dry(N, me).unwrap();
    pika.set_comparisons(Comparisons::EdaBits);
    pika
}

/// Returns what a party draws, by a dry run of its own.
pub fn demand<T>(me: usize, work: &impl AsyncFn(&Pika, &Ctx) -> Result<T>) -> Demand<Kind> {
    let pika = dry_party(me);
    pika.record_demand();
    dry::run(me, N, Phase::Online, async |ctx| work(&pika, ctx).await.map(drop)).unwrap();
    pika.take_demand()
}

/// Returns [`demand`], which is the same for all parties.
pub fn demand_of_all<T>(work: &impl AsyncFn(&Pika, &Ctx) -> Result<T>) -> Demand<Kind> {
    let mut demands: Vec<_> = (0..N).map(|me| demand(me, work)).collect();
    assert!(demands.iter().all(|demand| *demand == demands[0]), "the parties draw alike");
    demands.remove(0)
}

/// Dry-runs all parties together; returns the costs of work whose draws are recorded, or made where they are drawn.
pub fn dry_online<T>(recorded: bool, work: &impl AsyncFn(&Pika, &Ctx) -> Result<T>) -> Vec<Costs> {
    let parties: Vec<Pika> = (0..N).map(dry_party).collect();
    parties.iter().filter(|_| recorded).for_each(MakesAhead::record_demand);
    let all = dry::together(&[0; N], Phase::Online, async |ctx| work(&parties[ctx.me()], ctx).await.map(drop));
    all.unwrap().into_iter().map(|(_, costs)| costs).collect()
}

/// Dry-runs all parties together; returns the costs of making a demand.
pub fn dry_offline(demand: &Demand<Kind>) -> Vec<Costs> {
    let parties: Vec<Pika> = (0..N).map(dry_party).collect();
    let all = dry::together(&[0; N], Phase::Offline, async |ctx| parties[ctx.me()].make_all(ctx, demand.clone()).await);
    all.unwrap().into_iter().map(|(_, costs)| costs).collect()
}
