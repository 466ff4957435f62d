//! The costs of Yao's sharing: formulas, dry runs and the wire agree, and are at or below Table I of the paper.

use crate::common::*;
use quorate_aby::cost::correlation;
use quorate_aby::cost::yao::{self as cost, Cost};
use quorate_aby::{Aby, Garbling, Kind, YaoLabels};
use quorate_circuits::{Goal, Order, Program, catalog};
use quorate_engine::{Costs, Ctx, Result, Sharing};
use quorate_gadgets::{Gadgets, Garbles};
use quorate_ring::{Bits, Ring, Vector};

const KAPPA: f64 = 128.0;

/// Returns the measured costs of both parties, and asserts that dry runs have the same.
fn measured(garbling: Garbling, work: impl AsyncFn(&Aby, &Ctx) -> Result<YaoLabels> + Sync) -> Cost {
    let costs: Vec<Costs> = match garbling {
        Garbling::Streamed => {
            let wire = run_both(async |aby, ctx| work(aby, ctx).await).into_iter().enumerate();
            let held = wire.map(|(me, [costs, on_demand])| {
                let (demand, dry) = dry_online(me, &work);
                assert_eq!((&dry.online, &on_demand.online), (&costs.online, &costs.online), "party {me} online");
                assert_eq!(dry_offline(me, &demand).offline, costs.offline, "party {me} offline");
                costs
            });
            held.collect()
        }
        Garbling::Ahead => {
            let labels = async |aby: &Aby, ctx: &Ctx, (): &()| work(aby, ctx).await;
            let wire = run_ahead(async |_, _| Ok(()), labels, async |_, _, _| Ok(()));
            wire.into_iter().map(|((), costs)| costs).collect()
        }
    };
    let aby = Aby::dry(2, 0).unwrap();
    aby.set_garbling(garbling);
    let (demand, _) = dry_online_of(&aby, 0, &work);
    let count = |kind: Kind| demand.totals().get(&kind).copied().unwrap_or(0);
    let [rounds, sent] =
        [0, 1].map(|what| [0, 1].map(|me| [u64::from(costs[me].online.rounds), costs[me].online.bytes()][what]));
    Cost {
        rounds: rounds.map(|rounds| rounds as u32),
        sent,
        input_labels: count(Kind::InputLabel),
        entry_labels: count(Kind::EntryLabel),
        tables: count(Kind::GarbledAnd),
    }
}

fn zeros(ctx: &Ctx, rows: usize, lanes: usize) -> Bits {
    if ctx.is_dry() { Bits::shape(rows, lanes) } else { Bits::zeros(rows, lanes) }
}

fn formulas(garbling: Garbling) {
    for (rows, lanes) in [(1, 1), (3, 7), (32, 2000), (64, 513), (5, 40_000)] {
        let bits = measured(garbling, async |aby, ctx| {
            aby.bits_to_labels(ctx, &aby.public_bits(&zeros(ctx, rows, lanes))).await
        });
        assert_eq!(bits, cost::bits_to_labels(rows, lanes, garbling), "B2Y of {rows} x {lanes}");
        for owner in 0..2 {
            let input = measured(garbling, async |aby, ctx| {
                let value = (ctx.me() == owner).then(|| Bits::zeros(rows, lanes));
                aby.input_labels(ctx, owner, (rows, lanes), value.as_ref()).await
            });
            assert_eq!(input, cost::input_labels(owner, rows, lanes, garbling), "{rows} x {lanes} by {owner}");
        }
    }
    for (k, len) in [(1, 100), (2, 1), (8, 1000), (64, 300), (32, 3000)] {
        let ring = Ring::of(k);
        let numbers = measured(garbling, async |aby, ctx| {
            let x = aby.public(&if ctx.is_dry() { Vector::shape(ring, len) } else { Vector::zeros(ring, len) });
            aby.ring_to_labels(ctx, &x).await
        });
        assert_eq!(numbers, cost::ring_to_labels(ring, len, garbling), "A2Y of {len} x {k}");
    }
    for (k, instances) in [(1, 9), (8, 33), (16, 1000), (32, 200)] {
        let program = Program::new(&catalog::mul(k, Goal::Size), Order::Runs(16));
        let rows = 2 * k as usize;
        let garbled = measured(garbling, async |aby, ctx| {
            aby.garble(ctx, &program, &aby.public_labels(&zeros(ctx, rows, instances))?).await
        });
        assert_eq!(garbled, cost::garble(&program, instances, garbling), "product of {k} bits, {instances} times");
    }
}

#[test]
fn formulas_are_what_is_sent() {
    formulas(Garbling::Streamed);
}

#[test]
fn formulas_are_what_is_sent_when_circuits_are_garbled_ahead() {
    formulas(Garbling::Ahead);
}

#[test]
fn labels_of_inputs_are_made_at_the_price_of_correlated_transfers() {
    for len in [1, 1000, 300_000] {
        let wire = run_both(async |aby, ctx| {
            let x = aby.public_bits(&if ctx.is_dry() { Bits::shape(1, len) } else { Bits::zeros(1, len) });
            aby.bits_to_labels(ctx, &x).await.map(|_| ())
        });
        let expected = correlation(&Kind::InputLabel, len);
        let sent = wire.iter().map(|[ahead, _]| ahead.offline.bytes()).sum::<u64>();
        assert_eq!((sent, wire[0][0].offline.rounds), (expected.bytes, expected.rounds));
    }
}

/// Returns the bits that both parties send for one element, including the making of correlations, and the rounds
/// online: for each, the larger one with circuits streamed and garbled ahead.
fn bits_and_rounds(len: usize, work: impl AsyncFn(&Aby, &Ctx) -> Result<()> + Sync) -> (f64, u32) {
    let (mut most_bytes, mut rounds) = (0, 0);
    for garbling in [Garbling::Streamed, Garbling::Ahead] {
        let mut bytes = 0;
        for me in 0..2 {
            let aby = Aby::dry(2, me).unwrap();
            aby.set_garbling(garbling);
            let (demand, online) = dry_online_of(&aby, me, &work);
            bytes += online.online.bytes() + dry_offline_of(&aby, me, &demand).offline.bytes();
            rounds = rounds.max(online.online.rounds);
        }
        most_bytes = most_bytes.max(bytes);
    }
    (most_bytes as f64 * 8.0 / len as f64, rounds)
}

#[test]
fn every_conversion_is_at_or_below_table_i() {
    // A large number: the part that a batch of transfers adds once is negligible.
    let len = 1 << 13;
    for l in [8u32, 16, 32, 64] {
        let (ring, rows, bits) = (Ring::of(l), l as usize, f64::from(l));
        let numbers =
            async |aby: &Aby, ctx: &Ctx| aby.ring_to_labels(ctx, &aby.public(&Vector::shape(ring, len))).await;
        let rows_of = |aby: &Aby| aby.public_bits(&Bits::shape(rows, len));
        let y2b = bits_and_rounds(len, async |aby, _| {
            aby.labels_to_bits(&aby.public_labels(&Bits::shape(rows, len))?).map(|_| ())
        });
        let shr_y0 =
            bits_and_rounds(len, async |aby, ctx| aby.input_labels(ctx, 0, (rows, len), None).await.map(|_| ()));
        let shr_y1 =
            bits_and_rounds(len, async |aby, ctx| aby.input_labels(ctx, 1, (rows, len), None).await.map(|_| ()));
        let b2a = bits_and_rounds(len, async |aby, ctx| aby.compose(ctx, &rows_of(aby), ring).await.map(|_| ()));
        let b2y = bits_and_rounds(len, async |aby, ctx| aby.bits_to_labels(ctx, &rows_of(aby)).await.map(|_| ()));
        let a2y = bits_and_rounds(len, async |aby, ctx| numbers(aby, ctx).await.map(|_| ()));
        let a2b = bits_and_rounds(len, async |aby, ctx| aby.labels_to_bits(&numbers(aby, ctx).await?).map(|_| ()));
        // Our costs; the paper's bits and messages.
        for (name, (sent, waited), most_bits, most_messages) in [
            ("Y2B", y2b, 0.0, 0),
            ("share Y, garbler", shr_y0, bits * KAPPA, 1),
            ("share Y, evaluator", shr_y1, 2.0 * bits * KAPPA, 2),
            ("B2A, Y2A", b2a, bits * KAPPA + (bits * bits + bits) / 2.0, 2),
            ("B2Y", b2y, 2.0 * bits * KAPPA, 2),
            ("A2Y", a2y, 6.0 * bits * KAPPA, 2),
            ("A2B by Yao", a2b, 6.0 * bits * KAPPA, 2),
        ] {
            println!("{l:2} bits, {name:20} {sent:8.1} of {most_bits:8.1} bits, {waited} of {most_messages} messages");
            assert!(sent <= most_bits && waited <= most_messages, "{l} bits, {name}: {sent} bits, {waited} rounds");
        }
    }
}
