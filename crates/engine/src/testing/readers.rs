//! The readers of a peer's bytes, for fuzz targets. Where there is a writer, a reader here returns what it has read, in
//! the form that the writer gives it.

use std::time::Duration;

use quorate_net::{Net, memory};
use quorate_ring::{Ring, Vector};

use crate::costs::Phase;
use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::handshake::{self, Greeted, Greeting, Trace};
use crate::party::Party;
use crate::plans::Plans;
use crate::rates::Rates;
use crate::wire::{self, FrameType, HEADER_BYTES};

/// The number of parties in a session whose frames are read.
const PARTIES: usize = 3;
/// The largest number of runs that a party begins for the frames of [`party`]; each takes one frame at least.
const RUNS: usize = 100;

/// Reads a frame's header and, in a frame of data, all pieces.
///
/// # Errors
/// The fault of the frame.
pub fn frame(bytes: &[u8]) -> std::result::Result<Vec<u8>, &'static str> {
    let head = wire::header(bytes)?;
    let mut written = wire::frame(head.kind, head.number);
    if head.kind != FrameType::Data {
        written.extend_from_slice(&bytes[HEADER_BYTES..]);
        return Ok(written);
    }
    let mut at = HEADER_BYTES;
    while at < bytes.len() {
        let piece = wire::piece(bytes, at)?;
        let payload = &bytes[piece.payload.clone()];
        if payload.len() > wire::PIECE_BYTES {
            return Err("a piece that no party sends");
        }
        wire::push_piece(&mut written, piece.tag, piece.lane, piece.number, payload.len());
        written.extend_from_slice(payload);
        at = piece.payload.end;
    }
    Ok(written)
}

/// Reads the body of an abort of three parties.
///
/// # Errors
/// The fault of the body.
pub fn abort(number: u32, body: &[u8]) -> std::result::Result<Vec<u8>, &'static str> {
    let abort = wire::abort(number, body, PARTIES)?;
    Ok(wire::abort_frame(abort)[HEADER_BYTES..].to_vec())
}

/// Reads the body of a greeting, and compares its terms with `ours`. `None` if it is no greeting.
pub fn greeting(body: &[u8], ours: &str) -> Option<Vec<u8>> {
    let greeted = Greeted::read(body)?;
    let _ = handshake::other_choice(1, greeted.terms, ours);
    let hash = |bytes: &[u8]| bytes.try_into().unwrap_or_default();
    let greeting = Greeting {
        program: hash(greeted.program),
        request: hash(greeted.request),
        terms: String::from_utf8_lossy(greeted.terms).into(),
        note: greeted.note.to_vec(),
    };
    let mut written = Vec::new();
    greeting.write(&mut written);
    Some(written)
}

/// Reads the body of a trace, and compares it with `ours`. `None` if it is no trace.
pub fn trace(body: &[u8], ours: &Trace) -> Option<Vec<u8>> {
    let theirs = Trace::read(body)?;
    let _ = (ours.parting(&theirs), theirs.parting(ours));
    let mut written = Vec::new();
    theirs.write(&mut written);
    Some(written)
}

/// Reads a peer's description of a node.
pub fn node(body: &[u8]) -> String {
    handshake::presentable(body)
}

/// Compares the hashes of a peer's plans with this party's.
///
/// # Errors
/// The error that ends the run.
pub fn plan(own: [u8; 32], theirs: &[&[u8]]) -> Result<()> {
    let plans = Plans::new(2);
    plans.decide(own)?;
    theirs.iter().try_for_each(|bytes| plans.hear(1, bytes))
}

/// Takes a peer's rates into those of a machine for which everything takes no time. Returns whether they are rates.
pub fn rates(bytes: &[u8]) -> bool {
    Rates::new([0.0; quorate_ring::meter::Kernel::COUNT], 0.0, 0.0).raise(1, bytes).is_ok()
}

/// Runs a party of two to which its peer sends these frames and then leaves: runs of rounds and joins. Every
/// error is typed, and the session is over at the end.
///
/// # Panics
/// If the session goes on.
pub fn party(frames: impl IntoIterator<Item = Vec<u8>>) {
    let mut nets = memory::mesh(2).into_iter();
    let (Some(net), Some(mut peer)) = (nets.next(), nets.next()) else { return };
    let mut party = Party::new(Box::new(net));
    party.set_patience(Some(Duration::from_millis(20)));
    let sent = frames.into_iter().try_for_each(|frame| peer.send(0, frame));
    drop(peer);
    let ended = (0..RUNS).map(|_| one_run(&mut party)).find(|ended| ended.as_ref().is_err_and(Error::is_final));
    assert!(party.is_over(), "{ended:?}, {sent:?}");
}

fn one_run(party: &mut Party) -> Result<()> {
    const RING: Ring = Ring::of(64);
    let mut run = party.begin_alone()?;
    run.phase(Phase::Online, async |ctx| {
        let round = async |ctx: Ctx| ctx.exchange::<Vector>(&[], &[(1, (RING, 1))]).await;
        ctx.exchange(&[(1, &Vector::zeros(RING, 1))], &[(1, (RING, 1))]).await?;
        ctx.join(round, round).await
    })?;
    run.finish();
    Ok(())
}
