//! A party's keys alpha and Delta as bytes, for pools: all correlations of a pool are under the same keys.

use quorate_engine::{Misuse, Result};
use zeroize::Zeroizing;

use crate::params::Params;

const ALPHA_BYTES: usize = size_of::<u64>();
const DELTA_BYTES: usize = size_of::<u128>();
/// The bytes before the keys: the form of these bytes, the bits of alpha, whether bits have MACs, whether a third party
/// deals.
const HEAD_BYTES: usize = 4;
const FORM: u8 = 1;

const OTHER_KEYS: Misuse =
    Misuse::Other { what: "the pool has keys of other options than this session: give this session another pool" };
const OUT_OF_RANGE: Misuse =
    Misuse::Other { what: "the pool has keys out of their range: remove its folder at all parties and make it again" };

/// A party's alpha and Delta.
pub struct Secrets {
    pub(crate) alpha: Zeroizing<u64>,
    pub(crate) delta: Zeroizing<u128>,
}

impl Secrets {
    /// Returns these keys.
    pub fn new(alpha: Zeroizing<u64>, delta: Zeroizing<u128>) -> Secrets {
        Secrets { alpha, delta }
    }

    /// Returns zeros, for a party that computes on shapes.
    pub fn none() -> Secrets {
        Secrets { alpha: Zeroizing::new(0), delta: Zeroizing::new(0) }
    }

    /// Returns whether the lowest bit of Delta is set.
    pub fn is_delta_odd(&self) -> bool {
        *self.delta & 1 == 1
    }

    fn head(params: Params, dealt: bool) -> [u8; HEAD_BYTES] {
        [FORM, params.key_bits() as u8, params.bits_have_macs().into(), dealt.into()]
    }

    /// Reads keys for these parameters, in a session in which a third party deals, or none.
    ///
    /// # Errors
    /// [`Misuse`] for keys of other parameters, and for an alpha with more bits than they state.
    pub fn unpack(params: Params, dealt: bool, bytes: &[u8]) -> Result<Secrets> {
        let keys = bytes.strip_prefix(&Self::head(params, dealt)).ok_or(OTHER_KEYS)?;
        let (alpha, delta) = keys.split_first_chunk::<ALPHA_BYTES>().ok_or(OUT_OF_RANGE)?;
        let delta: &[u8; DELTA_BYTES] = delta.try_into().map_err(|_| OUT_OF_RANGE)?;
        let alpha = Zeroizing::new(u64::from_le_bytes(*alpha));
        if alpha.checked_shr(params.key_bits()).unwrap_or(0) != 0 {
            return Err(OUT_OF_RANGE.into());
        }
        Ok(Secrets { alpha, delta: Zeroizing::new(u128::from_le_bytes(*delta)) })
    }

    /// Returns keys as bytes, which [`Secrets::unpack`] reads.
    pub(crate) fn pack(params: Params, dealt: bool, alpha: &u64, delta: &u128) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(HEAD_BYTES + ALPHA_BYTES + DELTA_BYTES));
        bytes.extend(Self::head(params, dealt));
        bytes.extend(&*Zeroizing::new(alpha.to_le_bytes()));
        bytes.extend(&*Zeroizing::new(delta.to_le_bytes()));
        bytes
    }
}
