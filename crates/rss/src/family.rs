//! The description of `rss` for users, and its interface for sessions.

use quorate_crypto::{Seed, SessionId};
use quorate_engine::{Ctx, Demand, Result, Stocks};
use quorate_gadgets::here::Local;
use quorate_gadgets::{
    Choice, Choices, Descriptor, Family, Footprint, GarblesAhead, MakesAhead, Parties, Pools, Revokes, packs_here,
};

use crate::forms::{BitForm, CorrelationForm, Forms};
use crate::kind::Kind;
use crate::setup::Rss;

const AUTO: &str = "auto";
const EDABITS: &str = "edabits";
const RANDOM_BITS: &str = "randbits";
const MASKED: &str = "masked";

const FORMS: Choice = Choice {
    name: "forms",
    values: &[AUTO, EDABITS, RANDOM_BITS, MASKED],
    help: "which protocols are used where several give the same result: the cheapest on the stated network (auto), the \
           paper's with edaBits (edabits) or with random bits (randbits), or comparisons of masked values, with fewer \
           online rounds (masked)",
};

/// Returns the selection among protocols that give the same result. It must be the same at all parties and in dry runs.
fn forms(choices: &Choices) -> Forms {
    let chosen = choices.of(&FORMS);
    let correlations = match (chosen, choices.link) {
        (EDABITS, _) => CorrelationForm::Contributions,
        (RANDOM_BITS, _) => CorrelationForm::RandomBits,
        (_, Some(link)) => CorrelationForm::Cheaper(link),
        (_, None) => CorrelationForm::Summands,
    };
    // By default, three parties work on summands, which is cheaper on every link.
    let bits = if chosen == AUTO { BitForm::Summands } else { BitForm::Masked };
    Forms { bits, correlations }
}

/// Sets up a party. Compiled in this crate; see [`quorate_gadgets::here`].
#[inline(never)]
fn set_up<'a>(ctx: &'a Ctx, coins: Option<&'a Seed>, choices: &'a Choices) -> Local<'a, Rss> {
    Box::pin(async move {
        let rss = match coins {
            Some(coins) => Rss::setup_from(ctx, coins).await,
            None => Rss::setup(ctx).await,
        }?;
        rss.choose(choices);
        Ok(rss)
    })
}

#[inline(never)]
fn prepared<'a>(s: &'a Rss, ctx: &'a Ctx, demand: Demand<Kind>) -> Local<'a, ()> {
    Box::pin(s.make_all(ctx, demand))
}

impl Family for Rss {
    const BRANCHES: bool = true;
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "rss",
        about: "3, 5 or 7 parties, semi-honest, honest majority",
        parties: Parties { usual: &[3, 5, 7], or_more: false, takes: "3, 5 or 7" },
        sharings: &["A", "B"],
        options: &[FORMS],
        workloads: &["mul", "matmul", "random-bit", "edabit", "less-than", "sigmoid", "chain"],
        most_elements: 1_000_000,
    };

    fn security(parties: usize, _: &Choices) -> String {
        let t = (parties - 1) / 2;
        let who = if t == 1 { "1 party".into() } else { format!("{t} parties together") };
        format!(
            "semi-honest: {who} of {parties} may try to learn more than the results from what they see, but all follow \
             the protocol; 128-bit computational security (AES-128, BLAKE3, TLS 1.3)"
        )
    }

    async fn setup(ctx: &Ctx, coins: Option<&Seed>, choices: &Choices) -> Result<Self> {
        set_up(ctx, coins, choices).await
    }

    fn dry(parties: usize, me: usize, choices: &Choices) -> Result<Self> {
        let rss = Rss::dry(parties, me)?;
        rss.choose(choices);
        Ok(rss)
    }

    fn beside(&self) -> Option<Rss> {
        Some(Rss::beside(self))
    }

    fn branch(&self) -> Option<Rss> {
        Some(Rss::beside(self)) // nothing is named by steps of the program
    }

    fn choose(&self, choices: &Choices) {
        self.set_forms(forms(choices));
    }

    async fn prepare<T>(
        &self,
        ctx: &Ctx,
        demand: Demand<Kind>,
        _: impl AsyncFnOnce(&Ctx) -> Result<T>,
    ) -> Result<Option<T>> {
        prepared(self, ctx, demand).await.map(|()| None)
    }
}

impl MakesAhead for Rss {}

impl GarblesAhead for Rss {}

/// No correlation is bound to the session that made it.
impl Pools for Rss {
    packs_here! {}

    fn fits_pools(kind: &Kind) -> bool {
        match kind {
            Kind::RandBit { .. } | Kind::EdaBit { .. } | Kind::TruncMask { .. } | Kind::WideEdaBit { .. } => true,
        }
    }

    fn origin(&self) -> SessionId {
        *self.session()
    }

    fn packed_shares(&self) -> usize {
        self.shares_held()
    }
}

impl Revokes for Rss {}

impl Footprint for Rss {
    fn shares(&self) -> u64 {
        self.shares_held() as u64
    }

    /// Returns the shares of the contributions of t + 1 parties.
    fn work_shares(&self) -> u64 {
        let contributions = self.threshold() as u64 + 1;
        self.shares() * contributions / 2
    }
}
