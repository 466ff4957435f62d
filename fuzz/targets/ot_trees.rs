//! The message of an OT extension's trees.
#![no_main]

use quorate_fuzz::{Parts, within};
use quorate_ot::readers::{trees, trees_message};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut parts = Parts(bytes);
    let depths: Vec<usize> = (0..parts.byte() % 4).map(|_| usize::from(parts.byte() % 4) + 1).collect();
    let points: Vec<usize> = depths.iter().map(|&depth| usize::from(parts.byte()) % (1 << depth)).collect();
    let read = within((1 << 16) + 64 * bytes.len(), || trees(&depths, &points, parts.0));
    // What the owner of the trees does not send is not accepted, except for the part that belongs to hidden leaves.
    assert_eq!(trees(&depths, &points, &trees_message(&depths)), Ok(()));
    assert!(read.is_err() || parts.0.len() == trees_message(&depths).len());
});
