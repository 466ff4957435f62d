//! The ledger uses a correlation once: a program's draws are known beforehand, have one place in the stock, and are
//! removed once drawn.

use quorate_engine::{Ctx, Demand, Draw, Error, Ledger, Phase, Result, dry, testing};
use std::cell::RefCell;

/// Draws of two kinds on several lanes. Returns the places of the draws.
async fn program(ctx: &Ctx, ledger: &RefCell<Ledger<&'static str>>) -> Result<Vec<Draw>> {
    let mut places =
        ctx.join_all(5, async |ctx, i| ledger.borrow_mut().draw(&ctx, &["bit", "triple"][i % 2], 10 * (i + 1))).await?;
    places.push(ledger.borrow_mut().draw(ctx, &"bit", 7)?);
    places.push(ledger.borrow_mut().draw(ctx, &"bit", 7)?);
    Ok(places)
}

fn recorded() -> Demand<&'static str> {
    let ledger = RefCell::new(Ledger::Recording(Demand::default()));
    let (draws, _) = dry::run(1, 3, Phase::Online, async |ctx| program(ctx, &ledger).await).unwrap();
    assert!(draws.iter().all(|draw| *draw == Draw::Recorded));
    ledger.into_inner().take_demand()
}

#[test]
fn every_draw_has_its_own_place_alike_at_all_parties() {
    let demand = recorded();
    assert_eq!(demand.totals().iter().map(|(k, v)| (*k, *v)).collect::<Vec<_>>(), [("bit", 104), ("triple", 60)]);
    let results = testing::online(3, async |ctx| {
        let ledger = RefCell::new(Ledger::Stocked(recorded()));
        program(ctx, &ledger).await
    });
    let expected = [0..10, 0..20, 10..40, 20..60, 40..90, 90..97, 97..104].map(Draw::Stock);
    assert!(results.into_iter().all(|result| result.unwrap().0 == expected));
}

#[test]
fn a_second_draw_and_an_unforeseen_one_find_nothing() {
    let ledger = RefCell::new(Ledger::Stocked(recorded()));
    let again = |length: usize| {
        dry::run(0, 3, Phase::Online, async |ctx| ledger.borrow_mut().draw(ctx, &"bit", length)).map(|(draw, _)| draw)
    };
    assert_eq!(again(7), Ok(Draw::Stock(90..97)));
    assert_eq!(again(7), Err(Error::Exhausted { wanted: 7, left: 0 }), "the same lane and use, a second time");

    let ledger = RefCell::new(Ledger::Stocked(recorded()));
    let other = dry::run(0, 3, Phase::Online, async |ctx| ledger.borrow_mut().draw(ctx, &"bit", 8));
    assert_eq!(other.err(), Some(Error::Exhausted { wanted: 8, left: 0 }), "another length than foreseen");
    let ledger = RefCell::new(Ledger::Stocked(recorded()));
    let other = dry::run(0, 3, Phase::Offline, async |ctx| ledger.borrow_mut().draw(ctx, &"bit", 7));
    assert_eq!(other.err(), Some(Error::Exhausted { wanted: 7, left: 0 }), "another lane than foreseen");
}

#[test]
fn work_ahead_sees_what_a_draw_will_give_and_leaves_it() {
    let results = testing::online(3, async |ctx| {
        let ledger = RefCell::new(Ledger::Stocked(recorded()));
        let ahead = async |ctx: &Ctx| program(ctx, &ledger).await;
        let first = ctx.alone(Phase::Online, ahead)?;
        let again = ctx.alone(Phase::Online, ahead)?;
        Ok([first, again, program(ctx, &ledger).await?])
    });
    let expected = [0..10, 0..20, 10..40, 20..60, 40..90, 90..97, 97..104].map(Draw::Stock);
    assert!(results.into_iter().all(|result| result.unwrap().0.iter().all(|draws| *draws == expected)));
}

#[test]
fn without_a_stock_correlations_are_made_where_they_are_used() {
    let mut ledger = Ledger::OnDemand;
    let drawn = dry::run(0, 3, Phase::Online, async |ctx| ledger.draw(ctx, &"bit", 7));
    assert_eq!(drawn.unwrap().0, Draw::Make);
    assert!(ledger.take_demand().totals().is_empty());
}
