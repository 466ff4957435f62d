//! The rules by which a program is built: what is an error, what is reported, and what its family can run.

use crate::dtype::Dtype;

/// The rules by which a program is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Whether a possible overflow, or an input without a bound, is an error instead of a warning.
    pub strict: bool,
    /// The truncation of products of fixed point.
    pub truncation: Truncation,
    /// The results that are reported if they are not proven to fit.
    pub watch: Watch,
    /// Whether repetitions of steps are counted ([`Graph::repetitions`](crate::Graph::repetitions)).
    pub counts_steps: bool,
    /// The rings of the family that runs the program.
    pub rings: Rings,
    /// The party whose one-hot inputs cannot be proven, in families that prove such inputs.
    pub proves_nothing: Option<usize>,
    /// Whether programs mark values as factors of several products ([`Op::AsFactor`](crate::Op::AsFactor)), for
    /// families that then send less.
    pub keeps_factors: bool,
    /// Whether steps may run in garbled circuits.
    pub may_garble: bool,
    /// Whether places and divisors are proven to lie within stated bounds of inputs, because parties may cheat.
    pub proves_bounds: bool,
}

/// The rings of a family, as it states them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rings {
    /// The name of the family.
    pub family: &'static str,
    /// The largest number of bits of a ring over which it makes correlations, at most 126.
    pub most_bits: u32,
}

impl Rings {
    /// Returns the dtype of counts and positions: int(64), or as wide as the family supports.
    pub fn whole(self) -> Dtype {
        Dtype::Int { bits: self.most_bits.min(Dtype::INT64.bits()) }
    }
}

impl Default for Rings {
    /// Returns the rings of a program that is not run by any family.
    fn default() -> Self {
        Rings { family: "no protocol", most_bits: 126 }
    }
}

/// Which results that are not proven to fit their dtype are reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Watch {
    /// Only those that stated bounds allow to leave it.
    #[default]
    Stated,
    /// All of them, while the program is built, once for each line.
    Program,
    /// When the program runs, those whose values leave their dtype ([`Checker`](crate::Checker)). Results that stated
    /// bounds allow to leave it are reported while building.
    Values,
}

/// The truncation of products of fixed point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Truncation {
    /// Rounded down, whatever the value.
    #[default]
    Exact,
    /// Rounded down or up, in one round, where the value is at most a quarter of the ring's size.
    Probabilistic,
}
