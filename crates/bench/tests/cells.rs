//! Tests of every workload on small batches: results, costs, limits and failures.

use quorate_bench::{
    Bench, BenchError, Cell, Held, KeySize, Limits, Link, Measured, Operation, Outcome, Set, Skip, Workload, cells,
    everywhere,
};
use quorate_rss::{Kind, Made, cost};

/// Limits with the fewest executions of each cell.
fn brief() -> Limits {
    Limits { again_seconds: 0.0, ..Limits::default() }
}

fn measured(bench: &mut Bench, cell: Cell) -> Measured {
    match bench.measure(cell).unwrap() {
        Outcome::Measured(measured) => measured,
        Outcome::Skipped(skip) => panic!("{cell}: {skip}"),
    }
}

fn cell(workload: Workload, bits: u32, parties: usize, batch: usize) -> Cell {
    let lists = |&(set, n): &(Set, usize)| n == parties && set.has(workload);
    let (set, _) = everywhere().into_iter().find(lists).unwrap_or((Set::all()[0], parties));
    Cell { workload, set, bits, parties, batch, link: Link::Memory }
}

/// Returns the largest of the quick batches, for each workload, ring and number of parties.
fn small(cells: Vec<Cell>) -> Vec<Cell> {
    let of = |cell: &Cell| (cell.workload, cell.bits, cell.parties);
    let mut small: Vec<Cell> = cells.into_iter().filter(|cell| cell.batch <= 100).collect();
    small.sort_by_key(|cell| (cell.workload.name(), cell.bits, cell.parties, std::cmp::Reverse(cell.batch)));
    small.dedup_by(|next, kept| of(next) == of(kept));
    small
}

/// Returns one protocol with the numbers of parties that it is measured with.
fn under(name: &str) -> Vec<(Set, usize)> {
    everywhere().into_iter().filter(|(set, _)| set.name() == name).collect()
}

#[test]
fn every_workload_measures_right_results() {
    let mut bench = Bench::new(brief());
    for cell in small(cells(&Workload::ALL, &under("rss"), &[Link::Memory])) {
        let figures = measured(&mut bench, cell);
        assert!(figures.runs >= 3 && figures.seconds.min > 0.0 && figures.seconds.min <= figures.seconds.median);
        let phases = (figures.offline.is_some(), figures.online.is_some());
        let expected = match cell.workload {
            workload if workload.is_correlation() => (true, false),
            // Three parties compare without correlations.
            Workload::LessThanBounded | Workload::LessThanFull => (cell.parties > 3, true),
            Workload::LessThanBoundedGeneral | Workload::LessThanFullGeneral | Workload::Sigmoid | Workload::Table => {
                (true, true)
            }
            _ => (false, true),
        };
        assert_eq!(phases, expected, "{cell}");
    }
}

/// Three parties compute the logistic function of 16 bits, as in sessions; families that look it up have the rounds of
/// a table.
#[test]
fn sigmoids_go_the_way_of_sessions() {
    let mut bench = Bench::new(brief());
    let mut rounds = |name: &str, parties, workload| {
        let set = Set::named(name).unwrap();
        let cell = Cell { workload, set, bits: 64, parties, batch: 20, link: Link::Memory };
        measured(&mut bench, cell).online.unwrap().rounds
    };
    assert!(rounds("rss", 3, Workload::Sigmoid) > 20);
    for (name, parties) in [("aby", 2), ("pika", 3)] {
        let [sigmoid, table] = [Workload::Sigmoid, Workload::Table].map(|workload| rounds(name, parties, workload));
        assert_eq!((sigmoid, sigmoid <= 3), (table, true), "{name}");
    }
}

/// Tests workloads that only one family lists.
#[test]
fn workloads_on_bits_measure_right_results() {
    use Workload::{And, BitTriple, DaBit, Equality, Triple, Truncation};
    let mut bench = Bench::new(brief());
    let cells = cells(&[DaBit, Triple, BitTriple, Equality, Truncation, And], &under("spdz2k"), &[Link::Memory]);
    let mut cells = small(cells);
    cells.retain(|cell| cell.parties == 2);
    assert_eq!(cells.len(), 10);
    cells.into_iter().for_each(|cell| assert!(measured(&mut bench, cell).runs >= 3, "{cell}"));
}

/// Tests options of a family, more parties than usual, and simulated networks.
#[test]
fn options_parties_and_links_are_measured() {
    let set = Set::named("spdz2k").unwrap();
    let asked = |options: &[(&str, &str)]| {
        set.choices(&options.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect::<Vec<_>>())
    };
    let mut bench = Bench::with(brief(), asked(&[("mac", "48"), ("bits", "paper")]).unwrap());
    let mul = |bits, parties, link| Cell { workload: Workload::Mul, set, bits, parties, batch: 100, link };
    let places = set.places(&[2, 4]).unwrap();
    assert_eq!(places, [(set, 2), (set, 4)]);
    for (set, parties) in places {
        let online = measured(&mut bench, Cell { set, ..mul(32, parties, Link::Memory) }).online.unwrap();
        assert_eq!((online.rounds, online.bytes_per_party), (1, 800.0 * (parties - 1) as f64));
    }
    match bench.measure(mul(64, 2, Link::Memory)).unwrap() {
        Outcome::Skipped(skip @ Skip::Refused(_)) => assert!(skip.to_string().contains("mac=64"), "{skip}"),
        other => panic!("{other:?}"),
    }
    let (fast, slow) =
        [Link::Lan, Link::Wan].map(|link| measured(&mut bench, mul(32, 2, link)).online.unwrap().seconds.min).into();
    assert!(fast >= 53e-6 && slow >= 23e-3 && fast < slow, "{fast} {slow}");
    let refused = |options: &[(&str, &str)]| asked(options).unwrap_err().to_string();
    assert!(refused(&[("mac", "40")]).contains("spdz2k has no option mac=40"));
    assert!(refused(&[("forms", "masked")]).contains("no option forms"));
    assert!(refused(&[("mac", "32")]).contains("allow_weak"));
    assert!(set.places(&[1]).unwrap_err().to_string().contains("2 or more"));
    let transfers = Set::named("ot").unwrap();
    assert!(transfers.places(&[3]).is_err() && transfers.places(&[]).unwrap() == [(transfers, 2)]);
    assert!(transfers.choices(&[("mac".into(), "48".into())]).is_err());
}

#[test]
fn bytes_and_rounds_are_those_of_the_formulas() {
    let mut bench = Bench::new(brief());
    for n in [3, 5] {
        let online = measured(&mut bench, cell(Workload::Mul, 64, n, 1000)).online.unwrap();
        assert_eq!((online.rounds, online.bytes_per_party), (1, cost::mul(n, 64, 1000).bytes as f64 / n as f64));
        let offline = measured(&mut bench, cell(Workload::EdaBit, 32, n, 1000)).offline.unwrap();
        let formula = cost::correlation(n, Kind::EdaBit { bits: 32, cut: 0 }, Made::by(n)[0], 1000);
        assert_eq!((offline.rounds, offline.bytes_per_party), (formula.rounds, formula.bytes as f64 / n as f64));
        assert!(offline.wire_bytes_per_party > offline.bytes_per_party);
        let chain = measured(&mut bench, cell(Workload::Chain, 64, n, 1));
        let (length, ping_pong) = chain.chain.unwrap();
        assert_eq!(chain.online.unwrap().rounds as usize, length);
        assert!(ping_pong > 0.0);
    }
}

#[test]
fn two_parties_measure_what_three_do() {
    let mut bench = Bench::new(brief());
    let mut cells = small(cells(&Workload::ALL, &under("aby"), &[Link::Memory]));
    cells.retain(|cell| !cell.workload.is_transfer());
    assert!(cells.iter().all(|cell| cell.runs().name() == "aby") && cells.len() >= 18, "{}", cells.len());
    for cell in cells {
        let figures = measured(&mut bench, cell);
        let local = Workload::Operation(Held::Summands, Operation::Add);
        let nothing_before = matches!(cell.workload, Workload::Y2B | Workload::YaoAes) || cell.workload == local;
        assert_eq!((figures.offline.is_none(), figures.online.is_some()), (nothing_before, true), "{cell}");
        assert!(figures.seconds.min > 0.0 && figures.results_per_second.is_finite(), "{cell}");
    }
    let figures = measured(&mut bench, cell(Workload::LessThanBounded, 64, 2, 1000));
    let plan = quorate_aby::cost::msb(64, 1000);
    assert_eq!(figures.bytes_per_party(), (plan.offline().bytes + plan.online.bytes) as f64 / 2.0);
    assert_eq!(figures.online.unwrap().rounds, plan.online.rounds);
}

#[test]
fn tls_links_carry_the_same() {
    let mut bench = Bench::new(brief());
    let memory = cell(Workload::LessThanFull, 64, 3, 300);
    let tls = Cell { link: Link::Tls, ..memory };
    let (memory, tls) = (measured(&mut bench, memory), measured(&mut bench, tls));
    let bytes =
        |m: &Measured| [m.offline.as_ref(), m.online.as_ref()].map(|p| p.map(|p| (p.bytes_per_party, p.rounds)));
    assert_eq!(bytes(&memory), bytes(&tls));
}

#[test]
fn cells_beyond_a_limit_say_so_and_the_next_is_predicted_from_them() {
    let mut bench = Bench::new(Limits { cell_seconds: 1e-7, ..brief() });
    measured(&mut bench, cell(Workload::Mul, 64, 3, 1));
    for batch in [100, 10_000] {
        match bench.measure(cell(Workload::Mul, 64, 3, batch)).unwrap() {
            Outcome::Skipped(skip @ Skip::Seconds(_)) => assert!(skip.to_string().contains("predicted"), "{skip}"),
            other => panic!("{other:?}"),
        }
    }
    // Another series starts without a prediction.
    measured(&mut bench, cell(Workload::Mul, 32, 3, 100));
    let mut bench = Bench::new(Limits { memory_bytes: 1e5, ..brief() });
    let outcome = bench.measure(cell(Workload::LessThanFull, 64, 7, 10_000)).unwrap();
    assert!(matches!(outcome, Outcome::Skipped(Skip::Memory(bytes)) if bytes > 1e7), "{outcome:?}");
    let mut bench = Bench::new(Limits { total_seconds: 0.0, ..brief() });
    assert!(matches!(bench.measure(cell(Workload::Mul, 64, 3, 1)).unwrap(), Outcome::Skipped(Skip::TimeIsUp)));
}

#[test]
fn a_stop_ends_the_measurement_under_way() {
    let mut bench = Bench::new(brief());
    let stopper = bench.stopper();
    let stop = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        stopper.stop();
    });
    let cells = cells(&Workload::ALL, &under("rss")[..1], &[Link::Memory]);
    let ended = cells.into_iter().find_map(|cell| bench.measure(cell).err());
    stop.join().unwrap();
    assert!(matches!(ended, Some(BenchError::Interrupted)), "{ended:?}");
}

#[test]
fn four_parties_are_refused() {
    let refused = Bench::new(brief()).measure(cell(Workload::Mul, 64, 4, 1)).unwrap_err();
    assert!(refused.to_string().contains("3, 5 or 7"), "{refused}");
}

#[test]
fn transfers_of_two_parties_cost_what_is_stated() {
    use quorate_ot::{Options, cost};
    let mut bench = Bench::new(brief());
    let ring = quorate_ring::Ring::of;
    let stated = |cost: cost::Cost| (cost.rounds, (cost.by_sender + cost.by_receiver) as f64 / 2.0);
    for (workload, bits, batch, cost) in [
        (Workload::OtCot, 128, 16_384, cost::cots(Options::default(), 16_384)),
        (Workload::OtCotMalicious, 128, 30_000, cost::cots(Options::MALICIOUS, 30_000)),
        (Workload::OtTriples, 64, 1000, cost::triples(Options::default(), ring(64), 1000)),
        (Workload::OtTriples, 32, 1000, cost::triples(Options::default(), ring(32), 1000)),
        (Workload::OtBitTriples, 1, 100_000, cost::bit_triples(Options::default(), 1, 100_000)),
    ] {
        let figures = measured(&mut bench, cell(workload, bits, 2, batch));
        let offline = figures.offline.unwrap();
        assert_eq!((offline.rounds, offline.bytes_per_party), stated(cost), "{workload:?}");
        assert!(figures.online.is_none() && figures.runs >= 3);
    }
}

#[test]
fn triples_three_ways_cost_what_is_stated() {
    use quorate_he::{Level, Options, Scheme, cost};
    let mut bench = Bench::new(brief());
    let by_transfers = measured(&mut bench, cell(Workload::TriplesOt, 16, 2, 50)).offline.unwrap();
    let stated = quorate_ot::cost::triples(quorate_ot::Options::default(), quorate_ring::Ring::of(16), 50);
    assert_eq!(by_transfers.bytes_per_party, (stated.by_sender + stated.by_receiver) as f64 / 2.0);
    for (workload, scheme) in [
        (Workload::TriplesPaillier(KeySize::Legacy), Scheme::Paillier),
        (Workload::TriplesDgk(KeySize::Legacy), Scheme::Dgk),
    ] {
        let offline = measured(&mut bench, cell(workload, 16, 2, 50)).offline.unwrap();
        let stated = cost::triples(Options { scheme, level: Level::LEGACY }, quorate_ring::Ring::of(16), 50);
        let bytes = stated.bytes.iter().sum::<u64>() as f64 / 2.0;
        assert_eq!((offline.rounds, offline.bytes_per_party), (stated.rounds, bytes), "{workload:?}");
    }
}

#[test]
fn the_papers_table_stands_beside_ours() {
    let of_two = cells(&Workload::ALL, &under("aby"), &[Link::Memory]);
    let compared: Vec<_> = of_two.iter().filter(|cell| cell.workload.family() == "triples").collect();
    assert_eq!(compared.len(), 28);
    for cell in compared {
        let [peer] = quorate_bench::peers::figures(cell) else { panic!("no figure for {cell}") };
        assert!(peer.seconds.is_some_and(|s| s > 0.0) && peer.bytes_per_party.is_some_and(|b| b > 80_000.0), "{cell}");
    }
    let cell = Cell { workload: Workload::TriplesPaillier(KeySize::Long), bits: 64, ..*of_two.first().unwrap() };
    let cell = Cell { batch: 1000, ..cell };
    let [peer] = quorate_bench::peers::figures(&cell) else { panic!("no figure for {cell}") };
    assert_eq!((peer.seconds, peer.bytes_per_party), (Some(4.957), Some(789_500.0)));
}

/// Bytes and rounds of conversions and circuits equal the formulas.
#[test]
fn sharings_of_two_parties_cost_what_is_stated() {
    use quorate_aby::{Garbling, cost};
    use quorate_circuits::{Order, Program, catalog};
    let mut bench = Bench::new(brief());
    let (ring, len) = (quorate_ring::Ring::of(32), 1000);
    let label = |count| cost::correlation(&quorate_aby::Kind::InputLabel, count).bytes as f64 / 2.0;
    let yao = |cost: cost::yao::Cost| {
        (label(cost.input_labels), cost.rounds[0].max(cost.rounds[1]), cost.sent.iter().sum::<u64>() as f64 / 2.0)
    };
    let plan =
        |plan: cost::Bill| (plan.offline().bytes as f64 / 2.0, plan.online.rounds, plan.online.bytes as f64 / 2.0);
    for (workload, stated) in [
        (Workload::A2B, plan(cost::bit_decompose(32, len))),
        (Workload::B2A, plan(cost::compose(32, len))),
        (Workload::Y2A, plan(cost::compose(32, len))),
        (Workload::B2Y, yao(cost::yao::bits_to_labels(32, len, Garbling::Streamed))),
        (Workload::A2Y, yao(cost::yao::ring_to_labels(ring, len, Garbling::Streamed))),
    ] {
        let figures = measured(&mut bench, cell(workload, 32, 2, len));
        let online = figures.online.unwrap();
        let found = (figures.offline.unwrap().bytes_per_party, online.rounds, online.bytes_per_party);
        assert_eq!(found, stated, "{workload:?}");
    }
    let aes = catalog::aes128();
    assert_eq!(aes.counts().and as usize, quorate_bench::AES_ANDS);
    let garbled = measured(&mut bench, cell(Workload::YaoAes, 128, 2, 10)).online.unwrap();
    let stated = cost::yao::garble(&Program::new(&aes, Order::Runs(quorate_crypto::RUN)), 10, Garbling::Streamed);
    assert_eq!((garbled.rounds, garbled.bytes_per_party), (stated.rounds[1], stated.sent[0] as f64 / 2.0));
    let ahead = measured(&mut bench, cell(Workload::YaoAesAhead, 128, 2, 10));
    let (offline, online) = (ahead.offline.unwrap(), ahead.online.unwrap());
    let stated = cost::yao::bits_to_labels(256, 10, Garbling::Ahead);
    let tables = cost::correlation(&quorate_aby::Kind::GarbledAnd, 10 * quorate_bench::AES_ANDS).bytes as f64 / 2.0;
    assert_eq!(offline.bytes_per_party, label(stated.input_labels) + tables);
    let sent = stated.sent.iter().sum::<u64>() as f64 / 2.0;
    assert_eq!((online.rounds, online.bytes_per_party), (stated.rounds[0].max(stated.rounds[1]), sent));
    let layered = measured(&mut bench, cell(Workload::GmwAes, 128, 2, 10)).online.unwrap();
    assert_eq!(layered.rounds as usize, aes.depth());
}

/// Bytes and rounds of single operations equal the formulas; an operation in Yao's sharing sends nothing online.
#[test]
fn operations_in_every_sharing_cost_what_is_stated() {
    use quorate_aby::{Kind, cost};
    use quorate_circuits::Goal;
    let mut bench = Bench::new(brief());
    let len = 100;
    let mut found = |held, operation| {
        let figures = measured(&mut bench, cell(Workload::Operation(held, operation), 32, 2, len));
        let online = figures.online.unwrap();
        (figures.offline.map_or(0.0, |phase| phase.bytes_per_party), online.rounds, online.bytes_per_party)
    };
    let stated =
        |bill: cost::Bill| (bill.offline().bytes as f64 / 2.0, bill.online.rounds, bill.online.bytes as f64 / 2.0);
    for (operation, bill) in [
        (Operation::Mul, cost::mul(32, len)),
        (Operation::Less, cost::lt_full(32, len)),
        (Operation::Equal, cost::eqz(32, len)),
        (Operation::Mux, cost::mask(32, len)),
    ] {
        assert_eq!(found(Held::Summands, operation), stated(bill), "{operation:?}");
    }
    assert_eq!(found(Held::Summands, Operation::Add), (0.0, 0, 0.0));
    for (operation, ands) in [
        (Operation::Add, 31),
        (Operation::Mul, 32 * 31 + 1),
        (Operation::Less, 32),
        (Operation::Equal, 31),
        (Operation::Mux, 32),
        (Operation::And, 32),
    ] {
        let [small, shallow] = [Goal::Size, Goal::Depth].map(|goal| operation.circuit(32, goal));
        assert_eq!(small.counts().and, ands, "{operation:?}");
        let tables = cost::correlation(&Kind::GarbledAnd, ands as usize * len).bytes as f64 / 2.0;
        assert_eq!(found(Held::Labels, operation), (tables, 0, 0.0), "{operation:?}");
        let (_, rounds, bytes) = found(Held::Bits, operation);
        assert_eq!(rounds as usize, shallow.depth(), "{operation:?}");
        // Two bits for each AND in each direction; rows are rounded up to whole bytes.
        let least = f64::from(u32::try_from(2 * shallow.counts().and * len as u64).unwrap()) / 8.0;
        assert!((least..1.1 * least).contains(&bytes), "{operation:?}: {bytes} and {least}");
    }
}
