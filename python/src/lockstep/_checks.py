"""What is likely wrong with a job, told before it is submitted."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterator, Sequence

from lockstep._objects import (
    IMPLEMENTATION_LABEL,
    LAUNCHER,
    NODE,
    REASON_ANNOTATION,
    RETIRE_ON_ANNOTATION,
    SUCCESSOR_ANNOTATION,
    SUPPORT_LABEL,
    Object,
    annotation,
    labels,
    main_container,
    name,
    parts,
    spec,
)
from lockstep._world import MAX_NAME, accelerators, asked, reserved, variables
from lockstep.errors import CheckFailed

_LAUNCHERS = ("mpirun", "mpiexec", "mpiexec.hydra", "prterun", "horovodrun")
#: How many values options have that often come before the number of ranks.
_VALUES = {"mca": 2, "gmca": 2, "prtemca": 2, "pmixmca": 2, "genv": 2, "env": 2} | dict.fromkeys(
    ("x", "hostfile", "machinefile", "f", "host", "H", "map-by", "bind-to", "rank-by", "output", "wdir", "ppn", "N", "npernode"), 1
)
_RANKS = ("-np", "--np", "-n", "--n", "-c")


class LockstepWarning(UserWarning):
    """A job will likely not do what is meant. ``strict=True`` makes it a :class:`lockstep.CheckFailed`.

    A runtime that retires is a warning in any case.
    """


def check(trainjob: Object, runtime: Object | None, *, strict: bool) -> None:
    """Warns of what is likely wrong with a TrainJob, or raises CheckFailed with all of it."""
    found = list(_findings(trainjob, runtime))
    if strict and found:
        raise CheckFailed("; ".join(found))
    for text in found:
        warnings.warn(text, LockstepWarning, stacklevel=4)
    warn_of_end(runtime, stacklevel=5)


def warn_of_end(runtime: Object | None, stacklevel: int) -> None:
    """Warns of a deprecated runtime, in the words of pkg/mpi/deprecation.go. A job of it does what is meant."""
    if runtime is None or labels(runtime).get(SUPPORT_LABEL) != "deprecated":
        return
    text = f"runtime `{name(runtime)}` is deprecated"
    if day := annotation(runtime, RETIRE_ON_ANNOTATION):
        text += f" and retires on {day}"
    if successor := annotation(runtime, SUCCESSOR_ANNOTATION):
        text += f"; use `{successor}` instead"
    if reason := annotation(runtime, REASON_ANNOTATION):
        text += ": " + reason.strip().replace("\n", " ")
    warnings.warn(text, LockstepWarning, stacklevel=stacklevel)


def _findings(trainjob: Object, runtime: Object | None) -> Iterator[str]:
    trainer = spec(trainjob).get("trainer") or {}
    if len(name(trainjob)) > MAX_NAME:
        yield f"the name `{name(trainjob)}` has {len(name(trainjob))} characters, at most {MAX_NAME} are allowed, as pods' names are longer"
    if not (trainer.get("command") or trainer.get("args")) and runtime and not _has_command(runtime):
        yield "there is no command, and the runtime has none of its own: give command=[…] or func="
    for v in variables(trainjob):
        if reserved(v):
            yield f"the variable {v} is reserved, because the nodes are found through it: remove it from env"
    world = asked(runtime, trainer) if runtime else None
    if world is None:
        return
    nodes = _image_of_nodes(runtime) if runtime and not labels(runtime).get(IMPLEMENTATION_LABEL) else ""
    if nodes and trainer.get("image") not in (None, nodes):
        yield f"Kubeflow Trainer gives the image `{trainer['image']}` to the launcher only, and nodes run `{nodes}`: name a runtime with that image"
    ranks = ranks_asked([*(trainer.get("command") or []), *(trainer.get("args") or [])])
    size = f"{world.nodes} nodes × {world.slots_per_node} slots"
    if ranks is not None and ranks > world.slots:
        yield f"the command starts {ranks} ranks, and there is room for {world.slots} ({size}): leave out -np, or raise nodes or slots"
    elif ranks is not None and ranks < world.slots:
        yield f"the command starts {ranks} ranks, and {world.slots} are paid for ({size}): leave out -np, or lower nodes or slots"
    devices = accelerators(trainer.get("resourcesPerNode") or {})
    if devices and devices != world.slots_per_node:
        yield f"a node has {world.slots_per_node} slots and {devices} accelerators: usually each rank has one of its own, so set slots={devices}"


def _has_command(runtime: Object) -> bool:
    """Whether the launcher of a runtime has something to run by itself."""
    found = next((main_container(part) for part in parts(spec(spec(runtime)["template"])) if part["name"] == LAUNCHER), None) or {}
    return bool(found.get("command") or found.get("args"))


def _image_of_nodes(runtime: Object) -> str:
    """The image of nodes by their runtime."""
    found = [main_container(part) for part in parts(spec(spec(runtime)["template"])) if part["name"] == NODE]
    return str((found[0] or {}).get("image", "")) if found else ""


def ranks_asked(words: Sequence[str]) -> int | None:
    """The number after ``-np`` of the one launcher in a command, None where there is none, or where only the shell knows it.

    >>> ranks_asked(["bash", "-c", "cd /data && mpirun -np 8 ./train"])
    8
    """
    found: list[int] = []
    for i, word in enumerate(words):
        if word.rsplit("/", 1)[-1] in _LAUNCHERS:
            found += _number(words[i + 1 :])
            break
        if " " in word:
            found += _in_script(word)
    return found[0] if len(found) == 1 else None


def _in_script(script: str) -> list[int]:
    """The numbers in a script of a shell: there may be several launchers."""
    lexer = shlex.shlex(script, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return []  # a quote that does not end: the shell will say so
    places = [i for i, word in enumerate(words) if word.rsplit("/", 1)[-1] in _LAUNCHERS]
    return [n for i in places for n in _number(words[i + 1 :])]


def _number(options: Sequence[str]) -> list[int]:
    """The number of ranks among the options of a launcher; none where an option is not known that may have a value."""
    words = iter(options)
    for word in words:
        value = next(words, "") if word in _RANKS else None
        if value is not None:
            return [int(value)] if value.isascii() and value.isdigit() else []
        if not word.startswith("-"):
            return []  # the program
        for _ in range(_VALUES.get(word.lstrip("-"), 0)):
            next(words, None)
    return []
