//! Single operations in each sharing of two parties.
//!
//! **Source**: aby, section V-D, whose Fig. 2 and 3 measure a thousand operations on 32 bits in each sharing, with
//! setup and online phase separate. **Deviation**: comparison and selection are also measured on numbers held as
//! summands; the paper leaves these to the other sharings.

use quorate_circuits::{Bit, Builder, Circuit, Goal, Order, Program, Sign, catalog};
use quorate_crypto::RUN;
use quorate_engine::{Ctx, Result};
use quorate_gadgets::circuit::in_rounds;
use quorate_gadgets::{Computes, Width};
use quorate_ring::Vector;

use crate::output::{Expected, Output};

/// The form of the operands, and of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Held {
    /// Summands; results of comparisons are bits.
    Summands,
    /// Bits, on which a circuit of small depth runs.
    Bits,
    /// Labels of bits, on which a circuit of few ANDs runs that is garbled offline.
    Labels,
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// x + y.
    Add,
    /// x y.
    Mul,
    /// x < y over the full signed range.
    Less,
    /// x = y.
    Equal,
    /// x if its lowest bit is set, else y. For summands, the bit is shared in addition.
    Mux,
    /// x and y, bit by bit.
    And,
}

impl Operation {
    /// Returns the name on the command line.
    pub(crate) fn name(self, held: Held) -> &'static str {
        use {Held::*, Operation::*};
        match (held, self) {
            (Summands, Add) => "a-add",
            (Summands, Mul) => "a-mul",
            (Summands, Less) => "a-cmp",
            (Summands, Equal) => "a-eq",
            (Summands, Mux) => "a-mux",
            (Summands, And) => "a-and",
            (Held::Bits, Add) => "b-add",
            (Held::Bits, Mul) => "b-mul",
            (Held::Bits, Less) => "b-cmp",
            (Held::Bits, Equal) => "b-eq",
            (Held::Bits, Mux) => "b-mux",
            (Held::Bits, And) => "b-and",
            (Labels, Add) => "y-add",
            (Labels, Mul) => "y-mul",
            (Labels, Less) => "y-cmp",
            (Labels, Equal) => "y-eq",
            (Labels, Mux) => "y-mux",
            (Labels, And) => "y-and",
        }
    }

    /// Returns the circuit on the bits of x, followed by those of y.
    pub fn circuit(self, width: u32, goal: Goal) -> Circuit {
        match self {
            Operation::Add => catalog::add(width, goal),
            Operation::Mul => catalog::mul(width, goal),
            Operation::Less => catalog::less_than(width, Sign::Signed, goal),
            Operation::Equal => catalog::equal(width),
            Operation::Mux => of_words(width, |b, x, y| b.mux(x[0], x, y)),
            Operation::And => of_words(width, |b, x, y| b.and_words(x, y)),
        }
    }

    /// Returns the circuit for rounds of shared bits.
    pub(crate) fn in_rounds(self, width: u32) -> Program {
        in_rounds(&self.circuit(width, Goal::Depth))
    }

    /// Returns the circuit for garbling.
    pub(crate) fn garbled(self, width: u32) -> Program {
        Program::new(&self.circuit(width, Goal::Size), Order::Runs(RUN))
    }

    /// Runs the operation on numbers as summands; `bit` is that of [`Operation::Mux`].
    pub(crate) async fn on_summands<S: Computes>(
        self,
        s: &S,
        ctx: &Ctx,
        (x, y): (&S::A, &S::A),
        bit: &S::B,
    ) -> Result<Output<S>> {
        Ok(match self {
            Operation::Add => Output::Values(s.add(x, y)),
            Operation::Mul => Output::Values(s.mul(ctx, x, y).await?),
            Operation::Less => Output::Bits(s.lt(ctx, x, y, Width::Full).await?),
            Operation::Equal => Output::Bits(s.eqz(ctx, &s.sub(x, y)).await?),
            Operation::Mux => Output::Values(s.mux(ctx, bit, x, y).await?),
            Operation::And => {
                let [x, y] = [s.bit_decompose(ctx, x).await?, s.bit_decompose(ctx, y).await?];
                Output::Bits(s.and(ctx, &x, &y).await?)
            }
        })
    }

    /// Returns the result of plain arithmetic on numbers of this many bits.
    pub(crate) fn expected(
        self,
        held: Held,
        numbers: (&[i64], &[i64]),
        elements: impl Fn(&[i64]) -> Vector,
    ) -> Expected {
        let pairs = || numbers.0.iter().zip(numbers.1);
        let all = |of: fn(i64, i64) -> i64| elements(&pairs().map(|(&x, &y)| of(x, y)).collect::<Vec<_>>());
        let result = match self {
            Operation::Less => return Expected::Bits(pairs().map(|(x, y)| x < y).collect()),
            Operation::Equal => return Expected::Bits(pairs().map(|(x, y)| x == y).collect()),
            Operation::Add => all(i64::wrapping_add),
            Operation::Mul => all(i64::wrapping_mul),
            Operation::Mux => all(|x, y| if x & 1 == 1 { x } else { y }),
            Operation::And => all(|x, y| x & y),
        };
        match held {
            // The result of an AND of numbers stays bits.
            Held::Summands if self != Operation::And => Expected::Values(result.to_u64s()),
            _ => Expected::Bits(result.to_bits(0..result.ring().bits()).to_bools()),
        }
    }
}

fn of_words(width: u32, build: impl FnOnce(&mut Builder, &[Bit], &[Bit]) -> Vec<Bit>) -> Circuit {
    let mut b = Builder::new();
    let (x, y) = (b.input(width), b.input(width));
    let result = build(&mut b, &x, &y);
    b.finish(&[&result]).expect("a circuit of two words is small")
}
