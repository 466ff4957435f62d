//! Tests of the order in which requests begin, with parties that do nothing.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use quorate_graph::{BinaryOp, Dtype, Network, Source};
use quorate_net::{Interrupt, Net, memory};
use quorate_planner::Reveal;

use super::*;
use crate::connect::LocalLinks;
use crate::party::job::{Outcome, Reply};
use crate::party::program::Program;
use crate::party::stats::RunStats;
use crate::party::store::Kept;
use crate::party::takes::SMALL_RESULTS;
use crate::party::tracks::SitsBeside;

/// Returns a queue for as many parties as there are flags, and the commands that reach each.
fn queue(flags: &[Interrupt]) -> (Arc<Queue>, Vec<Receiver<Command>>) {
    let seat = |flag: &Interrupt| {
        let (commands, inbox) = channel();
        (Seat { commands, interrupt: flag.clone(), thread: Default::default() }, inbox)
    };
    let (seats, inboxes) = flags.iter().map(seat).unzip();
    (Queue::new(seats, vec![], None), inboxes)
}

fn flags() -> Vec<Interrupt> {
    memory::mesh(2).iter().map(Net::interrupt_handle).collect()
}

/// Queues a request, which reveals nothing.
fn run(queue: &Arc<Queue>, number: u64) {
    let job = |_| Job {
        number,
        program: Default::default(),
        reveals: vec![],
        units: number == 2,
        inputs: BTreeMap::new(),
        dropped: vec![],
        branch: None,
        supplies: None,
        campaigns: Default::default(),
        progress: Default::default(),
        reply: channel().0,
    };
    queue.run(number, (0..2).map(job).collect());
}

/// Returns whether the second request has begun, and its part.
fn next(inbox: &Receiver<Command>) -> Option<(bool, Part)> {
    match inbox.try_recv() {
        Ok(Command::Run(job, part)) => Some((job.units, part)),
        _ => None,
    }
}

#[test]
fn a_request_begins_when_the_one_before_has_ended_at_all_parties() {
    let (queue, inboxes) = queue(&flags());
    [1, 2].into_iter().for_each(|number| run(&queue, number));
    let parts: Vec<_> = inboxes.iter().map(|inbox| next(inbox).unwrap()).collect();
    assert!(parts.iter().all(|(is_second, _)| !is_second));
    for (i, part) in parts.into_iter().enumerate() {
        assert!(inboxes.iter().all(|inbox| next(inbox).is_none()), "{i} have ended it");
        drop(part);
    }
    assert!(inboxes.iter().all(|inbox| next(inbox).is_some_and(|(is_second, _)| is_second)));
    queue.leave(false);
    assert!(inboxes.iter().all(|inbox| matches!(inbox.try_recv(), Ok(Command::Leave { gave_up: false }))));
}

#[test]
fn a_party_whose_thread_has_ended_holds_nothing_up() {
    let (queue, mut inboxes) = queue(&flags());
    drop(inboxes.pop());
    [1, 2].into_iter().for_each(|number| run(&queue, number));
    for is_second in [false, true] {
        let (found, _part) = next(&inboxes[0]).unwrap();
        assert_eq!(found, is_second);
    }
    run(&queue, 3);
    drop(inboxes);
    run(&queue, 4);
    queue.leave(true);
    assert!(queue.lock().waiting.is_empty() && queue.lock().tracks[MAIN].serving.is_none());
}

#[test]
fn flags_are_up_while_the_request_that_they_are_for_is_served() {
    let flags = flags();
    let (queue, inboxes) = queue(&flags);
    let are_up = |up: bool| flags.iter().all(|flag| flag.is_raised() == up);
    let serve = || drop(inboxes.iter().map(|inbox| next(inbox).unwrap()).collect::<Vec<_>>());
    (1..=5).for_each(|number| run(&queue, number));
    assert!(queue.interrupt(2) && are_up(false), "it has not begun");
    assert!(!queue.interrupt(1) && are_up(true), "it is served");
    serve();
    assert!(are_up(true), "the second was cancelled");
    serve();
    assert!(are_up(false) && !queue.interrupt(2) && !queue.interrupt(9) && are_up(false), "it has ended");
    queue.interrupt_all();
    assert!(are_up(true));
    serve();
    assert!(are_up(true));
    serve();
    assert!(are_up(true));
    queue.leave(false);
    serve();
    assert!(are_up(false), "the parties' goodbyes take the time that they need");
    queue.hurry();
    assert!(are_up(true));
}

#[test]
fn hurried_parties_leave_with_their_flags_up() {
    let flags = flags();
    let (queue, inboxes) = queue(&flags);
    (1..=2).for_each(|number| run(&queue, number));
    queue.leave(false);
    queue.hurry();
    for _ in 0..2 {
        assert!(flags.iter().all(Interrupt::is_raised));
        drop(inboxes.iter().map(|inbox| next(inbox).unwrap()).collect::<Vec<_>>());
    }
    assert!(flags.iter().all(Interrupt::is_raised));
    assert!(inboxes.iter().all(|inbox| matches!(inbox.try_recv(), Ok(Command::Leave { .. }))));
}

/// A party whose values are those of some nodes, and that notes what it is told.
#[derive(Default)]
struct Values {
    has: Mutex<BTreeSet<NodeId>>,
    told: Mutex<Vec<String>>,
}

impl Values {
    fn note(&self, what: String) {
        self.told.lock().unwrap().push(what);
    }
}

impl Holds for Values {
    fn take_over(&self, job: &mut Job) {
        self.note(format!("take over {}", job.number));
    }

    fn needed(&self, graph: &Graph, targets: &[NodeId]) -> Vec<NodeId> {
        let has = self.has.lock().unwrap();
        graph.needed(targets, &|id| has.contains(&id))
    }

    fn held(&self) -> BTreeSet<NodeId> {
        self.has.lock().unwrap().iter().copied().collect()
    }

    fn begin(&self, number: u64) {
        self.note(format!("begin {number}"));
    }

    fn end(&self, number: u64, counts: bool, _: Option<Kept>) -> Option<Kept> {
        self.note(format!("end {number} {counts}"));
        None
    }

    fn want(&self, nodes: &[NodeId]) {
        self.note(format!("want {nodes:?}"));
    }

    fn unwant(&self, nodes: &[NodeId]) {
        self.note(format!("unwant {nodes:?}"));
    }

    fn rest(&self) {}

    fn needs(&self) -> Option<(Length, BTreeSet<NodeId>)> {
        None
    }

    fn lose(&self) {
        self.note("lose".into());
    }
}

/// The seat of a test's party beside the main one.
struct SideSeat {
    side: usize,
    inbox: Receiver<Command>,
    interrupt: Interrupt,
}

#[derive(Default)]
struct Sides(Mutex<Vec<SideSeat>>, AtomicUsize);

impl SitsBeside for Sides {
    fn sit(&self, side: usize, net: Box<dyn Net>) -> Option<Seat> {
        if self.1.fetch_sub(1, Ordering::Relaxed) == 0 {
            return None;
        }
        let ((commands, inbox), interrupt) = (channel(), net.interrupt_handle());
        self.0.lock().unwrap().push(SideSeat { side, inbox, interrupt: interrupt.clone() });
        Some(Seat { commands, interrupt, thread: Default::default() })
    }
}

/// A session of one party, on a program of two arrays x and y and products of them.
struct World {
    queue: Arc<Queue>,
    main: Receiver<Command>,
    flag: Interrupt,
    sides: Arc<Sides>,
    values: Arc<Values>,
    graph: Graph,
    x: NodeId,
    served: BTreeMap<u64, (usize, Part, Sender<Reply>)>,
    replies: BTreeMap<u64, Receiver<Reply>>,
}

const WHERE: usize = usize::MAX;

impl World {
    fn new() -> World {
        World::with_threads(99)
    }

    /// Returns a session whose process can start as many side seats.
    fn with_threads(threads: usize) -> World {
        let ((commands, main), flag) = (channel(), memory::mesh(1)[0].interrupt_handle());
        let (sides, values) = (Arc::new(Sides(Mutex::default(), AtomicUsize::new(threads))), Arc::<Values>::default());
        let seat = Seat { commands, interrupt: flag.clone(), thread: Default::default() };
        let beside = Beside::new(vec![sides.clone()], LocalLinks::new(1, Network::new(1.0, 1000.0).ok()), 3);
        let queue = Queue::new(vec![seat], vec![values.clone()], Some(beside));
        let mut graph = Graph::new();
        let x = graph.at(Source::new("tests.rs", 1)).input(0, 2, &[10], Dtype::INT64, None).unwrap();
        values.has.lock().unwrap().insert(x);
        World { queue, main, flag, sides, values, graph, x, served: BTreeMap::new(), replies: BTreeMap::new() }
    }

    /// Builds a product with x, which no other request has.
    fn product(&mut self, x: NodeId) -> NodeId {
        self.graph.at(Source::new("tests.rs", 2)).binary(BinaryOp::Mul, x, x).unwrap()
    }

    /// Builds an input that is too large for a small request.
    fn large(&mut self) -> NodeId {
        self.graph.at(Source::new("tests.rs", 3)).input(0, 2, &[SMALL_RESULTS + 1], Dtype::INT64, None).unwrap()
    }

    fn submit(&mut self, number: u64, node: NodeId) {
        let (reply, replies) = channel();
        self.replies.insert(number, replies);
        let job = Job {
            number,
            program: Program { graph: Arc::new(self.graph.clone()), ..Program::default() },
            reveals: vec![Reveal { node, to: None }],
            units: false,
            inputs: BTreeMap::new(),
            dropped: vec![],
            branch: None,
            supplies: None,
            campaigns: Default::default(),
            progress: Default::default(),
            reply,
        };
        self.queue.run(number, vec![job]);
    }

    /// Takes the requests that have begun; returns all that are served, with their tracks: 0 is the main one.
    fn serves(&mut self) -> Vec<(u64, usize)> {
        let sides = self.sides.0.lock().unwrap();
        let inboxes = std::iter::once((0, &self.main)).chain(sides.iter().map(|seat| (seat.side + 1, &seat.inbox)));
        for (track, inbox) in inboxes {
            while let Ok(Command::Run(job, part)) = inbox.try_recv() {
                self.served.insert(job.number, (track, part, job.reply));
            }
        }
        self.served.iter().map(|(&number, &(track, ..))| (number, track)).collect()
    }

    fn end(&mut self, number: u64, ending: Ending) {
        let (_, part, to) = self.served.remove(&number).unwrap();
        let outcome = Outcome { revealed: vec![], stats: RunStats::default(), needs: None, branch: None, made: vec![] };
        part.end(ending, Some((to, Reply { party: WHERE, result: Ok(outcome) })));
    }

    fn is_answered(&self, number: u64) -> bool {
        self.replies[&number].try_recv().is_ok()
    }
}

#[test]
fn small_requests_do_not_wait_for_a_large_one() {
    let mut world = World::new();
    let large = world.large();
    let [one, two, three] = [0; 3].map(|_| world.product(world.x));
    let more = world.large();
    for (number, node) in [(1, large), (2, one), (3, more), (4, two), (5, three)] {
        world.submit(number, node);
    }
    assert_eq!(world.serves(), [(1, 0), (2, 1), (4, 2), (5, 3)]);
    world.end(4, Ending::Well);
    assert!(world.is_answered(4) && !world.is_answered(1));
    let [four, five] = [0; 2].map(|_| world.product(world.x));
    world.submit(6, four);
    assert_eq!(world.serves(), [(1, 0), (2, 1), (5, 3), (6, 2)], "a side track that is free is used again");
    world.end(1, Ending::Well);
    world.submit(7, five);
    assert_eq!(
        world.serves(),
        [(2, 1), (3, 0), (5, 3), (6, 2), (7, 4)],
        "the next large one is first at the main track"
    );
}

#[test]
fn the_main_track_waits_for_a_large_request_that_is_the_first_to_need_it() {
    let mut world = World::new();
    let large = world.large();
    let y = world.product(world.x);
    let mut at = world.graph.at(Source::new("tests.rs", 6));
    let long = at.broadcast_to(y, &[SMALL_RESULTS, 10]).unwrap();
    let other = world.product(world.x);
    for (number, node) in [(1, large), (2, y), (3, long)] {
        world.submit(number, node);
    }
    assert_eq!(world.serves(), [(1, 0), (2, 1)]);
    world.end(1, Ending::Well);
    world.submit(4, other);
    assert_eq!(world.serves(), [(2, 1), (4, 2)], "the third waits for the second, and the main track for the third");
    world.end(2, Ending::Well);
    assert_eq!(world.serves(), [(3, 0), (4, 2)]);
}

#[test]
fn a_request_alone_is_served_by_the_main_track() {
    let mut world = World::new();
    for number in 1..5 {
        let node = world.product(world.x);
        world.submit(number, node);
        assert_eq!(world.serves(), [(number, 0)]);
        world.end(number, Ending::Well);
    }
    let told = world.values.told.lock().unwrap().clone();
    assert_eq!(told[..4], ["take over 1", "begin 1", "end 1 true", "take over 2"]);
}

#[test]
fn requests_that_may_compute_a_node_in_common_come_in_order() {
    let mut world = World::new();
    let y = world.product(world.x);
    let [one, two] = [0; 2].map(|_| world.product(y));
    let other = world.product(world.x);
    for (number, node) in [(1, one), (2, two), (3, two), (4, other)] {
        world.submit(number, node);
    }
    assert_eq!(world.serves(), [(1, 0), (4, 1)], "both 1 and 2 may compute y, and 2 and 3 the product");
    world.values.has.lock().unwrap().extend([y, one]);
    world.end(1, Ending::Well);
    assert_eq!(world.serves(), [(2, 0), (4, 1)]);
    world.end(2, Ending::Badly);
    assert_eq!(world.serves(), [(3, 0), (4, 1)]);
}

/// Most programs have the same public numbers, which leave no value.
#[test]
fn requests_with_a_public_number_in_common_overlap() {
    let mut world = World::new();
    let mut at = world.graph.at(Source::new("tests.rs", 4));
    let two = at.constant_ints(&[], &[2], Dtype::INT64).unwrap();
    let [one, other] =
        [0; 2].map(|_| world.graph.at(Source::new("tests.rs", 4)).binary(BinaryOp::Mul, world.x, two).unwrap());
    world.submit(1, one);
    world.submit(2, other);
    assert_eq!(world.serves(), [(1, 0), (2, 1)]);
}

#[test]
fn an_interrupt_reaches_the_track_that_serves_the_request() {
    let mut world = World::new();
    for number in 1..=3 {
        let node = world.product(world.x);
        world.submit(number, node);
    }
    let raised = |world: &World| -> Vec<bool> {
        let sides = world.sides.0.lock().unwrap();
        std::iter::once(&world.flag).chain(sides.iter().map(|seat| &seat.interrupt)).map(Interrupt::is_raised).collect()
    };
    assert_eq!(world.serves(), [(1, 0), (2, 1), (3, 2)]);
    assert!(!world.queue.interrupt(3));
    assert_eq!(raised(&world), [false, false, true]);
    world.end(3, Ending::Badly);
    let node = world.product(world.x);
    world.submit(4, node);
    assert_eq!((world.serves()[2], raised(&world)[2]), ((4, 2), false), "it does not end the next request");
    world.queue.interrupt_all();
    assert_eq!(raised(&world), [true, true, true]);
}

#[test]
fn parties_leave_after_all_requests() {
    let mut world = World::new();
    for number in 1..=2 {
        let node = world.product(world.x);
        world.submit(number, node);
    }
    world.queue.leave(false);
    let left = |world: &mut World| {
        let sides = world.sides.0.lock().unwrap();
        let inboxes: Vec<_> = std::iter::once(&world.main).chain(sides.iter().map(|seat| &seat.inbox)).collect();
        inboxes.iter().filter(|inbox| matches!(inbox.try_recv(), Ok(Command::Leave { gave_up: false }))).count()
    };
    world.serves();
    world.end(1, Ending::Well);
    assert_eq!(left(&mut world), 0);
    world.end(2, Ending::Well);
    assert_eq!(left(&mut world), 2);
    assert_eq!(world.values.told.lock().unwrap().last().unwrap(), "lose", "keys and values are gone");
}

#[test]
fn a_request_that_takes_too_much_memory_is_served_again_by_the_main_track() {
    let mut world = World::new();
    let large = world.large();
    let [one, two] = [0; 2].map(|_| world.product(world.x));
    world.submit(1, large);
    world.submit(2, one);
    world.submit(3, large);
    assert_eq!(world.serves(), [(1, 0), (2, 1)]);
    world.end(2, Ending::TooLarge);
    world.submit(4, two);
    assert_eq!(world.serves(), [(1, 0), (4, 1)]);
    assert!(!world.is_answered(2));
    world.end(1, Ending::Well);
    assert_eq!(world.serves(), [(2, 0), (4, 1)], "it is before what came later");
    world.end(2, Ending::Well);
    assert!(world.is_answered(2));
}

#[test]
fn a_party_that_is_lost_beside_the_main_track_ends_the_session() {
    let mut world = World::new();
    for number in 1..=3 {
        let node = world.product(world.x);
        world.submit(number, node);
    }
    world.serves();
    world.end(2, Ending::Over);
    let node = world.product(world.x);
    world.submit(4, node);
    assert_eq!(world.serves(), [(1, 0), (3, 2)], "no request begins");
    assert!(world.replies[&4].recv().is_err(), "nor is it waited for");
    world.end(1, Ending::Well);
    world.submit(5, node);
    assert_eq!(world.serves(), [(3, 2)]);
}

/// The numbers of a side track's runs are limited, and none may be used twice.
#[test]
fn a_side_track_is_replaced_before_its_numbers_are_used_up() {
    let mut world = World::new();
    let large = world.large();
    world.submit(0, large);
    for number in 1..=7 {
        let node = world.product(world.x);
        world.submit(number, node);
        let side = 1 + (number as usize - 1) / 3;
        assert_eq!(world.serves(), [(0, 0), (number, side)]);
        world.end(number, Ending::Well);
    }
    assert_eq!(world.queue.threads().len(), 4, "all threads are waited for");
}

/// Requests wait, and nothing is tried again and again.
#[test]
fn a_system_without_more_threads_has_the_tracks_that_are_open() {
    let mut world = World::with_threads(1);
    for number in 1..=5 {
        let node = world.product(world.x);
        world.submit(number, node);
    }
    assert_eq!(world.serves(), [(1, 0), (2, 1)]);
    for number in 2..=3 {
        world.end(number, Ending::Well);
        assert_eq!(world.serves(), [(1, 0), (number + 1, 1)]);
    }
    assert_eq!(world.sides.1.load(Ordering::Relaxed), usize::MAX, "it was tried once more, and not again");
}

#[test]
fn a_main_track_that_is_lost_leaves_no_side_track_to_serve() {
    let mut world = World::new();
    for number in 1..=2 {
        let node = world.product(world.x);
        world.submit(number, node);
    }
    world.serves();
    world.end(2, Ending::Well);
    world.end(1, Ending::Over);
    for number in 3..=4 {
        let node = world.product(world.x);
        world.submit(number, node);
    }
    assert_eq!(world.serves(), [(3, 0)], "its parties say that they are lost");
}

#[test]
fn a_side_seat_whose_thread_has_ended_ends_the_session() {
    let mut world = World::new();
    let large = world.large();
    world.submit(1, large);
    for number in 2..=3 {
        let node = world.product(world.x);
        world.submit(number, node);
        world.serves();
        if number == 2 {
            world.end(2, Ending::Well);
            world.sides.0.lock().unwrap().clear();
        }
    }
    assert!(world.replies[&3].recv().is_err());
    assert_eq!(world.serves(), [(1, 0)]);
    assert_eq!(world.values.told.lock().unwrap().last().unwrap(), "lose");
}

#[test]
fn a_check_holds_the_values_that_a_run_needs() {
    let mut world = World::new();
    let (y, z) = (world.product(world.x), world.product(world.x));
    let sum = world.graph.at(Source::new("tests.rs", 5)).binary(BinaryOp::Add, y, z).unwrap();
    world.values.has.lock().unwrap().insert(y);
    let (needed, found, hold) = world.queue.hold(&world.graph, &[sum], <[NodeId]>::len);
    assert_eq!((needed, found), (vec![z, sum], 2));
    let told = || world.values.told.lock().unwrap().last().cloned().unwrap();
    let held = [world.x, world.x, y];
    assert_eq!(told(), format!("want {held:?}"));
    drop(hold);
    assert_eq!(told(), format!("unwant {held:?}"));
}
