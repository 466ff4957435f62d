//! Long results are sent in chunks that wait for the slower party, and messages of a wrong length are refused.

use std::time::Duration;

use quorate_aby::Aby;
use quorate_engine::testing::parties;
use quorate_engine::{Error, Phase, Sharing};
use quorate_ring::{Bits, Ring, Vector};

/// The limit in bytes: less than the operands, 32 MiB; more than the parties may be apart, two windows of a stream: 16
/// MiB and overheads.
const LIMIT: usize = 24 << 20;

#[test]
fn an_opening_waits_for_a_slow_party() {
    let (ring, len) = (Ring::of(64), 4 << 20);
    let opened = parties(2, |mut party| {
        party.insecure_limit(LIMIT);
        let mut run = party.begin_alone().unwrap();
        let aby = run.phase(Phase::Offline, async |ctx| Aby::setup(ctx).await).unwrap();
        let opened = run.phase(Phase::Online, async |ctx| {
            let x = aby.public(&Vector::constant(ring, 5, len));
            if ctx.me() == 1 {
                std::thread::sleep(Duration::from_millis(300));
            }
            aby.open(ctx, &x).await
        });
        (opened.unwrap(), run.finish().online.rounds)
    });
    for (values, rounds) in opened {
        assert!(values.to_u64s().iter().all(|&x| x == 5));
        assert_eq!(rounds, 1);
    }
}

/// Instead of its part of an opening, a party sends any other number of bits.
#[test]
fn messages_of_a_wrong_length_are_refused() {
    for bytes in [0, 1, 1000] {
        let outcomes = parties(2, |mut party| {
            let mut attempt = || {
                let mut run = party.begin_alone()?;
                let aby = run.phase(Phase::Offline, async |ctx| Aby::setup(ctx).await)?;
                run.phase(Phase::Online, async |ctx| {
                    let bits = aby.public_bits(&Bits::zeros(1, 100));
                    match ctx.me() {
                        0 => aby.open_bits(ctx, &bits).await.map(drop),
                        _ => {
                            ctx.exchange_bytes(&[(0, &vec![7; bytes])], &[(0, 13)]).await?;
                            // A message that never comes: it stays until the other party has seen its message.
                            ctx.exchange_bytes(&[], &[(0, 1)]).await.map(drop)
                        }
                    }
                })
            };
            attempt()
        });
        assert!(matches!(outcomes[0], Err(Error::Malformed { peer: 1, .. })), "{outcomes:?}");
    }
}
