//! Shuffle: moves rows into an order that no party knows.
//!
//! **Source**: permute and share with a dealt share translation (Chase, Ghosh, Poburinnaya 2020, section 3; there it
//! is made by oblivious transfers). **Deviation**: a last order that parties 0 and 1 draw together, since the dealer
//! knows the others. **Model**: semi-honest, 1 of 3.
//!
//! **Notation**: the mover and party 2 know pi. The mover was dealt D, the other one a and b, with D + b = pi(a), a and
//! b uniform. Online the other one sends y = x - a for its share x, and keeps b; the mover's share is
//! pi(its share + y) + D. Parties 0 and 1 move in turn. Then both put their shares into a third order, drawn from a
//! seed that party 2 does not have. So party 0 lacks the order of party 1, party 1 that of party 0, and party 2 the
//! last one; each is uniform.
//!
//! | | rounds | sent |
//! |---|---|---|
//! | each of two passes | 1 | a row for each row, by the party that does not move |
//! | dealt for it | | a row for each row, to the mover |

use quorate_additive::order::{Order, read_order, row_elements};
use quorate_additive::stock::MISSING;
use quorate_engine::{Ctx, Result, Sharing, Stocks, check_rows};
use quorate_ring::Vector;

use crate::kind::Kind;
use crate::setup::Pika;
use crate::share::Share;

type A = Share<Vector>;

/// Returns the rows in this order; shapes need no order.
pub(crate) fn moved_rows(x: &A, order: &[u32], width: usize) -> A {
    match x.is_shape() {
        true => x.map(|x| x.gathered_shape(x.len())),
        false => x.map(|x| x.gather(&row_elements(order, width))),
    }
}

impl Pika {
    /// Moves the rows of all columns into one uniformly random order; a column of `rows` rows may hold several elements
    /// a row.
    pub(crate) async fn shuffle_rows(&self, ctx: &Ctx, columns: &[&A], rows: usize) -> Result<Vec<A>> {
        check_rows(columns.iter().map(|column| column.len()), rows)?;
        let mut shuffled: Vec<A> = columns.iter().map(|&column| column.clone()).collect();
        if rows < 2 || columns.is_empty() {
            return Ok(shuffled);
        }
        for mover in 0..2 {
            shuffled = self.move_rows(ctx, &shuffled, rows, mover).await?;
        }
        let coins = ctx.randomness();
        let last = match ctx.is_dry() || self.deals() {
            true => Order::default(),
            false => coins.stream(self.coins_with(self.peer())).permutation(rows),
        };
        Ok(shuffled.iter().map(|x| moved_rows(x, &last, x.len() / rows)).collect())
    }

    /// Runs one pass: moves the rows into an order of the mover.
    async fn move_rows(&self, ctx: &Ctx, columns: &[A], rows: usize, mover: usize) -> Result<Vec<A>> {
        let widths: Vec<(u32, usize)> = columns.iter().map(|c| (c.ring().bits(), c.len() / rows)).collect();
        let kind = Kind::Permutation { rows, columns: widths.clone(), mover };
        let mut dealt = self.draw(ctx, kind, 1).await?.vectors;
        let order = (mover == self.me).then(|| dealt.remove(0));
        let order = order.filter(|_| !ctx.is_dry()).map(|order| read_order(&order)).unwrap_or_default();
        let (first, second) = dealt.split_at(dealt.len().min(columns.len()));
        let way = (1 - mover, mover);
        let pass = async |ctx: Ctx, i: usize| {
            let (x, width) = (&columns[i], widths[i].1);
            if self.me != mover {
                self.pass_long(&ctx, way, &self.sub(x, &first[i])).await?;
                return second.get(i).cloned().ok_or(MISSING);
            }
            let hidden = self.pass_long(&ctx, way, x).await?.ok_or(MISSING)?;
            Ok(self.add(&moved_rows(&self.add(x, &hidden), &order, width), &first[i]))
        };
        ctx.join_all(columns.len(), pass).await
    }
}
