//! INSECURE, for tests only: a dealer whose seed every party knows, and with it every secret.
//!
//! Everything online stays real: shares wider than their values, tags, openings and their check. So tests of the online
//! phase do not wait for oblivious transfer.

use quorate_crypto::{Seed, SessionId};
use quorate_engine::{Ctx, Error, Result, Stream};
use quorate_gadgets::here::Local;
use quorate_ot::Blocks;
use quorate_ring::{Bits, Ring, Vector, Wiped};

use crate::bits::{TaggedBits, to_elements};
use crate::forms::SharedBits;
use crate::keys::Keys;
use crate::kind::{Kind, Material};
use crate::lasting::Lasting;
use crate::macs::{MacBits, WithPeer, xor_chosen};
use crate::params::Params;
use crate::party::Authenticated;
use crate::source::{Dims, Source};
use crate::tagged::Tagged;

const SEED_BYTES: usize = 32;

/// The seed from which every party deals; all parties have the same one.
struct Dealer {
    seed: Seed,
    /// The sum of all keys.
    alpha: u128,
    /// Delta, by party.
    deltas: Vec<u128>,
    matrices: Option<MatrixBytes>,
}

/// What matrix triples take where sessions have them, as [`Source::bytes_of_matrices`] says.
pub type MatrixBytes = Box<dyn Fn(Ring, Dims) -> [usize; 2] + Send + Sync>;

impl Source for Dealer {
    fn make_all<'a>(
        &'a self,
        party: &'a Authenticated,
        ctx: &'a Ctx,
        kinds: &'a [(Kind, usize)],
    ) -> Local<'a, Vec<Material>> {
        let made = kinds.iter().map(|(kind, len)| party.deal_kind(ctx, self, kind, *len)).collect();
        Box::pin(async { Ok(made) })
    }

    fn bytes_of_matrices(&self, ring: Ring, dims: Dims) -> Option<[usize; 2]> {
        self.matrices.as_ref().map(|bytes| bytes(ring, dims))
    }
}

/// A value, and the party that knows it, if there is one.
type Known<T> = (Option<usize>, T);

/// Vectors with the number of bits of their ring, and matrices of bits.
type Drawn = (Vec<Known<(u32, Vector)>>, Vec<Known<Bits>>);

/// Draws uniform factors, and returns them with their product.
fn product(drawn: &mut Stream, shape: (Ring, usize)) -> [Vector; 3] {
    let [a, b] = [0; 2].map(|_| drawn.draw::<Vector>(shape));
    let mut c = a.clone();
    c.mul_assign(&b);
    [a, b, c]
}

/// Draws pairs of uniform matrices, one pair after the other, and returns them with the products of the pairs.
fn matrices(drawn: &mut Stream, ring: Ring, (dims @ (m, k, n), len): (Dims, usize)) -> [Vector; 3] {
    let [a, b] = [m * k, k * n].map(|size| drawn.draw::<Vector>((ring, len * size)));
    let part = |x: &Vector, size: usize, i: usize| x.slice(i * size..(i + 1) * size);
    let product = |i: usize| Vector::matmul(&part(&a, m * k, i), &part(&b, k * n, i), dims);
    let products: Vec<Vector> = (0..len).map(product).collect();
    let c = Vector::concat(&products.iter().collect::<Vec<_>>());
    [a, b, c]
}

impl Authenticated {
    /// Agrees on what the dealer deals from. One round.
    ///
    /// # Errors
    /// Any error that ends a run.
    pub async fn insecure_set_up(
        ctx: &Ctx,
        params: Params,
        coins: Option<&Seed>,
        matrices: Option<MatrixBytes>,
    ) -> Result<Authenticated> {
        let drawn =
            Seed::random().map_err(|_| Error::Bug { what: "the operating system has no randomness to give" })?;
        let mut own = [0; SEED_BYTES];
        coins.unwrap_or(&drawn).prg("quorate/spdz2k/insecure", b"").fill(&mut own);
        let said = ctx.broadcast(None, &own).await?;
        let seeds: Vec<[u8; SEED_BYTES]> = said.iter().filter_map(|seed| seed[..].try_into().ok()).collect();
        let session = SessionId::from_contributions(&seeds);
        Ok(Self::insecure((ctx.parties(), ctx.me()), params, session, matrices))
    }

    /// Returns a party with a dealer for dry runs.
    pub fn insecure_dry(parties: usize, me: usize, params: Params, matrices: Option<MatrixBytes>) -> Authenticated {
        Self::insecure((parties, me), params, SessionId::from_bytes([0; SEED_BYTES]), matrices)
    }

    fn insecure(
        (parties, me): (usize, usize),
        params: Params,
        session: SessionId,
        matrices: Option<MatrixBytes>,
    ) -> Authenticated {
        let seed = Seed::from_bytes(*session.as_bytes()).derive("quorate/spdz2k/insecure", b"");
        let keys = |party: usize| {
            let private = seed.derive("quorate/spdz2k/insecure/party", &(party as u64).to_le_bytes());
            Keys::alone((parties, party), params, &private, session)
        };
        let alpha = (0..parties).map(|party| keys(party).key()).sum::<u128>();
        let pair = |peer: usize| ((me.min(peer) as u128) << 64 | me.max(peer) as u128).to_le_bytes();
        let shared = |peer: usize| (peer != me).then(|| seed.derive("quorate/spdz2k/insecure/pair", &pair(peer)));
        let mut drawn = seed.prg("quorate/spdz2k/insecure/deltas", b"");
        let mut delta = || u128::from(drawn.next_u64()) << 64 | u128::from(drawn.next_u64());
        // As in `quorate_spdz2k`: the lowest bit is set at party 0 alone.
        let deltas: Vec<u128> = (0..parties).map(|party| delta() & !1 | u128::from(party == 0)).collect();
        let mut keys = keys(me);
        (keys.shared, keys.lasting) = ((0..parties).map(shared).collect(), Lasting::Always);
        *keys.delta = deltas[me];
        Authenticated::new(keys, Box::new(Dealer { seed, alpha, deltas, matrices }))
    }

    fn deal_kind(&self, ctx: &Ctx, dealer: &Dealer, kind: &Kind, len: usize) -> Material {
        let mut drawn = ctx.randomness().stream(&dealer.seed);
        let (values, bits) = self.draw_kind(&mut drawn, kind, len);
        Material::new(
            values.iter().map(|value| self.deal_to(dealer, &mut drawn, value)).collect(),
            bits.iter().map(|bits| self.deal_bits(dealer, &mut drawn, bits)).collect(),
        )
    }

    /// Draws correlations of a kind: elements of rings, and bits.
    fn draw_kind(&self, drawn: &mut Stream, kind: &Kind, len: usize) -> Drawn {
        let wide = |bits: u32| self.keys.params.shares(Ring::of(bits));
        match *kind {
            Kind::Triple { bits } => (product(drawn, (wide(bits), len)).map(|x| (None, (bits, x))).into(), vec![]),
            Kind::OneSided { left, right, bits } => {
                let [a, b, c] = product(drawn, (wide(bits), len)).map(|x| (bits, x));
                (vec![(Some(left), a), (Some(right), b), (None, c)], vec![])
            }
            Kind::KnownMatrices { left, right, bits, m, k, n } => {
                let [a, b, c] = matrices(drawn, wide(bits), ((m, k, n), len)).map(|x| (bits, x));
                (vec![(Some(left), a), (Some(right), b), (None, c)], vec![])
            }
            Kind::OwnedMatrices { owner, bits, m, k, n } => {
                (matrices(drawn, wide(bits), ((m, k, n), len)).map(|x| (Some(owner), (bits, x))).into(), vec![])
            }
            Kind::Owned { owner, bits } => {
                (product(drawn, (wide(bits), len)).map(|x| (Some(owner), (bits, x))).into(), vec![])
            }
            // These are dealt by a third party only.
            Kind::DotTriple { .. } | Kind::MatrixTriple { .. } | Kind::ConvTriple { .. } | Kind::Place { .. } => {
                (vec![], vec![])
            }
            Kind::BitTriple => {
                let [a, b] = [0; 2].map(|_| drawn.draw::<Bits>((1, len)));
                let mut c = a.clone();
                c.and_assign(&b);
                (vec![], [a, b, c].map(|bits| (None, bits)).into())
            }
            Kind::BitMask { owner } => (vec![], vec![(Some(owner), drawn.draw((1, len)))]),
            Kind::BitZero => {
                let mut none = drawn.draw::<Bits>((1, len));
                none.and_assign(&Bits::constant(false, 1, len));
                (vec![], vec![(None, none)])
            }
            Kind::Link | Kind::DaBit { .. } => {
                let k = if let Kind::DaBit { bits } = *kind { bits } else { 1 };
                let value = drawn.draw::<Bits>((1, len));
                (vec![(None, (k, to_elements(&value, wide(k))))], vec![(None, value)])
            }
            Kind::Random { bits } => (vec![(None, (bits, drawn.draw((wide(bits), len))))], vec![]),
            Kind::Mask { owner, bits } => (vec![(Some(owner), (bits, drawn.draw((wide(bits), len))))], vec![]),
            Kind::RandomBit { bits } => (vec![(None, (bits, to_elements(&drawn.draw((1, len)), wide(bits))))], vec![]),
            Kind::EdaBit { bits: width, ring, cut } => {
                let value: Vector = drawn.draw((Ring::of(width), len));
                let bits = vec![(None, value.to_bits(0..width))];
                let mut shifted = value.clone();
                shifted.shr_logical(cut);
                let parts = [value, shifted].into_iter().take(if cut > 0 { 2 } else { 1 });
                (parts.map(|x| (None, (ring, x.convert(wide(ring))))).collect(), bits)
            }
            Kind::ComparisonMask { bits: width, pairs } => {
                let value: Vector = drawn.draw((Ring::of(width), len));
                let rows = value.to_bits(0..width);
                let [mut products, upper] =
                    [0, 1].map(|first| rows.gather_rows(&(0..pairs).map(|i| 2 * i + first).collect::<Vec<_>>()));
                products.and_assign(&upper);
                (vec![(None, (width, value.convert(wide(width))))], [rows, products].map(|bits| (None, bits)).into())
            }
            Kind::TruncMask { bits, cut } => {
                let value: Vector = drawn.draw((Ring::of(bits), len));
                let mut shifted = value.convert(Ring::of(bits - 1));
                shifted.shr_logical(cut);
                let top = value.to_bits(bits - 1..bits).to_vector(wide(cut + 1));
                let [value, shifted] = [value, shifted].map(|x| (bits, x.convert(wide(bits))));
                ([value, shifted, (cut + 1, top)].map(|x| (None, x)).into(), vec![])
            }
        }
    }

    /// Returns this party's share of a vector that all parties know, and of its tags. The shares of all parties but the
    /// first are drawn; the first has the rest.
    fn deal(&self, dealer: &Dealer, drawn: &mut Stream, (bits, value): (u32, &Vector)) -> Tagged {
        let mut share = |total: &Vector| {
            let (mut rest, mut own) = (total.clone(), None);
            for party in 1..self.keys.parties {
                let share: Vector = drawn.draw((total.ring(), total.len()));
                rest.sub_assign(&share);
                if party == self.keys.me {
                    own = Some(share);
                }
            }
            own.unwrap_or(rest)
        };
        let mut tags = value.clone();
        tags.scale(dealer.alpha);
        let [share, tag] = [value, &tags].map(|total| Wiped(share(total)));
        Tagged { ring: Ring::of(bits), share, tag, known: None }
    }

    /// Returns this party's share of a vector, and of its tags; if one party knows the vector, all of it is in its
    /// share.
    fn deal_to(&self, dealer: &Dealer, drawn: &mut Stream, (owner, (bits, value)): &Known<(u32, Vector)>) -> Tagged {
        let mut dealt = self.deal(dealer, drawn, (*bits, value));
        if let Some(owner) = owner {
            dealt.share = Wiped(value.clone());
            if self.keys.me != *owner {
                dealt.share.scale(0);
            }
        }
        dealt
    }

    /// Returns this party's share of bits in the session's form; bits that one party knows have MACs.
    fn deal_bits(&self, dealer: &Dealer, drawn: &mut Stream, (owner, bits): &Known<Bits>) -> SharedBits {
        let parties = 0..self.keys.parties;
        let mut rest = bits.clone();
        let shares: Vec<Bits> = match owner {
            None if !self.has_macs() => return SharedBits::elements(self.deal_elements(dealer, drawn, bits)),
            Some(owner) => {
                rest.xor_assign(bits);
                parties.map(|party| if party == *owner { bits.clone() } else { rest.clone() }).collect()
            }
            None => {
                let mut share = || {
                    let share = drawn.draw::<Bits>((bits.rows(), bits.lanes()));
                    rest.xor_assign(&share);
                    share
                };
                let mut shares: Vec<Bits> = parties.skip(1).map(|_| share()).collect();
                shares.push(rest);
                shares
            }
        };
        SharedBits::macs(self.deal_macs(dealer, drawn, shares))
    }

    /// Returns this party's part of bits with MACs, from the own bits of all parties.
    fn deal_macs(&self, dealer: &Dealer, drawn: &mut Stream, shares: Vec<Bits>) -> MacBits {
        let (me, len) = (self.keys.me, shares[0].rows() * shares[0].lanes());
        let mut macs = || {
            let drawn: Vector = drawn.draw((Ring::of(128), len));
            match drawn.is_shape() {
                true => Blocks::shape(len),
                false => {
                    let block = |limbs: &[u64; 4]| u128::from(limbs[1]) << 64 | u128::from(limbs[0]);
                    Blocks::new(drawn.to_limbs().iter().map(block).collect())
                }
            }
        };
        let (mut own, mut keys) = (Vec::new(), Vec::new());
        for (party, peer) in (0..self.keys.parties).flat_map(|i| (0..self.keys.parties).map(move |j| (i, j))) {
            if party == peer {
                continue;
            }
            let mut macs = macs();
            if party == me {
                own.push(macs);
            } else if peer == me {
                if !macs.is_shape() {
                    xor_chosen(&mut macs, &shares[party], dealer.deltas[me]);
                }
                keys.push(macs);
            }
        }
        let peers = own.into_iter().zip(keys).map(|(macs, keys)| WithPeer { macs, keys }).collect();
        MacBits { own: Wiped(shares[me].clone()), peers }
    }

    /// Returns this party's share of bits as elements, row after row, with random bits above the lowest one.
    fn deal_elements(&self, dealer: &Dealer, drawn: &mut Stream, bits: &Bits) -> TaggedBits {
        let ring = self.keys.params.shares(Ring::of(1));
        let mut elements: Vector = drawn.draw((ring, bits.rows() * bits.lanes()));
        elements.shl(1);
        elements.add_assign(&to_elements(bits, ring));
        TaggedBits { rows: bits.rows(), lanes: bits.lanes(), elements: self.deal(dealer, drawn, (1, &elements)) }
    }
}
