"""What all tests stand on."""

import gc
import os
import signal
from collections.abc import Generator, Iterator

import pytest

# Shells start what runs in the background with Ctrl-C ignored, and children inherit that: tests that interrupt one
# would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# As in .cargo/config.toml: where a test does not say otherwise, `spdz2k` has its correlations from a dealer whose seed
# all parties know. Only modules built for tests read this.
os.environ.setdefault("QUORATE_INSECURE_DEALER", "1")
os.environ.setdefault("QUORATE_INSECURE_BASE_OTS", "1")

# Matrices are small here, and two processes run tests side by side: threads of numpy and scikit-learn would wait for
# each other, at three times the work.
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests and what they import are there to stay: whoever collects garbage need not look at them, while
    they come or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def _no_command_line() -> Iterator[None]:
    """What a command said in this process is forgotten, so that the next test's `qr.session()` is a local one."""
    yield
    from quorate._script import Settings, settings  # not before threads are limited, above

    vars(settings).update(vars(Settings()))
