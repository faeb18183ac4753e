"""What an MPI job runs, and how large it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubeflow.trainer import CustomTrainerContainer
from kubeflow.trainer.backends.kubernetes import utils
from kubeflow.trainer.options import (
    ContainerPatch,
    JobSetSpecPatch,
    JobSetTemplatePatch,
    JobSpecPatch,
    JobTemplatePatch,
    PodSpecPatch,
    PodTemplatePatch,
    ReplicatedJobPatch,
    RuntimePatch,
    TrainingRuntimeSpecPatch,
)

from lockstep import _files, _function
from lockstep._objects import CONTAINER, LAUNCHER, NODE, Object
from lockstep._quantity import Quantity
from lockstep._world import MAX_NODES, MAX_SLOTS


class MPITrainer(CustomTrainerContainer):
    """An MPI program: ``mpirun`` and what it starts, on some nodes with some slots each. What is left out is the runtime's.

    Args:
        nodes: How many nodes run ranks, from 1 to 5000.
        slots: How many ranks a node may run, from 1 to 4096; nodes × slots is what ``mpirun`` starts without ``-np``.
        command: The command of the launcher, such as ``["mpirun", "python", "train.py"]``.
        args: What follows the command; with func its ``sys.argv[1:]``.
        func: A function to run as every rank, instead of a command: ``func(**func_args)``, in one Python process per rank under ``mpirun``. Its
            source travels, and nothing around it does: it imports what it needs itself. The image needs ``python3`` and what the function
            imports. A rank that raises ends its process at once, without what is registered with ``atexit``, and its launcher ends the others.
        func_args: The arguments of func, by name: numbers, strings, None, and lists and dicts of these, because they travel as text.
        launcher: What starts func as ranks, by default ``["mpirun"]``; such as ``["mpirun", "--bind-to", "none"]``.
        image: The image of launcher and nodes.
        env: Environment variables of launcher and nodes, by name. Those that carry the wiring of a job are reserved, and refused.
        resources: What one node gets, such as ``{"cpu": 4, "memory": "16Gi", "gpu": 2}``: what it requests, and of all but CPU the limit too; memory
            in bytes or with a unit of Kubernetes; ``gpu`` means ``nvidia.com/gpu``.
        volumes: Claims of the namespace to mount in launcher and nodes, by the path where they are: ``{"/data": "imagenet"}``.
        files: A folder, or texts by their names, such as ``{"train.py": "…"}``. They travel with the job to
            ``/workspace`` of all pods, in which the command runs: at most 256 files with 128 KiB together. Hidden files
            and ``__pycache__`` stay out.

    Raises:
        ValueError: nodes or slots are out of range, an amount of resources is none, or a value is missing; a file is no
            UTF-8 text, or files are too many or too large; or func cannot travel: it is a lambda, decorated, larger than
            120000 bytes, its source cannot be read, or it uses names of its module or of a function around it.
        TypeError: command, args or launcher is one string, or has what is no text: a command is a list of words; for a shell,
            ``["bash", "-c", "…"]``. Or func is no function, or cannot be called with func_args; or there are both a command and a func.

    :meth:`lockstep.MPIClient.train` takes it with all of that. Kubeflow's own ``TrainerClient`` takes it too, as a CustomTrainerContainer; it
    knows no slots, commands, functions and volumes here, so a trainer with any of these raises a ValueError there instead of running something
    else.

    Example:
        >>> MPITrainer(nodes=2, slots=2, command=["mpirun", "mpi-hello"])
        MPITrainer(nodes=2, slots=2, command=['mpirun', 'mpi-hello'])
    """

    def __init__(
        self,
        *,
        nodes: int | None = None,
        slots: int | None = None,
        command: Sequence[str] | None = None,
        args: Sequence[str] | None = None,
        func: Callable[..., Any] | None = None,
        func_args: Mapping[str, Any] | None = None,
        launcher: Sequence[str] | None = None,
        image: str | None = "",
        env: Mapping[str, str] | None = None,
        resources: Mapping[str, Any] | None = None,
        volumes: Mapping[str, str] | None = None,
        files: str | os.PathLike[str] | Mapping[str, str | bytes] | None = None,
    ) -> None:
        for field, words in (("command", command), ("args", args), ("launcher", launcher)):
            if isinstance(words, str):
                raise TypeError(f'{field} is the string "{words}": give a list of words, or ["bash", "-c", "{words}"]')
            for word in words or ():
                if not isinstance(word, str):
                    raise TypeError(f"{field} has {word!r}, which is no text: give {str(word)!r}")
        for field, number, most in (("nodes", nodes, MAX_NODES), ("slots", slots, MAX_SLOTS)):
            if number is not None and (type(number) is not int or not 1 <= number <= most):
                raise ValueError(f"{field} is {number!r}: give a number from 1 to {most}")
        _named_values(env=env, resources=resources, volumes=volumes)
        if " " in (image := image or ""):
            raise ValueError(f"image is {image!r}: a reference has no spaces")
        if func is None and (func_args or launcher):
            raise TypeError("func_args and launcher belong to func: a command has its own")
        if func and command:
            raise TypeError("there are both a command and a func: give one of them")
        if func:
            command = _function.command(func, func_args, launcher)
        self.func = func
        self.nodes = nodes
        self.slots = slots
        self.command = list(command) if command else None
        self.args = list(args) if args else None
        self.volumes = dict(volumes or {})
        self.files = {} if files is None else _files.taken(files)
        for path, claim in self.volumes.items() if self.files else ():
            if f"{path}/".startswith(f"{_files.FILES_DIR}/"):
                held = f"the files (files=) are in {_files.FILES_DIR}, which is only read"
                raise ValueError(f"the claim `{claim}` cannot be at {path} (volumes=): {held}")
        super().__init__(image, nodes, _amounts(resources) if resources else None, dict(env) if env else None)

    @property
    def num_nodes(self) -> int | None:
        """The nodes, for Kubeflow's own client.

        Raises:
            ValueError: That client would leave something of this trainer out.
        """
        lost = ["slots"] if self.slots else []
        lost += ["func" if self.func else "command"] if self.command else []
        lost += [name for name in ("args", "volumes", "files") if getattr(self, name)]
        if lost:
            raise ValueError(f"kubeflow's TrainerClient would leave out {', '.join(lost)} of the MPITrainer: use lockstep.MPIClient().train")
        return self.nodes

    @num_nodes.setter
    def num_nodes(self, nodes: int | None) -> None:
        self.nodes = nodes

    def spec(self) -> Object:
        """``spec.trainer`` of the TrainJob."""
        resources = utils.get_resources_per_node(self.resources_per_node).to_dict() if self.resources_per_node else None
        if resources:  # ranks that wait for each other spin, and a limit of CPU would stop them (pkg/jobs/submit)
            resources["limits"].pop("cpu", None)
        fields = {
            "image": self.image or None,
            "command": _files.among_files(self.command) if self.files and self.command else self.command,
            "args": self.args,
            "env": [{"name": k, "value": str(v)} for k, v in (self.env or {}).items()] or None,
            "numNodes": self.nodes,
            "numProcPerNode": self.slots,
            "resourcesPerNode": resources,
        }
        return {k: v for k, v in fields.items() if v is not None}

    def patches(self) -> list[RuntimePatch]:
        """What of it goes into ``spec.runtimePatches``, as options of Kubeflow's SDK."""
        if not self.volumes and not self.files:
            return []
        names = {path: f"data-{i}" for i, path in enumerate(self.volumes)}
        volumes: list[Object] = [{"name": names[path], "persistentVolumeClaim": {"claimName": claim}} for path, claim in self.volumes.items()]
        mounts: list[Object] = [{"name": n, "mountPath": path} for path, n in names.items()]
        metadata = None
        if self.files:
            annotations, volume = _files.carried(self.files)
            metadata = {"annotations": annotations}
            volumes.append(volume)
            mounts.append({"name": "files", "mountPath": _files.FILES_DIR, "readOnly": True})
        pod = PodSpecPatch(volumes=volumes, containers=[ContainerPatch(CONTAINER, volume_mounts=mounts)])
        job = JobTemplatePatch(spec=JobSpecPatch(template=PodTemplatePatch(metadata, pod)))
        jobs = [ReplicatedJobPatch(LAUNCHER, job), ReplicatedJobPatch(NODE, job)]
        patch = RuntimePatch(TrainingRuntimeSpecPatch(JobSetTemplatePatch(spec=JobSetSpecPatch(jobs))))
        if self.files:
            patch.manager = _files.MANAGER
        return [patch]

    def __repr__(self) -> str:
        what: dict[str, object] = {"func": self.func.__name__} if self.func else {"command": self.command}
        shown: dict[str, object] = {"nodes": self.nodes, "slots": self.slots, **what, "args": self.args, "image": self.image}
        shown |= {"env": self.env, "resources": self.resources_per_node, "volumes": self.volumes, "files": list(self.files)}
        return f"MPITrainer({', '.join(f'{k}={v!r}' for k, v in shown.items() if v)})"


def _named_values(**fields: Mapping[str, Any] | None) -> None:
    """Refuses what is no dict, and values that are missing: an empty claim, or None, which would travel as a word."""
    for field, given in fields.items():
        if given is not None and not isinstance(given, Mapping):
            raise TypeError(f"{field} is {given!r}: give a dict")
        for name, value in (given or {}).items():
            if value is None or (field == "volumes" and not value):
                raise ValueError(f"{field} has {value!r} for {name}: give a value, or leave it out")


def _amounts(resources: Mapping[str, Any]) -> dict[str, Any]:
    """Amounts as Kubernetes takes them; those that it would refuse are refused at once."""
    for resource, amount in resources.items():
        try:
            negative = Quantity.of(amount).value < 0
        except ValueError as e:
            raise ValueError(f"resources[{resource!r}]: {e}") from None
        if negative:
            raise ValueError(f"resources[{resource!r}] is {amount}: give 0 or more")
    return {resource: amount if isinstance(amount, int) else str(Quantity.of(amount)) for resource, amount in resources.items()}
