//! Convolutions of two dimensions, as in neural networks (filters are not reversed): products of filters with patches
//! of images. The patches of an image never exist all at once.
//!
//! Arrays are row-major: images (batch, groups x channels, rows, columns), filters (groups x filters, channels, rows,
//! columns), results (batch, groups x filters, rows, columns).

use std::borrow::Cow;
use std::ops::Range;

use crate::matmul::{self, Dims};
use crate::vector::{Data, Vector};
use crate::word::Word;
use crate::{memory, meter};

/// Words of patches in one product.
const STRIP: usize = 1 << 18;

/// The shapes of a convolution's operands, and the layout of its windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Conv {
    /// The number of images.
    pub batch: usize,
    /// Groups of channels; each has filters of its own.
    pub groups: usize,
    /// Channels of a group.
    pub channels: usize,
    /// Filters of a group.
    pub filters: usize,
    /// Rows and columns of an image.
    pub image: [usize; 2],
    /// Rows and columns of a filter.
    pub window: [usize; 2],
    /// The distance in rows and columns between a window and the next.
    pub stride: [usize; 2],
    /// The distance in rows and columns between neighbours in a window.
    pub dilation: [usize; 2],
    /// Rows and columns of zeros above and on the left of an image.
    pub before: [usize; 2],
    /// Rows and columns of zeros below and on the right of an image.
    pub after: [usize; 2],
}

impl Conv {
    /// Returns a convolution of one image of one channel with one filter, with these rows and columns. Other fields are
    /// then set by the caller.
    pub const fn plain(image: [usize; 2], window: [usize; 2]) -> Conv {
        let ([batch, groups, channels, filters], [stride, dilation, before, after]) =
            ([1; 4], [[1; 2], [1; 2], [0; 2], [0; 2]]);
        Conv { batch, groups, channels, filters, image, window, stride, dilation, before, after }
    }

    /// Returns the rows and columns of a result; zero if no window fits.
    pub fn out(&self) -> [usize; 2] {
        [0, 1].map(|d| {
            let span = self.dilation[d] * self.window[d].saturating_sub(1) + 1;
            let room = self.before[d] + self.image[d] + self.after[d];
            room.checked_sub(span).map_or(0, |free| free / self.stride[d] + 1)
        })
    }

    /// Returns the elements of a window over all channels of its group.
    pub fn patch(&self) -> usize {
        self.channels * self.window[0] * self.window[1]
    }

    /// Returns the number of windows of an image.
    pub fn places(&self) -> usize {
        self.out().into_iter().product()
    }

    /// Returns the elements of the images and of the filters.
    pub fn lens(&self) -> [usize; 2] {
        [self.batch * self.groups * self.group_len(), self.groups * self.filters * self.patch()]
    }

    /// Returns the elements of the result.
    pub fn len_out(&self) -> usize {
        self.batch * self.groups * self.filters * self.places()
    }

    /// Returns whether images are padded with zeros.
    pub fn has_zeros(&self) -> bool {
        self.before != [0, 0] || self.after != [0, 0]
    }

    /// Returns this convolution of `batch` images.
    pub fn of_images(self, batch: usize) -> Conv {
        Conv { batch, ..self }
    }

    /// Returns the elements of a group of channels of one image.
    fn group_len(&self) -> usize {
        self.channels * self.image[0] * self.image[1]
    }

    /// Returns whether patches of an image are the image itself.
    fn is_pointwise(&self) -> bool {
        self.window == [1, 1] && self.stride == [1, 1] && !self.has_zeros()
    }

    /// Returns the dimensions of the product of one group's filters with the patches of one image in some rows of the
    /// result.
    fn dims(&self, rows: &Range<usize>) -> Dims {
        (self.filters, self.patch(), rows.len() * self.out()[1])
    }

    /// Returns the ranges of rows of the result that are computed together.
    fn strips(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let [rows, columns] = self.out();
        let each = if self.is_pointwise() { rows } else { STRIP / (self.patch() * columns).max(1) };
        (0..rows).step_by(each.max(1)).map(move |start| start..(start + each.max(1)).min(rows))
    }

    /// Returns the place of a window's element along an axis, unless it is a zero around the image.
    fn at(&self, d: usize, window: usize, inside: usize) -> Option<usize> {
        let place = window * self.stride[d] + inside * self.dilation[d];
        place.checked_sub(self.before[d]).filter(|&place| place < self.image[d])
    }

    /// Returns the positions of one group's patches in the images: a matrix with a row for each element of a patch, and
    /// a column for each place of each image. Zeros around an image have the position after the last one.
    pub fn positions(&self, group: usize) -> Vec<u32> {
        let ([rows, columns], [height, width]) = (self.out(), self.image);
        let zero = self.lens()[0] as u32;
        let mut positions = Vec::with_capacity(self.patch() * self.batch * self.places());
        for (channel, i, j) in self.elements() {
            for image in 0..self.batch {
                let start = ((image * self.groups + group) * self.channels + channel) * height;
                for (y, x) in (0..rows).flat_map(|y| (0..columns).map(move |x| (y, x))) {
                    let place = self.at(0, y, i).zip(self.at(1, x, j));
                    positions.push(place.map_or(zero, |(row, column)| ((start + row) * width + column) as u32));
                }
            }
        }
        positions
    }

    /// Returns the positions of the result's elements in the products of each group's filters and patches, one after
    /// the other.
    pub fn order(&self) -> Vec<u32> {
        let places = self.places();
        let mut order = Vec::with_capacity(self.len_out());
        for (image, group) in (0..self.batch).flat_map(|image| (0..self.groups).map(move |group| (image, group))) {
            for filter in 0..self.filters {
                let start = ((group * self.filters + filter) * self.batch + image) * places;
                order.extend((start..start + places).map(|place| place as u32));
            }
        }
        order
    }

    /// Returns the channel, row and column of each element of a patch.
    fn elements(&self) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
        let [rows, columns] = self.window;
        (0..self.channels).flat_map(move |c| (0..rows).flat_map(move |i| (0..columns).map(move |j| (c, i, j))))
    }

    /// Returns the patches of one group of one image in some rows of the result: elements of a patch by places.
    fn patches<'w, W: Word>(&self, words: &'w [W], rows: &Range<usize>) -> Cow<'w, [W]> {
        if self.is_pointwise() {
            return Cow::Borrowed(words);
        }
        let ([_, columns], [height, width], stride) = (self.out(), self.image, self.stride[1]);
        let mut patches = memory::with_room(self.patch() * rows.len() * columns);
        for (channel, i, j) in self.elements() {
            // Columns of the result for which this element of the window is inside the image.
            let first = (0..columns).find(|&x| self.at(1, x, j).is_some()).unwrap_or(columns);
            let count = (first..columns).take_while(|&x| self.at(1, x, j).is_some()).count();
            let left = self.at(1, first, j).unwrap_or(0);
            for y in rows.clone() {
                let end = patches.len() + columns;
                if let (Some(row), true) = (self.at(0, y, i), count > 0) {
                    let line = &words[(channel * height + row) * width..][..width];
                    patches.resize(end - columns + first, W::default());
                    match stride {
                        1 => patches.extend_from_slice(&line[left..left + count]),
                        _ => patches.extend(line[left..].iter().step_by(stride).take(count)),
                    }
                }
                patches.resize(end, W::default());
            }
        }
        Cow::Owned(patches)
    }

    fn apply<W: Word>(&self, images: &[W], filters: &[W], product: impl Fn(&[W], &[W], Dims) -> Vec<W>) -> Vec<W> {
        let (places, columns, each) = (self.places(), self.out()[1], self.filters * self.patch());
        let mut result = memory::zeros(self.len_out());
        if result.is_empty() || self.patch() == 0 || self.group_len() == 0 {
            return result;
        }
        let groups = result.chunks_exact_mut(self.filters * places).zip(images.chunks_exact(self.group_len()));
        for (i, (result, words)) in groups.enumerate() {
            let filters = &filters[i % self.groups * each..][..each];
            for rows in self.strips() {
                let sums = product(filters, &self.patches(words, &rows), self.dims(&rows));
                let of_strip = rows.start * columns..rows.end * columns;
                for (result, sums) in result.chunks_exact_mut(places).zip(sums.chunks_exact(of_strip.len())) {
                    result[of_strip.clone()].copy_from_slice(sums);
                }
            }
        }
        result
    }

    /// Charges the costs.
    fn charge(&self, images: &Vector) {
        let carrier = images.ring().carrier();
        for rows in self.strips() {
            matmul::charge(carrier, self.dims(&rows), self.batch * self.groups);
        }
        let copied = if self.is_pointwise() { 0 } else { self.patch() * self.places() };
        let bytes = (copied + self.filters * self.places()) * 2 * carrier.bytes();
        meter::charge(meter::Kernel::Stream, bytes.saturating_mul(self.batch * self.groups));
    }
}

impl Vector {
    /// Convolves images with filters; a shape if either is one.
    ///
    /// # Panics
    /// If the rings differ or the lengths are not [`Conv::lens`].
    pub fn convolve(images: &Vector, filters: &Vector, conv: &Conv) -> Vector {
        assert!(
            images.ring() == filters.ring() && [images.len(), filters.len()] == conv.lens(),
            "{images:?} and {filters:?} are not operands of {conv:?} over one ring"
        );
        if images.is_shape() || filters.is_shape() {
            conv.charge(images);
            return Vector::shape(images.ring(), conv.len_out());
        }
        let other = &filters.data;
        let data = match &images.data {
            Data::Shape(_) => Data::Shape(conv.len_out()),
            Data::U8(words) => Data::U8(conv.apply(words, other.words(), matmul::product_u8)),
            Data::U16(words) => Data::U16(conv.apply(words, other.words(), matmul::product_u16)),
            Data::U32(words) => Data::U32(conv.apply(words, other.words(), matmul::product_u32)),
            Data::U64(words) => Data::U64(conv.apply(words, other.words(), matmul::product_u64)),
            Data::U128(words) => Data::U128(conv.apply(words, other.words(), matmul::product_u128)),
            Data::U192(words) => Data::U192(conv.apply(words, other.words(), matmul::product_of_lines)),
            Data::U256(words) => Data::U256(conv.apply(words, other.words(), matmul::product_of_lines)),
        };
        Vector { ring: images.ring(), data }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ring;

    fn numbers(len: usize, seed: u64) -> Vec<u64> {
        (0..len as u64).map(|i| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)).collect()
    }

    /// Computes each element by the sum that defines it.
    fn by_definition(conv: &Conv, images: &[u64], filters: &[u64]) -> Vec<u64> {
        let ([rows, columns], [height, width]) = (conv.out(), conv.image);
        let mut result = Vec::new();
        for (image, group, filter) in
            (0..conv.batch).flat_map(|b| (0..conv.groups).flat_map(move |g| (0..conv.filters).map(move |f| (b, g, f))))
        {
            for (y, x) in (0..rows).flat_map(|y| (0..columns).map(move |x| (y, x))) {
                let mut sum = 0u64;
                for (at, (channel, i, j)) in conv.elements().enumerate() {
                    let row = (y * conv.stride[0] + i * conv.dilation[0]) as isize - conv.before[0] as isize;
                    let column = (x * conv.stride[1] + j * conv.dilation[1]) as isize - conv.before[1] as isize;
                    if (0..height as isize).contains(&row) && (0..width as isize).contains(&column) {
                        let plane = (image * conv.groups + group) * conv.channels + channel;
                        let pixel = images[(plane * height + row as usize) * width + column as usize];
                        let factor = filters[(group * conv.filters + filter) * conv.patch() + at];
                        sum = sum.wrapping_add(pixel.wrapping_mul(factor));
                    }
                }
                result.push(sum);
            }
        }
        result
    }

    /// Returns small convolutions of all forms.
    fn kinds() -> Vec<Conv> {
        let plain = Conv::plain([5, 6], [3, 2]);
        vec![
            plain,
            Conv { batch: 3, channels: 2, filters: 4, ..plain },
            Conv { groups: 3, channels: 2, filters: 2, batch: 2, ..plain },
            Conv { groups: 4, before: [1, 1], after: [1, 1], ..plain },
            Conv { stride: [2, 3], before: [2, 1], after: [0, 3], filters: 9, ..plain },
            Conv { dilation: [2, 3], before: [2, 2], after: [2, 2], batch: 2, ..plain },
            Conv { window: [1, 1], channels: 5, filters: 6, batch: 2, ..plain },
            Conv { window: [1, 1], stride: [2, 2], channels: 2, ..plain },
            Conv { window: [5, 6], filters: 3, ..plain },
            Conv { window: [1, 1], before: [3, 3], after: [3, 3], ..plain },
            Conv { image: [1, 40], window: [1, 9], before: [0, 4], after: [0, 4], channels: 3, ..plain },
            Conv { window: [6, 2], ..plain },
            Conv { batch: 0, ..plain },
            Conv { filters: 0, ..plain },
            Conv { channels: 0, filters: 2, ..plain },
            Conv { image: [0, 3], window: [1, 1], before: [1, 1], after: [1, 1], batch: 2, ..plain },
            // More than one strip.
            Conv { image: [90, 90], window: [5, 5], channels: 3, filters: 2, before: [2, 2], after: [2, 2], ..plain },
        ]
    }

    #[test]
    fn convolutions_are_as_defined_in_every_carrier() {
        for conv in kinds() {
            let [images, filters] = conv.lens();
            let (images, filters) = (numbers(images, 1), numbers(filters, 77));
            let wanted = by_definition(&conv, &images, &filters);
            assert_eq!(wanted.len(), conv.len_out());
            for bits in [7, 16, 32, 64, 100, 190, 254] {
                let ring = Ring::of(bits);
                let [x, w] = [&images, &filters].map(|words| Vector::from_u64s(ring, words));
                let made = Vector::convolve(&x, &w, &conv);
                let low = Ring::of(bits.min(64));
                assert_eq!(made.convert(low).to_u64s(), Vector::from_u64s(low, &wanted).to_u64s(), "{conv:?} {bits}");
                let shape = Vector::convolve(&x, &Vector::shape(ring, w.len()), &conv);
                assert!(shape.is_shape() && shape.len() == made.len());
            }
        }
    }

    #[test]
    fn products_of_patches_by_their_positions_are_the_same() {
        for conv in kinds().into_iter().filter(|conv| conv.lens()[0] < 1000) {
            let (ring, [images, filters]) = (Ring::of(64), conv.lens());
            let (images, filters) = (numbers(images, 1), numbers(filters, 77));
            let wanted = by_definition(&conv, &images, &filters);
            let padded = Vector::from_u64s(ring, &[&images[..], &[0]].concat());
            let (m, k, n) = (conv.filters, conv.patch(), conv.batch * conv.places());
            let products = (0..conv.groups).map(|group| {
                let own = Vector::from_u64s(ring, &filters[group * m * k..(group + 1) * m * k]);
                Vector::matmul(&own, &padded.gather(&conv.positions(group)), (m, k, n))
            });
            let products: Vec<Vector> = products.collect();
            let all = Vector::concat(&products.iter().collect::<Vec<_>>());
            assert_eq!(all.gather(&conv.order()).to_u64s(), wanted, "{conv:?}");
        }
    }
}
