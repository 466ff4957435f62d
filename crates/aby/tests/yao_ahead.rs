//! Circuits that are garbled before their inputs are known.

use crate::common::*;
use quorate_aby::{Aby, Garbling, YaoLabels};
use quorate_additive::local;
use quorate_circuits::{Goal, Order, Program, Sign, catalog};
use quorate_engine::testing::{Tampered, parties};
use quorate_engine::{Ctx, Error, Phase, Positions, Result, Sharing};
use quorate_gadgets::{Gadgets, Garbles, Labels};
use quorate_ring::threads::set_threads;
use quorate_ring::{Bits, Ring, Vector};

const ORDER: Order = Order::Runs(16);

async fn opened(aby: &Aby, ctx: &Ctx, labels: &YaoLabels) -> Result<Vec<u128>> {
    let bits = aby.open_bits(ctx, &aby.labels_to_bits(labels)?).await?;
    Ok(bits.to_vector(Ring::of(bits.rows() as u32)).to_u128s())
}

/// Returns elements of which each party inputs a summand of its own.
async fn of_summands(aby: &Aby, ctx: &Ctx, ring: Ring, summands: &[Vec<u64>; 2]) -> Result<A> {
    let mut shares = Vec::new();
    for (owner, own) in summands.iter().enumerate() {
        let values = (ctx.me() == owner).then(|| Vector::from_u64s(ring, own));
        shares.push(aby.input(ctx, owner, (ring, own.len()), values.as_ref()).await?);
    }
    Ok(aby.add(&shares[0], &shares[1]))
}

#[test]
fn numbers_and_bits_become_labels_in_all_summands() {
    for k in 1..=4 {
        let (ring, (x, y)) = (Ring::of(k), all_pairs(k));
        let summands = [x.clone(), y.clone()];
        let program = Program::new(&catalog::less_than(k, Sign::Unsigned, Goal::Size), ORDER);
        let results = run_ahead(
            async |aby, ctx| of_summands(aby, ctx, ring, &summands).await,
            async |aby, ctx, sum| {
                let numbers = aby.ring_to_labels(ctx, sum).await?;
                let low = aby.bits_to_labels(ctx, &local::low_bit(sum)).await?;
                // The sum again, its lowest bit, and whether a party's summand is less than the sum.
                let rows = |bits: &[u64]| Vector::from_u64s(ring, bits).to_bits(0..k);
                let own = (ctx.me() == 0).then(|| rows(&summands[0]));
                let first = aby.input_labels(ctx, 0, (k as usize, x.len()), own.as_ref()).await?;
                let own = (ctx.me() == 1).then(|| rows(&summands[1]));
                let second = aby.input_labels(ctx, 1, (k as usize, x.len()), own.as_ref()).await?;
                let one = aby.garble(ctx, &program, &YaoLabels::concat_rows(&[&first, &numbers])).await?;
                let two = aby.garble(ctx, &program, &YaoLabels::concat_rows(&[&numbers, &second])).await?;
                Ok(YaoLabels::concat_rows(&[&numbers, &low, &one, &two]))
            },
            async |aby, ctx, labels| opened(aby, ctx, labels).await,
        );
        for (got, _) in results {
            for (i, (x, y)) in x.iter().zip(&y).enumerate() {
                let sum = (x + y) & mask(k);
                let expected = sum | (sum & 1) << k | u64::from(*x < sum) << (k + 1) | u64::from(sum < *y) << (k + 2);
                assert_eq!(got[i], expected.into(), "k {k}: {x}, {y}");
            }
        }
    }
}

#[test]
fn labels_flow_through_many_circuits_and_lanes() {
    let sizes = [(8, 1, [1, 1]), (16, 40, [1, 1]), (16, 500, [3, 1]), (16, 500, [2, 7]), (32, 3000, [1, 1])];
    for (k, instances, threads) in sizes {
        let ring = Ring::of(k);
        let [x, y] = [1, 2].map(|seed| noise(seed, instances).iter().map(|x| x & mask(k)).collect::<Vec<_>>());
        let product = Program::new(&catalog::mul(k, Goal::Size), ORDER);
        let public = Vector::from_u64s(ring, &x).to_bits(0..k);
        let results = run_ahead(
            async |aby, ctx| {
                if !ctx.is_dry() {
                    set_threads(threads[ctx.me()]).unwrap();
                }
                share(aby, ctx, ring, &y).await
            },
            async |aby, ctx, y| {
                let y = aby.ring_to_labels(ctx, y).await?;
                let known = if ctx.is_dry() { Bits::shape(k as usize, instances) } else { public.clone() };
                let x = aby.public_labels(&known)?;
                let mut z = aby.garble(ctx, &product, &YaoLabels::concat_rows(&[&x, &y])).await?;
                for _ in 0..2 {
                    z = aby.garble(ctx, &product, &YaoLabels::concat_rows(&[&z, &y])).await?;
                }
                Ok(z)
            },
            async |aby, ctx, labels| opened(aby, ctx, labels).await,
        );
        for (got, costs) in results {
            let expected = x.iter().zip(&y).map(|(x, y)| u128::from(x.wrapping_mul(y.wrapping_pow(3)) & mask(k)));
            assert!(got == expected.collect::<Vec<_>>(), "{instances} of {k} bits, {threads:?} threads");
            // A label for each bit of y, and the opened shares; no tables.
            assert!(costs.online.bytes() < (20 * k as usize * instances) as u64, "{costs:?}");
        }
    }
}

#[test]
fn circuits_without_ands_and_without_instances() {
    let results = run_ahead(
        async |aby, ctx| share_bits(aby, ctx, 8, 3, &[true; 24]).await,
        async |aby, ctx, x| {
            let mut b = quorate_circuits::Builder::new();
            let (left, right) = (b.input(4), b.input(4));
            let sum: Vec<_> = left.iter().zip(&right).map(|(&x, &y)| b.xor(x, y)).collect();
            let program = Program::new(&b.finish(&[&sum, &left]).unwrap(), ORDER);
            let x = aby.bits_to_labels(ctx, x).await?;
            let none = aby.garble(ctx, &program, &x.gather_lanes(&Positions::Given(&[]))).await?;
            assert_eq!(none.shape(), (8, 0));
            aby.garble(ctx, &program, &x).await
        },
        async |aby, ctx, labels| opened(aby, ctx, labels).await,
    );
    assert!(results.iter().all(|(got, _)| *got == [0xf0; 3]), "{results:?}");
}

/// Squares numbers of 4 bits in a circuit. The garbler garbles `garbled` circuits ahead, or does not garble ahead if it
/// is `None`. Returns the opened values, and the number of messages that the party sent.
fn squares(garbled: Option<u32>, tampered: Option<(usize, Tampered)>) -> Vec<Result<(Vec<u64>, usize)>> {
    let ring = Ring::of(4);
    parties(2, |mut party| {
        let mut run = party.begin_alone()?;
        let aby = run.phase(Phase::Offline, async |ctx| Aby::setup(ctx).await)?;
        run.finish();
        let labels = async |aby: &Aby, ctx: &Ctx, circuits: u32| {
            let program = Program::new(&catalog::mul(4, Goal::Size), ORDER);
            let x = share(aby, ctx, ring, &[3, 5, 15]).await?;
            let x = aby.ring_to_labels(ctx, &x).await?;
            let mut square = x.clone();
            for _ in 0..circuits {
                square = aby.garble(ctx, &program, &YaoLabels::concat_rows(&[&x, &x])).await?;
            }
            Ok(square)
        };
        let work = async |aby: &Aby, ctx: &Ctx, made: Option<YaoLabels>| {
            let here = labels(aby, ctx, 1).await?;
            let square = aby.labels_to_bits(&made.unwrap_or(here))?;
            open(aby, ctx, &aby.compose(ctx, &square, ring).await?).await
        };
        aby.set_garbling(Garbling::Ahead);
        let dry = Aby::dry(2, party.me())?;
        dry.set_garbling(Garbling::Ahead);
        let (demand, _) = dry_online_of(&dry, party.me(), &async |aby, ctx| work(aby, ctx, None).await);
        if let Some((_, tampered)) = tampered.filter(|(who, _)| *who == party.me()) {
            party.insecure_tamper(tampered);
        }
        let mut run = party.begin_alone()?;
        let made = run.phase(Phase::Offline, async |ctx| {
            aby.make_all(ctx, demand).await?;
            let Some(circuits) = garbled else { return Ok(None) };
            aby.garble_ahead(ctx, async |ctx: &Ctx| labels(&aby, ctx, circuits).await).await
        })?;
        let result = run.phase(Phase::Online, async |ctx| work(&aby, ctx, made).await);
        run.finish();
        let sent = party.insecure_sent();
        party.leave(false);
        result.map(|opened| (opened, sent))
    })
}

#[test]
fn circuits_that_were_not_garbled_ahead_end_in_an_error() {
    assert!(squares(Some(1), None).into_iter().all(|result| result.unwrap().0 == [9, 9, 1]));
    for garbled in [None, Some(0), Some(2)] {
        let results = squares(garbled, None);
        assert!(results.iter().all(Result::is_err), "{garbled:?}: {results:?}");
    }
}

#[test]
fn changed_messages_end_in_other_results_or_errors_but_end() {
    for who in 0..2 {
        let mut seen = 0;
        for message in 0..30 {
            let results = squares(Some(1), Some((who, Tampered::bit(message, 13 + 8 * message))));
            let is_right = |result: &Result<(Vec<u64>, usize)>| matches!(result, Ok((got, _)) if *got == [9, 9, 1]);
            seen += usize::from(!results.iter().all(is_right));
        }
        assert!(seen > 0, "no change of party {who}'s messages was ever seen");
    }
}

#[test]
fn openings_alone_are_an_error() {
    let results = parties(2, |mut party| {
        let mut run = party.begin_alone()?;
        let aby = run.phase(Phase::Offline, async |ctx| Aby::setup(ctx).await)?;
        let alone = run.phase(Phase::Offline, async |ctx| {
            let shared = aby.public(&Vector::zeros(Ring::of(8), 3));
            Ok(ctx.alone(Phase::Online, async |ctx| aby.open(ctx, &shared).await.map(|_| ())))
        });
        run.finish();
        alone
    });
    for result in results {
        assert!(matches!(result, Ok(Err(Error::Bug { .. }))), "{result:?}");
    }
}
