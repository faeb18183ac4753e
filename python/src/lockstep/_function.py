"""Functions that run as every rank: their source travels in the command of the job, as Kubeflow's SDK sends it, after a look at what it needs."""

from __future__ import annotations

import ast
import base64
import builtins
import importlib.resources
import inspect
import json
import os
import re
import symtable
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lockstep._objects import Object, spec
from lockstep._rank import MARK
from lockstep.errors import RankError

#: How a program begins, and what stands behind the source of the function.
_SOURCE = 'SOURCE = """'
_SOURCE_ENDS = '"""\n\n'

#: Linux takes 131072 bytes for one word of a command.
_MOST = 120_000


def command(func: Callable[..., Any], arguments: Mapping[str, Any] | None, launcher: Sequence[str] | None) -> list[str]:
    """The command that runs a function as every rank.

    Raises:
        TypeError: It is no function, or cannot be called with these arguments.
        ValueError: It cannot travel; the message says why, and what to do.
    """
    return [*(launcher or ["mpirun"]), "python3", "-c", _program(func, dict(arguments or {}))]


@dataclass(frozen=True)
class Sent:
    """A function that a command runs, as it was sent."""

    #: The words of the command before the program.
    before: list[str]
    name: str
    #: Where it stands, and its text.
    file: str
    source: str
    #: Its arguments, as Python writes them.
    arguments: dict[str, str]
    #: What calls it.
    runner: str


def sent_in(command: Sequence[str]) -> Sent | None:
    """The function that a command runs, or None."""
    at = next((i for i, word in enumerate(command) if word.startswith(_SOURCE)), None)
    if at is None:
        return None
    _, whole, rest = command[at].partition(_SOURCE_ENDS)
    runner, called, _ = rest.rpartition("\n\nrun(SOURCE, ")
    try:
        statements = ast.parse(command[at]).body
        source, call = statements[0].value, statements[-1].value  # type: ignore[attr-defined]
        file, _, name, arguments = (ast.literal_eval(node) for node in call.args[1:])
        text = ast.literal_eval(source)
    except (SyntaxError, ValueError, AttributeError, IndexError):
        return None
    if not whole or not called:
        return None
    return Sent(list(command[:at]), name, file, text, {key: repr(value) for key, value in arguments.items()}, runner)


def ships(trainjob: Object) -> bool:
    """Whether the command of a TrainJob is one of ours."""
    words = (spec(trainjob).get("trainer") or {}).get("command") or []
    return any(MARK in word for word in words)


def raised(lines: Iterator[str]) -> list[RankError]:
    """What ranks have raised, by the log of their launcher, each rank once and in the order of the log."""
    found: dict[int | None, RankError] = {}
    for line in lines:
        _, marked, rest = line.partition(MARK)
        if not marked:
            continue
        try:
            said = json.loads(zlib.decompress(base64.b64decode(rest.strip(), validate=True)))
            error = RankError(said["rank"], said["type"], said["message"], said["traceback"], said["host"])
        except (ValueError, TypeError, KeyError, zlib.error):
            continue  # it was cut off
        found.setdefault(error.rank, error)
    return list(found.values())


def _program(func: Callable[..., Any], arguments: dict[str, Any]) -> str:
    name = _named(func)
    source, first = _source(func, name)
    _needs_nothing(source, name)
    try:
        inspect.signature(func).bind(**arguments)
    except TypeError as e:
        raise TypeError(f"{name} cannot be called with func_args: {e}") from None
    for key, value in arguments.items():
        _travels(name, key, value)
    file = os.path.basename(func.__code__.co_filename)
    runner = _text("_rank.py")
    if _imports_us(source):
        runner += f"\n\nbeside({_literal(_text('_progress.py'))})\n"
    # The function comes first: messages show its name instead of the program (pkg/mpi/agent/program/quote_command.go).
    program = f"SOURCE = {_literal(source)}\n\n{runner}\n\nrun(SOURCE, {_plain(repr(file))}, {first}, {name!r}, {_plain(repr(arguments))})\n"
    if len(program.encode()) > _MOST:
        raise ValueError(f"{name} with its arguments has {len(program.encode())} bytes, and a command has room for {_MOST}: {_PUT}")
    return program


def _text(file: str) -> str:
    return importlib.resources.files("lockstep").joinpath(file).read_text()


def _imports_us(source: str) -> bool:
    """Whether a function imports this package, of which ``progress`` then travels along."""
    return any(isinstance(node, ast.ImportFrom) and node.module == "lockstep" for node in ast.walk(ast.parse(source)))


_PUT = "put what is large into the image or a volume"


def _named(func: Callable[..., Any]) -> str:
    """The name of a function that can be called by it alone."""
    if inspect.ismethod(func):
        raise TypeError(f"{func.__qualname__} is a method: give a function, which makes its object itself")
    if not inspect.isfunction(func):
        raise TypeError(f"func is {func!r}: give a function that is defined with def")
    name = func.__name__
    if name == "<lambda>":
        raise ValueError("func is a lambda: give a function that is defined with def")
    *_, parent, _ = ["<locals>", *func.__qualname__.split(".")]
    if parent != "<locals>":
        raise TypeError(f"{func.__qualname__} is a method: give a function, which makes its object itself")
    if inspect.iscoroutinefunction(func) or inspect.isgeneratorfunction(func) or inspect.isasyncgenfunction(func):
        raise TypeError(f"{name} is async or a generator, so that a call of it runs nothing: give a plain function")
    if hasattr(func, "__wrapped__"):
        raise ValueError(f"{name} is decorated, and its decorator stays behind: give the function itself")
    if func.__code__.co_freevars:
        raise ValueError(f"{name} uses {_and(func.__code__.co_freevars)} of the function around it, which stays behind: pass it by func_args")
    return name


def _source(func: Callable[..., Any], name: str) -> tuple[str, int]:
    """The text of a function, and the line in which it begins. Nothing inside is moved: strings may go over several lines."""
    try:
        lines, first = inspect.getsourcelines(func)
    except (OSError, TypeError):
        raise ValueError(f"the source of {name} cannot be read: define it in a file or in a cell of a notebook") from None
    before = ["from __future__ import annotations\n"] if func.__code__.co_flags & annotations.compiler_flag else []
    before += ["if True:\n"] if lines[0][:1].isspace() else []
    source = "".join([*before, *lines])
    found = _definition(source)
    if found is None or found.name != name:
        raise ValueError(f"what is read as the source of {name} is not it: its file has changed since, or it is made by other code; import it again")
    if found.decorator_list:
        raise ValueError(f"{name} is decorated, and its decorator stays behind: give the function itself")
    return source, max(1, first - len(before))


def _definition(source: str) -> ast.FunctionDef | None:
    """The function that a text defines at its end."""
    try:
        last: ast.AST = ast.parse(source).body[-1]
    except (SyntaxError, ValueError, IndexError):
        return None
    last = last.body[-1] if isinstance(last, ast.If) else last
    return last if isinstance(last, ast.FunctionDef) else None


def _needs_nothing(source: str, name: str) -> None:
    """Refuses a function that uses names of its module: the module stays behind."""
    missing = sorted(set(_outside(symtable.symtable(source, "<function>", "exec"))) - set(dir(builtins)) - {name, "__name__"})
    if missing:
        raise ValueError(f"{name} uses {_and(missing)} of its module, which stays behind: import or define it inside {name}, or pass it by func_args")


def _outside(table: symtable.SymbolTable) -> Iterator[str]:
    """The names that a text takes from around it."""
    module = table.get_type() == "module"
    for symbol in table.get_symbols():
        if symbol.is_referenced() and not symbol.is_assigned() and not symbol.is_imported() and (module or symbol.is_global()):
            yield symbol.get_name()
    for child in table.get_children():
        yield from _outside(child)


def _travels(name: str, key: str, value: Any) -> None:
    """Refuses what is not the same when it is written down and read again."""
    try:
        same = ast.literal_eval(repr(value)) == value
    except (ValueError, SyntaxError, TypeError, RecursionError):
        same = False
    if not same and isinstance(value, float):
        raise ValueError(f"func_args[{key!r}] of {name} is {value}, which does not travel as text: make it inside {name}")
    if not same:
        what = f"func_args[{key!r}] of {name} is a {type(value).__name__}"
        raise ValueError(f"{what}: arguments travel as text, so give numbers, strings, None, or lists and dicts of these; {_PUT}")


def _literal(source: str) -> str:
    """Source as a literal that people can read."""
    escaped = source.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if escaped.endswith('"'):
        escaped = escaped[:-1] + '\\"'
    return f'"""{_plain(escaped)}"""'


def _plain(text: str) -> str:
    """Without dollars: Kubernetes would take some of them for variables of its own."""
    return re.sub(r"\$", r"\\x24", text)


def _and(names: Sequence[str]) -> str:
    return ", ".join(names)
