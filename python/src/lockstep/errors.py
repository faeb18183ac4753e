"""What goes wrong, as types. All are RuntimeErrors, as those of Kubeflow's SDK are."""

from __future__ import annotations

import builtins
import json
import re
from typing import TYPE_CHECKING, Any

from kubernetes.client import ApiException

if TYPE_CHECKING:
    from lockstep.cause import Cause
    from lockstep.job import Job

# How the API server begins the message of a policy or webhook, and the reason of a refusal (pkg/jobs/apierror).
_BY = r"""ValidatingAdmissionPolicy '[^']*'(?: with binding '[^']*')?|admission webhook "[^"]*\""""
_POLICY = re.compile(rf"(?:{_BY}) denied (?:the )?request: ")
_REFUSED = re.compile(r"^.*? is (?:forbidden|invalid): ")
_KINDS = {"trainjobs": "TrainJob", "clustertrainingruntimes": "ClusterTrainingRuntime"}
_KINDS |= {"trainingruntimes": "TrainingRuntime", "namespaces": "namespace", "pods": "pod"}

# How the API server says that a right is missing (k8s.io/apiserver pkg/endpoints/handlers/responsewriters).
_LACKS = re.compile(r'User "([^"]*)" cannot (\S+) resource "([^"]*)"(?: in API group "[^"]*")?(?: in the namespace "([^"]*)"| at the cluster scope)')


class LockstepError(RuntimeError):
    """Something that Lockstep, or the API server that it asked, did not do; the message says what, and what to do where that is known."""


class CheckFailed(LockstepError, ValueError):
    """A check before submission found a mistake, and ``strict=True`` was asked for. Nothing was created."""


class ApiError(LockstepError):
    """The API server answered with an error that has no type of its own."""


class Forbidden(LockstepError):
    """The user lacks a right: ``User 'jane' lacks 'create' permission for trainjobs in namespace 'team-cv'``."""

    #: Who lacks which right, as in the message; empty where the API server does not say.
    user: str = ""
    verb: str = ""
    resource: str = ""
    namespace: str = ""


class Unauthorized(LockstepError):
    """The API server does not know the user: a token or a certificate has expired, or is of another cluster."""


class NotFound(LockstepError):
    """There is no object of this name, or the cluster does not have this kind of object."""


class Refused(LockstepError):
    """A limit or an admission policy does not take the job; the message has the words of whoever refused it."""


class Unreachable(LockstepError):
    """No API server answers, or not in time."""


class JobFailed(LockstepError):
    """A job is over and did not do what was asked. The message is that of its condition."""

    def __init__(self, message: str, job: Job | None = None, cause: Cause | None = None) -> None:
        super().__init__(message)
        #: The job as it was then; None where it was not created.
        self.job = job
        #: Why: the reason and the text of the condition; None where nobody says.
        self.cause = cause
        #: What ranks of a function have raised, in the order of the log; the first one is ``__cause__`` too.
        self.ranks: list[RankError] = []


class RankError(LockstepError):
    """An exception of a function that ran as one rank, as the log of the launcher has it. It is the ``__cause__`` of :class:`JobFailed`."""

    def __init__(self, rank: int | None, kind: str, message: str, traceback: str, host: str = "") -> None:
        who = "a rank" if rank is None else f"rank {rank}"
        super().__init__(f"{who} raised {kind}{f': {message}' if message else ''}\n\n{traceback}".rstrip())
        #: Which rank; None where its launcher does not say.
        self.rank = rank
        #: The name of the type of the exception, such as ``ValueError``: the type itself may not exist here.
        self.kind = kind
        #: ``str()`` of the exception, its first 500 characters.
        self.message = message
        #: What Python printed there; of a long one the end.
        self.traceback = traceback
        #: The name of the pod's host.
        self.host = host


class QuotaExceeded(JobFailed):
    """A quota leaves no room: the API server refused the job, or the job failed because its pods do not fit."""


class NotSchedulable(JobFailed):
    """A job failed because its pods found no machines."""


class TimeoutError(LockstepError, builtins.TimeoutError):
    """A job was not where it was waited for in time; the job goes on."""

    def __init__(self, message: str, job: Job | None = None) -> None:
        super().__init__(message)
        #: The job as it was then, with what keeps it in ``job.cause``.
        self.job = job


def of_job(job: Job) -> JobFailed:
    """The error of a job that failed."""
    reason = job.cause.reason if job.cause else ""
    kind = {"QuotaExceeded": QuotaExceeded, "Unschedulable": NotSchedulable, "GangTimeout": NotSchedulable}.get(reason, JobFailed)
    return kind(f"job {job.name} failed: {job.cause}" if job.cause else f"job {job.name} failed", job, job.cause)


def explained(error: BaseException) -> LockstepError:
    """The error of a request in plain words. What is none of the API server's is that of a server that does not answer."""
    if not isinstance(error, ApiException):
        return Unreachable(f"cannot reach the API server: {error}")
    said = _answer(error)
    message = str(said.get("message"))
    if error.status == 401:
        return Unauthorized("the API server does not know you: the token or certificate of the kubeconfig has expired, or is not of this cluster")
    if error.status == 403 or (error.status == 422 and _POLICY.search(message)):
        return _forbidden(message)
    details = said.get("details") or {}
    kind, name = details.get("kind") or "", details.get("name")
    if error.status == 404 and name:
        return NotFound(f"there is no {_KINDS.get(kind, kind)} `{name}`")
    if error.status == 404:
        what = f"{kind}.{details.get('group') or ''}".strip(".") or "this kind of object"
        return NotFound(f"this cluster does not have {what}")
    if said.get("reason") == "AlreadyExists" and name:
        return ApiError(f"there is a {_KINDS.get(kind, kind)} `{name}` already. Choose another name")
    if error.status == 422:
        return ApiError(_refusal(message))
    return ApiError(f"the API server answered {error.status}: {message}")


def _forbidden(message: str) -> LockstepError:
    """Tells a missing right from what admission refuses: both are answered with 403."""
    found = _LACKS.search(message)
    if found is None:
        why = _refusal(message)
        if "exceeded quota" not in why:
            return Refused(why)
        over = ". The quota counts jobs that are over too: delete some" if "count/trainjobs" in why else ""
        return QuotaExceeded(why + over)
    user, verb, resource, namespace = found.groups()
    where = f"in namespace '{namespace}'" if namespace else "in the whole cluster"
    error = Forbidden(f"User '{user}' lacks '{verb}' permission for {resource} {where}")
    error.user, error.verb, error.resource, error.namespace = user, verb, resource, namespace or ""
    return error


def _refusal(message: str) -> str:
    return "the API server refuses it: " + _REFUSED.sub("", _POLICY.sub("", message))


def _answer(error: ApiException) -> dict[str, Any]:
    """The Status that an API server answers with; proxies before it may answer with anything."""
    body = error.body.decode(errors="replace") if isinstance(error.body, bytes) else error.body
    try:
        said = json.loads(body or "")
        if isinstance(said, dict) and said.get("message"):
            return said
    except ValueError:
        pass
    return {"message": error.reason or body or ""}
