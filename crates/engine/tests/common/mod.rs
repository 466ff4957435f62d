//! Toy protocols: tests examine their communication, not their results.
#![allow(dead_code)]

use quorate_crypto::SessionId;
use quorate_engine::{Ctx, Result};
use quorate_ring::{Ring, Vector};

pub const RING: Ring = Ring::of(37);

/// Returns a vector that differs at every party.
pub fn own(ctx: &Ctx, len: usize) -> Vector {
    if ctx.is_dry() {
        return Vector::shape(RING, len);
    }
    let values: Vec<u64> = (0..len as u64).map(|i| 1000 * i + ctx.me() as u64 + 1).collect();
    Vector::from_u64s(RING, &values)
}

/// Runs one round in which each party sends to the next.
pub async fn pass(ctx: &Ctx, x: &Vector) -> Result<Vector> {
    let (to, from) = (ctx.next(1), ctx.previous(1));
    Ok(ctx.exchange(&[(to, x)], &[(from, (x.ring(), x.len()))]).await?.remove(0))
}

/// Runs one round from all to all. Returns the sum.
pub async fn sum(ctx: &Ctx, x: &Vector) -> Result<Vector> {
    let peers: Vec<usize> = (1..ctx.parties()).map(|by| ctx.next(by)).collect();
    let outgoing: Vec<_> = peers.iter().map(|&peer| (peer, x)).collect();
    let incoming: Vec<_> = peers.iter().map(|&peer| (peer, (x.ring(), x.len()))).collect();
    let mut total = x.clone();
    ctx.exchange(&outgoing, &incoming).await?.iter().for_each(|other| total.add_assign(other));
    Ok(total)
}

/// Runs one round in which only `from` sends, to all. Returns its vector.
pub async fn announce(ctx: &Ctx, from: usize, x: &Vector) -> Result<Vector> {
    let shape = (x.ring(), x.len());
    if ctx.me() == from {
        let outgoing: Vec<_> = (1..ctx.parties()).map(|by| (ctx.next(by), x)).collect();
        ctx.exchange(&outgoing, &[]).await?;
        return Ok(x.clone());
    }
    Ok(ctx.exchange::<Vector>(&[], &[(from, shape)]).await?.remove(0))
}

/// Runs `rounds` rounds, one after the other, that alternate between [`pass`], [`sum`] and [`announce`].
pub async fn chain(ctx: &Ctx, mut x: Vector, rounds: usize) -> Result<Vector> {
    for round in 0..rounds {
        x = match round % 3 {
            0 => pass(ctx, &x).await?,
            1 => sum(ctx, &x).await?,
            _ => announce(ctx, round % ctx.parties(), &x).await?,
        };
    }
    Ok(x)
}

/// Runs a test's body and fails it if it hangs.
pub fn within_seconds<T: Send + 'static>(seconds: u64, body: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, waits) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let value = body();
        let _ = done.send(());
        value
    });
    if let Err(std::sync::mpsc::RecvTimeoutError::Timeout) = waits.recv_timeout(std::time::Duration::from_secs(seconds))
    {
        panic!("parties still wait after {seconds} s");
    }
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Returns the echo of the values of all parties, by party, for a session, a domain and an instance number.
pub fn echo_of((session, domain, instance): (&SessionId, &str, u128), said: &[Vec<u8>]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("quorate 2026 engine echo v3");
    hasher.update(&[1]).update(session.as_bytes()).update(&instance.to_le_bytes());
    hasher.update(&(domain.len() as u64).to_le_bytes()).update(domain.as_bytes());
    said.iter().for_each(|value| {
        hasher.update(&(value.len() as u64).to_le_bytes()).update(value);
    });
    hasher.finalize().into()
}
