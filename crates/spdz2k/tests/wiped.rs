//! Keys that are of no use any more are wiped, also after a run that had jobs at several workers.

use quorate_authenticated::Kind;
use quorate_engine::testing::parties;
use quorate_engine::{Chunks, Ctx, Error, Phase, Result, Stocks, dry};
use quorate_gadgets::Revokes;
use quorate_spdz2k::{Params, Spdz2k};

const KIND: Kind = Kind::Random { bits: 8 };

/// Runs chunks that wait for the peer for ever, but for one at party 1, which fails once party 0 has begun.
async fn failing(s: &Spdz2k, ctx: &Ctx) -> Result<()> {
    let chunks = Chunks { len: 8 * 512, chunk: 512, window: 8 };
    let work = async |ctx: Ctx, (_s, first): (Spdz2k, usize)| {
        match (first / 512, ctx.me()) {
            (5, 0) => drop(ctx.exchange_bytes(&[(1, &[1u8][..])], &[]).await?),
            (5, _) => {
                ctx.exchange_bytes(&[], &[(0, 1)]).await?;
                return Err(Error::Bug { what: "a chunk that fails" });
            }
            _ => {}
        }
        ctx.exchange_bytes(&[], &[(1 - ctx.me(), 1)]).await.map(drop)
    };
    ctx.spread(chunks, |range| (s.clone(), range.start), work, |_, ()| ()).await
}

#[test]
fn keys_are_wiped_after_a_run_at_several_workers_that_failed() {
    let wiped = parties(2, |mut party| {
        party.set_workers(3).unwrap();
        let mut run = party.begin_alone().unwrap();
        let set_up = run.phase(Phase::Offline, async |ctx| {
            let s = Spdz2k::set_up(ctx, Params::default(), None).await?;
            s.make(ctx, &KIND, 1).await?;
            Ok(s)
        });
        let mut s = set_up.unwrap();
        run.finish();
        let mut run = party.begin_alone().unwrap();
        assert!(s.insecure_alpha() != 0 && s.insecure_delta() != 0);
        assert!(run.phase(Phase::Online, async |ctx| failing(&s, ctx).await).is_err());
        run.finish();
        s.cut_off();
        s.wipe();
        (s.insecure_alpha(), s.insecure_delta())
    });
    assert_eq!(wiped, [(0, 0); 2]);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic = "another handle"]
fn a_handle_that_is_left_when_keys_are_wiped_is_found() {
    let mut s = Spdz2k::new_dry(2, 0, Params::default()).unwrap();
    dry::run(0, 2, Phase::Offline, async |ctx| s.make(ctx, &KIND, 1).await.map(drop)).unwrap();
    let _other = s.clone();
    s.cut_off();
    s.wipe();
}
