//! A local session, whose parties note what they are asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use quorate_clear::Clear;
use quorate_graph::{BinaryOp, Dtype, NodeId, Source};
use quorate_net::{Interrupt, Net};
use quorate_planner::Reveal;
use quorate_ring::{Ring, Vector};
use quorate_sync::mpsc::{Receiver, Sender, channel};
use quorate_sync::{Arc, Mutex, PoisonError, thread};

use crate::bell::Bell;
use crate::connect::LocalLinks;
use crate::data::Plain;
use crate::error::SessionError;
use crate::job::{Job, Outcome, Reply};
use crate::part::{Command, Ending, Part};
use crate::program::Program;
use crate::queue::Queue;
use crate::shared::{Holds, Shared, View};
use crate::stats::RunStats;
use crate::tracks::{Beside, MOST_SERVED, Seat, SitsBeside};
use crate::value::Value;

const PARTIES: usize = 2;
/// Longer than any test.
const PATIENCE: Duration = Duration::from_secs(3600);

/// What the parties and the user note, to be compared.
#[derive(Default)]
struct Notes {
    /// Requests that the user has interrupted.
    interrupted: BTreeSet<u64>,
    /// Nodes that are being computed, by which request, and at how many parties.
    computing: BTreeMap<NodeId, (u64, usize)>,
    /// Requests that have begun at some party, with the track, and the number of parties that have ended them.
    served: BTreeMap<u64, (usize, usize)>,
    /// The requests before each that may compute one of its nodes.
    after: BTreeMap<u64, Vec<u64>>,
}

impl Notes {
    fn has_ended(&self, number: u64) -> bool {
        self.served.get(&number).is_some_and(|&(_, ended)| ended == PARTIES)
    }
}

/// One party, at all its seats.
#[derive(Clone)]
struct Member {
    me: usize,
    values: Arc<Shared<Clear>>,
    bell: Arc<Bell>,
    notes: Arc<Mutex<Notes>>,
    /// Requests that are too large for a side track, and those that fail.
    too_large: Option<u64>,
    fails: Option<u64>,
}

impl Member {
    fn notes<T>(&self, change: impl FnOnce(&mut Notes) -> T) -> T {
        change(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn seat(self, track: usize, interrupt: Interrupt) -> Seat {
        let (commands, inbox) = channel();
        let flag = interrupt.clone();
        let thread = thread::spawn(move || self.attend(track, &flag, &inbox));
        Seat { commands, interrupt, thread: Arc::new(Mutex::new(Some(thread))) }
    }

    fn attend(self, track: usize, flag: &Interrupt, inbox: &Receiver<Command>) {
        while let Ok(command) = inbox.recv() {
            match command {
                Command::Run(job, part) => self.serve(track, flag, *job, part),
                Command::Plan(_) => {}
                Command::Leave { .. } => {
                    let all = |notes: &mut Notes| notes.served.values().all(|&(_, ended)| ended == PARTIES);
                    assert!(self.notes(all), "a party leaves before all requests have ended");
                    return;
                }
            }
        }
    }

    /// Serves a request as a party does: it reads its view, computes, records what it computed, and ends its part.
    fn serve(&self, track: usize, flag: &Interrupt, job: Job, part: Part) {
        let number = job.number;
        let View { mut store, program } = self.values.view(number).expect("a request that has begun has a view");
        let graph = &program.graph;
        let work = graph.needed(&job.targets(), &|id| store.has(id));
        self.notes(|notes| {
            let (on, ended) = *notes.served.entry(number).or_insert((track, 0));
            assert!(on == track && ended < PARTIES, "request {number} is served twice");
            let before =
                |(&other, &(on, ended)): (&u64, &(usize, usize))| other == number || on != track || ended == PARTIES;
            assert!(notes.served.iter().all(before), "request {number} begins before the last one has ended");
            let after = notes.after.get(&number).cloned().unwrap_or_default();
            assert!(after.iter().all(|&other| notes.has_ended(other)), "request {number} overtakes one of {after:?}");
            for &id in &work {
                let (by, at) = notes.computing.entry(id).or_insert((number, 0));
                assert_eq!(*by, number, "two requests compute {id:?}");
                *at += 1;
            }
        });
        thread::yield_now();
        let is_interrupted = flag.is_raised();
        let ending = match () {
            _ if is_interrupted || self.fails == Some(number) => Ending::Badly,
            _ if track > 0 && self.too_large == Some(number) => Ending::TooLarge,
            _ => Ending::Well,
        };
        if ending == Ending::Well {
            let after = store.kept(graph, &work);
            let value = || Arc::new(Value::Public(Plain::Vector(Vector::zeros(Ring::of(8), 1))));
            let computed = work.iter().filter(|id| after.values.contains(id)).map(|&id| (id, value())).collect();
            store.prepared(1, computed, after, graph.len());
        }
        self.values.record(number, store.take_pending());
        self.notes(|notes| {
            assert!(!is_interrupted || notes.interrupted.contains(&number), "an interrupt reaches request {number}");
            for id in &work {
                if let Some((_, at)) = notes.computing.get_mut(id) {
                    *at -= 1;
                }
            }
            notes.computing.retain(|_, (_, at)| *at > 0);
            match notes.served.get_mut(&number) {
                // It begins again on another track.
                Some((_, ended)) if *ended + 1 == PARTIES && ending == Ending::TooLarge => {
                    notes.served.remove(&number);
                }
                Some((_, ended)) => *ended += 1,
                None => {}
            }
        });
        let outcome = Outcome { revealed: vec![], stats: RunStats, needs: None, branch: None, made: vec![] };
        let result = if ending == Ending::Well { Ok(outcome) } else { Err(SessionError) };
        let answer = (ending != Ending::TooLarge).then(|| (job.reply, Reply { party: self.me, result }));
        part.end(ending, answer);
        self.bell.ring(number);
    }
}

impl SitsBeside for Member {
    fn sit(&self, side: usize, net: Box<dyn Net>) -> Option<Seat> {
        Some(self.clone().seat(side + 1, net.interrupt_handle()))
    }
}

/// What the user was told of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// It ended well at all parties.
    Well,
    /// It ended in an error at some party.
    Badly,
}

/// A local session, on a program of an input x and products of it.
pub struct World {
    queue: Arc<Queue>,
    bell: Arc<Bell>,
    members: Vec<Member>,
    program: Program,
    x: NodeId,
    replies: BTreeMap<u64, Receiver<Reply>>,
    next: u64,
}

impl World {
    /// Returns a session that has the value of x. Side tracks cannot serve the request of the first number, and that of
    /// the second fails. Numbers of requests begin with 2.
    pub fn new(too_large: Option<u64>, fails: Option<u64>) -> World {
        let (bell, notes) = (Arc::<Bell>::default(), Arc::<Mutex<Notes>>::default());
        let member = |me| {
            let values = Arc::new(Shared::new(PARTIES));
            Member { me, values, bell: bell.clone(), notes: notes.clone(), too_large, fails }
        };
        let members: Vec<Member> = (0..PARTIES).map(member).collect();
        let links = LocalLinks(PARTIES).mesh();
        let main = members.iter().zip(&links).map(|(member, net)| member.clone().seat(0, net.interrupt_handle()));
        let sides = members.iter().map(|member| Arc::new(member.clone()) as Arc<dyn SitsBeside>).collect();
        let beside = Beside::new(sides, LocalLinks(PARTIES), MOST_SERVED);
        let values = members.iter().map(|member| member.values.clone() as Arc<dyn Holds>).collect();
        let queue = Queue::new(main.collect(), values, Some(beside));
        let mut program = Program::default();
        let x = program.graph().at(Source::new("tests.rs", 1)).input(0, 3, &[2], Dtype::INT64, None).unwrap();
        program.arrays().push(x);
        let mut world = World { queue, bell, members, program, x, replies: BTreeMap::new(), next: 1 };
        let first = world.submit(x, &[]);
        assert_eq!(world.wait(first), Told::Well);
        world
    }

    /// Builds the square of a node; of x, if it is `None`.
    pub fn square(&mut self, of: Option<NodeId>) -> NodeId {
        let of = of.unwrap_or(self.x);
        self.product(of, of)
    }

    /// Builds a product.
    pub fn product(&mut self, x: NodeId, y: NodeId) -> NodeId {
        let node = self.program.graph().at(Source::new("tests.rs", 2)).binary(BinaryOp::Mul, x, y).unwrap();
        self.program.arrays().push(node);
        node
    }

    /// Submits a request that must come after those which may compute one of its nodes. Returns its number.
    pub fn submit(&mut self, node: NodeId, after: &[u64]) -> u64 {
        let number = self.next;
        self.next += 1;
        self.members[0].notes(|notes| notes.after.insert(number, after.to_vec()));
        let (reply, replies): (Sender<Reply>, _) = channel();
        self.replies.insert(number, replies);
        let job = |_| Job {
            number,
            program: self.program.clone(),
            reveals: vec![Reveal { node, to: None }],
            units: false,
            inputs: BTreeMap::new(),
            dropped: vec![],
            branch: None,
            supplies: None,
            campaigns: Default::default(),
            progress: Default::default(),
            reply: reply.clone(),
        };
        self.queue.run(number, (0..PARTIES).map(job).collect());
        number
    }

    /// Returns a function that interrupts a request of this number from any thread, and returns whether it waited.
    pub fn interrupts(&self, number: u64) -> impl FnOnce() -> bool + Send + use<> {
        let (queue, member) = (self.queue.clone(), self.members[0].clone());
        move || {
            member.notes(|notes| notes.interrupted.insert(number));
            queue.interrupt(number)
        }
    }

    /// Waits for a request, and returns how it ended.
    pub fn wait(&mut self, number: u64) -> Told {
        let replies = self.replies.remove(&number).unwrap();
        let results: Vec<_> = (0..PARTIES).map(|_| replies.recv().expect("a reply of each party").result).collect();
        if results.iter().all(Result::is_ok) { Told::Well } else { Told::Badly }
    }

    /// Hears the bell from here on.
    pub fn hear(&self) {
        self.bell.hear();
    }

    /// Waits until the bell has rung at all parties for as many requests as these.
    pub fn wait_for_bells(&self, numbers: &[u64]) {
        let mut left: BTreeMap<u64, usize> = numbers.iter().map(|&number| (number, PARTIES)).collect();
        while !left.is_empty() {
            let rung = self.bell.wait(PATIENCE);
            assert!(!rung.is_empty(), "a wait ends with a ring");
            for number in rung {
                left.entry(number).and_modify(|parties| *parties -= 1); // an earlier request may ring, too
            }
            left.retain(|_, parties| *parties > 0);
        }
    }

    /// Returns whether each of the parties has the values of these nodes.
    pub fn has(&self, nodes: &[NodeId]) -> Vec<Vec<bool>> {
        let of = |member: &Member| {
            let store = member.values.of_first(usize::MAX);
            nodes.iter().map(|&id| store.has(id)).collect()
        };
        self.members.iter().map(of).collect()
    }

    /// Lets the parties leave after the requests so far.
    pub fn leave(&self) {
        self.queue.leave(false);
    }

    /// Ends the session: all threads of all parties end.
    pub fn end(self) {
        self.leave();
        self.join();
    }

    /// Waits until all threads of parties that leave have ended.
    pub fn join(self) {
        for thread in self.queue.threads() {
            let joined = thread.lock().unwrap().take();
            joined.unwrap().join().unwrap();
        }
    }
}
