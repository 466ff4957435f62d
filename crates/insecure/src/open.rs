//! Openings, and their check.
//!
//! To open x all parties publish their shares. What was opened is right if tag - key x sums to zero over the parties,
//! for each element. A party keeps, for each ring, the sum of all that with random factors: parties open in different
//! orders, sums are alike. In the check they commit to these sums, open them, and add up.
//!
//! Soundness: an error that is not zero modulo 2^k leads to a sum of zero with the probability that alpha, uniform in
//! Z_2^s, times the error, times the factor, vanishes modulo 2^(k+s): at most (s + 1) 2^-s. The factors come from the
//! seed that all know: whoever uses that may choose errors that cancel. Tests do not.

use std::collections::BTreeMap;

use quorate_engine::{Checked, Ctx, Error, Opened, Result};
use quorate_ring::{Bits, Vector};

use crate::bits::{TaggedBits, from_elements};
use crate::party::{Insecure, check_party};
use crate::tagged::Tagged;

/// For each ring of shares the sum of what is to be checked.
pub(crate) type Unchecked = BTreeMap<u32, Vector>;

const CHECK: &str = "the tags of what was opened";

impl Insecure {
    /// The elements that shares are of; noted for the check.
    pub(crate) async fn open_elements(&self, ctx: &Ctx, x: &Tagged) -> Result<Vector> {
        let shape = (x.share.ring(), x.share.len());
        let outgoing: Vec<_> = self.peers().map(|peer| (peer, &x.share)).collect();
        let incoming: Vec<_> = self.peers().map(|peer| (peer, shape)).collect();
        let mut opened = x.share.clone();
        ctx.exchange(&outgoing, &incoming).await?.iter().for_each(|share| opened.add_assign(share));
        self.note(ctx, &x.tag, &opened);
        Ok(opened)
    }

    fn note(&self, ctx: &Ctx, tag: &Vector, opened: &Vector) {
        let (ring, len) = (tag.ring(), tag.len());
        let mut wrong = opened.clone();
        wrong.scale(self.key());
        wrong.rsub_assign(tag);
        wrong.mul_assign(&ctx.randomness().stream(&self.dealer).draw((ring, len)));
        let sum = wrong.sum_axis(1, len, 1);
        let mut unchecked = self.unchecked.borrow_mut();
        unchecked.entry(ring.bits()).and_modify(|all| all.add_assign(&sum)).or_insert(sum);
    }

    /// Checks all that was opened since the last check.
    pub(crate) async fn check_tags(&self, ctx: &Ctx) -> Result<Checked> {
        let before = ctx.openings();
        let sums: Vec<Vector> = std::mem::take(&mut *self.unchecked.borrow_mut()).into_values().collect();
        if sums.is_empty() {
            return Checked::if_it_holds(CHECK, before, true);
        }
        let mut bytes = Vec::new();
        for sum in &sums {
            sum.pack(&mut bytes);
            if ctx.is_dry() {
                bytes.resize(bytes.len() + sum.ring().packed_bytes(1), 0);
            }
        }
        let said = ctx.commit_and_open(&self.session, "quorate/insecure/check", &bytes).await?;
        let mut holds = true;
        let mut at = 0;
        for sum in &sums {
            let bytes = sum.ring().packed_bytes(1);
            let mut total = Vector::zeros(sum.ring(), 1);
            for words in &said {
                let read = Vector::unpack(sum.ring(), 1, &words[at..at + bytes]);
                total.add_assign(&read.map_err(|_| Error::Bug { what: "a sum of a wrong length" })?);
            }
            holds &= total.to_limbs().iter().flatten().all(|&limb| limb == 0);
            at += bytes;
        }
        Checked::if_it_holds(CHECK, before, holds)
    }

    /// x to all, or below a mask to one.
    pub(crate) async fn reveal_elements(&self, ctx: &Ctx, x: &Tagged, to: Option<usize>) -> Result<Option<Vector>> {
        let Some(to) = to else { return self.open_elements(ctx, x).await.map(Some) };
        check_party(self.parties, to)?;
        let (ring, len) = x.shape();
        let (mask, shared) = self.mask(ctx, ring, len);
        let mut opened = self.open_elements(ctx, &x.zip(&shared, Vector::sub_assign)).await?;
        opened.add_assign(&mask);
        Ok((to == self.me).then_some(opened))
    }

    pub(crate) async fn reveal_vector(
        &self,
        ctx: &Ctx,
        checked: &Checked,
        x: &Tagged,
        to: Option<usize>,
    ) -> Result<Option<Opened<Vector>>> {
        checked.allows_reveals(ctx)?;
        let elements = self.reveal_elements(ctx, x, to).await?;
        Ok(elements.map(|elements| ctx.revealed(elements.convert(x.shape().0))))
    }

    pub(crate) async fn reveal_matrix(
        &self,
        ctx: &Ctx,
        checked: &Checked,
        x: &TaggedBits,
        to: Option<usize>,
    ) -> Result<Option<Opened<Bits>>> {
        checked.allows_reveals(ctx)?;
        let elements = self.reveal_elements(ctx, &x.elements, to).await?;
        Ok(elements.map(|elements| ctx.revealed(from_elements(&elements, x.shape()))))
    }
}
