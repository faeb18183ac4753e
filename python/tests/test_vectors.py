"""The rules of phases, causes and columns, against the states that the controller's own tests wrote down."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from lockstep import _view
from lockstep._objects import Objects
from lockstep._quantity import Quantity
from lockstep._times import now, parsed
from lockstep.cause import Cause
from lockstep.compare import Run, compared
from lockstep.job import Job
from lockstep.preflight import judge

ROOT = Path(__file__).parents[2]
VECTORS = json.loads((ROOT / "test/vectors/jobs.json").read_text())


def seen(vector: dict[str, Any]) -> Job:
    objects = vector["in"]
    # Of a runtime the vectors have what the controller keeps, without its kind and name.
    runtime = objects["runtime"]
    name = objects["trainJob"]["spec"]["runtimeRef"]["name"]
    if runtime:
        runtime = {"metadata": {"name": name, "labels": runtime["labels"], "annotations": runtime["annotations"]}, "spec": runtime["spec"]}
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
    parts: dict[str, Any] = {"remedy": c.remedy, "lines": list(c.lines), "url": c.url, "class": c.whose, "pod": c.pod, "machine": c.machine}
    parts |= {"exitCode": c.exit_code, "signal": c.signal, "rank": [c.rank] if c.rank is not None else None}
    told = {"reason": c.reason, "text": c.text, "message": c.message, "source": "condition"}
    return told | {k: v[0] if k == "rank" else v for k, v in parts.items() if v}


def used(job: Job, at: datetime) -> str:
    return job.usage.text(job.world.nodes, at) if job.usage and job.world else ""


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
        "logsURL": job.logs_url,
        "used": used(job, parsed(vector["now"]) or now()),
        "columns": job.columns(parsed(vector["now"])),
    }
    assert shown == want


def vectors(file: str) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = json.loads((ROOT / "test/vectors" / file).read_text())
    return made


def run(state: dict[str, Any]) -> Run:
    return Run(parsed(state["now"]) or now(), state["trainJob"], state["jobSet"], state["snapshot"], state["digest"])


@pytest.mark.parametrize("vector", vectors("diffs.json"), ids=lambda v: v["name"])
def test_jobs_are_compared_as_everywhere(vector: dict[str, Any]) -> None:
    made = compared(run(vector["left"]), run(vector["right"]))
    shown = {"differences": [vars(d) for d in made.differences] or None, "equal": made.equal}
    assert shown | ({"unknown": made.unknown} if made.unknown else {}) == vector["want"]


@pytest.mark.parametrize("vector", vectors("preflights.json"), ids=lambda v: v["name"])
def test_quotas_are_judged_as_everywhere(vector: dict[str, Any]) -> None:
    r = vector["runtime"]
    runtime = {"metadata": {"name": "r", "labels": r["labels"], "annotations": r["annotations"]}, "spec": r["spec"]}
    made = judge(vector["trainJob"], runtime, vector["quotas"], vector["limits"] or [])
    want = vector["want"]
    assert (made.verdict, made.summary, made.largest_nodes) == (want["verdict"], vector["summary"], want.get("largestNodes"))
    assert [vars(f) for f in made.findings] == [f for f in want["findings"] if f["about"] != "all"]


@pytest.mark.parametrize("vector", vectors("quantities.json"), ids=lambda v: v["in"])
def test_amounts_are_those_of_kubernetes(vector: dict[str, Any]) -> None:
    assert str(Quantity.of(vector["in"])) == vector["want"]


@pytest.mark.parametrize("vector", vectors("escapes.json"), ids=lambda v: v["name"])
def test_forged_conditions(vector: dict[str, Any]) -> None:
    """What users write neither moves the cursor of a terminal nor replaces the cause of an executor."""
    made = _view.job(Objects(now(), vector["in"]["trainJob"], jobset=vector["in"].get("jobSet")))
    want = vector["want"]
    assert made.cause is not None
    assert (made.cause.reason, made.cause.text) == (want["reason"], want["text"])


def test_the_vectors_have_many_states() -> None:
    assert len(VECTORS) > 30
    assert len({v["want"]["phase"] for v in VECTORS}) > 10
