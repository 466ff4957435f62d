//! More of one kind than a batch holds: batches are dealt while others wait for their check, and the stock has all of
//! them in order. A dealer that lies in some of them is found before anything is used.

use std::ops::Range;

use quorate_adversary::Lie;
use quorate_engine::testing::parties;
use quorate_engine::{Ctx, Phase, Result, Stocks};
use quorate_pika::PikaMalicious;
use quorate_ring::{Ring, Vector};
use quorate_spdz2k::{Kind, Material, Params, Spdz2k};

use super::outcomes::is_found;
use crate::common::N;

const K: u32 = 5;
const AXIS: usize = 8192;
/// The number of sums of products, of which each takes 2.5 MiB while it is dealt: batches of 6, 6 and 5.
const SUMS: usize = 17;
const KIND: Kind = Kind::DotTriple { bits: K, axis: AXIS, inner: 1 };

/// Returns each party's correlations, the rounds of the whole dealing, and the number of its lies.
fn dealt(lie: Option<Lie>) -> Vec<(Result<Material>, u32, usize)> {
    parties(N, |mut party| {
        let me = party.me();
        let mut run = party.begin_alone().unwrap();
        let params = Params::new(48, false).unwrap();
        let set_up = async |ctx: &Ctx| PikaMalicious::set_up(ctx, params, None).await;
        let s = run.phase(Phase::Offline, set_up).unwrap();
        lie.filter(|_| me == 2).into_iter().for_each(|lie| s.adversary().lie(lie));
        let made = run.phase(Phase::Offline, async |ctx| s.make(ctx, &KIND, SUMS).await);
        let lied = s.adversary().lied();
        (made, run.finish().offline.rounds, lied)
    })
}

/// Returns the values of a part, from both summands.
fn values(ends: &[(Result<Material>, u32, usize)], part: usize, range: Range<usize>) -> Vec<u64> {
    let of =
        |me: usize| Spdz2k::insecure_shared(&ends[me].0.as_ref().unwrap().vectors[part]).share.slice(range.clone());
    let mut sum: Vector = of(0);
    sum.add_assign(&of(1));
    sum.convert(Ring::of(K)).to_u64s()
}

#[test]
fn batches_are_dealt_side_by_side() {
    let ends = dealt(None);
    for sum in 0..SUMS {
        let terms = sum * AXIS..(sum + 1) * AXIS;
        let (a, b) = (values(&ends, 0, terms.clone()), values(&ends, 1, terms));
        let total = a.iter().zip(&b).fold(0u64, |total, (a, b)| total.wrapping_add(a * b));
        assert_eq!(values(&ends, 2, sum..sum + 1), [total & ((1 << K) - 1)], "sum {sum}");
    }
    // The rounds of the set-up and of one batch.
    let rounds: Vec<u32> = ends.iter().map(|(_, rounds, _)| *rounds).collect();
    assert!(rounds.iter().all(|rounds| *rounds <= 1 + 6), "{rounds:?}");
}

/// c of the sixth sum is larger by 1: the last batch has only five, and passes.
#[test]
fn a_lie_in_some_batches_ends_the_run() {
    let ends = dealt(Some(Lie { sent: 0, element: 5, bit: 0, only: None }));
    assert_eq!(ends[2].2, 2, "batches with a lie");
    assert!(ends[..2].iter().all(|(made, ..)| is_found(made)));
}
