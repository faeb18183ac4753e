"""A job that is followed: its table, and who is told of its end."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from conftest import Cluster
from test_client import COMPLETE, CREATED, FAILED, HELLO, later
from test_vectors import VECTORS, seen

import lockstep
from lockstep import Job, MPIClient, Phase, Pod, WebhookFailed, _live, webhook
from lockstep.webhook import HEADER, Webhook, verify

RUNNING = {"type": "Running", "status": "True", "reason": "TrainingStarted"}
JOB = seen(next(v for v in VECTORS if v["want"]["phase"] == "Running"))
OVER = seen(next(v for v in VECTORS if v["name"] == "RunsOutOfMemory 4"))


def test_watch_tells_each_change(cluster: Cluster, client: MPIClient) -> None:
    name = client.train(runtime="mpi", trainer=HELLO)
    jobs = client.watch(name)
    assert next(jobs).phase is Phase.CREATING
    cluster.status(name, CREATED, RUNNING)
    assert next(jobs).phase is Phase.RUNNING
    cluster.status(name, CREATED, COMPLETE)
    assert [j.phase for j in jobs] == ["Complete"]
    assert [j.phase for j in client.watch(name)] == ["Complete"], "one that is over is told of once"
    with pytest.raises(lockstep.NotFound):
        next(client.watch("another"))


def test_watch_ends_in_time_and_with_its_job(client: MPIClient) -> None:
    name = client.train(runtime="mpi", trainer=HELLO)
    assert [j.phase for j in client.watch(name, timeout=1)] == ["Creating"]
    jobs = client.watch(name)
    next(jobs)
    client.delete(name)
    with pytest.raises(lockstep.NotFound, match="was deleted"):
        next(jobs)


def test_progress_is_what_the_program_reports(cluster: Cluster, client: MPIClient) -> None:
    client.train(runtime="mpi", trainer=HELLO, name="demo")
    metrics = [{"name": "loss", "value": "0.25"}, {"name": "lr", "value": "<b>"}]
    said = {"progressPercentage": 40, "estimatedRemainingSeconds": 75, "metrics": metrics, "lastUpdatedTime": "2026-03-01T12:00:00Z"}
    cluster.api.patch(f"{cluster.paths.trainjobs}/demo/status", {"status": {"trainerStatus": said}})
    job = client.get_job("demo")
    assert (job.progress, job.metrics["loss"], job.remaining and job.remaining.seconds) == (40, "0.25", 75)
    assert "metrics: loss 0.25, lr <b>\nremaining: 75s" in str(job)
    page = _live.Table(job)._repr_html_()
    assert '<progress max="100" value="40">' in page
    assert "<b>lr" not in page


def test_a_job_says_who_submitted_it(cluster: Cluster, client: MPIClient) -> None:
    from kubeflow.trainer import CustomTrainerContainer
    from kubeflow.trainer.options import Annotations, Labels

    name = client.train(runtime="mpi", trainer=HELLO, options=[Annotations({"a": "b"})])
    assert cluster.job(name)["metadata"]["annotations"] == {"a": "b", "lockstep.dev/user": "admin"}
    assert client.get_job(name).user == "admin"
    assert cluster.job(client.clone(name))["metadata"]["annotations"] == {"a": "b", "lockstep.dev/user": "admin"}
    theirs = [Annotations({"a": "b"}), Labels({"c": "d"})]
    name = client.train(runtime="mpi", trainer=CustomTrainerContainer(image="mpi:1"), options=theirs, queue="jobs")
    made = cluster.job(name)["metadata"]
    assert made["annotations"] == {"a": "b", "lockstep.dev/user": "admin"}
    assert made["labels"] == {"c": "d", "kueue.x-k8s.io/queue-name": "jobs"}, "options of the user are kept"


def test_a_table_has_pods_ranks_and_lines() -> None:
    pods = [
        Pod("a", "launcher", 0, "m1", "Running", True),
        *(Pod(f"n{i}", "node", i, "m2", "Running", True, ranks=range(i, i + 4)) for i in range(9)),
    ]
    table = _live.Table(replace(JOB, pods=pods), ["\x1b[31mloss\x1b[0m <i>0.1</i>\x07"])
    text = repr(table)
    assert "node 0       0-3     m2        Running" in text
    assert "launcher 0   -       m1        Running" in text
    assert "and 2 pods more" in text
    assert text.endswith("| loss <i>0.1</i>"), "nothing moves the cursor"
    page = table._repr_html_()
    assert "<td>node 0</td><td>0-3</td>" in page
    assert "<pre>loss &lt;i&gt;0.1&lt;/i&gt;</pre>" in page
    assert "POD" not in repr(_live.Table(replace(JOB, pods=[])))


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_one_table() -> None:
    out = Screen()
    draw = _live.screen(out)
    draw(_live.Table(JOB, ["one"]))
    draw(_live.Table(JOB, ["one", "two"]))
    first, second = out.getvalue().split("\x1b[J")
    assert first.endswith(f"\x1b[{first.count(chr(10))}F"), "the second is where the first was"
    assert second.endswith("| one\n| two\n")


def test_a_file_gets_what_is_new() -> None:
    out = io.StringIO()
    draw = _live.screen(out)
    for job in (JOB, JOB, OVER):
        draw(_live.Table(job))
    assert out.getvalue().count("NAME") == 2


def test_following_ends_with_the_job_and_its_last_line() -> None:
    drawn: list[_live.Table] = []
    over = threading.Event()

    def lines() -> Iterator[str]:
        yield from ("one", "two")
        over.wait(10)
        yield "three"
        yield "[1,0]<stderr>:lockstep-raised eJxFjsEKwjAQRH9l"

    def jobs() -> Iterator[Job]:
        yield JOB
        yield OVER
        over.set()

    assert _live.follow(jobs(), lines(), 2, drawn.append) is OVER
    assert drawn[-1].lines == ["two", "three"]


def test_following_ends_when_it_is_out_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_live, "_LAST", 0.05)
    forever = threading.Event()

    def lines() -> Iterator[str]:
        forever.wait(30)
        yield "never"

    assert _live.follow(iter([JOB]), lines(), 2, lambda _: None) is JOB
    assert _live.follow(iter([OVER]), lines(), 2, lambda _: None) is OVER, "a log that does not end is not waited for"
    forever.set()


def test_following_says_what_cannot_be_read() -> None:
    drawn: list[_live.Table] = []

    def fails() -> Iterator[Any]:
        raise lockstep.Forbidden("no right")
        yield

    _live.follow(iter([OVER]), fails(), 2, drawn.append)
    assert drawn[-1].lines == ["the log cannot be read: no right"]
    with pytest.raises(lockstep.Forbidden):
        _live.follow(fails(), iter([]), 2, drawn.append)


def test_show_prints_a_job_to_its_end(cluster: Cluster, client: MPIClient, capsys: pytest.CaptureFixture[str]) -> None:
    name = client.train(runtime="mpi", trainer=HELLO)
    later(cluster.status, name, CREATED, FAILED)
    assert client.show(name, timeout=20).phase is Phase.FAILED
    said = capsys.readouterr().out
    assert "Creating" in said
    assert "Failed: OOMKilled" in said
    assert "raise the memory limit" in said
    assert client.show(name, lines=0).phase is Phase.FAILED


class Receiver(BaseHTTPRequestHandler):
    """Gets webhooks."""

    server: Receivers

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((body, self.headers[HEADER]))
        self.send_response(self.server.answers.pop(0) if self.server.answers else 204)
        self.send_header("Location", "/elsewhere")
        self.end_headers()


class Receivers(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.answers: list[int] = []
        self.got: list[tuple[bytes, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook/token"


@pytest.fixture
def receiver() -> Iterator[Receivers]:
    made = Receivers()
    thread = threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join(10)


def test_a_webhook_has_no_lines_of_programs(cluster: Cluster, client: MPIClient, receiver: Receivers) -> None:
    name = client.train(runtime="mpi", trainer=HELLO)
    told = client.on_end(name, receiver.url, secret="key")
    # The status alone, as it is for a moment: the record comes after it.
    at = {"lastTransitionTime": "2026-03-01T12:00:00Z"}
    cluster.api.patch(f"{cluster.paths.trainjobs}/{name}/status", {"status": {"conditions": [{**at, **FAILED}]}})
    assert told.result(20).phase is Phase.FAILED
    ((body, _),) = receiver.got
    assert "Worker 0" in body.decode()
    assert "boom" not in body.decode(), "last lines of programs may have secrets"


def test_a_webhook_is_signed(cluster: Cluster, client: MPIClient, receiver: Receivers) -> None:
    name = client.train(runtime="mpi", trainer=HELLO)
    told = client.on_end(name, receiver.url, secret="key")
    assert not told.done()
    cluster.status(name, CREATED, FAILED)
    assert told.result(20).phase is Phase.FAILED
    ((body, header),) = receiver.got
    said = verify("key", body, header)
    uid = cluster.job(name)["metadata"]["uid"]
    expected = {"id": f"{uid}/Failed", "name": name, "namespace": cluster.namespace, "uid": uid, "phase": "Failed", "reason": "OOMKilled"}
    assert said.items() >= expected.items()
    assert "boom" not in body.decode(), "last lines of programs may have secrets"
    for secret, content in (("another", body), ("key", body.replace(b"Failed", b"Complete"))):
        with pytest.raises(ValueError, match="does not fit"):
            verify(secret, content, header)
    with pytest.raises(ValueError, match="signed more than 300 s ago"):
        verify("key", body, header, at=2e9)
    for forged in ("", "t=,v1=", "t=x,v1=y", "t=\u0661,v1=y"):
        with pytest.raises(ValueError, match="does not fit"):
            verify("key", body, forged)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses of webhooks, which nobody makes here."""
    made: list[float] = []
    monkeypatch.setattr(webhook, "sleep", made.append)
    return made


def test_a_webhook_is_sent_until_somebody_takes_it(receiver: Receivers, pauses: list[float]) -> None:
    receiver.answers = [503, 429, 500, 200]
    Webhook(receiver.url, "key")(OVER)
    assert pauses == [1, 2, 4]
    assert len({body for body, _ in receiver.got}) == 1


@pytest.mark.parametrize(("answers", "tries"), [([403], 1), ([301], 1), ([500] * 9, 8)])
@pytest.mark.usefixtures("pauses")
def test_a_webhook_that_nobody_takes(receiver: Receivers, answers: list[int], tries: int) -> None:
    receiver.answers = list(answers)
    with pytest.raises(WebhookFailed, match=rf"the webhook at http://127.0.0.1 was not told .* is Failed: it answered {answers[0]}$"):
        Webhook(receiver.url, "key")(OVER)
    assert len(receiver.got) == tries


@pytest.mark.usefixtures("pauses")
def test_a_webhook_where_nobody_listens(receiver: Receivers) -> None:
    url = receiver.url
    receiver.server_close()
    with pytest.raises(WebhookFailed, match="nobody answers"):
        Webhook(url, "key")(OVER)


@pytest.mark.parametrize(("url", "secret", "said"), [("ftp://a", "key", "is no URL"), ("https://", "key", "is no URL"), ("https://a", "", "secret=")])
def test_webhooks_are_checked_at_once(url: str, secret: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Webhook(url, secret)


def test_a_function_is_called_at_the_end(cluster: Cluster, client: MPIClient, caplog: pytest.LogCaptureFixture) -> None:
    name = client.train(runtime="mpi", trainer=HELLO)
    called: list[Job] = []
    told: list[Future[Job]] = [client.on_end(name, called.append), client.on_end(name, lambda job: 1 / 0)]
    cluster.status(name, CREATED, COMPLETE)
    assert told[0].result(20).phase is Phase.COMPLETE
    assert [j.name for j in called] == [name]
    with pytest.raises(ZeroDivisionError):
        told[1].result(20)
    assert f"the end of job {name} was not told of: division by zero" in caplog.text
    with pytest.raises(lockstep.NotFound):
        client.on_end("another", called.append)
