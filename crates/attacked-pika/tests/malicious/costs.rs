//! Tests of costs: at every party, messages cost what dry runs of all parties predict, and dealing costs what is
//! stated.

use std::sync::Arc;

use quorate_authenticated::{Kind, Params};
use quorate_engine::testing::parties;
use quorate_engine::{Costs, Ctx, Demand, Form, Phase, Result, Sharing, Stocks, dry};
use quorate_gadgets::lookup::{Entries, Lookup, Operand};
use quorate_gadgets::testing::convolutions::kinds as convolutions;
use quorate_gadgets::{Functions, Gadgets, MakesAhead, Width};
use quorate_pika::PikaMalicious;
use quorate_pika::malicious::cost;
use quorate_pika::malicious::digits::Digits;
use quorate_ring::{Bits, Ring, Vector};

use crate::common::N;

fn params() -> Params {
    Params::default()
}

fn dry_party(me: usize) -> PikaMalicious {
    PikaMalicious::new_dry(N, me, params()).unwrap()
}

pub fn demand(me: usize, work: &impl AsyncFn(&PikaMalicious, &Ctx) -> Result<()>) -> Demand<Kind> {
    let s = dry_party(me);
    s.record_demand();
    dry::run(me, N, Phase::Online, async |ctx| work(&s, ctx).await).unwrap();
    s.take_demand()
}

/// Measures costs live and dry, offline and online.
pub fn measure(work: impl AsyncFn(&PikaMalicious, &Ctx) -> Result<()> + Sync) -> Vec<Costs> {
    let demands: Vec<_> = (0..N).map(|me| demand(me, &work)).collect();
    assert!(demands.iter().all(|demand| *demand == demands[0]), "the parties draw alike");
    let live = parties(N, |mut party| {
        let me = party.me();
        let mut run = party.begin_alone().unwrap();
        let set_up = async |ctx: &Ctx| PikaMalicious::set_up(ctx, params(), None).await;
        let s = run.phase(Phase::Offline, set_up).unwrap();
        run.finish();
        let mut run = party.begin_alone().unwrap();
        run.phase(Phase::Offline, async |ctx| s.make_all(ctx, demands[me].clone()).await).unwrap();
        run.phase(Phase::Online, async |ctx| work(&s, ctx).await).unwrap();
        run.finish()
    });
    let all: Vec<PikaMalicious> = (0..N).map(dry_party).collect();
    let made = async |ctx: &Ctx| all[ctx.me()].make_all(ctx, demands[0].clone()).await;
    let made = dry::together(&[0; N], Phase::Offline, made).unwrap();
    let all: Vec<PikaMalicious> = (0..N).map(dry_party).collect();
    all.iter().for_each(MakesAhead::record_demand);
    let ran = dry::together(&[0; N], Phase::Online, async |ctx| work(&all[ctx.me()], ctx).await).unwrap();
    for me in 0..N {
        assert_eq!(live[me].offline, made[me].1.offline, "offline, party {me}");
        assert_eq!(live[me].online, ran[me].1.online, "online, party {me}");
    }
    live
}

#[test]
fn dry_runs_know_what_programs_send() {
    let ring = Ring::of(16);
    let x = async |s: &PikaMalicious, ctx: &Ctx, owner: usize| {
        let own = (ctx.me() == owner).then(|| Vector::constant(ring, 5, 8));
        s.input(ctx, owner, (ring, 8), own.as_ref()).await
    };
    let bits = async |s: &PikaMalicious, ctx: &Ctx, owner: usize| {
        let own = (ctx.me() == owner).then(|| Bits::constant(true, 2, 8));
        s.input_bits(ctx, owner, (2, 8), own.as_ref()).await
    };
    measure(async |s, ctx| {
        let (x, y, z) = (x(s, ctx, 0).await?, x(s, ctx, 1).await?, x(s, ctx, 2).await?);
        let product = s.mul(ctx, &x, &y).await?;
        let sums = s.bilinear(ctx, Form::Dot { outer: 2, axis: 2, inner: 2 }, &product, &z).await?;
        let less = s.lt(ctx, &x, &z, Width::Full).await?;
        let both = s.and(ctx, &bits(s, ctx, 2).await?, &bits(s, ctx, 0).await?).await?;
        let half = s.trunc_exact(ctx, &x, 3).await?;
        s.shuffle(ctx, &[&half], 4).await?;
        let checked = s.check(ctx).await?;
        for to in [None, Some(0), Some(1), Some(2)] {
            s.reveal(ctx, &checked, &sums, to).await?;
            s.reveal_bits(ctx, &checked, &both, to).await?;
            s.reveal_bits(ctx, &checked, &less, to).await?;
        }
        s.check(ctx).await.map(drop)
    });
}

/// Measures numbers of correlations for which every message has whole bytes.
#[test]
fn dealing_takes_what_is_stated() {
    const LEN: u64 = 64;
    let k = 24;
    let kinds = [
        Kind::Triple { bits: k },
        Kind::DotTriple { bits: k, axis: 3, inner: 2 },
        Kind::MatrixTriple { bits: k, m: 2, k: 3, n: 1 },
        Kind::ConvTriple { bits: k, conv: convolutions()[1] },
        Kind::Owned { owner: 0, bits: k },
        Kind::Owned { owner: 1, bits: k },
        Kind::Random { bits: k },
        Kind::Mask { owner: 2, bits: k },
        Kind::BitTriple,
        Kind::BitMask { owner: 0 },
        Kind::Link,
        Kind::DaBit { bits: k },
        Kind::RandomBit { bits: k },
        Kind::EdaBit { bits: k, ring: k, cut: 0 },
        Kind::EdaBit { bits: k, ring: k + 9, cut: 5 },
        Kind::ComparisonMask { bits: k, pairs: 11 },
        Kind::TruncMask { bits: k, cut: 7 },
        Digits::new(params(), 8, Ring::of(k)).unwrap().kind(),
        Digits::new(params(), 12, Ring::of(k)).unwrap().kind(),
        Digits::new(params(), 12, Ring::of(1)).unwrap().kind(),
    ];
    for kind in kinds {
        let all: Vec<PikaMalicious> = (0..N).map(dry_party).collect();
        let make = async |ctx: &Ctx| all[ctx.me()].make(ctx, &kind, LEN as usize).await.map(drop);
        let costs: Vec<Costs> =
            dry::together(&[0; N], Phase::Offline, make).unwrap().into_iter().map(|(_, costs)| costs).collect();
        let layout = all[0].layout(&kind);
        // For places, only the elements and the chosen one have dealt tags.
        let of_places = matches!(kind, Kind::Place { .. });
        let tagged = if of_places { &layout.vectors[1..] } else { &layout.vectors[..] };
        let largest = tagged.iter().map(|(ring, _)| params().shares(*ring).bits()).max();
        let each = cost::of_kind(params(), &kind);
        let check = cost::of_check(params(), largest, !layout.bits.is_empty());
        let sent = &costs[2].offline.sent;
        let stated = [0, 1].map(|party| (LEN * each.0[party] + check.0[party]) / 8);
        assert_eq!(sent[..2], stated, "{kind}");
        // Commitment, opening and hash to the other party, coins to the dealer.
        let told = [0, 1].map(|party| [costs[party].offline.sent[1 - party], costs[party].offline.sent[2]]);
        assert_eq!(told, [[32 + 64 + 32, 32]; 2], "{kind}");
        // For keys alone the dealer opens nothing: the parties are two rounds ahead of the round in which it receives
        // the coins.
        let rounds = if largest.is_none() && layout.bits.is_empty() { [4, 4, 4] } else { [6, 6, 4] };
        assert_eq!(costs.iter().map(|costs| costs.offline.rounds).collect::<Vec<_>>(), rounds, "{kind}");
    }
}

/// The dealer receives a byte of each party for each of two checks, and no opened value.
#[test]
fn a_dealer_hears_nothing_of_a_program_that_is_not_its() {
    let ring = Ring::of(16);
    let costs = measure(async |s, ctx| {
        let own = |owner: usize| (ctx.me() == owner).then(|| Vector::constant(ring, 9, 5));
        let x = s.input(ctx, 0, (ring, 5), own(0).as_ref()).await?;
        let y = s.input(ctx, 1, (ring, 5), own(1).as_ref()).await?;
        let less = s.lt(ctx, &s.mul(ctx, &x, &y).await?, &x, Width::Full).await?;
        let checked = s.check(ctx).await?;
        s.reveal_bits(ctx, &checked, &less, Some(0)).await?;
        s.reveal(ctx, &checked, &x, Some(1)).await?;
        s.check(ctx).await.map(drop)
    });
    let heard = |party: usize| costs[party].online.sent[2];
    assert_eq!(([heard(0), heard(1)], costs[2].online.bytes()), ([2, 2], 0));
    assert!(costs[0].online.sent[1] > 100 && costs[1].online.sent[0] > 100);
}

/// Measures look-ups of numbers that have entries, in tables of one digit and of two.
#[test]
fn lookups_send_what_is_stated() {
    const LEN: usize = 64;
    let ring = Ring::of(20);
    for (place_bits, bits) in [(4, 9), (10, 64), (11, 1), (12, 33)] {
        let entries = Arc::new(Entries::new(Vector::constant(Ring::of(bits), 5, 1 << place_bits)));
        let table = Lookup { entries: entries.clone(), first: 0, operand: Operand::Within };
        let costs = measure(async |s, ctx| {
            let numbers = if ctx.is_dry() { Vector::shape(ring, LEN) } else { Vector::constant(ring, 3, LEN) };
            s.lookup(ctx, &s.public(&numbers), &table).await.map(drop)
        });
        let (rounds, each) = cost::of_lookup(Digits::new(params(), place_bits, Ring::of(bits)).unwrap());
        for (me, costs) in costs[..2].iter().enumerate() {
            assert_eq!(costs.online.sent[1 - me], each * LEN as u64 / 8, "{place_bits} {bits}");
            assert_eq!((costs.online.rounds, costs.online.sent[2]), (rounds, 0), "{place_bits} {bits}");
        }
        assert_eq!(costs[2].online.bytes(), 0);
    }
}
