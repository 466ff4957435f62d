//! Parties that deviate in the making of multiplication triples, in every form of triples.

use quorate_adversary::{By, Twist};
use quorate_ring::Ring;
use quorate_spdz2k::{Keys, Params};

use super::lies::right_triples;
use crate::common::run;
use crate::twice::twice;

const LEN: usize = 40;

fn weak() -> Params {
    Params::new(32, true).unwrap()
}

/// All forms but the usual one, which `lies` covers.
fn others() -> [Params; 2] {
    [weak().with_triples_in_buckets(), weak().with_triples_under_two_keys()]
}

/// Makes triples with arbitrary deviations; returns whether they are right, if they are made.
fn made_by(n: usize, params: Params, deviate: impl Fn(&Keys, usize) + Sync) -> Option<bool> {
    let ring = Ring::of(4);
    let ends = run(n, params, None, async |ctx, keys| {
        deviate(keys, ctx.me());
        keys.triples(ctx, ring, LEN).await
    });
    right_triples(ends.into_iter().map(|end| end.done).collect(), ring)
}

#[test]
fn lies_of_two_parties_cancel_or_are_found_in_every_form() {
    for params in others() {
        for (lies, right) in [([0, 1 << 26, -(1 << 26)], Some(true)), ([0, 3, -3], Some(true)), ([0, 1 << 26, 0], None)]
        {
            let made =
                made_by(3, params, |keys, me| keys.adversary().twist(Twist::Factors { peer: 0 }, By::All(lies[me])));
            assert_eq!(made, right, "{lies:?}, {params:?}");
        }
    }
}

/// One party of two or three deviates at a place: no party gets triples. A lie that passes half of the time for a
/// single triple does not pass for all of them.
fn is_found_everywhere(params: Params, twists: &[(Twist, i128)]) {
    for (i, &twist) in twists.iter().enumerate() {
        is_found_among(2 + i % 2, params, &[twist]);
    }
}

fn is_found_among(n: usize, params: Params, twists: &[(Twist, i128)]) {
    let deviate = |keys: &Keys, me: usize| {
        if me == 1 {
            twists.iter().for_each(|&(twist, by)| keys.adversary().twist(twist, By::All(by)));
        }
    };
    assert_eq!(twice(|| made_by(n, params, deviate)), None, "{twists:?}, {n} parties, {params:?}");
}

/// A wrong product, and a share of the zero that cancels it.
#[test]
fn who_tells_that_a_wrong_product_leaves_zero_is_found() {
    let [buckets, two_keys] = others();
    for (params, which, number) in [(buckets, 4, 0), (two_keys, 4, 0), (two_keys, 7, 1)] {
        for n in [2, 3] {
            is_found_among(n, params, &[(Twist::Authenticated(which), 1), (Twist::Zero(number), 1)]);
        }
    }
}

/// k = 4, s = 32, sg' = 27.
#[test]
fn whoever_deviates_where_triples_are_made_in_buckets_is_found() {
    let transfers =
        [(3, 1), (150, 1 << 35), (0, 1 << 3)].map(|(row, by)| (Twist::Transfer { peer: 0, factor: 0, row }, by));
    let authenticated = [(0, 1), (0, 1 << 20), (1, 1), (2, 1 << 3), (2, 1), (3, 1), (3, 1 << 35), (4, 1), (4, 1 << 35)];
    let authenticated = authenticated.map(|(which, by)| (Twist::Authenticated(which), by));
    let told = [
        (Twist::Rho, 1),
        (Twist::Rho, 1 << 35),
        (Twist::Zero(0), 1),
        (Twist::Zero(0), 1 << 35),
        (Twist::Difference, 1),
        (Twist::Difference, 1 << 3),
    ];
    is_found_everywhere(weak().with_triples_in_buckets(), &[&transfers[..], &authenticated, &told].concat());
}

#[test]
fn whoever_deviates_where_triples_are_made_under_two_keys_is_found() {
    let transfers = [(0, 3, 1), (1, 3, 1), (0, 30, 1 << 50), (1, 30, 1 << 20), (1, 80, 5)];
    let transfers = transfers.map(|(factor, row, by)| (Twist::Transfer { peer: 0, factor, row }, by));
    let authenticated = [(0, 1), (0, 1 << 20), (1, 1), (1, 1 << 57), (2, 1), (3, 1), (4, 1 << 57), (5, 1), (6, 8)];
    let authenticated = authenticated.map(|(which, by)| (Twist::Authenticated(which), by));
    let told = [(7, 1), (7, 1 << 30)].map(|(which, by)| (Twist::Authenticated(which), by));
    let zeros = [(Twist::Rho, 1), (Twist::Zero(0), 1), (Twist::Zero(0), 1 << 30), (Twist::Zero(1), 1)];
    is_found_everywhere(
        weak().with_triples_under_two_keys(),
        &[&transfers[..], &authenticated, &told, &zeros].concat(),
    );
}

/// Triples that one party knows, of which two products are off so that the sum of the errors is zero.
#[test]
fn products_of_one_party_that_are_off_by_as_much_are_found() {
    for (n, owner) in [(2, 0), (3, 2), (4, 1)] {
        for by in [By::Plus(0), By::Pair(0), By::Pair(3)] {
            let ends = run(n, weak(), None, async |ctx, keys| {
                if ctx.me() == owner {
                    keys.adversary().twist(Twist::Product, by);
                }
                keys.own_triples(ctx, owner, Ring::of(4), LEN).await
            });
            assert_eq!(right_triples(ends.into_iter().map(|end| end.done).collect(), Ring::of(4)), None, "{by:?}");
        }
    }
}

#[test]
fn whoever_deviates_in_the_sacrifice_of_the_usual_triples_is_found() {
    is_found_everywhere(
        weak(),
        &[(Twist::Rho, 1), (Twist::Zero(0), 1), (Twist::Zero(0), 1 << 30), (Twist::Rho, 1 << 30)],
    );
}
