//! The result of a workload, and its comparison with what is expected.

use quorate_engine::{Checked, Ctx, EdaBits, Error, Result};
use quorate_gadgets::Computes;
use quorate_ring::{Bits, Vector};

/// The least number of random bits whose balance is checked.
const ENOUGH_TO_COUNT: usize = 100;

/// The result of a workload, still shared.
pub(crate) enum Output<S: Computes> {
    Values(S::A),
    Bits(S::B),
    Labels(S::Y),
    EdaBits(EdaBits<S::A, S::B>),
}

/// The expected value of an opened result.
pub(crate) enum Expected {
    Values(Vec<u64>),
    /// Values from which results may differ by 1.
    Near(Vec<u64>),
    Bits(Vec<bool>),
    /// Zeros and ones, about the same number of each.
    RandomBits,
    /// Values with their bits; zeros and ones are about equally frequent in each bit.
    EdaBits,
    /// Results of transfers, which two parties check by themselves.
    Transfers,
}

impl<S: Computes> Output<S> {
    /// Opens the result to all parties that see openings; returns the first element that is not as expected. A party
    /// that deals to others sees nothing, and returns none.
    pub async fn first_wrong(&self, s: &S, ctx: &Ctx, expected: &Expected) -> Result<Option<usize>> {
        let values = |shown: Vector| (!shown.is_shape()).then_some(shown);
        let bits = |shown: Bits| (!shown.is_shape()).then_some(shown);
        let compared = |shown: Bits, expected: &[bool]| bits(shown).and_then(|x| difference(&x.to_bools(), expected));
        Ok(match (self, expected) {
            (Output::Values(x), Expected::Values(expected)) => {
                values(shown(s, ctx, x).await?).and_then(|x| difference(&x.to_u64s(), expected))
            }
            (Output::Values(x), Expected::Near(expected)) => {
                values(shown(s, ctx, x).await?).and_then(|x| far(&x.to_u64s(), expected, x.ring().mask() as u64))
            }
            (Output::Bits(x), Expected::Bits(expected)) => compared(shown_bits(s, ctx, x).await?, expected),
            (Output::Labels(x), Expected::Bits(expected)) => {
                compared(shown_bits(s, ctx, &s.labels_to_bits(x)?).await?, expected)
            }
            (Output::Values(x), Expected::RandomBits) => {
                let Some(values) = values(shown(s, ctx, x).await?) else { return Ok(None) };
                let values = values.to_u64s();
                let strange = values.iter().position(|&value| value > 1);
                strange.or_else(|| unbalanced(&values))
            }
            (Output::EdaBits(made), Expected::EdaBits) => {
                let both = (values(shown(s, ctx, &made.value).await?), bits(shown_bits(s, ctx, &made.bits).await?));
                let (Some(values), Some(bits)) = both else { return Ok(None) };
                let values_of_bits = bits.to_vector(values.ring()).to_u64s();
                let strange = difference(&values.to_u64s(), &values_of_bits);
                let skewed = |i: u32| unbalanced(&values_of_bits.iter().map(|v| v >> i & 1).collect::<Vec<_>>());
                strange.or_else(|| (0..bits.rows() as u32).find_map(skewed))
            }
            _ => Some(0),
        })
    }
}

const NOT_SHOWN: Error = Error::Bug { what: "a result for all was shown to some" };

/// Returns a value as every party sees it. If nothing is checked it is revealed, since not all parties see openings.
async fn shown<S: Computes>(s: &S, ctx: &Ctx, x: &S::A) -> Result<Vector> {
    match S::CHECKED {
        true => Ok((*s.open(ctx, x).await?).clone()),
        false => Ok((*s.reveal(ctx, &Checked::unneeded(), x, None).await?.ok_or(NOT_SHOWN)?).clone()),
    }
}

/// Returns bits as every party sees them; see [`shown`].
async fn shown_bits<S: Computes>(s: &S, ctx: &Ctx, x: &S::B) -> Result<Bits> {
    match S::CHECKED {
        true => Ok((*s.open_bits(ctx, x).await?).clone()),
        false => Ok((*s.reveal_bits(ctx, &Checked::unneeded(), x, None).await?.ok_or(NOT_SHOWN)?).clone()),
    }
}

/// Returns the first place in which two vectors differ.
fn difference<T: PartialEq>(left: &[T], right: &[T]) -> Option<usize> {
    if left.len() != right.len() {
        return Some(left.len().min(right.len()));
    }
    left.iter().zip(right).position(|(l, r)| l != r)
}

/// Returns the first place in which two vectors differ by more than 1, modulo `mask` + 1, a power of two.
fn far(left: &[u64], right: &[u64], mask: u64) -> Option<usize> {
    if left.len() != right.len() {
        return Some(left.len().min(right.len()));
    }
    left.iter().zip(right).position(|(l, r)| l.wrapping_sub(*r).wrapping_add(1) & mask > 2)
}

/// Checks the balance of zeros and ones. Returns element 0 if their numbers differ from half by more than eight
/// standard deviations.
fn unbalanced(bits: &[u64]) -> Option<usize> {
    let (len, ones) = (bits.len() as f64, bits.iter().sum::<u64>() as f64);
    (bits.len() >= ENOUGH_TO_COUNT && (2.0 * ones - len).abs() > 8.0 * len.sqrt()).then_some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_that_differ_by_one_are_right() {
        assert_eq!(far(&[5, 6, 4, 255], &[5, 5, 5, 0], 255), None);
        assert_eq!(far(&[5, 7], &[5, 5], 255), Some(1));
        assert_eq!(far(&[3], &[5], u64::MAX), Some(0));
        assert_eq!(far(&[5], &[5, 5], 255), Some(1));
    }

    #[test]
    fn constant_bits_are_noticed() {
        assert_eq!(unbalanced(&[1; 200]), Some(0));
        assert_eq!(unbalanced(&[0; 200]), Some(0));
        assert_eq!(unbalanced(&[1; 20]), None);
        assert_eq!(unbalanced(&(0..200).map(|i| i % 2).collect::<Vec<_>>()), None);
    }
}
