//! Tests that the messages to a coalition are independent of secrets, gadget by gadget and correlation by correlation.
//! Over thousands of random secrets, no bit of a message and no xor of two bits is correlated with an xor of secret
//! bits. Tests by exhaustion (`privacy`, `coalitions`) prove more, for shorter protocols.
//!
//! A coalition of t parties holds every key but one. Its own keys and coins are fixed, at zeros or at ones. So lanes
//! differ only by the key that it lacks and by others' own coins, which are the same in every run of the test.

use std::collections::BTreeSet;

use crate::coalitions::coalitions;
use crate::common::*;
use quorate_crypto::{Seed, Tape};
use quorate_engine::testing::{Column, Received, columns, parties, tells};
use quorate_engine::{Ctx, Phase, Result, Sharing};
use quorate_gadgets::testing::secrets::{Gadget, RING, Secrets};
use quorate_ring::{Bits, Ring, Vector};
use quorate_rss::{CorrelationForm, Forms, Rss};

/// Three parties work in three blocks of `LANES` lanes each.
const BLOCKS: usize = 3;
const LANES: usize = 1024;
const LEN: usize = BLOCKS * LANES;
/// The largest number of bytes that parties draw for a lane from fixed keys and coins.
const KNOWN_BYTES: usize = 512;

/// The largest number of columns of which sums of two are tested. Of more columns only single ones are tested, to save
/// time.
const MOST_PAIRED: usize = 192;

/// The work under test: it runs on secrets that no party knows, or makes them.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Work {
    Gadget(Gadget),
    /// An input of elements and an input of bits by each party outside the coalition.
    Inputs {
        known_to: u8,
    },
    RandomBits,
    EdaBits,
    CutEdaBits,
    WideEdaBits,
    TruncMasks,
}

const CORRELATIONS: [Work; 5] =
    [Work::RandomBits, Work::EdaBits, Work::CutEdaBits, Work::WideEdaBits, Work::TruncMasks];

impl Work {
    /// Returns the secrets, as elements and as bits.
    async fn run(self, rss: &Rss, ctx: &Ctx) -> Result<(Vec<A>, Vec<B>)> {
        Ok(match self {
            Work::Gadget(gadget) => {
                let [x, y] = [0, 1].map(|_| -> A { rss.prandr(ctx, (RING, LEN)) });
                let secrets = Secrets::<Rss> { x, y, bits: rss.prandr(ctx, (RING.bits() as usize, LEN)) };
                gadget.run(rss, ctx, &secrets).await?;
                let Secrets { x, y, bits } = secrets;
                let [of_x, of_y, of_bits] = gadget.uses();
                let elements = [(of_x, x), (of_y, y)].into_iter().filter(|(used, _)| *used).map(|(_, x)| x);
                (elements.collect(), if of_bits { vec![bits] } else { vec![] })
            }
            Work::Inputs { known_to } => {
                let (mut elements, mut bits) = (Vec::new(), Vec::new());
                for owner in (0..ctx.parties()).filter(|owner| known_to >> owner & 1 == 0) {
                    let own = |name: usize| Vector::from_u64s(RING, &noise((2 * owner + name) as u64, LEN));
                    let mine = ctx.me() == owner;
                    let [of_elements, of_bits] = [0, 1].map(|name| mine.then(|| own(name)));
                    let of_bits = of_bits.map(|own| own.to_bits(0..RING.bits()));
                    elements.push(rss.input(ctx, owner, (RING, LEN), of_elements.as_ref()).await?);
                    bits.push(rss.input_bits(ctx, owner, (RING.bits() as usize, LEN), of_bits.as_ref()).await?);
                }
                (elements, bits)
            }
            Work::RandomBits => (vec![], vec![rss.low_bit(&rss.random_bits(ctx, RING, LEN).await?)]),
            Work::EdaBits => (vec![], vec![rss.edabits(ctx, RING, None, LEN).await?.bits]),
            Work::CutEdaBits => (vec![], vec![rss.edabits(ctx, Ring::of(2), Some(1), LEN).await?.bits]),
            Work::WideEdaBits => (vec![], vec![rss.wide_edabits(ctx, RING, Ring::of(7), LEN).await?.bits]),
            Work::TruncMasks => (vec![rss.trunc_masks(ctx, Ring::of(3), 1, LEN).await?.value], vec![]),
        })
    }
}

/// The coalition, the value at which its keys and coins are fixed, and the forms of protocols that run.
#[derive(Clone, Copy, Debug)]
struct Case {
    n: usize,
    coalition: u8,
    known: u8,
    forms: Forms,
}

/// The messages that a coalition received during the work and during the opening of the secrets; and the secrets.
struct Seen {
    heard: Vec<Column>,
    opened: Vec<Column>,
    /// Bits of the first block, by secret.
    hidden: Vec<Vec<Column>>,
}

impl Case {
    fn has(&self, party: usize) -> bool {
        self.coalition >> party & 1 == 1
    }

    fn party(&self, me: usize) -> (Rss, std::sync::Arc<Tape>) {
        let tape = Tape::new(if self.known == 0 { Vec::new() } else { vec![self.known; KNOWN_BYTES * LEN] });
        let known = || Seed::insecure_with_tape([0; 32], tape.clone());
        let of_key = |set: u8| if set == self.coalition { Seed::from_bytes([set; 32]) } else { known() };
        let own = if self.has(me) { known() } else { Seed::from_bytes([100 + me as u8; 32]) };
        let rss = Rss::with_seeds(session(), (self.n, me), of_key, own).unwrap();
        rss.set_forms(self.forms);
        (rss, tape)
    }

    fn observe(&self, work: Work) -> Seen {
        let runs = parties(self.n, |mut party| {
            let (rss, tape) = self.party(party.me());
            party.insecure_record();
            let mut run = party.begin_alone().unwrap();
            let (elements, bits) = run.phase(Phase::Offline, async |ctx| work.run(&rss, ctx).await).unwrap();
            run.finish();
            assert!(self.known == 0 || tape.drawn() <= KNOWN_BYTES * LEN, "a tape is too short, {self:?}, {work:?}");
            let heard = party.insecure_transcript();
            let mut run = party.begin_alone().unwrap();
            let open = async |ctx: &Ctx| {
                let mut opened: Vec<Bits> = Vec::new();
                for x in &elements {
                    let value = rss.open(ctx, x).await?;
                    opened.push(value.to_bits(0..value.ring().bits()));
                }
                for x in &bits {
                    opened.push(rss.open_bits(ctx, x).await?.clone());
                }
                Ok(opened)
            };
            let opened = run.phase(Phase::Online, open).unwrap();
            run.finish();
            let transcripts = [heard, party.insecure_transcript()];
            party.leave(false);
            (transcripts, opened)
        });
        let of_run = |run: usize| -> Vec<Column> {
            let heard = (0..self.n).filter(|&party| self.has(party)).flat_map(|party| &runs[party].0[run]);
            let heard = heard.filter(|message| !self.has(message.from));
            heard.flat_map(|message| columns(&message.bytes, LANES, &[1, BLOCKS])).collect()
        };
        // Each party has another role in each block, so a test of all parties needs only one block.
        let first = |bits: &Bits| (0..bits.rows()).map(|row| bits.words_of(row)[..LANES / 64].to_vec()).collect();
        let hidden = runs[0].1.iter().map(first).collect();
        Seen { heard: of_run(0), opened: of_run(1), hidden }
    }

    /// Checks that no column depends on a secret. Returns the number of columns tested.
    fn check(&self, work: Work) -> usize {
        let Seen { heard, opened, hidden } = self.observe(work);
        let tells_some = |seen: &[Column]| {
            let beside = if seen.len() <= MOST_PAIRED { seen } else { &[] };
            hidden.iter().any(|hidden| tells(seen, beside, hidden))
        };
        let all_told = work == Work::Gadget(Gadget::Open);
        assert_eq!(tells_some(&heard), all_told, "{work:?}: {self:?} learns something");
        // After many steps, more than two columns together may depend on a secret.
        let in_one_step = matches!(work, Work::Gadget(_));
        assert!(!in_one_step || tells_some(&opened), "{work:?}: {self:?} does not see what is opened");
        heard.len()
    }
}

/// Returns every coalition of three parties, and one of five, since the paper's protocols treat all parties alike.
fn cases() -> Vec<Case> {
    let of = |n: usize, coalition: u8, known: u8, forms: Forms| Case { n, coalition, known, forms };
    let mut cases: Vec<Case> = coalitions(3).map(|coalition| of(3, coalition, 0, Forms::default())).collect();
    cases.extend([of(3, 0b100, 0xff, Forms::default()), of(3, 0b010, 0, PAPER), of(5, 0b11, 0, PAPER)]);
    cases
}

#[test]
fn gadgets() {
    for case in cases() {
        let columns = Gadget::ALL.map(|gadget| case.check(Work::Gadget(gadget)));
        println!("{case:?}: {columns:?}");
    }
}

#[test]
fn correlations() {
    let random_bits = Forms { correlations: CorrelationForm::RandomBits, ..PAPER };
    let others = [(3, 0b001), (5, 0b1010)].map(|(n, coalition)| Case { n, coalition, known: 0, forms: random_bits });
    for case in cases().into_iter().chain(others) {
        let columns = CORRELATIONS.map(|work| case.check(work));
        println!("{case:?}: {columns:?}");
    }
}

#[test]
fn inputs() {
    for n in [3, 5, 7] {
        for coalition in coalitions(n) {
            let case = Case { n, coalition, known: 0, forms: Forms::default() };
            assert!(case.check(Work::Inputs { known_to: coalition }) > 0);
        }
    }
}

/// Keys derive from the coins of the party that deals them: no two sets have the same key, and no two sessions.
#[test]
fn keys_of_sessions_are_fresh() {
    for n in [3, 5, 7] {
        let mut seen = BTreeSet::new();
        for _ in 0..2 {
            let heard = parties(n, |mut party| {
                party.insecure_record();
                let mut run = party.begin_alone().unwrap();
                run.phase(Phase::Offline, async |ctx| Rss::setup(ctx).await.map(drop)).unwrap();
                run.finish();
                let transcript = party.insecure_transcript();
                party.leave(false);
                transcript
            });
            let blocks = |message: &Received| message.bytes.chunks_exact(32).map(<[u8]>::to_vec).collect::<Vec<_>>();
            seen.extend(heard.iter().flatten().flat_map(blocks));
        }
        // The contribution of each party to the session's id, and a key of each set.
        assert_eq!(seen.len(), 2 * (n + coalitions(n).count()), "n {n}");
        assert!(!seen.contains(&vec![0; 32]));
    }
}
