//! `QUORATE_SIMD` forces a path and is read once per process: each case is a process of its own.

use quorate_ring::{SimdPath, simd_path};
use std::process::Command;

/// Not a test by itself: the program of the child processes.
#[test]
fn child() {
    println!("path={:?};", simd_path());
}

fn path_with(value: Option<&str>) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).env_remove("QUORATE_SIMD");
    if let Some(value) = value {
        command.env("QUORATE_SIMD", value);
    }
    let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let (_, rest) = output.split_once("path=").expect("the child says its path");
    rest.split_once(';').unwrap().0.to_owned()
}

#[test]
fn the_variable_forces_a_path_that_the_processor_has() {
    let widest = path_with(None);
    assert_eq!(path_with(Some("avx512")), widest);
    assert_eq!(path_with(Some("portable")), format!("{:?}", SimdPath::Portable));
    assert_eq!(path_with(Some("no such path")), format!("{:?}", SimdPath::Portable));
    let expected = if widest == "Portable" { SimdPath::Portable } else { SimdPath::Avx2 };
    assert_eq!(path_with(Some("avx2")), format!("{expected:?}"));
}
