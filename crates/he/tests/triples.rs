//! Triples, compared with their definition, measured costs, compared with the stated ones and a dry run, and hostile
//! peers.

use quorate_crypto::Seed;
use quorate_engine::testing::{Tampered, parties};
use quorate_engine::{Costs, Ctx, Error, Mismatch, Misuse, Phase, Result, dry};
use quorate_ring::Ring;

use quorate_he::cost::{self, Cost};
use quorate_he::{He, Level, Options, Scheme, Triples};

const TINY: [Options; 2] = [
    Options { scheme: Scheme::Paillier, level: Level::insecure(512, 0) },
    Options { scheme: Scheme::Dgk, level: Level::insecure(256, 40) },
];

fn seed(party: usize) -> Seed {
    Seed::from_bytes([party as u8 + 1; 32])
}

/// Runs `work` at both parties after a setup. Compares the costs of both with the stated ones and with a dry run.
fn run<T: Send>(options: Options, expected: Cost, work: impl AsyncFn(&Ctx, &He) -> Result<T> + Sync) -> [T; 2] {
    let results: Vec<Result<(T, Costs)>> = parties(2, |mut party| {
        let me = party.me();
        let mut run = party.begin_alone()?;
        let he = run.phase(Phase::Offline, async |ctx| He::setup_from(ctx, 1 - me, options, &seed(me)).await)?;
        let result = run.phase(Phase::Online, async |ctx| work(ctx, &he).await)?;
        Ok((result, run.finish()))
    });
    let start = cost::setup(options);
    let mut outputs = Vec::new();
    for (me, result) in results.into_iter().enumerate() {
        let (output, costs) = result.unwrap();
        assert_eq!((costs.offline.rounds, costs.offline.bytes()), (start.rounds, start.bytes[me]), "setup of {me}");
        assert_eq!((costs.online.rounds, costs.online.bytes()), (expected.rounds, expected.bytes[me]), "party {me}");
        let (_, priced) = dry::run(me, 2, Phase::Offline, async |ctx| He::setup(ctx, 1 - me, options).await).unwrap();
        assert_eq!(priced.offline, costs.offline, "a dry setup of party {me}");
        let he = He::dry(1 - me, options);
        let (_, priced) = dry::run(me, 2, Phase::Online, async |ctx| work(ctx, &he).await).unwrap();
        assert_eq!(priced.online, costs.online, "a dry run of party {me}");
        outputs.push(output);
    }
    outputs.try_into().ok().unwrap()
}

fn check(ring: Ring, [x, y]: &[Triples; 2]) {
    let sum = |x: &quorate_ring::Vector, y: &quorate_ring::Vector| {
        let mut sum = x.clone();
        sum.add_assign(y);
        sum
    };
    let (mut product, b, c) = (sum(&x.a, &y.a), sum(&x.b, &y.b), sum(&x.c, &y.c));
    product.mul_assign(&b);
    assert_eq!(product.to_u64s(), c.to_u64s(), "{ring:?}");
    for share in [&x.a, &x.b, &x.c, &y.a, &y.b, &y.c] {
        let words = share.to_u64s();
        let all = words.iter().fold(0, |all, word| all | word);
        assert!(words.len() < 40 || u128::from(all) == ring.mask(), "a share that does not use its whole ring");
    }
}

#[test]
fn triples_are_triples_over_every_ring() {
    for options in TINY {
        for k in [1, 2, 7, 8, 13, 16, 31, 32, 33, 63, 64] {
            let ring = Ring::of(k);
            check(
                ring,
                &run(options, cost::triples(options, ring, 45), async |ctx, he| he.triples(ctx, ring, 45).await),
            );
        }
    }
}

#[test]
fn rows_of_any_length_come_in_chunks() {
    for options in TINY {
        for len in [0, 1, 2, 3, 131, 300] {
            let ring = Ring::of(32);
            check(
                ring,
                &run(options, cost::triples(options, ring, len), async |ctx, he| he.triples(ctx, ring, len).await),
            );
        }
    }
}

#[test]
fn threads_change_nothing() {
    let made = |threads| {
        let results = parties(2, |mut party| {
            quorate_ring::threads::set_threads(threads).unwrap();
            let me = party.me();
            let mut run = party.begin_alone()?;
            let made = run.phase(Phase::Online, async |ctx| {
                let he = He::setup_from(ctx, 1 - me, TINY[1], &seed(me)).await?;
                he.triples(ctx, Ring::of(16), 50).await
            })?;
            run.finish();
            Ok(made)
        });
        results.into_iter().map(|made: Result<Triples>| made.unwrap().c.to_u64s()).collect::<Vec<_>>()
    };
    assert_eq!(made(1), made(3));
}

/// Returns the error of the party that detected it, rather than that of the party that was informed.
fn own_error<T>(results: Vec<Result<T>>) -> Error {
    let errors = results.into_iter().filter_map(Result::err);
    errors.into_iter().find(|error| !matches!(error, Error::Aborted { .. })).unwrap()
}

#[test]
fn larger_rings_and_impossible_keys_are_refused() {
    let refused = |options, ring| {
        let results = parties(2, |mut party| {
            let me = party.me();
            let mut run = party.begin_alone()?;
            run.phase(Phase::Online, async |ctx| {
                let he = He::setup(ctx, 1 - me, options).await?;
                he.triples(ctx, ring, 1).await.map(drop)
            })
        });
        own_error(results)
    };
    let error = refused(TINY[0], Ring::of(65));
    assert!(matches!(error, Error::Misuse { what: Misuse::RingBits { bits: 65 } }), "{error}");
    let error = refused(Options { scheme: Scheme::Dgk, level: Level::insecure(128, 40) }, Ring::of(8));
    assert!(error.to_string().contains("cannot be made"), "{error}");
}

#[test]
fn options_must_be_alike() {
    let results = parties(2, |mut party| {
        let me = party.me();
        let mut run = party.begin_alone()?;
        run.phase(Phase::Online, async |ctx| He::setup(ctx, 1 - me, TINY[me]).await.map(drop))
    });
    let error = own_error(results);
    assert!(matches!(error, Error::Mismatch(Mismatch::Options { .. })), "{error}");
    assert!(error.to_string().contains("DGK with a modulus of 256 bits"), "{error}");
}

/// Makes two triples at both parties; one bit of a message of party 1 may be flipped.
fn with_turned_bit(options: Options, tampered: Option<Tampered>) -> Vec<Result<Triples>> {
    parties(2, |mut party| {
        let me = party.me();
        if let (1, Some(tampered)) = (me, tampered) {
            party.insecure_tamper(tampered);
        }
        let mut run = party.begin_alone()?;
        let made = run.phase(Phase::Online, async |ctx| {
            let he = He::setup_from(ctx, 1 - me, options, &seed(me)).await?;
            he.triples(ctx, Ring::of(32), 2).await
        })?;
        run.finish();
        Ok(made)
    })
}

/// The messages are: options, the key, two encrypted factors, an answer.
#[test]
fn a_turned_bit_ends_in_an_error_that_says_what_was_wrong() {
    for options in TINY {
        let made: Result<Vec<Triples>> = with_turned_bit(options, None).into_iter().collect();
        check(Ring::of(32), &made.unwrap().try_into().ok().unwrap());
        let said = |message, bit| own_error(with_turned_bit(options, Some(Tampered::bit(message, bit)))).to_string();
        for (message, bit, expected) in [
            (0, 9, "options"),
            (1, 7, "a public key whose modulus is even or of a wrong size"),
            (1, 8 * (options.level.modulus_bits() as usize / 8 - 1), "a public key whose modulus is even"),
        ] {
            let said = said(message, bit);
            assert!(
                said.contains(expected) || (message >= 2 && said.contains("an answer")),
                "{message}, {bit}: {said}"
            );
        }
        for bit in [0, 7, 100, 200] {
            for message in [2, 3] {
                let said = said(message, bit);
                assert!(said.contains("an answer") || said.contains("a ciphertext"), "{message}, {bit}: {said}");
            }
        }
    }
}

/// Runs the protocol at party 0 against party 1, which sends these messages, whatever it receives.
fn against(options: Options, messages: &[Vec<u8>]) -> Error {
    let results = parties(2, |mut party| {
        let me = party.me();
        let mut run = party.begin_alone()?;
        run.phase(Phase::Online, async |ctx| match me {
            0 => He::setup_from(ctx, 1, options, &seed(0)).await.map(drop),
            _ => {
                for message in messages {
                    ctx.exchange_bytes(&[(0, message)], &[]).await?;
                }
                Ok(())
            }
        })?;
        run.finish();
        Ok(())
    });
    results.into_iter().next().unwrap().unwrap_err()
}

#[test]
fn messages_of_any_other_length_are_refused() {
    for options in TINY {
        let own = [options.scheme as u8, 0, 2 >> (options.scheme as u8), 40 * options.scheme as u8, 0];
        let key = 3 * options.level.modulus_bits() as usize / 8;
        for messages in [
            vec![vec![]],
            vec![vec![0; 4]],
            vec![vec![0; 6]],
            vec![own.to_vec(), vec![]],
            vec![own.to_vec(), vec![7; key - 1]],
            vec![own.to_vec(), vec![7; key + 1]],
            vec![own.to_vec(), vec![7; 1 << 16]],
        ] {
            let error = against(options, &messages);
            assert!(matches!(error, Error::Malformed { peer: 1, .. }), "{error}");
        }
    }
}
