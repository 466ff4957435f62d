//! The description of `aby` for users, and its interface for sessions.

use quorate_crypto::{Seed, SessionId};
use quorate_engine::{Ctx, Demand, Result, Stocks};
use quorate_gadgets::here::Local;
use quorate_gadgets::{
    Choices, Descriptor, Family, Footprint, GarblesAhead, MakesAhead, Parties, Pools, Revokes, packs_here,
};
use quorate_ring::meter::Effort;

use crate::kind::Kind;
use crate::setup::Aby;
use crate::yao::Garbling;

/// Sets up a party; compiled here, as [`quorate_gadgets::here`] explains.
#[inline(never)]
fn set_up<'a>(ctx: &'a Ctx, coins: Option<&'a Seed>) -> Local<'a, Aby> {
    Box::pin(async move {
        match coins {
            Some(own) => Aby::setup_from(ctx, own).await,
            None => Aby::setup(ctx).await,
        }
    })
}

#[inline(never)]
fn prepared<'a>(s: &'a Aby, ctx: &'a Ctx, demand: Demand<Kind>) -> Local<'a, ()> {
    Box::pin(s.make_all(ctx, demand))
}

impl Family for Aby {
    const BRANCHES: bool = true;
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "aby",
        about: "2 parties, semi-honest",
        parties: Parties { usual: &[2], or_more: false, takes: "2" },
        sharings: &["A", "B", "Y"],
        options: &[],
        workloads: &[
            "mul",
            "matmul",
            "less-than-bounded",
            "less-than-full",
            "sigmoid",
            "table",
            "chain",
            "conversions",
            "operations",
            "aes",
            "triples",
        ],
        most_elements: 100_000,
    };

    fn security(_: usize, _: &Choices) -> String {
        "semi-honest: 1 party of 2 may try to learn more than the results from what it sees, but both follow the \
         protocol; 128-bit computational security (oblivious transfer from the discrete logarithm in ristretto255 and \
         AES-128, BLAKE3, TLS 1.3)"
            .into()
    }

    async fn setup(ctx: &Ctx, coins: Option<&Seed>, _: &Choices) -> Result<Self> {
        set_up(ctx, coins).await
    }

    fn dry(parties: usize, me: usize, _: &Choices) -> Result<Self> {
        Aby::dry(parties, me)
    }

    fn beside(&self) -> Option<Aby> {
        Some(Aby::beside(self))
    }

    fn branch(&self) -> Option<Aby> {
        Some(Aby::beside(self)) // nothing is named by steps of the program
    }

    fn fill_line(&self, bytes: usize) {
        Aby::fill_line(self, bytes);
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
}

impl MakesAhead for Aby {
    fn record_demand(&self) {
        self.garbled.clear();
        self.stock.record();
    }

    /// Returns the larger of the sizes at both parties, so that both reach the same decision.
    fn stock_bytes(&self, kind: &Kind, len: usize) -> u64 {
        (0..2).map(|me| kind.layout(me).bytes(len)).fold(0, u64::max)
    }
}

impl GarblesAhead for Aby {
    fn set_ahead(&self, ahead: bool) {
        self.set_garbling(if ahead { Garbling::Ahead } else { Garbling::Streamed });
    }

    fn worth_garbling_ahead(demand: &Demand<Kind>, offline_weight: f64) -> bool {
        Aby::garbling_for(demand, offline_weight) == Garbling::Ahead
    }

    fn garbles_alone(&self) -> bool {
        Aby::garbles_alone(self)
    }

    fn defer(&self, work: &Effort) {
        Aby::defer(self, work);
    }
}

impl Pools for Aby {
    packs_here! {}

    /// Labels and tables of garbled circuits belong to one difference of labels, that of their session.
    fn fits_pools(kind: &Kind) -> bool {
        match kind {
            Kind::InputLabel | Kind::EntryLabel | Kind::GarbledAnd => false,
            Kind::Triple { .. }
            | Kind::MatrixTriple { .. }
            | Kind::ConvTriple { .. }
            | Kind::BitTriple
            | Kind::BitPair
            | Kind::BitProduct { .. }
            | Kind::Selection { .. }
            | Kind::Tables { .. }
            | Kind::Lookup { .. }
            | Kind::Point { .. }
            | Kind::Permutation { .. } => true,
        }
    }

    fn origin(&self) -> SessionId {
        *self.session()
    }

    fn packed_shares(&self) -> usize {
        1
    }
}

impl Revokes for Aby {}

impl Footprint for Aby {
    fn shares(&self) -> u64 {
        1
    }

    fn work_shares(&self) -> u64 {
        8
    }
}
