//! quorate-gadgets
