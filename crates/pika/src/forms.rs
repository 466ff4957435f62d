//! Where two protocols give the same result: which one runs.
//!
//! A comparison by [keys](crate::comparison) takes one round and a key of some 900 bytes to each of parties 0 and 1;
//! one by dealt edaBits some 40 bytes and a round for each level of a tree. So keys serve few numbers, or slow links,
//! and edaBits many. Both are predicted, as all parties agree on what that depends on: the formulas of
//! [`cost`](crate::cost), the network that the session names, how many numbers there are, and a stated time of
//! computing.

use quorate_gadgets::cost::Link;
use quorate_gadgets::{Choice, Choices};

use crate::cost::Bill;
use crate::setup::Pika;
use crate::stock::Kind;

const AUTO: &str = "auto";
const EDABITS: &str = "edabits";
const KEYS: &str = "keys";

/// What compares and truncates.
pub const COMPARISONS: Choice = Choice {
    name: "comparisons",
    values: &[AUTO, EDABITS, KEYS],
    help: "by what the semi-honest form compares and truncates: \"auto\" for what takes less time on the network that \
           is named; dealt \"edabits\", which take few bytes; \"keys\" of the masks, which take few rounds",
};

/// The largest ring whose elements have keys.
const MOST_BITS: u32 = 64;

/// Where no network is named: threads of one process.
const THREADS: Link = Link { round_trip_seconds: 16e-6, bytes_per_second: 4e9 };

/// Of dealing, packing and evaluating a block of a key, all parties together on two cores.
const BLOCK_SECONDS: f64 = 8e-9;
/// Of dealing and using 64 bits of any other correlation.
const WORD_SECONDS: f64 = 20e-9;

/// By what signs, equality and truncation are computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Comparisons {
    /// Whichever is predicted to take less time on this link.
    Cheaper(Link),
    /// Carries of dealt bits.
    EdaBits,
    /// Parities of dealt keys.
    Keys,
}

impl Default for Comparisons {
    fn default() -> Comparisons {
        Comparisons::Cheaper(THREADS)
    }
}

impl Comparisons {
    /// What a session chose.
    pub(crate) fn of(choices: &Choices) -> Comparisons {
        match choices.of(&COMPARISONS) {
            EDABITS => Comparisons::EdaBits,
            KEYS => Comparisons::Keys,
            _ => choices.link.map_or_else(Comparisons::default, Comparisons::Cheaper),
        }
    }

    /// Whether keys are predicted to take less time than edaBits.
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

/// Of all phases.
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
    /// By what signs, equality and truncation are computed.
    pub fn comparisons(&self) -> Comparisons {
        self.comparisons.get()
    }

    /// Chooses that: alike at all parties and in dry runs.
    pub fn set_comparisons(&self, form: Comparisons) {
        self.comparisons.set(form);
    }

    /// Whether `len` numbers of so many bits are compared by keys, given the costs by edaBits and by keys.
    pub(crate) fn takes_keys(&self, bits: u32, len: usize, costs: impl FnOnce() -> [Bill; 2]) -> bool {
        (2..=MOST_BITS).contains(&bits) && len > 0 && self.comparisons().prefers_keys(costs)
    }
}
