//! Runs whose correlations come from a pool.
//!
//! | | rounds | sent by a party to each other one |
//! |---|---|---|
//! | a run whose place all parties have reserved | 0 | 0 |
//! | another run | 1, after a change of the disk | a byte |

use quorate_crypto::SessionId;
use quorate_engine::{Ctx, Demand, Phase, Result, Run};
use quorate_gadgets::Family;
use quorate_graph::Graph;

use super::content::{self, Content};
use super::purse::{Place, Purse};
use crate::error::SessionError;

/// A run's place in the pool, and its content.
pub(crate) struct Spending {
    content: Content,
    place: Place,
}

impl Spending {
    /// Chooses the place of a run with this demand, by the notes of all parties; `None` for a run without correlations.
    ///
    /// # Errors
    /// [`SessionError::NotPoolable`], [`SessionError::PoolExhausted`]; the same at all parties.
    pub fn of<B: Family>(
        purse: &mut Purse,
        demand: &Demand<B::Kind>,
        graph: &Graph,
        notes: &[Vec<u8>],
    ) -> std::result::Result<Option<Spending>, SessionError> {
        content::check::<B>(demand, graph)?;
        let Some(content) = Content::of::<B>(demand.totals()) else { return Ok(None) };
        match purse.choose(content.lot(), notes)? {
            Some(place) => {
                purse.begin(place); // before anything is said of it
                Ok(Some(Spending { content, place }))
            }
            None => Err(exhausted(&content, purse)),
        }
    }

    /// Returns a hash of the session's name, of the parties' plan and of what the run takes from the pool.
    pub fn hash(session: &SessionId, plan: &[u8; 32], spending: Option<&Spending>) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("quorate/session/pooled plan");
        hasher.update(session.as_bytes()).update(plan);
        if let Some(Spending { place: Place { lot, place, batch, reserve }, .. }) = spending {
            let numbers = [u64::from(*place), reserve.map_or(u64::MAX, u64::from)];
            hasher.update(&lot.0).update(batch);
            for number in numbers {
                hasher.update(&number.to_le_bytes());
            }
        }
        hasher.finalize().into()
    }

    /// Returns a hash of the session's name and of the parties' plan for which the pool has no place.
    pub fn hash_of_refusal(session: &SessionId, plan: &[u8; 32]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("quorate/session/refused plan");
        hasher.update(session.as_bytes()).update(plan);
        hasher.finalize().into()
    }

    /// Fills the stock for a run. Where some party has not reserved the place, all parties reserve it, and wait until
    /// all have done so. Keys of the pool end with an error here, also if this party did not use them: others may have.
    ///
    /// # Errors
    /// [`SessionError::Pool`], and any error that ends a run.
    pub fn fill<B: Family>(
        self,
        purse: &mut Purse,
        run: &mut Run<'_>,
        backend: &B,
        demand: Demand<B::Kind>,
    ) -> std::result::Result<(), SessionError> {
        let filled = self.filled(purse, run, backend, demand);
        if filled.is_err() {
            backend.revoke();
        }
        filled
    }

    fn filled<B: Family>(
        self,
        purse: &mut Purse,
        run: &mut Run<'_>,
        backend: &B,
        demand: Demand<B::Kind>,
    ) -> std::result::Result<(), SessionError> {
        let Spending { content, place } = self;
        purse.enter()?;
        if place.reserve.is_some() {
            purse.reserve(place)?;
            run.phase(Phase::Offline, async |ctx| meet(ctx).await)?;
        }
        let bundle = purse.take(place)?;
        let made = content::unpacked(backend, content.kinds::<B>()?, &bundle.bytes)?;
        Ok(backend.fill_from_pool(SessionId::from_bytes(bundle.batch.origin), demand, made)?)
    }
}

/// Waits until all parties have come here.
pub(crate) async fn meet(ctx: &Ctx) -> Result<()> {
    let peers = ctx.peers();
    let outgoing: Vec<(usize, &[u8])> = peers.iter().map(|&peer| (peer, &[1][..])).collect();
    let incoming: Vec<(usize, usize)> = peers.iter().map(|&peer| (peer, 1)).collect();
    ctx.exchange_bytes(&outgoing, &incoming).await.map(drop)
}

fn exhausted(content: &Content, purse: &Purse) -> SessionError {
    let needs: Vec<String> = content.named.iter().map(|(kind, count)| format!("{count} x {kind}")).collect();
    let mut others = purse.levels();
    let has_lot = others.remove(&content.lot()).is_some();
    let others: Vec<String> = others.values().map(u32::to_string).collect();
    SessionError::PoolExhausted { needs: needs.join(", "), has_lot, others: others.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A dealer may give two parties unlike names of a session. They find that before they take anything.
    #[test]
    fn parties_compare_the_name_of_their_session() {
        let hash = |session: u8, plan: u8| Spending::hash(&SessionId::from_bytes([session; 32]), &[plan; 32], None);
        assert_eq!(hash(1, 2), hash(1, 2));
        assert_ne!(hash(1, 2), hash(3, 2));
        assert_ne!(hash(1, 2), hash(1, 3));
    }
}
