"""Pictures of plans: when each line runs, and the bytes that it sends."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorate._display._text_tables import counted, number_bytes, seconds
from quorate.errors import ConfigError

if TYPE_CHECKING:
    from quorate.plan import Plan, StepPlan

__all__ = ["draw_plans", "drawn", "pyplot", "save"]

SUFFIXES = (".png", ".svg", ".pdf", ".html")

# Categories of operations with their labels and colours (Okabe and Ito's, safe for the colour-blind). `_OF` has the
# category of each operation, the first word of its description.
_KINDS = {
    "input": ("input", "#999999"),
    "product": ("product", "#0072b2"),
    "compare": ("comparison", "#d55e00"),
    "choose": ("choice", "#e69f00"),
    "round": ("truncation, conversion", "#009e73"),
    "real": ("real function", "#cc79a7"),
    "other": ("other", "#56b4e9"),
}
_OF = {
    "input": "input",
    "mul": "product",
    "matmul": "product",
    "dot": "product",
    "lt": "compare",
    "eq": "compare",
    "max": "compare",
    "min": "compare",
    "argmax": "compare",
    "argmin": "compare",
    "select": "choose",
    "and": "choose",
    "or": "choose",
    "shr": "round",
    "cast": "round",
    "astype": "round",
    "bits": "round",
    "compose": "round",
    "sigmoid": "real",
    "tanh": "real",
    "exp": "real",
    "log": "real",
    "sqrt": "real",
    "rsqrt": "real",
    "reciprocal": "real",
    "divide": "real",
    "softmax": "real",
    "gelu": "real",
}
_OFFLINE = "#c9d6e2"
_MOST_LINES = 24


def pyplot() -> Any:
    """Returns matplotlib.pyplot, set to draw into files.

    Raises:
        ConfigError: matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError:
        raise ConfigError("a picture needs matplotlib, which is not installed: pip install matplotlib") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot as drawing

    return drawing


@contextlib.contextmanager
def drawn(**settings: Any) -> Iterator[None]:
    """Sets matplotlib to draw dark on white in any user's style, so that pictures suit light and dark pages."""
    import matplotlib.style

    stated: Any = {"savefig.facecolor": "white", **settings}
    with matplotlib.style.context("default"), matplotlib.rc_context(stated):
        yield


def save(figure: Any, path: str | os.PathLike[str], tables: str = "") -> None:
    """Writes a figure in the format that the suffix selects. An HTML page also gets the tables, below the figure.

    Raises:
        ConfigError: the suffix is not supported.
    """
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"{target}: the picture's suffix must be one of {', '.join(SUFFIXES)}")
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.suffix.lower() != ".html":
        figure.savefig(target, dpi=150, facecolor="white", metadata={"Date": None} if target.suffix == ".svg" else None)
        return
    text = io.StringIO()
    figure.savefig(text, format="svg", facecolor="white", metadata={"Date": None})
    picture = text.getvalue()
    picture = picture[picture.index("<svg") :]
    target.write_text(
        "<!doctype html><html><head><meta charset='utf-8'><title>Plan</title><style>:root{color-scheme:light dark}"
        "body{font-family:system-ui,sans-serif;max-width:1200px;margin:2em auto}svg{max-width:100%;height:auto}</style>"
        f"</head><body>{picture}{tables}</body></html>",
        encoding="utf-8",
    )


def draw_plans(plans: Sequence[Plan], path: str | os.PathLike[str]) -> None:
    """Draws plans below each other: lines over time on the left, bytes of the busiest party on the right.

    Raises:
        ConfigError: there is nothing to draw, the suffix is not supported, or matplotlib is not installed.
    """
    if not plans:
        raise ConfigError("there is no plan to draw: the script reveals nothing")
    if Path(path).suffix.lower() not in SUFFIXES:
        raise ConfigError(f"{path}: the picture's suffix must be one of {', '.join(SUFFIXES)}")
    drawing = pyplot()
    rows = [_rows(plan) for plan in plans]
    heights = [1.1 + 0.34 * max(len(of), 1) for of in rows]
    style = {"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "quorate", "axes.titlesize": 10}
    with drawn(**style):
        figure, panels = drawing.subplots(
            len(plans),
            2,
            figsize=(11, sum(heights) + 0.7),
            squeeze=False,
            layout="constrained",
            gridspec_kw={"width_ratios": [3.2, 1], "height_ratios": heights},
        )
        kinds: set[str] = set()
        scales = _Scales.of(plans, rows)
        for number, (plan, of, (times, sent)) in enumerate(zip(plans, rows, panels, strict=True), start=1):
            kinds |= _draw_times(times, plan, of, scales)
            _draw_bytes(sent, of, scales)
            name = f"run {number}: " if len(plans) > 1 else ""
            times.set_title(f"{name}{plan.protocol}, {plan.parties} parties{plan._where()}", loc="left", weight="bold")
        patch = drawing.matplotlib.patches.Patch
        handles = [patch(color=_OFFLINE, label="offline phase")]
        handles += [patch(color=colour, label=label) for key, (label, colour) in _KINDS.items() if key in kinds]
        figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 6), frameon=False)
        save(
            figure,
            path,
            "".join(f"<h2>Run {i}</h2>{plan._repr_html_()}" for i, plan in enumerate(plans, 1)),
        )
        drawing.close(figure)


Row = tuple[str, list["StepPlan"], int]


@dataclasses.dataclass(frozen=True)
class _Scales:
    """The scales that the axes of all runs share, so that their bars can be compared.

    Attributes:
        seconds: the seconds of the longest run.
        bytes_sent: the largest number of bytes that a line sends.
    """

    seconds: float
    bytes_sent: int

    @staticmethod
    def of(plans: Sequence[Plan], rows: Sequence[Sequence[Row]]) -> _Scales:
        most = max((sent for of in rows for _, _, sent in of), default=0)
        return _Scales(max(1e-9, *(plan.seconds for plan in plans)), most or 1)

    @property
    def unit(self) -> tuple[str, float]:
        """The unit of time, and the number of units in a second."""
        return ("ms", 1e3) if self.seconds < 1 else ("s", 1.0)


def _rows(plan: Plan) -> list[Row]:
    """Returns the lines to draw: label, steps, bytes of the busiest party. The last row sums up all further lines."""
    texts = {line.line: line for line in plan.lines}
    by_line: dict[str, list[StepPlan]] = {}
    for step in plan.steps:
        by_line.setdefault(step.line, []).append(step)

    def sent(steps: list[StepPlan]) -> int:
        parties = [sum(s.bytes_sent[p] for s in steps) for p in range(plan.parties)]
        return max(parties, default=0)

    def label(line: str) -> str:
        text = texts[line].text if line in texts else ""
        return f"{line}  {text[:36]}{'...' if len(text) > 36 else ''}".replace("$", r"\$")

    kept = sorted(by_line, key=lambda line: texts[line].seconds if line in texts else 0.0, reverse=True)[:_MOST_LINES]
    rows: list[Row] = [(label(line), steps, sent(steps)) for line, steps in by_line.items() if line in kept]
    others = [step for line, steps in by_line.items() if line not in kept for step in steps]
    if others:
        rows.append((f"{len(by_line) - len(kept)} more lines", others, sent(others)))
    return rows


def _boundaries(plan: Plan) -> list[float]:
    """Returns the times at which online rounds end; the last one ends with the phase.

    Each round takes an equal share of the phase's network time, and the computing of the steps that are under way in
    it. The network time includes the parties' last messages.
    """
    rounds = plan.online.rounds
    work = [0.0] * (rounds + 1)
    for step in plan.steps:
        length = sum(done - begun for begun, done in step.rounds)
        for begun, done in step.rounds:
            for at in range(begun, done):
                work[at + 1] += step.compute_seconds / length
    total = sum(work)
    ends = [plan.offline.seconds]
    for at in range(1, rounds + 1):
        computing = plan.online.compute_seconds * (work[at] / total if total > 0 else 1 / rounds)
        ends.append(ends[-1] + computing + plan.online.network_seconds / rounds)
    return ends


def _draw_times(axes: Any, plan: Plan, rows: list[Row], scales: _Scales) -> set[str]:
    ends = _boundaries(plan)
    whole, (unit, scale) = scales.seconds, scales.unit
    kinds = set()
    if plan.offline.rounds > 0 or plan.offline.seconds > 0.02 * whole:
        axes.axvspan(0, plan.offline.seconds * scale, color=_OFFLINE, lw=0, zorder=0)
        if plan.offline.seconds > 0.12 * whole:
            text, middle = f"offline\n{seconds(plan.offline.seconds)}", 0.5 * plan.offline.seconds * scale
            axes.text(middle, -0.5, text, ha="center", va="top", color="#44586c", fontsize=8)
    for place, (_, steps, _) in enumerate(rows):
        for step in steps:
            kind = _OF.get(step.what.split()[0], "other")
            for begun, done in step.rounds:
                if done > begun:
                    kinds.add(kind)
                    width = (ends[done] - ends[begun]) * scale
                    axes.barh(place, width, left=ends[begun] * scale, height=0.62, color=_KINDS[kind][1], zorder=2)
    axes.set_yticks(range(len(rows)), [label for label, _, _ in rows], family="monospace", fontsize=8)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, whole * scale)
    rounds = counted(plan.online.rounds, "round")
    axes.set_xlabel(f"{unit}, predicted: {rounds} online in {seconds(plan.online.seconds)}")
    _plain(axes)
    return kinds


def _draw_bytes(axes: Any, rows: list[Row], scales: _Scales) -> None:
    sent = [of for _, _, of in rows]
    axes.barh(range(len(rows)), sent, height=0.62, color="#0072b2", alpha=0.75)
    largest = scales.bytes_sent
    for place, value in enumerate(sent):
        axes.text(value + 0.02 * largest, place, number_bytes(value), va="center", fontsize=8)
    axes.set_xlim(0, 1.35 * largest)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks([])
    axes.set_xticks([])
    axes.set_title("online, busiest party sends", loc="left", fontsize=9)
    _plain(axes)


def _plain(axes: Any) -> None:
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
    axes.grid(axis="x", color="#dddddd", lw=0.6, zorder=0)
    axes.set_axisbelow(True)
