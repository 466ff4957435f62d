//! Tests of parties that follow the protocol with wrong values: other factors than they authenticate, wrong words and
//! tags, numbers that are not bits, another value for each digit of a key.

use quorate_adversary::{By, Twist};
use quorate_authenticated::Kind;
use quorate_authenticated::shared::Shared;
use quorate_engine::testing::{At, Change, Liar, Lie, What, lying, over, parties};
use quorate_engine::{Cause, Error, Opened, Phase, Result, Sharing, Stocks};
use quorate_ring::{Ring, Vector};
use quorate_spdz2k::{Params, Spdz2k, Triples};

use super::outcomes::is_found;
use crate::common::{Keyed, are_products, combined, run, together};
use crate::twice::twice;

const LEN: usize = 40;

/// Makes triples while parties add these amounts to their messages to party 0; returns whether the triples are right,
/// if they are made.
fn made(n: usize, lies: &[i128]) -> Option<bool> {
    let (params, ring) = (Params::new(32, true).unwrap(), Ring::of(4));
    let ends = run(n, params, None, async |ctx, keys| {
        keys.adversary().twist(Twist::Factors { peer: 0 }, By::All(lies[ctx.me()]));
        keys.triples(ctx, ring, LEN).await
    });
    right_triples(ends.into_iter().map(|end| end.done).collect(), ring)
}

/// Returns whether triples are right, if all have them; otherwise cheating was found.
pub fn right_triples(ends: Vec<Result<(u64, Triples)>>, ring: Ring) -> Option<bool> {
    let mut all: Vec<(u64, Triples)> = Vec::new();
    for done in ends {
        match done {
            Ok(done) => all.push(done),
            Err(Error::Cheating { .. } | Error::Aborted { cause: Cause::Cheating, .. }) => return None,
            Err(error) => panic!("{error}"),
        }
    }
    let alpha = all.iter().map(|(alpha, _)| u128::from(*alpha)).sum();
    let of: [fn(&Triples) -> &Shared; 3] = [|t| &t.a, |t| &t.b, |t| &t.c];
    let [a, b, c] = of.map(|of| {
        let parts: Vec<&Shared> = all.iter().map(|(_, triples)| of(triples)).collect();
        combined(alpha, &parts, "triples of liars")
    });
    Some(are_products(&a, &b, &c, ring))
}

/// Two parties' lies cancel. If each pair's part were divided by itself, the result would depend on the lowest bit of
/// the third party's factor half of the time. An abort would then reveal that bit. With such a division, forty triples
/// passed once in a thousand runs.
#[test]
fn lies_that_cancel_change_nothing() {
    for by in [1 << 26, 1 << 25, 3, (5 << 27) + 7, 1 << 57] {
        assert_eq!(made(3, &[0, by, -by]), Some(true), "{by}");
    }
}

#[test]
fn lies_that_do_not_cancel_are_found() {
    for lies in [[0, 1 << 26, 0], [0, 1 << 26, 1 << 26], [0, 0, 1]] {
        assert_eq!(twice(|| made(3, &lies)), None, "{lies:?}");
    }
    assert_eq!(twice(|| made(2, &[0, 1 << 26])), None);
}

/// A party inputs a number below the modulus that is not a bit, with either lowest bit, among two parties and more. The
/// numbers are so short that their bits are proven; two parties also make a random bit or a daBit from one bit of each.
#[test]
fn numbers_that_are_no_bits_are_found() {
    let [numbers, dabits, random] =
        &[Kind::EdaBit { bits: 3, ring: 11, cut: 0 }, Kind::DaBit { bits: 4 }, Kind::RandomBit { bits: 6 }];
    for (n, cheat, kind, by) in [
        (2, 0, numbers, By::Plus(1)),
        (2, 1, numbers, By::Minus(1)),
        (3, 1, numbers, By::Plus(2)),
        (3, 2, numbers, By::Minus(2)),
        (2, 0, dabits, By::Plus(1)),
        (2, 1, dabits, By::Minus(1)),
        (2, 1, random, By::Plus(1)),
        (2, 0, dabits, By::Pair(1)),
        (3, 1, numbers, By::Pair(1)),
    ] {
        let ends = parties(n, |mut party| {
            let mut run = party.begin_alone().unwrap();
            let done = run.phase(Phase::Offline, async |ctx| {
                let s = Spdz2k::set_up(ctx, Params::new(32, true).unwrap(), None).await?;
                if ctx.me() == cheat {
                    s.adversary().twist(Twist::ProvenBit, by);
                }
                s.make(ctx, kind, 20).await
            });
            run.finish();
            done.map(|_| ())
        });
        let proof = |done: &Result<()>| matches!(done, Err(Error::Cheating { check }) if check.contains("are bits"));
        assert!(
            ends.iter().all(is_found) && ends.iter().any(proof),
            "{kind}, {by:?} of party {cheat} of {n}: {ends:?}"
        );
    }
}

/// Makes triples of four bits, W = 58 and V = 68, where parties deviate at one point; returns whether they are right,
/// if they are made.
fn twisted(n: usize, twists: &[(usize, Twist, By)]) -> Option<bool> {
    right_triples(twisted_ends(n, twists), Ring::of(4))
}

/// Returns what each party has of those triples.
fn twisted_ends(n: usize, twists: &[(usize, Twist, By)]) -> Vec<Result<(u64, Triples)>> {
    let ends = run(n, Params::new(32, true).unwrap(), None, async |ctx, keys| {
        let mine = twists.iter().filter(|(party, ..)| *party == ctx.me());
        mine.for_each(|(_, twist, by)| keys.adversary().twist(*twist, *by));
        keys.triples(ctx, Ring::of(4), 2).await
    });
    ends.into_iter().map(|end| end.done).collect()
}

#[test]
fn wrong_messages_in_the_making_of_triples_are_found() {
    let mut cases = 0;
    for (twist, bits) in [
        (Twist::Factor, &[0, 1, 4, 29, 30][..]),
        (Twist::Authenticated(0), &[0, 5, 57]),
        (Twist::Authenticated(1), &[0, 5]),
        (Twist::Authenticated(2), &[0, 30]),
        (Twist::Authenticated(3), &[0, 30]),
        (Twist::Authenticated(4), &[0, 26]),
        (Twist::Authenticated(5), &[0, 3]),
        (Twist::Quotient, &[0, 3, 4, 30]),
        (Twist::Rho, &[0, 4, 31]),
        (Twist::Zero(0), &[0, 4, 31]),
        (Twist::Rest, &[0, 4, 31]),
        (Twist::Beta, &[0, 26, 27, 40]),
        (Twist::WordTag, &[0, 31, 67]),
    ] {
        for (i, &bit) in bits.iter().enumerate() {
            let (n, party) = [(2, 0), (3, 2), (2, 1), (4, 3)][cases % 4];
            let by = if i % 2 == 0 { By::Plus(bit) } else { By::Minus(bit) };
            // A factor that is wrong by half the modulus is a guess of beta, which may be right.
            let expected = if (twist, bit) == (Twist::Authenticated(0), 57) { Some(true) } else { None };
            let done = twice(|| twisted(n, &[(party, twist, by)]));
            assert!(done.is_none() || done == expected, "{twist:?} of party {party} of {n}, {by:?}: {done:?}");
            cases += 1;
        }
    }
    println!("{cases} cases, all found");
    assert!(cases > 30);
}

/// A party uses a wrong share of c, and a share of the remainder that cancels the error.
#[test]
fn a_wrong_quotient_is_found_though_what_is_left_looks_like_zero() {
    for n in [2, 3] {
        let twists = [(1, Twist::Quotient, By::Plus(0)), (1, Twist::Rest, By::Minus(27))];
        assert_eq!(twice(|| twisted(n, &twists)), None, "{n} parties");
    }
}

/// One transfer's correction is wrong, among the k + W + 70 rows of two triples of four bits. This is a guess of a bit
/// of both, and triples that pass are right.
#[test]
fn errors_in_corrections_of_single_transfers_are_found_or_leave_triples_right() {
    let (params, ring, len) = (Params::new(32, true).unwrap(), Ring::of(4), 2);
    let (width, noise) = params.insecure_rows(ring);
    let falling = |count: usize| (0..count).map(|weight| width - weight);
    let rows: Vec<usize> = falling(4).chain(vec![width; noise]).chain(falling(width)).collect();
    let (y, xh) = (4, 4 + noise);
    let bytes = |rows: &[usize]| rows.iter().map(|bits| (len * bits).div_ceil(8)).sum::<usize>();
    let mut ends = [0; 2];
    let cases = [(0, 0), (0, 57), (3, 0), (3, 54), (xh, 0), (xh + 57, 0), (y, 0), (y + 38, 30), (y + 69, 57)];
    for (i, (row, bit)) in cases.iter().cycle().take(5 * cases.len()).enumerate() {
        // Runs all cases once, and again if all of them had the same outcome, which happens once in 10^4 times.
        if i >= cases.len() && ends[0] > 0 && ends[1] > 0 {
            break;
        }
        for n in if i % 3 == 0 { vec![2, 3] } else { vec![2, 2] } {
            let bit = 8 * bytes(&rows[..*row]) + bit;
            let lie = Lie { at: At::Length(bytes(&rows)), what: What::Changed(Change::Bit(bit)) };
            let liars: Vec<Liar> =
                (0..n).map(|party| if party == 1 { Liar::new(lie) } else { Liar::default() }).collect();
            let done = over(lying(&liars), |mut party| {
                let me = party.me();
                let mut run = party.begin_alone().unwrap();
                let done = run.phase(Phase::Offline, async |ctx| {
                    let s = Spdz2k::set_up(ctx, params, None).await?;
                    let keys = s.keys();
                    liars[me].begin();
                    Ok((keys.key() as u64, keys.triples(ctx, ring, len).await?))
                });
                run.finish();
                done
            });
            assert!(liars[1].has_lied());
            let right = right_triples(done, ring);
            assert_ne!(right, Some(false), "row {row}, bit {bit}, among {n}");
            ends[usize::from(right.is_some())] += 1;
        }
    }
    println!("{} found, {} left triples right", ends[0], ends[1]);
    assert!(ends[0] > 0 && ends[1] > 0, "{ends:?}");
}

/// Errors above the significant bits are harmless, or found.
#[test]
fn errors_above_the_significant_bits_are_harmless_or_found() {
    let mut right = 0;
    for (twist, bits) in [
        (Twist::Authenticated(0), &[58, 60, 67][..]),
        (Twist::Quotient, &[31, 35, 40]),
        (Twist::Rho, &[58, 66, 67]),
        (Twist::Zero(0), &[58, 67]),
        (Twist::Rest, &[58, 67]),
    ] {
        for (i, &bit) in bits.iter().enumerate() {
            let (n, party) = [(2, 0), (3, 1)][i % 2];
            let done = twisted(n, &[(party, twist, By::Plus(bit))]);
            assert_ne!(done, Some(false), "{twist:?} of party {party} of {n}, bit {bit}");
            assert!(twist != Twist::Authenticated(0) || done == Some(true), "bit {bit} of a");
            right += usize::from(done.is_some());
        }
    }
    assert!(right >= 4, "{right}");
}

/// Two parties open wrong parts of beta with the right sum, which would reveal the third party's factor.
#[test]
fn every_part_of_beta_is_checked_by_itself() {
    for bit in [0, 13, 26] {
        let lies = [(1, Twist::Beta, By::Plus(bit)), (2, Twist::Beta, By::Minus(bit))];
        let ends = twisted_ends(3, &lies);
        // It is found there, and not only later by what the cheaters have then.
        let found_by =
            |name: &str| ends.iter().any(|end| matches!(end, Err(Error::Cheating { check }) if check.contains(name)));
        assert!(ends.iter().all(is_found) && found_by("remainders") && !found_by("divided"), "{bit}");
    }
}

/// Runs a product of 16 bits and a shuffle on a dealer's correlations, with deviations at one point; the product is
/// also revealed to the last party alone. Returns the results of honest parties.
fn online(n: usize, twists: &[(usize, Twist, By)]) -> Vec<Result<Vec<Vec<u64>>>> {
    let ring = Ring::of(16);
    let ends = parties(n, |mut party| {
        let mut run = party.begin_alone().unwrap();
        let done = run.phase(Phase::Online, async |ctx| {
            let s = Spdz2k::insecure_set_up(ctx, Params::default(), None).await?;
            let mine = twists.iter().filter(|(party, ..)| *party == ctx.me());
            mine.for_each(|(_, twist, by)| s.adversary().twist(*twist, *by));
            let own = (ctx.me() == 0).then(|| Vector::from_u64s(ring, &[3, 500, 7]));
            let x = s.input(ctx, 0, (ring, 3), own.as_ref()).await?;
            let product = s.mul(ctx, &x, &x).await?;
            let shuffled = s.shuffle(ctx, &[&x], 3).await?;
            let checked = s.check(ctx).await?;
            let shown = [
                s.reveal(ctx, &checked, &product, None).await?,
                s.reveal(ctx, &checked, &shuffled[0], None).await?,
                s.reveal(ctx, &checked, &product, Some(n - 1)).await?,
            ];
            let checked = s.check(ctx).await?;
            let believed = |value: Opened<Vector>| Ok(value.believe(&checked)?.into_inner().to_u64s());
            shown.into_iter().flatten().map(believed).collect()
        });
        run.finish();
        done
    });
    let is_honest = |me: usize| twists.iter().all(|(party, ..)| *party != me);
    ends.into_iter().enumerate().filter(|(me, _)| is_honest(*me)).map(|(_, done)| done).collect()
}

/// Returns whether results are right, with shuffled rows in any order.
fn are_right(done: &Result<Vec<Vec<u64>>>) -> bool {
    let Ok(shown) = done else { return false };
    let product = [9, 250_000 % 65_536, 49];
    let mut shuffled = shown[1].clone();
    shuffled.sort_unstable();
    shown[0] == product && shuffled == [3, 7, 500] && shown[2..].iter().all(|alone| *alone == product)
}

#[test]
fn what_a_party_says_otherwise_in_a_program_is_found() {
    let mut cases = 0;
    for (twist, bits) in [
        (Twist::Low, &[0, 7, 15][..]),
        (Twist::Row, &[0, 15, 62]),
        (Twist::RowTag, &[0, 16, 79]),
        (Twist::Switch, &[1, 8, 15]),
    ] {
        for &bit in bits {
            for (n, party) in [(2, 1), (3, 1), (3, 2), (4, 2)] {
                // A pair is of two numbers of one message, up and down: each row counts them by coins of its own.
                for by in [By::Plus(bit), By::Minus(bit), By::Pair(bit)] {
                    let ends = online(n, &[(party, twist, by)]);
                    // An error of 2^62 modulo 2^64 passes for a key that is a multiple of 4.
                    let is_guess = (twist, bit) == (Twist::Row, 62);
                    let is_end = |done: &Result<_>| is_found(done) || is_guess && are_right(done);
                    assert!(ends.iter().all(is_end), "{twist:?} of party {party} of {n}, {by:?}: {ends:?}");
                    cases += 1;
                }
            }
        }
    }
    // Two errors that cancel are not a lie, unless one wraps: the sent values are added up as integers.
    for bit in [0, 3, 15] {
        for n in [3, 4] {
            let ends = online(n, &[(1, Twist::Low, By::Plus(bit)), (2, Twist::Low, By::Minus(bit))]);
            assert!(ends.iter().all(|done| are_right(done) || is_found(done)), "{bit} of {n}: {ends:?}");
        }
    }
    println!("{cases} cases, all found");
    assert!(cases > 60);
}

/// A party uses another value for one digit of the peer's key. This is found, or is a right guess; otherwise only upper
/// bits of the tags are wrong, which is found when the value is opened.
#[test]
fn values_that_differ_by_digit_are_found_or_tags_are_right() {
    // Four elements of 33 - 5 i bits for digits i = 1 to 6; the part of a digit begins with the first element's bits;
    // and the same for masks.
    let widths: Vec<usize> = (1..7).map(|digit| 33 - 5 * digit).collect();
    let bytes = |digits: &[usize]| digits.iter().map(|width| (4 * width).div_ceil(8)).sum::<usize>();
    let (mut ends, mut loose) = ([0; 3], 0);
    for (i, digit) in (0..widths.len()).cycle().take(4 * widths.len()).enumerate() {
        // All digits once, and again if no guess was right, which happens once in 10^7 times.
        if i >= widths.len() && ends[0] > 2 && ends[2] > 0 {
            break;
        }
        for (bit, times) in [(0, 1), (widths[digit] - 2, 2), (widths[digit] - 1, 3)] {
            let change = What::Changed(Change::Bit(8 * bytes(&widths[..digit]) + bit));
            for _ in 0..times {
                let (stage, off) = digit_off(Lie { at: At::Length(2 * bytes(&widths)), what: change });
                assert!(!off || stage == 1, "tags that are off pass the check of an opening");
                ends[stage] += 1;
                loose += usize::from(off);
            }
        }
    }
    println!(
        "{} found at once, {} when opened ({loose} with tags that are off), {} were right",
        ends[0], ends[1], ends[2]
    );
    assert!(ends[0] > 2 && ends[1] == loose && ends[2] > 0, "{ends:?}, {loose}");
}

/// Returns the last stage that a run with a lie reaches (making, opening, end), and whether tags were wrong after the
/// making.
fn digit_off(lie: Lie) -> (usize, bool) {
    let liars = [Liar::new(lie), Liar::default()];
    let ends = over(lying(&liars), |mut party| {
        let me = party.me();
        let mut run = party.begin_alone().unwrap();
        let s = run.phase(Phase::Offline, async |ctx| Spdz2k::set_up(ctx, Params::new(32, true)?, None).await);
        let s = s.unwrap();
        liars[me].begin();
        let made = run.phase(Phase::Offline, async |ctx| {
            let mut made = s.make(ctx, &Kind::Random { bits: 1 }, 4).await?;
            Ok(made.vectors.remove(0))
        });
        let made = made.ok()?;
        let part = ((s.insecure_alpha(), 0), (vec![Spdz2k::insecure_shared(&made)], vec![]));
        let opened = run.phase(Phase::Online, async |ctx| {
            s.open(ctx, &made).await?;
            s.check(ctx).await
        });
        run.finish();
        Some((part, opened.map(drop)))
    });
    assert!(liars[0].has_lied());
    let Some((_, opened)) = &ends[1] else { return (0, false) };
    let is_off = ends.iter().all(Option::is_some) && {
        let parts: Vec<Keyed> = ends.iter().flatten().map(|(part, _)| part.clone()).collect();
        together(&parts, "digits").is_loose
    };
    match opened {
        Ok(()) => (2, is_off),
        error => {
            assert!(is_found(error), "{error:?}");
            (1, is_off)
        }
    }
}
