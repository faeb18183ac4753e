"""What one job is: a pure function of the objects that the API server has of it.

The rules are those of ``pkg/jobs/view``, restated; ``tests/test_vectors.py`` holds both against ``test/vectors``.
"""

from __future__ import annotations

import re
from dataclasses import fields
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any
from urllib.parse import quote

from lockstep import _kubeflow
from lockstep._objects import (
    CONTAINER,
    DOCS_ANNOTATION,
    JOBSET_UID_LABEL,
    LAUNCHER,
    LOGS_ANNOTATION,
    NODE,
    QUEUE_LABEL,
    TRAINJOB_LABEL,
    USER_ANNOTATION,
    Object,
    Objects,
    annotation,
    index,
    labels,
    name,
    parallelism,
    parts,
    role,
    spec,
    status,
    suspended,
    uid,
)
from lockstep._record import COMPANION, CONTROLLER, Condition, conditions, printable, printable_line, record
from lockstep._times import parsed
from lockstep._world import is_mpi, world
from lockstep.artifacts import Artifacts
from lockstep.cause import Cause
from lockstep.job import Job, Pod, Queue, Withheld
from lockstep.phase import Phase
from lockstep.usage import Usage

STOCK = "kubeflow-trainer"

#: How much later than its end, which is known to the second, the last lines of a job may be.
_AFTER_END = timedelta(minutes=1)
#: How long before JobSet says that it has resumed its Jobs their first pods may have been made, and how far clocks may be apart.
_RESUME_TOLD, _CLOCKS_APART = timedelta(seconds=1), timedelta(minutes=1)
#: Phases of a job that does not run yet: its pods are newer than the record, which lags behind.
_ON_THE_WAY = (Phase.SCHEDULING, Phase.PULLING, Phase.STARTING)


def _milliseconds(at: datetime) -> str:
    return str(round(at.timestamp() * 1000))


def job(objects: Objects) -> Job:
    """What a job is."""
    return _Subject(objects).job()


class _Subject:
    """A job that is looked at."""

    def __init__(self, o: Objects) -> None:
        self.o = o
        self.trainjob = o.trainjob
        made = o.jobset is not None
        #: Our controller labels its JobSets, which users cannot write.
        self.ours = bool(labels(o.jobset or {}).get(TRAINJOB_LABEL))
        self.record = record(o.trainjob, made and not self.ours)
        self.conditions = conditions(o.trainjob, self.record)
        self.executor = self._executes()
        over = self._true("Complete") or self._true("Failed")
        # Only companions record these types. An executor publishes its cause in the status.
        if self.executor == CONTROLLER or (over and not made):
            self.conditions = {kind: c for kind, c in self.conditions.items() if kind not in ("Diagnosed", "Guarded")}
        self.world = world(o.trainjob, o.runtime) if o.runtime else None

    def job(self) -> Job:
        phase, since = self._phase()
        cause, message = self._cause(phase)
        ready, want = (None, None) if phase.finished else self._count()
        said = status(self.trainjob).get("trainerStatus") or {}
        remaining = said.get("estimatedRemainingSeconds")
        return Job(
            **_kubeflow.trainjob(self.o, phase),
            namespace=str(self.trainjob["metadata"].get("namespace", "")),
            uid=uid(self.trainjob),
            phase=phase,
            since=since,
            cause=cause,
            message=message,
            executor=self.executor,
            world=self.world,
            pods=[self._pod(p) for p in self.pods],
            ready=ready,
            want=want,
            queue=self._queue(),
            restarts=int((self.record.get("restarts") or {}).get("number", 0)),
            usage=self._usage(),
            artifacts=self._artifacts(),
            progress=said.get("progressPercentage"),
            remaining=None if remaining is None else timedelta(seconds=remaining),
            metrics={m["name"]: m["value"] for m in said.get("metrics") or []},
            user=printable_line(annotation(self.trainjob, USER_ANNOTATION)),
            started=self._started(phase),
            ended=self._ended(),
            logs_url=self._logs_url(phase),
            unknown=self._unknown(phase),
        )

    def _usage(self) -> Usage | None:
        used = self.record.get("usage")
        if not used:
            return None
        return Usage(
            machine_seconds=used["machineSeconds"],
            since=parsed(used.get("since")),
            node_price=used.get("nodePrice", 0),
            pods=used.get("pods", 0),
            cpu_per_pod=used.get("cpuPerPod", 0),
            memory_peak=used.get("memoryPeak", 0),
            memory_limit=used.get("memoryLimit", 0),
            memory_pod=printable_line(used.get("memoryPod", "")),
            sent_bytes=used.get("sentBytes", 0),
        )

    def _artifacts(self) -> Artifacts | None:
        kept = self.record.get("artifacts")
        if not kept or "claim" not in kept or "folder" not in kept:
            return None
        known = {f.name for f in fields(Artifacts)}
        shown: dict[str, Any] = {k: v for k, v in kept.items() if k in known}
        return Artifacts(**shown | {k: printable_line(v) for k, v in shown.items() if isinstance(v, str)})

    # Who runs it.

    def _executes(self) -> str:
        """By the maker of the JobSet; without one, by record and label of the TrainJob, which users may write."""
        if self.ours:
            return CONTROLLER
        recorded = ""
        if self.record:
            # A record of an earlier release has conditions only; companions leave out that the job was created.
            earlier = CONTROLLER if any(c.get("type") == "Created" for c in self.record["conditions"]) else COMPANION
            recorded = str(self.record.get("executor", earlier))
        if self.o.jobset is not None:
            return COMPANION if recorded == COMPANION else STOCK
        if recorded:
            return recorded
        return CONTROLLER if labels(self.trainjob).get(TRAINJOB_LABEL) == name(self.trainjob) else STOCK

    # Its phase.

    def _phase(self) -> tuple[Phase, datetime | None]:
        told = Phase(self.record.get("phase", Phase.CREATING))
        # The record of a job that has just been suspended lags behind.
        if "phase" in self.record and not (suspended(self.trainjob) and told in (*_ON_THE_WAY, Phase.RUNNING)):
            if not told.finished and self._jobset_ended():
                return Phase.STOPPING, None
            if told not in _ON_THE_WAY or self.o.pods is None or self.o.jobset is None:
                return told, parsed(self.record.get("since"))
            return self._on_its_way()
        if self._true("Complete"):
            return Phase.COMPLETE, self._since("Complete")
        if self._true("Failed"):
            return self._failed(), self._since("Failed")
        if self._jobset_ended():
            return Phase.STOPPING, None
        if suspended(self.trainjob):
            return self._suspended(), self._since("Suspended")
        if self.o.jobset is None:
            return Phase.CREATING, parsed(self.trainjob["metadata"].get("creationTimestamp"))
        return self._on_its_way()

    def _true(self, kind: str) -> bool:
        return kind in self.conditions and self.conditions[kind].true

    def _since(self, kind: str) -> datetime | None:
        return self.conditions[kind].since if kind in self.conditions else None

    def _failed(self) -> Phase:
        """A job that ended before anything was made of it was refused. Kubeflow Trainer makes a JobSet of every job."""
        made = self.executor != CONTROLLER or self._true("Created") or self.o.jobset is not None or bool(status(self.trainjob).get("jobsStatus"))
        late = self.conditions["Failed"].reason in ("DeadlineExceeded", "GangTimeout")
        return Phase.FAILED if made or late else Phase.REFUSED

    def _jobset_ended(self) -> bool:
        ended = {c["type"] for c in _jobset_conditions(self.o.jobset) if c.get("status") == "True"}
        return not suspended(self.trainjob) and bool(ended & {"Failed", "Completed"})

    def _suspended(self) -> Phase:
        if self.pods:
            return Phase.STOPPING
        return Phase.QUEUED if self._queue_name() else Phase.SUSPENDED

    def _on_its_way(self) -> tuple[Phase, datetime | None]:
        since = self._since("PodsReady")
        if since is None and self.o.jobset:
            since = parsed(self.o.jobset["metadata"].get("creationTimestamp"))
        # A resumed job begins anew: the condition was false all the time.
        since = max((t for t in (since, self._since("Suspended")) if t), default=None)
        if self.o.pods is None:
            return Phase.SCHEDULING, since
        pods = self._current()
        if len(pods) < self._want() or not all(spec(p).get("nodeName") for p in pods):
            return Phase.SCHEDULING, since
        if not all(_ready_once(p) for p in pods):
            return Phase.PULLING, since
        if self.executor == STOCK:
            return Phase.RUNNING, None  # nobody waits in a gate, and nobody says more
        return Phase.STARTING, since

    # Why.

    def _cause(self, phase: Phase) -> tuple[Cause | None, str]:
        told = self.record.get("cause")
        if told and phase == self.record.get("phase"):
            docs = annotation(self.o.runtime or {}, DOCS_ANNOTATION)
            return _recorded_cause(told, self._whole(told, phase), docs), ""
        if phase.finished and phase is not Phase.COMPLETE:
            return _cause_of(self.conditions["Diagnosed" if self._true("Diagnosed") else "Failed"]), ""
        kind = {Phase.COMPLETE: "Complete", Phase.QUEUED: "Suspended", Phase.SUSPENDED: "Suspended"}.get(phase, "")
        return None, self.conditions[kind].message if self._true(kind) else ""

    def _whole(self, cause: dict[str, Any], phase: Phase) -> str:
        """The message of the condition behind a cause, word by word; without one, the message of the cause."""
        waits = ("Suspended", "Restarting", "Created", "PodsReady", "Running")
        kinds = ("Diagnosed", "Failed") if phase.finished else waits
        found = (self.conditions[kind] for kind in kinds if kind in self.conditions)
        reason = printable_line(cause["reason"])
        return next((c.message for c in found if c.reason == reason), printable(cause["message"]))

    # Its pods.

    @cached_property
    def pods(self) -> list[Object]:
        """Launcher and nodes of this JobSet, launcher first; not those that a suspension took away."""
        if self.o.jobset is None or not self.o.pods:
            return []
        resumed = self._resumed()
        mine = [
            p
            for p in self.o.pods
            if labels(p).get(JOBSET_UID_LABEL) == uid(self.o.jobset) and role(p) in (LAUNCHER, NODE) and not (resumed and _stopped_before(p, resumed))
        ]
        return sorted(mine, key=lambda p: (-1 if role(p) == LAUNCHER else index(p), name(p)))

    def _resumed(self) -> datetime | None:
        """When the job was resumed last, or its JobSet, which somebody may have suspended alone."""
        if suspended(self.trainjob):
            return None
        times = []
        told = self.conditions.get("Suspended")
        if told:
            times.append(self.o.now if told.true else told.since)
        times += [
            parsed(c.get("lastTransitionTime")) for c in _jobset_conditions(self.o.jobset) if c["type"] == "Suspended" and c.get("status") == "False"
        ]
        return max((t for t in times if t), default=None)

    def _current(self) -> list[Object]:
        return [p for p in self.pods if not p["metadata"].get("deletionTimestamp")]

    def _want(self) -> int:
        return sum(parallelism(part) for part in parts(spec(self.o.jobset))) if self.o.jobset else 0

    def _count(self) -> tuple[int | None, int | None]:
        if self.o.pods is not None and self.o.jobset:
            want = self._want()
            return min(sum(_ready_once(p) for p in self._current()), want), want
        return (0, self.world.pods) if self.world else (None, None)

    def _pod(self, pod: Object) -> Pod:
        state = _main_state(pod)
        ended = state.get("terminated") or {}
        w = self.world
        ranks = range(0)
        if w and (role(pod) == NODE or w.launcher_runs_ranks):
            node = index(pod) + (1 if role(pod) == NODE and w.launcher_runs_ranks else 0)
            ranks = range(node * w.slots_per_node, (node + 1) * w.slots_per_node)
        return Pod(
            name=name(pod),
            role=role(pod),
            index=index(pod),
            machine=spec(pod).get("nodeName") or "",
            phase=status(pod).get("phase") or "Pending",
            ready=_ready_once(pod),
            terminating=bool(pod["metadata"].get("deletionTimestamp")),
            ranks=ranks,
            exit_code=ended.get("exitCode"),
            started=parsed((state.get("running") or ended).get("startedAt")),
            ended=parsed(ended.get("finishedAt")),
        )

    # The rest.

    def _queue_name(self) -> str:
        return labels(self.trainjob).get(QUEUE_LABEL, "")

    def _queue(self) -> Queue | None:
        if not self._queue_name():
            return None
        said = self.record.get("queue") or {}
        if not suspended(self.trainjob) or said.get("name") != self._queue_name():
            return Queue(self._queue_name())
        text = printable(said.get("text", ""))
        return Queue(said["name"], said.get("position", 0), said.get("length", 0), text)

    def _started(self, phase: Phase) -> datetime | None:
        if self.record.get("started"):
            return parsed(self.record["started"])
        if phase in (Phase.REFUSED, Phase.CREATING):
            return None
        launcher = [p for p in self.pods if role(p) == LAUNCHER]
        if launcher:
            staying = [p for p in launcher if not p["metadata"].get("deletionTimestamp")]
            return self._pod((staying or launcher)[0]).started
        mpi = self.o.runtime is not None and is_mpi(self.o.runtime)
        return self._pod(self.pods[0]).started if self.pods and not mpi else None

    def _ended(self) -> datetime | None:
        return next((self._since(kind) for kind in ("Complete", "Failed") if self._true(kind)), None)

    def _logs_url(self, phase: Phase) -> str:
        ended = self._ended()
        if self.o.runtime is None or ended is None or not phase.finished or phase is Phase.REFUSED:
            return ""
        metadata = self.trainjob["metadata"]
        created = parsed(metadata["creationTimestamp"]) or ended
        filled = {
            "{namespace}": quote(str(metadata.get("namespace", "")), safe=""),
            "{job}": quote(name(self.trainjob), safe=""),
            "{from}": _milliseconds(created),
            "{to}": _milliseconds(ended + _AFTER_END),
        }
        return re.sub("|".join(filled), lambda found: filled[found.group()], annotation(self.o.runtime, LOGS_ANNOTATION))

    def _unknown(self, phase: Phase) -> list[Withheld]:
        found = list(self.o.withheld)
        mpi = self.o.runtime is None or is_mpi(self.o.runtime)
        if self.executor == STOCK and mpi and phase is not Phase.COMPLETE:
            why = "no mpi-controller looks after this job: whether its nodes answer, and what its ranks did, is not known"
            found.append(Withheld("diagnosis", why))
        if self.o.runtime is None:
            why = "the runtime cannot be read, or is gone: slots and limits are not known"
            found.append(Withheld("runtime", why))
        return found


def _cause_of(c: Condition) -> Cause:
    return Cause(c.reason, c.message, c.message)


def _recorded_cause(recorded: dict[str, Any], whole: str, docs: str) -> Cause:
    """The cause of a record. Its page is below the address that the runtime has: users may write the record."""
    has_page = recorded.get("class") and docs.startswith(("https://", "http://"))
    return Cause(
        url=f"{docs}/failures/{printable_line(recorded['reason'])}" if has_page else "",
        reason=printable_line(recorded["reason"]),
        text=whole,
        message=printable(recorded["message"]),
        remedy=printable(recorded.get("remedy", "")),
        lines=tuple(printable_line(line) for line in recorded.get("lines") or []),
        whose=recorded.get("class", ""),
        pod=recorded.get("pod", ""),
        machine=recorded.get("machine", ""),
        rank=recorded.get("rank"),
        exit_code=recorded.get("exitCode", 0),
        signal=recorded.get("signal", ""),
    )


def _jobset_conditions(jobset: Object | None) -> list[dict[str, Any]]:
    return (status(jobset).get("conditions") or []) if jobset else []


def _main_state(pod: Object) -> Object:
    for c in status(pod).get("containerStatuses") or []:
        if c.get("name") == CONTAINER:
            return c.get("state") or {}
    return {}


def _ready_once(pod: Object) -> bool:
    """Whether a pod is ready, or was so before it ended; kubelet says that a container has ended before it says so of the pod."""
    ready = any(c.get("type") == "Ready" and c.get("status") == "True" for c in status(pod).get("conditions") or [])
    return ready or status(pod).get("phase") in ("Succeeded", "Failed") or "terminated" in _main_state(pod)


def _stopped_before(pod: Object, resumed: datetime) -> bool:
    """Whether a pod was taken away by the suspension before a job was resumed."""
    deletion = parsed(pod["metadata"].get("deletionTimestamp"))
    made = parsed(pod["metadata"].get("creationTimestamp"))
    if deletion is None or made is None or made > resumed:
        return False
    grace = pod["metadata"].get("deletionGracePeriodSeconds")
    asked = earliest = deletion - timedelta(seconds=grace or 0)
    if grace == 0:
        # Kubelet deletes a pod that has stopped once more, without grace, and the API server may then have written down the time of that.
        earliest -= timedelta(seconds=pod["spec"].get("terminationGracePeriodSeconds") or 0)
    return earliest <= resumed + _RESUME_TOLD or (made < resumed - _RESUME_TOLD and asked < resumed + _CLOCKS_APART)
