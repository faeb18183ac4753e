"""Logs and watches through everything that may happen to a connection."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from conftest import Answer, Object, Server

import lockstep
from lockstep import MPIClient, _api, _logs, _merge, _watch, client
from lockstep._watch import Watch, merged

JOB: Object = {
    "metadata": {"name": "demo", "namespace": "team", "uid": "u1", "resourceVersion": "1", "creationTimestamp": "2026-03-01T12:00:00Z"},
    "spec": {"runtimeRef": {"name": "mpi"}},
}


def condition(kind: str) -> Object:
    return {"type": kind, "status": "True", "reason": "Because", "message": "so", "lastTransitionTime": "2026-03-01T12:01:00Z"}


def over(kind: str = "Complete", version: str = "9") -> Object:
    """The job when it is over."""
    return {**JOB, "metadata": {**JOB["metadata"], "resourceVersion": version}, "status": {"conditions": [condition(kind)]}}


def pod(name: str = "demo-launcher-0-0-aaaaa", state: str = "running", version: str = "1") -> Object:
    metadata = {"name": name, "uid": name, "resourceVersion": version, "creationTimestamp": "2026-03-01T12:00:00Z"}
    return {"metadata": metadata, "status": {"containerStatuses": [{"name": "node", "state": {state: {}}}]}}


def line(n: int, text: str = "") -> str:
    """A line of a log; four of them in a second."""
    return f"2026-03-01T12:00:{n // 4:02d}.{n % 4 * 25:02d}0000001Z {text or f'line {n}'}\n"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses are short in tests."""
    monkeypatch.setattr(_watch, "_PAUSES", (0.01, 0.05))


class Job:
    """A server with one job, which has a launcher that prints. What a test changes is how its log is served."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.state = "running"
        self.over = False
        self.pods = [pod()]
        #: What the container has printed.
        self.printed = [line(n) for n in range(40)]
        self.streams: Iterator[Any] = iter(())
        self.changed = threading.Event()
        server.answer = self.answer

    def end(self) -> None:
        self.state, self.over = "terminated", True
        self.changed.set()

    def answer(self, a: Answer, path: str, query: dict[str, str]) -> None:
        now = over() if self.over else JOB
        if path.endswith("/log"):
            self.log(a, query)
        elif path.endswith("/trainjobs/demo"):
            a.json(now)
        elif path.endswith("/trainjobs") and "watch" in query:
            self.watch(a)
        elif path.endswith("/trainjobs"):
            a.list(now)
        elif path.endswith("/pods") and "watch" in query:
            a.begin()
            self.changed.wait(5)
            a.end()
        elif path.endswith("/pods"):
            a.list(*self.pods)
        elif "/pods/" in path:
            found = [p for p in self.pods if path.endswith(p["metadata"]["name"])]
            a.json(pod(found[0]["metadata"]["name"], self.state)) if found else a.fail(404)
        else:
            a.fail(404)

    def watch(self, a: Answer) -> None:
        a.begin()
        self.changed.wait(5)
        if self.over:
            a.events(("MODIFIED", over()))
        a.end()

    def log(self, a: Answer, query: dict[str, str]) -> None:
        """What kubelet serves: lines since a second."""
        since = query.get("sinceTime", "")[:19]
        lines = [x for x in self.printed if x[:19] >= since]
        tail = int(query.get("tailLines", len(lines)))
        serve = next(self.streams, None)
        if serve is None:
            a.begin()
            a.piece("".join(lines[len(lines) - tail :]) or "\n")
            a.end()
            self.end()
        else:
            serve(a, lines)


def test_no_line_is_lost_or_doubled_by_broken_streams(server: Server) -> None:
    job = Job(server)

    def cut(at: int, more: str) -> Any:
        def serve(a: Answer, lines: list[str]) -> None:
            a.begin()
            a.piece("".join(lines[:at]) + more)
            a.break_off()

        return serve

    # In the middle of a line; in order although the container runs; at once; kubelet is away, starts a container, and denies its
    # pods because it has just started; in the middle of a second.
    def ends(a: Answer, lines: list[str]) -> None:
        a.begin()
        a.piece("".join(lines[:9]))
        a.end()

    job.streams = iter(
        [cut(6, line(6)[:20]), ends, cut(0, "x"), lambda a, _: a.fail(502), lambda a, _: a.fail(400), lambda a, _: a.fail(404), cut(12, ""), ends]
    )
    assert list(server.client().logs("demo", follow=True)) == [f"line {n}" for n in range(40)]


def test_a_log_that_kubelet_has_lost_ends(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_logs, "_UNKNOWN", 1)
    job = Job(server)

    def lost(a: Answer, lines: list[str]) -> None:
        a.begin()
        a.piece(lines[0])
        a.end()
        job.end()

    job.streams = iter([lost, *[lambda a, _: a.fail(404)] * 3])
    assert list(server.client().logs("demo", follow=True)) == ["line 0"]


def test_lines_that_are_alike_are_kept(server: Server) -> None:
    job = Job(server)
    job.printed = [line(n, "the same") for n in range(10)] + [line(9, "the same")] * 3 + ["2026-03-01T12:00:02.100Z out of order\n"]

    def cut(a: Answer, lines: list[str]) -> None:
        a.begin()
        a.piece("".join(lines[:-2]))
        a.break_off()

    job.streams = iter([cut, cut])
    assert list(server.client().logs("demo", follow=True)) == ["the same"] * 13 + ["out of order"]


def test_a_last_line_without_newline_is_read(server: Server) -> None:
    job = Job(server)
    job.printed = [line(0), line(1).rstrip("\n")]
    assert list(server.client().logs("demo", follow=True)) == ["line 0", "line 1"]
    assert list(server.client().logs("demo")) == ["line 0", "line 1"]


class Pieces:
    """A stream of a text in pieces of a size."""

    def __init__(self, text: bytes, size: int) -> None:
        self.text, self.size = text, size

    def stream(self, _: int, decode_content: bool = True) -> Iterator[bytes]:
        yield from (self.text[n : n + self.size] for n in range(0, len(self.text), self.size))


def test_a_line_without_end_goes_on_as_another_one() -> None:
    most = 1 << 20
    text = b"a\n\n" + b"x" * (3 * most + 5) + b"\n" + b"y" * most + b"\nb\n" + b"z" * (2 * most) + b"\nrest"
    want = [1, 0, most, most, most, 5, most, 1, most, most]
    for size in (1 << 16, most, 7 * most, 99_999):
        got = list(_api.lines(Pieces(text, size)))  # type: ignore[arg-type]
        assert [len(x) for x in got] == want, size
        assert b"".join(_api.lines(Pieces(text, size), rest_too=True)) == text.replace(b"\n", b"")  # type: ignore[arg-type]


def test_a_long_line_comes_in_parts(server: Server) -> None:
    job = Job(server)
    long = "0123456789" * 250_000
    job.printed = [line(0, "zero"), line(1, long), line(2, "2026-03-01T12:00:00Z"), line(3, "x")]

    def cut(a: Answer, lines: list[str]) -> None:
        a.begin()
        a.piece("".join(lines)[: 2 << 20])
        a.break_off()

    job.streams = iter([cut])
    first, *parts, last, end = server.client().logs("demo", follow=True)
    assert (first, last, end) == ("zero", "2026-03-01T12:00:00Z", "x")
    assert "".join(parts) == long, "no part is lost or comes twice where the stream breaks within it"
    assert all(len(part) <= 1 << 20 for part in parts)


def by_agent() -> Object:
    made = pod()
    made["spec"] = {"containers": [{"name": "node", "command": ["/opt/lockstep/bin/mpi-agent", "run", "--"]}]}
    return made


@pytest.mark.parametrize("follow", [False, True])
def test_a_log_that_kubelet_has_cut_begins_with_a_whole_line(server: Server, caplog: pytest.LogCaptureFixture, follow: bool) -> None:
    job = Job(server)
    job.pods = [by_agent()]
    job.printed[0] = line(0, "est of a line")
    assert list(server.client().logs("demo", follow=follow)) == [f"line {n}" for n in range(1, 40)]
    assert "the beginning of the output of pod demo-launcher-0-0-aaaaa is gone" in caplog.text


def test_lines_before_a_failure_are_given_out(server: Server) -> None:
    job = Job(server)
    job.pods = [by_agent()]

    def cut(a: Answer, lines: list[str]) -> None:
        a.begin()
        a.piece("".join(lines[:3]))
        a.break_off()

    job.streams = iter([cut])
    read: list[str] = []
    with pytest.raises(Exception, match="cannot reach the API server"):
        read.extend(server.client().logs("demo"))
    assert read[:2] == ["line 0", "line 1"]


@pytest.mark.parametrize("at", [0, 3])
@pytest.mark.parametrize("follow", [False, True])
def test_a_whole_log_is_not_called_cut(server: Server, caplog: pytest.LogCaptureFixture, at: int, follow: bool) -> None:
    job = Job(server)
    job.pods = [by_agent()]
    job.printed[at] = line(at, "mpi-agent: all nodes answered after 0.21 s")
    assert len(list(server.client().logs("demo", follow=follow))) == 40
    assert list(server.client().logs("demo", tail=2)) == ["line 38", "line 39"], "what is left out was not asked for"
    job.pods, job.printed = [pod()], job.printed[5:]
    assert len(list(server.client().logs("demo"))) == 35, "a program that the agent did not start has no such line"
    job.pods, job.printed = [by_agent()], []
    assert list(server.client().logs("demo")) in ([], [""])
    assert not caplog.text


def test_where_to_begin(server: Server) -> None:
    job = Job(server)
    client = server.client()
    assert list(client.logs("demo", tail=2)) == ["line 38", "line 39"]
    assert list(client.logs("demo", follow=True, tail=1)) == ["line 39"]
    list(client.logs("demo", since=1.5))
    # Not of the last request: the watch of the log that was followed may end after that.
    assert [query["sinceSeconds"] for _, query in server.asked if "sinceSeconds" in query] == ["2"]
    at = lockstep._times.parsed("2026-03-01T12:00:09Z")
    assert list(client.logs("demo", since=at)) == [f"line {n}" for n in range(36, 40)]
    assert job.over


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"tail": -1}, "tail is -1"),
        ({"since": 0}, "since is 0"),
        ({"since": lockstep._times.now().replace(tzinfo=None)}, "without a zone"),
        ({"role": "worker"}, "role is `worker`"),
    ],
)
def test_arguments_out_of_range(server: Server, arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        server.client().logs("demo", **arguments)


def test_lines_of_a_rank(server: Server) -> None:
    job = Job(server)
    said = ["[1,0]<stdout>:zero", "[prterun-demo@1,1]<stderr>: one", "[1] hydra", "[rank1]: torch", "nobody", "[1,0]<stdout>:[rank1]: inner"]
    job.printed = [line(n, text) for n, text in enumerate(said)]
    assert list(server.client().logs("demo", rank=1)) == ["one", "hydra", "torch", "inner"]


def labelled(name: str, role: str, version: str = "1") -> Object:
    made = pod(name, version=version)
    made["metadata"]["labels"] = {"jobset.sigs.k8s.io/replicatedjob-name": role, "batch.kubernetes.io/job-completion-index": "0"}
    return made


def test_pods_are_merged_by_time(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_merge, "_HOLD", 0.5)
    job = Job(server)
    job.pods = [labelled("demo-launcher-0-0-aaaaa", "launcher"), labelled("demo-node-0-0-aaaaa", "node")]
    printed = {"launcher": [line(n) for n in range(0, 8, 2)], "node": [line(n) for n in range(1, 9, 2)]}
    printed["node"].insert(2, "2026-03-01T12:00:00.0Z out of order\n")
    broken: set[str] = set()

    def log(a: Answer, path: str, query: dict[str, str]) -> None:
        if not path.endswith("/log"):
            job.answer(a, path, query)
            return
        role = "launcher" if "launcher" in path else "node"
        lines = [x for x in printed[role] if x[:19] >= query.get("sinceTime", "")[:19] or "out of" in x]
        a.begin()
        if "follow" in query and role not in broken:
            broken.add(role)
            a.piece("".join(lines[:2]))
            a.break_off()
            return
        a.piece("".join(lines))
        a.end()
        if broken == {"launcher", "node"}:
            job.end()

    server.answer = log
    want = [f"{'node-0' if n % 2 else 'launcher'}| line {n}" for n in range(8)]
    want.insert(want.index("node-0| line 3") + 1, "node-0| out of order")
    assert list(server.client().logs("demo", merge=True)) == want
    assert list(server.client().logs("demo", merge=True, follow=True)) == want
    with pytest.raises(ValueError, match="both a rank and merge"):
        server.client().logs("demo", merge=True, rank=1)


def test_a_merge_takes_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_merge, "_WAITING", 1000)
    printed = 0

    def endless(n: int) -> Iterator[_logs.Line]:
        nonlocal printed
        for i in range(200):
            printed += 1
            yield _logs.Line(lockstep._times.parsed(f"2026-03-01T12:{n:02d}:00Z"), f"{i} ".ljust(100))

    def find(add: Any) -> None:
        for n in range(4):
            add(f"node-{n}", endless(n))

    given = 0
    for _ in _merge.as_they_come(find):
        given += 1
        assert printed - given < 30, "they wait for who reads slowly"
    assert given == 800


def until_no_thread(name: str) -> None:
    began = time.monotonic()
    while any(t.name == name for t in threading.enumerate()):
        assert time.monotonic() - began < 3, "what is closed ends at once"
        time.sleep(0.01)


def test_a_pod_that_cannot_be_read_ends_the_merge(server: Server) -> None:
    job = Job(server)
    job.pods = [labelled("demo-launcher-0-0-aaaaa", "launcher")]
    job.streams = iter([lambda a, _: a.fail(403, "no"), lambda a, _: a.fail(403, "no")])
    for follow in (False, True):
        with pytest.raises(lockstep.Refused):
            list(server.client().logs("demo", merge=True, follow=follow))
    until_no_thread("lockstep-watch")
    job.pods = []
    with pytest.raises(lockstep.NotFound, match="has no pod"):
        list(server.client().logs("demo", merge=True))


def test_an_api_server_that_starts_does_not_know_rights_at_first(server: Server) -> None:
    job = Job(server)
    lacking = [0]

    def breaks(a: Answer, lines: list[str]) -> None:
        a.begin()
        a.piece("".join(lines[:13]))
        lacking[0] = 5
        a.break_off()

    def answer(a: Answer, path: str, query: dict[str, str]) -> None:
        if lacking[0]:
            lacking[0] -= 1
            a.fail(403, 'pods "a" is forbidden: User "jane" cannot get resource "pods" in API group "" in the namespace "team"')
        else:
            job.answer(a, path, query)

    job.streams = iter([breaks])
    server.answer = answer
    jane = server.client()
    lines = jane.logs("demo", follow=True)
    read = [next(lines) for _ in range(10)]
    assert [*read, *lines] == [f"line {n}" for n in range(40)]
    lacking[0] = 5  # a watch of before may still ask
    with pytest.raises(lockstep.Forbidden, match="lacks 'get' permission"):
        jane.logs("demo", follow=True)


def test_what_was_shown_before_is_asked_for_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_LOOKS_AGAIN", (0.01,) * 5)
    job = Job(server)
    lacking = [0]

    def answer(a: Answer, path: str, query: dict[str, str]) -> None:
        if path.endswith("/pods") and lacking[0]:
            lacking[0] -= 1
            a.fail(403, 'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "team"')
        else:
            job.answer(a, path, query)

    server.answer = answer
    for denied, unknown in ((3, False), (99, True)):
        job.over, lacking[0] = False, 0
        job.changed.clear()
        jobs = server.client().watch("demo")
        assert "pods" not in {w.what for w in next(jobs).unknown}
        lacking[0] = denied
        job.end()
        (last,) = jobs
        assert last.phase == "Complete"
        assert ("pods" in {w.what for w in last.unknown}) is unknown


def test_a_token_that_expires_while_a_log_is_followed(server: Server, tmp_path: Path) -> None:
    job = Job(server)
    config = tmp_path / "kubeconfig"
    valid = ["one"]

    def write(token: str) -> None:
        cluster = {"server": f"http://127.0.0.1:{server.server_port}"}
        content = {
            "current-context": "a",
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a", "namespace": "team"}}],
            "clusters": [{"name": "a", "cluster": cluster}],
            "users": [{"name": "a", "user": {"token": token}}],
        }
        config.write_text(json.dumps(content))

    def expires(a: Answer, lines: list[str]) -> None:
        """The stream breaks, and whoever renews tokens is a little late."""
        a.begin()
        a.piece("".join(lines[:13]))
        valid[0] = "two"
        threading.Timer(0.3, write, ["two"]).start()
        a.break_off()

    def answer(a: Answer, path: str, query: dict[str, str]) -> None:
        if a.headers["Authorization"] == f"Bearer {valid[0]}":
            job.answer(a, path, query)
        else:
            a.fail(401, "Unauthorized")

    write("one")
    job.streams = iter([expires])
    server.answer = answer
    assert list(MPIClient(config_file=str(config)).logs("demo", follow=True)) == [f"line {n}" for n in range(40)]


def test_follow_waits_for_the_pod_and_goes_on_with_the_next(server: Server) -> None:
    job = Job(server)
    job.pods = []

    def begin() -> None:
        job.pods = [pod("demo-launcher-0-0-bbbbb")]
        job.changed.set()

    def ends(a: Answer, lines: list[str]) -> None:
        """The pod fails, and the job is started again."""
        job.state = "terminated"
        a.begin()
        a.piece(lines[0])
        a.end()

    def gone(a: Answer, _: list[str]) -> None:
        """The pod is gone, and there is another one."""
        job.pods = [pod("demo-launcher-0-0-ccccc")]
        job.printed = [line(100)]
        a.fail(404)

    job.streams = iter([ends, gone])

    def pods(a: Answer, path: str, query: dict[str, str]) -> None:
        if "watch" in query:
            a.begin()
            job.changed.wait(5)
            time.sleep(0.1)
            a.events(*(("ADDED", p) for p in job.pods if path.endswith("/pods")), *[("MODIFIED", over())] * (job.over and not path.endswith("/pods")))
            a.end()
        else:
            job.answer(a, path, query)

    server.answer = pods
    threading.Timer(0.3, begin).start()
    assert list(server.client().logs("demo", follow=True)) == ["line 0", "line 100"]


def test_follow_ends_with_a_job_that_never_had_a_pod(server: Server) -> None:
    job = Job(server)
    job.pods = []
    threading.Timer(0.2, job.end).start()
    assert list(server.client().logs("demo", follow=True)) == []
    with pytest.raises(lockstep.NotFound, match="is Complete and has no pod node 3"):
        next(server.client().logs("demo", role="node", index=3))


def test_a_pod_that_has_not_begun_has_no_lines(server: Server) -> None:
    job = Job(server)
    job.pods = [pod(state="waiting")]
    assert list(server.client().logs("demo")) == []


def test_a_log_that_cannot_be_read(server: Server) -> None:
    job = Job(server)
    job.streams = iter([lambda a, _: a.fail(403, "no"), lambda a, _: a.fail(403, "no")])
    with pytest.raises(lockstep.Refused):
        list(server.client().logs("demo"))
    with pytest.raises(lockstep.Refused):
        list(server.client().logs("demo", follow=True))


class History:
    """What pkg/jobs/kept serves of jobs that are gone: two attempts of one, whose pods are a launcher and a node."""

    PATH = "/apis/history.lockstep.dev/v1alpha1/namespaces/team/keptjobs"

    def __init__(self, server: Server, live: Callable[[Answer, str, dict[str, str]], None] | None = None) -> None:
        self.uid = "u1"
        self.log: Object = {"bytes": 99, "whole": True}
        self.pods = [self.pod(role, attempt) for attempt in ("", "1") for role in ("launcher", "node")]
        names = [pod["metadata"]["name"] for pod in self.pods]
        sources = [(name, container) for name in names for container in ("node", "sidecar")]
        printed = [f"{name}/{container} {n} by {name}" for n in range(2) for name, container in sources]
        self.printed = [line(n, text) for n, text in enumerate(printed)]
        self._live = live or (lambda a, _path, _query: a.fail(404))
        server.answer = self.answer

    @staticmethod
    def pod(role: str, attempt: str) -> Object:
        labels = {"jobset.sigs.k8s.io/replicatedjob-name": role, "batch.kubernetes.io/job-completion-index": "0"}
        if attempt:
            labels["lockstep.dev/attempt"] = attempt
        return {"metadata": {"name": f"{role}{attempt}", "labels": labels}}

    def answer(self, a: Answer, path: str, query: dict[str, str]) -> None:
        kept = {"metadata": {"name": "demo-u1", "uid": self.uid}, "trainJob": "demo", "log": self.log}
        if path == self.PATH:
            a.list(*[kept] * (query["fieldSelector"] == "trainJob=demo"))
        elif path == f"{self.PATH}/demo-u1":
            a.json({**kept, "objects": {"pods": self.pods}})
        elif path == f"{self.PATH}/demo-u1/log":
            a.begin()
            a.piece("".join(self.printed))
            a.end()
        else:
            self._live(a, path, query)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, ["0 by launcher", "0 by launcher1", "1 by launcher", "1 by launcher1"]),
        ({"follow": True, "attempt": 0}, ["0 by launcher", "1 by launcher"]),
        ({"role": "node", "attempt": 1}, ["0 by node1", "1 by node1"]),
        ({"role": "node", "index": 3}, []),
        ({"merge": True, "tail": 1, "attempt": 0}, ["launcher| 1 by launcher", "node-0| 1 by node"]),
        ({"attempt": 1, "since": datetime(2026, 3, 1, 12, 0, 3, tzinfo=timezone.utc)}, ["1 by launcher1"]),
        ({"since": 60}, []),
        ({"tail": 0}, []),
        ({"rank": 3}, []),
    ],
)
def test_the_history_has_lines_of_a_gone_job(server: Server, arguments: dict[str, Any], said: list[str]) -> None:
    History(server)
    assert list(server.client().logs("demo", **arguments)) == said


def test_the_history_has_lines_of_pods_that_are_gone(server: Server) -> None:
    job = Job(server)
    job.pods = []
    job.end()
    history = History(server, job.answer)
    assert list(server.client().logs("demo", attempt=1)) == ["0 by launcher1", "1 by launcher1"]
    for follow in (False, True):
        assert list(server.client().logs("demo", follow=follow))[:2] == ["0 by launcher", "0 by launcher1"]
    history.uid = "another"  # of a deleted job of the same name
    assert list(server.client().logs("demo", follow=True)) == []
    with pytest.raises(lockstep.NotFound, match="is Complete and has no pod launcher 0"):
        list(server.client().logs("demo"))


def test_a_pod_that_is_there_comes_before_the_history(server: Server) -> None:
    job = Job(server)
    job.printed = job.printed[:1]
    History(server, job.answer)
    assert list(server.client().logs("demo")) == ["line 0"]


def test_all_lines_of_an_ended_job_come_from_the_history(server: Server) -> None:
    job = Job(server)
    job.printed = job.printed[:1]
    job.pods[0]["metadata"]["labels"] = {"jobset.sigs.k8s.io/replicatedjob-name": "launcher"}
    history = History(server, job.answer)
    assert list(server.client().logs("demo", merge=True)) == ["launcher| line 0"]  # it runs
    job.end()
    assert list(server.client().logs("demo", merge=True))[:2] == ["launcher| 0 by launcher", "node-0| 0 by node"]
    assert list(server.client().logs("demo")) == ["line 0"]
    history.log["whole"] = False  # the history still reads
    assert list(server.client().logs("demo", merge=True)) == ["launcher| line 0"]


def test_a_log_that_was_not_kept_whole(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    history = History(server)
    history.log |= {"cut": True, "note": "some pods were gone"}
    assert len(list(server.client().logs("demo"))) == 4
    assert "not all lines of job demo were kept. some pods were gone" in caplog.text


def test_a_history_that_cannot_be_read(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(lockstep.NotFound):
        server.client().logs("demo")
    # Roles do not name an API that the cluster does not have.
    refused = 'User "jane" cannot list resource "keptjobs" in API group "history.lockstep.dev" in the namespace "team"'
    server.answer = lambda a, path, _: a.fail(403 if path == History.PATH else 404, f"keptjobs is forbidden: {refused}")
    with pytest.raises(lockstep.NotFound):
        server.client().logs("demo")
    assert not caplog.text
    server.answer = lambda a, path, _: a.fail(503 if path == History.PATH else 404, "no endpoints available")
    with pytest.raises(lockstep.NotFound):
        server.client().logs("demo")
    assert "the history of job demo cannot be read: " in caplog.text


def test_wait_goes_on_after_gone_and_lost_connections(server: Server) -> None:
    asked = 0

    def answer(a: Answer, path: str, query: dict[str, str]) -> None:
        nonlocal asked
        if "watch" not in query:
            done = asked >= 6
            now = over() if done else JOB
            a.json(now) if path.endswith("/demo") else a.list(now, version=str(asked)) if path.endswith("/trainjobs") else a.fail(404)
            return
        asked += 1
        a.begin()
        if asked == 1:
            a.events(("BOOKMARK", {"metadata": {"resourceVersion": "5"}}))
            a.break_off()
        elif asked == 2:
            assert query["resourceVersion"] == "5", "it goes on where it was"
            a.events(("ERROR", {"kind": "Status", "code": 410, "message": "too old resource version"}))
            a.end()
        elif asked == 3:
            assert query["resourceVersion"] == "2", "everything was read again"
            a.piece('{"type":"MODIFIED","obj')  # cut off by a proxy
            a.end()
        elif asked == 4:
            a.piece('{"type":"MODI\n')
            a.end()
        elif asked == 5:
            a.events(("ERROR", {"kind": "Status", "code": 500, "message": "etcd is away"}))
            a.end()
        else:
            a.events(("MODIFIED", over()))
            a.end()

    server.answer = answer
    assert server.client().wait("demo", timeout=20).phase == "Complete"
    assert asked == 6


def test_a_watch_tells_what_was_deleted_while_it_was_away(server: Server) -> None:
    api = server.client()._api
    rounds = iter([[pod("a"), pod("b")], [pod("b", version="2"), pod("c")]])

    def answer(a: Answer, _: str, query: dict[str, str]) -> None:
        if "watch" not in query:
            a.list(*next(rounds))
        else:
            a.fail(410)

    server.answer = answer
    watch = Watch(api, "/api/v1/pods")
    changes = iter(watch)
    seen = [(c.kind, c.object["metadata"]["name"]) for c in (next(changes) for _ in range(5))]
    assert seen == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a"), ("ADDED", "c"), ("MODIFIED", "b")]


def test_a_server_that_is_away_is_waited_for(server: Server) -> None:
    failures = iter([503, 429, 401, 500])

    def answer(a: Answer, path: str, query: dict[str, str]) -> None:
        code = next(failures, None) if path.endswith("/trainjobs") else None
        if code:
            a.fail(code)
        elif path.endswith("/trainjobs") and "watch" in query:
            a.begin()
            a.events(("MODIFIED", over("Failed")))
            a.end()
        elif "trainjobs" in path:
            a.json(JOB) if path.endswith("/demo") and len(server.asked) < 6 else a.json(over("Failed")) if path.endswith("/demo") else a.list(JOB)
        else:
            a.fail(404)

    server.answer = answer
    with pytest.raises(lockstep.JobFailed):
        server.client().wait("demo", timeout=20)
    retry = _watch.Retry(away=0.0)
    assert retry.wait(OSError("no route"))
    with pytest.raises(lockstep.Unreachable):
        retry.wait(OSError("no route"))


def test_an_error_that_does_not_pass_is_raised(server: Server) -> None:
    def answer(a: Answer, path: str, query: dict[str, str]) -> None:
        if "watch" in query:
            a.fail(403, 'trainjobs is forbidden: User "jane" cannot watch resource "trainjobs" in API group "x" in the namespace "team"')
        else:
            a.json(JOB) if path.endswith("/demo") else a.list(JOB) if path.endswith("/trainjobs") else a.list()

    server.answer = answer
    with pytest.raises(lockstep.Forbidden, match="User 'jane' lacks 'watch' permission for trainjobs in namespace 'team'"):
        server.client().wait("demo", timeout=20)
    with pytest.raises(lockstep.Forbidden):
        list(server.client().stream_job_events("demo"))


def test_merged_watches_end_together(server: Server) -> None:
    def answer(a: Answer, path: str, query: dict[str, str]) -> None:
        if "watch" not in query:
            a.list(pod(path[-1]))
            return
        a.begin()
        a.piece(" ")
        time.sleep(5)

    server.answer = answer
    api = server.client()._api
    watches = Watch(api, "/a"), Watch(api, "/b")
    changes = merged(*watches)
    assert {next(changes)[1].object["metadata"]["name"] for _ in range(2)} == {"a", "b"}
    changes.close()
    until_no_thread("lockstep-watch")


def test_a_watch_ends_in_time(server: Server) -> None:
    def answer(a: Answer, _: str, query: dict[str, str]) -> None:
        if "watch" not in query:
            a.list()
        else:
            a.begin()
            time.sleep(int(query["timeoutSeconds"]))
            a.end()

    server.answer = answer
    began = time.monotonic()
    assert list(Watch(server.client()._api, "/a", deadline=began + 0.5)) == []
    assert time.monotonic() - began < 3


def test_a_job_that_went_before_it_was_watched(server: Server) -> None:
    def answer(a: Answer, path: str, query: dict[str, str]) -> None:
        if path.endswith("/demo"):
            a.json(JOB)
        elif "watch" in query:
            time.sleep(1)
            a.fail(500)
        else:
            a.list()

    server.answer = answer
    with pytest.raises(lockstep.NotFound, match="deleted"):
        server.client().wait("demo", timeout=30)
    assert list(server.client().logs("demo", follow=True)) == []
