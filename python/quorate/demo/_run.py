"""Runs the demonstration and prints its cost."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from quorate._command import _build_remarks
from quorate._display._plots import drawn, pyplot
from quorate._display._text_tables import counted
from quorate.demo._data import DATA_OWNER, MODEL_OWNER, Job, breast_cancer_jobs, compare
from quorate.errors import ConfigError
from quorate.session import local
from quorate.stats import Stats

Timelines = dict[str, dict[int, dict[str, float]]]


def run_demo(protocol: str, plot: Path | None, options: Mapping[str, Any] | None = None) -> int:
    """Scores the breast-cancer records with both models, among the protocol's default number of parties.

    Args:
        protocol: as in `qr.local`.
        plot: the path of a picture, or None.
        options: options of `qr.local`.

    Returns:
        The number of predictions that differ from those in the clear, which must be 0.
    """
    jobs = breast_cancer_jobs()
    differing = 0
    timelines: Timelines = {}
    for job in jobs:
        started = time.perf_counter()
        with local(protocol, **(options or {})) as mpc:
            predicted = job.model.predict(mpc, job.records, model_owner=MODEL_OWNER, data_owner=DATA_OWNER)
            stats = mpc.stats()
        elapsed = time.perf_counter() - started
        differing += _report(job, predicted, stats, elapsed)
        timelines[job.name] = stats.timeline
    if plot is not None:
        _draw(timelines, plot)
    for remark in _build_remarks.remarks():
        print(remark)
    if differing:
        print(f"predictions that differ: {differing}; this must not happen; please report it", file=sys.stderr)
    return differing


def _report(job: Job, predicted: np.ndarray, stats: Stats, elapsed: float) -> int:
    outcome = compare(job, predicted)
    rows = [
        ("model", f"{job.name} ({type(job.estimator).__name__}), owned by party {MODEL_OWNER}"),
        ("records", f"{len(job.records)} of {counted(job.records.shape[1], 'feature')}, owned by party {DATA_OWNER}"),
        ("parties", f"{stats.parties}, protocol {stats.protocol}: {stats.security}"),
        ("accuracy in the clear", f"{100 * outcome.accuracy_clear:.2f} %"),
        ("accuracy under MPC", f"{100 * outcome.accuracy_private:.2f} %"),
        ("predictions that differ", str(outcome.differing)),
        ("rounds", f"{stats.offline.rounds} offline, {stats.online.rounds} online"),
        ("megabytes per party", "   ".join(_megabytes(stats, party) for party in range(stats.parties))),
        ("seconds", f"{stats.offline.seconds:.3f} offline, {stats.online.seconds:.3f} online, {elapsed:.3f} in all"),
    ]
    print("\n".join(f"{name:>24}  {value}" for name, value in rows), end="\n\n")
    return outcome.differing


def _megabytes(stats: Stats, party: int) -> str:
    offline, online = (phase.bytes_sent[party] / 1e6 for phase in (stats.offline, stats.online))
    return f"party {party}: {offline:.3f} + {online:.3f}"


def _draw(timelines: Timelines, path: Path) -> None:
    """Draws time by phase and party, one panel for each model."""
    try:
        drawing = pyplot()
    except ConfigError as error:
        print(f"no picture: {error}")
        return
    with drawn():
        _draw_panels(drawing, timelines, path)
    print(f"picture of the run: {path}")


def _draw_panels(drawing: Any, timelines: Timelines, path: Path) -> None:
    figure, panels = drawing.subplots(1, len(timelines), figsize=(9, 2.8), squeeze=False, sharex=True, sharey=True)
    colours = {"offline": "#8fb3d9", "online": "#d98f4e"}
    for panel, (name, parties) in zip(panels[0], timelines.items(), strict=True):
        for party, phases in parties.items():
            left = 0.0
            for phase, seconds in phases.items():
                label = phase if party == 0 else None
                panel.barh(f"party {party}", 1e3 * seconds, left=left, color=colours[phase], label=label)
                left += 1e3 * seconds
        panel.set_title(name)
        panel.set_xlabel("milliseconds")
    panels[0][0].invert_yaxis()  # all panels share the axis
    panels[0][-1].legend(frameon=False)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    drawing.close(figure)
