//! Real functions on fixed point.
//!
//! A vector over Z_2^k holds numbers x as the integers nearest to x 2^f, in two's complement. Every function is exact
//! integer arithmetic: it gives the same result in every run and for every backend, and reveals nothing else. Arguments
//! outside a domain give a stated value, never an error.
//!
//! Arguments become bits. The leading bits choose a segment of a table of cubics, which are evaluated exactly in
//! Z_2^64. Results that grow or shrink with the argument (roots, quotients, powers) get their size by moving rows of
//! bits.
//!
//! f is at most 16 and k at most 64; for division, roots and logarithms 60 and 126. Mantissas have 32 bits for every k
//! and f. Results in rings of more than 64 bits, or with more than 16 bits after the point, therefore have a relative
//! error besides those stated.

mod bounded;
mod cubic;
mod fine_quotient;
pub(crate) mod float;
pub(crate) mod local;
mod logarithm;
mod long_quotient;
pub(crate) mod onehot;
mod power;
mod quotient;
mod roots;
mod softmax;
mod tables;

pub use bounded::{gelu, sigmoid, tanh};
pub use logarithm::log;
pub use power::exp;
pub use quotient::{divide, reciprocal};
pub use roots::{rsqrt, sqrt};
pub use softmax::{POWER_RING, Softmax, softmax};

use quorate_engine::{Chunks, Misuse, Result};
use quorate_ring::Ring;

/// The largest number of bits after the point.
pub const MAX_FRAC: u32 = 16;

/// The largest number of bits after the point for division, roots and logarithms.
pub const MAX_FINE_FRAC: u32 = 60;

/// Returns the chunks of a function: it takes a few KiB of working memory an element, with as many elements under way
/// as in bit-wise gadgets.
fn chunks(len: usize) -> Chunks {
    Chunks { len, chunk: 2048, window: 16 }
}

/// The largest number of bits of a ring, for functions whose result is made in Z_2^64.
const ONE_WORD: u32 = 64;

fn check(ring: Ring, frac: u32, least_bits: u32, most_bits: u32) -> Result<()> {
    if frac > MAX_FRAC {
        return Err(
            Misuse::Other { what: "real functions take at most 16 bits after the point; convert the dtype" }.into()
        );
    }
    check_room(ring, least_bits, most_bits)
}

/// Runs [`check`] with the limits of division, roots and logarithms.
fn check_fine(ring: Ring, frac: u32, least_bits: u32, most_bits: u32) -> Result<()> {
    if frac > MAX_FINE_FRAC {
        let what = "division, roots and logarithms take at most 60 bits after the point; convert the dtype";
        return Err(Misuse::Other { what }.into());
    }
    check_room(ring, least_bits, most_bits)
}

fn check_room(ring: Ring, least_bits: u32, most_bits: u32) -> Result<()> {
    if ring.bits() > most_bits {
        return Err(Misuse::RingBits { bits: ring.bits() }.into());
    }
    if ring.bits() < least_bits {
        return Err(
            Misuse::Other { what: "the ring is too small for the results of this function; widen the dtype" }.into()
        );
    }
    Ok(())
}
