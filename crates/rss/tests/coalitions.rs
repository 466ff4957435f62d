//! Privacy by exhaustion for every coalition of 3, 5 and 7 parties, over Z_2 and Z_4.
//!
//! A coalition of t parties holds every key but one, that of the share which all of them miss. This key, the shares
//! that it gives, and the others' own coins are enumerated, one assignment a lane of one batch; what the coalition
//! knows is fixed, at zeros and at ones. What it receives must have one distribution for all shares that give one
//! output.

use crate::common::*;
use crate::privacy::{Layout, Plan, Source, Var, leaks};
use quorate_crypto::{Seed, Tape};
use quorate_engine::testing::{Received, parties};
use quorate_engine::{Ctx, Form, Phase, Result, Sharing};
use quorate_ring::Ring;
use quorate_rss::Rss;

/// Bytes for each lane on a tape of what the coalition knows: more than anybody draws.
const KNOWN_BYTES: usize = 64;

/// Who looks, and at what its own keys and coins are fixed.
#[derive(Clone, Copy, Debug)]
struct Case {
    n: usize,
    /// The coalition, a bit each; also the name of the key that it lacks.
    coalition: u8,
    known: u8,
}

/// What a coalition received in every lane, and what was revealed to all.
struct Seen {
    views: Vec<Vec<u64>>,
    revealed: Vec<u64>,
}

/// Every coalition of t parties.
pub(crate) fn coalitions(n: usize) -> impl Iterator<Item = u8> {
    (0..1u16 << n).filter(move |set| set.count_ones() as usize == (n - 1) / 2).map(|set| set as u8)
}

/// The share that a party sends in a product, chi(p) = {p+1, ..., p+t}.
pub(crate) fn sent_by(n: usize, party: usize) -> u8 {
    (1..=(n - 1) / 2).fold(0, |set, by| set | 1 << ((party + by) % n))
}

impl Case {
    fn all(n: usize) -> impl Iterator<Item = Case> {
        coalitions(n).flat_map(move |coalition| [0, 0xff].map(|known| Case { n, coalition, known }))
    }

    fn has(&self, party: usize) -> bool {
        self.coalition >> party & 1 == 1
    }

    fn others(&self) -> impl Iterator<Item = usize> {
        let case = *self;
        (0..case.n).filter(move |&party| !case.has(party))
    }

    /// The masks of the missing key in a product: one for each of the others who sends another share.
    fn masks(&self) -> usize {
        self.others().filter(|&party| sent_by(self.n, party) != self.coalition).count()
    }

    /// Draws of the missing key, of several vectors after each other.
    fn draw(&self, plan: &mut Plan, layout: Layout, count: usize) -> Vec<Var> {
        (0..count).map(|_| plan.draw(Source::Key, layout)).collect()
    }

    /// Runs `protocol` on the tapes of `plan`; `layout` says what the i-th message that one hears from a party is.
    fn observe(
        &self,
        plan: &Plan,
        layout: impl Fn(usize, usize) -> Layout,
        protocol: impl AsyncFn(&Rss, &Ctx) -> Result<Vec<u64>> + Sync,
    ) -> Seen {
        let runs = parties(self.n, |mut party| {
            let me = party.me();
            let known_bytes = KNOWN_BYTES * plan.lanes().max(64);
            let known = || Tape::new(vec![self.known; known_bytes]);
            let (missing, own) = (Tape::new(plan.tape(Source::Key)), Source::Private { party: me });
            let fixed: Vec<_> = coalitions(self.n).map(|set| (set, known())).collect();
            let key = |set: u8| match fixed.iter().find(|(of, _)| *of == set) {
                Some((_, tape)) if set != self.coalition => tape.clone(),
                _ => missing.clone(),
            };
            let private = if self.has(me) { known() } else { Tape::new(plan.tape(own)) };
            let seed_of = |set: u8| Seed::insecure_from_tape(key(set));
            let private_seed = Seed::insecure_from_tape(private.clone());
            let rss = Rss::insecure_with_seeds(self.n, me, seed_of, private_seed).unwrap();
            party.insecure_record();
            let mut run = party.begin_alone().unwrap();
            let revealed = run.phase(Phase::Offline, async |ctx| protocol(&rss, ctx).await).unwrap();
            run.finish();
            if !self.has(me) {
                assert_eq!(missing.drawn(), plan.tape(Source::Key).len(), "the missing key at party {me}, {self:?}");
                assert_eq!(private.drawn(), plan.tape(own).len(), "coins of party {me}, {self:?}");
            }
            assert!(fixed.iter().all(|(_, tape)| tape.drawn() <= known_bytes), "a tape is too short, {self:?}");
            let transcript = party.insecure_transcript();
            party.leave(false);
            (transcript, revealed)
        });
        let mut columns: Vec<Vec<u64>> = Vec::new();
        for (member, from) in (0..self.n).filter(|&p| self.has(p)).flat_map(|p| self.others().map(move |q| (p, q))) {
            let received: Vec<&Received> = runs[member].0.iter().filter(|message| message.from == from).collect();
            let column = |(i, message): (usize, &&Received)| plan.unpack(layout(from, i), &message.bytes);
            columns.extend(received.iter().enumerate().map(column));
        }
        let views = (0..plan.lanes()).map(|lane| columns.iter().map(|column| column[lane]).collect()).collect();
        Seen { views, revealed: runs.into_iter().next().unwrap().1 }
    }
}

/// The values of all these variables in one number.
fn all_of(vars: &[Var], lane: usize) -> u64 {
    vars.iter().fold(0, |all, var| all << 2 | var.of(lane))
}

/// What is revealed says all that the views say of `hidden`; where anything is, they say something of it.
fn check(case: &Case, seen: &Seen, hidden: impl Fn(usize) -> u64 + Copy) {
    assert!(seen.views.iter().all(|view| !view.is_empty()), "{case:?} hears nothing");
    let revealed = |lane: usize| seen.revealed.get(lane).copied().unwrap_or(0);
    assert!(!leaks(&seen.views, revealed, hidden), "{case:?} learns more than the output");
    let opened = !seen.revealed.is_empty();
    assert_eq!(leaks(&seen.views, |_| 0, hidden), opened, "{case:?}: whether the test sees what was opened");
}

/// Cases whose enumeration is small, and how many of Z_2^k: all of Z_2, three and five parties over Z_4.
fn cases() -> impl Iterator<Item = (Case, u32)> {
    let of = |(n, k): (usize, u32)| Case::all(n).map(move |case| (case, k));
    [(3, 1), (3, 2), (5, 1), (5, 2), (7, 1)].into_iter().flat_map(of)
}

#[test]
fn products() {
    for (case, k) in cases() {
        for opened in [false, true] {
            let (mut plan, element) = (Plan::default(), Layout::Element { k });
            let inputs = case.draw(&mut plan, element, 2);
            case.draw(&mut plan, element, case.masks());
            let shape = (Ring::of(k), plan.lanes());
            let seen = case.observe(
                &plan,
                |_, _| element,
                async |rss, ctx| {
                    let (x, y): (A, A) = (rss.prandr(ctx, shape), rss.prandr(ctx, shape));
                    let product = rss.mul(ctx, &x, &y).await?;
                    if opened { open(rss, ctx, &product).await } else { Ok(Vec::new()) }
                },
            );
            check(&case, &seen, |lane| all_of(&inputs, lane));
        }
    }
}

#[test]
fn opened_products() {
    for (case, k) in cases() {
        let (mut plan, element) = (Plan::default(), Layout::Element { k });
        let inputs = case.draw(&mut plan, element, 2);
        case.draw(&mut plan, element, (case.n - 1) / 2);
        let shape = (Ring::of(k), plan.lanes());
        let seen = case.observe(
            &plan,
            |_, _| element,
            async |rss, ctx| {
                let (x, y): (A, A) = (rss.prandr(ctx, shape), rss.prandr(ctx, shape));
                Ok(rss.multiply_and_open(ctx, &x, &y).await?.to_u64s())
            },
        );
        check(&case, &seen, |lane| all_of(&inputs, lane));
    }
}

/// x_0 y_0 + x_1 y_1.
#[test]
fn dot_products() {
    for (case, k) in cases().filter(|(case, k)| case.n == 3 || *k == 1) {
        for opened in [false, true] {
            let (mut plan, element) = (Plan::default(), Layout::Element { k });
            let inputs = case.draw(&mut plan, element, 4);
            case.draw(&mut plan, element, case.masks());
            let (lanes, form) = (plan.lanes(), Form::Dot { outer: 1, axis: 2, inner: plan.lanes() });
            let shape = (Ring::of(k), 2 * lanes);
            let seen = case.observe(
                &plan,
                |_, _| element,
                async |rss, ctx| {
                    let (x, y): (A, A) = (rss.prandr(ctx, shape), rss.prandr(ctx, shape));
                    let sum = rss.bilinear(ctx, form, &x, &y).await?;
                    if opened { open(rss, ctx, &sum).await } else { Ok(Vec::new()) }
                },
            );
            check(&case, &seen, |lane| all_of(&inputs, lane));
        }
    }
}

#[test]
fn ands() {
    for case in [3, 5, 7].into_iter().flat_map(Case::all) {
        for opened in [false, true] {
            let (mut plan, row) = (Plan::default(), Layout::Rows { rows: 1 });
            let inputs = case.draw(&mut plan, row, 2);
            case.draw(&mut plan, row, case.masks());
            let shape = (1, plan.lanes());
            let seen = case.observe(
                &plan,
                |_, _| row,
                async |rss, ctx| {
                    let (x, y): (B, B) = (rss.prandr(ctx, shape), rss.prandr(ctx, shape));
                    let and = rss.and(ctx, &x, &y).await?;
                    if !opened {
                        return Ok(Vec::new());
                    }
                    Ok(open_bits(rss, ctx, &and).await?.into_iter().map(u64::from).collect())
                },
            );
            check(&case, &seen, |lane| all_of(&inputs, lane));
        }
    }
}

/// Of the sum of t + 1 contributions a coalition knows nothing, however many of them are its own.
#[test]
fn edabits() {
    let mut looked_at = 0;
    for (case, k) in [3, 5].into_iter().flat_map(|n| Case::all(n).flat_map(|case| [(case, 1), (case, 2)])) {
        let t = (case.n - 1) / 2;
        let (mut plan, element) = (Plan::default(), Layout::Element { k });
        let (rows, carry) = (Layout::Rows { rows: k as usize }, Layout::Rows { rows: 1 });
        let others: Vec<usize> = case.others().filter(|&party| party <= t).collect();
        for &party in &others {
            plan.draw(Source::Private { party }, element);
            if sent_by(case.n, party) != case.coalition {
                plan.draw(Source::Key, element);
                plan.draw(Source::Key, rows);
            }
        }
        if k == 2 {
            case.draw(&mut plan, carry, t * case.masks());
        }
        if plan.lanes() > 1 << 14 {
            continue; // three honest contributors over Z_4
        }
        let lanes = plan.lanes();
        let layout = |from, i| match i {
            0 if from <= t => element,
            1 if from <= t => rows,
            _ => carry,
        };
        // That its value depends on what each contributor drew is tested beside other masks.
        let seen = case.observe(&plan, layout, async |rss, ctx| {
            rss.set_forms(PAPER);
            rss.edabits(ctx, Ring::of(k), None, lanes).await.map(|_| Vec::new())
        });
        if seen.views[0].is_empty() {
            continue; // what the others input goes past it
        }
        looked_at += 1;
        let drawn: Vec<Var> = plan.vars_of(|source| matches!(source, Source::Private { .. }));
        assert_eq!(drawn.len(), others.len());
        let sum = |lane: usize| drawn.iter().map(|var| var.of(lane)).sum::<u64>() & mask(k);
        check(&case, &seen, sum);
        check(&case, &seen, |lane| all_of(&drawn, lane));
    }
    assert_eq!(looked_at, 4 + 6 + 20 + 6);
}

/// What one of three parties sees of each block, where it is the one that knows A, the next of those who know B, and
/// the last.
fn check_blocks(case: &Case, plan: &Plan, seen: &Seen, hidden: Var) {
    for block in 0..3 {
        let lanes = plan.block(block);
        let part = |all: &[u64]| all.get(lanes.clone()).unwrap_or_default().to_vec();
        let seen = Seen { views: seen.views[lanes.clone()].to_vec(), revealed: part(&seen.revealed) };
        check(case, &seen, |lane| hidden.of(lane));
    }
}

/// Bits that all keys give, as elements: whoever lacks a key learns nothing of the bit, whichever summand it knows.
#[test]
fn injected_random_bits() {
    for (case, k) in Case::all(3).flat_map(|case| [3, 4].map(|k| (case, k))) {
        for opened in [false, true] {
            let me = case.coalition.trailing_zeros() as usize;
            let (next, after) = ((me + 1) % 3, (me + 2) % 3);
            let piece = |block| Layout::Piece { k, block };
            let mut plan = Plan::in_blocks();
            let bit = plan.draw(Source::Key, Layout::Rows { rows: 1 });
            let (input, mask) = (plan.var(k), plan.var(k));
            for (block, var) in [(next, input), (after, mask), (next, mask)] {
                plan.draw_var(Source::Key, piece(block), var);
            }
            let layout = |from, i| match (from == next, i) {
                (true, 0) => piece(next),
                (true, 1) => piece(after),
                (true, _) => Layout::Element { k },
                (false, _) => piece(next),
            };
            let seen = case.observe(&plan, layout, async |rss, ctx| {
                let bits = rss.random_bits(ctx, Ring::of(k), plan.lanes()).await?;
                if opened { open(rss, ctx, &bits).await } else { Ok(Vec::new()) }
            });
            // The other two shares are alike.
            assert!(seen.revealed.iter().enumerate().all(|(lane, &got)| got == bit.of(lane)), "{case:?}");
            check_blocks(&case, &plan, &seen, bit);
        }
    }
}

/// The sum of A and B with its bits: over Z_2^3 one digit, over Z_2^4 one and the AND that carries into the next.
#[test]
fn edabits_of_summands() {
    for (case, k) in Case::all(3).flat_map(|case| [3, 4u32].map(|k| (case, k))) {
        let me = case.coalition.trailing_zeros() as usize;
        let (next, after) = ((me + 1) % 3, (me + 2) % 3);
        let (word, product) = (Layout::Piece { k, block: next }, Layout::Block { rows: 1, block: next });
        let rows = k as usize / 2 + 2;
        let pairs = |block| Layout::Block { rows, block };
        let mut plan = Plan::in_blocks();
        let share = plan.draw(Source::Key, Layout::Rows { rows: k as usize });
        plan.draw(Source::Key, word);
        plan.draw(Source::Key, product);
        let mask = plan.var(rows as u32);
        [after, next].into_iter().for_each(|block| plan.draw_var(Source::Key, pairs(block), mask));
        if k == 4 {
            case.draw(&mut plan, Layout::Rows { rows: 1 }, case.masks());
        }
        let layout = |from, i| match (from == next, i) {
            (true, 0) => word,
            (true, 1) => product,
            (true, 2) => pairs(after),
            (true, _) => Layout::Rows { rows: 1 },
            (false, _) => pairs(next),
        };
        let seen = case.observe(&plan, layout, async |rss, ctx| {
            rss.edabits(ctx, Ring::of(k), None, plan.lanes()).await.map(|_| Vec::new())
        });
        check_blocks(&case, &plan, &seen, share);
    }
}

/// Two rows: neither what they hold nor whether they changed places is learned, whatever the coalition knows of the
/// passes in which it takes part.
#[test]
fn shuffles_of_two_rows() {
    for case in Case::all(3) {
        for opened in [false, true] {
            let (mut all, mut hidden, mut moved) = (Seen { views: Vec::new(), revealed: Vec::new() }, Vec::new(), 0);
            for order in [0, 1u8] {
                let (mut plan, element) = (Plan::default(), Layout::Element { k: 1 });
                let rows = case.draw(&mut plan, element, 2);
                for pass in coalitions(3) {
                    if pass == case.coalition {
                        // A batch of 16 words, of which the order of two rows takes the last one's lowest bit.
                        plan.draw(Source::Key, Layout::Same { byte: order, count: 16 * 8 });
                    }
                    case.draw(&mut plan, element, 2 * case.masks());
                }
                let lanes = plan.lanes();
                let both = |values: &[u64]| (0..lanes).map(|lane| values[lane] << 1 | values[lanes + lane]).collect();
                // Elements of Z_2, all of one row before all of the other, are packed as bits are.
                let seen = case.observe(
                    &plan,
                    |_, _| Layout::Rows { rows: 2 },
                    async |rss, ctx| {
                        let x: A = rss.prandr(ctx, (Ring::of(1), 2 * lanes));
                        let shuffled = rss.shuffle(ctx, &[&x], 2).await?.remove(0);
                        if opened { Ok(both(&open(rss, ctx, &shuffled).await?)) } else { Ok(Vec::new()) }
                    },
                );
                all.views.extend(seen.views);
                all.revealed.extend(seen.revealed);
                hidden.extend((0..lanes).map(|lane| u64::from(order) << 4 | all_of(&rows, lane)));
            }
            check(&case, &all, |lane| hidden[lane]);
            // The order of this pass is that of the result: the last half of the lanes has the other one.
            let half = all.revealed.len() / 2;
            moved += (0..half).filter(|&lane| all.revealed[lane] != all.revealed[half + lane]).count();
            assert_eq!(moved, half / 2, "{case:?}: rows that differ change places");
        }
    }
}
