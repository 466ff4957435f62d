//! The draws and messages of a batch, as `kinds`, `digits` and `check` have them, and the draw that masks each message.

use quorate_engine::Form;
use quorate_pika::malicious::digits::Digits;
use quorate_ring::Ring;
use quorate_spdz2k::{Kind, Params};

use super::Layout;

/// The way in which a mask is applied in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Masked {
    /// It is added.
    Plus,
    /// It is subtracted.
    Minus,
    /// It is added bit by bit.
    Xor,
    /// Each bit of the mask masks a bit of the message.
    Basis,
}

/// A message of P2.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    pub layout: Layout,
    /// The draw, of the seed that the viewer does not have, which masks it.
    pub mask: Option<(usize, Masked)>,
    /// Whether it is sent after coins were tossed.
    pub opened: bool,
}

/// A batch of one kind.
pub struct Script {
    params: Params,
    /// Draws of the seeds of P0 and P2, of P1 and P2, and of P2's own.
    pub draws: [Vec<Layout>; 3],
    /// Messages to P0 and to P1.
    pub messages: [Vec<Message>; 2],
    /// Openings of products and of products of bits.
    opened: [Vec<[Message; 2]>; 2],
    largest: u32,
    has_bits: bool,
}

const BLOCK: u32 = 128;
const FIELD: u32 = 64;
const BASIS: usize = 64;

impl Script {
    /// Returns the script of `len` correlations of a kind.
    pub fn of(params: Params, kind: &Kind, len: usize) -> Script {
        let (draws, messages, opened) = Default::default();
        let mut script = Script { params, draws, messages, opened, largest: 0, has_bits: false };
        script.kind(kind, len);
        script.check();
        script
    }

    /// Returns the draws, of the seed that a viewer does not have, which mask something.
    pub fn masks(&self, viewer: usize) -> Vec<usize> {
        self.messages[viewer].iter().filter_map(|message| message.mask).map(|(draw, _)| draw).collect()
    }

    fn draw(&mut self, seed: usize, layout: Layout) -> usize {
        self.draws[seed].push(layout);
        self.draws[seed].len() - 1
    }

    fn uniform(&mut self, layout: Layout) -> [usize; 2] {
        [0, 1].map(|seed| self.draw(seed, layout))
    }

    fn dealt(&mut self, to: usize, layout: Layout, mask: (usize, Masked)) {
        self.messages[to].push(Message { layout, mask: Some(mask), opened: false });
    }

    fn follow(&mut self, layout: Layout, masked: Masked) {
        let drawn = self.draw(0, layout);
        self.dealt(1, layout, (drawn, masked));
    }

    fn wide(&self, bits: u32) -> u32 {
        self.params.shares(Ring::of(bits)).bits()
    }

    fn elements(&self, bits: u32, len: usize) -> Layout {
        Layout::Elements(self.wide(bits), len)
    }

    /// A tag.
    fn tag(&mut self, layout: Layout) {
        self.largest = self.largest.max(layout.width());
        self.follow(layout, Masked::Minus);
    }

    fn macs(&mut self, len: usize) {
        self.has_bits = true;
        let layout = Layout::Elements(BLOCK, len);
        let drawn = self.uniform(layout);
        // The keys of P0's bits come first.
        [0, 1].into_iter().for_each(|of| self.dealt(1 - of, layout, (drawn[of], Masked::Xor)));
    }

    fn claim(&mut self, a: Layout, c: Layout) {
        let a_hat = self.uniform(a);
        self.follow(c, Masked::Minus);
        let told = |mask| Message { layout: a, mask: Some((mask, Masked::Minus)), opened: true };
        self.opened[0].push([told(a_hat[1]), told(a_hat[0])]);
    }

    fn claim_bits(&mut self, len: usize) {
        let layout = Layout::Elements(FIELD, len);
        let a_hat = self.uniform(layout);
        self.follow(layout, Masked::Xor);
        let told = |mask| Message { layout, mask: Some((mask, Masked::Xor)), opened: true };
        self.opened[1].push([told(a_hat[1]), told(a_hat[0])]);
    }

    fn proven_bits(&mut self, bits: u32, len: usize) {
        self.draw(2, Layout::Row(len));
        let layout = self.elements(bits, len);
        self.follow(layout, Masked::Minus);
        self.claim(layout, layout);
    }

    fn triple(&mut self, form: Form, bits: u32, [a, b]: [usize; 2]) {
        // Matrices lie one after the other.
        let c = form.len_out(a) * if let Form::MatMul { .. } = form { a / form.lens(a)[0] } else { 1 };
        let [a, b, c] = [a, b, c].map(|len| self.elements(bits, len));
        self.uniform(a);
        self.uniform(b);
        self.follow(c, Masked::Minus);
        self.claim(a, c);
        [a, b, c].into_iter().for_each(|part| self.tag(part));
    }

    fn and(&mut self, len: usize) {
        self.follow(Layout::Row(len), Masked::Xor);
    }

    fn kind(&mut self, kind: &Kind, len: usize) {
        match *kind {
            Kind::Triple { bits } => self.triple(Form::Product, bits, [len; 2]),
            Kind::DotTriple { bits, axis, inner } => {
                self.triple(Form::Dot { outer: len, axis, inner }, bits, [len * axis * inner; 2]);
            }
            Kind::MatrixTriple { bits, m, k, n } => {
                self.triple(Form::MatMul { m, k, n }, bits, [len * m * k, len * k * n]);
            }
            Kind::Owned { bits, .. } => {
                let layout = self.elements(bits, len);
                for _ in 0..2 {
                    self.uniform(layout);
                }
                (0..3).for_each(|_| self.tag(layout));
            }
            Kind::Random { bits } | Kind::Mask { bits, .. } => {
                let layout = self.elements(bits, len);
                self.uniform(layout);
                self.tag(layout);
            }
            Kind::BitTriple => {
                for _ in 0..2 {
                    self.uniform(Layout::Row(len));
                }
                self.and(len);
                (0..3).for_each(|_| self.macs(len));
                self.claim_bits(len);
            }
            Kind::BitMask { .. } => {
                self.uniform(Layout::Row(len));
                self.macs(len);
            }
            Kind::Link => {
                let layout = self.elements(1, len);
                self.uniform(layout);
                self.tag(layout);
                self.macs(len);
            }
            Kind::DaBit { bits } => {
                self.proven_bits(bits, len);
                self.tag(self.elements(bits, len));
                self.macs(len);
            }
            Kind::RandomBit { bits } => {
                self.proven_bits(bits, len);
                self.tag(self.elements(bits, len));
            }
            Kind::EdaBit { bits, ring, cut } => {
                self.proven_bits(ring, bits as usize * len);
                (0..if cut > 0 { 2 } else { 1 }).for_each(|_| self.tag(self.elements(ring, len)));
                self.macs(bits as usize * len);
            }
            Kind::ComparisonMask { bits, pairs } => {
                self.proven_bits(bits, bits as usize * len);
                self.tag(self.elements(bits, len));
                self.and(pairs as usize * len);
                self.macs(bits as usize * len);
                self.macs(pairs as usize * len);
                self.claim_bits(pairs as usize * len);
            }
            Kind::TruncMask { bits, cut } => {
                self.proven_bits(bits, bits as usize * len);
                (0..2).for_each(|_| self.tag(self.elements(bits, len)));
                self.tag(self.elements(cut + 1, len));
            }
            Kind::Place { bits, .. } => self.places(Digits::of(self.params, kind).unwrap(), bits, len),
            _ => panic!("{kind} is nothing that is dealt here"),
        }
    }

    /// Keys are sent to both alike, and hide the place as the hash does: they are the same for all hidden values here.
    fn places(&mut self, digits: Digits, bits: u32, len: usize) {
        let Kind::Place { place_bits, choices, .. } = digits.kind() else { panic!("places have places") };
        self.draw(2, Layout::Elements(place_bits, len));
        for shape in digits.shapes() {
            self.uniform(Layout::Elements(BLOCK, len));
            let layout = Layout::Elements(8, len * shape.key_bytes());
            (0..2).for_each(|to| self.messages[to].push(Message { layout, mask: None, opened: false }));
        }
        if choices > 0 {
            let [b, c] = [choices * len, len].map(|len| self.elements(bits, len));
            self.uniform(b);
            self.follow(c, Masked::Minus);
            self.claim(b, c);
            [b, c].into_iter().for_each(|part| self.tag(part));
        }
    }

    /// Masks of the check, and its openings.
    fn check(&mut self) {
        let mut of_rows = None;
        if self.largest > 0 {
            let layout = Layout::Elements(self.largest, self.params.key_bits() as usize);
            of_rows = Some((layout, self.uniform(layout)));
            self.tag(layout);
        }
        let mut of_bits = None;
        if self.has_bits {
            of_bits = Some(self.uniform(Layout::Row(BASIS)));
            self.macs(BASIS);
        }
        for told in std::mem::take(&mut self.opened).into_iter().flatten() {
            self.messages.iter_mut().zip(told).for_each(|(messages, told)| messages.push(told));
        }
        for (viewer, messages) in self.messages.iter_mut().enumerate() {
            if let Some((layout, masks)) = of_rows {
                messages.push(Message { layout, mask: Some((masks[1 - viewer], Masked::Plus)), opened: true });
            }
            for of in (0..2).filter(|_| of_bits.is_some()) {
                // Each party knows the sums of its own bits.
                let mask = of_bits.filter(|_| of != viewer).map(|masks| (masks[of], Masked::Basis));
                messages.push(Message { layout: Layout::Elements(FIELD, 1), mask, opened: true });
            }
        }
    }
}
