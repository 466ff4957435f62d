//! One link to one peer: the queues of both directions, and the connection of the moment. It never waits.
//!
//! The scheduler's thread and the service thread both drive a link, each under the link's lock. A link is in one of
//! three states. *Connected*: bytes move. *Away*: the connection was lost, and a new one may continue where it ended
//! ([`Link::resume`]); meanwhile the queues stay. *Failed*: for good.

use std::time::{Duration, Instant};

use mio::net::TcpStream;

use super::channel::Channel;
use super::claim::{Claim, ClaimKey, Exported};
use super::frames::{Item, Signal, TooLarge};
use super::incoming::Incoming;
use super::resend::{KEPT_BYTES, Resend};
use super::wire::{Got, Wire};
use crate::{Frame, MAX_FRAME, NetError, Place};

/// About the number of bytes sealed at a time: the part that the socket does not take stays sealed in memory.
const SEAL_BYTES: usize = 128 << 10;
/// Reads under one hold of the lock, so that the other thread gets its turn.
const READS: usize = 4;
/// The memory of received items after which this party acknowledges them in a record of its own, and the one after
/// which it does so beside other bytes. Both are far below what a peer keeps.
const ACKNOWLEDGED: usize = 512 << 10;
const ACKNOWLEDGED_BESIDE: usize = 32 << 10;

pub(crate) struct Link {
    peer: usize,
    place: Place,
    /// The key of claims to this link.
    key: ClaimKey,
    /// The time to wait for a new connection; zero: the link fails with its connection.
    patience: Duration,
    wire: Option<Wire>,
    away: Option<Away>,
    failure: Option<NetError>,
    /// The number of the last attempt to continue the link.
    attempt: u64,

    incoming: Incoming,
    /// Opened bytes that came with the handshake of this connection, until the inbox has room.
    held: Vec<u8>,
    heard: Instant,

    resend: Resend,
    plain: Vec<u8>,
    said: Instant,
    /// Signals to send: a heartbeat, and a request for an acknowledgement after the last item.
    beats: bool,
    asks: bool,
    /// Whether this party leaves, once the peer has everything.
    leaves: bool,
    /// Whether the link was continued, and nothing has arrived over its connection: the peer may not have taken it up.
    untried: bool,

    sent_bytes: u64,
    received_bytes: u64,
}

/// The time since a link has no connection, and why.
struct Away {
    since: Instant,
    cause: Cause,
    /// Whether a thread is looking after it.
    tended: bool,
}

/// The end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cause {
    /// The network or the peer's system closed it.
    Cut,
    /// Nothing arrived for this long.
    Silent(Duration),
    /// Its bytes were changed, or its TLS session is used up.
    Garbled(&'static str),
}

/// A connection after the handshake.
pub(crate) struct Established {
    pub(crate) stream: std::net::TcpStream,
    pub(crate) channel: Channel,
    pub(crate) exported: Exported,
    /// Opened bytes that arrived after the handshake.
    pub(crate) opened: Vec<u8>,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
}

impl Link {
    /// Makes the link of a first connection.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn new(peer: usize, place: Place, from: Established) -> std::io::Result<Self> {
        let now = Instant::now();
        let mut link = Link {
            peer,
            place,
            key: ClaimKey::new(&from.exported),
            patience: Duration::ZERO,
            wire: Some(Wire::new(from.stream, from.channel)?),
            away: None,
            failure: None,
            attempt: 0,
            incoming: Incoming::default(),
            held: from.opened,
            heard: now,
            resend: Resend::default(),
            plain: Vec::new(),
            said: now,
            beats: false,
            asks: false,
            leaves: false,
            untried: false,
            sent_bytes: from.sent_bytes,
            received_bytes: from.received_bytes,
        };
        link.deliver();
        Ok(link)
    }

    /// Lets the link wait for a new connection for this long when its connection is lost.
    pub(crate) fn be_patient(&mut self, patience: Duration) {
        self.patience = patience;
    }

    pub(crate) fn socket(&mut self) -> Option<&mut TcpStream> {
        self.wire.as_mut().map(Wire::socket)
    }

    /// Returns the failure of this link; frames that arrived before it may still be in the inbox.
    pub(crate) fn failure(&self) -> Option<&NetError> {
        self.failure.as_ref()
    }

    pub(crate) fn peer_is_ready(&self) -> bool {
        self.incoming.peer_is_ready
    }

    pub(crate) fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    pub(crate) fn received_bytes(&self) -> u64 {
        self.received_bytes
    }

    /// Returns the bytes that the socket has not taken yet; without a connection, all that the peer may lack.
    pub(crate) fn queued(&self) -> usize {
        self.resend.queued() + self.wire.as_ref().map_or(0, Wire::unsent)
    }

    /// Returns the next frame of this peer.
    pub(crate) fn pop(&mut self) -> Option<Frame> {
        self.incoming.pop()
    }

    /// Returns whether the socket may hold bytes for which no event will come.
    pub(crate) fn wants_read(&self) -> bool {
        self.wire.as_ref().is_some_and(|wire| wire.readable) && !self.incoming.is_full()
    }

    /// Returns the time at which [`check_clocks`](Link::check_clocks) has something to do, if nothing arrives: the peer
    /// counts as silent (never while this side does not read), or a lost connection as lost for good.
    pub(crate) fn due_at(&self, timeout: Duration) -> Option<Instant> {
        match &self.away {
            Some(away) => Some(away.since + self.patience),
            None => (self.wire.is_some() && !self.incoming.is_full()).then(|| self.heard + timeout),
        }
    }

    /// Drops the connection if the peer has been silent for too long, and fails the link if it has been away for too
    /// long. Call after reading.
    pub(crate) fn check_clocks(&mut self, timeout: Duration) {
        if self.due_at(timeout).is_none_or(|due_at| Instant::now() < due_at) {
            return;
        }
        match &self.away {
            Some(away) => self.fail(self.error(away.cause, away.since.elapsed())),
            None => self.lose(Cause::Silent(self.heard.elapsed())),
        }
    }

    /// Restarts the clock of silence.
    pub(crate) fn restart_clocks(&mut self) {
        self.heard = Instant::now();
        self.said = self.heard;
    }

    /// Queues an item and sends what the socket takes. The item is dropped if the link has failed.
    pub(crate) fn push(&mut self, item: Item) {
        if self.failure.is_none() {
            self.resend.push(item);
            self.pump_out();
        }
    }

    /// Sends a heartbeat if nothing has been sent for this long.
    pub(crate) fn beat(&mut self, interval: Duration) {
        if self.wire.as_ref().is_some_and(|wire| wire.unsent() == 0) && self.said.elapsed() >= interval {
            self.beats = true;
            self.pump_out();
        }
    }

    /// Prepares to leave: asks the peer to acknowledge everything.
    pub(crate) fn leave(&mut self) {
        (self.leaves, self.asks) = (true, self.untried || !self.resend.is_delivered());
        self.pump_out();
    }

    /// Returns whether the peer has acknowledged everything, or never will.
    pub(crate) fn is_delivered(&self) -> bool {
        self.failure.is_some() || self.resend.is_delivered()
    }

    /// Returns whether a goodbye would reach the peer as far as can be seen, or is not needed.
    pub(crate) fn can_say_goodbye(&self) -> bool {
        // The end of the connection may be among what is not read yet.
        self.failure.is_some() || (self.wire.is_some() && !self.untried && !self.wants_read())
    }

    /// Reads what has arrived, within bounds.
    pub(crate) fn pump_in(&mut self) {
        if let Some(wire) = &mut self.wire {
            wire.readable = true;
        }
        for _ in 0..READS {
            if !self.wants_read() || !self.read_once() {
                break;
            }
        }
        if self.incoming.asked || self.incoming.unsaid >= ACKNOWLEDGED {
            self.pump_out();
        }
    }

    /// Reads the socket once. Returns whether to go on.
    fn read_once(&mut self) -> bool {
        if !self.held.is_empty() {
            self.deliver();
            return true;
        }
        let Some(wire) = &mut self.wire else { return false };
        let (incoming, mut taken) = (&mut self.incoming, Ok(()));
        let got = wire.receive(&mut |piece| taken = taken.and(incoming.take(piece)));
        self.sent_bytes += wire.written();
        match got {
            Got::Nothing => wire.readable = false,
            Got::Bytes(bytes) | Got::Goodbye(bytes) | Got::Garbled(bytes) => {
                self.received_bytes += bytes as u64;
                (self.heard, self.untried) = (Instant::now(), false);
            }
            Got::Cut => {}
        }
        self.settle(taken);
        match got {
            Got::Nothing => false,
            Got::Bytes(_) => true,
            Got::Goodbye(_) => {
                self.fail(self.error(Cause::Cut, Duration::ZERO));
                false
            }
            Got::Garbled(_) => {
                self.lose(Cause::Garbled("a TLS record failed its check"));
                false
            }
            Got::Cut => {
                self.lose(Cause::Cut);
                false
            }
        }
    }

    /// Takes in opened bytes that came with the handshake, and those that are not opened yet.
    fn deliver(&mut self) {
        let mut taken = self.incoming.take(&std::mem::take(&mut self.held));
        let incoming = &mut self.incoming;
        let Some(wire) = &mut self.wire else { return };
        let rest = wire.open(&mut |piece| taken = taken.and(incoming.take(piece)));
        self.settle(taken);
        match rest {
            Ok(false) => {}
            Ok(true) => self.fail(self.error(Cause::Cut, Duration::ZERO)),
            Err(_) => self.lose(Cause::Garbled("a TLS record failed its check")),
        }
    }

    /// Acts on what the peer has sent: a fault of its own fails the link.
    fn settle(&mut self, taken: Result<(), TooLarge>) {
        if let Some(position) = self.incoming.acknowledged.take()
            && self.failure.is_none()
            && self.resend.acknowledge(position).is_err()
        {
            self.fail(self.malformed("it acknowledges bytes that were not sent"));
        }
        if let Err(TooLarge(bytes)) = taken {
            self.fail(NetError::FrameTooLarge { peer: self.peer, bytes, limit: MAX_FRAME });
        }
    }

    /// Seals and writes until the socket takes no more or nothing is left.
    pub(crate) fn pump_out(&mut self) {
        while let Some(wire) = &mut self.wire
            && wire.is_heard()
        {
            if wire.unsent() == 0 && !self.seal_some() {
                return;
            }
            let Some(wire) = &mut self.wire else { return };
            let went = wire.send();
            self.sent_bytes += wire.written();
            if !went {
                return;
            }
            self.said = Instant::now();
        }
    }

    /// Seals the next part of the queue; false if there is none.
    fn seal_some(&mut self) -> bool {
        self.plain.clear();
        self.resend.finish(&mut self.plain, SEAL_BYTES);
        if self.resend.is_between_items() {
            self.add_signals();
        }
        // While the inbox is full, acknowledgements are not read, since they come after frames. Sending goes on without
        // them then; otherwise two parties could wait for each other for ever.
        let limit = if self.incoming.is_full() { usize::MAX } else { KEPT_BYTES };
        self.resend.take(&mut self.plain, SEAL_BYTES, limit);
        if self.asks && self.resend.queued() == 0 {
            Signal::Ask.write(&mut self.plain);
            self.asks = false;
        }
        if self.plain.is_empty() {
            return false;
        }
        if self.wire.as_mut().is_some_and(|wire| wire.seal(&self.plain).is_err()) {
            self.lose(Cause::Garbled("its TLS session is used up"));
            return false;
        }
        true
    }

    fn add_signals(&mut self) {
        let unsaid = self.incoming.unsaid;
        let beside = unsaid >= ACKNOWLEDGED_BESIDE && self.resend.queued() > 0;
        if self.incoming.asked || unsaid >= ACKNOWLEDGED || beside || (self.beats && unsaid > 0) {
            Signal::Received(self.incoming.cutter.received()).write(&mut self.plain);
            (self.incoming.asked, self.incoming.unsaid, self.beats) = (false, 0, false);
        } else if std::mem::take(&mut self.beats) {
            Signal::Heartbeat.write(&mut self.plain);
        }
    }

    // --- the end of a connection, and the next one

    /// Gives the connection up. The link fails if it does not wait for a new one.
    pub(crate) fn lose(&mut self, cause: Cause) {
        if self.failure.is_some() || self.away.is_some() {
            return;
        }
        if self.patience.is_zero() {
            return self.fail(self.error(cause, Duration::ZERO));
        }
        (self.wire, self.held) = (None, Vec::new());
        self.incoming.cutter.restart();
        (self.incoming.asked, self.beats) = (false, false);
        self.resend.lose();
        self.away = Some(Away { since: Instant::now(), cause, tended: false });
    }

    /// Returns whether the link waits for a new connection.
    pub(crate) fn is_away(&self) -> bool {
        self.away.is_some()
    }

    /// Returns whether the peer's process surely holds the other end: something arrived within this time, and nothing
    /// that it may have sent, such as its goodbye, is left unread.
    pub(crate) fn is_alive(&self, silence: Duration) -> bool {
        self.wire.is_some() && !self.leaves && !self.incoming.is_full() && self.heard_within(silence)
    }

    /// Returns whether no thread looks after the link, though its connection was lost.
    pub(crate) fn is_untended(&self) -> bool {
        self.away.as_ref().is_some_and(|away| !away.tended)
    }

    /// Returns true once each time that the connection was lost: the caller looks after the link.
    pub(crate) fn wants_tending(&mut self) -> bool {
        self.away.as_mut().is_some_and(|away| !std::mem::replace(&mut away.tended, true))
    }

    /// Begins an attempt of this party to continue the link. `None` if it is not away.
    pub(crate) fn claim(&mut self) -> Option<Claim> {
        self.away.as_ref()?;
        self.attempt = self.attempt.checked_add(1)?;
        Some(Claim { attempt: self.attempt, received: self.incoming.cutter.received() })
    }

    /// Accepts the peer's attempt to continue the link, and gives the connection up if there still is one: nothing more
    /// may arrive over it. `None` if the attempt is not newer than all others, or the link does not wait for a new
    /// connection.
    pub(crate) fn concede(&mut self, theirs: Claim) -> Option<Claim> {
        if self.failure.is_some() || self.patience.is_zero() || theirs.attempt <= self.attempt {
            return None;
        }
        self.lose(Cause::Cut);
        self.attempt = theirs.attempt;
        Some(Claim { attempt: theirs.attempt, received: self.incoming.cutter.received() })
    }

    /// Returns since when the link waits for a new connection, if it does.
    pub(crate) fn away_since(&self) -> Option<Instant> {
        self.away.as_ref().map(|away| away.since)
    }

    /// Returns the key of claims to this link.
    pub(crate) fn key(&self) -> &ClaimKey {
        &self.key
    }

    /// Continues the link over a new connection: the peer has proven its claim to it. Does nothing if a newer attempt
    /// has begun.
    pub(crate) fn resume(
        &mut self,
        from: Established,
        theirs: Claim,
        register: impl FnOnce(&mut TcpStream) -> std::io::Result<()>,
    ) {
        if self.away.is_none() || theirs.attempt != self.attempt {
            return;
        }
        self.sent_bytes += from.sent_bytes;
        self.received_bytes += from.received_bytes;
        let Ok(mut wire) = Wire::new(from.stream, from.channel) else { return };
        if register(wire.socket()).is_err() {
            return;
        }
        if self.resend.resume(theirs.received).is_err() {
            return self.fail(self.malformed("it claims to have received bytes that were not sent"));
        }
        (self.wire, self.away) = (Some(wire), None);
        (self.incoming.unsaid, self.asks, self.untried) = (0, self.leaves, true);
        self.restart_clocks();
        self.held = from.opened;
        if !self.incoming.is_full() {
            self.deliver();
        }
        self.pump_out();
    }

    /// Fails the link, since the peer's process is gone.
    pub(crate) fn end(&mut self) {
        let tried = self.away.as_ref().map_or(Duration::ZERO, |away| away.since.elapsed());
        self.fail(self.error(Cause::Cut, tried));
    }

    /// Closes the link for good; the inbox stays.
    pub(crate) fn fail(&mut self, error: NetError) {
        self.failure.get_or_insert(error);
        (self.wire, self.away, self.held) = (None, None, Vec::new());
        self.resend = Resend::default();
    }

    /// Sends the goodbye of TLS, and closes the socket for writing.
    pub(crate) fn begin_close(&mut self) {
        if let Some(wire) = &mut self.wire {
            wire.say_goodbye();
            self.sent_bytes += wire.written();
        }
    }

    /// Returns whether anything arrived in this time.
    pub(crate) fn heard_within(&self, time: Duration) -> bool {
        self.heard.elapsed() < time
    }

    /// Reads and discards data until the peer has closed too. Returns true then.
    pub(crate) fn drained(&mut self) -> bool {
        let Some(wire) = &mut self.wire else { return true };
        let (closed, arrived) = wire.discard();
        if arrived {
            self.heard = Instant::now();
        }
        closed
    }

    /// Closes the socket.
    pub(crate) fn hang_up(&mut self) {
        self.wire = None;
    }

    /// Returns the error of a link whose connection ended this way, and that tried for this long to get a new one.
    fn error(&self, cause: Cause, tried: Duration) -> NetError {
        let (peer, place) = (self.peer, self.place.clone());
        match cause {
            Cause::Cut => NetError::Lost { peer, place, tried },
            Cause::Silent(silent) => NetError::Timeout { peer, place, silent: silent + tried, tried },
            Cause::Garbled(what) => NetError::Malformed { peer, place, what },
        }
    }

    fn malformed(&self, what: &'static str) -> NetError {
        NetError::Malformed { peer: self.peer, place: self.place.clone(), what }
    }
}

#[cfg(test)]
mod tests;
