//! Misuse by a caller is an error of its own, before anything is sent.

use quorate_engine::testing::parties;
use quorate_engine::{Checked, Ctx, Error, Misuse, Phase, Result, Sharing, dry};
use quorate_ring::{Bits, Ring, Vector};
use quorate_spdz2k::{Params, Spdz2k};

const RING: Ring = Ring::of(8);

/// Returns the misuse that a dry run of three parties finds, alike at all of them.
fn misuse<T>(work: impl AsyncFn(&Spdz2k, &Ctx) -> Result<T>) -> Misuse {
    let mut found: Vec<Misuse> = (0..3)
        .map(|me| {
            let s = Spdz2k::insecure_dry(3, me, Params::default()).unwrap();
            match dry::run(me, 3, Phase::Online, async |ctx| work(&s, ctx).await.map(drop)) {
                Err(Error::Misuse { what }) => what,
                other => panic!("{other:?}"),
            }
        })
        .collect();
    assert!(found.iter().all(|misuse| *misuse == found[0]));
    found.remove(0)
}

#[test]
fn numbers_of_parties() {
    for n in [0, 1] {
        let of_one = Spdz2k::new_dry(n, 0, Params::default()).err();
        assert!(matches!(of_one, Some(Error::Misuse { what: Misuse::Parties { .. } })), "{n}");
    }
    let absent = Spdz2k::new_dry(2, 2, Params::default()).err();
    assert!(matches!(absent, Some(Error::Misuse { what: Misuse::NoSuchParty { .. } })));
}

#[test]
fn parties_that_do_not_exist() {
    let absent = Misuse::NoSuchParty { party: 3, parties: 3 };
    let given = |s: &Spdz2k| s.public(&Vector::shape(RING, 1));
    let checked = Checked::unneeded;
    assert_eq!(misuse(async |s, ctx| s.input(ctx, 3, (RING, 1), None).await), absent);
    assert_eq!(misuse(async |s, ctx| s.input_bits(ctx, 3, (1, 1), None).await), absent);
    assert_eq!(misuse(async |s, ctx| s.reveal(ctx, &checked(), &given(s), Some(3)).await), absent);
    let bits = |s: &Spdz2k| s.public_bits(&Bits::shape(1, 1));
    assert_eq!(misuse(async |s, ctx| s.reveal_bits(ctx, &checked(), &bits(s), Some(3)).await), absent);
}

#[test]
fn rings_for_which_there_are_no_words() {
    let wide = Ring::of(127);
    let given = |s: &Spdz2k| s.public(&Vector::shape(wide, 1));
    assert_eq!(misuse(async |s, ctx| s.mul(ctx, &given(s), &given(s)).await), Misuse::RingBits { bits: 127 });
}

/// Returns how all parties end if the owner has no value, or one of another shape.
fn given(n: usize, owner: usize, params: Params, given: Option<usize>) -> [Vec<Error>; 2] {
    [false, true].map(|bits| {
        parties(n, |mut party| {
            let mut run = party.begin_alone().unwrap();
            let set_up = run.phase(Phase::Offline, async |ctx| Spdz2k::insecure_set_up(ctx, params, None).await);
            // The owner may have stopped before another party has all of the set-up.
            let done = set_up.and_then(|s| {
                run.phase(Phase::Online, async |ctx| {
                    let len = given.filter(|_| ctx.me() == owner);
                    if bits {
                        let value = len.map(|len| Bits::zeros(1, len));
                        let x = s.input_bits(ctx, owner, (1, 5), value.as_ref()).await?;
                        s.open_bits(ctx, &x).await?;
                    } else {
                        let value = len.map(|len| Vector::zeros(RING, len));
                        let x = s.input(ctx, owner, (RING, 5), value.as_ref()).await?;
                        s.open(ctx, &x).await?;
                    }
                    s.check(ctx).await.map(drop)
                })
            });
            run.finish();
            done.unwrap_err()
        })
    })
}

#[test]
fn an_owner_gives_a_value_of_the_agreed_shape() {
    for (n, owner) in [(2, 0), (2, 1), (3, 1)] {
        for params in [Params::default(), Params::default().as_in_the_paper()] {
            for (value, expected) in [(None, "without"), (Some(4), "another shape")] {
                for ends in given(n, owner, params, value) {
                    for (me, error) in ends.iter().enumerate() {
                        match me == owner {
                            true => assert!(
                                matches!(error, Error::Misuse { what } if what.to_string().contains(expected)),
                                "{error:?}"
                            ),
                            false => assert!(matches!(error, Error::Aborted { by, .. } if *by == owner), "{error:?}"),
                        }
                    }
                }
            }
        }
    }
}
