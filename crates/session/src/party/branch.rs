//! The start of a branch at a party of a deployment: the party takes another seat, with what it holds at that moment.
//!
//! The parties agree on a branch in the handshake of a run that computes nothing. It compares the branch's name with
//! the program, and settles the run before. Each party proposes a number that no earlier branch has at it; the largest
//! counts. Runs of a branch have numbers of their own, by that number, so whatever is drawn under the keys that
//! branches have in common is named by the branch.

use quorate_engine::{BRANCHES, Greeting, Party, Trace};
use quorate_gadgets::Family;
use quorate_net::Net;
use quorate_ring::memory::guarded;

use super::job::Agreed;
use super::part::Ends;
use super::place::Place;
use super::worker::{State, Worker};
use crate::error::SessionError;

impl<B: Family> State<B> {
    /// Returns what this party has for a branch of this number; all runs so far are settled.
    ///
    /// # Errors
    /// [`SessionError::NoBranches`] in a family that has none; [`SessionError::MostBranches`].
    pub(super) fn branch(&self, side: u32) -> Result<Agreed, SessionError> {
        if side as usize >= BRANCHES {
            return Err(SessionError::MostBranches);
        }
        if self.purse.is_some() {
            return Err(SessionError::PoolBranch);
        }
        let backend = self.backend.branch().ok_or(SessionError::NoBranches)?;
        let store = self.store.settled();
        let holds = store.held().collect();
        let mut place = self.place.beside();
        // Branches are for many requests at once, which keep the cores busy.
        place.options.threads.get_or_insert(1);
        let serve = move |ends: Ends| {
            let Ends { net, commands, bell, ready } = ends;
            place.bell = bell;
            match guarded(|| open(net, side, &place)).map_err(SessionError::from).and_then(|open| open) {
                Ok(party) => {
                    let _ = ready.send(Ok(()));
                    let mut worker = Worker::new((place, party), backend, None, store);
                    worker.state.is_branch = true;
                    worker.attend(&commands);
                }
                Err(error) => drop(ready.send(Err(error))),
            }
        };
        Ok(Agreed { side, holds, serve: Box::new(serve) })
    }
}

/// Returns the party of a branch with these links, once all parties have connected.
fn open(net: Box<dyn Net>, side: u32, place: &Place) -> Result<Party, SessionError> {
    let mut party = Party::on_branch(net, side as usize)?;
    place.prepare(&mut party)?;
    let program = blake3::derive_key("quorate/session/open branch", &side.to_le_bytes());
    let mut run = party.begin(&Greeting { program, ..Greeting::default() }, &Trace::default, &|_| String::new())?;
    run.confirm()?;
    run.finish();
    Ok(party)
}
