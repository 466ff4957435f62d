//! Tests of a dealer that deals a wrong value and continues with it as if it were right. In the check, it opens the sum
//! of the parties' summands. Each of its messages is wrong in turn, the masks of the check included. Either P0 and P1
//! both abort before they go online, or their correlations are right.

use quorate_adversary::{Forgery, Lie};
use quorate_authenticated::testing::InsecureBits;
use quorate_authenticated::{Authenticated, Kind, Material, Params};
use quorate_engine::testing::{Change, What, parties};
use quorate_engine::{Ctx, Error, Phase, Result, Stocks, dry};
use quorate_gadgets::testing::convolutions;
use quorate_pika::PikaMalicious;
use quorate_pika::malicious::digits::Digits;
use quorate_ring::{Bits, Ring, Vector};

use super::outcomes::{Cheat, is_found, with_cheat};
use crate::common::N;

const K: u32 = 5;
const LEN: usize = 3;

/// Returns all kinds that are dealt, in rings of K bits.
pub fn kinds(key_bits: u32) -> Vec<Kind> {
    vec![
        Kind::Triple { bits: K },
        Kind::DotTriple { bits: K, axis: 2, inner: 1 },
        Kind::MatrixTriple { bits: K, m: 2, k: 1, n: 2 },
        Kind::ConvTriple { bits: K, conv: convolutions::kinds()[1] },
        Kind::Owned { owner: 0, bits: K },
        Kind::Owned { owner: 1, bits: K },
        Kind::Random { bits: K },
        Kind::Mask { owner: 0, bits: K },
        Kind::Mask { owner: 2, bits: K },
        Kind::BitTriple,
        Kind::BitMask { owner: 1 },
        Kind::BitMask { owner: 2 },
        Kind::Link,
        Kind::DaBit { bits: K },
        Kind::RandomBit { bits: K },
        Kind::EdaBit { bits: K, ring: K, cut: 0 },
        Kind::EdaBit { bits: K, ring: K + 2, cut: 2 },
        Kind::ComparisonMask { bits: K, pairs: 2 },
        Kind::TruncMask { bits: K, cut: 2 },
        place(key_bits, 3).kind(),
        place(key_bits, 11).kind(),
    ]
}

/// Returns places of `place_bits` bits.
fn place(key_bits: u32, place_bits: u32) -> Digits {
    Digits::new(Params::new(key_bits, false).unwrap(), place_bits, Ring::of(K)).unwrap()
}

/// A party's end.
struct End {
    dealt: Result<Material>,
    lied: usize,
    alpha: u64,
    delta: u128,
    /// Whether its keys have ended.
    over: bool,
    /// First and second values of all leaves, for the keys of each digit.
    leaves: Vec<[Vector; 2]>,
}

fn deal(kind: &Kind, key_bits: u32, lie: Option<Lie>) -> Vec<End> {
    deal_and_forge(kind, key_bits, lie, None)
}

fn deal_and_forge(kind: &Kind, key_bits: u32, lie: Option<Lie>, forgery: Option<Forgery>) -> Vec<End> {
    parties(N, |mut party| {
        let me = party.me();
        let mut run = party.begin_alone().unwrap();
        let params = Params::new(key_bits, false).unwrap();
        let set_up = async |ctx: &Ctx| PikaMalicious::set_up(ctx, params, None).await;
        let s = run.phase(Phase::Offline, set_up).unwrap();
        if let Some(lie) = lie.filter(|_| me == 2) {
            s.adversary().lie(lie);
        }
        if let Some(forgery) = forgery.filter(|_| me == 2) {
            s.adversary().forge(forgery);
        }
        let dealt = run.phase(Phase::Offline, async |ctx| s.make(ctx, kind, LEN).await);
        run.finish();
        let again = async |ctx: &Ctx| s.make(ctx, kind, 1).await.map(drop);
        let over = dry::run(me, N, Phase::Offline, again).err() == Some(Error::Poisoned);
        let online = s.insecure_online();
        let leaves = match (&dealt, Digits::of(params, kind)) {
            (Ok(dealt), Some(digits)) if me < 2 => s.insecure_leaves(digits, &dealt.blocks[0], LEN),
            _ => vec![],
        };
        End {
            leaves,
            dealt,
            lied: s.adversary().lied(),
            alpha: online.insecure_alpha(),
            delta: online.insecure_delta(),
            over,
        }
    })
}

/// Returns the sum of both parties' shares, modulo 2^k, and asserts that every tag is exact.
fn value(ends: &[End], i: usize, ring: Ring) -> Vector {
    let shared = |end: &End| Authenticated::insecure_shared(&end.dealt.as_ref().unwrap().vectors[i]);
    let (first, second) = (shared(&ends[0]), shared(&ends[1]));
    let (mut value, mut tag) = (first.share.clone(), first.tag.clone());
    value.add_assign(&second.share);
    tag.add_assign(&second.tag);
    let mut expected = value.clone();
    expected.scale(u128::from(ends[0].alpha) + u128::from(ends[1].alpha));
    assert_eq!(tag.to_limbs(), expected.to_limbs(), "tags");
    value.convert(ring)
}

/// Returns the bits of both parties, and asserts that every MAC is right.
fn bits(ends: &[End], i: usize) -> Vec<bool> {
    let part = |end: &End| match Authenticated::insecure_bits(&end.dealt.as_ref().unwrap().bits[i]) {
        InsecureBits::Macs { own, macs, keys } => (own.to_bools(), macs[0].clone(), keys[0].clone()),
        InsecureBits::Elements(_) => panic!("bits have MACs"),
    };
    let both = [part(&ends[0]), part(&ends[1])];
    for of in 0..2 {
        let delta = ends[1 - of].delta;
        for (i, bit) in both[of].0.iter().enumerate() {
            assert_eq!(both[of].1[i], both[1 - of].2[i] ^ if *bit { delta } else { 0 }, "MACs");
        }
    }
    both[0].0.iter().zip(&both[1].0).map(|(x, y)| x ^ y).collect()
}

/// Asserts that the dealt values satisfy the relation of their kind.
fn assert_right(kind: &Kind, ends: &[End]) {
    let ring = Ring::of(K);
    let of = |i: usize| value(ends, i, ring);
    let number = |rows: &[bool], lane: usize| {
        let lanes = LEN;
        (0..rows.len() / lanes).map(|row| u64::from(rows[row * lanes + lane]) << row).sum::<u64>()
    };
    match *kind {
        Kind::Triple { .. }
        | Kind::Owned { .. }
        | Kind::DotTriple { .. }
        | Kind::MatrixTriple { .. }
        | Kind::ConvTriple { .. } => assert_is_product(kind, ends),
        Kind::Random { .. } | Kind::Mask { .. } => drop(of(0)),
        Kind::BitTriple => {
            let [a, b, c] = [0, 1, 2].map(|i| bits(ends, i));
            assert!((0..LEN).all(|i| c[i] == (a[i] && b[i])));
        }
        Kind::BitMask { .. } => drop(bits(ends, 0)),
        Kind::Link => {
            let low: Vec<bool> = value(ends, 0, Ring::of(1)).to_u64s().iter().map(|x| *x == 1).collect();
            assert_eq!(low, bits(ends, 0));
        }
        Kind::DaBit { .. } => {
            assert_eq!(of(0).to_u64s(), bits(ends, 0).into_iter().map(u64::from).collect::<Vec<_>>());
        }
        Kind::RandomBit { .. } => assert!(of(0).to_u64s().iter().all(|x| *x < 2)),
        Kind::EdaBit { ring, cut, .. } => {
            let (ring, rows) = (Ring::of(ring), bits(ends, 0));
            let numbers: Vec<u64> = (0..LEN).map(|lane| number(&rows, lane)).collect();
            assert_eq!(value(ends, 0, ring).to_u64s(), numbers);
            if cut > 0 {
                let shifted: Vec<u64> = numbers.iter().map(|x| x >> cut).collect();
                assert_eq!(value(ends, 1, ring).to_u64s(), shifted);
            }
        }
        Kind::ComparisonMask { .. } => {
            let (rows, products) = (bits(ends, 0), bits(ends, 1));
            assert_eq!(of(0).to_u64s(), (0..LEN).map(|lane| number(&rows, lane)).collect::<Vec<_>>());
            for (i, product) in products.iter().enumerate() {
                let (pair, lane) = (i / LEN, i % LEN);
                assert_eq!(*product, rows[2 * pair * LEN + lane] && rows[(2 * pair + 1) * LEN + lane]);
            }
        }
        Kind::TruncMask { cut, .. } => {
            let numbers = of(0).to_u64s();
            assert_eq!(of(1).to_u64s(), numbers.iter().map(|x| (x % 16) >> cut).collect::<Vec<_>>());
            let top = value(ends, 2, Ring::of(cut + 1)).to_u64s();
            assert_eq!(top, numbers.iter().map(|x| x >> (K - 1)).collect::<Vec<_>>());
        }
        Kind::Place { place_bits, choices, .. } => assert_leaves_are_hot_at_places(kind, ends, (place_bits, choices)),
        Kind::OneSided { .. } | Kind::KnownMatrices { .. } | Kind::OwnedMatrices { .. } | Kind::BitZero => {
            unreachable!()
        }
    }
}

/// Asserts that the third dealt vector is the product of the first two, of the form of the kind.
fn assert_is_product(kind: &Kind, ends: &[End]) {
    let ring = Ring::of(K);
    let of = |i: usize| value(ends, i, ring);
    match *kind {
        Kind::Triple { .. } | Kind::Owned { .. } => {
            if let Kind::Owned { owner, .. } = *kind {
                let other = ends[1 - owner].dealt.as_ref().unwrap();
                let shares = other.vectors.iter().map(|part| Authenticated::insecure_shared(part).share.to_limbs());
                assert!(shares.flatten().flatten().all(|limb| limb == 0), "all is in its owner's summands");
            }
            let mut product = of(0);
            product.mul_assign(&of(1));
            assert_eq!(product.to_u64s().iter().map(|x| x % 32).collect::<Vec<_>>(), of(2).to_u64s());
        }
        Kind::DotTriple { .. } => {
            let mut product = of(0);
            product.mul_assign(&of(1));
            assert_eq!(product.sum_axis(LEN, 2, 1).convert(ring).to_u64s(), of(2).to_u64s());
        }
        Kind::MatrixTriple { .. } => {
            let (a, b, c) = (of(0).to_u64s(), of(1).to_u64s(), of(2).to_u64s());
            for (i, c) in c.iter().enumerate() {
                let (matrix, row, column) = (i / 4, i % 4 / 2, i % 2);
                assert_eq!(a[2 * matrix + row] * b[2 * matrix + column] % 32, *c);
            }
        }
        Kind::ConvTriple { conv, .. } => {
            let (a, b, c) = (of(0), of(1), of(2).to_u64s());
            for (i, c) in c.chunks_exact(conv.len_out()).enumerate() {
                let [images, filters] = conv.lens();
                let (a, b) = (a.slice(i * images..(i + 1) * images), b.slice(i * filters..(i + 1) * filters));
                assert_eq!(Vector::convolve(&a, &b, &conv).to_u64s(), c);
            }
        }
        _ => unreachable!(),
    }
}

/// Asserts that the leaves of digits add up to a one-hot vector at the dealt place, and that the dealt choice is the
/// element there.
fn assert_leaves_are_hot_at_places(kind: &Kind, ends: &[End], (place_bits, choices): (u32, usize)) {
    let of = |i: usize| value(ends, i, Ring::of(K));
    let places = value(ends, 0, Ring::of(place_bits)).to_u64s();
    let lower = if choices > 0 { place_bits - 5 } else { place_bits };
    assert!(ends[..2].iter().all(|end| end.leaves.len() == 1 + usize::from(choices > 0)), "{kind}");
    for (i, leaves) in ends[0].leaves.iter().enumerate() {
        let bits = if i == 0 { lower } else { 5 };
        for (which, payload) in [1, ends[..2].iter().map(|end| u128::from(end.alpha)).sum()].iter().enumerate() {
            let mut sums = leaves[which].clone();
            sums.add_assign(&ends[1].leaves[i][which]);
            let hot = |at: usize| {
                let digit = places[at >> bits] >> (if i == 0 { 0 } else { lower }) & ((1 << bits) - 1);
                if at as u64 & ((1 << bits) - 1) == digit { *payload } else { 0 }
            };
            assert_eq!(sums.to_u128s(), (0..LEN << bits).map(hot).collect::<Vec<_>>(), "{kind}");
        }
    }
    if choices > 0 {
        let (b, c) = (of(1).to_u64s(), of(2).to_u64s());
        let chosen = places.iter().enumerate().map(|(i, place)| b[i * choices + (place >> lower) as usize]);
        assert_eq!(c, chosen.collect::<Vec<_>>());
    }
}

/// Returns whether P0 and P1 noticed; `None` if no lie was told. Asserts that both or neither notice, and that
/// correlations are right if neither does.
fn outcome(kind: &Kind, key_bits: u32, lie: Lie) -> Option<bool> {
    let ends = deal(kind, key_bits, Some(lie));
    if ends[2].lied == 0 {
        assert_right(kind, &ends);
        return None;
    }
    let noticed = ends[..2].iter().filter(|end| is_found(&end.dealt)).count();
    match noticed {
        2 => assert!(ends[..2].iter().all(|end| end.over), "{kind}, {lie:?}: keys go on"),
        0 => assert_right(kind, &ends),
        _ => panic!("{kind}, {lie:?}: one party goes on"),
    }
    Some(noticed == 2)
}

#[test]
fn an_honest_dealer_deals_what_kinds_say() {
    for key_bits in [64, 48] {
        for kind in kinds(key_bits) {
            assert_right(&kind, &deal(&kind, key_bits, None));
        }
    }
}

/// Changes the top bit of all moduli, the lowest bit, and bits around k, in every message.
#[test]
fn no_lie_of_a_dealer_is_dealt_unnoticed() {
    let (mut all, mut noticed) = (0, 0);
    for i in 0..kinds(64).len() {
        let key_bits = [64, 48][i % 2];
        let kind = &kinds(key_bits)[i];
        let mut places = 0;
        for sent in 0.. {
            let lengths = [K + key_bits, key_bits + 1, 64, 128].map(|bits| bits - 1);
            let mut told = 0;
            for bit in [0, 1, K - 1, K, Lie::TOP].into_iter().chain(lengths) {
                let element = (bit as usize % 64 + sent) % LEN;
                let Some(found) = outcome(kind, key_bits, Lie { sent, element, bit, only: None }) else { continue };
                // A consistent error above bit k of an element makes no wrong value; 0 and 1 are both bits.
                assert!(found || bit >= K || bit == 0, "{kind}: bit {bit} of number {sent}");
                (told, all, noticed) = (told + 1, all + 1, noticed + usize::from(found));
            }
            if told == 0 {
                break;
            }
            places += 1;
        }
        // A place with one key has no other message than that key's.
        let least = if matches!(kind, Kind::Place { choices: 0, .. }) { 1 } else { 2 };
        assert!(places >= least, "{kind}: {places} things that are sent");
    }
    println!("{all} lies, {noticed} noticed");
    assert!(all > 500 && 100 * noticed > 93 * all, "{noticed} of {all}");
}

/// Deals c = a b + e for every single bit e, below 2^k and above.
#[test]
fn no_bit_of_a_product_can_be_off() {
    for bit in 0..K + 48 {
        // The first message of triples is c.
        let found = outcome(&Kind::Triple { bits: K }, 48, Lie { sent: 0, element: 1, bit, only: None });
        assert!(found == Some(true) || bit >= K, "{bit}");
    }
}

/// An error of 2^(L-1) in a tag passes no check. A check by a sum with coefficients in Z_2^s would accept it half of
/// the time. This includes masks of the check, whose tags come last except for keys of bits.
#[test]
fn no_tag_can_be_off_in_its_top_bit() {
    for round in 0..40 {
        for sent in [0, 1] {
            let lie = Lie { sent, element: round % LEN, bit: K + 47, only: None };
            assert_eq!(outcome(&Kind::Random { bits: K }, 48, lie), Some(true));
        }
    }
    let none = Lie { sent: 2, element: 0, bit: 0, only: None };
    assert_eq!(outcome(&Kind::Random { bits: K }, 48, none), None, "there are a tag and tags of masks");
}

/// P2 keeps only shapes of the bits that it deals to P0 and P1: it does not use them in the following run.
#[test]
fn bits_that_are_not_sent_by_a_dealer_are_shapes() {
    let ends = deal(&Kind::DaBit { bits: K }, 48, None);
    let of_dealer = ends[2].dealt.as_ref().unwrap();
    let shared = Authenticated::insecure_shared(&of_dealer.vectors[0]);
    assert!(shared.share.is_shape() && shared.tag.is_shape());
    match Authenticated::insecure_bits(&of_dealer.bits[0]) {
        InsecureBits::Macs { own, .. } => assert!(Bits::is_shape(&own)),
        InsecureBits::Elements(_) => panic!("bits have MACs"),
    }
}

/// The dealer must open the same values to both. Otherwise, with another top bit of rho at P1 alone, the check would
/// pass whenever P1's summand of b is even. The hash of all messages prevents this.
#[test]
fn a_dealer_opens_the_same_to_both() {
    let kind = Kind::Triple { bits: K };
    let deal = |message: usize, bit: usize| {
        let cheat = Cheat { party: 2, message, what: What::Changed(Change::Bit(bit)) };
        with_cheat(N, Some(cheat), |mut party, liar| {
            let mut run = party.begin_alone().unwrap();
            let set_up = async |ctx: &Ctx| PikaMalicious::set_up(ctx, Params::new(48, false)?, None).await;
            let s = run.phase(Phase::Offline, set_up).unwrap();
            liar.begin();
            let dealt = run.phase(Phase::Offline, async |ctx| s.make(ctx, &kind, LEN).await.map(drop));
            run.finish();
            dealt
        })
    };
    // c, chat, three tags and those of masks; then rho and the sums of rows, to each of both.
    for (message, bit) in (6..10).flat_map(|message| [0, 52].map(|bit| (message, bit))) {
        for _ in 0..8 {
            let (ends, liars) = deal(message, bit);
            assert!(liars[2].has_lied() && liars[2].sent().len() <= 10);
            assert!(ends[..2].iter().all(is_found), "message {message}, bit {bit}");
        }
    }
}

/// Deals c = a b + 1, and opens a rho for which the last zero holds if b, or P1's summand of it, is odd.
#[test]
fn no_opening_makes_a_wrong_product_pass() {
    let kind = Kind::Triple { bits: K };
    for forgery in [Forgery::ToBoth, Forgery::ToSecond] {
        // Without a lie there is nothing to forge.
        assert_right(&kind, &deal_and_forge(&kind, 48, None, Some(forgery)));
        for round in 0..12 {
            let lie = Lie { sent: 0, element: round % LEN, bit: 0, only: None };
            let ends = deal_and_forge(&kind, 48, Some(lie), Some(forgery));
            assert!(ends[..2].iter().all(|end| is_found(&end.dealt)), "{forgery:?}");
        }
    }
}

/// Forges openings of other values: of products of bits, for b = 1; of tags, with larger rows; of keys, with sums that
/// fit.
#[test]
fn no_opening_makes_other_things_pass() {
    let lie = Lie { sent: 0, element: 1, bit: 0, only: None };
    for (kind, lie, forgery) in [
        (Kind::BitTriple, Some(lie), Forgery::Bits),
        (Kind::Random { bits: K }, None, Forgery::Tags),
        (Kind::BitMask { owner: 0 }, None, Forgery::Keys),
        (Kind::Link, None, Forgery::Keys),
    ] {
        for _ in 0..12 {
            let ends = deal_and_forge(&kind, 48, lie, Some(forgery));
            assert!(ends[..2].iter().all(|end| is_found(&end.dealt)), "{kind}, {forgery:?}");
        }
    }
}
