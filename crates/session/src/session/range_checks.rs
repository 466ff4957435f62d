//! Range checks in local sessions, before a program runs. A local session has all values, so it finds every result that
//! leaves its dtype. The protocol opens only values of earlier runs for this, and only if ranges do not prove that the
//! result fits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

use quorate_graph::{self as graph, BuildError, Checker, Dtype, Fault, Graph, Interval, NodeId};

use crate::error::SessionError;
use crate::session::peek::{Access, answer, peek};
use crate::work::data::{Data, OwnInput, Plain};

/// The values of inputs until they are run, with their ranges.
type Given = BTreeMap<NodeId, (Weak<OwnInput>, Interval)>;

/// The findings of a check, which count once the run that was checked has ended well.
pub struct Checked {
    /// New warnings of results that differ from numpy's.
    pub warnings: Vec<BuildError>,
    found: Option<(graph::Checked, Vec<NodeId>)>,
}

/// The values of inputs until they are run, and the ranges of arrays.
pub(crate) struct Look {
    checker: Arc<Checker>,
    given: Arc<Given>,
    /// The user's arrays.
    held: BTreeSet<NodeId>,
    /// Lines that a warning was given for, and whether of lost digits; lines in loops are warned of once.
    told: BTreeSet<(Arc<str>, u32, bool)>,
}

impl Look {
    /// Returns a check that looks for lost digits where that takes at most `max_memory`, in bytes.
    pub fn new(max_memory: Option<u64>) -> Look {
        Look {
            checker: Arc::new(Checker::new(max_memory.unwrap_or(u64::MAX))),
            given: Arc::default(),
            held: BTreeSet::new(),
            told: BTreeSet::new(),
        }
    }

    /// Records an input's values, which lie in `range`.
    pub fn give(&mut self, id: NodeId, own: &Arc<OwnInput>, range: Interval) {
        // Drops, now and then, inputs whose arrays died before any run.
        if self.given.len().is_power_of_two() {
            Arc::make_mut(&mut self.given).retain(|_, (own, _)| own.strong_count() > 0);
        }
        Arc::make_mut(&mut self.given).insert(id, (Arc::downgrade(own), range));
    }

    /// Records a new array.
    pub fn hold(&mut self, id: NodeId) {
        self.held.insert(id);
    }

    /// Forgets an array.
    pub fn forget(&mut self, id: NodeId) {
        self.held.remove(&id);
        Arc::make_mut(&mut self.checker).forget(id);
    }

    /// Records that a run that was checked has ended well.
    pub fn done(&mut self, checked: Checked) {
        let Some((checked, nodes)) = checked.found else { return };
        let given = Arc::make_mut(&mut self.given);
        nodes.iter().for_each(|id| {
            given.remove(id);
        });
        Arc::make_mut(&mut self.checker).note(checked, |id| self.held.contains(&id));
    }

    /// Returns the warnings that were not given before.
    fn new_warnings(&mut self, mut warnings: Vec<BuildError>) -> Vec<BuildError> {
        // A line with a warning of lost digits may get another one of saturation.
        let about = |warning: &BuildError| matches!(*warning.fault, Fault::LosesDigits { .. });
        warnings.retain(|warning| self.told.insert((warning.at.file.clone(), warning.at.line, about(warning))));
        warnings
    }
}

/// Checks that every value on which the reveals depend fits its dtype, in a local session with this check enabled. It
/// does not run the reveals. Other threads may use the session meanwhile, but no other run may be under way.
///
/// # Errors
/// The first result that leaves its dtype, as a [`BuildError`] of category range, at its line; an interrupt, if a wait
/// should not go on.
pub fn check(access: &mut impl Access, reveals: &[(NodeId, Option<usize>)]) -> Result<Checked, SessionError> {
    let targets: Vec<NodeId> = reveals.iter().map(|reveal| reveal.0).collect();
    let begun = access.with(|session| {
        let Some(Look { checker, given, .. }) = &session.look else { return Ok(None) };
        let (checker, given) = (checker.clone(), given.clone());
        Ok::<_, SessionError>(Some((checker, given, session.graph(), session.ask_needed(targets)?)))
    })?;
    let Some((checker, given, graph, needed)) = begun? else { return Ok(Checked { warnings: vec![], found: None }) };
    let nodes = answer(access, &needed)?;
    let range = |id: NodeId| given.get(&id).map(|given| given.1);
    let mut checked = checker.look(&graph, &nodes, range, |ids: &[NodeId]| values(access, &graph, &given, ids))?;
    let warnings = std::mem::take(&mut checked.warnings);
    let warnings = access.with(|session| session.look.as_mut().map_or(vec![], |look| look.new_warnings(warnings)))?;
    Ok(Checked { warnings, found: Some((checked, nodes)) })
}

/// Returns values in units: those of inputs as given, all others from the parties.
fn values(
    access: &mut impl Access,
    graph: &Graph,
    given: &Given,
    ids: &[NodeId],
) -> Result<Vec<Vec<i128>>, SessionError> {
    let given = |id: &NodeId| given.get(id).and_then(|(own, _)| own.upgrade());
    let owned: Vec<Option<Arc<OwnInput>>> = ids.iter().map(given).collect();
    let run: Vec<NodeId> = ids.iter().zip(&owned).filter(|(_, own)| own.is_none()).map(|(&id, _)| id).collect();
    let mut seen = if run.is_empty() { vec![] } else { peek(access, &run)? }.into_iter();
    let of = |(id, own): (&NodeId, &Option<Arc<OwnInput>>)| match own {
        Some(own) => Ok(units(graph.node(*id).dtype, &own.0)),
        None => seen.next().map(|data| integers(&data)).ok_or(SessionError::WorkerGone),
    };
    ids.iter().zip(&owned).map(of).collect()
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
