//! Measures the latency and throughput of this machine's links, and prints the median of several runs: `cargo run
//! --release -p quorate-net --example pingpong`.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use quorate_net::tcp::{PartyConfig, TcpConfig, TcpNet, keygen};
use quorate_net::{Net, Wait, memory};

const ROUNDS: usize = 20_000;
const FRAME_BYTES: usize = 256 << 10;
const FRAMES: usize = 4 << 10;
const WINDOW: usize = 64;
const RUNS: usize = 5;

fn main() {
    let dir = std::env::temp_dir().join(format!("quorate-pingpong-{}", std::process::id()));
    for party in 0..2 {
        keygen(&dir, party).expect("keys");
    }
    println!("{:<14} {:>16} {:>16} {:>18}", "links", "16 B round trip", "4 KiB round trip", "one way, 256 KiB");
    report("memory", &|| memory::mesh(2).into_iter().map(boxed).collect());
    report("tcp, tls 1.3", &|| connect(&dir));
    std::fs::remove_dir_all(&dir).expect("removing the keys");
}

type Ends = Vec<Box<dyn Net>>;

fn boxed(net: impl Net + 'static) -> Box<dyn Net> {
    Box::new(net)
}

fn connect(dir: &Path) -> Ends {
    let listeners: Vec<TcpListener> = (0..2).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port")).collect();
    let parties: Vec<PartyConfig> = listeners
        .iter()
        .enumerate()
        .map(|(i, listener)| PartyConfig {
            address: listener.local_addr().expect("an address").to_string(),
            certificates: vec![dir.join(format!("party{i}.crt"))],
        })
        .collect();
    thread::scope(|scope| {
        let joins: Vec<_> = listeners
            .into_iter()
            .enumerate()
            .map(|(me, listener)| {
                let key: PathBuf = dir.join(format!("party{me}.key"));
                let config = TcpConfig::new(me, parties.clone(), key);
                scope.spawn(move || TcpNet::connect_on(&config, listener).expect("a connection"))
            })
            .collect();
        joins.into_iter().map(|join| boxed(join.join().expect("a party"))).collect()
    })
}

fn report(name: &str, mesh: &dyn Fn() -> Ends) {
    let small = median(|| round_trip_us(mesh(), 16));
    let page = median(|| round_trip_us(mesh(), 4096));
    let rate = median(|| gigabytes_per_second(mesh()));
    println!("{name:<14} {small:>13.1} us {page:>13.1} us {rate:>13.2} GB/s");
}

fn median(measure: impl Fn() -> f64) -> f64 {
    let mut results: Vec<f64> = (0..RUNS).map(|_| measure()).collect();
    results.sort_by(f64::total_cmp);
    results[RUNS / 2]
}

fn receive(net: &mut Box<dyn Net>) -> (usize, Vec<u8>) {
    net.recv(Wait::Forever).expect("a living peer").expect("a frame")
}

fn round_trip_us(mut ends: Ends, bytes: usize) -> f64 {
    let mut second = ends.pop().expect("two ends");
    let mut first = ends.pop().expect("two ends");
    let echo = thread::spawn(move || {
        for _ in 0..ROUNDS {
            let (from, frame) = receive(&mut second);
            second.send(from, frame).expect("a living peer");
        }
        second.flush(Wait::Forever).expect("a flush");
        second
    });
    let start = Instant::now();
    let mut frame = vec![7; bytes];
    for _ in 0..ROUNDS {
        first.send(1, frame).expect("a living peer");
        frame = receive(&mut first).1;
    }
    let took = start.elapsed();
    drop((first, echo.join().expect("the echo")));
    took.as_secs_f64() * 1e6 / ROUNDS as f64
}

/// Sends a gigabyte one way; the reader grants credit every half window, as the engine does.
fn gigabytes_per_second(mut ends: Ends) -> f64 {
    let mut second = ends.pop().expect("two ends");
    let mut first = ends.pop().expect("two ends");
    let reader = thread::spawn(move || {
        for i in 1..=FRAMES {
            receive(&mut second);
            if i % (WINDOW / 2) == 0 {
                second.send(0, vec![0]).expect("a living peer");
            }
        }
        second.flush(Wait::Forever).expect("a flush");
        second
    });
    let start = Instant::now();
    let mut credit = WINDOW;
    for _ in 0..FRAMES {
        while credit == 0 {
            receive(&mut first);
            credit += WINDOW / 2;
        }
        first.send(1, vec![7; FRAME_BYTES]).expect("a living peer");
        credit -= 1;
    }
    while credit < WINDOW {
        receive(&mut first);
        credit += WINDOW / 2;
    }
    let took = start.elapsed();
    drop((first, reader.join().expect("the reader")));
    (FRAMES * FRAME_BYTES) as f64 / took.as_secs_f64() / 1e9
}
