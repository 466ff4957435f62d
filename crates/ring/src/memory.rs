//! Memory of long vectors. A page that the system has to give takes about as long as a thousand additions of words, so
//! that long vectors take large pages, and shorter ones the memory that others of their length have left.

/// Bytes from which on a vector is taken from the system by itself, in large pages, and given back when it is freed.
pub const LARGE_BYTES: usize = 4 << 20;

/// Has the system's allocator keep freed memory for the next vectors of less than [`LARGE_BYTES`], as far as 64 MiB of it
/// lie together, instead of giving it back and asking for it again. This is a setting of the process: for its owner to
/// make, once, and nothing to the GNU C library's rivals, which keep memory by themselves.
pub fn keep_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (setting, bytes) in [(libc::M_MMAP_THRESHOLD, LARGE_BYTES), (libc::M_TRIM_THRESHOLD, 64 << 20)] {
        // SAFETY: `mallopt` takes numbers only, takes the allocator's lock, and leaves what is allocated as it is.
        unsafe { libc::mallopt(setting, bytes as libc::c_int) };
    }
}

/// Zeros, in large pages where they are many.
pub(crate) fn zeros<W: bytemuck::Zeroable + Clone>(len: usize) -> Vec<W> {
    let mut words = bytemuck::zeroed_vec(len);
    if size_of_val(words.as_slice()) >= LARGE_BYTES {
        advise_large_pages(&mut words);
    }
    words
}

/// Asks for large pages where nothing has been written yet; a system without them does nothing.
fn advise_large_pages<W>(words: &mut [W]) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let bytes = words.as_mut_ptr_range();
        let (start, end) = ((bytes.start as usize).next_multiple_of(PAGE), bytes.end as usize / PAGE * PAGE);
        let inside = bytes.start.cast::<u8>().wrapping_add(start - bytes.start as usize);
        // SAFETY: the pages lie within `words`, which nobody else refers to; how they are backed changes, not what they hold.
        unsafe { libc::madvise(inside.cast(), end.saturating_sub(start), libc::MADV_HUGEPAGE) };
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn long_vectors_are_zeros() {
        super::keep_freed();
        for len in [0, 1, super::LARGE_BYTES / 8 - 1, super::LARGE_BYTES / 8, 3 * super::LARGE_BYTES / 8 + 5] {
            let mut words = super::zeros::<u64>(len);
            assert!(words.len() == len && words.iter().all(|&word| word == 0));
            words.fill(u64::MAX);
            drop(words);
            assert!(super::zeros::<u64>(len).iter().all(|&word| word == 0));
        }
    }
}
