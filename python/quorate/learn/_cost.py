"""The predicted cost of a training."""

from __future__ import annotations

import dataclasses

from quorate.array import SecretArray
from quorate.plan import Plan
from quorate.session import Network, Session, _network_text

__all__ = ["TrainingPlan", "planned"]


@dataclasses.dataclass(frozen=True)
class TrainingPlan:
    """The predicted cost of a training: the sum over its runs.

    Attributes:
        records: the plan of putting the records into the order of an epoch. It includes inputs, their conversions, and
            all other operations before the training, which only the first epoch has.
        steps: for whole batches, and for a smaller last one, the number of steps and the plan of one step.
        epochs: the number of passes over all records.

    Example:
        >>> import numpy as np, quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     x = mpc.input(np.ones((8, 2)), owner=0, bound=4)
        ...     y = mpc.input(np.ones(8), owner=1, bound=4)
        ...     plan = qr.learn.LinearRegression(batch_size=4, epochs=3).explain(x, y)
        ...     print(sum(count for count, _ in plan.steps), plan.bytes_sent > 0, plan.seconds > 0)
        6 True True
    """

    records: Plan
    steps: tuple[tuple[int, Plan], ...]
    epochs: int

    @property
    def rounds(self) -> int:
        """The number of rounds online."""
        return self.records.online.rounds + sum(count * plan.online.rounds for count, plan in self.steps)

    @property
    def bytes_sent(self) -> int:
        """The payload of the busiest party in bytes, both phases."""
        each = [(1, self.records), *self.steps]
        phases = [(count, phase.bytes_sent) for count, plan in each for phase in (plan.offline, plan.online)]
        return max(sum(count * sent[party] for count, sent in phases) for party in range(self.records.parties))

    @property
    def seconds(self) -> float:
        """Seconds of both phases, computing and waiting."""
        return self.records.seconds + sum(count * plan.seconds for count, plan in self.steps)

    def __str__(self) -> str:
        steps = sum(count for count, _ in self.steps)
        return (
            f"training: {self.epochs} epochs, {steps} steps, {self.rounds} rounds online, "
            f"{self.bytes_sent / 1e6:.1f} MB sent by the busiest party, {self.seconds:.1f} s"
        )


def planned(session: Session, target: SecretArray, done: list[SecretArray], network: str | Network | None) -> Plan:
    """Returns the plan of a run that computes `target`, as if the arrays in `done` were computed already."""
    text = _network_text(network)
    raw = session._native.plan([(target._node, None)], text, [array._node for array in done], None)
    return Plan.of(raw, session, text or session._network)
