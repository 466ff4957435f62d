//! Shifts by public amounts, which cost nothing, and by secret ones.

use super::{Bit, Builder, Sign};

/// The direction in which bits move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Towards the high bits; zeros are shifted in.
    Left,
    /// Towards the low bits; zeros are shifted in, or copies of the sign.
    Right(Sign),
}

impl Builder {
    /// x shifted by a public amount of any size.
    pub fn shift(&self, x: &[Bit], direction: Direction, amount: usize) -> Vec<Bit> {
        let amount = amount.min(x.len());
        let coming = vec![coming_in(x, direction); amount];
        match direction {
            Direction::Left => [&coming, &x[..x.len() - amount]].concat(),
            Direction::Right(_) => [&x[amount..], &coming].concat(),
        }
    }

    /// x shifted by a secret amount, an unsigned number of any width: k ANDs for each bit of it.
    pub fn shift_by(&mut self, x: &[Bit], direction: Direction, amount: &[Bit]) -> Vec<Bit> {
        let mut moved = x.to_vec();
        for (i, &bit) in amount.iter().enumerate() {
            let step = if i < usize::BITS as usize - 1 { 1 << i } else { usize::MAX };
            let further = self.shift(&moved, direction, step);
            moved = self.mux(bit, &further, &moved);
        }
        moved
    }
}

fn coming_in(x: &[Bit], direction: Direction) -> Bit {
    match direction {
        Direction::Right(Sign::Signed) => x.last().copied().unwrap_or(Bit::FALSE),
        Direction::Left | Direction::Right(Sign::Unsigned) => Bit::FALSE,
    }
}
