//! Every protocol, compared with its ideal functionality, and its measured costs with the stated ones and a dry run.

use quorate_crypto::Seed;
use quorate_engine::testing::parties;
use quorate_engine::{Costs, Ctx, Error, Misuse, Phase, Result, dry};
use quorate_ring::{Bits, Ring, Vector};

use quorate_ot::cost::{self, Cost};
use quorate_ot::{Options, Ot};

const ALL: [Options; 3] = [Options::IKNP, Options { field_bits: 4, ..Options::IKNP }, Options::MALICIOUS];

/// Returns random words, the same for a name at both parties.
fn words(name: &str, len: usize) -> Vec<u64> {
    let mut prg = Seed::from_bytes([7; 32]).prg("quorate/ot/test", name.as_bytes());
    (0..len).map(|_| prg.next_u64()).collect()
}

fn vector(name: &str, ring: Ring, len: usize) -> Vector {
    Vector::from_u64s(ring, &words(name, len))
}

fn bits(name: &str, rows: usize, lanes: usize) -> Bits {
    let bools: Vec<bool> = words(name, rows * lanes).iter().map(|word| word >> 17 & 1 == 1).collect();
    Bits::from_bools(rows, lanes, &bools)
}

fn sum(a: &Vector, b: &Vector) -> Vec<u128> {
    let mut sum = a.clone();
    sum.add_assign(b);
    sum.to_u128s()
}

fn xor(a: &Bits, b: &Bits) -> Vec<bool> {
    a.to_bools().iter().zip(b.to_bools()).map(|(a, b)| a ^ b).collect()
}

/// Runs `work` at both parties; party 0 is the sender where roles differ. Compares the costs of the online phase.
fn run<T: Send>(options: Options, expected: Cost, work: impl AsyncFn(&Ctx, &Ot) -> Result<T> + Sync) -> [T; 2] {
    let results: Vec<Result<(T, Costs)>> = parties(2, |mut party| {
        let me = party.me();
        let mut run = party.begin_alone()?;
        let ot = run.phase(Phase::Offline, async |ctx| Ot::setup(ctx, 1 - me, options).await)?;
        let result = run.phase(Phase::Online, async |ctx| work(ctx, &ot).await)?;
        Ok((result, run.finish()))
    });
    let mut outputs = Vec::new();
    for (me, result) in results.into_iter().enumerate() {
        let (output, costs) = result.unwrap();
        let bytes = [expected.by_sender, expected.by_receiver][me];
        assert_eq!((costs.online.rounds, costs.online.bytes()), (expected.rounds, bytes), "{options:?}, party {me}");
        let ot = Ot::dry(1 - me, options);
        let (_, priced) = dry::run(me, 2, Phase::Online, async |ctx| work(ctx, &ot).await).unwrap();
        assert_eq!(priced.online, costs.online, "a dry run of party {me}");
        outputs.push(output);
    }
    outputs.try_into().ok().unwrap()
}

#[test]
fn products_with_a_bit_are_shared() {
    for options in ALL {
        for bits_of_ring in [1u32, 2, 8, 20, 64, 100, 128] {
            let (ring, len) = (Ring::of(bits_of_ring), 200);
            let (x, choices) = (vector("x", ring, len), bits("c", 1, len));
            let shares = run(options, cost::bit_products(options, ring, len), async |ctx, ot| match ctx.me() {
                0 => ot.send_bit_products(ctx, &x).await,
                _ => ot.receive_bit_products(ctx, &choices, ring).await,
            });
            let product = sum(&shares[0], &shares[1]);
            for (i, c) in choices.to_bools().into_iter().enumerate() {
                assert_eq!(product[i] & ring.mask(), if c { x.to_u128s()[i] } else { 0 });
            }
        }
    }
}

#[test]
fn one_way_products_are_shared() {
    for k in [1u32, 2, 3, 4, 5, 8, 13, 31, 32, 33, 63, 64] {
        let (ring, options) = (Ring::of(k), ALL[k as usize % 3]);
        let all = 1u64 << (2 * k.min(5));
        let (a, b): (Vec<u64>, Vec<u64>) = match k {
            1..=5 => (0..all).map(|i| (i >> k, i & ((1 << k) - 1))).unzip(),
            _ => words("a", 100).into_iter().zip(words("b", 100)).unzip(),
        };
        let (x, y) = (Vector::from_u64s(ring, &a), Vector::from_u64s(ring, &b));
        let expected = cost::one_way_products(options, ring, a.len());
        let shares = run(options, expected, async |ctx, ot| match ctx.me() {
            0 => ot.send_products(ctx, &y).await,
            _ => ot.receive_products(ctx, &x).await,
        });
        let product = sum(&shares[0], &shares[1]);
        for i in 0..a.len() {
            assert_eq!(
                product[i],
                u128::from(a[i].wrapping_mul(b[i])) & ring.mask(),
                "{} x {} over {ring:?}",
                a[i],
                b[i]
            );
        }
    }
}

#[test]
fn products_of_shared_values_are_shared() {
    for (k, len) in [(1u32, 1usize), (7, 9), (32, 1000), (64, 130)] {
        let (ring, options) = (Ring::of(k), Options::default());
        let part = |name: &str, p: usize| vector(&format!("{name}{p}"), ring, len);
        let shares = run(options, cost::products(options, ring, len), async |ctx, ot| {
            ot.products(ctx, &part("x", ctx.me()), &part("y", ctx.me())).await
        });
        let (x, y) = (sum(&part("x", 0), &part("x", 1)), sum(&part("y", 0), &part("y", 1)));
        let expected: Vec<u128> = (0..len).map(|i| x[i].wrapping_mul(y[i]) & ring.mask()).collect();
        let product: Vec<u128> = sum(&shares[0], &shares[1]).into_iter().map(|z| z & ring.mask()).collect();
        assert_eq!(product, expected);
    }
}

#[test]
fn triples_multiply() {
    for (k, len) in [(1u32, 5usize), (8, 700), (20, 100), (32, 1024), (32, 1500), (63, 4), (64, 512), (64, 2100)] {
        let (ring, options) = (Ring::of(k), ALL[len % 3]);
        let shares = run(options, cost::triples(options, ring, len), async |ctx, ot| ot.triples(ctx, ring, len).await);
        let [a, b, c] =
            [sum(&shares[0].a, &shares[1].a), sum(&shares[0].b, &shares[1].b), sum(&shares[0].c, &shares[1].c)];
        assert_eq!((a.len(), b.len(), c.len()), (len, len, len));
        for i in 0..len {
            assert_eq!(a[i].wrapping_mul(b[i]) & ring.mask(), c[i] & ring.mask(), "triple {i} over {ring:?}");
        }
        // Shares are whole elements: their top bits occur.
        let tops = |share: &Vector| share.to_u64s().iter().fold(0, |all, x| all | x);
        let full = (ring.mask() as u64, len >= 100);
        assert!(!full.1 || shares.iter().all(|s| tops(&s.a) == full.0 && tops(&s.b) == full.0 && tops(&s.c) == full.0));
    }
    // 1016 bytes by both parties together at k = 64.
    let each = cost::triples(Options::default(), Ring::of(64), 1 << 20);
    assert_eq!((each.by_sender + each.by_receiver) >> 20, 1016);
}

#[test]
fn bit_triples_multiply() {
    for (rows, lanes) in [(1usize, 1usize), (1, 1000), (64, 64), (7, 33), (1, 40_000), (3, 40_000)] {
        let options = ALL[rows % 3];
        let shares = run(options, cost::bit_triples(options, rows, lanes), async |ctx, ot| {
            ot.bit_triples(ctx, rows, lanes).await
        });
        assert_eq!((shares[0].a.rows(), shares[0].a.lanes(), shares[1].c.rows()), (rows, lanes, rows));
        let [a, b, c] =
            [xor(&shares[0].a, &shares[1].a), xor(&shares[0].b, &shares[1].b), xor(&shares[0].c, &shares[1].c)];
        assert!((0..rows * lanes).all(|i| c[i] == (a[i] & b[i])));
        if rows * lanes >= 40_000 {
            for share in shares.iter().flat_map(|s| [&s.a, &s.b, &s.c]) {
                let ones = share.to_bools().iter().filter(|&&bit| bit).count();
                assert!(ones.abs_diff(rows * lanes / 2) < 1500, "{ones} ones of {}", rows * lanes);
            }
        }
    }
}

#[test]
fn triples_of_columns_select() {
    for (rows, lanes) in [(1usize, 10usize), (32, 500), (128, 64), (200, 70), (64, 33_000)] {
        let options = Options::default();
        let shares = run(options, cost::select_triples(options, rows, lanes), async |ctx, ot| {
            ot.select_triples(ctx, rows, lanes).await
        });
        let [a, b, c] =
            [xor(&shares[0].a, &shares[1].a), xor(&shares[0].b, &shares[1].b), xor(&shares[0].c, &shares[1].c)];
        assert_eq!((a.len(), b.len(), c.len()), (lanes, rows * lanes, rows * lanes));
        assert!((0..rows * lanes).all(|i| c[i] == (a[i % lanes] & b[i])));
    }
}

#[test]
fn nothing_repeats_over_lanes_and_runs() {
    let drawn = parties(2, |mut party| {
        let me = party.me();
        let mut run = party.begin_alone()?;
        let ot = run.phase(Phase::Offline, async |ctx| Ot::setup(ctx, 1 - me, Options::default()).await)?;
        run.finish();
        let mut all = Vec::new();
        for _ in 0..3 {
            let mut run = party.begin_alone()?;
            let made = run.phase(Phase::Online, async |ctx| {
                let work = async |ctx: Ctx, _| match me {
                    0 => Ok(ot.send_random(&ctx, 200).await?[0].as_slice().to_vec()),
                    _ => Ok(ot.receive_random(&ctx, 200).await?.1.as_slice().to_vec()),
                };
                ctx.join_all(4, work).await
            })?;
            run.finish();
            all.extend(made.into_iter().flatten());
        }
        Result::Ok(all)
    });
    for all in drawn {
        let mut all = all.unwrap();
        assert_eq!(all.len(), 3 * 4 * 200);
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]));
    }
}

#[test]
fn mistakes_are_named_before_anything_is_sent() {
    let (ring, long) = (Ring::of(65), Vector::zeros(Ring::of(129), 3));
    let ot = Ot::dry(1, Options::default());
    let refused = |which: usize| -> Result<()> {
        let (_, costs) = dry::run(0, 2, Phase::Online, async |ctx| {
            let (x, y) = (Vector::zeros(ring, 3), Vector::zeros(Ring::of(8), 4));
            let result = match which {
                0 => ot.send_products(ctx, &x).await.map(drop),
                1 => ot.triples(ctx, ring, 3).await.map(drop),
                2 => ot.receive_cots_for(ctx, &Bits::zeros(2, 3)).await.map(drop),
                3 => ot.products(ctx, &y, &Vector::zeros(Ring::of(8), 5)).await.map(drop),
                // One hash does not cover elements of this size.
                4 => ot.send_bit_products(ctx, &long).await.map(drop),
                _ => ot.receive_bit_products(ctx, &Bits::zeros(1, 3), long.ring()).await.map(drop),
            };
            assert!(
                matches!(
                    result,
                    Err(Error::Misuse { what: Misuse::Length { .. } | Misuse::RingBits { .. } | Misuse::Other { .. } })
                ),
                "case {which}"
            );
            Ok(())
        })?;
        assert_eq!(costs.online.bytes(), 0, "case {which}");
        Ok(())
    };
    (0..6).for_each(|which| refused(which).unwrap());
}
