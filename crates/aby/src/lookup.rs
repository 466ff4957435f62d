//! Look-ups by two digits: xor shares of an entry of one party's table, at the place that the other party knows.
//!
//! **Source**: 1-of-N oblivious transfer from a random one (Beaver 1995), on tables for digits as in Dessouky et al.
//! 2017 and Rathee et al. 2020. **Model**: semi-honest, 1 of 2.
//!
//! **Notation**: offline the sender got a random table R, and the chooser a random place c and R_c. Online the chooser,
//! whose digit is b, sends d = b xor c, which c hides. The sender moves R by d, R'_j = R_{j xor d}, so the chooser
//! knows of R' only the entry at b. The sender takes z = T_0 xor R'_0 as its share and sends E_j = T_j xor z xor R'_j
//! for j > 0; E_0 is 0. The chooser's share is E_b xor R_c = T_b xor z. As R is uniform, each E_j with j not b hides
//! T_j, and z is uniform given the chooser's view.
//!
//! Each party is the sender in one half of a batch, so that both do the same work and send the same number of bytes.
//!
//! | | rounds | bits sent |
//! |---|---|---|
//! | a digit of w bits with entries of o bits | 2 | w by the chooser, (2^w - 1) o by the sender |

use std::ops::Range;

use quorate_additive::blank;
use quorate_engine::{Ctx, Result, Stocks};
use quorate_ring::Bits;

use crate::Share;
use crate::digits::{Digit, Table, chosen, moved, table};
use crate::kind::Kind;
use crate::setup::Aby;

/// Returns the lanes for which each party sends tables: halves, cut at a whole word.
pub(crate) fn halves(len: usize) -> [Range<usize>; 2] {
    let cut = (len / 2).next_multiple_of(64).min(len);
    [0..cut, cut..len]
}

/// A reader of a matrix that takes its rows group by group.
struct Rows<'b> {
    bits: &'b Bits,
    at: usize,
}

impl<'b> Rows<'b> {
    fn of(bits: &'b Bits) -> Rows<'b> {
        Rows { bits, at: 0 }
    }

    fn take(&mut self, count: usize) -> Share<Bits> {
        let rows = self.bits.slice_rows(self.at..self.at + count);
        self.at += count;
        Share::of(rows)
    }
}

fn stacked(parts: &[Share<Bits>]) -> Share<Bits> {
    Share::of(Bits::concat_rows(&parts.iter().map(|part| &**part).collect::<Vec<_>>()))
}

/// Returns the number of bits that the sender sends for all digits.
pub(crate) fn answer_bits(digits: &[Digit]) -> usize {
    digits.iter().map(|digit| (digit.entries() - 1) * digit.outputs()).sum()
}

/// Returns the sender's share z, and E without E_0, from its bits, its random tables and the chooser's d.
fn answer(digits: &[Digit], own: &Bits, random: &Bits, d: &Bits) -> (Share<Bits>, Share<Bits>) {
    let (mut own, mut random, mut d) = (Rows::of(own), Rows::of(random), Rows::of(d));
    let (mut shares, mut answers) = (Vec::new(), Vec::new());
    for &digit in digits {
        let width = digit.width as usize;
        let mut hidden = Share::of(table(digit, &own.take(width)));
        let table_bits = digit.entries() * digit.outputs();
        hidden.xor_assign(&Share::of(moved(digit, &random.take(table_bits), &d.take(width))));
        let mut rows = Rows::of(&hidden);
        let share = rows.take(digit.outputs());
        let mut answer = rows.take(table_bits - digit.outputs());
        let repeated: Vec<&Bits> = (1..digit.entries()).map(|_| &*share).collect();
        answer.xor_assign(&Share::of(Bits::concat_rows(&repeated)));
        shares.push(share);
        answers.push(answer);
    }
    (stacked(&shares), stacked(&answers))
}

/// Returns the chooser's share, from its bits, the entries of the random tables that it knows, and E without E_0.
fn choose(digits: &[Digit], own: &Bits, known: &Bits, answers: &Bits) -> Share<Bits> {
    let (mut own, mut answers) = (Rows::of(own), Rows::of(answers));
    let choose = |digit: &Digit| {
        let answer = answers.take((digit.entries() - 1) * digit.outputs());
        let shape = (digit.outputs(), answer.lanes());
        let first = if answer.is_shape() { Bits::shape(shape.0, shape.1) } else { Bits::zeros(shape.0, shape.1) };
        let entries = Share::of(Bits::concat_rows(&[&first, &answer]));
        Share::of(chosen(*digit, &entries, &own.take(digit.width as usize)))
    };
    let mut share = stacked(&digits.iter().map(choose).collect::<Vec<_>>());
    share.xor_assign(known);
    share
}

impl Aby {
    /// Returns xor shares of the entries of `kind` for a number of each party, given by its bits, a lane for each
    /// element. The rows of one digit come after those of another.
    pub(crate) async fn look_up(&self, ctx: &Ctx, kind: Table, own: &Share<Bits>) -> Result<Share<Bits>> {
        let (digits, len) = (kind.digits(), own.lanes());
        let blocks = halves(len);
        let (sent, asked) = (blocks[self.me].clone(), blocks[self.peer()].clone());
        let [own_sent, own_asked] = [&sent, &asked].map(|block| own.map(|bits| bits.slice_lanes(block.clone())));
        let (random, place, known) = self.draw_tables(ctx, kind, &blocks).await?;

        let mut question = place;
        question.xor_assign(&own_asked);
        let d = self.pass(ctx, &question, (question.rows(), sent.len())).await?;
        let (share_sent, answers) = answer(&digits, &own_sent, &random, &d);
        let received = self.pass(ctx, &answers, (answer_bits(&digits), asked.len())).await?;
        let share_asked = choose(&digits, &own_asked, &known, &received);

        let (first, second) = if self.me == 0 { (&share_sent, &share_asked) } else { (&share_asked, &share_sent) };
        Ok(Share::of(Bits::concat_lanes(&[first, second])))
    }

    /// Draws the random tables of both blocks: all of this party's, and its places and entries of the other's.
    async fn draw_tables(
        &self,
        ctx: &Ctx,
        table: Table,
        blocks: &[Range<usize>; 2],
    ) -> Result<(Share<Bits>, Share<Bits>, Share<Bits>)> {
        let draw = async |ctx: Ctx, sender: usize| match blocks[sender].len() {
            0 => Ok(None),
            len => Ok(Some(self.draw(&ctx, Kind::Tables { table, sender }, len).await?)),
        };
        let mut drawn = ctx.join_all(2, draw).await?;
        let none = |rows: usize| Share::of(blank::<Bits>(ctx.is_dry(), (rows, 0)));
        let (theirs, mine) = (drawn.remove(self.peer()), drawn.pop().flatten());
        let [random] = match mine {
            Some(mine) => mine.into_bits()?,
            None => [none(table.entry_bits())],
        };
        let [place, known] = match theirs {
            Some(theirs) => theirs.into_bits()?,
            None => [none(table.choice_bits()), none(table.value_bits())],
        };
        Ok((random, place, known))
    }

    /// Sends a matrix of bits and receives another; a matrix without lanes is not sent.
    async fn pass(&self, ctx: &Ctx, own: &Bits, theirs: (usize, usize)) -> Result<Share<Bits>> {
        let (outgoing, incoming) = ([(self.peer(), own)], [(self.peer(), theirs)]);
        let outgoing = &outgoing[..usize::from(own.lanes() > 0)];
        let incoming = &incoming[..usize::from(theirs.1 > 0)];
        let received = ctx.exchange(outgoing, incoming).await?.pop();
        Ok(Share::of(received.unwrap_or_else(|| blank(ctx.is_dry(), theirs))))
    }
}
