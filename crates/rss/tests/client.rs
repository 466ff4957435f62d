//! Tests of inputs by outside clients: packets that all parties accept open to the values; all others are refused.

use std::collections::BTreeSet;

use crate::coalitions::coalitions;
use crate::common::*;
use quorate_engine::Sharing;
use quorate_ring::{Ring, Vector};
use quorate_rss::client::{self, ClientError};

#[test]
fn accepted_packets_open_to_the_values() {
    for n in [3, 5, 7] {
        for (k, len) in [(1, 9), (7, 1), (20, 100), (64, 1000), (33, 0)] {
            let ring = Ring::of(k);
            let values = noise(k.into(), len);
            let packets = client::share(&Vector::from_u64s(ring, &values), n).unwrap();
            for (party, packet) in packets.iter().enumerate() {
                assert_eq!(packet.len(), client::packet_bytes(n, party, ring, len).unwrap());
            }
            let opened = agreed(n, async |rss, ctx| {
                let x = rss.accept(&packets[ctx.me()], (ring, len)).unwrap();
                let sum = rss.add(&x, &share(rss, ctx, ring, &vec![1; len]).await?);
                open(rss, ctx, &sum).await
            });
            let expected: Vec<u64> = values.iter().map(|v| v.wrapping_add(1) & mask(k)).collect();
            assert_eq!(opened, expected, "n {n} k {k}");
        }
    }
}

/// A client sends t + 1 elements, for every n; the rest is seeds.
#[test]
fn a_client_sends_t_plus_one_elements_each() {
    for n in [3, 5, 7] {
        let (ring, t) = (Ring::of(64), (n - 1) / 2);
        let total = |len: usize| (0..n).map(|p| client::packet_bytes(n, p, ring, len).unwrap()).sum::<usize>();
        assert_eq!(total(1000) - total(0), (t + 1) * 8000);
    }
}

#[test]
fn messages_that_are_no_packets_are_refused() {
    let (ring, len) = (Ring::of(20), 10);
    let packets = client::share(&Vector::from_u64s(ring, &noise(1, len)), 3).unwrap();
    let shape = (ring, len);
    for (me, packet) in packets.iter().enumerate() {
        let rss = quorate_rss::Rss::dry(3, me).unwrap();
        for cut in 0..packet.len() {
            let error = rss.accept(&packet[..cut], shape).err().unwrap();
            assert!(matches!(error, ClientError::NotAPacket | ClientError::Length { .. }), "{cut}: {error}");
        }
        let longer = [&packet[..], &[0]].concat();
        assert!(matches!(rss.accept(&longer, shape), Err(ClientError::Length { .. })));
        for byte in 0..16 {
            for bit in 0..8 {
                let mut bent = packet.to_vec();
                bent[byte] ^= 1 << bit;
                assert!(rss.accept(&bent, shape).is_err(), "byte {byte}");
            }
        }
        assert!(matches!(rss.accept(packet, (ring, 11)), Err(ClientError::Shape { .. })));
        assert!(matches!(rss.accept(packet, (Ring::of(21), len)), Err(ClientError::Shape { .. })));
        let other = quorate_rss::Rss::dry(3, (me + 1) % 3).unwrap();
        assert!(matches!(other.accept(packet, shape), Err(ClientError::NotForUs { .. })));
        assert!(rss.accept(packet, shape).is_ok(), "what was refused used nothing up");
        for rss in [rss.beside(), rss] {
            assert!(matches!(rss.accept(packet, shape), Err(ClientError::UsedBefore)));
        }
    }
    assert!(matches!(client::share(&Vector::zeros(ring, 1), 4), Err(ClientError::Parties { .. })));
    assert!(matches!(client::share(&Vector::shape(ring, 1), 3), Err(ClientError::NoValues)));
    assert!(matches!(client::share(&Vector::zeros(Ring::of(66), 1), 3), Err(ClientError::RingBits { .. })));
}

/// Sharing the same values twice repeats no share, no number and no seed.
#[test]
fn every_packet_is_fresh() {
    let value = Vector::from_u64s(Ring::of(64), &[5; 100]);
    let (first, second) = (client::share(&value, 3).unwrap(), client::share(&value, 3).unwrap());
    for (a, b) in first.iter().zip(&second) {
        assert_eq!(a[..16], b[..16]);
        let same = a[16..].iter().zip(&b[16..]).filter(|(a, b)| a == b).count();
        assert!(same < (a.len() - 16) / 8, "{same} bytes of {} are alike", a.len());
    }
}

/// Every share but one is drawn from a seed of its own, and the last one is masked by all of these. So a coalition that
/// lacks one share has no information about it.
#[test]
fn every_share_of_a_packet_is_fresh() {
    const HEADER_BYTES: usize = 32;
    let (ring, len) = (Ring::of(64), 40);
    for n in [3, 5, 7] {
        let (mut seeds, mut elements) = (BTreeSet::new(), Vec::new());
        for _ in 0..2 {
            for (party, packet) in client::share(&Vector::zeros(ring, len), n).unwrap().iter().enumerate() {
                let last = if party >= (n - 1) / 2 { 8 * len } else { 0 };
                let (of_seeds, rest) = packet[HEADER_BYTES..].split_at(packet.len() - HEADER_BYTES - last);
                seeds.extend(of_seeds.chunks_exact(32).map(<[u8]>::to_vec));
                if party + 1 == n {
                    elements.extend(rest.chunks_exact(8).map(<[u8]>::to_vec));
                }
            }
        }
        assert_eq!(seeds.len(), 2 * (coalitions(n).count() - 1), "n {n}");
        let distinct: BTreeSet<&Vec<u8>> = elements.iter().collect();
        assert!(distinct.len() == 2 * len && !distinct.contains(&vec![0; 8]), "n {n}");
    }
}
