//! Parties that follow the protocol with other factors than they authenticate.

use quorate_engine::{Cause, Error};
use quorate_ring::Ring;
use quorate_spdz2k::{Params, Shared, Triples};

use crate::common::{are_products, combined, run};

const LEN: usize = 40;

/// Triples where parties lie by so much in what they send to party 0; whether they are right, if they are there.
fn made(n: usize, lies: &[i128]) -> Option<bool> {
    let (params, ring) = (Params::new(32, true).unwrap(), Ring::of(4));
    let ends = run(n, params, None, async |ctx, keys| {
        keys.insecure_lie(lies[ctx.me()]);
        keys.triples(ctx, ring, LEN).await
    });
    let mut all: Vec<(u64, Triples)> = Vec::new();
    for end in ends {
        match end.done {
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

/// Lies of two parties that cancel: a division of each pair's part by itself was right or not by the lowest bit of the
/// third party's factor, half of the time, and whether a run passed told it. Forty triples passed once in a thousand.
#[test]
fn lies_that_cancel_change_nothing() {
    for by in [1 << 26, 1 << 25, 3, (5 << 27) + 7, 1 << 57] {
        assert_eq!(made(3, &[0, by, -by]), Some(true), "{by}");
    }
}

#[test]
fn lies_that_do_not_cancel_are_found() {
    for lies in [[0, 1 << 26, 0], [0, 1 << 26, 1 << 26], [0, 0, 1]] {
        assert_eq!(made(3, &lies), None, "{lies:?}");
    }
    assert_eq!(made(2, &[0, 1 << 26]), None);
}
