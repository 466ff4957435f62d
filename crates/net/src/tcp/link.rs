//! One connection to one peer after the handshake: socket, channel and queues. It never waits.
//!
//! The scheduler's thread and the service thread both drive a link, each under the link's lock.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use mio::net::TcpStream;

use super::channel::Channel;
use super::frames::{Cutter, HEADER, Item, TooLarge};
use crate::{Frame, MAX_FRAME, NetError, Place};

/// The number of bytes waiting to be received from which reading from the peer stops.
pub(crate) const INBOX_BYTES: usize = 64 << 20;
/// About the memory of a frame beside its bytes, so that a flood of empty frames is bounded, too.
const FRAME_COST: usize = 64;
/// About the number of bytes sealed at a time: the part that the socket does not take stays sealed in memory.
const SEAL_BYTES: usize = 128 << 10;
/// Reads under one hold of the lock, so that the other thread gets its turn.
const READS: usize = 4;

pub(crate) struct Link {
    peer: usize,
    place: Place,
    socket: Option<TcpStream>,
    channel: Channel,
    failure: Option<NetError>,

    cutter: Cutter,
    inbox: VecDeque<Frame>,
    inbox_bytes: usize,
    heard: Instant,
    peer_is_ready: bool,
    readable: bool,

    outbox: VecDeque<Item>,
    /// Bytes of the first item (header included) that are sealed already.
    outbox_at: usize,
    outbox_bytes: usize,
    plain: Vec<u8>,
    sealed: Vec<u8>,
    sealed_at: usize,
    said: Instant,
    /// Whether the peer reads nothing any more; data that it sent before may still be read.
    deaf: bool,

    sent_bytes: u64,
    received_bytes: u64,
}

/// A connection after the handshake.
pub(crate) struct Established {
    pub(crate) stream: std::net::TcpStream,
    pub(crate) channel: Channel,
    /// Opened bytes that arrived after the handshake.
    pub(crate) opened: Vec<u8>,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
}

impl Link {
    pub(crate) fn new(peer: usize, place: Place, from: Established) -> std::io::Result<Self> {
        from.stream.set_nonblocking(true)?;
        from.stream.set_nodelay(true)?;
        let now = Instant::now();
        let mut link = Link {
            peer,
            place,
            socket: Some(TcpStream::from_std(from.stream)),
            channel: from.channel,
            failure: None,
            cutter: Cutter::default(),
            inbox: VecDeque::new(),
            inbox_bytes: 0,
            heard: now,
            peer_is_ready: false,
            readable: true,
            outbox: VecDeque::new(),
            outbox_at: 0,
            outbox_bytes: 0,
            plain: Vec::new(),
            sealed: Vec::new(),
            sealed_at: 0,
            said: now,
            deaf: false,
            sent_bytes: from.sent_bytes,
            received_bytes: from.received_bytes,
        };
        let cut = link.deliver(&from.opened).and_then(|()| link.open_arrived());
        cut.unwrap_or_else(|error| link.fail(error));
        Ok(link)
    }

    pub(crate) fn socket(&mut self) -> Option<&mut TcpStream> {
        self.socket.as_mut()
    }

    /// The failure of this link; frames that arrived before it may still be in the inbox.
    pub(crate) fn failure(&self) -> Option<&NetError> {
        self.failure.as_ref()
    }

    pub(crate) fn peer_is_ready(&self) -> bool {
        self.peer_is_ready
    }

    pub(crate) fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    pub(crate) fn received_bytes(&self) -> u64 {
        self.received_bytes
    }

    /// The bytes that the socket has not taken yet.
    pub(crate) fn queued(&self) -> usize {
        self.outbox_bytes + self.sealed.len() - self.sealed_at
    }

    /// Returns the next frame of this peer.
    pub(crate) fn pop(&mut self) -> Option<Frame> {
        let frame = self.inbox.pop_front()?;
        self.inbox_bytes -= frame.len() + FRAME_COST;
        Some(frame)
    }

    /// Whether the socket may hold bytes for which no event will come.
    pub(crate) fn wants_read(&self) -> bool {
        self.readable && self.failure.is_none() && self.inbox_bytes < INBOX_BYTES
    }

    /// The time at which the peer counts as silent; never while this side does not read.
    pub(crate) fn silent_at(&self, timeout: Duration) -> Option<Instant> {
        (self.failure.is_none() && self.inbox_bytes < INBOX_BYTES).then(|| self.heard + timeout)
    }

    /// Fails the link if the peer has been silent for too long. Call after reading.
    pub(crate) fn check_silence(&mut self, timeout: Duration) {
        if self.silent_at(timeout).is_some_and(|silent_at| Instant::now() >= silent_at) {
            self.fail(NetError::Timeout { peer: self.peer, place: self.place.clone(), silent: self.heard.elapsed() });
        }
    }

    /// Restarts the clock of silence.
    pub(crate) fn restart_clocks(&mut self) {
        self.heard = Instant::now();
        self.said = self.heard;
    }

    /// Queues an item and sends what the socket takes. The item is dropped if the link has failed.
    pub(crate) fn push(&mut self, item: Item) {
        if self.failure.is_none() && !self.deaf {
            self.outbox_bytes += HEADER + item.body().len();
            self.outbox.push_back(item);
            self.pump_out();
        }
    }

    /// Sends a heartbeat if nothing has been sent for this long.
    pub(crate) fn beat(&mut self, interval: Duration) {
        if self.queued() == 0 && self.said.elapsed() >= interval {
            self.push(Item::Heartbeat);
        }
    }

    /// Reads what has arrived, within bounds.
    pub(crate) fn pump_in(&mut self) {
        self.readable = true;
        for _ in 0..READS {
            if !self.wants_read() {
                return;
            }
            match self.read_once() {
                Ok(true) => {}
                Ok(false) => {
                    self.readable = false;
                    return;
                }
                Err(error) => return self.fail(error),
            }
        }
    }

    /// Reads the socket once. Returns false if it had nothing.
    fn read_once(&mut self) -> Result<bool, NetError> {
        let Some(socket) = self.socket.as_mut() else { return Ok(false) };
        match socket.read(self.channel.room()) {
            Ok(0) => Err(self.lost()),
            Ok(bytes) => {
                self.channel.filled(bytes);
                self.received_bytes += bytes as u64;
                self.heard = Instant::now();
                self.open_arrived().map(|()| true)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(true),
            Err(_) => Err(self.lost()),
        }
    }

    /// Opens the bytes that were read and delivers the frames in them.
    fn open_arrived(&mut self) -> Result<(), NetError> {
        let mut broken = None;
        let (cutter, inbox, inbox_bytes) = (&mut self.cutter, &mut self.inbox, &mut self.inbox_bytes);
        let ready = &mut self.peer_is_ready;
        let mut plain = |piece: &[u8]| {
            let cut = cutter.cut(piece, &mut |item| accept(item, inbox, inbox_bytes, ready));
            broken = broken.or(cut.err());
        };
        let answered = self.sealed.len();
        let opened = self.channel.open(&mut plain, &mut self.sealed);
        if let Some(TooLarge(bytes)) = broken {
            return Err(NetError::FrameTooLarge { peer: self.peer, bytes, limit: MAX_FRAME });
        }
        if self.sealed.len() > answered {
            self.write_sealed();
        }
        match opened {
            Ok(false) => Ok(()),
            Ok(true) => Err(self.lost()),
            Err(_) => Err(self.malformed("a TLS record failed its check")),
        }
    }

    /// Cuts opened bytes into items.
    fn deliver(&mut self, piece: &[u8]) -> Result<(), NetError> {
        let (inbox, inbox_bytes, ready) = (&mut self.inbox, &mut self.inbox_bytes, &mut self.peer_is_ready);
        let cut = self.cutter.cut(piece, &mut |item| accept(item, inbox, inbox_bytes, ready));
        cut.map_err(|TooLarge(bytes)| NetError::FrameTooLarge { peer: self.peer, bytes, limit: MAX_FRAME })
    }

    /// Seals and writes until the socket takes no more or nothing is left.
    pub(crate) fn pump_out(&mut self) {
        while self.failure.is_none() && !self.deaf {
            if self.sealed_at == self.sealed.len() && !self.seal_some() {
                return;
            }
            if !self.write_sealed() {
                return;
            }
        }
    }

    /// Seals the next part of the outbox; false if it is empty.
    fn seal_some(&mut self) -> bool {
        self.sealed.clear();
        self.sealed_at = 0;
        self.plain.clear();
        while let (Some(item), true) = (self.outbox.front(), self.plain.len() < SEAL_BYTES) {
            let room = SEAL_BYTES - self.plain.len();
            let total = HEADER + item.body().len();
            let start = self.outbox_at;
            if start < HEADER {
                self.plain.extend_from_slice(&item.header()[start..]);
            }
            let body_from = start.saturating_sub(HEADER);
            let body_to = item.body().len().min(body_from + room);
            self.plain.extend_from_slice(&item.body()[body_from..body_to]);
            self.outbox_at = HEADER + body_to;
            if self.outbox_at == total {
                self.outbox.pop_front();
                self.outbox_at = 0;
            }
        }
        if self.plain.is_empty() {
            return false;
        }
        self.outbox_bytes -= self.plain.len();
        if self.channel.seal(&self.plain, &mut self.sealed).is_err() {
            self.fail(self.malformed("its TLS session is used up"));
        }
        !self.sealed.is_empty()
    }

    /// Writes sealed bytes; false if the socket took nothing.
    fn write_sealed(&mut self) -> bool {
        let Some(socket) = self.socket.as_mut() else { return false };
        match socket.write(&self.sealed[self.sealed_at..]) {
            Ok(bytes) => {
                self.sealed_at += bytes;
                self.sent_bytes += bytes as u64;
                self.said = Instant::now();
                bytes > 0
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            Err(error) if error.kind() == ErrorKind::Interrupted => true,
            Err(_) => {
                self.go_deaf();
                false
            }
        }
    }

    /// Stops writing, since the peer does not read any more. Data that it sent before is still read; then the read
    /// reports the end.
    fn go_deaf(&mut self) {
        self.deaf = true;
        self.readable = true;
        self.drop_output();
    }

    fn drop_output(&mut self) {
        self.outbox = VecDeque::new();
        (self.outbox_at, self.outbox_bytes, self.sealed_at) = (0, 0, 0);
        self.sealed = Vec::new();
    }

    /// Closes the link for good; the inbox stays.
    pub(crate) fn fail(&mut self, error: NetError) {
        self.failure.get_or_insert(error);
        self.socket = None;
        self.drop_output();
    }

    /// Sends the goodbye of TLS, and closes the socket for writing.
    pub(crate) fn begin_close(&mut self) {
        if self.failure.is_none() && self.sealed_at == self.sealed.len() && self.channel.close(&mut self.sealed).is_ok()
        {
            self.write_sealed();
        }
        if let Some(socket) = &self.socket {
            let _ = socket.shutdown(Shutdown::Write);
        }
    }

    /// Whether anything arrived in this time.
    pub(crate) fn heard_within(&self, time: Duration) -> bool {
        self.heard.elapsed() < time
    }

    /// Reads and discards data until the peer has closed too. Returns true then.
    pub(crate) fn drained(&mut self) -> bool {
        let Some(socket) = self.socket.as_mut() else { return true };
        loop {
            match socket.read(self.channel.room()) {
                Ok(0) => return true,
                Ok(_) => self.heard = Instant::now(),
                Err(error) => return error.kind() != ErrorKind::WouldBlock,
            }
        }
    }

    fn lost(&self) -> NetError {
        NetError::Lost { peer: self.peer, place: self.place.clone() }
    }

    fn malformed(&self, what: &'static str) -> NetError {
        NetError::Malformed { peer: self.peer, place: self.place.clone(), what }
    }
}

/// Takes in an item that has arrived.
fn accept(item: Item, inbox: &mut VecDeque<Frame>, inbox_bytes: &mut usize, peer_is_ready: &mut bool) {
    match item {
        Item::Frame(frame) => {
            *inbox_bytes += frame.len() + FRAME_COST;
            inbox.push_back(frame);
        }
        Item::Heartbeat => {}
        Item::Ready => *peer_is_ready = true,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream as StdStream};
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use super::super::handshake::Talk;
    use super::super::pinned::tests::loaded;
    use super::*;

    /// The other end of a link, which sends whatever a test wants it to.
    struct Far(Established);

    impl Far {
        fn say(&mut self, bytes: &[u8]) -> std::io::Result<()> {
            let mut sealed = Vec::new();
            self.0.channel.seal(bytes, &mut sealed).unwrap();
            self.0.stream.write_all(&sealed)
        }

        /// Hands what arrives to `heard`; false at the end.
        fn hear(&mut self, heard: &mut dyn FnMut(&[u8])) -> bool {
            let bytes = self.0.stream.read(self.0.channel.room()).unwrap();
            self.0.channel.filled(bytes);
            bytes > 0 && !self.0.channel.open(heard, &mut Vec::new()).unwrap()
        }
    }

    /// A link of party 0 to party 1, and party 1's end.
    fn link(name: &str) -> (Link, Far) {
        let (parties, _) = loaded(name);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let far = StdStream::connect(listener.local_addr().unwrap()).unwrap();
        let near = listener.accept().unwrap().0;
        let (never, deadline) = (AtomicBool::new(false), Instant::now() + Duration::from_secs(60));
        let met = |stream, channel| Talk::begin(stream, channel, deadline, &never).unwrap().establish().unwrap();
        thread::scope(|scope| {
            let far = scope.spawn(|| met(far, parties[1].dial(0).unwrap()));
            let near = Link::new(1, Place::HERE, met(near, parties[0].accept().unwrap())).unwrap();
            let far = far.join().unwrap();
            far.stream.set_nonblocking(false).unwrap();
            far.stream.set_read_timeout(None).unwrap();
            (near, Far(far))
        })
    }

    fn pump_until(link: &mut Link, done: impl Fn(&Link) -> bool) {
        let end = Instant::now() + Duration::from_secs(10);
        while !done(link) {
            assert!(Instant::now() < end, "in time");
            link.pump_in();
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn an_oversized_header_ends_the_link_after_the_frames_before_it() {
        let (mut link, mut far) = link("oversized");
        far.say(&[3, 0, 0, 0, 7, 8, 9]).unwrap();
        far.say(&(MAX_FRAME as u32 + 1).to_le_bytes()).unwrap();
        far.say(&[0; 100]).unwrap();
        pump_until(&mut link, |link| link.failure().is_some());
        let bytes = MAX_FRAME + 1;
        let told = link.failure();
        assert!(matches!(told, Some(NetError::FrameTooLarge { peer: 1, bytes: b, limit: MAX_FRAME }) if *b == bytes));
        assert_eq!(link.pop(), Some(vec![7, 8, 9]));
        assert_eq!(link.pop(), None);
    }

    #[test]
    fn a_flood_of_empty_frames_is_held_back() {
        let (mut link, mut far) = link("flood");
        far.0.stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
        thread::spawn(move || {
            while far.say(&[0; 64 << 10]).is_ok() {}
            thread::sleep(Duration::from_secs(5));
        });
        pump_until(&mut link, |link| link.inbox_bytes >= INBOX_BYTES);
        link.pump_in();
        let most = INBOX_BYTES / FRAME_COST + READS * (256 << 10) / HEADER;
        assert!(link.inbox.len() <= most && !link.wants_read());
        assert!(link.silent_at(Duration::ZERO).is_none(), "who does not listen cannot call the other silent");
        while link.pop().is_some() {}
        assert!(link.inbox_bytes == 0 && link.wants_read());
    }

    #[test]
    fn what_the_socket_does_not_take_stays_queued_and_counted() {
        let (mut link, mut far) = link("queued");
        let (frames, before) = (32, link.sent_bytes());
        (0..frames).for_each(|_| link.push(Item::Frame(vec![5; MAX_FRAME])));
        assert!(link.queued() > 0);
        let plain = frames * (HEADER + MAX_FRAME);
        let sealed = plain as u64..(plain + plain / 100) as u64;
        assert!(sealed.contains(&(link.queued() as u64 + link.sent_bytes() - before)));
        let reader = thread::spawn(move || {
            let (mut cutter, mut frames) = (Cutter::default(), 0);
            let mut count = |item: Item| frames += usize::from(item.body().len() == MAX_FRAME);
            while far.hear(&mut |piece| cutter.cut(piece, &mut count).unwrap()) {}
            frames
        });
        while link.queued() > 0 {
            link.pump_out();
        }
        assert!(sealed.contains(&(link.sent_bytes() - before)));
        link.begin_close();
        assert_eq!(reader.join().unwrap(), frames);
    }
}
