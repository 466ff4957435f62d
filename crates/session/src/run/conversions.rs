//! Values converted to a second sharing, once for all steps that need them there.

use std::collections::BTreeMap;
use std::rc::Rc;

use quorate_engine::{Ctx, Error, Result, Slot};
use quorate_gadgets::Computes;
use quorate_graph::{Domain, NodeId};
use quorate_planner::{Work, native};

use crate::run::executor::Executor;
use crate::run::operations::sharings::converted;
use crate::work::value::Value;

/// The conversions that a run may need, by value and sharing.
pub(crate) struct Conversions<S: Computes>(BTreeMap<(NodeId, Domain), Conversion<S>>);

/// The step that makes a conversion, and the slot for its result.
type Conversion<S> = (NodeId, Slot<Value<S>>);

impl<S: Computes> Conversions<S> {
    /// Lists every value that some step may need in a sharing; the first such step in the program's order makes the
    /// conversion.
    pub fn of(work: &Work<'_>, is_value: impl Fn(NodeId) -> bool) -> Self {
        let mut all = BTreeMap::new();
        if work.domains.is_plain() {
            return Conversions(all);
        }
        for &id in &work.nodes {
            for &input in work.graph.node(id).inputs.iter().filter(|&&input| is_value(input)) {
                let wanted = native(work.domains.of(id), work.graph.node(input).dtype);
                all.entry((input, wanted)).or_insert_with(|| (id, Slot::default()));
            }
        }
        Conversions(all)
    }

    /// Drops the conversions of a value.
    pub fn clear(&self, id: NodeId) {
        let own = (id, Domain::A)..=(id, Domain::Y);
        self.0.range(own).for_each(|(_, (_, slot))| slot.clear());
    }
}

impl<S: Computes> Executor<'_, S> {
    /// Returns the values of `reads`, each in the sharing in which step `id` needs it. The conversions that this step
    /// makes run side by side.
    pub(crate) async fn where_wanted(
        &self,
        ctx: &Ctx,
        id: NodeId,
        reads: &[NodeId],
        values: Vec<Rc<Value<S>>>,
    ) -> Result<Vec<Rc<Value<S>>>> {
        let wanted = |read: NodeId| native(self.work.domains.of(id), self.work.graph.node(read).dtype);
        let is_there = |at: usize| values[at].domain().is_none_or(|made| made == wanted(reads[at]));
        let conversion = |at: usize| self.conversions.0.get(&(reads[at], wanted(reads[at])));
        let is_own = |at: usize| conversion(at).is_some_and(|(first, _)| *first == id);
        let is_first = |at: usize| reads[..at].iter().all(|&earlier| earlier != reads[at]);
        let own: Vec<usize> = (0..reads.len()).filter(|&at| !is_there(at) && is_own(at) && is_first(at)).collect();
        let convert = async |ctx: Ctx, i: usize| {
            let (read, value) = (reads[own[i]], &values[own[i]]);
            let work = converted(self.s, &ctx, value, (self.work.graph, read), wanted(read));
            self.clock.time(&ctx, id.0, work).await
        };
        let made = if own.is_empty() { Vec::new() } else { ctx.join_all(own.len(), convert).await? };
        for (made, &at) in made.into_iter().zip(&own) {
            if let Some((_, slot)) = conversion(at) {
                slot.set(ctx, made);
            }
        }
        let mut there = Vec::with_capacity(values.len());
        for (at, value) in values.iter().enumerate() {
            there.push(match conversion(at) {
                _ if is_there(at) => value.clone(),
                Some((_, slot)) => slot.get(ctx).await,
                None => return Err(Error::Bug { what: "a step wants a value where nothing puts it" }),
            });
        }
        Ok(there)
    }
}
