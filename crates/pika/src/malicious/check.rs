//! The check of all that was dealt in a batch.
//!
//! **Source**: ours (docs/security/pika-malicious.md). **Model**: malicious, one of three. **Notation**: L = k + s bits
//! of an element; [x] summands x_0 + x_1; t in Z_2^s and GF(2^64), chi bits and elements of GF(2^64): coins of P0 and
//! P1; L' the largest L of the batch; r_q and the bits of a mask: used once, thrown away.
//!
//! | step | who | what |
//! |---|---|---|
//! | 1 | P2 | deals all of the batch, with s masks r_q mod 2^L' and 64 bits with MACs of either party |
//! | 2 | P0, P1 | toss coins once they have all of it; send P2 the coins, which compares the two |
//! | 3 | P2 | products: rho = t a - ahat; rows q: y_q = sum chi_ql 2^(L'-L) x_l + r_q |
//! | | | bits of either party: Y_p = sum chi_l x_p,l + mask |
//! | 4 | P0, P1 | zeros of products: rho - t a + ahat; t c - chat - rho b |
//! | | | of rows: y_q less its sum; sum chi_ql 2^(L'-L) m_l + m(r_q) - alpha y_q |
//! | | | of bits: Y_p less its sum; sum chi_l (M_l + K_l) - Delta Y_p |
//! | | | of places: corrections and proofs of keys, sums of values (`digits`) |
//! | 5 | P0, P1 | compare a hash of what P2 sent in step 3, of all zeros of P0, and of P1's with the other sign |
//!
//! P2 knows every value and sends everything that is opened. If P2 is honest, each of P0 and P1 can compute what the
//! other one sends. Rounds: 1 + 2 + 1 + 1 + 1.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use quorate_authenticated::macs::MacBits;
use quorate_authenticated::weights::{self, BASIS};
use quorate_authenticated::{Kind, Material};
use quorate_crypto::{Prg, Seed, ct_eq};
use quorate_engine::{Chunks, Ctx, Error, Form, Linear, Result};
use quorate_ring::{Bits, Module, Vector, Wiped};
use zeroize::Zeroizing;

use super::Third;
use super::batches::{BATCHES, Batches, joined};
use super::deal::{Batch, FIELD};
use super::kinds::{BitProduct, Claims, DealtBits, Element, Made, Product, bit_masks, combined};
use super::summands::{Fields, Summands};
use super::transcript::Transcript;
use crate::setup::DEALER;

const COINS: &str = "the coins that both parties told the dealer";
const COIN_BYTES: usize = 32;
const NOT_DEALT: Error = Error::Bug { what: "a batch of correlations was not dealt" };

/// Coins of P0 and P1, which P2 has, too; empty in a dry run.
struct Coins {
    drawn: Option<Prg>,
    /// Coins for the leaves of keys, which P2 does not draw.
    of_leaves: Option<Prg>,
}

impl Coins {
    /// Runs step 2.
    async fn toss(third: &Third, ctx: &Ctx) -> Result<Coins> {
        let session = third.pairs.session();
        let tossed = ctx.among(&[0, 1], async |ctx: Ctx| ctx.toss(session).await).await?;
        let seed = match tossed {
            Some(seed) => {
                ctx.send_bytes(DEALER, COIN_BYTES, |bytes| bytes.copy_from_slice(&seed)).await?;
                seed
            }
            None => {
                let told = ctx.exchange_bytes(&[], &[(0, COIN_BYTES), (1, COIN_BYTES)]).await?;
                if !ct_eq(&told[0], &told[1]) {
                    return Err(Error::Cheating { check: COINS });
                }
                told[0][..].try_into().map_err(|_| Error::Bug { what: "coins of a wrong length" })?
            }
        };
        let seed = Seed::from_bytes(seed);
        let drawn = |name| (!ctx.is_dry()).then(|| seed.prg(name, b""));
        Ok(Coins { drawn: drawn("quorate/pika/dealt/coins"), of_leaves: drawn("quorate/pika/dealt/leaves") })
    }

    /// Draws rows of bits.
    fn bits(&mut self, (rows, lanes): (usize, usize)) -> Bits {
        let Some(prg) = &mut self.drawn else { return Bits::shape(rows, lanes) };
        let mut drawn = Bits::zeros(rows, lanes);
        prg.fill(drawn.bytes_mut());
        Module::reduce(&mut drawn);
        drawn
    }

    fn words(&mut self, len: usize) -> Vec<u64> {
        self.drawn.as_mut().map_or(vec![], |prg| (0..len).map(|_| prg.next_u64()).collect())
    }

    /// Draws a number of `bits` bits; 0 in a dry run.
    fn number(&mut self, bits: u32) -> u64 {
        self.drawn.as_mut().map_or(0, |prg| prg.next_u64() >> (u64::BITS - bits))
    }
}

impl Third {
    /// Deals batch by batch, each with a check of its own. All batches have passed before anything is used.
    pub(super) async fn deal_all(self: &Arc<Self>, ctx: &Ctx, kinds: &[(Kind, usize)]) -> Result<Vec<Material>> {
        let all = Batches::of(kinds);
        // By batch, what was made, and the number of batches that it counts for.
        let mut made: BTreeMap<usize, (Vec<Material>, usize)> = BTreeMap::new();
        let (third, kinds_of) = (self.clone(), kinds.to_vec());
        let work = async move |ctx: Ctx, pieces: Vec<_>| third.deal_batch(&ctx, &kinds_of, &pieces).await;
        let sink = |range: Range<usize>, materials: Vec<Material>| drop(made.insert(range.start, (materials, 1)));
        let chunks = Chunks { len: all.count(), chunk: 1, window: BATCHES };
        ctx.spread_classes(chunks, |batch| all.run(batch), |range| all.pieces(range.start).to_vec(), work, sink)
            .await?;
        if ctx.is_dry() {
            // One batch may have been made for several equal ones.
            for (batch, others) in all.skipped(made.keys().copied()) {
                made.entry(batch).and_modify(|(_, times)| *times += others);
            }
        }
        if made.values().map(|(_, times)| times).sum::<usize>() != all.count() {
            return Err(NOT_DEALT);
        }
        let mut parts: Vec<Vec<(Material, usize)>> = kinds.iter().map(|_| vec![]).collect();
        for (batch, (materials, times)) in made {
            let pieces = all.pieces(batch).iter().zip(materials);
            pieces.for_each(|(&(kind, _), material)| parts[kind].push((material, times)));
        }
        Ok(parts.into_iter().map(joined).collect())
    }

    /// Runs all steps.
    async fn deal_batch(&self, ctx: &Ctx, kinds: &[(Kind, usize)], pieces: &[(usize, usize)]) -> Result<Vec<Material>> {
        let mut batch = Batch::new(self, ctx);
        let (mut made, mut claims) = (Vec::new(), Claims::default());
        for &(kind, len) in pieces {
            made.push(batch.make(&mut claims, &kinds[kind].0, len).await?);
        }
        let masks = self.masks(&mut batch, &made).await?;
        self.check(ctx, &mut made, claims, masks).await?;
        made.into_iter().map(|made| made.into_material(self.pairs.deals())).collect()
    }

    /// Deals the masks of the check.
    async fn masks(&self, batch: &mut Batch<'_>, made: &[Made]) -> Result<Masks> {
        let elements = || made.iter().flat_map(|made| &made.elements);
        let mut rows = None;
        if let Some(ring) = elements().map(|element| element.share.ring()).max() {
            let share = batch.uniform::<Vector>((ring, self.params.key_bits() as usize));
            let tag = batch.tag(&share).await?;
            rows = Some(Element { ring, share, tag, for_dealer: false });
        }
        let mut bits = None;
        if made.iter().any(|made| !made.bits.is_empty()) {
            let own = batch.uniform::<Bits>((1, BASIS));
            bits = Some(DealtBits { parts: batch.macs(&own).await?, for_dealer: false });
        }
        Ok(Masks { rows, bits })
    }

    /// Runs steps 2 to 5.
    async fn check(&self, ctx: &Ctx, made: &mut [Made], claims: Claims, masks: Masks) -> Result<()> {
        let mut coins = Coins::toss(self, ctx).await?;
        let mut transcript = Transcript::new(self, ctx);
        let t = coins.number(self.params.key_bits());
        for product in &claims.products {
            check_product(&mut transcript, product, t).await?;
        }
        let t = coins.number(u64::BITS);
        for product in &claims.bit_products {
            check_bit_product(&mut transcript, product, t).await?;
        }
        if !transcript.is_dealer() {
            for places in made.iter_mut().flat_map(|made| &mut made.places) {
                let of_party = (self.pairs.hash(), self.pairs.me, *self.keys[0].alpha);
                places.check(of_party, coins.of_leaves.as_mut(), &mut transcript)?;
            }
        }
        if let Some(masks) = &masks.rows {
            let elements = made.iter().flat_map(|made| &made.elements);
            self.check_tags(&mut transcript, &mut coins, elements, masks).await?;
        }
        if let Some(masks) = &masks.bits {
            let bits: Vec<&DealtBits> = made.iter().flat_map(|made| &made.bits).collect();
            self.check_macs(&mut transcript, &mut coins, &bits, masks).await?;
        }
        transcript.compare().await
    }

    /// Checks that tags are alpha times their elements, modulo 2^L, in all bits.
    async fn check_tags(
        &self,
        transcript: &mut Transcript<'_>,
        coins: &mut Coins,
        elements: impl Iterator<Item = &Element>,
        masks: &Element,
    ) -> Result<()> {
        let (largest, rows) = (masks.ring, masks.share.0[0].len());
        let [mut shares, mut tags] = [masks.share.clone(), masks.tag.clone()];
        for element in elements {
            let chosen = coins.bits((rows, element.share.0[0].len()));
            let up = largest.bits() - element.share.ring().bits();
            let sum = |x: &Vector| Wiped(Linear::Raise(largest, up).apply(&Wiped(x.sums_of_chosen(&chosen))));
            if let Some(error) = self.adversary.error_of(&element.share.0[0]) {
                shares.0[0].add_assign(&sum(&error));
            }
            for (into, of) in [(&mut shares, &element.share), (&mut tags, &element.tag)] {
                into.0.iter_mut().zip(&of.0).for_each(|(into, of)| into.add_assign(&sum(of)));
            }
        }
        if let Some(error) = self.adversary.error_of(&masks.share.0[0]) {
            shares.0[0].add_assign(&error);
        }
        let opened = transcript.open(&shares).await?;
        if transcript.is_dealer() {
            return Ok(());
        }
        let mut rest = shares.0[0].clone();
        if transcript.me == 0 {
            rest.sub_assign(&opened);
        }
        transcript.zero(rest);
        let mut rest = opened;
        rest.scale((*self.keys[0].alpha).into());
        rest.rsub_assign(&tags.0[0]);
        transcript.zero(rest);
        Ok(())
    }

    /// Checks that MACs are the keys, plus Delta where a bit is set.
    async fn check_macs(
        &self,
        transcript: &mut Transcript<'_>,
        coins: &mut Coins,
        bits: &[&DealtBits],
        masks: &DealtBits,
    ) -> Result<()> {
        let weights: Vec<Vec<u64>> = bits.iter().map(|bits| coins.words(bits.parts[0].len())).collect();
        let basis = weights::with_masks(vec![]);
        let dry = transcript.ctx.is_dry();
        // Sums of own bits, of MACs and of keys, by part.
        let parts = masks.parts.len();
        let mut sums = Zeroizing::new((0..parts).map(|i| sums_of(&basis, &masks.parts[i])).collect::<Vec<_>>());
        for (bits, weights) in bits.iter().zip(&weights) {
            for (sum, part) in sums.iter_mut().zip(&bits.parts) {
                let (own, macs, keys) = sums_of(weights, part);
                *sum = (sum.0 ^ own, sum.1 ^ macs, sum.2 ^ keys);
            }
        }
        let of_both = |word: u64| match dry {
            true => Vector::shape(FIELD, 1),
            false => Vector::from_u64s(FIELD, &[word]),
        };
        let me = transcript.me;
        for of in 0..2 {
            // The sum that P2 opens belongs to one party; the summand of the other one is zero.
            let own = if me == DEALER { sums[of].0 } else { sums[0].0 };
            let own = self.adversary.sum_of_bits(of, own, &weights);
            let opened = transcript.open(&Summands(vec![of_both(own)])).await?;
            if me == DEALER || dry {
                continue;
            }
            let opened = opened.to_u64s()[0];
            let rest = if me == of { own ^ opened } else { 0 };
            let block = match me == of {
                true => sums[0].1,
                false => sums[0].2 ^ weights::times(opened, *self.keys[0].delta),
            };
            transcript.zero_words(vec![rest, block as u64, (block >> 64) as u64]);
        }
        Ok(())
    }
}

/// Masks of the rows, and of the sums of bits.
struct Masks {
    rows: Option<Element>,
    bits: Option<DealtBits>,
}

/// Returns weighted sums of own bits, of MACs and of keys; zeros in a dry run.
fn sums_of(weights: &[u64], bits: &MacBits) -> (u64, u128, u128) {
    let (rows, lanes) = bits.shape();
    let own = (0..rows).filter(|_| !weights.is_empty()).fold(0, |sum, row| {
        let own = Wiped(bits.own.slice_rows(row..row + 1));
        sum ^ weights::of_bits(&weights[row * lanes..(row + 1) * lanes], &own)
    });
    let peer = &bits.peers[0];
    let of_blocks = |blocks: &[u128]| if blocks.is_empty() { 0 } else { weights::of_blocks(weights, blocks) };
    (own, of_blocks(peer.macs.as_slice()), of_blocks(peer.keys.as_slice()))
}

/// Checks c = form(a, b): t c - chat - form(rho, b) is zero, for rho = t a - ahat.
async fn check_product(transcript: &mut Transcript<'_>, product: &Product, t: u64) -> Result<()> {
    let less = |x: &Summands<Vector>, hat: &Summands<Vector>| {
        let pairs = x.0.iter().zip(&hat.0);
        let each = pairs.map(|(x, hat)| {
            let mut rest = x.clone();
            rest.scale(t.into());
            rest.sub_assign(hat);
            rest
        });
        Summands(each.collect())
    };
    let rho = less(&product.a, &product.a_hat);
    let values = || {
        let Product { a, b, c, .. } = product;
        let [rho, a, both, c] = [&rho, a, b, c].map(|x| x.total().into_inner());
        (product.form == Form::Product).then(|| [rho, a, both, c, b.0[1].clone()])
    };
    if let Some(forged) = transcript.third.adversary.rho(t, values) {
        return transcript.tell(forged.each_ref()).await;
    }
    let opened = transcript.open(&rho).await?;
    if transcript.is_dealer() {
        return Ok(());
    }
    let mut rest = rho.0[0].clone();
    if transcript.me == 0 {
        rest.sub_assign(&opened);
    }
    transcript.zero(rest);
    let mut rest = less(&product.c, &product.c_hat).0[0].clone();
    rest.sub_assign(&Wiped(combined(product.form, &opened, &product.b.0[0])));
    transcript.zero(rest);
    Ok(())
}

/// Checks c = a b of bits in the same way, with t, ahat and chat in GF(2^64).
async fn check_bit_product(transcript: &mut Transcript<'_>, product: &BitProduct, t: u64) -> Result<()> {
    let len = product.a.0[0].lanes();
    let plus = |bits: &Bits, hat: &[u64]| -> Vec<u64> {
        bit_masks(bits).zip(hat).map(|(chosen, hat)| t & chosen ^ hat).collect()
    };
    let all = |of: &Summands<Bits>, hats: &Fields| {
        Fields(of.0.iter().zip(&hats.0).map(|(bits, hat)| plus(bits, hat)).collect())
    };
    let own = all(&product.a, &product.a_hat);
    // The words are taken as bits, so that the sum of summands is their xor.
    let dry = transcript.ctx.is_dry();
    let xor = |words: &[Vec<u64>]| match words {
        [first, second] => first.iter().zip(second).map(|(x, y)| x ^ y).collect(),
        words => words[0].clone(),
    };
    let mut rho: Zeroizing<Vec<u64>> = Zeroizing::new(xor(&own.0));
    let values = || [&product.a, &product.b, &product.c].map(|x| x.total().to_bools());
    transcript.third.adversary.rho_of_bits(&mut rho, t, values);
    let rho = if dry { Vector::shape(FIELD, len) } else { Vector::from_u64s(FIELD, &rho) };
    let opened = transcript.open(&Summands(vec![rho])).await?;
    if transcript.is_dealer() || dry {
        return Ok(());
    }
    let opened = opened.to_u64s();
    let first = transcript.me == 0;
    let rest: Vec<u64> = own.0[0].iter().zip(&opened).map(|(own, rho)| if first { own ^ rho } else { *own }).collect();
    transcript.zero_words(rest);
    let of_c = all(&product.c, &product.c_hat);
    let of_b = bit_masks(&product.b.0[0]).zip(&opened).map(|(chosen, rho)| rho & chosen);
    let rest: Vec<u64> = of_c.0[0].iter().zip(of_b).map(|(c, b)| c ^ b).collect();
    transcript.zero_words(rest);
    Ok(())
}
