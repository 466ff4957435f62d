//! Certificates that are replaced while sessions run.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use crate::common::proxy::Proxy;
use crate::common::{Keys, config, free_addresses, receive};
use quorate_net::tcp::{SessionName, TcpConfig, TcpNet};
use quorate_net::{Net, NetError, Refusal};

/// The certificates that a party's file lists for a party.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Listed {
    Old,
    Both,
    New,
}
use Listed::{Both, New, Old};

/// A stage of the replacement.
struct Stage {
    name: &'static str,
    /// Whether each party has switched to its new key.
    switched: [bool; 2],
    /// What each party's file lists for each party.
    lists: [[Listed; 2]; 2],
}

const STAGES: [Stage; 7] = [
    Stage { name: "none", switched: [false, false], lists: [[Old, Old], [Old, Old]] },
    Stage { name: "0 is added", switched: [false, false], lists: [[Old, Old], [Both, Old]] },
    Stage { name: "0 has switched", switched: [true, false], lists: [[Both, Old], [Both, Old]] },
    Stage { name: "0 is dropped", switched: [true, false], lists: [[New, Old], [New, Old]] },
    Stage { name: "1 is added", switched: [true, false], lists: [[New, Both], [New, Old]] },
    Stage { name: "1 has switched", switched: [true, true], lists: [[New, Both], [New, New]] },
    Stage { name: "1 is dropped", switched: [true, true], lists: [[New, New], [New, New]] },
];

struct Parties {
    old: Keys,
    new: Keys,
    addresses: Vec<SocketAddr>,
}

impl Parties {
    fn config(&self, me: usize, stage: &Stage, session: &str) -> TcpConfig {
        let session = SessionName::new(session).unwrap();
        let shown = if stage.switched[me] { &self.new } else { &self.old };
        let mut config = TcpConfig { session, ..config(me, shown.path(), &self.addresses) };
        for (party, entry) in config.parties.iter_mut().enumerate() {
            entry.certificates = self.files(party, stage.lists[me][party]);
        }
        config
    }

    fn files(&self, party: usize, listed: Listed) -> Vec<PathBuf> {
        let file = |keys: &Keys| keys.path().join(format!("party{party}.crt"));
        let old = (listed != New).then(|| file(&self.old));
        old.into_iter().chain((listed != Old).then(|| file(&self.new))).collect()
    }
}

fn open(configs: [TcpConfig; 2]) -> [Result<TcpNet, NetError>; 2] {
    thread::scope(|scope| {
        configs.map(|config| scope.spawn(move || TcpNet::connect(&config))).map(|party| party.join().unwrap())
    })
}

fn exchange(nets: &mut [TcpNet; 2], mark: u8) {
    nets.iter_mut().enumerate().for_each(|(me, net)| net.send(1 - me, vec![mark]).unwrap());
    nets.iter_mut().enumerate().for_each(|(me, net)| assert_eq!(receive(net), (1 - me, vec![mark])));
}

/// Both parties replace their certificates, one after the other. A session that began before goes on, also over other
/// connections, and at each stage others begin at the same ports.
#[test]
fn certificates_are_replaced_without_a_failed_session() {
    let parties = Parties { old: Keys::new(2), new: Keys::new(2), addresses: free_addresses(2) };
    let proxy = Proxy::to(parties.addresses[0]);
    let mut configs = [0, 1].map(|me| parties.config(me, &STAGES[0], "first"));
    configs[1].parties[0].address = proxy.address.to_string();
    let mut first = open(configs).map(Result::unwrap);
    for (stage, mark) in STAGES.iter().zip(1..) {
        let met = open([0, 1].map(|me| parties.config(me, stage, "next")));
        let mut met = met.map(|party| party.unwrap_or_else(|error| panic!("{}: {error}", stage.name)));
        exchange(&mut met, mark);
        proxy.cut();
        exchange(&mut first, mark);
    }
}

/// A party that switches before the others have added its certificate, and one whose old key is used after all have
/// dropped it, are refused.
#[test]
fn certificates_that_are_not_listed_are_refused() {
    let early = Stage { name: "early", switched: [false, true], lists: [[Old, Old], [Old, Both]] };
    let late = Stage { name: "late", switched: [true, false], lists: [[New, New], [New, Both]] };
    for stage in [early, late] {
        let parties = Parties { old: Keys::new(2), new: Keys::new(2), addresses: free_addresses(2) };
        let configs = [0, 1].map(|me| {
            let short = Duration::from_secs(3);
            TcpConfig { connect_timeout: short, ..parties.config(me, &stage, "next") }
        });
        let [called, calling] = open(configs).map(|party| party.err().expect("an error"));
        assert!(matches!(called, NetError::Refused { why: Refusal::ByUs, .. }), "{}: {called}", stage.name);
        let refused = matches!(calling, NetError::Refused { peer: Some(0), why: Refusal::ByPeer, .. });
        assert!(refused, "{}: {calling}", stage.name);
    }
}
