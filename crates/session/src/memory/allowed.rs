//! The memory that a run may take: the limit that users set, and the memory that is free where the parties run.
//!
//! The parties tell each other at the start of a run how much memory is free, so that all of them come to the same
//! decision:
//!
//! - If the run fits the least of these amounts, it runs as it would anywhere: the pieces follow from sizes alone.
//! - If it does not, the least amount is its limit, as if users had set it.
//! - If the run cannot keep to that limit, every party refuses it before anything else is sent.

use quorate_graph::{Graph, Op};

use crate::error::SessionError;
use crate::memory::gate::ROOM_BYTES;
use crate::memory::limit::Limit;
use crate::memory::need::Need;

/// The limits on the memory of one run.
pub(crate) struct Allowed {
    /// The limit that users set.
    pub named: Option<u64>,
    /// The bytes that each party can allocate besides what it holds.
    pub free: Vec<u64>,
    /// The number of parties that share this process.
    pub sharing: usize,
}

impl Allowed {
    /// Returns a lower limit for a run that fits the users' limit, or has none, but does not fit the free memory.
    pub fn less_for(&self, need: &Need) -> Option<Limit> {
        let (named, least) = (Limit::named(self.named), self.least().1);
        let is_less = need.fits(named) && need.more(named) > least;
        is_less.then(|| Limit::Free(need.held_bytes.saturating_add(least)))
    }

    /// Refuses a run that cannot fit.
    ///
    /// # Errors
    /// [`SessionError::Memory`] where the limit is the user's, [`SessionError::TooLittle`] where it is the free memory.
    pub fn check(&self, graph: &Graph, need: &Need, limit: Limit) -> Result<(), SessionError> {
        let Some(limit_bytes) = limit.bytes().filter(|_| !need.fits(limit)) else { return Ok(()) };
        let at = match need.at {
            Some(id) if matches!(graph.node(id).op, Op::Shuffle { .. } | Op::Order { .. }) => {
                format!("{}, which does not run in pieces,", graph.describe(id))
            }
            Some(id) => graph.describe(id),
            None => "what this session holds".into(),
        };
        if let Limit::Named(_) = limit {
            let of_turns = if need.makes_ahead(limit) { 0 } else { need.turn_bytes };
            return Err(SessionError::Memory { at, need_bytes: need.total(limit), of_turns, limit_bytes });
        }
        let (party, free_bytes) = self.least();
        let need_bytes = need.more(limit);
        Err(SessionError::TooLittle { at, need_bytes, free_bytes, party, sharing: self.sharing })
    }

    /// Returns the bytes that steps before their turn may take under a limit.
    pub fn room(&self, need: &Need, limit: Limit) -> Option<u64> {
        if let Limit::Named(_) = limit {
            return need.room(limit);
        }
        Some(self.least().1.saturating_sub(need.more(limit)).min(ROOM_BYTES))
    }

    /// Returns the party with the least free memory, and the amount.
    fn least(&self) -> (usize, u64) {
        let free = self.free.iter().copied().enumerate();
        free.min_by_key(|&(_, bytes)| bytes).unwrap_or((0, u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(named: Option<u64>, free: &[u64]) -> Allowed {
        Allowed { named, free: free.to_vec(), sharing: 1 }
    }

    fn need(peak_bytes: u64, held_bytes: u64, stock_bytes: u64) -> Need {
        Need {
            peak_bytes,
            at: None,
            held_bytes,
            base_bytes: held_bytes,
            stock_bytes,
            making_bytes: 0,
            turn_bytes: 0,
            only_ahead: false,
        }
    }

    #[test]
    fn the_least_that_any_party_has_is_the_limit_where_the_run_takes_more() {
        let three = allowed(None, &[500, 300, 400]);
        assert_eq!(three.less_for(&need(350, 50, 0)), None, "what is held is there already");
        assert_eq!(three.less_for(&need(351, 50, 0)), Some(Limit::Free(350)));
        assert_eq!(three.less_for(&need(300, 50, 60)), Some(Limit::Free(350)), "correlations count");
        assert_eq!(allowed(None, &[u64::MAX; 3]).less_for(&need(u64::MAX, 0, 1)), None);
    }

    #[test]
    fn users_limits_come_first() {
        let both = allowed(Some(200), &[300]);
        assert_eq!(both.less_for(&need(250, 0, 0)), None, "refused by the limit that users named");
        assert_eq!(both.less_for(&need(150, 0, 400)), None, "correlations are made where they are drawn");
        assert_eq!(allowed(Some(400), &[300]).less_for(&need(350, 0, 0)), Some(Limit::Free(300)));
    }

    #[test]
    fn refusals_say_who_has_too_little() {
        let graph = Graph::default();
        let refused = |allowed: &Allowed, limit: Limit| allowed.check(&graph, &need(5_000_000_000, 0, 0), limit).err();
        let far = allowed(None, &[u64::MAX, 3_000_000_000]);
        assert!(refused(&far, Limit::None).is_none());
        let error = refused(&far, Limit::Free(3_000_000_000)).unwrap();
        assert!(matches!(error, SessionError::TooLittle { party: 1, need_bytes: 5_000_000_000, .. }), "{error}");
        assert!(error.to_string().contains("needs 5000 MB") && error.to_string().contains("party 1 has 3000 MB"));
        let here = Allowed { sharing: 3, ..far };
        let error = refused(&here, Limit::Free(3_000_000_000)).unwrap().to_string();
        assert!(error.contains("each of the 3 parties in this process has 3000 MB"), "{error}");
        let named = allowed(Some(1_000_000_000), &[u64::MAX]);
        assert!(matches!(refused(&named, Limit::named(named.named)), Some(SessionError::Memory { .. })));
    }

    #[test]
    fn early_steps_have_the_memory_that_is_left() {
        let roomy = allowed(None, &[u64::MAX]);
        assert_eq!(roomy.room(&need(1000, 0, 0), Limit::None), Some(ROOM_BYTES));
        let tight = allowed(None, &[900]);
        assert_eq!(tight.room(&need(700, 0, 0), Limit::None), Some(200));
        assert_eq!(tight.room(&need(900, 200, 0), Limit::Free(1100)), Some(200));
        assert_eq!(allowed(Some(1000), &[u64::MAX]).room(&need(400, 0, 0), Limit::Named(1000)), Some(600));
    }
}
