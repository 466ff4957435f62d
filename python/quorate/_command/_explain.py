"""Sessions for `quorate explain SCRIPT`, in which nothing is sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NoReturn

from quorate.array import SecretArray
from quorate.errors import ConfigError
from quorate.plan import Plan
from quorate.session import Network, Session, _network_text

__all__ = ["Explaining", "Placeholder"]


class Placeholder:
    """Stands for a revealed value where nothing was run. It has a shape, and refuses all other uses."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape

    def __repr__(self) -> str:
        return f"<not computed: shape {self.shape}>"

    __str__ = __repr__

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise ConfigError(
            "under `quorate explain` nothing is computed, so the program may not depend on a revealed value; "
            "run it instead, or guard this part"
        )

    __bool__ = __int__ = __float__ = __index__ = __len__ = __iter__ = __getitem__ = __array__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _refuse  # type: ignore[assignment]
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = _refuse
    __pow__ = __rpow__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refuse
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = _refuse
    __neg__ = __pos__ = __abs__ = __round__ = __complex__ = __contains__ = _refuse
    __array_ufunc__ = __array_function__ = _refuse
    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()


class Explaining(Session):
    """A session that plans every reveal and runs none."""

    plans: ClassVar[list[Plan]] = []
    sessions: ClassVar[int] = 0
    _nothing_is_sent = True

    def __init__(self, session: Session) -> None:
        super().__init__(session._native, session._network, session._options)
        self._done: list[int] = []
        self._last: str = self._native.start_of_session(Explaining.sessions)
        Explaining.sessions += 1

    @staticmethod
    def begin() -> None:
        """Forgets the plans of earlier scripts."""
        Explaining.plans, Explaining.sessions = [], 0

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

    def _tell(self, array: SecretArray, what: str) -> Any:
        return self._planned([array], None, what)[0]

    def reveal_all(self, *arrays: SecretArray, to: int | Sequence[int] | None = None, units: bool = False) -> list[Any]:
        """Plans the run instead of running it, and returns placeholders."""
        return self._planned(arrays, to)

    def _planned(self, arrays: Sequence[SecretArray], to: int | Sequence[int] | None, tells: str = "") -> list[Any]:
        """Plans a run and returns placeholders. `tells` describes what an owner announces by it, if it does."""
        raw = self._native.plan(
            self._targets(arrays, to, "explain"), _network_text(self._network), self._done, self._last
        )
        self._done += raw["executed"]
        self._last = raw["program"]
        Explaining.plans.append(Plan.of(raw, self, self._network, tells))
        return [Placeholder(array.shape) for array in arrays]
