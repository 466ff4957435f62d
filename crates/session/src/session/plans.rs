//! Plans of runs.

use std::sync::mpsc::{Receiver, channel};

use quorate_graph::{Hash, NodeId};
use quorate_planner::Reveal;

use super::Session;
use super::access::{Access, answer};
use crate::error::SessionError;
use crate::party::part::{Asked, Command};
use crate::plan::Plan;
use crate::reveals::Told;

/// A plan that a party makes. It waits for the run that is under way, if any.
pub struct Planning {
    plan: Receiver<Result<Plan, SessionError>>,
    told: Vec<Told>,
    hash: Hash,
}

impl Planning {
    /// Waits for the plan, without the session.
    ///
    /// # Errors
    /// Those of the dry runs; [`SessionError::Closed`] where the session was closed; an interrupt, if the wait should
    /// not go on.
    pub fn wait(self, access: &mut impl Access<Session>) -> Result<Plan, SessionError> {
        let plan = answer(access, &self.plan);
        let plan = plan.or_else(|error| Err(access.with(|session| session.why(error))?))??;
        Ok(Plan { told: self.told, hash: Some(self.hash), ..plan })
    }
}

impl Session {
    /// Asks for the plan of a run with these reveals, from dry runs of all parties. The nodes `assumed` are taken as
    /// run already, and the last run as the one with hash `before`.
    ///
    /// # Errors
    /// [`SessionError::Closed`].
    pub fn ask_plan(
        &self,
        reveals: &[(NodeId, Option<usize>)],
        assumed: &[NodeId],
        before: Option<Hash>,
    ) -> Result<Planning, SessionError> {
        self.check_open()?;
        let seat = self.seats.first().ok_or(SessionError::Closed)?;
        let reveals: Vec<Reveal> = reveals.iter().map(|&(node, to)| Reveal { node, to }).collect();
        let graph = &self.program.graph;
        let (told, hash) = (Told::all(graph, &reveals, self.parties), self.approval.hash(graph, &reveals, before));
        let (reply, plan) = channel();
        let (program, assumed, dropped) =
            (self.program.clone(), assumed.iter().copied().collect(), self.dropped.clone());
        let plan_of = Command::Plan(Box::new(Asked { program, reveals, assumed, dropped, reply }));
        seat.commands.send(plan_of).map_err(|_| self.why(SessionError::WorkerGone))?;
        Ok(Planning { plan, told, hash })
    }

    /// Returns the plan of a run, as [`Session::ask_plan`] asks for it.
    ///
    /// # Errors
    /// Those of [`Session::ask_plan`] and of [`Planning::wait`].
    pub fn plan(
        &mut self,
        reveals: &[(NodeId, Option<usize>)],
        assumed: &[NodeId],
        before: Option<Hash>,
    ) -> Result<Plan, SessionError> {
        self.ask_plan(reveals, assumed, before)?.wait(&mut &mut *self)
    }
}
