//! Gadgets on secrets of four bits, for tests that compare what parties receive with the secrets.

use std::sync::Arc;

use quorate_engine::{Ctx, Form, Result, Sharing};
use quorate_ring::{Ring, Vector};

use crate::lookup::{Entries, Lookup, Operand};
use crate::{Functions, Sign, Width};

/// The ring of secret elements. Matrices of secret bits have one row for each of its bits.
pub const RING: Ring = Ring::of(4);

/// An operation on the secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // variants have the names of the methods that they call
pub enum Gadget {
    Open,
    Mul,
    Dot,
    And,
    Msb,
    BitDecompose,
    Eqz,
    Lt,
    TruncExact,
    TruncProb,
    Convert,
    BitToRing,
    Compose,
    Mask,
    Lookup,
    LookupOutside,
    LookupBit,
}

/// Two vectors and a matrix of bits, as parties share them.
pub struct Secrets<S: Sharing> {
    /// Elements.
    pub x: S::A,
    /// Other elements.
    pub y: S::A,
    /// Rows of bits.
    pub bits: S::B,
}

impl Gadget {
    /// All operations. None but the first opens values that determine the secrets.
    pub const ALL: [Gadget; 17] = [
        Gadget::Open,
        Gadget::Mul,
        Gadget::Dot,
        Gadget::And,
        Gadget::Msb,
        Gadget::BitDecompose,
        Gadget::Eqz,
        Gadget::Lt,
        Gadget::TruncExact,
        Gadget::TruncProb,
        Gadget::Convert,
        Gadget::BitToRing,
        Gadget::Compose,
        Gadget::Mask,
        Gadget::Lookup,
        Gadget::LookupOutside,
        Gadget::LookupBit,
    ];

    /// Returns whether x, y, and the bits are used, in this order.
    pub fn uses(self) -> [bool; 3] {
        match self {
            Gadget::Mul | Gadget::Dot | Gadget::Lt => [true, true, false],
            Gadget::And | Gadget::BitToRing | Gadget::Compose => [false, false, true],
            Gadget::Mask => [true, false, true],
            _ => [true, false, false],
        }
    }

    /// Runs the operation and drops its result.
    ///
    /// # Errors
    /// Any error that ends a run.
    pub async fn run<S: Functions>(self, s: &S, ctx: &Ctx, secrets: &Secrets<S>) -> Result<()> {
        let Secrets { x, y, bits } = secrets;
        let len = s.shape(x).1;
        let row = |i: usize| s.linear_bits(bits, &quorate_engine::LinearBits::Rows(i..i + 1));
        let entries = Arc::new(Entries::new(Vector::from_u64s(RING, &[3, 9, 14, 0, 7])));
        let table = |first: i128, operand: Operand| Lookup { entries: entries.clone(), first, operand };
        match self {
            Gadget::Open => s.open(ctx, x).await.map(drop),
            Gadget::Mul => s.mul(ctx, x, y).await.map(drop),
            Gadget::Dot => s.bilinear(ctx, Form::Dot { outer: len, axis: 1, inner: 1 }, x, y).await.map(drop),
            Gadget::And => s.and(ctx, &row(0), &row(1)).await.map(drop),
            Gadget::Msb => s.msb(ctx, x).await.map(drop),
            Gadget::BitDecompose => s.bit_decompose(ctx, x).await.map(drop),
            Gadget::Eqz => s.eqz(ctx, x).await.map(drop),
            Gadget::Lt => s.lt(ctx, x, y, Width::Full).await.map(drop),
            Gadget::TruncExact => s.trunc_exact(ctx, x, 2).await.map(drop),
            Gadget::TruncProb => s.trunc_prob(ctx, x, 1).await.map(drop),
            Gadget::Convert => s.convert(ctx, x, Ring::of(7), Sign::Signed).await.map(drop),
            Gadget::BitToRing => s.bit_to_ring(ctx, &row(0), RING).await.map(drop),
            Gadget::Compose => s.compose(ctx, bits, RING).await.map(drop),
            Gadget::Mask => s.mask(ctx, &row(0), x).await.map(drop),
            Gadget::Lookup => s.lookup(ctx, x, &table(0, Operand::Within)).await.map(drop),
            Gadget::LookupOutside => {
                let operand = Operand::Outside { below: true, above: true, width: Width::Full };
                s.lookup(ctx, x, &table(-2, operand)).await.map(drop)
            }
            Gadget::LookupBit => s.lookup_bit(ctx, x, &table(0, Operand::Within)).await.map(drop),
        }
    }
}
