"""A client through the end of an API server and of its token."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Cluster
from test_client import COMPLETE, CREATED, HELLO

from lockstep import Job, MPIClient, Phase


def until(holds: Callable[[], bool], what: str, seconds: float = 30) -> None:
    """Waits for something, and not forever."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not in {seconds} s: {what}"
        time.sleep(0.05)


class ApiServer:
    """A second API server before the same data, which a test may kill."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.kubeconfig = folder / "kubeconfig"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, token: str) -> None:
        """Starts it with one token, which is then in the kubeconfig."""
        (self.folder / "tokens.csv").write_text(f'{token},admin,admin,"system:masters"\n')
        certs = os.environ["LOCKSTEP_CERTS"]
        flags = {
            "etcd-servers": os.environ["LOCKSTEP_ETCD"],
            "bind-address": "127.0.0.1",
            "secure-port": self.port,
            "cert-dir": self.folder,
            "token-auth-file": self.folder / "tokens.csv",
            "authorization-mode": "RBAC",
            "endpoint-reconciler-type": "none",
            "service-cluster-ip-range": "10.0.0.0/24",
            "service-account-issuer": "https://localhost",
            "service-account-key-file": f"{certs}/sa-signer.crt",
            "service-account-signing-key-file": f"{certs}/sa-signer.key",
            "disable-admission-plugins": "ServiceAccount",
        }
        words = [f"{os.environ['KUBEBUILDER_ASSETS']}/kube-apiserver", *(f"--{k}={v}" for k, v in flags.items())]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log, preexec_fn=dies_with_us)
        until(self.ready, f"kube-apiserver is ready; its log is in {self.folder}/log", 45)
        self.write(token)

    def write(self, token: str) -> None:
        cluster = {"server": f"https://127.0.0.1:{self.port}", "insecure-skip-tls-verify": True}
        content = {
            "current-context": "a",
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "clusters": [{"name": "a", "cluster": cluster}],
            "users": [{"name": "a", "user": {"token": token}}],
        }
        self.kubeconfig.write_text(yaml.safe_dump(content))

    def ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.folder / "log").read_text()[-2000:]
        try:
            with urllib.request.urlopen(f"https://127.0.0.1:{self.port}/readyz", timeout=2, context=ssl._create_unverified_context()) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait(10)
            self.process = None


def dies_with_us() -> None:
    """In the child: whoever kills this process leaves nobody behind."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


@pytest.fixture
def second(cluster: Cluster, tmp_path: Path) -> Iterator[ApiServer]:
    """An API server that is gone when the test is over, however it ends."""
    server = ApiServer(tmp_path)
    try:
        yield server
    finally:
        server.kill()


class Reader(threading.Thread):
    """Reads a stream to its end."""

    def __init__(self, stream: Iterator[Any]) -> None:
        super().__init__(daemon=True)
        self.stream = stream
        self.seen: list[Any] = []
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            for item in self.stream:
                self.seen.append(item)
        except BaseException as e:  # noqa: BLE001 # the test raises it
            self.error = e

    def result(self) -> list[Any]:
        self.join(30)
        assert not self.is_alive(), f"it ends: {self.seen}"
        if self.error:
            raise self.error
        return self.seen


def test_a_server_that_is_killed_and_a_token_that_expires(cluster: Cluster, second: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.runtime("mpi")
    second.start("one")
    client = MPIClient(namespace=cluster.namespace, config_file=str(second.kubeconfig))
    client.train(runtime="mpi", trainer=HELLO, name="demo")
    uid = cluster.job("demo")["metadata"]["uid"]

    def waited() -> Iterator[Job]:
        yield client.wait("demo", timeout=120)

    opened: list[str] = []
    connect = client._api.open

    def opening(path: str, *request: Any) -> Any:
        stream = connect(path, *request)
        opened.append(path)
        return stream

    monkeypatch.setattr(client._api, "open", opening)
    jobs, events, end = Reader(client.watch("demo")), Reader(client.stream_job_events("demo")), Reader(waited())
    told = [f"Told{i}" for i in range(9)]

    def tell(*reasons: str) -> None:
        for reason in reasons:
            cluster.event("TrainJob", "demo", uid, reason)

    tell(*told[:3])
    until(lambda: len(events.seen) == 3 and len(opened) == 4, "all follow the job: three watches of it, and one of events")

    second.kill()
    tell(*told[3:6])
    cluster.status("demo", CREATED)
    cluster.status("demo", CREATED, {"type": "Running", "status": "True", "reason": "TrainingStarted"})
    second.start("two")

    until(lambda: jobs.seen[-1].phase is Phase.RUNNING, "what happened meanwhile is seen")
    tell(*told[6:])
    until(lambda: len(events.seen) == len(told), "all events came")
    cluster.status("demo", CREATED, COMPLETE)
    assert Counter(e.reason for e in events.result()) == Counter(told), "nothing is lost, and nothing comes twice"
    assert [j.phase for j in jobs.result()] == ["Creating", "Running", "Complete"]
    assert [j.phase for j in end.result()] == ["Complete"]


def test_credentials_of_another_cluster_are_not_taken(cluster: Cluster, tmp_path: Path) -> None:
    """Somebody turns to another cluster while a job runs: requests stay where they were."""
    config = tmp_path / "kubeconfig"
    config.write_text(Path(os.environ["LOCKSTEP_ADMIN"]).read_text())
    client = MPIClient(namespace=cluster.namespace, config_file=str(config))
    before = client._api._client.configuration
    renew = client._api._renew
    assert renew is not None
    config.write_text(config.read_text().replace("https://127.0.0.1:", "https://127.0.0.1:1"))
    renew()
    config.write_text("no YAML: [")
    renew()
    config.unlink()
    renew()
    assert client._api._client.configuration is before
