//! Arithmetic modulo an odd number, in constant time: on Montgomery forms, where time depends only on sizes.

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, CtAssign, CtEq, Gcd, MontyForm, MontyMultiplier, Odd, Resize, Word};
use zeroize::{Zeroize, Zeroizing};

/// A number modulo a [`Modulus`].
pub(crate) type Form = BoxedMontyForm;

/// An odd number, with the parameters of arithmetic modulo it.
pub(crate) struct Modulus {
    params: BoxedMontyParams,
}

impl Modulus {
    /// Returns the modulus; `None` for an even number.
    pub fn new(value: &BoxedUint) -> Option<Modulus> {
        let odd = Option::<Odd<BoxedUint>>::from(value.to_odd())?;
        Some(Modulus { params: BoxedMontyParams::new(odd) })
    }

    pub fn value(&self) -> &BoxedUint {
        self.params.modulus()
    }

    /// Returns the bits in which its numbers are stored.
    pub fn bits(&self) -> u32 {
        self.params.bits_precision()
    }

    /// Returns x modulo this number, for x of any size.
    pub fn enter(&self, x: &BoxedUint) -> Form {
        let reduced = Zeroizing::new(x.rem(self.params.modulus().as_nz_ref()));
        Form::new((*reduced).clone(), &self.params)
    }

    /// Returns x, which is smaller than this number, as a form.
    pub fn enter_reduced(&self, x: &BoxedUint) -> Form {
        Form::new(x.clone().resize(self.bits()), &self.params)
    }

    pub fn one(&self) -> Form {
        Form::one(&self.params)
    }

    /// Returns a product of one factor, 1.
    pub fn chain(&self) -> Chain<'_> {
        let (multiplier, one) = (<Form as MontyForm>::Multiplier::from(&self.params), self.one());
        Chain { multiplier, value: one.clone(), entry: one }
    }
}

/// A product to which factors are added; wiped on drop.
pub(crate) struct Chain<'m> {
    multiplier: <Form as MontyForm>::Multiplier<'m>,
    value: Form,
    entry: Form,
}

impl Chain<'_> {
    /// Raises the product to the power 2^times.
    pub fn square(&mut self, times: u32) {
        for _ in 0..times {
            MontyMultiplier::square_assign(&mut self.multiplier, &mut self.value);
        }
    }

    pub fn times(&mut self, factor: &Form) {
        MontyMultiplier::mul_assign(&mut self.multiplier, &mut self.value, factor);
    }

    /// Multiplies by the entry of a table at a secret place: all entries are read.
    pub fn times_entry(&mut self, table: &[BoxedUint], place: u64) {
        let chosen = self.entry.as_montgomery_mut();
        for (i, entry) in table.iter().enumerate() {
            chosen.ct_assign(entry, (i as Word).ct_eq(&place));
        }
        MontyMultiplier::mul_assign(&mut self.multiplier, &mut self.value, &self.entry);
    }

    pub fn value(&self) -> &Form {
        &self.value
    }

    /// Returns the product.
    pub fn finish(self) -> Form {
        self.value.clone()
    }
}

impl Drop for Chain<'_> {
    fn drop(&mut self) {
        self.value.zeroize();
        self.entry.zeroize();
    }
}

pub(crate) const OUT_OF_RANGE: &str = "a ciphertext out of range";
pub(crate) const NO_UNIT: &str = "a ciphertext that is no unit";

/// Reads numbers of the peer, each smaller than `modulus`, a power of `n`, and coprime to it.
pub(crate) fn read_units(modulus: &Modulus, n: &BoxedUint, bytes: &[u8]) -> Result<Vec<BoxedUint>, &'static str> {
    let width = modulus.bits() as usize / 8;
    if !bytes.len().is_multiple_of(width) {
        return Err("ciphertexts of a wrong length");
    }
    let mut product = modulus.chain();
    let mut read = Vec::with_capacity(bytes.len() / width);
    for bytes in bytes.chunks_exact(width) {
        let number = BoxedUint::from_be_slice(bytes, modulus.bits()).map_err(|_| OUT_OF_RANGE)?;
        if number >= *modulus.value() {
            return Err(OUT_OF_RANGE);
        }
        // The form of a number that is no unit is no unit either, so the product of forms is enough.
        product.times(&Form::from_montgomery(number.clone(), &modulus.params));
        read.push(number);
    }
    // A product is coprime to n if and only if each factor is.
    match is_unit(&product.finish().retrieve(), n) {
        true => Ok(read),
        false => Err(NO_UNIT),
    }
}

/// Returns whether a public number is coprime to a public odd one.
pub(crate) fn is_unit(x: &BoxedUint, n: &BoxedUint) -> bool {
    let odd = Option::<Odd<BoxedUint>>::from(n.to_odd());
    odd.is_some_and(|n| n.gcd_vartime(&x.rem_vartime(n.as_nz_ref())).as_ref().is_one().into())
}

/// Writes a number in the byte length of the modulus.
pub(crate) fn write(x: &BoxedUint, modulus: &Modulus, out: &mut Vec<u8>) {
    out.extend_from_slice(&x.clone().resize(modulus.bits()).to_be_bytes());
}
