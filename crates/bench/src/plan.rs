//! The cells that a run of the benchmarks measures.

use crate::cell::{Cell, Link, Workload};
use crate::ciphertexts;
use crate::error::BenchError;
use crate::set::Set;

const BATCHES: [usize; 5] = [1, 100, 10_000, 100_000, 1_000_000];
/// Batches of correlations that are made by the million.
const TRANSFERS: [usize; 3] = [100_000, 1_000_000, 10_000_000];
/// The leaves of all keys of a batch, for workloads whose domains differ.
const LEAVES: usize = 1 << 26;
/// The numbers of look-ups.
const LOOKUPS: [usize; 4] = [1, 1_000, 10_000, 100_000];
/// The numbers of AES blocks.
const BLOCKS: [usize; 3] = [1, 100, 1000];
/// The ring and the batches of single operations: one, and the paper's number.
const OPERATIONS: (u32, [usize; 2]) = (32, [1, 1_000]);
const SIDES: [usize; 4] = [64, 128, 256, 512];
const RINGS: [u32; 2] = [32, 64];
/// Rings, and the number of triples, of the comparison with homomorphic encryption, which is slow.
const COMPARED: ([u32; 4], usize) = ([8, 16, 32, 64], 1_000);
/// The ring and batch at which the paper's own code was measured.
const AS_PUBLISHED: (u32, usize) = (60, 100_000);

/// Returns the workloads that `names` select, in the table's order; all of them if there is no name.
///
/// # Errors
/// [`BenchError::UnknownWorkload`].
pub fn select(names: &[String]) -> Result<Vec<Workload>, BenchError> {
    let is_named = |name: &str, workload: Workload| name == workload.name() || name == workload.family();
    let selects = |name: &str, workload| {
        is_named(name, workload) || name.strip_suffix('s').is_some_and(|one| is_named(one, workload))
    };
    if let Some(name) = names.iter().find(|name| !Workload::ALL.iter().any(|&w| selects(name, w))) {
        return Err(BenchError::UnknownWorkload { name: name.clone() });
    }
    let chosen = |workload: &Workload| names.is_empty() || names.iter().any(|name| selects(name, *workload));
    Ok(Workload::ALL.into_iter().filter(chosen).collect())
}

/// Returns one set, and its workloads that `names` select (see [`select`]). Without names, workloads that this build
/// cannot measure are left out.
///
/// # Errors
/// [`BenchError::UnknownWorkload`]; [`BenchError::UnderAnother`] for workloads of another set;
/// [`BenchError::UnknownProtocol`]; [`BenchError::NoCiphertexts`].
pub fn select_under(protocol: &str, names: &[String]) -> Result<(Set, Vec<Workload>), BenchError> {
    select_in(protocol, names, ciphertexts::HERE)
}

fn select_in(protocol: &str, names: &[String], ciphertexts: bool) -> Result<(Set, Vec<Workload>), BenchError> {
    let set = Set::named(protocol).ok_or_else(|| BenchError::UnknownProtocol { name: protocol.to_owned() })?;
    let mut chosen: Vec<Workload> = select(names)?.into_iter().filter(|&workload| set.has(workload)).collect();
    if !ciphertexts {
        let lacking = chosen.iter().find(|workload| workload.is_of_ciphertexts());
        if let (Some(workload), false) = (lacking, names.is_empty()) {
            return Err(BenchError::NoCiphertexts { name: workload.name() });
        }
        chosen.retain(|workload| !workload.is_of_ciphertexts());
    }
    match (chosen.is_empty(), names.first()) {
        (true, Some(name)) => Err(BenchError::UnderAnother { name: name.clone(), protocol: protocol.to_owned() }),
        _ => Ok((set, chosen)),
    }
}

/// Returns every set with every number of parties that it is measured with.
pub fn everywhere() -> Vec<(Set, usize)> {
    Set::all().into_iter().flat_map(|set| set.parties().iter().map(move |&parties| (set, parties))).collect()
}

/// Returns the cells of these workloads, in each set with its number of parties. Places and links are the outer loops,
/// since opening links takes time; batches ascend.
pub fn cells(workloads: &[Workload], places: &[(Set, usize)], links: &[Link]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for &(set, parties) in places {
        for &link in links {
            for &workload in workloads.iter().filter(|&&workload| set.has(workload)) {
                // Workloads whose arithmetic is slow take the same time on any link.
                if workload.is_of_ciphertexts() && link != Link::Memory {
                    continue;
                }
                let add = |&(bits, batch): &(u32, usize)| Cell { workload, set, bits, parties, batch, link };
                cells.extend(points(workload, set, parties).iter().map(add));
            }
        }
    }
    cells
}

/// Returns the cells over these rings (all, if there are none), and with these batches (the usual ones, if there are
/// none). A chain has no batch.
///
/// # Errors
/// [`BenchError::NoSuchRing`] where no cell is left.
pub fn narrowed(cells: Vec<Cell>, rings: &[u32], batches: &[usize]) -> Result<Vec<Cell>, BenchError> {
    let mut batches: Vec<usize> = batches.iter().map(|&batch| batch.max(1)).collect();
    batches.sort_unstable();
    let mut narrowed: Vec<Cell> = Vec::new();
    for &cell in cells.iter().filter(|cell| rings.is_empty() || rings.contains(&cell.bits)) {
        if batches.is_empty() || cell.workload == Workload::Chain {
            narrowed.push(cell);
        } else if !narrowed.last().is_some_and(|last| last.same_series(&cell)) {
            narrowed.extend(batches.iter().map(|&batch| Cell { batch, ..cell }));
        }
    }
    if !narrowed.is_empty() {
        return Ok(narrowed);
    }
    let mut there: Vec<u32> = cells.iter().map(|cell| cell.bits).collect();
    there.sort_unstable();
    there.dedup();
    Err(BenchError::NoSuchRing { there })
}

/// Returns (k, batch) for each cell of a workload.
fn points(workload: Workload, set: Set, parties: usize) -> Vec<(u32, usize)> {
    // Some forms are only measured with a protocol's usual number of parties.
    let is_usual = set.parties().first() == Some(&parties);
    let most = set.most_elements();
    // Both operands and the result of a product of matrices together have at most the elements of a batch.
    let sides: Vec<usize> = SIDES.into_iter().filter(|side| 3 * side * side <= most).collect();
    let up_to_most: Vec<usize> = BATCHES.into_iter().filter(|&batch| batch <= most).collect();
    let looked_up: Vec<usize> = LOOKUPS.into_iter().filter(|&batch| batch <= most).collect();
    let batches: &[usize] = match workload {
        Workload::Chain => return vec![(64, 1)],
        Workload::And => return up_to_most.into_iter().map(|batch| (1, batch)).collect(),
        // The larger the batch, the less each triple takes.
        Workload::BitTriple => return BATCHES[..4].iter().map(|&batch| (1, batch)).collect(),
        Workload::OtCot | Workload::OtCotMalicious => return TRANSFERS.map(|batch| (128, batch)).to_vec(),
        Workload::OtBitTriples => return TRANSFERS.map(|batch| (1, batch)).to_vec(),
        Workload::Operation(..) => return OPERATIONS.1.map(|batch| (OPERATIONS.0, batch)).to_vec(),
        _ if workload.is_circuit() => return BLOCKS.map(|batch| (128, batch)).to_vec(),
        Workload::OtTriples => return RINGS.iter().flat_map(|&k| BATCHES[2..4].iter().map(move |&b| (k, b))).collect(),
        Workload::TriplesOt | Workload::TriplesPaillier(_) | Workload::TriplesDgk(_) => {
            return COMPARED.0.map(|k| (k, COMPARED.1)).to_vec();
        }
        Workload::MatMul => &sides,
        Workload::Sigmoid | Workload::Table => &looked_up,
        // The total number of leaves is the same.
        Workload::Domain(places) => &[LEAVES >> places.bits()],
        _ if workload.is_conversion() => &BATCHES[1..4],
        _ => &up_to_most,
    };
    if workload.is_general() {
        // More parties always compute in this way: their rows have the plain names.
        return if is_usual { batches.iter().map(|&batch| (64, batch)).collect() } else { Vec::new() };
    }
    let mut points: Vec<(u32, usize)> = RINGS.iter().flat_map(|&k| batches.iter().map(move |&b| (k, b))).collect();
    if workload.is_correlation() && is_usual && !workload.is_transfer() && AS_PUBLISHED.1 <= most {
        points.push(AS_PUBLISHED);
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_select_and_families_select_their_variants() {
        let select = |names: &[&str]| select(&names.iter().map(|&n| n.to_owned()).collect::<Vec<_>>());
        assert_eq!(select(&[]).unwrap(), Workload::ALL);
        assert_eq!(select(&["less-than"]).unwrap(), &Workload::ALL[8..12]);
        assert_eq!(select(&["chain", "mul"]).unwrap(), [Workload::Mul, Workload::Chain]);
        let under = |protocol: &str, name: &str| super::select_under(protocol, &[name.to_owned()]).map(|found| found.1);
        assert_eq!(under("ot", "ot-cot").unwrap(), [Workload::OtCot, Workload::OtCotMalicious]);
        assert_eq!(under("aby", "aes").unwrap(), [Workload::YaoAes, Workload::YaoAesAhead, Workload::GmwAes]);
        assert_eq!(under("aby", "conversions").unwrap(), &Workload::ALL[26..32]);
        assert!(under("ot", "mul").unwrap_err().to_string().contains("another protocol than ot"));
        assert_eq!(under("aby", "operations").unwrap(), &Workload::ALL[32..50]);
        assert_eq!(under("aby", "triples").unwrap(), &Workload::ALL[57..]);
        assert_eq!(under("pika", "domains").unwrap(), &Workload::ALL[16..24]);
        assert_eq!(under("spdz2k", "triples").unwrap(), [Workload::Triple]);
        assert_eq!(under("spdz2k", "bit-triples").unwrap(), [Workload::BitTriple]);
        assert_eq!(under("aby", "triples-dgk-2048").unwrap(), [Workload::TriplesDgk(crate::KeySize::Medium)]);
        let none = under("bgw", "mul").unwrap_err().to_string();
        assert!(none.contains("there are some for rss, aby") && none.ends_with(", ot"), "{none}");
        assert_eq!(select_under("ot", &[]).unwrap().1.len(), 4);
        let error = select(&["multiply"]).unwrap_err().to_string();
        assert!(error.contains("\"multiply\"") && error.contains("less-than-full"), "{error}");
    }

    #[test]
    fn a_build_without_homomorphic_encryption_measures_the_rest_and_says_how_to_get_it() {
        let under = |protocol, names: &[&str], here| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            select_in(protocol, &names, here).map(|found| found.1)
        };
        let all = under("aby", &[], true).unwrap();
        let rest = under("aby", &[], false).unwrap();
        assert_eq!(rest.len() + 6, all.len());
        assert!(rest.contains(&Workload::TriplesOt) && rest.iter().all(|workload| all.contains(workload)));
        assert_eq!(under("aby", &["triples-ot", "mul"], false).unwrap(), [Workload::Mul, Workload::TriplesOt]);
        assert_eq!(under("spdz2k", &["triples"], false).unwrap(), [Workload::Triple]);
        for names in [&["triples"][..], &["mul", "triples-paillier-1024"]] {
            let error = under("aby", names, false).unwrap_err().to_string();
            assert!(error.contains("triples-paillier-1024") && error.contains("make build FEATURES=he"), "{error}");
        }
        assert_eq!(under("aby", &["triples-dgk-3072"], true).unwrap().len(), 1);
    }

    #[test]
    fn every_workload_is_in_a_set_and_every_name_of_a_descriptor_is_one_of_a_workload() {
        assert!(Workload::ALL.into_iter().all(|workload| Set::all().into_iter().any(|set| set.has(workload))));
        for set in Set::all() {
            for name in set.workloads() {
                assert!(super::select(&[(*name).to_owned()]).is_ok(), "{set}: {name}");
            }
        }
    }

    #[test]
    fn rings_and_batches_are_those_asked_for() {
        let places = [(Set::named("spdz2k").unwrap(), 2)];
        let all = cells(&[Workload::Triple, Workload::Chain], &places, &[Link::Memory, Link::Tls]);
        let points = |rings: &[u32], batches: &[usize]| {
            let cells = narrowed(all.clone(), rings, batches).unwrap();
            cells.iter().map(|cell| (cell.workload.name(), cell.bits, cell.batch, cell.link)).collect::<Vec<_>>()
        };
        assert_eq!(narrowed(all.clone(), &[], &[]).unwrap(), all);
        let of = |link| [("triple", 64, 7, link), ("triple", 64, 5000, link), ("chain", 64, 1, link)];
        assert_eq!(points(&[64], &[5000, 7]), [of(Link::Memory), of(Link::Tls)].concat());
        assert_eq!(points(&[32], &[10]), [("triple", 32, 10, Link::Memory), ("triple", 32, 10, Link::Tls)]);
        let none = narrowed(all, &[48], &[]).unwrap_err().to_string();
        assert_eq!(none, "nothing here is measured over the rings asked for; there is k = 32, 64");
    }

    #[test]
    fn every_series_ascends_so_that_it_can_be_predicted() {
        let cells = cells(&Workload::ALL, &everywhere(), &[Link::Memory, Link::Tls]);
        assert!(cells.len() > 300);
        for (i, cell) in cells.iter().enumerate() {
            assert!(cells[..i].iter().all(|earlier| !earlier.same_series(cell) || earlier.batch < cell.batch));
        }
    }
}
