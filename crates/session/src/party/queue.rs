//! The requests of a session, and the order in which its parties serve them.
//!
//! The parties of a process begin a request together, and end it together. So an interrupt ends the request that it is
//! meant for, at every party: numbers of attempts tell only the newest requests apart (`engine/attempts.rs`), and a
//! party that was ahead would meet its peers in another request than theirs.
//!
//! Requests that may compute the same node never overlap, and come in order. In a local session of a family that can
//! run programs side by side, small requests do not wait for others: while the main track serves a request, side
//! tracks serve them. Large ones are served by the main track alone, in order.

#[cfg(test)]
#[path = "queue/tests.rs"]
mod tests;

use quorate_sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::collections::{BTreeSet, VecDeque};

use quorate_graph::{Graph, NodeId};

use super::job::Job;
use super::part::{Answer, Command, Ending, Part};
use super::program::Length;
use super::shared::Holds;
use super::takes::Takes;
use super::tracks::{Beside, Seat, Serving, Thread, Track};

/// The number of waiting requests that are looked at when one ends.
const LOOKED_AT: usize = 256;
/// The place of the main track.
const MAIN: usize = 0;

/// The queue, which the session and the threads of its parties share.
#[derive(Default)]
pub(crate) struct Queue(Mutex<State>);

#[derive(Default)]
struct State {
    /// The main track, and side tracks that were opened so far.
    tracks: Vec<Track>,
    waiting: VecDeque<Entry>,
    /// The values of each party, where this process has all of them.
    values: Vec<Arc<dyn Holds>>,
    /// The way to open side tracks, where requests may be served side by side.
    beside: Option<Beside>,
    /// Whether all requests are interrupted, and the parties' goodbyes, too.
    hurries: bool,
    /// Whether a side track cannot go on; nor can the session then.
    is_over: bool,
}

struct Entry {
    number: u64,
    what: What,
    takes: Takes,
    is_cancelled: bool,
}

enum What {
    /// A job for each seat.
    Run(Vec<Job>),
    Leave {
        gave_up: bool,
    },
}

impl Queue {
    /// Returns the queue of parties that sit at these seats. A local session has the `values` of all of them, and may
    /// have a way to open tracks beside the main one.
    pub fn new(main: Vec<Seat>, values: Vec<Arc<dyn Holds>>, beside: Option<Beside>) -> Arc<Queue> {
        let tracks = vec![Track::new(main)];
        Arc::new(Queue(Mutex::new(State { tracks, values, beside, ..State::default() })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a request: a job for each party.
    pub fn run(self: &Arc<Self>, number: u64, mut jobs: Vec<Job>) {
        let state = self.lock();
        let mut takes = Takes::default();
        if let (Some(values), Some(job)) = (state.values.first(), jobs.first()) {
            let (graph, targets) = (&job.program.graph, job.targets());
            takes = Takes::of(graph, values.needed(graph, &targets), &targets);
        }
        state.values.iter().zip(&mut jobs).for_each(|(values, job)| values.take_over(job));
        self.push(state, Entry { number, what: What::Run(jobs), takes, is_cancelled: false });
    }

    /// Lets the parties leave after the requests so far.
    pub fn leave(self: &Arc<Self>, gave_up: bool) {
        let takes = Takes::default();
        self.push(self.lock(), Entry { number: 0, what: What::Leave { gave_up }, takes, is_cancelled: false });
    }

    fn push(self: &Arc<Self>, mut state: MutexGuard<'_, State>, entry: Entry) {
        state.waiting.push_back(entry);
        let mut after = After::default();
        self.begin_next(&mut state, &mut after);
        drop(state);
        after.settle();
    }

    /// Returns the nodes that a run of these nodes would compute now in a local session, what `look` finds of them, and
    /// a hold on the values that such a run needs. No request ends while it looks.
    pub fn hold<T>(
        self: &Arc<Self>,
        graph: &Graph,
        targets: &[NodeId],
        look: impl FnOnce(&[NodeId]) -> T,
    ) -> (Vec<NodeId>, T, Hold) {
        let state = self.lock();
        let needed = state.values.first().map_or(vec![], |values| values.needed(graph, targets));
        let operands = needed.iter().flat_map(|&id| graph.node(id).inputs.iter().copied());
        let held: Vec<NodeId> = operands.filter(|id| needed.binary_search(id).is_err()).collect();
        state.values.iter().for_each(|values| values.want(&held));
        let found = look(&needed);
        (needed, found, Hold { queue: self.clone(), held })
    }

    /// Returns the nodes whose values the parties of a local session have.
    pub fn held(&self) -> BTreeSet<NodeId> {
        let values = self.lock().values.first().cloned();
        values.map(|values| values.held()).unwrap_or_default()
    }

    /// Returns the nodes that may still be needed in a local session, with the length of the program of which that is
    /// true, where forgetting the others is worthwhile.
    pub fn needs(&self) -> Option<(Length, BTreeSet<NodeId>)> {
        let values = self.lock().values.clone();
        let needs = values.first().and_then(|values| values.needs());
        values.iter().for_each(|values| values.rest());
        needs
    }

    /// Interrupts a request, whether it waits or is served; does nothing if it has ended. One that waits begins in its
    /// turn, interrupted, so that parties of other processes are told. Returns whether it waits.
    pub fn interrupt(&self, number: u64) -> bool {
        let mut state = self.lock();
        let serves = |track: &&mut Track| track.serving.as_ref().is_some_and(|serving| serving.number == number);
        state.tracks.iter_mut().find(serves).into_iter().for_each(Track::raise);
        let waiting = state.waiting.iter_mut().find(|entry| entry.number == number);
        waiting.map(|entry| entry.is_cancelled = true).is_some()
    }

    /// Interrupts all requests.
    pub fn interrupt_all(&self) {
        let mut state = self.lock();
        state.tracks.iter_mut().filter(|track| track.serving.is_some()).for_each(Track::raise);
        state.waiting.iter_mut().for_each(|entry| entry.is_cancelled = true);
    }

    /// Interrupts all requests, and does not wait for slow links when the parties leave.
    pub fn hurry(&self) {
        self.interrupt_all();
        let mut state = self.lock();
        state.hurries = true;
        state.tracks.iter_mut().for_each(Track::raise);
    }

    /// Returns the threads of all parties.
    pub fn threads(&self) -> Vec<Thread> {
        let state = self.lock();
        let seats = state.tracks.iter().flat_map(|track| track.seats.iter().map(|seat| &seat.thread));
        seats.chain(state.beside.iter().flat_map(|beside| &beside.retired)).cloned().collect()
    }

    /// Notes that a party has ended its part. After the last one the request has ended, and others may begin.
    fn end_part(self: &Arc<Self>, track: usize, ending: Ending, answer: Option<Answer>) {
        let (mut state, mut after) = (self.lock(), After::default());
        state.end_part(track, ending, answer, &mut after);
        self.begin_next(&mut state, &mut after);
        drop(state);
        after.settle();
    }

    /// Begins all requests that can begin.
    fn begin_next(self: &Arc<Self>, state: &mut State, after: &mut After) {
        while let Some((place, track)) = state.next() {
            let Some(entry) = state.waiting.remove(place) else { break };
            match entry.what {
                What::Run(jobs) if state.is_over => {
                    after.dropped.extend(jobs);
                    state.values.iter().for_each(|values| drop(values.end(entry.number, false, None)));
                }
                What::Run(jobs) => {
                    state.values.iter().for_each(|values| values.begin(entry.number));
                    let again = if track == MAIN { vec![] } else { jobs.clone() };
                    let serving = Serving::new(entry.number, entry.takes, jobs.len(), again);
                    state.tracks[track].begin(serving, entry.is_cancelled || state.hurries);
                    let part = || {
                        let queue = self.clone();
                        Part::new(move |ending, answer| queue.end_part(track, ending, answer))
                    };
                    let commands = jobs.into_iter().map(|job| Command::Run(Box::new(job), part())).collect();
                    for refused in state.tracks[track].send(commands) {
                        // The party's thread has ended.
                        if let Command::Run(job, part) = refused {
                            part.disarm();
                            after.dropped.push(*job);
                            state.end_part(track, Ending::Over, None, after);
                        }
                    }
                }
                What::Leave { gave_up } => {
                    let in_a_hurry = state.hurries;
                    state.tracks.iter_mut().for_each(|track| track.leave(gave_up, in_a_hurry));
                    state.lose();
                }
            }
        }
    }
}

/// What is left to do without the lock: answers to send, which wakes other threads, and jobs to drop, which may free
/// much.
#[derive(Default)]
struct After {
    answers: Vec<Answer>,
    dropped: Vec<Job>,
}

impl After {
    fn settle(self) {
        for (to, reply) in self.answers {
            let _ = to.send(reply); // nobody may wait for it
        }
    }
}

/// A hold on values, which the parties of a local session keep until it is dropped.
pub(crate) struct Hold {
    queue: Arc<Queue>,
    held: Vec<NodeId>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let values = self.queue.lock().values.clone();
        values.iter().for_each(|values| values.unwant(&self.held));
    }
}

impl State {
    /// Returns the next request that can begin, by its place in the line, and the track that is free for it; a side
    /// track may be opened for it.
    fn next(&mut self) -> Option<(usize, usize)> {
        let mut main_is_taken = self.tracks.first()?.serving.is_some();
        for place in 0..self.waiting.len().min(LOOKED_AT) {
            let Entry { what, takes, .. } = &self.waiting[place];
            if matches!(what, What::Leave { .. }) {
                let all_rest = self.tracks.iter().all(|track| track.serving.is_none());
                return (place == 0 && all_rest).then_some((place, MAIN));
            }
            if self.is_over {
                return Some((place, MAIN)); // where it is refused
            }
            let before = self.waiting.iter().take(place).map(|entry| &entry.takes);
            let served = self.tracks.iter().filter_map(|track| track.serving.as_ref().map(|serving| &serving.takes));
            let must_wait = before.chain(served).any(|other| other.meets(takes));
            if !must_wait && !main_is_taken {
                return Some((place, MAIN));
            }
            let is_small = takes.is_small;
            let beside = self.beside.as_mut().filter(|beside| beside.is_open())?;
            if !must_wait && is_small {
                return beside.take_free(&mut self.tracks).map(|track| (place, track));
            }
            main_is_taken |= !is_small; // a large request waits for it
        }
        None
    }

    /// Notes that a party has ended its part; after the last one, ends the request.
    fn end_part(&mut self, track: usize, ending: Ending, answer: Option<Answer>, after: &mut After) {
        if let Some(serving) = self.tracks[track].end_part(ending, answer) {
            after.answers.extend(self.end(track, serving));
        }
    }

    /// Ends a request that all parties have ended. Returns the answers to send.
    fn end(&mut self, track: usize, serving: Serving) -> Vec<Answer> {
        let Serving { number, takes, is_interrupted, again, ending, answers, .. } = serving;
        if ending == Ending::TooLarge {
            let (takes, what) = (Takes { is_small: false, ..takes }, What::Run(again));
            self.waiting.push_front(Entry { number, what, takes, is_cancelled: is_interrupted });
            return vec![];
        }
        let mut keeps = None;
        for values in &self.values {
            keeps = values.end(number, ending == Ending::Well, keeps);
        }
        if ending == Ending::Over {
            self.is_over |= track != MAIN; // the parties of the main track say so themselves
            self.lose();
        }
        answers
    }

    /// Drops the parties' values and keys: no further request can use them.
    fn lose(&mut self) {
        self.values.iter().for_each(|values| values.lose());
        self.beside.iter_mut().for_each(Beside::close);
    }
}
