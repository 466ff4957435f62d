//! Hashes, generators, finite fields and gates of garbled circuits. Seeds give generators by BLAKE3, whose crate has no
//! branches on its input.

use quorate_crypto::{Commitment, Context, Opening};
use quorate_crypto::{Prf, RUN, Run, Seed, SessionId, TABLES_BYTES, Tables, Tccr, commit, ct_eq, gf64, gf128, verify};

use super::Case;
use super::memcheck::{hide, show};

const LEN: usize = 301;

fn words(count: usize) -> Vec<u64> {
    let mut words: Vec<u64> = (1..=count as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    hide(&mut words);
    words
}

fn blocks(count: usize) -> Vec<u128> {
    bytemuck::cast_slice(&words(2 * count)).to_vec()
}

fn run() -> Run {
    blocks(RUN).try_into().unwrap()
}

fn seed() -> Seed {
    let mut bytes = [7; 32];
    hide(&mut bytes);
    Seed::from_bytes(bytes)
}

fn session() -> SessionId {
    SessionId::from_bytes([3; 32])
}

fn tccr() -> Tccr {
    Tccr::new(&session())
}

pub const CASES: &[Case] = &[
    ("crypto: generators", || {
        let mut bytes = vec![0; 5000];
        let mut prg = seed().derive("quorate/fss/timing", b"").prg("quorate/fss/timing", b"");
        prg.fill(&mut bytes);
        prg.fill_at(77, &mut bytes[..100]);
        prg.next_u64();
    }),
    ("crypto: functions of blocks", || {
        let mut key = [1; 16];
        hide(&mut key);
        Prf::new(&key).eval(&[[2; 16]; 5], &mut [[0; 16]; 5]);
    }),
    ("crypto: hashes in a run", || tccr().hash_run(&mut blocks(LEN), 5)),
    ("crypto: hashes of a pair of runs", || tccr().segment(3).hash_pair(&mut [run(), run()], [5, 50])),
    ("crypto: two hashes of each block", || tccr().hash_twice(&mut blocks(LEN), &mut blocks(LEN), [5, 500])),
    ("crypto: garbled gates", || {
        let mut tables: Tables = [0; TABLES_BYTES];
        let delta = blocks(1)[0] | 1;
        tccr().garble_ands([&run(), &run()], delta, [1, 100], &mut tables, &mut run());
    }),
    ("crypto: evaluated gates", || {
        let mut tables: Tables = [0; TABLES_BYTES];
        hide(&mut tables);
        tccr().evaluate_ands([&run(), &run()], [1, 100], &tables, &mut run());
    }),
    ("crypto: products in GF(2^64)", || {
        let (a, b) = (words(LEN), words(LEN));
        gf64::mul(a[0], b[0]);
        gf64::inner_product(&a, &b);
        gf64::powers(a[1], &mut words(9));
    }),
    ("crypto: products in GF(2^128)", || {
        let (mut a, b) = (blocks(LEN), blocks(LEN));
        gf128::mul(a[0], b[0]);
        gf128::inner_product(&a, &b);
        gf128::mul_assign(&mut a, &b);
    }),
    ("crypto: comparisons, whose outcome is public", || {
        let mut equal = [ct_eq(bytemuck::cast_slice(&words(4)), bytemuck::cast_slice(&words(4)))].map(u8::from);
        show(&mut equal);
        assert_eq!(equal, [1]);
    }),
    ("crypto: commitments, whose outcome is public", || {
        let (session, value) = (session(), words(8));
        let context = Context { session: &session, party: 1, domain: "quorate/fss/timing", instance: 4 };
        let value: &[u8] = bytemuck::cast_slice(&value);
        let opening = Opening(bytemuck::cast_slice(&words(4)).try_into().expect("32 bytes"));
        let Commitment(mut commitment) = commit(&context, value, &opening);
        show(&mut commitment);
        let mut holds = [verify(&context, &Commitment(commitment), value, &opening)].map(u8::from);
        show(&mut holds);
        assert_eq!(holds, [1]);
    }),
];
