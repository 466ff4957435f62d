//! A list whose copies share what they have in common, so that a program can be read while it grows.

use std::ops::Index;
use std::sync::Arc;

/// The number of elements that copies share together. A copy of a list copies a pointer for each chunk, and the first
/// addition to a copy copies at most one chunk.
const CHUNK: usize = 64;

/// A list that grows at its end and is forgotten from its start.
#[derive(Clone, Debug)]
pub struct Chunked<T> {
    /// All but the last are full.
    chunks: Vec<Arc<Vec<T>>>,
    /// The number of elements at the start of the first chunk that are forgotten.
    skipped: usize,
    len: usize,
}

impl<T> Default for Chunked<T> {
    fn default() -> Self {
        Chunked { chunks: Vec::new(), skipped: 0, len: 0 }
    }
}

impl<T> Chunked<T> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the element at `place`; `None` from the end on.
    pub fn get(&self, place: usize) -> Option<&T> {
        let at = place.checked_add(self.skipped)?;
        self.chunks.get(at / CHUNK)?.get(at % CHUNK)
    }

    /// Returns the last element.
    pub fn last(&self) -> Option<&T> {
        self.get(self.len.checked_sub(1)?)
    }

    /// Returns all elements.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + Clone {
        self.since(0)
    }

    /// Returns the elements from `place` on.
    pub fn since(&self, place: usize) -> impl DoubleEndedIterator<Item = &T> + Clone {
        let at = self.skipped + place.min(self.len);
        let (first, within) = (at / CHUNK, at % CHUNK);
        let tail = move |(i, chunk): (usize, &'_ Arc<Vec<T>>)| (if i == 0 { within } else { 0 }).min(chunk.len());
        let chunks = self.chunks.get(first..).unwrap_or_default();
        chunks.iter().enumerate().flat_map(move |(i, chunk)| chunk[tail((i, chunk))..].iter())
    }
}

impl<T: Clone> Chunked<T> {
    pub(crate) fn push(&mut self, element: T) {
        match self.chunks.last_mut() {
            Some(last) if last.len() < CHUNK => Arc::make_mut(last).push(element),
            _ => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(element);
                self.chunks.push(Arc::new(chunk));
            }
        }
        self.len += 1;
    }

    pub(crate) fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        let at = place.checked_add(self.skipped)?;
        Arc::make_mut(self.chunks.get_mut(at / CHUNK)?).get_mut(at % CHUNK)
    }

    /// Drops the elements from the `len`-th on.
    pub(crate) fn truncate(&mut self, len: usize) {
        if len >= self.len {
            return;
        }
        let at = self.skipped + len;
        self.chunks.truncate(at.div_ceil(CHUNK));
        if let Some(last) = self.chunks.last_mut().filter(|_| !at.is_multiple_of(CHUNK)) {
            Arc::make_mut(last).truncate(at % CHUNK);
        }
        self.len = len;
    }

    /// Drops the first `count` elements. The memory of at most a chunk of them remains.
    pub(crate) fn forget(&mut self, count: usize) {
        let count = count.min(self.len);
        self.len -= count;
        self.skipped += count;
        self.chunks.drain(..(self.skipped / CHUNK).min(self.chunks.len()));
        self.skipped %= CHUNK;
    }

    /// Returns the elements as a vector.
    pub fn to_vec(&self) -> Vec<T> {
        self.iter().cloned().collect()
    }
}

impl<T> Index<usize> for Chunked<T> {
    type Output = T;

    fn index(&self, place: usize) -> &T {
        let at = place + self.skipped;
        &self.chunks[at / CHUNK][at % CHUNK]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Push(usize),
        Truncate(usize),
        Forget(usize),
        Change(usize),
        Copy,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (1..200usize).prop_map(Step::Push),
            (0..100usize).prop_map(Step::Truncate),
            (0..150usize).prop_map(Step::Forget),
            (0..300usize).prop_map(Step::Change),
            Just(Step::Copy),
        ]
    }

    proptest! {
        /// Copies stay what they were, whatever is done to the list afterwards.
        #[test]
        fn lists_are_those_of_vectors(steps in proptest::collection::vec(step(), 0..60)) {
            let (mut list, mut plain, mut next) = (Chunked::default(), Vec::new(), 0u32);
            let mut copies = Vec::new();
            for step in steps {
                match step {
                    Step::Push(count) => (0..count).for_each(|_| {
                        next += 1;
                        list.push(next);
                        plain.push(next);
                    }),
                    Step::Truncate(fewer) => {
                        let len = plain.len().saturating_sub(fewer);
                        list.truncate(len);
                        plain.truncate(len);
                    }
                    Step::Forget(count) => {
                        list.forget(count);
                        plain.drain(..count.min(plain.len()));
                    }
                    Step::Change(place) => {
                        next += 1;
                        prop_assert_eq!(list.get_mut(place).map(|it| *it = next).is_some(), place < plain.len());
                        plain.get_mut(place).into_iter().for_each(|it| *it = next);
                    }
                    Step::Copy => copies.push((list.clone(), plain.clone())),
                }
            }
            copies.push((list, plain));
            for (list, plain) in copies {
                prop_assert_eq!(list.to_vec(), plain.clone());
                prop_assert!(list.last() == plain.last() && list.is_empty() == plain.is_empty());
                prop_assert_eq!(list.len(), plain.len());
                for place in [0, 1, 63, 64, 65, plain.len() / 2, plain.len(), plain.len() + 70] {
                    prop_assert_eq!(list.get(place), plain.get(place));
                    let rest = plain.get(place..).unwrap_or_default();
                    prop_assert!(list.since(place).eq(rest) && list.since(place).rev().eq(rest.iter().rev()));
                }
            }
        }
    }

    #[test]
    fn copies_share_all_chunks_but_the_one_that_grows() {
        let mut list = Chunked::default();
        (0..1000).for_each(|i| list.push(i));
        let copy = list.clone();
        list.push(1000);
        let shared = list.chunks.iter().zip(&copy.chunks).filter(|(a, b)| Arc::ptr_eq(a, b)).count();
        assert_eq!((shared, list.chunks.len()), (15, 16));
    }
}
