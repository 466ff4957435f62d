"""The measured cost of a session's runs, beside what dry runs predicted."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from quorate import _source
from quorate._display._text_tables import bars, html_table, paragraph, seconds, text_table
from quorate.plan import LinePlan, PhasePlan

if TYPE_CHECKING:
    from quorate.session import Session

__all__ = ["LineStats", "PhaseStats", "Predicted", "Stats"]


@dataclasses.dataclass(frozen=True)
class PhaseStats:
    """The measured cost of one phase, over all runs so far.

    Attributes:
        seconds: wall-clock seconds of all runs. The offline phase of a run lasts until the slowest party of this
            process is done with it; then the online phase begins.
        compute_seconds: seconds in which the parties' threads ran on a core, added up as in a plan. They are those of
            the busiest party or, where parties of this process share its cores, of the busiest core. Threads of links
            are not included, nor is what `threads=` takes for single kernels, such as a product of matrices.
        rounds: the length of the longest chain of messages, each of which depends on the one before.
        bytes_sent: the payload bytes that each party of this process sent: all parties in a local session, one in a
            deployment.
        wire_bytes: the bytes of payload, framing, handshakes and TLS that each party of this process sent.
        correlations: the number of correlations made, by kind (offline only).
    """

    seconds: float
    compute_seconds: float
    rounds: int
    bytes_sent: tuple[int, ...]
    wire_bytes: tuple[int, ...]
    correlations: dict[str, int]


@dataclasses.dataclass(frozen=True)
class LineStats:
    """The measured cost of one line of the program, in the online phases of all runs so far.

    Attributes:
        line, text: "file:number", and the text of the line where its file can be read.
        rounds: the number of rounds in which some step of the line was under way.
        bytes_sent: the payload bytes that each party of this process sent.
        seconds: seconds in which some step of the line was under way, at the slowest party of this process. They
            include waiting for peers, and for steps of other lines that run in parallel.
        busy_seconds: seconds in which the thread of the busiest party of this process worked on the line.
        predicted: the predicted cost of the line.
    """

    line: str
    text: str
    rounds: int
    bytes_sent: tuple[int, ...]
    seconds: float
    busy_seconds: float
    predicted: LinePlan


@dataclasses.dataclass(frozen=True)
class Predicted:
    """The cost that dry runs predicted for the measured runs, for the parties of this process."""

    offline: PhasePlan
    online: PhasePlan


@dataclasses.dataclass(frozen=True)
class Stats:
    """The measured cost of a session's runs.

    Attributes:
        protocol, parties: those of the session.
        security: a description of who may cheat.
        insecure: protections that were switched off for testing; empty in real use.
        offline, online: the measured phases.
        predicted: the predicted cost of both phases; None before the first run.
        by_line: the online phase by the user's line, {"file:line": LineStats}, predicted beside measured.
        timeline: seconds by party and phase, {party: {phase: seconds}}.
    """

    protocol: str
    parties: int
    security: str
    insecure: tuple[str, ...]
    offline: PhaseStats
    online: PhaseStats
    predicted: Predicted | None
    by_line: dict[str, LineStats]
    timeline: dict[int, dict[str, float]]

    @staticmethod
    def of(session: Session) -> Stats:
        """Returns the totals of a session."""
        raw = session._native.stats()
        runs = raw["measured"]

        def by_party(entries: dict[int, dict[str, int]], what: str) -> tuple[int, ...]:
            nothing = (0,) * (session.parties if session.is_local else 1)  # before the first run
            return tuple(entries[p][what] for p in sorted(entries)) or nothing

        def phase(name: str) -> PhaseStats:
            entries = {party: run[name] for party, run in runs.items()}
            kinds = next(iter(runs.values()))["correlations"] if runs and name == "offline" else {}
            return PhaseStats(
                seconds=raw.get(f"{name}_seconds", 0.0),
                compute_seconds=raw.get(f"{name}_compute_seconds", 0.0),
                rounds=max((e["rounds"] for e in entries.values()), default=0),
                bytes_sent=by_party(entries, "bytes_sent"),
                wire_bytes=by_party(entries, "wire_bytes"),
                correlations=dict(kinds),
            )

        predicted = raw.get("predicted")
        return Stats(
            protocol=session.protocol,
            parties=session.parties,
            security=session._native.security,
            insecure=session._options.insecure,
            offline=phase("offline"),
            online=phase("online"),
            predicted=predicted and Predicted(PhasePlan.of(predicted["offline"]), PhasePlan.of(predicted["online"])),
            by_line=_lines(raw),
            timeline={p: {n: run[n]["seconds"] for n in ("offline", "online")} for p, run in runs.items()},
        )

    # ---- tables -----------------------------------------------------------------------------------------------------

    _PHASES = ("phase", "seconds", "predicted", "rounds", "bytes of the busiest party", "on the wire")
    _LINES = ("online, by line", "rounds", "bytes by party", "seconds", "busy", "predicted alone", "")

    def _phase_rows(self) -> list[list[str]]:
        rows = []
        for name, phase in (("offline", self.offline), ("online", self.online)):
            sent, wire = max(phase.bytes_sent), max(phase.wire_bytes)
            predicted = "" if self.predicted is None else seconds(getattr(self.predicted, name).seconds)
            rows.append([name, seconds(phase.seconds), predicted, f"{phase.rounds:,}", f"{sent:,}", f"{wire:,}"])
        return rows

    def _line_rows(self) -> list[list[str]]:
        def row(line: LineStats) -> list[str]:
            sent = " ".join(f"{n:,}" for n in line.bytes_sent)
            times = (line.seconds, line.busy_seconds, line.predicted.seconds)
            return [line.line, f"{line.rounds:,}", sent, *map(seconds, times), line.text]

        return [row(line) for line in self.by_line.values()]

    def __str__(self) -> str:
        lines = [f"{self.protocol}, {self.parties} parties; {self.security}"]
        lines.extend(f"INSECURE, {what}" for what in self.insecure)
        lines += text_table(self._PHASES, self._phase_rows())
        lines.extend(f"  made {count:,} x {kind}" for kind, count in sorted(self.offline.correlations.items()))
        if self.by_line:
            lines += ["", *text_table(self._LINES, [[*row[:6], row[6][:50]] for row in self._line_rows()])]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = [
            paragraph(f", {self.parties} parties. {self.security}", strong=self.protocol),
            html_table(self._PHASES, self._phase_rows()),
        ]
        parts += [paragraph(f", {what}", strong="INSECURE") for what in self.insecure]
        made = "; ".join(f"{count:,} x {kind}" for kind, count in sorted(self.offline.correlations.items()))
        if made:
            parts.append(paragraph(f"Made {made}."))
        if self.by_line:
            sent = bars([max(line.bytes_sent, default=0) for line in self.by_line.values()])
            times = bars([line.seconds for line in self.by_line.values()])
            behind = [[None, None, s, t, None, None, None] for s, t in zip(sent, times, strict=True)]
            parts.append(html_table(self._LINES, self._line_rows(), behind))
        return "<div>" + "".join(parts) + "</div>"


def _lines(raw: dict[str, Any]) -> dict[str, LineStats]:
    """Returns the lines of all runs, measured and predicted; both have the same lines."""
    predicted = dict(raw["predicted"]["lines"]) if "predicted" in raw else {}
    lines = {}
    for place, costs in raw.get("lines", ()):
        line = "{}:{}".format(*place)
        lines[line] = LineStats(
            line=line,
            text=_source.text(place),
            rounds=costs["rounds"],
            bytes_sent=tuple(costs["bytes_sent"]),
            seconds=costs["seconds"],
            busy_seconds=costs["busy_seconds"],
            predicted=LinePlan.of(place, predicted[place]),
        )
    return lines
