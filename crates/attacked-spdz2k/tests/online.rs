//! Programs with every opening checked: right results, at the cost of a dry run, and messages show nothing of inputs.

use quorate_adversary::{By, Twist};
use quorate_engine::testing::parties;
use quorate_engine::{Cause, Ctx, Error, Opened, Phase, Result, Sharing, Traffic, dry};
use quorate_gadgets::{Gadgets, Width};
use quorate_ring::{Bits, Ring, Vector};
use quorate_spdz2k::{Params, Spdz2k};

const VALUES: [i64; 3] = [5, -70_000, 1 << 40];

/// Two inputs, their product, and whether it is less than the first. Both results go to all; the product also to party
/// 1 alone. Then the square of the first input, which its owner knows, times the product, which no party knows.
async fn program(s: &Spdz2k, ctx: &Ctx) -> Result<Vec<Vec<i64>>> {
    let ring = Ring::of(64);
    let own = |owner: usize| (ctx.me() == owner).then(|| Vector::from_i64s(ring, &VALUES));
    let x = s.input(ctx, 0, (ring, 3), own(0).as_ref()).await?;
    let y = s.input(ctx, 1, (ring, 3), own(1).as_ref()).await?;
    let product = s.mul(ctx, &x, &y).await?;
    let less = s.lt(ctx, &product, &x, Width::Full).await?;
    let less = s.bit_to_ring(ctx, &less, ring).await?;
    let more = s.mul(ctx, &s.mul(ctx, &x, &x).await?, &product).await?;
    let checked = s.check(ctx).await?;
    let revealed = [
        s.reveal(ctx, &checked, &product, None).await?,
        s.reveal(ctx, &checked, &less, None).await?,
        s.reveal(ctx, &checked, &product, Some(1)).await?,
        s.reveal(ctx, &checked, &more, None).await?,
    ];
    let checked = s.check(ctx).await?;
    let believed = |value: Opened<Vector>| Ok(value.believe(&checked)?.into_inner().to_i64s());
    revealed.into_iter().flatten().map(believed).collect()
}

/// A party's result, and its online traffic.
type Ended = (Result<Vec<Vec<i64>>>, Traffic);

fn run(n: usize) -> Vec<Ended> {
    parties(n, |mut party| {
        let mut run = party.begin_alone().unwrap();
        let set_up = run.phase(Phase::Offline, async |ctx| Spdz2k::insecure_set_up(ctx, Params::default(), None).await);
        let done = set_up.and_then(|s| run.phase(Phase::Online, async |ctx| program(&s, ctx).await));
        (done, run.finish().online)
    })
}

fn wanted(me: usize) -> Vec<Vec<i64>> {
    let product: Vec<i64> = VALUES.iter().map(|x| x.wrapping_mul(*x)).collect();
    let less = product.iter().zip(VALUES).map(|(product, x)| i64::from(*product < x)).collect();
    let to_one = (me == 1).then(|| product.clone());
    let more = VALUES.iter().map(|x| x.wrapping_pow(4)).collect();
    [product, less].into_iter().chain(to_one).chain([more]).collect()
}

#[test]
fn costs_are_those_of_a_dry_run_and_results_are_right() {
    for n in [2, 3, 5] {
        let all = async |ctx: &Ctx| program(&Spdz2k::insecure_dry(n, ctx.me(), Params::default())?, ctx).await;
        let predicted = dry::together(&vec![0; n], Phase::Online, all).unwrap();
        for (me, (done, online)) in run(n).into_iter().enumerate() {
            assert_eq!(done.unwrap(), wanted(me), "n {n}");
            assert_eq!(online, predicted[me].1.online, "party {me} of {n}");
        }
    }
}

/// The owner's share of an input is the whole input. A share that is sent unmasked would show the input, each summand
/// of a sum, and values that only one party may see.
#[test]
fn what_a_party_tells_says_nothing_of_its_inputs() {
    let heard = parties(3, |mut party| {
        let me = party.me();
        let mut run = party.begin_alone().unwrap();
        let done = run.phase(Phase::Online, async |ctx| {
            let s = Spdz2k::insecure_set_up(ctx, Params::default(), None).await?;
            s.adversary().listen();
            let ring = Ring::of(64);
            let own = |owner: usize| (me == owner).then(|| Vector::from_i64s(ring, &VALUES));
            let x = s.input(ctx, 0, (ring, 3), own(0).as_ref()).await?;
            let y = s.input(ctx, 1, (ring, 3), own(1).as_ref()).await?;
            let checked = s.check(ctx).await?;
            s.reveal(ctx, &checked, &s.add(&x, &y), None).await?;
            s.reveal(ctx, &checked, &y, Some(0)).await?;
            s.check(ctx).await?;
            Ok(s.adversary().heard())
        });
        run.finish();
        done.unwrap()
    });
    let [_, of_y, sum, to_one] = <[Vec<Vector>; 4]>::try_from(heard[2].clone()).unwrap();
    for told in [&sum[1], &to_one[1]] {
        let (mut more, mut less) = (told.clone(), told.clone());
        more.add_assign(&of_y[0]);
        less.sub_assign(&of_y[0]);
        for guess in [told, &more, &less] {
            assert!(guess.to_i64s().iter().zip(VALUES).all(|(guess, value)| *guess != value), "a share tells an input");
        }
    }
    let mut total = sum[0].clone();
    sum[1..].iter().for_each(|low| total.add_assign(low));
    assert_eq!(total.to_i64s(), VALUES.map(|x| 2 * x));
}

/// Bits with MACs are sent without showing anything of the inputs.
#[test]
fn what_a_party_tells_says_nothing_of_its_bits() {
    const LANES: usize = 64;
    let bits = |seed: usize| Bits::from_bools(1, LANES, &(0..LANES).map(|i| i * i % seed < 3).collect::<Vec<_>>());
    let heard = parties(3, |mut party| {
        let me = party.me();
        let mut run = party.begin_alone().unwrap();
        let done = run.phase(Phase::Online, async |ctx| {
            let s = Spdz2k::insecure_set_up(ctx, Params::default(), None).await?;
            s.adversary().listen();
            let own = |owner: usize| (me == owner).then(|| bits(7 + owner));
            let x = s.input_bits(ctx, 0, (1, LANES), own(0).as_ref()).await?;
            let y = s.input_bits(ctx, 1, (1, LANES), own(1).as_ref()).await?;
            let checked = s.check(ctx).await?;
            s.reveal_bits(ctx, &checked, &s.xor(&x, &y), None).await?;
            s.reveal_bits(ctx, &checked, &y, Some(0)).await?;
            s.open_bits(ctx, &y).await?;
            s.check(ctx).await?;
            Ok(s.adversary().heard())
        });
        run.finish();
        done.unwrap()
    });
    let [_, of_y, sum, to_one, opened] = <[Vec<Vector>; 5]>::try_from(heard[2].clone()).unwrap();
    let xor = |x: &Vector, y: &Vector| x.to_u64s().iter().zip(y.to_u64s()).map(|(x, y)| x ^ y).collect::<Vec<_>>();
    let value = bits(8).to_bools().iter().map(|bit| u64::from(*bit)).collect::<Vec<_>>();
    for told in [&sum[1], &to_one[1]] {
        assert_ne!(xor(told, &of_y[0]), value, "a share tells an input");
    }
    assert!([0, 2].iter().all(|party| opened[*party].to_u64s().contains(&1)), "who owns nothing tells zeros");
    let total = xor(&sum[0], &Vector::from_u64s(Ring::of(1), &xor(&sum[1], &sum[2])));
    let plain = bits(7).to_bools().iter().zip(bits(8).to_bools()).map(|(x, y)| u64::from(x ^ y)).collect::<Vec<_>>();
    assert_eq!(total, plain);
}

/// An opening after a check has begun has to be checked, whatever it is for; those of products, too.
#[test]
fn nothing_is_revealed_after_a_product_that_was_not_checked() {
    let refused = |bits: bool| {
        parties(2, |mut party| {
            let mut run = party.begin_alone().unwrap();
            let done = run.phase(Phase::Online, async |ctx| {
                let s = Spdz2k::insecure_set_up(ctx, Params::default(), None).await?;
                let x = s.public(&Vector::from_i64s(Ring::of(64), &VALUES));
                let checked = s.check(ctx).await?;
                let product = s.mul(ctx, &x, &x).await?;
                match bits {
                    true => s.reveal_bits(ctx, &checked, &s.public_bits(&Bits::zeros(1, 1)), None).await.map(|_| ()),
                    false => s.reveal(ctx, &checked, &product, None).await.map(|_| ()),
                }
            });
            run.finish();
            done
        })
    };
    for bits in [false, true] {
        assert!(refused(bits).iter().any(|done| matches!(done, Err(Error::Bug { .. }))), "{bits}");
    }
}

/// A party that sends another difference than it has, and continues with it, would have another factor than its input.
#[test]
fn an_owner_that_tells_another_difference_is_found() {
    for (n, own, by) in [(2, false, 1), (2, true, 1 << 63), (3, false, 1 << 63), (3, true, 1)] {
        let ends = parties(n, |mut party| {
            let me = party.me();
            let mut run = party.begin_alone().unwrap();
            let done = run.phase(Phase::Online, async |ctx| {
                let s = Spdz2k::insecure_set_up(ctx, Params::default(), None).await?;
                s.adversary().twist(Twist::Known, By::All(if me == 1 { by } else { 0 }));
                let ring = Ring::of(64);
                let own_value = |owner: usize| (me == owner).then(|| Vector::from_i64s(ring, &VALUES));
                let x = s.input(ctx, 1, (ring, 3), own_value(1).as_ref()).await?;
                let y = s.input(ctx, 0, (ring, 3), own_value(0).as_ref()).await?;
                s.mul(ctx, &x, if own { &x } else { &y }).await?;
                s.check(ctx).await.map(|_| ())
            });
            run.finish();
            done
        });
        let tags = |error: &Error| matches!(error, Error::Cheating { check } if check.contains("tags"));
        let is_found = |error: &Error| tags(error) || matches!(error, Error::Aborted { cause: Cause::Cheating, .. });
        let others: Vec<_> = ends.iter().enumerate().filter(|(me, _)| *me != 1).map(|(_, done)| done).collect();
        assert!(others.iter().all(|done| done.as_ref().is_err_and(is_found)), "{by} of {n}: {ends:?}");
        // The party whose check ends first informs the others.
        assert!(ends.iter().any(|done| done.as_ref().is_err_and(tags)), "{by} of {n}: {ends:?}");
    }
}
