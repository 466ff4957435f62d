"""The options of the command line that name files."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quorate.errors import ConfigError
from quorate.tables._inputs import MINE, parse_form, parse_owned
from quorate.tables._write import suffix_of_results

__all__ = ["NO_FILES", "add_file_options", "add_form", "file_settings", "of_party"]

NO_FILES: Mapping[str, Any] = {"inputs": {}, "forms": {}, "output": None}


def add_form(command: argparse.ArgumentParser) -> None:
    """Adds the option `--form`."""
    command.add_argument(
        "--form",
        metavar="OWNER=FORM",
        action="append",
        default=[],
        help="shape and dtype of data that is elsewhere, such as 0=114x30:fixed64.16, or a file of the same form",
    )


def add_file_options(command: argparse.ArgumentParser, one_party: bool) -> None:
    """Adds the options `--input`, `--form` and `--output`."""
    if one_party:
        command.add_argument("--input", metavar="FILE", default=None, help="this party's data: CSV, Parquet or Arrow")
    else:
        command.add_argument(
            "--input", metavar="OWNER=FILE", action="append", default=[], help="a party's data: CSV, Parquet or Arrow"
        )
    add_form(command)
    command.add_argument(
        "--output", metavar="FILE", type=Path, default=None, help="file for the results: CSV, JSON, ..."
    )


def file_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Returns the settings of the options, with files and forms checked.

    Raises:
        ConfigError: a file does not exist, or a form is not valid.
    """
    given = options.input
    inputs = (
        ({} if given is None else {MINE: given})
        if options.command in ("party", "preprocess")
        else parse_owned(given, "--input")
    )
    forms = parse_owned(options.form, "--form")
    for file in inputs.values():
        if not Path(file).is_file():
            raise ConfigError(f"--input: there is no file {file}")
    for owner, form in forms.items():
        try:
            known = parse_form(form) is not None or Path(form).is_file()
        except ConfigError as error:
            raise ConfigError(f"--form {owner}={error}") from None
        if not known:
            raise ConfigError(f"--form {owner}={form}: neither a file nor a form such as 114x30:fixed64.16")
        if owner in inputs:
            raise ConfigError(f"party {owner} has both --input and --form; a form is for data that is elsewhere")
    if options.output is not None:
        suffix_of_results(options.output)
        if not options.output.parent.is_dir():
            raise ConfigError(f"--output: there is no folder {options.output.parent}")
    return {"inputs": inputs, "forms": forms, "output": options.output}


def of_party(files: Mapping[str, Any], party: int, parties: int) -> list[str]:
    """Returns the arguments of one party's process: its own file, stated forms, and the file for results.

    Raises:
        ConfigError: a file belongs to a party that does not exist.
    """
    arguments: list[str] = []
    for owner, file in files["inputs"].items():
        if owner >= parties:
            raise ConfigError(f"--input {owner}={file}: there are parties 0 to {parties - 1}")
        if owner == party:
            arguments += ["--input", file]
    for owner, form in files["forms"].items():
        arguments += ["--form", f"{owner}={form}"]
    return arguments if files["output"] is None else [*arguments, "--output", str(files["output"])]
