//! Sets of parties, such as those on whose inputs a value depends.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// Stands for the clients of campaigns in a set of parties.
const CLIENTS: usize = usize::MAX;

/// Parties whose inputs a value depends on. Clients of campaigns, who are no parties, count as one more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owners(Option<Arc<BTreeSet<usize>>>);

impl Owners {
    /// Returns the clients alone.
    pub fn clients() -> Owners {
        Owners::one(CLIENTS)
    }

    /// Returns the numbers of the parties, ascending, without the clients.
    pub fn parties(&self) -> impl Iterator<Item = usize> + '_ {
        self.iter().filter(|&owner| owner != CLIENTS)
    }

    /// Returns whether clients are among them.
    pub fn has_clients(&self) -> bool {
        self.iter().any(|owner| owner == CLIENTS)
    }

    /// Returns this party alone.
    pub fn one(owner: usize) -> Owners {
        Owners(Some(Arc::new([owner].into())))
    }

    /// Returns these parties and the clients.
    pub fn with_clients(&self) -> Owners {
        self.and(&Owners::clients())
    }

    /// Returns whether there are none: the value is public, or drawn at random.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns their numbers, ascending; the clients come last.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().flat_map(|all| all.iter().copied())
    }

    /// Returns those that are not among `others`.
    pub(crate) fn without(&self, others: &Owners) -> Owners {
        self.iter().filter(|&party| !others.iter().any(|other| other == party)).collect()
    }

    /// Returns those that are also among `others`.
    pub(crate) fn within(&self, others: &Owners) -> Owners {
        self.iter().filter(|&party| others.iter().any(|other| other == party)).collect()
    }

    /// Returns the parties of both. Most operands have the same ones, which are kept once.
    pub(crate) fn and(&self, other: &Owners) -> Owners {
        match (&self.0, &other.0) {
            (_, None) => self.clone(),
            (None, _) => other.clone(),
            (Some(a), Some(b)) if Arc::ptr_eq(a, b) || b.is_subset(a) => self.clone(),
            (Some(a), Some(b)) if a.is_subset(b) => other.clone(),
            (Some(a), Some(b)) => Owners(Some(Arc::new(a.union(b).copied().collect()))),
        }
    }
}

impl FromIterator<usize> for Owners {
    fn from_iter<T: IntoIterator<Item = usize>>(parties: T) -> Owners {
        let all: BTreeSet<usize> = parties.into_iter().collect();
        Owners((!all.is_empty()).then(|| Arc::new(all)))
    }
}

impl fmt::Display for Owners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.parties().map(|party| party.to_string()).collect();
        match names.len() {
            0 if self.has_clients() => return f.write_str("clients"),
            0 => f.write_str("nobody"),
            1 => write!(f, "party {}", names[0]),
            _ => write!(f, "parties {}", names.join(", ")),
        }?;
        if self.has_clients() { f.write_str(" and clients") } else { Ok(()) }
    }
}
