"""Advice in messages that takes more than a program: packages, threads, deployments."""

from __future__ import annotations

import multiprocessing
import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
from advice.case import follows
from advice.messages import ROOT, messages
from deploying import Deployment, Party
from quorate import cli
from quorate._numpy._unsupported import instead
from warm import LIMIT_SECONDS, quorate

PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
#: Too large to be installed by a test.
LARGE = {"keras", "tensorflow", "tf2onnx", "torch", "onnxscript", "pillow"}


@follows("pip install")
def test_packages_that_messages_name_are_this_projects_or_known() -> None:
    extras = re.findall(r"^(\w+) = \[", PROJECT, re.MULTILINE)
    own = re.findall(r'^name = "([\w-]+)"', PROJECT, re.MULTILINE)
    wanted = {*re.findall(r'"([\w-]+)(?:\[[^"]*\])?(?:[<>=][^"]*)?"', PROJECT), *own, *LARGE}
    seen = 0
    for message in messages():
        for named in re.findall(r"pip install (?:--upgrade )?([^):;]+)", message.text):
            for one in re.findall(r"'([^']+)'|([\w.-]+)", named):
                name = one[0] or one[1]
                found = re.fullmatch(r"([\w-]+)(?:\[(\w+)\])?(?:>=[\d.]+)?", name)
                assert found, message.shown
                distribution, extra = found.groups()
                assert distribution in wanted, message.shown
                assert extra is None or extra in extras, message.shown
                seen += 1
    assert seen >= 8


def test_commands_that_messages_name_are_commands() -> None:
    named = {name for message in messages() for name in re.findall(r"`quorate (\w+)`", message.text)}
    assert {"keygen", "models"} <= named
    for name in named:
        with pytest.raises(SystemExit) as ended:
            cli.main([name, "--help"])
        assert ended.value.code == 0, name


@follows("the directory {} does not exist; make it first")
def test_a_directory_for_figures_is_made_first(tmp_path: Path) -> None:
    arguments = ("bench", "mul", "--protocol", "rss", "--links", "memory", "--json")
    done = quorate(*arguments, str(tmp_path / "new" / "a.json"), cwd=tmp_path)
    assert done.returncode == 2
    assert re.search("the directory .*new does not exist; make it first", done.stderr)


@follows("operators, methods (x.sum(), x @ y), mpc.where, mpc.concatenate; or reveal first")
def test_functions_of_a_numpy_to_come_are_told_of_operators() -> None:
    assert instead("of_a_numpy_to_come").startswith("operators, methods (x.sum(), x @ y)")
    with qr.local("rss") as mpc:
        x = mpc.input([[3, 4]], owner=0)
        assert (x @ x.T).sum().reveal() == np.sum(x.reveal() ** 2) == 25


#: A request of another thread is under way when the main thread uses the session, too.
BUSY = """
import sys, threading
import numpy as np
import quorate as qr
from quorate._display._progress import Progress

runs, busy = threading.Event(), []
Progress.show = lambda *_: runs.set()

def values(mpc, given):
    return mpc.input(given if mpc.me == 0 else None, owner=0, shape=given.shape, dtype=qr.int(64), bound=max(given))

def product(name, factor):
    with qr.connect(sys.argv[1], session=name) as mpc:
        print(f"{name}: {(values(mpc, np.array([factor])) * 2).reveal()}")

with qr.connect(sys.argv[1], session="first") as mpc:
    x = values(mpc, np.ones(100_000, int))
    y = x
    for _ in range(60):
        y = y * x
    total = y.sum()
    thread = threading.Thread(target=lambda: print(f"first: {total.reveal()}"))
    thread.start()
    assert runs.wait(20)
    for call in (lambda: x + 1, x.reveal):
        try:
            call()
        except qr.SessionBusy as error:
            busy.append(str(error))
    print(busy, mpc.stats().online.rounds)
    thread.join()  # waits for it
    print(f"then: {(x + x).sum().reveal()}")
    own = mpc.branch("third")
    threads = [threading.Thread(target=lambda: print(f"third: {(own.adopt(x)[:1] * 8).reveal()}"))]
    threads.append(threading.Thread(target=product, args=("second", 3)))
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    own.close()
"""


@follows("wait for it, or give each thread a branch (mpc.branch) or a session of its own (session=)")
def test_threads_of_a_deployment_wait_or_have_sessions_of_their_own(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path, warm=False)
    script = tmp_path / "busy.py"
    script.write_text(BUSY)
    parties = []
    for me in range(3):
        parties.append(Party([sys.executable, str(script), str(deployment.config(me))], tmp_path))
        deployment.running.append(parties[-1])
    try:
        for party in parties:
            ended = party.end()
            assert ended.status == 0, ended
            assert ended.out.count("wait for it, or give each thread a branch") == 2, ended
            assert "] 0" in ended.out and "first: 100000" in ended.out and "then: 200000" in ended.out, ended
            assert "second: [6]" in ended.out and "third: [8]" in ended.out, ended
    finally:
        deployment.stop()


@follows("do not ask for other values in a hook for warnings, or in a signal handler")
def test_hooks_do_not_ask_for_values_while_their_thread_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []

    def show(*_: Any, **__: Any) -> None:
        try:
            found.append(x.reveal())
        except qr.SessionBusy as error:
            found.append(str(error))

    with qr.local() as mpc, warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", show)
        x = mpc.input([0.004], owner=0)
        (x * x).reveal()
        assert len(found) == 1 and "do not ask for other values in a hook for warnings" in found[0]
        show()
        assert np.isclose(found[1], 0.004, atol=1e-4).all()


def _product() -> int:
    with qr.local("rss") as mpc:
        return int((mpc.input(3, owner=0) * 4).reveal())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@follows('open one in this process, or start processes without fork (multiprocessing\'s "spawn")')
def test_processes_open_sessions_of_their_own() -> None:
    with qr.local("rss") as mpc:
        x = mpc.input(3, owner=0)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            said = ""
            try:
                x.reveal()
            except qr.QuorateError as error:
                said = str(error)
            os.write(writing, said.encode())
            os._exit(0)
        os.waitpid(child, 0)
        assert "open one in this process, or start processes without fork" in os.read(reading, 4096).decode()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply_async(_product).get(LIMIT_SECONDS) == 12  # a process that dies is never told of


PRODUCT = (
    "x = mpc.input([3, -4] if mpc.me == 0 else None, owner=0, shape=2, dtype=DTYPEBOUND)\nprint(EXPRESSION.reveal())"
)


@follows(
    "state bound= of the inputs; up to bound={} it fits",
    "state bound= of the inputs; up to bound=1e{} it fits",
    "no bound= of the inputs proves that it fits: clip what it works on, or use a wider dtype with bound=",
)
def test_what_a_deployment_advises_ends_its_warning(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path)
    followed = [
        # dtype and expression; what is said; dtype, bound and expression that follow.
        (("qr.int(64)", "(x * x)"), r"up to (bound=1e\d+) it fits", ("qr.int(64)", ", {}", "(x * x)"), "[ 9 16]"),
        (("qr.int(16)", "(x * x)"), r"up to (bound=\d+) it fits", ("qr.int(16)", ", {}", "(x * x)"), "[ 9 16]"),
        (
            ("qr.int(16)", "(x + 32767)"),
            "(use a wider dtype with bound=)",
            ("qr.int(32)", ", bound=9", "(x + 32767)"),
            "[32770 32763]",
        ),
    ]
    try:
        for (dtype, expression), says, (other, bound, same), right in followed:
            program = PRODUCT.replace("DTYPE", dtype).replace("BOUND", "").replace("EXPRESSION", expression)
            unbounded = deployment.run(deployment.script(program))
            advice = re.search(says, unbounded[0].err)
            assert advice is not None, unbounded
            stated = PRODUCT.replace("DTYPE", other).replace("BOUND", bound.format(advice[1]))
            bounded = deployment.run(deployment.script(stated.replace("EXPRESSION", same)))
            assert {ended.out.strip() for ended in bounded} == {right}
            assert [ended.err for ended in bounded] == ["", "", ""]
    finally:
        deployment.stop()


@follows("state dtype=, too")
def test_the_shape_of_a_file_elsewhere_takes_a_dtype_too(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path)
    (tmp_path / "a.csv").write_text("n\n7\n")
    body = "x = mpc.input_file('a.csv' if mpc.me == 0 else None, owner=0, shape=(1, 1)DTYPE)\nprint(x.sum().reveal())"
    try:
        refused = deployment.run(deployment.script(body.replace("DTYPE", "")))
        assert any("shape= is stated for party 0's file: state dtype=, too" in ended.err for ended in refused)
        stated = deployment.run(deployment.script(body.replace("DTYPE", ", dtype=qr.int(64)")))
    finally:
        deployment.stop()
    assert {(ended.out, ended.err) for ended in stated} == {("7\n", "")}
