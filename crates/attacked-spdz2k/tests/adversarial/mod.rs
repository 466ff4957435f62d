//! Cheaters: links that change messages, and parties that follow the protocol with wrong values.
//!
//! | file | cheater |
//! |---|---|
//! | `offline` | one message in the making of correlations is changed, exchanged, held back or cut off |
//! | `online` | one message of a program is changed in these ways; also in programs on real correlations |
//! | `lies` | sends, or uses, something else at one point of a protocol, and cancels what it can |
//! | `apart` | sends one peer other inputs and other shares than the rest |
//! | `bits` | takes other bits with MACs than it should, or another Delta for each peer |
//! | `numbers` | has numbers that are not what their bits say, or sends other sums of them |
//! | `forgeries` | the best known forgeries of openings, counted |
//! | `guesses` | guesses a secret bit: whether a check passes may show that bit, and no other one |
//! | `triples` | deviates in every form of multiplication triples |
//! | `sessions` | cheats in any way: what the honest parties' keys do afterwards |
//! | `tails` | makes two lies that pass if a coin was guessed, counted for short keys |
//!
//! At every honest party a run ends in an error, or its results are right. Results are judged by plain values;
//! correlations are put together from all parties' shares, with their tags. No run waits for ever: links report when
//! all parties wait.

mod apart;
mod bits;
mod forgeries;
mod guesses;
mod lies;
mod numbers;
mod offline;
mod online;
mod outcomes;
mod sessions;
mod tails;
mod triples;
