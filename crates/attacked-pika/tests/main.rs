//! The malicious form: nobody's deviation leads to a wrong result, and what parties see shows nothing.

extern crate quorate_attacked_pika as quorate_pika;

#[path = "../../pika/tests/common/mod.rs"]
mod common;
mod malicious;
