//! Values outside the protocol: in the user's units, and as ring elements.

use std::ops::Range;
use std::sync::Arc;

use quorate_graph::{BuildError, Dtype, Fault, Graph, Interval, MAX_BITS, NodeId, Units};
use quorate_ring::{Bits, Ring, Vector, memory};

/// An array's values, flattened, in the user's units. Wiped when dropped, since they may be a party's secret input.
#[derive(Clone, PartialEq)]
pub enum Data {
    /// Signed integers of at most 64 bits.
    Ints(Vec<i64>),
    /// Unsigned integers.
    Uints(Vec<u64>),
    /// Real numbers: the user's units of fixed point.
    Reals(Vec<f64>),
    /// Bits.
    Bools(Vec<bool>),
    /// Integers of more than 64 bits.
    Wide(Vec<i128>),
}

impl Data {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match self {
            Data::Ints(v) => v.len(),
            Data::Uints(v) => v.len(),
            Data::Reals(v) => v.len(),
            Data::Bools(v) => v.len(),
            Data::Wide(v) => v.len(),
        }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        match self {
            Data::Ints(v) => v.fill(0),
            Data::Uints(v) => v.fill(0),
            Data::Reals(v) => v.fill(0.0),
            Data::Bools(v) => v.fill(false),
            Data::Wide(v) => v.fill(0),
        }
        std::hint::black_box(self);
    }
}

/// Values as ring elements, or one row of bits.
#[derive(Clone)]
pub enum Plain {
    /// Elements of a ring, one for each value.
    Vector(Vector),
    /// One bit for each value.
    Bits(Bits),
}

/// A party's own input.
pub(crate) enum OwnInput {
    /// All of its values, wiped when they are no longer needed.
    Held(Plain),
    /// The place that its values are read from, when steps need them.
    Read(Arc<dyn Rows>),
}

impl Drop for OwnInput {
    fn drop(&mut self) {
        match self {
            OwnInput::Held(Plain::Vector(vector)) => vector.wipe(),
            OwnInput::Held(Plain::Bits(bits)) => bits.wipe(),
            OwnInput::Read(_) => {}
        }
    }
}

/// Values that are read in parts, from a file for instance. Every read of a range returns the same values, or fails.
pub trait Rows: Send + Sync {
    /// Returns the values of a range of elements, in the user's units.
    ///
    /// # Errors
    /// What is wrong with the place that they are read from, and what to do.
    fn read(&self, range: Range<usize>) -> Result<Data, String>;
}

/// The number of elements that are read and encoded at a time.
const READ_ELEMENTS: usize = 1 << 16;

/// Reads and encodes a range of the elements of the input node `id`, which is read in parts.
///
/// # Errors
/// What is wrong with the values or their place.
pub(crate) fn read_part(graph: &Graph, id: NodeId, rows: &dyn Rows, range: Range<usize>) -> Result<OwnInput, String> {
    let node = graph.node(id);
    let read = |part: Range<usize>| {
        let data = rows.read(part.clone())?;
        let encoded = encode_part(graph, id, part, &data).map_err(|error| error.to_string())?;
        Ok::<_, String>(OwnInput::Held(encoded.plain))
    };
    if range.len() <= READ_ELEMENTS {
        return read(range);
    }
    let mut whole = OwnInput::Held(match phantom(node.dtype, range.len()) {
        Plain::Vector(shape) => Plain::Vector(Vector::zeros(shape.ring(), shape.len())),
        Plain::Bits(shape) => Plain::Bits(Bits::zeros(1, shape.lanes())),
    });
    for start in range.clone().step_by(READ_ELEMENTS) {
        let part = read(start..range.end.min(start + READ_ELEMENTS))?;
        match (&mut whole, &part) {
            (OwnInput::Held(Plain::Vector(whole)), OwnInput::Held(Plain::Vector(part))) => {
                whole.write_at(start - range.start, part);
            }
            (OwnInput::Held(Plain::Bits(whole)), OwnInput::Held(Plain::Bits(part))) => {
                whole.write_lanes_at(start - range.start, part);
            }
            _ => return Err("an input of bits and of numbers".into()),
        }
    }
    Ok(whole)
}

/// The largest number of public numbers that are unpacked at a time.
pub(crate) const UNPACKED: usize = 1 << 16;

/// Returns the ring of a dtype's elements.
pub(crate) fn ring_of(dtype: Dtype) -> Ring {
    Ring::of(dtype.bits())
}

/// Returns a shape for values of a dtype.
pub(crate) fn phantom(dtype: Dtype, len: usize) -> Plain {
    match dtype {
        Dtype::Bit => Plain::Bits(Bits::shape(1, len)),
        _ => Plain::Vector(Vector::shape(ring_of(dtype), len)),
    }
}

/// Returns a constant's ring units as ring elements; one unit stands for all elements.
pub(crate) fn constant(dtype: Dtype, units: &Units, len: usize) -> Plain {
    match (dtype, units.len()) {
        (Dtype::Bit, 1) => Plain::Bits(Bits::constant(units.to_vec()[0] & 1 == 1, 1, len)),
        (Dtype::Bit, _) => {
            let mut whole = Bits::zeros(1, len);
            for part in parts(len) {
                let bits: Vec<bool> = units.part(part.clone()).iter().map(|unit| unit & 1 == 1).collect();
                whole.write_lanes_at(part.start, &Bits::from_bools(1, part.len(), &bits));
            }
            Plain::Bits(whole)
        }
        (_, 1) => Plain::Vector(Vector::constant(ring_of(dtype), units.to_vec()[0] as u128, len)),
        _ => Plain::Vector(elements(ring_of(dtype), units, len)),
    }
}

/// Returns numbers of which there are several as elements of a ring. Only a part of them is unpacked at a time.
pub(crate) fn elements(ring: Ring, units: &Units, len: usize) -> Vector {
    let mut whole = Vector::zeros(ring, len);
    for part in parts(len) {
        whole.write_at(part.start, &Vector::from_i128s(ring, &units.part(part.clone())));
    }
    whole
}

/// Returns the ranges of numbers that are unpacked at a time.
fn parts(len: usize) -> impl Iterator<Item = Range<usize>> {
    (0..len).step_by(UNPACKED).map(move |start| start..len.min(start + UNPACKED))
}

/// An owner is warned where more than one in this many values of a column loses digits.
const LOST_AMONG: usize = 16;

/// Checks the owner's values of an input node against its dtype and bound, and encodes them. Only for the owner: an
/// error names a value.
///
/// # Errors
/// The node's [`BuildError`] with the user's line: wrong number of values, wrong type, out of range, NaN or infinite.
pub fn encode_input(graph: &Graph, id: NodeId, data: &Data) -> Result<Encoded, BuildError> {
    encode_part(graph, id, 0..graph.node(id).elements(), data)
}

/// Checks and encodes a range of the owner's values, as [`encode_input`] does with all of them.
pub(crate) fn encode_part(graph: &Graph, id: NodeId, part: Range<usize>, data: &Data) -> Result<Encoded, BuildError> {
    let node = graph.node(id);
    let at = |fault: Fault| BuildError::new(fault.from_element(part.start), node.source.clone());
    let ring = ring_of(node.dtype);
    if data.len() != part.len() {
        let shape = node.shape.as_slice().into();
        return Err(at(Fault::Count { given: data.len(), shape, wanted: part.len() }));
    }
    if let (Data::Ints(values), Dtype::Int { .. } | Dtype::Uint { .. }) = (data, node.dtype) {
        let (lo, hi) = (values.iter().min().copied().unwrap_or(0), values.iter().max().copied().unwrap_or(0));
        let range = node.range();
        if range.contains(lo.into()) && range.contains(hi.into()) {
            let plain = Plain::Vector(Vector::from_i64s(ring, values));
            return Ok(Encoded { plain, range: Interval::new(lo.into(), hi.into()), lost: None });
        }
    }
    // If the input has a bound, errors refer to the bound and not to the dtype.
    let dtype = if node.interval.is_some() { node.dtype.with_bits(MAX_BITS) } else { node.dtype };
    let mut units = match data {
        Data::Ints(values) => dtype.encode_ints(&memory::collected(values.iter().map(|&v| v.into()))).map_err(at)?,
        Data::Uints(values) => dtype.encode_ints(&memory::collected(values.iter().map(|&v| v.into()))).map_err(at)?,
        Data::Wide(values) => dtype.encode_ints(values).map_err(at)?,
        Data::Bools(values) => memory::collected(values.iter().map(|&v| i128::from(v) << node.dtype.frac())),
        Data::Reals(values) => dtype.encode_reals(values).map_err(at)?,
    };
    let checked = graph.check_part(id, &units).map_err(at);
    let lost = match data {
        Data::Reals(values) if checked.is_ok() => {
            let width = if node.shape.len() > 1 { *node.shape.last().unwrap_or(&1) } else { 1 };
            let has_whole_rows = values.len().is_multiple_of(width.max(1));
            has_whole_rows.then(|| node.dtype.lost_in_columns(width, LOST_AMONG, values, &units)).flatten()
        }
        _ => None,
    };
    let range = Interval::spanning(&units);
    let plain = checked.map(|()| constant_full(node.dtype, &units));
    units.fill(0);
    std::hint::black_box(&units);
    Ok(Encoded { plain: plain?, range, lost: lost.map(at) })
}

/// An owner's values, encoded.
pub struct Encoded {
    pub plain: Plain,
    /// The range of the values, in units.
    pub range: Interval,
    /// The loss of digits by the dtype, if any. Only for the owner: it names a value.
    pub lost: Option<BuildError>,
}

fn constant_full(dtype: Dtype, units: &[i128]) -> Plain {
    match dtype {
        Dtype::Bit => {
            Plain::Bits(Bits::from_bools(1, units.len(), &units.iter().map(|unit| unit & 1 == 1).collect::<Vec<_>>()))
        }
        _ => Plain::Vector(Vector::from_i128s(ring_of(dtype), units)),
    }
}

/// Decodes revealed ring elements into integers in ring units, also where the dtype has fractional bits.
pub(crate) fn decode_units(dtype: Dtype, plain: &Plain) -> Data {
    match (dtype, plain) {
        (Dtype::Fixed { bits: 65.., .. }, Plain::Vector(v)) => Data::Wide(v.to_i128s()),
        (Dtype::Fixed { .. }, Plain::Vector(v)) => Data::Ints(v.to_i64s()),
        _ => decode(dtype, plain),
    }
}

/// Decodes revealed ring elements into the user's units.
pub(crate) fn decode(dtype: Dtype, plain: &Plain) -> Data {
    match (dtype, plain) {
        (_, Plain::Bits(bits)) => Data::Bools(bits.to_bools()),
        (Dtype::Fixed { frac, .. }, Plain::Vector(v)) => {
            let scale = f64::from(frac).exp2();
            if v.ring().bits() > 64 {
                return Data::Reals(v.to_i128s().into_iter().map(|units| units as f64 / scale).collect());
            }
            Data::Reals(v.to_i64s().into_iter().map(|units| units as f64 / scale).collect())
        }
        (Dtype::Int { bits: 65.. }, Plain::Vector(v)) => Data::Wide(v.to_i128s()),
        (Dtype::Uint { bits: 65.. }, Plain::Vector(v)) => {
            Data::Wide(v.to_u128s().into_iter().map(|value| value as i128).collect())
        }
        (Dtype::Uint { .. }, Plain::Vector(v)) => Data::Uints(v.to_u64s()),
        (_, Plain::Vector(v)) => Data::Ints(v.to_i64s()),
    }
}
