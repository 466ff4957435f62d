"""`spdz2k` with correlations that its parties make, as in users' runs; other tests use a dealer."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import quorate as qr
from quorate.models import _model
from quorate.models._backend import Secret

RNG = np.random.default_rng(11)
X, Y = RNG.integers(-100, 100, (2, 6))


@pytest.fixture(autouse=True)
def real(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUORATE_INSECURE_DEALER", raising=False)


PROGRAMS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "arithmetic": (lambda x, y: x * y + 3 * x - y, lambda x, y: x * y + 3 * x - y),
    "choice": (lambda x, y: (x < y) * (x - y) + y, np.minimum),
    "equality": (lambda x, y: (x == y).sum() + (x == x).sum(), lambda x, y: (x == y).sum() + 6),
    "order": (lambda x, y: x.sort(), lambda x, y: np.sort(x)),
    "matrix": (lambda x, y: x.reshape(2, 3) @ y.reshape(3, 2), lambda x, y: x.reshape(2, 3) @ y.reshape(3, 2)),
    "quotient": (lambda x, y: x // 7, lambda x, y: x // 7),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_right_and_cost_what_is_planned(name: str) -> None:
    program, clear = PROGRAMS[name]
    with qr.local("spdz2k", parties=2) as mpc:
        assert mpc.stats().security.startswith("malicious")
        x, y = mpc.input(X, owner=0), mpc.input(Y, owner=1)
        result = program(x, y)
        plan = mpc.explain(result)
        np.testing.assert_array_equal(result.reveal(), clear(X, Y))
        stats = mpc.stats()
    for planned, measured in ((plan.offline, stats.offline), (plan.online, stats.online)):
        assert (measured.rounds, measured.bytes_sent) == (planned.rounds, planned.bytes_sent)
    assert stats.offline.correlations == plan.correlations


@pytest.mark.parametrize("parties", [3, 4])
def test_more_parties(parties: int) -> None:
    with qr.local("spdz2k", parties=parties) as mpc:
        x = mpc.input(np.array([3, -5]), owner=0, dtype=qr.int(8))
        y = mpc.input(np.array([2, 9]), owner=parties - 1, dtype=qr.int(8))
        assert (x * y).reveal(to=parties - 1).tolist() == [6, -45]
        if parties == 3:
            assert (x < y).reveal().tolist() == [False, True]


def test_short_keys_take_short_numbers() -> None:
    with qr.local("spdz2k", mac=48) as mpc:
        x = mpc.input([[3, 1, 9], [2, 7, -4]], owner=0)
        y = mpc.input(np.array([5, 1, 0]), owner=1, dtype=qr.int(16))
        assert x.dtype == x.argmax(axis=1).dtype == (x < y).sum().dtype == qr.int(32)
        shown = mpc.reveal_all(x.argmax(axis=1), (x < y).sum(), x.argsort(axis=1), x[0] // 2, (y > 0) * 5)
        for revealed, wanted in zip(shown, ([2, 1], 3, [[1, 0, 2], [2, 0, 1]], [1, 0, 4], [5, 5, 0]), strict=True):
            np.testing.assert_array_equal(revealed, wanted)
        with pytest.raises(qr.DtypeError, match=r"at most 32 bits.*test_spdz2k"):
            y.astype(qr.int(64))


@pytest.mark.parametrize(("parties", "dealt"), [(2, False), (2, True), (3, True), (4, False)])
def test_products_of_two_owners_cost_what_is_planned_whenever_they_run(
    parties: int, dealt: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if dealt:
        monkeypatch.setenv("QUORATE_INSECURE_DEALER", "1")
    last = parties - 1
    with qr.local("spdz2k", parties=parties) as mpc:

        def run(result: Any, *kinds: str, count: int = 6) -> Any:
            plan, before = mpc.explain(result), mpc.stats()
            revealed = result.reveal()
            after = mpc.stats()
            for planned, then, now in (
                (plan.offline, before.offline, after.offline),
                (plan.online, before.online, after.online),
            ):
                sent = tuple(now - then for now, then in zip(now.bytes_sent, then.bytes_sent, strict=True))
                assert (now.rounds - then.rounds, sent) == (planned.rounds, planned.bytes_sent)
            drawn = {kind: count for kind, count in plan.correlations.items() if "triple" in kind}
            assert drawn == {f"{kind} mod 2^16": count for kind in kinds}
            return revealed

        def one_sided(left: int, right: int) -> str:
            return f"one-sided triple of parties {left} and {right}"

        x = mpc.input(X, owner=0, dtype=qr.int(16))
        y = mpc.input(Y, owner=last, dtype=qr.int(16))
        both, of_x, of_y = one_sided(0, last), "triple of party 0", f"triple of party {last}"
        # Both inputs come with the first request, and are held for later ones. So is a value computed from one of them,
        # whose owner is no longer recorded.
        moved = 2 * x[::-1] + 1
        np.testing.assert_array_equal(run((moved * y).sum(), both), ((2 * X[::-1] + 1) * Y).sum())
        np.testing.assert_array_equal(run(y @ x, both), Y @ X)
        matrix = y.reshape(2, 3) @ x.reshape(3, 2)
        np.testing.assert_array_equal(run(matrix, both, count=12), Y.reshape(2, 3) @ X.reshape(3, 2))
        with_last = (one_sided(party, last) for party in range(last))
        np.testing.assert_array_equal(run(moved * y, of_y, *with_last), (2 * X[::-1] + 1) * Y)
        np.testing.assert_array_equal(run(x * x + y * y, of_x, of_y), X * X + Y * Y)
        with_first = (one_sided(0, party) for party in range(1, parties))
        np.testing.assert_array_equal(run((x + y) * x, of_x, *with_first), (X + Y) * X)
        np.testing.assert_array_equal(run((x + y) * (x + y), "triple"), (X + Y) ** 2)


def test_products_of_two_owners_in_pieces() -> None:
    rows = RNG.integers(-9, 9, (60, 40))
    columns = RNG.integers(-9, 9, (40, 20))
    with qr.local("spdz2k", parties=2, offline="insecure_dealer", max_memory="20 MB") as mpc:
        x = mpc.input(rows, owner=1, dtype=qr.int(16))
        y = mpc.input(columns, owner=0, dtype=qr.int(16))
        result = x @ y
        plan = mpc.explain(result)
        np.testing.assert_array_equal(result.reveal(), rows @ columns)
        stats = mpc.stats()
        assert plan.correlations["one-sided triple of parties 0 and 1 mod 2^16"] == 48_000
    assert (stats.online.rounds, stats.online.bytes_sent) == (plan.online.rounds, plan.online.bytes_sent)
    assert (stats.offline.rounds, stats.offline.bytes_sent) == (plan.offline.rounds, plan.offline.bytes_sent)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is measured as Linux counts it")
def test_matrices_multiplied_one_by_one_keep_to_the_limit() -> None:
    """Each product of elements takes some 400 bytes at each party: 800 MB of both if it ran whole."""
    program = """
        import resource
        import numpy as np
        import quorate as qr

        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10

        with qr.local("spdz2k", parties=2, offline="insecure_dealer", max_memory="140 MB") as mpc:
            before = peak()
            x = mpc.input(np.ones((100, 100), dtype=int), owner=0, dtype=qr.int(32))
            y = mpc.input(np.ones((100, 100), dtype=int), owner=1, dtype=qr.int(32))
            product = x @ y
            assert mpc.explain(product).memory_bytes <= 140_000_000
            assert (product.reveal() == 100).all()
        print(peak() - before)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 330, done.stdout


def test_what_waits_for_the_check_counts() -> None:
    """For each product 48 bytes wait for the check, also if a chain of products runs in pieces."""
    with qr.local("spdz2k", parties=2, offline="insecure_dealer", max_memory="60 MB") as mpc:
        x = mpc.input(np.ones(100_000, dtype=int), owner=0, dtype=qr.int(32))
        y = mpc.input(np.ones(100_000, dtype=int), owner=1, dtype=qr.int(32))
        assert mpc.explain((x * y).sum()).refusal is None
        with pytest.raises(qr.ConfigError, match="max_memory is 60 MB"):
            (x * y * y * y * y * y * y * y * y).sum().reveal()


@pytest.mark.parametrize(("parties", "limit"), [(2, "2 MB"), (3, "5 MB")])
def test_correlations_that_do_not_fit_are_made_in_turns(parties: int, limit: str) -> None:
    values = RNG.integers(-30, 30, 24)
    with qr.local("spdz2k", parties=parties, mac=32, allow_weak=True, offline="protocol", max_memory=limit) as mpc:
        x = mpc.input(values, owner=0, dtype=qr.int(16))
        y = mpc.input(values[::-1].copy(), owner=1, dtype=qr.int(16))
        results = [(x >> 1), x * y * x, (x < y).astype(qr.int(16)), (x == y).astype(qr.int(16)).sum()]
        plan = mpc.explain(*results)
        half, product, less, same = mpc.reveal_all(*results)
        stats = mpc.stats()
        np.testing.assert_array_equal(half, values >> 1)
        np.testing.assert_array_equal(product, (values * values[::-1] * values).astype(np.int16))
        np.testing.assert_array_equal(less, values < values[::-1])
        assert same == (values == values[::-1]).sum()
        for now, planned in ((stats.offline, plan.offline), (stats.online, plan.online)):
            assert (now.rounds, now.bytes_sent) == (planned.rounds, planned.bytes_sent)
        assert sorted((x + 0).reveal()) == sorted(values), "the session goes on"


@pytest.mark.parametrize("parties", [2, 3])
@pytest.mark.parametrize(("mac", "bits"), [(48, 32), (64, 64)])
def test_convolutions_are_products_with_patches_and_cost_what_is_planned(parties: int, mac: Any, bits: int) -> None:
    image, filters = RNG.integers(-100, 100, (4, 5)), RNG.integers(-100, 100, (2, 3, 3))
    padded = np.pad(np.arange(20).reshape(4, 5) + 1, 1)
    patches = np.lib.stride_tricks.sliding_window_view(padded, (3, 3))[::2, ::2].reshape(-1, 9).T
    clear = filters.reshape(2, 9) @ np.concatenate([[0], image.ravel()])[patches]
    with qr.local("spdz2k", parties=parties, mac=mac) as mpc:
        x = mpc.input(image, owner=0, dtype=qr.int(bits))
        w = mpc.input(filters, owner=parties - 1, dtype=qr.int(bits))
        around = mpc.input([0], owner=0, dtype=qr.int(bits))
        result = w.reshape(2, 9) @ mpc.concatenate([around, x.ravel()])[patches]
        plan = mpc.explain(result)
        np.testing.assert_array_equal(result.reveal(), clear)
        stats = mpc.stats()
    for planned, measured in ((plan.offline, stats.offline), (plan.online, stats.online)):
        assert (measured.rounds, measured.bytes_sent) == (planned.rounds, planned.bytes_sent)
    # A triple of two parties for each product.
    one_sided = [count for kind, count in plan.correlations.items() if kind.startswith("one-sided")]
    assert one_sided == [filters.size * patches.shape[1]]


def test_random_bits_by_square_roots() -> None:
    with qr.local("spdz2k", parties=2, random_bits="sqrt") as mpc:
        x, y = (mpc.input(values, owner=i, dtype=qr.int(8)) for i, values in enumerate((X, Y)))
        np.testing.assert_array_equal((x < y).astype(qr.int(8)).reveal(), (X < Y).astype(int))


def test_fixed_point_and_shuffles() -> None:
    with qr.local("spdz2k", parties=2) as mpc:
        x = mpc.input([1.5, -2.25, 8.0], owner=0, dtype=qr.fixed(32, 12))
        y = mpc.input([2.0, 3.0, 0.5], owner=1, dtype=qr.fixed(32, 12))
        np.testing.assert_allclose((x * y).reveal(), [3.0, -6.75, 4.0], atol=2**-11)
        assert sorted(mpc.shuffle(x).reveal().tolist()) == [-2.25, 1.5, 8.0]


@pytest.mark.parametrize(("mac", "weak", "bits"), [(64, False, 57), (48, False, 42), ("32", True, 26)])
def test_keys_of_every_length(mac: Any, weak: bool, bits: int) -> None:
    with qr.local("spdz2k", parties=2, mac=mac, allow_weak=weak) as mpc:
        assert f"{bits}-bit statistical" in mpc.stats().security
        x, y = (mpc.input(values, owner=i, dtype=qr.int(16)) for i, values in enumerate((X, Y)))
        np.testing.assert_array_equal((x * y).reveal(), X * Y)
        np.testing.assert_array_equal((x < y).reveal(), X < Y)


def test_short_keys_are_for_narrow_values_and_weak_ones_are_asked_for() -> None:
    with pytest.raises(qr.ConfigError, match=r"mac=32 gives 26 bits .* allow_weak"):
        qr.local("spdz2k", parties=2, mac=32)
    with qr.local("spdz2k", parties=2, mac=48) as mpc:
        with pytest.raises(qr.DtypeError, match="at most 32 bits"):
            mpc.input(X, owner=0, dtype=qr.int(64))
        x = mpc.input([0.5], owner=0, dtype=qr.fixed(32, 16))
        with pytest.raises(qr.ConfigError, match=r"sigmoid of .*test_spdz2k\.py:\d+: .* 32 bits, also on the way"):
            qr.sigmoid(x).reveal()
        assert mpc.stats().online.bytes_sent == mpc.stats().offline.bytes_sent == (0, 0)
        y = mpc.input(X, owner=0, dtype=qr.int(32))
        np.testing.assert_array_equal((y * y).reveal(), X * X)


@pytest.mark.parametrize(("triples", "what"), [("t3", "t3"), ("bucket", "published"), ("twokeys", "twokeys")])
def test_triples_of_every_form(triples: str, what: str) -> None:
    with qr.local("spdz2k", parties=2, mac=48, triples=triples) as mpc:
        assert what in mpc.stats().security and "42-bit statistical" in mpc.stats().security
        x, y = (mpc.input(values, owner=i, dtype=qr.int(16)) for i, values in enumerate((X, Y)))
        np.testing.assert_array_equal((x * y).reveal(), X * Y)


def test_matrices_that_two_parties_know() -> None:
    rng = np.random.default_rng(6)
    weights, records = rng.integers(-9, 9, (10, 300)), rng.integers(-9, 9, (300, 2))
    sent = {}
    for matrices in ["elementwise", "experimental"]:
        with qr.local("spdz2k", parties=2, mac=48, matrices=matrices) as mpc:
            assert ("matrix triples" in mpc.stats().security) == (matrices == "experimental")
            x, y = (mpc.input(values, owner=i, dtype=qr.int(32)) for i, values in enumerate((weights, records)))
            np.testing.assert_array_equal((x @ y).reveal(), weights @ records)
            sent[matrices] = sum(mpc.stats().offline.bytes_sent)
    assert 4 * sent["experimental"] < sent["elementwise"]
    with pytest.raises(qr.ConfigError, match="goes with triples=t3 alone"):
        qr.local("spdz2k", parties=2, triples="bucket", matrices="experimental")


def test_bits_of_the_paper() -> None:
    with qr.local("spdz2k", parties=2, bits="paper") as mpc:
        x, y = (mpc.input(values, owner=i, dtype=qr.int(8)) for i, values in enumerate((X, Y)))
        less, same = x < y, x == y
        np.testing.assert_array_equal(less.reveal(), X < Y)
        np.testing.assert_array_equal(same.reveal(), X == Y)
        np.testing.assert_array_equal((x // 4).reveal(), X // 4)


RECORDS = RNG.integers(0, 50, (60, 3)).astype(float)
CLASSES = (RECORDS[:, 0] > RECORDS[:, 2]) + (RECORDS[:, 1] > 25)
MODELS: dict[str, Callable[[], Any]] = {
    "tree": lambda: DecisionTreeClassifier(max_depth=2, random_state=0).fit(RECORDS, CLASSES),
    "svm": lambda: LinearSVC(random_state=0, max_iter=20_000).fit(RECORDS, CLASSES),
}


@pytest.mark.parametrize("parties", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_models_predict_and_cost_what_is_planned(name: str, parties: int) -> None:
    estimator, owners = MODELS[name](), (0, parties - 1)
    model = qr.models.from_sklearn(estimator, sample=RECORDS)
    records = _model.encode_records(model.shape, RECORDS[:3])
    with qr.local("spdz2k", parties=parties) as mpc:
        on = Secret(mpc, model, owners[0])
        decisions = _model.run(on, model.shape, model._secrets, records, 3, *owners)
        plan = mpc.explain(_model.choose(on, model.shape, decisions, model._secrets, owners[0]), to=owners[1])
        found = model.predict(mpc, RECORDS[:3], *owners)
        stats = mpc.stats()
    np.testing.assert_array_equal(found, estimator.predict(RECORDS[:3]))
    for planned, measured in ((plan.offline, stats.offline), (plan.online, stats.online)):
        assert (measured.rounds, measured.bytes_sent) == (planned.rounds, planned.bytes_sent)


@pytest.mark.parametrize("options", [("--parties=2",), ("--parties=3", "--mac=48", "--bits=paper")], ids=str)
def test_processes_find_what_one_of_them_chooses_wrongly(options: tuple[str, ...], tmp_path: Path) -> None:
    script = tmp_path / "choose.py"
    script.write_text(
        textwrap.dedent(
            """
            import quorate as qr
            with qr.session() as mpc:
                choice = mpc.input([[0, 0, 1], [2, -1, 0]], owner=0, bound=2, dtype=qr.int(16)).assert_one_hot()
                numbers = mpc.input([5, 6, 7], owner=1, bound=9, dtype=qr.int(16))
                print("chosen:", (choice @ numbers).reveal())
            """
        )
    )
    command = [sys.executable, "-m", "quorate.cli", "run", "--protocol=spdz2k", *options, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    said = done.stdout + done.stderr
    assert done.returncode != 0 and "chosen" not in said, said
    assert "one element of each row is 1" in said and "CheatingDetected" in said, said


@pytest.mark.parametrize("options", [{}, {"malicious": True}], ids=["all but one may cheat", "one may cheat"])
def test_bounds_of_places_and_divisors_are_proven(options: dict[str, Any], tmp_path: Path) -> None:
    with qr.local("pika", **options) if options else qr.local("spdz2k", parties=2) as mpc:
        table = mpc.input([10, 20, 30, 40], owner=0)
        plans = []
        for check in ("proven", "trusted"):
            i = mpc.input([3, 0, 2], owner=1, bound=3, bound_check=check)
            plans.append(mpc.explain(mpc.take(table, i)).online.bytes_sent)
            assert mpc.take(table, i).reveal().tolist() == [40, 10, 30]
            assert mpc.one_hot(i, 4).reveal().argmax(axis=1).tolist() == [3, 0, 2]
            assert qr.lookup(i, lambda x: x * x, domain=(0, 4)).reveal().tolist() == [9, 0, 4]
            j = mpc.input([1, 2, 2], owner=0, bound=2, bound_check=check)
            assert qr.lookup((i, j), lambda x, y: 10 * x + y, domain=[(0, 4), (0, 3)]).reveal().tolist() == [31, 2, 22]
            n = mpc.input([3, -4], owner=1, bound=8, bound_check=check)
            assert (mpc.input([100, 100], owner=0) // n).reveal().tolist() == [33, -25]
            d = mpc.input([3.0, -4.0], owner=1, bound=8, bound_check=check)
            np.testing.assert_allclose((mpc.input([9.0, 2.0], owner=0, bound=10) / d).reveal(), [3, -0.5], atol=1e-3)
        assert plans[0] > plans[1], "a comparison of each place"
        with pytest.raises(qr.ConfigError, match='bound_check is "proven" or "trusted", not \'yes\''):
            mpc.input([1], owner=0, bound=3, bound_check="yes")
        path = tmp_path / "places.csv"
        path.write_text("place\n2\n0\n")
        words, towns = ["a", "b", "c"], {"town": ["c", "a"]}  # of four, each code of the dtype is a place
        for name, place in {
            "file": lambda check: mpc.input_file(path, owner=1, columns="place", bound=2, bound_check=check),
            "frame": lambda check: mpc.input_frame(towns, owner=1, columns={"town": words}, bound_check=check)["town"],
        }.items():
            sent = [mpc.explain(mpc.take(table, place(check))).online.bytes_sent for check in ("proven", "trusted")]
            assert sent[0] > sent[1], name
            assert mpc.take(table, place("trusted")).reveal().tolist() == [30, 10]
            with pytest.raises(qr.ConfigError, match='bound_check is "proven" or "trusted"'):
                place("yes")


@pytest.mark.parametrize("row", [(1, 1, 0), (0, 0, 0), (1, 1, -1)])
def test_a_trees_owner_chooses_one_feature_for_each_node(row: tuple[int, ...]) -> None:
    model = qr.models.from_sklearn(MODELS["tree"]())
    selection = model._secrets.nodes.selection.astype(int)
    selection[1, 0] = row
    nodes = dataclasses.replace(model._secrets.nodes, selection=selection)
    cheating = dataclasses.replace(model, _secrets=dataclasses.replace(model._secrets, nodes=nodes))
    with (
        qr.local("spdz2k", parties=2) as mpc,
        pytest.raises(qr.CheatingDetected, match="one element of each row is 1 and all others are 0"),
    ):
        cheating.predict(mpc, RECORDS[:2])
