//! Semi-honest runs with wrong messages, seeds and everything dealt included. A message of another length ends the run
//! with an error that names it; other bytes may give other numbers. Nothing panics or waits for ever.

use std::sync::Arc;

use quorate_engine::testing::{Change, What};
use quorate_engine::{Ctx, Demand, Error, Phase, Result, Sharing, Stocks, dry};
use quorate_gadgets::lookup::{Entries, Lookup, Operand};
use quorate_gadgets::{Functions, Gadgets};
use quorate_pika::{Comparisons, Kind, Pika};
use quorate_ring::{Ring, Vector};

use crate::common::*;
use crate::outcomes::{Cheat, is_an_end, with_cheat};

const K: u32 = 12;
const VALUES: [u64; 3] = [3, 700, 4000];

/// A program with all correlations that have dealt keys or an order, and with products, bits and inputs of all parties.
async fn program(s: &Pika, ctx: &Ctx) -> Result<usize> {
    let ring = Ring::of(K);
    let mut sum = share(s, ctx, ring, &VALUES).await?;
    for owner in 0..N {
        let own = (ctx.me() == owner).then(|| Vector::from_u64s(ring, &VALUES));
        sum = s.add(&sum, &s.input(ctx, owner, (ring, 3), own.as_ref()).await?);
    }
    let product = s.mul(ctx, &sum, &sum).await?;
    let sign = s.msb(ctx, &product).await?;
    let zero = s.eqz(ctx, &sum).await?;
    let floor = s.trunc_exact(ctx, &product, 3).await?;
    let half = s.trunc_bounded(ctx, &sum, 1).await?;
    let entries =
        Arc::new(Entries::new(Vector::from_u64s(ring, &(0..1 << K).map(|i| (i * i) & 4095).collect::<Vec<_>>())));
    let table = Lookup { entries: entries.clone(), first: -(1 << (K - 1)), operand: Operand::Within };
    let found = s.lookup(ctx, &half, &table).await?;
    let shuffled = s.shuffle(ctx, &[&floor, &found], 3).await?;
    let mut shown = open_bits(s, ctx, &s.and(ctx, &sign, &zero).await?).await?.len();
    for column in &shuffled {
        shown += open(s, ctx, column).await?.len();
    }
    Ok(shown)
}

fn demand(me: usize) -> Demand<Kind> {
    let s = Pika::dry(N, me).unwrap();
    s.set_comparisons(Comparisons::Keys);
    s.record_demand();
    dry::run(me, N, Phase::Online, async |ctx| program(&s, ctx).await.map(drop)).unwrap();
    s.take_demand()
}

/// Returns how all parties ended, and how many messages each one sent.
fn ends(cheat: Option<Cheat>) -> (Vec<Result<usize>>, Vec<usize>, bool) {
    let (ends, liars) = with_cheat(N, cheat, |mut party, liar| {
        let me = party.me();
        let mut run = party.begin_alone()?;
        liar.begin();
        let mut attempt = || {
            let s = run.phase(Phase::Offline, async |ctx| Pika::setup(ctx).await)?;
            s.set_comparisons(Comparisons::Keys);
            run.phase(Phase::Offline, async |ctx| s.make_all(ctx, demand(me)).await)?;
            run.phase(Phase::Online, async |ctx| program(&s, ctx).await)
        };
        let done = attempt();
        run.finish();
        done
    });
    let lied = cheat.is_some_and(|cheat| liars[cheat.party].has_lied());
    (ends, liars.iter().map(|liar| liar.sent().len()).collect(), lied)
}

#[test]
fn every_message_may_be_shorter_longer_or_noise() {
    let (done, sent, _) = ends(None);
    assert!(done.iter().all(Result::is_ok) && sent.iter().all(|sent| *sent > 10), "{done:?}, {sent:?}");
    let (mut tried, mut ended) = (0, 0);
    for (party, count) in sent.into_iter().enumerate() {
        for message in 0..count {
            let kinds = [What::Shorter, What::Longer, What::Changed(Change::Noise), What::Changed(Change::LastBit)];
            // One wrong length at each message, and one of the other changes.
            for what in [kinds[message % 2], kinds[2 + (message + party) % 2]] {
                let (done, _, lied) = ends(Some(Cheat { party, message, what }));
                assert!(lied, "party {party} sends message {message}");
                tried += 1;
                let others = || done.iter().enumerate().filter(|(me, _)| *me != party).map(|(_, end)| end);
                for error in others().filter_map(|end| end.as_ref().err()) {
                    assert!(is_an_end(error), "{what:?} of message {message} of party {party}: {error}");
                }
                match what {
                    What::Shorter | What::Longer => {
                        let named = |error: &Error| matches!(error, Error::Malformed { .. } | Error::Mismatch(_));
                        let found = others().filter_map(|end| end.as_ref().err()).any(named);
                        assert!(found, "{what:?} of message {message} of party {party}: {done:?}");
                        ended += 1;
                    }
                    _ => (),
                }
            }
        }
    }
    assert!(tried > 100 && 2 * ended == tried, "{ended} of {tried}");
}
