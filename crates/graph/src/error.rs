//! What can be wrong with a program, in the words that its author reads.

use std::fmt;

use crate::dtype::{Dtype, MAX_BITS, shown};
use crate::interval::Interval;
use crate::node::Source;

/// A shape as Python prints it: `()`, `(3,)`, `(3, 4)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape(pub Vec<usize>);

impl From<&[usize]> for Shape {
    fn from(shape: &[usize]) -> Shape {
        Shape(shape.to_vec())
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [one] => write!(f, "({one},)"),
            all => write!(f, "({})", list(all)),
        }
    }
}

fn list<T: fmt::Display>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

/// The exception that a fault becomes in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `ShapeError(ValueError)`
    Shape,
    /// `DtypeError(TypeError)`
    Dtype,
    /// `RangeError(ValueError)`
    Range,
    /// `ConfigError(ValueError)`
    Config,
}

/// What is wrong. `Display` says what happened and what to do; [`Fault::kind`] says which exception it is.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Fault {
    /// Two operands whose shapes have no common one.
    #[error(
        "operands could not be broadcast together with shapes {left} {right}: from the right, sizes must be equal or 1"
    )]
    Broadcast {
        /// Of the first operand.
        left: Shape,
        /// Of the second operand.
        right: Shape,
    },
    /// An array that does not broadcast to the shape that was asked for.
    #[error("cannot broadcast shape {from} to shape {to}: from the right, sizes must be equal or 1")]
    BroadcastTo {
        /// Of the array.
        from: Shape,
        /// What was asked for.
        to: Shape,
    },
    /// A product of matrices or vectors with an operand that has no dimension.
    #[error("cannot {op} a scalar: an operand needs at least one dimension; use * for a product with a scalar")]
    Scalar {
        /// The operation, as messages call it.
        op: &'static str,
    },
    /// A product whose operands differ in the size that is summed over.
    #[error(
        "{op} of shapes {left} and {right}: inner sizes {k_left} and {k_right} differ; they must be equal: transpose or reshape an operand"
    )]
    Inner {
        /// The operation, as messages call it.
        op: &'static str,
        /// Of the first operand.
        left: Shape,
        /// Of the second operand.
        right: Shape,
        /// Columns of the first operand.
        k_left: usize,
        /// Rows of the second operand.
        k_right: usize,
    },
    /// A `dot` whose right operand has more than two dimensions.
    #[error("dot of shapes {left} and {right}: the right operand may have at most two dimensions; use matmul (@)")]
    DotDimensions {
        /// Of the first operand.
        left: Shape,
        /// Of the second operand.
        right: Shape,
    },
    /// An axis that the array does not have.
    #[error("axis {axis} is out of bounds for an array of dimension {dimensions}: {}", axis_hint(*dimensions))]
    AxisOutOfRange {
        /// As given; negative ones count from the last axis.
        axis: i64,
        /// How many axes the array has.
        dimensions: usize,
    },
    /// A transposition whose axes are not each axis once.
    #[error(
        "axes {given:?} do not permute an array of dimension {dimensions}: name each axis from 0 to {dimensions} - 1 once"
    )]
    Permutation {
        /// The axes, as given.
        given: Vec<i64>,
        /// How many axes the array has.
        dimensions: usize,
    },
    /// A reshape that changes the number of elements.
    #[error("cannot reshape an array of size {size} into shape ({}): the sizes must multiply to {size}", list(target))]
    Reshape {
        /// Elements of the array.
        size: usize,
        /// The sizes asked for; -1 is the one to be found.
        target: Vec<i64>,
    },
    /// A reshape to several unknown sizes, or to a negative one.
    #[error("cannot reshape into shape ({}): only one size may be -1 and none may be below it", list(target))]
    ReshapeUnknown {
        /// The sizes asked for; -1 is one to be found.
        target: Vec<i64>,
    },
    /// Not as many values as the shape has elements, nor one for all.
    #[error(
        "{given} values were given for shape {shape}, which has {wanted} elements: give one for each, or a single one for all"
    )]
    Count {
        /// How many values there were.
        given: usize,
        /// What they were to fill.
        shape: Shape,
        /// Elements of that shape.
        wanted: usize,
    },
    /// A maximum, a mean or the like of no elements.
    #[error("{op} of an empty axis has no value: shape {shape}; check that something was selected")]
    EmptyReduction {
        /// The reduction, as messages call it.
        op: &'static str,
        /// Of the operand, one of whose sizes is 0.
        shape: Shape,
    },
    /// An empty list of arrays to join.
    #[error("need at least one array to {op}")]
    NothingToJoin {
        /// `concatenate` or `stack`.
        op: &'static str,
    },
    /// Arrays to join whose sizes differ where they must not.
    #[error("cannot {op}: shape {shape} (array {position}) does not match shape {first} (array 0); all sizes{} must be equal", off_axis(*axis))]
    JoinShapes {
        /// `concatenate` or `stack`.
        op: &'static str,
        /// Which of the arrays is the first that does not match, from 0.
        position: usize,
        /// Of that array.
        shape: Shape,
        /// Of array 0.
        first: Shape,
        /// The axis along which sizes may differ; `None`: nowhere.
        axis: Option<usize>,
    },
    /// Arrays to shuffle together of which one has no axis, or another number of rows.
    #[error("shuffle of shapes {first} and {shape}: arrays need one axis at least, and equally many rows along it")]
    ShuffleShapes {
        /// Of array 0.
        first: Shape,
        /// Of an array that does not go with it.
        shape: Shape,
    },
    /// Not as many arrays as the circuit has groups of inputs.
    #[error("the circuit has {} inputs (of {} bits), and {given} were given: give one array of bits for each", wanted.len(), list(wanted))]
    CircuitInputs {
        /// How many arrays there were.
        given: usize,
        /// The wires of each group.
        wanted: Vec<u32>,
    },
    /// An input whose last axis is not as long as its group of wires.
    #[error(
        "input {position} of the circuit has {width} bits, and shape {shape} was given: the last axis is its wires, the axes before it the batch"
    )]
    CircuitWidth {
        /// Which input of the circuit, from 0.
        position: usize,
        /// Of the array that was given for it.
        shape: Shape,
        /// Wires of the group.
        width: u32,
    },
    /// An index that the array does not have.
    #[error("index {index} (position {position}) is out of bounds for an array of {len} elements")]
    IndexOutOfRange {
        /// The index itself.
        index: usize,
        /// Where it stands among the indices, from 0.
        position: usize,
        /// Elements of the array.
        len: usize,
    },
    /// An array of more than 2^32 - 1 elements.
    #[error("shape {shape} has too many elements: an array holds at most 2^32 - 1; split it")]
    TooLarge {
        /// Of the array that would be.
        shape: Shape,
    },

    /// A width that signed numbers cannot have.
    #[error(
        "a ring of {bits} bits is not supported: with a sign, bits lie between 2 and 120, for instance qr.int(64); one bit without a sign is qr.uint(1), or qr.bit"
    )]
    Bits {
        /// What was asked for.
        bits: u32,
    },
    /// A width that unsigned integers cannot have.
    #[error("uint({bits}) is not supported: bits lie between 1 and 120, for instance qr.uint(32)")]
    UnsignedBits {
        /// What was asked for.
        bits: u32,
    },
    /// Fixed point without a bit before the point.
    #[error("fixed({bits}, {frac}): the fractional bits must be fewer than the bits, for instance qr.fixed(64, 16)")]
    Frac {
        /// Bits in all.
        bits: u32,
        /// How many of them are fractional.
        frac: u32,
    },
    /// Operands of dtypes that no dtype holds both of.
    #[error(
        "cannot {op} {left} and {right}: what holds both takes {bits} bits, and dtypes have at most 120; {}",
        narrowing(*left, *right)
    )]
    NoCommonDtype {
        /// The operation, as messages call it.
        op: &'static str,
        /// Of the first operand.
        left: Dtype,
        /// Of the second operand.
        right: Dtype,
        /// What a dtype for both would need, above 120.
        bits: u32,
    },
    /// A floor division or remainder of fixed point by a finer one.
    #[error("{op} of {left} by {right}: the divisor has more fractional bits; divide x.astype(qr.{right})")]
    FinerDivisor {
        /// The operation, as messages call it.
        op: &'static str,
        /// Of the dividend.
        left: Dtype,
        /// Of the divisor, with more fractional bits.
        right: Dtype,
    },
    /// Real numbers for a dtype that is not fixed point.
    #[error(
        "cannot combine a float constant with {dtype}: give the secret input a fixed-point dtype (dtype=qr.fixed(64, 16)), or use an integer constant"
    )]
    FloatWithInt {
        /// That dtype: integers or bits.
        dtype: Dtype,
    },
    /// A logical operation on fixed point.
    #[error("{op} works on bits and integers, not on {dtype}: compare first (x > 0 is a bit), or convert (astype)")]
    BitsOnly {
        /// The operation, as messages call it.
        op: &'static str,
        /// Of the operand.
        dtype: Dtype,
    },
    /// A selection by what is no bit.
    #[error("the condition of a selection must be a bit, not {dtype}: compare first (x != 0 is a bit)")]
    Condition {
        /// Of the condition.
        dtype: Dtype,
    },
    /// A conversion that is not possible.
    #[error(
        "cannot convert {from} to {to}: {}", without_cast(*to)
    )]
    NoCast {
        /// Of the array.
        from: Dtype,
        /// What was asked for.
        to: Dtype,
    },
    /// A floor division or remainder of fixed point by a secret number.
    #[error("{op} of fixed point takes a public divisor; by a secret one it divides with /")]
    SecretDivisor {
        /// The operation, as messages call it.
        op: &'static str,
    },
    /// An input of a circuit that is not made of bits.
    #[error(
        "input {position} of the circuit takes bits, not {dtype}: x.bits() gives the bits of numbers, lowest first"
    )]
    CircuitBits {
        /// Which input of the circuit, from 0.
        position: usize,
        /// Of the array that was given for it.
        dtype: Dtype,
    },
    /// Numbers to be composed of what is no bit.
    #[error("from_bits takes bits, not {dtype}: x.bits() and comparisons give bits")]
    NotBits {
        /// Of the operand.
        dtype: Dtype,
    },
    /// Numbers to be composed of too many or too few bits.
    #[error("from_bits of shape {shape}: {dtype} needs {} bits along the last axis, lowest first", dtype.bits())]
    BitCount {
        /// Of the bits.
        shape: Shape,
        /// Of the numbers, which says how many bits each needs.
        dtype: Dtype,
    },
    /// An operation of fixed point alone, on integers or bits.
    #[error(
        "{op} takes fixed point, not {dtype}: convert first (x.astype(qr.fixed(64, 16))), or give the input that dtype"
    )]
    FixedOnly {
        /// The operation, as messages call it.
        op: &'static str,
        /// Of the operand.
        dtype: Dtype,
    },
    /// A real function of fixed point with too few bits, or too many fractional ones.
    #[error(
        "{op} does not take {dtype}: at most 16 fractional bits, and here at least {least} bits in all; use qr.fixed(64, 16)"
    )]
    RealDtype {
        /// The function, as messages call it.
        op: &'static str,
        /// Of the operand.
        dtype: Dtype,
        /// The fewest bits that a dtype with as many fractional bits may have here.
        least: u32,
    },
    /// A function whose argument is proven to lie outside its domain.
    #[error("{op} is not defined on any value from {lo} to {hi}, where its argument is proven to lie")]
    Domain {
        /// The function, as messages call it.
        op: &'static str,
        /// The least argument that is possible, in the user's units.
        lo: f64,
        /// The largest argument that is possible, in the user's units.
        hi: f64,
    },
    /// An operation none of whose possible results fit their dtype.
    #[error("no result of {op} fits {dtype}: the first operand is proven to lie from {lo} to {hi}; {}", wider_or_smaller(*dtype))]
    NoResultFits {
        /// The operation, as messages call it.
        op: &'static str,
        /// Of the results.
        dtype: Dtype,
        /// The least first operand that is possible, in the user's units.
        lo: f64,
        /// The largest first operand that is possible, in the user's units.
        hi: f64,
    },
    /// A bit converted to fixed point whose numbers are all below 1.
    #[error("a bit does not convert to {dtype}, which cannot hold 1.0: use fewer fractional bits")]
    OneDoesNotFit {
        /// What was asked for.
        dtype: Dtype,
    },

    /// An input that its dtype does not hold.
    #[error("value {shown} (index {index}) does not fit {dtype}, which holds {}: {}", dtype.shown_range(), holding(*fits))]
    OutOfRange {
        /// Position of the first such value in the flattened input, from 0.
        index: usize,
        /// That value, rounded to a double, in the user's units.
        value: f64,
        /// The same as messages have it: integers with all digits.
        shown: String,
        /// Of the input.
        dtype: Dtype,
        /// A dtype that holds the whole input, if there is one.
        fits: Option<Dtype>,
    },
    /// An operation on public numbers alone, of which some result does not fit.
    #[error("{op} of public numbers is {shown}, which does not fit {dtype}: {}", holding(*fits))]
    PublicResult {
        /// The operation, as messages call it.
        op: &'static str,
        /// Of the results.
        dtype: Dtype,
        /// The first result that does not fit, in the user's units.
        shown: String,
        /// A dtype that holds all results, if there is one.
        fits: Option<Dtype>,
    },
    /// A result that left its dtype in a run that was looked at in the clear.
    #[error("{op} gives {} (index {}), which {dtype} does not hold{}: {}", what.shown, what.index, kept_whole(what.whole_bits), what.advice)]
    Leaves {
        /// The operation, as messages call it.
        op: &'static str,
        /// Of the result.
        dtype: Dtype,
        /// Which value, and what to do.
        what: Box<Excess>,
    },
    /// A result that is the stated one at the edge of its dtype or outside of a function's domain, not numpy's.
    #[error("{op} gives the stated saturation, not numpy's {numpy} (index {index}, of {of}): {advice}")]
    Saturates {
        /// The operation, as messages call it.
        op: &'static str,
        /// Position of the first such element, from 0.
        index: usize,
        /// Its operands, as messages have them.
        of: String,
        /// What numpy gives there, in words.
        numpy: &'static str,
        /// What to do, in the imperative.
        advice: &'static str,
    },
    /// A conversion that drops a fraction of a negative number, where numpy rounds towards 0.
    #[error(
        "astype rounds towards minus infinity: {from} becomes {to} (index {index}), where numpy gives {numpy}; for numpy's, take y = abs(x).astype(dtype), and of that mpc.where(x < 0, -y, y)"
    )]
    RoundsDown {
        /// Position of the first such element, from 0.
        index: usize,
        /// The number before the conversion, in the user's units.
        from: String,
        /// What it becomes: the next lower integer.
        to: f64,
        /// What numpy makes of it: the next higher integer.
        numpy: f64,
    },
    /// A result that may leave its dtype and was not looked at.
    #[error(
        "{op} is not held to its dtype, for it depends on too many numbers to look at: state bound= of the inputs, or run it in parts"
    )]
    NotLooked {
        /// The operation, as messages call it.
        op: &'static str,
    },
    /// A result that may leave its dtype since inputs have no bounds.
    #[error("{op} may leave {dtype}, for nothing says how large its inputs are, and would wrap: {}", ending(*digits))]
    Unbounded {
        /// The operation, as messages call it.
        op: &'static str,
        /// Of the result.
        dtype: Dtype,
        /// The result fits if all inputs are bounded by 10 to this power; `None`: no such bound was found.
        digits: Option<u32>,
    },
    /// A public number that fixed point changes much.
    #[error(
        "value {given} (index {index}) becomes {becomes} in {dtype}, whose unit is {}: scale the values, or use more fractional bits",
        shown(dtype.decode(1))
    )]
    Rounded {
        /// Position of the number among those given, from 0.
        index: usize,
        /// The number before, as messages have it.
        given: String,
        /// The number that is used in its place.
        becomes: String,
        /// What it was rounded to.
        dtype: Dtype,
    },
    /// An infinity or no number at all.
    #[error("value {value} (index {index}) is not a finite number: remove or replace it")]
    NotFinite {
        /// Position among the values given, from 0.
        index: usize,
        /// As given: an infinity or NaN.
        value: f64,
    },
    /// An input beyond the bound that was stated for it.
    #[error("value {shown} (index {index}) is larger than the stated bound allows ({lo} to {hi}): raise bound= (bound={} holds all)", shown_bound(*largest))]
    OutOfBound {
        /// Position of the first such value in the flattened input, from 0.
        index: usize,
        /// That value, in the user's units.
        shown: String,
        /// The least value that the bound allows, in the user's units.
        lo: f64,
        /// The largest value that the bound allows, in the user's units.
        hi: f64,
        /// The largest magnitude in the whole input, in the user's units.
        largest: f64,
    },
    /// An input of neither bound nor dtype beyond what is taken for granted of such.
    #[error("value {shown} (index {index}) is larger than reals may be that have neither a bound nor a dtype ({}): state bound={}", crate::REAL_BOUND, shown_bound(*largest))]
    BeyondReals {
        /// Position of the first such value in the flattened input, from 0.
        index: usize,
        /// That value, in the user's units.
        shown: String,
        /// The largest magnitude in the whole input, in the user's units.
        largest: f64,
    },
    /// A stated bound that is no magnitude its dtype holds.
    #[error("bound {} is not a magnitude that {dtype} can hold ({}): state the largest absolute value of the input", shown(*bound), dtype.shown_range())]
    Bound {
        /// As stated, in the user's units.
        bound: f64,
        /// Of the input.
        dtype: Dtype,
    },
    /// A shift by a negative number of bits, or by as many as the dtype has or more.
    #[error("shift by {shift} bits of {dtype}: the shift must lie between 0 and {}", dtype.bits() - 1)]
    Shift {
        /// Bits, as given.
        shift: i64,
        /// Of the operand.
        dtype: Dtype,
    },
    /// A result that may leave its dtype within the stated bounds.
    #[error("{op} may leave {dtype}: values from {} to {} are possible and it holds {}; {}", shown(*lo), shown(*hi), dtype.shown_range(), smaller_or_wider(*dtype))]
    MayOverflow {
        /// The operation, as messages call it.
        op: &'static str,
        /// Of the result.
        dtype: Dtype,
        /// The least result that is possible, in the user's units.
        lo: f64,
        /// The largest result that is possible, in the user's units.
        hi: f64,
    },
    /// A division by a public 0.
    #[error("{op} by zero has no value: check the divisors")]
    ZeroDivisor {
        /// The operation, as messages call it.
        op: &'static str,
    },
    /// A division of unsigned integers by a public negative number.
    #[error("{op} of {dtype} by a negative number: convert first (x.astype(qr.int({})))", dtype.bits() + 1)]
    NegativeDivisor {
        /// The operation, as messages call it.
        op: &'static str,
        /// Of the dividend.
        dtype: Dtype,
    },
    /// A remainder by a public number so large that what it leaves does not fit.
    #[error("% by a number so large that remainders do not fit {dtype}, which holds {}: {}", dtype.shown_range(), wider_or_smaller(*dtype))]
    Remainder {
        /// Of the result.
        dtype: Dtype,
    },
    /// An input without a bound, in strict mode.
    #[error("strict mode needs the range of every input: state the largest magnitude (bound=)")]
    BoundRequired,

    /// An input of a party that there is not.
    #[error("owner {owner} does not exist: this session has parties {}", list(&(0..*parties).collect::<Vec<_>>()))]
    Owner {
        /// The number of that party.
        owner: usize,
        /// How many parties there are; their numbers start at 0.
        parties: usize,
    },
    /// A node that the program does not have, or no longer.
    #[error("node {node} is not part of this program, which has {nodes}: an array of another session was used")]
    UnknownNode {
        /// Its number.
        node: u32,
        /// How many nodes the program has had so far.
        nodes: usize,
    },
    /// A program that has no number left for another node.
    #[error("a program holds at most 2^32 - 1 operations: reveal and start a new session")]
    TooManyNodes,
}

fn axis_hint(dimensions: usize) -> String {
    match dimensions {
        0 => "a scalar has no axes".into(),
        n => format!("it lies between -{n} and {}", n - 1),
    }
}

/// What to do where a number does not become another.
fn without_cast(to: Dtype) -> String {
    match to {
        Dtype::Bit => "numbers do not become bits by astype; compare (x != 0 is a bit), or take x.bits()".into(),
        _ => format!("it may not fit; convert it first (x.astype(qr.{to}))"),
    }
}

/// A dtype that holds what another does not.
fn holding(fits: Option<Dtype>) -> String {
    fits.map_or("no dtype holds it: scale the values".into(), |dtype| format!("use dtype=qr.{dtype}"))
}

/// How two dtypes come to one that holds both.
fn narrowing(left: Dtype, right: Dtype) -> String {
    let wide = if left.bits() >= right.bits() { left } else { right };
    let whole = |dtype: Dtype| dtype.bits() - dtype.frac();
    let frac = left.frac().max(right.frac());
    match (wide.is_fixed(), left.is_fixed() || right.is_fixed()) {
        (false, true) => format!(
            "if its values fit, convert the wider one (x.astype(qr.int({}))), or state their bound=",
            whole(wide).min(MAX_BITS - frac)
        ),
        (true, true) => format!("if 96 bits are enough, convert both (x.astype(qr.fixed(96, {})))", frac.min(48)),
        _ => "if its values fit, convert the one without a sign (x.astype(qr.int(120)))".into(),
    }
}

/// Advice where a wider dtype would do, if there is one.
fn wider_or_smaller(dtype: Dtype) -> String {
    match dtype.bits() {
        MAX_BITS.. => "no dtype is wider: scale the values".into(),
        bits => format!("use a wider dtype (qr.{})", dtype.with_bits(if bits < 64 { 64 } else { MAX_BITS })),
    }
}

/// The same, where bounds are stated.
fn smaller_or_wider(dtype: Dtype) -> String {
    match dtype.bits() {
        MAX_BITS.. => "state smaller bounds (bound=), clip the values, or scale them: no dtype is wider".into(),
        _ => "state smaller bounds or use a wider dtype".into(),
    }
}

/// That fixed point needs room before its surplus bits are dropped.
fn kept_whole(whole_bits: Option<u32>) -> String {
    whole_bits.map_or(String::new(), |bits| format!(" before its surplus fractional bits are dropped ({bits} bits)"))
}

/// A bound, 10 to so many digits, that ends the warning of unbounded inputs.
fn ending(digits: Option<u32>) -> String {
    match digits {
        Some(digits @ 0..5) => format!("state bound= of the inputs; up to bound={} it fits", 10u32.pow(digits)),
        Some(digits) => format!("state bound= of the inputs; up to bound=1e{digits} it fits"),
        None => "no bound= of the inputs proves that it fits: clip what it works on, or use a wider dtype with bound="
            .into(),
    }
}

/// A bound as one writes it in a program.
fn shown_bound(largest: f64) -> String {
    match largest {
        ..1e15 => format!("{}", largest.ceil()),
        _ => format!("{:e}", 10f64.powf(largest.log10().ceil())),
    }
}

/// A value that leaves its dtype.
#[derive(Clone, Debug, PartialEq)]
pub struct Excess {
    /// Position of the first such element in the flattened result, from 0.
    pub index: usize,
    /// The value as messages have it, in the user's units.
    pub shown: String,
    /// Of fixed point: bits that would hold it before its surplus fractional bits are dropped.
    pub whole_bits: Option<u32>,
    /// What would hold it.
    pub advice: Advice,
}

/// What to do where a value leaves its dtype.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Advice {
    /// Inputs of this dtype, as far as they have it now.
    Inputs {
        /// The dtype that the inputs have.
        from: Dtype,
        /// The dtype that holds the value.
        to: Dtype,
    },
    /// The operation's operands converted to this dtype.
    Operands(Dtype),
    /// The conversion's dtype in place of the one that was asked for.
    Target(Dtype),
    /// Nothing holds it.
    Scale,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Advice::Inputs { from, to } if from.is_fixed() && from.frac() == 16 => {
                write!(f, "give the inputs that are {from} dtype=qr.{to}, or none (qr.real finds its width)")
            }
            Advice::Inputs { from, to } => write!(f, "give the inputs that are {from} dtype=qr.{to}"),
            Advice::Operands(to) => write!(f, "convert what it works on (x.astype(qr.{to}))"),
            Advice::Target(to) => write!(f, "use qr.{to} there"),
            Advice::Scale => write!(f, "no dtype holds it: scale the values"),
        }
    }
}

fn off_axis(axis: Option<usize>) -> String {
    axis.map_or(String::new(), |a| format!(" but that of axis {a}"))
}

impl Fault {
    /// The exception that this fault becomes.
    pub fn kind(&self) -> Kind {
        match self {
            Fault::Broadcast { .. }
            | Fault::BroadcastTo { .. }
            | Fault::Scalar { .. }
            | Fault::Inner { .. }
            | Fault::DotDimensions { .. }
            | Fault::AxisOutOfRange { .. }
            | Fault::Permutation { .. }
            | Fault::Reshape { .. }
            | Fault::ReshapeUnknown { .. }
            | Fault::Count { .. }
            | Fault::EmptyReduction { .. }
            | Fault::NothingToJoin { .. }
            | Fault::JoinShapes { .. }
            | Fault::ShuffleShapes { .. }
            | Fault::CircuitInputs { .. }
            | Fault::CircuitWidth { .. }
            | Fault::IndexOutOfRange { .. }
            | Fault::BitCount { .. }
            | Fault::TooLarge { .. } => Kind::Shape,
            Fault::Bits { .. }
            | Fault::UnsignedBits { .. }
            | Fault::Frac { .. }
            | Fault::NoCommonDtype { .. }
            | Fault::FinerDivisor { .. }
            | Fault::FloatWithInt { .. }
            | Fault::BitsOnly { .. }
            | Fault::Condition { .. }
            | Fault::NoCast { .. }
            | Fault::FixedOnly { .. }
            | Fault::NotBits { .. }
            | Fault::CircuitBits { .. }
            | Fault::SecretDivisor { .. }
            | Fault::RealDtype { .. }
            | Fault::OneDoesNotFit { .. } => Kind::Dtype,
            Fault::OutOfRange { .. }
            | Fault::Rounded { .. }
            | Fault::NotFinite { .. }
            | Fault::OutOfBound { .. }
            | Fault::BeyondReals { .. }
            | Fault::PublicResult { .. }
            | Fault::Leaves { .. }
            | Fault::Saturates { .. }
            | Fault::RoundsDown { .. }
            | Fault::NotLooked { .. }
            | Fault::Unbounded { .. }
            | Fault::Bound { .. }
            | Fault::Shift { .. }
            | Fault::MayOverflow { .. }
            | Fault::Domain { .. }
            | Fault::NoResultFits { .. }
            | Fault::ZeroDivisor { .. }
            | Fault::NegativeDivisor { .. }
            | Fault::Remainder { .. }
            | Fault::BoundRequired => Kind::Range,
            Fault::Owner { .. } | Fault::UnknownNode { .. } | Fault::TooManyNodes => Kind::Config,
        }
    }

    pub(crate) fn public_result(op: &'static str, dtype: Dtype, units: &[i128]) -> Fault {
        let range = dtype.range();
        let first = units.iter().copied().find(|&v| !range.contains(v)).unwrap_or_default();
        let shown = if dtype.is_fixed() { shown(dtype.decode(first)) } else { first.to_string() };
        Fault::PublicResult { op, dtype, shown, fits: dtype.holding(Interval::spanning(units)) }
    }

    pub(crate) fn may_overflow(op: &'static str, dtype: Dtype, reach: Interval) -> Fault {
        Fault::MayOverflow { op, dtype, lo: dtype.decode(reach.lo()), hi: dtype.decode(reach.hi()) }
    }
}

/// A fault and the user's line that has it. The graph is as it was before the call.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{fault} (at {at})")]
pub struct BuildError {
    /// What is wrong.
    pub fault: Fault,
    /// The line of the user's program that it is about.
    pub at: Source,
}

impl BuildError {
    /// The exception that this error becomes.
    pub fn kind(&self) -> Kind {
        self.fault.kind()
    }
}
