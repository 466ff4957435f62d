//! Both sides of a garbled circuit in one process.
#![allow(dead_code, reason = "each test file uses a part")]

use quorate_circuits::{Circuit, Order, Program};
use quorate_crypto::{Prg, Seed, SessionId, Tccr};
use quorate_garble::{Delta, Evaluator, GarbleError, Garbler, Labels, table_bytes};
use quorate_ring::Bits;

pub struct Sides {
    pub hash: Tccr,
    pub delta: Delta,
    prg: Prg,
}

impl Sides {
    pub fn new(seed: u8) -> Sides {
        let mut prg = Seed::from_bytes([seed; 32]).prg("quorate/garble/test", b"");
        let mut delta = [0; 16];
        prg.fill(&mut delta);
        let delta = Delta::from_correlation(u128::from_le_bytes(delta) | 1).unwrap();
        Sides { hash: Tccr::new(&SessionId::from_bytes([9; 32])), delta, prg }
    }

    pub fn labels(&mut self, wires: usize, instances: usize) -> Labels {
        Labels::random(&mut self.prg, wires, instances)
    }

    /// Returns random bits.
    pub fn bits(&mut self, rows: usize, lanes: usize) -> Bits {
        let mut bits = Bits::zeros(rows, lanes);
        self.prg.fill(bits.bytes_mut());
        bits
    }

    /// Returns all tables, and the labels of 0 of the outputs.
    pub fn garble(&self, program: &Program, zero: &Labels, first_tweak: u128, chunk_bytes: usize) -> (Vec<u8>, Labels) {
        let mut garbler = Garbler::new(program, &self.hash, &self.delta, first_tweak, zero).unwrap();
        let mut tables = Vec::new();
        let mut chunk = vec![0; chunk_bytes];
        while garbler.bytes_left() > 0 {
            let before = garbler.bytes_left();
            let bytes = garbler.garble(&mut chunk);
            assert_eq!(bytes as u64, before.min(chunk_bytes as u64), "chunks are full but for the last");
            tables.extend_from_slice(&chunk[..bytes]);
        }
        assert_eq!(garbler.garble(&mut chunk), 0);
        assert_eq!(tables.len() as u64, table_bytes(program, zero.instances()));
        (tables, garbler.finish().unwrap())
    }

    pub fn evaluate(
        &self,
        program: &Program,
        active: &Labels,
        first_tweak: u128,
        tables: &[u8],
        chunk_bytes: usize,
    ) -> Result<Labels, GarbleError> {
        let mut evaluator = Evaluator::new(program, &self.hash, first_tweak, active)?;
        for chunk in tables.chunks(chunk_bytes) {
            evaluator.evaluate(chunk)?;
        }
        evaluator.finish()
    }

    /// Compares a garbled evaluation on random inputs with one in the clear.
    pub fn check(&mut self, name: &str, circuit: &Circuit, order: Order, instances: usize, chunks: (usize, usize)) {
        let program = Program::new(circuit, order);
        let inputs = self.bits(program.input_wires(), instances);
        self.check_on(name, circuit, &program, &inputs, chunks);
    }

    pub fn check_on(
        &mut self,
        name: &str,
        circuit: &Circuit,
        program: &Program,
        inputs: &Bits,
        chunks: (usize, usize),
    ) {
        let zero = self.labels(program.input_wires(), inputs.lanes());
        let active = zero.encode(&self.delta, inputs).unwrap();
        let (tables, zero_out) = self.garble(program, &zero, 1 << 64, chunks.0);
        let active_out = self.evaluate(program, &active, 1 << 64, &tables, chunks.1).unwrap();
        let expected = circuit.evaluate(inputs).unwrap().to_bools();
        let opened = zero_out.open(&self.delta, &active_out).unwrap();
        assert_eq!(opened.to_bools(), expected, "{name}, {} instances", inputs.lanes());
        let mut shares = zero_out.colours();
        shares.xor_assign(&active_out.colours());
        assert_eq!(shares.to_bools(), expected, "colours are shares");
    }
}
