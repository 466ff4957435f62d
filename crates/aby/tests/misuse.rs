//! Misuse by a caller is an error of its own, before anything is sent.

use crate::common::*;
use quorate_aby::Aby;
use quorate_additive::local;
use quorate_engine::{Checked, Ctx, Error, Form, Misuse, Phase, Result, Sharing, dry};
use quorate_gadgets::Width;
use quorate_gadgets::extremum::{Best, extremum};
use quorate_ring::{Ring, Vector};

/// Returns the misuse that a dry run of two parties finds.
fn misuse<T>(work: impl AsyncFnOnce(&Aby, &Ctx) -> Result<T>) -> Misuse {
    let aby = Aby::dry(2, 0).unwrap();
    match dry::run(0, 2, Phase::Online, async |ctx| work(&aby, ctx).await) {
        Err(Error::Misuse { what }) => what,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("no error"),
    }
}

fn given(aby: &Aby, k: u32, len: usize) -> A {
    aby.public(&Vector::shape(Ring::of(k), len))
}

#[test]
fn numbers_of_parties() {
    for parties in [0, 1, 3, 4, 9] {
        assert_eq!(Aby::dry(parties, 0).err().map(|e| matches!(e, Error::Misuse { .. })), Some(true));
    }
}

#[test]
fn parties_that_do_not_exist() {
    let absent = Misuse::NoSuchParty { party: 3, parties: 2 };
    assert_eq!(misuse(async |aby, ctx| aby.input(ctx, 3, (Ring::of(8), 1), None).await), absent);
    assert_eq!(misuse(async |aby, ctx| aby.input_bits(ctx, 3, (1, 1), None).await), absent);
    assert_eq!(
        misuse(async |aby, ctx| aby.reveal(ctx, &Checked::unneeded(), &given(aby, 8, 1), Some(3)).await),
        absent
    );
    assert_eq!(
        misuse(async |aby, ctx| aby
            .reveal_bits(ctx, &Checked::unneeded(), &local::low_bit(&given(aby, 8, 1)), Some(3))
            .await),
        absent
    );
}

#[test]
fn operands_that_do_not_fit() {
    let lengths = Misuse::Length { what: "a product", left: 2, right: 3 };
    assert_eq!(misuse(async |aby, ctx| aby.mul(ctx, &given(aby, 8, 2), &given(aby, 8, 3)).await), lengths);
    let form = Form::MatMul { m: 1, k: 2, n: 2 };
    assert_eq!(misuse(async |aby, ctx| aby.bilinear(ctx, form, &given(aby, 8, 2), &given(aby, 8, 3)).await), lengths);
    let form = Form::Dot { outer: 1, axis: 2, inner: 1 };
    assert_eq!(misuse(async |aby, ctx| aby.bilinear(ctx, form, &given(aby, 8, 2), &given(aby, 8, 3)).await), lengths);
    let bits = |aby: &Aby, len| local::low_bit(&given(aby, 8, len));
    assert_eq!(misuse(async |aby, ctx| aby.and(ctx, &bits(aby, 2), &bits(aby, 3)).await), lengths);
    let rings = misuse(async |aby, ctx| aby.mul(ctx, &given(aby, 8, 2), &given(aby, 9, 2)).await);
    assert!(matches!(rings, Misuse::Other { .. }));
}

#[test]
fn rings_cuts_and_rows() {
    let wide = misuse(async |aby, ctx| aby.mul(ctx, &given(aby, 127, 1), &given(aby, 127, 1)).await);
    assert_eq!(wide, Misuse::RingBits { bits: 127 });
    for cut in [0, 8, 9] {
        let cut = misuse(async |aby, ctx| aby.edabits(ctx, Ring::of(8), Some(cut), 1).await.map(|_| ()));
        assert!(matches!(cut, Misuse::Other { .. }));
    }
    for shift in [0, 7] {
        let mask = misuse(async |aby, ctx| aby.trunc_masks(ctx, Ring::of(8), shift, 1).await.map(|_| ()));
        assert!(matches!(mask, Misuse::Other { .. }));
    }
    for rows in [0, 2] {
        let shuffled = misuse(async |aby, ctx| aby.shuffle(ctx, &[&given(aby, 8, 3)], rows).await.map(|_| ()));
        assert!(matches!(shuffled, Misuse::Length { .. }));
        let rows =
            misuse(async |aby, ctx| extremum(aby, ctx, &given(aby, 8, 3), rows, Best::Largest, Width::Full).await);
        assert!(matches!(rows, Misuse::Length { .. }));
    }
}

/// An owner without its value must not input zeros.
#[test]
fn an_owner_gives_a_value_of_the_agreed_shape() {
    for (given, expected) in [(None, "without"), (Some(4), "another shape")] {
        let outcomes = quorate_engine::testing::parties(2, |mut party| {
            let mut attempt = || {
                let mut run = party.begin_alone()?;
                let aby = run.phase(Phase::Offline, async |ctx| Aby::setup(ctx).await)?;
                run.phase(Phase::Online, async |ctx| {
                    let value = given.map(|len| Vector::zeros(Ring::of(8), len)).filter(|_| ctx.me() == 1);
                    let x = aby.input(ctx, 1, (Ring::of(8), 5), value.as_ref()).await?;
                    open(&aby, ctx, &x).await
                })
            };
            attempt().unwrap_err()
        });
        assert!(matches!(&outcomes[1], Error::Misuse { what } if what.to_string().contains(expected)), "{outcomes:?}");
        assert!(matches!(&outcomes[0], Error::Aborted { by: 1, .. }), "{outcomes:?}");
    }
}
