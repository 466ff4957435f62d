//! AES on 32 blocks in registers, for processors that encrypt four blocks at a time: whole slices, TMMO, and the gates
//! of garbled circuits.

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::Vaes;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use quorate_ring::{SimdPath, simd_path};

    use crate::half_gates::Tables;
    use crate::tccr::{RUN, Run};

    /// The number of registers of four blocks in a run.
    const WIDE: usize = RUN / 4;

    /// The round keys of AES-128, on a processor that has VAES and AVX-512.
    #[derive(Clone)]
    pub(crate) struct Vaes {
        keys: [__m128i; 11],
    }

    impl Vaes {
        /// Expands the key; `None` if the processor lacks the instructions or `QUORATE_SIMD` forbids them.
        pub(crate) fn new(key: &[u8; 16]) -> Option<Vaes> {
            let able =
                simd_path() == SimdPath::Avx512 && is_x86_feature_detected!("aes") && is_x86_feature_detected!("vaes");
            // SAFETY: `able` is true only if the processor has AES, and with it SSE2.
            able.then(|| Vaes { keys: unsafe { expand(bytemuck::cast(*key)) } })
        }

        /// Encrypts each block of `from` into `to`, up to the shorter length.
        pub(crate) fn encrypt_into(&self, from: &[[u8; 16]], to: &mut [[u8; 16]]) {
            // SAFETY: as below.
            unsafe { encrypt_into(&self.keys, from, to) }
        }

        /// Replaces x_i by pi(pi(x_i) xor t_i) xor pi(x_i) in both runs, where t_i = `tweaks` + i; no such sum may
        /// carry beyond its low 64 bits.
        #[inline]
        pub(crate) fn hash_pair(&self, runs: &mut [Run; 2], tweaks: [u128; 2]) {
            // SAFETY: there is a `Vaes` only after `new` found AES, VAES and AVX-512 F on this processor.
            unsafe { hash_pair(&self.keys, runs, tweaks) }
        }

        /// Runs [`Tccr::hash_twice`](crate::Tccr::hash_twice) for tweaks that do not carry beyond 64 bits; both slices
        /// have one length.
        pub(crate) fn hash_twice(&self, blocks: &mut [u128], others: &mut [u128], tweaks: [u128; 2]) {
            // SAFETY: as above.
            unsafe { hash_twice(&self.keys, blocks, others, tweaks) }
        }

        /// Runs [`Tccr::garble_ands`](crate::Tccr::garble_ands) for tweaks that do not carry beyond 64 bits.
        #[inline]
        pub(crate) fn garble_ands(
            &self,
            inputs: [&Run; 2],
            r: u128,
            tweaks: [u128; 2],
            tables: &mut Tables,
            out: &mut Run,
        ) {
            // SAFETY: as above.
            unsafe { garble_ands(&self.keys, inputs, r, tweaks, tables, out) }
        }

        /// Runs [`Tccr::evaluate_ands`](crate::Tccr::evaluate_ands) for tweaks that do not carry beyond 64 bits.
        #[inline]
        pub(crate) fn evaluate_ands(&self, inputs: [&Run; 2], tweaks: [u128; 2], tables: &Tables, out: &mut Run) {
            // SAFETY: as above.
            unsafe { evaluate_ands(&self.keys, inputs, tweaks, tables, out) }
        }
    }

    impl Drop for Vaes {
        fn drop(&mut self) {
            zeroize::Zeroize::zeroize(&mut self.keys);
        }
    }

    /// The permutation on a few registers, expanded into the caller's code so that they stay registers.
    macro_rules! permute {
        ($keys:expr, $blocks:expr) => {{
            let whitening = _mm512_broadcast_i32x4($keys[0]);
            for block in $blocks {
                *block = _mm512_xor_si512(*block, whitening);
            }
            for key in &$keys[1..10] {
                let key = _mm512_broadcast_i32x4(*key);
                for block in $blocks {
                    *block = _mm512_aesenc_epi128(*block, key);
                }
            }
            let last = _mm512_broadcast_i32x4($keys[10]);
            for block in $blocks {
                *block = _mm512_aesenclast_epi128(*block, last);
            }
        }};
    }

    /// The number of blocks of a group of registers.
    const GROUP: usize = 2 * RUN;

    #[target_feature(enable = "aes,vaes,avx512f")]
    fn encrypt_into(keys: &[__m128i; 11], from: &[[u8; 16]], to: &mut [[u8; 16]]) {
        let (from_groups, from_rest) = from.as_chunks::<GROUP>();
        let (to_groups, to_rest) = to.as_chunks_mut::<GROUP>();
        for (from, to) in from_groups.iter().zip(to_groups) {
            let mut blocks: [__m512i; GROUP / 4] = bytemuck::cast(*from);
            permute!(keys, &mut blocks);
            *to = bytemuck::cast(blocks);
        }
        match from_rest.len() {
            0 => {}
            1..=FEW => encrypt_rest::<{ FEW / 4 }>(keys, from_rest, to_rest),
            _ => encrypt_rest::<{ GROUP / 4 }>(keys, from_rest, to_rest),
        }
    }

    /// The number of blocks in two registers.
    const FEW: usize = 8;

    /// Encrypts fewer blocks than these registers hold, without a detour through memory.
    #[target_feature(enable = "aes,vaes,avx512f")]
    #[inline]
    fn encrypt_rest<const REGISTERS: usize>(keys: &[__m128i; 11], from: &[[u8; 16]], to: &mut [[u8; 16]]) {
        let len = from.len().min(to.len()).min(4 * REGISTERS);
        // The mask of the existing words of register i.
        let words = |i: usize| ((1u16 << (2 * len.saturating_sub(4 * i).min(4))) - 1) as __mmask8;
        let mut blocks = [_mm512_setzero_si512(); REGISTERS];
        for (i, block) in blocks.iter_mut().enumerate() {
            // SAFETY: what lies behind the `len` blocks is masked, and not read.
            *block = unsafe { _mm512_maskz_loadu_epi64(words(i), from.as_ptr().wrapping_add(4 * i).cast()) };
        }
        permute!(keys, &mut blocks);
        for (i, block) in blocks.into_iter().enumerate() {
            // SAFETY: what lies behind the `len` blocks is masked, and not written.
            unsafe { _mm512_mask_storeu_epi64(to.as_mut_ptr().wrapping_add(4 * i).cast(), words(i), block) };
        }
    }

    #[target_feature(enable = "aes")]
    fn expand(key: __m128i) -> [__m128i; 11] {
        let mut keys = [key; 11];
        macro_rules! round {
            ($i:literal, $constant:literal) => {
                keys[$i] = next_key(keys[$i - 1], _mm_aeskeygenassist_si128::<$constant>(keys[$i - 1]));
            };
        }
        round!(1, 0x01);
        round!(2, 0x02);
        round!(3, 0x04);
        round!(4, 0x08);
        round!(5, 0x10);
        round!(6, 0x20);
        round!(7, 0x40);
        round!(8, 0x80);
        round!(9, 0x1b);
        round!(10, 0x36);
        keys
    }

    #[target_feature(enable = "aes")]
    fn next_key(key: __m128i, assist: __m128i) -> __m128i {
        // Each word becomes the sum of the words up to it and of the last word's substitution.
        let key = _mm_xor_si128(key, _mm_slli_si128::<4>(key));
        let key = _mm_xor_si128(key, _mm_slli_si128::<8>(key));
        _mm_xor_si128(key, _mm_shuffle_epi32::<0xff>(assist))
    }

    #[target_feature(enable = "aes,vaes,avx512f")]
    fn hash_pair(keys: &[__m128i; 11], runs: &mut [Run; 2], tweaks: [u128; 2]) {
        *runs = bytemuck::cast(hash(keys, bytemuck::cast(*runs), tweaks));
    }

    #[target_feature(enable = "aes,vaes,avx512f")]
    fn hash_twice(keys: &[__m128i; 11], blocks: &mut [u128], others: &mut [u128], mut tweaks: [u128; 2]) {
        let mut run: Run = [0; RUN];
        for (blocks, others) in blocks.chunks_mut(RUN).zip(others.chunks_mut(RUN)) {
            run[..blocks.len()].copy_from_slice(blocks);
            let mut first: WideRun = bytemuck::cast(run);
            permute!(keys, &mut first);
            let [one, other]: [Run; 2] = bytemuck::cast(finish(keys, [first, first], tweaks));
            blocks.copy_from_slice(&one[..blocks.len()]);
            others.copy_from_slice(&other[..others.len()]);
            tweaks = tweaks.map(|tweak| tweak.wrapping_add(RUN as u128));
        }
        zeroize::Zeroize::zeroize(&mut run);
    }

    /// Garbles 16 gates; the figure's lines are those of `garble_portably`.
    #[target_feature(enable = "aes,vaes,avx512f")]
    fn garble_ands(
        keys: &[__m128i; 11],
        [wa0, wb0]: [&Run; 2],
        r: u128,
        [j, j2]: [u128; 2],
        tables: &mut Tables,
        out: &mut Run,
    ) {
        let r = _mm512_broadcast_i32x4(bytemuck::cast(r));
        let (wa0, wb0): (WideRun, WideRun) = (bytemuck::cast(*wa0), bytemuck::cast(*wb0));
        let [ha0, ha1] = hash(keys, [wa0, shifted(wa0, r)], [j, j]);
        let [hb0, hb1] = hash(keys, [wb0, shifted(wb0, r)], [j2, j2]);
        let (mut tg, mut te, mut w0) = (wa0, wa0, wa0);
        for i in 0..WIDE {
            let (pa, pb) = (colours(wa0[i]), colours(wb0[i]));
            tg[i] = xor3(ha0[i], ha1[i], _mm512_and_si512(pb, r));
            let wg0 = _mm512_xor_si512(ha0[i], _mm512_and_si512(pa, tg[i]));
            let hb = _mm512_xor_si512(hb0[i], hb1[i]);
            te[i] = _mm512_xor_si512(hb, wa0[i]);
            let we0 = _mm512_xor_si512(hb0[i], _mm512_and_si512(pb, hb));
            w0[i] = _mm512_xor_si512(wg0, we0);
        }
        *tables = bytemuck::cast([tg, te]);
        *out = bytemuck::cast(w0);
    }

    #[target_feature(enable = "aes,vaes,avx512f")]
    fn evaluate_ands(keys: &[__m128i; 11], [wa, wb]: [&Run; 2], tweaks: [u128; 2], tables: &Tables, out: &mut Run) {
        let (wa, wb): (WideRun, WideRun) = (bytemuck::cast(*wa), bytemuck::cast(*wb));
        let [ha, hb] = hash(keys, [wa, wb], tweaks);
        let [tg, te]: [WideRun; 2] = bytemuck::cast(*tables);
        let mut w = wa;
        for i in 0..WIDE {
            let (sa, sb) = (colours(wa[i]), colours(wb[i]));
            let wg = _mm512_xor_si512(ha[i], _mm512_and_si512(sa, tg[i]));
            let we = _mm512_xor_si512(hb[i], _mm512_and_si512(sb, _mm512_xor_si512(te[i], wa[i])));
            w[i] = _mm512_xor_si512(wg, we);
        }
        *out = bytemuck::cast(w);
    }

    /// A run in registers.
    type WideRun = [__m512i; WIDE];

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn shifted(run: WideRun, r: __m512i) -> WideRun {
        let mut shifted = run;
        for block in &mut shifted {
            *block = _mm512_xor_si512(*block, r);
        }
        shifted
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        _mm512_xor_si512(_mm512_xor_si512(a, b), c)
    }

    /// Returns for each block all ones if its lowest bit is set, else zeros.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn colours(labels: __m512i) -> __m512i {
        let lowest = _mm512_and_si512(labels, _mm512_set1_epi64(1));
        let halves = _mm512_sub_epi64(_mm512_setzero_si512(), lowest);
        _mm512_unpacklo_epi64(halves, halves)
    }

    #[target_feature(enable = "aes,vaes,avx512f")]
    #[inline]
    fn hash(keys: &[__m128i; 11], runs: [WideRun; 2], tweaks: [u128; 2]) -> [WideRun; 2] {
        let mut first = runs;
        permute!(keys, first.as_flattened_mut());
        finish(keys, first, tweaks)
    }

    /// Returns pi(y_i xor t_i) xor y_i.
    #[target_feature(enable = "aes,vaes,avx512f")]
    #[inline]
    fn finish(keys: &[__m128i; 11], first: [WideRun; 2], tweaks: [u128; 2]) -> [WideRun; 2] {
        let mut blocks = first;
        for (run, tweak) in blocks.iter_mut().zip(tweaks) {
            let tweak = _mm512_broadcast_i32x4(bytemuck::cast(tweak));
            for (i, block) in run.iter_mut().enumerate() {
                let i = 4 * i as i64;
                let tweaks = _mm512_add_epi64(tweak, _mm512_set_epi64(0, i + 3, 0, i + 2, 0, i + 1, 0, i));
                *block = _mm512_xor_si512(*block, tweaks);
            }
        }
        permute!(keys, blocks.as_flattened_mut());
        for (block, first) in blocks.as_flattened_mut().iter_mut().zip(first.as_flattened()) {
            *block = _mm512_xor_si512(*block, *first);
        }
        blocks
    }
}
