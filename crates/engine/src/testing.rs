//! Insecure helpers for tests: parties as threads, jitter, transcripts. Only under the feature `testing`.

mod links;
pub mod readers;
mod views;

pub use links::{At, Liar, Lie, What, lying};
pub use views::{Column, columns, leaks, tells};

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use quorate_net::Net;
use quorate_net::memory;

use crate::costs::{Costs, Phase};
use crate::ctx::Ctx;
use crate::error::Result;
use crate::lane::LaneId;
use crate::party::Party;

/// A test's observations and disturbances of one party.
#[derive(Default)]
pub struct Probe {
    jitter: Option<u64>,
    transcript: Option<Vec<Received>>,
    coins: Option<u64>,
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
    fn apply(self, bytes: &mut [u8], replayed: Option<&Vec<u8>>) {
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

impl Probe {
    pub(crate) fn jitter(&mut self) {
        let Some(state) = &mut self.jitter else { return };
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        std::thread::sleep(Duration::from_micros(*state % 200));
    }

    /// Fills in this party's part of the coins tossed in a lane, if a test has set a seed.
    pub(crate) fn coins(&self, lane: LaneId, own: &mut [u8]) {
        if let Some(seed) = self.coins {
            let mut grown = blake3::Hasher::new();
            grown.update(&seed.to_le_bytes()).update(&lane.0.to_le_bytes());
            grown.finalize_xof().fill(own);
        }
    }

    pub(crate) fn sending(&mut self, bytes: &mut [u8]) {
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

    pub(crate) fn record(&mut self, from: usize, phase: Phase, bytes: &[u8]) {
        if let Some(log) = &mut self.transcript {
            log.push(Received { from, phase, bytes: bytes.to_vec() });
        }
    }
}

impl Party {
    /// Sleeps up to 200 microseconds, drawn from `seed`, before each look at the links.
    pub fn insecure_jitter(&mut self, seed: u64) {
        self.probe().borrow_mut().jitter = Some(seed | 1);
    }

    /// Derives this party's part of all tossed coins from `seed`, so that a test can repeat them.
    pub fn insecure_coins(&mut self, seed: u64) {
        self.probe().borrow_mut().coins = Some(seed);
    }

    /// Sets another limit on the memory that a peer may make this party hold, in bytes.
    pub fn insecure_limit(&mut self, bytes: usize) {
        self.core().table.set_limit(bytes);
    }

    /// Returns the largest number of communicating lanes that this party had at a time.
    pub fn insecure_most_lanes(&mut self) -> usize {
        self.core().table.own_lanes.get()[1]
    }

    /// Drops the links without a message, like a process that is killed.
    pub fn insecure_vanish(mut self) {
        self.forget_manners();
    }

    /// Changes one message that this party sends from now on.
    pub fn insecure_tamper(&mut self, tampered: Tampered) {
        let mut probe = self.probe().borrow_mut();
        (probe.tampered, probe.sent) = (Some(tampered), 0);
    }

    /// Returns the number of messages sent since the party was made or told to tamper.
    pub fn insecure_sent(&mut self) -> usize {
        self.probe().borrow().sent
    }

    /// Records every message that this party receives from now on.
    pub fn insecure_record(&mut self) {
        self.probe().borrow_mut().transcript = Some(Vec::new());
    }

    /// Returns the recorded messages.
    pub fn insecure_transcript(&mut self) -> Vec<Received> {
        self.probe().borrow_mut().transcript.take().unwrap_or_default()
    }
}

/// Runs `work` as every party of a local session over memory links, one thread each. Returns results by party.
pub fn parties<T: Send>(n: usize, work: impl Fn(Party) -> T + Sync) -> Vec<T> {
    over(memory::mesh(n).into_iter().map(|net| Box::new(net) as Box<dyn Net>).collect(), work)
}

/// Runs `work` as every party over the given links, one thread each. Returns results by party.
pub fn over<T: Send>(nets: Vec<Box<dyn Net>>, work: impl Fn(Party) -> T + Sync) -> Vec<T> {
    let results = nets.iter().map(|_| Mutex::new(None)).collect::<Vec<_>>();
    in_threads(nets, &|place, party| {
        let result = work(party);
        *results[place].lock().unwrap() = Some(result);
    });
    let mut of_all = Vec::with_capacity(results.len());
    for result in &results {
        of_all.push(result.lock().unwrap().take().expect("every thread has ended"));
    }
    of_all
}

/// Runs one thread per party. It is not generic, so it is compiled only once.
fn in_threads(nets: Vec<Box<dyn Net>>, work: &(dyn Fn(usize, Party) + Sync)) {
    std::thread::scope(|scope| {
        let start = |(place, net)| scope.spawn(move || work(place, Party::new(net)));
        let handles: Vec<_> = nets.into_iter().enumerate().map(start).collect();
        handles.into_iter().for_each(|handle| handle.join().expect("a party's thread panicked"));
    });
}

/// Runs one online phase at every party.
pub fn online<T: Send>(n: usize, work: impl AsyncFn(&Ctx) -> Result<T> + Sync) -> Vec<Result<(T, Costs)>> {
    parties(n, |mut party| {
        let mut run = party.begin_alone()?;
        let result = run.phase(Phase::Online, async |ctx| work(ctx).await)?;
        Ok((result, run.finish()))
    })
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
