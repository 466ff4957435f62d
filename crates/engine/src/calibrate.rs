//! Measures [`Rates`]: every kernel on real data, in as many threads as parties will run side by side; then rounds.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use quorate_crypto::Seed;
use quorate_net::memory;
use quorate_ring::meter::Kernel;
use quorate_ring::{Bits, Ring, Vector};

use crate::costs::Phase;
use crate::ctx::Ctx;
use crate::error::Result;
use crate::party::Party;
use crate::rates::{Rates, cores};

/// Elements of a vector that stays in a core's caches, and of one that does not.
const NEAR: usize = 1 << 13;
const FAR: usize = 1 << 20;
/// Seconds of one sample; a kernel gets a few, after one that warms up.
const SAMPLE_SECONDS: f64 = 0.2e-3;
const SAMPLES: usize = 5;
/// Rounds one after another, lanes side by side, and long messages side by side.
const ROUNDS: usize = 100;
const LANES: usize = 200;
const LONG_LANES: usize = 16;
/// Elements of a piece of memory that no allocator keeps, pages of it to touch, and what large new memory takes beside it: in
/// programs of a few large arrays a quarter comes from the system, in small pages, which take seven times as long as the
/// huge ones that so large a piece gets.
const HUGE: usize = 5 << 20;
const PAGES: usize = 1024;
const PAGED: f64 = 1.75;
const RING: Ring = Ring::of(64);

/// Measures everything for so many parties in threads of this process.
pub(crate) fn rates(parties: usize) -> Rates {
    let threads = parties.clamp(1, cores());
    let barrier = Barrier::new(threads);
    let measured: Vec<[f64; Kernel::COUNT]> = thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(|| kernels(&barrier))).collect();
        started.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let mut seconds =
        std::array::from_fn(|i| measured.iter().map(|each| each[i]).sum::<f64>() / measured.len().max(1) as f64);
    let (round, message, byte) = rounds(parties.max(2));
    seconds[Kernel::Message as usize] = message;
    seconds[Kernel::Wire as usize] = byte;
    Rates::new(seconds, round)
}

/// Seconds that one call takes: the median of a few samples of many calls.
fn time(barrier: &Barrier, mut run: impl FnMut()) -> f64 {
    barrier.wait();
    let started = Instant::now();
    run();
    let first = started.elapsed().as_secs_f64().max(1e-9);
    let calls = ((SAMPLE_SECONDS / first) as usize).clamp(1, 10_000);
    let sample = |_| {
        let started = Instant::now();
        (0..calls).for_each(|_| run());
        started.elapsed().as_secs_f64() / calls as f64
    };
    let mut samples: Vec<f64> = (0..SAMPLES).map(sample).collect();
    samples.sort_by(f64::total_cmp);
    samples[SAMPLES / 2].max(1e-12)
}

/// A vector whose values matter to no kernel.
fn vector(bits: u32, len: usize) -> Vector {
    let mut vector = Vector::zeros(Ring::of(bits), len);
    vector.bytes_mut().iter_mut().enumerate().for_each(|(i, byte)| *byte = (i * 167 + 89) as u8);
    vector.reduce();
    vector
}

/// Seconds per unit of every kernel but messages.
fn kernels(barrier: &Barrier) -> [f64; Kernel::COUNT] {
    let mut rates = [0.0; Kernel::COUNT];
    let mut set = |kernel: Kernel, seconds: f64, units: usize| rates[kernel as usize] = seconds / units as f64;
    memory_kernels(barrier, &mut set);
    matrix_kernels(barrier, &mut set);
    bit_kernels(barrier, &mut set);
    generator_kernels(barrier, &mut set);
    rates
}

type Set<'a> = &'a mut dyn FnMut(Kernel, f64, usize);

/// Loops over little and much memory, memory itself, and products, which are what they take beyond their loop.
fn memory_kernels(barrier: &Barrier, set: Set<'_>) {
    let (mut x, y) = (vector(64, NEAR), vector(64, NEAR));
    let near = time(barrier, || x.add_assign(black_box(&y)));
    set(Kernel::Stream, near, 24 * NEAR);
    let product = time(barrier, || x.mul_assign(black_box(&y)));
    set(Kernel::Multiply, (product - near).max(0.1 * product), NEAR);
    let (mut wide, other) = (vector(128, NEAR / 2), vector(128, NEAR / 2));
    let product = time(barrier, || wide.mul_assign(black_box(&other)));
    set(Kernel::MultiplyWide, (product - near).max(0.1 * product), NEAR / 2);
    let (mut x, y) = (vector(64, FAR), vector(64, FAR));
    set(Kernel::StreamFar, time(barrier, || x.add_assign(black_box(&y))), 24 * FAR);
    set(Kernel::Fresh, time(barrier, || drop(black_box(Vector::zeros(RING, NEAR)))), 8 * NEAR);
    // So large that every allocator asks the system for it, and gives it back.
    let pages = || {
        let mut huge = Vector::zeros(RING, HUGE);
        huge.bytes_of_mut(0..PAGES * 512).iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        drop(black_box(huge));
    };
    set(Kernel::FreshFar, PAGED * time(barrier, pages), PAGES * 4096);
}

fn matrix_kernels(barrier: &Barrier, set: Set<'_>) {
    for (kernel, bits, side) in
        [(Kernel::MatrixNarrow, 32, 128), (Kernel::Matrix, 64, 96), (Kernel::MatrixWide, 128, 48)]
    {
        let a = vector(bits, side * side);
        let product = || drop(black_box(Vector::matmul(black_box(&a), &a, (side, side, side))));
        set(kernel, time(barrier, product), side * side * side);
    }
    for (kernel, bits, steps) in [(Kernel::Root, 60, 6), (Kernel::RootWide, 66, 6)] {
        let mut squares = vector(bits, NEAR / 8);
        squares.shl(3);
        squares.add_scalar(1);
        set(kernel, time(barrier, || drop(black_box(squares.odd_square_roots()))), steps * NEAR / 8);
    }
}

fn bit_kernels(barrier: &Barrier, set: Set<'_>) {
    let x = vector(64, NEAR);
    set(Kernel::Transpose, time(barrier, || drop(black_box(x.to_bits(0..64)))), 104 * NEAR);
    let x = vector(60, NEAR);
    let mut packed = Vec::new();
    let there_and_back = || {
        packed.clear();
        x.pack(&mut packed);
        drop(black_box(Vector::unpack(x.ring(), NEAR, &packed)));
    };
    set(Kernel::Pack, time(barrier, there_and_back), 2 * NEAR);
    let places: Vec<u32> = (0..NEAR as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 16).collect();
    let many = vector(64, 1 << 16);
    set(Kernel::Gather, time(barrier, || drop(black_box(many.gather(black_box(&places))))), NEAR);
    let bits = Bits::zeros(1, 1 << 16);
    set(Kernel::GatherBits, time(barrier, || drop(black_box(bits.gather_lanes(black_box(&places))))), NEAR);
}

fn generator_kernels(barrier: &Barrier, set: Set<'_>) {
    let seed = Seed::from_bytes([7; 32]);
    let mut block = [0; 16];
    let start = || seed.prg("quorate/engine/calibration", b"start").fill(black_box(&mut block));
    set(Kernel::Generator, time(barrier, start), 1);
    let mut prg = seed.prg("quorate/engine/calibration", b"draw");
    let mut bytes = vec![0; 8 * NEAR];
    set(Kernel::Draw, time(barrier, || prg.fill(black_box(&mut bytes))), 8 * NEAR);
}

/// Seconds of a round among so many parties; a party's own seconds for a message sent or received beside others, and for
/// a byte of it.
fn rounds(parties: usize) -> (f64, f64, f64) {
    let ends = memory::mesh(parties);
    let spent: Vec<[f64; 3]> = thread::scope(|scope| {
        let started: Vec<_> = ends
            .into_iter()
            .map(|end| scope.spawn(move || party_rounds(Party::new(Box::new(end))).unwrap_or_default()))
            .collect();
        started.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let chain = spent.iter().map(|each| each[0]).fold(1e-6, f64::max) / ROUNDS as f64;
    // Each lane sends one message and receives one.
    let busy = |of: usize| spent.iter().map(|each| each[of]).sum::<f64>().max(1e-6) / spent.len().max(1) as f64;
    (chain, busy(1) / (2 * LANES) as f64, busy(2) / (2 * LONG_LANES * 8 * NEAR) as f64)
}

/// Seconds for which this thread had a core, where the system tells; otherwise those of the clock since `started`.
fn own_seconds(started: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    nanoseconds.map_or(started.elapsed().as_secs_f64(), |n| n * 1e-9)
}

/// Seconds for rounds one after another; a thread's own for short messages side by side, and for long ones.
fn party_rounds(mut party: Party) -> Result<[f64; 3]> {
    let mut run = party.begin_alone()?;
    let (short, long) = (Vector::zeros(RING, 1), Vector::zeros(RING, NEAR));
    let mut spent = [0.0; 3];
    let chain = async |ctx: &Ctx| {
        for _ in 0..ROUNDS {
            pass_on(ctx, &short).await?;
        }
        Ok(())
    };
    let started = Instant::now();
    run.phase(Phase::Online, chain)?;
    spent[0] = started.elapsed().as_secs_f64();
    for (seconds, (vector, lanes)) in spent[1..].iter_mut().zip([(&short, LANES), (&long, LONG_LANES)]) {
        let all = async |ctx: &Ctx| ctx.join_all(lanes, async |ctx: Ctx, _| pass_on(&ctx, vector).await).await;
        run.phase(Phase::Online, all)?; // warms up
        let before = own_seconds(started);
        for _ in 0..SAMPLES {
            run.phase(Phase::Online, all)?;
        }
        *seconds = (own_seconds(started) - before) / SAMPLES as f64;
    }
    run.finish();
    Ok(spent)
}

/// One round around the circle.
async fn pass_on(ctx: &Ctx, x: &Vector) -> Result<()> {
    ctx.exchange(&[(ctx.next(1), x)], &[(ctx.previous(1), (RING, x.len()))]).await?;
    Ok(())
}
