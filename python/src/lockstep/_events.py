"""The events of a job: which they are, when they happened, and what Kubeflow's SDK calls them."""

from __future__ import annotations

import re
from datetime import datetime

from kubeflow.trainer.types import types

from lockstep._objects import Object, name, uid
from lockstep._times import now, parsed


def about(event: Object, job: Object) -> bool:
    """Whether an event is about a job, its JobSet, Jobs or pods, and not about an earlier job of the same name."""
    involved = event.get("involvedObject") or {}
    if involved.get("kind") == "TrainJob":
        return bool(involved.get("uid") == uid(job))
    made = parsed(job["metadata"].get("creationTimestamp"))
    if involved.get("kind") not in ("JobSet", "Job", "Pod") or (made and when(event) < made):
        return False
    return re.fullmatch(re.escape(name(job)) + r"(-(launcher|node)-0(-.*)?)?", str(involved.get("name"))) is not None


def when(event: Object) -> datetime:
    """When it happened last."""
    series = event.get("series") or {}
    said = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime") or event.get("firstTimestamp")
    return parsed(said or event["metadata"].get("creationTimestamp")) or now()


def occurrence(event: Object) -> tuple[str, str]:
    """What tells one time from another at which it happened."""
    return uid(event), str(event["metadata"].get("resourceVersion"))


def shown(event: Object) -> types.Event:
    """An event as Kubeflow's SDK shows it."""
    involved = event["involvedObject"]
    return types.Event(
        involved_object_kind=involved.get("kind", ""),
        involved_object_name=involved.get("name", ""),
        message=event.get("message") or "",
        reason=event.get("reason") or "",
        event_time=when(event),
    )
