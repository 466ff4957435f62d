//! The hash table of existing gates, so that no gate is made twice.

use super::Node;

/// Node numbers in an open-addressing hash table; 0, which is no gate, marks an empty place.
#[derive(Default)]
pub(super) struct Known {
    places: Vec<u32>,
    len: usize,
}

/// The least size of the table; as all sizes, a power of two.
const LEAST: usize = 64;

impl Known {
    /// Returns the number of this gate among `nodes`.
    pub fn find(&self, nodes: &[Node], gate: Node) -> Option<u32> {
        let mask = self.places.len().checked_sub(1)?;
        let mut place = hash(gate) & mask;
        loop {
            match self.places[place] {
                0 => return None,
                index if nodes[index as usize] == gate => return Some(index),
                _ => place = (place + 1) & mask,
            }
        }
    }

    /// Enters the last of `nodes`, which is new.
    pub fn insert(&mut self, nodes: &[Node]) {
        if 2 * (self.len + 1) > self.places.len() {
            let size = (2 * self.places.len()).max(LEAST);
            let before = std::mem::replace(&mut self.places, vec![0; size]);
            before.into_iter().filter(|&index| index != 0).for_each(|index| self.put(nodes, index));
        }
        self.put(nodes, nodes.len() as u32 - 1);
        self.len += 1;
    }

    fn put(&mut self, nodes: &[Node], index: u32) {
        let mask = self.places.len() - 1;
        let mut place = hash(nodes[index as usize]) & mask;
        while self.places[place] != 0 {
            place = (place + 1) & mask;
        }
        self.places[place] = index;
    }
}

fn hash(gate: Node) -> usize {
    let (kind, a, b) = match gate {
        Node::Zero | Node::Input => (0, 0, 0),
        Node::Xor(a, b) => (1, a, b),
        Node::And(a, b) => (2, a.0, b.0),
    };
    let word = (u64::from(a) << 32 | u64::from(b)).wrapping_add(kind << 62);
    (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::super::Bit;
    use super::*;

    #[test]
    fn every_gate_is_found_and_no_other() {
        let mut nodes = vec![Node::Zero];
        let mut known = Known::default();
        let gates = (0..40u32).flat_map(|a| (a + 1..60).map(move |b| (a, b)));
        for (a, b) in gates.clone() {
            for gate in [Node::Xor(a, b), Node::And(Bit(a), Bit(b))] {
                assert_eq!(known.find(&nodes, gate), None);
                nodes.push(gate);
                known.insert(&nodes);
                assert_eq!(known.find(&nodes, gate), Some(nodes.len() as u32 - 1));
            }
        }
        for (index, &gate) in nodes.iter().enumerate().skip(1) {
            assert_eq!(known.find(&nodes, gate), Some(index as u32));
        }
        assert_eq!(known.find(&nodes, Node::Xor(60, 61)), None);
    }
}
