//! The faults of a program, with messages for its author.

use std::fmt;
use std::sync::Arc;

use crate::column::{self, Column};
use crate::dtype::{Dtype, MAX_BITS, REAL_BOUND, shown};
use crate::interval::Interval;
use crate::keep::Keep;
use crate::lookup_table::MOST_ENTRIES;
use crate::source::Source;

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
pub enum Category {
    /// `ShapeError(ValueError)`
    Shape,
    /// `DtypeError(TypeError)`
    Dtype,
    /// `RangeError(ValueError)`
    Range,
    /// `ConfigError(ValueError)`
    Config,
}

/// A fault of a program. `Display` says what happened and what to do; [`Fault::kind`] returns the exception.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Fault {
    #[error(
        "operands could not be broadcast together with shapes {left} {right}: from the right, sizes must be equal or 1"
    )]
    Broadcast { left: Shape, right: Shape },
    #[error("cannot broadcast shape {from} to shape {to}: from the right, sizes must be equal or 1")]
    BroadcastTo { from: Shape, to: Shape },
    #[error("cannot {op} a scalar: an operand needs at least one dimension; use * for a product with a scalar")]
    Scalar { op: &'static str },
    #[error(
        "{op} of shapes {left} and {right}: inner sizes {k_left} and {k_right} differ; they must be equal: transpose \
         or reshape an operand"
    )]
    Inner { op: &'static str, left: Shape, right: Shape, k_left: usize, k_right: usize },
    #[error("dot of shapes {left} and {right}: the right operand may have at most two dimensions; use matmul (@)")]
    DotDimensions { left: Shape, right: Shape },
    #[error("conv2d of images {images} and filters {filters} in {groups} groups: {what}")]
    Conv { images: Shape, filters: Shape, groups: usize, what: &'static str },
    #[error("axis {axis} is out of bounds for an array of dimension {dimensions}: {}", axis_hint(*dimensions))]
    AxisOutOfRange { axis: i64, dimensions: usize },
    #[error(
        "axes {given:?} do not permute an array of dimension {dimensions}: name each axis from 0 to {dimensions} - 1 \
         once"
    )]
    Permutation { given: Vec<i64>, dimensions: usize },
    #[error("cannot reshape an array of size {size} into shape ({}): the sizes must multiply to {size}", list(target))]
    Reshape { size: usize, target: Vec<i64> },
    #[error("cannot reshape into shape ({}): only one size may be -1 and none may be below it", list(target))]
    ReshapeUnknown { target: Vec<i64> },
    #[error(
        "shape {shape} has {}, and the values that were given are {given}: give one for each, or a single one for all",
        counted(*wanted, "element")
    )]
    Count { given: usize, shape: Shape, wanted: usize },
    #[error("{op} of an empty axis has no value: shape {shape}; check that something was selected")]
    EmptyReduction { op: &'static str, shape: Shape },
    #[error("{op} along an axis of {}, more than {dtype} has values: use a wider dtype", counted(*len, "element"))]
    LongLines { op: &'static str, len: usize, dtype: Dtype },
    #[error("party {owner} deals, and cannot prove a choice of one: let another party input it")]
    NoProof { owner: usize },
    #[error("need at least one array to {op}")]
    NothingToJoin { op: &'static str },
    #[error(
        "cannot {op}: shape {shape} (array {position}) does not match shape {first} (array 0); all sizes{} must be \
         equal",
        off_axis(*axis)
    )]
    JoinShapes { op: &'static str, position: usize, shape: Shape, first: Shape, axis: Option<usize> },
    #[error("shuffle of shapes {first} and {shape}: arrays need one axis at least, and equally many rows along it")]
    ShuffleShapes { first: Shape, shape: Shape },
    /// No parts of a client's values, or one of another shape or dtype.
    #[error("the parts of submitted values are arrays of one shape and of {dtype}")]
    SubmittedParts { dtype: Dtype },
    /// Arrays that the entry of clients' values does not take.
    #[error("the entry of clients' values takes arrays of integers without a sign, and bits for their rows")]
    EntryArrays,
    #[error("shuffle of an array of shape {shape}: one that is shuffled has fewer than 2^31 elements")]
    ShuffleLength { shape: Shape },
    #[error("order: keys of {dtype} have no order by opened comparisons: parties may cheat, or rings are narrow")]
    NoOrder { dtype: Dtype },
    #[error(
        "the circuit has {} inputs (of {} bits), and {given} were given: give one array of bits for each",
        wanted.len(),
        list(wanted)
    )]
    CircuitInputs { given: usize, wanted: Vec<u32> },
    #[error(
        "input {position} of the circuit has {}, and shape {shape} was given: the last axis is its wires, the axes \
         before it the batch",
        counted(*width, "bit")
    )]
    CircuitWidth { position: usize, shape: Shape, width: u32 },
    #[error("index {index} (position {position}) is out of bounds for an array of {}", counted(*len, "element"))]
    IndexOutOfRange { index: usize, position: usize, len: usize },
    #[error("shape {shape} has too many elements: an array holds at most 2^48; split it")]
    TooLarge { shape: Shape },
    #[error(
        "shape {shape} has too many elements: beyond 2^32 - 1 arrays are computed element by element and summed, and \
         no elements are moved or compared along an axis; split it"
    )]
    TooLong { shape: Shape },

    #[error(
        "a ring of {} is not supported: with a sign, bits lie between 2 and 120, for instance qr.int(64); one \
         bit without a sign is qr.uint(1), or qr.bit",
        counted(*bits, "bit")
    )]
    Bits { bits: u32 },
    #[error("uint({bits}) is not supported: bits lie between 1 and 120, for instance qr.uint(32)")]
    UnsignedBits { bits: u32 },
    #[error(
        "{dtype} is too wide for {family}, whose rings have at most {most_bits} bits with these options: use a \
             narrower dtype, or mac=64"
    )]
    Ring { dtype: Dtype, family: &'static str, most_bits: u32 },
    #[error("fixed({bits}, {frac}): the fractional bits must be fewer than the bits, for instance qr.fixed(64, 16)")]
    Frac { bits: u32, frac: u32 },
    #[error(
        "cannot {op} {left} and {right}: what holds both takes {bits} bits, and dtypes have at most 120; {}",
        narrowing(*left, *right)
    )]
    NoCommonDtype { op: &'static str, left: Dtype, right: Dtype, bits: u32 },
    #[error("{op} of {left} by {right}: the divisor has more fractional bits; divide x.astype(qr.{right})")]
    FinerDivisor { op: &'static str, left: Dtype, right: Dtype },
    #[error(
        "cannot combine a float constant with {dtype}: give the secret input a fixed-point dtype \
         (dtype=qr.fixed(64, 16)), or use an integer constant"
    )]
    FloatWithInt { dtype: Dtype },
    #[error("{op} works on bits and integers, not on {dtype}: compare first (x > 0 is a bit), or convert (astype)")]
    BitsOnly { op: &'static str, dtype: Dtype },
    #[error("{op} takes integers, not {dtype}: convert first (x.astype(qr.int(64)))")]
    IntegersOnly { op: &'static str, dtype: Dtype },
    #[error("numbers that stand for different things meet: {}", column::difference(left, right))]
    Meanings { left: Arc<Column>, right: Arc<Column> },
    #[error("the condition of a selection must be a bit, not {dtype}: compare first (x != 0 is a bit)")]
    Condition { dtype: Dtype },
    #[error(
        "cannot convert {from} to {to}: {}", without_cast(*to)
    )]
    NoCast { from: Dtype, to: Dtype },
    #[error("{op} of fixed point takes a public divisor; by a secret one it divides with /")]
    SecretDivisor { op: &'static str },
    #[error(
        "input {position} of the circuit takes bits, not {dtype}: x.bits() gives the bits of numbers, lowest first"
    )]
    CircuitBits { position: usize, dtype: Dtype },
    #[error("from_bits takes bits, not {dtype}: x.bits() and comparisons give bits")]
    NotBits { dtype: Dtype },
    #[error(
        "from_bits of shape {shape}: {dtype} needs {} along the last axis, lowest first",
        counted(dtype.bits(), "bit")
    )]
    BitCount { shape: Shape, dtype: Dtype },
    #[error(
        "{op} takes fixed point, not {dtype}: convert first (x.astype(qr.fixed(64, 16))), or give the input that dtype"
    )]
    FixedOnly { op: &'static str, dtype: Dtype },
    #[error(
        "{op} does not take {dtype}: at most {most_frac} fractional bits, and here at least {least} bits in all; \
         convert first, x.astype(qr.{})",
        taken(*dtype, *most_frac, *least)
    )]
    RealDtype { op: &'static str, dtype: Dtype, most_frac: u32, least: u32 },
    #[error(
        "a table of {}: look-ups take from 1 to {} of them; state a smaller domain=, or look up fewer bits of the \
         number (input_bits=)",
        counted(*entries, "entry"),
        MOST_ENTRIES
    )]
    TableSize { entries: usize },
    #[error("{op} is not defined on any value from {lo} to {hi}, where its argument is proven to lie")]
    Domain { op: &'static str, lo: f64, hi: f64 },
    #[error(
        "no result of {op} fits {dtype}: the first operand is proven to lie from {lo} to {hi}; {}",
        wider_or_smaller(*dtype)
    )]
    NoResultFits { op: &'static str, dtype: Dtype, lo: f64, hi: f64 },
    #[error("a bit does not convert to {dtype}, which cannot hold 1.0: use fewer fractional bits")]
    OneDoesNotFit { dtype: Dtype },

    #[error(
        "value {shown} (index {index}) does not fit {dtype}, which holds {}: {}",
        dtype.shown_range(),
        holding(*fits)
    )]
    OutOfRange { index: usize, value: f64, shown: String, dtype: Dtype, fits: Option<Dtype> },
    #[error("{op} of public numbers is {shown}, which does not fit {dtype}: {}", holding(*fits))]
    PublicResult { op: &'static str, dtype: Dtype, shown: String, fits: Option<Dtype> },
    #[error(
        "{op} gives {} (index {}), which {dtype} does not hold{}: {}",
        what.shown,
        what.index,
        kept_whole(what.whole_bits),
        what.advice
    )]
    Leaves { op: &'static str, dtype: Dtype, what: Box<Excess> },
    #[error("{op} gives the stated saturation, not numpy's {numpy} (index {index}, of {of}): {advice}")]
    Saturates { op: &'static str, index: usize, of: String, numpy: &'static str, advice: &'static str },
    #[error(
        "astype rounds towards minus infinity: {from} becomes {to} (index {index}), where numpy gives {numpy}; for \
         numpy's, take y = abs(x).astype(dtype), and of that mpc.where(x < 0, -y, y)"
    )]
    RoundsDown { index: usize, from: String, to: f64, numpy: f64 },
    #[error(
        "{op} is not held to its dtype, for it depends on too many numbers to look at: state bound= of the inputs, or \
         run it in parts"
    )]
    NotLooked { op: &'static str },
    #[error(
        "{op} gives {becomes} where the exact result is {exact} (index {index}), for {dtype} has units of {}: {}",
        shown(dtype.decode(1)),
        keep.advice(op)
    )]
    LosesDigits { op: &'static str, index: usize, exact: String, becomes: String, dtype: Dtype, keep: Keep },
    #[error(
        "{op} gives nothing larger than {} in {dtype}, which has units of {}: {}",
        shown(*largest),
        shown(dtype.decode(1)),
        keep.advice(op)
    )]
    FewBits { op: &'static str, largest: f64, dtype: Dtype, keep: Keep },
    #[error("{op} may leave {dtype}, for nothing says how large its inputs are, and would wrap: {}", ending(*digits))]
    Unbounded { op: &'static str, dtype: Dtype, digits: Option<u32> },
    #[error(
        "value {given} (index {index}) becomes {becomes} in {dtype}, whose unit is {}: scale the values, or use more \
         fractional bits",
        shown(dtype.decode(1))
    )]
    Rounded { index: usize, given: String, becomes: String, dtype: Dtype },
    #[error("value {value} (index {index}) is not a finite number: remove or replace it")]
    NotFinite { index: usize, value: f64 },
    #[error(
        "value {shown} (index {index}) is larger than the stated bound allows ({lo} to {hi}): raise bound= (bound={} \
         holds all)",
        shown_bound(*largest)
    )]
    OutOfBound { index: usize, shown: String, lo: f64, hi: f64, largest: f64 },
    #[error(
        "value {shown} (index {index}) is none from {lo} to {hi}, as bound= states: widen bound= (bound=({}, {}) holds \
         all)",
        lowest.floor(),
        highest.ceil()
    )]
    OutOfBounds { index: usize, shown: String, lo: f64, hi: f64, lowest: f64, highest: f64 },
    #[error(
        "value {shown} (index {index}) is larger than reals may be that have neither a bound nor a dtype ({}): state \
         bound={}",
        REAL_BOUND,
        shown_bound(*largest)
    )]
    BeyondReals { index: usize, shown: String, largest: f64 },
    #[error(
        "bound {} is not a magnitude that {dtype} can hold ({}): state the largest absolute value of the input",
        shown(*bound),
        dtype.shown_range()
    )]
    Bound { bound: f64, dtype: Dtype },
    #[error(
        "bounds {} and {} are not a lowest and a highest value that {dtype} can hold ({}): state the lowest value of \
         the input first, then the highest",
        shown(*low),
        shown(*high),
        dtype.shown_range()
    )]
    Bounds { low: f64, high: f64, dtype: Dtype },
    #[error("shift by {} of {dtype}: the shift must lie between 0 and {}", counted(*shift, "bit"), dtype.bits() - 1)]
    Shift { shift: i64, dtype: Dtype },
    #[error(
        "{op} may leave {dtype}: {possible} and it holds {}; {}",
        dtype.shown_range(),
        smaller_or_wider(*dtype)
    )]
    MayOverflow { op: &'static str, dtype: Dtype, possible: String },
    #[error("{op} by zero has no value: check the divisors")]
    ZeroDivisor { op: &'static str },
    #[error("{op} of {dtype} by a negative number: convert first (x.astype(qr.int({})))", dtype.bits() + 1)]
    NegativeDivisor { op: &'static str, dtype: Dtype },
    #[error(
        "% by a number so large that remainders do not fit {dtype}, which holds {}: {}",
        dtype.shown_range(),
        wider_or_smaller(*dtype)
    )]
    Remainder { dtype: Dtype },
    #[error("strict mode needs the range of every input: state the largest magnitude (bound=)")]
    BoundRequired,

    #[error("owner {owner} does not exist: this session has parties {}", list(&(0..*parties).collect::<Vec<_>>()))]
    Owner { owner: usize, parties: usize },
    #[error("node {node} is not part of this program, which has {nodes}: an array of another session was used")]
    UnknownNode { node: u32, nodes: usize },
    #[error("a program holds at most 2^32 - 1 operations: reveal and start a new session")]
    TooManyNodes,
}

fn axis_hint(dimensions: usize) -> String {
    match dimensions {
        0 => "a scalar has no axes".into(),
        n => format!("it lies between -{n} and {}", n - 1),
    }
}

/// Returns the dtype that a function supports.
fn taken(dtype: Dtype, most_frac: u32, least: u32) -> Dtype {
    let frac = dtype.frac().min(most_frac);
    let needed = (dtype.bits() - dtype.frac() + frac).max(least.min(frac + 8));
    let bits = crate::dtype::USUAL_BITS.into_iter().find(|&bits| bits >= needed).unwrap_or(MAX_BITS);
    Dtype::Fixed { bits, frac }
}

/// Returns advice where a number cannot be converted to `to`.
fn without_cast(to: Dtype) -> String {
    match to {
        Dtype::Bit => "numbers do not become bits by astype; compare (x != 0 is a bit), or take x.bits()".into(),
        _ => format!("it may not fit; convert it first (x.astype(qr.{to}))"),
    }
}

/// Returns advice for a dtype that holds a value that another one does not.
fn holding(fits: Option<Dtype>) -> String {
    fits.map_or("no dtype holds it: scale the values".into(), |dtype| format!("use dtype=qr.{dtype}"))
}

/// Returns advice for two dtypes that need a common one.
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

/// Returns advice for values that do not fit: a wider dtype, if there is one.
fn wider_or_smaller(dtype: Dtype) -> String {
    match dtype.bits() {
        MAX_BITS.. => "no dtype is wider: scale the values".into(),
        bits => format!("use a wider dtype (qr.{})", dtype.with_bits(if bits < 64 { 64 } else { MAX_BITS })),
    }
}

impl Fault {
    /// Returns the fault of a part of an input, whose first element is number `first` of the input.
    #[must_use]
    pub fn from_element(mut self, first: usize) -> Fault {
        match &mut self {
            Fault::OutOfRange { index, .. }
            | Fault::NotFinite { index, .. }
            | Fault::Rounded { index, .. }
            | Fault::BeyondReals { index, .. }
            | Fault::OutOfBound { index, .. }
            | Fault::OutOfBounds { index, .. } => *index += first,
            _ => {}
        }
        self
    }
}

/// Formats a count with its noun: "1 bit", "8 bits", "0 entries".
fn counted(count: impl ToString, what: &str) -> String {
    match (count.to_string().as_str(), what.strip_suffix('y')) {
        ("1", _) => format!("1 {what}"),
        (count, Some(stem)) => format!("{count} {stem}ies"),
        (count, None) => format!("{count} {what}s"),
    }
}

/// Returns advice for results that may not fit, where bounds are stated: smaller bounds, or a wider dtype.
fn smaller_or_wider(dtype: Dtype) -> String {
    match dtype.bits() {
        MAX_BITS.. => "state smaller bounds (bound=), clip the values, or scale them: no dtype is wider".into(),
        _ => "state smaller bounds or use a wider dtype".into(),
    }
}

/// Returns the remark that fixed point needs room before its surplus bits are dropped.
fn kept_whole(whole_bits: Option<u32>) -> String {
    whole_bits.map_or(String::new(), |bits| format!(" before its surplus fractional bits are dropped ({bits} bits)"))
}

/// Returns the bound, 10 to the power of `digits`, that ends the warning of unbounded inputs.
fn ending(digits: Option<u32>) -> String {
    match digits {
        Some(digits @ 0..5) => format!("state bound= of the inputs; up to bound={} it fits", 10u32.pow(digits)),
        Some(digits) => format!("state bound= of the inputs; up to bound=1e{digits} it fits"),
        None => "no bound= of the inputs proves that it fits: clip what it works on, or use a wider dtype with bound="
            .into(),
    }
}

/// Formats a bound as it is written in a program.
fn shown_bound(largest: f64) -> String {
    match largest {
        ..1e15 => format!("{}", largest.ceil()),
        _ => format!("{:e}", 10f64.powf(largest.log10().ceil())),
    }
}

/// A value that leaves its dtype.
#[derive(Clone, Debug, PartialEq)]
pub struct Excess {
    pub index: usize,
    pub shown: String,
    /// For fixed point: the bits that would hold it before its surplus fractional bits are dropped.
    pub whole_bits: Option<u32>,
    pub advice: Advice,
}

/// Advice where a value leaves its dtype.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Advice {
    /// State the dtype `to` for inputs that have the dtype `from`.
    Inputs { from: Dtype, to: Dtype },
    /// Convert the operation's operands to this dtype.
    Operands(Dtype),
    /// Use this dtype in place of the conversion's.
    Target(Dtype),
    /// No dtype holds the value.
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
    /// Returns the exception that this fault becomes.
    pub fn kind(&self) -> Category {
        match self {
            Fault::Broadcast { .. }
            | Fault::BroadcastTo { .. }
            | Fault::Scalar { .. }
            | Fault::Inner { .. }
            | Fault::Conv { .. }
            | Fault::DotDimensions { .. }
            | Fault::AxisOutOfRange { .. }
            | Fault::Permutation { .. }
            | Fault::Reshape { .. }
            | Fault::ReshapeUnknown { .. }
            | Fault::Count { .. }
            | Fault::EmptyReduction { .. }
            | Fault::LongLines { .. }
            | Fault::NothingToJoin { .. }
            | Fault::JoinShapes { .. }
            | Fault::ShuffleShapes { .. }
            | Fault::SubmittedParts { .. }
            | Fault::EntryArrays
            | Fault::ShuffleLength { .. }
            | Fault::NoOrder { .. }
            | Fault::CircuitInputs { .. }
            | Fault::CircuitWidth { .. }
            | Fault::IndexOutOfRange { .. }
            | Fault::BitCount { .. }
            | Fault::TooLarge { .. }
            | Fault::TooLong { .. } => Category::Shape,
            Fault::Bits { .. }
            | Fault::UnsignedBits { .. }
            | Fault::Ring { .. }
            | Fault::Frac { .. }
            | Fault::NoCommonDtype { .. }
            | Fault::FinerDivisor { .. }
            | Fault::FloatWithInt { .. }
            | Fault::BitsOnly { .. }
            | Fault::IntegersOnly { .. }
            | Fault::Condition { .. }
            | Fault::NoCast { .. }
            | Fault::FixedOnly { .. }
            | Fault::NotBits { .. }
            | Fault::Meanings { .. }
            | Fault::CircuitBits { .. }
            | Fault::SecretDivisor { .. }
            | Fault::RealDtype { .. }
            | Fault::OneDoesNotFit { .. } => Category::Dtype,
            Fault::OutOfRange { .. }
            | Fault::Rounded { .. }
            | Fault::NotFinite { .. }
            | Fault::OutOfBound { .. }
            | Fault::OutOfBounds { .. }
            | Fault::BeyondReals { .. }
            | Fault::PublicResult { .. }
            | Fault::Leaves { .. }
            | Fault::Saturates { .. }
            | Fault::RoundsDown { .. }
            | Fault::NotLooked { .. }
            | Fault::LosesDigits { .. }
            | Fault::FewBits { .. }
            | Fault::Unbounded { .. }
            | Fault::Bound { .. }
            | Fault::Bounds { .. }
            | Fault::Shift { .. }
            | Fault::MayOverflow { .. }
            | Fault::Domain { .. }
            | Fault::NoResultFits { .. }
            | Fault::TableSize { .. }
            | Fault::ZeroDivisor { .. }
            | Fault::NegativeDivisor { .. }
            | Fault::Remainder { .. }
            | Fault::BoundRequired => Category::Range,
            Fault::Owner { .. } | Fault::NoProof { .. } | Fault::UnknownNode { .. } | Fault::TooManyNodes => {
                Category::Config
            }
        }
    }

    pub(crate) fn public_result(op: &'static str, dtype: Dtype, units: &[i128]) -> Fault {
        let range = dtype.range();
        let first = units.iter().copied().find(|&v| !range.contains(v)).unwrap_or_default();
        let shown = if dtype.is_fixed() { shown(dtype.decode(first)) } else { first.to_string() };
        Fault::PublicResult { op, dtype, shown, fits: dtype.holding(Interval::spanning(units)) }
    }

    /// Returns the fault for results that lie in `reach` before `shift` surplus fractional bits are dropped; their ring
    /// must hold them whole.
    pub(crate) fn may_overflow(op: &'static str, dtype: Dtype, reach: Interval, shift: u32) -> Fault {
        let (results, bits) = (reach.shr(shift), reach.signed_bits());
        let beyond_all = !Interval::signed(MAX_BITS).covers(results);
        let values = match beyond_all {
            true => "values beyond all dtypes are possible".into(),
            false => {
                let (lo, hi) = (dtype.shown_units(results.lo()), dtype.shown_units(results.hi()));
                format!("values from {lo} to {hi} are possible")
            }
        };
        let possible = match shift > 0 && !beyond_all {
            true => format!("{values}, which take {bits} bits before their surplus fractional bits are dropped,"),
            false => values,
        };
        Fault::MayOverflow { op, dtype, possible }
    }
}

/// A fault with the user's line at which it occurred. The graph is as it was before the call.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{fault} (at {at})")]
pub struct BuildError {
    pub fault: Box<Fault>,
    pub at: Source,
}

impl BuildError {
    /// Returns the error of this fault at this place.
    pub fn new(fault: Fault, at: Source) -> BuildError {
        BuildError { fault: Box::new(fault), at }
    }

    /// Returns the exception that this error becomes.
    pub fn kind(&self) -> Category {
        self.fault.kind()
    }
}
