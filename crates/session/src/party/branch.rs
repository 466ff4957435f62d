//! The start of a branch at a party of a deployment: the party takes another seat, with what it holds at that moment.
//!
//! The parties agree on a branch in the handshake of a run that computes nothing. It compares the branch's name with
//! the program, and settles the run before. Each party proposes a number that no earlier branch has at it; the largest
//! counts. Runs of a branch have the numbers of that side, so whatever is drawn under the keys that branches have in
//! common is named by the branch.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use quorate_engine::{BRANCHES, Error, Greeting, Party, Result, Trace};
use quorate_gadgets::Family;
use quorate_graph::NodeId;
use quorate_net::Net;
use quorate_ring::memory::guarded;

use super::bell::Bell;
use super::place::Place;
use super::store::Store;
use super::tracks::Seat;
use super::worker::State;
use crate::error::SessionError;

const SIDE_BYTES: usize = 4;

/// A branch that is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    pub name: Arc<str>,
    /// The first number that no branch has at this party.
    pub side: u32,
}

/// A branch on which all parties have agreed, at one of them.
pub(crate) struct Agreed {
    pub side: u32,
    /// The nodes whose values exist in it.
    pub holds: BTreeSet<NodeId>,
    pub sprout: Box<dyn Sprout>,
}

/// What a party has for a branch.
pub(crate) trait Sprout: Send {
    /// Returns the bell that the party rings when it has ended a request.
    fn bell(&self) -> Arc<Bell>;

    /// Starts a thread that serves the requests of the branch over these links. It first finds that all parties have
    /// come so far, and sends the result.
    ///
    /// # Errors
    /// [`SessionError::WorkerGone`] where the system has no more threads.
    fn grow(self: Box<Self>, net: Box<dyn Net>) -> std::result::Result<(Seat, Opened), SessionError>;
}

/// The way on which a party says that its branch is open, or why not.
pub(crate) type Opened = Receiver<std::result::Result<(), SessionError>>;

struct Cutting<B: Family> {
    backend: B,
    store: Store<B>,
    place: Place,
    side: u32,
}

/// Returns the note of a party that proposes a number for a branch: the number, followed by `rest`.
pub(super) fn with_side(side: u32, mut rest: Vec<u8>) -> Vec<u8> {
    rest.splice(..0, side.to_le_bytes());
    rest
}

/// Returns the number of the branch that the parties' notes propose, and the rest of each note.
///
/// # Errors
/// [`Error::Malformed`].
pub(super) fn agreed_side(notes: &[Vec<u8>]) -> Result<(u32, Vec<Vec<u8>>)> {
    let read = |(peer, note): (usize, &Vec<u8>)| match note.split_first_chunk::<SIDE_BYTES>() {
        Some((side, rest)) => Ok((u32::from_le_bytes(*side), rest.to_vec())),
        None => Err(Error::Malformed { peer, what: "note of a wrong length" }),
    };
    let all: Vec<(u32, Vec<u8>)> = notes.iter().enumerate().map(read).collect::<Result<_>>()?;
    let (sides, rest): (Vec<u32>, Vec<Vec<u8>>) = all.into_iter().unzip();
    Ok((sides.into_iter().max().unwrap_or(0), rest))
}

impl<B: Family> State<B> {
    /// Returns what this party has for a branch of this number; all runs so far are settled.
    ///
    /// # Errors
    /// [`SessionError::NoBranches`] in a family that has none; [`SessionError::MostBranches`].
    pub(super) fn branch(&self, side: u32) -> std::result::Result<Agreed, SessionError> {
        if side as usize >= BRANCHES {
            return Err(SessionError::MostBranches);
        }
        let backend = self.backend.branch().ok_or(SessionError::NoBranches)?;
        let store = self.store.settled();
        let mut place = Place { bell: Arc::default(), ..self.place.beside() };
        // Branches are for many requests at once, which keep the cores busy.
        place.options.threads.get_or_insert(1);
        let holds = store.held().collect();
        Ok(Agreed { side, holds, sprout: Box::new(Cutting { backend, store, place, side }) })
    }
}

impl<B: Family> Sprout for Cutting<B>
where
    Store<B>: Send,
{
    fn bell(&self) -> Arc<Bell> {
        self.place.bell.clone()
    }

    fn grow(self: Box<Self>, net: Box<dyn Net>) -> std::result::Result<(Seat, Opened), SessionError> {
        let Cutting { backend, store, place, side } = *self;
        let (me, interrupt, (commands, inbox), (ready, is_ready)) =
            (net.me(), net.interrupt_handle(), channel(), channel());
        let serve = move || {
            let open = guarded(|| open(net, side, &place));
            match open.map_err(SessionError::from).and_then(|open| open) {
                Ok(party) => {
                    let _ = ready.send(Ok(()));
                    let mut worker = place.worker(party, backend, None, store);
                    worker.state.is_branch = true;
                    worker.attend(&inbox);
                }
                Err(error) => drop(ready.send(Err(error))),
            }
        };
        let name = format!("party {me}, branch {side}");
        let thread = std::thread::Builder::new().name(name).spawn(serve).map_err(|_| SessionError::WorkerGone)?;
        Ok((Seat { commands, interrupt, thread: Arc::new(Mutex::new(Some(thread))) }, is_ready))
    }
}

/// Returns the party of a branch with these links, once all parties have come so far.
fn open(net: Box<dyn Net>, side: u32, place: &Place) -> std::result::Result<Party, SessionError> {
    let mut party = Party::on_branch(net, side as usize)?;
    place.prepare(&mut party)?;
    let program = blake3::derive_key("quorate/session/open branch", &side.to_le_bytes());
    let mut run = party.begin(&Greeting { program, ..Greeting::default() }, &Trace::default, &|_| String::new())?;
    run.confirm()?;
    run.finish();
    Ok(party)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_proposal_counts() {
        let notes = [with_side(3, vec![1]), with_side(7, vec![]), with_side(0, vec![2, 3])];
        assert_eq!(agreed_side(&notes).unwrap(), (7, vec![vec![1], vec![], vec![2, 3]]));
        let cut = Error::Malformed { peer: 1, what: "note of a wrong length" };
        assert_eq!(agreed_side(&[vec![0; 4], vec![0; 3]]), Err(cut));
    }
}
