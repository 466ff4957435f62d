//! The instruction set of the kernels: detected once, or forced by `QUORATE_SIMD`.

use std::sync::OnceLock;

/// The instruction set of the kernels.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SimdPath {
    /// The instructions that the target guarantees.
    Portable,
    /// AVX2 with BMI1, BMI2, POPCNT.
    Avx2,
    /// AVX-512 F, BW, DQ, VL in addition to AVX2.
    Avx512,
}

/// Returns the path in use: the widest that the processor has, or the one named by the environment variable
/// `QUORATE_SIMD` (`portable`, `avx2`, `avx512`; read once), as far as the processor has it. An unknown name means
/// `portable`.
pub fn simd_path() -> SimdPath {
    #[cfg(test)]
    if let Some(path) = forced::get() {
        return path;
    }
    static PATH: OnceLock<SimdPath> = OnceLock::new();
    *PATH.get_or_init(|| {
        let wanted = match std::env::var("QUORATE_SIMD") {
            Err(_) => SimdPath::Avx512,
            Ok(name) => match name.as_str() {
                "avx512" | "" => SimdPath::Avx512,
                "avx2" => SimdPath::Avx2,
                _ => SimdPath::Portable,
            },
        };
        wanted.min(available())
    })
}

/// Returns the widest path that this processor has.
fn available() -> SimdPath {
    #[cfg(target_arch = "x86_64")]
    {
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        match (avx2, avx512) {
            (true, true) => SimdPath::Avx512,
            (true, false) => SimdPath::Avx2,
            _ => SimdPath::Portable,
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    SimdPath::Portable
}

/// Compiles one kernel body three times (portable, AVX2, AVX-512) and selects a version at run time.
///
/// The body is an inlined function of plain slices, so the versions differ only in the instructions that the compiler
/// may vectorise with. Tests compare the others with the portable one. With `limit avx2;` in front, processors with
/// AVX-512 also run the AVX2 version: for bodies that wider registers make slower. With `words W;` in front, carrier
/// words W of more than 128 bits have one version with BMI2's multiplication instead of those two. Their carries go
/// from limb to limb, and compilers that put limbs into vectors make that slower.
macro_rules! multiversion {
    (@widest $avx2:ident $avx512:ident) => { $avx512 };
    (@widest avx2 $avx2:ident $avx512:ident) => { $avx2 };
    (@long) => { false };
    (@long $word:ident) => { <$word as crate::word::Word>::BITS > 128 };
    (
        $(#[$meta:meta])* $(limit $limit:ident;)? $(words $word:ident;)?
        fn $name:ident [$($gen:tt)*] ($($arg:ident : $ty:ty),* $(,)?) $(-> $ret:ty)? $(where [$($bound:tt)*])?
        $body:block
    ) => {
        $(#[$meta])*
        pub(crate) fn $name<$($gen)*>($($arg: $ty),*) $(-> $ret)? $(where $($bound)*)? {
            #[inline(always)]
            fn body<$($gen)*>($($arg: $ty),*) $(-> $ret)? $(where $($bound)*)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
                fn avx2<$($gen)*>($($arg: $ty),*) $(-> $ret)? $(where $($bound)*)? {
                    body($($arg),*)
                }
                #[allow(dead_code, reason = "a body with a limit does not use it")]
                #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
                fn avx512<$($gen)*>($($arg: $ty),*) $(-> $ret)? $(where $($bound)*)? {
                    body($($arg),*)
                }
                #[target_feature(enable = "bmi1,bmi2")]
                fn long<$($gen)*>($($arg: $ty),*) $(-> $ret)? $(where $($bound)*)? {
                    body($($arg),*)
                }
                use crate::simd::{SimdPath, multiversion};
                if const { multiversion!(@long $($word)?) } {
                    return match crate::simd::simd_path() {
                        SimdPath::Portable => body($($arg),*),
                        // SAFETY: `simd_path` gives another path only after it found these features here.
                        _ => unsafe { long($($arg),*) },
                    };
                }
                match crate::simd::simd_path() {
                    // SAFETY: `simd_path` gives a path only after it found each of these features on this processor.
                    SimdPath::Avx512 => return unsafe { multiversion!(@widest $($limit)? avx2 avx512)($($arg),*) },
                    // SAFETY: as above.
                    SimdPath::Avx2 => return unsafe { avx2($($arg),*) },
                    SimdPath::Portable => {}
                }
            }
            body($($arg),*)
        }
    };
}
pub(crate) use multiversion;

/// Lets a test run one closure on each path that this processor has.
#[cfg(test)]
pub(crate) mod forced {
    use super::{SimdPath, available};
    use std::cell::Cell;

    thread_local!(static FORCED: Cell<Option<SimdPath>> = const { Cell::new(None) });

    pub(super) fn get() -> Option<SimdPath> {
        FORCED.get()
    }

    /// Returns the results of `run` on every path, the portable one first.
    pub(crate) fn on_all<T>(run: impl Fn() -> T) -> Vec<(SimdPath, T)> {
        let paths = [SimdPath::Portable, SimdPath::Avx2, SimdPath::Avx512];
        let results = paths.into_iter().filter(|path| *path <= available()).map(|path| {
            FORCED.set(Some(path));
            (path, run())
        });
        let results = results.collect();
        FORCED.set(None);
        results
    }
}
