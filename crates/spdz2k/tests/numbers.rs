//! Numbers of one party with their bits, from which edaBits are made, by cut and choose.

use quorate_authenticated::Kind;
use quorate_engine::testing::parties;
use quorate_engine::{Ctx, Phase, Result, Stocks, Traffic, dry};
use quorate_ring::Vector;
use quorate_spdz2k::{Params, Spdz2k};

use crate::common::{Keyed, assert_kind, total};

fn weak() -> Params {
    Params::new(32, true).unwrap()
}

fn edabits(width: u32) -> Kind {
    Kind::EdaBit { bits: width, ring: width, cut: 0 }
}

/// Returns parameters with which numbers are made by cut and choose always, or only where that takes less.
fn chosen(params: Params, chooses: bool) -> Params {
    if chooses { params.with_cut_and_choose() } else { params }
}

/// Returns the cost of making at a party, by a dry run.
fn predicted(n: usize, params: Params, kind: &Kind, len: usize, chooses: bool) -> Vec<Traffic> {
    let make = async |ctx: &Ctx| {
        let s = Spdz2k::new_dry(n, ctx.me(), chosen(params, chooses))?;
        s.make(ctx, kind, len).await.map(|_| ())
    };
    dry::together(&vec![0; n], Phase::Offline, make).unwrap().into_iter().map(|(_, costs)| costs.offline).collect()
}

/// Makes correlations at all parties, and asserts the cost of a dry run. With `choose`, numbers are made by cut and
/// choose; otherwise only where that takes less.
fn made(n: usize, params: Params, kind: &Kind, len: usize, chooses: bool) -> Vec<Keyed> {
    let predicted = predicted(n, params, kind, len, chooses);
    parties(n, |mut party| {
        let me = party.me();
        let mut run = party.begin_alone().unwrap();
        let params = chosen(params, chooses);
        let s = run.phase(Phase::Offline, async |ctx| Spdz2k::set_up(ctx, params, None).await).unwrap();
        run.finish();
        let mut run = party.begin_alone().unwrap();
        let done = run.phase(Phase::Offline, async |ctx| -> Result<Keyed> {
            let made = s.make(ctx, kind, len).await?;
            let vectors = made.vectors.iter().map(Spdz2k::insecure_shared).collect();
            let bits = made.bits.iter().map(Spdz2k::insecure_bits).collect();
            Ok(((s.insecure_alpha(), s.insecure_delta()), (vectors, bits)))
        });
        assert_eq!(run.finish().offline, predicted[me]);
        party.leave(false);
        done.unwrap()
    })
}

#[test]
fn edabits_of_chosen_numbers_are_what_their_bits_say_at_the_cost_of_a_dry_run() {
    for (n, params, width, len) in [
        (2, weak(), 1, 3),
        (2, weak(), 2, 70),
        (3, weak(), 3, 5),
        (2, weak(), 8, 1),
        (3, weak(), 8, 20),
        (4, weak(), 3, 4),
        (2, Params::new(48, false).unwrap(), 8, 9),
        (2, Params::default(), 33, 3),
        (3, Params::default(), 33, 2),
        (2, Params::default(), 64, 4),
        (3, Params::default(), 64, 2),
        (2, Params::default(), 70, 2),
    ] {
        let what = format!("{width} bits among {n}");
        let all = total(&made(n, params, &edabits(width), len, true), &what);
        if width <= 64 {
            assert_kind(&edabits(width), &all, &what);
        } else {
            assert_eq!(rows_of(&all.0[0], width), all.1[0].to_u64s(), "{what}");
        }
    }
}

/// Numbers that are shorter than their ring, or that are also wanted in parts: with adjacent cuts, cuts at the ends,
/// and without any.
#[test]
fn shorter_numbers_and_parts_are_what_their_bits_say_at_the_cost_of_a_dry_run() {
    let edabit = |bits, ring, cut| Kind::EdaBit { bits, ring, cut };
    for (n, params, kind, len) in [
        (2, weak(), edabit(5, 9, 0), 30),
        (2, weak(), edabit(1, 8, 0), 3),
        (3, weak(), edabit(4, 5, 0), 4),
        (2, weak(), edabit(6, 6, 1), 5),
        (2, weak(), edabit(6, 9, 5), 5),
        (3, weak(), edabit(3, 8, 2), 3),
        (2, weak(), Kind::TruncMask { bits: 8, cut: 3 }, 20),
        (2, weak(), Kind::TruncMask { bits: 4, cut: 2 }, 3),
        (3, weak(), Kind::TruncMask { bits: 5, cut: 1 }, 3),
        (4, weak(), Kind::TruncMask { bits: 5, cut: 2 }, 2),
        (2, Params::default(), edabit(63, 64, 16), 3),
        (2, Params::default(), Kind::TruncMask { bits: 64, cut: 16 }, 3),
    ] {
        let what = format!("{kind} among {n}");
        assert_kind(&kind, &total(&made(n, params, &kind, len, true), &what), &what);
    }
}

/// Returns the bits of elements, row after row.
fn rows_of(elements: &Vector, width: u32) -> Vec<u64> {
    elements.to_bits(0..width).to_bools().into_iter().map(u64::from).collect()
}

/// About half of all bits are 1.
#[test]
fn numbers_are_random() {
    let (values, _) = total(&made(2, weak(), &edabits(4), 300, true), "random numbers");
    for bit in 0..4 {
        let ones = values[0].to_bits(bit..bit + 1).to_bools().into_iter().filter(|bit| *bit).count();
        assert!(ones.abs_diff(150) < 65, "{ones} of 300 have bit {bit}"); // by chance once in 2^43 times
    }
}

/// Returns the bytes to each peer for each of `len` correlations of a kind, and the rounds.
fn each(n: usize, params: Params, kind: &Kind, len: usize) -> (u64, u32) {
    let traffic = &predicted(n, params, kind, len, false)[0];
    let (sent, rounds) = (traffic.sent.iter().sum::<u64>() / (len * (n - 1)) as u64, traffic.rounds);
    println!("{n} parties, keys of {} bits, {kind}, {len}: {sent} bytes, {rounds} rounds", params.key_bits());
    (sent, rounds)
}

#[test]
fn edabits_take_the_bytes_of_the_docs() {
    let short = Params::new(48, false).unwrap();
    let edabit = |bits, ring, cut| Kind::EdaBit { bits, ring, cut };
    for (n, params, kind, len, most) in [
        (2, Params::default(), edabits(64), 100, (13_300, 97)),
        (2, Params::default(), edabits(64), 1000, (11_800, 97)),
        (2, Params::default(), edabits(64), 10_000, (10_600, 485)),
        (2, Params::default(), edabits(32), 100, (7_500, 65)),
        (2, Params::default(), edabits(32), 1000, (6_100, 65)),
        (2, Params::default(), edabits(32), 10_000, (5_600, 195)),
        (2, short, edabits(32), 1000, (4_600, 65)),
        (3, Params::default(), edabits(64), 100, (22_000, 112)),
        (2, Params::default(), edabit(63, 64, 0), 1000, (17_000, 164)),
        (2, Params::default(), edabit(63, 64, 16), 1000, (24_500, 164)),
        (2, Params::default(), edabit(32, 64, 0), 1000, (12_900, 133)),
        (2, Params::default(), Kind::TruncMask { bits: 64, cut: 16 }, 1000, (27_800, 235)),
        (2, Params::default(), Kind::TruncMask { bits: 32, cut: 16 }, 1000, (18_600, 203)),
        (2, short, Kind::TruncMask { bits: 32, cut: 16 }, 1000, (13_000, 203)),
    ] {
        let (sent, rounds) = each(n, params, &kind, len);
        assert!((most.0 - 300..most.0).contains(&sent) && rounds == most.1, "{n} parties, {kind}, {len}");
    }
}

/// The choice is made by bytes, alike at all parties.
#[test]
fn where_it_takes_less_numbers_are_chosen_and_elsewhere_their_bits_are_proven() {
    let short = Params::new(48, false).unwrap();
    for (n, params, width, len, is_chosen) in [
        // The sizes that tests of cheaters use.
        (2, Params::default(), 32, 3, true),
        (2, short, 32, 3, true),
        (3, weak(), 32, 3, true),
        (3, short, 32, 3, true),
        (2, Params::default(), 4, 3, false),
        (2, Params::default(), 64, 1, false),
        (2, Params::default(), 64, 2, true),
        (2, Params::default(), 2, 4096, false),
        (2, Params::default(), 8, 16, true),
    ] {
        assert_eq!(chooses(n, params, &edabits(width), len), is_chosen, "{len} of {width} bits among {n}");
    }
    let edabit = |bits, ring, cut| Kind::EdaBit { bits, ring, cut };
    for (n, params, kind, len, is_chosen) in [
        (2, Params::default(), edabit(63, 64, 0), 100, true),
        (2, Params::default(), edabit(8, 64, 0), 100, false),
        (2, Params::default(), edabit(63, 64, 16), 100, true),
        (2, Params::default(), Kind::TruncMask { bits: 64, cut: 16 }, 100, true),
        (2, Params::default(), Kind::TruncMask { bits: 8, cut: 3 }, 10, false),
        // The sizes that tests of cheaters use.
        (2, weak(), edabit(31, 32, 0), 6, true),
        (2, weak(), edabit(31, 32, 8), 12, true),
        (3, weak(), edabit(31, 32, 8), 12, true),
        (2, weak(), Kind::TruncMask { bits: 32, cut: 8 }, 12, true),
    ] {
        assert_eq!(chooses(n, params, &kind, len), is_chosen, "{len} times {kind} among {n}");
    }
}

/// Returns whether this number of correlations is made by cut and choose without being asked to.
fn chooses(n: usize, params: Params, kind: &Kind, len: usize) -> bool {
    let [chosen, usual] = [true, false].map(|chooses| predicted(n, params, kind, len, chooses));
    chosen == usual
}
