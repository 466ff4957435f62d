//! Tests of the views of P0 and P1 in a run with an honest dealer. With keys of 2 and 3 bits they are exhaustive over
//! Z_2; with keys of any length they follow the masks of messages.
//!
//! A viewer knows its seed with P2, but not the other party's seed: the draws from that seed are put on a tape. Some of
//! them are masks; the others are hidden values (listed in `dealing`). P2's own coins are on a tape, too. The coins
//! that P0 and P1 toss are known to both; they are fixed at several values.

mod dealing;
mod online;
mod script;
mod third;

use std::sync::Arc;

use quorate_authenticated::{Params, Seat};
use quorate_crypto::{Seed, SessionId, Tape};
use quorate_engine::testing::{Received, leaks, parties};
use quorate_engine::{Ctx, Phase, Result};
use quorate_pika::{Pika, PikaMalicious};
use quorate_ring::{Bits, Ring, Vector};

use self::script::Masked;
use crate::common::N;

/// The layout of numbers in a draw, or in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Elements of Z_2^k: k and their number.
    Elements(u32, usize),
    /// A row of bits.
    Row(usize),
    /// Two rows of bits.
    Rows(usize),
}

impl Layout {
    pub fn len(self) -> usize {
        match self {
            Layout::Elements(_, len) | Layout::Row(len) => len,
            Layout::Rows(len) => 2 * len,
        }
    }

    /// Returns the number of bits of a number.
    pub fn width(self) -> u32 {
        match self {
            Layout::Elements(width, _) => width,
            Layout::Row(_) | Layout::Rows(_) => 1,
        }
    }

    fn vector(self, numbers: &[u128]) -> Vector {
        Vector::from_u128s(Ring::of(self.width()), numbers)
    }

    /// Returns numbers as the bytes that a stream gives.
    fn drawn(self, numbers: &[u128]) -> Vec<u8> {
        assert_eq!(numbers.len(), self.len());
        match self {
            Layout::Elements(..) => self.vector(numbers).bytes_mut().to_vec(),
            Layout::Row(_) => self.vector(numbers).to_bits(0..1).bytes_mut().to_vec(),
            Layout::Rows(_) => panic!("what is drawn is one row"),
        }
    }

    /// Returns the numbers of a message.
    pub fn read(self, bytes: &[u8]) -> Vec<u128> {
        match self {
            Layout::Elements(width, len) => Vector::unpack(Ring::of(width), len, bytes).unwrap().to_u128s(),
            Layout::Row(len) => numbers_of(&Bits::unpack(1, len, bytes).unwrap()),
            Layout::Rows(len) => numbers_of(&Bits::unpack(2, len, bytes).unwrap()),
        }
    }
}

/// Returns bits row by row.
fn numbers_of(bits: &Bits) -> Vec<u128> {
    bits.to_bools().into_iter().map(u128::from).collect()
}

/// All draws from one seed, in order.
pub type Draws = Vec<(Layout, Vec<u128>)>;

/// Returns pseudorandom numbers that differ for each name.
pub fn noise(layout: Layout, name: u64) -> Vec<u128> {
    let mut prg = Seed::from_bytes([9; 32]).prg("quorate/pika/test", &name.to_le_bytes());
    let mask = Ring::of(layout.width()).mask();
    let mut number = || (u128::from(prg.next_u64()) << 64 | u128::from(prg.next_u64())) & mask;
    (0..layout.len()).map(|_| number()).collect()
}

/// Everything that a run depends on, besides inputs.
#[derive(Clone)]
pub struct World {
    pub params: Params,
    /// Draws of the seeds of P0 and P2, of P1 and P2, and of P2's own.
    pub draws: [Draws; 3],
    /// The bytes of the first two seeds, from which keys are derived.
    pub keys: [[u8; 32]; 2],
    /// The number from which the coins of P0 and P1 are derived.
    pub coins: u64,
}

/// Returns bytes of a seed of P0 or of P1 with P2 for which its part of alpha is this number.
pub fn key_of(params: Params, alpha: u64) -> [u8; 32] {
    let session = SessionId::from_bytes([0; 32]);
    let mut bytes = (0u64..).map(|i| {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&i.to_le_bytes());
        bytes
    });
    let is_right = |bytes: &[u8; 32]| {
        let keys = Seed::from_bytes(*bytes).derive("quorate/pika/malicious/keys", b"");
        *Seat::keys_of(params, &session, &keys).0 == alpha
    };
    bytes.find(is_right).unwrap()
}

/// A party's messages in a world, and its result.
pub struct Seen<T> {
    pub heard: Vec<Received>,
    pub result: T,
}

/// Runs all worlds, one after the other, each among parties of its own; returns the view of `viewer` of each.
pub fn observe<T: Send>(
    worlds: &[World],
    viewer: usize,
    work: impl AsyncFn(&PikaMalicious, &Ctx, usize) -> Result<T> + Sync,
) -> Vec<Seen<T>> {
    let each = worlds.iter().enumerate();
    each.map(|(number, world)| observe_one(world, viewer, async |s, ctx| work(s, ctx, number).await)).collect()
}

fn observe_one<T: Send>(
    world: &World,
    viewer: usize,
    work: impl AsyncFn(&PikaMalicious, &Ctx) -> Result<T> + Sync,
) -> Seen<T> {
    let mut all = parties(N, |mut party| {
        let me = party.me();
        let bytes: Vec<Vec<u8>> = world
            .draws
            .iter()
            .map(|draws| draws.iter().flat_map(|(layout, numbers)| layout.drawn(numbers)).collect())
            .collect();
        let tapes: Vec<Arc<Tape>> = bytes.iter().map(|bytes| Tape::new(bytes.clone())).collect();
        let with = |i: usize, key: [u8; 32]| Seed::insecure_with_tape(key, tapes[i].clone());
        let seed = |peer: usize| match (me.min(peer), me.max(peer)) {
            (0, 2) => with(0, world.keys[0]),
            (1, 2) => with(1, world.keys[1]),
            (2, 2) => with(2, [1; 32]),
            _ => Seed::from_bytes([2 + me as u8 + peer as u8; 32]),
        };
        let pairs = Pika::insecure_with_seeds(me, seed).unwrap();
        let s = PikaMalicious::insecure_with(pairs, world.params).unwrap();
        let mut coins = [0; 32];
        coins[..8].copy_from_slice(&(N as u64 * world.coins + me as u64).to_le_bytes());
        party.set_coins(Seed::from_bytes(coins));
        party.insecure_record();
        let mut run = party.begin_alone().unwrap();
        let result = run.phase(Phase::Offline, async |ctx| work(&s, ctx).await);
        run.finish();
        for (i, (tape, bytes)) in tapes.iter().zip(&bytes).enumerate().filter(|(i, _)| me == 2 || *i == me) {
            assert_eq!(tape.drawn(), bytes.len(), "what party {me} draws of seed {i}");
        }
        let heard = party.insecure_transcript();
        party.leave(false);
        Seen { heard, result: result.unwrap() }
    });
    all.swap_remove(viewer)
}

/// Moves the masks of a message, which are side by side in it, so that the message becomes the wanted one.
pub fn move_masks(draws: &mut Draws, masks: &[usize], (layout, masked): (Layout, Masked), told: [&[u8]; 2]) {
    let [got, wanted] = told.map(|bytes| layout.read(bytes));
    if masked == Masked::Basis {
        let differs = got[0] ^ wanted[0];
        let bits = &mut draws[masks[0]].1;
        return bits.iter_mut().enumerate().for_each(|(i, bit)| *bit ^= differs >> i & 1);
    }
    let mut each = got.into_iter().zip(wanted);
    for &draw in masks {
        let (layout, numbers) = &mut draws[draw];
        let modulus = Ring::of(layout.width()).mask();
        for (number, (got, wanted)) in numbers.iter_mut().zip(&mut each) {
            let by = got.wrapping_sub(wanted);
            *number = modulus
                & match masked {
                    Masked::Minus => number.wrapping_add(by),
                    Masked::Plus => number.wrapping_sub(by),
                    Masked::Xor | Masked::Basis => *number ^ got ^ wanted,
                };
        }
    }
    assert!(each.next().is_none(), "a message that is longer than its masks");
}

/// Returns whether some view is more likely for one hidden value than for another.
pub fn tells(views: &[Vec<u128>], hidden: &[u64]) -> bool {
    let narrow = |view: &Vec<u128>| view.iter().map(|&number| u64::try_from(number).unwrap()).collect::<Vec<_>>();
    leaks(&views.iter().map(narrow).collect::<Vec<_>>(), &vec![0; hidden.len()], hidden)
}
