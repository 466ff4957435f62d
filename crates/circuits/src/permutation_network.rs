//! Permutation networks: switches that exchange two cells or leave them, and the settings for a permutation.
//!
//! **Source**: Waksman 1968, for any number of cells as in Beauquier and Darrot 2002 (AS-Waksman). n cells take
//! sum ceil(log2 i) for i = 1..=n switches, which is n log2 n - n + 1 for powers of two, in 2 ceil(log2 n) - 1 layers.
//!
//! A network on n >= 3 cells has switches on pairs of inputs, then two inner networks, then switches on pairs of
//! outputs, except for the last pair if n is even. One inner network is on the upper cells of the pairs. The other is
//! on the lower cells, and on the last cell if it has no pair. Cells stay in place: the results of an inner network are
//! in the cells that it was given.

use std::collections::BTreeMap;
use std::ops::Range;

use zeroize::Zeroizing;

/// A switch on two cells; `crossed` is meaningless where no permutation is given.
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    /// The cells, by number.
    pub cells: [u32; 2],
    /// Whether it exchanges them.
    pub crossed: bool,
}

/// Layers of switches: those of one layer touch different cells.
pub type Layers = Zeroizing<Vec<Vec<Switch>>>;

impl zeroize::Zeroize for Switch {
    fn zeroize(&mut self) {
        self.crossed.zeroize();
    }
}

/// Returns the number of switches in the network of `count` cells.
pub fn switches(count: usize) -> usize {
    (1..=count).map(|i| i.next_power_of_two().trailing_zeros() as usize).sum()
}

/// Returns the network of `count` cells.
pub fn network(count: usize) -> Layers {
    layers(count, None)
}

/// Returns the network that moves cell order[i] to cell i.
pub fn routed(order: &[u32]) -> Layers {
    layers(order.len(), Some(order))
}

/// Returns the switches `range` of all, counted layer by layer, as a slice of each layer.
pub fn part(layers: &Layers, range: Range<usize>) -> impl Iterator<Item = &[Switch]> {
    let mut before = 0;
    let within = layers.iter().map(move |layer| {
        let [start, end] = [range.start, range.end].map(|at| at.saturating_sub(before).min(layer.len()));
        before += layer.len();
        &layer[start..end]
    });
    within.filter(|switches| !switches.is_empty())
}

/// Returns the number of switches of each layer.
pub fn layer_sizes(count: usize) -> Vec<usize> {
    let depth = count.next_power_of_two().trailing_zeros() as usize;
    let mut sizes = vec![0; (2 * depth).saturating_sub(1)];
    // The networks of a level, by their cells: at most two sizes.
    let mut networks = BTreeMap::from([(count, 1)]);
    for first in 0..depth {
        let last = sizes.len() - 1 - first;
        let mut inner = BTreeMap::new();
        for (&cells, &times) in networks.iter().filter(|(cells, _)| **cells > 1) {
            sizes[first] += times * (cells / 2);
            if cells > 2 {
                sizes[last] += times * ((cells - 1) / 2);
                *inner.entry(cells / 2).or_default() += times;
                *inner.entry(cells - cells / 2).or_default() += times;
            }
        }
        networks = inner;
    }
    sizes
}

fn layers(count: usize, order: Option<&[u32]>) -> Layers {
    let sizes = layer_sizes(count);
    let last = sizes.len();
    let mut layers: Layers = Zeroizing::new(sizes.into_iter().map(Vec::with_capacity).collect());
    if count > 1 {
        add(&mut layers, (0, last - 1), &(0..count as u32).collect::<Vec<_>>(), order);
    }
    layers
}

/// Adds the network of these cells, with its first switches in layer `first` and its last in layer `last`.
fn add(layers: &mut Layers, (first, last): (usize, usize), cells: &[u32], order: Option<&[u32]>) {
    let pairs = cells.len() / 2;
    if cells.len() < 2 {
        return;
    }
    if cells.len() == 2 {
        let crossed = order.is_some_and(|order| order[0] == 1);
        return layers[first].push(Switch { cells: [cells[0], cells[1]], crossed });
    }
    let route = order.map(Route::new);
    let pair = |i: usize| [cells[2 * i], cells[2 * i + 1]];
    let crossed = |lower: Option<&Vec<bool>>, i: usize| lower.is_some_and(|lower| lower[2 * i]);
    for i in 0..pairs {
        let crossed = crossed(route.as_ref().map(|r| &*r.inputs_below), i);
        layers[first].push(Switch { cells: pair(i), crossed });
    }
    let upper: Vec<u32> = (0..pairs).map(|i| cells[2 * i]).collect();
    let mut lower: Vec<u32> = (0..pairs).map(|i| cells[2 * i + 1]).collect();
    lower.extend(cells.get(2 * pairs));
    add(layers, (first + 1, last - 1), &upper, route.as_ref().map(|r| r.upper.as_slice()));
    add(layers, (first + 1, last - 1), &lower, route.as_ref().map(|r| r.lower.as_slice()));
    for i in 0..pairs - usize::from(cells.len().is_multiple_of(2)) {
        let crossed = crossed(route.as_ref().map(|r| &*r.outputs_below), i);
        layers[last].push(Switch { cells: pair(i), crossed });
    }
}

/// The inputs and outputs of the lower network, and the permutations of both networks.
struct Route {
    inputs_below: Zeroizing<Vec<bool>>,
    outputs_below: Zeroizing<Vec<bool>>,
    upper: Zeroizing<Vec<u32>>,
    lower: Zeroizing<Vec<u32>>,
}

impl Route {
    /// Runs the looping algorithm: of each pair, one goes to the upper network and the other to the lower one, at
    /// either end.
    fn new(order: &[u32]) -> Route {
        let count = order.len();
        let mut place = Zeroizing::new(vec![0; count]);
        order.iter().enumerate().for_each(|(to, &from)| place[from as usize] = to);
        let unpaired = if count % 2 == 1 { count - 1 } else { count };
        let mut inputs_below = Zeroizing::new(vec![false; count]);
        let mut outputs_below = Zeroizing::new(vec![false; count]);
        let mut done = vec![false; count];
        // The last output comes from the lower network: it has no pair, or its pair has no switch.
        for start in (0..count).rev() {
            let mut output = start;
            while !done[output] {
                (done[output], outputs_below[output]) = (true, true);
                let input = order[output] as usize;
                inputs_below[input] = true;
                if input == unpaired {
                    break;
                }
                let above = place[input ^ 1];
                done[above] = true;
                output = above ^ 1;
            }
        }
        let below = |wanted: bool| {
            let outputs = (0..count).filter(|&output| outputs_below[output] == wanted);
            Zeroizing::new(outputs.map(|output| order[output] / 2).collect::<Vec<u32>>())
        };
        let (upper, lower) = (below(false), below(true));
        Route { inputs_below, outputs_below, upper, lower }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(layers: &Layers, count: usize) -> Vec<u32> {
        let mut cells: Vec<u32> = (0..count as u32).collect();
        for layer in layers.iter() {
            let mut touched = vec![false; count];
            for switch in layer {
                let [a, b] = switch.cells.map(|cell| cell as usize);
                assert!(!touched[a] && !touched[b] && a != b);
                (touched[a], touched[b]) = (true, true);
                if switch.crossed {
                    cells.swap(a, b);
                }
            }
        }
        cells
    }

    /// Returns all permutations of `count` elements.
    fn orders(count: usize) -> Vec<Vec<u32>> {
        if count == 0 {
            return vec![vec![]];
        }
        let insert = |order: Vec<u32>| {
            (0..count).map(move |at| {
                let mut order = order.clone();
                order.insert(at, count as u32 - 1);
                order
            })
        };
        orders(count - 1).into_iter().flat_map(insert).collect()
    }

    #[test]
    fn every_permutation_of_few() {
        for count in 0..=7 {
            let all = orders(count);
            assert_eq!(all.len(), (1..=count).product::<usize>());
            for order in all {
                let layers = routed(&order);
                assert_eq!(run(&layers, count), order);
                assert_eq!(layers.iter().map(Vec::len).collect::<Vec<_>>(), layer_sizes(count));
                assert_eq!(layer_sizes(count).iter().sum::<usize>(), switches(count));
            }
        }
    }

    #[test]
    fn some_permutations_of_many() {
        for count in [8usize, 9, 15, 16, 17, 100, 1000, 1023, 1025] {
            for factor in [1usize, 7, 11, 13] {
                let mut order: Vec<u32> = (0..count as u32).collect();
                let mut state = factor as u64;
                for i in (1..count).rev() {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    order.swap(i, (state >> 33) as usize % (i + 1));
                }
                assert_eq!(run(&routed(&order), count), order);
            }
            let (blank, switched) = (network(count), switches(count));
            assert_eq!(blank.iter().map(Vec::len).sum::<usize>(), switched);
            assert_eq!(blank.iter().map(Vec::len).collect::<Vec<_>>(), layer_sizes(count));
            for step in [1, 5, 64, switched] {
                let parts = (0..switched).step_by(step).map(|at| part(&blank, at..(at + step).min(switched)));
                let cells = parts.flatten().flatten().map(|switch| switch.cells);
                assert!(cells.eq(blank.iter().flatten().map(|switch| switch.cells)));
            }
            assert_eq!(run(&blank, count), (0..count as u32).collect::<Vec<_>>());
        }
    }
}
