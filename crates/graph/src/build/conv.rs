//! Convolutions: the placement of windows on images, and checks that they fit.

use quorate_ring::Conv;

use crate::error::{Fault, Shape};

/// The placement of windows on images: how they lie there. Each pair has a number for rows, then one for columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lies {
    /// The distance between neighbouring windows.
    pub stride: [usize; 2],
    /// The distance between neighbouring elements of a window.
    pub dilation: [usize; 2],
    /// Zeros above and on the left of an image.
    pub before: [usize; 2],
    /// Zeros below and on the right of it.
    pub after: [usize; 2],
    /// The number of groups of channels, each of which has its own filters.
    pub groups: usize,
}

/// More zeros around an image, and larger strides and distances, are refused as mistakes.
const MOST: usize = 1 << 16;

impl Lies {
    /// Returns the convolution of images (batch, channels, rows, columns) with filters (filters, channels of a group,
    /// rows, columns).
    pub(super) fn on(self, images: &[usize], filters: &[usize]) -> Result<Conv, Fault> {
        let Lies { stride, dilation, before, after, groups } = self;
        let fault = |what| Fault::Conv { images: Shape::from(images), filters: Shape::from(filters), groups, what };
        let (&[batch, channels, height, width], &[count, of_group, rows, columns]) = (images, filters) else {
            return Err(fault(
                "images are (batch, channels, rows, columns), filters (filters, channels, rows, columns)",
            ));
        };
        if groups == 0 || channels != groups * of_group {
            return Err(fault("images must have as many channels as the filters, times the groups"));
        }
        if count % groups != 0 {
            return Err(fault("the number of filters must be a multiple of that of groups"));
        }
        if [stride, dilation].concat().contains(&0) {
            return Err(fault("strides and dilations are at least 1"));
        }
        if [stride, dilation, before, after].concat().into_iter().any(|size| size > MOST) {
            return Err(fault("strides, dilations and padding are at most 65536"));
        }
        if rows * columns == 0 {
            return Err(fault("windows have at least one row and one column"));
        }
        let conv = Conv {
            batch,
            groups,
            channels: of_group,
            filters: count / groups,
            image: [height, width],
            window: [rows, columns],
            stride,
            dilation,
            before,
            after,
        };
        if conv.places() == 0 {
            return Err(fault("a window must fit into an image and the zeros around it"));
        }
        Ok(conv)
    }
}
