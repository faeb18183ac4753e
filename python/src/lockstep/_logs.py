"""The log of one container, whole: what breaks is opened again where it broke, so that no line is lost and none comes twice."""

from __future__ import annotations

import logging
import math
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from itertools import islice
from typing import NamedTuple

import urllib3
from kubernetes.client import ApiException

from lockstep._api import Api, Failures, Paths, lines, named
from lockstep._objects import CONTAINER, Object, spec, status, uid
from lockstep._objects import name as name_of
from lockstep._times import parsed
from lockstep._watch import Retry, retried
from lockstep.errors import NotFound, explained

#: kubelet writes time stamps from several threads, so that lines may be out of order by a little.
_DISORDER = timedelta(seconds=1)
#: A stream without a byte for so long is opened again, in seconds: its connection may have died in silence.
_QUIET = 300.0
#: How often a kubelet may say that it does not know a pod that has ended, before its log is taken for lost: some ten seconds.
_UNKNOWN = 6
#: How long a line may be with its time, in bytes, before it goes on as another one.
_LONGEST = 1 << 20
#: The agent, which is named in one of the first lines of a log, and how many those are: stdout and stderr are read side by side.
_AGENT, _FIRST = "mpi-agent", 64
#: What launchers put before the lines of a rank: Open MPI with --tag-output or --output tag, horovodrun, PyTorch, Hydra with -l.
_TAG = re.compile(r"^(?:.{0,40}\[[^\[\]]*?,(\d+)\]<std(?:out|err|diag)>: ?|.{0,40}\[(\d+)\]<std(?:out|err)>: ?|\[rank(\d+)\]: ?|\[(\d+)\] )")


def untagged(line: str) -> tuple[int | None, str]:
    """The rank that a line is tagged with, None without a tag, and the line without its tags."""
    found = _TAG.match(line)
    if found is None:
        return None, line
    rank, rest = int("".join(g for g in found.groups() if g)), line[found.end() :]
    inner, text = untagged(rest)
    return (rank, rest) if inner is None else (inner, text)


class Line(NamedTuple):
    """A line of a log."""

    #: When kubelet took it over from the program, None where kubelet does not say.
    at: datetime | None
    text: str


class PodLog:
    """The log of the main container of a pod."""

    def __init__(self, api: Api, paths: Paths, pod: Object) -> None:
        self._api = api
        self._pod_path = named(paths.pods, pod["metadata"]["name"])
        self._pod, self._uid = name_of(pod), uid(pod)
        self._by_agent = any(
            c["name"] == CONTAINER and c.get("command", [])[:1] == [f"/opt/lockstep/bin/{_AGENT}"] for c in spec(pod).get("containers") or []
        )
        # The lines of the last moments, with how often each was given out: where a stream begins again, they come again.
        self._recent: Counter[tuple[datetime | None, int]] = Counter()
        self._last: datetime | None = None

    def read(self, query: dict[str, str]) -> Iterator[Line]:
        """What there is now."""
        return self._from_whole_line(query, self._read(query))

    def follow(self, query: dict[str, str]) -> Iterator[Line]:
        """What there is and what comes, until the container has ended or the pod is gone."""
        return self._from_whole_line(query, self._follow(query))

    def _from_whole_line(self, query: dict[str, str], log: Iterator[Line]) -> Iterator[Line]:
        """A log from its first whole line on. The agent's own line is the first of a log that kubelet has not cut."""
        first: list[Line] = []
        try:
            for line in islice(log, _FIRST if self._by_agent and not query else 0):
                first.append(line)
                if _AGENT in line.text:
                    break
        except Exception:
            yield from first
            raise
        whole = any(_AGENT in line.text for line in first)
        if not whole and first and first[0].at:  # not a word of kubelet itself
            logging.getLogger("lockstep").warning(
                "the beginning of the output of pod %s is gone: kubelet keeps only the newest part of a long log", self._pod
            )
            del first[0]  # it may be the rest of a line
        yield from first
        yield from log

    def _read(self, query: dict[str, str]) -> Iterator[Line]:
        try:
            yield from self._stream(query, whole=True)
        except Failures as e:
            raise explained(e) from e

    def _follow(self, query: dict[str, str]) -> Iterator[Line]:
        retry = Retry(away=math.inf)  # the API server answers: a kubelet that does not is waited for while the pod is there
        unknown = 0
        while True:
            ended = self._ended()
            if ended is None:
                return
            try:
                for line in self._stream(query if ended else {**query, "follow": "true"}, whole=ended):
                    retry.reset()
                    yield line
                if ended:
                    return
                retry.wait(OSError("the stream has ended"))
            except urllib3.exceptions.ReadTimeoutError:
                pass  # nothing was printed for long
            except Failures as e:
                status = e.status if isinstance(e, ApiException) else None
                unknown += status == 404
                if ended and unknown > _UNKNOWN:
                    return
                # kubelet answers 400 while the container is about to start, and 404 for all its pods when it has just started itself.
                retry.wait(OSError("kubelet does not know it yet") if status in (400, 404) else e)
            if self._last:
                query = {}  # where to begin was asked once
                retry.allowed = True

    def _ended(self) -> bool | None:
        """Whether the container has ended; None when its pod is gone. A stream may end for other reasons."""
        try:
            pod = retried(lambda: self._api.get(self._pod_path), allowed=self._last is not None)
        except NotFound:
            return None
        if uid(pod) != self._uid:
            return None
        states = [c.get("state") or {} for c in status(pod).get("containerStatuses") or [] if c.get("name") == CONTAINER]
        return any("terminated" in s for s in states) or status(pod).get("phase") in ("Succeeded", "Failed")

    def _stream(self, query: dict[str, str], *, whole: bool) -> Iterator[Line]:
        query = {**query, "container": CONTAINER, "timestamps": "true"}
        if self._last:
            since = (self._last - _DISORDER).replace(microsecond=0)
            query["sinceTime"] = since.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        again, begun = self._recent.copy(), None
        stream = self._api.open(f"{self._pod_path}/log", query, _QUIET)
        try:
            for line in lines(stream, rest_too=whole, longest=_LONGEST):
                stamp, _, text = line.partition(b" ")
                at = moment(stamp)
                if at is None:
                    at, text = begun, line  # more of the line before, which was too long for one, or a word of kubelet
                begun = at if len(line) == _LONGEST else None
                key = (at, hash(line))
                if again[key]:
                    again[key] -= 1
                    continue
                self._note(key, at)
                yield Line(at, text.decode(errors="replace").rstrip("\r"))
        finally:
            stream.close()

    def _note(self, key: tuple[datetime | None, int], at: datetime | None) -> None:
        if at is None:
            return
        if self._last is None or at > self._last:
            if self._last and at.replace(microsecond=0) > self._last.replace(microsecond=0):
                self._forget(at)
            self._last = at
        self._recent[key] += 1

    def _forget(self, at: datetime) -> None:
        """Keeps what may come again: streams begin again a little before the last line."""
        first = (at - _DISORDER).replace(microsecond=0)
        self._recent = Counter({k: n for k, n in self._recent.items() if (k[0] or at) >= first})


def moment(stamp: bytes) -> datetime | None:
    """The time before a line, to the microsecond; None for what is none."""
    try:
        text = stamp.decode("ascii")
        seconds, dot, rest = text.partition(".")
        digits = re.match(r"\d*", rest)
        fraction = digits[0] if digits else ""
        zone = rest[len(fraction) :] if dot else ""
        return parsed(f"{seconds}.{fraction[:6]:0<6}{zone}" if dot else text)
    except ValueError:
        return None
