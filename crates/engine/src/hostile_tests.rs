//! Tests of a peer that sends arbitrary frames. Frames of any bytes are accepted or end in a typed error, never in a
//! panic, and the memory that they take at this party is bounded.

use quorate_net::{Net, Wait, memory};
use quorate_ring::{Ring, Vector};

use crate::error::{Cause, Error, Fault, Result};
use crate::handshake::{Greeting, Trace};
use crate::lane::LaneId;
use crate::wire::{self, Abort, FrameType, Tag};
use crate::{Ctx, Party, Phase};

const RING: Ring = Ring::of(64);

/// A generator of test cases.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % sides
    }

    /// Returns a number near a bound where something may overflow.
    fn number(&mut self) -> u32 {
        let bases = [0, 1, 2, 3, 1 << 24, 1 << 31, u32::MAX - 1, u32::MAX];
        bases[self.roll(8) as usize].wrapping_add(self.roll(3) as u32).wrapping_sub(1)
    }

    fn lane(&mut self) -> LaneId {
        let root = LaneId::ROOT.child(self.roll(4));
        if self.roll(2) == 0 { root } else { root.child(self.roll(3)) }
    }

    /// Returns a frame that is nearly right.
    fn frame(&mut self) -> Vec<u8> {
        let handshake = [FrameType::Start, FrameType::Trace, FrameType::Node];
        let kinds = [FrameType::Data, FrameType::Data, FrameType::Data, FrameType::Abort, FrameType::Goodbye];
        let kind = kinds.get(self.roll(7) as usize).copied().unwrap_or_else(|| handshake[self.roll(3) as usize]);
        let number = if self.roll(4) > 0 { 1 } else { self.number() };
        let mut frame = wire::frame(kind, number);
        match kind {
            FrameType::Data => {
                for _ in 0..self.roll(4) {
                    let tag = Tag::ALL[self.roll(6) as usize];
                    let payload = vec![0xa5; [0, 1, 8, 8, 8, 32, 4000][self.roll(7) as usize]];
                    wire::push_piece(&mut frame, tag, self.lane(), self.number(), payload.len());
                    frame.extend_from_slice(&payload);
                }
            }
            FrameType::Abort => {
                let abort = Abort { own: self.number(), number, cause: Cause::Refused, origin: 1 };
                frame = wire::abort_frame(abort);
                frame[wire::HEADER_BYTES] = self.roll(13) as u8;
            }
            _ => frame.resize(frame.len() + [0, 8, 65, 66, 66, 66, 100][self.roll(7) as usize], 0),
        }
        match self.roll(6) {
            0 => frame.truncate(self.roll(frame.len() as u64 + 1) as usize),
            1 => {
                let at = self.roll(frame.len() as u64) as usize;
                frame[at] = self.roll(256) as u8;
            }
            _ => {}
        }
        frame
    }
}

/// Runs rounds of every shape with one peer.
async fn program(ctx: &Ctx) -> Result<()> {
    let shape = (RING, 1);
    for _ in 0..3 {
        ctx.exchange(&[(1, &Vector::zeros(RING, 1))], &[(1, shape)]).await?;
        let round = async |ctx: Ctx| ctx.exchange::<Vector>(&[], &[(1, shape)]).await;
        ctx.join(round, round).await?;
    }
    Ok(())
}

#[test]
fn any_frames_of_a_peer_end_in_a_typed_error_and_a_session_that_says_how_it_stands() {
    for seed in 0..20_000 {
        let mut dice = Dice(seed);
        let mut nets = memory::mesh(2).into_iter();
        let mut party = Party::new(Box::new(nets.next().unwrap()));
        let mut peer = nets.next().unwrap();
        if dice.roll(4) > 0 {
            let mut start = wire::frame(FrameType::Start, 1);
            start.resize(start.len() + 66, 0);
            peer.send(0, start).unwrap();
        }
        for _ in 0..dice.roll(40) {
            peer.send(0, dice.frame()).unwrap();
        }
        drop(peer);
        for _ in 0..4 {
            let ended = party.begin_alone().and_then(|mut run| {
                run.phase(Phase::Online, async |ctx| program(ctx).await)?;
                Ok(run.finish())
            });
            match ended {
                Err(error) if error.is_final() => assert!(party.is_over()),
                _ => {}
            }
        }
        assert!(party.is_over(), "the peer is gone, seed {seed}");
        assert_eq!(party.begin_alone().err(), Some(Error::Poisoned));
    }
}

/// Frames that this party's lane does not need: credit for nothing, progress of no stream, messages of another lane,
/// and greetings of runs that have ended.
fn noise(stage: usize, number: u32) -> Vec<u8> {
    let lane = LaneId::ROOT.child(Phase::Online as u64);
    let mut frame = wire::frame(if stage == 0 { FrameType::Data } else { FrameType::Start }, 1);
    if stage == 0 {
        wire::push_piece(&mut frame, Tag::Credit, lane, 0, 0);
        wire::push_piece(&mut frame, Tag::Progress, lane, number, 0);
        wire::push_piece(&mut frame, Tag::Last, LaneId::ROOT.child(7), 1, 1);
        frame.push(0);
    } else {
        frame.resize(frame.len() + 66, 0);
    }
    frame
}

#[test]
fn a_peer_that_says_much_and_nothing_that_is_due_is_not_waited_for_without_end() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};
    /// The noise ends then: a party that waits for as long has not noticed that nothing was due.
    const LONGEST: Duration = Duration::from_secs(30);
    let mut nets = memory::mesh(2).into_iter();
    let mut party = Party::new(Box::new(nets.next().unwrap()));
    let mut peer = nets.next().unwrap();
    let (stage, begun) = (AtomicUsize::new(0), Instant::now());
    party.set_patience(Some(Duration::from_millis(300)));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut start = wire::frame(FrameType::Start, 1);
            start.resize(start.len() + 66, 0);
            peer.send(0, start).unwrap();
            for number in 0.. {
                let stage = stage.load(Ordering::SeqCst);
                if stage > 1 || begun.elapsed() > LONGEST {
                    break;
                }
                peer.send(0, noise(stage, number)).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        for at in 0..2 {
            let ended = party.begin_alone().and_then(|mut run| {
                run.phase(Phase::Online, async |ctx| {
                    let send = async |ctx: Ctx| {
                        for _ in 0..6 {
                            ctx.exchange::<Vector>(&[(1, &Vector::zeros(RING, 1 << 17))], &[]).await?; // beyond credit
                        }
                        Ok(())
                    };
                    let hear = async |ctx: Ctx| ctx.exchange::<Vector>(&[], &[(1, (RING, 1))]).await;
                    ctx.join(send, hear).await
                })
                .map(drop)
            });
            let stalled = matches!(&ended, Err(Error::Net { peer: 1, fault: Fault::Stalled { .. }, .. }));
            stage.store(at + 1, Ordering::SeqCst);
            assert!(stalled, "{at}: {ended:?}");
            assert!(begun.elapsed() < LONGEST, "{at}: noise counts as what is due");
        }
    });
}

#[test]
fn random_bytes_are_refused() {
    let mut dice = Dice(1);
    for _ in 0..20_000 {
        let party = Party::new(Box::new(memory::mesh(2).remove(0)));
        let length = dice.roll(80) as usize;
        let frame: Vec<u8> = (0..length).map(|_| dice.roll(256) as u8).collect();
        let _ = party.core.deliver(1, frame);
    }
}

#[test]
fn data_of_a_run_that_has_not_begun_is_kept_for_it_and_of_an_older_one_dropped() {
    let mut nets = memory::mesh(2).into_iter();
    let mut party = Party::new(Box::new(nets.next().unwrap()));
    let mut peer = nets.next().unwrap();
    let lane = LaneId::ROOT.child(Phase::Online as u64);
    let data = |run: u32, value: u64| {
        let mut frame = wire::frame(FrameType::Data, run);
        wire::push_piece(&mut frame, Tag::Last, lane, 1, 8);
        frame.extend_from_slice(&value.to_le_bytes());
        frame
    };
    let start = |number: u32| {
        let mut frame = wire::frame(FrameType::Start, number);
        frame.resize(frame.len() + 66, 0);
        frame
    };
    // The peer is at number 3: the run is 3, and its data of runs 1 and 2 is stale, whenever it comes.
    for frame in [data(1, 10), data(3, 30), data(2, 20), start(3), data(1, 11), data(4, 40), data(3, 31)] {
        peer.send(0, frame).unwrap();
    }
    let mut run = party.begin_alone().unwrap();
    assert_eq!(run.agreement().run, 3);
    let read = run.phase(Phase::Online, async |ctx| {
        let got = ctx.exchange::<Vector>(&[], &[(1, (RING, 1)), (1, (RING, 1))]).await?;
        Ok(got.iter().map(|x| x.to_u64s()[0]).collect::<Vec<_>>())
    });
    assert_eq!(read, Ok(vec![30, 31]));
    run.finish();
    peer.send(0, start(4)).unwrap();
    let mut run = party.begin_alone().unwrap();
    let read =
        run.phase(Phase::Online, async |ctx| Ok(ctx.exchange::<Vector>(&[], &[(1, (RING, 1))]).await?[0].to_u64s()));
    assert_eq!(read, Ok(vec![40]));
    drop(run);
    let told = std::iter::from_fn(|| peer.recv(Wait::Poll).unwrap()).last().unwrap().1;
    assert_eq!(wire::header(&told).unwrap().kind, FrameType::Abort, "a dropped run is given up");
}

#[test]
fn depths_at_their_largest_do_not_overflow() {
    let mut nets = memory::mesh(2).into_iter();
    let mut party = Party::new(Box::new(nets.next().unwrap()));
    let mut peer = nets.next().unwrap();
    let mut frame = wire::frame(FrameType::Start, 1);
    frame.resize(frame.len() + 66, 0);
    peer.send(0, frame).unwrap();
    let mut frame = wire::frame(FrameType::Data, 1);
    for _ in 0..3 {
        wire::push_piece(&mut frame, Tag::Last, LaneId::ROOT.child(1), u32::MAX, 8);
        frame.extend_from_slice(&[0; 8]);
    }
    peer.send(0, frame).unwrap();
    let mut run = party.begin(&Greeting::default(), &Trace::default, &|_| String::new()).unwrap();
    run.phase(Phase::Online, async |ctx| {
        for _ in 0..3 {
            ctx.exchange(&[(1, &Vector::zeros(RING, 1))], &[(1, (RING, 1))]).await?;
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(run.finish().online.rounds, u32::MAX);
}

#[test]
fn data_that_is_kept_for_a_later_run_counts_until_it_is_read() {
    let party = Party::new(Box::new(memory::mesh(2).remove(0)));
    let core = &party.core;
    core.table.limit.store(1 << 20, std::sync::atomic::Ordering::SeqCst);
    let mut frame = wire::frame(FrameType::Data, 9);
    wire::push_piece(&mut frame, Tag::Last, LaneId::ROOT, 1, 200_000);
    frame.resize(frame.len() + 200_000, 0);
    let keep = |times: usize| (0..times).all(|_| core.deliver(1, frame.clone()).is_ok());
    assert!(keep(4));
    // Neither the end of an attempt nor the end of a run makes room for more.
    core.finish();
    core.attempts.borrow_mut().open().unwrap();
    core.give_up(&Error::Interrupted);
    assert!(keep(1) && !keep(1), "five frames of 200 kB are held, a sixth is not");
}

#[test]
fn data_of_an_absurd_run_is_refused() {
    for number in [1 << 25, u32::MAX - 1, u32::MAX] {
        let party = Party::new(Box::new(memory::mesh(2).remove(0)));
        let refused = party.core.deliver(1, wire::frame(FrameType::Data, number));
        assert!(matches!(refused, Err(Error::Malformed { peer: 1, .. })), "run {number}");
    }
}

/// A link that sends frames only when it is flushed, and late.
struct Late {
    inner: memory::MemoryNet,
    held: Vec<(usize, Vec<u8>)>,
    from: std::time::Instant,
}

impl Net for Late {
    fn me(&self) -> usize {
        self.inner.me()
    }
    fn parties(&self) -> usize {
        self.inner.parties()
    }
    fn send(&mut self, to: usize, frame: Vec<u8>) -> std::result::Result<(), quorate_net::NetError> {
        self.held.push((to, frame));
        Ok(())
    }
    fn recv(&mut self, wait: Wait) -> std::result::Result<Option<(usize, Vec<u8>)>, quorate_net::NetError> {
        self.inner.recv(wait)
    }
    fn queued(&self, to: usize) -> usize {
        self.held.iter().filter(|(peer, _)| *peer == to).map(|(_, frame)| frame.len()).sum()
    }
    fn wire_bytes(&self) -> Vec<u64> {
        self.inner.wire_bytes()
    }
    fn flush(&mut self, _: Wait) -> std::result::Result<(), quorate_net::NetError> {
        std::thread::sleep(std::time::Duration::from_millis(1));
        if std::time::Instant::now() >= self.from {
            self.held.drain(..).try_for_each(|(to, frame)| self.inner.send(to, frame))?;
        }
        Ok(())
    }
    fn interrupt_handle(&self) -> quorate_net::Interrupt {
        self.inner.interrupt_handle()
    }
}

/// Interrupts a party, and again while it gives up, over links that deliver frames `late` milliseconds late. Returns
/// the frames that its peer gets, and how long the party took.
fn gives_up(late: u64) -> (Vec<FrameType>, std::time::Duration) {
    use std::time::{Duration, Instant};
    let mut nets = memory::mesh(2).into_iter();
    let start = Instant::now();
    let inner = nets.next().unwrap();
    let mut peer = nets.next().unwrap();
    let mut party = Party::new(Box::new(Late { inner, held: Vec::new(), from: start + Duration::from_millis(late) }));
    let interrupt = party.interrupt_handle().unwrap();
    interrupt.raise();
    let again = std::thread::spawn(move || {
        while start.elapsed() < Duration::from_millis(300) {
            interrupt.raise();
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    assert_eq!(party.begin_alone().err(), Some(Error::Interrupted));
    let took = start.elapsed();
    again.join().unwrap();
    let frames = std::iter::from_fn(|| peer.recv(Wait::Poll).unwrap());
    let kinds = frames.map(|(_, frame)| wire::header(&frame).unwrap().kind).collect();
    party.over = true;
    (kinds, took)
}

#[test]
fn who_is_interrupted_twice_still_tells_the_peers_but_does_not_stay_for_long() {
    for (late, told) in [(50, true), (5000, false)] {
        // Test machines are busy: the shortest of a few attempts counts.
        let took = (0..3).map(|_| {
            let (kinds, took) = gives_up(late);
            assert_eq!(kinds.contains(&FrameType::Abort), told, "{kinds:?}");
            took
        });
        let took = took.min().unwrap();
        assert!(took.as_millis() < 1500, "{took:?}");
    }
}
