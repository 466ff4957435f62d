//! The parts of a session that its check of values needs.

use super::*;

impl Session {
    /// Returns the steps that a run of these reveals would take.
    pub(crate) fn needed(&self, reveals: &[(NodeId, Option<usize>)]) -> Result<Vec<NodeId>, SessionError> {
        let seat = self.seats.first().filter(|_| !self.closed).ok_or(SessionError::Closed)?;
        let (reply, nodes) = channel();
        let targets = reveals.iter().map(|reveal| reveal.0).collect();
        let graph = self.graph();
        seat.commands.send(Command::Needed { graph, targets, reply }).map_err(|_| SessionError::WorkerGone)?;
        nodes.recv().map_err(|_| SessionError::WorkerGone)
    }

    pub(crate) fn graph(&self) -> Arc<Graph> {
        self.program.graph.clone()
    }

    /// Returns the values of nodes that were run before, in units. The costs of this are not counted.
    pub(crate) fn peek(&mut self, nodes: &[NodeId]) -> Result<Vec<Data>, SessionError> {
        let before = self.stats.clone();
        let reveals: Vec<(NodeId, Option<usize>)> = nodes.iter().map(|&id| (id, None)).collect();
        self.peeking = true; // the check still reads the program, so nothing of it is forgotten
        let values = self.start_run(&reveals, true).and_then(Running::finish);
        (self.peeking, self.stats) = (false, before);
        values?.into_iter().map(|value| value.ok_or(SessionError::WorkerGone)).collect()
    }
}
