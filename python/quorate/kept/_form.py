"""The form of a kept value: all that a later program has to know of it besides its parts. It is no secret."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from quorate import dtypes
from quorate._source import at
from quorate.campaigns import StoreError
from quorate.errors import ConfigError
from quorate_client import families

if TYPE_CHECKING:
    from quorate.array import SecretArray
    from quorate.session import Session

__all__ = ["ArrayForm", "Form", "Known", "check_name"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_ID_LABEL = b"quorate/kept/1\0"
_ID_BYTES = 16
_FORMAT = 1  # of the text that forms are stored as

Parties = tuple[list[int], bool]
Known = tuple[Any, tuple[bool, bool], Parties, Parties]


def check_name(name: Any) -> str:
    """Returns the name of a value.

    Raises:
        ConfigError: it is no such name.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        allowed = "1 to 64 letters, digits, dots, underscores and dashes, and begin with a letter or a digit"
        raise ConfigError(at(f"the name of a kept value must be {allowed}, and {name!r} is not"))
    return name


@dataclasses.dataclass(frozen=True)
class ArrayForm:
    """The form of one array.

    Attributes:
        dtype: its kind, bits and fractional bits.
        shape: its shape.
        column: its name, and its words where they have a meaning: a list of words, or an empty one for dates.
        known: what the native module knows of it (`Session.known`).
    """

    dtype: tuple[str, int, int]
    shape: tuple[int, ...]
    column: tuple[str, list[str] | None]
    known: Known

    @staticmethod
    def of(name: str, array: SecretArray) -> ArrayForm:
        """Returns the form of an array of a session; `name` is that within its value."""
        native = array._session._native
        kind, bits, frac = array.dtype.parts
        column = native.column(array._node)
        known = native.known(array._node)
        return ArrayForm(("fixed" if kind == "real" else kind, bits, frac), array.shape, column or (name, None), known)

    @staticmethod
    def read(fields: Mapping[str, Any]) -> ArrayForm:
        """Returns the form that `fields` describe."""
        name, words = fields["column"]
        low_high, (grows, assumed), owners, own = fields["known"]
        known: Known = (
            None if low_high is None else (int(low_high[0]), int(low_high[1])),
            (grows, assumed),
            (list(owners[0]), owners[1]),
            (list(own[0]), own[1]),
        )
        kind, bits, frac = fields["dtype"]
        return ArrayForm((kind, bits, frac), tuple(fields["shape"]), (name, words), known)

    @property
    def words(self) -> dtypes.Dtype:
        """The dtype of its parts."""
        kind, bits, _ = self.dtype
        return dtypes.bit if kind == "bit" else dtypes.uint(bits)

    @property
    def dtype_text(self) -> str:
        """Its dtype, for people."""
        return str(dtypes.Dtype.of(self.dtype))

    @property
    def title(self) -> str:
        """Its dtype and shape, for people."""
        return f"{self.dtype_text}{list(self.shape) if self.shape else ''}"

    @property
    def elements(self) -> int:
        """The number of its elements."""
        number = 1
        for size in self.shape:
            number *= size
        return number

    @property
    def has_clients(self) -> bool:
        """Whether it depends on what clients of campaigns gave."""
        return self.known[2][1]

    @property
    def depends_on(self) -> str:
        """Those on whose inputs it depends, for people."""
        names = [f"party {party}" for party in self.known[2][0]] + ["clients"] * self.has_clients
        return ", ".join(names) or "nobody"


@dataclasses.dataclass(frozen=True)
class Form:
    """The form of a kept value.

    Attributes:
        name: its name.
        protocol, parties: those of the session that keeps it.
        arrays: its arrays by name; a value that is one array has the name "".
        campaigns: names and hashes, in hexadecimal digits, of the campaigns on whose clients it may depend.
    """

    name: str
    protocol: str
    parties: int
    arrays: dict[str, ArrayForm]
    campaigns: list[tuple[str, str]]

    @staticmethod
    def of(
        session: Session, name: str, arrays: Mapping[str, SecretArray], campaigns: Iterable[tuple[str, str]] = ()
    ) -> Form:
        """Returns the form of a value of a session, which has read these campaigns."""
        forms = {key: ArrayForm.of(key, array) for key, array in arrays.items()}
        form = Form(name, session.protocol, session.parties, forms, sorted(set(campaigns)))
        return form if form.has_clients else dataclasses.replace(form, campaigns=[])

    @staticmethod
    def read(text: bytes) -> Form:
        """Returns the form that `write` wrote.

        Raises:
            StoreError: another release wrote it.
        """
        fields = json.loads(text)
        if fields.pop("format") != _FORMAT:
            raise StoreError("a kept value was written by a newer release: install that one, or keep the value again")
        fields["campaigns"] = [(name, hashed) for name, hashed in fields["campaigns"]]
        fields["arrays"] = {key: ArrayForm.read(form) for key, form in fields["arrays"].items()}
        return Form(**fields)

    def write(self) -> bytes:
        """Returns the form as text, the same for equal forms. Parts are stored in the order of its arrays."""
        return json.dumps({"format": _FORMAT, **dataclasses.asdict(self)}, separators=(",", ":")).encode()

    def id(self, version: int, drawn: bytes) -> bytes:
        """Returns the identifier of a version: 16 bytes, from the form and what all parties drew for it."""
        text = self.write()
        hashed = hashlib.sha256(_ID_LABEL + version.to_bytes(8, "little") + len(text).to_bytes(8, "little") + text)
        hashed.update(drawn)
        return hashed.digest()[:_ID_BYTES]

    @property
    def holders(self) -> int:
        """The number of parties that hold parts, the first ones: more than may be corrupt."""
        return families.receivers(self.protocol, self.parties)

    @property
    def has_clients(self) -> bool:
        """Whether it depends on what clients of campaigns gave."""
        return any(array.has_clients for array in self.arrays.values())
