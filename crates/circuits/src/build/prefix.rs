//! Carries by prefix networks: pairs (generate, propagate) combined by
//! (g, p) after (g', p') = (g xor p g', p p'), where g and p exclude each other.

use super::{Bit, Builder};

/// A span of positions: whether it generates a carry, and whether it propagates one.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub generate: Bit,
    pub propagate: Bit,
}

impl Builder {
    /// Returns the carries out of n positions, by Sklansky's network (1960).
    ///
    /// The carry in is a position of its own below the others, whose generate is available at once. So each half that
    /// gives a carry is shallower by one than the half that takes it: the depth is ceil(log2(n + 1)), rather than 1 +
    /// ceil(log2 n).
    pub(super) fn carries(&mut self, carry: Bit, spans: &[Span]) -> Vec<Bit> {
        let mut spans = with_carry(carry, spans);
        let mut width = 1;
        while width < spans.len() {
            for i in (0..spans.len()).filter(|i| i & width != 0) {
                spans[i] = self.joined(spans[i], spans[(i & !(width - 1)) - 1]);
            }
            width *= 2;
        }
        spans[1..].iter().map(|span| span.generate).collect()
    }

    /// Returns the carry out of the last position only, by a tree of equal depth.
    pub(super) fn carry_out(&mut self, carry: Bit, spans: &[Span]) -> Bit {
        let spans = with_carry(carry, spans);
        self.tree(&spans).generate
    }

    fn tree(&mut self, spans: &[Span]) -> Span {
        if let [one] = spans {
            return *one;
        }
        // The lower part is the full one; its propagates are not needed.
        let (low, high) = spans.split_at(spans.len().next_power_of_two() / 2);
        let (low, high) = (self.tree(low), self.tree(high));
        self.joined(high, low)
    }

    fn joined(&mut self, high: Span, low: Span) -> Span {
        let passed = self.and(high.propagate, low.generate);
        Span { generate: self.xor(high.generate, passed), propagate: self.and(high.propagate, low.propagate) }
    }
}

fn with_carry(carry: Bit, spans: &[Span]) -> Vec<Span> {
    let lowest = Span { generate: carry, propagate: Bit::FALSE };
    std::iter::once(lowest).chain(spans.iter().copied()).collect()
}
