//! The values that a party keeps from run to run. All parties keep the same values.
//!
//! A value is kept while its array lives at some party, or while an array that is not computed yet depends on it.
//! Arrays die at different times at different parties (garbage collectors differ). So each party tells the others in
//! the handshake of the next run, and a value is dropped once all parties have released it.
//!
//! A run may end well at one party and badly at another (an interrupt, at the last moment). So what a run computed is
//! only *pending* until the next handshake. There each party names the last run for which it was *prepared*, that is,
//! had all that it needs of the run. Runs for which all parties were prepared are committed; all others count as if
//! they had not happened.
//!
//! A party shows no result before it has heard that all parties are prepared. So if a run is dropped, no party has
//! shown anything of it. And whatever a party has shown is committed everywhere, with the randomness with which it was
//! shown. The parties then compare what they hold; a disagreement is an error, never a hang.
//!
//! A party that cheats could deny that it was prepared, after it has seen results, so that others forget what they
//! computed and compute it again from other inputs. So each party remembers the last run that all confirmed to it.
//!
//! The parties of a local session need no handshake for this: see [`shared`](super::shared).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use quorate_engine::{Error, Mismatch, Result};
use quorate_gadgets::Computes;
use quorate_graph::{Graph, NodeId, Op};

use crate::work::data::OwnInput;
use crate::work::order::Places;
use crate::work::value::{Known, Value};

/// The largest number of ranges of arrays that a party can release in one handshake; more wait for the next.
const DROPS_PER_RUN: usize = 50_000;
const NOTE_HEAD_BYTES: usize = 4 + 8 + 8;
const DENIED: &str = "a party denies that it confirmed the last run";

pub(crate) struct Store<S: Computes> {
    /// Values of committed runs.
    pub values: Arc<Known<S>>,
    /// This party's inputs that have not been used by a committed run.
    pub inputs: Arc<BTreeMap<NodeId, Arc<OwnInput>>>,
    pending: Option<Pending<S>>,
    /// The last run for which this party was prepared and that may count.
    prepared: u32,
    /// The last run for which this party has heard from all parties that they were prepared.
    confirmed: u32,
    /// The user's arrays that at least one party still holds.
    alive: Arc<BTreeSet<NodeId>>,
    /// The number of the program's arrays that were added to `alive`, and their hash.
    seen: usize,
    arrays_hash: blake3::Hasher,
    /// The parties that released each array, as a bit per party.
    dropped_by: BTreeMap<NodeId, u64>,
    own_drops: OwnDrops,
    parties: usize,
}

/// The state after a run for which this party was prepared; it takes effect if the run counts.
pub(crate) struct Pending<S: Computes> {
    run: u32,
    computed: Known<S>,
    after: Kept,
    /// The number of nodes of the program when it ran; the run does not affect inputs built since.
    nodes: usize,
}

/// The nodes whose values and inputs exist after a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    pub values: BTreeSet<NodeId>,
    pub inputs: BTreeSet<NodeId>,
}

/// Arrays that this party released, until all peers are known to have been told.
#[derive(Default)]
struct OwnDrops {
    waiting: Vec<NodeId>,
    /// Ranges with the run in which they were sent; 0 for runs that failed.
    sent: Vec<(u32, Vec<Range>)>,
}

/// All arrays from the first to the last.
type Range = (NodeId, NodeId);

/// The nodes that users hold or held as arrays, in the order in which they were built. Those that all parties of this
/// process have taken over are forgotten.
#[derive(Clone, Default)]
pub(crate) struct Arrays {
    first: usize,
    ids: Vec<NodeId>,
}

impl Arrays {
    pub fn push(&mut self, id: NodeId) {
        self.ids.push(id);
    }

    /// Removes `id` if it is the newest array.
    pub fn take_back(&mut self, id: NodeId) {
        if self.ids.last() == Some(&id) {
            self.ids.pop();
        }
    }

    /// Returns the number of all arrays so far, the forgotten ones included.
    pub fn len(&self) -> usize {
        self.first + self.ids.len()
    }

    /// Returns all arrays but the first `seen`.
    pub fn since(&self, seen: usize) -> &[NodeId] {
        &self.ids[seen.saturating_sub(self.first).min(self.ids.len())..]
    }

    /// Returns whether arrays from the `len`-th on are forgotten.
    pub fn has_forgotten(&self, len: usize) -> bool {
        len < self.first
    }

    /// Forgets the arrays before the `len`-th, which all parties of this process have taken over.
    pub fn forget(&mut self, len: usize) {
        let gone = len.saturating_sub(self.first).min(self.ids.len());
        self.ids.drain(..gone);
        self.first += gone;
    }
}

/// A party's report about itself in the handshake.
pub(crate) struct Note {
    prepared: u32,
    /// Hashes of the values that it holds: without and with its pending run.
    committed: u64,
    with_pending: u64,
    pub(crate) dropped: Vec<Range>,
}

impl<S: Computes> Store<S> {
    pub fn new(parties: usize) -> Self {
        Store {
            values: Arc::default(),
            inputs: Arc::default(),
            pending: None,
            prepared: 0,
            confirmed: 0,
            alive: Arc::default(),
            seen: 0,
            arrays_hash: blake3::Hasher::new_derive_key("quorate/session/arrays"),
            dropped_by: BTreeMap::new(),
            own_drops: OwnDrops::default(),
            parties,
        }
    }

    /// Returns whether a value exists, as far as this party knows.
    pub fn has(&self, id: NodeId) -> bool {
        self.values.contains_key(&id) || self.pending.as_ref().is_some_and(|p| p.computed.contains_key(&id))
    }

    /// Returns the nodes whose values exist, as far as this party knows.
    pub fn held(&self) -> impl Iterator<Item = NodeId> {
        self.values.keys().chain(self.pending.iter().flat_map(|pending| pending.computed.keys())).copied()
    }

    /// Returns the values that exist, as far as this party knows, with their nodes.
    pub fn known(&self) -> impl Iterator<Item = (&NodeId, &Arc<Value<S>>)> {
        self.values.iter().chain(self.pending.iter().flat_map(|pending| &pending.computed))
    }

    /// Takes over what the session gathered since the last run: new arrays, inputs and released arrays. Returns the
    /// hash of the program's arrays.
    pub fn take_over(
        &mut self,
        arrays: &Arrays,
        inputs: BTreeMap<NodeId, Arc<OwnInput>>,
        dropped: Vec<NodeId>,
    ) -> [u8; 32] {
        let fresh = arrays.since(self.seen);
        if !fresh.is_empty() {
            Arc::make_mut(&mut self.alive).extend(fresh);
        }
        for &id in fresh {
            self.arrays_hash.update(&id.0.to_le_bytes());
        }
        self.seen = self.seen.max(arrays.len());
        if !inputs.is_empty() {
            Arc::make_mut(&mut self.inputs).extend(inputs);
        }
        self.own_drops.waiting.extend(dropped);
        self.arrays_hash()
    }

    /// Returns the hash of the program's arrays.
    pub fn arrays_hash(&self) -> [u8; 32] {
        self.arrays_hash.finalize().into()
    }

    /// Returns what is settled: all but the pending run and what peers are to be told.
    pub fn settled(&self) -> Self {
        Store {
            values: self.values.clone(),
            inputs: self.inputs.clone(),
            pending: None,
            prepared: 0,
            confirmed: 0,
            alive: self.alive.clone(),
            seen: self.seen,
            arrays_hash: self.arrays_hash.clone(),
            dropped_by: BTreeMap::new(),
            own_drops: OwnDrops::default(),
            parties: self.parties,
        }
    }

    /// Drops whatever belongs to nodes from the `nodes`-th on.
    pub fn cut(&mut self, nodes: usize) {
        let is_before = |id: &NodeId| id.index() < nodes;
        if self.values.keys().next_back().is_some_and(|last| !is_before(last)) {
            Arc::make_mut(&mut self.values).retain(|id, _| is_before(id));
        }
        if self.alive.last().is_some_and(|last| !is_before(last)) {
            Arc::make_mut(&mut self.alive).retain(is_before);
        }
    }

    /// Counts these nodes as arrays of the user's.
    pub fn hold(&mut self, ids: impl Iterator<Item = NodeId>) {
        let more: Vec<NodeId> = ids.filter(|id| !self.alive.contains(id)).collect();
        if !more.is_empty() {
            Arc::make_mut(&mut self.alive).extend(more);
        }
    }

    /// Records that all parties have released these arrays.
    pub fn release(&mut self, ids: &[NodeId]) {
        if !ids.is_empty() {
            let alive = Arc::make_mut(&mut self.alive);
            ids.iter().for_each(|id| {
                alive.remove(id);
            });
        }
    }

    /// Returns what the run left for which this party was prepared last.
    pub fn take_pending(&mut self) -> Option<Pending<S>> {
        self.pending.take()
    }

    /// Returns the note that this party sends to the others in the handshake.
    pub fn note(&mut self) -> Vec<u8> {
        let with_pending: u64 = match &self.pending {
            Some(pending) => hash_of(self.after(pending).iter()),
            None => hash_of(self.values.keys()),
        };
        let mut note = Vec::new();
        note.extend_from_slice(&self.prepared.to_le_bytes());
        note.extend_from_slice(&hash_of(self.values.keys()).to_le_bytes());
        note.extend_from_slice(&with_pending.to_le_bytes());
        for (first, last) in self.own_drops.send(&self.alive) {
            note.extend_from_slice(&first.0.to_le_bytes());
            note.extend_from_slice(&last.0.to_le_bytes());
        }
        note
    }

    /// Returns the nodes whose values exist after a pending run.
    fn after(&self, pending: &Pending<S>) -> Vec<NodeId> {
        let all: BTreeSet<NodeId> = self.values.keys().chain(pending.computed.keys()).copied().collect();
        all.into_iter().filter(|id| pending.after.values.contains(id)).collect()
    }

    /// Commits or drops the last run, and records which arrays the parties released. All parties do this in the same
    /// way.
    ///
    /// # Errors
    /// [`Error::Malformed`]; [`Error::Cheating`] where a peer denies a run that it confirmed; [`Mismatch::Request`]
    /// where a peer holds other values. Nothing changes then.
    pub fn settle(&mut self, me: usize, run: u32, notes: &[Vec<u8>], nodes: usize) -> Result<()> {
        let notes: Vec<Note> =
            notes.iter().enumerate().map(|(p, note)| Note::read(p, note, nodes)).collect::<Result<_>>()?;
        let agreed = notes.iter().map(|note| note.prepared).min().unwrap_or(0);
        if agreed < self.confirmed {
            return Err(Error::Cheating { check: DENIED });
        }
        let holds = |note: &Note| if note.prepared <= agreed { note.with_pending } else { note.committed };
        if let Some(peer) = notes.iter().position(|note| holds(note) != holds(&notes[me])) {
            return Err(Error::Mismatch(Mismatch::Request { peer, here: "".into() }));
        }
        match self.pending.take() {
            Some(pending) if pending.run <= agreed => self.commit(pending),
            _ => {}
        }
        self.prepared = agreed;
        self.own_drops.acknowledged(agreed, run);
        for (party, note) in notes.iter().enumerate() {
            self.note_dropped(party, &note.dropped);
        }
        Ok(())
    }

    /// Takes over what a run computed, and keeps what it left.
    pub fn commit(&mut self, pending: Pending<S>) {
        let Pending { computed, after, nodes, .. } = pending;
        self.add(computed);
        self.retain(&after, nodes);
    }

    /// Takes over what a run computed.
    pub fn add(&mut self, computed: Known<S>) {
        Arc::make_mut(&mut self.values).extend(computed);
    }

    /// Keeps these values, and these inputs among the first `nodes` of the program.
    pub fn retain(&mut self, after: &Kept, nodes: usize) {
        Arc::make_mut(&mut self.values).retain(|id, _| after.values.contains(id));
        Arc::make_mut(&mut self.inputs).retain(|id, _| id.index() >= nodes || after.inputs.contains(id));
    }

    fn note_dropped(&mut self, party: usize, dropped: &[Range]) {
        // In order, and without the part that an earlier range has: a peer's ranges may overlap.
        let mut ranges = dropped.to_vec();
        ranges.sort_unstable();
        let mut from = NodeId(0);
        for (first, last) in ranges {
            let first = first.max(from);
            if first > last {
                continue;
            }
            from = NodeId(last.0.saturating_add(1));
            let arrays: Vec<NodeId> = self.alive.range(first..=last).copied().collect();
            for id in arrays {
                let by = self.dropped_by.entry(id).or_default();
                *by |= 1 << party;
                if by.count_ones() as usize == self.parties {
                    self.dropped_by.remove(&id);
                    Arc::make_mut(&mut self.alive).remove(&id);
                }
            }
        }
    }

    /// Returns what to keep after a run of `running`.
    pub fn kept(&self, graph: &Graph, running: &[NodeId]) -> Kept {
        let running = Places(running);
        kept(graph, &self.alive, &|id: NodeId| self.values.contains_key(&id) || running.of(id).is_some())
    }

    /// Returns what a run of `running` would keep if it came now and all parties released the same arrays. It counts
    /// the program's `arrays` that are not taken over yet, and `dropped`, which no peer has been told of.
    pub fn would_keep(&self, graph: &Graph, arrays: &Arrays, dropped: &[NodeId], running: &BTreeSet<NodeId>) -> Kept {
        let mut alive = BTreeSet::clone(&self.alive);
        alive.extend(arrays.since(self.seen));
        for id in dropped.iter().chain(&self.own_drops.waiting) {
            alive.remove(id);
        }
        for &(first, last) in self.own_drops.sent.iter().flat_map(|(_, ranges)| ranges) {
            let mut later = alive.split_off(&first);
            alive.extend(later.split_off(&NodeId(last.0 + 1)));
        }
        kept(graph, &alive, &|id: NodeId| self.has(id) || running.contains(&id))
    }

    /// Returns the nodes that may be needed from now on, whether the pending run counts or not. These are arrays,
    /// values, and what it takes to compute the arrays that have no value.
    pub fn needs(&self, graph: &Graph) -> BTreeSet<NodeId> {
        let mut needs = BTreeSet::clone(&self.alive);
        needs.extend(self.held());
        let before = |id: NodeId| self.values.contains_key(&id);
        let stays = |id: &NodeId| self.pending.as_ref().is_none_or(|pending| pending.after.values.contains(id));
        let after = |id: NodeId| self.has(id) && stays(&id);
        let waiting = |done: &dyn Fn(NodeId) -> bool| -> Vec<NodeId> {
            self.alive.iter().copied().filter(|&id| !done(id)).collect()
        };
        needs.extend(graph.needed(&waiting(&before), &before));
        needs.extend(graph.needed(&waiting(&after), &after));
        needs
    }

    /// Returns what to keep now.
    pub fn keeps(&self, graph: &Graph) -> Kept {
        kept(graph, &self.alive, &|id| self.values.contains_key(&id))
    }

    /// Records a run for which this party is prepared, before the party confirms it. The next handshake decides whether
    /// the run counts.
    pub fn prepared(&mut self, run: u32, computed: Known<S>, after: Kept, nodes: usize) {
        self.prepared = run;
        self.pending = Some(Pending { run, computed, after, nodes });
    }

    /// Records that all parties have said to this one that they are prepared for a run. It counts from now on.
    pub fn confirmed(&mut self, run: u32) {
        self.confirmed = run;
    }
}

/// Returns what is kept while the arrays `alive` live: their values, and what those that are not `done` need. That
/// includes what a proof of their ranges would be about, and existing proofs.
fn kept(graph: &Graph, alive: &BTreeSet<NodeId>, done: &dyn Fn(NodeId) -> bool) -> Kept {
    // What is read in parts is read again.
    let done = &|id: NodeId| !graph.node(id).is_streamed() && done(id);
    let about: Vec<NodeId> = alive.iter().flat_map(|&id| graph.rests_on(id)).copied().collect();
    let proofs = about.iter().filter_map(|&id| graph.proof_of(id)).filter(|&proof| done(proof));
    let alive: BTreeSet<NodeId> = alive.iter().copied().chain(proofs).chain(about.iter().copied()).collect();
    let waiting: Vec<NodeId> = alive.iter().copied().filter(|&id| !done(id)).collect();
    let needed = graph.needed(&waiting, done);
    let operands = needed.iter().flat_map(|&id| graph.node(id).inputs.iter().copied()).filter(|&id| done(id));
    let values = alive.iter().copied().filter(|&id| done(id)).chain(operands).collect();
    let is_input = |id: &NodeId| matches!(graph.node(*id).op, Op::Input { .. });
    Kept { values, inputs: needed.into_iter().filter(is_input).collect() }
}

impl<S: Computes> Pending<S> {
    /// Returns the values that the run computed.
    pub fn take_computed(&mut self) -> Known<S> {
        std::mem::take(&mut self.computed)
    }
}

impl OwnDrops {
    /// Returns what the next note contains: everything that some peer may not have heard, and as much of the rest as
    /// fits. Neighbours are joined to a range where no other array that is `alive` lies between them.
    fn send(&mut self, alive: &BTreeSet<NodeId>) -> impl Iterator<Item = Range> + '_ {
        self.waiting.sort_unstable();
        let mut ranges: Vec<Range> = Vec::new();
        let mut taken = 0;
        for &id in &self.waiting {
            let is_next = |last: NodeId| id <= last || alive.range(NodeId(last.0 + 1)..id).next().is_none();
            match ranges.pop() {
                Some((first, last)) if is_next(last) => ranges.push((first, id)),
                before => {
                    ranges.extend(before);
                    if ranges.len() == DROPS_PER_RUN {
                        break;
                    }
                    ranges.push((id, id));
                }
            }
            taken += 1;
        }
        self.waiting.drain(..taken);
        if !ranges.is_empty() {
            self.sent.push((0, ranges));
        }
        self.sent.iter().flat_map(|(_, ranges)| ranges.iter().copied()).take(2 * DROPS_PER_RUN)
    }

    /// Forgets what was sent in runs for which all parties were prepared. Everything else was sent in `run` now.
    fn acknowledged(&mut self, agreed: u32, run: u32) {
        self.sent.retain(|&(sent_in, _)| sent_in == 0 || sent_in > agreed);
        let mut room = 2 * DROPS_PER_RUN;
        for (sent_in, ids) in &mut self.sent {
            if *sent_in == 0 && ids.len() <= room {
                *sent_in = run;
            }
            room = room.saturating_sub(ids.len());
        }
    }
}

impl Note {
    pub(crate) fn read(peer: usize, note: &[u8], nodes: usize) -> Result<Note> {
        let malformed = Error::Malformed { peer, what: "note of a wrong length" };
        if note.len() < NOTE_HEAD_BYTES || !(note.len() - NOTE_HEAD_BYTES).is_multiple_of(8) {
            return Err(malformed);
        }
        let (head, ids) = note.split_at(NOTE_HEAD_BYTES);
        let word = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().unwrap_or_default());
        let (ranges, _) = ids.as_chunks::<8>();
        let range = |b: &[u8; 8]| {
            let both = u64::from_le_bytes(*b);
            (NodeId(both as u32), NodeId((both >> 32) as u32))
        };
        let dropped = ranges.iter().map(range).filter(|(first, last)| first <= last && last.index() < nodes).collect();
        let prepared = u32::from_le_bytes(head[..4].try_into().unwrap_or_default());
        Ok(Note { prepared, committed: word(4), with_pending: word(12), dropped })
    }
}

fn hash_of<'a>(ids: impl Iterator<Item = &'a NodeId>) -> u64 {
    let mut hash = blake3::Hasher::new_derive_key("quorate/session/values");
    ids.for_each(|id| {
        hash.update(&id.0.to_le_bytes());
    });
    let mut short = [0; 8];
    short.copy_from_slice(&hash.finalize().as_bytes()[..8]);
    u64::from_le_bytes(short)
}

#[cfg(test)]
mod tests {
    use quorate_ring::{Ring, Vector};
    use quorate_rss::Rss;

    use super::*;
    use crate::work::data::Plain;
    use crate::work::value::Value;

    /// Returns values for these nodes.
    fn known(ids: &[u32]) -> Known<Rss> {
        let value = || Arc::new(Value::Public(Plain::Vector(Vector::zeros(Ring::of(8), 1))));
        ids.iter().map(|&id| (NodeId(id), value())).collect()
    }

    fn keeping(ids: &[u32]) -> Kept {
        Kept { values: ids.iter().map(|&id| NodeId(id)).collect(), ..Kept::default() }
    }

    /// Returns a party that holds `committed`; `pending`, if any, is the run for which it was prepared: the nodes
    /// computed, and the nodes kept after it.
    fn party(committed: &[u32], pending: Option<(&[u32], &[u32])>) -> Store<Rss> {
        let mut store = Store::new(2);
        store.values = known(committed).into();
        if let Some((computed, kept)) = pending {
            store.prepared(1, known(computed), keeping(kept), 10);
        }
        store
    }

    /// Settles the last run at both parties; returns what each party holds then.
    fn meet(mut parties: [Store<Rss>; 2]) -> [Result<Vec<u32>>; 2] {
        let notes: Vec<Vec<u8>> = parties.iter_mut().map(Store::note).collect();
        let mut settled = parties.iter_mut().enumerate().map(|(me, store)| {
            let settled = store.settle(me, 2, &notes, 10);
            settled.map(|()| store.values.keys().map(|id| id.0).collect())
        });
        std::array::from_fn(|_| settled.next().unwrap())
    }

    fn told_of(peer: usize) -> Result<Vec<u32>> {
        Err(Error::Mismatch(Mismatch::Request { peer, here: "".into() }))
    }

    #[test]
    fn parties_that_hold_other_values_are_told_so() {
        let others = [
            [party(&[1, 2], None), party(&[1, 3], None)],
            [party(&[1, 2], None), party(&[1], None)],
            [party(&[], None), party(&[7], None)],
            // Both were prepared for the last run, but it left different values, or they held different ones before it.
            [party(&[1], Some((&[4], &[1, 4]))), party(&[1], Some((&[5], &[1, 5])))],
            [party(&[1], Some((&[4], &[1, 4]))), party(&[1], Some((&[4], &[4])))],
            // Only one was prepared, so the run does not count, and the values before it differ.
            [party(&[1], Some((&[4], &[1, 4]))), party(&[2], None)],
        ];
        for parties in others {
            assert_eq!(meet(parties), [told_of(1), told_of(0)]);
        }
    }

    /// A peer may send many ranges that overlap. One by one, these would take 1.5 billion steps for each party.
    #[test]
    fn ranges_that_overlap_are_gone_through_once() {
        let mut store = Store::<Rss>::new(2);
        store.alive = Arc::new((0..20_000).map(NodeId).collect());
        let mut note = vec![0; NOTE_HEAD_BYTES];
        (0..100_000u32).for_each(|i| note.extend_from_slice(&(u64::from(19_999 - i / 10) << 32).to_le_bytes()));
        note.extend_from_slice(&(5u64 << 32 | 9).to_le_bytes()); // ends before it begins
        let read = Note::read(1, &note, 20_000).unwrap();
        assert_eq!(read.dropped.len(), 100_000);
        for party in 0..2 {
            store.note_dropped(party, &read.dropped);
            assert_eq!(store.alive.len(), [20_000, 0][party]);
        }
    }

    /// A peer that has seen results of a run cannot make it as if it had not been; what it computed stays.
    #[test]
    fn a_run_that_all_have_confirmed_is_not_denied() {
        for denies in [party(&[1, 2], None), party(&[1, 2], Some((&[4], &[2, 4])))] {
            let mut honest = party(&[1, 2], Some((&[4, 5], &[2, 5])));
            honest.confirmed(1);
            let mut liar = denies;
            liar.prepared = 0;
            let mut note = liar.note();
            note.splice(12..20, honest.note()[4..12].to_vec());
            let notes = [honest.note(), note];
            assert_eq!(honest.settle(0, 2, &notes, 10), Err(Error::Cheating { check: DENIED }));
            let notes = [honest.note(), party(&[1, 2], Some((&[4, 5], &[2, 5]))).note()];
            honest.settle(0, 2, &notes, 10).unwrap();
            assert_eq!(honest.values.keys().map(|id| id.0).collect::<Vec<_>>(), [2, 5]);
            let later = [honest.note(), party(&[2, 5], None).note()];
            assert_eq!(honest.settle(0, 3, &later, 10), Err(Error::Cheating { check: DENIED }));
        }
    }

    #[test]
    fn a_run_counts_if_all_were_prepared_for_it() {
        let prepared = || party(&[1, 2], Some((&[4, 5], &[2, 5])));
        assert_eq!(meet([prepared(), prepared()]), [Ok(vec![2, 5]), Ok(vec![2, 5])]);
        assert_eq!(meet([prepared(), party(&[1, 2], None)]), [Ok(vec![1, 2]), Ok(vec![1, 2])]);
    }
}
