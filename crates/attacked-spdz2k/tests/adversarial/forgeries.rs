//! Success rates of the best known forgeries of openings. A wrong top bit is tried against the usual batch check,
//! against the rows, and against the code itself, under keys so short that forgeries sometimes pass.

use quorate_crypto::{Prg, Seed};
use quorate_engine::testing::{Tampered, parties};
use quorate_engine::{Cause, Error, Phase, Sharing};
use quorate_gadgets::testing::may_be_chance;
use quorate_ring::{Ring, Vector};
use quorate_spdz2k::{Params, Spdz2k};

const K: u32 = 8;
const S: u32 = 6;
const OPENINGS: usize = 5;
const RUNS: usize = 40_000;

fn below(coins: &mut Prg, bits: u32) -> u64 {
    coins.next_u64() & ((1 << bits) - 1)
}

/// One opening: the sum that both parties send honestly; the upper bits of the honest party's and of the forger's
/// share; the honest party's and the forger's share of the tag.
struct Opening {
    told: u64,
    high: [u64; 2],
    tag: [u64; 2],
}

fn opening(coins: &mut Prg, alpha: u64) -> Opening {
    let shares = [0; 2].map(|_| below(coins, K + S));
    let first = below(coins, K + S);
    let tag = [first, alpha.wrapping_mul(shares[0] + shares[1]).wrapping_sub(first)];
    let low = |share: u64| share & ((1 << K) - 1);
    Opening { told: low(shares[0]) + low(shares[1]), high: shares.map(|share| share >> K), tag }
}

/// Returns whether the forger's lie about the top bit of the first opening passes a row with these coefficients, if it
/// subtracts `off_p` from p and adds `more_z` to its part of z.
fn passes_row(
    coins: &mut Prg,
    (openings, alphas): (&[Opening], [u64; 2]),
    coefficients: &[u64],
    (off_p, more_z): (u64, u64),
) -> bool {
    let lie = 1 << (K - 1);
    let mask = opening(coins, alphas[0] + alphas[1]);
    let mask_share = mask.told + ((mask.high[0] + mask.high[1]) << K);
    let weighed = |of: &dyn Fn(&Opening) -> u64| {
        openings.iter().zip(coefficients).fold(0u64, |sum, (each, chi)| sum.wrapping_add(chi.wrapping_mul(of(each))))
    };
    let p = weighed(&|each| each.high[0] + each.high[1]).wrapping_add(mask_share).wrapping_sub(off_p);
    let p = p & ((1 << S) - 1);
    let told = weighed(&|each| each.told).wrapping_add(coefficients[0] * lie);
    let y = told.wrapping_add(p << K);
    let tags = weighed(&|each| each.tag[0].wrapping_add(each.tag[1]));
    let mask_tags = (mask.tag[0].wrapping_add(mask.tag[1])) << K;
    let z = tags.wrapping_add(mask_tags).wrapping_sub((alphas[0] + alphas[1]).wrapping_mul(y)).wrapping_add(more_z);
    z & ((1 << (K + S)) - 1) == 0
}

/// Returns the fraction of runs that accept the wrong bit.
fn accepted(forge: impl Fn(&mut Prg, &[Opening], [u64; 2]) -> bool) -> f64 {
    let mut coins = Seed::from_bytes([3; 32]).prg("quorate/spdz2k/forgeries", b"");
    let run = |_: usize| {
        let alphas = [0; 2].map(|_| below(&mut coins, S));
        let openings: Vec<Opening> = (0..OPENINGS).map(|_| opening(&mut coins, alphas[0] + alphas[1])).collect();
        usize::from(forge(&mut coins, &openings, alphas))
    };
    (0..RUNS).map(run).sum::<usize>() as f64 / RUNS as f64
}

#[test]
fn the_usual_batch_check_accepts_a_wrong_top_bit_in_half_of_all_runs() {
    let rate = accepted(|coins, openings, alphas| {
        let chi: Vec<u64> = openings.iter().map(|_| below(coins, S)).collect();
        // p is sent after chi: half of an even chi cancels the lie.
        passes_row(coins, (openings, alphas), &chi, (chi[0] / 2, 0))
    });
    assert!((0.47..0.56).contains(&rate), "{rate}");
}

#[test]
fn rows_accept_a_wrong_top_bit_as_often_as_their_bound_says() {
    let rate = accepted(|coins, openings, alphas| {
        // The best known attack: a guess of the honest key, from which z is corrected wherever a row selects the lie.
        let guess = alphas[1] + below(coins, S);
        (0..S).all(|_| {
            let chi: Vec<u64> = openings.iter().map(|_| below(coins, 1)).collect();
            let more_z = guess.wrapping_mul(chi[0] << (K - 1));
            passes_row(coins, (openings, alphas), &chi, (0, more_z))
        })
    });
    let bound = f64::from(1 << (S - 1)).recip();
    assert!(rate <= 1.15 * bound && rate >= bound / 2.0, "{rate}, and the bound is {bound}");
}

/// Runs the code with a wrong top bit, sent to party 0 alone: it passes if no row selects it, or if its key is 0.
#[test]
fn a_changed_top_bit_passes_the_check_of_short_keys_at_the_stated_rate() {
    let ring = Ring::of(K);
    let run = |_: usize| {
        let ends = parties(2, |mut party| {
            if party.me() == 1 {
                // The first message belongs to the set-up, the second is the share that is sent.
                party.insecure_tamper(Tampered::bit(1, K as usize - 1));
            }
            let mut run = party.begin_alone().unwrap();
            let set_up = run.phase(Phase::Offline, async |ctx| {
                Spdz2k::insecure_set_up(ctx, Params::insecure(S, S / 2), None).await
            });
            let done = run.phase(Phase::Online, async |ctx| {
                let s = set_up?;
                let own = (ctx.me() == 0).then(|| Vector::from_i64s(ring, &[5]));
                let x = s.input(ctx, 0, (ring, 1), own.as_ref()).await?;
                let opened = s.open(ctx, &x).await?;
                let checked = s.check(ctx).await?;
                Ok(opened.believe(&checked)?.into_inner().to_u64s()[0])
            });
            run.finish();
            done
        });
        match &ends[0] {
            Ok(value) => {
                assert_eq!(*value, 5 ^ 1 << (K - 1), "the lie was told");
                1
            }
            Err(Error::Cheating { .. } | Error::Aborted { cause: Cause::Cheating, .. }) => 0,
            Err(error) => panic!("{error}"),
        }
    };
    let (runs, passed) = (3000, (0..3000).map(run).sum::<usize>());
    println!("{passed} of {runs} lies passed, {} expected", runs >> (S - 1));
    assert!(may_be_chance(passed, runs, f64::from(1 << (S - 1)).recip()), "{passed} of {runs}");
}
