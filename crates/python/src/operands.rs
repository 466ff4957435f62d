//! Operands from Python: a node's number, or public numbers as (kind, shape, bytes).

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use quorate_graph::{Dtype, Fault, NodeId, Operand};
use quorate_session::Data;

/// The kinds of numbers that cross the border: `i` for int64, `u` for uint64, `f` for float64, `?` for bool, `w` for integers of
/// 128 bits, little endian.
pub(crate) fn numbers(kind: &str, bytes: &[u8]) -> PyResult<Data> {
    let (words, _) = bytes.as_chunks::<8>();
    match kind {
        "i" => Ok(Data::Ints(words.iter().map(|w| i64::from_le_bytes(*w)).collect())),
        "u" => Ok(Data::Uints(words.iter().map(|w| u64::from_le_bytes(*w)).collect())),
        "f" => Ok(Data::Reals(words.iter().map(|w| f64::from_le_bytes(*w)).collect())),
        "w" => {
            let (words, _) = bytes.as_chunks::<16>();
            Ok(Data::Wide(words.iter().map(|w| i128::from_le_bytes(*w)).collect()))
        }
        "?" => Ok(Data::Bools(bytes.iter().map(|&b| b != 0).collect())),
        other => Err(PyTypeError::new_err(format!("numbers of kind {other:?} are not known"))),
    }
}

/// The bytes of values that leave, with their kind.
pub(crate) fn to_bytes(data: &Data) -> (&'static str, Vec<u8>) {
    match data {
        Data::Ints(values) => ("i", values.iter().flat_map(|v| v.to_le_bytes()).collect()),
        Data::Uints(values) => ("u", values.iter().flat_map(|v| v.to_le_bytes()).collect()),
        Data::Reals(values) => ("f", values.iter().flat_map(|v| v.to_le_bytes()).collect()),
        Data::Wide(values) => ("w", values.iter().flat_map(|v| v.to_le_bytes()).collect()),
        Data::Bools(values) => ("?", values.iter().map(|&v| u8::from(v)).collect()),
    }
}

/// A dtype as (name, bits, fractional bits).
pub(crate) fn dtype(parts: (&str, u32, u32)) -> Result<Dtype, Fault> {
    match parts {
        ("bit", ..) => Ok(Dtype::Bit),
        ("uint", bits, _) => Dtype::uint(bits),
        ("fixed" | "real", bits, frac) => Dtype::fixed(bits, frac),
        (_, bits, _) => Dtype::int(bits),
    }
}

/// Whether a dtype's name is that of reals without a stated width.
pub(crate) fn is_real(parts: (&str, u32, u32)) -> bool {
    parts.0 == "real"
}

/// A dtype's parts.
pub(crate) fn dtype_parts(dtype: Dtype) -> (&'static str, u32, u32) {
    match dtype {
        Dtype::Bit => ("bit", 1, 0),
        Dtype::Int { bits } => ("int", bits, 0),
        Dtype::Uint { bits } => ("uint", bits, 0),
        Dtype::Fixed { bits, frac } => ("fixed", bits, frac),
    }
}

/// A public array on its way into the program.
pub(crate) struct Public {
    shape: Vec<usize>,
    values: Values,
}

enum Values {
    Ints(Vec<i128>),
    Reals(Vec<f64>),
}

/// What an operation works on.
pub(crate) enum Argument {
    Node(NodeId),
    Public(Public),
}

impl Argument {
    pub fn operand(&self) -> Operand<'_> {
        match self {
            Argument::Node(id) => Operand::Node(*id),
            Argument::Public(Public { shape, values: Values::Ints(values) }) => Operand::Ints { shape, values },
            Argument::Public(Public { shape, values: Values::Reals(values) }) => Operand::Reals { shape, values },
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Argument {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(id) = object.extract::<u32>() {
            return Ok(Argument::Node(NodeId(id)));
        }
        let (kind, shape, bytes): (String, Vec<usize>, Vec<u8>) = object.extract()?;
        let values = match &numbers(&kind, &bytes)? {
            Data::Ints(values) => Values::Ints(values.iter().map(|&v| v.into()).collect()),
            Data::Uints(values) => Values::Ints(values.iter().map(|&v| v.into()).collect()),
            Data::Bools(values) => Values::Ints(values.iter().map(|&v| v.into()).collect()),
            Data::Wide(values) => Values::Ints(values.clone()),
            Data::Reals(values) => Values::Reals(values.clone()),
        };
        Ok(Argument::Public(Public { shape, values }))
    }
}
