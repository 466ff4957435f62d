//! The builders' numbers of ANDs, compared with the literature: [KSS09] (Kolesnikov, Sadeghi, Schneider 2009) for the
//! size-optimised circuits, [SZ13] (Schneider, Zohner 2013) for the depth-optimised ones, Boyar and Peralta for
//! counting and AES, and published circuit files.

use quorate_circuits::{Circuit, Direction, Extreme, Goal, Sign, catalog};

fn cost(circuit: &Circuit) -> (u64, usize) {
    (circuit.counts().and, circuit.depth())
}

fn log(n: u64) -> u64 {
    u64::from(n.next_power_of_two().ilog2())
}

#[test]
fn size_optimised() {
    for k in 2..=64u32 {
        let n = u64::from(k);
        let ands = |circuit: Circuit| circuit.counts().and;
        assert_eq!(cost(&catalog::add(k, Goal::Size)), (n - 1, k as usize - 1));
        assert_eq!(ands(catalog::sub(k, Goal::Size)), n - 1);
        assert_eq!(ands(catalog::neg(k, Goal::Size)), n - 2);
        assert_eq!(ands(catalog::less_than(k, Sign::Unsigned, Goal::Size)), n);
        assert_eq!(ands(catalog::less_than(k, Sign::Signed, Goal::Size)), n);
        assert_eq!(cost(&catalog::equal(k)), (n - 1, log(n) as usize));
        assert_eq!(cost(&catalog::mux(k)), (n, 1));
        assert_eq!(cost(&catalog::swap_if(k)), (n, 1));
        assert_eq!(ands(catalog::mul(k, Goal::Size)), n * n - n + 1);
        assert_eq!(ands(catalog::mul_wide(k, Sign::Unsigned, Goal::Size)), 2 * n * n - n);
        assert!(ands(catalog::square(k, Goal::Size)) <= n * n);
        assert_eq!(ands(catalog::divide(k, Sign::Unsigned, Goal::Size)), n * n + 3 * n - 3);
        // [KSS09]: 2 k (n - 1) + n + 1 for the minimum of n numbers and its index.
        for count in [2, 3, 8, 13] {
            let with_index = ands(catalog::extremum(count as usize, k, Extreme::Min, Sign::Unsigned, Goal::Size));
            assert!(with_index <= 2 * n * (count - 1) + count + 1, "{k} bits, {count} numbers: {with_index}");
        }
        assert_eq!(ands(catalog::shift_by(k, 6, Direction::Left)), 6 * n);
    }
}

#[test]
fn counting_takes_as_many_as_it_must() {
    for n in 1..=128u32 {
        assert_eq!(catalog::popcount(n, Goal::Size).counts().and, u64::from(n - n.count_ones()));
    }
}

#[test]
fn depth_optimised() {
    for k in 2..=64u32 {
        let n = u64::from(k);
        assert_eq!(catalog::add(k, Goal::Depth).depth() as u64, log(n));
        assert_eq!(catalog::sub(k, Goal::Depth).depth() as u64, log(n));
        for sign in [Sign::Unsigned, Sign::Signed] {
            let less = cost(&catalog::less_than(k, sign, Goal::Depth));
            assert_eq!(less, (3 * n - 1 - log(n + 1), log(n + 1) as usize));
        }
        assert!(catalog::mul(k, Goal::Depth).depth() as u64 <= 2 * log(n) + 1);
    }
    assert_eq!(cost(&catalog::add(64, Goal::Depth)), (383, 6));
    assert_eq!(cost(&catalog::less_than(64, Sign::Signed, Goal::Depth)), (184, 7));
    assert_eq!(cost(&catalog::add(32, Goal::Depth)), (159, 5));
    assert_eq!(catalog::mul(32, Goal::Depth).depth(), 11);
    assert_eq!(catalog::mul(64, Goal::Depth).depth(), 13);
}

#[test]
fn aes_takes_32_ands_for_each_of_200_s_boxes() {
    let circuit = catalog::aes128();
    assert_eq!(cost(&circuit), (6400, 60));
    assert!(circuit.len() < 36_663, "the published file has that many gates, this one {}", circuit.len());
}
