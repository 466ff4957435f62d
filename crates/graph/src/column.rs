//! Columns of tables: the meaning of the program's numbers.
//!
//! A word is a number by its place in a list that all parties agree on, so codes of two different lists cannot be
//! compared. What operations make of these meanings, and which they refuse, is in [`origin`](crate::origin).

use std::collections::BTreeSet;
use std::fmt;

use crate::owners::Owners;

/// The number of words that messages show.
const SHOWN: usize = 5;

/// The meaning of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Plain numbers.
    Numbers,
    /// Words, by their places in this list.
    Words(Vec<String>),
    /// Dates, as days from 1970-01-01.
    Days,
}

/// A column of a table. It is part of the program's hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The column's name in its table.
    pub name: String,
    /// The meaning of its numbers.
    pub meaning: Meaning,
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column '{}'", self.name)?;
        match &self.meaning {
            Meaning::Numbers => Ok(()),
            Meaning::Words(words) => write!(f, " of the words {}", shown(words)),
            Meaning::Days => f.write_str(" of dates"),
        }
    }
}

/// Values whose parts the parties hold since before the program. It is part of the program's hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// Where they come from.
    pub given: Given,
    /// The column, of a slot of the campaign or of the kept value.
    pub column: Column,
}

/// Where values come from whose parts the parties hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// Clients gave them for a campaign.
    ByClients {
        /// The campaign's name.
        campaign: String,
        /// The campaign's hash.
        hash: [u8; 32],
    },
    /// An earlier program kept them.
    Before {
        /// The name under which they are kept.
        name: String,
        /// Those on whose inputs the values depend.
        owners: Owners,
        /// Those of whose own inputs there are elements among the values.
        own: Owners,
    },
}

impl Given {
    /// Returns those on whose inputs the values depend.
    pub(crate) fn owners(&self) -> Owners {
        match self {
            Given::ByClients { .. } => Owners::clients(),
            Given::Before { owners, .. } => owners.clone(),
        }
    }

    /// Returns those of whose own inputs there are elements among the values.
    pub(crate) fn own(&self) -> Owners {
        match self {
            Given::ByClients { .. } => Owners::clients(),
            Given::Before { own, .. } => own.clone(),
        }
    }
}

impl fmt::Display for Submission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.given {
            Given::ByClients { campaign, .. } => write!(f, "from clients, {}, campaign '{campaign}',", self.column),
            Given::Before { name, .. } if self.column.name.is_empty() => write!(f, "kept as '{name}',"),
            Given::Before { name, .. } => write!(f, "kept as '{name}', {},", self.column),
        }
    }
}

fn shown<'a>(words: impl IntoIterator<Item = &'a String>) -> String {
    let all: Vec<String> = words.into_iter().map(|word| format!("'{word}'")).collect();
    let more = if all.len() > SHOWN { format!(" and {} more", all.len() - SHOWN) } else { String::new() };
    all.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ") + &more
}

/// Describes how the meanings of two columns differ, for messages.
pub(crate) fn difference(left: &Column, right: &Column) -> String {
    let (Meaning::Words(a), Meaning::Words(b)) = (&left.meaning, &right.meaning) else {
        return format!("{left}, {right}; x + 0 is their plain numbers");
    };
    let without = |of: &[String], others: &[String]| {
        let others: BTreeSet<&String> = others.iter().collect();
        shown(of.iter().filter(|word| !others.contains(word)))
    };
    let only = [(left, without(a, b)), (right, without(b, a))];
    let only: Vec<String> = only
        .into_iter()
        .filter(|(_, words)| !words.is_empty())
        .map(|(column, words)| format!("only column '{}' has {words}", column.name))
        .collect();
    let what = match (only.is_empty(), a.iter().zip(b).position(|(one, other)| one != other)) {
        (true, Some(code)) => format!(
            "code {code} is '{}' in column '{}' and '{}' in column '{}'",
            a[code], left.name, b[code], right.name
        ),
        _ => only.join(", "),
    };
    format!("{what}; list the same words in the same order for both, or write x + 0 for codes as plain numbers")
}
