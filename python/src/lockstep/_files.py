"""The files that ``kubectl mpi submit --files`` sends with a job (``pkg/jobs/submit``, files.go)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lockstep._objects import Object, spec

_MANAGER = "lockstep.dev/kubectl-mpi"
_IN_FILES_DIR = ["sh", "-c", 'cd /workspace && exec "$@"', "sh"]


def asked_command(command: Sequence[str]) -> list[str]:
    """The command that somebody asked for, of one that may run where its files are."""
    n = len(_IN_FILES_DIR)
    return list(command[n:] if len(command) > n and list(command[:n]) == _IN_FILES_DIR else command)


def files_of(trainjob: Object) -> dict[str, str]:
    """The files that travel with a job, by their path."""
    for patch in spec(trainjob).get("runtimePatches") or []:
        pod = _launcher(patch) if patch.get("manager") == _MANAGER else None
        if pod is not None:
            return _files_in(pod)
    return {}


def _launcher(patch: Object) -> Object | None:
    """What a patch says of the launcher's pod."""
    parts = ((patch.get("trainingRuntimeSpec") or {}).get("template") or {}).get("spec") or {}
    for part in parts.get("replicatedJobs") or []:
        pod: Object = ((part.get("template") or {}).get("spec") or {}).get("template") or {}
        if part.get("name") == "launcher" and "spec" in pod:
            return pod
    return None


def _files_in(pod: Object) -> dict[str, str]:
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    files = {}
    for volume in pod["spec"].get("volumes") or []:
        items = (volume.get("downwardAPI") or {}).get("items") or [] if volume["name"] == "files" else []
        for item in items:
            if found := re.fullmatch(r"metadata\.annotations\['(.*)'\]", (item.get("fieldRef") or {}).get("fieldPath", "")):
                files[item["path"]] = annotations.get(found[1], "")
    return files
