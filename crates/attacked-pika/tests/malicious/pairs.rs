//! Two lies at once that cancel if a coin has the assumed value: a dealer that guesses coins of short keys passes at
//! the rate of right guesses, and one that assumes that two coins are equal never does.

use quorate_adversary::{By, Twist};
use quorate_adversary::{Lie, Spoil};
use quorate_engine::testing::{Liar, parties};
use quorate_engine::{Ctx, Phase, Result, Sharing, Stocks};
use quorate_gadgets::testing::may_be_chance;
use quorate_pika::PikaMalicious;
use quorate_pika::malicious::digits::Digits;
use quorate_ring::{Bits, Ring, Vector};
use quorate_spdz2k::{Kind, Params};

use super::links::{End, run_party};
use super::outcomes::is_found;
use crate::common::N;

const K: u32 = 5;
const LEN: usize = 3;
/// The bits of keys so short that guesses are sometimes right.
const S: u32 = 3;

fn usual() -> Params {
    Params::new(48, false).unwrap()
}

fn short() -> Params {
    Params::insecure(S, 1)
}

/// Returns whether P0 and P1 both find the dealer's deviation, and asserts that both or neither do.
fn is_found_by_both(params: Params, kind: &Kind, cheat: impl Fn(&PikaMalicious) + Sync) -> bool {
    let ends = parties(N, |mut party| {
        let me = party.me();
        let mut run = party.begin_alone().unwrap();
        let set_up = async |ctx: &Ctx| PikaMalicious::set_up(ctx, params, None).await;
        let s = run.phase(Phase::Offline, set_up).unwrap();
        if me == 2 {
            cheat(&s);
        }
        let dealt = run.phase(Phase::Offline, async |ctx| s.make(ctx, kind, LEN).await.map(drop));
        run.finish();
        assert!(me < 2 || s.adversary().lied() > 0, "nothing was lied about");
        is_found(&dealt)
    });
    assert_eq!(ends[0], ends[1], "one party goes on");
    ends[0]
}

/// Returns lies about some elements of the message with this number, each by this power of two.
fn lies(sent: usize, elements: &[usize], bit: u32) -> Vec<Lie> {
    elements.iter().map(|&element| Lie { sent, element, bit, only: None }).collect()
}

fn with_lies(params: Params, kind: &Kind, lies: &[Lie]) -> bool {
    is_found_by_both(params, kind, |s| lies.iter().for_each(|lie| s.adversary().lie(*lie)))
}

/// Tries every guess of a coin some times: none passes much more often than the coins have that value.
fn guessed(what: &str, guesses: u32, passes: impl Fn(u32) -> bool) {
    const TIMES: usize = 24;
    let passed: Vec<usize> = (0..guesses).map(|guess| (0..TIMES).filter(|_| passes(guess)).count()).collect();
    println!("{what}: of {TIMES} runs with each guess passed {passed:?}");
    assert!(passed.iter().all(|&passed| passed <= TIMES * 2 / 3), "{what}: some guess is right in {passed:?}");
    let all = passed.iter().sum::<usize>();
    assert!(may_be_chance(all, TIMES * guesses as usize, f64::from(guesses).recip()), "{what}: {passed:?}");
}

/// c is larger by 1, and chat by the guess of t.
#[test]
fn a_wrong_product_passes_where_t_was_guessed() {
    let kind = Kind::Triple { bits: 1 };
    guessed("t", 1 << S, |t| {
        let bits = (0..S).filter(|bit| t >> bit & 1 == 1);
        let lies: Vec<Lie> = lies(0, &[0], 0).into_iter().chain(bits.flat_map(|bit| lies(1, &[0], bit))).collect();
        !with_lies(short(), &kind, &lies)
    });
}

/// A tag is larger by half of the modulus, and so are tags of masks of the rows that are guessed to select it.
#[test]
fn a_wrong_tag_passes_where_rows_were_guessed() {
    let kind = Kind::Random { bits: 1 };
    guessed("rows", 1 << S, |rows| {
        let masks: Vec<usize> = (0..S as usize).filter(|row| rows >> row & 1 == 1).collect();
        let lies: Vec<Lie> = lies(0, &[0], Lie::TOP).into_iter().chain(lies(1, &masks, Lie::TOP)).collect();
        !with_lies(short(), &kind, &lies)
    });
}

/// Two tags are larger by half of the modulus: in one vector, and in two. Half of the rows select one of them alone.
#[test]
fn two_wrong_tags_do_not_make_up_for_each_other() {
    for _ in 0..20 {
        assert!(with_lies(usual(), &Kind::Random { bits: K }, &lies(0, &[0, 2], Lie::TOP)));
        // Tags of a and of b come third and fourth, after c and chat.
        let both = [lies(2, &[1], Lie::TOP), lies(3, &[1], Lie::TOP)].concat();
        assert!(with_lies(usual(), &Kind::Triple { bits: K }, &both));
    }
}

/// The keys of two bits are off in their top bit: of one party's bits, in one vector and in two.
#[test]
fn two_wrong_keys_of_bits_do_not_make_up_for_each_other() {
    for _ in 0..8 {
        for sent in [0, 1] {
            assert!(with_lies(usual(), &Kind::BitMask { owner: 2 }, &lies(sent, &[0, 2], Lie::TOP)));
            // For a triple, the keys of a for P0's and P1's bits come after c, and then those of b.
            let both = [lies(1 + sent, &[1], Lie::TOP), lies(3 + sent, &[1], Lie::TOP)].concat();
            assert!(with_lies(usual(), &Kind::BitTriple, &both));
            // A key, and the key of a mask, the first of which has weight 1.
            let both = [lies(sent, &[1], Lie::TOP), lies(2 + sent, &[0], Lie::TOP)].concat();
            assert!(with_lies(usual(), &Kind::BitMask { owner: 2 }, &both));
        }
    }
}

/// Two products are off by the same amount, up and down; of products of bits, two are off.
#[test]
fn two_wrong_products_do_not_make_up_for_each_other() {
    for _ in 0..8 {
        assert!(with_lies(usual(), &Kind::Triple { bits: K }, &lies(0, &[0, 1], K - 1)));
        assert!(with_lies(usual(), &Kind::BitTriple, &lies(0, &[0, 1], 0)));
        // A bit, and the product in GF(2^64) that is to prove it: as if t were 1, or its top bit.
        for bit in [0, Lie::TOP] {
            let chat = [lies(0, &[0], 0), lies(7, &[0], bit)].concat();
            assert!(with_lies(usual(), &Kind::BitTriple, &chat));
        }
        // A bit as an element that is larger by 2, and the product that is to prove it.
        let both = [lies(0, &[0], 1), lies(1, &[0], 1)].concat();
        assert!(with_lies(usual(), &Kind::RandomBit { bits: K }, &both));
    }
}

/// A level of a key is wrong, and sums of values and of proofs are right if each leaf counts once.
#[test]
fn wrong_leaves_do_not_make_up_for_each_other() {
    for (place_bits, levels) in [(3, 3), (11, 5)] {
        let kind = Digits::new(usual(), place_bits, Ring::of(K)).unwrap().kind();
        for level in 0..levels {
            for _ in 0..3 {
                let spoil = |s: &PikaMalicious| s.adversary().spoil(Spoil::LevelAndProofs(level), None);
                assert!(is_found_by_both(usual(), &kind, spoil), "{place_bits} bits, level {level}");
            }
        }
    }
}

/// P0 or P1 sends two wrong numbers, one larger and one smaller, in one opening, in a row of the check, in tags of
/// rows.
#[test]
fn two_wrong_openings_do_not_make_up_for_each_other() {
    for party in 0..2 {
        for (at, bit) in [(Twist::Low, 0), (Twist::Low, 7), (Twist::Row, 3), (Twist::RowTag, 9)] {
            let twist = Some((party, at, By::Pair(bit)));
            let ends: Vec<End> = parties(N, |mut each| run_party(&mut each, &Liar::default(), twist));
            for (me, end) in ends.iter().enumerate().filter(|(me, _)| *me != party) {
                assert!(is_found(&end.done), "{at:?} by 2^{bit}, party {me}: {:?}", end.done.as_ref().err());
            }
        }
    }
}

/// Two wrong numbers of a single opening, with the right sum: rows select them one by one.
#[test]
fn two_wrong_numbers_of_an_opening_do_not_make_up_for_each_other() {
    let ring = Ring::of(K + 3);
    for (party, _) in (0..2).flat_map(|party| (0..6).map(move |round| (party, round))) {
        let ends: Vec<Result<()>> = parties(N, |mut each| {
            let me = each.me();
            let mut run = each.begin_alone().unwrap();
            let done = run.phase(Phase::Online, async |ctx| {
                let s = PikaMalicious::set_up(ctx, usual(), None).await?;
                if me == party {
                    s.insecure_online().adversary().twist(Twist::Low, By::Pair(0));
                }
                let mut sum = s.public(&Vector::zeros(ring, LEN));
                for owner in 0..2 {
                    let own = (me == owner).then(|| Vector::from_i64s(ring, &[7, -3, 0]));
                    sum = s.add(&sum, &s.input(ctx, owner, (ring, LEN), own.as_ref()).await?);
                }
                s.open(ctx, &sum).await?;
                s.check(ctx).await.map(drop)
            });
            run.finish();
            done
        });
        assert!(is_found(&ends[1 - party]), "party {party}: {:?}", ends[1 - party]);
    }
}

/// P0 or P1 sends another bit than its own, or two of them, in a program of bits alone.
#[test]
fn parties_that_lie_in_openings_of_bits_are_found() {
    for (party, by) in (0..2).flat_map(|party| [By::Plus(0), By::Pair(0)].map(|by| (party, by))) {
        let ends: Vec<Result<()>> = parties(N, |mut each| {
            let me = each.me();
            let mut run = each.begin_alone().unwrap();
            let done = run.phase(Phase::Online, async |ctx| {
                let s = PikaMalicious::set_up(ctx, usual(), None).await?;
                if me == party {
                    s.insecure_online().adversary().twist(Twist::OpenedBit, by);
                }
                let bits = |owner: usize| (me == owner).then(|| Bits::from_bools(1, 3, &[true, false, true]));
                let x = s.input_bits(ctx, 0, (1, 3), bits(0).as_ref()).await?;
                let y = s.input_bits(ctx, 1, (1, 3), bits(1).as_ref()).await?;
                let both = s.and(ctx, &x, &y).await?;
                let checked = s.check(ctx).await?;
                s.reveal_bits(ctx, &checked, &both, None).await.map(drop)
            });
            run.finish();
            done
        });
        for (me, end) in ends.iter().enumerate().filter(|(me, _)| *me != party) {
            assert!(is_found(end), "{by:?}, party {me}: {end:?}");
        }
    }
}
