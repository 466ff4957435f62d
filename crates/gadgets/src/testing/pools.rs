//! Tests of correlations that were made in one session and are used in another one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::Arc;

use quorate_crypto::SessionId;
use quorate_engine::testing::parties;
use quorate_engine::{Axis, Ctx, Demand, EdaBits, Form, Linear, MaterialOf, Party, Phase, Result};
use quorate_ring::{Conv, Ring, Vector};
use zeroize::Zeroizing;

use super::{choices, noise, open, recorded, share, share_bits, shown, shown_bits};
use crate::floor_div::Range;
use crate::int_div::Known;
use crate::lookup::{Entries, Lookup, Operand};
use crate::order::Keys;
use crate::{Choices, Family, Sign, Width};

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

/// What a session leaves in a pool for one run.
pub struct Left<K> {
    demand: Demand<K>,
    bytes: Packed<K>,
    origin: SessionId,
    secrets: Zeroizing<Vec<u8>>,
}

/// Makes correlations in a session of the same parties, set up here, and packs them.
///
/// # Errors
/// Those of the making.
pub async fn made_in_another<S: Family>(
    ctx: &Ctx,
    choices: &Choices,
    demand: Demand<S::Kind>,
) -> Result<Left<S::Kind>> {
    let other = S::setup(ctx, None, choices).await?;
    let made = other.make_kinds(ctx, demand.totals()).await?;
    other.check_made(ctx)?;
    let bytes = packed(&other, &made, demand.totals())?;
    Ok(Left { demand, bytes, origin: other.origin(), secrets: other.secrets() })
}

impl<K: Ord + Clone + Display> Left<K> {
    /// Sets up the session that uses them.
    ///
    /// # Errors
    /// Those of the setup.
    pub async fn set_up<S: Family<Kind = K>>(&self, ctx: &Ctx, choices: &Choices) -> Result<S> {
        match S::HAS_SECRETS {
            true => S::set_up_from_pool(ctx, None, choices, &self.secrets).await,
            false => S::setup(ctx, None, choices).await,
        }
    }

    /// Serves the draws of `s` from them. With `as_own` they are used as those of the session of `s`, which is wrong
    /// for keys of functions.
    ///
    /// # Errors
    /// Those of reading their bytes.
    pub fn fill<S: Family<Kind = K>>(self, s: &S, as_own: bool) -> Result<()> {
        assert_ne!(self.origin, s.origin());
        let read = |(kind, bytes): (&S::Kind, &Vec<u8>)| {
            assert!(S::fits_pools(kind), "{kind}");
            let len = self.demand.totals()[kind];
            for wrong in [&bytes[..bytes.len().saturating_sub(1)], &[&bytes[..], &[0]].concat()] {
                assert!(s.unpack(kind, len, wrong).is_err() || wrong.len() == bytes.len(), "{kind}: another length");
            }
            Ok((kind.clone(), s.unpack(kind, len, bytes)?))
        };
        let made = self.bytes.iter().map(read).collect::<Result<_>>()?;
        match as_own {
            true => s.stock().fill(self.demand, made),
            false => s.fill_from_pool(self.origin, self.demand, made)?,
        }
        Ok(())
    }
}

/// Sets up a session at a party, and returns it with what another session has left for a run of `work` in it.
pub fn ready_with<S: Family>(party: &mut Party, work: impl AsyncFn(&S, &Ctx) -> Result<()>) -> (S, Left<S::Kind>) {
    let demand = recorded((party.parties(), party.me()), work).unwrap();
    let mut run = party.begin_alone().unwrap();
    let both = run.phase(Phase::Offline, async |ctx| {
        let left = made_in_another::<S>(ctx, &choices::<S>(), demand).await?;
        Ok((left.set_up(ctx, &choices::<S>()).await?, left))
    });
    run.finish();
    both.unwrap()
}

/// Runs `work`, and the check of what it opened, on correlations of another session, which were bytes in between.
/// Returns its results, and the names of the kinds that it drew, without their fields.
pub fn run_from_pool<S: Family, T: Send>(
    n: usize,
    as_own: bool,
    work: impl AsyncFn(&S, &Ctx) -> Result<T> + Sync,
) -> (Vec<Result<T>>, BTreeSet<String>) {
    let mut ran = parties(n, |mut party: Party| {
        let checked = async |s: &S, ctx: &Ctx| {
            let out = work(s, ctx).await?;
            s.check(ctx).await.map(|_| out)
        };
        let (s, left) = ready_with(&mut party, async |s: &S, ctx: &Ctx| checked(s, ctx).await.map(drop));
        let short = |name: String| name.split([' ', '{']).next().unwrap_or_default().to_owned();
        let kinds: BTreeSet<String> = left.demand.totals().keys().map(S::name_of).map(short).collect();
        left.fill(&s, as_own).unwrap();
        let mut run = party.begin_alone().unwrap();
        let out = run.phase(Phase::Online, async |ctx| checked(&s, ctx).await);
        assert_eq!(run.finish().offline.bytes(), 0, "nothing is made");
        party.leave(out.is_err());
        assert!(s.stock().origin().is_some() != as_own);
        s.forget();
        assert!(s.stock().origin().is_none() && s.stock().made().is_empty());
        (out, kinds)
    });
    let kinds = ran[0].1.clone();
    assert!(ran.iter().all(|(_, other)| *other == kinds));
    (ran.drain(..).map(|(out, _)| out).collect(), kinds)
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
    // Where parties may cheat, comparisons for an order are not opened; a shuffle keeps the sum.
    let ordered = match S::CHECKED {
        true => {
            let shuffled = s.shuffle(ctx, &[&a], len).await?.remove(0);
            s.linear(&shuffled, &Linear::SumAxis(Axis { outer: 1, len, inner: 1 }))
        }
        false => s.order(ctx, &a, Keys { low: 0, bits: 20, descending: false }, &[&a]).await?.remove(0),
    };
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
        ordered,
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
    let vary = |x: &[u64]| x.iter().any(|v| *v != x[0]);
    assert!(ctx.is_dry() || vary(&value) && vary(&r));
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
        assert_eq!(result.unwrap(), expected);
    }
    let missing: Vec<_> = kinds.iter().filter(|kind| !drawn.contains(**kind)).collect();
    assert!(missing.is_empty(), "{missing:?} are not among {drawn:?}");
}

/// Tests that keys of another session give no right results where they are evaluated as own ones.
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
        assert!(drawn.iter().any(|kind| ["Lookup", "Place"].contains(&&**kind)), "{drawn:?}");
        let is_right = |result: &Result<Vec<u64>>| result.as_ref().is_ok_and(|values| *values == expected);
        assert!(results.iter().all(|result| is_right(result) == right), "as own: {as_own}");
        // Where parties may cheat, wrong results are not believed.
        assert!(right || !S::CHECKED || results.iter().all(Result::is_err));
    }
}
