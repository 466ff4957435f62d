"""Sessions for `quorate explain SCRIPT`, in which nothing is sent."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from quorate import _quorate
from quorate._session._placeholder import Placeholder
from quorate.array import SecretArray
from quorate.plan import Plan
from quorate.session import Network, Session, _network_text

__all__ = ["Book", "Explaining"]


class Book:
    """The plans that the sessions of one script make, in the order in which they are made."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []
        self._sessions = 0
        self._lock = threading.Lock()

    def opened(self) -> int:
        """Counts a session, and returns the number of those before it."""
        with self._lock:
            self._sessions += 1
            return self._sessions - 1


class Explaining(Session):
    """A session that plans every reveal and runs none."""

    _nothing_is_sent = True
    _answers_at_once = True

    def __init__(self, session: Session, book: Book) -> None:
        super().__init__(session._native, session._network, session._options)
        self._config = session._config
        self._book = book
        self._done: list[int] = []
        self._last: str = self._native.start_of_session(book.opened())
        self._branches = 0
        self._had: frozenset[int] = frozenset()  # in a branch, what its session had planned

    def _beside(self, native: _quorate.Session, name: str) -> Session:
        made = Explaining.__new__(Explaining)
        Session.__init__(made, native, self._network, self._options)
        self._share_with(made)
        made._book, made._done, made._had, made._branches = self._book, list(self._done), frozenset(self._done), 0
        made._last = native.start_of_branch(self._last, name, self._branches)
        self._branches += 1
        return made

    def _adopt(self, node: int) -> _quorate.Built:
        return self._native.array(node) if node in self._had else super()._adopt(node)

    def explain(
        self,
        *arrays: SecretArray,
        to: int | Sequence[int] | None = None,
        network: str | Network | None = None,
    ) -> Plan:
        """Returns the plan of a reveal that the script explains: as its next run, after those planned so far."""
        text = _network_text(network)
        raw = self._native.plan(self._targets(arrays, to, "explain"), text or self._network, self._done, self._last)
        return Plan.of(raw, self, text or self._network)

    def _tell(self, array: SecretArray, what: str, beside: Sequence[SecretArray] = ()) -> Any:
        return self._planned([array, *(other.reshape(-1)[:0] for other in beside)], None, what)[0]

    def reveal_all(self, *arrays: SecretArray, to: int | Sequence[int] | None = None, units: bool = False) -> list[Any]:
        """Plans the run instead of running it, and returns placeholders."""
        return self._planned(arrays, to)

    def _noted(self, raw: dict[str, Any]) -> None:
        """Takes note of a run that was planned, as the native module describes it."""

    def _planned(self, arrays: Sequence[SecretArray], to: int | Sequence[int] | None, tells: str = "") -> list[Any]:
        """Plans a run and returns placeholders. `tells` describes what an owner announces by it, if it does."""
        raw = self._native.plan(
            self._targets(arrays, to, "explain"), _network_text(self._network), self._done, self._last
        )
        self._done += raw["executed"]
        self._last = raw["program"]
        self._book.plans.append(Plan.of(raw, self, self._network, tells))
        self._noted(raw)
        return [Placeholder(array.shape) for array in arrays]
