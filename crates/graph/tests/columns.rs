//! Tests that codes of words keep their meaning under all operations, and cannot be combined with codes of other words.

use quorate_graph::{
    BinaryOp, BuildError, Builder, Column, Dtype, Graph, Layer, Meaning, NodeId, Operand, Side, Source,
};

const CODES: Dtype = Dtype::Uint { bits: 2 };

fn words(all: &[&str]) -> Meaning {
    Meaning::Words(all.iter().map(|word| word.to_string()).collect())
}

type Built = Result<NodeId, BuildError>;

/// Operations on codes x and y and a bit that keep the meaning of the codes.
const KEEP: &[fn(Builder<'_>, [NodeId; 3]) -> Built] = &[
    |mut b, [x, y, _]| b.concat(&[x.into(), y.into()], 0),
    |mut b, [x, y, _]| b.stack(&[x.into(), y.into()], 0),
    |mut b, [x, y, c]| b.select(c, x, y),
    |mut b, [x, y, _]| b.select(Operand::Ints { shape: &[2], values: &[1, 0] }, x, y),
    |mut b, [x, y, _]| b.set_at(x, &[1], &[], Operand::Node(y)).or_else(|_| b.set_at(x, &[0, 1], &[2], y)),
    |mut b, [x, y, c]| {
        let one = b.select(c, x, y)?;
        b.other(x, y, one)
    },
];

/// Operations on x alone that keep the meaning of the codes.
const ALONE: &[fn(Builder<'_>, [NodeId; 3]) -> Built] = &[
    |mut b, [x, ..]| b.gather(x, vec![1, 0, 1], &[3]),
    |mut b, [x, ..]| b.exchange(x, Layer { count: 2, p: 1, r: 0, distance: 1 }, Side::Upper),
    |mut b, [x, ..]| b.reshape(x, &[2, 1]),
    |mut b, [x, ..]| b.broadcast_to(x, &[3, 2]),
    |mut b, [x, ..]| b.cast(x, Dtype::INT64),
    |mut b, [x, ..]| b.held(x),
    |mut b, [x, ..]| b.stated(x, 0, 1),
    |mut b, [x, ..]| b.max(x, None, false),
    |mut b, [x, ..]| b.min(x, None, false),
    |mut b, [x, _, c]| b.select(c, x, Operand::int(&0)),
    |mut b, [x, _, c]| {
        let both = b.shuffle(&[c, x])?;
        b.part(both, 1)
    },
    |mut b, [x, ..]| {
        let sum = b.sum(x, None, false)?;
        b.like_column(sum, x)
    },
];

/// Operations that compare.
const COMPARE: &[BinaryOp] = &[BinaryOp::Lt, BinaryOp::Ge, BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Sub];

struct Program(Graph);

impl Program {
    fn at(&mut self) -> Builder<'_> {
        self.0.at(Source::new("a.py", 1))
    }

    fn codes(&mut self, name: &str, meaning: Meaning) -> NodeId {
        let column = Column { name: name.into(), meaning };
        self.at().of_column(Some(column)).input(0, 3, &[2], CODES, None).unwrap()
    }

    /// Adds x, another column of the words of x, a column of other words, and a bit.
    fn columns(&mut self, other: Meaning) -> [NodeId; 4] {
        let towns = || words(&["Rome", "Oslo", "Bern"]);
        let [x, same, strange] =
            [("town", towns()), ("city", towns()), ("place", other)].map(|(n, m)| self.codes(n, m));
        [x, same, strange, self.at().input(1, 3, &[2], Dtype::Bit, None).unwrap()]
    }
}

#[test]
fn operations_that_keep_values_keep_their_words() {
    for (together, operations) in [(true, KEEP), (false, ALONE)] {
        for operation in operations {
            let mut program = Program(Graph::new());
            let [x, same, strange, bit] = program.columns(words(&["Oslo", "Rome", "Bern"]));
            let kept = operation(program.at(), [x, same, bit]).unwrap();
            assert_eq!(program.0.column(kept).map(|column| &column.name[..]), Some("town"));
            let refused = operation(program.at(), [x, strange, bit]);
            assert_eq!(refused.is_err(), together);
        }
    }
}

#[test]
fn codes_of_other_words_do_not_compare() {
    for op in COMPARE {
        let mut program = Program(Graph::new());
        let [x, same, strange, _] = program.columns(words(&["Rome", "Oslo", "Bern", "Bonn"]));
        let plain = program.at().binary(*op, x, same).unwrap();
        assert!(program.0.column(plain).is_none());
        assert!(program.at().binary(*op, x, Operand::int(&1)).is_ok());
        assert!(program.at().binary(*op, x, strange).is_err());
        let number = program.at().binary(BinaryOp::Add, x, Operand::int(&0)).unwrap();
        assert!(program.at().binary(*op, number, strange).is_ok());
    }
}

#[test]
fn messages_say_which_words_differ() {
    let said = |other: Meaning| {
        let mut program = Program(Graph::new());
        let [x, _, strange, _] = program.columns(other);
        program.at().binary(BinaryOp::Eq, x, strange).unwrap_err().to_string()
    };
    let orders = said(words(&["Rome", "Bern", "Oslo"]));
    assert!(orders.contains("code 1 is 'Oslo' in column 'town' and 'Bern' in column 'place'"), "{orders}");
    let more = said(words(&["Rome", "Oslo", "Bonn"]));
    assert!(more.contains("only column 'town' has 'Bern', only column 'place' has 'Bonn'"), "{more}");
    assert!(more.contains("list the same words in the same order"), "{more}");
    let dates = said(Meaning::Days);
    assert!(dates.contains("column 'town' of the words 'Rome', 'Oslo', 'Bern', column 'place' of dates"), "{dates}");
}
