//! Tests of values that clients gave: their sum, their bounds, their origin, and the hash of the program.

use std::collections::BTreeMap;

use quorate_graph::{
    BinaryOp, Builder, Column, Dtype, Fault, Given, Graph, Interval, Meaning, NodeId, Op, Operand, Owners, Room, Rules,
    Source, Submission, eval_clear,
};

fn at(graph: &mut Graph) -> Builder<'_> {
    graph.at(Source::new("clients.py", 3))
}

fn of(campaign: &str, hash: u8, column: &str) -> Submission {
    let column = Column { name: column.into(), meaning: Meaning::Numbers };
    Submission { given: Given::ByClients { campaign: campaign.into(), hash: [hash; 32] }, column }
}

/// Adds parts of `parties` parties, of one element each.
fn parts(graph: &mut Graph, parties: usize, dtype: Dtype) -> Vec<NodeId> {
    (0..parties).map(|owner| at(graph).input(owner, parties, &[1], dtype, None).unwrap()).collect()
}

fn part_of(dtype: Dtype) -> Dtype {
    if dtype == Dtype::Bit { Dtype::Bit } else { Dtype::Uint { bits: dtype.bits() } }
}

fn submitted(graph: &mut Graph, dtype: Dtype) -> NodeId {
    let parts = parts(graph, 2, part_of(dtype));
    at(graph).submitted(&parts, dtype, of("wages", 1, "salary")).unwrap()
}

/// Every value of a ring of 4 bits, and every part of it: the sum is the value, signed or not; bits are combined by
/// exclusive or.
#[test]
fn the_parts_of_every_value_sum_to_it() {
    for dtype in [Dtype::Int { bits: 4 }, Dtype::Uint { bits: 4 }, Dtype::Fixed { bits: 4, frac: 2 }, Dtype::Bit] {
        let mut graph = Graph::new();
        let x = submitted(&mut graph, dtype);
        let size = 1i128 << dtype.bits();
        for (value, mask) in (0..size).flat_map(|value| (0..size).map(move |mask| (value, mask))) {
            let rest = (value - mask).rem_euclid(size);
            let given = BTreeMap::from([(NodeId(0), vec![mask]), (NodeId(1), vec![rest])]);
            let found = eval_clear(&graph, &given).unwrap()[x.index()][0];
            assert!(dtype.range().contains(found) && (found - value).rem_euclid(size) == 0, "{dtype} {value} {mask}");
        }
    }
}

/// All values and all bounds of a ring of 6 bits, signed and not, whatever a value claims to be.
#[test]
fn values_outside_any_bounds_are_found_over_the_whole_ring() {
    for dtype in [Dtype::Int { bits: 6 }, Dtype::Uint { bits: 6 }] {
        let (lo, hi) = (dtype.range().lo(), dtype.range().hi());
        for low in lo..=hi {
            for high in low..=hi {
                let mut graph = Graph::new();
                let x = submitted(&mut graph, dtype);
                let bit = at(&mut graph).outside_bounds(x, low, high).unwrap();
                assert_eq!(graph.node(bit).op, Op::Lt, "the test is not folded away");
                for value in lo..=hi {
                    let given = BTreeMap::from([(NodeId(0), vec![0]), (NodeId(1), vec![value.rem_euclid(64)])]);
                    let found = eval_clear(&graph, &given).unwrap();
                    let wanted = i128::from(!(low..=high).contains(&value));
                    assert_eq!(found[bit.index()], [wanted], "{dtype}: {value} in {low}..={high}");
                }
            }
        }
    }
}

#[test]
fn bounds_that_a_dtype_lacks_are_refused() {
    let mut graph = Graph::new();
    let x = submitted(&mut graph, Dtype::Int { bits: 8 });
    for (low, high) in [(1, 0), (-129, 0), (0, 128)] {
        let error = at(&mut graph).outside_bounds(x, low, high).unwrap_err();
        assert!(matches!(*error.fault, Fault::Bounds { .. }), "{error}");
    }
    let bit = submitted(&mut graph, Dtype::Bit);
    assert!(at(&mut graph).outside_bounds(bit, 0, 1).is_err());
    let stated = at(&mut graph).stated(x, 0, 9).unwrap();
    assert!(at(&mut graph).outside_bounds(stated, 0, 9).is_err(), "what is stated may be false");
}

#[test]
fn parts_have_one_shape_and_the_words_of_the_dtype() {
    let mut graph = Graph::new();
    let int = Dtype::Int { bits: 8 };
    let refused = |graph: &mut Graph, parts: &[NodeId]| {
        let error = at(graph).submitted(parts, int, of("wages", 1, "salary")).unwrap_err();
        assert!(matches!(*error.fault, Fault::SubmittedParts { dtype: Dtype::Uint { bits: 8 } }), "{error}");
    };
    refused(&mut graph, &[]);
    let signed = parts(&mut graph, 2, int);
    refused(&mut graph, &signed);
    let good = parts(&mut graph, 1, Dtype::Uint { bits: 8 });
    let long = at(&mut graph).input(1, 2, &[2], Dtype::Uint { bits: 8 }, None).unwrap();
    refused(&mut graph, &[good[0], long]);
}

/// Clients own what they gave, and parties nothing of it, though they input the parts.
#[test]
fn clients_own_what_they_gave() {
    let mut graph = Graph::new();
    let x = submitted(&mut graph, Dtype::INT64);
    let own = at(&mut graph).input(1, 2, &[1], Dtype::INT64, None).unwrap();
    let sum = at(&mut graph).binary(BinaryOp::Add, x, own).unwrap();
    assert_eq!(graph.owners(x).to_string(), "clients");
    assert_eq!(graph.owners(sum).to_string(), "party 1 and clients");
    assert!(graph.own_inputs(x).has_clients() && graph.own_inputs(sum).is_empty());
    assert_eq!(graph.owners(x).parties().count(), 0);
    let said = graph.describe(x);
    assert!(said.ends_with("from clients, column 'salary', campaign 'wages', at clients.py:3"), "{said}");
    let raw = at(&mut graph).binary(BinaryOp::Add, x, Operand::int(&3)).unwrap();
    assert!(graph.own_inputs(raw).has_clients(), "a public number hides nothing");
}

#[test]
fn the_hash_of_a_program_names_the_campaign_and_the_column() {
    let hash = |from: Submission| {
        let mut graph = Graph::with(Rules::default());
        let parts = parts(&mut graph, 2, Dtype::Uint { bits: 64 });
        let x = at(&mut graph).submitted(&parts, Dtype::INT64, from).unwrap();
        (graph.prefix_hash(x), graph.part_hash(x))
    };
    let all = [of("wages", 1, "salary"), of("wage", 1, "salary"), of("wages", 2, "salary"), of("wages", 1, "age")];
    let found: Vec<_> = all.into_iter().map(hash).collect();
    for (i, one) in found.iter().enumerate() {
        assert!(found[..i].iter().all(|other| other.0 != one.0 && other.1 != one.1), "{i}");
    }
    assert_eq!(found[0], hash(of("wages", 1, "salary")));
}

/// A result for a client is its value plus the client's mask, and depends on what the value depends on.
#[test]
fn masked_results_are_words_of_the_ring() {
    for dtype in [Dtype::Int { bits: 4 }, Dtype::Fixed { bits: 4, frac: 2 }, Dtype::Bit] {
        let mut graph = Graph::new();
        let masks = submitted(&mut graph, part_of(dtype));
        let x = at(&mut graph).input(1, 2, &[1], dtype, None).unwrap();
        let shown = at(&mut graph).masked(x, masks).unwrap();
        let size = 1i128 << dtype.bits();
        for (value, mask) in (dtype.range().lo()..=dtype.range().hi()).flat_map(|v| (0..size).map(move |m| (v, m))) {
            let given = BTreeMap::from([(NodeId(0), vec![mask]), (NodeId(1), vec![0]), (x, vec![value])]);
            let found = eval_clear(&graph, &given).unwrap()[shown.index()][0];
            assert_eq!(found, (value + mask).rem_euclid(size), "{dtype}");
        }
        assert_eq!(graph.owners(shown).to_string(), "party 1 and clients");
        assert!(graph.own_inputs(shown).is_empty(), "a mask hides it");
        let wide = at(&mut graph).input(1, 2, &[2], dtype, None).unwrap();
        assert!(at(&mut graph).masked(wide, masks).is_err());
        assert!(at(&mut graph).masked(x, x).is_err(), "no client drew this mask");
    }
}

/// What is kept depends on what it depended on before, whoever holds its parts, and is a party's own input if it was.
#[test]
fn a_kept_value_keeps_its_origin() {
    let both = Owners::from_iter([0, 2]).with_clients();
    let kept = |name: &str, owners: &Owners, own: &Owners| {
        let column = Column { name: String::new(), meaning: Meaning::Numbers };
        Submission { given: Given::Before { name: name.into(), owners: owners.clone(), own: own.clone() }, column }
    };
    let hash = |from: Submission| {
        let mut graph = Graph::new();
        let parts = parts(&mut graph, 2, Dtype::Uint { bits: 8 });
        let x = at(&mut graph).submitted(&parts, Dtype::Int { bits: 8 }, from).unwrap();
        (graph.owners(x).clone(), graph.own_inputs(x), graph.describe(x), graph.hashes()[x.index()])
    };
    let nobody = Owners::default();
    let (owners, own, text, first) = hash(kept("model", &both, &Owners::one(2)));
    assert_eq!((owners, own), (both.clone(), Owners::one(2)));
    assert!(text.contains("submitted of (1,) uint(8) kept as 'model', at clients.py:3"), "{text}");
    let others = [
        kept("models", &both, &Owners::one(2)),
        kept("model", &both, &nobody),
        kept("model", &Owners::one(0), &Owners::one(2)),
        of("model", 1, ""),
    ];
    for other in others {
        assert_ne!(hash(other).3, first);
    }
    assert!(hash(kept("model", &both, &nobody)).1.is_empty());
}

/// Whoever keeps a value sees the part of one party, which is under the masks of the others.
#[test]
fn a_part_to_be_kept_depends_on_what_its_value_depends_on() {
    let mut graph = Graph::new();
    let x = at(&mut graph).input(1, 2, &[1], Dtype::Int { bits: 8 }, None).unwrap();
    let mask = at(&mut graph).input(0, 2, &[1], Dtype::Uint { bits: 8 }, None).unwrap();
    let nobody = Owners::default();
    let given = Given::Before { name: "scores".into(), owners: nobody.clone(), own: nobody };
    let column = Column { name: "of women".into(), meaning: Meaning::Numbers };
    let masks = at(&mut graph).submitted(&[mask], Dtype::Uint { bits: 8 }, Submission { given, column }).unwrap();
    let part = at(&mut graph).masked(x, masks).unwrap();
    assert_eq!(graph.owners(part).parties().collect::<Vec<_>>(), [1]);
    assert!(graph.own_inputs(part).is_empty());
    let text = graph.describe(part);
    assert!(text.contains("masked of (1,) int(8) to be kept as 'scores', column 'of women', at"), "{text}");
}

/// One bit of a number tells little of it; the others may be kept under another name.
#[test]
fn a_kept_part_of_moved_elements_counts_as_an_own_input() {
    let mut graph = Graph::new();
    let x = at(&mut graph).input(1, 2, &[1], Dtype::Int { bits: 8 }, None).unwrap();
    let bits = at(&mut graph).bits(x).unwrap();
    let one = at(&mut graph).gather(bits, vec![7], &[1]).unwrap();
    let computed = at(&mut graph).binary(BinaryOp::Mul, x, x).unwrap();
    assert!(graph.own_inputs(one).is_empty());
    assert_eq!(graph.own_inputs_beside(one), Owners::one(1));
    assert!(graph.own_inputs_beside(computed).is_empty());
}

#[test]
fn a_kept_value_keeps_its_range_and_its_room() {
    let column = Column { name: String::new(), meaning: Meaning::Numbers };
    let nobody = Owners::default();
    let from = Submission { given: Given::Before { name: "x".into(), owners: nobody.clone(), own: nobody }, column };
    let room = Room { grows: true, assumed: true };
    let all = Some(Dtype::Int { bits: 8 }.range());
    for (stated, known) in [(None, None), (Some((-3, 9)), Some(Interval::new(-3, 9))), (Some((-300, 300)), all)] {
        let mut graph = Graph::new();
        let parts = parts(&mut graph, 2, Dtype::Uint { bits: 8 });
        let interval = stated.map(|(low, high)| Interval::new(low, high));
        let x = at(&mut graph).kept_before(&parts, Dtype::Int { bits: 8 }, from.clone(), (interval, room)).unwrap();
        assert_eq!((graph.node(x).interval, graph.node(x).room), (known, room));
    }
}
