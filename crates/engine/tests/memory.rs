//! A gigabyte, one way, to a slow reader: the waiting data stays below 64 MiB at every party. The test measures its
//! process, so it is alone in it.

use std::time::Duration;

use quorate_engine::{Chunks, Phase, Result, testing};
use quorate_ring::{Ring, Vector};

/// A line of this process's status, in KiB.
#[cfg(target_os = "linux")]
fn status_kib(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells a process its memory");
    let found = status.lines().find_map(|text| text.strip_prefix(line)?.split_whitespace().nth(1)?.parse().ok());
    found.expect("the status has this line")
}

#[test]
#[cfg(target_os = "linux")]
fn a_one_way_stream_to_a_slow_reader_stays_below_64_mib() {
    const ELEMENTS: usize = 128 << 20;
    let ring = Ring::of(64);
    let before = status_kib("VmRSS");
    let results = testing::parties(3, |mut party| {
        let mut run = party.begin_alone()?;
        let mut read = 0;
        run.phase(Phase::Online, async |ctx| {
            let late = ctx.me() == 1;
            if late {
                std::thread::sleep(Duration::from_millis(500));
            }
            ctx.stream(
                Chunks::of_bytes(ELEMENTS, 8),
                async |ctx, range| {
                    match ctx.me() {
                        0 => drop(ctx.exchange(&[(1, &Vector::zeros(ring, range.len()))], &[]).await?),
                        1 => {
                            if range.start % (128 * 16384) == 0 {
                                std::thread::sleep(Duration::from_millis(20));
                            }
                            drop(ctx.exchange::<Vector>(&[], &[(0, (ring, range.len()))]).await?);
                        }
                        _ => drop(ctx.exchange::<Vector>(&[], &[]).await?),
                    }
                    Ok(range.len())
                },
                |_, len| read += len,
            )
            .await
        })?;
        let costs = run.finish();
        Result::Ok((read, costs.online.rounds, costs.online.bytes()))
    });
    let grown_mib = (status_kib("VmHWM") - before) / 1024;
    let results: Vec<_> = results.into_iter().map(|result| result.expect("the run ends well")).collect();
    assert_eq!(results, [(ELEMENTS, 1, 1 << 30), (ELEMENTS, 1, 0), (ELEMENTS, 1, 0)]);
    assert!(grown_mib < 64, "the process grew by {grown_mib} MiB");
    println!("the process grew by {grown_mib} MiB");
}
