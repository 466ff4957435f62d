//! Tests of selective aborts: a cheater's wrong guess of a secret bit ends the run. Given that a check passes, the
//! honest party's secrets are distributed as without the attack: all bits except the guessed ones are balanced.
//!
//! Every attack here passes often, so that a defect is detected. Without the random rows y in factors, the guess of a
//! row reveals the factor's bit; without beta, the guess of the other factor passes and reveals that factor's bit.

use quorate_adversary::{By, Twist};
use quorate_authenticated::Kind;
use quorate_engine::testing::{At, Change, Liar, Lie, What, lying, over};
use quorate_engine::{Cause, Ctx, Error, Phase, Result, Stocks};
use quorate_gadgets::testing::may_be_chance;
use quorate_ring::{Ring, Vector};
use quorate_spdz2k::testing::InsecureBits;
use quorate_spdz2k::{Params, Spdz2k};

use crate::common::run;

/// The party that cheats, and the party whose secrets are tested.
const CHEAT: usize = 0;
const HONEST: usize = 1;
/// k of triples, and W with keys of 32 bits.
const K: usize = 4;
const W: usize = K + 54;

fn weak() -> Params {
    Params::new(32, true).unwrap()
}

fn flipped(at: At, bit: usize) -> Lie {
    Lie { at, what: What::Changed(Change::Bit(bit)) }
}

/// One attempt: the honest party's secret bits if it passed at that party.
type Attempt = Option<Vec<bool>>;

fn attempt(done: Result<Vec<bool>>) -> Attempt {
    match done {
        Ok(bits) => Some(bits),
        Err(Error::Cheating { .. } | Error::Aborted { cause: Cause::Cheating, .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Runs the same attack many times under one set of keys, which a test keeps alive.
fn under_one_key(
    attempts: usize,
    lie: Option<Lie>,
    begin: impl Fn(&Spdz2k) + Sync,
    work: impl AsyncFn(&Ctx, &Spdz2k) -> Result<Vec<bool>> + Sync,
) -> Vec<Attempt> {
    let liars = [lie.map_or_else(Liar::default, Liar::new), Liar::default()];
    let mut ends = over(lying(&liars), |mut party| {
        let me = party.me();
        let mut run = party.begin_alone().unwrap();
        let done = run.phase(Phase::Offline, async |ctx| {
            let s = Spdz2k::set_up(ctx, weak(), None).await?;
            s.adversary().endure();
            liars[me].begin();
            if me == CHEAT {
                begin(&s);
            }
            let mut ends = Vec::new();
            for _ in 0..attempts {
                ends.push(attempt(work(ctx, &s).await));
            }
            Ok(ends)
        });
        run.finish();
        done.unwrap()
    });
    assert_eq!(lie.is_some(), liars[CHEAT].has_lied());
    ends.swap_remove(HONEST)
}

/// Runs the same attack in many sessions.
fn in_sessions(
    sessions: usize,
    lie: Lie,
    work: impl AsyncFn(&Ctx, &Spdz2k) -> Result<Vec<bool>> + Sync,
) -> Vec<Attempt> {
    let one = |_: usize| {
        let liars = [Liar::new(lie), Liar::default()];
        let mut ends = over(lying(&liars), |mut party| {
            let me = party.me();
            let mut run = party.begin_alone().unwrap();
            let done = run.phase(Phase::Offline, async |ctx| {
                let s = Spdz2k::set_up(ctx, weak(), None).await?;
                liars[me].begin();
                work(ctx, &s).await
            });
            run.finish();
            done
        });
        assert!(liars[CHEAT].has_lied());
        attempt(ends.swap_remove(HONEST))
    };
    (0..sessions).map(one).collect()
}

/// Asserts that attempts pass at about this rate. In those that passed, each secret bit must be 0 about as often as 1,
/// alone and together with the bit before it, except for the guessed bits.
fn assert_balanced(what: &str, attempts: &[Attempt], rate: f64, guessed: &[usize]) {
    let passed: Vec<&Vec<bool>> = attempts.iter().flatten().collect();
    let (count, of) = (passed.len(), attempts.len());
    assert!(may_be_chance(count, of, rate), "{what}: {count} of {of} passed, {rate} expected");
    let Some(bits) = passed.first().map(|bits| bits.len()) else { return };
    // A known bit does not look fair in 41 runs that passed.
    let is_fair = |ones: usize, all: usize| may_be_chance(ones, all, 0.5);
    let (mut all_ones, mut all) = (0, 0);
    for bit in (0..bits).filter(|bit| !guessed.contains(bit)) {
        let ones = passed.iter().filter(|bits| bits[bit]).count();
        let differ = passed.iter().filter(|bits| bits[bit] != bits[bit.saturating_sub(1)]).count();
        assert!(is_fair(ones, count), "{what}: bit {bit} is 1 in {ones} of {count} runs that passed");
        let alone = bit == 0 || guessed.contains(&(bit - 1));
        assert!(alone || is_fair(differ, count), "{what}: bits {bit} and the one before it, {differ} of {count}");
        (all_ones, all) = (all_ones + ones, all + count);
    }
    assert!(is_fair(all_ones, all), "{what}: {all_ones} of {all} bits are 1");
    println!("{what}: {count} of {of} attempts passed; {all_ones} of {all} secret bits that nobody guessed are 1");
}

fn bits_of(x: &Vector, count: usize) -> impl Iterator<Item = bool> {
    let values = x.convert(Ring::of(count as u32)).to_u64s();
    values.into_iter().flat_map(move |value| (0..count).map(move |bit| value >> bit & 1 == 1))
}

/// Returns the honest party's factors a and b of a triple.
async fn factors(ctx: &Ctx, s: &Spdz2k) -> Result<Vec<bool>> {
    let made = s.make(ctx, &Kind::Triple { bits: K as u32 }, 1).await?;
    let share = |i: usize| Spdz2k::insecure_shared(&made.vectors[i]).share.clone();
    Ok(bits_of(&share(0), K).chain(bits_of(&share(1), K)).collect())
}

/// Returns the bits of the rows of the transfers of a triple: x, y, xh.
fn rows() -> Vec<usize> {
    let (width, noise) = weak().insecure_rows(Ring::of(K as u32));
    assert_eq!(width, W);
    let falling = |count: usize| (0..count).map(|weight| W - weight);
    falling(K).chain(vec![W; noise]).chain(falling(W)).collect()
}

/// Returns a lie that makes a correction wrong by 2^bit in this row.
fn row_off(row: usize, bit: usize) -> Lie {
    let bytes = |rows: &[usize]| rows.iter().map(|bits| bits.div_ceil(8)).sum::<usize>();
    flipped(At::Length(bytes(&rows())), 8 * bytes(&rows()[..row]) + bit)
}

fn guesses_of_rows(attempts: usize) {
    // In bits that matter, the run continues if the choice bit is 0; at the top bit, also if the coin t is even.
    for (what, row, bit, rate) in [
        ("the lowest bit of x", 0, 0, 0.5),
        ("the lowest bit of x, by the top bit of its correction", 0, W - 1, 0.75),
        ("the highest bit of x", K - 1, 0, 0.5),
        ("the lowest bit of xh", rows().len() - W, 0, 0.5),
        ("a bit of y", K + 1, 0, 0.5),
    ] {
        let attempts = under_one_key(attempts, Some(row_off(row, bit)), |_| (), factors);
        assert_balanced(&format!("a guess of {what}"), &attempts, rate, &[]);
    }
}

/// Attacks two or more honest parties: one error in a transfer to each of two of them, which cancel if both have the
/// same bit. The division at one of them reveals which bit it is. This is a second condition, which leaves all factors
/// as uniform as the first does.
fn guesses_of_two(n: usize, sessions: usize) {
    // 2^(sg'-1): half of the divisor. In a row of y the coin r may be even, and then nothing remains.
    for (what, row, rate) in [("the lowest bit of x", 0, 0.25), ("a bit of y", K + 1, 0.375)] {
        let one = |_: usize| {
            let ends = run(n, weak(), None, async |ctx, keys| {
                if ctx.me() == CHEAT {
                    for (peer, by) in [(1, By::Plus(26)), (2, By::Minus(26))] {
                        keys.adversary().twist(Twist::Transfer { peer, factor: 0, row }, by);
                    }
                }
                let made = keys.triples(ctx, Ring::of(K as u32), 1).await?;
                Ok([&made.a, &made.b].into_iter().flat_map(|factor| bits_of(&factor.share, K)).collect())
            });
            let honest = ends.into_iter().skip(1).map(|end| attempt(end.done.map(|(_, bits)| bits)));
            honest.collect::<Option<Vec<Vec<bool>>>>().map(|parts| parts.concat())
        };
        assert_balanced(
            &format!("{what} of two parties among {n}"),
            &(0..sessions).map(one).collect::<Vec<_>>(),
            rate,
            &[],
        );
    }
}

/// Returns the honest party's factors of a one-sided triple in each direction: the one that it sent, and the one of its
/// choice bits.
async fn known_factors(ctx: &Ctx, s: &Spdz2k) -> Result<Vec<bool>> {
    let made = s.make(ctx, &Kind::OneSided { left: CHEAT, right: HONEST, bits: K as u32 }, 2).await?;
    Ok(bits_of(&Spdz2k::insecure_shared(&made.vectors[1]).share, K).collect())
}

/// Runs the attacks on one-sided triples, as for other triples.
fn guesses_of_one_sided(attempts: usize) {
    for (what, row, by, rate) in [
        ("the lowest bit of x", 0, 0, 0.5),
        ("the lowest bit of x, by the top bit of its correction", 0, W - 1, 0.75),
        ("the lowest bit of xh", rows().len() - W, 0, 0.5),
        ("a bit of y", K + 1, 0, 0.5),
    ] {
        let twist = Twist::Transfer { peer: HONEST, factor: 0, row };
        let begin = |s: &Spdz2k| s.adversary().twist(twist, By::Plus(by as u32));
        let attempts = under_one_key(attempts, None, begin, known_factors);
        assert_balanced(&format!("one-sided, a guess of {what}"), &attempts, rate, &[]);
    }
    for (what, bit, rate) in [("2", W - 1, 0.75), ("4", W - 2, 0.5)] {
        let begin = |s: &Spdz2k| s.adversary().twist(Twist::Authenticated(0), By::Plus(bit as u32));
        let attempts = under_one_key(attempts, None, begin, known_factors);
        assert_balanced(&format!("one-sided, a guess of B modulo {what}"), &attempts, rate, &[]);
    }
}

fn guesses_of_b(attempts: usize) {
    let with = |bit: usize| {
        let begin = move |s: &Spdz2k| s.adversary().twist(Twist::Factor, By::Plus(bit as u32));
        under_one_key(attempts, None, begin, factors)
    };
    // The run continues where t B is even, or a multiple of 4: these bits of B are in beta.
    assert_balanced("a guess of B modulo 2", &with(W - 1), 0.75, &[]);
    assert_balanced("a guess of B modulo 4", &with(W - 2), 0.5, &[]);
    // All of beta, and a bit of b: the run continues where t B is a multiple of 2^28, once in 2 * 10^7 attempts.
    let passed = with(W - 28).iter().flatten().count();
    assert!(passed < 3, "a guess of b that leaves beta out passes");
}

/// Returns X of the honest party, which chooses bits.
async fn hashed(ctx: &Ctx, s: &Spdz2k) -> Result<Vec<bool>> {
    let kind = Kind::KnownMatrices { left: CHEAT, right: HONEST, bits: K as u32, m: 2, k: 3, n: 1 };
    let made = s.make(ctx, &kind, 1).await?;
    Ok(bits_of(&Spdz2k::insecure_shared(&made.vectors[1]).share, K).collect())
}

/// Attacks matrix triples by errors in corrections for bits of Z, of one or of all elements: the run continues if a
/// bit, or a sum of bits, is 0.
fn guesses_of_matrices(attempts: usize) {
    // k + sg'.
    let top = K as u32 + 27 - 1;
    for (what, factor, rows, by, rate) in [
        ("the lowest bit of an element of Z", 1, 0..1, By::Plus(0), 0.5),
        ("the same by the throwaway row", 0, 0..1, By::Plus(3), 0.5),
        ("the same by the top bit of a correction", 2, 0..1, By::Plus(top), 0.75),
        ("a higher bit", 1, 3..4, By::Plus(0), 0.5),
        ("the lowest bit of a sum of all Z", 1, 0..K, By::All(1 << top), 0.75),
    ] {
        let begin = |s: &Spdz2k| {
            rows.clone().for_each(|row| s.adversary().twist(Twist::Transfer { peer: HONEST, factor, row }, by));
        };
        let attempts = under_one_key(attempts, None, begin, hashed);
        assert_balanced(&format!("a guess of {what}"), &attempts, rate, &[]);
    }
}

fn guesses_of_ands(attempts: usize) {
    // One bucket of ten and two of eleven for 27 bits.
    let lie = flipped(At::Length(16 * 32), 0);
    let own = async |ctx: &Ctx, s: &Spdz2k| {
        let made = s.make(ctx, &Kind::BitTriple, 3).await?;
        let own = |bits| match Spdz2k::insecure_bits(bits) {
            InsecureBits::Macs { own, .. } => own.to_bools(),
            InsecureBits::Elements(_) => vec![],
        };
        Ok(made.bits.iter().flat_map(own).collect::<Vec<bool>>())
    };
    let attempts = under_one_key(attempts, Some(lie), |_| (), own);
    assert_balanced("a guess of a factor of a leaky AND", &attempts, 0.5, &[]);
}

/// Attacks the honest party's key, and its part of the correlations that are made.
fn guesses_of_alpha(sessions: usize) {
    // Four elements of 28, 23, 18, 13, 8 and 3 bits: the messages for all digits but the first; and the same for masks.
    let lie = flipped(At::Length(2 * (14 + 12 + 9 + 7 + 4 + 2)), 27);
    let key = async |ctx: &Ctx, s: &Spdz2k| {
        let made = s.make(ctx, &Kind::Random { bits: 1 }, 4).await?;
        let key = Vector::from_u64s(Ring::of(32), &[s.insecure_alpha()]);
        let own = Spdz2k::insecure_shared(&made.vectors[0]).share.convert(Ring::of(1));
        Ok(bits_of(&key, 32).chain(bits_of(&own, 1)).collect())
    };
    // The run continues where the coins of all four rows are even, or the lowest bit of the second digit is 0.
    let rate = (1.0 + 1.0 / 16.0) / 2.0;
    assert_balanced("a guess of a bit of a digit of alpha", &in_sessions(sessions, lie, key), rate, &[5]);
}

fn guesses_of_delta(sessions: usize) {
    // The messages for 31 trees, with 256 transfers each.
    let lie = flipped(At::Length(31 * 32), 0);
    let key = async |ctx: &Ctx, s: &Spdz2k| {
        s.make(ctx, &Kind::BitMask { owner: CHEAT }, 1).await?;
        let delta = s.insecure_delta();
        Ok((0..128).map(|bit| delta >> bit & 1 == 1).collect())
    };
    // The lowest bit is a constant; the next digit is 0 where the run continues.
    let attempts = in_sessions(sessions, lie, key);
    assert_balanced("a guess of a digit of Delta", &attempts, 1.0 / 16.0, &[0, 4, 5, 6, 7]);
}

#[test]
fn a_right_guess_reveals_nothing_but_the_guessed_bit() {
    guesses_of_rows(120);
    guesses_of_two(3, 60);
    guesses_of_b(120);
    guesses_of_one_sided(120);
    guesses_of_matrices(120);
    guesses_of_ands(120);
}

#[test]
fn a_guess_of_a_digit_of_a_key_says_nothing_of_the_others() {
    guesses_of_alpha(84);
}

#[test]
#[ignore = "takes minutes: make adversary"]
fn adversary_many_guesses_of_every_secret() {
    guesses_of_rows(2000);
    guesses_of_two(3, 2000);
    guesses_of_two(4, 500);
    guesses_of_b(2000);
    guesses_of_one_sided(2000);
    guesses_of_ands(2000);
    guesses_of_alpha(600);
    guesses_of_delta(1000);
}

#[test]
#[ignore = "takes minutes: make adversary"]
fn adversary_many_guesses_of_what_hashes_matrix_triples() {
    guesses_of_matrices(1000);
}
