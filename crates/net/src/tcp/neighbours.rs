//! Sessions of several processes at one port: the process that owns the port hands connections to the others.
//!
//! Processes of one user meet in a folder that no other user can enter (see `folder`). The one that holds the lock of
//! an address owns its port, and listens at a Unix socket beside the lock. Others join there, once for each session:
//!
//! ```text
//!   member                              owner
//!   request: deployment, session ────►
//!                               ◄────  welcome, with the listening socket; or taken; or refused
//!                               ◄────  callers of the session: the class, the reply to it, and the socket
//!   "leaving"                   ────►
//!   end                         ────►  closes the session
//!                               ◄────  end: the owner is gone, a member takes the port over
//! ```
//! Members hold the listening socket, too: if the owner ends, calls wait in the system's queue until a member accepts
//! them.
//!
//! Each session holds a lock of its name, also while the port has no owner: its name cannot be opened a second time, in
//! whatever process it is.

use std::fs::{read_link, remove_file};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
pub(crate) use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

use rustix::net::sockopt::socket_acceptconn;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with,
};

use super::callers::{Caller, Class};
pub(crate) use super::folder::Note;
use super::folder::{Folder, Inode, LockFile, inode};
use super::inherited::InheritedSocket;
use super::knock::REPLY_BYTES;
use super::session::{ID_BYTES, SessionId};
use crate::InUse;

/// The time in which a request and its answer arrive.
const ANSWERS: Duration = Duration::from_secs(1);
const MAGIC: [u8; 8] = *b"QUOPORT1";
const FINGERPRINT_BYTES: usize = 32;
/// Bytes of a request: the magic, the deployment, the session, and the process.
pub(crate) const REQUEST_BYTES: usize = MAGIC.len() + FINGERPRINT_BYTES + ID_BYTES + 4;

const WELCOME: u8 = b'W';
const TAKEN: u8 = b'T';
const REFUSED: u8 = b'R';
const LEAVES: u8 = b'L';

/// The end of the names of the files that are locked for sessions' names.
const NAME_END: &str = ".name";

/// The folder's place of one address: its lock, its socket, and the names of its sessions.
pub(crate) struct Spot {
    folder: Folder,
    stem: String,
}

/// The ownership of an address. Dropping it gives it up.
pub(crate) struct Ownership {
    spot: Spot,
    lock: LockFile,
    listener: InheritedSocket<UnixListener>,
    /// The socket's file that this owner made.
    socket: Option<Inode>,
}

/// A session's lock of its name. Dropping it gives the name up.
pub(crate) struct Reservation(LockFile);

/// A request to the owner of a port: the session whose callers it should hand over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) fingerprint: [u8; FINGERPRINT_BYTES],
    pub(crate) session: SessionId,
    pub(crate) process: u32,
}

/// The owner's answer.
pub(crate) enum Reception {
    Welcome(Membership),
    /// The session is open in this process, or `leaving`.
    Taken {
        process: u32,
        leaving: bool,
    },
    /// The port belongs to another deployment.
    Refused,
    /// There is no owner, or it is about to end.
    Nobody,
}

impl Spot {
    /// Returns the place of an address.
    ///
    /// # Errors
    /// [`InUse::NotShared`].
    pub(crate) fn of(address: &str) -> Result<Spot, InUse> {
        Ok(Spot::within(Folder::of_this_user()?, address))
    }

    fn within(folder: Folder, address: &str) -> Spot {
        // One folder may be visible in several containers, which do not share ports.
        let network = read_link("/proc/self/ns/net").unwrap_or_default();
        let mut hasher = blake3::Hasher::new_derive_key("quorate-net 2026-11-29 processes that share a port");
        hasher.update(network.as_os_str().as_encoded_bytes()).update(&[0]).update(address.as_bytes());
        let stem = hasher.finalize().to_hex()[..32].to_owned();
        Spot { folder, stem }
    }

    fn lock(&self) -> PathBuf {
        self.folder.file(&format!("{}.lock", self.stem))
    }

    fn socket(&self) -> PathBuf {
        self.folder.file(&format!("{}.sock", self.stem))
    }

    fn name(&self, session: &SessionId) -> PathBuf {
        let session: String = session.iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.file(&format!("{}.{session}{NAME_END}", self.stem))
    }

    /// Takes the ownership, and listens for other processes. `None` if somebody has it.
    ///
    /// # Errors
    /// [`InUse::NotShared`].
    pub(crate) fn own(self) -> Result<Result<Ownership, Spot>, InUse> {
        let fault = |error: io::Error| self.folder.fault(&error);
        let Ok(lock) = LockFile::take(&self.lock()).map_err(fault)? else { return Ok(Err(self)) };
        let _ = remove_file(self.socket()); // of an owner that was killed
        let listener = InheritedSocket::new(UnixListener::bind(self.socket()).map_err(fault)?);
        self.folder.sweep(&self.stem, NAME_END);
        let socket = inode(&self.socket());
        Ok(Ok(Ownership { spot: self, lock, listener, socket }))
    }

    /// Locks the name of a session. Returns the note of the session that has it.
    ///
    /// # Errors
    /// [`InUse::NotShared`].
    pub(crate) fn reserve(&self, session: &SessionId) -> Result<Result<Reservation, Note>, InUse> {
        let taken = LockFile::take(&self.name(session)).map_err(|error| self.folder.fault(&error))?;
        Ok(taken.map(Reservation))
    }

    /// Asks the owner to pass a session's callers on.
    pub(crate) fn join(&self, request: &Request) -> Reception {
        self.try_to_join(request).unwrap_or(Reception::Nobody)
    }

    fn try_to_join(&self, request: &Request) -> io::Result<Reception> {
        // The queue of a suspended owner may be full. Connecting fails at once then, instead of waiting.
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&socket, &SocketAddrUnix::new(self.socket())?)?;
        let mut stream = UnixStream::from(socket);
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(ANSWERS))?;
        stream.write_all(&request.encode())?;
        match receive(&stream)? {
            Some((WELCOME, Some(listener))) => {
                let listener = TcpListener::from(listener);
                // An owner that has just closed the port gives nothing to wait at.
                if !socket_acceptconn(&listener)? {
                    return Ok(Reception::Nobody);
                }
                stream.set_read_timeout(None)?;
                let (stream, listener) = (InheritedSocket::new(stream), InheritedSocket::new(listener));
                Ok(Reception::Welcome(Membership { stream, listener }))
            }
            Some((TAKEN, None)) => {
                let mut bytes = [0; 5];
                stream.read_exact(&mut bytes)?;
                let [leaving, a, b, c, d] = bytes;
                Ok(Reception::Taken { process: u32::from_le_bytes([a, b, c, d]), leaving: leaving != 0 })
            }
            Some((REFUSED, None)) => Ok(Reception::Refused),
            _ => Ok(Reception::Nobody),
        }
    }
}

impl Ownership {
    /// Returns the socket at which other processes join.
    pub(crate) fn listener(&self) -> &UnixListener {
        &self.listener
    }

    /// Returns whether some process has a session of this name open, also one that has not joined this owner: it may
    /// be suspended. Returns true if that cannot be found out.
    pub(crate) fn is_open_somewhere(&self, session: &SessionId) -> bool {
        LockFile::is_taken(&self.spot.name(session)).unwrap_or(true)
    }

    /// Returns whether other processes find it at the place of its address: somebody may have emptied the folder.
    pub(crate) fn is_found(&self, address: &str) -> bool {
        let found = |spot: Spot| self.lock.is_at(&spot.lock()) && inode(&spot.socket()) == self.socket;
        Spot::of(address).is_ok_and(found)
    }
}

impl Drop for Ownership {
    fn drop(&mut self) {
        if !self.lock.is_held_here() {
            return; // a fork leaves everything as it is
        }
        silence(&*self.listener);
        // If somebody emptied the folder, the file there may be that of another owner.
        let socket = self.spot.socket();
        if self.socket.is_some() && inode(&socket) == self.socket {
            let _ = remove_file(&socket);
        }
    }
}

impl Reservation {
    /// Returns whether it locks the name of this session at this place: somebody may have emptied the folder.
    pub(crate) fn holds(&self, spot: &Spot, session: &SessionId) -> bool {
        self.0.is_at(&spot.name(session))
    }

    /// Notes that the session is leaving: the next one of its name waits.
    pub(crate) fn note_leaving(&self) {
        self.0.note_leaving();
    }
}

impl Request {
    fn encode(&self) -> [u8; REQUEST_BYTES] {
        let mut bytes = [0; REQUEST_BYTES];
        let mut rest = &mut bytes[..];
        for part in [&MAGIC[..], &self.fingerprint, &self.session, &self.process.to_le_bytes()] {
            let (place, after) = rest.split_at_mut(part.len());
            place.copy_from_slice(part);
            rest = after;
        }
        bytes
    }

    /// Decodes a request. Returns `None` if the bytes do not begin with the magic.
    pub(crate) fn decode(bytes: &[u8; REQUEST_BYTES]) -> Option<Request> {
        let (fingerprint, rest) = bytes.strip_prefix(&MAGIC)?.split_first_chunk()?;
        let (session, process) = rest.split_first_chunk()?;
        let process = u32::from_le_bytes(process.try_into().ok()?);
        Some(Request { fingerprint: *fingerprint, session: *session, process })
    }
}

/// A session's connection to the owner of its port.
pub(crate) struct Membership {
    stream: InheritedSocket<UnixStream>,
    listener: InheritedSocket<TcpListener>,
}

impl Membership {
    /// Returns the port's socket; `None` if it no longer listens.
    pub(crate) fn listening(&self) -> Option<TcpListener> {
        let listens = socket_acceptconn(&*self.listener).unwrap_or(false);
        self.listener.try_clone().ok().filter(|_| listens)
    }

    /// Returns the next caller; `None` if the owner is gone, or the membership has ended.
    pub(crate) fn next(&self) -> Option<Caller> {
        loop {
            let (class, socket) = receive(&self.stream).ok()??;
            let mut reply = [0; REPLY_BYTES];
            (&*self.stream).read_exact(&mut reply).ok()?;
            let class = Class::of_byte(class)?;
            // A process with too many open files gets no socket: the caller is lost, and calls again.
            let Some(stream) = socket.map(TcpStream::from) else { continue };
            if let Ok(from) = stream.peer_addr() {
                return Some(Caller { stream, from, class, reply });
            }
        }
    }

    /// Tells the owner that the session is leaving: the next one of its name waits.
    pub(crate) fn leave(&self) {
        let _ = send(&self.stream, &[LEAVES], None);
    }

    /// Ends the membership.
    pub(crate) fn end(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// A session of another process, at the owner.
pub(crate) struct Member(InheritedSocket<UnixStream>);

impl Member {
    /// Reads the request of a process that has connected.
    ///
    /// # Errors
    /// Those of the system; anything but a request.
    pub(crate) fn ask(mut stream: UnixStream) -> io::Result<(Member, Request)> {
        stream.set_read_timeout(Some(ANSWERS))?;
        let mut bytes = [0; REQUEST_BYTES];
        stream.read_exact(&mut bytes)?;
        stream.set_read_timeout(None)?;
        let request = Request::decode(&bytes).ok_or(ErrorKind::InvalidData)?;
        Ok((Member(InheritedSocket::new(stream)), request))
    }

    /// Returns another handle of it.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn another(&self) -> io::Result<Member> {
        self.0.try_clone().map(|stream| Member(InheritedSocket::new(stream)))
    }

    pub(crate) fn welcome(&self, listener: &TcpListener) -> io::Result<()> {
        send(&self.0, &[WELCOME], Some(listener.as_fd())).map(drop)
    }

    pub(crate) fn tell_taken(&self, process: u32, leaving: bool) {
        let [a, b, c, d] = process.to_le_bytes();
        let _ = (&*self.0).write_all(&[TAKEN, leaving.into(), a, b, c, d]);
    }

    pub(crate) fn refuse(&self) {
        let _ = send(&self.0, &[REFUSED], None);
    }

    /// Hands a caller on. A member that does not take it loses it: the caller calls again.
    pub(crate) fn hand(&self, caller: &Caller) {
        let mut bytes = [caller.class.byte(); 1 + REPLY_BYTES];
        bytes[1..].copy_from_slice(&caller.reply);
        match send(&self.0, &bytes, Some(caller.stream.as_fd())) {
            Ok(sent) if sent < bytes.len() => self.end(), // the member could not find the start of the next caller
            _ => {}
        }
    }

    /// Waits until the member says that it is leaving (true), or ends (false).
    pub(crate) fn hears_of_leaving(&self) -> bool {
        let mut byte = [0];
        loop {
            match (&*self.0).read(&mut byte) {
                Ok(bytes) if bytes > 0 => {
                    if byte == [LEAVES] {
                        return true;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => return false,
            }
        }
    }

    /// Ends the connection, also where a fork holds it.
    pub(crate) fn end(&self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

/// Stops listening, also where a fork holds the socket.
pub(crate) fn silence(listener: impl AsFd) {
    let _ = rustix::net::shutdown(listener, rustix::net::Shutdown::Both);
}

/// Sends bytes, with a socket. Returns how many were sent. It never waits.
fn send(stream: &UnixStream, bytes: &[u8], socket: Option<BorrowedFd<'_>>) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if let Some(socket) = &socket {
        control.push(SendAncillaryMessage::ScmRights(std::slice::from_ref(socket)));
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    Ok(rustix::net::sendmsg(stream, &[IoSlice::new(bytes)], &mut control, flags)?)
}

/// Receives a byte, and the socket that came with it. `None` at the end.
fn receive(stream: &UnixStream) -> io::Result<Option<(u8, Option<OwnedFd>)>> {
    loop {
        let mut byte = [0];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC;
        match rustix::net::recvmsg(stream, &mut [IoSliceMut::new(&mut byte)], &mut control, flags) {
            Ok(received) if received.bytes == 0 => return Ok(None),
            Ok(_) => {
                let socket = control.drain().find_map(|message| match message {
                    RecvAncillaryMessage::ScmRights(mut sockets) => sockets.next(),
                    _ => None,
                });
                return Ok(Some((byte[0], socket)));
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests;
