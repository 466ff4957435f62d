//! What turns the bytes of a socket into the bytes that a peer meant, and back: TLS 1.3, without any I/O.

use rustls::Error as TlsError;
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::CertificateDer;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncryptError, InsufficientSizeError, UnbufferedStatus, WriteTraffic,
};

/// Plain bytes in a full TLS record, and more than what TLS adds to one. If it adds more after all, it says so.
const RECORD: usize = 16 << 10;
const OVERHEAD: usize = 64;

/// Sealed bytes that are held at most: many records, and longer than any handshake.
const RAW_BYTES: usize = 256 << 10;

/// One end of a byte stream between two parties, with the bytes that came from the socket and are not opened yet.
pub(crate) struct Channel {
    machine: Machine,
    raw: Box<[u8]>,
    raw_len: usize,
}

enum Machine {
    /// TLS, the end that dialled.
    Client(Box<UnbufferedClientConnection>),
    /// TLS, the end that was called.
    Server(Box<UnbufferedServerConnection>),
    /// Bytes as they are.
    #[cfg(any(test, feature = "testing"))]
    Insecure,
}

/// What a state of the TLS machine asks for.
enum Step {
    Again,
    Idle,
    Closed,
}

impl Channel {
    pub(crate) fn client(tls: UnbufferedClientConnection) -> Self {
        Self::new(Machine::Client(Box::new(tls)))
    }

    pub(crate) fn server(tls: UnbufferedServerConnection) -> Self {
        Self::new(Machine::Server(Box::new(tls)))
    }

    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn insecure() -> Self {
        Self::new(Machine::Insecure)
    }

    fn new(machine: Machine) -> Self {
        Channel { machine, raw: vec![0; RAW_BYTES].into_boxed_slice(), raw_len: 0 }
    }

    /// Whether application data may be sealed.
    pub(crate) fn is_ready(&self) -> bool {
        match &self.machine {
            Machine::Client(tls) => !tls.is_handshaking(),
            Machine::Server(tls) => !tls.is_handshaking(),
            #[cfg(any(test, feature = "testing"))]
            Machine::Insecure => true,
        }
    }

    /// The certificate that the peer proved to hold; none on insecure links.
    pub(crate) fn peer_certificate(&self) -> Option<&CertificateDer<'static>> {
        match &self.machine {
            Machine::Client(tls) => tls.peer_certificates()?.first(),
            Machine::Server(tls) => tls.peer_certificates()?.first(),
            #[cfg(any(test, feature = "testing"))]
            Machine::Insecure => None,
        }
    }

    /// Whether the peer speaks this protocol at all, as far as TLS knows.
    pub(crate) fn protocol(&self) -> Option<&[u8]> {
        match &self.machine {
            Machine::Client(tls) => tls.alpn_protocol(),
            Machine::Server(tls) => tls.alpn_protocol(),
            #[cfg(any(test, feature = "testing"))]
            Machine::Insecure => None,
        }
    }

    /// Where the next bytes from the socket go; then tell [`filled`](Channel::filled). Never empty after an `open` that
    /// succeeded.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        &mut self.raw[self.raw_len..]
    }

    pub(crate) fn filled(&mut self, bytes: usize) {
        self.raw_len = (self.raw_len + bytes).min(self.raw.len());
    }

    /// Opens what came from the socket: plain bytes go to `plain`, bytes that TLS itself must answer are appended to
    /// `answer`. True if the peer said that nothing more will come.
    ///
    /// # Errors
    /// Bytes that are not what the peer's TLS would send; `answer` then holds the alert for it.
    pub(crate) fn open(&mut self, plain: &mut dyn FnMut(&[u8]), answer: &mut Vec<u8>) -> Result<bool, TlsError> {
        let mut start = 0;
        let closed = loop {
            let (discard, step) = self.open_step(start, plain, answer);
            start += discard;
            match step {
                Ok(Step::Again) => {}
                Ok(Step::Idle) => break false,
                Ok(Step::Closed) => break true,
                Err(error) => {
                    // The alert, if there is one.
                    let _ = self.open_step(start, plain, answer);
                    return Err(error);
                }
            }
        };
        self.discard(start);
        if self.raw_len == self.raw.len() { Err(TlsError::DecryptError) } else { Ok(closed) }
    }

    fn open_step(
        &mut self,
        start: usize,
        plain: &mut dyn FnMut(&[u8]),
        answer: &mut Vec<u8>,
    ) -> (usize, Result<Step, TlsError>) {
        let raw = &mut self.raw[start..self.raw_len];
        match &mut self.machine {
            Machine::Client(tls) => open_step(tls.process_tls_records(raw), plain, answer),
            Machine::Server(tls) => open_step(tls.process_tls_records(raw), plain, answer),
            #[cfg(any(test, feature = "testing"))]
            Machine::Insecure => {
                plain(raw);
                (raw.len(), Ok(Step::Idle))
            }
        }
    }

    /// Appends the sealed form of `plain` to `out`. The channel must be ready.
    ///
    /// # Errors
    /// The TLS session is over or used up.
    pub(crate) fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), TlsError> {
        let records = plain.len() / RECORD + 1;
        self.write(out, plain.len() + records * OVERHEAD, &Put::Data(plain))
    }

    /// Appends the goodbye of TLS to `out`.
    ///
    /// # Errors
    /// As [`seal`](Channel::seal).
    pub(crate) fn close(&mut self, out: &mut Vec<u8>) -> Result<(), TlsError> {
        self.write(out, OVERHEAD, &Put::Close)
    }

    fn write(&mut self, out: &mut Vec<u8>, room: usize, put: &Put<'_>) -> Result<(), TlsError> {
        loop {
            // TLS must see the same unopened bytes in every call: it remembers positions in them.
            let raw = &mut self.raw[..self.raw_len];
            let (discard, step) = match &mut self.machine {
                Machine::Client(tls) => write_step(tls.process_tls_records(raw), out, room, put),
                Machine::Server(tls) => write_step(tls.process_tls_records(raw), out, room, put),
                #[cfg(any(test, feature = "testing"))]
                Machine::Insecure => {
                    if let Put::Data(plain) = put {
                        out.extend_from_slice(plain);
                    }
                    (0, Ok(Step::Idle))
                }
            };
            self.discard(discard);
            if !matches!(step, Ok(Step::Again)) {
                return step.map(|_| ());
            }
        }
    }

    fn discard(&mut self, bytes: usize) {
        if bytes > 0 {
            self.raw.copy_within(bytes..self.raw_len, 0);
            self.raw_len -= bytes;
        }
    }
}

/// What can be written once the handshake is over.
enum Put<'a> {
    Data(&'a [u8]),
    Close,
}

impl Put<'_> {
    fn write<Data>(&self, traffic: &mut WriteTraffic<'_, Data>, room: &mut [u8]) -> Result<usize, EncryptError> {
        match self {
            Put::Data(plain) => traffic.encrypt(plain, room),
            Put::Close => traffic.queue_close_notify(room),
        }
    }
}

/// Handles one state while reading; also returns the bytes to discard.
fn open_step<Data>(
    status: UnbufferedStatus<'_, '_, Data>,
    plain: &mut dyn FnMut(&[u8]),
    answer: &mut Vec<u8>,
) -> (usize, Result<Step, TlsError>) {
    let UnbufferedStatus { mut discard, state } = status;
    let step = match state {
        Err(error) => Err(error),
        Ok(ConnectionState::ReadTraffic(mut traffic)) => loop {
            match traffic.next_record() {
                Some(Ok(record)) => {
                    discard += record.discard;
                    plain(record.payload);
                }
                Some(Err(error)) => break Err(error),
                None => break Ok(Step::Again),
            }
        },
        Ok(ConnectionState::EncodeTlsData(mut data)) => {
            append(answer, 0, |room| data.encode(room).map_err(|error| too_small_to_encode(&error)))
        }
        Ok(ConnectionState::TransmitTlsData(data)) => {
            data.done();
            Ok(Step::Again)
        }
        Ok(ConnectionState::PeerClosed | ConnectionState::Closed) => Ok(Step::Closed),
        Ok(_) => Ok(Step::Idle),
    };
    (discard, step)
}

/// Handles one state while writing: pending TLS messages first, then `put`, once. Also returns the bytes to discard.
fn write_step<Data>(
    status: UnbufferedStatus<'_, '_, Data>,
    out: &mut Vec<u8>,
    room: usize,
    put: &Put<'_>,
) -> (usize, Result<Step, TlsError>) {
    let step = match status.state {
        Err(error) => Err(error),
        Ok(ConnectionState::WriteTraffic(mut traffic)) => {
            append(out, room, |room| put.write(&mut traffic, room).map_err(|error| too_small_to_encrypt(&error)))
                .map(|_| Step::Idle)
        }
        Ok(ConnectionState::EncodeTlsData(mut data)) => {
            append(out, 0, |room| data.encode(room).map_err(|error| too_small_to_encode(&error)))
        }
        Ok(ConnectionState::TransmitTlsData(data)) => {
            data.done();
            Ok(Step::Again)
        }
        Ok(ConnectionState::PeerClosed) => Ok(Step::Again),
        Ok(_) => Err(TlsError::HandshakeNotComplete),
    };
    (status.discard, step)
}

/// Lets `write` write behind what `out` holds, growing it by as much as `write` says it needs.
fn append(
    out: &mut Vec<u8>,
    room: usize,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, Option<usize>>,
) -> Result<Step, TlsError> {
    let start = out.len();
    out.resize(start + room, 0);
    let mut written = write(&mut out[start..]);
    if let Err(Some(required)) = written {
        out.resize(start + required, 0);
        written = write(&mut out[start..]);
    }
    out.truncate(start + written.unwrap_or(0));
    written.map(|_| Step::Again).map_err(|_| TlsError::EncryptError)
}

fn too_small_to_encode(error: &EncodeError) -> Option<usize> {
    match error {
        EncodeError::InsufficientSize(InsufficientSizeError { required_size }) => Some(*required_size),
        EncodeError::AlreadyEncoded => None,
    }
}

fn too_small_to_encrypt(error: &EncryptError) -> Option<usize> {
    match error {
        EncryptError::InsufficientSize(InsufficientSizeError { required_size }) => Some(*required_size),
        EncryptError::EncryptExhausted => None,
    }
}
