//! Coefficients of piecewise cubics, made by `tools/real_tables.py`.

mod divisor;
mod exp2;
mod gelu;
mod log;
mod reciprocal;
mod rsqrt;
mod sigmoid;
mod sqrt;
mod tanh;

pub(super) use divisor::DIVISOR;
pub(super) use exp2::EXP2;
pub(super) use gelu::GELU;
pub(super) use log::LOG;
pub(super) use reciprocal::RECIPROCAL;
pub(super) use rsqrt::RSQRT;
pub(super) use sigmoid::SIGMOID;
pub(super) use sqrt::SQRT;
pub(super) use tanh::TANH;

/// A function as a cubic for each segment of its argument.
pub(super) struct Table {
    /// G: the number of bits after the point of the result.
    pub scale: u32,
    /// T1, T2, T3: the bits after the point that the linear, the square and the cubic term use.
    pub after_point: [u32; 3],
    /// log2 of a segment's width.
    pub segment: i32,
    /// c0..c3 of each segment; c_j has G - j T_j bits after the point.
    pub rows: &'static [[i64; 4]],
}
