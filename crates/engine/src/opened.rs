//! Opened values and the checks that they need. Gadgets compute on an unchecked opened value, but it leaves a party
//! only after every opening up to it was checked.
//!
//! In families whose parties all follow the protocol there is nothing to check, and the checks here cost nothing.

use std::ops::Deref;

use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::openings::Openings;

/// An opened value. It is public, so gadgets may compute anything with it. It must not be handed out before it is
/// checked, since a party that cheats may have changed it.
pub struct Opened<T> {
    value: T,
    /// The number of this value among those that this party opened or was shown.
    number: u64,
}

/// An opened value that was checked: it may leave the party.
#[derive(Debug, PartialEq, Eq)]
pub struct Believed<T>(T);

impl<T> Opened<T> {
    /// Applies a function to the value.
    pub fn map<U>(self, function: impl FnOnce(T) -> U) -> Opened<U> {
        Opened { value: function(self.value), number: self.number }
    }

    /// Returns the value, once its opening was checked.
    ///
    /// # Errors
    /// [`Error::Bug`] if it was opened after that check began.
    pub fn believe(self, checked: &Checked) -> Result<Believed<T>> {
        match self.number < checked.all {
            true => Ok(Believed(self.value)),
            false => Err(Error::Bug { what: "a value that was opened is handed out before it was checked" }),
        }
    }
}

impl<T> Deref for Opened<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Believed<T> {
    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.0
    }
}

/// Proof that a check accepted the values that this party opened up to some point. Only the check of a family makes
/// one.
#[derive(Debug)]
pub struct Checked {
    opened: u64,
    all: u64,
}

impl Checked {
    /// Returns the proof for families whose parties all follow the protocol: there is nothing to check.
    pub fn unneeded() -> Checked {
        Checked { opened: u64::MAX, all: u64::MAX }
    }

    /// Ends a check that began with these openings ([`Ctx::openings`]).
    ///
    /// # Errors
    /// [`Error::Cheating`] unless `holds`.
    pub fn if_it_holds(check: &'static str, before: Openings, holds: bool) -> Result<Checked> {
        match holds {
            true => Ok(Checked { opened: before.opened(), all: before.all() }),
            false => Err(Error::Cheating { check }),
        }
    }

    /// Checks that results may be revealed now.
    ///
    /// # Errors
    /// [`Error::Bug`] if something was opened to compute on since this check began.
    pub fn allows_reveals(&self, ctx: &Ctx) -> Result<()> {
        match ctx.openings().opened() <= self.opened {
            true => Ok(()),
            false => Err(Error::Bug { what: "a result is revealed before all that was opened was checked" }),
        }
    }
}

impl Ctx {
    /// Wraps a value that a family has just opened, to compute on.
    pub fn opened<T>(&self, value: T) -> Opened<T> {
        Opened { value, number: self.core.openings.note(Openings::with_opened).all() }
    }

    /// Notes that `bytes` bytes of opened values are kept until they are checked.
    pub fn keeps(&self, bytes: usize) {
        let bytes = bytes * self.core.counting.times();
        self.core.costs.borrow_mut().kept(self.phase, bytes, self.step.as_ref().map(|s| s.id));
    }

    /// Wraps a result that was just revealed to this party.
    pub fn revealed<T>(&self, value: T) -> Opened<T> {
        Opened { value, number: self.core.openings.note(Openings::with_revealed).all() }
    }

    /// Returns the openings of this party so far. Their order follows the party's own schedule. A check that goes
    /// through openings in one order at all parties has to name them by lanes and uses.
    pub fn openings(&self) -> Openings {
        self.core.openings.so_far()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::Phase;
    use crate::dry;

    #[test]
    fn nothing_is_believed_or_revealed_before_it_was_checked() {
        let run = async |ctx: &Ctx| {
            let (early, also) = (ctx.opened(1), ctx.opened(2).map(|x| x + 1));
            let checked = Checked::if_it_holds("a test", ctx.openings(), true)?;
            checked.allows_reveals(ctx)?;
            let shown = ctx.revealed(5);
            checked.allows_reveals(ctx)?;
            assert!(shown.believe(&checked).is_err());
            let late = ctx.opened(4);
            assert!(checked.allows_reveals(ctx).is_err());
            assert_eq!((early.believe(&checked)?.into_inner(), also.believe(&checked)?.into_inner()), (1, 3));
            assert_eq!(ctx.opened(8).believe(&Checked::unneeded())?, Believed(8));
            Checked::unneeded().allows_reveals(ctx)?;
            late.believe(&checked).map(|_| ())
        };
        let error = dry::run(0, 2, Phase::Online, run).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Bug { .. }), "{error}");
        let cheated = Checked::if_it_holds("a test", Openings::default(), false).unwrap_err();
        assert_eq!(cheated, Error::Cheating { check: "a test" });
    }
}
