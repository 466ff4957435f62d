"""The kept values that a session has used."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from quorate._source import at
from quorate.errors import KeptError

if TYPE_CHECKING:
    from quorate.array import SecretArray
    from quorate.kept import Form

__all__ = ["Memory"]


class Memory:
    """The kept values that a session has used, and the names whose last call has not ended well."""

    def __init__(self) -> None:
        self.arrays: dict[str, dict[str, SecretArray]] = {}
        self.forms: dict[str, Form] = {}  # of what this session kept, for programs that are explained
        self.campaigns: set[tuple[str, str]] = set()  # on whose clients kept values depend that this session uses
        self._stopped: set[str] = set()

    def check(self, name: str) -> None:
        """Refuses a name that is over.

        Raises:
            KeptError: an earlier call for the name has stopped.
        """
        if name in self._stopped:
            what = f"the last call for kept value {name!r} has stopped in this session"
            raise KeptError(at(f"{what}, so parties may be at different steps of it: open another session"))

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Runs the steps of a call. If they stop in the middle, parties may be at different ones: the name is over."""
        self.arrays.pop(name, None)
        try:
            yield
        except KeptError:
            raise  # all parties have heard of it
        except BaseException:
            self._stopped.add(name)
            raise
