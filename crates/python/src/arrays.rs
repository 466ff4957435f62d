//! Building the program from Python: one method for each operation. The user's file and line are the last arguments.

use std::ops::Range;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

use quorate_graph::{
    BinaryOp, Bound as Largest, BuildError, Builder, Column, Division, Domain, DomainError, Give, Interval, Layer,
    Lies, Meaning, NodeId, Op, Operand, Real, Side, Source, UnaryOp,
};

use quorate_session::{Data, Rows};

use crate::circuit::Circuit;
use crate::errors::{instance, raise, warn};
use crate::hold::{Built, Seen};
use crate::operands::{Argument, dtype, is_real, secret_numbers};
use crate::session::Session;

pub(crate) type Dtype<'a> = (&'a str, u32, u32);
pub(crate) type Line = (String, u32);

impl Session {
    /// Builds a node, which is no array of the user's yet; returns it with warnings, which may end the call.
    fn node(
        &self,
        py: Python<'_>,
        line: Line,
        build: impl FnOnce(Builder<'_>) -> Result<NodeId, BuildError>,
    ) -> PyResult<(Seen, Vec<BuildError>)> {
        self.with(py, |session| {
            let id = session.build(Source::new(line.0, line.1), build)?;
            Ok((session.with_graph(|graph| Seen::of(graph, id))?, session.take_warnings()))
        })
    }

    /// Builds a node; returns it as an array of the user's.
    pub(crate) fn add(
        &self,
        py: Python<'_>,
        line: Line,
        build: impl FnOnce(Builder<'_>) -> Result<NodeId, BuildError>,
    ) -> PyResult<Built> {
        let (seen, warnings) = self.node(py, line, build)?;
        let built = self.hold(seen); // dropped if a warning is an error
        warnings.iter().try_for_each(|warning| warn(py, warning))?;
        Ok(built)
    }

    pub(crate) fn dtype(&self, py: Python<'_>, parts: Dtype<'_>, line: &Line) -> PyResult<quorate_graph::Dtype> {
        let at = Source::new(line.0.as_str(), line.1);
        dtype(parts).map_err(|fault| raise(py, &BuildError::new(fault, at).into()))
    }
}

fn binary_op(name: &str) -> PyResult<BinaryOp> {
    Ok(match name {
        "add" => BinaryOp::Add,
        "sub" => BinaryOp::Sub,
        "mul" => BinaryOp::Mul,
        "lt" => BinaryOp::Lt,
        "le" => BinaryOp::Le,
        "gt" => BinaryOp::Gt,
        "ge" => BinaryOp::Ge,
        "eq" => BinaryOp::Eq,
        "ne" => BinaryOp::Ne,
        "and" => BinaryOp::And,
        "or" => BinaryOp::Or,
        "xor" => BinaryOp::Xor,
        other => return Err(PyValueError::new_err(format!("no operation {other:?} on two arrays"))),
    })
}

fn real_function(name: &str) -> PyResult<Real> {
    Ok(match name {
        "sigmoid" => Real::Sigmoid,
        "tanh" => Real::Tanh,
        "gelu" => Real::Gelu,
        "exp" => Real::Exp,
        "log" => Real::Log,
        "sqrt" => Real::Sqrt,
        "rsqrt" => Real::Rsqrt,
        "reciprocal" => Real::Reciprocal,
        other => return Err(PyValueError::new_err(format!("no real function {other:?}"))),
    })
}

/// The column of an input: its name, and its words; without words, it contains dates.
#[derive(FromPyObject)]
pub(crate) struct Of(String, Option<Vec<String>>);

impl Of {
    pub(crate) fn read(self) -> Column {
        let meaning = match self.1 {
            None => Meaning::Numbers,
            Some(words) if words.is_empty() => Meaning::Days,
            Some(words) => Meaning::Words(words),
        };
        Column { name: self.0, meaning }
    }
}

/// Reads a bound: a largest magnitude, or the lowest and the highest value, integers or not.
fn largest(bound: &Bound<'_, PyAny>) -> PyResult<Largest> {
    if let Ok(whole) = bound.extract::<i128>() {
        return Ok(Largest::Int(whole));
    }
    if let Ok((low, high)) = bound.extract::<(i128, i128)>() {
        return Ok(Largest::Ints(low, high));
    }
    match bound.extract::<(f64, f64)>() {
        Ok((low, high)) => Ok(Largest::Reals(low, high)),
        Err(_) => Ok(Largest::Real(bound.extract()?)),
    }
}

impl Session {
    /// Provides the values of an input that is read in parts, after checking all of them. Values that are refused
    /// remove the input, or release it if another thread built something while they were checked. Returns warnings.
    fn provide_rows(
        &self,
        py: Python<'_>,
        id: NodeId,
        owner: usize,
        source: Py<PyAny>,
        step: usize,
    ) -> PyResult<Vec<BuildError>> {
        let rows = Called(source);
        let checked = self.check_all(py, id, &rows, step);
        self.with(py, |session| {
            match &checked {
                Ok(range) => session.provide_rows(id, owner, Arc::new(rows), *range),
                Err(_) => session.take_back(id),
            }
            Ok(())
        })?;
        checked?;
        self.with(py, |session| Ok(session.take_warnings()))
    }

    /// Reads and checks all values of an input that is read in parts; returns the range in which they lie.
    fn check_all(&self, py: Python<'_>, id: NodeId, rows: &Called, step: usize) -> PyResult<Interval> {
        let len = self.with_graph(py, |graph| graph.node(id).elements())?;
        let mut range: Option<Interval> = None;
        for start in (0..len).step_by(step.max(1)) {
            let part = start..len.min(start + step.max(1));
            let data = rows.call(py, part.clone())?;
            let of_part = self.with(py, |session| session.check_rows(id, part, &data))?;
            range = Some(range.map_or(of_part, |range| range.union(of_part)));
            py.check_signals()?;
        }
        Ok(range.unwrap_or(Interval::new(0, 0)))
    }
}

/// A function of Python's that returns the values of a range of elements.
struct Called(Py<PyAny>);

impl Called {
    fn call(&self, py: Python<'_>, range: Range<usize>) -> PyResult<Data> {
        let (kind, bytes): (String, Bound<'_, PyByteArray>) =
            self.0.call1(py, (range.start, range.end))?.extract(py)?;
        secret_numbers(&kind, &bytes)
    }
}

/// Returns the words of an error of Python's; its type, where it has none.
pub(crate) fn words_of(py: Python<'_>, error: &PyErr) -> String {
    let (value, words) = (error.value(py), error.value(py).to_string());
    if words.is_empty() { value.repr().map_or(words, |shown| shown.to_string()) } else { words }
}

impl Rows for Called {
    fn read(&self, range: Range<usize>) -> Result<Data, String> {
        let read = Python::try_attach(|py| self.call(py, range).map_err(|error| words_of(py, &error)));
        read.unwrap_or_else(|| Err("the interpreter ends".into()))
    }
}

#[pymethods]
impl Session {
    /// Returns a node of the program as an array of the user's.
    fn array(&self, py: Python<'_>, node: u32) -> PyResult<Built> {
        let seen = self.with_graph(py, |graph| Seen::of(graph, NodeId(node)))?;
        Ok(self.hold(seen))
    }

    /// Returns the shape of a node.
    fn shape(&self, py: Python<'_>, node: u32) -> PyResult<Vec<usize>> {
        let look = |graph: &quorate_graph::Graph| graph.node(NodeId(node)).shape.clone();
        self.with_graph(py, look)
    }

    /// Adds an input of party `owner`; `values` is (kind, bytes) at a process that has them. A trusted input has its
    /// stated bound accepted without a proof. The values of a streamed input are read in parts. At the process that has
    /// them `rows` is a function that returns those of a range of elements, as (kind, bytes), and the number of
    /// elements to read at a time when all are checked.
    #[allow(clippy::too_many_arguments)] // keyword arguments of Python
    fn input(
        &self,
        py: Python<'_>,
        owner: usize,
        shape: Vec<usize>,
        dtype: Dtype<'_>,
        bound: Option<Bound<'_, PyAny>>,
        values: Option<(String, Bound<'_, PyByteArray>)>,
        column: Option<Of>,
        trusted: bool,
        streamed: bool,
        rows: Option<(Py<PyAny>, usize)>,
        line: Line,
    ) -> PyResult<Built> {
        let bound = bound.map(|bound| largest(&bound)).transpose()?;
        let real = is_real(dtype);
        let dtype = self.dtype(py, dtype, &line)?;
        let column = column.map(Of::read);
        let data = values.map(|(kind, bytes)| secret_numbers(&kind, &bytes)).transpose()?;
        // No other thread may build before values in memory are accepted: if they are refused, they remove the node.
        // Those that are read in parts are checked afterwards, since reading them runs Python code.
        let (seen, warnings) = self.with(py, |session| {
            let parties = session.parties();
            let id = session.build(Source::new(line.0, line.1), |b| {
                match (real, b.streamed(streamed).of_column(column)) {
                    (true, mut b) => b.real_input(owner, parties, &shape, bound),
                    (false, mut b) => b.input(owner, parties, &shape, dtype, bound),
                }
            })?;
            data.map_or(Ok(()), |data| session.provide(id, owner, &data))?;
            if trusted {
                session.trust(id)?;
            }
            Ok((session.with_graph(|graph| Seen::of(graph, id))?, session.take_warnings()))
        })?;
        let more = rows.map_or(Ok(vec![]), |(source, step)| self.provide_rows(py, seen.node, owner, source, step))?;
        let built = self.hold(seen); // dropped if a warning is an error
        warnings.iter().chain(&more).try_for_each(|warning| warn(py, warning))?;
        Ok(built)
    }

    /// Returns whether inputs can be read in parts: not where parties may cheat.
    fn streams(&self, py: Python<'_>) -> PyResult<bool> {
        self.with_graph(py, |graph| !graph.rules().proves_bounds)
    }

    /// Returns the column of a node's values, and the words that they are codes of (no words for dates); None for plain
    /// numbers.
    fn column(&self, py: Python<'_>, node: u32) -> PyResult<Option<(String, Vec<String>)>> {
        let look = |graph: &quorate_graph::Graph| {
            let column = graph.column(NodeId(node))?;
            match &column.meaning {
                Meaning::Words(words) => Some((column.name.clone(), words.clone())),
                Meaning::Days => Some((column.name.clone(), Vec::new())),
                Meaning::Numbers => None,
            }
        };
        self.with_graph(py, look)
    }

    /// Builds the values of `x` with the meaning of those of `like`.
    fn like_column(&self, py: Python<'_>, x: u32, like: u32, line: Line) -> PyResult<Built> {
        self.add(py, line, |mut b| b.like_column(NodeId(x), NodeId(like)))
    }

    /// Adds public numbers of a dtype.
    fn constant(&self, py: Python<'_>, value: Argument, dtype: Dtype<'_>, line: Line) -> PyResult<Built> {
        let dtype = self.dtype(py, dtype, &line)?;
        self.add(py, line, |mut b| match value.operand() {
            Operand::Ints { shape, values } => b.constant_ints(shape, values, dtype),
            Operand::Reals { shape, values } => b.constant_reals(shape, values, dtype),
            Operand::Node(id) => Ok(id),
        })
    }

    fn binary(&self, py: Python<'_>, op: &str, x: Argument, y: Argument, line: Line) -> PyResult<Built> {
        let op = binary_op(op)?;
        self.add(py, line, |mut b| b.binary(op, x.operand(), y.operand()))
    }

    /// Rounds fixed point to whole numbers, halves to the even one.
    fn round(&self, py: Python<'_>, x: u32, line: Line) -> PyResult<Built> {
        self.add(py, line, |mut b| b.round(NodeId(x)))
    }

    /// Builds the whole quotient by public numbers.
    fn floor_div(&self, py: Python<'_>, x: u32, by: Argument, line: Line) -> PyResult<Built> {
        self.add(py, line, |mut b| b.floor_div(NodeId(x), by.operand()))
    }

    /// Divides by secret numbers. `give` selects the quotient or the remainder, with a promise of the quotients' bits.
    fn int_divide(
        &self,
        py: Python<'_>,
        give: &str,
        x: Argument,
        y: Argument,
        quotient_bits: Option<u32>,
        line: Line,
    ) -> PyResult<Built> {
        let give = match give {
            "quotient" => Give::Quotient,
            "remainder" => Give::Remainder,
            other => return Err(PyValueError::new_err(format!("no division gives {other:?}"))),
        };
        self.add(py, line, |mut b| b.int_divide(Division { give, quotient_bits }, x.operand(), y.operand()))
    }

    /// Builds the remainder of a whole quotient by the same numbers.
    fn remainder(&self, py: Python<'_>, x: u32, whole: u32, by: Argument, line: Line) -> PyResult<Built> {
        self.add(py, line, |mut b| b.remainder(NodeId(x), NodeId(whole), by.operand()))
    }

    fn unary(&self, py: Python<'_>, op: &str, x: u32, line: Line) -> PyResult<Built> {
        let op = if op == "not" { UnaryOp::Not } else { UnaryOp::Neg };
        self.add(py, line, |mut b| b.unary(op, NodeId(x)))
    }

    fn select(&self, py: Python<'_>, bit: Argument, x: Argument, y: Argument, line: Line) -> PyResult<Built> {
        self.add(py, line, |mut b| b.select(bit.operand(), x.operand(), y.operand()))
    }

    /// Builds the other one of x and y, where `one` holds one of the two, element by element.
    fn other(&self, py: Python<'_>, x: Argument, y: Argument, one: u32, line: Line) -> PyResult<Built> {
        self.add(py, line, |mut b| b.other(x.operand(), y.operand(), NodeId(one)))
    }

    fn shift(&self, py: Python<'_>, x: u32, left: bool, by: i64, line: Line) -> PyResult<Built> {
        self.add(py, line, |mut b| if left { b.shl(NodeId(x), by) } else { b.shr(NodeId(x), by) })
    }

    fn cast(&self, py: Python<'_>, x: u32, dtype: Dtype<'_>, line: Line) -> PyResult<Built> {
        if is_real(dtype) {
            return self.add(py, line, |mut b| b.to_real(NodeId(x)));
        }
        let dtype = self.dtype(py, dtype, &line)?;
        self.add(py, line, |mut b| b.cast(NodeId(x), dtype))
    }

    fn held(&self, py: Python<'_>, x: u32, line: Line) -> PyResult<Built> {
        self.add(py, line, |mut b| b.held(NodeId(x)))
    }

    fn matmul(&self, py: Python<'_>, x: Argument, y: Argument, line: Line) -> PyResult<Built> {
        self.add(py, line, |mut b| b.matmul(x.operand(), y.operand()))
    }

    /// Builds a convolution. Pairs are rows, then columns: stride, dilation, zeros above and on the left, zeros below
    /// and on the right.
    fn conv(
        &self,
        py: Python<'_>,
        images: Argument,
        filters: Argument,
        lies: [[usize; 2]; 4],
        groups: usize,
        line: Line,
    ) -> PyResult<Built> {
        let [stride, dilation, before, after] = lies;
        let lies = Lies { stride, dilation, before, after, groups };
        self.add(py, line, |mut b| b.conv(images.operand(), filters.operand(), lies))
    }

    fn dot(&self, py: Python<'_>, x: Argument, y: Argument, line: Line) -> PyResult<Built> {
        self.add(py, line, |mut b| b.dot(x.operand(), y.operand()))
    }

    fn reduce(
        &self,
        py: Python<'_>,
        op: &str,
        x: u32,
        axis: Option<i64>,
        keepdims: bool,
        line: Line,
    ) -> PyResult<Built> {
        self.add(py, line, |mut b| match op {
            "max" => b.max(NodeId(x), axis, keepdims),
            "min" => b.min(NodeId(x), axis, keepdims),
            "argmax" => b.argmax(NodeId(x), axis, keepdims),
            "argmin" => b.argmin(NodeId(x), axis, keepdims),
            "mean" => b.mean(NodeId(x), axis, keepdims),
            _ => b.sum(NodeId(x), axis, keepdims),
        })
    }

    fn cumsum(&self, py: Python<'_>, x: u32, axis: Option<i64>, line: Line) -> PyResult<Built> {
        self.add(py, line, |mut b| b.cumsum(NodeId(x), axis))
    }

    fn bits(&self, py: Python<'_>, x: u32, line: Line) -> PyResult<Built> {
        self.add(py, line, |mut b| b.bits(NodeId(x)))
    }

    fn compose(&self, py: Python<'_>, x: u32, dtype: Dtype<'_>, line: Line) -> PyResult<Built> {
        let dtype = self.dtype(py, dtype, &line)?;
        self.add(py, line, |mut b| b.from_bits(NodeId(x), dtype))
    }

    /// Builds a circuit; the result is all output wires along the last axis.
    fn circuit(&self, py: Python<'_>, circuit: &Circuit, inputs: Vec<Argument>, line: Line) -> PyResult<Built> {
        let operands: Vec<Operand<'_>> = inputs.iter().map(Argument::operand).collect();
        self.add(py, line, |mut b| b.circuit(&circuit.inner, &operands))
    }

    /// Builds a look-up. `entries`, in ring units of `dtype`, are those of the numbers from `first` on, in their own
    /// ring units.
    fn lookup(
        &self,
        py: Python<'_>,
        x: u32,
        first: i128,
        entries: Argument,
        dtype: Dtype<'_>,
        line: Line,
    ) -> PyResult<Built> {
        let dtype = self.dtype(py, dtype, &line)?;
        let Operand::Ints { values, .. } = entries.operand() else {
            return Err(PyValueError::new_err("entries of a table are ring units"));
        };
        self.add(py, line, |mut b| b.lookup(NodeId(x), first, values, dtype))
    }

    /// Returns the proven range of a node's values, in ring units; where nothing is proven, that of its dtype.
    fn range(&self, py: Python<'_>, node: u32) -> PyResult<(i128, i128)> {
        let look = |graph: &quorate_graph::Graph| {
            let range = graph.node(NodeId(node)).range();
            (range.lo(), range.hi())
        };
        self.with_graph(py, look)
    }

    /// Returns the proven range of a node's values, in ring units; None where nothing is proven.
    fn proven(&self, py: Python<'_>, node: u32) -> PyResult<Option<(i128, i128)>> {
        let look =
            |graph: &quorate_graph::Graph| graph.node(NodeId(node)).interval.map(|proven| (proven.lo(), proven.hi()));
        self.with_graph(py, look)
    }

    fn real(&self, py: Python<'_>, function: &str, x: u32, line: Line) -> PyResult<Built> {
        let function = real_function(function)?;
        self.add(py, line, |mut b| b.real(function, NodeId(x)))
    }

    fn divide(&self, py: Python<'_>, x: Argument, y: Argument, line: Line) -> PyResult<Built> {
        self.add(py, line, |mut b| b.divide(x.operand(), y.operand()))
    }

    fn softmax(&self, py: Python<'_>, x: u32, axis: i64, line: Line) -> PyResult<Built> {
        self.add(py, line, |mut b| b.softmax(NodeId(x), axis))
    }

    /// Builds the elements at `index`: unsigned 32-bit positions in the flattened array.
    fn gather(&self, py: Python<'_>, x: u32, index: Vec<u8>, shape: Vec<usize>, line: Line) -> PyResult<Built> {
        let (words, _) = index.as_chunks::<4>();
        let index = words.iter().map(|w| u32::from_le_bytes(*w)).collect();
        self.add(py, line, |mut b| b.gather(NodeId(x), index, &shape))
    }

    /// Builds the elements at nested steps (count, step) from position `start` of the flattened array, outermost first.
    fn strided(
        &self,
        py: Python<'_>,
        x: u32,
        start: u32,
        levels: Vec<(u32, i64)>,
        shape: Vec<usize>,
        line: Line,
    ) -> PyResult<Built> {
        self.add(py, line, |mut b| b.strided(NodeId(x), start, &levels, &shape))
    }

    /// Builds rows of a layer (count, p, r, distance) of a sorting network.
    fn exchange(&self, py: Python<'_>, x: u32, layer: [u32; 4], side: &str, line: Line) -> PyResult<Built> {
        let [count, p, r, distance] = layer;
        let side = match side {
            "lower" => Side::Lower,
            "upper" => Side::Upper,
            "rest" => Side::Rest,
            "back" => Side::Back,
            other => return Err(PyValueError::new_err(format!("no side {other:?} of a layer"))),
        };
        self.add(py, line, |mut b| b.exchange(NodeId(x), Layer { count, p, r, distance }, side))
    }

    /// Builds the values of `x` in the sharing "A", "B" or "Y".
    fn to(&self, py: Python<'_>, x: u32, domain: &str, line: Line) -> PyResult<Built> {
        let domain: Domain =
            domain.parse().map_err(|error: DomainError| instance(py, "ConfigError", error.to_string()))?;
        self.add(py, line, |mut b| b.to(NodeId(x), domain))
    }

    fn reshape(&self, py: Python<'_>, x: u32, shape: Vec<i64>, line: Line) -> PyResult<Built> {
        self.add(py, line, |mut b| b.reshape(NodeId(x), &shape))
    }

    /// Builds `x` times a public number, with `more` additional fractional bits where its dtype grows.
    fn finer_multiple(&self, py: Python<'_>, x: u32, by: f64, more: u32, line: Line) -> PyResult<Built> {
        self.add(py, line, |mut b| b.finer_multiple(NodeId(x), by, more))
    }

    /// Builds the values of `x`, stated to lie between these numbers of units.
    fn stated(&self, py: Python<'_>, x: u32, low: i128, high: i128, line: Line) -> PyResult<Built> {
        self.add(py, line, |mut b| b.stated(NodeId(x), low, high))
    }

    fn broadcast_to(&self, py: Python<'_>, x: u32, shape: Vec<usize>, line: Line) -> PyResult<Built> {
        self.add(py, line, |mut b| b.broadcast_to(NodeId(x), &shape))
    }

    fn transpose(&self, py: Python<'_>, x: u32, axes: Option<Vec<i64>>, line: Line) -> PyResult<Built> {
        self.add(py, line, |mut b| b.transpose(NodeId(x), axes.as_deref()))
    }

    /// Asserts lines with a single 1. If all parties follow the protocol, returns the array itself.
    fn assert_one_hot(&self, py: Python<'_>, x: u32, axis: i64, line: Line) -> PyResult<Built> {
        let proven = self.add(py, line, |mut b| b.assert_one_hot(NodeId(x), axis))?;
        let is_checked = self.with(py, |session| Ok(session.protocol().is_checked()))?;
        if is_checked { Ok(proven) } else { self.array(py, x) }
    }

    /// Returns the array with a proof of its range; the array itself where no proof is needed.
    fn places(&self, py: Python<'_>, x: u32, line: Line) -> PyResult<Built> {
        self.add(py, line, |mut b| b.places(NodeId(x)))
    }

    /// Sets whether lost digits of results that this thread builds from here on go unreported, as their errors are
    /// stated. Each call with true takes one with false.
    fn set_errors_are_stated(&self, py: Python<'_>, are_stated: bool) -> PyResult<()> {
        self.with(py, |session| {
            session.set_errors_are_stated(are_stated);
            Ok(())
        })
    }

    /// Returns the array as a factor of several products; the array itself where that makes no difference.
    fn as_factor(&self, py: Python<'_>, x: u32, line: Line) -> PyResult<Built> {
        self.add(py, line, |mut b| b.as_factor(NodeId(x)))
    }

    fn is_factor(&self, py: Python<'_>, x: u32) -> PyResult<bool> {
        let is_factor = |graph: &quorate_graph::Graph| graph.node(NodeId(x)).op == Op::AsFactor;
        self.with_graph(py, is_factor)
    }

    /// Puts the rows of several arrays into one random order.
    fn shuffle(&self, py: Python<'_>, arrays: Vec<u32>, line: Line) -> PyResult<Vec<Built>> {
        let arrays: Vec<NodeId> = arrays.into_iter().map(NodeId).collect();
        let mixed = self.add(py, line.clone(), |mut b| b.shuffle(&arrays))?;
        let part = |i| self.add(py, line.clone(), |mut b| b.part(mixed.node(), i));
        (0..arrays.len()).map(part).collect()
    }

    /// Returns whether rows are put in the order of these keys by opened comparisons of shuffled rows.
    fn can_order(&self, py: Python<'_>, key: u32) -> PyResult<bool> {
        self.with_graph(py, |graph| graph.can_order(NodeId(key)))
    }

    /// Puts the rows of several arrays into the order of a key.
    fn order(&self, py: Python<'_>, arrays: Vec<u32>, key: u32, descending: bool, line: Line) -> PyResult<Vec<Built>> {
        let (arrays, key): (Vec<NodeId>, _) = (arrays.into_iter().map(NodeId).collect(), NodeId(key));
        let order = self.add(py, line.clone(), |mut b| b.order(&arrays, key, descending))?;
        let in_order = |(i, &array): (usize, &NodeId)| {
            self.add(py, line.clone(), |mut b| b.in_order(order.node(), i, array, descending))
        };
        arrays.iter().enumerate().map(in_order).collect()
    }

    fn join(&self, py: Python<'_>, parts: Vec<Argument>, axis: i64, stack: bool, line: Line) -> PyResult<Built> {
        let operands: Vec<Operand<'_>> = parts.iter().map(Argument::operand).collect();
        self.add(py, line, |mut b| if stack { b.stack(&operands, axis) } else { b.concat(&operands, axis) })
    }

    /// Builds `x` with the elements at the flattened positions `index` replaced by `value`, which is broadcast to
    /// `shape`.
    fn set_at(
        &self,
        py: Python<'_>,
        x: u32,
        index: Vec<u8>,
        shape: Vec<usize>,
        value: Argument,
        line: Line,
    ) -> PyResult<Built> {
        let (words, _) = index.as_chunks::<4>();
        let index: Vec<u32> = words.iter().map(|w| u32::from_le_bytes(*w)).collect();
        self.add(py, line, |mut b| b.set_at(NodeId(x), &index, &shape, value.operand()))
    }
}
