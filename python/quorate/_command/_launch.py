"""Runs users' scripts: in this process as one or all parties, or in one process for each party."""

from __future__ import annotations

import contextlib
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from quorate import _quorate
from quorate._command._exit_status import FAILED, OK, PEER_ENDED, PEER_LOST, exit_status
from quorate._command._file_options import NO_FILES, of_party
from quorate._session import _signals
from quorate._session._settings import settings
from quorate._session._signals import TERMINATED, Terminated
from quorate.errors import ConfigError, QuorateError

__all__ = ["as_processes", "in_this_process"]

_GRACE_SECONDS = 15.0


def in_this_process(script: Path, arguments: Sequence[str], **chosen: Any) -> int:
    """Runs a script with `qr.session()` configured by `chosen`; returns its exit status."""
    if not script.is_file():
        raise ConfigError(f"there is no script {script}")
    for name, value in chosen.items():
        setattr(settings, name, value)
    settings.script = str(script)
    before = sys.argv
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.resolve().parent))
    try:
        runpy.run_path(str(script), run_name="__main__")
    except QuorateError as error:
        _show(error, script)
        return exit_status(error)
    except Terminated:
        print("quorate: told to end (SIGTERM)", file=sys.stderr)
        return TERMINATED
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except KeyboardInterrupt:
        raise
    except BrokenPipeError:
        if _is_unread():
            raise
        traceback.print_exc()
        return 1
    except Exception:
        traceback.print_exc()
        return 1
    finally:
        sys.argv = before
        sys.path.pop(0)
    return 0


def _is_unread() -> bool:
    """Whether the reader of our standard output has closed it."""
    with contextlib.suppress(OSError, ValueError):
        poll = select.poll()
        poll.register(sys.stdout.fileno(), select.POLLOUT)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    return False


def _show(error: QuorateError, script: Path) -> None:
    """Prints an error in one line, with the user's place instead of our stack."""
    here = [f for f in traceback.extract_tb(error.__traceback__) if os.path.basename(f.filename) == script.name]
    place = f"{script.name}:{here[-1].lineno}: " if here else ""
    print(f"quorate: {place}{type(error).__name__}: {error}", file=sys.stderr)


def _free_ports(count: int) -> list[int]:
    """Returns ports of the loopback that are free now. If another process takes one, the party reports it."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for opened in sockets:
            opened.bind(("127.0.0.1", 0))
        return [opened.getsockname()[1] for opened in sockets]


def write_deployment(folder: Path, protocol: str, parties: int) -> list[Path]:
    """Writes keys and configurations of a deployment on this machine; returns the paths of the configurations."""
    for party in range(parties):
        _quorate.keygen(str(folder), party)
    ports = _free_ports(parties)
    everyone = "".join(
        f'[[party]]\naddress = "127.0.0.1:{port}"\ncertificate = "party{party}.crt"\n'
        for party, port in enumerate(ports)
    )
    configs = []
    for party in range(parties):
        config = folder / f"party{party}.toml"
        config.write_text(f'me = {party}\nprotocol = "{protocol}"\nkey = "party{party}.key"\n{everyone}')
        configs.append(config)
    return configs


def as_processes(
    script: Path,
    arguments: Sequence[str],
    protocol: str,
    parties: int | None,
    options: Sequence[str] = (),
    files: Mapping[str, Any] = NO_FILES,
) -> int:
    """Runs a script with a process for each party, over TLS on the loopback.

    Every party gets `options`, and its own part of `files`.

    Returns:
        The exit status of the first party that fails, and not because of a peer; else that of the first one that ends
        with another status than 0; else 0.
    """
    if not script.is_file():
        raise ConfigError(f"there is no script {script}")
    count = _quorate.check_protocol(protocol, parties)
    own = [of_party(files, party, count) for party in range(count)]
    with tempfile.TemporaryDirectory(prefix="quorate-") as folder:
        configs = write_deployment(Path(folder), protocol, count)
        command = [sys.executable, "-m", "quorate.cli", "party", str(script)]
        processes = [
            subprocess.Popen(
                [*command, "--config", str(config), *options, *mine, "--", *arguments],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                bufsize=1,
            )
            for config, mine in zip(configs, own, strict=True)
        ]
        readers = [_echo(process.stdout, party) for party, process in enumerate(processes)]
        watches = _signals.watch()
        try:
            status = _first_failure(processes)
        except (KeyboardInterrupt, Terminated) as told:
            for process in processes:
                process.send_signal(signal.SIGTERM if isinstance(told, Terminated) else signal.SIGINT)
            _wait_all(processes)
            raise
        finally:
            _wait_all(processes)
            _signals.unwatch(watches)
            for reader in readers:
                reader.join(timeout=2)
    return status


def _echo(stream: IO[str] | None, party: int) -> threading.Thread:
    """Copies a party's output, each line preceded by the party's number."""

    def copy() -> None:
        is_read = True
        for line in stream or ():  # to the end, so that no party waits for a reader
            with contextlib.suppress(BrokenPipeError):
                if is_read:
                    is_read = False
                    sys.stdout.write(f"[party {party}] {line}")
                    sys.stdout.flush()
                    is_read = True

    thread = threading.Thread(target=copy, daemon=True)
    thread.start()
    return thread


def _first_failure(processes: Sequence[subprocess.Popen[str]]) -> int:
    """Waits for all processes and returns the first failure. The protocol tells the other parties of a failure."""
    running, failures = list(processes), list[int]()
    while running:
        for process in list(running):
            code = process.poll()
            if code is not None:
                running.remove(process)
                failures += [code if code > 0 else FAILED] if code else []
        time.sleep(0.02)
    # Parties that heard of a failure may end before the one that has failed.
    return next((code for code in failures if code not in (PEER_LOST, PEER_ENDED)), failures[0] if failures else OK)


def _wait_all(processes: Sequence[subprocess.Popen[str]]) -> None:
    deadline = time.monotonic() + _GRACE_SECONDS
    for process in processes:
        try:
            process.wait(timeout=max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
