//! The log of reveals: a line of JSON for the beginning and for the end of each run. The line is on the disk before the
//! run continues. It states what is revealed, to whom, when and by which program; it contains no value. Each line has
//! the hash of the one before (see `chain`).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use quorate_graph::Hash;

use crate::chain::Chain;
use crate::error::SessionError;
use crate::reveals::Told;

/// An open log file, to which lines are appended.
#[derive(Debug)]
pub(crate) struct Audit {
    path: PathBuf,
    chain: Chain,
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
        let chain = Chain::open(path).map_err(|error| refused(path, &error))?;
        let party = format!("\"party\": {me}, \"protocol\": {}, \"process\": {}", quoted(protocol), std::process::id());
        Ok(Audit { path: path.into(), chain, party })
    }

    /// Appends a line and waits until it is on the disk. `why` is the reason why a run ended, where there is one.
    ///
    /// # Errors
    /// [`SessionError::Audit`].
    pub fn write(&mut self, event: &str, entry: &Entry<'_>, why: Option<&str>) -> Result<(), SessionError> {
        let reveals: Vec<String> = entry.reveals.iter().map(one).collect();
        let start = |event| {
            let time = quoted(&utc(SystemTime::now()));
            format!("{{\"time\": {time}, \"event\": {}, {}", quoted(event), self.party)
        };
        let mut line = format!(
            "{}, \"run\": {}, \"program\": \"{}\", \"approved\": {}, \"reveals\": [{}]",
            start(event),
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
        let continued = start("continued");
        self.chain.append(&line, &continued).map_err(|error| refused(&self.path, &error))
    }
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
    fn every_line_is_json_with_its_number_and_the_hash_of_the_line_before() {
        let path = std::env::temp_dir().join(format!("quorate-audit-{}.jsonl", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let mut audit = Audit::open(&path, 0, "rss").unwrap();
        let entry = Entry { run: 1, branch: Some(("a", 0)), program: Hash([0; 32]), approved: false, reveals: &[] };
        audit.write("begun", &entry, None).unwrap();
        audit.write("stopped", &entry, Some("why")).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let [one, two] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        let zeros = "0".repeat(64);
        assert!(one.starts_with("{\"time\": ") && one.contains("\"number\": 1}, \"sequence\": 1, "), "{one}");
        assert!(one.ends_with(&format!("\"previous\": \"{zeros}\"}}")), "{one}");
        assert!(
            two.contains("\"why\": \"why\", \"sequence\": 2, \"previous\": \"")
                && !two.ends_with(&format!("{zeros}\"}}")),
            "{two}"
        );
    }

    #[test]
    fn strings_are_those_of_json() {
        assert_eq!(quoted("a \"b\" \\ \n\u{1} é"), r#""a \"b\" \\ \u000a\u0001 é""#);
    }
}
