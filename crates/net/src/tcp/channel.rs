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

/// One end of a byte stream between two parties.
pub(crate) enum Channel {
    /// TLS, the end that dialled.
    Client(Box<UnbufferedClientConnection>),
    /// TLS, the end that was called.
    Server(Box<UnbufferedServerConnection>),
    /// Bytes as they are.
    #[cfg(feature = "testing")]
    Insecure,
}

/// How far [`Channel::open`] came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opened {
    /// Bytes at the front of the input that are done with.
    pub(crate) consumed: usize,
    /// The peer said that nothing more will come.
    pub(crate) closed: bool,
}

/// What a state of the TLS machine asks for.
enum Step {
    Again,
    Idle,
    Closed,
}

impl Channel {
    /// Whether application data may be sealed.
    pub(crate) fn is_ready(&self) -> bool {
        match self {
            Channel::Client(tls) => !tls.is_handshaking(),
            Channel::Server(tls) => !tls.is_handshaking(),
            #[cfg(feature = "testing")]
            Channel::Insecure => true,
        }
    }

    /// The certificate that the peer proved to hold; none on insecure links.
    pub(crate) fn peer_certificate(&self) -> Option<&CertificateDer<'static>> {
        match self {
            Channel::Client(tls) => tls.peer_certificates()?.first(),
            Channel::Server(tls) => tls.peer_certificates()?.first(),
            #[cfg(feature = "testing")]
            Channel::Insecure => None,
        }
    }

    /// Whether the peer speaks this protocol at all, as far as TLS knows.
    pub(crate) fn protocol(&self) -> Option<&[u8]> {
        match self {
            Channel::Client(tls) => tls.alpn_protocol(),
            Channel::Server(tls) => tls.alpn_protocol(),
            #[cfg(feature = "testing")]
            Channel::Insecure => None,
        }
    }

    /// Opens what came from the socket: plain bytes go to `plain`, bytes that TLS itself must answer are appended to
    /// `answer`. After an error `answer` holds the alert for the peer.
    pub(crate) fn open(
        &mut self,
        sealed: &mut [u8],
        plain: &mut dyn FnMut(&[u8]),
        answer: &mut Vec<u8>,
    ) -> Result<Opened, TlsError> {
        let mut opened = Opened { consumed: 0, closed: false };
        loop {
            let rest = &mut sealed[opened.consumed..];
            let (discard, step) = match self {
                Channel::Client(tls) => step(tls.process_tls_records(rest), plain, answer),
                Channel::Server(tls) => step(tls.process_tls_records(rest), plain, answer),
                #[cfg(feature = "testing")]
                Channel::Insecure => {
                    plain(rest);
                    (rest.len(), Ok(Step::Idle))
                }
            };
            opened.consumed += discard;
            match step {
                Ok(Step::Again) => {}
                Ok(Step::Idle) => return Ok(opened),
                Ok(Step::Closed) => return Ok(Opened { closed: true, ..opened }),
                Err(error) => {
                    self.take_alert(answer);
                    return Err(error);
                }
            }
        }
    }

    /// Appends the sealed form of `plain` to `out`. The channel must be ready.
    pub(crate) fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), TlsError> {
        let records = plain.len() / RECORD + 1;
        self.write(out, plain.len() + records * OVERHEAD, &Put::Data(plain))?;
        #[cfg(feature = "testing")]
        if matches!(self, Channel::Insecure) {
            out.extend_from_slice(plain);
        }
        Ok(())
    }

    /// Appends the goodbye of TLS to `out`.
    pub(crate) fn close(&mut self, out: &mut Vec<u8>) -> Result<(), TlsError> {
        self.write(out, OVERHEAD, &Put::Close)
    }

    fn write(&mut self, out: &mut Vec<u8>, room: usize, put: &Put<'_>) -> Result<(), TlsError> {
        loop {
            let step = match self {
                Channel::Client(tls) => write_step(tls.process_tls_records(&mut []), out, room, put),
                Channel::Server(tls) => write_step(tls.process_tls_records(&mut []), out, room, put),
                #[cfg(feature = "testing")]
                Channel::Insecure => Ok(Step::Idle),
            };
            if !matches!(step, Ok(Step::Again)) {
                return step.map(|_| ());
            }
        }
    }

    /// After an error, the machine may still hold an alert that tells the peer why.
    fn take_alert(&mut self, answer: &mut Vec<u8>) {
        let mut ignore = |_: &[u8]| {};
        for _ in 0..4 {
            let (_, step) = match self {
                Channel::Client(tls) => step(tls.process_tls_records(&mut []), &mut ignore, answer),
                Channel::Server(tls) => step(tls.process_tls_records(&mut []), &mut ignore, answer),
                #[cfg(feature = "testing")]
                Channel::Insecure => return,
            };
            if !matches!(step, Ok(Step::Again)) {
                return;
            }
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

/// Handles one state while reading; returns the bytes to discard.
fn step<Data>(
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

/// Handles one state while writing: pending TLS messages first, then `put`, once.
fn write_step<Data>(
    status: UnbufferedStatus<'_, '_, Data>,
    out: &mut Vec<u8>,
    room: usize,
    put: &Put<'_>,
) -> Result<Step, TlsError> {
    match status.state? {
        ConnectionState::WriteTraffic(mut traffic) => {
            append(out, room, |room| put.write(&mut traffic, room).map_err(|error| too_small_to_encrypt(&error)))?;
            Ok(Step::Idle)
        }
        ConnectionState::EncodeTlsData(mut data) => {
            append(out, 0, |room| data.encode(room).map_err(|error| too_small_to_encode(&error)))
        }
        ConnectionState::TransmitTlsData(data) => {
            data.done();
            Ok(Step::Again)
        }
        ConnectionState::PeerClosed => Ok(Step::Again),
        _ => Err(TlsError::HandshakeNotComplete),
    }
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
