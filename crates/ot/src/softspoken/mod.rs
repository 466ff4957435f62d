//! OT extension by vector OLE over small fields.
//!
//! **Source**: Roy, "SoftSpokenOT: Quieter OT Extension from Small-Field Silent VOLE in the Minicrypt Model", CRYPTO
//! 2022 (ePrint 2022/192): small-field VOLE, the repetition code and the check of its columns. With f = 1 it is the
//! extension of Ishai, Kilian, Nissim, Petrank 2003 in the form of Asharov, Lindell, Schneider, Zohner 2013. **Model**:
//! semi-honest or malicious. **Deviation**: the digests of the columns are sent as a hash; the argument for the check,
//! in docs/security/ot.md, is a direct one for the repetition code. **Notation**: tree i has 2^f leaves x with
//! functions F_x, of which the sender lacks the one at alpha_i; Delta is all alpha_i side by side. Bits u, columns V
//! and W of 128 bits an OT: V is the receiver's t, W the sender's q.
//!
//! | step | receiver | sender |
//! |---|---|---|
//! | 1 | u_i = sum of F_x, V_i = sum of x F_x; u = u_0 | W_i = sum of (x - alpha_i) F_x, x other than alpha_i |
//! | 2 | sends C_i = u_i + u for i > 0, and d = c + u for chosen bits c | |
//! | 3 | | W_i = W_i + alpha_i C_i: now W = V + u Delta |
//! | check | | sends chi (malicious) |
//! | check | sends H(u), and a hash of H(V) | compares with H(W) + H(u) Delta |
//! | 4 | rows t of V | rows q of W, + d Delta for chosen bits |
//!
//! Sums are over F_2; F_x(instance + j) gives 128 OTs. H is linear: two polynomials over GF(2^64) in chi, each masked
//! by 64 more OTs that are thrown away. One round, three with the check. The receiver sends (128/f - 1)/8 bytes an OT.
//! No timing depends on a secret.

mod check;
mod columns;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub(crate) use receiver::SoftReceiver;
pub(crate) use sender::SoftSender;

use quorate_ring::Bits;

use crate::communication::Cost;
use crate::options::Options;

/// OTs that one block of the functions gives.
pub(crate) const GROUP: usize = 128;
/// Groups processed together: their columns of one tree fit a core's first cache.
const TILE_GROUPS: usize = 64;

/// The groups of a batch.
#[derive(Clone, Copy)]
struct Batch {
    len: usize,
    /// The number of groups of wanted OTs.
    groups: usize,
    /// Whether one more group masks the check.
    checked: bool,
}

impl Batch {
    fn new(len: usize, options: Options) -> Batch {
        Batch { len, groups: len.div_ceil(GROUP), checked: options.is_malicious() && len > 0 }
    }

    /// Returns the number of all groups.
    fn all_groups(self) -> usize {
        self.groups + usize::from(self.checked)
    }

    /// Returns tiles as first group and number of groups; the last tile is the mask's if there is one.
    fn tiles(self) -> impl Iterator<Item = (usize, usize)> {
        let data =
            (0..self.groups).step_by(TILE_GROUPS).map(move |first| (first, (self.groups - first).min(TILE_GROUPS)));
        data.chain(self.checked.then_some((self.groups, 1)))
    }

    /// Returns the bits of the receiver's corrections.
    fn correction_bits(self, options: Options) -> usize {
        (options.depths().len() - 1) * self.all_groups() * GROUP
    }

    /// Returns the shape of the receiver's message, one row of bits: the corrections, then the differences from random
    /// to chosen bits.
    fn message(self, options: Options, given: bool) -> (usize, usize) {
        (1, self.correction_bits(options) + if given { self.len } else { 0 })
    }
}

/// Returns the costs of a batch.
pub(crate) fn cost(options: Options, len: usize, given: bool) -> Cost {
    let batch = Batch::new(len, options);
    let (rows, lanes) = batch.message(options, given);
    let receiver = Bits::packed_bytes(rows, lanes) as u64;
    if batch.checked {
        let (challenge, answer) = (check::CHALLENGE_BYTES as u64, check::ANSWER_BYTES as u64);
        return Cost { rounds: 3, by_sender: challenge, by_receiver: receiver + answer };
    }
    Cost { rounds: 1, by_sender: 0, by_receiver: receiver }
}
