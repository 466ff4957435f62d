//! The machine in a row: processor, cores and memory, but not its name.

/// The properties of a machine on which the figures depend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Model of the processor, as reported by the system.
    pub processor: String,
    /// Logical processors that this process may use.
    pub cores: usize,
    /// Bytes of memory; 0 where the system does not report them.
    pub memory_bytes: u64,
}

impl Machine {
    /// Returns this machine's properties.
    pub fn here() -> Machine {
        let text = |path| std::fs::read_to_string(path).unwrap_or_default();
        Machine {
            processor: field(&text("/proc/cpuinfo"), "model name").unwrap_or(std::env::consts::ARCH).to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: field(&text("/proc/meminfo"), "MemTotal").map_or(0, kibibytes),
        }
    }
}

/// Returns the processor seconds that the threads of this process have used so far; `None` where the system does not
/// report them. On a busy machine they distinguish two programs where wall time does not.
pub(crate) fn processor_seconds() -> Option<f64> {
    let threads = std::fs::read_dir("/proc/self/task").ok()?;
    let of_thread = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(path.join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    let nanoseconds = threads.flatten().map(|thread| of_thread(thread.path())).sum::<Option<u64>>()?;
    Some(nanoseconds as f64 * 1e-9)
}

/// Returns the value of the first line `key : value`.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.split_once(':').filter(|(k, _)| k.trim() == key).map(|(_, value)| value.trim()))
}

fn kibibytes(text: &str) -> u64 {
    text.split_whitespace().next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "model\t\t: 2\nmodel name\t: Some CPU @ 2 GHz\nMemTotal:  24 kB\n";
        assert_eq!(field(text, "model name"), Some("Some CPU @ 2 GHz"));
        assert_eq!(field(text, "MemTotal").map(kibibytes), Some(24 * 1024));
        assert_eq!(field(text, "Mem"), None);
    }

    #[test]
    fn this_machine_is_described() {
        let here = Machine::here();
        assert!(here.cores > 0 && !here.processor.is_empty());
    }
}
