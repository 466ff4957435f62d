//! The family's description for users, and its implementation of `Family` for sessions.

use std::collections::BTreeMap;

use quorate_adversary::Adversary;
use quorate_authenticated::{Authenticated, Kind};
use quorate_crypto::{Seed, SessionId};
use quorate_engine::{Ctx, Demand, Misuse, Result, Sharing, Stocks};
use quorate_gadgets::here::Local;
use quorate_gadgets::{Choices, Descriptor, Family, Footprint, GarblesAhead, MakesAhead, Parties, Pools, Revokes};

use crate::dealer::{self, Dealer};
use crate::make::Protocols;
use crate::options::{MATRICES, TRIPLES, params};
use crate::party::Spdz2k;

/// Sets up a party; compiled here, as [`quorate_gadgets::here`] explains.
#[inline(never)]
fn set_up<'a>(ctx: &'a Ctx, coins: Option<&'a Seed>, choices: &'a Choices) -> Local<'a, Spdz2k> {
    Box::pin(async move {
        if let Some(dealer) = Dealer::chosen(choices) {
            return dealer.set_up(ctx, params(choices)?, coins).await;
        }
        Spdz2k::set_up(ctx, params(choices)?, coins).await
    })
}

#[inline(never)]
fn set_up_from_pool<'a>(ctx: &'a Ctx, from: (Option<&'a Seed>, &'a [u8]), choices: &'a Choices) -> Local<'a, Spdz2k> {
    Box::pin(async move { Spdz2k::set_up_from_pool_as(ctx, params(choices)?, from, Adversary::none()).await })
}

#[inline(never)]
fn prepared<'a>(s: &'a Spdz2k, ctx: &'a Ctx, demand: Demand<Kind>) -> Local<'a, ()> {
    Box::pin(s.make_all(ctx, demand))
}

impl Family for Spdz2k {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "spdz2k",
        about: "any number of parties, malicious, all but one may cheat",
        parties: Parties { usual: &[2, 3], or_more: true, takes: "2 or more" },
        sharings: &["A", "B"],
        options: dealer::OPTIONS,
        workloads: &[
            "mul",
            "mul-owned",
            "random-bit",
            "edabit",
            "dabit",
            "triple",
            "bit-triple",
            "less-than-bounded",
            "equality",
            "truncation",
            "and",
            "chain",
        ],
        most_elements: 10_000,
    };

    fn most_bits_with(choices: &Choices) -> u32 {
        params(choices).map_or(<Self as Sharing>::MOST_BITS, |params| params.most_bits())
    }

    fn security(parties: usize, choices: &Choices) -> String {
        if let Some(dealer) = Dealer::chosen(choices) {
            return dealer.security();
        }
        let bits = params(choices).map_or(0, |params| params.security_bits());
        let triples = match choices.of(&TRIPLES) {
            "bucket" => "multiplication triples from published parts (bucket)",
            "twokeys" => "multiplication triples of our own without a division (twokeys)",
            _ => "multiplication triples of our own (t3)",
        };
        let matrices = match choices.of(&MATRICES) {
            "experimental" => "; matrix triples of our own, experimental",
            _ => "",
        };
        format!(
            "malicious, experimental: {} of {parties} may do anything; who follows the protocol gets the right result \
             or an error; {bits}-bit statistical and 128-bit computational security (oblivious transfer from the \
             discrete logarithm in ristretto255 and AES-128, BLAKE3, TLS 1.3); {triples}{matrices}",
            parties - 1
        )
    }

    fn check_choices(choices: &Choices) -> Result<()> {
        params(choices).map(drop)
    }

    async fn setup(ctx: &Ctx, coins: Option<&Seed>, choices: &Choices) -> Result<Self> {
        set_up(ctx, coins, choices).await
    }

    fn dry(parties: usize, me: usize, choices: &Choices) -> Result<Self> {
        if let Some(dealer) = Dealer::chosen(choices) {
            return dealer.dry(parties, me, params(choices)?);
        }
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
}

impl MakesAhead for Spdz2k {
    const IN_TURNS: bool = true;

    fn stock_bytes(&self, kind: &Kind, len: usize) -> u64 {
        self.online.stock_bytes(kind, len)
    }

    fn making_bytes(&self, totals: &BTreeMap<Kind, usize>) -> u64 {
        self.memory().bytes_of_making(totals)
    }
}

impl GarblesAhead for Spdz2k {}

impl Pools for Spdz2k {
    const HAS_POOLS: bool = true;
    const HAS_SECRETS: bool = true;

    fn check_pools(choices: &Choices) -> Result<()> {
        let refused = |what| Err(Misuse::Other { what }.into());
        match params(choices)?.bits_have_macs() {
            _ if Dealer::chosen(choices).is_some() => refused("an insecure dealer has no pools: leave offline= out"),
            true => Ok(()),
            false => refused("bits=paper has no pools: leave it out, or leave the pool out"),
        }
    }

    /// Triples of sums and places are dealt only.
    fn fits_pools(kind: &Kind) -> bool {
        match kind {
            Kind::DotTriple { .. } | Kind::MatrixTriple { .. } | Kind::ConvTriple { .. } | Kind::Place { .. } => false,
            Kind::Triple { .. }
            | Kind::OneSided { .. }
            | Kind::KnownMatrices { .. }
            | Kind::Owned { .. }
            | Kind::OwnedMatrices { .. }
            | Kind::Random { .. }
            | Kind::Mask { .. }
            | Kind::BitTriple
            | Kind::BitMask { .. }
            | Kind::BitZero
            | Kind::Link
            | Kind::DaBit { .. }
            | Kind::RandomBit { .. }
            | Kind::EdaBit { .. }
            | Kind::ComparisonMask { .. }
            | Kind::TruncMask { .. } => true,
        }
    }

    fn origin(&self) -> SessionId {
        self.online.keys().session
    }

    async fn set_up_from_pool(ctx: &Ctx, coins: Option<&Seed>, choices: &Choices, secrets: &[u8]) -> Result<Self> {
        set_up_from_pool(ctx, (coins, secrets), choices).await
    }

    quorate_authenticated::pools_online! {}
}

impl Revokes for Spdz2k {
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
            self.protocols = Protocols::new(self.protocols.transfers.without_seeds());
        }
    }
}

impl Footprint for Spdz2k {
    fn shares(&self) -> u64 {
        Authenticated::SHARES
    }

    fn work_shares(&self) -> u64 {
        self.online.work_shares()
    }

    fn value_bytes(&self, bits: u32, len: usize) -> u64 {
        self.online.value_bytes(bits, len)
    }

    /// Counts both factors, their differences from the factors of triples, what all parties sent of those, and what
    /// waits for the check. A product by matrix triples is cut by its own protocol; cut again, it would send more.
    fn products_bytes(&self, bits: u32, products: usize, of_matrices: bool) -> u64 {
        match of_matrices && self.params().has_matrix_triples() {
            true => 0,
            false => (8 + 3 * self.online.keys().parties as u64) * self.online.bytes_of(bits, products),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use quorate_engine::{Error, Phase, dry};

    use super::*;
    use crate::params::Params;

    #[test]
    fn transfers_under_keys_of_no_use_are_dropped() {
        let mut s = Spdz2k::new_dry(2, 0, Params::default()).unwrap();
        let held = Arc::downgrade(&s.protocols);
        let make = async |s: &Spdz2k, ctx: &Ctx| s.make(ctx, &Kind::BitTriple, 1).await.map(drop);
        dry::run(0, 2, Phase::Offline, async |ctx| make(&s, ctx).await).unwrap();
        s.wipe();
        assert!(held.upgrade().is_some(), "they are in use");
        s.cut_off();
        s.wipe();
        assert!(held.upgrade().is_none(), "seeds are kept");
        let again = dry::run(0, 2, Phase::Offline, async |ctx| make(&s, ctx).await);
        assert_eq!(again.map(|_| ()), Err(Error::Poisoned));
    }
}
