//! A dealer and two sides.

use quorate_crypto::{Seed, SessionId, Tccr};
use quorate_fss::{Hash, Kernel, Keys, Roots, Shape, Side, deal};
use quorate_ring::threads::set_threads;

/// Returns the hash of a session on each kernel that this processor has, the portable one first.
pub fn hashes() -> Vec<Hash> {
    let session = Tccr::new(&SessionId::from_bytes([9; 32]));
    Kernel::available().into_iter().filter_map(|kernel| Hash::with_kernel(&session, kernel)).collect()
}

/// Returns the hash on the fastest kernel.
pub fn hash() -> Hash {
    Hash::new(&Tccr::new(&SessionId::from_bytes([9; 32])))
}

pub fn roots(side: Side, count: usize, name: u64) -> Roots {
    let seed = Seed::from_bytes([side as u8 + 1; 32]);
    Roots::draw(&mut seed.prg("quorate/fss/test", &name.to_le_bytes()), side, count)
}

/// Returns pseudorandom numbers.
pub fn numbers(count: usize, name: u64) -> Vec<u64> {
    let mut prg = Seed::from_bytes([77; 32]).prg("quorate/fss/numbers", &name.to_le_bytes());
    (0..count).map(|_| prg.next_u64()).collect()
}

/// Returns both sides' keys at these points, and the first side's leaves there.
pub fn pair(hash: &Hash, shape: Shape, points: &[u64]) -> ([Keys; 2], Vec<bool>) {
    let both = || [Side::First, Side::Second].map(|side| roots(side, points.len(), 0));
    let [first, second] = both();
    let dealt = deal(hash, shape, points, first, second);
    let keys = both().map(|roots| Keys::new(roots, dealt.corrections.clone()).unwrap());
    (keys, dealt.first_bits.to_bools())
}

/// Returns the result of a run on this many threads, which belong to the test's own thread.
pub fn on_threads<T>(threads: usize, run: impl FnOnce() -> T) -> T {
    set_threads(threads).unwrap();
    let result = run();
    set_threads(1).unwrap();
    result
}
