//! Triples from homomorphic encryption: the keys of two parties, where this build has the feature `he`.

use quorate_engine::{Ctx, Party, Phase, Result};
use quorate_he::{He, Level, Options, Scheme};
use quorate_ot::Triples;
use quorate_ring::Ring;

use crate::cell::{KeySize, Workload};

/// Whether this build can measure workloads of homomorphic encryption.
pub(crate) const HERE: bool = true;

/// One party's keys for the cryptosystem that was used last.
#[derive(Default)]
pub(crate) struct Keys(Option<He>);

impl Keys {
    /// Makes the keys that the workload needs and that are not there yet. The peer does the same.
    pub fn make(&mut self, party: &mut Party, workload: Workload) -> Result<()> {
        let Some(options) = cryptosystem(workload) else { return Ok(()) };
        if self.0.as_ref().is_some_and(|he| he.options() == options) {
            return Ok(());
        }
        let peer = 1 - party.me();
        let mut run = party.begin_alone()?;
        self.0 = Some(run.phase(Phase::Offline, async |ctx| He::setup(ctx, peer, options).await)?);
        run.finish();
        Ok(())
    }

    /// Makes `len` triples over the ring.
    pub async fn triples(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Triples> {
        let made = self.0.as_ref().ok_or(crate::error::NO_TASK)?.triples(ctx, ring, len).await?;
        Ok(Triples { a: made.a, b: made.b, c: made.c })
    }
}

/// Returns the cryptosystem that a workload needs, if any.
fn cryptosystem(workload: Workload) -> Option<Options> {
    let (scheme, size) = match workload {
        Workload::TriplesPaillier(size) => (Scheme::Paillier, size),
        Workload::TriplesDgk(size) => (Scheme::Dgk, size),
        _ => return None,
    };
    let level = match size {
        KeySize::Legacy => Level::LEGACY,
        KeySize::Medium => Level::MEDIUM,
        KeySize::Long => Level::LONG,
    };
    Some(Options { scheme, level })
}
