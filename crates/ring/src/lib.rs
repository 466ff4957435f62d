//! Words of Z_2^k and packed bits: the numbers that every protocol computes on.
//!
//! * [`Ring`] is Z_2^k for a run-time k from 1 to 256; [`Vector`] a vector over it, held in the smallest carrier word.
//! * [`Bits`] is a matrix of bits, 64 to a word: rows by lanes.
//! * [`Module`] is their common interface, so that one protocol text serves Z_2^k and packed Z_2.
//! * [`Codec`] and [`encode_ints`] turn numbers into ring elements and refuse those that do not fit.
//!
//! # Shapes
//! A [`Vector`] or [`Bits`] may be a *shape*: a length without data. Every operation on a shape costs a few
//! instructions, touches no memory and gives the shape of the result; mixing a shape with data gives a shape. A program
//! is priced by running its own protocol code on shapes.
//!
//! ```
//! use quorate_ring::{Ring, Vector};
//!
//! let ring = Ring::new(20)?;
//! let mut x = Vector::from_i64s(ring, &[3, -5, 7]);
//! x.mul_assign(&Vector::from_i64s(ring, &[2, 9, 7]));
//! assert_eq!(x.to_i64s(), [6, -45, 49]);
//!
//! let mut bytes = Vec::new();
//! x.pack(&mut bytes);
//! assert_eq!(bytes.len(), 8); // 3 elements of 20 bits
//! assert_eq!(Vector::unpack(ring, 3, &bytes)?.to_i64s(), [6, -45, 49]);
//!
//! let mut priced = Vector::shape(ring, 3);
//! priced.mul_assign(&x);
//! assert!(priced.is_shape() && priced.to_bits(0..20).rows() == 20);
//! # Ok::<(), quorate_ring::RingError>(())
//! ```
//!
//! # Panics
//! Mismatched rings or lengths in local operations are mistakes inside the project: they panic with a message. Bytes
//! from outside enter by `unpack` and numbers from outside by the codecs, which return [`RingError`].
//!
//! # Threads
//! Long operations run on the number of threads that [`threads::set_threads`] set for the calling thread. Results do
//! not depend on this number.
//!
//! # Timing
//! No kernel branches on a value or indexes by one; lengths, rings, ranges and index lists are public.

#[cfg(target_endian = "big")]
compile_error!("quorate-ring fills and packs carrier words as little-endian bytes");

mod bits;
pub mod chosen;
pub mod columns;
mod conv;
mod error;
mod fixed;
mod limbs;
mod matmul;
pub mod memory;
pub mod meter;
mod module;
mod pack;
mod ring;
mod runs;
mod shortage;
mod simd;
mod terms;
pub mod threads;
mod transpose;
mod vector;
mod wipe;
mod word;

pub use bits::Bits;
pub use conv::Conv;
pub use error::RingError;
pub use fixed::{Codec, encode_ints, encode_uints};
pub use module::Module;
pub use pack::{pack_words, unpack_words};
pub use ring::{Carrier, Ring};
pub use runs::Runs;
pub use simd::{SimdPath, simd_path};
pub use terms::Terms;
pub use vector::{Halves, Tally, Vector};
pub use wipe::{Wiped, wipe_words};
