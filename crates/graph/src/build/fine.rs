//! Fractional bits of results of reals without a stated dtype: more than usual where values are proven to be small.
//!
//! Such reals have [`USUAL`] fractional bits. If proven ranges leave the largest value of a result fewer than
//! [`FEWEST`] bits, the result gets enough fractional bits for [`ENOUGH`], up to [`MAX_FINE_FRAC`]. Products take
//! factors with different fractional bits as they are. Operands of a result that no ring holds are rounded to the
//! nearest, with fewer fractional bits but at least the usual ones. So every program that can be built with the usual
//! fractional bits can still be built.

use super::{Builder, Operand};
use crate::cut;
use crate::dtype::{Dtype, MAX_BITS};
use crate::error::Fault;
use crate::interval::Interval;
use crate::known::Known;
use crate::node::{NodeId, Op};
use crate::real::MAX_FINE_FRAC;
use crate::rules::Truncation;

/// The fractional bits of reals without a stated dtype.
pub(super) const USUAL: u32 = 16;
/// A result whose largest value has fewer bits than this gets more fractional bits.
pub(super) const FEWEST: i32 = 12;
/// The bits that the largest value of a result has after the result got more fractional bits.
pub(super) const ENOUGH: i32 = 24;
/// The bits of a product's largest value where a factor has more than the usual fractional bits. Sums of 2^16 such
/// products fit 64 bits.
const FILLED: i32 = 46;
/// The bits of the ring in which a product keeps the fractional bits of its factors.
const KEEPS: i32 = 94;

/// Returns the bits of the largest magnitude, in units.
pub(super) fn size_bits(values: Interval) -> i32 {
    128 - values.lo().unsigned_abs().max(values.hi().unsigned_abs()).leading_zeros() as i32
}

/// Returns the fractional bits for values below 2^exponent: the usual ones where these leave enough bits.
pub(super) fn enough(exponent: i32) -> u32 {
    match exponent + USUAL as i32 {
        FEWEST.. => USUAL,
        _ => ((ENOUGH - exponent) as u32).min(MAX_FINE_FRAC),
    }
}

/// Returns the fractional bits for values in units of 2^-frac: the usual ones where these leave enough bits, and where
/// all values are 0.
pub(super) fn enough_for(values: Interval, frac: u32) -> u32 {
    if values == Interval::point(0) { USUAL } else { enough(size_bits(values) - frac as i32) }
}

/// Returns e with |value| < 2^e. It is computed from the bits of the number, so that it is the same on every machine.
pub(super) fn exponent_of(value: f64) -> i32 {
    (value.to_bits() >> 52 & 0x7ff) as i32 - 1022
}

/// Returns the bits of a ring that holds a product, however wide it is.
fn product_bits(op: &Op, known: &[Known], x: Interval, y: Interval) -> u32 {
    let terms = match op {
        Op::MatMul { k, .. } => *k,
        Op::Conv(conv) => conv.patch(),
        _ => 1,
    };
    match cut::product(op, known, x, y).signed_bits() {
        // Intervals end at 127 bits; wider products are counted by their factors.
        127.. => (size_bits(x) + size_bits(y)) as u32 + terms.max(1).next_power_of_two().ilog2() + 1,
        bits => bits,
    }
}

/// Returns the fractional bits of a product below 2^exponent, given those of its factors.
fn of_product(exponent: i32, fracs: [u32; 2]) -> u32 {
    let [a, b] = fracs;
    if fracs == [USUAL; 2] {
        return enough(exponent).min(a + b);
    }
    let keeps = (a.max(b) as i32).min(KEEPS - exponent);
    (FILLED - exponent).max(keeps).clamp(USUAL as i32, MAX_FINE_FRAC.min(a + b).max(USUAL) as i32) as u32
}

impl Builder<'_> {
    /// Returns whether the operand is a secret real that may get more bits.
    fn is_growing(&self, id: NodeId) -> bool {
        self.graph.get(id).is_ok_and(|node| node.room.grows && node.dtype.is_fixed() && !node.is_public())
    }

    /// Returns the dtypes of two factors of fixed point, one of which may get more bits. Their product must be small,
    /// or one of them must have more than the usual fractional bits. Public reals take the fewest fractional bits that
    /// hold them. `None` in all other cases.
    pub(super) fn fine_factors(&self, op: &Op, a: Operand<'_>, b: Operand<'_>) -> Result<Option<[Dtype; 2]>, Fault> {
        let grows = |operand: Operand<'_>| matches!(operand, Operand::Node(id) if self.is_growing(id));
        self.shape_of(a).and(self.shape_of(b))?;
        if !grows(a) && !grows(b) {
            return Ok(None);
        }
        let [Some((of_a, x)), Some((of_b, y))] = [self.factor(a)?, self.factor(b)?] else { return Ok(None) };
        let values = cut::product(op, &[], x, y);
        let is_fine = of_a.frac().max(of_b.frac()) > USUAL || enough_for(values, of_a.frac() + of_b.frac()) > USUAL;
        Ok(is_fine.then_some([of_a, of_b]))
    }

    /// Returns the dtype of a factor of fixed point without conversion, and the range of its values.
    fn factor(&self, a: Operand<'_>) -> Result<Option<(Dtype, Interval)>, Fault> {
        Ok(match a {
            Operand::Node(id) => {
                let node = self.graph.get(id)?;
                node.dtype.is_fixed().then(|| (node.dtype, node.range()))
            }
            Operand::Ints { .. } => None,
            Operand::Reals { values, .. } => {
                let whole = |frac: u32| values.iter().all(|v| (v * f64::from(frac).exp2()).fract() == 0.0);
                (0..=MAX_FINE_FRAC).find(|&frac| whole(frac)).and_then(|frac| {
                    let dtype = Dtype::Fixed { bits: MAX_BITS, frac };
                    let units = Interval::spanning(&dtype.encode_reals(values).ok()?);
                    Some((dtype.with_bits(units.signed_bits().max(frac + 2)), units))
                })
            }
        })
    }

    /// Builds the product of two arrays of fixed point, one of which may get more bits.
    pub(super) fn fine_product(&mut self, op: Op, factors: [NodeId; 2], shape: Vec<usize>) -> Result<NodeId, Fault> {
        let [a, b] = self.in_reach(&op, factors)?;
        let fracs = [a, b].map(|id| self.graph.node(id).dtype.frac());
        let known = self.graph.known(&[a, b]);
        let values = cut::product(&op, &known, known[0].range(), known[1].range());
        let frac = match values == Interval::point(0) {
            true => USUAL.min(fracs[0] + fracs[1]),
            false => of_product(size_bits(values) - (fracs[0] + fracs[1]) as i32, fracs),
        };
        let own = [a, b].map(|id| self.graph.node(id).dtype.bits()).into_iter().fold(0, u32::max);
        let bits = self.product_room(Dtype::Fixed { bits: own, frac }, values, self.free_bits());
        let inputs = self.all_in(&[a, b], bits)?;
        self.grown(op, inputs, shape, Dtype::Fixed { bits, frac })
    }

    /// Returns the bits of a product's ring that truncation needs to be free.
    fn free_bits(&self) -> u32 {
        u32::from(self.graph.rules().truncation == Truncation::Probabilistic)
    }

    /// Returns factors whose product fits some ring as a whole, with fewer fractional bits where that is necessary.
    fn in_reach(&mut self, op: &Op, [mut a, mut b]: [NodeId; 2]) -> Result<[NodeId; 2], Fault> {
        let most = self.graph.rules().rings.most_bits - self.free_bits();
        for _ in 0..2 {
            let [of_a, of_b] = [a, b].map(|id| self.graph.node(id));
            let known = self.graph.known(&[a, b]);
            let excess = product_bits(op, &known, of_a.range(), of_b.range()).saturating_sub(most);
            let (fine_a, fine_b) = (of_a.dtype.frac(), of_b.dtype.frac());
            if excess == 0 || fine_a.max(fine_b) <= USUAL {
                break;
            }
            if a == b {
                a = self.lowered(a, fine_a.saturating_sub(excess.div_ceil(2)))?;
                b = a;
            } else if fine_a >= fine_b {
                a = self.lowered(a, fine_a.saturating_sub(excess))?;
            } else {
                b = self.lowered(b, fine_b.saturating_sub(excess))?;
            }
        }
        Ok([a, b])
    }

    /// Returns a secret real that may grow with `frac` fractional bits, but at least the usual ones, rounded to the
    /// nearest. Other nodes, and reals that have no more than that, are returned as they are.
    pub(super) fn lowered(&mut self, id: NodeId, frac: u32) -> Result<NodeId, Fault> {
        let node = self.graph.node(id);
        let (from, shape, frac) = (node.dtype, node.shape.clone(), frac.max(USUAL));
        if !self.is_growing(id) || from.frac() <= frac {
            return Ok(id);
        }
        let to = Dtype::Fixed { bits: from.bits(), frac };
        if let Some(known) = self.graph.recent.find(id, to) {
            return Ok(known);
        }
        let half = Interval::point(1 << (from.frac() - frac - 1));
        let near = match from.range().covers(node.range().add(half)) {
            true => {
                let half = self.graph.push_constant(vec![half.lo()], shape.clone(), from, &self.at)?;
                self.graph.push(Op::Add, vec![id, half], shape.clone(), from, &self.at)?
            }
            false => id,
        };
        let lowered = self.graph.push(Op::Convert, vec![near], shape, to, &self.at)?;
        self.graph.recent.note(id, to, lowered);
        Ok(lowered)
    }

    /// Returns operands of one dtype with fewer fractional bits, for a result in `exact` that no dtype holds. `None` if
    /// they have no more than the usual ones.
    pub(super) fn lowered_for(&mut self, inputs: &[NodeId], exact: Interval) -> Result<Option<Vec<NodeId>>, Fault> {
        let frac = inputs.iter().map(|&id| self.graph.node(id).dtype.frac()).max().unwrap_or(0);
        let excess = exact.signed_bits().saturating_sub(MAX_BITS);
        let all_grow = inputs.iter().all(|&id| self.is_growing(id) || !self.graph.node(id).dtype.is_fixed());
        if excess == 0 || frac <= USUAL || !all_grow {
            return Ok(None);
        }
        let lowered = |&id: &NodeId| self.lowered(id, frac.saturating_sub(excess));
        inputs.iter().map(lowered).collect::<Result<Vec<_>, _>>().map(Some)
    }

    /// Levels two operands: see [`levelled`](Builder::levelled).
    pub(super) fn level_both<'a>(
        &mut self,
        a: Operand<'a>,
        b: Operand<'a>,
    ) -> Result<(Operand<'a>, Operand<'a>), Fault> {
        let both = self.levelled(&[a, b])?;
        Ok((both[0], both[1]))
    }

    /// Returns operands that get one dtype, with fewer fractional bits if no dtype holds all of them.
    pub(super) fn levelled<'a>(&mut self, operands: &[Operand<'a>]) -> Result<Vec<Operand<'a>>, Fault> {
        let fine = |operand: &Operand<'_>| match *operand {
            Operand::Node(id) if self.is_growing(id) => self.graph.node(id).dtype.frac(),
            _ => 0,
        };
        let frac = operands.iter().map(fine).max().unwrap_or(0);
        if frac <= USUAL {
            return Ok(operands.to_vec());
        }
        let whole = self.all_types(operands)?.iter().map(|known| known.whole_bits()).max().unwrap_or(0);
        let most = MAX_BITS.saturating_sub(whole);
        let level = |operand: &Operand<'a>| match *operand {
            Operand::Node(id) if frac > most => self.lowered(id, most).map(Operand::Node),
            other => Ok(other),
        };
        operands.iter().map(level).collect()
    }
}
