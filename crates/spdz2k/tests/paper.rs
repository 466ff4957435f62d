//! What comparison and equality take as in the paper: its Tables IV and V.

use quorate_engine::{Ctx, Phase, Result, Sharing, dry};
use quorate_gadgets::{Family, Gadgets, Width};
use quorate_ring::{Ring, Vector};
use quorate_spdz2k::{Kind, Params, Spdz2k};

/// Elements that are compared at once: bytes of messages of bits are full.
const LEN: usize = 1000;

/// Random bits and triples of bits for one element, and bytes online, both parties together.
fn costs(params: Params, k: u32, compare: bool) -> (usize, usize, f64) {
    let (ring, s) = (Ring::of(k), Spdz2k::insecure_dry(2, 0, params).unwrap());
    s.record_demand();
    let work = async |ctx: &Ctx| -> Result<()> {
        let x = s.public(&Vector::shape(ring, LEN));
        let bit = match compare {
            true => s.lt(ctx, &x, &x, Width::Difference(k)).await?,
            false => s.eqz(ctx, &x).await?,
        };
        s.bit_to_ring(ctx, &bit, ring).await.map(drop)
    };
    let online = dry::run(0, 2, Phase::Online, work).unwrap().1.online;
    let demand = s.take_demand();
    let count = |kind: &Kind| demand.totals().get(kind).copied().unwrap_or_default() / LEN;
    let kinds = [Kind::RandomBit { bits: k }, Kind::Triple { bits: 1 }];
    assert!(demand.totals().keys().all(|kind| kinds.contains(kind)), "{:?}", demand.totals());
    (count(&kinds[0]), count(&kinds[1]), 2.0 * online.bytes() as f64 / LEN as f64)
}

#[test]
fn comparisons_take_what_the_paper_says_and_send_no_more() {
    for (key_bits, k, compare, [random, triples, bytes]) in [
        (48, 32, true, [33, 60, 46]),
        (64, 64, true, [65, 124, 94]),
        (48, 32, false, [33, 31, 24]),
        (64, 64, false, [65, 63, 48]),
    ] {
        let params = Params::new(key_bits, false).unwrap().as_in_the_paper();
        let (bits, ands, sent) = costs(params, k, compare);
        assert_eq!((bits, ands), (random, triples), "k {k}, comparison {compare}");
        assert!(sent <= bytes as f64 + 0.1, "k {k}, comparison {compare}: {sent} bytes");
    }
}
