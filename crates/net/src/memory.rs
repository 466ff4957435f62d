//! Links between the threads of one process: frames are moved, never copied.

use quorate_sync::Arc;
use std::collections::VecDeque;
use std::time::Duration;

use crate::mailbox::Mailbox;
use crate::peers::Peers;
use crate::{Frame, Interrupt, Net, NetError, Place, Wait};

/// Most rounds take less time than this if each party has a core, and waking a thread takes about this long.
const PATIENCE: Duration = Duration::from_micros(25);

/// A frame, or the end of the link (`None`), of a peer.
type Letter = (usize, Option<Frame>);

/// One party's end of a memory mesh.
pub struct MemoryNet {
    peers: Peers,
    mailboxes: Arc<Vec<Arc<Mailbox<Letter>>>>,
    arrived: VecDeque<Letter>,
    interrupt: Interrupt,
}

/// Connects `parties` parties, each with each; element i is party i's end. Give each to its own thread.
pub fn mesh(parties: usize) -> Vec<MemoryNet> {
    let cores = quorate_sync::thread::available_parallelism().map_or(1, usize::from);
    let patience = if parties <= cores { PATIENCE } else { Duration::ZERO };
    let mailboxes: Arc<Vec<_>> = Arc::new((0..parties).map(|_| Arc::new(Mailbox::new(patience))).collect());
    let end = |me: usize| {
        let mine: Arc<Mailbox<Letter>> = Arc::clone(&mailboxes[me]);
        MemoryNet {
            peers: Peers::new(me, parties),
            mailboxes: Arc::clone(&mailboxes),
            arrived: VecDeque::new(),
            interrupt: Interrupt::new(move || mine.wake()),
        }
    };
    (0..parties).map(end).collect()
}

impl Net for MemoryNet {
    fn me(&self) -> usize {
        self.peers.me()
    }

    fn parties(&self) -> usize {
        self.peers.parties()
    }

    fn send(&mut self, to: usize, frame: Frame) -> Result<(), NetError> {
        self.peers.check_send(to, &frame)?;
        self.peers.count_sent(to, frame.len());
        self.mailboxes[to].put((self.peers.me(), Some(frame)));
        Ok(())
    }

    fn recv(&mut self, wait: Wait) -> Result<Option<(usize, Frame)>, NetError> {
        if self.arrived.is_empty() {
            let wait = self.peers.bounded_wait(wait);
            self.mailboxes[self.peers.me()].take(&mut self.arrived, wait, &self.interrupt);
        }
        match self.arrived.pop_front() {
            Some((peer, Some(frame))) => Ok(Some((peer, frame))),
            Some((peer, None)) => {
                Err(self.peers.fail(NetError::Lost { peer, place: Place::HERE, tried: Duration::ZERO }, peer))
            }
            None => self.peers.nothing(wait),
        }
    }

    fn queued(&self, _to: usize) -> usize {
        0
    }

    fn wire_bytes(&self) -> Vec<u64> {
        self.peers.sent()
    }

    fn flush(&mut self, _wait: Wait) -> Result<(), NetError> {
        Ok(())
    }

    fn interrupt_handle(&self) -> Interrupt {
        self.interrupt.clone()
    }
}

impl Drop for MemoryNet {
    fn drop(&mut self) {
        let me = self.peers.me();
        self.mailboxes[me].close();
        for (_, mailbox) in self.mailboxes.iter().enumerate().filter(|(peer, _)| *peer != me) {
            mailbox.put((me, None));
        }
    }
}
