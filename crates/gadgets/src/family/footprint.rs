//! The memory that a party needs, as a family predicts it.

use quorate_ring::Ring;

/// The bytes of values, and of the work on them.
pub trait Footprint {
    /// Returns the number of shares of each value that a party holds.
    fn shares(&self) -> u64;

    /// Returns the factor of the working memory of gadgets: about the number of shares of a value, including those in
    /// correlations made on the way.
    fn work_shares(&self) -> u64;

    /// Returns the bytes under way while `len` numbers are looked up in a table, which is given by its entries and
    /// their bits.
    fn lookup_bytes(&self, (_entries, _bits): (usize, u32), len: u64) -> u64 {
        streamed_lookup_bytes(self.work_shares(), len)
    }

    /// Returns the bytes of one party's shares of a vector over Z_2^bits (packed bits for 1), where shares are plain
    /// vectors.
    fn value_bytes(&self, bits: u32, len: usize) -> u64 {
        let share = match bits {
            1 => len.div_ceil(8),
            _ => len * Ring::of(bits).carrier().bytes(),
        };
        share as u64 * self.shares()
    }

    /// Returns the bytes of a value that is marked as a factor of later products, which may keep what was opened of it.
    fn factor_bytes(&self, bits: u32, len: usize) -> u64 {
        self.value_bytes(bits, len)
    }

    /// Returns the bytes that a party holds for `products` products of elements, all at once and one by one: element by
    /// element, or those of matrices.
    fn products_bytes(&self, _bits: u32, _products: usize, _of_matrices: bool) -> u64 {
        0
    }
}

/// Returns the bytes under way while `len` numbers are looked up by rows of bits in a stream, with this factor
/// ([`Footprint::work_shares`]).
pub fn streamed_lookup_bytes(work_shares: u64, len: u64) -> u64 {
    /// Bytes of a window; bytes of each number (`OF_A_NUMBER`) where that is less.
    const WINDOW: u64 = 16 << 20;
    const OF_A_NUMBER: u64 = 16 << 10;
    work_shares * WINDOW.min(OF_A_NUMBER * len)
}

/// Returns the bytes under way while a stock of `stock_bytes` bytes is made in a stream.
pub fn streaming_bytes(stock_bytes: u64) -> u64 {
    /// Bytes for a large stock; bytes for each byte of the stock (`OF_A_BYTE`) where that is less.
    const STREAM: u64 = 24 << 20;
    const OF_A_BYTE: u64 = 8;
    STREAM.min(OF_A_BYTE * stock_bytes)
}
