"""`quorate audit`: verifies logs of reveals and acts of operators, and puts logs aside."""

from __future__ import annotations

import argparse
import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from quorate._command._campaigns import add_config, client_errors, opened, require_serve
from quorate._command._exit_status import FAILED, OK
from quorate._display._text_tables import number_bytes
from quorate.auditing import Broken, Chain, Line, acts_of, lines_of_acts, log_of, name_of_acts, read, rotated
from quorate.errors import ConfigError

if TYPE_CHECKING:
    from quorate.campaigns import Store

__all__ = ["add_audit", "run_audit"]


def add_audit(audit: argparse.ArgumentParser) -> None:
    """Adds the commands of `quorate audit`."""
    commands = audit.add_subparsers(dest="audit_command", required=True, metavar="COMMAND")
    about = "looks whether lines of a log of reveals, or acts of operators, were changed or removed"
    verify = commands.add_parser("verify", help=about)
    verify.add_argument("files", metavar="FILE", type=Path, nargs="*", help="the log's files, the oldest first")
    what = "the party.toml of a server: verifies the acts of operators in its store instead"
    verify.add_argument("--acts", metavar="CONFIG", type=Path, help=what)
    what = "a head that was noted before: its line must be in the files, or be the one before them; may be repeated"
    verify.add_argument("--head", metavar="HASH", type=_hash, action="append", default=[], help=what)
    rotate = commands.add_parser("rotate", help="puts a log of reveals aside and continues it in another file")
    rotate.add_argument("file", metavar="FILE", type=Path, nargs="?", help="the log, if --config does not name it")
    rotate.add_argument("--config", type=Path, help="the party.toml that names the log")
    what = "puts it aside only if it is larger than this, as in 100MB, 2GiB or 5000000; else ends with status 0"
    rotate.add_argument("--if-larger", metavar="SIZE", type=_size, default=None, help=what)
    acts = commands.add_parser("acts", help="prints the acts of operators at this party's server, as lines of JSON")
    add_config(acts)


def _hash(text: str) -> str:
    if not re.fullmatch("[0-9a-f]{64}", text.lower()):
        raise argparse.ArgumentTypeError("64 hexadecimal digits, as `quorate audit verify` prints them")
    return text.lower()


def _size(text: str) -> int:
    found = re.fullmatch(r"([0-9]{1,15})(|k|M|G|T)(|B|iB)", text.replace(" ", ""))
    if found is None or (found[3] == "iB" and not found[2]):
        raise argparse.ArgumentTypeError("a number of bytes with or without a unit, as in 100MB, 2GiB or 5000000")
    return int(found[1]) * (1024 if found[3] == "iB" else 1000) ** ["", "k", "M", "G", "T"].index(found[2])


def _size_of(file: Path) -> int:
    """Returns the bytes of a log; 0 if no session has begun it.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise ConfigError(f"the log {file} cannot be read: {error.strerror}") from None


def run_audit(options: argparse.Namespace) -> int:
    """Runs a command of `quorate audit`; returns 1 if a chain is broken."""
    if options.audit_command == "verify":
        if bool(options.files) == (options.acts is not None):
            raise ConfigError("name what to verify: either the log's files, or --acts with the party.toml of a server")
        if options.acts is None:
            return _verify([(file, read(file)) for file in options.files], options.head)
        with _acts(options.acts) as (store, named):
            return _verify([(named, acts_of(store))], options.head, is_all=True)
    if options.audit_command == "acts":
        with _acts(options.config) as (store, _):
            for line in lines_of_acts(store):
                print(line.decode("utf-8", "replace"))
        return OK
    if (options.file is None) == (options.config is None):
        raise ConfigError("name the log to put aside: either its file, or --config with the party.toml that has it")
    file = options.file or log_of(options.config)
    if options.if_larger is not None and (size := _size_of(file)) <= options.if_larger:
        print(f"{file} has {number_bytes(size)}, and stays")
        return OK
    aside, head = rotated(file)
    print(f"{aside}\nhead {head}")
    return OK


@contextlib.contextmanager
def _acts(config: Path) -> Iterator[tuple[Store, Path]]:
    """Opens the store of a server, whose acts are read. Returns it, and what messages call its acts."""
    require_serve()
    with client_errors(), opened(argparse.Namespace(config=config)) as (_, store):
        yield store, name_of_acts(store)


def _verify(logs: list[tuple[Path, Iterator[Line]]], noted: list[str], is_all: bool = False) -> int:
    """Verifies logs as one chain, prints what it finds, and returns the exit status.

    Args:
        logs: the name of each log, and its lines.
        noted: heads that were noted before.
        is_all: as for `Chain`; then a chain without lines is none that was broken.
    """
    chain, count, missing = Chain(is_all), 0, set(noted)
    try:
        for file, lines in logs:
            unnumbered = _Unnumbered(file)
            for line in lines:
                count, missing = count + 1, missing - {line.digest, line.previous}
                unnumbered.see(line)
                chain.add(line, file)
            unnumbered.end()
    except Broken as broken:
        print(broken)
        return FAILED
    named = ", ".join(str(file) for file, _ in logs)
    if chain.first is None:
        print(f"no line of {named} has the hash of another one, so nothing was verified")
        return OK if is_all and not noted else FAILED
    for head in noted:
        if head in missing:
            print(f"no line of {named} has the head {head}: lines were removed or changed, or a file is missing")
            return FAILED
    if chain.first.number != 1:
        print(f"the first number is {chain.first.number}: an earlier file has the head {chain.first.previous}")
        if chain.first.previous not in noted:
            print(f"lines are missing before those of {named}: name {_before(chain.first)}")
            return FAILED
    print(f"{count} lines, the last of which has number {chain.number}: each follows the one before it")
    print(f"head {chain.head}")
    if not noted:
        print("note the head elsewhere, and give it as --head next time: that finds lines removed at the end, too")
    return OK


def _before(first: Line) -> str:
    """Returns what to name so that the lines before the first one are accounted for."""
    own = "the file that was put aside before it, or" if first.is_continued else "the earlier file if there is one, or"
    return f"{own} that head as --head if you noted it then"


class _Unnumbered:
    """Says which lines have no number: those of older releases, and those that were cut off."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._begin = self._last = 0

    def see(self, line: Line) -> None:
        is_whole = line.is_whole and line.has_end
        if line.number is None and is_whole:
            self._begin, self._last = self._begin or line.place, line.place
            return
        self.end()
        if not is_whole:
            print(f"line {line.place} of {self._file} was cut off: a crash, a full disk, or it is being written")

    def end(self) -> None:
        """Ends the lines without a number."""
        if self._begin:
            one = f"line {self._begin} of {self._file} has no number: an older release or another program wrote it"
            many = f"lines {self._begin} to {self._last} of {self._file} have no number: an older release wrote them"
            print(one if self._begin == self._last else many)
        self._begin = 0
