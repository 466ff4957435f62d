//! Copies of runs of bits between any positions.

/// Copies `len` bits from bit `from` of `source` to bit `to` of `target`, whose bits there must be zero.
pub(super) fn or_bits(target: &mut [u64], to: usize, source: &[u64], from: usize, len: usize) {
    if len == 0 {
        return;
    }
    if to.is_multiple_of(64) {
        copy_to_word(target, to / 64, source, from, len);
        return;
    }
    // Bring the target to a word boundary, then continue word by word.
    let head = (64 - to % 64).min(len);
    target[to / 64] |= load(source, from, head) << (to % 64);
    if len > head {
        copy_to_word(target, to / 64 + 1, source, from + head, len - head);
    }
}

/// Copies a bit to `len` bits from bit `to` of `target` on, which must be zero.
pub(super) fn or_bit(target: &mut [u64], to: usize, bit: u64, len: usize) {
    let (word, end) = (bit.wrapping_neg(), to + len);
    for (at, target) in target.iter_mut().enumerate().take(end.div_ceil(64)).skip(to / 64) {
        let from = if at * 64 < to { u64::MAX << (to % 64) } else { u64::MAX };
        let until = if end < at * 64 + 64 { (1 << (end % 64)) - 1 } else { u64::MAX };
        *target |= word & from & until;
    }
}

/// Copies bits to the start of word `at`; bits beyond the copied ones in the last word are kept.
fn copy_to_word(target: &mut [u64], at: usize, source: &[u64], from: usize, len: usize) {
    let (whole, rest) = (len / 64, len % 64);
    let (word, shift) = (from / 64, from % 64);
    if shift == 0 {
        target[at..at + whole].copy_from_slice(&source[word..word + whole]);
    } else {
        let pairs = source[word..word + whole + usize::from(whole > 0)].windows(2);
        for (to, pair) in target[at..at + whole].iter_mut().zip(pairs) {
            *to = pair[0] >> shift | pair[1] << (64 - shift);
        }
    }
    if rest > 0 {
        target[at + whole] |= load(source, from + 64 * whole, rest);
    }
}

/// Returns `len` bits (1 to 64) from bit `from` on, zeros above.
fn load(source: &[u64], from: usize, len: usize) -> u64 {
    let (word, shift) = (from / 64, from % 64);
    let low = source[word] >> shift;
    let value = if shift + len > 64 { low | source[word + 1] << (64 - shift) } else { low };
    value & (u64::MAX >> (64 - len))
}
