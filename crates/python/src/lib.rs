//! The native module of the Python package: it converts arguments and types, and contains no logic.

mod arrays;
mod bench;
mod campaigns;
mod circuit;
mod costs;
mod errors;
mod herald;
mod hold;
mod kept;
mod operands;
mod pools;
#[cfg(feature = "replay")]
mod replay;
mod session;
mod shadow;
mod tools;
mod turns;

use pyo3::prelude::*;
use quorate_ring::memory;

/// Keeps a reserve, so that a run that gets no more memory ends in an exception and does not abort the process.
#[global_allocator]
static ALLOCATOR: memory::Careful = memory::Careful;

#[pymodule]
fn _quorate(module: &Bound<'_, PyModule>) -> PyResult<()> {
    memory::keep_freed();
    memory::keep_reserve();
    module.add_class::<session::Session>()?;
    module.add_class::<herald::Request>()?;
    module.add_class::<bench::Bench>()?;
    module.add_class::<circuit::Circuit>()?;
    module.add_class::<pools::Content>()?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("WIRE_VERSION", quorate_net::WIRE_VERSION)?;
    module.add_function(wrap_pyfunction!(tools::keygen, module)?)?;
    module.add_function(wrap_pyfunction!(tools::inherited_sockets, module)?)?;
    module.add_function(wrap_pyfunction!(tools::read_config, module)?)?;
    module.add_function(wrap_pyfunction!(tools::check_network, module)?)?;
    module.add_function(wrap_pyfunction!(tools::check_protocol, module)?)?;
    module.add_function(wrap_pyfunction!(tools::families, module)?)?;
    module.add_function(wrap_pyfunction!(tools::recalibrate, module)?)?;
    module.add_function(wrap_pyfunction!(pools::pool_levels, module)?)?;
    module.add_function(wrap_pyfunction!(pools::rebind_pool, module)?)?;
    #[cfg(feature = "replay")]
    module.add_class::<replay::Recording>()?;
    module.add("OPTIMISED", !cfg!(debug_assertions))?;
    Ok(())
}
