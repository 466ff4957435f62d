//! Every workload on small batches: right results, exact costs; limits; failures.

use quorate_bench::{Bench, BenchError, Cell, Limits, Link, Measured, Outcome, Skip, Workload, cells};
use quorate_rss::{Kind, Made, cost};

fn measured(bench: &mut Bench, cell: Cell) -> Measured {
    match bench.measure(cell).unwrap() {
        Outcome::Measured(measured) => measured,
        Outcome::Skipped(skip) => panic!("{cell}: {skip}"),
    }
}

fn cell(workload: Workload, bits: u32, parties: usize, batch: usize) -> Cell {
    Cell { workload, bits, parties, batch, link: Link::Memory }
}

#[test]
fn every_workload_measures_right_results() {
    let mut bench = Bench::new(Limits::default());
    for cell in cells(&Workload::ALL, &[3, 5, 7], &[Link::Memory]).into_iter().filter(|cell| cell.batch <= 100) {
        let figures = measured(&mut bench, cell);
        assert!(figures.runs >= 3 && figures.seconds.min > 0.0 && figures.seconds.min <= figures.seconds.median);
        let phases = (figures.offline.is_some(), figures.online.is_some());
        let expected = match cell.workload {
            Workload::RandomBit | Workload::EdaBit => (true, false),
            // Three parties compare without correlations.
            Workload::LessThanBounded | Workload::LessThanFull => (cell.parties > 3, true),
            Workload::LessThanBoundedGeneral | Workload::LessThanFullGeneral => (true, true),
            Workload::Mul | Workload::MatMul | Workload::Chain => (false, true),
        };
        assert_eq!(phases, expected, "{cell}");
    }
}

#[test]
fn bytes_and_rounds_are_those_of_the_formulas() {
    let mut bench = Bench::new(Limits::default());
    for n in [3, 5] {
        let online = measured(&mut bench, cell(Workload::Mul, 64, n, 1000)).online.unwrap();
        assert_eq!((online.rounds, online.bytes_per_party), (1, cost::mul(n, 64, 1000).bytes as f64 / n as f64));
        let offline = measured(&mut bench, cell(Workload::EdaBit, 32, n, 1000)).offline.unwrap();
        let formula = cost::correlation(n, Kind::EdaBit { bits: 32, cut: 0 }, Made::OfContributions, 1000);
        assert_eq!((offline.rounds, offline.bytes_per_party), (formula.rounds, formula.bytes as f64 / n as f64));
        assert!(offline.wire_bytes_per_party > offline.bytes_per_party);
        let chain = measured(&mut bench, cell(Workload::Chain, 64, n, 1));
        let (length, ping_pong) = chain.chain.unwrap();
        assert_eq!(chain.online.unwrap().rounds as usize, length);
        assert!(ping_pong > 0.0);
    }
}

#[test]
fn tls_links_carry_the_same() {
    let mut bench = Bench::new(Limits::default());
    let memory = cell(Workload::LessThanFull, 64, 3, 300);
    let tls = Cell { link: Link::Tls, ..memory };
    let (memory, tls) = (measured(&mut bench, memory), measured(&mut bench, tls));
    let bytes =
        |m: &Measured| [m.offline.as_ref(), m.online.as_ref()].map(|p| p.map(|p| (p.bytes_per_party, p.rounds)));
    assert_eq!(bytes(&memory), bytes(&tls));
}

#[test]
fn cells_beyond_a_limit_say_so_and_the_next_is_predicted_from_them() {
    let mut bench = Bench::new(Limits { cell_seconds: 1e-7, ..Limits::default() });
    measured(&mut bench, cell(Workload::Mul, 64, 3, 1));
    for batch in [100, 10_000] {
        match bench.measure(cell(Workload::Mul, 64, 3, batch)).unwrap() {
            Outcome::Skipped(skip @ Skip::Seconds(_)) => assert!(skip.to_string().contains("predicted"), "{skip}"),
            other => panic!("{other:?}"),
        }
    }
    // Another series starts afresh.
    measured(&mut bench, cell(Workload::Mul, 32, 3, 100));
    let mut bench = Bench::new(Limits { memory_bytes: 1e5, ..Limits::default() });
    let outcome = bench.measure(cell(Workload::LessThanFull, 64, 7, 10_000)).unwrap();
    assert!(matches!(outcome, Outcome::Skipped(Skip::Memory(bytes)) if bytes > 1e7), "{outcome:?}");
    let mut bench = Bench::new(Limits { total_seconds: 0.0, ..Limits::default() });
    assert!(matches!(bench.measure(cell(Workload::Mul, 64, 3, 1)).unwrap(), Outcome::Skipped(Skip::TimeIsUp)));
}

#[test]
fn a_stop_ends_the_measurement_under_way() {
    let mut bench = Bench::new(Limits::default());
    let stopper = bench.stopper();
    let stop = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        stopper.stop();
    });
    let cells = cells(&Workload::ALL, &[3], &[Link::Memory]);
    let ended = cells.into_iter().find_map(|cell| bench.measure(cell).err());
    stop.join().unwrap();
    assert!(matches!(ended, Some(BenchError::Interrupted)), "{ended:?}");
}

#[test]
fn four_parties_are_refused() {
    let refused = Bench::new(Limits::default()).measure(cell(Workload::Mul, 64, 4, 1)).unwrap_err();
    assert!(refused.to_string().contains("3, 5 or 7"), "{refused}");
}
