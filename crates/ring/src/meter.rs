//! The predicted costs of operations on shapes: a thread's tally of work, in units of the kernels that would have done
//! it.
//!
//! An operation on a shape charges the work that it would be on data. An operation on data charges nothing, and loses
//! no time by metering. So a program's own code, run on shapes, counts its work. Other code measures the time of a
//! unit.

use std::cell::Cell;
use std::ops::{AddAssign, Sub};

use crate::{Carrier, memory};

/// A kernel: a type of local work, with the unit in which it is counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(usize)]
pub enum Kernel {
    /// Bytes read or written by simple loops over little memory; an element fetched from a position counts as several.
    Stream,
    /// Bytes read or written by simple loops over more memory than a core's caches hold.
    StreamFar,
    /// Bytes of new memory in small pieces.
    Fresh,
    /// Bytes of new memory in large pieces, some of whose pages the system has to give first.
    FreshFar,
    /// Pieces of new memory, small or large.
    Piece,
    /// Products of words of at most 64 bits.
    Multiply,
    /// Products of words of 128 bits; a product of longer words counts as several, and so does a step of a square root.
    MultiplyWide,
    /// Multiply-adds of a product of matrices over words of 64 bits; several over shorter words count as one.
    Matrix,
    /// Multiply-adds of a product of matrices over words of 128 bits.
    MatrixWide,
    /// Steps of turning words into rows of bits or back.
    Transpose,
    /// Elements packed or unpacked that do not fill their carrier.
    Pack,
    /// Bytes drawn from generators; charged by the draw.
    Draw,
    /// Generators set up; charged by the setup.
    Generator,
    /// Messages sent or received; charged by the exchange.
    Message,
    /// Bytes of messages.
    Wire,
    /// Sixteen garbled ANDs; charged by the garbler.
    Garble,
    /// Sixteen evaluated ANDs; charged by the evaluator.
    Evaluate,
}

impl Kernel {
    /// The number of kernels.
    pub const COUNT: usize = Kernel::Evaluate as usize + 1;

    /// All kernels, in their order.
    pub const ALL: [Kernel; Kernel::COUNT] = [
        Kernel::Stream,
        Kernel::StreamFar,
        Kernel::Fresh,
        Kernel::FreshFar,
        Kernel::Piece,
        Kernel::Multiply,
        Kernel::MultiplyWide,
        Kernel::Matrix,
        Kernel::MatrixWide,
        Kernel::Transpose,
        Kernel::Pack,
        Kernel::Draw,
        Kernel::Generator,
        Kernel::Message,
        Kernel::Wire,
        Kernel::Garble,
        Kernel::Evaluate,
    ];
}

/// Amounts of work, by kernel: of all work, and of the part that several threads share ([`shared`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    all: [u64; Kernel::COUNT],
    shared: [u64; Kernel::COUNT],
}

impl Effort {
    /// Returns the units of one kernel.
    pub fn of(&self, kernel: Kernel) -> u64 {
        self.all[kernel as usize]
    }

    /// Returns the units of one kernel that several threads share, where there are several.
    pub fn shared(&self, kernel: Kernel) -> u64 {
        self.shared[kernel as usize]
    }

    /// Returns this work `times` times.
    pub fn times(&self, times: usize) -> Effort {
        let times = |units: u64| units.saturating_mul(times as u64);
        Effort { all: self.all.map(times), shared: self.shared.map(times) }
    }
}

impl AddAssign for Effort {
    fn add_assign(&mut self, other: Effort) {
        let Effort { all, shared } = self;
        let sums = all.iter_mut().chain(shared).zip(other.all.into_iter().chain(other.shared));
        sums.for_each(|(sum, more)| *sum = sum.saturating_add(more));
    }
}

impl Sub for Effort {
    type Output = Effort;

    fn sub(self, earlier: Effort) -> Effort {
        Effort {
            all: std::array::from_fn(|i| self.all[i].wrapping_sub(earlier.all[i])),
            shared: std::array::from_fn(|i| self.shared[i].wrapping_sub(earlier.shared[i])),
        }
    }
}

/// A thread's charges, and whether several threads would share the present work.
struct Tally {
    all: [Cell<u64>; Kernel::COUNT],
    shared: [Cell<u64>; Kernel::COUNT],
    shares: Cell<bool>,
}

impl Tally {
    fn charge(&self, kernel: Kernel, amount: u64, shared: u64) {
        let add = |sum: &Cell<u64>, more: u64| sum.set(sum.get().wrapping_add(more));
        add(&self.all[kernel as usize], amount);
        add(&self.shared[kernel as usize], if self.shares.get() { amount } else { shared });
    }

    fn read(&self) -> Effort {
        let read = |sums: &[Cell<u64>; Kernel::COUNT]| std::array::from_fn(|i| sums[i].get());
        Effort { all: read(&self.all), shared: read(&self.shared) }
    }

    fn set(&self, effort: &Effort) {
        let sums = self.all.iter().chain(&self.shared);
        sums.zip(effort.all.iter().chain(&effort.shared)).for_each(|(sum, units)| sum.set(*units));
    }
}

thread_local! {
    static TALLY: Tally = const {
        Tally {
            all: [const { Cell::new(0) }; Kernel::COUNT],
            shared: [const { Cell::new(0) }; Kernel::COUNT],
            shares: Cell::new(false),
        }
    };
}

/// Charges this thread's tally.
pub fn charge(kernel: Kernel, amount: usize) {
    TALLY.with(|tally| tally.charge(kernel, amount as u64, 0));
}

/// Sets back, when dropped, whether the present work is shared.
struct Shares(bool);

impl Drop for Shares {
    fn drop(&mut self) {
        TALLY.with(|tally| tally.shares.set(self.0));
    }
}

/// Does work that a party's threads share in a real run: what it charges counts as shared, too.
pub fn shared<T>(work: impl FnOnce() -> T) -> T {
    let _before = Shares(TALLY.with(|tally| tally.shares.replace(true)));
    work()
}

/// Returns the charges of `work` instead of charging them, for a later charge.
pub fn deferred(work: impl FnOnce()) -> Effort {
    let before = charged();
    work();
    let deferred = charged() - before;
    TALLY.with(|tally| tally.set(&before));
    deferred
}

/// Charges deferred work.
pub fn charge_all(deferred: &Effort) {
    TALLY.with(|tally| {
        Kernel::ALL.iter().for_each(|&kernel| tally.charge(kernel, deferred.of(kernel), deferred.shared(kernel)));
    });
}

/// Returns the charges of this thread so far: take it before and after a piece of work, and subtract.
pub fn charged() -> Effort {
    TALLY.with(Tally::read)
}

/// Memory beyond which a loop is bound by it: about a core's own caches.
const NEAR_BYTES: usize = 1 << 20;

/// Charges a loop that reads and writes `bytes` bytes in total.
pub fn stream(bytes: usize) {
    stream_within(bytes, bytes);
}

/// Charges a loop over `bytes` bytes of values that take `whole` bytes together.
pub fn stream_within(bytes: usize, whole: usize) {
    charge(if whole <= NEAR_BYTES { Kernel::Stream } else { Kernel::StreamFar }, bytes);
}

/// The factor for far memory in loops that only read: they have one stream instead of three, so a byte takes this many
/// times as long.
const READ_BYTES: usize = 2;

/// Charges a loop that reads `bytes` bytes of values that take `whole` bytes together, and writes few.
pub fn read_within(bytes: usize, whole: usize) {
    let each = if whole <= NEAR_BYTES { 1 } else { READ_BYTES };
    stream_within(bytes.saturating_mul(each), whole);
}

/// The number of bytes in a loop that take as long as an element or a bit fetched from a public position.
pub(crate) const FETCHED_BYTES: usize = 28;

/// Charges `count` elements or bits that are fetched from public positions, or put there.
pub fn fetched(count: usize) {
    charge(Kernel::Stream, count.saturating_mul(FETCHED_BYTES));
}

/// Charges a piece of new memory: cleared, and where it is large, perhaps fetched from the system page by page.
pub fn fresh(bytes: usize) {
    fresh_within(bytes, bytes);
}

/// Charges a piece of `bytes` bytes among `whole` bytes that are in use together.
pub fn fresh_within(bytes: usize, whole: usize) {
    charge(Kernel::Piece, 1);
    if whole <= NEAR_BYTES {
        return charge(Kernel::Fresh, bytes);
    }
    // Freed smaller pieces are kept, and cleared for the next use; the system clears larger ones when they are written.
    charge(if bytes < memory::LARGE_BYTES { Kernel::StreamFar } else { Kernel::FreshFar }, bytes);
}

/// The number of bytes in a loop over far memory that take as long as an element or a bit fetched from there. Each
/// fetch loads a cache line, and the page tables for it.
const FETCHED_FAR_BYTES: usize = 256;

/// Charges `count` elements or bits that are fetched from public positions among `whole` bytes, or put there.
pub fn fetched_within(count: usize, whole: usize) {
    match whole <= NEAR_BYTES {
        true => fetched(count),
        false => charge(Kernel::StreamFar, count.saturating_mul(FETCHED_FAR_BYTES)),
    }
}

/// Returns the charge of a product of elements: one of 192 or 256 bits takes as long as two or four of 128.
pub(crate) fn product(carrier: Carrier) -> (Kernel, usize) {
    match carrier {
        Carrier::U128 => (Kernel::MultiplyWide, 1),
        Carrier::U192 => (Kernel::MultiplyWide, 2),
        Carrier::U256 => (Kernel::MultiplyWide, 4),
        _ => (Kernel::Multiply, 1),
    }
}

/// Charges a transposition between elements and `rows` rows of bits: loading an element counts as much as 40 rows.
pub(crate) fn transpose(elements: usize, rows: usize) {
    let blocks = rows.div_ceil(64);
    charge(Kernel::Transpose, elements.saturating_mul(40 * blocks + rows));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bits, Module, Ring, Vector};

    fn work(run: impl FnOnce()) -> Effort {
        let before = charged();
        run();
        charged() - before
    }

    #[test]
    fn kinds_are_in_order() {
        for (i, kernel) in Kernel::ALL.into_iter().enumerate() {
            assert_eq!(kernel as usize, i);
        }
    }

    #[test]
    fn data_charge_nothing_and_shapes_all() {
        let run = |ring: Ring, fresh: &dyn Fn(usize) -> Vector| {
            let (mut x, y) = (fresh(640), fresh(640));
            x.add_assign(&y);
            x.mul_assign(&y);
            x.add_mul_assign(&y, &y);
            x.reduce();
            x.shr_logical(3);
            let _ = Vector::matmul(&y, &y, (20, 32, 20));
            let _ = x.sum_axis(10, 64, 1);
            let bits = x.to_bits(0..ring.bits());
            let mut other = bits.clone();
            other.add_and_assign(&bits, &bits);
            let _ = other.gather_lanes(&[0, 5]).to_vector(ring);
            let _ = Vector::concat(&[&x.gather(&[1, 2]), &x.slice(0..7)]).convert(Ring::of(100));
            let _ = x.odd_square_roots();
            x.pack(&mut Vec::new());
            x.wipe();
        };
        for bits in [8, 20, 40, 60, 66] {
            let ring = Ring::of(bits);
            assert_eq!(work(|| run(ring, &|len| Vector::zeros(ring, len))), Effort::default(), "{bits} bits");
            let priced = work(|| run(ring, &|len| Vector::shape(ring, len)));
            let missing = Kernel::ALL[..Kernel::Draw as usize].iter().filter(|&&k| priced.of(k) == 0).count();
            // The lengths are near or far, narrow or wide, and over words that are not full.
            assert!(missing <= 4, "{bits} bits: {priced:?}");
        }
    }

    #[test]
    fn deferred_work_is_charged_later_and_once() {
        let ring = Ring::of(64);
        let add = || drop(Vector::shape(ring, 100).clone());
        let mut deferred = Effort::default();
        assert_eq!(work(|| deferred = super::deferred(add)), Effort::default());
        assert_eq!(deferred, work(add));
        assert_eq!(work(|| charge_all(&deferred)), deferred);
    }

    #[test]
    fn shared_work_is_part_of_all() {
        let of = |run: &dyn Fn()| {
            let work = work(run);
            [work.of(Kernel::Draw), work.shared(Kernel::Draw)]
        };
        let three = || charge(Kernel::Draw, 3);
        assert_eq!(of(&three), [3, 0]);
        assert_eq!(of(&|| shared(three)), [3, 3]);
        let both = || {
            shared(|| shared(three));
            three();
        };
        assert_eq!(of(&both), [6, 3], "what follows is not shared");
        let some = deferred(both);
        assert_eq!(of(&|| charge_all(&some)), [6, 3]);
        assert_eq!(of(&|| charge_all(&some.times(2))), [12, 6]);
        assert_eq!(of(&|| shared(|| charge_all(&some))), [6, 6]);
        let mut sum = some;
        sum += some;
        assert_eq!(sum - some, some);
    }

    #[test]
    fn amounts_are_those_of_the_loops() {
        let ring = Ring::of(64);
        let (mut x, y) = (Vector::shape(ring, 100), Vector::shape(ring, 100));
        assert_eq!(work(|| x.add_assign(&y)).of(Kernel::Stream), 2400);
        assert_eq!(work(|| x.mul_assign(&y)).of(Kernel::Multiply), 100);
        assert_eq!(work(|| drop(x.clone())).of(Kernel::Fresh), 800);
        assert_eq!(work(|| drop(Vector::shape(ring, 1 << 20))).of(Kernel::FreshFar), 8 << 20);
        let (a, b) = (Vector::shape(ring, 64 * 64), Vector::shape(ring, 64 * 64));
        assert_eq!(work(|| drop(Vector::matmul(&a, &b, (64, 64, 64)))).of(Kernel::Matrix), 64 * 64 * 64);
        let few = Vector::shape(ring, 64);
        let thin = [
            work(|| drop(Vector::matmul(&few, &b, (1, 64, 64)))),
            work(|| drop(Vector::matmul(&a, &few, (64, 64, 1)))),
        ];
        assert_eq!(thin.map(|thin| thin.of(Kernel::Multiply)), [64 * 64; 2]);
        assert_eq!(thin.map(|thin| thin.of(Kernel::Stream)), [8 * 64 * 64, 8 * (64 * 64 + 2 * 64)]);
        assert_eq!(work(|| read_within(100, 1 << 30)).of(Kernel::StreamFar), 200);
        let mut bits = Bits::phantom((3, 100));
        let other = bits.clone();
        assert_eq!(work(|| bits.xor_assign(&other)).of(Kernel::Stream), 3 * 3 * 16);
        assert_eq!(work(|| drop(x.to_bits(0..64))).of(Kernel::Transpose), 100 * 104);
    }

    #[test]
    fn work_without_a_kernel_is_charged_as_another() {
        let shape = |bits, len| Vector::shape(Ring::of(bits), len);
        let (a, b) = (shape(32, 64 * 64), shape(32, 64 * 64));
        let product = || drop(Vector::matmul(&a, &b, (64, 64, 64)));
        assert_eq!(work(product).of(Kernel::Matrix), (64u64 * 64 * 64).div_ceil(3));
        for (bits, steps, step) in [(64, 6, 4), (66, 6, 10), (130, 7, 20), (256, 8, 40)] {
            let x = shape(bits, 100);
            assert_eq!(work(|| drop(x.odd_square_roots())).of(Kernel::MultiplyWide), 100 * steps * step, "{bits} bits");
        }
        let (x, bits) = (shape(64, 100), Bits::phantom((3, 100)));
        assert_eq!(work(|| drop(x.gather(&[7; 10]))).of(Kernel::Stream), 10 * 28);
        assert_eq!(work(|| drop(bits.gather_lanes(&[7; 10]))).of(Kernel::Stream), 3 * 10 * 28);
        assert_eq!(work(|| drop(bits.rows_to_lanes())).of(Kernel::Stream), 3 * 100 * 28);
    }
}
