//! Sessions that record one of their parties, and sessions in which that party computes again, alone, against the
//! record. Only under the feature `replay`, which no wheel has. All coins grow from the seed of the options.

use quorate_engine::testing::{Played, Record};
use quorate_net::Net;

use crate::connect::LocalLinks;
use crate::error::SessionError;
use crate::session::{LocalOptions, Session};

/// The record of a party in a local session.
#[derive(Clone)]
pub struct Recording {
    record: Record,
    options: LocalOptions,
    party: usize,
}

impl Recording {
    /// Returns the number of frames that the party received, and their bytes.
    pub fn frames(&self) -> (usize, usize) {
        self.record.frames()
    }
}

impl Session {
    /// Opens a local session that records a party. All runs must be the same in the replay. The options need a seed.
    ///
    /// # Errors
    /// Those of [`Session::local`].
    pub fn recorded(options: LocalOptions, party: usize) -> Result<(Session, Recording), SessionError> {
        let record = Record::default();
        let links = |net: Box<dyn Net>| if net.me() == party { record.listening(net) } else { net };
        let nets = LocalLinks::new(options.parties, None).mesh().into_iter().map(links).collect();
        let session = Session::local_over(options.clone(), nets)?;
        Ok((session, Recording { record, options, party }))
    }

    /// Opens a session of a recorded party alone, with another number of threads. With `hashes`, everything that it
    /// sends is compared with the record.
    ///
    /// # Errors
    /// Those of [`Session::local`].
    pub fn replayed(recording: &Recording, threads: usize, hashes: bool) -> Result<(Session, Played), SessionError> {
        let Recording { record, options, party } = recording;
        let mut options = options.clone();
        options.options.threads = Some(threads);
        let (net, played) = record.playing(*party, options.parties, hashes);
        Ok((Session::local_over(options, vec![net])?, played))
    }
}
