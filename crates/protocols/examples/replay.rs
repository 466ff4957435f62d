//! Measures one party apart from its peers: a run's incoming messages are recorded at that party, and it alone computes
//! again against the record, with several numbers of workers: `cargo run --release -p quorate-protocols --features
//! testing --example replay -- FAMILY OPERATION LEN [PARTY [WORKERS...]]`, for instance `rss lt 1000000 0 1 2`.
//! Operations are lt, fixed (products of fixed-point numbers), divide, sigmoid, shuffle, triple, and aes (labels).
//!
//! Times are those of the offline and of the online phase, in seconds; the fastest of three. The record is in memory,
//! and that of a phase arrives when it begins, as fast as the party takes it; what the party sends is dropped. So no
//! thread but its own takes a core. Messages are watched as in tests, under a lock that all workers share.
//! Peers count as reading at once: credit that arrives before its lane begins is lost, so the party does not wait for
//! the recorded credit. All randomness comes from seeds that are set here.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use quorate_circuits::{Order, Program, catalog};
use quorate_crypto::Seed;
use quorate_engine::testing::granting;
use quorate_engine::{Ctx, Demand, Party, Phase, Result, dry};
use quorate_gadgets::{Choices, Family, Width};
use quorate_net::{Frame, Interrupt, Net, NetError, Wait, memory};
use quorate_protocols::{Protocol, Visit};
use quorate_ring::{Bits, Ring, Vector, memory as memory_of_vectors, threads};

/// The allocator of the Python module, so that figures are the same.
#[global_allocator]
static ALLOCATOR: quorate_ring::memory::Careful = quorate_ring::memory::Careful;

const RING: Ring = Ring::of(64);
const FRAC: u32 = 16;
const TRIES: usize = 3;

/// The frames that a party received: during the setup, while the run began, and in each phase.
type Record = Arc<Mutex<Vec<Vec<(usize, Frame)>>>>;

/// Links of the party that is measured.
struct Watched<S> {
    net: Box<dyn Net>,
    source: S,
}

/// What arrives and what is sent at the party that is measured.
trait Source: Send {
    /// Whether frames reach the peers.
    const SENDS: bool;

    /// Returns the next frame.
    fn next(&mut self, net: &mut dyn Net, wait: Wait) -> std::result::Result<Option<(usize, Frame)>, NetError>;
}

/// Frames of the peers, which are recorded.
struct Live(Record);

impl Source for Live {
    const SENDS: bool = true;

    fn next(&mut self, net: &mut dyn Net, wait: Wait) -> std::result::Result<Option<(usize, Frame)>, NetError> {
        let arrived = net.recv(wait)?;
        if let Some((from, frame)) = &arrived {
            self.0.lock().expect("one thread").last_mut().expect("a run").push((*from, frame.clone()));
        }
        Ok(arrived)
    }
}

/// The frames that a record has of the present run. All are there at once; nothing else uses the machine's cores.
#[derive(Clone, Default)]
struct Played(Arc<Mutex<VecDeque<(usize, Frame)>>>);

impl Source for Played {
    const SENDS: bool = false;

    fn next(&mut self, net: &mut dyn Net, wait: Wait) -> std::result::Result<Option<(usize, Frame)>, NetError> {
        match self.0.lock().expect("one thread").pop_front() {
            None => net.recv(wait),
            some => Ok(some),
        }
    }
}

impl<S: Source> Net for Watched<S> {
    fn me(&self) -> usize {
        self.net.me()
    }

    fn parties(&self) -> usize {
        self.net.parties()
    }

    fn send(&mut self, to: usize, frame: Frame) -> std::result::Result<(), NetError> {
        if S::SENDS { self.net.send(to, frame) } else { Ok(()) }
    }

    fn recv(&mut self, wait: Wait) -> std::result::Result<Option<(usize, Frame)>, NetError> {
        self.source.next(&mut *self.net, wait)
    }

    fn queued(&self, to: usize) -> usize {
        self.net.queued(to)
    }

    fn wire_bytes(&self) -> Vec<u64> {
        self.net.wire_bytes()
    }

    fn flush(&mut self, wait: Wait) -> std::result::Result<(), NetError> {
        self.net.flush(wait)
    }

    fn interrupt_handle(&self) -> Interrupt {
        self.net.interrupt_handle()
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Operation {
    LessThan,
    Fixed,
    Divide,
    Sigmoid,
    Shuffle,
    Triple,
    Aes,
}

impl Operation {
    fn named(name: &str) -> Option<Operation> {
        Some(match name {
            "lt" => Operation::LessThan,
            "fixed" => Operation::Fixed,
            "divide" => Operation::Divide,
            "sigmoid" => Operation::Sigmoid,
            "shuffle" => Operation::Shuffle,
            "triple" => Operation::Triple,
            "aes" => Operation::Aes,
            _ => return None,
        })
    }

    async fn run<S: Family>(self, s: &S, ctx: &Ctx, (x, y): &(S::A, S::A)) -> Result<()> {
        let len = s.shape(x).1;
        if self == Operation::Aes {
            let program = Program::new(&catalog::aes128(), Order::Runs(64));
            let bits = if ctx.is_dry() { Bits::shape(256, len) } else { Bits::constant(true, 256, len) };
            let labels = s.bits_to_labels(ctx, &s.public_bits(&bits)).await?;
            return s.garble(ctx, &program, &labels).await.map(drop);
        }
        match self {
            Operation::LessThan => drop(s.lt(ctx, x, y, Width::Full).await?),
            Operation::Fixed => drop(s.trunc_prob(ctx, &s.mul(ctx, x, y).await?, FRAC).await?),
            Operation::Divide => drop(s.divide(ctx, x, y, FRAC, 40).await?),
            Operation::Sigmoid => drop(s.sigmoid(ctx, x, FRAC).await?),
            Operation::Shuffle => drop(s.shuffle(ctx, &[x, y], len).await?),
            Operation::Triple => drop(s.mul(ctx, x, y).await?),
            Operation::Aes => {}
        }
        s.check(ctx).await.map(drop)
    }
}

/// Returns two operands of `len` numbers; shapes in a dry run.
fn operands<S: Family>(s: &S, len: usize, is_dry: bool) -> (S::A, S::A) {
    let public = |by: u64| match is_dry {
        true => Vector::shape(RING, len),
        false => Vector::from_u64s(RING, &(0..len as u64).map(|i| i * by % 40_000 + 1).collect::<Vec<_>>()),
    };
    (s.public(&public(7919)), s.public(&public(104_729)))
}

/// Sets a party up and runs the operation. `next` is called before the setup, before the run, and before each of its
/// phases. Returns the seconds of both phases.
fn run<S: Family>(
    party: &mut Party,
    (operation, len): (Operation, usize),
    demand: Demand<S::Kind>,
    next: impl Fn(),
) -> Result<[f64; 2]> {
    let (me, choices) = (party.me(), Choices::default());
    party.set_coins(Seed::from_bytes([me as u8; 32]));
    next();
    let mut setup = party.begin_alone()?;
    let coins = Seed::from_bytes([me as u8; 32]);
    let s = setup.phase(Phase::Offline, async |ctx| S::setup(ctx, Some(&coins), &choices).await)?;
    setup.finish();
    next();
    let mut run = party.begin_alone()?;
    next();
    let start = Instant::now();
    let nothing = async |_: &Ctx| Ok(());
    run.phase(Phase::Offline, async |ctx| s.prepare(ctx, demand, nothing).await)?;
    let offline = start.elapsed().as_secs_f64();
    let operands = operands(&s, len, false);
    next();
    let start = Instant::now();
    run.phase(Phase::Online, async |ctx| operation.run(&s, ctx, &operands).await)?;
    let online = start.elapsed().as_secs_f64();
    run.finish();
    Ok([offline, online])
}

/// Runs the parties once. Returns the record of one of them.
fn record<S: Family>(parties: usize, measured: usize, what: (Operation, usize)) -> Record {
    let record = Record::default();
    std::thread::scope(|scope| {
        for net in memory::mesh(parties) {
            let record = record.clone();
            scope.spawn(move || {
                let me = net.me();
                let net: Box<dyn Net> = match me == measured {
                    true => Box::new(Watched { net: Box::new(net), source: Live(record.clone()) }),
                    false => Box::new(net),
                };
                let mut party = Party::new(net);
                let next = || {
                    if me == measured {
                        record.lock().expect("one thread").push(vec![]);
                    }
                };
                run::<S>(&mut party, what, demand::<S>(parties, me, what), next).expect("a run");
            });
        }
    });
    record
}

fn demand<S: Family>(parties: usize, me: usize, (operation, len): (Operation, usize)) -> Demand<S::Kind> {
    let s = S::dry(parties, me, &Choices::default()).expect("a dry party");
    s.record_demand();
    let operands = operands(&s, len, true);
    dry::run(me, parties, Phase::Online, async |ctx| operation.run(&s, ctx, &operands).await).expect("a dry run");
    s.take_demand()
}

/// Runs one party against the record.
fn replay<S: Family>(parties: usize, me: usize, what: (Operation, usize), workers: usize, record: &Record) -> [f64; 2] {
    let mut ends: BTreeMap<usize, _> = memory::mesh(parties).into_iter().enumerate().collect();
    let (net, played) = (Box::new(ends.remove(&me).expect("a party")), Played::default());
    let net = Watched { net, source: played.clone() };
    let runs = RefCell::new(record.lock().expect("one thread").clone().into_iter());
    let measured = move || {
        let mut party = Party::new(granting(Box::new(net)));
        threads::set_threads(workers).expect("threads for kernels");
        party.set_workers(workers).expect("threads");
        let next = || played.0.lock().expect("one thread").extend(runs.borrow_mut().next().unwrap_or_default());
        let seconds = run::<S>(&mut party, what, demand::<S>(parties, me, what), next).expect("a replay");
        party.leave(true);
        seconds
    };
    let thread = std::thread::Builder::new().name("measured".into()); // for profilers
    let thread = thread.spawn(measured).expect("a thread");
    thread.join().expect("a replay")
}

struct Measure {
    parties: usize,
    me: usize,
    what: (Operation, usize),
    workers: Vec<usize>,
}

impl Visit for Measure {
    type Out = ();

    fn family<S: Family>(self) {
        let Measure { parties, me, what, workers } = self;
        let record = record::<S>(parties, me, what);
        let mut best = BTreeMap::new();
        for _ in 0..TRIES {
            for &workers in &workers {
                let [offline, online] = replay::<S>(parties, me, what, workers, &record);
                let best = best.entry(workers).or_insert([offline, online]);
                *best = [best[0].min(offline), best[1].min(online)];
            }
        }
        for (workers, [offline, online]) in &best {
            println!("{workers} workers: offline {offline:.3} s, online {online:.3} s");
        }
        if let (Some([offline, online]), Some(two)) = (best.get(&1), best.get(&2)) {
            println!("2 of 1: offline {:.2}, online {:.2}", two[0] / offline, two[1] / online);
        }
    }
}

fn main() {
    memory_of_vectors::keep_freed(); // as the Python module does
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next();
    let (Some(family), Some(operation), Some(len)) = (next(), next(), next()) else {
        return eprintln!("replay FAMILY OPERATION LEN [PARTY [WORKERS...]]");
    };
    let protocol = match &*family {
        "pika-malicious" => Protocol::PikaMalicious,
        name => Protocol::named(name).expect("a family"),
    };
    let what = (Operation::named(&operation).expect("an operation"), len.parse().expect("a number of elements"));
    let me = next().map_or(0, |me| me.parse().expect("a party"));
    let workers: Vec<usize> = std::iter::from_fn(&mut next).map(|n| n.parse().expect("a number of workers")).collect();
    let workers = if workers.is_empty() { vec![1, 2] } else { workers };
    protocol.visit(Measure { parties: protocol.default_parties(), me, what, workers });
}
