//! Memory of long vectors. A page that the system has to give takes about as long as a thousand additions of words, so
//! that long vectors take large pages, and shorter ones the memory that others of their length have left.

/// Bytes from which on a vector is taken from the system by itself, in large pages, and given back when it is freed.
pub const LARGE_BYTES: usize = 4 << 20;

/// Has the system's allocator keep freed memory for the next vectors of less than [`LARGE_BYTES`] instead of giving it back
/// and asking for it again; each of its arenas still gives back what is more than 64 MiB at its end.
///
/// This is a setting of the process, for its owner to make, once. It does nothing where variables of the environment
/// (`MALLOC_...`, `GLIBC_TUNABLES`) say how the allocator shall be, and nothing to the GNU C library's rivals, which keep
/// memory by themselves.
pub fn keep_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let tunes = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            let (name, value) = (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned());
            name.starts_with("MALLOC_") || (name == "GLIBC_TUNABLES" && value.contains("malloc"))
        };
        if std::env::vars_os().any(tunes) {
            return;
        }
        for (setting, bytes) in [(libc::M_MMAP_THRESHOLD, LARGE_BYTES), (libc::M_TRIM_THRESHOLD, 64 << 20)] {
            // SAFETY: `mallopt` takes numbers only, takes the allocator's lock, and leaves what is allocated as it is.
            unsafe { libc::mallopt(setting, bytes as libc::c_int) };
        }
    }
}

/// Zeros, in large pages where they are many.
pub(crate) fn zeros<W: bytemuck::Zeroable + Clone>(len: usize) -> Vec<W> {
    #[allow(unused_mut, reason = "only Linux is advised")]
    let mut words = bytemuck::zeroed_vec(len);
    #[cfg(target_os = "linux")]
    if size_of_val(words.as_slice()) >= LARGE_BYTES {
        advise_large_pages(&mut words);
    }
    words
}

/// Asks for large pages where nothing has been written yet; a system without them does nothing.
#[cfg(target_os = "linux")]
fn advise_large_pages<W>(words: &mut [W]) {
    /// A multiple of every kind of system's pages.
    const PAGES: usize = 64 << 10;
    let bytes = words.as_mut_ptr_range();
    let (start, end) = ((bytes.start as usize).next_multiple_of(PAGES), bytes.end as usize / PAGES * PAGES);
    let inside = bytes.start.cast::<u8>().wrapping_add(start - bytes.start as usize);
    // SAFETY: the pages lie within `words`, which nobody else refers to; how they are backed changes, not what they hold.
    unsafe { libc::madvise(inside.cast(), end.saturating_sub(start), libc::MADV_HUGEPAGE) };
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
