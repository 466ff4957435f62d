//! Shuffle: moves rows into an order that no party knows, unless all parties collude.
//!
//! **Source**: permutation networks (Waksman 1968), with switches as secret bits (docs/security/spdz2k.md). **Model**:
//! malicious, all but one. Each party in turn moves the rows by a uniform permutation of its own.
//!
//! | step | rounds | what |
//! |---|---|---|
//! | 1 | 1 | every party inputs the settings of its switches |
//! | 2 | 2 | settings b are bits: open b b - b, 0 modulo 2^k, or the run ends |
//! | 3 | a layer of a network: 1 | b (y - x) for the cells x and y of each switch; x plus it, y minus it |
//!
//! n parties and m rows: n (2 ceil(log2 m) - 1) layers, about n m log2 m products of each element of a row. What step 2
//! opens is checked with all other openings, before anything is revealed.

use std::borrow::Cow;

use quorate_adversary::Twist;
use quorate_circuits::permutation_network::{Layers, Switch, layer_sizes, network, routed, switches};
use quorate_engine::{Ctx, Error, Form, Linear, Positions, Result, check_rows};
use quorate_ring::{Ring, Vector, Wiped};
use zeroize::Zeroizing;

use crate::messages::is_zero;
use crate::party::Authenticated;
use crate::tagged::Tagged;

const BITS: &str = "the switches of a shuffle";

impl Authenticated {
    pub(crate) async fn shuffle_rows(&self, ctx: &Ctx, columns: &[&Tagged], rows: usize) -> Result<Vec<Tagged>> {
        check_rows(columns.iter().map(|column| column.shape().1), rows)?;
        let mut shuffled: Vec<Tagged> = columns.iter().map(|&column| column.clone()).collect();
        let Some(largest) = columns.iter().map(|column| column.shape().0).max().filter(|_| rows > 1) else {
            return Ok(shuffled);
        };
        // A dry run has no switches, only their number.
        let layers = if ctx.is_dry() { Layers::default() } else { network(rows) };
        for settings in self.settings(ctx, rows, largest).await? {
            let mut before = 0;
            for (i, count) in layer_sizes(rows).into_iter().enumerate() {
                let layer = layers.get(i).map_or(&[][..], Vec::as_slice);
                let own = settings.linear(&Linear::Slice(before..before + count));
                before += count;
                let pass = async |ctx: Ctx, i: usize| self.pass(&ctx, &shuffled[i], rows, (layer, &own)).await;
                shuffled = ctx.join_all(columns.len(), pass).await?;
            }
        }
        Ok(shuffled)
    }

    /// Runs steps 1 and 2: returns the settings by party, layer by layer.
    async fn settings(&self, ctx: &Ctx, rows: usize, ring: Ring) -> Result<Vec<Tagged>> {
        let count = switches(rows);
        let own = self.keys.twisted(Twist::Switch, Wiped(self.own_settings(ctx, rows, ring)));
        let input = async |ctx: Ctx, owner: usize| {
            let value = (owner == self.keys.me).then_some(&*own);
            self.share_input(&ctx, owner, (ring, count), value).await
        };
        let settings = ctx.join_all(self.keys.parties, input).await?;
        let mut triples = Vec::new();
        for owner in 0..self.keys.parties {
            triples.push(self.owned(ctx, owner, (ring, count)).await?);
        }
        let square = async |ctx: Ctx, owner: usize| {
            let (own, triples) = (&settings[owner], triples[owner].clone());
            self.multiply_with(&ctx, Form::Product, [own, own], triples).await
        };
        let squares = ctx.join_all(self.keys.parties, square).await?;
        let rests: Vec<Tagged> = squares.iter().zip(&settings).map(|(x, y)| x.zip(y, Vector::sub_assign)).collect();
        let rest = self.open_elements(ctx, &Tagged::concat(&rests.iter().collect::<Vec<_>>())).await?;
        match rest.is_shape() || is_zero(&rest) {
            true => Ok(settings),
            false => Err(Error::Cheating { check: BITS }),
        }
    }

    /// Returns this party's permutation as settings of switches.
    fn own_settings(&self, ctx: &Ctx, rows: usize, ring: Ring) -> Vector {
        let mut coins = ctx.randomness().stream(&self.keys.private);
        if ctx.is_dry() {
            return Vector::shape(ring, switches(rows));
        }
        let layers: Layers = routed(&coins.permutation(rows));
        let crossed = layers.iter().flatten().map(|switch| u64::from(switch.crossed));
        let mut words = Zeroizing::new(Vec::with_capacity(switches(rows)));
        words.extend(crossed);
        Vector::from_u64s(ring, &words)
    }

    /// Runs step 3 for one layer and one column.
    async fn pass(
        &self,
        ctx: &Ctx,
        column: &Tagged,
        rows: usize,
        (layer, settings): (&[Switch], &Tagged),
    ) -> Result<Tagged> {
        let (ring, len) = column.shape();
        let width = len / rows;
        let elements = settings.shape().1 * width;
        // The elements of the upper cells, or of the lower ones.
        let cells = |side: usize| move |at: usize| layer[at / width].cells[side] as usize * width + at % width;
        let gather = |x: &Tagged, count: usize, from: &dyn Fn(usize) -> usize| {
            let list = || Cow::Owned((0..count).map(|at| from(at) as u32).collect());
            x.linear(&Linear::Gather(Positions::later(count, &list)))
        };
        let (x, y) = (gather(column, elements, &cells(0)), gather(column, elements, &cells(1)));
        let bits = gather(&settings.linear(&Linear::Reduce(ring)), elements, &|at| at / width);
        let moved = self.multiply(ctx, Form::Product, &bits, &y.zip(&x, Vector::sub_assign)).await?;
        let [x, y] = [x.zip(&moved, Vector::add_assign), y.zip(&moved, Vector::sub_assign)];
        let all = Tagged::concat(&[column, &x, &y]);
        let place = || {
            let mut place: Vec<u32> = (0..len as u32).collect();
            for side in 0..2 {
                (0..elements).for_each(|at| place[cells(side)(at)] = (len + side * elements + at) as u32);
            }
            Cow::Owned(place)
        };
        Ok(all.linear(&Linear::Gather(Positions::later(len, &place))))
    }
}
