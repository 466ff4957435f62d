//! A party's values in a local session, whose process has all parties. The seats at which the party serves requests
//! share them.
//!
//! Here the queue decides what a deployment's parties agree on in handshakes ([`store`](super::store)). It does so for
//! all parties together, so that all of them hold the same values whenever a request begins:
//!
//! - When a request is submitted, its inputs, new arrays and released arrays are taken over. An array that a request
//!   reveals is kept until the request has ended, even if the user releases it.
//! - When a request begins, it gets a view: the newest program, and all values of the requests that have ended. What
//!   ends later does not change a view.
//! - When a request has ended at all parties, it counts if it ended well at all of them. Otherwise nothing of it is
//!   kept, and nobody was shown anything of it.

use quorate_sync::{Mutex, MutexGuard, PoisonError};
use std::collections::{BTreeMap, BTreeSet};

use quorate_gadgets::Computes;
use quorate_graph::{Graph, NodeId};

use super::job::Job;
use super::program::{Length, Program};
use super::store::{Kept, Pending, Store};

/// The values of one party, and what its requests have begun with and left.
pub(crate) struct Shared<S: Computes>(Mutex<State<S>>);

struct State<S: Computes> {
    store: Store<S>,
    /// The newest program that a request brought.
    program: Program,
    /// The number of changes to the store and the program.
    changes: u64,
    /// The nodes that requests reveal which have not ended, and the values that checks hold, with the number of both.
    wanted: BTreeMap<NodeId, usize>,
    /// Whether the values were dropped: no request can be served any more.
    is_lost: bool,
    requests: BTreeMap<u64, Request<S>>,
    parties: usize,
}

/// A request that has not ended.
struct Request<S: Computes> {
    reveals: Vec<NodeId>,
    view: Option<View<S>>,
    /// The number of changes when it began.
    begun: u64,
    left: Option<Pending<S>>,
}

/// What a request begins with.
pub(crate) struct View<S: Computes> {
    pub store: Store<S>,
    pub program: Program,
}

/// What the queue asks of a party's values.
pub(crate) trait Holds: Send + Sync {
    /// Takes over what a request brings; requests come in the order in which they were submitted.
    fn take_over(&self, job: &mut Job);

    /// Returns the nodes that a run of these nodes would compute now, operands first.
    fn needed(&self, graph: &Graph, targets: &[NodeId]) -> Vec<NodeId>;

    /// Returns the nodes whose values exist.
    fn held(&self) -> BTreeSet<NodeId>;

    /// Makes the view of a request that begins.
    fn begin(&self, number: u64);

    /// Ends a request, which counts or not. All parties keep the same; returns what they keep where that took a search,
    /// for the next party, which passes it as `known`.
    fn end(&self, number: u64, counts: bool, known: Option<Kept>) -> Option<Kept>;

    /// Keeps these values, and what it takes to compute them, until they are no longer wanted.
    fn want(&self, nodes: &[NodeId]);

    /// Takes back that these values are wanted.
    fn unwant(&self, nodes: &[NodeId]);

    /// Gives up the newest program where no request needs it, so that the session builds on it without a copy.
    fn rest(&self);

    /// Returns the nodes that may still be needed, with the length of the program of which that is true, where
    /// forgetting the others is worthwhile.
    fn needs(&self) -> Option<(Length, BTreeSet<NodeId>)>;

    /// Drops all values: no request can ask for them.
    fn lose(&self);
}

impl<S: Computes> Shared<S> {
    pub fn new(parties: usize) -> Self {
        Shared(Mutex::new(State {
            store: Store::new(parties),
            program: Program::default(),
            changes: 0,
            wanted: BTreeMap::new(),
            is_lost: false,
            requests: BTreeMap::new(),
            parties,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State<S>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the view of a request that has begun.
    pub fn view(&self, number: u64) -> Option<View<S>> {
        self.lock().requests.get_mut(&number)?.view.take()
    }

    /// Returns the values now of the first `nodes` of the program.
    pub fn of_first(&self, nodes: usize) -> Store<S> {
        let mut store = self.lock().settled();
        store.cut(nodes);
        store
    }

    /// Records what a request computed at this party; it counts if the request ends well at all parties.
    pub fn record(&self, number: u64, left: Option<Pending<S>>) {
        if let Some(request) = self.lock().requests.get_mut(&number) {
            request.left = left;
        }
    }
}

impl<S: Computes> State<S> {
    fn unwant(&mut self, nodes: &[NodeId]) {
        for id in nodes {
            if let Some(count) = self.wanted.get_mut(id) {
                *count -= 1;
            }
        }
        self.wanted.retain(|_, count| *count > 0);
    }

    /// Returns the values, with what requests reveal among the arrays.
    fn settled(&self) -> Store<S> {
        let mut store = self.store.settled();
        store.hold(self.wanted.keys().copied());
        store
    }
}

impl<S: Computes> Holds for Shared<S>
where
    State<S>: Send,
{
    fn take_over(&self, job: &mut Job) {
        let mut state = self.lock();
        let (inputs, dropped) = (std::mem::take(&mut job.inputs), std::mem::take(&mut job.dropped));
        let arrays = job.program.arrays.clone();
        state.store.take_over(&arrays, inputs, vec![]);
        state.store.release(&dropped);
        state.program = std::mem::take(&mut job.program);
        state.changes += 1;
        let reveals = job.targets();
        reveals.iter().for_each(|&id| *state.wanted.entry(id).or_default() += 1);
        state.requests.insert(job.number, Request { reveals, view: None, begun: 0, left: None });
    }

    fn needed(&self, graph: &Graph, targets: &[NodeId]) -> Vec<NodeId> {
        let values = self.lock().store.values.clone();
        graph.needed(targets, &|id| values.contains_key(&id))
    }

    fn held(&self) -> BTreeSet<NodeId> {
        self.lock().store.held().collect()
    }

    fn begin(&self, number: u64) {
        let mut state = self.lock();
        let view = View { store: state.settled(), program: state.program.clone() };
        let changes = state.changes;
        if let Some(request) = state.requests.get_mut(&number) {
            (request.view, request.begun) = (Some(view), changes);
        }
    }

    fn end(&self, number: u64, counts: bool, known: Option<Kept>) -> Option<Kept> {
        let mut state = self.lock();
        let request = state.requests.remove(&number)?;
        state.unwant(&request.reveals);
        let mut left = request.left.filter(|_| counts && !state.is_lost)?;
        state.changes += 1;
        if request.begun + 1 == state.changes {
            state.store.commit(left);
            return None;
        }
        // Requests have come or ended meanwhile: they need other values than the run knew of.
        state.store.add(left.take_computed());
        let graph = state.program.graph.clone();
        let kept = known.unwrap_or_else(|| state.settled().keeps(&graph));
        state.store.retain(&kept, graph.len());
        Some(kept)
    }

    fn want(&self, nodes: &[NodeId]) {
        let mut state = self.lock();
        nodes.iter().for_each(|&id| *state.wanted.entry(id).or_default() += 1);
        state.changes += 1;
    }

    fn unwant(&self, nodes: &[NodeId]) {
        self.lock().unwant(nodes);
    }

    fn rest(&self) {
        let mut state = self.lock();
        if state.requests.is_empty() {
            state.program = Program::default();
        }
    }

    fn needs(&self) -> Option<(Length, BTreeSet<NodeId>)> {
        let state = self.lock();
        let program = &state.program;
        program.graph.may_forget().then(|| (program.length(), state.settled().needs(&program.graph)))
    }

    fn lose(&self) {
        let mut state = self.lock();
        state.store = Store::new(state.parties);
        state.is_lost = true;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use quorate_graph::{BinaryOp, Dtype, Source};
    use quorate_planner::Reveal;
    use quorate_ring::{Ring, Vector};
    use quorate_rss::Rss;

    use super::*;
    use crate::work::data::Plain;
    use crate::work::value::Value;

    /// A party, and a program: an input x, and products of it.
    struct World {
        shared: Shared<Rss>,
        program: Program,
        x: NodeId,
    }

    impl World {
        fn new() -> World {
            let mut program = Program::default();
            let x = program.graph().at(Source::new("tests.rs", 1)).input(0, 3, &[2], Dtype::INT64, None).unwrap();
            program.arrays().push(x);
            World { shared: Shared::new(3), program, x }
        }

        fn square(&mut self, x: NodeId) -> NodeId {
            let node = self.program.graph().at(Source::new("tests.rs", 2)).binary(BinaryOp::Mul, x, x).unwrap();
            self.program.arrays().push(node);
            node
        }

        fn submit(&self, number: u64, node: NodeId, dropped: &[NodeId]) {
            let (program, dropped) = (self.program.clone(), dropped.to_vec());
            self.shared.take_over(&mut Job { program, dropped, ..job(number, node) });
        }

        /// Runs a request: computes all that it needs, and keeps what its view says.
        fn run(&self, number: u64, node: NodeId) {
            let View { mut store, program } = self.shared.view(number).unwrap();
            let graph = &program.graph;
            let work = graph.needed(&[node], &|id| store.has(id));
            let after = store.kept(graph, &work);
            let value = || Arc::new(Value::Public(Plain::Vector(Vector::zeros(Ring::of(8), 1))));
            let computed = work.iter().filter(|id| after.values.contains(id)).map(|&id| (id, value())).collect();
            store.prepared(1, computed, after, graph.len());
            self.shared.record(number, store.take_pending());
        }

        fn has(&self, nodes: &[NodeId]) -> Vec<bool> {
            let store = self.shared.of_first(usize::MAX);
            nodes.iter().map(|&id| store.has(id)).collect()
        }
    }

    #[test]
    fn a_request_counts_if_it_ended_well_at_all_parties() {
        let mut world = World::new();
        let y = world.square(world.x);
        for (number, counts) in [(1, false), (2, true)] {
            world.submit(number, y, &[]);
            world.shared.begin(number);
            world.run(number, y);
            assert_eq!(world.has(&[y]), [false], "not before its end");
            world.shared.end(number, counts, None);
            assert_eq!(world.has(&[world.x, y]), [counts; 2]);
        }
    }

    #[test]
    fn nothing_of_a_lost_session_comes_back() {
        let mut world = World::new();
        let y = world.square(world.x);
        world.submit(1, y, &[]);
        world.shared.begin(1);
        world.run(1, y);
        world.shared.lose();
        world.shared.end(1, true, None);
        assert_eq!(world.has(&[world.x, y]), [false; 2]);
    }

    #[test]
    fn a_view_stays_as_it_is() {
        let mut world = World::new();
        let [y, z] = [0; 2].map(|_| world.square(world.x));
        world.submit(1, world.x, &[]);
        world.shared.begin(1);
        world.run(1, world.x);
        world.shared.end(1, true, None);
        for (number, node) in [(2, y), (3, z)] {
            world.submit(number, node, &[]);
            world.shared.begin(number);
        }
        world.run(2, y);
        world.shared.end(2, true, None);
        let view = world.shared.view(3).unwrap();
        assert!(view.store.has(world.x) && !view.store.has(y));
        assert_eq!(world.has(&[world.x, y, z]), [true, true, false]);
    }

    /// The first request knows nothing of the arrays that came after it.
    #[test]
    fn a_request_keeps_what_others_need_that_came_meanwhile() {
        let mut world = World::new();
        let y = world.square(world.x);
        world.submit(1, y, &[]);
        world.shared.begin(1);
        world.submit(2, y, &[world.x]);
        world.run(1, y);
        let late = world.square(y);
        world.submit(3, late, &[y]);
        world.shared.end(1, true, None);
        assert_eq!(world.has(&[world.x, y]), [false, true], "the third request needs y, and nobody x");
        world.shared.begin(2);
        world.run(2, y);
        world.shared.end(2, true, None);
        assert_eq!(world.has(&[y]), [true]);
        world.shared.begin(3);
        world.run(3, late);
        let (_, needs) = (world.shared.needs(), world.shared.of_first(usize::MAX).needs(&world.program.graph));
        assert!(needs.contains(&y) && needs.contains(&late));
        world.shared.end(3, true, None);
        assert_eq!(world.has(&[y, late]), [false, true]);
    }

    #[test]
    fn what_a_request_reveals_stays_until_it_has_ended() {
        let mut world = World::new();
        let y = world.square(world.x);
        for number in [1, 2] {
            world.submit(number, y, &[world.x, y]);
        }
        world.shared.begin(1);
        world.run(1, y);
        world.shared.end(1, true, None);
        assert_eq!(world.has(&[y]), [true], "the second reveals it, too");
        world.shared.begin(2);
        world.run(2, y);
        world.submit(3, world.x, &[]);
        world.shared.end(2, true, None);
        assert_eq!(world.has(&[y]), [false]);
    }

    #[test]
    fn parties_that_keep_the_same_search_once() {
        let mut world = World::new();
        let y = world.square(world.x);
        let other = World::new();
        let worlds = [&world, &other];
        for this in worlds {
            this.shared.take_over(&mut Job { program: world.program.clone(), ..job(1, y) });
            this.shared.begin(1);
            this.shared.take_over(&mut Job { program: world.program.clone(), ..job(2, y) });
            this.run(1, y);
        }
        let found = world.shared.end(1, true, None);
        assert!(found.is_some());
        other.shared.end(1, true, found);
        assert_eq!(world.has(&[world.x, y]), other.has(&[world.x, y]));
    }

    fn job(number: u64, node: NodeId) -> Job {
        Job {
            number,
            program: Program::default(),
            reveals: vec![Reveal { node, to: None }],
            units: false,
            inputs: BTreeMap::new(),
            dropped: vec![],
            branch: None,
            supplies: None,
            campaigns: Default::default(),
            progress: Default::default(),
            reply: channel().0,
        }
    }
}
