"""The logs of several pods in one order by time."""

from __future__ import annotations

import heapq
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timezone
from typing import NamedTuple

from lockstep._logs import Line

#: How long a line waits for older ones of other pods, in seconds: connections do not deliver at the same moment.
_HOLD = 2.0
#: How many characters wait at most, about: readers wait then, and the oldest line does not.
_WAITING = 64 << 20
_FIRST = datetime.min.replace(tzinfo=timezone.utc)

#: Adds a source: its label, and its lines.
Add = Callable[[str, Iterator[Line]], None]


class _Waiting(NamedTuple):
    """A line that others may come before."""

    #: Not before that of the line before it in its pod.
    at: datetime
    #: What came first, of lines of one moment.
    number: int
    arrived: float
    text: str


class _End(NamedTuple):
    error: BaseException | None


def by_time(sources: dict[str, Iterator[Line]]) -> Iterator[str]:
    """The lines that there are, each behind the label of its source."""
    stamped = [_stamped(label, lines) for label, lines in sources.items()]
    yield from (text for _, text in heapq.merge(*stamped, key=lambda line: line[0]))


def as_they_come(find: Callable[[Add], None]) -> Iterator[str]:
    """The same of sources that go on. ``find`` runs in a thread and adds them; it ends when there are no more, and each ends by itself."""
    news: queue.Queue[tuple[datetime, str] | _End] = queue.Queue()
    lock, running, left = threading.Lock(), 1, threading.Event()
    waiting = 0

    def start(what: Callable[[], None]) -> None:
        def run() -> None:
            error: BaseException | None = None
            try:
                what()
            except BaseException as e:  # noqa: BLE001 # whoever reads the lines raises it
                error = e
            news.put(_End(error))

        threading.Thread(target=run, daemon=True, name="lockstep-merge").start()

    def add(label: str, lines: Iterator[Line]) -> None:
        nonlocal running

        def read() -> None:
            nonlocal waiting
            for line in _stamped(label, lines):
                while waiting > _WAITING and not left.wait(0.01):
                    pass
                if left.is_set():
                    return  # nobody reads on
                with lock:
                    waiting += len(line[1])
                news.put(line)

        with lock:
            running += 1
        start(read)

    start(lambda: find(add))
    held: list[_Waiting] = []
    number = 0
    try:
        while running:
            with suppress(queue.Empty):
                came = news.get(timeout=max(0.0, held[0].arrived + _HOLD - time.monotonic()) if held else None)
                if isinstance(came, _End):
                    if came.error:
                        raise came.error
                    with lock:
                        running -= 1
                else:
                    number += 1
                    heapq.heappush(held, _Waiting(came[0], number, time.monotonic(), came[1]))
            while held and (held[0].arrived + _HOLD <= time.monotonic() or waiting > _WAITING):
                text = heapq.heappop(held).text
                with lock:
                    waiting -= len(text)
                yield text
        while held:
            yield heapq.heappop(held).text
    finally:
        left.set()


def _stamped(label: str, lines: Iterator[Line]) -> Iterator[tuple[datetime, str]]:
    """Lines with the time by which they are sorted: one that is older than the line before it does not overtake that."""
    newest = _FIRST
    for line in lines:
        newest = max(newest, line.at or newest)
        yield newest, f"{label}| {line.text}"
