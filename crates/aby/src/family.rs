//! What users read of `aby`, and what sessions need of it.

use quorate_crypto::Seed;
use quorate_engine::{Ctx, Demand, Error, Result, Stocks};
use quorate_gadgets::here::Local;
use quorate_gadgets::{Choice, Choices, Descriptor, Family, Parties};
use quorate_ring::meter::Work;

use crate::setup::Aby;
use crate::stock::Kind;
use crate::triples::TripleSource;
use crate::yao::Garbling;

const TRIPLES: Choice = Choice {
    name: "triples",
    values: &["ot", "paillier", "dgk"],
    help: "what multiplication triples are made with: oblivious transfer, or homomorphic encryption of 3072 bits",
};

fn source(choices: &Choices) -> TripleSource {
    let named = choices.of(&TRIPLES);
    TripleSource::ALL.into_iter().find(|source| source.name() == named).unwrap_or_default()
}

/// Compiled here, as [`quorate_gadgets::here`] says.
fn set_up<'a>(ctx: &'a Ctx, coins: Option<&'a Seed>, choices: &'a Choices) -> Local<'a, Aby> {
    Box::pin(async move {
        let drawn =
            Seed::random().map_err(|_| Error::Bug { what: "the operating system has no randomness to give" })?;
        let own = coins.unwrap_or(&drawn);
        let mut aby = Aby::setup_from(ctx, own).await?;
        aby.set_up_triples(ctx, source(choices), own).await?;
        Ok(aby)
    })
}

fn prepared<'a>(s: &'a Aby, ctx: &'a Ctx, demand: Demand<Kind>) -> Local<'a, ()> {
    Box::pin(s.make_all(ctx, demand))
}

impl Family for Aby {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "aby",
        about: "2 parties, semi-honest",
        parties: Parties { usual: &[2], or_more: false, takes: "2" },
        sharings: &["A", "B", "Y"],
        options: &[TRIPLES],
        workloads: &["mul", "matmul", "less-than-bounded", "less-than-full", "chain", "conversions", "aes", "triples"],
        most_elements: 100_000,
    };

    fn security(_: usize, choices: &Choices) -> String {
        let more = match source(choices) {
            TripleSource::Transfers => "",
            TripleSource::Paillier => {
                "; triples from Paillier with 3072 bits, 2^-40 statistical for all answers of a session"
            }
            TripleSource::Dgk => "; triples from DGK with 3072 bits and orders of 256",
        };
        format!(
            "semi-honest: 1 party of 2 may try to learn more than the results from what it sees, but both follow the \
             protocol; 128-bit computational security (oblivious transfer from the discrete logarithm in ristretto255 and \
             AES-128, BLAKE3, TLS 1.3{more})"
        )
    }

    async fn setup(ctx: &Ctx, coins: Option<&Seed>, choices: &Choices) -> Result<Self> {
        set_up(ctx, coins, choices).await
    }

    fn dry(parties: usize, me: usize, choices: &Choices) -> Result<Self> {
        Aby::dry_with(parties, me, source(choices))
    }

    fn fill_line(&self, bytes: usize) {
        Aby::fill_line(self, bytes);
    }

    fn record_demand(&self) {
        self.garbled.clear();
        self.stock.record();
    }

    async fn prepare<T>(
        &self,
        ctx: &Ctx,
        demand: Demand<Kind>,
        online: impl AsyncFnOnce(&Ctx) -> Result<T>,
    ) -> Result<Option<T>> {
        prepared(self, ctx, demand).await?;
        self.garble_ahead(ctx, online).await
    }

    fn forget(&self) {
        self.stock.clear();
        self.garbled.clear();
    }

    fn set_ahead(&self, ahead: bool) {
        self.set_garbling(if ahead { Garbling::Ahead } else { Garbling::Streamed });
    }

    fn worth_garbling_ahead(demand: &Demand<Kind>, offline_weight: f64) -> bool {
        Aby::garbling_for(demand, offline_weight) == Garbling::Ahead
    }

    fn garbles_alone(&self) -> bool {
        Aby::garbles_alone(self)
    }

    fn defer(&self, work: &Work) {
        Aby::defer(self, work);
    }

    fn shares(&self) -> u64 {
        1
    }

    fn work_shares(&self) -> u64 {
        8
    }

    /// The larger of both parties', so that both decide alike by it.
    fn stock_bytes(&self, kind: &Kind, len: usize) -> u64 {
        (0..2).map(|me| kind.layout(me).bytes(len)).fold(0, u64::max)
    }

    fn held_bytes(&self) -> u64 {
        Aby::held_bytes(self)
    }
}
