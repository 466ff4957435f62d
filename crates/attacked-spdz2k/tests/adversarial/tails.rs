//! The rates at which pairs of lies pass that cancel if a coin or a key is what they guess, under keys so short that
//! they sometimes pass: the rates are those of the bounds in docs/security/spdz2k.md. As for all real keys, the
//! security of each step has fewer bits than the keys, so that W is less than V.

use quorate_adversary::{By, Twist};
use quorate_engine::{Cause, Error, Result};
use quorate_gadgets::testing::may_be_chance;
use quorate_ring::Ring;
use quorate_spdz2k::{Keys, Params, Triples};

use super::lies::right_triples;
use crate::common::run;

const K: u32 = 4;

/// The numbers of attempts to make a triple that passed, and of wrong triples among them; party 1 deviates by `twists`.
struct Attempts {
    passed: usize,
    wrong: usize,
    /// The sum of both keys.
    alpha: u64,
}

fn attempts(params: Params, count: usize, twists: &[(Twist, By)]) -> Attempts {
    let ends = run(2, params, None, async |ctx, keys: &Keys| {
        keys.adversary().endure();
        if ctx.me() == 1 {
            twists.iter().for_each(|(twist, by)| keys.adversary().twist(*twist, *by));
        }
        let mut made = Vec::new();
        for _ in 0..count {
            made.push(match keys.triples(ctx, Ring::of(K), 1).await {
                Ok(triples) => Some(triples),
                Err(Error::Cheating { .. } | Error::Aborted { cause: Cause::Cheating, .. }) => None,
                Err(error) => return Err(error),
            });
        }
        Ok(made)
    });
    let (mut alphas, mut by_party) = (Vec::new(), Vec::new());
    for end in ends {
        let (alpha, made) = end.done.unwrap();
        alphas.push(alpha);
        by_party.push(made.into_iter());
    }
    let (mut passed, mut wrong) = (0, 0);
    for _ in 0..count {
        let both: Vec<Option<Triples>> = by_party.iter_mut().map(|made| made.next().unwrap()).collect();
        let both: Vec<Triples> = both.into_iter().flatten().collect();
        assert!(both.len() != 1, "one party goes on alone");
        if both.len() == 2 {
            let ends: Vec<Result<(u64, Triples)>> = alphas.iter().copied().zip(both).map(Ok).collect();
            passed += 1;
            wrong += usize::from(right_triples(ends, Ring::of(K)) == Some(false));
        }
    }
    Attempts { passed, wrong, alpha: alphas.iter().sum() }
}

/// c~ is larger by 2^sg', so that c is larger by 1, and ch~ is larger by a guess of t times that. It passes if t was
/// guessed, with probability 2^-(sg'+1), and then a wrong triple is made.
#[test]
fn a_wrong_triple_passes_where_t_was_guessed() {
    const TRIES: usize = 320;
    for (inner, guess) in [(2, 5), (3, 9)] {
        let params = Params::insecure(8, inner);
        let seen = attempts(
            params,
            TRIES,
            &[
                (Twist::Authenticated(2), By::Plus(inner)),
                (Twist::Authenticated(3), By::Steps { apart: 1, count: 1, by: guess << inner }),
                (Twist::Quotient, By::Plus(0)),
            ],
        );
        let rate = f64::from(1 << (inner + 1)).recip();
        println!("sg' = {inner}: {} of {TRIES} wrong triples passed, {rate} expected", seen.passed);
        assert!(may_be_chance(seen.passed, TRIES, rate), "sg' = {inner}: {} of {TRIES}", seen.passed);
        assert!(seen.passed > 0 && seen.wrong == seen.passed, "{} of {} are wrong", seen.wrong, seen.passed);
    }
}

/// ch~ is off by half of 2^W, and so is what is sent of the zero that is left. It passes if chi times the key is a
/// multiple of 2^(V-W+1), which is worth as much as a guess of the key's low bits.
#[test]
fn a_wrong_word_passes_as_often_as_the_key_lets_it() {
    const TRIES: usize = 60;
    let (key_bits, inner) = (5, 3);
    let top = K + 2 * inner - 1;
    let (mut passed, mut expected) = (0, 0.0);
    for _ in 0..10 {
        let lies = [(Twist::Authenticated(3), By::Plus(top)), (Twist::Zero(0), By::Plus(top))];
        let seen = attempts(Params::insecure(key_bits, inner), TRIES, &lies);
        let left = 1 << (2 * (key_bits - inner) + 1);
        let passing = (0..1u64 << key_bits).filter(|chi| (chi * seen.alpha).is_multiple_of(left)).count();
        let rate = passing as f64 / f64::from(1 << key_bits);
        assert!(rate >= 1.0 || may_be_chance(seen.passed, TRIES, rate), "{} of {TRIES}, {rate}", seen.passed);
        assert_eq!(seen.wrong, 0, "the throwaway product alone is off");
        (passed, expected) = (passed + seen.passed, expected + rate * TRIES as f64);
    }
    println!("{passed} lies about words passed, {expected:.0} expected");
    assert!(passed > 0);
}
