"""Shell completion of the command line: a script that `shtab` writes from the parser."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from quorate._families import FAMILIES, choices
from quorate.errors import ConfigError

__all__ = ["SHELLS", "script"]

SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Returns the script that a shell reads to complete the command. It changes `parser`, so do not use it afterwards.

    Raises:
        ConfigError: shtab is not installed, or too old for the shell.
    """
    try:
        import shtab
    except ImportError:
        raise ConfigError("completion needs shtab, which is not installed: pip install shtab") from None
    if shell not in shtab.SUPPORTED_SHELLS:
        raise ConfigError(f"this release of shtab has no {shell}: pip install --upgrade shtab")
    values = {name.replace("_", "-"): option.values for name, option in choices().items() if not option.is_switch}
    for action in _actions(parser):
        name = action.option_strings[0].lstrip("-") if action.option_strings else ""
        if name == "protocol":
            action.choices = tuple(FAMILIES)
        elif name in values:
            action.choices = values[name]
        elif action.type is Path or name in ("input", "form"):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    return str(shtab.complete(parser, shell=shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yields the actions of a parser and of all its commands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
