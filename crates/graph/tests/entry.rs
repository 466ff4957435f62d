//! Tests of the entry of clients' values where parties may cheat: shapes, refusals, origins, hashes, and values.

use std::collections::BTreeMap;

use quorate_graph::{
    BuildError, Builder, Column, Dtype, Fault, Given, Graph, Meaning, NodeId, Op, Source, Submission, eval_clear,
};

const WORD: Dtype = Dtype::Uint { bits: 6 };
const SEED: Dtype = Dtype::Uint { bits: 32 };

fn at(graph: &mut Graph) -> Builder<'_> {
    graph.at(Source::new("entry.py", 3))
}

fn input(graph: &mut Graph, owner: usize, shape: &[usize], dtype: Dtype) -> NodeId {
    at(graph).input(owner, 2, shape, dtype, None).unwrap()
}

/// What two holders input for three places, three values and two masks each, and the seeds of both.
fn held(graph: &mut Graph) -> ([NodeId; 2], [NodeId; 2]) {
    let held = [0, 1].map(|owner| input(graph, owner, &[3, 5], WORD));
    (held, [0, 1].map(|owner| input(graph, owner, &[8], SEED)))
}

fn is_refused(error: &BuildError) -> bool {
    matches!(*error.fault, Fault::EntryArrays)
}

#[test]
fn combinations_are_coins_and_then_sums() {
    let mut graph = Graph::new();
    let (held, seeds) = held(&mut graph);
    let all = at(&mut graph).combined(&held, &seeds, 2, 6).unwrap();
    let node = graph.node(all);
    assert_eq!((node.shape.as_slice(), node.dtype), (&[2 * 3 + 2 * 3 * 2][..], WORD));
    assert_eq!(graph.owners(all).to_string(), "parties 0, 1");
    assert!(graph.own_inputs(all).is_empty(), "masks hide what parties input");
    let numbers: Vec<i128> = (0..15).collect();
    let given = BTreeMap::from([
        (held[0], numbers.clone()),
        (held[1], numbers.iter().map(|x| x + 40).collect()),
        (seeds[0], vec![0; 8]),
        (seeds[1], vec![1; 8]),
    ]);
    let found = &eval_clear(&graph, &given).unwrap()[all.index()];
    assert_eq!(found[..6], [0; 6], "one of the coins that there may be");
    assert_eq!(found[6..], [3, 4, 8, 9, 13, 14, 43, 44, 48, 49, 53, 54]);
}

#[test]
fn combinations_of_other_arrays_are_refused() {
    let mut graph = Graph::new();
    let (held, seeds) = held(&mut graph);
    let mut tried = vec![
        at(&mut graph).combined(&[], &seeds, 2, 6),
        at(&mut graph).combined(&held, &[], 2, 6),
        at(&mut graph).combined(&held, &seeds, 0, 6),
        at(&mut graph).combined(&held, &seeds, 5, 6),
        at(&mut graph).combined(&held, &seeds, 2, 0),
        at(&mut graph).combined(&held, &seeds, 2, 7),
        at(&mut graph).combined(&seeds, &held, 2, 6),
    ];
    for (shape, dtype) in [(&[3, 4][..], WORD), (&[15], WORD), (&[3, 5], Dtype::Int { bits: 6 })] {
        let other = input(&mut graph, 1, shape, dtype);
        tried.push(at(&mut graph).combined(&[held[0], other], &seeds, 2, 6));
        tried.push(at(&mut graph).combined(&[other, held[0]], &seeds, 2, 6));
    }
    let short = input(&mut graph, 1, &[7], SEED);
    tried.push(at(&mut graph).combined(&held, &[short], 2, 6));
    tried.push(at(&mut graph).combined(&held, &[seeds[0], short], 2, 6));
    assert!(tried.iter().all(|built| built.as_ref().is_err_and(is_refused)), "{tried:?}");
}

#[test]
fn rows_that_do_not_count_are_zeros() {
    let mut graph = Graph::new();
    let held = [input(&mut graph, 0, &[3, 5], WORD)];
    let stated = [0, 1].map(|owner| input(&mut graph, owner, &[3], Dtype::Bit));
    let counted = at(&mut graph).counted(held[0], &stated).unwrap();
    assert_eq!((&graph.node(counted).op, graph.node(counted).dtype), (&Op::Counted, WORD));
    let bits = vec![1, 0, 1];
    let given = BTreeMap::from([(held[0], (1..16).collect()), (stated[0], bits.clone()), (stated[1], bits)]);
    let found = &eval_clear(&graph, &given).unwrap()[counted.index()];
    assert_eq!(*found, [1, 2, 3, 4, 5, 0, 0, 0, 0, 0, 11, 12, 13, 14, 15]);
    let (long, number) = (input(&mut graph, 1, &[4], Dtype::Bit), input(&mut graph, 1, &[3], WORD));
    let signed = input(&mut graph, 1, &[3], Dtype::INT64);
    let tried = [
        at(&mut graph).counted(held[0], &[]),
        at(&mut graph).counted(held[0], &[stated[0], long]),
        at(&mut graph).counted(held[0], &[number]),
        at(&mut graph).counted(signed, &stated),
        at(&mut graph).counted(stated[0], &stated),
    ];
    assert!(tried.iter().all(|built| built.as_ref().is_err_and(is_refused)), "{tried:?}");
}

/// A range that was proven holds for rows that count; others are 0.
#[test]
fn rows_that_do_not_count_are_within_the_range() {
    let mut graph = Graph::new();
    let x = at(&mut graph).constant_ints(&[2], &[5, 9], WORD).unwrap();
    let stated = input(&mut graph, 0, &[2], Dtype::Bit);
    let counted = at(&mut graph).counted(x, &[stated]).unwrap();
    let range = graph.node(counted).range();
    assert_eq!((range.lo(), range.hi()), (0, 9));
}

/// All values of six bits, all parts of it, and all narrower dtypes.
#[test]
fn parts_may_be_wider_than_what_clients_gave() {
    let given = Given::ByClients { campaign: "wages".into(), hash: [1; 32] };
    let from = Submission { given, column: Column { name: "salary".into(), meaning: Meaning::Numbers } };
    for bits in 1..=6 {
        let mut graph = Graph::new();
        let parts = [0, 1].map(|owner| input(&mut graph, owner, &[1], WORD));
        let x = at(&mut graph).submitted(&parts, Dtype::Uint { bits }, from.clone()).unwrap();
        for (one, other) in (0..64).flat_map(|one| (0..64).map(move |other| (one, other))) {
            let given = BTreeMap::from([(parts[0], vec![one]), (parts[1], vec![other])]);
            assert_eq!(eval_clear(&graph, &given).unwrap()[x.index()], [(one + other) % (1 << bits)]);
        }
    }
    let mut graph = Graph::new();
    let part = input(&mut graph, 0, &[1], WORD);
    for dtype in [Dtype::Uint { bits: 7 }, Dtype::Int { bits: 7 }, Dtype::Bit] {
        assert!(at(&mut graph).submitted(&[part], dtype, from.clone()).is_err(), "{dtype}");
    }
}

#[test]
fn hashes_of_combinations_name_their_form() {
    let hash = |rows, coin_bits, holders| {
        let mut graph = Graph::new();
        let (held, seeds) = held(&mut graph);
        let all = at(&mut graph).combined(&held[..holders], &seeds, rows, coin_bits).unwrap();
        graph.prefix_hash(all)
    };
    let all = [hash(2, 6, 2), hash(1, 6, 2), hash(2, 5, 2), hash(2, 6, 1)];
    assert!((0..4).all(|i| all[..i].iter().all(|other| *other != all[i])));
    assert_eq!(all[0], hash(2, 6, 2));
}
