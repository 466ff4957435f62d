//! Checks of the owner of an input, and of the receiver of a result.

use quorate_engine::{Ctx, Misuse, Result};
use quorate_ring::Module;

/// Checks that the owner exists, and that it alone gives a value, of the shape on which all agree.
///
/// # Errors
/// [`Misuse::NoSuchParty`]; [`Misuse::Other`] for a value that is missing or of another shape.
pub fn check_owner<M: Module>(ctx: &Ctx, owner: usize, shape: M::Shape, value: Option<&M>) -> Result<()> {
    check_party(ctx, owner)?;
    match value {
        _ if ctx.is_dry() => Ok(()),
        None if owner == ctx.me() => Err(Misuse::Other { what: "an input without its owner's value" }.into()),
        Some(value) if value.shape_of() != shape => {
            Err(Misuse::Other { what: "an input of another shape than was agreed" }.into())
        }
        _ => Ok(()),
    }
}

/// Checks that a party exists.
///
/// # Errors
/// [`Misuse::NoSuchParty`].
pub fn check_party(ctx: &Ctx, party: usize) -> Result<()> {
    let parties = ctx.parties();
    if party < parties { Ok(()) } else { Err(Misuse::NoSuchParty { party, parties }.into()) }
}
