//! The start of a session: the parties of this process, and their setup.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quorate_crypto::Seed;
use quorate_engine::Party;
use quorate_graph::{Graph, Network, Rings, Rules, Watch};
use quorate_net::{Net, WIRE_VERSION};
use quorate_pool::Owner;
use quorate_protocols::Protocol;
use quorate_ring::memory::keep_reserve;

use super::branching::{Branches, Connects};
use super::range_checks::Look;
use super::{Security, Session};
use crate::approval::{Approval, Approved, Terms};
use crate::audit::Audit;
use crate::config::Config;
use crate::connect::{self, LocalLinks};
use crate::error::SessionError;
use crate::options::{Options, PoolMode};
use crate::party::bell::Bell;
use crate::party::part::Command;
use crate::party::program::Program;
use crate::party::queue::Queue;
use crate::party::serve::{Desk, Ready, Serve};
use crate::party::stats::Stats;
use crate::party::tracks::{Beside, MOST_SERVED, Seat};
use crate::plan::Setting;
use crate::pool::{InFolder, Location, Source};

/// The options of a local session.
#[derive(Clone, Debug)]
pub struct LocalOptions {
    /// The protocol that the parties run.
    pub protocol: Protocol,
    /// The number of parties, each in a thread of its own; the protocol must support it.
    pub parties: usize,
    /// A network to simulate, with real delays; `None` for plain memory links.
    pub network: Option<Network>,
    /// **Insecure**: derives every party's coins from this, so that runs can be repeated.
    pub insecure_seed: Option<String>,
    /// Whether [`Session::check`] looks at values, all of which a local session has.
    pub check: bool,
    /// The options that deployments have, too.
    pub options: Options,
}

/// Opens the pool of a party for which the options ask.
///
/// # Errors
/// [`SessionError::NoPools`], [`SessionError::Pool`].
fn source(
    config: &Config,
    protocol: Protocol,
    options: &Options,
    (shared, pool): (&str, Option<Location>),
) -> Result<Option<Source>, SessionError> {
    match (options.pool, pool) {
        (PoolMode::None, None) => Ok(None),
        (PoolMode::Use | PoolMode::Make, Some(at)) if protocol.has_pools() => {
            protocol.check_pools(&options.choices)?;
            let (me, parties) = (config.me as u32, config.parties.len() as u32);
            // Another wire version may mean other words by the same kinds.
            let terms = format!("wire version {WIRE_VERSION}; {shared}");
            let owner = Owner { me, parties, pins: config.pins()?, terms };
            Ok(Some(Source::new(Box::new(InFolder { at, owner }))?))
        }
        _ => Err(SessionError::NoPools),
    }
}

/// The parties in this process: all, or `me`. A `seed` makes their coins predictable.
pub(crate) struct Place {
    pub parties: usize,
    /// The network that a local session simulates.
    pub network: Option<Network>,
    pub me: Option<usize>,
    pub seed: Option<Seed>,
    /// Whether values are checked before they are computed on.
    pub check: bool,
    /// The limit on waiting for a peer that is connected but sends nothing; local sessions have no limit.
    pub patience: Option<Duration>,
    /// The way to links for branches, in a deployment.
    pub connects: Option<Arc<Connects>>,
    /// The pool of `me`.
    pub pool: Option<Source>,
    pub held: Held,
}

/// The restrictions on one party's runs.
#[derive(Default)]
pub(crate) struct Held {
    pub approved: Option<Approved>,
    pub audit: Option<Audit>,
    pub sessions_before: usize,
}

impl Session {
    /// Opens a session with all parties in this process, each in a thread of its own, with the real protocol between
    /// them.
    ///
    /// # Errors
    /// A number of parties that the protocol does not support; any error of the setup.
    pub fn local(options: LocalOptions) -> Result<Session, SessionError> {
        options.protocol.check_parties(options.parties)?; // before there are links for each pair
        let nets = LocalLinks::new(options.parties, options.network).mesh();
        Session::local_over(options, nets)
    }

    /// Opens a local session of the parties that have these links.
    ///
    /// # Errors
    /// Those of [`Session::local`].
    pub(crate) fn local_over(options: LocalOptions, nets: Vec<Box<dyn Net>>) -> Result<Session, SessionError> {
        options.protocol.check_parties(options.parties)?;
        if options.options.pool != PoolMode::None {
            return Err(SessionError::NoPools);
        }
        let read = options.options.read_for(options.protocol)?;
        let seed = options
            .insecure_seed
            .as_ref()
            .map(|seed| Seed::from_bytes(blake3::derive_key("quorate/session/insecure seed", seed.as_bytes())));
        let (parties, network) = (options.parties, options.network);
        let (check, held) = (options.check, Held::default());
        let place = Place { parties, network, me: None, seed, check, patience: None, connects: None, pool: None, held };
        Session::start(options.protocol.chosen(&read.choices), place, nets, read)
    }

    /// Opens a session in which this process is one party of a deployment. Setting `stop` gives up connecting. A
    /// network in the file replaces that of the options.
    ///
    /// # Errors
    /// Those of connecting, each naming the side at fault; different protocols or options at two parties.
    pub fn connect(config: &Config, options: Options, stop: Arc<AtomicBool>) -> Result<Session, SessionError> {
        Session::connect_with(config, options, None, stop)
    }

    /// Opens a session as [`Session::connect`] does, with a pool of this party if the options ask for one. It is opened
    /// before the parties connect, and stays open as long as the session.
    ///
    /// # Errors
    /// Those of [`Session::connect`]; [`SessionError::NoPools`], [`SessionError::Pool`]; different pools at two
    /// parties.
    pub fn connect_with(
        config: &Config,
        options: Options,
        pool: Option<Location>,
        stop: Arc<AtomicBool>,
    ) -> Result<Session, SessionError> {
        let protocol = config.protocol()?;
        let options = Options { network: config.network()?.or(options.network), ..options };
        let options = options.read_for(protocol)?;
        let audit = config.audit.as_ref().map(|path| Audit::open(path, config.me, &config.protocol)).transpose()?;
        let (approved, sessions_before) = (config.approve.clone(), config.sessions_before);
        let held = Held { approved, audit, sessions_before };
        let shared = options.shared_apart_from_pool(protocol);
        let pool = source(config, protocol.chosen(&options.choices), &options, (&shared, pool))?;
        let net = connect::deployed(config, &shared, stop)?;
        let (parties, network, me) = (config.parties.len(), options.network, Some(config.me));
        let (patience, config) = (config.limits.patience(), config.clone());
        let connects: Arc<Connects> =
            Arc::new(move |name, number, stop| connect::branch(&config, &shared, (name, number), stop));
        let connects = Some(connects);
        let place = Place { parties, network, me, seed: None, check: false, patience, connects, pool, held };
        Session::start(protocol.chosen(&options.choices), place, vec![net], options)
    }

    /// Starts the parties' threads, with options that were read for the protocol.
    pub(crate) fn start(
        protocol: Protocol,
        mut place: Place,
        nets: Vec<Box<dyn Net>>,
        options: Options,
    ) -> Result<Session, SessionError> {
        keep_reserve();
        let program = Program { graph: Arc::new(Graph::with(place.rules(protocol, &options))), ..Program::default() };
        let (book, (ready, is_ready)) = (Arc::default(), channel());
        let bell = Arc::<Bell>::default();
        let complaint = place.pool.as_ref().map(Source::complaint);
        let mut seats = Vec::new();
        for net in nets {
            let (commands, inbox) = channel();
            let (book, bell) = (Arc::clone(&book), bell.clone());
            let desk = Desk { book, commands: inbox, bell, ready: ready.clone() };
            let party = net.me();
            let seat = place.seat(net, (protocol, &options), desk, commands)?;
            seats.push((party, seat));
        }
        drop(ready);
        let (mut worst, mut set_up) = (None::<SessionError>, BTreeMap::new());
        for _ in &seats {
            match is_ready.recv().map_err(|_| SessionError::WorkerGone).and_then(|r| r) {
                Ok(Ready { party, values, beside }) => drop(set_up.insert(party, (values, beside))),
                Err(error) => worst = Some(error.or_more_telling(worst)),
            }
        }
        let (values, beside): (Vec<_>, Vec<_>) = set_up.into_values().unzip();
        let beside = beside.into_iter().collect::<Option<Vec<_>>>().zip(place.links());
        let beside = beside.map(|(parties, links)| Beside::new(parties, links, MOST_SERVED));
        let (seats, main) = seats.into_iter().map(|(party, seat)| (super::Seat::of(party, &seat), seat)).unzip();
        let queue = Queue::new(main, values.into_iter().flatten().collect(), beside);
        let Place { parties, network, me, check, connects, held, .. } = place;
        let security = protocol.visit(Security(parties, &options.choices));
        let (protocol_name, truncation, max_memory) = (protocol.name(), options.truncation, options.max_memory);
        let terms = Terms { protocol: protocol_name, parties, security, truncation, before: held.sessions_before };
        let session = Session {
            protocol,
            parties,
            me,
            network,
            choices: options.choices,
            threads: options.threads,
            overlaps: options.max_memory.is_none(),
            program,
            seats,
            queue,
            dropped: vec![],
            jobs: 0,
            look: check.then(|| Look::new(max_memory)),
            lost: vec![],
            in_flight: Arc::default(),
            bell,
            stating: vec![],
            stats: Stats::default(),
            approval: Approval::new(terms, held.approved),
            campaigns: Default::default(),
            audit: held.audit.map(|audit| Arc::new(Mutex::new(audit))),
            branches: Branches { connects, ..Branches::default() },
            pool_mode: options.pool,
            complaint,
            closed: false,
            process: std::process::id(),
        };
        match worst {
            Some(error) => Err(error),
            None => Ok(session),
        }
    }
}

impl Place {
    /// Returns the rules by which programs are built here.
    fn rules(&self, protocol: Protocol, options: &Options) -> Rules {
        let watch = match self.me {
            Some(_) => Watch::Program,
            None if self.check => Watch::Values,
            None => Watch::Stated,
        };
        Rules {
            strict: options.strict,
            truncation: options.truncation,
            watch,
            counts_steps: options.mixes(protocol),
            rings: Rings { family: protocol.name(), most_bits: protocol.most_bits(&options.choices) },
            proves_nothing: protocol.proves_nothing(),
            keeps_factors: options.keeps_factors(protocol),
            may_garble: options.may_garble(protocol),
            proves_bounds: protocol.is_checked(),
        }
    }

    /// Starts the thread of a party, to which `commands` lead; it works at its `desk`.
    ///
    /// # Errors
    /// [`SessionError::WorkerGone`] where the thread does not start.
    fn seat(
        &mut self,
        net: Box<dyn Net>,
        (protocol, options): (Protocol, &Options),
        desk: Desk,
        commands: Sender<Command>,
    ) -> Result<Seat, SessionError> {
        let number = net.me();
        let setting = match self.me {
            None => Setting::Here { parties: self.parties, network: self.network },
            Some(_) => Setting::Apart { network: self.network },
        };
        let coins = self.seed.as_ref().map(|seed| seed.derive("quorate/session/party", &[number as u8]));
        let (patience, options, interrupt) = (self.patience, options.clone(), net.interrupt_handle());
        let pool = self.pool.take();
        let serve_party = move || {
            let party = Party::new(net);
            protocol.visit(Serve { party, protocol, options, coins, setting, patience, pool, desk });
        };
        let thread = std::thread::Builder::new()
            .name(format!("party {number}"))
            .spawn(serve_party)
            .map_err(|_| SessionError::WorkerGone)?;
        Ok(Seat { commands, interrupt, thread: Arc::new(Mutex::new(Some(thread))) })
    }

    /// Returns the links of further tracks, in a local session.
    fn links(&self) -> Option<LocalLinks> {
        self.me.is_none().then(|| LocalLinks::new(self.parties, self.network))
    }
}
