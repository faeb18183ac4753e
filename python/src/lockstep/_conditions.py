"""The conditions of a TrainJob: those of its status, and those that mpi-controller records in an annotation."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from lockstep._times import parsed

_RECORD = "lockstep.dev/conditions"
_OTHERS_SAY = ("Suspended", "Complete", "Failed")
#: An executor publishes its cause in the status.
_COMPANION_SAYS = ("Diagnosed", "Guarded")
#: The order in which a job comes to its conditions; those of others come last.
_LIFE = ("Created", "Suspended", "Restarting", "Guarded", "PodsReady", "Running", "Diagnosed", "Complete", "Failed")
#: Escape sequences of terminals, and control characters.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def printable_line(line: str) -> str:
    """A line as a terminal would leave it: users and programs write much of what is shown."""
    line = _ESCAPES.sub("", line).rstrip("\r\n\t ")
    return _CONTROL.sub("", line[line.rfind("\r") + 1 :].replace("\t", " "))


def printable(text: str) -> str:
    """Lines as a terminal would leave them."""
    return "\n".join(printable_line(line) for line in text.split("\n"))


@dataclass(frozen=True)
class Condition:
    """One condition of a TrainJob."""

    #: Its type, such as ``Complete``.
    type: str
    #: Whether it is true; one that nobody knows is not.
    true: bool
    #: Whether it is known to be false.
    false: bool
    reason: str
    message: str
    #: When it last changed, None where nobody wrote it.
    since: datetime | None

    @classmethod
    def of(cls, said: dict[str, Any]) -> Condition:
        return cls(
            type=printable_line(str(said.get("type", ""))),
            true=said.get("status") == "True",
            false=said.get("status") == "False",
            reason=printable_line(str(said.get("reason", ""))),
            message=printable(str(said.get("message", ""))),
            since=parsed(said.get("lastTransitionTime")),
        )


class Conditions(dict[str, Condition]):
    """Conditions by their type, in the order of a job's life."""

    @classmethod
    def of(cls, all_of_them: list[Condition]) -> Conditions:
        place = {kind: i for i, kind in enumerate(_LIFE)}
        ordered = sorted(all_of_them, key=lambda c: (place.get(c.type, len(_LIFE)), c.type))
        return cls((c.type, c) for c in ordered)

    def true(self, kind: str) -> bool:
        """Whether there is such a condition and it is true."""
        return kind in self and self[kind].true

    def since(self, kind: str) -> datetime | None:
        """When a condition last changed, None for one that there is not."""
        return self[kind].since if kind in self else None


def recorded(trainjob: dict[str, Any]) -> list[Condition] | None:
    """The record of mpi-controller, None where there is none. Users may write annotations: what cannot be read is none."""
    metadata = trainjob["metadata"]
    try:
        said = json.loads((metadata.get("annotations") or {}).get(_RECORD, ""))
        if not said["uid"] or said["uid"] != metadata.get("uid"):
            return None
        return [Condition.of(c) for c in said["conditions"]]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def shown(trainjob: dict[str, Any]) -> list[Condition]:
    """The conditions of the status."""
    return [Condition.of(c) for c in (trainjob.get("status") or {}).get("conditions") or []]


def conditions(trainjob: dict[str, Any], *, ours: bool) -> Conditions:
    """All that are known. Of a job of our controller the status alone implies others, where nothing is recorded."""
    record = recorded(trainjob)
    if record is None:
        status = shown(trainjob)
        return Conditions.of(_implied(status) if ours else status)
    unsaid = _COMPANION_SAYS if ours else ()
    kept = {c.type: c for c in record if not (c.true and c.type in _OTHERS_SAY) and c.type not in unsaid}
    for c in shown(trainjob):
        if c.type not in kept or c.type != "Created":  # which has the words of others in the status
            kept[c.type] = c
    return Conditions.of(list(kept.values()))


def _implied(status: list[Condition]) -> list[Condition]:
    """What a single condition means for those that the controller does not write down."""
    if len(status) != 1:
        return status
    only = status[0]

    def step(kind: str, true: bool, reason: str, message: str) -> Condition:
        return replace(only, type=kind, true=true, false=not true, reason=reason, message=message)

    created = step("Created", True, "JobSetCreated", "")
    if only.type == "Created" and only.reason != "JobSetCreated":
        return [step("Created", False, only.reason, only.message)]
    if only.type == "Created":
        return [step("PodsReady", False, "PodsPending", ""), step("Running", False, "WaitingForPods", ""), created]
    if only.type == "Suspended":
        return [step("PodsReady", False, "Suspended", ""), step("Running", False, "Suspended", ""), created, only]
    return status
