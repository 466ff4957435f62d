//! Measures how long two parties take to connect while strangers call one of them from many addresses of the loopback:
//! `cargo run --release -p quorate-net --example strangers -- WORDS RATE RTT_MS`. `WORDS` says what strangers send:
//! `nothing`, `hello` (TLS at once, as any client does), `echo` (the challenge with a wrong MAC, then TLS), `answer`
//! (the right answer, which takes the parties' certificates, then TLS) or `none` (no strangers). Each row is one
//! attempt of at most 10 s.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use quorate_net::NetError;
use quorate_net::tcp::{PartyConfig, TcpConfig, TcpNet, keygen};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};

#[path = "../tests/common/far.rs"]
mod far;

use far::far_away;

/// The connections that one thread of strangers holds at most, and the number of threads.
const HELD: usize = 200;
const THREADS: usize = 4;
const ATTEMPTS: usize = 3;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["flood", to, words, rate, keys] => {
            flood(to.parse().expect("an address"), words, rate.parse().expect("a rate"), keys.as_ref())
        }
        [words, rate, rtt_ms] => measure(words, rate, rtt_ms.parse().expect("milliseconds")),
        _ => eprintln!("arguments: nothing|hello|echo|answer|none RATE RTT_MS"),
    }
}

fn measure(words: &str, rate: &str, rtt_ms: u64) {
    let dir = std::env::temp_dir().join(format!("quorate-strangers-{}", std::process::id()));
    for party in 0..2 {
        keygen(&dir, party).expect("keys");
    }
    for (whose, source) in [("configured", Ipv4Addr::LOCALHOST), ("another", Ipv4Addr::new(127, 200, 0, 1))] {
        for _ in 0..ATTEMPTS {
            let (took, met) = attempt(&dir, words, rate, Duration::from_millis(rtt_ms), source);
            let met = met.map_or_else(|error| error.to_string(), |()| "connected".into());
            println!("{words} {rate}/s, {rtt_ms} ms, from {whose} address: {:.2} s, {met}", took.as_secs_f64());
        }
    }
    std::fs::remove_dir_all(&dir).expect("removing the keys");
}

fn attempt(dir: &Path, words: &str, rate: &str, rtt: Duration, source: Ipv4Addr) -> (Duration, Result<(), NetError>) {
    let listeners: Vec<TcpListener> = (0..2).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port")).collect();
    let addresses: Vec<SocketAddr> = listeners.iter().map(|l| l.local_addr().expect("an address")).collect();
    let far = far_away(addresses[0], rtt, move |target| call_from(source, target));
    let config = |me: usize| {
        let party = |i: usize| PartyConfig {
            address: if (i, me) == (0, 1) { far } else { addresses[i] }.to_string(),
            certificates: vec![dir.join(format!("party{i}.crt"))],
        };
        let mut config = TcpConfig::new(me, (0..2).map(party).collect(), dir.join(format!("party{me}.key")));
        config.connect_timeout = Duration::from_secs(10);
        config
    };
    let mut joins = Vec::new();
    let mut strangers: Option<Child> = None;
    let mut start = Instant::now();
    for (me, listener) in listeners.into_iter().enumerate() {
        let config = config(me);
        joins.push(thread::spawn(move || TcpNet::connect_on(&config, listener)));
        if me == 0 && words != "none" {
            let flood = ["flood", &addresses[0].to_string(), words, rate, &dir.display().to_string()].map(String::from);
            let me = std::env::current_exe().expect("this program");
            strangers = Some(Command::new(me).args(flood).spawn().expect("strangers"));
            thread::sleep(Duration::from_secs(1));
            start = Instant::now();
        }
    }
    let nets: Vec<Result<TcpNet, NetError>> = joins.into_iter().map(|join| join.join().expect("a party")).collect();
    let took = start.elapsed();
    if let Some(mut strangers) = strangers {
        let _ = (strangers.kill(), strangers.wait());
    }
    (took, nets.into_iter().try_for_each(|net| net.map(drop)))
}

fn call_from(source: Ipv4Addr, target: SocketAddr) -> Option<TcpStream> {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).ok()?;
    bind(&socket, &SocketAddrV4::new(source, 0)).ok()?;
    connect(&socket, &target).ok()?;
    Some(TcpStream::from(socket))
}

/// Calls a party again and again for at most 15 s, at this rate, each time from another address.
fn flood(to: SocketAddr, words: &str, rate: f64, keys: &Path) {
    let hello = client_hello();
    let certificates: Vec<CertificateDer<'static>> = (0..2)
        .map(|party| CertificateDer::from_pem_file(keys.join(format!("party{party}.crt"))).expect("a certificate"))
        .collect();
    let end = Instant::now() + Duration::from_secs(15);
    let calls = AtomicU64::new(0);
    let strangers = |number: usize| {
        let mut held = VecDeque::new();
        let start = Instant::now();
        for called in 0.. {
            let due = start + Duration::from_secs_f64(called as f64 * THREADS as f64 / rate);
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if Instant::now() > end {
                break;
            }
            let [_, a, b, c] = ((called * THREADS + number) as u32 % (100 << 16)).to_be_bytes();
            let Some(mut stream) = call_from(Ipv4Addr::new(127, 1 + a, b, c.max(1)), to) else { continue };
            calls.fetch_add(1, Ordering::Relaxed);
            match words {
                "hello" => drop(stream.write_all(&hello)),
                "echo" => drop(answer(&mut stream, &[], &hello)),
                "answer" => drop(answer(&mut stream, &certificates, &hello)),
                _ => {}
            }
            held.push_back(stream);
            if held.len() > HELD {
                held.pop_front();
            }
        }
    };
    thread::scope(|scope| {
        let strangers = &strangers;
        (0..THREADS).for_each(|number| drop(scope.spawn(move || strangers(number))));
        thread::sleep(Duration::from_secs(1));
        println!("(strangers called {} times in their first second)", calls.load(Ordering::Relaxed));
    });
}

/// Answers a challenge as party 1, without its key.
fn answer(stream: &mut TcpStream, certificates: &[CertificateDer<'_>], hello: &[u8]) -> std::io::Result<()> {
    let mut challenge = [0; 40];
    stream.set_read_timeout(Some(Duration::from_millis(100)))?;
    stream.read_exact(&mut challenge)?;
    let mut key = blake3::Hasher::new_derive_key("quorate-net 2026-11-29 answers to challenges before TLS");
    for certificate in certificates {
        key.update(&(certificate.len() as u64).to_le_bytes()).update(certificate);
    }
    let mac = blake3::keyed_hash(key.finalize().as_bytes(), &challenge[8..]);
    stream.write_all(&[&challenge[..8], &1u32.to_le_bytes(), &challenge[8..], mac.as_bytes(), hello].concat())
}

/// Returns the first message of a TLS client that has no certificate.
fn client_hello() -> Vec<u8> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    config.alpn_protocols = vec![b"quorate".to_vec()];
    let name = ServerName::try_from("quorate").expect("a name");
    let mut tls = rustls::ClientConnection::new(Arc::new(config), name).expect("a client");
    let mut hello = Vec::new();
    tls.write_tls(&mut hello).expect("a hello");
    hello
}
