"""The value of a reveal that was planned and not run."""

from __future__ import annotations

from typing import Any, NoReturn

from quorate.errors import ConfigError

__all__ = ["Placeholder"]


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
