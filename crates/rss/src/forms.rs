//! The choice between protocols that give the same result.

use quorate_gadgets::cost::Link;

/// The choices of a session. They must be the same at all parties and in the dry run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Forms {
    /// The way in which gadgets obtain the bits of a shared element.
    pub bits: BitForm,
    /// The way in which random bits, edaBits and masks are made.
    pub correlations: CorrelationForm,
}

/// The way in which gadgets obtain the bits of a shared element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BitForm {
    /// Three parties: by the two summands that parties know (no correlations, fewer bytes). Other numbers of parties:
    /// [`BitForm::Masked`].
    #[default]
    Summands,
    /// On the opened element, masked with an edaBit: fewer online rounds and bytes, with edaBits made offline.
    Masked,
}

/// The way in which correlations are made. All but the first are the paper's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum CorrelationForm {
    /// Three parties: from two summands that parties know, with half the bytes in one more round. Other numbers of
    /// parties: [`CorrelationForm::Contributions`].
    #[default]
    Summands,
    /// Random bits as square roots; edaBits by t + 1 contributions and adders: few bytes.
    Contributions,
    /// Random bits as square roots; edaBits by k random bits: one round, many bytes.
    RandomBits,
    /// The form that is predicted to take less time on this link, for the number of correlations made together.
    Cheaper(Link),
}

/// The chosen form of a batch of correlations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// From a number that one of three parties knows and one that the two others know.
    OfSummands,
    /// From contributions, by adders.
    OfContributions,
    /// From random bits.
    OfRandomBits,
}

impl Made {
    /// Returns all forms for this number of parties, the default first.
    pub fn by(parties: usize) -> &'static [Made] {
        match parties {
            3 => &[Made::OfSummands, Made::OfContributions, Made::OfRandomBits],
            _ => &[Made::OfContributions, Made::OfRandomBits],
        }
    }
}
