//! Tests of correlations that were made in one session and are used in another one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use quorate_engine::testing::parties;
use quorate_engine::{Ctx, Demand, EdaBits, Form, MaterialOf, Party, Phase, Result};
use quorate_ring::{Conv, Ring, Vector};

use super::{choices, noise, open, recorded, share, share_bits, shown, shown_bits};
use crate::floor_div::Range;
use crate::int_div::Known;
use crate::lookup::{Entries, Lookup, Operand};
use crate::order::Keys;
use crate::{Family, Sign, Width};

type Made<S> = BTreeMap<<S as quorate_engine::Stocks>::Kind, MaterialOf<S>>;

/// The correlations of a session as bytes, kind by kind.
type Packed<K> = BTreeMap<K, Vec<u8>>;

/// Returns correlations as bytes, whose lengths must be those that the family states.
pub fn packed<S: Family>(s: &S, made: &Made<S>, totals: &BTreeMap<S::Kind, usize>) -> Result<Packed<S::Kind>> {
    let pack = |(kind, material): (&S::Kind, &MaterialOf<S>)| {
        let mut bytes = Vec::new();
        s.pack(material, &mut bytes)?;
        assert_eq!(bytes.len(), s.packed_bytes(kind, totals[kind]), "{kind}");
        Ok((kind.clone(), bytes))
    };
    made.iter().map(pack).collect()
}

/// Serves the draws of `s` from correlations of another session of the same parties, set up here, which were bytes in
/// between. With `as_own` they are used as those of the session of `s`, which is wrong for keys.
///
/// # Errors
/// Those of the making.
pub async fn fill_from_another<S: Family>(s: &S, ctx: &Ctx, demand: Demand<S::Kind>, as_own: bool) -> Result<()> {
    let other = S::setup(ctx, None, &choices::<S>()).await?;
    assert_ne!(other.origin(), s.origin());
    let made = other.make_kinds(ctx, demand.totals()).await?;
    let bytes = packed(&other, &made, demand.totals())?;
    drop(made);
    let read = |(kind, bytes): (&S::Kind, &Vec<u8>)| {
        assert!(S::fits_pools(kind), "{kind}");
        let len = demand.totals()[kind];
        for wrong in [&bytes[..bytes.len().saturating_sub(1)], &[&bytes[..], &[0]].concat()] {
            assert!(s.unpack(kind, len, wrong).is_err() || wrong.len() == bytes.len(), "{kind}: another length");
        }
        Ok((kind.clone(), s.unpack(kind, len, bytes)?))
    };
    let made = bytes.iter().map(read).collect::<Result<_>>()?;
    match as_own {
        true => s.stock().fill(demand, made),
        false => s.stock().fill_from(other.origin(), demand, made),
    }
    Ok(())
}

/// Runs `work` on correlations of another session, as [`fill_from_another`] does. Returns its results, and the names of
/// the kinds that it drew, without their fields.
pub fn run_from_pool<S: Family, T: Send>(
    n: usize,
    as_own: bool,
    work: impl AsyncFn(&S, &Ctx) -> Result<T> + Sync,
) -> (Vec<T>, BTreeSet<String>) {
    let mut ran = parties(n, |mut party: Party| {
        let s: S = super::ready(&mut party);
        let demand = recorded((n, party.me()), async |s: &S, ctx: &Ctx| work(s, ctx).await.map(drop)).unwrap();
        let short = |name: String| name.split([' ', '{']).next().unwrap_or_default().to_owned();
        let kinds: BTreeSet<String> = demand.totals().keys().map(S::name_of).map(short).collect();
        let mut run = party.begin_alone().unwrap();
        run.phase(Phase::Offline, async |ctx| fill_from_another(&s, ctx, demand, as_own).await).unwrap();
        let out =
            run.phase(Phase::Online, async |ctx| work(&s, ctx).await.map(|out| (out, ctx.take_making()))).unwrap();
        run.finish();
        party.leave(false);
        assert!(s.stock().origin().is_some() != as_own);
        s.forget();
        assert!(s.stock().origin().is_none() && s.stock().made().is_empty());
        (out, kinds)
    });
    let kinds = ran[0].1.clone();
    assert!(ran.iter().all(|(_, other)| *other == kinds));
    (ran.drain(..).map(|((out, _), _)| out).collect(), kinds)
}

/// The results of [`everything`].
type Results = (Vec<Vec<u64>>, Vec<Vec<bool>>);

/// Draws most kinds of correlations: products, matrices, convolutions, comparisons, truncations, selections, look-ups,
/// divisions and orders.
async fn everything<S: Family>(s: &S, ctx: &Ctx) -> Result<Results> {
    let (ring, len) = (Ring::of(32), 20);
    let (x, y) = (noise(1, len), noise(2, len));
    let [x, y] = [x, y].map(|values| values.iter().map(|v| v >> 44).collect::<Vec<_>>());
    let (a, b) = (share(s, ctx, ring, &x).await?, share(s, ctx, ring, &y).await?);
    let narrow = share(s, ctx, ring, &x.iter().map(|v| v % 300).collect::<Vec<_>>()).await?;
    let conv = Conv { filters: 2, ..Conv::plain([4, 5], [2, 5]) };
    let known = Known::of(Range { lo: 0, hi: (1 << 20) - 1 }, Range { lo: 1, hi: 300 });
    let less = s.lt(ctx, &a, &b, Width::Full).await?;
    let entries = Arc::new(Entries::new(Vector::from_u64s(Ring::of(20), &noise(3, 300))));
    let table = Lookup { entries, first: 0, operand: Operand::Within };
    let bits = share_bits(s, ctx, 2, len, &x.iter().chain(&y).map(|v| v & 1 == 1).collect::<Vec<_>>()).await?;
    let numbers = [
        s.mul(ctx, &a, &b).await?,
        s.bilinear(ctx, Form::MatMul { m: 4, k: 5, n: 4 }, &a, &b).await?,
        s.bilinear(ctx, Form::Dot { outer: 2, axis: 5, inner: 2 }, &a, &b).await?,
        s.bilinear(ctx, Form::Conv(conv), &a, &b).await?,
        s.trunc_exact(ctx, &a, 5).await?,
        s.trunc_bounded(ctx, &a, 5).await?,
        s.mux(ctx, &less, &a, &b).await?,
        s.bit_to_ring(ctx, &less, ring).await?,
        s.lookup(ctx, &narrow, &table).await?,
        s.convert(ctx, &a, Ring::of(70), Sign::Signed).await?,
        s.int_quotient(ctx, &b, &s.add_public(&narrow, &Vector::constant(ring, 1, len)), known).await?,
        s.order(ctx, &a, Keys { low: 0, bits: 20, descending: false }, &[&a]).await?.remove(0),
        s.sigmoid(ctx, &narrow, 8).await?,
    ];
    let mut opened = Vec::new();
    for number in &numbers {
        opened.push(shown(s, ctx, number).await?.to_u64s());
    }
    let found = [
        less,
        s.eqz(ctx, &s.sub(&a, &b)).await?,
        s.bit_decompose(ctx, &a).await?,
        s.lookup_bit(ctx, &narrow, &table).await?,
        s.and(ctx, &bits, &bits).await?,
    ];
    let mut all = masks(s, ctx).await?;
    for bits in &found {
        all.push(shown_bits(s, ctx, bits).await?.to_bools());
    }
    Ok((opened, all))
}

/// Draws random masks, and returns whether their parts go together.
async fn masks<S: Family>(s: &S, ctx: &Ctx) -> Result<Vec<Vec<bool>>> {
    let (ring, len, cut) = (Ring::of(32), 70, 9);
    let EdaBits { value, shifted, bits } = s.edabits(ctx, ring, Some(cut), len).await?;
    let [value, shifted] = [value, shifted.expect("it was asked for")];
    let bits = shown_bits(s, ctx, &bits).await?.to_vector(ring).to_u64s();
    let (value, shifted) = (open(s, ctx, &value).await?, open(s, ctx, &shifted).await?);
    let wide = s.wide_edabits(ctx, ring, Ring::of(60), len).await?;
    let wide_bits = shown_bits(s, ctx, &wide.bits).await?.to_vector(ring).to_u64s();
    let wide = open(s, ctx, &wide.value).await?;
    let masks = s.trunc_masks(ctx, ring, cut, len).await?;
    let [r, low, top] = [&masks.value, &masks.shifted, &masks.top];
    let (r, low, top) = (open(s, ctx, r).await?, open(s, ctx, low).await?, open(s, ctx, top).await?);
    let alike = |x: &[u64], y: &[u64]| x.iter().zip(y).map(|(x, y)| x == y).collect::<Vec<_>>();
    let of = |x: &[u64], change: fn(u64) -> u64| x.iter().map(|&x| change(x)).collect::<Vec<_>>();
    assert!(value.iter().any(|v| *v != value[0]) && r.iter().any(|v| *v != r[0]));
    Ok(vec![
        alike(&value, &bits),
        alike(&shifted, &of(&value, |v| v >> 9)),
        alike(&wide, &wide_bits),
        alike(&low, &of(&r, |r| (r & 0x7fff_ffff) >> 9)),
        alike(&top, &of(&r, |r| r >> 31)),
    ])
}

/// Tests that correlations of another session, which were bytes in between, give the results of own ones. Of the kinds
/// that are drawn, these must be among them.
pub fn another_session_gives_the_same_results<S: Family>(n: usize, kinds: &[&str]) {
    let expected = super::agreed::<S, _>(n, everything);
    assert!(expected.1[..5].iter().all(|parts| parts.iter().all(|go_together| *go_together)));
    let (results, drawn) = run_from_pool::<S, _>(n, false, everything);
    for result in results {
        assert_eq!(result, expected);
    }
    let missing: Vec<_> = kinds.iter().filter(|kind| !drawn.contains(**kind)).collect();
    assert!(missing.is_empty(), "{missing:?} are not among {drawn:?}");
}

/// Tests that keys of another session give wrong results where they are evaluated as own ones.
pub fn keys_need_the_hash_of_their_session<S: Family>(n: usize) {
    let work = async |s: &S, ctx: &Ctx| {
        let x = share(s, ctx, Ring::of(32), &noise(1, 64).iter().map(|v| v % 300).collect::<Vec<_>>()).await?;
        let entries = Arc::new(Entries::new(Vector::from_u64s(Ring::of(20), &noise(3, 300))));
        let table = Lookup { entries, first: 0, operand: Operand::Within };
        Ok(shown(s, ctx, &s.lookup(ctx, &x, &table).await?).await?.to_u64s())
    };
    let expected = super::agreed::<S, _>(n, work);
    for (as_own, right) in [(false, true), (true, false)] {
        let (results, drawn) = run_from_pool::<S, _>(n, as_own, work);
        assert!(drawn.contains("Lookup"), "{drawn:?}");
        assert!(results.iter().all(|result| (*result == expected) == right), "as own: {as_own}");
    }
}
