//! A dealer's keys that are not those of a point with the payload (1, alpha).
//!
//! **Notation**: CW' the correction of first values; t the control bit of a leaf; all for the first key of a batch.

use quorate_fss::verified::{self, Corrections, Keys, Shape};
use quorate_fss::{Hash, Roots, Side};

/// The way in which the first key of every batch of keys is spoilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoil {
    /// Another payload: this number is added to CW' of first (0) or of second values (1), at both parties.
    Payload(usize, u128),
    /// Each party gets another CW', with errors that leave the sum of first values unchanged.
    Apart,
    /// One bit of a level is wrong, at both parties, and CW' of both values are such that both sums are right: many
    /// leaves have values.
    Level(usize),
    /// A level is spoilt as by `Level`, and the correction of proofs makes their sums agree if each leaf counts once.
    LevelAndProofs(usize),
    /// Corrections are those of the next key, and the other way around.
    Exchanged,
    /// The correction of proofs is zero, as it would be if the nodes at the point were equal.
    NoProof,
}

const PROOF_BYTES: usize = 48;

/// The keys of a batch as they should be: the hash, the shape of the keys, alpha, and both parties' roots.
pub type DealtKeys<'k> = (&'k Hash, Shape, u128, [&'k [u128]; 2]);

/// Returns one party's first key.
fn key(shape: Shape, side: usize, roots: &[u128], bytes: &[u8]) -> Keys {
    let corrections = Corrections::from_bytes(shape, 1, &bytes[..shape.key_bytes()]).expect("keys of this shape");
    let roots = Roots::new([Side::First, Side::Second][side], roots[..1].to_vec());
    Keys::new(roots, corrections).expect("keys of this shape")
}

/// Returns what each of both is sent in place of these corrections.
pub(crate) fn spoilt(spoil: Spoil, (hash, shape, alpha, roots): DealtKeys<'_>, right: &[u8]) -> [Vec<u8>; 2] {
    let payload_bytes = shape.ring().bits().div_ceil(8) as usize;
    let start = 16 * shape.bits() as usize;
    let plus = |bytes: &[u8], which: usize, by: u128| {
        let mut bytes = bytes.to_vec();
        let place = &mut bytes[start + which * payload_bytes..][..payload_bytes];
        let mut number = [0; 16];
        number[..payload_bytes].copy_from_slice(place);
        let sum = u128::from_le_bytes(number).wrapping_add(by) & shape.ring().mask();
        place.copy_from_slice(&sum.to_le_bytes()[..payload_bytes]);
        bytes
    };
    let leaves = |side: usize, bytes: &[u8]| -> [Vec<u128>; 2] {
        let keys = key(shape, side, roots[side], bytes);
        let mut all = [vec![], vec![]];
        verified::visit(hash, &keys, |_, _, each| {
            all.iter_mut().zip(each[0]).for_each(|(all, values)| all.extend_from_slice(values));
        });
        all
    };
    let proofs = |side: usize, bytes: &[u8]| {
        let keys = key(shape, side, roots[side], bytes);
        verified::check(hash, &keys, &vec![1; shape.points()]).proofs[0]
    };
    let sums = |bytes: &[u8]| {
        let both = [leaves(0, bytes), leaves(1, bytes)];
        [0, 1].map(|which| both.iter().flat_map(|one| &one[which]).fold(0u128, |sum, x| sum.wrapping_add(*x)))
    };
    match spoil {
        Spoil::Payload(which, by) => [(); 2].map(|()| plus(right, which, by)),
        Spoil::Apart => {
            let lifted = plus(right, 0, 1);
            let controls = [0, 1].map(|side| {
                let (plain, other) = (leaves(side, right), leaves(side, &lifted));
                plain[0].iter().zip(&other[0]).filter(|(x, y)| x != y).count() as u128
            });
            [plus(right, 0, controls[1]), plus(right, 0, controls[0])]
        }
        Spoil::Level(level) | Spoil::LevelAndProofs(level) => {
            let mut bytes = right.to_vec();
            bytes[16 * level] ^= 2;
            let before = sums(&bytes);
            let times = sums(&plus(&bytes, 0, 1))[0].wrapping_sub(before[0]);
            let inverse = (0..7).fold(1u128, |i, _| i.wrapping_mul(2u128.wrapping_sub(i.wrapping_mul(times))));
            for (which, target) in [1, alpha].into_iter().enumerate() {
                bytes = plus(&bytes, which, target.wrapping_sub(before[which]).wrapping_mul(inverse));
            }
            if spoil != Spoil::Level(level) {
                // An odd number of leaves has the correction at one side alone.
                let differs = [0, 1].map(|side| proofs(side, &bytes));
                let place = &mut bytes[shape.key_bytes() - PROOF_BYTES..shape.key_bytes()];
                for (i, byte) in place.iter_mut().enumerate() {
                    *byte ^= differs[0][i / 16].to_le_bytes()[i % 16] ^ differs[1][i / 16].to_le_bytes()[i % 16];
                }
            }
            [bytes.clone(), bytes]
        }
        Spoil::Exchanged => {
            let (first, rest) = right.split_at(shape.key_bytes());
            let (second, rest) = rest.split_at(shape.key_bytes().min(rest.len()));
            [(); 2].map(|()| [second, first, rest].concat())
        }
        Spoil::NoProof => {
            let mut bytes = right.to_vec();
            bytes[shape.key_bytes() - PROOF_BYTES..shape.key_bytes()].fill(0);
            [bytes.clone(), bytes]
        }
    }
}
