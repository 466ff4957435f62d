"""Circuits from Bristol files: read, evaluated in the clear, and run on secret bits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import quorate as qr

ROOT = Path(__file__).parents[2] / "shared" / "data" / "circuits"

ADDER = """13 17
2 2 2
1 3

2 1 0 2 4 XOR
2 1 0 2 5 AND
2 1 1 3 6 XOR
2 1 1 3 7 AND
2 1 6 5 8 XOR
2 1 6 5 9 AND
2 1 7 9 10 XOR
1 1 10 11 INV
1 1 11 12 INV
1 1 0 13 EQ
2 1 4 13 14 XOR
2 1 8 13 15 XOR
2 1 12 13 16 XOR
"""


def bits_of(values: np.ndarray, width: int) -> np.ndarray:
    return (np.asarray(values)[..., None] >> np.arange(width) & 1).astype(bool)


def value_of(bits: np.ndarray) -> np.ndarray:
    return bits.astype(np.int64) @ (1 << np.arange(bits.shape[-1]))


def test_an_adder_of_two_bits_in_the_clear_and_in_secret() -> None:
    circuit = qr.Circuit.from_text(ADDER)
    assert (circuit.inputs, circuit.outputs, circuit.and_gates, circuit.depth) == ([2, 2], [3], 3, 2)
    x, y = np.meshgrid(np.arange(4), np.arange(4))
    assert (value_of(circuit.evaluate(bits_of(x, 2), bits_of(y, 2))) == x + y).all()
    for parties in (3, 5):
        with qr.local("rss", parties=parties, shadow=True) as mpc:
            a, b = mpc.input(bits_of(x, 2), owner=0), mpc.input(bits_of(y, 2), owner=1)
            assert (value_of(mpc.run_circuit(circuit, a, b).reveal()) == x + y).all()


@pytest.mark.parametrize("sharings", ["B", "Y", "auto"])
def test_circuits_between_two_parties_in_each_sharing_of_bits(sharings: str) -> None:
    circuit = qr.Circuit.from_text(ADDER)
    x, y = np.meshgrid(np.arange(4), np.arange(4))
    with qr.local("aby", sharings=sharings) as mpc:
        a, b = mpc.input(bits_of(x, 2), owner=0), mpc.input(bits_of(y, 2), owner=1)
        total = mpc.run_circuit(circuit, a, b)
        again = mpc.run_circuit(circuit, total[..., :2], [1, 0])
        assert (value_of(total.reveal()) == x + y).all()
        assert (value_of(again.reveal()) == (x + y) % 4 + 1).all()


def test_the_batch_broadcasts_and_public_bits_may_stand_in() -> None:
    circuit = qr.Circuit.from_text(ADDER)
    x = np.arange(4)
    with qr.local("rss") as mpc:
        a = mpc.input(bits_of(x, 2), owner=0)
        total = mpc.run_circuit(circuit, a[:, None], a)
        assert total.shape == (4, 4, 3)
        assert (value_of(total.reveal()) == x[:, None] + x).all()
        assert (value_of(mpc.run_circuit(circuit, a, [1, 1]).reveal()) == x + 3).all()
        numbers = mpc.input(x, owner=1, dtype=qr.uint(2))
        assert (value_of(mpc.run_circuit(circuit, a, numbers.bits()).reveal()) == 2 * x).all()


def test_rounds_are_the_depth_and_bytes_those_of_the_ands() -> None:
    circuit = qr.Circuit.from_text(ADDER)
    for batch in (8, 800):
        with qr.local("rss") as mpc:
            a = mpc.input(np.zeros((batch, 2), bool), owner=0)
            a.reveal()
            total = mpc.run_circuit(circuit, a, a)
            online = mpc.explain(total).online
            total.reveal()
            # One round to open.
            assert online.rounds == circuit.depth + 1
            opening = 3 * batch // 8
            assert list(online.bytes_sent) == [batch * circuit.and_gates // 8 + opening] * 3


def test_groups_without_wires_ask_for_nothing() -> None:
    constants = qr.Circuit.from_text("2 2\n1 0\n1 2\n\n1 1 0 0 EQ\n1 1 1 1 EQ\n")
    assert constants.inputs == [] and constants.evaluate().tolist() == [False, True]
    beside = qr.Circuit.from_text("2 3\n2 0 1\n1 2\n\n1 1 1 1 EQ\n1 1 0 2 INV\n")
    assert beside.inputs == [1]
    for protocol, sharings in (("rss", "auto"), ("aby", "B"), ("aby", "Y")):
        with qr.local(protocol, sharings=sharings) as mpc:
            with pytest.raises(qr.DtypeError, match="evaluate"):
                mpc.run_circuit(constants)
            x = mpc.input([[False], [True]], owner=0)
            assert mpc.run_circuit(beside, x).reveal().tolist() == [[True, True], [True, False]]


def test_several_outputs_are_a_list() -> None:
    circuit = qr.Circuit.from_text("2 4\n2 1 1\n2 1 1\n\n2 1 0 1 2 XOR\n2 1 0 1 3 AND\n")
    with qr.local("rss") as mpc:
        a, b = mpc.input([[False], [True]], owner=0), mpc.input([[True], [True]], owner=1)
        low, high = mpc.reveal_all(*mpc.run_circuit(circuit, a, b))
    assert low.tolist() == [[True], [False]]
    assert high.tolist() == [[False], [True]]
    clear = circuit.evaluate([[0], [1]], [1])
    assert [x.tolist() for x in clear] == [low.tolist(), high.tolist()]


def test_files_are_written_and_read_again(tmp_path: Path) -> None:
    circuit = qr.Circuit.from_text(ADDER)
    circuit.to_bristol(tmp_path / "adder.txt")
    again = qr.Circuit.from_bristol(tmp_path / "adder.txt")
    assert repr(again) == repr(circuit)
    x = bits_of(np.arange(4), 2)
    assert (again.evaluate(x, x) == circuit.evaluate(x, x)).all()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1"),
        (ADDER[:60], "line"),
        (ADDER.replace("1 1 10 11 INV", "1 1 99 11 INV"), "wire 99"),
        (ADDER.replace("1 1 10 11 INV", "1 1 12 11 INV"), "read before it is written"),
        (ADDER.replace("1 1 10 11 INV", "1 1 10 10 INV"), "wire 10"),
        (ADDER.replace("2 1 0 2 4 XOR", "2 1 0 2 4 NAND"), "no such gate"),
        ("1000000000000 1000000000001\n1 1\n1 1\n", "the number of wires is 1000000000001"),
        (b"\xff\xfe", "byte"),
    ],
)
def test_malformed_files_name_the_line(text: str | bytes, says: str, tmp_path: Path) -> None:
    with pytest.raises(qr.CircuitError, match=says):
        qr.Circuit.from_text(text)
    path = tmp_path / "broken.txt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(qr.CircuitError, match=r"broken\.txt: line"):
        qr.Circuit.from_bristol(path)


def test_inputs_that_do_not_match_are_refused() -> None:
    circuit = qr.Circuit.from_text(ADDER)
    with qr.local("rss") as mpc:
        a = mpc.input(np.zeros((4, 2), bool), owner=0)
        with pytest.raises(qr.ShapeError, match="has 2 inputs"):
            mpc.run_circuit(circuit, a)
        with pytest.raises(qr.ShapeError, match="input 1 of the circuit has 2 bits"):
            mpc.run_circuit(circuit, a, a[:, :1])
        with pytest.raises(qr.ShapeError, match="broadcast"):
            mpc.run_circuit(circuit, a, a[:3])
        with pytest.raises(qr.DtypeError, match=r"x\.bits\(\)"):
            mpc.run_circuit(circuit, a, mpc.input([1, 0], owner=1))
        with pytest.raises(qr.RangeError):
            mpc.run_circuit(circuit, a, [2, 0])
        with pytest.raises(qr.DtypeError, match="bits, not fixed"):
            mpc.run_circuit(circuit, a, [0.5, 0.0])
        with pytest.raises(qr.DtypeError, match="evaluate"):
            mpc.run_circuit(circuit, [0, 1], [1, 1])
        with pytest.raises(qr.DtypeError, match="from_bristol"):
            mpc.run_circuit("adder.txt", a, a)  # type: ignore[arg-type]
    with pytest.raises(qr.CircuitError, match="were given"):
        circuit.evaluate([0, 1])


KNOWN = ROOT / "known_answers.json"


def circuits_with_answers() -> list[dict]:
    return json.loads(KNOWN.read_text())["circuits"] if KNOWN.is_file() else []


def wires(words: list[str], width: int) -> np.ndarray:
    """Hexadecimal numbers as bits: bit i is wire i."""
    return np.array([[int(word, 16) >> i & 1 for i in range(width)] for word in words], bool).reshape(-1, width)


@pytest.mark.skipif(not KNOWN.is_file(), reason="the published circuits are not here (shared/data/circuits)")
@pytest.mark.parametrize("known", circuits_with_answers(), ids=lambda known: known["circuit"])
@pytest.mark.parametrize(("protocol", "sharings"), [("rss", "auto"), ("aby", "B"), ("aby", "Y")])
def test_published_circuits_give_their_known_answers(known: dict, protocol: str, sharings: str) -> None:
    circuit = qr.Circuit.from_bristol(ROOT / known["circuit"])
    assert circuit.inputs == [width for width in known["inputs"] if width]
    vectors = known["vectors"][:4]
    inputs = [wires([v["i"][at] for v in vectors], width) for at, width in enumerate(known["inputs"]) if width]
    expected = [wires([v["o"][at] for v in vectors], width) for at, width in enumerate(known["outputs"])]
    with qr.local(protocol, sharings=sharings) as mpc:
        secrets = [mpc.input(x, owner=at % 2) for at, x in enumerate(inputs)]
        outputs = mpc.run_circuit(circuit, *secrets)
        opened = mpc.reveal_all(*(outputs if isinstance(outputs, list) else [outputs]))
    assert len(opened) == len(expected)
    assert all((got == wanted).all() for got, wanted in zip(opened, expected, strict=True))
