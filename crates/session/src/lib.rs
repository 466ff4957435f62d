//! quorate-session
