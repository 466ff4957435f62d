//! Checks that memory freed by a session contains no owner's input. The test is alone in its process, whose allocator
//! searches all freed memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use quorate_graph::{BinaryOp, Dtype, NodeId, Source};
use quorate_session::{Data, LocalOptions, Options, Protocol, Session};

const INPUTS: usize = 128;
/// The upper bits that mark inputs; no other number has them.
const MARK: u64 = 0x1ec7_5a3c;

/// The inputs, by their last bits, and which of them were found.
static LOOKED_FOR: [AtomicU64; INPUTS] = [const { AtomicU64::new(0) }; INPUTS];
static FOUND: [AtomicBool; INPUTS] = [const { AtomicBool::new(false) }; INPUTS];
static FREED_BYTES: AtomicU64 = AtomicU64::new(0);
static LOOKS: AtomicBool = AtomicBool::new(false);

struct Looking;

// SAFETY: what is allocated and freed is what the system's allocator gives and takes.
unsafe impl GlobalAlloc for Looking {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Zeros: what this process freed before is not found again where it was not written.
        // SAFETY: the caller's layout is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        if LOOKS.load(Relaxed) {
            let skipped = ptr.align_offset(8);
            let words = layout.size().saturating_sub(skipped) / 8;
            // SAFETY: the caller owns the block and frees it; it was zeroed on allocation, and is that long.
            look(unsafe { std::slice::from_raw_parts(ptr.wrapping_add(skipped).cast(), words) });
        }
        // SAFETY: the block came from this allocator with this layout.
        unsafe { System.dealloc(ptr, layout) }
    }
}

fn look(words: &[u64]) {
    FREED_BYTES.fetch_add(8 * words.len() as u64, Relaxed);
    for &word in words.iter().filter(|&&word| word >> 32 == MARK) {
        let place = word as usize % INPUTS;
        if LOOKED_FOR[place].load(Relaxed) == word {
            FOUND[place].store(true, Relaxed);
        }
    }
}

#[global_allocator]
static ALLOCATOR: Looking = Looking;

/// Builds an input of a party; its numbers are searched for only if it is the first.
fn input(session: &mut Session, owner: usize, is_first: bool) -> NodeId {
    let parties = session.parties();
    let values = |i: usize| match is_first {
        true => LOOKED_FOR[i].load(Relaxed) as i64,
        false => (i as i64 + 1) << 20,
    };
    let here = Source::new("freed.rs", 1);
    let id = session.build(here, |mut b| b.input(owner, parties, &[INPUTS], Dtype::INT64, None)).unwrap();
    session.provide(id, owner, &Data::Ints((0..INPUTS).map(values).collect())).unwrap();
    id
}

/// Counts how many of an owner's inputs are found in memory freed by a session that multiplies and compares them.
fn found_of((protocol, is_malicious): (Protocol, bool), owner: usize) -> usize {
    for (i, (word, found)) in LOOKED_FOR.iter().zip(&FOUND).enumerate() {
        let middle = (i as u64).wrapping_mul(0x9e37_79b9) & 0x7f_ffff;
        word.store(MARK << 32 | middle << 9 | i as u64, Relaxed);
        found.store(false, Relaxed);
    }
    let parties = if matches!(protocol, Protocol::Rss | Protocol::Pika) { 3 } else { 2 };
    let family = is_malicious.then(|| ("malicious".to_owned(), "yes".to_owned())).into_iter().collect();
    let options = Options { family, ..Options::default() };
    let options = LocalOptions { protocol, parties, network: None, insecure_seed: None, check: false, options };
    let mut session = Session::local(options).unwrap();
    LOOKS.store(true, Relaxed);
    let (x, y) = (input(&mut session, owner, true), input(&mut session, 1 - owner, false));
    let here = || Source::new("freed.rs", 2);
    let z = session.build(here(), |mut b| b.binary(BinaryOp::Mul, x, y)).unwrap();
    let less = session.build(here(), |mut b| b.binary(BinaryOp::Lt, x, y)).unwrap();
    let values = session.run(&[(z, None), (less, None)]).unwrap().finish().unwrap();
    assert_eq!(values.len(), 2);
    session.close(false);
    LOOKS.store(false, Relaxed);
    FOUND.iter().filter(|found| found.load(Relaxed)).count()
}

#[test]
fn no_input_is_found_in_what_is_freed() {
    // The search finds numbers that are not wiped.
    for (i, word) in LOOKED_FOR.iter().enumerate() {
        word.store(MARK << 32 | i as u64, Relaxed);
    }
    LOOKS.store(true, Relaxed);
    drop((0..INPUTS as u64).map(|i| MARK << 32 | i).collect::<Vec<u64>>());
    LOOKS.store(false, Relaxed);
    assert!(FOUND.iter().all(|found| found.load(Relaxed)));
    let mut found = vec![];
    for protocol in Protocol::ALL.iter().map(|&protocol| (protocol, false)).chain([(Protocol::Pika, true)]) {
        for owner in 0..2 {
            let before = FREED_BYTES.load(Relaxed);
            let inputs = found_of(protocol, owner);
            assert!(FREED_BYTES.load(Relaxed) - before > 100_000, "{protocol:?}: little was looked at");
            found.push((protocol, owner, inputs));
        }
    }
    assert!(found.iter().all(|(_, _, inputs)| *inputs == 0), "inputs found in freed memory: {found:?}");
}
