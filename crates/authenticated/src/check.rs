//! The row check of all openings: rows of random bits select openings, and the selected ones are checked together.
//!
//! **Source**: ours (docs/security/spdz2k.md), in place of the usual batch check, which accepts a wrong top bit in half
//! of all runs. **Model**: malicious, all but one. **Notation**: l an opening; low_l the sum, as integers, of the lows
//! (the low k bits of shares) that the parties sent; high_l^j and m_l^j the upper share bits of P_j and its tag; chi
//! the rows, q one of s; [r_q] masks, uniform modulo 2^s, used once; K the largest ring of all openings. An opening of
//! k' bits enters 2^(K-k') times.
//!
//! | step | rounds | what |
//! |---|---|---|
//! | 1 | 1, n > 2 | all compare hashes of the lows and bits, and of the inputs, that they were told |
//! | | 1 | where bits with MACs were opened: each party tells each peer a hash of its MACs, which that one knows |
//! | 2 | 2 | toss the rows |
//! | 3 | 1; 2 if n > 2 | tell p_q^j = sum chi_ql high_l^j + r_q^j mod 2^s |
//! | 4 | 2 | commit to, open z_q^j = sum chi_ql (m_l^j - alpha^j low_l) + 2^K (m(r_q)^j - alpha^j p_q) |
//! | 5 | | all z_q add up to 0 modulo 2^(K+s), or the run ends |
//!
//! A wrong value passes with probability 2^-s + 2^-s, and a little more where tags are off. Step 1 compares in one
//! order at all parties: openings are ordered by their lane and use. At most one check of a session is under way at a
//! time.

use std::collections::BTreeMap;

use quorate_adversary::Twist;
use quorate_crypto::{Seed, ct_eq};
use quorate_engine::{Checked, Ctx, Error, LaneId, Linear, Openings, Result, Stocks};
use quorate_ring::meter::{charge_all, charged};
use quorate_ring::{Bits, Module, Ring, Vector};

use crate::bit_openings::Told;
use crate::keys::HASH_BYTES;
use crate::kind::Kind;
use crate::macs::MacBits;
use crate::messages::{is_zero, pack, total};
use crate::party::Authenticated;
use crate::tagged::Tagged;
use crate::unchecked::{Macs, Note, Unchecked};

/// The bits of masks: elements of the smallest ring, whose shares are used modulo 2^s.
const MASK_BITS: u32 = 1;
const CHECK: &str = "the tags of what was opened";
const ECHO: &str = "what parties told different peers";
/// Domains of hashes: of what was sent in one opening, of all openings, and of the MACs of all openings.
const TOLD: &str = "quorate 2026 spdz2k told v2";
const ALL_TOLD: &str = "quorate 2026 spdz2k all told v1";
const ALL_MACS: &str = "quorate 2026 spdz2k all macs v2";

/// Sums of each row over the openings of one ring.
struct Sums {
    ring: Ring,
    high: Vector,
    rest: Vector,
}

impl Authenticated {
    /// Notes an opening of x by shares of it, with what every party sent and the sum of that as integers.
    pub(crate) fn note(&self, ctx: &Ctx, x: &Tagged, mut high: Vector, (told, mut low): (&[Vector], Vector)) {
        let at = (ctx.lane(), ctx.next_use());
        self.note_told(ctx, at, told);
        high.shr_logical(x.ring.bits());
        low.scale(self.keys.key());
        low.rsub_assign(&x.tag);
        let high = high.convert(self.keys.params.keys());
        let note = Note { ring: x.ring, high, rest: low, times: ctx.counted_times() };
        ctx.keeps(note.bytes());
        self.unchecked(ctx).lock().notes.insert(at, note);
    }

    /// Notes what the owner of an input sent to all.
    pub(crate) fn note_input(&self, ctx: &Ctx, told: &Vector) {
        let at = (ctx.lane(), ctx.next_use());
        self.note_told(ctx, at, std::slice::from_ref(told));
    }

    /// Notes what the owner of an input of bits with MACs sent to all.
    pub(crate) fn note_input_of_bits(&self, ctx: &Ctx, told: &Bits) {
        let at = (ctx.lane(), ctx.next_use());
        self.note_told_bits(ctx, at, std::slice::from_ref(told));
    }

    fn note_told_bits(&self, ctx: &Ctx, at: (LaneId, u64), told: &[Bits]) {
        self.adversary().hears(told);
        self.note_hash(ctx, at, told);
    }

    fn note_told(&self, ctx: &Ctx, at: (LaneId, u64), told: &[Vector]) {
        self.adversary().hears(told);
        self.note_hash(ctx, at, told);
    }

    fn note_hash<M: Module>(&self, ctx: &Ctx, at: (LaneId, u64), told: &[M]) {
        if self.keys.parties == 2 {
            return;
        }
        let (instance, mut hash) = (ctx.randomness().instance(), [0; HASH_BYTES]);
        if !ctx.is_dry() {
            let mut bytes = instance.to_le_bytes().to_vec();
            told.iter().for_each(|one| one.pack(&mut bytes));
            hash = *self.keys.hasher(TOLD).update(&bytes).finalize().as_bytes();
        }
        ctx.keeps(size_of_val(&(at, hash)));
        self.unchecked(ctx).lock().told.insert(at, hash);
    }

    /// Notes an opening of bits with MACs, and what every party sent; `None` at a dealer, who receives nothing.
    pub(crate) fn note_macs(&self, ctx: &Ctx, told: Option<(&MacBits, &Told)>) {
        let (at, instance) = ((ctx.lane(), ctx.next_use()), ctx.randomness().instance());
        self.note_told_bits(ctx, at, told.map_or(&[], |(_, told)| &told.all));
        let hashes = match told {
            Some((x, told)) => self.keys.hashes_of_macs(instance, x, told),
            None => vec![[[0; HASH_BYTES]; 2]],
        };
        ctx.keeps(size_of_val(&at) + size_of_val(&*hashes));
        self.unchecked(ctx).lock().macs.insert(at, hashes);
    }

    /// Checks all that was opened since the last check.
    pub(crate) async fn check_openings(&self, ctx: &Ctx) -> Result<Checked> {
        self.keys.in_use()?;
        let (before, unchecked) = (ctx.openings(), self.unchecked(ctx).take());
        if unchecked.notes.is_empty() {
            return self.check_under(ctx, (before, unchecked), None).await;
        }
        let [masks] = self.draw(ctx, Kind::Random { bits: MASK_BITS }, self.rows()).await?.into_vectors()?;
        self.check_under(ctx, (before, unchecked), Some(&masks)).await
    }

    /// Returns the ring and the number of the masks that a check takes.
    pub fn masks_of_a_check(&self) -> (Ring, usize) {
        (Ring::of(MASK_BITS), self.rows())
    }

    /// Checks all that was opened since the last check with these masks, random elements that are used once.
    ///
    /// # Errors
    /// [`Error::Cheating`] where a check fails; any error that ends a run.
    pub async fn check_with(&self, ctx: &Ctx, masks: &Tagged) -> Result<()> {
        self.keys.in_use()?;
        let opened = (ctx.openings(), self.unchecked(ctx).take());
        self.check_under(ctx, opened, Some(masks)).await.map(|_| ())
    }

    /// Returns whether nothing was opened since the last check.
    pub fn is_all_checked(&self, ctx: &Ctx) -> bool {
        let unchecked = self.unchecked(ctx).lock();
        unchecked.notes.is_empty() && unchecked.macs.is_empty() && unchecked.told.is_empty()
    }

    /// Returns the number of rows: one for each bit of the keys.
    fn rows(&self) -> usize {
        self.keys.params.key_bits() as usize
    }

    /// Runs all steps for what was opened before.
    async fn check_under(
        &self,
        ctx: &Ctx,
        (before, Unchecked { notes, told, macs }): (Openings, Unchecked),
        masks: Option<&Tagged>,
    ) -> Result<Checked> {
        self.compare(ctx, told).await?;
        let notes: Vec<Note> = notes.into_values().collect();
        if self.keys.dealt && (!notes.is_empty() || !macs.is_empty()) {
            let checked = async |ctx: Ctx| self.check_rows(&ctx, (notes, macs, masks), before).await;
            return self.checked_for_third(ctx, before, checked).await;
        }
        self.check_rows(ctx, (notes, macs, masks), before).await
    }

    /// Runs step 1 for bits, and steps 2 to 5.
    async fn check_rows(
        &self,
        ctx: &Ctx,
        (notes, macs, masks): (Vec<Note>, Macs, Option<&Tagged>),
        before: Openings,
    ) -> Result<Checked> {
        let check = async || {
            self.compare_macs(ctx, macs).await?;
            let (Some(largest), Some(masks)) = (notes.iter().map(|note| note.ring).max(), masks) else {
                return Checked::if_it_holds(CHECK, before, notes.is_empty());
            };
            let highs = self.keys.params.keys();
            let masks = masks.map(|mask| Linear::Reduce(highs).apply(mask));
            let coins = ctx.toss(&self.keys.session).await?;
            let sums = sums_of_rows(ctx, notes, (coins, self.rows()));
            Checked::if_it_holds(CHECK, before, self.rows_hold(ctx, &sums, (&masks, largest)).await?)
        };
        self.keys.one_check(check).await
    }

    /// Sends each peer a hash of the MACs of all opened bits of this party, and compares the hashes of the peers.
    async fn compare_macs(&self, ctx: &Ctx, macs: Macs) -> Result<()> {
        if macs.is_empty() {
            return Ok(());
        }
        let of_peer = |peer: usize| {
            [0, 1].map(|i| {
                let mut hasher = self.keys.hasher(ALL_MACS);
                macs.values().for_each(|hashes| {
                    hasher.update(&hashes[peer][i]);
                });
                *hasher.finalize().as_bytes()
            })
        };
        let hashes: Vec<_> = (0..self.keys.parties - 1).map(of_peer).collect();
        self.keys.compare_hashes(ctx, &hashes).await
    }

    /// Runs step 1.
    async fn compare(&self, ctx: &Ctx, told: BTreeMap<(LaneId, u64), [u8; HASH_BYTES]>) -> Result<()> {
        if told.is_empty() {
            return Ok(());
        }
        let mut hasher = self.keys.hasher(ALL_TOLD);
        told.values().for_each(|hash| {
            hasher.update(hash);
        });
        let hash = *hasher.finalize().as_bytes();
        let peers = self.keys.peers();
        let outgoing: Vec<_> = peers.iter().map(|&peer| (peer, &hash[..])).collect();
        let incoming: Vec<_> = peers.iter().map(|&peer| (peer, HASH_BYTES)).collect();
        let others = ctx.exchange_bytes(&outgoing, &incoming).await?;
        match ctx.is_dry() || others.iter().fold(true, |holds, other| holds & ct_eq(other, &hash)) {
            true => Ok(()),
            false => Err(Error::Cheating { check: ECHO }),
        }
    }

    /// Runs steps 3 to 5; returns whether all sums are 0.
    async fn rows_hold(&self, ctx: &Ctx, sums: &[Sums], (masks, largest): (&Tagged, Ring)) -> Result<bool> {
        let (mut own, rows) = (masks.share.clone(), masks.share.len());
        sums.iter().for_each(|sums| own.add_assign(&sums.high));
        let mut bytes = Vec::new();
        pack(&self.keys.twisted(Twist::Row, own), &mut bytes);
        let said = ctx.broadcast(Some(&self.keys.session), &bytes).await?;
        let ring = self.keys.params.shares(largest);
        let raised = |x: &Vector, by: u32| Linear::Raise(ring, by).apply(x);
        let mut z = raised(&total(ctx, &said, (self.keys.params.keys(), rows))?, largest.bits());
        z.scale(self.keys.key());
        z.rsub_assign(&raised(&masks.tag, largest.bits()));
        sums.iter().for_each(|sums| z.add_assign(&raised(&sums.rest, largest.bits() - sums.ring.bits())));
        let mut bytes = Vec::new();
        pack(&self.keys.twisted(Twist::RowTag, z), &mut bytes);
        let said = ctx.commit_and_open(&self.keys.session, "quorate/spdz2k/check", &bytes).await?;
        Ok(ctx.is_dry() || is_zero(&total(ctx, &said, (ring, rows))?))
    }
}

/// Step 2: returns the sums that the rows select, for each ring.
fn sums_of_rows(ctx: &Ctx, notes: Vec<Note>, (coins, count): ([u8; 32], usize)) -> Vec<Sums> {
    let seed = Seed::from_bytes(coins);
    let mut by_ring: BTreeMap<Ring, Sums> = BTreeMap::new();
    let mut rows = (!ctx.is_dry()).then(|| seed.prg("quorate/spdz2k/rows", b""));
    for note in notes {
        let before = charged();
        let mut chosen = match rows {
            Some(_) => Bits::zeros(count, note.rest.len()),
            None => Bits::shape(count, note.rest.len()),
        };
        if let Some(rows) = &mut rows {
            rows.fill(chosen.bytes_mut());
        }
        let [high, rest] = [&note.high, &note.rest].map(|x| x.sums_of_chosen(&chosen));
        by_ring
            .entry(note.ring)
            .and_modify(|sums| {
                sums.high.add_assign(&high);
                sums.rest.add_assign(&rest);
            })
            .or_insert(Sums { ring: note.ring, high, rest });
        // An opening that was counted once enters the check as often as it counts. If the check itself is counted more
        // than once, so is all that is charged here.
        let times = note.times / ctx.counted_times();
        charge_all(&(charged() - before).times(times.saturating_sub(1)));
    }
    by_ring.into_values().collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use quorate_crypto::SessionId;
    use quorate_engine::testing::parties;
    use quorate_engine::{Phase, Sharing};

    use super::*;
    use crate::params::Params;

    /// Returns how a check ends at party 0 if the last party says the same, but in another session.
    fn of_another_session(n: usize, bits: bool) -> Option<&'static str> {
        let mut ends = parties(n, |mut party| {
            let me = party.me();
            let mut run = party.begin_alone().unwrap();
            let done = run.phase(Phase::Online, async |ctx| {
                let mut s = Authenticated::insecure_set_up(ctx, Params::default(), None, None).await?;
                if me == n - 1 {
                    Arc::get_mut(&mut s.0).unwrap().keys.session = SessionId::from_bytes([1; 32]);
                }
                match bits {
                    true => s.open_bits(ctx, &s.public_bits(&Bits::zeros(1, 9))).await.map(drop)?,
                    false => s.open(ctx, &s.public(&Vector::zeros(Ring::of(8), 9))).await.map(drop)?,
                }
                s.check(ctx).await.map(drop)
            });
            run.finish();
            done.err()
        });
        // The party that finds it first informs the others.
        let found = ends.drain(..).filter_map(|end| match end {
            Some(Error::Cheating { check }) => Some(check),
            _ => None,
        });
        found.min()
    }

    /// Without masks, the sums of upper bits that are zero would be zeros.
    #[test]
    fn what_rows_say_of_upper_bits_is_masked() {
        let (params, ring) = (Params::default(), Ring::of(8));
        let said = parties(2, |mut party| {
            party.insecure_record();
            let mut run = party.begin_alone().unwrap();
            let done = run.phase(Phase::Online, async |ctx| {
                let s = Authenticated::insecure_set_up(ctx, params, None, None).await?;
                s.open(ctx, &s.public(&Vector::zeros(ring, 9))).await?;
                s.check(ctx).await.map(drop)
            });
            run.finish();
            done.unwrap();
            let of_rows = params.keys().packed_bytes(params.key_bits() as usize);
            let heard = party.insecure_transcript().into_iter().map(|received| received.bytes);
            heard.filter(|bytes| bytes.len() == of_rows).collect::<Vec<_>>()
        });
        for said in said {
            assert_eq!(said.len(), 1);
            let sums: Vec<&[u8]> = said[0].chunks(params.keys().packed_bytes(1)).collect();
            assert!(sums.iter().all(|sum| sum.iter().any(|&byte| byte != 0)), "{said:?}");
        }
    }

    /// What was sent, and MACs of bits, are compared by hashes that are valid in their session only; before rows, coins
    /// of the session are tossed.
    #[test]
    fn hashes_of_another_session_do_not_count() {
        assert_eq!([false, true].map(|bits| of_another_session(3, bits)), [Some(ECHO); 2]);
        assert_eq!(of_another_session(2, true), Some("the MACs of opened bits"));
        assert_eq!(of_another_session(2, false), Some("an opened commitment"));
    }
}
