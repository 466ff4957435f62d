//! Work among a subset of the parties: [`Ctx::among`].

use crate::ctx::Ctx;
use crate::error::{Error, Result};

impl Ctx {
    /// Runs `work` among some of the parties, on a lane of their own.
    ///
    /// On that lane only `members` are peers, and a message to all goes to [`Ctx::members`]. [`Ctx::parties`],
    /// [`Ctx::next`] and [`Ctx::previous`] still refer to all parties. The other parties continue at once with `None`
    /// and their present number of rounds. Every party of this lane calls it in step with the same `members`, in
    /// increasing order. Work among some of the parties cannot draw correlations that were made ahead.
    ///
    /// # Errors
    /// Those of `work`; [`Error::Bug`] unless the members are a subset of those who take part here.
    pub async fn among<T>(&self, members: &[usize], work: impl AsyncFnOnce(Ctx) -> Result<T>) -> Result<Option<T>> {
        let here = self.members();
        if !members.is_sorted_by(|a, b| a < b) || members.iter().any(|member| !here.contains(member)) {
            return Err(Error::bug("not some of the parties, in increasing order"));
        }
        let mut ctx = self.fork();
        if members.len() < here.len() {
            self.core.costs.borrow_mut().apart();
        }
        if !members.contains(&self.me()) {
            return Ok(None);
        }
        ctx.members = Some(members.into());
        let depth = ctx.depth.clone();
        let done = work(ctx).await?;
        self.depth.set(self.depth.get().join(depth.get()));
        Ok(Some(done))
    }
}
