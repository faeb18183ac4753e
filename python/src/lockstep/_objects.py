"""What is known of a job: objects in Kubernetes' JSON, and how they name things."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from lockstep.job import Withheld

#: An object in Kubernetes' JSON.
Object = dict[str, Any]

LAUNCHER, NODE = "launcher", "node"
#: The main container of launcher and nodes.
CONTAINER = "node"
TRAINJOB_LABEL = "lockstep.dev/trainjob"
IMPLEMENTATION_LABEL = "lockstep.dev/mpi-implementation"
VERSION_LABEL = "lockstep.dev/mpi-version"
FRAMEWORK_LABEL = "trainer.kubeflow.org/framework"
ANCESTOR_LABEL = "trainer.kubeflow.org/trainjob-ancestor-step"
JOBSET_LABEL = "jobset.sigs.k8s.io/jobset-name"
JOBSET_UID_LABEL = "jobset.sigs.k8s.io/jobset-uid"
ROLE_LABEL = "jobset.sigs.k8s.io/replicatedjob-name"
INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
ATTEMPT_LABEL = "lockstep.dev/attempt"
#: The same, counted by JobSet under Kubeflow Trainer.
JOBSET_ATTEMPT_LABEL = "jobset.sigs.k8s.io/restart-attempt"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
#: Who submitted a job, by their own account.
USER_ANNOTATION = "lockstep.dev/user"
#: On a runtime: the URL by which people see the logs of its jobs that are over.
LOGS_ANNOTATION = "lockstep.dev/logs"
DOCS_ANNOTATION = "lockstep.dev/docs"
#: What a compiled runtime has for people who choose one (pkg/mpi, pkg/compile/lower).
DESCRIPTION_ANNOTATION = "lockstep.dev/description"
DOCUMENTATION_ANNOTATION = "lockstep.dev/documentation"
DEFAULT_LABEL = "lockstep.dev/default"
SUPPORT_LABEL = "trainer.kubeflow.org/support"
SUCCESSOR_ANNOTATION = "lockstep.dev/successor"
RETIRE_ON_ANNOTATION = "lockstep.dev/retire-on"
REASON_ANNOTATION = "lockstep.dev/deprecation-reason"
CLUSTER_RUNTIME, RUNTIME = "ClusterTrainingRuntime", "TrainingRuntime"


@dataclass
class Objects:
    """What the API server has of one job. All but the TrainJob may be missing: the less there is, the less is said."""

    now: datetime
    trainjob: Object
    runtime: Object | None = None
    jobset: Object | None = None
    #: None where they were not read; an empty list where there are none.
    pods: list[Object] | None = None
    withheld: list[Withheld] = field(default_factory=list)


def name(o: Object) -> str:
    return str(o["metadata"].get("name", ""))


def uid(o: Object) -> str:
    return str(o["metadata"].get("uid", ""))


def labels(o: Object) -> dict[str, str]:
    return (o.get("metadata") or {}).get("labels") or {}


def annotation(o: Object, key: str) -> str:
    """The value of an annotation, empty without it."""
    return str(((o.get("metadata") or {}).get("annotations") or {}).get(key, ""))


def spec(o: Object) -> Object:
    return o.get("spec") or {}


def status(o: Object) -> Object:
    return o.get("status") or {}


def suspended(trainjob: Object) -> bool:
    """Whether it is to be suspended."""
    return bool(spec(trainjob).get("suspend"))


def runtime_ref(trainjob: Object) -> tuple[str, str]:
    """Kind and name of the runtime that a TrainJob names."""
    ref = spec(trainjob).get("runtimeRef") or {}
    return ref.get("kind") or CLUSTER_RUNTIME, str(ref.get("name", ""))


def parts(jobset_spec: Object) -> Iterator[Object]:
    """The replicated jobs `launcher` and `node` of a JobSet or a runtime's template."""
    for wanted in (LAUNCHER, NODE):
        for part in jobset_spec.get("replicatedJobs") or []:
            if part.get("name") == wanted:
                yield part
                break


def main_container(part: Object) -> Object | None:
    """The main container of a replicated job."""
    containers = ((spec(spec(part.get("template") or {}).get("template") or {})).get("containers")) or []
    return next((c for c in containers if c.get("name") == CONTAINER), None)


def parallelism(part: Object) -> int:
    """How many pods a replicated job has."""
    given = spec(part.get("template") or {}).get("parallelism")
    return 1 if given is None else int(given)


def claims(trainjob: Object) -> list[str]:
    """The claims that a TrainJob mounts by its patches, each once."""
    found = []
    for patch in spec(trainjob).get("runtimePatches") or []:
        template = spec((patch.get("trainingRuntimeSpec") or {}).get("template") or {})
        for part in template.get("replicatedJobs") or []:
            pod = spec(spec(part.get("template") or {}).get("template") or {})
            found += [v["persistentVolumeClaim"]["claimName"] for v in pod.get("volumes") or [] if v.get("persistentVolumeClaim")]
    return list(dict.fromkeys(found))


def role(pod: Object) -> str:
    return labels(pod).get(ROLE_LABEL, "")


def index(pod: Object) -> int:
    """The index of a pod among those of its role; 0 where nothing says it."""
    text = labels(pod).get(INDEX_LABEL, "")
    return int(text) if text.isascii() and text.isdigit() else 0


def attempt(pod: Object) -> int:
    """How many restarts of its job came before a pod."""
    text = labels(pod).get(ATTEMPT_LABEL) or labels(pod).get(JOBSET_ATTEMPT_LABEL, "")
    return int(text) if text.isascii() and text.isdigit() else 0
