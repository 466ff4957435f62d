//! Correlations that parties make, one of whom may change a message.

use quorate_authenticated::Kind;
use quorate_engine::testing::{Tampered, parties};
use quorate_engine::{Phase, Result, Stocks};
use quorate_spdz2k::{Params, Spdz2k};

use crate::common::Keyed;

/// Makes correlations of one kind among `n` parties, and counts the messages of each; one party may change a message.
pub fn made(
    n: usize,
    params: Params,
    kind: &Kind,
    len: usize,
    tampered: Option<(usize, Tampered)>,
) -> Vec<(Result<Keyed>, usize)> {
    parties(n, |mut party| {
        if let Some((_, tampered)) = tampered.filter(|(cheat, _)| *cheat == party.me()) {
            party.insecure_tamper(tampered);
        }
        let mut run = party.begin_alone().unwrap();
        let done = run.phase(Phase::Offline, async |ctx| {
            let s = Spdz2k::set_up(ctx, params, None).await?;
            let made = s.make(ctx, kind, len).await?;
            let vectors = made.vectors.iter().map(Spdz2k::insecure_shared).collect();
            let bits = made.bits.iter().map(Spdz2k::insecure_bits).collect();
            Ok(((s.insecure_alpha(), s.insecure_delta()), (vectors, bits)))
        });
        run.finish();
        (done, party.insecure_sent())
    })
}
