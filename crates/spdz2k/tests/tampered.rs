//! A party that changes one bit of one message, at every message: the others abort, or have right triples.

use quorate_engine::testing::Tampered;
use quorate_engine::{Cause, Ctx, Error};
use quorate_ring::Ring;
use quorate_spdz2k::{Keys, Kind, Params, Triples};

use crate::common::{are_products, assert_kind, both, combined, made, run};

#[test]
fn no_changed_message_leads_to_a_wrong_triple() {
    let (params, ring) = (Params::new(32, true).unwrap(), Ring::of(8));
    let make = async |ctx: &Ctx, keys: &Keys| keys.triples(ctx, ring, 2).await;
    for (n, cheat) in [(2, 0), (2, 1), (3, 1)] {
        let messages = run(n, params, None, make)[cheat].messages;
        let mut caught = 0;
        for message in 0..messages {
            let tampered = Tampered { message, bit: 5 + 37 * message };
            let ends = run(n, params, Some((cheat, tampered)), make);
            let mut made: Vec<(u64, Triples)> = Vec::new();
            for (me, end) in ends.into_iter().enumerate() {
                match end.done {
                    Ok(done) => made.push(done),
                    Err(Error::Cheating { .. } | Error::Malformed { .. } | Error::Mismatch(_)) => {
                        caught += usize::from(me != cheat)
                    }
                    Err(Error::Aborted { cause: Cause::Cheating | Cause::Mismatch, .. }) => {}
                    Err(error) => panic!("n {n}, message {message} of party {cheat}, party {me}: {error}"),
                }
            }
            if made.len() == n {
                let alpha = made.iter().map(|(alpha, _)| u128::from(*alpha)).sum();
                let what = format!("n {n}, message {message} of party {cheat}");
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

/// Kinds that are made in other ways than triples, with every so manieth of their messages.
#[test]
fn no_changed_message_leads_to_a_wrong_correlation() {
    for (kind, len, step) in [
        (Kind::Triple { bits: 1 }, 5, 5),
        (Kind::BitTriple, 5, 1),
        (Kind::BitMask { owner: 0 }, 5, 1),
        (Kind::Link, 5, 2),
        (Kind::DaBit { bits: 4 }, 3, 9),
        (Kind::RandomBit { bits: 6 }, 3, 5),
        (Kind::EdaBit { bits: 4, ring: 4, cut: 0 }, 3, 3),
        (Kind::EdaBit { bits: 2, ring: 5, cut: 1 }, 2, 9),
        (Kind::TruncMask { bits: 5, cut: 2 }, 2, 11),
    ] {
        let params = Params::new(32, true).unwrap();
        let (mut caught, mut tried) = (0, 0);
        for cheat in 0..2 {
            let messages = made(params, &kind, len, None)[cheat].1;
            for message in (cheat..messages).step_by(step) {
                let what = format!("{kind}: message {message} of party {cheat}");
                let tampered = Tampered { message, bit: 5 + 37 * message };
                let mut ends = Vec::new();
                for (me, (done, _)) in made(params, &kind, len, Some((cheat, tampered))).into_iter().enumerate() {
                    match done {
                        Ok(done) => ends.push(done),
                        Err(Error::Cheating { .. } | Error::Malformed { .. } | Error::Mismatch(_)) => {
                            caught += usize::from(me != cheat)
                        }
                        Err(Error::Aborted { cause: Cause::Cheating | Cause::Mismatch, .. }) => {}
                        Err(error) => panic!("{what}, party {me}: {error}"),
                    }
                }
                if ends.len() == 2 {
                    assert_kind(&kind, &both(&ends, &what), &what);
                }
                tried += 1;
            }
        }
        println!("{kind}: {caught} of {tried} changed messages were noticed");
        assert!(tried >= 4 && caught >= tried / 3, "{kind}: {caught} of {tried}");
    }
}
