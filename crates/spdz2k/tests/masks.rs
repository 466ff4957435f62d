//! Correlations that masks are taken from vary: every bit of a party's share is 0 in one and 1 in another, and so is
//! every bit of the sum of all shares. A mask that is not drawn hides nothing.

use quorate_authenticated::Kind;
use quorate_ring::{Ring, Vector};
use quorate_spdz2k::Params;
use quorate_spdz2k::testing::InsecureBits;

use crate::common::{Keyed, together};
use crate::made::made;

/// A coin falls on one side this often with probability 2^-63.
const LEN: usize = 64;

/// The vectors and the matrices of bits of a kind of which each party has random shares.
type Random = [(&'static [usize], &'static [usize]); 2];

fn kinds() -> Vec<(Kind, Random)> {
    let both = |vectors: &'static [usize], bits: &'static [usize]| -> Random { [(vectors, bits); 2] };
    vec![
        (Kind::Triple { bits: 5 }, both(&[0, 1, 2], &[])),
        (Kind::OneSided { left: 0, right: 1, bits: 5 }, [(&[0, 2], &[]), (&[1, 2], &[])]),
        (Kind::Owned { owner: 1, bits: 5 }, [(&[], &[]), (&[0, 1], &[])]),
        (Kind::Random { bits: 5 }, both(&[0], &[])),
        (Kind::Mask { owner: 0, bits: 5 }, [(&[0], &[]), (&[], &[])]),
        (Kind::BitTriple, both(&[], &[0, 1, 2])),
        (Kind::BitMask { owner: 1 }, [(&[], &[]), (&[], &[0])]),
        (Kind::Link, both(&[0], &[0])),
        (Kind::DaBit { bits: 5 }, both(&[0], &[0])),
        (Kind::RandomBit { bits: 5 }, both(&[0], &[])),
        (Kind::EdaBit { bits: 5, ring: 5, cut: 0 }, both(&[0], &[0])),
        (Kind::ComparisonMask { bits: 5, pairs: 1 }, both(&[0], &[0, 1])),
        (Kind::TruncMask { bits: 5, cut: 1 }, both(&[0, 1, 2], &[])),
    ]
}

/// Whether every one of the lowest bits is seen as 0 and as 1.
fn varies(x: &Vector, bits: u32) -> bool {
    let values = x.convert(Ring::of(bits)).to_u64s();
    let (ever, always) = values.iter().fold((0, u64::MAX), |(ever, always), &x| (ever | x, always & x));
    !values.is_empty() && ever == (1 << bits) - 1 && always == 0
}

fn own_bits_vary(bits: &InsecureBits) -> bool {
    match bits {
        InsecureBits::Elements(shared) => varies(&shared.share, 1),
        InsecureBits::Macs { own, .. } => {
            own.to_bools().chunks(LEN).all(|row| row.contains(&true) && row.contains(&false))
        }
    }
}

#[test]
fn what_is_made_varies_in_every_bit() {
    let mut looked_at = 0;
    for (kind, random) in kinds() {
        let params = Params::new(32, true).unwrap();
        let ends: Vec<Keyed> = made(2, params, &kind, LEN, None)
            .into_iter()
            .map(|(end, _)| end.unwrap_or_else(|e| panic!("{kind}: {e}")))
            .collect();
        for (party, ((_, (vectors, bits)), (of_vectors, of_bits))) in ends.iter().zip(random).enumerate() {
            for &i in of_vectors {
                // Shares of bits are sums of more than bits.
                assert!(varies(&vectors[i].share, 1), "{kind}, vector {i} of party {party}");
            }
            for &i in of_bits {
                assert!(own_bits_vary(&bits[i]), "{kind}, bits {i} of party {party}");
            }
            looked_at += of_vectors.len() + of_bits.len();
        }
        let all = together(&ends, &kind.to_string());
        let width = |i: usize| match kind {
            Kind::DaBit { .. } | Kind::RandomBit { .. } | Kind::Link => 1,
            // Below its top bit, shifted; the top bit.
            Kind::TruncMask { .. } => [5, 3, 1][i],
            _ => 5,
        };
        assert!(all.values.iter().enumerate().all(|(i, x)| varies(x, width(i))), "{kind}: what all have");
        let rows = |x: &Vector| x.to_u64s().chunks(LEN).all(|row| row.contains(&0) && row.contains(&1));
        assert!(all.bits.iter().all(rows), "{kind}: bits that all have");
    }
    assert!(looked_at > 30, "{looked_at}");
}
