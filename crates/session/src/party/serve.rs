//! The main loop of a party's thread: it sets the party up, then serves the session's commands until it is told to
//! leave.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quorate_crypto::Seed;
use quorate_engine::{Error, Greeting, Party, Phase, Rates, Trace};
use quorate_gadgets::Family;
use quorate_net::Net;
use quorate_planner::Book;
use quorate_protocols::{Protocol, Visit};
use quorate_ring::memory::guarded;

use super::bell::Bell;
use super::job::{Job, Reply};
use super::part::{Asked, Command, Ending, Part};
use super::place::Place;
use super::shared::{Holds, Shared};
use super::tracks::{Seat, SitsBeside};
use super::worker::{State, Worker};
use crate::error::SessionError;
use crate::options::{Options, PoolMode};
use crate::party::store::Store;
use crate::plan::{Pricing, Setting};
use crate::pool::{Agreed, Purse, Source, meet};

/// A worker's ends of the channels that it shares with its session.
pub(crate) struct Desk {
    pub book: Arc<Mutex<Book>>,
    pub commands: Receiver<Command>,
    pub bell: Arc<Bell>,
    pub ready: Sender<std::result::Result<Ready, SessionError>>,
}

/// A party that is set up.
pub(crate) struct Ready {
    pub party: usize,
    /// Its values, in a local session.
    pub values: Option<Arc<dyn Holds>>,
    /// The way to further seats, in a local session whose family can run programs side by side.
    pub beside: Option<Arc<dyn SitsBeside>>,
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
    /// Its pool of correlations.
    pub pool: Option<Source>,
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
    let Serve { mut party, protocol, options, coins, setting, patience, pool, desk } = serve;
    let Desk { book, commands, bell, ready } = desk;
    let (me, parties) = (party.me(), party.parties());
    if let Some(coins) = &coins {
        party.set_coins(coins.derive("quorate/session/tossed", b""));
    }
    let mut place = Place { options, pricing: None, book, bell, setting, patience, parties };
    let set_up = place.prepare(&mut party).and_then(|()| place.set_up::<B>(&mut party, protocol, coins, pool));
    let (backend, purse) = match set_up {
        Ok(set_up) => set_up,
        Err(error) => {
            let _ = ready.send(Err(error));
            return;
        }
    };
    let is_local = matches!(setting, Setting::Here { .. });
    let values = is_local.then(|| Arc::new(Shared::<B>::new(place.parties)));
    // With a limit on memory, requests come one after the other, each within the limit.
    let beside = values.as_ref().filter(|_| place.options.max_memory.is_none()).and_then(|values| {
        let side = Side { backend: backend.beside()?, place: place.beside(), values: values.clone() };
        Some(Arc::new(side) as Arc<dyn SitsBeside>)
    });
    let holds = values.clone().map(|values| values as Arc<dyn Holds>);
    let _ = ready.send(Ok(Ready { party: me, values: holds, beside }));
    drop(ready);
    let mut worker = Worker::new((place, party), backend, values, Store::new(parties));
    worker.state.purse = purse;
    worker.attend(&commands);
}

/// A party of a local session that takes more seats.
struct Side<B: Family> {
    backend: B,
    place: Place,
    values: Arc<Shared<B>>,
}

impl<B: Family> SitsBeside for Side<B> {
    fn sit(&self, side: usize, net: Box<dyn Net>) -> Option<Seat> {
        let (me, interrupt, (commands, inbox)) = (net.me(), net.interrupt_handle(), channel());
        let (backend, place, values) = (self.backend.beside()?, self.place.clone(), self.values.clone());
        let serve = move || {
            let Ok(party) = Party::on_side(net, side) else { return };
            let store = Store::new(party.parties());
            let mut worker = Worker::new((place, party), backend, Some(values), store);
            worker.state.is_beside = true;
            worker.attend(&inbox);
        };
        let name = format!("party {me}, side {side}");
        let thread = std::thread::Builder::new().name(name).spawn(serve).ok()?;
        Some(Seat { commands, interrupt, thread: Arc::new(Mutex::new(Some(thread))) })
    }
}

impl<B: Family> Worker<B> {
    /// Serves commands until told to leave, or until a run ends in a way after which nothing can be served.
    pub(super) fn attend(mut self, commands: &Receiver<Command>) {
        let mut has_left = false;
        while let Ok(command) = commands.recv() {
            match command {
                Command::Run(job, part) => {
                    if self.serve(*job, part) {
                        if self.state.is_branch {
                            self.party.leave(true);
                        }
                        return;
                    }
                }
                Command::Plan(asked) => {
                    let Asked { program, reveals, assumed, dropped, reply } = *asked;
                    let plan = catch_unwind(AssertUnwindSafe(|| {
                        guarded(|| {
                            if let Some(values) = &self.values {
                                self.state.store = values.of_first(program.graph.len());
                            }
                            self.plan(&program, &reveals, &assumed, &dropped)
                        })
                    }));
                    self.let_go();
                    let _ = reply.send(plan.map_or_else(
                        |_| Err(Error::Bug { what: "a dry run panicked" }.into()),
                        |plan| plan.unwrap_or_else(|short| Err(short.into())),
                    ));
                }
                Command::Leave { gave_up } => {
                    self.party.leave(gave_up);
                    has_left = true;
                    break;
                }
            }
        }
        if let Some(purse) = self.state.purse.take() {
            purse.release(has_left && !self.state.backend.is_over());
        }
    }

    /// Reacts to a run that did not end well: keys may become unusable, and with them the pool that has them.
    fn cut_off(&mut self, error: &SessionError) {
        let State { backend, purse, .. } = &mut self.state;
        if !error.is_of_all_parties() {
            purse.iter_mut().for_each(Purse::fail);
        }
        backend.cut_off();
        if purse.is_some() && error.is_deviation() {
            backend.revoke();
        }
        backend.wipe();
        if let (true, Some(purse)) = (backend.is_over(), purse) {
            purse.bury(&format!("a run did not end well ({error})"));
        }
    }

    /// Serves a request, and ends this party's part in it. Returns whether the thread must end: it panicked, or ran out
    /// of memory, or its branch is over.
    fn serve(&mut self, job: Job, part: Part) -> bool {
        let (me, number, reply) = (self.party.me(), job.number, job.reply.clone());
        let result = catch_unwind(AssertUnwindSafe(|| guarded(|| self.run(job))));
        let mut is_lost = !matches!(result, Ok(Ok(_)));
        let result = result.map_or_else(
            |_| Err(Error::Bug { what: "a party's thread panicked" }.into()),
            |run| run.unwrap_or_else(|short| Err(short.into())),
        );
        is_lost |= self.state.is_branch && result.as_ref().is_err_and(SessionError::ends_branch);
        if let Err(error) = &result {
            self.cut_off(error);
        }
        if let Some(values) = &self.values {
            values.record(number, self.state.store.take_pending());
        }
        self.let_go();
        self.state.backend.forget();
        let ending = match &result {
            _ if is_lost || self.party.is_over() => Ending::Over,
            Ok(Some(_)) => Ending::Well,
            Ok(None) => Ending::TooLarge,
            Err(_) => Ending::Badly,
        };
        let result = result.transpose();
        part.end(ending, result.map(|result| (reply, Reply { party: me, result })));
        self.state.place.bell.ring(number);
        is_lost
    }

    /// Drops the values that this seat has read from those which all seats share, and all values after the end of the
    /// session: no run can ask for them.
    fn let_go(&mut self) {
        if self.values.is_some() || self.party.is_over() {
            self.state.store = Store::new(self.party.parties());
        }
    }
}

impl Place {
    /// Sets up a party. Before the first message the parties agree on the protocol and the shared options, and on what
    /// their pools have. If sharings are mixed, they also agree on the prices of steps.
    fn set_up<B: Family>(
        &mut self,
        party: &mut Party,
        protocol: Protocol,
        coins: Option<Seed>,
        mut pool: Option<Source>,
    ) -> std::result::Result<(B, Option<Purse>), SessionError> {
        let options = &self.options;
        let program = blake3::derive_key("quorate/session/setup", b"the protocol is among the terms");
        let note = pool.as_ref().map(Source::note).unwrap_or_default();
        let greeting = Greeting { program, terms: options.shared(protocol), note, ..Greeting::default() };
        let me = party.me();
        let mut run = party.begin(&greeting, &Trace::default, &|_| String::new())?;
        let (mixes, setting) = (options.mixes(protocol), self.setting);
        let notes = &run.agreement().notes;
        let agreed = pool.as_mut().map(|pool| match B::HAS_SECRETS {
            true => pool.agree_on_mortal((options.pool, me), notes),
            false => pool.agree((options.pool, me), notes),
        });
        let agreed = match agreed {
            Some(Err(refusal)) if refusal.is_of_all_parties() => {
                // A party that was told something else goes on, and hears by the hash that this one does not.
                if run.compare(Agreed::hash_of_refusal()).is_ok() {
                    let _ = run.phase(Phase::Offline, async |ctx| meet(ctx).await);
                }
                run.finish();
                return Err(refusal);
            }
            agreed => agreed.transpose()?,
        };
        if let Some(agreed) = &agreed {
            run.compare(agreed.hash())?;
        }
        let used = pool.as_ref().zip(agreed.as_ref());
        let stored = used.and_then(|(pool, agreed)| pool.prices(agreed)).and_then(Rates::from_bytes);
        let secrets = used.and_then(|(pool, agreed)| pool.secrets(agreed));
        let lacks_secrets = B::HAS_SECRETS && options.pool == PoolMode::Use && secrets.is_none();
        let set_up = run.phase(Phase::Offline, async |ctx| {
            let backend = match &secrets {
                None if lacks_secrets => return Err(Error::Bug { what: "a pool without the secrets of its bundles" }),
                Some(secrets) => B::set_up_from_pool(ctx, coins.as_ref(), &options.choices, secrets).await?,
                None => B::setup(ctx, coins.as_ref(), &options.choices).await?,
            };
            Ok((
                backend,
                match stored {
                    _ if !mixes => None,
                    Some(rates) => Some(Pricing::by(rates, setting)),
                    None => Some(Pricing::agreed(ctx, setting).await?),
                },
            ))
        });
        if let (Err(error), Some(pool)) = (&set_up, &mut pool) {
            pool.bury_after(error);
        }
        let (backend, pricing) = set_up?;
        run.finish();
        let prices = pricing.as_ref().map(|pricing| pricing.rates().to_bytes()).unwrap_or_default();
        let secrets = (B::HAS_SECRETS && matches!(agreed, Some(Agreed::New))).then(|| backend.secrets());
        let session = (&backend.origin(), secrets.as_ref().map(|secrets| &secrets[..]));
        let purse = pool.zip(agreed).map(|(pool, agreed)| pool.settle(agreed, session, prices)).transpose()?;
        if let (Some(network), None) = (options.network, options.max_memory) {
            let bits = network.bits_per_second.map(|bits| network.rtt.as_secs_f64() * bits);
            backend.fill_line(bits.map_or(0, |bits| (bits / 8.0) as usize));
        }
        self.pricing = pricing;
        Ok((backend, purse))
    }
}
