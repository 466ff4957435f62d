//! The stock of correlations: made in bulk before inputs are known, handed out once; or made where they are drawn, or
//! in turns.

use std::cell::{Ref, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::ops::Range;
use std::task::Poll;

use quorate_ring::Ring;
use quorate_ring::meter::deferred;

use crate::correlations::{Demand, Draw, Ledger, Turn, Turns};
use crate::costs::Phase;
use crate::ctx::Ctx;
use crate::error::{Error, Misuse, Result};
use crate::sharing::Sharing;
use crate::stream::Chunks;

/// A party's shares of a vector, or of a matrix of bits of which a correlation is a lane.
pub trait Stored: Clone {
    /// The elements, or lanes, of a range.
    fn part(&self, range: Range<usize>) -> Self;
    /// Overwrites those from `start` on.
    fn write_part(&mut self, start: usize, part: &Self);
}

/// What one party holds of one correlation of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Vectors, by ring and elements of one correlation.
    pub vectors: Vec<(Ring, usize)>,
    /// Matrices of bits, by rows; a correlation is a lane.
    pub bits: Vec<usize>,
}

impl Layout {
    /// Bytes of so many correlations, where a share is a plain vector.
    pub fn bytes(&self, len: usize) -> u64 {
        let vectors = self.vectors.iter().map(|(ring, count)| ring.carrier().bytes().saturating_mul(*count));
        let bits = self.bits.iter().map(|rows| rows * len.div_ceil(8));
        (vectors.sum::<usize>().saturating_mul(len) + bits.sum::<usize>()) as u64
    }
}

/// Correlations of one kind, one after the other.
#[derive(Clone)]
pub struct Material<V, B> {
    /// As [`Layout::vectors`] says.
    pub vectors: Vec<V>,
    /// As [`Layout::bits`] says.
    pub bits: Vec<B>,
}

const MISSING: Error = Error::bug("a stock lacks a part of its correlations");

impl<V: Stored, B: Stored> Material<V, B> {
    fn slice(&self, layout: &Layout, range: Range<usize>) -> Self {
        let vector = |(vector, (_, count)): (&V, &(Ring, usize))| vector.part(range.start * count..range.end * count);
        Material {
            vectors: self.vectors.iter().zip(&layout.vectors).map(vector).collect(),
            bits: self.bits.iter().map(|bits| bits.part(range.clone())).collect(),
        }
    }

    fn write_at(&mut self, layout: &Layout, start: usize, part: &Self) {
        for ((whole, part), (_, count)) in self.vectors.iter_mut().zip(&part.vectors).zip(&layout.vectors) {
            whole.write_part(start * count, part);
        }
        self.bits.iter_mut().zip(&part.bits).for_each(|(whole, part)| whole.write_part(start, part));
    }

    /// All vectors.
    ///
    /// # Errors
    /// [`Error::Bug`] unless there are so many.
    pub fn into_vectors<const N: usize>(self) -> Result<[V; N]> {
        self.vectors.try_into().map_err(|_| MISSING)
    }

    /// All matrices of bits.
    ///
    /// # Errors
    /// [`Error::Bug`] unless there are so many.
    pub fn into_bits<const N: usize>(self) -> Result<[B; N]> {
        self.bits.try_into().map_err(|_| MISSING)
    }
}

/// What a party has made ahead, by kind, and who gets which of it.
pub struct Stock<K, V, B> {
    ledger: RefCell<Ledger<K>>,
    /// Of what is made while the program runs, in turns.
    turns: RefCell<Option<Turns<K>>>,
    made: RefCell<BTreeMap<K, Material<V, B>>>,
}

impl<K, V, B> Default for Stock<K, V, B> {
    fn default() -> Self {
        Stock { ledger: RefCell::new(Ledger::OnDemand), turns: RefCell::new(None), made: RefCell::default() }
    }
}

impl<K: Ord + Clone, V: Stored, B: Stored> Stock<K, V, B> {
    /// From here on, what is drawn is noted and not made.
    pub fn record(&self) {
        self.turns.take();
        *self.ledger.borrow_mut() = Ledger::Recording(Demand::default());
    }

    /// What was noted.
    pub fn take_demand(&self) -> Demand<K> {
        self.ledger.borrow_mut().take_demand()
    }

    /// From here on, draws are served from what was made for this demand.
    pub fn fill(&self, demand: Demand<K>, made: BTreeMap<K, Material<V, B>>) {
        self.turns.take();
        *self.made.borrow_mut() = made;
        *self.ledger.borrow_mut() = Ledger::Stocked(demand);
    }

    /// Throws all of it away; later draws are made where they are drawn.
    pub fn clear(&self) {
        *self.ledger.borrow_mut() = Ledger::OnDemand;
        self.turns.take();
        self.made.borrow_mut().clear();
    }

    /// Takes what was made, for whoever has to overwrite it.
    pub fn take_made(&self) -> BTreeMap<K, Material<V, B>> {
        std::mem::take(&mut *self.made.borrow_mut())
    }

    /// From here on, correlations are made while the program runs, these one after the other.
    pub fn make_in_turns(&self, turns: VecDeque<Demand<K>>) {
        self.clear();
        self.turns.replace(Some(Turns::new(turns)));
    }

    /// Who gets what.
    pub fn ledger(&self) -> Ref<'_, Ledger<K>> {
        self.ledger.borrow()
    }

    /// Serves a draw whose correlations are held elsewhere.
    ///
    /// # Errors
    /// As [`Ledger::draw`].
    pub fn place(&self, ctx: &Ctx, kind: &K, len: usize) -> Result<Draw> {
        self.ledger.borrow_mut().draw(ctx, kind, len)
    }

    /// What was made ahead.
    pub fn made(&self) -> Ref<'_, BTreeMap<K, Material<V, B>>> {
        self.made.borrow()
    }
}

/// A family that makes correlations.
#[allow(async_fn_in_trait)] // futures are single-threaded on purpose
pub trait Stocks: Sharing {
    /// Kinds of correlations.
    type Kind: Ord + Clone + fmt::Display;
    /// Shares of a vector.
    type Vectors: Stored;
    /// Shares of a matrix of bits.
    type Matrices: Stored;

    /// Where they lie.
    fn stock(&self) -> &Stock<Self::Kind, Self::Vectors, Self::Matrices>;

    /// What this party holds of one correlation.
    fn layout(&self, kind: &Self::Kind) -> Layout;

    /// The largest ring over which a correlation is, for the bound of [`Sharing::MOST_BITS`].
    fn bits_of(&self, kind: &Self::Kind) -> u32 {
        self.layout(kind).vectors.iter().map(|(ring, _)| ring.bits()).max().unwrap_or(1)
    }

    /// Refuses what a session cannot make, where it is drawn: in the step that wants it.
    ///
    /// # Errors
    /// [`Misuse::RingBits`] above [`Sharing::MOST_BITS`].
    fn check_kind(&self, kind: &Self::Kind) -> Result<()> {
        match self.bits_of(kind) {
            bits if bits > Self::MOST_BITS => Err(Misuse::RingBits { bits }.into()),
            _ => Ok(()),
        }
    }

    /// A place for a vector: zeros, or a shape in a dry run.
    fn blank(&self, dry: bool, shape: (Ring, usize)) -> Self::Vectors;

    /// A place for bits.
    fn blank_bits(&self, dry: bool, shape: (usize, usize)) -> Self::Matrices;

    /// Makes so many correlations of each kind.
    ///
    /// # Errors
    /// Whatever ends a run.
    async fn make_kinds(
        &self,
        ctx: &Ctx,
        totals: &BTreeMap<Self::Kind, usize>,
    ) -> Result<BTreeMap<Self::Kind, Material<Self::Vectors, Self::Matrices>>> {
        let kinds: Vec<(&Self::Kind, &usize)> = totals.iter().collect();
        let make = async |ctx: Ctx, i: usize| self.make(&ctx, kinds[i].0, *kinds[i].1).await;
        let made = ctx.join_all(kinds.len(), make).await?;
        Ok(kinds.into_iter().map(|(kind, _)| kind.clone()).zip(made).collect())
    }

    /// Makes `len` correlations.
    ///
    /// # Errors
    /// Whatever ends a run.
    async fn make(&self, ctx: &Ctx, kind: &Self::Kind, len: usize) -> Result<Material<Self::Vectors, Self::Matrices>>;

    /// Makes those of one draw, where they are drawn.
    ///
    /// # Errors
    /// Whatever ends a run.
    async fn make_drawn(
        &self,
        ctx: &Ctx,
        kind: &Self::Kind,
        len: usize,
    ) -> Result<Material<Self::Vectors, Self::Matrices>> {
        self.make(ctx, kind, len).await
    }

    /// A place for correlations.
    fn blank_material(&self, dry: bool, layout: &Layout, len: usize) -> Material<Self::Vectors, Self::Matrices> {
        let vector = |&(ring, count): &(Ring, usize)| self.blank(dry, (ring, count * len));
        Material {
            vectors: layout.vectors.iter().map(vector).collect(),
            bits: layout.bits.iter().map(|&rows| self.blank_bits(dry, (rows, len))).collect(),
        }
    }

    /// Makes correlations chunk by chunk.
    ///
    /// # Errors
    /// Whatever ends a run.
    async fn make_in_chunks(
        &self,
        ctx: &Ctx,
        kind: &Self::Kind,
        chunks: Chunks,
        make: impl AsyncFn(Ctx, usize) -> Result<Material<Self::Vectors, Self::Matrices>>,
    ) -> Result<Material<Self::Vectors, Self::Matrices>> {
        let layout = self.layout(kind);
        let mut whole = self.blank_material(ctx.is_dry(), &layout, chunks.len);
        let work = async |ctx: Ctx, range: Range<usize>| make(ctx, range.len()).await;
        ctx.stream_alike(chunks, work, |range, part| whole.write_at(&layout, range.start, &part)).await?;
        Ok(whole)
    }

    /// Makes everything that a program demands; afterwards its draws are served from this stock, each once.
    ///
    /// # Errors
    /// Whatever ends a run.
    async fn make_all(&self, ctx: &Ctx, demand: Demand<Self::Kind>) -> Result<()> {
        self.stock().clear();
        let made = self.make_kinds(ctx, demand.totals()).await?;
        self.stock().fill(demand, made);
        Ok(())
    }

    /// The next `len` correlations for this lane where they are made in turns: nothing where they are not.
    ///
    /// # Errors
    /// As [`Stocks::draw`].
    async fn draw_in_turn(
        &self,
        ctx: &Ctx,
        kind: &Self::Kind,
        len: usize,
    ) -> Result<Option<Material<Self::Vectors, Self::Matrices>>> {
        let stock = self.stock();
        if stock.turns.borrow().is_none() || ctx.phase() == Phase::Offline {
            return Ok(None);
        }
        if ctx.members.is_some() || ctx.is_alone() {
            return Err(Error::bug("a draw that not all parties make, in turns that all of them share"));
        }
        let at = (ctx.lane(), ctx.next_use());
        loop {
            let turn = poll_fn(|context| match &mut *stock.turns.borrow_mut() {
                Some(turns) => turns.poll(at, (kind, len), context.waker()),
                None => Poll::Ready(Err(Error::Exhausted { wanted: len, left: 0 })),
            });
            match turn.await? {
                Turn::Take(range) => {
                    let made = stock.made();
                    let material = made.get(kind).ok_or(Error::Exhausted { wanted: len, left: 0 })?;
                    return Ok(Some(material.slice(&self.layout(kind), range)));
                }
                Turn::Make(number, totals) => {
                    stock.made.take();
                    let made = ctx.making(Box::pin(self.make_kinds(&ctx.offline_aside(number), &totals))).await?;
                    stock.made.replace(made);
                    if let Some(turns) = &mut *stock.turns.borrow_mut() {
                        turns.made();
                    }
                }
            }
        }
    }

    /// The next `len` correlations for this lane: from the stock, or made here, at the cost of the offline phase.
    ///
    /// # Errors
    /// As [`Stocks::check_kind`]; [`Error::Exhausted`] where a dry run did not foresee this
    /// draw; whatever ends a run.
    async fn draw(&self, ctx: &Ctx, kind: Self::Kind, len: usize) -> Result<Material<Self::Vectors, Self::Matrices>> {
        self.check_kind(&kind)?;
        if let Some(material) = self.draw_in_turn(ctx, &kind, len).await? {
            return Ok(material);
        }
        let draw = self.stock().place(ctx, &kind, len)?;
        match draw {
            Draw::Make => ctx.making(Box::pin(self.make_drawn(&ctx.offline_child(), &kind, len))).await,
            Draw::Recorded => {
                // What is drawn is copied out of the stock; making it is charged where it is made.
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
