//! A party that changes a message, at every message: the others abort, or have right correlations.
//!
//! What every run of the tests looks at is a part; `make adversary` tries all of `changes` at every message of two
//! parties that make `KINDS`, and of three that make the first of `AMONG_THREE`.

use std::collections::BTreeMap;

use quorate_engine::testing::{Change, Tampered};
use quorate_engine::{Cause, Ctx, Error};
use quorate_ring::Ring;
use quorate_spdz2k::{Keys, Kind, Params, Triples};

use crate::common::{are_products, assert_kind, combined, made, run, total};

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

/// The same for three parties.
const AMONG_THREE: [(Kind, usize, usize); 6] = [
    (Kind::BitTriple, 5, 5),
    (Kind::BitMask { owner: 0 }, 5, 4),
    (Kind::BitZero, 5, 3),
    (Kind::Link, 5, 11),
    (Kind::DaBit { bits: 4 }, 3, 41),
    (Kind::EdaBit { bits: 2, ring: 5, cut: 1 }, 2, 67),
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

#[test]
fn no_changed_message_leads_to_a_wrong_triple() {
    let (params, ring) = (Params::new(32, true).unwrap(), Ring::of(8));
    let make = async |ctx: &Ctx, keys: &Keys| keys.triples(ctx, ring, 2).await;
    for (n, cheat) in [(2, 0), (2, 1), (3, 1)] {
        let messages = run(n, params, None, make)[cheat].messages;
        let mut caught = 0;
        for message in 0..messages {
            let tampered = a_change(message);
            let ends = run(n, params, Some((cheat, tampered)), make);
            let mut made: Vec<(u64, Triples)> = Vec::new();
            for (me, end) in ends.into_iter().enumerate() {
                match end.done {
                    Ok(done) => made.push(done),
                    Err(error) if is_caught(&error) => caught += usize::from(me != cheat),
                    Err(error) if is_told(&error) => {}
                    Err(error) => panic!("n {n}, {tampered:?} of party {cheat}, party {me}: {error}"),
                }
            }
            if made.len() == n {
                let alpha = made.iter().map(|(alpha, _)| u128::from(*alpha)).sum();
                let what = format!("n {n}, {tampered:?} of party {cheat}");
                let [a, b, c] =
                    [|t: &Triples| t.a.clone(), |t: &Triples| t.b.clone(), |t: &Triples| t.c.clone()].map(|of| {
                        let parts: Vec<_> = made.iter().map(|(_, triples)| of(triples)).collect();
                        combined(alpha, &parts.iter().collect::<Vec<_>>(), &what)
                    });
                assert!(are_products(&a, &b, &c, ring), "{what}");
            }
        }
        println!("n {n}: {caught} of {messages} changed messages of party {cheat} were noticed");
        assert!(messages > 20 && caught >= messages / 2, "n {n}: {caught} of {messages}");
    }
}

/// Whether a changed message is noticed; where it is not, what was made is right.
fn is_noticed(n: usize, (kind, len): (&Kind, usize), cheat: usize, tampered: Tampered) -> bool {
    let what = format!("{kind} of {n} parties: {tampered:?} of party {cheat}");
    let (mut ends, mut noticed) = (Vec::new(), false);
    for (me, (done, _)) in made(n, weak(), kind, len, Some((cheat, tampered))).into_iter().enumerate() {
        match done {
            Ok(done) => ends.push(done),
            Err(error) if is_caught(&error) => noticed |= me != cheat,
            Err(error) if is_told(&error) => {}
            Err(error) => panic!("{what}, party {me}: {error}"),
        }
    }
    if ends.len() == n {
        assert_kind(kind, &total(&ends, &what), &what);
    }
    noticed
}

/// How many messages a party sends where nobody changes one, and all goes well.
fn messages_of(n: usize, kind: &Kind, len: usize, party: usize) -> usize {
    let ends = made(n, weak(), kind, len, None);
    ends.iter().for_each(|(done, _)| assert!(done.is_ok(), "{kind} of {n} parties"));
    ends[party].1
}

fn weak() -> Params {
    Params::new(32, true).unwrap()
}

fn some_changes_of_messages(n: usize, kinds: &[(Kind, usize, usize)]) {
    for (kind, len, step) in kinds {
        let (mut caught, mut tried) = (0, 0);
        for cheat in 0..n {
            let messages = messages_of(n, kind, *len, cheat);
            for message in (cheat..messages).step_by(*step) {
                let tampered = Tampered::bit(message, 5 + 37 * message);
                caught += usize::from(is_noticed(n, (kind, *len), cheat, tampered));
                tried += 1;
            }
        }
        println!("{kind} of {n} parties: {caught} of {tried} changed messages were noticed");
        assert!(tried >= 4 && caught >= tried / 3, "{kind}: {caught} of {tried}");
    }
}

#[test]
fn no_changed_message_leads_to_a_wrong_correlation() {
    some_changes_of_messages(2, &KINDS);
}

#[test]
fn no_changed_message_among_three_leads_to_a_wrong_correlation() {
    some_changes_of_messages(3, &AMONG_THREE);
}

/// Every change of every message of every kind: minutes.
#[test]
#[ignore = "takes minutes: make adversary"]
fn adversary_every_change_of_every_message_of_every_kind() {
    let all = all_changes_of_messages(2, &KINDS);
    println!("{all} runs, none with a wrong correlation");
    assert!(all > 2000);
}

/// The same among three parties, of what others are made from.
#[test]
#[ignore = "takes minutes: make adversary"]
fn adversary_every_change_of_every_message_of_every_kind_among_three() {
    let all = all_changes_of_messages(3, &AMONG_THREE[..4]);
    println!("{all} runs, none with a wrong correlation");
    assert!(all > 2000);
}

fn all_changes_of_messages(n: usize, kinds: &[(Kind, usize, usize)]) -> usize {
    let mut all = 0;
    for (kind, len, _) in kinds {
        let mut found: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
        for cheat in 0..n {
            let messages = messages_of(n, kind, *len, cheat);
            for (message, change) in (0..messages).flat_map(|message| changes(message).map(|change| (message, change)))
            {
                let noticed = is_noticed(n, (kind, *len), cheat, Tampered { message, change });
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
            println!("{kind} of {n} parties, {change}: {noticed} noticed, {harmless} left it right");
            // What is sent again is often what would be sent.
            assert!(change == "replayed" || 2 * noticed > harmless, "{kind}, {change}");
        }
    }
    all
}
