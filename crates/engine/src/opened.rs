//! What was opened is not believed yet. Gadgets compute on with it; it leaves a party only when every opening up to it was
//! checked.
//!
//! Where all follow the protocol there is nothing to check, and the checks here cost nothing.

use std::ops::{Deref, DerefMut};

use crate::ctx::Ctx;
use crate::error::{Error, Result};

/// What an opening gave. It is as public as any other number, so gadgets may do anything with it but hand it out: a party
/// that cheats may have changed it.
pub struct Opened<T> {
    value: T,
    /// Which of this party's openings it is.
    number: u64,
}

impl<T> Opened<T> {
    /// What a function makes of it.
    pub fn map<U>(self, function: impl FnOnce(T) -> U) -> Opened<U> {
        Opened { value: function(self.value), number: self.number }
    }

    /// The value, once its opening was checked.
    ///
    /// # Errors
    /// [`Error::Bug`] if it was opened after that check began.
    pub fn believe(self, checked: &Checked) -> Result<T> {
        match self.number < checked.openings {
            true => Ok(self.value),
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

impl<T> DerefMut for Opened<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

/// A check has accepted all openings of this party up to some one.
#[derive(Debug)]
pub struct Checked {
    openings: u64,
}

impl Checked {
    /// For families whose parties all follow the protocol: there is nothing to check.
    pub fn unneeded() -> Checked {
        Checked { openings: u64::MAX }
    }

    /// The end of a check that began with so many openings ([`Ctx::openings`]).
    ///
    /// # Errors
    /// [`Error::Cheating`] unless it holds.
    pub fn if_it_holds(check: &'static str, openings: u64, holds: bool) -> Result<Checked> {
        if holds { Ok(Checked { openings }) } else { Err(Error::Cheating { check }) }
    }
}

impl Ctx {
    /// What a family has just opened.
    pub fn opened<T>(&self, value: T) -> Opened<T> {
        let number = self.core.openings.get();
        self.core.openings.set(number + 1);
        Opened { value, number }
    }

    /// How many openings this party has made.
    pub fn openings(&self) -> u64 {
        self.core.openings.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::Phase;
    use crate::dry;

    #[test]
    fn nothing_is_believed_before_it_was_checked() {
        let run = async |ctx: &Ctx| {
            let (early, also) = (ctx.opened(1), ctx.opened(2).map(|x| x + 1));
            let checked = Checked::if_it_holds("a test", ctx.openings(), true)?;
            let late = ctx.opened(4);
            assert_eq!((early.believe(&checked)?, also.believe(&checked)?), (1, 3));
            assert_eq!(ctx.opened(8).believe(&Checked::unneeded())?, 8);
            late.believe(&checked).map(|_| ())
        };
        let error = dry::run(0, 2, Phase::Online, run).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Bug { .. }), "{error}");
        let cheated = Checked::if_it_holds("a test", 3, false).unwrap_err();
        assert_eq!(cheated, Error::Cheating { check: "a test" });
    }
}
