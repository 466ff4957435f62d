//! The malicious form.

mod gadgets;
