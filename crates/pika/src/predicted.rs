//! The choice between two protocols with the same result.
//!
//! A comparison by [keys](crate::comparison) takes one round, and a key of about 900 bytes to each of parties 0 and 1.
//! A comparison by dealt edaBits takes about 40 bytes, and a round for each level of a tree. So keys suit few numbers,
//! or slow links, and edaBits suit many numbers. Both times are predicted from values on which all parties agree: the
//! formulas of [`cost`](crate::cost), the network that the session names, how many numbers are compared, and a stated
//! time of computing.

use quorate_gadgets::cost::Link;

use crate::cost::Bill;
use crate::forms::Comparisons;
use crate::kind::Kind;
use crate::setup::Pika;

/// The largest number of bits of an element that has keys.
const MOST_BITS: u32 = 64;

/// Seconds for dealing, packing and evaluating a block of a key, all parties together on two cores.
const BLOCK_SECONDS: f64 = 8e-9;
/// Seconds for dealing and using 64 bits of any other correlation.
const WORD_SECONDS: f64 = 20e-9;

impl Comparisons {
    /// Returns whether keys are predicted to take less time than edaBits.
    fn prefers_keys(self, costs: impl FnOnce() -> [Bill; 2]) -> bool {
        match self {
            Comparisons::EdaBits => false,
            Comparisons::Keys => true,
            Comparisons::Cheaper(link) => {
                let [edabits, keys] = costs().map(|bill| seconds(&bill, link));
                keys < edabits
            }
        }
    }
}

/// Returns the predicted seconds of all phases.
fn seconds(bill: &Bill, link: Link) -> f64 {
    let cost = bill.offline().then(bill.online);
    let most = |each: &[u64]| each.iter().copied().fold(0, u64::max);
    let rounds = cost.rounds.iter().copied().fold(0, u32::max);
    link.seconds(rounds, most(&cost.bytes)) + bill.demand.iter().map(|(kind, &len)| computing(kind, len)).sum::<f64>()
}

fn computing(kind: &Kind, len: usize) -> f64 {
    let blocks: usize = kind.keys().iter().map(|shape| shape.key_blocks()).sum();
    let layout = kind.layout(1);
    let bits: usize = layout.vectors.iter().map(|(ring, count)| ring.bits() as usize * count).sum();
    let others = bits - 128 * blocks + layout.bits.iter().sum::<usize>();
    len as f64 * (blocks as f64 * BLOCK_SECONDS + others as f64 / 64.0 * WORD_SECONDS)
}

impl Pika {
    /// Returns whether `len` numbers of `bits` bits are compared by keys, given the costs by edaBits and by keys.
    pub(crate) fn takes_keys(&self, bits: u32, len: usize, costs: impl FnOnce() -> [Bill; 2]) -> bool {
        (2..=MOST_BITS).contains(&bits) && len > 0 && self.comparisons().prefers_keys(costs)
    }
}
