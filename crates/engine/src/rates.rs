//! The rates of this machine: seconds per unit of each kernel, measured once.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::available_parallelism;

use quorate_ring::meter::{Effort, Kernel};

use crate::calibrate;
use crate::ctx::Ctx;
use crate::error::{Error, Result};

/// Seconds per unit of work, and per round among threads of this process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Seconds per unit by kernel, in the order of [`Kernel::ALL`]: those of one thread while as many others run as
    /// cores allow.
    seconds: [f64; Kernel::COUNT],
    /// Seconds of a round over memory links without work: from one party's sleep to another's waking.
    pub round_seconds: f64,
    /// A party's own seconds for a round: falling asleep and waking up.
    pub wake_seconds: f64,
}

/// Rates by the number of parties that share the machine.
static MEASURED: Mutex<BTreeMap<usize, Rates>> = Mutex::new(BTreeMap::new());

/// Returns the number of cores that this process may use.
pub(crate) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| available_parallelism().map_or(1, usize::from))
}

impl Rates {
    pub(crate) fn new(seconds: [f64; Kernel::COUNT], round_seconds: f64, wake_seconds: f64) -> Rates {
        Rates { seconds, round_seconds, wake_seconds }
    }

    /// Returns the rates of one of `parties` parties, all on this machine, each in a thread. The first call measures
    /// them, in about 50 ms. They are then kept, unless no thread had memory to measure anything.
    pub fn of_this_machine(parties: usize) -> Rates {
        let mut measured = MEASURED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&rates) = measured.get(&parties) {
            return rates;
        }
        let (rates, were_measured) = calibrate::rates(parties);
        if were_measured {
            measured.insert(parties, rates);
        }
        rates
    }

    /// Returns the number of cores that this process may use.
    pub fn cores() -> usize {
        cores()
    }

    /// Forgets all measurements, so that the next call measures anew: for another load or another machine.
    pub fn forget() {
        MEASURED.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns the rates as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let all = self.seconds.iter().chain([&self.round_seconds, &self.wake_seconds]);
        all.flat_map(|each| each.to_le_bytes()).collect()
    }

    /// Reads the bytes of [`Rates::to_bytes`]; `None` for others, and for rates that no machine has.
    pub fn from_bytes(bytes: &[u8]) -> Option<Rates> {
        let mut rates = Rates::new([0.0; Kernel::COUNT], 0.0, 0.0);
        let fits = bytes.len() == 8 * (Kernel::COUNT + 2);
        (fits && rates.raise(0, bytes).is_ok()).then_some(rates)
    }

    /// Returns the largest rate of all parties for each kernel. One round.
    ///
    /// # Errors
    /// Any error that ends a run; [`Error::Malformed`] for rates that no machine has.
    pub async fn slowest(&self, ctx: &Ctx) -> Result<Rates> {
        let own = self.to_bytes();
        let peers = (0..ctx.parties()).filter(|&peer| peer != ctx.me());
        let outgoing: Vec<(usize, &[u8])> = peers.clone().map(|peer| (peer, &own[..])).collect();
        let incoming: Vec<(usize, usize)> = peers.map(|peer| (peer, own.len())).collect();
        let mut slowest = *self;
        for ((peer, _), bytes) in incoming.iter().zip(ctx.exchange_bytes(&outgoing, &incoming).await?) {
            slowest.raise(*peer, &bytes)?;
        }
        Ok(slowest)
    }

    /// Takes the larger of each rate and of a peer's.
    pub(crate) fn raise(&mut self, peer: usize, bytes: &[u8]) -> Result<()> {
        let (words, _) = bytes.as_chunks::<8>();
        let Rates { seconds, round_seconds, wake_seconds } = self;
        let each = seconds.iter_mut().chain([round_seconds, wake_seconds]);
        for (rate, word) in each.zip(words) {
            let theirs = f64::from_le_bytes(*word);
            if !(0.0..1.0).contains(&theirs) {
                return Err(Error::Malformed { peer, what: "rate of no machine" });
            }
            *rate = rate.max(theirs);
        }
        Ok(())
    }

    /// Returns the seconds of one thread for this work.
    pub fn seconds(&self, work: &Effort) -> f64 {
        Kernel::ALL.iter().zip(self.seconds).map(|(&kernel, each)| work.of(kernel) as f64 * each).sum()
    }

    /// Returns the seconds of `threads` threads for this work: of one for what they do not share, at these rates; of
    /// each for its part of the rest, at the rates of as many threads `side_by_side`.
    pub fn seconds_on(&self, threads: usize, side_by_side: &Rates, work: &Effort) -> f64 {
        let seconds = |kernel: Kernel| {
            let (all, shared) = (work.of(kernel), work.shared(kernel));
            let [alone, each] = [self, side_by_side].map(|rates| rates.seconds[kernel as usize]);
            all.saturating_sub(shared) as f64 * alone + shared as f64 * each / threads.max(1) as f64
        };
        Kernel::ALL.into_iter().map(seconds).sum()
    }

    /// Returns the seconds for parties that compute side by side in threads of this machine: those of the busiest core.
    /// `each` holds the seconds of each party alone. Parties that share a core take turns, since they wait for each
    /// other in every round. Most rounds are over before the system would take a core from one party for another.
    pub fn shared(each: &[f64]) -> f64 {
        on(cores(), each)
    }
}

/// Returns the seconds of the busiest of `cores` cores. The longest work is placed first, each on the core with the
/// least work.
fn on(cores: usize, each: &[f64]) -> f64 {
    let mut each = each.to_vec();
    each.sort_by(|a, b| b.total_cmp(a));
    let mut busy = vec![0.0f64; cores.max(1)];
    for seconds in each {
        if let Some(least) = busy.iter_mut().min_by(|a, b| a.total_cmp(b)) {
            *least += seconds;
        }
    }
    busy.into_iter().fold(0.0, f64::max)
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kernel, each) in Kernel::ALL.iter().zip(self.seconds) {
            writeln!(f, "{:<14} {:10.3} ns", format!("{kernel:?}"), each * 1e9)?;
        }
        writeln!(f, "{:<14} {:10.3} us", "round", self.round_seconds * 1e6)?;
        write!(f, "{:<14} {:10.3} us", "wake", self.wake_seconds * 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_ring::meter::{self, charge, charged};

    #[test]
    fn rates_are_positive_and_kept() {
        let rates = Rates::of_this_machine(3);
        assert!(rates.seconds.iter().all(|&each| each > 0.0 && each < 1e-3), "{rates:?}");
        // The time of a page of 4 KiB that the system gives, clears and takes back.
        assert!(rates.seconds[Kernel::FreshFar as usize] < 2e-8, "{rates:?}");
        assert!(rates.round_seconds > 1e-8 && rates.round_seconds < 0.1, "{rates:?}");
        assert!(rates.wake_seconds > 0.0 && rates.wake_seconds < 1e-3, "{rates:?}");
        assert_eq!(rates, Rates::of_this_machine(3));
    }

    #[test]
    fn rates_are_read_back_from_their_bytes() {
        let rates = Rates::new(std::array::from_fn(|i| i as f64 / 1e3), 0.25, 0.5);
        let bytes = rates.to_bytes();
        assert_eq!(Rates::from_bytes(&bytes), Some(rates));
        assert_eq!([&bytes[1..], &[], &[&bytes[..], &[0; 8]].concat()].map(Rates::from_bytes), [None; 3]);
        let negative = Rates::new([-1.0; Kernel::COUNT], 0.0, 0.0).to_bytes();
        assert_eq!(Rates::from_bytes(&negative), None);
    }

    #[test]
    fn work_is_priced_by_its_units() {
        let rates = Rates::new(std::array::from_fn(|i| i as f64), 0.0, 0.0);
        let before = charged();
        charge(Kernel::Stream, 1000);
        charge(Kernel::Fresh, 3);
        charge(Kernel::Multiply, 5);
        let priced = rates.seconds(&(charged() - before));
        assert_eq!(priced, (3 * Kernel::Fresh as usize + 5 * Kernel::Multiply as usize) as f64);
    }

    #[test]
    fn threads_share_what_is_shared_at_the_rates_of_all_of_them() {
        let [alone, each] = [1.0, 1.5].map(|draw| Rates::new([draw; Kernel::COUNT], 0.0, 0.0));
        let before = charged();
        charge(Kernel::Draw, 10);
        meter::shared(|| charge(Kernel::Draw, 80));
        let work = charged() - before;
        assert_eq!(alone.seconds_on(4, &each, &work), 10.0 + 80.0 * 1.5 / 4.0);
        assert_eq!(alone.seconds_on(1, &alone, &work), alone.seconds(&work));
    }

    #[test]
    fn more_parties_than_cores_take_turns() {
        assert_eq!(Rates::shared(&vec![1.0; 4 * cores()]), 4.0);
        assert_eq!(Rates::shared(&[1.0]), 1.0);
        assert_eq!(on(2, &[1.0; 3]), 2.0);
        assert_eq!(on(2, &[1.0, 5.0, 2.0, 1.0]), 5.0);
        assert_eq!(on(4, &[1.0; 3]), 1.0);
    }
}
