"""The reference of the package, made of its docstrings and of the comments of its attributes."""

from __future__ import annotations

import enum
import inspect
import re
import textwrap
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import lockstep
import lockstep.aio
import lockstep.webhook

_TITLES = {"Args": "Arguments", "Raises": "Errors", "Returns": "Returns", "Example": "Example"}
#: The classes before the errors, and all else by name.
_FIRST = ["MPITrainer", "MPIClient", "Job", "Phase", "Cause"]


def page() -> str:
    """The whole page."""
    head = "<!-- Generated from docstrings by `make test-python LOCKSTEP_PYTEST=--update`. -->\n\n# lockstep-mpi\n"
    names = [*_FIRST, *(n for n in lockstep.__all__ if n not in _FIRST)]
    public = [thing(n, getattr(lockstep, n)) for n in names]
    more = [part(m) for m in (lockstep.webhook, lockstep.aio)]
    return "\n".join([head, text(lockstep), *public, *more])


def part(module: ModuleType) -> str:
    """A module with the public names that it defines."""
    own = [(n, v) for n, v in vars(module).items() if not n.startswith("_") and getattr(v, "__module__", "") == module.__name__]
    shown = [thing(n, v) for n, v in own if n not in lockstep.__all__]
    return "\n".join([f"## {module.__name__}\n", text(module), *shown])


def thing(name: str, value: Any) -> str:
    """A class or a function."""
    parts = [f"## {name}\n", text(value)]
    if inspect.isclass(value):
        if (
            called := signature(value)
            if "__init__" in vars(value) and not issubclass(value, Exception) and "__dataclass_params__" not in vars(value)
            else ""
        ):
            parts.insert(1, f"```python\n{name}{called}\n```\n")
        parts += [f"- {entry}" for entry in attributes(value)] + [""]
        parts += [method(name, n, v) for n, v in vars(value).items() if not n.startswith("_") and (inspect.isfunction(v) or isinstance(v, property))]
    else:
        parts.insert(1, f"```python\n{name}{signature(value)}\n```\n")
    return "\n".join(p for i, p in enumerate(parts) if p or parts[i - 1])


def method(owner: str, name: str, value: Any) -> str:
    """A method or a property."""
    if isinstance(value, property):
        return f"### {owner}.{name}\n\n{text(value)}"
    return f"### {owner}.{name}\n\n```python\n{name}{signature(value)}\n```\n\n{text(value)}"


def signature(value: Any) -> str:
    """How it is called."""
    made = inspect.signature(value)
    given = [p for p in made.parameters.values() if p.name != "self"]
    said = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(made.replace(parameters=given)))
    said = re.sub(r"(?:\w+\.)+(?=[A-Z])", "", said).removesuffix(" -> None")
    return said if len(said) < 100 else re.sub(r"^\((.*)\)( -> .*)?$", _broken, said)


def _broken(found: re.Match[str]) -> str:
    """One parameter per line."""
    lines = re.split(r", (?![^\[]*\])", found[1])
    return "(\n" + "".join(f"    {line},\n" for line in lines) + ")" + (found[2] or "")


def attributes(value: type) -> Iterator[str]:
    """The attributes of a class with what the comments before them say."""
    of_class, of_self = r"(?=\w+: )", r"self\.(?=\w+[: ])"
    entry = r"\s+[A-Z]+ = \"(\w+)\"" if issubclass(value, enum.Enum) else rf"\s+(?:{of_self}|{of_class})(\w+)(?:: [^=(]+)?(?: = .*)?$"
    names: list[str] = []
    said: list[str] = []
    for line in inspect.getsource(value).splitlines():
        comment = re.match(r"\s+#: ?(.*)", line)
        found = re.match(entry, line)
        if comment and names:
            yield _entry(names, said)
            names, said = [], []
        if comment:
            said.append(comment[1])
        elif found and said:
            names.append(found[1])
        elif names:
            yield _entry(names, said)
            names, said = [], []
        else:
            said = []
    if names:
        yield _entry(names, said)


def _entry(names: list[str], said: list[str]) -> str:
    return f"{', '.join(f'`{n}`' for n in names)}: {inline(' '.join(said))}"


def text(value: Any) -> str:
    """A docstring as Markdown."""
    found = re.sub(r"^>>> .*(?:\n.+)*", lambda m: f"```pycon\n{m[0]}\n```", inspect.getdoc(value) or "", flags=re.MULTILINE)
    parts = re.split(r"^(Args|Raises|Returns|Example):\n", found, flags=re.MULTILINE)
    made = [inline(parts[0].strip()), ""]
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        indented = re.match(r"(?:    .*\n?|\n)*", body)
        inside = textwrap.dedent(indented[0]) if indented else ""
        rest = body[len(indented[0]) :] if indented else body
        made += [f"**{_TITLES[title]}**", "", section(title, inside.strip()), "", *([inline(rest.strip()), ""] if rest.strip() else [])]
    return "\n".join(made)


def section(title: str, body: str) -> str:
    """The part of a docstring under a title."""
    if title == "Example":
        return f"```pycon\n{re.sub(r'  # doctest:.*', '', body)}\n```"
    if title == "Returns":
        return inline(body)
    items = re.split(r"\n(?=\S)", body)
    return "\n".join(f"- `{name}`: {inline(' '.join(said.split()))}" for name, _, said in (item.partition(": ") for item in items))


def inline(words: str) -> str:
    """Roles and literals of docstrings as Markdown."""
    return re.sub(r":\w+:`([^`]+)`", r"`\1`", words).replace("``", "`")
