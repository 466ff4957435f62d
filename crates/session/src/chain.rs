//! A file of lines, each of which has the hash of the line before and a number. Several processes append to it, and it
//! may be renamed while they do.
//!
//! A line is JSON whose last fields are `"sequence"`, from 1, and `"previous"`, the SHA-256 of the line before without
//! its end, in hexadecimal digits; 64 zeros in the first line. A line that was cut off stays: the next one begins on a
//! line of its own, has its hash, and counts it. The lock of the file is held from the look at its end until the line
//! is written, so that there is one order; the line is brought to the disk after that, with those of other processes.

use std::fmt::Write as _;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use ring::digest::{SHA256, digest};

/// The time to wait for the lock. A process holds it for microseconds, unless it was suspended.
const PATIENCE: Duration = Duration::from_secs(10);
/// The first and the longest pause between two attempts to lock.
const PAUSE: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(5)];
/// How often in a row the file may be found replaced, while a line is appended.
const MOST_MOVES: usize = 100;
/// The bytes at the end of a file that are read at first, and those after which no further line with a number is looked
/// for: the file is that of an older release.
const READ: [u64; 2] = [4096, 64 << 20];

type Digest = [u8; 32];

/// A file that this process appends to.
#[derive(Debug)]
pub(crate) struct Chain {
    path: PathBuf,
    file: File,
    /// The end of the file as this process left it.
    left: Option<End>,
    /// The end of the file that this one took the place of, until it is known that this one continues it.
    before: Option<End>,
}

/// The end of a file.
#[derive(Clone, Copy, Debug)]
struct End {
    bytes: u64,
    /// The hash of the last line, and its number.
    head: Digest,
    sequence: u64,
    /// Whether the last line has no end: a crash or a full disk cut it off.
    is_cut: bool,
}

impl Chain {
    /// Opens the file, or creates it where it does not exist.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn open(path: &Path) -> io::Result<Chain> {
        Ok(Chain { path: path.into(), file: opened(path)?, left: None, before: None })
    }

    /// Appends a line and waits until it is on the disk. In a file that took the place of another one, a line of
    /// `continued` stands before it. The lines are given without their last brace.
    ///
    /// # Errors
    /// Those of the system; [`ErrorKind::TimedOut`] if another process keeps the lock.
    pub(crate) fn append(&mut self, line: &str, continued: &str) -> io::Result<()> {
        self.lock()?;
        let written = self.append_locked(line, continued);
        let unlocked = self.file.unlock();
        written?;
        unlocked?;
        self.file.sync_data()
    }

    /// Locks the file that has the path now.
    fn lock(&mut self) -> io::Result<()> {
        for _ in 0..MOST_MOVES {
            wait_for_lock(&self.file)?;
            if is_at(&self.file.metadata()?, &self.path)? {
                return Ok(());
            }
            // Who holds the lock writes to the file at its path only: this one has no further lines. Its last one may
            // be of a process that has not synced it yet.
            self.file.sync_data()?;
            let end = self.end()?;
            if end.sequence > 0 {
                self.before = Some(end);
            }
            (self.file, self.left) = (opened(&self.path)?, None);
        }
        Err(io::Error::other("it is replaced again and again"))
    }

    fn append_locked(&mut self, line: &str, continued: &str) -> io::Result<()> {
        let end = self.end()?;
        self.left = None;
        let mut text = String::from(if end.is_cut { "\n" } else { "" });
        let (mut head, mut sequence) = (end.head, end.sequence);
        if let Some(before) = self.before.filter(|_| end.bytes == 0) {
            (head, sequence) = (before.head, before.sequence);
            (head, sequence) = link(&mut text, continued, head, sequence);
        }
        (head, sequence) = link(&mut text, line, head, sequence);
        self.file.write_all(text.as_bytes())?;
        self.left = Some(End { bytes: end.bytes + text.len() as u64, head, sequence, is_cut: false });
        self.before = None;
        Ok(())
    }

    fn end(&mut self) -> io::Result<End> {
        let bytes = self.file.metadata()?.len();
        match self.left {
            Some(end) if end.bytes == bytes => Ok(end),
            _ => read_end(&mut self.file, bytes),
        }
    }
}

/// Opens a file to append to. The name of a new file is brought to the disk, too.
fn opened(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().append(true).read(true).create(true).open(path)?;
    file.sync_all()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()?;
    Ok(file)
}

/// Adds a line to a text: with the hash of the one before it, the number after that one's, and its end. Returns the
/// line's hash and number.
fn link(text: &mut String, line: &str, head: Digest, sequence: u64) -> (Digest, u64) {
    let (start, sequence) = (text.len(), sequence + 1);
    let previous: String = head.iter().map(|byte| format!("{byte:02x}")).collect();
    let _ = write!(text, "{line}, \"sequence\": {sequence}, \"previous\": \"{previous}\"}}");
    let head = hash(&text.as_bytes()[start..]);
    text.push('\n');
    (head, sequence)
}

/// Waits for the lock of a file.
fn wait_for_lock(file: &File) -> io::Result<()> {
    let (start, mut pause) = (Instant::now(), PAUSE[0]);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {
                thread::sleep(pause);
                pause = PAUSE[1].min(2 * pause);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(ErrorKind::TimedOut, "another process keeps its lock; is it suspended?"));
            }
        }
    }
}

/// Returns whether the path leads to this file.
#[cfg(unix)]
fn is_at(file: &Metadata, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    match std::fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (file.dev(), file.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// A file that is open cannot be renamed here.
#[cfg(not(unix))]
fn is_at(_: &Metadata, _: &Path) -> io::Result<bool> {
    Ok(true)
}

/// Reads the end of a file of this length.
fn read_end(file: &mut File, bytes: u64) -> io::Result<End> {
    let mut size = READ[0];
    loop {
        let start = bytes.saturating_sub(size);
        file.seek(SeekFrom::Start(start))?;
        let mut tail = vec![0; (bytes - start) as usize];
        file.read_exact(&mut tail)?;
        if let Some(end) = end_of(&tail, bytes, start == 0) {
            return Ok(end);
        }
        size *= 2;
    }
}

/// Returns the end of a file of this length, of which `tail` is known; `None` if more is needed.
fn end_of(tail: &[u8], bytes: u64, is_all: bool) -> Option<End> {
    let is_cut = tail.last().is_some_and(|last| *last != b'\n');
    let whole = tail.strip_suffix(b"\n").unwrap_or(tail);
    let mut lines: Vec<&[u8]> = whole.split(|byte| *byte == b'\n').collect();
    if tail.is_empty() || !is_all {
        lines.remove(0); // it may begin before
    }
    let Some(last) = lines.last() else {
        return is_all.then_some(End { bytes, head: [0; 32], sequence: 0, is_cut: false });
    };
    let numbered = lines.iter().rev().enumerate().find_map(|(after, line)| Some(number(line)? + after as u64));
    let sequence = match numbered {
        Some(sequence) => sequence,
        None if is_all || bytes > READ[1] && tail.len() as u64 >= READ[1] => 0,
        None => return None,
    };
    Some(End { bytes, head: hash(last), sequence, is_cut })
}

/// Returns the number of a line; `None` for one that has none. Text of users cannot look like these fields: its quotes
/// are escaped.
fn number(line: &[u8]) -> Option<u64> {
    const PREVIOUS: &[u8] = b", \"previous\": \"";
    const SEQUENCE: &[u8] = b", \"sequence\": ";
    let rest = line.strip_suffix(b"\"}")?;
    let (rest, digest) = rest.split_at_checked(rest.len().checked_sub(64)?)?;
    let is_digest = digest.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let rest = rest.strip_suffix(PREVIOUS).filter(|_| is_digest)?;
    let digits = rest.iter().rev().take_while(|digit| digit.is_ascii_digit()).count();
    let (rest, digits) = rest.split_at(rest.len() - digits);
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    rest.ends_with(SEQUENCE).then_some(number)
}

fn hash(bytes: &[u8]) -> Digest {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// An empty folder, which is removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let folder = std::env::temp_dir().join(format!("quorate-chain-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).unwrap();
            Folder(folder)
        }

        fn file(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn hex(digest: Digest) -> String {
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Checks that the lines of a file follow `head` with these numbers; `None`: a line without a number. Returns the
    /// hash of the last one.
    fn follow(path: &Path, mut head: Digest, numbers: &[Option<u64>]) -> Digest {
        let text = fs::read_to_string(path).unwrap();
        assert!(text.ends_with('\n'));
        let found: Vec<Option<u64>> = text.lines().map(|line| number(line.as_bytes())).collect();
        assert_eq!(found, numbers, "{text}");
        for line in text.lines() {
            if number(line.as_bytes()).is_some() {
                assert!(line.ends_with(&format!("\"previous\": \"{}\"}}", hex(head))), "{text}");
            }
            head = hash(line.as_bytes());
        }
        head
    }

    fn append(chain: &mut Chain, line: &str) {
        chain.append(&format!("{{\"is\": \"{line}\""), "{\"is\": \"continued\"").unwrap();
    }

    fn numbers(range: std::ops::Range<u64>) -> Vec<Option<u64>> {
        range.map(Some).collect()
    }

    #[test]
    fn lines_of_several_writers_are_one_chain() {
        let folder = Folder::new("writers");
        let path = folder.file("log");
        thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    let mut chain = Chain::open(path).unwrap();
                    (0..25).for_each(|line| append(&mut chain, &format!("{writer} {line}")));
                });
            }
        });
        follow(&path, [0; 32], &numbers(1..101));
    }

    #[test]
    fn a_line_that_was_cut_off_stays_and_is_counted() {
        for (before, then) in [
            ("", vec![Some(1)]),
            ("{}", vec![None, Some(1)]),
            ("{}\n", vec![None, Some(1)]),
            ("{}\n{\"cut o", vec![None, None, Some(1)]),
            ("\n", vec![None, Some(1)]),
        ] {
            let folder = Folder::new("cut");
            let path = folder.file("log");
            fs::write(&path, before).unwrap();
            let mut chain = Chain::open(&path).unwrap();
            append(&mut chain, "after");
            assert!(fs::read_to_string(&path).unwrap().starts_with(before));
            let first = then.iter().filter(|number| number.is_none()).count();
            let head = before.lines().next_back().map_or([0; 32], |last| hash(last.as_bytes()));
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.lines().nth(first).unwrap().contains(&hex(head)), "{text}");
            assert_eq!(text.lines().map(|line| number(line.as_bytes())).collect::<Vec<_>>(), then);
            // Cut off after lines of a chain, longer than what is read at first.
            let cut = format!("{{\"what\": \"{}", "x".repeat(10_000));
            let mut file = OpenOptions::new().append(true).open(&path).unwrap();
            file.write_all(cut.as_bytes()).unwrap();
            append(&mut chain, "later");
            append(&mut Chain::open(&path).unwrap(), "other");
            let expected = [then.clone(), vec![None, Some(3), Some(4)]].concat();
            let text = fs::read_to_string(&path).unwrap();
            assert_eq!(text.lines().map(|line| number(line.as_bytes())).collect::<Vec<_>>(), expected);
            assert!(text.lines().nth(first + 2).unwrap().contains(&hex(hash(cut.as_bytes()))));
        }
    }

    #[test]
    fn a_line_that_could_not_be_written_spoils_no_other() {
        let folder = Folder::new("refused");
        let path = folder.file("log");
        let mut chain = Chain::open(&path).unwrap();
        append(&mut chain, "one");
        let works = std::mem::replace(&mut chain.file, File::open(&path).unwrap());
        assert!(chain.append("{\"is\": 2", "{").is_err(), "a file that is only read");
        chain.file = works;
        append(&mut chain, "two");
        follow(&path, [0; 32], &numbers(1..3));
    }

    /// A process that is suspended while it holds the lock must not stop others for ever.
    #[test]
    fn a_lock_that_is_kept_is_an_error() {
        let folder = Folder::new("kept");
        let path = folder.file("log");
        let mut chain = Chain::open(&path).unwrap();
        let holder = opened(&path).unwrap();
        holder.lock().unwrap();
        thread::scope(|scope| {
            let waits = scope.spawn(|| chain.append("{\"is\": 1", "{"));
            assert_eq!(waits.join().unwrap().unwrap_err().kind(), ErrorKind::TimedOut);
        });
        holder.unlock().unwrap();
        append(&mut chain, "one");
        follow(&path, [0; 32], &numbers(1..2));
    }

    #[test]
    #[cfg(unix)]
    fn writers_of_a_file_that_is_renamed_continue_in_the_next_one() {
        let folder = Folder::new("renamed");
        let (path, aside) = (folder.file("log"), folder.file("log.1"));
        let mut writers = [(); 3].map(|()| Chain::open(&path).unwrap());
        append(&mut writers[0], "one");
        append(&mut writers[1], "two");
        fs::rename(&path, &aside).unwrap();
        let head = follow(&aside, [0; 32], &numbers(1..3));
        append(&mut writers[2], "after"); // it has written nothing yet
        append(&mut writers[0], "then");
        append(&mut writers[1], "last");
        follow(&aside, [0; 32], &numbers(1..3));
        follow(&path, head, &numbers(3..7));
        assert_eq!(fs::read_to_string(&path).unwrap().matches("continued").count(), 1);
        // The next file has its first line already.
        let (second, next) = (folder.file("log.2"), folder.file("next"));
        let head = follow(&path, head, &numbers(3..7));
        let mut text = String::new();
        link(&mut text, "{\"is\": \"rotated\"", head, 6);
        fs::write(&next, text).unwrap();
        fs::rename(&path, &second).unwrap();
        fs::rename(&next, &path).unwrap();
        append(&mut writers[1], "more");
        follow(&path, head, &numbers(7..9));
        assert!(!fs::read_to_string(&path).unwrap().contains("continued"));
    }

    /// Puts the file aside as `quorate audit rotate` does: the next one is there at once, with its first line.
    #[cfg(unix)]
    fn rotate(path: &Path, aside: &Path) {
        let mut file = opened(path).unwrap();
        file.lock().unwrap();
        let bytes = file.metadata().unwrap().len();
        let end = read_end(&mut file, bytes).unwrap();
        let (mut text, next) = (String::new(), path.with_extension("next"));
        link(&mut text, "{\"is\": \"continued\"", end.head, end.sequence);
        fs::write(&next, text).unwrap();
        fs::hard_link(path, aside).unwrap();
        fs::rename(&next, path).unwrap();
    }

    /// Writers never append to a file that was put aside, whatever happens between their steps.
    #[test]
    #[cfg(unix)]
    fn no_line_is_lost_between_files() {
        let folder = Folder::new("moving");
        let path = folder.file("log");
        append(&mut Chain::open(&path).unwrap(), "first");
        let write = &|writer: usize| {
            let mut chain = Chain::open(&path).unwrap();
            (0..60).for_each(|line| append(&mut chain, &format!("{writer} {line}")));
        };
        let mut files = Vec::new();
        thread::scope(|scope| {
            let writers: Vec<_> = (0..3).map(|writer| scope.spawn(move || write(writer))).collect();
            while writers.iter().any(|writer| !writer.is_finished()) {
                files.push(folder.file(&format!("log.{}", files.len())));
                rotate(&path, files.last().unwrap());
                thread::sleep(Duration::from_millis(2));
            }
        });
        assert!(files.len() > 1);
        files.push(path.clone());
        let (mut head, mut next, mut lines) = ([0; 32], 1, 0);
        for file in &files {
            let text = fs::read_to_string(file).unwrap();
            let count = text.lines().count() as u64;
            head = follow(file, head, &numbers(next..next + count));
            next += count;
            lines += text.lines().filter(|line| !line.contains("continued")).count();
        }
        assert_eq!(lines, 1 + 3 * 60);
    }

    #[test]
    fn text_of_users_is_no_number() {
        let digest = "0".repeat(64);
        let line =
            format!("{{\"sequence\": 1, \"is\": \"a\\\", \\\"sequence\\\": 7, \\\"previous\\\": \\\"{digest}\"}}");
        assert_eq!(number(line.as_bytes()), None);
        assert_eq!(number(format!("{{\"a\": 1, \"sequence\": 12, \"previous\": \"{digest}\"}}").as_bytes()), Some(12));
        for odd in ["{}", "", "{\"a\": 1, \"sequence\": , \"previous\": \"\"}", "\"}"] {
            assert_eq!(number(odd.as_bytes()), None, "{odd}");
        }
    }

    /// The time that a line takes with the chain and without, where the disk takes none.
    #[test]
    #[ignore = "measures"]
    fn the_cost_of_a_line() {
        let folder = PathBuf::from("/dev/shm");
        let (plain, path) = (folder.join("quorate-plain"), folder.join("quorate-chain"));
        let line = format!("{{\"is\": \"{}\"", "x".repeat(600));
        let median = |write: &mut dyn FnMut()| {
            let mut took: Vec<Duration> = (0..5000)
                .map(|_| {
                    let start = Instant::now();
                    write();
                    start.elapsed()
                })
                .collect();
            took.sort();
            took[took.len() / 2]
        };
        let mut file = opened(&plain).unwrap();
        let without = median(&mut || {
            file.write_all(line.as_bytes()).unwrap();
            file.sync_data().unwrap();
        });
        let mut chain = Chain::open(&path).unwrap();
        let alone = median(&mut || chain.append(&line, "{").unwrap());
        let mut other = Chain::open(&path).unwrap();
        let mut turns = 0;
        let beside = median(&mut || {
            turns += 1;
            let chain = if turns % 2 == 0 { &mut chain } else { &mut other };
            chain.append(&line, "{").unwrap();
        });
        println!("a plain line {without:?}, of a chain {alone:?}, of a chain beside another process {beside:?}");
        let _ = (fs::remove_file(plain), fs::remove_file(path));
    }
}
