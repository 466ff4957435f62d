//! What users of tests read of it, and what sessions need of it.

use quorate_crypto::Seed;
use quorate_engine::{Ctx, Demand, Ledger, Result};
use quorate_gadgets::{Choices, Descriptor, Family, Parties};

use crate::dealer::Kind;
use crate::party::Insecure;

impl Family for Insecure {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "insecure",
        about: "for tests: any number of parties, each of which knows every secret",
        parties: Parties { usual: &[3, 2], or_more: true, takes: "2 or more" },
        sharings: &["A", "B"],
        options: &[],
        workloads: &[],
        most_elements: 10_000,
    };

    type Kind = Kind;

    fn security(_: usize, _: &Choices) -> String {
        "INSECURE, for tests: every party knows every secret".into()
    }

    async fn setup(ctx: &Ctx, coins: Option<&Seed>, _: &Choices) -> Result<Self> {
        Insecure::setup(ctx, coins).await
    }

    fn dry(parties: usize, me: usize, _: &Choices) -> Result<Self> {
        Insecure::dry(parties, me)
    }

    fn record_demand(&self) {
        *self.ledger.borrow_mut() = Ledger::Recording(Demand::default());
    }

    fn take_demand(&self) -> Demand<Kind> {
        self.ledger.borrow_mut().take_demand()
    }

    /// Nothing is made ahead: it is all drawn where it is used.
    async fn prepare<T>(
        &self,
        _: &Ctx,
        demand: Demand<Kind>,
        _: impl AsyncFnOnce(&Ctx) -> Result<T>,
    ) -> Result<Option<T>> {
        *self.ledger.borrow_mut() = Ledger::Stocked(demand);
        Ok(None)
    }

    fn forget(&self) {
        *self.ledger.borrow_mut() = Ledger::OnDemand;
        self.unchecked.borrow_mut().clear();
    }

    /// A share and a tag, twice as wide as their value or wider.
    fn shares(&self) -> u64 {
        4
    }

    fn work_shares(&self) -> u64 {
        64
    }

    fn value_bytes(&self, bits: u32, len: usize) -> u64 {
        Insecure::bytes_of(bits, len)
    }

    fn stock_bytes(&self, _: &Kind, _: usize) -> u64 {
        0
    }
}
