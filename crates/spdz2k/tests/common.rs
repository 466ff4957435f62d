//! The shares of all parties, put together.

use quorate_authenticated::Kind;
use quorate_authenticated::shared::Shared;
use quorate_engine::testing::{Tampered, parties};
use quorate_engine::{Ctx, Phase, Result, Traffic};
use quorate_ring::{Ring, Vector};
use quorate_spdz2k::testing::InsecureBits;
use quorate_spdz2k::{Keys, Params, Spdz2k};

/// One party's end of a run: its key and its result, and its traffic.
pub struct End<T> {
    pub done: Result<(u64, T)>,
    pub traffic: Traffic,
}

/// Sets up keys at every party and runs `work` with them; one party may change a message.
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
            let s = Spdz2k::set_up(ctx, params, None).await?;
            let keys = s.keys();
            Ok((keys.key() as u64, work(ctx, &keys).await?))
        });
        let traffic = run.finish().offline;
        End { done, traffic }
    })
}

/// Returns the elements that all shares add up to, and asserts that every tag is alpha times its element.
pub fn combined(alpha: u128, parts: &[&Shared], what: &str) -> Vector {
    let (elements, off) = combined_loosely(alpha, parts);
    assert!(zeros(&off), "{what}: tags that are not those of the elements");
    elements
}

/// Returns the elements that all shares add up to, and the errors of the tags.
fn combined_loosely(alpha: u128, parts: &[&Shared]) -> (Vector, Vector) {
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
    (elements, tags)
}

pub fn zeros(x: &Vector) -> bool {
    x.to_limbs().iter().flatten().all(|&limb| limb == 0)
}

/// Returns whether triples are right: c = a b modulo 2^k.
pub fn are_products(a: &Vector, b: &Vector, c: &Vector, ring: Ring) -> bool {
    let mut rest = a.clone();
    rest.mul_assign(b);
    rest.sub_assign(c);
    zeros(&rest.convert(ring))
}

/// Returns whether matrix triples, one after the other, are right: C = A X modulo 2^k.
pub fn are_matrix_products(values: &[Vector], ring: Ring, dims @ (m, k, n): (usize, usize, usize)) -> bool {
    let [a, x, c] = [0, 1, 2].map(|i| values[i].convert(ring));
    let part = |x: &Vector, size: usize, i: usize| x.slice(i * size..(i + 1) * size);
    let is_right = |i| {
        let mut rest = Vector::matmul(&part(&a, m * k, i), &part(&x, k * n, i), dims);
        rest.sub_assign(&part(&c, m * n, i));
        zeros(&rest)
    };
    (0..a.len() / (m * k)).all(is_right)
}

/// One party's vectors and matrices of bits of correlations that were made.
pub type Made = (Vec<Shared>, Vec<InsecureBits>);

/// A party's alpha and Delta, with its vectors and matrices of bits.
pub type Keyed = ((u64, u128), Made);

/// Returns the vectors, and the bits row after row, that all parties' shares of a kind add up to.
pub fn total(ends: &[Keyed], what: &str) -> (Vec<Vector>, Vec<Vector>) {
    let Together { values, bits, is_loose } = together(ends, what);
    assert!(!is_loose, "{what}: tags that are not those of the elements");
    (values, bits)
}

/// The vectors and bits that all parties' shares of a kind add up to.
pub struct Together {
    pub values: Vec<Vector>,
    /// The bits, row after row.
    pub bits: Vec<Vector>,
    /// Whether a few upper bits of tags are off.
    pub is_loose: bool,
}

/// The number of upper bits of tags that a cheater gets wrong with a probability that tests meet.
const LOOSE_BITS: u32 = 16;

/// Puts all parties' shares together. Tags are right, or off in their upper bits, which the authentication may leave;
/// an opening of such an element finds this.
pub fn together(ends: &[Keyed], what: &str) -> Together {
    let alpha = ends.iter().map(|((alpha, _), _)| u128::from(*alpha)).sum();
    let is_loose = std::cell::Cell::new(false);
    let deltas: Vec<u128> = ends.iter().map(|((_, delta), _)| *delta).collect();
    let total = |parts: &[&Shared]| {
        let (elements, off) = combined_loosely(alpha, parts);
        is_loose.set(is_loose.get() || !zeros(&off));
        let below = Ring::of(off.ring().bits() - LOOSE_BITS);
        assert!(zeros(&off.convert(below)), "{what}: tags that are not those of the elements");
        elements
    };
    let vector = |i: usize| total(&ends.iter().map(|(_, made)| &made.0[i]).collect::<Vec<_>>());
    let matrix = |i: usize| {
        let parts: Vec<&InsecureBits> = ends.iter().map(|(_, made)| &made.1[i]).collect();
        let elements: Vec<&Shared> = parts
            .iter()
            .filter_map(|part| match part {
                InsecureBits::Elements(shared) => Some(shared),
                InsecureBits::Macs { .. } => None,
            })
            .collect();
        match elements.len() == parts.len() {
            true => total(&elements),
            false => combined_bits(&deltas, &parts, what),
        }
    };
    let (vectors, matrices) = (ends[0].1.0.len(), ends[0].1.1.len());
    let (values, bits) = ((0..vectors).map(vector).collect(), (0..matrices).map(matrix).collect());
    Together { values, bits, is_loose: is_loose.get() }
}

/// Returns the xor of all parties' own bits, row after row. Asserts that every MAC is the peer's key, plus its Delta
/// where the bit is 1.
pub fn combined_bits(deltas: &[u128], parts: &[&InsecureBits], what: &str) -> Vector {
    let part = |party: usize| match parts[party] {
        InsecureBits::Macs { own, macs, keys } => (own.to_bools(), macs, keys),
        InsecureBits::Elements(_) => panic!("{what}: bits without MACs"),
    };
    // The place at which a party keeps what it has with a peer.
    let place = |party: usize, peer: usize| if peer < party { peer } else { peer - 1 };
    let mut sum = vec![0; part(0).0.len()];
    for party in 0..parts.len() {
        let (own, macs, _) = part(party);
        for peer in (0..parts.len()).filter(|peer| *peer != party) {
            let (macs, keys) = (&macs[place(party, peer)], &part(peer).2[place(peer, party)]);
            assert!(own.len() == macs.len() && macs.len() == keys.len(), "{what}: lengths");
            for ((own, mac), key) in own.iter().zip(macs).zip(keys) {
                let delta = if *own { deltas[peer] } else { 0 };
                assert_eq!(*mac, key ^ delta, "{what}: a MAC of party {party} towards {peer}");
            }
        }
        sum.iter_mut().zip(own).for_each(|(sum, own)| *sum ^= u64::from(own));
    }
    Vector::from_u64s(Ring::of(1), &sum)
}

/// Asserts that correlations are of this kind.
pub fn assert_kind(kind: &Kind, (values, bits): &(Vec<Vector>, Vec<Vector>), what: &str) {
    let low = |x: &Vector, bits: u32| x.convert(Ring::of(bits)).to_u64s();
    match *kind {
        Kind::Triple { bits } | Kind::OneSided { bits, .. } | Kind::Owned { bits, .. } => {
            assert!(are_products(&values[0], &values[1], &values[2], Ring::of(bits)), "{what}")
        }
        Kind::KnownMatrices { bits, m, k, n, .. } | Kind::OwnedMatrices { bits, m, k, n, .. } => {
            assert!(are_matrix_products(values, Ring::of(bits), (m, k, n)), "{what}")
        }
        Kind::BitTriple => {
            let [a, b, c] = [0, 1, 2].map(|i| low(&bits[i], 1));
            assert!(a.iter().zip(&b).zip(&c).all(|((a, b), c)| a & b == *c), "{what}");
        }
        Kind::BitZero => assert!(zeros(&bits[0]), "{what}"),
        Kind::Link => assert_eq!(low(&values[0], 1), low(&bits[0], 1), "{what}"),
        Kind::DaBit { bits: k } => assert_eq!(low(&values[0], k), low(&bits[0], 1), "{what}"),
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
        Kind::ComparisonMask { bits: k, pairs } => {
            let (rows, products, len) = (low(&bits[0], 1), low(&bits[1], 1), values[0].len());
            assert_eq!((rows.len(), products.len()), (k as usize * len, pairs as usize * len), "{what}");
            let bit = |row: usize, i: usize| rows[row * len + i];
            for (i, &value) in low(&values[0], k).iter().enumerate() {
                assert_eq!(value, (0..k as usize).map(|row| bit(row, i) << row).sum::<u64>(), "{what}");
            }
            for (at, &product) in products.iter().enumerate() {
                let (pair, i) = (at / len, at % len);
                assert_eq!(product, bit(2 * pair, i) & bit(2 * pair + 1, i), "{what}: pair {pair}");
            }
        }
        Kind::TruncMask { bits, cut } => {
            let whole = low(&values[0], bits);
            let shifted = whole.iter().map(|x| (x & ((1 << (bits - 1)) - 1)) >> cut);
            assert_eq!(low(&values[1], bits), shifted.collect::<Vec<_>>(), "{what}");
            let tops = whole.iter().map(|x| x >> (bits - 1));
            assert_eq!(low(&values[2], cut + 1), tops.collect::<Vec<_>>(), "{what}");
        }
        Kind::DotTriple { .. } | Kind::MatrixTriple { .. } | Kind::ConvTriple { .. } | Kind::Place { .. } => {
            panic!("dealt only")
        }
        Kind::Random { .. } | Kind::Mask { .. } | Kind::BitMask { .. } => (),
    }
}
