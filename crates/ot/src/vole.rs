//! Vector OLE over Z_2^m between two parties: shares of a key times a vector.
//!
//! One party, the owner, has a vector x over Z_2^m. The other one, the holder, has a key below 2^s, the same for the
//! whole session. They get v and w with key x = v - w mod 2^m; the holder learns nothing of x, the owner nothing of the
//! key.
//!
//! **Source**: the small-field vector OLE of Roy, "SoftSpokenOT", CRYPTO 2022 (ePrint 2022/192), over Z_2^m in place of
//! a field: the key is split into digits of f bits. Digit i needs only m - f i bits, since its product weighs 2^(f i).
//! With f = 1 it is the correlated oblivious product evaluation of Cramer, Damgard, Escudero, Scholl, Xing, "SPDZ2k",
//! CRYPTO 2018 (ePrint 2018/482). **Model**: malicious up to the owner's x. An owner may use another x for each digit;
//! protocols that rely on x have to check this. A guess of digits ends the session if it is wrong. **Notation**: tree i
//! has 2^f leaves with functions F_x, of which the holder lacks the one at digit_i.
//!
//! | step | owner | holder |
//! |---|---|---|
//! | 1 | u_i = sum of F_x, v_i = sum of x F_x | w_i = sum of (x - digit_i) F_x: F at digit_i cancels |
//! | 2 | sends c_i = u_i - x | w_i = w_i + digit_i c_i |
//! | 3 | v = sum of 2^(f i) v_i | w = sum of 2^(f i) w_i |
//!
//! One round, by the owner, of sum of (m - f i) bits an element. A random x may be u_0; c_0 is then not sent. Apart
//! from the setup, all functions here are local: a party that authenticates towards several peers sends to all of them
//! at once. No timing depends on a secret.
//!
//! v_i = w_i + digit_i x mod 2^(m - f i) for each digit. A check may ask an owner for sums of these
//! ([`Shares::weighed`], [`Vole::of_owner`]).

use std::ops::Range;

use quorate_crypto::{Prf, Prg};
use quorate_engine::{Ctx, Error, Linear, Misuse, Result};
use quorate_ring::meter::{Kernel, charge};
use quorate_ring::threads::{side_by_side, threads};
use quorate_ring::{Ring, Tally, Vector, Wiped};
use zeroize::Zeroizing;

use crate::roots::{Roots, Shape};

/// Elements processed together: a leaf's part of them, and sums of such parts, fit a core's first cache.
const TILE: usize = 128;
const BLOCK_BYTES: usize = 16;
/// The mark by which the peer distinguishes this setup from one of OTs.
const MARK: u8 = 0x80;

/// A party's key for a session, the same towards all peers, and the form of its digits.
pub struct Key {
    key: Zeroizing<u64>,
    digits: Digits,
}

/// The form of a key; public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digits {
    key_bits: u32,
    digit_bits: u32,
}

impl Digits {
    /// Describes keys of `key_bits` bits in digits of `digit_bits`; the top digit may be shorter.
    ///
    /// # Errors
    /// [`Misuse`] unless 1 <= digit_bits <= 8 and digit_bits <= key_bits <= 64.
    pub fn new(key_bits: u32, digit_bits: u32) -> Result<Digits> {
        match (1..=8).contains(&digit_bits) && (digit_bits..=64).contains(&key_bits) {
            true => Ok(Digits { key_bits, digit_bits }),
            false => Err(Misuse::Other { what: "keys have at most 64 bits, in digits of 1 to 8" }.into()),
        }
    }

    /// Returns the bits of a key, s.
    pub fn key_bits(self) -> u32 {
        self.key_bits
    }

    /// Returns the number of digits.
    pub fn count(self) -> usize {
        self.key_bits.div_ceil(self.digit_bits) as usize
    }

    fn weight(self, digit: usize) -> u32 {
        self.digit_bits * digit as u32
    }

    fn depth(self, digit: usize) -> usize {
        self.digit_bits.min(self.key_bits - self.weight(digit)) as usize
    }

    /// Returns the ring of a digit's shares for elements of Z_2^m.
    fn ring(self, ring: Ring, digit: usize) -> Ring {
        Ring::of(ring.bits() - self.weight(digit))
    }

    /// Returns the bytes of the owner's message for a vector. They are fewer with `own`: for a random vector, towards
    /// the peer whose u_0 it is.
    pub fn message_bytes(self, (ring, len): (Ring, usize), own: bool) -> usize {
        (usize::from(own)..self.count()).map(|digit| self.ring(ring, digit).packed_bytes(len)).sum()
    }

    fn shape(self) -> Shape {
        Shape {
            depths: (0..self.count()).map(|digit| self.depth(digit)).collect(),
            choices: [MARK | self.digit_bits as u8, self.key_bits as u8],
            describe: |[mark, bits]| match mark & MARK {
                0 => "something else than vector OLE".into(),
                _ => format!("vector OLE with keys of {bits} bits in digits of {}", mark & !MARK),
            },
        }
    }

    fn check_ring(self, ring: Ring) -> Result<()> {
        match ring.bits() >= self.key_bits {
            true => Ok(()),
            false => Err(Misuse::Other { what: "vector OLE over a ring smaller than its keys" }.into()),
        }
    }

    /// Charges a dry run for the draws and sums of all leaves.
    fn charge(self, ring: Ring, len: usize) {
        for digit in 0..self.count() {
            let bytes = (len << self.depth(digit)) * self.ring(ring, digit).carrier().bytes();
            charge(Kernel::Draw, bytes);
            quorate_ring::meter::stream_within(6 * bytes, TILE * 32);
        }
    }
}

impl Key {
    /// Returns a key with this value, of as many bits as keys have.
    pub fn new(digits: Digits, value: u64) -> Key {
        debug_assert!(value <= u64::MAX >> (64 - digits.key_bits), "a key has as many bits as its digits");
        Key { key: Zeroizing::new(value), digits }
    }
}

/// The leaves of one tree.
struct Leaves {
    functions: Vec<Prf>,
    /// The number of the garbage leaf; none at the owner.
    missing: Option<Zeroizing<u64>>,
}

/// Both directions between this party and one peer, for a session.
pub struct Vole {
    digits: Digits,
    /// The trees of which this party is the owner, and those of which it is the holder. None in a dry run.
    own: Vec<Leaves>,
    theirs: Vec<Leaves>,
    key: Zeroizing<u64>,
}

/// Shares of the products of a vector with each digit of a key: v_i at the owner, w_i at the holder.
pub struct Shares {
    ring: Ring,
    digits: Digits,
    pub(crate) parts: Vec<Wiped<Vector>>,
}

/// The results of step 1 at an owner.
pub struct Grown {
    u: Vec<Wiped<Vector>>,
    /// v_i for each digit.
    pub shares: Shares,
}

impl Vole {
    /// Sets up both directions with `peer`. Both parties call it on the same lane, with keys of one form. Three rounds.
    ///
    /// # Errors
    /// [`Mismatch::Options`](quorate_engine::Mismatch::Options) if the forms differ, [`Error::Malformed`] for bad
    /// points, [`Error::Cheating`] if the trees do not fit the base OTs; any error that ends a run.
    pub async fn setup(ctx: &Ctx, peer: usize, key: &Key, coins: &mut Prg) -> Result<Vole> {
        let shape = key.digits.shape();
        let points = shape.points(&u128::from(*key.key));
        let roots = Roots::grow(ctx, peer, &shape, &points, coins).await?;
        let functions = |leaves: &crate::tree::Leaves| leaves.iter().map(Prf::new).collect();
        let own = roots.own.iter().map(|leaves| Leaves { functions: functions(leaves), missing: None });
        let theirs = roots.theirs.iter().zip(points.iter()).map(|(leaves, &point)| Leaves {
            functions: functions(leaves),
            missing: Some(Zeroizing::new(point as u64)),
        });
        Ok(Vole { digits: key.digits, own: own.collect(), theirs: theirs.collect(), key: key.key.clone() })
    }

    /// Returns one end of a session for dry runs.
    pub fn dry(digits: Digits) -> Vole {
        Vole { digits, own: vec![], theirs: vec![], key: Zeroizing::new(0) }
    }

    /// Runs step 1 at the owner. `instance` is the batch's number: the holder uses the same, and no other batch of the
    /// session has it.
    ///
    /// # Errors
    /// [`Misuse`] for a ring smaller than the keys.
    pub fn grow(&self, dry: bool, instance: u128, (ring, len): (Ring, usize)) -> Result<Grown> {
        self.digits.check_ring(ring)?;
        let digits = self.digits;
        if dry {
            digits.charge(ring, len);
            let u = (0..digits.count()).map(|digit| Wiped(Vector::shape(digits.ring(ring, digit), len))).collect();
            return Ok(Grown { u, shares: Shares::dry(digits, (ring, len)) });
        }
        let sums = self.own.iter().enumerate();
        let sums = sums.map(|(digit, leaves)| leaves.sums(instance, digits.ring(ring, digit), len));
        let (u, parts) = sums.map(|[sum, weighted]| (sum, weighted)).unzip();
        Ok(Grown { u, shares: Shares { ring, digits, parts } })
    }

    /// Runs steps 1 and 2 at the holder, with the owner's message; `own` if x is u_0 of this batch. Returns w_i for
    /// each digit.
    ///
    /// # Errors
    /// [`Misuse`] for a ring smaller than the keys; [`Error::Bug`] for a message of another length.
    pub fn hold(
        &self,
        dry: bool,
        instance: u128,
        (ring, len): (Ring, usize),
        (message, own): (&[u8], bool),
    ) -> Result<Shares> {
        let digits = self.digits;
        digits.check_ring(ring)?;
        if message.len() != digits.message_bytes((ring, len), own) {
            return Err(Error::Bug { what: "a message of vector OLE of a wrong length" });
        }
        if dry {
            digits.charge(ring, len);
            return Ok(Shares::dry(digits, (ring, len)));
        }
        let (mut parts, mut rest) = (Vec::new(), message);
        for (digit, leaves) in self.theirs.iter().enumerate() {
            let small = digits.ring(ring, digit);
            let [sum, mut weighted] = leaves.sums(instance, small, len);
            let mut correction = match digit == 0 && own {
                true => Vector::zeros(small, len),
                false => {
                    let (bytes, after) = rest.split_at(small.packed_bytes(len));
                    rest = after;
                    Vector::unpack(small, len, bytes)
                        .map_err(|_| Error::Bug { what: "a correction of a wrong length" })?
                }
            };
            // w_i = sum of x F_x + digit (c - sum of F_x): the leaf at the digit itself, which is garbage, cancels.
            correction.sub_assign(&sum);
            correction.scale(leaves.digit());
            weighted.add_assign(&correction);
            correction.wipe();
            parts.push(weighted);
        }
        Ok(Shares { ring, digits, parts })
    }

    /// Returns the owner's shares at the holder, from the holder's shares `held` of elements x that it knows.
    pub fn of_owner(&self, held: &Shares, x: &Vector) -> Shares {
        let mut shares = held.clone();
        for (part, leaves) in shares.parts.iter_mut().zip(&self.theirs) {
            let mut product = Wiped(Linear::Reduce(part.ring()).apply(x));
            product.scale(leaves.digit());
            part.add_assign(&product);
        }
        shares
    }

    /// Returns this party's key as a holder.
    pub fn key(&self) -> u64 {
        *self.key
    }
}

impl Clone for Shares {
    fn clone(&self) -> Self {
        Shares { parts: self.parts.iter().map(|part| Wiped((**part).clone())).collect(), ..*self }
    }
}

impl Shares {
    fn dry(digits: Digits, (ring, len): (Ring, usize)) -> Shares {
        let parts = (0..digits.count()).map(|digit| Wiped(Vector::shape(digits.ring(ring, digit), len)));
        Shares { ring, digits, parts: parts.collect() }
    }

    /// Returns whether these are shares of a dry run.
    pub fn is_shape(&self) -> bool {
        self.parts.iter().any(|part| part.is_shape())
    }

    /// Step 3: returns shares of the products with the whole key.
    pub fn whole(&self) -> Wiped<Vector> {
        let len = self.parts[0].len();
        let mut whole =
            Wiped(if self.is_shape() { Vector::shape(self.ring, len) } else { Vector::zeros(self.ring, len) });
        self.parts.iter().enumerate().for_each(|(digit, part)| whole.add_raised(part, self.digits.weight(digit)));
        whole
    }

    /// Returns shares of sums of the elements times public factors: one sum for each row of factors.
    pub fn weighed(&self, rows: &[Vec<u64>]) -> Shares {
        let mut parts: Vec<_> = self.parts.iter().map(|part| (&**part, None)).collect();
        let work = |(part, sums): &mut (&Vector, Option<Wiped<Vector>>)| *sums = Some(weighed(part, rows));
        match self.is_shape() || self.parts[0].len() < TILE {
            true => parts.iter_mut().for_each(work),
            false => side_by_side(parts.iter_mut().collect(), work),
        }
        Shares { parts: parts.into_iter().filter_map(|(_, sums)| sums).collect(), ..*self }
    }

    /// Adds shares of other elements, of the same number.
    pub fn add_assign(&mut self, other: &Shares) {
        self.parts.iter_mut().zip(&other.parts).for_each(|(part, other)| part.add_assign(other));
    }

    /// Appends all shares, digit by digit, each with the bits of its ring.
    pub fn pack(&self, bytes: &mut Vec<u8>) {
        self.parts.iter().for_each(|part| part.pack(bytes));
    }
}

/// Returns sums of the elements times public factors: one sum for each row of factors.
pub fn weighed(x: &Vector, rows: &[Vec<u64>]) -> Wiped<Vector> {
    let sums: Vec<_> = rows.iter().map(|factors| Wiped(x.weighed(factors))).collect();
    Wiped(Vector::concat(&sums.iter().map(|sum| &**sum).collect::<Vec<_>>()))
}

impl Grown {
    /// Returns the random vector u_0, which may serve as x.
    pub fn random(&self) -> &Vector {
        &self.u[0]
    }

    /// Step 2: returns the message that corrects each u_i to x. With `own`, x is u_0 of this batch, and the correction
    /// of digit 0 is left out.
    pub fn message(&self, x: &Vector, own: bool) -> Vec<u8> {
        let shape = (x.ring(), x.len());
        let bytes = self.shares.digits.message_bytes(shape, own);
        if x.is_shape() {
            self.u.iter().skip(usize::from(own)).for_each(|u| Vector::charge_unpack(u.ring(), u.len()));
            return vec![0; bytes];
        }
        let mut message = Vec::with_capacity(bytes);
        for u in self.u.iter().skip(usize::from(own)) {
            let mut correction = (**u).clone();
            correction.sub_assign(&Wiped(Linear::Reduce(u.ring()).apply(x)));
            correction.pack(&mut message);
        }
        message
    }
}

impl Leaves {
    /// Returns the digit at a holder.
    fn digit(&self) -> u128 {
        self.missing.as_deref().copied().unwrap_or(0).into()
    }

    /// Returns the sums of F_x, and of x F_x, over all leaves, including the garbage one: step 1 of a holder weights
    /// both such that it cancels.
    fn sums(&self, instance: u128, ring: Ring, len: usize) -> [Wiped<Vector>; 2] {
        let part = len.div_ceil(threads()).next_multiple_of(TILE).max(TILE);
        let mut parts: Vec<Option<[Wiped<Vector>; 2]>> = (0..len.div_ceil(part).max(1)).map(|_| None).collect();
        side_by_side(parts.iter_mut().enumerate().collect(), |(i, sums)| {
            *sums = Some(self.sums_of_part(instance, ring, i * part..len.min((i + 1) * part)));
        });
        let mut parts: Vec<_> = parts.into_iter().flatten().collect();
        if parts.len() == 1 {
            return parts.remove(0);
        }
        [0, 1].map(|i| Wiped(Vector::concat(&parts.iter().map(|part| &*part[i]).collect::<Vec<_>>())))
    }

    fn sums_of_part(&self, instance: u128, ring: Ring, range: Range<usize>) -> [Wiped<Vector>; 2] {
        let [mut sum, mut weighted] = [0; 2].map(|_| Wiped(Vector::zeros(ring, range.len())));
        // Whole blocks.
        let tile = TILE.min(range.len().next_multiple_of(BLOCK_BYTES));
        let blocks = tile * ring.carrier().bytes() / BLOCK_BYTES;
        let (mut leaf, mut tally) = (Wiped(Vector::zeros(ring, tile)), Tally::new(ring, tile));
        for start in range.clone().step_by(TILE) {
            let first = instance.wrapping_add((start * ring.carrier().bytes() / BLOCK_BYTES) as u128);
            let inputs: Vec<[u8; BLOCK_BYTES]> =
                (0..blocks).map(|block| first.wrapping_add(block as u128).to_le_bytes()).collect();
            tally.clear();
            for function in self.functions.iter().rev() {
                function.eval(&inputs, leaf.bytes_mut().as_chunks_mut::<BLOCK_BYTES>().0);
                tally.add(&leaf);
            }
            tally.write(start - range.start, [&mut sum, &mut weighted]);
        }
        [sum, weighted]
    }
}

#[cfg(test)]
mod tests {
    use quorate_crypto::Seed;
    use quorate_engine::testing::online;
    use quorate_engine::{Phase, dry};

    use super::*;

    const RINGS: [u32; 8] = [8, 13, 64, 65, 96, 128, 134, 192];

    fn key_of(digits: Digits, seed: u8) -> Key {
        let drawn = Seed::from_bytes([seed; 32]).prg("quorate/ot/test", b"key").next_u64();
        Key::new(digits, drawn & u64::MAX >> (64 - digits.key_bits))
    }

    /// One party's results of one batch, as owner and as holder of the key.
    struct End {
        x: Vector,
        v: Vector,
        w: Vector,
        key: u64,
        /// Its sums as an owner, as packed shares; and as a holder, the sums that it expects from the peer.
        says: Vec<u8>,
        expects: Vec<u8>,
    }

    /// Authenticates a vector of each party, chosen or random, towards the other party.
    async fn batch(ctx: &Ctx, vole: &Vole, digits: Digits, (bits, len): (u32, usize), own: bool) -> Result<End> {
        let (peer, shape, instance) = (1 - ctx.me(), (Ring::of(bits), len), ctx.randomness().instance());
        let grown = vole.grow(ctx.is_dry(), instance, shape)?;
        let mut coins = ctx.randomness().stream(&Seed::from_bytes([ctx.me() as u8; 32]));
        let x = if own { grown.random().clone() } else { coins.draw::<Vector>(shape) };
        let (message, bytes) = (grown.message(&x, own), digits.message_bytes(shape, own));
        assert_eq!(message.len(), bytes);
        let told = ctx.exchange_bytes(&[(peer, &message)], &[(peer, bytes)]).await?.remove(0);
        let held = vole.hold(ctx.is_dry(), instance, shape, (&told, own))?;

        let row = |row: u64| (0..len as u64).map(|i| (3 * i + row).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let rows: Vec<Vec<u64>> = [1, 2].map(row).to_vec();
        let (mut own, mut says, mut expects) = (Vec::new(), Vec::new(), Vec::new());
        weighed(&x, &rows).pack(&mut own);
        own.resize(shape.0.packed_bytes(rows.len()), 0);
        let told = ctx.exchange_bytes(&[(peer, &own)], &[(peer, own.len())]).await?.remove(0);
        grown.shares.weighed(&rows).pack(&mut says);
        vole.of_owner(&held.weighed(&rows), &Vector::unpack(shape.0, rows.len(), &told).unwrap()).pack(&mut expects);
        let (v, w) = (grown.shares.whole().into_inner(), held.whole().into_inner());
        Ok(End { x, v, w, key: vole.key(), says, expects })
    }

    async fn all(ctx: &Ctx, digits: Digits) -> Result<Vec<End>> {
        let me = ctx.me() as u8;
        let key = key_of(digits, 40 + me);
        let vole = match ctx.is_dry() {
            true => Vole::dry(digits),
            false => {
                let mut coins = Seed::random().unwrap().prg("quorate/ot/test", b"coins");
                Vole::setup(ctx, 1 - ctx.me(), &key, &mut coins).await?
            }
        };
        let mut ends = Vec::new();
        for bits in RINGS.into_iter().filter(|&bits| bits >= digits.key_bits()) {
            for len in [0, 1, TILE - 1, TILE + 1, 2 * TILE + 77] {
                for own in [false, true] {
                    ends.push(batch(ctx, &vole, digits, (bits, len), own).await?);
                }
            }
        }
        Ok(ends)
    }

    /// Returns key x - v + w, which is zero.
    fn rest(owner: &End, holder: &End) -> Vector {
        let mut product = owner.x.clone();
        product.scale(holder.key.into());
        product.sub_assign(&owner.v);
        product.add_assign(&holder.w);
        product.reduce();
        product
    }

    #[test]
    fn shares_add_up_to_the_product_for_every_digit_and_ring() {
        for digits in [(4, 1), (4, 3), (7, 4), (8, 8), (32, 5), (48, 5), (64, 1), (64, 5), (64, 8)] {
            let digits = Digits::new(digits.0, digits.1).unwrap();
            let ends = online(2, async |ctx| all(ctx, digits).await).into_iter().map(|end| end.unwrap());
            let [(first, costs), (second, _)]: [_; 2] =
                ends.collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("two parties"));
            for (a, b) in first.iter().zip(&second) {
                for rest in [rest(a, b), rest(b, a)] {
                    assert!(rest.to_limbs().iter().flatten().all(|&limb| limb == 0), "{digits:?}: {rest:?}");
                }
                assert!(a.says == b.expects && b.says == a.expects, "{digits:?}: {:?}", a.x);
                assert!(a.x.len() < TILE || a.x.to_limbs() != b.x.to_limbs());
            }
            let (_, predicted) = dry::run(0, 2, Phase::Online, async |ctx| all(ctx, digits).await).unwrap();
            let setup = digits.shape().message_bytes().iter().sum::<usize>() as u64;
            assert_eq!(costs.online.sent.iter().sum::<u64>(), predicted.online.sent.iter().sum::<u64>() + setup);
            assert_eq!(costs.online.rounds, predicted.online.rounds + 3);
        }
    }

    #[test]
    fn leaves_add_up_alike_on_any_number_of_threads() {
        let functions = || (0..5u8).map(|x| Prf::new(&[x; 16])).collect();
        let leaves = Leaves { functions: functions(), missing: None };
        for (bits, len) in [(64, 3 * TILE + 5), (180, TILE), (180, 7 * TILE - 1), (96, 1), (96, 0)] {
            let sums = |count: usize| {
                quorate_ring::threads::set_threads(count).unwrap();
                let sums = leaves.sums(7 << 70, Ring::of(bits), len);
                quorate_ring::threads::set_threads(1).unwrap();
                sums.map(|sum| sum.to_limbs())
            };
            let expected = sums(1);
            assert!([2, 3, 8].into_iter().all(|count| sums(count) == expected), "{bits} bits, {len} elements");
        }
    }

    /// Tests the figures of the design: bytes for an element of 192, 134 and 128 bits, and for a random one of 64.
    #[test]
    fn bytes_of_an_element() {
        let bytes = |digit_bits: u32, bits: u32, own: bool| {
            Digits::new(64, digit_bits).unwrap().message_bytes((Ring::of(bits), 8), own) as f64 / 8.0
        };
        let of = |digit_bits: u32| [192, 134, 128].map(|bits| bytes(digit_bits, bits, false).round() as u32);
        assert_eq!(of(5), [263, 169, 159]);
        assert_eq!(of(8), [164, 106, 100]);
        assert_eq!([of(1)[0], of(1)[2]], [1284, 772]);
        assert_eq!([bytes(5, 64, true).round() as u32, bytes(8, 64, true).round() as u32], [47, 28]);
    }

    #[test]
    fn impossible_sizes_are_refused() {
        for (key_bits, digit_bits) in [(64, 0), (64, 9), (65, 5), (3, 4), (0, 1)] {
            assert!(Digits::new(key_bits, digit_bits).is_err());
        }
        let digits = Digits::new(32, 5).unwrap();
        assert!(Vole::dry(digits).grow(true, 0, (Ring::of(31), 1)).is_err());
        assert!(Vole::dry(digits).hold(true, 0, (Ring::of(32), 1), (&[0; 3], false)).is_err());
    }

    /// A changed correction shifts w by a multiple of its digit, and not at all if the digit is zero.
    #[test]
    fn an_owner_that_lies_about_a_digit_is_right_where_the_digit_is_zero() {
        let digits = Digits::new(8, 4).unwrap();
        let shape = (Ring::of(16), 1);
        let ends = online(2, async |ctx| {
            let me = ctx.me() as u8;
            let key = key_of(digits, me);
            let mut coins = Seed::random().unwrap().prg("quorate/ot/test", b"coins");
            let vole = Vole::setup(ctx, 1 - ctx.me(), &key, &mut coins).await?;
            let grown = vole.grow(false, 7, shape)?;
            let x = Vector::from_u64s(shape.0, &[1234]);
            let mut message = grown.message(&x, false);
            message[0] ^= 1 - me;
            let told = ctx.exchange_bytes(&[(1 - ctx.me(), &message)], &[(1 - ctx.me(), 4)]).await?.remove(0);
            let w = vole.hold(false, 7, shape, (&told, false))?.whole().into_inner();
            let v = grown.shares.whole().into_inner();
            Ok(End { x, v, w, key: vole.key(), says: vec![], expects: vec![] })
        });
        let ends: Vec<End> = ends.into_iter().map(|end| end.unwrap().0).collect();
        let rest = rest(&ends[0], &ends[1]).to_u64s()[0];
        let digit = ends[1].key % 16;
        assert!(rest == digit || rest == (1 << 16) - digit, "{rest} for the digit {digit}");
        assert_ne!(digit, 0, "a test that could not fail");
    }
}
