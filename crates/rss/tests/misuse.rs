//! Tests of misuse: a caller's mistake is a typed error, before anything is sent.

use crate::common::*;
use quorate_engine::{Checked, Ctx, Error, Form, Misuse, Phase, Result, Sharing, dry};
use quorate_gadgets::Width;
use quorate_gadgets::extremum::{Best, extremum};
use quorate_ring::{Ring, Vector};
use quorate_rss::Rss;

/// Returns the misuse that a dry run of three parties finds.
fn misuse<T>(work: impl AsyncFnOnce(&Rss, &Ctx) -> Result<T>) -> Misuse {
    let rss = Rss::dry(3, 0).unwrap();
    match dry::run(0, 3, Phase::Online, async |ctx| work(&rss, ctx).await) {
        Err(Error::Misuse { what }) => what,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("no error"),
    }
}

fn given(rss: &Rss, k: u32, len: usize) -> A {
    rss.public(&Vector::shape(Ring::of(k), len))
}

#[test]
fn numbers_of_parties() {
    for parties in [0, 1, 2, 4, 6, 8, 9] {
        assert_eq!(Rss::dry(parties, 0).err().map(|e| matches!(e, Error::Misuse { .. })), Some(true));
    }
}

#[test]
fn parties_that_do_not_exist() {
    let absent = Misuse::NoSuchParty { party: 3, parties: 3 };
    assert_eq!(misuse(async |rss, ctx| rss.input(ctx, 3, (Ring::of(8), 1), None).await), absent);
    assert_eq!(misuse(async |rss, ctx| rss.input_bits(ctx, 3, (1, 1), None).await), absent);
    assert_eq!(
        misuse(async |rss, ctx| rss.reveal(ctx, &Checked::unneeded(), &given(rss, 8, 1), Some(3)).await),
        absent
    );
    assert_eq!(
        misuse(async |rss, ctx| rss
            .reveal_bits(ctx, &Checked::unneeded(), &rss.low_bit(&given(rss, 8, 1)), Some(3))
            .await),
        absent
    );
}

#[test]
fn operands_that_do_not_fit() {
    let lengths = Misuse::Length { what: "a product", left: 2, right: 3 };
    assert_eq!(misuse(async |rss, ctx| rss.mul(ctx, &given(rss, 8, 2), &given(rss, 8, 3)).await), lengths);
    let form = Form::MatMul { m: 1, k: 2, n: 2 };
    assert_eq!(misuse(async |rss, ctx| rss.bilinear(ctx, form, &given(rss, 8, 2), &given(rss, 8, 3)).await), lengths);
    let form = Form::Dot { outer: 1, axis: 2, inner: 1 };
    assert_eq!(misuse(async |rss, ctx| rss.bilinear(ctx, form, &given(rss, 8, 2), &given(rss, 8, 3)).await), lengths);
    let public = async |rss: &Rss, ctx: &Ctx| rss.multiply_and_open(ctx, &given(rss, 8, 2), &given(rss, 8, 3)).await;
    assert_eq!(misuse(public), lengths);
    let bits = |rss: &Rss, len| rss.low_bit(&given(rss, 8, len));
    assert_eq!(misuse(async |rss, ctx| rss.and(ctx, &bits(rss, 2), &bits(rss, 3)).await), lengths);
    let rings = misuse(async |rss, ctx| rss.mul(ctx, &given(rss, 8, 2), &given(rss, 9, 2)).await);
    assert!(matches!(rings, Misuse::Other { .. }));
}

#[test]
fn rings_cuts_and_rows() {
    let wide = misuse(async |rss, ctx| rss.random_bits(ctx, Ring::of(127), 1).await);
    assert_eq!(wide, Misuse::RingBits { bits: 127 });
    for cut in [0, 8, 9] {
        let cut = misuse(async |rss, ctx| rss.edabits(ctx, Ring::of(8), Some(cut), 1).await.map(|_| ()));
        assert!(matches!(cut, Misuse::Other { .. }));
    }
    for rows in [0, 2] {
        let rows =
            misuse(async |rss, ctx| extremum(rss, ctx, &given(rss, 8, 3), rows, Best::Largest, Width::Full).await);
        assert!(matches!(rows, Misuse::Length { .. }));
    }
}

/// An owner without its value must not input zeros.
#[test]
fn an_owner_gives_a_value_of_the_agreed_shape() {
    for (given, expected) in [(None, "without"), (Some(4), "another shape")] {
        let outcomes = quorate_engine::testing::parties(3, |mut party| {
            let mut attempt = || {
                let mut run = party.begin_alone()?;
                let rss = run.phase(Phase::Offline, async |ctx| Rss::setup(ctx).await)?;
                run.phase(Phase::Online, async |ctx| {
                    let value = given.map(|len| Vector::zeros(Ring::of(8), len)).filter(|_| ctx.me() == 1);
                    let x = rss.input(ctx, 1, (Ring::of(8), 5), value.as_ref()).await?;
                    open(&rss, ctx, &x).await
                })
            };
            attempt().unwrap_err()
        });
        assert!(matches!(&outcomes[1], Error::Misuse { what } if what.to_string().contains(expected)), "{outcomes:?}");
        assert!(matches!(&outcomes[0], Error::Aborted { by: 1, .. }), "{outcomes:?}");
    }
}
