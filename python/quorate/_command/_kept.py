"""The commands of `quorate kept`: values that sessions have kept at this party.

Modules that need the extra `serve` are imported when a command runs.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING, Any

from quorate._command._campaigns import add_config, require_client
from quorate._command._exit_status import OK
from quorate.clients import require_cryptography
from quorate.errors import ConfigError

if TYPE_CHECKING:
    from quorate.kept import Kept

__all__ = ["add_kept", "run_kept"]


def add_kept(kept: argparse.ArgumentParser) -> None:
    """Adds the commands of `quorate kept`."""
    commands = kept.add_subparsers(dest="kept_command", required=True, metavar="COMMAND")
    listed = commands.add_parser("list", help="lists the values of which this party has a part")
    add_config(listed)
    listed.add_argument("--json", action="store_true", help="print JSON")

    erase = commands.add_parser("erase", help="erases this party's part of a value, which nobody can use then")
    erase.add_argument("name", help="the value's name")
    add_config(erase)


def run_kept(options: argparse.Namespace) -> int:
    """Runs a command of `quorate kept`."""
    require_cryptography()
    require_client()
    {"list": _list, "erase": _erase}[options.kept_command](options)
    return OK


def _list(options: argparse.Namespace) -> None:
    from quorate.kept import listed

    found = listed(options.config)
    if options.json:
        print(json.dumps([_fields(kept) for kept in found], indent=2))
        return
    for kept in found:
        made = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(kept.made_at))
        state = "" if kept.is_current else ", not known to be at all parties"
        print(f"{kept.name}, version {kept.number}{state}: since {made}")
        if kept.form is None:
            print(f"  does not open: {kept.why}")
            continue
        for name, array in kept.form.arrays.items():
            named = f"{name}: " if name else ""
            print(f"  {named}{array.title}, depends on {array.depends_on}")


def _erase(options: argparse.Namespace) -> None:
    from quorate.kept import Versions, listed, party_of

    if all(kept.name != options.name for kept in listed(options.config)):
        raise ConfigError(f"there is no kept value {options.name!r} here: `quorate kept list` shows what there is")
    with Versions(options.config, party_of(options.config), options.name) as versions:
        versions.forget()


def _fields(kept: Kept) -> dict[str, Any]:
    state = "current" if kept.is_current else "pending"
    fields = {"name": kept.name, "version": kept.number, "state": state, "made_at": kept.made_at}
    if kept.form is None:
        return {**fields, "why": kept.why}
    arrays = [
        {"name": name, "dtype": array.dtype_text, "shape": array.shape, "depends_on": array.depends_on}
        for name, array in kept.form.arrays.items()
    ]
    return {**fields, "campaigns": [name for name, _ in kept.form.campaigns], "arrays": arrays}
