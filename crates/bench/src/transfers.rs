//! Oblivious transfers between two parties, and triples from homomorphic encryption: the results of a task, and their
//! check.
//!
//! Sessions are set up, and keys made, before the clock starts. Correlated OTs are made chunk by chunk, as in a
//! protocol. The check tests the correlation of the sum of all OTs, which fails if a single one is wrong.

use std::ops::Range;
use std::time::Instant;

use quorate_engine::{Chunks, Ctx, Error, Misuse, Party, Phase, Result};
use quorate_ot::{BitTriples, Blocks, Options, Ot, Triples};
use quorate_ring::{Bits, Module, Ring, Vector};

use crate::cell::Workload;
use crate::ciphertexts::Keys;
use crate::sample::Sample;
use crate::task::Task;

/// The number of OTs of a chunk, without checks and with: a check costs the same for any number.
const CHUNKS: [usize; 2] = [1 << 14, 1 << 15];
const WINDOW: usize = 4;

/// The result of a workload.
enum Made {
    /// The sum of all q or t, and of all choices.
    Sums(u128, bool),
    Triples(Triples),
    Bits(BitTriples),
}

/// One of two parties.
pub(crate) struct Transfers {
    party: Party,
    semi_honest: Ot,
    malicious: Ot,
    keys: Keys,
    task: Option<Task>,
    made: Option<Made>,
}

impl Transfers {
    pub fn open(mut party: Party) -> Result<Transfers> {
        let peer = 1 - party.me();
        let mut run = party.begin_alone()?;
        let (semi_honest, malicious) = run.phase(Phase::Offline, async |ctx| {
            let plain = async |ctx: Ctx| Ot::setup(&ctx, peer, Options::default()).await;
            ctx.join(plain, async |ctx: Ctx| Ot::setup(&ctx, peer, Options::MALICIOUS).await).await
        })?;
        run.finish();
        Ok(Transfers { party, semi_honest, malicious, keys: Keys::default(), task: None, made: None })
    }

    pub fn begin(&mut self, task: Task) -> Result<()> {
        (self.task, self.made) = (Some(task), None);
        self.keys.make(&mut self.party, task.cell.workload)
    }

    pub fn forget(&mut self) {
        (self.task, self.made) = (None, None);
    }

    pub fn run(&mut self) -> Result<Sample> {
        let task = self.task.ok_or(crate::error::NO_TASK)?;
        self.made = None;
        let ot = if task.cell.workload == Workload::OtCotMalicious { &self.malicious } else { &self.semi_honest };
        let mut run = self.party.begin_alone()?;
        let (start, wire) = (Instant::now(), run.wire_bytes());
        let made = run.phase(Phase::Offline, async |ctx| make(task, ctx, ot, &self.keys).await)?;
        let (end, wire_offline) = (Instant::now(), run.wire_bytes() - wire);
        let costs = run.finish();
        self.made = Some(made);
        Ok(Sample { spans: [(start, end), (end, end)], costs, wire_bytes: [wire_offline, 0] })
    }

    /// Returns the first element that is wrong.
    pub fn check(&mut self) -> Result<Option<usize>> {
        let (task, made) = (self.task, self.made.take());
        let (Some(task), Some(made)) = (task, made) else { return Err(crate::error::NO_TASK) };
        let ot = if task.cell.workload == Workload::OtCotMalicious { &self.malicious } else { &self.semi_honest };
        let mut run = self.party.begin_alone()?;
        let wrong = run.phase(Phase::Online, async |ctx| first_wrong(ctx, ot, &made).await)?;
        run.finish();
        Ok(wrong)
    }
}

async fn make(task: Task, ctx: &Ctx, ot: &Ot, keys: &Keys) -> Result<Made> {
    let (ring, len) = (task.ring(), task.cell.batch);
    Ok(match task.cell.workload {
        Workload::OtCot => cots(ctx, ot, len, CHUNKS[0]).await?,
        Workload::OtCotMalicious => cots(ctx, ot, len, CHUNKS[1]).await?,
        Workload::OtTriples | Workload::TriplesOt => Made::Triples(ot.triples(ctx, ring, len).await?),
        workload if workload.is_of_ciphertexts() => Made::Triples(keys.triples(ctx, ring, len).await?),
        Workload::OtBitTriples => Made::Bits(ot.bit_triples(ctx, 1, len).await?),
        _ => return Err(Misuse::Other { what: "this workload is not one of two parties" }.into()),
    })
}

/// Makes correlated OTs; party 0 sends.
async fn cots(ctx: &Ctx, ot: &Ot, len: usize, chunk: usize) -> Result<Made> {
    let (mut blocks, mut odd) = (0, false);
    let work = async |ctx: Ctx, range: Range<usize>| match ctx.me() {
        0 => Ok((Bits::zeros(1, 0), ot.send_cots(&ctx, range.len()).await?)),
        _ => ot.receive_cots(&ctx, range.len()).await,
    };
    let sink = |_: Range<usize>, (choices, part): (Bits, Blocks)| {
        blocks = part.as_slice().iter().fold(blocks, |sum, block| sum ^ block);
        odd ^= parity(&choices);
    };
    ctx.stream(Chunks { len, chunk, window: WINDOW }, work, sink).await?;
    Ok(Made::Sums(blocks, odd))
}

fn parity(bits: &Bits) -> bool {
    let mut bytes = Vec::new();
    bits.pack(&mut bytes);
    bytes.iter().map(|byte| byte.count_ones()).sum::<u32>() % 2 == 1
}

async fn first_wrong(ctx: &Ctx, ot: &Ot, made: &Made) -> Result<Option<usize>> {
    match made {
        Made::Sums(blocks, odd) => {
            let own = Vector::from_u128s(Ring::of(128), &[*blocks, ot.delta(), u128::from(*odd)]);
            let theirs = opened(ctx, ot, &own).await?.to_u128s();
            let (sender, receiver) = if ctx.me() == 0 { (own.to_u128s(), theirs) } else { (theirs, own.to_u128s()) };
            Ok((sender[0] ^ receiver[0] != sender[1] * receiver[2]).then_some(0))
        }
        Made::Triples(Triples { a, b, c }) => {
            let mut product = sum(ctx, ot, &**a).await?;
            product.mul_assign(&sum(ctx, ot, &**b).await?);
            let difference = product.to_u64s().into_iter().zip(sum(ctx, ot, &**c).await?.to_u64s());
            Ok(difference.into_iter().position(|(product, c)| product != c))
        }
        Made::Bits(BitTriples { a, b, c }) => {
            let mut rest = sum(ctx, ot, &**c).await?;
            rest.add_and_assign(&sum(ctx, ot, &**a).await?, &sum(ctx, ot, &**b).await?);
            Ok(rest.to_bools().into_iter().position(|bit| bit))
        }
    }
}

async fn opened<M: Module>(ctx: &Ctx, ot: &Ot, own: &M) -> Result<M> {
    let received = ctx.exchange(&[(ot.peer(), own)], &[(ot.peer(), own.shape_of())]).await?;
    received.into_iter().next().ok_or(Error::Bug { what: "an exchange without its answer" })
}

async fn sum<M: Module>(ctx: &Ctx, ot: &Ot, own: &M) -> Result<M> {
    let mut sum = opened(ctx, ot, own).await?;
    sum.add_assign(own);
    sum.reduce();
    Ok(sum)
}
