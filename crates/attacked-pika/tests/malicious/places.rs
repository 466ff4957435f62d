//! Tests of wrong keys of places, in every way that the checks of keys cover: both parties abort before they go online.
//! Also tests look-ups with lies of links, of P0 and of P1.

use std::sync::Arc;

use quorate_adversary::{Lie, Spoil};
use quorate_authenticated::Params;
use quorate_engine::testing::parties;
use quorate_engine::{Ctx, Error, Phase, Sharing, Stocks, dry};
use quorate_gadgets::Functions;
use quorate_gadgets::lookup::{Entries, Lookup, Operand};
use quorate_pika::PikaMalicious;
use quorate_pika::malicious::digits::Digits;
use quorate_ring::{Ring, Vector};

use super::outcomes::is_found;
use crate::common::N;

const K: u32 = 5;
const LEN: usize = 3;

fn params() -> Params {
    Params::new(48, false).unwrap()
}

/// Returns whether both parties found the dealer's deviation. Asserts that both or neither did, and that its discovery
/// ended the keys.
fn is_found_by_both(place_bits: u32, cheat: impl Fn(&PikaMalicious) + Sync) -> bool {
    let digits = Digits::new(params(), place_bits, Ring::of(K)).unwrap();
    let ends = parties(N, |mut party| {
        let me = party.me();
        let mut run = party.begin_alone().unwrap();
        let set_up = async |ctx: &Ctx| PikaMalicious::set_up(ctx, params(), None).await;
        let s = run.phase(Phase::Offline, set_up).unwrap();
        if me == 2 {
            cheat(&s);
        }
        let dealt = run.phase(Phase::Offline, async |ctx| s.make(ctx, &digits.kind(), LEN).await.map(drop));
        run.finish();
        let again = async |ctx: &Ctx| s.make(ctx, &digits.kind(), 1).await.map(drop);
        let over = dry::run(me, N, Phase::Offline, again).err() == Some(Error::Poisoned);
        (is_found(&dealt), over)
    });
    assert_eq!(ends[0], ends[1], "one party goes on");
    assert_eq!(ends[0].0, ends[0].1, "keys go on");
    ends[0].0
}

fn spoilt(place_bits: u32, spoil: Spoil) -> bool {
    is_found_by_both(place_bits, |s| s.adversary().spoil(spoil, None))
}

/// Deals payloads of 0 or 2 in place of 1, and numbers that are 1 modulo 2^k; and alpha with an error in any bit, the
/// top one included.
#[test]
fn no_other_payload_is_dealt() {
    for place_bits in [3, 11] {
        let width = K.max(place_bits) + 48;
        for which in [0, 1] {
            for bit in [0, 1, K, 48, width - 1] {
                assert!(spoilt(place_bits, Spoil::Payload(which, 1 << bit)), "{place_bits} {which} {bit}");
                assert!(spoilt(place_bits, Spoil::Payload(which, (1u128 << bit).wrapping_neg())));
            }
        }
    }
    // The harness reports nothing if nothing is wrong.
    assert!(!spoilt(3, Spoil::Payload(0, 0)) && !spoilt(11, Spoil::Payload(1, 0)));
}

/// Sums and proofs hold, but P0 and P1 have different corrections.
#[test]
fn both_parties_have_the_same_corrections() {
    for place_bits in [3, 11] {
        (0..4).for_each(|_| assert!(spoilt(place_bits, Spoil::Apart)));
    }
}

/// Sums hold, but many leaves have values.
#[test]
fn a_spoilt_level_is_found_by_proofs() {
    for level in 0..3 {
        (0..3).for_each(|_| assert!(spoilt(3, Spoil::Level(level))));
    }
    (0..5).for_each(|level| assert!(spoilt(11, Spoil::Level(level))));
}

#[test]
fn keys_in_another_order_or_without_proofs_are_found() {
    for place_bits in [3, 11] {
        assert!(spoilt(place_bits, Spoil::Exchanged));
        assert!(spoilt(place_bits, Spoil::NoProof));
    }
}

/// Changes every byte of the messages to both parties, for both and for one of them only.
#[test]
fn no_byte_of_corrections_can_be_off() {
    let (mut tried, mut digits) = (0, 0);
    for (place_bits, step) in [(3, 1), (11, 7)] {
        let shapes = Digits::new(params(), place_bits, Ring::of(K)).unwrap().shapes();
        for (sent, shape) in shapes.iter().enumerate() {
            digits += 1;
            for element in (0..LEN * shape.key_bytes()).step_by(step) {
                let only = [None, Some(0), Some(1)][element % 3];
                let lie = Lie { sent, element, bit: (element % 8) as u32, only };
                // Bits above a value's bits do not count in corrections: the bytes change, but the keys do not.
                let found = is_found_by_both(place_bits, |s| s.adversary().lie(lie));
                let unused = shape.ring().bits() % 8 != 0 && only.is_none();
                assert!(found || unused, "{lie:?} of {place_bits} bits");
                tried += usize::from(found);
            }
        }
    }
    assert!(tried > 350 && digits == 3, "{tried} in {digits}");
}

/// Tests places of 16 bits, the leaves of whose keys are made in several pieces, on all instructions.
#[test]
fn tables_of_sixteen_bits_are_looked_up() {
    let entry = |i: i64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15u64 as i64) >> 20) as i32;
    let numbers: Vec<i64> = vec![-32768, -32767, -5, 0, 1, 255, 256, 2047, 2048, 12345, 32767];
    for (key_bits, bits) in [(48, 32), (64, 64)] {
        let entries: Vec<i64> = (-32768..32768).map(|i| i64::from(entry(i))).collect();
        let entries = Arc::new(Entries::new(Vector::from_i64s(Ring::of(bits), &entries)));
        let found = parties(N, |mut party| {
            let mut run = party.begin_alone().unwrap();
            let params = Params::new(key_bits, false).unwrap();
            let set_up = async |ctx: &Ctx| PikaMalicious::set_up(ctx, params, None).await;
            let s = run.phase(Phase::Offline, set_up).unwrap();
            let found = run.phase(Phase::Online, async |ctx| {
                let own = (ctx.me() == 0).then(|| Vector::from_i64s(Ring::of(bits), &numbers));
                let x = s.input(ctx, 0, (Ring::of(bits), numbers.len()), own.as_ref()).await?;
                let table = Lookup { entries: entries.clone(), first: -32768, operand: Operand::Within };
                let found = s.lookup(ctx, &x, &table).await?;
                let checked = s.check(ctx).await?;
                let shown = s.reveal(ctx, &checked, &found, None).await?;
                let checked = s.check(ctx).await?;
                shown.map(|shown| Ok(shown.believe(&checked)?.into_inner().to_i64s())).transpose()
            });
            run.finish();
            found.unwrap().unwrap()
        });
        let wanted: Vec<i64> = numbers.iter().map(|&i| entry(i).into()).collect();
        assert!(found.iter().all(|found| *found == wanted), "{found:?} {wanted:?}");
    }
}
