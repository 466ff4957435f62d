//! A workload in two forms: the protocol that is timed, and plain arithmetic that checks its result.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use quorate_circuits::catalog;
use quorate_engine::{Ctx, EdaBits, Form, LinearBits, Misuse, Result};
use quorate_gadgets::lookup::{Entries, Lookup, Operand};
use quorate_gadgets::{Choices, Computes, Descriptor, Width};
use quorate_ring::Vector;

use crate::cell::{Cell, Workload};
use crate::operands::{Operands, scramble};
use crate::operation::Held;
use crate::output::{Expected, Output};

/// The fractional bits of the arguments of the logistic function, and 1 in their units.
const SIGMOID_FRAC: u32 = 12;
const SIGMOID_ONE: f64 = (1 << SIGMOID_FRAC) as f64;

/// One execution: a cell, and, for a chain, its length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    pub cell: Cell,
    pub rounds: usize,
}

impl Task {
    /// Returns which of several protocols with the same result run: the selected ones, except where the workload
    /// prescribes one.
    pub fn choices(&self, family: &Descriptor, asked: &Choices) -> Choices {
        let mut choices = asked.clone();
        if let Some(forms) = family.option("forms").filter(|_| self.cell.workload.is_general()) {
            choices.choose(forms, "masked");
        }
        choices
    }

    /// Returns whether circuits are garbled in the offline phase.
    pub fn garbles_ahead(&self) -> bool {
        matches!(self.cell.workload, Workload::YaoAesAhead | Workload::Operation(Held::Labels, _))
    }

    /// Runs the protocol.
    pub async fn run<S: Computes>(&self, s: &S, ctx: &Ctx, operands: &Operands<S>) -> Result<Output<S>> {
        match operands {
            Operands::Values(x, y) => self.run_on_values(s, ctx, x, y).await,
            Operands::Numbers(x, y, bit) => match self.cell.workload {
                Workload::Operation(_, operation) => operation.on_summands(s, ctx, (x, y), bit).await,
                _ => Err(Misuse::Other { what: "this workload is not an operation" }.into()),
            },
            Operands::Bits(x) if self.cell.workload == Workload::B2A => {
                Ok(Output::Values(s.compose(ctx, x, self.ring()).await?))
            }
            Operands::Bits(x) if self.cell.workload.is_on_bits() => {
                let [x, y] = [0..1, 1..2].map(|row| s.linear_bits(x, &LinearBits::Rows(row)));
                Ok(Output::Bits(s.and(ctx, &x, &y).await?))
            }
            Operands::Bits(x) => Ok(Output::Labels(s.bits_to_labels(ctx, x).await?)),
            Operands::Labels(x) if self.cell.workload == Workload::Y2A => {
                Ok(Output::Values(s.compose(ctx, &s.labels_to_bits(x)?, self.ring()).await?))
            }
            Operands::Labels(x) => Ok(Output::Bits(s.labels_to_bits(x)?)),
            Operands::Circuit(program, x) => Ok(Output::Bits(s.circuit(ctx, program, x).await?)),
            Operands::Garbled(program, x) => Ok(Output::Labels(s.garble(ctx, program, x).await?)),
            Operands::Ahead(program, x) => {
                let labels = s.bits_to_labels(ctx, x).await?;
                Ok(Output::Labels(s.garble(ctx, program, &labels).await?))
            }
        }
    }

    async fn run_on_values<S: Computes>(&self, s: &S, ctx: &Ctx, x: &S::A, y: &S::A) -> Result<Output<S>> {
        let (ring, len) = self.operand_shape();
        let side = self.cell.batch;
        Ok(match self.cell.workload {
            Workload::Mul | Workload::MulOwned | Workload::Triple => Output::Values(s.mul(ctx, x, y).await?),
            Workload::MatMul => {
                let form = Form::MatMul { m: side, k: side, n: side };
                Output::Values(s.bilinear(ctx, form, x, y).await?)
            }
            Workload::RandomBit => Output::Values(s.random_bits(ctx, ring, len).await?),
            Workload::EdaBit => Output::EdaBits(s.edabits(ctx, ring, None, len).await?),
            Workload::LessThanBounded | Workload::LessThanBoundedGeneral => {
                Output::Bits(s.lt(ctx, x, y, Width::Difference(ring.bits())).await?)
            }
            Workload::LessThanFull | Workload::LessThanFullGeneral => Output::Bits(s.lt(ctx, x, y, Width::Full).await?),
            Workload::DaBit => {
                let (value, bits) = s.dabits(ctx, ring, len).await?;
                Output::EdaBits(EdaBits { value, shifted: None, bits })
            }
            Workload::Equality => Output::Bits(s.eqz(ctx, &s.sub(x, y)).await?),
            Workload::Truncation => Output::Values(s.trunc_exact(ctx, x, ring.bits() / 2).await?),
            // As in sessions, for numbers with this proven range.
            Workload::Sigmoid if self.looked_up().count() > s.most_entries() => {
                Output::Values(s.sigmoid(ctx, x, SIGMOID_FRAC).await?)
            }
            Workload::Sigmoid | Workload::Table | Workload::Domain(_) => {
                let first = self.looked_up().start.into();
                let table = Lookup { entries: self.table(), first, operand: Operand::Within };
                Output::Values(s.lookup(ctx, x, &table).await?)
            }
            Workload::A2B => Output::Bits(s.bit_decompose(ctx, x).await?),
            Workload::A2Y => Output::Labels(s.ring_to_labels(ctx, x).await?),
            Workload::Chain => {
                let mut product = x.clone();
                for _ in 0..self.rounds {
                    product = s.mul(ctx, &product, y).await?;
                }
                Output::Values(product)
            }
            _ => return Err(Misuse::Other { what: "this workload is not one on shared numbers" }.into()),
        })
    }

    /// Returns the table, which is kept for all runs, as in a program.
    fn table(&self) -> Arc<Entries> {
        static KEPT: Mutex<BTreeMap<(Workload, u32), Arc<Entries>>> = Mutex::new(BTreeMap::new());
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || Arc::new(Entries::new(Vector::from_i64s(self.ring(), &self.entries())));
        kept.entry((self.cell.workload, self.cell.bits)).or_insert_with(make).clone()
    }

    /// Returns the numbers that have entries.
    fn looked_up(&self) -> Range<i64> {
        let half = 1i64 << self.cell.workload.place_bits().map_or(0, |bits| bits - 1);
        -half..half
    }

    /// Returns the entries.
    fn entries(&self) -> Vec<i64> {
        let sigmoid = |x: i64| (SIGMOID_ONE / (1.0 + (-x as f64 / SIGMOID_ONE).exp())).round_ties_even() as i64;
        let entry =
            |x: i64| if self.cell.workload == Workload::Sigmoid { sigmoid(x) } else { scramble(x as u64) as i64 };
        self.looked_up().map(entry).collect()
    }

    /// Returns a number modulo 2^k as a two's complement one.
    fn signed(&self, x: i64) -> i64 {
        let above = 64 - self.cell.bits.min(64);
        x << above >> above
    }

    /// Returns the result of plain arithmetic on the operands.
    pub fn expected(&self, x: &[i64], y: &[i64]) -> Expected {
        let mask = self.ring().mask() as u64;
        let pairs = || x.iter().zip(y);
        let rows = || self.rows(&(self.elements(x), self.elements(y)));
        match self.cell.workload {
            Workload::Mul | Workload::MulOwned | Workload::Triple => {
                Expected::Values(pairs().map(|(x, y)| x.wrapping_mul(*y) as u64 & mask).collect())
            }
            Workload::MatMul => Expected::Values(matrix_product(x, y, self.cell.batch, mask)),
            Workload::RandomBit => Expected::RandomBits,
            Workload::EdaBit | Workload::DaBit => Expected::EdaBits,
            Workload::OtCot
            | Workload::OtCotMalicious
            | Workload::OtTriples
            | Workload::OtBitTriples
            | Workload::TriplesOt
            | Workload::TriplesPaillier(_)
            | Workload::TriplesDgk(_) => Expected::Transfers,
            Workload::A2B | Workload::B2Y | Workload::Y2B | Workload::A2Y => Expected::Bits(rows().to_bools()),
            Workload::B2A | Workload::Y2A => Expected::Values(x.iter().map(|&x| x as u64 & mask).collect()),
            Workload::YaoAes | Workload::YaoAesAhead | Workload::GmwAes => {
                Expected::Bits(catalog::aes128().evaluate(&rows()).map_or(Vec::new(), |blocks| blocks.to_bools()))
            }
            Workload::Operation(held, operation) => operation.expected(held, (x, y), |numbers| self.elements(numbers)),
            Workload::Equality => Expected::Bits(pairs().map(|(x, y)| (x ^ y) as u64 & mask == 0).collect()),
            Workload::Truncation => Expected::Values(
                pairs().map(|(&x, _)| (self.signed(x) >> (self.cell.bits / 2)) as u64 & mask).collect(),
            ),
            Workload::Sigmoid | Workload::Table | Workload::Domain(_) => {
                let (entries, first) = (self.entries(), self.looked_up().start);
                let found = x.iter().map(|x| entries[(x - first) as usize] as u64 & mask).collect();
                if self.cell.workload == Workload::Sigmoid { Expected::Near(found) } else { Expected::Values(found) }
            }
            Workload::And | Workload::BitTriple => Expected::Bits(pairs().map(|(x, y)| x & y & 1 == 1).collect()),
            Workload::LessThanBounded
            | Workload::LessThanFull
            | Workload::LessThanBoundedGeneral
            | Workload::LessThanFullGeneral => Expected::Bits(pairs().map(|(x, y)| x < y).collect()),
            Workload::Chain => {
                let chained = |(&x, &y): (&i64, &i64)| (0..self.rounds).fold(x, |product, _| product.wrapping_mul(y));
                Expected::Values(pairs().map(|pair| chained(pair) as u64 & mask).collect())
            }
        }
    }
}

/// Returns the product of row-major matrices, modulo 2^k.
fn matrix_product(x: &[i64], y: &[i64], side: usize, mask: u64) -> Vec<u64> {
    let mut product = vec![0u64; side * side];
    for (row, out) in x.chunks_exact(side).zip(product.chunks_exact_mut(side)) {
        for (&factor, others) in row.iter().zip(y.chunks_exact(side)) {
            out.iter_mut().zip(others).for_each(|(sum, &y)| *sum = sum.wrapping_add(factor.wrapping_mul(y) as u64));
        }
    }
    product.iter_mut().for_each(|value| *value &= mask);
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::Link;
    use crate::set::Set;

    fn task(workload: Workload, bits: u32, batch: usize) -> Task {
        Task { cell: Cell { workload, set: Set::all()[0], bits, parties: 3, batch, link: Link::Memory }, rounds: 3 }
    }

    #[test]
    fn operands_fill_their_range_and_differ() {
        for (workload, bits) in [(Workload::LessThanBounded, 64), (Workload::LessThanFull, 32), (Workload::Mul, 60)] {
            let (x, y) = task(workload, bits, 1000).operands();
            let width = bits - u32::from(workload == Workload::LessThanBounded);
            let (low, high) = (i64::MIN >> (64 - width), i64::MAX >> (64 - width));
            for v in [&x, &y] {
                assert_eq!((v.iter().min(), v.iter().max()), (Some(&low), Some(&high)));
            }
            assert!(x.iter().zip(&y).filter(|(x, y)| x < y).count() > 400);
            assert!(x.iter().zip(&y).any(|(x, y)| x == y));
        }
    }

    #[test]
    fn matrices_multiply_row_by_column() {
        assert_eq!(matrix_product(&[1, 2, 3, -4], &[5, 6, 7, 8], 2, 0xff), [19, 22, 243, 242]);
    }

    #[test]
    fn a_chain_is_a_power() {
        let Expected::Values(values) = task(Workload::Chain, 8, 1).expected(&[2], &[5]) else { panic!("not values") };
        assert_eq!(values, [250]);
    }
}
