"""What a session's runs cost, measured."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quorate.session import Session

__all__ = ["PhaseStats", "Stats"]


@dataclasses.dataclass(frozen=True)
class PhaseStats:
    """One phase, over all runs so far.

    Attributes:
        seconds: of the slowest party of this process.
        rounds: causal rounds.
        bytes_sent: payload by party; in a deployment None for the other parties, which know their own.
        wire_bytes: the same with framing, handshakes and TLS.
        correlations: how many of each kind were made (offline only).
    """

    seconds: float
    rounds: int
    bytes_sent: tuple[int | None, ...]
    wire_bytes: tuple[int | None, ...]
    correlations: dict[str, int]


@dataclasses.dataclass(frozen=True)
class Stats:
    """What a session did and cost.

    Attributes:
        protocol, parties: as in the session.
        security: who may cheat, in words.
        insecure: what was switched off for testing; empty in any real use.
        offline, online: the phases.
        by_line: online payload of all parties of this process, {"file:line": bytes}.
        timeline: per party, {party: {phase: seconds}}.
    """

    protocol: str
    parties: int
    security: str
    insecure: tuple[str, ...]
    offline: PhaseStats
    online: PhaseStats
    by_line: dict[str, int]
    timeline: dict[int, dict[str, float]]

    @staticmethod
    def of(session: Session) -> Stats:
        """The session's totals."""
        runs = session._native.stats()

        def by_party(entries: dict[int, dict[str, int]], what: str) -> tuple[int | None, ...]:
            nobody = 0 if session.me is None else None  # before the first run there are no entries
            return tuple(entries[p][what] if p in entries else nobody for p in range(session.parties))

        def phase(name: str) -> PhaseStats:
            entries = {party: run[name] for party, run in runs.items()}
            kinds = next(iter(runs.values()))["correlations"] if runs and name == "offline" else {}
            return PhaseStats(
                seconds=max((e["seconds"] for e in entries.values()), default=0.0),
                rounds=max((e["rounds"] for e in entries.values()), default=0),
                bytes_sent=by_party(entries, "bytes_sent"),
                wire_bytes=by_party(entries, "wire_bytes"),
                correlations=dict(kinds),
            )

        by_line: dict[str, int] = {}
        for run in runs.values():
            for node, (sent, _) in run["by_step"].items():
                file, line, _ = session._native.source(node)
                key = f"{file}:{line}"
                by_line[key] = by_line.get(key, 0) + sent
        return Stats(
            protocol=session.protocol,
            parties=session.parties,
            security=session._native.security,
            insecure=session._options.insecure,
            offline=phase("offline"),
            online=phase("online"),
            by_line=by_line,
            timeline={p: {n: run[n]["seconds"] for n in ("offline", "online")} for p, run in runs.items()},
        )

    def __str__(self) -> str:
        lines = [f"{self.protocol}, {self.parties} parties; {self.security}"]
        lines.extend(f"INSECURE, {what}" for what in self.insecure)
        for name, phase in (("offline", self.offline), ("online", self.online)):
            sent = max((n for n in phase.bytes_sent if n is not None), default=0)
            wire = max((n for n in phase.wire_bytes if n is not None), default=0)
            lines.append(
                f"{name:>8}: {phase.seconds:8.3f} s  {phase.rounds:5d} rounds  {sent / 1e6:10.3f} MB sent by the "
                f"busiest party ({wire / 1e6:.3f} on the wire)"
            )
        lines.extend(f"          {count:>10} x {kind}" for kind, count in sorted(self.offline.correlations.items()))
        return "\n".join(lines)
