//! Whether keys stay in use after a check that failed: never. Tests compile `testing/lasting.rs` in place of this file.

/// Whether keys stay in use after a check that failed. It has no size.
#[derive(Default)]
pub(crate) enum Lasting {
    #[default]
    Never,
}

impl Lasting {
    #[inline(always)]
    pub const fn is_set(&self) -> bool {
        false
    }
}

const _: () = assert!(size_of::<Lasting>() == 0 && !Lasting::Never.is_set());
