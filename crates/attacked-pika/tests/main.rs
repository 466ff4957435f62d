//! The malicious form: no party's deviation leads to a wrong result, and views reveal nothing.

extern crate quorate_attacked_pika as quorate_pika;

#[path = "../../pika/tests/common/mod.rs"]
mod common;
mod malicious;
