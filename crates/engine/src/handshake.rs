//! The start of a run: the parties agree on its number and on the program before they send anything that depends on an
//! input.
//!
//! Each party proposes its next run number and the hash of the program that it is about to run. The run gets the
//! largest number, and no number is ever used twice, even after a failed run. If the programs differ, the parties
//! exchange the prefix hashes of their nodes. Then each party sends every peer whose program differs its description of
//! the first differing node. A description holds shapes, dtypes and a line, and nothing that a party keeps to itself.

use crate::error::{Error, Mismatch, Misuse, Result};
use crate::scheduler::Core;
use crate::wire::{self, FrameType};

/// A party's announcement of what it is about to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Greeting {
    /// Hash of the program so far (the last prefix hash).
    pub program: [u8; 32],
    /// Hash of the request: which values are revealed, and to whom.
    pub request: [u8; 32],
    /// Choices that must be the same at all parties, as `name=value; name=value`. At most [`Greeting::MAX_TERMS`]
    /// bytes.
    pub terms: String,
    /// Other information for the peers, passed on unchanged. At most [`Greeting::MAX_NOTE`] bytes.
    pub note: Vec<u8>,
}

impl Greeting {
    /// Longest note in bytes: a greeting is one frame.
    pub const MAX_NOTE: usize = quorate_net::MAX_FRAME - wire::HEADER_BYTES - HEAD_BYTES - Greeting::MAX_TERMS;
    /// Longest terms in bytes.
    pub const MAX_TERMS: usize = 1024;

    /// Writes the greeting for a peer.
    pub(crate) fn write(&self, frame: &mut Vec<u8>) {
        frame.extend_from_slice(&self.program);
        frame.extend_from_slice(&self.request);
        frame.extend_from_slice(&(self.terms.len() as u16).to_le_bytes());
        frame.extend_from_slice(self.terms.as_bytes());
        frame.extend_from_slice(&self.note);
    }
}

/// The agreement of the parties: the run's number, and every party's note (including this party's).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// The run's number; no attempt of any party had it before.
    pub run: u32,
    /// The parties' notes, by party.
    pub notes: Vec<Vec<u8>>,
}

/// Bytes of a greeting before its terms and its note: two hashes, and the length of the terms.
const HEAD_BYTES: usize = 66;

/// A greeting as a peer sent it.
pub(crate) struct Greeted<'b> {
    pub program: &'b [u8],
    pub request: &'b [u8],
    pub terms: &'b [u8],
    pub note: &'b [u8],
}

impl<'b> Greeted<'b> {
    pub fn read(body: &'b [u8]) -> Option<Self> {
        let (head, rest) = body.split_at_checked(HEAD_BYTES)?;
        let (terms, note) = rest.split_at_checked(usize::from(head[64]) | usize::from(head[65]) << 8)?;
        (terms.len() <= Greeting::MAX_TERMS).then_some(Greeted {
            program: &head[..32],
            request: &head[32..64],
            terms,
            note,
        })
    }
}

/// Short prefix hashes of a program's newest nodes, from number `first` on. An earlier handshake has found that the
/// programs are equal up to there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The number of nodes before them.
    pub first: usize,
    /// One hash for each node.
    pub hashes: Vec<u64>,
}

impl Trace {
    /// Writes the hashes for a peer, as far as there is room.
    pub(crate) fn write(&self, frame: &mut Vec<u8>) {
        frame.extend_from_slice(&(self.first as u64).to_le_bytes());
        let room = (quorate_net::MAX_FRAME - frame.len()) / 8;
        self.hashes.iter().take(room).for_each(|hash| frame.extend_from_slice(&hash.to_le_bytes()));
    }

    pub(crate) fn read(body: &[u8]) -> Option<Trace> {
        let (words, rest) = body.as_chunks::<8>();
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        let first = usize::try_from(words.next()?).ok()?;
        rest.is_empty().then(|| Trace { first, hashes: words.collect() })
    }

    /// Returns the hash after a node, if this trace has it.
    fn at(&self, node: usize) -> Option<u64> {
        self.hashes.get(node.checked_sub(self.first)?).copied()
    }

    /// Returns the number of nodes. A peer may claim to have any number of nodes before its hashes.
    fn end(&self) -> usize {
        self.first.saturating_add(self.hashes.len())
    }

    /// Returns the node at which the programs part: the first that differs or, where no common node differs, the place
    /// where one of the programs ends.
    pub(crate) fn parting(&self, other: &Trace) -> usize {
        self.first_difference(other).unwrap_or(self.end().min(other.end()))
    }

    /// Returns the first node that both traces have and that differs.
    fn first_difference(&self, other: &Trace) -> Option<usize> {
        let from = self.first.max(other.first);
        let common = from..self.end();
        let differs = |node: &usize| matches!((self.at(*node), other.at(*node)), (Some(a), Some(b)) if a != b);
        common.into_iter().find(differs)
    }
}

/// Exchanges greetings. `trace` gives short prefix hashes of all nodes, `describe` a node's description.
pub(crate) fn agree(
    core: &Core,
    candidate: u32,
    greeting: &Greeting,
    trace: &dyn Fn() -> Trace,
    describe: &dyn Fn(usize) -> String,
) -> Result<Agreement> {
    if greeting.note.len() > Greeting::MAX_NOTE {
        return Err(Error::Misuse { what: Misuse::Other { what: "the note to the peers is longer than 1 MiB" } });
    }
    if greeting.terms.len() > Greeting::MAX_TERMS {
        return Err(Error::Misuse { what: Misuse::Other { what: "the terms of a run are longer than 1 KiB" } });
    }
    let mut frame = wire::frame(FrameType::Start, candidate);
    greeting.write(&mut frame);
    broadcast(core, &frame)?;
    let mut run = candidate;
    let mut notes = vec![Vec::new(); core.parties];
    notes[core.me] = greeting.note.clone();
    let mut others = Vec::new();
    let (mut other_request, mut other_terms) = (None, None);
    for peer in core.peers() {
        let (theirs, body) = next(core, peer, FrameType::Start)?;
        let greeted = Greeted::read(&body).ok_or(Error::Malformed { peer, what: "greeting too short" })?;
        run = run.max(theirs);
        if greeted.program != greeting.program {
            others.push(peer);
        } else if greeted.request != greeting.request {
            other_request.get_or_insert(peer);
        } else if greeted.terms != greeting.terms.as_bytes() {
            other_terms.get_or_insert_with(|| other_choice(peer, greeted.terms, &greeting.terms));
        }
        notes[peer] = greeted.note.to_vec();
    }
    if !others.is_empty() {
        return Err(first_difference(core, candidate, &others, (&trace(), describe)).unwrap_or_else(|error| error));
    }
    if let Some(peer) = other_request {
        return Err(Error::Mismatch(Mismatch::Request { peer, here: "".into() }));
    }
    if let Some(mismatch) = other_terms {
        return Err(Error::Mismatch(mismatch));
    }
    let mismatch = core.attempts.borrow().mismatch();
    mismatch.map_or(Ok(Agreement { run, notes }), |abort| Err(core.abort_error(abort)))
}

/// Returns the terms that differ. Terms whose name only one party has follow from another choice, such as the protocol;
/// they are listed only if nothing else differs.
pub(crate) fn other_choice(peer: usize, theirs: &[u8], ours: &str) -> Mismatch {
    let theirs = cleaned(theirs);
    let names = |terms: &str| terms.split("; ").map(|term| name_of(term).to_owned()).collect::<Vec<_>>();
    let both = [names(ours), names(&theirs)];
    let only_in = |one: &str, other: &str| {
        let known: Vec<&str> = other.split("; ").collect();
        let differing = one.split("; ").filter(|term| !known.contains(term));
        let has_both = |term: &&str| both.iter().all(|names| names.iter().any(|name| name == name_of(term)));
        let (shared, single): (Vec<&str>, Vec<&str>) = differing.partition(has_both);
        let shown: String = if shared.is_empty() { single } else { shared }.join(", ").chars().take(SHOWN).collect();
        shown.into()
    };
    Mismatch::Options { peer, ours: only_in(ours, &theirs), theirs: only_in(&theirs, ours) }
}

fn name_of(term: &str) -> &str {
    term.split_once('=').map_or(term, |(name, _)| name)
}

/// The longest text of a peer that is shown, in characters; and in bytes, the longest description that a party sends.
const SHOWN: usize = 300;
const SAID: usize = 4 * SHOWN;

/// Cuts and cleans a text from a peer before it is shown.
pub(crate) fn presentable(bytes: &[u8]) -> String {
    cleaned(&bytes[..bytes.len().min(SAID)]).chars().take(SHOWN).collect()
}

/// Removes control characters, which could control a terminal.
fn cleaned(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().filter(|c| !c.is_control()).collect()
}

/// Exchanges traces, which all parties do if some program differs. Then sends each peer whose program differs this
/// party's node at the first difference. Returns an error that names the first such peer.
fn first_difference(
    core: &Core,
    candidate: u32,
    others: &[usize],
    (trace, describe): (&Trace, &dyn Fn(usize) -> String),
) -> Result<Error> {
    let mut frame = wire::frame(FrameType::Trace, candidate);
    trace.write(&mut frame);
    broadcast(core, &frame)?;
    let mut parted = Vec::new();
    for &peer in others {
        let (_, body) = next(core, peer, FrameType::Trace)?;
        let theirs = Trace::read(&body).ok_or(Error::Malformed { peer, what: "trace of a wrong length" })?;
        let node = trace.first_difference(&theirs);
        let place = trace.parting(&theirs);
        let here = trace.at(place).map_or(String::new(), |_| describe(place));
        let mut frame = wire::frame(FrameType::Node, candidate);
        frame.extend_from_slice(&here.as_bytes()[..here.len().min(SAID)]);
        core.send_frame(peer, frame)?;
        parted.push((peer, node, here));
    }
    let Some((peer, node, here)) = parted.into_iter().next() else { return Err(Error::bug("no program differs")) };
    let there = presentable(&next(core, peer, FrameType::Node)?.1).into();
    Ok(Error::Mismatch(Mismatch::Program { peer, node, here: here.into(), there }))
}

fn broadcast(core: &Core, frame: &[u8]) -> Result<()> {
    core.peers().try_for_each(|peer| core.send_frame(peer, frame.to_vec()))
}

fn next(core: &Core, peer: usize, kind: FrameType) -> Result<(u32, Vec<u8>)> {
    loop {
        let message = core.attempts.borrow_mut().read(peer);
        match message {
            Some(greeted) if greeted.kind == kind => {
                core.table.patience.heard(peer);
                return Ok((greeted.number, greeted.body));
            }
            Some(_) => return Err(Error::Malformed { peer, what: "handshake message of another kind" }),
            None => {}
        }
        let gone = |&p: &usize| core.has_left(p) && (p == peer || core.attempts.borrow().lacks(p));
        if let Some(peer) = core.peers().find(gone) {
            return Err(Error::Mismatch(Mismatch::Left { peer }));
        }
        core.pump(&|awaited| awaited == peer)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A peer chooses the first number, so the number of nodes may overflow.
    #[test]
    fn a_trace_that_begins_at_the_last_number_is_compared() {
        let mut body = u64::MAX.to_le_bytes().to_vec();
        body.extend_from_slice(&[7; 16]);
        let theirs = Trace::read(&body).unwrap();
        let ours = Trace { first: 2, hashes: vec![5, 6] };
        assert_eq!((ours.parting(&theirs), theirs.parting(&ours)), (4, 4));
        assert_eq!(ours.parting(&Trace { first: 0, hashes: vec![1, 2, 5, 7] }), 3);
    }
}
