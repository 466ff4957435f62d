//! Parties with pools on disks in memory, and faults of their disks and their processes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use quorate_graph::{BinaryOp, Dtype};
use quorate_pool::{Batch, Bundle, Contents, Disk, Lot, LotId, Owner, Pool, PoolError, PoolId, StoreKey, Stored};
use zeroize::Zeroizing;

use super::requests_tests::{binary, here};
use super::start::{Held, Place};
use super::*;
use crate::connect::LocalLinks;
use crate::options::Options;
use crate::pool::{Keeps, Level, Opens, Source, Supply};

/// The families with pools, with a number of parties.
pub(super) const FAMILIES: [(Protocol, usize); 3] = [(Protocol::Rss, 3), (Protocol::Aby, 2), (Protocol::Pika, 3)];

/// A disk in memory; clones are the same disk. What it is told is on it at once.
#[derive(Clone, Default)]
pub(super) struct Memory(pub Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

impl Disk for Memory {
    fn create(&mut self, name: &str) -> Result<u64, PoolError> {
        self.0.lock().unwrap().insert(name.into(), vec![]);
        Ok(7) // of any file: tests put files back
    }

    fn names(&self) -> Result<Vec<String>, PoolError> {
        Ok(self.0.lock().unwrap().keys().cloned().collect())
    }

    fn read(&self, name: &str) -> Result<Option<Stored>, PoolError> {
        Ok(self.0.lock().unwrap().get(name).map(|bytes| Stored { number: 7, bytes: bytes.clone() }))
    }

    fn read_at(&self, name: &str, start: u64, bytes: &mut [u8]) -> Result<(), PoolError> {
        bytes.copy_from_slice(&self.0.lock().unwrap()[name][start as usize..][..bytes.len()]);
        Ok(())
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), PoolError> {
        self.0.lock().unwrap().insert(name.into(), bytes.to_vec());
        Ok(())
    }

    fn write_at(&mut self, name: &str, start: u64, bytes: &[u8]) -> Result<(), PoolError> {
        let (mut files, end) = (self.0.lock().unwrap(), start as usize + bytes.len());
        let file = files.entry(name.into()).or_default();
        file.resize(file.len().max(end), 0);
        file[start as usize..end].copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self, _: &str) -> Result<(), PoolError> {
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), PoolError> {
        let mut files = self.0.lock().unwrap();
        let file = files.remove(from).unwrap_or_default();
        files.insert(to.into(), file);
        Ok(())
    }

    fn remove(&mut self, name: &str) -> Result<(), PoolError> {
        self.0.lock().unwrap().remove(name);
        Ok(())
    }

    fn sync_names(&mut self) -> Result<(), PoolError> {
        Ok(())
    }
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// The disk refuses the change.
    Refused,
    /// The party's process ends before the change.
    EndsBefore,
    /// The party's process ends after the change.
    EndsAfter,
}

/// A fault of one party in the `nth` call of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub party: usize,
    pub call: &'static str,
    pub nth: usize,
    pub how: How,
}

/// The parties of several sessions, one after the other.
#[derive(Clone)]
pub(super) struct World {
    pub protocol: Protocol,
    pub disks: Vec<Memory>,
    pub options: Options,
    pub fault: Option<Fault>,
    /// By pool, lot and place: the runs in which parties took it.
    pub taken: Arc<Mutex<Taken>>,
    /// What the pools of parties said at the end of their sessions.
    pub complaints: Arc<Mutex<Vec<(usize, String)>>>,
    /// The number of the session.
    session: usize,
}

/// By pool, lot and place, the parties that took it, each with its session and its run.
type Taken = BTreeMap<(PoolId, LotId, u32), Vec<(usize, usize, usize)>>;

/// A pool that notes what is taken, and has faults.
struct Watched {
    pool: Pool<Memory>,
    me: usize,
    world: World,
    calls: BTreeMap<&'static str, usize>,
    runs: Arc<AtomicUsize>,
}

impl Watched {
    fn call<T>(
        &mut self,
        call: &'static str,
        change: impl FnOnce(&mut Pool<Memory>) -> Result<T, PoolError>,
    ) -> Result<T, PoolError> {
        let nth = self.calls.entry(call).or_default();
        *nth += 1;
        let fault = self.world.fault.filter(|fault| (fault.party, fault.call, fault.nth) == (self.me, call, *nth - 1));
        match fault.map(|fault| fault.how) {
            Some(How::Refused) => {
                Err(PoolError::Disk { file: "pool".into(), what: "written", why: "the test says so".into() })
            }
            Some(How::EndsBefore) => panic!("the process ends before {call}"),
            Some(How::EndsAfter) => {
                let _ = change(&mut self.pool);
                panic!("the process ends after {call}")
            }
            None => change(&mut self.pool),
        }
    }
}

impl Keeps for Watched {
    fn id(&self) -> PoolId {
        self.pool.id()
    }

    fn prices(&self) -> &[u8] {
        self.pool.prices()
    }

    fn lots(&self) -> BTreeMap<LotId, Lot> {
        self.pool.lots()
    }

    fn begin(&mut self, id: LotId, contents: Contents, bundle_bytes: u64) -> Result<(), PoolError> {
        self.call("begin", |pool| pool.begin(id, contents, bundle_bytes))
    }

    fn align(&mut self, id: LotId, numbers: (u32, u32), usable: &[Range<u32>]) -> Result<(), PoolError> {
        self.call("align", |pool| pool.align(id, numbers, usable))
    }

    fn append(&mut self, id: LotId, batch: Batch, bundles: Vec<Zeroizing<Vec<u8>>>) -> Result<(), PoolError> {
        self.call("append", |pool| pool.append(id, batch, bundles))
    }

    fn count(&mut self, id: LotId) -> Result<(), PoolError> {
        self.call("count", |pool| pool.count(id))
    }

    fn reserve(&mut self, id: LotId, end: u32) -> Result<(), PoolError> {
        self.call("reserve", |pool| pool.reserve(id, end))
    }

    fn take(&mut self, id: LotId, place: u32) -> Result<Bundle, PoolError> {
        let taker = (self.me, self.world.session, self.runs.load(Ordering::Relaxed));
        self.world.taken.lock().unwrap().entry((self.id(), id, place)).or_default().push(taker);
        self.call("take", |pool| pool.take(id, place))
    }

    fn release(&mut self, id: LotId, next: u32) -> Result<(), PoolError> {
        self.call("release", |pool| pool.release(id, next))
    }

    fn secrets(&self) -> Option<&[u8]> {
        self.pool.secrets()
    }

    fn enter(&mut self) -> Result<(), PoolError> {
        self.call("enter", Pool::enter)
    }

    fn leave(&mut self) -> Result<(), PoolError> {
        self.call("leave", Pool::leave)
    }

    fn bury(&mut self, why: &str) -> Result<(), PoolError> {
        self.call("bury", |pool| pool.bury(why))
    }
}

struct OnDisk {
    me: usize,
    world: World,
    runs: Arc<AtomicUsize>,
}

impl OnDisk {
    fn owner(&self) -> Owner {
        let (me, parties) = (self.me as u32, self.world.disks.len() as u32);
        Owner { me, parties, pins: [1; 32], terms: "terms".into() }
    }

    fn key(&self) -> StoreKey {
        StoreKey::take(&mut [self.me as u8 + 1; 32]).unwrap()
    }

    fn watched(&self, pool: Pool<Memory>) -> Box<dyn Keeps> {
        let (world, runs) = (self.world.clone(), self.runs.clone());
        Box::new(Watched { pool, me: self.me, world, calls: BTreeMap::new(), runs })
    }
}

impl Opens for OnDisk {
    fn open(&self) -> Result<Option<Box<dyn Keeps>>, PoolError> {
        let opened = Pool::open(self.world.disks[self.me].clone(), self.key(), &self.owner())?;
        Ok(opened.map(|pool| self.watched(pool)))
    }

    fn create(&self, id: PoolId, prices: Vec<u8>, secrets: Option<&[u8]>) -> Result<Box<dyn Keeps>, PoolError> {
        let (disk, key, owner) = (self.world.disks[self.me].clone(), self.key(), self.owner());
        Ok(self.watched(match secrets {
            None => Pool::create(disk, key, owner, id, prices)?,
            Some(secrets) => Pool::create_with_secrets(disk, key, owner, (id, prices), secrets)?,
        }))
    }
}

/// A party of a session, with the number of its runs.
pub(super) struct Seated {
    pub session: Session,
    runs: Arc<AtomicUsize>,
}

impl World {
    pub fn new((protocol, parties): (Protocol, usize)) -> World {
        let disks = (0..parties).map(|_| Memory::default()).collect();
        let (mut options, taken) = (Options::default(), Arc::default());
        if protocol == Protocol::Rss {
            // By default, three parties compare without correlations.
            options.family.insert("forms".into(), "edabits".into());
        }
        World { protocol, disks, options, fault: None, taken, complaints: Arc::default(), session: 0 }
    }

    /// Opens a session with pools at these parties, and runs `program` at each. A party that cannot open its session
    /// has that error.
    pub fn deploy<T: Send + 'static>(
        &mut self,
        mode: impl Fn(usize) -> PoolMode,
        program: impl Fn(&mut Seated) -> Result<T, SessionError> + Send + Sync + 'static,
    ) -> Vec<Result<T, SessionError>> {
        self.session += 1;
        let (program, parties) = (Arc::new(program), self.disks.len());
        let nets = LocalLinks::new(parties, None).mesh().into_iter().enumerate();
        let threads: Vec<_> = nets
            .map(|(me, net)| {
                let (world, program) = (self.clone(), program.clone());
                let options = Options { pool: mode(me), ..self.options.clone() };
                std::thread::spawn(move || {
                    let runs = Arc::new(AtomicUsize::new(0));
                    let mut seated = Seated { session: world.open(me, net, options, &runs)?, runs };
                    let result = program(&mut seated);
                    seated.session.close(result.is_err());
                    let complaint = seated.session.complaint().map(|error| (me, error.to_string()));
                    world.complaints.lock().unwrap().extend(complaint);
                    result
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    }

    fn open(
        &self,
        me: usize,
        net: Box<dyn quorate_net::Net>,
        options: Options,
        runs: &Arc<AtomicUsize>,
    ) -> Result<Session, SessionError> {
        let on_disk = OnDisk { me, world: self.clone(), runs: runs.clone() };
        let pool = match options.pool {
            PoolMode::None => None,
            _ => Some(Source::new(Box::new(on_disk))?),
        };
        let (parties, held) = (self.disks.len(), Held::default());
        let options = options.read_for(self.protocol)?;
        let (network, seed, patience, connects) = (None, None, None, None);
        let place = Place { parties, network, me: Some(me), seed, check: false, patience, connects, pool, held };
        Session::start(self.protocol, place, vec![net], options)
    }

    /// Makes bundles for both runs of [`Program`], this many of each at all parties.
    pub fn make(&mut self, times: u32) -> Vec<Result<Vec<Level>, SessionError>> {
        self.deploy(|_| PoolMode::Make, move |seated| seated.make(times))
    }

    /// Returns whether no place was taken in two runs, and how many were taken.
    pub fn no_place_is_taken_twice(&self) -> usize {
        let taken = self.taken.lock().unwrap();
        for (place, takers) in taken.iter() {
            let (_, session, run) = takers[0];
            assert!(takers.iter().all(|taker| (taker.1, taker.2) == (session, run)), "{place:?}: {takers:?}");
            let parties: BTreeSet<usize> = takers.iter().map(|taker| taker.0).collect();
            assert_eq!(parties.len(), takers.len(), "{place:?}: {takers:?}");
        }
        taken.len()
    }
}

/// A program of two runs: products and comparisons of numbers, then comparisons of matrix products with the results.
pub(super) struct Program {
    pub first: [NodeId; 2],
    pub second: NodeId,
}

/// The numbers of party 0, and of party 1.
const X: [i64; 6] = [3, -5, 700, 0, 12, -1];
const Y: [i64; 6] = [4, 5, -7, 0, 11, 1];

impl Program {
    pub fn build(session: &mut Session) -> Program {
        let parties = session.parties();
        let [x, y] = [X, Y]
            .into_iter()
            .enumerate()
            .map(|(owner, values)| {
                let x = session.build(here(), |mut b| b.input(owner, parties, &[2, 3], Dtype::INT64, None)).unwrap();
                session.provide(x, owner, &Data::Ints(values.to_vec())).unwrap();
                x
            })
            .collect::<Vec<_>>()[..]
        else {
            unreachable!("two inputs")
        };
        let product = binary(session, BinaryOp::Mul, x, y);
        let less = binary(session, BinaryOp::Lt, x, y);
        let turned = session.build(here(), |mut b| b.transpose(y, None)).unwrap();
        let square = session.build(here(), |mut b| b.matmul(product, turned)).unwrap();
        let mirrored = session.build(here(), |mut b| b.transpose(square, None)).unwrap();
        let second = binary(session, BinaryOp::Lt, square, mirrored);
        Program { first: [product, less], second }
    }
}

/// The results of both runs.
pub(super) fn expected() -> [Vec<Data>; 2] {
    let product: Vec<i64> = X.iter().zip(&Y).map(|(x, y)| x * y).collect();
    let less = X.iter().zip(&Y).map(|(x, y)| x < y).collect();
    let cell = |i: usize, j: usize| (0..3).map(|k| product[3 * i + k] * Y[3 * j + k]).sum::<i64>();
    let [above, below] = [cell(0, 1), cell(1, 0)];
    let second = vec![false, above < below, below < above, false];
    [vec![Data::Ints(product.clone()), Data::Bools(less)], vec![Data::Bools(second)]]
}

impl Seated {
    pub fn make(&mut self, times: u32) -> Result<Vec<Level>, SessionError> {
        let program = Program::build(&mut self.session);
        let first = self.session.plan(&program.first.map(|node| (node, None)), &[], None)?;
        let second = self.session.plan(&[(program.second, None)], &first.executed, None)?;
        let plans = [first, second];
        let contents = plans.into_iter().map(|plan| plan.content.expect("both runs have correlations"));
        let request = self.session.make_pool(contents.map(|content| Supply { content, times }).collect())?;
        self.session.made(request)
    }

    /// Runs what is revealed; returns the values, and the payload bytes of the offline phase.
    pub fn run(&mut self, reveals: &[NodeId]) -> Result<(Vec<Data>, u64), SessionError> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let sent =
            |session: &Session| session.stats().parties.values().map(|stats| stats.offline.bytes_sent).sum::<u64>();
        let before = sent(&self.session);
        let reveals: Vec<_> = reveals.iter().map(|&node| (node, None)).collect();
        let values = self.session.run(&reveals)?.finish()?;
        Ok((values.into_iter().flatten().collect(), sent(&self.session) - before))
    }

    /// Runs the program; returns the offline bytes of its two runs.
    pub fn run_all(&mut self) -> Result<[u64; 2], SessionError> {
        let program = Program::build(&mut self.session);
        let [first, second] = expected();
        let (values, bytes) = self.run(&program.first)?;
        assert!(values == first);
        let (values, more) = self.run(&[program.second])?;
        assert!(values == second);
        Ok([bytes, more])
    }
}
