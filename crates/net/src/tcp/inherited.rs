//! The sockets of this process's links and ports. A fork of the process inherits them: while it has them, connections
//! do not end with the process that opened them, and its port is in use. So a fork closes them, by their numbers.

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use super::per_process::PerProcess;

/// The number of a socket in its process; `None` on systems without forks.
pub(crate) trait Numbered {
    fn number(&self) -> Option<i32>;
}

#[cfg(unix)]
impl<T: std::os::fd::AsRawFd> Numbered for T {
    fn number(&self) -> Option<i32> {
        Some(self.as_raw_fd())
    }
}

#[cfg(not(unix))]
impl<T> Numbered for T {
    fn number(&self) -> Option<i32> {
        None
    }
}

static NUMBERS: PerProcess<BTreeSet<i32>> = PerProcess::new(BTreeSet::new());

/// Takes the numbers of the sockets that a fork has inherited, for it to close once: later its own files have these
/// numbers. None if another thread was changing them at the time of the fork.
pub fn inherited_sockets() -> Vec<i32> {
    take(NUMBERS.inherited())
}

fn take<'a>(lists: impl Iterator<Item = &'a Mutex<BTreeSet<i32>>>) -> Vec<i32> {
    let unlocked = lists.filter_map(|numbers| numbers.try_lock().ok());
    unlocked.flat_map(|mut numbers| std::mem::take(&mut *numbers)).collect()
}

/// A socket that forks of this process close.
pub(crate) struct InheritedSocket<T> {
    /// It is dropped first: a number may be given to another file as soon as its socket is closed.
    _listed: Listed,
    socket: T,
}

struct Listed(Option<i32>);

impl<T: Numbered> InheritedSocket<T> {
    pub(crate) fn new(socket: T) -> InheritedSocket<T> {
        let number = socket.number();
        NUMBERS.here().lock().unwrap_or_else(PoisonError::into_inner).extend(number);
        InheritedSocket { _listed: Listed(number), socket }
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        if let Some(number) = self.0 {
            NUMBERS.here().lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
        }
    }
}

impl<T> Deref for InheritedSocket<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.socket
    }
}

impl<T> DerefMut for InheritedSocket<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.socket
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    struct Number(i32);

    impl std::os::fd::AsRawFd for Number {
        fn as_raw_fd(&self) -> i32 {
            self.0
        }
    }

    #[test]
    fn a_socket_is_listed_while_it_is_open() {
        let number = 2_000_000_000;
        let is_listed = || NUMBERS.here().lock().unwrap().contains(&number);
        let socket = InheritedSocket::new(Number(number));
        assert!(is_listed());
        drop(socket);
        assert!(!is_listed());
    }

    /// Later, files of the fork have these numbers: a fork of the fork must not close them.
    #[test]
    fn inherited_sockets_are_closed_once() {
        let lists = [Mutex::new(BTreeSet::from([5, 7])), Mutex::new(BTreeSet::from([9])), Mutex::default()];
        let held_at_the_fork = lists[1].lock().unwrap();
        assert_eq!(take(lists.iter()), [5, 7]);
        assert!(take(lists.iter()).is_empty());
        drop(held_at_the_fork);
        assert_eq!(take(lists.iter()), [9]);
    }
}
