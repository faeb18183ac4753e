"""What would become of a job: it fits now, it waits, or it can never run as it is.

Quotas are judged by the rules of mpi-controller (``pkg/mpi/job/phase``), restated; ``tests/test_vectors.py`` holds both against ``test/vectors``.
What is not judged here, and what may not be read, is named and never counts against a job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from lockstep._objects import CONTAINER, LAUNCHER, NODE, Object, name, parts, spec, status
from lockstep._quantity import Quantity
from lockstep._world import asked, bounds
from lockstep.job import World

#: What becomes of a job: ``fits``, ``waits`` or ``never``.
Verdict = Literal["fits", "waits", "never"]

_ORDER: tuple[Verdict, ...] = ("fits", "waits", "never")
_Amounts = dict[str, Quantity]


@dataclass(frozen=True)
class Finding:
    """One thing that is in the way of a job."""

    #: ``rights``, ``admission``, ``runtime``, ``quota``, ``volumes`` or ``queue``.
    about: str
    verdict: Verdict
    #: A sentence with what to do.
    text: str
    #: The reason that the condition of the job would have, see :attr:`lockstep.Cause.reason`; empty without one.
    reason: str = ""


@dataclass
class Preflight:
    """The answer of :meth:`lockstep.MPIClient.preflight`."""

    findings: list[Finding] = field(default_factory=list)
    #: Its place in its queue, from 1; 0 where it would not wait in one.
    position: int = 0
    #: How many nodes of the same size could run at once now, where the quota has too little; 0 for none, None where that is not known or it fits.
    largest_nodes: int | None = None
    #: What was not judged, and why.
    unseen: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """The worst of its findings; ``fits`` without any."""
        return max((f.verdict for f in self.findings), key=_ORDER.index, default="fits")

    def __bool__(self) -> bool:
        """Whether the job fits now."""
        return self.verdict == "fits"

    @property
    def summary(self) -> str:
        """The answer in one line, as ``kubectl mpi preflight`` says it."""
        said = {"fits": "fits now", "waits": "waits", "never": "never"}[self.verdict]
        if self.verdict == "waits" and self.position:
            said += f" at position {self.position}"
        if self.largest_nodes is None:
            return said
        if not self.largest_nodes:
            return f"{said}; not even the smallest job of this runtime fits now"
        return f"{said}; the largest that fits now has {self.largest_nodes} node{'s' if self.largest_nodes > 1 else ''}"

    def __str__(self) -> str:
        findings = (f"  {f.about:<10}{f.verdict:<7}{f.text}" for f in self.findings)
        return "\n".join([self.summary, *findings, *(f"  not seen  {text}" for text in self.unseen)])


@dataclass(frozen=True)
class Pods:
    """A number of equal pods."""

    role: str
    count: int
    spec: Object


def judge(trainjob: Object, runtime: Object, quotas: list[Object], limits: list[Object]) -> Preflight:
    """Whether a namespace has room for a job of an MPI runtime."""
    answer = Preflight()
    trainer = spec(trainjob).get("trainer") or {}
    made = asked(runtime, trainer)
    if made is None:
        return Preflight(unseen=[f"runtime `{name(runtime)}` is none for MPI: its jobs are not judged"])
    least, most = bounds(runtime)
    if made.nodes < (least or 1) or (most and made.nodes > most):
        text = f"it asks for {made.nodes} nodes, and runtime `{name(runtime)}` takes {least or 1} to {most or 'any number of'} nodes"
        return Preflight([Finding("runtime", "never", text, "InvalidWorld")])
    judged = [q for q in quotas if not spec(q).get("scopes") and not spec(q).get("scopeSelector")]
    answer.unseen += [f"quota `{name(q)}` has scopes: whether it counts the job is not judged" for q in quotas if q not in judged]
    if any(bound in item for o in limits for item in spec(o).get("limits") or [] for bound in ("max", "min", "maxLimitRequestRatio")):
        answer.unseen.append("the bounds of LimitRanges are not judged: kubectl mpi preflight judges them")
    short = _first_shortage(pods_of(runtime, trainer, made, limits), judged)
    if short is None:
        return answer
    answer.findings.append(short)
    answer.largest_nodes = _largest(
        runtime, made, lambda nodes: _first_shortage(pods_of(runtime, trainer, replace(made, nodes=nodes), limits), judged) is None
    )
    return answer


def _largest(runtime: Object, made: World, fits: Callable[[int], bool]) -> int:
    """The largest number of nodes below that of the job for which there is room. Room only shrinks with nodes."""
    low, high = bounds(runtime)[0] or 1, made.nodes
    if not fits(low):
        return 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def pods_of(runtime: Object, trainer: Object, made: World, limits: list[Object]) -> list[Pods]:
    """The pods of a job as they are counted: with what the job asks for per node, and with the defaults of LimitRanges."""
    found: list[Pods] = []
    for part in parts(spec(spec(runtime)["template"])):
        takes = part["name"] == NODE or made.launcher_runs_ranks
        count = 1 if part["name"] == LAUNCHER else made.nodes - (1 if made.launcher_runs_ranks else 0)
        pod = spec(spec(part["template"])["template"])
        counted = {
            kind: [_filled(c, _wanted(c, trainer) if takes and c.get("name") == CONTAINER else c.get("resources") or {}, limits) for c in pod[kind]]
            for kind in ("initContainers", "containers")
            if pod.get(kind)
        }
        if count > 0:
            found.append(Pods(part["name"], count, {**pod, **counted}))
    return found


def _wanted(container: Object, trainer: Object) -> Object:
    """``resourcesPerNode`` merged into the resources of the runtime (``pkg/mpi/job/desired``)."""
    base, want = container.get("resources") or {}, trainer.get("resourcesPerNode")
    if not want:
        return base
    requests, ceilings = want.get("requests") or {}, want.get("limits") or {}
    capped = dict(requests)
    cpu = (base.get("limits") or {}).get("cpu")
    if cpu is None or Quantity.of(cpu).value >= Quantity.of(capped.get("cpu", 0)).value:
        capped.pop("cpu", None)
    return {"requests": {**(base.get("requests") or {}), **ceilings, **requests}, "limits": {**(base.get("limits") or {}), **capped, **ceilings}}


def _filled(container: Object, resources: Object, limits: list[Object]) -> Object:
    """A container as the API server makes it: LimitRanges fill in what it leaves open."""
    requests, ceilings = resources.get("requests") or {}, resources.get("limits") or {}
    for o in sorted(limits, key=name):
        for item in spec(o).get("limits") or []:
            if item.get("type") == "Container":
                requests = {**(item.get("defaultRequest") or {}), **ceilings, **requests}
                ceilings = {**(item.get("default") or {}), **ceilings}
    return {**container, "resources": {"requests": {**ceilings, **requests}, "limits": ceilings}}


class _Shortage(NamedTuple):
    """A resource of which a quota has less than a job needs."""

    quota: str
    resource: str
    needs: Quantity
    used: Quantity
    hard: Quantity
    #: Why the numbers do not tell all, or empty.
    hint: str = ""

    @property
    def never(self) -> bool:
        return bool(self.hint) or self.needs.value > self.hard.value

    def finding(self) -> Finding:
        if self.hint:
            return Finding("quota", "never", self.hint, "QuotaExceeded")
        what = f"Insufficient {_noun(self.resource)}: requested {self.needs}"
        if self.never:
            remedy = "ask for fewer or smaller nodes, or ask the platform admin for a larger quota"
            return Finding("quota", "never", f"{what}, quota `{self.quota}` allows {self.hard} in all ({self.resource}): {remedy}", "QuotaExceeded")
        left = Quantity(max(self.hard.value - self.used.value, 0 * self.hard.value), self.hard.binary)
        fate = "the job waits until other pods of the namespace end, or the quota is raised, and then starts by itself"
        return Finding(
            "quota", "waits", f"{what}, available {left} of {self.hard} in quota `{self.quota}` ({self.resource}): {fate}", "QuotaExceeded"
        )

    def rank(self) -> tuple[int, str, str]:
        """What no waiting helps comes first, then accelerators, which people ask about."""
        return (0 if _noun(self.resource) == "GPUs" else 1) + (0 if self.never else 2), self.quota, self.resource


def _noun(resource: str) -> str:
    short = resource.removeprefix("requests.").removeprefix("limits.")
    return "GPUs" if short.endswith("/gpu") else "pods" if short == "count/pods" else short


def _first_shortage(pods: list[Pods], quotas: list[Object]) -> Finding | None:
    found = sorted((s for q in quotas for s in _shortages(pods, q)), key=_Shortage.rank)
    return found[0].finding() if found else None


def _shortages(pods: list[Pods], quota: Object) -> Iterator[_Shortage]:
    hard = status(quota).get("hard") or spec(quota).get("hard") or {}
    used = status(quota).get("used") or {}
    needs = _usage(pods)
    for resource in sorted(hard):
        s = _Shortage(name(quota), resource, needs.get(resource, Quantity()), Quantity.of(used.get(resource, 0)), Quantity.of(hard[resource]))
        if hint := _unspecified(name(quota), resource, pods):
            yield s._replace(hint=hint)
        elif s.needs.value and s.needs.value + s.used.value > s.hard.value:
            yield s


def _usage(pods: list[Pods]) -> _Amounts:
    """What a quota counts, under the names that quotas have for it."""
    total: _Amounts = {}
    for kind in ("requests", "limits"):
        for pod in pods:
            for resource, amount in _total(pod.spec, kind).items():
                names = [f"{kind}.{resource}", *([resource] if kind == "requests" and "/" not in resource else [])]
                _add(total, dict.fromkeys(names, amount), pod.count)
    many = Quantity.of(sum(pod.count for pod in pods))
    return {**total, "pods": many, "count/pods": many}


def _total(pod: Object, kind: str) -> _Amounts:
    """A pod as quotas add it up: all containers, the init containers that stay, and the largest moment of those that end before."""
    total, stay, peak = _Amounts(), _Amounts(), _Amounts()
    for c in pod.get("containers") or []:
        _add(total, _amounts(c, kind))
    for c in pod.get("initContainers") or []:
        moment = dict(stay)
        _add(moment, _amounts(c, kind))
        if c.get("restartPolicy") == "Always":
            stay = moment
        _most(peak, moment)
    _add(total, stay)
    _most(total, peak)
    _add(total, {resource: Quantity.of(amount) for resource, amount in (pod.get("overhead") or {}).items()})
    return total


def _amounts(container: Object, kind: str) -> _Amounts:
    return {resource: Quantity.of(amount) for resource, amount in container["resources"][kind].items()}


def _add(total: _Amounts, more: _Amounts, times: int = 1) -> None:
    for resource, amount in more.items():
        total[resource] = total.get(resource, Quantity()).plus(amount, times)


def _most(total: _Amounts, moment: _Amounts) -> None:
    for resource, amount in moment.items():
        if resource not in total or amount.value > total[resource].value:
            total[resource] = amount


def _unspecified(quota: str, resource: str, pods: Iterable[Pods]) -> str:
    """Why a quota refuses pods that leave a resource open: one on CPU or memory makes every container name it."""
    kind, what = ("limits", "limit") if resource.startswith("limits.") else ("requests", "request")
    bare = resource.removeprefix("limits.").removeprefix("requests.")
    for pod in pods if bare in ("cpu", "memory") else ():
        for c in [*(pod.spec.get("initContainers") or []), *pod.spec["containers"]]:
            if bare not in c["resources"][kind]:
                must = f"every container must have a {bare} {what}, and container `{c['name']}` of `{pod.role}` has none"
                return f"quota `{quota}` counts {resource}, so {must}: add it to the runtime, or a default to a LimitRange"
    return ""
