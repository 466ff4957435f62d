//! A value that one lane makes and others wait for: data flow between the nodes of a program.

use quorate_sync::{Mutex, MutexGuard, PoisonError};
use std::future::poll_fn;
use std::task::{Poll, Waker};

use crate::ctx::Ctx;
use crate::depth::Depth;

/// Empty until [`Slot::set`]. Reading takes over the depth at which the value was made, so rounds stay causal.
pub struct Slot<T> {
    state: Mutex<State<T>>,
}

enum State<T> {
    Empty(Vec<Waker>),
    Full { value: T, depth: Depth },
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Slot { state: Mutex::new(State::Empty(Vec::new())) }
    }
}

impl<T: Clone> Slot<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a slot whose value exists since before the run.
    pub fn full(value: T) -> Self {
        Slot { state: Mutex::new(State::Full { value, depth: Depth::default() }) }
    }

    /// Fills the slot and wakes the lanes that wait for it.
    pub fn set(&self, ctx: &Ctx, value: T) {
        let full = State::Full { value, depth: ctx.depth.get() };
        if let State::Empty(wakers) = std::mem::replace(&mut *self.lock(), full) {
            wakers.into_iter().for_each(Waker::wake);
        }
    }

    /// Returns the value, if it is there.
    pub fn peek(&self) -> Option<T> {
        match &*self.lock() {
            State::Full { value, .. } => Some(value.clone()),
            State::Empty(_) => None,
        }
    }

    /// Drops the value, which will not be read any more.
    pub fn clear(&self) {
        *self.lock() = State::Empty(Vec::new());
    }

    /// Waits for the value and returns it.
    pub async fn get(&self, ctx: &Ctx) -> T {
        poll_fn(|context| match &mut *self.lock() {
            State::Full { value, depth } => {
                ctx.depth.set(ctx.depth.get().join(*depth));
                Poll::Ready(value.clone())
            }
            State::Empty(wakers) => {
                if !wakers.iter().any(|waker| waker.will_wake(context.waker())) {
                    wakers.push(context.waker().clone());
                }
                Poll::Pending
            }
        })
        .await
    }
}
