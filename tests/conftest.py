"""Settings and hooks for all tests."""

import gc
import os
import signal
from collections.abc import Generator, Iterator

import pytest

# Shells start background processes with Ctrl-C ignored, and children inherit that. Tests that interrupt one would wait
# for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Unless a test states otherwise, `spdz2k` has its correlations from a dealer whose seed all parties have. Only modules
# built for tests read this.
os.environ.setdefault("QUORATE_INSECURE_DEALER", "1")
# Nor do tests compute the same base OTs twice.
os.environ.setdefault("QUORATE_INSECURE_BASE_OTS", "1")

# Matrices are small here, and two processes run tests side by side. Threads of numpy and scikit-learn would wait for
# each other and take three times as long.
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Freezes what collection creates, so that later runs of the collector skip all tests and their imports."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fails a test that `advice/elsewhere.py` lists with messages that it does not produce."""
    from advice.elsewhere import listed

    wanted = listed(item.path.name, item.name)
    if not wanted:
        return (yield)
    from advice.heard import heard, unheard  # not before threads are limited, above

    with heard() as texts:
        result = yield
    unmet = unheard(wanted, texts)
    assert not unmet, f"advice/elsewhere.py has messages that this test does not meet: {unmet}"
    return result


@pytest.fixture(autouse=True)
def _no_command_line() -> Iterator[None]:
    """Forgets options that a command set in this process, so that the next test's `qr.session()` is a local one."""
    yield
    from quorate._session._settings import Settings, settings

    vars(settings).update(vars(Settings()))
