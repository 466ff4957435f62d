//! The main loop of a party's thread: it sets the party up, then serves the session's commands until it is told to
//! leave.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quorate_crypto::Seed;
use quorate_engine::{Error, Greeting, Mismatch, Party, Phase, Result, Trace};
use quorate_gadgets::Family;
use quorate_planner::Book;
use quorate_protocols::{Protocol, Visit};
use quorate_ring::memory::guarded;
use quorate_ring::threads;

use super::job::Reply;
use super::queue::Command;
use super::worker::{State, Worker};
use crate::error::SessionError;
use crate::options::{Options, default_threads};
use crate::party::store::Store;
use crate::plan::prices::DryRuns;
use crate::plan::remembered_runs::Remembered;
use crate::plan::{Pricing, Setting};

/// A worker's ends of the channels that it shares with its session.
pub(crate) struct Desk {
    pub book: Arc<Mutex<Book>>,
    pub commands: Receiver<Command>,
    pub ready: Sender<std::result::Result<usize, SessionError>>,
}

/// The input of a party's thread.
pub(crate) struct Serve {
    pub party: Party,
    pub protocol: Protocol,
    pub options: Options,
    pub coins: Option<Seed>,
    pub setting: Setting,
    /// The limit on waiting for a peer that is connected but sends nothing.
    pub patience: Option<Duration>,
    pub desk: Desk,
}

impl Visit for Serve {
    type Out = ();

    fn family<F: Family>(self) {
        serve::<F>(self);
    }
}

/// Sets the backend up, then serves commands until told to leave.
fn serve<B: Family>(serve: Serve) {
    let Serve { mut party, protocol, options, coins, setting, patience, desk } = serve;
    party.set_patience(patience);
    let Desk { book, commands, ready } = desk;
    let me = party.me();
    let sharing = if let Setting::Here { parties, .. } = setting { parties } else { 1 };
    let workers = options.threads.unwrap_or_else(|| default_threads(sharing));
    let threads =
        threads::set_threads(workers).map_err(SessionError::Threads).and_then(|()| Ok(party.set_workers(workers)?));
    let (backend, prices) =
        match threads.and_then(|()| Ok(set_up::<B>(&mut party, protocol, &options, coins, (setting, book))?)) {
            Ok(set_up) => set_up,
            Err(error) => {
                let _ = ready.send(Err(error));
                return;
            }
        };
    let _ = ready.send(Ok(me));
    let store = Store::new(party.parties());
    let free = vec![u64::MAX; party.parties()];
    let remembered = Remembered::default();
    let mut worker =
        Worker { party, state: State { backend, options, store, prices, remembered, setting, sharing, free } };
    while let Ok(command) = commands.recv() {
        match command {
            Command::Run(job, part) => {
                let reply = job.reply.clone();
                let result = catch_unwind(AssertUnwindSafe(|| guarded(|| worker.run(job))));
                let lost = !matches!(result, Ok(Ok(_)));
                let result = result.map_or_else(
                    |_| Err(Error::Bug { what: "a party's thread panicked" }.into()),
                    |run| run.unwrap_or_else(|short| Err(short.into())),
                );
                if result.is_err() {
                    worker.state.backend.cut_off();
                    worker.state.backend.wipe();
                }
                worker.state.backend.forget();
                if worker.party.is_over() {
                    // The session is over: no run can ask for these values.
                    worker.state.store = Store::new(worker.party.parties());
                }
                let _ = reply.send(Reply { party: me, result }); // nobody may wait for it
                if lost {
                    return;
                }
                drop(part);
            }
            Command::Plan { program, reveals, assumed, dropped, reply } => {
                let plan =
                    catch_unwind(AssertUnwindSafe(|| guarded(|| worker.plan(&program, &reveals, &assumed, &dropped))));
                let _ = reply.send(plan.map_or_else(
                    |_| Err(Error::Bug { what: "a dry run panicked" }.into()),
                    |plan| plan.unwrap_or_else(|short| Err(short.into())),
                ));
            }
            Command::Needed { graph, targets, reply } => {
                let _ = reply.send(graph.needed(&targets, &|id| worker.state.store.has(id)));
            }
            Command::Leave { gave_up } => {
                worker.party.leave(gave_up);
                return;
            }
        }
    }
}

/// Returns the error; where a peer's setup is another program, the peer runs another release.
fn of_setup(error: Error) -> Error {
    let Error::Mismatch(Mismatch::Program { peer, .. }) = error else { return error };
    Error::Mismatch(Mismatch::Options { peer, theirs: "another release".into(), ours: Options::release().into() })
}

/// Sets up a party. Before the first message the parties agree on the release, the protocol, and the shared options.
/// If sharings are mixed, they also agree on the prices of steps.
fn set_up<B: Family>(
    party: &mut Party,
    protocol: Protocol,
    options: &Options,
    coins: Option<Seed>,
    (setting, book): (Setting, Arc<Mutex<Book>>),
) -> Result<(B, Option<DryRuns<B>>)> {
    let program = blake3::derive_key("quorate/session/setup", b"the release and the protocol are among the terms");
    let greeting = Greeting { program, terms: options.shared(protocol), ..Greeting::default() };
    let mut run = party.begin(&greeting, &Trace::default, &|_| String::new()).map_err(of_setup)?;
    let mixes = options.mixes(protocol);
    let (backend, prices) = run.phase(Phase::Offline, async |ctx| {
        let backend = B::setup(ctx, coins.as_ref(), &options.choices).await?;
        if !mixes {
            return Ok((backend, None));
        }
        let pricing = Pricing::agreed(ctx, setting).await?;
        Ok((backend, Some(DryRuns::new(pricing, ctx.parties(), options.clone(), book))))
    })?;
    run.finish();
    if let (Some(network), None) = (options.network, options.max_memory) {
        let bits = network.bits_per_second.map(|bits| network.rtt.as_secs_f64() * bits);
        backend.fill_line(bits.map_or(0, |bits| (bits / 8.0) as usize));
    }
    Ok((backend, prices))
}
