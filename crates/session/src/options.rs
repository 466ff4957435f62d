//! The options of a session. An option that changes messages must have the same value at all parties.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use quorate_gadgets::cost::Link;
use quorate_gadgets::{Choice, Choices, Family};
use quorate_graph::{Domain, Network, Truncation};
use quorate_protocols::{Protocol, Visit};

use crate::error::SessionError;

/// The round trip from which on streams have [`FAR_WINDOWS`] times as many chunks under way.
const FAR: Duration = Duration::from_millis(10);
const FAR_WINDOWS: usize = 4;

/// The options of a session, for local sessions and deployments. "Shared" options must have the same value at all
/// parties.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Whether programs are refused whose values may leave their dtype; inputs then need a bound.
    pub strict: bool,
    /// The truncation of products of fixed point. Shared.
    pub truncation: Truncation,
    /// The network between the parties. Costs are predicted for it; where its delay is long, more chunks are under way.
    /// Shared.
    pub network: Option<Network>,
    /// The number of threads on which a party computes; `None` for [`default_threads`].
    pub threads: Option<usize>,
    /// Bytes of memory that a party may use; `None`: no limit. Shared.
    pub max_memory: Option<u64>,
    /// The sharings that the planner may use. Shared.
    pub sharings: Sharings,
    /// The weight of a second of the offline phase, where a second of the online phase counts 1. Shared.
    pub offline_weight: f64,
    /// The values given for the families' own options. Shared.
    pub family: BTreeMap<String, String>,
    /// What the session does with a pool of correlations. Shared.
    pub pool: PoolMode,
    /// The families' own options as read for the protocol, with the network; filled in by the session.
    pub choices: Choices,
}

/// What a session does with a pool of correlations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PoolMode {
    /// It has none.
    #[default]
    None,
    /// Its runs take their correlations from the pool.
    Use,
    /// It makes correlations for the pool, and runs nothing else.
    Make,
}

impl FromStr for PoolMode {
    type Err = SessionError;

    fn from_str(text: &str) -> Result<PoolMode, SessionError> {
        match text {
            "use" => Ok(PoolMode::Use),
            "make" => Ok(PoolMode::Make),
            _ => {
                let known = "\"use\", \"make\"";
                Err(SessionError::Option { name: "pool".into(), given: text.into(), known: known.into() })
            }
        }
    }
}

impl fmt::Display for PoolMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PoolMode::None => "none",
            PoolMode::Use => "use",
            PoolMode::Make => "make",
        })
    }
}

/// The most threads of a party that does not name their number.
const MOST_DEFAULT_THREADS: usize = 8;

/// Returns the number of threads of a party that does not name it: the machine's cores, divided among the parties of
/// this process, but no more than 8.
pub fn default_threads(sharing: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores / sharing.max(1)).clamp(1, MOST_DEFAULT_THREADS)
}

impl Default for Options {
    fn default() -> Self {
        Options {
            strict: false,
            truncation: Truncation::default(),
            network: None,
            threads: None,
            max_memory: None,
            sharings: Sharings::default(),
            offline_weight: 1.0,
            family: BTreeMap::new(),
            pool: PoolMode::None,
            choices: Choices::default(),
        }
    }
}

/// The sharings that the planner may use, where a protocol has several. A step that none of them supports runs in A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharings {
    allowed: [bool; 3],
    /// Whether the user left the choice to the planner.
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

    /// Returns whether the user leaves the choice to the planner.
    pub fn is_auto(&self) -> bool {
        self.is_auto
    }

    /// Returns whether anything but A is allowed.
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

    /// Reads `auto`, or letters joined by `+`, as in `A+Y`.
    fn from_str(text: &str) -> Result<Sharings, SessionError> {
        if text == "auto" {
            return Ok(Sharings::default());
        }
        let mut allowed = [false; 3];
        for name in text.split('+') {
            let known = "\"auto\", or some of A, B and Y as in \"A+Y\"";
            let unknown = |_| SessionError::Option { name: "sharings".into(), given: text.into(), known: known.into() };
            allowed[name.parse::<Domain>().map_err(unknown)? as usize] = true;
        }
        Ok(Sharings { allowed, is_auto: false })
    }
}

/// Returns the protocol with this name.
///
/// # Errors
/// [`SessionError::UnknownProtocol`], which lists the protocols.
pub fn protocol(name: &str) -> Result<Protocol, SessionError> {
    let known = || Protocol::ALL.iter().map(|protocol| protocol.name()).collect::<Vec<_>>().join(", ");
    Protocol::named(name).ok_or_else(|| SessionError::UnknownProtocol { name: name.into(), known: known() })
}

/// Reads the option `trunc`.
///
/// # Errors
/// [`SessionError::Option`], which lists the values.
pub fn truncation(text: &str) -> Result<Truncation, SessionError> {
    match text {
        "exact" => Ok(Truncation::Exact),
        "probabilistic" => Ok(Truncation::Probabilistic),
        other => {
            let known = "\"exact\", \"probabilistic\"";
            Err(SessionError::Option { name: "trunc".into(), given: other.into(), known: known.into() })
        }
    }
}

/// Returns the options of all families, each once.
pub fn family_options() -> Vec<&'static Choice> {
    let mut found: Vec<&Choice> = Vec::new();
    for option in Protocol::ALL.iter().flat_map(|protocol| protocol.descriptor().options) {
        if !found.iter().any(|known| known.name == option.name) {
            found.push(option);
        }
    }
    found
}

impl Options {
    /// Returns whether programs are planned, because their steps have several sharings to choose from.
    pub(crate) fn mixes(&self, protocol: Protocol) -> bool {
        let garbles = || protocol.descriptor().sharings.contains(&"Y");
        let mixes = if self.sharings.is_auto() { garbles() } else { self.sharings.mix() };
        mixes && self.max_memory.is_none()
    }

    /// Returns whether runs are planned for correlations of a pool: the offline phase costs nothing, nothing is garbled
    /// ahead, and all correlations of a run are held whole.
    pub(crate) fn is_pooled(&self) -> bool {
        self.pool != PoolMode::None
    }

    /// Returns the weight of a second of the offline phase in prices.
    pub(crate) fn priced_offline_weight(&self) -> f64 {
        if self.is_pooled() { 0.0 } else { self.offline_weight }
    }

    /// Returns whether the planner may choose garbled circuits.
    pub(crate) fn may_garble(&self, protocol: Protocol) -> bool {
        self.mixes(protocol) && self.sharings.allows(Domain::Y) && protocol.descriptor().sharings.contains(&"Y")
    }

    /// Returns whether a factor of many products is sent once and held for them, which takes memory.
    pub(crate) fn keeps_factors(&self, protocol: Protocol) -> bool {
        protocol.keeps_factors() && self.max_memory.is_none()
    }

    /// Returns the factor by which more chunks than usual may be under way in a stream. If a line's delay is long, a
    /// stream waits for its chunks.
    pub(crate) fn windows(&self) -> usize {
        let is_far = self.network.is_some_and(|network| network.rtt >= FAR);
        if is_far && self.max_memory.is_none() { FAR_WINDOWS } else { 1 }
    }

    /// Describes this release and its settings of windows; parties of other releases have another text.
    pub(crate) fn release() -> String {
        format!("release={} ({FAR_WINDOWS} windows from {FAR:?} on)", env!("CARGO_PKG_VERSION"))
    }

    /// Returns these options with those of the protocol's family read.
    ///
    /// # Errors
    /// [`SessionError::OtherProtocol`] for an option of another family, [`SessionError::Option`] for an unknown option
    /// or value, and the family's error for choices that do not go together.
    pub(crate) fn read_for(mut self, protocol: Protocol) -> Result<Options, SessionError> {
        let mut choices = Choices::default();
        choices.link = self.network.map(link);
        choices.pooled = self.is_pooled();
        for (name, value) in &self.family {
            let unknown = |known: &[&str]| {
                let known = known.iter().map(|value| format!("{value:?}")).collect::<Vec<_>>().join(", ");
                SessionError::Option { name: name.clone(), given: value.clone(), known }
            };
            if let Some(option) = protocol.descriptor().option(name) {
                if !choices.choose(option, value) {
                    return Err(unknown(option.values));
                }
                continue;
            }
            let Some(option) = family_options().into_iter().find(|option| option.name == name) else {
                return Err(unknown(&[]));
            };
            // A default value needs no support.
            if option.values[0] != value {
                let takes = Protocol::ALL.iter().filter(|family| family.descriptor().option(name).is_some());
                return Err(SessionError::OtherProtocol {
                    name: name.clone(),
                    given: value.clone(),
                    takes: takes.map(|family| format!("{:?}", family.name())).collect::<Vec<_>>().join(" and "),
                    protocol: protocol.name(),
                });
            }
        }
        protocol.visit(Check(&choices))?;
        self.choices = choices;
        Ok(self)
    }

    /// Returns the options that all parties must share, as a line of `name=value` that they exchange before anything
    /// else.
    pub(crate) fn shared(&self, protocol: Protocol) -> String {
        format!("{}; pool={}; {}", Options::release(), self.pool, self.shared_in_any_release(protocol))
    }

    /// Returns the shared options without the release.
    pub(crate) fn shared_in_any_release(&self, protocol: Protocol) -> String {
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
        let own: String =
            protocol.descriptor().options.iter().map(|o| format!("; {}={}", o.name, self.choices.of(o))).collect();
        let protocol = protocol.name();
        format!("protocol={protocol}; trunc={trunc}; network={network}; max_memory={memory}; {mixed}{own}")
    }
}

struct Check<'a>(&'a Choices);

impl Visit for Check<'_> {
    type Out = quorate_engine::Result<()>;
    fn family<F: Family>(self) -> Self::Out {
        F::check_choices(self.0)
    }
}

/// Converts a network into the form that predictions of a family's costs take.
fn link(network: Network) -> Link {
    Link {
        round_trip_seconds: network.rtt.as_secs_f64(),
        bytes_per_second: network.bits_per_second.map_or(f64::INFINITY, |bits| bits / 8.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(name: &str, value: &str) -> Options {
        Options { family: BTreeMap::from([(name.into(), value.into())]), ..Options::default() }
    }

    #[test]
    fn choices_change_the_line_where_they_change_messages() {
        let shared = |options: Options, protocol| options.read_for(protocol).unwrap().shared(protocol);
        let plain = Options::default();
        let different = [
            Options { truncation: Truncation::Probabilistic, ..plain.clone() },
            Options { network: Some(Network::WAN), ..plain.clone() },
            Options { max_memory: Some(1 << 30), ..plain.clone() },
            Options { sharings: "A+Y".parse().unwrap(), ..plain.clone() },
            Options { offline_weight: 0.0, ..plain.clone() },
            Options { pool: PoolMode::Use, ..plain.clone() },
            Options { pool: PoolMode::Make, ..plain.clone() },
        ];
        let own = [Options { strict: true, ..plain.clone() }, Options { threads: Some(4), ..plain.clone() }];
        let mut changed = 0;
        for &protocol in Protocol::ALL {
            let same = shared(plain.clone(), protocol);
            assert!(different.iter().all(|options| shared(options.clone(), protocol) != same));
            assert!(own.iter().all(|options| shared(options.clone(), protocol) == same));
            for option in protocol.descriptor().options {
                // A value that is only valid together with another option is refused alone.
                if let Ok(asked) = asking(option.name, option.values[1]).read_for(protocol) {
                    assert_ne!(asked.shared(protocol), same);
                    changed += 1;
                }
            }
        }
        assert!(changed > 6, "{changed} choices");
    }

    #[test]
    fn options_are_for_the_families_that_have_them() {
        for &protocol in Protocol::ALL {
            for option in family_options() {
                let has = protocol.descriptor().option(option.name).is_some();
                for &value in option.values {
                    let read = asking(option.name, value).read_for(protocol);
                    let mut choices = Choices::default();
                    let goes_alone = choices.choose(option, value) && protocol.visit(Check(&choices)).is_ok();
                    let expected = if has { goes_alone } else { value == option.values[0] };
                    assert_eq!(read.is_ok(), expected, "{protocol:?}, {option:?}, {value}");
                }
                assert!(asking(option.name, "nothing").read_for(protocol).is_err());
            }
        }
        let refused = asking("forms", "masked").read_for(Protocol::Aby).unwrap_err().to_string();
        assert_eq!(refused, "forms=\"masked\" is for the protocol \"rss\"; \"aby\" has no use for it");
        assert!(asking("triples", "ot").read_for(Protocol::Aby).is_err(), "it was an option once");
        let unknown = asking("forms", "both").read_for(Protocol::Rss).unwrap_err().to_string();
        assert!(unknown.contains("\"auto\", \"edabits\""), "{unknown}");
    }

    #[test]
    fn names_are_read() {
        let sharings = |text: &str| text.parse::<Sharings>().map(|sharings| sharings.to_string());
        assert_eq!(["auto", "Y", "A+B+Y", "Y+A"].map(|text| sharings(text).unwrap()), ["auto", "Y", "A+B+Y", "A+Y"]);
        assert!(sharings("A+C").unwrap_err().to_string().contains("as in \"A+Y\""));
        assert_eq!(truncation("probabilistic").unwrap(), Truncation::Probabilistic);
        assert!(truncation("fast").unwrap_err().to_string().contains("\"exact\", \"probabilistic\""));
    }
}
