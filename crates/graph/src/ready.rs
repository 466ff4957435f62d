//! Circuits of operations, ready to run: each made once for all equal steps.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use quorate_circuits::{Goal, Order, Program};

use crate::graph::Graph;
use crate::hash::Hash;
use crate::in_bits::InBits;
use crate::node::NodeId;

/// An operation's form on bits, with its circuit as a program.
#[derive(Clone)]
pub struct Ready {
    /// The application of the circuit to elements.
    pub how: InBits,
    /// The circuit, in the order in which parties run it.
    pub program: Program,
}

/// The circuits that were made, by what a circuit depends on. All copies of a graph share them.
#[derive(Clone, Default)]
pub(crate) struct Cache(Arc<Mutex<BTreeMap<Key, Entry>>>);

/// The number of circuits that are kept.
const ENTRIES: usize = 1024;

type Key = (Hash, Goal, Order);

/// Empty while one thread makes the circuit and others wait; `None`: there is no circuit.
type Entry = Arc<OnceLock<Option<Arc<Ready>>>>;

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cache")
    }
}

impl Cache {
    fn entry(&self, key: Key) -> Entry {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= ENTRIES && !entries.contains_key(&key) {
            entries.clear();
        }
        entries.entry(key).or_default().clone()
    }
}

impl Graph {
    /// Returns the operation of [`Graph::in_bits`], with its circuit as a program in this order.
    pub fn ready(&self, id: NodeId, goal: Goal, order: Order) -> Option<Arc<Ready>> {
        let make = || {
            let how = self.in_bits(id, goal)?;
            let program = Program::new(how.circuit(), order);
            Some(Arc::new(Ready { how, program }))
        };
        self.ready.entry((self.step_hash(id), goal, order)).get_or_init(make).clone()
    }
}
