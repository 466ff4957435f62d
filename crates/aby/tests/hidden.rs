//! Tests that the messages to a party are independent of the other party's secrets, gadget by gadget and correlation by
//! correlation. Over thousands of random secrets, no bit of a message is correlated with an xor of secret bits. In
//! gadgets, neither is the xor of two bits, nor the xor of one with a bit that the party has itself. Tests by
//! exhaustion (`privacy`) prove more, about online protocols with ideal correlations. Here parties make the
//! correlations, and the messages of that are tested, too.

use std::collections::BTreeSet;

use crate::common::*;
use quorate_aby::{Aby, Kind, Share, Table};
use quorate_crypto::Seed;
use quorate_engine::testing::{Column, Received, columns, parties, tells};
use quorate_engine::{Ctx, Phase, Result, Sharing};
use quorate_gadgets::Garbles;
use quorate_gadgets::testing::secrets::{Gadget, RING, Secrets};
use quorate_ring::{Bits, Conv, Ring, Vector};

/// Each party sends tables in one half of the lanes.
const LANES: usize = 1024;
const LEN: usize = 2 * LANES;

/// The largest number of columns whose sums of two are compared with secrets.
const MOST_PAIRED: usize = 128;
/// The largest number of columns of messages that are compared while correlations are made.
const MOST_BESIDE: usize = 1000;

/// Sets up a party whose coins are the same in every run of the test.
async fn set_up(ctx: &Ctx) -> Result<Aby> {
    Aby::setup_from(ctx, &Seed::from_bytes([40 + ctx.me() as u8; 32])).await
}

/// Returns a row of bits as a column.
fn column(bits: &Bits, row: usize, lanes: std::ops::Range<usize>) -> Column {
    bits.words_of(row)[lanes.start / 64..lanes.end / 64].to_vec()
}

fn columns_of(heard: &[Received], lanes: usize) -> Vec<Column> {
    heard.iter().flat_map(|message| columns(&message.bytes, lanes, &[1, 2, 4])).collect()
}

/// The work under test: a gadget, or labels of the secrets and a circuit on them.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Work {
    Gadget(Gadget),
    ElementLabels,
    BitLabels,
    /// Labels of bits that this party knows.
    InputLabels(usize),
}

impl Work {
    fn all() -> Vec<Work> {
        let labels = [Work::ElementLabels, Work::BitLabels, Work::InputLabels(0), Work::InputLabels(1)];
        Gadget::ALL.map(Work::Gadget).into_iter().chain(labels).collect()
    }

    fn uses(self) -> [bool; 3] {
        match self {
            Work::Gadget(gadget) => gadget.uses(),
            Work::ElementLabels => [true, false, false],
            Work::BitLabels | Work::InputLabels(_) => [false, false, true],
        }
    }

    async fn run(self, aby: &Aby, ctx: &Ctx, secrets: &Secrets<Aby>) -> Result<()> {
        let bits = &secrets.bits;
        match self {
            Work::Gadget(gadget) => gadget.run(aby, ctx, secrets).await,
            Work::ElementLabels => aby.ring_to_labels(ctx, &secrets.x).await.map(drop),
            Work::BitLabels => aby.bits_to_labels(ctx, bits).await.map(drop),
            Work::InputLabels(owner) => {
                let own = (ctx.me() == owner).then(|| &**bits);
                aby.input_labels(ctx, owner, aby.bit_shape(bits), own).await.map(drop)
            }
        }
    }
}

/// Returns secrets of the other party alone: the viewer's shares are zeros.
fn secrets(mine: bool) -> Secrets<Aby> {
    let numbers = |name: u64| match mine {
        true => Vector::from_u64s(RING, &noise(name, LEN)),
        false => Vector::zeros(RING, LEN),
    };
    let [x, y, bits] = [1, 2, 3].map(numbers);
    Secrets { x: Share::of(x), y: Share::of(y), bits: Share::of(bits.to_bits(0..RING.bits())) }
}

#[test]
fn gadgets() {
    let mut looked_at = 0;
    for viewer in 0..2 {
        for work in Work::all() {
            let heard = parties(2, |mut party| {
                let me = party.me();
                let held = secrets(me != viewer);
                let dry = Secrets::<Aby> {
                    x: Share::of(Vector::shape(RING, LEN)),
                    y: Share::of(Vector::shape(RING, LEN)),
                    bits: Share::of(Bits::shape(RING.bits() as usize, LEN)),
                };
                let (demand, _) = dry_online(me, &async |aby: &Aby, ctx: &Ctx| work.run(aby, ctx, &dry).await);
                let mut run = party.begin_alone().unwrap();
                let aby = run.phase(Phase::Offline, set_up).unwrap();
                run.finish();
                party.insecure_record();
                let mut run = party.begin_alone().unwrap();
                run.phase(Phase::Offline, async |ctx| aby.make_all(ctx, demand.clone()).await).unwrap();
                run.finish();
                let offline = party.insecure_transcript();
                let mut run = party.begin_alone().unwrap();
                run.phase(Phase::Online, async |ctx| work.run(&aby, ctx, &held).await).unwrap();
                run.finish();
                let online = party.insecure_transcript();
                party.leave(false);
                [offline, online]
            });
            let [offline, online] = [0, 1].map(|phase| columns_of(&heard[viewer][phase], LANES));
            let Secrets { x, y, bits } = secrets(true);
            let [x, y] = [x, y].map(|x| x.to_bits(0..RING.bits()));
            let all = [x, y, Bits::clone(&bits)];
            let mut told = false;
            for (bits, _) in all.iter().zip(work.uses()).filter(|(_, used)| *used) {
                for half in [0..LANES, LANES..LEN] {
                    let hidden: Vec<Column> = (0..bits.rows()).map(|row| column(bits, row, half.clone())).collect();
                    let beside = if online.len() <= MOST_PAIRED { &*online } else { &[] };
                    told |= tells(&online, beside, &hidden) || tells(&offline, &[], &hidden);
                }
            }
            assert_eq!(told, work == Work::Gadget(Gadget::Open), "{work:?}: party {viewer} learns something");
            looked_at += online.len();
            println!("{work:?}, party {viewer}: {} and {} columns", online.len(), offline.len());
        }
    }
    assert!(looked_at > 300, "{looked_at}");
}

/// A kind of correlations, with the indices of the other party's vectors and matrices of bits that must stay hidden
/// from the viewer.
type Hidden = (Kind, &'static [usize], &'static [usize]);

/// Returns the kinds, with their hidden values for this viewer.
fn kinds(viewer: usize) -> Vec<Hidden> {
    let mut kinds: Vec<Hidden> = vec![
        (Kind::Triple { bits: 5 }, &[0, 1], &[]),
        (Kind::Triple { bits: 70 }, &[0, 1], &[]),
        (Kind::BitTriple, &[], &[0, 1]),
        (Kind::BitPair, &[], &[0, 1]),
        (Kind::BitProduct { bits: 5 }, &[], &[0]),
        (Kind::Selection { bits: 5 }, &[1], &[0]),
        (Kind::Tables { table: Table::Equal { bits: 4 }, sender: viewer }, &[], &[0]),
        (Kind::Tables { table: Table::Equal { bits: 4 }, sender: 1 - viewer }, &[], &[0]),
        (Kind::Lookup { place_bits: 3, bits: 5 }, &[0], &[]),
        (Kind::Point { place_bits: 9 }, &[0], &[]),
    ];
    if viewer == 0 {
        kinds.push((Kind::InputLabel, &[], &[0]));
    }
    kinds
}

/// Returns for each party the messages that it received while `kind` was made, and its vectors and matrices of bits.
fn made(kind: &Kind, len: usize) -> Vec<(Vec<Received>, Vec<Vector>, Vec<Bits>)> {
    parties(2, |mut party| {
        let mut run = party.begin_alone().unwrap();
        let aby = run.phase(Phase::Offline, set_up).unwrap();
        run.finish();
        party.insecure_record();
        let mut run = party.begin_alone().unwrap();
        let made = run.phase(Phase::Offline, async |ctx| aby.make(ctx, kind, len).await).unwrap();
        run.finish();
        let transcript = party.insecure_transcript();
        party.leave(false);
        let vectors = made.vectors.iter().map(|vector| Vector::clone(vector)).collect();
        (transcript, vectors, made.bits.iter().map(|bits| Bits::clone(bits)).collect())
    })
}

/// Tests the four lowest bits of each element.
#[test]
fn correlations() {
    let mut looked_at = 0;
    for viewer in 0..2 {
        for (kind, vectors, matrices) in kinds(viewer) {
            let all = made(&kind, LANES);
            let low_rows = |bits: &Bits| -> Vec<Column> {
                (0..bits.rows().min(4)).map(|row| column(bits, row, 0..LANES)).collect()
            };
            let of_vector = |vector: &Vector| low_rows(&vector.to_bits(0..vector.ring().bits().min(4)));
            let (heard, own_vectors, own_bits) = &all[viewer];
            let seen = columns_of(heard, LANES);
            let own: Vec<Column> = own_vectors
                .iter()
                .filter(|vector| vector.len() == LANES)
                .flat_map(of_vector)
                .chain(own_bits.iter().flat_map(low_rows))
                .collect();
            let (_, hidden_vectors, hidden_bits) = &all[1 - viewer];
            let hidden = vectors.iter().map(|&i| of_vector(&hidden_vectors[i]));
            let hidden: Vec<Vec<Column>> = hidden.chain(matrices.iter().map(|&i| low_rows(&hidden_bits[i]))).collect();
            assert!(!hidden.is_empty());
            let beside = if seen.len() <= MOST_BESIDE { &*own } else { &[] };
            for hidden in &hidden {
                assert!(!tells(&seen, beside, hidden), "{kind}: what party {viewer} hears tells something");
                assert!(!tells(&own, &[], hidden), "{kind}: what party {viewer} has tells something");
                looked_at += seen.len();
            }
            println!("{kind}, party {viewer}: {} columns beside {}", seen.len(), own.len());
        }
    }
    assert!(looked_at > 1000, "{looked_at}");
}

/// For correlations of many elements: no word of 64 bits that one party holds, nor a difference of two, is among the
/// words that the other party receives.
#[test]
fn no_word_is_sent_as_it_is() {
    let kinds: [(Kind, [&[usize]; 2]); 4] = [
        (Kind::MatrixTriple { bits: 64, m: 3, k: 2, n: 5 }, [&[0, 1]; 2]),
        (Kind::MatrixTriple { bits: 64, m: 5, k: 2, n: 3 }, [&[0, 1]; 2]),
        (Kind::ConvTriple { bits: 64, conv: Conv::plain([4, 4], [2, 2]) }, [&[0, 1]; 2]),
        (Kind::Permutation { rows: 6, columns: vec![(64, 1), (64, 2)], mover: 0 }, [&[], &[0, 1, 2, 3]]),
    ];
    for (kind, of_parties) in kinds {
        let all = made(&kind, 1);
        for (me, held) in of_parties.iter().enumerate() {
            let words: Vec<u64> = held.iter().flat_map(|&i| all[me].1[i].to_u64s()).collect();
            let differences = words.iter().flat_map(|a| words.iter().map(|b| a.wrapping_sub(*b)));
            let told: BTreeSet<u64> = differences.chain(words.iter().copied()).filter(|&word| word != 0).collect();
            let heard = all[1 - me].0.iter().flat_map(|message| message.bytes.as_chunks::<8>().0);
            let heard: BTreeSet<u64> = heard.map(|bytes| u64::from_le_bytes(*bytes)).collect();
            assert!(heard.is_disjoint(&told), "{kind}: party {me} sends what it has");
            assert!(held.is_empty() || told.len() > 10 && heard.len() > 10, "{kind}: party {me}");
        }
    }
}

/// Sessions and parties have different seeds, so no two inputs of the same value have the same shares.
#[test]
fn seeds_of_sessions_are_fresh() {
    let mut shares = BTreeSet::new();
    for _ in 0..2 {
        for (share, _) in run(async |aby, ctx| {
            let ring = Ring::of(64);
            let zero = (ctx.me() == 0).then(|| Vector::zeros(ring, 20));
            aby.input(ctx, 0, (ring, 20), zero.as_ref()).await
        }) {
            shares.extend(share.to_u64s());
        }
    }
    assert!(shares.len() == 4 * 20 && !shares.contains(&0), "{}", shares.len());
}

/// The parties' own draws differ from lane to lane, and from party to party.
#[test]
fn random_numbers_have_a_part_of_each_party() {
    const COUNT: usize = 64; // a coin falls on one side so often with probability 2^-63
    let ring = Ring::of(5);
    let shares = run(async |aby, ctx| {
        let bits = aby.random_bits(ctx, Ring::of(1), COUNT).await?;
        let edabits = aby.edabits(ctx, ring, None, COUNT).await?;
        let wide = aby.wide_edabits(ctx, ring, Ring::of(9), COUNT).await?;
        let masks = aby.trunc_masks(ctx, ring, 2, COUNT).await?;
        let rows = [&edabits.bits, &wide.bits].map(|bits| Bits::clone(bits));
        let values = [&bits, &edabits.value, &masks.value].map(|value| Vector::clone(value));
        Ok((values, rows))
    });
    for (party, ((values, rows), _)) in shares.iter().enumerate() {
        for (i, value) in values.iter().enumerate() {
            let all = value.to_bits(0..value.ring().bits());
            for row in all.to_bools().chunks(COUNT) {
                assert!(row.contains(&true) && row.contains(&false), "value {i} of party {party}");
            }
        }
        for (i, rows) in rows.iter().enumerate() {
            let constant = rows.to_bools().chunks(COUNT).filter(|row| row.iter().all(|bit| *bit == row[0])).count();
            assert_eq!(constant, 0, "bits {i} of party {party}");
        }
    }
    let same = shares[0].0.0.iter().zip(&shares[1].0.0).filter(|(a, b)| a.to_u64s() == b.to_u64s()).count();
    assert_eq!(same, 0, "both parties have the same numbers");
}
