//! Programs for tests, and their runs on any family.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use quorate_engine::{Believed, Costs, Ctx, Demand, Phase, Result, dry, testing};
use quorate_gadgets::{Choices, Family};
use quorate_graph::{Bound, BuildError, Builder, Dtype, Graph, NodeId, Source, Units, eval_clear};
use quorate_planner::{Domains, Reveal, Work};

use crate::memory::schedule::Schedule;
use crate::run::executor::{Around, Executor};
use crate::work::data::{Data, OwnInput, Plain, Rows, constant};
use crate::work::effort::Taken;
use crate::work::value::Known;

/// A program, its inputs in ring units, and its reveals.
#[derive(Default)]
pub(super) struct Program {
    pub graph: Graph,
    pub inputs: BTreeMap<NodeId, Vec<i128>>,
    pub reveals: Vec<NodeId>,
    /// The number of values that can be within others' pieces.
    pub within: usize,
    /// The sharings in which nodes run.
    pub domains: Domains,
}

/// Integers that are read in parts.
struct Listed(Vec<i128>);

impl Rows for Listed {
    fn read(&self, range: Range<usize>) -> std::result::Result<Data, String> {
        let part = self.0.get(range).ok_or("no such elements")?;
        Ok(Data::Ints(part.iter().map(|&unit| unit as i64).collect()))
    }
}

impl Program {
    pub fn at(&mut self) -> Builder<'_> {
        self.graph.at(Source::new("program.rs", 1))
    }

    pub fn input(&mut self, shape: &[usize], dtype: Dtype, bound: i128) -> NodeId {
        self.input_as((shape, false), dtype, bound)
    }

    /// Adds an input of integers that is read in parts.
    pub fn read(&mut self, shape: &[usize], dtype: Dtype, bound: i128) -> NodeId {
        self.input_as((shape, true), dtype, bound)
    }

    fn input_as(&mut self, (shape, streamed): (&[usize], bool), dtype: Dtype, bound: i128) -> NodeId {
        let count: usize = shape.iter().product();
        let bound_units = match dtype.is_fixed() {
            true => Bound::Real(bound as f64 / 256.0),
            false => Bound::Int(bound),
        };
        let stated = (dtype != Dtype::Bit).then_some(bound_units);
        let id = self.at().streamed(streamed).input(0, 3, shape, dtype, stated).unwrap();
        let low = if dtype == Dtype::Bit || dtype.is_unsigned() { 0 } else { -bound };
        let seed = 7919 * (self.inputs.len() as i128 + 1);
        let units = (0..count as i128).map(|i| low + (i * i * 31 + i * seed + 5) % (bound - low + 1)).collect();
        self.inputs.insert(id, units);
        id
    }

    pub fn reveal(&mut self, build: impl FnOnce(Builder<'_>) -> std::result::Result<NodeId, BuildError>) -> NodeId {
        let id = build(self.at()).unwrap();
        self.reveals.push(id);
        id
    }

    pub fn work(&self) -> Work<'_> {
        let nodes = self.graph.needed(&self.reveals, &|_| false);
        let reveals = self.reveals.iter().map(|&node| Reveal { node, to: None }).collect();
        Work { graph: &self.graph, nodes, reveals, domains: self.domains.clone() }
    }

    /// Runs the program; returns what all parties open, in ring units.
    pub fn run<F: Family>(&self, parties: usize, schedule: &Schedule) -> Vec<Vec<i128>> {
        let inputs: BTreeMap<NodeId, Arc<OwnInput>> = self
            .inputs
            .iter()
            .map(|(&id, units)| {
                let own = match self.graph.node(id).is_streamed() {
                    true => OwnInput::Read(Arc::new(Listed(units.clone()))),
                    false => {
                        let units = Units::from(units.as_slice());
                        OwnInput::Held(constant(self.graph.node(id).dtype, &units, units.len()))
                    }
                };
                (id, Arc::new(own))
            })
            .collect();
        let all = testing::parties(parties, |mut party| {
            let mut run = party.begin_alone()?;
            let family = run.phase(Phase::Offline, async |ctx| F::setup(ctx, None, &Choices::default()).await)?;
            let (work, known) = (self.work(), Known::<F>::new());
            let executor = Executor::new(
                &family,
                &work,
                Around { known: &known, inputs: &inputs, keep: &|_| false },
                (None, schedule),
            );
            let done = run.phase(Phase::Online, async |ctx| executor.run(ctx).await)?;
            run.finish();
            Result::Ok(done.opened.into_iter().map(|value| value.map(Believed::into_inner)).collect::<Vec<_>>())
        });
        let opened = all.into_iter().map(|opened| self.units(&opened.unwrap())).collect::<Vec<_>>();
        assert!(opened.windows(2).all(|pair| pair[0] == pair[1]));
        opened.into_iter().next().unwrap()
    }

    fn units(&self, opened: &[Option<Plain>]) -> Vec<Vec<i128>> {
        let one = |(plain, id): (&Option<Plain>, &NodeId)| match plain.as_ref().unwrap() {
            Plain::Bits(bits) => bits.to_bools().into_iter().map(i128::from).collect(),
            Plain::Vector(v) if self.graph.node(*id).dtype.is_unsigned() => {
                v.to_u64s().into_iter().map(i128::from).collect()
            }
            Plain::Vector(v) => v.to_i128s(),
        };
        opened.iter().zip(&self.reveals).map(one).collect()
    }

    /// Returns the rounds and bytes of one party's dry run.
    pub fn costs<F: Family>(&self, parties: usize, schedule: &Schedule) -> (u32, u64) {
        let costs = self.counted::<F>((parties, 0), schedule, false).0;
        (costs.online.rounds, costs.online.bytes())
    }

    /// Returns the costs of a party's dry run, those of its steps, and the correlations that it draws. For figures,
    /// equal chunks are counted once.
    pub fn counted<F: Family>(
        &self,
        (parties, me): (usize, usize),
        schedule: &Schedule,
        figures: bool,
    ) -> (Costs, Taken, Demand<F::Kind>) {
        let family = F::dry(parties, me, &Choices::default()).unwrap();
        family.record_demand();
        let (work, known, inputs) = (self.work(), Known::<F>::new(), BTreeMap::new());
        let executor = Executor::new(
            &family,
            &work,
            Around { known: &known, inputs: &inputs, keep: &|_| false },
            (None, schedule),
        );
        let run = async |ctx: &Ctx| {
            if figures {
                ctx.count_alike();
            }
            executor.run(ctx).await
        };
        let (done, costs) = dry::run(me, parties, Phase::Online, run).unwrap();
        (costs, done.steps, family.take_demand())
    }

    /// Returns what is revealed by evaluation in the clear, in ring units.
    pub fn in_the_clear(&self) -> Vec<Vec<i128>> {
        let all = eval_clear(&self.graph, &self.inputs).unwrap();
        self.reveals.iter().map(|id| all[id.index()].clone()).collect()
    }
}
