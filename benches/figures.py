"""Measures the tables of docs/benchmarks.md and writes them there: `make figures`.

Each table stands between marks, after a line that names the processor, the load by other programs, the commit and the
date. `--only NAME,...` measures some tables, `--list` prints their names, `--print` does not change the page.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import quorate as qr
from quorate._bench import _scaling
from quorate._bench._applications import rows as applications
from quorate._bench._measurements import Asked, measurements
from quorate._command import _build_remarks
from quorate._quorate import Bench

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"

Row = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of the page.

    Attributes:
        head: its columns.
        rows: a function that measures the rows and yields them.
        about: the settings of all rows; the page shows them after the machine.
    """

    head: Sequence[str]
    rows: Callable[[], Iterator[Sequence[str]]]
    about: str


# ---- what is measured --------------------------------------------------------------------------------------------


def cell(name: str, k: int, batch: int, protocol: str, parties: int = 2, link: str = "memory", **options: Any) -> Row:
    """Returns one row of `quorate bench`, also of a variant of a workload."""
    asked = Asked(protocol, (parties,), (link,), rings=(k,), batches=(batch,))
    found = measurements([name], asked, [(option, str(value)) for option, value in options.items()])
    return next(row for row in found if row["workload"] == name)


def application(name: str, protocol: str, parties: int = 2) -> Row:
    """Returns one row of `quorate bench` of a program, on memory links."""
    [row] = applications([name], Asked(protocol, (parties,), ("memory",)))
    return row


def comparisons(batch: int) -> Row:
    """Measures `(x < y).reveal()` of numbers below 2^61, inputs and opening included.

    Returns a row in the form of `quorate bench`.
    """
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 2**61, (2, batch))
    phases = []
    with qr.local("spdz2k", parties=2, check=False) as mpc:
        for _ in range(4):
            before = mpc.stats()
            a, b = (mpc.input(values, owner=owner, bound=2**61) for owner, values in enumerate((x, y)))
            if not np.array_equal((a < b).reveal(), x < y):
                sys.exit("a wrong result; please report this defect")
            after = mpc.stats()
            sent = sum(sum(p.bytes_sent) for p in (after.offline, after.online))
            sent -= sum(sum(p.bytes_sent) for p in (before.offline, before.online))
            offline, online = (
                after.offline.seconds - before.offline.seconds,
                after.online.seconds - before.online.seconds,
            )
            phases.append((offline + online, online, sent / 2))
    whole, online, _ = np.median(np.array(phases[1:]), axis=0)
    part = {"seconds": {"median": float(online)}}
    return {"skipped": None, "seconds": {"median": float(whole)}, "online": part, "bytes_per_party": phases[-1][2]}


def opening() -> float:
    """Returns the seconds of the setup of a session of two parties: the median of five."""
    taken = []
    for _ in range(5):
        began = time.perf_counter()
        with qr.local("spdz2k", parties=2):
            taken.append(time.perf_counter() - began)
    return float(np.median(taken))


# ---- how figures are written -------------------------------------------------------------------------------------


def number(value: float) -> str:
    """Returns a number with two digits, or with three from 100 on."""
    shown = f"{value:.2g}" if value < 100 else f"{value:.3g}"
    return f"{float(shown):.10f}".rstrip("0").rstrip(".") if "." in shown or "e" in shown else shown


def milliseconds(row: Row, phase: str | None = None) -> str:
    """Returns the milliseconds of a row or of one of its phases, without the unit; "-" if it was not measured."""
    if row["skipped"] is not None:
        return "-"
    return number((row[phase] if phase else row)["seconds"]["median"] * 1e3)


def seconds(row: Row, online: bool = False) -> str:
    """Returns the seconds of a row; with `online`, also those of its online phase, after a semicolon."""
    if row["skipped"] is not None:
        return row["skipped"].removeprefix("skipped: ")
    whole = number(row["seconds"]["median"])
    return f"{whole}; {number(row['online']['seconds']['median'])}" if online else whole


def sent(*rows: Row, parties: int = 1) -> str:
    """Returns the megabytes that each of these rows sends, by a party or by `parties` parties together."""
    values = [number(row["bytes_per_party"] * parties / 1e6) for row in rows if row["skipped"] is None]
    return f"{'; '.join(values)} MB" if values else ""


def spdz2k() -> Iterator[Sequence[str]]:
    """Yields rows of two parties, one of which may cheat."""
    ten = 10_000

    def command(name: str, k: int = 64) -> str:
        return f"`quorate bench {name} --protocol spdz2k --parties 2 --rings {k} --batches {ten}`"

    def line(text: str, name: str, k: int = 64, online: bool = False) -> Sequence[str]:
        row = cell(name, k, ten, "spdz2k")
        return text, seconds(row, online), sent(row), command(name, k)

    yield line("10,000 multiplication triples over Z_2^64", "triple")
    both = [cell("triple", 32, ten, "spdz2k"), cell("triple", 32, ten, "spdz2k", mac=48)]
    yield "over Z_2^32; with `mac=48`", "; ".join(map(seconds, both)), sent(*both), "the same of 32, with `--mac 48`"
    yield line("10,000 products of two owners' inputs, Z_2^64", "mul-owned")
    yield line("10,000 random bits over Z_2^64", "random-bit")
    yield line("10,000 triples of bits", "bit-triple", 1)
    yield line("10,000 comparisons of 64 bits; online", "less-than-bounded", online=True)
    row = comparisons(1000)
    yield "1,000 of them; online", seconds(row, True), sent(row), "`(x < y).reveal()`, of numbers below 2^61"
    yield line("10,000 comparisons of 32 bits; online", "less-than-bounded", 32, online=True)
    yield line("10,000 equalities of 64 bits; online", "equality", online=True)
    yield line("10,000 truncations of 64 bits; online", "truncation", online=True)
    both = [cell(name, 64, ten, "spdz2k") for name in ("dabit", "edabit")]
    yield "10,000 daBits; edaBits of 64 bits", "; ".join(map(seconds, both)), sent(*both), command("dabit edabit")
    for name, text in (
        ("tree", "decision tree of depth 9, k = 36; online"),
        ("svm", "SVM of 10 classes and 2048 features, one record; online"),
    ):
        row = application(name, "spdz2k")
        yield text, seconds(row, True), sent(row), f"`quorate bench {name} --protocol spdz2k --links memory`"
    row = cell("triple", 64, 1_000_000, "spdz2k")
    yield "1,000,000 triples over Z_2^64", seconds(row), sent(row), "as the first, of 1000000"
    yield "setup of a session of two parties", number(opening()), "", '`qr.local("spdz2k", parties=2)`'


def spdz2k_more() -> Iterator[Sequence[str]]:
    """Yields rows of more parties and other links. On a WAN, two parties mostly wait."""
    lines: list[tuple[str, str, int, int, bool, bool]] = [
        ("10,000 multiplication triples over Z_2^64", "triple", 64, 10_000, False, True),
        ("10,000 random bits over Z_2^64", "random-bit", 64, 10_000, False, False),
        ("10,000 triples of bits", "bit-triple", 1, 10_000, False, False),
        ("10,000 comparisons of 64 bits; online", "less-than-bounded", 64, 10_000, True, True),
        ("100 of them; online", "less-than-bounded", 64, 100, True, True),
    ]
    for text, name, k, batch, online, everywhere in lines:
        among = [cell(name, k, batch, "spdz2k", parties) for parties in (3, 4)]
        links = [cell(name, k, batch, "spdz2k", 2, link) for link in ("tls", "wan")] if everywhere else []
        shown = [f"{seconds(row, online)} ({sent(row)})" for row in among] + [seconds(row, online) for row in links]
        yield [text, *shown, *[""] * (4 - len(shown))]
    for name, text in (
        ("tree", "decision tree of depth 9; online"),
        ("svm", "SVM of 10 classes and 2048 features; online"),
    ):
        among = [application(name, "spdz2k", parties) for parties in (3, 4)]
        yield [text, *[f"{seconds(row, True)} ({sent(row)})" for row in among], "", ""]


def two_parties() -> Iterator[Sequence[str]]:
    """Yields rows of two semi-honest parties, beside the targets of this project and published figures of others."""
    lines: list[tuple[str, str, int, int, str]] = [
        ("`ot-cot`, 10^7", "ot-cot", 128, 10**7, "ot"),
        ("`ot-cot-malicious`, 10^7", "ot-cot-malicious", 128, 10**7, "ot"),
        ("`ot-triples`, 10^5", "ot-triples", 64, 10**5, "ot"),
        ("`ot-triples`, 10^5, k = 32", "ot-triples", 32, 10**5, "ot"),
        ("`ot-bit-triples`, 10^7", "ot-bit-triples", 1, 10**7, "ot"),
        ("10^5 products, triples included", "mul", 64, 10**5, "aby"),
        ("10^5 `less-than-bounded`; online", "less-than-bounded", 64, 10**5, "aby"),
        ("`b2a`, 10^5", "b2a", 64, 10**5, "aby"),
        ("`a2b`, 10^5", "a2b", 64, 10**5, "aby"),
        ("`yao-aes`, 1000 blocks: 6.4 million ANDs", "yao-aes", 128, 1000, "aby"),
        ("`yao-aes-ahead`, 1000 blocks; online", "yao-aes-ahead", 128, 1000, "aby"),
        ("`gmw-aes`, 1000 blocks; online", "gmw-aes", 128, 1000, "aby"),
    ]
    for text, name, k, batch, protocol in lines:
        rows = [cell(name, k, batch, protocol, 2, link) for link in ("memory", "tls")]
        shown = [
            f"{milliseconds(row)}; {milliseconds(row, 'online')}" if "online" in text else milliseconds(row)
            for row in rows
        ]
        yield (
            text,
            *[f"{part} ms" for part in shown],
            sent(rows[0], parties=2),
            rows[0]["target"] or "",
            _others(rows[0]),
        )


def _others(row: Row) -> str:
    known = [(peer["name"], peer["seconds"]) for peer in row["peers"] if peer["seconds"] is not None]
    return "; ".join(f"{name} {number(taken * 1e3)} ms" for name, taken in known)


def scaling() -> Iterator[Sequence[str]]:
    """Yields rows of `x < y` by batch, parties and network."""
    for network, batch, parties in (
        *((None, batch, (3, 5, 7)) for batch in (100, 10_000, 100_000)),
        *((network, batch, (3,)) for batch in (100, 10_000, 100_000) for network in ("lan", "wan")),
    ):
        found = [_scaling.measure(_scaling.Point("x < y", 64, n, batch, network)) for n in parties]
        columns = ([number(getattr(one, name)) for one in found] for name in ("seconds", "megabytes"))
        listed = [", ".join(column) for column in columns]
        rounds = ", ".join(str(one.rounds) for one in found)
        yield network or "memory", f"{batch:,}", ", ".join(map(str, parties)), *listed, rounds


TABLES: dict[str, Table] = {
    "spdz2k": Table(
        ("`spdz2k`, two parties", "seconds", "a party sends", "command"),
        spdz2k,
        "Two parties over links of memory, one thread each.",
    ),
    "spdz2k-more": Table(
        ("`spdz2k`", "3 parties", "4 parties", "2, TLS", "2, WAN"),
        spdz2k_more,
        "Seconds; all parties share the cores.",
    ),
    "scaling": Table(
        ("`x < y`, k = 64", "batch", "n", "seconds", "MB a party", "rounds"),
        scaling,
        "All parties share the cores.",
    ),
    "two-parties": Table(
        ("k = 64 where it matters", "memory", "TLS", "bytes, both parties", "target", "others, on another machine"),
        two_parties,
        "Medians.",
    ),
}


# ---- where, beside what, of what ----------------------------------------------------------------------------------


class Watch:
    """The work of other programs on the processors since this object was made."""

    def __init__(self) -> None:
        self.began = self._now()

    @staticmethod
    def _now() -> tuple[float, float, float] | None:
        """Returns seconds of all processors: busy in all, taken by the host, and busy for this process."""
        try:
            fields = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]
        except OSError:
            return None
        user, nice, system, _, _, irq, soft, stolen = (int(field) / os.sysconf("SC_CLK_TCK") for field in fields)
        own = os.times()
        ours = own.user + own.system + own.children_user + own.children_system
        return user + nice + system + irq + soft, stolen, ours

    def told(self, elapsed: float) -> str:
        """Returns in words what share of the processors other programs and the host took in `elapsed` seconds."""
        now = self._now()
        if now is None or self.began is None:
            return "the load of other programs is not known"
        busy, stolen, ours = (after - before for after, before in zip(now, self.began, strict=True))
        whole = max(elapsed, 1e-9) * (os.cpu_count() or 1)
        others = max(0.0, busy - ours) / whole
        host = f", the host {stolen / whole:.0%}" if stolen / whole >= 0.005 else ""
        return f"other programs took {others:.0%} of the processors meanwhile{host}"


def machine() -> str:
    """Returns the processor, its relevant instruction sets, and the number of cores; never the name of the host."""
    found = Bench.machine()
    try:
        flags = set(re.findall(r"\w+", Path("/proc/cpuinfo").read_text(encoding="utf-8")))
    except OSError:
        flags = set()
    known = {"avx512f": "AVX-512", "vaes": "VAES", "avx512ifma": "IFMA"}
    having = [name for flag, name in known.items() if flag in flags]
    features = f" with {', '.join(having)}" if having else ""
    return f"{found['processor']}{features}, {found['cores']} cores"


def commit() -> str:
    """Returns the newest commit, and whether files were changed since."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", "crates", "python", "Cargo.toml", "Cargo.lock")
        return f"commit {git('rev-parse', '--short=8', 'HEAD')}" + (", with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "no known commit"


def measured(name: str) -> str:
    """Returns a table as the page shows it. Prints each row when it is measured."""
    table = TABLES[name]
    lines = [f"| {' | '.join(table.head)} |", "|" + "---|" * len(table.head)]
    watch, began = Watch(), time.monotonic()
    for row in table.rows():
        lines.append(f"| {' | '.join(row)} |")
        print(lines[-1], flush=True)
    load = watch.told(time.monotonic() - began)
    day = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    remarks = "".join(f" {remark}" for remark in _build_remarks.remarks())
    where = f"{table.about} Measured on {machine()}; {load}; {commit()}, {day}, `make figures`.{remarks}"
    return "\n".join([*wrapped(where), "", *lines])


def wrapped(text: str) -> list[str]:
    """Wraps text at the line length of the pages."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > 120:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines


def marks(name: str) -> tuple[str, str]:
    """Returns the marks before and after a table."""
    return f"<!-- figures {name}: begin -->", f"<!-- figures {name}: end -->"


def put(page: str, name: str, text: str) -> str:
    """Returns the page with this table between its marks.

    Raises:
        ValueError: the page does not have these marks exactly once.
    """
    begin, end = marks(name)
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise ValueError(f"the page has not one {begin} and one {end} after it")
    before, rest = page.split(begin)
    return f"{before}{begin}\n\n{text}\n\n{end}{rest.split(end)[1]}"


def main() -> None:
    """Measures, prints, and writes each table as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(TABLES), help="which tables, with commas between")
    parser.add_argument("--print", action="store_true", help="leave the page as it is")
    parser.add_argument("--list", action="store_true", help="name the tables, and measure nothing")
    options = parser.parse_args()
    names = options.only.split(",")
    unknown = [name for name in names if name not in TABLES]
    if unknown:
        parser.error(f"no table {unknown[0]!r}; there are {', '.join(TABLES)}")
    if options.list:
        print("\n".join(TABLES))
        return
    if _build_remarks.remarks() and not options.print:
        remark = _build_remarks.remarks()[0]
        parser.error(f"{remark}: `make figures` builds the fast one first; --print shows these seconds")
    for name in names:
        print(f"== {name}", flush=True)
        text = measured(name)
        print(text.partition("\n|")[0])
        if not options.print:
            PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), name, text), encoding="utf-8")
            print(f"wrote it into {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
