//! Tests of `link`: one end is a link, the other end sends whatever a test wants it to.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream as StdStream};
use std::sync::atomic::AtomicBool;
use std::thread;

use super::super::frames::{Arrived, Cutter, HEADER};
use super::super::handshake::Talk;
use super::super::incoming::INBOX_BYTES;
use super::super::pinned::tests::loaded;
use super::super::resend::ITEM_COST;
use super::*;

/// The other end of a link, which sends whatever a test wants it to.
struct Far(Established);

impl Far {
    fn say(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let mut sealed = Vec::new();
        self.0.channel.seal(bytes, &mut sealed).unwrap();
        self.0.stream.write_all(&sealed)
    }

    /// Hands what arrives to `heard`; false at the end.
    fn hear(&mut self, heard: &mut dyn FnMut(&[u8])) -> bool {
        let bytes = self.0.stream.read(self.0.channel.room()).unwrap();
        self.0.channel.filled(bytes);
        bytes > 0 && !self.0.channel.open(heard, &mut Vec::new()).unwrap()
    }
}

/// Returns a link of party 0 to party 1, and party 1's end.
fn link(name: &str) -> (Link, Far) {
    let (near, far) = ends(name);
    (Link::new(1, Place::HERE, near).unwrap(), far)
}

/// Returns the ends of a connection of parties 0 and 1.
fn ends(name: &str) -> (Established, Far) {
    let (parties, _) = loaded(name);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let far = StdStream::connect(listener.local_addr().unwrap()).unwrap();
    let near = listener.accept().unwrap().0;
    let (never, deadline) = (AtomicBool::new(false), Instant::now() + Duration::from_secs(60));
    let met = |stream, channel| Talk::begin(stream, channel, &[], deadline, &never).unwrap().establish().unwrap();
    thread::scope(|scope| {
        let far = scope.spawn(|| met(far, parties[1].dial(0).unwrap()));
        let near = met(near, parties[0].accept().unwrap());
        let far = far.join().unwrap();
        far.stream.set_nonblocking(false).unwrap();
        far.stream.set_read_timeout(None).unwrap();
        (near, Far(far))
    })
}

fn pump_until(link: &mut Link, done: impl Fn(&Link) -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !done(link) {
        assert!(Instant::now() < end, "in time");
        link.pump_in();
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn an_oversized_header_ends_the_link_after_the_frames_before_it() {
    let (mut link, mut far) = link("oversized");
    far.say(&[3, 0, 0, 0, 7, 8, 9]).unwrap();
    far.say(&(MAX_FRAME as u32 + 1).to_le_bytes()).unwrap();
    far.say(&[0; 100]).unwrap();
    pump_until(&mut link, |link| link.failure().is_some());
    let bytes = MAX_FRAME + 1;
    let told = link.failure();
    assert!(matches!(told, Some(NetError::FrameTooLarge { peer: 1, bytes: b, limit: MAX_FRAME }) if *b == bytes));
    assert_eq!(link.pop(), Some(vec![7, 8, 9]));
    assert_eq!(link.pop(), None);
}

#[test]
fn a_flood_of_empty_frames_is_held_back() {
    let (mut link, mut far) = link("flood");
    far.0.stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    thread::spawn(move || {
        while far.say(&[0; 64 << 10]).is_ok() {}
        thread::sleep(Duration::from_secs(5));
    });
    pump_until(&mut link, |link| link.incoming.is_full());
    link.pump_in();
    let most = INBOX_BYTES / ITEM_COST + READS * (256 << 10) / HEADER;
    assert!(link.incoming.inbox.len() <= most && !link.wants_read());
    assert!(link.due_at(Duration::ZERO).is_none(), "who does not listen cannot call the other silent");
    while link.pop().is_some() {}
    assert!(link.incoming.inbox_bytes == 0 && link.wants_read());
}

#[test]
fn unsent_bytes_stay_queued_and_counted() {
    let (mut link, mut far) = link("queued");
    let (frames, before) = (32, link.sent_bytes());
    (0..frames).for_each(|_| link.push(Item::Frame(vec![5; MAX_FRAME])));
    assert!(link.queued() > 0);
    let plain = frames * (HEADER + MAX_FRAME);
    let sealed = plain as u64..(plain + plain / 100) as u64;
    assert!(sealed.contains(&(link.queued() as u64 + link.sent_bytes() - before)));
    let reader = thread::spawn(move || {
        let (mut cutter, mut frames) = (Cutter::default(), 0);
        let mut count =
            |arrived| frames += usize::from(matches!(arrived, Arrived::Item(item) if item.body().len() == MAX_FRAME));
        while far.hear(&mut |piece| cutter.cut(piece, &mut count).unwrap()) {}
        frames
    });
    while link.queued() > 0 {
        link.pump_out();
    }
    assert!(sealed.contains(&(link.sent_bytes() - before)));
    link.begin_close();
    assert_eq!(reader.join().unwrap(), frames);
}

#[test]
fn what_comes_with_a_new_connection_waits_for_room() {
    let (mut first, _far) = link("held");
    let (next, mut far) = ends("held-next");
    first.be_patient(Duration::from_secs(60));
    first.incoming.inbox_bytes = INBOX_BYTES;
    first.lose(Cause::Cut);
    let claim = first.claim().unwrap();
    let opened = [&Item::Frame(vec![7; 100]).header()[..], &[7; 100]].concat();
    first.resume(Established { opened, ..next }, Claim { received: 0, ..claim }, |_| Ok(()));
    far.say(&[1, 0, 0, 0, 8]).unwrap();
    (0..20).for_each(|_| first.pump_in());
    assert_eq!((first.incoming.inbox.len(), first.incoming.cutter.received()), (0, 0));
    first.incoming.inbox_bytes = 0;
    pump_until(&mut first, |link| link.incoming.inbox.len() == 2);
    assert_eq!([first.pop(), first.pop()], [Some(vec![7; 100]), Some(vec![8])]);
}

/// The peer may still be in the handshake, which a goodbye would end.
#[test]
fn a_new_connection_is_tried_before_a_goodbye() {
    let (mut link, _far) = link("goodbye");
    let (next, mut far) = ends("goodbye-next");
    link.be_patient(Duration::from_secs(60));
    link.leave();
    link.pump_in();
    assert!(link.is_delivered() && link.can_say_goodbye());
    let claim = Claim { attempt: 1, received: 0 };
    link.concede(claim).unwrap();
    assert!(!link.can_say_goodbye(), "there is no connection");
    link.resume(next, claim, |_| Ok(()));
    link.pump_in();
    assert!(link.is_delivered() && !link.can_say_goodbye());
    let (mut cutter, mut asked) = (Cutter::default(), false);
    let mut note = |arrived| asked |= arrived == Arrived::Signal(Signal::Ask);
    assert!(far.hear(&mut |piece| cutter.cut(piece, &mut note).unwrap()) && asked);
    let mut answer = Vec::new();
    Signal::Received(0).write(&mut answer);
    far.say(&answer).unwrap();
    pump_until(&mut link, Link::can_say_goodbye);
}

/// The peer's acknowledgements come after frames that are not read.
#[test]
fn a_full_inbox_does_not_hold_up_what_is_sent() {
    let (mut link, mut far) = link("kept");
    let reader = thread::spawn(move || while far.hear(&mut |_| {}) {});
    let frames = 2 * KEPT_BYTES / MAX_FRAME;
    (0..frames).for_each(|_| link.push(Item::Frame(vec![5; MAX_FRAME])));
    let mut sends_all = |full: usize, wait: u64| {
        link.incoming.inbox_bytes = full;
        let end = Instant::now() + Duration::from_secs(wait);
        while link.queued() > 0 && Instant::now() < end {
            link.pump_out();
        }
        link.queued() == 0
    };
    assert!(!sends_all(0, 2), "the peer has acknowledged nothing");
    assert!(sends_all(INBOX_BYTES, 30));
    link.hang_up();
    reader.join().unwrap();
}
