//! A model of a network by two numbers, round-trip time and bandwidth, to price a program before it runs.

use std::str::FromStr;
use std::time::Duration;

/// Links between parties, all equal and independent of each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Network {
    /// Round-trip time; one message takes half of it.
    pub rtt: Duration,
    /// The bandwidth of one party in bits per second; `None`: unlimited.
    pub bits_per_second: Option<f64>,
}

/// A text that does not describe a network.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NetworkError {
    /// Neither a name nor two numbers with a comma between.
    #[error("network {text:?} is not known: say lan, wan, or RTT_MS,MBIT (for instance 70,100)")]
    Unknown {
        /// The text as given.
        text: String,
    },
    /// A round-trip time that is not a number, is negative, or is above an hour.
    #[error("network {text:?}: the round-trip time must be a number of milliseconds from 0 to 3600000")]
    Rtt {
        /// The text, or both numbers as text.
        text: String,
    },
    /// A bandwidth that is not a finite number above 0.
    #[error("network {text:?}: the bandwidth must be a positive number of Mbit/s")]
    Bandwidth {
        /// The text, or both numbers as text.
        text: String,
    },
}

impl Network {
    /// 0.106 ms and 1 Gbit/s: the local network on which the paper on replicated sharing measures.
    pub const LAN: Network = Network { rtt: Duration::from_micros(106), bits_per_second: Some(1e9) };
    /// 46 ms and 76 Mbit/s: the wide-area network of the same paper (Appendix D).
    pub const WAN: Network = Network { rtt: Duration::from_millis(46), bits_per_second: Some(76e6) };

    /// Returns the network with this round-trip time in milliseconds and bandwidth in Mbit/s.
    pub fn new(rtt_ms: f64, mbit: f64) -> Result<Network, NetworkError> {
        let text = || format!("{rtt_ms},{mbit}");
        if !(0.0..=3.6e6).contains(&rtt_ms) {
            return Err(NetworkError::Rtt { text: text() });
        }
        if !(mbit.is_finite() && mbit > 0.0) {
            return Err(NetworkError::Bandwidth { text: text() });
        }
        Ok(Network { rtt: Duration::from_secs_f64(rtt_ms / 1e3), bits_per_second: Some(mbit * 1e6) })
    }

    /// Returns the predicted seconds of a run of `rounds` rounds, in which the busiest party sends `max_party_bytes`
    /// and computes for `compute_seconds`. A round costs half a round trip, because a round is all messages that depend
    /// on no other message of the same round. Sending, waiting and computing are assumed not to overlap, so the
    /// prediction tends to be too long.
    pub fn price(&self, rounds: u64, max_party_bytes: u64, compute_seconds: f64) -> f64 {
        let waiting = rounds as f64 * self.rtt.as_secs_f64() / 2.0;
        let sending = self.bits_per_second.map_or(0.0, |rate| max_party_bytes as f64 * 8.0 / rate);
        waiting + sending + compute_seconds
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    /// Reads `lan`, `wan`, or `RTT_MS,MBIT`.
    fn from_str(text: &str) -> Result<Network, NetworkError> {
        match text {
            "lan" => return Ok(Network::LAN),
            "wan" => return Ok(Network::WAN),
            _ => {}
        }
        let (rtt, mbit) = text.split_once(',').ok_or_else(|| NetworkError::Unknown { text: text.into() })?;
        let rtt = rtt.trim().parse().map_err(|_| NetworkError::Rtt { text: text.into() })?;
        let mbit = mbit.trim().parse().map_err(|_| NetworkError::Bandwidth { text: text.into() })?;
        Network::new(rtt, mbit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        assert_eq!("lan".parse(), Ok(Network::LAN));
        assert_eq!("wan".parse(), Ok(Network::WAN));
        assert_eq!("46, 76".parse(), Ok(Network::WAN));
        let unknown: Result<Network, _> = "dsl".parse();
        assert_eq!(
            unknown.unwrap_err().to_string(),
            "network \"dsl\" is not known: say lan, wan, or RTT_MS,MBIT (for instance 70,100)"
        );
        for bad in ["x,100", "-1,100", "nan,100", "1e300,100"] {
            assert!(matches!(bad.parse::<Network>(), Err(NetworkError::Rtt { .. })), "{bad}");
        }
        for bad in ["70,", "70,0", "70,-3", "70,inf", "70,1,2", "70,NaN"] {
            assert!(matches!(bad.parse::<Network>(), Err(NetworkError::Bandwidth { .. })), "{bad}");
        }
    }

    #[test]
    fn price_adds_its_three_parts() {
        let network = Network::new(70.0, 100.0).unwrap();
        assert!((network.price(10, 0, 0.0) - 0.35).abs() < 1e-12);
        assert!((network.price(0, 12_500_000, 0.0) - 1.0).abs() < 1e-12);
        assert!((network.price(10, 12_500_000, 0.5) - 1.85).abs() < 1e-12);
        let unlimited = Network { rtt: Duration::ZERO, bits_per_second: None };
        assert_eq!(unlimited.price(1000, u64::MAX, 2.0), 2.0);
    }
}
