//! The reference: evaluation of a program in the clear, which every protocol must equal bit for bit. The code is
//! simple, and independent of range analysis and of every backend.

use std::cell::Cell;
use std::collections::BTreeMap;

use quorate_circuits::{Circuit, Gate};
use quorate_ring::Conv;

use crate::dtype::Dtype;
use crate::error::Fault;
use crate::graph::Graph;
use crate::node::{Division, Give, Node, NodeId, Op};
use crate::properties::Pieces;
use crate::shape::Axis;
use crate::{real, shape};

/// The reason why a program could not be evaluated in the clear.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EvalError {
    /// An input has no values.
    #[error("no values were given for {what}")]
    Missing {
        /// The node of the input.
        id: NodeId,
        /// The description of the input, with its line.
        what: String,
    },
    /// The values of an input do not fit it.
    #[error("{what}: {fault}")]
    Input {
        /// The node of the input.
        id: NodeId,
        /// The description of the input, with its line.
        what: String,
        /// The fault of the values.
        fault: Box<Fault>,
    },
}

/// Returns the values of every node, in ring units, given those of the inputs. Results wrap into their dtype; right
/// shifts and products of fixed point round towards minus infinity. Shuffles keep the order, which is one of those that
/// protocols return. Real functions are rounded to the nearest unit; protocols compute them within their stated error
/// ([`Op::is_approximate`]).
pub fn eval_clear(graph: &Graph, inputs: &BTreeMap<NodeId, Vec<i128>>) -> Result<Vec<Vec<i128>>, EvalError> {
    let mut results: Vec<Vec<i128>> = Vec::with_capacity(graph.nodes().len());
    for (i, node) in graph.nodes().iter().enumerate() {
        let id = NodeId(i as u32);
        let values = match &node.op {
            Op::Input { .. } => given(graph, id, inputs)?,
            Op::Constant(values) => values.expand(node.elements()),
            op => {
                let operands: Vec<&Node> = node.inputs.iter().map(|&n| graph.node(n)).collect();
                let values: Vec<&[i128]> = node.inputs.iter().map(|&n| results[n.index()].as_slice()).collect();
                evaluate(op, &operands, &values, &node.shape, node.dtype)
            }
        };
        results.push(values);
    }
    Ok(results)
}

fn given(graph: &Graph, id: NodeId, inputs: &BTreeMap<NodeId, Vec<i128>>) -> Result<Vec<i128>, EvalError> {
    let what = || graph.describe(id);
    let values = inputs.get(&id).ok_or_else(|| EvalError::Missing { id, what: what() })?;
    graph.check_input(id, values).map_err(|fault| EvalError::Input { id, what: what(), fault: Box::new(fault) })?;
    Ok(values.clone())
}

/// Returns the result of one operation in its ring; its operands must have been checked when it was built.
pub(crate) fn evaluate(
    op: &Op,
    nodes: &[&Node],
    values: &[&[i128]],
    result_shape: &[usize],
    dtype: Dtype,
) -> Vec<i128> {
    let result = computed(op, nodes, values, result_shape, (dtype, Numbers::Ring(dtype)));
    map(&result, |x| dtype.wrap(x))
}

/// Returns the result of one operation on integers that do not wrap; `None` where 128 bits do not hold it or an
/// intermediate result. Operations that are defined by fewer bits, such as numbers made of bits, return these.
pub(crate) fn exact(
    op: &Op,
    nodes: &[&Node],
    values: &[&[i128]],
    result_shape: &[usize],
    dtype: Dtype,
) -> Option<Vec<i128>> {
    let overflow = Cell::new(false);
    let result = computed(op, nodes, values, result_shape, (dtype, Numbers::Exact(&overflow)));
    let wraps = matches!(op, Op::Compose | Op::Submitted(_) | Op::Masked(_) | Op::Combined { .. });
    let result = if wraps { map(&result, |x| dtype.wrap(x)) } else { result };
    (!overflow.get()).then_some(result)
}

/// The arithmetic of numbers.
#[derive(Clone, Copy, Debug)]
enum Numbers<'o> {
    /// Modulo the ring of a dtype.
    Ring(Dtype),
    /// Integers; the cell is set where one was too large.
    Exact(&'o Cell<bool>),
}

impl Numbers<'_> {
    fn noted(result: Option<i128>, overflow: &Cell<bool>) -> i128 {
        overflow.set(overflow.get() || result.is_none());
        result.unwrap_or(0)
    }

    fn add(self, x: i128, y: i128) -> i128 {
        match self {
            Numbers::Ring(dtype) => dtype.wrap(x.wrapping_add(y)),
            Numbers::Exact(overflow) => Numbers::noted(x.checked_add(y), overflow),
        }
    }

    fn mul(self, x: i128, y: i128) -> i128 {
        match self {
            Numbers::Ring(dtype) => dtype.wrap(x.wrapping_mul(y)),
            Numbers::Exact(overflow) => Numbers::noted(x.checked_mul(y), overflow),
        }
    }

    fn sum(self, line: &[i128]) -> i128 {
        line.iter().fold(0, |sum, &x| self.add(sum, x))
    }
}

/// Returns the result of an operation before it is reduced to its dtype; products of fixed point are already shifted.
fn computed(
    op: &Op,
    nodes: &[&Node],
    values: &[&[i128]],
    result_shape: &[usize],
    (dtype, numbers): (Dtype, Numbers<'_>),
) -> Vec<i128> {
    // Building has checked the number of operands.
    let of = |place: usize| values.get(place).copied().unwrap_or_default();
    let (a, b, c) = (of(0), of(1), of(2));
    let pairs_up = values.len() < 2 || op.properties().pieces != Pieces::Elements || a.len() == b.len();
    debug_assert!(pairs_up, "{}", op.name());
    match op {
        Op::Submitted(_) | Op::Masked(_) => summed(values, dtype),
        Op::Combined { holders, rows, .. } => combined_by_zeros(&nodes[..*holders], &values[..*holders], *rows),
        Op::Counted => counted(a, b),
        Op::Add => zip(a, b, |x, y| numbers.add(x, y)),
        Op::Sub => zip(a, b, |x, y| numbers.add(x, -y)),
        Op::Neg => map(a, |x| -x),
        Op::Mul => zip(a, b, |x, y| numbers.mul(x, y) >> shift(nodes, dtype)),
        Op::Conv(conv) => {
            let sums = convolution(a, b, conv, numbers);
            map(&sums, |sum| sum >> shift(nodes, dtype))
        }
        Op::MatMul { batch, m, k, n } => {
            let sums = matmul(a, b, *batch, [*m, *k, *n], numbers);
            map(&sums, |sum| sum >> shift(nodes, dtype))
        }
        Op::Sum(axis) => along(a, axis, |line| numbers.sum(line)),
        Op::Shl(bits) => map(a, |x| numbers.mul(x, 1 << bits)),
        Op::Shr(bits) => map(a, |x| x >> bits),
        Op::FloorDiv(divisors) => zip(a, &divisors.expand(a.len()), floor_div),
        Op::Remainder(divisors) => zip(a, &divisors.expand(a.len()), |x, d| x - floor_div(x, d) * d),
        Op::Scale(scale) => scale.apply(a, dtype.range().hi()),
        Op::IntDivide(Division { give, .. }) => zip(a, b, |x, y| int_divide(*give, x, y)),
        Op::Lt => zip(a, b, |x, y| i128::from(x < y)),
        Op::Eq => zip(a, b, |x, y| i128::from(x == y)),
        Op::And => zip(a, b, |x, y| x & y),
        Op::Or => zip(a, b, |x, y| x | y),
        Op::Xor => zip(a, b, |x, y| x ^ y),
        Op::Not => map(a, |x| 1 - x),
        Op::Select => (0..a.len()).map(|i| if a[i] == 1 { b[i] } else { c[i] }).collect(),
        Op::Other => (0..a.len()).map(|i| a[i] + b[i] - c[i]).collect(),
        Op::Gather(index) => index.expand().iter().map(|&i| a[i as usize]).collect(),
        Op::Reshape | Op::To(_) | Op::AsFactor | Op::AssertOneHot(_) | Op::AssertWithin | Op::Behind => a.to_vec(),
        Op::Broadcast => shape::broadcast_index(&nodes[0].shape, result_shape).iter().map(|&i| a[i as usize]).collect(),
        Op::Concat | Op::Shuffle { .. } => values.concat(),
        Op::Order { rows, descending } => ordered(values, *rows, *descending),
        Op::Part { before, .. } => a[*before..before + shape::elements(result_shape).unwrap_or(0)].to_vec(),
        Op::Max(axis) => along(a, axis, |line| line.iter().copied().max().unwrap_or(0)),
        Op::Min(axis) => along(a, axis, |line| line.iter().copied().min().unwrap_or(0)),
        Op::ArgMax(axis) => along(a, axis, first_maximum),
        Op::ArgMin(axis) => along(a, axis, |line| first_maximum(&map(line, |x| -x))),
        Op::CumSum(axis) => lines(a, axis, |line| {
            let mut sum = 0;
            map_with(line, |x| {
                sum = numbers.add(sum, x);
                sum
            })
        }),
        Op::Bits => a.iter().flat_map(|x| (0..nodes[0].dtype.bits()).map(move |j| x >> j & 1)).collect(),
        Op::Circuit(circuit) => evaluate_circuit(circuit, values, result_shape),
        Op::Compose => {
            a.chunks(dtype.bits() as usize).map(|bits| bits.iter().enumerate().map(|(j, bit)| bit << j).sum()).collect()
        }
        Op::Convert => {
            let (from, to) = (nodes[0].dtype.frac(), dtype.frac());
            map(a, |x| if to >= from { numbers.mul(x, 1 << (to - from)) } else { x >> (from - to) })
        }
        Op::Lookup(table) => table.apply(a),
        Op::Real(function) => map(a, |x| function.rounded(x, nodes[0].dtype.frac(), dtype)),
        Op::Divide => {
            let up = dtype.frac() + nodes[1].dtype.frac() - nodes[0].dtype.frac();
            zip(a, b, |x, y| real::divide(x, y, up, dtype))
        }
        Op::Softmax(axis) => lines(a, axis, |line| real::softmax(line, dtype)),
        Op::Cast => map(a, |x| x << dtype.frac()),
        Op::Input { .. } | Op::Constant(_) => unreachable!("{} is made of nothing", op.name()),
    }
}

/// Returns the number of bits by which a product is shifted, where both operands are fixed point.
fn shift(nodes: &[&Node], dtype: Dtype) -> u32 {
    let both_fixed = nodes.iter().all(|n| n.dtype.is_fixed());
    if both_fixed { nodes.iter().map(|n| n.dtype.frac()).sum::<u32>() - dtype.frac() } else { 0 }
}

/// Evaluates a circuit, one instance after another.
fn evaluate_circuit(circuit: &Circuit, inputs: &[&[i128]], result_shape: &[usize]) -> Vec<i128> {
    let widths: Vec<usize> = circuit.inputs().iter().map(|&width| width as usize).collect();
    let batch: usize = result_shape[..result_shape.len() - 1].iter().product();
    let one = |instance: usize| {
        let own = inputs.iter().zip(&widths).flat_map(|(bits, width)| &bits[instance * width..(instance + 1) * width]);
        let mut wires: Vec<bool> = own.map(|&bit| bit == 1).collect();
        for (_, gate) in circuit.gates() {
            wires.push(match gate {
                Gate::Xor(a, b) => wires[a as usize] ^ wires[b as usize],
                Gate::And(a, b) => wires[a as usize] & wires[b as usize],
                Gate::Inv(a) => !wires[a as usize],
                Gate::Constant(bit) => bit,
            });
        }
        circuit.output_wires().iter().map(|&wire| i128::from(wires[wire as usize])).collect::<Vec<_>>()
    };
    (0..batch).flat_map(one).collect()
}

/// Returns rows of numbers, with zeros where the bit of the row is 0.
fn counted(a: &[i128], bits: &[i128]) -> Vec<i128> {
    let each = a.len() / bits.len().max(1);
    a.iter().enumerate().map(|(i, &x)| x * bits[i / each]).collect()
}

/// Returns one of the results that random coins may give: that of zeros, which is the masks.
fn combined_by_zeros(nodes: &[&Node], held: &[&[i128]], rows: usize) -> Vec<i128> {
    let row = nodes[0].shape[1];
    let coins = vec![0; rows * (row - rows)];
    let masks = held.iter().flat_map(|array| array.chunks(row).flat_map(|place| &place[row - rows..]).copied());
    coins.into_iter().chain(masks).collect()
}

/// Returns the sums of the elements at each place in the ring of `dtype`; of bits, their exclusive or.
fn summed(values: &[&[i128]], dtype: Dtype) -> Vec<i128> {
    values[1..].iter().fold(values[0].to_vec(), |sum, part| zip(&sum, part, |x, y| dtype.wrap(x + y)))
}

/// Returns the quotient or the remainder of a division of integers.
pub(crate) fn int_divide(give: Give, x: i128, y: i128) -> i128 {
    match (y, give) {
        (0, _) => 0,
        (_, Give::Quotient) => floor_div(x, y),
        (_, Give::Remainder) => x - floor_div(x, y) * y,
    }
}

/// Returns x / d, rounded towards minus infinity.
pub(crate) fn floor_div(x: i128, d: i128) -> i128 {
    let exact = x % d == 0;
    x / d - i128::from(!exact && (x < 0) != (d < 0))
}

fn matmul(a: &[i128], b: &[i128], batch: usize, [m, k, n]: [usize; 3], numbers: Numbers<'_>) -> Vec<i128> {
    let mut sums = Vec::with_capacity(batch * m * n);
    for block in 0..batch {
        for row in 0..m {
            for column in 0..n {
                let term = |i: usize| numbers.mul(a[(block * m + row) * k + i], b[(block * k + i) * n + column]);
                sums.push((0..k).fold(0, |sum, i| numbers.add(sum, term(i))));
            }
        }
    }
    sums
}

/// Returns the products of each group's filters and patches, in order.
fn convolution(images: &[i128], filters: &[i128], conv: &Conv, numbers: Numbers<'_>) -> Vec<i128> {
    let (m, k, n) = (conv.filters, conv.patch(), conv.batch * conv.places());
    let of_group = |group: usize| {
        let pixel = |&place: &u32| images.get(place as usize).copied().unwrap_or(0);
        let patches: Vec<i128> = conv.positions(group).iter().map(pixel).collect();
        matmul(&filters[group * m * k..(group + 1) * m * k], &patches, 1, [m, k, n], numbers)
    };
    let products: Vec<i128> = (0..conv.groups).flat_map(of_group).collect();
    conv.order().iter().map(|&place| products[place as usize]).collect()
}

/// Returns the rows of all values but the last in the order of the last, the key. Equal keys keep their order.
fn ordered(values: &[&[i128]], rows: usize, descending: bool) -> Vec<i128> {
    let Some((key, columns)) = values.split_last() else { return vec![] };
    let mut order: Vec<usize> = (0..rows).collect();
    order.sort_by_key(|&row| if descending { -key[row] } else { key[row] });
    let width = |column: &[i128]| column.len() / rows.max(1);
    let in_order = |column: &&[i128]| -> Vec<i128> {
        order.iter().flat_map(|&row| column[row * width(column)..][..width(column)].to_vec()).collect()
    };
    columns.iter().flat_map(in_order).collect()
}

fn first_maximum(line: &[i128]) -> i128 {
    let mut best = 0;
    for (i, value) in line.iter().enumerate() {
        if *value > line[best] {
            best = i;
        }
    }
    best as i128
}

fn along(a: &[i128], axis: &Axis, reduce: impl Fn(&[i128]) -> i128) -> Vec<i128> {
    let mut result = Vec::with_capacity(axis.outer * axis.inner);
    for outer in 0..axis.outer {
        for inner in 0..axis.inner {
            let line: Vec<i128> = (0..axis.len).map(|j| a[(outer * axis.len + j) * axis.inner + inner]).collect();
            result.push(reduce(&line));
        }
    }
    result
}

/// Returns results for each line, one for each of its elements, in their places.
fn lines(a: &[i128], axis: &Axis, compute: impl Fn(&[i128]) -> Vec<i128>) -> Vec<i128> {
    let mut result = vec![0; a.len()];
    each_line(axis, |places| {
        let line: Vec<i128> = places.iter().map(|&place| a[place]).collect();
        places.iter().zip(compute(&line)).for_each(|(&place, value)| result[place] = value);
    });
    result
}

/// Calls `see` with the places of each line along an axis.
pub(crate) fn each_line(axis: &Axis, mut see: impl FnMut(&[usize])) {
    for outer in 0..axis.outer {
        for inner in 0..axis.inner {
            let place = |j: usize| (outer * axis.len + j) * axis.inner + inner;
            see(&(0..axis.len).map(place).collect::<Vec<_>>());
        }
    }
}

fn map_with(a: &[i128], f: impl FnMut(i128) -> i128) -> Vec<i128> {
    a.iter().copied().map(f).collect()
}

fn map(a: &[i128], f: impl Fn(i128) -> i128) -> Vec<i128> {
    a.iter().map(|&x| f(x)).collect()
}

fn zip(a: &[i128], b: &[i128], f: impl Fn(i128, i128) -> i128) -> Vec<i128> {
    a.iter().zip(b).map(|(&x, &y)| f(x, y)).collect()
}
