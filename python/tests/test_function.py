"""Functions as ranks: what travels, what is refused, and what comes back of an exception."""

from __future__ import annotations

import base64
import functools
import inspect
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest
import yaml
from conftest import Answer, Cluster, Object, Server
from kubeflow.trainer import TrainerClient

import lockstep
from lockstep import MPIClient, MPITrainer, _function, _rank
from lockstep.compare import Run, compared

LIMIT = 3


def train(lr: float, path: str = "a$(HOME)b$$\\", words: list[str] | None = None) -> None:
    """A \"\"\"docstring\"\"\" with 'quotes', $HOME, `ticks` and a \\ in it."""
    import os

    rank = int(os.environ.get("PMI_RANK", "0"))
    print("rank", rank, "lr", lr, path, words, f"{1 + 1}")

    def inner(x: float) -> float:
        return sum(y / x for y in [1.0, 2.0])

    if rank == 3:
        inner(0.0)


def run(trainer: MPITrainer, rank: int, *, more: Object | None = None) -> subprocess.CompletedProcess[str]:
    """Runs what a launcher would start as one rank."""
    assert trainer.command is not None
    place = trainer.command.index("python3")
    words = [sys.executable, *trainer.command[place + 1 :], *(trainer.args or [])]
    environment = {**os.environ, "PMI_RANK": str(rank), **(more or {})}
    environment.pop("PYTHONPATH", None)  # lockstep is not in the image
    return subprocess.run(words, capture_output=True, text=True, env=environment, check=False, timeout=60)


def test_a_function_runs_as_a_rank() -> None:
    trainer = MPITrainer(func=train, func_args={"lr": 0.1, "words": ["it's", "$(A)"]}, nodes=2, slots=2)
    assert trainer.command is not None
    assert trainer.command[:3] == ["mpirun", "python3", "-c"]
    assert trainer.command[3].startswith('SOURCE = """from __future__ import annotations\ndef train(lr: float'), (
        "messages have the first words of a command"
    )
    assert "def train(lr: float" in trainer.command[3], "people can read it"
    assert "$" not in trainer.command[3], "Kubernetes takes $(A) for a variable of its own, and $$ for a dollar"
    done = run(trainer, 1)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "rank 1 lr 0.1 a$(HOME)b$$\\ [\"it's\", '$(A)'] 2\n"


def test_functions_are_compared_by_their_arguments() -> None:
    def calling(**arguments: Any) -> Run:
        job = {"spec": {"runtimeRef": {"name": "r"}, "trainer": {"command": _function.command(train, arguments, None)}}}
        return Run(datetime(2026, 3, 1, tzinfo=timezone.utc), {**job, "metadata": {"name": "a"}})

    made = compared(calling(lr=0.1, path="$HOME"), calling(lr=0.3, path="$HOME"))
    assert [vars(d) for d in made.differences] == [{"what": "argument lr", "left": "0.1", "right": "0.3"}]
    assert {"command", "argument path", "function train", "what calls it"} <= set(made.equal)
    sent = _function.sent_in(_function.command(train, {"lr": 1}, ["mpiexec", "-l"]))
    assert sent is not None
    assert sent.source.endswith(inspect.getsource(train))
    assert sent.before == ["mpiexec", "-l", "python3", "-c"]


def test_a_traceback_comes_back() -> None:
    done = run(MPITrainer(func=train, func_args={"lr": 0.1}), 3)
    assert done.returncode == 1
    assert done.stdout.startswith("rank 3 lr 0.1")
    (error,) = _function.raised(iter(done.stderr.splitlines()))
    assert (error.rank, error.kind, error.message) == (3, "ZeroDivisionError", "float division by zero")
    place = train.__code__.co_firstlineno + 8
    assert f'File "test_function.py", line {place}, in inner\n    return sum(y / x for y in [1.0, 2.0])' in error.traceback, (
        "lines are those of the file"
    )
    assert "_rank" not in error.traceback
    assert str(error).startswith("rank 3 raised ZeroDivisionError: float division by zero\n\nTraceback (most recent call last):\n")
    assert done.stderr.endswith("ZeroDivisionError: float division by zero\n"), "people, and the diagnosis, read the traceback as always"


def slow() -> None:
    import os
    import sys

    print("one", "line")
    print("a", "warning", file=sys.stderr)
    os.kill(os.getpid(), 9)


def test_lines_come_at_once_and_whole() -> None:
    done = run(MPITrainer(func=slow), 0)
    assert (done.returncode, done.stdout, done.stderr) == (-9, "one line\n", "a warning\n")
    trainer = MPITrainer(func=slow)
    assert trainer.command is not None
    pieces, end = os.pipe2(os.O_DIRECT)  # each read gives what one write has written
    with subprocess.Popen([sys.executable, *trainer.command[2:]], stdout=end, stderr=subprocess.DEVNULL, env={"PYTHONUNBUFFERED": "1"}) as rank:
        os.close(end)
        rank.wait(60)
    assert os.read(pieces, 4096) == b"one line\n"
    os.close(pieces)


def deep() -> None:
    import atexit
    import sys

    atexit.register(print, "what is registered with atexit is not run")

    def down(n: int) -> None:
        if n == 0:
            raise RuntimeError("".join(chr(0x4E00 + i * 7919 % 20000) for i in range(4000)))
        down_again = down
        down_again(n - 1)

    sys.stdout.write("kept")
    sys.setrecursionlimit(5000)
    down(60)


def test_a_line_of_a_rank_fits_a_pipe() -> None:
    done = run(MPITrainer(func=deep), 0)
    assert done.stdout == "kept", "it ends at once, and what was printed is not lost"
    (line,) = [x for x in done.stderr.splitlines() if _rank.MARK in x]
    assert len(line.encode()) < 4096
    (error,) = _function.raised(iter([line]))
    assert error.message == "".join(chr(0x4E00 + i * 7919 % 20000) for i in range(500))
    assert error.traceback.endswith(chr(0x4E00 + 3999 * 7919 % 20000) + "\n"), "of a long one it is the end"


def ended() -> None:
    import sys

    sys.exit(int(sys.argv[1]))


def test_exits_and_arguments_are_the_programs_own() -> None:
    done = run(MPITrainer(func=ended, args=["7"]), 0)
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")


def outer() -> Callable[[], None]:
    lr = 0.1

    def closed() -> None:
        print(lr)

    return closed


def by_module() -> None:
    print(os.sep, LIMIT, [functools for _ in range(LIMIT)])


def default(limit: int = LIMIT) -> None:
    print(limit)


def registered(func: Callable[..., Any]) -> Callable[..., Any]:
    return func


@registered
def known() -> None:
    pass


def keeps_name(func: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(func)
    def wrapper() -> None:
        func()

    return wrapper


@keeps_name
def wrapped() -> None:
    pass


def inside() -> Callable[[], None]:
    def indented() -> None:
        print("""a
  b
c""")
        raise KeyError("x")

    return indented


def test_a_function_inside_another_is_sent_as_it_is() -> None:
    done = run(MPITrainer(func=inside()), 0)
    assert done.stdout == "a\n  b\nc\n", "strings are not moved"
    assert f"line {inside.__code__.co_firstlineno + 5}, in indented" in done.stderr


def imports() -> int:
    from os import path

    class Model:
        size = len(path.sep)

        def forward(self) -> int:
            return self.size

    try:
        return Model().forward()
    except ValueError as e:
        raise RuntimeError(__name__) from e


@functools.lru_cache
def decorated() -> None:
    pass


def unwrapped(func: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper() -> None:
        func()

    return wrapper


@unwrapped
def hidden() -> None:
    pass


async def later() -> None:
    pass


class Trainer:
    def train(self) -> None:
        pass

    @staticmethod
    def alone() -> None:
        pass


def without_source() -> Any:
    scope: dict[str, Any] = {}
    exec("def made(): pass", scope)
    return scope["made"]


def renamed() -> None:
    pass


renamed.__name__ = "another"


@pytest.mark.parametrize(
    ("func", "said"),
    [
        (outer(), "closed uses lr of the function around it"),
        (by_module, "by_module uses LIMIT, functools, os of its module, which stays behind: import or define it inside by_module"),
        (default, "default uses LIMIT of its module"),
        (lambda: None, "func is a lambda: give a function that is defined with def"),
        (decorated, "give a function that is defined with def"),
        (wrapped, "wrapped is decorated"),
        (known, "known is decorated, and its decorator stays behind: give the function itself"),
        (hidden, "wrapper uses func of the function around it"),
        (later, "later is async or a generator"),
        (Trainer().train, "Trainer.train is a method"),
        (Trainer.alone, "Trainer.alone is a method"),
        (Trainer, "func is <class"),
        (print, "func is <built-in function print>"),
        (functools.partial(ended), "func is functools.partial"),
        (without_source(), "the source of made cannot be read: define it in a file or in a cell"),
        (renamed, "what is read as the source of another is not it"),
    ],
)
def test_what_cannot_travel_is_refused(func: Any, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(said)):
        MPITrainer(func=func)


def test_a_function_may_import_and_define_what_it_needs() -> None:
    assert run(MPITrainer(func=imports), 0).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "train cannot be called with func_args: missing a required argument: 'lr'"),
        ({"lr": 1, "epochs": 2}, "got an unexpected keyword argument 'epochs'"),
        ({"lr": float("nan")}, "func_args['lr'] of train is nan, which does not travel as text"),
        ({"lr": object()}, "func_args['lr'] of train is a object: arguments travel as text"),
        ({"lr": 1, "path": "x" * 120_000}, "a command has room for 120000"),
    ],
)
def test_arguments_are_checked(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(said)):
        MPITrainer(func=train, func_args=arguments)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"func": ended, "command": ["mpirun"]}, "both a command and a func"),
        ({"command": ["mpirun"], "launcher": ["mpiexec"]}, "launcher belong to func"),
        ({"func": ended, "launcher": "mpiexec -l"}, 'launcher is the string "mpiexec -l"'),
    ],
)
def test_a_job_has_one_program(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        MPITrainer(**arguments)


def test_a_function_can_have_another_launcher() -> None:
    trainer = MPITrainer(func=ended, launcher=["mpiexec", "-l"])
    assert trainer.command is not None
    assert trainer.command[:3] == ["mpiexec", "-l", "python3"]
    assert repr(trainer) == "MPITrainer(func='ended')"
    with pytest.raises(ValueError, match="would leave out func of the MPITrainer"):
        _ = trainer.num_nodes


def test_lines_that_were_cut_off_are_no_exceptions() -> None:
    (line,) = [x for x in run(MPITrainer(func=stuck), 0).stderr.splitlines() if _rank.MARK in x]
    assert len(_function.raised(iter([f"[1,0]<stderr>:{line}"]))) == 1
    unknown = _rank.MARK + base64.b64encode(zlib.compress(b'{"rank": 1}')).decode()
    assert _function.raised(iter([line[:-9], _rank.MARK, f"{_rank.MARK}3", f"{_rank.MARK}eJw=", unknown, "nothing"])) == []


def test_a_function_becomes_a_job_that_kubeflow_reads(cluster: Cluster, client: MPIClient) -> None:
    name = client.train(runtime="mpi", trainer=MPITrainer(func=train, func_args={"lr": 0.1}, nodes=2, slots=2), strict=True)
    stored = cluster.job(name)["spec"]["trainer"]["command"]
    assert stored == MPITrainer(func=train, func_args={"lr": 0.1}).command, "the API server stores it as it is"
    assert TrainerClient.get_job(client, name).num_nodes == 2
    again = client.clone(name, func=train, func_args={"lr": 0.2}, launcher=["mpiexec"])
    assert cluster.job(again)["spec"]["trainer"]["command"] == MPITrainer(func=train, func_args={"lr": 0.2}, launcher=["mpiexec"]).command
    assert cluster.job(again)["spec"]["trainer"]["numNodes"] == 2
    manifest = client.to_yaml("mpi", MPITrainer(func=train, func_args={"lr": 0.1}))
    assert yaml.safe_load(manifest)["spec"]["trainer"]["command"] == stored


def failed(server: Server, trainer: MPITrainer, log: Callable[[Answer], None]) -> MPIClient:
    """A server with a job of a trainer that has failed, and its log."""
    metadata = {"name": "demo", "namespace": "team", "uid": "u1", "resourceVersion": "1", "creationTimestamp": "2026-03-01T12:00:00Z"}
    at = {"lastTransitionTime": "2026-03-01T12:01:00Z"}
    condition = {"type": "Failed", "status": "True", "reason": "PythonException", "message": "Rank 3 failed", **at}
    job = {"metadata": metadata, "spec": {"runtimeRef": {"name": "mpi"}, "trainer": trainer.spec()}, "status": {"conditions": [condition]}}
    pod = {"metadata": {**metadata, "name": "demo-launcher-0-0-a"}, "status": {"containerStatuses": [{"name": "node", "state": {"terminated": {}}}]}}

    def answer(a: Answer, path: str, _: dict[str, str]) -> None:
        if path.endswith("/log"):
            log(a)
        elif path.endswith("/trainjobs/demo"):
            a.json(job)
        elif path.endswith("/pods"):
            a.list(pod)
        else:
            a.fail(404)

    server.answer = answer
    return server.client()


def test_the_exception_of_a_rank_is_the_cause_of_a_failed_job(server: Server) -> None:
    trainer = MPITrainer(func=train, func_args={"lr": 0.1})
    printed = [line for rank in (3, 1) for line in run(trainer, 3, more={"OMPI_COMM_WORLD_RANK": str(rank)}).stderr.splitlines()]

    def log(a: Answer) -> None:
        a.begin()
        a.piece("".join(f"2026-03-01T12:00:00.00000000{i % 10}Z [1,3]<stderr>:{text}\n" for i, text in enumerate(printed)))
        a.end()

    with pytest.raises(lockstep.JobFailed) as error:
        failed(server, trainer, log).wait("demo")
    cause = error.value.__cause__
    assert isinstance(cause, lockstep.RankError)
    assert (cause.rank, cause.kind) == (3, "ZeroDivisionError")
    assert [e.rank for e in error.value.ranks] == [3, 1]
    assert error.value.cause is not None
    assert error.value.cause.reason == "PythonException"


def test_a_log_that_is_gone_hides_no_failure(server: Server) -> None:
    with pytest.raises(lockstep.JobFailed) as error:
        failed(server, MPITrainer(func=ended), lambda a: a.fail(403, "no")).wait("demo")
    assert error.value.__cause__ is None
    with pytest.raises(lockstep.JobFailed):
        failed(server, MPITrainer(command=["mpirun"]), lambda a: a.fail(500)).wait("demo")
    assert not any(path.endswith("/log") for path, _ in server.asked[-4:]), "nobody asks for what a command has not printed"


def test_a_rank_ends_though_a_thread_waits() -> None:
    assert run(MPITrainer(func=stuck), 0).returncode == 1


def stuck() -> None:
    import threading

    threading.Thread(target=threading.Event().wait).start()
    raise ValueError("its process ends")
