//! Openings, to compute on and to reveal. To open x, every party sends all others the low k bits of its share and keeps
//! the upper bits. All openings are noted for the check (`check`).
//!
//! Among more than two parties, a sharing of zero is added to a share before it is sent. It grows from what pairs of
//! parties know alike. Without it, the shares of a sum of inputs would show each summand: the owner of an input has its
//! mask as its share, and all parties know the difference. Bits with MACs take a sharing of zero with MACs
//! (`Kind::BitZero`), unless a random sharing that is used once is already added, as in an AND. A value that one party
//! has completely in its share is sent by that party alone.

use quorate_adversary::Twist;
use quorate_engine::{Checked, Ctx, Error, Opened, Result, Stocks};
use quorate_ring::{Bits, Vector, Wiped};

use crate::bits::from_elements;
use crate::forms::{Form, SharedBits};
use crate::kind::Kind;
use crate::macs::MacBits;
use crate::party::Authenticated;
use crate::tagged::Tagged;

const UNTOLD: Error = Error::Bug { what: "an opening that its owner did not tell" };

impl Authenticated {
    /// Opens elements to compute on, and notes the opening for the check.
    pub async fn open_elements(&self, ctx: &Ctx, x: &Tagged) -> Result<Vector> {
        let elements = self.tell(ctx, x).await?;
        ctx.opened(());
        Ok(elements)
    }

    /// Opens elements, to compute on or to reveal, and notes the opening for the check.
    async fn tell(&self, ctx: &Ctx, x: &Tagged) -> Result<Vector> {
        self.keys.in_use()?;
        let (ring, len) = x.shape();
        if self.keys.watches() {
            self.note(ctx, x, x.share.clone(), (&[], Vector::shape(x.share.ring(), len)));
            return Ok(Vector::shape(ring, len));
        }
        let share = self.keys.rerandomised(ctx, &x.share)?;
        let low = self.keys.twisted(Twist::Low, share.convert(ring));
        let peers = self.keys.peers();
        let lows: Vec<_> = peers.iter().map(|&peer| self.keys.told_to(peer, &low)).collect();
        let outgoing: Vec<_> = peers.iter().zip(&lows).map(|(&peer, low)| (peer, &**low)).collect();
        let incoming: Vec<_> = peers.iter().map(|&peer| (peer, (ring, len))).collect();
        let mut told = ctx.exchange(&outgoing, &incoming).await?;
        told.insert(self.keys.me, low);
        // The lows are added up as integers: shares have room for that above the value.
        let wide = share.ring();
        let mut sum = told[0].convert(wide);
        told[1..].iter().for_each(|low| sum.add_assign(&low.convert(wide)));
        let opened = sum.convert(ring);
        self.note(ctx, x, share, (&told, sum));
        Ok(opened)
    }

    /// Opens vectors, each of which one party knows. That party sends its share; the shares of the others are zeros,
    /// and are not sent. What the party sends is the opened value. The openings are noted for the check.
    pub async fn open_known(&self, ctx: &Ctx, parts: &[(usize, &Tagged)]) -> Result<Vec<Vector>> {
        self.keys.in_use()?;
        if self.keys.watches() {
            let shape = |(_, x): &(usize, &Tagged)| {
                self.note(ctx, x, x.share.clone(), (&[], Vector::shape(x.share.ring(), x.share.len())));
                Vector::shape(x.ring, x.share.len())
            };
            let shapes = parts.iter().map(shape).collect();
            ctx.opened(());
            return Ok(shapes);
        }
        let peers = self.keys.peers();
        let low = |x: &Tagged| self.keys.twisted(Twist::Known, x.share.convert(x.ring));
        let lows: Vec<Vector> = parts.iter().map(|(_, x)| low(x)).collect();
        let (mut own, mut incoming) = (Vec::new(), Vec::new());
        for ((owner, x), low) in parts.iter().zip(&lows) {
            match *owner == self.keys.me {
                true => own.extend(peers.iter().map(|&peer| (peer, self.keys.told_to(peer, low)))),
                false => incoming.push((*owner, x.shape())),
            }
        }
        let outgoing: Vec<_> = own.iter().map(|(peer, low)| (*peer, &**low)).collect();
        let mut told = ctx.exchange(&outgoing, &incoming).await?.into_iter();
        let mut opened = Vec::new();
        for ((owner, x), own) in parts.iter().zip(&lows) {
            let low = if *owner == self.keys.me { own.clone() } else { told.next().ok_or(UNTOLD)? };
            self.note(ctx, x, x.share.clone(), (std::slice::from_ref(&low), low.convert(x.share.ring())));
            opened.push(low);
        }
        ctx.opened(());
        Ok(opened)
    }

    /// Reveals x to all parties, or below a mask to one.
    async fn reveal_elements(&self, ctx: &Ctx, x: &Tagged, to: Option<usize>) -> Result<Option<Vector>> {
        let Some(to) = to else {
            let opened = self.tell(ctx, x).await?;
            return self.told_to_third(ctx, opened).await.map(Some);
        };
        self.check_party(to)?;
        let (ring, len) = x.shape();
        let mask = self.mask(ctx, to, (ring, len)).await?;
        let mut opened = self.tell(ctx, &x.zip(&mask, Vector::sub_assign)).await?;
        if to == self.keys.parties {
            opened = self.told_to_third(ctx, opened).await?;
        }
        // The share of the mask's owner is the whole mask.
        opened.add_assign(&Wiped(mask.share.convert(ring)));
        Ok((to == self.keys.me).then_some(opened))
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
        Ok(elements.map(|elements| ctx.revealed(elements)))
    }

    pub(crate) async fn reveal_matrix(
        &self,
        ctx: &Ctx,
        checked: &Checked,
        x: &SharedBits,
        to: Option<usize>,
    ) -> Result<Option<Opened<Bits>>> {
        checked.allows_reveals(ctx)?;
        let bits = match &x.0 {
            Form::Elements(bits) => {
                let elements = self.reveal_elements(ctx, &bits.elements, to).await?;
                elements.map(|elements| from_elements(&elements, x.shape()))
            }
            Form::Macs(bits) => self.reveal_macs(ctx, bits, to).await?,
        };
        Ok(bits.map(|bits| ctx.revealed(bits)))
    }

    /// Opens bits whose shares might show more than the bits: among more than two parties, a sharing of zero is added
    /// to bits with MACs first. Not for use while correlations are made.
    pub(crate) async fn open_any_bits(&self, ctx: &Ctx, x: &SharedBits) -> Result<Bits> {
        match &x.0 {
            Form::Elements(_) => self.open_shared_bits(ctx, x).await,
            Form::Macs(bits) => {
                let hidden = SharedBits::macs(self.rerandomised_bits(ctx, bits).await?);
                self.open_shared_bits(ctx, &hidden).await
            }
        }
    }

    /// Returns other shares of the same bits, which show nothing of this party's shares alone.
    async fn rerandomised_bits(&self, ctx: &Ctx, x: &MacBits) -> Result<MacBits> {
        if self.keys.parties == 2 {
            return Ok(x.clone());
        }
        let zeros = self.drawn_bits(ctx, Kind::BitZero, x.shape()).await?;
        Ok(x.clone().xor(&zeros))
    }

    /// Opens bits to compute on, and notes the opening for the check. Their shares with MACs must show nothing but the
    /// bits: a random sharing or a sharing of zero was added.
    pub async fn open_shared_bits(&self, ctx: &Ctx, x: &SharedBits) -> Result<Bits> {
        match &x.0 {
            Form::Elements(bits) => Ok(from_elements(&self.open_elements(ctx, &bits.elements).await?, x.shape())),
            Form::Macs(bits) => {
                let opened = self.tell_macs(ctx, bits).await?;
                ctx.opened(());
                Ok(opened)
            }
        }
    }

    /// Opens bits with MACs: all parties send their own bits. MACs stay with them until they are compared.
    async fn tell_macs(&self, ctx: &Ctx, x: &MacBits) -> Result<Bits> {
        if self.keys.watches() {
            self.note_macs(ctx, None);
            return Ok(Bits::shape(x.shape().0, x.shape().1));
        }
        let told = self.keys.tell_bits(ctx, x).await?;
        self.note_macs(ctx, Some((x, &told)));
        Ok(told.opened)
    }

    /// Opens the own bits of every party, by party, and notes the opening for the check. The bits must not be used
    /// elsewhere.
    pub async fn open_own_bits(&self, ctx: &Ctx, x: &MacBits) -> Result<Vec<Bits>> {
        let told = self.keys.tell_bits(ctx, x).await?;
        self.note_macs(ctx, Some((x, &told)));
        ctx.opened(());
        Ok(told.all)
    }

    /// Reveals bits with MACs to all parties, or below a mask to one.
    async fn reveal_macs(&self, ctx: &Ctx, x: &MacBits, to: Option<usize>) -> Result<Option<Bits>> {
        let hidden = self.rerandomised_bits(ctx, x).await?;
        let Some(to) = to else {
            let opened = self.tell_macs(ctx, &hidden).await?;
            return self.told_to_third(ctx, opened).await.map(Some);
        };
        self.check_party(to)?;
        let mask = self.mask_of_bits(ctx, to, x.shape()).await?;
        let mut opened = self.tell_macs(ctx, &hidden.xor(&mask)).await?;
        if to == self.keys.parties {
            opened = self.told_to_third(ctx, opened).await?;
        }
        opened.xor_assign(&mask.own);
        Ok((to == self.keys.me).then_some(opened))
    }

    /// Draws random bits that one party knows.
    pub(crate) async fn mask_of_bits(&self, ctx: &Ctx, owner: usize, shape: (usize, usize)) -> Result<MacBits> {
        self.drawn_bits(ctx, Kind::BitMask { owner }, shape).await
    }

    /// Draws bits of a kind that has one row, and arranges them in rows.
    async fn drawn_bits(&self, ctx: &Ctx, kind: Kind, shape: (usize, usize)) -> Result<MacBits> {
        let bits = self.draw(ctx, kind, shape.0 * shape.1).await?.bits;
        match bits.into_iter().next().map(|bits| bits.0) {
            Some(Form::Macs(bits)) => Ok(bits.in_rows(shape)),
            _ => Err(Error::Bug { what: "a stock of bits without them" }),
        }
    }
}
