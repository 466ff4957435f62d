"""Fields of a campaign: typed reads from a table of TOML or JSON. Errors name the field by its path."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from quorate_client._slots import Column, Dtype, Slot
from quorate_client.errors import CampaignError
from quorate_client.keys import POINT_BYTES, from_text, is_point

__all__ = ["Table", "read_slot"]

_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{0,79}[1-9])?")
_DTYPE = re.compile(r"(bit)|(int|uint)\(([1-9][0-9]?)\)|(fixed)\(([1-9][0-9]?), (0|[1-9][0-9]?)\)")
_NAME = re.compile(r"[a-z0-9_]{1,64}")
_PRINTABLE = re.compile(r"[ -~]*")
_MOST_BITS = 64
_MOST_AXES = 32
_MOST_MASKS = 1000
_MISSING: Any = object()


class Table:
    """A table with its path, from which each field is taken once; `done` refuses fields that are left."""

    def __init__(self, path: str, fields: dict[str, Any]) -> None:
        self._path = path
        self._fields = dict(fields)

    def at(self, key: str) -> str:
        """Returns the path of a field."""
        return f"{self._path}.{key}" if self._path else key

    def done(self) -> None:
        """Refuses fields that were not taken."""
        for key in self._fields:
            raise CampaignError(f"{self.at(str(key))}: there is no such field. Remove it, or correct its name.")

    def has(self, key: str) -> bool:
        """Whether a field is given."""
        return key in self._fields

    def take(self, key: str, default: Any = _MISSING) -> Any:
        """Returns a field of any type."""
        value = self._fields.pop(key, default)
        if value is _MISSING:
            raise CampaignError(f"{self.at(key)}: this field is missing.")
        return value

    def text(self, key: str, most: int, default: Any = _MISSING) -> str:
        """Returns a printable ASCII text of at most `most` characters; empty only if the default is."""
        return self._is_text(self.at(key), self.take(key, default), most, default == "")

    def _is_text(self, path: str, value: Any, most: int, may_be_empty: bool = False) -> str:
        if not isinstance(value, str) or len(value) > most or (not value and not may_be_empty):
            raise CampaignError(f"{path}: write a text of 1 to {most} characters.")
        if not _PRINTABLE.fullmatch(value):
            raise CampaignError(f"{path}: write printable ASCII characters only.")
        return value

    def integer(self, key: str, least: int, most: int, default: Any = _MISSING) -> int:
        """Returns an integer from `least` to `most`."""
        value = self.take(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise CampaignError(f"{self.at(key)}: write an integer from {least} to {most}.")
        return value

    def choice(self, key: str, choices: tuple[str, ...], default: Any = _MISSING) -> str:
        """Returns one of several texts."""
        value = self.take(key, default)
        if value not in choices:
            raise CampaignError(f"{self.at(key)}: choose {' or '.join(repr(one) for one in choices)}.")
        return str(value)

    def name(self, key: str, most: int = 64) -> str:
        """Returns a name: 1 to `most` small letters, digits and underscores."""
        value = self.take(key)
        if not isinstance(value, str) or not _NAME.fullmatch(value) or len(value) > most:
            raise CampaignError(f"{self.at(key)}: a name has 1 to {most} small letters, digits and underscores.")
        return value

    def items(self, key: str, default: Any = _MISSING) -> list[Any]:
        """Returns a list."""
        value = self.take(key, default)
        if not isinstance(value, list):
            raise CampaignError(f"{self.at(key)}: write a list.")
        return value

    def texts(self, key: str) -> list[str]:
        """Returns a list of texts; an absent one is empty."""
        return [self._is_text(f"{self.at(key)}[{i}]", one, 500) for i, one in enumerate(self.items(key, []))]

    def texts_by_name(self, key: str) -> dict[str, str]:
        """Returns a table of texts under names; an absent one is empty."""
        value = self.take(key, {})
        if not isinstance(value, dict) or not all(isinstance(name, str) and _NAME.fullmatch(name) for name in value):
            raise CampaignError(f"{self.at(key)}: write a table of names and texts.")
        return {name: self._is_text(f"{self.at(key)}.{name}", text, 200) for name, text in value.items()}

    def tables(self, key: str, default: Any = _MISSING) -> list[Table]:
        """Returns a list of tables."""
        items = self.items(key, default)
        if not all(isinstance(item, dict) for item in items):
            raise CampaignError(f"{self.at(key)}: write a list of tables.")
        return [Table(f"{self.at(key)}[{index}]", item) for index, item in enumerate(items)]

    def data(self, key: str, size: int) -> bytes:
        """Returns the bytes of a base64url text."""
        try:
            data = from_text(self.text(key, 200))
        except ValueError as error:
            if isinstance(error, CampaignError):
                raise
            raise CampaignError(f"{self.at(key)}: {error}.") from None
        if len(data) != size:
            raise CampaignError(f"{self.at(key)}: write {size} bytes as base64url, not {len(data)}.")
        return data

    def point(self, key: str) -> bytes:
        """Returns a public key."""
        point = self.data(key, POINT_BYTES)
        if not is_point(point):
            raise CampaignError(f"{self.at(key)}: this is no point of P-256.")
        return point

    def decimal(self, key: str) -> str | None:
        """Returns a decimal as text, from a text or an integer; None if absent."""
        value = self.take(key, None)
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if value is not None and (not isinstance(value, str) or not _DECIMAL.fullmatch(value) or value == "-0"):
            raise CampaignError(f'{self.at(key)}: write an integer, or a decimal as text, as in "-0.25".')
        return value


def read_slot(table: Table, checked: bool, looks: int) -> Slot:
    """Reads a slot; `checked` says whether the servers check bounds, `looks` how often results may be revealed.

    Raises:
        CampaignError: a field is missing, unknown or wrong.
    """
    columns = tuple(_column(one, checked) for one in table.tables("columns"))
    results = tuple(_column(one, checked) for one in table.tables("results", []))
    if looks * len(results) > _MOST_MASKS:
        raise CampaignError(
            f"{table.at('results')}: {len(results)} results in {looks} looks are too many masks. Lower `again`."
        )
    name, per_client = table.name("name"), table.integer("per_client", 1, 1 << 16, 1)
    slot = Slot(name, per_client, columns, results, looks if results else 0)
    table.done()
    if not columns:
        raise CampaignError(f"{table.at('columns')}: a slot has one column or more.")
    for key, listed in (("columns", columns), ("results", results)):
        if len({column.name for column in listed}) != len(listed):
            raise CampaignError(f"{table.at(key)}: two of them have the same name.")
    if any(column.low is not None or column.high is not None for column in results):
        raise CampaignError(f"{table.at('results')}: results have no bounds. Remove low and high.")
    return slot


def _dtype(table: Table) -> Dtype:
    text = table.text("dtype", 40)
    found = _DTYPE.fullmatch(text)
    if not found:
        raise CampaignError(f"{table.at('dtype')}: write int(k), uint(k), fixed(k, f) or bit, not {text!r}.")
    if found[1]:
        return Dtype("bit", 1)
    kind, bits, frac = found[2] or found[4], int(found[3] or found[5]), int(found[6] or 0)
    least = 1 if kind == "uint" else 2
    if not least <= bits <= _MOST_BITS or frac >= bits:
        raise CampaignError(
            f"{table.at('dtype')}: {text}: choose {least} to {_MOST_BITS} bits, and fewer of them after the point."
        )
    return Dtype(kind, bits, frac)


def _column(table: Table, checked: bool) -> Column:
    name, dtype, shape = table.name("name"), _dtype(table), _shape(table)
    low, high = table.decimal("low"), table.decimal("high")
    table.done()
    bounds = []
    for key, text, default in (("low", low, dtype.lowest), ("high", high, dtype.highest)):
        if text is not None and "." in text and dtype.kind != "fixed":
            raise CampaignError(f"{table.at(key)}: a column of {dtype} has integers as bounds.")
        units = default if text is None else round(Fraction(text) * (1 << dtype.frac))
        if not dtype.lowest <= units <= dtype.highest:
            raise CampaignError(f"{table.at(key)}: the bound does not fit {dtype}.")
        bounds.append(units)
    column = Column(name, dtype, shape, low, high, *bounds)
    if column.lowest > column.highest:
        raise CampaignError(f"{table.at('low')}: the lower bound is above the upper one.")
    if checked and column.is_bounded and column.highest - column.lowest >= 1 << (dtype.bits - 1):
        raise CampaignError(
            f"{table.at('high')}: checked bounds of {dtype} must lie less than 2^{dtype.bits - 1} steps apart. "
            'Choose a wider dtype, remove the bounds, or set check = "none".'
        )
    return column


def _shape(table: Table) -> tuple[int, ...]:
    shape: Sequence[Any] = table.items("shape", [])
    good = all(isinstance(size, int) and not isinstance(size, bool) and 1 <= size <= 1 << 27 for size in shape)
    if not good or len(shape) > _MOST_AXES:
        raise CampaignError(f"{table.at('shape')}: write a list of at most {_MOST_AXES} positive integers.")
    return tuple(shape)
