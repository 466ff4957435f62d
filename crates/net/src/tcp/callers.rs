//! Callers whose identity is not known yet. Limits ensure that peers connect even while strangers hold many
//! connections.
//!
//! 1. A caller gets a challenge, and waits without a thread until its answer (see `knock`) and its whole first message
//!    of TLS have arrived. Other words end the connection.
//! 2. If its session is open here, its handshake runs in a thread, and the number of these is bounded. A caller whose
//!    certificate is known no longer counts.
//!
//! In both, callers have places by their [`Class`]: no caller takes a place of another class, so strangers never take
//! one of a peer's address. If all places of a class are taken, one of the callers of the network with the most callers
//! is dropped, at random: under a flood, each attempt of an honest caller has the same chance, so that some attempt
//! succeeds. If the oldest were dropped, no caller whose round trip is long would ever get through.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::draws::Draws;
use super::knock::{
    ANSWER_BYTES, Answer, AnswerKeys, CHALLENGE_BYTES, Challenge, Intention, REPLY_BYTES, Said, Status, challenge_bytes,
};
use crate::NetError;

/// The class of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// It calls from the address of a peer.
    Guest,
    /// It calls from another address, with an answer that takes the parties' certificates.
    Informed,
    /// It calls from another address, and has not shown anything.
    Stranger,
}

impl Class {
    const ALL: [Class; 3] = [Class::Guest, Class::Informed, Class::Stranger];

    /// Returns the class as a byte, for another process.
    #[cfg(target_os = "linux")]
    pub(crate) fn byte(self) -> u8 {
        Class::ALL.iter().position(|class| *class == self).unwrap_or(0) as u8
    }

    /// Returns the class with this byte.
    #[cfg(target_os = "linux")]
    pub(crate) fn of_byte(byte: u8) -> Option<Class> {
        Class::ALL.get(usize::from(byte)).copied()
    }
}

/// Numbers of places by class.
#[derive(Clone, Copy)]
struct Places {
    guests: usize,
    informed: usize,
    strangers: usize,
}

impl Places {
    fn of(self, class: Class) -> usize {
        match class {
            Class::Guest => self.guests,
            Class::Informed => self.informed,
            Class::Stranger => self.strangers,
        }
    }
}

/// The largest numbers of callers that wait without a thread, and the time that they have for their first message. Each
/// holds a file descriptor; a process may have 1024 of these by default. Callers become informed when they leave.
const WAITING: Places = Places { guests: 64, informed: 0, strangers: 512 };
const PATIENCE: Duration = Duration::from_secs(3);
/// The largest numbers of callers whose handshakes run at once.
const TALKING: Places = Places { guests: 32, informed: 48, strangers: 16 };
/// The most handshakes that begin per second. This bounds what callers from other addresses than the peers' cost in
/// threads and signatures.
const PER_SECOND: Places = Places { guests: usize::MAX, informed: 200, strangers: 50 };
/// The intervals at which callers are looked at: while an answer from a peer's address is due, and otherwise, since
/// strangers must not cost a run time.
const LOOK: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(20)];
/// The time after which the answer of a caller is no longer due.
const PROMPT: Duration = Duration::from_millis(200);
/// The number of callers accepted before the other callers are handled again.
const AT_ONCE: usize = 64;
/// Bytes of a TLS record's header (type, version and length); the content type of handshakes.
const RECORD_HEADER: usize = 5;
const HANDSHAKE: u8 = 22;

/// Returns whether a first record of TLS that begins like this is whole; `None` if it can never be one.
pub(crate) fn is_whole(seen: &[u8], room: usize) -> Option<bool> {
    match seen {
        [kind, ..] if *kind != HANDSHAKE => None,
        [_, _, _, high, low, ..] => {
            let record = RECORD_HEADER + usize::from(u16::from_be_bytes([*high, *low]));
            Some(seen.len() >= record.min(room))
        }
        _ => Some(false),
    }
}

/// The unit by which callers are counted: an IPv4 address, or the /64 of IPv6 that one subscriber holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Network {
    V4(Ipv4Addr),
    V6([u16; 4]),
}

impl Network {
    fn of(address: IpAddr) -> Network {
        match address.to_canonical() {
            IpAddr::V4(address) => Network::V4(address),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Network::V6([a, b, c, d])
            }
        }
    }
}

/// The addresses of peers, for which places are reserved.
#[derive(Default)]
pub(crate) struct Guests {
    addresses: Mutex<BTreeSet<IpAddr>>,
}

impl Guests {
    pub(crate) fn add(&self, addresses: impl IntoIterator<Item = IpAddr>) {
        let canonical = addresses.into_iter().map(|address| address.to_canonical());
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner).extend(canonical);
    }

    pub(crate) fn expect(&self, address: IpAddr) -> bool {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner).contains(&address.to_canonical())
    }
}

/// A connection from an unknown caller, whose handshake may begin.
pub(crate) struct Caller {
    pub(crate) stream: TcpStream,
    pub(crate) from: SocketAddr,
    pub(crate) class: Class,
    /// The reply that the session is open. It goes out with the first message of TLS: with a message of its own, some
    /// proxies would delay the next one by 40 ms.
    pub(crate) reply: [u8; REPLY_BYTES],
}

/// A caller that has answered, and what it said.
pub(crate) struct Spoken {
    pub(crate) caller: Caller,
    pub(crate) said: Said,
    challenge: Challenge,
}

impl Spoken {
    /// Returns a caller of an open session, whose handshake may begin. To a caller that only asked whether the session
    /// is open, it sends the reply, and returns `None`.
    pub(crate) fn welcome(mut self, keys: &AnswerKeys) -> Option<Caller> {
        match self.said.intention {
            Intention::Connect => {
                self.caller.reply = keys.reply(&self.challenge, &self.said, Status::Open);
                Some(self.caller)
            }
            Intention::Ask => {
                self.dismiss(keys, Status::Open);
                None
            }
        }
    }

    /// Replies, and hangs up.
    pub(crate) fn dismiss(mut self, keys: &AnswerKeys, status: Status) {
        // The buffer of a new connection takes this much at once.
        let _ = self.caller.stream.write(&keys.reply(&self.challenge, &self.said, status));
        self.hang_up();
    }

    /// Closes the connection so that the reply arrives: a socket with unread bytes would be reset.
    fn hang_up(&mut self) {
        let mut unread = [0; 4096];
        for _ in 0..4 {
            if self.caller.stream.read(&mut unread).map_or(0, |bytes| bytes) < unread.len() {
                break;
            }
        }
        let _ = self.caller.stream.shutdown(Shutdown::Write);
    }
}

/// A caller that has not answered yet.
struct Waiting {
    stream: TcpStream,
    from: SocketAddr,
    since: Instant,
    challenge: Challenge,
    class: Class,
}

impl Waiting {
    /// Sends the challenge to a caller that was accepted. `None` if it cannot be sent.
    fn challenged(mut stream: TcpStream, from: SocketAddr, challenge: Challenge, class: Class) -> Option<Waiting> {
        stream.set_nonblocking(true).ok()?;
        // The buffer of a new connection takes this much at once.
        let sent = stream.write(&challenge_bytes(&challenge)).ok()?;
        let caller = Waiting { stream, from, since: Instant::now(), challenge, class };
        (sent == CHALLENGE_BYTES).then_some(caller)
    }

    /// Returns the caller's class and what it said once its answer and, if it wants to connect, its first message are
    /// there; `None` if they will not come.
    fn has_spoken(&self, keys: &AnswerKeys) -> Option<Option<(Class, Said)>> {
        let mut seen = [0; 4096];
        let spoken = match self.stream.peek(&mut seen) {
            Ok(0) => None,
            Ok(bytes) => Some(match keys.read(&self.challenge, &seen[..bytes])? {
                Answer::Begun => None,
                Answer::Said(said) => {
                    let asks = said.intention == Intention::Ask;
                    let whole = asks || is_whole(&seen[ANSWER_BYTES..bytes], seen.len() - ANSWER_BYTES)?;
                    let informed = self.class == Class::Stranger && said.is_right;
                    whole.then_some((if informed { Class::Informed } else { self.class }, said))
                }
            }),
            Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted).then_some(None),
        };
        spoken.filter(|class| class.is_some() || self.is_in_time())
    }

    fn is_in_time(&self) -> bool {
        self.since.elapsed() < PATIENCE
    }

    /// Takes the answer, which is there, off the connection: TLS follows.
    fn without_answer(mut self, (class, said): (Class, Said)) -> Option<Spoken> {
        self.stream.read_exact(&mut [0; ANSWER_BYTES]).ok()?;
        let caller = Caller { stream: self.stream, from: self.from, class, reply: [0; REPLY_BYTES] };
        Some(Spoken { caller, said, challenge: self.challenge })
    }
}

/// Returns a caller to drop if the callers of one class hold more places than there are.
fn superfluous(callers: &[(IpAddr, Class)], places: Places, draws: &mut Draws) -> Option<usize> {
    let held = |class| callers.iter().filter(|(_, other)| *other == class).count();
    let over = Class::ALL.into_iter().find(|&class| held(class) > places.of(class));
    let mut networks: BTreeMap<Network, Vec<usize>> = BTreeMap::new();
    for (at, (from, _)) in callers.iter().enumerate().filter(|(_, (_, class))| Some(*class) == over) {
        networks.entry(Network::of(*from)).or_default().push(at);
    }
    let most = networks.values().map(Vec::len).max()?;
    let busiest: Vec<usize> = networks.into_values().filter(|callers| callers.len() == most).flatten().collect();
    busiest.get(draws.below(busiest.len())).copied()
}

/// Handshakes that may begin now: at most a number per second, and a tenth of that at one moment.
struct Budget {
    per_second: f64,
    left: f64,
    since: Instant,
}

impl Budget {
    fn new(per_second: usize) -> Self {
        let per_second = per_second as f64;
        Budget { per_second, left: per_second / 10.0, since: Instant::now() }
    }

    fn take(&mut self) -> bool {
        let earned = self.since.elapsed().as_secs_f64() * self.per_second;
        self.since = Instant::now();
        self.left = (self.left + earned).min(self.per_second / 10.0);
        let may = self.left >= 1.0;
        self.left -= if may { 1.0 } else { 0.0 };
        may
    }
}

/// Callers that have not sent their answer and a whole first message yet.
pub(crate) struct WaitingRoom<'a> {
    callers: Vec<Waiting>,
    keys: &'a AnswerKeys,
    /// Whether a peer is expected at an address.
    expects: &'a dyn Fn(IpAddr) -> bool,
    draws: Draws,
    /// For informed callers and strangers.
    budgets: [Budget; 2],
}

impl<'a> WaitingRoom<'a> {
    /// Opens an empty room.
    ///
    /// # Errors
    /// Those of [`Draws::new`].
    pub(crate) fn new(keys: &'a AnswerKeys, expects: &'a dyn Fn(IpAddr) -> bool) -> Result<Self, NetError> {
        let budgets = [PER_SECOND.informed, PER_SECOND.strangers].map(Budget::new);
        Ok(WaitingRoom { callers: Vec::new(), keys, expects, draws: Draws::new()?, budgets })
    }

    /// Returns when to look at the callers again; `None` if none waits.
    pub(crate) fn pause(&self) -> Option<Duration> {
        let is_due = |caller: &Waiting| caller.class == Class::Guest && caller.since.elapsed() < PROMPT;
        let longest = (!self.callers.is_empty()).then_some(LOOK[1]);
        longest.map(|longest| if self.callers.iter().any(is_due) { LOOK[0] } else { longest })
    }

    /// Accepts callers. Returns those whose first message is there, and whether more may be calling.
    pub(crate) fn admit(&mut self, listener: &TcpListener) -> (Vec<Spoken>, bool) {
        let mut came = 0;
        while came < AT_ONCE
            && let Ok((stream, from)) = listener.accept()
        {
            came += 1;
            let class = if (self.expects)(from.ip()) { Class::Guest } else { Class::Stranger };
            self.callers.extend(Waiting::challenged(stream, from, self.draws.bytes(), class));
        }
        self.make_room();
        let (mut spoke, mut silent) = (Vec::new(), Vec::new());
        for caller in std::mem::take(&mut self.callers) {
            match caller.has_spoken(self.keys) {
                Some(Some(spoken)) if self.may_begin(spoken.0) => spoke.extend(caller.without_answer(spoken)),
                Some(Some(_)) if !caller.is_in_time() => {}
                Some(_) => silent.push(caller),
                None => {}
            }
        }
        self.callers = silent;
        (spoke, came == AT_ONCE)
    }

    fn may_begin(&mut self, class: Class) -> bool {
        match class {
            Class::Guest => true,
            Class::Informed => self.budgets[0].take(),
            Class::Stranger => self.budgets[1].take(),
        }
    }

    fn make_room(&mut self) {
        let mut held: Vec<(IpAddr, Class)> =
            self.callers.iter().map(|caller| (caller.from.ip(), caller.class)).collect();
        while let Some(at) = superfluous(&held, WAITING, &mut self.draws) {
            held.remove(at);
            self.callers.remove(at);
        }
    }
}

struct Talking {
    number: u64,
    stream: TcpStream,
    from: IpAddr,
    class: Class,
}

/// Callers whose handshakes run.
pub(crate) struct Handshakes {
    talking: Mutex<(Vec<Talking>, Draws)>,
}

impl Handshakes {
    /// Returns no handshakes.
    ///
    /// # Errors
    /// Those of [`Draws::new`].
    pub(crate) fn new() -> Result<Self, NetError> {
        Ok(Handshakes { talking: Mutex::new((Vec::new(), Draws::new()?)) })
    }

    /// Registers a caller under a number of its own, and drops another one if there are too many.
    pub(crate) fn begin(&self, number: u64, caller: &Caller) {
        let Ok(stream) = caller.stream.try_clone() else { return };
        let mut held = self.lock();
        let (talking, draws) = &mut *held;
        talking.push(Talking { number, stream, from: caller.from.ip(), class: caller.class });
        let callers: Vec<(IpAddr, Class)> = talking.iter().map(|caller| (caller.from, caller.class)).collect();
        if let Some(at) = superfluous(&callers, TALKING, draws) {
            // The caller's thread reads the end of the connection and ends.
            let _ = talking.remove(at).stream.shutdown(Shutdown::Both);
        }
    }

    /// Removes a caller that was identified, or has gone.
    pub(crate) fn end(&self, number: u64) {
        self.lock().0.retain(|caller| caller.number != number);
    }

    fn lock(&self) -> MutexGuard<'_, (Vec<Talking>, Draws)> {
        self.talking.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use Class::{Guest, Informed, Stranger};

    /// Returns the callers that are dropped in many draws.
    fn dropped(callers: &[(&str, Class)], guests: usize, informed: usize, strangers: usize) -> BTreeSet<Option<usize>> {
        let callers: Vec<(IpAddr, Class)> =
            callers.iter().map(|(address, class)| (address.parse().unwrap(), *class)).collect();
        let (mut draws, places) = (Draws::new().unwrap(), Places { guests, informed, strangers });
        (0..200).map(|_| superfluous(&callers, places, &mut draws)).collect()
    }

    #[test]
    fn any_of_the_busiest_network_goes() {
        let callers = ["10.0.0.1", "10.0.0.2", "::ffff:10.0.0.1", "10.0.0.3"].map(|address| (address, Stranger));
        assert_eq!(dropped(&callers, 9, 9, 3), BTreeSet::from([Some(0), Some(2)]));
        assert_eq!(dropped(&callers[..2], 9, 9, 1), BTreeSet::from([Some(0), Some(1)]), "one each: any of them");
        assert_eq!(dropped(&callers, 0, 0, 4), BTreeSet::from([None]));
        assert_eq!(dropped(&[], 0, 0, 0), BTreeSet::from([None]));
        let six = ["2001:db8::1", "2001:db8:0:1::1", "2001:db8::2:0:0:7"].map(|address| (address, Stranger));
        assert_eq!(dropped(&six, 9, 9, 2), BTreeSet::from([Some(0), Some(2)]), "one /64 is one network");
    }

    #[test]
    fn no_caller_takes_a_place_of_another_class() {
        let classes = [Guest, Stranger, Informed, Guest, Stranger, Informed];
        let callers: Vec<(&str, Class)> = classes.iter().map(|class| ("10.0.0.1", *class)).collect();
        assert_eq!(dropped(&callers, 2, 2, 1), BTreeSet::from([Some(1), Some(4)]));
        assert_eq!(dropped(&callers, 2, 1, 2), BTreeSet::from([Some(2), Some(5)]));
        assert_eq!(dropped(&callers, 1, 2, 2), BTreeSet::from([Some(0), Some(3)]));
    }

    #[test]
    fn guests_are_known_by_their_whole_address() {
        let guests = Guests::default();
        guests.add(["10.0.0.1".parse().unwrap(), "2001:db8::1".parse().unwrap()]);
        let addresses = ["10.0.0.1", "::ffff:10.0.0.1", "2001:db8::1", "10.0.0.2", "2001:db8::2"];
        let expected = addresses.map(|address| guests.expect(address.parse().unwrap()));
        assert_eq!(expected, [true, true, true, false, false]);
    }

    #[test]
    fn handshakes_are_bounded_in_time() {
        let mut budget = Budget::new(250);
        let at_once = (0..1000).filter(|_| budget.take()).count();
        assert!((25..35).contains(&at_once), "{at_once}");
        std::thread::sleep(Duration::from_millis(40));
        let later = (0..1000).filter(|_| budget.take()).count();
        assert!((8..=30).contains(&later), "{later}");
    }

    #[test]
    fn a_first_message_is_whole_when_its_record_is() {
        let hello = [HANDSHAKE, 3, 1, 0, 3, 1, 2, 3];
        for seen in 0..hello.len() {
            assert_eq!(is_whole(&hello[..seen], 4096), Some(false), "{seen} bytes");
        }
        assert_eq!(is_whole(&hello, 4096), Some(true));
        assert_eq!(is_whole(&[HANDSHAKE, 3, 1, 255, 255, 0], 6), Some(true), "more than is looked at");
        assert_eq!(is_whole(b"GET / HTTP/1.1", 4096), None);
    }

    #[test]
    fn too_many_handshakes_end_one() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let handshakes = Handshakes::new().unwrap();
        let mut ends: Vec<TcpStream> = Vec::new();
        for number in 0..=TALKING.informed as u64 {
            ends.push(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
            let (stream, from) = listener.accept().unwrap();
            handshakes.begin(number, &Caller { stream, from, class: Informed, reply: [0; REPLY_BYTES] });
        }
        let is_closed = |end: &&TcpStream| {
            end.set_nonblocking(true).unwrap();
            end.peek(&mut [0]).is_ok_and(|bytes| bytes == 0)
        };
        assert_eq!(ends.iter().filter(is_closed).count(), 1);
        assert_eq!(handshakes.lock().0.len(), TALKING.informed);
        let first = handshakes.lock().0[0].number;
        handshakes.end(first);
        assert_eq!(handshakes.lock().0.len(), TALKING.informed - 1);
    }
}
