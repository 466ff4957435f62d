//! Links among parties that are threads of this process.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use quorate_net::tcp::{PartyConfig, TcpConfig, TcpNet, keygen};
use quorate_net::{Net, memory, shaped};

use crate::cell::Link;
use crate::error::BenchError;

pub(crate) type Ends = Vec<Box<dyn Net>>;

/// Connects `parties` parties, each with each; element i is party i's end.
pub(crate) fn open(link: Link, parties: usize) -> Result<Ends, BenchError> {
    if let Some(shape) = link.shape() {
        return Ok(shaped::mesh(parties, shape).into_iter().map(boxed).collect());
    }
    match link {
        Link::Memory | Link::Lan | Link::Wan | Link::Slow { .. } => {
            Ok(memory::mesh(parties).into_iter().map(boxed).collect())
        }
        Link::Tls => {
            let keys = Keys::make(parties)?;
            connect(&keys.folder, parties)
        }
    }
}

fn boxed(net: impl Net + 'static) -> Box<dyn Net> {
    Box::new(net)
}

fn connect(keys: &Path, parties: usize) -> Result<Ends, BenchError> {
    let listen = |_| TcpListener::bind("127.0.0.1:0").map_err(BenchError::io("listening on the loopback interface"));
    let listeners: Vec<TcpListener> = (0..parties).map(listen).collect::<Result<_, _>>()?;
    let describe = |(party, listener): (usize, &TcpListener)| {
        let address = listener.local_addr().map_err(BenchError::io("asking for a port's number"))?.to_string();
        Ok(PartyConfig { address, certificates: vec![keys.join(format!("party{party}.crt"))] })
    };
    let configs: Vec<PartyConfig> = listeners.iter().enumerate().map(describe).collect::<Result<_, BenchError>>()?;
    thread::scope(|scope| {
        let join = |(me, listener): (usize, TcpListener)| {
            let config = TcpConfig::new(me, configs.clone(), keys.join(format!("party{me}.key")));
            scope.spawn(move || TcpNet::connect_on(&config, listener))
        };
        let joins: Vec<_> = listeners.into_iter().enumerate().map(join).collect();
        let nets = joins.into_iter().enumerate().map(|(party, join)| {
            let net = join.join().map_err(|_| BenchError::PartyGone { party })?;
            Ok(boxed(net?))
        });
        nets.collect()
    })
}

/// Temporary keys in a folder of their own, which is removed once the parties have read them.
struct Keys {
    folder: PathBuf,
}

impl Keys {
    fn make(parties: usize) -> Result<Keys, BenchError> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("quorate-bench-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let keys = Keys { folder: std::env::temp_dir().join(name) };
        // An existing folder was left by a process that was killed, or belongs to another user: keygen refuses it.
        for party in 0..parties {
            keygen(&keys.folder, party)?;
        }
        Ok(keys)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_do_not_outlive_the_connecting() {
        let keys = Keys::make(2).unwrap();
        let folder = keys.folder.clone();
        assert!(folder.join("party1.key").exists());
        drop(keys);
        assert!(!folder.exists());
    }

    #[test]
    fn ends_know_their_place() {
        for link in Link::ALL {
            let ends = open(link, 3).unwrap();
            assert_eq!(ends.iter().map(|end| (end.me(), end.parties())).collect::<Vec<_>>(), [(0, 3), (1, 3), (2, 3)]);
        }
    }
}
