//! A family that computes in the clear. **It hides nothing**: its one party holds every value as it is. Only tests
//! depend on it, and sessions do not offer it.
//!
//! It has two uses:
//!
//! - Tests run the general gadgets and the executor of programs on it, apart from every protocol.
//! - A new family starts as a copy of this file. The parts are in the order in which they are replaced:
//!
//! | part | a family that hides its values has |
//! |---|---|
//! | the party | the keys and seeds that the setup agreed on |
//! | [`Sharing`] | shares in place of values; a protocol for each operation that is not linear |
//! | [`Stocks`] | the kinds of its correlations, and a protocol that makes each of them |
//! | [`Gadgets`], [`Functions`](quorate_gadgets::Functions) | the general gadgets, or cheaper ones of its own |
//! | [`Garbles`] | labels, or [`NoLabels`](quorate_gadgets::NoLabels) |
//! | [`Family`] | its description and its setup |
//! | [`MakesAhead`], [`GarblesAhead`], [`Revokes`], [`Footprint`] | what differs from their defaults |
//!
//! Everything works on shapes, too: in a dry run a value is a ring and a length without data.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use quorate_circuits::Program;
use quorate_crypto::Seed;
use quorate_engine::{
    Checked, Ctx, Demand, EdaBits, Error, Form, Layout, Linear, LinearBits, Material, Misuse, Opened, Positions,
    Result, Sharing, Stock, Stocks, Stored, TruncMasks, Update, UpdateBits, check_edabit_cut, check_party, check_rows,
};
use quorate_gadgets::order::Keys;
use quorate_gadgets::{
    Choices, Descriptor, Family, Footprint, Gadgets, Garbles, GarblesAhead, Labels, MakesAhead, Parties, Pools,
    Revokes, Sign, Width, circuit, compare, compiled_here, convert, decompose, equality, functions_here, gadgets_here,
    select, trunc_prob, truncate, widen,
};
use quorate_ring::{Bits, Module, Ring, Vector};

/// The party. It has no keys; its masks come from a seed that is public. A clone is a handle of the same party.
#[derive(Clone, Default)]
pub struct Clear {
    stock: Arc<Stock<Kind, Plain<Vector>, Plain<Bits>>>,
}

/// A vector or bits, where a trait needs a type of this crate.
#[derive(Clone)]
pub struct Plain<M>(M);

/// The seed of all masks.
const PUBLIC: [u8; 32] = [0; 32];

impl Sharing for Clear {
    type A = Vector;
    type B = Bits;

    const CHECKED: bool = false;
    const MOST_BITS: u32 = 126;

    fn shape(&self, x: &Vector) -> (Ring, usize) {
        x.shape_of()
    }

    fn bit_shape(&self, x: &Bits) -> (usize, usize) {
        x.shape_of()
    }

    fn public(&self, value: &Vector) -> Vector {
        value.clone()
    }

    fn public_bits(&self, value: &Bits) -> Bits {
        value.clone()
    }

    fn add(&self, x: &Vector, y: &Vector) -> Vector {
        changed(x, |x| x.add_assign(y))
    }

    fn sub(&self, x: &Vector, y: &Vector) -> Vector {
        changed(x, |x| x.sub_assign(y))
    }

    fn add_public(&self, x: &Vector, value: &Vector) -> Vector {
        changed(x, |x| x.add_assign(value))
    }

    fn linear(&self, x: &Vector, map: &Linear<'_>) -> Vector {
        map.apply(x)
    }

    fn update(&self, x: &mut Vector, y: &Vector, update: &Update) {
        update.apply(x, y);
    }

    fn concat(&self, parts: &[&Vector]) -> Vector {
        Vector::concat(parts)
    }

    fn xor(&self, x: &Bits, y: &Bits) -> Bits {
        changed(x, |x| x.xor_assign(y))
    }

    fn xor_public(&self, x: &Bits, value: &Bits) -> Bits {
        changed(x, |x| x.xor_assign(value))
    }

    fn linear_bits(&self, x: &Bits, map: &LinearBits<'_>) -> Bits {
        map.apply(x)
    }

    fn update_bits(&self, x: &mut Bits, y: &Bits, update: &UpdateBits<'_>) {
        update.apply(x, y);
    }

    fn concat_rows(&self, parts: &[&Bits]) -> Bits {
        Bits::concat_rows(parts)
    }

    fn concat_lanes(&self, parts: &[&Bits]) -> Bits {
        Bits::concat_lanes(parts)
    }

    async fn input(&self, ctx: &Ctx, owner: usize, shape: (Ring, usize), value: Option<&Vector>) -> Result<Vector> {
        given(ctx, owner, shape, value)
    }

    async fn input_bits(&self, ctx: &Ctx, owner: usize, shape: (usize, usize), value: Option<&Bits>) -> Result<Bits> {
        given(ctx, owner, shape, value)
    }

    async fn bilinear(&self, ctx: &Ctx, form: Form, x: &Vector, y: &Vector) -> Result<Vector> {
        form.check(x.shape_of(), y.shape_of())?;
        let mut sum = room(ctx.is_dry(), (x.ring(), form.len_out(x.len())));
        form.accumulate(&mut sum, x, y);
        Ok(sum)
    }

    async fn lsb(&self, _: &Ctx, x: &Vector) -> Result<Bits> {
        Ok(x.low_bit())
    }

    async fn bit_to_msb(&self, _: &Ctx, x: &Bits, ring: Ring) -> Result<Vector> {
        Ok(changed(&x.to_vector(ring), |x| x.shl(ring.bits() - 1)))
    }

    async fn and(&self, _: &Ctx, x: &Bits, y: &Bits) -> Result<Bits> {
        Form::Product.check(x.shape_of(), y.shape_of())?;
        Ok(changed(x, |x| x.and_assign(y)))
    }

    async fn open(&self, ctx: &Ctx, x: &Vector) -> Result<Opened<Vector>> {
        Ok(ctx.opened(changed(x, Vector::reduce)))
    }

    async fn open_bits(&self, ctx: &Ctx, x: &Bits) -> Result<Opened<Bits>> {
        Ok(ctx.opened(x.clone()))
    }

    async fn check(&self, _: &Ctx) -> Result<Checked> {
        Ok(Checked::unneeded())
    }

    async fn reveal(
        &self,
        ctx: &Ctx,
        checked: &Checked,
        x: &Vector,
        to: Option<usize>,
    ) -> Result<Option<Opened<Vector>>> {
        checked.allows_reveals(ctx)?;
        check_party(ctx, to.unwrap_or(0))?;
        Ok(Some(ctx.revealed(changed(x, Vector::reduce))))
    }

    async fn reveal_bits(
        &self,
        ctx: &Ctx,
        checked: &Checked,
        x: &Bits,
        to: Option<usize>,
    ) -> Result<Option<Opened<Bits>>> {
        checked.allows_reveals(ctx)?;
        check_party(ctx, to.unwrap_or(0))?;
        Ok(Some(ctx.revealed(x.clone())))
    }

    async fn random_bits(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Vector> {
        let [Plain(bits)] = self.draw(ctx, Kind::RandomBit { bits: ring.bits() }, len).await?.into_vectors()?;
        Ok(bits)
    }

    async fn edabits(&self, ctx: &Ctx, ring: Ring, cut: Option<u32>, len: usize) -> Result<EdaBits<Vector, Bits>> {
        check_edabit_cut(ring, cut)?;
        edabits(self.draw(ctx, Kind::EdaBit { bits: ring.bits(), cut: cut.unwrap_or(0) }, len).await?)
    }

    async fn trunc_masks(&self, ctx: &Ctx, ring: Ring, shift: u32, len: usize) -> Result<TruncMasks<Vector>> {
        if shift == 0 || shift + 2 > ring.bits() {
            return Err(Misuse::Other { what: "a truncation mask must be cut above bit 0 and below bit k - 1" }.into());
        }
        let masks = self.draw(ctx, Kind::TruncMask { bits: ring.bits(), cut: shift }, len).await?;
        let [Plain(value), Plain(shifted), Plain(top)] = masks.into_vectors()?;
        Ok(TruncMasks { value, shifted, top })
    }

    async fn wide_edabits(&self, ctx: &Ctx, ring: Ring, wide: Ring, len: usize) -> Result<EdaBits<Vector, Bits>> {
        if wide.bits() <= ring.bits() {
            return Err(Misuse::Other { what: "a wide edaBit needs a ring larger than its bits" }.into());
        }
        edabits(self.draw(ctx, Kind::WideEdaBit { bits: ring.bits(), wide: wide.bits() }, len).await?)
    }

    /// Keeps the order, which is one of those that a shuffle returns.
    async fn shuffle(&self, _: &Ctx, columns: &[&Vector], rows: usize) -> Result<Vec<Vector>> {
        check_rows(columns.iter().map(|column| column.len()), rows)?;
        Ok(columns.iter().map(|&column| column.clone()).collect())
    }
}

/// Returns x after a change.
fn changed<M: Clone>(x: &M, change: impl FnOnce(&mut M)) -> M {
    let mut x = x.clone();
    change(&mut x);
    x
}

/// Returns zeros, or a shape in a dry run.
fn room<M: Module>(dry: bool, shape: M::Shape) -> M {
    if dry { M::phantom(shape) } else { M::zeros(shape) }
}

/// Returns the value of an input, or its shape in a dry run.
fn given<M: Module>(ctx: &Ctx, owner: usize, shape: M::Shape, value: Option<&M>) -> Result<M> {
    check_party(ctx, owner)?;
    match value {
        _ if ctx.is_dry() => Ok(M::phantom(shape)),
        Some(value) if value.shape_of() == shape => Ok(value.clone()),
        Some(_) => Err(Misuse::Other { what: "an input of another shape than was agreed" }.into()),
        None => Err(Misuse::Other { what: "an input without its owner's value" }.into()),
    }
}

/// A kind of correlation: a number r that is uniform in Z_2^bits, with functions of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // the fields are described by their kind
pub enum Kind {
    /// The lowest bit of r, as an element of Z_2^bits.
    RandomBit { bits: u32 },
    /// r and its bits, and floor(r / 2^cut) where `cut` is not 0.
    EdaBit { bits: u32, cut: u32 },
    /// r, floor((r mod 2^(bits-1)) / 2^cut), and the top bit of r as an element of Z_2^(cut+1).
    TruncMask { bits: u32, cut: u32 },
    /// r as an element of Z_2^wide, and its bits.
    WideEdaBit { bits: u32, wide: u32 },
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::RandomBit { bits } => write!(f, "random bit mod 2^{bits}"),
            Kind::EdaBit { bits, cut } => write!(f, "edaBit of {bits} bits cut at {cut}"),
            Kind::TruncMask { bits, cut } => write!(f, "truncation mask mod 2^{bits} cut at {cut}"),
            Kind::WideEdaBit { bits, wide } => write!(f, "edaBit of {bits} bits mod 2^{wide}"),
        }
    }
}

impl Stocks for Clear {
    type Kind = Kind;
    type Vectors = Plain<Vector>;
    type Matrices = Plain<Bits>;

    fn stock(&self) -> &Stock<Kind, Plain<Vector>, Plain<Bits>> {
        &self.stock
    }

    fn layout(&self, kind: &Kind) -> Layout {
        let (vectors, bits) = match *kind {
            Kind::RandomBit { bits } => (vec![bits], vec![]),
            Kind::EdaBit { bits, cut: 0 } => (vec![bits], vec![bits]),
            Kind::EdaBit { bits, .. } => (vec![bits; 2], vec![bits]),
            Kind::TruncMask { bits, cut } => (vec![bits, bits, cut + 1], vec![]),
            Kind::WideEdaBit { bits, wide } => (vec![wide], vec![bits]),
        };
        Layout::new(
            vectors.into_iter().map(|bits| (Ring::of(bits), 1)).collect(),
            bits.into_iter().map(|rows| rows as usize).collect(),
        )
    }

    fn blank(&self, dry: bool, shape: (Ring, usize)) -> Plain<Vector> {
        Plain(room(dry, shape))
    }

    fn blank_bits(&self, dry: bool, shape: (usize, usize)) -> Plain<Bits> {
        Plain(room(dry, shape))
    }

    async fn make(&self, ctx: &Ctx, kind: &Kind, len: usize) -> Result<Material<Plain<Vector>, Plain<Bits>>> {
        let (Kind::RandomBit { bits }
        | Kind::EdaBit { bits, .. }
        | Kind::TruncMask { bits, .. }
        | Kind::WideEdaBit { bits, .. }) = *kind;
        let mut r: Vector = ctx.randomness().stream(&Seed::from_bytes(PUBLIC)).draw((Ring::of(bits), len));
        r.reduce();
        let shifted = |r: &Vector, shift: u32| changed(r, |r| r.shr_logical(shift));
        let below_top = |r: &Vector| r.convert(Ring::of(bits - 1)).convert(r.ring());
        let (vectors, bits) = match *kind {
            Kind::RandomBit { .. } => (vec![r.low_bit().to_vector(r.ring())], vec![]),
            Kind::EdaBit { cut: 0, .. } => (vec![r.clone()], vec![r.to_bits(0..bits)]),
            Kind::EdaBit { cut, .. } => (vec![r.clone(), shifted(&r, cut)], vec![r.to_bits(0..bits)]),
            Kind::TruncMask { cut, .. } => {
                let top = shifted(&r, bits - 1).convert(Ring::of(cut + 1));
                (vec![r.clone(), shifted(&below_top(&r), cut), top], vec![])
            }
            Kind::WideEdaBit { wide, .. } => (vec![r.convert(Ring::of(wide))], vec![r.to_bits(0..bits)]),
        };
        Ok(Material::new(vectors.into_iter().map(Plain).collect(), bits.into_iter().map(Plain).collect()))
    }
}

/// Returns edaBits that were drawn.
fn edabits(drawn: Material<Plain<Vector>, Plain<Bits>>) -> Result<EdaBits<Vector, Bits>> {
    const INCOMPLETE: Error = Error::Bug { what: "an edaBit without its value or its bits" };
    let mut vectors = drawn.vectors.into_iter().map(|Plain(vector)| vector);
    match (vectors.next(), drawn.bits.into_iter().next()) {
        (Some(value), Some(Plain(bits))) => Ok(EdaBits { value, shifted: vectors.next(), bits }),
        _ => Err(INCOMPLETE),
    }
}

impl Stored for Plain<Vector> {
    fn part(&self, range: Range<usize>) -> Self {
        Plain(self.0.slice(range))
    }

    fn write_part(&mut self, start: usize, part: &Self) {
        self.0.write_at(start, &part.0);
    }
}

impl Stored for Plain<Bits> {
    fn part(&self, range: Range<usize>) -> Self {
        Plain(self.0.slice_lanes(range))
    }

    fn write_part(&mut self, start: usize, part: &Self) {
        self.0.write_lanes_at(start, &part.0);
    }
}

functions_here! { Clear, Vector, Bits }

/// The general gadgets, compiled here. A family replaces the body of a gadget for which it has a cheaper protocol.
impl Gadgets for Clear {
    gadgets_here! { Clear, Vector, Bits }

    /// Sorts at once: the general gadget compares shuffled rows, and shuffles keep the order here.
    async fn order(&self, ctx: &Ctx, key: &Vector, keys: Keys, columns: &[&Vector]) -> Result<Vec<Vector>> {
        let rows = key.len();
        check_rows(columns.iter().map(|column| column.len()), rows)?;
        let mut from_low = key.clone();
        from_low.add_scalar((keys.low as u128).wrapping_neg() & key.ring().mask());
        let ranks = if ctx.is_dry() { vec![] } else { from_low.to_u128s() };
        let mut order: Vec<u32> = (0..ranks.len() as u32).collect();
        order.sort_by_key(|&row| if keys.descending { !ranks[row as usize] } else { ranks[row as usize] });
        let in_order = |column: &&Vector| {
            let width = (column.len() / rows.max(1)) as u32;
            let index = || order.iter().flat_map(|&row| (0..width).map(move |i| row * width + i)).collect();
            Linear::Gather(Positions::later(column.len(), &index)).apply(column)
        };
        Ok(columns.iter().map(in_order).collect())
    }

    compiled_here! { Clear:
        fn msb(s, ctx, at x: Vector) -> Bits { compare::msb(s, ctx, x) }
        fn lt(s, ctx, at x: Vector, at y: Vector, val width: Width) -> Bits { compare::lt(s, ctx, x, y, width) }
        fn eqz(s, ctx, at x: Vector) -> Bits { equality::eqz(s, ctx, x) }
        fn bit_decompose(s, ctx, at x: Vector) -> Bits { decompose::bit_decompose(s, ctx, x) }
        fn compose(s, ctx, at x: Bits, val ring: Ring) -> Vector { convert::compose(s, ctx, x, ring) }
        fn trunc_exact(s, ctx, at x: Vector, val shift: u32) -> Vector { truncate::trunc_exact(s, ctx, x, shift) }
        fn trunc_bounded(s, ctx, at x: Vector, val shift: u32) -> Vector { truncate::trunc_bounded(s, ctx, x, shift) }
        fn trunc_prob(s, ctx, at x: Vector, val shift: u32) -> Vector { trunc_prob::trunc_prob(s, ctx, x, shift) }
        fn convert(s, ctx, at x: Vector, val ring: Ring, val sign: Sign) -> Vector {
            widen::convert(s, ctx, x, ring, sign)
        }
        fn mask(s, ctx, at bit: Bits, at x: Vector) -> Vector { select::mask(s, ctx, bit, x) }
        fn mux(s, ctx, at bit: Bits, at x: Vector, at y: Vector) -> Vector { select::mux(s, ctx, bit, x, y) }
        fn circuit(s, ctx, at program: Program, at inputs: Bits) -> Bits { circuit::evaluate(s, ctx, program, inputs) }
    }
}

/// The label of a wire is its bit.
impl Garbles for Clear {
    type Y = Plain<Bits>;

    const GARBLES: bool = true;

    fn public_labels(&self, bits: &Bits) -> Result<Self::Y> {
        Ok(Plain(bits.clone()))
    }

    async fn bits_to_labels(&self, _: &Ctx, x: &Bits) -> Result<Self::Y> {
        Ok(Plain(x.clone()))
    }

    fn labels_to_bits(&self, x: &Self::Y) -> Result<Bits> {
        Ok(x.0.clone())
    }

    async fn garble(&self, ctx: &Ctx, program: &Program, inputs: &Self::Y) -> Result<Self::Y> {
        Ok(Plain(self.circuit(ctx, program, &inputs.0).await?))
    }
}

impl Labels for Plain<Bits> {
    fn shape(&self) -> (usize, usize) {
        self.0.shape_of()
    }

    fn gather_rows(&self, rows: &[u32]) -> Self {
        Plain(self.0.gather_rows(rows))
    }

    fn gather_lanes(&self, lanes: &Positions<'_>) -> Self {
        let list = || Cow::Borrowed(lanes.list());
        Plain(LinearBits::GatherLanes(Positions::later(lanes.len(), &list)).apply(&self.0))
    }

    fn concat_rows(parts: &[&Self]) -> Self {
        Plain(Bits::concat_rows(&parts.iter().map(|part| &part.0).collect::<Vec<_>>()))
    }

    fn concat_lanes(parts: &[&Self]) -> Self {
        Plain(Bits::concat_lanes(&parts.iter().map(|part| &part.0).collect::<Vec<_>>()))
    }

    fn lanes_to_rows(&self, rows: usize) -> Self {
        Plain(self.0.lanes_to_rows(rows))
    }

    fn rows_to_lanes(&self) -> Self {
        Plain(self.0.rows_to_lanes())
    }
}

impl Family for Clear {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "clear",
        about: "1 party, which sees everything: for tests",
        parties: Parties { usual: &[1], or_more: false, takes: "1" },
        sharings: &["A", "B", "Y"],
        options: &[],
        workloads: &[],
        most_elements: 1_000_000,
    };

    fn security(_: usize, _: &Choices) -> String {
        "none: the party sees all values".into()
    }

    async fn setup(ctx: &Ctx, _: Option<&Seed>, choices: &Choices) -> Result<Self> {
        Self::dry(ctx.parties(), ctx.me(), choices)
    }

    fn dry(parties: usize, _: usize, _: &Choices) -> Result<Self> {
        Self::DESCRIPTOR.check_parties(parties)?;
        Ok(Clear::default())
    }

    async fn prepare<T>(
        &self,
        ctx: &Ctx,
        demand: Demand<Kind>,
        _: impl AsyncFnOnce(&Ctx) -> Result<T>,
    ) -> Result<Option<T>> {
        self.make_all(ctx, demand).await.map(|()| None)
    }
}

impl MakesAhead for Clear {}

impl GarblesAhead for Clear {}

impl Pools for Clear {}

impl Revokes for Clear {}

impl Footprint for Clear {
    fn shares(&self) -> u64 {
        1
    }

    fn work_shares(&self) -> u64 {
        2
    }
}
