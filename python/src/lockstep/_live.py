"""A job as a table that follows it, in a notebook or in a terminal."""

from __future__ import annotations

import html
import queue
import shutil
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TextIO

from lockstep._rank import MARK
from lockstep._record import printable_line
from lockstep.job import Job

#: How often the times of a table are brought up to date, in seconds. The API server is not asked for that.
_TICK = 1.0
#: How many pods a table has.
_PODS = 8
#: For how long the last lines of a job that is over are waited for, in seconds.
_LAST = 10.0


class Table:
    """A job, its pods with their ranks, and its last lines: text, and HTML for notebooks."""

    def __init__(self, job: Job, lines: Iterable[str] = ()) -> None:
        self.job, self.lines = job, [printable_line(line) for line in lines]

    def rows(self) -> list[tuple[str, ...]]:
        """Pod, ranks, machine and state of the first pods."""
        return [
            (f"{p.role} {p.index}", f"{p.ranks[0]}-{p.ranks[-1]}" if p.ranks else "-", p.machine or "-", "Terminating" if p.terminating else p.phase)
            for p in self.job.pods[:_PODS]
        ]

    def more(self) -> str:
        """Says that there are more pods."""
        return f"and {len(self.job.pods) - _PODS} pods more" if len(self.job.pods) > _PODS else ""

    def __repr__(self) -> str:
        table = [("POD", "RANKS", "MACHINE", "STATE"), *self.rows()] if self.job.pods else []
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        pods = ["   ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in table]
        return "\n".join(part for part in (str(self.job), *pods, self.more(), *(f"| {line}" for line in self.lines)) if part)

    def _repr_html_(self) -> str:
        """The same for notebooks. What programs and users wrote is escaped."""
        job = self.job
        bar = "" if job.progress is None else f'<progress max="100" value="{job.progress}"></progress>'
        head = "<tr><th>POD</th><th>RANKS</th><th>MACHINE</th><th>STATE</th></tr>"
        rows = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in self.rows())
        pods = f"<table><thead>{head}</thead><tbody>{rows}</tbody></table><p>{self.more()}</p>" if job.pods else ""
        lines = f"<pre>{html.escape(chr(10).join(self.lines))}</pre>" if self.lines else ""
        return f"{job._repr_html_()}{bar}{pods}{lines}"


def follow(jobs: Iterator[Job], lines: Iterator[str], keep: int, draw: Callable[[Table], None]) -> Job:
    """Draws a job anew when it changes, when it prints, and each second, until it is over or its changes end. Returns it as it was last."""
    news: queue.Queue[tuple[str, Any]] = queue.Queue()
    _pump("line", lines, news)
    _pump("job", jobs, news)
    job: Job | None = None
    last: deque[str] = deque(maxlen=keep)
    running = {"job", "line"}
    while "job" in running or (running and job and job.finished):
        try:
            kind, what = news.get(timeout=_TICK if "job" in running else _LAST)
        except queue.Empty:
            kind, what = ("", None) if "job" in running else ("end of line", None)
        if kind == "job":
            job = what
        elif kind == "line":
            if MARK not in what:  # which is for programs
                last.append(what)
        elif kind:
            running.discard(kind.removeprefix("end of "))
            if what and kind == "end of job":
                raise what
            if what:
                last.append(f"the log cannot be read: {what}")
        if job and news.empty():
            draw(Table(job, last))
    assert job is not None, "the first job comes, or an error"
    return job


def _pump(kind: str, items: Iterator[Any], news: queue.Queue[tuple[str, Any]]) -> None:
    def pump() -> None:
        error: BaseException | None = None
        try:
            for item in items:
                news.put((kind, item))
        except BaseException as e:  # noqa: BLE001 # whoever reads the news raises it
            error = e
        news.put((f"end of {kind}", error))

    threading.Thread(target=pump, daemon=True, name="lockstep-show").start()


def screen(out: TextIO | None = None) -> Callable[[Table], None]:
    """What draws tables: where a notebook runs, its cell; in a terminal the same lines; elsewhere what is new, as text."""
    shell = sys.modules.get("IPython")
    if out is None and shell and getattr(shell.get_ipython(), "kernel", None):
        return _Cell(shell.display.display)
    out = out or sys.stdout
    return _Terminal(out) if out.isatty() else _Paper(out)


class _Cell:
    """A cell of a notebook."""

    def __init__(self, display: Callable[..., Any]) -> None:
        self._display, self._handle = display, None

    def __call__(self, table: Table) -> None:
        if self._handle is None:
            self._handle = self._display(table, display_id=True)
        else:
            self._handle.update(table)


class _Terminal:
    """A terminal: each table is where the last one was."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._height = out, 0

    def __call__(self, table: Table) -> None:
        width, height = shutil.get_terminal_size()
        lines = [line[: width - 1] for line in str(table).splitlines()][: height - 1]
        up = f"\x1b[{self._height}F\x1b[J" if self._height else ""
        self._out.write(up + "\n".join(lines) + "\n")
        self._out.flush()
        self._height = len(lines)


class _Paper:
    """A file or a pipe: the job when its state is new."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._shown = out, ""

    def __call__(self, table: Table) -> None:
        cells = table.job.columns()
        now = " ".join(cells[k] for k in ("state", "ready", "progress"))
        if now != self._shown:
            self._out.write(f"{table}\n")
            self._out.flush()
            self._shown = now
