//! The operations that every backend provides on shared values: the vocabulary of gadgets.
//!
//! A backend has arithmetic shares `A` of vectors over Z_2^k, for any k, and Boolean shares `B` of bit matrices. These
//! have rows and lanes: a lane is a column, usually the bits of one number. (A lane of bits is not a lane of [`Ctx`].)
//! Local operations are linear maps ([`Linear`]); the async ones cost rounds. In a dry run all of them work on shapes.
//! Public values are plain [`Vector`] and [`Bits`], which are shapes, too, in a dry run: code must not branch on them.

use quorate_ring::{Bits, Conv, Ring, Vector};

use crate::ctx::Ctx;
use crate::error::{Misuse, Result};
use crate::linear::{Linear, LinearBits, Update, UpdateBits};
use crate::opened::{Checked, Opened};

/// A bilinear form on two vectors. Each of them takes one round of multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// Element by element.
    Product,
    /// Element by element, then summed over the middle axis of (outer, axis, inner).
    Dot {
        /// Length of the outer axes.
        outer: usize,
        /// Length of the axis that is summed.
        axis: usize,
        /// Length of the inner axes.
        inner: usize,
    },
    /// Row-major (m x k) times (k x n).
    MatMul {
        /// Rows of the left operand.
        m: usize,
        /// Columns of the left operand, rows of the right one.
        k: usize,
        /// Columns of the right operand.
        n: usize,
    },
    /// Images, the left operand, convolved with filters.
    Conv(Conv),
}

impl Form {
    /// Returns the number of elements of the result for operands of `len` elements.
    pub fn len_out(self, len: usize) -> usize {
        match self {
            Form::Product => len,
            Form::Dot { outer, inner, .. } => outer * inner,
            Form::MatMul { m, n, .. } => m * n,
            Form::Conv(conv) => conv.len_out(),
        }
    }

    /// Returns the numbers of elements of both operands, where the left one has `len`.
    pub fn lens(self, len: usize) -> [usize; 2] {
        match self {
            Form::Product => [len; 2],
            Form::Dot { outer, axis, inner } => [outer * axis * inner; 2],
            Form::MatMul { m, k, n } => [m * k, k * n],
            Form::Conv(conv) => conv.lens(),
        }
    }

    /// Checks that operands of these shapes (ring or rows; elements) fit the form.
    ///
    /// # Errors
    /// [`Misuse`].
    pub fn check<R: PartialEq>(self, x: (R, usize), y: (R, usize)) -> Result<()> {
        if x.0 != y.0 {
            return Err(Misuse::Other { what: "a product of operands over different rings" }.into());
        }
        match [x.1, y.1] == self.lens(x.1) {
            true => Ok(()),
            false => Err(Misuse::Length { what: "a product", left: x.1, right: y.1 }.into()),
        }
    }

    /// Adds form(a, b) to `sum`.
    pub fn accumulate(self, sum: &mut Vector, a: &Vector, b: &Vector) {
        match self {
            Form::Product => sum.add_mul_assign(a, b),
            Form::Dot { outer, axis, inner } => {
                let mut product = a.clone();
                product.mul_assign(b);
                sum.add_assign(&product.sum_axis(outer, axis, inner));
            }
            Form::MatMul { m, k, n } => sum.add_assign(&Vector::matmul(a, b, (m, k, n))),
            Form::Conv(conv) => sum.add_assign(&Vector::convolve(a, b, &conv)),
        }
    }
}

/// Random bits shared twice: arithmetically over Z_2^k, and as bits.
#[derive(Clone)]
pub struct EdaBits<A, B> {
    /// r, uniform in Z_2^k.
    pub value: A,
    /// floor(r / 2^cut) as an element of Z_2^k, if a cut was requested.
    pub shifted: Option<A>,
    /// The k bits of r: row i holds bit i.
    pub bits: B,
}

/// Checks the cut of edaBits over a ring.
///
/// # Errors
/// [`Misuse`], unless there is no cut, or it is below the highest bit and above the lowest.
pub fn check_edabit_cut(ring: Ring, cut: Option<u32>) -> Result<()> {
    if cut.is_some_and(|cut| cut == 0 || cut >= ring.bits()) {
        return Err(Misuse::Other { what: "an edaBit must be cut above its lowest and below its highest bit" }.into());
    }
    Ok(())
}

/// Masks for comparisons: r uniform in Z_2^k, and its bits.
#[derive(Clone)]
pub struct ComparisonMasks<A, B> {
    /// r.
    pub value: A,
    /// The k bits of r: row i holds bit i.
    pub bits: B,
    /// Row i holds the product of bits 2i and 2i + 1, for the requested number of pairs; `None` in families that do not
    /// make products.
    pub products: Option<B>,
}

/// A mask for probabilistic truncation by m bits: r uniform in Z_2^k, in three parts.
#[derive(Clone)]
pub struct TruncMasks<A> {
    /// r.
    pub value: A,
    /// floor((r mod 2^(k-1)) / 2^m) as an element of Z_2^k.
    pub shifted: A,
    /// The top bit of r as an element of Z_2^(m+1): it is used shifted up by k - 1 - m.
    pub top: A,
}

/// One party's end of a secret-sharing scheme: the trait that a new protocol implements. All parties call the same
/// operations in the same order on each lane of [`Ctx`]. A clone is a handle of the same party, for work that another
/// worker of the party does ([`Ctx::elsewhere`]).
#[allow(async_fn_in_trait)] // futures are single-threaded on purpose
pub trait Sharing: Clone + Send + Sync + 'static {
    /// Shares of a vector over Z_2^k.
    type A: Clone + Send + Sync + 'static;
    /// Shares of a matrix of bits.
    type B: Clone + Send + Sync + 'static;

    /// Whether a party may cheat, so that openings have to be checked before anything is revealed.
    const CHECKED: bool;
    /// The largest number of bits of a ring over which correlations are made. Gadgets may work in rings up to this
    /// size.
    const MOST_BITS: u32;

    /// Whether [`Sharing::as_factor`] saves messages: the backend then sends a factor of many products only once. The
    /// family's footprint counts what is kept for that.
    const KEEPS_FACTORS: bool = false;

    /// Factor by which the chunks of gadgets on long vectors are smaller than usual, and by which more of them are
    /// under way. It is above 1 in families whose shared bits take so much memory that usual chunks leave a core's
    /// caches.
    const FINER: usize = 1;

    /// Whether gadgets choose between protocols by the number of elements, so that one has to be asked for all at once.
    const CHOOSES_BY_NUMBER: bool = false;

    /// Returns [`Sharing::MOST_BITS`], or less at a party whose session options lower it.
    fn most_bits(&self) -> u32 {
        Self::MOST_BITS
    }

    /// Returns the ring and the number of elements.
    fn shape(&self, x: &Self::A) -> (Ring, usize);
    /// Returns the numbers of rows and lanes.
    fn bit_shape(&self, x: &Self::B) -> (usize, usize);

    /// Shares a public vector, locally.
    fn public(&self, value: &Vector) -> Self::A;
    /// Shares public bits, locally.
    fn public_bits(&self, value: &Bits) -> Self::B;
    /// Returns x + y.
    fn add(&self, x: &Self::A, y: &Self::A) -> Self::A;
    /// Returns x - y.
    fn sub(&self, x: &Self::A, y: &Self::A) -> Self::A;
    /// Returns x + value.
    fn add_public(&self, x: &Self::A, value: &Vector) -> Self::A;
    /// In a dry run, marks the shape x as a value that party `known` knows, as it knows its own input; `None` means
    /// that no party knows it. Families in which this makes no difference ignore it.
    fn say_who_knows(&self, _x: &mut Self::A, _known: Option<usize>) {}
    /// Returns the one party that knows all of x, as far as the family keeps track of that.
    fn who_knows(&self, _x: &Self::A) -> Option<usize> {
        None
    }
    /// In a dry run, marks the shape x as the factor of this name that [`Sharing::as_factor`] would return. `None`
    /// removes the mark.
    fn say_factor(&self, _x: &mut Self::A, _name: Option<u32>) {}
    /// Applies a linear map to x.
    fn linear(&self, x: &Self::A, map: &Linear<'_>) -> Self::A;
    /// Changes x by y, in place.
    fn update(&self, x: &mut Self::A, y: &Self::A, update: &Update);
    /// Concatenates vectors.
    fn concat(&self, parts: &[&Self::A]) -> Self::A;
    /// Returns x xor y.
    fn xor(&self, x: &Self::B, y: &Self::B) -> Self::B;
    /// Returns x xor value.
    fn xor_public(&self, x: &Self::B, value: &Bits) -> Self::B;
    /// Applies a linear map to x.
    fn linear_bits(&self, x: &Self::B, map: &LinearBits<'_>) -> Self::B;
    /// Changes x by y, in place.
    fn update_bits(&self, x: &mut Self::B, y: &Self::B, update: &UpdateBits<'_>);
    /// Stacks the rows of all parts, in order.
    fn concat_rows(&self, parts: &[&Self::B]) -> Self::B;
    /// Puts the lanes of all parts side by side.
    fn concat_lanes(&self, parts: &[&Self::B]) -> Self::B;

    /// Shares a party's own vector; only the owner gives `value`. One round.
    async fn input(&self, ctx: &Ctx, owner: usize, shape: (Ring, usize), value: Option<&Vector>) -> Result<Self::A>;
    /// Shares a party's own bits; only the owner gives `value`. One round.
    async fn input_bits(&self, ctx: &Ctx, owner: usize, shape: (usize, usize), value: Option<&Bits>)
    -> Result<Self::B>;
    /// Returns x marked as a factor of later products. If [`Sharing::KEEPS_FACTORS`], the messages about x that these
    /// products need are sent now, in one round. All parties give the same name, and no other value of the session has
    /// it.
    async fn as_factor(&self, _: &Ctx, x: &Self::A, _name: u32) -> Result<Self::A> {
        Ok(x.clone())
    }
    /// Returns form(x, y). One round.
    async fn bilinear(&self, ctx: &Ctx, form: Form, x: &Self::A, y: &Self::A) -> Result<Self::A>;
    /// Returns x y, element by element. One round.
    async fn mul(&self, ctx: &Ctx, x: &Self::A, y: &Self::A) -> Result<Self::A> {
        self.bilinear(ctx, Form::Product, x, y).await
    }
    /// Returns x mod 2, one row. Mostly local; one round where bits have MACs of their own.
    async fn lsb(&self, ctx: &Ctx, x: &Self::A) -> Result<Self::B>;
    /// Returns 2^(k-1) x for one row of bits. This is the only product with a power of two that needs no conversion.
    /// Mostly local; one round where bits have MACs of their own.
    async fn bit_to_msb(&self, ctx: &Ctx, x: &Self::B, ring: Ring) -> Result<Self::A>;
    /// Returns the AND of x and y, bit by bit. One round.
    async fn and(&self, ctx: &Ctx, x: &Self::B, y: &Self::B) -> Result<Self::B>;
    /// Opens x to all parties, to compute on. One round.
    async fn open(&self, ctx: &Ctx, x: &Self::A) -> Result<Opened<Vector>>;
    /// Opens bits to all parties, to compute on. One round.
    async fn open_bits(&self, ctx: &Ctx, x: &Self::B) -> Result<Opened<Bits>>;
    /// Checks all values opened so far. If [`Sharing::CHECKED`] is false, there is nothing to check: it ends at once,
    /// sends nothing, and may be called anywhere. Otherwise nothing else may be under way, and all parties call it
    /// after the same openings.
    ///
    /// # Errors
    /// [`Error::Cheating`](crate::Error::Cheating) at every honest party if some party did not open what the protocol
    /// prescribes.
    async fn check(&self, ctx: &Ctx) -> Result<Checked>;
    /// Reveals x, a result, to all parties or to one; the others get `None`. One round. Every value opened before must
    /// have been checked. The result is to be checked before it is handed out.
    async fn reveal(
        &self,
        ctx: &Ctx,
        checked: &Checked,
        x: &Self::A,
        to: Option<usize>,
    ) -> Result<Option<Opened<Vector>>>;
    /// Reveals bits, a result, to all parties or to one; the others get `None`. One round. Every value opened before
    /// must have been checked. The result is to be checked before it is handed out.
    async fn reveal_bits(
        &self,
        ctx: &Ctx,
        checked: &Checked,
        x: &Self::B,
        to: Option<usize>,
    ) -> Result<Option<Opened<Bits>>>;

    /// Draws uniform bits as elements of Z_2^k.
    async fn random_bits(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Self::A>;
    /// Draws uniform bits as elements of Z_2^k, and as bits.
    async fn dabits(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<(Self::A, Self::B)> {
        let elements = self.random_bits(ctx, ring, len).await?;
        let bits = self.lsb(ctx, &elements).await?;
        Ok((elements, bits))
    }
    /// Draws uniform elements of Z_2^k with their bits; with `cut`, also shifted right by it (0 < cut < k).
    async fn edabits(&self, ctx: &Ctx, ring: Ring, cut: Option<u32>, len: usize) -> Result<EdaBits<Self::A, Self::B>>;
    /// Draws uniform elements of Z_2^k with their bits, and with the products of the lowest `pairs` pairs of
    /// neighbouring bits (0 < pairs <= k / 2) where the family makes them.
    async fn comparison_masks(
        &self,
        ctx: &Ctx,
        ring: Ring,
        _pairs: usize,
        len: usize,
    ) -> Result<ComparisonMasks<Self::A, Self::B>> {
        let EdaBits { value, bits, .. } = self.edabits(ctx, ring, None, len).await?;
        Ok(ComparisonMasks { value, bits, products: None })
    }
    /// Draws masks for probabilistic truncation by `shift` bits (0 < shift <= k - 2).
    async fn trunc_masks(&self, ctx: &Ctx, ring: Ring, shift: u32, len: usize) -> Result<TruncMasks<Self::A>>;
    /// Draws uniform elements r of Z_2^k, k the bits of `ring`, as elements of the larger ring `wide`, with their k
    /// bits.
    async fn wide_edabits(&self, ctx: &Ctx, ring: Ring, wide: Ring, len: usize) -> Result<EdaBits<Self::A, Self::B>>;

    /// Puts the rows of all columns into one order, which is uniformly random and unknown to every coalition that the
    /// protocol tolerates. A column has `rows` rows, each of its length / `rows` elements.
    async fn shuffle(&self, ctx: &Ctx, columns: &[&Self::A], rows: usize) -> Result<Vec<Self::A>>;
}
