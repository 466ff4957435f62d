//! Range checks in local sessions, before a program runs. A local session has all values, so it finds every result that
//! leaves its dtype. The protocol opens only values of earlier runs for this, and only if ranges do not prove that the
//! result fits. Other threads may use the session while a check waits.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use quorate_engine::{Error, Misuse};
use quorate_graph::{Dtype, Graph, NodeId};

use super::Session;
use super::access::{Access, TICK, answer};
use super::range_checks::{Checked, Given, Look};
use super::request::How;
use crate::error::SessionError;
use crate::party::queue::Command;
use crate::work::data::{Data, OwnInput, Plain, read_part};

/// Checks that every value on which the reveals depend fits its dtype, in a local session with this check enabled. It
/// does not run the reveals. Other threads may use the session meanwhile, but no other run may be under way.
///
/// # Errors
/// The first result that leaves its dtype, as a [`BuildError`] of category range, at its line; an interrupt, if a wait
/// should not go on.
pub fn check(access: &mut impl Access<Session>, reveals: &[(NodeId, Option<usize>)]) -> Result<Checked, SessionError> {
    let targets: Vec<NodeId> = reveals.iter().map(|reveal| reveal.0).collect();
    let begun = access.with(|session| {
        let Some(Look { checker, given, .. }) = &session.look else { return Ok(None) };
        let (checker, given) = (checker.clone(), given.clone());
        Ok::<_, SessionError>(Some((checker, given, session.graph(), session.ask_needed(targets)?)))
    })?;
    let Some((checker, given, graph, needed)) = begun? else { return Ok(Checked { warnings: vec![], found: None }) };
    let nodes = answer(access, &needed).or_else(|error| Err(access.with(|session| session.why(error))?))?;
    let range = |id: NodeId| given.get(&id).map(|given| given.1);
    let mut checked = checker.look(&graph, &nodes, range, |ids: &[NodeId]| values(access, &graph, &given, ids))?;
    let warnings = std::mem::take(&mut checked.warnings);
    let warnings = access.with(|session| session.look.as_mut().map_or(vec![], |look| look.new_warnings(warnings)))?;
    Ok(Checked { warnings, found: Some((checked, nodes)) })
}

/// Returns values in units: those of inputs as given, all others from the parties.
fn values(
    access: &mut impl Access<Session>,
    graph: &Graph,
    given: &Given,
    ids: &[NodeId],
) -> Result<Vec<Vec<i128>>, SessionError> {
    let given = |id: &NodeId| given.get(id).and_then(|(own, _)| own.upgrade());
    let whole = |id: &NodeId, own: Arc<OwnInput>| match &*own {
        OwnInput::Held(_) => Ok(own),
        OwnInput::Read(rows) => {
            let read = read_part(graph, *id, &**rows, 0..graph.node(*id).elements());
            let read = read.map_err(|what| Error::from(Misuse::Source { what: what.into() }))?;
            Ok::<_, SessionError>(Arc::new(read))
        }
    };
    let owned: Vec<Option<Arc<OwnInput>>> =
        ids.iter().map(|id| given(id).map(|own| whole(id, own)).transpose()).collect::<Result<_, _>>()?;
    let run: Vec<NodeId> = ids.iter().zip(&owned).filter(|(_, own)| own.is_none()).map(|(&id, _)| id).collect();
    let mut seen = if run.is_empty() { vec![] } else { peek(access, &run)? }.into_iter();
    let of = |(id, own): (&NodeId, &Option<Arc<OwnInput>>)| match own {
        Some(own) => match &**own {
            OwnInput::Held(plain) => Ok(units(graph.node(*id).dtype, plain)),
            OwnInput::Read(_) => Err(Error::Bug { what: "an input that was read is not there" }.into()),
        },
        None => seen.next().map(|data| integers(&data)).ok_or(SessionError::WorkerGone),
    };
    ids.iter().zip(&owned).map(of).collect()
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

impl Session {
    /// Asks for the steps that a run of these nodes would take.
    fn ask_needed(&self, targets: Vec<NodeId>) -> Result<Receiver<Vec<NodeId>>, SessionError> {
        self.check_open()?;
        let seat = self.seats.first().ok_or(SessionError::Closed)?;
        let (reply, nodes) = channel();
        let graph = self.program.graph.clone();
        seat.commands.send(Command::Needed { graph, targets, reply }).map_err(|_| SessionError::WorkerGone)?;
        Ok(nodes)
    }
}

/// Returns the values of nodes that were run before, in units. The costs of this are not counted.
fn peek(access: &mut impl Access<Session>, nodes: &[NodeId]) -> Result<Vec<Data>, SessionError> {
    let reveals: Vec<(NodeId, Option<usize>)> = nodes.iter().map(|&id| (id, None)).collect();
    let how = How { units: true, is_peek: true };
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
