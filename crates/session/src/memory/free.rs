//! The memory that a party can still allocate, as the system reports it. It limits a run where users set no limit.
//!
//! On Linux it is the minimum of these amounts:
//!
//! - the available memory of the machine, swap included;
//! - what each control group above the process leaves;
//! - what the process's own limits on address space and data leave (`ulimit -v`, `ulimit -d`).
//!
//! On other systems nothing is known, and there is no limit.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use quorate_engine::{Error, Result};

/// A reading is valid for this many times the time that it took, so that readings take at most a hundredth of the time.
const HOLDS_FOR: u32 = 100;
/// One part in this many of the free memory is left to what no plan counts: allocators, messages under way, other
/// programs.
const SPARE: u64 = 8;
/// The significant binary digits of the number of bytes that a party sends the others.
const DIGITS: u32 = 5;
/// The bytes of that number in a note.
const NOTE_BYTES: usize = 8;

static READING: Mutex<Option<(Instant, Duration, u64)>> = Mutex::new(None);

/// Returns the bytes that one party can still allocate, where `parties` of them share this process; `u64::MAX` where
/// this is not known.
pub(crate) fn share_of_process(parties: usize) -> u64 {
    let mut reading = READING.lock().unwrap_or_else(PoisonError::into_inner);
    let bytes = match *reading {
        Some((read, took, bytes)) if read.elapsed() < HOLDS_FOR * took => bytes,
        _ => {
            let started = Instant::now();
            let bytes = free_at(Path::new("/")).unwrap_or(u64::MAX);
            *reading = Some((started, started.elapsed(), bytes));
            bytes
        }
    };
    share(bytes, parties)
}

fn share(bytes: u64, parties: usize) -> u64 {
    if bytes == u64::MAX { bytes } else { rounded((bytes - bytes / SPARE) / parties.max(1) as u64) }
}

/// Returns the number with all but its first [`DIGITS`] binary digits set to 0.
fn rounded(bytes: u64) -> u64 {
    let surplus = (u64::BITS - bytes.leading_zeros()).saturating_sub(DIGITS);
    bytes >> surplus << surplus
}

/// Returns the note that a party sends at the start of a run: its share of the free memory, followed by `rest`.
pub(crate) fn with_share(share: u64, mut rest: Vec<u8>) -> Vec<u8> {
    rest.splice(..0, share.to_le_bytes());
    rest
}

/// Splits the parties' notes into their shares of free memory and the rest of each note.
///
/// # Errors
/// [`Error::Malformed`].
pub(crate) fn shares(notes: &[Vec<u8>]) -> Result<(Vec<u64>, Vec<Vec<u8>>)> {
    let read = |(peer, note): (usize, &Vec<u8>)| match note.split_first_chunk::<NOTE_BYTES>() {
        Some((share, rest)) => Ok((u64::from_le_bytes(*share), rest.to_vec())),
        None => Err(Error::Malformed { peer, what: "note of a wrong length" }),
    };
    notes.iter().enumerate().map(read).collect::<Result<Vec<_>>>().map(|both| both.into_iter().unzip())
}

/// Returns the minimum over all limits of what they leave, for a system whose files are below `root`.
fn free_at(root: &Path) -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    let machine = read("proc/meminfo").and_then(|text| of_machine(&text));
    let limits = read("proc/self/limits").unwrap_or_default();
    let own = |limit: &str, used: &str| {
        let limit = soft_limit(&limits, limit)?;
        Some(limit.saturating_sub(kilobytes(&read("proc/self/status")?, used)?))
    };
    let groups = read("proc/self/cgroup").and_then(|text| of_groups(&root.join("sys/fs/cgroup"), &text));
    let all = [machine, own("Max address space", "VmSize:"), own("Max data size", "VmData:"), groups];
    all.into_iter().flatten().min()
}

fn of_machine(meminfo: &str) -> Option<u64> {
    Some(kilobytes(meminfo, "MemAvailable:")?.saturating_add(kilobytes(meminfo, "SwapFree:").unwrap_or(0)))
}

/// Returns the bytes in a line `name  number kB`.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the first number in a line of limits; `None` where it says `unlimited`.
fn soft_limit(limits: &str, name: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns what the control groups of the process leave, of either version. The use of a group counts against the
/// limits of all groups above it.
fn of_groups(root: &Path, groups: &str) -> Option<u64> {
    let left = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?.trim_start_matches('/'));
        match controllers {
            "" => above(root, path).filter_map(|group| left_by(&group, VERSION_2)).min(),
            _ if controllers.split(',').any(|name| name == "memory") => {
                above(&root.join("memory"), path).filter_map(|group| left_by(&group, VERSION_1)).min()
            }
            _ => None,
        }
    };
    groups.lines().filter_map(left).min()
}

/// Returns a group and all groups above it. In a container its path may not exist: its files are then at the root.
fn above(root: &Path, path: &str) -> impl Iterator<Item = PathBuf> {
    let path = root.join(path);
    let depth = path.strip_prefix(root).map_or(0, |inside| inside.components().count());
    let groups: Vec<PathBuf> = path.ancestors().take(depth + 1).map(Path::to_path_buf).collect();
    groups.into_iter()
}

/// The files of a group: its limit, its use, and the line of its statistics that counts droppable file pages.
type GroupFiles = [&'static str; 3];
const VERSION_2: GroupFiles = ["memory.max", "memory.current", "inactive_file "];
const VERSION_1: GroupFiles = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "];

fn left_by(group: &Path, [limit, used, files]: GroupFiles) -> Option<u64> {
    let number = |file: &str| std::fs::read_to_string(group.join(file)).ok()?.trim().parse::<u64>().ok();
    let limit = number(limit)?;
    let stat = std::fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let dropped = stat.lines().find_map(|line| line.strip_prefix(files)?.trim().parse().ok()).unwrap_or(0);
    Some(limit.saturating_sub(number(used)?.saturating_sub(dropped)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a system's files, below a folder of the test's own.
    fn system(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("quorate-free-{name}-{}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    const MEMINFO: (&str, &str) =
        ("proc/meminfo", "MemTotal:  64000 kB\nMemFree:  100 kB\nMemAvailable:  32000 kB\nSwapFree:  1000 kB\n");
    const STATUS: (&str, &str) = ("proc/self/status", "Name:\tpython\nVmSize:\t    9000 kB\nVmData:\t    2000 kB\n");

    fn free(name: &str, more: &[(&str, &str)]) -> Option<u64> {
        let root = system(name, &[&[MEMINFO, STATUS], more].concat());
        let free = free_at(&root);
        std::fs::remove_dir_all(root).unwrap();
        free
    }

    fn limits(space: &str, data: &str) -> String {
        format!(
            "Limit  Soft Limit  Hard Limit  Units\nMax data size  {data}  unlimited  bytes\n\
             Max address space  {space}  unlimited  bytes\n"
        )
    }

    #[test]
    fn the_tightest_limit_counts() {
        assert_eq!(free("machine", &[]), Some(33_000 << 10));
        let none = limits("unlimited", "unlimited");
        assert_eq!(free("unlimited", &[("proc/self/limits", &none)]), Some(33_000 << 10));
        let space = limits(&(20_000 << 10).to_string(), "unlimited");
        assert_eq!(free("space", &[("proc/self/limits", &space)]), Some(11_000 << 10));
        let both = limits(&(20_000 << 10).to_string(), &(5000 << 10).to_string());
        assert_eq!(free("data", &[("proc/self/limits", &both)]), Some(3000 << 10));
        let used_up = limits("1000", "unlimited");
        assert_eq!(free("used-up", &[("proc/self/limits", &used_up)]), Some(0));
        assert_eq!(free_at(Path::new("/nowhere/at/all")), None);
    }

    #[test]
    fn control_groups_count_with_all_above_them() {
        let two = ("proc/self/cgroup", "0::/a/b\n");
        let (open, stat) =
            (("sys/fs/cgroup/a/b/memory.max", "max\n"), ("sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 600\n"));
        let above = [("sys/fs/cgroup/a/memory.max", "5000\n"), ("sys/fs/cgroup/a/memory.current", "3000\n")];
        assert_eq!(free("groups", &[two, open, above[0], above[1], stat]), Some(2600));
        // In a container the path is the host's, and the files are at the root.
        let inside = [("sys/fs/cgroup/memory.max", "9000\n"), ("sys/fs/cgroup/memory.current", "1000\n")];
        assert_eq!(free("container", &[two, inside[0], inside[1]]), Some(8000));
        let one = ("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/x\n0::/\n");
        let first = [
            ("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "7000\n"),
            ("sys/fs/cgroup/memory/x/memory.usage_in_bytes", "4000\n"),
            ("sys/fs/cgroup/memory/x/memory.stat", "total_inactive_file 1000\n"),
        ];
        assert_eq!(free("first", &[one, first[0], first[1], first[2]]), Some(4000));
    }

    #[test]
    fn parties_of_a_process_share_what_it_has() {
        assert_eq!([share(u64::MAX, 3), share(0, 3), share(8 * 31, 7)], [u64::MAX, 0, 31]);
        assert_eq!(share(8 << 30, 1), 7 << 30);
        for bytes in [1, 31, 32, 33, 1000, 123_456_789, u64::MAX / 2] {
            assert!(rounded(bytes) <= bytes && rounded(bytes) >= bytes - bytes / 16, "{bytes}");
        }
    }

    #[test]
    fn notes_of_parties_are_read() {
        let notes = [with_share(5, vec![1, 2]), with_share(u64::MAX, vec![])];
        assert_eq!(shares(&notes).unwrap(), (vec![5, u64::MAX], vec![vec![1, 2], vec![]]));
        assert_eq!(
            shares(&[vec![0; 8], vec![0; 7]]),
            Err(Error::Malformed { peer: 1, what: "note of a wrong length" })
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn memory_of_this_machine_is_found() {
        let (all, half) = (share_of_process(1), share_of_process(2));
        assert!(all < u64::MAX && all > 1 << 20 && half <= all);
    }
}
