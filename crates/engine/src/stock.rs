//! The stock of correlations: made in bulk before inputs are known and handed out once, made where they are drawn, or
//! made in turns.

use quorate_sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::ops::{Deref, Range};
use std::task::Poll;

use quorate_crypto::SessionId;
use quorate_ring::meter::deferred;
use quorate_ring::{Ring, Vector, Wiped};

use crate::correlations::{Demand, Draw, Ledger};
use crate::costs::Phase;
use crate::ctx::Ctx;
use crate::error::{Error, Misuse, Result};
use crate::sharing::Sharing;
use crate::stream::Chunks;
use crate::turn_by_turn::{Served, Turns};

/// The ring of blocks.
const BLOCK: Ring = Ring::of(128);

/// A party's shares of a vector, or of a matrix of bits whose lanes are correlations.
pub trait Stored: Clone + Send + Sync + 'static {
    /// Returns the elements, or lanes, of a range.
    fn part(&self, range: Range<usize>) -> Self;
    /// Overwrites the elements, or lanes, from `start` on.
    fn write_part(&mut self, start: usize, part: &Self);
}

/// The layout of one party's shares of one correlation of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Vectors, by ring and elements of one correlation.
    pub vectors: Vec<(Ring, usize)>,
    /// Matrices of bits, by rows; a correlation is a lane.
    pub bits: Vec<usize>,
    /// Vectors of blocks of 128 bits, by blocks of one correlation.
    pub blocks: Vec<usize>,
}

impl Layout {
    /// Returns a layout of vectors and of matrices of bits.
    pub fn new(vectors: Vec<(Ring, usize)>, bits: Vec<usize>) -> Layout {
        Layout { vectors, bits, blocks: vec![] }
    }

    /// Returns the layout with vectors of blocks.
    pub fn with_blocks(self, blocks: Vec<usize>) -> Layout {
        Layout { blocks, ..self }
    }

    /// Returns the bytes of the blocks of `len` correlations.
    pub fn block_bytes(&self, len: usize) -> u64 {
        let bytes = self.blocks.iter().sum::<usize>().saturating_mul(BLOCK.carrier().bytes());
        bytes.saturating_mul(len) as u64
    }

    /// Returns the bytes of `len` correlations, where a share is a plain vector.
    pub fn bytes(&self, len: usize) -> u64 {
        let vectors = self.vectors.iter().map(|(ring, count)| ring.carrier().bytes().saturating_mul(*count));
        let bits = self.bits.iter().map(|rows| rows * len.div_ceil(8));
        let shares = vectors.sum::<usize>().saturating_mul(len).saturating_add(bits.sum()) as u64;
        shares.saturating_add(self.block_bytes(len))
    }
}

/// Correlations of one kind, one after the other.
pub struct Material<V, B> {
    /// Vectors, as in [`Layout::vectors`].
    pub vectors: Vec<V>,
    /// Matrices of bits, as in [`Layout::bits`].
    pub bits: Vec<B>,
    /// Vectors of blocks over Z_2^128, as in [`Layout::blocks`]: a party's keys, which are not shares of a value.
    pub blocks: Vec<Wiped<Vector>>,
}

impl<V, B> Material<V, B> {
    /// Returns correlations of vectors and matrices of bits.
    pub fn new(vectors: Vec<V>, bits: Vec<B>) -> Self {
        Material { vectors, bits, blocks: vec![] }
    }

    /// Returns the correlations with vectors of blocks.
    pub fn with_blocks(self, blocks: Vec<Wiped<Vector>>) -> Self {
        Material { blocks, ..self }
    }

    /// Returns correlations of vectors alone.
    pub fn of_vectors(vectors: Vec<V>) -> Self {
        Self::new(vectors, vec![])
    }

    /// Returns correlations of matrices of bits alone.
    pub fn of_bits(bits: Vec<B>) -> Self {
        Self::new(vec![], bits)
    }

    /// Returns all parts of one layout, one after the other, with functions that join vectors, and lanes of bits.
    pub fn joined(parts: &[&Self], vectors: impl Fn(&[&V]) -> V, bits: impl Fn(&[&B]) -> B) -> Self {
        let blocks = |parts: &[&Wiped<Vector>]| Wiped(Vector::concat(&parts.iter().map(|x| &***x).collect::<Vec<_>>()));
        Material {
            vectors: column(parts, |part| &part.vectors, vectors),
            bits: column(parts, |part| &part.bits, bits),
            blocks: column(parts, |part| &part.blocks, blocks),
        }
    }
}

/// Joins the first shares of all parts, the second shares, and so on.
fn column<'a, P, T: 'a>(parts: &[&'a P], shares: impl Fn(&'a P) -> &'a Vec<T>, join: impl Fn(&[&T]) -> T) -> Vec<T> {
    let count = parts.first().map_or(0, |first| shares(first).len());
    (0..count).map(|i| join(&parts.iter().map(|part| &shares(part)[i]).collect::<Vec<_>>())).collect()
}

const MISSING: Error = Error::bug("a stock lacks a part of its correlations");
const LEFT: Error = Error::bug("a part of correlations is left");

impl<V: Stored, B: Stored> Material<V, B> {
    /// Returns the correlations of a range.
    pub fn slice(&self, layout: &Layout, range: Range<usize>) -> Self {
        let vector = |(vector, (_, count)): (&V, &(Ring, usize))| vector.part(range.start * count..range.end * count);
        let blocks =
            |(blocks, count): (&Wiped<Vector>, &usize)| Wiped(blocks.slice(range.start * count..range.end * count));
        Material {
            vectors: self.vectors.iter().zip(&layout.vectors).map(vector).collect(),
            bits: self.bits.iter().map(|bits| bits.part(range.clone())).collect(),
            blocks: self.blocks.iter().zip(&layout.blocks).map(blocks).collect(),
        }
    }

    fn write_at(&mut self, layout: &Layout, start: usize, part: &Self) {
        for ((whole, part), (_, count)) in self.vectors.iter_mut().zip(&part.vectors).zip(&layout.vectors) {
            whole.write_part(start * count, part);
        }
        self.bits.iter_mut().zip(&part.bits).for_each(|(whole, part)| whole.write_part(start, part));
        for ((whole, part), count) in self.blocks.iter_mut().zip(&part.blocks).zip(&layout.blocks) {
            whole.write_at(start * count, part);
        }
    }

    /// Returns all vectors.
    ///
    /// # Errors
    /// [`Error::Bug`] unless there are `N`, and nothing else.
    pub fn into_vectors<const N: usize>(self) -> Result<[V; N]> {
        match (self.bits.as_slice(), self.blocks.as_slice()) {
            ([], []) => self.vectors.try_into().map_err(|_| MISSING),
            _ => Err(LEFT),
        }
    }

    /// Returns all matrices of bits.
    ///
    /// # Errors
    /// [`Error::Bug`] unless there are `N`, and nothing else.
    pub fn into_bits<const N: usize>(self) -> Result<[B; N]> {
        match (self.vectors.as_slice(), self.blocks.as_slice()) {
            ([], []) => self.bits.try_into().map_err(|_| MISSING),
            _ => Err(LEFT),
        }
    }
}

/// A party's correlations that were made ahead, by kind, and their assignment to draws. Workers draw from it side by
/// side.
pub struct Stock<K, V, B> {
    ledger: Mutex<Ledger<K>>,
    /// The turns of correlations that are made while the program runs. Its lock is taken before that of `made`: what a
    /// turn holds is copied before the next turn can begin.
    turns: Mutex<Option<Turns<K>>>,
    made: RwLock<BTreeMap<K, Material<V, B>>>,
    /// The session that made them, where it is another one.
    origin: Mutex<Option<SessionId>>,
}

impl<K, V, B> Default for Stock<K, V, B> {
    fn default() -> Self {
        let (turns, made, origin) = Default::default();
        Stock { ledger: Mutex::new(Ledger::OnDemand), turns, made, origin }
    }
}

impl<K: Ord + Clone, V: Stored, B: Stored> Stock<K, V, B> {
    fn lock_ledger(&self) -> MutexGuard<'_, Ledger<K>> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_turns(&self) -> MutexGuard<'_, Option<Turns<K>>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_origin(&self) -> MutexGuard<'_, Option<SessionId>> {
        self.origin.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change_made(&self) -> RwLockWriteGuard<'_, BTreeMap<K, Material<V, B>>> {
        self.made.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records draws from here on, without making correlations.
    pub fn record(&self) {
        *self.lock_turns() = None;
        *self.lock_origin() = None;
        *self.lock_ledger() = Ledger::Recording(Demand::default());
    }

    /// Returns the recorded demand.
    pub fn take_demand(&self) -> Demand<K> {
        self.lock_ledger().take_demand()
    }

    /// Serves draws from here on from correlations that were made for this demand.
    pub fn fill(&self, demand: Demand<K>, made: BTreeMap<K, Material<V, B>>) {
        *self.lock_turns() = None;
        *self.lock_origin() = None;
        *self.change_made() = made;
        *self.lock_ledger() = Ledger::Stocked(demand);
    }

    /// Serves draws from here on from correlations that another session, `origin`, made for this demand.
    pub fn fill_from(&self, origin: SessionId, demand: Demand<K>, made: BTreeMap<K, Material<V, B>>) {
        self.fill(demand, made);
        *self.lock_origin() = Some(origin);
    }

    /// Returns the session that made the correlations, where it is another one. Keys of functions are evaluated with
    /// the hash of the session that made them.
    pub fn origin(&self) -> Option<SessionId> {
        *self.lock_origin()
    }

    /// Discards all correlations; later draws are made where they are drawn.
    pub fn clear(&self) {
        *self.lock_ledger() = Ledger::OnDemand;
        *self.lock_turns() = None;
        *self.lock_origin() = None;
        self.change_made().clear();
    }

    /// Takes the correlations that were made, for a caller that has to overwrite them.
    pub fn take_made(&self) -> BTreeMap<K, Material<V, B>> {
        std::mem::take(&mut *self.change_made())
    }

    /// Makes correlations while the program runs from here on, turn by turn.
    pub fn make_in_turns(&self, turns: VecDeque<Demand<K>>) {
        self.clear();
        *self.lock_turns() = Some(Turns::new(turns));
    }

    /// Returns the assignment of correlations to draws.
    pub fn ledger(&self) -> impl Deref<Target = Ledger<K>> + '_ {
        self.lock_ledger()
    }

    /// Serves a draw of correlations that are held elsewhere.
    ///
    /// # Errors
    /// Those of [`Ledger::draw`].
    pub fn place(&self, ctx: &Ctx, kind: &K, len: usize) -> Result<Draw> {
        self.lock_ledger().draw(ctx, kind, len)
    }

    /// Returns the correlations that were made.
    pub fn made(&self) -> impl Deref<Target = BTreeMap<K, Material<V, B>>> + '_ {
        self.made.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The result of a draw in turns.
enum InTurn<K, V, B> {
    Taken(Option<Material<V, B>>),
    Make(u64, BTreeMap<K, usize>),
}

/// Correlations of a family.
pub type MaterialOf<S> = Material<<S as Stocks>::Vectors, <S as Stocks>::Matrices>;

/// A family that makes correlations. It defines the kinds and how to make each of them; the default bodies store them
/// and hand them out.
#[allow(async_fn_in_trait)] // futures are single-threaded on purpose
pub trait Stocks: Sharing {
    /// Kinds of correlations.
    type Kind: Ord + Clone + fmt::Display;
    /// Shares of a vector.
    type Vectors: Stored;
    /// Shares of a matrix of bits.
    type Matrices: Stored;

    /// Returns the stock of correlations.
    fn stock(&self) -> &Stock<Self::Kind, Self::Vectors, Self::Matrices>;

    /// Returns the layout of this party's shares of one correlation.
    fn layout(&self, kind: &Self::Kind) -> Layout;

    /// Returns the number of bits of the largest ring in a correlation, which [`Sharing::MOST_BITS`] bounds.
    fn bits_of(&self, kind: &Self::Kind) -> u32 {
        self.layout(kind).vectors.iter().map(|(ring, _)| ring.bits()).max().unwrap_or(1)
    }

    /// Refuses correlations that a session cannot make, where they are drawn: in the step that needs them.
    ///
    /// # Errors
    /// [`Misuse::RingBits`] above [`Sharing::MOST_BITS`].
    fn check_kind(&self, kind: &Self::Kind) -> Result<()> {
        match self.bits_of(kind) {
            bits if bits > Self::MOST_BITS => Err(Misuse::RingBits { bits }.into()),
            _ => Ok(()),
        }
    }

    /// Returns room for a vector: zeros, or a shape in a dry run.
    fn blank(&self, dry: bool, shape: (Ring, usize)) -> Self::Vectors;

    /// Returns room for bits: zeros, or a shape in a dry run.
    fn blank_bits(&self, dry: bool, shape: (usize, usize)) -> Self::Matrices;

    /// Makes `totals` correlations of each kind.
    ///
    /// # Errors
    /// Any error that ends a run.
    async fn make_kinds(
        &self,
        ctx: &Ctx,
        totals: &BTreeMap<Self::Kind, usize>,
    ) -> Result<BTreeMap<Self::Kind, MaterialOf<Self>>> {
        let kinds: Vec<(&Self::Kind, &usize)> = totals.iter().collect();
        let make = async |ctx: Ctx, i: usize| self.make(&ctx, kinds[i].0, *kinds[i].1).await;
        let made = ctx.join_all(kinds.len(), make).await?;
        Ok(kinds.into_iter().map(|(kind, _)| kind.clone()).zip(made).collect())
    }

    /// Makes `len` correlations.
    ///
    /// # Errors
    /// Any error that ends a run.
    async fn make(&self, ctx: &Ctx, kind: &Self::Kind, len: usize) -> Result<MaterialOf<Self>>;

    /// Makes the correlations of one draw where they are drawn.
    ///
    /// # Errors
    /// Any error that ends a run.
    async fn make_drawn(&self, ctx: &Ctx, kind: &Self::Kind, len: usize) -> Result<MaterialOf<Self>> {
        self.make(ctx, kind, len).await
    }

    /// Returns room for `len` correlations.
    fn blank_material(&self, dry: bool, layout: &Layout, len: usize) -> MaterialOf<Self> {
        let vector = |&(ring, count): &(Ring, usize)| self.blank(dry, (ring, count * len));
        let blocks = |count: &usize| {
            Wiped(if dry { Vector::shape(BLOCK, count * len) } else { Vector::zeros(BLOCK, count * len) })
        };
        Material {
            vectors: layout.vectors.iter().map(vector).collect(),
            bits: layout.bits.iter().map(|&rows| self.blank_bits(dry, (rows, len))).collect(),
            blocks: layout.blocks.iter().map(blocks).collect(),
        }
    }

    /// Makes correlations chunk by chunk, each at whichever worker of the party is free.
    ///
    /// # Errors
    /// Any error that ends a run.
    async fn make_in_chunks(
        &self,
        ctx: &Ctx,
        kind: &Self::Kind,
        chunks: Chunks,
        make: impl AsyncFn(&Self, &Ctx, usize) -> Result<MaterialOf<Self>> + Send + Sync + 'static,
    ) -> Result<MaterialOf<Self>> {
        let layout = self.layout(kind);
        let mut whole = self.blank_material(ctx.is_dry(), &layout, chunks.len);
        let party = self.clone();
        let work = async move |ctx: Ctx, len: usize| make(&party, &ctx, len).await;
        let write = |range: Range<usize>, part| whole.write_at(&layout, range.start, &part);
        ctx.spread(chunks, |range| range.len(), work, write).await?;
        Ok(whole)
    }

    /// Makes all correlations that a program demands; afterwards its draws are served from this stock, each once.
    ///
    /// # Errors
    /// Any error that ends a run.
    async fn make_all(&self, ctx: &Ctx, demand: Demand<Self::Kind>) -> Result<()> {
        self.stock().clear();
        let made = self.make_kinds(ctx, demand.totals()).await?;
        self.stock().fill(demand, made);
        Ok(())
    }

    /// Draws the next `len` correlations for this lane where they are made in turns. Returns `None` where they are not.
    ///
    /// # Errors
    /// Those of [`Stocks::draw`].
    async fn draw_in_turn(&self, ctx: &Ctx, kind: &Self::Kind, len: usize) -> Result<Option<MaterialOf<Self>>> {
        let stock = self.stock();
        if stock.lock_turns().is_none() || ctx.phase() == Phase::Offline {
            return Ok(None);
        }
        if ctx.members.is_some() || ctx.is_alone() {
            return Err(Error::bug("a draw that not all parties make, in turns that all of them share"));
        }
        let at = (ctx.lane(), ctx.next_use());
        loop {
            let turn = poll_fn(|context| match &mut *stock.lock_turns() {
                Some(turns) => turns.poll(at, (kind, len), context.waker()).map_ok(|served| match served {
                    Served::Take(range) => {
                        let made = stock.made();
                        InTurn::Taken(made.get(kind).map(|material| material.slice(&self.layout(kind), range)))
                    }
                    Served::Make(number, totals) => InTurn::Make(number, totals),
                }),
                None => Poll::Ready(Err(Error::Exhausted { wanted: len, left: 0 })),
            });
            match turn.await? {
                InTurn::Taken(Some(material)) => return Ok(Some(material)),
                InTurn::Taken(None) => return Err(Error::Exhausted { wanted: len, left: 0 }),
                InTurn::Make(number, totals) => {
                    drop(stock.take_made());
                    let made = ctx.making(Box::pin(self.make_kinds(&ctx.offline_aside(number), &totals))).await?;
                    *stock.change_made() = made;
                    if let Some(turns) = &mut *stock.lock_turns() {
                        turns.made();
                    }
                }
            }
        }
    }

    /// Draws the next `len` correlations for this lane: from the stock, or made here at the cost of the offline phase.
    ///
    /// # Errors
    /// Those of [`Stocks::check_kind`]; [`Error::Exhausted`] if a dry run did not record this draw; any error that ends
    /// a run.
    async fn draw(&self, ctx: &Ctx, kind: Self::Kind, len: usize) -> Result<MaterialOf<Self>> {
        self.check_kind(&kind)?;
        if let Some(material) = self.draw_in_turn(ctx, &kind, len).await? {
            return Ok(material);
        }
        let draw = self.stock().place(ctx, &kind, len)?;
        match draw {
            Draw::Make => ctx.making(Box::pin(self.make_drawn(&ctx.offline_child(), &kind, len))).await,
            Draw::Recorded => {
                // Draws are copied out of the stock; making them is charged where it happens.
                let (layout, mut all) = (self.layout(&kind), None);
                let _made = deferred(|| all = Some(self.blank_material(true, &layout, len)));
                let drawn = all.as_ref().map(|all| all.slice(&layout, 0..len));
                let _wiped = deferred(|| drop(all));
                drawn.ok_or(MISSING)
            }
            Draw::Stock(range) => match self.stock().made().get(&kind) {
                Some(material) => Ok(material.slice(&self.layout(&kind), range)),
                None => Err(Error::Exhausted { wanted: len, left: 0 }),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part of which there are none.
    #[derive(Clone)]
    struct Absent;

    impl Stored for Absent {
        fn part(&self, _: Range<usize>) -> Self {
            Absent
        }

        fn write_part(&mut self, _: usize, _: &Self) {}
    }

    fn flat<T: Copy>(parts: &[&Vec<T>]) -> Vec<T> {
        parts.iter().flat_map(|part| part.iter().copied()).collect()
    }

    #[test]
    fn parts_follow_each_other_column_by_column() {
        type Words = Material<Vec<u64>, Vec<bool>>;
        let part = |vectors: [&[u64]; 2], bits: &[bool], blocks: &[u128]| -> Words {
            Material::new(vectors.map(<[u64]>::to_vec).into(), vec![bits.to_vec()])
                .with_blocks(vec![Wiped(Vector::from_u128s(BLOCK, blocks))])
        };
        let all = |joined: &Words| {
            let blocks: Vec<Vec<u128>> = joined.blocks.iter().map(|blocks| blocks.wide_words().to_vec()).collect();
            (joined.vectors.clone(), joined.bits.clone(), blocks)
        };
        let join = |parts: Vec<Words>| Words::joined(&parts.iter().collect::<Vec<_>>(), flat, flat);
        let parts = vec![part([&[1, 2], &[30]], &[true], &[1 << 70]), part([&[3], &[]], &[false, true], &[2, 3])];
        let expected = (vec![vec![1, 2, 3], vec![30]], vec![vec![true, false, true]], vec![vec![1 << 70, 2, 3]]);
        assert_eq!(all(&join(parts)), expected);
        let alone = join(vec![part([&[1], &[2]], &[true], &[4])]);
        assert_eq!(all(&alone), (vec![vec![1], vec![2]], vec![vec![true]], vec![vec![4]]));
        assert_eq!(all(&join(vec![])), (vec![], vec![], vec![]));
    }

    #[test]
    fn blocks_follow_their_correlations() {
        let layout = Layout::new(vec![], vec![]).with_blocks(vec![2, 1]);
        let made = |all: [&[u128]; 2]| {
            let blocks = all.map(|all| Wiped(Vector::from_u128s(BLOCK, all))).into();
            Material::<Absent, Absent>::new(vec![], vec![]).with_blocks(blocks)
        };
        let mut all = made([&[1, 2, 3, 4, 5, 6], &[7, 8, 9]]);
        let words = |material: &Material<Absent, Absent>| {
            material.blocks.iter().map(|blocks| blocks.to_u128s()).collect::<Vec<_>>()
        };
        assert_eq!(words(&all.slice(&layout, 1..3)), [vec![3, 4, 5, 6], vec![8, 9]]);
        all.write_at(&layout, 1, &made([&[10, 11], &[12]]));
        assert_eq!(words(&all), [vec![1, 2, 10, 11, 5, 6], vec![7, 12, 9]]);
        assert_eq!(layout.bytes(3), 3 * 3 * 16);
    }
}
