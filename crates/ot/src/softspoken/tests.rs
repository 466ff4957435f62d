//! Tests: correlations hold for every field and length, every tampered message is found or harmless, and costs are
//! those of the messages.

use quorate_engine::testing::{Received, Tampered, online, parties};
use quorate_engine::{Costs, Ctx, Error, Party, Phase, Result, dry};
use quorate_ring::Bits;

use super::check;
use crate::cost::{self, Cost};
use crate::source::Sent;
use crate::{Adversary, Blocks, Options, Ot};

/// Every choice of options.
fn all_options() -> impl Iterator<Item = Options> {
    [Adversary::SemiHonest, Adversary::Malicious]
        .into_iter()
        .flat_map(|adversary| (1..=8).map(move |field_bits| Options { field_bits, adversary }))
}

fn delta_if(delta: u128, bit: bool) -> u128 {
    if bit { delta } else { 0 }
}

/// The result of one end of a batch.
#[derive(Clone)]
enum End {
    Sender(u128, Vec<u128>),
    Receiver(Vec<bool>, Vec<u128>),
}

async fn one_batch(ctx: &Ctx, ot: &Ot, len: usize) -> Result<End> {
    if ctx.me() == 0 {
        let q = ot.send_cots(ctx, len).await?;
        return Ok(End::Sender(ot.delta(), q.as_slice().to_vec()));
    }
    let (c, t) = ot.receive_cots(ctx, len).await?;
    Ok(End::Receiver(c.to_bools(), t.as_slice().to_vec()))
}

fn assert_correlated(sender: &End, receiver: &End, len: usize) {
    let (End::Sender(delta, q), End::Receiver(c, t)) = (sender, receiver) else { panic!("the ends are turned") };
    assert_eq!((q.len(), c.len(), t.len()), (len, len, len));
    assert_eq!(delta & 1, 1);
    for i in 0..len {
        assert_eq!(q[i] ^ t[i], delta_if(*delta, c[i]), "OT {i} of {len}");
    }
}

#[test]
fn correlations_hold_for_every_field_and_length() {
    for options in all_options() {
        let ends = online(2, async |ctx| {
            let ot = Ot::setup(ctx, 1 - ctx.me(), options).await?;
            let mut ends = Vec::new();
            for len in [0, 1, 127, 128, 129, 8192, 8192 + 131] {
                ends.push((len, one_batch(ctx, &ot, len).await?));
            }
            Ok(ends)
        });
        let [(senders, _), (receivers, _)]: [_; 2] =
            ends.into_iter().collect::<Result<Vec<_>>>().unwrap().try_into().ok().unwrap();
        for ((len, sender), (_, receiver)) in senders.iter().zip(&receivers) {
            assert_correlated(sender, receiver, *len);
        }
    }
}

#[test]
fn choices_messages_and_correlations_look_random_and_never_repeat() {
    let ends = online(2, async |ctx| {
        let ot = Ot::setup(ctx, 1 - ctx.me(), Options::default()).await?;
        Ok([one_batch(ctx, &ot, 20_000).await?, one_batch(ctx, &ot, 20_000).await?])
    });
    let End::Receiver(c, t) = &ends[1].as_ref().unwrap().0[0] else { panic!() };
    let End::Receiver(d, s) = &ends[1].as_ref().unwrap().0[1] else { panic!() };
    // 20 000 fair bits: 10 000 +- 71; beyond 7 deviations with probability 2^-38.
    let fair = |ones: usize| ones.abs_diff(10_000) < 500;
    assert!(fair(c.iter().filter(|&&bit| bit).count()));
    assert!(fair(c.iter().zip(d).filter(|(a, b)| a != b).count()));
    for j in 0..128 {
        assert!(fair(t.iter().filter(|row| **row >> j & 1 == 1).count()), "column {j}");
        assert!(fair(t.iter().zip(c).filter(|(row, bit)| (**row >> j & 1 == 1) != **bit).count()), "column {j}");
    }
    let mut all: Vec<u128> = t.iter().chain(s).copied().collect();
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn the_receiver_may_choose() {
    for options in [Options::IKNP, Options::default(), Options::MALICIOUS] {
        for len in [1usize, 64, 300] {
            let wanted: Vec<bool> = (0..len).map(|i| i % 3 == 0).collect();
            let choices = Bits::from_bools(1, len, &wanted);
            let blocks = online(2, async |ctx| {
                let ot = Ot::setup(ctx, 1 - ctx.me(), options).await?;
                let blocks = match ctx.me() {
                    0 => ot.send_cots_for(ctx, len).await?,
                    _ => ot.receive_cots_for(ctx, &choices).await?,
                };
                Ok((ot.delta(), blocks.as_slice().to_vec()))
            });
            let [sent, received] = [0, 1].map(|p: usize| blocks[p].as_ref().unwrap().0.clone());
            for (i, (q, t)) in sent.1.iter().zip(&received.1).enumerate() {
                assert_eq!(q ^ t, delta_if(sent.0, wanted[i]));
            }
        }
    }
}

#[test]
fn random_ots_give_the_chosen_message_and_differ() {
    let ends = online(2, async |ctx| {
        let ot = Ot::setup(ctx, 1 - ctx.me(), Options::default()).await?;
        let both = async |ctx: Ctx| ot.send_random(&ctx, 500).await;
        let (sent, received) = ot.both(ctx, both, async |ctx: Ctx| ot.receive_random(&ctx, 500).await).await?;
        let sent = sent.map(|blocks| blocks.as_slice().to_vec());
        Ok((sent, received.0.to_bools(), received.1.as_slice().to_vec()))
    });
    let ends: Vec<_> = ends.into_iter().map(|end| end.unwrap().0).collect();
    for (own, other) in [(0, 1), (1, 0)] {
        let (messages, (_, choices, chosen)) = (&ends[own].0, &ends[other]);
        let mut all: Vec<u128> = messages.iter().flatten().copied().collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]));
        for i in 0..500 {
            assert_eq!(chosen[i], messages[usize::from(choices[i])][i]);
        }
    }
}

fn sent(costs: &Costs) -> (u32, u64) {
    (costs.online.rounds, costs.online.bytes())
}

#[test]
fn costs_are_those_of_the_wire_and_of_a_dry_run() {
    for options in all_options() {
        for (len, given) in [(0usize, false), (1, true), (1000, false), (8192, true), (10_000, true)] {
            let work = async |ctx: &Ctx, ot: &Ot| match (ctx.me(), given) {
                (0, false) => ot.send_cots(ctx, len).await.map(drop),
                (0, true) => ot.send_cots_for(ctx, len).await.map(drop),
                (_, false) => ot.receive_cots(ctx, len).await.map(drop),
                (_, true) => ot.receive_cots_for(ctx, &Bits::zeros(1, len)).await.map(drop),
            };
            let measured = parties(2, |mut party| {
                let peer = 1 - party.me();
                let mut run = party.begin_alone()?;
                let ot = run.phase(Phase::Offline, async |ctx| Ot::setup(ctx, peer, options).await)?;
                run.phase(Phase::Online, async |ctx| work(ctx, &ot).await)?;
                Result::Ok(run.finish())
            });
            let expected = if given { cost::cots_for(options, len) } else { cost::cots(options, len) };
            let Cost { rounds, by_sender, by_receiver } = cost::setup(options);
            for (me, bytes) in [(0, expected.by_sender), (1, expected.by_receiver)] {
                let costs = measured[me].as_ref().unwrap();
                assert_eq!(sent(costs), (expected.rounds, bytes), "{options:?}, {len}, party {me}");
                assert_eq!((costs.offline.rounds, costs.offline.bytes()), (rounds, by_sender));
                assert_eq!(by_sender, by_receiver);
                let ot = Ot::dry(1 - me, options);
                let (_, priced) = dry::run(me, 2, Phase::Online, async |ctx| work(ctx, &ot).await).unwrap();
                assert_eq!(priced.online, costs.online);
                let setup = async |ctx: &Ctx| Ot::setup(ctx, 1 - me, options).await.map(drop);
                let (_, priced) = dry::run(me, 2, Phase::Offline, setup).unwrap();
                assert_eq!(priced.offline, costs.offline);
            }
        }
    }
    // The paper's figures: 128/f - 1 bits.
    assert_eq!(cost::cots(Options::default(), 1024).by_receiver, 1024 * 31 / 8);
    assert_eq!(cost::cots(Options::IKNP, 1024).by_receiver, 1024 * 127 / 8);
}

/// Four tebibytes of corrections would fit no memory.
#[test]
fn a_dry_run_holds_nothing() {
    let len = 1 << 40;
    for options in [Options::IKNP, Options::default(), Options::MALICIOUS] {
        let Cost { rounds, by_sender, by_receiver } = cost::cots(options, len);
        for (me, bytes) in [by_sender, by_receiver].into_iter().enumerate() {
            let ot = Ot::dry(1 - me, options);
            let work = async |ctx: &Ctx| match me {
                0 => ot.send_random(ctx, len).await.map(|blocks| blocks[0].len()),
                _ => ot.receive_random(ctx, len).await.map(|(_, blocks)| blocks.len()),
            };
            let (made, priced) = dry::run(me, 2, Phase::Online, work).unwrap();
            assert_eq!((made, sent(&priced)), (len, (rounds, bytes)), "{options:?}, party {me}");
        }
    }
}

/// Sets up and makes one batch in each direction. Returns the results of this party.
fn session(party: &mut Party, options: Options, tampered: Option<Tampered>) -> Result<[End; 2]> {
    let me = party.me();
    if let Some(tampered) = tampered {
        party.insecure_tamper(tampered);
    }
    let mut run = party.begin_alone()?;
    let ends = run.phase(Phase::Offline, async |ctx| {
        let ot = Ot::setup(ctx, 1 - me, options).await?;
        let send = async |ctx: Ctx| ot.send_cots(&ctx, 200).await;
        let (q, (c, t)) = ot.both(ctx, send, async |ctx: Ctx| ot.receive_cots(&ctx, 200).await).await?;
        let vec = |blocks: &Blocks| blocks.as_slice().to_vec();
        Ok([End::Sender(ot.delta(), vec(&q)), End::Receiver(c.to_bools(), vec(&t))])
    })?;
    run.finish();
    Ok(ends)
}

/// A party that knows the challenge before its corrections are fixed passes the check with any corrections.
#[test]
fn every_batch_has_a_challenge_of_its_own() {
    let received = parties(2, |mut party| {
        party.insecure_record();
        let mut run = party.begin_alone().unwrap();
        let work = async |ctx: &Ctx| {
            let ot = Ot::setup(ctx, 1 - ctx.me(), Options::MALICIOUS).await?;
            for _ in 0..16 {
                one_batch(ctx, &ot, 200).await?;
            }
            Ok(())
        };
        run.phase(Phase::Offline, work).unwrap();
        run.finish();
        party.insecure_transcript()
    });
    let lengths = |messages: &[Received]| messages.iter().map(|message| message.bytes.len()).collect::<Vec<_>>();
    // After the three messages of setup the receiver gets only challenges.
    assert_eq!(lengths(&received[1][3..]), [check::CHALLENGE_BYTES; 16]);
    let points: Vec<&[u8]> = received[1][3..].iter().flat_map(|message| message.bytes.chunks_exact(8)).collect();
    assert!((0..points.len()).all(|i| !points[..i].contains(&points[i])), "a point of the check came twice");
    // 2048 fair bits: 1024 +- 23; beyond 10 deviations never.
    let ones: u32 = points.iter().flat_map(|point| point.iter()).map(|byte| byte.count_ones()).sum();
    assert!(ones.abs_diff(1024) < 230, "{ones} ones of 2048");
}

/// Blocks that batches share are hashed to unrelated messages: no tweak repeats under a key.
#[test]
fn every_batch_is_hashed_under_a_key_of_its_own() {
    let ot = Ot::dry(1, Options::default());
    let blocks = Blocks::new((0..40u128).map(|i| (i << 64) | (5 * i)).collect());
    let sent = |instance| Sent { blocks: blocks.clone(), instance };
    let received = |instance| {
        let choices = Bits::zeros(1, blocks.len());
        crate::source::Received { choices, blocks: blocks.clone(), instance }
    };
    let instances = [0, 1, 2, 1 << 64, u128::MAX];
    let mut seen: Vec<Vec<u128>> = Vec::new();
    let mut note = |blocks: &Blocks, what: &str| {
        assert!(!seen.iter().any(|earlier| earlier == blocks.as_slice()), "{what} came twice");
        seen.push(blocks.as_slice().to_vec());
    };
    instances.iter().for_each(|&instance| note(&ot.pads(sent(instance)).each[0], "pads of a sender"));
    for &instance in &instances {
        let mut own = received(instance);
        ot.hash_received(&mut own);
        // In a dry run both directions have one key, so a receiver that chose 0 has the sender's first pad.
        assert!(own.blocks.as_slice() == ot.pads(sent(instance)).each[0].as_slice());
    }
    let tall = |&instance: &u128| ot.tall_pads(&sent(instance), 70).map(|pads| pads.to_bools());
    let tall: Vec<[Vec<bool>; 2]> = instances.iter().map(tall).collect();
    for (i, pads) in tall.iter().enumerate() {
        assert!(tall[..i].iter().all(|earlier| earlier[0] != pads[0] && earlier[1] != pads[1]), "tall pads");
        assert_eq!(ot.tall_pad(&received(instances[i]), 70).to_bools(), pads[0]);
    }
}

/// Messages that a party sends in a session: 3 of setup; corrections and answer of the batch that it receives, and the
/// challenge of the other.
const MESSAGES: usize = 6;

#[test]
fn every_tampered_message_is_found_or_harmless() {
    let (mut found, mut harmless) = (0, 0);
    for message in 0..MESSAGES {
        for bit in [0usize, 5, 37, 250, 260, 1000, 2047, 2048, 4100, 12_345, 70_001, 98_303] {
            let results = parties(2, |mut party| {
                let tampered = (party.me() == 0).then_some(Tampered::bit(message, bit));
                let ends = session(&mut party, Options::MALICIOUS, tampered);
                (ends, party.insecure_sent())
            });
            let [(ours, sent), (theirs, _)]: [_; 2] = results.try_into().ok().unwrap();
            match (ours, theirs) {
                (Ok(ours), Ok(theirs)) => {
                    assert_eq!(sent, MESSAGES);
                    assert_correlated(&ours[0], &theirs[1], 200);
                    assert_correlated(&theirs[0], &ours[1], 200);
                    harmless += 1;
                }
                (ours, theirs) => {
                    let errors = [ours.err(), theirs.err()];
                    assert!(errors.iter().flatten().any(names_the_fault), "message {message}, bit {bit}: {errors:?}");
                    let refused = |error: &Error| matches!(error, Error::Mismatch(_) | Error::Aborted { .. });
                    let over = |error: &Error| error.is_final() || message == 0 && refused(error);
                    assert!(errors.iter().flatten().all(over), "{errors:?}");
                    found += 1;
                }
            }
        }
    }
    // Harmless are flips of sums that the peer does not use, and of corrections for a tree with alpha = 0.
    assert!(found > 50 && harmless > 0 && found + harmless == 12 * MESSAGES, "{found} found, {harmless} harmless");
}

fn names_the_fault(error: &Error) -> bool {
    use crate::{softspoken::check, tree};
    matches!(error, Error::Cheating { check } if [check::CHECK, tree::CHECK].contains(check))
        || matches!(error, Error::Malformed { .. } | Error::Mismatch(_))
}

/// Without the check the trees still bind the base OTs: a broken setup never gives wrong correlations.
#[test]
fn a_broken_setup_is_found_in_either_mode() {
    for message in 0..3 {
        for bit in [0, 255, 256, 4096, 40_000] {
            let results = parties(2, |mut party| {
                let tampered = (party.me() == 1).then_some(Tampered::bit(message, bit));
                session(&mut party, Options::default(), tampered)
            });
            if let [Ok(ours), Ok(theirs)] = &results[..] {
                assert_correlated(&ours[0], &theirs[1], 200);
                assert_correlated(&theirs[0], &ours[1], 200);
                assert_eq!(message, 2, "a flip in a message of every bit of which the keys depend");
            }
        }
    }
}

#[test]
fn other_options_are_an_error_that_says_so() {
    let errors = online(2, async |ctx| {
        let options = [Options::default(), Options::MALICIOUS][ctx.me()];
        Ot::setup(ctx, 1 - ctx.me(), options).await.map(drop)
    });
    let texts: Vec<String> = errors.iter().map(|error| error.as_ref().unwrap_err().to_string()).collect();
    let said = "party 1 chose OT extension over 2^4, malicious, this party OT extension over 2^4, semi-honest";
    let other = "party 0 chose OT extension over 2^4, semi-honest, this party OT extension over 2^4, malicious";
    assert!(texts.iter().any(|text| text.contains(said) || text.contains(other)), "{texts:?}");
    let bad = Options { field_bits: 9, ..Options::default() };
    let errors = online(2, async |ctx| Ot::setup(ctx, 1 - ctx.me(), bad).await.map(drop));
    assert!(errors.iter().any(|error| matches!(error, Err(Error::Misuse { .. }))));
}

#[test]
fn every_pair_of_more_parties() {
    let results = online(3, async |ctx| {
        let pairs = [(0, 1), (1, 2), (2, 0)];
        let setup = async |ctx: Ctx, i: usize| {
            let peer = match pairs[i] {
                (from, to) if from == ctx.me() => to,
                (from, to) if to == ctx.me() => from,
                _ => return Ok(None),
            };
            Ot::setup(&ctx, peer, Options::default()).await.map(Some)
        };
        let ots = ctx.join_all(pairs.len(), setup).await?;
        let mut ends = Vec::new();
        for ((from, to), ot) in pairs.into_iter().zip(&ots) {
            let end = match ctx.me() {
                me if me == from => {
                    let ot = ot.as_ref().unwrap();
                    let q = ot.send_cots(ctx, 100).await?;
                    Some(End::Sender(ot.delta(), q.as_slice().to_vec()))
                }
                me if me == to => {
                    let (c, t) = ot.as_ref().unwrap().receive_cots(ctx, 100).await?;
                    Some(End::Receiver(c.to_bools(), t.as_slice().to_vec()))
                }
                _ => {
                    ctx.next_use();
                    None
                }
            };
            ends.push(end);
        }
        Ok(ends)
    });
    let ends: Vec<_> = results.into_iter().map(|result| result.unwrap().0).collect();
    for (i, (from, to)) in [(0, 1), (1, 2), (2, 0)].into_iter().enumerate() {
        assert_correlated(ends[from][i].as_ref().unwrap(), ends[to][i].as_ref().unwrap(), 100);
    }
}
