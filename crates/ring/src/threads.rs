//! The threads on which a party computes: long local work is split into parts that run side by side.
//!
//! Results do not depend on the number of threads: each part writes to its own place, and is computed as on one thread.
//! Work that takes less than about 50 us stays on the calling thread.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

use rayon_core::{ThreadPool, ThreadPoolBuilder};

use crate::RingError;

/// Bytes of memory from which simple arithmetic uses several threads.
const GRAIN_BYTES: usize = 1 << 20;

thread_local!(static POOL: RefCell<Option<Rc<ThreadPool>>> = const { RefCell::new(None) });

/// Sets the number of threads for work that this thread starts from now on, itself included. The default is 1.
///
/// # Errors
/// [`RingError::Threads`] if the system provides no more threads.
pub fn set_threads(count: usize) -> Result<(), RingError> {
    let helpers = count.saturating_sub(1);
    let start = || ThreadPoolBuilder::new().num_threads(helpers).thread_name(|i| format!("kernel {i}")).build();
    let pool = match helpers {
        0 => None,
        _ => Some(Rc::new(start().map_err(|_| RingError::Threads { count })?)),
    };
    POOL.set(pool);
    Ok(())
}

/// Returns the number of threads for work that this thread starts, itself included.
pub fn threads() -> usize {
    POOL.with_borrow(|pool| pool.as_ref().map_or(1, |pool| pool.current_num_threads() + 1))
}

/// Does `work` on every item, on all threads of this one. Items should take about the same time, together at least some
/// 50 us.
pub fn side_by_side<T: Send>(items: Vec<T>, work: impl Fn(T) + Sync) {
    let pool = if items.len() < 2 { None } else { POOL.with_borrow(Clone::clone) };
    let Some(pool) = pool else { return items.into_iter().for_each(work) };
    let items: Vec<Mutex<Option<T>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    on_pool(&pool, items.len(), &|i| {
        let item = items[i].lock().unwrap_or_else(PoisonError::into_inner).take();
        item.into_iter().for_each(&work);
    });
}

/// Does `work` on each number below `count`, on each thread for a consecutive range. Compiled once for all types of
/// work.
fn on_pool(pool: &ThreadPool, count: usize, work: &(dyn Fn(usize) + Sync)) {
    let each = count.div_ceil(pool.current_num_threads() + 1);
    pool.in_place_scope(|scope| {
        for start in (each..count).step_by(each) {
            scope.spawn(move |_| (start..(start + each).min(count)).for_each(work));
        }
        (0..each).for_each(work);
    });
}

/// Returns the length of parts of `words` words of `bytes` bytes each, a multiple of `unit`; `words` if that is too
/// little work.
pub(crate) fn part_len(words: usize, bytes: usize, unit: usize) -> usize {
    let threads = if words.saturating_mul(bytes) < GRAIN_BYTES { 1 } else { threads() };
    words.div_ceil(threads).next_multiple_of(unit).max(unit)
}

/// Computes a_i = f(a_i) in parts.
pub(crate) fn on_parts<W: Send>(a: &mut [W], work: impl Fn(&mut [W]) + Sync) {
    let part = part_len(a.len(), size_of::<W>(), 64);
    match part >= a.len() {
        true => work(a),
        false => side_by_side(a.chunks_mut(part).collect(), work),
    }
}

/// Computes a_i = f(a_i, b_i) in parts, for slices of equal lengths.
pub(crate) fn on_parts_with<W: Send, V: Sync>(a: &mut [W], b: &[V], work: impl Fn(&mut [W], &[V]) + Sync) {
    let part = part_len(a.len(), size_of::<W>(), 64);
    match part >= a.len() {
        true => work(a, b),
        false => side_by_side(a.chunks_mut(part).zip(b.chunks(part)).collect(), |(a, b)| work(a, b)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn every_item_is_worked_on_once_whatever_the_threads() {
        for count in [1, 2, 3, 7] {
            set_threads(count).unwrap();
            assert_eq!(threads(), count);
            for items in [0, 1, 2, 6, 7, 8, 100] {
                let seen: Vec<AtomicUsize> = (0..items).map(|_| AtomicUsize::new(0)).collect();
                side_by_side((0..items).collect(), |i| {
                    seen[i].fetch_add(1, Ordering::Relaxed);
                });
                assert!(seen.iter().all(|count| count.load(Ordering::Relaxed) == 1));
            }
        }
        set_threads(1).unwrap();
    }

    #[test]
    fn a_panic_in_a_part_reaches_the_caller() {
        set_threads(2).unwrap();
        let caught = std::panic::catch_unwind(|| side_by_side(vec![0, 1, 2, 3], |i| assert!(i < 3, "part {i}")));
        assert!(caught.is_err());
        side_by_side(vec![0, 1], |_| ());
        set_threads(1).unwrap();
    }
}
