"""What an operator approves: a program, who may ask for it, its parameters, how often it runs, and what it reveals.

An approval is read once, from TOML, and kept as JSON with a copy of the program. The program is parsed, not executed.
"""

from __future__ import annotations

import ast
import dataclasses
import datetime
import hashlib
import re
import sqlite3
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quorate._session._options import Options
from quorate.campaigns import Refused, Spent
from quorate.errors import ConfigError
from quorate_client import Campaign, CampaignError
from quorate_client._fields import Table
from quorate_client.job import MOST_INTEGER, MOST_TEXT, Parameter, canonical, is_parameter
from quorate_client.keys import from_text, is_point, to_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Limit", "Program", "Terms", "check_campaign", "read_approval", "time_text"]

_MOST_TIMES, _MOST_PER_DAY, _MOST_TIMEOUT_S = 10**9, 10**6, 7 * 86_400
_ARGUMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_HASH = re.compile(r"[0-9a-f]{64}")
_PROGRAM = "program"


@dataclasses.dataclass(frozen=True)
class Limit:
    """What a parameter may be.

    Attributes:
        type: "integer", "text" or "campaign".
        low, high: the least and the largest integer; 0 for others.
        values: the texts, or the hashes of campaigns; empty for any campaign that is approved here.
    """

    type: str
    low: int = 0
    high: int = 0
    values: tuple[str, ...] = ()

    def check(self, name: str, value: Parameter) -> None:
        """Compares a value with the limit; a campaign is looked up by `check_campaign`.

        Raises:
            Refused: it is outside; the message names the limit.
        """
        do = "ask for such a value, or ask this server's operator"
        if self.type == "integer":
            if isinstance(value, str) or not is_parameter(value):
                raise Refused(409, f"parameter {name} must be an integer", do)
            if value < self.low:
                raise Refused(409, f"{name} is {value}, and at least {self.low} is approved here", do)
            if value > self.high:
                raise Refused(
                    409,
                    f"{name} is {value}, and at most {self.high} {'is' if self.high == 1 else 'are'} approved here",
                    "ask for fewer, or ask this server's operator",
                )
        elif self.type == "campaign" and not (isinstance(value, str) and _HASH.fullmatch(value)):
            raise Refused(409, f"parameter {name} must be the hash of a campaign, 64 hexadecimal digits", do)
        elif value not in self.values and (self.values or self.type == "text"):
            raise Refused(409, f"parameter {name} must be one of {', '.join(self.values)}", do)


@dataclasses.dataclass(frozen=True)
class Terms:
    """The terms of a program.

    Attributes:
        requesters: public keys that may ask for it and that get its results.
        times: starts in all, for ever.
        per_day: starts within any 24 hours.
        timeout_s: seconds after which a run is ended.
        runs: hashes of the only runs that may reveal anything, separated by commas within a text; None for any.
        input: the path of this party's file, or None.
        options: the options of the session.
        parameters: the limit of each parameter, by name.
    """

    requesters: tuple[bytes, ...]
    times: int
    per_day: int
    timeout_s: int
    runs: tuple[str, ...] | None
    input: str | None
    options: Mapping[str, Any]
    parameters: Mapping[str, Limit]

    @property
    def json(self) -> bytes:
        """What the store keeps."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        fields["requesters"] = [to_text(point) for point in self.requesters]
        fields["parameters"] = {name: dataclasses.asdict(limit) for name, limit in self.parameters.items()}
        return canonical(fields)

    @staticmethod
    def of(fields: Mapping[str, Any]) -> Terms:
        """Returns what `json` was made of."""
        limits = {
            name: Limit(**{**limit, "values": tuple(limit["values"])}) for name, limit in fields["parameters"].items()
        }
        return Terms(
            **{
                **fields,
                "requesters": tuple(from_text(text) for text in fields["requesters"]),
                "runs": None if fields["runs"] is None else tuple(fields["runs"]),
                "parameters": limits,
            }
        )

    def check(self, parameters: Mapping[str, Parameter]) -> None:
        """Compares parameters with the limits. Each has to be there, and no other.

        Raises:
            Refused: they are not approved; the message names the parameter and its limit.
        """
        for name, limit in self.parameters.items():
            if name not in parameters:
                raise Refused(409, f"parameter {name} is missing", "state all parameters of the program")
            limit.check(name, parameters[name])
        for name in parameters:
            if name not in self.parameters:
                names = ", ".join(self.parameters) or "none"
                raise Refused(409, f"the program has no parameter {name}", f"its parameters are: {names}")

    def campaigns(self, parameters: Mapping[str, Parameter]) -> dict[str, bytes]:
        """Returns the hashes of the campaigns among checked parameters, by name."""
        return {
            name: bytes.fromhex(str(parameters[name]))
            for name, limit in self.parameters.items()
            if limit.type == "campaign"
        }


def check_campaign(connection: sqlite3.Connection, campaign: bytes, now: float) -> bytes:
    """Checks that a campaign is approved here, closed and not spent; returns its JSON.

    Raises:
        Refused: it is not.
    """
    short = f"campaign {campaign.hex()[:16]}"
    query = "SELECT json, closed_at, ended_at, looks FROM campaigns WHERE hash = ?"
    row = connection.execute(query, (campaign,)).fetchone()
    if row is None:
        raise Refused(409, f"{short} is not approved here", "ask this server's operator to approve it")
    text, closed_at, ended_at, looks = row
    found = Campaign.from_json(text)
    if ended_at is not None:
        raise Refused(409, f"{short} was ended here, and its packets are erased", "ask for another campaign")
    if closed_at is None and now < found.closes_at:
        raise Refused(409, f"{short} takes packets until {found.closes}", "ask after that")
    if looks > found.again:
        looked = f"{looks} of {found.again + 1} look{'s' if found.again else ''}"
        raise Spent(f"{short} is spent ({looked})", "ask for another campaign")
    return bytes(text)


def time_text(time: float) -> str:
    """Returns a time as RFC 3339, in UTC."""
    return datetime.datetime.fromtimestamp(time, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclasses.dataclass(frozen=True)
class Program:
    """A program with its terms, as they are approved.

    Attributes:
        name: the name of its file.
        code: the bytes of the file.
        terms: the terms.
    """

    name: str
    code: bytes = dataclasses.field(repr=False)
    terms: Terms

    @property
    def hash(self) -> bytes:
        """The SHA-256 of the bytes."""
        return hashlib.sha256(self.code).digest()


def read_approval(file: Path) -> Program:
    """Reads an approval that an operator wrote, and the program beside it. The program is not executed.

    Raises:
        ConfigError: a file cannot be read, a key is missing, unknown or wrong, or the program has other arguments.
    """
    try:
        table = Table("", tomllib.loads(file.read_text(encoding="utf-8")))
        path = file.parent / table.text("program", 500)
        terms = _terms(table, file.parent)
    except OSError as error:
        raise ConfigError(f"the approval {file} cannot be read: {error.strerror}") from None
    except (CampaignError, ConfigError) as error:
        raise ConfigError(f"{file}: {str(error).rstrip('.')}") from None
    except ValueError as error:
        raise ConfigError(f"{file} is not TOML: {error}") from None
    try:
        code = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"the program {path} cannot be read: {error.strerror}") from None
    _check_arguments(path, code, terms)
    return Program(path.name, code, terms)


def _terms(table: Table, folder: Path) -> Terms:
    try:
        requesters = tuple(from_text(text) for text in table.texts("requesters"))
    except ValueError:
        requesters = ()
    if not requesters or not all(is_point(point) for point in requesters):
        raise ConfigError("requesters: list one public key or more, as `quorate campaign client-key` prints them")
    runs = table.take("runs")
    if runs != "any" and not (isinstance(runs, list) and runs and all(_is_runs(text) for text in runs)):
        raise ConfigError('runs: list what `quorate explain` prints after --approve, or write "any"')
    given = table.text("input", 500, "")
    options = table.take("options", {})
    if not isinstance(options, dict):
        raise ConfigError("options: write a table, as in [options]")
    Options.of(options, (), local=False)
    limits = table.take("parameters", {})
    if not isinstance(limits, dict) or not all(isinstance(one, dict) for one in limits.values()):
        raise ConfigError("parameters: write a table for each, as in [parameters.rows]")
    terms = Terms(
        requesters=requesters,
        times=table.integer("times", 1, _MOST_TIMES),
        per_day=table.integer("per_day", 1, _MOST_PER_DAY),
        timeout_s=table.integer("timeout_s", 1, _MOST_TIMEOUT_S),
        runs=None if runs == "any" else tuple(runs),
        input=str((folder / given).resolve()) if given else None,
        options=options,
        parameters={name: _limit(name, Table(f"parameters.{name}", one)) for name, one in limits.items()},
    )
    table.done()
    if terms.input is not None and not Path(terms.input).is_file():
        raise ConfigError(f"input: there is no file {terms.input}")
    return terms


def _is_runs(text: Any) -> bool:
    return isinstance(text, str) and all(_HASH.fullmatch(one) for one in text.split(","))


def _limit(name: str, table: Table) -> Limit:
    if not _ARGUMENT.fullmatch(name):
        raise ConfigError(f"parameters.{name}: a name is that of a function's argument, of at most 64 characters")
    type_ = table.choice("type", ("integer", "text", "campaign"))
    low = high = 0
    if type_ == "integer":
        low, high = (table.integer(key, -MOST_INTEGER, MOST_INTEGER) for key in ("low", "high"))
        if low > high:
            raise ConfigError(f"parameters.{name}: low is above high")
    values = tuple(table.texts("values")) if type_ != "integer" else ()
    table.done()
    if type_ == "text" and not values:
        raise ConfigError(f"parameters.{name}.values: list the texts that are allowed; there is no free text")
    if any(len(value) > MOST_TEXT for value in values):
        raise ConfigError(f"parameters.{name}.values: a text has at most {MOST_TEXT} characters")
    if type_ == "campaign" and not all(_HASH.fullmatch(value) for value in values):
        raise ConfigError(f"parameters.{name}.values: write hashes of campaigns, 64 hexadecimal digits each")
    return Limit(type_, low, high, values)


def _check_arguments(path: Path, code: bytes, terms: Terms) -> None:
    """Compares the arguments of `program` with the parameters.

    Raises:
        ConfigError: they differ, or there is no such function.
    """
    try:
        tree = ast.parse(code, str(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ConfigError(f"{path} is no Python program: {error}") from None
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == _PROGRAM]
    if len(found) != 1:
        raise ConfigError(f"{path}: there must be one `def program(mpc, ...)` at top level, not {len(found)}")
    stated = found[0].args
    if stated.posonlyargs or stated.vararg or stated.kwarg or stated.defaults or any(stated.kw_defaults):
        raise ConfigError(
            f"{path}: `program` has defaults, *, ** or positional arguments: name each parameter, and state its "
            "limits in the approval"
        )
    if not stated.args:
        raise ConfigError(f"{path}: `program` has no argument: the first one is the session, as in program(mpc)")
    names = {one.arg for one in (*stated.args[1:], *stated.kwonlyargs)}
    if names != set(terms.parameters):
        has, states = (", ".join(sorted(each)) or "none" for each in (names, terms.parameters))
        raise ConfigError(f"{path}: the parameters of `program` are {has}, and those of the approval are {states}")
