//! Every builder, compared with arithmetic: exhaustively at widths 1 to 6, at random up to 64 (and 128 for numbers of
//! that width).

use crate::common::{check, mask, signed};
use quorate_circuits::{Bit, Builder, Direction, Extreme, Goal, Sign, catalog};

const GOALS: [Goal; 2] = [Goal::Size, Goal::Depth];
const SIGNS: [Sign; 2] = [Sign::Unsigned, Sign::Signed];
const SMALL: [u32; 6] = [1, 2, 3, 4, 5, 6];
const LARGE: [u32; 9] = [7, 8, 13, 16, 24, 31, 32, 63, 64];

fn widths() -> impl Iterator<Item = u32> {
    SMALL.into_iter().chain(LARGE)
}

#[test]
fn sums_and_differences() {
    for width in widths().chain([65, 127, 128]) {
        for goal in GOALS {
            check("add", &catalog::add(width, goal), |v| vec![v[0].wrapping_add(v[1])]);
            check("sub", &catalog::sub(width, goal), |v| vec![v[0].wrapping_sub(v[1])]);
            check("neg", &catalog::neg(width, goal), |v| vec![v[0].wrapping_neg()]);
        }
    }
}

#[test]
fn carries_borrows_and_signs() {
    for width in SMALL.into_iter().chain([31, 64, 100]) {
        for goal in GOALS {
            let mut b = Builder::new();
            let (x, y, c) = (b.input(width), b.input(width), b.input(1));
            let (sum, carry) = b.add_carry(&x, &y, c[0], goal);
            let (difference, borrow) = b.sub_borrow(&x, &y, goal);
            let (negated, abs) = (b.negate_if(c[0], &x, goal), b.abs(&x, goal));
            let outputs: [&[Bit]; 6] = [&sum, &[carry], &difference, &[borrow], &negated, &abs];
            check("carries", &b.finish(&outputs).unwrap(), |v| {
                let (x, y, c) = (v[0], v[1], v[2]);
                let negated = if c == 1 { x.wrapping_neg() } else { x };
                let abs = signed(x, width).unsigned_abs();
                vec![x + y + c, (x + y + c) >> width, x.wrapping_sub(y), u128::from(x < y), negated, abs]
            });
        }
    }
}

#[test]
fn comparisons() {
    for width in widths().chain([128]) {
        check("equal", &catalog::equal(width), |v| vec![u128::from(v[0] == v[1])]);
        check("zero", &catalog::is_zero(width), |v| vec![u128::from(v[0] == 0)]);
        for (goal, sign) in GOALS.into_iter().flat_map(|goal| SIGNS.map(|sign| (goal, sign))) {
            let less = move |x: u128, y: u128| match sign {
                Sign::Unsigned => x < y,
                Sign::Signed => signed(x, width) < signed(y, width),
            };
            check("less", &catalog::less_than(width, sign, goal), |v| vec![u128::from(less(v[0], v[1]))]);
            let mut b = Builder::new();
            let (x, y) = (b.input(width), b.input(width));
            let (min, max) = (b.min(&x, &y, sign, goal), b.max(&x, &y, sign, goal));
            check("min, max", &b.finish(&[&min, &max]).unwrap(), |v| {
                let (x, y) = (v[0], v[1]);
                let (low, high) = if less(y, x) { (y, x) } else { (x, y) };
                vec![low, high]
            });
        }
    }
}

#[test]
fn extrema_and_their_first_positions() {
    let key = |value: u128, width: u32, sign: Sign| match sign {
        Sign::Unsigned => value as i128,
        Sign::Signed => signed(value, width),
    };
    for (count, width) in [(1, 3), (2, 2), (3, 2), (3, 4), (4, 3), (5, 2), (6, 2), (7, 16), (9, 64)] {
        for (goal, sign) in GOALS.into_iter().flat_map(|goal| SIGNS.map(|sign| (goal, sign))) {
            for extreme in [Extreme::Min, Extreme::Max] {
                check("extremum", &catalog::extremum(count, width, extreme, sign, goal), |v| {
                    let better = |x: i128, y: i128| if extreme == Extreme::Min { x < y } else { x > y };
                    let best = (1..count).fold(0, |best, i| {
                        if better(key(v[i], width, sign), key(v[best], width, sign)) { i } else { best }
                    });
                    vec![v[best], best as u128]
                });
            }
        }
    }
}

#[test]
fn products() {
    for width in widths() {
        for goal in GOALS {
            check("mul", &catalog::mul(width, goal), |v| vec![v[0].wrapping_mul(v[1])]);
            check("square", &catalog::square(width, goal), |v| vec![v[0] * v[0]]);
            check("wide", &catalog::mul_wide(width, Sign::Unsigned, goal), |v| vec![v[0] * v[1]]);
            check("signed wide", &catalog::mul_wide(width, Sign::Signed, goal), |v| {
                vec![signed(v[0], width).wrapping_mul(signed(v[1], width)) as u128]
            });
        }
    }
    for goal in GOALS {
        check("mul", &catalog::mul(128, goal), |v| vec![v[0].wrapping_mul(v[1])]);
    }
}

#[test]
fn products_of_different_widths_and_short_squares() {
    for (p, q) in [(1, 1), (1, 4), (4, 1), (3, 5), (6, 2), (8, 24), (32, 7)] {
        for (goal, sign) in GOALS.into_iter().flat_map(|goal| SIGNS.map(|sign| (goal, sign))) {
            let mut b = Builder::new();
            let (x, y) = (b.input(p), b.input(q));
            let product = b.mul_wide(&x, &y, sign, goal);
            check("wide", &b.finish(&[&product]).unwrap(), |v| match sign {
                Sign::Unsigned => vec![v[0] * v[1]],
                Sign::Signed => vec![(signed(v[0], p) * signed(v[1], q)) as u128],
            });
        }
        let mut b = Builder::new();
        let x = b.input(p);
        let square = b.square(&x, q as usize, Goal::Size);
        check("square", &b.finish(&[&square]).unwrap(), |v| vec![v[0] * v[0]]);
    }
}

fn floor_division(x: u128, y: u128, width: u32, sign: Sign) -> Vec<u128> {
    if sign == Sign::Unsigned {
        return x.checked_div(y).map_or(vec![u128::MAX, x], |quotient| vec![quotient, x % y]);
    }
    let (x, y) = (signed(x, width), signed(y, width));
    if y == 0 {
        return vec![if x < 0 { 0 } else { u128::MAX }, x as u128];
    }
    let (quotient, rest) = (x / y, x % y);
    let down = i128::from(rest != 0 && (rest < 0) != (y < 0));
    vec![(quotient - down) as u128, (rest + down * y) as u128]
}

#[test]
fn quotients_and_remainders() {
    for width in widths() {
        for (goal, sign) in GOALS.into_iter().flat_map(|goal| SIGNS.map(|sign| (goal, sign))) {
            check("divide", &catalog::divide(width, sign, goal), |v| floor_division(v[0], v[1], width, sign));
        }
    }
}

#[test]
fn short_quotients() {
    for (of_x, of_y) in [(1, 1), (4, 2), (5, 3), (3, 5), (6, 3)] {
        for digits in 1..=of_x {
            for goal in GOALS {
                let mut b = Builder::new();
                let (x, y) = (b.input(of_x), b.input(of_y));
                let short = b.divide_short(&x, &y, digits as usize, goal);
                let circuit = b.finish(&[&short.quotient, &short.remainder]).unwrap();
                let all = 1u128 << of_x;
                let pairs = (0..all).flat_map(|x| (1..1u128 << of_y).map(move |y| (x, y)));
                let (x, y): (Vec<u128>, Vec<u128>) = pairs.filter(|&(x, y)| x / y < 1 << digits).unzip();
                let rows =
                    circuit.evaluate(&quorate_circuits::to_rows(circuit.inputs(), &[x.clone(), y.clone()])).unwrap();
                let found = quorate_circuits::from_rows(circuit.outputs(), &rows);
                for i in 0..x.len() {
                    assert_eq!((found[0][i], found[1][i]), (x[i] / y[i], x[i] % y[i]), "{} by {}", x[i], y[i]);
                }
                assert!(x.len() > 1);
            }
        }
    }
}

#[test]
fn choices_and_swaps() {
    for width in widths() {
        check("mux", &catalog::mux(width), |v| vec![if v[0] == 1 { v[1] } else { v[2] }]);
        check("swap", &catalog::swap_if(width), |v| if v[0] == 1 { vec![v[2], v[1]] } else { vec![v[1], v[2]] });
    }
}

#[test]
fn counts_and_sums_of_many() {
    for (width, goal) in (1..12).chain([31, 64, 127, 128]).flat_map(|width| GOALS.map(|goal| (width, goal))) {
        check("popcount", &catalog::popcount(width, goal), |v| vec![u128::from(v[0].count_ones())]);
    }
    for goal in GOALS {
        let mut b = Builder::new();
        let numbers: Vec<Vec<Bit>> = [3, 5, 2, 8, 7].into_iter().map(|width| b.input(width)).collect();
        let sum = b.sum(&numbers, 9, goal);
        check("sum", &b.finish(&[&sum]).unwrap(), |v| vec![v.iter().sum()]);
        let mut b = Builder::new();
        let empty = b.sum(&[], 3, goal);
        let nothing = b.popcount(&[], goal);
        assert_eq!((empty, nothing), (vec![Bit::FALSE; 3], vec![]));
    }
}

#[test]
fn shifts() {
    for width in SMALL.into_iter().chain([8, 13, 32, 64]) {
        for direction in [Direction::Left, Direction::Right(Sign::Unsigned), Direction::Right(Sign::Signed)] {
            let moved = move |x: u128, by: u128| {
                let by = by.min(127) as u32;
                match direction {
                    Direction::Left => x << by,
                    Direction::Right(Sign::Unsigned) => x >> by,
                    Direction::Right(Sign::Signed) => (signed(x, width) >> by) as u128,
                }
            };
            for amount_width in [0, 1, 3, 6] {
                let circuit = catalog::shift_by(width, amount_width, direction);
                if amount_width > 0 {
                    check("shift", &circuit, |v| vec![moved(v[0], v[1])]);
                }
            }
            let mut b = Builder::new();
            let x = b.input(width);
            let all: Vec<Vec<Bit>> = [0, 1, 2, 5, 64, 1000].map(|by| b.shift(&x, direction, by)).into();
            let outputs: Vec<&[Bit]> = all.iter().map(Vec::as_slice).collect();
            check("shift", &b.finish(&outputs).unwrap(), |v| [0, 1, 2, 5, 64, 1000].map(|by| moved(v[0], by)).into());
        }
    }
}

#[test]
fn bits_of_words() {
    for width in SMALL {
        let mut b = Builder::new();
        let (x, y, c) = (b.input(width), b.input(width), b.input(1));
        let (xor, and) = (b.xor_words(&x, &y), b.and_words(&x, &y));
        let (masked, flipped, not) = (b.and_bit(c[0], &x), b.xor_bit(c[0], &x), b.not_words(&x));
        let (all, any, or) = (b.all(&x), b.any(&x), b.or(x[0], y[0]));
        let five = b.number(5, width as usize);
        let circuit = b.finish(&[&xor, &and, &masked, &flipped, &not, &[all, any, or], &five]).unwrap();
        check("words", &circuit, |v| {
            let (x, y, c) = (v[0], v[1], v[2].wrapping_neg());
            let all = u128::from(x == mask(width)) | u128::from(x != 0) << 1 | ((x | y) & 1) << 2;
            vec![x ^ y, x & y, x & c, x ^ c, !x, all, 5]
        });
    }
}
