//! A party across its runs: begin (agree with the peers), phases, finish; one abort for all.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use quorate_net::{Interrupt, Net, Wait};

use crate::confirm::confirm;
use crate::costs::{Costs, Phase};
use crate::ctx::Ctx;
use crate::error::{Cause, Error, Misuse, Result};
use crate::handshake::{Agreement, Greeting, Trace, agree};
use crate::scheduler::{Core, driven};
use crate::wire::{self, Abort, FrameType};

/// How long a party that gives up tries to tell its peers.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How long a party that is done waits for links that take nothing of what it sent before.
const STALLED: Duration = Duration::from_secs(10);
/// How often a flush looks whether anything moves.
const FLUSH_STEP: Duration = Duration::from_millis(250);
/// How long a party goes on telling its peers though its user cannot wait.
const IN_HASTE: Duration = Duration::from_millis(200);

/// One party of a session. Its links live as long as it does.
pub struct Party {
    core: Rc<Core>,
    over: bool,
}

/// A run under way. Dropping it unfinished tells the peers that this party gave up.
pub struct Run<'p> {
    party: &'p mut Party,
    agreement: Agreement,
    phases: [u32; 2],
    finished: bool,
}

impl Party {
    /// A party that holds these links.
    pub fn new(net: Box<dyn Net>) -> Party {
        let (me, parties) = (net.me(), net.parties());
        Party { core: Rc::new(Core::new(me, parties, Some(net))), over: false }
    }

    /// This party's number.
    pub fn me(&self) -> usize {
        self.core.me
    }

    /// The number of parties.
    pub fn parties(&self) -> usize {
        self.core.parties
    }

    /// A handle with which another thread (Ctrl-C) stops the run under way.
    pub fn interrupt_handle(&self) -> Option<Interrupt> {
        self.core.links.as_ref().map(|links| links.interrupt.clone())
    }

    /// Bytes put on the wire so far to all peers, framing and TLS included.
    pub fn wire_bytes(&self) -> u64 {
        self.core.wire_bytes()
    }

    /// Payload bytes that the run under way has sent so far; another thread may watch it.
    pub fn sent_counter(&self) -> Arc<AtomicU64> {
        self.core.sent.clone()
    }

    /// Whether the session is over: a peer was lost or cheated, a party ran out of memory, or its keys have ended.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// How long this party waits for a peer whose connection is alive and who sends nothing that is due: at a run's
    /// start, in it and at its end. As long as it takes, where nothing is said.
    pub fn set_patience(&self, patience: Option<Duration>) {
        self.core.table.patience.set(patience);
    }

    /// Agrees with the peers to run the program that `greeting` names. Nothing that depends on an input is sent.
    ///
    /// # Errors
    /// [`Error::Mismatch`] where the programs differ, [`Error::Poisoned`] after a lost peer, and whatever ends a run.
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

    /// [`Party::begin`] for a run that every party starts by itself, such as a session's setup or a test.
    pub fn begin_alone(&mut self) -> Result<Run<'_>> {
        self.begin(&Greeting::default(), &Trace::default, &|_| String::new())
    }

    /// Tells the peers why the attempt ended here, and forgets it.
    fn abandon(&mut self, error: &Error) {
        self.over |= error.is_final();
        let abort = self.core.give_up(error);
        self.tell_all(&wire::abort_frame(abort));
        self.flush(LAST_WORDS);
    }

    /// Leaves the session. With `gave_up` the peers learn that this party failed, otherwise that it is done, which is
    /// also what dropping a party says.
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

    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn forget_manners(&mut self) {
        self.over = true;
    }

    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn probe(&self) -> &std::cell::RefCell<crate::testing::Probe> {
        &self.core.probe
    }

    /// Best effort: a peer that cannot be told is found by its own time-out.
    fn tell_all(&self, frame: &[u8]) {
        for peer in self.core.peers() {
            let _ = self.core.send_frame(peer, frame.to_vec());
        }
    }

    /// Hands over everything that was sent; gives up when the links have taken nothing for `stalled`, or soon after an
    /// interrupt: who presses Ctrl-C twice still tells the peers.
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
        self.say_goodbye(std::thread::panicking());
    }
}

impl Run<'_> {
    /// What the parties agreed on.
    pub fn agreement(&self) -> &Agreement {
        &self.agreement
    }

    /// Says what this party is going to do, as a hash that must be alike at all parties. It goes ahead of the first
    /// message to each peer and takes no round: a peer that is going to do something else ends its run when it has come
    /// that far, and so does this party when it hears of it. Once, before the first phase.
    ///
    /// # Errors
    /// [`Mismatch::Plan`](crate::Mismatch::Plan) where a peer has said something else already; the peers have been
    /// told.
    pub fn compare(&mut self, plan: [u8; 32]) -> Result<()> {
        self.party.core.compare(plan).map_err(|error| self.fail(error))
    }

    /// Takes in what predicts the seconds of the run: peers are waited for ten times as long, where that is longer than
    /// the [patience](Party::set_patience) that the party has, until the next run says so.
    pub fn predict(&self, seconds: impl FnOnce() -> f64 + 'static) {
        self.party.core.table.patience.predict(Box::new(seconds));
    }

    /// [`Party::wire_bytes`], while the run is under way.
    pub fn wire_bytes(&self) -> u64 {
        self.party.core.wire_bytes()
    }

    /// Runs one phase of the program to its end. Every party runs the same phases in the same order; a phase may come
    /// more than once, and each time it goes on counting rounds where it stopped.
    ///
    /// # Errors
    /// Those of the program, of a link or of a peer; the peers have been told.
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

    /// Says that this party has all that it needs of the run, and waits until every peer said the same: half a round
    /// trip that counts no round and no payload. A party may hand out what it learned once this returned, and not
    /// before; from the call on, and if it fails, it keeps what it computed until the next run's handshake tells
    /// whether all came here. Then none of them draws the run's randomness anew. Once, after the last phase.
    ///
    /// # Errors
    /// Those of a link or of a peer, and this party's interrupt; the peers have been told.
    pub fn confirm(&mut self) -> Result<()> {
        if self.finished {
            return Err(Error::Misuse { what: Misuse::Other { what: "this run has ended" } });
        }
        confirm(&self.party.core).map_err(|error| self.fail(error))
    }

    /// Ends the run; what it cost this party.
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
