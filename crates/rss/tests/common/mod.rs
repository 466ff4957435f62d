//! Parties, shares and oracles for the tests of this crate.
#![allow(dead_code)] // every test binary uses its own part

use quorate_engine::testing::parties;
use quorate_engine::{Costs, Ctx, Demand, Phase, Result, Sharing, dry};
use quorate_ring::{Bits, Ring, Vector};
use quorate_rss::{Kind, Rss, Shared};

pub type A = Shared<Vector>;
pub type B = Shared<Bits>;

/// Runs `work` online at every party, after a setup of its own; correlations are made on demand.
pub fn run<T: Send>(n: usize, work: impl AsyncFn(&Rss, &Ctx) -> Result<T> + Sync) -> Vec<(T, Costs)> {
    parties(n, |mut party| {
        let mut run = party.begin_alone().unwrap();
        let rss = run.phase(Phase::Offline, async |ctx| Rss::setup(ctx).await).unwrap();
        run.finish();
        let mut run = party.begin_alone().unwrap();
        let out = run.phase(Phase::Online, async |ctx| work(&rss, ctx).await).unwrap();
        let costs = run.finish();
        party.leave(false);
        (out, costs)
    })
}

/// [`run`]; all parties must have got the same, which is returned.
pub fn agreed<T: Send + PartialEq + std::fmt::Debug>(
    n: usize,
    work: impl AsyncFn(&Rss, &Ctx) -> Result<T> + Sync,
) -> T {
    let mut outputs: Vec<T> = run(n, work).into_iter().map(|(out, _)| out).collect();
    let first = outputs.remove(0);
    outputs.iter().for_each(|other| assert!(*other == first, "the parties opened different values"));
    first
}

/// [`run`] with the correlations made ahead, as the demand of a dry run says.
pub fn run_stocked<T: Send>(n: usize, work: impl AsyncFn(&Rss, &Ctx) -> Result<T> + Sync) -> Vec<(T, Costs)> {
    parties(n, |mut party| {
        let mut run = party.begin_alone().unwrap();
        let rss = run.phase(Phase::Offline, async |ctx| Rss::setup(ctx).await).unwrap();
        run.finish();
        let (demand, _) = dry_online(n, party.me(), &work);
        let mut run = party.begin_alone().unwrap();
        run.phase(Phase::Offline, async |ctx| rss.prepare(ctx, demand.clone()).await).unwrap();
        let out = run.phase(Phase::Online, async |ctx| work(&rss, ctx).await).unwrap();
        let costs = run.finish();
        party.leave(false);
        (out, costs)
    })
}

/// The online phase as a dry run: its demand and its costs.
pub fn dry_online<T>(n: usize, me: usize, work: &impl AsyncFn(&Rss, &Ctx) -> Result<T>) -> (Demand<Kind>, Costs) {
    let rss = Rss::dry(n, me).unwrap();
    rss.record_demand();
    let (_, costs) = dry::run(me, n, Phase::Online, async |ctx| work(&rss, ctx).await).unwrap();
    (rss.take_demand(), costs)
}

/// What making a demand costs, as a dry run.
pub fn dry_offline(n: usize, me: usize, demand: &Demand<Kind>) -> Costs {
    let rss = Rss::dry(n, me).unwrap();
    let prepare = async |ctx: &Ctx| rss.prepare(ctx, demand.clone()).await;
    dry::run(me, n, Phase::Offline, prepare).unwrap().1
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
pub async fn share(rss: &Rss, ctx: &Ctx, ring: Ring, values: &[u64]) -> Result<A> {
    let n = ctx.parties();
    let mut summands: Vec<Vec<u64>> = (1..n as u64).map(|p| noise(p, values.len())).collect();
    let rest = |i: usize| summands.iter().fold(values[i], |sum, part| sum.wrapping_sub(part[i]));
    summands.push((0..values.len()).map(rest).collect());
    let mut sum: Option<A> = None;
    for (owner, part) in summands.iter().enumerate() {
        let own = (ctx.me() == owner).then(|| Vector::from_u64s(ring, part));
        let shares = rss.input(ctx, owner, (ring, values.len()), own.as_ref()).await?;
        sum = Some(sum.map_or(shares.clone(), |sum| rss.add(&sum, &shares)));
    }
    Ok(sum.unwrap())
}

/// Shares of bits, likewise.
pub async fn share_bits(rss: &Rss, ctx: &Ctx, rows: usize, lanes: usize, values: &[bool]) -> Result<B> {
    let n = ctx.parties();
    let noisy = |p: u64| noise(100 + p, values.len()).into_iter().map(|x| x & 1 == 1).collect::<Vec<_>>();
    let mut summands: Vec<Vec<bool>> = (1..n as u64).map(noisy).collect();
    let rest = |i: usize| summands.iter().fold(values[i], |sum, part| sum ^ part[i]);
    summands.push((0..values.len()).map(rest).collect());
    let mut sum: Option<B> = None;
    for (owner, part) in summands.iter().enumerate() {
        let own = (ctx.me() == owner).then(|| Bits::from_bools(rows, lanes, part));
        let shares = rss.input_bits(ctx, owner, (rows, lanes), own.as_ref()).await?;
        sum = Some(sum.map_or(shares.clone(), |sum| rss.xor(&sum, &shares)));
    }
    Ok(sum.unwrap())
}

pub async fn open(rss: &Rss, ctx: &Ctx, x: &A) -> Result<Vec<u64>> {
    Ok(rss.open(ctx, x).await?.to_u64s())
}

pub async fn open_bits(rss: &Rss, ctx: &Ctx, x: &B) -> Result<Vec<bool>> {
    Ok(rss.open_bits(ctx, x).await?.to_bools())
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
