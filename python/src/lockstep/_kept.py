"""What the history keeps of the output of jobs, as ``kubectl mpi logs`` reads it: see pkg/jobs/kept."""

from __future__ import annotations

import heapq
import logging
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from lockstep._api import Api, Failures, Paths, lines, named
from lockstep._logs import Line, moment
from lockstep._objects import CONTAINER, Object
from lockstep._objects import name as name_of
from lockstep._times import now, parsed
from lockstep.errors import Forbidden, LockstepError, NotFound, explained

#: How many seconds pass without a byte before the store counts as dead.
_QUIET = 60.0
#: How long a kept line may be, in bytes: the history cuts at 1 MiB, and puts time, pod and container before it.
_LONGEST = 1 << 21


def find(api: Api, paths: Paths, name: str, uid: str = "") -> Object | None:
    """The youngest kept job of a name, None without one. With a UID: that job, if the history keeps lines of it."""
    try:
        items, _ = api.list(paths.kept, fieldSelector=f"trainJob={name}")
        if not items or (uid and (items[-1]["metadata"].get("uid") != uid or not items[-1]["log"]["bytes"])):
            return None
        return api.get(named(paths.kept, name_of(items[-1])))
    except (NotFound, Forbidden):
        return None  # the cluster keeps no history, or not for this user
    except LockstepError as e:
        logging.getLogger("lockstep").warning("the history of job %s cannot be read: %s", name, e)
        return None


def is_whole(job: Object) -> bool:
    """Whether the history has all lines of a job."""
    log = job["log"]
    return bool(log["whole"]) and not log.get("cut") and not log.get("note")


def read(
    api: Api,
    paths: Paths,
    job: Object,
    query: dict[str, str],
    wants: Callable[[Object], bool],
) -> Iterator[tuple[Object, str]]:
    """The lines of the main containers of the wanted pods, each with its pod, by time. The query is as for kubelet."""
    if not is_whole(job):
        note = job["log"].get("note", "")
        logging.getLogger("lockstep").warning("not all lines of job %s were kept. %s", job["trainJob"], note)
    pods = {f"{name_of(p)}/{CONTAINER}": p for p in job["objects"].get("pods") or [] if wants(p)}
    since = _since(query)
    shown = ((s, line) for s, line in _lines(api, paths, job) if s in pods)
    found = ((pods[s], line.text) for s, line in shown if not (since and line.at and line.at < since))
    return _tail(found, int(query["tailLines"])) if "tailLines" in query else found


def _lines(api: Api, paths: Paths, job: Object) -> Iterator[tuple[str, Line]]:
    """Each line with ``pod/container``."""
    try:
        stream = api.open(named(paths.kept, name_of(job)) + "/log", {}, _QUIET)
        try:
            for line in lines(stream, rest_too=True, longest=_LONGEST):
                stamp, _, rest = line.partition(b" ")
                source, _, text = rest.partition(b" ")
                yield source.decode(errors="replace"), Line(moment(stamp), text.decode(errors="replace").rstrip("\r"))
        finally:
            stream.close()
    except Failures as e:
        raise explained(e) from e


def _since(query: dict[str, str]) -> datetime | None:
    if "sinceSeconds" in query:
        return now() - timedelta(seconds=int(query["sinceSeconds"]))
    return parsed(query["sinceTime"]) if "sinceTime" in query else None


def _tail(found: Iterator[tuple[Object, str]], count: int) -> Iterator[tuple[Object, str]]:
    """The last lines of each pod, in the order of all."""
    last: dict[str, deque[tuple[int, Object, str]]] = defaultdict(lambda: deque(maxlen=count))
    for number, (pod, text) in enumerate(found):
        last[name_of(pod)].append((number, pod, text))
    yield from ((pod, text) for _, pod, text in heapq.merge(*last.values(), key=lambda one: one[0]))
