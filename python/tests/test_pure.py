"""What needs no API server: trainers, checks, words, errors, and how a job is shown."""

from __future__ import annotations

import asyncio
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Object
from kubeflow.trainer import CustomTrainerContainer, LocalProcessBackendConfig
from kubeflow.trainer.backends.kubernetes.backend import KubernetesBackend
from kubernetes.client import ApiException
from test_vectors import VECTORS, seen

import lockstep
from lockstep import LockstepWarning, MPITrainer, _checks, _view
from lockstep._files import files_of
from lockstep._logs import untagged
from lockstep._objects import Objects, claims
from lockstep._times import human, now
from lockstep._world import asked, world
from lockstep.aio import AsyncMPIClient
from lockstep.client import _phases
from lockstep.compare import Comparison, Difference
from lockstep.errors import explained

ROOT = Path(__file__).parents[2]
RUNTIME = next(v["in"]["runtime"] for v in VECTORS if v["in"]["runtime"])
MPI = {"metadata": {"name": "openmpi", "labels": RUNTIME["labels"]}, "spec": RUNTIME["spec"]}


KUBERNETES: Any = object.__new__(KubernetesBackend)


def trainjob(trainer: Object, **spec: Any) -> Object:
    return {"metadata": {"name": "demo", "uid": "u"}, "spec": {"runtimeRef": {"name": "openmpi"}, "trainer": trainer, **spec}}


def test_the_snippet_of_the_readme_is_short() -> None:
    (snippet,) = re.findall(r"```python\n(.*?)```", (ROOT / "python/README.md").read_text(), re.DOTALL)
    assert len([line for line in snippet.splitlines() if line.strip()]) <= 10
    compile(snippet, "README.md", "exec")


def test_every_public_name_says_what_it_means() -> None:
    for name in lockstep.__all__:
        public = getattr(lockstep, name)
        assert public.__doc__, name
        for member, value in vars(public).items():
            if not member.startswith("_") and callable(value):
                assert value.__doc__, f"{name}.{member}"


def test_a_trainer_is_not_cut_short_by_kubeflows_client() -> None:
    assert isinstance(MPITrainer(), CustomTrainerContainer)
    assert MPITrainer(nodes=3, image="mpi:1").num_nodes == 3
    with pytest.raises(ValueError, match=r"would leave out slots, command of the MPITrainer: use lockstep.MPIClient"):
        _ = MPITrainer(slots=2, command=["mpirun"]).num_nodes


@pytest.mark.parametrize(
    ("arguments", "said"), [({"nodes": 0}, "nodes is 0: give a number from 1 to 5000"), ({"slots": 5000}, "slots is 5000"), ({"nodes": -1}, "-1")]
)
def test_a_world_has_limits(arguments: dict[str, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        MPITrainer(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"nodes": "2"}, "nodes is '2': give a number from 1 to 5000"),
        ({"nodes": 2.5}, "nodes is 2.5"),
        ({"slots": True}, "slots is True"),
        ({"command": ["mpirun", "-np", 4]}, "command has 4, which is no text: give '4'"),
        ({"args": [1]}, "args has 1"),
        ({"env": ["A=1"]}, r"env is \['A=1'\]: give a dict"),
        ({"env": {"A": None}}, "env has None for A"),
        ({"volumes": "claim"}, "volumes is 'claim': give a dict"),
        ({"volumes": {"/data": ""}}, "volumes has '' for /data"),
        ({"resources": {"memory": "16GB"}}, r"resources\['memory'\]: '16GB' is no amount: give a number, or one with a unit, such as 500m or 2Gi"),
        ({"resources": {"cpu": -1}}, "is -1: give 0 or more"),
        ({"resources": {"cpu": "1e999999"}}, "is no amount of anything"),
        ({"image": "a b"}, "a reference has no spaces"),
        ({"files": {"a": b"\xff"}}, "`a` is not a text in UTF-8, and only text is taken along: put it into a volume"),
        ({"files": {"a": "x" * (128 << 10)}}, "with `a` the folder has more than 128 KiB or 256 files"),
        ({"files": {f"f{i}": "" for i in range(257)}}, "with `f256` the folder has more"),
        ({"files": {}}, "the folder has no files to take along: hidden ones stay out"),
        ({"files": {"../a": ""}}, "give a path below /workspace"),
        ({"files": {"/a": ""}}, "give a path below /workspace"),
        ({"files": {"a": ""}, "volumes": {"/workspace/x": "c"}}, "the claim `c` cannot be at /workspace/x"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_once(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        MPITrainer(**arguments)


def test_files_travel_as_those_of_the_command_line(tmp_path: Path) -> None:
    for name in ("train.py", "src/model.py", ".git/config", "__pycache__/a.pyc"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"of {name}")
    command = ["mpirun", "python3", "train.py"]
    trainer: Any = MPITrainer(command=command, volumes={"/data": "claim"}, files=tmp_path)
    assert trainer.files == {"src/model.py": "of src/model.py", "train.py": "of train.py"}
    assert trainer.spec()["command"][1:] == ["-c", 'cd /workspace && exec "$@"', "sh", "mpirun", "python3", "train.py"]
    job = trainjob(trainer.spec())
    (option,) = trainer.patches()
    option(job, trainer, KUBERNETES)
    (patch,) = job["spec"]["runtimePatches"]
    assert (patch["manager"], files_of(job), claims(job)) == ("lockstep.dev/kubectl-mpi", trainer.files, ["claim"])
    for part in patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]:
        pod = part["template"]["spec"]["template"]
        field = {"apiVersion": "v1", "fieldPath": "metadata.annotations['file-1']"}
        assert pod["metadata"]["annotations"] == {"file-0": "of src/model.py", "file-1": "of train.py"}
        assert pod["spec"]["volumes"][1]["downwardAPI"]["items"][1] == {"path": "train.py", "fieldRef": field}
        mount = {"name": "files", "mountPath": "/workspace", "readOnly": True}
        assert pod["spec"]["containers"][0]["volumeMounts"][1] == mount
    (tmp_path / "link").symlink_to("train.py")
    with pytest.raises(ValueError, match="`link` is not a plain file: only these are taken along"):
        MPITrainer(files=tmp_path)
    with pytest.raises(ValueError, match="would leave out files"):
        _ = MPITrainer(files={"a": "b"}).num_nodes


def test_a_changed_command_runs_where_its_files_are() -> None:
    trainer: Any = MPITrainer(command=["mpirun", "a"], files={"a": "b"})
    job = trainjob(trainer.spec())
    for option in trainer.patches():
        option(job, trainer, KUBERNETES)
    client = object.__new__(lockstep.MPIClient)
    client._change(job, {"command": ["mpirun", "c"]})
    assert job["spec"]["trainer"]["command"][-3:] == ["sh", "mpirun", "c"]
    client._change(job, {"nodes": 3})
    assert job["spec"]["trainer"]["command"] == ["sh", "-c", 'cd /workspace && exec "$@"', "sh", "mpirun", "c"]


def test_amounts_may_be_numbers() -> None:
    wanted = MPITrainer(resources={"cpu": 0.5, "memory": "1024Mi", "gpu": 2}).spec()["resourcesPerNode"]
    assert wanted["requests"] == {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": 2}
    assert wanted["limits"] == {"memory": "1Gi", "nvidia.com/gpu": 2}, "ranks that spin are not stopped"


def test_a_cluster_must_be_configured(tmp_path: Path) -> None:
    with pytest.raises(lockstep.LockstepError, match=r"no cluster is configured: .* Set \$KUBECONFIG"):
        lockstep.MPIClient(config_file=str(tmp_path / "none"))


@pytest.mark.parametrize("context", [None, "as-jane"])
def test_nobody_acts_as_somebody_else_unnoticed(tmp_path: Path, context: str | None) -> None:
    file = tmp_path / "kubeconfig"
    users = [{"name": "me", "user": {"token": "t"}}, {"name": "jane", "user": {"token": "t", "as": "jane"}}]
    contexts = [{"name": n, "context": {"cluster": "c", "user": u, "namespace": "n"}} for n, u in (("as-jane", "jane"), ("own", "me"))]
    clusters = [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}]
    file.write_text(yaml.safe_dump({"users": users, "contexts": contexts, "clusters": clusters, "current-context": "as-jane"}))
    with pytest.raises(lockstep.LockstepError, match="says to act as `jane`"):
        lockstep.MPIClient(config_file=str(file), context=context)
    lockstep.MPIClient(config_file=str(file), context="own")


def test_long_values_are_compared_by_what_differs() -> None:
    program = "mpirun python3 -c " + "x = 1\n" * 500
    made = Comparison(("a", "b"), [Difference("command", f"{program}run(lr=0.1){program}", f"{program}run(lr=0.25){program}")])
    line = str(made).splitlines()[1]
    assert len(line) < 150
    assert "lr=0.1)" in line
    assert "lr=0.25)" in line
    assert "-   " + "y" * 200 + "…" in str(Comparison(("a", "b"), [Difference("command", "", "y" * 500)]))


def test_a_phase_may_be_written_small() -> None:
    assert _phases("running") == {lockstep.Phase.RUNNING}


def test_a_command_is_a_list() -> None:
    with pytest.raises(TypeError, match='command is the string "mpirun a": give a list of words'):
        MPITrainer(command="mpirun a")


@pytest.mark.parametrize(
    ("words", "ranks"),
    [
        (["mpirun", "-np", "8", "a"], 8),
        (["/usr/bin/mpiexec", "-n", "4", "a", "-n", "9"], 4),
        (["mpirun", "--mca", "btl", "tcp", "-x", "A", "--oversubscribe", "-c", "3", "a"], 3),
        (["mpirun", "python", "train.py", "-n", "9"], None),
        (["mpirun", "-np", "$RANKS", "a"], None),
        (["mpirun", "-np"], None),
        (["mpirun", "--unknown", "value", "-np", "8", "a"], None),
        (["bash", "-c", "cd /data; mpirun -np 8 a && echo"], 8),
        (["bash", "-c", "mpirun -np 8 a; mpirun -np 4 b"], None),
        (["bash", "-c", "echo 'mpirun -np 8"], None),
        (["python", "-n", "8"], None),
        ([], None),
    ],
)
def test_ranks_asked(words: list[str], ranks: int | None) -> None:
    assert _checks.ranks_asked(words) == ranks


@pytest.mark.parametrize(
    ("trainer", "said"),
    [
        ({"command": ["mpirun", "-np", "8", "a"]}, "starts 8 ranks, and there is room for 4"),
        ({"command": ["mpirun"], "args": ["-np", "2", "a"]}, "starts 2 ranks, and 4 are paid for"),
        ({"env": [{"name": "ompi_mca_plm_rsh_agent", "value": "ssh"}]}, "ompi_mca_plm_rsh_agent is reserved"),
        ({"resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}}, "2 slots and 8 accelerators"),
        ({"command": ["mpirun", "-np", "4", "a"], "resourcesPerNode": {"limits": {"nvidia.com/gpu": "2"}}}, None),
        ({"resourcesPerNode": {"limits": {"memory": "1Gi"}}, "command": ["mpirun", "a"]}, None),
        ({}, "there is no command, and the runtime has none"),
    ],
)
def test_checks(trainer: Object, said: str | None) -> None:
    if said is None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            _checks.check(trainjob(trainer), MPI, strict=True)
        return
    with pytest.warns(LockstepWarning, match=said):
        _checks.check(trainjob(trainer), MPI, strict=False)
    with pytest.raises(lockstep.CheckFailed, match=said):
        _checks.check(trainjob(trainer), MPI, strict=True)
    _checks.check(trainjob({"command": trainer.get("command")}), None, strict=True)


def test_the_end_of_a_runtime_is_told() -> None:
    labels = {**MPI["metadata"].get("labels", {}), "trainer.kubeflow.org/support": "deprecated"}
    metadata = {**MPI["metadata"], "labels": labels, "annotations": {}}
    retiring = {**MPI, "metadata": metadata}
    name, job = metadata["name"], trainjob({"command": ["mpirun", "a"]})
    with pytest.warns(LockstepWarning, match=f"^runtime `{name}` is deprecated$"):
        _checks.check(job, retiring, strict=True)
    metadata["annotations"] = {
        "lockstep.dev/retire-on": "2027-03-31",
        "lockstep.dev/successor": "new",
        "lockstep.dev/deprecation-reason": "Nobody maintains\nthe image.\n",
    }
    end = "and retires on 2027-03-31; use `new` instead: Nobody maintains the image."
    with pytest.warns(LockstepWarning, match=f"^runtime `{name}` is deprecated {end}$"):
        _checks.check(job, retiring, strict=False)


def test_a_name_has_room_for_those_of_pods() -> None:
    job = trainjob({"command": ["a"]})
    job["metadata"]["name"] = "x" * 44
    _checks.check(job, MPI, strict=True)
    job["metadata"]["name"] += "x"
    with pytest.raises(lockstep.CheckFailed, match="has 45 characters, at most 44 are allowed"):
        _checks.check(job, MPI, strict=True)


def test_an_image_that_nodes_do_not_get_is_told() -> None:
    stock = {"metadata": {"name": "mpi-distributed"}, "spec": RUNTIME["spec"]}
    image = next(p for p in RUNTIME["spec"]["template"]["spec"]["replicatedJobs"] if p["name"] == "node")["template"]["spec"]["template"]["spec"]
    theirs = image["containers"][0]["image"]
    with pytest.warns(LockstepWarning, match=f"gives the image `mine:1` to the launcher only, and nodes run `{theirs}`"):
        _checks.check(trainjob({"command": ["a"], "image": "mine:1"}), stock, strict=False)
    _checks.check(trainjob({"command": ["a"], "image": theirs}), stock, strict=True)
    _checks.check(trainjob({"command": ["a"], "image": "mine:1"}), MPI, strict=True)


def test_variables_in_patches_are_found() -> None:
    job = {"name": "node", "template": {"spec": {"template": {"spec": {"containers": [{"name": "node", "env": [{"name": "HYDRA_LAUNCHER"}]}]}}}}}
    patched = trainjob({}, runtimePatches=[{"manager": "a", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}}}}])
    with pytest.raises(lockstep.CheckFailed, match="HYDRA_LAUNCHER"):
        _checks.check(patched, MPI, strict=True)
    assert world(patched, MPI) is None


@pytest.mark.parametrize(
    ("trainer", "size"),
    [
        ({}, (2, 2)),
        ({"numNodes": 3, "numProcPerNode": 4}, (3, 4)),
        ({"numNodes": 0}, None),
        ({"numProcPerNode": 0}, None),
        ({"numNodes": 5001}, None),
    ],
)
def test_worlds(trainer: Object, size: tuple[int, int] | None) -> None:
    w = world(trainjob(trainer), MPI)
    assert (w and (w.nodes, w.slots_per_node)) == size


def test_worlds_of_others() -> None:
    stock = {"metadata": {"name": "stock"}, "spec": RUNTIME["spec"] | {"mlPolicy": {"mpi": {}}}}
    gpus = {"resourcesPerNode": {"limits": {"nvidia.com/gpu": "4"}}}
    assert asked(stock, gpus) == lockstep.World(1, 4)
    assert asked({"metadata": {}, "spec": {"mlPolicy": {"torch": {}}, "template": {}}}, {}) is None
    assert world(trainjob({}, initializer={}), MPI) is not None
    long = trainjob({})
    long["metadata"]["name"] = "a" * 50
    assert world(long, MPI) is None


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "0s"), (119, "119s"), (120, "2m"), (599, "9m59s"), (3600, "60m"), (3 * 3600, "3h"), (3 * 3600 + 60, "3h1m"), (9 * 3600, "9h"),
        (50 * 3600, "2d2h"), (48 * 3600, "2d"), (9 * 86400, "9d"), (3 * 365 * 86400, "3y"), (1100 * 86400, "3y5d"), (9 * 365 * 86400, "9y"),
    ],
)  # fmt: skip
def test_durations(seconds: int, said: str) -> None:
    assert human(timedelta(seconds=seconds)) == said


def test_a_line_without_a_tag() -> None:
    assert untagged("plain [1] text") == (None, "plain [1] text")


def test_a_job_is_shown_as_text_and_as_a_table() -> None:
    job = seen(next(v for v in VECTORS if v["name"] == "RunsOutOfMemory 4"))
    assert job.cause is not None
    text = str(job)
    assert "Failed: OOMKilled" in text
    assert f"what to do: {job.cause.remedy}" in text
    page = job._repr_html_()
    assert '<a href="https://docs.example.com/failures/OOMKilled">' in page
    job.cause = replace(job.cause, url="")
    assert "more: kubectl mpi explain OOMKilled" in str(job)
    job.cause = lockstep.Cause("OOMKilled", "", "<script>alert(1)</script>")
    job.queue = lockstep.Queue("jobs", 3, 9)
    job.progress = 40
    assert "<script>" not in job._repr_html_()
    assert job.columns()["queue"] == "jobs #3"
    assert job.columns()["progress"] == "40%"
    job.cause = None
    job.message = "held back"
    assert "why: held back" in str(job)


RECORD = "lockstep.dev/conditions"


def test_a_queue_says_where_the_job_stands() -> None:
    queue = {"name": "jobs", "position": 3, "length": 20, "text": "waits: no room"}
    record = {"version": "v1", "uid": "u", "executor": "mpi-controller", "phase": "Queued", "queue": queue, "conditions": []}
    queued = trainjob({}, suspend=True)
    queued["metadata"] |= {
        "uid": "u",
        "labels": {"kueue.x-k8s.io/queue-name": "jobs"},
        "annotations": {"lockstep.dev/conditions": json.dumps(record)},
    }
    job = _view.job(Objects(now=now(), trainjob=queued, runtime=MPI))
    assert job.phase == "Queued"
    assert job.queue == lockstep.Queue("jobs", 3, 20, "waits: no room")


def test_artifacts_say_where_they_are() -> None:
    kept = {"claim": "data", "folder": "demo-1", "to": "s3://m/demo-1", "state": "Copied", "files": 3, "new": "field"}
    record: Object = {"version": "v1", "uid": "u", "executor": "mpi-controller", "phase": "Complete", "conditions": []}
    record["artifacts"] = kept
    ended = trainjob({}) | {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    ended["metadata"] |= {"uid": "u", "annotations": {RECORD: json.dumps(record)}}
    job = _view.job(Objects(now=now(), trainjob=ended, runtime=MPI))
    assert job.artifacts == lockstep.Artifacts("data", "demo-1", "s3://m/demo-1", "Copied", 3)
    record["artifacts"] = {"state": "Copied"}
    ended["metadata"]["annotations"] = {RECORD: json.dumps(record)}
    assert _view.job(Objects(now=now(), trainjob=ended, runtime=MPI)).artifacts is None


def stock(*pods: Object, conditions: tuple[Object, ...] = (), read: bool = True) -> lockstep.Job:
    """A job of two pods that Kubeflow Trainer runs alone."""
    jobset = {"metadata": {"name": "demo", "uid": "js", "creationTimestamp": "2026-03-01T12:00:00Z"}, "spec": RUNTIME["spec"]["template"]["spec"]}
    job = trainjob({}) | {"status": {"conditions": list(conditions)}}
    return _view.job(Objects(now=now(), trainjob=job, runtime=MPI, jobset=jobset, pods=list(pods) if read else None))


def a_pod(role: str, state: Object, **metadata: Any) -> Object:
    labels = {"jobset.sigs.k8s.io/jobset-uid": "js", "jobset.sigs.k8s.io/replicatedjob-name": role, "batch.kubernetes.io/job-completion-index": "0"}
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [{"name": "node", "state": state}]}
    made = {"name": f"demo-{role}-0-0-x", "uid": role, "labels": labels, "creationTimestamp": "2026-03-01T12:00:00Z", **metadata}
    return {"metadata": made, "spec": {"nodeName": "m1"}, "status": status}


def test_a_job_of_kubeflow_trainer_alone() -> None:
    runs = {"running": {"startedAt": "2026-03-01T12:00:00Z"}}
    job = stock(a_pod("launcher", runs), a_pod("node", runs))
    assert (job.phase, job.executor, job.status) == ("Running", "kubeflow-trainer", "Running")
    assert job.started is not None
    assert [w.what for w in job.unknown] == ["diagnosis"]
    assert stock(a_pod("launcher", runs)).phase == "Scheduling"
    assert stock(read=False).phase == "Scheduling"
    failed = {"type": "Failed", "status": "True", "reason": "JobSetFailed", "message": "it did"}
    assert stock(conditions=(failed,)).cause == lockstep.Cause("JobSetFailed", "it did", "it did")


def test_a_new_job_is_not_said_to_have_no_controller() -> None:
    job = stock()
    job.creation_timestamp = now()
    assert "no mpi-controller looks after this job" not in str(job)
    job.creation_timestamp -= timedelta(seconds=30)
    assert "not known: diagnosis: no mpi-controller looks after this job" in str(job)
    job.creation_timestamp, job.phase = now(), lockstep.Phase.FAILED
    assert "no mpi-controller looks after this job" in str(job), "nothing more will come"


def test_pods_of_a_life_before_do_not_count() -> None:
    runs = {"running": {"startedAt": "2026-03-01T12:00:00Z"}}
    resumed = {"type": "Suspended", "status": "False", "reason": "Resumed", "message": "", "lastTransitionTime": "2026-03-01T12:05:00Z"}
    old = a_pod("node", runs, deletionTimestamp="2026-03-01T12:04:40Z", deletionGracePeriodSeconds=30)
    assert stock(a_pod("launcher", runs), old, conditions=(resumed,)).pods[-1].role == "launcher"
    leaving = a_pod("node", runs, deletionTimestamp="2026-03-01T13:00:00Z")
    assert stock(a_pod("launcher", runs), leaving, conditions=(resumed,)).pods[-1].terminating
    stopped = a_pod("node", runs, creationTimestamp="2026-03-01T12:05:00Z", deletionTimestamp="2026-03-01T12:05:06Z", deletionGracePeriodSeconds=0)
    stopped["spec"]["terminationGracePeriodSeconds"] = 30
    assert stock(a_pod("launcher", runs), stopped, conditions=(resumed,)).pods[-1].role == "launcher"


_ODD_PARTS: tuple[Object, ...] = (
    {"phase": "Odd"},
    {"phase": "Complete"},
    {"phase": 1},
    {"cause": "x"},
    {"cause": {}},
    {"cause": {"reason": 1, "message": ""}},
    {"since": "x"},
    {"queue": []},
    {"restarts": {"number": "x"}},
    {"artifacts": {"claim": 1}},
)


@pytest.mark.parametrize(
    "record",
    ["", "no JSON", "[]", "{}", '{"uid": "", "conditions": []}', '{"uid": "another"}', '{"uid": "u", "conditions": [1]}']
    + [json.dumps({"version": "v1", "uid": "u", "executor": "mpi-controller", "phase": "Running", "conditions": [], **odd}) for odd in _ODD_PARTS],
)
def test_a_record_that_cannot_be_read_is_none(record: str) -> None:
    job = trainjob({})
    job["metadata"] |= {"uid": "u", "annotations": {"lockstep.dev/conditions": record}}
    assert _view.job(Objects(now=now(), trainjob=job, runtime=MPI)).phase == "Creating"


@pytest.mark.parametrize(
    ("status", "body", "kind", "said"),
    [
        (401, b"", lockstep.Unauthorized, "does not know you"),
        (403, b'{"message": "trainjobs.x \\"a\\" is forbidden: policy says no"}', lockstep.Refused, "refuses it: policy says no"),
        (403, "no JSON", lockstep.Refused, "refuses it: no JSON"),
        (404, "404 page not found", lockstep.NotFound, "this cluster does not have this kind of object"),
        (422, '["odd"]', lockstep.ApiError, 'refuses it: ["odd"]'),
        (500, '{"message": "broken"}', lockstep.ApiError, "the API server answered 500: broken"),
    ],
)
def test_errors_in_plain_words(status: int, body: str | bytes, kind: type[Exception], said: str) -> None:
    error = ApiException(status=status)
    error.body = body
    assert type(explained(error)) is kind
    assert said in str(explained(error))
    assert isinstance(explained(OSError("no route")), lockstep.Unreachable)


POLICY = "x is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: too large"
WEBHOOK = 'admission webhook "v.x" denied the request: too large'
QUOTA = "x is forbidden: exceeded quota: a, used: count/trainjobs.x=1"
INVALID = 'X "a" is invalid: a.b: Invalid value: 3'


@pytest.mark.parametrize(
    ("status", "message", "details", "kind", "said"),
    [
        (403, POLICY, {}, lockstep.Refused, "the API server refuses it: too large"),
        (422, POLICY, {}, lockstep.Refused, "the API server refuses it: too large"),
        (403, WEBHOOK, {}, lockstep.Refused, "the API server refuses it: too large"),
        (403, QUOTA, {}, lockstep.QuotaExceeded, ".x=1. The quota counts jobs that are over too"),
        (403, QUOTA[:-21], {}, lockstep.QuotaExceeded, "refuses it: exceeded quota: a, used"),
        (404, "x", {"name": "a", "kind": "trainjobs"}, lockstep.NotFound, "there is no TrainJob `a`"),
        (404, "x", {"name": "a", "kind": "namespaces"}, lockstep.NotFound, "there is no namespace `a`"),
        (404, "x", {"kind": "trainjobs", "group": "y"}, lockstep.NotFound, "this cluster does not have trainjobs.y"),
        (409, "x", {"name": "a", "kind": "trainjobs"}, lockstep.ApiError, "there is a TrainJob `a` already"),
        (422, INVALID, {}, lockstep.ApiError, "the API server refuses it: a.b: Invalid value: 3"),
    ],
)
def test_errors_as_on_the_command_line(status: int, message: str, details: Object, kind: type, said: str) -> None:
    error = ApiException(status=status)
    reason = "AlreadyExists" if status == 409 else ""
    error.body = json.dumps({"message": message, "reason": reason, "details": details})
    assert type(explained(error)) is kind
    assert said in str(explained(error))


def test_jobs_run_on_kubernetes() -> None:
    with pytest.raises(ValueError, match="LocalProcessBackendConfig"):
        lockstep.MPIClient(LocalProcessBackendConfig())  # type: ignore[arg-type]


class Fake:
    """A client whose methods say what they were asked."""

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            if name in ("logs", "get_job_logs", "stream_job_events"):
                return iter([name, *args])
            return name, args, kwargs

        return call


def test_the_twins_await_the_same() -> None:
    client = AsyncMPIClient(Fake())  # type: ignore[arg-type]

    async def use() -> Iterator[Any]:
        assert await client.wait("demo", timeout=3) == ("wait", ("demo",), {"timeout": 3})
        return iter([line async for line in client.logs("demo")])

    assert list(asyncio.run(use())) == ["logs", "demo"]
    methods = {n for n, v in vars(lockstep.MPIClient).items() if not n.startswith("_") and callable(v)}
    assert methods - set(vars(client)) == {"delete_job"}


def test_a_manifest_is_applied_or_refused_with_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """`kubectl apply` keeps a copy of the manifest in an annotation, and the API server refuses annotations of more than 256 KiB."""
    monkeypatch.setattr(lockstep.MPIClient, "__init__", lambda self: None)
    monkeypatch.setattr(lockstep.MPIClient, "_reference", lambda self, runtime: {"name": runtime})
    client = lockstep.MPIClient()
    client.backend = None  # type: ignore[assignment]
    assert len(client.to_yaml("mpi", MPITrainer(env={"TABLE": "1" * (90 << 10)}), name="demo")) < 100 << 10
    for large in ("1" * (97 << 10), "<" * (20 << 10), "\n" * (50 << 10)):
        with pytest.raises(ValueError, match=r"the manifest has \d+ KiB, .* has room for 96 KiB"):
            client.to_yaml("mpi", MPITrainer(env={"TABLE": large}), name="demo")
