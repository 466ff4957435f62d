"""Commands of `quorate` in processes that have imported everything before.

The imports of a script take half a second or more, and tests of deployments start hundreds of processes. Here each
process is forked from one that has done all imports, has measured the machine, and does nothing else.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

QUORATE = str(Path(sys.executable).with_name("quorate"))
LIMIT_SECONDS = 120.0  # beyond this a command counts as hung
PREPARED = (
    "quorate.cli", "quorate.campaigns", "quorate.console", "quorate.demo", "quorate.jobs", "quorate.learn",
    "quorate.models", "quorate.nn", "quorate.serve._run", "sklearn.datasets", "sklearn.linear_model",
    "sklearn.neighbors", "sklearn.neural_network", "sklearn.svm", "sklearn.tree",
)  # fmt: skip

#: The numbers of parties in a process whose predictions need no measurement of the machine, which takes a third of the
#: time of a small deployment.
ALONE_OR_SHARING = (1, 2, 3)


class Command:
    """A running `quorate` with these arguments, as far as `subprocess.Popen` would show it.

    Args:
        arguments: the command and what follows it.
        folder, environment: those that the command runs in.
        log: takes what the command writes to its standard error output; the pipe for that is then at its end at once.
    """

    def __init__(
        self, arguments: list[str], folder: Path, environment: dict[str, str] | None = None, log: IO[str] | None = None
    ) -> None:
        told_of = {"arguments": arguments, "folder": str(folder), "environment": environment or dict(os.environ)}
        asked = json.dumps(told_of).encode()
        pipes = [os.pipe() for _ in range(3)]
        theirs = [write for _, write in pipes]
        if log is not None:
            theirs[1] = log.fileno()
        stove, _ = _stove()
        stove.sendall(len(asked).to_bytes(4, "little"))
        socket.send_fds(stove, [asked], theirs)
        for _, write in pipes:
            os.close(write)
        out, err, told = (read for read, _ in pipes)
        self.stdout, self.stderr = os.fdopen(out), os.fdopen(err)
        self._told = os.fdopen(told, "rb")
        self.pid = int(self._told.readline())
        self._printed: dict[int, list[bytes]] = {out: [], err: []}
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Returns the status of the process, or None while it runs."""
        if self.returncode is None and select.select([self._told], [], [], 0)[0]:
            self.returncode = os.waitstatus_to_exitcode(int(self._told.readline()))
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        """Returns the status of the process once it has ended."""
        if self.poll() is None and not select.select([self._told], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("quorate", timeout or 0.0)
        status = self.poll()
        assert status is not None
        return status

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Returns the rest of the output of both pipes; after a timeout it may be called once more."""
        deadline = None if timeout is None else time.monotonic() + timeout
        left = {*self._printed, self._told.fileno()}
        while left:
            wait = None if deadline is None else deadline - time.monotonic()
            if wait is not None and wait <= 0:
                raise subprocess.TimeoutExpired("quorate", timeout or 0.0)
            for ready in select.select(left, [], [], wait)[0]:
                piece = os.read(ready, 1 << 16) if ready in self._printed else b""
                left -= set() if piece else {ready}
                self._printed.get(ready, []).append(piece)
        self.poll()
        out, err = (b"".join(pieces).decode() for pieces in self._printed.values())
        return out, err


def quorate(*arguments: str, cwd: Path | None = None, check: bool = False) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end; with `check`, the command has to succeed."""
    command = Command([QUORATE, *arguments], cwd or Path.cwd())
    try:
        out, err = command.communicate(LIMIT_SECONDS)
    finally:
        command.kill()
    assert command.returncode is not None
    done = subprocess.CompletedProcess(arguments, command.returncode, out, err)
    assert not (check and done.returncode), done
    return done


@functools.cache
def _stove() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Returns the process that others are forked from, and the socket for requests; it ends with this process."""
    here, there = socket.socketpair()
    with there:
        return here, subprocess.Popen([sys.executable, __file__], stdin=there)


def _serve() -> None:
    """Forks a process for each request; returns in each fork, which then does the work."""
    asked = socket.socket(fileno=os.dup(0))
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)  # so that no command holds the other end of the socket or reads from it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while length := asked.recv(4, socket.MSG_WAITALL):
        request, pipes, _, _ = socket.recv_fds(asked, int.from_bytes(length, "little"), 3, socket.MSG_WAITALL)
        if not os.fork():
            asked.close()
            return _become(json.loads(request), *pipes)
        for pipe in pipes:
            os.close(pipe)
    os._exit(0)


def _become(request: dict[str, Any], out: int, err: int, told: int) -> None:
    """Forks the command, which returns; this process sends its number, waits for it, and sends its status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if pid := os.fork():
        os.write(told, f"{pid}\n".encode())
        os.close(out)
        os.close(err)
        os.write(told, f"{os.waitpid(pid, 0)[1]}\n".encode())
        os._exit(0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    for pipe in (out, err, told):
        os.close(pipe)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = request["arguments"]
    sys.stdout.reconfigure(write_through=True)
    sys.path[0] = str(Path(QUORATE).parent)


def _end(command: Callable[[], object]) -> None:
    """Runs a command, and ends the process as the interpreter would, except that it takes no import apart.

    That would copy all memory that the command shares with the process that it was forked from.
    """
    try:
        command()
        status: object = None
    except SystemExit as ended:
        status = ended.code
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    if isinstance(status, str):
        print(status, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else status is not None)


if __name__ == "__main__":
    import gc
    import importlib
    import runpy

    for module in PREPARED:
        importlib.import_module(module)
    from quorate import _quorate

    _quorate.recalibrate(*ALONE_OR_SHARING)
    gc.freeze()
    _serve()
    _end(lambda: runpy.run_path(QUORATE, run_name="__main__"))  # lines in messages are those of users' own starts
