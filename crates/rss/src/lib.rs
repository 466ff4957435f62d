//! quorate-rss
