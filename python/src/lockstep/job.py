"""One job, as every front end of Lockstep shows it."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from kubeflow.trainer.types import types

from lockstep._times import human, now
from lockstep.artifacts import Artifacts
from lockstep.cause import Cause
from lockstep.phase import Phase
from lockstep.usage import Usage

_NONE = "-"
#: How long a new job may be without a trace of an mpi-controller before that is shown, as in pkg/jobs/view.
_PICK_UP = timedelta(seconds=30)


@dataclass
class Runtime(types.Runtime):
    """What a job is made from: Kubeflow's Runtime, and what a compiled MPI runtime says of itself."""

    #: Whether it is an MPI runtime.
    mpi: bool = False
    #: MPI implementation and version of a compiled runtime, such as ``OpenMPI`` and ``5.0.7``; empty for others.
    implementation: str = ""
    version: str = ""
    #: The size of a job that asks for nothing else; None for a runtime without MPI.
    world: World | None = None
    #: Bounds for the nodes of a job, None where there are none.
    min_nodes: int | None = None
    max_nodes: int | None = None
    #: A sentence about the runtime, and the address of a page about it; empty without one.
    description: str = ""
    documentation: str = ""
    #: Whether tools offer it first, and whether it will go.
    default: bool = False
    deprecated: bool = False
    #: The end of a deprecated runtime: another one to use, a day such as ``2027-03-31``, and a reason; or empty.
    successor: str = ""
    retire_on: str = ""
    deprecation_reason: str = ""


@dataclass(frozen=True)
class World:
    """The size of an MPI job."""

    #: How many nodes run ranks.
    nodes: int
    #: How many ranks a node may run.
    slots_per_node: int
    #: Whether the launcher is the first of the nodes.
    launcher_runs_ranks: bool = False

    @property
    def slots(self) -> int:
        """How many ranks the job may have."""
        return self.nodes * self.slots_per_node

    @property
    def pods(self) -> int:
        """How many pods the job has, its launcher included."""
        return self.nodes + (0 if self.launcher_runs_ranks else 1)


@dataclass(frozen=True)
class Pod:
    """One pod of a job."""

    name: str
    #: ``launcher`` or ``node``.
    role: str
    #: Counts the pods of a role from 0.
    index: int
    #: The machine that runs it; empty while it has none.
    machine: str
    #: Kubernetes' own word: ``Pending``, ``Running``, ``Succeeded``, ``Failed``.
    phase: str
    #: Whether it is ready, or was before it ended.
    ready: bool
    #: Whether it is being deleted.
    terminating: bool = False
    #: The ranks that run here where the launcher fills node after node, as it does unless told otherwise; empty for a pod without ranks.
    ranks: range = range(0)
    #: How its main container ended, None while it runs.
    exit_code: int | None = None
    #: When its main container started and ended.
    started: datetime | None = None
    ended: datetime | None = None


@dataclass(frozen=True)
class Queue:
    """The local queue of Kueue that a job names."""

    name: str
    #: Counts from 1; 0 where nobody says, and for a job that does not wait.
    position: int = 0
    #: How many jobs wait there; 0 where nobody says. 20 may be more.
    length: int = 0
    #: What is known of the wait: position, what is missing, an estimate. Empty for a job that does not wait.
    text: str = ""


@dataclass(frozen=True)
class Withheld:
    """Something that cannot be known of a job, and is not guessed."""

    what: str
    #: A sentence.
    why: str


@dataclass
class Job(types.TrainJob):
    """One job: Kubeflow's TrainJob, and what Lockstep knows of it.

    ``status``, ``steps``, ``runtime``, ``num_nodes`` and ``creation_timestamp`` are those that ``kubeflow.trainer.TrainerClient`` shows,
    except that a job under Lockstep is ``Running`` once its command runs. In a notebook a job is shown as a table.
    """

    namespace: str = ""
    uid: str = ""
    #: Where it is in its life, and since when; None where nobody says.
    phase: Phase = Phase.CREATING
    since: datetime | None = None
    #: What keeps it or ended it, or None.
    cause: Cause | None = None
    #: What is said of a phase that needs no cause: why it is suspended, what failed in spite of the success.
    message: str = ""
    #: Who runs it: ``mpi-controller``, ``kubeflow-trainer`` or ``kubeflow-trainer with mpi-controller``.
    executor: str = ""
    #: Its size, None where it cannot be known.
    world: World | None = None
    #: Launcher first, then nodes by index; empty while there are none.
    pods: list[Pod] = field(default_factory=list)
    #: How many pods are ready, or have been, and how many there should be; None where nobody says, and of a job that is over.
    ready: int | None = None
    want: int | None = None
    #: The queue of Kueue that it names, or None.
    queue: Queue | None = None
    #: How often it was started again.
    restarts: int = 0
    #: How much it has used, None before its command ran.
    usage: Usage | None = None
    #: The folder that outlives its pods, None before its end and without one.
    artifacts: Artifacts | None = None
    #: How far its program says that it is, in percent, or None.
    progress: int | None = None
    #: How long it will still take by its program's account, None where it does not say; and its metrics, by name.
    remaining: timedelta | None = None
    metrics: dict[str, str] = field(default_factory=dict)
    #: Who submitted it, by their own account (annotation ``lockstep.dev/user``); empty where nobody says.
    user: str = ""
    #: When its command began, or its launcher where nobody says more; and when it was over.
    started: datetime | None = None
    ended: datetime | None = None
    #: Where its logs are kept when it is over, also when its pods are gone; empty where the platform does not say.
    logs_url: str = ""
    #: What cannot be known, and why.
    unknown: list[Withheld] = field(default_factory=list)

    @property
    def ranks(self) -> int | None:
        """How many ranks it may have, None where it cannot be known."""
        return self.world.slots if self.world else None

    @property
    def machines(self) -> list[str]:
        """The machines that run its pods, each once, in the order of the pods."""
        return list(dict.fromkeys(pod.machine for pod in self.pods if pod.machine))

    @property
    def finished(self) -> bool:
        """Whether it is over."""
        return self.phase.finished

    @property
    def summary(self) -> str:
        """A line with its result, its duration and how much it used."""
        ran = self.duration()
        state = self.columns()["state"]
        parts = [state if ran is None else f"{state} {'after' if self.finished else 'for'} {human(ran)}"]
        if self.usage and self.world:
            parts.append(self.usage.text(self.world.nodes, now()))
        return f"{self.name}: {': '.join(parts)}"

    def duration(self, at: datetime | None = None) -> timedelta | None:
        """How long it has run until now (or until ``at``), or ran; None for one that has not started."""
        if self.started is None:
            return None
        return max(timedelta(0), (self.ended or at or now()) - self.started)

    def columns(self, at: datetime | None = None) -> dict[str, str]:
        """The cells of ``kubectl mpi list``, by their headings in small letters; ``-`` where there is nothing to say."""
        at = at or now()
        ran = self.duration(at)
        queue = _NONE
        if self.queue:
            queue = self.queue.name + (f" #{self.queue.position}" if self.queue.position else "")
        mpi = isinstance(self.runtime, Runtime) and self.runtime.mpi
        return {
            "name": self.name,
            "runtime": self.runtime.name + (" (MPI)" if mpi else ""),
            "state": f"{self.phase}: {self.cause.reason}" if self.cause else str(self.phase),
            "ready": _NONE if self.ready is None else f"{self.ready}/{self.want}",
            "slots": str(self.world.slots) if self.world else _NONE,
            "progress": _NONE if self.progress is None else f"{self.progress}%",
            "queue": queue,
            "duration": _NONE if ran is None else human(ran),
            "age": human(at - self.creation_timestamp),
        }

    def __str__(self) -> str:
        """Its columns, and below them what keeps it, where that happened and what to do."""
        cells = self.columns()
        widths = {k: max(len(k), len(v)) for k, v in cells.items()}
        lines = [
            "   ".join(k.upper().ljust(widths[k]) for k in cells).rstrip(),
            "   ".join(v.ljust(widths[k]) for k, v in cells.items()).rstrip(),
        ]
        return "\n".join([*lines, *(f"{label}: {text}" for label, text in self._notes())])

    def _repr_html_(self) -> str:
        """The same as a table for notebooks. What programs and users wrote is escaped."""
        cells = self.columns()
        head = "".join(f"<th>{html.escape(k.upper())}</th>" for k in cells)
        body = "".join(f"<td>{html.escape(v)}</td>" for v in cells.values())
        notes = "".join(f"<p><b>{html.escape(label)}:</b> {_html(text)}</p>" for label, text in self._notes())
        return f"<table><thead><tr>{head}</tr></thead><tbody><tr>{body}</tr></tbody></table>{notes}"

    def _notes(self) -> list[tuple[str, str]]:
        notes = []
        if self.cause:
            command = f"kubectl mpi explain {self.cause.reason}" if self.cause.whose else ""
            notes = [("why", self.cause.evidence), ("what to do", self.cause.remedy)]
            notes += [("more", self.cause.url or command)]
        elif self.message:
            notes = [("why", self.message)]
        if self.usage and self.world:
            notes += [("used", self.usage.text(self.world.nodes, now()))]
        notes += [("logs", self.logs_url)]
        notes += [("metrics", ", ".join(f"{k} {v}" for k, v in self.metrics.items()))]
        notes += [("remaining", "" if self.remaining is None else human(self.remaining))]
        new = not self.finished and now() - self.creation_timestamp < _PICK_UP
        unknown = [held for held in self.unknown if held.what != "diagnosis" or not new]
        notes += [("not known", f"{held.what}: {held.why}") for held in unknown]
        return [(label, text) for label, text in notes if text]


def _html(text: str) -> str:
    if text.startswith("https://"):
        return f'<a href="{html.escape(text)}">{html.escape(text)}</a>'
    return html.escape(text).replace("\n", "<br>")
