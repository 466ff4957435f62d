//! Macros that compile a protocol once, in its own crate.
//!
//! The body of an `async fn` is compiled again wherever it is awaited, generic or not, and so is everything that it
//! awaits. Code that runs programs would compile every protocol of every family again, several times. Behind a function
//! that returns a boxed future, the body is compiled where that function is.

use std::future::Future;
use std::pin::Pin;

use quorate_engine::Result;

/// The future of a protocol that was compiled in another crate.
pub type Local<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

/// Defines methods of an `impl` for `$this` whose futures are compiled here. Each body is an expression of the sharing,
/// the context and the arguments. Arguments are `val` of a type without references, `at` for one reference, `maybe` for
/// an `Option` of one, or `all` for a slice of references.
///
/// ```ignore
/// impl Gadgets for Rss {
///     compiled_here! { Rss:
///         fn lt(s, ctx, at x: Values, at y: Values, val width: Width) -> Packed { compare::lt(s, ctx, x, y, width) }
///     }
/// }
/// ```
#[macro_export]
macro_rules! compiled_here {
    ($this:ty: $(
        $(#[$meta:meta])*
        fn $name:ident($s:ident, $ctx:ident $(, $kind:ident $arg:ident: $type:ty)* $(,)?) -> $out:ty { $future:expr }
    )*) => { $(
        $(#[$meta])*
        async fn $name(
            &self,
            ctx: &quorate_engine::Ctx
            $(, $arg: $crate::here_type!($kind $type))*
        ) -> quorate_engine::Result<$out> {
            #[inline(never)]
            fn here<'a>(
                $s: &'a $this,
                $ctx: &'a quorate_engine::Ctx
                $(, $arg: $crate::here_type!('a $kind $type))*
            ) -> $crate::here::Local<'a, $out> {
                Box::pin($future)
            }
            here(self, ctx $(, $arg)*).await
        }
    )* };
}

/// The type of an argument of [`compiled_here!`].
#[doc(hidden)]
#[macro_export]
macro_rules! here_type {
    (val $type:ty) => { $type };
    (at $type:ty) => { &$type };
    (maybe $type:ty) => { Option<&$type> };
    (all $type:ty) => { &[&$type] };
    ($a:lifetime val $type:ty) => { $type };
    ($a:lifetime at $type:ty) => { &$a $type };
    ($a:lifetime maybe $type:ty) => { Option<&$a $type> };
    ($a:lifetime all $type:ty) => { &$a [&$a $type] };
}

/// Implements [`Functions`](crate::Functions) for a sharing with the default bodies, compiled here, or with look-ups of
/// its own. Look-ups are functions of the sharing, the context, the numbers and the table. Two more arguments give the
/// largest number of entries of a table for a real function and, if that is smaller, for a quotient of integers.
#[macro_export]
macro_rules! functions_here {
    ($this:ty, $values:ty, $bits:ty) => {
        $crate::functions_here! { $this, $values, $bits, $crate::lookup::lookup, $crate::lookup::lookup_bit, 0 }
    };
    ($this:ty, $values:ty, $bits:ty, $lookup:expr, $lookup_bit:expr, $most_entries:expr) => {
        $crate::functions_here! { $this, $values, $bits, $lookup, $lookup_bit, $most_entries, $most_entries }
    };
    ($this:ty, $values:ty, $bits:ty, $lookup:expr, $lookup_bit:expr, $most_entries:expr, $most_quotients:expr) => {
        impl $crate::Functions for $this {
            fn most_entries(&self) -> usize {
                $most_entries
            }

            fn most_quotients(&self) -> usize {
                $most_quotients
            }

            $crate::lookups_here! { $this, lookup, $values, $values, $lookup }
            $crate::lookups_here! { $this, lookup_bit, $values, $bits, $lookup_bit }
            $crate::compiled_here! { $this:
                fn sigmoid(s, ctx, at x: $values, val frac: u32) -> $values { $crate::real::sigmoid(s, ctx, x, frac) }
                fn tanh(s, ctx, at x: $values, val frac: u32) -> $values { $crate::real::tanh(s, ctx, x, frac) }
                fn gelu(s, ctx, at x: $values, val frac: u32) -> $values { $crate::real::gelu(s, ctx, x, frac) }
                fn exp(s, ctx, at x: $values, val frac: u32) -> $values { $crate::real::exp(s, ctx, x, frac) }
                fn log(s, ctx, at x: $values, val fracs: (u32, u32)) -> $values { $crate::real::log(s, ctx, x, fracs) }
                fn sqrt(s, ctx, at x: $values, val fracs: (u32, u32), val argument_bits: u32) -> $values {
                    $crate::real::sqrt(s, ctx, x, fracs, argument_bits)
                }
                fn rsqrt(s, ctx, at x: $values, val fracs: (u32, u32)) -> $values {
                    $crate::real::rsqrt(s, ctx, x, fracs)
                }
                fn reciprocal(s, ctx, at x: $values, val fracs: (u32, u32)) -> $values {
                    $crate::real::reciprocal(s, ctx, x, fracs)
                }
                fn divide(s, ctx, at x: $values, at y: $values, val up: u32, val quotient_bits: u32) -> $values {
                    $crate::real::divide(s, ctx, x, y, up, quotient_bits)
                }
                fn softmax(s, ctx, at x: $values, at of: $crate::real::Softmax) -> $values {
                    $crate::real::softmax(s, ctx, x, of)
                }
            }
        }
    };
}

/// Defines a look-up by a function, compiled here.
#[doc(hidden)]
#[macro_export]
macro_rules! lookups_here {
    ($this:ty, $name:ident, $values:ty, $out:ty, $with:expr) => {
        async fn $name(
            &self,
            ctx: &quorate_engine::Ctx,
            x: &$values,
            table: &$crate::lookup::Lookup,
        ) -> quorate_engine::Result<$out> {
            #[inline(never)]
            fn here<'a>(
                s: &'a $this,
                ctx: &'a quorate_engine::Ctx,
                x: &'a $values,
                table: &'a $crate::lookup::Lookup,
            ) -> $crate::here::Local<'a, $out> {
                Box::pin($with(s, ctx, x, table))
            }
            here(self, ctx, x, table).await
        }
    };
}

/// Defines the gadgets that few families override, with their default bodies, compiled here.
#[macro_export]
macro_rules! gadgets_here {
    ($this:ty, $values:ty, $bits:ty) => {
        $crate::compiled_here! { $this:
            fn bit_to_ring(s, ctx, at x: $bits, val ring: quorate_ring::Ring) -> $values {
                $crate::convert::bits_to_ring(s, ctx, x, ring)
            }
            fn assert_one_hot(s, ctx, at x: $values, val axis: quorate_engine::Axis) -> () {
                $crate::one_hot::assert_one_hot(s, ctx, x, axis)
            }
            fn int_quotient(s, ctx, at x: $values, at y: $values, val known: $crate::int_div::Known) -> $values {
                $crate::int_div::quotient(s, ctx, x, y, known)
            }
            fn int_remainder(
                s, ctx, at x: $values, at y: $values, at quotient: $values, val known: $crate::int_div::Known
            ) -> $values {
                $crate::int_div::remainder(s, ctx, x, y, quotient, known)
            }
            fn floor_div(s, ctx, at x: $values, at divisors: [i128], val range: $crate::floor_div::Range) -> $values {
                $crate::floor_div::floor_div(s, ctx, x, divisors, range)
            }
            fn best(
                s, ctx,
                val field: $crate::extremum::Field<$values>, val best: $crate::extremum::Best, val width: $crate::Width,
            ) -> $crate::extremum::Field<$values> {
                $crate::extremum::tournament(s, ctx, field, best, width)
            }
        }

        async fn scale(
            &self,
            ctx: &quorate_engine::Ctx,
            x: &$values,
            by: &$crate::scale::Scale<'_>,
        ) -> quorate_engine::Result<$values> {
            #[inline(never)]
            fn here<'a>(
                s: &'a $this,
                ctx: &'a quorate_engine::Ctx,
                x: &'a $values,
                by: &'a $crate::scale::Scale<'a>,
            ) -> $crate::here::Local<'a, $values> {
                Box::pin($crate::scale::scale(s, ctx, x, by))
            }
            here(self, ctx, x, by).await
        }
    };
}
