//! Range checks in local sessions, before a program runs. A local session has all values, so it finds every result that
//! leaves its dtype. The protocol opens only values of earlier runs for this, and only if ranges do not prove that the
//! result fits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

use quorate_graph::{BuildError, Checked, Checker, Dtype, Fault, Graph, Interval, NodeId};

use crate::error::SessionError;
use crate::session::Session;
use crate::work::data::{Data, OwnInput, Plain};

/// The values of inputs until they are run, and the ranges of arrays.
pub(crate) struct Look {
    checker: Checker,
    given: BTreeMap<NodeId, (Weak<OwnInput>, Interval)>,
    /// The user's arrays.
    held: BTreeSet<NodeId>,
    /// The run that was checked last, until it has ended well.
    under_way: Option<(Checked, Vec<NodeId>)>,
    /// Lines that a warning was given for, and whether of lost digits; lines in loops are warned of once.
    told: BTreeSet<(Arc<str>, u32, bool)>,
}

impl Look {
    /// Returns a check that looks for lost digits where that takes at most `max_memory`, in bytes.
    pub fn new(max_memory: Option<u64>) -> Look {
        Look {
            checker: Checker::new(max_memory.unwrap_or(u64::MAX)),
            given: BTreeMap::new(),
            held: BTreeSet::new(),
            under_way: None,
            told: BTreeSet::new(),
        }
    }

    /// Records an input's values, which lie in `range`.
    pub fn give(&mut self, id: NodeId, own: &Arc<OwnInput>, range: Interval) {
        // Drops, now and then, inputs whose arrays died before any run.
        if self.given.len().is_power_of_two() {
            self.given.retain(|_, (own, _)| own.strong_count() > 0);
        }
        self.given.insert(id, (Arc::downgrade(own), range));
    }

    /// Records a new array.
    pub fn hold(&mut self, id: NodeId) {
        self.held.insert(id);
    }

    /// Forgets an array.
    pub fn forget(&mut self, id: NodeId) {
        self.held.remove(&id);
        self.checker.forget(id);
    }

    /// Records that the run that was checked last has ended well.
    pub fn done(&mut self) {
        let Some((checked, nodes)) = self.under_way.take() else { return };
        nodes.iter().for_each(|id| {
            self.given.remove(id);
        });
        self.checker.note(checked, |id| self.held.contains(&id));
    }

    /// Checks a run of these reveals; returns new warnings.
    pub fn check(
        &mut self,
        session: &mut Session,
        reveals: &[(NodeId, Option<usize>)],
    ) -> Result<Vec<BuildError>, SessionError> {
        self.under_way = None;
        let nodes = session.needed(reveals)?;
        let graph = &*session.graph();
        let range = |id: NodeId| self.given.get(&id).map(|given| given.1);
        let values = |ids: &[NodeId]| self.values(session, graph, ids);
        let mut checked = self.checker.look(graph, &nodes, range, values)?;
        let mut warnings = std::mem::take(&mut checked.warnings);
        // A line with a warning of lost digits may get another one of saturation.
        let about = |warning: &BuildError| matches!(*warning.fault, Fault::LosesDigits { .. });
        warnings.retain(|warning| self.told.insert((warning.at.file.clone(), warning.at.line, about(warning))));
        self.under_way = Some((checked, nodes));
        Ok(warnings)
    }

    /// Returns values in units: those of inputs as given, all others from the parties.
    fn values(&self, session: &mut Session, graph: &Graph, ids: &[NodeId]) -> Result<Vec<Vec<i128>>, SessionError> {
        let given = |id: &NodeId| self.given.get(id).and_then(|(own, _)| own.upgrade());
        let owned: Vec<Option<Arc<OwnInput>>> = ids.iter().map(given).collect();
        let run: Vec<NodeId> = ids.iter().zip(&owned).filter(|(_, own)| own.is_none()).map(|(&id, _)| id).collect();
        let mut seen = if run.is_empty() { vec![] } else { session.peek(&run)? }.into_iter();
        let of = |(id, own): (&NodeId, &Option<Arc<OwnInput>>)| match own {
            Some(own) => Ok(units(graph.node(*id).dtype, &own.0)),
            None => seen.next().map(|data| integers(&data)).ok_or(SessionError::WorkerGone),
        };
        ids.iter().zip(&owned).map(of).collect()
    }
}

fn units(dtype: Dtype, plain: &Plain) -> Vec<i128> {
    match plain {
        Plain::Bits(bits) => bits.to_bools().into_iter().map(i128::from).collect(),
        Plain::Vector(v) if dtype.is_unsigned() => v.to_u128s().into_iter().map(|value| value as i128).collect(),
        Plain::Vector(v) => v.to_i128s(),
    }
}

/// Returns the integers of values that were revealed in units.
fn integers(data: &Data) -> Vec<i128> {
    match data {
        Data::Ints(all) => all.iter().map(|&v| v.into()).collect(),
        Data::Uints(all) => all.iter().map(|&v| v.into()).collect(),
        Data::Bools(all) => all.iter().map(|&v| v.into()).collect(),
        Data::Wide(all) => all.clone(),
        Data::Reals(_) => vec![],
    }
}
