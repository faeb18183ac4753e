"""The types of Kubeflow's SDK, made of objects: what ``kubeflow.trainer.TrainerClient`` shows of the same job."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kubeflow.trainer.backends.kubernetes import utils
from kubeflow.trainer.types import types
from kubeflow_trainer_api import models

from lockstep._objects import (
    CONTAINER,
    DEFAULT_LABEL,
    DESCRIPTION_ANNOTATION,
    DOCUMENTATION_ANNOTATION,
    FRAMEWORK_LABEL,
    IMPLEMENTATION_LABEL,
    INDEX_LABEL,
    JOBSET_LABEL,
    LAUNCHER,
    NODE,
    REASON_ANNOTATION,
    RETIRE_ON_ANNOTATION,
    SUCCESSOR_ANNOTATION,
    SUPPORT_LABEL,
    VERSION_LABEL,
    Object,
    Objects,
    annotation,
    labels,
    name,
    role,
    runtime_ref,
    spec,
    status,
)
from lockstep._times import now, parsed
from lockstep._world import asked, bounds, is_mpi
from lockstep.job import Runtime
from lockstep.phase import Phase

_STATUS = {
    Phase.RUNNING: "Running",
    Phase.STOPPING: "Running",
    Phase.COMPLETE: "Complete",
    Phase.FAILED: "Failed",
    Phase.REFUSED: "Failed",
}


def trainjob(o: Objects, phase: Phase) -> dict[str, Any]:
    """The fields of Kubeflow's TrainJob."""
    kind, runtime_name = runtime_ref(o.trainjob)
    made = runtime(o.runtime, kind) if o.runtime else _unread(kind, runtime_name)
    nodes = (spec(o.trainjob).get("trainer") or {}).get("numNodes")
    return {
        "name": name(o.trainjob),
        "creation_timestamp": parsed(o.trainjob["metadata"].get("creationTimestamp")) or now(),
        "runtime": made,
        "num_nodes": nodes or made.trainer.num_nodes,
        "steps": _steps(o, made),
        "status": _STATUS.get(phase, "Created"),
    }


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warning, headers of HTTP and all, that the version of Kubeflow Trainer cannot be read: most users may not, and it is of no use."""

    def useful(record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith("Trainer control-plane version info is not available")

    logger = logging.getLogger("kubeflow.trainer.backends.kubernetes.backend")
    logger.addFilter(useful)
    try:
        yield
    finally:
        logger.removeFilter(useful)


def runtime(o: Object, kind: str) -> Runtime:
    """A ClusterTrainingRuntime or TrainingRuntime."""
    framework = labels(o).get(FRAMEWORK_LABEL, "")
    least, most = bounds(o)
    return Runtime(
        name=name(o),
        kind=types.RuntimeKind(kind),
        trainer=_trainer(o, framework),
        mpi=is_mpi(o),
        implementation=labels(o).get(IMPLEMENTATION_LABEL, ""),
        version=labels(o).get(VERSION_LABEL, ""),
        world=asked(o, {}),
        min_nodes=least,
        max_nodes=most,
        description=annotation(o, DESCRIPTION_ANNOTATION),
        documentation=annotation(o, DOCUMENTATION_ANNOTATION),
        default=labels(o).get(DEFAULT_LABEL) == "true",
        deprecated=labels(o).get(SUPPORT_LABEL) == "deprecated",
        successor=annotation(o, SUCCESSOR_ANNOTATION),
        retire_on=annotation(o, RETIRE_ON_ANNOTATION),
        deprecation_reason=annotation(o, REASON_ANNOTATION),
    )


def _trainer(o: Object, framework: str) -> types.RuntimeTrainer:
    """Kubeflow's own reading; it raises plain exceptions for runtimes without a device that it knows, which is no reason to show no job."""
    try:
        read = models.TrainerV1alpha1TrainingRuntimeSpec.from_dict(spec(o))
        if read and read.template.spec and read.template.spec.replicated_jobs and read.ml_policy:
            return utils.get_runtime_trainer(framework, read.template.spec.replicated_jobs, read.ml_policy)
    except Exception:  # noqa: BLE001
        pass
    return _bare_trainer(framework)


def _bare_trainer(framework: str) -> types.RuntimeTrainer:
    trainer = types.RuntimeTrainer(trainer_type=types.TrainerType.CUSTOM_TRAINER, framework=framework, image="")
    trainer.set_command(("mpirun",))
    return trainer


def _unread(kind: str, runtime_name: str) -> Runtime:
    """A runtime that is gone, or that the user may not read."""
    return Runtime(name=runtime_name, kind=types.RuntimeKind(kind), trainer=_bare_trainer(""))


def _steps(o: Objects, made: Runtime) -> list[types.Step]:
    """Launcher and nodes as Kubeflow counts them: the launcher is node 0. Of several pods in one place the newest counts."""
    steps: dict[tuple[str, str], types.Step] = {}
    newest = sorted(o.pods or [], key=lambda p: str(p["metadata"].get("creationTimestamp") or ""), reverse=True)
    for pod in newest:
        index = labels(pod).get(INDEX_LABEL, "")
        if labels(pod).get(JOBSET_LABEL) != name(o.trainjob) or role(pod) not in (LAUNCHER, NODE) or not index.isdigit():
            continue
        read = models.IoK8sApiCoreV1PodSpec.from_dict(spec(pod))
        phase = models.IoK8sApiCoreV1PodStatus(phase=status(pod).get("phase"))
        if read and (role(pod), index) not in steps and any(c.name == CONTAINER for c in read.containers):
            steps[role(pod), index] = utils.get_trainjob_node_step(name(pod), read, phase, made, role(pod), int(index))
    return list(steps.values())
