//! Checks of the parties that a program names: the owner of an input, and the receiver of a result.

use quorate_ring::Module;

use crate::ctx::Ctx;
use crate::error::{Misuse, Result};

/// Checks that the owner exists, and that it gives a value, of the shape on which all parties agree.
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

#[cfg(test)]
mod tests {
    use quorate_ring::{Ring, Vector};

    use super::*;
    use crate::costs::Phase;
    use crate::dry;
    use crate::error::Error;

    /// Runs `work` at party 1 of 2, with values or without.
    fn misuse(is_dry: bool, work: impl Fn(&Ctx) -> Result<()>) -> Option<Misuse> {
        let run = async |ctx: &Ctx| if is_dry { work(ctx) } else { ctx.alone(Phase::Online, async |ctx| work(ctx)) };
        match dry::run(1, 2, Phase::Online, run) {
            Err(Error::Misuse { what }) => Some(what),
            Err(other) => panic!("{other:?}"),
            Ok(_) => None,
        }
    }

    #[test]
    fn parties_and_owners_exist() {
        let absent = |party| Some(Misuse::NoSuchParty { party, parties: 2 });
        let value = Vector::from_u64s(Ring::of(8), &[5]);
        for is_dry in [true, false] {
            for party in 0..4 {
                let expected = if party < 2 { None } else { absent(party) };
                assert_eq!(misuse(is_dry, |ctx| check_party(ctx, party)), expected);
                assert_eq!(misuse(is_dry, |ctx| check_owner(ctx, party, (Ring::of(8), 1), Some(&value))), expected);
            }
        }
    }

    #[test]
    fn an_owner_gives_a_value_of_the_agreed_shape() {
        let value = Vector::from_u64s(Ring::of(8), &[5]);
        let given = |is_dry, owner, shape, value| misuse(is_dry, |ctx| check_owner::<Vector>(ctx, owner, shape, value));
        let agreed = (Ring::of(8), 1);
        assert!(matches!(given(false, 1, agreed, None), Some(Misuse::Other { .. })));
        for other in [(Ring::of(8), 2), (Ring::of(9), 1)] {
            assert!(matches!(given(false, 1, other, Some(&value)), Some(Misuse::Other { .. })));
            assert_eq!(given(true, 1, other, Some(&value)), None);
        }
        assert_eq!([given(false, 1, agreed, Some(&value)), given(false, 0, agreed, None)], [None, None]);
        assert_eq!(given(true, 1, agreed, None), None);
    }
}
