//! Runs the standard workloads without Python: `cargo run --release -p quorate-bench --example bench -- [NAME...]
//! [--protocols rss,aby,ot] [--parties 2,3,5,7] [--links memory,tls,lan,wan,tcp,70/100] [--most BATCH] [--options
//! malicious=yes,mac=48]`. `70/100` is 70 ms and 100 Mbit/s. `tcp` has no encryption and needs `--features testing`.

use std::error::Error;

use quorate_bench::{
    Bench, Cell, Limits, Link, Machine, Measured, Outcome, Set, Workload, cells, everywhere, peers, select,
};

/// The allocator of the Python module, so that figures are the same.
#[global_allocator]
static ALLOCATOR: quorate_ring::memory::Careful = quorate_ring::memory::Careful;

/// The options of the command line.
struct Options {
    names: Vec<String>,
    /// `None`: all.
    parties: Option<Vec<usize>>,
    protocols: Option<Vec<String>>,
    links: Vec<Link>,
    most: usize,
    /// Options of the protocol, if only one is selected.
    choices: Vec<(String, String)>,
}

fn link(name: &str) -> Result<Link, String> {
    let known = "memory, tls, lan, wan, RTT_MS/MBIT (as 70/100), and with --features testing tcp";
    Link::named(name).ok_or_else(|| format!("no links {name:?}: {known}"))
}

fn options() -> Result<Options, Box<dyn Error>> {
    let links = vec![Link::Memory, Link::Tls];
    let mut options =
        Options { names: Vec::new(), parties: None, protocols: None, links, most: usize::MAX, choices: vec![] };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} wants a value"));
        match argument.as_str() {
            "--parties" => options.parties = Some(value()?.split(',').map(str::parse).collect::<Result<_, _>>()?),
            "--protocols" => options.protocols = Some(value()?.split(',').map(str::to_owned).collect()),
            "--links" => options.links = value()?.split(',').map(link).collect::<Result<_, _>>()?,
            "--options" => {
                for pair in value()?.split(',') {
                    let (name, value) = pair.split_once('=').ok_or("--options wants name=value,...")?;
                    options.choices.push((name.into(), value.into()));
                }
            }
            "--most" => options.most = value()?.parse()?,
            _ => options.names.push(argument),
        }
    }
    Ok(options)
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = options()?;
    let workloads = select(&options.names)?;
    let machine = Machine::here();
    println!("{}, {} cores, {} GiB; one thread a party", machine.processor, machine.cores, machine.memory_bytes >> 30);
    println!("inputs are shared before the clock starts and results opened after it stopped");
    println!("{}\n", peers::CONDITIONS);
    let is_wanted = |(set, parties): &(Set, usize)| {
        options.parties.as_ref().is_none_or(|wanted| wanted.contains(parties))
            && options.protocols.as_ref().is_none_or(|wanted| wanted.iter().any(|name| name == set.name()))
    };
    let places: Vec<(Set, usize)> = everywhere().into_iter().filter(is_wanted).collect();
    let set = places.first().map(|(set, _)| *set).ok_or("no such protocol")?;
    let mut bench = Bench::with(Limits::default(), set.choices(&options.choices)?);
    for cell in cells(&workloads, &places, &options.links) {
        if cell.batch > options.most && cell.workload != Workload::MatMul {
            continue;
        }
        match bench.measure(cell)? {
            Outcome::Measured(measured) => println!("{}", line(&cell, &measured)),
            Outcome::Skipped(skip) => println!("{:<72} {skip}", cell.to_string()),
        }
    }
    Ok(())
}

fn line(cell: &Cell, measured: &Measured) -> String {
    let phases = [("offline", &measured.offline), ("online", &measured.online)];
    let phase = |(name, figures): &(&str, &Option<quorate_bench::PhaseFigures>)| {
        figures.as_ref().map(|f| {
            let (ms, bytes) = (f.seconds.median * 1e3, f.bytes_per_party / 1e6);
            format!("{name} {ms:.2} ms, {bytes:.3} MB, {} rounds", f.rounds)
        })
    };
    let mut notes: Vec<String> = phases.iter().filter_map(phase).collect();
    if let Some(seconds) = measured.processor_seconds {
        notes.insert(0, format!("cpu {:.2} ms", seconds * 1e3));
    }
    if let Some((length, ping_pong)) = measured.chain {
        let per_round = measured.seconds.median / length as f64 * 1e6;
        notes.push(format!("{per_round:.1} us a round, bare round trip {:.1} us", ping_pong * 1e6));
    }
    if let (Some(target), Some(reached)) = (peers::target(cell), measured.reaches(cell)) {
        notes.insert(0, format!("target {target}: {}", if reached { "reached" } else { "MISSED" }));
    }
    for peer in peers::figures(cell) {
        let time = peer.seconds.map_or(String::new(), |s| format!("{s:.4} s "));
        let bytes = peer.bytes_per_party.map_or(String::new(), |bytes| format!("{:.1} MB ", bytes / 1e6));
        notes.push(format!("{}: {time}{bytes}{}", peer.name, peer.note));
    }
    let (median, min) = (measured.seconds.median * 1e3, measured.seconds.min * 1e3);
    format!("{:<64} {median:>9.3} ms (min {min:.3}, {} runs)  {}", cell.to_string(), measured.runs, notes.join("; "))
}
