//! Misuse by a caller is an error of its own, before anything is sent.

use crate::common::*;
use quorate_additive::local;
use quorate_engine::{Checked, Ctx, Error, Form, Misuse, Phase, Result, Sharing, dry};
use quorate_gadgets::Choices;
use quorate_pika::Pika;
use quorate_ring::{Ring, Vector};

/// Returns the misuse that a dry run finds, alike at all parties.
fn misuse<T>(work: impl AsyncFn(&Pika, &Ctx) -> Result<T>) -> Misuse {
    let mut found: Vec<Misuse> = (0..N)
        .map(|me| {
            let s = Pika::dry(N, me).unwrap();
            match dry::run(me, N, Phase::Online, async |ctx| work(&s, ctx).await.map(drop)) {
                Err(Error::Misuse { what }) => what,
                other => panic!("{other:?}"),
            }
        })
        .collect();
    assert!(found.iter().all(|misuse| *misuse == found[0]));
    found.remove(0)
}

fn given(s: &Pika, k: u32, len: usize) -> A {
    s.public(&Vector::shape(Ring::of(k), len))
}

#[test]
fn numbers_of_parties() {
    for parties in [0, 1, 2, 4, 9] {
        assert!(matches!(Pika::dry(parties, 0).err(), Some(Error::Misuse { what: Misuse::Parties { .. } })));
    }
    assert!(matches!(Pika::dry(3, 3).err(), Some(Error::Misuse { what: Misuse::NoSuchParty { .. } })));
}

#[test]
fn parties_that_do_not_exist() {
    let absent = Misuse::NoSuchParty { party: 3, parties: 3 };
    let checked = Checked::unneeded;
    assert_eq!(misuse(async |s, ctx| s.input(ctx, 3, (Ring::of(8), 1), None).await), absent);
    assert_eq!(misuse(async |s, ctx| s.input_bits(ctx, 3, (1, 1), None).await), absent);
    assert_eq!(misuse(async |s, ctx| s.reveal(ctx, &checked(), &given(s, 8, 1), Some(3)).await), absent);
    let bit = |s: &Pika| local::low_bit(&given(s, 8, 1));
    assert_eq!(misuse(async |s, ctx| s.reveal_bits(ctx, &checked(), &bit(s), Some(3)).await), absent);
}

#[test]
fn operands_that_do_not_fit() {
    let lengths = Misuse::Length { what: "a product", left: 2, right: 3 };
    let forms = [Form::Product, Form::MatMul { m: 1, k: 2, n: 2 }, Form::Dot { outer: 1, axis: 2, inner: 1 }];
    for form in forms {
        let found = misuse(async |s, ctx| s.bilinear(ctx, form, &given(s, 8, 2), &given(s, 8, 3)).await);
        assert_eq!(found, lengths, "{form:?}");
    }
    let bits = |s: &Pika, len| local::low_bit(&given(s, 8, len));
    assert_eq!(misuse(async |s, ctx| s.and(ctx, &bits(s, 2), &bits(s, 3)).await), lengths);
    let rings = misuse(async |s, ctx| s.mul(ctx, &given(s, 8, 2), &given(s, 9, 2)).await);
    assert!(matches!(rings, Misuse::Other { .. }));
}

#[test]
fn rings_cuts_pairs_and_rows() {
    let wide = misuse(async |s, ctx| s.mul(ctx, &given(s, 127, 1), &given(s, 127, 1)).await);
    assert_eq!(wide, Misuse::RingBits { bits: 127 });
    let ring = Ring::of(8);
    for cut in [0, 8, 9] {
        let cut = misuse(async |s, ctx| s.edabits(ctx, ring, Some(cut), 1).await.map(drop));
        assert!(matches!(cut, Misuse::Other { .. }));
    }
    for shift in [0, 7] {
        let mask = misuse(async |s, ctx| s.trunc_masks(ctx, ring, shift, 1).await.map(drop));
        assert!(matches!(mask, Misuse::Other { .. }));
    }
    let pairs = misuse(async |s, ctx| s.comparison_masks(ctx, ring, 5, 1).await.map(drop));
    assert!(matches!(pairs, Misuse::Other { .. }));
    let narrow = misuse(async |s, ctx| s.wide_edabits(ctx, ring, ring, 1).await.map(drop));
    assert!(matches!(narrow, Misuse::Other { .. }));
    for rows in [0, 2] {
        let shuffled = misuse(async |s, ctx| s.shuffle(ctx, &[&given(s, 8, 3)], rows).await.map(drop));
        assert!(matches!(shuffled, Misuse::Length { .. }));
    }
    // More elements than the words of their places can number, in rows of one element and of many.
    for (rows, len) in [(1 << 31, 1 << 31), (1 << 32, 1 << 32), (2, 1 << 31), (1 << 33, 0)] {
        let long = misuse(async |s, ctx| s.shuffle(ctx, &[&given(s, 8, len)], rows).await.map(drop));
        assert_eq!(long, Misuse::Other { what: "a shuffled array has fewer than 2^31 elements" }, "{rows} rows");
    }
}

/// An owner without its value must not input zeros.
#[test]
fn an_owner_gives_a_value_of_the_agreed_shape() {
    for owner in 0..N {
        for (given, expected) in [(None, "without"), (Some(4), "another shape")] {
            let outcomes = quorate_engine::testing::parties(N, |mut party| {
                let mut attempt = || {
                    let mut run = party.begin_alone()?;
                    let s = run.phase(Phase::Offline, async |ctx| Pika::setup(ctx).await)?;
                    run.phase(Phase::Online, async |ctx| {
                        let value = given.map(|len| Vector::zeros(Ring::of(8), len)).filter(|_| ctx.me() == owner);
                        let x = s.input(ctx, owner, (Ring::of(8), 5), value.as_ref()).await?;
                        open(&s, ctx, &x).await
                    })
                };
                attempt().unwrap_err()
            });
            for (me, error) in outcomes.iter().enumerate() {
                match me == owner {
                    true => assert!(matches!(error, Error::Misuse { what } if what.to_string().contains(expected))),
                    false => assert!(matches!(error, Error::Aborted { by, .. } if *by == owner), "{error:?}"),
                }
            }
        }
    }
}

/// Without `malicious` there are no MACs.
#[test]
fn choices_that_say_nothing() {
    for (name, value) in [("mac", "48"), ("allow_weak", "yes")] {
        let mut choices = Choices::default();
        assert!(choices.choose(Pika::DESCRIPTOR.option(name).unwrap(), value));
        let refused = <Pika as Family>::check_choices(&choices).unwrap_err().to_string();
        assert!(refused.contains("without malicious"), "{name}: {refused}");
    }
}
