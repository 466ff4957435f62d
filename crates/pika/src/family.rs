//! What users see of `pika`, and what sessions need of it.

use quorate_authenticated::options::{ALLOW_WEAK, MAC};
use quorate_crypto::{Seed, SessionId};
use quorate_engine::{Ctx, Demand, Misuse, Result, Stocks};
use quorate_gadgets::here::Local;
use quorate_gadgets::{
    Choice, Choices, Descriptor, Family, Footprint, GarblesAhead, MakesAhead, Parties, Pools, Revokes, packs_here,
    streamed_lookup_bytes,
};

use crate::forms::{COMPARISONS, Comparisons};
use crate::kind::Kind;
use crate::lookup::under_way;
use crate::setup::Pika;

/// Whether a party may cheat.
pub const MALICIOUS: Choice = Choice {
    name: "malicious",
    values: &["no", "yes"],
    help: "whether any one of the three parties, the dealer included, may be malicious: dealt correlations and all \
           openings are then checked",
};

/// Sets up a party; compiled here, as [`quorate_gadgets::here`] explains.
#[inline(never)]
fn set_up<'a>(ctx: &'a Ctx, coins: Option<&'a Seed>, choices: &'a Choices) -> Local<'a, Pika> {
    Box::pin(async move {
        let pika = match coins {
            Some(own) => Pika::setup_from(ctx, own).await,
            None => Pika::setup(ctx).await,
        }?;
        pika.choose(choices);
        Ok(pika)
    })
}

#[inline(never)]
fn prepared<'a>(s: &'a Pika, ctx: &'a Ctx, demand: Demand<Kind>) -> Local<'a, ()> {
    Box::pin(s.make_all(ctx, demand))
}

impl Family for Pika {
    const BRANCHES: bool = true;
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "pika",
        about: "3 parties, semi-honest, or malicious on request: two hold the data, the third one deals",
        parties: Parties { usual: &[3], or_more: false, takes: "3" },
        sharings: &["A", "B"],
        options: &[MALICIOUS, MAC, ALLOW_WEAK, COMPARISONS],
        workloads: &[
            "mul",
            "matmul",
            "random-bit",
            "edabit",
            "less-than",
            "truncation",
            "sigmoid",
            "table",
            "domains",
            "chain",
        ],
        most_elements: 1_000_000,
    };

    fn security(_: usize, _: &Choices) -> String {
        "semi-honest: 1 party of 3 may try to learn more than the results from what it sees, but all follow the \
         protocol; party 2 deals correlations, and sees nothing of the data of parties 0 and 1 unless one of them \
         tells it what it holds; 128-bit computational security (AES-128, BLAKE3, TLS 1.3)"
            .into()
    }

    /// Options of a malicious session are checked by that family.
    fn check_choices(choices: &Choices) -> Result<()> {
        if choices.of(&MALICIOUS) == "yes" {
            return crate::PikaMalicious::check_choices(choices);
        }
        match [MAC, ALLOW_WEAK].iter().all(|option| choices.of(option) == option.values[0]) {
            true => Ok(()),
            false => {
                Err(Misuse::Other { what: "without malicious nothing has a MAC: mac and allow_weak go with it" }.into())
            }
        }
    }

    async fn setup(ctx: &Ctx, coins: Option<&Seed>, choices: &Choices) -> Result<Self> {
        set_up(ctx, coins, choices).await
    }

    fn dry(parties: usize, me: usize, choices: &Choices) -> Result<Self> {
        let pika = Pika::dry(parties, me)?;
        pika.choose(choices);
        Ok(pika)
    }

    fn beside(&self) -> Option<Pika> {
        Some(Pika::beside(self))
    }

    fn branch(&self) -> Option<Pika> {
        Some(Pika::branch(self))
    }

    fn choose(&self, choices: &Choices) {
        self.set_comparisons(Comparisons::of(choices));
        self.pooled.set(choices.pooled);
    }

    async fn prepare<T>(
        &self,
        ctx: &Ctx,
        demand: Demand<Kind>,
        _: impl AsyncFnOnce(&Ctx) -> Result<T>,
    ) -> Result<Option<T>> {
        prepared(self, ctx, demand).await.map(|()| None)
    }

    fn forget(&self) {
        self.stock.clear();
        self.masks.forget();
    }
}

impl MakesAhead for Pika {
    /// Returns the larger of the sizes at parties 0 and 1, so that all parties decide alike by it.
    fn stock_bytes(&self, kind: &Kind, len: usize) -> u64 {
        (0..2).map(|me| kind.layout(me).bytes(len)).fold(0, u64::max)
    }
}

impl GarblesAhead for Pika {}

impl Pools for Pika {
    packs_here! {}

    /// Masks of factors, and what is dealt for them, belong to values of their session.
    fn fits_pools(kind: &Kind) -> bool {
        match kind {
            Kind::FactorMask { .. } | Kind::TripleBy { .. } => false,
            Kind::Triple { .. }
            | Kind::DotTriple { .. }
            | Kind::MatrixTriple { .. }
            | Kind::ConvTriple { .. }
            | Kind::BitTriple
            | Kind::DaBit { .. }
            | Kind::EdaBit { .. }
            | Kind::ComparisonMask { .. }
            | Kind::TruncMask { .. }
            | Kind::WideEdaBit { .. }
            | Kind::Selection { .. }
            | Kind::Lookup { .. }
            | Kind::Point { .. }
            | Kind::SignKey { .. }
            | Kind::FloorKeys { .. }
            | Kind::BoundedFloorKey { .. }
            | Kind::Permutation { .. } => true,
        }
    }

    fn origin(&self) -> SessionId {
        self.session
    }

    fn packed_shares(&self) -> usize {
        usize::from(!self.deals())
    }
}

impl Revokes for Pika {}

impl Footprint for Pika {
    fn shares(&self) -> u64 {
        1
    }

    fn work_shares(&self) -> u64 {
        4
    }

    fn factor_bytes(&self, bits: u32, len: usize) -> u64 {
        2 * self.value_bytes(bits, len) // with the value that was opened of it, or, at the party that deals, its mask
    }

    fn lookup_bytes(&self, (entries, bits): (usize, u32), len: u64) -> u64 {
        under_way(entries, bits, len).unwrap_or_else(|| streamed_lookup_bytes(self.work_shares(), len))
    }
}
