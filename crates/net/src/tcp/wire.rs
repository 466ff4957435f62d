//! One connection of a link: its socket, its TLS state, and sealed bytes that the socket has not taken. It never waits.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;

use mio::net::TcpStream;
use rustls::Error as TlsError;

use super::channel::Channel;
use super::inherited::InheritedSocket;

/// The result of one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Got {
    /// The socket held nothing.
    Nothing,
    /// This number of sealed bytes.
    Bytes(usize),
    /// This number of sealed bytes, followed by the peer's goodbye: it sends nothing more.
    Goodbye(usize),
    /// This number of sealed bytes, which the peer's TLS cannot have sent.
    Garbled(usize),
    /// The connection ended without a goodbye.
    Cut,
}

pub(crate) struct Wire {
    socket: InheritedSocket<TcpStream>,
    channel: Channel,
    sealed: Vec<u8>,
    sealed_at: usize,
    /// Whether the peer reads nothing any more; data that it sent before may still be read.
    deaf: bool,
    /// Whether the socket may hold bytes for which no event will come.
    pub(crate) readable: bool,
    /// Bytes written since they were last counted.
    written: u64,
}

impl Wire {
    /// Takes over a connection after its handshake.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn new(stream: std::net::TcpStream, channel: Channel) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let socket = InheritedSocket::new(TcpStream::from_std(stream));
        Ok(Wire { socket, channel, sealed: Vec::new(), sealed_at: 0, deaf: false, readable: true, written: 0 })
    }

    pub(crate) fn socket(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    /// Returns the number of bytes written since the last call.
    pub(crate) fn written(&mut self) -> u64 {
        std::mem::take(&mut self.written)
    }

    /// Returns the number of sealed bytes that the socket has not taken.
    pub(crate) fn unsent(&self) -> usize {
        self.sealed.len() - self.sealed_at
    }

    /// Returns whether the peer may still read.
    pub(crate) fn is_heard(&self) -> bool {
        !self.deaf
    }

    /// Reads the socket once, and gives the opened bytes to `plain`.
    pub(crate) fn receive(&mut self, plain: &mut dyn FnMut(&[u8])) -> Got {
        match self.socket.read(self.channel.room()) {
            Ok(0) => Got::Cut,
            Ok(bytes) => {
                self.channel.filled(bytes);
                self.open(plain).map_or(Got::Garbled(bytes), |over| match over {
                    true => Got::Goodbye(bytes),
                    false => Got::Bytes(bytes),
                })
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Got::Nothing,
            Err(error) if error.kind() == ErrorKind::Interrupted => Got::Bytes(0),
            Err(_) => Got::Cut,
        }
    }

    /// Opens the bytes that were read, and sends the answers of TLS. Returns whether the peer said goodbye.
    ///
    /// # Errors
    /// Bytes that the peer's TLS would not send.
    pub(crate) fn open(&mut self, plain: &mut dyn FnMut(&[u8])) -> Result<bool, TlsError> {
        let answered = self.sealed.len();
        let opened = self.channel.open(plain, &mut self.sealed);
        if self.sealed.len() > answered {
            self.send();
        }
        opened
    }

    /// Seals these bytes; all sealed bytes were sent before.
    ///
    /// # Errors
    /// The TLS session is used up.
    pub(crate) fn seal(&mut self, plain: &[u8]) -> Result<(), TlsError> {
        self.sealed.clear();
        self.sealed_at = 0;
        self.channel.seal(plain, &mut self.sealed)
    }

    /// Writes sealed bytes. Returns false if the socket took nothing.
    pub(crate) fn send(&mut self) -> bool {
        match self.socket.write(&self.sealed[self.sealed_at..]) {
            Ok(bytes) => {
                self.sealed_at += bytes;
                self.written += bytes as u64;
                bytes > 0
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            Err(error) if error.kind() == ErrorKind::Interrupted => true,
            Err(_) => {
                // The peer does not read any more. Data that it sent before is still read; then a read reports the end.
                (self.deaf, self.readable) = (true, true);
                (self.sealed, self.sealed_at) = (Vec::new(), 0);
                false
            }
        }
    }

    /// Sends the goodbye of TLS, if nothing else waits to be sent, and closes the socket for writing.
    pub(crate) fn say_goodbye(&mut self) {
        if self.unsent() == 0 && self.is_heard() && self.channel.close(&mut self.sealed).is_ok() {
            self.send();
        }
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// Reads and discards data. Returns whether the peer has closed, and whether anything arrived.
    pub(crate) fn discard(&mut self) -> (bool, bool) {
        let mut arrived = false;
        loop {
            match self.socket.read(self.channel.room()) {
                Ok(0) => return (true, arrived),
                Ok(_) => arrived = true,
                Err(error) => return (error.kind() != ErrorKind::WouldBlock, arrived),
            }
        }
    }
}
