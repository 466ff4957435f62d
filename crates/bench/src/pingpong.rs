//! The bare round trip of a link: a small frame in each direction, without any protocol.

use std::thread;
use std::time::Instant;

use quorate_net::{Net, NetError, Wait};

use crate::cell::Link;
use crate::error::BenchError;
use crate::links;

/// About the size of a message of one element.
const FRAME_BYTES: usize = 16;
const ROUND_TRIPS: usize = 4000;
/// The number of round trips on links as slow as a network.
const SLOW_ROUND_TRIPS: usize = 5;
const RUNS: usize = 5;

/// Returns the seconds of a round trip between two parties: the median of several runs of many round trips.
pub(crate) fn seconds(link: Link) -> Result<f64, BenchError> {
    let trips = if link.shape().is_some() { SLOW_ROUND_TRIPS } else { ROUND_TRIPS };
    let mut ends = links::open(link, 2)?.into_iter();
    let (Some(mut first), Some(mut second)) = (ends.next(), ends.next()) else {
        return Err(BenchError::PartyGone { party: 0 });
    };
    let echo = thread::spawn(move || -> Result<_, NetError> {
        for _ in 0..trips * (RUNS + 1) {
            if let Some((from, frame)) = second.recv(Wait::Forever)? {
                second.send(from, frame)?;
            }
        }
        second.flush(Wait::Forever)?;
        Ok(second)
    });
    let measured: Result<Vec<f64>, NetError> = (0..=RUNS).map(|_| round_trip(&mut first, trips)).collect();
    let second = echo.join().map_err(|_| BenchError::PartyGone { party: 1 })?;
    let mut runs = measured?.split_off(1);
    drop((first, second?));
    runs.sort_by(f64::total_cmp);
    Ok(runs[RUNS / 2])
}

fn round_trip(net: &mut Box<dyn Net>, trips: usize) -> Result<f64, NetError> {
    let start = Instant::now();
    let mut frame = vec![7; FRAME_BYTES];
    for _ in 0..trips {
        net.send(1, frame)?;
        frame = net.recv(Wait::Forever)?.map_or(vec![7; FRAME_BYTES], |(_, frame)| frame);
    }
    Ok(start.elapsed().as_secs_f64() / trips as f64)
}
