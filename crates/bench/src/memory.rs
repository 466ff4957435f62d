//! The predicted memory of a cell, before it is measured.

use quorate_engine::Result;
use quorate_gadgets::{Choices, Family};
use quorate_protocols::Visit;
use quorate_ring::Ring;

use crate::cell::{Cell, Workload};
use crate::group::dry_run;
use crate::set::Set;
use crate::task::Task;

/// Returns the approximate bytes that all parties of a cell hold at once: operands, results, and the stock while its
/// parts are put together.
///
/// # Errors
/// Those of a dry run.
pub(crate) fn memory_of(cell: &Cell, choices: &Choices) -> Result<f64> {
    match cell.runs() {
        Set::Of(protocol) => protocol.chosen(choices).visit(Memory(*cell, choices)),
        Set::Transfers => Ok(of_transfers(cell)),
    }
}

struct Memory<'c>(Cell, &'c Choices);

impl Visit for Memory<'_> {
    type Out = Result<f64>;

    fn family<F: Family>(self) -> Result<f64> {
        let Memory(cell, choices) = self;
        let sharing = F::dry(cell.parties, 0, choices)?;
        let demand = dry_run::<F>(Task { cell, rounds: 1 }, 0, cell.parties, choices)?;
        let stock: u64 = demand.totals().iter().map(|(kind, &len)| sharing.stock_bytes(kind, len)).sum();
        let values = 3 * sharing.value_bytes(cell.bits, cell.operand_len());
        Ok(cell.parties as f64 * (values + 2 * stock) as f64)
    }
}

/// Returns the bytes of transfers. Chunks of OTs are used up as they are made; triples stay.
fn of_transfers(cell: &Cell) -> f64 {
    let each = match cell.workload {
        Workload::OtCot | Workload::OtCotMalicious => 0.0,
        Workload::OtBitTriples => 3.0 / 8.0,
        _ => 3.0 * Ring::of(cell.bits).carrier().bytes() as f64,
    };
    2.0 * each * cell.batch as f64
}
