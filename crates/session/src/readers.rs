//! The readers of texts and of peers' bytes, for fuzz targets.

use std::path::Path;

use quorate_engine::Error;

use crate::config::Config;
use crate::error::SessionError;
use crate::memory::free;
use crate::options::Sharings;
use crate::party::store::Note;
use crate::pool::notes;

/// Reads and checks the text of a `party.toml`, and derives the configuration of the links from it.
///
/// # Errors
/// Those of [`Config::read`].
pub fn config(text: &str) -> Result<Config, SessionError> {
    let config = Config::parse(Path::new("party.toml"), text)?;
    let _ = (config.tcp(""), config.limits.patience());
    Ok(config)
}

/// Reads a text that names the sharings which a plan may use, and returns it as it is shown.
///
/// # Errors
/// [`SessionError::Option`].
pub fn sharings(text: &str) -> Result<String, SessionError> {
    text.parse::<Sharings>().map(|sharings| sharings.to_string())
}

/// Reads a peer's note at the start of a run of a program of `nodes` nodes. Returns the ranges of arrays that the peer
/// has dropped, by the numbers of their first and last nodes.
///
/// # Errors
/// [`Error::Malformed`].
pub fn note(bytes: &[u8], nodes: usize) -> Result<Vec<(u32, u32)>, Error> {
    let (_, rest) = free::shares(&[bytes.to_vec()])?;
    let note = Note::read(1, &rest[0], nodes)?;
    Ok(note.dropped.iter().map(|(first, last)| (first.0, last.0)).collect())
}

/// Reads what a peer tells of its pool in a setup, or before a run in which the parties have as many lots as fit into
/// the bytes. Returns the number of lots, and of places in all of them; `None` where the peer has no pool.
///
/// # Errors
/// [`Error::Malformed`].
pub fn pool(bytes: &[u8]) -> Result<Option<(usize, u64)>, Error> {
    let _ = notes::read_run(1, bytes, bytes.len() / 8);
    let places = |has: &notes::Has| has.stretches.iter().map(|s| u64::from(s.end - s.start)).sum::<u64>();
    Ok(match notes::read_told(1, bytes)? {
        notes::Told::Live(offer) => Some((offer.lots.len(), offer.lots.values().map(places).sum())),
        _ => None,
    })
}
