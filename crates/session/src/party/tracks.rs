//! The tracks on which the parties of a process serve requests: each has a seat for every party, and serves one request
//! at a time.

use quorate_sync::mpsc::Sender;
use quorate_sync::thread::JoinHandle;
use quorate_sync::{Arc, Mutex};

use quorate_engine::SIDES;
use quorate_net::{Interrupt, Net};

use super::job::Job;
use super::part::{Answer, Command, Ending};
use super::takes::Takes;
use crate::connect::LocalLinks;

/// The number of requests after which a side track is replaced. Its runs have 2^20 numbers, and a request that fails
/// may use up two.
pub(crate) const MOST_SERVED: u32 = 1 << 18;

/// A thread of a party, until it is joined.
pub(crate) type Thread = Arc<Mutex<Option<JoinHandle<()>>>>;

/// The way to a thread that serves requests for one party.
pub(crate) struct Seat {
    pub commands: Sender<Command>,
    pub interrupt: Interrupt,
    pub thread: Thread,
}

/// A seat for each party of this process, and the request that they serve.
pub(super) struct Track {
    pub seats: Vec<Seat>,
    pub serving: Option<Serving>,
    served: u32,
}

/// A request that is served.
pub(super) struct Serving {
    pub number: u64,
    pub takes: Takes,
    pub is_interrupted: bool,
    /// Copies of its jobs, where it may have to be served again.
    pub again: Vec<Job>,
    /// The number of parties that have not ended it.
    left: usize,
    /// The worst ending so far.
    pub ending: Ending,
    pub answers: Vec<Answer>,
}

impl Serving {
    pub fn new(number: u64, takes: Takes, parties: usize, again: Vec<Job>) -> Serving {
        Serving { number, takes, is_interrupted: false, again, left: parties, ending: Ending::Well, answers: vec![] }
    }
}

impl Track {
    pub fn new(seats: Vec<Seat>) -> Track {
        Track { seats, serving: None, served: 0 }
    }

    /// Prepares the track for a request that begins now, interrupted or not.
    pub fn begin(&mut self, serving: Serving, is_interrupted: bool) {
        self.served += 1;
        self.serving = Some(serving);
        self.prepare(is_interrupted);
    }

    /// Takes back an interrupt that came too late for the last request, or interrupts what begins now.
    fn prepare(&mut self, is_interrupted: bool) {
        self.seats.iter().for_each(|seat| {
            seat.interrupt.take();
        });
        if is_interrupted {
            self.raise();
        }
    }

    /// Notes that a party has ended its part; after the last one, returns the request.
    pub fn end_part(&mut self, ending: Ending, answer: Option<Answer>) -> Option<Serving> {
        let serving = self.serving.as_mut()?;
        serving.left -= 1;
        serving.ending = serving.ending.max(ending);
        serving.answers.extend(answer);
        if serving.left == 0 { self.serving.take() } else { None }
    }

    /// Interrupts what the parties are doing.
    pub fn raise(&mut self) {
        self.seats.iter().for_each(|seat| seat.interrupt.raise());
        self.serving.iter_mut().for_each(|serving| serving.is_interrupted = true);
    }

    /// Sends each seat its command. Returns those for seats whose threads have ended.
    pub fn send(&self, commands: Vec<Command>) -> Vec<Command> {
        let unsent = |(seat, command): (&Seat, Command)| seat.commands.send(command).err().map(|error| error.0);
        self.seats.iter().zip(commands).filter_map(unsent).collect()
    }

    /// Lets the parties leave their seats; in a hurry, they do not wait for slow links.
    pub fn leave(&mut self, gave_up: bool, in_a_hurry: bool) {
        self.prepare(in_a_hurry);
        self.send(self.seats.iter().map(|_| Command::Leave { gave_up }).collect());
    }
}

/// A party that can take more seats.
pub(crate) trait SitsBeside: Send + Sync {
    /// Starts a thread that serves requests over these links, on the side of this number, which no thread was on
    /// before. `None` where the system has no more threads.
    fn sit(&self, side: usize, net: Box<dyn Net>) -> Option<Seat>;
}

/// The way to open side tracks.
pub(crate) struct Beside {
    parties: Vec<Arc<dyn SitsBeside>>,
    links: LocalLinks,
    /// The largest number of side tracks that are open at a time.
    most: usize,
    /// The number of sides so far. Whatever is drawn is named by its side, so none is used again.
    sides: usize,
    /// The number of requests after which a track is replaced.
    most_served: u32,
    /// The threads of tracks that were replaced.
    pub retired: Vec<Thread>,
}

impl Beside {
    /// Returns the way to tracks beside the main one, each of which is replaced after `most_served` requests.
    pub fn new(parties: Vec<Arc<dyn SitsBeside>>, links: LocalLinks, most_served: u32) -> Beside {
        let most = links.most_side_tracks(parties.len());
        Beside { parties, links, most, sides: 0, most_served, retired: vec![] }
    }

    /// Opens a side track; `None` where that is not possible.
    fn open(&mut self) -> Option<Track> {
        let side = self.sides;
        if side == SIDES {
            return None;
        }
        self.sides += 1;
        let seats = self.parties.iter().zip(self.links.mesh()).map(|(party, net)| party.sit(side, net));
        seats.collect::<Option<Vec<Seat>>>().map(Track::new)
    }

    /// Opens no further track, and gives up the parties' keys.
    pub fn close(&mut self) {
        self.parties.clear();
    }

    /// Returns whether there may be side tracks.
    pub fn is_open(&self) -> bool {
        !self.parties.is_empty()
    }

    /// Returns the place of a side track for a request; one is opened where all serve others and there may be more. The
    /// first of `tracks` is the main track. `None` where no track is free.
    pub(super) fn take_free(&mut self, tracks: &mut Vec<Track>) -> Option<usize> {
        let is_free = |track: &usize| tracks[*track].serving.is_none() && tracks[*track].served < self.most_served;
        if let Some(track) = (1..tracks.len()).find(is_free) {
            return Some(track);
        }
        let worn = (1..tracks.len()).find(|&track| tracks[track].serving.is_none());
        if worn.is_none() && tracks.len() > self.most {
            return None;
        }
        let Some(track) = self.open() else {
            // The system has no more threads, or there are no more numbers: from now on the open tracks are all.
            self.most = tracks.len() - 1;
            return None;
        };
        let Some(place) = worn else {
            tracks.push(track);
            return Some(tracks.len() - 1);
        };
        let mut worn = std::mem::replace(&mut tracks[place], track);
        worn.leave(false, false);
        self.retired.extend(worn.seats.into_iter().map(|seat| seat.thread));
        Some(place)
    }
}
