//! The log of reveals: a line of JSON for the beginning and for the end of each run. The line is on the disk before the
//! run continues. It states what is revealed, to whom, when and by which program; it contains no value.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use quorate_graph::Hash;

use crate::error::SessionError;
use crate::reveals::Told;

/// An open log file, to which lines are appended.
#[derive(Debug)]
pub(crate) struct Audit {
    path: PathBuf,
    file: File,
    /// Whether the last line may be cut off because the disk was full.
    is_cut: bool,
    /// The fields of this party, which every line has.
    party: String,
}

/// The fields of a line that describe a run.
pub(crate) struct Entry<'a> {
    pub run: u64,
    /// The name and number of the branch that runs it, in a branch of a session.
    pub branch: Option<(&'a str, u32)>,
    pub program: Hash,
    pub approved: bool,
    pub reveals: &'a [Told],
}

impl Audit {
    /// Opens the file, or creates it where it does not exist.
    ///
    /// # Errors
    /// [`SessionError::Audit`].
    pub fn open(path: &Path, me: usize, protocol: &str) -> Result<Audit, SessionError> {
        let open = || {
            let mut file = OpenOptions::new().append(true).read(true).create(true).open(path)?;
            end_line(&mut file)?;
            file.sync_all()?;
            // The name of a new file must be on the disk, too.
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            File::open(folder)?.sync_all()?;
            Ok(file)
        };
        let file = open().map_err(|error: std::io::Error| refused(path, &error))?;
        let party = format!("\"party\": {me}, \"protocol\": {}, \"process\": {}", quoted(protocol), std::process::id());
        Ok(Audit { path: path.into(), file, is_cut: false, party })
    }

    /// Appends a line and waits until it is on the disk. `why` is the reason why a run ended, where there is one.
    ///
    /// # Errors
    /// [`SessionError::Audit`].
    pub fn write(&mut self, event: &str, entry: &Entry<'_>, why: Option<&str>) -> Result<(), SessionError> {
        let reveals: Vec<String> = entry.reveals.iter().map(one).collect();
        let mut line = format!(
            "{{\"time\": {}, \"event\": {}, {}, \"run\": {}, \"program\": \"{}\", \"approved\": {}, \"reveals\": [{}]",
            quoted(&utc(SystemTime::now())),
            quoted(event),
            self.party,
            entry.run,
            entry.program,
            entry.approved,
            reveals.join(", "),
        );
        if let Some((name, number)) = entry.branch {
            let _ = write!(line, ", \"branch\": {{\"name\": {}, \"number\": {}}}", quoted(name), number + 1);
        }
        if let Some(why) = why {
            let _ = write!(line, ", \"why\": {}", quoted(why));
        }
        line.push_str("}\n");
        let ended = if self.is_cut { end_line(&mut self.file) } else { Ok(()) };
        let written = ended.and_then(|()| self.file.write_all(line.as_bytes())).and_then(|()| self.file.sync_data());
        self.is_cut = written.is_err();
        written.map_err(|error| refused(&self.path, &error))
    }
}

/// Ends a line that was cut off by a crash or a full disk, so that the next line stands by itself.
fn end_line(file: &mut File) -> std::io::Result<()> {
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(0))? > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    if last == *b"\n" { Ok(()) } else { file.write_all(b"\n") }
}

fn refused(path: &Path, error: &std::io::Error) -> SessionError {
    SessionError::Audit { path: path.into(), what: error.to_string() }
}

fn one(told: &Told) -> String {
    let to = told.to.as_ref().map_or_else(|| quoted("all"), |to| format!("{to:?}"));
    let Told { what, shape, dtype, owners, own, clients, own_clients, .. } = told;
    let of_clients =
        if *clients { format!(", \"clients\": true, \"inputs_of_clients\": {own_clients}") } else { String::new() };
    format!(
        "{{\"what\": {}, \"shape\": {shape:?}, \"dtype\": {}, \"to\": {to}, \"depends_on\": {owners:?}, \
         \"inputs_of\": {own:?}{of_clients}}}",
        quoted(what),
        quoted(dtype),
    )
}

/// Returns the text as a JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\0'..='\x1f' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(letter));
            }
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// Formats a time in ISO 8601, to the millisecond. The date follows H. Hinnant, "chrono-compatible low-level date
/// algorithms", `civil_from_days`.
fn utc(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let (seconds, millis) = (since.as_secs(), since.subsec_millis());
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        let at = |seconds: u64, millis: u64| utc(UNIX_EPOCH + Duration::from_millis(seconds * 1000 + millis));
        assert_eq!(at(0, 0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(951_782_399, 999), "2000-02-28T23:59:59.999Z");
        assert_eq!(at(951_782_400, 0), "2000-02-29T00:00:00.000Z");
        assert_eq!(at(951_868_800, 5), "2000-03-01T00:00:00.005Z");
        assert_eq!(at(1_735_689_599, 0), "2024-12-31T23:59:59.000Z");
        assert_eq!(at(4_107_542_400, 0), "2100-03-01T00:00:00.000Z");
    }

    #[test]
    fn a_line_that_could_not_be_written_spoils_no_other() {
        let path = std::env::temp_dir().join(format!("quorate-audit-{}.jsonl", std::process::id()));
        let entry = Entry { run: 1, branch: None, program: Hash([0; 32]), approved: false, reveals: &[] };
        for (before, lines) in [("{}\n{\"cut o", 3), ("{}\n", 2), ("", 1)] {
            std::fs::write(&path, "").unwrap();
            let mut audit = Audit::open(&path, 0, "rss").unwrap();
            let works = std::mem::replace(&mut audit.file, File::open(&path).unwrap());
            assert!(audit.write("begun", &entry, None).is_err(), "a file that is only read");
            std::fs::write(&path, before).unwrap();
            audit.file = works;
            audit.write("begun", &entry, None).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(text.lines().count(), lines, "{text}");
            assert!(text.lines().last().unwrap().starts_with("{\"time\": "), "{text}");
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn strings_are_those_of_json() {
        assert_eq!(quoted("a \"b\" \\ \n\u{1} é"), r#""a \"b\" \\ \u000a\u0001 é""#);
    }
}
