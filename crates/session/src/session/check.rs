//! Range checks in local sessions, before a program runs. A local session has all values, so it finds every result that
//! leaves its dtype. The protocol opens only values of earlier runs for this, and only if ranges do not prove that the
//! result fits. Other threads may use the session while a check waits.

use std::collections::BTreeMap;
use std::sync::Arc;

use quorate_engine::{Error, Misuse};
use quorate_graph::{Dtype, Graph, NodeId};

use super::Session;
use super::access::{Access, TICK};
use super::range_checks::{Checked, Look};
use super::request::How;
use crate::error::SessionError;
use crate::work::data::{Data, OwnInput, Plain, read_part};

/// Checks that every value on which the reveals depend fits its dtype, in a local session with this check enabled. It
/// does not run the reveals. Other threads may use the session meanwhile, and other requests may be under way.
///
/// # Errors
/// The first result that leaves its dtype, as a [`BuildError`] of category range, at its line; an interrupt, if a wait
/// should not go on.
pub fn check(access: &mut impl Access<Session>, reveals: &[(NodeId, Option<usize>)]) -> Result<Checked, SessionError> {
    let targets: Vec<NodeId> = reveals.iter().map(|reveal| reveal.0).collect();
    let begun = access.with(|session| {
        let Some(Look { checker, given, .. }) = &session.look else { return Ok(None) };
        let (checker, given) = (checker.clone(), given.clone());
        session.check_open()?;
        let graph = session.graph();
        let owned = |nodes: &[NodeId]| -> BTreeMap<NodeId, Arc<OwnInput>> {
            nodes.iter().filter_map(|id| Some((*id, given.get(id)?.0.upgrade()?))).collect()
        };
        // Other requests may end during the check; what it may look at stays.
        let (nodes, owned, hold) = session.queue.hold(&graph, &targets, owned);
        Ok::<_, SessionError>(Some((checker, given, owned, graph, nodes, hold)))
    })?;
    let Some((checker, given, owned, graph, nodes, hold)) = begun? else {
        return Ok(Checked { warnings: vec![], found: None });
    };
    let range = |id: NodeId| given.get(&id).map(|given| given.1);
    let mut checked = checker.look(&graph, &nodes, range, |ids: &[NodeId]| values(access, &graph, &owned, ids))?;
    drop(hold);
    let warnings = std::mem::take(&mut checked.warnings);
    let warnings = access.with(|session| session.look.as_mut().map_or(vec![], |look| look.new_warnings(warnings)))?;
    Ok(Checked { warnings, found: Some((checked, nodes)) })
}

/// Returns values in units: those of inputs as given, all others from the parties.
fn values(
    access: &mut impl Access<Session>,
    graph: &Graph,
    owned: &BTreeMap<NodeId, Arc<OwnInput>>,
    ids: &[NodeId],
) -> Result<Vec<Vec<i128>>, SessionError> {
    let run: Vec<NodeId> = ids.iter().filter(|id| !owned.contains_key(id)).copied().collect();
    let mut seen = if run.is_empty() { vec![] } else { peek(access, &run)? }.into_iter();
    let of = |id: &NodeId| match owned.get(id) {
        Some(own) => match &**own {
            OwnInput::Held(plain) => Ok(units(graph.node(*id).dtype, plain)),
            OwnInput::Read(rows) => {
                let read = read_part(graph, *id, &**rows, 0..graph.node(*id).elements());
                match &read.map_err(|what| Error::from(Misuse::Source { what: what.into() }))? {
                    OwnInput::Held(plain) => Ok(units(graph.node(*id).dtype, plain)),
                    OwnInput::Read(_) => Err(Error::Bug { what: "an input that was read is not there" }.into()),
                }
            }
        },
        None => seen.next().map(|data| integers(&data)).ok_or(SessionError::WorkerGone),
    };
    ids.iter().map(of).collect()
}

fn units(dtype: Dtype, plain: &Plain) -> Vec<i128> {
    match plain {
        Plain::Bits(bits) => bits.to_bools().into_iter().map(i128::from).collect(),
        Plain::Vector(v) if dtype.is_unsigned() => v.to_u128s().into_iter().map(|value| value as i128).collect(),
        Plain::Vector(v) => v.to_i128s(),
    }
}

/// Returns the integers of values that were revealed in units.
fn integers(data: &Data) -> Vec<i128> {
    match data {
        Data::Ints(all) => all.iter().map(|&v| v.into()).collect(),
        Data::Uints(all) => all.iter().map(|&v| v.into()).collect(),
        Data::Bools(all) => all.iter().map(|&v| v.into()).collect(),
        Data::Wide(all) => all.clone(),
        Data::Reals(_) => vec![],
    }
}

/// Returns the values of nodes that were run before, in units. The costs of this are not counted.
fn peek(access: &mut impl Access<Session>, nodes: &[NodeId]) -> Result<Vec<Data>, SessionError> {
    let reveals: Vec<(NodeId, Option<usize>)> = nodes.iter().map(|&id| (id, None)).collect();
    let how = How { units: true, is_peek: true, ..How::default() };
    let mut request = access.with(|session| session.submit_as(&reveals, how))??;
    while !request.wait(TICK) {
        if !access.goes_on() {
            request.interrupt();
            request.wait_for_all();
        }
    }
    let values = access.with(|session| session.finish(request))??;
    values.into_iter().map(|value| value.ok_or(SessionError::WorkerGone)).collect()
}
