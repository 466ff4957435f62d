//! A party across its runs: begin (agree with the peers), phases, finish; one abort for all.

use std::rc::Rc;
use std::time::{Duration, Instant};

use quorate_net::{Interrupt, Net, Wait};

use crate::costs::{Costs, Phase};
use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::handshake::{Agreement, Greeting, agree};
use crate::lane::LaneId;
use crate::scheduler::Core;
use crate::wire::{self, Kind};

/// How long a leaving party tries to hand over its last words.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// One party of a session. Its links live as long as it does.
pub struct Party {
    core: Rc<Core>,
    next_run: u32,
    over: bool,
}

/// A run under way. Dropping it unfinished tells the peers that this party gave up.
pub struct Run<'p> {
    party: &'p mut Party,
    agreement: Agreement,
    finished: bool,
}

impl Party {
    pub fn new(net: Box<dyn Net>) -> Party {
        let (me, parties) = (net.me(), net.parties());
        Party { core: Rc::new(Core::new(me, parties, Some(net))), next_run: 1, over: false }
    }

    pub fn me(&self) -> usize {
        self.core.me
    }

    pub fn parties(&self) -> usize {
        self.core.parties
    }

    /// A handle with which another thread (Ctrl-C) stops the run under way.
    pub fn interrupt_handle(&self) -> Option<Interrupt> {
        self.core.net.as_ref().map(|net| net.borrow().interrupt_handle())
    }

    /// Bytes put on the wire so far to all peers, framing and TLS included.
    pub fn wire_bytes(&self) -> u64 {
        self.core.net.as_ref().map_or(0, |net| net.borrow().wire_bytes().iter().sum())
    }

    /// Whether the session is over: a peer was lost or cheated.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Agrees with the peers to run the program that `greeting` names. Nothing that depends on an input is sent.
    ///
    /// # Errors
    /// [`Error::Mismatch`] where the programs differ, [`Error::Poisoned`] after a lost peer, and whatever ends a run.
    pub fn begin(
        &mut self,
        greeting: &Greeting,
        trace: &dyn Fn() -> Vec<u64>,
        describe: &dyn Fn(usize) -> String,
    ) -> Result<Run<'_>> {
        if self.over {
            return Err(Error::Poisoned);
        }
        let candidate = self.next_run;
        self.next_run += 1;
        let agreed = agree(&self.core, candidate, greeting, trace, describe).and_then(|agreement| {
            self.next_run = agreement.run + 1;
            self.core.begin(agreement.run)?;
            Ok(agreement)
        });
        match agreed {
            Ok(agreement) => Ok(Run { party: self, agreement, finished: false }),
            Err(error) => {
                self.abandon(candidate, &error);
                Err(error)
            }
        }
    }

    /// [`Party::begin`] for a run that every party starts by itself, such as a session's setup or a test.
    pub fn begin_alone(&mut self) -> Result<Run<'_>> {
        self.begin(&Greeting::default(), &Vec::new, &|_| String::new())
    }

    /// Tells the peers why the run ended here, and forgets it.
    fn abandon(&mut self, run: u32, error: &Error) {
        self.over |= error.is_final();
        let mut frame = wire::frame(Kind::Abort, run);
        frame.extend_from_slice(&wire::encode_cause(error.cause()));
        self.tell_all(&frame);
        self.core.end(run);
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
            let refused = Error::Misuse { what: crate::error::Misuse::Other { what: "left with an error" } };
            self.abandon(self.next_run, &refused);
        }
        self.tell_all(&wire::frame(Kind::Goodbye, self.next_run));
        self.over = true;
    }

    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn probe(&self) -> &std::cell::RefCell<crate::testing::Probe> {
        &self.core.probe
    }

    /// Best effort: a peer that cannot be told is found by its own time-out.
    fn tell_all(&self, frame: &[u8]) {
        for peer in (0..self.core.parties).filter(|&p| p != self.core.me) {
            let _ = self.core.send_frame(peer, frame.to_vec());
        }
        if let Some(net) = &self.core.net {
            let _ = net.borrow_mut().flush(Wait::Until(Instant::now() + LAST_WORDS));
        }
    }
}

impl Drop for Party {
    fn drop(&mut self) {
        self.say_goodbye(std::thread::panicking());
    }
}

impl Run<'_> {
    pub fn agreement(&self) -> &Agreement {
        &self.agreement
    }

    /// Runs one phase of the program to its end.
    ///
    /// # Errors
    /// Those of the program, of a link or of a peer; the peers have been told.
    pub fn phase<T>(&mut self, phase: Phase, work: impl AsyncFnOnce(&Ctx) -> Result<T>) -> Result<T> {
        let ctx = Ctx::root(self.party.core.clone(), phase, LaneId::ROOT.child(phase as u64));
        let result = self.party.core.drive(work(&ctx));
        if let Err(error) = &result {
            self.finished = true;
            self.party.abandon(self.agreement.run, error);
        }
        result
    }

    /// Ends the run; what it cost this party.
    pub fn finish(mut self) -> Costs {
        self.finished = true;
        self.party.core.end(self.agreement.run);
        self.party.core.costs.borrow().clone()
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        if !self.finished {
            self.party.abandon(self.agreement.run, &Error::bug("a run was dropped"));
        }
    }
}
