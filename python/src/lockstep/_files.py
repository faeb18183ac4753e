"""The files that travel with a job, as those of ``kubectl mpi submit --files`` (pkg/jobs/submit/folder_files.go)."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from lockstep._objects import Object, spec

#: The name of the patch that has them.
MANAGER = "lockstep.dev/kubectl-mpi"
#: Their folder in all pods.
FILES_DIR = "/workspace"
_IN_FILES_DIR = ["sh", "-c", f'cd {FILES_DIR} && exec "$@"', "sh"]
#: How many bytes they may have together, with their names, and how many there may be, as in pkg/jobs/submit.
_MOST_BYTES, _MOST_FILES = 128 << 10, 256
_INSTEAD = "into a volume (volumes=) or the image"


def taken(files: str | os.PathLike[str] | Mapping[str, str | bytes]) -> dict[str, str]:
    """The files of a folder, or those given by their names, as texts by their path.

    Raises:
        ValueError: They cannot travel; the message says why, and what to do.
    """
    found: dict[str, str] = {}
    total = 0
    for path, data in files.items() if isinstance(files, Mapping) else _in_folder(files):
        if path != posixpath.normpath(path) or path.startswith(("/", "..")) or path == ".":
            raise ValueError(f"files has `{path}`: give a path below {FILES_DIR}, such as `src/train.py`")
        content = data.encode() if isinstance(data, str) else data
        total += len(path.encode()) + len(content)
        if total > _MOST_BYTES or len(found) == _MOST_FILES:
            most = f"more than {_MOST_BYTES >> 10} KiB or {_MOST_FILES} files: take a smaller folder along"
            raise ValueError(f"with `{path}` the folder has {most}, or put the files {_INSTEAD}")
        try:
            found[path] = content.decode()
        except UnicodeDecodeError:
            what = "not a text in UTF-8, and only text is taken along"
            raise ValueError(f"`{path}` is {what}: put it {_INSTEAD}") from None
    if not found:
        raise ValueError("the folder has no files to take along: hidden ones stay out")
    return found


def _in_folder(folder: str | os.PathLike[str], below: str = "") -> Iterator[tuple[str, bytes]]:
    for entry in sorted(os.scandir(folder), key=lambda e: e.name):
        path = below + entry.name
        if entry.name.startswith(".") or entry.name == "__pycache__":
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _in_folder(entry.path, f"{path}/")
        elif not entry.is_file(follow_symlinks=False):
            only = "only these are taken along; put what it stands for"
            raise ValueError(f"`{path}` is not a plain file: {only} {_INSTEAD}")
        else:
            with open(entry.path, "rb") as file:
                yield path, file.read(_MOST_BYTES + 1)


def carried(files: Mapping[str, str]) -> tuple[dict[str, str], Object]:
    """The annotations of a pod that hold files, and the volume that kubelet makes of them. Scripts can be executed."""
    notes, items = {}, []
    for i, path in enumerate(sorted(files)):
        notes[f"file-{i}"] = files[path]
        items.append({"path": path, "fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.annotations['file-{i}']"}})
    return notes, {"name": "files", "downwardAPI": {"defaultMode": 0o555, "items": items}}


def among_files(command: Sequence[str]) -> list[str]:
    """A command that runs where its files are."""
    return [*_IN_FILES_DIR, *asked_command(command)]


def asked_command(command: Sequence[str]) -> list[str]:
    """The command that somebody asked for, of one that may run where its files are."""
    n = len(_IN_FILES_DIR)
    return list(command[n:] if len(command) > n and list(command[:n]) == _IN_FILES_DIR else command)


def files_of(trainjob: Object) -> dict[str, str]:
    """The files that travel with a job, by their path."""
    for patch in spec(trainjob).get("runtimePatches") or []:
        pod = _launcher(patch) if patch.get("manager") == MANAGER else None
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
