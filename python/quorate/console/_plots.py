"""Plots as pages show them: bars of counts over time, placed here, drawn by a template as SVG beside a table."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

__all__ = ["Plot", "bars"]

#: Sizes in units of the drawing: its width, the height of the plot, and the room for labels at the left and below.
WIDTH, HEIGHT, LEFT, BELOW, ABOVE = 720.0, 160.0, 60.0, 24.0, 10.0

_MOST_LABELS = 6


@dataclasses.dataclass(frozen=True)
class Bar:
    """One bar: its place and size, what it stands for, and its value as text."""

    x: float
    y: float
    width: float
    height: float
    label: str
    value: str


@dataclasses.dataclass(frozen=True)
class Plot:
    """A plot of bars.

    Attributes:
        name: what identifies it on its page.
        title: what it shows.
        unit: the unit of values.
        bars: the bars, from the left.
        ticks: the heights of the lines across, with their values.
        labels: the places of labels below, with their texts.
        is_empty: whether all values are 0.
    """

    name: str
    title: str
    unit: str
    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...]
    labels: tuple[tuple[float, str], ...]
    is_empty: bool


def bars(name: str, title: str, unit: str, values: Sequence[tuple[str, float]]) -> Plot:
    """Returns a plot of values with their labels, from the left.

    >>> plot = bars("starts", "Starts", "starts", [("Monday", 1), ("Tuesday", 4)])
    >>> [(round(bar.height), bar.value) for bar in plot.bars], [text for _, text in plot.ticks]
    ([(40, '1'), (160, '4')], ['0', '1', '2', '3', '4'])
    """
    step = _step(max((value for _, value in values), default=0.0))
    top = step * max(1, math.ceil(max((value for _, value in values), default=0.0) / step))
    width = (WIDTH - LEFT) / max(len(values), 1)
    drawn = []
    for place, (label, value) in enumerate(values):
        height = HEIGHT * value / top
        x = LEFT + place * width
        drawn.append(Bar(round(x, 1), round(ABOVE + HEIGHT - height, 1), round(width * 0.8, 1), round(height, 1), label,
                         _number(value)))  # fmt: skip
    ticks = tuple(
        (round(ABOVE + HEIGHT - HEIGHT * tick * step / top, 1), _number(tick * step))
        for tick in range(round(top / step) + 1)
    )
    every = max(1, math.ceil(len(drawn) / _MOST_LABELS))
    labels = tuple((bar.x, bar.label) for bar in drawn[::every])
    return Plot(name, title, unit, tuple(drawn), ticks, labels, not any(value for _, value in values))


def _step(most: float) -> float:
    """Returns a step of 1, 2 or 5 times a power of ten, of which at most five reach the largest value."""
    if most <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most / 4))
    return next(power * times for times in (1, 2, 5, 10) if most / (power * times) <= 5)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.3g}"
