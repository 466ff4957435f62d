"""A picture of the time and bytes of MNIST by size, from the tables of a page. Run by `paper_networks.py growth`."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quorate._display._plots import drawn, pyplot

PAGE = Path(__file__).parent.parent / "docs" / "networks.md"
#: Columns of seconds in the page's tables: the link, its label, and how its lines are drawn.
LINES = {"memory links": "-", "1 Gbit/s, 1 ms": "--", "76 Mbit/s, 46 ms": "-.", "100 Mbit/s, 70 ms": ":"}
COLOURS = {3: "#0072b2", 5: "#d55e00", 7: "#009e73"}
PER_SECOND = {"ms": 1000, "s": 1}


@dataclasses.dataclass(frozen=True)
class Point:
    """A figure of a table: seconds on a link, or the megabytes that a party sends if `link` is empty."""

    parties: int
    images: int
    link: str
    value: float


def points(page: Path) -> Iterator[Point]:
    """Yields the figures of all tables whose first columns are parties and images.

    Raises:
        SystemExit: the page has no such table.
    """
    names: list[str] = []
    found = 0
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if cells[:2] == ["parties", "images"]:
            names = cells
        elif not cells:
            names = []
        elif names and cells[0].isdigit():
            parties, images = int(cells[0]), int(cells[1])
            for name, cell in zip(names, cells, strict=True):
                number, _, unit = cell.partition(" ")
                if name in LINES and cell:
                    found += 1
                    yield Point(parties, images, name, float(number) / PER_SECOND[unit])
                elif name == "MB a party":
                    yield Point(parties, images, "", float(number))
    if not found:
        raise SystemExit(f"growth: {page} has no table of seconds by parties and images")


def by_layers(page: Path) -> dict[int, tuple[float, float]]:
    """Returns predicted seconds and megabytes sent by a party, by the number of layers."""
    found, is_in = {}, False
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if cells and cells[0].isdigit() and is_in:
            number, _, unit = cells[1].partition(" ")
            found[int(cells[0])] = (float(number) / PER_SECOND[unit], float(cells[2]))
        elif cells[:3] == ["layers", "predicted", "MB a party"]:
            is_in = True
        elif not cells:
            is_in = False
    return found


def growth(asked: argparse.Namespace) -> None:
    """Draws seconds and megabytes: by images for each number of parties, by parties for one image, and by layers."""
    if asked.plot is None:
        raise SystemExit("growth: --plot FILE, the picture to write")
    found = list(points(asked.page))
    with drawn():
        widths = {"width_ratios": [2, 1, 1]}
        figure, ((time, by_parties, by_depth), (sent, sent_by_parties, sent_by_depth)) = pyplot().subplots(
            2, 3, figsize=(10, 6), layout="constrained", sharex="col", sharey="row", gridspec_kw=widths
        )
        depths = by_layers(asked.page)
        line(by_depth, [(layers, seconds) for layers, (seconds, _) in depths.items()], "#444444", "-")
        line(sent_by_depth, [(layers, megabytes) for layers, (_, megabytes) in depths.items()], "#444444", "-")
        by_depth.set_title("as predicted", fontsize=9)
        sent_by_depth.set(xlabel="layers of LeNet, one image")
        sent_by_depth.set_xticks(list(depths))
        for parties, colour in COLOURS.items():
            for link, style in LINES.items():
                line(
                    time, [(p.images, p.value) for p in found if (p.parties, p.link) == (parties, link)], colour, style
                )
            line(sent, [(p.images, p.value) for p in found if (p.parties, p.link) == (parties, "")], colour, "-")
            sent.plot([], [], color=colour, label=f"{parties} parties")
        for link, style in LINES.items():
            one = [(p.parties, p.value) for p in found if (p.images, p.link) == (1, link)]
            line(by_parties, one, "#444444", style)
            time.plot([], [], color="#444444", ls=style, label=link)
        line(sent_by_parties, [(p.parties, p.value) for p in found if (p.images, p.link) == (1, "")], "#444444", "-")
        time.set(xscale="log", yscale="log", ylabel="seconds")
        sent.set(xscale="log", yscale="log", xlabel="images", ylabel="megabytes a party")
        images = sorted({p.images for p in found})
        sent.set_xticks(images, images)
        sent.minorticks_off()
        sent_by_parties.set(xlabel="parties, one image")
        sent_by_parties.set_xticks(list(COLOURS))
        for axes in figure.axes:
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(color="#dddddd", lw=0.6)
        figure.legend(*time.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=9)
        sent.legend(frameon=False, fontsize=9)
        figure.savefig(asked.plot, dpi=110)


def line(axes: Any, figures: list[tuple[int, float]], colour: str, style: str) -> None:
    """Draws a line through measured points."""
    if figures:
        x, y = zip(*sorted(figures), strict=True)
        axes.plot(x, y, color=colour, ls=style, marker="o", ms=4)
