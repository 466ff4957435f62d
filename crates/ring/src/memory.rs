//! Memory of long vectors. A page from the system takes about as long as a thousand additions of words. So long vectors
//! take large pages, if the process has the allocator [`Careful`], and shorter ones take memory that freed vectors of
//! their length left. A failed allocation ends the work in an orderly way (see [`guarded`]).

pub use crate::shortage::{Careful, OutOfMemory, guarded, keep_reserve};

use crate::shortage;

/// The number of bytes from which a piece is taken from the system by itself, and given back when it is freed; in large
/// pages, if the allocator is [`Careful`].
pub const LARGE_BYTES: usize = 4 << 20;

/// Makes the system's allocator keep freed memory for the next vectors of less than [`LARGE_BYTES`], instead of giving
/// it back and asking for it again. Each of its arenas still gives back what exceeds 64 MiB at its end.
///
/// This is a setting of the process, to be made once by its owner. It does nothing if environment variables
/// (`MALLOC_...`, `GLIBC_TUNABLES`) configure the allocator. It does nothing to allocators other than the GNU C
/// library's; those keep memory by themselves.
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

/// Returns zeros. Every page of a long vector is written before it is read. A page that is read first is the system's
/// shared page of zeros, and its replacement at the first write interrupts all threads.
pub fn zeros<W: bytemuck::Zeroable + Clone>(len: usize) -> Vec<W> {
    /// A length that is at most that of a page of any system.
    const PAGE: usize = 4 << 10;
    shortage::check();
    let mut words = bytemuck::try_zeroed_vec(len).unwrap_or_else(|()| shortage::end(bytes_of::<W>(len)));
    if size_of_val(words.as_slice()) >= LARGE_BYTES {
        // Without this the compiler knows that these are zeros, and drops the writes.
        let words = std::hint::black_box(&mut words);
        words.iter_mut().step_by(PAGE / size_of::<W>()).for_each(|word| *word = W::zeroed());
    }
    words
}

/// Returns an empty vector with room for `len` words.
pub fn with_room<W>(len: usize) -> Vec<W> {
    shortage::check();
    let mut words = Vec::new();
    words.try_reserve_exact(len).unwrap_or_else(|_| shortage::end(bytes_of::<W>(len)));
    words
}

/// Makes room for `more` words; a new allocation also has room for some later ones.
pub fn make_room<W>(words: &mut Vec<W>, more: usize) {
    if words.capacity() - words.len() < more {
        shortage::check();
        let bytes = bytes_of::<W>(words.len().saturating_add(more));
        words.try_reserve(more).unwrap_or_else(|_| shortage::end(bytes));
    }
}

/// Returns a copy.
pub(crate) fn copied<W: Copy>(words: &[W]) -> Vec<W> {
    let mut copy = with_room(words.len());
    copy.extend_from_slice(words);
    copy
}

/// Returns `len` copies of a public word; zeros may cost nothing.
pub(crate) fn filled<W: bytemuck::Zeroable + Copy + PartialEq>(word: W, len: usize) -> Vec<W> {
    if word == W::zeroed() { zeros(len) } else { repeated(word, len) }
}

/// Returns `len` copies of a word, in time that does not depend on it.
pub(crate) fn repeated<W: Copy>(word: W, len: usize) -> Vec<W> {
    let mut words = with_room(len);
    words.resize(len, word);
    words
}

/// Collects an iterator of known length.
pub fn collected<W>(all: impl ExactSizeIterator<Item = W>) -> Vec<W> {
    let mut words = with_room(all.len());
    words.extend(all);
    words
}

/// Collects an iterator of known length, up to the first error.
pub(crate) fn tried<W, E>(all: impl ExactSizeIterator<Item = Result<W, E>>) -> Result<Vec<W>, E> {
    let mut words = with_room(all.len());
    for word in all {
        words.push(word?);
    }
    Ok(words)
}

fn bytes_of<W>(len: usize) -> usize {
    len.saturating_mul(size_of::<W>())
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

    #[test]
    fn vectors_are_what_was_asked_for() {
        assert_eq!(super::copied(&[3u8, 4]), [3, 4]);
        assert_eq!((super::filled(7u64, 3), super::filled(0u64, 2)), (vec![7; 3], vec![0; 2]));
        assert_eq!(super::repeated(0u64, 3), [0; 3]);
        assert_eq!(super::collected([1, 2].iter().map(|x| x + 1)), [2, 3]);
        assert_eq!(super::tried([Ok(1), Ok(2)].into_iter()), Ok::<_, ()>(vec![1, 2]));
        assert_eq!(super::tried([Ok(1), Err(5), Err(6)].into_iter()), Err(5));
        let mut words = vec![1u16];
        super::make_room(&mut words, 100);
        assert!(words.capacity() >= 101 && words == [1]);
    }

    #[test]
    fn impossible_allocations_end_the_work() {
        const MUCH: usize = 1 << 59;
        let all: [fn(); 4] = [
            || drop(super::zeros::<u64>(MUCH)),
            || drop(super::with_room::<u64>(MUCH)),
            || drop(super::filled(1u64, MUCH)),
            || super::make_room(&mut vec![0u64], MUCH),
        ];
        for each in all {
            assert!(super::guarded(each).is_err_and(|short| short.bytes >= MUCH), "taken, or another size");
        }
    }
}
