//! Multiplication triples from homomorphic encryption instead of oblivious transfer.
//!
//! Those of products over Z_2^k and of sums of products ([`Kind::Triple`](crate::Kind::Triple)), over rings of at most
//! 64 bits. Matrix triples, and all that bits take (selections, conversions, look-ups, ANDs), come from transfers
//! always.

use quorate_crypto::Seed;
use quorate_engine::{Ctx, Misuse, Result};
use quorate_he::{He, Options};

use crate::setup::Aby;

/// Where a session's multiplication triples come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TripleSource {
    /// Oblivious transfer.
    #[default]
    Transfers,
    /// Paillier's cryptosystem with packed answers, at 128 bits.
    Paillier,
    /// The cryptosystem of Damgård, Geisler and Krøigaard, at 128 bits.
    Dgk,
}

impl TripleSource {
    /// All of them.
    pub const ALL: [TripleSource; 3] = [TripleSource::Transfers, TripleSource::Paillier, TripleSource::Dgk];

    /// How users name it.
    pub fn name(self) -> &'static str {
        match self {
            TripleSource::Transfers => "ot",
            TripleSource::Paillier => "paillier",
            TripleSource::Dgk => "dgk",
        }
    }

    fn ciphertexts(self) -> Option<Options> {
        match self {
            TripleSource::Transfers => None,
            TripleSource::Paillier => Some(Options::PAILLIER),
            TripleSource::Dgk => Some(Options::DGK),
        }
    }
}

impl Aby {
    /// Makes and exchanges keys where triples shall come from ciphertexts, with coins grown from `own`, as for
    /// [`Aby::setup_from`]. Both parties name the same source. Two rounds, for which keys are made in seconds; none for
    /// transfers.
    ///
    /// # Errors
    /// Whatever ends a run.
    pub async fn set_up_triples(&mut self, ctx: &Ctx, source: TripleSource, own: &Seed) -> Result<()> {
        let Some(options) = source.ciphertexts() else { return Ok(()) };
        let own = own.derive("quorate/aby/ciphertexts", self.session().as_bytes());
        self.take_triples_from(He::setup_from(ctx, self.peer(), options, &own).await?)
    }

    /// [`Aby::dry`] with triples from there.
    ///
    /// # Errors
    /// As there.
    pub fn dry_with(parties: usize, me: usize, source: TripleSource) -> Result<Aby> {
        let mut aby = Self::dry(parties, me)?;
        let ciphertexts = source.ciphertexts().map(|options| He::dry(aby.peer(), options));
        ciphertexts.map_or(Ok(()), |ciphertexts| aby.take_triples_from(ciphertexts))?;
        Ok(aby)
    }

    /// From now on triples over rings of at most 64 bits are made by homomorphic encryption: slowly, for comparisons.
    /// Both parties do so, with keys of one setup, and a party of dry runs with those of dry runs.
    ///
    /// # Errors
    /// [`Misuse::NoSuchParty`] for keys shared with another peer.
    pub fn take_triples_from(&mut self, ciphertexts: He) -> Result<()> {
        if ciphertexts.peer() != self.peer() {
            return Err(Misuse::NoSuchParty { party: ciphertexts.peer(), parties: 2 }.into());
        }
        self.ciphertexts = Some(ciphertexts);
        Ok(())
    }

    /// Bytes of the tables that a party keeps for a session, about, where they are many.
    pub fn held_bytes(&self) -> u64 {
        self.ciphertexts.as_ref().map_or(0, He::held_bytes)
    }
}
