//! Vectors and bits.

use quorate_ring::chosen::{self, Masks};
use quorate_ring::{Bits, Conv, Halves, Module, Ring, Tally, Vector, columns};

use super::Case;
use super::memcheck::hide;

/// Widths of every carrier, with spare bits and without.
const RINGS: [u32; 14] = [1, 2, 7, 8, 13, 16, 31, 32, 45, 64, 100, 128, 180, 256];
/// More than any block that kernels process at a time, and not a multiple of it.
const LEN: usize = 203;

fn words(count: usize, name: u64) -> Vec<u64> {
    (1..=count as u64).map(|i| (i ^ name << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)).collect()
}

fn secret(ring: Ring, len: usize) -> Vector {
    let mut secret = Vector::from_u64s(ring, &words(len, ring.bits().into()));
    hide(secret.bytes_mut());
    secret.reduce();
    secret
}

fn secret_bits(rows: usize, lanes: usize) -> Bits {
    let mut secret = Bits::zeros(rows, lanes);
    hide(secret.bytes_mut());
    Module::reduce(&mut secret);
    secret
}

/// Returns one secret word.
fn secret_word() -> u64 {
    let mut word = words(1, 9);
    hide(&mut word);
    word[0]
}

fn each(work: impl Fn(Ring)) {
    RINGS.iter().for_each(|&bits| work(Ring::of(bits)));
}

/// Runs an operation on one vector and another one.
fn both(work: impl Fn(&mut Vector, &Vector)) {
    each(|ring| work(&mut secret(ring, LEN), &secret(ring, LEN)));
}

fn one<T>(work: impl Fn(&Vector) -> T) {
    each(|ring| drop(work(&secret(ring, LEN))));
}

fn both_bits(work: impl Fn(&mut Bits, &Bits)) {
    work(&mut secret_bits(3, LEN), &secret_bits(3, LEN));
}

fn packed(ring: Ring) -> Vec<u8> {
    let mut bytes = vec![0; ring.packed_bytes(LEN)];
    hide(&mut bytes);
    bytes
}

/// Returns pads of transfers.
fn pads() -> [Vec<u128>; 2] {
    [3, 4].map(|name| {
        let mut pads: Vec<u128> = words(LEN, name).into_iter().map(u128::from).collect();
        hide(&mut pads);
        pads
    })
}

fn halves(pads: &[Vec<u128>; 2]) -> Halves<'_> {
    Halves { low: &pads[0], high: &pads[1] }
}

/// Secret blocks of 128 bits.
fn secret_blocks() -> Vec<u128> {
    let mut blocks: Vec<u128> = words(LEN, 7).into_iter().map(u128::from).collect();
    hide(&mut blocks);
    blocks
}

/// A bit for each of them, and more.
fn choices() -> Vec<u64> {
    let mut choices = words(LEN.div_ceil(64), 8);
    hide(&mut choices);
    choices
}

pub const CASES: &[Case] = &[
    ("ring: a block where bits choose it", || chosen::xor(&mut secret_blocks(), &choices(), secret_blocks()[0])),
    ("ring: blocks that bits keep", || chosen::each(&mut secret_blocks(), &choices(), |block, mask| *block &= mask)),
    ("ring: sums of chosen words", || {
        let mut all = words(LEN, 6);
        hide(&mut all);
        std::hint::black_box(chosen::sum(&all, &choices()));
    }),
    ("ring: blocks that a mask each chooses", || {
        let (masks, choices, mut blocks) = (Masks::new(), choices(), secret_blocks());
        for (i, block) in blocks.iter_mut().enumerate() {
            *block ^= *block << 1 & masks.block(choices[i / 64], i % 64);
            *block ^= u128::from(masks.word(choices[i / 64], i % 64) & 0x87);
        }
        std::hint::black_box(blocks);
    }),
    ("ring: sums", || both(|x, y| x.add_assign(y))),
    ("ring: differences", || both(|x, y| x.sub_assign(y))),
    ("ring: differences, turned round", || both(|x, y| x.rsub_assign(y))),
    ("ring: negatives", || both(|x, _| x.neg_assign())),
    ("ring: products", || both(|x, y| x.mul_assign(y))),
    ("ring: products that are added", || both(|x, y| x.add_mul_assign(y, &secret(y.ring(), LEN)))),
    ("ring: a secret that is added to all", || both(|x, _| x.add_scalar(secret_word().into()))),
    ("ring: a secret factor", || both(|x, _| x.scale(secret_word().into()))),
    ("ring: a signed factor", || both(|x, _| x.scale_signed(-3))),
    ("ring: shifts", || {
        both(|x, y| {
            x.shl(y.ring().bits() / 2);
            x.shr_logical(y.ring().bits() / 3);
        });
    }),
    ("ring: sums along an axis", || one(|x| [x.sum_axis(7, 29, 1), x.sum_axis(1, 7, 29)])),
    ("ring: weighed sums", || one(|x| x.weighed(&words(LEN, 1)))),
    ("ring: matrix products", || {
        each(|ring| {
            for dims in [(1, 20, 9), (7, 20, 9), (9, 1, 20)] {
                drop(Vector::matmul(&secret(ring, dims.0 * dims.1), &secret(ring, dims.1 * dims.2), dims));
            }
        });
    }),
    ("ring: convolutions", || {
        let conv = Conv { before: [1, 1], after: [1, 1], stride: [2, 1], ..Conv::plain([6, 7], [3, 2]) };
        let [images, filters] = conv.lens();
        each(|ring| drop(Vector::convolve(&secret(ring, images), &secret(ring, filters), &conv)));
    }),
    ("ring: sums by public choices", || {
        let chosen = Bits::constant(true, 5, LEN);
        one(|x| x.sums_of_chosen(&chosen));
    }),
    ("ring: bits of elements", || one(|x| [x.to_bits(0..x.ring().bits()), x.low_bit()])),
    ("ring: elements of bits", || {
        each(|ring| drop(secret_bits(ring.bits() as usize, LEN).to_vector(ring)));
    }),
    ("ring: conversions", || one(|x| RINGS.map(|bits| x.convert(Ring::of(bits))))),
    ("ring: sign extensions", || {
        one(|x| RINGS.iter().filter(|&&bits| bits >= x.ring().bits()).for_each(|&k| drop(x.sign_extend(Ring::of(k)))));
    }),
    ("ring: sums of raised elements", || both(|x, y| x.add_raised(y, 1))),
    ("ring: messages", || {
        one(|x| {
            let mut bytes = Vec::with_capacity(x.ring().packed_bytes(LEN));
            x.pack(&mut bytes);
        });
        each(|ring| drop(Vector::unpack(ring, LEN, &packed(ring)).unwrap()));
    }),
    ("ring: pads of bits times elements", || {
        let (p, q) = (pads(), pads());
        both(|x, y| x.set_masked(0..LEN, y, [halves(&p), halves(&q)], &mut packed(y.ring())));
        both(|x, y| x.set_unmasked(0..LEN, &secret_bits(1, LEN), halves(&p), &packed(y.ring())));
    }),
    ("ring: secret choices of elements", || both(|x, y| x.add_chosen(y, &secret_bits(1, LEN)))),
    ("ring: sums of products of shares", || {
        let terms = vec![(vec![0, 1], vec![0]), (vec![1], vec![1])];
        each(|ring| {
            let [x, y] = [0, 1].map(|_| vec![secret(ring, LEN), secret(ring, LEN)]);
            secret(ring, LEN).set_terms(&x, &y, 0..LEN, &terms);
        });
    }),
    ("ring: square roots", || {
        each(|ring| {
            if ring.bits() >= 3 {
                drop(secret(ring, LEN).odd_square_roots());
            }
        });
    }),
    ("ring: sums of sums", || {
        each(|ring| {
            let mut tally = Tally::new(ring, LEN);
            (0..3).for_each(|_| tally.add(&secret(ring, LEN)));
            let [mut sum, mut all] = [0, 1].map(|_| Vector::zeros(ring, LEN));
            tally.write(0, [&mut sum, &mut all]);
        });
    }),
    ("ring: limbs and words of elements", || one(|x| (x.to_limbs(), x.to_u64s(), x.to_i64s(), x.to_u128s()))),
    ("ring: parts of vectors", || {
        one(|x| (x.slice(3..LEN), x.gather(&[5, 0, 5]), Vector::concat(&[x, x]), x.slice(4..5).broadcast_scalar(9)));
        both(|x, y| x.write_at(3, &y.slice(0..70)));
        both(|x, y| x.add_at(3, &y.slice(0..70)));
    }),
    ("ring: xor of bits", || both_bits(|x, y| x.xor_assign(y))),
    ("ring: and of bits", || both_bits(|x, y| x.and_assign(y))),
    ("ring: not of bits", || both_bits(|x, _| x.not_assign())),
    ("ring: ands that are added", || both_bits(|x, y| x.add_and_assign(y, &secret_bits(3, LEN)))),
    ("ring: sums of ands of shares", || {
        let terms = vec![(vec![0, 1], vec![0]), (vec![1], vec![1])];
        let [x, y] = [0, 1].map(|_| vec![secret_bits(3, LEN), secret_bits(3, LEN)]);
        let mut sum = secret_bits(3, LEN);
        sum.set_terms(&x, &y, 0..3 * LEN.div_ceil(64), &terms);
    }),
    ("ring: rows of bits", || {
        both_bits(|x, y| {
            x.set_row_to_xor(0, 1, 2);
            x.xor_rows(&[0, 2], y, 0);
            x.set_rows(&[1], y, 1);
            drop((x.sum_rows(&[vec![0, 2], vec![1]]), x.gather_rows(&[2, 0]), x.row(1).broadcast_row(3)));
        });
    }),
    ("ring: lanes of bits", || {
        both_bits(|x, y| {
            x.write_lanes_at(64, &y.slice_lanes(0..100));
            drop((x.slice_lanes(5..90), x.gather_lanes(&[7, 0, 7]), Bits::concat_lanes(&[x, y])));
        });
        let bits = secret_bits(4, 60);
        drop((bits.rows_to_lanes(), secret_bits(1, 240).lanes_to_rows(4)));
    }),
    ("ring: messages of bits", || {
        both_bits(|x, _| {
            let mut bytes = Vec::with_capacity(100);
            x.pack(&mut bytes);
        });
        let mut bytes = vec![0; (3 * LEN).div_ceil(8)];
        hide(&mut bytes);
        drop(Bits::unpack(3, LEN, &bytes).unwrap());
    }),
    ("ring: leaves that are folded", || {
        for depth in [2, 4] {
            let (mut leaves, mut sums) = (words(9 << depth, 5), vec![0; 9 * depth]);
            hide(&mut leaves);
            columns::fold_leaves(&mut leaves, &mut sums, 9);
        }
    }),
    ("ring: columns", || {
        let (mut a, mut b) = (words(128 * 3, 6), words(128 * 3, 7));
        hide(&mut a);
        hide(&mut b);
        columns::xor(&mut a, &b);
        columns::xor_if(&mut a, &b, secret_word() & 1 == 1);
        columns::rows_of_128(&a, &mut vec![0; 64 * 3]);
    }),
];
