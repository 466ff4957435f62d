//! The state machine of attempts to start a run. It tracks this party's present attempt, and decides which messages
//! about attempts concern it.
//!
//! Every attempt has a number. A greeting carries its sender's number; the run gets the largest. An abort carries the
//! number with which its sender greeted (`own`) and the largest number that the attempt has for any party (`number`).
//! Every party that is in an attempt up to that number will fail, too. Messages of one peer arrive in order. So each
//! party decides by itself what an abort concerns, and all reach the same decision:
//!
//! | this party | the abort concerns |
//! |---|---|
//! | has answered the peer's greeting of number a (or is running) | the present attempt if `own` <= a, else the next |
//! | is greeting and has not received that peer's greeting | the present attempt if `number` is not below its number |
//! | is idle | the next attempt if `number` is not below its number; otherwise it is the echo of an old failure |
//!
//! An abort that ends the session (a lost peer, cheating) concerns every party at any stage.

use std::collections::VecDeque;

use crate::error::{Error, Result};
use crate::wire::{Abort, FrameType};

/// The largest accepted lead of a peer's number over this party's. A peer leads by failed attempts of which this party
/// received no message.
const LARGEST_JUMP: u32 = 1 << 24;
/// Handshake messages of one peer that may wait: greeting, trace and node of one attempt, and the next greeting.
const LONGEST_QUEUE: usize = 5;
/// The number of runs of a side party.
const SIDE_RUNS: u32 = 1 << 20;
/// The number of the first run of the first side party; smaller ones are those of the main party.
const FIRST_SIDE: u32 = 1 << 31;

/// The number of runs of a party of a branch.
pub const BRANCH_RUNS: u32 = 1 << 21;

/// The number of sides on which a session may have parties beside the main ones.
pub const SIDES: usize = 2047;
/// The number of branches that a session may have in place of sides.
pub const BRANCHES: usize = 1023;

/// The numbers of a party's runs. Whatever is drawn for a run is named by its number, so parties with the same keys
/// have numbers of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers {
    first: u32,
    last: u32,
}

impl Numbers {
    /// The numbers of the main party of a session.
    pub const MAIN: Numbers = Numbers { first: 1, last: FIRST_SIDE - 1 };

    /// Returns the numbers of a side party; `None` where there are no more.
    pub fn of_side(side: usize) -> Option<Numbers> {
        Numbers::part(side, SIDE_RUNS)
    }

    /// Returns the numbers of a party of a branch; `None` where there are no more. A session has either sides or
    /// branches.
    pub fn of_branch(branch: usize) -> Option<Numbers> {
        Numbers::part(branch, BRANCH_RUNS)
    }

    fn part(place: usize, runs: u32) -> Option<Numbers> {
        let first = FIRST_SIDE.checked_add(u32::try_from(place).ok()?.checked_mul(runs)?)?;
        let last = first.checked_add(runs - 1)?;
        (last < u32::MAX).then_some(Numbers { first, last })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Idle,
    Greeting,
    Running,
}

/// A handshake message that this party has not read yet.
pub(crate) struct Greeted {
    pub kind: FrameType,
    pub number: u32,
    pub body: Vec<u8>,
}

pub(crate) struct Attempts {
    numbers: Numbers,
    stage: Stage,
    /// The number with which this party greeted.
    own: u32,
    /// This party's number while greeting, the run while running.
    number: u32,
    /// The number of this party's next attempt.
    next: u32,
    /// Data and greetings below this number are stale: this party ended those attempts.
    floor: u32,
    /// The number in the greeting of each peer that the present attempt answers.
    answered: Vec<Option<u32>>,
    queues: Vec<VecDeque<Greeted>>,
    /// Peers' aborts of an attempt that this party has not begun yet.
    early: Vec<Option<Abort>>,
    /// The abort of a peer that saw a difference between the programs. This party finds the difference itself before it
    /// gives up.
    mismatch: Option<Abort>,
}

impl Attempts {
    pub fn new(parties: usize, numbers: Numbers) -> Self {
        Attempts {
            numbers,
            stage: Stage::Idle,
            own: 0,
            number: 0,
            next: numbers.first,
            floor: numbers.first,
            answered: vec![None; parties],
            queues: (0..parties).map(|_| VecDeque::new()).collect(),
            early: vec![None; parties],
            mismatch: None,
        }
    }

    /// Returns whether this party reads data of this run now.
    pub fn is_running(&self, run: u32) -> bool {
        self.stage == Stage::Running && run == self.number
    }

    /// Returns whether this party will never read data of this run.
    pub fn is_stale(&self, run: u32) -> bool {
        run < self.floor
    }

    /// Returns the number of the next attempt.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Starts an attempt. Returns its number, or the abort that ended it before it began.
    pub fn open(&mut self) -> std::result::Result<u32, Abort> {
        self.answered.fill(None);
        self.mismatch = None;
        if let Some(abort) = self.first_abort() {
            self.early.fill(None);
            (self.own, self.number) = (abort.number, abort.number);
            return Err(abort);
        }
        self.stage = Stage::Greeting;
        (self.own, self.number) = (self.next, self.next);
        self.next += 1;
        Ok(self.number)
    }

    /// Returns the decisive one of the early aborts: one that ends the session, otherwise the oldest, to which the
    /// later ones are other parties' answers.
    fn first_abort(&self) -> Option<Abort> {
        self.early.iter().flatten().copied().min_by_key(|abort| (!abort.cause.is_final(), abort.number))
    }

    /// Notes that the parties agreed: from now on data of this run is read.
    pub fn start(&mut self, run: u32) {
        self.stage = Stage::Running;
        self.number = run;
        self.floor = run;
        self.next = self.next.max(run + 1);
    }

    /// Notes that the run ended well.
    pub fn finish(&mut self) {
        self.stage = Stage::Idle;
        self.floor = self.floor.max(self.number + 1);
        self.answered.fill(None);
    }

    /// Notes that the attempt failed. Returns the number with which this party greeted, and the number up to which all
    /// attempts are over.
    pub fn fail(&mut self) -> (u32, u32) {
        let answered = self.answered.iter().flatten().copied().max().unwrap_or(0);
        let over = if self.stage == Stage::Greeting { self.number.max(answered) } else { self.number };
        self.stage = Stage::Idle;
        self.floor = self.floor.max(over + 1);
        self.next = self.next.max(over + 1);
        self.answered.fill(None);
        self.queues.iter_mut().for_each(|queue| queue.retain(|greeted| greeted.number > over));
        (self.own, over)
    }

    /// Takes in a greeting, a trace or a node.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the peer breaks the order of a handshake.
    pub fn greeted(&mut self, peer: usize, greeted: Greeted) -> Result<()> {
        self.check_number(peer, greeted.number)?;
        if self.is_stale(greeted.number) {
            return Ok(());
        }
        if self.queues[peer].len() >= LONGEST_QUEUE {
            return Err(Error::Malformed { peer, what: "handshake messages out of turn" });
        }
        self.queues[peer].push_back(greeted);
        Ok(())
    }

    /// Takes in an abort; returns it if the present attempt is over because of it.
    ///
    /// # Errors
    /// [`Error::Malformed`] if its number makes no sense.
    pub fn aborted(&mut self, peer: usize, abort: Abort) -> Result<Option<Abort>> {
        self.check_number(peer, abort.number)?;
        let fresh = abort.number >= self.next;
        self.next = self.next.max(abort.number + 1);
        let greeting = self.answered[peer].or_else(|| self.queues[peer].front().map(|greeted| greeted.number));
        let later = greeting.is_some_and(|greeting| abort.own > greeting);
        let concerns = match self.stage {
            Stage::Idle => false,
            _ => !later && (self.answered[peer].is_some() || abort.number >= self.number),
        };
        if self.stage == Stage::Greeting && concerns && abort.cause == crate::Cause::Mismatch {
            self.mismatch.get_or_insert(abort);
            return Ok(None);
        }
        self.queues[peer].retain(|greeted| greeted.number > abort.number || greeted.number < abort.own);
        let is_final = abort.cause.is_final();
        if self.stage != Stage::Idle && (concerns || is_final) {
            return Ok(Some(abort));
        }
        if (fresh && (later || self.stage == Stage::Idle)) || is_final {
            self.early[peer].get_or_insert(abort);
        }
        Ok(None)
    }

    /// Returns the next handshake message of a peer. Reading a greeting answers it.
    pub fn read(&mut self, peer: usize) -> Option<Greeted> {
        let greeted = self.queues[peer].pop_front()?;
        if greeted.kind == FrameType::Start {
            self.answered[peer] = Some(greeted.number);
        }
        Some(greeted)
    }

    /// Returns whether this attempt still needs that peer's greeting, and it has not arrived yet.
    pub fn lacks(&self, peer: usize) -> bool {
        self.answered[peer].is_none() && self.queues[peer].is_empty()
    }

    /// Returns the abort of a peer that gave up because the programs differ, where this party saw no difference.
    pub fn mismatch(&self) -> Option<Abort> {
        self.mismatch
    }

    /// Checks that an honest peer can be at this number.
    ///
    /// # Errors
    /// [`Error::Malformed`] if not.
    pub fn check_number(&self, peer: usize, number: u32) -> Result<()> {
        let limit = self.next.saturating_add(LARGEST_JUMP).min(self.numbers.last);
        if number < self.numbers.first || number > limit {
            return Err(Error::Malformed { peer, what: "run number out of range" });
        }
        Ok(())
    }

    /// Returns whether all attempt numbers are used up.
    pub fn is_worn_out(&self) -> bool {
        self.next >= self.numbers.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cause;

    fn abort(number: u32, cause: Cause) -> Abort {
        Abort { own: number, number, cause, origin: 1 }
    }

    fn start(number: u32) -> Greeted {
        Greeted { kind: FrameType::Start, number, body: Vec::new() }
    }

    /// Party 0 of 3, in an attempt that has answered no greeting.
    fn greeting() -> Attempts {
        let mut attempts = Attempts::new(3, Numbers::MAIN);
        assert_eq!(attempts.open(), Ok(1));
        attempts
    }

    fn running() -> Attempts {
        let mut attempts = greeting();
        for peer in 1..3 {
            attempts.greeted(peer, start(1)).unwrap();
            attempts.read(peer).unwrap();
        }
        attempts.start(1);
        attempts
    }

    #[test]
    fn an_echo_of_the_last_failure_does_not_end_the_next_attempt() {
        let mut attempts = running();
        assert_eq!(attempts.fail(), (1, 1));
        assert_eq!(attempts.open(), Ok(2));
        assert_eq!(attempts.aborted(1, abort(1, Cause::Refused)), Ok(None));
        assert_eq!(attempts.aborted(2, abort(2, Cause::Refused)), Ok(Some(abort(2, Cause::Refused))));
    }

    #[test]
    fn an_abort_before_this_party_began_ends_its_attempt_once() {
        let mut attempts = Attempts::new(3, Numbers::MAIN);
        attempts.greeted(1, start(1)).unwrap();
        assert_eq!(attempts.aborted(1, abort(1, Cause::Interrupted)), Ok(None));
        attempts.greeted(1, start(2)).unwrap();
        assert_eq!(attempts.open(), Err(abort(1, Cause::Interrupted)));
        assert_eq!(attempts.fail(), (1, 1));
        assert_eq!(attempts.open(), Ok(2));
        assert_eq!(attempts.read(1).unwrap().number, 2);
        assert!(attempts.read(1).is_none());
    }

    #[test]
    fn the_first_to_give_up_is_named_whoever_gives_up_after_it() {
        let mut attempts = Attempts::new(3, Numbers::MAIN);
        let culprit = Abort { origin: 2, ..abort(1, Cause::Refused) };
        assert_eq!(attempts.aborted(2, culprit), Ok(None));
        assert_eq!(attempts.aborted(1, culprit), Ok(None), "party 1 passes it on");
        assert_eq!(attempts.aborted(1, abort(2, Cause::Refused)), Ok(None), "and leaves");
        assert_eq!(attempts.open(), Err(culprit));
        let mut attempts = Attempts::new(3, Numbers::MAIN);
        assert_eq!(attempts.aborted(1, abort(1, Cause::Refused)), Ok(None));
        assert_eq!(attempts.aborted(2, abort(2, Cause::Cheating)), Ok(None));
        assert_eq!(attempts.open(), Err(abort(2, Cause::Cheating)), "the session is over");
    }

    #[test]
    fn a_peer_with_a_smaller_number_ends_the_attempt_that_answered_it() {
        let mut attempts = greeting();
        attempts.fail();
        assert_eq!(attempts.open(), Ok(2));
        attempts.greeted(1, start(2)).unwrap();
        attempts.read(1).unwrap();
        attempts.start(9);
        assert_eq!(attempts.aborted(1, abort(2, Cause::Refused)), Ok(Some(abort(2, Cause::Refused))));
        assert_eq!((attempts.fail(), attempts.next()), ((2, 9), 10));
    }

    #[test]
    fn a_peer_that_is_done_and_gives_up_its_next_attempt_does_not_end_this_run() {
        let mut attempts = running();
        assert_eq!(attempts.aborted(1, abort(2, Cause::Interrupted)), Ok(None));
        attempts.finish();
        assert_eq!(attempts.open(), Err(abort(2, Cause::Interrupted)));
    }

    #[test]
    fn a_peer_may_finish_the_run_and_give_up_the_next_before_this_party_has_begun() {
        for read in [false, true] {
            let mut attempts = greeting();
            attempts.greeted(1, start(1)).unwrap();
            if read {
                attempts.read(1).unwrap();
            }
            assert_eq!(attempts.aborted(1, abort(2, Cause::Refused)), Ok(None));
            assert!(read || attempts.read(1).is_some());
            attempts.greeted(2, start(1)).unwrap();
            attempts.read(2).unwrap();
            attempts.start(1);
            attempts.finish();
            assert_eq!(attempts.open(), Err(abort(2, Cause::Refused)));
            assert_eq!(attempts.fail(), (2, 2));
            assert_eq!(attempts.open(), Ok(3));
        }
    }

    #[test]
    fn a_late_failure_of_a_finished_run_is_no_concern_unless_it_ends_the_session() {
        let mut attempts = running();
        attempts.finish();
        assert_eq!(attempts.aborted(1, abort(1, Cause::Refused)), Ok(None));
        assert_eq!(attempts.open(), Ok(2));
        assert_eq!(attempts.aborted(1, abort(1, Cause::Cheating)), Ok(Some(abort(1, Cause::Cheating))));
    }

    #[test]
    fn greetings_of_ended_attempts_are_dropped_whenever_they_come() {
        let mut attempts = greeting();
        attempts.greeted(1, start(1)).unwrap();
        assert_eq!(attempts.fail(), (1, 1));
        attempts.greeted(2, start(1)).unwrap();
        attempts.greeted(2, start(2)).unwrap();
        assert_eq!(attempts.open(), Ok(2));
        assert!(attempts.lacks(1));
        assert_eq!(attempts.read(2).unwrap().number, 2);
    }

    #[test]
    fn a_mismatch_elsewhere_leaves_time_to_find_the_difference_here() {
        let mut attempts = greeting();
        attempts.greeted(1, start(1)).unwrap();
        assert_eq!(attempts.aborted(1, abort(1, Cause::Mismatch)), Ok(None));
        assert_eq!(attempts.read(1).unwrap().number, 1);
        assert_eq!(attempts.mismatch(), Some(abort(1, Cause::Mismatch)));
    }

    #[test]
    fn absurd_numbers_and_floods_are_refused() {
        for number in [0, u32::MAX, u32::MAX - 1, 1 << 25] {
            assert!(greeting().greeted(1, start(number)).is_err());
            assert!(greeting().aborted(1, abort(number, Cause::Bug)).is_err());
        }
        let mut attempts = greeting();
        assert!((0..9).any(|_| attempts.greeted(1, start(5)).is_err()));
    }

    /// Parties with the same keys must never have runs of one number: they would draw the same masks.
    #[test]
    fn numbers_of_the_main_party_and_of_all_sides_or_branches_are_disjoint() {
        fn are_disjoint(of: impl Fn(usize) -> Option<Numbers>, most: usize) {
            let others: Vec<Numbers> = (0..).map_while(&of).collect();
            assert_eq!(others.len(), most);
            assert_eq!(of(usize::MAX), None);
            let mut last = 0;
            for numbers in std::iter::once(Numbers::MAIN).chain(others) {
                assert!(last < numbers.first && numbers.first < numbers.last && numbers.last < u32::MAX);
                last = numbers.last;
            }
        }
        are_disjoint(Numbers::of_side, SIDES);
        are_disjoint(Numbers::of_branch, BRANCHES);
    }

    #[test]
    fn numbers_of_another_side_are_refused() {
        let numbers = Numbers::of_side(1).unwrap();
        let at = |next: u32| {
            let mut attempts = Attempts::new(3, numbers);
            attempts.next = next;
            attempts
        };
        assert_eq!(at(numbers.first).open(), Ok(numbers.first));
        for (next, number) in [(numbers.first, numbers.first - 1), (numbers.first, 1), (numbers.last, numbers.last + 1)]
        {
            assert!(at(next).greeted(1, start(number)).is_err());
            assert!(at(next).aborted(1, abort(number, Cause::Bug)).is_err());
        }
        assert!(at(numbers.last).check_number(1, numbers.last).is_ok());
        assert!(at(numbers.last).is_worn_out() && !at(numbers.last - 1).is_worn_out());
    }
}
