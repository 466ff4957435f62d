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

/// Checks that the lines of a file follow `head` with these numbers; `None`: a line without a number. Returns the hash
/// of the last one.
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
    let line = format!("{{\"sequence\": 1, \"is\": \"a\\\", \\\"sequence\\\": 7, \\\"previous\\\": \\\"{digest}\"}}");
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
