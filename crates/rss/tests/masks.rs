//! Tests that openings are masked. For every k from 1 to 64 and every position of a batch, both values of every bit
//! occur, and no mask is zero throughout. On small rings the opened values are uniform.

use crate::common::*;
use crate::spy::Spy;
use quorate_crypto::Seed;
use quorate_engine::testing::parties;
use quorate_engine::{Ctx, Phase, Sharing};
use quorate_gadgets::Gadgets;
use quorate_ring::{Bits, Ring, Vector};
use quorate_rss::{Forms, Rss};

/// The number of repetitions. A position that is correctly masked still stays constant in one of 2^-REPEATS cases.
const REPEATS: usize = 48;

/// A batch whose length fills neither bytes nor words, since errors in masks are likely at the ends.
const LEN: usize = 77;

/// Whether 0 and 1 were seen, for each column (a bit of a position).
#[derive(Default)]
struct Seen(Vec<[bool; 2]>);

impl Seen {
    fn note(&mut self, bits: &[bool]) {
        self.0.resize(bits.len().max(self.0.len()), [false; 2]);
        bits.iter().zip(&mut self.0).for_each(|(&bit, seen)| seen[usize::from(bit)] = true);
    }

    fn assert_all(&self, what: &str, k: u32) {
        assert!(!self.0.is_empty());
        let constant: Vec<usize> = (0..self.0.len()).filter(|&i| self.0[i] != [true; 2]).collect();
        assert!(constant.is_empty(), "{what}, k {k}: constant at {constant:?}");
    }
}

fn element_bits(ring: Ring, v: &Vector) -> Vec<bool> {
    v.to_bits(0..ring.bits()).to_bools()
}

#[test]
fn correlations_vary_at_every_position_in_every_ring() {
    // Values near each width of words, and some between.
    for k in [1, 2, 3, 5, 7, 8, 9, 16, 17, 31, 32, 33, 41, 63, 64] {
        let ring = Ring::of(k);
        let n = [3, 3, 3, 5, 3, 7][k as usize % 6];
        let rounds = agreed(n, async |rss, ctx| {
            let mut rounds = Vec::new();
            for _ in 0..REPEATS {
                let eda = rss.edabits(ctx, ring, None, LEN).await?;
                let (value, bits) = (rss.open(ctx, &eda.value).await?, rss.open_bits(ctx, &eda.bits).await?);
                let random = rss.random_bits(ctx, ring, LEN).await?;
                let low = open_bits(rss, ctx, &rss.low_bit(&random)).await?;
                let random = rss.open(ctx, &random).await?.to_u64s();
                let fresh: A = rss.prandr(ctx, (ring, LEN));
                let fresh = rss.open(ctx, &fresh).await?;
                rounds.push((value.to_u64s(), bits.to_bools(), random, low, element_bits(ring, &fresh)));
            }
            Ok(rounds)
        });
        let [mut edabits, mut random, mut fresh] = [const { Seen(Vec::new()) }; 3];
        for (value, bits, bit, low, uniform) in rounds {
            assert_eq!(bits, Vector::from_u64s(ring, &value).to_bits(0..k).to_bools(), "k {k}");
            assert_eq!(bit, low.iter().map(|&b| u64::from(b)).collect::<Vec<_>>(), "k {k}");
            edabits.note(&bits);
            random.note(&low);
            fresh.note(&uniform);
        }
        edabits.assert_all("bits of an edaBit", k);
        random.assert_all("random bits", k);
        fresh.assert_all("random elements", k);
    }
}

/// The coins or the key that are changed in a run.
#[derive(Clone, Copy, PartialEq)]
enum Changed {
    Nothing,
    Coins(usize),
    Key(u8),
}

/// Returns the masks of a run.
fn masks_with(n: usize, forms: Forms, changed: Changed, cut: Option<u32>) -> (Vec<u64>, Vec<u64>, Vec<u64>) {
    let results = parties(n, |mut party| {
        let me = party.me();
        let seed = |of: u8, this: Changed| Seed::from_bytes([of; 32]).derive("test", &[u8::from(changed == this)]);
        let private = seed(me as u8, Changed::Coins(me));
        let rss = Rss::with_seeds(session(), (n, me), |set| seed(set, Changed::Key(set)), private).unwrap();
        rss.set_forms(forms);
        let mut run = party.begin_alone().unwrap();
        let work = async |ctx: &Ctx| {
            let (ring, wide) = (Ring::of(32), Ring::of(64));
            let eda = rss.edabits(ctx, ring, cut, LEN).await?;
            let long = rss.wide_edabits(ctx, ring, wide, LEN).await?;
            let trunc = rss.trunc_masks(ctx, ring, 7, LEN).await?;
            let value = open(&rss, ctx, &eda.value).await?;
            Ok((value, open(&rss, ctx, &long.value).await?, open(&rss, ctx, &trunc.value).await?))
        };
        let masks = run.phase(Phase::Online, work).unwrap();
        run.finish();
        party.leave(false);
        masks
    });
    results.into_iter().next().unwrap()
}

/// Checks that no mask of the first run occurs in the other.
fn assert_all_differ(first: &(Vec<u64>, Vec<u64>, Vec<u64>), other: &(Vec<u64>, Vec<u64>, Vec<u64>), without: &str) {
    for (first, other) in [(&first.0, &other.0), (&first.1, &other.1), (&first.2, &other.2)] {
        assert_eq!(first.len(), LEN);
        let alike = first.iter().zip(other).filter(|(a, b)| a == b).count();
        // With 77 elements of 32 bits, a coincidence is unlikely.
        assert_eq!(alike, 0, "masks without {without}");
    }
}

/// t + 1 parties contribute, so that one of them is honest. A mask to which one of them adds nothing may be known.
#[test]
fn masks_depend_on_the_coins_of_every_contributor() {
    for (n, cut) in [(3, None), (5, Some(5)), (5, None), (7, None)] {
        let first = masks_with(n, PAPER, Changed::Nothing, cut);
        assert!(masks_with(n, PAPER, Changed::Nothing, cut) == first, "nothing else is random");
        for contributor in 0..=(n - 1) / 2 {
            let other = masks_with(n, PAPER, Changed::Coins(contributor), cut);
            assert_all_differ(&first, &other, &format!("the coins of party {contributor}, n {n}"));
        }
    }
}

/// Each of three parties lacks one key: a mask that does not depend on it is known to that party.
#[test]
fn masks_of_summands_depend_on_every_key() {
    for cut in [None, Some(5)] {
        let first = masks_with(3, Forms::default(), Changed::Nothing, cut);
        for key in [1, 2, 4] {
            let other = masks_with(3, Forms::default(), Changed::Key(key), cut);
            assert_all_differ(&first, &other, &format!("key {key}"));
        }
    }
}

/// c = x + r as opened by `msb`, for a fixed x: the gadget's own opening, observed through its interface.
#[test]
fn maskings_of_a_fixed_value_vary_at_every_position() {
    for k in [2, 3, 5, 7, 8, 9, 16, 17, 31, 32, 33, 47, 63, 64] {
        let ring = Ring::of(k);
        let fixed = vec![0; LEN];
        let rounds = agreed(3, async |rss, ctx| {
            let x = share(rss, ctx, ring, &fixed).await?;
            let mut rounds = Vec::new();
            for _ in 0..REPEATS {
                let spy = Spy::new(rss);
                spy.msb(ctx, &x).await?;
                spy.bit_decompose(ctx, &x).await?;
                spy.eqz(ctx, &x).await?;
                spy.trunc_exact(ctx, &x, k / 2).await?;
                let bit = rss.low_bit(&x);
                spy.mask(ctx, &bit, &x).await?;
                spy.bit_to_ring(ctx, &bit, ring).await?;
                rounds.push(spy.take_opened());
            }
            Ok(rounds)
        });
        // msb, bit_decompose, eqz; trunc_exact with its two conversions (one is local mod 2); mask, conversion.
        let openings = 4 + if k / 2 == 1 { 1 } else { 2 } + 2;
        for opening in 0..openings {
            let mut seen = Seen::default();
            for round in &rounds {
                assert_eq!(round.len(), openings, "k {k}");
                seen.note(&round[opening]);
            }
            seen.assert_all("an opening", k);
        }
    }
}

/// Chi-square of opened values against the uniform distribution, for each fixed input of small rings.
#[test]
fn maskings_are_uniform_on_small_rings() {
    let len = 4096;
    for k in 1..=5u32 {
        let ring = Ring::of(k);
        for x in all(k) {
            let fixed = vec![x; len];
            let opened = agreed(3, async |rss, ctx| {
                let x = share(rss, ctx, ring, &fixed).await?;
                let eda = rss.edabits(ctx, ring, None, len).await?;
                open(rss, ctx, &rss.add(&x, &eda.value)).await
            });
            let mut counts = vec![0f64; 1 << k];
            opened.iter().for_each(|&c| counts[c as usize] += 1.0);
            let expected = len as f64 / counts.len() as f64;
            let chi: f64 = counts.iter().map(|c| (c - expected).powi(2) / expected).sum();
            let freedom = counts.len() as f64 - 1.0;
            // More than ten standard deviations: not exceeded by chance, and far below the value for a biased bit.
            assert!(chi < freedom + 10.0 * (2.0 * freedom).sqrt() + 30.0, "k {k} x {x}: chi-square {chi}");
        }
    }
}

/// Elements of a long batch are masked independently: no two chunks and no two lanes get the same stream.
#[test]
fn masks_of_chunks_and_lanes_differ() {
    let (ring, len) = (Ring::of(64), 70_000);
    let values = agreed(3, async |rss, ctx| {
        let many = async |ctx: Ctx, _: usize| Ok(rss.edabits(&ctx, ring, None, 500).await?.value);
        let lanes = ctx.join_all(4, many).await?;
        let zero = share(rss, ctx, ring, &vec![0; len]).await?;
        let spy = Spy::new(rss);
        spy.msb(ctx, &zero).await?;
        let mut words: Vec<u64> = Vec::new();
        for chunk in spy.take_opened() {
            let lanes = chunk.len() / 64;
            words.extend(Bits::from_bools(64, lanes, &chunk).to_vector(ring).to_u64s());
        }
        for lane in &lanes {
            words.extend(open(rss, ctx, lane).await?);
        }
        let fresh: Vec<A> = (0..3).map(|_| rss.prandr(ctx, (ring, 100))).collect();
        for fresh in &fresh {
            words.extend(open(rss, ctx, fresh).await?);
        }
        // Chunks that run side by side are opened in any order.
        words.sort_unstable();
        Ok(words)
    });
    assert_eq!(values.len(), len + 4 * 500 + 300);
    let distinct: std::collections::BTreeSet<u64> = values.iter().copied().collect();
    assert_eq!(distinct.len(), values.len(), "a mask of 64 bits came twice");
    assert!(!distinct.contains(&0));
}
