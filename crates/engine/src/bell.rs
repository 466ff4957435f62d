//! Bells: which of many futures were woken, so that only these are polled.

use quorate_sync::atomic::{AtomicBool, Ordering};
use quorate_sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Wake, Waker};

use crate::depth::Depth;
use crate::error::Result;

/// The bell of one fork: it records which children were woken, and wakes their parent.
pub(crate) struct Bell(Mutex<Rung>);

struct Rung {
    children: Vec<usize>,
    parent: Waker,
}

impl Bell {
    pub fn new() -> Arc<Bell> {
        Arc::new(Bell(Mutex::new(Rung { children: Vec::new(), parent: Waker::noop().clone() })))
    }

    /// Makes the bell wake this parent from now on. Call it whenever the parent is polled.
    pub fn listen(&self, parent: &Waker) {
        self.lock().parent.clone_from(parent);
    }

    /// Moves the children that rang since the last call into `rung`, in their order.
    pub fn take(&self, rung: &mut Vec<usize>) {
        rung.clear();
        std::mem::swap(&mut self.lock().children, rung);
        rung.sort_unstable();
    }

    fn lock(&self) -> MutexGuard<'_, Rung> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The waker of one child: it rings once until the child is polled.
struct ChildWaker {
    bell: Arc<Bell>,
    index: usize,
    rang: AtomicBool,
}

impl Wake for ChildWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.rang.swap(true, Ordering::AcqRel) {
            let mut rung = self.bell.lock();
            rung.children.push(self.index);
            rung.parent.wake_by_ref();
        }
    }
}

/// A child's place at a bell. It rings once when it is made, so that the child is polled a first time.
pub(crate) struct Place {
    child: Arc<ChildWaker>,
    waker: Waker,
}

impl Place {
    pub fn new(bell: &Arc<Bell>, index: usize) -> Place {
        let child = Arc::new(ChildWaker { bell: bell.clone(), index, rang: AtomicBool::new(true) });
        bell.lock().children.push(index);
        Place { waker: Waker::from(child.clone()), child }
    }

    pub fn poll<F: Future + ?Sized>(&self, future: Pin<&mut F>) -> Poll<F::Output> {
        self.child.rang.store(false, Ordering::Release);
        future.poll(&mut Context::from_waker(&self.waker))
    }
}

/// The work of a child of a fork. What it makes goes to a place of its own, so that code that drives children is the
/// same for all results, and is compiled once.
pub(crate) type Work<'a> = Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

/// One of many children of a fork.
pub(crate) struct Child<'a, T> {
    future: Pin<Box<dyn Future<Output = Result<T>> + 'a>>,
    place: Place,
    pub depth: Rc<Cell<Depth>>,
}

impl<'a, T> Child<'a, T> {
    pub fn new(
        bell: &Arc<Bell>,
        index: usize,
        depth: Rc<Cell<Depth>>,
        future: Pin<Box<dyn Future<Output = Result<T>> + 'a>>,
    ) -> Self {
        Child { future, place: Place::new(bell, index), depth }
    }

    pub fn poll(&mut self) -> Poll<Result<T>> {
        self.place.poll(self.future.as_mut())
    }
}
