//! Tests of privacy by exhaustion for every coalition of t of 3, 5 and 7 parties, over Z_2 and Z_4, and for single
//! parties of 5.
//!
//! A coalition of t parties holds every key but one, that of the share which all of them miss; a single party lacks
//! several. These keys, the shares that they give, and the others' own coins are enumerated, one assignment for each
//! lane of one batch. What the coalition knows is fixed, at zeros and at ones. The messages that it receives must have
//! the same distribution for all shares that give the same output.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::*;
use crate::privacy::{Layout, Plan, Source, Var, leaks};
use quorate_crypto::{Seed, Tape};
use quorate_engine::testing::{Received, parties};
use quorate_engine::{Ctx, Form, Phase, Result, Sharing};
use quorate_ring::{Ring, Vector};
use quorate_rss::Rss;

/// Bytes for each lane on a tape of the coalition's own draws: more than any protocol draws.
const KNOWN_BYTES: usize = 64;

/// A coalition, and the value at which its own keys and coins are fixed.
#[derive(Clone, Copy, Debug)]
struct Case {
    n: usize,
    /// The coalition, as one bit for each party; for t parties, it is also the name of the key that it lacks.
    coalition: u8,
    known: u8,
}

/// The messages that a coalition received in every lane, and the values revealed to all.
struct Seen {
    views: Vec<Vec<u64>>,
    revealed: Vec<u64>,
}

/// Returns every coalition of t parties.
pub(crate) fn coalitions(n: usize) -> impl Iterator<Item = u8> {
    (0..1u16 << n).filter(move |set| set.count_ones() as usize == (n - 1) / 2).map(|set| set as u8)
}

/// Returns the share that a party sends in a product, chi(p) = {p+1, ..., p+t}.
pub(crate) fn sent_by(n: usize, party: usize) -> u8 {
    (1..=(n - 1) / 2).fold(0, |set, by| set | 1 << ((party + by) % n))
}

impl Case {
    fn all(n: usize) -> impl Iterator<Item = Case> {
        coalitions(n).flat_map(move |coalition| [0, 0xff].map(|known| Case { n, coalition, known }))
    }

    /// Returns single parties, where t is more than 1.
    fn single(n: usize) -> impl Iterator<Item = Case> {
        (0..n).flat_map(move |party| [0, 0xff].map(|known| Case { n, coalition: 1 << party, known }))
    }

    /// Returns the one key that a coalition of t parties lacks.
    fn key(&self) -> Source {
        Source::Key { set: self.coalition }
    }

    /// Returns the keys that the coalition lacks.
    fn lacked(&self) -> impl Iterator<Item = u8> {
        let coalition = self.coalition;
        coalitions(self.n).filter(move |set| set & coalition == coalition)
    }

    fn has(&self, party: usize) -> bool {
        self.coalition >> party & 1 == 1
    }

    fn others(&self) -> impl Iterator<Item = usize> {
        let case = *self;
        (0..case.n).filter(move |&party| !case.has(party))
    }

    /// Returns the number of masks of the missing key in a product: one for each of the other parties that sends
    /// another share.
    fn masks(&self) -> usize {
        self.others().filter(|&party| sent_by(self.n, party) != self.coalition).count()
    }

    /// Draws the missing shares of two values.
    fn draw_pairs(&self, plan: &mut Plan, layout: Layout) -> Vec<(Var, Var)> {
        let mut draw = |set| plan.draw(Source::Key { set }, layout);
        self.lacked().map(|set| (draw(set), draw(set))).collect()
    }

    /// Draws several vectors from the missing key, one after another.
    fn draw(&self, plan: &mut Plan, layout: Layout, count: usize) -> Vec<Var> {
        (0..count).map(|_| plan.draw(self.key(), layout)).collect()
    }

    /// Runs `protocol` on the tapes of `plan`; `layout` describes the i-th message that a party receives from another.
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
            let own = Source::Private { party: me };
            let missing: BTreeMap<u8, Arc<Tape>> =
                self.lacked().map(|set| (set, Tape::new(plan.tape(Source::Key { set })))).collect();
            let fixed: BTreeMap<u8, Arc<Tape>> =
                coalitions(self.n).filter(|set| !missing.contains_key(set)).map(|set| (set, known())).collect();
            let private = if self.has(me) { known() } else { Tape::new(plan.tape(own)) };
            let seed_of =
                |set: u8| Seed::insecure_with_tape([0; 32], missing.get(&set).unwrap_or_else(|| &fixed[&set]).clone());
            let private_seed = Seed::insecure_with_tape([0; 32], private.clone());
            let rss = Rss::with_seeds(session(), (self.n, me), seed_of, private_seed).unwrap();
            party.insecure_record();
            let mut run = party.begin_alone().unwrap();
            let revealed = run.phase(Phase::Offline, async |ctx| protocol(&rss, ctx).await).unwrap();
            run.finish();
            if !self.has(me) {
                for (&set, tape) in missing.iter().filter(|(set, _)| *set >> me & 1 == 0) {
                    let planned = plan.tape(Source::Key { set }).len();
                    assert_eq!(tape.drawn(), planned, "the missing key of {set:b} at party {me}, {self:?}");
                }
                assert_eq!(private.drawn(), plan.tape(own).len(), "coins of party {me}, {self:?}");
            }
            assert!(fixed.values().all(|tape| tape.drawn() <= known_bytes), "a tape is too short, {self:?}");
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

/// Returns the values of all these variables in one number.
fn all_of(vars: &[Var], lane: usize) -> u64 {
    vars.iter().fold(0, |all, var| all << 2 | var.of(lane))
}

/// Checks that views depend on `hidden` only through the revealed values. If values are revealed, the views must depend
/// on them.
fn check(case: &Case, seen: &Seen, hidden: impl Fn(usize) -> u64 + Copy) {
    assert!(seen.views.iter().all(|view| !view.is_empty()), "{case:?} hears nothing");
    let revealed = |lane: usize| seen.revealed.get(lane).copied().unwrap_or(0);
    assert!(!leaks(&seen.views, revealed, hidden), "{case:?} learns more than the output");
    let opened = !seen.revealed.is_empty();
    assert_eq!(leaks(&seen.views, |_| 0, hidden), opened, "{case:?}: whether the test sees what was opened");
}

/// Returns the cases whose enumeration is small, with the number of bits of the ring: all over Z_2, those of three and
/// five parties over Z_4.
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

/// The dot product is x_0 y_0 + x_1 y_1.
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

/// Sums of the inputs of all other parties are opened. For each input, other missing shares are zero. A party must not
/// see which inputs several sums came from (docs/security/rss-arguments.md).
#[test]
fn sums_of_inputs_seen_by_single_parties() {
    for case in Case::single(5) {
        let (mut plan, element) = (Plan::default(), Layout::Element { k: 1 });
        let inputs: Vec<Var> = case.others().map(|_| plan.var(1)).collect();
        for owner in case.others() {
            for set in case.lacked().filter(|set| set >> owner & 1 == 0 && *set != sent_by(case.n, owner)) {
                plan.draw(Source::Key { set }, element);
            }
        }
        let lanes = plan.lanes();
        let seen = case.observe(
            &plan,
            |_, _| element,
            async |rss, ctx| {
                let (mut shared, mut sums) = (Vec::<A>::new(), Vec::new());
                for (owner, &input) in case.others().zip(&inputs) {
                    let value: Option<Vector> = (ctx.me() == owner).then(|| plan.vector(input, 1));
                    shared.push(rss.input(ctx, owner, (Ring::of(1), lanes), value.as_ref()).await?);
                }
                for pair in shared.windows(2) {
                    sums.push(open(rss, ctx, &rss.add(&pair[0], &pair[1])).await?);
                }
                Ok((0..lanes).map(|lane| sums.iter().fold(0, |all, sum| all << 1 | sum[lane])).collect())
            },
        );
        check(&case, &seen, |lane| all_of(&inputs, lane));
    }
}

/// Returns the values of x and y over Z_2, of which the coalition lacks these shares.
fn pair_of(shares: &[(Var, Var)], lane: usize) -> u64 {
    let (x, y) = shares.iter().fold((0, 0), |(x, y), (a, b)| (x ^ a.of(lane), y ^ b.of(lane)));
    x << 1 | y
}

/// Four shares of each of two operands are missing, and ten masks.
#[test]
fn ands_seen_by_single_parties() {
    for case in Case::single(5).filter(|case| case.known == 0 && [1, 1 << 3].contains(&case.coalition)) {
        for opened in [false, true] {
            let (mut plan, row) = (Plan::default(), Layout::Rows { rows: 1 });
            let shares = case.draw_pairs(&mut plan, row);
            for set in case.lacked() {
                let masked = |party: &usize| set >> party & 1 == 0 && sent_by(case.n, *party) != set;
                for _ in (0..case.n).filter(masked) {
                    plan.draw(Source::Key { set }, row);
                }
            }
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
            check(&case, &seen, |lane| pair_of(&shares, lane));
        }
    }
}

#[test]
fn opened_products_seen_by_single_parties() {
    for case in Case::single(5).filter(|case| case.known == 0) {
        let (mut plan, element) = (Plan::default(), Layout::Element { k: 1 });
        let shares = case.draw_pairs(&mut plan, element);
        for set in case.lacked() {
            for _ in 0..2 {
                plan.draw(Source::Key { set }, element);
            }
        }
        let shape = (Ring::of(1), plan.lanes());
        let seen = case.observe(
            &plan,
            |_, _| element,
            async |rss, ctx| {
                let (x, y): (A, A) = (rss.prandr(ctx, shape), rss.prandr(ctx, shape));
                Ok(rss.multiply_and_open(ctx, &x, &y).await?.to_u64s())
            },
        );
        check(&case, &seen, |lane| pair_of(&shares, lane));
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

/// A coalition learns nothing about the sum of t + 1 contributions, whatever number of them is its own.
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
                plan.draw(case.key(), element);
                plan.draw(case.key(), rows);
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
        // Another test, with other masks, checks that the value depends on each contributor's draws.
        let seen = case.observe(&plan, layout, async |rss, ctx| {
            rss.set_forms(PAPER);
            rss.edabits(ctx, Ring::of(k), None, lanes).await.map(|_| Vec::new())
        });
        if seen.views[0].is_empty() {
            continue; // the inputs of the others do not reach it
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

/// Checks the view of one of three parties in each block: where it knows A, where it is the next of those that know B,
/// and where it is the last.
fn check_blocks(case: &Case, plan: &Plan, seen: &Seen, hidden: Var) {
    for block in 0..3 {
        let lanes = plan.block(block);
        let part = |all: &[u64]| all.get(lanes.clone()).unwrap_or_default().to_vec();
        let seen = Seen { views: seen.views[lanes.clone()].to_vec(), revealed: part(&seen.revealed) };
        check(case, &seen, |lane| hidden.of(lane));
    }
}

/// Bits drawn from all keys are converted to elements: a party that lacks a key learns nothing about the bit, whichever
/// summand it knows.
#[test]
fn injected_random_bits() {
    for (case, k) in Case::all(3).flat_map(|case| [3, 4].map(|k| (case, k))) {
        for opened in [false, true] {
            let me = case.coalition.trailing_zeros() as usize;
            let (next, after) = ((me + 1) % 3, (me + 2) % 3);
            let piece = |block| Layout::Piece { k, block };
            let mut plan = Plan::in_blocks();
            let bit = plan.draw(case.key(), Layout::Rows { rows: 1 });
            let (input, mask) = (plan.var(k), plan.var(k));
            for (block, var) in [(next, input), (after, mask), (next, mask)] {
                plan.draw_var(case.key(), piece(block), var);
            }
            // Bits that are made on demand begin at depth 0, so what is opened comes before their second message.
            let layout = |from, i| match (from == next, i) {
                (true, 0) => piece(next),
                (true, 1) if opened => Layout::Element { k },
                (true, _) => piece(after),
                (false, _) => piece(next),
            };
            let seen = case.observe(&plan, layout, async |rss, ctx| {
                let bits = rss.random_bits(ctx, Ring::of(k), plan.lanes()).await?;
                if opened { open(rss, ctx, &bits).await } else { Ok(Vec::new()) }
            });
            // The other two shares are equal.
            assert!(seen.revealed.iter().enumerate().all(|(lane, &got)| got == bit.of(lane)), "{case:?}");
            check_blocks(&case, &plan, &seen, bit);
        }
    }
}

/// A + B is made with its bits: over Z_2^3 with one digit, over Z_2^4 with one digit and the AND that carries into the
/// next.
#[test]
fn edabits_of_summands() {
    for (case, k) in Case::all(3).flat_map(|case| [3, 4u32].map(|k| (case, k))) {
        let me = case.coalition.trailing_zeros() as usize;
        let (next, after) = ((me + 1) % 3, (me + 2) % 3);
        let (word, product) = (Layout::Piece { k, block: next }, Layout::Block { rows: 1, block: next });
        let rows = k as usize / 2 + 2;
        let pairs = |block| Layout::Block { rows, block };
        let mut plan = Plan::in_blocks();
        let share = plan.draw(case.key(), Layout::Rows { rows: k as usize });
        plan.draw(case.key(), word);
        plan.draw(case.key(), product);
        let mask = plan.var(rows as u32);
        [after, next].into_iter().for_each(|block| plan.draw_var(case.key(), pairs(block), mask));
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

/// The coalition learns neither the contents of two rows nor whether they changed places, whatever it knows of the
/// orders of the others.
#[test]
fn shuffles_of_two_rows() {
    for case in Case::all(3) {
        for opened in [false, true] {
            let (mut all, mut hidden, mut moved) = (Seen { views: Vec::new(), revealed: Vec::new() }, Vec::new(), 0);
            for order in [0, 1u8] {
                let (mut plan, element) = (Plan::default(), Layout::Element { k: 1 });
                let rows = case.draw(&mut plan, element, 2);
                // The order of two rows uses the lowest bit of the last of the 16 words of a batch.
                plan.draw(case.key(), Layout::Same { byte: order, count: 16 * 8 });
                if !case.has(0) {
                    case.draw(&mut plan, element, 2 * 2); // z and y, of two rows each
                }
                let lanes = plan.lanes();
                let both = |values: &[u64]| (0..lanes).map(|lane| values[lane] << 1 | values[lanes + lane]).collect();
                // Elements of Z_2, all of one row before all of the other, are packed like bits.
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
            match case.has(0) && !opened {
                true => assert!(all.views.iter().all(Vec::is_empty), "party 0 receives nothing"),
                false => check(&case, &all, |lane| hidden[lane]),
            }
            // The order of this pass is that of the result: the second half of the lanes has the other order.
            let half = all.revealed.len() / 2;
            moved += (0..half).filter(|&lane| all.revealed[lane] != all.revealed[half + lane]).count();
            assert_eq!(moved, half / 2, "{case:?}: rows that differ change places");
        }
    }
}
