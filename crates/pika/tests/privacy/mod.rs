//! Privacy by exhaustion over Z_2, Z_4 and Z_8. Each party knows two of the three seeds of pairs. Those are fixed, at
//! several values; the draws from the third one are enumerated with all inputs, one assignment in each lane of one
//! batch. What the party receives must have the same distribution for all inputs of the others that give the same
//! output, if it learns the output, or otherwise for all inputs.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

mod keys;

use crate::common::*;
use quorate_crypto::{Seed, SessionId, Tape, Tccr};
use quorate_engine::testing::{self, Received, parties};
use quorate_engine::{Checked, Ctx, Phase, Result, Sharing};
use quorate_fss::{Corrections, Hash, Keys, Roots, Shape, Side, window};
use quorate_gadgets::Gadgets;
use quorate_pika::{Comparisons, Pika};
use quorate_ring::{Bits, Ring, Vector};

/// The draws from the seeds that a party knows: some bits of this number for each draw, alike in all lanes.
const KNOWN: [u64; 5] = [0, u64::MAX, 0x6c9d_3a57_81e4_b2f6, 0x95b1_6e0c_d7f2_48a3, 0x3a5f_c9d2_7b81_e64c];

/// A variable of the enumeration: `width` bits of the lane's number, from bit `at` on.
#[derive(Clone, Copy)]
struct Var {
    at: u32,
    width: u32,
}

impl Var {
    fn of(self, lane: usize) -> u64 {
        lane as u64 >> self.at & mask(self.width)
    }
}

/// The layout of values in memory and in messages.
#[derive(Clone, Copy, Debug)]
enum Layout {
    /// `count` elements of Z_2^k for each lane, one after the other.
    Elements { k: u32, count: usize },
    /// Rows of bits.
    Rows(usize),
    /// A root of a key of a point of n bits: for each value of the leaves, one root that hashes to it. The result of
    /// the hash is uniform if the root is not known.
    Root { n: u32, side: usize },
    /// Corrections of such keys: a block in which one bit counts for each leaf.
    Corrections { n: u32 },
}

fn element(k: u32) -> Layout {
    Layout::Elements { k, count: 1 }
}

impl Layout {
    fn width(self) -> u32 {
        match self {
            Layout::Elements { k, .. } => k,
            Layout::Rows(rows) => rows as u32,
            Layout::Root { n, .. } | Layout::Corrections { n } => 1 << n,
        }
    }

    /// Returns a variable's values as they are drawn.
    fn drawn(self, values: &[u64]) -> Vec<u8> {
        if let Layout::Root { n, side } = self {
            let roots = roots(n, side);
            return values.iter().flat_map(|&leaves| roots[leaves as usize].to_le_bytes()).collect();
        }
        let mut vector = Vector::from_u64s(Ring::of(self.width()), values);
        match self {
            Layout::Elements { .. } => vector.bytes_mut().to_vec(),
            Layout::Rows(rows) => vector.to_bits(0..rows as u32).bytes_mut().to_vec(),
            Layout::Root { .. } | Layout::Corrections { .. } => panic!("blocks are no elements"),
        }
    }

    /// Returns the columns of a message.
    fn read(self, lanes: usize, bytes: &[u8]) -> Vec<Vec<u64>> {
        match self {
            Layout::Elements { k, count } => {
                let values = Vector::unpack(Ring::of(k), count * lanes, bytes).unwrap().to_u64s();
                values.chunks(lanes).map(<[u64]>::to_vec).collect()
            }
            Layout::Rows(rows) => {
                let bits = Bits::unpack(rows, lanes, bytes).unwrap();
                vec![bits.to_vector(Ring::of(rows as u32)).to_u64s()]
            }
            Layout::Root { .. } => panic!("roots are not sent"),
            Layout::Corrections { n } => {
                // The bits that fill the byte are the hash's alone and belong to no leaf.
                let blocks = Vector::unpack(Ring::of(128), lanes, bytes).unwrap().to_u128s();
                vec![blocks.into_iter().map(|block| block as u64 & mask(1 << n)).collect()]
            }
        }
    }
}

/// Returns, for each value of a side's leaves, a root that gives them without corrections.
fn roots(n: u32, side: usize) -> Vec<u128> {
    static FOUND: Mutex<BTreeMap<(u32, usize), Vec<u128>>> = Mutex::new(BTreeMap::new());
    let find = || {
        let hash = Hash::new(&Tccr::new(&SessionId::from_bytes([0; 32])));
        let shape = Shape::narrow(n).unwrap();
        let leaves = |root: u128| {
            let nothing = Corrections::from_blocks(shape, 1, &[0]).unwrap();
            let side = if side == 0 { Side::First } else { Side::Second };
            let keys = Keys::new(Roots::new(side, vec![root]), nothing).unwrap();
            window(&hash, &keys, &[0], 1 << n).words_of(0)[0]
        };
        let mut found = vec![None; 1 << (1 << n)];
        for root in (0..).map(|i: u128| i << 1).take_while(|&root| root < 1 << 20) {
            found[leaves(root) as usize].get_or_insert(root);
        }
        found.into_iter().map(|root| root.expect("all values are found")).collect()
    };
    FOUND.lock().unwrap().entry((n, side)).or_insert_with(find).clone()
}

/// Returns the draw of the root of a key of n bits, of the seed that a party does not have.
fn root(lacks: usize, n: u32) -> Draw {
    (lacks, Layout::Root { n, side: 1 - lacks })
}

/// Returns the messages with corrections, to parties 0 and 1.
fn corrections(n: u32) -> [Message; 2] {
    [0, 1].map(|to| ((2, to), Layout::Corrections { n }))
}

/// A protocol on inputs, and the parties that learn its output.
struct Case<'c> {
    name: &'c str,
    /// The inputs, with their owners.
    inputs: &'c [(usize, Layout)],
    /// Draws of seeds, each named by the party that does not have it, in order.
    draws: &'c [(usize, Layout)],
    /// Messages from one party to another, in order.
    messages: &'c [((usize, usize), Layout)],
    /// The revealed output; `learns` names the receivers.
    output: &'c (dyn Fn(&[u64]) -> u64 + Sync),
    learns: Option<Option<usize>>,
}

/// The variables of a case for one party: the inputs, and the draws that it does not know.
struct Plan {
    inputs: Vec<Var>,
    unknown: Vec<(Layout, Var)>,
    /// The number of all assignments.
    all: usize,
    /// The assignments of one run, which are one chunk.
    lanes: Range<usize>,
}

/// The largest number of lanes of a run.
const MOST_LANES: usize = 1 << 13;

impl Plan {
    fn of(case: &Case<'_>, viewer: usize) -> Plan {
        let mut bits = 0;
        let mut var = |layout: Layout| {
            bits += layout.width();
            Var { at: bits - layout.width(), width: layout.width() }
        };
        let inputs = case.inputs.iter().map(|&(_, layout)| var(layout)).collect();
        let unknown = case.draws.iter().filter(|(lacks, _)| *lacks == viewer);
        let unknown = unknown.map(|&(_, layout)| (layout, var(layout))).collect();
        Plan { inputs, unknown, all: 1 << bits, lanes: 0..MOST_LANES.min(1 << bits) }
    }

    fn values(&self, var: Var) -> Vec<u64> {
        self.lanes.clone().map(|lane| var.of(lane)).collect()
    }

    /// Returns the draws from the seed that `lacks` does not have: the unknown ones, or the same in every lane.
    fn tape(&self, case: &Case<'_>, lacks: usize, viewer: usize, known: u64) -> Vec<u8> {
        if lacks == viewer {
            return self.unknown.iter().flat_map(|&(layout, var)| layout.drawn(&self.values(var))).collect();
        }
        let draws = case.draws.iter().enumerate().filter(|(_, (of, _))| *of == lacks);
        let value = |i: usize, layout: Layout| known.rotate_right(5 * i as u32) & mask(layout.width());
        draws.flat_map(|(i, &(_, layout))| layout.drawn(&vec![value(i, layout); self.lanes.len()])).collect()
    }

    /// Returns the inputs of a lane, of some owners only.
    fn inputs(&self, case: &Case<'_>, lane: usize, of: impl Fn(usize) -> bool) -> u64 {
        let chosen = self.inputs.iter().zip(case.inputs).filter(|(_, (owner, _))| of(*owner));
        chosen.fold(0, |all, (var, _)| all << 8 | var.of(lane))
    }
}

/// An input as shares, of the type of its layout.
enum Shared {
    Values(A),
    Bits(B),
}

impl Shared {
    fn values(&self) -> &A {
        match self {
            Shared::Values(x) => x,
            Shared::Bits(_) => panic!("bits"),
        }
    }

    fn bits(&self) -> &B {
        match self {
            Shared::Bits(x) => x,
            Shared::Values(_) => panic!("values"),
        }
    }
}

impl Case<'_> {
    fn told(&self, party: usize) -> bool {
        self.learns.is_some_and(|to| to.is_none_or(|to| to == party))
    }

    /// Checks the views of all parties.
    fn check(&self, work: impl AsyncFn(&Pika, &Ctx, &[Shared]) -> Result<Shared> + Sync + Copy) {
        for (viewer, known) in (0..N).flat_map(|viewer| KNOWN.map(|known| (viewer, known))) {
            let mut plan = Plan::of(self, viewer);
            let (mut views, mut shown) = (Vec::new(), Vec::new());
            for first in (0..plan.all).step_by(MOST_LANES) {
                plan.lanes = first..plan.all.min(first + MOST_LANES);
                let (transcript, of_these) = self.observe(&plan, viewer, known, work);
                let columns = self.columns(viewer, plan.lanes.len(), &transcript);
                views.extend((0..plan.lanes.len()).map(|lane| columns.iter().map(|column| column[lane]).collect()));
                shown.extend(of_these);
            }
            let views: Vec<Vec<u64>> = views;
            let own = |lane: usize| plan.inputs(self, lane, |owner| owner == viewer);
            let hidden = |lane: usize| plan.inputs(self, lane, |owner| owner != viewer);
            let result = |lane: usize| (self.output)(&self.values_of(&plan, lane));
            let told = self.told(viewer);
            let allowed = |lane: usize| own(lane) << 8 | if told { result(lane) } else { 0 };
            let what = format!("{}, seeds of {known:#x}: party {viewer}", self.name);
            assert!(!leaks(&views, allowed, hidden), "{what} learns more than the output");
            if told {
                assert!(shown.iter().enumerate().all(|(lane, &shown)| shown == result(lane)), "{what} is told wrong");
                assert!(leaks(&views, own, hidden), "{what} was told, which the test does not see");
            }
        }
    }

    /// Returns what `viewer` received, in a column for each element.
    fn columns(&self, viewer: usize, lanes: usize, transcript: &[Received]) -> Vec<Vec<u64>> {
        let mut columns = Vec::new();
        for from in 0..N {
            let layouts: Vec<Layout> =
                self.messages.iter().filter(|(way, _)| *way == (from, viewer)).map(|(_, layout)| *layout).collect();
            let received: Vec<&Received> = transcript.iter().filter(|message| message.from == from).collect();
            assert_eq!(received.len(), layouts.len(), "{}: messages from {from} to {viewer}", self.name);
            columns.extend(layouts.iter().zip(received).flat_map(|(l, message)| l.read(lanes, &message.bytes)));
        }
        columns
    }

    fn values_of(&self, plan: &Plan, lane: usize) -> Vec<u64> {
        plan.inputs.iter().map(|var| var.of(lane)).collect()
    }

    /// Returns what `viewer` received, and what was revealed to it.
    fn observe(
        &self,
        plan: &Plan,
        viewer: usize,
        known: u64,
        work: impl AsyncFn(&Pika, &Ctx, &[Shared]) -> Result<Shared> + Sync,
    ) -> (Vec<Received>, Vec<u64>) {
        let mut all = parties(N, |mut party| {
            let me = party.me();
            let tape = |peer: usize| match peer == me {
                true => vec![],
                false => plan.tape(self, N - me - peer, viewer, known),
            };
            let bytes: Vec<Vec<u8>> = (0..N).map(tape).collect();
            let tapes: Vec<Arc<Tape>> = bytes.iter().map(|bytes| Tape::new(bytes.clone())).collect();
            let s =
                Pika::insecure_with_seeds(me, |peer| Seed::insecure_with_tape([0; 32], tapes[peer].clone())).unwrap();
            s.set_comparisons(Comparisons::EdaBits);
            party.insecure_record();
            let mut run = party.begin_alone().unwrap();
            let shown = run.phase(Phase::Online, async |ctx| {
                let mut shared = Vec::new();
                for (&var, &(owner, layout)) in plan.inputs.iter().zip(self.inputs) {
                    let vector = Vector::from_u64s(Ring::of(layout.width()), &plan.values(var));
                    let own = (me == owner).then_some(vector);
                    shared.push(match layout {
                        Layout::Elements { k, .. } => {
                            Shared::Values(s.input(ctx, owner, (Ring::of(k), plan.lanes.len()), own.as_ref()).await?)
                        }
                        Layout::Root { .. } | Layout::Corrections { .. } => panic!("no inputs"),
                        Layout::Rows(rows) => {
                            let own = own.map(|own| own.to_bits(0..rows as u32));
                            Shared::Bits(s.input_bits(ctx, owner, (rows, plan.lanes.len()), own.as_ref()).await?)
                        }
                    });
                }
                let result = work(&s, ctx, &shared).await?;
                let Some(to) = self.learns else { return Ok(vec![]) };
                let checked = Checked::unneeded();
                Ok(match &result {
                    Shared::Values(x) => s.reveal(ctx, &checked, x, to).await?.map(|v| v.to_u64s()),
                    Shared::Bits(x) => {
                        let shown = s.reveal_bits(ctx, &checked, x, to).await?;
                        shown.map(|bits| bits.to_vector(Ring::of(bits.rows() as u32)).to_u64s())
                    }
                }
                .unwrap_or_default())
            });
            run.finish();
            for (peer, (tape, bytes)) in tapes.iter().zip(&bytes).enumerate() {
                assert_eq!(tape.drawn(), bytes.len(), "{}: what parties {me} and {peer} draw", self.name);
            }
            let transcript = party.insecure_transcript();
            party.leave(false);
            (transcript, shown.unwrap())
        });
        all.swap_remove(viewer)
    }
}

/// [`testing::leaks`], lane by lane.
fn leaks(views: &[Vec<u64>], allowed: impl Fn(usize) -> u64, hidden: impl Fn(usize) -> u64) -> bool {
    let lanes = || 0..views.len();
    testing::leaks(views, &lanes().map(allowed).collect::<Vec<_>>(), &lanes().map(hidden).collect::<Vec<_>>())
}

/// The receivers: no party, all parties, or one party.
const TOLD: [Option<Option<usize>>; 5] = [None, Some(None), Some(Some(0)), Some(Some(1)), Some(Some(2))];

/// A draw of the seed that a party does not have.
type Draw = (usize, Layout);
/// Sender and receiver, and the layout.
type Message = ((usize, usize), Layout);

/// Returns the draw of an input, and the message of its passed share.
fn of_input(owner: usize, layout: Layout) -> (Draw, Option<Message>) {
    match owner {
        2 => ((1, layout), Some(((2, 1), layout))),
        _ => ((2, layout), None),
    }
}

/// Returns the draw of a result's fresh shares, and its messages.
fn of_output(learns: Option<Option<usize>>, layout: Layout) -> (Option<Draw>, Vec<Message>) {
    let told = |to: usize| learns.is_some_and(|learns| learns.is_none_or(|party| party == to));
    let ways = [(0, 1), (1, 0), (0, 2), (1, 2)].into_iter().filter(|&(_, to)| told(to));
    (told(2).then_some((2, layout)), ways.map(|way| (way, layout)).collect())
}

/// Draws and messages of a whole case: inputs, protocol, output.
type Lists = (Vec<Draw>, Vec<Message>);

fn lists(inputs: &[(usize, Layout)], (draws, messages): Lists, learns: Option<Option<usize>>, output: Layout) -> Lists {
    let (drawn, passed): (Vec<_>, Vec<_>) = inputs.iter().map(|&(owner, layout)| of_input(owner, layout)).unzip();
    let (fresh, shown) = of_output(learns, output);
    (
        drawn.into_iter().chain(draws).chain(fresh).collect(),
        passed.into_iter().flatten().chain(messages).chain(shown).collect(),
    )
}

fn both_ways(layout: Layout) -> [Message; 2] {
    [((0, 1), layout), ((1, 0), layout)]
}

#[test]
fn inputs_and_sums() {
    for k in [1, 2] {
        for (learns, owners) in TOLD.into_iter().flat_map(|told| [(0, 1), (0, 2), (2, 1), (2, 2)].map(|o| (told, o))) {
            let inputs = [(owners.0, element(k)), (owners.1, element(k))];
            let (draws, messages) = lists(&inputs, (vec![], vec![]), learns, element(k));
            let output = |values: &[u64]| (values[0] + values[1]) & mask(k);
            // A party that owns all inputs learns nothing new.
            if owners == (2, 2) && learns.is_some_and(|to| to.is_none_or(|to| to == 2)) {
                continue;
            }
            let (name, inputs) = ("sum", &inputs[..]);
            let case = Case { name, inputs, draws: &draws, messages: &messages, output: &output, learns };
            case.check(async |s, _, x| Ok(Shared::Values(s.add(x[0].values(), x[1].values()))));
        }
    }
}

#[test]
fn products() {
    for k in [1, 2] {
        for (learns, owners) in TOLD.into_iter().flat_map(|told| [(0, 1), (0, 2), (1, 2)].map(|o| (told, o))) {
            let inputs = [(owners.0, element(k)), (owners.1, element(k))];
            let draws = [(1, element(k)); 3].into_iter().chain([(0, element(k)); 2]).collect();
            let opened = Layout::Elements { k, count: 2 };
            let messages = [((2, 1), element(k))].into_iter().chain(both_ways(opened)).collect();
            let (draws, messages) = lists(&inputs, (draws, messages), learns, element(k));
            let output = |values: &[u64]| (values[0] * values[1]) & mask(k);
            let (name, inputs) = ("product", &inputs[..]);
            let case = Case { name, inputs, draws: &draws, messages: &messages, output: &output, learns };
            case.check(async |s, ctx, x| Ok(Shared::Values(s.mul(ctx, x[0].values(), x[1].values()).await?)));
        }
    }
}

/// Two products by one factor: its mask is used twice, and the messages show nothing of it.
#[test]
fn products_by_a_factor() {
    for k in [1, 2] {
        for (learns, owners) in TOLD.into_iter().flat_map(|told| [(0, 1), (1, 0), (0, 2), (2, 1)].map(|o| (told, o))) {
            // All of this in Z_4 has more assignments than a test can enumerate: one product there.
            let times = if k == 1 { 2 } else { 1 };
            let inputs: Vec<_> =
                std::iter::once((owners.0, element(k))).chain(vec![(owners.1, element(k)); times]).collect();
            let mut draws = vec![(1, element(k)), (0, element(k))];
            let mut messages = both_ways(element(k)).to_vec();
            for _ in 0..times {
                draws.extend([(1, element(k)), (1, element(k)), (0, element(k))]);
                messages.push(((2, 1), element(k)));
                messages.extend(both_ways(element(k)));
            }
            let (draws, messages) = lists(&inputs, (draws, messages), learns, element(k));
            let output = |values: &[u64]| values[1..].iter().map(|x| values[0] * x).sum::<u64>() & mask(k);
            let (name, inputs) = ("products by a factor", &inputs[..]);
            let case = Case { name, inputs, draws: &draws, messages: &messages, output: &output, learns };
            case.check(async |s, ctx, x| {
                let factor = s.as_factor(ctx, x[0].values(), 1).await?;
                let mut sum = s.mul(ctx, &factor, x[1].values()).await?;
                for x in &x[2..] {
                    sum = s.add(&sum, &s.mul(ctx, x.values(), &factor).await?);
                }
                Ok(Shared::Values(sum))
            });
        }
    }
}

#[test]
fn ands() {
    let row = Layout::Rows(1);
    for (learns, owners) in TOLD.into_iter().flat_map(|told| [(0, 1), (0, 2), (1, 2)].map(|o| (told, o))) {
        let inputs = [(owners.0, row), (owners.1, row)];
        let draws = [(1, row); 3].into_iter().chain([(0, row); 2]).collect();
        let messages = [((2, 1), row)].into_iter().chain(both_ways(Layout::Rows(2))).collect();
        let (draws, messages) = lists(&inputs, (draws, messages), learns, row);
        let output = |values: &[u64]| values[0] & values[1];
        let (name, inputs) = ("and", &inputs[..]);
        let case = Case { name, inputs, draws: &draws, messages: &messages, output: &output, learns };
        case.check(async |s, ctx, x| Ok(Shared::Bits(s.and(ctx, x[0].bits(), x[1].bits()).await?)));
    }
}

#[test]
fn selections() {
    let (k, row) = (2, Layout::Rows(1));
    for (learns, owners) in TOLD.into_iter().flat_map(|told| [(0, 1), (1, 0), (2, 0), (1, 2)].map(|o| (told, o))) {
        let inputs = [(owners.0, row), (owners.1, element(k))];
        let draws = [(1, element(k)); 3].into_iter().chain([(1, row), (0, element(k)), (0, row)]).collect();
        let dealt = [((2, 1), element(k)); 2].into_iter();
        let messages = dealt.chain(both_ways(row)).chain(both_ways(element(k))).collect();
        let (draws, messages) = lists(&inputs, (draws, messages), learns, element(k));
        let output = |values: &[u64]| values[0] * values[1];
        let (name, inputs) = ("selection", &inputs[..]);
        let case = Case { name, inputs, draws: &draws, messages: &messages, output: &output, learns };
        case.check(async |s, ctx, x| Ok(Shared::Values(s.mask(ctx, x[0].bits(), x[1].values()).await?)));
    }
}

/// The top bit of a number of three bits: its mask comes with the product of its two lower bits.
#[test]
fn top_bits() {
    let (k, row) = (3, Layout::Rows(1));
    for (learns, owner) in TOLD.into_iter().flat_map(|told| [0, 1, 2].map(|owner| (told, owner))) {
        if learns.is_some_and(|to| to.is_none_or(|to| to == owner)) {
            continue;
        }
        let inputs = [(owner, element(k))];
        let draws = vec![(1, element(k)), (1, Layout::Rows(3)), (1, row), (0, element(k))];
        let dealt = [((2, 1), Layout::Rows(3)), ((2, 1), row)].into_iter();
        let messages = dealt.chain(both_ways(element(k))).collect();
        let (draws, messages) = lists(&inputs, (draws, messages), learns, row);
        let (name, inputs) = ("top bit", &inputs[..]);
        let output = |values: &[u64]| values[0] >> 2;
        let case = Case { name, inputs, draws: &draws, messages: &messages, output: &output, learns };
        case.check(async |s, ctx, x| Ok(Shared::Bits(s.msb(ctx, x[0].values()).await?)));
    }
}

/// Probabilistic truncation, whose result has a rounding bit and is not revealed here.
#[test]
fn probabilistic_truncation() {
    let k = 3;
    for owner in 0..N {
        let inputs = [(owner, element(k))];
        let draws = vec![(1, element(k)), (1, element(k)), (1, element(2)), (0, element(k))];
        let dealt = [((2, 1), element(k)), ((2, 1), element(2))].into_iter();
        let messages = dealt.chain(both_ways(element(k))).collect();
        let (draws, messages) = lists(&inputs, (draws, messages), None, element(k));
        let (name, inputs, output) = ("truncation", &inputs[..], |_: &[u64]| 0);
        let case = Case { name, inputs, draws: &draws, messages: &messages, output: &output, learns: None };
        case.check(async |s, ctx, x| Ok(Shared::Values(s.trunc_prob(ctx, x[0].values(), 1).await?)));
    }
}

/// The tests above would detect a leak: shares of a product that are revealed without fresh shares show party 2, which
/// knows the triple, more than the product.
#[test]
fn shares_that_are_not_made_anew_would_tell_the_dealer() {
    let k = 2;
    let inputs = [(0, element(k)), (1, element(k))];
    let draws: Vec<_> =
        [(2, element(k)); 2].into_iter().chain([(1, element(k)); 3]).chain([(0, element(k)); 2]).collect();
    let opened = Layout::Elements { k, count: 2 };
    let shown = [((0, 2), element(k)), ((1, 2), element(k))];
    let messages: Vec<_> = [((2, 1), element(k))].into_iter().chain(both_ways(opened)).chain(shown).collect();
    let output = |values: &[u64]| (values[0] * values[1]) & mask(k);
    let case =
        Case { name: "shares", inputs: &inputs, draws: &draws, messages: &messages, output: &output, learns: None };
    let plan = Plan::of(&case, 2);
    let (transcript, _) = case.observe(&plan, 2, KNOWN[2], async |s, ctx, x| {
        let product = s.mul(ctx, x[0].values(), x[1].values()).await?;
        match ctx.me() {
            2 => {
                for from in 0..2 {
                    ctx.receive::<Vector>(from, (Ring::of(k), plan.lanes.len())).await?;
                }
            }
            _ => ctx.send(2, &*product).await?,
        }
        Ok(Shared::Values(product))
    });
    let columns: Vec<Vec<u64>> = transcript.iter().flat_map(|m| element(k).read(plan.all, &m.bytes)).collect();
    assert_eq!(columns.len(), 2);
    let views: Vec<Vec<u64>> = (0..plan.all).map(|lane| columns.iter().map(|column| column[lane]).collect()).collect();
    let result = |lane: usize| output(&case.values_of(&plan, lane));
    assert!((0..plan.all).all(|lane| (columns[0][lane] + columns[1][lane]) & mask(k) == result(lane)));
    assert!(leaks(&views, result, |lane| plan.inputs(&case, lane, |_| true)));
}
