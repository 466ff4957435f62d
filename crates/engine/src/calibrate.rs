//! The measurement of [`Rates`]: every kernel on real data, in as many threads as parties will run side by side; then
//! rounds.

use std::collections::VecDeque;
use std::hint::black_box;
use std::thread;
use std::time::Instant;

use quorate_crypto::{RUN, Seed, SessionId, TABLES_BYTES, Tccr};
use quorate_net::memory;
use quorate_ring::meter::Kernel;
use quorate_ring::{Ring, Vector};

use crate::clock::own_seconds;
use crate::costs::Phase;
use crate::ctx::Ctx;
use crate::error::Result;
use crate::lockstep::{Lockstep, Member};
use crate::party::{Party, Run};
use crate::rates::{Rates, cores};

/// `NEAR`: elements of a vector that stays in a core's caches. `FAR`: elements of each of `FAR_HELD` vectors that
/// together fit no cache.
const NEAR: usize = 1 << 13;
const FAR: usize = 1 << 20;
const FAR_HELD: usize = 4;
/// `SOME`: elements of a typical vector of a program, of which many are used in turn. `FEW`: elements of a vector that
/// costs little more than its allocation.
const SOME: usize = 1 << 12;
const FEW: usize = 8;
/// Bytes of the vectors that a party uses in turn.
const HELD: usize = 4 << 20;
/// Seconds of one sample. A kernel gets `SAMPLES` samples, after one that warms up.
const SAMPLE_SECONDS: f64 = 0.2e-3;
const SAMPLES: usize = 5;
/// The numbers of successive rounds (`ROUNDS`), of lanes side by side (`LANES`), and of long messages side by side.
const ROUNDS: usize = 100;
const LANES: usize = 200;
const LONG_LANES: usize = 16;
/// Elements of a large piece of memory, and the number of such pieces that exist at a time. The size is that of a
/// program's pieces: pieces have smaller pages at their ends, so smaller pieces have a larger share of these.
const HUGE: usize = 2 << 20;
const HUGE_HELD: usize = 4;
/// Runs of gates whose tables make up a message.
const GARBLED_RUNS: usize = 512;
const RING: Ring = Ring::of(64);

/// Measures all rates for `parties` parties in threads of this process. Returns also whether any thread had the memory
/// to measure.
pub(crate) fn rates(parties: usize) -> (Rates, bool) {
    let threads = parties.clamp(1, cores());
    let lockstep = Lockstep::new(threads);
    let members: Vec<_> = (0..threads).map(|_| lockstep.member()).collect();
    // Parties that share a core share its caches.
    let held = HELD * parties.div_ceil(threads);
    let measured: Vec<[f64; Kernel::COUNT]> = thread::scope(|scope| {
        // A thread that lacks memory, at its start or later, measures nothing, and the others continue.
        let start = |member| thread::Builder::new().spawn_scoped(scope, move || kernels(&member, held)).ok();
        let started: Vec<_> = members.into_iter().filter_map(start).collect();
        started.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let mut seconds =
        std::array::from_fn(|i| measured.iter().map(|each| each[i]).sum::<f64>() / measured.len().max(1) as f64);
    let rounds = rounds(parties.max(2));
    seconds[Kernel::Message as usize] = rounds.message;
    seconds[Kernel::Wire as usize] = rounds.byte;
    // A party's own work in a round is priced as work.
    let work = Rates::shared(&vec![rounds.wake + 2.0 * rounds.message; parties.max(2)]);
    (Rates::new(seconds, (rounds.wall - work).max(0.1 * rounds.wall), rounds.wake), !measured.is_empty())
}

/// Measures a thread's own seconds for one call: the median of a few samples of many calls.
fn time(others: &Member<'_>, mut run: impl FnMut()) -> f64 {
    others.wait();
    let started = own_seconds();
    run();
    let first = (own_seconds() - started).max(1e-9);
    let calls = ((SAMPLE_SECONDS / first) as usize).clamp(1, 10_000);
    let sample = |_| {
        let started = own_seconds();
        (0..calls).for_each(|_| run());
        (own_seconds() - started) / calls as f64
    };
    let mut samples: Vec<f64> = (0..SAMPLES).map(sample).collect();
    samples.sort_by(f64::total_cmp);
    samples[SAMPLES / 2].max(1e-12)
}

/// Returns a vector for kernels whose time does not depend on its values.
fn vector(bits: u32, len: usize) -> Vector {
    let mut vector = Vector::zeros(Ring::of(bits), len);
    let pattern: [u8; 256] = std::array::from_fn(|i| (i * 167 + 89) as u8);
    vector.bytes_mut().chunks_mut(256).for_each(|bytes| bytes.copy_from_slice(&pattern[..bytes.len()]));
    vector.reduce();
    vector
}

/// Measures the seconds per unit of every kernel but messages.
fn kernels(others: &Member<'_>, held: usize) -> [f64; Kernel::COUNT] {
    let mut rates = [0.0; Kernel::COUNT];
    let mut set = |kernel: Kernel, seconds: f64, units: usize| rates[kernel as usize] = seconds / units as f64;
    memory_kernels(others, held, &mut set);
    matrix_kernels(others, &mut set);
    bit_kernels(others, &mut set);
    generator_kernels(others, &mut set);
    garbling_kernels(others, &mut set);
    rates
}

type Set<'a> = &'a mut dyn FnMut(Kernel, f64, usize);

/// Measures loops over little and much memory, allocation, and products (their time beyond that of their loop).
fn memory_kernels(others: &Member<'_>, held: usize, set: Set<'_>) {
    let (mut x, y) = (vector(64, NEAR), vector(64, NEAR));
    let near = time(others, || x.add_assign(black_box(&y)));
    set(Kernel::Stream, time(others, in_turns(SOME, held / (8 * SOME))), 24 * SOME);
    let product = time(others, || x.mul_assign(black_box(&y)));
    set(Kernel::Multiply, (product - near).max(0.1 * product), NEAR);
    let (mut wide, other) = (vector(128, NEAR / 2), vector(128, NEAR / 2));
    let product = time(others, || wide.mul_assign(black_box(&other)));
    set(Kernel::MultiplyWide, (product - near).max(0.1 * product), NEAR / 2);
    set(Kernel::StreamFar, time(others, in_turns(FAR, FAR_HELD)), 24 * FAR);
    let piece = time(others, anew(held / (8 * FEW), FEW));
    set(Kernel::Piece, piece, 1);
    let fresh = time(others, anew(held / (8 * SOME), SOME));
    set(Kernel::Fresh, (fresh - piece).max(0.1 * fresh), 8 * SOME);
    // Memory that the allocator gets from the system and gives back; all pages are written.
    set(Kernel::FreshFar, time(others, anew(HUGE_HELD, HUGE)), 8 * HUGE);
}

/// Returns a function that adds one pair of `count` vectors of `len` elements at each call, in turn.
fn in_turns(len: usize, count: usize) -> impl FnMut() {
    let mut all: Vec<Vector> = (0..count).map(|_| vector(64, len)).collect();
    let mut i = 0;
    move || {
        let sum = (i + 1) % all.len();
        if let Ok([sum, term]) = all.get_disjoint_mut([sum, i]) {
            sum.add_assign(black_box(term));
        }
        i = sum;
    }
}

/// Returns a function that makes a new vector of `len` elements at each call, in place of the oldest of `held`.
fn anew(held: usize, len: usize) -> impl FnMut() {
    let mut all: VecDeque<Vector> = (0..held).map(|_| vector(64, len)).collect();
    move || {
        all.pop_front();
        all.push_back(black_box(Vector::zeros(RING, len)));
    }
}

fn matrix_kernels(others: &Member<'_>, set: Set<'_>) {
    for (kernel, bits, side) in [(Kernel::Matrix, 64, 96), (Kernel::MatrixWide, 128, 48)] {
        let a = vector(bits, side * side);
        let product = || drop(black_box(Vector::matmul(black_box(&a), &a, (side, side, side))));
        set(kernel, time(others, product), side * side * side);
    }
}

fn bit_kernels(others: &Member<'_>, set: Set<'_>) {
    let x = vector(64, NEAR);
    set(Kernel::Transpose, time(others, || drop(black_box(x.to_bits(0..64)))), 104 * NEAR);
    let x = vector(60, NEAR);
    let mut packed = Vec::new();
    let there_and_back = || {
        packed.clear();
        x.pack(&mut packed);
        drop(black_box(Vector::unpack(x.ring(), NEAR, &packed)));
    };
    set(Kernel::Pack, time(others, there_and_back), 2 * NEAR);
}

fn generator_kernels(others: &Member<'_>, set: Set<'_>) {
    let seed = Seed::from_bytes([7; 32]);
    let mut block = [0; 16];
    let start = || seed.prg("quorate/engine/calibration", b"start").fill(black_box(&mut block));
    set(Kernel::Generator, time(others, start), 1);
    let mut prg = seed.prg("quorate/engine/calibration", b"draw");
    let mut bytes = vec![0; 8 * NEAR];
    set(Kernel::Draw, time(others, || prg.fill(black_box(&mut bytes))), 8 * NEAR);
}

/// Measures runs of gates as in a garbled circuit: labels stay in caches, tables are written out.
fn garbling_kernels(others: &Member<'_>, set: Set<'_>) {
    let hash = Tccr::new(&SessionId::from_bytes([7; 32]));
    let (mut labels, mut tables) = (vec![[7; RUN]; GARBLED_RUNS + 2], vec![[0; TABLES_BYTES]; GARBLED_RUNS]);
    let tweaks = |run: usize| [0, RUN as u128].map(|tweak| (2 * RUN * run) as u128 + tweak);
    let garble = || {
        for (run, tables) in tables.iter_mut().enumerate() {
            let mut out = [0; RUN];
            hash.garble_ands([&labels[run], &labels[run + 1]], 1, tweaks(run), tables, &mut out);
            labels[run + 2] = black_box(out);
        }
    };
    set(Kernel::Garble, time(others, garble), GARBLED_RUNS);
    let evaluate = || {
        for (run, tables) in tables.iter().enumerate() {
            let mut out = [0; RUN];
            hash.evaluate_ands([&labels[run], &labels[run + 1]], tweaks(run), tables, &mut out);
            labels[run + 2] = black_box(out);
        }
    };
    set(Kernel::Evaluate, time(others, evaluate), GARBLED_RUNS);
}

/// The time that rounds take among parties in threads of this process.
struct Rounds {
    /// Seconds of a round of short messages, one after another.
    wall: f64,
    /// A party's own seconds for such a round, without those for its messages.
    wake: f64,
    /// A party's own seconds for a message sent or received together with others, and for a byte of it.
    message: f64,
    byte: f64,
}

/// One party's seconds: of a chain of rounds, by the wall clock and by its own clock. By its own clock also those of
/// short messages side by side, and of long ones.
#[derive(Default)]
struct Spent {
    wall: f64,
    chain: f64,
    short: f64,
    long: f64,
}

fn rounds(parties: usize) -> Rounds {
    let ends = memory::mesh(parties);
    let spent: Vec<Spent> = thread::scope(|scope| {
        // A party that lacks memory at its start closes its links to the others.
        let party = |end| move || party_rounds(Party::new(Box::new(end))).unwrap_or_default();
        let start = |end| thread::Builder::new().spawn_scoped(scope, party(end)).ok();
        let started: Vec<_> = ends.into_iter().filter_map(start).collect();
        started.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let mean = |of: fn(&Spent) -> f64| spent.iter().map(of).sum::<f64>().max(1e-6) / spent.len().max(1) as f64;
    // Each lane sends one message and receives one.
    let message = mean(|spent| spent.short) / (2 * LANES) as f64;
    Rounds {
        wall: spent.iter().map(|spent| spent.wall).fold(1e-6, f64::max) / ROUNDS as f64,
        wake: (mean(|spent| spent.chain) / ROUNDS as f64 - 2.0 * message).max(1e-9),
        message,
        byte: mean(|spent| spent.long) / (2 * LONG_LANES * 8 * NEAR) as f64,
    }
}

/// Returns the seconds of a run, by the wall clock and by the thread's own: medians of a few runs, after one that warms
/// up.
fn median_run(run: &mut Run<'_>, work: impl AsyncFn(&Ctx) -> Result<()>) -> Result<(f64, f64)> {
    let mut one = || {
        let (started, before) = (Instant::now(), own_seconds());
        run.phase(Phase::Online, async |ctx: &Ctx| work(ctx).await)?;
        Ok((started.elapsed().as_secs_f64(), own_seconds() - before))
    };
    one()?;
    let (mut wall, mut own): (Vec<f64>, Vec<f64>) =
        (0..SAMPLES).map(|_| one()).collect::<Result<Vec<_>>>()?.into_iter().unzip();
    [&mut wall, &mut own].into_iter().for_each(|samples| samples.sort_by(f64::total_cmp));
    Ok((wall[SAMPLES / 2], own[SAMPLES / 2]))
}

fn party_rounds(mut party: Party) -> Result<Spent> {
    let mut run = party.begin_alone()?;
    let (short, long) = (Vector::zeros(RING, 1), Vector::zeros(RING, NEAR));
    let chain = async |ctx: &Ctx| {
        for _ in 0..ROUNDS {
            pass_on(ctx, &short).await?;
        }
        Ok(())
    };
    let (wall, chain) = median_run(&mut run, chain)?;
    let mut own = [0.0; 2];
    for (seconds, (vector, lanes)) in own.iter_mut().zip([(&short, LANES), (&long, LONG_LANES)]) {
        let pass = async |ctx: Ctx, _| pass_on(&ctx, vector).await;
        let all = async |ctx: &Ctx| ctx.join_all(lanes, pass).await.map(drop);
        *seconds = median_run(&mut run, all)?.1;
    }
    run.finish();
    Ok(Spent { wall, chain, short: own[0], long: own[1] })
}

/// Runs one round in which each party sends to the next.
async fn pass_on(ctx: &Ctx, x: &Vector) -> Result<()> {
    ctx.exchange(&[(ctx.next(1), x)], &[(ctx.previous(1), (RING, x.len()))]).await?;
    Ok(())
}
