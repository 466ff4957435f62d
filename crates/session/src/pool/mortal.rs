//! What the parties agree on about pools with secrets. All of such a pool is made in one session, so all parties have
//! made the same places; what a peer states beyond that is a lie, or another disk than the one of this pool.

use std::collections::BTreeMap;

use super::common::{Agreed, Common, numbers, reserved_at_most};
use super::notes::{Has, Offer, Told};
use crate::error::SessionError;
use crate::options::PoolMode;

/// Agrees on a pool by what this party has and what the others tell.
///
/// # Errors
/// [`SessionError::PoolClosed`] where this party's pool is not used up and another one is to be made;
/// [`SessionError::NoPool`], [`SessionError::PoolDeadThere`], [`SessionError::PoolsUnlike`],
/// [`SessionError::PoolNumbers`], [`SessionError::PoolBehind`].
pub(super) fn agree((mode, me): (PoolMode, usize), told: &[Told]) -> Result<Agreed, SessionError> {
    let own = match &told[me] {
        Told::Live(own) if mode == PoolMode::Make && !own.is_empty() => return Err(SessionError::PoolClosed),
        _ if mode == PoolMode::Make => return Ok(Agreed::New),
        Told::Live(own) => own,
        _ => return Err(lacking(told)),
    };
    if let Some(party) = told.iter().position(|told| *told == Told::Dead(own.id)) {
        return Err(SessionError::PoolDeadThere { party });
    }
    if told.contains(&Told::Nothing) {
        return Err(lacking(told));
    }
    let all: Vec<&Offer> =
        told.iter().filter_map(|told| if let Told::Live(offer) = told { Some(offer) } else { None }).collect();
    let is_alike =
        |offer: &&&Offer| (offer.id, offer.prices) == (own.id, own.prices) && offer.lots.keys().eq(own.lots.keys());
    if all.iter().filter(is_alike).count() < told.len() {
        return Err(SessionError::PoolsUnlike);
    }
    let lots = own.lots.keys().map(|id| {
        let each: Vec<&Has> = all.iter().map(|offer| &offer.lots[id]).collect();
        common(me, &each).map(|common| (*id, common))
    });
    Ok(Agreed::Same(lots.collect::<Result<BTreeMap<_, _>, _>>()?))
}

fn lacking(told: &[Told]) -> SessionError {
    let lacking: Vec<usize> = (0..told.len()).filter(|&party| told[party] == Told::Nothing).collect();
    SessionError::NoPool { parties: numbers(&lacking) }
}

/// Returns the places of a lot that all parties can use. No party has more than this one has made, and none is further
/// behind than a crash explains.
fn common(me: usize, each: &[&Has]) -> Result<Common, SessionError> {
    let own = each[me];
    for (party, has) in each.iter().enumerate() {
        for (what, theirs, ours) in [("made", has.end, own.end), ("reserved", has.reserved.max(own.end), own.end)] {
            if theirs != ours {
                return Err(SessionError::PoolNumbers { party, what, theirs, ours });
            }
        }
    }
    let common = Common::of(each);
    let behind = |has: &Has| has.between(has.reserved, common.reserved) > reserved_at_most(&common);
    let most = each.iter().position(|has| has.reserved == common.reserved).unwrap_or(me);
    match each.iter().position(|has| behind(has)) {
        Some(party) => {
            let (reserved, other) = (each[party].reserved, common.reserved);
            Err(SessionError::PoolBehind { party, reserved, most, other })
        }
        None => Ok(common),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::notes::Stretch;
    use quorate_pool::LotId;

    fn offer(id: u8, reserved: u32, end: u32) -> Offer {
        let stretches = if reserved < end { vec![Stretch { start: reserved, end, batch: [3; 16] }] } else { vec![] };
        let has = Has { reserved, end, stretches };
        Offer { id: [id; 32], prices: [0; 32], lots: [(LotId([1; 32]), has)].into() }
    }

    fn live(reserved: u32, end: u32) -> Told {
        Told::Live(offer(1, reserved, end))
    }

    #[test]
    fn what_this_party_has_decides_whether_a_pool_is_made() {
        let lies = [Told::Nothing, Told::Dead([1; 32]), live(0, 9), live(9, 9), Told::Live(offer(2, 0, 9))];
        for lie in lies {
            let made = |own: Told| agree((PoolMode::Make, 0), &[own, lie.clone()]);
            for own in [Told::Nothing, Told::Dead([1; 32]), live(9, 9)] {
                assert!(matches!(made(own), Ok(Agreed::New)));
            }
            assert!(matches!(made(live(0, 9)), Err(SessionError::PoolClosed)));
        }
    }

    #[test]
    fn parties_use_one_pool_that_lives_everywhere() {
        let used = |told: &[Told]| agree((PoolMode::Use, 0), told);
        let Ok(Agreed::Same(lots)) = used(&[live(0, 9), live(1, 9), live(0, 9)]) else { panic!("one pool") };
        assert_eq!(lots[&LotId([1; 32])].place(0), Some((1, [3; 16])));
        let parties = |told: &[Told]| match used(told) {
            Err(SessionError::NoPool { parties }) => parties,
            other => panic!("{other:?}"),
        };
        assert_eq!(parties(&[live(0, 9), Told::Nothing, live(0, 9)]), "1");
        assert_eq!(parties(&[Told::Nothing, Told::Dead([1; 32]), Told::Nothing]), "0, 2");
        let dead = used(&[live(0, 9), live(0, 9), Told::Dead([1; 32])]);
        assert!(matches!(dead, Err(SessionError::PoolDeadThere { party: 2 })));
        // Another pool that is dead says nothing of this one.
        for other in [Told::Dead([2; 32]), Told::Live(offer(2, 0, 9))] {
            assert!(matches!(used(&[live(0, 9), other]), Err(SessionError::PoolsUnlike)));
        }
        let mut more = offer(1, 0, 9);
        more.lots.insert(LotId([2; 32]), Has::default());
        assert!(matches!(used(&[live(0, 9), Told::Live(more)]), Err(SessionError::PoolsUnlike)));
    }

    #[test]
    fn numbers_are_bounded_by_what_this_party_has_made() {
        let used =
            |own: Told, other: Told| agree((PoolMode::Use, 0), &[own, other]).err().map(|error| error.to_string());
        for (reserved, end) in [(0, 10), (0, 8), (u32::MAX, u32::MAX)] {
            let text = used(live(0, 9), live(reserved, end)).unwrap();
            assert!(text.contains("party 1") && text.contains(&end.to_string()) && text.contains('9'), "{text}");
        }
        let mut beyond = offer(1, 9, 9);
        beyond.lots.values_mut().for_each(|has| has.reserved = 1 << 30);
        assert!(used(live(0, 9), Told::Live(beyond)).unwrap().contains("1073741824"));
        assert_eq!(used(live(0, 100), live(5, 100)), None);
        for (own, other) in [(0, 50), (50, 0)] {
            let text = used(live(own, 100), live(other, 100)).unwrap();
            assert!(["party 0", "party 1", "50"].iter().all(|part| text.contains(part)), "{text}");
        }
    }
}
