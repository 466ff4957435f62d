//! One party's labels of a matrix of wires.

use std::ops::Range;

use quorate_engine::{Positions, Result};
use quorate_gadgets::Labels as Matrix;
use quorate_garble::{Delta, LABEL_BYTES, Labels};
use quorate_ring::{Bits, Vector, meter};

use crate::yao::unlike;

/// Labels of 0 at the garbler, active labels at the evaluator; or, in a dry run, only their number. Wiped when dropped;
/// never printed.
#[derive(Clone)]
pub struct YaoLabels(Held);

#[derive(Clone)]
enum Held {
    Labels(Labels),
    Shape(usize, usize),
}

impl YaoLabels {
    /// Returns zeros: the evaluator's labels of bits that the garbler knows. Without data in a dry run.
    pub(crate) fn zeros(dry: bool, rows: usize, lanes: usize) -> YaoLabels {
        if dry { Self::phantom(rows, lanes) } else { Labels::zeros(rows, lanes).into() }
    }

    /// Returns these blocks as labels, row by row.
    pub(crate) fn of_blocks(blocks: &Vector, rows: usize, lanes: usize) -> Result<YaoLabels> {
        match blocks.is_shape() {
            true => Ok(Self::copied(rows, lanes)),
            false => Ok(Labels::from_blocks(rows, lanes, blocks.wide_words().to_vec()).map_err(unlike)?.into()),
        }
    }

    fn phantom(rows: usize, lanes: usize) -> YaoLabels {
        meter::fresh(rows.saturating_mul(lanes).saturating_mul(LABEL_BYTES));
        YaoLabels(Held::Shape(rows, lanes))
    }

    /// Returns the shape of a copy of these labels, and charges the copy.
    fn copied(rows: usize, lanes: usize) -> YaoLabels {
        meter::stream(rows.saturating_mul(lanes).saturating_mul(2 * LABEL_BYTES));
        Self::phantom(rows, lanes)
    }

    /// Returns the labels, unless this is a shape.
    pub(crate) fn held(&self) -> Option<&Labels> {
        match &self.0 {
            Held::Labels(labels) => Some(labels),
            Held::Shape(..) => None,
        }
    }

    /// Adds a bit that the garbler knows to the value of every wire. Only the garbler calls it.
    pub(crate) fn shift(&mut self, delta: &Delta, bits: &Bits) -> Result<()> {
        match &mut self.0 {
            Held::Labels(labels) => labels.shift(delta, bits).map_err(unlike),
            Held::Shape(rows, lanes) => {
                meter::stream(rows.saturating_mul(*lanes).saturating_mul(2 * LABEL_BYTES));
                Ok(())
            }
        }
    }

    /// Xors with other labels, label by label.
    pub(crate) fn add(&mut self, other: &YaoLabels) -> Result<()> {
        if let (Held::Labels(labels), Held::Labels(other)) = (&mut self.0, &other.0) {
            return labels.xor_assign(other).map_err(unlike);
        }
        let (rows, lanes) = self.shape();
        meter::stream(rows.saturating_mul(lanes).saturating_mul(3 * LABEL_BYTES));
        Ok(())
    }

    /// Writes the labels, row by row; writes nothing for a shape.
    pub(crate) fn write_to(&self, frame: &mut [u8]) {
        if let Held::Labels(labels) = &self.0 {
            labels.write_to(frame);
        }
    }

    /// Reads what [`YaoLabels::write_to`] wrote.
    pub(crate) fn read_from(bytes: &[u8], rows: usize, lanes: usize) -> Result<YaoLabels> {
        Ok(Labels::from_bytes(rows, lanes, bytes).map_err(unlike)?.into())
    }

    /// Returns this party's shares of the values.
    pub(crate) fn colours(&self) -> Bits {
        match &self.0 {
            Held::Labels(labels) => labels.colours(),
            Held::Shape(rows, lanes) => {
                meter::stream(rows.saturating_mul(*lanes).saturating_mul(2 * LABEL_BYTES));
                Bits::shape(*rows, *lanes)
            }
        }
    }

    /// Returns a range of lanes of every row.
    pub(crate) fn slice_lanes(&self, range: Range<usize>) -> YaoLabels {
        self.each_row(range.len(), |row, out| out.copy_from_slice(&row[range.clone()]))
    }

    /// Overwrites the lanes from `start` on. The result is a shape if a part is one.
    pub(crate) fn write_lanes_at(&mut self, start: usize, part: &YaoLabels) {
        match (&mut self.0, &part.0) {
            (Held::Labels(labels), Held::Labels(part)) => {
                for row in 0..part.wires() {
                    labels.wire_mut(row)[start..start + part.instances()].copy_from_slice(part.wire(row));
                }
            }
            (Held::Labels(labels), Held::Shape(..)) => self.0 = Held::Shape(labels.wires(), labels.instances()),
            _ => {
                let (rows, lanes) = part.shape();
                meter::stream(rows.saturating_mul(lanes).saturating_mul(2 * LABEL_BYTES));
            }
        }
    }

    /// Returns the same number of rows, each made from one of these rows.
    fn each_row(&self, lanes: usize, write: impl Fn(&[u128], &mut [u128])) -> YaoLabels {
        let Held::Labels(labels) = &self.0 else { return Self::copied(self.shape().0, lanes) };
        let mut out = Labels::zeros(labels.wires(), lanes);
        (0..labels.wires()).for_each(|row| write(labels.wire(row), out.wire_mut(row)));
        out.into()
    }
}

impl From<Labels> for YaoLabels {
    fn from(labels: Labels) -> YaoLabels {
        YaoLabels(Held::Labels(labels))
    }
}

/// Returns the labels of all parts, unless one is a shape.
fn all_held<'p>(parts: &[&'p YaoLabels]) -> Option<Vec<&'p Labels>> {
    parts.iter().map(|part| part.held()).collect()
}

impl Matrix for YaoLabels {
    fn shape(&self) -> (usize, usize) {
        match &self.0 {
            Held::Labels(labels) => (labels.wires(), labels.instances()),
            Held::Shape(rows, lanes) => (*rows, *lanes),
        }
    }

    fn gather_rows(&self, rows: &[u32]) -> Self {
        let Held::Labels(labels) = &self.0 else { return Self::copied(rows.len(), self.shape().1) };
        let mut out = Labels::zeros(rows.len(), labels.instances());
        rows.iter().enumerate().for_each(|(to, &from)| out.wire_mut(to).copy_from_slice(labels.wire(from as usize)));
        out.into()
    }

    fn gather_lanes(&self, lanes: &Positions<'_>) -> Self {
        self.each_row(lanes.len(), |row, out| {
            out.iter_mut().zip(lanes.list()).for_each(|(to, &at)| *to = row[at as usize]);
        })
    }

    /// Stacks the rows of all parts.
    ///
    /// # Panics
    /// If there are no parts, or their numbers of lanes differ.
    fn concat_rows(parts: &[&Self]) -> Self {
        let lanes = parts.first().expect("rows of at least one part").shape().1;
        assert!(parts.iter().all(|part| part.shape().1 == lanes), "rows of different lengths");
        let Some(labels) = all_held(parts) else {
            return Self::copied(parts.iter().map(|part| part.shape().0).sum(), lanes);
        };
        Labels::concat_wires(&labels).expect("rows of one length").into()
    }

    /// Puts the lanes of all parts side by side.
    ///
    /// # Panics
    /// If there are no parts, or their numbers of rows differ.
    fn concat_lanes(parts: &[&Self]) -> Self {
        let rows = parts.first().expect("lanes of at least one part").shape().0;
        assert!(parts.iter().all(|part| part.shape().0 == rows), "lanes of matrices with other rows");
        let lanes = parts.iter().map(|part| part.shape().1).sum();
        if all_held(parts).is_none() {
            return Self::copied(rows, lanes);
        }
        let mut out: YaoLabels = Labels::zeros(rows, lanes).into();
        let mut at = 0;
        for part in parts {
            out.write_lanes_at(at, part);
            at += part.shape().1;
        }
        out
    }

    /// Splits the only row into `rows` rows: row r, lane l is lane `l * rows + r`.
    ///
    /// # Panics
    /// Unless there is one row, whose number of lanes is a multiple of `rows`.
    fn lanes_to_rows(&self, rows: usize) -> Self {
        let (one, all) = self.shape();
        assert!(one == 1 && rows > 0 && all.is_multiple_of(rows), "lanes of {one} rows as {rows} rows");
        let lanes = all / rows;
        let Held::Labels(labels) = &self.0 else { return Self::copied(rows, lanes) };
        let mut out = Labels::zeros(rows, lanes);
        for row in 0..rows {
            let from = labels.wire(0).iter().skip(row).step_by(rows);
            out.wire_mut(row).iter_mut().zip(from).for_each(|(to, label)| *to = *label);
        }
        out.into()
    }

    fn rows_to_lanes(&self) -> Self {
        let (rows, lanes) = self.shape();
        let Held::Labels(labels) = &self.0 else { return Self::copied(1, rows * lanes) };
        let mut out = Labels::zeros(1, rows * lanes);
        for row in 0..rows {
            let to = out.wire_mut(0).iter_mut().skip(row).step_by(rows);
            to.zip(labels.wire(row)).for_each(|(to, label)| *to = *label);
        }
        out.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns labels with 10 r + l at row r, lane l.
    fn numbered(rows: usize, lanes: usize) -> YaoLabels {
        let blocks = (0..rows * lanes).map(|i| (10 * (i / lanes) + i % lanes) as u128).collect();
        Labels::from_blocks(rows, lanes, blocks).unwrap().into()
    }

    fn blocks(labels: &YaoLabels) -> Vec<u128> {
        labels.held().unwrap().blocks().to_vec()
    }

    #[test]
    fn rows_and_lanes_are_moved_as_stated() {
        let x = numbered(3, 4);
        assert_eq!(blocks(&x.gather_rows(&[2, 0, 2])), [20, 21, 22, 23, 0, 1, 2, 3, 20, 21, 22, 23]);
        assert_eq!(blocks(&x.gather_lanes(&Positions::Given(&[3, 3]))), [3, 3, 13, 13, 23, 23]);
        assert_eq!(blocks(&x.slice_lanes(1..3)), [1, 2, 11, 12, 21, 22]);
        assert_eq!(
            blocks(&YaoLabels::concat_rows(&[&x.gather_rows(&[1]), &x.gather_rows(&[0])])),
            [10, 11, 12, 13, 0, 1, 2, 3]
        );
        let halves = [x.slice_lanes(2..4), x.slice_lanes(0..2)];
        assert_eq!(
            blocks(&YaoLabels::concat_lanes(&[&halves[0], &halves[1]])),
            [2, 3, 0, 1, 12, 13, 10, 11, 22, 23, 20, 21]
        );
        let mut y = x.clone();
        y.write_lanes_at(3, &x.slice_lanes(0..1));
        assert_eq!(blocks(&y), [0, 1, 2, 0, 10, 11, 12, 10, 20, 21, 22, 20]);
    }

    #[test]
    fn labels_with_a_shape_among_their_parts_are_a_shape() {
        let mut x = numbered(2, 4);
        x.write_lanes_at(1, &YaoLabels::zeros(true, 2, 2));
        assert!(x.held().is_none() && x.shape() == (2, 4));
        x.write_lanes_at(0, &numbered(2, 1));
        assert!(x.held().is_none());
        assert!(YaoLabels::concat_lanes(&[&numbered(2, 1), &x]).held().is_none());
    }

    #[test]
    fn lanes_become_rows_and_lanes_again() {
        let x = numbered(1, 6);
        let rows = x.lanes_to_rows(3);
        assert_eq!((rows.shape(), blocks(&rows)), ((3, 2), vec![0, 3, 1, 4, 2, 5]));
        assert_eq!(blocks(&rows.rows_to_lanes()), blocks(&x));
        assert_eq!(numbered(1, 0).lanes_to_rows(3).shape(), (3, 0));
    }

    #[test]
    fn shapes_follow_labels() {
        let forms: [fn(&YaoLabels) -> YaoLabels; 7] = [
            |x| x.gather_rows(&[0, 0]),
            |x| x.gather_lanes(&Positions::Given(&[5, 1, 0])),
            |x| x.slice_lanes(2..5),
            |x| YaoLabels::concat_rows(&[x, x]),
            |x| YaoLabels::concat_lanes(&[x, x, x]),
            |x| x.lanes_to_rows(2),
            |x| x.rows_to_lanes(),
        ];
        let (data, shape) = (YaoLabels::zeros(false, 1, 6), YaoLabels::zeros(true, 1, 6));
        for form in forms {
            assert_eq!(form(&data).shape(), form(&shape).shape());
            assert!(form(&shape).held().is_none());
        }
        let (data, shape) = (data.colours(), shape.colours());
        assert_eq!((data.rows(), data.lanes()), (shape.rows(), shape.lanes()));
        assert!(shape.is_shape());
    }
}
