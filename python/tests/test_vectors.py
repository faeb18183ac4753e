"""The rules of phases, causes and columns, against the states that the controller's own tests wrote down."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from lockstep import _view
from lockstep._objects import Objects
from lockstep._reasons import CLASSES
from lockstep._times import now, parsed
from lockstep.cause import Cause
from lockstep.job import Job

ROOT = Path(__file__).parents[2]
VECTORS = json.loads((ROOT / "test/vectors/jobs.json").read_text())


def seen(vector: dict[str, Any]) -> Job:
    objects = vector["in"]
    # Of a runtime the vectors have what the controller keeps, without its kind and name.
    runtime = objects["runtime"]
    name = objects["trainJob"]["spec"]["runtimeRef"]["name"]
    if runtime:
        runtime = {"metadata": {"name": name, "labels": runtime["labels"]}, "spec": runtime["spec"]}
    return _view.job(
        Objects(
            now=parsed(vector["now"]) or now(),
            trainjob=objects["trainJob"],
            runtime=runtime,
            jobset=objects["jobSet"],
            pods=objects["pods"] or [],
        )
    )


def cause(c: Cause | None) -> dict[str, Any] | None:
    """A cause as the vectors have it."""
    if c is None:
        return None
    parts = {"remedy": c.remedy, "lines": list(c.lines), "url": c.url, "class": c.whose}
    return {"reason": c.reason, "text": c.text, "message": c.message, "source": "condition"} | {k: v for k, v in parts.items() if v}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["name"])
def test_a_state_is_shown_as_everywhere(vector: dict[str, Any]) -> None:
    want = vector["want"]
    job = seen(vector)
    queue = job.queue and {k: v for k, v in vars(job.queue).items() if v}
    shown = {
        "phase": job.phase,
        "state": job.phase.state,
        "executor": job.executor,
        "cause": cause(job.cause),
        "message": job.message,
        "queue": queue,
        "columns": job.columns(parsed(vector["now"])),
    }
    assert shown == want


def test_the_vectors_have_many_states() -> None:
    assert len(VECTORS) > 30
    assert len({v["want"]["phase"] for v in VECTORS}) > 10


def test_reasons_are_those_of_the_documentation() -> None:
    page = (ROOT / "docs/failures/README.md").read_text()
    assert dict(re.findall(r"^\| \[(\w+)\]\(\w+\.md\) \|.*\| (\w+) \|$", page, re.MULTILINE)) == CLASSES
