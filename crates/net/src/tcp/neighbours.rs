//! Sessions of several processes at one port: the process that owns the port hands connections to the others.
//!
//! Processes of one user meet in a folder that no other user can enter. The one that holds the lock of an address owns
//! its port, and listens at a Unix socket beside the lock. Others join there, once for each session:
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
//! them. A lock belongs to a process, not to its forks, and ends with it, however it ends.

use std::env;
use std::fs::{DirBuilder, File, OpenOptions, read_link, remove_file, symlink_metadata};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
pub(crate) use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::net::sockopt::socket_acceptconn;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with,
};

use super::callers::{Caller, Class};
use super::inherited::InheritedSocket;
use super::knock::REPLY_BYTES;
use super::session::{ID_BYTES, SessionId};

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

/// The folder's place of one address: its lock and its socket.
pub(crate) struct Spot {
    lock: PathBuf,
    socket: PathBuf,
}

/// The ownership of an address. Dropping it gives it up.
pub(crate) struct Ownership {
    spot: Spot,
    file: File,
    /// The socket's file that this owner made.
    socket: Option<Inode>,
}

/// A file's device and inode, which distinguish it from another file of the same name.
type Inode = (u64, u64);

fn inode(path: &Path) -> Option<Inode> {
    symlink_metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

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
    /// Returns the place of an address. `None` if this user has no folder that is safe.
    pub(crate) fn of(address: &str) -> Option<Spot> {
        Spot::within(&folder()?, address)
    }

    fn within(folder: &Path, address: &str) -> Option<Spot> {
        // One folder may be visible in several containers, which do not share ports.
        let network = read_link("/proc/self/ns/net").unwrap_or_default();
        let mut hasher = blake3::Hasher::new_derive_key("quorate-net 2026-11-29 processes that share a port");
        hasher.update(network.as_os_str().as_encoded_bytes()).update(&[0]).update(address.as_bytes());
        let name = hasher.finalize().to_hex();
        let path = |end: &str| folder.join(format!("{}.{end}", &name[..32]));
        is_private(folder).then(|| Spot { lock: path("lock"), socket: path("sock") })
    }

    /// Takes the ownership. `None` if another process has it. A process asks for each address once at a time, and not
    /// while it owns it.
    pub(crate) fn own(self) -> Result<Ownership, Spot> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&self.lock);
        let owned = file.and_then(|file| {
            fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive)?;
            // The owner before removes the file before it gives the lock up.
            let ours = file.metadata()?;
            (inode(&self.lock) == Some((ours.dev(), ours.ino()))).then_some(file).ok_or(ErrorKind::NotFound.into())
        });
        match owned {
            Ok(file) => Ok(Ownership { spot: self, file, socket: None }),
            Err(_) => Err(self),
        }
    }

    /// Asks the owner to pass a session's callers on.
    pub(crate) fn join(&self, request: &Request) -> Reception {
        self.try_to_join(request).unwrap_or(Reception::Nobody)
    }

    fn try_to_join(&self, request: &Request) -> io::Result<Reception> {
        // The queue of a suspended owner may be full. Connecting fails at once then, instead of waiting.
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&socket, &SocketAddrUnix::new(&self.socket)?)?;
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
    /// Listens for other processes.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn listen(&mut self) -> io::Result<UnixListener> {
        let _ = remove_file(&self.spot.socket); // of an owner that was killed
        let listener = UnixListener::bind(&self.spot.socket)?;
        self.socket = inode(&self.spot.socket);
        Ok(listener)
    }
}

impl Drop for Ownership {
    fn drop(&mut self) {
        // If somebody emptied the folder, the files there may be those of another owner.
        let lock = self.file.metadata().ok().map(|ours| (ours.dev(), ours.ino()));
        for (path, ours) in [(&self.spot.socket, self.socket), (&self.spot.lock, lock)] {
            if ours.is_some() && inode(path) == ours {
                let _ = remove_file(path);
            }
        }
        let _ = fcntl_lock(&self.file, FlockOperation::Unlock);
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

/// Returns this user's folder, which is made if there is none.
fn folder() -> Option<PathBuf> {
    let runtime = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = match runtime {
        Some(runtime) => runtime.join("quorate"),
        None => env::temp_dir().join(format!("quorate-{}", rustix::process::geteuid().as_raw())),
    };
    let _ = DirBuilder::new().mode(0o700).create(&folder); // it may be there
    Some(folder)
}

/// Returns whether only this user can enter a folder, and only this user or the system can replace it.
fn is_private(folder: &Path) -> bool {
    let me = rustix::process::geteuid().as_raw();
    let above = folder.parent().and_then(|parent| parent.metadata().ok());
    // In a folder that all may write to (sticky), only the owner of an entry can replace it.
    let above_is_safe = above.is_some_and(|above| {
        [0, me].contains(&above.uid()) && (above.mode() & 0o022 == 0 || above.mode() & 0o1000 != 0)
    });
    let is_ours = symlink_metadata(folder).is_ok_and(|it| it.is_dir() && it.uid() == me && it.mode() & 0o077 == 0);
    is_ours && above_is_safe
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
