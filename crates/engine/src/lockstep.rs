//! A barrier for threads that do each step together. When a thread ends, for whatever reason, the others no longer wait
//! for it. A thread that lacks memory panics; at a barrier of the standard library the others would wait for ever.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The barrier.
pub(crate) struct Lockstep {
    state: Mutex<State>,
    all_came: Condvar,
}

struct State {
    members: usize,
    waiting: usize,
    steps: usize,
}

/// One thread's membership, which ends when it is dropped.
pub(crate) struct Member<'a>(&'a Lockstep);

impl Lockstep {
    pub(crate) fn new(members: usize) -> Lockstep {
        Lockstep { state: Mutex::new(State { members, waiting: 0, steps: 0 }), all_came: Condvar::new() }
    }

    /// Returns a membership. Take one for each member before the threads that hold them start.
    pub(crate) fn member(&self) -> Member<'_> {
        Member(self)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn go_on_if_all_came(&self, state: &mut State) {
        if state.waiting >= state.members {
            (state.waiting, state.steps) = (0, state.steps + 1);
            self.all_came.notify_all();
        }
    }
}

impl Member<'_> {
    /// Waits until all other members wait, or have ended.
    pub(crate) fn wait(&self) {
        let mut state = self.0.lock();
        state.waiting += 1;
        let step = state.steps;
        self.0.go_on_if_all_came(&mut state);
        let here = |state: &mut State| state.steps == step;
        drop(self.0.all_came.wait_while(state, here).unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.members -= 1;
        self.0.go_on_if_all_came(&mut state);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::resume_unwind;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn nobody_waits_for_a_thread_that_ended() {
        for (threads, ends_at, panics) in [(2, 0, false), (2, 5, true), (3, 1, true), (3, 4, false), (1, 10, false)] {
            let (lockstep, steps) = (Lockstep::new(threads), AtomicUsize::new(0));
            let members: Vec<_> = (0..threads).map(|_| lockstep.member()).collect();
            thread::scope(|scope| {
                let mut started = Vec::new();
                for (me, member) in members.into_iter().enumerate() {
                    let steps = &steps;
                    started.push(scope.spawn(move || {
                        let own: usize = if me == 0 { ends_at } else { 10 };
                        for step in 0..own {
                            member.wait();
                            steps.fetch_add(1, Ordering::SeqCst);
                            member.wait();
                            // All members in a step have done this one, and none has begun the next.
                            let (before, after) = (step.min(ends_at), step.saturating_sub(ends_at));
                            let now = if step < ends_at { threads } else { threads - 1 };
                            let done = before * threads + after * (threads - 1) + now;
                            assert_eq!(steps.load(Ordering::SeqCst), done, "step {step}");
                            member.wait();
                        }
                        if me == 0 && panics {
                            resume_unwind(Box::new(()));
                        }
                    }));
                }
                for (me, thread) in started.into_iter().enumerate() {
                    assert_eq!(thread.join().is_err(), me == 0 && panics);
                }
            });
            assert_eq!(steps.load(Ordering::SeqCst), (threads - 1) * 10 + ends_at);
        }
    }
}
