"""How a service writes its log: one line a record to stderr, plain or JSON, through a queue so that a blocked stderr
never stalls the loop. Events are constant phrases; what varies stands in `extra` fields, which both forms show.
"""

import json
import logging
import logging.handlers
import queue
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
QUEUE_RECORDS = 10_000
"""Records that may wait for a slow stderr; more are dropped rather than held for ever."""


class JsonFormatter(logging.Formatter):
    """`{"time", "level", "logger", "event", ...extra}` on one line."""

    def format(self, record: logging.LogRecord) -> str:
        row: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **_extra(record),
        }
        if record.exc_info:
            row["error"] = self.formatException(record.exc_info)
        return json.dumps(row, default=str, ensure_ascii=False)


class PlainFormatter(logging.Formatter):
    """`time LEVEL logger event key=value ...` for people."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 -- the name is logging's
        fields = "".join(f" {key}={value}" for key, value in _extra(record).items())
        return (super().formatMessage(record) + fields).replace("\n", "\\n")


@contextmanager
def logging_to_stderr(*, level: str, as_json: bool) -> Iterator[None]:
    """Configure the root logger for the life of the process's main call; what is queued is written before it ends."""
    stream = logging.StreamHandler(sys.stderr)
    stream.setFormatter(JsonFormatter() if as_json else PlainFormatter())
    records: queue.Queue[logging.LogRecord] = queue.Queue()
    listener = logging.handlers.QueueListener(records, stream)
    root = logging.getLogger()
    root.handlers[:] = [_QueueHandler(records)]
    root.setLevel(level.upper())
    logging.getLogger("httpx2").setLevel(max(root.level, logging.WARNING))  # it tells every request at INFO
    listener.start()
    try:
        yield
    finally:
        listener.stop()
        root.handlers.clear()


class _QueueHandler(logging.handlers.QueueHandler):
    """Bounds the queue itself, so that the listener's own end mark always finds room."""

    def __init__(self, records: queue.Queue[logging.LogRecord]) -> None:
        super().__init__(records)
        self._records = records

    def enqueue(self, record: logging.LogRecord) -> None:
        """A record over the bound is dropped, since to print about it would wait for the same stderr."""
        if self._records.qsize() < QUEUE_RECORDS:
            self._records.put_nowait(record)

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """The listener is in this process, so the record needs no flattening, which would lose its traceback."""
        return record


def _extra(record: logging.LogRecord) -> dict[str, object]:
    return {key: value for key, value in vars(record).items() if key not in _STANDARD}
