"""Programs that use kept values: their plans and hashes, on whose inputs results depend, and what they cost."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
from campaigning import CLOSES
from keeping import Offices, in_memory, offices
from protocols import Place, among
from quorate._command._explain import Book, Explaining
from quorate._session._placeholder import Placeholder
from quorate.errors import ConfigError
from submitting import closed, histories, person, served
from warm import quorate


@pytest.fixture
def made() -> Iterator[Callable[..., Offices]]:
    with in_memory() as folder:
        count = itertools.count()
        yield lambda protocol="rss", parties=3: offices(folder / f"{next(count)}", protocol, parties)


def explaining(local: qr.Session) -> tuple[Any, Book]:
    return Explaining(local, book := Book()), book


def told(plan: qr.Plan) -> list[tuple[Any, ...]]:
    """Returns who learns what, on whose inputs it depends, and whose own inputs it shows."""
    return [(told.to, tuple(told.depends_on), tuple(told.inputs_of)) for told in plan.reveals]


# ---- plans ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("protocol", "parties", "last"), [("rss", 3, 1), ("rss", 5, 2), ("aby", 2, 1), ("pika", 3, 1)])
def test_the_plan_of_keep_names_the_part_that_one_party_learns(
    made: Any, protocol: str, parties: int, last: int
) -> None:
    here = made(protocol, parties)
    with here.session() as local:
        mpc, book = explaining(local)
        x, y = mpc.input([1, 2], owner=0), mpc.input([3, 4], owner=1)
        mpc.keep("model", {"w": x * y, "own": x})
        assert list(mpc.kept("model")) == ["w", "own"] and mpc.kept("model")["w"].dtype == qr.int(64)
        assert isinstance(mpc.kept("model")["w"].reveal(), Placeholder)
    computed, versions, masked, written, shown = book.plans
    for plan, what in ((versions, "versions"), (written, "the new version")):
        assert f"{what} of kept value 'model' that each of them has" in str(plan)
        assert len(plan.reveals) == 1 and plan.reveals[0].to is None
    assert [told.shape for told in computed.reveals] == [(0,), (0,)]
    found = told(masked)
    assert [entry[0] for entry in found] == [(last,), (last,)]
    assert [entry[1] for entry in found] == [(0, 1), (0,)]
    assert [entry[2] for entry in found] == [(), ()], "a masked part counts as somebody's input"
    assert "to be kept as 'model', column 'w'" in str(masked)
    assert told(shown)[0][1] == (0, 1)


def test_what_a_kept_value_depends_on_lasts(made: Any) -> None:
    here = made()
    with here.session() as mpc:
        x, y = mpc.input([1, 2, 3], owner=0), mpc.input([3, 4, 9], owner=2)
        halves = x.sort()
        arrays = {"raw": x, "mixed": x * y, "moved": mpc.concatenate([x, y]), "part": halves[:2], "rest": halves[2:]}
        mpc.keep("v", arrays, config=here.configs)
    with here.session() as mpc:
        kept = mpc.kept("v", config=here.configs)
        plans = {name: told(mpc.explain(array))[0][1:] for name, array in kept.items()}
        assert plans["raw"] == ((0,), (0,)), "a kept input may be revealed unnoticed"
        assert plans["mixed"] == ((0, 2), ())
        assert plans["moved"] == ((0, 2), (0, 2))
        assert plans["part"] == plans["rest"] == ((0,), (0,)), "halves of an input count as nobody's"
        assert told(mpc.explain(kept["raw"] * kept["mixed"]))[0][1:] == ((0, 2), ())
        assert "kept as 'v', column 'raw'" in str(mpc.explain(kept["raw"]))
        mpc.keep("again", {"raw": kept["raw"], "sum": kept["mixed"].sum()}, config=here.configs)
    with here.session() as mpc:
        again = mpc.kept("again", config=here.configs)
        assert told(mpc.explain(again["raw"]))[0][1:] == ((0,), (0,)), "what is kept twice is nobody's"
        assert told(mpc.explain(again["sum"]))[0][1:] == ((0, 2), ())


# ---- hashes --------------------------------------------------------------------------------------------------------


def program(here: Offices, name: str = "v", work: Any = None) -> tuple[str, ...]:
    """Returns the hashes of the runs of a program that uses a kept value."""
    with here.session() as local:
        mpc, book = explaining(local)
        x = mpc.kept(name, config=here.configs)
        (x * 2 if work is None else work(x)).reveal()
    return tuple(plan.program for plan in book.plans)


def test_hashes_are_those_of_forms_and_names_not_of_versions(made: Any) -> None:
    here, hashes = made(), {}

    def keep(name: str, make: Callable[[qr.Session], qr.SecretArray]) -> None:
        with here.session() as mpc:
            mpc.keep(name, make(mpc), config=here.configs)

    forms: dict[str, Callable[[qr.Session], Any]] = {
        "usual": lambda mpc: mpc.input([1, 2], owner=0),
        "shape": lambda mpc: mpc.input([1, 2, 3], owner=0),
        "dtype": lambda mpc: mpc.input([1, 2], owner=0, dtype=qr.int(32)),
        "range": lambda mpc: mpc.input([1, 2], owner=0, bound=9),
        "another range": lambda mpc: mpc.input([1, 2], owner=0, bound=10),
        "another owner": lambda mpc: mpc.input([1, 2], owner=1),
        "two owners": lambda mpc: mpc.input([1, 2], owner=0) + mpc.input([1, 2], owner=1),
        "nobody's own": lambda mpc: mpc.input([1, 2], owner=0) * mpc.input([1, 2], owner=0),
        "a dictionary": lambda mpc: mpc.input([1, 2], owner=0),
    }
    for what, make in forms.items():
        if what == "a dictionary":
            keep("v", lambda mpc: {"a": mpc.input([1, 2], owner=0)})  # type: ignore[arg-type, return-value]
            hashes[what] = program(here, work=lambda x: x["a"] * 2)
        else:
            keep("v", make)
            hashes[what] = program(here)
    keep("w", forms["usual"])
    hashes["name"] = program(here, "w")
    assert len({found[-1] for found in hashes.values()}) == len(forms) + 1, hashes
    assert len({found[0] for found in hashes.values()}) == 2, "versions are agreed on under the name"
    keep("v", lambda mpc: mpc.input([7, 8], owner=0))
    keep("v", lambda mpc: mpc.input([9, 8], owner=0))
    assert program(here) == hashes["usual"], "an approval ends with a version"


def test_what_runs_has_the_hashes_that_were_explained(made: Any) -> None:
    """An approval of a plan is of use only if the program's own hashes are those."""
    here, plans = made("aby", 2), list[str]()
    here.keep("v", [5, 6])

    def work(mpc: Any, config: Any) -> Any:
        x = mpc.kept("v", config=config)
        mpc.keep("v", x * 2, config=config)
        return (mpc.kept("v", config=config) + 1).reveal()

    with here.session() as local:
        mpc, book = explaining(local)
        work(mpc, here.configs)
    with here.session() as mpc:
        real = mpc.reveal_all

        def watched(*arrays: Any, **how: Any) -> Any:
            plans.append(mpc.explain(*arrays, to=how.get("to")).program)
            return real(*arrays, **how)

        mpc.reveal_all = watched  # type: ignore[method-assign]
        assert work(mpc, here.configs).tolist() == [11, 13]
    assert len(plans) == 7 and plans == [plan.program for plan in book.plans]


# ---- scripts -------------------------------------------------------------------------------------------------------

SCRIPT = """
import quorate as qr
with qr.session() as mpc:
    x = mpc.kept("model")
    print((x * 2).sum().reveal())
    mpc.keep("model", x + 1)
    print(mpc.kept("model").reveal())
"""


def test_explain_of_a_script_where_the_value_is_and_elsewhere(made: Any) -> None:
    here = made()
    here.keep("model", [1, 2, 3])
    here.keep("other", [1])
    script = here.folder(0) / "script.py"
    script.write_text(SCRIPT)
    done = quorate("explain", str(script), "--config", str(here.configs[0]), check=True)
    assert "kept as 'model'" in done.stdout and "to be kept as 'model'" in done.stdout
    failed = quorate("explain", str(script))
    assert (
        failed.returncode != 0
        and "explain: this program uses kept value 'model', whose shape is known where it" in (failed.stderr)
    )
    assert "explain it at a party that has it, with --config its party.toml" in failed.stderr
    for file in (here.folder(0) / "store.db.kept").iterdir():  # another value that is lost
        if here.sql(0, "SELECT 1 FROM kept WHERE id = ? AND name = 'other'", bytes.fromhex(file.stem)):
            file.unlink()
    again = quorate("explain", str(script), "--config", str(here.configs[0]), check=True)
    assert again.stdout.splitlines()[-1] == done.stdout.splitlines()[-1]


def test_explain_of_what_the_program_keeps_itself(made: Any) -> None:
    here = made()
    with here.session() as local:
        mpc, book = explaining(local)
        mpc.keep("new", mpc.input([[1.5, 2.0]], owner=0))
        assert mpc.kept("new").shape == (1, 2)
        mpc.forget("new")
        what = (
            "explain: this program uses kept value 'new', whose shape is known where it was kept: explain it at a party"
        )
        with pytest.raises(ConfigError, match=what):
            mpc.kept("new")
        mpc.keep("new", mpc.input([1], owner=0))
        assert mpc.kept("new").shape == (1,)
    assert len(book.plans) == 10 and not list(here.folder(0).glob("store.db*"))


def test_a_value_that_was_kept_is_explained_as_it_is_there(made: Any) -> None:
    here = made()
    here.keep("v", [1, 2])
    with here.session() as local:
        for config in (here.configs, here.configs[1], str(here.configs[2])):
            mpc, _ = explaining(local)
            assert mpc.kept("v", config=config).shape == (2,)
        mpc, _ = explaining(local)
        with pytest.raises(ConfigError, match="kept value 'w', whose shape is known where it was kept"):
            mpc.kept("w", config=here.configs)


# ---- clients -------------------------------------------------------------------------------------------------------


def test_what_depends_on_clients_is_not_kept(made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import quorate.campaigns as campaigns

    freeze = campaigns.freeze
    monkeypatch.setattr(campaigns, "freeze", lambda campaign, own: freeze(campaign, own, lambda: CLOSES + 1))
    here = made()
    with served(tmp_path, Place("rss", 3)) as servers:
        servers.give(0, values=person(0))
        file, settings = closed(servers)
        with among(Place("rss", 3)) as mpc:
            given = mpc.campaign(file, config=settings)
            x = mpc.input([1], owner=0)
            total = given["salary"].sum()
            before = mpc.stats()
            said = "keep: 'v' depends on what clients gave, and campaign 'salaries' does not let programs keep"
            for value in (total, total * 0 + x, {"a": x, "b": given["age"]}):
                with pytest.raises(ConfigError, match=said):
                    mpc.keep("v", value, config=here.configs)
            assert mpc.stats() == before
            mpc.keep("v", x, config=here.configs)
            assert total.reveal() == 50_000, "the advice does not help"
        assert {history.looks for history in histories(servers)} == {1}
    assert here.kept("v").tolist() == [1]


# ---- costs ---------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Cost:
    rounds: int
    sent: list[int]


def cost(mpc: qr.Session, work: Callable[[], Any]) -> Cost:
    """Returns rounds and bytes of each party of some work."""

    def now() -> tuple[int, list[int]]:
        stats = mpc.stats()
        return stats.online.rounds, [sent or 0 for sent in stats.online.bytes_sent]

    (rounds, sent), _, (more, all_sent) = now(), work(), now()
    return Cost(more - rounds, [y - x for x, y in zip(sent or [0] * len(all_sent), all_sent, strict=True)])


N = 1000


@pytest.mark.parametrize(
    ("protocol", "parties", "holders"), [("rss", 3, 2), ("rss", 5, 3), ("aby", 2, 2), ("pika", 3, 2)]
)
def test_rounds_and_bytes_are_those_of_the_docstrings(made: Any, protocol: str, parties: int, holders: int) -> None:
    """`keep`: h - 1 inputs and a reveal to one party of the value's size, two reveals of 17 words and of one of each
    party, and a round without bytes. `kept`: two such reveals, then an input of the value's size from each holder."""
    here, words = made(protocol, parties), functools.partial(np.zeros, dtype=np.int64)

    def told(mpc: qr.Session, size: int) -> Callable[[], Any]:
        return lambda: mpc.stack(
            [mpc.input(words(size), owner=party, dtype=qr.int(32)) for party in range(parties)]
        ).reveal()

    with here.session() as mpc:
        x = mpc.input(words(N), owner=0) * mpc.input(words(N), owner=1)
        x.reveal()
        agreed, sure = cost(mpc, told(mpc, 17)), cost(mpc, told(mpc, 1))
        masks = [mpc.input(np.zeros(N, np.uint64), owner=party, dtype=qr.uint(64)) for party in range(holders - 1)]
        y = functools.reduce(lambda one, other: one + other, masks)
        masked = cost(mpc, lambda: y.reveal(to=holders - 1))
        kept = cost(mpc, lambda: mpc.keep("v", x, config=here.configs))
    total = [a + b + c for a, b, c in zip(agreed.sent, sure.sent, masked.sent, strict=True)]
    assert kept.sent == total, (kept, agreed, sure, masked)
    assert kept.rounds == agreed.rounds + 1 + sure.rounds + masked.rounds
    with here.session() as mpc:
        first = cost(mpc, lambda: mpc.kept("v", config=here.configs))
        entered = cost(mpc, lambda: mpc.kept("v").reveal(to=0))
        parts = [mpc.input(np.zeros(N, np.uint64), owner=party, dtype=qr.uint(64)) for party in range(holders)]
        same = cost(mpc, lambda: functools.reduce(lambda one, other: one + other, parts).reveal(to=0))
    assert entered == same and entered.rounds > 0
    assert first.sent == [a + b for a, b in zip(agreed.sent, sure.sent, strict=True)], (first, agreed, sure)
    assert first.rounds == agreed.rounds + sure.rounds
