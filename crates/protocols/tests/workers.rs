//! Every family with several workers at a party, where results, costs and all messages are those of one worker, and
//! with runs beside each other, whose messages are all different.

use std::sync::Mutex;
use std::thread;

use quorate_crypto::Seed;
use quorate_engine::Believed;
use quorate_engine::testing::{self, Received};
use quorate_engine::{Costs, Ctx, Demand, Form, Party, Phase, Result, dry};
use quorate_gadgets::lookup::{Entries, Lookup, Operand};
use quorate_gadgets::order::Keys;
use quorate_gadgets::{Choices, Family, Sign, Width};
use quorate_net::memory;
use quorate_protocols::{Protocol, Visit};
use quorate_ring::{Bits, Ring, Vector};

const RING: Ring = Ring::of(8);

/// A message: its sender, its length, and a hash.
type Message = (usize, usize, u64);

/// The results of a run, its costs, and all messages of all runs in an order that does not depend on threads.
type Seen = (Vec<Vec<u64>>, Costs, Vec<Message>);

/// What the parties compute on inputs of some length.
#[derive(Clone, Copy)]
enum What {
    Operations(usize),
    Order(usize),
}

/// Runs a program on two inputs. Returns what it reveals.
async fn program<S: Family>(s: &S, ctx: &Ctx, what: What) -> Result<Vec<Vec<u64>>> {
    let (What::Operations(len) | What::Order(len)) = what;
    let own = |owner: usize| {
        let words: Vec<u64> = (0..len as u64).map(|i| (i * (7 + owner as u64)) & 255).collect();
        (ctx.me() == owner && !ctx.is_dry()).then(|| Vector::from_u64s(RING, &words))
    };
    let x = s.input(ctx, 0, (RING, len), own(0).as_ref()).await?;
    let y = s.input(ctx, 1, (RING, len), own(1).as_ref()).await?;
    if let What::Order(len) = what {
        let keys = Keys { low: -128, bits: 8, descending: false };
        let ordered = s.order(ctx, &x, keys, &[&x, &y]).await?;
        let checked = s.check(ctx).await?;
        let shown = s.reveal(ctx, &checked, &s.concat(&ordered.iter().collect::<Vec<_>>()), None).await?;
        let shown = shown.map(|shown| shown.believe(&checked)).transpose()?.map(Believed::into_inner);
        let values = shown.filter(|_| !ctx.is_dry()).map(|shown| shown.to_u64s());
        return Ok(values.iter().flat_map(|values| values.chunks(len)).map(<[u64]>::to_vec).collect());
    }
    let less = s.lt(ctx, &x, &y, Width::Full).await?;
    let lowest = s.lsb(ctx, &x).await?;
    let both = s.and(ctx, &less, &lowest).await?;
    let entries = Entries::new(Vector::from_u64s(RING, &[3, 1, 4, 1, 5, 9, 2, 6]));
    let table = Lookup { entries: entries.into(), first: 0, operand: Operand::Within };
    let place = s.linear(&x, &quorate_engine::Linear::Reduce(Ring::of(3)));
    let mut values = vec![s.mul(ctx, &x, &y).await?, s.trunc_exact(ctx, &y, 3).await?];
    values.extend(s.shuffle(ctx, &[&x, &y], len).await?);
    if !S::CHECKED {
        values.extend([
            s.bilinear(ctx, Form::MatMul { m: 1, k: len, n: 1 }, &x, &y).await?,
            s.trunc_prob(ctx, &x, 2).await?,
            s.convert(ctx, &x, Ring::of(12), Sign::Signed).await?,
            s.mask(ctx, &both, &y).await?,
            s.lookup(ctx, &place, &table).await?,
        ]);
    }
    let mut rows = vec![both.clone()];
    let repeated = s.concat_rows(&[&both; 8]);
    if let Ok(labels) = s.bits_to_labels(ctx, &repeated).await {
        let circuit = quorate_circuits::catalog::mul(4, quorate_circuits::Goal::Size);
        let order = quorate_circuits::Order::Runs(16);
        let program = quorate_circuits::Program::new(&circuit, order);
        rows.push(s.labels_to_bits(&s.garble(ctx, &program, &labels).await?)?);
    }
    let checked = s.check(ctx).await?;
    let (mut opened, mut opened_bits) = (vec![], vec![]);
    for value in &values {
        opened.extend(s.reveal(ctx, &checked, value, None).await?);
    }
    for row in &rows {
        opened_bits.extend(s.reveal_bits(ctx, &checked, row, None).await?);
    }
    let checked = s.check(ctx).await?;
    let mut shown = vec![];
    for value in opened {
        let value: Vector = value.believe(&checked)?.into_inner();
        shown.push(if ctx.is_dry() { vec![] } else { value.to_u64s() });
    }
    for bits in opened_bits {
        let bits: Bits = bits.believe(&checked)?.into_inner();
        shown.push(if ctx.is_dry() { vec![] } else { bits.to_bools().into_iter().map(u64::from).collect() });
    }
    Ok(shown)
}

/// Returns the correlations that the program takes at a party.
fn demanded<S: Family>(party: &Party, what: What) -> Demand<S::Kind> {
    let (me, parties) = (party.me(), party.parties());
    let dry = S::dry(parties, me, &Choices::default()).unwrap();
    dry.record_demand();
    dry::run(me, parties, Phase::Online, async |ctx| program(&dry, ctx, what).await).unwrap();
    dry.take_demand()
}

fn set_up<S: Family>(party: &mut Party) -> S {
    let coins = Seed::from_bytes([party.me() as u8; 32]);
    let mut run = party.begin_alone().unwrap();
    let s = run.phase(Phase::Offline, async |ctx| S::setup(ctx, Some(&coins), &Choices::default()).await).unwrap();
    run.finish();
    s
}

/// Runs the program at a party.
fn ran<S: Family>(party: &mut Party, s: &S, what: What) -> Seen {
    let demand = demanded::<S>(party, what);
    let mut run = party.begin_alone().unwrap();
    let nothing = async |_: &Ctx| Ok(());
    run.phase(Phase::Offline, async |ctx| s.prepare(ctx, demand, nothing).await).unwrap();
    let shown = run.phase(Phase::Online, async |ctx| program(s, ctx, what).await).unwrap();
    run.confirm().unwrap();
    let costs = run.finish();
    let heard = |Received { from, bytes, .. }: Received| (from, bytes.len(), hashed(&bytes));
    let mut messages: Vec<_> = party.insecure_transcript().into_iter().map(heard).collect();
    messages.sort();
    (shown, costs, messages)
}

/// Runs the program at every party, with these numbers of workers.
fn seen<S: Family>(workers: &[usize], jitter: u64, what: What) -> Vec<Seen> {
    testing::parties(workers.len(), |mut party| {
        let me = party.me();
        party.set_workers(workers[me]).unwrap();
        party.insecure_jitter(jitter + me as u64);
        party.set_coins(Seed::from_bytes([me as u8; 32]));
        party.insecure_record();
        let s = set_up::<S>(&mut party);
        ran(&mut party, &s, what)
    })
}

fn hashed(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&blake3::hash(bytes).as_bytes()[..8]);
    u64::from_le_bytes(first)
}

/// Returns the messages that both have, in order, each as often as both have it. The salts of commitments
/// are the only randomness that does not come from the parties' coins here.
fn common(one: &[Message], other: &[Message]) -> Vec<Message> {
    let (mut common, mut rest) = (vec![], other);
    for message in one {
        rest = &rest[rest.partition_point(|other| other < message)..];
        if rest.first() == Some(message) {
            common.push(*message);
            rest = &rest[1..];
        }
    }
    common
}

/// Compares runs of some parties, of operations or of an order.
struct Compare(usize, fn(usize) -> What);

impl Visit for Compare {
    type Out = ();

    fn family<S: Family>(self) {
        // Gadgets have two chunks, or three.
        let len = 16384 / S::FINER + 300;
        let what = self.1(len);
        let [alone, again] = [1, 2].map(|jitter| seen::<S>(&vec![1; self.0], jitter, what));
        assert!(alone[0].0.len() > 1 && alone[0].0[0].len() == len);
        if let What::Order(_) = what {
            assert!(alone[0].0[0].is_sorted_by_key(|&key| key as u8 as i8), "keys in order");
        }
        let repeated: Vec<_> = alone.iter().zip(&again).map(|(one, other)| common(&one.2, &other.2)).collect();
        for (me, (one, repeated)) in alone.iter().zip(&repeated).enumerate() {
            let [all, same] = [&one.2, repeated].map(|messages| messages.iter().map(|(_, len, _)| len).sum());
            let fresh: usize = all - same;
            assert!(fresh == 0 || S::CHECKED && 20 * fresh < all, "{fresh} of {all} bytes to party {me} are random");
        }
        // Checks are the same work for any number: where there are some, the numbers differ from party to party.
        let numbers = [[3, 7, 1], [2, 2, 2]];
        for (jitter, workers) in (3..).zip(&numbers[..if S::CHECKED { 1 } else { 2 }]) {
            let several = seen::<S>(&workers[..self.0], jitter, what);
            for (me, (one, other)) in alone.iter().zip(&several).enumerate() {
                assert!(one.0 == other.0, "party {me} with {workers:?} workers gets other results");
                assert_eq!(one.1, other.1, "party {me} with {workers:?} workers");
                let lens = |seen: &Seen| seen.2.iter().map(|(from, len, _)| (*from, *len)).collect::<Vec<_>>();
                assert!(lens(one) == lens(other), "party {me} with {workers:?} workers receives other lengths");
                let same = common(&repeated[me], &other.2).len();
                assert_eq!(same, repeated[me].len(), "messages that party {me} with {workers:?} workers receives");
            }
        }
    }
}

#[test]
fn rss_runs_alike_with_any_number_of_workers() {
    Protocol::Rss.visit(Compare(3, What::Operations));
}

#[test]
fn orders_of_rss_run_alike_with_any_number_of_workers() {
    Protocol::Rss.visit(Compare(3, What::Order));
}

#[test]
fn orders_of_aby_run_alike_with_any_number_of_workers() {
    Protocol::Aby.visit(Compare(2, What::Order));
}

#[test]
fn orders_of_pika_run_alike_with_any_number_of_workers() {
    Protocol::Pika.visit(Compare(3, What::Order));
}

#[test]
fn aby_runs_alike_with_any_number_of_workers() {
    Protocol::Aby.visit(Compare(2, What::Operations));
}

#[test]
fn spdz2k_runs_alike_with_any_number_of_workers() {
    Protocol::Spdz2k.visit(Compare(2, What::Operations));
}

#[test]
fn pika_runs_alike_with_any_number_of_workers() {
    Protocol::Pika.visit(Compare(3, What::Operations));
}

#[test]
fn malicious_pika_runs_alike_with_any_number_of_workers() {
    Protocol::PikaMalicious.visit(Compare(3, What::Operations));
}

/// Messages shorter than this may be equal by chance.
const MASKED_BYTES: usize = 24;

/// Runs the same program at the main party and on two sides, at the same time: costs are equal, and no message is,
/// since every mask is drawn once.
struct SideBySide(usize);

impl Visit for SideBySide {
    type Out = ();

    fn family<S: Family>(self) {
        let sides = [0, 2046];
        let meshes: Vec<Mutex<Vec<_>>> =
            sides.iter().map(|_| memory::mesh(self.0).into_iter().map(Some).collect()).map(Mutex::new).collect();
        let all = testing::parties(self.0, |mut party| {
            let me = party.me();
            party.set_coins(Seed::from_bytes([me as u8; 32]));
            let s = set_up::<S>(&mut party);
            party.insecure_record();
            let again = |party: &mut Party, s: &S| [0; 2].map(|_| ran(party, s, What::Operations(40)));
            thread::scope(|scope| {
                let beside = |(&side, mesh): (&usize, &Mutex<Vec<Option<_>>>)| {
                    let net: memory::MemoryNet = mesh.lock().unwrap()[me].take().unwrap();
                    let s = s.beside().unwrap();
                    scope.spawn(move || {
                        let mut party = testing::watched(Box::new(net), |net| Party::on_side(net, side).unwrap());
                        party.set_coins(Seed::from_bytes([me as u8; 32]));
                        party.insecure_record();
                        again(&mut party, &s)
                    })
                };
                let beside: Vec<_> = sides.iter().zip(&meshes).map(beside).collect();
                let mut seen = again(&mut party, &s).to_vec();
                beside.into_iter().for_each(|side| seen.extend(side.join().unwrap()));
                seen
            })
        });
        for (me, seen) in all.iter().enumerate() {
            let masked = |seen: &Seen| -> Vec<Message> {
                seen.2.iter().copied().filter(|message| message.1 >= MASKED_BYTES).collect()
            };
            assert!(masked(&seen[0]).len() > 10, "{}", masked(&seen[0]).len());
            for (i, one) in seen.iter().enumerate() {
                assert_eq!(one.1, seen[0].1, "party {me}: costs of run {i}");
                assert_eq!(one.0[..2], seen[0].0[..2], "party {me}: results of run {i}");
                for (j, other) in seen[..i].iter().enumerate() {
                    let common = common(&masked(one), &masked(other));
                    assert_eq!(common, [], "party {me} receives the same message in runs {j} and {i}");
                }
            }
        }
    }
}

#[test]
fn rss_draws_everything_anew_beside_another_run() {
    [3, 5].into_iter().for_each(|parties| Protocol::Rss.visit(SideBySide(parties)));
}

#[test]
fn aby_draws_everything_anew_beside_another_run() {
    Protocol::Aby.visit(SideBySide(2));
}

#[test]
fn pika_draws_everything_anew_beside_another_run() {
    Protocol::Pika.visit(SideBySide(3));
}
