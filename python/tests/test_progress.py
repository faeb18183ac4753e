"""What a program tells of its progress: to Trainer's status server, or else to its log."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from conftest import Object
from test_function import run

from lockstep import MPITrainer, _progress, progress


class StatusServer(HTTPServer):
    """Takes what Trainer's status server takes, or refuses it."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Object]] = []
        self.code = 200
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: StatusServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.told.append((self.headers["Authorization"], body))
        self.send_response(self.server.code)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which a test sets."""
    at = [1000.0]
    monkeypatch.setattr(_progress, "_next", 0.0)
    monkeypatch.setattr("lockstep._progress.time.monotonic", lambda: at[0])
    for name in _progress._RANKS:
        monkeypatch.delenv(name, raising=False)
    return at


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StatusServer]:
    server = StatusServer()
    threading.Thread(target=server.serve_forever, args=(0.01,)).start()
    (tmp_path / "token").write_text("who I am\n")
    monkeypatch.setenv("KUBEFLOW_TRAINER_SERVER_URL", f"http://127.0.0.1:{server.server_port}/status")
    monkeypatch.setenv("KUBEFLOW_TRAINER_SERVER_TOKEN", str(tmp_path / "token"))
    yield server
    server.shutdown()
    server.server_close()


def test_it_stands_in_the_status(clock: list[float], server: StatusServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert progress(41.9, remaining=90.5, metrics={"loss": 0.25, "stage": "warm"})
    ((who, body),) = server.told
    assert who == "Bearer who I am"
    said = body["trainerStatus"]
    assert said.pop("lastUpdatedTime").endswith("Z")
    metrics = [{"name": "loss", "value": "0.25"}, {"name": "stage", "value": "warm"}]
    assert said == {"progressPercentage": 41, "estimatedRemainingSeconds": 90, "metrics": metrics}
    assert capsys.readouterr().out == "", "the log is left to the program"


def test_a_proxy_is_not_asked(clock: list[float], server: StatusServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    assert progress(10), "the server is in the pod"


def test_often_is_not_too_often_and_the_end_is_told(clock: list[float], server: StatusServer) -> None:
    assert progress(10)
    clock[0] += 4.9
    assert not progress(20)
    clock[0] += 0.1
    assert progress(30)
    assert progress(100), "at once: there is no later one"
    assert [body["trainerStatus"]["progressPercentage"] for _, body in server.told] == [10, 30, 100]


def test_a_server_that_refuses_is_left_alone_and_the_log_has_it(clock: list[float], server: StatusServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.code = 403
    assert not progress(-3, metrics={"loss": 1})
    clock[0] += 59
    assert not progress(20)
    clock[0] += 1
    assert not progress(30, remaining=60)
    assert len(server.told) == 2
    out, err = capsys.readouterr()
    assert out == "lockstep: progress 0% loss=1\nlockstep: progress 30% remaining=60s\n"
    assert "did not take it: HTTP Error 403" in err


def test_one_rank_tells(clock: list[float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1")
    assert not progress(100)
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "0")
    assert not progress(metrics={"loss": 2})
    assert capsys.readouterr().out == "lockstep: progress loss=2\n"


def tells(steps: int) -> None:
    from lockstep import progress

    for step in range(steps):
        progress(100 * (step + 1) / steps, metrics={"step": step})


def test_it_travels_with_a_function() -> None:
    done = run(MPITrainer(func=tells, func_args={"steps": 3}), 0)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "lockstep: progress 33% step=0\nlockstep: progress 100% step=2\n"
    assert run(MPITrainer(func=tells, func_args={"steps": 3}), 1).stdout == ""
