//! The engine over TLS on loopback: rounds, streams, an early goodbye, a lost and a silent party.

use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

use crate::common::{announce, chain, own, pass, sum, within_seconds};
use quorate_engine::{Chunks, Error, Fault, Party, Phase, Result, testing};
use quorate_net::Net;
use quorate_net::tcp::{PartyConfig, TcpConfig, TcpNet, keygen};
use quorate_ring::{Ring, Vector};

/// Runs `work` as three parties over TLS. Returns results by party.
fn over_tls<T: Send + 'static>(work: impl Fn(Party) -> T + Send + Sync + 'static) -> Vec<T> {
    over_tls_within(Duration::from_secs(5), work)
}

/// Runs `work` as three parties over TLS with this time-out. Returns results by party.
fn over_tls_within<T: Send + 'static>(
    peer_timeout: Duration,
    work: impl Fn(Party) -> T + Send + Sync + 'static,
) -> Vec<T> {
    within_seconds(60, move || {
        let keys = Keys::new();
        let listeners: Vec<_> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let certificate = |party: usize| keys.0.join(format!("party{party}.crt"));
        let address = |party: usize| listeners[party].local_addr().unwrap().to_string();
        let parties: Vec<_> =
            (0..3).map(|i| PartyConfig { address: address(i), certificates: vec![certificate(i)] }).collect();
        let connect = |(me, listener): (usize, TcpListener)| {
            let config = TcpConfig {
                peer_timeout,
                heartbeat: Duration::from_millis(150),
                ..TcpConfig::new(me, parties.clone(), keys.0.join(format!("party{me}.key")))
            };
            move || Box::new(TcpNet::connect_on(&config, listener).expect("a link to everybody")) as Box<dyn Net>
        };
        let nets = std::thread::scope(|scope| {
            let threads: Vec<_> = listeners
                .iter()
                .map(|listener| listener.try_clone().unwrap())
                .enumerate()
                .map(|party| scope.spawn(connect(party)))
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("connected")).collect()
        });
        testing::over(nets, work)
    })
}

/// Keys of three parties in a directory that is removed at the end.
struct Keys(PathBuf);

impl Keys {
    fn new() -> Keys {
        static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let keys = Keys(std::env::temp_dir().join(format!("quorate-engine-{}-{number}", std::process::id())));
        for party in 0..3 {
            keygen(&keys.0, party).expect("a key");
        }
        keys
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn rounds_and_long_messages_are_those_of_memory_links() {
    let costs = over_tls(|mut party| {
        let mut run = party.begin_alone()?;
        run.phase(Phase::Online, async |ctx| {
            let x = chain(ctx, own(ctx, 1000), 30).await?;
            let long = sum(ctx, &Vector::zeros(Ring::of(64), 700_000)).await?;
            let chunks = Chunks { len: 512 * 300, chunk: 512, window: 4 };
            ctx.stream(chunks, async |ctx, range| pass(&ctx, &own(&ctx, range.len())).await, |_, _| ()).await?;
            Ok((x.to_u64s(), long.len()))
        })?;
        Result::Ok(run.finish().online.rounds)
    });
    assert_eq!(costs, [(); 3].map(|()| Ok(32)));
}

#[test]
fn a_party_that_leaves_at_once_has_everything_it_sent_delivered() {
    let sums = over_tls(|mut party| {
        let mut run = party.begin_alone()?;
        let sum = run.phase(Phase::Online, async |ctx| {
            let x = announce(ctx, 0, &own(ctx, 2_000_000)).await?;
            if ctx.me() > 0 {
                std::thread::sleep(Duration::from_millis(200));
                let (other, y) = (3 - ctx.me(), own(ctx, 10));
                ctx.exchange(&[(other, &y)], &[(other, (y.ring(), y.len()))]).await?;
            }
            Ok(x.to_u64s().iter().fold(0u64, |sum, x| sum.wrapping_add(*x)))
        })?;
        run.finish();
        party.leave(false);
        Result::Ok(sum)
    });
    assert!(sums.iter().all(|sum| sum.is_ok() && *sum == sums[0]), "{sums:?}");
}

#[test]
fn a_lost_party_is_named_by_the_others_and_a_refusal_is_survived() {
    let errors = over_tls(|mut party| {
        let me = party.me();
        let refused = party.begin_alone().and_then(|mut run| {
            run.phase(Phase::Offline, async |ctx| match ctx.me() {
                1 => Err(Error::Exhausted { wanted: 5, left: 0 }),
                _ => chain(ctx, own(ctx, 5), 5).await,
            })
        });
        assert!(refused.is_err_and(|error| !error.is_final()));
        // The loss may be reported before this party has begun.
        let mut run = match party.begin_alone() {
            Ok(run) => run,
            Err(error) => return Some(error),
        };
        if me == 2 {
            std::mem::forget(run);
            party.insecure_vanish();
            return None;
        }
        run.phase(Phase::Online, async |ctx| chain(ctx, own(ctx, 5), 5).await).err()
    });
    for error in &errors[..2] {
        assert!(matches!(error, Some(Error::Net { peer: 2, fault: Fault::Lost { .. }, .. })), "{error:?}");
    }
}

#[test]
fn a_party_that_computes_for_longer_than_the_time_out_is_waited_for() {
    let ended = over_tls_within(Duration::from_secs(2), |mut party| {
        let mut run = party.begin_alone()?;
        run.phase(Phase::Online, async |ctx| {
            if ctx.me() == 1 {
                std::thread::sleep(Duration::from_secs(3));
            }
            sum(ctx, &own(ctx, 5)).await
        })?;
        Result::Ok(run.finish().online.rounds)
    });
    assert_eq!(ended, [(); 3].map(|()| Ok(1)));
}
