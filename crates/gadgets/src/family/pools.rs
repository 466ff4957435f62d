//! The trait for correlations that are used in another session than the one that made them.

use quorate_crypto::SessionId;
use quorate_engine::{Layout, MaterialOf, Misuse, Packed, Result, Stocks};

/// Whether and how a family's correlations go into pools: made in one session, and used in a later one of the same
/// parties. By default a family has no pools.
///
/// A pool holds expanded correlations, neither seeds nor keys of a session. Keys of functions stay bound to the session
/// that made them, their *origin*: they are evaluated with its hash ([`Stock::origin`]).
///
/// [`Stock::origin`]: quorate_engine::Stock::origin
pub trait Pools: Stocks<Kind: Send + Sync + 'static> {
    /// Whether this family has pools.
    const HAS_POOLS: bool = false;

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
