//! Operands from Python: a node's number, or public numbers as (kind, shape, bytes).

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyTuple};

use quorate_graph::{Dtype, Fault, NodeId, Operand};
use quorate_ring::memory::{OutOfMemory, collected};
use quorate_session::Data;

use crate::errors::{raise, roomy};

/// Reads numbers of a kind: `i` for int64, `u` for uint64, `f` for float64, `?` for bool, `w` for integers of 128 bits,
/// little endian.
pub(crate) fn numbers(kind: &str, bytes: &[u8]) -> PyResult<Data> {
    let (words, _) = bytes.as_chunks::<8>();
    match kind {
        "i" => roomy(|| Data::Ints(collected(words.iter().map(|w| i64::from_le_bytes(*w))))),
        "u" => roomy(|| Data::Uints(collected(words.iter().map(|w| u64::from_le_bytes(*w))))),
        "f" => roomy(|| Data::Reals(collected(words.iter().map(|w| f64::from_le_bytes(*w))))),
        "w" => {
            let (words, _) = bytes.as_chunks::<16>();
            roomy(|| Data::Wide(collected(words.iter().map(|w| i128::from_le_bytes(*w)))))
        }
        "?" => roomy(|| Data::Bools(collected(bytes.iter().map(|&b| b != 0)))),
        other => Err(PyTypeError::new_err(format!("numbers of kind {other:?} are not known"))),
    }
}

/// Reads the values of an input; the copy that they are read from is wiped.
pub(crate) fn secret_numbers(kind: &str, bytes: &Bound<'_, PyByteArray>) -> PyResult<Data> {
    let mut bytes = bytes.to_vec();
    let data = numbers(kind, &bytes);
    bytes.fill(0);
    std::hint::black_box(&bytes);
    data
}

/// Kind and bytes of revealed values.
pub(crate) type Packed<'py> = (&'static str, Bound<'py, PyBytes>);

/// Returns the bytes of values, with their kind.
///
/// # Errors
/// `ResourceError`.
pub(crate) fn to_bytes<'py>(py: Python<'py>, data: &Data) -> PyResult<Packed<'py>> {
    Ok(match data {
        Data::Ints(values) => ("i", written(py, values, i64::to_le_bytes)?),
        Data::Uints(values) => ("u", written(py, values, u64::to_le_bytes)?),
        Data::Reals(values) => ("f", written(py, values, f64::to_le_bytes)?),
        Data::Wide(values) => ("w", written(py, values, i128::to_le_bytes)?),
        Data::Bools(values) => ("?", written(py, values, |value| [u8::from(value)])?),
    })
}

fn written<'py, T: Copy, const N: usize>(
    py: Python<'py>,
    values: &[T],
    bytes: impl Fn(T) -> [u8; N],
) -> PyResult<Bound<'py, PyBytes>> {
    let len = values.len() * N;
    let bytes = PyBytes::new_with(py, len, |out| {
        let (places, _) = out.as_chunks_mut::<N>();
        places.iter_mut().zip(values).for_each(|(place, &value)| *place = bytes(value));
        Ok(())
    });
    bytes.map_err(|_| raise(py, &OutOfMemory { bytes: len }.into()))
}

/// Reads a dtype given as (name, bits, fractional bits).
pub(crate) fn dtype(parts: (&str, u32, u32)) -> Result<Dtype, Fault> {
    match parts {
        ("bit", ..) => Ok(Dtype::Bit),
        ("uint", bits, _) => Dtype::uint(bits),
        ("fixed" | "real", bits, frac) => Dtype::fixed(bits, frac),
        (_, bits, _) => Dtype::int(bits),
    }
}

/// Returns whether a dtype's name is that of reals without a stated width.
pub(crate) fn is_real(parts: (&str, u32, u32)) -> bool {
    parts.0 == "real"
}

/// Returns a dtype as (name, bits, fractional bits).
pub(crate) fn dtype_parts(dtype: Dtype) -> (&'static str, u32, u32) {
    match dtype {
        Dtype::Bit => ("bit", 1, 0),
        Dtype::Int { bits } => ("int", bits, 0),
        Dtype::Uint { bits } => ("uint", bits, 0),
        Dtype::Fixed { bits, frac } => ("fixed", bits, frac),
    }
}

/// A public array that is passed to the program.
pub(crate) struct Public {
    shape: Vec<usize>,
    values: Values,
}

enum Values {
    Ints(Vec<i128>),
    Reals(Vec<f64>),
}

/// An operand of an operation.
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
        if !object.is_instance_of::<PyTuple>() {
            return Ok(Argument::Node(NodeId(object.extract()?)));
        }
        let (kind, shape, bytes): (String, Vec<usize>, Bound<'py, PyBytes>) = object.extract()?;
        let data = numbers(&kind, bytes.as_bytes())?;
        let values = roomy(|| match &data {
            Data::Ints(values) => Values::Ints(collected(values.iter().map(|&v| v.into()))),
            Data::Uints(values) => Values::Ints(collected(values.iter().map(|&v| v.into()))),
            Data::Bools(values) => Values::Ints(collected(values.iter().map(|&v| v.into()))),
            Data::Wide(values) => Values::Ints(collected(values.iter().copied())),
            Data::Reals(values) => Values::Reals(collected(values.iter().copied())),
        })?;
        Ok(Argument::Public(Public { shape, values }))
    }
}
