//! Matrix triples: A that one party knows, X that another one knows, and shares of C = A X mod 2^k. Experimental.
//!
//! **Source**: ours (docs/security/spdz2k-matrix.md). **Model**: malicious, all but one; of more than two parties the
//! others take part in all that is authenticated, tossed, opened and checked. **Notation**: P_j knows A, m x d, and P_i
//! knows X, d x n; k, W, V, sg' as in [`params`](crate::params), but W = k + sg'; Q = 2 sg' + 16, D = d + Q.
//!
//! | step | rounds, n = 2 | what |
//! |---|---|---|
//! | 1 | 4 | P_j draws B, m x D, and a row B_0; P_i chooses bits of Z, D x n; shares of c = B Z, c_0 = B_0 Z mod 2^W |
//! | 2 | 4 | random bits above W bits of c_0; authenticate Z, B, B_0, shares of c and c_0 mod 2^V |
//! | 3 | 7 | toss t, m numbers of sg' + 1 bits; open sigma = t B - B_0 and check |
//! | 4 | 6 | open t c - c_0 - sigma Z and check: 0 mod 2^W |
//! | 5 | 2 | toss R, d x Q bits |
//! | 6 | 5 | A is the first d columns of B, U the others; open delta = U - A R and check |
//! | 7 | | x are the first d rows of Z, y the others: X = x + R y, C = c - delta y |
//!
//! Whether step 4 passes may show P_j any property of Z. R comes after that, and X is a hash of Z.
//!
//! Bytes for 10 x 2048 times 2048 x 1, k = s = 64: 23.8 MB by P_j, 1.2 MB by P_i.

use std::borrow::Cow;
use std::ops::Range;

use quorate_adversary::Twist;
use quorate_authenticated::Dims;
use quorate_authenticated::shared::{Shared, joined};
use quorate_engine::{Axis, Ctx, Error, Linear, Misuse, Positions, Result};
use quorate_ot::correlated::Row;
use quorate_ot::source::Choices;
use quorate_ot::vole::Digits;
use quorate_ring::{Bits, Ring, Vector, Wiped};

use crate::authenticate::Own;
use crate::coins::Coins;
use crate::draws::{lifted_if, own_if};
use crate::factors::Rows;
use crate::keys::Keys;
use crate::params::Params;
use crate::triple::Triples;
use crate::word_openings::zero_below;

const SACRIFICE: &str = "the sacrifice of matrix triples";
const HASH: &str = "the hashing of matrix triples";
const MISSING: Error = Error::Bug { what: "a matrix triple without a part of it" };

/// The largest number of bytes that a batch takes while it is made, unless a single triple takes more.
const BATCH_BYTES: usize = 1 << 26;
/// The bytes that each end of an OT takes.
const OT: usize = 16;
/// The bytes that a party takes for an authenticated element.
pub(crate) const AUTHENTICATED: usize = 704;
/// The bytes of an OT that are sent before its corrections.
const OT_SENT: usize = 4;

/// Triples that are made together, in the terms of the protocol: B has rows, and Z has columns.
#[derive(Clone, Copy)]
struct Batch {
    sends: usize,
    chooses: usize,
    ring: Ring,
    rows: usize,
    /// d.
    inner: usize,
    /// Q.
    given_up: usize,
    columns: usize,
    len: usize,
}

/// What a party has of a batch after step 1.
struct End {
    z: Option<Wiped<Vector>>,
    b: Option<Wiped<Vector>>,
    b_0: Option<Wiped<Vector>>,
    c: Option<Wiped<Vector>>,
    c_0: Option<Wiped<Vector>>,
}

/// A batch after step 2, as shares with tags: by triple, then by row, then by column.
struct SharedBatch {
    z: Shared,
    b: Shared,
    b_0: Shared,
    c: Shared,
    c_0: Shared,
}

impl Batch {
    fn new(params: Params, [left, right]: [usize; 2], ring: Ring, (m, d, n): Dims) -> Batch {
        // The matrix with fewer vectors is the one that is chosen by bits.
        let ([sends, chooses], [rows, columns]) = if m < n { ([right, left], [n, m]) } else { ([left, right], [m, n]) };
        Batch { sends, chooses, ring, rows, inner: d, given_up: params.noise_bits(), columns, len: 1 }
    }

    /// Returns D.
    fn depth(&self) -> usize {
        self.inner + self.given_up
    }

    /// Returns the number of elements of all Z.
    fn lanes(&self) -> usize {
        self.len * self.depth() * self.columns
    }

    /// Returns the number of elements of all B.
    fn entries(&self) -> usize {
        self.len * self.rows * self.depth()
    }

    /// Returns the number of bits that the corrections for each bit of an element of Z need.
    fn widths(&self, values: Ring) -> Vec<u32> {
        (0..self.ring.bits()).map(|weight| values.bits() - weight).collect()
    }

    /// Returns the bytes that a party takes while the batch is made.
    fn held(&self, params: Params) -> usize {
        let ots = self.lanes() * self.ring.bits() as usize * OT;
        let spread = (self.rows + 1) * self.lanes() * params.products(self.ring).carrier().bytes();
        ots + spread + (self.entries() + self.lanes()) * AUTHENTICATED
    }

    /// Returns the bytes that both parties send.
    fn sent(&self, params: Params, digits: Digits) -> usize {
        let bits = self.ring.bits() as usize;
        let corrections: u32 = self.widths(params.products(self.ring)).iter().sum();
        let transfers = self.lanes() * ((self.rows + 1) * corrections as usize / 8 + bits * OT_SENT);
        let authenticated = self.lanes() + (self.rows + 1) * (self.depth() + 2 * self.columns) * self.len;
        let opened = self.len * (self.depth() + 2 * self.columns + self.rows * self.given_up);
        let words = params.words(self.ring);
        transfers + digits.message_bytes((words, authenticated), false) + words.packed_bytes(opened)
    }

    /// Returns a row of every triple in one vector, with each entry once for each column of Z.
    fn spread(&self, b: &Vector, row: usize, rows: usize) -> Wiped<Vector> {
        let (depth, columns) = (self.depth(), self.columns);
        let at = |i: usize| {
            let (triple, entry) = (i / (depth * columns), i / columns % depth);
            ((triple * rows + row) * depth + entry) as u32
        };
        let positions = || Cow::Owned((0..self.lanes()).map(at).collect());
        Wiped(Linear::Gather(Positions::later(self.lanes(), &positions)).apply(b))
    }

    /// Returns the first columns of every row of B, or the others.
    fn columns_of(&self, b: &Shared, is_given_up: bool) -> Shared {
        let (depth, inner, count) = (self.depth(), self.inner, self.len * self.rows);
        let (first, width) = if is_given_up { (inner, self.given_up) } else { (0, inner) };
        let positions =
            || Cow::Owned((0..count * width).map(|i| (i / width * depth + first + i % width) as u32).collect());
        b.map(|b| Linear::Gather(Positions::later(count * width, &positions)).apply(b))
    }

    /// Applies `work` to every triple's part of a vector.
    fn each(&self, x: &Shared, work: impl Fn(usize, &Shared) -> Shared) -> Shared {
        let each = x.share.len() / self.len;
        let part = |i: usize| work(i, &x.map(|x| x.slice(i * each..(i + 1) * each)));
        let parts: Vec<Shared> = (0..self.len).map(part).collect();
        joined(&parts.iter().collect::<Vec<_>>())
    }

    /// Transposes every triple's matrix of this shape.
    fn turned(&self, x: &Shared, (rows, columns): (usize, usize)) -> Shared {
        let size = rows * columns;
        let at = |i: usize| (i / size * size + i % size % rows * columns + i % size / rows) as u32;
        let positions = || Cow::Owned((0..self.len * size).map(at).collect());
        x.map(|x| Linear::Gather(Positions::later(self.len * size, &positions)).apply(x))
    }
}

/// Shares of the rows of B times Z, with the throwaway row first.
struct Products {
    batch: Batch,
    rows: Vec<Wiped<Vector>>,
}

impl Products {
    fn none(batch: Batch, values: Ring, is_dry: bool) -> Products {
        let len = batch.len * batch.columns;
        let zeros = || Wiped(if is_dry { Vector::shape(values, len) } else { Vector::zeros(values, len) });
        Products { batch, rows: (0..=batch.rows).map(|_| zeros()).collect() }
    }

    /// Adds shares from an OT for every element of Z, summed over its rows.
    fn add(&mut self, [row, weight]: [usize; 2], share: &Vector) {
        let Batch { len, columns, .. } = self.batch;
        let sums = Wiped(share.sum_axis(len, self.batch.depth(), columns));
        self.rows[row].add_raised(&sums, weight as u32);
    }

    /// Returns c_0 and c.
    fn all(self) -> [Wiped<Vector>; 2] {
        let Batch { len, columns, .. } = self.batch;
        let mut rows = self.rows.into_iter();
        let first = rows.next().unwrap_or_else(|| Wiped(Vector::zeros(Ring::of(1), 0)));
        let rows: Vec<Wiped<Vector>> = rows.collect();
        let part =
            |triple: usize| rows.iter().map(move |row| Wiped(row.slice(triple * columns..(triple + 1) * columns)));
        let parts: Vec<Wiped<Vector>> = (0..len).flat_map(part).collect();
        [first, Wiped(Vector::concat(&parts.iter().map(|part| &**part).collect::<Vec<_>>()))]
    }
}

impl Params {
    /// Returns Z_2^(k+sg'), the ring that products of matrix triples need.
    fn products(self, ring: Ring) -> Ring {
        Ring::of(ring.bits() + self.inner_bits())
    }

    /// Returns the bytes that both parties send for a matrix triple, and for the same products with triples of
    /// elements.
    pub(crate) fn bytes_of_matrices(self, digits: Digits, ring: Ring, dims: Dims) -> [usize; 2] {
        let (m, d, n) = dims;
        let (rows, values, words) = (Rows::new(self, ring), self.values(ring), self.words(ring));
        let transfers = rows.bits(values).iter().sum::<u32>() as usize / 8 + rows.count() * OT_SENT;
        let one_sided = transfers + digits.message_bytes((words, ONE_SIDED_VALUES), false);
        [Batch::new(self, [0, 1], ring, dims).sent(self, digits), m * d * n * one_sided]
    }
}

/// Makes matrix triples over Z_2^k, one after the other: m x k matrices that the first of two parties knows, k x n
/// matrices that the second one knows, and their products.
///
/// # Errors
/// [`Misuse`] unless these are two parties, and matrices have elements; [`Error::Cheating`] where a peer does not
/// follow the protocol; any error that ends a run.
pub(crate) async fn make(
    keys: Keys<'_>,
    ctx: &Ctx,
    [left, right]: [usize; 2],
    ring: Ring,
    (dims, len): (Dims, usize),
) -> Result<Triples> {
    keys.params.check_values(ring)?;
    for party in [left, right] {
        if party >= keys.parties {
            return Err(Misuse::NoSuchParty { party, parties: keys.parties }.into());
        }
    }
    if left == right || dims.0 == 0 || dims.1 == 0 || dims.2 == 0 {
        return Err(Misuse::Other { what: "a matrix triple of one party, or of nothing" }.into());
    }
    if len == 0 {
        return Ok(Triples::none(keys.params.shares(ring)));
    }
    let one = Batch::new(keys.params, [left, right], ring, dims);
    let at_once = batch_len(keys.params, &one, len);
    let made = async |range: Range<usize>| {
        let batch = Batch { len: range.len(), ..one };
        let made = batch_of_matrices(keys, ctx, batch).await?;
        Ok(match batch.sends == left {
            true => made,
            // C is the transpose of the product of the transposes.
            false => Triples {
                a: batch.turned(&made.b, (dims.1, dims.0)),
                b: batch.turned(&made.a, (dims.2, dims.1)),
                c: batch.turned(&made.c, (dims.2, dims.0)),
            },
        })
    };
    Ok(Triples::joined(&ctx.in_turn(len, at_once, made).await?.all()))
}

async fn batch_of_matrices(keys: Keys<'_>, ctx: &Ctx, batch: Batch) -> Result<Triples> {
    let end = matrix_products(keys, ctx, batch).await?;
    let made = authenticate_matrices(keys, ctx, batch, end).await?;
    sacrifice_rows(keys, ctx, batch, &made).await?;

    // No party opens its coins before its own step 4 has passed, so R comes after everything that this step shows
    // of Z.
    let Batch { ring, inner, given_up, rows, columns, .. } = batch;
    let (words, shares) = (keys.params.words(ring), keys.params.shares(ring));
    let hash = Coins::toss(ctx, &keys.session).await?.draw(1, (words, inner * given_up));
    let a = batch.columns_of(&made.b, false);
    let hashed = a.map(|a| Linear::MatrixRight(&hash, (batch.len * rows, inner, given_up)).apply(a));
    let delta = keys.twisted_share(Twist::Difference, batch.columns_of(&made.b, true).minus(&hashed));
    let delta = keys.words().open(ctx, &delta).await?;
    keys.words().check(ctx, &[&delta], HASH).await?;

    let (hash, delta) = (hash.convert(shares), delta.value.convert(shares));
    let (z, c) = (made.z.reduced(shares), made.c.reduced(shares));
    let given = |z: &Shared| z.map(|z| z.slice(inner * columns..z.len()));
    let x = batch.each(&z, |_, z| {
        let hashed = given(z).map(|y| Linear::MatrixLeft(&hash, (inner, given_up, columns)).apply(y));
        z.map(|z| z.slice(0..inner * columns)).plus(&hashed)
    });
    let rest = batch.each(&z, |i, z| {
        let delta = delta.slice(i * rows * given_up..(i + 1) * rows * given_up);
        given(z).map(|y| Linear::MatrixLeft(&delta, (rows, given_up, columns)).apply(y))
    });
    Ok(Triples { a: a.reduced(shares), b: x, c: c.minus(&rest) })
}

/// Runs step 1.
async fn matrix_products(keys: Keys<'_>, ctx: &Ctx, batch: Batch) -> Result<End> {
    let Batch { sends, chooses, ring, len, .. } = batch;
    let (values, words) = (keys.params.products(ring), keys.params.words(ring));
    let b = own_if(ctx, &keys, sends == keys.me, (words, batch.entries()));
    let b_0 = own_if(ctx, &keys, sends == keys.me, (words, len * batch.depth()));
    let own = b.as_ref().zip(b_0.as_ref());
    let between = async |ctx: Ctx| {
        let mut products = Products::none(batch, values, ctx.is_dry());
        let mut z = None;
        match own {
            Some((b, b_0)) => {
                let [b, b_0] = [b, b_0].map(|b| Wiped(b.convert(values)));
                let of_b = (0..batch.rows).map(|row| batch.spread(&b, row, batch.rows));
                let rows: Vec<Wiped<Vector>> = [batch.spread(&b_0, 0, 1)].into_iter().chain(of_b).collect();
                send_rows(keys, &ctx, chooses, (&rows, &batch.widths(values)), &mut products).await?;
            }
            None => z = Some(receive_rows(keys, &ctx, batch, &batch.widths(values), &mut products).await?),
        }
        Ok((z, products))
    };
    let (mut z, mut both) = (None, None);
    if let Some((numbers, products)) = ctx.among(&[sends.min(chooses), sends.max(chooses)], between).await? {
        (z, both) = (numbers, Some(products.all()));
    }
    let (c_0, c) = both.map(|[c_0, c]| (c_0, Wiped(c.convert(words)))).unzip();
    let c_0 = lifted_if(ctx, &keys, c_0.as_deref(), words);
    Ok(End { z, b, b_0, c, c_0 })
}

/// Runs the end of P_j.
async fn send_rows(
    keys: Keys<'_>,
    ctx: &Ctx,
    peer: usize,
    (rows, widths): (&[Wiped<Vector>], &[u32]),
    products: &mut Products,
) -> Result<()> {
    let sent = |factor: usize, row: usize| {
        keys.twisted(Twist::Transfer { peer, factor, row }, Cow::<Vector>::Borrowed(&rows[factor]))
    };
    let elements: Vec<Vec<Cow<'_, Vector>>> =
        (0..rows.len()).map(|factor| (0..widths.len()).map(|row| sent(factor, row)).collect()).collect();
    let with_bits = elements
        .iter()
        .map(|elements| elements.iter().zip(widths).map(|(element, &bits)| Row { element, bits }).collect());
    let factors: Vec<Vec<Row<'_>>> = with_bits.collect();
    let factors: Vec<&[Row<'_>]> = factors.iter().map(|rows| &rows[..]).collect();
    let sink = |place, share: Wiped<Vector>| products.add(place, &share);
    keys.ots().with(peer)?.send_products_of_bits(ctx, (widths.len(), rows[0].len()), &factors, false, sink).await
}

/// Runs the end of P_i, with Z.
async fn receive_rows(
    keys: Keys<'_>,
    ctx: &Ctx,
    batch: Batch,
    widths: &[u32],
    products: &mut Products,
) -> Result<Wiped<Vector>> {
    let (lanes, words) = (batch.lanes(), keys.params.words(batch.ring));
    let (choices, factors) = (Choices::Random(widths.len() * lanes), vec![widths; batch.rows + 1]);
    let sink = |place, share: Wiped<Vector>| products.add(place, &share);
    let ot = keys.ots().with(batch.sends)?;
    let choices = Wiped(ot.receive_products_of_bits(ctx, choices, widths.len(), &factors, sink).await?);
    let rows: Vec<Wiped<Bits>> =
        (0..widths.len()).map(|row| Wiped(choices.slice_lanes(row * lanes..(row + 1) * lanes))).collect();
    let rows = Wiped(Bits::concat_rows(&rows.iter().map(|row| &**row).collect::<Vec<_>>()));
    Ok(Wiped(rows.to_vector(words)))
}

/// Runs step 2.
async fn authenticate_matrices(keys: Keys<'_>, ctx: &Ctx, batch: Batch, mut end: End) -> Result<SharedBatch> {
    let values = [&mut end.z, &mut end.b, &mut end.b_0, &mut end.c, &mut end.c_0];
    for (i, value) in values.into_iter().enumerate() {
        keys.twisted(Twist::Authenticated(i), value);
    }
    let Batch { sends, chooses, rows, columns, len, .. } = batch;
    let words = keys.params.words(batch.ring);
    let End { z, b, b_0, c, c_0 } = &end;
    let own = [
        (chooses, batch.lanes(), z),
        (sends, batch.entries(), b),
        (sends, len * batch.depth(), b_0),
        (chooses, len * rows * columns, c),
        (chooses, len * columns, c_0),
        (sends, len * rows * columns, c),
        (sends, len * columns, c_0),
    ];
    let own = own.map(|(owner, count, value)| Own::of(owner, (words, count), value.as_deref()));
    let each: Vec<Shared> = keys.voles().authenticate(ctx, &own).await?.into_iter().flatten().collect();
    let [z, b, b_0, c, c_0, other_c, other_c_0] = <[Shared; 7]>::try_from(each).map_err(|_| MISSING)?;
    Ok(SharedBatch { z, b, b_0, c: c.plus(&other_c), c_0: c_0.plus(&other_c_0) })
}

/// Runs steps 3 and 4.
async fn sacrifice_rows(keys: Keys<'_>, ctx: &Ctx, batch: Batch, made: &SharedBatch) -> Result<()> {
    let SharedBatch { z, b, b_0, c, c_0 } = made;
    let Batch { ring, rows, columns, len, .. } = batch;
    let (depth, words) = (batch.depth(), keys.params.words(ring));
    let t = Coins::toss(ctx, &keys.session).await?.draw(keys.params.inner_bits() + 1, (words, rows));
    let combined =
        |x: &Shared, width: usize| batch.each(x, |_, x| x.map(|x| Linear::MatrixLeft(&t, (1, rows, width)).apply(x)));
    let sigma = keys.twisted_share(Twist::Rho, combined(b, depth).minus(b_0));
    let sigma = keys.words().open(ctx, &sigma).await?;
    keys.words().check(ctx, &[&sigma], SACRIFICE).await?;

    let axis = Axis { outer: len, len: depth, inner: columns };
    let products = z.times(&batch.spread(&sigma.value, 0, 1)).map(|x| Linear::SumAxis(axis).apply(x));
    let rest = keys.twisted_share(Twist::Zero(0), combined(c, columns).minus(c_0).minus(&products));
    let rest = keys.words().commit_and_open(ctx, &rest).await?;
    keys.words().check(ctx, &[&rest], SACRIFICE).await?;
    zero_below(ctx, &rest, keys.params.products(ring), SACRIFICE)
}

/// The number of words that are authenticated for a one-sided triple, with shorter ones and openings counted in.
const ONE_SIDED_VALUES: usize = 10;

/// Returns the number of triples of a batch.
fn batch_len(params: Params, one: &Batch, len: usize) -> usize {
    (BATCH_BYTES / one.held(params)).clamp(1, len.max(1))
}

/// Returns the bytes that a party takes while `len` triples are made.
pub(crate) fn bytes_held(params: Params, ring: Ring, dims: Dims, len: usize) -> usize {
    let one = Batch::new(params, [0, 1], ring, dims);
    Batch { len: batch_len(params, &one, len), ..one }.held(params)
}

#[cfg(test)]
mod tests {
    use quorate_engine::testing::parties;
    use quorate_engine::{Phase, dry};

    use super::*;
    use crate::party::Spdz2k;

    /// What is opened of c_0 has random bits above the bits that count, at both parties; nothing else is opened there.
    #[test]
    fn random_bits_lie_above_the_throwaway_products() {
        let ends = parties(2, |mut party| {
            let mut run = party.begin_alone().unwrap();
            let done = run.phase(Phase::Offline, async |ctx| {
                let (params, ring) = (Params::new(32, true).unwrap(), Ring::of(4));
                let s = Spdz2k::set_up(ctx, params, None).await?;
                let keys = s.keys();
                let batch = Batch::new(params, [0, 1], ring, (2, 3, 1));
                let end = matrix_products(keys, ctx, batch).await?;
                let mut above = end.c_0.ok_or(MISSING)?;
                above.shr_logical(params.products(ring).bits());
                Ok::<_, Error>(above.to_u64s()[0])
            });
            run.finish();
            done
        });
        assert!(ends.into_iter().all(|above| above.unwrap() != 0));
    }

    /// The forms of products are chosen by the bytes that both parties send, which are estimated well.
    #[test]
    fn bytes_are_estimated_well() {
        let ring = Ring::of(64);
        for dims @ (m, d, n) in [(10, 2048, 1), (4, 50, 2), (1, 40, 1)] {
            let params = Params::default();
            let estimated = params.bytes_of_matrices(params.digits().unwrap(), ring, dims);
            for (at, estimated) in estimated.into_iter().enumerate() {
                let make = async |ctx: &Ctx| {
                    let s = Spdz2k::new_dry(2, ctx.me(), Params::default())?;
                    let keys = s.keys();
                    match at {
                        0 => keys.matrix_triples(ctx, [0, 1], ring, (dims, 1)).await.map(drop),
                        _ => keys.one_sided_triples(ctx, [0, 1], ring, m * d * n).await.map(drop),
                    }
                };
                let ends = dry::together(&[0; 2], Phase::Offline, make).unwrap();
                let sent: u64 = ends.iter().flat_map(|(_, costs)| &costs.offline.sent).sum();
                let ratio = estimated as f64 / sent as f64;
                assert!((0.93..1.07).contains(&ratio), "{dims:?}: {estimated} bytes of {sent}");
            }
        }
    }

    #[test]
    fn batches_hold_what_they_may() {
        let params = Params::default();
        for dims in [(1, 100, 1), (10, 2048, 1), (64, 2048, 8)] {
            let one = Batch::new(params, [0, 1], Ring::of(64), dims);
            let held = bytes_held(params, Ring::of(64), dims, 10_000);
            assert!(held <= BATCH_BYTES.max(one.held(params)), "{dims:?}: {held}");
        }
    }
}
