//! INSECURE, for tests only: parties that follow the protocol but for one thing that they say, or take, otherwise.

use quorate_engine::Linear;
use quorate_ring::{Ring, Vector, Wiped};

use crate::keys::Keys;
use crate::macs::MacBits;
use crate::params::Params;
use crate::party::Spdz2k;
use crate::shared::Shared;

/// What a cheater says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twist {
    /// The factor a of triples: authenticated is another one than went into the transfers. Its product with the
    /// cheater's own B is made up for.
    Factor,
    /// The same above the bits that count: only what is authenticated is off.
    Above,
    /// Its share of c, once it was divided.
    Quotient,
    /// Its share of a word that is opened whole: rho, and what is opened last of triples.
    Word,
    /// Its share of a word that all commit to: what the sacrifice leaves.
    Rest,
    /// Its part beta of B.
    Beta,
    /// Its part of the tags of whole words.
    WordTag,
    /// What it tells of its share to open an element.
    Low,
    /// What it tells of upper bits in a row check.
    Row,
    /// Its part of the tags in a row check.
    RowTag,
    /// A switch of a shuffle.
    Switch,
    /// The first of its numbers that are no sums of their bits.
    Number,
    /// The same, of all of them.
    Numbers,
    /// The same for the first one, where only what is authenticated is off: it tells what the bits say.
    Unlike,
    /// What it tells of the sum of two numbers.
    Sum,
    /// A0 of what it proves of such sums.
    Proof,
    /// The first of the bits that it tells of numbers to be taken off; by how much says nothing.
    Told,
}

/// By how much: plus or minus a power of two, at the first element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct By {
    /// The power.
    pub bit: u32,
    /// Whether it is taken off.
    pub minus: bool,
}

impl Keys {
    /// What a cheater says in place of a vector.
    pub(crate) fn twisted(&self, twist: Twist, x: &Vector) -> Vector {
        let mut x = x.clone();
        for (_, by) in self.twists.borrow().iter().filter(|(other, _)| *other == twist) {
            if x.is_shape() || x.is_empty() || by.bit >= x.ring().bits() {
                continue;
            }
            let mut limbs = [0; 4];
            limbs[by.bit as usize / 64] = 1 << (by.bit % 64);
            let (off, mut first) = (Vector::from_limbs(x.ring(), &[limbs]), x.slice(0..1));
            if by.minus {
                first.sub_assign(&off)
            } else {
                first.add_assign(&off)
            }
            x.write_at(0, &first);
        }
        x
    }

    /// The same for every element.
    pub(crate) fn twisted_all(&self, twist: Twist, x: &Vector) -> Vector {
        let mut x = x.clone();
        if !x.is_shape() && !x.is_empty() {
            let by = self.twisted(twist, &Vector::zeros(x.ring(), 1)).broadcast_scalar(x.len());
            x.add_assign(&by);
        }
        x
    }

    /// The same for its share.
    pub(crate) fn twisted_share(&self, twist: Twist, x: &Shared) -> Shared {
        Shared { share: self.twisted(twist, &x.share), tag: x.tag.clone() }
    }

    /// Bits with another first one of its own.
    pub(crate) fn twisted_bit(&self, mut x: MacBits) -> MacBits {
        let twists = self.twists.borrow().iter().filter(|(twist, _)| *twist == Twist::Told).count();
        if twists > 0 && !x.own.is_shape() && x.len() > 0 {
            x.own.words_of_mut(0)[0] ^= 1;
        }
        x
    }

    /// Another factor a, and the product with this party's own B that goes with it.
    pub(crate) fn twist_factor(&self, a: &mut Vector, c: &mut Vector, [beta, b]: [&Vector; 2]) {
        let mut off = self.twisted(Twist::Factor, a);
        off.sub_assign(a);
        a.add_assign(&off);
        let mut own = Wiped(b.convert(a.ring()));
        own.shl(self.params.inner_bits());
        own.add_assign(&Wiped(Linear::Reduce(a.ring()).apply(beta)));
        off.mul_assign(&own);
        c.add_assign(&off);
    }

    /// From here on this party says something else.
    pub fn insecure_twist(&self, twist: Twist, by: By) {
        self.twists.borrow_mut().push((twist, by));
    }

    /// From here on numbers with bits are made by cut and choose wherever they can be.
    pub fn insecure_choose(&self) {
        self.chooses.set(true);
    }

    /// From here on these keys outlive checks that fail, so that a test can try an attack many times.
    pub fn insecure_endure(&self) {
        self.endures.set(true);
    }
}

impl Spdz2k {
    /// As [`Keys::insecure_twist`].
    pub fn insecure_twist(&self, twist: Twist, by: By) {
        self.keys.insecure_twist(twist, by);
    }

    /// As [`Keys::insecure_choose`].
    pub fn insecure_choose(&self) {
        self.keys.insecure_choose();
    }

    /// As [`Keys::insecure_endure`].
    pub fn insecure_endure(&self) {
        self.keys.insecure_endure();
    }
}

impl Params {
    /// W and L of triples over Z_2^k, for tests that change what is sent of one row.
    pub fn insecure_rows(self, ring: Ring) -> (usize, usize) {
        (self.values(ring).bits() as usize, self.noise_bits())
    }
}
