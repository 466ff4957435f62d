//! The costs of comparisons and tests for zero: masks come with products of neighbouring bits, made with triples of
//! their own.

use quorate_authenticated::Kind;
use quorate_engine::testing::parties;
use quorate_engine::{Costs, Ctx, Demand, Phase, Result, Sharing, Stocks, dry};
use quorate_gadgets::cost::{and_all, carry_tree};
use quorate_gadgets::{Gadgets, MakesAhead};
use quorate_ring::{Ring, Vector};
use quorate_spdz2k::{Params, Spdz2k};

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Top,
    Zero,
}

/// Returns a party's draws and online costs for the top bits of `len` elements, or for tests for zero.
fn online(n: usize, params: Params, (what, k): (What, u32), len: usize) -> (Demand<Kind>, Costs) {
    let program = async |ctx: &Ctx| -> Result<Demand<Kind>> {
        let s = Spdz2k::new_dry(n, ctx.me(), params)?;
        s.record_demand();
        let x = s.public(&Vector::shape(Ring::of(k), len));
        match what {
            What::Top => s.msb(ctx, &x).await?,
            What::Zero => s.eqz(ctx, &x).await?,
        };
        Ok(s.take_demand())
    };
    dry::together(&vec![0; n], Phase::Online, program).unwrap().remove(0)
}

/// Returns the bytes that a party sends each peer for one element, offline and online.
fn sent(n: usize, params: Params, of: (What, u32), len: usize) -> [f64; 2] {
    let (demand, online) = online(n, params, of, len);
    let make = async |ctx: &Ctx| Spdz2k::new_dry(n, ctx.me(), params)?.make_all(ctx, demand.clone()).await;
    let offline = dry::together(&vec![0; n], Phase::Offline, make).unwrap().remove(0).1.offline;
    let each = |bytes: &[u64]| bytes.iter().sum::<u64>() as f64 / len as f64 / (n - 1) as f64;
    println!("{of:?} of {n}, {len} at once: {} and {} rounds", offline.rounds, online.online.rounds);
    [each(&offline.sent), each(&online.online.sent)]
}

/// Of w positions, ceil(w / 2) remain for the tree, which takes the ANDs and rounds of a tree of that size.
#[test]
fn the_first_level_of_a_tree_takes_nothing_online() {
    const LEN: usize = 100;
    for (n, params, ands) in [(2, Params::default(), Kind::BitTriple), (3, Params::default(), Kind::BitTriple)] {
        for k in (2..=9).chain([31, 32, 33, 63, 64, 126]) {
            for what in [What::Top, What::Zero] {
                let (positions, tree) = match what {
                    What::Top => (k - 1, carry_tree(u64::from(k - 1).div_ceil(2), false)),
                    What::Zero => (k, and_all(u64::from(k).div_ceil(2))),
                };
                let mask = match positions / 2 {
                    0 => Kind::EdaBit { bits: k, ring: k, cut: 0 },
                    pairs => Kind::ComparisonMask { bits: k, pairs },
                };
                let (demand, costs) = online(n, params, (what, k), LEN);
                let drawn: Vec<(Kind, usize)> = demand.totals().clone().into_iter().collect();
                let tree_ands = (ands.clone(), tree.iter().sum::<u64>() as usize * LEN);
                let mut wanted = vec![(mask, LEN), tree_ands];
                wanted.retain(|(_, count)| *count > 0);
                wanted.sort();
                assert_eq!(drawn, wanted, "{what:?} of {k} bits among {n}");
                assert_eq!(costs.online.rounds, 1 + tree.len() as u32, "{what:?} of {k} bits among {n}");
            }
        }
    }
}

/// With products there are 57 and 31 ANDs, and without them 118 and 63. These bytes are in docs/protocols/spdz2k.md.
#[test]
fn comparisons_take_the_bytes_that_are_stated() {
    let short = Params::new(48, false).unwrap();
    for (n, params, of, len, [offline, online]) in [
        (2, Params::default(), (What::Top, 64), 100, [24_900.0, 22.25]),
        (2, Params::default(), (What::Zero, 64), 100, [21_400.0, 15.75]),
        (2, Params::default(), (What::Top, 32), 100, [12_250.0, 10.5]),
        (2, Params::default(), (What::Zero, 32), 100, [11_350.0, 7.75]),
        (2, short, (What::Top, 32), 100, [9_500.0, 10.5]),
        (2, short, (What::Zero, 32), 100, [8_400.0, 7.75]),
        (3, Params::default(), (What::Top, 64), 100, [34_200.0, 22.25]),
        (4, Params::default(), (What::Top, 64), 100, [43_050.0, 22.25]),
        (2, Params::default(), (What::Top, 64), 1000, [21_200.0, 22.25]),
        (2, Params::default(), (What::Top, 64), 10_000, [19_300.0, 22.25]),
    ] {
        let [made, told] = sent(n, params, of, len);
        println!("{of:?} of {n}: {made} bytes offline, {told} online");
        assert!((offline - 200.0..offline + 200.0).contains(&made), "{of:?} of {n}: {made}");
        assert!((online..online + 0.5).contains(&told), "{of:?} of {n}: {told}");
    }
}

/// A batch has room for the ANDs of 1,736 comparisons. Further ANDs go into another batch, for any use.
#[test]
fn more_than_a_batch_of_ands_takes_no_more_for_each() {
    let of = |what: What, len: usize| sent(2, Params::default(), (what, 64), len)[0];
    let (full, more) = (of(What::Top, 1736), of(What::Top, 1737));
    assert!((full - 10.0..full + 20.0).contains(&more), "{full} and {more} bytes");
}

/// Two factors that are opened with the same mask reveal their difference. The lowest product and the lowest sum have
/// the same lower factor, so one triple for both would open the same value twice.
#[test]
fn products_are_made_with_triples_of_their_own() {
    const LANES: usize = 64;
    for (n, params) in [(2, Params::default()), (3, Params::default()), (2, Params::default().as_in_the_paper())] {
        let heard = parties(n, |mut party| {
            let mut run = party.begin_alone().unwrap();
            let done = run.phase(Phase::Offline, async |ctx| {
                let s = Spdz2k::set_up(ctx, params, None).await?;
                s.adversary().listen();
                s.make(ctx, &Kind::ComparisonMask { bits: 6, pairs: 3 }, LANES).await?;
                Ok(s.adversary().heard())
            });
            run.finish();
            done.unwrap()
        });
        // For an opening of `rows` rows of ANDs, row `row` of the first factors.
        let of_rows = |(rows, row): (usize, usize), told: &[Vector]| {
            (told[0].ring() == Ring::of(1) && told[0].len() == 2 * rows * LANES).then(|| {
                let total = told[1..].iter().fold(told[0].clone(), |mut total, part| {
                    total.add_assign(part);
                    total
                });
                total.slice(row * LANES..(row + 1) * LANES).to_u64s()
            })
        };
        // Of n - 1 additions side by side, the last one.
        let sums: Vec<_> = heard[0].iter().filter_map(|told| of_rows((n - 1, n - 2), told)).collect();
        let products: Vec<_> = heard[0].iter().filter_map(|told| of_rows((3, 0), told)).collect();
        assert_eq!((sums.len(), products.len()), (5, 1), "n {n}");
        assert!(!sums.contains(&products[0]), "n {n}");
    }
}
