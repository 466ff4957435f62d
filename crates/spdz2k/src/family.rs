//! The family's description and options for users, and its implementation of `Family` for sessions.

use std::collections::BTreeMap;

use quorate_crypto::Seed;
use quorate_engine::{Ctx, Demand, Layout, Result, Sharing, Stocks};
use quorate_gadgets::here::Local;
use quorate_gadgets::{Choice, Choices, Descriptor, Family, Parties};

use crate::dealt::Nobody;
use crate::params::Params;
use crate::party::Spdz2k;
use crate::stock::Kind;

/// The source of correlations: the protocols, or a dealer for tests that are not about the protocols.
#[cfg(feature = "testing")]
const OFFLINE: Choice = Choice {
    name: "offline",
    values: &["auto", "protocol", "insecure_dealer"],
    help: "where correlations come from: their protocols, or INSECURE, a dealer whose seed all know (auto: the dealer \
           where QUORATE_INSECURE_DEALER is set)",
};

/// The variable that tests set to use the dealer in sessions that do not ask for it.
#[cfg(feature = "testing")]
pub(crate) const DEALER: &str = "QUORATE_INSECURE_DEALER";

/// The form of shared bits.
const BITS: Choice = Choice {
    name: "bits",
    values: &["auto", "elements", "paper"],
    help: "how bits are shared: with MACs of their own (auto), as elements mod 2 (elements), or as elements mod 2 with \
           the paper's protocols on them (paper)",
};

/// How random bits are made.
const RANDOM_BITS: Choice = Choice {
    name: "random_bits",
    values: &["dabit", "sqrt"],
    help: "how random bits are made: from bits that each of two parties proves (dabit; it needs bits=auto and \
           triples=t3, other sessions use sqrt), or by square roots as in the paper (sqrt)",
};

/// The number of bits of the keys.
pub const MAC: Choice = Choice {
    name: "mac",
    values: &["64", "48", "32"],
    help: "bits of the keys of MACs: 64, or for values of up to 32 bits 48 (42-bit statistical security, less to \
           send) or 32 (26-bit, with allow_weak)",
};

/// Whether less than 40 bits of statistical security are allowed.
pub const ALLOW_WEAK: Choice = Choice {
    name: "allow_weak",
    values: &["no", "yes"],
    help: "whether less than 40-bit statistical security will do",
};

/// How multiplication triples are made.
const TRIPLES: Choice = Choice {
    name: "triples",
    values: &["t3", "bucket", "twokeys"],
    help: "how multiplication triples are made: t3 is ours and the cheapest; bucket uses published parts only and \
           sends at least four times as much; twokeys is ours, has a simpler proof and sends half as much again as t3",
};

/// How matrices are multiplied if a party knows one of them.
const MATRICES: Choice = Choice {
    name: "matrices",
    values: &["elementwise", "experimental"],
    help: "how a matrix that one party knows is multiplied: element by element, or by matrix triples where they send \
           less, which only one reader beside their authors has attacked (experimental)",
};

const OPTIONS: &[Choice] = &[
    BITS,
    RANDOM_BITS,
    TRIPLES,
    MATRICES,
    MAC,
    ALLOW_WEAK,
    #[cfg(feature = "testing")]
    OFFLINE,
];

fn params(choices: &Choices) -> Result<Params> {
    let key_bits = match choices.of(&MAC) {
        "32" => 32,
        "48" => 48,
        _ => 64,
    };
    let mut params = Params::new(key_bits, choices.of(&ALLOW_WEAK) == "yes")?;
    if choices.of(&RANDOM_BITS) == "sqrt" {
        params = params.with_bits_by_roots();
    }
    let params = match choices.of(&BITS) {
        "elements" => params.with_bits_as_elements(),
        "paper" => params.as_in_the_paper(),
        _ => params,
    };
    let params = match choices.of(&TRIPLES) {
        "bucket" => params.with_triples_in_buckets(),
        "twokeys" => params.with_triples_under_two_keys(),
        _ => params,
    };
    match choices.of(&MATRICES) {
        "experimental" => params.with_matrix_triples(),
        _ => Ok(params),
    }
}

#[cfg(feature = "testing")]
fn is_dealt(choices: &Choices) -> bool {
    match choices.of(&OFFLINE) {
        "auto" => std::env::var_os(DEALER).is_some(),
        chosen => chosen == "insecure_dealer",
    }
}

/// Sets up a party; compiled here, as [`quorate_gadgets::here`] explains.
#[inline(never)]
fn set_up<'a>(ctx: &'a Ctx, coins: Option<&'a Seed>, choices: &'a Choices) -> Local<'a, Spdz2k> {
    Box::pin(async move {
        #[cfg(feature = "testing")]
        if is_dealt(choices) {
            return Spdz2k::insecure_set_up(ctx, params(choices)?, coins).await;
        }
        Spdz2k::set_up(ctx, params(choices)?, coins).await
    })
}

#[inline(never)]
fn prepared<'a>(s: &'a Spdz2k, ctx: &'a Ctx, demand: Demand<Kind>) -> Local<'a, ()> {
    Box::pin(s.make_all(ctx, demand))
}

impl Family for Spdz2k {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "spdz2k",
        about: "any number of parties, malicious, all but one may cheat",
        parties: Parties { usual: &[2, 3], or_more: true, takes: "2 or more" },
        sharings: &["A", "B"],
        options: OPTIONS,
        workloads: &[
            "mul",
            "mul-owned",
            "random-bit",
            "edabit",
            "dabit",
            "triple",
            "bit-triple",
            "less-than-bounded",
            "equality",
            "truncation",
            "and",
            "chain",
        ],
        most_elements: 10_000,
    };

    fn most_bits_with(choices: &Choices) -> u32 {
        params(choices).map_or(<Self as Sharing>::MOST_BITS, Params::most_bits)
    }

    fn security(parties: usize, choices: &Choices) -> String {
        #[cfg(feature = "testing")]
        if is_dealt(choices) {
            return "INSECURE, for tests: correlations come from a dealer whose seed all parties know".into();
        }
        let bits = params(choices).map_or(0, Params::security_bits);
        let triples = match choices.of(&TRIPLES) {
            "bucket" => "multiplication triples from published parts (bucket)",
            "twokeys" => "multiplication triples of our own without a division (twokeys)",
            _ => "multiplication triples of our own (t3)",
        };
        let matrices = match choices.of(&MATRICES) {
            "experimental" => "; matrix triples of our own, experimental",
            _ => "",
        };
        format!(
            "malicious, experimental: {} of {parties} may do anything; who follows the protocol gets the right result \
             or an error; {bits}-bit statistical and 128-bit computational security (oblivious transfer from the \
             discrete logarithm in ristretto255 and AES-128, BLAKE3, TLS 1.3); {triples}{matrices}",
            parties - 1
        )
    }

    fn check_choices(choices: &Choices) -> Result<()> {
        params(choices).map(drop)
    }

    async fn setup(ctx: &Ctx, coins: Option<&Seed>, choices: &Choices) -> Result<Self> {
        set_up(ctx, coins, choices).await
    }

    fn dry(parties: usize, me: usize, choices: &Choices) -> Result<Self> {
        #[cfg(feature = "testing")]
        if is_dealt(choices) {
            return Self::insecure_dry(parties, me, params(choices)?);
        }
        Self::new_dry(parties, me, params(choices)?)
    }

    async fn prepare<T>(
        &self,
        ctx: &Ctx,
        demand: Demand<Kind>,
        _: impl AsyncFnOnce(&Ctx) -> Result<T>,
    ) -> Result<Option<T>> {
        prepared(self, ctx, demand).await.map(|()| None)
    }

    const IN_TURNS: bool = true;

    fn make_in_turns(&self, demand: &Demand<Kind>, bytes: u64) -> u64 {
        let taken = |totals: &BTreeMap<Kind, usize>| {
            let stock = totals.iter().map(|(kind, &len)| self.stock_bytes(kind, len)).sum::<u64>();
            stock.saturating_add(self.bytes_of_making(totals))
        };
        let turns = demand.in_turns(|totals| taken(totals) <= bytes);
        let largest = turns.iter().map(|turn| taken(turn.totals())).max().unwrap_or_default();
        self.stock.make_in_turns(turns);
        largest
    }

    fn forget(&self) {
        self.stock.clear();
        self.forget_openings();
        self.keys.begin_run();
    }

    fn cut_off(&self) {
        self.keys.cut_off();
    }

    fn wipe(&mut self) {
        self.keys.wipe();
        if self.keys.is_over() {
            drop(self.stock.take_made()); // which wipes it
            self.forget_openings();
            self.third = self.third.take().map(|_| Nobody::deals());
        }
    }

    /// A share and a tag, each at least twice as wide as the value.
    fn shares(&self) -> u64 {
        4
    }

    fn work_shares(&self) -> u64 {
        64 * self.peers_of(1)
    }

    fn value_bytes(&self, bits: u32, len: usize) -> u64 {
        self.peers_of(bits) * self.bytes_of(bits, len)
    }

    /// Counts both factors, their differences from the factors of triples, what all parties sent of those, and what
    /// waits for the check. A product by matrix triples is cut by its own protocol; cut again, it would send more.
    fn products_bytes(&self, bits: u32, products: usize, of_matrices: bool) -> u64 {
        match of_matrices && self.keys.params.has_matrix_triples() {
            true => 0,
            false => (8 + 3 * self.keys.parties as u64) * self.bytes_of(bits, products),
        }
    }

    fn stock_bytes(&self, kind: &Kind, len: usize) -> u64 {
        let Layout { vectors, bits } = self.layout(kind);
        let elements = vectors.iter().map(|(ring, count)| self.bytes_of(ring.bits(), count * len));
        elements.chain(bits.iter().map(|rows| self.value_bytes(1, rows * len))).sum()
    }

    fn making_bytes(&self, demand: &Demand<Kind>) -> u64 {
        self.bytes_of_making(demand.totals())
    }
}
