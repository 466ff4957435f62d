"""The plan of a reveal: what it discloses, and its cost from dry runs."""

from __future__ import annotations

import collections
import dataclasses
import os
import re
from typing import TYPE_CHECKING, Any

from quorate import _source
from quorate._display._reveals import RevealPlan
from quorate._display._text_tables import bars, counted, html_table, number_bytes, paragraph, seconds, text_table

if TYPE_CHECKING:
    from quorate.session import Session

__all__ = ["LinePlan", "PhasePlan", "Plan", "RevealPlan", "StepPlan", "Truncations"]

_PUBLIC = (
    "the program: operations, shapes, dtypes, stated bounds, public constants, names and words of tables' columns; who "
    "owns and who learns what"
)
# Where sizes follow in the name of a kind of correlations: "random bit mod 2^44", "edaBit of 32 bits cut at 16".
_SIZES = re.compile(r" (?:mod|of|cut|by|from|for|with)\b|[,:(]")
_PEAK = "at the worst moment, if steps run one after another: correlations, values in use, working room"


@dataclasses.dataclass(frozen=True)
class PhasePlan:
    """The predicted cost of one phase.

    Attributes:
        rounds: the length of the longest chain of messages, each of which depends on the one before.
        bytes_sent: the payload bytes that each party sends.
        compute_seconds: seconds in which parties compute; offline, the phase's dry run is included.
        network_seconds: seconds in which parties wait for messages. Online, this includes the last messages, by which
            parties tell each other that all can finish.
        bookkeeping_seconds: the part of `compute_seconds` for planning, dry runs and scheduling. It is measured by a
            clock, and therefore differs from one plan to the next; all other seconds follow from the work to be done.
    """

    rounds: int
    bytes_sent: tuple[int, ...]
    compute_seconds: float
    network_seconds: float
    bookkeeping_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        """Seconds of computing and waiting, which are assumed not to overlap."""
        return self.compute_seconds + self.network_seconds

    @staticmethod
    def of(raw: dict[str, Any]) -> PhasePlan:
        """Makes the plan of a phase from the native module's dictionary."""
        names = ("compute_seconds", "network_seconds", "bookkeeping_seconds")
        return PhasePlan(raw["rounds"], tuple(raw["bytes_sent"]), *(raw[name] for name in names))


@dataclasses.dataclass(frozen=True)
class StepPlan:
    """The predicted cost of one operation that sends messages.

    Attributes:
        what: the operation, its shape and dtype.
        line: "file:number" of the line that made it.
        bytes_sent: the payload bytes that each party sends online.
        rounds: spans of rounds, each as (round after which it begins, round after which it is done). There may be
            several, since the reveal of a value may come long after its computation.
        correlations: the correlations that it draws, by kind.
        compute_seconds: the parties' seconds of computing for this step.
        sharing: "A", "B" or "Y", where the planner chose among several; None where there was one.
        runner_up: the best other sharing, and the seconds by which the whole request would take longer with it. They
            are negative if the other sharing is faster and was not chosen, because planning a short request takes
            longer than it saves.
    """

    what: str
    line: str
    bytes_sent: tuple[int, ...]
    rounds: tuple[tuple[int, int], ...]
    correlations: dict[str, int]
    compute_seconds: float
    sharing: str | None = None
    runner_up: tuple[str, float] | None = None

    @property
    def done_after_round(self) -> int:
        """The number of the round after which the step is done."""
        return max((done for _, done in self.rounds), default=0)

    @staticmethod
    def of(raw: dict[str, Any]) -> StepPlan:
        """Makes the plan of a step from the native module's dictionary."""
        return StepPlan(
            what=raw["what"],
            line="{}:{}".format(*raw["line"]),
            bytes_sent=tuple(raw["bytes_sent"]),
            rounds=tuple((begun, done) for begun, done in raw["rounds"]),
            correlations=dict(raw["correlations"]),
            compute_seconds=raw["compute_seconds"],
            sharing=raw["sharing"],
            runner_up=raw["runner_up"],
        )

    def chosen(self) -> str:
        """Returns a text: the sharing, and the seconds that the runner-up would take more or less."""
        if self.sharing is None or self.runner_up is None:
            return self.sharing or ""
        other, more = self.runner_up
        return f"{self.sharing}; {other} takes {seconds(abs(more))} {'more' if more >= 0 else 'less'}"


@dataclasses.dataclass(frozen=True)
class LinePlan:
    """The predicted cost of one line of the program in the online phase.

    Attributes:
        line: "file:number".
        text: the text of the line, where its file can be read.
        rounds: the number of rounds in which some step of the line is under way.
        bytes_sent: the payload bytes that each party sends online.
        correlations: the correlations that its steps draw, by kind.
        memory_bytes: the size of one party's shares of the line's values and correlations.
        compute_seconds, network_seconds: seconds of computing and of waiting, if the line ran by itself. Lines that do
            not depend on each other share rounds, so a program may take less than the sum of its lines.
    """

    line: str
    text: str
    rounds: int
    bytes_sent: tuple[int, ...]
    correlations: dict[str, int]
    memory_bytes: int
    compute_seconds: float
    network_seconds: float

    @property
    def seconds(self) -> float:
        """Seconds of computing and waiting."""
        return self.compute_seconds + self.network_seconds

    @staticmethod
    def of(place: tuple[str, int], raw: dict[str, Any]) -> LinePlan:
        """Makes the plan of a line from the native module's dictionary."""
        return LinePlan(
            line="{}:{}".format(*place),
            text=_source.text(place),
            rounds=raw["rounds"],
            bytes_sent=tuple(raw["bytes_sent"]),
            correlations=dict(raw["correlations"]),
            memory_bytes=raw["memory_bytes"],
            compute_seconds=raw["compute_seconds"],
            network_seconds=raw["network_seconds"],
        )


@dataclasses.dataclass(frozen=True)
class Truncations:
    """Counts of truncations, by how they round: products of fixed point, and conversions into fewer fractional bits.

    Attributes:
        exact: the number of elements rounded down.
        probabilistic: the number of elements rounded down or up, at most a unit (2^-f) off.
        assumed: the number of elements, among the probabilistic ones, whose range no stated bound proves. They are
            right if the product, before its fractional bits are dropped, stays below a quarter of its ring in
            magnitude.
        failure_probability: an upper bound on the probability that any element of the program is off by more than a
            unit, if that assumption holds.
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
            assumed = counted(self.assumed, "product")
            text += f", if what is without stated bounds ({assumed}) stays below a quarter of its ring"
        return text


@dataclasses.dataclass(frozen=True)
class OrderPlan:
    """Rows that a run puts in the order of secret keys.

    Attributes:
        line: "file:number" of the line that asks for it.
        rows: the number of rows.
    """

    line: str
    rows: int

    def __str__(self) -> str:
        return f"{self.line} orders {self.rows:,} rows in secret"


@dataclasses.dataclass(frozen=True)
class Plan:
    """The plan of a reveal of some arrays: what it would disclose, to whom, and at what cost.

    Attributes:
        reveals: the values that are revealed, in order. Nothing else about the parties' inputs is disclosed.
        program: the hash of the program that makes these values, of who learns them, and of all runs before.
            `--approve` takes it.
        protocol, parties: those of the session.
        security: a description of who may cheat.
        network: the network for which seconds are predicted; None for the one that this session runs on.
        offline, online: the phases.
        correlations: the correlations that the offline phase makes, by kind.
        memory_bytes: a party's peak memory if steps run one after another. It counts what the session holds,
            correlations that are made ahead, values from their step to their last use, and the step's working memory.
        refusal: why a reveal would be refused now (it does not fit max_memory); None if it would not.
        lines: costs by the user's line, in the order of the program.
        steps: the operations that send messages, in the order of the program.
        truncations: how fixed-point results are rounded, and the risk of an error.
        sharings: the number of operations in each sharing, among those for which the planner had a choice.
        public: what every party learns beside the results.
        orders: arrays whose rows are put in the order of secret keys. Comparisons of shuffled rows are opened for that,
            which are independent of the values.
    """

    reveals: tuple[RevealPlan, ...]
    program: str
    protocol: str
    parties: int
    security: str
    network: str | None
    offline: PhasePlan
    online: PhasePlan
    correlations: dict[str, int]
    memory_bytes: int
    lines: tuple[LinePlan, ...]
    steps: tuple[StepPlan, ...]
    truncations: Truncations = Truncations()
    refusal: str | None = None
    sharings: dict[str, int] = dataclasses.field(default_factory=dict)
    public: str = _PUBLIC
    orders: tuple[OrderPlan, ...] = ()

    @staticmethod
    def of(raw: dict[str, Any], session: Session, network: str | None, tells: str = "") -> Plan:
        """Makes a plan from the native module's dictionary. The calling line counts as the line that reveals."""
        place = _source.line()
        return Plan(
            tuple(RevealPlan.of(told, place, tells) for told in raw["reveals"]),
            raw["program"],
            session.protocol,
            session.parties,
            session._native.security,
            network,
            PhasePlan.of(raw["offline"]),
            PhasePlan.of(raw["online"]),
            dict(raw["correlations"]),
            raw["memory_bytes"],
            tuple(LinePlan.of(place, line) for place, line in raw["lines"]),
            tuple(StepPlan.of(step) for step in raw["steps"]),
            Truncations(*raw["truncations"]),
            raw["refusal"],
            dict(raw["sharings"]),
            orders=tuple(OrderPlan(f"{file}:{line}", rows) for file, line, rows in raw["orders"]),
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about reveals that show a party's own input to others."""
        return tuple(warning for reveal in self.reveals if (warning := reveal.warning))

    @property
    def _remarks(self) -> tuple[str, ...]:
        """The lines below the table: what owners announce, orders, and warnings."""
        told = (reveal.remark for reveal in self.reveals if reveal.tells)
        times = collections.Counter(map(str, self.orders))
        orders = (text if count == 1 else f"{text}, {count} times" for text, count in times.items())
        return *told, *orders, *self.warnings

    @property
    def seconds(self) -> float:
        """Seconds of both phases."""
        return self.offline.seconds + self.online.seconds

    def as_dict(self) -> dict[str, Any]:
        """Returns all attributes as a dictionary for JSON, with the total `seconds` beside its parts."""

        def plain(value: Any) -> Any:
            if dataclasses.is_dataclass(value):
                named = {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
                own = getattr(value, "seconds", None)
                return named if own is None else {**named, "seconds": own}
            return [plain(v) for v in value] if isinstance(value, tuple) else value

        whole = dict(plain(self))
        return {"reveals": whole.pop("reveals"), "warnings": list(self.warnings), **whole}

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draws the plan: its lines over time, and the bytes that each sends.

        The suffix of `path` selects the format: png, svg, pdf or html.

        Raises:
            ConfigError: the suffix is another one, or matplotlib is not installed.
        """
        from quorate._display._plots import draw_plans

        draw_plans([self], path)

    # ---- tables -----------------------------------------------------------------------------------------------------

    def _phase_rows(self) -> list[list[str]]:
        def row(name: str, phase: PhasePlan) -> list[str]:
            times = (phase.compute_seconds, phase.network_seconds, phase.seconds)
            return [name, f"{phase.rounds:,}", f"{max(phase.bytes_sent, default=0):,}", *map(seconds, times)]

        sent = [a + b for a, b in zip(self.offline.bytes_sent, self.online.bytes_sent, strict=True)]
        both = PhasePlan(
            self.offline.rounds + self.online.rounds,
            tuple(sent),
            self.offline.compute_seconds + self.online.compute_seconds,
            self.offline.network_seconds + self.online.network_seconds,
            self.offline.bookkeeping_seconds + self.online.bookkeeping_seconds,
        )
        return [row("offline", self.offline), row("online", self.online), row("in all", both)]

    def _line_rows(self) -> list[list[str]]:
        def row(name: str, costs: LinePlan | PhasePlan, memory: int, text: str) -> list[str]:
            sent = " ".join(f"{n:,}" for n in costs.bytes_sent)
            drawn = sum((costs if isinstance(costs, LinePlan) else self).correlations.values())
            return [name, f"{costs.rounds:,}", sent, f"{drawn:,}", number_bytes(memory), seconds(costs.seconds), text]

        total = row("all lines", self.online, self.memory_bytes, "")
        return [*(row(each.line, each, each.memory_bytes, each.text) for each in self.lines), total]

    def _made(self) -> str:
        """Returns one line: the number of correlations that the plan makes, by sort, and the bytes that they take."""
        sorts: collections.Counter[str] = collections.Counter()
        for kind, count in self.correlations.items():
            sorts[_SIZES.split(kind, maxsplit=1)[0]] += count
        listed = ", ".join(f"{count:,} x {sort}" for sort, count in sorted(sorts.items()))
        sent = number_bytes(max(self.offline.bytes_sent, default=0))
        total = counted(sum(sorts.values()), "correlation")
        return f"makes {total} of {counted(len(self.correlations), 'kind')} for {sent} of the busiest party: {listed}"

    def correlation_table(self) -> str:
        """Returns a table of the correlations by kind, and of those that each line of the program draws.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x, y = mpc.input([3, -5], owner=0, bound=7), mpc.input([1, 2], owner=1, bound=7)
            ...     print(mpc.explain(x < y).correlation_table().splitlines()[0].split())
            ['correlations', 'count', 'drawn', 'by']
        """
        rows = [[kind, f"{count:,}", "all lines"] for kind, count in sorted(self.correlations.items())]
        for line in self.lines:
            rows += [[kind, f"{count:,}", line.line] for kind, count in sorted(line.correlations.items())]
        return "\n".join(text_table(("correlations", "count", "drawn by"), rows))

    def _step_rows(self) -> list[list[str]]:
        def row(steps: list[StepPlan]) -> list[str]:
            sent = " ".join(f"{n:,}" for n in self._sent(steps))
            done = max(step.done_after_round for step in steps)
            costs = [_named(steps), sent, str(done), seconds(sum(step.compute_seconds for step in steps))]
            return [*costs, _chosen(steps)] if self.sharings else costs

        return [row(steps) for steps in self._folded()]

    def _folded(self) -> list[list[StepPlan]]:
        """Returns the steps of each line of the source, in the order of the program."""
        by_line: dict[str, list[StepPlan]] = {}
        for step in self.steps:
            by_line.setdefault(step.line, []).append(step)
        return list(by_line.values())

    def _sent(self, steps: list[StepPlan]) -> list[int]:
        return [sum(step.bytes_sent[party] for step in steps) for party in range(self.parties)]

    def _step_heads(self) -> tuple[str, ...]:
        return (*self._STEPS, "sharing") if self.sharings else self._STEPS

    def _mixed(self) -> str:
        chosen = ", ".join(f"{count:,} in {name}" for name, count in sorted(self.sharings.items()))
        return f"Operations with a choice of sharing: {chosen}"

    def _where(self) -> str:
        return f", on {self.network}" if self.network else ", on this machine"

    _PHASES = ("phase", "rounds", "bytes of the busiest party", "computing", "network", "seconds")
    _LINES = ("online, by line", "rounds", "bytes by party", "correlations", "memory", "seconds alone", "")
    _STEPS = ("online steps", "bytes by party", "done after round", "computing")

    def __str__(self) -> str:
        lines = text_table(RevealPlan.HEADS, [reveal.row() for reveal in self.reveals], left=len(RevealPlan.HEADS))
        lines += self._remarks
        lines += [f"program: {self.program}", ""]
        lines += [f"plan for {self.protocol}, {self.parties} parties{self._where()}", f"security: {self.security}"]
        lines.append(f"public: {self.public}")
        lines += text_table(self._PHASES, self._phase_rows())
        if self.truncations.exact or self.truncations.probabilistic:
            lines.append(str(self.truncations))
        lines.append(f"holds at most {number_bytes(self.memory_bytes)} at each party ({_PEAK})")
        if self.sharings:
            lines.append(self._mixed())
        if self.refusal:
            lines.append(f"REFUSED as it is: {self.refusal}")
        if self.correlations:
            lines.append(self._made())
        if self.lines:
            lines += ["", *text_table(self._LINES, [[*row[:-1], row[-1][:60]] for row in self._line_rows()])]
        if self.steps:
            lines += ["", *text_table(self._step_heads(), [[row[0][:64], *row[1:]] for row in self._step_rows()])]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        sent, times = (
            bars([max(line.bytes_sent, default=0) for line in self.lines]),
            bars([line.seconds for line in self.lines]),
        )
        behind = [[None, None, s, None, None, t, None] for s, t in zip(sent, times, strict=True)]
        parts = [
            html_table(RevealPlan.HEADS, [reveal.row() for reveal in self.reveals]),
            *(paragraph(remark) for remark in self._remarks),
            paragraph(f" {self.program}", strong="program"),
            paragraph(f", {self.parties} parties{self._where()}. {self.security}", strong=self.protocol),
            html_table(self._PHASES, self._phase_rows()),
            paragraph(f"Holds at most {number_bytes(self.memory_bytes)} at each party ({_PEAK})."),
            paragraph(f"Refused as it is: {self.refusal}") if self.refusal else "",
        ]
        if self.truncations.exact or self.truncations.probabilistic:
            parts.append(paragraph(f"{str(self.truncations).capitalize()}."))
        if self.sharings:
            parts.append(paragraph(f"{self._mixed()}."))
        if self.correlations:
            parts.append(paragraph(f"M{self._made()[1:]}."))
        if self.lines:
            parts.append(html_table(self._LINES, self._line_rows(), behind))
        if self.steps:
            steps = bars([max(self._sent(steps), default=0) for steps in self._folded()])
            rest = [None] * (len(self._step_heads()) - 2)
            parts.append(html_table(self._step_heads(), self._step_rows(), [[None, s, *rest] for s in steps]))
        return "<div>" + "".join(parts) + "</div>"


def _named(steps: list[StepPlan]) -> str:
    """Describes the steps of one line: a single step in full, several by the counts of their operations."""
    if len(steps) == 1:
        return steps[0].what
    counts = collections.Counter(step.what.split()[0] for step in steps)
    return f"{steps[0].line}: " + ", ".join(name if n == 1 else f"{n:,} {name}" for name, n in counts.items())


def _chosen(steps: list[StepPlan]) -> str:
    """Returns the sharings in which the steps of one line run."""
    if len(steps) == 1:
        return steps[0].chosen()
    counts = collections.Counter(step.sharing for step in steps if step.sharing is not None)
    return ", ".join(f"{n:,} in {name}" for name, n in sorted(counts.items()))
