//! Both readers on arbitrary bytes and on damaged files: each returns an error or a consistent circuit, and never
//! panics.

use proptest::prelude::*;
use quorate_circuits::{Circuit, CircuitError, Goal, Sign, bristol, catalog};
use quorate_ring::Bits;

fn holds_together(text: &[u8]) {
    for read in
        [bristol::read, bristol::read_fashion, bristol::read_old] as [fn(&[u8]) -> Result<Circuit, CircuitError>; 3]
    {
        let Ok(circuit) = read(text) else { continue };
        let written = bristol::write_fashion(&circuit);
        assert!(bristol::read(written.as_bytes()).as_ref() == Ok(&circuit));
        if circuit.input_wires() < 10_000 {
            let outputs = circuit.evaluate(&Bits::zeros(circuit.input_wires() as usize, 1)).unwrap();
            assert_eq!(outputs.rows(), circuit.output_wires().len());
        }
    }
}

fn valid(which: usize) -> String {
    let circuits = [
        catalog::add(3, Goal::Size),
        catalog::mul(2, Goal::Size),
        catalog::less_than(4, Sign::Signed, Goal::Depth),
        catalog::sub(2, Goal::Size),
        catalog::equal(5),
    ];
    let text = bristol::write_fashion(&circuits[which % circuits.len()]);
    match which / circuits.len() % 2 {
        0 => text,
        // The header of the old format; its gates are the same.
        _ => text.replacen("\n2 ", "\n", 1).replacen("\n1 ", " ", 1),
    }
}

#[derive(Clone, Debug)]
enum Damage {
    Byte(prop::sample::Index, u8),
    Word(prop::sample::Index, String),
    DropLine(prop::sample::Index),
    RepeatLine(prop::sample::Index),
    SwapLines(prop::sample::Index, prop::sample::Index),
    Cut(prop::sample::Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let word =
        prop_oneof!["[0-9]{1,3}", "[0-9]{18,22}", Just("MAND".to_owned()), Just("EQ".to_owned()), "[A-Z -]{0,5}"];
    prop_oneof![
        (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
        (any::<prop::sample::Index>(), word).prop_map(|(at, word)| Damage::Word(at, word)),
        any::<prop::sample::Index>().prop_map(Damage::DropLine),
        any::<prop::sample::Index>().prop_map(Damage::RepeatLine),
        (any::<prop::sample::Index>(), any::<prop::sample::Index>()).prop_map(|(a, b)| Damage::SwapLines(a, b)),
        any::<prop::sample::Index>().prop_map(Damage::Cut),
    ]
}

fn digits(count: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::char::range('0', '9'), count).prop_map(|digits| digits.into_iter().collect())
}

/// Returns one of eleven kinds of words. As one regular expression they take six times as long to draw.
fn word() -> impl Strategy<Value = String> {
    let names = prop::sample::select(&["XOR", "AND", "INV", "EQ", "EQW", "MAND", "\n", "\n", "\n"][..]);
    prop_oneof![1 => digits(1..=2), 1 => digits(9..=21), 9 => names.prop_map(str::to_owned)]
}

fn damaged(text: &str, damage: &Damage) -> Vec<u8> {
    let mut lines: Vec<&str> = text.lines().collect();
    match damage {
        Damage::Byte(at, byte) => {
            let mut bytes = text.as_bytes().to_vec();
            let at = at.index(bytes.len());
            bytes[at] = *byte;
            return bytes;
        }
        Damage::Word(at, word) => {
            let mut words: Vec<&str> = text.split_inclusive([' ', '\n']).collect();
            let at = at.index(words.len());
            let end = words[at].chars().last().filter(|c| c.is_whitespace()).unwrap_or(' ');
            let word = format!("{word}{end}");
            words[at] = &word;
            return words.concat().into_bytes();
        }
        Damage::DropLine(at) => drop(lines.remove(at.index(lines.len()))),
        Damage::RepeatLine(at) => {
            let at = at.index(lines.len());
            lines.insert(at, lines[at]);
        }
        Damage::SwapLines(a, b) => {
            let count = lines.len();
            lines.swap(a.index(count), b.index(count));
        }
        Damage::Cut(at) => return text.as_bytes()[..at.index(text.len())].to_vec(),
    }
    lines.join("\n").into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn arbitrary_bytes(text in prop::collection::vec(any::<u8>(), 0..200)) {
        holds_together(&text);
    }

    #[test]
    fn arbitrary_words(words in prop::collection::vec(word(), 0..60)) {
        holds_together(words.join(" ").as_bytes());
    }

    #[test]
    fn damaged_files(which in 0usize..10, damages in prop::collection::vec(damage(), 1..4)) {
        let mut text = valid(which).into_bytes();
        for damage in &damages {
            if let Ok(valid) = std::str::from_utf8(&text) && !valid.trim().is_empty() {
                text = damaged(valid, damage);
            }
        }
        holds_together(&text);
    }
}

#[test]
fn files_to_damage_are_valid() {
    for which in 0..10 {
        bristol::read(valid(which).as_bytes()).unwrap_or_else(|error| panic!("{which}: {error}"));
    }
}
