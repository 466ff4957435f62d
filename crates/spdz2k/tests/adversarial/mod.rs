//! Cheaters: links that lie, and parties that follow the protocol with other values than they should.
//!
//! | file | cheater |
//! |---|---|
//! | `offline` | one message in the making of correlations is changed, exchanged, held back or cut off |
//! | `online` | the same of programs; of programs on real correlations, too |
//! | `lies` | says, or takes, something else at one point of a protocol, and makes up for what it can |
//! | `apart` | tells one peer other inputs and other shares than the rest |
//! | `bits` | takes other bits with MACs than it should, or another Delta for each peer |
//! | `numbers` | has numbers that are not what their bits say, or says otherwise what they add up to |
//! | `forgeries` | the best known forgeries of openings, counted |
//! | `guesses` | guesses a secret bit: whether a check passes may tell it that one, and no other one |
//! | `triples` | the same of every form of multiplication triples |
//! | `sessions` | whatever it did: what the honest parties' keys do afterwards |
//! | `tails` | makes two lies that pass where a coin was guessed, counted for short keys |
//!
//! At every honest party a run ends in an error, or its results are right, judged by plain values; correlations are put
//! together from all parties' shares, with their tags. Nobody waits for ever: links tell where all wait.

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
