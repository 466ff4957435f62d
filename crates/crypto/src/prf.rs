//! AES-128 as a pseudo-random function of blocks: many keys, with the same inputs under each.
//!
//! The caller has to provide distinct inputs under one key: an input is a number that is unique in the session plus a
//! position. With q blocks under one key the advantage over random outputs is below q^2 / 2^129 (PRP/PRF switching).

use crate::cipher::Aes;
#[cfg(target_arch = "x86_64")]
use crate::wide::Vaes;

/// A function under one key, wiped on drop, never printed.
pub struct Prf {
    schedule: Schedule,
}

/// The expanded key, in one form only, since a session holds thousands.
enum Schedule {
    Any(Aes),
    #[cfg(target_arch = "x86_64")]
    Wide(Vaes),
}

impl Prf {
    /// Returns the function under this key.
    pub fn new(key: &[u8; 16]) -> Prf {
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = Vaes::new(key) {
            return Prf { schedule: Schedule::Wide(wide) };
        }
        Prf { schedule: Schedule::Any(Aes::new(key)) }
    }

    /// Writes the value of each input; blocks are little-endian numbers.
    ///
    /// # Panics
    /// Unless the numbers of outputs and inputs are equal.
    pub fn eval(&self, inputs: &[[u8; 16]], outputs: &mut [[u8; 16]]) {
        assert_eq!(inputs.len(), outputs.len(), "values for other inputs");
        match &self.schedule {
            Schedule::Any(cipher) => cipher.encrypt_into(inputs, outputs),
            #[cfg(target_arch = "x86_64")]
            Schedule::Wide(cipher) => cipher.encrypt_into(inputs, outputs),
        }
    }
}

impl std::fmt::Debug for Prf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Prf(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 197, appendix B, between other blocks.
    #[test]
    fn known_answer_at_any_length() {
        let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
        let (input, output) =
            (0x3243_f6a8_885a_308d_3131_98a2_e037_0734_u128, 0x3925_841d_02dc_09fb_dc11_8597_196a_0b32);
        let prf = Prf::new(&key);
        for len in [1usize, 2, 63, 64, 65, 200] {
            let mut inputs = vec![[0; 16]; len];
            inputs[len - 1] = input.to_be_bytes();
            let mut outputs = vec![[0; 16]; len];
            prf.eval(&inputs, &mut outputs);
            assert_eq!(u128::from_be_bytes(outputs[len - 1]), output);
            assert!(outputs[..len - 1].iter().all(|block| *block == outputs[0]));
        }
        assert_eq!(format!("{prf:?}"), "Prf(..)");
    }

    #[test]
    fn both_forms_are_one_function() {
        let inputs: Vec<[u8; 16]> =
            (0..150u128).map(|i| (i * i * 0x0123_4567_89ab_cdef_1234_5678 + 7).to_le_bytes()).collect();
        for len in (0usize..70).chain([150]) {
            let (mut any, mut chosen) = (vec![[0; 16]; len], vec![[0; 16]; len]);
            Aes::new(&[9; 16]).encrypt_into(&inputs[..len], &mut any);
            let behind = [[5; 16]; 40];
            chosen.extend(behind);
            Prf::new(&[9; 16]).eval(&inputs[..len], &mut chosen[..len]);
            assert_eq!(any, chosen[..len], "{len} blocks");
            assert_eq!(chosen[len..], behind, "{len} blocks, and nothing behind them");
        }
    }
}
