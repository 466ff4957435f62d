//! Choices of one: their owner alone opens the values that prove them, so a lie about those does not show the choice.

use quorate_adversary::{By, Twist};
use quorate_engine::testing::parties;
use quorate_engine::{Axis, Cause, Ctx, Error, Linear, Phase, Result, Sharing, dry};
use quorate_gadgets::{Family, Gadgets};
use quorate_pika::PikaMalicious;
use quorate_ring::{Ring, Vector};
use quorate_spdz2k::{Kind, Params, Tagged};

use crate::common::N;

const K: u32 = 8;
const LEN: usize = 3;

const AXIS: Axis = Axis { outer: 1, len: LEN, inner: 1 };

fn params() -> Params {
    Params::new(48, false).unwrap()
}

async fn choice(s: &PikaMalicious, ctx: &Ctx, owner: usize, values: &[i64; LEN]) -> Result<Tagged> {
    let ring = Ring::of(K);
    let own = (ctx.me() == owner).then(|| match ctx.is_dry() {
        true => Vector::shape(ring, LEN),
        false => Vector::from_i64s(ring, values),
    });
    s.input(ctx, owner, (ring, LEN), own.as_ref()).await
}

/// Does what [`Gadgets::assert_one_hot`] does, for a party that ignores the result.
async fn as_if(s: &PikaMalicious, ctx: &Ctx, x: &Tagged) -> Result<()> {
    let rest = s.sub(&s.mul(ctx, x, x).await?, x);
    let sums = s.add_public(&s.linear(x, &Linear::SumAxis(AXIS)), &Vector::from_i64s(Ring::of(K), &[-1]));
    s.open(ctx, &s.concat(&[&rest, &sums])).await.map(drop)
}

/// Returns what the cheater of two parties sees of the other one's choice in the last opening, and whether the run
/// ended. The cheater adds 1 to its part of every opening.
fn seen(cheater: usize, values: [i64; LEN]) -> (Vec<i64>, bool) {
    let owner = 1 - cheater;
    let ends = parties(N, |mut party| {
        let me = party.me();
        let mut run = party.begin_alone().unwrap();
        let done = run.phase(Phase::Online, async |ctx| {
            let s = PikaMalicious::set_up(ctx, params(), None).await?;
            let x = choice(&s, ctx, owner, &values).await?;
            if me != cheater {
                s.assert_one_hot(ctx, &x, AXIS).await?;
                s.check(ctx).await?;
                return Ok(vec![]);
            }
            s.insecure_online().adversary().twist(Twist::Low, By::All(1));
            s.insecure_online().adversary().listen();
            as_if(&s, ctx, &x).await?;
            let told = s.insecure_online().adversary().heard().pop().unwrap();
            let mut opened = told[0].clone();
            opened.add_assign(&told[1]);
            Ok(opened.to_i64s())
        });
        run.finish();
        done
    });
    let over = ends.iter().enumerate().filter(|(me, _)| *me != cheater).all(|(_, end)| end.is_err());
    (ends.into_iter().nth(cheater).unwrap().unwrap(), over)
}

/// If both parties opened the factors below one triple, a party that adds 1 to a factor would read x from x x - x
/// before it is caught.
#[test]
fn nobody_reads_a_choice_by_a_lie_about_what_proves_it() {
    for cheater in 0..2 {
        let all: Vec<_> = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map(|values| seen(cheater, values)).into();
        // These are zeros, except for its own lie.
        assert!(all.iter().all(|(seen, over)| *seen == [1; LEN + 1] && *over), "party {cheater} sees {all:?}");
    }
}

#[test]
fn what_proves_a_choice_is_its_owners_alone() {
    for owner in 0..2 {
        let drawn = async |ctx: &Ctx| {
            let s = PikaMalicious::new_dry(N, ctx.me(), params())?;
            s.record_demand();
            let x = choice(&s, ctx, owner, &[0; LEN]).await?;
            s.assert_one_hot(ctx, &x, AXIS).await?;
            Ok(s.take_demand())
        };
        for (demand, _) in dry::together(&[0; N], Phase::Online, drawn).unwrap() {
            let wanted = [(Kind::Owned { owner, bits: K }, LEN), (Kind::Mask { owner, bits: K }, LEN)];
            assert_eq!(*demand.totals(), wanted.into());
        }
    }
}

/// Choices of one pass, and all others end the run; the dealer cannot prove a choice of its own.
#[test]
fn choices_pass_and_others_are_found() {
    let run = |owner: usize, values: [i64; LEN]| -> Vec<Result<()>> {
        parties(N, |mut party| {
            let mut run = party.begin_alone().unwrap();
            let done = run.phase(Phase::Online, async |ctx| {
                let s = PikaMalicious::set_up(ctx, params(), None).await?;
                let x = choice(&s, ctx, owner, &values).await?;
                match ctx.me() == owner {
                    true => as_if(&s, ctx, &x).await?,
                    false => s.assert_one_hot(ctx, &x, AXIS).await?,
                }
                s.check(ctx).await.map(drop)
            });
            run.finish();
            done
        })
    };
    for owner in 0..2 {
        for values in [[1, 0, 0], [0, 1, 0], [0, 0, 1]] {
            assert!(run(owner, values).iter().all(Result::is_ok), "{owner}: {values:?}");
        }
        for values in [[2, -1, 0], [1, 1, 0], [0, 0, 0], [1, 1, -1], [16, 0, -15], [-128, 1, -128]] {
            let ends = run(owner, values);
            let found = &ends[1 - owner];
            assert!(matches!(found, Err(Error::Cheating { check }) if check.contains("of each row")), "{values:?}");
        }
    }
    let ends = run(2, [1, 0, 0]);
    let refused = |end: &Result<()>| match end {
        Err(Error::Misuse { what }) => what.to_string().contains("party 2"),
        Err(Error::Aborted { cause, .. }) => !matches!(cause, Cause::Cheating),
        _ => false,
    };
    assert!(ends[..2].iter().all(refused), "{ends:?}");
}
