//! What users choose for a session: alike at all parties where a choice changes messages.

use std::fmt;
use std::str::FromStr;

use quorate_aby::TripleSource;
use quorate_graph::domains::Domain;
use quorate_graph::{Network, Truncation};

use crate::error::SessionError;
use crate::protocol::Protocol;

/// The choices of a session that hold for local ones and deployments alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Refuse programs whose values may leave their dtype; inputs then need a bound.
    pub strict: bool,
    /// How products of fixed point lose their surplus bits. Shared.
    pub truncation: Truncation,
    /// Which of several protocols with one result run. Shared.
    pub forms: FormChoice,
    /// The network that costs are predicted for where `forms` leave a choice. Shared.
    pub network: Option<Network>,
    /// Threads on which a party computes.
    pub threads: usize,
    /// Bytes of memory that a party may use; `None`: no bound. Shared.
    pub max_memory: Option<u64>,
    /// The sharings that the planner may use. Shared.
    pub sharings: Sharings,
    /// What a second of the offline phase counts beside one of the online phase. Shared.
    pub offline_weight: f64,
    /// Where multiplication triples over rings of at most 64 bits come from, between two parties. Shared.
    pub triples: TripleSource,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            strict: false,
            truncation: Truncation::default(),
            forms: FormChoice::default(),
            network: None,
            threads: 1,
            max_memory: None,
            sharings: Sharings::default(),
            offline_weight: 1.0,
            triples: TripleSource::default(),
        }
    }
}

/// The sharings that the planner may use, where a protocol has several; what one of them cannot do is done in A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharings {
    allowed: [bool; 3],
    /// Whether this is what nobody asked for otherwise.
    is_auto: bool,
}

impl Default for Sharings {
    fn default() -> Self {
        Sharings { allowed: [true; 3], is_auto: true }
    }
}

impl Sharings {
    pub(crate) fn allows(&self, domain: Domain) -> bool {
        self.allowed[domain as usize]
    }

    /// Whether the user leaves the choice to the planner.
    pub fn is_auto(&self) -> bool {
        self.is_auto
    }

    /// Whether anything but A is allowed.
    pub(crate) fn mix(&self) -> bool {
        self.allows(Domain::B) || self.allows(Domain::Y)
    }
}

impl fmt::Display for Sharings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_auto {
            return f.write_str("auto");
        }
        let names: Vec<String> =
            Domain::ALL.into_iter().filter(|&domain| self.allows(domain)).map(|domain| domain.to_string()).collect();
        f.write_str(&names.join("+"))
    }
}

impl FromStr for Sharings {
    type Err = SessionError;

    /// `auto`, or letters joined by `+`, as in `A+Y`.
    fn from_str(text: &str) -> Result<Sharings, SessionError> {
        if text == "auto" {
            return Ok(Sharings::default());
        }
        let mut allowed = [false; 3];
        for name in text.split('+') {
            let known = "\"auto\", or some of A, B and Y as in \"A+Y\"";
            let unknown = |_| SessionError::Option { name: "sharings", given: text.into(), known };
            allowed[name.parse::<Domain>().map_err(unknown)? as usize] = true;
        }
        Ok(Sharings { allowed, is_auto: false })
    }
}

/// Which of several protocols with one result run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FormChoice {
    /// By predicted cost where a network is named; the backend's own otherwise.
    #[default]
    Auto,
    /// What opens masked values takes edaBits, made of contributions as the paper does.
    EdaBits,
    /// What opens masked values takes random bits.
    RandomBits,
}

impl FormChoice {
    fn name(self) -> &'static str {
        match self {
            FormChoice::Auto => "auto",
            FormChoice::EdaBits => "edabits",
            FormChoice::RandomBits => "randbits",
        }
    }
}

impl FromStr for FormChoice {
    type Err = SessionError;

    fn from_str(text: &str) -> Result<FormChoice, SessionError> {
        let all = [FormChoice::Auto, FormChoice::EdaBits, FormChoice::RandomBits];
        let known = "\"auto\", \"edabits\", \"randbits\"";
        let found = all.into_iter().find(|choice| choice.name() == text);
        found.ok_or_else(|| SessionError::Option { name: "forms", given: text.into(), known })
    }
}

/// Reads the option `trunc`.
///
/// # Errors
/// [`SessionError::Option`], naming what there is.
pub fn truncation(text: &str) -> Result<Truncation, SessionError> {
    match text {
        "exact" => Ok(Truncation::Exact),
        "probabilistic" => Ok(Truncation::Probabilistic),
        other => {
            let known = "\"exact\", \"probabilistic\"";
            Err(SessionError::Option { name: "trunc", given: other.into(), known })
        }
    }
}

/// Reads the option `triples`.
///
/// # Errors
/// [`SessionError::Option`], naming what there is.
pub fn triple_source(text: &str) -> Result<TripleSource, SessionError> {
    let known = "\"ot\", \"paillier\", \"dgk\"";
    let found = TripleSource::ALL.into_iter().find(|source| source.name() == text);
    found.ok_or_else(|| SessionError::Option { name: "triples", given: text.into(), known })
}

impl Options {
    /// Refuses what a protocol has no use for.
    ///
    /// # Errors
    /// [`SessionError::OtherProtocol`].
    pub(crate) fn check(&self, protocol: Protocol) -> Result<(), SessionError> {
        match (protocol, self.triples) {
            (Protocol::Aby, _) | (_, TripleSource::Transfers) => Ok(()),
            (protocol, source) => Err(SessionError::OtherProtocol {
                name: "triples",
                given: source.name(),
                takes: Protocol::Aby.name(),
                protocol: protocol.name(),
            }),
        }
    }

    /// The choices that all parties must share, as a line of `name=value` that they exchange before anything else.
    pub(crate) fn shared(&self) -> String {
        let network = self.network.map_or("none".into(), |network| {
            let rate = network.bits_per_second.map_or("unlimited".into(), |bits| (bits / 1e6).to_string());
            format!("{} ms {rate} Mbit/s", network.rtt.as_secs_f64() * 1e3)
        });
        let memory = self.max_memory.map_or("none".into(), |bytes| bytes.to_string());
        let trunc = match self.truncation {
            Truncation::Exact => "exact",
            Truncation::Probabilistic => "probabilistic",
        };
        let mixed = format!("sharings={}; offline_weight={}", self.sharings, self.offline_weight);
        let (forms, triples) = (self.forms.name(), self.triples.name());
        format!("trunc={trunc}; forms={forms}; network={network}; max_memory={memory}; {mixed}; triples={triples}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_change_the_line_where_they_change_messages() {
        let plain = Options::default();
        let shared = [
            Options { truncation: Truncation::Probabilistic, ..plain.clone() },
            Options { forms: FormChoice::RandomBits, ..plain.clone() },
            Options { network: Some(Network::WAN), ..plain.clone() },
            Options { max_memory: Some(1 << 30), ..plain.clone() },
            Options { sharings: "A+Y".parse().unwrap(), ..plain.clone() },
            Options { offline_weight: 0.0, ..plain.clone() },
            Options { triples: TripleSource::Dgk, ..plain.clone() },
        ];
        assert!(shared.iter().all(|options| options.shared() != plain.shared()));
        let own = [Options { strict: true, ..plain.clone() }, Options { threads: 4, ..plain.clone() }];
        assert!(own.iter().all(|options| options.shared() == plain.shared()));
    }

    #[test]
    fn triples_are_for_two_parties() {
        let options = Options { triples: TripleSource::Paillier, ..Options::default() };
        assert!(options.check(Protocol::Aby).is_ok() && Options::default().check(Protocol::Rss).is_ok());
        let refused = options.check(Protocol::Rss).unwrap_err().to_string();
        assert_eq!(refused, "triples=\"paillier\" is for the protocol \"aby\"; \"rss\" has no use for it");
    }

    #[test]
    fn names_are_read() {
        assert_eq!("randbits".parse::<FormChoice>().unwrap(), FormChoice::RandomBits);
        assert!("both".parse::<FormChoice>().unwrap_err().to_string().contains("\"auto\", \"edabits\""));
        let sharings = |text: &str| text.parse::<Sharings>().map(|sharings| sharings.to_string());
        assert_eq!(["auto", "Y", "A+B+Y", "Y+A"].map(|text| sharings(text).unwrap()), ["auto", "Y", "A+B+Y", "A+Y"]);
        assert!(sharings("A+C").unwrap_err().to_string().contains("as in \"A+Y\""));
        let sources = ["ot", "paillier", "dgk"].map(|text| triple_source(text).unwrap());
        assert_eq!(sources, TripleSource::ALL);
        assert!(triple_source("rsa").unwrap_err().to_string().contains("\"ot\", \"paillier\", \"dgk\""));
        assert_eq!(truncation("probabilistic").unwrap(), Truncation::Probabilistic);
        assert!(truncation("fast").unwrap_err().to_string().contains("\"exact\", \"probabilistic\""));
    }
}
