//! Where two protocols give the same result: which one runs.

use quorate_gadgets::cost::Link;

/// The choices of a session. They must be alike at all parties and in the dry run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Forms {
    /// How gadgets get at the bits of a shared element.
    pub bits: BitForm,
    /// How edaBits are made.
    pub edabits: EdaBitForm,
}

/// How gadgets get at the bits of a shared element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BitForm {
    /// Three parties: by the two summands that parties know (no correlations, fewer bytes). Others: as [`BitForm::Masked`].
    #[default]
    Summands,
    /// By opening the element masked with an edaBit: fewer online rounds and bytes, with edaBits made offline.
    Masked,
}

/// How edaBits are made: the forms of Table 3.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum EdaBitForm {
    /// By t + 1 contributions and adders: few bytes.
    #[default]
    Contributions,
    /// By k random bits: one round, many bytes.
    RandomBits,
    /// Whichever is predicted to take less time on this link, for the number that is made together.
    Cheaper(Link),
}

/// How a batch of edaBits is made, once chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// By contributions and adders.
    OfContributions,
    /// By random bits.
    OfRandomBits,
}
