//! What looking at values needs of a session.

use super::*;

impl Session {
    /// The steps that a run of these reveals would take.
    pub(crate) fn needed(&self, reveals: &[(NodeId, Option<usize>)]) -> Result<Vec<NodeId>, SessionError> {
        let seat = self.seats.first().filter(|_| !self.closed).ok_or(SessionError::Closed)?;
        let (reply, nodes) = channel();
        let targets = reveals.iter().map(|reveal| reveal.0).collect();
        seat.commands.send(Command::Needed { targets, reply }).map_err(|_| SessionError::WorkerGone)?;
        nodes.recv().map_err(|_| SessionError::WorkerGone)
    }

    pub(crate) fn program(&self) -> Arc<RwLock<Program>> {
        self.program.clone()
    }

    /// The values of nodes that were run before, in units; what that costs is not counted.
    pub(crate) fn peek(&mut self, nodes: &[NodeId]) -> Result<Vec<Data>, SessionError> {
        let before = self.stats.clone();
        let reveals: Vec<(NodeId, Option<usize>)> = nodes.iter().map(|&id| (id, None)).collect();
        self.peeking = true; // whoever peeks looks at the program, which nothing is forgotten of meanwhile
        let values = self.start_run(&reveals, true).and_then(Running::finish);
        (self.peeking, self.stats) = (false, before);
        values?.into_iter().map(|value| value.ok_or(SessionError::WorkerGone)).collect()
    }
}
