//! The protocols by name, and what a session needs of a backend.

use std::str::FromStr;

use quorate_aby::{Aby, Garbling, TripleSource};
use quorate_crypto::Seed;
use quorate_engine::{Ctx, Demand, Error, Result};
use quorate_gadgets::Gadgets;
use quorate_gadgets::cost::Link;
use quorate_graph::Network;
use quorate_ring::Ring;
use quorate_ring::meter::Work;
use quorate_rss::{BitForm, CorrelationForm, Forms, Kind, Rss};

use crate::error::SessionError;
use crate::options::{FormChoice, Options};

/// A security model that this release can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Replicated sharing: 3, 5 or 7 parties, semi-honest, honest majority.
    Rss,
    /// Additive and xor sharing: 2 parties, semi-honest.
    Aby,
}

impl Protocol {
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Rss => "rss",
            Protocol::Aby => "aby",
        }
    }

    /// Parties where the user names no number.
    pub fn default_parties(self) -> usize {
        match self {
            Protocol::Rss => 3,
            Protocol::Aby => 2,
        }
    }

    /// Refuses a number of parties that the protocol cannot run with.
    ///
    /// # Errors
    /// [`quorate_engine::Misuse::Parties`].
    pub fn check_parties(self, parties: usize) -> Result<()> {
        match self {
            Protocol::Rss => Rss::check_parties(parties),
            Protocol::Aby => Aby::check_parties(parties),
        }
    }

    /// Who may cheat, in words, and what that rests on where triples come from there.
    pub fn security(self, parties: usize, triples: TripleSource) -> String {
        let follow = "follow the protocol; 128-bit computational security";
        match self {
            Protocol::Rss => {
                let t = (parties - 1) / 2;
                let who = if t == 1 { "1 party".into() } else { format!("{t} parties together") };
                format!(
                    "semi-honest: {who} of {parties} may try to learn more than the results from what they see, but all \
                     {follow} (AES-128, BLAKE3, TLS 1.3)"
                )
            }
            Protocol::Aby => {
                let more = match triples {
                    TripleSource::Transfers => "",
                    TripleSource::Paillier => {
                        "; triples from Paillier with 3072 bits, 2^-40 statistical for each answer"
                    }
                    TripleSource::Dgk => "; triples from DGK with 3072 bits and orders of 256",
                };
                format!(
                    "semi-honest: 1 party of 2 may try to learn more than the results from what it sees, but both {follow} \
                     (oblivious transfer from the discrete logarithm in ristretto255 and AES-128, BLAKE3, TLS 1.3{more})"
                )
            }
        }
    }
}

impl FromStr for Protocol {
    type Err = SessionError;

    fn from_str(name: &str) -> std::result::Result<Protocol, SessionError> {
        match name {
            "rss" => Ok(Protocol::Rss),
            "aby" => Ok(Protocol::Aby),
            other => Err(SessionError::UnknownProtocol { name: other.into(), known: "rss, aby" }),
        }
    }
}

/// A sharing that a session can run programs on: set up once, dry twin, correlations ahead of time.
#[allow(async_fn_in_trait)] // futures are single-threaded on purpose
pub(crate) trait Backend: Gadgets {
    /// Kinds of correlations.
    type Kind: Ord + Clone + std::fmt::Display;
    /// With the party's own coins grown from `coins`, where they are given.
    async fn setup(ctx: &Ctx, coins: Option<&Seed>, options: &Options) -> Result<Self>;
    /// The same party for dry runs, which take what its own take with these options.
    fn dry(parties: usize, me: usize, options: &Options) -> Result<Self>;
    /// Has as much under way as a line holds, which takes memory.
    fn fill_line(&self, _network: Network) {}
    fn record_demand(&self);
    fn take_demand(&self) -> Demand<Self::Kind>;
    async fn prepare(&self, ctx: &Ctx, demand: Demand<Self::Kind>) -> Result<()>;
    fn clear_stock(&self);
    /// When circuits are garbled: alike at all parties and in dry runs.
    fn set_garbling(&self, _garbling: Garbling) {}
    /// When they shall be, for all that is demanded, if a byte of the offline phase counts so much.
    fn garbling_for(&self, _demand: &Demand<Self::Kind>, _offline_weight: f64) -> Garbling {
        Garbling::Ahead
    }
    /// Whether this party would run garbled circuits alone then, and leave them out online.
    fn garbles_alone(&self) -> bool {
        false
    }
    /// Counts this work to what it does alone, in a dry run.
    fn defer(&self, _work: &Work) {}
    /// Garbles ahead, after [`Backend::prepare`], the circuits of `online`, if that is when; what the party that garbles has then.
    async fn garble_ahead<T>(&self, _: &Ctx, _online: impl AsyncFnOnce(&Ctx) -> Result<T>) -> Result<Option<T>> {
        Ok(None)
    }
    /// Shares of each value that a party holds.
    fn shares(&self) -> u64;
    /// What the room of gadgets grows with: shares, as often as correlations made on the way hold them, about.
    fn work_shares(&self) -> u64;
    /// Bytes of one party's shares of a vector over Z_2^bits (packed bits for 1).
    fn value_bytes(&self, bits: u32, len: usize) -> u64;
    /// Bytes that a party keeps for the whole session, where they are many.
    fn held_bytes(&self) -> u64 {
        0
    }
    /// Bytes of one party's stock of correlations.
    fn stock_bytes(&self, kind: &Self::Kind, len: usize) -> u64;
}

/// Chooses between protocols with one result: alike at all parties and in dry runs.
fn forms(options: &Options) -> Forms {
    let link = options.network.map(|network| Link {
        round_trip_seconds: network.rtt.as_secs_f64(),
        bytes_per_second: network.bits_per_second.map_or(f64::INFINITY, |bits| bits / 8.0),
    });
    let correlations = match (options.forms, link) {
        (FormChoice::EdaBits, _) => CorrelationForm::Contributions,
        (FormChoice::RandomBits, _) => CorrelationForm::RandomBits,
        (FormChoice::Auto, Some(link)) => CorrelationForm::Cheaper(link),
        (FormChoice::Auto, None) => CorrelationForm::Summands,
    };
    // Three parties work on summands unless a form is asked for: that is cheaper on every link.
    let bits = if options.forms == FormChoice::Auto { BitForm::Summands } else { BitForm::Masked };
    Forms { bits, correlations }
}

impl Backend for Rss {
    type Kind = Kind;

    async fn setup(ctx: &Ctx, coins: Option<&Seed>, options: &Options) -> Result<Self> {
        let rss = match coins {
            Some(coins) => Rss::setup_from(ctx, coins).await,
            None => Rss::setup(ctx).await,
        }?;
        rss.set_forms(forms(options));
        Ok(rss)
    }

    fn dry(parties: usize, me: usize, options: &Options) -> Result<Self> {
        let rss = Rss::dry(parties, me)?;
        rss.set_forms(forms(options));
        Ok(rss)
    }

    fn record_demand(&self) {
        Rss::record_demand(self);
    }

    fn take_demand(&self) -> Demand<Self::Kind> {
        Rss::take_demand(self)
    }

    async fn prepare(&self, ctx: &Ctx, demand: Demand<Self::Kind>) -> Result<()> {
        Rss::prepare(self, ctx, demand).await
    }

    fn clear_stock(&self) {
        Rss::clear_stock(self);
    }

    fn shares(&self) -> u64 {
        self.shares_held() as u64
    }

    fn work_shares(&self) -> u64 {
        // Those of the contributions of t + 1 parties.
        let contributions = self.threshold() as u64 + 1;
        self.shares() * contributions / 2
    }

    fn value_bytes(&self, bits: u32, len: usize) -> u64 {
        let one_share = match bits {
            1 => len.div_ceil(8),
            _ => len * Ring::of(bits).carrier().bytes(),
        };
        (one_share * self.shares_held()) as u64
    }

    fn stock_bytes(&self, kind: &Self::Kind, len: usize) -> u64 {
        Rss::stock_bytes(self, *kind, len)
    }
}

impl Backend for Aby {
    type Kind = quorate_aby::Kind;

    async fn setup(ctx: &Ctx, coins: Option<&Seed>, options: &Options) -> Result<Self> {
        let drawn =
            Seed::random().map_err(|_| Error::Bug { what: "the operating system has no randomness to give" })?;
        let own = coins.unwrap_or(&drawn);
        let mut aby = Aby::setup_from(ctx, own).await?;
        aby.set_up_triples(ctx, options.triples, own).await?;
        Ok(aby)
    }

    fn dry(parties: usize, me: usize, options: &Options) -> Result<Self> {
        Aby::dry_with(parties, me, options.triples)
    }

    fn fill_line(&self, network: Network) {
        let bits = network.bits_per_second.map(|bits| network.rtt.as_secs_f64() * bits);
        Aby::fill_line(self, bits.map_or(0, |bits| (bits / 8.0) as usize));
    }

    fn record_demand(&self) {
        Aby::record_demand(self);
    }

    fn take_demand(&self) -> Demand<Self::Kind> {
        Aby::take_demand(self)
    }

    async fn prepare(&self, ctx: &Ctx, demand: Demand<Self::Kind>) -> Result<()> {
        Aby::prepare(self, ctx, demand).await
    }

    fn clear_stock(&self) {
        Aby::clear_stock(self);
    }

    fn set_garbling(&self, garbling: Garbling) {
        Aby::set_garbling(self, garbling);
    }

    fn garbling_for(&self, demand: &Demand<Self::Kind>, offline_weight: f64) -> Garbling {
        Aby::garbling_for(demand, offline_weight)
    }

    fn garbles_alone(&self) -> bool {
        Aby::garbles_alone(self)
    }

    fn defer(&self, work: &Work) {
        Aby::defer(self, work);
    }

    async fn garble_ahead<T>(&self, ctx: &Ctx, online: impl AsyncFnOnce(&Ctx) -> Result<T>) -> Result<Option<T>> {
        Aby::garble_ahead(self, ctx, online).await
    }

    fn shares(&self) -> u64 {
        1
    }

    fn work_shares(&self) -> u64 {
        8
    }

    fn value_bytes(&self, bits: u32, len: usize) -> u64 {
        let share = match bits {
            1 => len.div_ceil(8),
            _ => len * Ring::of(bits).carrier().bytes(),
        };
        share as u64
    }

    fn stock_bytes(&self, kind: &Self::Kind, len: usize) -> u64 {
        Aby::stock_bytes(self, kind, len)
    }

    fn held_bytes(&self) -> u64 {
        Aby::held_bytes(self)
    }
}
