"""What is shown of two values that differ, where they are long (``pkg/jobs/compare``, excerpt.go)."""

from __future__ import annotations

from lockstep._redact import redacted

_MOST = 200
_AROUND = 20


def excerpts(left: str, right: str) -> tuple[str, str]:
    """What is shown of two values."""
    return _first_lines(left, right) if "\n" in left + right else _middles(left, right)


def sized(left: str | None, right: str | None) -> tuple[str, str]:
    """What is shown of two texts: how large each is, and the first line that differs."""
    lines = ("", "") if left is None or right is None else _first_lines(left, right)
    return _size(left, lines[0]), _size(right, lines[1])


def _size(text: str | None, line: str) -> str:
    if text is None:
        return ""
    n = len(text.encode())
    return "; ".join(filter(None, [f"{n} byte{'s' if n != 1 else ''}", line]))


def _first_lines(left: str, right: str) -> tuple[str, str]:
    lines = left.split("\n"), right.split("\n")
    same = [a == b for a, b in zip(*lines, strict=False)]
    at = same.index(False) if False in same else len(same)
    found = [redacted(side[at]) if at < len(side) else "" for side in lines]
    shown = _middles(*found)
    there = [at < len(side) and whole != "" for side, whole in zip(lines, (left, right), strict=True)]
    one, other = (f"line {at + 1}: {text}" if is_there else text for is_there, text in zip(there, shown, strict=True))
    return one, other


def _middles(left: str, right: str) -> tuple[str, str]:
    if max(len(left), len(right)) <= _MOST:
        return left, right
    begin = _alike(left, right)
    end = _alike(left[begin:][::-1], right[begin:][::-1])
    begin, end = max(0, begin - _AROUND), max(0, end - _AROUND)
    return _cut(left, begin, end), _cut(right, begin, end)


def _alike(left: str, right: str) -> int:
    """How many characters two texts begin with alike."""
    return next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))


def _cut(text: str, begin: int, end: int) -> str:
    if not text:
        return ""
    part = text[begin : len(text) - end]
    return ("…" if begin else "") + part[:_MOST] + ("…" if end or len(part) > _MOST else "")
