//! A party's record of its peers on links within a process: failures, and bytes sent.

use crate::{Frame, MAX_FRAME, NetError, Wait};

pub(crate) struct Peers {
    me: usize,
    failed: Vec<Option<NetError>>,
    sent: Vec<u64>,
}

impl Peers {
    pub(crate) fn new(me: usize, parties: usize) -> Self {
        Peers { me, failed: vec![None; parties], sent: vec![0; parties] }
    }

    pub(crate) fn me(&self) -> usize {
        self.me
    }

    pub(crate) fn parties(&self) -> usize {
        self.failed.len()
    }

    /// Checks that the frame may be sent to this peer.
    pub(crate) fn check_send(&self, to: usize, frame: &Frame) -> Result<(), NetError> {
        if to == self.me || to >= self.parties() {
            return Err(NetError::NoSuchPeer { peer: to, me: self.me, parties: self.parties() });
        }
        if frame.len() > MAX_FRAME {
            return Err(NetError::FrameTooLarge { peer: to, bytes: frame.len(), limit: MAX_FRAME });
        }
        self.failed[to].clone().map_or(Ok(()), Err)
    }

    pub(crate) fn count_sent(&mut self, to: usize, bytes: usize) {
        self.sent[to] += bytes as u64;
    }

    pub(crate) fn sent(&self) -> Vec<u64> {
        self.sent.clone()
    }

    /// Records a failure that is being reported, and returns it.
    pub(crate) fn fail(&mut self, error: NetError, peer: usize) -> NetError {
        self.failed[peer] = Some(error.clone());
        error
    }

    /// Returns the wait, or no wait once no peer is left.
    pub(crate) fn bounded_wait(&self, wait: Wait) -> Wait {
        if self.all_failed() { Wait::Poll } else { wait }
    }

    /// Returns the result of `recv` when nothing has arrived.
    pub(crate) fn nothing<T>(&self, wait: Wait) -> Result<Option<T>, NetError> {
        if wait != Wait::Poll && self.all_failed() { Err(NetError::NoPeersLeft) } else { Ok(None) }
    }

    fn all_failed(&self) -> bool {
        self.failed.iter().enumerate().all(|(peer, failure)| peer == self.me || failure.is_some())
    }
}
