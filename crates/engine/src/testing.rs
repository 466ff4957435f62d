//! Insecure helpers for tests: parties as threads, jitter, transcripts. Only under the feature `testing`.

mod links;
mod messages;
pub mod readers;
mod replay;
mod views;
mod watch;

pub use links::{At, Liar, Lie, What, lying};
pub use messages::Change;
pub use replay::{Differs, Played, Record, Sent};
pub use views::{Column, columns, leaks, tells};
pub use watch::{Received, Tampered, granting, watched};

use quorate_sync::Mutex;

use quorate_net::Net;
use quorate_net::memory;

use crate::costs::{Costs, Phase};
use crate::ctx::Ctx;
use crate::error::Result;
use crate::party::Party;

/// Runs `work` as every party of a local session over memory links, one thread each. Returns results by party.
pub fn parties<T: Send>(n: usize, work: impl Fn(Party) -> T + Sync) -> Vec<T> {
    over(memory::mesh(n).into_iter().map(|net| Box::new(net) as Box<dyn Net>).collect(), work)
}

/// Runs `work` as every party over the given links, one thread each. Returns results by party.
pub fn over<T: Send>(nets: Vec<Box<dyn Net>>, work: impl Fn(Party) -> T + Sync) -> Vec<T> {
    let results = nets.iter().map(|_| Mutex::new(None)).collect::<Vec<_>>();
    in_threads(nets, &|place, party| {
        let result = work(party);
        *results[place].lock().unwrap() = Some(result);
    });
    let mut of_all = Vec::with_capacity(results.len());
    for result in &results {
        of_all.push(result.lock().unwrap().take().expect("every thread has ended"));
    }
    of_all
}

/// Returns the number of workers that parties in tests have where a test does not set it: 1, or what the environment
/// asks for, to run whole suites with several.
fn workers() -> usize {
    std::env::var("QUORATE_TEST_WORKERS").map_or(1, |workers| workers.parse().expect("a number of workers"))
}

/// Runs one thread per party. It is not generic, so it is compiled only once.
fn in_threads(nets: Vec<Box<dyn Net>>, work: &(dyn Fn(usize, Party) + Sync)) {
    quorate_sync::thread::scope(|scope| {
        let start = |(place, net)| {
            scope.spawn(move || {
                let mut party = watched(net, Party::new);
                party.set_workers(workers()).expect("threads for the workers");
                work(place, party);
            })
        };
        let handles: Vec<_> = nets.into_iter().enumerate().map(start).collect();
        handles.into_iter().for_each(|handle| handle.join().expect("a party's thread panicked"));
    });
}

/// Runs one online phase at every party.
pub fn online<T: Send>(n: usize, work: impl AsyncFn(&Ctx) -> Result<T> + Sync) -> Vec<Result<(T, Costs)>> {
    parties(n, |mut party| {
        let mut run = party.begin_alone()?;
        let result = run.phase(Phase::Online, async |ctx| work(ctx).await)?;
        Ok((result, run.finish()))
    })
}
