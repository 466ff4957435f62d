//! Correlations of one session in another one, as pools keep them.

use quorate_gadgets::testing::pools;
use quorate_rss::Rss;

#[test]
fn another_session_gives_the_same_results() {
    for n in [3, 5] {
        pools::another_session_gives_the_same_results::<Rss>(n, &["RandBit", "EdaBit", "TruncMask", "WideEdaBit"]);
    }
}
