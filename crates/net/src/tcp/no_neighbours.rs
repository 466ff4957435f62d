//! Systems without a way to share a port among processes: each process has its own (see `neighbours.rs`).
#![allow(dead_code)] // none of these types has a value

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;

use super::callers::Caller;
use super::session::SessionId;
use crate::InUse;

/// No address has a place.
pub(crate) struct Spot(Infallible);

pub(crate) struct Ownership(Infallible);

pub(crate) struct Reservation(Infallible);

pub(crate) struct Note {
    pub(crate) process: u32,
    pub(crate) leaving: bool,
}

pub(crate) struct Request {
    pub(crate) fingerprint: [u8; 32],
    pub(crate) session: SessionId,
    pub(crate) process: u32,
}

pub(crate) enum Reception {
    Welcome(Membership),
    Taken { process: u32, leaving: bool },
    Refused,
    Nobody,
}

pub(crate) struct Membership(Infallible);

pub(crate) struct Member(Infallible);

/// A listener for other processes; has no value on this system.
pub(crate) struct UnixListener(Infallible);

pub(crate) struct UnixStream(Infallible);

impl Spot {
    pub(crate) fn of(_: &str) -> Result<Spot, InUse> {
        Err(InUse::Elsewhere)
    }

    pub(crate) fn own(self) -> Result<Result<Ownership, Spot>, InUse> {
        match self.0 {}
    }

    pub(crate) fn reserve(&self, _: &SessionId) -> Result<Result<Reservation, Note>, InUse> {
        match self.0 {}
    }

    pub(crate) fn join(&self, _: &Request) -> Reception {
        match self.0 {}
    }
}

impl Ownership {
    pub(crate) fn listener(&self) -> &UnixListener {
        match self.0 {}
    }

    pub(crate) fn is_open_somewhere(&self, _: &SessionId) -> bool {
        match self.0 {}
    }

    pub(crate) fn is_found(&self, _: &str) -> bool {
        match self.0 {}
    }
}

impl Drop for Ownership {
    fn drop(&mut self) {
        match self.0 {}
    }
}

impl Reservation {
    pub(crate) fn holds(&self, _: &Spot, _: &SessionId) -> bool {
        match self.0 {}
    }

    pub(crate) fn note_leaving(&self) {
        match self.0 {}
    }
}

impl UnixListener {
    pub(crate) fn accept(&self) -> io::Result<(UnixStream, ())> {
        match self.0 {}
    }

    pub(crate) fn try_clone(&self) -> io::Result<UnixListener> {
        match self.0 {}
    }
}

#[cfg(unix)]
impl std::os::fd::AsRawFd for UnixListener {
    fn as_raw_fd(&self) -> i32 {
        match self.0 {}
    }
}

impl Membership {
    pub(crate) fn listening(&self) -> Option<TcpListener> {
        match self.0 {}
    }

    pub(crate) fn next(&self) -> Option<Caller> {
        match self.0 {}
    }

    pub(crate) fn leave(&self) {
        match self.0 {}
    }

    pub(crate) fn end(&self) {
        match self.0 {}
    }
}

impl Member {
    pub(crate) fn ask(stream: UnixStream) -> io::Result<(Member, Request)> {
        match stream.0 {}
    }

    pub(crate) fn another(&self) -> io::Result<Member> {
        match self.0 {}
    }

    pub(crate) fn welcome(&self, _: &TcpListener) -> io::Result<()> {
        match self.0 {}
    }

    pub(crate) fn tell_taken(&self, _: u32, _: bool) {
        match self.0 {}
    }

    pub(crate) fn refuse(&self) {
        match self.0 {}
    }

    pub(crate) fn hand(&self, _: &Caller) {
        match self.0 {}
    }

    pub(crate) fn hears_of_leaving(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn end(&self) {
        match self.0 {}
    }
}

/// Stops listening. The socket is closed after this; a fork may hold it longer.
pub(crate) fn silence<T>(_: T) {}
