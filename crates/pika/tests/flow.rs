//! Long vectors wait for the slower party, and messages of a wrong length are refused from any party.

use std::time::Duration;

use crate::common::*;
use quorate_engine::testing::parties;
use quorate_engine::{Ctx, Error, Phase, Result, Sharing};
use quorate_pika::Pika;
use quorate_ring::{Bits, Ring, Vector};

/// The limit in bytes: less than the operands, more than the parties may be apart.
const LIMIT: usize = 24 << 20;

/// A dealer that is ahead of the others, and a slow party, in products whose triples are dealt where they are used.
#[test]
fn nobody_is_flooded_by_a_fast_dealer() {
    let (ring, len) = (Ring::of(64), 4 << 20);
    for slow in 0..N {
        let shown = parties(N, |mut party| {
            party.insecure_limit(LIMIT);
            let mut run = party.begin_alone().unwrap();
            let s = run.phase(Phase::Offline, async |ctx| Pika::setup(ctx).await).unwrap();
            let shown = run.phase(Phase::Online, async |ctx| {
                let x = s.public(&Vector::constant(ring, 5, len));
                if ctx.me() == slow {
                    std::thread::sleep(Duration::from_millis(300));
                }
                shown(&s, ctx, &s.mul(ctx, &x, &x).await?).await
            });
            run.finish();
            shown.unwrap()
        });
        assert!(shown.iter().all(|values| values.to_u64s().iter().all(|&x| x == 25)), "party {slow} was slow");
    }
}

/// Waits for a message that never comes: a party stays until another one has seen its message.
async fn wait(ctx: &Ctx, from: usize) -> Result<()> {
    ctx.exchange_bytes(&[], &[(from, 1)]).await.map(drop)
}

/// What a party may send instead of its part of an opening, or of its input: any other number of bytes.
#[test]
fn messages_of_a_wrong_length_are_refused() {
    for (liar, victim, bytes) in [0, 1, 1000].into_iter().flat_map(|bytes| [(1, 0, bytes), (2, 1, bytes)]) {
        let outcomes = parties(N, |mut party| {
            let mut attempt = || {
                let mut run = party.begin_alone()?;
                let s = run.phase(Phase::Offline, async |ctx| Pika::setup(ctx).await)?;
                run.phase(Phase::Online, async |ctx| {
                    let lies = liar == ctx.me();
                    match liar {
                        1 if lies => drop(ctx.exchange_bytes(&[(0, &vec![7; bytes])], &[(0, 13)]).await?),
                        1 => drop(s.open_bits(ctx, &s.public_bits(&Bits::zeros(1, 100))).await?),
                        _ if lies => {
                            let send = async |ctx: Ctx| ctx.send_bytes(1, bytes, |out| out.fill(7)).await;
                            ctx.among(&[1, 2], send).await?;
                        }
                        _ => drop(s.input_bits(ctx, 2, (1, 100), None).await?),
                    }
                    wait(ctx, (ctx.me() + 1) % N).await
                })
            };
            attempt()
        });
        assert!(matches!(outcomes[victim], Err(Error::Malformed { peer, .. }) if peer == liar), "{outcomes:?}");
    }
}
