//! What all parties have, put together.

use quorate_engine::testing::{Tampered, parties};
use quorate_engine::{Ctx, Phase, Result, Stocks, Traffic};
use quorate_ring::{Ring, Vector};
use quorate_spdz2k::{Keys, Kind, Params, Shared, Spdz2k};

/// One party's end of a run: its key and what it made, what it sent, and in how many messages.
pub struct End<T> {
    pub done: Result<(u64, T)>,
    pub traffic: Traffic,
    pub messages: usize,
}

/// Sets up keys at every party and does something with them; one party may change a message.
pub fn run<T: Send>(
    n: usize,
    params: Params,
    tampered: Option<(usize, Tampered)>,
    work: impl AsyncFn(&Ctx, &Keys) -> Result<T> + Sync,
) -> Vec<End<T>> {
    parties(n, |mut party| {
        if let Some((_, tampered)) = tampered.filter(|(cheat, _)| *cheat == party.me()) {
            party.insecure_tamper(tampered);
        }
        let mut run = party.begin_alone().unwrap();
        let done = run.phase(Phase::Offline, async |ctx| {
            let keys = Keys::setup(ctx, params, None).await?;
            Ok((keys.insecure_alpha(), work(ctx, &keys).await?))
        });
        let traffic = run.finish().offline;
        End { done, traffic, messages: party.insecure_sent() }
    })
}

/// The elements that all shares add up to; every tag is alpha times that.
pub fn combined(alpha: u128, parts: &[&Shared], what: &str) -> Vector {
    let total = |of: fn(&Shared) -> &Vector| {
        parts[1..].iter().fold(of(parts[0]).clone(), |mut sum, part| {
            sum.add_assign(of(part));
            sum
        })
    };
    let (elements, mut tags) = (total(|part| &part.share), total(|part| &part.tag));
    let mut expected = elements.clone();
    expected.scale(alpha);
    tags.sub_assign(&expected);
    assert!(zeros(&tags), "{what}: tags that are not those of the elements");
    elements
}

pub fn zeros(x: &Vector) -> bool {
    x.to_limbs().iter().flatten().all(|&limb| limb == 0)
}

/// Whether triples are right: c = a b modulo 2^k.
pub fn are_products(a: &Vector, b: &Vector, c: &Vector, ring: Ring) -> bool {
    let mut rest = a.clone();
    rest.mul_assign(b);
    rest.sub_assign(c);
    zeros(&rest.convert(ring))
}

/// Vectors and matrices of bits of one party, of correlations that were made.
pub type Made = (Vec<Shared>, Vec<Shared>);

/// Correlations of one kind that two parties make, and how many messages each sends; one may change a message.
pub fn made(
    params: Params,
    kind: &Kind,
    len: usize,
    tampered: Option<(usize, Tampered)>,
) -> Vec<(Result<(u64, Made)>, usize)> {
    parties(2, |mut party| {
        if let Some((_, tampered)) = tampered.filter(|(cheat, _)| *cheat == party.me()) {
            party.insecure_tamper(tampered);
        }
        let mut run = party.begin_alone().unwrap();
        let done = run.phase(Phase::Offline, async |ctx| {
            let s = Spdz2k::set_up(ctx, params, None).await?;
            let made = s.make(ctx, kind, len).await?;
            let vectors = made.vectors.iter().map(Spdz2k::insecure_shared).collect();
            Ok((s.insecure_alpha(), (vectors, made.bits.iter().map(Spdz2k::insecure_bits).collect())))
        });
        run.finish();
        (done, party.insecure_sent())
    })
}

/// What both parties' shares of a kind add up to: vectors, and bits row after row.
pub fn both(ends: &[(u64, Made)], what: &str) -> (Vec<Vector>, Vec<Vector>) {
    let alpha = ends.iter().map(|(alpha, _)| u128::from(*alpha)).sum();
    let all = |of: fn(&Made) -> &Vec<Shared>| -> Vec<Vector> {
        let part = |i: usize| ends.iter().map(|(_, made)| &of(made)[i]).collect::<Vec<_>>();
        (0..of(&ends[0].1).len()).map(|i| combined(alpha, &part(i), what)).collect()
    };
    (all(|made| &made.0), all(|made| &made.1))
}

/// Asserts what correlations of a kind are.
pub fn assert_kind(kind: &Kind, (values, bits): &(Vec<Vector>, Vec<Vector>), what: &str) {
    let low = |x: &Vector, bits: u32| x.convert(Ring::of(bits)).to_u64s();
    match *kind {
        Kind::Triple { bits } => assert!(are_products(&values[0], &values[1], &values[2], Ring::of(bits)), "{what}"),
        Kind::RandomBit { bits } => assert!(low(&values[0], bits).iter().all(|&bit| bit < 2), "{what}"),
        Kind::EdaBit { bits: width, ring, cut } => {
            let (rows, len) = (low(&bits[0], 1), values[0].len());
            let expected = |i: usize| (0..width as usize).map(|row| rows[row * len + i] << row).sum();
            let expected: Vec<u64> = (0..len).map(expected).collect();
            assert_eq!(low(&values[0], ring), expected, "{what}");
            if cut > 0 {
                assert_eq!(low(&values[1], ring), expected.iter().map(|x| x >> cut).collect::<Vec<_>>(), "{what}");
            }
        }
        Kind::TruncMask { bits, cut } => {
            let whole = low(&values[0], bits);
            let shifted = whole.iter().map(|x| (x & ((1 << (bits - 1)) - 1)) >> cut);
            assert_eq!(low(&values[1], bits), shifted.collect::<Vec<_>>(), "{what}");
            let tops = whole.iter().map(|x| x >> (bits - 1));
            assert_eq!(low(&values[2], cut + 1), tops.collect::<Vec<_>>(), "{what}");
        }
        Kind::Random { .. } | Kind::Mask { .. } => (),
    }
}
