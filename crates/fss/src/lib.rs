//! Function secret sharing: a point of a domain as two keys, neither of which reveals anything about it. No I/O.
//!
//! **Source**: the half-tree of Guo, Yang, Wang, Zhang, Xie, Liu, Zhao, EUROCRYPT 2023 (ePrint 2022/1431); early
//! termination of Boyle, Gilboa, Ishai, CCS 2016; parities of intervals of Storrier and others, CCS 2023; sums with a
//! table and the sign of Wagh, "Pika", PETS 2022. **Deviation**: terminal nodes stand for 512 points, so that most of
//! the work is one pass over wide leaves. **Model**: an honest dealer; [`verified`] keys are checked by their holders.
//! `docs/security/fss.md` has the arguments. **Notation**: n bits of the domain, d levels, B blocks of a leaf, r the
//! point, s a node, t its control bit, y_0 and y_1 both sides' leaves, w = y_0(r) - y_1(r).
//!
//! | | AES calls | bytes |
//! |---|---|---|
//! | [`deal`] | 2 (d + B) a key | 16 d + 16 B a key, to both sides: 176 for n = 16 |
//! | [`Growing`], without a dealer | 2^d - 1 + 2^(n-7) a key and side | the same, from either side |
//! | whole domain ([`window`], [`visit`], [`lookup`]) | 2^d - 1 + 2^(n-7) a key | none |
//! | window of m leaves | about 1.25 (2^-7 + 2^-9) m + d a key | none |
//! | [`intervals`] | 2 (d + B) an interval, d + B from 0 on | none |
//!
//! A dealer draws both sides' [`Roots`] from seeds that it shares with them, and sends [`Corrections`]. A side combines
//! both to [`Keys`]: flat arrays, for a batch of one [`Shape`]. Evaluation processes a batch four keys at a time, one
//! piece of their trees after the other.
//!
//! ```
//! use quorate_crypto::{Seed, SessionId, Tccr};
//! use quorate_fss::{Corrections, Hash, Keys, Roots, Shape, Side, Table, deal, lookup};
//! use quorate_ring::Ring;
//!
//! let hash = Hash::new(&Tccr::new(&SessionId::from_bytes([7; 32])));
//! let shape = Shape::wide(8)?;
//! let seeds = [Seed::random()?, Seed::random()?];
//! let roots = |side| Roots::draw(&mut seeds[side as usize].prg("quorate/example/roots", b""), side, 2);
//!
//! // The dealer, who knows both seeds, hides 200 and 3.
//! let dealt = deal(&hash, shape, &[200, 3], roots(Side::First), roots(Side::Second));
//! let mut message = Vec::new();
//! dealt.corrections.write(&mut message);
//! assert_eq!(message.len(), shape.batch_bytes(2));
//!
//! // Each side sums the table's entries at X - r, for a public X of each key.
//! let squares: Vec<u64> = (0..256).map(|i| i * i).collect();
//! let table = Table::backwards(Ring::of(32), &squares);
//! let starts = [table.start(205), table.start(13)];
//! let mut sums = Vec::new();
//! for side in [Side::First, Side::Second] {
//!     let keys = Keys::new(roots(side), Corrections::read(shape, 2, &message)?)?;
//!     sums.push(lookup(&hash, &keys, &starts, &table).values.to_i64s());
//! }
//! // Up to the sign that the dealer knows: 5 * 5 and 10 * 10.
//! let signs = dealt.first_bits.to_bools();
//! for (key, expected) in [25, 100].into_iter().enumerate() {
//!     let sum = (sums[0][key] + sums[1][key]) as i32;
//!     assert_eq!(sum, if signs[key] { expected } else { -expected });
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Timing
//! No function branches on a point, a node or a leaf, or indexes by one. Windows, intervals and tables are public.

mod deal;
mod error;
mod evaluate;
mod grow;
mod hash;
mod kernel;
mod keys;
mod lookup_table;
mod origins;
mod parity;
mod paths;
mod places;
mod roots;
mod shape;
pub mod verified;
mod walk;
mod wire;

pub use deal::{Dealt, deal};
pub use error::FssError;
pub use evaluate::{Sums, lookup, visit, window};
pub use grow::Growing;
pub use hash::{Hash, Kernel};
pub use keys::{Corrections, Keys};
pub use lookup_table::Table;
pub use origins::Origins;
pub use parity::intervals;
pub use places::Places;
pub use roots::{Roots, Side};
pub use shape::{HEADER_BYTES, Shape};
