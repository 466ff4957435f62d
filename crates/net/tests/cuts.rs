//! Connections that are lost while a run goes on: links come back, and every frame arrives once and in order.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::proxy::{Proxy, Weather};
use crate::common::{Keys, SOON, config, failure, free_addresses, receive, within};
use quorate_net::tcp::{TcpConfig, TcpNet};
use quorate_net::{MAX_FRAME, Net, NetError, Wait};

/// Parties whose connections go through networks: party i dials party j over `proxies[i][j]`.
struct Mesh {
    _keys: Keys,
    nets: Vec<TcpNet>,
    proxies: Vec<Vec<Proxy>>,
    configs: Vec<TcpConfig>,
    addresses: Vec<SocketAddr>,
}

impl Mesh {
    fn new(parties: usize, change: impl Fn(TcpConfig) -> TcpConfig) -> Mesh {
        let keys = Keys::new(parties);
        let addresses = free_addresses(parties);
        let proxies: Vec<Vec<Proxy>> =
            (0..parties).map(|me| addresses[..me].iter().map(|address| Proxy::to(*address)).collect()).collect();
        let seen = |me: usize| -> Vec<SocketAddr> {
            let dialled = proxies[me].iter().map(|proxy| proxy.address);
            dialled.chain(addresses[me..].iter().copied()).collect()
        };
        let configs: Vec<TcpConfig> = (0..parties).map(|me| change(config(me, keys.path(), &seen(me)))).collect();
        let nets = thread::scope(|scope| {
            let joins: Vec<_> = configs.iter().map(|config| scope.spawn(|| TcpNet::connect(config).unwrap())).collect();
            joins.into_iter().map(|join| join.join().unwrap()).collect()
        });
        Mesh { _keys: keys, nets, proxies, configs, addresses }
    }

    fn all(&self) -> Vec<Proxy> {
        self.proxies.iter().flatten().cloned().collect()
    }
}

/// Returns a frame that identifies itself: sender, receiver, number, and a length that depends on them.
fn frame(from: usize, to: usize, number: usize) -> Vec<u8> {
    let lengths = [0, 1, 4, 5, 100, 1000, 16_384, 40_000, 3, 7, 100_000, 300];
    let mut bytes = vec![(from * 16 + to) as u8; lengths[(number + from) % lengths.len()]];
    if number % 50 == 49 {
        bytes = vec![(from * 16 + to) as u8; MAX_FRAME];
    }
    bytes.iter_mut().zip((number as u32).to_le_bytes()).for_each(|(byte, tag)| *byte = tag);
    bytes
}

/// Sends `frames` frames to each peer, a few at a time, and receives as many. Each must be the next one.
fn exchange(net: &mut TcpNet, frames: usize, pause: Duration) {
    let (me, parties) = (net.me(), net.parties());
    let peers: Vec<usize> = (0..parties).filter(|peer| *peer != me).collect();
    let mut next = vec![0; parties];
    let end = Instant::now() + Duration::from_secs(100);
    let (mut sent, mut due) = (0, Instant::now());
    while sent < frames || peers.iter().any(|&peer| next[peer] < frames) {
        assert!(Instant::now() < end, "party {me} sent {sent} and has {next:?}");
        if sent < frames && Instant::now() >= due {
            peers.iter().for_each(|&peer| net.send(peer, frame(me, peer, sent)).unwrap());
            (sent, due) = (sent + 1, due + pause);
        }
        let wait = if sent < frames { due } else { Instant::now() + Duration::from_millis(50) };
        if let Some((from, bytes)) = net.recv(Wait::Until(wait)).unwrap() {
            assert!(bytes == frame(from, me, next[from]), "frame {} of party {from}", next[from]);
            next[from] += 1;
        }
    }
}

/// Runs exchanges of all parties while `trouble` runs again and again. Returns how long it took.
fn exchange_all(mesh: &mut Mesh, frames: usize, trouble: impl Fn() + Sync) -> Duration {
    let start = Instant::now();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                trouble();
            }
        });
        let parties: Vec<_> = mesh
            .nets
            .drain(..)
            .map(|mut net| {
                scope.spawn(move || {
                    exchange(&mut net, frames, Duration::from_millis(5));
                    net.flush(within(30)).unwrap();
                    net // leaves when all have finished
                })
            })
            .collect();
        let nets: Vec<_> = parties.into_iter().map(|party| party.join()).collect();
        over.store(true, Ordering::Relaxed);
        nets.into_iter().for_each(|net| drop(net.unwrap()));
    });
    start.elapsed()
}

#[test]
fn all_frames_arrive_once_over_resets_every_50_ms() {
    for parties in [2, 3] {
        let mut mesh = Mesh::new(parties, |config| config);
        let proxies = mesh.all();
        let took = exchange_all(&mut mesh, 300, || {
            thread::sleep(Duration::from_millis(50));
            proxies.iter().for_each(Proxy::cut);
        });
        let cuts: Vec<usize> = proxies.iter().map(Proxy::cuts).collect();
        assert!(cuts.iter().all(|cuts| *cuts >= 8), "{cuts:?} cuts in {took:?}");
    }
}

#[test]
fn all_frames_arrive_once_over_cuts_at_random_bytes() {
    for parties in [2, 3] {
        let mut mesh = Mesh::new(parties, |config| config);
        let proxies = mesh.all();
        proxies.iter().for_each(|proxy| proxy.set(Weather::Bytes(300_000)));
        proxies.iter().for_each(Proxy::cut);
        exchange_all(&mut mesh, 300, || thread::sleep(Duration::from_millis(20)));
        let cuts: Vec<usize> = proxies.iter().map(Proxy::cuts).collect();
        assert!(cuts.iter().all(|cuts| *cuts >= 20), "{cuts:?}");
    }
}

/// Frames that are longer than what gets through at a time arrive in parts; handshakes may be cut, too.
#[test]
fn frames_longer_than_a_connection_lasts_arrive() {
    let mut mesh = Mesh::new(2, |config| TcpConfig { reconnect_timeout: Duration::from_secs(60), ..config });
    let proxy = mesh.proxies[1][0].clone();
    proxy.set(Weather::Bytes(150_000));
    proxy.cut();
    let (mut second, mut first) = (mesh.nets.pop().unwrap(), mesh.nets.pop().unwrap());
    (0..2).for_each(|number| first.send(1, vec![number; MAX_FRAME]).unwrap());
    second.send(0, vec![9; MAX_FRAME]).unwrap();
    let answer = thread::spawn(move || {
        assert!(second.recv(within(60)).unwrap() == Some((0, vec![0; MAX_FRAME])));
        assert!(second.recv(within(60)).unwrap() == Some((0, vec![1; MAX_FRAME])));
        second
    });
    assert!(first.recv(within(60)).unwrap() == Some((1, vec![9; MAX_FRAME])));
    let second = answer.join().unwrap();
    assert!(proxy.cuts() >= 10, "{}", proxy.cuts());
    proxy.set(Weather::Fair);
    drop((first, second));
}

#[test]
fn the_last_frames_of_a_party_that_leaves_arrive_over_cuts() {
    for leaves in [0, 1] {
        let mut mesh = Mesh::new(2, |config| config);
        let proxy = mesh.proxies[1][0].clone();
        let mut stays = mesh.nets.remove(1 - leaves);
        let mut leaver = mesh.nets.remove(0);
        (0..40).for_each(|number| leaver.send(1 - leaves, frame(leaves, 1 - leaves, number)).unwrap());
        proxy.end_with_target();
        proxy.cut();
        let leaving = thread::spawn(move || drop(leaver));
        (0..40).for_each(|number| assert!(receive(&mut stays) == (leaves, frame(leaves, 1 - leaves, number))));
        leaving.join().unwrap();
        let (error, took) = failure(&mut stays);
        assert!(matches!(error, NetError::Lost { .. }), "{error}");
        assert!(took < SOON, "{took:?}");
    }
}

/// The network in between accepts calls for a party that has left: without a goodbye, its peer would go on calling.
#[test]
fn a_party_whose_frames_have_arrived_says_goodbye_over_a_new_connection() {
    for leaves in [0, 1] {
        let mut mesh = Mesh::new(2, |config| config);
        let proxy = mesh.proxies[1][0].clone();
        let mut stays = mesh.nets.remove(1 - leaves);
        let mut leaver = mesh.nets.remove(0);
        leaver.send(1 - leaves, vec![7]).unwrap();
        assert_eq!(receive(&mut stays), (leaves, vec![7]));
        thread::sleep(Duration::from_millis(400)); // until it was acknowledged, with a heartbeat
        proxy.set(Weather::Down);
        proxy.cut();
        thread::sleep(Duration::from_millis(200)); // until the party has noticed
        let leaving = thread::spawn(move || drop(leaver));
        thread::sleep(Duration::from_millis(100));
        proxy.set(Weather::Fair);
        let (error, _) = failure(&mut stays);
        assert!(matches!(error, NetError::Lost { tried: Duration::ZERO, .. }), "{error:?}");
        leaving.join().unwrap();
    }
}

#[test]
fn a_party_that_left_is_not_called_again() {
    for leaves in [0, 1] {
        let mut mesh = Mesh::new(2, |config| config);
        let proxy = mesh.proxies[1][0].clone();
        let mut stays = mesh.nets.remove(1 - leaves);
        mesh.nets.remove(0).send(1 - leaves, vec![7]).unwrap();
        mesh.nets.clear();
        assert_eq!(receive(&mut stays), (leaves, vec![7]));
        let (error, _) = failure(&mut stays);
        assert!(matches!(error, NetError::Lost { tried: Duration::ZERO, .. }), "{error:?}");
        thread::sleep(Duration::from_millis(300));
        assert_eq!(proxy.connections(), 1);
    }
}

#[test]
fn a_silent_connection_is_replaced() {
    let mut mesh = Mesh::new(2, |config| TcpConfig { peer_timeout: Duration::from_secs(1), ..config });
    let proxy = mesh.proxies[1][0].clone();
    let (mut second, mut first) = (mesh.nets.pop().unwrap(), mesh.nets.pop().unwrap());
    proxy.set(Weather::Silent);
    first.send(1, vec![1; 1000]).unwrap();
    second.send(0, vec![2; 1000]).unwrap();
    let other = thread::spawn(move || {
        assert_eq!(receive(&mut second), (0, vec![1; 1000]));
        second
    });
    assert_eq!(receive(&mut first), (1, vec![2; 1000]));
    drop((first, other.join().unwrap()));
    assert!(proxy.connections() >= 2);
}

#[test]
fn a_link_that_does_not_come_back_fails_when_its_time_is_over() {
    let limit = Duration::from_millis(1500);
    let mut mesh = Mesh::new(2, |config| TcpConfig { reconnect_timeout: limit, ..config });
    let proxy = mesh.proxies[1][0].clone();
    proxy.set(Weather::Down);
    proxy.cut();
    let ends = mesh.nets.drain(..).map(|mut net| thread::spawn(move || (failure(&mut net), net)));
    for end in ends.collect::<Vec<_>>() {
        let ((error, took), _net) = end.join().unwrap();
        assert!(matches!(&error, NetError::Lost { tried, .. } if *tried >= limit), "{error:?}");
        assert!(error.to_string().contains(", and no new connection was made within "), "{error}");
        assert!(took < SOON, "{took:?}");
    }
}

#[test]
fn links_end_with_their_connections_where_one_party_wants_it() {
    for once in [0, 1] {
        let mut mesh = Mesh::new(2, |config| match config.me == once {
            true => TcpConfig { reconnect_timeout: Duration::ZERO, ..config },
            false => config,
        });
        mesh.proxies[1][0].cut();
        for net in &mut mesh.nets {
            let (error, _) = failure(net);
            assert!(matches!(error, NetError::Lost { tried: Duration::ZERO, .. }), "{error:?}");
        }
    }
}

/// Another process of a party means that the one with the link is gone.
#[test]
fn a_new_process_of_a_party_ends_its_link() {
    let mut mesh = Mesh::new(2, |config| config);
    let proxy = mesh.proxies[1][0].clone();
    let mut again = mesh.configs[1].clone();
    again.parties[0].address = mesh.addresses[0].to_string();
    let stop = Arc::new(AtomicBool::new(false));
    again.stop = Some(Arc::clone(&stop));
    // While the link is there, a second process is refused, and the link goes on.
    let second = TcpNet::connect_on(&again, TcpListener::bind("127.0.0.1:0").unwrap());
    assert!(matches!(second, Err(NetError::DuplicateParty { party: 1, .. })), "{:?}", second.err());
    mesh.nets[1].send(0, vec![3]).unwrap();
    assert_eq!(receive(&mut mesh.nets[0]), (1, vec![3]));
    proxy.set(Weather::Down);
    proxy.cut();
    let start = Instant::now();
    let starting = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        TcpNet::connect_on(&again, TcpListener::bind("127.0.0.1:0").unwrap()).map(drop)
    });
    let (error, _) = failure(&mut mesh.nets[0]);
    assert!(matches!(error, NetError::Lost { peer: 1, .. }), "{error:?}");
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    stop.store(true, Ordering::Relaxed);
    assert!(starting.join().unwrap().is_err());
}

/// A process that vanished without a word is no duplicate of the one that is started in its place.
#[test]
fn a_party_that_vanished_and_starts_again_is_no_duplicate() {
    let mesh = Mesh::new(2, |config| TcpConfig { heartbeat: Duration::from_millis(500), ..config });
    let mut again = mesh.configs[1].clone();
    again.parties[0].address = mesh.addresses[0].to_string();
    again.connect_timeout = Duration::from_secs(4);
    mesh.proxies[1][0].set(Weather::Silent);
    let second = TcpNet::connect_on(&again, TcpListener::bind("127.0.0.1:0").unwrap());
    assert!(matches!(second, Err(NetError::ConnectTimeout { peer: 0, .. })), "{:?}", second.err());
}

/// A router in front of the party that dials refuses connections, though the party is there.
#[test]
fn a_party_that_cannot_be_reached_comes_back() {
    let closed = free_addresses(1)[0];
    let mut mesh = Mesh::new(2, |mut config| {
        if config.me == 0 {
            config.parties[1].address = closed.to_string();
        }
        config
    });
    let proxy = mesh.proxies[1][0].clone();
    proxy.set(Weather::Down);
    proxy.cut();
    thread::sleep(Duration::from_millis(800));
    proxy.set(Weather::Fair);
    mesh.nets[1].send(0, vec![3]).unwrap();
    assert_eq!(receive(&mut mesh.nets[0]), (1, vec![3]));
}

/// The bytes of an earlier connection answer another challenge.
#[test]
fn a_replayed_connection_is_ignored() {
    let mut mesh = Mesh::new(2, |config| config);
    let proxy = mesh.proxies[1][0].clone();
    let recorded = proxy.first();
    assert!(recorded.len() > 200);
    proxy.set(Weather::Down);
    proxy.cut();
    let mut replay = TcpStream::connect(mesh.addresses[0]).unwrap();
    replay.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut heard = Vec::new();
    let _ = (replay.write_all(&recorded), replay.read_to_end(&mut heard));
    assert!(heard.len() <= 40, "nothing but the challenge: {} bytes", heard.len());
    proxy.set(Weather::Fair);
    mesh.nets[1].send(0, vec![3]).unwrap();
    assert_eq!(receive(&mut mesh.nets[0]), (1, vec![3]));
}

#[test]
fn a_link_whose_parties_only_wait_comes_back() {
    let mut mesh = Mesh::new(2, |config| config);
    let proxy = mesh.proxies[1][0].clone();
    for number in 0..5 {
        proxy.cut();
        let mut waiting = mesh.nets.pop().unwrap();
        let wait = thread::spawn(move || (receive(&mut waiting), waiting));
        thread::sleep(Duration::from_millis(100));
        mesh.nets[0].send(1, vec![number]).unwrap();
        mesh.nets[0].flush(within(10)).unwrap();
        let (got, waiting) = wait.join().unwrap();
        assert_eq!(got, (0, vec![number]));
        mesh.nets.push(waiting);
    }
    assert!(proxy.cuts() >= 5 && proxy.connections() >= 6, "{} cuts", proxy.cuts());
}

/// The next session begins while the other party is still in the one before: its port answers until it has left.
#[test]
fn a_party_may_be_in_the_next_session_first() {
    let keys = Keys::new(2);
    let addresses = free_addresses(2);
    let configs = [0, 1].map(|me| config(me, keys.path(), &addresses));
    let both = |wait: Duration, olds: [Option<TcpNet>; 2]| -> Vec<TcpNet> {
        thread::scope(|scope| {
            let start = |(config, old): (TcpConfig, Option<TcpNet>)| {
                scope.spawn(move || {
                    thread::sleep(if config.me == 0 { wait } else { Duration::ZERO });
                    drop(old);
                    TcpNet::connect(&config).unwrap()
                })
            };
            let joins: Vec<_> = configs.clone().into_iter().zip(olds).map(start).collect();
            joins.into_iter().map(|join| join.join().unwrap()).collect()
        })
    };
    let mut nets = both(Duration::ZERO, [None, None]);
    let second = nets.pop();
    nets = both(Duration::from_millis(1500), [nets.pop(), second]);
    nets[1].send(0, vec![3]).unwrap();
    assert_eq!(receive(&mut nets[0]), (1, vec![3]));
}

/// A party that leaves listens until its peers have everything; meanwhile, its next session waits for the port.
#[test]
fn the_next_session_waits_for_the_port() {
    let mut mesh = Mesh::new(2, |config| TcpConfig { reconnect_timeout: Duration::from_secs(2), ..config });
    let proxy = mesh.proxies[1][0].clone();
    proxy.set(Weather::Down);
    proxy.cut();
    let (_stays, mut leaves) = (mesh.nets.pop().unwrap(), mesh.nets.pop().unwrap());
    leaves.send(1, vec![1]).unwrap();
    let leaving = thread::spawn(move || drop(leaves));
    thread::sleep(Duration::from_millis(300));
    let stop = Arc::new(AtomicBool::new(false));
    let next = TcpConfig { stop: Some(Arc::clone(&stop)), ..mesh.configs[0].clone() };
    let start = Instant::now();
    let connecting = thread::spawn(move || TcpNet::connect(&next).map(drop));
    leaving.join().unwrap();
    let left = start.elapsed();
    thread::sleep(Duration::from_millis(500)); // it has the port, and waits for the other party
    stop.store(true, Ordering::Relaxed);
    let result = connecting.join().unwrap();
    assert!(matches!(result, Err(NetError::Interrupted)), "{result:?}, after the other one left in {left:?}");
}

/// The connection is lost, and comes back later than a silent peer is waited for.
#[test]
fn a_party_that_leaves_waits_for_a_lost_connection() {
    for leaves in [0, 1] {
        let mut mesh = Mesh::new(2, |config| config);
        let proxy = mesh.proxies[1][0].clone();
        let mut stays = mesh.nets.remove(1 - leaves);
        let mut leaver = mesh.nets.remove(0);
        proxy.set(Weather::Down);
        proxy.cut();
        leaver.send(1 - leaves, vec![7; 1000]).unwrap();
        let leaving = thread::spawn(move || drop(leaver));
        thread::sleep(Duration::from_millis(2500));
        proxy.set(Weather::Fair);
        assert_eq!(receive(&mut stays), (leaves, vec![7; 1000]));
        leaving.join().unwrap();
    }
}
