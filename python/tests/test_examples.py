"""The examples in docstrings, run: those that use a client against a real API server."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import Cluster

import lockstep
from lockstep import MPIClient, MPITrainer

#: The jobs that examples name, each with its condition.
JOBS = {
    "train": ("Complete", "Completed", "the launcher succeeded"),
    "failed": ("Failed", "OOMKilled", "Worker 0 failed. What to do: raise the memory limit"),
    "waits": ("Created", "JobSetCreated", "all exist"),
}


def examples() -> Iterator[doctest.DocTest]:
    for module in pkgutil.iter_modules(lockstep.__path__, "lockstep."):
        for found in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(module.name)):
            if any(not e.options.get(doctest.SKIP) for e in found.examples):
                yield found


def prepared(cluster: Cluster, text: str) -> dict[str, Any]:
    """A client, and the jobs that a text names."""
    cluster.runtime("openmpi5-cpu")
    client = cluster.client()
    for name, (kind, reason, message) in JOBS.items():
        if f'"{name}"' not in text:
            continue
        client.train(runtime="openmpi5-cpu", trainer=MPITrainer(nodes=2, slots=2), name=name)
        created = {"type": "Created", "status": "True", "reason": "JobSetCreated"}
        cluster.status(name, *([] if kind == "Created" else [created]), {"type": kind, "status": "True", "reason": reason, "message": message})
        cluster.event("TrainJob", name, cluster.job(name)["metadata"]["uid"], reason, message)
    return {"client": client, "MPITrainer": MPITrainer}


@pytest.mark.parametrize("example", list(examples()), ids=lambda e: e.name)
def test_an_example_does_what_it_shows(example: doctest.DocTest, request: pytest.FixtureRequest) -> None:
    text = "".join(e.source for e in example.examples)
    if "client." in text:
        example.globs |= prepared(request.getfixturevalue("cluster"), text)
    said: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF | doctest.IGNORE_EXCEPTION_DETAIL).run(example, out=said.append)
    assert not said, "".join(said)


def test_every_method_has_an_example() -> None:
    for name, method in vars(MPIClient).items():
        if not name.startswith("_") and callable(method):
            assert ">>> " in str(method.__doc__), name
