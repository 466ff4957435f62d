//! The sharings that are measured: set up once, rehearsed, with correlations made ahead.

use quorate_aby::Aby;
use quorate_engine::{Ctx, Demand, Result};
use quorate_gadgets::Gadgets;
use quorate_rss::Rss;

use crate::task::Task;

/// One party's end of a sharing under measurement.
#[allow(async_fn_in_trait)] // futures are single-threaded on purpose
pub(crate) trait Measurable: Gadgets {
    /// Kinds of correlations.
    type Kind: Ord + Clone;
    async fn setup(ctx: &Ctx) -> Result<Self>;
    fn dry(parties: usize, me: usize) -> Result<Self>;
    /// Chooses which of several protocols with one result a task runs.
    fn choose(&self, task: Task);
    fn record_demand(&self);
    fn take_demand(&self) -> Demand<Self::Kind>;
    async fn prepare(&self, ctx: &Ctx, demand: Demand<Self::Kind>) -> Result<()>;
    /// Garbles ahead, after [`Measurable::prepare`], the circuits of `online`, if that is when; what the party that garbles has then.
    async fn garble_ahead<T>(&self, _: &Ctx, _online: impl AsyncFnOnce(&Ctx) -> Result<T>) -> Result<Option<T>> {
        Ok(None)
    }
    fn clear_stock(&self);
}

impl Measurable for Rss {
    type Kind = quorate_rss::Kind;

    async fn setup(ctx: &Ctx) -> Result<Self> {
        Rss::setup(ctx).await
    }
    fn dry(parties: usize, me: usize) -> Result<Self> {
        Rss::dry(parties, me)
    }
    fn choose(&self, task: Task) {
        self.set_forms(task.forms());
    }
    fn record_demand(&self) {
        Rss::record_demand(self);
    }
    fn take_demand(&self) -> Demand<Self::Kind> {
        Rss::take_demand(self)
    }
    async fn prepare(&self, ctx: &Ctx, demand: Demand<Self::Kind>) -> Result<()> {
        Rss::prepare(self, ctx, demand).await
    }
    fn clear_stock(&self) {
        Rss::clear_stock(self);
    }
}

impl Measurable for Aby {
    type Kind = quorate_aby::Kind;

    async fn setup(ctx: &Ctx) -> Result<Self> {
        Aby::setup(ctx).await
    }
    fn dry(parties: usize, me: usize) -> Result<Self> {
        Aby::dry(parties, me)
    }
    fn choose(&self, task: Task) {
        self.set_garbling(task.garbling());
    }
    fn record_demand(&self) {
        Aby::record_demand(self);
    }
    fn take_demand(&self) -> Demand<Self::Kind> {
        Aby::take_demand(self)
    }
    async fn prepare(&self, ctx: &Ctx, demand: Demand<Self::Kind>) -> Result<()> {
        Aby::prepare(self, ctx, demand).await
    }
    async fn garble_ahead<T>(&self, ctx: &Ctx, online: impl AsyncFnOnce(&Ctx) -> Result<T>) -> Result<Option<T>> {
        Aby::garble_ahead(self, ctx, online).await
    }
    fn clear_stock(&self) {
        Aby::clear_stock(self);
    }
}
