//! `party.toml`: the number of this party, and the addresses and certificates of all.

use std::path::{Path, PathBuf};
use std::time::Duration;

use quorate_graph::Network;
use quorate_net::NetError;
use quorate_net::tcp::{PartyConfig, SessionName, TcpConfig};
use quorate_protocols::Protocol;
use serde::Deserialize;
use toml::Spanned;

use crate::approval::Approved;
use crate::error::SessionError;
use crate::options::protocol;

/// A deployment, as the file of one party describes it. Paths are relative to the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The number of this party: its place in the list of parties, from 0.
    pub me: usize,
    /// The name of the protocol, the same in all files.
    pub protocol: String,
    /// The file of this party's private key, in PEM.
    pub key: PathBuf,
    /// The network between the parties: `lan`, `wan` or `RTT_MS,MBIT`, the same in all files. Predicted costs and plans
    /// are based on it.
    #[serde(default)]
    pub network: Option<String>,
    /// The address to listen on, if it is not this party's own.
    pub listen: Option<String>,
    /// All parties in order, this one included; the same in all files.
    #[serde(rename = "party")]
    pub parties: Vec<PartyEntry>,
    /// The runs that this party takes part in, by the hashes that `quorate explain` prints. All runs, where the key is
    /// absent.
    #[serde(default)]
    pub approve: Option<Approved>,
    /// The file to log reveals in.
    #[serde(default)]
    pub audit: Option<PathBuf>,
    /// The number of sessions that this process has already had with this file. Approval is bound to it.
    #[serde(skip)]
    pub sessions_before: usize,
    /// The session to open.
    #[serde(skip)]
    pub session: Named,
    /// Time-outs for waits for other parties.
    #[serde(default)]
    pub limits: Limits,
    #[serde(skip)]
    lines: Lines,
}

/// The name of a session.
#[derive(Clone, Debug)]
pub enum Named {
    /// A name that was given.
    Given(SessionName),
    /// A default, such as the script's name: parties with other options open another session.
    Default(SessionName),
}

impl Default for Named {
    fn default() -> Self {
        Named::Given(SessionName::default())
    }
}

impl Named {
    /// Reads the name of a session.
    ///
    /// # Errors
    /// [`SessionError::Net`] for a name that no session may have.
    pub fn read(name: &str, is_default: bool) -> Result<Named, SessionError> {
        let name = SessionName::new(name).map_err(NetError::BadConfig)?;
        Ok(if is_default { Named::Default(name) } else { Named::Given(name) })
    }

    /// Returns the name under which parties with these shared options meet.
    pub(crate) fn with_options(&self, shared: &str) -> SessionName {
        match self {
            Named::Given(name) => name.clone(),
            Named::Default(name) => name.clone().with_options(shared.as_bytes()),
        }
    }
}

/// The lines of the files that contain the addresses, for error messages.
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

/// A party's entry, the same in all files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartyEntry {
    /// The address at which other parties reach it, as `host:port`.
    pub address: String,
    /// The file of its certificate; no other certificate is accepted from this party.
    pub certificate: PathBuf,
}

/// Time-outs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Seconds within which all parties must connect.
    pub connect_timeout_s: f64,
    /// Seconds of silence after which a connection counts as lost. A slow peer is not silent: heartbeats go out every
    /// second.
    pub peer_timeout_s: f64,
    /// Seconds to try for a new connection after one was lost, before the peer counts as lost; 0: none is tried.
    pub reconnect_timeout_s: f64,
    /// Seconds to wait for a peer that sends heartbeats but nothing that is due; 0: no limit.
    pub stall_timeout_s: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { connect_timeout_s: 30.0, peer_timeout_s: 10.0, reconnect_timeout_s: 30.0, stall_timeout_s: 600.0 }
    }
}

impl Limits {
    /// Returns how long to wait for a peer that is connected but sends nothing that is due; `None`: no limit.
    pub(crate) fn patience(&self) -> Option<Duration> {
        Duration::try_from_secs_f64(self.stall_timeout_s).ok().filter(|limit| !limit.is_zero())
    }
}

/// The largest time-out, in seconds: a day.
const LONGEST_LIMIT_S: u64 = 86_400;

impl Config {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// [`SessionError::ConfigFile`] with the place and the reason (for an unknown key, with the keys that exist),
    /// [`SessionError::ConfigMe`], [`SessionError::UnknownProtocol`], a wrong number of parties.
    pub fn read(path: &Path) -> Result<Config, SessionError> {
        match std::fs::read_to_string(path) {
            Ok(text) => Config::parse(path, &text),
            Err(error) => Err(SessionError::ConfigFile { path: path.into(), what: format!("cannot be read: {error}") }),
        }
    }

    /// Reads and checks the text of a file.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Config, SessionError> {
        let fail = |what: String| SessionError::ConfigFile { path: path.into(), what };
        let mut config: Config = toml::from_str(text).map_err(|e| fail(explained(e.to_string().trim_end())))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        config.lines = Lines::of(path, text);
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
        if config.limits.reconnect_timeout_s != 0.0 {
            seconds("reconnect_timeout_s", config.limits.reconnect_timeout_s)?; // 0 tries none
        }
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

    /// Returns the protocol that the file names.
    ///
    /// # Errors
    /// [`SessionError::UnknownProtocol`].
    pub fn protocol(&self) -> Result<Protocol, SessionError> {
        protocol(&self.protocol)
    }

    /// Returns the network that the file names.
    ///
    /// # Errors
    /// [`SessionError::Network`].
    pub fn network(&self) -> Result<Option<Network>, SessionError> {
        Ok(self.network.as_deref().map(str::parse).transpose()?)
    }

    /// Returns a hash of all parties' certificates, in their order.
    ///
    /// # Errors
    /// [`SessionError::ConfigFile`] for a certificate that cannot be read.
    pub(crate) fn pins(&self) -> Result<[u8; 32], SessionError> {
        let mut pins = blake3::Hasher::new_derive_key("quorate/session/certificates");
        for PartyEntry { certificate: path, .. } in &self.parties {
            let read = std::fs::read(path);
            let what = |error| format!("cannot be read: {error}");
            let bytes = read.map_err(|error| SessionError::ConfigFile { path: path.clone(), what: what(error) })?;
            pins.update(&(bytes.len() as u64).to_le_bytes()).update(&bytes);
        }
        Ok(pins.finalize().into())
    }

    /// Turns an error of connecting into one of the session. If a host name is at fault, it gives the line of the
    /// file that contains it; if options are, these `shared` ones.
    pub(crate) fn naming(&self, error: NetError, shared: &str) -> SessionError {
        if let NetError::NotOpened { other_options: true, .. } = &error {
            return SessionError::OtherOptions { error, options: shared.into() };
        }
        let NetError::Unresolved { party, address } = &error else { return error.into() };
        let listens = *party == self.me && self.listen.as_ref() == Some(address);
        let line = if listens { self.lines.listen } else { self.lines.parties.get(*party).copied() };
        match line {
            Some(line) => SessionError::ConfigLine { path: self.lines.path.clone(), line, error },
            None => error.into(),
        }
    }

    /// Returns the configuration of the links of a party with these shared options.
    pub(crate) fn tcp(&self, shared: &str) -> TcpConfig {
        let party = |p: &PartyEntry| PartyConfig { address: p.address.clone(), certificate: p.certificate.clone() };
        let mut tcp = TcpConfig::new(self.me, self.parties.iter().map(party).collect(), self.key.clone());
        tcp.listen = self.listen.clone();
        tcp.session = self.session.with_options(shared);
        tcp.connect_timeout = Duration::from_secs_f64(self.limits.connect_timeout_s);
        tcp.peer_timeout = Duration::from_secs_f64(self.limits.peer_timeout_s);
        tcp.reconnect_timeout = Duration::from_secs_f64(self.limits.reconnect_timeout_s);
        tcp.heartbeat = tcp.heartbeat.min(tcp.peer_timeout / 4);
        tcp
    }
}

/// Rewords an error of the file's parser; where a protocol's option is given as a key, the message explains that.
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
