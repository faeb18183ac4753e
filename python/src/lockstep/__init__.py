"""MPI jobs on Kubernetes from Python: Kubeflow's SDK, with slots, causes, logs that lose no line, and errors that say what to do.

Example:
    >>> from lockstep import MPIClient, MPITrainer
    >>> client = MPIClient()  # doctest: +SKIP
    >>> name = client.train(runtime="openmpi5-cpu", trainer=MPITrainer(nodes=2, slots=2, command=["mpirun", "mpi-hello"]))  # doctest: +SKIP
    >>> client.wait(name)  # doctest: +SKIP
"""

from lockstep._checks import LockstepWarning
from lockstep._progress import progress
from lockstep.artifacts import Artifacts
from lockstep.cause import Cause
from lockstep.client import MPIClient
from lockstep.compare import Comparison, Difference
from lockstep.errors import (
    ApiError,
    CheckFailed,
    Forbidden,
    JobFailed,
    LockstepError,
    NotFound,
    NotSchedulable,
    QuotaExceeded,
    RankError,
    Refused,
    TimeoutError,
    Unauthorized,
    Unreachable,
)
from lockstep.job import Job, Pod, Queue, Runtime, Withheld, World
from lockstep.phase import Phase
from lockstep.preflight import Finding, Preflight
from lockstep.trainer import MPITrainer
from lockstep.usage import Usage
from lockstep.webhook import WebhookFailed

__all__ = [
    "ApiError",
    "Artifacts",
    "Cause",
    "CheckFailed",
    "Comparison",
    "Difference",
    "Finding",
    "Forbidden",
    "Job",
    "JobFailed",
    "LockstepError",
    "LockstepWarning",
    "MPIClient",
    "MPITrainer",
    "NotFound",
    "NotSchedulable",
    "Phase",
    "Pod",
    "Preflight",
    "Queue",
    "QuotaExceeded",
    "RankError",
    "Refused",
    "Runtime",
    "TimeoutError",
    "Unauthorized",
    "Unreachable",
    "Usage",
    "WebhookFailed",
    "Withheld",
    "World",
    "progress",
]
