//! The labels of values: inputs, B2Y, A2Y.
//!
//! **Source**: aby, sections III-C (Shr) and IV-B, IV-C. **Deviation**: see [`crate::yao`]. **Model**: semi-honest, 1
//! of 2.
//!
//! **Notation**: of a correlated oblivious transfer made before, the garbler has q and the evaluator a random bit c and
//! t = q xor c Delta. For its bit y the evaluator sends d = c xor y, which c hides. The garbler takes W = q xor d Delta
//! as the label of a 0 bit. The evaluator's t = W xor (c xor d) Delta is then the label of y. A bit g that the garbler
//! knows is added by taking W xor g Delta instead: the same t is then the label of y xor g.
//!
//! A circuit that was garbled ahead has another label of 0, Z. The garbler then sends Z xor W, which turns the
//! evaluator's label into that of the same bit at Z; and Z xor g Delta if only the garbler knows the bit. For A2Y the
//! evaluator's summand is hidden by a number whose bits are the c of transfers made before. The garbler knows their
//! labels of 0 ahead: the evaluator sends y - c, and the garbler adds that to its own summand.

use std::ops::Range;
use std::sync::OnceLock;

use quorate_additive::product::in_rows;
use quorate_additive::stock::MISSING;
use quorate_additive::{blank, local};
use quorate_circuits::{Goal, Order, Program, catalog};
use quorate_crypto::RUN;
use quorate_engine::{Chunks, Ctx, Result, Sharing, Stocks, check_owner};
use quorate_gadgets::Labels as _;
use quorate_garble::{Delta, LABEL_BYTES};
use quorate_ring::{Bits, Ring, Vector};

use crate::Share;
use crate::kind::{Kind, Material};
use crate::setup::Aby;
use crate::yao::{EVALUATOR, GARBLER, LABEL_BITS, YaoLabels, unlike};

/// The ring of labels in the stock.
const LABELS: Ring = Ring::of(LABEL_BITS);

/// Returns chunks of elements of `rows` bits that get labels together.
pub(crate) fn chunks(lanes: usize, rows: usize) -> Chunks {
    Chunks::of_bytes(lanes, 2 * LABEL_BYTES * rows)
}

/// Returns the circuit of A2Y: the evaluator's summand, then the garbler's. Each is built once.
pub(crate) fn adder(bits: u32) -> &'static Program {
    static ADDERS: [OnceLock<Program>; Aby::MOST_BITS as usize + 1] =
        [const { OnceLock::new() }; Aby::MOST_BITS as usize + 1];
    ADDERS[bits as usize].get_or_init(|| Program::new(&catalog::add(bits, Goal::Size), Order::Runs(RUN)))
}

impl Aby {
    /// Returns the difference between the labels of 0 and 1; it is the garbler's secret.
    pub(crate) fn delta(&self) -> Result<Delta> {
        Delta::from_correlation(self.ot.delta()).map_err(unlike)
    }

    /// Returns labels of bits that the garbler knows when it garbles, or that are public: the active label is 0 for
    /// either bit.
    pub(crate) fn labels_known_to_garbler(&self, bits: &Bits) -> Result<YaoLabels> {
        let mut labels = YaoLabels::zeros(bits.is_shape(), bits.rows(), bits.lanes());
        if self.me == GARBLER {
            labels.shift(&self.delta()?, bits)?;
        }
        Ok(labels)
    }

    /// Shr: returns labels of bits that `owner` knows.
    pub(crate) async fn share_labels(
        &self,
        ctx: &Ctx,
        owner: usize,
        shape: (usize, usize),
        value: Option<&Bits>,
    ) -> Result<YaoLabels> {
        if !ctx.is_alone() {
            check_owner(ctx, owner, shape, value)?;
        }
        let own = match value {
            Some(bits) if self.me == owner && !ctx.is_dry() => Share::of(bits.clone()),
            _ => Share::of(blank(ctx.is_dry(), shape)),
        };
        let work = async move |s: &Aby, ctx: &Ctx, own: Share<Bits>| match owner {
            GARBLER => s.labels_of_garblers(ctx, &own).await,
            _ => s.labels_of(ctx, &own).await,
        };
        self.labels_by_lanes(ctx, shape, |range| own.map(|own| own.slice_lanes(range)), work).await
    }

    /// B2Y: returns labels of shared bits; the evaluator's shares are its bits, the garbler's are added to the labels
    /// of 0.
    pub(crate) async fn labels_of_bits(&self, ctx: &Ctx, x: &Share<Bits>) -> Result<YaoLabels> {
        let work = async |s: &Aby, ctx: &Ctx, own: Share<Bits>| s.labels_of(ctx, &own).await;
        self.labels_by_lanes(ctx, self.bit_shape(x), |range| x.map(|x| x.slice_lanes(range)), work).await
    }

    /// A2Y: returns labels of the sum of both summands, of which each party knows one, from a garbled circuit.
    pub(crate) async fn labels_of_summands(&self, ctx: &Ctx, x: &Share<Vector>) -> Result<YaoLabels> {
        let (ring, len) = self.shape(x);
        if ring.bits() == 1 {
            return self.labels_of_bits(ctx, &local::low_bit(x)).await;
        }
        let program = adder(ring.bits());
        let work = async move |s: &Aby, ctx: &Ctx, own: Share<Vector>| {
            let (of_evaluator, own) = match s.is_ahead() {
                true => s.hide_summand(ctx, &own).await?,
                false => {
                    let own = own.map(|own| own.to_bits(0..ring.bits()));
                    let nothing = blank(ctx.is_dry(), s.bit_shape(&own));
                    let known = if s.me == EVALUATOR { own.clone() } else { Share::of(nothing) };
                    (s.labels_of(ctx, &known).await?, own)
                }
            };
            let of_garbler = s.labels_of_garblers(ctx, &own).await?;
            let summands = YaoLabels::concat_rows(&[&of_evaluator, &of_garbler]);
            s.run_garbled(ctx, program, &summands).await
        };
        let shape = (ring.bits() as usize, len);
        self.labels_by_lanes(ctx, shape, |range| x.map(|x| x.slice(range)), work).await
    }

    /// Returns labels of bits of which each party knows a share.
    async fn labels_of(&self, ctx: &Ctx, own: &Share<Bits>) -> Result<YaoLabels> {
        let (rows, lanes) = self.bit_shape(own);
        if rows == 0 || lanes == 0 {
            return Ok(YaoLabels::zeros(ctx.is_dry(), rows, lanes));
        }
        let ahead = if self.is_ahead() { Some(self.entry_labels(ctx, rows, lanes).await?) } else { None };
        let (mut labels, choices) = self.transferred(ctx, rows, lanes).await?;
        match (choices, ahead) {
            (_, Some(zero)) if ctx.is_alone() => return Ok(zero),
            (Some(mut d), ahead) => {
                d.xor_assign(own);
                ctx.send(GARBLER, &*d).await?;
                if ahead.is_some() {
                    labels.add(&self.receive_labels(ctx, rows, lanes).await?)?;
                }
            }
            (None, ahead) => {
                let mut d: Share<Bits> = Share::of(ctx.receive(EVALUATOR, (rows, lanes)).await?);
                d.xor_assign(own);
                labels.shift(&self.delta()?, &d)?;
                if let Some(zero) = ahead {
                    labels.add(&zero)?;
                    self.send_labels(ctx, &labels).await?;
                    return Ok(zero);
                }
            }
        }
        Ok(labels)
    }

    /// Returns labels of bits that the garbler knows when the circuit runs.
    async fn labels_of_garblers(&self, ctx: &Ctx, own: &Share<Bits>) -> Result<YaoLabels> {
        let (rows, lanes) = self.bit_shape(own);
        if !self.is_ahead() || rows == 0 || lanes == 0 {
            return self.labels_known_to_garbler(own);
        }
        let zero = self.entry_labels(ctx, rows, lanes).await?;
        if ctx.is_alone() {
            return Ok(zero);
        }
        if self.me == EVALUATOR {
            return self.receive_labels(ctx, rows, lanes).await;
        }
        let mut active = zero.clone();
        active.shift(&self.delta()?, own)?;
        self.send_labels(ctx, &active).await?;
        Ok(zero)
    }

    /// Returns labels of a number that only the evaluator knows, and, at the garbler, the rest of the sum of the
    /// summands.
    async fn hide_summand(&self, ctx: &Ctx, own: &Share<Vector>) -> Result<(YaoLabels, Share<Bits>)> {
        let (ring, len) = self.shape(own);
        let bits = ring.bits();
        let (labels, choices) = self.transferred(ctx, bits as usize, len).await?;
        let mut rest = own.clone();
        match choices {
            _ if ctx.is_alone() => {}
            Some(choices) => {
                rest.sub_assign(&choices.to_vector(ring));
                ctx.send(GARBLER, &*rest).await?;
            }
            None => rest.add_assign(&ctx.receive::<Vector>(EVALUATOR, (ring, len)).await?),
        }
        Ok((labels, rest.map(|rest| rest.to_bits(0..bits))))
    }

    /// Draws blocks of transfers made before, and at the evaluator the bits of which they are labels.
    async fn transferred(&self, ctx: &Ctx, rows: usize, lanes: usize) -> Result<(YaoLabels, Option<Share<Bits>>)> {
        let mut drawn = self.draw(ctx, Kind::InputLabel, rows * lanes).await?;
        let block = drawn.vectors.pop().ok_or(MISSING)?;
        let choices = drawn.bits.pop().map(|choices| in_rows(&choices, rows, lanes));
        Ok((YaoLabels::of_blocks(&block, rows, lanes)?, choices))
    }

    /// Draws labels of 0 that were made ahead, at the garbler; at the evaluator only their number.
    async fn entry_labels(&self, ctx: &Ctx, rows: usize, lanes: usize) -> Result<YaoLabels> {
        let mut drawn = self.draw(ctx, Kind::EntryLabel, rows * lanes).await?;
        match drawn.vectors.pop() {
            Some(block) => YaoLabels::of_blocks(&block, rows, lanes),
            None => Ok(YaoLabels::zeros(true, rows, lanes)),
        }
    }

    async fn send_labels(&self, ctx: &Ctx, labels: &YaoLabels) -> Result<()> {
        let (rows, lanes) = labels.shape();
        ctx.send_bytes(EVALUATOR, rows * lanes * LABEL_BYTES, |frame| labels.write_to(frame)).await
    }

    async fn receive_labels(&self, ctx: &Ctx, rows: usize, lanes: usize) -> Result<YaoLabels> {
        let bytes = ctx.receive_bytes(GARBLER, rows * lanes * LABEL_BYTES).await?;
        if ctx.is_dry() { Ok(YaoLabels::zeros(true, rows, lanes)) } else { YaoLabels::read_from(&bytes, rows, lanes) }
    }

    /// Makes the labels of a matrix as a stream of chunks; `own` returns this party's part of a chunk.
    async fn labels_by_lanes<I: Send + 'static>(
        &self,
        ctx: &Ctx,
        (rows, lanes): (usize, usize),
        own: impl Fn(Range<usize>) -> I,
        work: impl AsyncFn(&Aby, &Ctx, I) -> Result<YaoLabels> + Send + Sync + 'static,
    ) -> Result<YaoLabels> {
        let mut whole = None;
        let aby = self.clone();
        let work = async move |ctx: Ctx, own: I| work(&aby, &ctx, own).await;
        ctx.spread(chunks(lanes, rows), own, work, |range, part| {
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

    /// Makes blocks of the garbler, as [`Kind::EntryLabel`] describes.
    pub(crate) fn make_entry_labels(&self, ctx: &Ctx, len: usize) -> Material {
        let own = (self.me == GARBLER).then(|| Share::of(ctx.randomness().stream(&self.private).draw((LABELS, len))));
        Material::of_vectors(own.into_iter().collect())
    }

    /// Makes correlated oblivious transfers, as [`Kind::InputLabel`] describes.
    pub(crate) async fn make_input_labels(&self, ctx: &Ctx, len: usize) -> Result<Material> {
        if self.me == GARBLER {
            let made = self.ot.send_cots(ctx, len).await?;
            return Ok(Material::of_vectors(vec![Share::of(made.to_vector(LABELS))]));
        }
        let (choices, made) = self.ot.receive_cots(ctx, len).await?;
        Ok(Material::new(vec![Share::of(made.to_vector(LABELS))], vec![Share::of(choices)]))
    }
}
