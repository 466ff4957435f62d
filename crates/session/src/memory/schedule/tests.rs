//! Tests of which steps run in pieces where no limit is set.

use quorate_engine::Result;
use quorate_graph::{BinaryOp, Bound, Dtype, Operand, Source};
use quorate_planner::{Domains, Reveal};
use quorate_rss::Rss;

use super::*;

const MB: u64 = 1_000_000;

/// Returns the schedule of a program without a limit, and the one in which every step is whole.
fn scheduled(graph: &Graph, result: NodeId, domains: Domains) -> Result<(Schedule, Schedule)> {
    let reveals = vec![Reveal { node: result, to: None }];
    let work = Work { graph, nodes: graph.needed(&[result], &|_| false), reveals, domains };
    let (dry, held) = (Rss::dry(3, 0)?, BTreeSet::new());
    let given =
        Given { backend: &dry, work: &work, held: &held, keeps: &|_| false, unchecked: &BTreeMap::new(), windows: 1 };
    Ok((Schedule::of(&given, Bounds::only(Limit::None)), given.walk(&Rule::WHOLE, &BTreeSet::new())))
}

/// Builds the operation on all pairs of `rows` secret rows and `numbers` public numbers, summed over the rows; returns
/// the sum and the operation.
fn sum_of_pairs(graph: &mut Graph, op: BinaryOp, rows: usize, numbers: usize) -> (NodeId, NodeId) {
    let at = || Source::new("schedule.rs", 1);
    let x = graph.at(at()).input(0, 3, &[rows, 1], Dtype::INT64, None).unwrap();
    let values: Vec<i128> = (0..numbers as i128).collect();
    let pairs = graph.at(at()).binary(op, x, Operand::Ints { shape: &[numbers], values: &values }).unwrap();
    (graph.at(at()).sum(pairs, Some(0), false).unwrap(), pairs)
}

#[test]
fn sums_of_many_pairs_go_in_pieces_by_themselves() {
    for op in [BinaryOp::Lt, BinaryOp::Mul] {
        let mut graph = Graph::default();
        let (sums, pairs) = sum_of_pairs(&mut graph, op, 100_000, 500);
        let (schedule, whole) = scheduled(&graph, sums, Domains::default()).unwrap();
        assert!(whole.peak_bytes > 1500 * MB && schedule.peak_bytes < 700 * MB, "{op:?}: {}", schedule.peak_bytes);
        let way = schedule.way(pairs);
        match op {
            BinaryOp::Mul => assert_eq!(way, Some(Way::Within), "products are made within the pieces of their sums"),
            _ => assert!(matches!(way, Some(Way::Pieces { units, .. }) if units >= 1 << 18), "{op:?}: {way:?}"),
        }
        let operands = &graph.node(pairs).inputs;
        assert!(operands.iter().any(|&input| schedule.is_within(input)), "{op:?}: what is broadcast is never whole");
    }
}

#[test]
fn steps_of_less_than_a_gigabyte_run_whole() {
    let mut graph = Graph::default();
    let (sums, _) = sum_of_pairs(&mut graph, BinaryOp::Eq, 2000, 500);
    let (schedule, whole) = scheduled(&graph, sums, Domains::default()).unwrap();
    assert!(schedule == whole && schedule.ways.is_empty());
}

/// More chunks are under way on lines with a long delay, for steps longer than a window; not where memory counts.
#[test]
fn chunks_under_way_are_more_where_they_wait_for_a_line() {
    let of = |rows: usize, windows: usize, in_b: bool| {
        let (mut graph, mut domains) = (Graph::default(), Domains::default());
        let (sums, pairs) = sum_of_pairs(&mut graph, BinaryOp::Lt, rows, 100);
        if in_b {
            domains.set(pairs, Domain::B);
        }
        let reveals = vec![Reveal { node: sums, to: None }];
        let nodes = graph.needed(&[sums], &|_| false);
        let work = Work { graph: &graph, nodes, reveals, domains };
        let (dry, held) = (Rss::dry(3, 0).unwrap(), BTreeSet::new());
        let unchecked = BTreeMap::new();
        let given =
            Given { backend: &dry, work: &work, held: &held, keeps: &|_| false, unchecked: &unchecked, windows };
        let schedule = Schedule::of(&given, Bounds::only(Limit::None));
        (schedule.windows(pairs), schedule)
    };
    let scheduled = |rows: usize, windows: usize| of(rows, windows, false);
    assert_eq!(of(10_000, 4, true).0, 1, "in other sharings windows are those of circuits");
    let ((one, usual), (four, wide)) = (scheduled(10_000, 1), scheduled(10_000, 4));
    assert_eq!((one, four), (1, 4));
    let more = wide.peak_bytes - usual.peak_bytes;
    assert!(more > 0 && more <= WIDE_BYTES, "{more}");
    for rows in [50, 100] {
        let ((_, usual), (one, same)) = (scheduled(rows, 1), scheduled(rows, 4));
        assert!(one == 1 && same == usual, "one window holds all of {rows} rows");
    }
    let ((_, usual), (one, same)) = (scheduled(400_000, 1), scheduled(400_000, 4));
    assert!(one == 1 && same == usual && !usual.is_whole(), "in pieces");
}

/// A window has more short numbers than long ones.
#[test]
fn short_numbers_fill_a_window_later() {
    let windows = |bits: u32| {
        let mut graph = Graph::default();
        let at = || Source::new("schedule.rs", 1);
        let [x, y] = [0, 1].map(|owner| {
            let bound = Some(Bound::Int(1 << (bits - 2)));
            graph.at(at()).input(owner, 3, &[100_000], Dtype::INT64, bound).unwrap()
        });
        let less = graph.at(at()).binary(BinaryOp::Lt, x, Operand::Node(y)).unwrap();
        let reveals = vec![Reveal { node: less, to: None }];
        let nodes = graph.needed(&[less], &|_| false);
        let work = Work { graph: &graph, nodes, reveals, domains: Domains::default() };
        let (dry, held, unchecked) = (Rss::dry(3, 0).unwrap(), BTreeSet::new(), BTreeMap::new());
        let given =
            Given { backend: &dry, work: &work, held: &held, keeps: &|_| false, unchecked: &unchecked, windows: 4 };
        Schedule::of(&given, Bounds::only(Limit::None)).windows(less)
    };
    assert_eq!([16, 24, 60].map(windows), [1, 4, 4]);
}

/// A schedule does not affect the chunks under way of look-ups and circuits, and counts no memory for them.
#[test]
fn schedules_do_not_affect_chunks_of_look_ups() {
    let mut graph = Graph::default();
    let at = || Source::new("schedule.rs", 1);
    let x = graph.at(at()).input(0, 3, &[200_000], Dtype::int(8).unwrap(), None).unwrap();
    let entries: Vec<i128> = (0..256).collect();
    let found = graph.at(at()).lookup(x, -128, &entries, Dtype::INT64).unwrap();
    let reveals = vec![Reveal { node: found, to: None }];
    let nodes = graph.needed(&[found], &|_| false);
    let work = Work { graph: &graph, nodes, reveals, domains: Domains::default() };
    let (dry, held, unchecked) = (Rss::dry(3, 0).unwrap(), BTreeSet::new(), BTreeMap::new());
    let of = |windows| {
        let given =
            Given { backend: &dry, work: &work, held: &held, keeps: &|_| false, unchecked: &unchecked, windows };
        Schedule::of(&given, Bounds::only(Limit::None))
    };
    assert_eq!(of(1), of(4));
}

#[test]
fn steps_run_whole_if_pieces_save_too_little() {
    let mut graph = Graph::default();
    let at = || Source::new("schedule.rs", 1);
    let x = graph.at(at()).input(0, 3, &[30_000_000], Dtype::INT64, None).unwrap();
    let sum = graph.at(at()).binary(BinaryOp::Add, x, Operand::int(&1)).unwrap();
    let (schedule, whole) = scheduled(&graph, sum, Domains::default()).unwrap();
    assert!(whole.peak_bytes > Rule::BY_SIZE.limit && schedule == whole);
}

#[test]
fn steps_in_other_sharings_stay_whole() {
    let mut graph = Graph::default();
    let (sums, pairs) = sum_of_pairs(&mut graph, BinaryOp::Lt, 100_000, 500);
    let mut domains = Domains::default();
    domains.set(pairs, Domain::B);
    let (schedule, _) = scheduled(&graph, sums, domains).unwrap();
    assert_eq!(schedule.way(pairs), None);
    assert!(graph.node(pairs).inputs.iter().all(|&input| !schedule.is_within(input)));
}

/// A product runs in pieces where a turn of its draws does not fit, even if there is room for the whole product. Each
/// time that a turn does not fit, the pieces get shorter.
#[test]
fn products_are_cut_each_time_that_a_turn_does_not_fit() {
    let mut graph = Graph::default();
    let at = || Source::new("schedule.rs", 1);
    let [x, y] = [0, 1].map(|owner| graph.at(at()).input(owner, 3, &[200_000], Dtype::INT64, None).unwrap());
    let product = graph.at(at()).binary(BinaryOp::Mul, x, Operand::Node(y)).unwrap();
    let reveals = vec![Reveal { node: product, to: None }];
    let work =
        Work { graph: &graph, nodes: graph.needed(&[product], &|_| false), reveals, domains: Domains::default() };
    let (dry, held) = (Rss::dry(3, 0).unwrap(), BTreeSet::new());
    let given =
        Given { backend: &dry, work: &work, held: &held, keeps: &|_| false, unchecked: &BTreeMap::new(), windows: 1 };
    let limit = Limit::Named(1000 * MB);
    let mut bounds = Bounds::only(limit);
    let mut sizes = Vec::new();
    loop {
        let schedule = Schedule::of(&given, bounds);
        sizes.push(schedule.way(product).map(|way| match way {
            Way::Pieces { units, .. } => units,
            Way::Within => 0,
        }));
        let Some(tighter) = bounds.tighter(limit, &schedule, MB) else { break };
        bounds = tighter;
    }
    let pieces = [1 << 16, 1 << 14, 1 << 12, 1 << 10, 1 << 10].map(Some);
    assert_eq!((sizes[0], &sizes[1..]), (None, &pieces[..]));
}
