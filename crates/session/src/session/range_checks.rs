//! What a local session knows of values: inputs until they are run, ranges of arrays, and lines that were warned of.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

use quorate_graph::{self as graph, BuildError, Checker, Fault, Interval, NodeId};

use crate::work::data::OwnInput;

/// The values of inputs until they are run, with their ranges.
pub(crate) type Given = BTreeMap<NodeId, (Weak<OwnInput>, Interval)>;

/// The findings of a check, which count once the run that was checked has ended well.
pub struct Checked {
    /// New warnings of results that differ from numpy's.
    pub warnings: Vec<BuildError>,
    /// What was found of the nodes that the run takes; `None` where nothing was checked.
    pub(super) found: Option<(graph::Checked, Vec<NodeId>)>,
}

/// The values of inputs until they are run, and the ranges of arrays.
pub(crate) struct Look {
    pub checker: Arc<Checker>,
    pub given: Arc<Given>,
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
            // What is read in parts is never held by the parties.
            if !given.get(id).and_then(|(own, _)| own.upgrade()).is_some_and(|own| matches!(&*own, OwnInput::Read(_))) {
                given.remove(id);
            }
        });
        Arc::make_mut(&mut self.checker).note(checked, |id| self.held.contains(&id));
    }

    /// Returns the warnings that were not given before.
    pub fn new_warnings(&mut self, mut warnings: Vec<BuildError>) -> Vec<BuildError> {
        // A line with a warning of lost digits may get another one of saturation.
        let about = |warning: &BuildError| matches!(*warning.fault, Fault::LosesDigits { .. });
        warnings.retain(|warning| self.told.insert((warning.at.file.clone(), warning.at.line, about(warning))));
        warnings
    }
}
