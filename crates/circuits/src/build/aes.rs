//! AES-128, with its key schedule: 200 S-boxes of 32 ANDs, 6400 in all; everything else is linear.
//!
//! **Source**: FIPS 197; the S-box by Boyar and Peralta, "A new combinational logic minimization technique with
//! applications to cryptology" (SEA 2010), in the notation of their straight-line program: `+` is xor, `*` is and,
//! `~` a negated result; x0 is the highest bit of a byte, and so is s0.

use super::{Bit, Builder};

/// The S-box.
const SBOX: &str = "
    y14=x3+x5 y13=x0+x6 y9=x0+x3 y8=x0+x5 t0=x1+x2 y1=t0+x7 y4=y1+x3 y12=y13+y14 y2=y1+x0 y5=y1+x6 y3=y5+y8
    t1=x4+y12 y15=t1+x5 y20=t1+x1 y6=y15+x7 y10=y15+t0 y11=y20+y9 y7=x7+y11 y17=y10+y11 y19=y10+y8 y16=t0+y11
    y21=y13+y16 y18=x0+y16

    t2=y12*y15 t3=y3*y6 t4=t3+t2 t5=y4*x7 t6=t5+t2 t7=y13*y16 t8=y5*y1 t9=t8+t7 t10=y2*y7 t11=t10+t7 t12=y9*y11
    t13=y14*y17 t14=t13+t12 t15=y8*y10 t16=t15+t12 t17=t4+t14 t18=t6+t16 t19=t9+t14 t20=t11+t16 t21=t17+y20
    t22=t18+y19 t23=t19+y21 t24=t20+y18

    t25=t21+t22 t26=t21*t23 t27=t24+t26 t28=t25*t27 t29=t28+t22 t30=t23+t24 t31=t22+t26 t32=t31*t30 t33=t32+t24
    t34=t23+t33 t35=t27+t33 t36=t24*t35 t37=t36+t34 t38=t27+t36 t39=t29*t38 t40=t25+t39

    t41=t40+t37 t42=t29+t33 t43=t29+t40 t44=t33+t37 t45=t42+t41 z0=t44*y15 z1=t37*y6 z2=t33*x7 z3=t43*y16 z4=t40*y1
    z5=t29*y7 z6=t42*y11 z7=t45*y17 z8=t41*y10 z9=t44*y12 z10=t37*y3 z11=t33*y4 z12=t43*y13 z13=t40*y5 z14=t29*y2
    z15=t42*y9 z16=t45*y14 z17=t41*y8

    t46=z15+z16 t47=z10+z11 t48=z5+z13 t49=z9+z10 t50=z2+z12 t51=z2+z5 t52=z7+z8 t53=z0+z3 t54=z6+z7 t55=z16+z17
    t56=z12+t48 t57=t50+t53 t58=z4+t46 t59=z3+t54 t60=t46+t57 t61=z14+t57 t62=t52+t58 t63=t49+t58 t64=z4+t59
    t65=t61+t62 t66=z1+t63 s0=t59+t63 s6=~t56+t62 s7=~t48+t60 t67=t64+t65 s3=t53+t66 s4=t51+t66 s5=t47+t65
    s1=~t64+s3 s2=~t55+t67
";

/// A byte, lowest bit first.
type Byte = [Bit; 8];

impl Builder {
    /// Returns AES-128 of `block` under `key`. All three are 128 bits: the byte string read as a big-endian number,
    /// lowest bit first.
    ///
    /// # Panics
    /// Unless both have 128 bits.
    pub fn aes128(&mut self, key: &[Bit], block: &[Bit]) -> Vec<Bit> {
        assert!(key.len() == 128 && block.len() == 128, "AES-128 takes a key and a block of 128 bits");
        let mut key = bytes_of(key);
        let mut state = self.xor_bytes(&bytes_of(block), &key);
        for round in 1..=10 {
            state = state.iter().map(|&byte| self.sbox(byte)).collect();
            state = shift_rows(&state);
            if round < 10 {
                state = self.mix_columns(&state);
            }
            key = self.next_round_key(&key, round);
            state = self.xor_bytes(&state, &key);
        }
        state.iter().rev().flatten().copied().collect()
    }

    /// Returns the AES S-box of a byte, lowest bit first: 32 ANDs in 6 layers.
    pub fn sbox(&mut self, byte: Byte) -> Byte {
        let mut named = std::collections::BTreeMap::new();
        for (i, &bit) in byte.iter().rev().enumerate() {
            named.insert(format!("x{i}"), bit);
        }
        for line in SBOX.split_whitespace() {
            let (name, formula) = line.split_once('=').expect("name=formula");
            let at = formula.find(['+', '*']).expect("a formula has an operation");
            let plain = formula[..at].trim_start_matches('~');
            let (a, b) = (named[plain], named[&formula[at + 1..]]);
            let value = if formula.as_bytes()[at] == b'*' { self.and(a, b) } else { self.xor(a, b) };
            let value = if formula.starts_with('~') { !value } else { value };
            named.insert(name.to_owned(), value);
        }
        std::array::from_fn(|i| named[&format!("s{}", 7 - i)])
    }

    /// Applies MixColumns (FIPS 197): each byte is 2 a_i + 3 a_(i+1) + a_(i+2) + a_(i+3).
    fn mix_columns(&mut self, state: &[Byte]) -> Vec<Byte> {
        let mut mixed = Vec::with_capacity(16);
        for column in state.chunks_exact(4) {
            for i in 0..4 {
                let [a, b, c, d] = std::array::from_fn(|j| column[(i + j) % 4]);
                let ab = self.xor_byte(a, b);
                let doubled = self.times_x(ab);
                let cd = self.xor_byte(c, d);
                let rest = self.xor_byte(b, cd);
                mixed.push(self.xor_byte(doubled, rest));
            }
        }
        mixed
    }

    /// Multiplies by x modulo x^8 + x^4 + x^3 + x + 1.
    fn times_x(&mut self, a: Byte) -> Byte {
        let mut doubled = a;
        doubled.rotate_right(1);
        for i in [1, 3, 4] {
            doubled[i] = self.xor(doubled[i], a[7]);
        }
        doubled
    }

    /// Computes the four words of round `round` from those before (FIPS 197, KeyExpansion).
    fn next_round_key(&mut self, key: &[Byte], round: usize) -> Vec<Byte> {
        let mut constant = 1u32;
        for _ in 1..round {
            constant = (constant << 1) ^ ((constant >> 7) * 0x11b);
        }
        let mut word: Vec<Byte> = [13, 14, 15, 12].into_iter().map(|i| self.sbox(key[i])).collect();
        for (i, bit) in word[0].iter_mut().enumerate() {
            *bit = self.xor(*bit, Bit::constant(constant >> i & 1 == 1));
        }
        let mut next = Vec::with_capacity(16);
        for old in key.chunks_exact(4) {
            word = self.xor_bytes(&word, old);
            next.extend_from_slice(&word);
        }
        next
    }

    fn xor_byte(&mut self, a: Byte, b: Byte) -> Byte {
        std::array::from_fn(|i| self.xor(a[i], b[i]))
    }

    fn xor_bytes(&mut self, a: &[Byte], b: &[Byte]) -> Vec<Byte> {
        a.iter().zip(b).map(|(&a, &b)| self.xor_byte(a, b)).collect()
    }
}

/// Returns the bytes of a big-endian number, first byte first.
fn bytes_of(number: &[Bit]) -> Vec<Byte> {
    number.chunks_exact(8).rev().map(|byte| byte.try_into().expect("eight bits")).collect()
}

/// Applies ShiftRows (FIPS 197); byte r + 4c of the state is row r of column c.
fn shift_rows(state: &[Byte]) -> Vec<Byte> {
    (0..16).map(|i| state[(i + 4 * (i % 4)) % 16]).collect()
}
