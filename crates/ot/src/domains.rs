//! The domain separators of this crate's hashes, in one list.

/// The hash of base OT from points to points.
pub(crate) const BASE_POINT: &str = "quorate 2026 ot base point from point v1";
/// The hash of base OT from shared points to keys.
pub(crate) const BASE_KEY: &str = "quorate 2026 ot base key v1";
/// The id of one direction between two parties.
pub(crate) const DIRECTION: &str = "quorate 2026 ot direction v1";
/// From a tree's node to its children (the message under the node as key).
pub(crate) const TREE_CHILDREN: &[u8] = b"quorate/ot/tree/children";
/// From a tree's last node to its leaf.
pub(crate) const TREE_LEAF: &[u8] = b"quorate/ot/tree/leaf";
/// The hash of all leaves.
pub(crate) const TREE_CHECK: &str = "quorate 2026 ot tree check v1";
/// The hash of the columns' digests.
pub(crate) const COLUMN_CHECK: &str = "quorate 2026 ot column check v1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_differ() {
        let all = [BASE_POINT, BASE_KEY, DIRECTION, TREE_CHECK, COLUMN_CHECK];
        for (i, domain) in all.iter().enumerate() {
            assert!(!all[..i].contains(domain), "{domain} is used twice");
        }
        assert_ne!(TREE_CHILDREN, TREE_LEAF);
    }
}
