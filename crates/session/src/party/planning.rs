//! The plan of a request, made by one party for all.

use std::collections::{BTreeMap, BTreeSet};

use quorate_gadgets::Family;
use quorate_graph::NodeId;
use quorate_planner::{Reveal, Rivals, Work};

use super::mixing::{in_pieces, mix, work};
use super::program::Program;
use super::worker::Worker;
use crate::error::SessionError;
use crate::memory::allowed::Allowed;
use crate::memory::free;
use crate::memory::limit::Limit;
use crate::plan::dry_run::{Asked, Common, dry_run_after};
use crate::plan::lines::by_line;
use crate::plan::{OrderPlan, Plan, Predicted, StepPlan};
use crate::pool::{Content, content};
use crate::run::operations::truncation::Truncations;

impl<B: Family> Worker<B> {
    /// Returns the limits of a run that would begin now, as far as this party knows them.
    fn allowed(&self) -> Allowed {
        let here = free::share_of_process(self.state.place.sharing());
        let mut free =
            if self.state.place.sharing() > 1 { vec![here; self.state.free.len()] } else { self.state.free.clone() };
        free[self.party.me()] = here;
        Allowed { named: self.state.place.options.max_memory, free, sharing: self.state.place.sharing() }
    }

    /// Predicts what the reveals would cost every party.
    pub(super) fn plan(
        &self,
        program: &Program,
        reveals: &[Reveal],
        assumed: &BTreeSet<NodeId>,
        dropped: &[NodeId],
    ) -> std::result::Result<Plan, SessionError> {
        let graph = &program.graph;
        let done = |id| self.state.store.has(id) || assumed.contains(&id);
        let mut work = work(graph, reveals, &done);
        let parties = self.party.parties();
        let (mut limit, mut windows) =
            (Limit::named(self.state.place.options.max_memory), self.state.place.options.windows());
        let decided = mix::<B>(
            &mut work,
            &self.state.store,
            (limit, &self.state.place.options),
            self.state.prices.as_ref(),
            Rivals::Named,
        )?;
        let truncations = Truncations::of(&self.state.backend, graph, &work.nodes);
        let (executed, orders) = (work.nodes.clone(), OrderPlan::all(graph, &work.nodes));
        let mut plan = Plan { executed, orders, truncations, chosen: decided.chosen, ..Plan::default() };
        let allowed = self.allowed();
        let assumed = assumed.iter().copied().filter(|&id| graph.get(id).is_ok());
        let held: BTreeSet<NodeId> = self.state.store.held().chain(assumed).collect();
        let running = held.iter().chain(&work.nodes).copied().collect();
        let after = self.state.store.would_keep(graph, &program.arrays, dropped, &running);
        let mut steps: BTreeMap<u32, StepPlan> = BTreeMap::new();
        let mut common = Common::default();
        for party in 0..parties {
            let mut run_dry = |work: &Work<'_>, limit: Limit, windows: usize| {
                if party == 0 {
                    common = Common::default();
                }
                let keeps = |id| after.values.contains(&id);
                let asked = Asked { work, held: &held, keeps: &keeps, limit, windows, figures: true };
                dry_run_after::<B>(&mut common, &asked, (parties, party), &self.state.place.options)
            };
            let mut dry = run_dry(&work, limit, windows)?;
            if windows > 1 && party == 0 && allowed.less_for(&dry.need).is_some() {
                windows = 1; // as a run does
                dry = run_dry(&work, limit, windows)?;
            }
            if let Some(less) = allowed.less_for(&dry.need).filter(|_| party == 0) {
                (limit, plan.chosen) = (less, BTreeMap::new());
                in_pieces(&mut work, &self.state.store);
                dry = run_dry(&work, limit, windows)?;
            }
            let lines = by_line(graph, &dry.steps);
            plan.parties.push(Predicted::of(&dry, &work, lines, decided.own_seconds));
            plan.memory_bytes = dry.need.total(limit);
            plan.refusal = allowed.check(graph, &dry.need, limit).err().map(|e| e.to_string());
            plan.correlations = dry.correlations;
            plan.content = Content::of::<B>(dry.demand.totals());
            if self.state.purse.is_some() && party == 0 {
                content::check::<B>(&dry.demand, graph)?;
            }
            for (id, cost) in dry.steps.talking.into_iter().filter(|(_, cost)| cost.talks()) {
                steps.entry(id).or_insert_with(|| StepPlan::at(graph, id, parties)).take(party, cost);
            }
        }
        plan.steps = steps.into_values().collect();
        Ok(plan)
    }
}
