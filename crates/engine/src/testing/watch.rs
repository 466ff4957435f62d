//! Links that are watched: what a party receives is noted, one of its messages is changed, pauses are made before it
//! looks at them, and credit is granted for all that it sends. The party itself is as it ships.

use quorate_sync::atomic::Ordering;
use quorate_sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Weak;
use std::time::Duration;

use quorate_net::{Frame, Interrupt, Net, NetError, Wait};

use super::messages::{Change, is_message, pieces};
use crate::lane::LaneId;
use crate::party::Party;
use crate::wire::{self, FrameType, HEADER_BYTES, Piece, Tag};

/// A test's change to a message that a party sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tampered {
    /// The number of the party's message, from 0, over all runs and lanes; empty messages do not count.
    pub message: usize,
    /// The change.
    pub change: Change,
}

impl Tampered {
    /// Returns a change that flips one bit.
    pub fn bit(message: usize, bit: usize) -> Tampered {
        Tampered { message, change: Change::Bit(bit) }
    }
}

/// A message as a party received it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The sender.
    pub from: usize,
    /// The payload.
    pub bytes: Vec<u8>,
}

/// What a test has asked of a party's links, and what they have noted.
#[derive(Default)]
struct Watch {
    /// The state of the generator of pauses, if there are some.
    jitter: Option<u64>,
    /// Whether the last look at the links found nothing.
    is_idle: bool,
    /// Whether frames of runs that the party has begun are noted.
    records: bool,
    /// The number of the last run that the party has greeted for.
    begun: u32,
    /// Frames of data with their senders: recorded ones, and those of runs that the party has not begun.
    frames: Vec<(usize, Frame)>,
    tampered: Option<Tampered>,
    sent: usize,
    /// The peers and lanes to which a message is sent of which the last piece is missing.
    unfinished: BTreeSet<(usize, LaneId)>,
    /// The last message of each length, and another one before it, where it may have to be replayed.
    said: BTreeMap<usize, [Option<Vec<u8>>; 2]>,
    has_credit: bool,
    /// Credit that the party has not taken in yet.
    granted: VecDeque<(usize, Frame)>,
}

impl Watch {
    /// Returns the pause before the next look at the links.
    fn pause(&mut self) -> Option<Duration> {
        let state = self.jitter.as_mut().filter(|_| self.is_idle)?;
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        Some(Duration::from_micros(*state % 200))
    }

    fn sending(&mut self, to: usize, frame: &mut Frame) {
        let Ok(head) = wire::header(frame) else { return };
        match head.kind {
            FrameType::Start => {
                self.begun = head.number;
                if !self.records {
                    self.frames.clear();
                }
            }
            FrameType::Data => {
                for (piece, _) in pieces(frame) {
                    self.says(to, &piece, &mut frame[piece.payload.clone()]);
                    if self.has_credit && is_message(&piece) {
                        let mut credit = wire::frame(FrameType::Data, head.number);
                        wire::push_piece(&mut credit, Tag::Credit, piece.lane, piece.payload.len() as u32, 0);
                        self.granted.push_back((to, credit));
                    }
                }
            }
            _ => {}
        }
    }

    /// Counts the message that begins with this piece, and changes it if it is the one.
    fn says(&mut self, to: usize, piece: &Piece, bytes: &mut [u8]) {
        let continues = match piece.tag {
            Tag::More => !self.unfinished.insert((to, piece.lane)),
            Tag::Last => self.unfinished.remove(&(to, piece.lane)),
            _ => return,
        };
        if continues || bytes.is_empty() {
            return;
        }
        if let Some(Tampered { message, change }) = self.tampered {
            if message == self.sent {
                let said = self.said.get(&bytes.len()).into_iter().flatten().flatten();
                change.apply(bytes, said.into_iter().find(|said| said[..] != *bytes));
            }
            let [last, before] = self.said.entry(bytes.len()).or_default();
            if last.as_deref() != Some(bytes) {
                *before = last.replace(bytes.to_vec());
            }
        }
        self.sent += 1;
    }

    fn heard(&mut self, from: usize, frame: &mut Frame) {
        let Ok(head) = wire::header(frame) else { return };
        if head.kind == FrameType::Data && (self.records || head.number > self.begun) {
            self.frames.push((from, frame.clone()));
        }
        if head.kind == FrameType::Data && self.has_credit {
            let mut rest = frame[..HEADER_BYTES].to_vec();
            let others = pieces(frame).into_iter().filter(|(piece, _)| piece.tag != Tag::Credit);
            others.for_each(|(piece, head)| rest.extend_from_slice(&frame[head.start..piece.payload.end]));
            *frame = rest;
        }
    }

    /// Returns the recorded messages of the runs that the party has begun, and forgets them: by run, depth, sender, and
    /// the order in which the sender's lanes first spoke, which does not depend on when frames arrive.
    fn transcript(&mut self) -> Vec<Received> {
        let number = |frame: &Frame| wire::header(frame).map_or(0, |head| head.number);
        let begun = self.begun;
        let (now, later) = std::mem::take(&mut self.frames).into_iter().partition(|(_, f)| number(f) <= begun);
        self.frames = later;
        let (mut parts, mut ranks, mut messages) = (BTreeMap::<_, Vec<u8>>::new(), BTreeMap::new(), vec![]);
        for (from, frame) in &(now as Vec<(usize, Frame)>) {
            for (piece, _) in pieces(frame).into_iter().filter(|(p, _)| matches!(p.tag, Tag::More | Tag::Last)) {
                let whole = parts.entry((*from, number(frame), piece.lane)).or_default();
                whole.extend_from_slice(&frame[piece.payload]);
                if piece.tag == Tag::Last {
                    let received = Received { from: *from, bytes: std::mem::take(whole) };
                    let (run, next) = (number(frame), ranks.len());
                    let rank = *ranks.entry((run, *from, piece.lane)).or_insert(next);
                    messages.push(((run, piece.number, *from, rank), received));
                }
            }
        }
        messages.sort_by_key(|(place, _)| *place);
        messages.into_iter().map(|(_, received)| received).collect()
    }

    /// Returns the largest number of lanes at a time between whose first and last recorded messages others came.
    fn most_lanes(&self) -> usize {
        let mut ends = BTreeMap::new();
        let messages = self.frames.iter().flat_map(|(_, frame)| pieces(frame)).filter(|(piece, _)| is_message(piece));
        for (place, (piece, _)) in messages.enumerate() {
            ends.entry(piece.lane).or_insert([place; 2])[1] = place;
        }
        let under_way = |place: usize| ends.values().filter(|[first, last]| (*first..=*last).contains(&place)).count();
        ends.values().map(|[first, _]| under_way(*first)).max().unwrap_or(0)
    }
}

/// A party's links.
struct Watched {
    inner: Box<dyn Net>,
    watch: Arc<Mutex<Watch>>,
}

impl Watched {
    fn watch(&self) -> MutexGuard<'_, Watch> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Net for Watched {
    fn me(&self) -> usize {
        self.inner.me()
    }

    fn parties(&self) -> usize {
        self.inner.parties()
    }

    fn send(&mut self, to: usize, mut frame: Frame) -> Result<(), NetError> {
        self.watch().sending(to, &mut frame);
        self.inner.send(to, frame)
    }

    fn recv(&mut self, wait: Wait) -> Result<Option<(usize, Frame)>, NetError> {
        let (pause, granted) = {
            let mut watch = self.watch();
            (watch.pause(), watch.granted.pop_front())
        };
        pause.into_iter().for_each(quorate_sync::thread::sleep);
        if granted.is_some() {
            return Ok(granted);
        }
        let mut received = self.inner.recv(wait);
        let mut watch = self.watch();
        watch.is_idle = matches!(received, Ok(None));
        if let Ok(Some((from, frame))) = &mut received {
            watch.heard(*from, frame);
        }
        received
    }

    fn queued(&self, to: usize) -> usize {
        self.inner.queued(to)
    }

    fn wire_bytes(&self) -> Vec<u64> {
        self.inner.wire_bytes()
    }

    fn flush(&mut self, wait: Wait) -> Result<(), NetError> {
        self.inner.flush(wait)
    }

    fn interrupt_handle(&self) -> Interrupt {
        self.inner.interrupt_handle()
    }
}

/// The watches of parties, by the place of their state in memory. A lock of the standard library: it lives longer than
/// the schedule of a test.
static WATCHES: std::sync::Mutex<BTreeMap<usize, Weak<Mutex<Watch>>>> = std::sync::Mutex::new(BTreeMap::new());

/// Makes a party whose links are watched.
pub fn watched(net: Box<dyn Net>, make: impl FnOnce(Box<dyn Net>) -> Party) -> Party {
    let watch = Arc::new(Mutex::new(Watch { is_idle: true, ..Watch::default() }));
    let party = make(Box::new(Watched { inner: net, watch: watch.clone() }));
    let mut watches = WATCHES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    watches.retain(|_, watch| watch.strong_count() > 0);
    watches.insert(place(&party), Arc::downgrade(&watch));
    party
}

/// Returns links that grant credit for all that is sent over them, whatever the peers read.
pub fn granting(net: Box<dyn Net>) -> Box<dyn Net> {
    Box::new(Watched { inner: net, watch: Arc::new(Mutex::new(Watch { has_credit: true, ..Watch::default() })) })
}

fn place(party: &Party) -> usize {
    Rc::as_ptr(&party.core) as usize
}

impl Party {
    /// Calls `work` with the state of this party's watched links.
    fn watch<T>(&self, work: impl FnOnce(&mut Watch) -> T) -> T {
        let watches = WATCHES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let watch = watches.get(&place(self)).and_then(Weak::upgrade);
        drop(watches);
        let watch = watch.expect("parties of tests come from `testing::parties` or `testing::watched`");
        let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut watch)
    }

    /// Sleeps up to 200 microseconds, drawn from `seed`, before each look at the links.
    pub fn insecure_jitter(&mut self, seed: u64) {
        self.watch(|watch| watch.jitter = Some(seed | 1));
    }

    /// Lets all lanes of this party send without waiting for their peers to read.
    pub fn insecure_credit(&mut self) {
        self.watch(|watch| watch.has_credit = true);
    }

    /// Sets another limit on the memory that a peer may make this party hold, in bytes.
    pub fn insecure_limit(&mut self, bytes: usize) {
        self.core.table.limit.store(bytes, Ordering::SeqCst);
    }

    /// Returns the largest number of communicating lanes at a time, by the recorded messages.
    pub fn insecure_most_lanes(&mut self) -> usize {
        self.watch(|watch| watch.most_lanes())
    }

    /// Drops the links without a message, like a process that is killed.
    pub fn insecure_vanish(mut self) {
        self.over = true;
    }

    /// Changes one message that this party sends from now on.
    pub fn insecure_tamper(&mut self, tampered: Tampered) {
        self.watch(|watch| (watch.tampered, watch.sent) = (Some(tampered), 0));
    }

    /// Returns the number of messages sent since the party was made or told to tamper.
    pub fn insecure_sent(&mut self) -> usize {
        self.watch(|watch| watch.sent)
    }

    /// Records every message that this party receives in the runs that it begins from now on.
    pub fn insecure_record(&mut self) {
        self.watch(|watch| watch.records = true);
    }

    /// Returns the messages recorded since the last call.
    pub fn insecure_transcript(&mut self) -> Vec<Received> {
        self.watch(Watch::transcript)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::parties;
    use crate::{Ctx, Phase};

    /// Three parties send each other the numbers 0, 1 and 2 in rounds, and longer messages at last.
    fn heard(party: &mut Party, long: usize) -> Vec<Received> {
        let me = party.me();
        let peers: Vec<usize> = (0..3).filter(|&peer| peer != me).collect();
        let mut run = party.begin_alone().unwrap();
        let say = async |ctx: &Ctx, said: &[u8]| {
            let (told, told_by): (Vec<_>, Vec<_>) =
                peers.iter().map(|&peer| ((peer, said), (peer, said.len()))).unzip();
            ctx.exchange_bytes(&told, &told_by).await.map(drop)
        };
        let work = async |ctx: &Ctx| {
            for number in 0..3 {
                say(ctx, &[10 * me as u8 + number]).await?;
            }
            say(ctx, &vec![me as u8; long]).await
        };
        run.phase(Phase::Online, work).unwrap();
        run.finish();
        party.insecure_transcript()
    }

    #[test]
    fn transcripts_are_in_order_and_have_the_runs_after_the_recording_began() {
        let long = 3 * wire::PIECE_BYTES + 5;
        let ends = parties(3, |mut party| {
            party.insecure_jitter(7 + party.me() as u64);
            let before = heard(&mut party, 1);
            party.insecure_record();
            (before, heard(&mut party, long), heard(&mut party, 0), party.insecure_sent())
        });
        for (me, (before, with_long, last, sent)) in ends.into_iter().enumerate() {
            let peers: Vec<usize> = (0..3).filter(|&peer| peer != me).collect();
            let round = |number: u8| peers.iter().map(move |&from| (from, vec![10 * from as u8 + number]));
            let all = |long: usize| -> Vec<Received> {
                let ends = peers.iter().map(|&from| (from, vec![from as u8; long]));
                let all = (0..3).flat_map(round).chain(ends);
                all.map(|(from, bytes)| Received { from, bytes }).collect()
            };
            assert_eq!(before, []);
            assert!(with_long == all(long), "party {me}");
            assert_eq!(last, all(0));
            assert_eq!(sent, 2 * (4 + 4 + 3), "empty messages do not count");
        }
    }

    #[test]
    fn one_message_is_changed() {
        let ends = parties(3, |mut party| {
            if party.me() == 1 {
                party.insecure_tamper(Tampered::bit(5, 0));
            }
            party.insecure_record();
            heard(&mut party, 2)
        });
        let said: Vec<_> =
            ends.iter().flatten().filter(|message| message.from == 1 && message.bytes[0] == 13).collect();
        assert_eq!(said.len(), 1, "{ends:?}");
    }
}
