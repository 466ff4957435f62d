//! What tests observe and disturb of a party.

use quorate_sync::atomic::Ordering;
use quorate_sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::collections::BTreeMap;
use std::time::Duration;

use crate::costs::Phase;
use crate::lane::LaneId;
use crate::lane_table::Message;
use crate::party::Party;

/// A test's observations and disturbances of one party.
#[derive(Clone, Default)]
pub(crate) struct Probe(Arc<Mutex<Watch>>);

#[derive(Default)]
struct Watch {
    jitter: Option<u64>,
    transcript: Option<Vec<Received>>,
    coins: Option<u64>,
    has_credit: bool,
    tampered: Option<Tampered>,
    sent: usize,
    /// The last message of each length, and another one before it, where it may have to be replayed.
    said: BTreeMap<usize, [Option<Vec<u8>>; 2]>,
}

/// A test's change to a message that a party sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tampered {
    /// The number of the party's message, from 0, over all runs and lanes; empty messages do not count.
    pub message: usize,
    /// The change.
    pub change: Change,
}

/// A change to a message that keeps its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// This bit is flipped; numbers beyond the message's end wrap around.
    Bit(usize),
    /// The last bit is flipped.
    LastBit,
    /// The eight-byte number that holds this bit (fewer bytes at the end) is increased by the bit's value, with
    /// carries.
    Increased(usize),
    /// All bytes are zero.
    Zeros,
    /// The message is replaced by the last different one of the same length, to any peer. It stays unchanged if there
    /// was none.
    Replayed,
    /// All bytes are replaced by pseudorandom ones that differ.
    Noise,
}

impl Tampered {
    /// Returns a change that flips one bit.
    pub fn bit(message: usize, bit: usize) -> Tampered {
        Tampered { message, change: Change::Bit(bit) }
    }
}

impl Change {
    pub(crate) fn apply(self, bytes: &mut [u8], replayed: Option<&Vec<u8>>) {
        match self {
            Change::Bit(bit) => {
                let bit = bit % (8 * bytes.len());
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            Change::LastBit => {
                if let Some(last) = bytes.last_mut() {
                    *last ^= 0x80;
                }
            }
            Change::Increased(bit) => {
                let bit = bit % (8 * bytes.len());
                let start = bit / 64 * 8;
                let end = bytes.len().min(start + 8);
                let mut word = [0; 8];
                word[..end - start].copy_from_slice(&bytes[start..end]);
                let more = u64::from_le_bytes(word).wrapping_add(1 << (bit % 64));
                bytes[start..end].copy_from_slice(&more.to_le_bytes()[..end - start]);
            }
            Change::Zeros => bytes.fill(0),
            Change::Replayed => {
                if let Some(replayed) = replayed {
                    bytes.copy_from_slice(replayed);
                }
            }
            Change::Noise => {
                let before = bytes.to_vec();
                blake3::Hasher::new().update(bytes).finalize_xof().fill(bytes);
                if *bytes == before {
                    Change::LastBit.apply(bytes, None); // for one byte, 1 try in 256
                }
            }
        }
    }
}

/// A message as a party received it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The sender.
    pub from: usize,
    /// The phase that paid for it.
    pub phase: Phase,
    /// The payload.
    pub bytes: Vec<u8>,
}

/// The settings of parties that are made from now on, by number: a seed of coins, and whether they wait for credit.
/// A lock of the standard library: it lives longer than the schedule of a test.
static NEXT: std::sync::Mutex<BTreeMap<usize, (u64, bool)>> = std::sync::Mutex::new(BTreeMap::new());

/// Gives party `me` the coins and the credit of [`Party::insecure_coins`] and [`Party::insecure_credit`] wherever it
/// is made while this lives, in other threads, too.
pub struct NextParty(usize);

/// Returns the settings of a party that a session makes: a seed of its coins, and whether it sends without credit.
#[must_use]
pub fn insecure_party(me: usize, coins: u64, credit: bool) -> NextParty {
    NEXT.lock().unwrap_or_else(PoisonError::into_inner).insert(me, (coins, credit));
    NextParty(me)
}

impl Drop for NextParty {
    fn drop(&mut self) {
        NEXT.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

impl Probe {
    /// Returns the observer of a party.
    pub fn of(me: usize) -> Probe {
        let probe = Probe::default();
        if let Some((coins, credit)) = NEXT.lock().unwrap_or_else(PoisonError::into_inner).get(&me) {
            let mut watch = probe.watch();
            (watch.coins, watch.has_credit) = (Some(*coins), *credit);
        }
        probe
    }

    fn watch(&self) -> MutexGuard<'_, Watch> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits before the links are read.
    pub fn pause(&self) {
        let mut watch = self.watch();
        let Some(state) = &mut watch.jitter else { return };
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        let pause = Duration::from_micros(*state % 200);
        drop(watch);
        quorate_sync::thread::sleep(pause);
    }

    /// Fills in this party's part of the coins tossed in a lane, if a test has set a seed.
    pub fn coins(&self, lane: LaneId, own: &mut [u8]) {
        if let Some(seed) = self.watch().coins {
            let mut grown = blake3::Hasher::new();
            grown.update(&seed.to_le_bytes()).update(&lane.0.to_le_bytes());
            grown.finalize_xof().fill(own);
        }
    }

    /// Returns how many bytes on a lane a peer may leave unread before the lane waits: `window`, or any number.
    pub fn window(&self, window: u64) -> u64 {
        if self.watch().has_credit { u64::MAX } else { window }
    }

    /// Notes and changes the message that a frame has from `start` on.
    pub fn sending(&self, frame: &mut [u8], start: usize) {
        self.watch().sending(&mut frame[start..]);
    }

    /// Notes a message that was read.
    pub fn heard(&self, from: usize, phase: Phase, message: &Message) {
        if let Some(log) = &mut self.watch().transcript {
            log.push(Received { from, phase, bytes: message.bytes().to_vec() });
        }
    }
}

impl Watch {
    fn sending(&mut self, bytes: &mut [u8]) {
        if bytes.is_empty() {
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
}

/// The number of this party's own lanes, and the largest number so far.
#[derive(Default)]
pub(crate) struct LaneCount(Mutex<[usize; 2]>);

impl LaneCount {
    fn lock(&self) -> MutexGuard<'_, [usize; 2]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn open(&self, is_new: bool) {
        let mut count = self.lock();
        count[0] += usize::from(is_new);
        count[1] = count[1].max(count[0]);
    }

    pub fn retire(&self, was_own: bool) {
        let mut count = self.lock();
        count[0] = count[0].saturating_sub(usize::from(was_own));
    }

    pub fn clear(&self) {
        self.lock()[0] = 0;
    }
}

impl Party {
    /// Sleeps up to 200 microseconds, drawn from `seed`, before each look at the links.
    pub fn insecure_jitter(&mut self, seed: u64) {
        self.core.probe.watch().jitter = Some(seed | 1);
    }

    /// Derives this party's part of all tossed coins from `seed`, so that a test can repeat them.
    pub fn insecure_coins(&mut self, seed: u64) {
        self.core.probe.watch().coins = Some(seed);
    }

    /// Lets all lanes of this party send without waiting for their peers to read.
    pub fn insecure_credit(&mut self) {
        self.core.probe.watch().has_credit = true;
    }

    /// Sets another limit on the memory that a peer may make this party hold, in bytes.
    pub fn insecure_limit(&mut self, bytes: usize) {
        self.core.table.limit.store(bytes, Ordering::SeqCst);
    }

    /// Returns the largest number of communicating lanes that this party had at a time.
    pub fn insecure_most_lanes(&mut self) -> usize {
        self.core.table.own_lanes.lock()[1]
    }

    /// Drops the links without a message, like a process that is killed.
    pub fn insecure_vanish(mut self) {
        self.over = true;
    }

    /// Changes one message that this party sends from now on.
    pub fn insecure_tamper(&mut self, tampered: Tampered) {
        let mut probe = self.core.probe.watch();
        (probe.tampered, probe.sent) = (Some(tampered), 0);
    }

    /// Returns the number of messages sent since the party was made or told to tamper.
    pub fn insecure_sent(&mut self) -> usize {
        self.core.probe.watch().sent
    }

    /// Records every message that this party receives from now on.
    pub fn insecure_record(&mut self) {
        self.core.probe.watch().transcript = Some(Vec::new());
    }

    /// Returns the recorded messages.
    pub fn insecure_transcript(&mut self) -> Vec<Received> {
        self.core.probe.watch().transcript.take().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_as_stated() {
        let changed = |change: Change, replayed: Option<Vec<u8>>| {
            let mut bytes = vec![0xff; 10];
            change.apply(&mut bytes, replayed.as_ref());
            bytes
        };
        let [mut turned, mut carried] = [vec![0xff; 10], vec![0; 8]];
        turned[9] = 0x7f;
        assert_eq!(changed(Change::Bit(79), None), turned);
        carried.extend([0xff; 2]);
        assert_eq!(changed(Change::Increased(80), None), carried, "bit 0 again");
        assert_eq!(changed(Change::Increased(72), None)[8..], [0xff, 0x00]);
        assert_eq!(changed(Change::Zeros, None), [0; 10]);
        assert_eq!(changed(Change::Replayed, None), [0xff; 10]);
        assert_eq!(changed(Change::Replayed, Some(vec![7; 10])), [7; 10]);
        assert_ne!(changed(Change::Noise, None), [0xff; 10]);
        for byte in 0..=u8::MAX {
            let mut bytes = [byte];
            Change::Noise.apply(&mut bytes, None);
            assert_ne!(bytes, [byte]);
        }
    }
}
