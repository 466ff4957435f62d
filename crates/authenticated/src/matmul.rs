//! Products of matrices of which parties know one or both, by matrix triples: each matrix is opened once, less the
//! matrix of the triple. The kind of triples depends on which party knows which matrix, as for elements (`mul`).
//! Whether there are any is for the source to say (`Source::bytes_of_matrices`).
//!
//! Large matrices are cut, so that triples are made in bounded memory: parts of both are multiplied, and products of
//! parts are added up. Each part is opened once for each part of the other matrix. One round.

use std::borrow::Cow;
use std::ops::Range;

use quorate_engine::{Ctx, Error, Form, Linear, Positions, Result, Stocks};
use quorate_ring::{Ring, Vector};

use crate::kind::Kind;
use crate::party::Authenticated;
use crate::source::Dims;
use crate::tagged::Tagged;

/// The largest dimension that is summed in one part.
const INNER: usize = 2048;
/// The largest numbers of vectors of one part: of the matrix with more vectors, and of the other one, whose bits are
/// chosen.
const MORE: usize = 64;
const FEWER: usize = 8;

/// A part of both matrices.
struct Part {
    rows: Range<usize>,
    inner: Range<usize>,
    columns: Range<usize>,
}

impl Part {
    fn dims(&self) -> Dims {
        (self.rows.len(), self.inner.len(), self.columns.len())
    }
}

/// Cuts `len` into as few ranges of at most `most` as possible, of nearly equal lengths.
fn cut(len: usize, most: usize) -> Vec<Range<usize>> {
    let count = len.div_ceil(most);
    (0..count).map(|i| len * i / count..len * (i + 1) / count).collect()
}

/// Returns the parts of a product, with those of one sum one after the other.
fn parts((m, k, n): Dims) -> Vec<Part> {
    let [rows, columns] = if m < n { [FEWER, MORE] } else { [MORE, FEWER] };
    let mut parts = Vec::new();
    for rows in cut(m, rows) {
        for columns in cut(n, columns) {
            let part = |inner| Part { rows: rows.clone(), inner, columns: columns.clone() };
            parts.extend(cut(k, INNER).into_iter().map(part));
        }
    }
    parts
}

/// Returns some rows and columns of a matrix with `width` columns.
fn taken(x: &Tagged, width: usize, [rows, columns]: [&Range<usize>; 2]) -> Tagged {
    let len = rows.len() * columns.len();
    let at = |i: usize| ((rows.start + i / columns.len()) * width + columns.start + i % columns.len()) as u32;
    let positions = || Cow::Owned((0..len).map(at).collect());
    x.linear(&Linear::Gather(Positions::later(len, &positions)))
}

impl Authenticated {
    /// Multiplies matrices by matrix triples if parties know matrices and these triples take less; else returns `None`.
    pub(crate) async fn multiply_matrices(
        &self,
        ctx: &Ctx,
        form: Form,
        [x, y]: [&Tagged; 2],
    ) -> Result<Option<Tagged>> {
        let dims @ (m, k, n) = match form {
            Form::MatMul { m, k, n } => (m, k, n),
            Form::Dot { outer: 1, axis, inner: 1 } => (1, axis, 1),
            _ => return Ok(None),
        };
        let (known, ring) = ([x.known, y.known], x.ring);
        let parts = parts(dims);
        let none_for_matrices = ring.bits() == 1 || m * k * n == 0 || known == [None; 2];
        if none_for_matrices || !self.matrices_take_less(known, ring, &parts) {
            return Ok(None);
        }
        let mut triples = Vec::new();
        for part in &parts {
            triples.push(self.draw_matrices(ctx, known, (ring, part.dims())).await?);
        }
        let product = async |ctx: Ctx, i: usize| {
            let Part { rows, inner, columns } = &parts[i];
            let (m, k, n) = parts[i].dims();
            let (form, x, y) =
                (Form::MatMul { m, k, n }, taken(x, dims.1, [rows, inner]), taken(y, dims.2, [inner, columns]));
            match (known, &triples[i][..]) {
                ([Some(_), Some(_)], [triple]) => self.multiply_with(&ctx, form, [&x, &y], triple.clone()).await,
                ([Some(owner), None] | [None, Some(owner)], triples) => {
                    self.multiply_known_with(&ctx, form, owner, [&x, &y], triples).await
                }
                _ => Err(Error::Bug { what: "a product of matrices without its triples" }),
            }
        };
        let products = ctx.join_all(parts.len(), product).await?;
        Ok(Some(put_together(&products, &parts, (m, n))))
    }

    /// Returns whether there are matrix triples, and all parts take less with them than products one by one. Products
    /// of two matrices of one party always do.
    fn matrices_take_less(&self, known: [Option<usize>; 2], ring: Ring, parts: &[Part]) -> bool {
        let each = parts.iter().map(|part| self.source.bytes_of_matrices(ring, part.dims()));
        let Some(each) = each.collect::<Option<Vec<[usize; 2]>>>() else { return false };
        let total = |of: usize| each.iter().map(|bytes| bytes[of]).sum::<usize>();
        known[0] == known[1] || total(0) < total(1)
    }

    /// Draws triples for a product of matrices of which these parties know one each, or one party knows one, as `mul`
    /// does for elements.
    async fn draw_matrices(
        &self,
        ctx: &Ctx,
        known: [Option<usize>; 2],
        (ring, (m, k, n)): (Ring, Dims),
    ) -> Result<Vec<[Tagged; 3]>> {
        let bits = ring.bits();
        let draw = async |[left, right]: [usize; 2]| {
            let kind = match left == right {
                true => Kind::OwnedMatrices { owner: left, bits, m, k, n },
                false => Kind::KnownMatrices { left, right, bits, m, k, n },
            };
            let [a, b, c] = self.draw(ctx, kind, 1).await?.into_vectors()?;
            let both = if left == right { Some(left) } else { None };
            Ok::<_, Error>([a.known_to(Some(left)), b.known_to(Some(right)), c.known_to(both)])
        };
        let others = |owner: usize| (0..self.keys.parties).filter(move |&other| other != owner);
        let owners: Vec<[usize; 2]> = match known {
            [Some(left), Some(right)] => vec![[left, right]],
            [Some(left), None] => [left].into_iter().chain(others(left)).map(|right| [left, right]).collect(),
            [None, Some(right)] => [right].into_iter().chain(others(right)).map(|left| [left, right]).collect(),
            [None, None] => vec![],
        };
        let mut triples = Vec::new();
        for owners in owners {
            triples.push(draw(owners).await?);
        }
        Ok(triples)
    }
}

/// Returns the whole product from the products of its parts.
fn put_together(products: &[Tagged], parts: &[Part], (m, n): (usize, usize)) -> Tagged {
    let mut places = vec![0; m * n];
    let mut sums: Vec<Tagged> = Vec::new();
    let mut start = 0;
    for (product, Part { rows, inner, columns }) in products.iter().zip(parts) {
        if inner.start > 0 {
            if let Some(sum) = sums.last_mut() {
                sum.change(product, Vector::add_assign);
            }
            continue;
        }
        for (i, row) in rows.clone().enumerate() {
            for (j, column) in columns.clone().enumerate() {
                places[row * n + column] = (start + i * columns.len() + j) as u32;
            }
        }
        start += rows.len() * columns.len();
        sums.push(product.clone());
    }
    match &sums[..] {
        [sum] => sum.clone(),
        _ => {
            let all = Tagged::concat(&sums.iter().collect::<Vec<_>>());
            all.linear(&Linear::Gather(Positions::Given(&places)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_a_product_once() {
        for dims @ (m, k, n) in [(10, 2048, 1), (1, 5000, 1), (67, 2049, 20), (3, 4, 130), (1, 1, 1)] {
            let mut seen = vec![0; m * k * n];
            for part in parts(dims) {
                let (rows, inner, columns) = part.dims();
                assert!(inner <= INNER && rows.max(columns) <= MORE && rows.min(columns) <= FEWER);
                for (i, l, j) in part
                    .rows
                    .clone()
                    .flat_map(|i| part.inner.clone().map(move |l| (i, l)))
                    .flat_map(|(i, l)| part.columns.clone().map(move |j| (i, l, j)))
                {
                    seen[(i * k + l) * n + j] += 1;
                }
            }
            assert!(seen.iter().all(|&count| count == 1), "{dims:?}");
        }
    }
}
