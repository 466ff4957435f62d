//! Cheaters: links that change messages, and parties that follow the protocol with wrong values.
//!
//! | file | cheater |
//! |---|---|
//! | `offline` | one message in the making of correlations is changed, exchanged, held back or cut off |
//! | `online` | one message of a program is changed in these ways; also in programs on real correlations |
//! | `lies` | sends, or uses, a wrong value at one point of a protocol, and cancels the error if possible |
//! | `apart` | sends one peer other inputs and other shares than the rest |
//! | `bits` | uses wrong bits with MACs, or a different Delta for each peer |
//! | `numbers` | has numbers that differ from their bits, or sends wrong sums of them |
//! | `forgeries` | the best known forgeries of openings, counted |
//! | `guesses` | guesses a secret bit: the result of a check may reveal that bit, and no other one |
//! | `triples` | deviates in every form of multiplication triples |
//! | `pools` | cheats in a session whose correlations another one has made: the keys of the pool end |
//! | `sessions` | cheats in any way: honest parties' keys are unusable afterwards |
//! | `tails` | tells two lies that pass if a coin was guessed; counted for short keys |
//!
//! At every honest party a run ends in an error, or its results are right. Results are judged by plain values;
//! correlations are put together from all parties' shares, with their tags. Links end a run in which all parties wait.

mod apart;
mod bits;
mod forgeries;
mod guesses;
mod lies;
mod numbers;
mod offline;
mod online;
mod outcomes;
mod pools;
mod sessions;
mod tails;
mod triples;
