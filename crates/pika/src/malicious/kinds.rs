//! The parts of correlations of each kind, and what has to be checked of them.
//!
//! | kind | uniform | follows | products to check |
//! |---|---|---|---|
//! | triple, triple of sums, matrix triple | a, b | c | c = a b |
//! | triple of one party | a, b, all in its summands | c, which it computes | |
//! | random element, mask | x | | |
//! | triple of bits | a, b | c | c = a b |
//! | mask for bits, bit that is an element mod 2 | x | | |
//! | random bit, daBit | | b as an element | b = b b |
//! | edaBit, masks | | all bits as elements | each b = b b; neighbours' products |
//! | place (its keys: `digits`) | b_i | keys; c = b_(r_h) as a sum | c = e_h b |
//!
//! Every element has a tag, or is put together from elements that need none. The xor summands of a bit that is an
//! element are the lowest bits of its summands, so the two forms cannot differ.

use quorate_authenticated::macs::MacBits;
use quorate_authenticated::{Kind, Material, Params, SharedBits, Tagged};
use quorate_engine::{Error, Form, Linear, Result};
use quorate_ring::{Bits, Module, Ring, Vector, Wiped};

use super::deal::Batch;
use super::digits::{DealtPlaces, Digits};
use super::summands::{Fields, Summands};

/// Elements with tags.
pub(crate) struct Element {
    /// The ring of the values.
    pub ring: Ring,
    pub share: Summands<Vector>,
    pub tag: Summands<Vector>,
    /// Whether P2 continues with the value.
    pub for_dealer: bool,
}

/// The claim c = form(a, b), with chat = form(ahat, b) for a uniform ahat; without tags.
pub(crate) struct Product {
    pub form: Form,
    pub a: Summands<Vector>,
    pub b: Summands<Vector>,
    pub c: Summands<Vector>,
    pub a_hat: Summands<Vector>,
    pub c_hat: Summands<Vector>,
}

/// The claim c = a b for bits, in one row, with ahat and chat in GF(2^64).
pub(crate) struct BitProduct {
    pub a: Summands<Bits>,
    pub b: Summands<Bits>,
    pub c: Summands<Bits>,
    pub a_hat: Fields,
    pub c_hat: Fields,
}

/// Bits with MACs: of this party, or at P2 of both.
pub(crate) struct DealtBits {
    pub parts: Vec<MacBits>,
    /// Whether P2 continues with the value.
    pub for_dealer: bool,
}

/// Everything that was dealt of one kind in a batch.
pub(crate) struct Made {
    pub elements: Vec<Element>,
    pub bits: Vec<DealtBits>,
    /// Places; their shares come first.
    pub places: Option<DealtPlaces>,
}

/// The claims of a batch, with what was dealt to check them.
#[derive(Default)]
pub(crate) struct Claims {
    pub products: Vec<Product>,
    pub bit_products: Vec<BitProduct>,
}

const NO_PLACES: Error = Error::Bug { what: "places of more bits than keys have" };
const MANY_PARTIES: Error = Error::Bug { what: "a correlation that two parties have no use for" };

impl Made {
    fn of(elements: Vec<Element>) -> Made {
        Made { elements, bits: vec![], places: None }
    }

    /// Returns what a party keeps; P2 keeps shapes, except of its own masks.
    pub fn into_material(self, deals: bool) -> Result<Material> {
        let element = |x: &Element| {
            let shape = || Vector::shape(x.share.ring(), x.share.0[0].len());
            let shared = |share: Vector, tag: Vector| quorate_authenticated::shared::Shared { share, tag };
            let shared = match (deals, x.for_dealer) {
                (false, _) => shared(x.share.0[0].clone(), x.tag.0[0].clone()),
                (true, false) => shared(shape(), shape()),
                (true, true) => shared(x.share.total().into_inner(), shape()),
            };
            Tagged::of(x.ring, &shared)
        };
        let bits = |x: &DealtBits| {
            let shape = x.parts[0].shape();
            if !deals {
                return SharedBits::macs(x.parts[0].clone());
            }
            let mut kept = MacBits::blank(true, 1, shape);
            if x.for_dealer {
                let mut value = Wiped((*x.parts[0].own).clone());
                value.xor_assign(&x.parts[1].own);
                kept.own = value;
            }
            SharedBits::macs(kept)
        };
        let mut vectors: Vec<Tagged> = self.elements.iter().map(element).collect();
        let mut blocks = vec![];
        if let Some(places) = self.places {
            let (places, keys) = places.into_stock(deals)?;
            vectors.insert(0, places);
            blocks.push(keys);
        }
        Ok(Material::new(vectors, self.bits.iter().map(bits).collect()).with_blocks(blocks))
    }
}

fn product_of(form: Form, a: &Vector, b: &Vector, len: usize) -> Vector {
    let mut sum = if a.is_shape() { Vector::shape(a.ring(), len) } else { Vector::zeros(a.ring(), len) };
    form.accumulate(&mut sum, a, b);
    sum
}

/// Returns c of a form; several matrix products lie one after the other.
pub(crate) fn combined(form: Form, a: &Vector, b: &Vector) -> Vector {
    let ([left, right], len) = (form.lens(a.len()), form.len_out(a.len()));
    if matches!(form, Form::Product | Form::Dot { .. }) {
        return product_of(form, a, b, len);
    }
    let one =
        |i: usize| product_of(form, &a.slice(i * left..(i + 1) * left), &b.slice(i * right..(i + 1) * right), len);
    match a.len() / left {
        1 => one(0),
        count => Vector::concat(&(0..count).map(one).collect::<Vec<_>>().iter().collect::<Vec<_>>()),
    }
}

impl Batch<'_> {
    pub(super) async fn element(&mut self, ring: Ring, share: Summands<Vector>) -> Result<Element> {
        let tag = self.tag(&share).await?;
        Ok(Element { ring, share, tag, for_dealer: false })
    }

    async fn bits(&mut self, own: &Summands<Bits>) -> Result<DealtBits> {
        Ok(DealtBits { parts: self.macs(own).await?, for_dealer: false })
    }

    /// Adds the claim c = form(a, b) to the check.
    pub(super) async fn claim(
        &mut self,
        claims: &mut Claims,
        form: Form,
        [a, b, c]: [&Summands<Vector>; 3],
    ) -> Result<()> {
        let a_hat = self.uniform::<Vector>(a.0[0].shape_of());
        let c_hat = self.follow(c.0[0].shape_of(), || combined(form, &a_hat.total(), &b.total())).await?;
        let [a, b, c] = [a, b, c].map(Clone::clone);
        claims.products.push(Product { form, a, b, c, a_hat, c_hat });
        Ok(())
    }

    /// Adds the claim c = a b for bits in one row to the check.
    async fn claim_bits(&mut self, claims: &mut Claims, [a, b, c]: [Summands<Bits>; 3]) -> Result<()> {
        let len = a.0[0].lanes();
        let a_hat = self.uniform_fields(len);
        let c_hat = self.follow_fields(len, || {
            let sum = a_hat.0[0].iter().zip(&a_hat.0[1]).map(|(x, y)| x ^ y);
            sum.zip(bit_masks(&b.total())).map(|(x, chosen)| x & chosen).collect()
        });
        let c_hat = c_hat.await?;
        claims.bit_products.push(BitProduct { a, b, c, a_hat, c_hat });
        Ok(())
    }

    /// Deals uniform bits as elements over Z_2^L, proven over the ring of L.
    async fn proven_bits(&mut self, claims: &mut Claims, (ring, len): (Ring, usize)) -> Result<Summands<Vector>> {
        let value = Wiped(self.bits_of_dealer((1, len)));
        let bits = self.follow((ring, len), || value.to_vector(ring)).await?;
        self.claim(claims, Form::Product, [&bits; 3]).await?;
        Ok(bits)
    }

    async fn triple(&mut self, claims: &mut Claims, form: Form, ring: Ring, [a, b]: [usize; 2]) -> Result<Made> {
        let wide = self.third.params.shares(ring);
        let (a, b) = (self.uniform::<Vector>((wide, a)), self.uniform::<Vector>((wide, b)));
        let len = combined(form, &shape_of(&a), &shape_of(&b)).len();
        let c = self.follow((wide, len), || combined(form, &a.total(), &b.total())).await?;
        self.claim(claims, form, [&a, &b, &c]).await?;
        let mut elements = Vec::new();
        for share in [a, b, c] {
            elements.push(self.element(ring, share).await?);
        }
        Ok(Made::of(elements))
    }

    /// Deals triples that are completely in the owner's summands. They are products by construction: nothing is
    /// claimed.
    async fn owned_triple(&mut self, owner: usize, ring: Ring, len: usize) -> Result<Made> {
        let wide = self.third.params.shares(ring);
        let (a, b) = (self.owned::<Vector>(owner, (wide, len)), self.owned::<Vector>(owner, (wide, len)));
        let c = Summands(a.0.iter().zip(&b.0).map(|(a, b)| combined(Form::Product, a, b)).collect());
        let mut elements = Vec::new();
        for share in [a, b, c] {
            elements.push(self.element(ring, share).await?);
        }
        Ok(Made::of(elements))
    }

    async fn bit_triple(&mut self, claims: &mut Claims, len: usize) -> Result<Made> {
        let (a, b) = (self.uniform::<Bits>((1, len)), self.uniform::<Bits>((1, len)));
        let c = self.and(&a, &b).await?;
        let mut bits = Vec::new();
        for own in [&a, &b, &c] {
            bits.push(self.bits(own).await?);
        }
        self.claim_bits(claims, [a, b, c]).await?;
        Ok(Made { elements: vec![], bits, places: None })
    }

    async fn and(&mut self, a: &Summands<Bits>, b: &Summands<Bits>) -> Result<Summands<Bits>> {
        self.follow(a.0[0].shape_of(), || {
            let mut both = a.total();
            both.and_assign(&b.total());
            both.into_inner()
        })
        .await
    }

    /// Deals a number of `width` bits in a ring, with these bits as elements, row after row; with `cut` also shifted.
    async fn number(
        &mut self,
        claims: &mut Claims,
        (width, ring): (u32, Ring),
        cut: Option<std::ops::Range<u32>>,
        len: usize,
    ) -> Result<(Vec<Element>, Summands<Vector>)> {
        let wide = self.third.params.shares(ring);
        let bits = self.proven_bits(claims, (wide, width as usize * len)).await?;
        let mut elements = Vec::new();
        for rows in std::iter::once(0..width).chain(cut) {
            let share = weighed(&bits, &rows, len);
            elements.push(self.element(ring, share).await?);
        }
        Ok((elements, bits))
    }

    async fn comparison_masks(&mut self, claims: &mut Claims, k: u32, pairs: usize, len: usize) -> Result<Made> {
        let (elements, bits) = self.number(claims, (k, Ring::of(k)), None, len).await?;
        let own = bits.low_bits((k as usize, len));
        let of_pairs = |upper: u32| {
            let rows: Vec<u32> = (0..pairs as u32).map(|i| 2 * i + upper).collect();
            own.map(|own| quorate_engine::LinearBits::SideBySide.apply(&own.gather_rows(&rows)))
        };
        let [a, b] = [of_pairs(0), of_pairs(1)];
        let c = self.and(&a, &b).await?;
        let in_rows = c.map(|c| {
            let row = |i: usize| c.slice_lanes(i * len..(i + 1) * len);
            Bits::concat_rows(&(0..pairs).map(row).collect::<Vec<_>>().iter().collect::<Vec<_>>())
        });
        let bits = vec![self.bits(&own).await?, self.bits(&in_rows).await?];
        self.claim_bits(claims, [a, b, c]).await?;
        Ok(Made { elements, bits, places: None })
    }

    /// Deals places; with an upper digit also random elements and the chosen ones.
    async fn places(&mut self, claims: &mut Claims, digits: Digits, ring: Ring, len: usize) -> Result<Made> {
        let (places, hot) = self.keys_of_places(digits, len).await?;
        let mut elements = Vec::new();
        if let Some(hot) = hot {
            let (wide, choices) = (self.third.params.shares(ring), digits.choices());
            let b = self.uniform::<Vector>((wide, choices * len));
            let form = Form::Dot { outer: len, axis: choices, inner: 1 };
            let c = self.follow((wide, len), || combined(form, &hot.total(), &b.total())).await?;
            self.claim(claims, form, [&hot, &b, &c]).await?;
            for share in [b, c] {
                elements.push(self.element(ring, share).await?);
            }
        }
        Ok(Made { elements, bits: vec![], places: Some(places) })
    }

    /// Deals `len` correlations of a kind.
    pub async fn make(&mut self, claims: &mut Claims, kind: &Kind, len: usize) -> Result<Made> {
        let wide = |params: Params, bits: u32| params.shares(Ring::of(bits));
        let params = self.third.params;
        match *kind {
            Kind::Triple { bits } => self.triple(claims, Form::Product, Ring::of(bits), [len, len]).await,
            Kind::DotTriple { bits, axis, inner } => {
                let form = Form::Dot { outer: len, axis, inner };
                self.triple(claims, form, Ring::of(bits), [len * axis * inner; 2]).await
            }
            Kind::MatrixTriple { bits, m, k, n } => {
                self.triple(claims, Form::MatMul { m, k, n }, Ring::of(bits), [len * m * k, len * k * n]).await
            }
            Kind::ConvTriple { bits, conv } => {
                let [images, filters] = conv.lens();
                self.triple(claims, Form::Conv(conv), Ring::of(bits), [len * images, len * filters]).await
            }
            Kind::Owned { owner, bits } if owner != crate::setup::DEALER => {
                self.owned_triple(owner, Ring::of(bits), len).await
            }
            Kind::Random { bits } => {
                let share = self.uniform::<Vector>((wide(params, bits), len));
                Ok(Made::of(vec![self.element(Ring::of(bits), share).await?]))
            }
            Kind::Mask { owner, bits } => {
                let share = self.owned::<Vector>(owner, (wide(params, bits), len));
                let element = self.element(Ring::of(bits), share).await?;
                Ok(Made::of(vec![Element { for_dealer: owner == crate::setup::DEALER, ..element }]))
            }
            Kind::BitTriple => self.bit_triple(claims, len).await,
            Kind::BitMask { owner } => {
                let own = self.owned::<Bits>(owner, (1, len));
                let bits = self.bits(&own).await?;
                let bits = DealtBits { for_dealer: owner == crate::setup::DEALER, ..bits };
                Ok(Made { elements: vec![], bits: vec![bits], places: None })
            }
            Kind::Link => {
                let share = self.uniform::<Vector>((wide(params, 1), len));
                let own = share.low_bits((1, len));
                let element = self.element(Ring::of(1), share).await?;
                Ok(Made { elements: vec![element], bits: vec![self.bits(&own).await?], places: None })
            }
            Kind::DaBit { bits } => {
                let share = self.proven_bits(claims, (wide(params, bits), len)).await?;
                let own = share.low_bits((1, len));
                let element = self.element(Ring::of(bits), share).await?;
                Ok(Made { elements: vec![element], bits: vec![self.bits(&own).await?], places: None })
            }
            Kind::RandomBit { bits } => {
                let share = self.proven_bits(claims, (wide(params, bits), len)).await?;
                Ok(Made::of(vec![self.element(Ring::of(bits), share).await?]))
            }
            Kind::EdaBit { bits, ring, cut } => {
                let cut = (cut > 0).then_some(cut..bits);
                let (elements, rows) = self.number(claims, (bits, Ring::of(ring)), cut, len).await?;
                let own = rows.low_bits((bits as usize, len));
                Ok(Made { elements, bits: vec![self.bits(&own).await?], places: None })
            }
            Kind::ComparisonMask { bits, pairs } => self.comparison_masks(claims, bits, pairs as usize, len).await,
            Kind::TruncMask { bits, cut } => {
                let (mut elements, rows) =
                    self.number(claims, (bits, Ring::of(bits)), Some(cut..bits - 1), len).await?;
                let top = weighed(&rows, &(bits - 1..bits), len);
                let top = top.map(|top| Linear::Reduce(wide(params, cut + 1)).apply(top));
                elements.push(self.element(Ring::of(cut + 1), top).await?);
                Ok(Made::of(elements))
            }
            Kind::Place { bits, .. } => {
                let digits = Digits::of(params, kind).ok_or(NO_PLACES)?;
                self.places(claims, digits, Ring::of(bits), len).await
            }
            Kind::OneSided { .. }
            | Kind::KnownMatrices { .. }
            | Kind::OwnedMatrices { .. }
            | Kind::Owned { .. }
            | Kind::BitZero => Err(MANY_PARTIES),
        }
    }
}

fn shape_of(x: &Summands<Vector>) -> Vector {
    Vector::shape(x.ring(), x.0[0].len())
}

/// Returns the number that these rows of bits make.
fn weighed(bits: &Summands<Vector>, rows: &std::ops::Range<u32>, len: usize) -> Summands<Vector> {
    let all = rows.start as usize * len..rows.end as usize * len;
    bits.map(|bits| Linear::Weigh { rows: rows.len(), signed: false }.apply(&bits.slice(all.clone())))
}

/// Returns all ones where a bit of one row is set; nothing for a shape.
pub(crate) fn bit_masks(bits: &Bits) -> impl Iterator<Item = u64> + '_ {
    let (words, lanes) = if bits.is_shape() { (&[][..], 0) } else { (bits.words_of(0), bits.lanes()) };
    let masks = quorate_ring::chosen::Masks::new();
    (0..lanes).map(move |i| masks.word(words[i / 64], i % 64))
}
