"""What differed between two jobs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from lockstep._excerpts import excerpts, sized
from lockstep._files import asked_command, files_of
from lockstep._function import sent_in
from lockstep._objects import QUEUE_LABEL, Object, labels, main_container, name, runtime_ref, spec, status
from lockstep._quantity import Quantity
from lockstep._redact import redacted
from lockstep._times import parsed, precise
from lockstep._world import world

_THE_RUNTIMES = "the runtime's"


@dataclass(frozen=True)
class Difference:
    """One thing that differed."""

    #: What it is, as ``kubectl mpi diff`` calls it: ``nodes``, ``env LR``, ``result``.
    what: str
    #: Its values; empty for what a job did not have, and ``***`` for what looks like a secret. Of a file or a function, its size and the
    #: first line that differs.
    left: str
    right: str


@dataclass(frozen=True)
class Comparison:
    """What differed between two jobs, in the order of a job: what was asked, what it ran on, how it went. It is shown as a table."""

    #: The names of the two jobs.
    names: tuple[str, str]
    differences: list[Difference] = field(default_factory=list)
    #: What was compared and is equal.
    equal: list[str] = field(default_factory=list)
    #: What could not be compared, and why.
    unknown: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        rows = [("", *self.names), *((d.what, *(text or "-" for text in excerpts(d.left, d.right))) for d in self.differences)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ["   ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        if not self.differences:
            table = [f"nothing differs between {' and '.join(self.names)}, of {len(self.equal)} things that were compared"]
        return "\n".join([*table, *(f"note: {text}" for text in self.unknown)])


@dataclass
class Run:
    """What is known of a job that is compared (``pkg/jobs/compare``)."""

    now: datetime
    trainjob: Object
    #: What ran, None where it is gone.
    jobset: Object | None = None
    #: The runtime as it was when the job was made, None where it is gone, and its SHA-256.
    snapshot: Object | None = None
    digest: str = ""


class _Facts(dict[str, str]):
    """What a run was, by name, in order."""

    def __init__(self) -> None:
        self.secret: set[str] = set()
        #: Those of which the first line that differs is shown: files, functions.
        self.texts: set[str] = set()

    def set_text(self, what: str, text: str) -> None:
        self[what] = text
        self.texts.add(what)

    def set_assigned(self, prefix: str, name: str, value: str) -> None:
        """Sets a value whose name may say that it is a secret."""
        self[prefix + name] = value
        if redacted(f"{name}={value}") != f"{name}={value}":
            self.secret.add(prefix + name)

    def shown(self, what: str) -> str:
        return "***" if what in self.secret else self.get(what, "")


def compared(left: Run, right: Run) -> Comparison:
    """Compares two."""
    a, b = _facts(left), _facts(right)
    made = Comparison((name(left.trainjob), name(right.trainjob)))
    for what in _order(list(a), list(b)):
        if a.get(what, "") == b.get(what, "") and (what in a.texts) == (what in b.texts):
            made.equal.append(what)
        elif what in a.texts | b.texts:
            made.differences.append(Difference(what, *sized(a.get(what), b.get(what))))
        else:
            made.differences.append(Difference(what, a.shown(what), b.shown(what)))
    gone = dict.fromkeys(name(run.trainjob) for run in (left, right) if run.jobset is None)
    made.unknown.extend(f"the pods of `{n}` are known by its TrainJob only: its JobSet is gone" for n in gone)
    return made


def _order(left: list[str], right: list[str]) -> list[str]:
    """That of the left one, with what only the right one has behind its like."""
    names = list(left)
    for i, what in enumerate(right):
        if what not in names:
            before = next((w for w in reversed(right[:i]) if w in names), None)
            names.insert(0 if before is None else names.index(before) + 1, what)
    return names


def _facts(run: Run) -> _Facts:
    f = _Facts()
    job = run.trainjob
    f["runtime"] = " ".join(runtime_ref(job))
    if run.snapshot:
        f["runtime as it was"] = run.digest[:12]
        f["MPI"] = " ".join(labels({"metadata": run.snapshot}).get(f"lockstep.dev/mpi-{k}", "") for k in ("implementation", "version")).strip()
    f["queue"] = labels(job).get(QUEUE_LABEL, "")
    trainer = spec(job).get("trainer") or {}
    made = world(job, {"metadata": run.snapshot, "spec": run.snapshot["spec"]}) if run.snapshot else None
    f["nodes"] = str(made.nodes if made else trainer.get("numNodes", _THE_RUNTIMES))
    f["slots"] = str(made.slots_per_node if made else trainer.get("numProcPerNode", _THE_RUNTIMES))
    _command(f, [*asked_command(trainer.get("command") or []), *(trainer.get("args") or [])])
    for path, text in sorted(files_of(job).items()):
        f.set_text(f"file {path}", text)
    _pods(f, trainer, run.jobset)
    f.update(_course(run))
    return f


def _command(f: _Facts, words: list[str]) -> None:
    """What runs. Of a function it is the function and how it is called, and not the program that calls it."""
    sent = sent_in(words)
    if sent is None:
        f["command"] = redacted(" ".join(words))
        return
    f["command"] = redacted(f"{' '.join(sent.before)} {sent.name}() of {sent.file}")
    for argument, value in sent.arguments.items():
        f.set_assigned("argument ", argument, value)
    f.set_text(f"function {sent.name}", sent.source)
    f["what calls it"] = hashlib.sha256(sent.runner.encode()).hexdigest()[:12]


def _pods(f: _Facts, trainer: Object, jobset: Object | None) -> None:
    """Image, environment, resources and volumes."""
    if jobset is None:
        f["image"] = trainer.get("image", _THE_RUNTIMES)
        _environment(f, "env ", trainer.get("env"))
        f.update(_resources("", trainer.get("resourcesPerNode") or {}))
        return
    for part in spec(jobset).get("replicatedJobs") or []:
        main = main_container(part)
        if main is None:
            continue
        prefix = f"{part['name']} "
        f[f"{prefix}image"] = main.get("image", "")
        _environment(f, f"{prefix}env ", main.get("env"))
        f.update(_resources(prefix, main.get("resources") or {}))
        mounts = {m["name"]: m["mountPath"] for m in reversed(main.get("volumeMounts") or [])}
        for volume in spec(spec(part["template"])["template"]).get("volumes") or []:
            if claim := volume.get("persistentVolumeClaim"):
                f[f"{prefix}volume {claim['claimName']}"] = mounts.get(volume["name"], "not mounted")


def _environment(f: _Facts, prefix: str, variables: list[Object] | None) -> None:
    for v in variables or []:
        if "valueFrom" in v:
            f[prefix + v["name"]] = _source(v["valueFrom"])
        else:
            f.set_assigned(prefix, v["name"], str(v.get("value", "")))


def _source(origin: Object) -> str:
    """Where the value of a variable comes from."""
    kinds: dict[str, Callable[[Any], str]] = {
        "secretKeyRef": lambda o: f"from Secret {o['name']}, {o['key']}",
        "configMapKeyRef": lambda o: f"from ConfigMap {o['name']}, {o['key']}",
        "fieldRef": lambda o: f"from {o['fieldPath']}",
    }
    return next((told(origin[kind]) for kind, told in kinds.items() if origin.get(kind)), "from elsewhere")


def _resources(prefix: str, resources: Object) -> Iterator[tuple[str, str]]:
    for kind, word in (("requests", "requests"), ("limits", "limit")):
        for resource, amount in sorted((resources.get(kind) or {}).items()):
            yield f"{prefix}{word} {resource}", str(Quantity.of(amount))


def _course(run: Run) -> Iterator[tuple[str, str]]:
    """When it began and how it ended."""
    began = parsed(run.trainjob["metadata"].get("creationTimestamp")) or run.now
    end, result = run.now, "not over"
    for c in status(run.trainjob).get("conditions") or []:
        if c["type"] in ("Complete", "Failed") and c["status"] == "True":
            end, result = parsed(c.get("lastTransitionTime")) or end, c["type"] + (f" {c['reason']}" if c["type"] == "Failed" else "")
    yield "created", began.strftime("%Y-%m-%dT%H:%M:%SZ")
    yield "took", precise(end - began)
    yield "result", result
