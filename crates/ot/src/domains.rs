//! The domain separators of this crate's hashes, in one list.

/// Base OT: points to points.
pub(crate) const BASE_POINT: &str = "quorate 2026 ot base point from point v1";
/// Base OT: shared points to keys.
pub(crate) const BASE_KEY: &str = "quorate 2026 ot base key v1";
/// The id of one direction between two parties.
pub(crate) const DIRECTION: &str = "quorate 2026 ot direction v1";
/// A tree's node to its children (message under the node as key).
pub(crate) const TREE_CHILDREN: &[u8] = b"quorate/ot/tree/children";
/// A tree's last node to its leaf.
pub(crate) const TREE_LEAF: &[u8] = b"quorate/ot/tree/leaf";
/// What all leaves hash to.
pub(crate) const TREE_CHECK: &str = "quorate 2026 ot tree check v1";
/// What the columns' digests hash to.
pub(crate) const COLUMN_CHECK: &str = "quorate 2026 ot column check v1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_agree() {
        let all = [BASE_POINT, BASE_KEY, DIRECTION, TREE_CHECK, COLUMN_CHECK];
        for (i, domain) in all.iter().enumerate() {
            assert!(!all[..i].contains(domain), "{domain} is used twice");
        }
        assert_ne!(TREE_CHILDREN, TREE_LEAF);
    }
}
