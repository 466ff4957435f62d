//! What users of tests read of it, and what sessions need of it.

use quorate_crypto::Seed;
use quorate_engine::{Ctx, Demand, Layout, Result, Stocks};
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

    fn security(_: usize) -> String {
        "INSECURE, for tests: every party knows every secret".into()
    }

    async fn setup(ctx: &Ctx, coins: Option<&Seed>, _: &Choices) -> Result<Self> {
        Insecure::setup(ctx, coins).await
    }

    fn dry(parties: usize, me: usize, _: &Choices) -> Result<Self> {
        Insecure::dry(parties, me)
    }

    async fn prepare<T>(
        &self,
        ctx: &Ctx,
        demand: Demand<Kind>,
        _: impl AsyncFnOnce(&Ctx) -> Result<T>,
    ) -> Result<Option<T>> {
        self.make_all(ctx, demand).await.map(|()| None)
    }

    fn forget(&self) {
        self.stock.clear();
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

    fn stock_bytes(&self, kind: &Kind, len: usize) -> u64 {
        let Layout { vectors, bits } = self.layout(kind);
        let elements = vectors.iter().map(|(ring, count)| Insecure::bytes_of(ring.bits(), count * len));
        elements.chain(bits.iter().map(|rows| Insecure::bytes_of(1, rows * len))).sum()
    }
}
