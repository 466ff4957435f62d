//! The values of a program as a party holds them.

use std::collections::BTreeMap;
use std::sync::Arc;

use quorate_engine::Error;
use quorate_gadgets::Computes;
use quorate_graph::{Domain, NodeId};

use crate::work::data::Plain;

pub(crate) const KINDS: Error = Error::Bug { what: "an operation met operands of a kind that building excludes" };

/// A node's value at this party.
pub(crate) enum Value<S: Computes> {
    /// Known to all parties.
    Public(Plain),
    Arith(S::A),
    Bits(S::B),
    /// Numbers in shared bits, a row for each bit.
    Rows(S::B),
    /// Bits or numbers, by the labels of their bits.
    Labels(S::Y),
    /// Several arrays made by one step.
    Many(Vec<Value<S>>),
}

impl<S: Computes> Clone for Value<S> {
    fn clone(&self) -> Self {
        match self {
            Value::Public(plain) => Value::Public(plain.clone()),
            Value::Arith(x) => Value::Arith(x.clone()),
            Value::Bits(x) => Value::Bits(x.clone()),
            Value::Rows(x) => Value::Rows(x.clone()),
            Value::Labels(x) => Value::Labels(x.clone()),
            Value::Many(all) => Value::Many(all.clone()),
        }
    }
}

impl<S: Computes> Value<S> {
    /// Returns the sharing of the value; `None` for public values, and for the columns of a shuffle, each of which has
    /// its own.
    pub fn domain(&self) -> Option<Domain> {
        match self {
            Value::Public(_) | Value::Many(_) => None,
            Value::Arith(_) => Some(Domain::A),
            Value::Bits(_) | Value::Rows(_) => Some(Domain::B),
            Value::Labels(_) => Some(Domain::Y),
        }
    }
}

/// Values that exist before a run.
pub(crate) type Known<S> = BTreeMap<NodeId, Arc<Value<S>>>;
