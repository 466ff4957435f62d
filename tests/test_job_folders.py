"""Folders of jobs that a killed server has left, and locks that processes of jobs keep."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from campaigning import STORE_KEY
from jobbing import wait_until
from quorate.campaigns import Refused, Store, StoreError, holders, kept_by, run_of
from quorate.jobs import Folder, Queue
from quorate.jobs._folders import remove_left
from quorate.jobs._runner import Runner

#: Takes what it inherits and waits; its own child, made by a fork, keeps it.
WAITS = "import sys, time\nprint('begun', flush=True)\ntime.sleep(60)"
FORKS = (
    "import os, sys, time\nif os.fork():\n    os._exit(0)\nos.setsid()\nprint(os.getpid(), flush=True)\ntime.sleep(60)"
)


#: An end that has come already: one look, and no waiting.
OVER = threading.Event()
OVER.set()


@pytest.fixture(autouse=True)
def heard(caplog: pytest.LogCaptureFixture) -> None:
    """Has the log of servers taken down, also where a server in this process has chosen what is logged."""
    caplog.set_level(logging.INFO, "quorate.serve")


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files, as /tmp: others may write there."""
    made = tmp_path / "shared"
    made.mkdir()
    made.chmod(0o1777)
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    return made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with contextlib.closing(Store(tmp_path / "store.db", STORE_KEY)) as made:
        yield made


@contextlib.contextmanager
def process(code: str, *inherited: int) -> Iterator[str]:
    """Starts a process that inherits descriptors, and yields the first line that it prints."""
    made = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, pass_fds=inherited)
    assert made.stdout is not None
    line = made.stdout.readline().strip()
    if line.isdigit():
        made.wait(30)  # its child stays
    try:
        yield line
    finally:
        made.kill()
        if line.isdigit():
            os.kill(int(line), 9)
        made.wait()
        made.stdout.close()


def left(store: Store) -> Path:
    """Makes the folder of a job whose server and process have ended."""
    folder = Folder(store)
    os.close(folder.lock)
    folder._made._finalizer.detach()
    path = Path(folder.name)
    (path / "deep" / "er").mkdir(parents=True)
    (path / "deep" / "er" / "file").write_text("x")
    return path


def test_what_a_killed_server_left_is_removed(shared: Path, store: Store, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    outside = shared.parent / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    path = left(store)
    (path / "link").symlink_to(outside)
    (path / "deep" / "file").symlink_to(outside / "precious")
    os.mkfifo(path / "pipe")
    os.link(outside / "precious", path / "hard")
    remove_left(store, OVER)
    assert not path.exists() and (outside / "precious").read_text() == "x"
    assert f"removed the folder {path}, which a job has left" in caplog.text
    assert [*shared.iterdir()] == []


def test_folders_of_others_stay(
    shared: Path, tmp_path: Path, store: Store, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where their names have the mark of this server, which others can read off its own folders."""
    own = left(store)
    prefix = own.name.rpartition("-")[0] + "-"
    victim = tmp_path / "victim"
    victim.mkdir(mode=0o700)
    (victim / "precious").write_text("x")
    (shared / f"{prefix}link").symlink_to(victim)
    (shared / f"{prefix}file").write_text("x")
    with contextlib.closing(Store(tmp_path / "other.db", STORE_KEY)) as other:
        of_other = left(other)
        wide = left(store)
        wide.chmod(0o755)
        plain = shared / "quorate-job-abcdefgh"
        plain.mkdir(mode=0o700)
        remove_left(store, OVER)
    assert not own.exists()
    assert (victim / "precious").read_text() == "x"
    for path in (of_other, wide, plain, shared / f"{prefix}link", shared / f"{prefix}file"):
        assert os.path.lexists(path), path
    assert "other users may enter it" in caplog.text and "link" not in caplog.text
    caplog.clear()
    remains = left(store)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    remove_left(store, OVER)
    assert remains.exists() and not caplog.text, "strangers do not fill the log"


def test_a_folder_whose_process_runs_stays(shared: Path, store: Store, caplog: pytest.LogCaptureFixture) -> None:
    """Also that of a process which the job's own process has left."""
    for code in (WAITS, FORKS):
        caplog.clear()
        folder = Folder(store)
        with process(code, folder.lock) as line:
            os.close(folder.lock)  # as the end of the server does
            folder._made._finalizer.detach()
            over = threading.Event()
            thread = threading.Thread(target=remove_left, args=(store, over))
            thread.start()
            wait_until(lambda: "stays until" in caplog.text)
            assert Path(folder.name).is_dir() and "of that job has ended" in caplog.text
            if line.isdigit():
                assert f"process {line} (python" in caplog.text
        thread.join(20)  # it is removed once the process has ended
        assert not thread.is_alive() and not Path(folder.name).exists() and caplog.text.count("stays until") == 1


def test_a_folder_that_cannot_be_removed_stays_and_is_named(
    shared: Path, store: Store, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = sorted((left(store), left(store)))
    unlink = os.unlink

    def failing(path: str, dir_fd: int | None = None) -> None:
        if os.fstat(dir_fd or 0).st_ino == (one / "deep" / "er").stat().st_ino:
            raise PermissionError(1, "Operation not permitted")
        unlink(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", failing)
    remove_left(store, OVER)
    assert one.exists() and not two.exists()
    assert f"the folder {one} of a job stays: it cannot be removed: Operation not permitted" in caplog.text


def test_folders_that_a_program_closed_are_removed(shared: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests may run as root, whom modes do not stop, so the modes themselves are looked at."""
    one, elsewhere, unlink, modes = left(store), shared / "elsewhere", os.unlink, list[int]()
    elsewhere.mkdir(mode=0o500)
    (one / "deep" / "link").symlink_to(elsewhere)
    (one / "deep" / "er").chmod(0o500)
    (one / "deep").chmod(0)

    def seen(path: str, dir_fd: int | None = None) -> None:
        modes.append(os.fstat(dir_fd or 0).st_mode & 0o777)
        unlink(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", seen)
    remove_left(store, OVER)
    assert not one.exists() and modes == [0o700, 0o700]
    assert elsewhere.stat().st_mode & 0o777 == 0o500, "links are not followed"


# ---- locks ---------------------------------------------------------------------------------------------------------


def test_the_process_that_keeps_a_slot_is_named(store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    runner = Runner(store, Queue(store, b""), tmp_path / "party.toml", lambda: None)
    lock = runner._take_lock(b"x" * 32)
    assert lock is not None
    with process(FORKS, lock) as line:
        os.close(lock)
        for _ in range(3):
            with pytest.raises(Refused, match="another job's process runs here"):
                runner._take_lock(b"x" * 32)
            runner._look_at = 0.0
        text = f"process {line} (python"
        assert caplog.text.count(text) == 1 and "keeps the lock" in caplog.text and "was left by a job" in caplog.text
    with contextlib.suppress(Refused):
        os.close(runner._take_lock(b"x" * 32) or 0)


def test_the_process_that_keeps_a_lock_of_the_store_is_named(tmp_path: Path) -> None:
    path, lock = tmp_path / "store.db", run_of(b"c" * 32)
    code = f"""import os, sys
sys.path[:0] = {sys.path!r}
from quorate.campaigns import Store
store = Store({str(path)!r}, {STORE_KEY!r}, {lock!r})
{FORKS}"""
    with process(code) as line:
        what = rf"process {line} \(python.*\) keeps the lock that process \d+ took, and so runs a program on"
        with pytest.raises(StoreError, match=what):
            Store(path, STORE_KEY, lock)


def test_a_process_that_only_opens_a_file_keeps_no_lock(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    with file.open("w") as opened:
        os.set_inheritable(opened.fileno(), True)
        with process(WAITS, opened.fileno()):
            assert holders(file.stat()) == []
            fcntl.flock(opened.fileno(), fcntl.LOCK_EX)  # one lock for all copies of the descriptor
            (one,) = holders(file.stat())
            assert one.name.startswith("python") and kept_by([one, one]).count(f"process {one.number} (") == 2
    assert multiprocessing.current_process().pid not in {one.number for one in holders(file.stat())}
