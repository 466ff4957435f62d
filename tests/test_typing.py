"""Users' programs under `mypy --strict`, with numpy's functions of secret arrays."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")

PROGRAM = '''
"""Scores and statistics of secrets."""

import numpy as np
import quorate as qr


def scores(x: qr.SecretArray, w: qr.SecretArray) -> qr.SecretArray:
    clipped = np.clip(x @ w, -4, 4)
    powers = np.exp(clipped)
    shares = powers / np.sum(powers)
    both = np.stack([np.maximum(shares, 0.0), np.abs(clipped)], axis=1)
    chosen = np.where(both > 0, both, 0)
    total = np.ones(3) @ x[:3, 0] + np.sqrt(np.mean(x * x)) + np.var(x)
    return chosen.sum(axis=0) + total


def shown(x: qr.SecretArray) -> list[float]:
    rows = np.concatenate([x[0], x[1]])
    parts = [np.sort(rows)[0], np.argmax(rows), np.median(rows), np.cumsum(rows)[-1], np.dot(rows, rows), rows.std()]
    parts += [np.outer(rows, rows)[0, 0], np.diff(rows)[0], np.count_nonzero(rows > 0), np.transpose(x)[0, 0]]
    return [float(part.reveal()) for part in parts] + [float(np.shape(x)[0])]


def main() -> list[float]:
    with qr.local("rss") as mpc:
        x = mpc.input(np.eye(3) + 1.0, owner=0, bound=4)
        w = mpc.input([0.5, 1.0, -0.5], owner=1, bound=1)
        found = np.round(scores(x, w).reveal(), 2)
        model = qr.learn.LinearRegression(max_iter=1, batch_size=3).fit(x, x[:, 0])
        return [*shown(x), float(found[0]), float(model.score(x, x[:, 0]).reveal())]
'''


def checked(folder: Path, program: str) -> str:
    (folder / "program.py").write_text(program)
    (folder / "mypy.ini").write_text(f"[mypy]\nplugins = quorate.mypy\ncache_dir = {Path('.mypy_cache').resolve()}\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "mypy.ini", "program.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


def test_a_program_with_functions_of_numpy_is_strictly_typed(tmp_path: Path) -> None:
    asked = "\n\ndef kind(x: qr.SecretArray) -> None:\n    reveal_type(np.where(x > 0, x, 0))\n"
    said = checked(tmp_path, PROGRAM + asked)
    assert 'Revealed type is "quorate.array.SecretArray"' in said
    assert "Success" in said


def test_the_program_runs(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    assert len(runpy.run_path(str(tmp_path / "program.py"))["main"]()) == 13
