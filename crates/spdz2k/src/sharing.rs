//! The family as the interface that gadgets use: shares, gadgets and functions are those of the party online.

use quorate_authenticated::{Authenticated, SharedBits, Tagged};
use quorate_circuits::Program;
use quorate_engine::{Axis, Sharing};
use quorate_gadgets::extremum::{Best, Field};
use quorate_gadgets::lookup::Lookup;
use quorate_gadgets::prefix::Pairs;
use quorate_gadgets::real::Softmax;
use quorate_gadgets::scale::Scale;
use quorate_gadgets::{Functions, Gadgets, Sign, Width, floor_div, int_div};
use quorate_ring::Ring;

use crate::party::Spdz2k;

quorate_authenticated::shares_online! { Spdz2k, finer: <Authenticated as Sharing>::FINER }

impl Gadgets for Spdz2k {
    quorate_authenticated::run_online! {
        fn msb(x: &Tagged) -> SharedBits;
        fn lt(x: &Tagged, y: &Tagged, width: Width) -> SharedBits;
        fn eqz(x: &Tagged) -> SharedBits;
        fn bit_decompose(x: &Tagged) -> SharedBits;
        fn bit_to_ring(x: &SharedBits, ring: Ring) -> Tagged;
        fn compose(x: &SharedBits, ring: Ring) -> Tagged;
        fn trunc_exact(x: &Tagged, shift: u32) -> Tagged;
        fn trunc_bounded(x: &Tagged, shift: u32) -> Tagged;
        fn trunc_prob(x: &Tagged, shift: u32) -> Tagged;
        fn convert(x: &Tagged, ring: Ring, sign: Sign) -> Tagged;
        fn carry(pairs: Pairs<SharedBits>) -> SharedBits;
        fn mask(bit: &SharedBits, x: &Tagged) -> Tagged;
        fn mux(bit: &SharedBits, x: &Tagged, y: &Tagged) -> Tagged;
        fn assert_one_hot(x: &Tagged, axis: Axis) -> ();
        fn int_quotient(x: &Tagged, y: &Tagged, known: int_div::Known) -> Tagged;
        fn int_remainder(x: &Tagged, y: &Tagged, quotient: &Tagged, known: int_div::Known) -> Tagged;
        fn floor_div(x: &Tagged, divisors: &[i128], range: floor_div::Range) -> Tagged;
        fn scale(x: &Tagged, by: &Scale<'_>) -> Tagged;
        fn best(field: Field<Tagged>, best: Best, width: Width) -> Field<Tagged>;
        fn circuit(program: &Program, inputs: &SharedBits) -> SharedBits;
    }
}

impl Functions for Spdz2k {
    quorate_authenticated::called_online! {
        fn most_entries() -> usize;
        fn most_quotients() -> usize;
    }

    quorate_authenticated::real_functions_online! {}

    quorate_authenticated::run_online! {
        fn softmax(x: &Tagged, of: &Softmax) -> Tagged;
        fn lookup(x: &Tagged, table: &Lookup) -> Tagged;
        fn lookup_bit(x: &Tagged, table: &Lookup) -> SharedBits;
    }
}
