"""In a notebook, errors name cells, and progress is one output that is rewritten and then removed."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest

import quorate as qr
from quorate._display._notebook import let_complete
from quorate._display._progress import Progress


class Output:
    """A notebook's display: all outputs that were shown, and the one that is left."""

    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []

    def display(self, data: dict[str, str], *, raw: bool, display_id: bool) -> Output:
        assert raw and display_id and not self.shown
        self.shown.append(data)
        return self

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.shown.append(data)


@pytest.fixture
def output(monkeypatch: pytest.MonkeyPatch) -> Output:
    """A notebook, as far as this package uses one."""
    made = Output()
    cells = {"/tmp/ipykernel_7/2667930038.py": ("Cell", "In[3]")}
    compiler = types.SimpleNamespace(format_code_name=cells.get)
    shell = types.SimpleNamespace(kernel=object(), compile=compiler)
    for name, content in {
        "IPython": {"get_ipython": lambda: shell},
        "IPython.display": {"display": made.display},
    }.items():
        module = types.ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    return made


def test_progress_is_one_output_that_goes_away(output: Output, capsys: pytest.CaptureFixture[str]) -> None:
    with Progress() as progress:
        progress.show("online", 0.1)
        assert output.shown == []
        progress._started -= 10
        progress.show("online", 0.25)
        progress.show("online", 0.5)
    assert ["25 %" in output.shown[0]["text/plain"], "50 %" in output.shown[1]["text/html"]] == [True, True]
    assert output.shown[2] == {"text/plain": "", "text/html": ""}
    assert len(output.shown) == 3
    assert capsys.readouterr().err == ""


def test_lines_are_named_by_their_cells(output: Output) -> None:
    program = "x = mpc.input([3, -5], owner=0)\nplan = mpc.explain(x * x)\ntry:\n    x + [1, 2, 3]\n"
    program += "except ValueError as caught:\n    error = caught"
    names: dict[str, Any] = {}
    with qr.local("rss") as names["mpc"]:
        exec(compile(program, "/tmp/ipykernel_7/2667930038.py", "exec"), names)
    assert [line.line for line in names["plan"].lines] == ["In[3]:1", "In[3]:2"]
    assert "(at In[3]:4)" in str(names["error"])


def test_statistics_show_as_a_table() -> None:
    with qr.local("rss") as mpc:
        mpc.input([3], owner=0).reveal()
        assert repr(mpc.stats()).startswith("rss, 3 parties; semi-honest")
        assert mpc.stats()._repr_html_().startswith("<div>")


class Policy:
    """The objects that a completer of IPython may inspect."""

    def __init__(self) -> None:
        self.allowed_getattr_external: set[Any] = {("pandas", "Series")}


def test_a_notebook_may_complete_methods_of_secret_arrays(output: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    """IPython inspects no object with a `__getattr__`, except those on its list."""
    module, policy = types.ModuleType("IPython.core.guarded_eval"), Policy()
    vars(module).update(EVALUATION_POLICIES={"limited": policy})
    monkeypatch.setitem(sys.modules, "IPython.core", types.ModuleType("IPython.core"))
    monkeypatch.setitem(sys.modules, "IPython.core.guarded_eval", module)
    let_complete()
    assert policy.allowed_getattr_external >= {("pandas", "Series"), ("quorate", "SecretArray")}
    del policy.allowed_getattr_external
    let_complete()  # another release: nothing happens


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("mpc.input([1.0], ow", "owner="),
        ("x.quantile(0.5, ke", "keepdims="),
        ("x.reveal(t", "to="),
        ("qr.local('rss', che", "check="),
        ("qr.session(str", "strict="),
        ("qr.connect('party.toml', thr", "threads="),
        ("qr.learn.LogisticRegression(max", "max_iter="),
        ("np.sum(x, ke", "keepdims="),
    ],
)
def test_ipython_completes_names_of_arguments(line: str, completed: str) -> None:
    shells = pytest.importorskip("IPython.core.interactiveshell")
    shell = shells.InteractiveShell.instance()
    shell.Completer.use_jedi = False
    with qr.local("rss") as mpc:
        shell.user_ns.update(qr=qr, np=np, mpc=mpc, x=mpc.input([1.0], owner=0))
        let_complete()
        assert completed in shell.complete("", line=line, cursor_pos=len(line))[1]
