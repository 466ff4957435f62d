//! Views of protocols by keys: comparison, truncation, look-up. Domains have at most four points, so that a key is a
//! root and a correction of its leaves. A party lacks the other one's root, whose hash is enumerated.

use std::sync::Arc;

use quorate_gadgets::Functions;
use quorate_gadgets::lookup::{Entries, Lookup, Operand};

use super::*;

/// The top bit of a number of three bits, by a key of two.
#[test]
fn top_bits_by_keys() {
    let (k, n, row) = (3, 2, Layout::Rows(1));
    for (learns, owner) in TOLD.into_iter().flat_map(|told| [0, 1, 2].map(|owner| (told, owner))) {
        if learns.is_some_and(|to| to.is_none_or(|to| to == owner)) {
            continue;
        }
        let inputs = [(owner, element(k))];
        let draws = vec![(1, element(k)), root(1, n), (1, row), (0, element(k)), root(0, n)];
        let dealt = [((2, 1), row)].into_iter().chain(corrections(n));
        let messages = dealt.chain(both_ways(element(k))).collect();
        let (draws, messages) = lists(&inputs, (draws, messages), learns, row);
        let (name, inputs) = ("top bit by a key", &inputs[..]);
        let output = |values: &[u64]| values[0] >> 2;
        let case = Case { name, inputs, draws: &draws, messages: &messages, output: &output, learns };
        case.check(async |s, ctx, x| {
            s.set_comparisons(Comparisons::Keys);
            Ok(Shared::Bits(s.msb(ctx, x[0].values()).await?))
        });
    }
}

#[test]
fn equality_by_keys() {
    let (k, row) = (2, Layout::Rows(1));
    for (learns, owner) in [None, Some(Some(0)), Some(Some(1)), Some(Some(2))].into_iter().zip([1, 2, 0, 1]) {
        let inputs = [(owner, element(k))];
        let draws = vec![(1, element(k)), root(1, k), (0, element(k)), root(0, k)];
        let messages = corrections(k).into_iter().chain(both_ways(element(k))).collect();
        let (draws, messages) = lists(&inputs, (draws, messages), learns, row);
        let (name, inputs) = ("equality by a key", &inputs[..]);
        let output = |values: &[u64]| u64::from(values[0] == 0);
        let case = Case { name, inputs, draws: &draws, messages: &messages, output: &output, learns };
        case.check(async |s, ctx, x| {
            s.set_comparisons(Comparisons::Keys);
            Ok(Shared::Bits(s.eqz(ctx, x[0].values()).await?))
        });
    }
}

/// floor(x / 2) for all numbers of two bits, with the bit that becomes an element.
#[test]
fn truncation_by_keys() {
    let (k, row) = (2, Layout::Rows(1));
    let inputs = [(1, element(k))];
    let of_first = [(1, element(k)), root(1, k), root(1, 1), (1, element(k))];
    // v over Z_2^k takes a random bit, whose flip parties 0 and 1 draw.
    let bit = [(1, element(k)), (1, row), (0, row), (2, row)];
    let draws = of_first.into_iter().chain([(0, element(k)), root(0, k), root(0, 1)]).chain(bit).collect();
    let dealt = [((2, 1), element(k))].into_iter().chain(corrections(k)).chain(corrections(1));
    let messages = dealt.chain(both_ways(element(k))).chain([((2, 1), element(k))]).chain(both_ways(row)).collect();
    let (draws, messages) = lists(&inputs, (draws, messages), None, element(k));
    let (name, inputs, output) = ("truncation by keys", &inputs[..], |_: &[u64]| 0);
    let case = Case { name, inputs, draws: &draws, messages: &messages, output: &output, learns: None };
    case.check(async |s, ctx, x| {
        s.set_comparisons(Comparisons::Keys);
        Ok(Shared::Values(s.trunc_exact(ctx, x[0].values(), 1).await?))
    });
}

/// floor by bounded truncation, for all numbers of three bits, including those for which it is wrong.
#[test]
fn bounded_truncation_by_keys() {
    let (k, row) = (3, Layout::Rows(1));
    let inputs = [(0, element(k))];
    let of_first = [(1, element(k)), root(1, 1), (1, element(k)), (1, element(1))];
    let bit = [(1, element(k)), (1, row), (0, row), (2, row)];
    let draws = of_first.into_iter().chain([(0, element(k)), root(0, 1)]).chain(bit).collect();
    let dealt = [((2, 1), element(k)), ((2, 1), element(1))].into_iter().chain(corrections(1));
    let messages = dealt.chain(both_ways(element(k))).chain([((2, 1), element(k))]).chain(both_ways(row)).collect();
    let (draws, messages) = lists(&inputs, (draws, messages), None, element(k));
    let (name, inputs, output) = ("bounded truncation by a key", &inputs[..], |_: &[u64]| 0);
    let case = Case { name, inputs, draws: &draws, messages: &messages, output: &output, learns: None };
    case.check(async |s, ctx, x| {
        s.set_comparisons(Comparisons::Keys);
        Ok(Shared::Values(s.trunc_bounded(ctx, x[0].values(), 1).await?))
    });
}

/// A table of four entries of two bits.
#[test]
fn lookups() {
    let (n, k) = (2, 2);
    let values = [3, 0, 2, 1];
    for (learns, owner) in [None, Some(Some(0)), Some(Some(1)), Some(Some(2))].into_iter().zip([0, 1, 2, 0]) {
        let inputs = [(owner, element(n))];
        let of_first = [(1, element(n)), root(1, n), (1, element(k)), (1, element(k)), (1, element(k))];
        let draws = of_first.into_iter().chain([(0, element(n)), root(0, n), (0, element(k))]).collect();
        let dealt = [((2, 1), element(k)); 2].into_iter().chain(corrections(n));
        let messages = dealt.chain(both_ways(element(n))).chain(both_ways(element(k))).collect();
        let (draws, messages) = lists(&inputs, (draws, messages), learns, element(k));
        let output = |inputs: &[u64]| values[inputs[0] as usize];
        let (name, inputs) = ("look-up", &inputs[..]);
        let case = Case { name, inputs, draws: &draws, messages: &messages, output: &output, learns };
        let entries = Arc::new(Entries::new(Vector::from_u64s(Ring::of(k), &values)));
        case.check(async |s, ctx, x| {
            let table = Lookup { entries: entries.clone(), first: 0, operand: Operand::Within };
            Ok(Shared::Values(s.lookup(ctx, x[0].values(), &table).await?))
        });
    }
}
