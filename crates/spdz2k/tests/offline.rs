//! Programs on correlations that parties make: right, at the cost of a dry run; and each kind has its stated relation.

use quorate_authenticated::Kind;
use quorate_engine::testing::parties;
use quorate_engine::{Costs, Ctx, Demand, Form, Linear, Phase, Positions, Result, Sharing, Stocks, dry};
use quorate_gadgets::testing::may_be_chance;
use quorate_gadgets::{Gadgets, MakesAhead, Width};
use quorate_ring::{Ring, Vector};
use quorate_spdz2k::testing::InsecureBits;
use quorate_spdz2k::{Params, Spdz2k};

use crate::common::{assert_kind, total};
use crate::made::made;

fn weak() -> Params {
    Params::new(32, true).unwrap()
}

/// Returns what each party gets from a program that runs on correlations made ahead for it; asserts the predicted cost.
fn run<T: Send>(n: usize, params: Params, program: impl AsyncFn(&Spdz2k, &Ctx) -> Result<T> + Sync) -> Vec<T> {
    let predict = async |ctx: &Ctx| {
        let s = Spdz2k::new_dry(n, ctx.me(), params)?;
        s.record_demand();
        program(&s, ctx).await?;
        Ok(s.take_demand())
    };
    let predicted: Vec<(Demand<Kind>, Costs)> = dry::together(&vec![0; n], Phase::Online, predict).unwrap();
    let prepare = async |ctx: &Ctx| {
        let s = Spdz2k::new_dry(n, ctx.me(), params)?;
        s.make_all(ctx, predicted[ctx.me()].0.clone()).await
    };
    let made = dry::together(&vec![0; n], Phase::Offline, prepare).unwrap();
    parties(n, |mut party| {
        let me = party.me();
        let mut run = party.begin_alone().unwrap();
        let s = run.phase(Phase::Offline, async |ctx| Spdz2k::set_up(ctx, params, None).await).unwrap();
        run.finish();
        let mut run = party.begin_alone().unwrap();
        run.phase(Phase::Offline, async |ctx| s.make_all(ctx, predicted[me].0.clone()).await).unwrap();
        let done = run.phase(Phase::Online, async |ctx| program(&s, ctx).await).unwrap();
        let costs = run.finish();
        assert_eq!((costs.offline, costs.online), (made[me].1.offline.clone(), predicted[me].1.online.clone()));
        party.leave(false);
        done
    })
}

async fn revealed(s: &Spdz2k, ctx: &Ctx, values: &[<Spdz2k as Sharing>::A]) -> Result<Vec<Vec<i64>>> {
    let checked = s.check(ctx).await?;
    let mut shown = Vec::new();
    for value in values {
        shown.extend(s.reveal(ctx, &checked, value, None).await?);
    }
    let checked = s.check(ctx).await?;
    shown.into_iter().map(|value| Ok(value.believe(&checked)?.into_inner().to_i64s())).collect()
}

#[test]
fn programs_are_right_on_what_was_made_for_them() {
    let (values, others) = ([5i64, -7, 30, -100], [5i64, -7, -98, -100]);
    let paper = weak().as_in_the_paper();
    let roots = weak().with_bits_by_roots();
    let (buckets, two_keys) = (weak().with_triples_in_buckets(), weak().with_triples_under_two_keys());
    let cases = [
        (2, weak(), 8),
        (2, roots, 8),
        (2, paper, 8),
        (3, weak(), 8),
        (4, weak(), 8),
        (2, Params::default(), 64),
        (2, buckets, 8),
        (3, buckets, 8),
        (2, two_keys, 8),
        (3, two_keys.as_in_the_paper(), 8),
        (2, weak().with_cope(), 8),
        (2, buckets.with_cope(), 8),
    ];
    for (n, params, k) in cases {
        let ring = Ring::of(k);
        let program = async |s: &Spdz2k, ctx: &Ctx| {
            let own = |owner: usize, values| (ctx.me() == owner).then(|| Vector::from_i64s(ring, values));
            let x = s.input(ctx, 0, (ring, 4), own(0, &values).as_ref()).await?;
            let y = s.input(ctx, n - 1, (ring, 4), own(n - 1, &others).as_ref()).await?;
            let product = s.mul(ctx, &x, &y).await?;
            let less = s.lt(ctx, &x, &product, Width::Full).await?;
            let less = s.bit_to_ring(ctx, &less, ring).await?;
            let half = s.trunc_exact(ctx, &x, 1).await?;
            let same = s.eqz(ctx, &s.sub(&x, &y)).await?;
            let same = s.bit_to_ring(ctx, &same, ring).await?;
            let shuffled = s.shuffle(ctx, &[&x], 4).await?;
            revealed(s, ctx, &[product, less, half, same, shuffled[0].clone()]).await
        };
        for done in run(n, params, program) {
            let [product, less, half, same, mut shuffled] = <[Vec<i64>; 5]>::try_from(done).unwrap();
            let wrapped = |x: i64| x << (64 - k) >> (64 - k);
            let products = [0, 1, 2, 3].map(|i| wrapped(values[i] * others[i]));
            assert_eq!(product, products);
            assert_eq!(less, [0, 1, 2, 3].map(|i| i64::from(values[i] < products[i])));
            assert_eq!(half, values.map(|x| x >> 1));
            assert_eq!(same, [1, 1, 0, 1]);
            shuffled.sort();
            assert_eq!(shuffled, [-100, -7, 5, 30]);
        }
    }
}

/// Inputs of different owners, through all local maps between an input and a product; and products of values in which
/// other parties have a part.
#[test]
fn products_of_what_two_parties_know_are_right_and_take_one_sided_triples() {
    let values = [5i64, -7, 30, -100, 0, 127];
    for (n, owners) in [(2, [0, 1]), (2, [1, 0]), (3, [2, 1]), (3, [0, 2])] {
        let ring = Ring::of(8);
        let program = async |s: &Spdz2k, ctx: &Ctx| {
            let own = |owner: usize| (ctx.me() == owner).then(|| Vector::from_i64s(ring, &values));
            let [x, y] = owners.map(|owner| async move { s.input(ctx, owner, (ring, 6), own(owner).as_ref()).await });
            let (x, y) = (x.await?, y.await?);
            let public = |value: u64| match ctx.is_dry() {
                true => Vector::shape(ring, 6),
                false => Vector::from_u64s(ring, &[value; 6]),
            };
            let x = s.linear(&s.add_public(&x, &public(3)), &Linear::Factors(&public(5)));
            let parts = [0..2, 2..6].map(|range| s.linear(&y, &Linear::Slice(range)));
            let y = s.sub(&s.concat(&[&parts[0], &parts[1]]), &s.linear(&y, &Linear::Shl(2)));
            let both = s.add(&x, &y);
            let matrix = Form::MatMul { m: 2, k: 3, n: 2 };
            let products = [
                s.mul(ctx, &x, &y).await?,
                s.bilinear(ctx, matrix, &x, &y).await?,
                s.mul(ctx, &x, &x).await?,
                s.mul(ctx, &x, &both).await?,
                s.mul(ctx, &s.add(&y, &s.public(&public(1))), &x).await?,
                s.mul(ctx, &both, &both).await?,
                s.mul(ctx, &s.mul(ctx, &x, &x).await?, &y).await?,
            ];
            revealed(s, ctx, &products).await
        };
        let predict = async |ctx: &Ctx| {
            let s = Spdz2k::new_dry(n, ctx.me(), weak())?;
            s.record_demand();
            program(&s, ctx).await?;
            Ok(s.take_demand())
        };
        let [left, right] = [owners[0].min(owners[1]), owners[0].max(owners[1])];
        for (demand, _) in dry::together(&vec![0; n], Phase::Online, predict).unwrap() {
            let drawn = |kind| demand.totals().get(&kind).copied();
            // Two products with sums that no party knows; half of each sum belongs to one owner.
            assert_eq!(drawn(Kind::OneSided { left, right, bits: 8 }), Some(6 + 12 + 6 + 6 + 6), "{owners:?} of {n}");
            assert_eq!(drawn(Kind::Owned { owner: owners[0], bits: 8 }), Some(6 + 6 + 6 + 6), "{owners:?} of {n}");
            assert_eq!(drawn(Kind::Owned { owner: owners[1], bits: 8 }), None, "{owners:?} of {n}");
            assert_eq!(drawn(Kind::Triple { bits: 8 }), Some(6), "{owners:?} of {n}");
        }
        let wrapped = |x: i64| i64::from(x as i8);
        let x = values.map(|x| 5 * (x + 3));
        let y = values.map(|y| y - 4 * y);
        let product = |i: usize, j: usize| (0..3).map(|l| x[3 * i + l] * y[2 * l + j]).sum::<i64>();
        let each = |of: fn(i64, i64) -> i64| x.iter().zip(&y).map(|(&x, &y)| wrapped(of(x, y))).collect::<Vec<_>>();
        for done in run(n, weak(), program) {
            let [plain, matrix, square, sum, more, both, cube] = <[Vec<i64>; 7]>::try_from(done).unwrap();
            assert_eq!(plain, each(|x, y| x * y));
            assert_eq!(matrix, [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(i, j)| wrapped(product(i, j))));
            assert_eq!(square, each(|x, _| x * x));
            assert_eq!(sum, each(|x, y| x * (x + y)));
            assert_eq!(more, each(|x, y| x * (y + 1)));
            assert_eq!(both, each(|x, y| (x + y) * (x + y)));
            assert_eq!(cube, each(|x, y| x * x * y));
        }
    }
}

/// Two parties know matrices, through local maps: one triple serves all, where that takes less. The product is the same
/// as element by element.
#[test]
fn products_of_matrices_that_two_parties_know_take_matrix_triples() {
    let ring = Ring::of(8);
    for (n, owners, dims @ (m, k, l)) in
        [(2, [0, 1], (3, 90, 2)), (2, [1, 0], (1, 90, 1)), (2, [0, 1], (1, 70, 4)), (3, [2, 0], (2, 70, 1))]
    {
        let values = |count: usize, seed: i64| (0..count as i64).map(|i| (i * i * seed + i) % 251 - 125).collect();
        let (left, right): (Vec<i64>, Vec<i64>) = (values(m * k, 7), values(k * l, 11));
        let program = async |s: &Spdz2k, ctx: &Ctx| {
            let own = |owner, values: &[i64]| (ctx.me() == owner).then(|| Vector::from_i64s(ring, values));
            let x = s.input(ctx, owners[0], (ring, m * k), own(owners[0], &left).as_ref()).await?;
            let y = s.input(ctx, owners[1], (ring, k * l), own(owners[1], &right).as_ref()).await?;
            let x = s.add(&x, &s.linear(&x, &Linear::Shl(1)));
            let product = s.bilinear(ctx, Form::MatMul { m, k, n: l }, &x, &y).await?;
            let part = [Linear::Slice(0..k), Linear::Gather(Positions::Given(&column(k, l)))];
            let [x, y] = [s.linear(&x, &part[0]), s.linear(&y, &part[1])];
            let dot = s.bilinear(ctx, Form::Dot { outer: 1, axis: k, inner: 1 }, &x, &y).await?;
            let few = [s.linear(&x, &Linear::Slice(0..2)), s.linear(&y, &Linear::Slice(0..2))];
            let few = s.bilinear(ctx, Form::Dot { outer: 1, axis: 2, inner: 1 }, &few[0], &few[1]).await?;
            revealed(s, ctx, &[product, dot, few]).await
        };
        let params = weak().with_matrix_triples().unwrap();
        let predict = async |ctx: &Ctx| {
            let s = Spdz2k::new_dry(n, ctx.me(), params)?;
            s.record_demand();
            program(&s, ctx).await?;
            Ok(s.take_demand())
        };
        let [of_x, of_y] = owners;
        for (demand, costs) in dry::together(&vec![0; n], Phase::Online, predict).unwrap() {
            let kind = |(m, k, n)| Kind::KnownMatrices { left: of_x, right: of_y, bits: 8, m, k, n };
            let drawn = |kind| demand.totals().get(&kind).copied();
            let one_sided = Kind::OneSided { left: of_x.min(of_y), right: of_x.max(of_y), bits: 8 };
            let whole = 1 + usize::from(dims == (1, k, 1));
            assert_eq!((drawn(kind(dims)), drawn(kind((1, k, 1)))), (Some(whole), Some(whole)), "{dims:?}");
            assert_eq!(drawn(one_sided), Some(2), "{dims:?}");
            println!("{dims:?}: {} rounds", costs.online.rounds);
        }
        let x: Vec<i64> = left.iter().map(|x| 3 * x).collect();
        let sum = |i: usize, j: usize, len: usize| (0..len).map(|at| x[i * k + at] * right[at * l + j]).sum::<i64>();
        let wrapped = |x: i64| i64::from(x as i8);
        for done in run(n, params, program) {
            let [product, dot, few] = <[Vec<i64>; 3]>::try_from(done).unwrap();
            assert_eq!(product, (0..m * l).map(|i| wrapped(sum(i / l, i % l, k))).collect::<Vec<_>>(), "{dims:?}");
            assert_eq!((dot[0], few[0]), (wrapped(sum(0, 0, k)), wrapped(sum(0, 0, 2))), "{dims:?}");
        }
    }
}

/// Matrices that are cut in all dimensions, on dealt triples.
#[test]
fn large_matrices_are_multiplied_in_parts() {
    let (ring, params) = (Ring::of(8), weak().with_matrix_triples().unwrap());
    for (owners, dims @ (m, k, l), count) in
        [([0, 1], (66, 2049, 2), 4), ([1, 0], (9, 60, 70), 4), ([0, 0], (1, 4100, 1), 3)]
    {
        let values =
            |count: usize, seed: i64| (0..count as i64).map(|i| (i * i % 1013 * seed + i) % 251 - 125).collect();
        let (left, right): (Vec<i64>, Vec<i64>) = (values(m * k, 7), values(k * l, 11));
        let program = async |s: &Spdz2k, ctx: &Ctx| {
            let own = |owner, values: &[i64]| (ctx.me() == owner).then(|| Vector::from_i64s(ring, values));
            let x = s.input(ctx, owners[0], (ring, m * k), own(owners[0], &left).as_ref()).await?;
            let y = s.input(ctx, owners[1], (ring, k * l), own(owners[1], &right).as_ref()).await?;
            let product = s.bilinear(ctx, Form::MatMul { m, k, n: l }, &x, &y).await?;
            revealed(s, ctx, &[product]).await
        };
        let predicted = [params, weak()].map(|params| {
            let predict = async |ctx: &Ctx| {
                let s = Spdz2k::insecure_dry(2, ctx.me(), params)?;
                s.record_demand();
                program(&s, ctx).await?;
                Ok(s.take_demand())
            };
            dry::together(&[0; 2], Phase::Online, predict).unwrap()
        });
        for party in [0, 1] {
            let (demand, costs) = &predicted[0][party];
            let of_matrices = |kind: &Kind| matches!(kind, Kind::KnownMatrices { .. } | Kind::OwnedMatrices { .. });
            let drawn = demand.totals().iter().filter(|(kind, _)| of_matrices(kind)).map(|(_, len)| len);
            assert_eq!(drawn.sum::<usize>(), count, "{dims:?}");
            // All parts are multiplied at once, in the round of products element by element.
            assert_eq!(costs.online.rounds, predicted[1][party].1.online.rounds, "{dims:?}");
        }
        let sum = |i: usize, j: usize| (0..k).map(|at| left[i * k + at] * right[at * l + j]).sum::<i64>();
        let expected: Vec<i64> = (0..m * l).map(|i| i64::from(sum(i / l, i % l) as i8)).collect();
        let ends = parties(2, |mut party| {
            let mut run = party.begin_alone().unwrap();
            let s = run.phase(Phase::Offline, async |ctx| Spdz2k::insecure_set_up(ctx, params, None).await).unwrap();
            let done = run.phase(Phase::Online, async |ctx| program(&s, ctx).await).unwrap();
            run.finish();
            done
        });
        assert!(ends.iter().all(|done| done[0] == expected), "{dims:?}");
    }
}

/// One party knows one of the matrices, and no party or the same party knows the other one. Triples that it knows are
/// proven.
#[test]
fn products_of_a_matrix_that_one_party_knows_take_matrix_triples() {
    let (ring, params) = (Ring::of(8), weak().with_matrix_triples().unwrap());
    for (n, owner, dims @ (m, k, l)) in [(2, 0, (3, 60, 2)), (2, 1, (1, 60, 3)), (3, 1, (2, 60, 1))] {
        let form = Form::MatMul { m, k, n: l };
        let values = |count: usize, seed: i64| (0..count as i64).map(|i| (i * i * seed + i) % 251 - 125).collect();
        let [left, right, more]: [Vec<i64>; 3] = [values(m * k, 7), values(k * l, 11), values(k * l, 13)];
        let program = async |s: &Spdz2k, ctx: &Ctx| {
            let input = async |party: usize, values: &[i64]| {
                let own = (ctx.me() == party).then(|| Vector::from_i64s(ring, values));
                s.input(ctx, party, (ring, values.len()), own.as_ref()).await
            };
            let other = usize::from(owner == 0);
            let (x, y) = (input(owner, &left).await?, input(owner, &right).await?);
            let shared = s.add(&y, &input(other, &more).await?);
            let products = [
                s.bilinear(ctx, form, &x, &shared).await?,
                s.bilinear(ctx, form, &x, &y).await?,
                // The known matrix is on the right: (x shared)^T = shared^T x^T.
                s.bilinear(ctx, Form::MatMul { m: l, k, n: m }, &turned(s, &shared, (k, l)), &turned(s, &x, (m, k)))
                    .await?,
            ];
            revealed(s, ctx, &products).await
        };
        let predict = async |ctx: &Ctx| {
            let s = Spdz2k::new_dry(n, ctx.me(), params)?;
            s.record_demand();
            program(&s, ctx).await?;
            Ok(s.take_demand())
        };
        for (demand, _) in dry::together(&vec![0; n], Phase::Online, predict).unwrap() {
            let drawn = |kind| demand.totals().get(&kind).copied();
            for other in (0..n).filter(|&other| other != owner) {
                let known = |left, right, (m, k, n)| Kind::KnownMatrices { left, right, bits: 8, m, k, n };
                let both = [known(owner, other, dims), known(other, owner, (l, k, m))];
                assert_eq!(both.map(drawn), [Some(1); 2], "{dims:?} of {owner} with {other}");
            }
            let owned = |(m, k, n)| Kind::OwnedMatrices { owner, bits: 8, m, k, n };
            assert_eq!([owned(dims), owned((l, k, m))].map(drawn), [Some(2), Some(1)], "{dims:?} of {owner}");
            assert!(demand.totals().keys().all(|kind| !matches!(kind, Kind::OneSided { .. } | Kind::Owned { .. })));
        }
        let wrapped = |x: i64| i64::from(x as i8);
        let product = |right: &[i64]| -> Vec<i64> {
            let sum = |i: usize, j: usize| (0..k).map(|at| left[i * k + at] * right[at * l + j]).sum::<i64>();
            (0..m * l).map(|i| wrapped(sum(i / l, i % l))).collect()
        };
        let sums: Vec<i64> = right.iter().zip(&more).map(|(right, more)| right + more).collect();
        for done in run(n, params, program) {
            let [of_shared, own, of_turned] = <[Vec<i64>; 3]>::try_from(done).unwrap();
            assert_eq!((of_shared, own), (product(&sums), product(&right)), "{dims:?}");
            let turned: Vec<i64> = (0..m * l).map(|i| of_turned[i % l * m + i / l]).collect();
            assert_eq!(turned, product(&sums), "{dims:?}");
        }
    }
}

fn turned(s: &Spdz2k, x: &<Spdz2k as Sharing>::A, (rows, columns): (usize, usize)) -> <Spdz2k as Sharing>::A {
    let places: Vec<u32> = (0..rows * columns).map(|i| (i % rows * columns + i / rows) as u32).collect();
    s.linear(x, &Linear::Gather(Positions::Given(&places)))
}

/// The first column of a matrix.
fn column(rows: usize, columns: usize) -> Vec<u32> {
    (0..rows).map(|row| (row * columns) as u32).collect()
}

/// The design's figures: 5.7 and 2.9 kB by each party for a random bit, by proofs of both parties.
#[test]
fn random_bits_and_dabits_take_the_bytes_of_the_design() {
    let each = |params: Params, kind: Kind| {
        let make = async |ctx: &Ctx| Spdz2k::new_dry(2, ctx.me(), params)?.make(ctx, &kind, 4096).await.map(|_| ());
        let made = dry::together(&[0; 2], Phase::Offline, make).unwrap();
        let sent = made[0].1.offline.sent.iter().sum::<u64>() / 4096;
        println!("{kind}: {sent} bytes, {} rounds", made[0].1.offline.rounds);
        sent
    };
    for (key_bits, bits, most, by_roots) in [(64, 64, 5_700, 9_600..9_800), (48, 32, 2_900, 4_800..5_000)] {
        let params = Params::new(key_bits, false).unwrap();
        assert!((most - 500..most).contains(&each(params, Kind::RandomBit { bits })));
        assert!((most - 500..most).contains(&each(params, Kind::DaBit { bits })));
        assert!(by_roots.contains(&each(params.with_bits_by_roots(), Kind::RandomBit { bits })));
    }
}

/// Returns what both parties' shares of one kind add up to.
fn put_together(params: Params, kind: &Kind, len: usize) -> (Vec<Vector>, Vec<Vector>) {
    put_together_of(2, params, kind, len)
}

/// Returns what the shares of any number of parties add up to, for one kind.
fn put_together_of(n: usize, params: Params, kind: &Kind, len: usize) -> (Vec<Vector>, Vec<Vector>) {
    let ends: Vec<_> = made(n, params, kind, len, None).into_iter().map(|(done, _)| done.unwrap()).collect();
    let what = format!("{kind} of {n} parties");
    let all = total(&ends, &what);
    assert_kind(kind, &all, &what);
    all
}

#[test]
fn random_bits_are_as_often_one_as_zero() {
    let roots = weak().with_bits_by_roots();
    for (params, k, len) in [
        (weak(), 1, 600),
        (weak(), 2, 600),
        (weak(), 7, 600),
        (roots, 7, 300),
        (roots, 1, 300),
        (Params::default(), 63, 40),
    ] {
        let bits = &put_together(params, &Kind::RandomBit { bits: k }, len).0[0];
        let ones: u64 = bits.convert(Ring::of(1)).to_u64s().iter().sum();
        assert!(may_be_chance(ones as usize, len, 0.5), "{ones} of {len}");
    }
    let widest = put_together(Params::default(), &Kind::RandomBit { bits: 126 }, 3).0;
    assert!(widest[0].convert(Ring::of(126)).to_limbs().iter().all(|limbs| limbs[0] < 2 && limbs[1..] == [0; 3]));
}

#[test]
fn triples_of_bits_are_ands_and_every_one_is_as_likely() {
    for (params, len) in [(weak(), 1), (weak(), 1200), (Params::default(), 30)] {
        let (values, _) = put_together(params, &Kind::Triple { bits: 1 }, len);
        let [a, b] = [0, 1].map(|i| values[i].convert(Ring::of(1)).to_u64s());
        let mut counts = [0; 4];
        (0..len).for_each(|i| counts[(2 * a[i] + b[i]) as usize] += 1);
        assert!(counts.iter().all(|&count| may_be_chance(count, len, 0.25)), "{counts:?}");
    }
}

#[test]
fn edabits_and_truncation_masks_are_what_their_bits_say() {
    for params in [weak(), weak().as_in_the_paper()] {
        for (bits, ring, cut) in [(8, 8, 0), (8, 11, 3), (1, 8, 0), (8, 8, 7), (5, 6, 0)] {
            put_together(params, &Kind::EdaBit { bits, ring, cut }, 9);
        }
        for (bits, cut) in [(8, 3), (3, 1), (16, 14)] {
            put_together(params, &Kind::TruncMask { bits, cut }, 9);
        }
        for (n, bits, pairs, len) in
            [(2, 2, 1, 9), (2, 8, 3, 70), (2, 9, 4, 9), (3, 8, 4, 9), (3, 3, 1, 65), (4, 4, 1, 5)]
        {
            put_together_of(n, params, &Kind::ComparisonMask { bits, pairs }, len);
        }
    }
}

#[test]
fn bits_with_macs_are_what_their_kinds_say() {
    for (n, params, len) in [
        (2, weak(), 1),
        (2, weak(), 900),
        (2, Params::default(), 70),
        (3, weak(), 900),
        (3, Params::default(), 70),
        (4, weak(), 5),
    ] {
        let (_, bits) = put_together_of(n, params, &Kind::BitTriple, len);
        let ones = [0, 1].map(|i: usize| bits[i].to_u64s().iter().sum::<u64>());
        assert!(ones.iter().all(|&ones| may_be_chance(ones as usize, len, 0.5)), "{ones:?} of {len}");
        put_together_of(n, params, &Kind::Link, len);
        for bits in [1, 2, 20] {
            let len = len.min(40);
            let (values, _) = put_together_of(n, params, &Kind::DaBit { bits }, len);
            let ones = values[0].convert(Ring::of(1)).to_u64s().iter().sum::<u64>();
            assert!(may_be_chance(ones as usize, len, 0.5), "{ones} of {len}");
        }
        put_together_of(n, params.with_bits_by_roots(), &Kind::DaBit { bits: 20 }, len.min(40));
        for owner in [0, n - 1] {
            let ends = made(n, params, &Kind::BitMask { owner }, len, None);
            let ends: Vec<_> = ends.into_iter().map(|(done, _)| done.unwrap()).collect();
            total(&ends, "a mask of bits");
            for (_, (_, bits)) in ends.iter().enumerate().filter(|(me, _)| *me != owner).map(|(_, end)| end) {
                let InsecureBits::Macs { own, .. } = &bits[0] else { panic!("bits without MACs") };
                assert!(own.to_bools().iter().all(|bit| !bit), "only its owner knows it");
            }
        }
    }
}

/// Shares of zero add up to zero, and are random by themselves.
#[test]
fn sharings_of_zero_are_random_apart() {
    for n in [3, 4] {
        put_together_of(n, weak(), &Kind::BitZero, 70);
        let ends = made(n, weak(), &Kind::BitZero, 900, None).into_iter().map(|(done, _)| done.unwrap());
        for (_, (_, bits)) in ends {
            let InsecureBits::Macs { own, .. } = &bits[0] else { panic!("bits without MACs") };
            let ones = own.to_bools().iter().filter(|bit| **bit).count();
            assert!(may_be_chance(ones, 900, 0.5), "{ones} of 900");
        }
    }
}

#[test]
fn a_triple_of_bits_takes_as_much_to_each_peer_among_any_number() {
    let sent = |n: usize| {
        let make = async |ctx: &Ctx| {
            let s = Spdz2k::new_dry(n, ctx.me(), Params::default())?;
            s.make(ctx, &Kind::BitTriple, 200_000).await.map(|_| ())
        };
        let costs = dry::together(&vec![0; n], Phase::Offline, make).unwrap().remove(0).1.offline;
        (costs.sent.iter().sum::<u64>() as f64 / 200_000.0 / (n - 1) as f64, costs.rounds)
    };
    let (two, rounds) = sent(2);
    assert!((110.0..113.0).contains(&two) && rounds == 11, "{two} bytes, {rounds} rounds");
    for n in [3, 4] {
        let (more, rounds) = sent(n);
        assert!((two..two + 2.0).contains(&more) && rounds == 18, "{more} bytes, {rounds} rounds");
    }
}
