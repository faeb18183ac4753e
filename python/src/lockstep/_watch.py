"""Changes of a collection, pushed by the API server, through everything that may happen to a connection."""

from __future__ import annotations

import json
import math
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import urllib3
from kubernetes.client import ApiException

from lockstep._api import Api, Failures, lines
from lockstep._objects import Object, uid
from lockstep.errors import Forbidden, LockstepError, explained

#: After how many seconds the API server is asked to end a watch, so that a connection that died in silence is noticed.
_ROUND = 120
#: The longest event in bytes: more than an API server stores of an object.
_EVENT = 16 << 20
#: How long to wait before another try after nobody answered, in seconds; it doubles up to the last.
_PAUSES = (0.2, 10.0)
#: For how long a token that has expired is tried again, in seconds: whoever brings a new one needs a moment.
_NEW_TOKEN = 30.0
#: For how long a right is missed that was there before, in seconds: an API server that starts answers before it has read the roles.
_NEW_ROLES = 60.0
#: For how long a server that is away is waited for, in seconds: longer than one takes to start again.
AWAY = 300.0

_T = TypeVar("_T")


class Change(NamedTuple):
    """A change of one object."""

    #: ``ADDED``, ``MODIFIED`` or ``DELETED``. What is there at the beginning is ADDED.
    kind: str
    object: Object


class _Gone(Exception):
    """The server does not know the version any more from which changes were asked for."""


class Watch:
    """Changes of a collection from now on. Iterate over it once; any thread may close it.

    A connection that ends is opened again where it ended. When the server has forgotten that place (410), everything is read again, and what
    was deleted meanwhile is told as well. A server that is away is waited for as long as ``AWAY``.
    """

    def __init__(self, api: Api, path: str, *, of: Object | None = None, deadline: float | None = None, **query: str) -> None:
        self._api, self._path, self._query = api, path, query
        #: Of time.monotonic; iteration ends then.
        self._deadline = deadline
        # An object that was read before: it may have changed since, or be gone, and that is told first.
        self._known: dict[str, Object] = {uid(of): {"metadata": {**of["metadata"], "resourceVersion": ""}}} if of else {}
        self._version = ""
        #: Whether the user has watched before.
        self._opened = False
        self._closed = threading.Event()
        self._stream: urllib3.response.HTTPResponse | None = None

    def close(self) -> None:
        """Ends the iteration, also one that waits."""
        self._closed.set()
        stream = self._stream
        if stream is not None:
            with suppress(ValueError, RuntimeError, OSError):  # it may have ended by itself
                stream.shutdown()

    def __iter__(self) -> Iterator[Change]:
        retry = Retry(self._closed, self._deadline)
        while not self._over():
            try:
                if not self._version:
                    yield from self._read_all()
                for change in self._round():
                    retry.reset()
                    yield change
            except _Gone:
                self._version = ""
            except (LockstepError, *Failures) as e:
                if _status(e) == 410:
                    self._version = ""
                retry.allowed = self._opened
                if not retry.wait(e):
                    return

    def _over(self) -> bool:
        return self._closed.is_set() or (self._deadline is not None and time.monotonic() >= self._deadline)

    def _read_all(self) -> Iterator[Change]:
        items, version = self._api.list(self._path, **self._query)
        now = {uid(o): o for o in items}
        gone = [o for key, o in self._known.items() if key not in now]
        added = [key for key in now if key not in self._known]
        changed = [key for key in now if key in self._known and _version(now[key]) != _version(self._known[key])]
        self._known, self._version = now, version
        yield from (Change("DELETED", o) for o in gone)
        yield from (Change("ADDED", now[key]) for key in added)
        yield from (Change("MODIFIED", now[key]) for key in changed)

    def _round(self) -> Iterator[Change]:
        """One connection."""
        seconds = float(_ROUND)
        if self._deadline is not None:
            seconds = min(seconds, self._deadline - time.monotonic())
        whole = max(1, math.ceil(seconds))
        query = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(whole), "resourceVersion": self._version}
        self._stream = self._api.open(self._path, {**self._query, **query}, whole + 10)
        self._opened = True
        try:
            if self._over():
                return  # it was closed while the connection was made
            for line in lines(self._stream, longest=_EVENT):
                if self._over():
                    return
                change = self._change(json.loads(line))
                if change:
                    yield change
        except ValueError:
            pass  # a line that was cut off by whatever stands before the server: the next connection has it
        finally:
            self._stream.close()
            self._stream = None

    def _change(self, event: dict[str, Any]) -> Change | None:
        o: Object = event["object"]
        if event["type"] == "ERROR":
            if o.get("code") == 410:
                raise _Gone
            raise ApiException(status=o.get("code"), reason=o.get("message"))
        self._version = _version(o)
        if event["type"] == "BOOKMARK":
            return None
        if event["type"] == "DELETED":
            self._known.pop(uid(o), None)
        else:
            self._known[uid(o)] = o
        return Change(event["type"], o)


class Retry:
    """How long to go on after errors that pass."""

    def __init__(self, closed: threading.Event | None = None, deadline: float | None = None, away: float = AWAY) -> None:
        self._closed = closed or threading.Event()
        self._deadline = deadline
        self._away = away
        #: Whether the user had the right to ask before.
        self.allowed = False
        self.reset()

    def reset(self) -> None:
        """Something came."""
        self._pause = _PAUSES[0]
        self._since: float | None = None

    def wait(self, e: BaseException) -> bool:
        """Waits before another try. False says that it is over; an error that does not pass is raised in plain words."""
        if self._closed.is_set():
            return False
        status = _status(e)
        now = time.monotonic()
        self._since = self._since or now
        passes = status is None or status in (410, 429) or status >= 500 or (status == 401 and now - self._since < _NEW_TOKEN)
        passes = passes or (self.allowed and _lacks_a_right(e) and now - self._since < _NEW_ROLES)
        if not passes or now - self._since > self._away:
            raise e if isinstance(e, LockstepError) else explained(e) from e
        pause = self._pause
        if self._deadline is not None:
            pause = min(pause, max(0.0, self._deadline - now))
        self._pause = min(2 * self._pause, _PAUSES[1])
        return not self._closed.wait(pause)


def retried(ask: Callable[[], _T], deadline: float | None = None, *, allowed: bool = True) -> _T:
    """An answer, also of a server that is away for a while, of something that the user was allowed to ask before."""
    retry = Retry(deadline=deadline)
    retry.allowed = allowed
    while True:
        try:
            return ask()
        except LockstepError as e:
            if deadline is not None and time.monotonic() >= deadline:
                raise
            retry.wait(e)


class _End(NamedTuple):
    error: BaseException | None


def merged(*watches: Watch) -> Generator[tuple[Watch, Change], None, None]:
    """The changes of several watches as they come. It ends when one of them does, and closes all when it is closed."""
    changes: queue.Queue[tuple[Watch, Change | _End]] = queue.Queue()
    for watch in watches:
        threading.Thread(target=_pump, args=(watch, changes.put), daemon=True, name="lockstep-watch").start()
    try:
        while True:
            watch, change = changes.get()
            if isinstance(change, _End):
                if change.error:
                    raise change.error
                return
            yield watch, change
    finally:
        for watch in watches:
            watch.close()


def _pump(watch: Watch, put: Callable[[tuple[Watch, Change | _End]], None]) -> None:
    error: BaseException | None = None
    try:
        for change in watch:
            put((watch, change))
    except BaseException as e:  # noqa: BLE001 # whoever reads the queue raises it
        error = e
    put((watch, _End(error)))


def _status(e: BaseException) -> int | None:
    """The code of an answer, None where there was none."""
    cause = e.__cause__ if isinstance(e, LockstepError) and e.__cause__ else e
    return cause.status if isinstance(cause, ApiException) else None


def _lacks_a_right(e: BaseException) -> bool:
    return isinstance(e if isinstance(e, LockstepError) else explained(e), Forbidden)


def _version(o: Object) -> str:
    return str(o["metadata"].get("resourceVersion", ""))
