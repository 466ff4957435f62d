//! Convolutions: products of matrices of patches, which are positions of an image. They are right on correlations that
//! parties make, at the stated cost: both factors of each product are opened.

use quorate_authenticated::Kind;
use quorate_engine::testing::parties;
use quorate_engine::{Costs, Ctx, Demand, Form, Phase, Result, Sharing, Stocks, dry};
use quorate_gadgets::MakesAhead;
use quorate_ring::{Conv, Ring, Vector};
use quorate_spdz2k::{Params, Spdz2k};

/// Channels, rows and columns of an image.
const IMAGE: [usize; 3] = [2, 4, 5];
/// Filters, and their rows and columns.
const FILTERS: [usize; 3] = [3, 3, 2];
const STRIDE: [usize; 2] = [2, 1];
/// Zeros around the image.
const PADDING: usize = 1;

/// Rows and columns of the result.
const OUT: [usize; 2] =
    [(IMAGE[1] + 2 * PADDING - FILTERS[1]) / STRIDE[0] + 1, (IMAGE[2] + 2 * PADDING - FILTERS[2]) / STRIDE[1] + 1];
/// Elements of a patch.
const PATCH: usize = IMAGE[0] * FILTERS[1] * FILTERS[2];
const PRODUCTS: usize = FILTERS[0] * PATCH * OUT[0] * OUT[1];

/// For each element of a patch, and each place of the result, its position in the image; `None` in the zeros around it.
fn places() -> Vec<Option<usize>> {
    let [channels, rows, columns] = IMAGE;
    let mut places = Vec::new();
    for (channel, i, j) in
        (0..channels).flat_map(|c| (0..FILTERS[1]).flat_map(move |i| (0..FILTERS[2]).map(move |j| (c, i, j))))
    {
        for (y, x) in (0..OUT[0]).flat_map(|y| (0..OUT[1]).map(move |x| (y, x))) {
            let row = (y * STRIDE[0] + i).checked_sub(PADDING).filter(|&row| row < rows);
            let column = (x * STRIDE[1] + j).checked_sub(PADDING).filter(|&column| column < columns);
            places.push(row.zip(column).map(|(row, column)| (channel * rows + row) * columns + column));
        }
    }
    places
}

/// Multiplies filters with patches.
async fn convolve(
    s: &Spdz2k,
    ctx: &Ctx,
    image: &<Spdz2k as Sharing>::A,
    filters: &<Spdz2k as Sharing>::A,
) -> Result<<Spdz2k as Sharing>::A> {
    let conv = Conv {
        channels: IMAGE[0],
        filters: FILTERS[0],
        stride: STRIDE,
        before: [PADDING; 2],
        after: [PADDING; 2],
        ..Conv::plain([IMAGE[1], IMAGE[2]], [FILTERS[1], FILTERS[2]])
    };
    s.bilinear(ctx, Form::Conv(conv), image, filters).await
}

fn values(seed: i64, len: usize) -> Vec<i64> {
    (0..len as i64).map(|i| (i * i * 7 + seed * i + 3) % 201 - 100).collect()
}

fn wanted() -> Vec<i64> {
    let (image, filters) = (values(1, IMAGE.iter().product()), values(2, FILTERS[0] * PATCH));
    let (places, size) = (places(), OUT[0] * OUT[1]);
    let element = |filter: usize, at: usize| -> i64 {
        (0..PATCH).map(|i| filters[filter * PATCH + i] * places[i * size + at].map_or(0, |place| image[place])).sum()
    };
    (0..FILTERS[0]).flat_map(|filter| (0..size).map(move |at| (filter, at))).map(|(f, at)| element(f, at)).collect()
}

/// The owners of the factors.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Whose {
    /// The first party owns the image, the last one the filters.
    TwoParties,
    /// Both are shared by all.
    Shared,
}

async fn program(s: &Spdz2k, ctx: &Ctx, ring: Ring, whose: Whose) -> Result<Vec<i64>> {
    let last = ctx.parties() - 1;
    let of =
        |owner: usize, seed: i64, len: usize| (ctx.me() == owner).then(|| Vector::from_i64s(ring, &values(seed, len)));
    let (image, filters) = (IMAGE.iter().product(), FILTERS[0] * PATCH);
    let mut x = s.input(ctx, 0, (ring, image), of(0, 1, image).as_ref()).await?;
    let mut w = s.input(ctx, last, (ring, filters), of(last, 2, filters).as_ref()).await?;
    if whose == Whose::Shared {
        // Sums with zeros of another owner.
        let zeros = |owner: usize, len: usize| (ctx.me() == owner).then(|| Vector::zeros(ring, len));
        x = s.add(&x, &s.input(ctx, last, (ring, image), zeros(last, image).as_ref()).await?);
        w = s.add(&w, &s.input(ctx, 0, (ring, filters), zeros(0, filters).as_ref()).await?);
    }
    let made = convolve(s, ctx, &x, &w).await?;
    let checked = s.check(ctx).await?;
    let shown = s.reveal(ctx, &checked, &made, None).await?;
    let checked = s.check(ctx).await?;
    shown.map_or(Ok(vec![]), |shown| Ok(shown.believe(&checked)?.into_inner().to_i64s()))
}

/// Returns the correlations that a program draws.
fn demand(n: usize, me: usize, params: Params, (ring, whose): (Ring, Whose)) -> Result<Demand<Kind>> {
    let s = Spdz2k::new_dry(n, me, params)?;
    s.record_demand();
    dry::run(me, n, Phase::Online, async |ctx| program(&s, ctx, ring, whose).await)?;
    Ok(s.take_demand())
}

#[test]
fn convolutions_are_right_and_take_what_a_dry_run_says() {
    for (n, key_bits, k) in [(2, 48, 32), (2, 64, 64), (3, 48, 32), (3, 64, 64)] {
        let (params, ring) = (Params::new(key_bits, false).unwrap(), Ring::of(k));
        for whose in [Whose::TwoParties, Whose::Shared] {
            let predict =
                async |ctx: &Ctx| program(&Spdz2k::insecure_dry(n, ctx.me(), params)?, ctx, ring, whose).await;
            let predicted = dry::together(&vec![0; n], Phase::Online, predict).unwrap();
            let ends = parties(n, |mut party| {
                let me = party.me();
                let mut run = party.begin_alone().unwrap();
                let s = run.phase(Phase::Offline, async |ctx| {
                    let s = Spdz2k::set_up(ctx, params, None).await?;
                    s.make_all(ctx, demand(n, me, params, (ring, whose))?).await?;
                    Ok(s)
                });
                let done = s.and_then(|s| run.phase(Phase::Online, async |ctx| program(&s, ctx, ring, whose).await));
                (done, run.finish())
            });
            for (me, (done, costs)) in ends.into_iter().enumerate() {
                assert_eq!(done.unwrap(), wanted(), "{whose:?}, k {k}, n {n}");
                assert_eq!(costs.online, predicted[me].1.online, "{whose:?}, k {k}, party {me} of {n}");
            }
        }
    }
}

/// Returns what a convolution alone draws and takes online, by party.
fn alone(n: usize, params: Params, (ring, whose): (Ring, Whose)) -> (Vec<(Kind, usize)>, Vec<Costs>) {
    let step = async |ctx: &Ctx| -> Result<Demand<Kind>> {
        let s = Spdz2k::new_dry(n, ctx.me(), params)?;
        s.record_demand();
        let value = |owner: usize, len: usize| {
            let mut value = s.public(&Vector::shape(ring, len));
            s.say_who_knows(&mut value, (whose == Whose::TwoParties).then_some(owner));
            value
        };
        convolve(&s, ctx, &value(0, IMAGE.iter().product()), &value(n - 1, FILTERS[0] * PATCH)).await?;
        Ok(s.take_demand())
    };
    let ends = dry::together(&vec![0; n], Phase::Online, step).unwrap();
    let kinds = ends[0].0.totals().clone().into_iter().collect();
    (kinds, ends.into_iter().map(|(_, costs)| costs).collect())
}

/// docs/protocols/spdz2k.md: both factors of each product are opened, by all parties, or each by the party that knows
/// it; one round.
#[test]
fn convolutions_open_two_factors_for_each_product() {
    for (n, key_bits, k) in [(2, 48, 32), (2, 64, 64), (3, 48, 32), (3, 64, 64)] {
        let (params, ring) = (Params::new(key_bits, false).unwrap(), Ring::of(k));
        let element = u64::from(k / 8);
        let (kinds, costs) = alone(n, params, (ring, Whose::Shared));
        assert_eq!(kinds, [(Kind::Triple { bits: k }, PRODUCTS)]);
        for (me, costs) in costs.iter().enumerate() {
            assert_eq!(costs.online.rounds, 1);
            let wanted = |peer: usize| if peer == me { 0 } else { 2 * PRODUCTS as u64 * element };
            assert_eq!(costs.online.sent, (0..n).map(wanted).collect::<Vec<_>>(), "k {k}, n {n}");
        }
        let (kinds, costs) = alone(n, params, (ring, Whose::TwoParties));
        assert_eq!(kinds, [(Kind::OneSided { left: 0, right: n - 1, bits: k }, PRODUCTS)]);
        for (me, costs) in costs.iter().enumerate() {
            let tells = me == 0 || me == n - 1;
            let wanted = |peer: usize| if peer == me || !tells { 0 } else { PRODUCTS as u64 * element };
            assert_eq!(costs.online.sent, (0..n).map(wanted).collect::<Vec<_>>(), "k {k}, n {n}");
        }
    }
}
