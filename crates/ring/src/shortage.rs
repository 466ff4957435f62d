//! Failed allocations: they unwind as an error to code that can end the work in an orderly way, and never abort.
//!
//! Vectors are allocated by code that can fail ([`memory`](crate::memory)). If it does, the work ends by
//! [`OutOfMemory`], which [`guarded`] catches; no panic hook runs, and nothing is printed. Small pieces (names, lists,
//! messages) are allocated by code that cannot fail. For these, [`Careful`] keeps a reserve, and releases it when the
//! system has no memory left. From then on the next allocation of a vector ends the work, unless there is enough memory
//! for a reserve again.

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::memory::LARGE_BYTES;

/// Bytes of the reserve: address space, which has no memory behind it until it is used.
const RESERVE_BYTES: usize = 64 << 20;
/// Allocations of more bytes than this must be able to fail.
const SMALL_BYTES: usize = RESERVE_BYTES / 2;

static RESERVE: Reserve = Reserve::new();

struct Reserve {
    piece: AtomicPtr<u8>,
    /// Whether a reserve was ever allocated. If so, and `piece` is empty, the reserve was released.
    was_kept: AtomicBool,
}

/// A failed allocation of a piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The size of the piece; 0 if it was small.
    pub bytes: usize,
}

/// Ends the work because a piece of memory could not be allocated.
pub(crate) fn end(bytes: usize) -> ! {
    resume_unwind(Box::new(OutOfMemory { bytes }))
}

/// Ends the work if an allocation of a small piece failed and there still is not enough memory for a reserve.
pub(crate) fn check() {
    if RESERVE.is_short() && !RESERVE.keep() {
        end(0);
    }
}

/// Does work that may run out of memory. If it does, the values that it worked on may be in any state and must not be
/// used.
///
/// # Errors
/// [`OutOfMemory`].
///
/// # Panics
/// If `work` panics for another reason.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, OutOfMemory> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast::<OutOfMemory>() {
        Ok(short) => *short,
        Err(other) => resume_unwind(other),
    })
}

/// Allocates a reserve for small pieces of memory, unless it is there. Returns whether there is one. For processes
/// whose allocator is [`Careful`].
pub fn keep_reserve() -> bool {
    RESERVE.keep()
}

impl Reserve {
    const LAYOUT: Layout = Layout::new::<[u8; RESERVE_BYTES]>();

    const fn new() -> Reserve {
        Reserve { piece: AtomicPtr::new(std::ptr::null_mut()), was_kept: AtomicBool::new(false) }
    }

    fn keep(&self) -> bool {
        if self.piece.load(Ordering::Acquire).is_null() {
            // SAFETY: the layout is not empty.
            let piece = unsafe { System.alloc(Self::LAYOUT) };
            if piece.is_null() {
                return false;
            }
            let kept = self.piece.compare_exchange(std::ptr::null_mut(), piece, Ordering::AcqRel, Ordering::Acquire);
            if kept.is_err() {
                // SAFETY: taken above with the same layout, and no other code has it.
                unsafe { System.dealloc(piece, Self::LAYOUT) };
            }
        }
        self.was_kept.store(true, Ordering::Release);
        true
    }

    /// Returns whether the reserve was released.
    fn is_short(&self) -> bool {
        self.was_kept.load(Ordering::Acquire) && self.piece.load(Ordering::Acquire).is_null()
    }

    /// Returns whether to ask the system again for this many bytes: because the reserve was released before, or is
    /// released now.
    fn give_up_for(&self, bytes: usize) -> bool {
        if bytes > SMALL_BYTES {
            return false;
        }
        let piece = self.piece.swap(std::ptr::null_mut(), Ordering::AcqRel);
        if piece.is_null() {
            return self.was_kept.load(Ordering::Acquire);
        }
        // SAFETY: taken by `keep` with the same layout; swapped out, so that no other code frees it.
        unsafe { System.dealloc(piece, Self::LAYOUT) };
        true
    }
}

/// The system's allocator, with a reserve for small pieces, and large pages for pieces of [`LARGE_BYTES`] and more.
#[derive(Clone, Copy, Debug, Default)]
pub struct Careful;

// SAFETY: every call goes to the system's allocator with its own arguments, once or twice, and its answer is passed on.
unsafe impl GlobalAlloc for Careful {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`.
        taken(layout.size(), || unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        taken(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `realloc`; after a failure the old piece is still there, as it was.
        taken(size, || unsafe { System.realloc(old, layout, size) })
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(piece, layout) }
    }
}

/// Returns the system's memory for this many bytes, asked for again if the reserve was released; in large pages if it
/// is long.
fn taken(bytes: usize, ask: impl Fn() -> *mut u8) -> *mut u8 {
    let first = ask();
    let piece = if first.is_null() && RESERVE.give_up_for(bytes) { ask() } else { first };
    #[cfg(target_os = "linux")]
    if bytes >= LARGE_BYTES && !piece.is_null() {
        advise_large_pages(piece, bytes);
    }
    piece
}

/// Requests large pages for memory that is written from now on; a system without them does nothing.
#[cfg(target_os = "linux")]
fn advise_large_pages(piece: *mut u8, bytes: usize) {
    /// A multiple of the page sizes of all systems.
    const PAGES: usize = 64 << 10;
    let start = (piece as usize).next_multiple_of(PAGES);
    let inside = (piece as usize + bytes) / PAGES * PAGES - start;
    // SAFETY: the pages lie within a piece that is not in use yet; how they are backed changes, not what they hold.
    unsafe { libc::madvise(piece.wrapping_add(start - piece as usize).cast(), inside, libc::MADV_HUGEPAGE) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_out_is_an_error_and_other_panics_stay_panics() {
        assert_eq!(guarded(|| 5), Ok(5));
        assert_eq!(guarded(|| -> u32 { end(7) }), Err(OutOfMemory { bytes: 7 }));
        let other = catch_unwind(|| guarded(|| resume_unwind(Box::new("another"))).map(|()| 0));
        assert_eq!(other.err().and_then(|payload| payload.downcast_ref::<&str>().copied()), Some("another"));
    }

    #[test]
    fn the_reserve_is_given_up_once_for_what_is_small_and_can_be_taken_again() {
        let reserve = Reserve::new();
        assert!(!reserve.give_up_for(100), "there is none");
        assert!(reserve.keep() && reserve.keep());
        assert!(!reserve.give_up_for(RESERVE_BYTES) && !reserve.is_short());
        assert!(reserve.give_up_for(100) && reserve.is_short());
        assert!(reserve.give_up_for(100), "who comes second asks again, too");
        assert!(reserve.keep());
        assert!(!reserve.is_short() && !reserve.piece.load(Ordering::Relaxed).is_null());
        assert!(reserve.give_up_for(100));
    }

    #[test]
    fn long_pieces_are_what_was_asked_for() {
        let layout = Layout::from_size_align(LARGE_BYTES + 4097, 16).unwrap();
        // SAFETY: one layout, used as the contracts of the calls say.
        unsafe {
            let piece = Careful.alloc_zeroed(layout);
            assert!(std::slice::from_raw_parts(piece, layout.size()).iter().all(|&byte| byte == 0));
            piece.add(layout.size() - 1).write(7);
            let longer = Careful.realloc(piece, layout, 3 * LARGE_BYTES);
            assert_eq!(longer.add(layout.size() - 1).read(), 7);
            Careful.dealloc(longer, Layout::from_size_align(3 * LARGE_BYTES, 16).unwrap());
        }
    }

    #[test]
    fn the_allocator_passes_on_what_the_system_gives() {
        let layout = Layout::from_size_align(100, 16).unwrap();
        // SAFETY: one layout, used as the contracts of the calls say.
        unsafe {
            let piece = Careful.alloc_zeroed(layout);
            assert!(!piece.is_null() && std::slice::from_raw_parts(piece, 100).iter().all(|&byte| byte == 0));
            let longer = Careful.realloc(piece, layout, 1000);
            assert!(!longer.is_null());
            Careful.dealloc(longer, Layout::from_size_align(1000, 16).unwrap());
            let other = Careful.alloc(layout);
            assert!(!other.is_null());
            Careful.dealloc(other, layout);
        }
    }
}
