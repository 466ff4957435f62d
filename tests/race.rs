//! Two threads that count together without a lock. The thread sanitizer has to report it.

static mut COUNT: u64 = 0;

fn count() {
    for _ in 0..1000 {
        // SAFETY: none: this is a race, and the only one that is wanted.
        unsafe { COUNT += 1 }
    }
}

fn main() {
    let other = std::thread::spawn(count);
    count();
    let _ = other.join();
}
