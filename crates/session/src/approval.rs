//! Approval of programs: a party runs only those whose plan a person has read and whose hash that person has approved.
//!
//! The hash of a run covers everything that the session reveals up to and including that run. It is computed from the
//! hash of the previous run and from its reveals in order. A reveal counts with the part of the program that makes the
//! value ([`Graph::part_hash`]) and the parties that learn it. So an approval holds for one run, at one place in the
//! session. The hash that parties compare before a run ([`Graph::prefix_hash`]) covers neither what is revealed nor
//! which part of the program runs.

use std::collections::BTreeSet;
use std::str::FromStr;

use quorate_graph::{Graph, Hash, HashError, NodeId, Truncation};
use quorate_planner::Reveal;
use serde::Deserialize;

use crate::error::SessionError;
use crate::reveals::{Told, groups, named};

/// The number of reveals that a refusal lists.
const NAMED: usize = 5;

/// The hashes of runs that a person has approved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Texts")]
pub struct Approved(BTreeSet<Hash>);

#[derive(Deserialize)]
#[serde(untagged, expecting = "a hash as `quorate explain` prints it, or a list of them")]
enum Texts {
    One(String),
    Many(Vec<String>),
}

impl TryFrom<Texts> for Approved {
    type Error = String;

    fn try_from(texts: Texts) -> Result<Approved, String> {
        match texts {
            Texts::One(text) => Approved::read([text]),
            Texts::Many(texts) => Approved::read(texts),
        }
    }
}

impl Approved {
    /// Reads hashes from texts; each text has one hash or several with commas between.
    ///
    /// # Errors
    /// A message that names the first text that is not a hash.
    pub fn read(texts: impl IntoIterator<Item = String>) -> Result<Approved, String> {
        let one = |text: &str| {
            let text = text.trim();
            let wrong = |error: HashError| format!("{text:?} cannot be approved: {error}; `quorate explain` prints it");
            Hash::from_str(text).map_err(wrong)
        };
        let texts: Vec<String> = texts.into_iter().collect();
        let all = texts.iter().flat_map(|text| text.split(',')).map(one).collect::<Result<_, _>>()?;
        Ok(Approved(all))
    }
}

/// The properties of a session besides its program. They are part of the hash that is approved.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub protocol: &'static str,
    pub parties: usize,
    pub security: String,
    pub truncation: Truncation,
    /// The number of sessions that this process had before, where approval is bound to it.
    pub before: usize,
}

impl Terms {
    fn hash(&self) -> Hash {
        let mut hasher = blake3::Hasher::new_derive_key("quorate/session/approval");
        for text in [self.protocol, &self.security] {
            hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
        }
        hasher.update(&[(self.truncation == Truncation::Probabilistic).into()]);
        [self.parties, self.before].into_iter().for_each(|number| {
            hasher.update(&(number as u64).to_le_bytes());
        });
        Hash(hasher.finalize().into())
    }
}

/// The runs of a session so far, and its approved runs.
#[derive(Debug)]
pub(crate) struct Approval {
    terms: Terms,
    approved: Option<Approved>,
    /// The hash before each run that has ended, and the hash after the last one.
    runs: Vec<Hash>,
}

/// Expands reveals to groups of parties: one reveal for each value and each receiver.
fn flat(groups: &[(NodeId, Option<Vec<usize>>)]) -> Vec<Reveal> {
    let each = |(node, to): &(NodeId, Option<Vec<usize>>)| {
        let node = *node;
        let all = to.is_none().then_some(Reveal { node, to: None });
        let some = to.clone().unwrap_or_default().into_iter().map(move |party| Reveal { node, to: Some(party) });
        all.into_iter().chain(some).collect::<Vec<_>>()
    };
    groups.iter().flat_map(each).collect()
}

/// Returns the parts of each reveal that the hash covers: the hash of its part of the program, and the receiver.
fn parts(graph: &Graph, reveals: &[Reveal]) -> Vec<(Hash, Option<usize>)> {
    reveals.iter().map(|reveal| (graph.part_hash(reveal.node), reveal.to)).collect()
}

impl Approval {
    /// Starts the record of a session without runs. If `approved` is `None`, every run is allowed.
    pub fn new(terms: Terms, approved: Option<Approved>) -> Approval {
        Approval { runs: vec![terms.hash()], terms, approved }
    }

    /// Returns the hash of a session without runs, in a process that had `before` sessions before it.
    pub fn start(&self, before: usize) -> Hash {
        Terms { before, ..self.terms.clone() }.hash()
    }

    /// Starts the record of a branch of this session: what it may run is approved for the branch of this name and
    /// number after the session's runs so far.
    pub fn branch(&self, name: &str, number: u32) -> Approval {
        let (terms, approved) = (self.terms.clone(), self.approved.clone());
        Approval { runs: vec![self.last().then_branch(name, number)], terms, approved }
    }

    /// Returns whether this session runs only approved programs.
    pub fn is_asked_for(&self) -> bool {
        self.approved.is_some()
    }

    /// Returns the hash of a run of these reveals, after the run with hash `before`. If that is `None`, the run
    /// comes after those that the session had.
    pub fn hash(&self, graph: &Graph, reveals: &[Reveal], before: Option<Hash>) -> Hash {
        before.unwrap_or_else(|| self.last()).then_reveals(&parts(graph, reveals))
    }

    fn last(&self) -> Hash {
        self.runs.last().copied().unwrap_or_else(|| self.terms.hash())
    }

    /// Checks that the next run may reveal these values; `hash` is the hash of that run.
    ///
    /// # Errors
    /// [`SessionError::NotApproved`], with what is known of the difference.
    pub fn check(&self, hash: Hash, graph: &Graph, reveals: &[Reveal]) -> Result<(), SessionError> {
        let Some(Approved(approved)) = self.approved.as_ref().filter(|approved| !approved.0.contains(&hash)) else {
            return Ok(());
        };
        let told = Told::all(graph, reveals, self.terms.parties);
        let mut shown: Vec<String> = told.iter().take(NAMED).map(Told::to_string).collect();
        shown.extend((told.len() > NAMED).then(|| format!("{} more", told.len() - NAMED)));
        let differs = self.difference(approved, graph, reveals);
        let reveals = if shown.is_empty() { "nothing".into() } else { shown.join("; ") };
        Err(SessionError::NotApproved { hash: hash.to_string(), reveals, differs })
    }

    /// Describes the approved reveals that differ from these, as far as the hashes show them.
    fn difference(&self, approved: &BTreeSet<Hash>, graph: &Graph, reveals: &[Reveal]) -> String {
        let is_approved =
            |before: Hash, reveals: &[Reveal]| approved.contains(&before.then_reveals(&parts(graph, reveals)));
        let (now, run) = (self.last(), self.runs.len());
        if approved.is_empty() {
            return "nothing is approved".into();
        }
        let groups = groups(reveals);
        for (at, (node, to)) in groups.iter().enumerate() {
            let with = |to: Option<Option<Vec<usize>>>| {
                let mut others = groups.clone();
                match to {
                    Some(to) => others[at].1 = to,
                    None => drop(others.remove(at)),
                }
                flat(&others)
            };
            let what = graph.describe(*node);
            let to = named(to.as_deref());
            if is_approved(now, &with(None)) {
                return format!("the same without the reveal of {what} to {to} is approved");
            }
            let somebody = (0..self.terms.parties).map(|party| Some(vec![party]));
            if let Some(other) = [None].into_iter().chain(somebody).find(|to| is_approved(now, &with(Some(to.clone()))))
            {
                return format!("the reveal of {what} is approved to {}, not to {to}", named(other.as_deref()));
            }
        }
        if let Some(place) = self.runs.iter().position(|&before| is_approved(before, reveals)) {
            return format!("this is approved as run {} of the session, once, and not as run {run}", place + 1);
        }
        if run == 1 && is_approved(self.start(0), reveals) {
            let session = self.terms.before + 1;
            return format!("this is approved for the first session of a process, and this one is session {session}");
        }
        match run {
            1 => "what is approved has other operations, public numbers, shapes, dtypes, bounds or inputs, another \
                  protocol, number of parties, security or rounding, or is of another release"
                .into(),
            _ => format!(
                "the {} approved; as run {run} something else is, with other operations, public numbers, shapes, \
                 dtypes, bounds, inputs or reveals, or nothing",
                if run == 2 { "run before was".into() } else { format!("{} runs before were", run - 1) }
            ),
        }
    }

    /// Records that the run with this hash has ended.
    pub fn ran(&mut self, hash: Hash) {
        if !self.is_asked_for() {
            self.runs.clear();
        }
        self.runs.push(hash);
    }
}

#[cfg(test)]
mod tests {
    use quorate_graph::{BinaryOp, Dtype, Source};

    use super::*;

    fn terms() -> Terms {
        let security = "nobody cheats".into();
        Terms { protocol: "rss", parties: 3, security, truncation: Truncation::Exact, before: 0 }
    }

    fn to(node: NodeId, to: Option<usize>) -> Reveal {
        Reveal { node, to }
    }

    /// Returns a session with two approved runs: `x y` to all; then `x` to party 1, with `y` to parties 0 and 2.
    fn approved() -> (Graph, [NodeId; 3], Approval) {
        let mut graph = Graph::new();
        let mut at = graph.at(Source::new("a.py", 1));
        let [x, y] = [0, 1].map(|owner| at.input(owner, 3, &[2], Dtype::INT64, None).unwrap());
        let product = at.binary(BinaryOp::Mul, x, y).unwrap();
        let free = Approval::new(terms(), None);
        let first = free.hash(&graph, &[to(product, None)], None);
        let second = free.hash(&graph, &[to(x, Some(1)), to(y, Some(0)), to(y, Some(2))], Some(first));
        let approved = Approved::read([format!("{first}, {second}")]).unwrap();
        (graph, [x, y, product], Approval::new(terms(), Some(approved)))
    }

    fn asked(approval: &mut Approval, graph: &Graph, reveals: &[Reveal]) -> Result<(), String> {
        let hash = approval.hash(graph, reveals, None);
        let checked = approval.check(hash, graph, reveals).map_err(|error| error.to_string());
        checked.inspect(|()| approval.ran(hash))
    }

    #[test]
    fn each_run_is_approved_in_its_place_and_once() {
        let (graph, [x, y, product], mut approval) = approved();
        let second = [to(x, Some(1)), to(y, Some(0)), to(y, Some(2))];
        assert!(asked(&mut approval, &graph, &second).is_err(), "before the first");
        assert_eq!(asked(&mut approval, &graph, &[to(product, None)]), Ok(()));
        let again = asked(&mut approval, &graph, &[to(product, None)]).unwrap_err();
        assert!(again.contains("approved as run 1 of the session, once, and not as run 2"), "{again}");
        let cases: [(&[Reveal], &str); 6] = [
            (&[to(x, Some(1)), to(y, None)], "input of (2,) int(64) from party 1 at a.py:1 to all parties, which"),
            (&[to(x, Some(1)), to(y, Some(0)), to(y, Some(2)), to(product, None)], "to all parties is approved"),
            (&[to(x, None), to(y, Some(0)), to(y, Some(2))], "is approved to party 1, not to all parties"),
            (&[to(x, Some(1)), to(y, Some(0))], "the run before was approved; as run 2 something else is"),
            (&[], "which reveals nothing"),
            (&[to(y, Some(0)), to(y, Some(2)), to(x, Some(1))], "something else"),
        ];
        for (reveals, words) in cases {
            let refused = asked(&mut approval, &graph, reveals).unwrap_err();
            assert!(refused.contains(words), "{words}: {refused}");
        }
        assert_eq!(asked(&mut approval, &graph, &second), Ok(()));
        assert!(asked(&mut approval, &graph, &second).is_err(), "beyond the last");
    }

    #[test]
    fn every_term_counts() {
        let others = [
            terms(),
            Terms { protocol: "aby", ..terms() },
            Terms { parties: 5, ..terms() },
            Terms { security: "one may cheat".into(), ..terms() },
            Terms { truncation: Truncation::Probabilistic, ..terms() },
            Terms { before: 1, ..terms() },
        ];
        let hashes: Vec<Hash> = others.iter().map(Terms::hash).collect();
        assert!((0..hashes.len()).all(|i| !hashes[..i].contains(&hashes[i])));
    }

    #[test]
    fn sessions_without_approval_run_everything() {
        let (graph, [x, y, _], _) = approved();
        let mut free = Approval::new(terms(), None);
        for reveals in [[to(x, None)], [to(y, None)], [to(x, None)]] {
            assert_eq!(asked(&mut free, &graph, &reveals), Ok(()));
        }
    }
}
