//! The comparison of the parties' requests and plans before a run.

use std::collections::BTreeMap;

use quorate_engine::{Error, Greeting, Mismatch, Result};
use quorate_graph::Graph;
use quorate_planner::{Reveal, Work};

use super::job::{Branch, Job};

/// The bytes of the number that a party proposes for a branch.
const SIDE_BYTES: usize = 4;

/// Returns the error; where the parties' requests differ, it describes this party's request by the lines of the values
/// that it reveals, or by the branch that it asks for.
pub(super) fn naming(error: Error, graph: &Graph, job: &Job) -> Error {
    let Error::Mismatch(Mismatch::Request { peer, .. }) = error else { return error };
    if let Some(Branch { name, .. }) = &job.branch {
        return Error::Mismatch(Mismatch::Request { peer, here: format!("the branch {name:?}").into() });
    }
    let reveals = &job.reveals;
    let one = |reveal: &Reveal| {
        let to = reveal.to.map_or(String::new(), |party| format!(", to party {party}"));
        format!("the reveal of {}{to}", graph.describe(reveal.node))
    };
    let here: Vec<String> = reveals.iter().take(3).map(one).collect();
    let more = if reveals.len() > here.len() { " and others" } else { "" };
    Error::Mismatch(Mismatch::Request { peer, here: format!("{}{more}", here.join(" and ")).into() })
}

/// Returns the greeting that the parties compare before a run: the program, which of its nodes are arrays, and the
/// reveals with their receivers, or the name of a branch.
pub(super) fn greeting(graph: &Graph, job: &Job, arrays: &[u8; 32], note: Vec<u8>) -> Greeting {
    let mut request = blake3::Hasher::new_derive_key(match (&job.branch, &job.supplies) {
        (None, None) => "quorate/session/request",
        (None, Some(_)) => "quorate/session/make pool",
        (Some(_), _) => "quorate/session/branch",
    });
    if let Some(branch) = &job.branch {
        request.update(&(branch.name.len() as u64).to_le_bytes()).update(branch.name.as_bytes());
    }
    for supply in job.supplies.iter().flat_map(|supplies| supplies.iter()) {
        request.update(&supply.content.lot().0).update(&supply.times.to_le_bytes());
    }
    for reveal in &job.reveals {
        request.update(&reveal.node.0.to_le_bytes());
        request.update(&reveal.to.map_or(u64::MAX, |to| to as u64).to_le_bytes());
    }
    request.update(arrays);
    let program = graph.hashes().last().map_or([0; 32], |hash| hash.0);
    Greeting { program, request: request.finalize().into(), note, ..Greeting::default() }
}

/// Returns the hash of the decisions that a party makes by itself: the sharing of each step, whether circuits are
/// garbled ahead, and all correlations that are made.
pub(super) fn plan_hash(work: &Work<'_>, garbles_ahead: bool, correlations: &BTreeMap<String, u64>) -> [u8; 32] {
    let mut plan = blake3::Hasher::new_derive_key("quorate/session/plan");
    plan.update(&[garbles_ahead.into()]);
    for &id in &work.nodes {
        plan.update(&id.0.to_le_bytes()).update(&[work.domains.of(id) as u8]);
    }
    plan.update(&u32::MAX.to_le_bytes());
    for (kind, count) in correlations {
        plan.update(&(kind.len() as u64).to_le_bytes()).update(kind.as_bytes()).update(&count.to_le_bytes());
    }
    plan.finalize().into()
}

pub(super) fn short_hash(hash: &quorate_graph::Hash) -> u64 {
    let mut short = [0; 8];
    short.copy_from_slice(&hash.0[..8]);
    u64::from_le_bytes(short)
}

/// Returns the note of a party that proposes a number for a branch: the number, followed by `rest`.
pub(super) fn with_side(side: u32, mut rest: Vec<u8>) -> Vec<u8> {
    rest.splice(..0, side.to_le_bytes());
    rest
}

/// Returns the number of the branch that the parties' notes propose, and the rest of each note.
///
/// # Errors
/// [`Error::Malformed`].
pub(super) fn agreed_side(notes: &[Vec<u8>]) -> Result<(u32, Vec<Vec<u8>>)> {
    let read = |(peer, note): (usize, &Vec<u8>)| match note.split_first_chunk::<SIDE_BYTES>() {
        Some((side, rest)) => Ok((u32::from_le_bytes(*side), rest.to_vec())),
        None => Err(Error::Malformed { peer, what: "note of a wrong length" }),
    };
    let all: Vec<(u32, Vec<u8>)> = notes.iter().enumerate().map(read).collect::<Result<_>>()?;
    let (sides, rest): (Vec<u32>, Vec<Vec<u8>>) = all.into_iter().unzip();
    Ok((sides.into_iter().max().unwrap_or(0), rest))
}

#[cfg(test)]
mod tests {
    use quorate_graph::{BinaryOp, Domain, Dtype, NodeId, Source};
    use quorate_planner::Domains;

    use super::*;

    /// Parties that would make different correlations must not begin: they would wait for each other, or draw
    /// correlations that do not match.
    #[test]
    fn the_hash_of_a_plan_sees_all_that_a_party_decides() {
        let mut graph = Graph::new();
        let x = graph.at(Source::new("a.py", 1)).input(0, 2, &[2], Dtype::INT64, None).unwrap();
        let y = graph.at(Source::new("a.py", 1)).binary(BinaryOp::Mul, x, x).unwrap();
        let hash = |nodes: &[NodeId], in_y: bool, garbles_ahead: bool, made: &[(&str, u64)]| {
            let mut domains = Domains::default();
            if in_y {
                domains.set(y, Domain::Y);
            }
            let reveals = vec![Reveal { node: y, to: None }];
            let correlations = made.iter().map(|&(kind, count)| (kind.to_owned(), count)).collect();
            plan_hash(&Work { graph: &graph, nodes: nodes.to_vec(), reveals, domains }, garbles_ahead, &correlations)
        };
        let plain = |made: &[(&str, u64)]| hash(&[x, y], false, false, made);
        let plans = [
            plain(&[]),
            plain(&[("triple", 2)]),
            plain(&[("triple", 3)]),
            plain(&[("label", 2)]),
            plain(&[("triple", 2), ("label", 2)]),
            hash(&[x], false, false, &[]),
            hash(&[x, y], true, false, &[]),
            hash(&[x, y], false, true, &[]),
        ];
        assert!((0..plans.len()).all(|i| !plans[..i].contains(&plans[i])));
        assert_eq!(plain(&[("triple", 2)]), plans[1]);
    }

    #[test]
    fn the_largest_proposal_counts() {
        let notes = [with_side(3, vec![1]), with_side(7, vec![]), with_side(0, vec![2, 3])];
        assert_eq!(agreed_side(&notes).unwrap(), (7, vec![vec![1], vec![], vec![2, 3]]));
        let cut = Error::Malformed { peer: 1, what: "note of a wrong length" };
        assert_eq!(agreed_side(&[vec![0; 4], vec![0; 3]]), Err(cut));
    }
}
