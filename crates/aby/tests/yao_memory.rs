//! Garbled tables are streamed: half a gigabyte of them in a few megabytes. The test measures its process, and is alone
//! in it.

mod common;

use common::run;
use quorate_circuits::{Builder, Goal, Order, Program, catalog};
use quorate_gadgets::{Garbles, Labels};
use quorate_ring::Bits;

/// Returns a line of this process's status, in KiB.
#[cfg(target_os = "linux")]
fn status_kib(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells a process its memory");
    let found = status.lines().find_map(|text| text.strip_prefix(line)?.split_whitespace().nth(1)?.parse().ok());
    found.expect("the status has this line")
}

#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_follow_the_tables() {
    let many = Program::new(&catalog::mul(64, Goal::Size), Order::Runs(16));
    let mut b = Builder::new();
    let mut x = b.input(64);
    let y = b.input(64);
    for _ in 0..60 {
        x = b.mul(&x, &y, Goal::Size);
    }
    let long = Program::new(&b.finish(&[&x]).unwrap(), Order::Runs(16));
    let before = status_kib("VmRSS");
    let results = run(async |aby, ctx| {
        for (program, instances) in [(&many, 2048), (&long, 17)] {
            // The evaluator comes late.
            if ctx.me() == 1 {
                std::thread::sleep(std::time::Duration::from_millis(200));
            }
            let inputs = aby.public_labels(&Bits::zeros(128, instances))?;
            assert_eq!(aby.garble(ctx, program, &inputs).await?.shape(), (64, instances));
        }
        Ok(())
    });
    let sent = results[0].1.online.bytes();
    assert!(sent > 370 << 20, "{sent} bytes of tables");
    let grown_mib = (status_kib("VmHWM") - before) / 1024;
    println!("the process grew by {grown_mib} MiB for {} MiB of tables", sent >> 20);
    assert!(grown_mib < 100, "the process grew by {grown_mib} MiB");
}
