//! The handshake that turns a fresh connection into a link: challenge, answer and reply, TLS, then hello, hello,
//! verdict. Blocking, in a thread of its own, with a deadline.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustls::{AlertDescription, Error as TlsError};

use super::channel::Channel;
use super::hello::{HELLO_BYTES, Hello};
use super::knock::{ANSWER_BYTES, CHALLENGE_BYTES, Intention, Knock, REPLY_BYTES, Status, read_challenge};
use super::link::Established;
use super::pinned::Pinned;
use super::session::SessionId;

/// The interval at which a waiting handshake checks whether it should stop.
const SLICE: Duration = Duration::from_millis(20);

/// The reason why a handshake ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The other side closed, or the network did.
    Closed,
    /// Out of time, or told to stop.
    Stopped,
    /// The other side does not speak this protocol.
    Stranger,
    /// The other side's certificate is not pinned.
    RefusedByUs,
    /// The other side does not accept this party's certificate.
    RefusedByPeer,
    /// The other side runs, but has not opened the session; perhaps one of the same name with other options.
    NotOpen { other_options: bool },
}

impl From<TlsError> for Broken {
    fn from(error: TlsError) -> Self {
        use AlertDescription as Alert;
        match error {
            TlsError::InvalidCertificate(_) => Broken::RefusedByUs,
            TlsError::AlertReceived(
                Alert::AccessDenied | Alert::BadCertificate | Alert::CertificateUnknown | Alert::UnknownCA,
            ) => Broken::RefusedByPeer,
            _ => Broken::Stranger,
        }
    }
}

/// A conversation over a connection that is being set up.
pub(crate) struct Talk<'a> {
    stream: TcpStream,
    channel: Channel,
    deadline: Instant,
    stop: &'a AtomicBool,
    /// Bytes to send before those of TLS.
    ahead: Vec<u8>,
    plain: Vec<u8>,
    sent_bytes: u64,
    received_bytes: u64,
}

impl<'a> Talk<'a> {
    /// Answers the challenge of the party that was dialled, and runs the TLS handshake if the party has opened the
    /// session.
    pub(crate) fn call(
        mut stream: TcpStream,
        pinned: &Pinned,
        peer: usize,
        session: SessionId,
        deadline: Instant,
        stop: &'a AtomicBool,
    ) -> Result<Self, Broken> {
        let knock = knock(&mut stream, pinned, peer, (Intention::Connect, session), deadline, stop)?;
        let mut talk = Self::new(stream, pinned.dial(peer)?, deadline, stop);
        talk.open()?;
        match read_reply(&mut talk.stream, &knock, deadline, stop)? {
            Status::Open => {}
            status => return Err(Broken::NotOpen { other_options: status == Status::OtherOptions }),
        }
        talk.count(ANSWER_BYTES, CHALLENGE_BYTES + REPLY_BYTES);
        talk.shake()
    }

    /// Runs the TLS handshake with a caller, after this reply that the session is open.
    pub(crate) fn answer(
        stream: TcpStream,
        reply: &[u8],
        pinned: &Pinned,
        deadline: Instant,
        stop: &'a AtomicBool,
    ) -> Result<Self, Broken> {
        let mut talk = Self::begin(stream, pinned.accept()?, reply, deadline, stop)?;
        talk.count(CHALLENGE_BYTES, ANSWER_BYTES);
        Ok(talk)
    }

    /// Runs the TLS handshake, and sends these bytes before its first message.
    pub(crate) fn begin(
        stream: TcpStream,
        channel: Channel,
        ahead: &[u8],
        deadline: Instant,
        stop: &'a AtomicBool,
    ) -> Result<Self, Broken> {
        set_up(&stream)?;
        let mut talk = Self::new(stream, channel, deadline, stop);
        talk.ahead = ahead.to_vec();
        talk.shake()
    }

    fn count(&mut self, sent: usize, received: usize) {
        self.sent_bytes += sent as u64;
        self.received_bytes += received as u64;
    }

    fn new(stream: TcpStream, channel: Channel, deadline: Instant, stop: &'a AtomicBool) -> Self {
        let (ahead, plain) = (Vec::new(), Vec::new());
        Talk { stream, channel, deadline, stop, ahead, plain, sent_bytes: 0, received_bytes: 0 }
    }

    /// Continues the TLS handshake to its end.
    fn shake(mut self) -> Result<Self, Broken> {
        self.open()?;
        while !self.channel.is_ready() {
            self.fill()?;
        }
        Ok(self)
    }

    pub(crate) fn channel(&self) -> &Channel {
        &self.channel
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub(crate) fn say(&mut self, hello: &Hello) -> Result<(), Broken> {
        self.say_bytes(&hello.encode())
    }

    pub(crate) fn hear(&mut self) -> Result<Hello, Broken> {
        Hello::decode(&self.hear_bytes::<HELLO_BYTES>()?).ok_or(Broken::Stranger)
    }

    /// Sends bytes inside TLS.
    pub(crate) fn say_bytes(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        let mut sealed = Vec::new();
        self.channel.seal(bytes, &mut sealed)?;
        self.write(&sealed)
    }

    /// Returns the next bytes inside TLS.
    pub(crate) fn hear_bytes<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], Broken> {
        while self.plain.len() < BYTES {
            self.fill()?;
        }
        let mut bytes = [0; BYTES];
        bytes.copy_from_slice(&self.plain[..BYTES]);
        self.plain.drain(..BYTES);
        Ok(bytes)
    }

    /// Returns whether the other side has sent nothing beyond what was heard.
    pub(crate) fn has_heard_all(&self) -> bool {
        self.plain.is_empty()
    }

    /// Ends the handshake: from now on no thread waits for this socket.
    pub(crate) fn establish(self) -> Result<Established, Broken> {
        self.stream.set_nonblocking(true).map_err(|_| Broken::Closed)?;
        Ok(Established {
            exported: self.channel.exported().ok_or(Broken::Stranger)?,
            stream: self.stream,
            channel: self.channel,
            opened: self.plain,
            sent_bytes: self.sent_bytes,
            received_bytes: self.received_bytes,
        })
    }

    /// Ends the connection so that the last message reaches the other side.
    pub(crate) fn hang_up(self) {
        linger(&self.stream);
    }

    /// Reads some bytes and opens them.
    fn fill(&mut self) -> Result<(), Broken> {
        let bytes = read_some(&mut self.stream, self.channel.room(), self.deadline, self.stop)?;
        self.received_bytes += bytes as u64;
        self.channel.filled(bytes);
        self.open()
    }

    /// Opens the raw bytes and sends the answers of TLS.
    fn open(&mut self) -> Result<(), Broken> {
        let mut answer = Vec::new();
        let plain = &mut self.plain;
        let opened = self.channel.open(&mut |piece| plain.extend_from_slice(piece), &mut answer);
        let written = self.write(&answer);
        match opened {
            Ok(true) => Err(Broken::Closed),
            Ok(false) => written,
            Err(error) => {
                linger(&self.stream);
                Err(error.into())
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut whole = std::mem::take(&mut self.ahead);
        whole.extend_from_slice(bytes);
        self.stream.write_all(&whole).map_err(|_| Broken::Closed)?;
        self.sent_bytes += whole.len() as u64;
        Ok(())
    }
}

/// Asks a party that was dialled whether it has opened a session, without TLS.
pub(crate) fn ask(
    mut stream: TcpStream,
    pinned: &Pinned,
    peer: usize,
    session: SessionId,
    deadline: Instant,
    stop: &AtomicBool,
) -> Result<Status, Broken> {
    let knock = knock(&mut stream, pinned, peer, (Intention::Ask, session), deadline, stop)?;
    read_reply(&mut stream, &knock, deadline, stop)
}

/// Answers the challenge of the party that was dialled.
fn knock(
    stream: &mut TcpStream,
    pinned: &Pinned,
    peer: usize,
    (intention, session): (Intention, SessionId),
    deadline: Instant,
    stop: &AtomicBool,
) -> Result<Knock, Broken> {
    set_up(stream)?;
    let challenge = read_challenge(&read_all::<CHALLENGE_BYTES>(stream, deadline, stop)?).ok_or(Broken::Stranger)?;
    let knock = pinned.knock(&challenge, peer, intention, session)?;
    stream.write_all(&knock.answer).map_err(|_| Broken::Closed)?;
    Ok(knock)
}

fn read_reply(stream: &mut TcpStream, knock: &Knock, deadline: Instant, stop: &AtomicBool) -> Result<Status, Broken> {
    knock.read(&read_all::<REPLY_BYTES>(stream, deadline, stop)?).ok_or(Broken::Stranger)
}

/// Prepares a socket for a conversation: blocking, with waits that end soon.
fn set_up(stream: &TcpStream) -> Result<(), Broken> {
    let set_up = stream
        .set_nonblocking(false)
        .and_then(|()| stream.set_nodelay(true))
        .and_then(|()| stream.set_read_timeout(Some(SLICE)))
        .and_then(|()| stream.set_write_timeout(Some(Duration::from_secs(1))));
    set_up.map_err(|_| Broken::Closed)
}

fn read_all<const BYTES: usize>(
    stream: &mut TcpStream,
    deadline: Instant,
    stop: &AtomicBool,
) -> Result<[u8; BYTES], Broken> {
    let (mut bytes, mut read) = ([0; BYTES], 0);
    while read < BYTES {
        read += read_some(stream, &mut bytes[read..], deadline, stop)?;
    }
    Ok(bytes)
}

/// Reads at least one byte. Returns the number of bytes.
fn read_some(stream: &mut TcpStream, room: &mut [u8], deadline: Instant, stop: &AtomicBool) -> Result<usize, Broken> {
    loop {
        if stop.load(Ordering::Relaxed) || Instant::now() >= deadline {
            return Err(Broken::Stopped);
        }
        match stream.read(room) {
            Ok(0) => return Err(Broken::Closed),
            Ok(bytes) => return Ok(bytes),
            Err(error) if is_retry(error.kind()) => {}
            Err(_) => return Err(Broken::Closed),
        }
    }
}

/// Closes for writing and waits shortly until the other side has read: closing at once could destroy data on its way.
fn linger(stream: &TcpStream) {
    let _ = stream.shutdown(Shutdown::Write);
    let end = Instant::now() + Duration::from_millis(200);
    let mut reader = stream;
    let mut piece = [0; 1024];
    while Instant::now() < end {
        match reader.read(&mut piece) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if is_retry(error.kind()) => {}
            Err(_) => return,
        }
    }
}

fn is_retry(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
