//! A record of what one party received and sent, and links that play it back to that party alone.
//!
//! The frames of a run are there when the party begins it, but no more than a few megabytes ahead of what it has sent
//! when they arrived, so that they do not all lie in memory. Several workers send in another order than one: frames
//! that were only there once the party has sent as much as when it was recorded would keep them waiting. What the party
//! sends is dropped after it was compared with the record, so no other thread takes a core. Credit that arrives before
//! its lane begins is lost, so what a replayed party sends is granted at once ([`granting`]).

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quorate_net::memory::{self, MemoryNet};
use quorate_net::{Frame, Interrupt, Net, NetError, Wait};

use super::granting;
use crate::lane::LaneId;
use crate::wire::{self, FrameType, HEADER_BYTES, Tag};

/// Bytes of messages that a party may lack, of those that it had sent when a frame arrived, to get that frame.
const AHEAD: u64 = 16 << 20;

/// The time for which a party that waits gets no frame that is not due: its other workers may be about to send.
const HESITATION: Duration = Duration::from_micros(100);

/// A record of one party; clones share it.
#[derive(Clone, Default)]
pub struct Record(Arc<Mutex<Recorded>>);

#[derive(Default)]
struct Recorded {
    arrived: Vec<Arrived>,
    sent: Sent,
}

/// A frame, and the bytes of messages that the party had sent before it arrived.
#[derive(Clone)]
struct Arrived {
    from: usize,
    frame: Frame,
    after: u64,
}

/// What a party sent: its number of messages and their bytes, and a hash of the messages of each lane to each peer.
#[derive(Clone, Debug, Default)]
pub struct Sent {
    messages: u64,
    bytes: u64,
    /// Hashes of the messages, by run, peer and lane; `None` where they are not computed.
    lanes: Option<BTreeMap<(u32, usize, LaneId), [u8; 32]>>,
}

/// The first difference between what a party sent and what it had sent when it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differs(String);

impl fmt::Display for Differs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Sent {
    fn hashed() -> Sent {
        Sent { lanes: Some(BTreeMap::new()), ..Sent::default() }
    }

    /// Notes a frame. Handshakes, which state the free memory, and credit and progress, which depend on the time, are
    /// left out.
    fn note(&mut self, to: usize, frame: &[u8]) {
        let Ok(head) = wire::header(frame) else { return };
        let mut at = HEADER_BYTES;
        while let Some(piece) =
            (head.kind == FrameType::Data && at < frame.len()).then(|| wire::piece(frame, at).ok()).flatten()
        {
            let (start, payload) = (at, piece.payload);
            at = payload.end;
            if matches!(piece.tag, Tag::Credit | Tag::Progress) {
                continue;
            }
            self.messages += 1;
            self.bytes += payload.len() as u64;
            if let Some(lanes) = &mut self.lanes {
                let hash = lanes.entry((head.number, to, piece.lane)).or_default();
                *hash = *blake3::Hasher::new_keyed(hash).update(&frame[start..payload.end]).finalize().as_bytes();
            }
        }
    }

    /// Compares two replays of a party, or a replay with the record. Messages are compared where both are hashed.
    ///
    /// # Errors
    /// [`Differs`].
    pub fn compare(&self, recorded: &Sent) -> Result<(), Differs> {
        if (self.messages, self.bytes) != (recorded.messages, recorded.bytes) {
            let (ours, theirs) = ((self.messages, self.bytes), (recorded.messages, recorded.bytes));
            let what = format!(
                "the party sent {} messages with {} bytes, where the record has {} with {}",
                ours.0, ours.1, theirs.0, theirs.1
            );
            return Err(Differs(what));
        }
        let (Some(ours), Some(theirs)) = (&self.lanes, &recorded.lanes) else { return Ok(()) };
        let differing = ours.iter().find(|(lane, hash)| theirs.get(lane) != Some(hash));
        match differing {
            Some(((run, to, _), _)) => {
                Err(Differs(format!("the party sent other messages to party {to} in run {run} than the record has")))
            }
            None => Ok(()), // the numbers of messages are equal, so the record has no other lanes
        }
    }
}

impl Record {
    fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a party's links, whose frames are recorded.
    pub fn listening(&self, net: Box<dyn Net>) -> Box<dyn Net> {
        self.lock().sent = Sent::hashed();
        Box::new(Listening { net, record: self.clone() })
    }

    /// Returns links that play the record back to party `me` of `parties`, and a handle to what it sends. With
    /// `hashes`, every message is compared with the record, which takes time; otherwise their number and bytes are.
    pub fn playing(&self, me: usize, parties: usize, hashes: bool) -> (Box<dyn Net>, Played) {
        let (mut peers, mut arrived) = (memory::mesh(parties), vec![VecDeque::new(); parties]);
        for (place, next) in self.lock().arrived.iter().cloned().enumerate() {
            arrived[next.from].push_back((place, next));
        }
        let inner = peers.remove(me);
        let sent = Arc::new(Mutex::new(if hashes { Sent::hashed() } else { Sent::default() }));
        let played = Played { sent, record: self.clone() };
        let net = Playing { inner, _peers: peers, arrived, begun: 0, played: played.clone() };
        (granting(Box::new(net)), played)
    }

    /// Returns the number of frames and their bytes.
    pub fn frames(&self) -> (usize, usize) {
        let record = self.lock();
        (record.arrived.len(), record.arrived.iter().map(|arrived| arrived.frame.len()).sum())
    }
}

/// A handle to what a replayed party has sent.
#[derive(Clone)]
pub struct Played {
    sent: Arc<Mutex<Sent>>,
    record: Record,
}

impl Played {
    fn lock(&self) -> MutexGuard<'_, Sent> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares what the party has sent with the record.
    ///
    /// # Errors
    /// [`Differs`].
    pub fn compare(&self) -> Result<(), Differs> {
        self.lock().compare(&self.record.lock().sent)
    }
}

/// The links of the party that is recorded.
struct Listening {
    net: Box<dyn Net>,
    record: Record,
}

impl Net for Listening {
    fn me(&self) -> usize {
        self.net.me()
    }

    fn parties(&self) -> usize {
        self.net.parties()
    }

    fn send(&mut self, to: usize, frame: Frame) -> Result<(), NetError> {
        self.record.lock().sent.note(to, &frame);
        self.net.send(to, frame)
    }

    fn recv(&mut self, wait: Wait) -> Result<Option<(usize, Frame)>, NetError> {
        let arrived = self.net.recv(wait)?;
        if let Some((from, frame)) = &arrived
            && wire::header(frame).is_ok_and(|head| head.kind != FrameType::Goodbye)
        {
            let mut record = self.record.lock();
            let after = record.sent.bytes;
            record.arrived.push(Arrived { from: *from, frame: frame.clone(), after });
        }
        Ok(arrived)
    }

    fn queued(&self, to: usize) -> usize {
        self.net.queued(to)
    }

    fn wire_bytes(&self) -> Vec<u64> {
        self.net.wire_bytes()
    }

    fn flush(&mut self, wait: Wait) -> Result<(), NetError> {
        self.net.flush(wait)
    }

    fn interrupt_handle(&self) -> Interrupt {
        self.net.interrupt_handle()
    }
}

/// The links of a party that is replayed.
struct Playing {
    /// Links over which nothing comes; their ends at the peers are open.
    inner: MemoryNet,
    _peers: Vec<MemoryNet>,
    /// The frames of each peer, with their places in the record.
    arrived: Vec<VecDeque<(usize, Arrived)>>,
    /// The number of the last run that the party has greeted for.
    begun: u32,
    played: Played,
}

impl Playing {
    /// Returns the next frame of a run that the party has begun; one that is not due only `anyway`.
    fn next(&mut self, anyway: bool) -> Option<(usize, Frame)> {
        let begun = |next: &&(usize, Arrived)| wire::header(&next.1.frame).is_ok_and(|head| head.number <= self.begun);
        let fronts = self.arrived.iter().filter_map(VecDeque::front).filter(begun);
        let next = fronts.min_by_key(|(place, _)| *place).map(|(_, next)| (next.from, next.after));
        let (from, after) = next?;
        let is_due = anyway || after <= self.played.lock().bytes + AHEAD;
        is_due.then(|| self.arrived[from].pop_front()).flatten().map(|(_, next)| (from, next.frame))
    }
}

impl Net for Playing {
    fn me(&self) -> usize {
        self.inner.me()
    }

    fn parties(&self) -> usize {
        self.inner.parties()
    }

    fn send(&mut self, to: usize, frame: Frame) -> Result<(), NetError> {
        if let Ok(head) = wire::header(&frame)
            && head.kind == FrameType::Start
        {
            self.begun = head.number;
        }
        self.played.lock().note(to, &frame);
        Ok(())
    }

    fn recv(&mut self, wait: Wait) -> Result<Option<(usize, Frame)>, NetError> {
        if let Some(arrived) = self.next(false) {
            return Ok(Some(arrived));
        }
        let interrupt = self.inner.interrupt_handle();
        if wait != Wait::Poll && !interrupt.ends_waits() {
            let _ = self.inner.recv(Wait::Until(Instant::now() + HESITATION))?;
            if !interrupt.ends_waits()
                && let Some(arrived) = self.next(true)
            {
                return Ok(Some(arrived));
            }
        }
        self.inner.recv(wait)
    }

    fn queued(&self, _to: usize) -> usize {
        0
    }

    fn wire_bytes(&self) -> Vec<u64> {
        self.inner.wire_bytes()
    }

    fn flush(&mut self, _wait: Wait) -> Result<(), NetError> {
        Ok(())
    }

    fn interrupt_handle(&self) -> Interrupt {
        self.inner.interrupt_handle()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::testing::over;
    use crate::{Chunks, Ctx, Party, Phase};

    /// Two runs: a round of long messages, then chunks at whichever worker is free, of which chunk 3 sends `last`.
    /// Returns a sum of what was received.
    fn program(party: &mut Party, last: u8) -> Result<u64> {
        let (me, mut sum) = (party.me(), 0);
        for _ in 0..2 {
            let mut run = party.begin_alone()?;
            let peer = 1 - me;
            sum += run.phase(Phase::Online, async |ctx| {
                let long = vec![me as u8 + 1; 600_000];
                let got = ctx.exchange_bytes(&[(peer, &long)], &[(peer, long.len())]).await?;
                let chunks = Chunks { len: 8, chunk: 1, window: 4 };
                let work = async move |ctx: Ctx, chunk: usize| {
                    let said = [if chunk == 3 { last } else { 7 }; 2];
                    let got = ctx.exchange_bytes(&[(peer, &said)], &[(peer, 2)]).await?;
                    Ok(u64::from(got[0][0]))
                };
                let mut sum = u64::from(got[0][0]);
                ctx.spread(chunks, |range| range.start, work, |_, one| sum += one).await?;
                Ok(sum)
            })?;
            run.finish();
        }
        Ok(sum)
    }

    fn recorded() -> (Record, u64) {
        let record = Record::default();
        let net = |net: MemoryNet| {
            let net: Box<dyn Net> = Box::new(net);
            if net.me() == 0 { record.listening(net) } else { net }
        };
        let nets = memory::mesh(2).into_iter().map(net).collect();
        let sums = over(nets, |mut party| program(&mut party, 7).unwrap());
        (record, sums[0])
    }

    fn replayed(record: &Record, hashes: bool, workers: usize, last: u8) -> (Result<u64>, Played) {
        let (net, played) = record.playing(0, 2, hashes);
        let mut party = Party::new(net);
        party.set_workers(workers).unwrap();
        (program(&mut party, last), played)
    }

    #[test]
    fn a_party_alone_does_what_it_did_among_others() {
        let (record, sum) = recorded();
        assert!(record.frames().1 > 1_200_000);
        for workers in [1, 2, 3] {
            for hashes in [true, false] {
                let (found, played) = replayed(&record, hashes, workers, 7);
                assert_eq!((found.unwrap(), played.compare()), (sum, Ok(())), "{workers} workers");
            }
        }
    }

    #[test]
    fn what_a_replay_sends_otherwise_is_found() {
        let (record, sum) = recorded();
        let (found, played) = replayed(&record, true, 2, 8);
        assert_eq!(found.unwrap(), sum);
        let differs = played.compare().unwrap_err().to_string();
        assert_eq!(differs, "the party sent other messages to party 1 in run 1 than the record has");
        let (net, played) = record.playing(0, 2, false);
        drop(net);
        let differs = played.compare().unwrap_err().to_string();
        assert!(differs.starts_with("the party sent 0 messages with 0 bytes, where the record has "), "{differs}");
    }
}
