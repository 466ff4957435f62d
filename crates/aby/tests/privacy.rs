//! Privacy by exhaustion over Z_2, Z_4 and Z_8: all shares and all correlations are enumerated, one assignment in each
//! lane of one batch. The exact distribution of a party's view (its part of the correlations, and what it receives)
//! must be the same for all shares of the other party, whatever its own. The outputs of parties are fixed functions of
//! their views, so revealing them reveals nothing more. Transfers are ideal here: they have tests of their own.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::common::*;
use quorate_aby::{Aby, Kind, Share, Table};
use quorate_crypto::{SessionId, Tccr};
use quorate_engine::testing::{Received, parties};
use quorate_engine::{Ctx, Material, Phase, Result, Sharing, Stocks};
use quorate_fss::{Hash, Keys, Roots, Shape, Side, deal, window};
use quorate_gadgets::lookup::{Entries, Lookup, Operand};
use quorate_gadgets::{Functions, Gadgets};
use quorate_ring::{Bits, Ring, Vector};

/// The number of elements of one message of an opening.
const LONGEST_MESSAGE: usize = 1 << 14;

/// A variable of the enumeration: `width` bits of the lane's number, from bit `at` on.
#[derive(Clone, Copy)]
struct Var {
    at: u32,
    width: u32,
}

impl Var {
    fn of(self, lane: usize) -> u64 {
        lane as u64 >> self.at & mask(self.width)
    }
}

/// The enumeration: the number of its bits, and the number of its copies in the batch.
#[derive(Clone, Copy)]
struct Batch {
    bits: u32,
    copies: usize,
}

impl Batch {
    fn new(copies: usize) -> Batch {
        Batch { bits: 0, copies }
    }

    fn vars<const N: usize>(&mut self, width: u32) -> [Var; N] {
        [0; N].map(|_| {
            self.bits += width;
            Var { at: self.bits - width, width }
        })
    }

    fn all(self) -> usize {
        1 << self.bits
    }

    fn lanes(self) -> usize {
        self.copies * self.all()
    }

    /// Returns the lanes of one copy.
    fn copy(self, which: usize) -> Range<usize> {
        which * self.all()..(which + 1) * self.all()
    }

    fn vector(self, k: u32, lanes: Range<usize>, of: impl Fn(usize) -> u64) -> Vector {
        let values: Vec<u64> = lanes.map(|lane| of(lane % self.all()) & mask(k)).collect();
        Vector::from_u64s(Ring::of(k), &values)
    }

    fn rows(self, rows: u32, lanes: Range<usize>, of: impl Fn(usize) -> u64) -> Bits {
        self.vector(rows, lanes, of).to_bits(0..rows)
    }
}

/// The layout of a message: elements of each lane, or rows of bits; and the lanes that it covers.
#[derive(Clone)]
enum Layout {
    Elements { k: u32, count: usize, lanes: Range<usize> },
    Rows { rows: usize, lanes: Range<usize> },
}

impl Layout {
    fn read(&self, received: &Received) -> (Range<usize>, Vec<Vec<u64>>) {
        match self {
            Layout::Elements { k, count, lanes } => {
                let values = Vector::unpack(Ring::of(*k), count * lanes.len(), &received.bytes).unwrap().to_u64s();
                (lanes.clone(), values.chunks(lanes.len()).map(<[u64]>::to_vec).collect())
            }
            Layout::Rows { rows, lanes } => {
                let bits = Bits::unpack(*rows, lanes.len(), &received.bytes).unwrap();
                (lanes.clone(), vec![bits.to_vector(Ring::of(*rows as u32)).to_u64s()])
            }
        }
    }
}

/// Vectors and bits of each kind at one party.
type Made = BTreeMap<Kind, (Vec<Vector>, Vec<Bits>)>;

/// A protocol on all lanes at once.
struct Case<'c> {
    name: &'c str,
    batch: Batch,
    /// A party's inputs in an assignment, as one number. `known` is its part of the correlations.
    inputs: &'c (dyn Fn(usize, usize) -> u64 + Sync),
    known: &'c (dyn Fn(usize, usize) -> Vec<u64> + Sync),
    made: &'c (dyn Fn(usize) -> Made + Sync),
    messages: &'c (dyn Fn(usize) -> Vec<Layout> + Sync),
}

impl Case<'_> {
    /// Runs the protocol and compares the distributions of the views.
    fn check<T>(&self, work: impl AsyncFn(&Aby, &Ctx) -> Result<T> + Sync) {
        let batch = self.batch;
        let transcripts = parties(2, |mut party| {
            let aby = Aby::dry(2, party.me()).unwrap();
            let (demand, _) = dry_online(party.me(), &work);
            let made = (self.made)(party.me()).into_iter().map(|(kind, (vectors, bits))| {
                let vectors = vectors.into_iter().map(Share::of).collect();
                (kind, Material::new(vectors, bits.into_iter().map(Share::of).collect()))
            });
            aby.stock().fill(demand, made.collect());
            party.insecure_record();
            let mut run = party.begin_alone().unwrap();
            run.phase(Phase::Online, async |ctx| work(&aby, ctx).await.map(drop)).unwrap();
            run.finish();
            let transcript = party.insecure_transcript();
            party.leave(false);
            transcript
        });
        for (me, transcript) in transcripts.iter().enumerate() {
            let layouts = (self.messages)(me);
            assert_eq!(transcript.len(), layouts.len(), "{}: messages to party {me}", self.name);
            let mut views: Vec<Vec<u64>> = (0..batch.lanes()).map(|lane| (self.known)(me, lane)).collect();
            for (layout, received) in layouts.iter().zip(transcript) {
                let (lanes, parts) = layout.read(received);
                parts
                    .iter()
                    .for_each(|part| lanes.clone().zip(part).for_each(|(lane, &value)| views[lane].push(value)));
            }
            for copy in 0..batch.copies {
                self.compare(me, &views[batch.copy(copy)]);
            }
        }
    }

    fn compare(&self, me: usize, views: &[Vec<u64>]) {
        let mut distributions: BTreeMap<(u64, u64), BTreeMap<&[u64], usize>> = BTreeMap::new();
        for (lane, view) in views.iter().enumerate() {
            let inputs = ((self.inputs)(me, lane), (self.inputs)(1 - me, lane));
            *distributions.entry(inputs).or_default().entry(view).or_default() += 1;
        }
        let mut compared = 0;
        for ((own, _), distribution) in &distributions {
            let first = distributions.range((*own, 0)..).next().unwrap().1;
            assert!(distribution == first, "{}: party {me}, whose inputs are {own}, learns something", self.name);
            compared += 1;
        }
        assert!(
            compared >= 4 && distributions.values().all(|views| views.len() > 1),
            "{}: nothing is hidden",
            self.name
        );
    }
}

/// Returns numbers side by side in one.
fn together(values: &[u64]) -> u64 {
    values.iter().fold(0, |all, value| all << 6 | value)
}

fn share<M: quorate_ring::Module>(value: M) -> Share<M> {
    Share::of(value)
}

#[test]
fn products() {
    for k in [1, 2] {
        let mut batch = Batch::new(1);
        // y is one bit: over Z_4 the enumeration is long enough without more, and takes two messages, one for x and one
        // for y.
        let x: [Var; 2] = batch.vars(k);
        let y: [Var; 2] = batch.vars(1);
        let a: [Var; 2] = batch.vars(k);
        let b: [Var; 2] = batch.vars(k);
        let c0 = (k == 1).then(|| batch.vars::<1>(1)[0]);
        let first = |lane: usize| c0.map_or(0, |c0| c0.of(lane));
        let c = |p: usize, lane: usize| {
            let product = (a[0].of(lane) + a[1].of(lane)) * (b[0].of(lane) + b[1].of(lane));
            if p == 0 { first(lane) } else { product.wrapping_sub(first(lane)) & mask(k) }
        };
        let case = Case {
            name: "product",
            batch,
            inputs: &|p, lane| together(&[x[p].of(lane), y[p].of(lane)]),
            // c is determined by a and b up to a share: where c_0 is always 0, party 1's is left out.
            known: &|p, lane| [a[p].of(lane), b[p].of(lane)].into_iter().chain((k == 1).then(|| c(p, lane))).collect(),
            made: &|p| {
                let vectors = vec![
                    batch.vector(k, 0..batch.lanes(), |lane| a[p].of(lane)),
                    batch.vector(k, 0..batch.lanes(), |lane| b[p].of(lane)),
                    batch.vector(k, 0..batch.lanes(), |lane| c(p, lane)),
                ];
                [(Kind::Triple { bits: k }, (vectors, vec![]))].into()
            },
            messages: &|_| {
                let count = if batch.lanes() > LONGEST_MESSAGE / 2 { 1 } else { 2 };
                vec![Layout::Elements { k, count, lanes: 0..batch.lanes() }; 2 / count]
            },
        };
        case.check(async |aby, ctx| {
            let p = ctx.me();
            let of = |var: Var| match ctx.is_dry() {
                true => share(Vector::shape(Ring::of(k), batch.lanes())),
                false => share(batch.vector(k, 0..batch.lanes(), |lane| var.of(lane))),
            };
            aby.mul(ctx, &of(x[p]), &of(y[p])).await
        });
    }
}

#[test]
fn ands() {
    let mut batch = Batch::new(1);
    let x: [Var; 2] = batch.vars(1);
    let y: [Var; 2] = batch.vars(1);
    let a: [Var; 2] = batch.vars(1);
    let b: [Var; 2] = batch.vars(1);
    let [c0] = batch.vars(1);
    let c = |p: usize, lane: usize| {
        let product = (a[0].of(lane) ^ a[1].of(lane)) & (b[0].of(lane) ^ b[1].of(lane));
        c0.of(lane) ^ if p == 1 { product } else { 0 }
    };
    let case = Case {
        name: "and",
        batch,
        inputs: &|p, lane| together(&[x[p].of(lane), y[p].of(lane)]),
        known: &|p, lane| vec![a[p].of(lane), b[p].of(lane), c(p, lane)],
        made: &|p| {
            let row = |of: &dyn Fn(usize) -> u64| batch.rows(1, 0..batch.lanes(), of);
            let bits = vec![row(&|lane| a[p].of(lane)), row(&|lane| b[p].of(lane)), row(&|lane| c(p, lane))];
            [(Kind::BitTriple, (vec![], bits))].into()
        },
        messages: &|_| vec![Layout::Rows { rows: 2, lanes: 0..batch.lanes() }],
    };
    case.check(async |aby, ctx| {
        let of = |var: Var| share(batch.rows(1, 0..batch.lanes(), |lane| var.of(lane)));
        aby.and(ctx, &of(x[ctx.me()]), &of(y[ctx.me()])).await
    });
}

/// Tests tables of one digit: the top bit over Z_4 and Z_8, all bits of Z_4, equality over Z_4.
#[test]
fn look_ups() {
    type Gadget = (&'static str, u32, Table, usize);
    let gadgets: [Gadget; 4] = [
        ("top bit", 2, Table::Carry { bits: 1 }, 1),
        ("top bit", 3, Table::Carry { bits: 2 }, 1),
        ("bits", 2, Table::Prefixes { bits: 1 }, 1),
        ("equality", 2, Table::Equal { bits: 2 }, 1),
    ];
    for (name, k, table, outputs) in gadgets {
        let width = if name == "equality" { k } else { k - 1 };
        let entries = 1usize << width;
        let mut batch = Batch::new(2);
        let x: [Var; 2] = batch.vars(k);
        let [random] = batch.vars((entries * outputs) as u32);
        let [place] = batch.vars(width);
        assert!(batch.all().is_multiple_of(64), "halves are whole words");
        let known_entry = |lane: usize| random.of(lane) >> (place.of(lane) as usize * outputs) & mask(outputs as u32);
        let case = Case {
            name,
            batch,
            inputs: &|p, lane| x[p].of(lane),
            // In copy j, party j is the sender.
            known: &|p, lane| match lane / batch.all() == p {
                true => vec![random.of(lane % batch.all())],
                false => vec![place.of(lane % batch.all()), known_entry(lane % batch.all())],
            },
            made: &|p| {
                let sent = vec![batch.rows((entries * outputs) as u32, batch.copy(p), |lane| random.of(lane))];
                let asked = vec![
                    batch.rows(width, batch.copy(1 - p), |lane| place.of(lane)),
                    batch.rows(outputs as u32, batch.copy(1 - p), known_entry),
                ];
                let kind = |sender| Kind::Tables { table, sender };
                [(kind(p), (vec![], sent)), (kind(1 - p), (vec![], asked))].into()
            },
            messages: &|p| {
                vec![
                    Layout::Rows { rows: width as usize, lanes: batch.copy(p) },
                    Layout::Rows { rows: (entries - 1) * outputs, lanes: batch.copy(1 - p) },
                ]
            },
        };
        case.check(async |aby, ctx| {
            let x = match ctx.is_dry() {
                true => share(Vector::shape(Ring::of(k), batch.lanes())),
                false => share(batch.vector(k, 0..batch.lanes(), |lane| x[ctx.me()].of(lane))),
            };
            match name {
                "top bit" => aby.msb(ctx, &x).await,
                "bits" => aby.bit_decompose(ctx, &x).await,
                _ => aby.eqz(ctx, &x).await,
            }
        });
    }
}

#[test]
fn probabilistic_truncation() {
    let mut batch = Batch::new(1);
    let x: [Var; 2] = batch.vars(3);
    let u: [Var; 2] = batch.vars(1);
    let [w0] = batch.vars(1);
    let w = |p: usize, lane: usize| if p == 0 { w0.of(lane) } else { (u[0].of(lane) & u[1].of(lane)) ^ w0.of(lane) };
    let case = Case {
        name: "probabilistic truncation",
        batch,
        inputs: &|p, lane| x[p].of(lane),
        known: &|p, lane| vec![u[p].of(lane), w(p, lane)],
        made: &|p| {
            let vectors = vec![batch.vector(1, 0..batch.lanes(), |lane| w(p, lane))];
            let bits = vec![batch.rows(1, 0..batch.lanes(), |lane| u[p].of(lane))];
            [(Kind::BitProduct { bits: 1 }, (vectors, bits))].into()
        },
        messages: &|_| vec![Layout::Rows { rows: 1, lanes: 0..batch.lanes() }],
    };
    case.check(async |aby, ctx| {
        let x = match ctx.is_dry() {
            true => share(Vector::shape(Ring::of(3), batch.lanes())),
            false => share(batch.vector(3, 0..batch.lanes(), |lane| x[ctx.me()].of(lane))),
        };
        aby.trunc_prob(ctx, &x, 1).await
    });
}

#[test]
fn selections() {
    let mut batch = Batch::new(1);
    let bit: [Var; 2] = batch.vars(1);
    let x: [Var; 2] = batch.vars(2);
    let b: [Var; 2] = batch.vars(1);
    let a: [Var; 2] = batch.vars(2);
    let [ring0] = batch.vars(2);
    let random = |lane: usize| b[0].of(lane) ^ b[1].of(lane);
    let ring = |p: usize, lane: usize| {
        if p == 0 { ring0.of(lane) } else { random(lane).wrapping_sub(ring0.of(lane)) & 3 }
    };
    // The share of a b is uniform, too; here party 0's is that of b, which keeps the enumeration short.
    let product = |p: usize, lane: usize| {
        let whole = random(lane) * (a[0].of(lane) + a[1].of(lane));
        if p == 0 { ring0.of(lane) } else { whole.wrapping_sub(ring0.of(lane)) & 3 }
    };
    let case = Case {
        name: "selection",
        batch,
        inputs: &|p, lane| together(&[bit[p].of(lane), x[p].of(lane)]),
        known: &|p, lane| vec![b[p].of(lane), a[p].of(lane)],
        made: &|p| {
            let column = |of: &dyn Fn(usize) -> u64| batch.vector(2, 0..batch.lanes(), of);
            let vectors =
                vec![column(&|lane| ring(p, lane)), column(&|lane| a[p].of(lane)), column(&|lane| product(p, lane))];
            let bits = vec![batch.rows(1, 0..batch.lanes(), |lane| b[p].of(lane))];
            [(Kind::Selection { bits: 2 }, (vectors, bits))].into()
        },
        messages: &|_| {
            let lanes = 0..batch.lanes();
            vec![Layout::Rows { rows: 1, lanes: lanes.clone() }, Layout::Elements { k: 2, count: 1, lanes }]
        },
    };
    case.check(async |aby, ctx| {
        let p = ctx.me();
        let selector = match ctx.is_dry() {
            true => share(Bits::shape(1, batch.lanes())),
            false => share(batch.rows(1, 0..batch.lanes(), |lane| bit[p].of(lane))),
        };
        let x = match ctx.is_dry() {
            true => share(Vector::shape(Ring::of(2), batch.lanes())),
            false => share(batch.vector(2, 0..batch.lanes(), |lane| x[p].of(lane))),
        };
        aby.mask(ctx, &selector, &x).await
    });
}

/// Returns a key of each point of two bits, and both parties' shares of its sign: roots of both sides, blocks of
/// corrections. They stand for all keys, since the messages online do not depend on the keys.
fn keys(session: &SessionId) -> ([u128; 2], Vec<Vec<u128>>, [Vec<u64>; 2]) {
    let (hash, shape) = (Hash::new(&Tccr::new(session)), Shape::wide(2).unwrap());
    let nodes = [0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834, 0xbb67_ae85_84ca_a73b_3c6e_f372_fe94_f82b];
    let roots = |which: usize| Roots::new([Side::First, Side::Second][which], vec![nodes[which]; 4]);
    let dealt = deal(&hash, shape, &[0, 1, 2, 3], roots(0), roots(1));
    let ones = |which: usize| -> Vec<u64> {
        let keys = Keys::new(roots(which), dealt.corrections.clone()).unwrap();
        let leaves = window(&hash, &keys, &[0; 4], 4).to_bools();
        leaves.chunks(4).map(|leaves| leaves.iter().filter(|leaf| **leaf).count() as u64).collect()
    };
    let first = ones(0).into_iter().map(|ones| (ones >> 1 ^ !ones) & 1).collect();
    let second = ones(1).into_iter().map(|ones| ones >> 1 & 1).collect();
    let blocks = dealt.corrections.to_blocks().chunks(shape.key_blocks()).map(<[u128]>::to_vec).collect();
    (nodes, blocks, [first, second])
}

/// Tests the online part of a look-up of Z_4 in a table over Z_4, given keys.
#[test]
fn public_tables() {
    let mut batch = Batch::new(1);
    let x: [Var; 2] = batch.vars(2);
    let r: [Var; 2] = batch.vars(2);
    let pads: [[Var; 2]; 2] = [batch.vars(1), batch.vars(1)];
    let (roots, corrections, signs) = keys(Aby::dry(2, 0).unwrap().session());
    let point = |lane: usize| (r[0].of(lane) + r[1].of(lane)) as usize & 3;
    let sign = |p: usize, lane: usize| signs[p][point(lane)];
    let offset = |p: usize, lane: usize| pads[p][0].of(lane) ^ pads[p][1].of(lane);
    let chosen = |p: usize, lane: usize| pads[1 - p][sign(p, lane) as usize].of(lane);
    let entries = Vector::from_u64s(Ring::of(2), &[2, 3, 0, 2]);
    let case = Case {
        name: "public table",
        batch,
        inputs: &|p, lane| x[p].of(lane),
        known: &|p, lane| vec![r[p].of(lane), pads[p][0].of(lane), offset(p, lane), chosen(p, lane)],
        made: &|p| {
            let lanes = 0..batch.lanes();
            let column = |k: u32, of: &dyn Fn(usize) -> u64| batch.vector(k, lanes.clone(), of);
            let blocks = lanes.clone().flat_map(|lane| corrections[point(lane)].clone()).collect::<Vec<_>>();
            let vectors = vec![
                column(2, &|lane| r[p].of(lane)),
                Vector::constant(Ring::of(128), roots[p], batch.lanes()),
                Vector::from_u128s(Ring::of(128), &blocks),
                column(1, &|lane| pads[p][0].of(lane)),
                column(1, &|lane| offset(p, lane)),
                column(1, &|lane| chosen(p, lane)),
            ];
            let bits = vec![batch.rows(1, lanes.clone(), |lane| sign(p, lane))];
            [(Kind::Lookup { place_bits: 2, bits: 2 }, (vectors, bits))].into()
        },
        messages: &|_| [2, 1].map(|k| Layout::Elements { k, count: 1, lanes: 0..batch.lanes() }).into(),
    };
    case.check(async |aby, ctx| {
        let x = match ctx.is_dry() {
            true => share(Vector::shape(Ring::of(2), batch.lanes())),
            false => share(batch.vector(2, 0..batch.lanes(), |lane| x[ctx.me()].of(lane))),
        };
        aby.lookup(
            ctx,
            &x,
            &Lookup { entries: Arc::new(Entries::new(entries.clone())), first: -2, operand: Operand::Within },
        )
        .await
    });
}

/// Both parties draw the other party's share of an input, so no message is sent.
#[test]
fn inputs_send_nothing() {
    for (result, costs) in run(async |aby, ctx| {
        let own = (ctx.me() == 1).then(|| Vector::from_u64s(Ring::of(8), &all(8)));
        aby.input(ctx, 1, (Ring::of(8), 256), own.as_ref()).await
    }) {
        assert_eq!((costs.online.bytes(), costs.online.rounds), (0, 0));
        let share = result.to_u64s();
        let distinct: std::collections::BTreeSet<u64> = share.iter().map(|v| v & 255).collect();
        assert!(distinct.len() > 100, "256 uniform bytes have about 162 values");
    }
}
