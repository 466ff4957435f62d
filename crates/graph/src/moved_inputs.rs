//! Elements of a value that are elements of an owner's input: unchanged, moved, or in a form that can be undone.
//! Revealing them reveals the input.
//!
//! These operations count as moves:
//!
//! - selections, reshaping, transposing, joining, repeating, another sharing;
//! - every element of a shuffle;
//! - all elements of a sorting network together, or more than half of the keys of an order, since they are those that
//!   went in (one of them by itself, such as a median, is computed); every element that moves with a key in an order;
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

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::index::{Index, Layer, Side};
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
    /// The elements at these places, and computed ones elsewhere. Each place is this many elements in a row; after the
    /// last one, the first one is next.
    Kept(Arc<[bool]>, usize, Source),
    /// Elements repeated by broadcasting, from a shape to a shape.
    Broadcast(Vec<usize>, Vec<usize>, Source),
    /// Elements in a secret random order: each may be any of the source.
    Shuffle(Source),
    /// Keys in their order.
    Order(Source),
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

    /// Returns the parties of whose own inputs there may be elements in this value together with others that were made
    /// beside it, such as the other half of a sorted array.
    pub fn owners_beside(&self) -> Owners {
        let (mut found, mut waiting, mut seen) = (Owners::default(), vec![self], BTreeSet::new());
        while let Some(raw) = waiting.pop() {
            match raw {
                Raw::Alike(owners) => found = found.and(owners),
                Raw::Moved(moved) if seen.insert(Arc::as_ptr(moved)) => {
                    waiting.extend(moved.how.sources().map(|source| &source.0));
                }
                Raw::Moved(_) => {}
            }
        }
        found
    }

    /// Returns the parties of whose own inputs there are elements in several values together.
    pub fn owners_of_all<'a>(values: impl IntoIterator<Item = (&'a Raw, usize)>) -> Owners {
        let mut search = Search::default();
        values.into_iter().for_each(|(raw, elements)| search.want_all(&Source(raw.clone(), elements)));
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
            | How::Kept(_, _, from)
            | How::Broadcast(_, _, from)
            | How::Shuffle(from)
            | How::Order(from)
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
            How::Compose(..) | How::Bits(..) | How::Order(_) => !first.is_empty(),
            How::Kept(..) => true,
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

/// The elements of a moved value that are wanted.
struct Wanted {
    moved: Arc<Moved>,
    /// Whether all are wanted.
    all: bool,
    /// Wanted sides of a layer: its pairs' first rows, their second rows, and the rest. Together they are all elements.
    sides: Option<(Layer, u32, [bool; 3])>,
    /// Wanted elements one by one; empty if there are none.
    some: Vec<bool>,
}

impl Wanted {
    fn none(moved: &Arc<Moved>) -> Wanted {
        Wanted { moved: moved.clone(), all: false, sides: None, some: vec![] }
    }

    fn want(&mut self, is_wanted: impl Fn(usize) -> bool) {
        self.some.resize(self.moved.elements, false);
        self.some.iter_mut().enumerate().for_each(|(i, wanted)| *wanted |= is_wanted(i));
    }

    fn want_side(&mut self, layer: Layer, side: Side, width: u32) {
        let at = match side {
            Side::Lower => 0,
            Side::Upper => 1,
            Side::Rest => 2,
            Side::Back => return self.all = true,
        };
        let (of, wide, wanted) = self.sides.get_or_insert((layer, width, [false; 3]));
        if (*of, *wide) == (layer, width) {
            wanted[at] = true;
            self.all |= !wanted.contains(&false) || layer.count_of(Side::Rest) == 0 && wanted[0] && wanted[1];
        } else {
            self.want_rows(layer, side, width);
        }
    }

    fn want_rows(&mut self, layer: Layer, side: Side, width: u32) {
        self.some.resize(self.moved.elements, false);
        let rows = Index::Exchange { layer, side, width };
        rows.expand().iter().for_each(|&position| self.some[position as usize] = true);
    }

    /// Returns which elements are wanted, or `None` if all are.
    fn by_element(&mut self) -> Option<&[bool]> {
        if let (false, Some((layer, width, wanted))) = (self.all, self.sides.take()) {
            let sides = [Side::Lower, Side::Upper, Side::Rest].into_iter().zip(wanted).filter(|(_, wanted)| *wanted);
            sides.for_each(|(side, _)| self.want_rows(layer, side, width));
        }
        (!self.all).then_some(&self.some)
    }
}

/// A search for the wanted elements of moved values. Values with the most moves come first: elements of a value are
/// only wanted by values with more moves.
///
/// A sorted array is a few hundred layers of moves, of each of which all elements are wanted. So it is looked at by
/// the sides of layers, and not by elements, which would take seconds for a million rows.
#[derive(Default)]
struct Search {
    owners: Owners,
    wanted: BTreeMap<(u32, *const Moved), Wanted>,
}

impl Search {
    /// Wants elements of a source; `of_moved` notes which ones where they are moved, and `any` returns whether it is
    /// any at all.
    fn search(&mut self, Source(raw, _): &Source, any: impl FnOnce() -> bool, of_moved: impl FnOnce(&mut Wanted)) {
        match raw {
            Raw::Alike(owners) if owners.is_empty() => {}
            Raw::Alike(owners) => {
                if any() {
                    self.owners = self.owners.and(owners);
                }
            }
            Raw::Moved(moved) => {
                let entry = self.wanted.entry((moved.depth, Arc::as_ptr(moved)));
                of_moved(entry.or_insert_with(|| Wanted::none(moved)));
            }
        }
    }

    fn want(&mut self, from: &Source, is_wanted: impl Fn(usize) -> bool) {
        self.search(from, || (0..from.1).any(&is_wanted), |wanted| wanted.want(&is_wanted));
    }

    fn want_all(&mut self, from: &Source) {
        self.search(from, || from.1 > 0, |wanted| wanted.all = true);
    }

    fn finish(mut self) -> Owners {
        while let Some((_, mut wanted)) = self.wanted.pop_last() {
            let moved = wanted.moved.clone();
            if moved.elements == 0 {
                continue;
            }
            match wanted.by_element() {
                None => self.follow_all(&moved.how),
                Some(some) => self.follow(&moved.how, some),
            }
        }
        self.owners
    }

    /// Follows all elements of a value that has some.
    fn follow_all(&mut self, how: &How) {
        match how {
            How::Gather(Index::Exchange { layer, side, width }, from) => {
                let any = || layer.count_of(*side) * *width as usize > 0;
                self.search(from, any, |wanted| wanted.want_side(*layer, *side, *width));
            }
            How::Gather(index, from) => {
                let mut theirs = vec![false; from.1];
                index.expand().iter().for_each(|&position| theirs[position as usize] = true);
                self.want(from, |i| theirs[i]);
            }
            How::Kept(places, each, from) => self.want(from, |i| places[i / each % places.len()]),
            How::Broadcast(_, _, from) | How::Shuffle(from) | How::Order(from) => self.want_all(from),
            How::Bits(_, from) | How::Compose(_, from) => self.want_all(from),
            How::Concat(sources, exchanged) => {
                sources.iter().for_each(|source| self.want_all(source));
                exchanged.iter().flat_map(|pair| &pair.among).for_each(|source| self.want_all(source));
            }
        }
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
            How::Kept(places, each, from) => self.want(from, |i| wanted[i] && places[i / each % places.len()]),
            How::Broadcast(small, large, from) => {
                let theirs = at(&shape::broadcast_index(small, large), from);
                self.want(from, |i| theirs[i]);
            }
            How::Shuffle(from) => {
                let any = wanted.contains(&true);
                self.want(from, |_| any);
            }
            How::Order(from) => {
                let most = 2 * wanted.iter().filter(|&&wanted| wanted).count() > wanted.len();
                self.want(from, |_| most);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers below limits, from a linear congruential generator.
    struct Coins(u64);

    impl Coins {
        fn below(&mut self, limit: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % limit
        }
    }

    /// Moves the elements of a value of `rows` rows at random: sides of a layer, joined and put back, or only some.
    fn moved(coins: &mut Coins, from: Source, rows: u32, width: u32) -> Source {
        let p = 1 << coins.below(4);
        let (r, distance) = (p * coins.below(2) as u32, p * (1 + 2 * coins.below(3) as u32));
        let layer = Layer { count: rows, p, r, distance };
        let side = |side: Side, from: &Source| {
            let elements = layer.count_of(side) * width as usize;
            Source(How::Gather(Index::Exchange { layer, side, width }, from.clone()).raw(elements), elements)
        };
        let [lower, upper, rest] = [Side::Lower, Side::Upper, Side::Rest].map(|one| side(one, &from));
        let swapped = |x: &Source| Source(Raw::default(), x.1);
        let exchanged = vec![Exchanged { at: (0, 1), among: [lower.clone(), upper.clone()] }];
        let (sources, exchanged) = match coins.below(4) {
            0 => (vec![lower, swapped(&upper), rest], vec![]),
            1 => (vec![swapped(&lower), upper, rest], vec![]),
            _ => (vec![swapped(&lower), swapped(&upper), rest], exchanged),
        };
        let all = Source(How::Concat(sources, exchanged).raw(from.1), from.1);
        match coins.below(5) {
            0 => all,
            _ => side(Side::Back, &all),
        }
    }

    /// Wanting every element by its number gives what wanting all of a value gives.
    #[test]
    fn sides_of_layers_are_followed_as_their_elements_are() {
        let (mut coins, mut several) = (Coins(1), 0);
        for _ in 0..2000 {
            let (rows, width) = (1 + coins.below(9) as u32, 1 + coins.below(3) as u32);
            let owned = |elements: usize, owner: usize| Source(Raw::Alike(Owners::one(owner)), elements);
            let elements = (rows * width) as usize;
            let first = coins.below(elements + 1);
            let mut value =
                Source(How::Concat(vec![owned(first, 0), owned(elements - first, 1)], vec![]).raw(elements), elements);
            let mut roots = vec![];
            for _ in 0..coins.below(5) {
                value = moved(&mut coins, value, rows, width);
                if coins.below(3) == 0 {
                    // Another layer's side of the same value.
                    let layer = Layer { count: rows * width, p: 1, r: coins.below(2) as u32, distance: 1 };
                    let side = [Side::Lower, Side::Upper, Side::Rest][coins.below(3)];
                    let some = layer.count_of(side);
                    let index = Index::Exchange { layer, side, width: 1 };
                    roots.push(Source(How::Gather(index, value.clone()).raw(some), some));
                }
            }
            value = match coins.below(5) {
                0 => Source(How::Bits(1, value.clone()).raw(value.1), value.1),
                1 => Source(How::Compose(1, value.clone()).raw(value.1), value.1),
                2 => Source(How::Shuffle(value.clone()).raw(value.1), value.1),
                3 => Source(
                    How::Broadcast(vec![1, value.1], vec![2, value.1], value.clone()).raw(2 * value.1),
                    2 * value.1,
                ),
                _ => value,
            };
            let elements = value.1;
            if coins.below(3) == 0 {
                let index = Index::from(vec![coins.below(elements) as u32]);
                value = Source(How::Gather(index, value).raw(1), 1);
            }
            if coins.below(4) > 0 || roots.is_empty() {
                roots.push(value);
            }
            let (mut at_once, mut one_by_one) = (Search::default(), Search::default());
            roots.iter().for_each(|root| at_once.want_all(root));
            roots.iter().for_each(|root| one_by_one.want(root, |_| true));
            let (at_once, one_by_one) = (at_once.finish(), one_by_one.finish());
            several += usize::from(one_by_one != Owners::default() && one_by_one != Owners::one(0));
            assert_eq!(at_once, one_by_one, "{roots:?}");
        }
        assert!(several > 500, "{several} values of P1's elements");
    }
}
