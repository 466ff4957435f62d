//! The items that a party sends over a link, kept until the peer has acknowledged them, so that a new connection can
//! continue where the peer has got to. Without I/O.
//!
//! ```text
//!   base        acked          taken                    end        byte numbers in the stream
//!    | item  item | item  item   | item   item   item    |
//!    +------ kept --------------+------- queued ---------+
//! ```

use std::collections::VecDeque;

use super::frames::{HEADER, Item};

/// The memory of kept items from which nothing more is taken until the peer acknowledges some, if its acknowledgements
/// are read: a round trip of 100 ms at 2.5 Gbit/s.
pub(crate) const KEPT_BYTES: usize = 32 << 20;
/// About the memory of an item besides its bytes, so that a flood of empty frames is bounded, too.
pub(crate) const ITEM_COST: usize = 64;

/// A position that the peer cannot have reached, or was beyond before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Impossible;

/// Items in the order in which they are sent.
#[derive(Default)]
pub(crate) struct Resend {
    items: VecDeque<Item>,
    /// The number of the first byte of the first item.
    base: u64,
    /// The number of bytes that the peer has acknowledged.
    acked: u64,
    /// The number of items that were taken wholly on this connection, the bytes taken of the next one, and its first
    /// byte's number.
    next: usize,
    next_at: usize,
    next_base: u64,
    /// The largest number of bytes that were ever taken.
    most: u64,
    /// The number of bytes of all items ever pushed.
    end: u64,
    /// The memory of the items that were taken wholly on this connection.
    kept: usize,
}

impl Resend {
    pub(crate) fn push(&mut self, item: Item) {
        self.end += length(&item) as u64;
        self.items.push_back(item);
    }

    /// Returns the number of bytes that were not taken on this connection.
    pub(crate) fn queued(&self) -> usize {
        (self.end - self.taken()) as usize
    }

    /// Returns whether the peer has acknowledged everything.
    pub(crate) fn is_delivered(&self) -> bool {
        self.acked == self.end
    }

    /// Returns whether the bytes taken so far end with an item, so that a signal may follow.
    pub(crate) fn is_between_items(&self) -> bool {
        self.next_at == 0
    }

    /// Appends the rest of an item that was begun to `out`, until `out` has `most` bytes.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>, most: usize) {
        if self.next_at > 0 {
            self.take_one(out, most);
        }
        self.most = self.most.max(self.taken());
    }

    /// Appends the next bytes to `out` until it has `most` bytes, nothing is queued, or the memory of kept items has
    /// reached `limit`.
    pub(crate) fn take(&mut self, out: &mut Vec<u8>, most: usize, limit: usize) {
        while out.len() < most && (self.next_at > 0 || self.kept < limit) && self.next < self.items.len() {
            self.take_one(out, most);
        }
        self.most = self.most.max(self.taken());
    }

    fn take_one(&mut self, out: &mut Vec<u8>, most: usize) {
        let Some(item) = self.items.get(self.next) else { return };
        if self.next_at < HEADER {
            out.extend_from_slice(&item.header()[self.next_at..]);
            self.next_at = HEADER;
        }
        let body = &item.body()[self.next_at - HEADER..];
        let body = &body[..body.len().min(most.saturating_sub(out.len()))];
        out.extend_from_slice(body);
        self.next_at += body.len();
        if self.next_at == length(item) {
            self.kept += memory(item);
            self.next_base += length(item) as u64;
            (self.next, self.next_at) = (self.next + 1, 0);
        }
    }

    /// Forgets the items that the peer has received wholly: it has received this number of bytes.
    ///
    /// # Errors
    /// The peer cannot have received this number of bytes. Nothing is changed then.
    pub(crate) fn acknowledge(&mut self, received: u64) -> Result<(), Impossible> {
        if received < self.acked || received > self.most {
            return Err(Impossible);
        }
        self.acked = received;
        while let Some(item) = self.items.front()
            && self.next > 0
            && self.base + length(item) as u64 <= received
        {
            self.base += length(item) as u64;
            self.kept -= memory(item);
            self.next -= 1;
            self.items.pop_front();
        }
        Ok(())
    }

    /// Begins again, on a new connection, with the first byte that the peer lacks: it has received this number of
    /// bytes.
    ///
    /// # Errors
    /// The peer cannot have received this number of bytes. Nothing is changed then.
    pub(crate) fn resume(&mut self, received: u64) -> Result<(), Impossible> {
        if received < self.acked || received > self.most {
            return Err(Impossible);
        }
        self.acked = received;
        while let Some(item) = self.items.front()
            && self.base + length(item) as u64 <= received
        {
            self.base += length(item) as u64;
            self.items.pop_front();
        }
        (self.next, self.next_at, self.next_base) = (0, (received - self.base) as usize, self.base);
        self.kept = 0;
        Ok(())
    }

    /// Queues everything again that the peer has not acknowledged, since the connection was lost.
    pub(crate) fn lose(&mut self) {
        let resumed = self.resume(self.acked);
        debug_assert!(resumed.is_ok(), "the peer was there before");
    }

    fn taken(&self) -> u64 {
        self.next_base + self.next_at as u64
    }
}

fn length(item: &Item) -> usize {
    HEADER + item.body().len()
}

/// Returns about the memory of an item.
pub(crate) fn memory(item: &Item) -> usize {
    item.body().len() + ITEM_COST
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::frames::{Arrived, Cutter};
    use super::*;
    use crate::{Frame, MAX_FRAME};

    #[derive(Clone, Debug)]
    enum Event {
        Push(usize),
        Take(usize),
        /// This part of the bytes under way arrives.
        Arrive(usize),
        /// The receiver's position reaches the sender.
        Acknowledge,
        /// The connection is cut: what is under way is lost; and it is resumed.
        Cut,
        /// The connection is cut, and not yet resumed.
        Lose,
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            4 => (0usize..300).prop_map(Event::Push),
            4 => (1usize..400).prop_map(Event::Take),
            4 => (1usize..200).prop_map(Event::Arrive),
            2 => Just(Event::Acknowledge),
            1 => Just(Event::Cut),
            1 => Just(Event::Lose),
        ]
    }

    fn frame(number: usize, length: usize) -> Frame {
        (0..length).map(|i| (number * 31 + i) as u8).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Compares with a model: a list of all items. The receiver gets a prefix of it, and all of it at the end.
        #[test]
        fn items_arrive_once_and_in_order_over_any_cuts(events in proptest::collection::vec(event(), 1..80)) {
            let (mut resend, mut cutter) = (Resend::default(), Cutter::default());
            let (mut all, mut arrived) = (Vec::new(), Vec::new());
            let mut under_way: Vec<u8> = Vec::new();
            let mut end = |resend: &mut Resend, cutter: &mut Cutter, under_way: &mut Vec<u8>, events: &[Event]| {
                for event in events {
                    match event {
                        Event::Push(length) => {
                            all.push(frame(all.len(), *length));
                            resend.push(Item::Frame(frame(all.len() - 1, *length)));
                        }
                        Event::Take(most) => {
                            let mut out = Vec::new();
                            resend.finish(&mut out, *most);
                            resend.take(&mut out, *most, KEPT_BYTES);
                            assert!(out.len() < most + HEADER + 1);
                            under_way.extend_from_slice(&out);
                        }
                        Event::Arrive(bytes) => {
                            let now: Vec<u8> = under_way.drain(..(*bytes).min(under_way.len())).collect();
                            cutter.cut(&now, &mut |item| arrived.push(item)).unwrap();
                        }
                        Event::Acknowledge => resend.acknowledge(cutter.received()).unwrap(),
                        Event::Cut => {
                            under_way.clear();
                            cutter.restart();
                            resend.resume(cutter.received()).unwrap();
                        }
                        Event::Lose => {
                            under_way.clear();
                            cutter.restart();
                            resend.lose();
                            resend.resume(cutter.received()).unwrap();
                        }
                    }
                    let got: Vec<Arrived> =
                        all[..arrived.len()].iter().map(|frame| Arrived::Item(Item::Frame(frame.clone()))).collect();
                    assert_eq!(arrived, got);
                    let total: usize = all.iter().map(|frame| HEADER + frame.len()).sum();
                    assert_eq!(resend.end, total as u64);
                    assert_eq!(resend.queued() + resend.taken() as usize, total);
                }
                (all.len(), arrived.len())
            };
            end(&mut resend, &mut cutter, &mut under_way, &events);
            let last = [Event::Take(usize::MAX >> 1), Event::Arrive(usize::MAX), Event::Acknowledge];
            let (pushed, came) = end(&mut resend, &mut cutter, &mut under_way, &last);
            prop_assert_eq!(pushed, came);
            prop_assert!(resend.is_delivered() && resend.items.is_empty() && resend.kept == 0);
        }
    }

    #[test]
    fn kept_items_are_bounded_until_they_are_acknowledged() {
        for length in [0, 100, MAX_FRAME] {
            let mut resend = Resend::default();
            let frames = 2 * KEPT_BYTES / (length + ITEM_COST);
            (0..frames).for_each(|_| resend.push(Item::Frame(vec![1; length])));
            let mut out = Vec::new();
            (0..10).for_each(|_| resend.take(&mut out, usize::MAX, KEPT_BYTES));
            let most = KEPT_BYTES / (length + ITEM_COST) + 1;
            assert!(resend.next <= most && resend.kept < KEPT_BYTES + MAX_FRAME + ITEM_COST, "{length}");
            let before = out.len();
            resend.acknowledge(before as u64 / 2).unwrap();
            resend.take(&mut out, usize::MAX, KEPT_BYTES);
            assert!(out.len() > before + before / 3, "{length}");
        }
    }

    #[test]
    fn impossible_positions_are_refused() {
        let mut resend = Resend::default();
        (0..3).for_each(|_| resend.push(Item::Frame(vec![7; 100])));
        assert_eq!(resend.acknowledge(1), Err(Impossible), "nothing was sent");
        let mut out = Vec::new();
        resend.take(&mut out, 150, KEPT_BYTES);
        assert_eq!(out.len(), 150);
        assert_eq!(resend.acknowledge(151), Err(Impossible));
        resend.acknowledge(120).unwrap();
        assert_eq!((resend.acknowledge(119), resend.resume(119)), (Err(Impossible), Err(Impossible)));
        resend.lose();
        assert_eq!(resend.queued(), 312 - 120);
        assert_eq!(resend.resume(151), Err(Impossible));
        resend.resume(150).unwrap();
        assert_eq!(resend.queued(), 312 - 150);
    }
}
