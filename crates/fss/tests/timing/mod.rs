//! Tests that no portable kernel of `ring`, `crypto` and `fss` branches on a secret, or indexes by one. Each runs under
//! valgrind's memcheck with secrets marked as undefined, as in ctgrind (Langley, 2010). An error that memcheck reports
//! is then a branch on a secret, or an address that depends on one.
//!
//! Kernels for wider instructions are not tested: valgrind does not know all of those. Their only branches are those of
//! their loops, whose bounds are lengths.

mod crypto;
mod fss;
mod memcheck;
mod ring;

use std::hint::black_box;
use std::io::Write;
use std::process::Command;

/// A name and a function that computes on secrets.
type Case = (&'static str, fn());

/// Cases that memcheck has to report, as controls of the test itself.
const REPORTED: [Case; 3] = [
    ("control: a branch on a bit", || {
        let mut secret = [black_box(5u64)];
        memcheck::hide(&mut secret);
        if black_box(secret[0]) & 1 == 1 {
            black_box(&secret);
        }
    }),
    ("control: an index", || {
        let (table, mut secret) = (black_box([7u8; 64]), [black_box(5u8)]);
        memcheck::hide(&mut secret);
        black_box(table[usize::from(secret[0] & 63)]);
    }),
    ("control: a comparison that stops at the first difference", || {
        let (hash, mut secret) = (black_box([7u8; 32]), black_box([7u8; 32]));
        memcheck::hide(&mut secret);
        black_box(secret.iter().zip(&hash).all(|(a, b)| black_box(a) == black_box(b)));
    }),
];

fn cases() -> Vec<Case> {
    [ring::CASES, crypto::CASES, fss::CASES].concat()
}

/// The end of the names of cases that compare something.
const OUTCOME: &str = ", whose outcome is public";
const NAME: &str = "timing::every_case_under_memcheck";

/// Runs every case, and prints the number of errors that memcheck saw in each.
#[test]
#[ignore = "has something to say under valgrind alone, where the next test runs it"]
fn every_case_under_memcheck() {
    assert!(memcheck::is_running(), "this is for valgrind");
    for (name, case) in REPORTED.into_iter().chain(cases()) {
        let before = memcheck::errors();
        case();
        println!("case: {name}: {}", memcheck::errors() - before);
    }
}

#[test]
fn no_portable_kernel_branches_on_a_secret() {
    if !memcheck::KNOWN || Command::new("valgrind").arg("--version").output().is_err() {
        // Written directly, since the harness would capture it.
        let skipped = "SKIPPED: whether kernels branch on secrets, since there is no valgrind here: install valgrind\n";
        std::io::stderr().write_all(skipped.as_bytes()).unwrap();
        return;
    }
    let this = std::env::current_exe().unwrap();
    let done = Command::new("valgrind")
        .args(["--tool=memcheck", "--leak-check=no", "--num-callers=20"])
        .arg(this)
        .args([NAME, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env("QUORATE_SIMD", "portable")
        .output()
        .unwrap();
    let (said, errors) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    let count = |line: &str| {
        let (name, count) = line.rsplit_once(": ")?;
        Some((name.to_string(), count.parse::<usize>().ok()?))
    };
    // The harness does not end its own line before the first case.
    let counts = said.lines().filter_map(|line| count(line.split_once("case: ")?.1)).collect::<Vec<_>>();
    assert_eq!(counts.len(), REPORTED.len() + cases().len(), "{said}{errors}");
    let (controls, kernels) = counts.split_at(REPORTED.len());
    assert!(controls.iter().all(|(_, errors)| *errors > 0), "memcheck does not see {controls:?}");
    // The outcome of a comparison is branched on once: the run ends unless it is right.
    let allowed = |name: &str| usize::from(name.ends_with(OUTCOME));
    let branching: Vec<_> = kernels.iter().filter(|(name, errors)| *errors > allowed(name)).collect();
    assert!(branching.is_empty(), "these branch on secrets, or index by them: {branching:?}\n{errors}");
    assert!(kernels.len() >= 60, "{} kernels", kernels.len());
}
