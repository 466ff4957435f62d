//! Correlations of one session in another one under the same keys, as pools keep them.

use quorate_adversary::Adversary;
use quorate_authenticated::keys::Keys;
use quorate_authenticated::{Authenticated, FromPool, Kind, Secrets};
use quorate_crypto::{Seed, SessionId};
use quorate_engine::testing::parties;
use quorate_engine::{Ctx, Error, Phase, Result, Sharing, Stocks, dry};
use quorate_gadgets::testing::pools::{another_session_gives_the_same_results, made_in_another};
use quorate_gadgets::{Choices, Family, Gadgets, MakesAhead, Pools, Revokes, Width};
use quorate_ring::{Bits, Ring, Vector};
use quorate_spdz2k::{Params, Spdz2k};
use zeroize::Zeroizing;

use crate::common::{Keyed, assert_kind, total};

const KINDS: &[&str] =
    &["Triple", "Mask", "BitMask", "BitTriple", "Random", "DaBit", "EdaBit", "ComparisonMask", "TruncMask"];

#[test]
fn another_session_gives_the_same_results_between_two() {
    another_session_gives_the_same_results::<Spdz2k>(2, KINDS);
}

#[test]
fn another_session_gives_the_same_results_among_three() {
    another_session_gives_the_same_results::<Spdz2k>(3, &[KINDS, &["BitZero"]].concat());
}

/// Returns the choices of real correlations with these options, as a user names them.
fn choices(options: &[(&str, &str)]) -> Choices {
    let mut choices = Choices::default();
    for (name, value) in options.iter().chain(&[("offline", "protocol")]) {
        assert!(choices.choose(Spdz2k::DESCRIPTOR.option(name).unwrap(), value), "{name}={value}");
    }
    choices
}

/// The choices that sessions with pools may have, beside the usual ones.
const OPTIONS: [&[(&str, &str)]; 6] = [
    &[],
    &[("random_bits", "sqrt")],
    &[("triples", "bucket"), ("mac", "48")],
    &[("triples", "twokeys")],
    &[("matrices", "experimental")],
    &[("mac", "32"), ("allow_weak", "yes")],
];

/// Makes correlations of each kind in one session, and reads their bytes in another one under the same keys.
fn kept(n: usize, choices: &Choices, kinds: &[(Kind, usize)]) -> Vec<Vec<Keyed>> {
    parties(n, |mut party| {
        let mut run = party.begin_alone().unwrap();
        let kept = run.phase(Phase::Offline, async |ctx| {
            let first = Spdz2k::setup(ctx, None, choices).await?;
            let made = first.make_kinds(ctx, &kinds.iter().cloned().collect()).await?;
            first.check_made(ctx)?;
            let second = Spdz2k::set_up_from_pool(ctx, None, choices, &first.secrets()).await?;
            assert_ne!(first.origin(), second.origin());
            let mut kept = Vec::new();
            for (kind, len) in kinds {
                let mut bytes = vec![];
                first.pack(&made[kind], &mut bytes)?;
                assert_eq!(bytes.len(), second.packed_bytes(kind, *len), "{kind}");
                let read = second.unpack(kind, *len, &bytes)?;
                let vectors = read.vectors.iter().map(Spdz2k::insecure_shared).collect();
                let bits = read.bits.iter().map(Spdz2k::insecure_bits).collect();
                kept.push(((second.insecure_alpha(), second.insecure_delta()), (vectors, bits)));
            }
            Ok(kept)
        });
        run.finish();
        kept.unwrap()
    })
}

/// Every kind that this family makes is read back: values, tags and MACs fit each other, and the keys.
#[test]
fn every_kind_is_read_back_under_the_keys_of_another_session() {
    let (bits, len) = (16, 3);
    let of_all = [
        (Kind::Triple { bits }, len),
        (Kind::Triple { bits: 1 }, len),
        (Kind::Owned { owner: 1, bits }, len),
        (Kind::OwnedMatrices { owner: 0, bits, m: 2, k: 3, n: 2 }, 2),
        (Kind::Random { bits }, len),
        (Kind::Mask { owner: 1, bits }, len),
        (Kind::BitTriple, 9),
        (Kind::BitMask { owner: 0 }, 9),
        (Kind::Link, len),
        (Kind::DaBit { bits }, len),
        (Kind::RandomBit { bits }, len),
        (Kind::EdaBit { bits: 5, ring: bits, cut: 2 }, len),
        (Kind::ComparisonMask { bits, pairs: 7 }, len),
        (Kind::TruncMask { bits, cut: 4 }, len),
    ];
    let of_two = [
        (Kind::OneSided { left: 0, right: 1, bits }, len),
        (Kind::KnownMatrices { left: 0, right: 1, bits, m: 2, k: 3, n: 2 }, 2),
    ];
    for (n, more) in [(2, &of_two[..]), (3, &[(Kind::BitZero, 9)])] {
        let kinds = [&of_all[..], more].concat();
        let ends = kept(n, &choices(&[]), &kinds);
        for (i, (kind, _)) in kinds.iter().enumerate() {
            assert!(Spdz2k::fits_pools(kind), "{kind}");
            let of_kind: Vec<Keyed> = ends.iter().map(|end| end[i].clone()).collect();
            let what = format!("{kind} of {n}");
            assert_kind(kind, &total(&of_kind, &what), &what);
        }
    }
}

/// Inputs of all parties, products by who knows the factors, a comparison, an AND; results for all, and for party 1.
async fn program(s: &Spdz2k, ctx: &Ctx) -> Result<Vec<Vec<i64>>> {
    let (ring, last) = (Ring::of(16), ctx.parties() - 1);
    let own = |owner: usize, values: [i64; 2]| (ctx.me() == owner).then(|| Vector::from_i64s(ring, &values));
    let x = s.input(ctx, 0, (ring, 2), own(0, [5, -7]).as_ref()).await?;
    let y = s.input(ctx, last, (ring, 2), own(last, [-3, 40]).as_ref()).await?;
    let bits = (ctx.me() == last).then(|| Bits::from_bools(1, 2, &[true, false]));
    let bits = s.input_bits(ctx, last, (1, 2), bits.as_ref()).await?;
    let product = s.mul(ctx, &x, &y).await?;
    let less = s.and(ctx, &s.lt(ctx, &y, &product, Width::Full).await?, &bits).await?;
    let numbers = [
        s.mul(ctx, &x, &x).await?,
        s.mul(ctx, &x, &product).await?,
        s.bilinear(ctx, quorate_engine::Form::MatMul { m: 1, k: 2, n: 1 }, &x, &y).await?,
        s.bit_to_ring(ctx, &less, ring).await?,
        product,
    ];
    let checked = s.check(ctx).await?;
    let mut shown = Vec::new();
    for number in &numbers {
        shown.extend(s.reveal(ctx, &checked, number, None).await?);
    }
    shown.extend(s.reveal(ctx, &checked, &numbers[4], Some(1)).await?);
    let checked = s.check(ctx).await?;
    shown.into_iter().map(|value| Ok(value.believe(&checked)?.into_inner().to_i64s())).collect()
}

fn wanted(me: usize) -> Vec<Vec<i64>> {
    let product = vec![-15, -280];
    let to_one = (me == 1).then(|| product.clone());
    let all = [vec![25, 49], vec![-75, 1960], vec![-295], vec![0, 0], product];
    all.into_iter().chain(to_one).collect()
}

/// Under all options of users, programs have right results on real correlations of another session. The demand of a dry
/// run is what the program draws: the session makes nothing.
#[test]
fn programs_run_on_kept_correlations_under_every_option() {
    for n in [2, 3] {
        for options in OPTIONS {
            let choices = choices(options);
            Spdz2k::check_pools(&choices).unwrap();
            let ends = parties(n, |mut party| {
                let me = party.me();
                let demand = dry::run(me, n, Phase::Online, async |ctx: &Ctx| {
                    let s = Spdz2k::dry(n, me, &choices)?;
                    s.record_demand();
                    program(&s, ctx).await?;
                    Ok(s.take_demand())
                });
                let mut run = party.begin_alone().unwrap();
                let left = run.phase(Phase::Offline, async |ctx| {
                    let left = made_in_another::<Spdz2k>(ctx, &choices, demand.unwrap().0).await?;
                    let s: Spdz2k = left.set_up(ctx, &choices).await?;
                    left.fill(&s, false)?;
                    Ok(s)
                });
                let s = left.unwrap();
                let done = run.phase(Phase::Online, async |ctx| program(&s, ctx).await);
                run.finish();
                let none_left = s.take_demand().draws() == 0;
                s.forget();
                assert!(!s.is_over());
                (done.unwrap(), none_left)
            });
            for (me, (results, none_left)) in ends.into_iter().enumerate() {
                assert_eq!(results, wanted(me), "{options:?}, party {me} of {n}");
                assert!(none_left, "{options:?}, {n} parties: the demand is more than what is drawn");
            }
        }
    }
}

/// Returns one party's keys, from a setup with these options.
fn secrets(options: &[(&str, &str)]) -> Vec<Zeroizing<Vec<u8>>> {
    let choices = choices(options);
    parties(2, |mut party| {
        let mut run = party.begin_alone().unwrap();
        let s = run.phase(Phase::Offline, async |ctx| Spdz2k::setup(ctx, None, &choices).await).unwrap();
        run.finish();
        s.secrets()
    })
}

#[test]
fn keys_of_other_parties_options_and_ranges_are_refused() {
    let (own, short) = (secrets(&[]), secrets(&[("mac", "48")]));
    let refused = |options: &[(&str, &str)], secrets: &[u8]| {
        let choices = choices(options);
        let set_up = async |ctx: &Ctx| Spdz2k::set_up_from_pool(ctx, None, &choices, secrets).await.map(drop);
        dry::run(0, 2, Phase::Offline, set_up).err().map(|error| error.to_string())
    };
    assert_eq!(refused(&[], &own[0]), None);
    assert!(refused(&[], &own[1]).unwrap().contains("another party"));
    assert!(refused(&[], &short[0]).unwrap().contains("other options"));
    assert!(refused(&[("mac", "48")], &own[0]).unwrap().contains("other options"));
    for wrong in [&own[0][..own[0].len() - 1], &[&own[0][..], &[0]].concat()] {
        assert!(refused(&[], wrong).unwrap().contains("out of their range"));
    }
    assert!(refused(&[], &[]).unwrap().contains("other options"));
    let mut large = short[0].clone();
    large[4 + 6] = 1; // bit 48 of alpha
    assert!(refused(&[("mac", "48")], &large).unwrap().contains("out of their range"));
    let refused = |name, value| Spdz2k::check_pools(&choices(&[(name, value)])).unwrap_err().to_string();
    assert!(refused("bits", "paper").contains("bits=paper"));
    let mut dealer = Choices::default();
    dealer.choose(Spdz2k::DESCRIPTOR.option("offline").unwrap(), "insecure_dealer");
    assert!(Spdz2k::check_pools(&dealer).is_err());
}

/// Without the seeds of pairs a party's shares would show summands of what is opened.
#[test]
fn three_parties_open_nothing_without_the_seeds_of_pairs() {
    let open = |n: usize| {
        let (private, session) = (Seed::from_bytes([1; 32]), SessionId::from_bytes([2; 32]));
        let own = (&private, session);
        let params = Params::default().online();
        let keys = Keys::under((n, 0), params, own, Secrets::none(), vec![], Adversary::none());
        let s = Authenticated::new(keys, Box::new(FromPool));
        let open = async |ctx: &Ctx| s.open(ctx, &s.public(&Vector::constant(Ring::of(8), 3, 1))).await.map(drop);
        dry::run(0, n, Phase::Online, open).map(|_| ())
    };
    assert_eq!(open(2), Ok(()));
    assert!(matches!(open(3), Err(Error::Bug { what }) if what.contains("without the seeds")));
}

/// A session from a pool makes nothing. After a run that has taken a bundle and did not end well, it does nothing more.
#[test]
fn keys_end_with_a_run_that_was_cut_off_after_it_took_a_bundle() {
    let own = secrets(&[]);
    let choices = choices(&[]);
    let set_up = async |ctx: &Ctx| Spdz2k::set_up_from_pool(ctx, None, &choices, &own[0]).await;
    let mut s = dry::run(0, 2, Phase::Offline, set_up).unwrap().0;
    let make = async |ctx: &Ctx| s.make(ctx, &Kind::BitTriple, 1).await.map(drop);
    let made = dry::run(0, 2, Phase::Offline, make).map(|_| ());
    assert!(matches!(made, Err(Error::Bug { what }) if what.contains("pool")));
    // An error before a bundle is taken leaves the keys as they are.
    s.forget();
    s.cut_off();
    assert!(!s.is_over());
    s.fill_from_pool(SessionId::from_bytes([3; 32]), Default::default(), Default::default()).unwrap();
    s.forget();
    s.cut_off();
    assert!(!s.is_over(), "the run ended well");
    s.fill_from_pool(SessionId::from_bytes([3; 32]), Default::default(), Default::default()).unwrap();
    s.cut_off();
    assert!(s.is_over());
    let again = s.fill_from_pool(SessionId::from_bytes([3; 32]), Default::default(), Default::default());
    assert_eq!(again, Err(Error::Poisoned));
    s.wipe();
    assert_eq!((s.insecure_alpha(), s.insecure_delta()), (0, 0));
}

#[test]
fn keys_end_where_a_party_deviates_although_nothing_was_taken() {
    let own = secrets(&[]);
    let choices = choices(&[]);
    let set_up = async |ctx: &Ctx| Spdz2k::set_up_from_pool(ctx, None, &choices, &own[0]).await;
    let s = dry::run(0, 2, Phase::Offline, set_up).unwrap().0;
    s.revoke();
    assert!(s.is_over());
}
