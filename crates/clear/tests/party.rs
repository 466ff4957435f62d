//! Tests of the party itself: its masks, its labels, what it costs, and what it refuses.

use quorate_circuits::{Goal, Order, Program, Sign, catalog};
use quorate_clear::{Clear, Kind};
use quorate_engine::testing::parties;
use quorate_engine::{Checked, Ctx, EdaBits, Error, Form, Misuse, Phase, Positions, Result, Sharing, TruncMasks, dry};
use quorate_gadgets::testing::{self, agreed, mask, noise, open, share, share_bits, wide};
use quorate_gadgets::{Choices, Family, Garbles, Labels, MakesAhead};
use quorate_ring::{Bits, Ring, Vector};

fn party() -> Clear {
    Clear::dry(1, 0, &Choices::default()).unwrap()
}

#[test]
fn masks_are_what_their_kind_says() {
    const LEN: usize = 128; // a coin falls on one side so often with probability 2^-127
    for (k, cut) in [(3, 1), (8, 5), (33, 7), (64, 62)] {
        let (ring, large) = (Ring::of(k), Ring::of(k + 20));
        let (ones, values, bits, shifted, truncation, in_large) = agreed::<Clear, _>(1, async |s, ctx| {
            let ones = open(s, ctx, &s.random_bits(ctx, ring, LEN).await?).await?;
            let EdaBits { value, shifted, bits } = s.edabits(ctx, ring, Some(cut), LEN).await?;
            let TruncMasks { value: r, shifted: of_r, top } = s.trunc_masks(ctx, ring, cut, LEN).await?;
            assert_eq!((r.ring(), of_r.ring(), top.ring()), (ring, ring, Ring::of(cut + 1)));
            let EdaBits { value: in_large, bits: its_bits, .. } = s.wide_edabits(ctx, ring, large, LEN).await?;
            assert_eq!(in_large.ring(), large);
            let truncation = [r, of_r, top].map(|x| x.to_u128s());
            let in_large = [in_large.to_u128s(), its_bits.to_vector(ring).to_u128s()];
            Ok((
                ones,
                value.to_u128s(),
                bits.to_vector(ring).to_u128s(),
                shifted.unwrap().to_u128s(),
                truncation,
                in_large,
            ))
        });
        assert!(ones.contains(&0) && ones.contains(&1) && ones.iter().all(|&bit| bit <= 1), "k {k}");
        assert_eq!((&values, &in_large[0]), (&bits, &in_large[1]), "k {k}");
        let [r, of_r, top] = truncation;
        for i in 0..LEN {
            assert_eq!(shifted[i], values[i] >> cut, "k {k}");
            assert_eq!((of_r[i], top[i]), ((r[i] & u128::from(mask(k - 1))) >> cut, r[i] >> (k - 1)), "k {k}");
        }
        let (ever, always) = values.iter().fold((0, u128::MAX), |(or, and), v| (or | v, and & v));
        assert_eq!((ever, always), (ring.mask(), 0), "k {k}: every bit is sometimes 0 and sometimes 1");
        assert_ne!(values, r, "masks came twice");
    }
}

#[test]
fn nothing_is_sent_and_demands_are_those_of_dry_runs() {
    let work = async |s: &Clear, ctx: &Ctx| wide::one_of_everything(s, ctx, 96, 13).await;
    let s = party();
    s.record_demand();
    let (_, planned) = dry::run(0, 1, Phase::Online, async |ctx| work(&s, ctx).await).unwrap();
    let demand = s.take_demand();
    assert!(demand.totals().len() > 20 && demand.totals().contains_key(&Kind::EdaBit { bits: 96, cut: 0 }));
    let costs = parties(1, |mut party| {
        let s: Clear = testing::ready(&mut party);
        let mut run = party.begin_alone().unwrap();
        run.phase(Phase::Offline, async |ctx| s.prepare(ctx, demand.clone(), async |_| Ok(())).await).unwrap();
        run.phase(Phase::Online, async |ctx| work(&s, ctx).await).unwrap();
        run.finish()
    });
    for costs in [&costs[0], &planned] {
        for phase in [&costs.offline, &costs.online] {
            assert_eq!((phase.rounds, phase.bytes()), (0, 0));
        }
    }
}

#[test]
fn labels_are_bits_and_circuits_are_those_in_the_clear() {
    for circuit in [catalog::add(7, Goal::Size), catalog::divide(5, Sign::Signed, Goal::Depth)] {
        let (rows, lanes) = (circuit.input_wires() as usize, 70);
        let inputs: Vec<bool> = noise(7, rows * lanes).iter().map(|word| word & 1 == 1).collect();
        let clear = circuit.evaluate(&Bits::from_bools(rows, lanes, &inputs)).unwrap();
        let (garbled, wires) = agreed::<Clear, _>(1, async |s, ctx| {
            let labels = s.bits_to_labels(ctx, &share_bits(s, ctx, rows, lanes, &inputs).await?).await?;
            let outputs = s.garble(ctx, &Program::new(&circuit, Order::Runs(1)), &labels).await?;
            let turned = labels.rows_to_lanes().lanes_to_rows(rows).gather_lanes(&Positions::Given(&[3, 3]));
            let public = s.public_labels(&Bits::zeros(1, 2))?;
            let both = Labels::concat_rows(&[&turned.gather_rows(&[1]), &public]);
            let twice = Labels::concat_lanes(&[&both, &both]);
            assert_eq!(twice.shape(), (2, 4));
            Ok((s.labels_to_bits(&outputs)?.to_bools(), s.labels_to_bits(&twice)?.to_bools()))
        });
        assert_eq!(garbled, clear.to_bools(), "{circuit:?}");
        assert_eq!(wires, [[inputs[lanes + 3]; 4], [false; 4]].concat());
    }
}

#[test]
fn shuffles_keep_the_order() {
    let rows: Vec<u64> = (0..12).collect();
    let got = agreed::<Clear, _>(1, async |s, ctx| {
        let x = share(s, ctx, Ring::of(9), &rows).await?;
        let moved = s.shuffle(ctx, &[&x, &x], 6).await?;
        Ok([open(s, ctx, &moved[0]).await?, open(s, ctx, &moved[1]).await?])
    });
    assert_eq!(got, [rows.clone(), rows]);
}

/// Returns the misuse that a dry run finds.
fn misuse<T>(work: impl AsyncFnOnce(&Clear, &Ctx) -> Result<T>) -> Misuse {
    let s = party();
    match dry::run(0, 1, Phase::Online, async |ctx| work(&s, ctx).await) {
        Err(Error::Misuse { what }) => what,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("no error"),
    }
}

#[test]
fn misuse_is_refused() {
    assert!((0..4).all(|parties| Clear::dry(parties, 0, &Choices::default()).is_ok() == (parties == 1)));
    let (ring, absent) = (Ring::of(8), Misuse::NoSuchParty { party: 1, parties: 1 });
    let x = |len| Vector::shape(ring, len);
    assert_eq!(misuse(async |s, ctx| s.input(ctx, 1, (ring, 1), None).await), absent);
    assert_eq!(misuse(async |s, ctx| s.input_bits(ctx, 1, (1, 1), None).await), absent);
    let checked = Checked::unneeded();
    assert_eq!(misuse(async |s, ctx| s.reveal(ctx, &checked, &x(1), Some(1)).await), absent);
    assert_eq!(misuse(async |s, ctx| s.reveal_bits(ctx, &checked, &Bits::shape(1, 1), Some(1)).await), absent);
    let lengths = Misuse::Length { what: "a product", left: 2, right: 3 };
    assert_eq!(misuse(async |s, ctx| s.mul(ctx, &x(2), &x(3)).await), lengths);
    let form = Form::MatMul { m: 1, k: 2, n: 2 };
    assert_eq!(misuse(async |s, ctx| s.bilinear(ctx, form, &x(2), &x(3)).await), lengths);
    assert_eq!(misuse(async |s, ctx| s.and(ctx, &Bits::shape(1, 2), &Bits::shape(1, 3)).await), lengths);
    let too_wide = misuse(async |s, ctx| s.wide_edabits(ctx, ring, Ring::of(127), 1).await);
    assert_eq!(too_wide, Misuse::RingBits { bits: 127 });
    for cut in [0, 8] {
        let refused = misuse(async |s, ctx| s.edabits(ctx, ring, Some(cut), 1).await).to_string();
        assert!(refused.contains("an edaBit must be cut"), "{refused}");
    }
    for (ring, shift) in [(ring, 0), (ring, 7), (Ring::of(1), 1)] {
        let refused = misuse(async |s, ctx| s.trunc_masks(ctx, ring, shift, 1).await).to_string();
        assert!(refused.contains("a truncation mask must be cut"), "{refused}");
    }
    let refused = misuse(async |s, ctx| s.wide_edabits(ctx, ring, ring, 1).await).to_string();
    assert!(refused.contains("a ring larger than its bits"), "{refused}");
    assert!(matches!(misuse(async |s, ctx| s.shuffle(ctx, &[&x(5)], 2).await), Misuse::Length { .. }));
    let without = parties(1, |mut party| {
        let s: Clear = testing::ready(&mut party);
        let mut run = party.begin_alone().unwrap();
        run.phase(Phase::Online, async |ctx| s.input(ctx, 0, (ring, 5), None).await).map(drop).unwrap_err()
    });
    assert!(matches!(&without[0], Error::Misuse { what } if what.to_string().contains("without")), "{without:?}");
}
