//! The line of a deployment's requests, and which of them are not begun.
//!
//! A program may ask for values before it has those that it asked for earlier. All parties ask in the same order, and
//! serve in it. But they are not equally far: when a request fails, the program of one party may have asked for ten
//! others, that of another party for two. The tenth of the first party must not meet the third of the other.
//!
//! So a request that fails holds up the line at its party until the program hears of the failure. Requests that the
//! program submits before are not begun; they fail, and no party is told. At every party that is a matter of the
//! program's order alone: the requests from the one that failed to the last one before the program heard of it.
//!
//! It also keeps a party from failing several requests before its peers have begun the first of them: numbers of
//! attempts tell only the newest apart (`engine/attempts.rs`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::SessionError;

/// The line of requests at this party.
#[derive(Default)]
pub(crate) struct Line(Mutex<State>);

#[derive(Default)]
struct State {
    /// The numbers of the newest request, and of the newest that has ended.
    submitted: u64,
    ended: u64,
    /// The request that failed and of which the program has not heard.
    failed: Option<u64>,
    /// Requests for which the program does not wait, and the newest request when it said so.
    given_up: BTreeMap<u64, u64>,
    /// The requests that are not begun: those after the first number, up to the second.
    refused: Vec<(u64, u64)>,
}

impl State {
    fn refuses(&self, number: u64) -> bool {
        self.failed.is_some_and(|failed| failed < number)
            || self.refused.iter().any(|&(after, last)| after < number && number <= last)
    }
}

impl Line {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the program has submitted this request.
    pub fn submitted(&self, number: u64) {
        self.lock().submitted = number;
    }

    /// Checks that this request may begin.
    ///
    /// # Errors
    /// [`SessionError::Behind`].
    pub fn check(&self, number: u64) -> Result<(), SessionError> {
        if self.lock().refuses(number) { Err(SessionError::Behind) } else { Ok(()) }
    }

    /// Notes that this request has ended. Requests end in order.
    pub fn ended(&self, number: u64, well: bool) {
        let mut state = self.lock();
        let given_up = state.given_up.remove(&number);
        if !well && !state.refuses(number) {
            match given_up {
                Some(last) => state.refused.push((number, last)),
                None => state.failed = Some(number),
            }
        }
        state.ended = number;
        state.refused.retain(|&(_, last)| last > number);
    }

    /// Notes that the program has heard of the end of this request, or does not wait for it any more.
    fn received(&self, number: u64) {
        let mut state = self.lock();
        let last = state.submitted;
        if let Some(failed) = state.failed.take_if(|failed| *failed <= number) {
            state.refused.push((failed, last));
        } else if number > state.ended {
            state.given_up.insert(number, last);
        }
    }
}

/// The end of a request, of which the program has not heard yet. Once the last reference to it is dropped, it has.
pub struct Receipt {
    pub(crate) number: u64,
    /// The line, in a deployment. Requests of a local session do not depend on each other.
    pub(crate) line: Option<Arc<Line>>,
    pub(crate) process: u32,
}

impl Drop for Receipt {
    fn drop(&mut self) {
        // In a fork another thread may have held the lock.
        if let Some(line) = self.line.as_ref().filter(|_| self.process == std::process::id()) {
            line.received(self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line to which `count` requests were submitted.
    fn line(count: u64) -> Line {
        let line = Line::default();
        (1..=count).for_each(|number| line.submitted(number));
        line
    }

    /// Serves requests up to the `last`-th, of which those in `failing` fail if they begin. Returns those that began.
    fn serve(line: &Line, numbers: std::ops::RangeInclusive<u64>, failing: &[u64]) -> Vec<u64> {
        let one = |&number: &u64| {
            let begins = line.check(number).is_ok();
            line.ended(number, begins && !failing.contains(&number));
            begins
        };
        numbers.filter(one).collect()
    }

    #[test]
    fn what_is_behind_a_failure_is_not_begun_until_the_program_has_heard_of_it() {
        for served_before in 2..=6 {
            let line = line(4);
            let mut begun = serve(&line, 1..=served_before.min(4), &[2]);
            (5..=6).for_each(|number| line.submitted(number));
            begun.extend(serve(&line, served_before.min(4) + 1..=served_before, &[2]));
            line.received(2);
            line.submitted(7);
            begun.extend(serve(&line, served_before + 1..=7, &[]));
            assert_eq!(begun, [1, 2, 7], "{served_before} were served before the program heard");
        }
    }

    #[test]
    fn a_failure_is_heard_of_by_any_request_behind_it() {
        let line = line(3);
        assert_eq!(serve(&line, 1..=3, &[1]), [1]);
        line.received(3);
        line.submitted(4);
        assert_eq!(serve(&line, 4..=4, &[]), [4]);
        line.received(1);
        line.submitted(5);
        assert_eq!(serve(&line, 5..=5, &[]), [5], "it was heard of before");
    }

    #[test]
    fn the_end_of_an_earlier_request_says_nothing_of_a_failure() {
        let line = line(3);
        assert_eq!(serve(&line, 1..=3, &[2]), [1, 2]);
        line.received(1);
        line.submitted(4);
        assert_eq!(serve(&line, 4..=4, &[]), []);
    }

    #[test]
    fn a_request_that_is_given_up_refuses_those_that_were_submitted_before() {
        for fails in [true, false] {
            let line = line(4);
            line.received(2); // it has not begun
            line.submitted(5);
            let (failing, begun): (&[u64], &[u64]) = if fails { (&[2], &[1, 2, 5]) } else { (&[], &[1, 2, 3, 4, 5]) };
            assert_eq!(serve(&line, 1..=5, failing), begun);
        }
    }

    #[test]
    fn a_receipt_speaks_once_the_last_reference_is_gone() {
        let line = Arc::new(line(1));
        let receipt = Arc::new(Receipt { number: 1, line: Some(line.clone()), process: std::process::id() });
        serve(&line, 1..=1, &[1]);
        drop(receipt.clone());
        line.submitted(2);
        assert_eq!(serve(&line, 2..=2, &[]), []);
        drop(receipt);
        line.submitted(3);
        assert_eq!(serve(&line, 3..=3, &[]), [3]);
    }
}
