"""Values that outlive a session: every dtype and family, what programs know of them, and parts that show nothing."""

from __future__ import annotations

import collections
import datetime
import itertools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import quorate as qr
from keeping import Offices, in_memory, offices
from quorate._session._party_files import party_files
from quorate.errors import ConfigError, DtypeError, KeptError, QuorateError, RangeError
from quorate.kept import _words
from quorate.kept._versions import Versions

FAMILIES: list[tuple[str, int, dict[str, Any]]] = [
    ("rss", 3, {}),
    ("rss", 5, {}),
    ("rss", 7, {}),
    ("aby", 2, {}),
    ("pika", 3, {}),
]

VALUES: dict[str, tuple[Any, Any]] = {
    "int(8)": (np.array([[-128, 127], [0, -1]]), qr.int(8)),
    "uint(5)": (np.array([0, 31, 16]), qr.uint(5)),
    "uint(64)": (np.array([0, 2**64 - 1, 7], np.uint64), qr.uint(64)),
    "int(100)": (np.array([2**98, -(2**98), -1], object), qr.int(100)),
    "uint(120)": (np.array([2**120 - 1, 0, 2**64], object), qr.uint(120)),
    "fixed": (np.array([1.5, -2.25]), qr.fixed(64, 16)),
    "fixed(100, 30)": (np.array([[0.25], [-(2.0**22)]]), qr.fixed(100, 30)),
    "real": (np.array([1e6, -0.5]), None),
    "bit": (np.array([True, False, True] * 5), qr.bit),
    "scalar": (np.array(-5), qr.int(32)),
    "scalar int(100)": (np.array(-5, object), qr.int(100)),
    "scalar bit": (np.array(True), qr.bit),
    "empty": (np.zeros((0, 3), int), qr.int(32)),
}


@pytest.fixture
def made() -> Iterator[Callable[..., Offices]]:
    with in_memory() as folder:
        made = itertools.count()
        yield lambda protocol="rss", parties=3, **options: offices(folder / f"{next(made)}", protocol, parties, options)


@pytest.mark.parametrize(("protocol", "parties", "options"), FAMILIES)
def test_values_of_every_dtype_are_there_in_a_later_session(
    made: Any, protocol: str, parties: int, options: dict[str, Any]
) -> None:
    here = made(protocol, parties, **options)
    with here.session() as mpc:
        given = [mpc.input(value, owner=i % 2, dtype=dtype) for i, (value, dtype) in enumerate(VALUES.values())]
        mpc.keep("all", {f"v{i}": x for i, x in enumerate(given)}, config=here.configs)
        mpc.keep("one", given[0], config=here.configs)
        before = mpc.stats()
        assert (
            mpc.kept("one", config=here.configs) is given[0] and mpc.kept("all", config=here.configs)["v1"] is given[1]
        )
        assert mpc.stats() == before, "it enters again in its session"
    with here.session() as mpc:
        found = [*mpc.kept("all", config=here.configs).values(), mpc.kept("one", config=here.configs)]
        wanted = [*VALUES.values(), VALUES["int(8)"]]
        for x, (value, dtype) in zip(found, wanted, strict=True):
            assert x.dtype == (dtype or qr.real) and x.shape == value.shape
        for shown, (value, _) in zip(mpc.reveal_all(*found), wanted, strict=True):
            assert np.array_equal(shown, value), (shown, value)


def test_several_arrays_are_replaced_together_and_keep_their_order(made: Any) -> None:
    here = made("aby", 2)
    with here.session() as mpc:
        weights = {"w": mpc.input([1.5, -2.0], owner=0), "b": mpc.input([7], owner=1), "A.1": mpc.input(True, owner=0)}
        mpc.keep("model", weights, config=here.configs)
        assert list(mpc.kept("model")) == ["w", "b", "A.1"]
    found = here.kept("model")
    assert list(found) == ["w", "b", "A.1"], "the order of a dictionary is lost"
    assert found["w"].tolist() == [1.5, -2.0] and found["b"].tolist() == [7] and found["A.1"]
    with here.session() as mpc:
        before = mpc.kept("model", config=here.configs)
        mpc.keep("model", {"b": before["b"] * 2, "w": mpc.input([[1, 2]], owner=1)}, config=here.configs)
        assert before["w"].reveal().tolist() == [1.5, -2.0], "an array that was read is gone with its version"
    found = here.kept("model")
    assert list(found) == ["b", "w"] and found["b"].tolist() == [14] and found["w"].tolist() == [[1, 2]]
    here.assert_one("model")
    with here.session() as mpc:
        mpc.keep("model", mpc.input(3, owner=0), config=here.configs)
    assert here.kept("model") == 3, "an array replaces a dictionary"


def test_a_kept_value_can_be_kept_again_and_is_as_threads_and_memory_allow(made: Any) -> None:
    here = made()
    values = np.arange(40_000) - 20_000
    here.keep("x", values, bound=20_000)
    with here.session(threads=1) as mpc:
        mpc.keep("y", mpc.kept("x", config=here.configs), config=here.configs)
    with here.session(threads=2, max_memory="9MB") as mpc:
        again = mpc.kept("y", config=here.configs)
        mpc.keep("x", again * 2, config=here.configs)
    assert np.array_equal(here.kept("x", max_memory="9MB"), values * 2)


def test_what_is_known_of_a_value_stays_known(made: Any) -> None:
    here = made()
    with here.session() as mpc:
        known = {
            "narrow": mpc.input([1, 2], owner=0, bound=(0, 3)) * 5,
            "any": mpc.input([1, 2], owner=0, dtype=qr.int(64)),
            "real": mpc.input([3e7, 2.0], owner=1),
        }
        mpc.keep("k", known, config=here.configs)
        wanted = {name: mpc._native.known(x._node) for name, x in known.items()}
    with here.session() as mpc:
        found = mpc.kept("k", config=here.configs)
        assert {name: mpc._native.known(x._node) for name, x in found.items()} == wanted
        assert wanted["narrow"][0] == (0, 15) and wanted["any"][0] is None
        grown = found["real"] * found["real"] * found["real"]
        assert np.allclose(grown.reveal(), [2.7e22, 8], rtol=1e-4), "products of kept reals do not grow"
        compared = [sum(mpc.explain(found[name] < 8).online.bytes_sent) for name in ("narrow", "any")]
        assert compared[0] < compared[1], "a comparison of a narrow range costs as one of a whole ring"


def test_words_and_dates_keep_their_meaning(made: Any) -> None:
    here = made()
    days = [datetime.date(2024, 2, 29), datetime.date(1969, 12, 31)]
    table = {"town": ["Bern", "Genf"], "day": days, "wage": [1, 2]}
    form = {"town": ["Bern", "Genf", "Chur"], "day": datetime.date, "wage": qr.int(64)}
    with here.session() as mpc:
        frame = mpc.input_frame(table, owner=0, columns=form)
        mpc.keep("people", {name: frame[name] for name in ("town", "day", "wage")}, config=here.configs)
    with here.session() as mpc:
        kept = mpc.kept("people", config=here.configs)
        like = mpc.input_frame(table, owner=1, columns=form)
        assert (kept["town"] == like["town"]).reveal().tolist() == [True, True]
        assert (kept["town"] == "Genf").reveal().tolist() == [False, True]
        assert (kept["day"] == datetime.date(1969, 12, 31)).reveal().tolist() == [False, True]
        other = mpc.input_frame({"town": ["Bern"] * 2}, owner=1, columns={"town": ["Genf", "Bern"]})
        for wrong in (lambda: kept["town"] == other["town"], lambda: kept["day"] == kept["town"]):
            with pytest.raises(QuorateError, match="town"):
                wrong()


@pytest.mark.parametrize(("protocol", "parties"), [("rss", 3), ("aby", 2), ("pika", 3)])
def test_kept_matrices_and_factors_multiply(made: Any, protocol: str, parties: int) -> None:
    here = made(protocol, parties)
    rng = np.random.default_rng(5)
    left, right, factor = rng.normal(size=(3, 4)), rng.normal(size=(4, 2)), rng.integers(-9, 9, (4,))
    with here.session() as mpc:
        arrays = {
            "left": mpc.input(left, owner=0),
            "right": mpc.input(right, owner=1),
            "factor": mpc.input(factor, owner=0),
        }
        mpc.keep("m", arrays, config=here.configs)
    with here.session() as mpc:
        kept = mpc.kept("m", config=here.configs)
        x = mpc.input(right, owner=0)
        shown = mpc.reveal_all(kept["left"] @ x, kept["left"] @ kept["right"], kept["factor"] * kept["factor"])
        assert np.allclose(shown[0], left @ right, atol=1e-3) and np.allclose(shown[1], left @ right, atol=1e-3)
        assert shown[2].tolist() == (factor * factor).tolist()


def test_what_is_drawn_is_the_same_under_masks_and_in_the_program(made: Any) -> None:
    here = made()
    with here.session() as mpc:
        mixed = mpc.shuffle(mpc.input(np.arange(64), owner=0))
        mpc.keep("mixed", mixed, config=here.configs)
        order = mixed.reveal()
    assert sorted(order) == list(range(64)) and np.array_equal(here.kept("mixed"), order)


def test_masks_are_added_in_a_run_that_computes_nothing_else(made: Any) -> None:
    """A run that is interrupted after a drawing, and asked again, would open two drawings under masks."""
    here, runs = made(), list[Any]()
    with here.session() as mpc:
        mixed = mpc.shuffle(mpc.input(np.arange(64), owner=0))
        real = mpc.reveal_all

        def watched(*arrays: Any, **how: Any) -> Any:
            runs.append((how, mpc.explain(*arrays, **how).online.rounds))
            return real(*arrays, **how)

        mpc.reveal_all = watched  # type: ignore[method-assign]
        mpc.keep("mixed", mixed, config=here.configs)
    [masked] = [i for i, (how, _) in enumerate(runs) if how]
    assert max(rounds for _, rounds in runs[:masked]) > 2 >= runs[masked][1], runs


# ---- parts ---------------------------------------------------------------------------------------------------------


class Drawn:
    """Gives stated bytes for random ones, and counts those that were asked for."""

    def __init__(self, *given: bytes) -> None:
        self.given, self.asked = list(given), list[int]()

    def token_bytes(self, size: int) -> bytes:
        self.asked.append(size)
        return self.given.pop(0)


def parts_of(here: Offices, name: str) -> list[list[Any]]:
    """Returns the parts that each party has in its store."""
    found = []
    for party, config in enumerate(here.configs):
        with Versions(config, party, name) as versions:
            [version] = versions.held()
            found.append([int(word) for part in versions.parts(version).values() for word in part.reshape(-1)])
    return found


@pytest.mark.parametrize(("protocol", "parties", "dtype"), [
    ("aby", 2, qr.uint(2)), ("rss", 5, qr.bit), ("pika", 3, qr.bit),
])  # fmt: skip
def test_parts_of_all_holders_but_one_show_nothing_and_all_give_the_value(
    made: Any, monkeypatch: pytest.MonkeyPatch, protocol: str, parties: int, dtype: qr.Dtype
) -> None:
    here = made(protocol, parties)
    bits = 1 if dtype.kind == "bit" else 2
    size, words, holders = (1 if bits == 1 else 8), range(1 << bits), {"rss": (parties + 1) // 2}.get(protocol, 2)
    views: Any = collections.defaultdict(collections.Counter)
    with here.session() as mpc:
        for value in words:
            signed = value - (1 << bits) if dtype.kind == "int" and value >> (bits - 1) else value
            x = mpc.input(np.array([bool(value)] if bits == 1 else [signed]), owner=0, dtype=dtype)
            for masks in itertools.product(words, repeat=holders - 1):
                drawn = Drawn(*((mask | 0xFC * (bits == 2)).to_bytes(size, "little") for mask in masks))
                monkeypatch.setattr(_words, "secrets", drawn)
                mpc.keep("x", x, config=here.configs)
                assert drawn.asked == [size] * (holders - 1), "each holder but the last draws a mask for itself"
                parts = [part for part in parts_of(here, "x") if part]
                assert len(parts) == holders
                summed = sum(part[0] for part in parts)
                assert (summed % 2 if bits == 1 else summed % 4) == value, (parts, masks)
                for absent in range(holders):
                    views[absent, value][tuple(part[0] for i, part in enumerate(parts) if i != absent)] += 1
    for absent in range(holders):
        first, *others = (views[absent, value] for value in words)
        assert len(first) == len(words) ** (holders - 1) and set(first.values()) == {1}, "parts are not uniform"
        assert all(other == first for other in others), "parts depend on the value"


@pytest.mark.parametrize(("protocol", "parties"), [("rss", 3), ("rss", 5), ("aby", 2), ("pika", 3)])
def test_every_element_has_a_mask_of_its_own(made: Any, protocol: str, parties: int) -> None:
    here = made(protocol, parties)
    with here.session() as mpc:
        zeros = {
            name: mpc.input(np.zeros(50, int), owner=0, dtype=dtype)
            for name, dtype in [("a", qr.int(64)), ("b", qr.int(100))]
        }
        for _ in range(2):
            mpc.keep("x", zeros, config=here.configs)
            words = [word for part in parts_of(here, "x") for word in part]
            assert 0 not in words and len(set(words)) == len(words) >= 200, "a mask is used twice"
            # The value is 0, so the last part is the sum of the masks, and those of 64 bits may repeat in wide ones.
            assert len({word % 2**64 for word in words} | {-word % 2**64 for word in words}) in (
                len(words),
                2 * len(words),
            )


def test_nothing_of_a_value_is_in_the_files(made: Any) -> None:
    here = made()
    values = np.full(1000, 0x1122334455667788)
    here.keep("x", values, dtype=qr.int(64))
    words, found = parts_of(here, "x"), 0
    plain = [np.array(part, np.uint64).tobytes()[:16] for part in words if part] + [values.tobytes()[:16]]
    for party in range(3):
        for file in here.folder(party).rglob("*"):
            if file.is_file():
                data = file.read_bytes()
                found += len(data)
                assert not any(part in data for part in plain), file
    assert found > 16_000


# ---- refused -------------------------------------------------------------------------------------------------------


def refused(kind: type[Exception], match: str, mpc: qr.Session, call: str, *given: Any, config: Any = None) -> None:
    """Checks that a call is refused before anything is sent."""
    before = mpc.stats()
    with pytest.raises(kind, match=match):
        getattr(mpc, call)(*given, config=config)
    assert mpc.stats() == before, "something was sent"


@pytest.mark.parametrize(("protocol", "options"), [("spdz2k", {}), ("pika", {"malicious": True})])
def test_where_parties_may_cheat_nothing_is_kept(made: Any, protocol: str, options: dict[str, Any]) -> None:
    here = made(protocol, 3 if protocol == "pika" else 2, **options)
    with here.session() as mpc:
        x = mpc.input([1], owner=0)
        for call, given in {"keep": ("x", x), "kept": ("x",), "forget": ("x",)}.items():
            what = f"{call}: {protocol} with these options is for parties that may cheat.*: keep values in a session of"
            refused(ConfigError, what, mpc, call, *given, config=here.configs)
    assert not list(here.folder(0).glob("store.db*"))


@pytest.mark.parametrize(("options"), [{"protocol": "pika", "parties": 3}, {"protocol": "rss", "parties": 3}])
def test_the_families_that_the_refusal_names_keep(made: Any, options: dict[str, Any]) -> None:
    here = made(**options)
    here.keep("x", [4])
    assert here.kept("x").tolist() == [4]


@pytest.mark.parametrize("name", ["", "-x", ".x", "a b", "a/b", "x" * 65, "ä", "x\n", None, 3])
def test_names_that_are_none(made: Any, name: Any) -> None:
    here = made()
    with here.session() as mpc:
        x, what = mpc.input([1], owner=0), "the name of a kept value must be 1 to 64 letters"
        for call, given in (("keep", (name, x)), ("keep", ("x", {name: x})), ("kept", (name,)), ("forget", (name,))):
            refused(ConfigError, what, mpc, call, *given, config=here.configs)


def test_what_is_no_secret_array_is_refused_and_the_name_is_free_still(made: Any) -> None:
    here = made()
    with here.session() as mpc, here.session() as other:
        x = mpc.input([1], owner=0)
        wrong: list[Any] = [[1, 2], 3, {}, None, [x], (x,)]
        for value in wrong:
            what = "keep: 'x' is not a secret array, or a dictionary of some"
            refused(ConfigError, what, mpc, "keep", "x", value, config=here.configs)
        what = "keep: 'b' of 'x' is not a secret array"
        refused(ConfigError, what, mpc, "keep", "x", {"a": x, "b": 3}, config=here.configs)
        foreign = other.input([1], owner=0)
        what = "keep: the array is of another session: keep it there"
        refused(DtypeError, what, mpc, "keep", "x", foreign, config=here.configs)
        for call, given in {"keep": ("x", x), "kept": ("x",), "forget": ("x",)}.items():
            for config in (None, here.configs[0], here.configs[:2]):
                what = f"{call}: in a local session give config=, a list of 3 files"
                refused(ConfigError, what, mpc, call, *given, config=config)
        mpc.keep("x", x, config=here.configs)
        other.keep("y", foreign, config=here.configs)
    assert here.kept("x").tolist() == [1] and here.kept("y").tolist() == [1]


def test_a_value_that_was_never_kept(made: Any) -> None:
    here = made()
    with here.session() as mpc:
        with pytest.raises(
            KeptError, match=r"kept: no party has a value 'x': keep it first, with mpc.keep \(at test_kept"
        ):
            mpc.kept("x", config=here.configs)
        mpc.keep("x", mpc.input([2], owner=0), config=here.configs)
        assert mpc.kept("x").reveal().tolist() == [2]
    here.assert_one("x")


def test_sessions_of_another_family_do_not_read_it(made: Any) -> None:
    here = made("rss", 3)
    here.keep("x", [2])
    with qr.local("pika", parties=3) as mpc:
        what = (
            "kept: 'x' was kept by rss with 3 parties, and this is pika with 3: open such a session, or keep it again"
        )
        with pytest.raises(KeptError, match=what):
            mpc.kept("x", config=here.configs)
    assert here.kept("x").tolist() == [2]
    with qr.local("pika", parties=3) as mpc:
        mpc.keep("x", mpc.input([3], owner=0), config=here.configs)
        assert mpc.kept("x").reveal().tolist() == [3]
    here.assert_one("x")


def test_strict_sessions_keep_values_of_known_range(made: Any) -> None:
    here = made(strict=True)
    with here.session() as mpc:
        arrays = {"n": mpc.input([5], owner=0, bound=9), "b": mpc.input([True], owner=1)}
        mpc.keep("x", arrays, config=here.configs)
    found = here.kept("x")
    assert found["n"].tolist() == [5] and found["b"].tolist() == [True]
    with here.session(strict=False) as mpc:
        wide = mpc.input([1, 2**40], owner=0)
        mpc.keep("wide", wide, config=here.configs)
        mpc.keep("narrow", wide.clip(0, 99), config=here.configs)
    with here.session() as mpc:
        what = "strict mode needs the range of every value, and 'wide' was kept without one: keep it again, clipped or"
        with pytest.raises(ConfigError, match=what):
            mpc.kept("wide", config=here.configs)
        assert mpc.kept("narrow", config=here.configs).reveal().tolist() == [1, 99]


def test_a_value_that_leaves_its_range_is_not_kept(made: Any) -> None:
    here = made()
    here.keep("x", [1])
    with here.session(check=True) as mpc:
        x = mpc.input([100], owner=0, dtype=qr.int(8))
        with pytest.raises(RangeError):
            mpc.keep("x", x * x, config=here.configs)
    assert here.kept("x").tolist() == [1]
    here.assert_one("x")


def test_a_party_of_a_deployment_names_its_files() -> None:
    party: Any = SimpleNamespace(is_local=False, me=1, _config=None, _nothing_is_sent=False)
    for call in ("keep", "kept", "forget"):
        with pytest.raises(
            ConfigError, match=f"{call}: give config=, the `party.toml` beside the server's `serve.toml`"
        ):
            party_files(party, call, None)
    assert party_files(party, "keep", "here.toml") == {1: "here.toml"}
    party._config = "own.toml"
    assert party_files(party, "keep", None) == {1: "own.toml"}
