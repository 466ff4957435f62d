//! The families of protocols by name: the only match on the protocol. Code that runs programs under a protocol that
//! users name provides a [`Visit`], which works for every family.
#![forbid(unsafe_code)]

use quorate_aby::Aby;
use quorate_engine::Result;
use quorate_gadgets::{Choices, Descriptor, Family};
use quorate_pika::{MALICIOUS, Pika, PikaMalicious};
use quorate_rss::Rss;
use quorate_spdz2k::Spdz2k;

/// A security model that this release can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// Replicated sharing: 3, 5 or 7 parties, semi-honest, honest majority.
    Rss,
    /// Additive and xor sharing, garbled circuits: 2 parties, semi-honest.
    Aby,
    /// Additive sharing with tags: any number of parties, malicious, all but one.
    Spdz2k,
    /// Additive sharing between 2 parties, with correlations dealt by a third one: semi-honest.
    Pika,
    /// The family of `Pika` when sessions choose malicious security: any one of the three parties may cheat.
    PikaMalicious,
}

/// An operation that works for every family.
pub trait Visit {
    /// The result.
    type Out;

    /// Runs the operation for this family.
    fn family<F: Family>(self) -> Self::Out;
}

/// Defines methods that return constants of a protocol's family.
macro_rules! said_by_families {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $constant:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(self) -> $type {
            struct Said;
            impl Visit for Said {
                type Out = $type;
                fn family<F: Family>(self) -> $type {
                    F::$constant
                }
            }
            self.visit(Said)
        }
    )*};
}

impl Protocol {
    /// All protocols that users can name; the first is the default.
    pub const ALL: &[Protocol] = &[Protocol::Rss, Protocol::Aby, Protocol::Spdz2k, Protocol::Pika];

    /// Runs an operation for the protocol's family.
    pub fn visit<V: Visit>(self, visit: V) -> V::Out {
        match self {
            Protocol::Rss => visit.family::<Rss>(),
            Protocol::Aby => visit.family::<Aby>(),
            Protocol::Spdz2k => visit.family::<Spdz2k>(),
            Protocol::Pika => visit.family::<Pika>(),
            Protocol::PikaMalicious => visit.family::<PikaMalicious>(),
        }
    }

    /// Returns the family that runs with these choices among its options: two families may have one name.
    pub fn chosen(self, choices: &Choices) -> Protocol {
        match self {
            Protocol::Pika if choices.of(&MALICIOUS) == "yes" => Protocol::PikaMalicious,
            other => other,
        }
    }

    said_by_families! {
        /// The family's description for users.
        descriptor: Descriptor = DESCRIPTOR;
        /// Whether parties may cheat, so that openings are checked.
        is_checked: bool = CHECKED;
        /// Whether runs of several programs may be under way under the same keys, so that a session may have branches.
        may_branch: bool = BRANCHES;
        /// Whether a session may have a pool of correlations.
        has_pools: bool = HAS_POOLS;
        /// Whether pools have secrets, so that each is made in one session and ends with one that does not end well.
        has_secrets: bool = HAS_SECRETS;
        /// Whether the family sends a factor of many products only once.
        keeps_factors: bool = KEEPS_FACTORS;
        /// The party whose one-hot inputs cannot be proven, if one-hot inputs are proven.
        proves_nothing: Option<usize> = PROVES_NOTHING;
    }

    /// Returns the largest number of bits of a ring in which programs may compute with these choices.
    pub fn most_bits(self, choices: &Choices) -> u32 {
        struct Most<'c>(&'c Choices);
        impl Visit for Most<'_> {
            type Out = u32;
            fn family<F: Family>(self) -> u32 {
                F::most_bits_with(self.0)
            }
        }
        self.visit(Most(choices))
    }

    /// Refuses choices under which a session can have no pool of correlations.
    ///
    /// # Errors
    /// [`quorate_engine::Misuse`].
    pub fn check_pools(self, choices: &Choices) -> Result<()> {
        struct Check<'c>(&'c Choices);
        impl Visit for Check<'_> {
            type Out = Result<()>;
            fn family<F: Family>(self) -> Result<()> {
                F::check_pools(self.0)
            }
        }
        self.visit(Check(choices))
    }

    /// Returns the protocol of this name.
    pub fn named(name: &str) -> Option<Protocol> {
        Protocol::ALL.iter().copied().find(|protocol| protocol.name() == name)
    }

    /// Returns the name of the protocol.
    pub fn name(self) -> &'static str {
        self.descriptor().name
    }

    /// Returns the number of parties if the user gives none.
    pub fn default_parties(self) -> usize {
        self.descriptor().parties.usual[0]
    }

    /// Refuses a number of parties that the protocol cannot run with.
    ///
    /// # Errors
    /// [`quorate_engine::Misuse::Parties`].
    pub fn check_parties(self, parties: usize) -> Result<()> {
        self.descriptor().check_parties(parties)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use quorate_gadgets::Choice;

    use super::*;

    struct Garbles;

    impl Visit for Garbles {
        type Out = bool;
        fn family<F: Family>(self) -> bool {
            F::GARBLES
        }
    }

    /// Workers of a party share its end of a family, and hand each other shares.
    #[test]
    fn families_and_their_shares_may_be_shared_by_threads() {
        fn is_shared<F: Family<A: Send + Sync, B: Send + Sync> + Send + Sync>() {}
        is_shared::<Rss>();
        is_shared::<Aby>();
        is_shared::<Spdz2k>();
        is_shared::<Pika>();
        is_shared::<PikaMalicious>();
    }

    #[test]
    fn every_family_can_be_told_from_the_others_and_chosen() {
        let names: BTreeSet<&str> = Protocol::ALL.iter().map(|protocol| protocol.name()).collect();
        assert_eq!(names.len(), Protocol::ALL.len());
        for &protocol in Protocol::ALL {
            let Descriptor { parties, sharings, options, about, .. } = protocol.descriptor();
            assert_eq!(Protocol::named(protocol.name()), Some(protocol));
            assert!(parties.usual.iter().all(|&n| protocol.check_parties(n).is_ok()) && !about.is_empty());
            assert_eq!(sharings.contains(&"Y"), protocol.visit(Garbles));
            assert_eq!(sharings[..2], ["A", "B"], "the planner offers both to every family");
            assert!(options.iter().all(|option| option.values.len() > 1 && !option.help.is_empty()));
        }
        let all = || Protocol::ALL.iter().flat_map(|protocol| protocol.descriptor().options);
        let alike = |option: &Choice| all().filter(|other| other.name == option.name).all(|other| other == option);
        assert!(all().all(alike), "options of one name are one option: users read it before they choose a protocol");
        assert_eq!(Protocol::named("bgw"), None);
    }

    #[test]
    fn a_family_that_is_chosen_by_an_option_has_its_name_and_options() {
        let mut choices = Choices::default();
        assert!(Protocol::ALL.iter().all(|protocol| protocol.chosen(&choices) == *protocol));
        assert!(choices.choose(&MALICIOUS, "yes"));
        let chosen = Protocol::Pika.chosen(&choices);
        assert!(chosen == Protocol::PikaMalicious && chosen.is_checked() && !Protocol::Pika.is_checked());
        assert_eq!(chosen.name(), Protocol::Pika.name());
        assert_eq!(chosen.descriptor().options, Protocol::Pika.descriptor().options);
        assert!(!Protocol::ALL.contains(&chosen));
    }
}
