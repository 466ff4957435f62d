//! A party that changes a message, at every message: the others abort, or have right correlations.
//!
//! What every run of the tests looks at is a part; `make adversary` tries all of `changes` at every message of two
//! parties that make `KINDS`.

use std::collections::BTreeMap;

use quorate_engine::testing::{Change, Tampered};
use quorate_engine::{Cause, Error};
use quorate_ring::Ring;
use quorate_spdz2k::{Kind, Params, Triples};

use crate::common::{are_products, assert_kind, both, combined, made, run};

/// Kinds that are made in different ways, how many of each, and which of their messages are changed in usual tests.
const KINDS: [(Kind, usize, usize); 9] = [
    (Kind::Triple { bits: 1 }, 5, 5),
    (Kind::BitTriple, 5, 1),
    (Kind::BitMask { owner: 0 }, 5, 1),
    (Kind::Link, 5, 2),
    (Kind::DaBit { bits: 4 }, 3, 9),
    (Kind::RandomBit { bits: 6 }, 3, 5),
    (Kind::EdaBit { bits: 4, ring: 4, cut: 0 }, 3, 3),
    (Kind::EdaBit { bits: 2, ring: 5, cut: 1 }, 2, 9),
    (Kind::TruncMask { bits: 5, cut: 2 }, 2, 11),
];

/// Changes of a message.
pub fn changes(message: usize) -> [Change; 6] {
    let bit = 5 + 37 * message;
    [
        Change::Bit(bit),
        Change::Noise,
        Change::Increased(7 + 64 * message),
        Change::Replayed,
        Change::LastBit,
        Change::Zeros,
    ]
}

/// One of them, another for the next message; to each of two peers all of them come.
pub fn a_change(message: usize) -> Tampered {
    Tampered { message, change: changes(message)[(message + message / 6) % 6] }
}

/// Whether an honest party ends as it should where another one cheats.
pub fn is_caught(error: &Error) -> bool {
    matches!(error, Error::Cheating { .. } | Error::Malformed { .. } | Error::Mismatch(_))
}

fn is_told(error: &Error) -> bool {
    matches!(error, Error::Aborted { cause: Cause::Cheating | Cause::Mismatch, .. })
}

/// Whether a changed message of a party is noticed where all make triples; where it is not, they are right.
fn is_noticed_in_triples((n, params): (usize, Params), cheat: usize, tampered: Tampered) -> bool {
    let ring = Ring::of(8);
    let what = format!("n {n}, {params:?}, {tampered:?} of party {cheat}");
    let ends = run(n, params, Some((cheat, tampered)), async |ctx, keys| keys.triples(ctx, ring, 2).await);
    let (mut made, mut noticed): (Vec<(u64, Triples)>, _) = (Vec::new(), false);
    for (me, end) in ends.into_iter().enumerate() {
        match end.done {
            Ok(done) => made.push(done),
            Err(error) if is_caught(&error) => noticed |= me != cheat,
            Err(error) if is_told(&error) => {}
            Err(error) => panic!("{what}, party {me}: {error}"),
        }
    }
    if made.len() == n {
        let alpha = made.iter().map(|(alpha, _)| u128::from(*alpha)).sum();
        let [a, b, c] = [|t: &Triples| t.a.clone(), |t: &Triples| t.b.clone(), |t: &Triples| t.c.clone()].map(|of| {
            let parts: Vec<_> = made.iter().map(|(_, triples)| of(triples)).collect();
            combined(alpha, &parts.iter().collect::<Vec<_>>(), &what)
        });
        assert!(are_products(&a, &b, &c, ring), "{what}");
    }
    noticed
}

/// How many messages a party sends where all make triples.
fn messages_of_triples((n, params): (usize, Params), party: usize) -> usize {
    run(n, params, None, async |ctx, keys| keys.triples(ctx, Ring::of(8), 2).await)[party].messages
}

/// Every message of the usual triples, some of the others.
#[test]
fn no_changed_message_leads_to_a_wrong_triple() {
    let [usual, buckets, two_keys] = forms();
    for (params, step, n, cheat) in [
        (usual, 1, 2, 0),
        (usual, 1, 2, 1),
        (usual, 1, 3, 1),
        (buckets, 3, 2, 0),
        (buckets, 2, 2, 1),
        (buckets, 7, 3, 2),
        (two_keys, 3, 2, 0),
        (two_keys, 2, 2, 1),
        (two_keys, 7, 3, 1),
    ] {
        let messages = messages_of_triples((n, params), cheat);
        let tried: Vec<usize> = (cheat % step..messages).step_by(step).collect();
        let noticed = |message: &&usize| is_noticed_in_triples((n, params), cheat, a_change(**message));
        let caught = tried.iter().filter(noticed).count();
        println!("n {n}, {params:?}: {caught} of {} changed messages of party {cheat} were noticed", tried.len());
        assert!(messages > 20 && caught >= tried.len() / 2, "n {n}, {params:?}: {caught} of {}", tried.len());
    }
}

fn forms() -> [Params; 3] {
    [weak(), weak().with_triples_in_buckets(), weak().with_triples_under_two_keys()]
}

#[test]
#[ignore = "takes minutes: make adversary"]
fn adversary_every_change_of_every_message_of_every_form_of_triples() {
    for params in forms() {
        let (mut caught, mut tried) = (0, 0);
        for cheat in 0..2 {
            for message in 0..messages_of_triples((2, params), cheat) {
                for change in changes(message) {
                    caught += usize::from(is_noticed_in_triples((2, params), cheat, Tampered { message, change }));
                    tried += 1;
                }
            }
        }
        println!("{params:?}: {caught} of {tried} noticed");
        assert!(tried > 500 && caught > tried / 2, "{params:?}: {caught} of {tried}");
    }
}

/// Whether a changed message is noticed; where it is not, what was made is right.
fn is_noticed(kind: &Kind, len: usize, cheat: usize, tampered: Tampered) -> bool {
    let what = format!("{kind}: {tampered:?} of party {cheat}");
    let (mut ends, mut noticed) = (Vec::new(), false);
    for (me, (done, _)) in made(weak(), kind, len, Some((cheat, tampered))).into_iter().enumerate() {
        match done {
            Ok(done) => ends.push(done),
            Err(error) if is_caught(&error) => noticed |= me != cheat,
            Err(error) if is_told(&error) => {}
            Err(error) => panic!("{what}, party {me}: {error}"),
        }
    }
    if ends.len() == 2 {
        assert_kind(kind, &both(&ends, &what), &what);
    }
    noticed
}

fn weak() -> Params {
    Params::new(32, true).unwrap()
}

#[test]
fn no_changed_message_leads_to_a_wrong_correlation() {
    for (kind, len, step) in KINDS {
        let (mut caught, mut tried) = (0, 0);
        for cheat in 0..2 {
            let messages = made(weak(), &kind, len, None)[cheat].1;
            for message in (cheat..messages).step_by(step) {
                let tampered = Tampered::bit(message, 5 + 37 * message);
                caught += usize::from(is_noticed(&kind, len, cheat, tampered));
                tried += 1;
            }
        }
        println!("{kind}: {caught} of {tried} changed messages were noticed");
        assert!(tried >= 4 && caught >= tried / 3, "{kind}: {caught} of {tried}");
    }
}

/// Every change of every message of every kind: minutes.
#[test]
#[ignore = "takes minutes: make adversary"]
fn adversary_every_change_of_every_message_of_every_kind() {
    let mut all = 0;
    for (kind, len, _) in KINDS {
        let mut found: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
        for cheat in 0..2 {
            let messages = made(weak(), &kind, len, None)[cheat].1;
            for (message, change) in (0..messages).flat_map(|message| changes(message).map(|change| (message, change)))
            {
                let noticed = is_noticed(&kind, len, cheat, Tampered { message, change });
                let name = match change {
                    Change::Bit(_) => "bit",
                    Change::LastBit => "last bit",
                    Change::Increased(_) => "increased",
                    Change::Zeros => "zeros",
                    Change::Replayed => "replayed",
                    Change::Noise => "noise",
                };
                found.entry(name).or_default()[usize::from(noticed)] += 1;
                all += 1;
            }
        }
        for (change, [harmless, noticed]) in found {
            println!("{kind}, {change}: {noticed} noticed, {harmless} left it right");
            // What is sent again is often what would be sent.
            assert!(change == "replayed" || 2 * noticed > harmless, "{kind}, {change}");
        }
    }
    println!("{all} runs, none with a wrong correlation");
    assert!(all > 2000);
}
