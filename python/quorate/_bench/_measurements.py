"""`quorate bench`: measures the standard workloads, and writes a table, JSON and a picture."""

from __future__ import annotations

import dataclasses
import itertools
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from quorate._bench import _applications, _scaling, _services
from quorate._bench._applications import Asked
from quorate._command import _build_remarks
from quorate._display._plots import drawn
from quorate._display._text_tables import counted
from quorate._quorate import Bench, __version__
from quorate._session._options import Options
from quorate.errors import ConfigError

__all__ = ["Asked", "document", "line", "run"]

Row = dict[str, Any]

#: Version of the JSON document; increased by one whenever a key changes its meaning or is removed.
FORMAT = 1

NO_PICTURE = "no picture at {}: matplotlib is not installed (pip install matplotlib)"
INPUTS = "inputs are shared before the clock starts and results are opened, and checked, after it stopped"
HEAD = (
    f"{'workload':<26} {'k':>3} {'n':>2} {'batch':>8}  {'link':<12} {'median':>11} {'min':>11} "
    f"{'offline':>11} {'online':>11} {'MB/party':>10} {'rounds':>6} {'results/s':>10} {'runs':>4}  peers, or a remark"
)


def run(names: Sequence[str], asked: Asked, json_path: Path | None, plot_path: Path | None) -> int:
    """Measures the workloads `names`, prints the table, writes JSON and a picture, and returns the exit status.

    Without names it measures all workloads but applications and those of clients and kept values. A wrong result raises
    an error, and has no row. Rows that were measured before an error or Ctrl-C have been printed, and are in the JSON
    file.
    """
    for path in (json_path, plot_path):
        _check_place(path)
    if list(names) == ["scaling"]:
        return _scale(asked.protocol, json_path, plot_path)
    rows: list[Row] = []
    applications = [name for name in names if name in _applications.NAMES]
    services = [name for name in names if name in _services.NAMES]
    others = [name for name in names if name not in (*applications, *services)]
    table: Iterable[Row] = itertools.chain(_applications.rows(applications, asked), _services.rows(services, asked))
    options = Options.of(asked.options, (), local=True).family
    if others or not names:
        pairs = list(options.items())
        table = itertools.chain(measurements(others, asked, pairs), table)
    started = time.monotonic()
    _say(*_preamble(), Bench.peers(), *[f"{name}={value}" for name, value in options.items()], "", HEAD)
    try:
        for row in table:
            rows.append(row)
            _say(line(row))
    finally:
        if json_path is not None and rows:
            json_path.write_text(json.dumps(document(rows, asked.protocol, options), indent=1) + "\n", encoding="utf-8")
    skipped = sum(row["skipped"] is not None for row in rows)
    _say("", f"{counted(len(rows), 'cell')}, {skipped} skipped, {time.monotonic() - started:.0f} s")
    if json_path is not None:
        _say(f"wrote {json_path}")
    if plot_path is not None:
        _draw(rows, plot_path)
    return 0


def measurements(names: Sequence[str], asked: Asked, options: Sequence[tuple[str, str]]) -> Iterator[Row]:
    """Yields rows of workloads that are not applications; each is measured when it is requested."""
    places = list(asked.parties), list(options), list(asked.links)
    return Bench(list(names), asked.protocol, *places, rings=list(asked.rings), batches=list(asked.batches))


def _scale(protocol: str, json_path: Path | None, plot_path: Path | None) -> int:
    """Runs `quorate bench scaling` and returns the exit status."""
    if protocol != _scaling.PROTOCOL:
        raise ConfigError(f'no benchmarks of scaling for protocol "{protocol}"; this release has {_scaling.PROTOCOL}')
    rows: dict[_scaling.Point, _scaling.Figures] = {}
    _say(*_preamble(), "", _scaling.HEAD)
    for point in _scaling.points():
        rows[point] = _scaling.measure(point)
        _say(_scaling.line(point, rows[point]))
    if json_path is not None:
        listed = [dataclasses.asdict(point) | dataclasses.asdict(figures) for point, figures in rows.items()]
        document = {"format": FORMAT, "quorate": __version__, "machine": Bench.machine(), "rows": listed}
        json_path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        _say(f"wrote {json_path}")
    if plot_path is not None:
        try:
            _scaling.draw(rows, plot_path, _machine())
            _say(f"wrote {plot_path}")
        except ImportError:
            _say(NO_PICTURE.format(plot_path))
    return 0


def document(rows: Iterable[Row], protocol: str, options: dict[str, str]) -> dict[str, Any]:
    """Returns the JSON document; docs/benchmarks.md explains its keys."""
    return {
        "format": FORMAT,
        "quorate": __version__,
        "protocol": protocol,
        "options": options,
        "machine": Bench.machine(),
        "inputs": INPUTS,
        "peers": Bench.peers(),
        "rows": list(rows),
    }


def line(row: Row) -> str:
    """Returns one line of the table."""
    batch = f"{row['batch']}^2" if row["workload"] == "matmul" else f"{row['batch']:,}"
    cell = f"{row['workload']:<26} {row['k']:>3} {row['parties']:>2} {batch:>8}  {row['link']:<12}"
    if row["skipped"] is not None:
        return f"{cell} {row['skipped']}"
    offline, online = (_time(row[phase] and row[phase]["seconds"]["median"]) for phase in ("offline", "online"))
    figures = (
        f"{_time(row['seconds']['median']):>11} {_time(row['seconds']['min']):>11} {offline:>11} {online:>11} "
        f"{row['bytes_per_party'] / 1e6:>10.4g} {row['rounds']:>6} {row['results_per_second']:>10.3g} {row['runs']:>4}"
    )
    remarks = [_peer(peer) for peer in row["peers"]]
    if row["target"] is not None:
        remarks.insert(0, f"target {row['target']}: {'reached' if row['target_reached'] else 'missed'}")
    if row["chain"] is not None:
        per_round, bare = row["chain"]["seconds_per_round"], row["chain"]["ping_pong_seconds"]
        remarks.insert(0, f"{_time(per_round)} a round, beside a bare round trip of {_time(bare)}")
    return f"{cell} {figures}  {'; '.join(remarks)}".rstrip()


def _preamble() -> list[str]:
    return [f"quorate {__version__} on {_machine()}; one thread a party", *_build_remarks.remarks(), INPUTS]


def _machine() -> str:
    machine = Bench.machine()
    memory = f", {machine['memory_bytes'] / 2**30:.0f} GiB" if machine["memory_bytes"] else ""
    return f"{machine['processor']}, {machine['cores']} cores{memory}"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e3)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def _peer(peer: dict[str, Any]) -> str:
    figures = [] if peer["seconds"] is None else [_time(peer["seconds"])]
    if peer["bytes_per_party"] is not None:
        figures.append(f"{peer['bytes_per_party'] / 1e6:.3g} MB")
    if peer["note"]:
        figures.append(f"({peer['note']})")
    return f"{peer['name']} {' '.join(figures)}"


def _say(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _check_place(path: Path | None) -> None:
    """Raises `ConfigError` before minutes of measuring if a file cannot be written."""
    if path is not None and not path.resolve().parent.is_dir():
        raise ConfigError(f"cannot write {path}: the directory {path.resolve().parent} does not exist; make it first")


def _draw(rows: list[Row], path: Path) -> None:
    """Draws time against batch: a panel for each workload at its largest ring, a colour for each number of parties."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        _say(NO_PICTURE.format(path))
        return
    measured = [row for row in rows if row["skipped"] is None and row["workload"] != "chain"]
    workloads = list(dict.fromkeys(row["workload"] for row in measured))
    if not workloads:
        _say(f"no picture at {path}: nothing to draw against the batch")
        return
    with drawn():
        _draw_panels(Figure, measured, workloads, path)
    _say(f"wrote {path}")


def _draw_panels(figures: Any, measured: list[Row], workloads: list[str], path: Path) -> None:
    columns = min(3, len(workloads))
    height = -(-len(workloads) // columns)
    figure = figures(figsize=(4.5 * columns, 3.6 * height), layout="constrained")
    panels = figure.subplots(height, columns, squeeze=False).flatten()
    for panel, workload in zip(panels, workloads, strict=False):
        _draw_panel(panel, workload, [row for row in measured if row["workload"] == workload])
    for panel in panels[len(workloads) :]:
        panel.set_visible(False)
    panels[0].legend(fontsize=7, handlelength=3.5)
    figure.suptitle(
        "seconds, offline and online; solid: memory, dashed: loopback TLS, dotted: networks; x: peers, other machine"
    )
    figure.savefig(path, dpi=150)


def _draw_panel(panel: Any, workload: str, rows: list[Row]) -> None:
    k = max(row["k"] for row in rows)
    rows = [row for row in rows if row["k"] == k]
    for parties, colour in ((2, "tab:green"), (3, "tab:blue"), (4, "tab:brown"), (5, "tab:orange"), (7, "tab:red")):
        for link in dict.fromkeys(row["link"] for row in rows):
            curve = [row for row in rows if (row["parties"], row["link"]) == (parties, link)]
            style = "-" if link == "memory" else "--" if "TLS" in link else ":"
            x, y = [row["batch"] for row in curve], [row["seconds"]["median"] for row in curve]
            panel.plot(x, y, style, color=colour, marker=".", label=f"n = {parties}, {link}" if curve else None)
        theirs = {
            (row["batch"], peer["seconds"], peer["name"])
            for row in rows
            for peer in row["peers"]
            if row["parties"] == parties and peer["seconds"] is not None
        }
        panel.plot([x for x, _, _ in theirs], [y for _, y, _ in theirs], "x", color=colour)
        for x, y, name in sorted(theirs):
            panel.annotate(name, (x, y), (4, 0), textcoords="offset points", fontsize=6, color=colour, va="center")
    panel.set(title=f"{workload}, k = {k}", xscale="log", yscale="log", xlabel="batch", ylabel="seconds")
    if workload == "matmul":
        sides = sorted({row["batch"] for row in rows})
        panel.set_xticks(sides, [str(side) for side in sides])
        panel.set_xticks([], minor=True)
        panel.set_xlabel("side")
    panel.grid(alpha=0.3)
