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

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::graph::Graph;
use crate::index::Index;
use crate::node::{Node, NodeId, Op};
use crate::origin::Owners;
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
    /// Returns the origin of the elements of a node whose operands are in `graph`.
    pub fn of(graph: &Graph, node: &Node) -> Raw {
        let inputs = node.inputs.as_slice();
        let source = |at: usize| Source::of(graph, inputs[at]);
        let how = match &node.op {
            Op::Input { owner, .. } => return Raw::Alike(Owners::one(*owner)),
            Op::Reshape | Op::To(_) | Op::AsFactor | Op::AssertWithin | Op::Behind => return source(0).0,
            Op::Neg | Op::Not | Op::Shl(_) | Op::Cast | Op::AssertOneHot(_) => return source(0).0,
            Op::Sum(axis) | Op::Max(axis) | Op::Min(axis) | Op::CumSum(axis) if axis.len == 1 => return source(0).0,
            Op::Convert if keeps_all(graph.node(inputs[0]), node) => return source(0).0,
            Op::Mul | Op::And | Op::Or => {
                let [left, right] = [0, 1].map(|i| graph.node(inputs[i]).constant());
                let (from, public) = match (left, right) {
                    (Some(public), None) => (source(1), public),
                    (None, Some(public)) => (source(0), public),
                    _ => return Raw::default(),
                };
                let stays = |&number: &i128| (number != 0) != matches!(node.op, Op::Or);
                return kept_where(from, public.iter().map(stays));
            }
            Op::Scale(by) => {
                return kept_where(source(0), by.keeps(node.elements()).into_iter());
            }
            Op::FloorDiv(by) if node.dtype.is_fixed() || **by == [1] => return source(0).0,
            Op::MatMul { batch, m, k, n } => return taken_by_matrix(graph, inputs, [*batch, *m, *k, *n]),
            Op::Add | Op::Sub | Op::Xor => match [0, 1].map(|i| graph.node(inputs[i]).is_public()) {
                [false, true] => return source(0).0,
                [true, false] => return source(1).0,
                _ => return Raw::default(),
            },
            Op::Select => match graph.node(inputs[0]).constant() {
                Some(chosen) => return chosen_publicly(&chosen, [source(1), source(2)]),
                None => return Raw::default(),
            },
            Op::Gather(index) => How::Gather(index.clone(), source(0)),
            Op::Broadcast => How::Broadcast(graph.node(inputs[0]).shape.clone(), node.shape.clone(), source(0)),
            Op::Part { index, .. } => How::Shuffle(Source::of(graph, graph.node(inputs[0]).inputs[*index])),
            Op::Bits => How::Bits(graph.node(inputs[0]).dtype.bits() as usize, source(0)),
            Op::Compose => How::Compose(node.dtype.bits() as usize, source(0)),
            Op::Concat => {
                let sources = (0..inputs.len()).map(source).collect();
                How::Concat(sources, exchanged(graph, inputs))
            }
            _ => return Raw::default(),
        };
        how.raw(node.elements())
    }

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

/// Returns the elements where `stays` is true, and computed ones elsewhere.
fn kept_where(from: Source, stays: impl Iterator<Item = bool>) -> Raw {
    if from.is_computed() {
        return Raw::default();
    }
    taken(from, stays.enumerate().map(|(i, stays)| stays.then_some(i)).collect())
}

/// Returns the elements at these positions, and computed ones where there is no position.
fn taken(from: Source, at: Vec<Option<usize>>) -> Raw {
    let len = from.1;
    if at.len() == len && at.iter().enumerate().all(|(i, &at)| at == Some(i)) {
        return from.0;
    }
    if at.iter().all(Option::is_none) {
        return Raw::default();
    }
    let computed = Source(Raw::default(), 1);
    let both = Source(How::Concat(vec![from, computed], vec![]).raw(len + 1), len + 1);
    let positions: Vec<u32> = at.iter().map(|at| at.unwrap_or(len) as u32).collect();
    How::Gather(positions.into(), both).raw(at.len())
}

/// Returns the elements of a product with a public matrix. An element is that of the operand where a line of the matrix
/// takes this element and no other.
fn taken_by_matrix(graph: &Graph, inputs: &[NodeId], [batch, m, k, n]: [usize; 4]) -> Raw {
    let secret = match [0, 1].map(|i| graph.node(inputs[i]).is_public()) {
        [false, true] => 0,
        [true, false] => 1,
        _ => return Raw::default(),
    };
    let from = Source::of(graph, inputs[secret]);
    let Some(public) = graph.node(inputs[1 - secret]).constant().filter(|_| !from.is_computed()) else {
        return Raw::default();
    };
    let is_left = secret == 0;
    // The place of the only number other than 0 in each line of the matrix.
    let only = |b: usize, line: usize| {
        let at = |p: usize| if is_left { (b * k + p) * n + line } else { (b * m + line) * k + p };
        let mut others = (0..k).filter(|&p| public[at(p)] != 0);
        others.next().filter(|_| others.next().is_none())
    };
    let lines = if is_left { n } else { m };
    let only: Vec<Option<usize>> = (0..batch * lines).map(|i| only(i / lines, i % lines)).collect();
    if only.iter().all(Option::is_none) {
        return Raw::default();
    }
    let element = |(b, i, j): (usize, usize, usize)| match is_left {
        true => only[b * n + j].map(|p| (b * m + i) * k + p),
        false => only[b * m + i].map(|p| (b * k + p) * n + j),
    };
    taken(from, (0..batch * m * n).map(|at| element((at / (m * n), at / n % m, at % n))).collect())
}

/// Returns elements of the first source where a public bit is 1, and of the second one elsewhere.
fn chosen_publicly(bits: &[i128], sources: [Source; 2]) -> Raw {
    let len = bits.len();
    let both = Source(How::Concat(sources.into(), vec![]).raw(2 * len), 2 * len);
    let positions: Vec<u32> =
        bits.iter().enumerate().map(|(i, &bit)| (i + if bit == 1 { 0 } else { len }) as u32).collect();
    How::Gather(positions.into(), both).raw(len)
}

/// Returns whether the conversion changes no value of the operand.
fn keeps_all(from: &Node, to: &Node) -> bool {
    let more = to.dtype.frac().checked_sub(from.dtype.frac());
    more.is_some_and(|bits| to.dtype.range().covers(from.range().shl(bits)))
}

/// Returns the pairs among the operands of a concatenation that hold the elements of two other values, exchanged where
/// secret bits are 1: [`Op::Select`] of two arrays, and [`Op::Other`] of the same two.
fn exchanged(graph: &Graph, inputs: &[NodeId]) -> Vec<Exchanged> {
    let pair = |(other, &id): (usize, &NodeId)| {
        let Node { op: Op::Other, inputs: of, .. } = graph.node(id) else { return None };
        let &[x, y, chosen] = of.as_slice() else { return None };
        let one = inputs.iter().position(|&id| id == chosen)?;
        let Node { op: Op::Select, inputs: among, .. } = graph.node(chosen) else { return None };
        let same = matches!(among.as_slice(), &[_, a, b] if (a, b) == (x, y) || (a, b) == (y, x));
        let among = [x, y].map(|id| graph.get(id).ok().map(|_| Source::of(graph, id)));
        let [Some(x), Some(y)] = among else { return None };
        (same && one != other).then_some(Exchanged { at: (one, other), among: [x, y] })
    };
    inputs.iter().enumerate().filter_map(pair).collect()
}

impl Source {
    fn of(graph: &Graph, id: NodeId) -> Source {
        let node = graph.node(id);
        Source(node.origin.raw.clone(), node.elements())
    }

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
