"""What a program tells of its progress. This text travels with functions: it needs Python 3.7 and nothing else."""

from __future__ import annotations

import json
import os
import ssl
import sys
import time
import urllib.request
from collections.abc import Mapping
from typing import Any

#: The rank of a process by each of the launchers, and of one that ``mpirun`` has not started nothing.
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "HOROVOD_RANK", "RANK")
#: How long one report is enough, in seconds; and how long a server that did not take one is left alone, because each try may take five.
_INTERVAL, _AFTER_FAILURE = 5.0, 60.0
_next = 0.0


def progress(percent: float | None = None, *, remaining: float | None = None, metrics: Mapping[str, Any] | None = None) -> bool:
    """Reports, from inside a program, how far it is. Every rank may call it: only the call of the first rank counts.

    It becomes ``progress``, ``remaining`` and ``metrics`` of the job in its status. The agent of the pod takes it, or
    Kubeflow Trainer's status server if Trainer serves that. Without either it is a line of the log, which the agent of
    the launcher reads. It never raises because of a server, and reports at most once in five seconds, except for 100.

    Args:
        percent: How much is done, from 0 to 100.
        remaining: How long it will still take, in seconds.
        metrics: Numbers by name, such as ``{"loss": 0.1}``: at most 16. Trainer's own server takes words too.

    Returns:
        Whether a server has taken it. The status has it a few seconds later.

    Example:
        >>> from lockstep import progress
        >>> progress(40, metrics={"loss": 0.25})
        lockstep: progress 40% loss=0.25
        False
    """
    global _next
    if next((os.environ[v] for v in _RANKS if v in os.environ), "0") != "0":
        return False
    now = time.monotonic()
    if now < _next and (percent is None or percent < 100):
        return False
    _next = now + _INTERVAL
    said = dict(metrics or {})
    url = os.environ.get("KUBEFLOW_TRAINER_SERVER_URL")
    if url:
        try:
            _send(url, _status(percent, remaining, said))
            return True
        except (OSError, ValueError) as e:
            _next = now + _AFTER_FAILURE
            print("progress: the status server at", url, "did not take it:", e, file=sys.stderr, flush=True)
    words = [] if percent is None else [f"{_whole(percent)}%"]
    words += [] if remaining is None else [f"remaining={max(0, int(remaining))}s"]
    print("lockstep: progress", *words, *(f"{k}={v}" for k, v in said.items()), flush=True)
    return False


def _whole(percent: float) -> int:
    return max(0, min(100, int(percent)))


def _status(percent: float | None, remaining: float | None, metrics: Mapping[str, Any]) -> dict[str, Any]:
    """The status as Trainer's API has it."""
    status: dict[str, Any] = {"lastUpdatedTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    if percent is not None:
        status["progressPercentage"] = _whole(percent)
    if remaining is not None:
        status["estimatedRemainingSeconds"] = max(0, int(remaining))
    if metrics:
        status["metrics"] = [{"name": str(k), "value": str(v)} for k, v in metrics.items()]
    return status


def _send(url: str, status: dict[str, Any]) -> None:
    """Posts it to the status server, with the token and the authority of its variables, and never by a proxy."""
    with open(os.environ.get("KUBEFLOW_TRAINER_SERVER_TOKEN", os.devnull)) as file:
        headers = {"Authorization": "Bearer " + file.read().strip(), "Content-Type": "application/json"}
    context = ssl.create_default_context(cafile=os.environ.get("KUBEFLOW_TRAINER_SERVER_CA_CERT"))
    request = urllib.request.Request(url, json.dumps({"trainerStatus": status}).encode(), headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    with opener.open(request, timeout=5):
        pass
