//! The time for which a thread had a core.

#[cfg(not(unix))]
use std::cell::Cell;

/// Returns the seconds for which this thread had a core, counted from an arbitrary start: subtract two readings. Time
/// that others use the machine's cores does not count. Returns wall-clock seconds where the system does not report a
/// thread's time.
pub fn own_seconds() -> f64 {
    #[cfg(unix)]
    {
        let own = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        own.tv_sec as f64 + own.tv_nsec as f64 * 1e-9
    }
    #[cfg(not(unix))]
    {
        thread_local! {
            static START: Cell<std::time::Instant> = Cell::new(std::time::Instant::now());
        }
        START.with(|start| start.get().elapsed().as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::own_seconds;

    #[test]
    #[cfg(unix)]
    fn sleeping_takes_no_time_of_ones_own() {
        let before = own_seconds();
        std::thread::sleep(std::time::Duration::from_millis(60));
        assert!(own_seconds() - before < 0.03);
    }

    #[test]
    fn computing_takes_time() {
        let before = own_seconds();
        let sum: u64 = (0..20_000_000).map(std::hint::black_box).sum();
        assert!(sum > 0 && own_seconds() - before > 1e-4);
    }
}
