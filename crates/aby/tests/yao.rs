//! Yao's sharing: labels of values of any owner, conversions, garbled circuits.

use crate::common::*;
use quorate_aby::{Aby, YaoLabels};
use quorate_circuits::{Circuit, Direction, Extreme, Goal, Order, Program, Sign, catalog, from_rows, to_rows};
use quorate_engine::testing::{Tampered, parties};
use quorate_engine::{Ctx, Error, Opened, Phase, Result, Sharing};
use quorate_gadgets::{Gadgets, Garbles, Labels};
use quorate_ring::{Bits, Ring, Vector};

const ORDER: Order = Order::Runs(16);

async fn open_labels(aby: &Aby, ctx: &Ctx, labels: &YaoLabels) -> Result<Opened<Bits>> {
    aby.open_bits(ctx, &aby.labels_to_bits(labels)?).await
}

/// Returns the elements of rows of bits.
fn elements(bits: &Bits) -> Vec<u128> {
    bits.to_vector(Ring::of(bits.rows() as u32)).to_u128s()
}

/// Returns elements of which each party inputs a summand of its own.
async fn of_summands(aby: &Aby, ctx: &Ctx, ring: Ring, summands: &[Vec<u64>; 2]) -> Result<A> {
    let mut shares = Vec::new();
    for (owner, own) in summands.iter().enumerate() {
        let own_values = (ctx.me() == owner).then(|| Vector::from_u64s(ring, own));
        shares.push(aby.input(ctx, owner, (ring, own.len()), own_values.as_ref()).await?);
    }
    Ok(aby.add(&shares[0], &shares[1]))
}

#[test]
fn numbers_become_labels_and_numbers_again_in_all_summands() {
    for k in 1..=5 {
        let (ring, (x, y)) = (Ring::of(k), all_pairs(k));
        let summands = [x.clone(), y.clone()];
        let (bits, back, decomposed) = agreed(async |aby, ctx| {
            let sum = of_summands(aby, ctx, ring, &summands).await?;
            let labels = aby.ring_to_labels(ctx, &sum).await?;
            let bits = aby.labels_to_bits(&labels)?;
            let back = aby.compose(ctx, &bits, ring).await?;
            let decomposed = aby.bits_to_labels(ctx, &aby.bit_decompose(ctx, &sum).await?).await?;
            Ok((
                elements(&*aby.open_bits(ctx, &bits).await?),
                open(aby, ctx, &back).await?,
                elements(&*open_labels(aby, ctx, &decomposed).await?),
            ))
        });
        for (i, (x, y)) in x.iter().zip(&y).enumerate() {
            let sum = (x + y) & mask(k);
            assert_eq!((bits[i] as u64, back[i], decomposed[i] as u64), (sum, sum, sum), "k {k}: {x} + {y}");
        }
    }
}

#[test]
fn numbers_of_many_widths_and_lengths() {
    for (k, len) in [(8, 1), (17, 5), (31, 700), (32, 3), (63, 64), (64, 1500), (100, 20), (126, 9)] {
        let (ring, values) = (Ring::of(k), noise(k.into(), len));
        let values: Vec<u64> = values.iter().map(|x| x & mask(k.min(64))).collect();
        let got = agreed(async |aby, ctx| {
            let x = share(aby, ctx, ring, &values).await?;
            let labels = aby.ring_to_labels(ctx, &x).await?;
            assert_eq!(labels.shape(), (k as usize, len));
            let back = aby.compose(ctx, &aby.labels_to_bits(&labels)?, ring).await?;
            Ok((aby.open(ctx, &back).await?.to_u128s(), elements(&*open_labels(aby, ctx, &labels).await?)))
        });
        let whole =
            agreed(async |aby, ctx| Ok(aby.open(ctx, &share(aby, ctx, ring, &values).await?).await?.to_u128s()));
        assert_eq!(got, (whole.clone(), whole), "k {k}");
    }
}

/// Tweaks that repeat under a key would give equal tables for one circuit on the same labels.
#[test]
fn tables_of_one_circuit_on_the_same_labels_differ() {
    let program = Program::new(&catalog::mul(8, Goal::Size), ORDER);
    let transcripts = parties(2, |mut party| {
        let mut run = party.begin_alone().unwrap();
        let aby = run.phase(Phase::Offline, async |ctx| Aby::setup(ctx).await).unwrap();
        let labels = async |ctx: &Ctx| aby.bits_to_labels(ctx, &aby.public_bits(&Bits::constant(true, 16, 16))).await;
        let labels = run.phase(Phase::Online, labels).unwrap();
        run.finish();
        party.insecure_record();
        let mut run = party.begin_alone().unwrap();
        let garble = async |ctx: &Ctx| {
            for _ in 0..3 {
                aby.garble(ctx, &program, &labels).await?;
            }
            Ok(())
        };
        run.phase(Phase::Online, garble).unwrap();
        run.finish();
        let transcript = party.insecure_transcript();
        party.leave(false);
        transcript
    });
    let blocks: Vec<&[u8]> = transcripts[1].iter().flat_map(|tables| tables.bytes.chunks_exact(16)).collect();
    assert_eq!(blocks.len() as u64, 3 * 16 * 2 * program.and_count());
    let distinct: std::collections::BTreeSet<&[u8]> = blocks.iter().copied().collect();
    assert_eq!(distinct.len(), blocks.len(), "a block of a table came twice");
}

#[test]
fn bits_of_anybody_become_labels() {
    let values: Vec<bool> = noise(3, 3 * 130).into_iter().map(|x| x & 1 == 1).collect();
    let bits = Bits::from_bools(3, 130, &values);
    let opened = agreed(async |aby, ctx| {
        let mut opened = Vec::new();
        let shared = share_bits(aby, ctx, 3, 130, &values).await?;
        opened.push(open_labels(aby, ctx, &aby.bits_to_labels(ctx, &shared).await?).await?.to_bools());
        opened.push(open_labels(aby, ctx, &aby.public_labels(&bits)?).await?.to_bools());
        for owner in 0..2 {
            let own = (ctx.me() == owner).then_some(&bits);
            let labels = aby.input_labels(ctx, owner, (3, 130), own).await?;
            opened.push(open_labels(aby, ctx, &labels).await?.to_bools());
        }
        Ok(opened)
    });
    assert_eq!(opened, vec![values; 4]);
}

#[test]
fn empty_vectors_become_empty_labels() {
    let empty = agreed(async |aby, ctx| {
        let x = aby.public(&Vector::zeros(Ring::of(8), 0));
        let labels = aby.ring_to_labels(ctx, &x).await?;
        let none = aby.bits_to_labels(ctx, &aby.public_bits(&Bits::zeros(3, 0))).await?;
        let no_rows = aby.bits_to_labels(ctx, &aby.public_bits(&Bits::zeros(0, 3))).await?;
        let program = Program::new(&catalog::add(8, Goal::Size), ORDER);
        let sum = aby.garble(ctx, &program, &YaoLabels::concat_rows(&[&labels, &labels])).await?;
        Ok([labels.shape(), none.shape(), no_rows.shape(), sum.shape()])
    });
    assert_eq!(empty, [(8, 0), (3, 0), (0, 3), (8, 0)]);
}

fn builders(width: u32) -> Vec<(&'static str, Circuit)> {
    let mut all = vec![
        ("equal", catalog::equal(width)),
        ("is_zero", catalog::is_zero(width)),
        ("mux", catalog::mux(width)),
        ("swap_if", catalog::swap_if(width)),
        ("shift_by", catalog::shift_by(width, 3, Direction::Right(Sign::Signed))),
    ];
    for goal in [Goal::Size, Goal::Depth] {
        all.push(("add", catalog::add(width, goal)));
        all.push(("sub", catalog::sub(width, goal)));
        all.push(("neg", catalog::neg(width, goal)));
        all.push(("mul", catalog::mul(width, goal)));
        all.push(("square", catalog::square(width, goal)));
        all.push(("popcount", catalog::popcount(width, goal)));
        for sign in [Sign::Unsigned, Sign::Signed] {
            all.push(("mul_wide", catalog::mul_wide(width, sign, goal)));
            all.push(("less_than", catalog::less_than(width, sign, goal)));
            all.push(("divide", catalog::divide(width, sign, goal)));
            all.push(("extremum", catalog::extremum(5, width, Extreme::Max, sign, goal)));
        }
    }
    all
}

/// Returns a circuit's outputs; rows of its inputs are, in turn, public, of each party, and shared.
async fn through(aby: &Aby, ctx: &Ctx, program: &Program, inputs: &Bits) -> Result<YaoLabels> {
    let mut rows = Vec::new();
    for row in 0..inputs.rows() {
        let bits = inputs.row(row);
        let own = |owner: usize| (ctx.me() == owner).then_some(&bits);
        let shape = (1, inputs.lanes());
        rows.push(match row % 4 {
            0 => aby.public_labels(&bits)?,
            3 => aby.bits_to_labels(ctx, &share_bits(aby, ctx, 1, inputs.lanes(), &bits.to_bools()).await?).await?,
            owner => aby.input_labels(ctx, owner - 1, shape, own(owner - 1)).await?,
        });
    }
    let inputs = YaoLabels::concat_rows(&rows.iter().collect::<Vec<_>>());
    aby.garble(ctx, program, &inputs).await
}

#[test]
fn every_circuit_of_the_catalog_gives_what_it_gives_in_the_clear() {
    for (width, instances) in [(1, 8), (2, 17), (5, 3), (16, 40)] {
        let circuits = builders(width);
        let inputs: Vec<Bits> = circuits
            .iter()
            .map(|(_, circuit)| {
                let rows = circuit.input_wires() as usize;
                let values = noise(rows as u64, rows * instances).iter().map(|x| x >> 9 & 1 == 1).collect::<Vec<_>>();
                Bits::from_bools(rows, instances, &values)
            })
            .collect();
        let opened = agreed(async |aby, ctx| {
            let one = async |ctx: Ctx, i: usize| {
                let outputs = through(aby, &ctx, &Program::new(&circuits[i].1, ORDER), &inputs[i]).await?;
                Ok(open_labels(aby, &ctx, &outputs).await?.to_bools())
            };
            ctx.join_all(circuits.len(), one).await
        });
        for (((name, circuit), inputs), opened) in circuits.iter().zip(&inputs).zip(opened) {
            assert_eq!(opened, circuit.evaluate(inputs).unwrap().to_bools(), "{name} of {width} bits");
        }
    }
}

#[test]
fn aes_gives_the_known_answer_in_many_lanes() {
    let circuit = catalog::aes128();
    let program = Program::new(&circuit, ORDER);
    // FIPS 197, appendix C.1, and others around it.
    let instances = 100;
    let mut values = [vec![7u128; instances], (0..instances as u128).collect()];
    values[0][77] = 0x000102030405060708090a0b0c0d0e0f;
    values[1][77] = 0x00112233445566778899aabbccddeeff;
    let inputs = to_rows(circuit.inputs(), &values);
    let results = run(async |aby, ctx| {
        let outputs = through(aby, ctx, &program, &inputs).await?;
        let before = ctx.depth();
        let again = aby.garble(ctx, &program, &inputs_again(aby, &outputs, &inputs)?).await?;
        let waited = ctx.depth() - before;
        Ok((open_labels(aby, ctx, &outputs).await?.to_bools(), open_labels(aby, ctx, &again).await?.to_bools(), waited))
    });
    let once = circuit.evaluate(&inputs).unwrap();
    assert_eq!(from_rows(circuit.outputs(), &once)[0][77], 0x69c4e0d86a7b0430d8cdb78070b4c55a);
    let twice = circuit.evaluate(&Bits::concat_rows(&[&once, &inputs.slice_rows(128..256)])).unwrap();
    for ((first, second, waited), _) in results {
        assert_eq!((first, second, waited), (once.to_bools(), twice.to_bools(), 0));
    }
}

/// Returns the outputs as keys for the same public blocks.
fn inputs_again(aby: &Aby, outputs: &YaoLabels, inputs: &Bits) -> Result<YaoLabels> {
    Ok(YaoLabels::concat_rows(&[outputs, &aby.public_labels(&inputs.slice_rows(128..256))?]))
}

#[test]
fn a_row_of_circuits_waits_as_one() {
    let program = Program::new(&catalog::mul(8, Goal::Size), ORDER);
    for count in [1, 2, 25] {
        let work = async |aby: &Aby, ctx: &Ctx| {
            let mut x = aby.public_labels(&if ctx.is_dry() { Bits::shape(8, 5) } else { Bits::zeros(8, 5) })?;
            for _ in 0..count {
                x = aby.garble(ctx, &program, &YaoLabels::concat_rows(&[&x, &x])).await?;
            }
            Ok(())
        };
        let rounds: Vec<u32> = run_both(work).into_iter().map(|[ahead, _]| ahead.online.rounds).collect();
        assert_eq!(rounds, [0, 1], "{count} circuits");
    }
}

#[test]
fn labels_hide_what_is_not_the_partys_own() {
    // A label must hide its value: about half of the labels of 0 have a set colour.
    let colours = run(async |aby, ctx| {
        let zeros = aby.public_bits(&Bits::zeros(1, 4096));
        let labels = aby.bits_to_labels(ctx, &zeros).await?;
        Ok(aby.labels_to_bits(&labels)?.to_bools())
    });
    for (colours, _) in colours {
        let ones = colours.iter().filter(|&&colour| colour).count();
        assert!((1800..2300).contains(&ones), "{ones} of 4096");
    }
}

#[test]
fn wrong_numbers_of_rows_are_the_callers_mistake() {
    let program = Program::new(&catalog::mul(8, Goal::Size), ORDER);
    for (result, _) in run(async |aby, ctx| {
        let x = aby.public_labels(&Bits::zeros(15, 5))?;
        let missing = aby.input_labels(ctx, ctx.me(), (1, 5), None).await.is_err();
        Ok((aby.garble(ctx, &program, &x).await.map(|_| ()), missing))
    }) {
        assert!(matches!(result, (Err(Error::Misuse { .. }), true)), "{result:?}");
    }
}

#[test]
fn parties_with_other_programs_end_in_an_error() {
    let programs = [catalog::mul(8, Goal::Size), catalog::mul(8, Goal::Depth)].map(|c| Program::new(&c, ORDER));
    let results = parties(2, |mut party| {
        let mut run = party.begin_alone().unwrap();
        let aby = run.phase(Phase::Offline, async |ctx| Aby::setup(ctx).await).unwrap();
        let work = async |ctx: &Ctx| {
            let x = aby.public_labels(&Bits::zeros(16, 5))?;
            open_labels(&aby, ctx, &aby.garble(ctx, &programs[ctx.me()], &x).await?).await
        };
        run.phase(Phase::Online, work).map(|_| ())
    });
    assert!(results.iter().all(Result::is_err), "{results:?}");
}

#[test]
fn changed_messages_end_in_other_results_or_errors_but_end() {
    let program = Program::new(&catalog::mul(4, Goal::Size), ORDER);
    let work = |tampered: Option<(usize, Tampered)>| {
        parties(2, |mut party| {
            let mut run = party.begin_alone()?;
            let aby = run.phase(Phase::Offline, async |ctx| Aby::setup(ctx).await)?;
            run.finish();
            if let Some((who, tampered)) = tampered
                && who == party.me()
            {
                party.insecure_tamper(tampered);
            }
            let mut run = party.begin_alone()?;
            let opened = run.phase(Phase::Online, async |ctx| {
                let x = share(&aby, ctx, Ring::of(4), &[3, 5, 15]).await?;
                let x = aby.ring_to_labels(ctx, &x).await?;
                let square = aby.garble(ctx, &program, &YaoLabels::concat_rows(&[&x, &x])).await?;
                let square = aby.compose(ctx, &aby.labels_to_bits(&square)?, Ring::of(4)).await?;
                open(&aby, ctx, &square).await
            });
            run.finish();
            let sent = party.insecure_sent();
            party.leave(false);
            opened.map(|opened| (opened, sent))
        })
    };
    let honest: Vec<(Vec<u64>, usize)> = work(None).into_iter().map(Result::unwrap).collect();
    assert!(honest.iter().all(|(opened, _)| *opened == [9, 9, 1]), "{honest:?}");
    for who in 0..2 {
        let mut seen = 0;
        for message in 0..40 {
            let results = work(Some((who, Tampered::bit(message, 13 + 8 * message))));
            seen +=
                usize::from(results.iter().any(|result| !matches!(result, Ok((opened, _)) if *opened == [9, 9, 1])));
        }
        assert!(seen > 0, "no change of party {who}'s messages was ever seen");
    }
}
