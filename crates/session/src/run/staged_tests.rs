//! Tests of families whose openings are checked. Results are revealed after everything else, inputs wait for the proofs
//! before them, each stage is checked, and no unchecked value leaves a party.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use quorate_engine::{
    Believed, Cause, Checked, Costs, Ctx, EdaBits, Error, Form, Linear, LinearBits, Opened, Phase, Result, Sharing,
    TruncMasks, Update, UpdateBits, dry, testing,
};
use quorate_gadgets::{Functions, Gadgets, Garbles, NoLabels};
use quorate_graph::{BinaryOp, Dtype, Graph, NodeId, Operand, Source, Units};
use quorate_planner::{Reveal, Work};
use quorate_ring::{Bits, Ring, Vector};
use quorate_rss::{Rss, Shared};

use crate::memory::schedule::Schedule;
use crate::run::executor::{Around, Executor};
use crate::work::data::{OwnInput, Plain, constant};
use crate::work::value::Known;

/// `rss` with a simulated check of two rounds: each party reports to the others whether it has lied.
#[derive(Clone)]
struct Suspicious {
    rss: Rss,
    /// The check before which party 1 has lied, counted from 1.
    lies_before: Option<usize>,
    events: Arc<Mutex<Vec<&'static str>>>,
}

impl Suspicious {
    fn note(&self, event: &'static str) -> Vec<&'static str> {
        self.events.lock().unwrap().push(event);
        self.events.lock().unwrap().clone()
    }
}

impl Gadgets for Suspicious {}

impl Functions for Suspicious {}

impl Garbles for Suspicious {
    type Y = NoLabels;
}

impl Sharing for Suspicious {
    type A = Shared<Vector>;
    type B = Shared<Bits>;
    const CHECKED: bool = true;
    const MOST_BITS: u32 = Rss::MOST_BITS;

    fn shape(&self, x: &Self::A) -> (Ring, usize) {
        self.rss.shape(x)
    }

    /// Acts as if all values were inputs of party 0, which proves them.
    fn who_knows(&self, _: &Self::A) -> Option<usize> {
        Some(0)
    }

    fn bit_shape(&self, x: &Self::B) -> (usize, usize) {
        self.rss.bit_shape(x)
    }
    fn public(&self, value: &Vector) -> Self::A {
        self.rss.public(value)
    }
    fn public_bits(&self, value: &Bits) -> Self::B {
        self.rss.public_bits(value)
    }
    fn add(&self, x: &Self::A, y: &Self::A) -> Self::A {
        self.rss.add(x, y)
    }
    fn sub(&self, x: &Self::A, y: &Self::A) -> Self::A {
        self.rss.sub(x, y)
    }
    fn add_public(&self, x: &Self::A, value: &Vector) -> Self::A {
        self.rss.add_public(x, value)
    }
    fn linear(&self, x: &Self::A, map: &Linear<'_>) -> Self::A {
        self.rss.linear(x, map)
    }
    fn update(&self, x: &mut Self::A, y: &Self::A, update: &Update) {
        self.rss.update(x, y, update);
    }
    fn concat(&self, parts: &[&Self::A]) -> Self::A {
        self.rss.concat(parts)
    }
    fn xor(&self, x: &Self::B, y: &Self::B) -> Self::B {
        self.rss.xor(x, y)
    }
    fn xor_public(&self, x: &Self::B, value: &Bits) -> Self::B {
        self.rss.xor_public(x, value)
    }
    fn linear_bits(&self, x: &Self::B, map: &LinearBits<'_>) -> Self::B {
        self.rss.linear_bits(x, map)
    }
    fn update_bits(&self, x: &mut Self::B, y: &Self::B, update: &UpdateBits<'_>) {
        self.rss.update_bits(x, y, update);
    }
    fn concat_rows(&self, parts: &[&Self::B]) -> Self::B {
        self.rss.concat_rows(parts)
    }
    fn concat_lanes(&self, parts: &[&Self::B]) -> Self::B {
        self.rss.concat_lanes(parts)
    }
    async fn lsb(&self, ctx: &Ctx, x: &Self::A) -> Result<Self::B> {
        self.rss.lsb(ctx, x).await
    }
    async fn bit_to_msb(&self, ctx: &Ctx, x: &Self::B, ring: Ring) -> Result<Self::A> {
        self.rss.bit_to_msb(ctx, x, ring).await
    }
    async fn input(&self, ctx: &Ctx, owner: usize, shape: (Ring, usize), value: Option<&Vector>) -> Result<Self::A> {
        self.note(if owner == 0 { "input" } else { "other input" });
        self.rss.input(ctx, owner, shape, value).await
    }
    async fn input_bits(
        &self,
        ctx: &Ctx,
        owner: usize,
        shape: (usize, usize),
        value: Option<&Bits>,
    ) -> Result<Self::B> {
        self.rss.input_bits(ctx, owner, shape, value).await
    }
    async fn bilinear(&self, ctx: &Ctx, form: Form, x: &Self::A, y: &Self::A) -> Result<Self::A> {
        self.rss.bilinear(ctx, form, x, y).await
    }
    async fn and(&self, ctx: &Ctx, x: &Self::B, y: &Self::B) -> Result<Self::B> {
        self.rss.and(ctx, x, y).await
    }
    async fn open(&self, ctx: &Ctx, x: &Self::A) -> Result<Opened<Vector>> {
        self.rss.open(ctx, x).await
    }
    async fn open_bits(&self, ctx: &Ctx, x: &Self::B) -> Result<Opened<Bits>> {
        self.rss.open_bits(ctx, x).await
    }
    async fn check(&self, ctx: &Ctx) -> Result<Checked> {
        let before = ctx.openings();
        let number = self.note("check").iter().filter(|&&event| event == "check").count();
        let lies = self.lies_before == Some(number) && ctx.me() == 1;
        let said = ctx.broadcast(None, &[u8::from(lies)]).await?;
        Checked::if_it_holds("a test", before, said.iter().all(|said| said[0] == 0))
    }
    async fn reveal(
        &self,
        ctx: &Ctx,
        checked: &Checked,
        x: &Self::A,
        to: Option<usize>,
    ) -> Result<Option<Opened<Vector>>> {
        self.note("reveal");
        checked.allows_reveals(ctx)?;
        self.rss.reveal(ctx, &Checked::unneeded(), x, to).await
    }
    async fn reveal_bits(
        &self,
        ctx: &Ctx,
        checked: &Checked,
        x: &Self::B,
        to: Option<usize>,
    ) -> Result<Option<Opened<Bits>>> {
        self.note("reveal");
        checked.allows_reveals(ctx)?;
        self.rss.reveal_bits(ctx, &Checked::unneeded(), x, to).await
    }
    async fn random_bits(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Self::A> {
        self.rss.random_bits(ctx, ring, len).await
    }
    async fn edabits(&self, ctx: &Ctx, ring: Ring, cut: Option<u32>, len: usize) -> Result<EdaBits<Self::A, Self::B>> {
        self.rss.edabits(ctx, ring, cut, len).await
    }
    async fn trunc_masks(&self, ctx: &Ctx, ring: Ring, shift: u32, len: usize) -> Result<TruncMasks<Self::A>> {
        self.rss.trunc_masks(ctx, ring, shift, len).await
    }
    async fn shuffle(&self, ctx: &Ctx, columns: &[&Self::A], rows: usize) -> Result<Vec<Self::A>> {
        self.rss.shuffle(ctx, columns, rows).await
    }

    async fn wide_edabits(&self, ctx: &Ctx, ring: Ring, wide: Ring, len: usize) -> Result<EdaBits<Self::A, Self::B>> {
        self.rss.wide_edabits(ctx, ring, wide, len).await
    }
}

/// Returns a program that compares two parties' inputs, x < y, and so opens a value; then it multiplies by the result.
fn program() -> (Graph, [NodeId; 2], [NodeId; 2]) {
    let mut graph = Graph::default();
    let here = || Source::new("staged.py", 1);
    let [x, y] = [0, 1].map(|owner| graph.at(here()).input(owner, 3, &[2], Dtype::INT64, None).unwrap());
    let less = graph.at(here()).binary(BinaryOp::Lt, Operand::Node(x), Operand::Node(y)).unwrap();
    let product = graph.at(here()).binary(BinaryOp::Mul, Operand::Node(less), Operand::Node(x)).unwrap();
    (graph, [x, y], [less, product])
}

/// Returns a choice of one of three by party 0, among numbers of party 1.
fn choice() -> (Graph, [NodeId; 2], NodeId) {
    let mut graph = Graph::default();
    let here = || Source::new("staged.py", 1);
    let choice = graph.at(here()).input(0, 3, &[1, 3], Dtype::INT64, None).unwrap();
    let proven = graph.at(here()).assert_one_hot(choice, -1).unwrap();
    let x = graph.at(here()).input(1, 3, &[3], Dtype::INT64, None).unwrap();
    let chosen = graph.at(here()).matmul(Operand::Node(proven), Operand::Node(x)).unwrap();
    (graph, [choice, x], chosen)
}

/// The state of a party at the end: its results, its costs, and the order of its checks and reveals.
type Ended = (Result<Vec<Option<Vec<i128>>>>, Costs, Vec<&'static str>);

fn run(reveals: &[Reveal], lies_before: Option<usize>) -> Vec<Ended> {
    let (graph, inputs, results) = program();
    run_program(&graph, (inputs, [&[3, -7], &[5, -9]]), &results, reveals, lies_before)
}

fn run_program(
    graph: &Graph,
    (inputs, values): ([NodeId; 2], [&[i128]; 2]),
    results: &[NodeId],
    reveals: &[Reveal],
    lies_before: Option<usize>,
) -> Vec<Ended> {
    let plain = |i: usize| Arc::new(OwnInput::Held(constant(Dtype::INT64, &Units::from(values[i]), values[i].len())));
    let inputs: [BTreeMap<NodeId, Arc<OwnInput>>; 2] = [0, 1].map(|i| [(inputs[i], plain(i))].into());
    testing::parties(3, |mut party| {
        let me = party.me();
        let mut run = party.begin_alone().unwrap();
        let rss = run.phase(Phase::Offline, async |ctx| Rss::setup(ctx).await).unwrap();
        let s = Suspicious { rss: rss.clone(), lies_before, events: Arc::default() };
        let nodes = graph.needed(results, &|_| false);
        let work = Work { graph, nodes, reveals: reveals.to_vec(), domains: Default::default() };
        let (known, none, schedule) = (Known::<Suspicious>::new(), BTreeMap::new(), Schedule::default());
        let own = inputs.get(me).unwrap_or(&none);
        let executor =
            Executor::new(&s, &work, Around { known: &known, inputs: own, keep: &|_| false }, (None, &schedule));
        let done = run.phase(Phase::Online, async |ctx| executor.run(ctx).await);
        let shown = |value: Option<Believed<Plain>>| {
            value.map(|value| match value.into_inner() {
                Plain::Bits(bits) => bits.to_bools().into_iter().map(i128::from).collect(),
                Plain::Vector(vector) => vector.to_i128s(),
            })
        };
        let opened = done.map(|done| done.opened.into_iter().map(shown).collect());
        (opened, run.finish(), s.events.lock().unwrap().clone())
    })
}

fn reveals() -> Vec<Reveal> {
    let [less, product] = program().2;
    vec![Reveal { node: less, to: None }, Reveal { node: product, to: Some(2) }]
}

#[test]
fn results_are_revealed_between_two_checks_in_the_rounds_of_a_dry_run() {
    for reveals in [reveals(), vec![]] {
        for (me, (opened, costs, events)) in run(&reveals, None).into_iter().enumerate() {
            let wanted = [Some(vec![1, 0]), (me == 2).then(|| vec![3, 0])];
            assert_eq!(opened.unwrap(), wanted[..reveals.len()]);
            let seen: &[_] = if reveals.is_empty() { &["check"] } else { &["check", "reveal", "reveal", "check"] };
            assert_eq!(events[2..], *seen);
            let dry = {
                let (graph, _, results) = program();
                let rss = Rss::dry(3, me).unwrap();
                let s = Suspicious { rss: rss.clone(), lies_before: None, events: Arc::default() };
                let nodes = graph.needed(&results, &|_| false);
                let work = Work { graph: &graph, nodes, reveals: reveals.clone(), domains: Default::default() };
                let (known, inputs, schedule) = (Known::<Suspicious>::new(), BTreeMap::new(), Schedule::default());
                let executor = Executor::new(
                    &s,
                    &work,
                    Around { known: &known, inputs: &inputs, keep: &|_| false },
                    (None, &schedule),
                );
                dry::run(me, 3, Phase::Online, async |ctx| executor.run(ctx).await.map(|_| ())).unwrap().1
            };
            assert_eq!(
                (costs.online.rounds, costs.online.bytes()),
                (dry.online.rounds, dry.online.bytes()),
                "{reveals:?}"
            );
        }
    }
}

#[test]
fn whoever_lies_is_found_before_anything_is_revealed_and_nobody_believes_a_result_that_was_not_checked() {
    for (lies_before, seen) in [(1, vec!["check"]), (2, vec!["check", "reveal", "reveal", "check"])] {
        for (me, (opened, _, events)) in run(&reveals(), Some(lies_before)).into_iter().enumerate() {
            let error = opened.err().unwrap();
            let caught =
                matches!(error, Error::Cheating { check: "a test" } | Error::Aborted { cause: Cause::Cheating, .. });
            assert!(caught, "party {me}: {error}");
            assert_eq!(events[2..], seen);
        }
    }
}

#[test]
fn an_input_waits_until_a_choice_before_it_was_proven_and_checked() {
    let (graph, inputs, chosen) = choice();
    let reveals = [Reveal { node: chosen, to: None }];
    let run = |choice: &[i128], lies_before| {
        run_program(&graph, (inputs, [choice, &[5, 7, 9]]), &[chosen], &reveals, lies_before)
    };
    let caught = |error: &Error, by: &str| match error {
        Error::Cheating { check } => check.contains(by),
        Error::Aborted { cause, .. } => *cause == Cause::Cheating,
        _ => false,
    };
    for (opened, _, events) in run(&[0, 1, 0], None) {
        assert_eq!(opened.unwrap(), [Some(vec![7])]);
        assert_eq!(events, ["input", "check", "other input", "check", "reveal", "check"]);
    }
    let far = i128::from(i64::MIN);
    for choice in [[2, -1, 0], [1, 1, 0], [0, 0, 0], [1, 1, -1], [1 << 32, 0, 0], [far, 1, 0], [far, far, 1]] {
        for (opened, _, events) in run(&choice, None) {
            let error = opened.err().unwrap();
            assert!(caught(&error, "one element of each row is 1"), "{choice:?}: {error}");
            assert_eq!(events, ["input"], "{choice:?}: before the input of the other one");
        }
    }
    for (opened, _, events) in run(&[0, 1, 0], Some(1)) {
        assert!(opened.is_err_and(|error| caught(&error, "a test")));
        assert_eq!(events, ["input", "check"]);
    }
}
