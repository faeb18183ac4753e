"""The record of a job, as mpi-controller writes it (``api/job/v1``), and the conditions of its status."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lockstep._times import parsed
from lockstep.phase import Phase

CONTROLLER = "mpi-controller"
COMPANION = "kubeflow-trainer with mpi-controller"
_ANNOTATION = "lockstep.dev/conditions"
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

    #: Whether it is true; an unknown one is not.
    true: bool
    reason: str
    message: str
    #: When it last changed, None if that is not written.
    since: datetime | None


def conditions(trainjob: dict[str, Any], record: dict[str, Any]) -> dict[str, Condition]:
    """The conditions of the status by their type, and those of a record that the status does not show."""
    shown = (trainjob.get("status") or {}).get("conditions") or []
    ends = ("Suspended", "Complete", "Failed")
    kept = [c for c in record.get("conditions") or [] if not (c.get("status") == "True" and c.get("type") in ends)]
    return {
        str(c.get("type", "")): Condition(
            true=c.get("status") == "True",
            reason=printable_line(str(c.get("reason", ""))),
            message=printable(str(c.get("message", ""))),
            since=parsed(c.get("lastTransitionTime")),
        )
        for c in [*kept, *shown]
    }


def record(trainjob: dict[str, Any], diagnosed: bool) -> dict[str, Any]:
    """The record of mpi-controller, empty without one.

    Users may write annotations: a record that cannot be read, belongs to another job or contradicts the status is none.
    Of the end of a job it may only repeat the words of the status in parts. If Kubeflow Trainer made the JobSet, diagnosed
    is true: a companion may explain its end.
    """
    metadata = trainjob["metadata"]
    try:
        written = json.loads((metadata.get("annotations") or {}).get(_ANNOTATION, ""))
        if not written["uid"] or written["uid"] != metadata.get("uid") or not _has_shape(written, _SHAPE):
            return {}
        if "version" not in written:
            return {"conditions": written["conditions"]}
        shown = (trainjob.get("status") or {}).get("conditions") or []
        ends = {c["type"]: c for c in shown if c.get("status") == "True"}
        # What is read later must be there, and be readable.
        usage = written.get("usage") or {"machineSeconds": 0}
        parsed(written.get("since")), parsed(written.get("started")), parsed(usage.get("since"))
        usage["machineSeconds"]
        cause = written.get("cause", {"reason": "", "message": ""})
        cause["reason"], cause["message"]
        known = written["executor"] in (CONTROLLER, COMPANION)
        return dict(written) if known and _agrees(written, ends, diagnosed) else {}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


_TEXTS = dict.fromkeys(("claim", "folder", "to", "state", "digest", "reason", "message"), str)
#: The types of the fields that are read; a list has one entry for all of its entries.
_SHAPE: Any = {
    "conditions": [{"type": str, "status": str, "reason": str, "message": str, "lastTransitionTime": str}],
    "executor": str,
    "since": str,
    "started": str,
    "cause": {"reason": str, "message": str, "remedy": str, "lines": [str], "class": str, "pod": str, "machine": str}
    | {"rank": int, "exitCode": int, "signal": str},
    "queue": {"name": str, "position": int, "length": int, "text": str},
    "restarts": {"number": int},
    "usage": {"machineSeconds": int, "since": str, "nodePrice": (int, float), "pods": int, "cpuPerPod": (int, float)}
    | {"memoryPeak": int, "memoryLimit": int, "memoryPod": str, "sentBytes": int},
    "artifacts": _TEXTS | {"files": int, "bytes": int},
}


def _has_shape(value: Any, shape: Any) -> bool:
    """Whether a value is of a type, or an object whose known keys are, or a list of such."""
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(_has_shape(value[k], s) for k, s in shape.items() if k in value)
    if isinstance(shape, list):
        return isinstance(value, list) and all(_has_shape(v, shape[0]) for v in value)
    return isinstance(value, shape)


def _agrees(written: dict[str, Any], shown: dict[str, dict[str, str]], diagnosed: bool) -> bool:
    phase = Phase(written["phase"])
    if "Complete" in shown or "Failed" not in shown:
        return phase is Phase.COMPLETE if "Complete" in shown else not phase.finished
    if phase is Phase.COMPLETE or not phase.finished:
        return False
    cause, failed = written["cause"], shown["Failed"]
    words = [cause["message"].rstrip(".…"), cause.get("remedy", ""), *cause.get("lines", [])]
    repeats = all(w.removesuffix("…") in failed.get("message", "") for w in words)
    return diagnosed or (cause["reason"] == failed.get("reason") and repeats)
