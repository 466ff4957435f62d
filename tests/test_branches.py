"""Branches of sessions: requests of one deployment that are under way at the same time."""

from __future__ import annotations

import asyncio
import gc
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import quorate as qr
from deploying import Deployment, error_of
from protocols import USUAL, Place
from warm import quorate

SHARED = """
import asyncio, threading
weights = mpc.input([2, 3, 4] if mpc.me == 0 else None, owner=0, shape=3, dtype=qr.int(32), bound=100)
doubled = weights * weights
print(doubled.sum().reveal())
def given(own, numbers):
    return own.input(numbers if own.me == 1 else None, owner=1, shape=3, dtype=qr.int(32), bound=100)
"""

# Each party begins the coroutines in another order, and lets them wait for another time.
COROUTINES = f"""{SHARED}
async def score(own, k):
    found = []
    for run in range(4):
        await asyncio.sleep(0.01 * ((k + 2 * mpc.me + run) % 3))
        x = given(own, [k, run, 1])
        products = own.adopt(doubled) * x
        found.append(int(await products.sum().reveal_async()))
        high, low = await own.run_async(products.max(), products.min())
        found.append((int(high), int(low)))
    return k, found
async def main():
    branches = [mpc.branch(f"worker {{k}}") for k in range(5)]
    order = range(5) if mpc.me != 1 else reversed(range(5))
    results = await asyncio.gather(*(score(branches[k], k) for k in order))
    for branch in branches:
        branch.close()
    return sorted(results)
print(asyncio.run(main()))
print(weights.sum().reveal())
"""


def scores() -> str:
    def one(k: int, run: int) -> list[object]:
        products = [4 * k, 9 * run, 16]
        return [sum(products), (max(products), min(products))]

    return str([(k, [value for run in range(4) for value in one(k, run)]) for k in range(5)])


def has_branches(place: Place) -> bool:
    with qr.local(place.protocol, place.parties) as mpc:
        try:
            mpc.branch("one")
        except qr.ConfigError:
            return False
    return True


class Pair(NamedTuple):
    first: qr.SecretArray
    second: qr.SecretArray


BRANCHING = [place for place in USUAL if has_branches(place)]


@pytest.mark.parametrize("place", BRANCHING, ids=str)
def test_coroutines_of_a_deployment_ask_each_in_its_branch(place: Place, tmp_path: Path) -> None:
    parties = place.parties
    deployment = Deployment(tmp_path, parties)
    try:
        script = deployment.script(COROUTINES)
        for me in range(parties):
            config = deployment.config(me)
            config.write_text(config.read_text().replace('protocol = "rss"', f'protocol = "{place.protocol}"'))
        files = [deployment.folder / f"party{me}.toml" for me in range(parties)]
        ended = [party.end() for party in [deployment.start(me, script, config=files[me]) for me in range(parties)]]
    finally:
        deployment.stop()
    assert [(e.status, e.out.strip()) for e in ended] == [(0, f"29\n{scores()}\n9")] * parties, ended


THREADS = f"""{SHARED}
found = {{}}
def work(own, k):
    with own:
        for run in range(3):
            time.sleep(0.02 * ((k + mpc.me) % 3))
            found[k, run] = int((own.adopt(doubled) * given(own, [k, run, 1])).sum().reveal())
branches = [mpc.branch(f"worker {{k}}") for k in range(3)]
threads = [threading.Thread(target=work, args=(own, k)) for k, own in enumerate(branches)]
for thread in threads:
    thread.start()
main = [int((weights * given(mpc, [run, 0, 0])).sum().reveal()) for run in range(3)]
for thread in threads:
    thread.join()
print(sorted(found.items()), main)
"""


def test_threads_of_a_deployment_ask_each_in_its_branch(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path)
    try:
        ended = deployment.run(deployment.script(THREADS))
    finally:
        deployment.stop()
    found = [((k, run), 4 * k + 9 * run + 16) for k in range(3) for run in range(3)]
    assert [(e.status, e.out.strip()) for e in ended] == [(0, f"29\n{found} [0, 2, 4]")] * 3, ended


REFUSED = f"""{SHARED}
one = mpc.branch("one")
async def waits():
    return one.adopt(weights).sum().reveal()
late = mpc.input(5 if mpc.me == 0 else None, owner=0, shape=(), dtype=qr.int(32))
product = weights * 2
def refused(call):
    try:
        call()
    except qr.QuorateError as error:
        print(type(error).__name__, error)
refused(lambda: asyncio.run(waits()))
refused(lambda: one.branch("two"))
refused(lambda: one.adopt(late))
refused(lambda: one.adopt(product))
refused(lambda: weights + one.adopt(weights))
refused(lambda: mpc.branch(" "))
async def cancels():
    z = one.adopt(weights)
    for _ in range(3000):
        z = z * one.adopt(doubled)
    asked = z.reveal_async()
    refused(lambda: given(one, [1, 2, 3]))
    refused(asked.result)
    if mpc.me == 0:
        asked.cancel()
    try:
        await asked
    except qr.RunAborted as error:
        print("RunAborted", error)
    refused(lambda: given(one, [1, 2, 3]))
    one.close()
    with mpc.branch("another") as two:
        print(await (two.adopt(weights) * 2).sum().reveal_async())
asyncio.run(cancels())
print(weights.sum().reveal())
"""


def test_what_a_branch_of_a_deployment_refuses(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path)
    try:
        ended = deployment.run(deployment.script(REFUSED))
    finally:
        deployment.stop()
    assert [e.status for e in ended] == [0] * 3, (ended[0].out, ended[0].err)
    lines = ended[1].out.splitlines()
    starts = ["29", "ConfigError a branch may not wait in a coroutine", "ConfigError a branch needs a session", "", ""]
    starts += ["ConfigError", "ConfigError", "SessionBusy", "ConfigError a branch may not wait"]
    starts += ["RunAborted", "SessionClosed", "18", "9"]
    assert len(lines) == len(starts) and all(line.startswith(s) for line, s in zip(lines, starts, strict=True)), lines
    assert all("had no value" in line for line in lines[3:5]), lines


# Each party closes the session at another time, and leaves the loop with a request that is not awaited.
CLOSED = """
import asyncio, contextlib
from sklearn.linear_model import LinearRegression
model = qr.models.from_sklearn(LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0]))
records = np.array([[4.0]])
def asked(session):
    return model.predict(session, records, model_owner=0, data_owner=1, reveal=False).sum()
ones = mpc.input(np.ones(5000, int) if mpc.me == 0 else None, owner=0, shape=5000, dtype=qr.int(32), bound=1)
print(round(float(asked(mpc).reveal()), 3), ones[0].reveal())
one, two = mpc.branch("one"), mpc.branch("two")
if mpc.me == 1:
    mpc.close()
long = two.adopt(ones)
for _ in range(1000):
    long = long * two.adopt(ones)
kept = []
async def leaves():
    with two:
        kept.append(long.sum().reveal_async())
        with contextlib.suppress(qr.ConfigError, qr.SessionClosed):  # the latter where another party left before
            two.explain(long)
            print("waited")
with one:
    print(round(float(asked(one).reveal()), 3))
if mpc.me != 1:
    mpc.close()
asyncio.run(leaves())
try:
    kept[0].result()
except (qr.SessionClosed, qr.RunAborted):
    print("stopped")
"""


def test_a_branch_outlives_its_session_with_its_models(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path)
    try:
        ended = deployment.run(deployment.script(CLOSED))
    finally:
        deployment.stop()
    assert [(e.status, e.out.split()) for e in ended] == [(0, ["9.0", "1", "9.0", "stopped"])] * 3, ended
    assert all("RuntimeWarning: a request of this branch was not awaited" in e.err for e in ended), ended


def test_another_branch_at_another_party_is_named(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path)
    try:
        ended = deployment.run(deployment.script('mpc.branch("a" if mpc.me else "b")'))
    finally:
        deployment.stop()
    assert all(e.status == 1 and "ProgramMismatch" in error_of(e) and "the branch" in error_of(e) for e in ended), ended


AUDITED = """
x = mpc.input(4 if mpc.me == 0 else None, owner=0, shape=(), dtype=qr.int(32))
print(x.reveal())
with mpc.branch("one") as one, mpc.branch("two") as two:
    print((two.adopt(x) * 2).reveal(), (one.adopt(x) * 3).reveal())
"""


def test_runs_of_branches_are_approved_and_logged_with_their_branch(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path)
    try:
        script = deployment.script(AUDITED)
        told = quorate("explain", str(script), check=True).stdout.splitlines()[-1]
        hashes = told.removeprefix("to approve all of it: --approve ")
        assert hashes.count(",") == 2, told
        approved = ["--approve", hashes]
        audit = tmp_path / "audit.jsonl"
        parties = [
            deployment.start(me, script, *approved, *(("--audit", str(audit)) if me == 0 else ())) for me in range(3)
        ]
        ended = [party.end() for party in parties]
        assert [(e.status, e.out.split()) for e in ended] == [(0, ["4", "8", "12"])] * 3, ended
        lines = [json.loads(line) for line in audit.read_text().splitlines()]
        names = [line.get("branch") for line in lines if line["event"] == "revealed"]
        assert names == [None, {"name": "two", "number": 2}, {"name": "one", "number": 1}], lines
        swapped = deployment.script(AUDITED.replace('branch("one")', 'branch("six")'))
        ended = [party.end() for party in [deployment.start(me, swapped, *approved) for me in range(3)]]
        assert all("NotApproved" in error_of(e) for e in ended), ended
    finally:
        deployment.stop()


@pytest.mark.parametrize("place", BRANCHING, ids=str)
@pytest.mark.parametrize("options", [{}, {"shadow": True}], ids=str)
def test_branches_of_a_local_session(place: Place, options: dict[str, object]) -> None:
    with qr.local(place.protocol, **options) as mpc:
        x = mpc.input([3.0, -5.0], owner=0)
        assert (x + 1).reveal().tolist() == [4.0, -4.0]
        with mpc.branch("one") as one, mpc.branch("two") as two:
            taken = one.adopt({"x": [x], "y": (x,), "z": Pair(x, x)})
            assert isinstance(taken["z"], Pair)
            assert (taken["x"][0] * 2).reveal().tolist() == [6.0, -10.0]
            assert two.adopt(x).sum().reveal() == -2.0
            assert one.adopt(taken["x"][0]) is taken["x"][0]
            with pytest.raises(qr.ConfigError, match="different sessions"):
                taken["x"][0] + x
            with pytest.raises(qr.ConfigError, match="is not of the session"):
                two.adopt(taken["x"][0])
            with pytest.raises(qr.ConfigError, match=r"a branch needs a session .* that is no branch itself"):
                one.branch("three")
            late = x * 2
            with pytest.raises(qr.ConfigError, match="had no value when the branch was made: reveal something"):
                one.adopt(late)
            assert (one.adopt(x) * 2).sum().reveal() == -4.0
            late.sum().reveal()
            with pytest.raises(qr.ConfigError, match="had no value when the branch was made"):
                one.adopt(late)
            with mpc.branch("three") as three:
                assert three.adopt(late).max().reveal() == 6.0
            with pytest.raises(qr.ConfigError, match="is no array"):
                one.adopt(3)
        with pytest.raises(qr.SessionClosed):
            taken["x"][0].reveal()
        with pytest.raises(qr.ConfigError, match="not of the session"):
            mpc.adopt(taken["x"][0])
        assert x.sum().reveal() == -2.0


def test_frames_estimators_and_models_are_adopted() -> None:
    from sklearn.linear_model import LinearRegression

    with qr.local("rss") as mpc:
        frame = mpc.input_frame(
            {"age": [30, 40, 50], "town": ["Oslo", "Bergen", "Oslo"]},
            owner=0,
            columns={"age": qr.int(16), "town": ["Oslo", "Bergen"]},
        )
        X = mpc.input(np.array([[0.0], [1.0], [2.0]]), owner=0, bound=4)
        y = mpc.input(np.array([1.0, 3.0, 5.0]), owner=1, bound=8)
        fitted = qr.learn.LinearRegression(epochs=5, batch_size=3, learning_rate=0.1).fit(X, y)
        mpc.reveal_all(fitted.predict(X), frame["age"].sum(), frame["town"] == "Oslo")
        model = LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0])
        shared = qr.models.from_sklearn(model)
        records = np.array([[4.0]])
        expected = shared.predict(mpc, records, model_owner=0, data_owner=1)
        kept = mpc._object_cache.of(shared, 0)
        assert kept
        with mpc.branch("one") as one:
            taken = one.adopt(frame)
            assert ((taken["town"] == "Oslo") * taken["age"]).sum().reveal() == 80
            there = one.adopt(fitted)
            assert np.allclose(there.predict(one.adopt(X)).reveal(), fitted.predict(X).reveal(), atol=1e-3)
            assert np.allclose(shared.predict(one, records, model_owner=0, data_owner=1), expected, atol=1e-3)
            assert {name: x._node for name, x in one._object_cache.of(shared, 0).items()} == {
                name: x._node for name, x in kept.items()
            }


def test_models_that_die_while_a_branch_is_made_are_no_fault() -> None:
    class Model:
        """A model that only the garbage collector frees."""

        def __init__(self) -> None:
            self.me = self

    with qr.local("rss") as mpc:
        before = gc.get_threshold()
        gc.disable()
        try:
            kept = [Model() for _ in range(200)]
            for model in [*kept, *(Model() for _ in range(200))]:
                mpc._object_cache.of(model, 0)["x"] = 1
            gc.set_threshold(1)
            gc.enable()
            with mpc.branch("one") as one:
                assert one._object_cache.of(kept[0], 0) == {}, "what is no array is not adopted"
        finally:
            gc.set_threshold(*before)
            gc.enable()


def test_sessions_without_branches() -> None:
    assert len(BRANCHING) == len(USUAL) - 1
    for protocol, options in [("spdz2k", {}), ("pika", {"malicious": True}), ("rss", {"max_memory": 10**9})]:
        with qr.local(protocol, **options) as mpc, pytest.raises(qr.ConfigError, match="a branch needs a session of"):
            mpc.branch("one")
        with qr.session(session="other") as mpc:
            assert mpc.branch("one").input(3, owner=0).reveal() == 3
    with qr.local("rss") as mpc, pytest.raises(qr.ConfigError, match="must be a text"):
        mpc.branch(3)  # type: ignore[arg-type]


def test_coroutines_of_a_local_session_ask_each_in_its_branch() -> None:
    async def score(own: qr.Session, weights: qr.SecretArray, numbers: list[int]) -> int:
        return int(await (own.adopt(weights) * own.input(numbers, owner=1)).sum().reveal_async())

    async def main() -> list[int]:
        with qr.local("rss") as mpc:
            weights = mpc.input([2, 3], owner=0)
            with mpc.branch("one") as one, mpc.branch("two") as two:
                return await asyncio.gather(score(one, weights, [1, 1]), score(two, weights, [5, 0]))

    assert asyncio.run(main()) == [5, 10]
