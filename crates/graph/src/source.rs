//! The user's line that made a node.

use std::fmt;
use std::sync::Arc;

/// The user's line that made a node: for messages only, not part of the program's hash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// Path of the user's file, as given by the program that builds the graph.
    pub file: Arc<str>,
    /// Counted from 1.
    pub line: u32,
}

impl Source {
    /// Returns line `line` of `file`.
    pub fn new(file: impl Into<Arc<str>>, line: u32) -> Source {
        Source { file: file.into(), line }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}
