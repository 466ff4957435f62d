//! Orders of rows, in which a shuffle moves shares.

use quorate_ring::{Ring, Vector};
use zeroize::Zeroizing;

use crate::share::Share;

/// An order of rows: row i of the result is row order\[i\]. Wiped when dropped.
pub type Order = Zeroizing<Vec<u32>>;

/// The ring over which an order is a vector.
const NUMBERS: Ring = Ring::of(32);

/// Returns the places of the elements of these rows, in their order.
pub fn row_elements(rows: &[u32], width: usize) -> Order {
    let mut elements = Zeroizing::new(Vec::with_capacity(rows.len() * width)); // never moved: nothing is left behind
    let width = width as u32;
    elements.extend(rows.iter().flat_map(|&row| (0..width).map(move |i| row * width + i)));
    elements
}

/// Returns an order as part of a correlation; in a dry run `None` gives a shape of `rows` rows.
pub fn stored_order<K>(order: Option<&Order>, rows: usize) -> Share<Vector, K> {
    let Some(order) = order else { return Share::shape((NUMBERS, rows)) };
    let words = Zeroizing::new(order.iter().map(|&row| row.into()).collect::<Vec<u64>>());
    Share::of(Vector::from_u64s(NUMBERS, &words))
}

/// Returns the order that is part of a correlation.
pub fn read_order(stored: &Vector) -> Order {
    let words = Zeroizing::new(stored.to_u64s());
    let mut order = Zeroizing::new(Vec::with_capacity(words.len()));
    order.extend(words.iter().map(|&word| word as u32));
    order
}

/// Returns the vectors of a permutation of rows, by ring and elements: for the mover, the order and the moved mask, for
/// the other party two masks. `columns` gives the bits of an element and the elements of a row, column by column.
pub fn layout(rows: usize, columns: &[(u32, usize)], moves: bool) -> Vec<(Ring, usize)> {
    let masks = columns.iter().map(|&(bits, width)| (Ring::of(bits), rows * width));
    match moves {
        true => std::iter::once((NUMBERS, rows)).chain(masks).collect(),
        false => masks.clone().chain(masks).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_as_it_was_stored() {
        let order = Zeroizing::new(vec![2, 0, 3, 1]);
        let vector: Share<Vector> = stored_order(Some(&order), 4);
        assert_eq!(*read_order(&vector), *order);
        assert_eq!(layout(4, &[(16, 1)], true)[0], (vector.ring(), vector.len()));
        assert!(stored_order::<()>(None, 4).is_shape());
        assert_eq!(*row_elements(&order, 2), [4, 5, 0, 1, 6, 7, 2, 3]);
    }
}
