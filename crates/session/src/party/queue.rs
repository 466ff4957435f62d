//! The requests of a session, which its parties serve one after the other.
//!
//! The parties of a process begin a request together, once the one before has ended at all of them. So an interrupt
//! ends the request that it is meant for, at every party: numbers of attempts tell only the newest requests apart
//! (`engine/attempts.rs`), and a party that was ahead would meet its peers in another request than theirs.

use std::collections::{BTreeSet, VecDeque};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quorate_graph::{Graph, NodeId};
use quorate_net::Interrupt;
use quorate_planner::Reveal;

use crate::error::SessionError;
use crate::party::job::Job;
use crate::party::program::Program;
use crate::plan::Plan;

/// A command for a party.
pub(crate) enum Command {
    Run(Job, Part),
    /// A dry run of these reveals, as if the nodes `assumed` had been run already.
    Plan {
        program: Program,
        reveals: Vec<Reveal>,
        assumed: BTreeSet<NodeId>,
        /// Arrays that this party released since the last run.
        dropped: Vec<NodeId>,
        reply: Sender<std::result::Result<Plan, SessionError>>,
    },
    /// The steps that a run of these nodes would take.
    Needed {
        graph: Arc<Graph>,
        targets: Vec<NodeId>,
        reply: Sender<Vec<NodeId>>,
    },
    Leave {
        gave_up: bool,
    },
}

/// The queue, which the session and the threads of its parties share.
#[derive(Default)]
pub(crate) struct Queue(Mutex<State>);

#[derive(Default)]
struct State {
    seats: Vec<Seat>,
    waiting: VecDeque<Entry>,
    /// The request that the parties serve, and the number of them that have not ended it.
    running: Option<(u64, usize)>,
    /// Whether all requests are interrupted, and the parties' goodbyes, too.
    hurries: bool,
}

/// The ways to a party of this process.
struct Seat {
    commands: Sender<Command>,
    interrupt: Option<Interrupt>,
}

struct Entry {
    number: u64,
    what: What,
    is_cancelled: bool,
}

enum What {
    /// A job for each seat.
    Run(Vec<Job>),
    Leave {
        gave_up: bool,
    },
}

/// One party's part in the request that is served. When all parts are dropped, the next request begins, however the
/// party's thread ended.
pub(crate) struct Part(Arc<Queue>);

impl Drop for Part {
    fn drop(&mut self) {
        self.0.end_part();
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a party of this process. Nothing is queued before all are added.
    pub fn add(&self, commands: Sender<Command>, interrupt: Option<Interrupt>) {
        self.lock().seats.push(Seat { commands, interrupt });
    }

    /// Queues a request: a job for each party.
    pub fn run(self: &Arc<Self>, number: u64, jobs: Vec<Job>) {
        self.push(Entry { number, what: What::Run(jobs), is_cancelled: false });
    }

    /// Lets the parties leave after the requests so far.
    pub fn leave(self: &Arc<Self>, gave_up: bool) {
        self.push(Entry { number: 0, what: What::Leave { gave_up }, is_cancelled: false });
    }

    fn push(self: &Arc<Self>, entry: Entry) {
        let mut state = self.lock();
        state.waiting.push_back(entry);
        let refused = self.begin_next(&mut state);
        drop(state);
        drop(refused);
    }

    /// Interrupts a request, whether it waits or is served; does nothing if it has ended. One that waits begins in its
    /// turn, interrupted, so that the parties take over its inputs, and those of other processes are told. Returns
    /// whether it waits.
    pub fn interrupt(&self, number: u64) -> bool {
        let mut state = self.lock();
        if state.running.is_some_and(|(running, _)| running == number) {
            state.raise();
        }
        let waiting = state.waiting.iter_mut().find(|entry| entry.number == number);
        waiting.map(|entry| entry.is_cancelled = true).is_some()
    }

    /// Interrupts all requests.
    pub fn interrupt_all(&self) {
        let mut state = self.lock();
        if state.running.is_some() {
            state.raise();
        }
        state.waiting.iter_mut().for_each(|entry| entry.is_cancelled = true);
    }

    /// Interrupts all requests, and does not wait for slow links when the parties leave.
    pub fn hurry(&self) {
        self.interrupt_all();
        let mut state = self.lock();
        state.hurries = true;
        state.raise();
    }

    /// Notes that a party has ended its part. After the last one the next request begins.
    fn end_part(self: &Arc<Self>) {
        let mut state = self.lock();
        state.running = state.running.map(|(number, left)| (number, left - 1)).filter(|&(_, left)| left > 0);
        let refused = self.begin_next(&mut state);
        drop(state);
        drop(refused);
    }

    /// Begins the next request if none is served. Returns commands for parties whose threads have ended; they are
    /// dropped without the lock, since they hold parts.
    fn begin_next(self: &Arc<Self>, state: &mut State) -> Vec<Command> {
        let mut refused = Vec::new();
        while state.running.is_none() {
            let Some(Entry { number, what, is_cancelled }) = state.waiting.pop_front() else { break };
            state.lower(); // an interrupt that came too late for the last request does not end this one
            if is_cancelled || state.hurries {
                state.raise();
            }
            let commands: Vec<Command> = match what {
                What::Run(jobs) => {
                    state.running = Some((number, jobs.len()));
                    jobs.into_iter().map(|job| Command::Run(job, Part(self.clone()))).collect()
                }
                What::Leave { gave_up } => state.seats.iter().map(|_| Command::Leave { gave_up }).collect(),
            };
            for (seat, command) in state.seats.iter().zip(commands) {
                refused.extend(seat.commands.send(command).err().map(|error| error.0));
            }
        }
        refused
    }
}

impl State {
    fn raise(&self) {
        self.seats.iter().filter_map(|seat| seat.interrupt.as_ref()).for_each(Interrupt::raise);
    }

    fn lower(&self) {
        self.seats.iter().filter_map(|seat| seat.interrupt.as_ref()).for_each(|flag| {
            flag.take();
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::mpsc::{Receiver, channel};

    use quorate_net::{Net, memory};

    use super::*;

    /// Returns a queue for as many parties as there are flags, and the commands that reach each.
    fn queue(flags: &[Interrupt]) -> (Arc<Queue>, Vec<Receiver<Command>>) {
        let queue = Arc::<Queue>::default();
        let seat = |flag: &Interrupt| {
            let (commands, inbox) = channel();
            queue.add(commands, Some(flag.clone()));
            inbox
        };
        let inboxes = flags.iter().map(seat).collect();
        (queue, inboxes)
    }

    fn flags() -> Vec<Interrupt> {
        memory::mesh(2).iter().map(Net::interrupt_handle).collect()
    }

    /// Queues a request, which reveals nothing.
    fn run(queue: &Arc<Queue>, number: u64) {
        let job = |_| Job {
            program: Default::default(),
            reveals: vec![],
            units: number == 2,
            inputs: BTreeMap::new(),
            dropped: vec![],
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
        assert!(queue.lock().waiting.is_empty() && queue.lock().running.is_none());
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
}
