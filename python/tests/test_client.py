"""The client against a real API server."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Cluster
from kubeflow.trainer import CustomTrainer, CustomTrainerContainer, KubernetesBackendConfig, TrainerClient
from kubeflow.trainer.options import Labels, TrainerArgs
from test_vectors import VECTORS

import lockstep
from lockstep import MPIClient, MPITrainer, Phase

HELLO = MPITrainer(nodes=2, slots=2, command=["mpirun", "mpi-hello"])
COMPLETE = {"type": "Complete", "status": "True", "reason": "Completed", "message": "the launcher succeeded"}
FAILED = {
    "type": "Failed",
    "status": "True",
    "reason": "OOMKilled",
    "message": "Worker 0 (pod demo-node-0-0-abcde on machine m2) failed. What to do: raise the memory limit\nLast lines:\nboom",
}
CREATED = {"type": "Created", "status": "True", "reason": "JobSetCreated", "message": "all exist"}


#: The list of reasons.
FAILURES = Path(__file__).parents[2] / "docs/failures/README.md"


def later(what: Callable[..., Any], *args: Any) -> None:
    """Does something while the test waits."""
    threading.Timer(0.3, what, args).start()


def test_train_asks_for_everything(cluster: Cluster, client: MPIClient) -> None:
    trainer = MPITrainer(
        nodes=4,
        slots=2,
        command=["mpirun", "python", "train.py"],
        args=["--epochs", "3"],
        image="mpi:2",
        env={"OMP_NUM_THREADS": "1"},
        resources={"cpu": 2, "memory": "1Gi", "gpu": 2},
        volumes={"/data": "imagenet"},
    )
    name = client.train(runtime="mpi", trainer=trainer, name="demo", queue="jobs", options=[Labels({"team": "cv"})])
    assert name == "demo"
    job = cluster.job("demo")
    assert job["metadata"]["labels"] == {"team": "cv", "kueue.x-k8s.io/queue-name": "jobs"}
    assert job["spec"]["runtimeRef"] == {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": "mpi"}
    limits = {"memory": "1Gi", "nvidia.com/gpu": 2}
    assert job["spec"]["trainer"] == {
        "numNodes": 4,
        "numProcPerNode": 2,
        "command": ["mpirun", "python", "train.py"],
        "args": ["--epochs", "3"],
        "image": "mpi:2",
        "env": [{"name": "OMP_NUM_THREADS", "value": "1"}],
        "resourcesPerNode": {"requests": {"cpu": 2, **limits}, "limits": limits},
    }
    (patch,) = job["spec"]["runtimePatches"]
    for part, role in zip(patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"], ("launcher", "node"), strict=True):
        pod = part["template"]["spec"]["template"]["spec"]
        assert part["name"] == role
        assert pod["volumes"] == [{"name": "data-0", "persistentVolumeClaim": {"claimName": "imagenet"}}]
        assert pod["containers"] == [{"name": "node", "volumeMounts": [{"name": "data-0", "mountPath": "/data"}]}]


def test_an_option_of_kubeflow_is_kept(cluster: Cluster, client: MPIClient) -> None:
    name = client.train(runtime="mpi", trainer=HELLO, options=[TrainerArgs(["--sleep", "1"])])
    assert cluster.job(name)["spec"]["trainer"]["args"] == ["--sleep", "1"]


def test_trainers_of_kubeflow_work(cluster: Cluster, client: MPIClient) -> None:
    name = client.train(runtime="mpi", trainer=CustomTrainerContainer(image="mpi:2", num_nodes=2), name="contained", queue="jobs")
    assert cluster.job(name)["spec"]["trainer"] == {"image": "mpi:2", "numNodes": 2}
    assert cluster.job(name)["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "jobs"}
    name = client.train(runtime="mpi", trainer=CustomTrainer(func=test_trainers_of_kubeflow_work))
    assert cluster.job(name)["spec"]["trainer"]["command"][0] == "mpirun"


def test_kubeflow_reads_the_same(cluster: Cluster, client: MPIClient) -> None:
    client.train(runtime="mpi", trainer=HELLO, name="demo")
    cluster.running("demo")
    cluster.status("demo", CREATED, COMPLETE)
    config = KubernetesBackendConfig(namespace=cluster.namespace, client_configuration=client.backend.core_api.api_client.configuration)
    theirs, ours = TrainerClient(config).get_job("demo"), client.get_job("demo")
    for field in ("name", "num_nodes", "creation_timestamp", "status"):
        assert getattr(ours, field) == getattr(theirs, field), field
    assert sorted(ours.steps, key=str) == sorted(theirs.steps, key=str)
    assert ours.runtime.trainer == theirs.runtime.trainer
    assert client.wait_for_job_status("demo", timeout=5, polling_interval=1).status == "Complete"


def test_a_running_job_is_shown(cluster: Cluster, client: MPIClient) -> None:
    client.train(runtime="mpi", trainer=HELLO, name="demo")
    assert client.get_job("demo").phase is Phase.CREATING
    cluster.running("demo")
    cluster.status("demo", CREATED)
    assert client.get_job_status("demo") is Phase.STARTING
    running = {"type": "Running", "status": "True", "reason": "TrainingStarted"}
    cluster.status("demo", CREATED, running)
    job = client.get_job("demo")
    assert (job.phase, job.ranks, job.machines, job.ready, job.want) == ("Running", 4, ["m1", "m2"], 2, 2)
    assert [(p.role, p.index, list(p.ranks)) for p in job.pods] == [("launcher", 0, [0, 1]), ("node", 0, [2, 3])]
    assert job.runtime.implementation == "OpenMPI"  # type: ignore[attr-defined]
    assert client.diagnose("demo") is None
    assert not job.unknown
    (listed,) = client.list_jobs()
    assert listed.columns() == job.columns()
    assert client.list_jobs(runtime="other") == []
    assert [j.name for j in client.list_jobs(runtime=client.get_runtime("mpi"))] == ["demo"]


def test_wait_returns_the_job_that_is_complete(cluster: Cluster, client: MPIClient) -> None:
    name = client.train(runtime="mpi", trainer=HELLO)
    later(cluster.status, name, CREATED, COMPLETE)
    assert client.wait(name, timeout=20).phase is Phase.COMPLETE
    assert client.wait(name).message == "the launcher succeeded"  # which it is already


def test_wait_raises_the_cause(cluster: Cluster, client: MPIClient) -> None:
    name = client.train(runtime="mpi", trainer=HELLO)
    parts = {"message": "Worker 0 (pod demo-node-0-0-abcde on machine m2) failed", "remedy": "raise the memory limit", "lines": ["boom"]}
    later(lambda: cluster.status(name, CREATED, FAILED, pod="demo-node-0-0-abcde", machine="m2", **parts))
    with pytest.raises(lockstep.JobFailed) as failed:
        client.wait(name, timeout=20)
    cause = failed.value.cause
    assert cause == client.diagnose(name)
    assert cause is not None
    assert (cause.reason, cause.text) == (FAILED["reason"], FAILED["message"])
    assert cause.where == "pod demo-node-0-0-abcde on machine m2"
    assert cause.remedy == "raise the memory limit"
    assert cause.evidence == "Worker 0 (pod demo-node-0-0-abcde on machine m2) failed\nboom"
    assert cause.url == "https://docs.example.com/failures/OOMKilled"
    assert "OOMKilled: Worker 0" in str(failed.value)


def test_thirty_faults_are_told_in_the_words_of_their_conditions(cluster: Cluster, client: MPIClient) -> None:
    faults = [v for v in VECTORS if v["want"]["cause"]]
    words = {reason: f"Worker 2 failed with {reason} in {reason.lower()}" for reason in re.findall(r"\[(\w+)\]\(\w+\.md\)", FAILURES.read_text())}
    words |= {v["want"]["cause"]["reason"]: v["want"]["cause"]["text"] for v in faults}
    made = yaml.safe_load(client.to_yaml("mpi", HELLO))
    for reason, text in words.items():
        cluster.api.create(cluster.paths.trainjobs, {**made, "metadata": {"name": reason.lower()}})
        cluster.status(reason.lower(), CREATED, {"type": "Failed", "status": "True", "reason": reason, "message": text})
    assert len(words) >= 30
    listed = {job.name: job.cause for job in client.list_jobs()}
    for reason, text in words.items():
        cause = client.diagnose(reason.lower())
        assert cause is not None
        assert (cause.reason, cause.text, cause.whose) == (reason, text, "application")
        assert listed[reason.lower()] == cause
        assert cause.url.endswith(reason)


@pytest.mark.parametrize(("reason", "kind"), [("QuotaExceeded", lockstep.QuotaExceeded), ("GangTimeout", lockstep.NotSchedulable)])
def test_some_causes_have_types(cluster: Cluster, client: MPIClient, reason: str, kind: type[Exception]) -> None:
    name = client.train(runtime="mpi", trainer=HELLO)
    cluster.status(name, {"type": "Failed", "status": "True", "reason": reason, "message": "no room"})
    with pytest.raises(kind, match=f"{reason}: no room"):
        client.wait(name)
    assert client.wait(name, until={"Failed", Phase.REFUSED}).finished


def test_wait_until_a_phase(cluster: Cluster, client: MPIClient) -> None:
    name = client.train(runtime="mpi", trainer=HELLO)
    later(cluster.status, name, CREATED, {"type": "Running", "status": "True", "reason": "TrainingStarted"})
    assert client.wait(name, until="Running", timeout=20).phase is Phase.RUNNING
    with pytest.raises(ValueError, match="Done"):
        client.wait(name, until="Done")


def test_wait_says_what_keeps_the_job(cluster: Cluster, client: MPIClient) -> None:
    name = client.train(runtime="mpi", trainer=HELLO)
    cluster.status(name, {"type": "Created", "status": "True", "reason": "QuotaExceeded", "message": "no quota"})
    with pytest.raises(TimeoutError, match=r"is Creating after 1 s: QuotaExceeded: no quota") as late:
        client.wait(name, timeout=1)
    assert isinstance(late.value, lockstep.TimeoutError)
    assert late.value.job is not None
    assert late.value.job.phase is Phase.CREATING


def test_wait_for_a_job_that_goes(client: MPIClient) -> None:
    name = client.train(runtime="mpi", trainer=HELLO)
    later(client.delete, name)
    with pytest.raises(lockstep.NotFound, match="deleted"):
        client.wait(name, timeout=20)
    with pytest.raises(lockstep.NotFound, match=name):
        client.wait(name)


def test_a_hundred_jobs_are_watched_by_push(cluster: Cluster, client: MPIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    made = yaml.safe_load(client.to_yaml("mpi", HELLO))
    names = [f"job{i}" for i in range(100)]
    for name in names:
        cluster.api.create(cluster.paths.trainjobs, {**made, "metadata": {"name": name}})
    asked: list[tuple[Any, ...]] = []
    request = client._api._request

    def counted(*args: Any) -> Any:
        asked.append(args)
        return request(*args)

    monkeypatch.setattr(client._api, "_request", counted)
    with ThreadPoolExecutor(len(names)) as pool:
        done = [pool.submit(client.wait, name, timeout=120) for name in names]
        while sum("watch" in query for _, _, query, *_ in asked) < len(names):
            time.sleep(0.05)
        begun = len(asked)
        time.sleep(2)
        assert len(asked) == begun, "nothing is asked in a loop"
        for name in names:
            cluster.status(name, CREATED, COMPLETE)
        assert {future.result().phase for future in done} == {Phase.COMPLETE}
    # To read a job takes 4 requests, to watch it 2, and each was read twice, however long it took.
    print("requests:", begun, "to begin,", len(asked), "in all")
    assert len(asked) <= len(names) * (4 + 2 + 4)


QUOTA = {"requests.cpu": "3", "pods": "9"}


def test_preflight_says_what_is_in_the_way(cluster: Cluster, client: MPIClient) -> None:
    assert client.preflight("mpi", HELLO)
    assert client.list_jobs() == []
    quotas = cluster.paths.quotas
    cluster.api.create(quotas, {"metadata": {"name": "q"}, "spec": {"hard": QUOTA}})
    cluster.api.patch(f"{quotas}/q/status", {"status": {"hard": QUOTA, "used": {"requests.cpu": "1", "pods": "0"}}})
    cluster.api.create(quotas, {"metadata": {"name": "scoped"}, "spec": {"hard": {"pods": "1"}, "scopes": ["Terminating"]}})
    item = {"type": "Container", "max": {"cpu": "8"}, "min": {"cpu": "1m"}}
    cluster.api.create(cluster.paths.limits, {"metadata": {"name": "l"}, "spec": {"limits": [item]}})
    found = client.preflight("mpi", MPITrainer(nodes=3, slots=2, volumes={"/data": "imagenet"}))
    assert [(f.about, f.verdict, f.reason) for f in found.findings] == [
        ("quota", "waits", "QuotaExceeded"),
        ("volumes", "waits", "VolumeClaimMissing"),
    ]
    assert found.summary == "waits; the largest that fits now has 2 nodes"
    assert "available 2 of 3 in quota `q`" in str(found)
    assert "there is no claim `imagenet`" in str(found)
    assert {text.split("`")[0] for text in found.unseen} == {"quota ", "the bounds of LimitRanges are not judged: kubectl mpi preflight judges them"}
    assert client.preflight("mpi", MPITrainer(nodes=4)).verdict == "never"
    assert "takes 1 to 8 nodes" in str(client.preflight("mpi", MPITrainer(nodes=9)))
    assert [f.reason for f in client.preflight("missing", HELLO).findings] == ["RuntimeNotFound"]
    assert "there is no queue `jobs`" in str(client.preflight("mpi", HELLO, queue="jobs"))
    (admission,) = client.preflight("mpi", HELLO, name="Not_A_Name").findings
    assert (admission.about, admission.verdict) == ("admission", "never")


def test_preflight_without_rights(cluster: Cluster) -> None:
    cluster.runtime("mpi")
    cluster.may("jane", {"apiGroups": ["trainer.kubeflow.org"], "resources": ["trainingruntimes"], "verbs": ["get"]})
    found = cluster.client("JANE").preflight("mpi", MPITrainer(volumes={"/data": "imagenet"}), queue="jobs")
    assert str(found).startswith("never\n  rights    never  you lack the right to create trainjobs\n  not seen  quotas: User 'jane' lacks 'list'")
    assert len(found.unseen) == 4, "what may not be read is no obstacle"


def test_diff_is_of_what_ran(cluster: Cluster, client: MPIClient) -> None:
    for name, rate in (("a", "0.1"), ("b", "0.3")):
        client.train(runtime="mpi", trainer=MPITrainer(nodes=2, env={"LR": rate, "API_TOKEN": rate}), name=name)
    cluster.status("b", CREATED, FAILED)
    asked = client.diff("a", "b")
    changed = {d.what: (d.left, d.right) for d in asked.differences}
    assert changed["env LR"] == ("0.1", "0.3")
    assert changed["env API_TOKEN"] == ("***", "***")
    assert changed["result"] == ("not over", "Failed OOMKilled")
    assert asked.unknown[0] == "the pods of `a` are known by its TrainJob only: its JobSet is gone"
    assert "env LR" in str(asked)
    assert str(client.diff("a", "a")).startswith("nothing differs between a and a, of ")
    cluster.running("a")
    owner = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "name": "a",
        "uid": cluster.job("a")["metadata"]["uid"],
        "controller": True,
    }
    mine = {"metadata": {"ownerReferences": [owner]}}
    assert len(client.diff("a", "b").unknown) == 2, "a JobSet of somebody else is not looked at"
    cluster.api.patch(f"{cluster.paths.jobsets}/a", mine)
    snapshot = {"labels": {"lockstep.dev/mpi-implementation": "MPICH"}, "spec": cluster.runtime("kept")["spec"]}
    kept = {"metadata": {"name": "a-mpi-hostfile", **mine["metadata"]}, "data": {"runtime.json": json.dumps(snapshot)}}
    cluster.api.create(cluster.paths.config_maps, kept)
    ran = client.diff("a", "b")
    changed = {d.what: (d.left, d.right) for d in ran.differences}
    assert changed["launcher image"] == ("mpi:1", "")
    assert changed["MPI"] == ("MPICH", "")
    assert changed["slots"] == ("2", "the runtime's")
    assert ran.unknown == ["the pods of `b` are known by its TrainJob only: its JobSet is gone"]
    with pytest.raises(lockstep.NotFound):
        client.diff("a", "another")


def test_suspend_and_resume(cluster: Cluster, client: MPIClient) -> None:
    name = client.train(runtime="mpi", trainer=HELLO)
    client.suspend(name)
    assert cluster.job(name)["spec"]["suspend"] is True
    assert client.get_job(name).phase is Phase.SUSPENDED
    client.resume(name)
    assert cluster.job(name)["spec"]["suspend"] is False


def test_clone_changes_what_is_asked(cluster: Cluster, client: MPIClient) -> None:
    trainer = MPITrainer(nodes=2, slots=2, command=["mpirun", "a"], env={"A": "1", "B": "2"}, image="mpi:2")
    client.train(runtime="mpi", trainer=trainer, name="demo", queue="jobs")
    cluster.status("demo", CREATED)
    client.suspend("demo")
    placed = {"manager": "kueue.x-k8s.io/manager", "time": "2026-11-24T12:00:00Z"}
    cluster.api.patch(f"{cluster.paths.trainjobs}/demo", {"spec": {"runtimePatches": [placed, {"manager": "example.com/mine"}]}})
    cluster.runtime("mpi2")
    name = client.clone("demo", nodes=3, image=None, env={"A": None, "C": "3"}, runtime="mpi2", queue=None, resources={"cpu": 1})
    made = cluster.job(name)
    assert "labels" not in made["metadata"]
    assert "suspend" not in made["spec"] or not made["spec"]["suspend"]
    assert made["spec"]["runtimeRef"]["name"] == "mpi2"
    assert [p["manager"] for p in made["spec"].get("runtimePatches", [])] == ["example.com/mine"]
    wanted = made["spec"]["trainer"]
    assert (wanted["numNodes"], wanted["numProcPerNode"], wanted["command"]) == (3, 2, ["mpirun", "a"])
    assert wanted["env"] == [{"name": "B", "value": "2"}, {"name": "C", "value": "3"}]
    assert "image" not in wanted
    assert client.clone("demo", new_name="again", queue="other") == "again"
    assert cluster.job("again")["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "other"}
    with pytest.raises(TypeError, match="cannot change workers"):
        client.clone("demo", workers=3)


def test_delete(cluster: Cluster, client: MPIClient) -> None:
    for name, grace in (("a", None), ("b", 0)):
        client.train(runtime="mpi", trainer=HELLO, name=name)
        cluster.running(name)
        client.delete(name, grace_period=grace)
        with pytest.raises(lockstep.NotFound):
            client.get_job(name)
    left = {p["metadata"]["name"] for p in cluster.api.list(cluster.paths.pods)[0]}
    assert left == {"a-launcher-0-0-abcde", "a-node-0-0-abcde"}, "the pods of a are the garbage collector's, which is not here"
    with pytest.raises(lockstep.NotFound):
        client.delete_job("a")
    with pytest.raises(ValueError, match="grace_period is -1"):
        client.delete("a", grace_period=-1)


def test_runtimes(client: MPIClient) -> None:
    (mpi,) = client.runtimes()
    assert (mpi.name, mpi.implementation, mpi.version, mpi.max_nodes, mpi.min_nodes) == ("mpi", "OpenMPI", "5.0.7", 8, None)
    assert (mpi.description, mpi.documentation, mpi.default) == ("For tests.", "https://d", False)
    assert mpi.world is not None
    assert (mpi.world.nodes, mpi.world.slots, mpi.world.pods) == (2, 4, 2)


def test_runtimes_of_the_cluster_are_those_of_the_tenant(cluster: Cluster, client: MPIClient) -> None:
    ours, theirs = f"{cluster.namespace}-a", f"{cluster.namespace}-b"
    for name in (ours, theirs):
        cluster.runtime(name, kind="ClusterTrainingRuntime")

    def offered(**chosen: str) -> set[str]:
        annotations = {"lockstep.dev/runtimes": None, "lockstep.dev/external-runtimes": None} | {f"lockstep.dev/{k}": v for k, v in chosen.items()}
        cluster.api.patch(cluster.paths.namespace, {"metadata": {"annotations": annotations}})
        return {r.name for r in client.runtimes()} & {"mpi", ours, theirs}

    assert offered() == {"mpi", ours, theirs}, "nothing limits the tenant"
    assert offered(runtimes=ours) == {"mpi", ours}, "those of the namespace are its own"
    assert offered(runtimes="") == {"mpi"}
    assert offered(**{"runtimes": f"another,{ours}", "external-runtimes": theirs}) == {"mpi", ours, theirs}
    assert offered(**{"external-runtimes": theirs}) == {"mpi", ours, theirs}, "as pkg/jobs/fetch has it: others than compiled ones limit nobody"
    reads = {"apiGroups": ["trainer.kubeflow.org"], "resources": ["trainingruntimes", "clustertrainingruntimes"], "verbs": ["get", "list"]}
    cluster.may_everywhere("jane", reads)
    assert offered(runtimes="") == {"mpi"}
    assert {r.name for r in cluster.client("JANE").runtimes()} >= {"mpi", ours, theirs}, "who may not read the namespace is not told less"


def test_a_job_without_a_runtime_gets_the_offered_one(cluster: Cluster, client: MPIClient) -> None:
    cluster.api.patch(cluster.paths.namespace, {"metadata": {"annotations": {"lockstep.dev/runtimes": ""}}})

    def chosen() -> str:
        return str(client.get_job(client.train(trainer=HELLO)).runtime.name)

    def label(name: str, **labels: str) -> None:
        cluster.api.patch(f"{cluster.paths.runtimes}/{name}", {"metadata": {"labels": labels}})

    assert chosen() == "mpi", "the only one"
    cluster.runtime("newer")
    with pytest.raises(ValueError, match=r"which runtime\? None of them is the default: name one of mpi, newer"):
        client.train(trainer=HELLO)
    label("mpi", **{"trainer.kubeflow.org/support": "deprecated"})
    assert chosen() == "newer", "the other will go"
    for trainer in (HELLO, CustomTrainerContainer(image="mpi:2", num_nodes=2)):
        with pytest.warns(lockstep.LockstepWarning, match="runtime `mpi` is deprecated"):
            client.train(runtime="mpi", trainer=trainer)
    label("mpi", **{"lockstep.dev/default": "true"})
    assert chosen() == "mpi"


def test_dry_run_and_yaml_create_nothing(cluster: Cluster, client: MPIClient) -> None:
    made = client.dry_run("mpi", HELLO, name="demo")
    assert made["metadata"]["uid"]
    assert yaml.safe_load(client.to_yaml("mpi", HELLO, name="demo"))["spec"]["trainer"]["numProcPerNode"] == 2
    assert client.list_jobs() == []
    with pytest.raises(lockstep.ApiError, match="Invalid value"):
        client.dry_run("mpi", HELLO, name="Not_A_Name")


def test_names_of_the_requirements(cluster: Cluster, client: MPIClient) -> None:
    name = client.create_mpi_job("demo", runtime="mpi", nodes=2, slots=2, command=["mpirun", "a"])
    assert name == "demo"
    assert client.get_job_status("demo") == "Creating"
    with pytest.raises(lockstep.NotFound, match="has no pod launcher 0"):
        next(client.get_job_logs("demo", pod_type="Launcher"))
    assert list(client.get_job_logs("demo")) == [], "Kubeflow's own"


def test_a_right_that_is_missing(cluster: Cluster) -> None:
    cluster.runtime("mpi")
    jane = cluster.client("JANE")
    cluster.may("jane", {"apiGroups": ["trainer.kubeflow.org"], "resources": ["trainingruntimes"], "verbs": ["get", "list"]})
    words = f"User 'jane' lacks 'create' permission for trainjobs in namespace '{cluster.namespace}'"
    with pytest.raises(lockstep.Forbidden) as error:
        jane.train(runtime="mpi", trainer=HELLO)
    assert str(error.value) == words
    assert (error.value.user, error.value.verb, error.value.resource, error.value.namespace) == ("jane", "create", "trainjobs", cluster.namespace)
    with pytest.raises(lockstep.Forbidden, match=words):
        jane.train(runtime=jane.get_runtime("mpi"), trainer=CustomTrainerContainer(image="mpi:1"))
    with pytest.raises(lockstep.Forbidden, match="lacks 'list' permission for clustertrainingruntimes in the whole cluster"):
        jane.runtimes()


def test_what_may_not_be_read_is_told(cluster: Cluster, client: MPIClient) -> None:
    client.train(runtime="mpi", trainer=HELLO, name="demo")
    cluster.running("demo")
    cluster.status("demo", CREATED, FAILED)
    cluster.may("jane", {"apiGroups": ["trainer.kubeflow.org"], "resources": ["trainjobs"], "verbs": ["get", "list", "delete"]})
    jane = cluster.client("JANE")
    job = jane.get_job("demo")
    cause = client.diagnose("demo")
    assert cause
    assert job.cause == replace(cause, url=""), "the runtime has the address of the pages"
    assert {w.what for w in job.unknown} == {"pods", "jobsets", "runtimes", "runtime"}
    assert "User 'jane' lacks 'list' permission for pods" in str(job)
    assert jane.list_jobs()[0].phase is Phase.FAILED
    with pytest.raises(lockstep.Forbidden, match="pods"):
        jane.delete("demo", grace_period=5)
    assert client.get_job("demo"), "nothing was deleted"


def test_a_quota_for_jobs(cluster: Cluster, client: MPIClient) -> None:
    quotas = f"/api/v1/namespaces/{cluster.namespace}/resourcequotas"
    hard = {"hard": {"count/trainjobs.trainer.kubeflow.org": "0"}}
    cluster.api.create(quotas, {"metadata": {"name": "jobs"}, "spec": hard})
    used = {**hard, "used": {"count/trainjobs.trainer.kubeflow.org": "0"}}
    cluster.api.patch(f"{quotas}/jobs/status", {"status": used})

    def train_on() -> None:
        end = time.monotonic() + 30
        while time.monotonic() < end:  # the API server learns of the quota, and of the kind, in its time
            client.train(runtime="mpi", trainer=HELLO)
            time.sleep(0.2)

    with pytest.raises(lockstep.QuotaExceeded, match="exceeded quota: jobs") as error:
        train_on()
    assert error.value.job is None


def test_names_cannot_be_paths(client: MPIClient) -> None:
    with pytest.raises(lockstep.NotFound):
        client.get_job("../../../../api/v1/namespaces/kube-system/secrets")
    client.train(runtime="mpi", trainer=HELLO, name="kept")
    for ask in (client.get_job, client.delete, client.delete_job, client.suspend, client.resume, client.clone, client.wait, client.diagnose):
        for name in ("", ".", ".."):
            with pytest.raises(ValueError, match=r"the name is empty|is no name"):
                ask(name)
        with pytest.raises(TypeError, match="the name is None"):
            ask(None)  # type: ignore[arg-type]
    assert client.get_job("kept"), "no name is not all names"


def test_arguments_that_cannot_be_meant(client: MPIClient) -> None:
    client.train(runtime="mpi", trainer=HELLO, name="demo")
    for ask, said in (
        (lambda: client.wait("demo", until="going"), "give some of Refused, Queued"),
        (lambda: client.logs("demo", index=-1), "index is -1"),
        (lambda: client.logs("demo", since="5m"), "since is '5m': give a number of seconds"),  # type: ignore[arg-type]
        (lambda: client.logs("demo", tail="5"), "tail is 5"),  # type: ignore[arg-type]
        (lambda: client.get_job_logs("demo", pod_type="master"), "pod_type is `master`: give `launcher` or `worker`"),
        (lambda: client.clone("demo", env="A=1"), "env is 'A=1': give a dict"),
        (lambda: client.preflight("mpi", None), "the trainer is None: give an MPITrainer"),  # type: ignore[arg-type]
    ):
        with pytest.raises((TypeError, ValueError), match=said):
            ask()


def test_events_come_until_the_job_is_over(cluster: Cluster, client: MPIClient) -> None:
    client.train(runtime="mpi", trainer=HELLO, name="demo")
    uid = cluster.job("demo")["metadata"]["uid"]
    cluster.event("TrainJob", "demo", uid, "First")
    cluster.event("TrainJob", "demo", "another", "OfAnother")
    cluster.event("Pod", "demo2-launcher-0-0-abcde", "x", "OfAnother")
    cluster.event("Node", "demo", "x", "OfAnother")

    def end() -> None:
        cluster.event("Pod", "demo-node-0-0-abcde", "x", "Second")
        cluster.status("demo", CREATED, COMPLETE)
        cluster.event("TrainJob", "demo", uid, "Late")

    assert [e.reason for e in client.stream_job_events("demo", follow=False)] == ["First"]
    later(end)
    seen = [(e.involved_object_kind, e.reason, e.message) for e in client.stream_job_events("demo")]
    assert seen[:2] == [("TrainJob", "First", "told"), ("Pod", "Second", "told")]
    assert {reason for _, reason, _ in seen} <= {"First", "Second", "Late"}


def test_a_client_begins_without_warnings(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    cluster.client("JANE")
    assert not caplog.records
    TrainerClient(KubernetesBackendConfig(namespace=cluster.namespace, config_file=os.environ["LOCKSTEP_JANE"]))
    assert "version info is not available" in caplog.text, "which is Kubeflow's own"


def test_runtimes_that_are_not_there(client: MPIClient) -> None:
    with pytest.raises(ValueError, match="no initializer"):
        client.train(runtime="mpi", trainer=HELLO, initializer=object())  # type: ignore[arg-type]
    with pytest.raises(lockstep.NotFound, match="there is no ClusterTrainingRuntime `missing`"):
        client.train(runtime="missing", trainer=CustomTrainerContainer(image="mpi:1"))
    # The API server takes a job whose runtime comes later, and the controller waits for it.
    name = client.train(runtime="later", trainer=HELLO)
    assert {w.what for w in client.get_job(name).unknown} == {"diagnosis", "runtime"}
