"""Words of clients: values come back from the parts of any receivers, and what does not fit is refused by name."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clients
from quorate_client import Campaign, ClientKey, ValuesError, WireError, wire, words
from quorate_client.campaign import Slot

KEY = ClientKey.generate()


def slot_of(*columns: dict[str, Any], protocol: str = "rss", parties: int = 3) -> tuple[Campaign, Slot]:
    table = [{"shape": [], **column} for column in columns]
    campaign, _ = clients.made(protocol, parties, [KEY.id], slots=[{**clients.SLOT, "columns": table}], check="none")
    return campaign, campaign.slots[0]


def one(dtype: str, shape: tuple[int, ...] = (), **bounds: str) -> Slot:
    return slot_of({"name": "x", "dtype": dtype, "shape": list(shape), **bounds})[1]


def header_of(campaign: Campaign, receivers: tuple[int, ...]) -> wire.Header:
    return wire.Header(campaign.hash, KEY.id, 0, 0, 0, 1, 0, 1, wire.VALUES, receivers)


def joined(slot: Slot, parts: list[words.Words]) -> list[Any]:
    """Adds up parts as a program does: elements mod 2^k, bits by xor. Returns plain integers."""
    totals = []
    for column, *found in zip(slot.columns, *(words.columns(slot, part) for part in parts), strict=True):
        if column.dtype.kind == "bit":
            totals.append(np.logical_xor.reduce(found).astype(int).tolist())
        else:
            added = sum(part.astype(object) for part in found) % (1 << column.dtype.bits)
            totals.append(np.asarray(added, dtype=object).tolist())
    return totals


def receivers_of(campaign: Campaign) -> list[tuple[int, ...]]:
    every = itertools.combinations(range(len(campaign.servers)), campaign.receivers)
    return [some for some in every if campaign.takes_receivers(some)]


@pytest.mark.parametrize(
    ("protocol", "parties", "count"), [("rss", 3, 3), ("rss", 5, 10), ("rss", 7, 35), ("aby", 2, 1), ("pika", 3, 1)]
)
def test_the_parts_of_any_receivers_add_up(protocol: str, parties: int, count: int) -> None:
    columns = [
        {"name": "a", "dtype": "int(20)", "shape": [3]},
        {"name": "b", "dtype": "bit", "shape": [11]},
        {"name": "c", "dtype": "uint(64)"},
    ]
    campaign, slot = slot_of(*columns, protocol=protocol, parties=parties)
    values = {"a": [-1, 0, 5], "b": [1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1], "c": 2**64 - 3}
    assert len(receivers_of(campaign)) == count
    for receivers in receivers_of(campaign):
        header = header_of(campaign, receivers)
        encoded = words.encode(slot, values)
        contents = words.split(slot, encoded, receivers, wire.fresh_seeds(receivers), header.context)
        assert sorted(contents) == list(receivers)
        parts = [
            words.own_words(slot, bytes(contents.get(server, b"")), receivers, server, header.context)
            for server in range(parties)
        ]
        assert joined(slot, parts) == [[2**20 - 1, 0, 5], values["b"], values["c"]]
        for left_out in receivers:  # a part that is missing leaves other values
            rest = [part for server, part in enumerate(parts) if server != left_out]
            assert joined(slot, rest)[2] != values["c"]


def dtypes() -> st.SearchStrategy[str]:
    fixed = st.integers(2, 64).flatmap(lambda k: st.integers(0, k - 1).map(lambda f: f"fixed({k}, {f})"))
    numbers = st.integers(2, 64).map(lambda k: f"int({k})") | st.integers(1, 64).map(lambda k: f"uint({k})")
    return numbers | fixed | st.just("bit")


@st.composite
def given_columns(draw: Any) -> tuple[list[dict[str, Any]], list[list[int]]]:
    columns, units = [], []
    for index in range(draw(st.integers(1, 3))):
        shape = draw(st.lists(st.integers(1, 4), max_size=2))
        columns.append({"name": f"x{index}", "dtype": draw(dtypes()), "shape": shape})
        dtype = slot_of(columns[-1])[1].columns[0].dtype
        size = math.prod(shape)
        numbers = st.integers(dtype.lowest, dtype.highest)
        units.append(draw(st.lists(numbers, min_size=size, max_size=size)))
    return columns, units


@given(given_columns(), st.sampled_from(clients.FAMILIES), st.randoms())
@settings(max_examples=80, deadline=None)
def test_all_dtypes_and_shapes_come_back(drawn: Any, family: tuple[str, int], random: Any) -> None:
    columns, units = drawn
    campaign, slot = slot_of(*columns, protocol=family[0], parties=family[1])
    values = {}
    for column, numbers in zip(slot.columns, units, strict=True):
        exact = [Fraction(number, 1 << column.dtype.frac) for number in numbers]
        given_as = exact if column.dtype.kind == "fixed" else numbers
        values[column.name] = np.array(given_as, dtype=object).reshape(column.shape)
    receivers = random.choice(receivers_of(campaign))
    header = header_of(campaign, receivers)
    contents = words.split(slot, words.encode(slot, values), receivers, wire.fresh_seeds(receivers), header.context)
    parts = [words.own_words(slot, bytes(contents[s]), receivers, s, header.context) for s in receivers]
    wanted = [
        np.array([n % (1 << c.dtype.bits) for n in numbers], dtype=object).reshape(c.shape).tolist()
        for c, numbers in zip(slot.columns, units, strict=True)
    ]
    assert joined(slot, parts) == wanted


def test_parts_under_the_same_coins_differ_in_the_last_alone() -> None:
    campaign, slot = slot_of({"name": "x", "dtype": "int(32)", "shape": [4]}, parties=5)
    receivers, seeds = (0, 2, 3), [bytes([1]) * 32, bytes([2]) * 32]
    context = header_of(campaign, receivers).context
    first = words.split(slot, words.encode(slot, {"x": [0] * 4}), receivers, seeds, context)
    second = words.split(slot, words.encode(slot, {"x": [1, 2, 3, 4]}), receivers, seeds, context)
    assert (first[0], first[2]) == (second[0], second[2]) == tuple(seeds)
    assert bytes(first[3]) != bytes(second[3])


def test_each_field_of_the_context_changes_the_stream() -> None:
    campaign, slot = slot_of({"name": "x", "dtype": "int(64)"})
    header = header_of(campaign, (0, 1))
    streams = [words.stream(slot, bytes(32), header.context, label).tobytes() for label in (0, 1, 2)]
    changes = {"campaign": bytes(32), "client": bytes(65), "slot": 1, "item": 1, "number": 2}
    for name, value in changes.items():
        other = wire.Header(**{**vars(header), name: value})
        streams.append(words.stream(slot, bytes(32), other.context, 0).tobytes())
    streams.append(words.stream(slot, bytes(31) + b"\1", header.context, 0).tobytes())
    assert len(set(streams)) == len(streams) == 9


def test_results_come_back_from_under_their_masks() -> None:
    results = [
        {"name": "i", "dtype": "int(20)", "shape": [3]},
        {"name": "u", "dtype": "uint(64)", "shape": []},
        {"name": "f", "dtype": "fixed(40, 8)", "shape": [2]},
        {"name": "b", "dtype": "bit", "shape": [11]},
    ]
    columns = [{"name": "x", "dtype": "uint(3)", "shape": [2]}]
    slots = [{**clients.SLOT, "columns": columns, "results": results}]
    campaign, _ = clients.made("rss", 3, [KEY.id], slots=slots, again=2)
    slot, context = campaign.slots[0], header_of(campaign, (0, 1)).context
    encoded = words.encode(slot, {"x": [5, 6]})
    assert not encoded[2:].any()
    seed = bytes(range(32))
    words.mask(slot, encoded, seed, context)
    assert encoded[:2].tolist() == [5, 6]
    values = {"i": [-5, 0, 2**19 - 1], "u": 2**64 - 1, "f": [-0.5, 3.25], "b": [1, 0] * 5 + [1]}
    plain = Slot("plain", 1, slot.results)
    masked = words.columns(slot, encoded)[1:]  # each look has its own masks, of which the servers hold parts
    seen = set()
    for look in range(3):
        data = words.encode(plain, values)
        own = encoded[slot.bytes - (3 - look) * plain.bytes :][: plain.bytes]
        zero = np.zeros(plain.bytes, np.uint8)
        words.subtract(plain, zero, own)  # data + mask = data - (0 - mask)
        words.subtract(plain, data, zero)
        seen.add(data.tobytes())
        found = words.unmasked(slot, data.tobytes(), look, seed, context)
        assert {name: array.tolist() for name, array in found.items()} == values
        assert [array.dtype.name for array in found.values()] == ["int64", "uint64", "float64", "bool"]
        other = words.unmasked(slot, data.tobytes(), (look + 1) % 3, seed, context)
        assert other["u"] != values["u"]
    assert len(seen) == 3
    assert len(masked) == 12
    for data in (bytes(plain.bytes - 1), bytes(plain.bytes + 1), b"\xff" * plain.bytes):
        with pytest.raises(WireError):
            words.unmasked(slot, data, 0, seed, context)


# ---- what values are taken -------------------------------------------------------------------------------------


def test_integers_are_exact_and_reals_are_rounded_to_even() -> None:
    def units(dtype: str, value: Any, shape: tuple[int, ...] = ()) -> Any:
        slot = one(dtype, shape)
        return words.columns(slot, words.encode(slot, {"x": value}))[0].tolist()

    assert units("int(64)", [-1, 2**63 - 1], (2,)) == [2**64 - 1, 2**63 - 1]
    assert units("uint(64)", [0, 2**64 - 1], (2,)) == [0, 2**64 - 1]
    assert units("uint(64)", np.uint64(2**63 + 1)) == 2**63 + 1
    assert units("uint(64)", [1, 2**63], (2,)) == [1, 2**63]
    assert units("fixed(32, 1)", [0.25, 0.75, 1.25, -0.25, -0.75], (5,)) == [0, 2, 2, 0, 2**32 - 2]
    assert units("fixed(32, 1)", np.array([0.25, 0.75, -0.75])[::-1], (3,)) == [2**32 - 2, 2, 0]
    assert units("fixed(64, 16)", [1, 2.5, Decimal("-0.5"), Fraction(1, 4)], (4,)) == [
        65536,
        163840,
        2**64 - 32768,
        16384,
    ]
    assert units("fixed(64, 16)", np.array([3, -3], np.int8), (2,)) == [196608, 2**64 - 196608]
    assert units("fixed(40, 8)", np.float32(0.5)) == 128
    assert units("bit", [True, False, True], (3,)) == [True, False, True]
    assert units("bit", np.array([0, 1, 1], np.int16), (3,)) == [False, True, True]
    assert units("uint(1)", 1) == 1
    assert units("int(8)", np.asfortranarray([[1, 2], [3, 4]]), (2, 2)) == [[1, 2], [3, 4]]


def test_the_layout_is_as_it_is_described() -> None:
    columns = [
        {"name": "a", "dtype": "int(9)"},
        {"name": "b", "dtype": "bit", "shape": [9]},
        {"name": "c", "dtype": "uint(17)"},
        {"name": "d", "dtype": "uint(3)", "shape": [2]},
        {"name": "e", "dtype": "int(33)"},
    ]
    slot = slot_of(*columns)[1]
    values = {"a": -2, "b": [1, 0, 0, 0, 0, 0, 0, 1, 1], "c": 0x1ABCD, "d": [7, 1], "e": -1}
    assert words.encode(slot, values).tobytes().hex() == "fe018101cdab01000701ffffffff01000000"


@pytest.mark.parametrize(
    ("dtype", "shape", "value", "message"),
    [
        ("int(8)", (), 128, "the value is above what int(8) holds"),
        ("int(8)", (), -129, "the value is below what int(8) holds"),
        ("int(8)", (2, 2), [[0, 0], [0, 200]], r"the element at (1, 1) is above"),
        ("uint(64)", (), -1, "below what uint(64) holds"),
        ("uint(64)", (2,), [-1, 2**63], "the element at (0,) is below"),
        ("uint(64)", (), 2**64, "above what uint(64) holds"),
        ("int(64)", (), 2**63, "above what int(64) holds"),
        ("int(64)", (), 10**30, "above what int(64) holds"),
        ("int(32)", (), 1.0, "integer"),
        ("int(32)", (), np.float64(1.0), "real numbers"),
        ("int(32)", (2,), [1, 2.5], "the element at (1,) is not an integer"),
        ("int(32)", (), True, "truth values"),
        ("int(32)", (2,), np.array([1, True], object), "the element at (1,) is a truth value"),
        ("int(32)", (), "12", "are not supported"),
        ("int(32)", (), b"12", "are not supported"),
        ("int(32)", (), None, "is not an integer"),
        ("int(32)", (), 1j, "are not supported"),
        ("int(32)", (3,), [1, 2], "shape (2,). Give them in shape (3,)"),
        ("int(32)", (), [1], "shape (1,). Give them in shape ()"),
        ("int(32)", (1,), 1, "shape (). Give them in shape (1,)"),
        ("int(32)", (2, 1), [1, 2], "shape (2,)"),
        ("int(32)", (2,), [[1], [2, 3]], "equal lengths"),
        ("int(32)", (2,), {"a": 1}, "shape ()"),
        ("bit", (), 2, "above what bit holds"),
        ("bit", (), -1, "below what bit holds"),
        ("bit", (), 1.0, "integer"),
        ("fixed(32, 16)", (), math.nan, "is infinite or not a number"),
        ("fixed(32, 16)", (), np.float64("nan"), "is infinite or not a number"),
        ("fixed(32, 16)", (3,), np.array([0, np.inf, 1]), "the element at (1,) is infinite"),
        ("fixed(32, 16)", (3,), [0, -math.inf, 1], "the element at (1,) is infinite"),
        ("fixed(32, 16)", (), Decimal("NaN"), "is infinite or not a number"),
        ("fixed(32, 16)", (), 32768.0, "above what fixed(32, 16) holds"),
        ("fixed(32, 16)", (), np.float64(32768.0), "above what fixed(32, 16) holds"),
        ("fixed(32, 16)", (), np.float64(1e308), "above what fixed(32, 16) holds"),
        ("fixed(32, 16)", (), np.array(-(2**40)), "below what fixed(32, 16) holds"),
        ("fixed(64, 0)", (), np.float64(2.0**63), "above what fixed(64, 0) holds"),
        ("fixed(32, 16)", (), "1.5", "are not supported"),
        ("fixed(32, 16)", (), np.ma.masked_array(1.0), "masked array"),
        ("fixed(32, 16)", (), np.datetime64("2027-01-01"), "are not supported"),
    ],
)
def test_values_that_do_not_fit_are_refused(dtype: str, shape: tuple[int, ...], value: Any, message: str) -> None:
    with pytest.raises(ValuesError) as error:
        words.encode(one(dtype, shape), {"x": value})
    assert f"Column x ({dtype})" in str(error.value)
    assert message in str(error.value)


def test_bounds_are_checked_and_no_value_is_quoted() -> None:
    slot = one("fixed(40, 8)", (2,), low="-0.1", high="5.5")
    words.encode(slot, {"x": [-0.1, 5.5]})
    for value, message in (([0, 77.25], "(1,) is above the bound 5.5"), ([-0.2, 0], "(0,) is below the bound -0.1")):
        for form in (value, np.array(value)):
            with pytest.raises(ValuesError) as error:
                words.encode(slot, {"x": form})
            assert message in str(error.value)
            assert "77" not in str(error.value)
            assert error.value.__cause__ is None


def test_columns_are_named() -> None:
    slot = slot_of({"name": "a", "dtype": "bit"}, {"name": "b", "dtype": "bit"})[1]
    with pytest.raises(ValuesError, match="column b are missing"):
        words.encode(slot, {"a": 1})
    with pytest.raises(ValuesError, match=r"no column 'c'. Give values for: a, b"):
        words.encode(slot, {"a": 1, "b": 0, "c": 1})


def test_a_late_element_of_a_long_column_is_found() -> None:
    count = (1 << 20) + 5
    slot = one("uint(7)", (count,))
    x = np.arange(count) % 128
    assert np.array_equal(words.columns(slot, words.encode(slot, {"x": x}))[0], x)
    x[-2] = 128
    with pytest.raises(ValuesError, match=rf"\({count - 2},\) is above"):
        words.encode(slot, {"x": x})


# ---- what a server reads ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "used"), [("uint(3)", 3), ("int(9)", 9), ("int(33)", 33), ("bit", 1), ("uint(1)", 1)]
)
def test_bits_of_the_padding_are_refused_each(dtype: str, used: int) -> None:
    slot = one(dtype)
    for bit in range(8 * slot.bytes):
        raw = (1 << bit).to_bytes(slot.bytes, "little")
        if bit < used:
            words.check(slot, np.frombuffer(raw, np.uint8))
            continue
        with pytest.raises(WireError, match="Column x: unused bits") as error:
            words.check(slot, np.frombuffer(raw, np.uint8))
        assert error.value.field == "words"


@pytest.mark.parametrize("server", [0, 1, 2])
def test_a_part_has_one_length(server: int) -> None:
    campaign, slot = slot_of({"name": "x", "dtype": "int(64)", "shape": [5]})
    context = header_of(campaign, (0, 2)).context
    wanted = words.content_bytes(slot, (0, 2), server)
    assert wanted == (32, 0, 40)[server]
    words.own_words(slot, bytes(wanted), (0, 2), server, context)
    for length in {0, 31, 32, 33, 39, 40, 41} - {wanted}:
        with pytest.raises(WireError, match="bytes of content"):
            words.own_words(slot, bytes(length), (0, 2), server, context)
    with pytest.raises(WireError, match="bytes of words"):
        words.check(slot, np.zeros(41, np.uint8))


def test_streams_keep_to_the_layout() -> None:
    columns = [{"name": f"x{k}", "dtype": f"uint({k})", "shape": [50]} for k in (1, 7, 8, 12, 31, 33, 64)]
    slot = slot_of(*columns, {"name": "b", "dtype": "bit", "shape": [53]})[1]
    drawn = words.stream(slot, bytes(32), bytes(100), 3)
    words.check(slot, drawn)
    for column, found in zip(slot.columns, words.columns(slot, drawn), strict=True):
        assert len(np.unique(found)) >= min(2, 1 << column.dtype.bits)
        assert int(found.max()) >> (column.dtype.bits - 1) == 1
