//! Where two protocols give the same result: which one runs.

use quorate_gadgets::cost::Link;

/// The choices of a session. They must be alike at all parties and in the dry run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Forms {
    /// How gadgets get at the bits of a shared element.
    pub bits: BitForm,
    /// How random bits, edaBits and masks are made.
    pub correlations: CorrelationForm,
}

/// How gadgets get at the bits of a shared element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BitForm {
    /// Three parties: by the two summands that parties know (no correlations, fewer bytes). Others: as
    /// [`BitForm::Masked`].
    #[default]
    Summands,
    /// By opening the element masked with an edaBit: fewer online rounds and bytes, with edaBits made offline.
    Masked,
}

/// How correlations are made. All but the first are the paper's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum CorrelationForm {
    /// Three parties: of two summands that parties know, half the bytes in a round more. Others: as
    /// [`CorrelationForm::Contributions`].
    #[default]
    Summands,
    /// Random bits as square roots; edaBits by t + 1 contributions and adders: few bytes.
    Contributions,
    /// Random bits as square roots; edaBits by k random bits: one round, many bytes.
    RandomBits,
    /// Whichever is predicted to take less time on this link, for the number that is made together.
    Cheaper(Link),
}

/// How a batch of correlations is made, once chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// Of what one of three parties knows and what the two others know.
    OfSummands,
    /// By contributions and adders.
    OfContributions,
    /// By random bits.
    OfRandomBits,
}

impl Made {
    /// Every form that so many parties have, the default first.
    pub fn by(parties: usize) -> &'static [Made] {
        match parties {
            3 => &[Made::OfSummands, Made::OfContributions, Made::OfRandomBits],
            _ => &[Made::OfContributions, Made::OfRandomBits],
        }
    }
}
