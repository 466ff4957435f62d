"""The agreement of all parties on the version of a kept value that counts.

Each party states the versions that it has whole. The newest one that all state counts: a version is current only once
all parties have said that it is on their disks, so the newest such one is among those that all have. Versions above it
were never whole everywhere, and those below were replaced.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import secrets
import sqlite3
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from quorate import _source, dtypes
from quorate._source import at
from quorate.campaigns import StoreError
from quorate.errors import KeptError, QuorateError
from quorate.kept._at_rest import Version
from quorate.kept._form import Form
from quorate.kept._versions import Versions

if TYPE_CHECKING:
    from quorate.session import Session

__all__ = ["Agreed", "PartyStores"]

_WORD = dtypes.int(32)
_ID_WORDS = 4
_DRAWN_WORDS = 4
_VERSIONS = 2
_WHOLE_WORD = (-(1 << 31), (1 << 31) - 1)
_ROW = 1 + _VERSIONS * (2 + _ID_WORDS) + _DRAWN_WORDS


@dataclasses.dataclass(frozen=True)
class Agreed:
    """What all parties agreed on.

    Attributes:
        chosen: the version that counts, or None.
        number: the largest number of a version that a party has.
        drawn: random bytes, to which all parties contributed.
    """

    chosen: Version | None
    number: int
    drawn: bytes


class PartyStores:
    """The versions of a name at the parties of this process, while a call works on them.

    A party whose store cannot be used takes part in all runs of the call, and says that it cannot; otherwise the others
    would wait for it.

    Args:
        session: the session.
        name: the name of the value.
        call: "keep", "kept" or "forget".
        places: the settings of the parties of this process; none in a program that is explained.
    """

    def __init__(self, session: Session, name: str, call: str, places: Mapping[int, Any]) -> None:
        self._session, self._name, self._call = session, name, call
        self.versions: dict[int, Versions] = {}
        self._parties, self._failed = list(places), dict[int, QuorateError]()
        self._stack = contextlib.ExitStack()
        try:
            for party, place in places.items():
                self._try(party, functools.partial(self._open, party, place))
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> PartyStores:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _open(self, party: int, place: Any) -> None:
        opened = Versions(place, party, self._name, is_shared=self._call == "kept")
        self.versions[party] = self._stack.enter_context(opened)

    def _try(self, party: int, work: Callable[[], Any]) -> Any:
        if party in self._failed:
            return None
        try:
            return work()
        except QuorateError as error:
            self._failed[party] = error
        except (OSError, MemoryError, sqlite3.Error) as error:
            self._failed[party] = StoreError(f"the store failed: {error or type(error).__name__}: look at its disk")
        return None

    def on_each(self, work: Callable[[int, Versions], Any]) -> dict[int, Any]:
        """Does something with the versions of each party of this process that has not failed. Returns what came of it.

        An error is kept until `all_have` tells it.
        """
        done = {party: self._try(party, functools.partial(work, party, own)) for party, own in self.versions.items()}
        return {party: result for party, result in done.items() if party not in self._failed}

    def agree(self) -> Agreed:
        """Makes all parties say which versions they have. Unless the call is "kept", all others are erased.

        Raises:
            KeptError: a party cannot use its store; or there is no version that all parties have.
        """
        held = self.on_each(lambda _, versions: versions.held())
        rows = {party: _row(held.get(party)) for party in self._parties}
        table = self._tell("versions", rows, _ROW)
        if table is None:
            return Agreed(None, 0, b"")
        self._check(table[:, 0] == 1)
        stated = [_versions(row) for row in table]
        common = set(stated[0]).intersection(*stated[1:])
        number = max((version.number for versions in stated for version in versions), default=0)
        chosen = max(common, default=None)
        if self._call == "kept":
            self._check_common(chosen, stated)
        elif chosen is None:
            self._warn_of_others(stated)
            self.on_each(lambda _, versions: versions.drop_pending())
        else:
            self.on_each(lambda _, versions: versions.make_current(chosen))
        return Agreed(chosen, number, table[:, -_DRAWN_WORDS:].tobytes())

    def _check_common(self, chosen: Version | None, stated: list[set[Version]]) -> None:
        if chosen is not None:
            return
        faults = "; ".join(fault for versions in self.versions.values() for fault in versions.faults)
        here = f" (here: {faults})" if faults else ""
        if not any(stated):
            raise KeptError(at(f"kept: no party has a value {self._name!r}: keep it first, with mpc.keep{here}"))
        having = ", ".join(str(party) for party, versions in enumerate(stated) if versions)
        what = f"there is no version of {self._name!r} that all parties have whole; some are at party {having}"
        raise KeptError(at(f"kept: {what}: keep it again{here}"))

    def _warn_of_others(self, stated: list[set[Version]]) -> None:
        """Warns of versions that not all parties have: a store may be that of another deployment, or a new one."""
        having = ", ".join(str(party) for party, versions in enumerate(stated) if versions)
        if having:
            what = f"{self._call} of {self._name!r}: a version that not all parties have is erased at party {having}"
            why = "a store may be another deployment's, or a new one"
            _source.warn(f"{what}; {why}", RuntimeWarning)

    def new(self, agreed: Agreed, form: Form) -> Version:
        """Returns the version that comes after all others."""
        number = agreed.number + 1
        return Version(number, form.id(number, agreed.drawn))

    def warn_of_left(self) -> None:
        """Warns of an older version that a party of this process could not erase. The new one counts all the same."""
        for party, error in self._failed.items():
            what = f"{self._call} of {self._name!r}: an older version is still at party {party}: {error}"
            _source.warn(f"{what}; the next `keep` or `forget` erases it", RuntimeWarning)

    def all_have(self, what: str) -> None:
        """Makes all parties say whether they have done what they were to do.

        Raises:
            KeptError: a party could not.
        """
        rows = {party: np.array([party not in self._failed], np.int32) for party in self._parties}
        table = self._tell(what, rows, 1)
        if table is not None:
            self._check(table[:, 0] == 1)

    def _check(self, are_well: npt.NDArray[np.bool_]) -> None:
        if are_well.all():
            return
        if self._failed:
            party, error = next(iter(self._failed.items()))
            raise KeptError(at(f"{self._call} of {self._name!r} at party {party}: {error}")) from error
        parties = ", ".join(map(str, np.flatnonzero(~are_well)))
        raise KeptError(at(f"{self._call} of {self._name!r}: not at party {parties}, whose own error says why"))

    def _tell(self, what: str, rows: Mapping[int, npt.NDArray[np.int32]], size: int) -> npt.NDArray[np.uint32] | None:
        session, column = self._session, (f"{self._call} {self._name!r}: {what}", None)
        told = [
            session._input(rows.get(party), party, (size,), _WORD, _WHOLE_WORD, column)
            for party in range(session.parties)
        ]
        table = session._tell(session.stack(told), f"{what} of kept value {self._name!r} that each of them has")
        return np.ascontiguousarray(table, np.int32).view(np.uint32) if self._parties else None


def _row(held: list[Version] | None) -> npt.NDArray[np.int32]:
    row = np.zeros(_ROW, np.uint32)
    row[0] = held is not None
    for version, first in zip(held or (), range(1, _ROW, 2 + _ID_WORDS), strict=False):
        row[first], row[first + 1] = version.number & 0xFFFFFFFF, version.number >> 32
        row[first + 2 : first + 2 + _ID_WORDS] = np.frombuffer(version.id, "<u4")
    row[-_DRAWN_WORDS:] = np.frombuffer(secrets.token_bytes(4 * _DRAWN_WORDS), "<u4")
    return row.view(np.int32)


def _versions(row: npt.NDArray[np.uint32]) -> set[Version]:
    places = row[1:-_DRAWN_WORDS].reshape(_VERSIONS, -1)
    numbers = [int(place[0]) | int(place[1]) << 32 for place in places]
    return {Version(n, place[2:].astype("<u4").tobytes()) for n, place in zip(numbers, places, strict=True) if n}
