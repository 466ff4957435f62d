//! Products with public reals and quotients by them: near the exact real numbers, not those rounded to the dtype.

use std::sync::Arc;

use super::{Builder, Operand, coerce, divide, fine, real};
use crate::dtype::{Dtype, MAX_BITS};
use crate::error::Fault;
use crate::interval::Interval;
use crate::node::{NodeId, Op};
use crate::real::MAX_FINE_FRAC;
use crate::rules::{Rules, Truncation};
use crate::scale::{Multiples, Ratio, Scale, enough_bits};
use crate::shape::{self, Repeats};

/// Public reals with their shape.
#[derive(Clone, Copy)]
struct Reals<'a> {
    values: &'a [f64],
    shape: &'a [usize],
}

impl Reals<'_> {
    /// Returns whether the dtype's fractional bits hold every one of them exactly.
    fn are_held(self, dtype: Dtype) -> bool {
        let scale = f64::from(dtype.frac()).exp2();
        self.values.iter().all(|&value| value.abs() >= 2f64.powi(53) || (value * scale).fract() == 0.0)
    }
}

/// The form of multiples.
#[derive(Clone, Copy, Default)]
struct Form {
    /// Whether results are saturated where they do not fit.
    quotients: bool,
    /// The smallest number of additional fractional bits.
    more: u32,
}

/// A matrix of public reals with more fractional bits than the dtype has.
pub(super) struct Finer {
    pub is_left: bool,
    pub units: Vec<i128>,
    pub shift: u32,
    /// Bits of the ring in which the products are added.
    pub bits: u32,
    /// The digits that are lost nevertheless, if any.
    pub lost: Option<Fault>,
}

impl Builder<'_> {
    /// Returns the reals of a matrix product with the largest number of fractional bits for which sums of `terms`
    /// products fit, where bounds are proven. `None` if that number is at most the fractional bits of the dtype, which
    /// are then used.
    pub(super) fn finer(&self, a: Operand<'_>, b: Operand<'_>, terms: usize) -> Result<Option<Finer>, Fault> {
        let (id, values, is_left) = match (a, b) {
            (Operand::Node(id), Operand::Reals { values, .. }) => (id, values, false),
            (Operand::Reals { values, .. }, Operand::Node(id)) => (id, values, true),
            _ => return Ok(None),
        };
        let node = self.graph.get(id)?;
        let (Dtype::Fixed { bits, frac }, Some(x)) = (node.dtype, node.interval) else { return Ok(None) };
        let shape = self.shape_of(if is_left { a } else { b })?;
        let size = x.lo().abs().max(x.hi().abs()).saturating_mul(terms as i128);
        if size == 0 || (Reals { values, shape: &shape }).are_held(node.dtype) {
            return Ok(None);
        }
        let free = 1 + u32::from(self.graph.rules().truncation == Truncation::Probabilistic);
        let largest = values.iter().fold(0.0f64, |most, v| most.max(v.abs()));
        let sum = |shift: &u32| {
            let units = (largest * f64::from(*shift).exp2()).round_ties_even() as i128; // saturates
            units.saturating_mul(size).saturating_add(1 << (shift - 1))
        };
        let grows = self.grows(&[id], node.dtype);
        let widest = if grows { self.graph.rules().rings.most_bits } else { bits };
        let usual = enough_bits(size);
        // A small result has more fractional bits, and so have its factors.
        let finer = if grows { fine::enough(fine::exponent_of(largest * size as f64) - frac as i32) } else { frac };
        let enough = usual + finer.saturating_sub(frac);
        let fits = |shift: &u32| sum(shift) < 1 << (widest - free);
        let Some(shift) = (frac + 1..=enough.min(widest - 1)).rev().find(fits) else { return Ok(None) };
        let most = sum(&shift);
        let bits = self.product_room(node.dtype, Interval::new(-most, most), free - 1);
        let dtype = Dtype::Fixed { bits, frac: shift };
        let units = dtype.encode_reals(values)?;
        let lost = if shift < enough { dtype.lost(values, &units) } else { None };
        Ok(Some(Finer { is_left, units, shift, bits, lost }))
    }

    /// Returns the number of bits by which an uncut product is cut, and the dtype of the result. A result that is small
    /// and may get more bits keeps more fractional ones.
    pub(super) fn finer_result(&self, product: NodeId, shift: u32) -> (u32, Dtype) {
        let node = self.graph.node(product);
        let dtype = node.dtype;
        let more = match node.room.grows {
            true => fine::enough_for(node.range(), dtype.frac() + shift).saturating_sub(dtype.frac()),
            false => 0,
        };
        let more = more.min(shift - 1);
        (shift - more, Dtype::Fixed { bits: dtype.bits(), frac: dtype.frac() + more })
    }

    /// Builds `a` times reals that its dtype does not hold; `None` where it does, or where `a` is not fixed point.
    pub(super) fn build_multiple(&mut self, a: Operand<'_>, by: Operand<'_>) -> Result<Option<NodeId>, Fault> {
        let (Operand::Node(id), Operand::Reals { values, shape }) = (a, by) else { return Ok(None) };
        let (reals, dtype) = (Reals { values, shape }, self.graph.get(id)?.dtype);
        // Numbers from 2^63 on are whole, and take a wider dtype.
        if !dtype.is_fixed() || !values.iter().all(|c| c.abs() < 2f64.powi(63)) {
            return Ok(None);
        }
        if reals.are_held(dtype) {
            return Ok(None);
        }
        let ratio = |c: f64| (c.abs() < 2f64.powi(63)).then(|| Ratio::of(c));
        self.scaled(id, reals, &ratio, Form::default()).map(Some)
    }

    /// Builds `a` divided by public numbers, for fixed point. `None` for divisors whose exact quotients only the
    /// algorithm for secret divisors gives. If that algorithm does not support the dtype, quotients are near the
    /// exact ones.
    pub(super) fn build_quotient(&mut self, a: Operand<'_>, by: Operand<'_>) -> Result<Option<NodeId>, Fault> {
        let Operand::Node(id) = a else { return Ok(None) };
        let dtype = match by {
            Operand::Node(_) => coerce::joined("divide", &self.types([a, by])?)?,
            _ => self.graph.get(id)?.dtype,
        };
        let shape = self.shape_of(by)?;
        let Some(values) = self.reals(by, dtype)? else { return Ok(None) };
        if !dtype.is_fixed() || values.is_empty() {
            return Ok(None);
        }
        let id = self.converted(id, dtype)?;
        // A divisor need not fit the dtype, which may have few whole bits because the dividends are small.
        let of_divisors = if self.grows(&[id], dtype) { dtype.with_bits(MAX_BITS) } else { dtype };
        let units = of_divisors.encode_reals(&values)?;
        let reals = Reals { values: &values, shape: &shape };
        let refused = |fault: Option<Fault>| fault.unwrap_or(Fault::ZeroDivisor { op: "/" });
        let inverse = |c: f64| if c == 0.0 { None } else { Ratio::inverse(c) };
        let Some(ratios) = values.iter().map(|&c| inverse(c)).collect::<Option<Vec<Ratio>>>() else {
            return Err(refused(dtype.lost(&values, &units)));
        };
        let whole = ratios.iter().all(|ratio| ratio.is_whole());
        if reals.are_held(dtype) && !whole && self.bits_of_small_multiple(id, &ratios) == 0 {
            let exact = self.exact_quotient(id, reals, &units)?;
            if exact.is_some() || real::divides(dtype) {
                return Ok(exact);
            }
        }
        self.scaled(id, reals, &inverse, Form { quotients: true, more: 0 }).map(Some)
    }

    /// Returns public numbers as reals, if every one is exact in a double.
    fn reals(&self, operand: Operand<'_>, dtype: Dtype) -> Result<Option<Vec<f64>>, Fault> {
        let exact = |values: &[i128]| {
            let one = |&v: &i128| (v.unsigned_abs() < 1 << 53).then_some(v as f64);
            values.iter().map(one).collect::<Option<Vec<f64>>>()
        };
        match operand {
            Operand::Reals { values, .. } => Ok(Some(values.to_vec())),
            Operand::Ints { values, .. } => Ok(exact(values)),
            Operand::Node(id) => {
                let node = self.graph.get(id)?;
                let Some(values) = node.constant() else { return Ok(None) };
                let unit = f64::from(node.dtype.frac()).exp2();
                Ok(exact(&values)
                    .filter(|_| node.dtype.frac() <= dtype.frac())
                    .map(|all| all.iter().map(|v| v / unit).collect()))
            }
        }
    }

    /// Builds x / c for divisors that the dtype holds, rounded towards minus infinity; `None` where quotients might not
    /// fit.
    fn exact_quotient(&mut self, a: NodeId, by: Reals<'_>, units: &[i128]) -> Result<Option<NodeId>, Fault> {
        let to = shape::broadcast(&self.graph.get(a)?.shape, by.shape)?;
        let dtype = self.graph.node(a).dtype;
        // c = d / 2^up, with integers d and the same `up` for all divisors.
        let up = dtype.frac() - units.iter().map(|d| d.trailing_zeros()).min().unwrap_or(0).min(dtype.frac());
        let divisors: Vec<i128> = units.iter().map(|d| d >> (dtype.frac() - up)).collect();
        let proven = self.graph.node(a).interval;
        let mut fits = proven.is_some_and(|x| dtype.range().covers(x.shl(up)));
        let splits = |d: &i128| d.abs() >= 1 << up && dtype.range().contains((d.abs() - 1) << up);
        let (mut a, mut dtype) = (a, dtype);
        if up > 0 && !fits && !divisors.iter().all(splits) {
            let Some(x) = proven else { return Ok(None) };
            a = self.in_room_for(a, x.shl(up))?;
            dtype = self.graph.node(a).dtype;
            fits = dtype.range().covers(x.shl(up));
            if !fits {
                return Ok(None);
            }
        }
        let x = self.broadcast_node(a, &to)?;
        let divisors = divide::each(&divisors, by.shape, &to);
        if up == 0 || fits {
            let moved = if up == 0 { x } else { self.emit_as(Op::Shl(up), &[x], dtype)? };
            let quotient = self.emit_as(Op::FloorDiv(divisors), &[moved], dtype)?;
            return self.kept(quotient).map(Some);
        }
        // x 2^up / d is (x / d) 2^up plus the quotient of the remainder; neither leaves the dtype.
        let quotient = self.emit_as(Op::FloorDiv(divisors.clone()), &[x], dtype)?;
        let rest = self.emit_as(Op::Remainder(divisors.clone()), &[x, quotient], dtype)?;
        let rest = self.emit_as(Op::Shl(up), &[rest], dtype)?;
        let low = self.emit_as(Op::FloorDiv(divisors), &[rest], dtype)?;
        let high = self.emit_as(Op::Shl(up), &[quotient], dtype)?;
        self.emit_as(Op::Add, &[high, low], dtype).map(Some)
    }

    /// Returns the number of additional fractional bits for small multiples, where they may get more.
    fn bits_of_small_multiple(&self, a: NodeId, ratios: &[Ratio]) -> u32 {
        let node = self.graph.node(a);
        let dtype = node.dtype;
        if !self.grows(&[a], dtype) {
            return 0;
        }
        let largest = ratios.iter().map(Ratio::size_exponent).max().unwrap_or(0);
        let values = node.range();
        match values == Interval::point(0) {
            true => 0,
            false => {
                fine::enough(fine::size_bits(values) - dtype.frac() as i32 + largest + 1).saturating_sub(dtype.frac())
            }
        }
    }

    /// Builds a secret real without a stated dtype times a public number, with `more` additional fractional bits where
    /// dtypes have as many. Other fixed point gets a product in its own dtype.
    pub(super) fn build_finer_multiple(&mut self, a: NodeId, by: f64, more: u32) -> Result<NodeId, Fault> {
        let dtype = self.graph.get(a)?.dtype;
        let ratio = |c: f64| (c.abs() < 2f64.powi(63)).then(|| Ratio::of(c));
        if !dtype.is_fixed() {
            return Err(Fault::FixedOnly { op: "scale", dtype });
        }
        if ratio(by).is_none() {
            return Err(Fault::NotFinite { index: 0, value: by });
        }
        let more = if self.grows(&[a], dtype) { more.min(MAX_FINE_FRAC.saturating_sub(dtype.frac())) } else { 0 };
        self.scaled(a, Reals { values: &[by], shape: &[] }, &ratio, Form { more, ..Form::default() })
    }

    /// Builds `a` times the ratio of each real.
    fn scaled(
        &mut self,
        a: NodeId,
        by: Reals<'_>,
        ratio: &dyn Fn(f64) -> Option<Ratio>,
        Form { quotients, more }: Form,
    ) -> Result<NodeId, Fault> {
        let to = shape::broadcast(&self.graph.get(a)?.shape, by.shape)?;
        let Rules { truncation, rings, .. } = self.graph.rules();
        let x = self.graph.node(a).range();
        let own = self.graph.node(a).dtype;
        let all = |up: i32| {
            let moved = |&c: &f64| ratio(c * f64::from(if quotients { -up } else { up }).exp2());
            by.values.iter().map(moved).collect::<Option<Vec<Ratio>>>()
        };
        let usual = all(0).unwrap_or_default();
        let more = self.bits_of_small_multiple(a, &usual).max(more);
        let (more, ratios) = all(more as i32).map_or((0, usual), |finer| (more, finer));
        let ratios = ratios.as_slice();
        let mut multiples = Multiples { ratios, divisors: None, most_bits: rings.most_bits };
        let all = Scale::new(&multiples, x, own, truncation).reach(x, own, truncation);
        let a = if self.graph.node(a).interval.is_some() { self.in_room_for(a, all)? } else { a };
        let dtype = self.graph.node(a).dtype;
        let mut scale = Scale::new(&multiples, x, dtype, truncation);
        if quotients && !dtype.range().covers(scale.reach(x, dtype, truncation)) {
            multiples.divisors = Some(by.values).filter(|all| all.iter().any(|c| c.abs() < 1.0));
            scale = Scale::new(&multiples, x, dtype, truncation);
            if !scale.fits_some(x, dtype) {
                let (lo, hi) = (dtype.decode(x.lo()), dtype.decode(x.hi()));
                return Err(Fault::NoResultFits { op: "divide", dtype, lo, hi });
            }
        }
        if by.values.len() > 1 && by.shape != to.as_slice() {
            scale = scale.broadcast(&Repeats::new(by.shape, &to));
        }
        let x = self.broadcast_node(a, &to)?;
        let dtype = Dtype::Fixed { bits: dtype.bits(), frac: dtype.frac() + more };
        let scaled = self.graph.push(Op::Scale(Arc::new(scale)), vec![x], to, dtype, &self.at)?;
        self.kept(scaled)
    }
}
