//! After an abort, or a run that was cut off, keys are over: nothing is made again, and nothing more is said.

use quorate_engine::testing::{At, Change, Liar, Lie, What, lying, over};
use quorate_engine::{Ctx, Error, Phase, Result, Stocks, dry};
use quorate_spdz2k::{Kind, Params, Spdz2k};

const KINDS: [Kind; 3] = [Kind::Triple { bits: 4 }, Kind::BitTriple, Kind::DaBit { bits: 4 }];

/// What the honest party gets of a second request: under way, and in another run; and what it said to them.
struct Second {
    first: Error,
    again: Option<Error>,
    later: Option<Error>,
    begun: Option<Error>,
    said: usize,
}

fn second(kind: &Kind, what: What, message: usize) -> Option<Second> {
    let liars = [Liar::default(), Liar::new(Lie { at: At::Number(message), what })];
    let mut ends = over(lying(&liars), |mut party| {
        let me = party.me();
        let mut run = party.begin_alone().unwrap();
        let set_up = run.phase(Phase::Offline, async |ctx| Spdz2k::set_up(ctx, Params::new(48, false)?, None).await);
        let s = set_up.unwrap();
        let liar = &liars[me];
        liar.begin();
        let (mut again, mut said) = (None, 0);
        let done: Result<()> = run.phase(Phase::Offline, async |ctx| {
            let made = s.make(ctx, kind, 1).await.map(drop);
            if made.is_err() {
                let before = liar.sent().len();
                again = s.make(ctx, kind, 1).await.err();
                said = liar.sent().len() - before;
            }
            made
        });
        run.finish();
        let later = dry::run(me, 2, Phase::Offline, async |ctx: &Ctx| s.make(ctx, kind, 1).await.map(drop)).err();
        let before = liar.sent().len();
        let begun = party.begin_alone().err();
        said += liar.sent().len() - before;
        done.err().map(|first| Second { first, again, later, begun, said })
    });
    ends.swap_remove(0)
}

#[test]
fn nothing_is_made_after_an_abort_or_a_run_that_was_cut_off() {
    let mut found = [0; 2];
    for kind in &KINDS {
        for (what, message) in [
            (What::Changed(Change::Bit(3)), 1),
            (What::Changed(Change::Bit(3)), 5),
            (What::Changed(Change::LastBit), 9),
            (What::Shorter, 4),
            (What::Gone, 2),
            (What::Gone, 8),
            (What::Silent, 6),
            (What::Withheld, 9),
        ] {
            let Some(Second { first, again, later, begun, said }) = second(kind, what, message) else { continue };
            let cut = matches!(first, Error::Net { .. });
            let case = format!("{kind}, {what:?} at {message}: {first}");
            assert!(cut || again.is_none() || again == Some(Error::Poisoned), "{case}");
            assert!(later == Some(Error::Poisoned) && begun == Some(Error::Poisoned) && said == 0, "{case}");
            found[usize::from(cut)] += 1;
        }
    }
    println!("{} runs ended in an abort, {} were cut off", found[0], found[1]);
    assert!(found[0] >= 9 && found[1] >= 6, "{found:?}");
}
