//! The options of the protocols, and the parameters that choices of them name.

use quorate_authenticated::options::{ALLOW_WEAK, MAC};
use quorate_engine::Result;
use quorate_gadgets::{Choice, Choices};

use crate::params::Params;

/// The form of shared bits.
const BITS: Choice = Choice {
    name: "bits",
    values: &["auto", "paper"],
    help: "how bits are shared: with MACs of their own (auto), or as elements mod 2, with the paper's protocols \
           (paper)",
};

/// How random bits are made.
const RANDOM_BITS: Choice = Choice {
    name: "random_bits",
    values: &["dabit", "sqrt"],
    help: "how random bits are made: from bits that each of two parties proves (dabit; with bits=auto and triples=t3 \
           only, otherwise sqrt is used), or by square roots, as in the paper (sqrt)",
};

/// How multiplication triples are made.
pub(crate) const TRIPLES: Choice = Choice {
    name: "triples",
    values: &["t3", "bucket", "twokeys"],
    help: "how multiplication triples are made: by this project's cheapest protocol (t3), by published protocols only, \
           with at least four times the bytes (bucket), or by this project's protocol with the shorter proof, with 1.5 \
           times the bytes (twokeys)",
};

/// How matrices are multiplied if a party knows one of them.
pub(crate) const MATRICES: Choice = Choice {
    name: "matrices",
    values: &["elementwise", "experimental"],
    help: "how matrices are multiplied if a party knows one of them: element by element (elementwise), or by matrix \
           triples where they send less, which only one reader other than their authors has tried to attack \
           (experimental)",
};

/// The options of the protocols.
pub(crate) const OPTIONS: [Choice; 6] = [BITS, RANDOM_BITS, TRIPLES, MATRICES, MAC, ALLOW_WEAK];

/// Returns the parameters that these choices name.
pub(crate) fn params(choices: &Choices) -> Result<Params> {
    let mut params = Params::of(quorate_authenticated::Params::chosen(choices)?);
    if choices.of(&RANDOM_BITS) == "sqrt" {
        params = params.with_bits_by_roots();
    }
    let params = match choices.of(&BITS) {
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
