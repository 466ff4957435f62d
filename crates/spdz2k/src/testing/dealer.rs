//! The sources of correlations that a session may choose: the protocols, and **insecure** a dealer whose seed all
//! parties know, for tests that are not about the protocols.

use quorate_authenticated::Authenticated;
use quorate_authenticated::testing::MatrixBytes;
use quorate_crypto::Seed;
use quorate_engine::{Ctx, Result};
use quorate_gadgets::{Choice, Choices};

use crate::keys::{Transfers, check_place};
use crate::make::Protocols;
use crate::options;
use crate::params::Params;
use crate::party::Spdz2k;

const OFFLINE: Choice = Choice {
    name: "offline",
    values: &["auto", "protocol", "insecure_dealer"],
    help: "where correlations come from: their protocols, or INSECURE, a dealer whose seed all know (auto: the dealer \
           where QUORATE_INSECURE_DEALER is set)",
};

/// The variable that tests set to use the dealer in sessions that do not ask for it.
const DEALER: &str = "QUORATE_INSECURE_DEALER";

/// The family's options.
pub(crate) const OPTIONS: &[Choice] = &{
    let [a, b, c, d, e, f] = options::OPTIONS;
    [a, b, c, d, e, f, OFFLINE]
};

/// The dealer of a session.
pub(crate) struct Dealer;

impl Dealer {
    /// Returns the dealer of a session with these choices.
    pub fn chosen(choices: &Choices) -> Option<Dealer> {
        match choices.of(&OFFLINE) {
            "auto" => std::env::var_os(DEALER).map(|_| Dealer),
            chosen => (chosen == "insecure_dealer").then_some(Dealer),
        }
    }

    pub fn security(self) -> String {
        "INSECURE, for tests: correlations come from a dealer whose seed all parties know".into()
    }

    /// Agrees on what the dealer deals from. One round.
    pub async fn set_up(self, ctx: &Ctx, params: Params, coins: Option<&Seed>) -> Result<Spdz2k> {
        let transfers = Transfers::none(params)?;
        let online = Authenticated::insecure_set_up(ctx, params.online(), coins, matrices(&transfers)).await?;
        Ok(Spdz2k { online, protocols: Protocols::new(transfers) })
    }

    pub fn dry(self, parties: usize, me: usize, params: Params) -> Result<Spdz2k> {
        check_place(parties, me)?;
        let transfers = Transfers::none(params)?;
        let online = Authenticated::insecure_dry(parties, me, params.online(), matrices(&transfers));
        Ok(Spdz2k { online, protocols: Protocols::new(transfers) })
    }
}

fn matrices(&Transfers { params, digits, .. }: &Transfers) -> Option<MatrixBytes> {
    params.has_matrix_triples().then(|| Box::new(move |ring, dims| params.bytes_of_matrices(digits, ring, dims)) as _)
}
