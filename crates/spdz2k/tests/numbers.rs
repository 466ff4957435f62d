//! Numbers of one party with their bits: what edaBits are made from, by cut and choose.

use quorate_engine::testing::parties;
use quorate_engine::{Ctx, Phase, Result, Stocks, Traffic, dry};
use quorate_ring::Vector;
use quorate_spdz2k::{Kind, Params, Spdz2k};

use crate::common::{Keyed, assert_kind, total};

fn weak() -> Params {
    Params::new(32, true).unwrap()
}

fn edabits(width: u32) -> Kind {
    Kind::EdaBit { bits: width, ring: width, cut: 0 }
}

/// What a dry run says that making costs a party.
fn predicted(n: usize, params: Params, kind: &Kind, len: usize, chooses: bool) -> Vec<Traffic> {
    let make = async |ctx: &Ctx| {
        let s = Spdz2k::new_dry(n, ctx.me(), params)?;
        if chooses {
            s.insecure_choose();
        }
        s.make(ctx, kind, len).await.map(|_| ())
    };
    dry::together(&vec![0; n], Phase::Offline, make).unwrap().into_iter().map(|(_, costs)| costs.offline).collect()
}

/// What all parties have, at the cost of a dry run; with cut and choose where they `choose` it, and else where it takes
/// less.
fn made(n: usize, params: Params, kind: &Kind, len: usize, chooses: bool) -> Vec<Keyed> {
    let predicted = predicted(n, params, kind, len, chooses);
    parties(n, |mut party| {
        let me = party.me();
        let mut run = party.begin_alone().unwrap();
        let s = run.phase(Phase::Offline, async |ctx| Spdz2k::set_up(ctx, params, None).await).unwrap();
        if chooses {
            s.insecure_choose();
        }
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

/// Bits of elements, row after row.
fn rows_of(elements: &Vector, width: u32) -> Vec<u64> {
    elements.to_bits(0..width).to_bools().into_iter().map(u64::from).collect()
}

/// About half of all bits are 1.
#[test]
fn numbers_are_random() {
    let (values, _) = total(&made(2, weak(), &edabits(4), 300, true), "random numbers");
    for bit in 0..4 {
        let ones = values[0].to_bits(bit..bit + 1).to_bools().into_iter().filter(|bit| *bit).count();
        assert!(ones.abs_diff(150) < 50, "{ones} of 300 have bit {bit}");
    }
}

/// Bytes to each peer, and rounds, of so many edaBits.
fn each(n: usize, params: Params, width: u32, len: usize) -> (u64, u32) {
    let traffic = &predicted(n, params, &edabits(width), len, false)[0];
    let (sent, rounds) = (traffic.sent.iter().sum::<u64>() / (len * (n - 1)) as u64, traffic.rounds);
    println!("{n} parties, keys of {} bits, {width} bits, {len}: {sent} bytes, {rounds} rounds", params.key_bits());
    (sent, rounds)
}

#[test]
fn edabits_take_the_bytes_of_the_docs() {
    let short = Params::new(48, false).unwrap();
    for (n, params, width, len, most) in [
        (2, Params::default(), 64, 100, (14_000, 97)),
        (2, Params::default(), 64, 1000, (11_800, 97)),
        (2, Params::default(), 64, 10_000, (11_400, 485)),
        (2, Params::default(), 32, 100, (7_500, 65)),
        (2, Params::default(), 32, 1000, (6_100, 65)),
        (2, Params::default(), 32, 10_000, (5_800, 195)),
        (2, short, 32, 1000, (4_600, 65)),
        (3, Params::default(), 64, 100, (24_600, 193)),
    ] {
        let (sent, rounds) = each(n, params, width, len);
        assert!((most.0 - 300..most.0).contains(&sent) && rounds == most.1, "{n} parties, {width} bits, {len}");
    }
}

/// A choice by bytes, alike at all parties.
#[test]
fn where_it_takes_less_numbers_are_chosen_and_elsewhere_their_bits_are_proven() {
    let short = Params::new(48, false).unwrap();
    for (n, params, width, len, is_chosen) in [
        // As tests of cheaters have them.
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
        let [chosen, usual] = [true, false].map(|chooses| predicted(n, params, &edabits(width), len, chooses));
        assert_eq!(chosen == usual, is_chosen, "{len} of {width} bits among {n}");
    }
}
