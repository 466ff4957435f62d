//! Triples of bits as elements of Z_2^(1+s), from bits with MACs.
//!
//! **Source**: Damgard et al. 2019 (ePrint 2019/599), Fig. 2; the check's rows are
//! openings like any other here. **Model**: malicious, 1 of 2. More than two parties make them as they make other
//! triples.
//!
//! | step | rounds | what |
//! |---|---|---|
//! | 1 | 12 | ANDs of bits with MACs ([`crate::bucket`]), and sg' more random bits r_q |
//! | 2 | 4 | each party authenticates its own of all these bits, over Z_2^(1+s) |
//! | 3 | 2 | toss sg' rows of bits chi; c_q = r_q + sum chi_ql x_l |
//! | 4 | 3 | open all c_q as bits with MACs, checked, and as elements: the same, or the run ends |
//! | 5 | 9 | check what was opened of the elements |
//!
//! Where some element is no share of its bit, each c_q differs with probability 1/2. Each r_q masks one row and is
//! thrown away.

use quorate_engine::{Ctx, Error, Result};
use quorate_ring::{Bits, Ring, Vector, Wiped};

use crate::authenticate::Own;
use crate::bucket::MOST;
use crate::coins::Coins;
use crate::party::Spdz2k;
use crate::shared::{Shared, sum};
use crate::tagged::Tagged;
use crate::tinyot::{MacBits, TinyOt};

const SAME: &str = "bits that become elements";

impl Spdz2k {
    /// Triples of bits.
    pub(crate) async fn bit_triples(&self, ctx: &Ctx, len: usize) -> Result<[Tagged; 3]> {
        let bit = Ring::of(1);
        if self.keys.parties > 2 {
            return self.triples(ctx, bit, len).await;
        }
        let ends = self.keys.tinyot()?;
        let mut parts = [const { Vec::new() }; 3];
        for start in (0..len).step_by(MOST) {
            let count = MOST.min(len - start);
            let ands = self.keys.ands(ctx, &ends, count).await?;
            let kept = ands.each_ref().map(|part| part.slice(0..count));
            let all = self.elements_of(ctx, &ends, &MacBits::concat(&kept.each_ref())).await?;
            for (i, part) in parts.iter_mut().enumerate() {
                let slice = all.map(|x| x.slice(i * count..(i + 1) * count));
                part.push(Tagged::of(bit, &slice));
            }
        }
        let none = self.nothing(ctx, bit);
        Ok(parts.map(|part| Tagged::concat(&std::iter::once(&none).chain(&part).collect::<Vec<_>>())))
    }

    /// Steps 2 to 5.
    async fn elements_of(&self, ctx: &Ctx, ends: &TinyOt<'_>, bits: &MacBits) -> Result<Shared> {
        let (rows, len) = (self.keys.params.inner_bits() as usize, bits.len());
        let masks = ends.random(ctx, rows).await?;
        let own = Wiped(Bits::concat_lanes(&[&bits.own, &masks.own]));
        let own = Wiped(own.to_vector(self.keys.params.shares(Ring::of(1))));
        let authenticated = sum(&self.keys.authenticate(ctx, &[Own::each(&own)]).await?[0]);
        let chosen = Coins::toss(ctx, &self.keys.session).await?.bits((rows, len));

        let sums = authenticated.map(|x| x.slice(0..len).sums_of_chosen(&chosen));
        let sums = sums.plus(&authenticated.map(|x| x.slice(len..len + rows)));
        let elements = self.open_elements(ctx, &Tagged::of(Ring::of(1), &sums)).await?;
        let of_bits = bits.sums_of_chosen(&chosen).xor(&masks);
        let opened = self.keys.one_check(async || ends.open(ctx, &of_bits).await).await?;
        if !ctx.is_dry() && elements.low_bit().to_bools() != opened.to_bools() {
            return Err(Error::Cheating { check: SAME });
        }
        self.check_made(ctx).await?;
        Ok(authenticated.map(|x| Vector::slice(x, 0..len)))
    }
}
