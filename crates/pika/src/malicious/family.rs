//! What users see of the malicious form, and what sessions need of it.

use std::rc::Rc;

use quorate_crypto::Seed;
use quorate_engine::{Ctx, Demand, Misuse, Result, Sharing, Stocks};
use quorate_gadgets::here::Local;
use quorate_gadgets::{Choices, Descriptor, Family};
use quorate_spdz2k::{ALLOW_WEAK, Kind, MAC, Params};

use super::PikaMalicious;
use super::check::making_bytes;
use crate::forms::COMPARISONS;
use crate::setup::Pika;

fn params(choices: &Choices) -> Result<Params> {
    let key_bits = match choices.of(&MAC) {
        "32" => 32,
        "48" => 48,
        _ => 64,
    };
    Params::new(key_bits, choices.of(&ALLOW_WEAK) == "yes")
}

/// Sets up a party; compiled here, as [`quorate_gadgets::here`] explains.
#[inline(never)]
fn set_up<'a>(ctx: &'a Ctx, coins: Option<&'a Seed>, choices: &'a Choices) -> Local<'a, PikaMalicious> {
    Box::pin(async move { PikaMalicious::set_up(ctx, params(choices)?, coins).await })
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

    /// The dealer may cheat, so what it deals is checked before anything depends on an input.
    const ONLY_AHEAD: bool = true;

    fn most_bits_with(choices: &Choices) -> u32 {
        params(choices).map_or(<Self as Sharing>::MOST_BITS, Params::most_bits)
    }

    fn security(_: usize, choices: &Choices) -> String {
        let bits = params(choices).map_or(0, Params::security_bits);
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
        params(choices).map(drop)
    }

    async fn setup(ctx: &Ctx, coins: Option<&Seed>, choices: &Choices) -> Result<Self> {
        set_up(ctx, coins, choices).await
    }

    fn dry(parties: usize, me: usize, choices: &Choices) -> Result<Self> {
        Self::new_dry(parties, me, params(choices)?)
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

    fn cut_off(&self) {
        self.online.cut_off();
    }

    fn wipe(&mut self) {
        self.online.wipe();
        if self.online.is_over() {
            self.third = Rc::new(self.third.without_secrets());
        }
    }

    fn shares(&self) -> u64 {
        self.online.shares()
    }

    fn work_shares(&self) -> u64 {
        self.online.work_shares()
    }

    fn lookup_bytes(&self, table: (usize, u32), len: u64) -> u64 {
        self.under_way(table, len).unwrap_or_else(|| self.online.lookup_bytes(table, len))
    }

    fn value_bytes(&self, bits: u32, len: usize) -> u64 {
        self.online.value_bytes(bits, len)
    }

    fn stock_bytes(&self, kind: &Kind, len: usize) -> u64 {
        self.online.stock_bytes(kind, len)
    }

    fn making_bytes(&self, demand: &Demand<Kind>) -> u64 {
        making_bytes(demand)
    }
}
