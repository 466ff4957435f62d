//! Products of matrices that two parties know, by matrix triples ([`crate::matrix`]): each opens its matrix once, less
//! the triple's.
//!
//! Large matrices are cut, so that triples are made in bounded memory: parts of both are multiplied, and products of
//! parts added up. What is opened is then opened once for each part of the other matrix. One round.

use std::borrow::Cow;
use std::ops::Range;

use quorate_engine::{Ctx, Form, Linear, Positions, Result, Stocks};
use quorate_ring::Vector;

use crate::matrix::Dims;
use crate::party::Spdz2k;
use crate::stock::Kind;
use crate::tagged::Tagged;

/// What is summed in one part, at most.
const INNER: usize = 2048;
/// Vectors of one part: of the party that has more of them, and of the other one, whose bits are chosen.
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

/// As few ranges as there can be of at most so many, nearly alike.
fn cut(len: usize, most: usize) -> Vec<Range<usize>> {
    let count = len.div_ceil(most);
    (0..count).map(|i| len * i / count..len * (i + 1) / count).collect()
}

/// The parts of a product, those of one sum one after the other.
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

/// Some rows and columns of a matrix of so many columns.
fn taken(x: &Tagged, width: usize, (rows, columns): (&Range<usize>, &Range<usize>)) -> Tagged {
    let len = rows.len() * columns.len();
    let at = |i: usize| ((rows.start + i / columns.len()) * width + columns.start + i % columns.len()) as u32;
    let positions = || Cow::Owned((0..len).map(at).collect());
    x.linear(&Linear::Gather(Positions::later(len, &positions)))
}

impl Spdz2k {
    /// The product, where both are matrices that a party knows each, and matrix triples take less.
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
        let (Some(left), Some(right), bits) = (x.known, y.known, x.ring.bits()) else { return Ok(None) };
        if !self.keys.params.has_matrix_triples() || left == right || bits == 1 || m * k * n == 0 {
            return Ok(None);
        }
        let parts = parts(dims);
        let total =
            |of: usize| parts.iter().map(|part| self.keys.bytes_of_matrices(x.ring, part.dims())[of]).sum::<usize>();
        if total(0) >= total(1) {
            return Ok(None);
        }
        let mut triples = Vec::new();
        for part in &parts {
            let (m, k, n) = part.dims();
            let drawn = self.draw(ctx, Kind::KnownMatrices { left, right, bits, m, k, n }, 1).await?;
            let [a, b, c] = drawn.into_vectors()?;
            triples.push([a.known_to(Some(left)), b.known_to(Some(right)), c]);
        }
        let product = async |ctx: Ctx, i: usize| {
            let Part { rows, inner, columns } = &parts[i];
            let (m, k, n) = parts[i].dims();
            let (x, y) = (taken(x, dims.1, (rows, inner)), taken(y, dims.2, (inner, columns)));
            self.multiply_with(&ctx, Form::MatMul { m, k, n }, [&x, &y], triples[i].clone()).await
        };
        let products = ctx.join_all(parts.len(), product).await?;
        Ok(Some(self.put_together(&products, &parts, (m, n))))
    }

    /// The whole product of those of parts.
    fn put_together(&self, products: &[Tagged], parts: &[Part], (m, n): (usize, usize)) -> Tagged {
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
