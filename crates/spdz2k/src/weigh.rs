//! The sums of the rows of y, weighed by public coins, which end a party's factors and its shares of their products.
//!
//! **Source**: step 2 of [`crate::triple`]. Coins are drawn row by row, r before rh, on one thread. The party's other
//! threads add what was drawn before: each sum has its own place, so results do not depend on the number of threads.

use std::ops::Range;

use quorate_ring::threads::{side_by_side, threads};
use quorate_ring::{Bits, Ring, Vector, Wiped};

use crate::coins::Coins;
use crate::factors::{Chosen, Shares};

/// Rows whose coins are drawn together.
const GROUP: usize = 8;
/// Elements from which several threads share the work.
const THREADED: usize = 512;
/// The time of drawing a row's coins, in times of adding the row to one sum.
const DRAW: usize = 2;

/// A sum, the number of its coin among those of a row, and the rows that are added to it.
struct Sum<'s> {
    sum: &'s mut Vector,
    coin: usize,
    y: Y<'s>,
}

enum Y<'s> {
    Bits(&'s [Wiped<Bits>]),
    Shares(&'s [Wiped<Vector>]),
}

impl Sum<'_> {
    fn add(&mut self, row: usize, coins: &[Vector; 2]) {
        let coin = &coins[self.coin];
        match self.y {
            Y::Bits(y) => self.sum.add_chosen(coin, &y[row]),
            Y::Shares(y) => {
                let ring = self.sum.ring();
                let converted = (ring != coin.ring()).then(|| coin.convert(ring));
                self.sum.add_mul_assign(&y[row], converted.as_ref().unwrap_or(coin));
            }
        }
    }
}

/// A part of a step: all may be done at the same time.
enum Task<'t, 's> {
    /// Draw the coins of so many rows.
    Draw(&'t mut Coins, usize, &'t mut Vec<[Vector; 2]>),
    Add(&'t mut Sum<'s>),
}

/// Adds the rows of y to bits and shares, weighed for each triple by r and by rh, which are drawn from the coins.
/// Shares may be over a smaller ring.
pub(crate) fn weigh(
    coins: &mut Coins,
    rows: usize,
    shape: (Ring, usize),
    bits: Option<&mut Chosen>,
    shares: Vec<&mut Shares>,
) {
    let mut sums = Vec::new();
    if let Some(Chosen { both, y }) = bits {
        let y = &*y;
        sums.extend(both.iter_mut().enumerate().map(|(coin, sum)| Sum { sum, coin, y: Y::Bits(y) }));
    }
    for Shares { both, y } in shares {
        let y = &*y;
        sums.extend(both.iter_mut().enumerate().map(|(coin, sum)| Sum { sum, coin, y: Y::Shares(y) }));
    }
    let threads = if coins.are_dry() || shape.1 < THREADED { 1 } else { threads() };
    let group = |first: usize| first..rows.min(first + GROUP);
    let (mut drawn, mut before) = (Vec::new(), 0..0);
    while before.end < rows || !before.is_empty() {
        let (now, mut next) = (group(before.end), Vec::new());
        let tasks = shared_out(threads, &mut sums, Task::Draw(coins, now.len(), &mut next));
        side_by_side(tasks, |tasks| tasks.into_iter().for_each(|task| run(task, shape, (&before, &drawn))));
        (drawn, before) = (next, now);
    }
}

/// Shares out the parts of a step so that all threads have about as much to do.
fn shared_out<'t, 's>(threads: usize, sums: &'t mut [Sum<'s>], draw: Task<'t, 's>) -> Vec<Vec<Task<'t, 's>>> {
    let mut parts = vec![(DRAW, vec![draw])];
    parts.resize_with(threads.min(1 + sums.len()), || (0, Vec::new()));
    for sum in sums {
        if let Some((work, part)) = parts.iter_mut().min_by_key(|(work, _)| *work) {
            *work += 1;
            part.push(Task::Add(sum));
        }
    }
    parts.into_iter().map(|(_, part)| part).collect()
}

fn run(task: Task<'_, '_>, shape: (Ring, usize), (rows, drawn): (&Range<usize>, &[[Vector; 2]])) {
    match task {
        Task::Draw(coins, count, next) => {
            next.extend((0..count).map(|_| [0; 2].map(|_| coins.draw(shape.0.bits(), shape))));
        }
        Task::Add(sum) => rows.clone().zip(drawn).for_each(|(row, coins)| sum.add(row, coins)),
    }
}

#[cfg(test)]
mod tests {
    use quorate_crypto::Seed;
    use quorate_ring::threads::set_threads;

    use super::*;

    fn random(seed: u8, ring: Ring, len: usize) -> Wiped<Vector> {
        let mut drawn = Vector::zeros(ring, len);
        Seed::from_bytes([seed; 32]).prg("quorate/spdz2k/test", b"").fill(drawn.bytes_mut());
        quorate_ring::Module::reduce(&mut drawn);
        Wiped(drawn)
    }

    fn coins() -> Coins {
        Coins::of(&Seed::from_bytes([9; 32]))
    }

    /// Whatever the threads and the rows, every sum has every row, times its coin.
    #[test]
    fn every_row_counts_once_by_its_coin() {
        let (ring, small) = (Ring::of(130), Ring::of(70));
        for rows in [0, 1, 8, 21] {
            for len in [3, 700] {
                let bits = || -> Vec<Wiped<Bits>> {
                    (0..rows).map(|row| Wiped(random(row as u8, Ring::of(1), len).to_bits(0..1))).collect()
                };
                let of = |ring| -> Vec<_> { (0..rows).map(|row| random(100 + row as u8, ring, len)).collect() };
                let rings = [ring, small];
                let mut expected = Vec::new();
                let mut drawing = coins();
                let drawn: Vec<[Vector; 2]> =
                    (0..rows).map(|_| [0; 2].map(|_| drawing.draw(ring.bits(), (ring, len)))).collect();
                let after = drawing.words(1);
                for coin in [0, 1] {
                    let mut sum = Vector::zeros(ring, len);
                    drawn.iter().zip(bits()).for_each(|(drawn, y)| {
                        let mut times = y.to_vector(ring);
                        times.mul_assign(&drawn[coin]);
                        sum.add_assign(&times);
                    });
                    expected.push(sum.to_limbs());
                }
                for ring in rings {
                    for coin in [0, 1] {
                        let mut sum = Vector::zeros(ring, len);
                        drawn.iter().zip(of(ring)).for_each(|(drawn, y)| {
                            let mut times = drawn[coin].convert(ring);
                            times.mul_assign(&y);
                            sum.add_assign(&times);
                        });
                        expected.push(sum.to_limbs());
                    }
                }
                for threads in [1, 2, 3, 7] {
                    set_threads(threads).unwrap();
                    let zeros = |ring| [0; 2].map(|_| Wiped(Vector::zeros(ring, len)));
                    let mut chosen = Chosen { both: zeros(ring), y: bits() };
                    let mut shares = rings.map(|ring| Shares { both: zeros(ring), y: of(ring) });
                    let mut coins = coins();
                    weigh(&mut coins, rows, (ring, len), Some(&mut chosen), shares.iter_mut().collect());
                    let found = chosen.both.iter().chain(shares.iter().flat_map(|shares| &shares.both));
                    let found: Vec<_> = found.map(|sum| sum.to_limbs()).collect();
                    assert!(found == expected, "{rows} rows, {len} elements, {threads} threads");
                    assert_eq!(coins.words(1), after, "the next coins");
                }
                set_threads(1).unwrap();
            }
        }
    }
}
