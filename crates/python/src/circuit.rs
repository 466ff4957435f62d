//! Boolean circuits as Python holds them.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use quorate_circuits::{Circuit as Inner, CircuitError, bristol};
use quorate_ring::Bits;

use crate::errors::instance;

#[pyclass(module = "quorate._quorate", frozen)]
pub(crate) struct Circuit {
    pub inner: Arc<Inner>,
}

fn refused(py: Python<'_>, error: &CircuitError) -> PyErr {
    instance(py, "CircuitError", error.to_string())
}

#[pymethods]
impl Circuit {
    /// Reads a circuit from the text of a Bristol file, of either format.
    #[staticmethod]
    fn read(py: Python<'_>, text: &[u8]) -> PyResult<Circuit> {
        let inner = bristol::read(text).map_err(|error| refused(py, &error))?;
        Ok(Circuit { inner: Arc::new(inner) })
    }

    /// Returns the text of a Bristol Fashion file.
    fn write(&self) -> String {
        bristol::write_fashion(&self.inner)
    }

    #[getter]
    fn inputs(&self) -> Vec<u32> {
        self.inner.inputs().to_vec()
    }

    #[getter]
    fn outputs(&self) -> Vec<u32> {
        self.inner.outputs().to_vec()
    }

    /// Returns (AND gates, XOR gates, inverters, AND-depth).
    fn counts(&self) -> (u64, u64, u64, usize) {
        let counts = self.inner.counts();
        (counts.and, counts.xor, counts.inv, self.inner.depth())
    }

    /// Returns the output wires of `batch` instances, one after another. Inputs and outputs have one byte for each bit.
    fn evaluate<'py>(&self, py: Python<'py>, batch: usize, inputs: Vec<Vec<u8>>) -> PyResult<Bound<'py, PyBytes>> {
        let rows = |(bits, &width): (&Vec<u8>, &u32)| {
            let bools: Vec<bool> = bits.iter().map(|&bit| bit != 0).collect();
            Bits::from_bools(1, batch * width as usize, &bools).lanes_to_rows(width as usize)
        };
        let groups: Vec<Bits> =
            inputs.iter().zip(self.inner.inputs()).filter(|(_, width)| **width > 0).map(rows).collect();
        let all = match groups.is_empty() {
            true => Bits::zeros(0, batch),
            false => Bits::concat_rows(&groups.iter().collect::<Vec<_>>()),
        };
        let outputs = self.inner.evaluate(&all).map_err(|error| refused(py, &error))?;
        let bytes: Vec<u8> = outputs.rows_to_lanes().to_bools().into_iter().map(u8::from).collect();
        Ok(PyBytes::new(py, &bytes))
    }
}
