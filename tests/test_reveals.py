"""The rows of a plan for each reveal: its receiver, the owners of its inputs, and whether it is an input itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import quorate as qr
from protocols import FORMS, USUAL, Place, among
from quorate.plan import RevealPlan
from warm import quorate

Array = qr.SecretArray


def told(plan: qr.Plan) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [(reveal.depends_on, reveal.inputs_of) for reveal in plan.reveals]


# Programs of x (party 0) and y (party 1), the owners, and the inputs that are shown to all.
CASES: dict[str, tuple[Callable[[qr.Session, Array, Array], Array], tuple[int, ...], tuple[int, ...]]] = {
    "an input": (lambda mpc, x, y: x, (0,), (0,)),
    "a row": (lambda mpc, x, y: y[2], (1,), (1,)),
    "turned": (lambda mpc, x, y: x[::-1].reshape(2, 2).T, (0,), (0,)),
    "another dtype": (lambda mpc, x, y: x.astype(qr.fixed(64, 16)), (0,), (0,)),
    "bits": (lambda mpc, x, y: y.bits(), (1,), (1,)),
    "less a public number": (lambda mpc, x, y: x - 3, (0,), (0,)),
    "what is side by side": (lambda mpc, x, y: mpc.stack([x, y], axis=1), (0, 1), (0, 1)),
    "a column of it": (lambda mpc, x, y: mpc.stack([x, y], axis=1)[:, 1], (0, 1), (1,)),
    "a computed column": (lambda mpc, x, y: mpc.stack([x, x * y], axis=1)[:, 1], (0, 1), ()),
    "a row put elsewhere": (lambda mpc, x, y: (x * y).at[1].set(x[0]), (0, 1), (0,)),
    "a shuffle": (lambda mpc, x, y: mpc.shuffle(x, y)[1], (1,), (1,)),
    "a sort": (lambda mpc, x, y: mpc.sort(x)[0], (0,), (0,)),
    "a sort by another's": (lambda mpc, x, y: mpc.sort(y, x)[1], (0, 1), (0,)),
    "a sort of sums": (lambda mpc, x, y: mpc.sort(x + y)[0], (0, 1), ()),
    "a median": (lambda mpc, x, y: mpc.sort(x)[0][2], (0,), ()),
    "a choice by a public bit": (
        lambda mpc, x, y: mpc.where(np.array([True, False, True, True]), x, y)[1],
        (0, 1),
        (1,),
    ),
    "a choice by a secret": (lambda mpc, x, y: mpc.where(x < 2, y, 0), (0, 1), ()),
    "times a unit matrix": (lambda mpc, x, y: x @ np.eye(4), (0,), (0,)),
    "times a whole one": (lambda mpc, x, y: x @ np.eye(4, dtype=int), (0,), (0,)),
    "a unit matrix times": (lambda mpc, x, y: np.eye(4) @ x, (0,), (0,)),
    "a permutation": (lambda mpc, x, y: x @ np.eye(4)[[2, 0, 3, 1]], (0,), (0,)),
    "two columns of a matrix": (lambda mpc, x, y: x @ (3 * np.eye(4)[:, :2]), (0,), (0,)),
    "by dot": (lambda mpc, x, y: np.dot(y, [0, 1, 0, 0]), (1,), (1,)),
    "sums by a matrix": (lambda mpc, x, y: x @ np.ones((4, 2)), (0,), ()),
    "weighted": (lambda mpc, x, y: x @ np.array([0.5, 0.25, 2, 1]), (0,), ()),
    "with a mask": (lambda mpc, x, y: x * np.array([True, False, True, True]), (0,), (0,)),
    "with a mask of numbers": (lambda mpc, x, y: x * [1, 0, 1, 1], (0,), (0,)),
    "with a mask of reals": (lambda mpc, x, y: x * np.array([1.0, 0.0, 1.0, 1.0]), (0,), (0,)),
    "what a mask leaves out": (lambda mpc, x, y: (x * [1, 0, 1, 1])[1], (0,), ()),
    "times 1.0": (lambda mpc, x, y: x * 1.0, (0,), (0,)),
    "times 0.3": (lambda mpc, x, y: x * 0.3, (0,), (0,)),
    "times 0.0": (lambda mpc, x, y: x * 0.0, (0,), ()),
    "over 1": (lambda mpc, x, y: x / 1, (0,), (0,)),
    "in ones": (lambda mpc, x, y: x // 1, (0,), (0,)),
    "in tens": (lambda mpc, x, y: x // 10, (0,), ()),
    "a mean of one": (lambda mpc, x, y: x[:1].mean(), (0,), (0,)),
    "a weighted one": (lambda mpc, x, y: np.average(x[:1], weights=[2.0]), (0,), (0,)),
    "a mean": (lambda mpc, x, y: x.mean(), (0,), ()),
    "numpy's choice": (lambda mpc, x, y: np.where(np.array([True, False, True, True]), x, y), (0, 1), (0, 1)),
    "a sum": (lambda mpc, x, y: x.sum(), (0,), ()),
    "a product": (lambda mpc, x, y: (x * y).sum(), (0, 1), ()),
    "a comparison": (lambda mpc, x, y: x < y, (0, 1), ()),
    "with a public number": (lambda mpc, x, y: y < 2, (1,), ()),
    "a look-up": (lambda mpc, x, y: qr.lookup(x, lambda v: v * v, domain=(0, 7)), (0,), ()),
    "a quotient": (lambda mpc, x, y: x // (y + 9), (0, 1), ()),
    "a position": (lambda mpc, x, y: x.argmax(), (0,), ()),
    "taken": (lambda mpc, x, y: mpc.take(x, y), (0, 1), ()),
    "a real function": (lambda mpc, x, y: qr.sigmoid(y.astype(qr.fixed(32, 8))), (1,), ()),
    "public numbers": (lambda mpc, x, y: mpc.constant([1, 2]) + 0, (), ()),
}


@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
def test_each_reveal_is_of_those_whose_inputs_it_is_made_of(place: Place) -> None:
    for name, (build, owners, own) in CASES.items():
        with among(place) as mpc:
            x = mpc.input([1, 2, 0, 3], owner=0, dtype=qr.int(32), bound=7)
            y = mpc.input([3, 1, 2, 0], owner=1, dtype=qr.int(32), bound=7)
            assert told(mpc.explain(build(mpc, x, y))) == [(owners, own)], name


@pytest.mark.parametrize("place", USUAL, ids=str)
def test_values_that_are_held_are_of_those_they_were_of(place: Place) -> None:
    with among(place) as mpc:
        x, y = mpc.input([1, 2], owner=0), mpc.input([3, 1], owner=1)
        product, both = x * y, mpc.concatenate([x, y])
        mpc.reveal_all(product, both)
        del x, y
        mpc.input([1], owner=1).reveal()
        assert told(mpc.explain(product.sum(), both[:2], both[3])) == [((0, 1), ()), ((0, 1), (0,)), ((0, 1), (1,))]


@pytest.mark.parametrize("place", USUAL, ids=str)
def test_a_model_is_its_owners_input(place: Place) -> None:
    X, y = load_iris(return_X_y=True)
    for estimator in (LogisticRegression(max_iter=300), DecisionTreeClassifier(max_depth=3)):
        model = qr.models.from_sklearn(estimator.fit(X, y), bounds=8)
        plans: list[qr.Plan] = []
        with among(place) as mpc:
            reveal_all = mpc.reveal_all

            def noted(*arrays: Array, to: int | None = None, units: bool = False) -> list[object]:
                plans.append(mpc.explain(*arrays, to=to))  # noqa: B023
                return reveal_all(*arrays, to=to, units=units)  # noqa: B023

            mpc.reveal_all = noted  # type: ignore[method-assign]
            model.predict(mpc, X[:2], model_owner=1, data_owner=0)
        assert plans and all(reveal.to == (0,) for plan in plans for reveal in plan.reveals)
        assert {reveal.depends_on for plan in plans for reveal in plan.reveals} == {(0, 1)}
        assert not any(plan.warnings for plan in plans)


def test_who_learns_it_decides_whether_an_input_gets_out() -> None:
    with qr.local("rss") as mpc:
        x = mpc.input([3, 5], owner=1)
        for to, warned in ((1, ()), (0, (1,)), (None, (1,)), ([0, 1], (1,)), ([1], ())):
            plan = mpc.explain(x, to=to)
            assert plan.reveals[0].inputs_of == warned
            assert len(plan.warnings) == len(warned)
        plan = mpc.explain(x.sum(), x, to=[0, 2])
        assert [reveal.to for reveal in plan.reveals] == [(0, 2), (0, 2)]
        (warning,) = plan.warnings
        assert "reveals to parties 0, 2 what party 1 gave as an input of its own" in warning
        assert "input of (2,) int(64) from party 1 at test_reveals.py:" in warning


def test_what_a_party_sees_of_a_run_is_looked_at_together() -> None:
    with qr.local("rss") as mpc:
        x = mpc.input([3, 5, 1, 4], owner=1)
        values, product = mpc.sort(x)[0], x * mpc.input([1, 2, 3, 4], owner=0)
        parts = [values[i] for i in range(4)]
        assert told(mpc.explain(*parts, product)) == [((1,), (1,))] * 4 + [((0, 1), ())]
        assert told(mpc.explain(*parts, to=0)) == [((1,), (1,))] * 4
        assert told(mpc.explain(*parts, to=1)) == [((1,), ())] * 4
        assert told(mpc.explain(parts[2])) == [((1,), ())]


def test_the_table_comes_first() -> None:
    with qr.local("rss") as mpc:
        x, y = mpc.input([3, 5], owner=0), mpc.input([1, 2], owner=1)
        plan = mpc.explain(x * y, y, to=0)
    assert isinstance(plan.reveals[0], RevealPlan)
    text = str(plan).splitlines()
    assert text[0].split("  ")[0] == "reveals"
    assert "test_reveals.py:" in text[1] and "(2,)" in text[1] and "parties 0, 1" in text[1]
    assert text[3].startswith("WARNING: test_reveals.py:") and text[4] == f"program: {plan.program}"
    html = plan._repr_html_()
    assert html.index("depends on inputs of") < html.index("WARNING") < html.index(plan.program) < html.index("offline")
    whole = plan.as_dict()
    assert list(whole)[:3] == ["reveals", "warnings", "program"]
    assert whole["reveals"][1] == {
        "line": plan.reveals[1].line, "what": plan.reveals[1].what, "shape": [2], "dtype": "int(64)", "to": [0],
        "depends_on": [1], "inputs_of": [1], "tells": "", "clients": False, "inputs_of_clients": False,
    }  # fmt: skip
    json.dumps(whole)


def test_what_owners_mean_to_tell_is_no_warning(tmp_path: Path) -> None:
    """It is a row of the table and a run to approve, as every reveal, and states its purpose."""
    script = tmp_path / "rows.py"
    (tmp_path / "ages.csv").write_text("age\n31\n44\n")
    script.write_text(
        "import quorate as qr\n"
        "with qr.session() as mpc:\n"
        "    frame = mpc.input_frame({'age': [31, 44]}, owner=0, columns={'age': qr.int(16)})\n"
        "    rows = mpc.announce(3, owner=1)\n"
        "    ages = mpc.input_file('ages.csv', owner=1)\n"
        "    frame['age'].reveal(to=1)\n"
    )
    ended = quorate("explain", str(script), cwd=tmp_path, check=True)
    assert ended.stdout.count("WARNING") == 1 and "WARNING: rows.py:6 reveals to party 1" in ended.stdout
    lines = ended.stdout.splitlines()
    for told in (
        "rows.py:3: party 0 tells all parties its number of rows",
        "rows.py:4: party 1 tells all parties a number that it announces",
        "rows.py:5: party 1 tells all parties the form of its file: its shape and dtype",
    ):
        assert told in lines, ended.stdout
    assert len(lines[-1].split("--approve ")[1].split(",")) == 4
    ended = quorate("explain", str(script), "--json", cwd=tmp_path, check=True)
    plans = json.loads(ended.stdout)
    assert [len(plan["warnings"]) for plan in plans] == [0, 0, 0, 1]
    assert [plan["reveals"][0]["tells"][:5] for plan in plans] == ["its n", "a num", "the f", ""]
    assert [plan["reveals"][0]["inputs_of"] for plan in plans] == [[0], [1], [1], [0]]


def test_explaining_a_script_lists_the_reveals_of_all_of_its_sessions(tmp_path: Path) -> None:
    script = tmp_path / "twice.py"
    script.write_text(
        "import quorate as qr\n"
        "for _ in range(2):\n"
        "    with qr.session() as mpc:\n"
        "        x = mpc.input([3, 5], owner=0)\n"
        "        (x * x).reveal()\n"
        "        x.sum().reveal(to=1)\n"
    )
    ended = quorate("explain", str(script), "--json", check=True)
    plans = json.loads(ended.stdout)
    assert [plan["reveals"][0]["line"] for plan in plans] == ["twice.py:5", "twice.py:6"] * 2
    assert len({plan["program"] for plan in plans}) == 4
    ended = quorate("explain", str(script), check=True)
    assert ended.stdout.splitlines()[-1] == f"to approve all of it: --approve {','.join(p['program'] for p in plans)}"
