//! What the protocols of `pika` cost, by formula.
