//! Dealing: for all hidden values of P0 or P1, what the other one sees of a batch has one distribution.
//!
//! *By exhaustion*, of single elements over Z_2 with keys of 2 and 3 bits: all masks are enumerated. *By masks*, of
//! every kind, with keys of any length. Two worlds whose hidden numbers differ look alike to the viewer once each mask
//! is moved by the difference of its message. Each message has a mask of its own, and the amount depends only on hidden
//! numbers, coins and masks that were moved before. So the masks of one world are mapped one to one to those of the
//! other world, and any view has the same probability in both.

use quorate_engine::Stocks;
use quorate_engine::testing::Received;
use quorate_gadgets::testing::may_be_chance;
use quorate_ring::Ring;
use quorate_spdz2k::{Kind, Params, Spdz2k};

use super::script::{Masked, Message, Script};
use super::{Layout, Seen, World, key_of, move_masks, noise, observe, tells};
use crate::common::mask;

const LEN: usize = 3;
const K: u32 = 5;
const DEALER: usize = 2;

fn kinds(params: Params) -> Vec<Kind> {
    let place = |bits: u32| quorate_pika::malicious::digits::Digits::new(params, bits, Ring::of(K)).unwrap().kind();
    vec![
        Kind::Triple { bits: K },
        Kind::DotTriple { bits: K, axis: 2, inner: 1 },
        Kind::MatrixTriple { bits: K, m: 2, k: 1, n: 2 },
        Kind::Owned { owner: 0, bits: K },
        Kind::Owned { owner: 1, bits: K },
        Kind::Random { bits: K },
        Kind::Mask { owner: 0, bits: K },
        Kind::Mask { owner: 1, bits: K },
        Kind::Mask { owner: 2, bits: K },
        Kind::BitTriple,
        Kind::BitMask { owner: 0 },
        Kind::BitMask { owner: 1 },
        Kind::BitMask { owner: 2 },
        Kind::Link,
        Kind::DaBit { bits: K },
        Kind::RandomBit { bits: K },
        Kind::EdaBit { bits: K, ring: K, cut: 0 },
        Kind::EdaBit { bits: K, ring: K + 2, cut: 2 },
        Kind::ComparisonMask { bits: K, pairs: 2 },
        Kind::TruncMask { bits: K, cut: 2 },
        place(3),
        place(11),
    ]
}

/// Returns what P2 sent the viewer, and the hash that the other party compared, without the tosses.
fn told(viewer: usize, heard: &[Received]) -> Vec<Vec<u8>> {
    let from = |from: usize| heard.iter().filter(move |message| message.from == from).map(|m| m.bytes.clone());
    let of_peer: Vec<Vec<u8>> = from(1 - viewer).collect();
    assert_eq!(of_peer.iter().map(Vec::len).collect::<Vec<_>>(), [32, 64, 32], "coins, and a hash");
    from(DEALER).chain(of_peer.into_iter().skip(2)).collect()
}

fn dealt(worlds: &[World], viewer: usize, kind: &Kind, len: usize) -> Vec<Vec<Vec<u8>>> {
    let all: Vec<Seen<()>> = observe(worlds, viewer, async |s, ctx, _| s.make(ctx, kind, len).await.map(drop));
    all.into_iter().map(|seen| told(viewer, &seen.heard)).collect()
}

/// Returns a world of random numbers.
fn world(params: Params, script: &Script, name: u64) -> World {
    let drawn = |seed: usize| {
        let layouts = script.draws[seed].iter().enumerate();
        layouts.map(|(i, &layout)| (layout, noise(layout, name << 32 | (seed << 16 | i) as u64))).collect()
    };
    World { params, draws: [0, 1, 2].map(drawn), keys: [[3; 32], [4; 32]], coins: name }
}

/// Returns another world with the same numbers of the viewer: of the unknown seed, only the masks are the same.
fn other_world(world: &World, script: &Script, viewer: usize, places: bool) -> World {
    let (mut other, masks) = (world.clone(), script.masks(viewer));
    let unknown = 1 - viewer;
    for (i, (layout, numbers)) in other.draws[unknown].iter_mut().enumerate() {
        // Keys of places depend on the hash.
        let is_root = places && matches!(layout, Layout::Elements(128, _));
        if !masks.contains(&i) && !is_root {
            *numbers = noise(*layout, 77 << 32 | i as u64);
        }
    }
    if !places {
        other.keys[unknown] = [5; 32];
        other.draws[DEALER].iter_mut().for_each(|(layout, numbers)| *numbers = noise(*layout, 78 << 32));
    }
    other
}

/// Returns whether both worlds look alike to the viewer once their masks are moved, and the number of messages in which
/// they differed.
fn look_alike(params: Params, kind: &Kind, viewer: usize, name: u64) -> (bool, usize) {
    let script = Script::of(params, kind, LEN);
    let mut masks = script.masks(viewer);
    masks.sort_unstable();
    assert!(masks.windows(2).all(|two| two[0] != two[1]), "a mask of several messages");
    let places = matches!(kind, Kind::Place { .. });
    let first = world(params, &script, name);
    let mut second = other_world(&first, &script, viewer, places);
    let wanted = dealt(std::slice::from_ref(&first), viewer, kind, LEN).remove(0);
    let messages = &script.messages[viewer];
    assert_eq!(wanted.len(), messages.len() + 1, "{kind}: messages to party {viewer}");
    let mut differed = 0;
    // First values that follow, then values that are opened, which depend on the former, then dealt values that depend
    // on the latter.
    for opened in [false, true, false] {
        let got = dealt(std::slice::from_ref(&second), viewer, kind, LEN).remove(0);
        for (message, (got, wanted)) in messages.iter().zip(got.iter().zip(&wanted)) {
            if message.opened == opened {
                differed += usize::from(got != wanted);
                if let Some((mask, masked)) = message.mask {
                    let draws = &mut second.draws[1 - viewer];
                    move_masks(draws, &[mask], (message.layout, masked), [got, wanted]);
                }
            }
        }
    }
    let got = dealt(std::slice::from_ref(&second), viewer, kind, LEN).remove(0);
    (got == wanted, differed)
}

#[test]
fn all_that_is_dealt_looks_alike() {
    let mut looked_at = [0; 2];
    for (viewer, key_bits) in [(0, 48), (1, 48), (0, 64), (1, 64)] {
        let params = Params::new(key_bits, false).unwrap();
        for kind in kinds(params) {
            for name in 1..3 {
                let (alike, differed) = look_alike(params, &kind, viewer, name);
                assert!(alike, "{kind}, keys of {key_bits} bits: party {viewer} tells two worlds apart");
                looked_at[viewer] += differed;
            }
        }
    }
    assert!(looked_at.iter().all(|&differed| differed > 100), "{looked_at:?} messages have something to hide");
}

/// All masks of one element of a kind, for some hidden numbers: whether the viewer's messages show these numbers.
struct Exhausted {
    params: Params,
    kind: Kind,
    viewer: usize,
    /// The draws of the unknown seed that are enumerated: those that mask the selected messages.
    masks: Vec<usize>,
    /// The selected messages.
    seen: Vec<usize>,
    /// The place of a number that is neither enumerated nor observed, in each of these.
    fixed: Option<usize>,
}

impl Exhausted {
    /// Selects all masks, or those of the messages that `seen` selects.
    fn new(params: Params, kind: Kind, viewer: usize, seen: impl Fn(&Message) -> bool) -> Exhausted {
        let script = Script::of(params, &kind, 1);
        let of_viewer = script.messages[viewer].iter().enumerate();
        let (seen, masks) = of_viewer.filter(|(_, m)| seen(m)).filter_map(|(i, m)| Some((i, m.mask?.0))).unzip();
        Exhausted { params, kind, viewer, masks, seen, fixed: None }
    }

    /// Returns whether what is seen depends on hidden numbers, over `hidden` choices of these.
    fn tells(&self, hidden: u64, coins: u64) -> bool {
        let script = Script::of(self.params, &self.kind, 1);
        let unknown = 1 - self.viewer;
        let is_open = |place: &usize| self.fixed != Some(*place);
        let open = |layout: Layout| (0..layout.len()).filter(is_open).count() as u32;
        let bits: u32 = self.masks.iter().map(|&i| script.draws[unknown][i]).map(|l| l.width() * open(l)).sum();
        let mut worlds = Vec::new();
        for choice in 0..hidden {
            let mut base = world(self.params, &script, 90 + coins);
            // Hidden are the draws of the unknown seed that are no masks, the other party's key, and what P2 alone
            // knows.
            let masks = script.masks(self.viewer);
            for (i, (layout, numbers)) in base.draws[unknown].iter_mut().enumerate() {
                if !masks.contains(&i) {
                    *numbers = noise(*layout, 1000 * choice + i as u64);
                }
            }
            base.draws[DEALER].iter_mut().for_each(|(_, bits)| bits.fill(u128::from(choice & 1)));
            base.keys = [0, 1].map(|party| match party == unknown {
                true => key_of(self.params, (choice * 3) & mask(self.params.key_bits())),
                false => key_of(self.params, coins & mask(self.params.key_bits())),
            });
            for assignment in 0..1u64 << bits {
                let (mut one, mut rest) = (base.clone(), assignment);
                for &i in &self.masks {
                    let (layout, numbers) = &mut one.draws[unknown][i];
                    for place in (0..layout.len()).filter(is_open) {
                        numbers[place] = (rest & mask(layout.width())).into();
                        rest >>= layout.width();
                    }
                }
                worlds.push(one);
            }
        }
        let views: Vec<Vec<u128>> = dealt(&worlds, self.viewer, &self.kind, 1)
            .into_iter()
            .map(|told| {
                let read = |&i: &usize| script.messages[self.viewer][i].layout.read(&told[i]).into_iter().enumerate();
                self.seen.iter().flat_map(read).filter(|(place, _)| is_open(place)).map(|(_, number)| number).collect()
            })
            .collect();
        let all: Vec<u64> = (0..hidden).flat_map(|choice| vec![choice; 1 << bits]).collect();
        tells(&views, &all)
    }
}

/// All that P0 sees of one element of Z_2, with keys of 2 bits, for several choices of what it does not know.
#[test]
fn views_of_one_element_have_one_distribution_for_p0() {
    for (kind, hidden, all_coins) in
        [(Kind::Random { bits: 1 }, 4, 3), (Kind::RandomBit { bits: 1 }, 2, 1), (Kind::Triple { bits: 1 }, 2, 1)]
    {
        let all = Exhausted::new(Params::insecure(2, 1), kind.clone(), 0, |_| true);
        for coins in 0..all_coins {
            assert!(!all.tells(hidden, coins), "{kind}");
        }
    }
}

/// With keys of 3 bits a batch has three rows: two of them are enumerated at a time.
#[test]
fn rows_of_longer_keys_have_one_distribution_for_p0() {
    for fixed in 0..3 {
        let mut two = Exhausted::new(Params::insecure(3, 1), Kind::Random { bits: 1 }, 0, |_| true);
        two.fixed = Some(fixed);
        assert!(!two.tells(2, fixed as u64), "all but row {fixed}");
    }
}

/// P1 also receives shares of values that follow. Covered are the opened and the dealt values, without the tags of
/// masks of rows, which are shared as other tags are.
#[test]
fn views_of_one_element_have_one_distribution_for_p1() {
    for (kind, hidden, opened) in [
        (Kind::Random { bits: 1 }, 4, true),
        (Kind::Random { bits: 1 }, 8, false),
        (Kind::RandomBit { bits: 1 }, 2, true),
        (Kind::RandomBit { bits: 1 }, 2, false),
        (Kind::Triple { bits: 1 }, 2, true),
    ] {
        let seen = |m: &Message| m.opened == opened && (opened || m.layout.len() == 1);
        let part = Exhausted::new(Params::insecure(2, 1), kind.clone(), 1, seen);
        assert!(!part.tells(hidden, 1), "{kind}, opened: {opened}");
    }
}

/// The tests above would detect a leak: here some masks of messages are not enumerated.
#[test]
fn messages_without_masks_tell_what_is_hidden() {
    let mut some = Exhausted::new(Params::insecure(2, 1), Kind::Random { bits: 1 }, 0, |_| true);
    some.masks.clear();
    assert!((0..6).any(|coins| some.tells(8, coins)));
}

/// Returns the values that are opened to P0, less their masks, for a kind whose first numbers are given: all of them
/// come from one seed.
fn weighed(kind: &Kind, coins: u64, seed: usize, first: &[u128]) -> Vec<u128> {
    let (params, len) = (Params::new(48, false).unwrap(), first.len());
    let script = Script::of(params, kind, len);
    let mut world = World { coins, ..world(params, &script, 5) };
    world.draws[seed][0].1.copy_from_slice(first);
    world.draws[1 - seed][0].1.fill(0);
    let told = dealt(std::slice::from_ref(&world), 0, kind, len).remove(0);
    let mut opened =
        script.messages[0].iter().zip(&told).filter(|(message, _)| message.opened && message.mask.is_some());
    let (message, told) = opened.next().unwrap();
    let (told, (other, masked)) = (message.layout.read(told), message.mask.unwrap());
    // The viewer's own part masks the message to the other party.
    let (own, _) =
        script.messages[1].iter().find(|message| message.opened && message.mask.is_some()).unwrap().mask.unwrap();
    let modulus = Ring::of(message.layout.width()).mask();
    let [own, other] = [&world.draws[0][own].1, &world.draws[1][other].1];
    told.iter()
        .enumerate()
        .map(|(i, told)| match masked {
            Masked::Minus => modulus & told.wrapping_add(own[i]).wrapping_add(other[i]),
            Masked::Plus => modulus & told.wrapping_sub(own[i]).wrapping_sub(other[i]),
            Masked::Xor => told ^ own[i] ^ other[i],
            Masked::Basis => other.iter().enumerate().fold(*told, |sum, (i, bit)| sum ^ bit << i),
        })
        .collect()
}

/// Asserts that numbers are different for all coins, and look random: about half of their bits are 1.
fn assert_random(what: &str, numbers: &[u128], bits: usize) {
    let mut all = numbers.to_vec();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), numbers.len(), "{what}: some come twice");
    let ones = numbers.iter().map(|number| number.count_ones() as usize).sum();
    assert!(may_be_chance(ones, bits * numbers.len(), 0.5), "{what}: {ones} ones in {} times {bits}", numbers.len());
}

/// t is one number for each batch, rows select each element by a coin of its own, and each bit has a weight of its own.
#[test]
fn what_is_opened_is_weighed_by_coins() {
    const MANY: usize = 40;
    let coins = 1..9;
    let ts = |kind: Kind| -> Vec<u128> {
        let of = |coins| {
            let opened = weighed(&kind, coins, 0, &[1; LEN]);
            assert!(opened.iter().all(|t| *t == opened[0]), "one t for all products");
            opened[0]
        };
        coins.clone().map(of).collect()
    };
    assert_random("t", &ts(Kind::Triple { bits: K }), 48);
    assert_random("t of bits", &ts(Kind::BitTriple), 64);
    // Bit l of a row's sum shows whether the row selects element l.
    let powers: Vec<u128> = (0..MANY).map(|l| 1 << l).collect();
    let rows = coins.clone().flat_map(|coins| weighed(&Kind::Random { bits: K }, coins, 0, &powers));
    let rows: Vec<u128> = rows.collect();
    assert_random("rows", &rows, MANY);
    let column = |l: usize| (0..48).fold(0, |all, q| all | (rows[q] >> l & 1) << q);
    assert_random("columns of rows", &(0..MANY).map(column).collect::<Vec<_>>(), 48);
    let of_bit = |coins: u64, l: usize| {
        let unit: Vec<u128> = (0..MANY).map(|i| u128::from(i == l)).collect();
        weighed(&Kind::BitMask { owner: 1 }, coins, 1, &unit)[0]
    };
    let weights: Vec<u128> = (0..MANY).flat_map(|l| [1, 2].map(|coins| of_bit(coins, l))).collect();
    assert_random("weights of bits", &weights, 64);
}

/// Random bits are those that P2 drew.
#[test]
fn random_bits_are_those_of_the_dealer() {
    let params = Params::new(48, false).unwrap();
    for kind in [Kind::RandomBit { bits: K }, Kind::DaBit { bits: K }] {
        let mut world = world(params, &Script::of(params, &kind, LEN), 6);
        world.draws[DEALER][0].1 = vec![1, 0, 1];
        let shares = [0, 1].map(|viewer| {
            let seen = observe(std::slice::from_ref(&world), viewer, async |s, ctx, _| {
                let made = s.make(ctx, &kind, LEN).await?;
                Ok(Spdz2k::insecure_shared(&made.vectors[0]).share.clone())
            });
            seen.into_iter().next().unwrap().result
        });
        let mut bits = shares[0].clone();
        bits.add_assign(&shares[1]);
        assert_eq!(bits.convert(Ring::of(K)).to_u64s(), [1, 0, 1], "{kind}");
    }
}
