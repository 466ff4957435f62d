//! Tests of views online, dealing included: a party's view of inputs, products, look-ups and checks depends on the
//! other party's inputs only through results.
//!
//! By masks, as in `dealing`: two worlds in which the other party has other inputs, with the same results, look alike
//! to the viewer once masks are moved. These are the masks of inputs, of factors, and of rows of the check, and after
//! each of them those of what was dealt. Each of these messages has a mask of its own, and the amount depends on hidden
//! numbers and on masks that were moved before. Openings of look-ups are enumerated over all places.

use std::sync::Arc;

use quorate_authenticated::{Kind, Params};
use quorate_engine::testing::Received;
use quorate_engine::{Ctx, Result, Sharing};
use quorate_gadgets::lookup::{Entries, Lookup, Operand};
use quorate_gadgets::{Functions, Gadgets};
use quorate_pika::PikaMalicious;
use quorate_pika::malicious::digits::Digits;
use quorate_ring::{Bits, Ring, Vector};

use super::script::{Masked, Message, Script};
use super::{Layout, World, move_masks, noise, observe};

const LEN: usize = 3;
const K: u32 = 5;
const DEALER: usize = 2;
const KEY_BITS: u32 = 48;

fn params() -> Params {
    Params::new(KEY_BITS, false).unwrap()
}

/// A message of the other party, or several.
#[derive(Clone, Copy)]
enum Said {
    /// This number of messages by which coins are tossed: commitments of 32 bytes and openings of 64. They are no part
    /// of a view.
    Tossed(usize),
    /// A hash that the viewer can compute.
    Hash,
    /// Masked by the first draws of some batches: the first batch, and the number of draws of each.
    Masked(Layout, Masked, usize, usize),
    /// Determined by results and the viewer's own share.
    Result,
    /// A commitment, and a value with the opening of its commitment.
    Committed,
}

/// A program: the batches that are dealt, in order, and the other party's messages.
struct Case {
    batches: Vec<Kind>,
    lens: Vec<usize>,
    /// By depth, at which batches come beside each other and beside what they are for: each has a commitment, its
    /// opening, and a hash.
    said: Vec<Said>,
}

/// The messages to the viewer that must be equal in both worlds: from P2, and from the other party with their masks.
struct View {
    dealt: Vec<Vec<u8>>,
    said: Vec<Vec<u8>>,
}

impl Case {
    fn scripts(&self) -> Vec<Script> {
        self.batches.iter().zip(&self.lens).map(|(kind, &len)| Script::of(params(), kind, len)).collect()
    }

    fn view(&self, viewer: usize, heard: &[Received]) -> View {
        let from = |from: usize| heard.iter().filter(move |message| message.from == from).map(|m| m.bytes.clone());
        let (mut said, mut peer) = (Vec::new(), from(1 - viewer));
        for kind in &self.said {
            match kind {
                Said::Tossed(count) => {
                    let tossed = peer.by_ref().take(*count).filter(|bytes| [32, 64].contains(&bytes.len()));
                    assert_eq!(tossed.count(), *count, "tosses");
                }
                Said::Committed => {
                    let (_, mut opened) = (peer.next(), peer.next().unwrap());
                    opened.truncate(opened.len() - 32);
                    said.push(opened);
                }
                Said::Hash | Said::Masked(..) | Said::Result => said.push(peer.next().unwrap()),
            }
        }
        assert!(peer.next().is_none(), "the other party says more");
        View { dealt: from(DEALER).collect(), said }
    }

    fn world(&self, scripts: &[Script], name: u64) -> World {
        let drawn = |seed: usize| {
            let layouts = scripts.iter().flat_map(|script| &script.draws[seed]).enumerate();
            layouts.map(|(i, &layout)| (layout, noise(layout, name << 32 | (seed << 16 | i) as u64))).collect()
        };
        World { params: params(), draws: [0, 1, 2].map(drawn), keys: [[3; 32], [4; 32]], coins: name }
    }

    /// Returns whether both inputs of the other party look alike to the viewer, and the number of messages that
    /// differed before masks were moved.
    fn looks_alike(
        &self,
        viewer: usize,
        name: u64,
        work: impl AsyncFn(&PikaMalicious, &Ctx, usize) -> Result<()> + Sync,
    ) -> (bool, usize) {
        let (scripts, unknown) = (self.scripts(), 1 - viewer);
        let first_draw = |batch: usize| scripts[..batch].iter().map(|s| s.draws[unknown].len()).sum::<usize>();
        let run = |world: &World, input: usize| {
            let seen = observe(std::slice::from_ref(world), viewer, async |s, ctx, _| work(s, ctx, input).await);
            self.view(viewer, &seen[0].heard)
        };
        let first = self.world(&scripts, name);
        let (mut second, wanted) = (first.clone(), run(&first, 0));
        // Batches are dealt beside each other, and what is opened comes after the tosses.
        let mut dealt: Vec<(usize, &Message)> = Vec::new();
        for (batch, script) in scripts.iter().enumerate() {
            dealt.extend(script.messages[viewer].iter().map(|message| (batch, message)));
        }
        dealt.sort_by_key(|(_, message)| message.opened);
        second.keys[unknown] = [5; 32];
        let mut differed = 0;
        let steps = self.said.iter().filter(|said| !matches!(said, Said::Tossed(_))).enumerate();
        for (i, said) in steps.filter(|(_, said)| matches!(said, Said::Masked(..))) {
            let Said::Masked(layout, masked, batch, count) = *said else { continue };
            let got = run(&second, 1);
            let masks: Vec<usize> = (0..count).map(|draw| first_draw(batch) + draw).collect();
            differed += usize::from(got.said[i] != wanted.said[i]);
            move_masks(&mut second.draws[unknown], &masks, (layout, masked), [&got.said[i], &wanted.said[i]]);
            // First values that follow, then values that are opened, which depend on the former, then dealt values that
            // depend on the latter.
            for opened in [false, true, false] {
                let got = run(&second, 1);
                assert_eq!([got.dealt.len(), wanted.dealt.len()], [dealt.len(); 2], "messages of P2");
                let told = dealt.iter().zip(got.dealt.iter().zip(&wanted.dealt));
                for (&(batch, message), (got, wanted)) in told.filter(|((_, message), _)| message.opened == opened) {
                    let Message { layout, mask: Some((mask, masked)), .. } = *message else { continue };
                    differed += usize::from(got != wanted);
                    let draws = &mut second.draws[unknown];
                    move_masks(draws, &[first_draw(batch) + mask], (layout, masked), [got, wanted]);
                }
            }
        }
        let got = run(&second, 1);
        ((got.dealt, got.said) == (wanted.dealt, wanted.said), differed)
    }
}

fn rows() -> usize {
    KEY_BITS as usize
}

/// The product of the other party's x with a 0 of the viewer, in both orders, is opened and checked.
#[test]
fn products_and_checks_look_alike() {
    for (viewer, turned) in [(0, false), (0, true), (1, false), (1, true)] {
        let owner = 1 - viewer;
        let mask = |owner: usize| Kind::Mask { owner, bits: K };
        // P0 tosses at once, P1 when it has heard what is dealt.
        let first = usize::from(owner == 0);
        let case = Case {
            batches: vec![mask(owner), mask(viewer), Kind::Triple { bits: K }, Kind::Random { bits: 1 }],
            lens: vec![LEN, LEN, LEN, rows()],
            said: vec![
                Said::Tossed(first),
                Said::Masked(Layout::Elements(K, LEN), Masked::Minus, 0, 1),
                Said::Tossed(4 + 1 - first),
                Said::Masked(Layout::Elements(K, 2 * LEN), Masked::Minus, 2, 2),
                Said::Tossed(3),
                Said::Result,
                Said::Hash,
                Said::Hash,
                Said::Hash,
                Said::Hash,
                Said::Tossed(2),
                Said::Masked(Layout::Elements(KEY_BITS, rows()), Masked::Plus, 3, 1),
                Said::Committed,
            ],
        };
        for name in 1..3 {
            let (alike, differed) = case.looks_alike(viewer, name, async |s, ctx, input| {
                let ring = Ring::of(K);
                let own = |of: usize, values: [i64; LEN]| (ctx.me() == of).then(|| Vector::from_i64s(ring, &values));
                let other = [[3, -7, 15], [-16, 0, 8]][input];
                let x = s.input(ctx, owner, (ring, LEN), own(owner, other).as_ref()).await?;
                let y = s.input(ctx, viewer, (ring, LEN), own(viewer, [0; LEN]).as_ref()).await?;
                let [first, second] = if turned { [&y, &x] } else { [&x, &y] };
                let product = s.mul(ctx, first, second).await?;
                s.open(ctx, &product).await?;
                s.check(ctx).await.map(drop)
            });
            assert!(alike, "party {viewer} tells two inputs of the other one apart");
            assert!(differed > 4, "{differed} messages have something to hide");
        }
    }
}

/// The product of the other party's bits with bits of the viewer, in both orders, is opened and checked.
#[test]
fn ands_and_their_checks_look_alike() {
    for (viewer, turned) in [(0, false), (0, true), (1, false), (1, true)] {
        let owner = 1 - viewer;
        let case = Case {
            batches: vec![Kind::BitMask { owner }, Kind::BitMask { owner: viewer }, Kind::BitTriple],
            lens: vec![LEN; 3],
            said: vec![
                Said::Masked(Layout::Row(LEN), Masked::Xor, 0, 1),
                Said::Tossed(3 + 1),
                Said::Masked(Layout::Rows(LEN), Masked::Xor, 2, 2),
                Said::Tossed(2),
                Said::Result,
                Said::Hash,
                Said::Hash,
                Said::Hash,
                Said::Hash,
            ],
        };
        for name in 1..3 {
            let (alike, differed) = case.looks_alike(viewer, name, async |s, ctx, input| {
                let own = |of: usize, bits: [bool; LEN]| (ctx.me() == of).then(|| Bits::from_bools(1, LEN, &bits));
                let other = [[true, false, true], [false, true, true]][input];
                let x = s.input_bits(ctx, owner, (1, LEN), own(owner, other).as_ref()).await?;
                let y = s.input_bits(ctx, viewer, (1, LEN), own(viewer, [false; LEN]).as_ref()).await?;
                let [first, second] = if turned { [&y, &x] } else { [&x, &y] };
                let and = s.and(ctx, first, second).await?;
                s.open_bits(ctx, &and).await?;
                s.check(ctx).await.map(drop)
            });
            assert!(alike, "party {viewer} tells two inputs of the other one apart");
            assert!(differed > 4, "{differed} messages have something to hide");
        }
    }
}

/// Returns the opened values, as numbers, if P0 inputs a place and P2 dealt these numbers.
fn opened(
    batches: &[(Kind, usize)],
    change: impl Fn(&mut World),
    work: impl AsyncFn(&PikaMalicious, &Ctx) -> Result<()> + Sync,
) -> Vec<Vec<u128>> {
    let scripts = || batches.iter().map(|(kind, len)| Script::of(params(), kind, *len));
    let case = Case { batches: vec![], lens: vec![], said: vec![] };
    let mut world = case.world(&scripts().collect::<Vec<_>>(), 1);
    change(&mut world);
    let seen = observe(&[world], 1, async |s, ctx, _| {
        s.insecure_online().adversary().listen();
        work(s, ctx).await?;
        Ok(s.insecure_online().adversary().heard())
    });
    let sum = |told: &Vec<Vector>| {
        let mut sum = told[0].clone();
        told[1..].iter().for_each(|told| sum.add_assign(told));
        sum.to_u128s()
    };
    seen[0].result.iter().map(sum).collect()
}

/// Looks up a place in a table of zeros: over all places that P2 may have dealt, the opened value is uniform.
#[test]
fn places_are_masked_by_all_places() {
    const BITS: u32 = 3;
    let digits = Digits::new(params(), BITS, Ring::of(K)).unwrap();
    let entries = Arc::new(Entries::new(Vector::zeros(Ring::of(K), 1 << BITS)));
    let batches = [(Kind::Mask { owner: 0, bits: BITS + 1 }, 1), (digits.kind(), 1)];
    for input in [0, 5] {
        let mut seen: Vec<u128> = (0..1 << BITS)
            .map(|place| {
                let dealt = |world: &mut World| world.draws[2][0].1 = vec![place];
                let opened = opened(&batches, dealt, async |s, ctx| {
                    let own = (ctx.me() == 0).then(|| Vector::from_u64s(Ring::of(BITS + 1), &[input]));
                    let x = s.input(ctx, 0, (Ring::of(BITS + 1), 1), own.as_ref()).await?;
                    let table = Lookup { entries: entries.clone(), first: 0, operand: Operand::Within };
                    s.lookup(ctx, &x, &table).await.map(drop)
                });
                assert_eq!(opened.len(), 2, "the input, and the place");
                assert_eq!(opened[1][0], (u128::from(input) + place) % 8);
                opened[1][0]
            })
            .collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..1 << BITS).collect::<Vec<_>>());
    }
}

/// Opens a sign whose mask is one digit: over all digits that P2 may have dealt, the opened value is uniform.
#[test]
fn compared_numbers_are_masked_by_all_digits() {
    const BITS: u32 = 3;
    let digits = Digits::new(params(), BITS, Ring::of(BITS)).unwrap();
    let batches = [(Kind::Mask { owner: 0, bits: BITS }, 1), (digits.kind(), 1), (Kind::Link, 1)];
    for input in [0, 5] {
        let mut seen: Vec<u128> = (0..1 << BITS)
            .map(|digit| {
                let dealt = |world: &mut World| world.draws[2][0].1 = vec![digit];
                let opened = opened(&batches, dealt, async |s, ctx| {
                    let own = (ctx.me() == 0).then(|| Vector::from_u64s(Ring::of(BITS), &[input]));
                    let x = s.input(ctx, 0, (Ring::of(BITS), 1), own.as_ref()).await?;
                    s.msb(ctx, &x).await.map(drop)
                });
                assert_eq!(opened[1][0], (u128::from(input) + digit) % 8);
                opened[1][0]
            })
            .collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..1 << BITS).collect::<Vec<_>>());
    }
}

/// In a look-up with two digits, each opened sum is masked by a b_i of its own.
#[test]
fn sums_of_look_ups_are_masked_one_by_one() {
    const BITS: u32 = 11;
    let digits = Digits::new(params(), BITS, Ring::of(K)).unwrap();
    let entries = Arc::new(Entries::new(Vector::zeros(Ring::of(K), 1 << BITS)));
    let batches = [(Kind::Mask { owner: 0, bits: BITS + 1 }, 1), (digits.kind(), 1)];
    let run = |change: &dyn Fn(&mut World)| {
        opened(&batches, change, async |s, ctx| {
            let own = (ctx.me() == 0).then(|| Vector::from_u64s(Ring::of(BITS + 1), &[1234]));
            let x = s.input(ctx, 0, (Ring::of(BITS + 1), 1), own.as_ref()).await?;
            let table = Lookup { entries: entries.clone(), first: 0, operand: Operand::Within };
            s.lookup(ctx, &x, &table).await.map(drop)
        })
    };
    for seed in 0..2 {
        // After the draws of the input and of two roots.
        let script = Script::of(params(), &batches[0].0, 1);
        let at = script.draws[seed].len() + 2;
        let before = run(&|_| ()).pop().unwrap();
        let more: Vec<u128> = (0..32).map(|i| 7 * i + 1).collect();
        let after = run(&|world| {
            let (layout, b) = &mut world.draws[seed][at];
            assert_eq!(layout.len(), 32);
            b.iter_mut().zip(&more).for_each(|(b, more)| *b = b.wrapping_add(*more) & Ring::of(K + KEY_BITS).mask());
        });
        for ((before, after), more) in before.iter().zip(after.last().unwrap()).zip(&more) {
            assert_eq!((before + 32 * 8 - more) % 32, *after, "of party {seed}");
        }
    }
}
