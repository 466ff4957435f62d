//! Random programs, one step at a time, on arrays of 2 x 2 elements.
#![allow(dead_code)] // each crate uses a part of it

use quorate_graph::{
    BinaryOp as B, BuildError, Builder, Division, Dtype, Give, Graph, NodeId, Operand, Real, Source, UnaryOp,
};

/// Dtypes of inputs and conversions.
pub const DTYPES: [Dtype; 6] = [
    Dtype::Int { bits: 8 },
    Dtype::Int { bits: 20 },
    Dtype::Fixed { bits: 16, frac: 4 },
    Dtype::Bit,
    Dtype::Uint { bits: 7 },
    Dtype::Fixed { bits: 30, frac: 11 },
];
/// The number of kinds of steps whose results are exact, and the number of all kinds.
pub const EXACT: u64 = 44;
pub const KINDS: u64 = 57;

/// Pseudorandom numbers, the same in every run.
pub struct Draws(pub u64);

impl Draws {
    pub fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % count
    }

    pub fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }

    /// Returns a step on some of these arrays, of one of the first `kinds` kinds.
    pub fn step(&mut self, kinds: u64, arrays: &[NodeId]) -> Step {
        let of = [(); 3].map(|()| self.one_of(arrays));
        Step { kind: self.below(kinds), of, number: i128::from(self.below(18)) - 9 }
    }
}

/// A step of a program: the kind of its operation, the arrays that it works on, and a number.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub kind: u64,
    pub of: [NodeId; 3],
    pub number: i128,
}

/// The program to which a step is added, for one of its lines.
struct To<'g>(&'g mut Graph, Source);

type Built = Result<NodeId, BuildError>;

impl Step {
    /// Adds the step to a program.
    ///
    /// # Errors
    /// Those of the builder: dtypes that do not mix are refused.
    pub fn build(self, graph: &mut Graph, at: Source) -> Built {
        let mut p = To(graph, at);
        match self.kind {
            0..EXACT => self.exact(&mut p),
            _ => self.approximate(&mut p),
        }
    }

    fn exact(self, p: &mut To<'_>) -> Built {
        let Step { kind, of: [a, b, c], number: k } = self;
        let (literal, real, axis) = (Operand::int(&k), k as f64 * 0.37, Some((k & 1) as i64));
        let by = |give| Division { give, quotient_bits: None };
        match kind {
            0 => p.at().binary(B::Add, a, b),
            1 => p.at().binary(B::Sub, a, b),
            2 | 3 => p.at().binary(B::Mul, a, b),
            4 => p.at().binary(B::Mul, a, literal),
            5 => p.at().binary(B::Add, a, literal),
            6 => p.at().unary(UnaryOp::Neg, a),
            7 => p.at().shl(a, (k & 3) as i64),
            8 => p.at().shr(a, (k & 3) as i64),
            9 => p.at().binary(B::Lt, a, b),
            10 => p.at().binary(B::Ge, a, literal),
            11 => p.at().binary(B::Ne, a, b),
            12 => p.at().select(c, a, b),
            13 => p.at().matmul(a, b),
            14 => p.at().sum(a, axis, true).and_then(|line| p.whole(line)),
            15 => p.at().max(a, axis, true).and_then(|line| p.whole(line)),
            16 => p.at().min(a, axis, true).and_then(|line| p.whole(line)),
            17 => p.at().argmax(a, axis, true).and_then(|line| p.whole(line)),
            18 => p.at().argmin(a, axis, true).and_then(|line| p.whole(line)),
            19 => p.at().cumsum(a, axis),
            20 => p.at().cast(a, Dtype::Int { bits: 6 + (k & 15) as u32 }),
            21 => p.at().cast(a, DTYPES[k.rem_euclid(6) as usize]),
            22 => p.at().bits(a).and_then(|bits| p.at().gather(bits, vec![3, 1, 0, 2], &[2, 2])),
            23 => {
                let dtype = p.0.node(a).dtype;
                p.at().bits(a).and_then(|bits| p.at().from_bits(bits, dtype))
            }
            24 => p.at().floor_div(a, literal),
            25 => p.at().floor_div(a, literal).and_then(|quotient| p.at().remainder(a, quotient, literal)),
            26 => p.at().binary(B::Mul, a, Operand::real(&real)),
            27 => p.at().divide(a, Operand::real(&real)),
            28 => p.at().int_divide(by(Give::Quotient), a, b),
            29 => p.at().int_divide(by(Give::Remainder), literal, b),
            30 | 31 => p.at().select(c, a, b).and_then(|one| p.at().other(a, b, one)),
            32 => p.at().binary(B::And, a, b),
            33 => p.at().binary(B::Xor, a, b),
            34 => p.at().unary(UnaryOp::Not, a),
            35 => p.at().set_at(a, &[1], &[1], literal),
            36 => p.magnitude(a),
            37 => p.choice(a).and_then(|hot| p.at().matmul(hot, b)),
            38 => p.choice(a).and_then(|hot| p.at().transpose(hot, None)).and_then(|hot| p.at().matmul(b, hot)),
            39 => p.kept_by_choice(a, b),
            40 => p.swapped(a, b, c),
            41 => p.clip(a, k),
            42 => {
                p.at().concat(&[a.into(), b.into()], 0).and_then(|both| p.at().gather(both, vec![7, 0, 4, 3], &[2, 2]))
            }
            _ => p.at().gather(a, vec![3, 3, 0, 1], &[2, 2]),
        }
    }

    /// Adds a step whose result is approximate, random, or in need of an input's bound.
    fn approximate(self, p: &mut To<'_>) -> Built {
        const FUNCTIONS: [Real; 5] = [Real::Exp, Real::Log, Real::Sqrt, Real::Tanh, Real::Reciprocal];
        let Step { kind, of: [a, b, _], number: k } = self;
        match kind - EXACT {
            place @ 0..=4 => p.at().real(FUNCTIONS[place as usize], a),
            5 => p.at().divide(a, b),
            6 => p.at().softmax(a, 1),
            7 => p.at().to_real(a),
            8 => p.at().finer_multiple(a, 2f64.powi(k as i32), 3),
            9 => p.at().round(a),
            10 => p.at().lookup(a, 0, &[3, 1, 4, 1, 5], Dtype::Int { bits: 8 }),
            11 => p.at().places(a),
            _ => p.at().shuffle(&[a, b]).and_then(|both| p.at().part(both, 1)),
        }
    }
}

impl To<'_> {
    fn at(&mut self) -> Builder<'_> {
        self.0.at(self.1.clone())
    }

    fn whole(&mut self, line: NodeId) -> Built {
        self.at().broadcast_to(line, &[2, 2])
    }

    /// Builds rows of bits of which at most one is 1, where two of the numbers are 0 or 1.
    fn choice(&mut self, x: NodeId) -> Built {
        let numbers = self.at().gather(x, vec![0, 3], &[2, 1])?;
        self.at().binary(B::Eq, numbers, Operand::Ints { shape: &[2], values: &[0, 1] })
    }

    fn kept_by_choice(&mut self, x: NodeId, of: NodeId) -> Built {
        let hot = self.choice(x)?;
        let kept = self.at().binary(B::Mul, hot, of)?;
        let sums = self.at().sum(kept, Some(1), true)?;
        self.whole(sums)
    }

    fn magnitude(&mut self, x: NodeId) -> Built {
        let (less, minus) = (self.at().binary(B::Lt, x, Operand::int(&0))?, self.at().unary(UnaryOp::Neg, x)?);
        self.at().select(less, minus, x)
    }

    /// Builds two arrays, exchanged where bits are 1, in one.
    fn swapped(&mut self, a: NodeId, b: NodeId, bits: NodeId) -> Built {
        let one = self.at().select(bits, a, b)?;
        let other = self.at().other(a, b, one)?;
        let both = self.at().concat(&[one.into(), other.into()], 0)?;
        self.at().gather(both, vec![0, 4, 2, 6], &[2, 2])
    }

    fn clip(&mut self, x: NodeId, most: i128) -> Built {
        let below = self.at().binary(B::Lt, x, Operand::int(&most))?;
        self.at().select(below, x, Operand::int(&most))
    }
}
