//! Tests of flow control: the number of bytes that a fast party sends ahead of a slow one is bounded, for all steps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use quorate_engine::{Believed, Phase, Result, testing};
use quorate_graph::{BinaryOp, Dtype, Graph, NodeId, Operand, Source};
use quorate_planner::{Reveal, Work};
use quorate_rss::Rss;

use crate::memory::limit::Limit;
use crate::memory::schedule::{Bounds, Given, Schedule};
use crate::run::executor::{Around, Executor};
use crate::run::pacing::Row;
use crate::work::data::{Data, OwnInput, Plain, encode_input};
use crate::work::order::Order;
use crate::work::value::Known;

const PARTIES: usize = 5;
const LEN: usize = 1000;
/// Bytes: room for a few of the inputs, and the distance that the parties may be apart. [`LIMIT`] is a bound for parked
/// messages that a tenth of the inputs exceeds.
const ROOM: u64 = 64 << 10;
const LIMIT: usize = 256 << 10;

/// Returns a program with many inputs of a slow party, then many of a fast one. The inputs of the slow party fill the
/// gate of a party that receives them.
fn program(slow: usize, fast: usize) -> (Graph, Vec<NodeId>) {
    let mut graph = Graph::new();
    let nodes = (0..240).map(|i| {
        let owner = if i < 40 { slow } else { fast };
        graph
            .at(Source::new("flow_control_tests.rs", i))
            .input(owner, PARTIES, &[LEN], Dtype::int(64).unwrap(), None)
            .unwrap()
    });
    let nodes = nodes.collect();
    (graph, nodes)
}

/// Runs the program; the inputs of both are revealed to `to`, or, without it, only the last one to all.
fn run(slow: usize, fast: usize, to: Option<usize>) -> Vec<Result<Vec<Option<Plain>>>> {
    let (graph, nodes) = program(slow, fast);
    let reveals = match to {
        Some(to) => nodes.iter().map(|&node| Reveal { node, to: Some(to) }).collect(),
        None => vec![Reveal { node: nodes[239], to: None }],
    };
    let values = |node: NodeId| Data::Ints(vec![i64::from(node.0); LEN]);
    let inputs: BTreeMap<NodeId, Arc<OwnInput>> = nodes
        .iter()
        .map(|&node| (node, Arc::new(OwnInput::Held(encode_input(&graph, node, &values(node)).unwrap().plain))))
        .collect();
    testing::parties(PARTIES, |mut party| {
        party.insecure_limit(LIMIT);
        let me = party.me();
        let mut run = party.begin_alone()?;
        let rss = run.phase(Phase::Offline, async |ctx| Rss::setup(ctx).await)?;
        if me == slow {
            std::thread::sleep(Duration::from_millis(150));
        }
        let work = Work { graph: &graph, nodes: nodes.clone(), reveals: reveals.clone(), domains: Default::default() };
        let rooms = nodes.iter().map(|&node| 16 * graph.node(node).elements() as u64);
        let schedule = Schedule::with_rooms(rooms);
        let known = Known::<Rss>::new();
        let mut executor = Executor::new(
            &rss,
            &work,
            Around { known: &known, inputs: &inputs, keep: &|_| false },
            (Some(ROOM), &schedule),
        );
        executor.row = Row::new(&work, &Order::of(&work, false), &schedule, ROOM);
        let done = run.phase(Phase::Online, async |ctx| executor.run(ctx).await)?;
        run.finish();
        Ok(done.opened.into_iter().map(|value| value.map(Believed::into_inner)).collect())
    })
}

fn check(slow: usize, fast: usize, to: Option<usize>) {
    for (me, opened) in run(slow, fast, to).into_iter().enumerate() {
        let opened = opened.unwrap_or_else(|error| panic!("slow {slow}, fast {fast}, party {me}: {error}"));
        let first = 240 - opened.len();
        for (place, plain) in opened.iter().enumerate() {
            match plain {
                Some(Plain::Vector(v)) => assert!(v.to_u64s() == vec![(first + place) as u64; LEN]),
                _ => assert!(to.is_some_and(|to| to != me)),
            }
        }
    }
}

#[test]
fn an_owner_of_many_inputs_does_not_overtake_who_waits_for_another() {
    for slow in 0..PARTIES {
        for by in 1..PARTIES {
            check(slow, (slow + by) % PARTIES, None);
        }
    }
}

#[test]
fn an_owner_of_many_inputs_does_not_overtake_parties_that_reveal() {
    for to in 0..PARTIES {
        check(0, 1, Some(to));
    }
}

/// A step runs with the windows of its schedule: of 25 chunks of most significant bits, 4 or 16 are under way.
#[test]
fn steps_have_as_many_chunks_under_way_as_their_schedule_says() {
    let most = |windows: usize| {
        let mut graph = Graph::new();
        let at = || Source::new("flow_control_tests.rs", 1);
        let x = graph.at(at()).input(0, 3, &[200_000], Dtype::INT64, None).unwrap();
        let less = graph.at(at()).binary(BinaryOp::Lt, x, Operand::int(&5)).unwrap();
        let reveals = vec![Reveal { node: less, to: None }];
        let nodes = graph.needed(&[less], &|_| false);
        let work = Work { graph: &graph, nodes, reveals, domains: Default::default() };
        let values = Data::Ints((0..200_000).collect());
        let inputs = BTreeMap::from([(x, Arc::new(OwnInput::Held(encode_input(&graph, x, &values).unwrap().plain)))]);
        let (dry, held, unchecked) = (Rss::dry(3, 0).unwrap(), BTreeSet::new(), BTreeMap::new());
        let given =
            Given { backend: &dry, work: &work, held: &held, keeps: &|_| false, unchecked: &unchecked, windows };
        let schedule = Schedule::of(&given, Bounds::only(Limit::None));
        testing::parties(3, |mut party| {
            party.insecure_record();
            let mut run = party.begin_alone().unwrap();
            let rss = run.phase(Phase::Offline, async |ctx| Rss::setup(ctx).await).unwrap();
            let known = Known::<Rss>::new();
            let around = Around { known: &known, inputs: &inputs, keep: &|_| false };
            let executor = Executor::new(&rss, &work, around, (None, &schedule));
            run.phase(Phase::Online, async |ctx| executor.run(ctx).await).unwrap();
            run.finish();
            party.insecure_most_lanes()
        })
    };
    for (narrow, wide) in most(1).into_iter().zip(most(4)) {
        // Each chunk has a lane. A peer that has ended a chunk may begin the next one, which waits for this party then.
        assert!(narrow <= 2 * 4 && wide > 2 * 4, "{narrow}, {wide}");
    }
}
