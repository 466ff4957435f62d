//! What work costs on this machine: seconds per unit of each kernel, measured once.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;

use quorate_ring::meter::{Kernel, Work};

use crate::calibrate;

/// Seconds per unit of work, and per round among threads of this process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// By kernel, in the order of [`Kernel::ALL`]; those of one thread while as many others run as cores allow.
    seconds: [f64; Kernel::COUNT],
    /// From sending a small message to having the peers' ones, over memory links.
    pub round_seconds: f64,
}

/// Rates by the number of parties that share the machine.
static MEASURED: Mutex<BTreeMap<usize, Rates>> = Mutex::new(BTreeMap::new());

/// Cores that this process may use.
pub(crate) fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

impl Rates {
    pub(crate) fn new(seconds: [f64; Kernel::COUNT], round_seconds: f64) -> Rates {
        Rates { seconds, round_seconds }
    }

    /// The rates of one of so many parties, all on this machine, each in a thread. Measured when first asked for, in
    /// about 50 ms, and then kept.
    pub fn of_this_machine(parties: usize) -> Rates {
        let mut measured = MEASURED.lock().unwrap_or_else(PoisonError::into_inner);
        *measured.entry(parties).or_insert_with(|| calibrate::rates(parties))
    }

    /// Forgets what was measured, so that the next question measures anew: another load, another machine.
    pub fn forget() {
        MEASURED.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Seconds of one thread for this work.
    pub fn seconds(&self, work: &Work) -> f64 {
        Kernel::ALL.iter().zip(self.seconds).map(|(&kernel, each)| work.of(kernel) as f64 * each).sum()
    }

    /// Seconds for parties that compute side by side in threads of this machine, given those of each alone: the busiest
    /// one's, or, where there are fewer cores, an equal part of all.
    pub fn shared(each: &[f64]) -> f64 {
        let busiest = each.iter().copied().fold(0.0, f64::max);
        busiest.max(each.iter().sum::<f64>() / cores() as f64)
    }
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kernel, each) in Kernel::ALL.iter().zip(self.seconds) {
            writeln!(f, "{:<14} {:10.3} ns", format!("{kernel:?}"), each * 1e9)?;
        }
        write!(f, "{:<14} {:10.3} us", "round", self.round_seconds * 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_ring::meter::{charge, charged};

    #[test]
    fn rates_are_positive_and_kept() {
        let rates = Rates::of_this_machine(3);
        assert!(rates.seconds.iter().all(|&each| each > 0.0 && each < 1e-3), "{rates:?}");
        assert!(rates.round_seconds > 1e-7 && rates.round_seconds < 0.1, "{rates:?}");
        assert_eq!(rates, Rates::of_this_machine(3));
    }

    #[test]
    fn work_is_priced_by_its_units() {
        let rates = Rates::new(std::array::from_fn(|i| i as f64), 0.0);
        let before = charged();
        charge(Kernel::Stream, 1000);
        charge(Kernel::Fresh, 3);
        charge(Kernel::Multiply, 5);
        let priced = rates.seconds(&(charged() - before));
        assert_eq!(priced, (3 * Kernel::Fresh as usize + 5 * Kernel::Multiply as usize) as f64);
    }

    #[test]
    fn more_parties_than_cores_share_them() {
        let cores = cores();
        assert_eq!(Rates::shared(&vec![1.0; 4 * cores]), 4.0);
        assert_eq!(Rates::shared(&[1.0]), 1.0);
    }
}
