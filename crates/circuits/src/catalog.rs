//! Whole circuits of one operation each.
//!
//! Every function builds its circuit anew. At the widths that protocols use, none is too large for a [`Circuit`]; a
//! function panics if its circuit is.

use crate::{Bit, Builder, Circuit, Direction, Extreme, Goal, Sign};

/// Returns a circuit that computes x + y modulo 2^k.
pub fn add(width: u32, goal: Goal) -> Circuit {
    binary(width, |b, x, y| b.add(x, y, goal))
}

/// Returns a circuit that computes x - y modulo 2^k.
pub fn sub(width: u32, goal: Goal) -> Circuit {
    binary(width, |b, x, y| b.sub(x, y, goal))
}

/// Returns a circuit that computes -x modulo 2^k.
pub fn neg(width: u32, goal: Goal) -> Circuit {
    unary(width, |b, x| b.neg(x, goal))
}

/// Returns a circuit that computes x y modulo 2^k.
pub fn mul(width: u32, goal: Goal) -> Circuit {
    binary(width, |b, x, y| b.mul(x, y, goal))
}

/// Returns a circuit that computes x y in 2k bits.
pub fn mul_wide(width: u32, sign: Sign, goal: Goal) -> Circuit {
    binary(width, |b, x, y| b.mul_wide(x, y, sign, goal))
}

/// Returns a circuit that computes x^2 in 2k bits, x unsigned.
pub fn square(width: u32, goal: Goal) -> Circuit {
    unary(width, |b, x| b.square(x, 2 * x.len(), goal))
}

/// Returns a circuit that computes whether x < y.
pub fn less_than(width: u32, sign: Sign, goal: Goal) -> Circuit {
    binary(width, |b, x, y| vec![b.less_than(x, y, sign, goal)])
}

/// Returns a circuit that computes whether x = y.
pub fn equal(width: u32) -> Circuit {
    binary(width, |b, x, y| vec![b.equal(x, y)])
}

/// Returns a circuit that computes whether x = 0.
pub fn is_zero(width: u32) -> Circuit {
    unary(width, |b, x| vec![b.is_zero(x)])
}

/// Returns a circuit that computes floor(x / y) and the remainder, as in [`Builder::divide`].
pub fn divide(width: u32, sign: Sign, goal: Goal) -> Circuit {
    let mut b = Builder::new();
    let (x, y) = (b.input(width), b.input(width));
    let result = b.divide(&x, &y, sign, goal);
    finish(b, &[&result.quotient, &result.remainder])
}

/// Returns a circuit that computes x if the bit, which is the first input, is set, else y.
pub fn mux(width: u32) -> Circuit {
    let mut b = Builder::new();
    let (bit, x, y) = (b.input(1), b.input(width), b.input(width));
    let chosen = b.mux(bit[0], &x, &y);
    finish(b, &[&chosen])
}

/// Returns a circuit that computes (y, x) if the bit, which is the first input, is set, else (x, y).
pub fn swap_if(width: u32) -> Circuit {
    let mut b = Builder::new();
    let (bit, x, y) = (b.input(1), b.input(width), b.input(width));
    let (first, second) = b.swap_if(bit[0], &x, &y);
    finish(b, &[&first, &second])
}

/// Returns a circuit that computes the number of set bits of x.
pub fn popcount(width: u32, goal: Goal) -> Circuit {
    unary(width, |b, x| b.popcount(x, goal))
}

/// Returns a circuit that computes the extremum of `count` numbers and its position.
///
/// # Panics
/// If `count` is 0.
pub fn extremum(count: usize, width: u32, extreme: Extreme, sign: Sign, goal: Goal) -> Circuit {
    let mut b = Builder::new();
    let numbers: Vec<Vec<Bit>> = (0..count).map(|_| b.input(width)).collect();
    let result = b.extremum(&numbers, extreme, sign, goal);
    finish(b, &[&result.value, &result.index])
}

/// Returns a circuit that computes x shifted by a secret amount of `amount_width` bits.
pub fn shift_by(width: u32, amount_width: u32, direction: Direction) -> Circuit {
    let mut b = Builder::new();
    let (x, amount) = (b.input(width), b.input(amount_width));
    let moved = b.shift_by(&x, direction, &amount);
    finish(b, &[&moved])
}

/// Returns a circuit that computes AES-128, of key and block, in the conventions of the Bristol Fashion file `aes_128`.
pub fn aes128() -> Circuit {
    binary(128, |b, key, block| b.aes128(key, block))
}

fn unary(width: u32, build: impl FnOnce(&mut Builder, &[Bit]) -> Vec<Bit>) -> Circuit {
    let mut b = Builder::new();
    let x = b.input(width);
    let result = build(&mut b, &x);
    finish(b, &[&result])
}

fn binary(width: u32, build: impl FnOnce(&mut Builder, &[Bit], &[Bit]) -> Vec<Bit>) -> Circuit {
    let mut b = Builder::new();
    let (x, y) = (b.input(width), b.input(width));
    let result = build(&mut b, &x, &y);
    finish(b, &[&result])
}

fn finish(b: Builder, outputs: &[&[Bit]]) -> Circuit {
    b.finish(outputs).expect("a circuit of one operation is small")
}
