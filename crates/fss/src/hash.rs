//! The hash of the tree, H(s) = pi(sigma(s)) xor sigma(s) with sigma(L || R) = (L xor R) || L, and the instructions on
//! which it runs.
//!
//! **Source**: Guo, Katz, Wang, Yu, S&P 2020 (ePrint 2019/074), section 7.2: sigma is linear and s -> s xor sigma(s) a
//! bijection, which makes H circular correlation robust where pi is an ideal permutation. pi is AES-128 under a key of
//! the session. R is the lower half of a block, whose lowest bit is a node's control bit.

use quorate_crypto::Tccr;
use quorate_ring::{SimdPath, simd_path};

use crate::kernel::{self, Four};

/// Instructions on which trees are evaluated. All give the same results.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kernel {
    /// No explicit instructions; the `aes` crate detects those of the processor.
    Portable,
    /// AES on one block at a time, sums with AVX2.
    AesNi,
    /// AES on two blocks at a time, sums with AVX2.
    Vaes256,
    /// AES on four blocks at a time, sums with AVX-512.
    Vaes512,
}

impl Kernel {
    /// Returns the kernels of this processor, as far as `QUORATE_SIMD` allows them; the portable one first.
    pub fn available() -> Vec<Kernel> {
        #[cfg(target_arch = "x86_64")]
        {
            let aes = is_x86_feature_detected!("aes") && is_x86_feature_detected!("pclmulqdq");
            let vaes = aes && is_x86_feature_detected!("vaes") && is_x86_feature_detected!("vpclmulqdq");
            let able = |kernel: &Kernel| match kernel {
                Kernel::Portable => true,
                Kernel::AesNi => aes && simd_path() >= SimdPath::Avx2,
                Kernel::Vaes256 => vaes && simd_path() >= SimdPath::Avx2,
                Kernel::Vaes512 => {
                    vaes && simd_path() == SimdPath::Avx512 && is_x86_feature_detected!("avx512vpopcntdq")
                }
            };
            [Kernel::Portable, Kernel::AesNi, Kernel::Vaes256, Kernel::Vaes512].into_iter().filter(able).collect()
        }
        #[cfg(not(target_arch = "x86_64"))]
        vec![Kernel::Portable]
    }
}

/// The name under which pi's key is derived.
const TREE: &str = "quorate/fss/tree";
/// The name under which the key of the permutation of proofs is derived.
const PROOF: &str = "quorate/fss/proof";

/// The hashes of one session, which every evaluation needs.
pub struct Hash {
    pub(crate) kernel: Kernel,
    pub(crate) tree: kernel::Permutation,
    pub(crate) proof: kernel::Permutation,
}

impl Hash {
    /// Returns the hashes of a session, on the fastest instructions.
    pub fn new(session: &Tccr) -> Hash {
        let kernel = Kernel::available().into_iter().max().unwrap_or(Kernel::Portable);
        Self::on(session, kernel)
    }

    /// Returns the hashes of a session on these instructions, if the processor has them.
    pub fn with_kernel(session: &Tccr, kernel: Kernel) -> Option<Hash> {
        Kernel::available().contains(&kernel).then(|| Self::on(session, kernel))
    }

    fn on(session: &Tccr, kernel: Kernel) -> Hash {
        let permutation = |domain| kernel::Permutation::new(&session.permutation_key(domain));
        Hash { kernel, tree: permutation(TREE), proof: permutation(PROOF) }
    }

    /// Returns the instructions on which it runs.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Computes to_i = H(from_i xor tweak).
    pub(crate) fn each(&self, from: &[Four], tweak: u128, to: &mut [Four]) {
        kernel::hash(self, from, tweak, to);
    }
}

/// Returns all ones if the control bit of a node is set, else zeros.
#[inline(always)]
pub(crate) fn control(node: u128) -> u128 {
    0u128.wrapping_sub(node & 1)
}

/// Returns a child of a node: the left one or, if `right` is all ones, the right one. `hashed` is H(node).
#[inline(always)]
pub(crate) fn child(node: u128, hashed: u128, correction: u128, right: u128) -> u128 {
    hashed ^ (control(node) & correction) ^ (node & right)
}

/// Returns the tweak of block `j` of a leaf. It is even, so that it never equals the difference of two nodes.
#[inline(always)]
pub(crate) const fn leaf_tweak(j: usize) -> u128 {
    2 * (j as u128 + 1)
}

#[cfg(test)]
mod tests {
    use quorate_crypto::{SessionId, Tccr};

    use super::*;

    #[test]
    fn proofs_have_a_permutation_of_their_own() {
        let hash = Hash::new(&Tccr::new(&SessionId::from_bytes([3; 32])));
        assert_ne!(kernel::proof(&hash.tree, 1, 2), kernel::proof(&hash.proof, 1, 2));
    }
}
