//! The queue of a session's requests, its tracks, its bell and the values of its parties: the files of `session`, with
//! parties that only note what they are asked for, and threads that run in orders that tests choose.
#![forbid(unsafe_code)]
#![cfg(not(test))] // the files' own tests are in their crate

#[allow(dead_code)] // others use more of it
#[path = "../../session/src/party/bell.rs"]
mod bell;
#[allow(dead_code)] // others use more of it
#[path = "../../session/src/work/data.rs"]
mod data;
#[allow(dead_code)] // others use more of it
#[path = "../../session/src/party/job.rs"]
mod job;
#[allow(dead_code)] // others use more of it
#[path = "../../session/src/work/order.rs"]
mod order;
#[allow(dead_code)] // others use more of it
#[path = "../../session/src/party/part.rs"]
mod part;
#[allow(dead_code)] // others use more of it
#[path = "../../session/src/party/program.rs"]
mod program;
#[allow(dead_code)] // others use more of it
#[path = "../../session/src/party/queue.rs"]
mod queue;
#[allow(dead_code)] // others use more of it
#[path = "../../session/src/party/shared.rs"]
mod shared;
#[allow(dead_code)] // others use more of it
#[path = "../../session/src/party/store.rs"]
mod store;
#[allow(dead_code)] // others use more of it
#[path = "../../session/src/party/takes.rs"]
mod takes;
#[allow(dead_code)] // others use more of it
#[path = "../../session/src/party/tracks.rs"]
mod tracks;
#[allow(dead_code)] // others use more of it
#[path = "../../session/src/work/value.rs"]
mod value;

/// The folder in which `session` has these files.
mod party {
    pub(crate) use crate::{program, stats, store};
}

/// The folder in which `session` has these files.
mod work {
    pub(crate) use crate::{data, order, seen, value};
}

/// What a request reports of itself, which the queue passes on.
mod stats {
    #[derive(Default)]
    pub(crate) struct Progress;
    #[derive(Default)]
    pub(crate) struct RunStats;
}

/// The campaigns of a request, which the queue passes on.
mod seen {
    #[derive(Default)]
    pub(crate) struct Campaigns;
}

/// What a request asks of pools, which the queue passes on.
mod pool {
    pub(crate) struct Level;
    pub(crate) struct Supply;
}

/// A plan, which the queue passes on.
mod plan {
    pub(crate) struct Plan;
}

/// The error of a request, which the queue passes on.
mod error {
    pub(crate) struct SessionError;
}

/// The links of further tracks, of which the tests use only the interrupts.
mod connect {
    use quorate_net::{Net, memory};

    pub(crate) struct LocalLinks(pub usize);

    impl LocalLinks {
        pub fn most_side_tracks(&self, _parties: usize) -> usize {
            2
        }

        pub fn mesh(&self) -> Vec<Box<dyn Net>> {
            memory::mesh(self.0).into_iter().map(|net| Box::new(net) as _).collect()
        }
    }
}

mod world;

pub use world::{Told, World};
