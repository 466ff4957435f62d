//! The loops on registers of four, two and one blocks: one text for three widths.
//!
//! Eight registers are encrypted side by side, to keep the processor's AES units busy.

use std::arch::x86_64::*;

/// Registers that are encrypted side by side.
const WIDTH: usize = 8;

/// The operations that the loops need of a register, for one width.
macro_rules! operations {
    ($name:ident, $features:literal, $register:ty, {
        $zero:ident $xor:ident $and:ident $round:ident $last:ident $splat:ident $splat64:ident $swap:ident $sub:ident
        $low:ident $product:ident $mul32:ident $add:ident $shift:ident
    }) => {
        mod $name {
            use super::*;
            #[target_feature(enable = $features)]
            #[inline]
            pub fn zero() -> $register {
                $zero()
            }
            #[target_feature(enable = $features)]
            #[inline]
            pub fn xor(a: $register, b: $register) -> $register {
                $xor(a, b)
            }
            #[target_feature(enable = $features)]
            #[inline]
            pub fn and(a: $register, b: $register) -> $register {
                $and(a, b)
            }
            #[target_feature(enable = $features)]
            #[inline]
            pub fn round(a: $register, key: $register) -> $register {
                $round(a, key)
            }
            #[target_feature(enable = $features)]
            #[inline]
            pub fn last_round(a: $register, key: $register) -> $register {
                $last(a, key)
            }
            /// Returns a register with the same block everywhere.
            #[target_feature(enable = $features)]
            #[inline]
            pub fn splat(block: u128) -> $register {
                $splat(bytemuck::cast(block))
            }
            /// Returns sigma: low || high -> low xor high || high, the lower half first.
            #[target_feature(enable = $features)]
            #[inline]
            pub fn sigma(x: $register) -> $register {
                $xor(swapped(x), $and(x, splat(u128::MAX << 64)))
            }
            /// Exchanges the halves of each block.
            #[target_feature(enable = $features)]
            #[inline]
            pub fn swapped(x: $register) -> $register {
                $swap::<0b01_00_11_10>(x)
            }
            /// Returns all ones in the blocks whose lowest bit is set.
            #[target_feature(enable = $features)]
            #[inline]
            pub fn control(x: $register) -> $register {
                let halves = $sub($zero(), $and(x, $splat64(1)));
                $low(halves, halves)
            }
            /// Returns the carry-less product of two halves of each block.
            #[target_feature(enable = $features)]
            #[inline]
            pub fn product<const HALVES: i32>(a: $register, b: $register) -> $register {
                $product::<HALVES>(a, b)
            }
            /// Returns the products of the lower 32 bits of each 64.
            #[target_feature(enable = $features)]
            #[inline]
            pub fn mul32(a: $register, b: $register) -> $register {
                $mul32(a, b)
            }
            /// Returns sums of 64 bits.
            #[target_feature(enable = $features)]
            #[inline]
            pub fn add(a: $register, b: $register) -> $register {
                $add(a, b)
            }
            /// Returns the upper 32 bits of each 64.
            #[target_feature(enable = $features)]
            #[inline]
            pub fn upper(a: $register) -> $register {
                $shift::<32>(a)
            }
            /// Returns sums of 128 bits. A half carries if both summands have its highest bit, or one has it and the
            /// sum does not.
            #[target_feature(enable = $features)]
            #[inline]
            pub fn add128(a: $register, b: $register) -> $register {
                let sum = $add(a, b);
                let one = $and($xor(a, b), $xor(sum, splat(u128::MAX)));
                let carries = $shift::<63>($xor($and(a, b), one));
                $add(sum, $low($zero(), carries))
            }
            /// Returns a register with the same 64 bits everywhere.
            #[target_feature(enable = $features)]
            #[inline]
            pub fn splat64(a: u64) -> $register {
                $splat64(a as i64)
            }
        }
    };
}

/// Returns the block: a register of one block.
#[target_feature(enable = "sse2")]
#[inline]
fn itself(block: __m128i) -> __m128i {
    block
}

#[target_feature(enable = "pclmulqdq")]
#[inline]
fn product_1<const HALVES: i32>(a: __m128i, b: __m128i) -> __m128i {
    _mm_clmulepi64_si128::<HALVES>(a, b)
}

operations!(one, "aes,pclmulqdq,avx2", __m128i, {
    _mm_setzero_si128 _mm_xor_si128 _mm_and_si128 _mm_aesenc_si128 _mm_aesenclast_si128 itself _mm_set1_epi64x
    _mm_shuffle_epi32 _mm_sub_epi64 _mm_unpacklo_epi64 product_1 _mm_mul_epu32 _mm_add_epi64 _mm_srli_epi64
});
operations!(two, "aes,vaes,pclmulqdq,vpclmulqdq,avx2", __m256i, {
    _mm256_setzero_si256 _mm256_xor_si256 _mm256_and_si256 _mm256_aesenc_epi128 _mm256_aesenclast_epi128
    _mm256_broadcastsi128_si256 _mm256_set1_epi64x _mm256_shuffle_epi32 _mm256_sub_epi64 _mm256_unpacklo_epi64
    _mm256_clmulepi64_epi128 _mm256_mul_epu32 _mm256_add_epi64 _mm256_srli_epi64
});
operations!(four, "aes,vaes,pclmulqdq,vpclmulqdq,avx512f,avx512bw,avx512dq,avx512vl", __m512i, {
    _mm512_setzero_si512 _mm512_xor_si512 _mm512_and_si512 _mm512_aesenc_epi128 _mm512_aesenclast_epi128
    _mm512_broadcast_i32x4 _mm512_set1_epi64 _mm512_shuffle_epi32 _mm512_sub_epi64 _mm512_unpacklo_epi64
    _mm512_clmulepi64_epi128 _mm512_mul_epu32 _mm512_add_epi64 _mm512_srli_epi64
});

/// The permutation on a few registers, expanded into the caller's code so that they stay registers.
macro_rules! permute {
    ($keys:expr, $blocks:expr) => {{
        for block in $blocks.iter_mut() {
            *block = xor(*block, $keys[0]);
        }
        for key in &$keys[1..10] {
            for block in $blocks.iter_mut() {
                *block = round(*block, *key);
            }
        }
        for block in $blocks.iter_mut() {
            *block = last_round(*block, $keys[10]);
        }
    }};
}

/// Runs `$step::<N>` on pieces of 8, 4, 2 and 1 registers of a slice.
macro_rules! in_pieces {
    ($from:expr, |$piece:ident, $at:ident, $N:ident| $step:expr) => {{
        let (pieces, mut rest) = $from.as_chunks::<WIDTH>();
        let mut $at = 0;
        for $piece in pieces {
            const $N: usize = WIDTH;
            $step;
            $at += $N;
        }
        in_pieces!(@rest rest, |$piece, $at, $N| $step, 4);
        in_pieces!(@rest rest, |$piece, $at, $N| $step, 2);
        in_pieces!(@rest rest, |$piece, $at, $N| $step, 1);
        let _ = ($at, rest);
    }};
    (@rest $rest:ident, |$piece:ident, $at:ident, $N:ident| $step:expr, $count:literal) => {
        if let Some(($piece, after)) = $rest.split_first_chunk::<$count>() {
            const $N: usize = $count;
            $step;
            ($at, $rest) = ($at + $N, after);
        }
    };
}

macro_rules! kernel {
    ($name:ident, $features:literal, $register:ty, $operations:ident, $store:ident) => {
        #[allow(clippy::modulo_one, reason = "the widest registers have one for a node")]
        pub(super) mod $name {
            use super::$operations::*;
            use super::*;
            use crate::hash::leaf_tweak;
            use crate::kernel::{Four, PROOF_BLOCKS, Payload, Permutation, Sums};

            /// The number of registers of a [`Four`].
            const PER: usize = size_of::<Four>() / size_of::<$register>();
            /// The number of fours in the registers that are encrypted side by side.
            const FOURS: usize = WIDTH / PER;

            type RoundKeys = [$register; 11];

            #[target_feature(enable = $features)]
            #[inline]
            fn keys_of(permutation: &Permutation) -> RoundKeys {
                let mut keys = [zero(); 11];
                for (key, four) in keys.iter_mut().zip(&permutation.round_keys) {
                    *key = splat(four.0[0]);
                }
                keys
            }

            /// Returns H(s_i xor tweak).
            #[target_feature(enable = $features)]
            #[inline]
            fn hashed<const N: usize>(keys: &RoundKeys, s: &[$register; N], tweak: $register) -> [$register; N] {
                let mut x = *s;
                for x in &mut x {
                    *x = sigma(xor(*x, tweak));
                }
                let sigmas = x;
                permute!(keys, x);
                for (x, sigma) in x.iter_mut().zip(&sigmas) {
                    *x = xor(*x, *sigma);
                }
                x
            }

            #[target_feature(enable = $features)]
            pub fn hash(permutation: &Permutation, from: &[Four], tweak: u128, to: &mut [Four]) {
                let (keys, tweak) = (keys_of(permutation), splat(tweak));
                let (from, to): (&[$register], &mut [$register]) =
                    (bytemuck::cast_slice(from), bytemuck::cast_slice_mut(to));
                in_pieces!(from, |piece, at, N| to[at..at + N].copy_from_slice(&hashed::<N>(&keys, piece, tweak)));
            }

            #[target_feature(enable = $features)]
            #[inline]
            fn children<const N: usize>(
                keys: &RoundKeys,
                nodes: &[$register; N],
                correction: &[$register; PER],
                to: &mut [$register],
            ) {
                let left = hashed(keys, nodes, zero());
                let to = &mut to[..2 * N];
                for i in 0..N {
                    let left = xor(left[i], and(control(nodes[i]), correction[i % PER]));
                    let at = 2 * PER * (i / PER) + i % PER;
                    to[at] = left;
                    to[at + PER] = xor(left, nodes[i]);
                }
            }

            #[target_feature(enable = $features)]
            pub fn level(permutation: &Permutation, from: &[Four], correction: &Four, to: &mut [Four]) {
                let keys = keys_of(permutation);
                let correction: [$register; PER] = bytemuck::cast(*correction);
                let (from, to): (&[$register], &mut [$register]) =
                    (bytemuck::cast_slice(from), bytemuck::cast_slice_mut(to));
                in_pieces!(from, |piece, at, N| children::<N>(&keys, piece, &correction, &mut to[2 * at..]));
            }

            #[target_feature(enable = $features)]
            pub fn descend(
                permutation: &Permutation,
                nodes: &mut [Four],
                corrections: &[Four],
                turns: &[Four],
                sums: &mut [Four],
            ) {
                let keys = keys_of(permutation);
                let (nodes, sums): (&mut [$register], &mut [$register]) =
                    (bytemuck::cast_slice_mut(nodes), bytemuck::cast_slice_mut(sums));
                let (turns, corrections): (&[$register], &[$register]) =
                    (bytemuck::cast_slice(turns), bytemuck::cast_slice(corrections));
                in_pieces!(turns, |piece, at, N| {
                    let (nodes, sums) = (&mut nodes[at..at + N], &mut sums[at..at + N]);
                    turned::<N>(&keys, nodes, &corrections[at..at + N], piece, sums);
                });
            }

            #[target_feature(enable = $features)]
            #[inline]
            fn turned<const N: usize>(
                keys: &RoundKeys,
                nodes: &mut [$register],
                corrections: &[$register],
                turns: &[$register; N],
                sums: &mut [$register],
            ) {
                let mut s = [zero(); N];
                s.copy_from_slice(nodes);
                let hashed = hashed(keys, &s, zero());
                for i in 0..N {
                    let right = control(turns[i]);
                    let left = xor(hashed[i], and(control(s[i]), corrections[i]));
                    sums[i] = xor(sums[i], and(left, right));
                    nodes[i] = xor(left, and(s[i], right));
                }
            }

            #[target_feature(enable = $features)]
            pub fn correct(
                permutation: &Permutation,
                [first, second]: [&mut [Four]; 2],
                turns: &[Four],
                corrections: &mut [Four],
            ) {
                let keys = keys_of(permutation);
                let (first, second): (&mut [$register], &mut [$register]) =
                    (bytemuck::cast_slice_mut(first), bytemuck::cast_slice_mut(second));
                let (turns, corrections): (&[$register], &mut [$register]) =
                    (bytemuck::cast_slice(turns), bytemuck::cast_slice_mut(corrections));
                in_pieces!(turns, |piece, at, N| {
                    let sides = [&mut first[at..at + N], &mut second[at..at + N]];
                    corrected::<N>(&keys, sides, piece, &mut corrections[at..at + N]);
                });
            }

            #[target_feature(enable = $features)]
            #[inline]
            fn corrected<const N: usize>(
                keys: &RoundKeys,
                [first, second]: [&mut [$register]; 2],
                turns: &[$register; N],
                corrections: &mut [$register],
            ) {
                let (mut s0, mut s1) = ([zero(); N], [zero(); N]);
                s0.copy_from_slice(first);
                s1.copy_from_slice(second);
                let (h0, h1) = (hashed(keys, &s0, zero()), hashed(keys, &s1, zero()));
                for i in 0..N {
                    let right = control(turns[i]);
                    let beside = and(xor(s0[i], s1[i]), xor(right, splat(u128::MAX)));
                    let correction = xor(xor(h0[i], h1[i]), beside);
                    corrections[i] = correction;
                    first[i] = xor(xor(h0[i], and(control(s0[i]), correction)), and(s0[i], right));
                    second[i] = xor(xor(h1[i], and(control(s1[i]), correction)), and(s1[i], right));
                }
            }

            /// The registers of a [`Four`].
            type Part = [$register; PER];

            #[target_feature(enable = $features)]
            pub fn check(
                [tree, proofs]: [&Permutation; 2],
                nodes: &[Four],
                first: u64,
                coins: &[u128],
                corrections: &[Four; PROOF_BLOCKS],
                sums: &mut Sums,
            ) {
                let keys = [keys_of(tree), keys_of(proofs)];
                let mut words = [[zero(); PER]; PROOF_BLOCKS];
                for (word, four) in words.iter_mut().zip(corrections) {
                    *word = bytemuck::cast(*four);
                }
                let nodes: &[$register] = bytemuck::cast_slice(nodes);
                in_pieces!(nodes, |piece, at, N| {
                    let x = at / PER;
                    let place = first + x as u64;
                    values::<N>(&keys[0], piece, place, sums);
                    proofs_of::<N>(&keys[1], piece, place, &coins[x..], &words, &mut sums.proofs);
                });
            }

            /// Adds values and control bits of some leaves; the first is at `place`.
            #[target_feature(enable = $features)]
            #[inline]
            fn values<const N: usize>(keys: &RoundKeys, nodes: &[$register; N], place: u64, sums: &mut Sums) {
                let limb = splat64(u32::MAX.into());
                for (which, sums) in sums.values.iter_mut().enumerate() {
                    let hashed = hashed(keys, nodes, splat(2 * which as u128 + 2));
                    let mut parts: [[Part; 2]; 2] = bytemuck::cast(*sums);
                    for i in 0..N {
                        let (p, place) = (i % PER, splat64(place + (i / PER) as u64));
                        let odd = upper(hashed[i]);
                        parts[0][0][p] = add(parts[0][0][p], and(hashed[i], limb));
                        parts[0][1][p] = add(parts[0][1][p], odd);
                        parts[1][0][p] = add(parts[1][0][p], mul32(hashed[i], place));
                        parts[1][1][p] = add(parts[1][1][p], mul32(odd, place));
                    }
                    *sums = bytemuck::cast(parts);
                }
                let mut parts: [Part; 2] = bytemuck::cast(sums.controls);
                for i in 0..N {
                    let (p, place) = (i % PER, splat((place + (i / PER) as u64).into()));
                    parts[0][p] = add(parts[0][p], and(nodes[i], splat(1)));
                    parts[1][p] = add(parts[1][p], and(control(nodes[i]), place));
                }
                sums.controls = bytemuck::cast(parts);
            }

            /// Adds coins times proofs of some leaves; the first is at `place`.
            #[target_feature(enable = $features)]
            #[inline]
            fn proofs_of<const N: usize>(
                keys: &RoundKeys,
                nodes: &[$register; N],
                place: u64,
                coins: &[u128],
                corrections: &[Part; PROOF_BLOCKS],
                sums: &mut [[Four; 3]; PROOF_BLOCKS],
            ) {
                let mut tweaks = [[zero(); PROOF_BLOCKS]; N];
                let mut factors = [zero(); N];
                for i in 0..N {
                    let number = place + 1 + (i / PER) as u64;
                    let low = splat(number.into());
                    tweaks[i] = [low, swapped(low), splat64(number)];
                    factors[i] = splat(coins[i / PER]);
                }
                for (j, sums) in sums.iter_mut().enumerate() {
                    let mut f = *nodes;
                    for i in 0..N {
                        f[i] = xor(f[i], tweaks[i][j]);
                    }
                    permute!(keys, f);
                    let mut parts: [Part; 3] = bytemuck::cast(*sums);
                    for i in 0..N {
                        let p = i % PER;
                        let proof = xor(xor(f[i], nodes[i]), and(control(nodes[i]), corrections[j][p]));
                        let across = xor(product::<0x01>(factors[i], proof), product::<0x10>(factors[i], proof));
                        parts[0][p] = xor(parts[0][p], product::<0x00>(factors[i], proof));
                        parts[1][p] = xor(parts[1][p], across);
                        parts[2][p] = xor(parts[2][p], product::<0x11>(factors[i], proof));
                    }
                    *sums = bytemuck::cast(parts);
                }
            }

            #[target_feature(enable = $features)]
            pub fn payloads(
                permutation: &Permutation,
                nodes: &[Four],
                payload: &Payload,
                out: &mut [u128],
                stride: usize,
            ) {
                let keys = keys_of(permutation);
                let (tweak, sign, mask) = (splat(payload.tweak), splat(payload.sign), splat(payload.mask));
                let (unset, flip): (_, Part) = (splat(payload.sign & 1), bytemuck::cast(payload.flip));
                for at in (0..nodes.len()).step_by(FOURS) {
                    let (mut x, mut added) = ([zero(); WIDTH], [zero(); WIDTH]);
                    for i in 0..WIDTH {
                        // After the last node the first one fills up the group; its value there is never read.
                        let node: Part = bytemuck::cast(*nodes.get(at + i / PER).unwrap_or(&nodes[0]));
                        x[i] = node[i % PER];
                        added[i] = xor(unset, and(control(x[i]), flip[i % PER]));
                    }
                    let mut x = hashed(&keys, &x, tweak);
                    for (x, added) in x.iter_mut().zip(added) {
                        *x = and(add128(xor(*x, sign), added), mask);
                    }
                    $store(&x, out, stride, at);
                }
            }

            #[target_feature(enable = $features)]
            pub fn leaves(
                permutation: &Permutation,
                nodes: &[Four],
                corrections: &[Four],
                out: &mut [u128],
                stride: usize,
            ) {
                match corrections.len() {
                    1 => leaves_of::<1>(permutation, nodes, corrections, out, stride),
                    2 => leaves_of::<2>(permutation, nodes, corrections, out, stride),
                    _ => leaves_of::<4>(permutation, nodes, corrections, out, stride),
                }
            }

            #[target_feature(enable = $features)]
            #[inline]
            fn leaves_of<const BLOCKS: usize>(
                permutation: &Permutation,
                nodes: &[Four],
                corrections: &[Four],
                out: &mut [u128],
                stride: usize,
            ) {
                let keys = keys_of(permutation);
                let mut words = [[zero(); PER]; BLOCKS];
                let mut tweaks = [zero(); BLOCKS];
                for j in 0..BLOCKS {
                    words[j] = bytemuck::cast(corrections[j]);
                    tweaks[j] = splat(leaf_tweak(j));
                }
                let mut at = 0;
                while at < nodes.len() * BLOCKS {
                    let (mut s, mut x, mut masks) = ([zero(); WIDTH], [zero(); WIDTH], [zero(); WIDTH]);
                    for f in 0..FOURS {
                        // After the last node the first one fills up the group; its leaf there is never read.
                        let node = nodes.get((at + f) / BLOCKS).unwrap_or(&nodes[0]);
                        let node: [$register; PER] = bytemuck::cast(*node);
                        let j = (at + f) % BLOCKS;
                        for p in 0..PER {
                            let i = f * PER + p;
                            x[i] = sigma(xor(node[p], tweaks[j]));
                            s[i] = x[i];
                            masks[i] = and(control(node[p]), words[j][p]);
                        }
                    }
                    permute!(keys, x);
                    for i in 0..WIDTH {
                        x[i] = xor(xor(x[i], s[i]), masks[i]);
                    }
                    $store(&x, out, stride, at);
                    at += FOURS;
                }
            }
        }
    };
}

/// Writes each register's block to its key's part: eight of two fours.
#[target_feature(enable = "avx2")]
#[inline]
fn store_1(x: &[__m128i; WIDTH], out: &mut [u128], stride: usize, at: usize) {
    for q in 0..4 {
        let to = &mut out[q * stride + at..][..2];
        to[0] = bytemuck::cast(x[q]);
        to[1] = bytemuck::cast(x[4 + q]);
    }
}

/// Transposes four fours, of two registers each: pairs of blocks of one key lie side by side.
#[target_feature(enable = "avx2")]
#[inline]
fn store_2(x: &[__m256i; WIDTH], out: &mut [u128], stride: usize, at: usize) {
    for half in 0..2 {
        for (i, register) in [0, 4].into_iter().enumerate() {
            let (a, b) = (x[register + half], x[register + 2 + half]);
            let pairs = [_mm256_permute2x128_si256::<0x20>(a, b), _mm256_permute2x128_si256::<0x31>(a, b)];
            for (q, pair) in pairs.into_iter().enumerate() {
                let to = &mut out[(2 * half + q) * stride + at + 2 * i..][..2];
                to.copy_from_slice(bytemuck::cast_ref::<__m256i, [u128; 2]>(&pair));
            }
        }
    }
}

/// Transposes two squares of four blocks by four keys.
#[target_feature(enable = "avx512f")]
#[inline]
fn store_4(x: &[__m512i; WIDTH], out: &mut [u128], stride: usize, at: usize) {
    for (h, o) in x.as_chunks::<4>().0.iter().enumerate() {
        let (a, b) = (_mm512_shuffle_i32x4::<0x44>(o[0], o[1]), _mm512_shuffle_i32x4::<0xee>(o[0], o[1]));
        let (c, d) = (_mm512_shuffle_i32x4::<0x44>(o[2], o[3]), _mm512_shuffle_i32x4::<0xee>(o[2], o[3]));
        let keys = [
            _mm512_shuffle_i32x4::<0x88>(a, c),
            _mm512_shuffle_i32x4::<0xdd>(a, c),
            _mm512_shuffle_i32x4::<0x88>(b, d),
            _mm512_shuffle_i32x4::<0xdd>(b, d),
        ];
        for (q, key) in keys.into_iter().enumerate() {
            let to: &mut [u128] = &mut out[q * stride + at + 4 * h..][..4];
            to.copy_from_slice(bytemuck::cast_ref::<__m512i, [u128; 4]>(&key));
        }
    }
}

kernel!(aes_ni, "aes,pclmulqdq,avx2", __m128i, one, store_1);
kernel!(vaes_256, "aes,vaes,pclmulqdq,vpclmulqdq,avx2", __m256i, two, store_2);
kernel!(vaes_512, "aes,vaes,pclmulqdq,vpclmulqdq,avx512f,avx512bw,avx512dq,avx512vl", __m512i, four, store_4);
