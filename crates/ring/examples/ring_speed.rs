//! Measures the speed of the kernels on one core. `cargo run --release -p quorate-ring --example ring_speed`
//! (`QUORATE_SIMD=portable|avx2|avx512` forces a path).

use quorate_ring::{Bits, Ring, Vector, simd_path};
use std::hint::black_box;
use std::time::Instant;

/// Returns the median of nine runs, in seconds.
fn median<T>(mut run: impl FnMut() -> T) -> f64 {
    let mut seconds: Vec<f64> = (0..9)
        .map(|_| {
            let start = Instant::now();
            black_box(run());
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    seconds[4]
}

fn filled(bits: u32, len: usize) -> Vector {
    let words: Vec<u64> = (0..len as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    Vector::from_u64s(Ring::of(bits), &words)
}

fn elementwise() {
    let len = 1 << 14;
    println!(
        "{:<10} {:>10} {:>10} {:>10} {:>10} {:>10}   million elements/s",
        "carrier", "add", "mul", "add_mul", "scale", "reduce"
    );
    for bits in [7, 15, 31, 63, 127, 190, 254] {
        let (mut x, y) = (filled(bits, len), filled(bits, len));
        let z = y.clone();
        let rate = |seconds: f64| len as f64 * 64.0 / seconds / 1e6;
        let add = rate(median(|| (0..64).for_each(|_| black_box(&mut x).add_assign(&y))));
        let mul = rate(median(|| (0..64).for_each(|_| black_box(&mut x).mul_assign(&y))));
        let fused = rate(median(|| (0..64).for_each(|_| black_box(&mut x).add_mul_assign(&y, &z))));
        let scale = rate(median(|| (0..64).for_each(|i| black_box(&mut x).scale(u128::from(u64::MAX - i)))));
        let reduce = rate(median(|| (0..64).for_each(|_| black_box(&mut x).reduce())));
        println!("k = {bits:<6} {add:>10.0} {mul:>10.0} {fused:>10.0} {scale:>10.0} {reduce:>10.0}");
    }
}

fn packing() {
    let len = 1 << 14;
    println!("\n{:<10} {:>10} {:>10} {:>10} {:>10}   million elements/s", "", "pack", "unpack", "to_bits", "to_vector");
    for bits in [1, 3, 8, 13, 20, 32, 33, 48, 60, 63, 64, 66, 127, 128, 180, 190, 192, 254, 256] {
        let x = filled(bits, len);
        let mut bytes = Vec::with_capacity(len * 32);
        let rate = |seconds: f64| len as f64 / seconds / 1e6;
        let pack = rate(median(|| {
            bytes.clear();
            x.pack(&mut bytes);
        }));
        let unpack = rate(median(|| Vector::unpack(x.ring(), len, &bytes).unwrap()));
        let to_bits = rate(median(|| x.to_bits(0..bits)));
        let rows: Bits = x.to_bits(0..bits);
        let to_vector = rate(median(|| rows.to_vector(x.ring())));
        println!("k = {bits:<6} {pack:>10.0} {unpack:>10.0} {to_bits:>10.0} {to_vector:>10.0}");
    }
}

fn products() {
    println!();
    for bits in [8, 16, 32, 64, 128, 192, 256] {
        let (a, b) = (filled(bits, 512 * 512), filled(bits, 512 * 512));
        let seconds = median(|| Vector::matmul(&a, &b, (512, 512, 512)));
        println!("matmul 512 x 512 x 512, k = {bits:<4} {:>10.1} ms", seconds * 1e3);
    }
    let (a, b) = (filled(64, 4096 * 512), filled(64, 512));
    let seconds = median(|| Vector::matmul(&a, &b, (4096, 512, 1)));
    println!("matmul 4096 x 512 x 1, k = 64 {:>12.2} ms", seconds * 1e3);
}

fn bits() {
    let (rows, lanes) = (64, 1 << 14);
    let (mut x, y) = (Bits::constant(true, rows, lanes), Bits::constant(true, rows, lanes));
    let z = y.clone();
    let rate = |seconds: f64| (rows * lanes) as f64 / seconds / 1e9;
    println!("\nbits: ^= a & b       {:>8.1} Gbit/s", rate(median(|| x.add_and_assign(&y, &z))));
    println!("bits: slice_lanes(1..) {:>6.1} Gbit/s", rate(median(|| x.slice_lanes(1..lanes))));
    let odd = x.slice_lanes(1..lanes);
    let mut bytes = Vec::with_capacity(rows * lanes);
    println!(
        "bits: pack, odd lanes  {:>6.1} Gbit/s",
        rate(median(|| {
            bytes.clear();
            odd.pack(&mut bytes);
        }))
    );
}

fn main() {
    println!("path: {:?}", simd_path());
    elementwise();
    packing();
    products();
    bits();
}
