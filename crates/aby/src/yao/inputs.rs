//! How values get labels: inputs, B2Y, A2Y.
//!
//! **Source**: aby, sections III-C (Shr) and IV-B, IV-C. **Deviation**: see [`crate::yao`]. **Model**: semi-honest, 1 of 2.
//!
//! **Notation**: of a correlated oblivious transfer made before, the garbler has q and the evaluator a random bit c and t = q
//! xor c Delta. For its bit y the evaluator sends d = c xor y, which c hides. The garbler takes W = q xor d Delta as the label of
//! 0. The evaluator's t = W xor (c xor d) Delta is then the label of y. A bit g that the garbler knows is added by taking W xor
//! g Delta instead: the same t is then the label of y xor g.

use std::ops::Range;

use quorate_circuits::{Goal, Order, Program, catalog};
use quorate_crypto::RUN;
use quorate_engine::{Chunks, Ctx, Result, Sharing};
use quorate_gadgets::Labels as _;
use quorate_garble::{Delta, LABEL_BYTES};
use quorate_ring::{Bits, Ring, Vector};

use crate::input::check_owner;
use crate::mul::in_rows;
use crate::setup::Aby;
use crate::share::{Share, blank};
use crate::stock::{Kind, MISSING, Material};
use crate::yao::{EVALUATOR, GARBLER, LABEL_BITS, YaoLabels, unlike};

/// Labels as they are kept in stock.
const LABELS: Ring = Ring::of(LABEL_BITS);

/// Elements of so many bits that get labels together.
pub(crate) fn chunks(lanes: usize, rows: usize) -> Chunks {
    Chunks::of_bytes(lanes, 2 * LABEL_BYTES * rows)
}

/// The circuit of A2Y: the evaluator's summand, then the garbler's.
pub(crate) fn adder(bits: u32) -> Program {
    Program::new(&catalog::add(bits, Goal::Size), Order::Runs(RUN))
}

impl Aby {
    /// What the labels of 0 and 1 differ by; the garbler's secret.
    pub(crate) fn delta(&self) -> Result<Delta> {
        Delta::from_correlation(self.ot.delta()).map_err(unlike)
    }

    /// Labels of what the garbler knows, or everybody: the active one is 0 whatever the bit.
    pub(crate) fn labels_known_to_garbler(&self, bits: &Bits) -> Result<YaoLabels> {
        let mut labels = YaoLabels::zeros(bits.is_shape(), bits.rows(), bits.lanes());
        if self.me == GARBLER {
            labels.shift(&self.delta()?, bits)?;
        }
        Ok(labels)
    }

    /// Shr: labels of what `owner` knows.
    pub(crate) async fn share_labels(
        &self,
        ctx: &Ctx,
        owner: usize,
        shape: (usize, usize),
        value: Option<&Bits>,
    ) -> Result<YaoLabels> {
        check_owner(ctx, owner, shape, value)?;
        let own = match value {
            Some(bits) if self.me == owner && !ctx.is_dry() => Share(bits.clone()),
            _ => Share(blank(ctx, shape)),
        };
        if owner == GARBLER {
            return self.labels_known_to_garbler(&own);
        }
        self.labels_by_lanes(ctx, shape, async |ctx, range| {
            self.labels_of_evaluators(&ctx, &own.map(|own| own.slice_lanes(range))).await
        })
        .await
    }

    /// B2Y: the evaluator's shares as its bits, the garbler's added to the labels of 0.
    pub(crate) async fn labels_of_bits(&self, ctx: &Ctx, x: &Share<Bits>) -> Result<YaoLabels> {
        self.labels_by_lanes(ctx, self.bit_shape(x), async |ctx, range| {
            let own = x.map(|x| x.slice_lanes(range));
            let mut labels = self.labels_of_evaluators(&ctx, &own).await?;
            if self.me == GARBLER {
                labels.shift(&self.delta()?, &own)?;
            }
            Ok(labels)
        })
        .await
    }

    /// A2Y: the sum of both summands, of which each is known to a party, in a garbled circuit.
    pub(crate) async fn labels_of_summands(&self, ctx: &Ctx, x: &Share<Vector>) -> Result<YaoLabels> {
        let (ring, len) = self.shape(x);
        if ring.bits() == 1 {
            return self.labels_of_bits(ctx, &self.low_bit(x)).await;
        }
        let program = adder(ring.bits());
        self.labels_by_lanes(ctx, (ring.bits() as usize, len), async |ctx, range| {
            let own = x.map(|x| x.slice(range).to_bits(0..ring.bits()));
            let of_evaluator = self.labels_of_evaluators(&ctx, &own).await?;
            let of_garbler = self.labels_known_to_garbler(&own)?;
            let summands = YaoLabels::concat_rows(&[&of_evaluator, &of_garbler]);
            self.run_garbled(&ctx, &program, &summands).await
        })
        .await
    }

    /// Labels of bits that the evaluator knows; the garbler's give the shape only.
    async fn labels_of_evaluators(&self, ctx: &Ctx, own: &Share<Bits>) -> Result<YaoLabels> {
        let (rows, lanes) = self.bit_shape(own);
        if rows == 0 || lanes == 0 {
            return Ok(YaoLabels::zeros(ctx.is_dry(), rows, lanes));
        }
        let mut drawn = self.draw(ctx, Kind::InputLabel, rows * lanes).await?;
        let block = drawn.vectors.pop().ok_or(MISSING)?;
        let mut labels = YaoLabels::of_blocks(&block, rows, lanes)?;
        if self.me == EVALUATOR {
            let [choice] = drawn.into_bits()?;
            let mut d = in_rows(&choice, rows, lanes);
            d.xor_assign(own);
            ctx.send(GARBLER, &*d).await?;
        } else {
            let d: Share<Bits> = Share(ctx.receive(EVALUATOR, (rows, lanes)).await?);
            labels.shift(&self.delta()?, &d)?;
        }
        Ok(labels)
    }

    /// Labels of a matrix as a stream of chunks.
    async fn labels_by_lanes(
        &self,
        ctx: &Ctx,
        (rows, lanes): (usize, usize),
        work: impl AsyncFn(Ctx, Range<usize>) -> Result<YaoLabels>,
    ) -> Result<YaoLabels> {
        let mut whole = None;
        ctx.stream(chunks(lanes, rows), work, |range, part| {
            if range.len() == lanes {
                whole = Some(part);
            } else {
                whole
                    .get_or_insert_with(|| YaoLabels::zeros(ctx.is_dry(), rows, lanes))
                    .write_lanes_at(range.start, &part);
            }
        })
        .await?;
        Ok(whole.unwrap_or_else(|| YaoLabels::zeros(ctx.is_dry(), rows, lanes)))
    }

    /// Correlated oblivious transfers: what [`Kind::InputLabel`] says.
    pub(crate) async fn make_input_labels(&self, ctx: &Ctx, len: usize) -> Result<Material> {
        if self.me == GARBLER {
            let made = self.ot.send_cots(ctx, len).await?;
            return Ok(Material { vectors: vec![Share(made.to_vector(LABELS))], bits: vec![] });
        }
        let (choices, made) = self.ot.receive_cots(ctx, len).await?;
        Ok(Material { vectors: vec![Share(made.to_vector(LABELS))], bits: vec![Share(choices)] })
    }
}
