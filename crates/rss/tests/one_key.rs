//! Tests of the masks of one key, where all other keys give zeros: they are visible on the wire, and all of them are
//! fresh.

use std::collections::BTreeSet;

use crate::coalitions::{coalitions, sent_by};
use crate::common::*;
use quorate_crypto::{Seed, Tape};
use quorate_engine::testing::parties;
use quorate_engine::{Ctx, Form, Phase, Result, Sharing};
use quorate_ring::{Bits, Ring, Vector};
use quorate_rss::Rss;

/// The number of elements of a long batch: several parts of 8 KiB.
const LEN: usize = 2500;

/// Runs `work` at all parties with the real key of one set and zeros for every other; returns each party's messages.
fn sent_under<T: Send>(n: usize, key: u8, work: impl AsyncFn(&Rss, &Ctx) -> Result<T> + Sync) -> Vec<Vec<Vec<u8>>> {
    let transcripts = parties(n, |mut party| {
        let zeros = || Seed::insecure_with_tape([0; 32], Tape::new(Vec::new()));
        let seed_of = |set: u8| if set == key { Seed::from_bytes([set; 32]) } else { zeros() };
        let rss = Rss::with_seeds(session(), (n, party.me()), seed_of, zeros()).unwrap();
        party.insecure_record();
        let mut run = party.begin_alone().unwrap();
        run.phase(Phase::Online, async |ctx| work(&rss, ctx).await).unwrap();
        run.finish();
        let transcript = party.insecure_transcript();
        party.leave(false);
        transcript
    });
    let from = |sender: usize| {
        let heard: Vec<Vec<Vec<u8>>> = transcripts
            .iter()
            .map(|all| all.iter().filter(|m| m.from == sender).map(|m| m.bytes.clone()).collect::<Vec<_>>())
            .filter(|messages| !messages.is_empty())
            .collect();
        // All receivers of a party get the same messages; those of lanes that run side by side may arrive in another
        // order.
        let sorted = |messages: &Vec<Vec<u8>>| messages.iter().cloned().collect::<BTreeSet<Vec<u8>>>();
        assert!(heard.iter().all(|each| sorted(each) == sorted(&heard[0])), "party {sender} tells all the same");
        heard.into_iter().next().unwrap()
    };
    (0..n).map(from).collect()
}

/// Runs a protocol on zeros under every key in turn. Every party that holds the key and sends another share masks its
/// first message by fresh elements of that key. All other parties send zeros in it.
fn every_key_masks<T: Send>(what: &str, work: impl AsyncFn(&Rss, &Ctx) -> Result<T> + Sync) {
    every_key_of_these_masks(&[3, 5, 7], what, work);
}

/// As [`every_key_masks`], for these numbers of parties.
fn every_key_of_these_masks<T: Send>(
    numbers: &[usize],
    what: &str,
    work: impl AsyncFn(&Rss, &Ctx) -> Result<T> + Sync,
) {
    for &n in numbers {
        let (mut keys, mut words_seen) = (0, 0);
        for key in coalitions(n) {
            let mut words: Vec<u64> = Vec::new();
            for (party, messages) in sent_under(n, key, &work).into_iter().enumerate() {
                let bytes = &messages[0];
                assert!(!bytes.is_empty(), "{what}: party {party} of {n} sends nothing");
                if key >> party & 1 == 1 || sent_by(n, party) == key {
                    assert!(bytes.iter().all(|&byte| byte == 0), "{what}: party {party} of {n} lacks key {key:b}");
                    continue;
                }
                words.extend(bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())));
            }
            let distinct: BTreeSet<u64> = words.iter().copied().collect();
            assert!(!distinct.contains(&0), "{what}: something is not masked, n {n}, key {key:b}");
            assert_eq!(distinct.len(), words.len(), "{what}: a mask came twice, n {n}, key {key:b}");
            (keys, words_seen) = (keys + 1, words_seen + words.len());
        }
        assert!(
            keys == coalitions(n).count() && words_seen > 100 * keys,
            "{what}: {words_seen} words under {keys} keys"
        );
    }
}

const RING: Ring = Ring::of(64);

fn zeros(rss: &Rss, len: usize) -> A {
    rss.public(&Vector::zeros(RING, len))
}

#[test]
fn products_are_masked() {
    every_key_masks("a product", async |rss, ctx| rss.mul(ctx, &zeros(rss, LEN), &zeros(rss, LEN)).await);
}

#[test]
fn products_of_bits_are_masked() {
    every_key_masks("an AND", async |rss, ctx| {
        let zeros = rss.public_bits(&Bits::zeros(3, 64 * 700));
        rss.and(ctx, &zeros, &zeros).await
    });
}

#[test]
fn sums_of_products_are_masked() {
    let (dot, matrix) = (Form::Dot { outer: 10, axis: 3, inner: 20 }, Form::MatMul { m: 10, k: 3, n: 20 });
    every_key_masks("a dot product", async |rss, ctx| rss.bilinear(ctx, dot, &zeros(rss, 600), &zeros(rss, 600)).await);
    every_key_masks("a matrix product", async |rss, ctx| {
        rss.bilinear(ctx, matrix, &zeros(rss, 30), &zeros(rss, 60)).await
    });
}

/// Only the first pass: in later ones, parties send what they know of the masks before.
#[test]
fn passes_of_a_shuffle_are_masked() {
    every_key_of_these_masks(&[5, 7], "a shuffle", async |rss, ctx| rss.shuffle(ctx, &[&zeros(rss, 200)], 20).await);
}

/// Whatever a party receives in a shuffle of three is masked afresh by the key that it lacks.
#[test]
fn messages_of_a_shuffle_of_three_are_masked() {
    let words = |bytes: &Vec<u8>| bytes.chunks_exact(8).map(<[u8]>::to_vec).collect::<Vec<_>>();
    for (receiver, messages) in [(1, [(0, 0), (2, 0)]), (2, [(1, 0), (1, 1)])] {
        let shuffled = async |rss: &Rss, ctx: &Ctx| {
            let [x, y] = [0, 1].map(|_| zeros(rss, 200));
            rss.shuffle(ctx, &[&x, &y], 20).await
        };
        let sent = sent_under(3, 1 << receiver, shuffled);
        // Two columns are side by side: each message is there once for each of them.
        let all: Vec<Vec<u8>> = messages
            .iter()
            .flat_map(|&(from, i)| [2 * i, 2 * i + 1].map(|at| words(&sent[from][at])))
            .flatten()
            .collect();
        let distinct: BTreeSet<&Vec<u8>> = all.iter().collect();
        assert_eq!((all.len(), distinct.len()), (800, 800), "party {receiver}: a mask came twice");
        assert!(!distinct.contains(&vec![0; 8]), "party {receiver}: something is not masked");
    }
    let sent = sent_under(3, 1, async |rss, ctx| rss.shuffle(ctx, &[&zeros(rss, 200)], 20).await);
    assert!(sent.iter().flatten().flatten().all(|&byte| byte == 0), "the key of parties 1 and 2 masks nothing");
}

/// Only long vectors are sent in chunks: one key of three parties and one of five.
#[test]
fn chunks_of_a_long_product_are_masked() {
    let mut looked_at = 0;
    for (n, key) in [(3, 0b100), (5, 0b01010)] {
        let len = 200_000;
        let (dot, x) = (Form::Dot { outer: len, axis: 1, inner: 1 }, |rss: &Rss| zeros(rss, len));
        let products = sent_under(n, key, async |rss, ctx| rss.mul(ctx, &x(rss), &x(rss)).await);
        let sums = sent_under(n, key, async |rss, ctx| rss.bilinear(ctx, dot, &x(rss), &x(rss)).await);
        for messages in [products, sums] {
            assert!(messages.iter().any(|messages| messages.len() > 1), "it goes in one chunk");
            let senders = messages.iter().enumerate().filter(|(p, _)| key >> p & 1 == 0 && sent_by(n, *p) != key);
            let bytes = senders.flat_map(|(_, messages)| messages.concat()).collect::<Vec<u8>>();
            let words: Vec<u64> = bytes.chunks_exact(8).map(|w| u64::from_le_bytes(w.try_into().unwrap())).collect();
            let distinct: BTreeSet<u64> = words.iter().copied().collect();
            assert!(!distinct.contains(&0) && distinct.len() == words.len() && words.len() >= len, "n {n}");
            looked_at += 1;
        }
    }
    assert_eq!(looked_at, 4);
}
