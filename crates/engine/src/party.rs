//! A party across its runs: begin (agree with the peers), phases, finish; one abort for all.

use quorate_sync::Arc;
use quorate_sync::atomic::AtomicU64;
use quorate_sync::thread::JoinHandle;
use std::rc::Rc;
use std::time::{Duration, Instant};

use quorate_crypto::Seed;
use quorate_net::{Interrupt, Net, Wait};

use crate::attempts::{Attempts, Numbers};
use crate::costs::{Costs, Phase};
use crate::crew::Crew;
use crate::ctx::Ctx;
use crate::error::{Cause, Error, Misuse, Result};
use crate::handshake::{Agreement, Greeting, Trace, agree};
use crate::job_clock::JobSeconds;
use crate::scheduler::{Core, driven};
use crate::wire::{self, Abort, FrameType};

/// The time for which a party that gives up tries to inform its peers.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// The time for which a party that is done waits for links that accept none of the remaining data.
const STALLED: Duration = Duration::from_secs(10);
/// The interval at which a flush checks for progress.
const FLUSH_STEP: Duration = Duration::from_millis(250);
/// The time for which a party that gives up keeps informing its peers after a second interrupt by its user.
const IN_HASTE: Duration = Duration::from_millis(200);

/// One party of a session. Its links live as long as it does.
pub struct Party {
    pub(crate) core: Rc<Core>,
    pub(crate) over: bool,
    threads: Vec<JoinHandle<()>>,
}

/// A run under way. Dropping it unfinished informs the peers that this party gave up.
pub struct Run<'p> {
    party: &'p mut Party,
    agreement: Agreement,
    phases: [u32; 2],
    finished: bool,
}

impl Party {
    /// Creates a party that owns these links.
    pub fn new(net: Box<dyn Net>) -> Party {
        let (me, parties) = (net.me(), net.parties());
        Party { core: Rc::new(Core::new(me, parties, Some(net))), over: false, threads: vec![] }
    }

    /// Creates a side party that owns these links: a party beside the main one, with the same keys and links of its
    /// own. Its runs have numbers that no other party of the session has. Its peers are on the same `side`; it refuses
    /// other numbers of theirs.
    ///
    /// # Errors
    /// [`Misuse`] where there are no numbers left for another side: from the 2048th on.
    pub fn on_side(net: Box<dyn Net>, side: usize) -> Result<Party> {
        Party::numbered(net, Numbers::of_side(side))
    }

    /// Creates a party of a branch, with the keys of its session and links of its own, as [`Party::on_side`] does. A
    /// session has sides or branches, and not both: their numbers overlap.
    ///
    /// # Errors
    /// [`Misuse`] from the 1024th branch on.
    pub fn on_branch(net: Box<dyn Net>, branch: usize) -> Result<Party> {
        Party::numbered(net, Numbers::of_branch(branch))
    }

    fn numbered(net: Box<dyn Net>, numbers: Option<Numbers>) -> Result<Party> {
        let numbers = numbers.ok_or(Misuse::Other { what: "more parties of a session than there are numbers" })?;
        let party = Party::new(net);
        party.core.attempts.replace(Attempts::new(party.parties(), numbers));
        Ok(party)
    }

    /// Sets the number of this party's workers, this thread included; once only. A party with several of them runs
    /// independent work side by side ([`Ctx::elsewhere`]). Peers need not have as many: only the sizes of frames depend
    /// on it.
    ///
    /// # Errors
    /// [`Misuse`] where the system has no more threads, and at a second call.
    pub fn set_workers(&mut self, workers: usize) -> Result<()> {
        if self.core.crew().is_some() {
            return Err(Misuse::Other { what: "the number of workers was set before" }.into());
        }
        let Some(links) = self.core.links.as_ref().filter(|_| workers > 1) else { return Ok(()) };
        let crew = Crew::new(links.interrupt.clone());
        for number in 1..workers {
            let name = format!("party {}, {number}", self.core.me);
            match crew.add(name, self.core.worker(&crew)) {
                Ok(thread) => self.threads.push(thread),
                Err(_) => {
                    crew.close();
                    self.threads.drain(..).for_each(|thread| drop(thread.join()));
                    return Err(Misuse::Other { what: "more workers than the system has threads" }.into());
                }
            }
        }
        self.core.lead(crew);
        Ok(())
    }

    /// Grows what this party draws for tosses ([`Ctx::fresh_random`]) from this seed, as a family's setup may grow its
    /// coins: whoever knows the seed foresees them. Each party of a session has a seed of its own. Only the first call
    /// counts.
    pub fn set_coins(&self, coins: Seed) {
        let _ = self.core.coins.set(coins);
    }

    /// Returns this party's number.
    pub fn me(&self) -> usize {
        self.core.me
    }

    /// Returns the number of parties.
    pub fn parties(&self) -> usize {
        self.core.parties
    }

    /// Returns a handle with which another thread (Ctrl-C) stops the run under way.
    pub fn interrupt_handle(&self) -> Option<Interrupt> {
        self.core.links.as_ref().map(|links| links.interrupt.clone())
    }

    /// Returns the bytes sent over the links so far to all peers, framing and TLS included.
    pub fn wire_bytes(&self) -> u64 {
        self.core.wire_bytes()
    }

    /// Returns a counter of the payload bytes that the run under way has sent so far; another thread may watch it.
    pub fn sent_counter(&self) -> Arc<AtomicU64> {
        self.core.sent.clone()
    }

    /// Returns whether the session is over: a peer was lost or cheated, a party ran out of memory, or an earlier run
    /// left keys that must not be used again.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Sets how long this party waits for a connected peer that does not send what is due: at a run's start, during it
    /// and at its end. The default is no limit.
    pub fn set_patience(&self, patience: Option<Duration>) {
        self.core.table.patience.set(patience);
    }

    /// Agrees with the peers to run the program that `greeting` names. Nothing that depends on an input is sent.
    ///
    /// # Errors
    /// [`Error::Mismatch`] where the programs differ, [`Error::Poisoned`] after a lost peer, and any error that ends a
    /// run.
    pub fn begin(
        &mut self,
        greeting: &Greeting,
        trace: &dyn Fn() -> Trace,
        describe: &dyn Fn(usize) -> String,
    ) -> Result<Run<'_>> {
        if self.over || self.core.attempts.borrow().is_worn_out() {
            return Err(Error::Poisoned);
        }
        let opened = self.core.attempts.borrow_mut().open();
        let agreed = match opened {
            Ok(candidate) => agree(&self.core, candidate, greeting, trace, describe),
            Err(abort) => Err(self.core.abort_error(abort)),
        };
        let begun = agreed.and_then(|agreement| self.core.begin(agreement.run).map(|()| agreement));
        match begun {
            Ok(agreement) => Ok(Run { party: self, agreement, phases: [0; 2], finished: false }),
            Err(error) => {
                self.abandon(&error);
                Err(error)
            }
        }
    }

    /// Begins a run, as [`Party::begin`] does, that every party starts by itself, such as a session's setup or a test.
    pub fn begin_alone(&mut self) -> Result<Run<'_>> {
        self.begin(&Greeting::default(), &Trace::default, &|_| String::new())
    }

    /// Informs the peers why the attempt ended here, and forgets it.
    fn abandon(&mut self, error: &Error) {
        self.over |= error.is_final();
        let abort = self.core.give_up(error);
        self.tell_all(&wire::abort_frame(abort));
        self.flush(LAST_WORDS);
    }

    /// Leaves the session. With `gave_up` the peers learn that this party failed, otherwise that it is done. Dropping a
    /// party also reports that it is done, unless its thread panics.
    pub fn leave(mut self, gave_up: bool) {
        self.say_goodbye(gave_up);
    }

    fn say_goodbye(&mut self, gave_up: bool) {
        if self.over {
            return;
        }
        if gave_up {
            let number = self.core.attempts.borrow().next();
            let abort = Abort { own: number, number, cause: Cause::Refused, origin: self.core.me };
            self.tell_all(&wire::abort_frame(abort));
        }
        self.tell_all(&wire::frame(FrameType::Goodbye, self.core.run.get()));
        self.flush(if gave_up { LAST_WORDS } else { STALLED });
        self.over = true;
    }

    /// Sends a frame to all peers, as far as possible: an unreachable peer finds out by its own time-out.
    fn tell_all(&self, frame: &[u8]) {
        for peer in self.core.peers() {
            let _ = self.core.send_frame(peer, frame.to_vec());
        }
    }

    /// Sends out all queued data. Gives up when the links have accepted nothing for `stalled`, or soon after an
    /// interrupt: even after a second Ctrl-C the peers are informed.
    fn flush(&self, stalled: Duration) {
        let Some(links) = &self.core.links else { return };
        let mut net = links.net.borrow_mut();
        let queued = |net: &dyn Net| self.core.peers().map(|peer| net.queued(peer)).sum::<usize>();
        let begun = Instant::now();
        let (mut left, mut moved, mut haste) = (queued(&**net), begun, false);
        while left > 0 && moved.elapsed() < stalled && !(haste && begun.elapsed() >= IN_HASTE) {
            if net.flush(Wait::Until(Instant::now() + if haste { FLUSH_STEP / 10 } else { FLUSH_STEP })).is_err() {
                return;
            }
            links.interrupt.take_nudge();
            haste |= links.interrupt.take();
            let now = queued(&**net);
            if now < left {
                moved = Instant::now();
            }
            left = now;
        }
    }
}

impl Drop for Party {
    fn drop(&mut self) {
        self.say_goodbye(quorate_sync::thread::panicking());
        if let Some(crew) = self.core.crew() {
            crew.close();
        }
        // A worker's panic has ended the run already.
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

impl Run<'_> {
    /// Returns the agreement of the parties.
    pub fn agreement(&self) -> &Agreement {
        &self.agreement
    }

    /// Announces this party's plan, as a hash that must be the same at all parties. The hash precedes the first message
    /// to each peer and takes no round. A peer with another plan ends its run when it receives the hash, and so does
    /// this party when it receives that peer's. Call it once, before the first phase.
    ///
    /// # Errors
    /// [`Mismatch::Plan`](crate::Mismatch::Plan) if a peer has announced another plan already; the peers have been
    /// informed.
    pub fn compare(&mut self, plan: [u8; 32]) -> Result<()> {
        self.party.core.compare(plan).map_err(|error| self.fail(error))
    }

    /// Sets a prediction of the run's seconds. This party then waits for peers ten times as long as predicted, if that
    /// is longer than its [patience](Party::set_patience). The next run needs a prediction of its own.
    pub fn predict(&self, seconds: impl FnOnce() -> f64 + Send + 'static) {
        self.party.core.table.patience.predict(Box::new(seconds));
    }

    /// Returns [`Party::wire_bytes`] while the run is under way.
    pub fn wire_bytes(&self) -> u64 {
        self.party.core.wire_bytes()
    }

    /// Runs one phase of the program to its end. Every party runs the same phases in the same order. A phase may run
    /// more than once; the count of its rounds then continues.
    ///
    /// # Errors
    /// Those of the program, of a link or of a peer; the peers have been informed.
    pub fn phase<T>(&mut self, phase: Phase, work: impl AsyncFnOnce(&Ctx) -> Result<T>) -> Result<T> {
        let ctx = self.begin_phase(phase)?;
        let result = driven(work(&ctx), |poll| self.party.core.drive_guarded(poll));
        drop(ctx);
        match result {
            Ok(out) => Ok(out),
            Err(error) => Err(self.fail(error)),
        }
    }

    fn begin_phase(&mut self, phase: Phase) -> Result<Ctx> {
        if self.finished {
            return Err(Error::Misuse { what: Misuse::Other { what: "this run has ended" } });
        }
        let earlier = self.phases[phase as usize];
        self.phases[phase as usize] += 1;
        self.party.core.phase.set(phase);
        Ok(Ctx::root(self.party.core.clone(), phase, earlier))
    }

    fn fail(&mut self, error: Error) -> Error {
        self.finished = true;
        self.party.abandon(&error);
        error
    }

    /// Confirms that this party has all that it needs of the run, and waits for the confirmation of every peer. This
    /// takes half a round trip, but counts no round and no payload. Call it once, after the last phase.
    ///
    /// A party may release its results only after this returned. From the call on, and if it fails, the party keeps
    /// what it computed until the next run's handshake shows whether all parties came here. If they did, none of them
    /// draws the run's randomness anew.
    ///
    /// # Errors
    /// Those of a link or of a peer, and this party's interrupt; the peers have been informed.
    pub fn confirm(&mut self) -> Result<()> {
        if self.finished {
            return Err(Error::Misuse { what: Misuse::Other { what: "this run has ended" } });
        }
        self.party.core.confirm().map_err(|error| self.fail(error))
    }

    /// Returns the seconds of jobs since the last call.
    pub fn take_job_seconds(&self) -> JobSeconds {
        self.party.core.crew().map(|crew| crew.take_seconds()).unwrap_or_default()
    }

    /// Ends the run. Returns its costs at this party.
    pub fn finish(mut self) -> Costs {
        if !self.finished {
            self.finished = true;
            self.party.core.finish();
        }
        self.party.core.costs.borrow().clone()
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        if !self.finished {
            self.party.abandon(&Error::Misuse { what: Misuse::Other { what: "a run was given up" } });
        }
    }
}
