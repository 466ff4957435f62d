//! Shuffle: moves rows into an order that neither party knows.
//!
//! **Source**: permute and share by a permutation network of oblivious transfers (Mohassel, Sadeghian 2013), as a share
//! translation made offline (Chase, Ghosh, Poburinnaya 2020). **Model**: semi-honest, 1 of 2.
//!
//! **Notation**: pi is the mover's, uniform and its own. Offline the mover gets D and the other a and b with D + b =
//! pi(a), a uniform. Online the other sends y = x - a for its share x, and keeps b; the mover's share is pi(its share +
//! y) + D. Both parties move in turn: neither knows the composition, and the second pass makes the shares anew.
//!
//! | | rounds | sent |
//! |---|---|---|
//! | online, each of two passes | 1 | a row for each row, by the party that does not move |
//! | offline, each of two passes | 2 more than random oblivious transfer | for n rows about n log2 n switches |
//!
//! A switch (see [`quorate_circuits::permutation_network`]) takes a bit by the mover, a row by the other, an oblivious
//! transfer. Switches go through in parts, side by side, so that the memory besides the network does not grow with n
//! log2 n.
//!
//! Offline, a switch on cells with values v and w, crossed or not, makes them v + s (w - v) and w - s (w - v). This is
//! one product of the mover's bit s with the other's share of w - v.

use std::cell::RefCell;
use std::ops::Range;

use quorate_additive::blank;
use quorate_additive::open::opening;
use quorate_additive::order::{read_order, row_elements, stored_order};
use quorate_additive::stock::MISSING;
use quorate_circuits::permutation_network::{Layers, Switch, network, part, routed, switches};
use quorate_engine::{Chunks, Ctx, Result, Sharing, Slot, Stocks, check_rows};
use quorate_ring::meter::fetched;
use quorate_ring::{Bits, Module, Ring, Vector};
use zeroize::Zeroizing;

use crate::Share;
use crate::kind::{Kind, Material};
use crate::pads::pads;
use crate::setup::Aby;

type A = Share<Vector>;

/// The number of switches whose transfers are made together: each takes about a hundred bytes with its keys, and more
/// for each column.
const PART: usize = 1 << 17;

fn moved_rows(x: &A, order: &[u32], width: usize) -> A {
    let index = row_elements(order, width);
    x.map(|x| x.gather(&index))
}

impl Aby {
    /// Moves the rows of all columns into one uniformly random order; a column of `rows` rows may hold several elements
    /// a row.
    pub(crate) async fn shuffle_rows(&self, ctx: &Ctx, columns: &[&A], rows: usize) -> Result<Vec<A>> {
        check_rows(columns.iter().map(|column| column.len()), rows)?;
        let mut shuffled: Vec<A> = columns.iter().map(|&column| column.clone()).collect();
        if rows < 2 || columns.is_empty() {
            return Ok(shuffled);
        }
        let widths: Vec<(u32, usize)> = columns.iter().map(|c| (c.ring().bits(), c.len() / rows)).collect();
        for mover in 0..2 {
            let kind = Kind::Permutation { rows, columns: widths.clone(), mover };
            let mut made = self.draw(ctx, kind, 1).await?.vectors;
            let order = (mover == self.me).then(|| made.remove(0));
            let order = order.filter(|_| !ctx.is_dry()).map(|order| read_order(&order));
            let (first, second) = made.split_at(made.len().min(columns.len()));
            let pass = async |ctx: Ctx, i: usize| {
                let (x, width) = (&shuffled[i], widths[i].1);
                match mover == self.me {
                    true => {
                        let mut moved = self.add(x, &self.pass_long(&ctx, None, x.shape_of()).await?);
                        if let Some(order) = &order {
                            moved = moved_rows(&moved, order, width);
                        }
                        Ok(self.add(&moved, &first[i]))
                    }
                    false => {
                        let hidden = self.sub(x, &first[i]);
                        self.pass_long(&ctx, Some(&hidden), x.shape_of()).await?;
                        second.get(i).cloned().ok_or(MISSING)
                    }
                }
            };
            shuffled = ctx.join_all(columns.len(), pass).await?;
        }
        Ok(shuffled)
    }

    /// Sends a vector, or receives one, as a stream of chunks.
    async fn pass_long(&self, ctx: &Ctx, own: Option<&A>, (ring, len): (Ring, usize)) -> Result<A> {
        let mut received = Share::of(blank::<Vector>(ctx.is_dry(), (ring, if own.is_some() { 0 } else { len })));
        let work = async |ctx: Ctx, range: Range<usize>| match own {
            Some(own) => {
                let part = own.map(|v| v.slice(range.clone()));
                ctx.exchange::<Vector>(&[(self.peer(), &*part)], &[]).await.map(|_| None)
            }
            None => Ok(ctx.exchange::<Vector>(&[], &[(self.peer(), (ring, range.len()))]).await?.pop()),
        };
        let chunks = opening((ring, len));
        if len == 0 {
            return Ok(received);
        }
        ctx.stream_alike(chunks, work, |range, part| {
            if let Some(part) = part.map(Share::of) {
                received.write_at(range.start, &part);
            }
        })
        .await?;
        Ok(received)
    }

    /// Makes a permutation and its share translation.
    pub(crate) async fn make_permutation(
        &self,
        ctx: &Ctx,
        rows: usize,
        columns: &[(u32, usize)],
        mover: usize,
    ) -> Result<Material> {
        let columns: Vec<(Ring, usize)> = columns.iter().map(|&(bits, width)| (Ring::of(bits), width)).collect();
        let coins = ctx.randomness();
        if mover == self.me {
            if ctx.is_dry() {
                let order = stored_order(None, rows);
                let differences = self.follow_switches(ctx, &Layers::default(), rows, &columns).await?;
                return Ok(Material::of_vectors(std::iter::once(order).chain(differences).collect()));
            }
            let order = coins.stream(&self.private).permutation(rows);
            let differences = self.follow_switches(ctx, &routed(&order), rows, &columns).await?;
            let order = stored_order(Some(&order), rows);
            return Ok(Material::of_vectors(std::iter::once(order).chain(differences).collect()));
        }
        let mut own = coins.stream(&self.private);
        let masks: Vec<A> = columns.iter().map(|&(ring, width)| Share::of(own.draw((ring, rows * width)))).collect();
        let layers = if ctx.is_dry() { Layers::default() } else { network(rows) };
        let moved = self.offer_switches(ctx, &layers, rows, &masks, &columns).await?;
        Ok(Material::of_vectors(masks.into_iter().chain(moved).collect()))
    }

    /// Returns the mover's shares of the cells after all switches. Switches go through as a stream, a part of them at a
    /// time; their results are used in order. A dry run has no switches, only their number.
    async fn follow_switches(
        &self,
        ctx: &Ctx,
        layers: &Layers,
        rows: usize,
        columns: &[(Ring, usize)],
    ) -> Result<Vec<A>> {
        let blank_cells =
            |&(ring, width): &(Ring, usize)| Cells::new(Share::of(blank(ctx.is_dry(), (ring, rows * width))), width);
        let mut cells: Vec<Cells> = columns.iter().map(blank_cells).collect();
        let (aby, kinds) = (self.clone(), columns.to_vec());
        let work = async move |ctx: Ctx, settings| aby.choose_products(&ctx, settings, &kinds).await;
        let settings = |range| settings(ctx.is_dry(), layers, range);
        ctx.spread(parts(rows), settings, work, |range, parts: Vec<[A; 2]>| {
            for (cells, [settings, products]) in cells.iter_mut().zip(&parts) {
                cells.pass(layers, range.clone(), |difference, span| {
                    let mut product = difference.clone();
                    product.mul_assign(&settings.slice(span.clone()));
                    product.add_assign(&products.slice(span));
                    product
                });
            }
        })
        .await?;
        Ok(cells.into_iter().map(|cells| cells.values).collect())
    }

    /// Returns, for switches with these settings and each column, their settings and the summand for settings times own
    /// differences.
    async fn choose_products(
        &self,
        ctx: &Ctx,
        settings: Share<Bits>,
        columns: &[(Ring, usize)],
    ) -> Result<Vec<[A; 2]>> {
        let count = settings.lanes();
        let (mut place, keys) = self.ot.receive_random(ctx, count).await?;
        place.xor_assign(&settings);
        let place = Share::of(place);
        ctx.exchange(&[(self.peer(), &*place)], &[]).await?;
        let own = pads(ctx, keys.as_slice(), count, columns);
        drop(keys);
        let receive = async |ctx: Ctx, i: usize| {
            let (ring, width) = columns[i];
            self.pass_long(&ctx, None, (ring, width * count)).await
        };
        let corrections = ctx.join_all(columns.len(), receive).await?;
        let column = |((own, corrections), &(ring, width)): ((A, A), &(Ring, usize))| {
            let each = settings_of(&settings, ring, width);
            let mut products = corrections;
            products.mul_assign(&each);
            products.add_assign(&own);
            [each, products]
        };
        Ok(own.into_iter().zip(corrections).zip(columns).map(column).collect())
    }

    /// Returns the other's shares of the cells after all switches, with `masks` in the cells before. Parts of a stream
    /// take turns at the cells, except in a dry run: its cells have no values, and it may skip parts.
    async fn offer_switches(
        &self,
        ctx: &Ctx,
        layers: &Layers,
        rows: usize,
        masks: &[A],
        columns: &[(Ring, usize)],
    ) -> Result<Vec<A>> {
        let parts = parts(rows);
        let with_width = |(mask, &(_, width)): (&A, &(Ring, usize))| Cells::new(mask.clone(), width);
        let cells: RefCell<Vec<Cells>> = RefCell::new(masks.iter().zip(columns).map(with_width).collect());
        let turns: Vec<Slot<()>> = (0..=parts.count()).map(|_| Slot::default()).collect();
        turns[0].set(ctx, ());
        let work = async |ctx: Ctx, range: Range<usize>| {
            let offers = self.offer_products(&ctx, range.len(), columns).await?;
            let turn = range.start / parts.chunk;
            if !ctx.is_dry() {
                turns[turn].get(&ctx).await;
            }
            let pass = |(cells, [straight, mut corrections]): (&mut Cells, [A; 2])| {
                cells.pass(layers, range.clone(), |difference, span| {
                    corrections.add_at(span.start, difference);
                    let mut product = straight.slice(span);
                    product.neg_assign();
                    product
                });
                corrections
            };
            let corrections: Vec<A> = cells.borrow_mut().iter_mut().zip(offers).map(pass).collect();
            turns[turn + 1].set(&ctx, ());
            let send = async |ctx: Ctx, i: usize| {
                self.pass_long(&ctx, Some(&corrections[i]), corrections[i].shape_of()).await.map(drop)
            };
            ctx.join_all(columns.len(), send).await.map(drop)
        };
        ctx.stream_alike(parts, work, |_, ()| ()).await?;
        Ok(cells.into_inner().into_iter().map(|cells| cells.values).collect())
    }

    /// Returns, for `count` switches and each column, the value that is subtracted where a switch is straight, and
    /// straight - crossed, to which the difference is added.
    async fn offer_products(&self, ctx: &Ctx, count: usize, columns: &[(Ring, usize)]) -> Result<Vec<[A; 2]>> {
        let [keys, other_keys] = self.ot.send_random(ctx, count).await?;
        let flips = ctx.exchange::<Bits>(&[], &[(self.peer(), (1, count))]).await?.pop().ok_or(MISSING)?;
        let [zeros, ones] = [keys, other_keys].map(|keys| pads(ctx, keys.as_slice(), count, columns));
        let column = |((zeros, ones), &(ring, width)): ((A, A), &(Ring, usize))| {
            // If the mover's place was flipped, the keys change places.
            let flips = settings_of(&flips, ring, width);
            let mut change = ones.zip(&zeros, Vector::sub_assign);
            let mut straight = change.clone();
            straight.mul_assign(&flips);
            straight.add_assign(&zeros);
            let mut signs = flips;
            signs.shl(1);
            signs.add_scalar(ring.mask());
            change.mul_assign(&signs);
            [straight, change]
        };
        Ok(zeros.into_iter().zip(ones).zip(columns).map(column).collect())
    }
}

/// Returns the settings of a range of switches, one row.
fn settings(dry: bool, layers: &Layers, range: Range<usize>) -> Share<Bits> {
    let count = range.len();
    if dry {
        return Share::of(Bits::shape(1, count));
    }
    let mut settings = Zeroizing::new(Vec::with_capacity(count));
    settings.extend(part(layers, range).flatten().map(|switch| switch.crossed));
    Share::of(Bits::from_bools(1, count, &settings))
}

/// Returns the switches whose transfers are made together.
pub(crate) fn parts(rows: usize) -> Chunks {
    Chunks { len: switches(rows), chunk: PART, window: 2 }
}

/// Returns one bit for each switch, as `width` elements each.
fn settings_of(bits: &Bits, ring: Ring, width: usize) -> Share<Vector> {
    let each = Share::of(bits.to_vector(ring));
    if each.is_shape() {
        return each.map(|each| each.gathered_shape(width * bits.lanes()));
    }
    let lanes: Vec<u32> = (0..bits.lanes() as u32).flat_map(|i| std::iter::repeat_n(i, width)).collect();
    each.map(|each| each.gather(&lanes))
}

/// The values of a column's cells while switches work on them.
struct Cells {
    values: A,
    width: usize,
}

impl Cells {
    fn new(values: A, width: usize) -> Cells {
        Cells { values, width }
    }

    /// Runs a range of the switches, by layers: `product` gives a share of s (w - v) for this share of w - v; its range
    /// names the elements. The switches of shapes count as one layer.
    fn pass(&mut self, layers: &Layers, range: Range<usize>, mut product: impl FnMut(&Vector, Range<usize>) -> Vector) {
        if self.values.is_shape() {
            let elements = 0..range.len() * self.width;
            let [v, w] = [0, 1].map(|_| self.values.map(|x| x.gathered_shape(elements.len())));
            let product = Share::of(product(&w.zip(&v, Vector::sub_assign), elements));
            [v.zip(&product, Vector::add_assign), w.zip(&product, Vector::sub_assign)]
                .iter()
                .for_each(|moved| fetched(moved.len()));
            return;
        }
        let mut at = 0;
        for layer in part(layers, range) {
            let span = at..at + layer.len() * self.width;
            at = span.end;
            self.switch(layer, |difference| product(difference, span));
        }
    }

    fn switch(&mut self, layer: &[Switch], product: impl FnOnce(&Vector) -> Vector) {
        let [first, second] = [0, 1].map(|which: usize| {
            let rows: Vec<u32> = layer.iter().map(|switch| switch.cells[which]).collect();
            row_elements(&rows, self.width)
        });
        let [v, w] = [&first, &second].map(|cells| self.values.map(|x| x.gather(cells)));
        let product = Share::of(product(&w.zip(&v, Vector::sub_assign)));
        self.scatter(&first, v.zip(&product, Vector::add_assign));
        self.scatter(&second, w.zip(&product, Vector::sub_assign));
    }

    /// Puts values into these cells.
    fn scatter(&mut self, cells: &[u32], mut values: A) {
        let bytes = values.ring().carrier().bytes();
        let (all, part) = (self.values.bytes_mut(), values.bytes_mut());
        for (&cell, value) in cells.iter().zip(part.chunks_exact(bytes)) {
            all[cell as usize * bytes..][..bytes].copy_from_slice(value);
        }
    }
}
