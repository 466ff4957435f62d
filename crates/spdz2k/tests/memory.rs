//! The memory of a party while correlations are made is the memory that is counted for it.
#![cfg(target_os = "linux")]

use quorate_authenticated::Kind;
use quorate_engine::testing::parties;
use quorate_engine::{Ctx, Demand, Form, Phase, Result, Sharing, Stocks, dry};
use quorate_gadgets::{Gadgets, MakesAhead};
use quorate_ring::{Ring, Vector};
use quorate_spdz2k::{Params, Spdz2k};

const MB: u64 = 1_000_000;

/// Returns a line of /proc/self/status, in bytes.
fn status(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// Returns the correlations that a program of `n` parties draws.
fn demand(n: usize, params: Params, program: impl AsyncFn(&Spdz2k, &Ctx) -> Result<()>) -> Demand<Kind> {
    let drawn = async |ctx: &Ctx| -> Result<Demand<Kind>> {
        let s = Spdz2k::new_dry(n, ctx.me(), params)?;
        s.record_demand();
        program(&s, ctx).await?;
        Ok(s.take_demand())
    };
    dry::run(0, n, Phase::Online, async |ctx| drawn(ctx).await).unwrap().0
}

/// Comparisons of 64 bits.
fn comparisons(n: usize, len: usize) -> Demand<Kind> {
    demand(n, Params::default(), async |s, ctx| {
        s.msb(ctx, &s.public(&Vector::shape(Ring::of(64), len))).await.map(|_| ())
    })
}

/// Products of 64 bits.
fn products(params: Params, len: usize) -> Demand<Kind> {
    demand(2, params, async |s, ctx| {
        let x = s.public(&Vector::shape(Ring::of(64), len));
        s.bilinear(ctx, Form::Product, &x, &x).await.map(|_| ())
    })
}

/// A matrix triple of one party, as for `classes` classes of 4096 features.
fn own_matrices(n: usize, classes: usize) -> Demand<Kind> {
    let kind = Kind::OwnedMatrices { owner: 0, bits: 64, m: classes, k: 4096, n: 1 };
    demand(n, Params::default(), async |s, ctx| s.draw(ctx, kind.clone(), 1).await.map(|_| ()))
}

/// Squares of values that one party knows.
fn own_squares(n: usize, len: usize) -> Demand<Kind> {
    let kind = Kind::Owned { owner: 0, bits: 64 };
    demand(n, Params::default(), async |s, ctx| s.draw(ctx, kind.clone(), len).await.map(|_| ()))
}

/// daBits, of bits by square roots whose triples are made under two keys.
fn dabits(params: Params, len: usize) -> Demand<Kind> {
    demand(2, params, async |s, ctx| s.draw(ctx, Kind::DaBit { bits: 64 }, len).await.map(|_| ()))
}

/// Returns the bytes of the stock, and those of its making.
fn counted(n: usize, params: Params, demand: &Demand<Kind>) -> [u64; 2] {
    let s = Spdz2k::new_dry(n, 0, params).unwrap();
    let stock = demand.totals().iter().map(|(kind, &len)| s.stock_bytes(kind, len)).sum();
    [stock, s.making_bytes(demand.totals())]
}

/// The variable that names the case that a process of this test runs.
const CASE: &str = "QUORATE_TEST_CASE";

/// Each case runs in a process of its own: memory that one case gives back to the allocator would serve the next.
#[test]
fn making_takes_what_is_counted() {
    let two_keys = Params::default().with_triples_under_two_keys();
    let buckets = Params::default().with_triples_in_buckets();
    let cases = [
        ("700 comparisons", 2, Params::default(), comparisons(2, 700)),
        ("300 comparisons", 3, Params::default(), comparisons(3, 300)),
        ("2000 products", 2, Params::default(), products(Params::default(), 2000)),
        ("2000 products under two keys", 2, two_keys, products(two_keys, 2000)),
        ("2000 products in buckets", 2, buckets, products(buckets, 2000)),
        ("2000 daBits under two keys", 2, two_keys, dabits(two_keys, 2000)),
        ("squares of one party", 2, Params::default(), own_squares(2, 16_000)),
        ("squares of one party", 3, Params::default(), own_squares(3, 16_000)),
        ("matrices of one party", 2, Params::default(), own_matrices(2, 10)),
        ("matrices of one party", 3, Params::default(), own_matrices(3, 10)),
    ];
    if let Ok(case) = std::env::var(CASE) {
        let (what, n, params, demand) = &cases[case.parse::<usize>().unwrap()];
        return holds(what, *n, *params, demand);
    }
    for (case, (what, ..)) in cases.iter().enumerate() {
        let test = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "making_takes_what_is_counted", "--nocapture"])
            .env(CASE, case.to_string())
            .output()
            .unwrap();
        // Printed on a separate, indented line, so that a count of tests does not count this one twice.
        let said = [test.stdout, test.stderr].concat();
        let said = String::from_utf8_lossy(&said).replace('\n', "\n    ");
        assert!(test.status.success() && said.contains("1 passed"), "{what}: {said}");
        println!("    {said}");
    }
}

fn holds(what: &str, n: usize, params: Params, demand: &Demand<Kind>) {
    let [stock, making] = counted(n, params, demand);
    parties(n, |mut party| {
        let mut run = party.begin_alone().unwrap();
        let s = run.phase(Phase::Offline, async |ctx| Spdz2k::set_up(ctx, params, None).await).unwrap();
        run.finish();
        if party.me() == 0 {
            // If that cannot be written, the little memory of the set-up counts, too.
            std::fs::write("/proc/self/clear_refs", "5").ok();
        }
        let before = status("VmRSS");
        let mut run = party.begin_alone().unwrap();
        run.phase(Phase::Offline, async |ctx| s.make_all(ctx, demand.clone()).await).unwrap();
        run.finish();
        let each = (status("VmHWM") - before) / n as u64;
        println!("{what} of {n}: {} MB of {} and {}", each / MB, stock / MB, making / MB);
        // Half as much again allows for the allocator and the system's pages, which differ.
        assert!(2 * each < 3 * (stock + making), "{what}: {each} bytes, {stock} and {making} are counted");
        assert!(3 * each > making, "{what}: {each} bytes, {stock} and {making} are counted");
        party.leave(false);
    });
}

/// Two full batches take the memory of one.
#[test]
fn what_making_takes_is_bounded() {
    let making = |n: usize, len: usize| counted(n, Params::default(), &comparisons(n, len))[1] / MB;
    for n in [2, 3] {
        let (batch, more) = (making(n, 2048), making(n, 40_000));
        println!("{batch} and {more} MB of {n}");
        assert!(batch == more && (100..300 * (n as u64 - 1)).contains(&batch), "{batch} and {more} MB of {n}");
    }
    assert!((1..20).contains(&making(2, 10)));
}
