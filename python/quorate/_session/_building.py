"""What a thread has stated for the part of the program that it builds."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from quorate.session import Session

__all__ = ["Building"]


class _Here(threading.local):
    """The statements of one thread."""

    omits_values = False


class Building:
    """The statements of threads that build on a session: each holds for its own thread."""

    def __init__(self) -> None:
        self._here = _Here()

    @property
    def _nothing_is_sent(self) -> bool:
        """Whether what this thread builds is explained and never run."""
        return self._here.omits_values

    @contextlib.contextmanager
    def _without_values(self) -> Iterator[None]:
        """Lets owners omit values within the `with`: for programs that are explained and never run."""
        before, self._here.omits_values = self._here.omits_values, True
        try:
            yield
        finally:
            self._here.omits_values = before

    @contextlib.contextmanager
    def _errors_are_stated(self) -> Iterator[None]:
        """Does not warn of lost digits of results that this thread builds in the `with`: their errors are stated."""
        native = cast("Session", self)._native
        native.set_errors_are_stated(True)
        try:
            yield
        finally:
            native.set_errors_are_stated(False)
