//! Shares of bits, in one of two forms. A session has one form throughout.
//!
//! | form | what a bit is | an AND takes, to each peer |
//! |---|---|---|
//! | with MACs ([`crate::macs`]) | the xor of all parties' bits, with MACs towards all peers | a triple of 0.11 kB |
//! | elements ([`crate::bits`]) | shares with tags over Z_2^(1+s) | a triple of 0.28 kB and more |

use quorate_engine::{LinearBits, UpdateBits};
use quorate_ring::Vector;

use crate::bits::TaggedBits;
use crate::macs::MacBits;
use crate::tagged::Tagged;

/// One party's share of a matrix of bits.
#[derive(Clone)]
pub struct SharedBits(pub(crate) Form);

/// The form of shared bits.
#[derive(Clone)]
pub(crate) enum Form {
    /// Elements of Z_2.
    Elements(TaggedBits),
    /// Bits with MACs.
    Macs(MacBits),
}

const MIXED: &str = "bits of one session have one form";

impl SharedBits {
    /// Returns a share of bits as elements.
    pub fn elements(bits: TaggedBits) -> SharedBits {
        SharedBits(Form::Elements(bits))
    }

    /// Returns a share of bits with MACs.
    pub fn macs(bits: MacBits) -> SharedBits {
        SharedBits(Form::Macs(bits))
    }

    /// Returns the numbers of rows and of lanes.
    pub fn shape(&self) -> (usize, usize) {
        match &self.0 {
            Form::Elements(bits) => bits.shape(),
            Form::Macs(bits) => bits.shape(),
        }
    }

    /// Returns the xor with other bits of the same shape.
    pub fn xor(&self, other: &SharedBits) -> SharedBits {
        assert!(self.shape() == other.shape(), "bits of different shapes");
        match (&self.0, &other.0) {
            (Form::Elements(x), Form::Elements(y)) => Self::elements(x.zip(y, Vector::add_assign)),
            (Form::Macs(x), Form::Macs(y)) => Self::macs(x.clone().xor(y)),
            _ => panic!("{MIXED}"),
        }
    }

    /// Applies a linear map to the bits.
    pub fn linear(&self, map: &LinearBits<'_>) -> SharedBits {
        match &self.0 {
            Form::Elements(bits) => Self::elements(bits.linear(map)),
            Form::Macs(bits) => Self::macs(bits.linear(map)),
        }
    }

    /// Updates the bits with others.
    pub(crate) fn update(&mut self, part: &SharedBits, update: &UpdateBits<'_>) {
        match (&mut self.0, &part.0) {
            (Form::Elements(bits), Form::Elements(part)) => bits.update(part, update),
            (Form::Macs(bits), Form::Macs(part)) => bits.update(part, update),
            _ => panic!("{MIXED}"),
        }
    }

    /// Stacks the rows of all parts, one below the other.
    pub fn concat_rows(parts: &[&SharedBits]) -> SharedBits {
        match Parts::of(parts) {
            Parts::Elements(parts) => Self::elements(TaggedBits::concat_rows(&parts)),
            Parts::Macs(parts) => Self::macs(MacBits::concat_rows(&parts)),
        }
    }

    /// Joins the lanes of all parts, side by side.
    pub fn concat_lanes(parts: &[&SharedBits]) -> SharedBits {
        match Parts::of(parts) {
            Parts::Elements(parts) => Self::elements(TaggedBits::concat_lanes(&parts)),
            Parts::Macs(parts) => Self::macs(MacBits::concat_lanes(&parts)),
        }
    }

    /// Returns all bits as elements.
    pub(crate) fn into_elements(self) -> Tagged {
        match self.0 {
            Form::Elements(bits) => bits.elements,
            Form::Macs(_) => panic!("{MIXED}"),
        }
    }

    /// Returns the bits with their MACs.
    pub(crate) fn as_macs(&self) -> &MacBits {
        match &self.0 {
            Form::Macs(bits) => bits,
            Form::Elements(_) => panic!("{MIXED}"),
        }
    }

    /// Returns the bits with their MACs, by value.
    pub fn into_macs(self) -> MacBits {
        match self.0 {
            Form::Macs(bits) => bits,
            Form::Elements(_) => panic!("{MIXED}"),
        }
    }

    /// Returns one row of the matrix.
    pub fn row(&self, row: usize) -> SharedBits {
        self.linear(&LinearBits::Rows(row..row + 1))
    }

    /// Arranges the bits of one row in rows of `lanes` lanes.
    pub(crate) fn in_rows(self, (rows, lanes): (usize, usize)) -> SharedBits {
        match self.0 {
            Form::Elements(bits) => Self::elements(TaggedBits { rows, lanes, elements: bits.elements }),
            Form::Macs(bits) => Self::macs(bits.in_rows((rows, lanes))),
        }
    }
}

/// Shares that have one form.
enum Parts<'b> {
    Elements(Vec<&'b TaggedBits>),
    Macs(Vec<&'b MacBits>),
}

impl<'b> Parts<'b> {
    fn of(parts: &[&'b SharedBits]) -> Parts<'b> {
        let elements = |part: &&'b SharedBits| if let Form::Elements(bits) = &part.0 { Some(bits) } else { None };
        let macs = |part: &&'b SharedBits| if let Form::Macs(bits) = &part.0 { Some(bits) } else { None };
        let all: Option<Vec<_>> = parts.iter().map(elements).collect();
        all.map(Parts::Elements)
            .or_else(|| parts.iter().map(macs).collect::<Option<Vec<_>>>().map(Parts::Macs))
            .unwrap_or_else(|| panic!("{MIXED}"))
    }
}
