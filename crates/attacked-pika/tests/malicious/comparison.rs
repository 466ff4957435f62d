//! Signs, equality and truncation by digits of masks: in rings of one digit and of many, for all numbers of tiny rings
//! and for those near the edges of large ones; and what they send.

use quorate_engine::{Ctx, Result, Sharing};
use quorate_gadgets::Gadgets;
use quorate_gadgets::testing::{all, mask, noise, open_bits, share, shown, signed};
use quorate_pika::PikaMalicious;
use quorate_pika::malicious::comparison::Mask;
use quorate_pika::malicious::cost::{self, Use};
use quorate_ring::{Ring, Vector};
use quorate_spdz2k::Params;

use super::costs::{demand, measure};
use crate::common::N;

fn numbers(k: u32) -> Vec<u64> {
    if k <= 7 {
        return all(k).repeat(2);
    }
    let near = |edge: u64| (0..4).map(move |i| edge.wrapping_add(i).wrapping_sub(2));
    let edges = (0..k).step_by(3).chain([k - 2, k - 1]).map(|bit| 1 << bit).chain([0]);
    edges.flat_map(near).chain(noise(k.into(), 20)).map(|x| x & mask(k)).collect()
}

#[test]
fn signs_equality_and_truncation() {
    for k in [2, 5, 6, 7, 12, 13, 33, 64] {
        let values = numbers(k);
        let shifts = [1, 5, 6, 7, 11, 16, k / 2, k - 2, k - 1, k];
        let (signs, zeros, floors) = quorate_gadgets::testing::agreed(N, async |s: &PikaMalicious, ctx: &Ctx| {
            let x = share(s, ctx, Ring::of(k), &values).await?;
            let signs = open_bits(s, ctx, &s.msb(ctx, &x).await?).await?;
            let zeros = open_bits(s, ctx, &s.eqz(ctx, &x).await?).await?;
            let mut floors = Vec::new();
            for shift in shifts {
                let exact = shown(s, ctx, &s.trunc_exact(ctx, &x, shift).await?).await?.to_i64s();
                floors.push([exact, shown(s, ctx, &s.trunc_bounded(ctx, &x, shift).await?).await?.to_i64s()]);
            }
            Ok((signs, zeros, floors))
        });
        for (i, &x) in values.iter().enumerate() {
            let signed = signed(k, x);
            assert_eq!((signs[i], zeros[i]), (signed < 0, x == 0), "k {k}: {signed}");
            let fits = (-(1i128 << (k - 2))..1 << (k - 2)).contains(&signed.into());
            for (shift, [exact, bounded]) in shifts.into_iter().zip(&floors) {
                assert_eq!(exact[i], signed >> shift.min(63), "k {k}: {signed} by {shift}");
                assert!(!fits || bounded[i] == signed >> shift.min(63), "k {k}: {signed} by {shift}, bounded");
            }
        }
    }
}

fn check(what: &str, stated: &Use, len: usize, work: impl AsyncFn(&PikaMalicious, &Ctx) -> Result<()> + Sync) {
    let drawn = demand(0, &work);
    let stated_kinds = stated.kinds.iter().map(|(kind, count)| (kind.clone(), count * len)).collect();
    assert_eq!(*drawn.totals(), stated_kinds, "{what}");
    for (me, costs) in measure(work)[..2].iter().enumerate() {
        assert_eq!(costs.online.sent[1 - me], stated.bits * len as u64 / 8, "{what}");
        assert_eq!((costs.online.rounds, costs.online.sent[2]), (stated.rounds, 0), "{what}");
    }
}

#[test]
fn they_send_what_is_stated() {
    const LEN: usize = 64;
    for k in [5, 13, 32, 64] {
        let mask = Mask::new(Params::default(), Ring::of(k)).unwrap();
        let x = |s: &PikaMalicious, ctx: &Ctx| {
            let ring = Ring::of(k);
            s.public(&if ctx.is_dry() { Vector::shape(ring, LEN) } else { Vector::constant(ring, 3, LEN) })
        };
        check("sign", &cost::of_sign(&mask, k), LEN, async |s, ctx| s.msb(ctx, &x(s, ctx)).await.map(drop));
        check("equality", &cost::of_equality(&mask, k), LEN, async |s, ctx| s.eqz(ctx, &x(s, ctx)).await.map(drop));
        for cut in [1, k / 3, k / 2, k - 2] {
            let stated = cost::of_truncation(&mask, k, cut, false);
            check("truncation", &stated, LEN, async |s, ctx| s.trunc_exact(ctx, &x(s, ctx), cut).await.map(drop));
            let stated = cost::of_truncation(&mask, k, cut, true);
            check("bounded", &stated, LEN, async |s, ctx| s.trunc_bounded(ctx, &x(s, ctx), cut).await.map(drop));
        }
    }
    let dealt = |stated: Use| stated.dealt(Params::default()).0.map(|bits| bits.div_ceil(8));
    let mask = Mask::new(Params::default(), Ring::of(64)).unwrap();
    assert_eq!(dealt(cost::of_sign(&mask, 64)).iter().sum::<u64>(), 4759);
}
