//! Bristol files: refused texts and the reasons, round trips, and published circuits with known answers.

use std::path::{Path, PathBuf};

use quorate_circuits::{
    Circuit, CircuitError as E, Field as F, Gate, Goal, Sign, bristol, catalog, from_rows, to_rows,
};

const AND: &str = "1 3\n2 1 1\n1 1\n\n2 1 0 1 2 AND\n";

fn fashion(text: &str) -> E {
    bristol::read_fashion(text.as_bytes()).unwrap_err()
}

fn old(text: &str) -> E {
    bristol::read_old(text.as_bytes()).unwrap_err()
}

#[test]
fn headers_are_held_against_the_text() {
    assert!(bristol::read_fashion(AND.as_bytes()).is_ok());
    assert_eq!(fashion(""), E::Truncated { line: 1, expected: F::Gates });
    assert_eq!(fashion("1"), E::ShortLine { line: 1, expected: F::Wires });
    assert_eq!(fashion("1 3 7\n"), E::Trailing { line: 1 });
    assert_eq!(fashion("1 3\n"), E::Truncated { line: 2, expected: F::InputGroups });
    assert_eq!(fashion("1 3\n1 2\n\n"), E::Truncated { line: 4, expected: F::OutputGroups });
    assert_eq!(fashion("one 3\n"), E::NotANumber { line: 1, field: F::Gates });
    assert_eq!(fashion("1 -3\n"), E::NotANumber { line: 1, field: F::Wires });
    assert_eq!(fashion("1 3\n2 1\n1 1\n"), wrong(2, F::InputGroups, 2, 1));
    assert_eq!(fashion("1 3\n2 1 1\n1 1 1\n"), wrong(3, F::OutputGroups, 1, 2));
    assert_eq!(fashion("1 3\n2 1 1\n"), E::Truncated { line: 3, expected: F::OutputGroups });
    assert_eq!(fashion("1 3\n2 2 2\n1 1\n\n2 1 0 1 2 AND\n"), wrong(1, F::Wires, 3, 4));
    assert_eq!(fashion("1 3\n1 1\n1 4\n\n2 1 0 1 2 AND\n"), wrong(1, F::Wires, 3, 4));
    assert_eq!(
        fashion("2 4\n2 1 1\n1 1\n\n2 1 0 1 2 AND\n1 1"),
        E::Unfounded { line: 1, field: F::Gates, got: 2, room: 1 }
    );
    assert_eq!(
        fashion(&AND.replace("1 3\n", "2 4\n").replace("AND\n", "AND\n          ")),
        E::Truncated { line: 7, expected: F::Gate }
    );
    assert_eq!(fashion(&format!("{AND}1 1 2 3 INV\n\n1 1 3 4 INV")), wrong(8, F::Gates, 1, 3));
    assert_eq!(fashion("1 4\n2 1 1\n1 1\n\n2 1 0 1 2 AND\n"), wrong(5, F::Wires, 4, 3));
    assert_eq!(old("1 3\n1 1\n\n2 1 0 1 2 AND\n"), E::ShortLine { line: 2, expected: F::OutputWidth });
    assert_eq!(old("1 3\n1 1 1 1\n\n2 1 0 1 2 AND\n"), E::Trailing { line: 2 });
}

fn wrong(line: u64, field: F, promised: u64, found: u64) -> E {
    E::WrongCount { line, field, promised, found }
}

#[test]
fn promises_cost_no_memory() {
    let huge = "1000000000000000000";
    let limit = 1 << 30;
    assert_eq!(
        fashion(&format!("1 {huge}\n")),
        E::TooLarge { line: 1, field: F::Wires, got: 1_000_000_000_000_000_000, limit }
    );
    let beyond = "9".repeat(40);
    assert_eq!(fashion(&format!("1 {beyond}\n")), E::TooLarge { line: 1, field: F::Wires, got: u64::MAX, limit });
    let gates = AND.replacen('1', huge, 1);
    assert_eq!(fashion(&gates), E::Unfounded { line: 1, field: F::Gates, got: 1_000_000_000_000_000_000, room: 1 });
    let wires = AND.replacen('3', "1000000000", 1);
    assert_eq!(fashion(&wires), E::Unfounded { line: 1, field: F::Wires, got: 999_999_998, room: 8 });
    let width = format!("1 3\n1 {huge}\n1 1\n\n");
    let got = 1_000_000_000_000_000_000;
    assert_eq!(fashion(&width), E::TooLarge { line: 2, field: F::InputWidth, got, limit: 1 << 24 });
    let groups = format!("1 3\n{huge} 1\n1 1\n\n");
    assert_eq!(fashion(&groups), wrong(2, F::InputGroups, got, 1));
    let sum = format!("1 1000000000\n100{}\n1 1\n\n", " 16777216".repeat(100));
    assert_eq!(fashion(&sum), E::TooLarge { line: 1, field: F::InputWidth, got: 1_677_721_600, limit: 1 << 24 });
}

#[test]
fn gates_are_checked_line_by_line() {
    let gate = |line: &str| fashion(&AND.replace("2 1 0 1 2 AND", line));
    assert_eq!(gate("2 1 0 1 2 NAND"), E::UnknownGate { line: 5, known: "XOR, AND, INV, EQ, EQW and MAND" });
    assert_eq!(gate("3 1 0 1 1 2 AND"), E::Arity { line: 5, inputs: 3, outputs: 1 });
    assert_eq!(gate("2 2 0 1 2 2 XOR"), E::Arity { line: 5, inputs: 2, outputs: 2 });
    assert_eq!(gate("2 1 0 1 2 INV"), E::Arity { line: 5, inputs: 2, outputs: 1 });
    assert_eq!(gate("3 1 0 0 1 2 MAND"), E::Arity { line: 5, inputs: 3, outputs: 1 });
    assert_eq!(gate("0 0 0 0 0 MAND"), E::Arity { line: 5, inputs: 0, outputs: 0 });
    assert_eq!(gate("18446744073709551614 9223372036854775807 MAND"), E::ShortLine { line: 5, expected: F::Wire });
    assert_eq!(gate("2 1 0 1    AND"), E::ShortLine { line: 5, expected: F::Wire });
    assert_eq!(gate("2 1 0 1 2 0 AND"), E::Trailing { line: 5 });
    assert_eq!(gate("2 1 0 x 2 AND"), E::NotANumber { line: 5, field: F::Wire });
    assert_eq!(gate("2 1 0 3 2 AND"), E::NoSuchWire { line: 5, wire: 3, wires: 3 });
    assert_eq!(gate("2 1 0 1 3 AND"), E::NoSuchWire { line: 5, wire: 3, wires: 3 });
    assert_eq!(gate("2 1 0 1 1 AND"), E::WrittenTwice { line: 5, wire: 1 });
    assert_eq!(gate("2 1 0 2 2 AND"), E::ReadBeforeWritten { line: 5, wire: 2 });
    assert_eq!(gate("1 1 2      2 EQ"), E::Constant { line: 5, got: 2 });
    assert_eq!(gate("1 1 2     2 EQW"), E::ReadBeforeWritten { line: 5, wire: 2 });
    let twice = "2 4\n2 1 1\n1 1\n\n2 1 0 1 3 AND\n2 1 0 1 3 XOR\n";
    assert_eq!(fashion(twice), E::WrittenTwice { line: 6, wire: 3 });
    let cycle = "2 4\n2 1 1\n1 1\n\n2 1 0 3 2 AND\n2 1 2 1 3 XOR\n";
    assert_eq!(fashion(cycle), E::ReadBeforeWritten { line: 5, wire: 3 });
    for name in ["EQ", "EQW", "MAND"] {
        let text = format!("1 3\n1 1 1\n\n1 1 0 2 {name}\n");
        assert_eq!(old(&text), E::UnknownGate { line: 4, known: "XOR, AND and INV" });
    }
}

#[test]
fn other_text_is_refused() {
    let mut text = AND.as_bytes().to_vec();
    text[14] = 0xff;
    assert_eq!(bristol::read(&text).unwrap_err(), E::NotText { line: 4, byte: 0xff });
    assert_eq!(bristol::read(b"\0\0\0").unwrap_err(), E::NotText { line: 1, byte: 0 });
    assert_eq!(fashion(&AND.replace("AND", "\u{c4}ND")), E::NotText { line: 5, byte: 0xc3 });
    let message = fashion("1 3\n2 1 1\n1 1\n\n2 1 0 3 2 AND\n").to_string();
    assert_eq!(message, "line 5: wire 3 of a circuit with 3 wires");
}

#[test]
fn every_gate_of_fashion_is_read() {
    let text =
        "6 10\r\n2 2 2\r\n2 1 3\r\n\r\n1 1 1 4 EQ\n4 2 0 1 2 3 5 8 MAND\n1 1 5 6 INV\n2 1 6 4 7 XOR\n1 1 0 9 EQW\n\n";
    let circuit = bristol::read(text.replace("6 10", "5 10").as_bytes()).unwrap();
    let gates: Vec<Gate> = circuit.gates().map(|(_, gate)| gate).collect();
    let expected = [Gate::Constant(true), Gate::And(0, 2), Gate::And(1, 3), Gate::Inv(5), Gate::Xor(7, 4)];
    assert_eq!(gates, expected);
    assert_eq!((circuit.inputs(), circuit.outputs()), (&[2, 2][..], &[1, 3][..]));
    assert_eq!(circuit.output_wires(), [7, 8, 6, 0]);
}

#[test]
fn the_old_format_leaves_out_inputs_of_no_wires() {
    let circuit = bristol::read(b"1 2\n1 0   1\n\n1 1 0 1 INV\n").unwrap();
    assert_eq!((circuit.inputs(), circuit.outputs()), (&[1][..], &[1][..]));
}

#[test]
fn written_circuits_are_read_back() {
    let gates = [Gate::Constant(true), Gate::And(0, 1), Gate::Xor(3, 0), Gate::Inv(4)];
    let odd = Circuit::new(vec![2], gates, vec![2, 5], vec![3, 0, 3, 2, 1, 5, 0]).unwrap();
    let empty = Circuit::new(vec![3], [], vec![2], vec![2, 2]).unwrap();
    for circuit in
        [odd, empty, catalog::aes128(), catalog::divide(16, Sign::Signed, Goal::Depth), catalog::neg(1, Goal::Size)]
    {
        let text = bristol::write_fashion(&circuit);
        assert!(bristol::read(text.as_bytes()).unwrap() == circuit, "{text}");
    }
}

/// Returns the folder of published circuits. If it exists, `tests/run_all.py` runs the tests that need it.
fn published() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/circuits")
}

fn number(value: &serde_json::Value) -> u128 {
    u128::from_str_radix(value.as_str().expect("a hex number"), 16).expect("of at most 128 bits")
}

#[test]
#[ignore = "needs the published circuits"]
fn published_circuits_give_their_known_answers() {
    let root = published();
    let answers = std::fs::read_to_string(root.join("known_answers.json")).unwrap();
    let answers: serde_json::Value = serde_json::from_str(&answers).unwrap();
    let mut vectors_seen = 0;
    for known in answers["circuits"].as_array().unwrap() {
        let name = known["circuit"].as_str().unwrap();
        let circuit = bristol::read(&std::fs::read(root.join(name)).unwrap()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let counts = circuit.counts();
        for (gate, found) in [("AND", counts.and), ("XOR", counts.xor), ("INV", counts.inv)] {
            assert_eq!(known["gates"][gate].as_u64().unwrap_or(0), found, "{gate} gates of {name}");
        }
        let vectors = known["vectors"].as_array().unwrap();
        let column = |key: &str, group: usize| vectors.iter().map(|vector| number(&vector[key][group])).collect();
        let inputs: Vec<Vec<u128>> = (0..circuit.inputs().len()).map(|group| column("i", group)).collect();
        let expected: Vec<Vec<u128>> = (0..circuit.outputs().len()).map(|group| column("o", group)).collect();
        let outputs = circuit.evaluate(&to_rows(circuit.inputs(), &inputs)).unwrap();
        assert_eq!(from_rows(circuit.outputs(), &outputs), expected, "{name}");
        vectors_seen += vectors.len();
        if name.contains("aes_128") {
            let ours = catalog::aes128();
            let outputs = ours.evaluate(&to_rows(ours.inputs(), &inputs)).unwrap();
            assert_eq!(from_rows(ours.outputs(), &outputs), expected, "the built AES");
        }
    }
    assert!(vectors_seen >= 300, "only {vectors_seen} known answers were there");
}

/// If a published circuit computes the same function, ours takes no more ANDs and no more layers.
#[test]
#[ignore = "needs the published circuits"]
fn built_circuits_are_no_larger_than_published_ones() {
    let root = published();
    let pairs = [
        ("bristol_fashion/adder64.txt", catalog::add(64, Goal::Size)),
        ("bristol_fashion/sub64.txt", catalog::sub(64, Goal::Size)),
        ("bristol_fashion/neg64.txt", catalog::neg(64, Goal::Size)),
        ("bristol_fashion/zero_equal.txt", catalog::is_zero(64)),
        ("bristol_fashion/mult64.txt", catalog::mul(64, Goal::Size)),
        ("bristol_fashion/aes_128.txt", catalog::aes128()),
        ("motion_int/int_add64_size.bristol", catalog::add(64, Goal::Size)),
        ("motion_int/int_add64_depth.bristol", catalog::add(64, Goal::Depth)),
        ("motion_int/int_gt64_size.bristol", catalog::less_than(64, Sign::Signed, Goal::Size)),
        ("motion_int/int_gt64_depth.bristol", catalog::less_than(64, Sign::Signed, Goal::Depth)),
    ];
    for (name, ours) in pairs {
        let theirs = bristol::read(&std::fs::read(root.join(name)).unwrap()).unwrap();
        let cost = |circuit: &Circuit| (circuit.counts().and, circuit.depth());
        let (ours, theirs) = (cost(&ours), cost(&theirs));
        assert!(ours.0 <= theirs.0 && ours.1 <= theirs.1, "{name}: {ours:?} against {theirs:?}");
    }
}

/// FIPS 197, appendices B and C.1.
#[test]
fn aes_of_the_standard() {
    let circuit = catalog::aes128();
    let keys = vec![0x2b7e151628aed2a6abf7158809cf4f3c, 0x000102030405060708090a0b0c0d0e0f];
    let blocks = vec![0x3243f6a8885a308d313198a2e0370734, 0x00112233445566778899aabbccddeeff];
    let outputs = circuit.evaluate(&to_rows(circuit.inputs(), &[keys, blocks])).unwrap();
    let expected = vec![0x3925841d02dc09fbdc118597196a0b32, 0x69c4e0d86a7b0430d8cdb78070b4c55a];
    assert_eq!(from_rows(circuit.outputs(), &outputs), [expected]);
}
