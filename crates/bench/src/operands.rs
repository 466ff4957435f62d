//! The operands of a task: its numbers, and their form in each sharing.

use quorate_circuits::{Order, Program, catalog};
use quorate_crypto::RUN;
use quorate_engine::{Ctx, Result};
use quorate_gadgets::Computes;
use quorate_gadgets::circuit::in_rounds;
use quorate_ring::{Bits, Ring, Vector};

use crate::cell::Workload;
use crate::operation::Held;
use crate::task::Task;

/// Numbers in the clear: those of the first party and those of the last party.
pub(crate) type Numbers = (Vector, Vector);

/// Operands, shared before the clock starts, and the circuit where there is one.
pub(crate) enum Operands<S: Computes> {
    Values(S::A, S::A),
    /// Numbers, with a bit for each, that of a choice.
    Numbers(S::A, S::A, S::B),
    Bits(S::B),
    Labels(S::Y),
    Circuit(Program, S::B),
    Garbled(Program, S::Y),
    /// A circuit on labels, which are made of these bits.
    Ahead(Program, S::B),
}

impl Task {
    pub fn ring(&self) -> Ring {
        Ring::of(self.cell.bits)
    }

    /// Returns ring and length of either operand.
    pub fn operand_shape(&self) -> (Ring, usize) {
        (self.ring(), self.cell.operand_len())
    }

    /// Returns the operands: two's complement numbers of the largest width that the workload allows, including its
    /// extremes.
    pub fn operands(&self) -> (Vec<i64>, Vec<i64>) {
        let bits = match self.cell.workload {
            Workload::LessThanBounded | Workload::LessThanBoundedGeneral => self.cell.bits - 1,
            workload => workload.place_bits().unwrap_or(self.cell.bits.min(64)),
        };
        let number = |index: usize, salt: u64| scramble(index as u64 ^ salt << 40) as i64 >> (64 - bits);
        let len = if self.cell.workload.is_transfer() { 0 } else { self.cell.operand_len() };
        let mut x: Vec<i64> = (0..len).map(|i| number(i, 1)).collect();
        let mut y: Vec<i64> = (0..len).map(|i| number(i, 2)).collect();
        let (low, high) = (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits));
        let extremes = [(low, high), (high, low), (low, low), (0, 0), (0, -1), (high, high)];
        // A batch of one stays as drawn.
        for (i, pair) in extremes.into_iter().enumerate().filter(|_| len > extremes.len()) {
            (x[len - 1 - i], y[len - 1 - i]) = pair;
        }
        (x, y)
    }

    /// Returns numbers as elements of the ring; where it has more than 64 bits, each number is the lower half of an
    /// element.
    pub fn elements(&self, numbers: &[i64]) -> Vector {
        let wide = |&x: &i64| u128::from(scramble(x as u64)) << 64 | u128::from(x as u64);
        match self.cell.bits {
            0..=64 => Vector::from_i64s(self.ring(), numbers),
            _ => Vector::from_u128s(self.ring(), &numbers.iter().map(wide).collect::<Vec<_>>()),
        }
    }

    fn takes_both_in_bits(&self) -> bool {
        let workload = self.cell.workload;
        workload.is_circuit() || workload.is_on_bits() || matches!(workload, Workload::Operation(..))
    }

    /// Returns the operands as rows of bits, for workloads on bits: x, or x and y; for AES, key and block.
    pub fn rows(&self, (x, y): &Numbers) -> Bits {
        let [x, y] = [x, y].map(|v| v.to_bits(0..self.cell.bits));
        if self.takes_both_in_bits() { Bits::concat_rows(&[&x, &y]) } else { x }
    }

    /// Shares the operands: the first party knows x, the last one y. In a dry run they are shapes.
    pub async fn share<S: Computes>(&self, s: &S, ctx: &Ctx, numbers: &Numbers) -> Result<Operands<S>> {
        let (me, last, shape) = (ctx.me(), ctx.parties() - 1, self.operand_shape());
        let (knows_x, knows_y) = (me == 0, me == last);
        match self.cell.workload {
            Workload::B2A | Workload::B2Y | Workload::Y2B | Workload::Y2A => (),
            Workload::Operation(Held::Bits | Held::Labels, _) => (),
            workload if workload.is_circuit() => (),
            workload if workload.is_on_bits() => (),
            _ => {
                let mut x = s.input(ctx, 0, shape, knows_x.then_some(&numbers.0)).await?;
                let mut y = s.input(ctx, last, shape, knows_y.then_some(&numbers.1)).await?;
                // The measurement is for shared values in general.
                if self.cell.workload != Workload::MulOwned {
                    s.say_who_knows(&mut x, None);
                    s.say_who_knows(&mut y, None);
                }
                if !matches!(self.cell.workload, Workload::Operation(..)) {
                    return Ok(Operands::Values(x, y));
                }
                let lowest = knows_x.then(|| numbers.0.to_bits(0..1));
                let bit = s.input_bits(ctx, 0, (1, shape.1), lowest.as_ref()).await?;
                return Ok(Operands::Numbers(x, y, bit));
            }
        }
        let shape = (self.cell.bits as usize, shape.1);
        let rows = |v: &Vector| v.to_bits(0..self.cell.bits);
        let mut bits = s.input_bits(ctx, 0, shape, knows_x.then(|| rows(&numbers.0)).as_ref()).await?;
        if self.takes_both_in_bits() {
            let y = s.input_bits(ctx, last, shape, knows_y.then(|| rows(&numbers.1)).as_ref()).await?;
            bits = s.concat_rows(&[&bits, &y]);
        }
        Ok(match self.cell.workload {
            Workload::B2A | Workload::B2Y | Workload::And | Workload::BitTriple => Operands::Bits(bits),
            Workload::Operation(Held::Bits, operation) => Operands::Circuit(operation.in_rounds(self.cell.bits), bits),
            Workload::Operation(_, operation) => {
                let labels = s.bits_to_labels(ctx, &bits).await?;
                Operands::Garbled(operation.garbled(self.cell.bits), labels)
            }
            Workload::GmwAes => Operands::Circuit(in_rounds(&catalog::aes128()), bits),
            Workload::YaoAes => Operands::Garbled(garbled_aes(), s.bits_to_labels(ctx, &bits).await?),
            Workload::YaoAesAhead => Operands::Ahead(garbled_aes(), bits),
            _ => Operands::Labels(s.bits_to_labels(ctx, &bits).await?),
        })
    }
}

fn garbled_aes() -> Program {
    Program::new(&catalog::aes128(), Order::Runs(RUN))
}

/// Returns a number by SplitMix64: operands look random and are the same in every run.
pub(crate) fn scramble(index: u64) -> u64 {
    let mut z = index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
