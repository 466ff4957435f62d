//! Which cells a run of the benchmarks measures.

use crate::cell::{Cell, Link, Workload};
use crate::error::BenchError;

const BATCHES: [usize; 5] = [1, 100, 10_000, 100_000, 1_000_000];
const SIDES: [usize; 4] = [64, 128, 256, 512];
const RINGS: [u32; 2] = [32, 64];
/// The ring and batch at which the paper's own code was measured.
const AS_PUBLISHED: (u32, usize) = (60, 100_000);

/// The workloads that `names` select, in the table's order; all of them if there is no name.
///
/// # Errors
/// [`BenchError::UnknownWorkload`].
pub fn select(names: &[String]) -> Result<Vec<Workload>, BenchError> {
    let selects = |name: &str, workload: Workload| name == workload.name() || name == workload.family();
    if let Some(name) = names.iter().find(|name| !Workload::ALL.iter().any(|&w| selects(name, w))) {
        return Err(BenchError::UnknownWorkload { name: name.clone() });
    }
    let chosen = |workload: &Workload| names.is_empty() || names.iter().any(|name| selects(name, *workload));
    Ok(Workload::ALL.into_iter().filter(chosen).collect())
}

/// The cells of some workloads: parties and links on the outside, since opening links takes time; batches ascend.
pub fn cells(workloads: &[Workload], parties: &[usize], links: &[Link]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for &parties in parties {
        for &link in links {
            for &workload in workloads {
                let add = |&(bits, batch): &(u32, usize)| Cell { workload, bits, parties, batch, link };
                cells.extend(points(workload, parties).iter().map(add));
            }
        }
    }
    cells
}

/// (k, batch) of a workload.
fn points(workload: Workload, parties: usize) -> Vec<(u32, usize)> {
    let batches: &[usize] = match workload {
        Workload::Chain => return vec![(64, 1)],
        Workload::MatMul => &SIDES,
        _ => &BATCHES,
    };
    if workload.is_general() {
        // More parties have no other way: their rows are those of the plain names.
        return if parties == 3 { BATCHES.map(|batch| (64, batch)).to_vec() } else { Vec::new() };
    }
    let mut points: Vec<(u32, usize)> = RINGS.iter().flat_map(|&k| batches.iter().map(move |&b| (k, b))).collect();
    if workload.is_correlation() && parties == 3 {
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
        assert_eq!(select(&["less-than"]).unwrap(), &Workload::ALL[4..8]);
        assert_eq!(select(&["chain", "mul"]).unwrap(), [Workload::Mul, Workload::Chain]);
        let error = select(&["multiply"]).unwrap_err().to_string();
        assert!(error.contains("\"multiply\"") && error.contains("less-than-full"), "{error}");
    }

    #[test]
    fn every_series_ascends_so_that_it_can_be_predicted() {
        let cells = cells(&Workload::ALL, &[3, 5, 7], &[Link::Memory, Link::Tls]);
        assert!(cells.len() > 300);
        for (i, cell) in cells.iter().enumerate() {
            assert!(cells[..i].iter().all(|earlier| !earlier.same_series(cell) || earlier.batch < cell.batch));
        }
    }
}
