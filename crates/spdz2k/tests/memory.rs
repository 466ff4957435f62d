//! What a party holds while correlations are made is what is counted for it.
#![cfg(target_os = "linux")]

use quorate_engine::testing::parties;
use quorate_engine::{Ctx, Demand, Phase, Result, Sharing, Stocks, dry};
use quorate_gadgets::{Family, Gadgets};
use quorate_ring::{Ring, Vector};
use quorate_spdz2k::{Kind, Params, Spdz2k};

const MB: u64 = 1_000_000;

/// A line of /proc/self/status, in bytes.
fn status(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// What comparisons of 64 bits draw.
fn demand(n: usize, len: usize) -> Demand<Kind> {
    let program = async |ctx: &Ctx| -> Result<Demand<Kind>> {
        let s = Spdz2k::new_dry(n, ctx.me(), Params::default())?;
        s.record_demand();
        s.msb(ctx, &s.public(&Vector::shape(Ring::of(64), len))).await?;
        Ok(s.take_demand())
    };
    dry::run(0, n, Phase::Online, async |ctx| program(ctx).await).unwrap().0
}

/// Stock, and what making it takes.
fn counted(n: usize, demand: &Demand<Kind>) -> [u64; 2] {
    let s = Spdz2k::new_dry(n, 0, Params::default()).unwrap();
    let stock = demand.totals().iter().map(|(kind, &len)| s.stock_bytes(kind, len)).sum();
    [stock, s.making_bytes(demand)]
}

#[test]
fn making_takes_what_is_counted() {
    for (n, len) in [(2, 700), (3, 300)] {
        let demand = demand(n, len);
        let [stock, making] = counted(n, &demand);
        parties(n, |mut party| {
            let mut run = party.begin_alone().unwrap();
            let s = run.phase(Phase::Offline, async |ctx| Spdz2k::set_up(ctx, Params::default(), None).await).unwrap();
            run.finish();
            if party.me() == 0 {
                // Where that cannot be written, what set-up took counts, too: it takes little.
                std::fs::write("/proc/self/clear_refs", "5").ok();
            }
            let before = status("VmRSS");
            let mut run = party.begin_alone().unwrap();
            run.phase(Phase::Offline, async |ctx| s.make_all(ctx, demand.clone()).await).unwrap();
            run.finish();
            let each = (status("VmHWM") - before) / n as u64;
            println!("{len} comparisons of {n}: {} MB of {} and {}", each / MB, stock / MB, making / MB);
            // Half as much again is for the allocator and the system's pages, which differ.
            assert!(2 * each < 3 * (stock + making), "{each} bytes, {stock} and {making} are counted");
            assert!(3 * each > making, "{each} bytes, {stock} and {making} are counted");
            party.leave(false);
        });
    }
}

/// Two full batches take what one takes.
#[test]
fn what_making_takes_is_bounded() {
    let making = |n: usize, len: usize| counted(n, &demand(n, len))[1] / MB;
    for n in [2, 3] {
        let (batch, more) = (making(n, 2048), making(n, 40_000));
        println!("{batch} and {more} MB of {n}");
        assert!(batch == more && (100..300 * (n as u64 - 1)).contains(&batch), "{batch} and {more} MB of {n}");
    }
    assert!((1..20).contains(&making(2, 10)));
}
