//! Tests that every call returns a program that evaluates, or an error, and never panics; an error leaves the program
//! as it was.

use crate::common::{FIX, INT8, Program};
use proptest::prelude::*;
use quorate_graph::{BinaryOp as B, Bound, BuildError, Dtype, NodeId, Operand, Real, UnaryOp, eval_clear};

#[derive(Clone, Debug)]
struct Call {
    op: u8,
    nodes: [usize; 3],
    axis: i64,
    flag: bool,
    shape: Vec<usize>,
    target: Vec<i64>,
    ints: Vec<i128>,
    reals: Vec<f64>,
}

fn call() -> impl Strategy<Value = Call> {
    let int = prop_oneof![4 => -3i128..4, 1 => any::<i64>().prop_map(i128::from), 1 => any::<i128>()];
    let real = prop_oneof![4 => -3.0..3.0f64, 1 => any::<f64>(), 1 => Just(f64::NAN)];
    let axis = prop_oneof![8 => -3i64..4, 1 => any::<i64>()];
    let size = prop_oneof![30 => 0usize..4, 1 => any::<usize>()];
    let target = prop_oneof![8 => -1i64..7, 1 => any::<i64>()];
    (
        any::<u8>(),
        any::<[usize; 3]>(),
        axis,
        any::<bool>(),
        prop::collection::vec(size, 0..4),
        prop::collection::vec(target, 0..4),
        prop::collection::vec(int, 0..7),
        prop::collection::vec(real, 0..7),
    )
        .prop_map(|(op, nodes, axis, flag, shape, target, ints, reals)| Call {
            op,
            nodes,
            axis,
            flag,
            shape,
            target,
            ints,
            reals,
        })
}

const BINARY: [B; 12] = [B::Add, B::Sub, B::Mul, B::Lt, B::Le, B::Gt, B::Ge, B::Eq, B::Ne, B::And, B::Or, B::Xor];

const REAL: [Real; 8] =
    [Real::Sigmoid, Real::Tanh, Real::Gelu, Real::Exp, Real::Log, Real::Sqrt, Real::Rsqrt, Real::Reciprocal];

fn make(p: &mut Program, ids: &[NodeId], call: &Call) -> Result<NodeId, BuildError> {
    let node = |i: usize| ids.get(call.nodes[i] % (ids.len() + 1)).copied().unwrap_or(NodeId(12345));
    let [x, y, z] = [node(0), node(1), node(2)];
    let ints = Operand::Ints { shape: &call.shape, values: &call.ints };
    let reals = Operand::Reals { shape: &call.shape, values: &call.reals };
    let literal = if call.flag { ints } else { reals };
    let binary = BINARY[call.nodes[2] % 12];
    let along = call.flag.then_some(call.axis);
    let index: Vec<u32> = call.ints.iter().map(|&i| i as u32).collect();
    let dtype = [INT8, FIX, Dtype::INT64, Dtype::Bit, Dtype::Fixed { bits: 64, frac: 63 }][call.nodes[1] % 5];
    let keep = call.nodes[1].is_multiple_of(2);
    let mut b = p.at();
    match call.op % 28 {
        0 => b.binary(binary, x, y),
        1 => b.binary(binary, x, literal),
        2 => b.binary(binary, literal, x),
        3 => b.binary(binary, ints, reals),
        4 => b.unary(if call.flag { UnaryOp::Neg } else { UnaryOp::Not }, x),
        5 => b.select(x, y, z),
        6 => b.select(literal, x, literal),
        7 => b.shl(x, call.axis),
        8 => b.shr(x, call.axis),
        9 => b.cast(x, dtype),
        10 => b.matmul(x, y),
        11 => b.dot(x, literal),
        12 => b.sum(x, along, keep),
        13 => b.max(x, along, keep),
        14 => b.argmax(x, along, keep),
        15 => b.gather(x, index, &call.shape),
        16 => b.reshape(x, &call.target),
        17 => b.transpose(x, call.flag.then_some(call.target.as_slice())),
        18 => b.concat(&[x.into(), literal, y.into()], call.axis),
        19 => b.stack(&[x.into(), y.into()], call.axis),
        20 => b.set_at(x, &index, &call.shape, y),
        21 => b.argmin(x, along, keep),
        22 => b.cumsum(x, along),
        23 => b.bits(x),
        24 => b.divide(x, if call.flag { Operand::Node(y) } else { literal }),
        25 => b.softmax(x, call.axis),
        26 => b.real(REAL[call.nodes[1] % REAL.len()], x),
        _ if call.flag => b.constant_ints(&call.shape, &call.ints, dtype),
        _ => b.input(call.nodes[0] % 5, 3, &call.shape, dtype, call.reals.first().map(|&r| Bound::Real(r))),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn calls_build_or_fail_cleanly(calls in prop::collection::vec(call(), 1..40)) {
        let mut p = Program::default();
        let mut ids = vec![
            p.input(&[2, 3], INT8, &[1, -2, 3, -4, 5, 127]),
            p.input(&[3], FIX, &[16, -7, 0]),
            p.input(&[2, 1], Dtype::Bit, &[0, 1]),
            p.input(&[0, 3], Dtype::INT64, &[]),
        ];
        for call in &calls {
            let before = p.graph.hashes().to_vec();
            match make(&mut p, &ids, call) {
                Ok(id) if p.graph.node(id).elements() <= 1000 => ids.push(id),
                Ok(_) => return Ok(()), // too large to evaluate here
                Err(_) => prop_assert_eq!(p.graph.hashes().to_vec(), before),
            }
        }
        for (i, node) in p.graph.nodes().iter().enumerate() {
            prop_assert!(node.inputs.iter().all(|id| id.index() < i));
            let folds = !node.inputs.is_empty() && node.inputs.iter().all(|&n| p.graph.node(n).is_public());
            prop_assert!(node.is_public() || node.op.is_approximate() || !folds);
            if matches!(node.op, quorate_graph::Op::Input { .. }) {
                p.inputs.entry(NodeId(i as u32)).or_insert_with(|| vec![0; node.elements()]);
            }
        }
        let values = eval_clear(&p.graph, &p.inputs).unwrap();
        for (node, values) in p.graph.nodes().iter().zip(&values) {
            prop_assert_eq!(values.len(), node.elements());
            prop_assert!(values.iter().all(|&v| node.range().contains(v)));
        }
    }
}
