//! What all targets use: an input in parts, a bound on memory, and texts that are read again after they are written.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// An allocator that counts.
struct Counting;

static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK_BYTES: AtomicUsize = AtomicUsize::new(0);

fn grown(bytes: usize) {
    let live = LIVE_BYTES.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK_BYTES.fetch_max(live, Ordering::Relaxed);
}

// SAFETY: every call is passed on to the system's allocator; the counters do not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        grown(size);
        LIVE_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `GlobalAlloc::realloc`.
        unsafe { System.realloc(old, layout, size) }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `GlobalAlloc::dealloc`.
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the result of `read`.
///
/// # Panics
/// If at any time `read` holds more than `most` bytes of memory.
pub fn within<T>(most: usize, read: impl FnOnce() -> T) -> T {
    let before = LIVE_BYTES.load(Ordering::Relaxed);
    PEAK_BYTES.store(before, Ordering::Relaxed);
    let result = read();
    let held = PEAK_BYTES.load(Ordering::Relaxed).saturating_sub(before);
    assert!(held <= most, "{held} bytes of memory, where {most} are allowed");
    result
}

/// Reads bytes, and reads again what is written of them. `read` returns what it has read, as it is written.
///
/// # Panics
/// If the second reading fails or differs, or if one holds more than `each` bytes of memory for each byte of the input,
/// and 4 KiB.
pub fn settles<B: AsRef<[u8]>>(bytes: &[u8], each: usize, read: impl Fn(&[u8]) -> Option<B>) -> Option<B> {
    let once = within(4096 + each * bytes.len(), || read(bytes))?;
    let again = read(once.as_ref()).expect("what is written can be read");
    assert_eq!(once.as_ref(), again.as_ref());
    Some(once)
}

/// The bytes of an input, taken from the front; zeros after the end.
pub struct Parts<'i>(pub &'i [u8]);

impl<'i> Parts<'i> {
    /// Takes a byte.
    pub fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    /// Takes four bytes as a number.
    pub fn number(&mut self) -> u32 {
        self.take(4).iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte))
    }

    /// Takes bytes: `len`, or all that are left.
    pub fn take(&mut self, len: usize) -> &'i [u8] {
        let (taken, left) = self.0.split_at(len.min(self.0.len()));
        self.0 = left;
        taken
    }

    /// Takes a length of two bytes, then this number of bytes.
    pub fn piece(&mut self) -> &'i [u8] {
        let len = u16::from_le_bytes([self.byte(), self.byte()]);
        self.take(len.into())
    }
}
