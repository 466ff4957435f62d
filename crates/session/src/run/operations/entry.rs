//! The entry of clients' values where parties may cheat: random combinations of what parties input for them, and rows
//! that count. What is opened here is checked like all openings: before anything is revealed.

use std::sync::Arc;

use quorate_crypto::Seed;
use quorate_engine::{Ctx, Error, Linear, Positions, Result};
use quorate_gadgets::Computes;
use quorate_graph::NodeId;
use quorate_ring::{Module, Ring, Vector};

use crate::run::executor::Executor;
use crate::work::value::{KINDS, Value};

const COINS: &str = "quorate/session/coins of an entry";
const SEED_BYTES: usize = 32;
const UNLIKE: &str = "which places of a campaign count";

impl<S: Computes> Executor<'_, S> {
    /// Opens the seeds, and returns the coins that they give, and then the sums of each holder, place and mask.
    pub(crate) async fn combined(
        &self,
        ctx: &Ctx,
        id: NodeId,
        operands: &[Arc<Value<S>>],
        (holders, rows, coin_bits): (usize, usize, u32),
    ) -> Result<Value<S>> {
        let (graph, inputs) = (self.work.graph, &self.work.graph.node(id).inputs);
        if inputs.iter().any(|&input| self.values.places().of(input).is_some()) {
            return Err(Error::Bug {
                what: "words, and seeds of coins, are input in a run that counts before this one",
            });
        }
        let [places, row] = graph.node(inputs[0]).shape[..] else { return Err(KINDS) };
        let ariths = operands.iter().map(|operand| self.arith(Some(operand))).collect::<Result<Vec<_>>>()?;
        let (held, seeds) = ariths.split_at_checked(holders).ok_or(KINDS)?;
        let seeds = self.s.open(ctx, &self.s.concat(&seeds.iter().map(AsRef::as_ref).collect::<Vec<_>>())).await?;
        let ring = self.s.shape(&held[0]).0;
        let values = row - rows;
        let coins = coins(&seeds, (ring, values * rows), coin_bits);
        let part = |x: &S::A, from: usize, to: usize| {
            let at = || (0..places).flat_map(|place| (from..to).map(move |i| (place * row + i) as u32)).collect();
            self.s.linear(x, &Linear::Gather(Positions::later(places * (to - from), &at)))
        };
        let sums = held.iter().map(|x| {
            let products = self.s.linear(&part(x, 0, values), &Linear::MatrixRight(&coins, (places, values, rows)));
            self.s.add(&products, &part(x, values, row))
        });
        let all: Vec<S::A> = std::iter::once(self.s.public(&coins)).chain(sums).collect();
        Ok(Value::Arith(self.s.concat(&all.iter().collect::<Vec<_>>())))
    }

    /// Opens which rows count, as each party states it, and returns the first operand with zeros in all other rows.
    pub(crate) async fn counted(&self, ctx: &Ctx, operands: &[Arc<Value<S>>]) -> Result<Value<S>> {
        let (x, stated) = operands.split_first().ok_or(KINDS)?;
        let (x, stated) = (self.arith(Some(x))?, stated.iter().map(|bits| self.bits(Some(bits))));
        let stated = stated.collect::<Result<Vec<_>>>()?;
        let rows = self.s.concat_rows(&stated.iter().map(AsRef::as_ref).collect::<Vec<_>>());
        let opened = self.s.open_bits(ctx, &rows).await?;
        let ((ring, len), (parties, places)) = (self.s.shape(&x), opened.shape_of());
        if opened.is_shape() {
            return Ok(Value::Arith(self.s.linear(&x, &Linear::Factors(&Vector::shape(ring, len)))));
        }
        let count = opened.row(0).to_bools();
        if (1..parties).any(|party| opened.row(party).to_bools() != count) {
            return Err(Error::Cheating { check: UNLIKE });
        }
        let each = len / places.max(1);
        let factors: Vec<u64> = count.iter().flat_map(|&counts| std::iter::repeat_n(u64::from(counts), each)).collect();
        Ok(Value::Arith(self.s.linear(&x, &Linear::Factors(&Vector::from_u64s(ring, &factors)))))
    }
}

/// Returns coins of `bits` bits, drawn from the exclusive or of seeds of equal lengths; a shape where no seed is known.
fn coins(seeds: &Vector, (ring, len): (Ring, usize), bits: u32) -> Vector {
    if seeds.is_shape() {
        return Vector::shape(ring, len);
    }
    let mut seed = [0; SEED_BYTES];
    let bytes = seeds.to_u64s().into_iter().flat_map(|word| (word as u32).to_le_bytes());
    bytes.enumerate().for_each(|(i, byte)| seed[i % SEED_BYTES] ^= byte);
    let mut drawn = vec![0; 8 * len];
    Seed::from_bytes(seed).prg(COINS, b"").fill(&mut drawn);
    let short = |word: &[u8; 8]| u64::from_le_bytes(*word) & (u64::MAX >> (64 - bits));
    Vector::from_u64s(ring, &drawn.as_chunks::<8>().0.iter().map(short).collect::<Vec<_>>())
}
