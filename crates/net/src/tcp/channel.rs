//! The conversion between a socket's bytes and a peer's plain bytes: TLS 1.3, without any I/O.

use std::sync::Arc;

use rustls::Error as TlsError;
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::CertificateDer;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncryptError, InsufficientSizeError, UnbufferedStatus, WriteTraffic,
};

use super::claim::Exported;
use super::exporter::Exporter;

/// Plain bytes in a full TLS record, and a bound on what TLS adds to one. If TLS adds more after all, it reports it.
const RECORD: usize = 16 << 10;
const OVERHEAD: usize = 64;

/// The largest number of sealed bytes held: many records, and longer than any handshake.
const RAW_BYTES: usize = 256 << 10;

/// One end of a byte stream between two parties, with bytes from the socket that are not opened yet.
pub(crate) struct Channel {
    machine: Machine,
    exporter: Arc<Exporter>,
    raw: Box<[u8]>,
    raw_len: usize,
    /// Whether an error or a goodbye ended the TLS machine, which would panic if it were used.
    over: bool,
}

enum Machine {
    /// TLS at the end that dialled.
    Client(Box<UnbufferedClientConnection>),
    /// TLS at the end that was called.
    Server(Box<UnbufferedServerConnection>),
}

/// The action that a state of the TLS machine requires.
enum Step {
    Again,
    Idle,
    Closed,
}

impl Channel {
    pub(crate) fn client(tls: UnbufferedClientConnection, exporter: Arc<Exporter>) -> Self {
        Self::new(Machine::Client(Box::new(tls)), exporter)
    }

    pub(crate) fn server(tls: UnbufferedServerConnection, exporter: Arc<Exporter>) -> Self {
        Self::new(Machine::Server(Box::new(tls)), exporter)
    }

    fn new(machine: Machine, exporter: Arc<Exporter>) -> Self {
        Channel { machine, exporter, raw: vec![0; RAW_BYTES].into_boxed_slice(), raw_len: 0, over: false }
    }

    /// Returns bytes that only the two ends of this connection have, once the handshake is over.
    pub(crate) fn exported(&self) -> Option<Exported> {
        self.exporter.exported().filter(|_| self.is_ready())
    }

    /// Returns whether application data may be sealed.
    pub(crate) fn is_ready(&self) -> bool {
        match &self.machine {
            Machine::Client(tls) => !tls.is_handshaking(),
            Machine::Server(tls) => !tls.is_handshaking(),
        }
    }

    /// Returns the certificate whose key the peer proved to hold.
    pub(crate) fn peer_certificate(&self) -> Option<&CertificateDer<'static>> {
        match &self.machine {
            Machine::Client(tls) => tls.peer_certificates()?.first(),
            Machine::Server(tls) => tls.peer_certificates()?.first(),
        }
    }

    /// Returns the protocol that the peer negotiated in TLS, if any.
    pub(crate) fn protocol(&self) -> Option<&[u8]> {
        match &self.machine {
            Machine::Client(tls) => tls.alpn_protocol(),
            Machine::Server(tls) => tls.alpn_protocol(),
        }
    }

    /// Returns the buffer for the next bytes from the socket; call [`filled`](Channel::filled) afterwards. Never empty
    /// after an `open` that succeeded.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        &mut self.raw[self.raw_len..]
    }

    pub(crate) fn filled(&mut self, bytes: usize) {
        self.raw_len = (self.raw_len + bytes).min(self.raw.len());
    }

    /// Opens the bytes from the socket: plain bytes go to `plain`, and bytes that TLS itself must answer are appended
    /// to `answer`. Returns true if the peer announced that nothing more will come.
    ///
    /// # Errors
    /// Bytes that the peer's TLS would not send; `answer` then holds the alert for it.
    pub(crate) fn open(&mut self, plain: &mut dyn FnMut(&[u8]), answer: &mut Vec<u8>) -> Result<bool, TlsError> {
        if self.over {
            return Err(TlsError::DecryptError);
        }
        let mut start = 0;
        let closed = loop {
            let (discard, step) = self.open_step(start, plain, answer);
            start += discard;
            match step {
                Ok(Step::Again) => {}
                Ok(Step::Idle) => break false,
                Ok(Step::Closed) => break true,
                Err(error) => {
                    self.over = true;
                    // The alert, if there is one.
                    let _ = self.open_step(start, plain, answer);
                    return Err(error);
                }
            }
        };
        self.discard(start);
        self.over = self.raw_len == self.raw.len();
        if self.over { Err(TlsError::DecryptError) } else { Ok(closed) }
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

    /// Appends the goodbye of TLS to `out`; nothing can be sealed or opened afterwards.
    ///
    /// # Errors
    /// The TLS session is over or used up.
    pub(crate) fn close(&mut self, out: &mut Vec<u8>) -> Result<(), TlsError> {
        let closed = self.write(out, OVERHEAD, &Put::Close);
        self.over = true;
        closed
    }

    fn write(&mut self, out: &mut Vec<u8>, room: usize, put: &Put<'_>) -> Result<(), TlsError> {
        if self.over {
            return Err(TlsError::EncryptError);
        }
        loop {
            // TLS must see the same unopened bytes in every call: it remembers positions in them.
            let raw = &mut self.raw[..self.raw_len];
            let (discard, step) = match &mut self.machine {
                Machine::Client(tls) => write_step(tls.process_tls_records(raw), out, room, put),
                Machine::Server(tls) => write_step(tls.process_tls_records(raw), out, room, put),
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

/// The data to write once the handshake is over.
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

/// Lets `write` write after the content of `out`, growing it by as much as `write` needs.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::tcp::pinned::Pinned;
    use crate::tcp::{PartyConfig, keygen};

    /// Returns the keys of parties 0 and 1 as both load them.
    fn pinned(name: &str) -> [Pinned; 2] {
        let dir = std::env::temp_dir().join(format!("quorate-channel-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        let file = |name: String| -> PathBuf { dir.join(name) };
        for party in 0..2 {
            keygen(&dir, party).unwrap();
        }
        let party = |i| PartyConfig { address: String::new(), certificates: vec![file(format!("party{i}.crt"))] };
        let parties = [party(0), party(1)];
        let pinned = [0, 1].map(|me| Pinned::load(me, &parties, &file(format!("party{me}.key"))).unwrap());
        std::fs::remove_dir_all(&dir).unwrap();
        pinned
    }

    /// Gives `bytes` to a channel in pieces. Returns the bytes that it opens and answers.
    fn feed(to: &mut Channel, bytes: &[u8], piece: usize) -> Result<(Vec<u8>, Vec<u8>), TlsError> {
        let (mut plain, mut answer) = (Vec::new(), Vec::new());
        for piece in bytes.chunks(piece) {
            to.room()[..piece.len()].copy_from_slice(piece);
            to.filled(piece.len());
            to.open(&mut |opened| plain.extend_from_slice(opened), &mut answer)?;
        }
        Ok((plain, answer))
    }

    /// Runs a handshake in which `change` may alter the bytes on their way. Returns the channels, once both are ready.
    fn shake(
        pinned: &[Pinned; 2],
        piece: usize,
        change: &mut dyn FnMut(usize, &mut Vec<u8>),
    ) -> Result<[Channel; 2], TlsError> {
        let mut ends = [pinned[0].accept()?, pinned[1].dial(0)?];
        let mut travelling = Vec::new();
        ends[1].open(&mut |_| (), &mut travelling)?;
        for flight in 0..6 {
            if travelling.is_empty() {
                break;
            }
            change(flight, &mut travelling);
            travelling = feed(&mut ends[flight % 2], &travelling, piece)?.1;
        }
        if ends.iter().all(Channel::is_ready) { Ok(ends) } else { Err(TlsError::HandshakeNotComplete) }
    }

    #[test]
    fn data_survives_any_cuts_in_both_directions() {
        let (pinned, mut exports) = (pinned("cuts"), BTreeSet::new());
        for piece in [1, 7, 1000, 100_000] {
            let mut ends = shake(&pinned, piece, &mut |_, _| ()).unwrap();
            let exported = ends.each_ref().map(|end| end.exported().unwrap());
            assert!(exported[0] == exported[1] && exports.insert(exported[0].to_vec()));
            assert_eq!(ends[0].peer_certificate().and_then(|certificate| pinned[0].party_of(certificate)), Some(1));
            for (from, length) in [(0, 0), (1, 1), (0, 16_384), (1, 16_385), (0, 200_000), (1, 3)] {
                let data: Vec<u8> = (0..length).map(|i| i as u8).collect();
                let mut sealed = Vec::new();
                ends[from].seal(&data, &mut sealed).unwrap();
                let (plain, answer) = feed(&mut ends[1 - from], &sealed, piece).unwrap();
                assert!(plain == data && answer.is_empty());
            }
            let mut goodbye = Vec::new();
            ends[0].close(&mut goodbye).unwrap();
            ends[1].room()[..goodbye.len()].copy_from_slice(&goodbye);
            ends[1].filled(goodbye.len());
            assert!(ends[1].open(&mut |_| (), &mut Vec::new()).unwrap());
        }
    }

    #[test]
    fn a_half_arrived_record_does_not_disturb_sealing() {
        let pinned = pinned("half");
        let mut ends = shake(&pinned, 100_000, &mut |_, _| ()).unwrap();
        let (mut there, mut back) = (Vec::new(), Vec::new());
        ends[0].seal(&[1; 5000], &mut there).unwrap();
        assert_eq!(feed(&mut ends[1], &there[..2000], 2000).unwrap().0, []);
        ends[1].seal(&[2; 50], &mut back).unwrap();
        assert_eq!(feed(&mut ends[0], &back, 10).unwrap().0, [2; 50]);
        assert_eq!(feed(&mut ends[1], &there[2000..], 3000).unwrap().0, [1; 5000]);
    }

    #[test]
    fn keys_may_be_renewed_on_the_way() {
        let pinned = pinned("renewed");
        let mut ends = shake(&pinned, 100_000, &mut |_, _| ()).unwrap();
        for round in 0..3 {
            let Machine::Server(tls) = &mut ends[0].machine else { panic!("the end that was called") };
            let Ok(ConnectionState::WriteTraffic(traffic)) = tls.process_tls_records(&mut []).state else {
                panic!("ready to write")
            };
            traffic.refresh_traffic_keys().unwrap();
            for from in [0, 1, 0, 1] {
                let mut sealed = Vec::new();
                ends[from].seal(&[round; 70_000], &mut sealed).unwrap();
                let (plain, answer) = feed(&mut ends[1 - from], &sealed, 100_000).unwrap();
                assert!(plain == [round; 70_000]);
                assert_eq!(feed(&mut ends[from], &answer, 100_000).unwrap().0, []);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn garbage_for_either_end_is_an_error_or_incomplete(
            garbage in proptest::collection::vec(any::<u8>(), 1..2000), piece in 1usize..600, header: bool,
        ) {
            let mut bytes = garbage;
            if header {
                let length = bytes.len() as u16;
                bytes.splice(0..0, [22, 3, 3, (length >> 8) as u8, length as u8]);
            }
            for mut end in [PINNED[0].accept().unwrap(), PINNED[1].dial(0).unwrap()] {
                end.open(&mut |_| (), &mut Vec::new()).unwrap();
                let _ = feed(&mut end, &bytes, piece);
                prop_assert!(!end.is_ready());
            }
        }

        #[test]
        fn a_changed_handshake_never_completes_unnoticed(
            flight in 0usize..3, at: prop::sample::Index, bit in 0u8..8, piece in 1usize..3000, cut: bool,
        ) {
            let mut change = |now: usize, bytes: &mut Vec<u8>| {
                if now == flight {
                    let at = at.index(bytes.len());
                    if cut { bytes.truncate(at) } else { bytes[at] ^= 1 << bit }
                }
            };
            if let Ok(mut ends) = shake(&PINNED, piece, &mut change) {
                // Record headers outside the transcript may differ; both ends still agree on everything else.
                let mut sealed = Vec::new();
                ends[1].seal(b"data", &mut sealed).unwrap();
                prop_assert_eq!(feed(&mut ends[0], &sealed, piece).unwrap().0, b"data");
            }
        }

        #[test]
        fn a_changed_record_is_an_error(length in 0usize..40_000, at: prop::sample::Index, bit in 0u8..8) {
            let mut ends = shake(&PINNED, 100_000, &mut |_, _| ()).unwrap();
            let data = vec![7; length];
            let mut sealed = Vec::new();
            ends[0].seal(&data, &mut sealed).unwrap();
            prop_assume!(!sealed.is_empty());
            let at = at.index(sealed.len());
            sealed[at] ^= 1 << bit;
            if let Ok((plain, _)) = feed(&mut ends[1], &sealed, 100_000) {
                prop_assert!(plain.len() < length || plain == data, "changed data was accepted");
            }
            let _ = ends[1].seal(b"still no panic", &mut Vec::new());
        }
    }

    static PINNED: LazyLock<[Pinned; 2]> = LazyLock::new(|| pinned("fuzz"));
}
