//! Parties, shares and oracles for the tests of this crate.
#![allow(dead_code)] // every test binary uses its own part

use quorate_aby::{Aby, Garbling, Kind, Share, YaoLabels};
use quorate_engine::testing::parties;
use quorate_engine::{Costs, Ctx, Demand, Phase, Result, Sharing, dry};
use quorate_ring::{Bits, Ring, Vector};

pub type A = Share<Vector>;
pub type B = Share<Bits>;

/// Runs `work` online at every party, after a setup of its own; correlations are made on demand.
pub fn run<T: Send>(work: impl AsyncFn(&Aby, &Ctx) -> Result<T> + Sync) -> Vec<(T, Costs)> {
    parties(2, |mut party| {
        let mut run = party.begin_alone().unwrap();
        let aby = run.phase(Phase::Offline, async |ctx| Aby::setup(ctx).await).unwrap();
        run.finish();
        let mut run = party.begin_alone().unwrap();
        let out = run.phase(Phase::Online, async |ctx| work(&aby, ctx).await).unwrap();
        let costs = run.finish();
        party.leave(false);
        (out, costs)
    })
}

/// [`run`]; all parties must have got the same, which is returned.
pub fn agreed<T: Send + PartialEq + std::fmt::Debug>(work: impl AsyncFn(&Aby, &Ctx) -> Result<T> + Sync) -> T {
    let mut outputs: Vec<T> = run(work).into_iter().map(|(out, _)| out).collect();
    let first = outputs.remove(0);
    outputs.iter().for_each(|other| assert!(*other == first, "the parties opened different values"));
    first
}

/// Runs `work` with correlations made ahead, and then on demand, in one session; the costs of both.
pub fn run_both<T: Send>(work: impl AsyncFn(&Aby, &Ctx) -> Result<T> + Sync) -> Vec<[Costs; 2]> {
    parties(2, |mut party| {
        let mut run = party.begin_alone().unwrap();
        let aby = run.phase(Phase::Offline, async |ctx| Aby::setup(ctx).await).unwrap();
        run.finish();
        let (demand, _) = dry_online(party.me(), &work);
        let costs = [true, false].map(|ahead| {
            let mut run = party.begin_alone().unwrap();
            if ahead {
                run.phase(Phase::Offline, async |ctx| aby.prepare(ctx, demand.clone()).await).unwrap();
            } else {
                aby.clear_stock();
            }
            run.phase(Phase::Online, async |ctx| work(&aby, ctx).await).unwrap();
            run.finish()
        });
        party.leave(false);
        costs
    })
}

/// The online phase as a dry run: its demand and its costs.
pub fn dry_online<T>(me: usize, work: &impl AsyncFn(&Aby, &Ctx) -> Result<T>) -> (Demand<Kind>, Costs) {
    let aby = Aby::dry(2, me).unwrap();
    dry_online_of(&aby, me, work)
}

/// [`dry_online`] of a party that was made before.
pub fn dry_online_of<T>(aby: &Aby, me: usize, work: &impl AsyncFn(&Aby, &Ctx) -> Result<T>) -> (Demand<Kind>, Costs) {
    aby.record_demand();
    let (_, costs) = dry::run(me, 2, Phase::Online, async |ctx| work(aby, ctx).await).unwrap();
    (aby.take_demand(), costs)
}

/// Makes correlations, and garbles ahead the circuits of `online`, which does what the garbler does alone.
pub async fn make_ahead<T>(
    aby: &Aby,
    ctx: &Ctx,
    demand: Demand<Kind>,
    online: impl AsyncFn(&Aby, &Ctx) -> Result<T>,
) -> Result<Option<T>> {
    aby.prepare(ctx, demand).await?;
    aby.garble_ahead(ctx, async |ctx: &Ctx| online(aby, ctx).await).await
}

/// Runs `values`, and then `labels` on what it gives, of which the garbler does the latter ahead; the phases' costs.
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
        let mut run = party.begin_alone().unwrap();
        let aby = run.phase(Phase::Offline, async |ctx| Aby::setup(ctx).await).unwrap();
        run.finish();
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

/// What making a demand costs, as a dry run.
pub fn dry_offline(me: usize, demand: &Demand<Kind>) -> Costs {
    dry_offline_of(&Aby::dry(2, me).unwrap(), me, demand)
}

/// [`dry_offline`] of the party of which `demand` was recorded.
pub fn dry_offline_of(aby: &Aby, me: usize, demand: &Demand<Kind>) -> Costs {
    let nothing = async |_: &Aby, _: &Ctx| Ok(());
    let prepare = async |ctx: &Ctx| make_ahead(aby, ctx, demand.clone(), nothing).await.map(|_| ());
    dry::run(me, 2, Phase::Offline, prepare).unwrap().1
}

fn mix(mut x: u64) -> u64 {
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 33;
    x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ x >> 33
}

/// Numbers that look random and are the same in every run.
pub fn noise(seed: u64, len: usize) -> Vec<u64> {
    (0..len as u64).map(|i| mix(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ mix(i + 1))).collect()
}

/// Shares of values that all parties of the test know: every party inputs a summand, so that no share is special.
pub async fn share(aby: &Aby, ctx: &Ctx, ring: Ring, values: &[u64]) -> Result<A> {
    let n = ctx.parties();
    let mut summands: Vec<Vec<u64>> = (1..n as u64).map(|p| noise(p, values.len())).collect();
    let rest = |i: usize| summands.iter().fold(values[i], |sum, part| sum.wrapping_sub(part[i]));
    summands.push((0..values.len()).map(rest).collect());
    let mut sum: Option<A> = None;
    for (owner, part) in summands.iter().enumerate() {
        let own = (ctx.me() == owner).then(|| Vector::from_u64s(ring, part));
        let shares = aby.input(ctx, owner, (ring, values.len()), own.as_ref()).await?;
        sum = Some(sum.map_or(shares.clone(), |sum| aby.add(&sum, &shares)));
    }
    Ok(sum.unwrap())
}

/// Shares of bits, likewise.
pub async fn share_bits(aby: &Aby, ctx: &Ctx, rows: usize, lanes: usize, values: &[bool]) -> Result<B> {
    let n = ctx.parties();
    let noisy = |p: u64| noise(100 + p, values.len()).into_iter().map(|x| x & 1 == 1).collect::<Vec<_>>();
    let mut summands: Vec<Vec<bool>> = (1..n as u64).map(noisy).collect();
    let rest = |i: usize| summands.iter().fold(values[i], |sum, part| sum ^ part[i]);
    summands.push((0..values.len()).map(rest).collect());
    let mut sum: Option<B> = None;
    for (owner, part) in summands.iter().enumerate() {
        let own = (ctx.me() == owner).then(|| Bits::from_bools(rows, lanes, part));
        let shares = aby.input_bits(ctx, owner, (rows, lanes), own.as_ref()).await?;
        sum = Some(sum.map_or(shares.clone(), |sum| aby.xor(&sum, &shares)));
    }
    Ok(sum.unwrap())
}

pub async fn open(aby: &Aby, ctx: &Ctx, x: &A) -> Result<Vec<u64>> {
    Ok(aby.open(ctx, x).await?.to_u64s())
}

pub async fn open_bits(aby: &Aby, ctx: &Ctx, x: &B) -> Result<Vec<bool>> {
    Ok(aby.open_bits(ctx, x).await?.to_bools())
}

pub fn mask(k: u32) -> u64 {
    u64::MAX >> (64 - k)
}

/// x mod 2^k as a two's complement number.
pub fn signed(k: u32, x: u64) -> i64 {
    (x << (64 - k)) as i64 >> (64 - k)
}

/// All elements of Z_2^k.
pub fn all(k: u32) -> Vec<u64> {
    (0..1 << k).collect()
}

/// All pairs of elements of Z_2^k, as two vectors.
pub fn all_pairs(k: u32) -> (Vec<u64>, Vec<u64>) {
    (0..1u64 << (2 * k)).map(|i| (i >> k, i & mask(k))).unzip()
}
