//! The families of protocols by name: the only match on the protocol. Who runs programs under a protocol that users
//! name brings a [`Visit`], which works for every family.
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
    /// Additive sharing between 2 parties, on what a third one deals: semi-honest.
    Pika,
    /// The same with any one of the three malicious: what `Pika` becomes where sessions choose that.
    PikaMalicious,
}

/// What is done alike for every family.
pub trait Visit {
    /// What comes of it.
    type Out;

    /// For this one.
    fn family<F: Family>(self) -> Self::Out;
}

/// Constants of a protocol's family.
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
    /// All of them, the one first that holds where none is named.
    pub const ALL: &[Protocol] = &[Protocol::Rss, Protocol::Aby, Protocol::Spdz2k, Protocol::Pika];

    /// Does something for its family.
    pub fn visit<V: Visit>(self, visit: V) -> V::Out {
        match self {
            Protocol::Rss => visit.family::<Rss>(),
            Protocol::Aby => visit.family::<Aby>(),
            Protocol::Spdz2k => visit.family::<Spdz2k>(),
            Protocol::Pika => visit.family::<Pika>(),
            Protocol::PikaMalicious => visit.family::<PikaMalicious>(),
        }
    }

    /// The family that runs where sessions choose these of its options: two may have one name.
    pub fn chosen(self, choices: &Choices) -> Protocol {
        match self {
            Protocol::Pika if choices.of(&MALICIOUS) == "yes" => Protocol::PikaMalicious,
            other => other,
        }
    }

    said_by_families! {
        /// What users read of it.
        descriptor: Descriptor = DESCRIPTOR;
        /// Whether its parties may cheat, so that openings are checked.
        is_checked: bool = CHECKED;
        /// Whether it sends what stays a factor of many products only once.
        keeps_factors: bool = KEEPS_FACTORS;
        /// The party whose choices of one cannot be proven, where choices are.
        proves_nothing: Option<usize> = PROVES_NOTHING;
    }

    /// The most bits of a ring that programs may compute in, with these choices.
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

    /// The protocol that users call so.
    pub fn named(name: &str) -> Option<Protocol> {
        Protocol::ALL.iter().copied().find(|protocol| protocol.name() == name)
    }

    /// How users call it.
    pub fn name(self) -> &'static str {
        self.descriptor().name
    }

    /// Parties where the user names no number.
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
