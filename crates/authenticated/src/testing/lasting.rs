//! Whether keys stay in use after a check that failed. Those of the dealer without security do, since they protect
//! nothing: tests on it interrupt runs anywhere, and continue.

/// Whether keys stay in use after a check that failed.
#[derive(Default)]
pub(crate) enum Lasting {
    #[default]
    Never,
    Always,
}

impl Lasting {
    pub fn is_set(&self) -> bool {
        matches!(self, Lasting::Always)
    }
}
