//! The trait for correlations that are used in another session than the one that made them.

use std::collections::BTreeMap;

use quorate_crypto::{Seed, SessionId};
use quorate_engine::{Ctx, Demand, Layout, MaterialOf, Misuse, Packed, Result, Stocks};
use zeroize::Zeroizing;

use super::Choices;

/// Whether and how a family's correlations go into pools: made in one session, and used in a later one of the same
/// parties. By default a family has no pools.
///
/// A pool holds expanded correlations, and no seeds of a session. Where parties may cheat, correlations are of use only
/// under the keys of the session that made them: the pool holds these *secrets*, too, and all of its correlations are
/// made in one session ([`Pools::HAS_SECRETS`]). Keys of functions stay bound to the session
/// that made them, their *origin*: they are evaluated with its hash ([`Stock::origin`]).
///
/// [`Stock::origin`]: quorate_engine::Stock::origin
#[allow(async_fn_in_trait)] // as in `Family`
pub trait Pools: Stocks<Kind: Send + Sync + 'static> {
    /// Whether this family has pools.
    const HAS_POOLS: bool = false;

    /// Whether pools have secrets: sessions that use one are set up by [`Pools::set_up_from_pool`], and a run that does
    /// not end well may end the pool ([`Revokes::is_over`](super::Revokes::is_over)).
    const HAS_SECRETS: bool = false;

    /// Refuses choices under which a session can neither make nor use a pool.
    ///
    /// # Errors
    /// [`Misuse`].
    fn check_pools(_choices: &Choices) -> Result<()> {
        Ok(())
    }

    /// Returns whether a pool can hold correlations of this kind. It cannot hold those that depend on a secret of their
    /// session, such as labels of garbled circuits, or on a value of it, such as masks of kept factors.
    fn fits_pools(_kind: &Self::Kind) -> bool {
        false
    }

    /// Returns the name of a kind, with all that tells it from others; the same at all parties.
    fn name_of(_kind: &Self::Kind) -> String {
        String::new()
    }

    /// Returns the origin of correlations that this session makes; the same at all parties.
    fn origin(&self) -> SessionId {
        SessionId::from_bytes([0; 32])
    }

    /// Returns this party's secrets for the pool of what this session makes. They may be empty at some parties.
    fn secrets(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::default()
    }

    /// Sets up a session that makes no correlations, and takes all of them from a pool with these secrets. Its name and
    /// seeds are fresh.
    ///
    /// # Errors
    /// [`Misuse`] for secrets of other choices, and in a family whose pools have none; any error that ends a run.
    async fn set_up_from_pool(_ctx: &Ctx, _coins: Option<&Seed>, _choices: &Choices, _secrets: &[u8]) -> Result<Self> {
        Err(NO_SECRETS.into())
    }

    /// Refuses to put correlations into a pool before everything that was opened to make them is checked.
    ///
    /// # Errors
    /// [`Error::Bug`](quorate_engine::Error::Bug).
    fn check_made(&self, _ctx: &Ctx) -> Result<()> {
        Ok(())
    }

    /// Serves the draws of the current run from correlations that the session `origin` made for this demand.
    ///
    /// # Errors
    /// [`Error::Poisoned`](quorate_engine::Error::Poisoned) after secrets became unusable.
    fn fill_from_pool(
        &self,
        origin: SessionId,
        demand: Demand<Self::Kind>,
        made: BTreeMap<Self::Kind, MaterialOf<Self>>,
    ) -> Result<()> {
        self.stock().fill_from(origin, demand, made);
        Ok(())
    }

    /// Returns the number of shares that this party packs of each value; 0 for a party that holds shapes alone.
    fn packed_shares(&self) -> usize {
        0
    }

    /// Returns the bytes of `len` packed correlations at this party.
    fn packed_bytes(&self, kind: &Self::Kind, len: usize) -> usize {
        match self.packed_shares() {
            0 => 0,
            shares => self.layout(kind).packed_bytes(len, shares),
        }
    }

    /// Appends correlations as bytes.
    ///
    /// # Errors
    /// [`Misuse`] in a family without pools.
    fn pack(&self, _material: &MaterialOf<Self>, _out: &mut Vec<u8>) -> Result<()> {
        Err(NO_POOLS.into())
    }

    /// Reads `len` correlations.
    ///
    /// # Errors
    /// [`Misuse`] unless `bytes` has exactly their bytes, and in a family without pools.
    fn unpack(&self, _kind: &Self::Kind, _len: usize, _bytes: &[u8]) -> Result<MaterialOf<Self>> {
        Err(NO_POOLS.into())
    }
}

const NO_SECRETS: Misuse = Misuse::Other { what: "pools of this protocol have no secrets to set a session up from" };
const NO_POOLS: Misuse = Misuse::Other { what: "this protocol has no pools of correlations" };

/// Returns correlations from their bytes, as [`Pools::unpack`] does.
///
/// # Errors
/// Those of [`Pools::unpack`].
pub fn unpacked<S>(s: &S, layout: &Layout, len: usize, bytes: &[u8]) -> Result<MaterialOf<S>>
where
    S: Stocks<Vectors: Packed, Matrices: Packed>,
{
    let mut material = s.blank_material(false, layout, len);
    material.unpack(bytes)?;
    Ok(material)
}

/// Defines the methods of [`Pools`] that are the same in all families that have pools.
#[macro_export]
macro_rules! packs_here {
    () => {
        const HAS_POOLS: bool = true;

        fn name_of(kind: &Self::Kind) -> String {
            format!("{kind:?}") // `Display` leaves fields out
        }

        fn pack(&self, material: &quorate_engine::MaterialOf<Self>, out: &mut Vec<u8>) -> quorate_engine::Result<()> {
            material.pack(out);
            Ok(())
        }

        fn unpack(
            &self,
            kind: &Self::Kind,
            len: usize,
            bytes: &[u8],
        ) -> quorate_engine::Result<quorate_engine::MaterialOf<Self>> {
            $crate::family::unpacked(self, &quorate_engine::Stocks::layout(self, kind), len, bytes)
        }
    };
}
