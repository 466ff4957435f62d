"""The log of a server: lines of text, or one JSON object a line. Exceptions are logged by their type and place alone.

The text of an exception may contain a value.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
import traceback
import types
from typing import Any

from quorate.errors import QuorateError
from quorate.jobs import EVENT, FIELDS, about
from quorate.serve._problems import LOG

__all__ = ["begin", "failed"]


class _Text(logging.Formatter):
    """Lines of text."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line of a record."""
        error = _error(record.exc_info)
        text = " ".join(_message(record).splitlines())  # what others wrote begins no line
        line = f"{_time(record)} {record.levelname} {record.name}: {text}"
        return f"{line} ({error})" if error else line


class _Json(logging.Formatter):
    """JSON objects."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line of a record."""
        fields: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "event": getattr(record, EVENT, record.name),
            "message": _message(record),
        }
        if error := _error(record.exc_info):
            fields["error"] = error
        return json.dumps({**fields, **getattr(record, FIELDS, {})})


def _time(record: logging.LogRecord) -> str:
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{seconds}.{int(record.msecs):03}Z"


def _message(record: logging.LogRecord) -> str:
    """Returns the text of a record; of a library's, the first line. That of asyncio shows arguments of functions."""
    if record.name == "asyncio":
        return "the event loop reports an error"
    text = record.getMessage()
    return text if hasattr(record, EVENT) else text.partition("\n")[0]


def _error(info: Any) -> str:
    """Returns the type and the place of an exception."""
    if not info or info[1] is None:
        return ""
    places = traceback.extract_tb(info[2])
    return (
        f"{type(info[1]).__name__} at {places[-1].filename}:{places[-1].lineno}" if places else type(info[1]).__name__
    )


def begin(form: str, level: str) -> None:
    """Sends this process's log to the standard error output.

    Args:
        form: "text" or "json".
        level: "debug", "info", "warning" or "error": the least that is logged. Libraries log warnings and errors alone.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if form == "json" else _Text())
    least = getattr(logging, level.upper())
    logging.basicConfig(handlers=[handler], level=max(least, logging.WARNING), force=True)
    LOG.setLevel(least)
    logging.captureWarnings(True)
    threading.excepthook = _of_thread
    sys.excepthook = _of_process
    sys.unraisablehook = _of_finalizer


def failed(error: QuorateError | KeyboardInterrupt | SystemExit) -> None:
    """Logs what keeps this server from its start."""
    if isinstance(error, QuorateError):
        LOG.critical("%s", error, extra=about("server.failed"))
    else:
        LOG.info("was told to end before its start", extra=about("server.ended"))


def _of_thread(told: threading.ExceptHookArgs) -> None:
    if told.exc_type is not SystemExit:
        LOG.error("a thread has ended by an error", exc_info=_info(told.exc_type, told.exc_value, told.exc_traceback))


def _of_finalizer(told: sys.UnraisableHookArgs) -> None:
    LOG.error("a finalizer has failed", exc_info=_info(told.exc_type, told.exc_value, told.exc_traceback))


def _of_process(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None) -> None:
    LOG.critical("this server ends by an error", exc_info=_info(kind, error, trace))


def _info(kind: type[BaseException], error: BaseException | None, trace: types.TracebackType | None) -> Any:
    return kind, error or kind(), trace
