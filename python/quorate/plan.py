"""The plan of a reveal and its cost, from a dry run."""

from __future__ import annotations

import dataclasses
import html
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorate.session import Session

__all__ = ["PhasePlan", "Plan", "StepPlan", "Truncations"]


@dataclasses.dataclass(frozen=True)
class PhasePlan:
    """One phase: causal rounds, payload bytes by party, seconds on the named network (None without one)."""

    rounds: int
    bytes_sent: tuple[int, ...]
    seconds: float | None


@dataclasses.dataclass(frozen=True)
class StepPlan:
    """One operation that talks: what, where, online bytes of all parties, the round after which it is done."""

    what: str
    line: str
    bytes_sent: int
    done_after_round: int


@dataclasses.dataclass(frozen=True)
class Truncations:
    """Products of fixed point, and conversions into fewer fractional bits, by how they are rounded.

    Attributes:
        exact: numbers rounded down.
        probabilistic: numbers rounded down or up, at most a unit off.
        assumed: among those, numbers whose range no stated bound proves: they are right if the product, before its
            fractional bits are dropped, stays below a quarter of its ring in magnitude.
        failure_probability: at most how probable it is that any of the program's is further off, if what is assumed
            holds.
    """

    exact: int = 0
    probabilistic: int = 0
    assumed: int = 0
    failure_probability: float = 0.0

    def __str__(self) -> str:
        if not self.exact and not self.probabilistic:
            return "no fixed-point result is rounded"
        parts = [f"{self.exact:,} down, exactly"] if self.exact or not self.probabilistic else []
        if self.probabilistic:
            parts.append(f"{self.probabilistic:,} down or up, at most a unit off")
        text = f"rounds fixed point: {'; '.join(parts)}"
        if self.probabilistic:
            text += f"; the program fails with probability {self.failure_probability:.3g}"
        if self.assumed:
            text += f", if {self.assumed:,} products without stated bounds stay below a quarter of their ring"
        return text


@dataclasses.dataclass(frozen=True)
class Plan:
    """What revealing some arrays would cost.

    Attributes:
        offline, online: the phases.
        correlations: what the offline phase makes, by kind.
        memory_bytes: of shares that a party holds at most: the correlations, and every value of the program.
        steps: the operations that send something, in the order of the program.
        truncations: how fixed-point results are rounded, and the risk of it.
        public: what every party learns beside the results.
    """

    protocol: str
    parties: int
    security: str
    network: str | None
    offline: PhasePlan
    online: PhasePlan
    correlations: dict[str, int]
    memory_bytes: int
    steps: tuple[StepPlan, ...]
    truncations: Truncations = Truncations()
    public: str = (
        "the program: operations, shapes, dtypes, stated bounds, public constants; who owns and who learns what"
    )

    @staticmethod
    def of(raw: dict[str, Any], session: Session, network: str | None) -> Plan:
        """From the native module's dictionary."""

        def phase(name: str) -> PhasePlan:
            entry = raw[name]
            return PhasePlan(entry["rounds"], tuple(entry["bytes_sent"]), entry["seconds"])

        steps = tuple(StepPlan(what, f"{file}:{line}", sent, done) for _, what, file, line, sent, done in raw["steps"])
        return Plan(
            session.protocol,
            session.parties,
            session._native.security,
            network,
            phase("offline"),
            phase("online"),
            dict(raw["correlations"]),
            raw["memory_bytes"],
            steps,
            Truncations(*raw["truncations"]),
        )

    def _rows(self) -> list[tuple[str, str, str, str]]:
        def row(name: str, phase: PhasePlan) -> tuple[str, str, str, str]:
            seconds = "" if phase.seconds is None else f"{phase.seconds:.4f} s"
            return name, str(phase.rounds), f"{max(phase.bytes_sent, default=0):,}", seconds

        return [row("offline", self.offline), row("online", self.online)]

    def __str__(self) -> str:
        network = f", on {self.network}" if self.network else ""
        lines = [f"plan for {self.protocol}, {self.parties} parties{network}", f"security: {self.security}"]
        lines.append(f"public: {self.public}")
        lines.append(f"{'phase':<10}{'rounds':>8}{'bytes of the busiest party':>30}{'network time':>16}")
        lines.extend(f"{name:<10}{rounds:>8}{sent:>30}{seconds:>16}" for name, rounds, sent, seconds in self._rows())
        if self.truncations.exact or self.truncations.probabilistic:
            lines.append(str(self.truncations))
        lines.append(f"holds at most {self.memory_bytes / 1e6:,.1f} MB of shares at each party")
        lines.extend(f"  makes {count:,} x {kind}" for kind, count in sorted(self.correlations.items()))
        if self.steps:
            lines.append(f"{'online step':<64}{'bytes, all':>14}{'done after':>12}")
            lines.extend(f"{s.what:<64.64}{s.bytes_sent:>14,}{s.done_after_round:>12}" for s in self.steps)
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "<tr><th>phase<th>rounds<th>bytes of the busiest party<th>network time"
        phases = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}" for cell in row) for row in self._rows())
        steps = "".join(
            f"<tr><td>{html.escape(s.what)}<td>{s.bytes_sent:,}<td>{s.done_after_round}" for s in self.steps
        )
        return (
            f"<p><b>{html.escape(self.protocol)}</b>, {self.parties} parties. {html.escape(self.security)}</p>"
            f"<table>{head}{phases}</table><table><tr><th>online step<th>bytes, all<th>done after round{steps}</table>"
        )
