//! Advice on results that lose digits: what to do so that they keep them.

use crate::dtype::Dtype;

/// A way to keep the digits of small results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keep {
    /// State the range of the operands.
    Known,
    /// Compute something else than this function.
    Instead {
        /// The name of the function.
        of: &'static str,
        /// The exponent of the factor by which that is larger, a power of two.
        more: u32,
        /// The exponent of the factor of the powers whose shares are computed in place of a softmax.
        up: u32,
    },
    /// Leave the dtype out: a function does not take more fractional bits.
    NoDtype,
    /// Multiply an operand of the operation.
    Multiple {
        /// The exponent of the factor, a power of two.
        more: u32,
    },
    /// State a dtype, or multiply.
    Dtype {
        /// The dtype, with more fractional bits.
        dtype: Dtype,
        /// The exponent of the factor, a power of two; `None` where no factor is at hand.
        more: Option<u32>,
    },
}

impl Keep {
    /// Returns the advice as text.
    pub(crate) fn advice(self, op: &str) -> String {
        let multiple = |more: u32| {
            let what = match op {
                "divide" | "floor_div" | "scale" => format!("multiply what is divided by 2**{more} first"),
                "reciprocal" => format!("divide its argument by 2**{more} first"),
                "rsqrt" => format!("divide its argument by 4**{more} first"),
                _ => format!("multiply a factor by 2**{more} first"),
            };
            format!("{what}, and divide results by 2**{more} again where they are large")
        };
        match self {
            Keep::Known => {
                "say how large what it works on can be, x.clip(low, high) or bound= of the inputs, so that no \
                            bits are kept for more"
                    .into()
            }
            Keep::Instead { of, more, up } => instead(of, more, up),
            Keep::NoDtype => "leave dtype= of the inputs out, so that results grow".into(),
            Keep::Multiple { more } => multiple(more),
            Keep::Dtype { dtype, more: Some(more) } => {
                format!("give what it works on more fractional bits, x.astype(qr.{dtype}), or {}", multiple(more))
            }
            Keep::Dtype { dtype, more: None } => {
                format!("give what it works on more fractional bits, x.astype(qr.{dtype})")
            }
        }
    }
}

/// Returns what to compute in place of a function of small results, as text.
fn instead(of: &str, more: u32, up: u32) -> String {
    let power = |bits: u32| format!("{:.6}", f64::from(bits) * std::f64::consts::LN_2);
    let larger = match of {
        "exp" => format!("add {} to its argument, which multiplies results by 2**{more}", power(more)),
        "sigmoid" => format!(
            "compute qr.exp(np.minimum(x, 0) + {}) * qr.sigmoid(abs(x)), which is 2**{more} times as large",
            power(more)
        ),
        "log" => return "compute z = x - 1 and z - z * z / 2 + z * z * z / 3 where x is so near to 1".into(),
        "tanh" => return "functions take 16 fractional bits: compute x - x * x * x / 3 where x is so small".into(),
        "gelu" => {
            return "functions take 16 fractional bits: compute x / 2 + 0.3989423 * x * x where x is so small".into();
        }
        _ => {
            let raised = if up == 0 { String::new() } else { format!(" + {}", power(up)) };
            format!(
                "compute h = qr.exp(x - x.max(){raised}) and h * 2**{more} / h.sum(), with the axis and keepdims=True \
                 where x has several axes, which is 2**{more} times as large"
            )
        }
    };
    format!("{larger}, and divide results by 2**{more} again where they are large")
}
