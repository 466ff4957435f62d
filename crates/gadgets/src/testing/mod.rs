//! Helpers for tests of all sharings: parties, shares, expected results. Only under the feature `testing`.

use std::fmt::Debug;

use quorate_engine::testing::parties;
use quorate_engine::{Checked, Costs, Ctx, Demand, Error, Form, Party, Phase, Result, Sharing, dry};
use quorate_ring::{Bits, Ring, Vector};

use crate::extremum::{Best, extremum};
use crate::{Choices, Family, Width};

pub mod convolutions;
pub mod exhaustive;
pub mod lookups;
pub mod orders;
pub mod pools;
pub mod secrets;
pub mod trunc_paper;
pub mod wide;

/// The variable with the choices of a process among the options of the family under test, as `NAME=VALUE,NAME=VALUE`.
/// Where it is set, parties make their correlations ahead.
pub const CHOICES: &str = "QUORATE_TEST_CHOICES";

/// The variable that makes tests draw correlations of another session, which were bytes in between.
pub const POOLS: &str = "QUORATE_TEST_POOLS";

/// Choices that tests make of the families that have such options: tests of keys ask for keys, and most tests are not
/// about the making of correlations.
const USUAL: &str = "comparisons=edabits,offline=insecure_dealer";

/// Returns the choices of tests of a family.
fn choices<S: Family>() -> Choices {
    let (given, mut choices) = (std::env::var(CHOICES), Choices::default());
    for choice in given.as_deref().unwrap_or(USUAL).split(',').filter(|choice| !choice.is_empty()) {
        let (name, value) = choice.split_once('=').expect("a choice is NAME=VALUE");
        match S::DESCRIPTOR.option(name) {
            Some(option) => assert!(choices.choose(option, value), "no such choice: {choice}"),
            None => assert!(given.is_err(), "no such option: {name}"),
        }
    }
    choices
}

/// Makes the correlations that `work` will draw, if the process makes them ahead.
async fn make_ahead<S: Family>(s: &S, ctx: &Ctx, work: impl AsyncFn(&S, &Ctx) -> Result<()>) -> Result<()> {
    if std::env::var_os(CHOICES).is_none() {
        return Ok(());
    }
    s.prepare(ctx, recorded((ctx.parties(), ctx.me()), work)?, async |_: &Ctx| Ok(())).await.map(drop)
}

/// Returns the demand of `work`, from a dry run of a party.
fn recorded<S: Family>(
    (parties, me): (usize, usize),
    work: impl AsyncFn(&S, &Ctx) -> Result<()>,
) -> Result<Demand<S::Kind>> {
    let dry = S::dry(parties, me, &choices::<S>())?;
    dry.record_demand();
    dry::run(me, parties, Phase::Online, async |ctx: &Ctx| work(&dry, ctx).await)?;
    Ok(dry.take_demand())
}

/// Sets up a party's end of a family, in a run of its own.
pub fn ready<S: Family>(party: &mut Party) -> S {
    let mut run = party.begin_alone().unwrap();
    let s = run.phase(Phase::Offline, async |ctx| S::setup(ctx, None, &choices::<S>()).await).unwrap();
    run.finish();
    s
}

/// Runs `work` online at each of `n` parties, after a setup of its own, and checks everything that it opened.
/// Correlations are made on demand, or ahead.
pub fn run<S: Family, T: Send>(n: usize, work: impl AsyncFn(&S, &Ctx) -> Result<T> + Sync) -> Vec<(T, Costs)> {
    parties(n, |mut party| {
        let checked = async |s: &S, ctx: &Ctx| {
            let out = work(s, ctx).await?;
            s.check(ctx).await.map(|_| out)
        };
        let ahead = async |s: &S, ctx: &Ctx| checked(s, ctx).await.map(drop);
        let (s, left) = match std::env::var_os(POOLS) {
            Some(_) => {
                let (s, left) = pools::ready_with(&mut party, ahead);
                (s, Some(left))
            }
            None => (ready(&mut party), None),
        };
        let mut run = party.begin_alone().unwrap();
        match left {
            Some(left) => left.fill(&s, false).unwrap(),
            None => run.phase(Phase::Offline, async |ctx| make_ahead(&s, ctx, ahead).await).unwrap(),
        }
        let out = run.phase(Phase::Online, async |ctx| checked(&s, ctx).await).unwrap();
        let costs = run.finish();
        party.leave(false);
        (out, costs)
    })
}

/// Calls [`run`], and returns the result, which must be the same at all parties.
pub fn agreed<S: Family, T: Send + PartialEq + Debug>(n: usize, work: impl AsyncFn(&S, &Ctx) -> Result<T> + Sync) -> T {
    let mut outputs = run(n, work);
    let (first, _) = outputs.swap_remove(0);
    for (other, _) in &outputs {
        assert!(*other == first, "the parties opened different values");
    }
    first
}

fn mix(mut x: u64) -> u64 {
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 33;
    x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ x >> 33
}

/// Returns pseudorandom numbers, the same in every run.
pub fn noise(seed: u64, len: usize) -> Vec<u64> {
    (0..len as u64).map(|i| mix(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ mix(i + 1))).collect()
}

/// Returns whether an event of this rate may happen `count` times by chance. The bound is Chernoff's: whatever the
/// numbers are, one test in 7 * 10^11 fails although nothing is wrong. A run of all tests asks this some thousand
/// times.
pub fn may_be_chance(count: usize, of: usize, rate: f64) -> bool {
    let part = |count: usize, rate: f64| match count {
        0 => 0.0,
        _ => count as f64 * (count as f64 / (of as f64 * rate)).ln(),
    };
    part(count, rate) + part(of - count, 1.0 - rate) < 28.0
}

/// Shares values that all parties of the test know: every party inputs a summand, so that no share is special.
pub async fn share<S: Sharing>(s: &S, ctx: &Ctx, ring: Ring, values: &[u64]) -> Result<S::A> {
    let n = ctx.parties();
    let mut summands: Vec<Vec<u64>> = (1..n as u64).map(|p| noise(p, values.len())).collect();
    let rest = |i: usize| summands.iter().fold(values[i], |sum, part| sum.wrapping_sub(part[i]));
    summands.push((0..values.len()).map(rest).collect());
    let mut sum: Option<S::A> = None;
    for (owner, part) in summands.iter().enumerate() {
        let own = (ctx.me() == owner).then(|| Vector::from_u64s(ring, part));
        let shares = s.input(ctx, owner, (ring, values.len()), own.as_ref()).await?;
        sum = Some(sum.map_or(shares.clone(), |sum| s.add(&sum, &shares)));
    }
    Ok(sum.unwrap())
}

/// Shares bits that all parties of the test know: every party inputs a summand.
pub async fn share_bits<S: Sharing>(s: &S, ctx: &Ctx, rows: usize, lanes: usize, values: &[bool]) -> Result<S::B> {
    let n = ctx.parties();
    let noisy = |p: u64| noise(100 + p, values.len()).into_iter().map(|x| x & 1 == 1).collect::<Vec<_>>();
    let mut summands: Vec<Vec<bool>> = (1..n as u64).map(noisy).collect();
    let rest = |i: usize| summands.iter().fold(values[i], |sum, part| sum ^ part[i]);
    summands.push((0..values.len()).map(rest).collect());
    let mut sum: Option<S::B> = None;
    for (owner, part) in summands.iter().enumerate() {
        let own = (ctx.me() == owner).then(|| Bits::from_bools(rows, lanes, part));
        let shares = s.input_bits(ctx, owner, (rows, lanes), own.as_ref()).await?;
        sum = Some(sum.map_or(shares.clone(), |sum| s.xor(&sum, &shares)));
    }
    Ok(sum.unwrap())
}

const NOT_SHOWN: Error = Error::Bug { what: "a result for all was shown to some" };

/// Returns whether all parties see opened values. Where some hold no shares, or nothing is checked, tests reveal what
/// they compare.
fn all_see_openings<S: Family>() -> bool {
    S::CHECKED && S::PROVES_NOTHING.is_none()
}

/// Returns what every party sees of a value. Without checks it is revealed, since not all parties need see opened
/// values.
pub async fn shown<S: Family>(s: &S, ctx: &Ctx, x: &S::A) -> Result<Vector> {
    match all_see_openings::<S>() {
        true => Ok((*s.open(ctx, x).await?).clone()),
        false => Ok((*s.reveal(ctx, &Checked::unneeded(), x, None).await?.ok_or(NOT_SHOWN)?).clone()),
    }
}

/// Returns what every party sees of bits. Without checks they are revealed, since not all parties need see opened
/// values.
pub async fn shown_bits<S: Family>(s: &S, ctx: &Ctx, x: &S::B) -> Result<Bits> {
    match all_see_openings::<S>() {
        true => Ok((*s.open_bits(ctx, x).await?).clone()),
        false => Ok((*s.reveal_bits(ctx, &Checked::unneeded(), x, None).await?.ok_or(NOT_SHOWN)?).clone()),
    }
}

/// Shows the elements to all parties.
pub async fn open<S: Family>(s: &S, ctx: &Ctx, x: &S::A) -> Result<Vec<u64>> {
    Ok(shown(s, ctx, x).await?.to_u64s())
}

/// Shows the bits to all parties.
pub async fn open_bits<S: Family>(s: &S, ctx: &Ctx, x: &S::B) -> Result<Vec<bool>> {
    Ok(shown_bits(s, ctx, x).await?.to_bools())
}

/// Returns 2^k - 1.
pub fn mask(k: u32) -> u64 {
    u64::MAX >> (64 - k)
}

/// Returns x mod 2^k as a two's complement number.
pub fn signed(k: u32, x: u64) -> i64 {
    (x << (64 - k)) as i64 >> (64 - k)
}

/// Returns all elements of Z_2^k.
pub fn all(k: u32) -> Vec<u64> {
    (0..1 << k).collect()
}

/// Returns all pairs of elements of Z_2^k, as two vectors.
pub fn all_pairs(k: u32) -> (Vec<u64>, Vec<u64>) {
    (0..1u64 << (2 * k)).map(|i| (i >> k, i & mask(k))).unzip()
}

/// Returns x mod 2^k as a two's complement number, by plain arithmetic.
fn wrapped(k: u32, x: i128) -> i128 {
    let size = 1i128 << k;
    let x = x.rem_euclid(size);
    if x >= size / 2 { x - size } else { x }
}

/// Tests products, truncations, selections, sums of products, extrema, comparisons and bits of these pairs over Z_2^k,
/// compared with integers.
pub fn everything_equals_integers<S: Family>(n: usize, k: u32, shift: u32, pairs: &[(u64, u64)]) {
    let ring = Ring::of(k);
    let (x, y): (Vec<u64>, Vec<u64>) = pairs.iter().copied().unzip();
    let len = x.len();
    let got = agreed::<S, _>(n, async |s, ctx| {
        let (a, b) = (share(s, ctx, ring, &x).await?, share(s, ctx, ring, &y).await?);
        let less = s.lt(ctx, &a, &b, Width::Full).await?;
        let numbers = [
            s.mul(ctx, &a, &b).await?,
            s.trunc_exact(ctx, &a, shift).await?,
            s.mux(ctx, &less, &b, &a).await?,
            s.bilinear(ctx, Form::Dot { outer: 1, axis: len, inner: 1 }, &a, &b).await?,
            extremum(s, ctx, &a, len, Best::Smallest, Width::Full).await?,
        ];
        let mut opened = Vec::new();
        for number in &numbers {
            opened.push(shown(s, ctx, number).await?.to_i128s());
        }
        let equal = s.eqz(ctx, &s.sub(&a, &b)).await?;
        let bits = s.bit_decompose(ctx, &a).await?;
        let bits = shown_bits(s, ctx, &bits).await?.to_vector(ring).to_u64s();
        Ok((opened, open_bits(s, ctx, &less).await?, open_bits(s, ctx, &equal).await?, bits))
    });
    let plain = |values: &[u64]| values.iter().map(|&v| wrapped(k, v.into())).collect::<Vec<_>>();
    let (a, b) = (plain(&x), plain(&y));
    for i in 0..len {
        // A product of two values of 64 bits may exceed i128 by one bit: the factors are reduced first.
        let product = wrapped(k, a[i].wrapping_mul(b[i]));
        assert_eq!(got.0[0][i], product);
        assert_eq!(got.0[1][i], a[i] >> shift);
        assert_eq!(got.0[2][i], a[i].max(b[i]));
        assert_eq!((got.1[i], got.2[i], got.3[i]), (a[i] < b[i], a[i] == b[i], x[i]));
    }
    let dot = a.iter().zip(&b).fold(0i128, |sum, (a, b)| wrapped(k, sum + wrapped(k, a * b)));
    assert_eq!(got.0[3][0], dot);
    assert_eq!(got.0[4][0], *a.iter().min().unwrap());
}
