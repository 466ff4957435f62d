//! Functions of numbers with few possible values, as tables of all results.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::dtype::Dtype;
use crate::graph::Graph;
use crate::interval::Interval;
use crate::lookup_table::Table;
use crate::node::{Give, NodeId, Op};
use crate::real::{self, Real};
use crate::reference::int_divide;
use crate::rounded;

/// The function of a table.
#[derive(Clone, Copy, PartialEq)]
enum Function {
    /// A function of arguments with this number of fractional bits.
    Real(Real, u32),
    /// e^x with this number of fractional bits.
    Power(u32),
    /// Quotients of dividends shifted left by this number of bits.
    Divide(u32),
    IntDivide(Give),
}

/// A table of a function of two numbers: the entry of (x, y) is that of `columns` x + y.
pub struct PairTable {
    /// The results.
    pub table: Arc<Table>,
    /// The number of possible second numbers.
    pub columns: i128,
}

impl Graph {
    /// Returns the table of a real function of node `id`, if it has at most `most_entries` entries: its values,
    /// correctly rounded.
    pub fn table(&self, id: NodeId, function: Real, most_entries: usize) -> Option<Arc<Table>> {
        let (node, of) = (self.node(id), self.node(self.node(id).inputs[0]));
        let from = of.dtype.frac();
        let numbers = function.window(of.range(), from, node.dtype);
        has_entries(numbers, most_entries).then(|| {
            kept((Function::Real(function, from), node.dtype, [numbers; 2]), numbers.lo(), || {
                numbers.all().map(|x| function.rounded(x, from, node.dtype)).collect()
            })
        })
    }

    /// Returns the table of e^d, correctly rounded, with `frac` fractional bits, if it has at most `most_entries`
    /// entries. It covers all differences d between a number of node `id`'s operand and a larger one.
    pub fn powers(&self, id: NodeId, frac: u32, most_entries: usize) -> Option<Arc<Table>> {
        let (node, of) = (self.node(id), self.node(self.node(id).inputs[0]));
        let differences = Interval::new(of.range().sub(of.range()).lo(), 0);
        let numbers = real::powers_from(frac, differences, node.dtype.frac());
        has_entries(numbers, most_entries).then(|| {
            kept((Function::Power(frac), node.dtype, [numbers; 2]), numbers.lo(), || {
                numbers.all().map(|x| rounded::exponential(x, node.dtype.frac(), frac)).collect()
            })
        })
    }

    /// Returns the table of all quotients or remainders of the division `id`, if there are at most `most_entries`;
    /// those of fixed point are rounded to the nearest unit.
    pub fn pair_table(&self, id: NodeId, most_entries: usize) -> Option<PairTable> {
        let node = self.node(id);
        let [x, y] = [0, 1].map(|i| self.node(node.inputs[i]).range());
        if x.count().checked_mul(y.count())? > most_entries as u128 {
            return None;
        }
        let dtype = node.dtype;
        let (function, of): (_, Box<dyn Fn(i128, i128) -> i128>) = match node.op {
            Op::Divide => {
                let up = self.quotient_shift(id);
                (Function::Divide(up), Box::new(move |x, y| rounded::fixed_quotient(x, y, up, dtype)))
            }
            Op::IntDivide(division) => {
                (Function::IntDivide(division.give), Box::new(move |x, y| int_divide(division.give, x, y)))
            }
            _ => return None,
        };
        let columns = y.count() as i128;
        let first = x.lo().checked_mul(columns)?.checked_add(y.lo())?;
        let table = kept((function, dtype, [x, y]), first, || {
            x.all().flat_map(|x| y.all().map(move |y| (x, y))).map(|(x, y)| of(x, y)).collect()
        });
        Some(PairTable { table, columns })
    }
}

fn has_entries(numbers: Interval, most: usize) -> bool {
    numbers.count() <= most as u128
}

/// Returns a table. The process keeps it for later calls, as long as all kept tables together have few entries.
fn kept(key: (Function, Dtype, [Interval; 2]), first: i128, entries: impl FnOnce() -> Vec<i128>) -> Arc<Table> {
    type Key = (Function, Dtype, [Interval; 2]);
    static KEPT: Mutex<VecDeque<(Key, Arc<Table>)>> = Mutex::new(VecDeque::new());
    const MOST: usize = 1 << 22;
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let table = match kept.iter().position(|(of, _)| *of == key).and_then(|place| kept.remove(place)) {
        Some((_, table)) => table,
        None => Arc::new(Table::new(first, &entries())),
    };
    kept.push_front((key, table.clone()));
    // The tables used last stay.
    while kept.len() > 1 && kept.iter().map(|(_, table)| table.entries().len()).sum::<usize>() > MOST {
        kept.pop_back();
    }
    table
}
