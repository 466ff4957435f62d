//! `party.toml`: who this party is, who the others are.

use std::path::{Path, PathBuf};
use std::time::Duration;

use quorate_graph::Network;
use quorate_net::NetError;
use quorate_net::tcp::{PartyConfig, TcpConfig};
use quorate_protocols::Protocol;
use serde::Deserialize;
use toml::Spanned;

use crate::approval::Approved;
use crate::error::SessionError;
use crate::options::protocol;

/// A deployment as one party sees it. Paths are relative to the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// This party's number: its place in the list of parties, from 0.
    pub me: usize,
    /// Name of the protocol, alike in all files.
    pub protocol: String,
    /// File of this party's private key, in PEM.
    pub key: PathBuf,
    /// The network between the parties, by which costs are predicted and plans made: alike in all files. `lan`, `wan`
    /// or `RTT_MS,MBIT`.
    #[serde(default)]
    pub network: Option<String>,
    /// Where to listen, if not at this party's own address.
    pub listen: Option<String>,
    /// All parties in their order, this one too: alike in all files.
    #[serde(rename = "party")]
    pub parties: Vec<PartyEntry>,
    /// The runs that this party takes part in, by the hashes that `quorate explain` prints; all, where nothing is said.
    #[serde(default)]
    pub approve: Option<Approved>,
    /// Where to log what is revealed.
    #[serde(default)]
    pub audit: Option<PathBuf>,
    /// Sessions that this process had with this file before, to which approval is held.
    #[serde(skip)]
    pub sessions_before: usize,
    /// How long to wait for other parties.
    #[serde(default)]
    pub limits: Limits,
    #[serde(skip)]
    lines: Lines,
}

/// Where in which file the addresses stand, to name in messages.
#[derive(Clone, Debug, Default)]
struct Lines {
    path: PathBuf,
    listen: Option<usize>,
    parties: Vec<usize>,
}

impl Lines {
    fn of(path: &Path, text: &str) -> Lines {
        #[derive(Deserialize)]
        struct File {
            listen: Option<Spanned<String>>,
            #[serde(default, rename = "party")]
            parties: Vec<Entry>,
        }
        #[derive(Deserialize)]
        struct Entry {
            address: Spanned<String>,
        }
        let line = |value: &Spanned<String>| 1 + text[..value.span().start].matches('\n').count();
        let Ok(file) = toml::from_str::<File>(text) else { return Lines::default() };
        let parties = file.parties.iter().map(|party| line(&party.address)).collect();
        Lines { path: path.into(), listen: file.listen.as_ref().map(line), parties }
    }
}

/// A party as all see it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartyEntry {
    /// Where the others reach it, as `host:port`.
    pub address: String,
    /// Only this certificate is accepted from this party.
    pub certificate: PathBuf,
}

/// Time-outs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Seconds until all parties must have connected.
    pub connect_timeout_s: f64,
    /// Of silence, not of slowness: heartbeats go out every second.
    pub peer_timeout_s: f64,
    /// Of waiting for a peer whose heartbeats come and who sends nothing that is due; 0: as long as it takes.
    pub stall_timeout_s: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { connect_timeout_s: 30.0, peer_timeout_s: 10.0, stall_timeout_s: 600.0 }
    }
}

impl Limits {
    /// How long a peer is waited for that is there and sends nothing that is due; `None`: as long as it takes.
    pub(crate) fn patience(&self) -> Option<Duration> {
        Duration::try_from_secs_f64(self.stall_timeout_s).ok().filter(|limit| !limit.is_zero())
    }
}

/// A day.
const LONGEST_LIMIT_S: u64 = 86_400;

impl Config {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// [`SessionError::ConfigFile`] with the place and the reason (a key that does not exist is named, with those that
    /// do), [`SessionError::ConfigMe`], [`SessionError::UnknownProtocol`], a wrong number of parties.
    pub fn read(path: &Path) -> Result<Config, SessionError> {
        let fail = |what: String| SessionError::ConfigFile { path: path.into(), what };
        let text = std::fs::read_to_string(path).map_err(|e| fail(format!("cannot be read: {e}")))?;
        let mut config: Config = toml::from_str(&text).map_err(|e| fail(explained(e.to_string().trim_end())))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        config.lines = Lines::of(path, &text);
        config.key = folder.join(&config.key);
        config.audit = config.audit.map(|path| folder.join(path));
        config.parties.iter_mut().for_each(|p| p.certificate = folder.join(&p.certificate));
        let parties = config.parties.len();
        if config.me >= parties {
            return Err(SessionError::ConfigMe { path: path.into(), me: config.me, parties });
        }
        let seconds = |name: &str, value: f64| {
            Duration::try_from_secs_f64(value)
                .ok()
                .filter(|d| !d.is_zero() && d.as_secs() <= LONGEST_LIMIT_S)
                .ok_or_else(|| {
                    let most = LONGEST_LIMIT_S;
                    fail(format!("`{name}` must be a positive number of seconds, at most {most}, not {value}"))
                })
        };
        seconds("connect_timeout_s", config.limits.connect_timeout_s)?;
        seconds("peer_timeout_s", config.limits.peer_timeout_s)?;
        if config.limits.stall_timeout_s != 0.0 {
            seconds("stall_timeout_s", config.limits.stall_timeout_s)?; // 0 waits for ever
        }
        let addresses = config.parties.iter().map(|p| &p.address).chain(&config.listen);
        if let Some(address) = addresses.into_iter().find(|address| !has_port(address)) {
            return Err(fail(format!("address `{address}` has no port: write it as \"host:port\"")));
        }
        config.network().map_err(|error| fail(error.to_string()))?;
        config.protocol()?.check_parties(parties)?;
        Ok(config)
    }

    /// The protocol that the file names.
    ///
    /// # Errors
    /// [`SessionError::UnknownProtocol`].
    pub fn protocol(&self) -> Result<Protocol, SessionError> {
        protocol(&self.protocol)
    }

    /// The network that the file names.
    ///
    /// # Errors
    /// [`SessionError::Network`].
    pub fn network(&self) -> Result<Option<Network>, SessionError> {
        Ok(self.network.as_deref().map(str::parse).transpose()?)
    }

    /// What kept this party from connecting; where a host name is at fault, with the line of the file that has it.
    pub(crate) fn naming(&self, error: NetError) -> SessionError {
        let NetError::Unresolved { party, address } = &error else { return error.into() };
        let listens = *party == self.me && self.listen.as_ref() == Some(address);
        let line = if listens { self.lines.listen } else { self.lines.parties.get(*party).copied() };
        match line {
            Some(line) => SessionError::ConfigLine { path: self.lines.path.clone(), line, error },
            None => error.into(),
        }
    }

    pub(crate) fn tcp(&self) -> TcpConfig {
        let party = |p: &PartyEntry| PartyConfig { address: p.address.clone(), certificate: p.certificate.clone() };
        let mut tcp = TcpConfig::new(self.me, self.parties.iter().map(party).collect(), self.key.clone());
        tcp.listen = self.listen.clone();
        tcp.connect_timeout = Duration::from_secs_f64(self.limits.connect_timeout_s);
        tcp.peer_timeout = Duration::from_secs_f64(self.limits.peer_timeout_s);
        tcp.heartbeat = tcp.heartbeat.min(tcp.peer_timeout / 4);
        tcp
    }
}

/// What is wrong with a file's text; of a protocol's option in it, where that is given.
fn explained(what: &str) -> String {
    let all = Protocol::ALL.iter().flat_map(|protocol| protocol.descriptor().options);
    let is_meant = |name: &str| what.contains(&format!("unknown field `{name}`"));
    match all.map(|option| option.name).find(|name| is_meant(name)) {
        Some(name) => {
            let flag = name.replace('_', "-");
            format!("{what}\noptions of a protocol go to the command (--{flag}), or to qr.connect({name}=...)")
        }
        None => what.into(),
    }
}

fn has_port(address: &str) -> bool {
    address.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}
