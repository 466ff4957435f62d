//! What users see of the malicious form, and what sessions need of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use quorate_authenticated::{Authenticated, Kind, Params};
use quorate_crypto::{Seed, SessionId};
use quorate_engine::{Ctx, Demand, Misuse, Result, Sharing, Stocks};
use quorate_gadgets::here::Local;
use quorate_gadgets::{
    Choices, Descriptor, Family, Footprint, GarblesAhead, MakesAhead, Pools, Revokes, streamed_lookup_bytes,
};

use super::PikaMalicious;
use super::batches::making_bytes;
use crate::forms::COMPARISONS;
use crate::setup::Pika;

/// Sets up a party; compiled here, as [`quorate_gadgets::here`] explains.
#[inline(never)]
fn set_up<'a>(ctx: &'a Ctx, coins: Option<&'a Seed>, choices: &'a Choices) -> Local<'a, PikaMalicious> {
    Box::pin(async move { PikaMalicious::set_up(ctx, Params::chosen(choices)?, coins).await })
}

#[inline(never)]
fn set_up_from_pool<'a>(
    ctx: &'a Ctx,
    from: (Option<&'a Seed>, &'a [u8]),
    choices: &'a Choices,
) -> Local<'a, PikaMalicious> {
    Box::pin(async move { PikaMalicious::set_up_under(ctx, Params::chosen(choices)?, from).await })
}

#[inline(never)]
fn prepared<'a>(s: &'a PikaMalicious, ctx: &'a Ctx, demand: Demand<Kind>) -> Local<'a, ()> {
    Box::pin(s.make_all(ctx, demand))
}

impl Family for PikaMalicious {
    const DESCRIPTOR: Descriptor = Descriptor {
        about: "3 parties, malicious, any one may cheat: two hold the data, the third one deals",
        most_elements: 10_000,
        ..Pika::DESCRIPTOR
    };

    fn most_bits_with(choices: &Choices) -> u32 {
        Params::chosen(choices).map_or(<Self as Sharing>::MOST_BITS, Params::most_bits)
    }

    fn security(_: usize, choices: &Choices) -> String {
        let bits = Params::chosen(choices).map_or(0, Params::security_bits);
        format!(
            "malicious, experimental: any 1 party of 3 may do anything; who follows the protocol gets the right result \
             or an error; party 2 deals correlations, which the others check before any input is used; {bits}-bit \
             statistical and 128-bit computational security (AES-128, BLAKE3, TLS 1.3)"
        )
    }

    fn check_choices(choices: &Choices) -> Result<()> {
        if choices.of(&COMPARISONS) != COMPARISONS.values[0] {
            let what = "with malicious=True numbers are compared by digits of their masks: comparisons goes without it";
            return Err(Misuse::Other { what }.into());
        }
        Params::chosen(choices).map(drop)
    }

    async fn setup(ctx: &Ctx, coins: Option<&Seed>, choices: &Choices) -> Result<Self> {
        set_up(ctx, coins, choices).await
    }

    fn dry(parties: usize, me: usize, choices: &Choices) -> Result<Self> {
        Self::new_dry(parties, me, Params::chosen(choices)?)
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
        self.online.forget();
    }
}

impl MakesAhead for PikaMalicious {
    /// The dealer may cheat, so what it deals is checked before anything depends on an input.
    const ONLY_AHEAD: bool = true;

    fn stock_bytes(&self, kind: &Kind, len: usize) -> u64 {
        self.online.stock_bytes(kind, len)
    }

    fn making_bytes(&self, totals: &BTreeMap<Kind, usize>) -> u64 {
        making_bytes(totals)
    }
}

impl GarblesAhead for PikaMalicious {}

impl Pools for PikaMalicious {
    const HAS_POOLS: bool = true;
    const HAS_SECRETS: bool = true;

    /// Party 2 deals no one-sided triples and no sharings of zero.
    fn fits_pools(kind: &Kind) -> bool {
        match kind {
            Kind::OneSided { .. } | Kind::KnownMatrices { .. } | Kind::OwnedMatrices { .. } | Kind::BitZero => false,
            Kind::Triple { .. }
            | Kind::DotTriple { .. }
            | Kind::MatrixTriple { .. }
            | Kind::ConvTriple { .. }
            | Kind::Owned { .. }
            | Kind::Random { .. }
            | Kind::Mask { .. }
            | Kind::BitTriple
            | Kind::BitMask { .. }
            | Kind::Link
            | Kind::DaBit { .. }
            | Kind::RandomBit { .. }
            | Kind::EdaBit { .. }
            | Kind::ComparisonMask { .. }
            | Kind::TruncMask { .. }
            | Kind::Place { .. } => true,
        }
    }

    fn origin(&self) -> SessionId {
        *self.third.pairs.session()
    }

    async fn set_up_from_pool(ctx: &Ctx, coins: Option<&Seed>, choices: &Choices, secrets: &[u8]) -> Result<Self> {
        set_up_from_pool(ctx, (coins, secrets), choices).await
    }

    quorate_authenticated::pools_online! {}
}

impl Revokes for PikaMalicious {
    fn cut_off(&self) {
        self.online.cut_off();
    }

    fn revoke(&self) {
        self.online.revoke();
    }

    fn is_over(&self) -> bool {
        self.online.is_over()
    }

    fn wipe(&mut self) {
        self.online.wipe();
        if self.online.is_over() {
            self.third = Arc::new(self.third.without_secrets());
        }
    }
}

impl Footprint for PikaMalicious {
    fn shares(&self) -> u64 {
        Authenticated::SHARES
    }

    fn work_shares(&self) -> u64 {
        self.online.work_shares()
    }

    fn lookup_bytes(&self, table: (usize, u32), len: u64) -> u64 {
        self.under_way(table, len).unwrap_or_else(|| streamed_lookup_bytes(self.work_shares(), len))
    }

    fn value_bytes(&self, bits: u32, len: usize) -> u64 {
        self.online.value_bytes(bits, len)
    }
}
