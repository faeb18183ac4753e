"""Submits MPI jobs, looks at them and waits for them."""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import math
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from datetime import datetime, timezone
from functools import partial
from typing import Any, Literal

import yaml
from kubeflow.trainer import KubernetesBackendConfig, TrainerClient
from kubeflow.trainer.options import Name
from kubeflow.trainer.types import types
from kubernetes.client import ApiException
from kubernetes.config import ConfigException

from lockstep import _events, _function, _kept, _kubeflow, _live, _view
from lockstep._api import Api, Paths, named
from lockstep._checks import check, warn_of_end
from lockstep._credentials import impersonated, renewal
from lockstep._files import among_files, files_of
from lockstep._logs import Line, PodLog, untagged
from lockstep._merge import Add, as_they_come, by_time
from lockstep._objects import (
    CLUSTER_RUNTIME,
    CONTAINER,
    INDEX_LABEL,
    JOBSET_LABEL,
    LAUNCHER,
    NODE,
    QUEUE_LABEL,
    ROLE_LABEL,
    RUNTIME,
    USER_ANNOTATION,
    Object,
    Objects,
    claims,
    labels,
    runtime_ref,
    spec,
    status,
    uid,
)
from lockstep._objects import attempt as attempt_of
from lockstep._objects import index as index_of
from lockstep._objects import name as name_of
from lockstep._objects import role as role_of
from lockstep._times import now
from lockstep._watch import Change, Watch, merged, retried
from lockstep.cause import Cause
from lockstep.compare import Comparison, Run, compared
from lockstep.errors import ApiError, Forbidden, JobFailed, LockstepError, NotFound, RankError, Refused, TimeoutError, Unreachable, explained, of_job
from lockstep.job import Job, Runtime, Withheld
from lockstep.phase import Phase
from lockstep.preflight import Finding, Preflight, judge
from lockstep.trainer import MPITrainer
from lockstep.webhook import Webhook

#: How much the JSON of a TrainJob may have that is applied, as in pkg/jobs/submit.
_MOST_APPLIED = 96 << 10
_API_VERSION = "trainer.kubeflow.org/v1alpha1"
#: Fields of an MPITrainer that ``clone`` changes, and what they are called in a TrainJob.
_CHANGES = {"nodes": "numNodes", "slots": "numProcPerNode", "command": "command", "args": "args", "image": "image"}
_CHANGES |= {"func": "command", "func_args": "", "launcher": "", "resources": "resourcesPerNode"}
#: Where the ConfigMap of a job keeps its runtime as it was when the job was made.
_SNAPSHOT = "runtime.json"
#: What is read of a job, as ``Job.unknown`` names it, and after how many seconds each it is read again where a right is missed at once.
_ASKED = {"pods", "jobsets", "runtimes"}
_LOOKS_AGAIN = (0.5, 1.0, 2.0, 4.0, 8.0)
#: How long after its status the record of a job may come, in seconds.
_RECORD_FOLLOWS = 3.0
#: In how many of the last lines the exceptions of ranks are looked for.
_RAISED = 10_000


class MPIClient(TrainerClient):
    """A client for MPI jobs in one namespace. It is Kubeflow's TrainerClient, with more: what works there works here.

    Args:
        backend_config: Kubeflow's configuration, where the arguments below are not enough.
        namespace: Where jobs are; by default that of the kubeconfig's context, or of the pod.
        context: The context of the kubeconfig; by default its current one.
        config_file: The kubeconfig; by default ``$KUBECONFIG`` or ``~/.kube/config``, and in a pod its service account.

    Raises:
        ValueError: backend_config is none of Kubernetes.
        LockstepError: There is no kubeconfig, or no such context in it, or it acts as another user (``as:``), which Python's client does not.

    All methods raise the errors of :mod:`lockstep.errors`: :class:`Forbidden`, :class:`Unauthorized`, :class:`NotFound`, :class:`Refused`,
    :class:`Unreachable`, :class:`ApiError`.

    Example:
        >>> client = MPIClient()  # doctest: +SKIP
        >>> client.wait(client.train("openmpi5-cpu", trainer=MPITrainer(nodes=2, slots=2, command=["mpirun", "mpi-hello"])))  # doctest: +SKIP
    """

    def __init__(
        self,
        backend_config: KubernetesBackendConfig | None = None,
        *,
        namespace: str | None = None,
        context: str | None = None,
        config_file: str | None = None,
    ) -> None:
        config = backend_config or KubernetesBackendConfig(namespace=namespace, context=context, config_file=config_file)
        if not isinstance(config, KubernetesBackendConfig):
            raise ValueError(f"MPI jobs run on Kubernetes: backend_config is a {type(config).__name__}, give a KubernetesBackendConfig")
        if other := impersonated(config):
            raise LockstepError(
                f"the kubeconfig says to act as `{other}`, which Python's client for Kubernetes does not do: you would act as yourself. "
                f"Use a kubeconfig with a certificate or token of {other}, or another context="
            )
        try:
            with _kubeflow.quiet():
                super().__init__(config)
        except ConfigException as e:
            raise LockstepError(f"no cluster is configured: {e} Set $KUBECONFIG, or give config_file= and context=") from e
        self._kubernetes: Any = self.backend
        #: The namespace of the jobs.
        self.namespace: str = self._kubernetes.namespace
        client = self._kubernetes.core_api.api_client
        self._api = Api(client, renewal(config, client))
        self._paths = Paths(self.namespace)
        self._user: str | None = None

    # To submit.

    def train(
        self,
        runtime: str | types.Runtime | None = None,
        initializer: types.Initializer | None = None,
        trainer: MPITrainer | types.CustomTrainer | types.CustomTrainerContainer | types.BuiltinTrainer | None = None,
        options: list[Any] | None = None,
        *,
        name: str | None = None,
        queue: str | None = None,
        strict: bool = False,
    ) -> str:
        """Creates a job and returns its name.

        Args:
            runtime: Its name, or a runtime of :meth:`runtimes`; a runtime of the namespace comes before one of the cluster.
                Without it the job gets the default one of the platform, or the only one.
            initializer: For runtimes of others; jobs of MPI runtimes have theirs in a manifest.
            trainer: An :class:`MPITrainer`, or any trainer of Kubeflow's.
            options: Options of ``kubeflow.trainer.options``.
            name: The name of the job; by default a random one.
            queue: The local queue of Kueue in which it waits for its turn.
            strict: Raises :class:`CheckFailed` where a check only warns.

        Raises:
            CheckFailed: strict, and the job will likely not do what is meant.
            QuotaExceeded: A quota for jobs is used up.

        Example:
            >>> client.train(runtime="openmpi5-cpu", trainer=MPITrainer(nodes=2, slots=2, command=["mpirun", "mpi-hello"]), name="hello")
            'hello'
        """
        if not isinstance(trainer, MPITrainer):
            if runtime is not None:
                ref = self._reference(runtime)
                warn_of_end(self._runtime(ref["kind"], ref["name"], []), stacklevel=3)
            more: list[Any] = [Name(name)] if name else []
            more += [partial(_add, "labels", {QUEUE_LABEL: queue})] if queue else []
            more += [partial(_add, "annotations", self._signature())]
            return self._train_otherwise(runtime, initializer, trainer, [*(options or []), *more])
        if initializer:
            raise ValueError("MPITrainer takes no initializer yet: write spec.initializer into a manifest, or mount a volume")
        made = self._checked(runtime, trainer, options, name, queue, strict)
        return name_of(self._api.create(self._paths.trainjobs, made))

    def dry_run(
        self,
        runtime: str | types.Runtime | None,
        trainer: MPITrainer,
        options: list[Any] | None = None,
        *,
        name: str | None = None,
        queue: str | None = None,
        strict: bool = False,
    ) -> Object:
        """Asks the API server whether it would take a job, and creates nothing. Arguments and errors are those of :meth:`train`.

        Returns:
            The TrainJob that would be stored, in Kubernetes' JSON.

        Example:
            >>> client.dry_run("openmpi5-cpu", MPITrainer(nodes=3))["spec"]["trainer"]
            {'numNodes': 3}
        """
        made = self._checked(runtime, trainer, options, name, queue, strict)
        return self._api.create(self._paths.trainjobs, made, dry_run=True)

    def to_yaml(
        self,
        runtime: str | types.Runtime | None,
        trainer: MPITrainer,
        options: list[Any] | None = None,
        *,
        name: str | None = None,
        queue: str | None = None,
    ) -> str:
        """The TrainJob that :meth:`train` would create, for ``kubectl apply`` or git. The API server is asked for the runtime only.

        Raises:
            ValueError: The manifest is larger than the annotation in which ``kubectl apply`` keeps a copy of it.

        Example:
            >>> print(client.to_yaml("openmpi5-cpu", MPITrainer(nodes=3), name="hello"))  # doctest: +ELLIPSIS
            apiVersion: trainer.kubeflow.org/v1alpha1
            kind: TrainJob
            ...
        """
        made = self._made(runtime, trainer, options, name, queue)
        text = json.dumps(made)
        size = len(text) + 5 * sum(text.count(c) for c in "<>&")  # kubectl escapes them
        if size > _MOST_APPLIED:
            raise ValueError(
                f"the manifest has {size >> 10} KiB, and `kubectl apply`, which keeps a copy in an annotation, "
                f"has room for {_MOST_APPLIED >> 10} KiB: call train(), or put what is large into a volume or the image"
            )
        return yaml.safe_dump(made, sort_keys=False, allow_unicode=True)

    def preflight(
        self,
        runtime: str | types.Runtime,
        trainer: MPITrainer,
        options: list[Any] | None = None,
        *,
        name: str | None = None,
        queue: str | None = None,
    ) -> Preflight:
        """What would become of a job, before it exists: it fits now, it waits, or it can never run as it is. Nothing is created.

        The API server is asked whether it would take the job, and quotas, claims and the queue are looked at. Not judged are the machines, the
        bounds of LimitRanges and quotas with scopes, which ``kubectl mpi preflight`` judges as well. Arguments are those of :meth:`train`.

        Example:
            >>> print(client.preflight("openmpi5-cpu", MPITrainer(nodes=2, slots=2)))
            fits now
        """
        made = self._made(runtime, trainer, options, name, queue)
        answer = Preflight()
        try:
            self._api.create(self._paths.trainjobs, made, dry_run=True)
        except Forbidden as e:
            answer.findings.append(Finding("rights", "never", f"you lack the right to {e.verb} {e.resource}"))
        except (ApiError, JobFailed, NotFound, Refused) as e:
            answer.findings.append(Finding("admission", "never", str(e)))
        withheld: list[Withheld] = []
        self._judge_room(made, answer, withheld)
        self._look_for_claims(made, answer, withheld)
        if queue:
            self._look_at_queue(queue, answer, withheld)
        answer.unseen += [f"{w.what}: {w.why}" for w in withheld]
        return answer

    def clone(self, name: str, *, new_name: str | None = None, strict: bool = False, **changes: Any) -> str:
        """Creates a job like another one, with changes, and returns its name. A TrainJob cannot be changed: this is how to run it again.

        Args:
            name: The job to copy. Its size, command, environment and labels are kept; its status, and that it was suspended, are not.
            new_name: The name of the new job; by default a random one.
            strict: See :meth:`train`.
            changes: nodes, slots, command, args, func, func_args, launcher, image, env (variables to set; None takes one away), resources,
                runtime or queue, as in :class:`MPITrainer` and :meth:`train`.

        Raises:
            TypeError: There is no such change.
            CheckFailed: See :meth:`train`.

        Example:
            >>> client.get_job(client.clone("train", nodes=4)).ranks
            8
        """
        made = _copied(self._get(name), new_name or _random_name())
        self._change(made, changes)
        kind, runtime = runtime_ref(made)
        check(made, self._runtime(kind, runtime, []), strict=strict)
        _add("annotations", self._signature(), made)
        return name_of(self._api.create(self._paths.trainjobs, made))

    def create_mpi_job(self, name: str | None = None, *, runtime: str, queue: str | None = None, strict: bool = False, **trainer: Any) -> str:
        """:meth:`train` with the arguments of :class:`MPITrainer` in one call.

        Example:
            >>> client.create_mpi_job("hello", runtime="openmpi5-cpu", nodes=2, slots=2, command=["mpirun", "mpi-hello"])
            'hello'
        """
        return self.train(runtime=runtime, trainer=MPITrainer(**trainer), name=name, queue=queue, strict=strict)

    # To look.

    def get_job(self, name: str) -> Job:
        """One job: phase, cause, ranks, machines, queue. What the user may not read is in ``job.unknown``.

        Raises:
            NotFound: There is no such job.

        Example:
            >>> job = client.get_job("train")
            >>> job.phase, job.ranks, job.runtime.name
            (<Phase.COMPLETE: 'Complete'>, 4, 'openmpi5-cpu')
        """
        return _view.job(self._objects(self._get(name)))

    def get_job_status(self, name: str) -> Phase:
        """The phase of a job, such as ``Running``.

        Example:
            >>> client.get_job_status("train") == "Complete"
            True
        """
        return self.get_job(name).phase

    def list_jobs(self, runtime: str | types.Runtime | None = None) -> list[Job]:  # type: ignore[override] # it takes a name as well
        """All jobs of the namespace, the newest first. It takes five requests, however many there are.

        Args:
            runtime: Only jobs of this runtime.

        Example:
            >>> "train" in [job.name for job in client.list_jobs(runtime="openmpi5-cpu")]
            True
        """
        wanted = runtime if isinstance(runtime, str) else runtime.name if runtime else None
        jobs = [j for j in self._api.list(self._paths.trainjobs)[0] if wanted in (None, runtime_ref(j)[1])]
        withheld: list[Withheld] = []
        jobsets = {name_of(o): o for o in self._readable("jobsets", self._paths.jobsets, withheld) or []}
        pods = self._readable("pods", self._paths.pods, withheld, labelSelector=JOBSET_LABEL)
        runtimes = {
            (kind, name_of(o)): o
            for kind in (CLUSTER_RUNTIME, RUNTIME)
            for o in self._readable("runtimes", self._paths.runtimes_of(kind), withheld) or []
        }
        of_job: dict[str, list[Object]] = {}
        for pod in pods or []:
            of_job.setdefault(labels(pod)[JOBSET_LABEL], []).append(pod)
        at = now()
        shown = [
            _view.job(
                Objects(
                    now=at,
                    trainjob=j,
                    runtime=runtimes.get(runtime_ref(j)),
                    jobset=jobsets.get(name_of(j)),
                    pods=None if pods is None else of_job.get(name_of(j), []),
                    withheld=withheld,
                )
            )
            for j in jobs
        ]
        return sorted(shown, key=lambda j: (j.creation_timestamp, j.name), reverse=True)

    def diagnose(self, name: str) -> Cause | None:
        """What keeps a job from running, or why it failed; None where nothing does.

        Reason and text are those of the condition of the TrainJob, which ``kubectl mpi why`` shows too.

        Example:
            >>> client.diagnose("failed").reason, client.diagnose("failed").remedy
            ('OOMKilled', 'raise the memory limit')
            >>> client.diagnose("train") is None
            True
        """
        return self.get_job(name).cause

    def diff(self, left: str, right: str) -> Comparison:
        """What differed between two jobs, as they really ran: runtime, image, command, environment, resources, volumes, size, times, results.

        What looks like a secret is compared, and not shown. Of a job whose pods are gone, what was asked for is compared.

        Raises:
            NotFound: There is no such job.

        Example:
            >>> again = client.clone("train", env={"LR": "0.1"})
            >>> [d for d in client.diff("train", again).differences if d.what.startswith("env")]
            [Difference(what='env LR', left='', right='0.1')]
        """
        return compared(self._ran(left), self._ran(right))

    def runtimes(self) -> list[Runtime]:
        """The MPI runtimes that jobs of this namespace can name, by name, with their size and bounds.

        Those of the cluster that its tenant may not use are left out, where the namespace can be read.

        Example:
            >>> [(runtime.name, runtime.world.slots) for runtime in client.runtimes()]
            [('openmpi5-cpu', 4)]
        """
        allowed = self._allowed()
        found: dict[str, Runtime] = {}
        for kind in (CLUSTER_RUNTIME, RUNTIME):  # those of the namespace come before those of the cluster
            for o in self._api.list(self._paths.runtimes_of(kind))[0]:
                if kind == RUNTIME or allowed is None or name_of(o) in allowed:
                    found[name_of(o)] = _kubeflow.runtime(o, kind)
        return sorted((r for r in found.values() if r.mpi), key=lambda r: r.name)

    def _allowed(self) -> set[str] | None:
        """The names of the cluster's runtimes that the tenant of the namespace may use, None where nothing says.

        See pkg/jobs/fetch/available_runtimes.go.
        """
        try:
            annotations = self._api.get(self._paths.namespace)["metadata"].get("annotations") or {}
        except (Forbidden, NotFound):
            return None
        if "lockstep.dev/runtimes" not in annotations:
            return None
        return {name for key in ("lockstep.dev/runtimes", "lockstep.dev/external-runtimes") for name in annotations.get(key, "").split(",")}

    # To wait.

    def wait(self, name: str, *, until: Phase | str | Collection[str] = (), timeout: float | None = None) -> Job:
        """Waits until a job is over, or in one of some phases, and returns it. The API server pushes changes: nothing is asked in a loop.

        Args:
            name: The job.
            until: A phase, or several; empty waits until it is over.
            timeout: How long to wait, in seconds; None waits forever.

        Raises:
            JobFailed: It failed or was refused, and that was not waited for. ``error.cause`` has the reason and the text of its condition.
                Some reasons have types of their own: QuotaExceeded, NotSchedulable. Of a function (``func=``) ``error.__cause__`` is the
                :class:`RankError` of the rank that raised first, as long as the log of the launcher can be read.
            TimeoutError: It is not there in time; ``error.job`` says where it is and what keeps it.
            NotFound: There is no such job, or it was deleted.
            ValueError: There is no such phase.

        Example:
            >>> client.wait("train", timeout=600).message
            'the launcher succeeded'
            >>> client.wait("failed")
            Traceback (most recent call last):
            lockstep.errors.JobFailed: job failed failed: OOMKilled: Worker 0 failed. What to do: raise the memory limit
        """
        phases = _phases(until)
        deadline = None if timeout is None else time.monotonic() + timeout
        trainjob = self._get(name)
        job = _view.job(self._objects(trainjob))
        watch = Watch(self._api, self._paths.trainjobs, of=trainjob, deadline=deadline, fieldSelector=f"metadata.name={name}")
        try:
            if not _there(job, phases):
                job = self._watched(watch, job, phases, deadline)
        finally:
            watch.close()
        if job.phase in phases or job.phase is Phase.COMPLETE:
            return job
        if job.finished:
            error = of_job(self._explained(job))
            error.ranks = self._raised(trainjob)
            raise error from next(iter(error.ranks), None)
        raise TimeoutError(f"job {name} is {job.phase} after {timeout:g} s{f': {job.cause}' if job.cause else ''}", job)

    def watch(self, name: str, *, timeout: float | None = None) -> Iterator[Job]:
        """A job as it is now, and again after each change of it, until it is over; the last one says how it ended.

        It goes on through lost connections, an API server that is started again, and tokens that expire where the kubeconfig has a new one.
        What came and went while nobody could look is not told: the job as it is then comes next.

        Args:
            name: The job.
            timeout: After how many seconds it ends without the job being over; None for never.

        Raises:
            NotFound: There is no such job, or it was deleted.

        Example:
            >>> [str(job.phase) for job in client.watch("train")]
            ['Complete']
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        trainjob = self._get(name)
        job = _view.job(self._objects(trainjob))
        watch = Watch(self._api, self._paths.trainjobs, of=trainjob, deadline=deadline, fieldSelector=f"metadata.name={name}")
        try:
            yield job
            for change in watch if not job.finished else ():
                _expect(change, job)
                last, job = job, self._again(job, deadline)
                if job != last:
                    yield job
                if job.finished:
                    return
        finally:
            watch.close()

    def show(self, name: str, *, lines: int = 5, timeout: float | None = None) -> Job:
        """Shows a job until it is over, as a table that follows it: phase, pods with their ranks, times, progress, and what it printed last.

        A notebook shows the table in its cell, a terminal in place. Elsewhere it is printed when the state is new. Interrupt it to look no
        longer: the job goes on.

        Args:
            name: The job.
            lines: How many of its last lines to show; 0 for none, and its log is not read then.
            timeout: After how many seconds it ends without the job being over; None for never.

        Returns:
            The job as it was shown last. A job that failed raises no error here: ``job.cause`` says why.

        Raises:
            NotFound: There is no such job, or it was deleted.

        Example:
            >>> client.show("train", lines=0).ranks  # doctest: +ELLIPSIS
            NAME ...
            4
        """
        log = self.logs(name, tail=lines, follow=True) if lines else iter(())
        return _live.follow(self.watch(name, timeout=timeout), log, lines, _live.screen())

    def on_end(self, name: str, then: Callable[[Job], object] | str, *, secret: str | None = None) -> Future[Job]:
        """Calls a function, or a URL, when a job is over, however it ended. It waits in a thread of this process.

        It is this process that waits: when it ends before the job does, nobody is told. Keep it, by ``result()`` of what is returned, or let
        something in the cluster watch jobs instead. A job that is deleted is not told of: ``result()`` raises NotFound then.

        Args:
            name: The job.
            then: Called with the job; or the URL of a webhook, which gets a POST as :mod:`lockstep.webhook` says: signed, and sent up to eight
                times in about four minutes while nobody takes it. It may come twice, with the same ``id``.
            secret: What the message to a URL is signed with; its receiver needs the same, see :func:`lockstep.webhook.verify`.

        Returns:
            The future job: ``result()`` waits until it is over and told of, and raises what went wrong with that.

        Raises:
            NotFound: There is no such job.
            ValueError: The URL is none, or there is no secret for it.

        Example:
            >>> client.on_end("train", lambda job: print(job.name, "is", job.phase)).result().phase == "Complete"
            train is Complete
            True
            >>> client.on_end("train", "https://chat.example/hook", secret="s3cret").result()  # doctest: +SKIP
        """
        tell: Callable[[Job], object] = Webhook(then, secret) if isinstance(then, str) else then
        self._get(name)
        told: Future[Job] = Future()

        def wait() -> None:
            try:
                job = self.wait(name, until=[p for p in Phase if p.finished])
                tell(job)
            except BaseException as e:  # noqa: BLE001 # whoever asks for the result raises it
                logging.getLogger("lockstep").warning("the end of job %s was not told of: %s", name, e)
                told.set_exception(e)
            else:
                told.set_result(job)

        threading.Thread(target=wait, daemon=True, name="lockstep-on-end").start()
        return told

    def stream_job_events(self, name: str, *, follow: bool = True) -> Iterator[types.Event]:
        """The events of a job, its pods and what lies between, as they come; those that there are come first, by time.

        An event that happens again comes again. It ends when the job is over; with ``follow=False`` at once.

        Raises:
            NotFound: There is no such job.

        Example:
            >>> for event in client.stream_job_events("train", follow=False):
            ...     print(event.reason, event.message)
            Completed the launcher succeeded
        """
        job = self._get(name)
        items, _ = self._api.list(self._paths.events)
        seen = set()
        for event in sorted((e for e in items if _events.about(e, job)), key=_events.when):
            seen.add(_events.occurrence(event))
            yield _events.shown(event)
        if not follow:
            return
        for event in self._events_until_over(job):
            if _events.about(event, job) and _events.occurrence(event) not in seen:
                seen.add(_events.occurrence(event))
                yield _events.shown(event)

    def logs(
        self,
        name: str,
        *,
        rank: int | None = None,
        role: Literal["launcher", "node"] = "launcher",
        index: int = 0,
        merge: bool = False,
        tail: int | None = None,
        since: float | datetime | None = None,
        follow: bool = False,
        attempt: int | None = None,
    ) -> Iterator[str]:
        """The lines that a job has printed, without their newlines. Launchers of MPI print what all ranks print.

        If the job or its pods are gone, the lines of all attempts come from the history of the cluster.

        A line of more than 1 MiB goes on as another one. Of a long log, kubelet keeps only the newest part: a warning of the logger ``lockstep``
        reports a lost beginning, and the lines start with the first whole one.

        Args:
            name: The job.
            rank: Only lines of this rank, without their tags. They are known where the launcher tags them: ``mpirun --tag-output`` (Open MPI 4),
                ``mpirun --output tag`` (Open MPI 5), ``mpiexec -l`` (MPICH, Intel MPI).
            role: ``launcher``, or ``node`` for what a node itself says.
            index: Which node, from 0.
            merge: The lines of all pods by time, each behind ``launcher|`` or ``node-0|``; role and index are not looked at. With follow a line
                waits 2 s for older ones of other pods.
            tail: Only so many of the last lines that there are, of each pod; 0 for none.
            since: Only lines of the last so many seconds, or since a time with a zone.
            follow: Goes on until the job is over. It waits for the pod, and when the job is started again, for the next one. A stream that
                breaks is opened where it broke: no line is lost, and none comes twice.
            attempt: Only what was printed after so many restarts, from the history.

        Raises:
            NotFound: There is no such job, or, without follow, it has no such pod (yet, or any more), and the history
                does not keep it either.
            ValueError: An argument is out of range, or there are both a rank and merge.

        Example:
            >>> for line in client.logs("train", rank=0, follow=True):  # doctest: +SKIP
            ...     print(line)
        """
        if role not in (LAUNCHER, NODE):
            raise ValueError(f"role is `{role}`: give `{LAUNCHER}` or `{NODE}`")
        if index < 0:
            raise ValueError(f"index is {index}: give 0 or more")
        if merge and rank is not None:
            raise ValueError("there are both a rank and merge: what a rank prints is in the log of the launcher")
        query = _where_to_begin(tail, since)

        def wants(pod: Object) -> bool:
            ours = merge or (role_of(pod), index_of(pod)) == (role, index)
            return ours and attempt in (None, attempt_of(pod))

        kept = partial(self._kept, name, query, wants, merge)
        try:
            if attempt is not None:
                raise NotFound(f"the history keeps no job {name}")
            job = self._get(name)  # now, and not with the first line
        except NotFound:
            if (lines := kept()) is None:
                raise
        else:
            # JobSet deletes the pods of nodes at the end.
            if merge and _over("", job, job) and (lines := kept(uid(job), whole=True)) is not None:
                return lines
            if merge:
                live = self._follow_all(job, query) if follow else self._read_all(job, query)
            else:
                read = self._follow if follow else self._read
                live = (line.text for line in read(job, role, index, query))
            lines = _live_or(live, partial(kept, uid(job)), follow)
        return lines if rank is None else (text for by, text in map(untagged, lines) if by == rank)

    def get_job_logs(
        self, name: str, step: str = "node-0", follow: bool | None = False, *, pod_type: str | None = None, pod_index: int = 0
    ) -> Iterator[str]:
        """The log of a step, as Kubeflow's client reads it; with pod_type (``launcher``, or ``worker`` for a node) it is :meth:`logs`.

        Example:
            >>> list(client.get_job_logs("train", pod_type="worker", pod_index=0))  # doctest: +SKIP
        """
        if pod_type is None:
            return super().get_job_logs(name, step, follow)
        roles: dict[str, Literal["launcher", "node"]] = {"launcher": "launcher", "worker": "node", "node": "node"}
        if (role := roles.get(pod_type.lower())) is None:
            raise ValueError(f"pod_type is `{pod_type}`: give `launcher` or `worker`")
        return self.logs(name, role=role, index=pod_index, follow=bool(follow))

    # To steer.

    def suspend(self, name: str) -> None:
        """Ends the pods of a job and keeps the job. A job of a queue gets its room back in its turn only when the queue resumes it.

        Example:
            >>> client.suspend("waits")
            >>> client.get_job("waits").phase == "Suspended"
            True
        """
        self._api.patch(named(self._paths.trainjobs, name), {"spec": {"suspend": True}})

    def resume(self, name: str) -> None:
        """Lets a suspended job begin again, from the start of its command. One that waits in a queue is the queue's to resume.

        Example:
            >>> client.resume("waits")
        """
        self._api.patch(named(self._paths.trainjobs, name), {"spec": {"suspend": False}})

    def delete(self, name: str, *, grace_period: int | None = None) -> None:
        """Deletes a job with its pods and all else that was made for it.

        Args:
            name: The job.
            grace_period: How many seconds its programs have to end, 0 for none; by default as many as the runtime gives. Somebody who may not
                delete pods cannot change it: then nothing is deleted.

        Raises:
            NotFound: There is no such job.
            Forbidden: The user may not delete it, or not its pods where a grace_period is given.
            ValueError: grace_period is less than 0.

        Example:
            >>> client.delete("train", grace_period=0)
        """
        if grace_period is not None and grace_period < 0:
            raise ValueError(f"grace_period is {grace_period}: give 0 or more seconds")
        pods: list[Object] = []
        if grace_period is not None:
            pods, _ = self._api.list(self._paths.pods, labelSelector=f"{JOBSET_LABEL}={name}")
        for pod in pods[:1]:
            self._api.delete(named(self._paths.pods, name_of(pod)), {"dryRun": ["All"]})
        self._api.delete(named(self._paths.trainjobs, name), {"propagationPolicy": "Background"})
        for pod in pods:
            with suppress(NotFound):  # one may have gone by itself
                options = {"gracePeriodSeconds": grace_period, "preconditions": {"uid": uid(pod)}}
                self._api.delete(named(self._paths.pods, name_of(pod)), options)

    def delete_job(self, name: str) -> None:
        """:meth:`delete`, as Kubeflow's client calls it.

        Example:
            >>> client.delete_job("train")
        """
        self.delete(name)

    # What it is made of.

    def _train_otherwise(self, runtime: Any, initializer: Any, trainer: Any, options: list[Any]) -> str:
        """As Kubeflow's client does, with errors that say what the API server said."""
        try:
            return super().train(runtime, initializer, trainer, options or None)
        except RuntimeError as e:
            if isinstance(e.__cause__, ApiException):
                raise explained(e.__cause__) from e
            raise

    def _made(self, runtime: Any, trainer: MPITrainer, options: list[Any] | None, name: str | None, queue: str | None) -> Object:
        """The TrainJob of a trainer and options."""
        if not isinstance(trainer, MPITrainer):
            raise TypeError(f"the trainer is {trainer!r}: give an MPITrainer")
        ref = self._reference(runtime)
        job: dict[str, Any] = {}
        for option in [*(options or []), *trainer.patches()]:
            option(job, trainer, self.backend)
        metadata = job.get("metadata") or {}
        metadata["name"] = name or metadata.get("name") or _random_name()
        if queue:
            metadata["labels"] = {**(metadata.get("labels") or {}), QUEUE_LABEL: queue}
        wanted = job.get("spec") or {}
        made = {"runtimeRef": ref, **wanted, "trainer": {**trainer.spec(), **(wanted.get("trainer") or {})}}
        return {"apiVersion": _API_VERSION, "kind": "TrainJob", "metadata": metadata, "spec": made}

    def _checked(self, runtime: Any, trainer: MPITrainer, options: list[Any] | None, name: str | None, queue: str | None, strict: bool) -> Object:
        made = self._made(runtime, trainer, options, name, queue)
        kind, runtime_name = runtime_ref(made)
        check(made, self._runtime(kind, runtime_name, []), strict=strict)
        _add("annotations", self._signature(), made)
        return made

    def _signature(self) -> dict[str, str]:
        """Who submits, for ``kubectl mpi list --mine``. Where the API server does not say who asks, nobody is named."""
        if self._user is None:
            asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
            try:
                self._user = str(status(self._api.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", asked))["userInfo"]["username"])
            except (LockstepError, KeyError):
                self._user = ""
        return {USER_ANNOTATION: self._user} if self._user else {}

    def _reference(self, runtime: str | types.Runtime | None) -> Object:
        """What a TrainJob says of its runtime. One of the namespace comes before one of the cluster."""
        if runtime is None:
            runtime = self._offered()
        if isinstance(runtime, types.Runtime):
            return {"apiGroup": "trainer.kubeflow.org", "kind": runtime.kind.value, "name": runtime.name}
        mine = self._runtime(RUNTIME, runtime, [])
        return {"apiGroup": "trainer.kubeflow.org", "kind": RUNTIME if mine else CLUSTER_RUNTIME, "name": runtime}

    def _offered(self) -> Runtime:
        """The default runtime, or the only one, as ``kubectl mpi submit`` chooses it."""
        runtimes = self.runtimes()
        for offered in ([r for r in runtimes if r.default], [r for r in runtimes if not r.deprecated]):
            if len(offered) == 1:
                return offered[0]
        if not runtimes:
            raise ValueError("there is no MPI runtime that you may see: name one, or ask the platform team")
        names = ", ".join(r.name for r in runtimes)
        raise ValueError(f"which runtime? None of them is the default: name one of {names}")

    def _change(self, made: Object, changes: dict[str, Any]) -> None:
        known = [*_CHANGES, "env", "runtime", "queue"]
        unknown = sorted(set(changes) - set(known))
        if unknown:
            raise TypeError(f"clone cannot change {', '.join(unknown)}: it changes {', '.join(known)}")
        trainer = made["spec"].setdefault("trainer", {})
        given = {k: v for k, v in changes.items() if k in _CHANGES}
        for field in (k for k, v in given.items() if v is None):
            trainer.pop(_CHANGES[field], None)
        trainer.update(MPITrainer(**given).spec())
        if files_of(made) and trainer.get("command"):
            trainer["command"] = among_files(trainer["command"])
        if env := changes.get("env"):
            if not isinstance(env, Mapping):
                raise TypeError(f"env is {env!r}: give a dict of variables")
            kept = [v for v in trainer.get("env") or [] if v["name"] not in env]
            trainer["env"] = kept + [{"name": k, "value": str(v)} for k, v in env.items() if v is not None]
        if "runtime" in changes:
            made["spec"]["runtimeRef"] = self._reference(changes["runtime"])
        if "queue" in changes:
            made["metadata"]["labels"].pop(QUEUE_LABEL, None)
            made["metadata"]["labels"] |= {QUEUE_LABEL: changes["queue"]} if changes["queue"] else {}

    def _get(self, name: str) -> Object:
        return self._api.get(named(self._paths.trainjobs, name))

    def _objects(self, trainjob: Object) -> Objects:
        """What the API server has of a job, with the rights of the user."""
        withheld: list[Withheld] = []
        name = name_of(trainjob)
        return Objects(
            now=now(),
            trainjob=trainjob,
            runtime=self._runtime(*runtime_ref(trainjob), withheld),
            jobset=self._one("jobsets", named(self._paths.jobsets, name), withheld),
            pods=self._readable("pods", self._paths.pods, withheld, labelSelector=f"{JOBSET_LABEL}={name}"),
            withheld=withheld,
        )

    def _ran(self, name: str) -> Run:
        """A job as it ran. What is gone of it, or may not be read, is left out."""
        job = self._get(name)
        ours = partial(_owned, uid(job))
        jobset = self._one("jobsets", named(self._paths.jobsets, name), [])
        text = ours(self._one("configmaps", named(self._paths.config_maps, f"{name}-mpi-hostfile"), []) or {}).get("data", {}).get(_SNAPSHOT, "")
        with suppress(ValueError):
            snapshot = json.loads(text)
            return Run(now(), job, ours(jobset or {}) or None, snapshot, hashlib.sha256(text.encode()).hexdigest())
        return Run(now(), job, ours(jobset or {}) or None)

    def _judge_room(self, made: Object, answer: Preflight, withheld: list[Withheld]) -> None:
        """Whether the namespace has room."""
        kind, name = runtime_ref(made)
        runtime = self._runtime(kind, name, withheld)
        if runtime:
            quotas = self._readable("quotas", self._paths.quotas, withheld) or []
            limits = self._readable("LimitRanges", self._paths.limits, withheld) or []
            room = judge(made, runtime, quotas, limits)
            answer.findings += room.findings
            answer.unseen += room.unseen
            answer.largest_nodes = room.largest_nodes
        elif not withheld:
            answer.findings.append(
                Finding("runtime", "never", f"there is no runtime `{name}`: runtimes() lists those that there are", "RuntimeNotFound")
            )

    def _look_for_claims(self, made: Object, answer: Preflight, withheld: list[Withheld]) -> None:
        """Whether the claims are there that its trainer mounts: a job without them waits."""
        unread: list[Withheld] = []
        missing = [c for c in claims(made) if not self._one("volumes", named(self._paths.claims, c), unread)]
        withheld += unread
        if missing and not unread:
            text = f"there is no claim {', '.join(f'`{c}`' for c in missing)} in the namespace: the job waits until somebody creates it"
            answer.findings.append(Finding("volumes", "waits", text, "VolumeClaimMissing"))

    def _look_at_queue(self, queue: str, answer: Preflight, withheld: list[Withheld]) -> None:
        """Who waits in a queue of Kueue. Jobs of other namespaces may wait for the same machines, which only Kueue sees."""
        before = len(withheld)
        found = self._one("queue", named(self._paths.queues, queue), withheld)
        if found is None and len(withheld) == before:
            answer.findings.append(Finding("queue", "never", f"there is no queue `{queue}` in the namespace: name one that there is"))
        waiting = int(status(found or {}).get("pendingWorkloads") or 0)
        if waiting:
            answer.position = waiting + 1
            who = "1 job waits" if waiting == 1 else f"{waiting} jobs wait"
            answer.findings.append(Finding("queue", "waits", f"{who} in queue `{queue}`; a new one comes behind those of its priority"))

    def _runtime(self, kind: str, name: str, withheld: list[Withheld]) -> Object | None:
        return self._one("runtimes", named(self._paths.runtimes_of(kind), name), withheld)

    def _one(self, what: str, path: str, withheld: list[Withheld]) -> Object | None:
        """One object, None where there is none or where the user may not read it, which is noted."""
        try:
            return self._api.get(path)
        except NotFound:
            return None
        except Forbidden as e:
            _note(withheld, what, e)
            return None

    def _readable(self, what: str, path: str, withheld: list[Withheld], **query: str) -> list[Object] | None:
        try:
            return self._api.list(path, **query)[0]
        except (NotFound, Forbidden) as e:
            _note(withheld, what, e)
            return None

    def _again(self, last: Job, deadline: float | None) -> Job:
        """A job as it is now. An API server that starts may withhold for a moment what it showed before: that is asked for again."""
        before = {w.what for w in last.unknown}
        for pause in (*_LOOKS_AGAIN, None):
            job = retried(lambda: self.get_job(last.name), deadline)
            if pause is None or not ({w.what for w in job.unknown} - before) & _ASKED:
                break
            time.sleep(pause if deadline is None else max(0.0, min(pause, deadline - time.monotonic())))
        return job

    def _watched(self, watch: Watch, job: Job, phases: set[Phase], deadline: float | None) -> Job:
        """Follows a job until it is there, over or out of time. Only what a change may mean is read."""
        for change in watch:
            _expect(change, job)
            shown = _view.job(Objects(now=now(), trainjob=change.object))
            if phases or shown.finished:
                job = self._again(job, deadline)
                if _there(job, phases):
                    return job
        with suppress(Unreachable):  # it is late: what was known last is better than nothing
            job = self.get_job(job.name)
        return job

    def _explained(self, job: Job) -> Job:
        """A failed job with the parts of its cause: mpi-controller writes its record right after its status."""
        until = time.monotonic() + _RECORD_FOLLOWS
        mpi = isinstance(job.runtime, Runtime) and job.runtime.mpi
        while mpi and job.cause and not job.cause.whose and time.monotonic() < until:
            time.sleep(0.1)
            try:
                job = self.get_job(job.name)
            except LockstepError:
                break
        return job

    def _raised(self, trainjob: Object) -> list[RankError]:
        """What ranks of a function have raised, by the log of the launcher; it may be gone, or not for this user."""
        if not _function.ships(trainjob):
            return []
        try:
            return _function.raised(self.logs(name_of(trainjob), tail=_RAISED))
        except LockstepError:
            return []

    def _events_until_over(self, job: Object) -> Iterator[Object]:
        """Events as they come. When the job is over they are read once more: the last ones may come after the news of that."""
        events = Watch(self._api, self._paths.events)
        jobs = Watch(self._api, self._paths.trainjobs, of=job, fieldSelector=f"metadata.name={name_of(job)}")
        for watch, change in merged(events, jobs):
            if watch is events:
                if change.kind != "DELETED":
                    yield change.object
            elif _over(change.kind, change.object, job):
                break
        yield from sorted(retried(lambda: self._api.list(self._paths.events))[0], key=_events.when)

    def _kept(
        self,
        name: str,
        query: dict[str, str],
        wants: Callable[[Object], bool],
        merge: bool,
        uid: str = "",
        whole: bool = False,
    ) -> Iterator[str] | None:
        """What the history keeps of the output of a job, None without it, or if it has not all that is wanted."""
        job = _kept.find(self._api, self._paths, name, uid)
        if job is None or (whole and not _kept.is_whole(job)):
            return None
        found = _kept.read(self._api, self._paths, job, query, wants)
        return (f"{_label(pod)}| {text}" if merge else text for pod, text in found)

    def _read(self, job: Object, role: str, index: int, query: dict[str, str]) -> Iterator[Line]:
        pods, _ = self._api.list(self._paths.pods, labelSelector=_selector(job, role, index))
        if not pods:
            shown = self.get_job(name_of(job))
            raise NotFound(f"job {shown.name} is {shown.phase} and has no pod {role} {index}: there is no log to read")
        newest = max(pods, key=lambda p: str(p["metadata"].get("creationTimestamp")))
        if _began(newest):
            yield from PodLog(self._api, self._paths, newest).read(query)

    def _follow(self, job: Object, role: str, index: int, query: dict[str, str]) -> Iterator[Line]:
        seen: set[str] = set()
        while pod := self._next_pod(job, role, index, seen):
            seen.add(uid(pod))
            yield from PodLog(self._api, self._paths, pod).follow(query)
            query = {}  # where to begin was asked of the first

    def _read_all(self, job: Object, query: dict[str, str]) -> Iterator[str]:
        pods, _ = self._api.list(self._paths.pods, labelSelector=_selector(job))
        if not pods:
            raise NotFound(f"job {name_of(job)} has no pod: there is no log to read")
        newest = {_label(p): p for p in sorted(pods, key=lambda p: str(p["metadata"].get("creationTimestamp"))) if _began(p)}
        yield from by_time({label: PodLog(self._api, self._paths, newest[label]).read(query) for label in sorted(newest)})

    def _follow_all(self, job: Object, query: dict[str, str]) -> Iterator[str]:
        pods = Watch(self._api, self._paths.pods, labelSelector=_selector(job))
        jobs = Watch(self._api, self._paths.trainjobs, of=job, fieldSelector=f"metadata.name={name_of(job)}")
        try:
            yield from as_they_come(partial(self._each_pod, job, query, pods, jobs))
        finally:
            pods.close()
            jobs.close()

    def _each_pod(self, job: Object, query: dict[str, str], pods: Watch, jobs: Watch, add: Add) -> None:
        """Adds the pods of a job as their containers start, until it is over."""
        seen: set[str] = set()

        def found(pod: Object) -> None:
            if _began(pod) and uid(pod) not in seen:
                seen.add(uid(pod))
                add(_label(pod), PodLog(self._api, self._paths, pod).follow(query))

        for watch, change in merged(pods, jobs):
            if watch is pods and change.kind != "DELETED":
                found(change.object)
            elif watch is jobs and _over(change.kind, change.object, job):
                break
        # The news of the end may be ahead of that of a pod.
        for pod in retried(lambda: self._api.list(self._paths.pods, labelSelector=_selector(job)))[0]:
            found(pod)

    def _next_pod(self, job: Object, role: str, index: int, seen: set[str]) -> Object | None:
        """Waits for a pod whose container has started, None when the job is over without another one."""
        pods = Watch(self._api, self._paths.pods, labelSelector=_selector(job, role, index))
        jobs = Watch(self._api, self._paths.trainjobs, of=job, fieldSelector=f"metadata.name={name_of(job)}")
        for watch, change in merged(pods, jobs):
            if watch is pods:
                if change.kind != "DELETED" and _began(change.object) and uid(change.object) not in seen:
                    return change.object
            elif _over(change.kind, change.object, job):
                break
        # The news of the end may be ahead of that of the pod.
        left, _ = retried(lambda: self._api.list(self._paths.pods, labelSelector=_selector(job, role, index)))
        return next((p for p in left if _began(p) and uid(p) not in seen), None)


def _expect(change: Change, job: Job) -> None:
    """Raises where a change says that the job is gone, or another one has its name."""
    if change.kind == "DELETED" or uid(change.object) != job.uid:
        raise NotFound(f"job {job.name} was deleted while it was waited for")


def _phases(until: Phase | str | Collection[str] | None) -> set[Phase]:
    try:
        return {Phase(p[:1].upper() + p[1:]) for p in ([until] if isinstance(until, str) else until or ())}
    except ValueError as e:
        raise ValueError(f"{e}: give some of {', '.join(Phase)}") from None


def _there(job: Job, phases: set[Phase]) -> bool:
    return job.finished or job.phase in phases


def _over(kind: str, trainjob: Object, job: Object) -> bool:
    """Whether a job is over, or gone."""
    if kind == "DELETED" or uid(trainjob) != uid(job):
        return True
    return any(c["type"] in ("Complete", "Failed") and c["status"] == "True" for c in status(trainjob).get("conditions") or [])


def _note(withheld: list[Withheld], what: str, e: LockstepError) -> None:
    if all(w.what != what for w in withheld):
        withheld.append(Withheld(what, str(e)))


def _add(what: str, entries: dict[str, str], made: Object, *_: Any) -> None:
    """Adds labels or annotations to a TrainJob; called as an option of Kubeflow's SDK too."""
    metadata = made.setdefault("metadata", {})
    if entries:
        metadata[what] = {**(metadata.get(what) or {}), **entries}


def _owned(by: str, o: Object) -> Object:
    """An object, if it was made for a job; another one may have its name."""
    owners = (o.get("metadata") or {}).get("ownerReferences") or []
    return o if any(r.get("controller") and r.get("uid") == by for r in owners) else {}


def _random_name() -> str:
    """A name as Kubeflow's SDK gives them: a letter and eleven hexadecimal digits."""
    return "j" + secrets.token_hex(6)[:11]


def _copied(trainjob: Object, name: str) -> Object:
    """What a user asked for, without what others have written since."""
    old = trainjob["metadata"]
    kept = {k: v for k, v in (old.get("labels") or {}).items() if not k.startswith("lockstep.dev/")}
    ours, asked = ("lockstep.dev/", "kubectl.kubernetes.io/"), ("lockstep.dev/trace", "lockstep.dev/artifacts")
    notes = {k: v for k, v in (old.get("annotations") or {}).items() if k in asked or not k.startswith(ours)}
    wanted = copy.deepcopy(spec(trainjob))
    for others in ("suspend", "managedBy"):
        wanted.pop(others, None)
    # Kueue writes where it placed a job, and refuses to when somebody has. So does pkg/jobs/submit/clone_and_set.go.
    patches = [p for p in wanted.pop("runtimePatches", None) or [] if "kueue.x-k8s.io" not in p["manager"]]
    if patches:
        wanted["runtimePatches"] = [{k: v for k, v in p.items() if k != "time"} for p in patches]
    return {
        "apiVersion": _API_VERSION,
        "kind": "TrainJob",
        "metadata": {"name": name, "labels": kept, "annotations": notes},
        "spec": wanted,
    }


def _selector(job: Object, role: str = "", index: int = 0) -> str:
    """One pod of a job, or all."""
    return f"{JOBSET_LABEL}={name_of(job)}" + (f",{ROLE_LABEL}={role},{INDEX_LABEL}={index}" if role else f",{ROLE_LABEL} in ({LAUNCHER},{NODE})")


def _live_or(live: Iterator[str], kept: Callable[[], Iterator[str] | None], follow: bool) -> Iterator[str]:
    """The lines of pods, or kept ones if the pods are gone."""
    gone: NotFound | None = None
    came = False
    try:
        for text in live:
            came = True
            yield text
    except NotFound as e:
        if came:
            raise
        gone = e
    if gone or (follow and not came):
        lines = kept()
        if lines is None and gone:
            raise gone
        yield from lines or ()


def _label(pod: Object) -> str:
    """What the lines of a pod begin with: ``launcher``, ``node-3``."""
    return LAUNCHER if role_of(pod) == LAUNCHER else f"{NODE}-{index_of(pod)}"


def _began(pod: Object) -> bool:
    """Whether the main container has started, so that there is a log."""
    states = [c.get("state") or {} for c in status(pod).get("containerStatuses") or [] if c.get("name") == CONTAINER]
    return any("running" in s or "terminated" in s for s in states)


def _where_to_begin(tail: int | None, since: float | datetime | None) -> dict[str, str]:
    query = {}
    if tail is not None:
        if not isinstance(tail, int) or tail < 0:
            raise ValueError(f"tail is {tail}: give 0 or more lines")
        query["tailLines"] = str(tail)
    if isinstance(since, datetime):
        if since.tzinfo is None:
            raise ValueError("since is a time without a zone: give one, such as datetime.now(timezone.utc)")
        query["sinceTime"] = since.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    elif since is not None:
        if not isinstance(since, (int, float)):
            raise TypeError(f"since is {since!r}: give a number of seconds, or a time")
        if since <= 0:
            raise ValueError(f"since is {since}: give more than 0 seconds")
        query["sinceSeconds"] = str(math.ceil(since))
    return query
