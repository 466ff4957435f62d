//! Elements of a value that are elements of an owner's input: unchanged, moved, or in a form that can be undone.
//! Revealing them reveals the input.
//!
//! These operations count as moves:
//!
//! - selections, reshaping, transposing, joining, repeating, another sharing;
//! - every element of a shuffle;
//! - all elements of a sorting network together, since they are those that went in (one of them by itself, such as a
//!   median, is computed);
//! - negation, sums with public numbers, and shifts to the left;
//! - products with public numbers other than 0, and with public matrices where these take one element each;
//! - divisions of reals by public numbers, and of integers by 1;
//! - conversions that keep every value, all bits of a number, and numbers made of all of their bits.
//!
//! Any other operation makes an element a computed one. This finds mistakes; it does not find a program that hides what
//! it does.
//!
//! Elements are followed on request, from those of the result backwards. If all elements of a value have the same
//! origin, which is the usual case, one value stands for all of them.

mod moves;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::index::Index;
use crate::owners::Owners;
use crate::shape;

/// The number of moves in a row of elements of different origins after which all of them count as elements of an input.
const DEEPEST: u32 = 4096;

/// The parties whose inputs the elements of a value are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Raw {
    /// All elements may be these parties' own inputs; without parties, they are computed or public.
    Alike(Owners),
    /// The parties differ by element.
    Moved(Arc<Moved>),
}

/// Moved elements of different origins.
#[derive(Debug, PartialEq)]
pub(crate) struct Moved {
    how: How,
    /// The number of moves in a row up to here.
    depth: u32,
    elements: usize,
}

/// The move of elements.
#[derive(Debug, PartialEq)]
enum How {
    /// The elements at these positions.
    Gather(Index, Source),
    /// Elements repeated by broadcasting, from a shape to a shape.
    Broadcast(Vec<usize>, Vec<usize>, Source),
    /// Elements in a secret random order: each may be any of the source.
    Shuffle(Source),
    /// Each element as this many bits.
    Bits(usize, Source),
    /// Each element from this many bits.
    Compose(usize, Source),
    /// One source after another. Two of them may hold elements exchanged by secret choices. For these, the second list
    /// has the two values that the choices were made among: an element of both sources together is one of the two at
    /// its place.
    Concat(Vec<Source>, Vec<Exchanged>),
}

/// The elements that are moved, and their number.
#[derive(Clone, Debug, PartialEq)]
struct Source(Raw, usize);

/// (x, y): at every place, sources `at.0` and `at.1` hold one each of the elements of x and y.
#[derive(Debug, PartialEq)]
struct Exchanged {
    at: (usize, usize),
    among: [Source; 2],
}

impl Default for Raw {
    fn default() -> Raw {
        Raw::Alike(Owners::default())
    }
}

impl Raw {
    /// Returns the parties of whose own inputs there are elements in this value.
    pub fn owners(&self, elements: usize) -> Owners {
        Raw::owners_of_all([(self, elements)])
    }

    /// Returns the parties of whose own inputs there are elements in several values together.
    pub fn owners_of_all<'a>(values: impl IntoIterator<Item = (&'a Raw, usize)>) -> Owners {
        let mut search = Search::default();
        values.into_iter().for_each(|(raw, elements)| search.want(&Source(raw.clone(), elements), |_| true));
        search.finish()
    }
}

impl Source {
    fn depth(&self) -> u32 {
        if let Raw::Moved(moved) = &self.0 { moved.depth } else { 0 }
    }

    /// Returns the parties, where all elements have the same.
    fn alike(&self) -> Option<&Owners> {
        if let Raw::Alike(owners) = &self.0 { Some(owners) } else { None }
    }
}

impl How {
    fn sources(&self) -> impl Iterator<Item = &Source> {
        let (alone, joined, among): (_, &[Source], &[Exchanged]) = match self {
            How::Gather(_, from)
            | How::Broadcast(_, _, from)
            | How::Shuffle(from)
            | How::Bits(_, from)
            | How::Compose(_, from) => (Some(from), &[], &[]),
            How::Concat(sources, exchanged) => (None, sources, exchanged),
        };
        alone.into_iter().chain(joined).chain(among.iter().flat_map(|pair| &pair.among))
    }

    fn raw(self, elements: usize) -> Raw {
        let first = self.sources().next().and_then(Source::alike).cloned().unwrap_or_default();
        // A single bit of a number reveals little about it, and single elements of a sorted array are computed.
        let by_parts = match &self {
            How::Compose(..) | How::Bits(..) => !first.is_empty(),
            How::Concat(_, exchanged) => exchanged.iter().any(|pair| pair.among.iter().any(|x| !x.is_computed())),
            _ => false,
        };
        if !by_parts && self.sources().all(|source| source.alike() == Some(&first)) {
            return Raw::Alike(first);
        }
        let depth = 1 + self.sources().map(Source::depth).max().unwrap_or(0);
        let moved = Raw::Moved(Arc::new(Moved { how: self, depth, elements }));
        if depth > DEEPEST { Raw::Alike(moved.owners(elements)) } else { moved }
    }
}

impl Source {
    fn is_computed(&self) -> bool {
        self.alike().is_some_and(Owners::is_empty)
    }
}

/// Moved elements, and which of them are wanted.
type Wanted = (Arc<Moved>, Vec<bool>);

/// A search for the wanted elements of moved values. Values with the most moves come first: elements of a value are
/// only wanted by values with more moves.
#[derive(Default)]
struct Search {
    owners: Owners,
    wanted: BTreeMap<(u32, *const Moved), Wanted>,
}

impl Search {
    fn want(&mut self, Source(raw, elements): &Source, is_wanted: impl Fn(usize) -> bool) {
        match raw {
            Raw::Alike(owners) if owners.is_empty() => {}
            Raw::Alike(owners) if (0..*elements).any(&is_wanted) => self.owners = self.owners.and(owners),
            Raw::Alike(_) => {}
            Raw::Moved(moved) => {
                let entry = self.wanted.entry((moved.depth, Arc::as_ptr(moved)));
                let (_, wanted) = entry.or_insert_with(|| (moved.clone(), vec![false; moved.elements]));
                wanted.iter_mut().enumerate().for_each(|(i, wanted)| *wanted |= is_wanted(i));
            }
        }
    }

    fn finish(mut self) -> Owners {
        while let Some((_, (moved, wanted))) = self.wanted.pop_last() {
            self.follow(&moved.how, &wanted);
        }
        self.owners
    }

    fn follow(&mut self, how: &How, wanted: &[bool]) {
        let at = |positions: &[u32], from: &Source| {
            let mut theirs = vec![false; from.1];
            positions.iter().zip(wanted).filter(|(_, wanted)| **wanted).for_each(|(&p, _)| theirs[p as usize] = true);
            theirs
        };
        match how {
            How::Gather(index, from) => {
                let theirs = at(&index.expand(), from);
                self.want(from, |i| theirs[i]);
            }
            How::Broadcast(small, large, from) => {
                let theirs = at(&shape::broadcast_index(small, large), from);
                self.want(from, |i| theirs[i]);
            }
            How::Shuffle(from) => {
                let any = wanted.contains(&true);
                self.want(from, |_| any);
            }
            How::Bits(width, from) => self.want(from, |i| wanted[i * width..(i + 1) * width].iter().all(|&w| w)),
            How::Compose(width, from) => self.want(from, |i| wanted[i / width]),
            How::Concat(sources, exchanged) => {
                let ends = sources.iter().scan(0, |end, source| {
                    *end += source.1;
                    Some(*end - source.1)
                });
                let starts: Vec<usize> = ends.collect();
                sources.iter().zip(&starts).for_each(|(source, start)| self.want(source, |i| wanted[start + i]));
                for Exchanged { at: (one, other), among } in exchanged {
                    let both = |i| wanted[starts[*one] + i] && wanted[starts[*other] + i];
                    among.iter().for_each(|source| self.want(source, both));
                }
            }
        }
    }
}
