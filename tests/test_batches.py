"""Batches of records from arrays and files, for models and networks."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import quorate as qr
from deploying import Deployment
from quorate._command._explain import Book, Explaining
from quorate._display._progress import Progress, parts
from quorate._families import FAMILIES
from quorate.errors import ModelError, RangeError
from quorate.models import from_sklearn
from quorate.models._onnx._inputs import Input
from quorate.models._onnx._model import scaled
from quorate.models._onnx._steps import Step
from quorate.models._questions import Asked, _some
from quorate.tables._read import Table

X, y = load_iris(return_X_y=True)
RNG = np.random.default_rng(14)


def network(labels: bool = True) -> qr.models.Network:
    """Returns a network: a layer, ReLU, a layer, on vectors of four."""
    r = np.random.default_rng(0)
    steps = [
        Step("matmul", (0,), {}, r.normal(size=(4, 8)), r.normal(size=8)),
        Step("relu", (1,)),
        Step("matmul", (2,), {}, r.normal(size=(8, 3)), r.normal(size=3)),
    ]
    return scaled(steps, (4,), (0.0, 8.0), 20, 20, ["a", "b", "c"] if labels else None)


@pytest.mark.parametrize("batch", [1, 7, 20, 100, None])
def test_batches_give_what_all_at_once_gives(batch: int | None) -> None:
    fitted = LogisticRegression(max_iter=500).fit(X, y)
    model, some = from_sklearn(fitted, sample=X), X[::7]
    with qr.local("rss") as mpc:
        assert (model.predict(mpc, some, batch=batch) == fitted.predict(some)).all()
        runs = mpc.stats()
        shares = model.predict_proba(mpc, some, batch=batch)
        assert np.abs(shares - fitted.predict_proba(some)).max() < 1e-3
        # The model is shared once for all batches.
        assert max(mpc.stats().online.bytes_sent) < 2.2 * max(runs.online.bytes_sent)
        assert (network().predict(mpc, some, batch=batch) == network().predict_clear(some)).all()


def said(ask: Callable[[], object]) -> list[str]:
    """Returns the warnings without their line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ask()
    told = [str(w.message) for w in caught if issubclass(w.category, qr.ModelWarning)]
    assert all("(at test_batches.py:" in text for text in told), told
    return [text.partition(" (at ")[0] for text in told]


def tied() -> qr.models.Network:
    """Returns a network of two outputs that are always equal."""
    return scaled([Step("matmul", (0,), {}, np.ones((4, 2)))], (4,), (0.0, 8.0), 20, 20, ["a", "b"])


WARNED = {
    "network": (tied, "of 30 inputs"),
    "labels": (lambda: from_sklearn(LogisticRegression(max_iter=500).fit(X, y), bounds=1e9), "of 30 records"),
    "numbers": (lambda: from_sklearn(LinearRegression().fit(X, y), bounds=1e9), "the largest of these is"),
    "means": (
        lambda: from_sklearn(VotingRegressor([("a", LinearRegression())]).fit(X, y), bounds=1e9),
        "the largest of these is",
    ),
}


@pytest.mark.parametrize("kind", WARNED)
def test_users_are_told_once_of_all_batches(kind: str) -> None:
    made, words = WARNED[kind]
    model, some = made(), X[::5]
    with qr.local("rss", check=False) as mpc:
        [at_once] = said(lambda: model.predict(mpc, some))
        assert words in at_once
        assert said(lambda: model.predict(mpc, some, batch=8)) == [at_once]
        with pytest.raises(RangeError):
            said(lambda: model.predict(mpc, np.concatenate([some, [[np.inf] * 4]]), batch=8))
        assert said(lambda: model.predict(mpc, some)) == [at_once]  # the failed question left no warnings pending


def test_ties_are_of_as_many_labels_as_there_are() -> None:
    """One label for each of three rows of an input; and for a network of one output, which has no ties."""
    rows = [Step("reshape", (0,), {"shape": [3, 4]}), Step("matmul", (1,), {}, np.ones((4, 2)))]
    model = scaled(rows, (12,), (0.0, 8.0), 20, 20, ["a", "b"])
    single = scaled([Step("matmul", (0,), {}, np.ones((4, 1)))], (4,), (0.0, 8.0), 20, 20, ["only"])
    with qr.local("rss", check=False) as mpc:
        [told] = said(lambda: model.predict(mpc, np.ones((5, 12)), batch=2))
        assert "of 15 of 15 labels" in told
        assert said(lambda: single.predict(mpc, X[:3])) == []


def test_pieces_that_fit_into_memory_are_told_of_once() -> None:
    with qr.local("rss", max_memory="400kB", check=False) as mpc:
        [told] = said(lambda: tied().predict(mpc, RNG.uniform(0, 8, (20_000, 4))))
        assert "20000 of 20000 inputs" in told
        assert mpc.stats().online.rounds > 20  # so it ran in pieces


def test_files_are_read_a_batch_at_a_time(tmp_path: Path) -> None:
    np.save(tmp_path / "records.npy", X)
    model = network(labels=False)
    with qr.local("rss") as mpc:
        found = model.decision_function(mpc, tmp_path / "records.npy", batch=64)
        assert np.abs(found - model.predict_clear(X)).max() <= model.error_bound
        assert (model.predict(mpc, str(tmp_path / "records.npy")) == found).all()
        np.savez(tmp_path / "several.npz", X=X)
        (tmp_path / "text.npy").write_text("5.1, 3.5")
        np.save(tmp_path / "objects.npy", np.array([{}], object))
        for name in ("several.npz", "text.npy", "objects.npy", "missing.npy"):
            with pytest.raises(ModelError, match=f"X: .*{name}"):
                model.predict(mpc, tmp_path / name)


def test_files_that_are_no_array_are_refused_in_words(tmp_path: Path) -> None:
    np.savez(tmp_path / "several.npz", X=X)
    (tmp_path / "damaged.npz").write_bytes((tmp_path / "several.npz").read_bytes()[:-40])
    with zipfile.ZipFile(tmp_path / "records.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    zipfile.ZipFile(tmp_path / "empty.npz", "w").close()
    with qr.local("rss") as mpc:
        for name, words in (
            ("damaged.npz", "as np.save writes them: read others yourself"),
            ("records.xlsx", "as np.save writes them: read others yourself"),
            ("empty.npz", "as np.save writes them: read others yourself"),
            ("several.npz", r"holds arrays by names: give one of them, numpy.load\(path\)\['X'\]"),
        ):
            with pytest.raises(ModelError, match=f"X: .*{name}.*{words}"):
                network().predict(mpc, tmp_path / name)
        with pytest.raises(
            ModelError, match=r"a[.]npy is in a list, which is of pictures: of one file of an array give"
        ):
            network().predict(mpc, ["a.npy"])


def test_a_limit_on_memory_takes_as_many_at_a_time_as_it_has_room_for() -> None:
    model, many = network(), RNG.uniform(0, 8, (1000, 4))
    with qr.local("rss", max_memory="400kB", check=False) as mpc:
        # Refused as at once, with nothing sent.
        assert "max_memory" in (mpc.explain(model.predict(mpc, many, reveal=False)).refusal or "")
        found = model.predict(mpc, many)
        batches = mpc.stats().online.rounds
        assert (found == model.predict_clear(many)).mean() > 0.999
        model.predict(mpc, many[:10])
        assert batches > 4 * (mpc.stats().online.rounds - batches)  # several pieces; one run for few records
    with qr.local("rss", max_memory="1kB", check=False) as mpc, pytest.raises(qr.ConfigError, match="max_memory is"):
        model.predict(mpc, many)


def test_rows_that_are_not_equally_long_are_refused_in_words() -> None:
    for model in (network(), from_sklearn(LogisticRegression(max_iter=500).fit(X, y), sample=X)):
        with qr.local("rss") as mpc, pytest.raises(RangeError, match="not equally long"):
            model.predict(mpc, [[1, 2, 3, 4], [1, 2]])


def test_pictures_are_arrays_first(tmp_path: Path) -> None:
    for name in ("cat.png", "cat.npy"):
        (tmp_path / name).write_bytes(b"\x89PNG")
        with qr.local("rss") as mpc, pytest.raises(ModelError, match=r"PIL.Image|as np\.save writes them") as error:
            network().predict(mpc, tmp_path / name)
        assert "pickle" not in str(error.value)


def test_what_a_batch_cannot_be_is_refused_before_anything_is_sent() -> None:
    model = network()
    with qr.local("rss") as mpc:
        for wrong in (0, -1, 2.5, True):
            with pytest.raises(ModelError, match="no number of records"):
                model.predict(mpc, X, batch=wrong)
        with pytest.raises(ModelError, match="reveal=False"):
            model.predict(mpc, X, batch=3, reveal=False)
        with pytest.raises(RangeError):
            model.predict(mpc, X + 100, batch=30)
        assert mpc.stats().online.rounds == 0


def test_weights_of_a_network_are_shared_once_in_a_session() -> None:
    model = network()
    with qr.local("rss") as mpc:
        sent = []
        for _ in range(3):
            model.predict(mpc, X[:1])
            sent.append(mpc.stats().online.bytes_sent)
    first, second, third = (np.array(s) for s in sent)
    weights = 8 * 4 + 8 + 3 * 8 + 3
    assert (first - (second - first)).tolist() == pytest.approx([weights * model.shape.ring / 8, 0, 0], abs=8)
    assert (third - second == second - first).all()


@pytest.mark.parametrize("protocol", FAMILIES)
def test_outputs_that_stay_secret_are_the_networks(protocol: str) -> None:
    model = network(labels=False)
    with qr.local(protocol) as mpc:
        made = model.decision_function(mpc, X[:5], reveal=False)
        assert isinstance(made, qr.SecretArray) and made.dtype == qr.fixed(64, 16)
        assert mpc.stats().online.rounds == 0
        found = (made * 2).sum(axis=1).reveal()
    wanted = 2 * model.predict_clear(X[:5]).sum(axis=1)
    assert np.abs(found - wanted).max() <= 6 * (model.error_bound + 2.0**-16)


def test_progress_is_of_all_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, shown = [0.0], io.StringIO()
    shown.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    with parts(range(4)) as each:
        for part in each:
            with Progress() as progress:
                clock[0] += 10
                progress.show("offline", 0.5)
                clock[0] += 10
                progress.show("online", 0.0)
                assert f"{part + 1}/4" in shown.getvalue()
    lines = shown.getvalue().split("\r")
    assert any("1/4" in line and "12 %" in line and "140 s left" in line for line in lines)
    assert any("4/4" in line and "88 %" in line for line in lines)
    with Progress() as progress:
        clock[0] += 5
        progress.show("online", 0.5)
    assert "  online [" in shown.getvalue()


def test_batches_of_tables_are_cut_by_place() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True)
    fitted = LogisticRegression(max_iter=1000).fit(X, y)
    named = pandas.DataFrame(X, index=np.arange(len(X))[::-1] / 2)
    table = Table(X)
    with qr.local() as mpc, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for records in (named, table):
            found = from_sklearn(fitted, bounds=10.0).predict(mpc, records, batch=40)
            np.testing.assert_array_equal(found, fitted.predict(X))


# ---- what is asked about memory is the question itself -------------------------------------------------------------


def test_numbers_that_secrets_cannot_hold_are_revealed_under_a_limit() -> None:
    """A dry run that kept its answer secret would refuse them."""
    records = RNG.normal(size=(20, 2))
    model = from_sklearn(LinearRegression().fit(records, records[:, 0] * 1e13))
    with qr.local("rss", max_memory="100GB") as mpc, warnings.catch_warnings():
        warnings.simplefilter("ignore", qr.ModelWarning)
        np.testing.assert_array_equal(model.predict(mpc, records), model.predict_clear(records))


def test_rings_that_secret_answers_do_not_fit_are_revealed_under_a_limit() -> None:
    steps = [Step("matmul", (0,), {}, np.random.default_rng(0).normal(size=(4, 3)))]
    model = scaled(steps, (4,), (0.0, 8.0), 10, 8)
    with qr.local("spdz2k", parties=2, mac=48, max_memory="10GB", offline="insecure_dealer", check=False) as mpc:
        assert np.abs(model.predict(mpc, X[:2]) - model.predict_clear(X[:2])).max() <= model.error_bound


def test_refusals_under_a_limit_name_the_question() -> None:
    model = from_sklearn(LogisticRegression(max_iter=500).fit(X, y), sample=X)
    with qr.local("rss", max_memory="1GB") as mpc:
        with pytest.raises(ModelError, match="call decision_function on what from_sklearn"):
            model.shape.decision_function(mpc, X)
        soft = VotingClassifier([("a", LogisticRegression(max_iter=500))], voting="soft").fit(X, y)
        with pytest.raises(ModelError, match="party 0 owns the models: call predict on what from_sklearn"):
            from_sklearn(soft, sample=X).shape.predict(mpc, X)
        assert (from_sklearn(soft, sample=X).predict(mpc, X[::30]) == soft.predict(X[::30])).all()
        with pytest.raises(qr.ShapeError, match=r"records have shape \(150, 3\)"):
            model.predict(mpc, X[:, :3])


def test_no_more_of_a_file_is_looked_at_than_there_is_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "records.npy", RNG.uniform(0, 8, (3000, 4)))
    model, looked, encode = network(labels=False), [], Input.encode
    monkeypatch.setattr(Input, "encode", lambda self, X: looked.append(len(X)) or encode(self, X))
    with qr.local("rss", max_memory="400kB", check=False) as mpc:
        assert len(model.predict(mpc, tmp_path / "records.npy")) == 3000
    assert sum(looked) == 3000 and max(looked) < 1500


ROLES = """
import json, warnings
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
warnings.simplefilter("ignore")
X, y = load_iris(return_X_y=True)
if mpc.me == 2:
    mine = qr.models.from_sklearn(LogisticRegression(max_iter=500).fit(X, y), sample=X)
else:
    mine = qr.models.Shape(**json.load(open("shape.json")))
x = "x.npy" if mpc.me == 0 else None
found = mine.predict_proba(mpc, x, model_owner=2, data_owner=0, reveal_to=1, rows=4000)
print(json.dumps([None if found is None else found[::100].tolist(), mpc.stats().online.rounds > 9]))
"""


def test_real_parties_find_room_for_the_same_records(tmp_path: Path) -> None:
    fitted, many = LogisticRegression(max_iter=500).fit(X, y), np.tile(X, (27, 1))[:4000]
    np.save(tmp_path / "x.npy", many)
    described = from_sklearn(fitted, sample=X).shape.describe()
    (tmp_path / "shape.json").write_text(json.dumps(described, default=int))
    deployment = Deployment(tmp_path)
    try:
        ended = deployment.run(deployment.script(ROLES), "--max-memory=400kB")
    finally:
        deployment.stop()
    assert [e.status for e in ended] == [0, 0, 0], [e.err for e in ended]
    (first, pieces), (shares, _), (last, _) = (json.loads(e.out) for e in ended)
    assert first is last is None and pieces
    assert np.abs(np.array(shares) - fitted.predict_proba(many[::100])).max() < 1e-3


# ---- answers that are not computed ---------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [None, 40, 150])
def test_answers_of_scripts_that_are_explained_have_their_shape(batch: int | None) -> None:
    fitted = LogisticRegression(max_iter=500).fit(X, y)
    several, tree = from_sklearn(fitted, sample=X), from_sklearn(DecisionTreeClassifier(max_depth=3).fit(X, y))
    with qr.local("rss") as local:
        mpc = Explaining(local, Book())
        assert several.predict(mpc, X, batch=batch).shape == (150,)
        assert several.predict_proba(mpc, X, batch=batch).shape == (150, 3)
        assert tree.predict(mpc, X, batch=batch).shape == (150,)
        assert network(labels=False).predict(mpc, X, batch=batch).shape == (150, 3)


# ---- what is no array of records -----------------------------------------------------------------------------------


def test_a_list_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model, many, seen = network(), RNG.uniform(0, 8, (1000, 4)).tolist(), []
    monkeypatch.setattr("quorate.models._questions.records_of", lambda X: seen.append(len(X)) or len(X))
    with qr.local("rss", max_memory="600kB", check=False) as mpc:
        for batch in (None, 60):
            seen.clear()
            assert len(model.predict(mpc, many, batch=batch)) == 1000
            assert seen == [1000]


def test_a_record_that_does_not_fit_is_named_with_its_batch() -> None:
    model, many = network(), RNG.uniform(0, 8, (100, 4))
    many[70, 1] = 1e9
    with qr.local("rss") as mpc, pytest.raises(qr.RangeError, match=r"index \(10, 1\).*begins at record 60"):
        model.predict(mpc, many, batch=60)


@pytest.mark.parametrize("batch", [None, 2])
def test_what_has_no_rows_is_refused_in_words(batch: int | None) -> None:
    from scipy.sparse import coo_matrix, csr_matrix

    for model in (network(), from_sklearn(LogisticRegression(max_iter=500).fit(X, y), sample=X)):
        with qr.local("rss") as mpc:
            for sparse in (csr_matrix(X), coo_matrix(X)):
                with pytest.raises(qr.ShapeError, match=r"X\.toarray\(\)"):
                    model.predict(mpc, sparse, batch=batch)
                assert _some(Asked(sparse, 0, 1, None, None, True), 3, 5).X.shape == (2, 4)  # without records
            for single in (np.float64(3.0), np.array(3.0), 3):
                with pytest.raises(qr.ShapeError, match=r"X is a single .* without rows"):
                    model.predict(mpc, single, batch=batch)
