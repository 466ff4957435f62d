//! Packets in which a client outside of the session sends its input.
#![no_main]

use quorate_fuzz::{Parts, within};
use quorate_ring::Ring;
use quorate_rss::Rss;
use quorate_rss::client::ClientError;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut parts = Parts(bytes);
    let (parties, me) = ([3, 5, 7][usize::from(parts.byte() % 3)], usize::from(parts.byte()));
    let shape = (Ring::of(u32::from(parts.byte() % 64) + 1), usize::from(parts.byte()));
    let rss = Rss::dry(parties, me % parties).expect("there are such parties");
    // Shares are as long as was agreed, whatever the packet says: at most 20 of them, in words of 64 bits.
    let most = 4096 + 64 * 8 * shape.1 + 8 * bytes.len();
    if within(most, || rss.accept(parts.0, shape)).is_ok() {
        assert_eq!(rss.accept(parts.0, shape).err(), Some(ClientError::UsedBefore));
    }
});
