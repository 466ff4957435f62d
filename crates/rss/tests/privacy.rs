//! Tests of privacy by exhaustion, n = 3, over Z_2 and Z_4. All randomness and all inputs are enumerated, one
//! assignment for each lane of one batch. A party's view is what it draws and what it receives. Its exact distribution
//! must be the same for all inputs of the others that give the same output, or, for correlations, for all their values.

use crate::common::*;
use quorate_crypto::{Seed, Tape};
use quorate_engine::testing::{self, Received, parties};
use quorate_engine::{Checked, Ctx, Opened, Phase, Result, Sharing};
use quorate_gadgets::Gadgets;
use quorate_ring::{Bits, Ring, Vector};
use quorate_rss::Rss;

const N: usize = 3;

/// A variable of the enumeration: `width` bits of the lane's number, from bit `at` on.
#[derive(Clone, Copy)]
pub(crate) struct Var {
    at: u32,
    width: u32,
}

impl Var {
    pub(crate) fn of(self, lane: usize) -> u64 {
        lane as u64 >> self.at & mask(self.width)
    }
}

/// The layout of a lane's values in memory and in messages.
#[derive(Clone, Copy)]
pub(crate) enum Layout {
    /// An element of Z_2^k.
    Element { k: u32 },
    /// This number of rows of bits.
    Rows { rows: usize },
    /// An element of Z_2^k in the lanes of one block.
    Piece { k: u32, block: usize },
    /// Rows of bits of the lanes of one block: the batch contains every assignment three times, once for each block.
    Block { rows: usize, block: usize },
    /// `count` bytes that are the same in every lane.
    Same { byte: u8, count: usize },
}

/// The source of a draw.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Source {
    /// The key of the share that only this party misses.
    Missed { by: usize },
    /// A party's own coins.
    Private { party: usize },
    /// The key of a share that the coalition under test lacks.
    Key { set: u8 },
}

/// All inputs and all draws, each draw in the order of its source.
#[derive(Default)]
pub(crate) struct Plan {
    bits: u32,
    /// The number of times that the batch contains every assignment, less one.
    copies: usize,
    draws: Vec<(Source, Layout, Var)>,
}

impl Plan {
    /// Returns a plan with every assignment three times, once for each block.
    pub(crate) fn in_blocks() -> Plan {
        Plan { copies: N - 1, ..Plan::default() }
    }

    /// Adds a draw of a variable that may be drawn in several blocks.
    pub(crate) fn draw_var(&mut self, source: Source, layout: Layout, var: Var) {
        self.draws.push((source, layout, var));
    }

    pub(crate) fn var(&mut self, width: u32) -> Var {
        self.bits += width;
        Var { at: self.bits - width, width }
    }

    pub(crate) fn draw(&mut self, source: Source, layout: Layout) -> Var {
        let width = match layout {
            Layout::Element { k } | Layout::Piece { k, .. } => k,
            Layout::Rows { rows } | Layout::Block { rows, .. } => rows as u32,
            Layout::Same { .. } => 0,
        };
        self.draw_some(source, layout, width)
    }

    /// Adds a draw of which only the lowest `width` bits matter.
    fn draw_some(&mut self, source: Source, layout: Layout, width: u32) -> Var {
        let var = self.var(width);
        self.draws.push((source, layout, var));
        var
    }

    /// Adds the one draw of an input: from the key that the owner shares with the party after it.
    fn draw_input(&mut self, owner: usize, layout: Layout) {
        self.draw(Source::Missed { by: (owner + 2) % N }, layout);
    }

    /// Adds the draws of a product, or of the masks of MulPub.
    fn draw_product(&mut self, layout: Layout) {
        for by in 0..N {
            self.draw(Source::Missed { by }, layout);
        }
    }

    /// Returns the variables that come from these sources, in the order of their draws.
    pub(crate) fn vars_of(&self, from: impl Fn(Source) -> bool) -> Vec<Var> {
        self.draws.iter().filter(|(source, _, _)| from(*source)).map(|(_, _, var)| *var).collect()
    }

    pub(crate) fn lanes(&self) -> usize {
        (1 + self.copies) << self.bits
    }

    /// Returns the lanes of a block.
    pub(crate) fn block(&self, block: usize) -> std::ops::Range<usize> {
        block << self.bits..(block + 1) << self.bits
    }

    /// Sets values to zero where a layout has none.
    fn masked(&self, layout: Layout, mut values: Vec<u64>) -> Vec<u64> {
        if let Layout::Block { block, .. } | Layout::Piece { block, .. } = layout {
            let lanes = self.block(block);
            values.iter_mut().enumerate().filter(|(lane, _)| !lanes.contains(lane)).for_each(|(_, value)| *value = 0);
        }
        values
    }

    fn values(&self, var: Var) -> Vec<u64> {
        (0..self.lanes()).map(|lane| var.of(lane)).collect()
    }

    pub(crate) fn vector(&self, var: Var, k: u32) -> Vector {
        Vector::from_u64s(Ring::of(k), &self.values(var))
    }

    fn bits(&self, var: Var) -> Bits {
        self.vector(var, var.width).to_bits(0..var.width)
    }

    pub(crate) fn tape(&self, source: Source) -> Vec<u8> {
        let own = self.draws.iter().filter(|(from, _, _)| *from == source);
        own.flat_map(|&(_, layout, var)| match layout {
            Layout::Element { k } => self.vector(var, k).bytes_mut().to_vec(),
            Layout::Piece { k, block } => self.vector(var, k).slice(self.block(block)).bytes_mut().to_vec(),
            Layout::Rows { .. } => self.bits(var).bytes_mut().to_vec(),
            Layout::Block { block, .. } => self.bits(var).slice_lanes(self.block(block)).bytes_mut().to_vec(),
            Layout::Same { byte, count } => vec![byte; count],
        })
        .collect()
    }

    /// Returns a message, lane by lane.
    pub(crate) fn unpack(&self, layout: Layout, bytes: &[u8]) -> Vec<u64> {
        let lanes = self.lanes();
        match layout {
            Layout::Element { k } => Vector::unpack(Ring::of(k), lanes, bytes).unwrap().to_u64s(),
            Layout::Rows { rows } => {
                Bits::unpack(rows, lanes, bytes).unwrap().to_vector(Ring::of(rows as u32)).to_u64s()
            }
            Layout::Piece { k, block } => {
                let range = self.block(block);
                let mut values = vec![0; lanes];
                let part = Vector::unpack(Ring::of(k), range.len(), bytes).unwrap().to_u64s();
                values[range].copy_from_slice(&part);
                values
            }
            Layout::Block { rows, block } => {
                let range = self.block(block);
                let mut bits = Bits::zeros(rows, lanes);
                bits.write_lanes_at(range.start, &Bits::unpack(rows, range.len(), bytes).unwrap());
                bits.to_vector(Ring::of(rows as u32)).to_u64s()
            }
            Layout::Same { .. } => vec![0; lanes],
        }
    }

    fn knows(&self, party: usize, source: Source) -> bool {
        match source {
            Source::Missed { by } => by != party,
            Source::Private { party: owner } => owner == party,
            Source::Key { .. } => false,
        }
    }
}

/// A party's view in every lane, and the values revealed outside the protocol.
struct Seen {
    views: Vec<Vec<u64>>,
    revealed: Vec<u64>,
}

/// Runs `protocol` (recorded), then `reveal` (not recorded), on the tapes of `plan`.
fn observe<T>(
    plan: &Plan,
    messages: &(dyn Fn(usize, usize) -> Vec<Layout> + Sync),
    protocol: impl AsyncFn(&Rss, &Ctx) -> Result<T> + Sync,
    reveal: impl AsyncFn(&Rss, &Ctx, T) -> Result<Vec<u64>> + Sync,
) -> Vec<Seen> {
    // What several parties draw is made once for all of them.
    let missed: Vec<Vec<u8>> = (0..N).map(|by| plan.tape(Source::Missed { by })).collect();
    parties(N, |mut party| {
        let me = party.me();
        let shared: Vec<_> = missed.iter().map(|bytes| Tape::new(bytes.clone())).collect();
        let own = plan.tape(Source::Private { party: me });
        let (len, private) = (own.len(), Tape::new(own));
        let seed_of = |set: u8| Seed::insecure_with_tape([0; 32], shared[set.trailing_zeros() as usize].clone());
        let own = Seed::insecure_with_tape([0; 32], private.clone());
        let rss = Rss::with_seeds(session(), (N, me), seed_of, own).unwrap();
        party.insecure_record();
        let mut run = party.begin_alone().unwrap();
        let made = run.phase(Phase::Offline, async |ctx| protocol(&rss, ctx).await).unwrap();
        run.finish();
        let transcript = party.insecure_transcript();
        for (by, tape) in shared.iter().enumerate().filter(|(by, _)| *by != me) {
            assert_eq!(tape.drawn(), missed[by].len(), "key {by} at party {me}");
        }
        assert_eq!(private.drawn(), len, "coins of party {me}");
        let mut run = party.begin_alone().unwrap();
        let revealed = run.phase(Phase::Online, async |ctx| reveal(&rss, ctx, made).await).unwrap();
        run.finish();
        party.leave(false);
        Seen { views: decode(plan, me, &transcript, messages), revealed }
    })
}

/// Returns a party's messages and draws, lane by lane.
fn decode(
    plan: &Plan,
    me: usize,
    transcript: &[Received],
    messages: &(dyn Fn(usize, usize) -> Vec<Layout> + Sync),
) -> Vec<Vec<u64>> {
    let lanes = plan.lanes();
    let mut columns: Vec<Vec<u64>> = plan
        .draws
        .iter()
        .filter(|(source, _, _)| plan.knows(me, *source))
        .map(|&(_, layout, var)| plan.masked(layout, plan.values(var)))
        .collect();
    for from in 0..N {
        let received: Vec<&Received> = transcript.iter().filter(|message| message.from == from).collect();
        let layouts = messages(me, from);
        assert_eq!(received.len(), layouts.len(), "messages from {from} to {me}");
        columns.extend(received.into_iter().zip(layouts).map(|(message, layout)| plan.unpack(layout, &message.bytes)));
    }
    (0..lanes).map(|lane| columns.iter().map(|column| column[lane]).collect()).collect()
}

/// Calls [`testing::leaks`], lane by lane.
pub(crate) fn leaks(views: &[Vec<u64>], allowed: impl Fn(usize) -> u64, hidden: impl Fn(usize) -> u64) -> bool {
    let lanes = || 0..views.len();
    testing::leaks(views, &lanes().map(allowed).collect::<Vec<_>>(), &lanes().map(hidden).collect::<Vec<_>>())
}

/// Checks all three views of a function of two inputs, x of party 0 and y of party 1.
fn check_function(seen: &[Seen], (x, y): (Var, Var), output: impl Fn(u64, u64) -> u64, opened: bool) {
    for (me, seen) in seen.iter().enumerate() {
        let own = |lane: usize| [x.of(lane), y.of(lane), 0][me];
        let hidden = |lane: usize| [y.of(lane), x.of(lane), x.of(lane) << 8 | y.of(lane)][me];
        let result = |lane: usize| output(x.of(lane), y.of(lane));
        let allowed = |lane: usize| own(lane) << 8 | if opened { result(lane) } else { 0 };
        assert!(!leaks(&seen.views, allowed, hidden), "party {me} learns more than the output");
        if opened {
            assert!(seen.revealed.iter().enumerate().all(|(lane, &got)| got == result(lane)));
            assert!(leaks(&seen.views, own, hidden), "the test does not see that the output was opened to {me}");
        }
    }
}

fn element(k: u32) -> Layout {
    Layout::Element { k }
}

/// Returns the layout of messages of one round in which every party receives from its successor.
fn from_next(me: usize, from: usize, layout: Layout) -> Option<Layout> {
    (from == (me + 1) % N).then_some(layout)
}

/// Returns the layout of the messages of an input by `owner`.
fn of_input(me: usize, from: usize, owner: usize, layout: Layout) -> Option<Layout> {
    (from == owner).then(|| from_next(me, from, layout)).flatten()
}

async fn two_inputs(rss: &Rss, ctx: &Ctx, plan: &Plan, (x, y): (Var, Var), k: u32) -> Result<(A, A)> {
    let shape = (Ring::of(k), plan.lanes());
    let a = rss.input(ctx, 0, shape, (ctx.me() == 0).then(|| plan.vector(x, k)).as_ref()).await?;
    let b = rss.input(ctx, 1, shape, (ctx.me() == 1).then(|| plan.vector(y, k)).as_ref()).await?;
    Ok((a, b))
}

#[test]
fn products() {
    for k in [1, 2] {
        for opened in [false, true] {
            let mut plan = Plan::default();
            let inputs = (plan.var(k), plan.var(k));
            plan.draw_input(0, element(k));
            plan.draw_input(1, element(k));
            plan.draw_product(element(k));
            let messages = |me, from| {
                let input = |owner| of_input(me, from, owner, element(k));
                let round = || from_next(me, from, element(k));
                [input(0), input(1), round(), round().filter(|_| opened)].into_iter().flatten().collect()
            };
            let protocol = async |rss: &Rss, ctx: &Ctx| {
                let (a, b) = two_inputs(rss, ctx, &plan, inputs, k).await?;
                let product = rss.mul(ctx, &a, &b).await?;
                if opened { open(rss, ctx, &product).await } else { Ok(Vec::new()) }
            };
            let seen = observe(&plan, &messages, protocol, async |_, _, values| Ok(values));
            check_function(&seen, inputs, |x, y| (x * y) & mask(k), opened);
        }
    }
}

#[test]
fn opened_products() {
    for k in [1, 2] {
        let mut plan = Plan::default();
        let inputs = (plan.var(k), plan.var(k));
        plan.draw_input(0, element(k));
        plan.draw_input(1, element(k));
        plan.draw_product(element(k));
        let messages = |me, from| {
            let input = |owner| of_input(me, from, owner, element(k));
            [input(0), input(1), (from != me).then(|| element(k))].into_iter().flatten().collect()
        };
        let protocol = async |rss: &Rss, ctx: &Ctx| {
            let (a, b) = two_inputs(rss, ctx, &plan, inputs, k).await?;
            Ok(rss.multiply_and_open(ctx, &a, &b).await?.to_u64s())
        };
        let seen = observe(&plan, &messages, protocol, async |_, _, values| Ok(values));
        check_function(&seen, inputs, |x, y| (x * y) & mask(k), true);
    }
}

#[test]
fn sums_opened_to_all_or_to_one() {
    for k in [1, 2] {
        for to in [None, Some(0), Some(1), Some(2)] {
            let mut plan = Plan::default();
            let (x, y) = (plan.var(k), plan.var(k));
            plan.draw_input(0, element(k));
            plan.draw_input(1, element(k));
            let messages = |me, from| {
                let input = |owner| of_input(me, from, owner, element(k));
                let told = from_next(me, from, element(k)).filter(|_| to.is_none_or(|to| to == me));
                [input(0), input(1), told].into_iter().flatten().collect()
            };
            let protocol = async |rss: &Rss, ctx: &Ctx| {
                let (a, b) = two_inputs(rss, ctx, &plan, (x, y), k).await?;
                let sum = rss.add(&a, &b);
                rss.reveal(ctx, &Checked::unneeded(), &sum, to).await
            };
            let reveal =
                async |_: &Rss, _: &Ctx, sum: Option<Opened<Vector>>| Ok(sum.map_or(Vec::new(), |v| v.to_u64s()));
            let mut seen = observe(&plan, &messages, protocol, reveal);
            // Gives the sum to all parties, and checks that the other parties did not know it.
            let sum = |lane: usize| (x.of(lane) + y.of(lane)) & mask(k);
            for (me, seen) in seen.iter_mut().enumerate() {
                let own = |lane: usize| [x.of(lane), y.of(lane), 0][me];
                let hidden = |lane: usize| x.of(lane) << 8 | y.of(lane);
                if to.is_none_or(|to| to == me) {
                    assert!(seen.revealed.iter().enumerate().all(|(lane, &got)| got == sum(lane)));
                    assert!(!leaks(&seen.views, |lane| own(lane) << 8 | sum(lane), hidden), "party {me}");
                    assert!(leaks(&seen.views, own, hidden), "party {me}");
                } else {
                    assert!(!leaks(&seen.views, own, hidden), "party {me} learns what is told to {to:?}");
                }
            }
        }
    }
}

#[test]
fn ands() {
    for rows in [1, 2] {
        let layout = Layout::Rows { rows };
        let mut plan = Plan::default();
        let (x, y) = (plan.var(rows as u32), plan.var(rows as u32));
        plan.draw_input(0, layout);
        plan.draw_input(1, layout);
        plan.draw_product(layout);
        let messages = |me, from| {
            let input = |owner| of_input(me, from, owner, layout);
            let round = || from_next(me, from, layout);
            [input(0), input(1), round(), round()].into_iter().flatten().collect()
        };
        let protocol = async |rss: &Rss, ctx: &Ctx| {
            let shape = (rows, plan.lanes());
            let a = rss.input_bits(ctx, 0, shape, (ctx.me() == 0).then(|| plan.bits(x)).as_ref()).await?;
            let b = rss.input_bits(ctx, 1, shape, (ctx.me() == 1).then(|| plan.bits(y)).as_ref()).await?;
            let opened = rss.open_bits(ctx, &rss.and(ctx, &a, &b).await?).await?;
            Ok(opened.to_vector(Ring::of(rows as u32)).to_u64s())
        };
        let seen = observe(&plan, &messages, protocol, async |_, _, values| Ok(values));
        check_function(&seen, (x, y), |x, y| x & y, true);
    }
}

#[test]
fn random_bits() {
    for k in [1, 2] {
        let wide = k + 2;
        let mut plan = Plan::default();
        // u is doubled, so its top bit is lost.
        for by in 0..N {
            plan.draw_some(Source::Missed { by }, element(wide), wide - 1);
        }
        plan.draw_product(element(wide));
        let messages = |me: usize, from: usize| (from != me).then(|| element(wide)).into_iter().collect();
        let ring = Ring::of(k);
        let lanes = plan.lanes();
        let protocol = async |rss: &Rss, ctx: &Ctx| {
            rss.set_forms(PAPER);
            rss.random_bits(ctx, ring, lanes).await
        };
        let seen = observe(&plan, &messages, protocol, async |rss, ctx, bits| open(rss, ctx, &bits).await);
        for (me, seen) in seen.iter().enumerate() {
            assert!(seen.revealed.contains(&0) && seen.revealed.contains(&1));
            assert!(!leaks(&seen.views, |_| 0, |lane| seen.revealed[lane]), "party {me} can guess a random bit");
        }
    }
}

#[test]
fn edabits() {
    for k in [1, 2u32] {
        let mut plan = Plan::default();
        let summands: Vec<Var> = (0..2).map(|party| plan.draw(Source::Private { party }, element(k))).collect();
        let rows = Layout::Rows { rows: k as usize };
        let carry = Layout::Rows { rows: 1 };
        for owner in 0..2 {
            plan.draw_input(owner, element(k));
            plan.draw_input(owner, rows);
        }
        if k == 2 {
            plan.draw_product(carry);
        }
        let messages = |me, from| {
            let inputs = (0..2).flat_map(|owner| [(owner, element(k)), (owner, rows)]);
            let inputs = inputs.filter_map(|(owner, layout)| of_input(me, from, owner, layout));
            inputs.chain(from_next(me, from, carry).filter(|_| k == 2)).collect()
        };
        let lanes = plan.lanes();
        let protocol = async |rss: &Rss, ctx: &Ctx| {
            rss.set_forms(PAPER);
            rss.edabits(ctx, Ring::of(k), None, lanes).await
        };
        let seen = observe(&plan, &messages, protocol, async |rss, ctx, eda| {
            let bits = rss.open_bits(ctx, &eda.bits).await?.to_vector(Ring::of(k)).to_u64s();
            assert_eq!(bits, open(rss, ctx, &eda.value).await?);
            Ok(bits)
        });
        for (me, seen) in seen.iter().enumerate() {
            let sum = |lane: usize| (summands[0].of(lane) + summands[1].of(lane)) & mask(k);
            assert!(seen.revealed.iter().enumerate().all(|(lane, &r)| r == sum(lane)));
            assert!(!leaks(&seen.views, |_| 0, sum), "party {me} knows something of the mask");
            let other = 1 - me.min(1);
            assert!(!leaks(&seen.views, |_| 0, |lane| summands[other].of(lane)), "party {me}");
        }
    }
}

/// Tests the top bit of x + y over Z_4, computed from summands that parties know, for the owner of each block.
#[test]
fn top_bits_from_summands() {
    let k = 2;
    for opened in [false, true] {
        let mut plan = Plan::in_blocks();
        let inputs = (plan.var(k), plan.var(k));
        plan.draw_input(0, element(k));
        plan.draw_input(1, element(k));
        let (drawn, first, second) = (plan.var(k), plan.var(1), plan.var(1));
        // The draws of the key that q lacks: for the input of block q+1, then for the products of blocks q-1 and q+1.
        for by in 0..N {
            let (after, before) = ((by + 1) % N, (by + 2) % N);
            plan.draw_var(Source::Missed { by }, Layout::Block { rows: 2, block: after }, drawn);
            plan.draw_var(Source::Missed { by }, Layout::Block { rows: 1, block: before }, first);
            plan.draw_var(Source::Missed { by }, Layout::Block { rows: 1, block: after }, second);
        }
        let messages = |me: usize, from: usize| {
            let (next, after) = ((me + 1) % N, (me + 2) % N);
            let mut all: Vec<Layout> = (0..2).filter_map(|owner| of_input(me, from, owner, element(k))).collect();
            if from == next {
                all.extend([Layout::Block { rows: 2, block: next }, Layout::Block { rows: 1, block: after }]);
                all.extend(opened.then_some(Layout::Rows { rows: 1 }));
            } else if from == after {
                all.push(Layout::Block { rows: 1, block: next });
            }
            all
        };
        let protocol = async |rss: &Rss, ctx: &Ctx| {
            let (a, b) = two_inputs(rss, ctx, &plan, inputs, k).await?;
            let top = rss.msb(ctx, &rss.add(&a, &b)).await?;
            if opened { Ok(rss.open_bits(ctx, &top).await?.to_vector(Ring::of(1)).to_u64s()) } else { Ok(Vec::new()) }
        };
        let seen = observe(&plan, &messages, protocol, async |_, _, values| Ok(values));
        for block in 0..N {
            let lanes = plan.block(block);
            let part = |seen: &Seen| Seen {
                views: seen.views[lanes.clone()].to_vec(),
                revealed: seen.revealed.get(lanes.clone()).unwrap_or_default().to_vec(),
            };
            let seen: Vec<Seen> = seen.iter().map(part).collect();
            check_function(&seen, inputs, |x, y| ((x + y) & mask(k)) >> (k - 1), opened);
        }
    }
}
