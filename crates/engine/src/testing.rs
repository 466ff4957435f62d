//! Insecure helpers for tests: parties as threads, jitter, transcripts. Only under the feature `testing`.

use std::sync::Mutex;
use std::time::Duration;

use quorate_net::Net;
use quorate_net::memory;

use crate::costs::{Costs, Phase};
use crate::ctx::Ctx;
use crate::error::Result;
use crate::party::Party;

/// What a test watches or disturbs at one party.
#[derive(Default)]
pub struct Probe {
    jitter: Option<u64>,
    transcript: Option<Vec<Received>>,
    tampered: Option<Tampered>,
    sent: usize,
}

/// Which bit of what a party sends a test turns over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tampered {
    /// The how manieth message of the party, from 0, over all runs and lanes; empty messages do not count.
    pub message: usize,
    /// The bit; beyond the message's end it counts around.
    pub bit: usize,
}

/// A message as a party saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Who sent it.
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

    pub(crate) fn sending(&mut self, bytes: &mut [u8]) {
        if bytes.is_empty() {
            return;
        }
        if let Some(tampered) = self.tampered
            && tampered.message == self.sent
        {
            let bit = tampered.bit % (8 * bytes.len());
            bytes[bit / 8] ^= 1 << (bit % 8);
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

    /// Another limit for what a peer may make this party hold, in bytes.
    pub fn insecure_limit(&mut self, bytes: usize) {
        self.core().table.set_limit(bytes);
    }

    /// Drops the links without a word, as a process does that is killed.
    pub fn insecure_vanish(mut self) {
        self.forget_manners();
    }

    /// Turns one bit of one message that this party sends from now on.
    pub fn insecure_tamper(&mut self, tampered: Tampered) {
        let mut probe = self.probe().borrow_mut();
        (probe.tampered, probe.sent) = (Some(tampered), 0);
    }

    /// Messages sent since the party was made or told to tamper.
    pub fn insecure_sent(&mut self) -> usize {
        self.probe().borrow().sent
    }

    /// Records every message that this party receives from now on.
    pub fn insecure_record(&mut self) {
        self.probe().borrow_mut().transcript = Some(Vec::new());
    }

    /// What was recorded.
    pub fn insecure_transcript(&mut self) -> Vec<Received> {
        self.probe().borrow_mut().transcript.take().unwrap_or_default()
    }
}

/// Runs `work` as every party of a local session over memory links, one thread each; results by party.
pub fn parties<T: Send>(n: usize, work: impl Fn(Party) -> T + Sync) -> Vec<T> {
    over(memory::mesh(n).into_iter().map(|net| Box::new(net) as Box<dyn Net>).collect(), work)
}

/// [`parties`] over given links.
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

/// Compiled once, whatever the parties do.
fn in_threads(nets: Vec<Box<dyn Net>>, work: &(dyn Fn(usize, Party) + Sync)) {
    std::thread::scope(|scope| {
        let start = |(place, net)| scope.spawn(move || work(place, Party::new(net)));
        let handles: Vec<_> = nets.into_iter().enumerate().map(start).collect();
        handles.into_iter().for_each(|handle| handle.join().expect("a party's thread panicked"));
    });
}

/// One online phase at every party.
pub fn online<T: Send>(n: usize, work: impl AsyncFn(&Ctx) -> Result<T> + Sync) -> Vec<Result<(T, Costs)>> {
    parties(n, |mut party| {
        let mut run = party.begin_alone()?;
        let result = run.phase(Phase::Online, async |ctx| work(ctx).await)?;
        Ok((result, run.finish()))
    })
}
