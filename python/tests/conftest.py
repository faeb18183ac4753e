"""A real API server, where test/integration/python has started one, and one that plays tricks."""

from __future__ import annotations

import json
import os
import secrets
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from kubeflow.trainer import KubernetesBackendConfig
from kubernetes import client as kubernetes
from kubernetes import config

from lockstep import MPIClient
from lockstep._api import Api, Paths

Object = dict[str, Any]
TRAINER = "trainer.kubeflow.org/v1alpha1"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write the reference anew")


class Cluster:
    """A namespace of a real API server, in which a test does what controllers and kubelets would do."""

    def __init__(self, kubeconfig: str) -> None:
        self.api = Api(config.new_client_from_config(kubeconfig))
        self.namespace = f"team-{secrets.token_hex(4)}"
        self.paths = Paths(self.namespace)
        self.api.create("/api/v1/namespaces", {"metadata": {"name": self.namespace}})

    def runtime(self, name: str, *, kind: str = "TrainingRuntime", **policy: Any) -> Object:
        """A runtime as the compiler writes them, with 2 nodes and 2 slots; one of the cluster outlives the test."""

        def part(role: str, **labels: str) -> Object:
            container = {"name": "node", "image": "mpi:1", "resources": {"limits": {"cpu": "1"}}}
            spec = {"template": {"spec": {"containers": [container]}}}
            return {"name": role, "replicas": 1, "template": {"metadata": {"labels": labels}, "spec": spec}}

        launcher = part("launcher", **{"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"})
        mpi = {"mpiImplementation": "OpenMPI", "numProcPerNode": 2, "runLauncherAsNode": True, "sshAuthMountPath": "/keys", **policy}
        return self.api.create(
            self.paths.runtimes_of(kind),
            {
                "apiVersion": TRAINER,
                "kind": kind,
                "metadata": {
                    "name": name,
                    "labels": {
                        "trainer.kubeflow.org/framework": "mpi",
                        "lockstep.dev/mpi-implementation": "OpenMPI",
                        "lockstep.dev/mpi-version": "5.0.7",
                    },
                    "annotations": {
                        "lockstep.dev/max-nodes": "8",
                        "lockstep.dev/docs": "https://docs.example.com",
                        "lockstep.dev/description": "For tests.",
                        "lockstep.dev/documentation": "https://d",
                    },
                },
                "spec": {
                    "mlPolicy": {"numNodes": 2, "mpi": mpi},
                    "template": {"spec": {"replicatedJobs": [launcher, part("node")]}},
                },
            },
        )

    def job(self, name: str) -> Object:
        """The TrainJob as it is stored."""
        return self.api.get(f"{self.paths.trainjobs}/{name}")

    def status(self, name: str, *conditions: Object, **parts: Any) -> None:
        """Writes conditions and record of a job, as mpi-controller does, with these parts of its cause."""
        at = {"lastTransitionTime": "2026-03-01T12:00:00Z", "message": ""}
        path = f"{self.paths.trainjobs}/{name}"
        last = conditions[-1]
        record: Object = {"version": "v1", "uid": self.job(name)["metadata"]["uid"], "executor": "mpi-controller", "conditions": []}
        record["phase"] = "Scheduling" if last["type"] == "Created" else last["type"]
        held = last["type"] == "Created" and last["reason"] != "JobSetCreated"
        if held:
            record["phase"] = "Creating"
        if held or last["type"] == "Failed":
            before, _, lines = last["message"].partition("\nLast lines:\n")
            message, _, remedy = before.partition(". What to do: ")
            cause = {"message": message, "remedy": remedy, "lines": lines.splitlines(), "class": "application"}
            record["cause"] = {"reason": last["reason"], **cause, **parts}
        metadata = {"labels": {"lockstep.dev/trainjob": name}, "annotations": {"lockstep.dev/conditions": json.dumps(record)}}
        self.api.patch(f"{path}/status", {"status": {"conditions": [{**at, **c} for c in conditions]}})
        self.api.patch(path, {"metadata": metadata})

    def running(self, name: str) -> None:
        """Makes the JobSet and the pods of a job of two nodes, which run."""
        self.api.patch(f"{self.paths.trainjobs}/{name}", {"metadata": {"labels": {"lockstep.dev/trainjob": name}}})
        container = {"name": "node", "image": "mpi:1"}
        template = {"spec": {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}}
        jobset = self.api.create(
            self.paths.jobsets,
            {
                "apiVersion": "jobset.x-k8s.io/v1alpha2",
                "kind": "JobSet",
                "metadata": {"name": name, "labels": {"lockstep.dev/trainjob": name}},
                "spec": {"replicatedJobs": [{"name": role, "replicas": 1, "template": template} for role in ("launcher", "node")]},
            },
        )
        for role, machine in (("launcher", "m1"), ("node", "m2")):
            labels = {
                "jobset.sigs.k8s.io/jobset-name": name,
                "jobset.sigs.k8s.io/jobset-uid": jobset["metadata"]["uid"],
                "jobset.sigs.k8s.io/replicatedjob-name": role,
                "batch.kubernetes.io/job-completion-index": "0",
            }
            pod = {"metadata": {"name": f"{name}-{role}-0-0-abcde", "labels": labels}, "spec": {"nodeName": machine, "containers": [container]}}
            self.api.create(self.paths.pods, pod)
            state = {"name": "node", "image": "", "imageID": "", "ready": True, "restartCount": 0}
            state["state"] = {"running": {"startedAt": "2026-03-01T12:00:00Z"}}
            ready = {"type": "Ready", "status": "True"}
            status = {"phase": "Running", "conditions": [ready], "containerStatuses": [state]}
            self.api.patch(f"{self.paths.pods}/{pod['metadata']['name']}/status", {"status": status})  # type: ignore[index]

    def event(self, kind: str, name: str, uid: str, reason: str, message: str = "told") -> None:
        """Tells of something."""
        at = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        involved = {"kind": kind, "name": name, "namespace": self.namespace, "uid": uid}
        body = {
            "metadata": {"generateName": "e-"},
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "lastTimestamp": at,
            "type": "Normal",
        }
        self.api.create(self.paths.events, body)

    def may(self, who: str, *rules: Object) -> None:
        """Gives a user rights in the namespace."""
        rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{self.namespace}"
        name = secrets.token_hex(4)
        self.api.create(f"{rbac}/roles", {"metadata": {"name": name}, "rules": list(rules)})
        ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
        subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": who}
        self.api.create(f"{rbac}/rolebindings", {"metadata": {"name": name}, "roleRef": ref, "subjects": [subject]})

    def may_everywhere(self, who: str, *rules: Object) -> None:
        """Gives a user rights in all namespaces, until :meth:`clean`."""
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        self.api.create(f"{rbac}/clusterroles", {"metadata": {"name": self.namespace}, "rules": list(rules)})
        ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": self.namespace}
        subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": who}
        self.api.create(f"{rbac}/clusterrolebindings", {"metadata": {"name": self.namespace}, "roleRef": ref, "subjects": [subject]})

    def clean(self) -> None:
        """Takes away what is not of the namespace: other tests look at the whole cluster."""
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        for collection in (f"{rbac}/clusterrolebindings", f"{rbac}/clusterroles", self.paths.cluster_runtimes):
            for o in self.api.list(collection)[0]:
                if o["metadata"]["name"].startswith(self.namespace):
                    self.api.delete(f"{collection}/{o['metadata']['name']}", {})

    def client(self, who: str = "ADMIN") -> MPIClient:
        """A client of a user."""
        return MPIClient(namespace=self.namespace, config_file=os.environ[f"LOCKSTEP_{who}"])


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A namespace of the real API server."""
    if "LOCKSTEP_ADMIN" not in os.environ:
        pytest.skip("this needs an API server: run `make test-python`")
    made = Cluster(os.environ["LOCKSTEP_ADMIN"])
    yield made
    made.clean()


@pytest.fixture
def client(cluster: Cluster) -> MPIClient:
    """A client that may do everything there, and finds the runtime `mpi`."""
    cluster.runtime("mpi")
    return cluster.client()


class Answer(BaseHTTPRequestHandler):
    """One request to a Server."""

    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: Any) -> None:
        pass

    def json(self, body: Object, code: int = 200) -> None:
        """Answers with an object."""
        text = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def list(self, *items: Object, version: str = "1") -> None:
        """Answers with a list."""
        self.json({"metadata": {"resourceVersion": version}, "items": list(items)})

    def fail(self, code: int, message: str = "it is so") -> None:
        """Answers as an API server does that cannot."""
        self.json({"kind": "Status", "status": "Failure", "code": code, "message": message}, code)

    def begin(self) -> None:
        """Begins a stream."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def piece(self, text: str | bytes) -> None:
        """Sends a piece of it."""
        data = text.encode() if isinstance(text, str) else text
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def end(self) -> None:
        """Ends it in order."""
        self.wfile.write(b"0\r\n\r\n")

    def break_off(self) -> None:
        """Ends it as a server does that is killed."""
        self.close_connection = True
        self.connection.close()

    def events(self, *changes: tuple[str, Object]) -> None:
        """Sends changes of a watch."""
        for kind, o in changes:
            self.piece(json.dumps({"type": kind, "object": o}) + "\n")

    def do_GET(self) -> None:
        split = urlsplit(self.path)
        query = dict(parse_qsl(split.query))
        self.server.asked.append((split.path, query))
        self.server.answer(self, split.path, query)


class Server(ThreadingHTTPServer):
    """An API server that answers as a test says."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.answer: Callable[[Answer, str, dict[str, str]], None] = lambda a, _path, _query: a.fail(404)
        self.asked: list[tuple[str, dict[str, str]]] = []

    def handle_error(self, *_: Any) -> None:
        pass  # clients disconnect

    def client(self) -> MPIClient:
        configuration = kubernetes.Configuration(host=f"http://127.0.0.1:{self.server_port}")
        configuration.retries = False
        return MPIClient(KubernetesBackendConfig(namespace="team", client_configuration=configuration))


@pytest.fixture
def server() -> Iterator[Server]:
    """An API server that answers as the test says."""
    made = Server()
    thread = threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()
