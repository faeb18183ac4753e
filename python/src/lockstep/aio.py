"""The client for programs with an event loop: every method of :class:`lockstep.MPIClient` in a thread of its own.

Example:
    >>> from lockstep.aio import AsyncMPIClient
    >>> client = AsyncMPIClient()  # doctest: +SKIP
    >>> job = await client.wait("train")  # doctest: +SKIP
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, ParamSpec, TypeVar

from lockstep.client import MPIClient

_P = ParamSpec("_P")
_T = TypeVar("_T")
_END = object()


class AsyncMPIClient:
    """The twins of :class:`lockstep.MPIClient`: the same names, arguments and errors, to await or to iterate over with ``async for``.

    Args:
        client: The client to use; by default one that is made of the other arguments, as :class:`lockstep.MPIClient` takes them.

    A task that is cancelled leaves its request to end by itself: what was asked of the API server is not undone.
    """

    def __init__(self, client: MPIClient | None = None, **arguments: Any) -> None:
        self._client = client or MPIClient(**arguments)
        self.train = _awaited(self._client.train)
        self.dry_run = _awaited(self._client.dry_run)
        self.to_yaml = _awaited(self._client.to_yaml)
        self.preflight = _awaited(self._client.preflight)
        self.diff = _awaited(self._client.diff)
        self.clone = _awaited(self._client.clone)
        self.create_mpi_job = _awaited(self._client.create_mpi_job)
        self.get_job = _awaited(self._client.get_job)
        self.get_job_status = _awaited(self._client.get_job_status)
        self.list_jobs = _awaited(self._client.list_jobs)
        self.diagnose = _awaited(self._client.diagnose)
        self.runtimes = _awaited(self._client.runtimes)
        self.wait = _awaited(self._client.wait)
        self.show = _awaited(self._client.show)
        self.on_end = _awaited(self._on_end)
        self.suspend = _awaited(self._client.suspend)
        self.resume = _awaited(self._client.resume)
        self.delete = _awaited(self._client.delete)
        self.watch = _iterated(self._client.watch)
        self.logs = _iterated(self._client.logs)
        self.get_job_logs = _iterated(self._client.get_job_logs)
        self.stream_job_events = _iterated(self._client.stream_job_events)

    def _on_end(self, name: str, then: Callable[[Any], object] | str, *, secret: str | None = None) -> Any:
        """Waits until a job is over and told of."""
        return self._client.on_end(name, then, secret=secret).result()


def _awaited(method: Callable[_P, _T]) -> Callable[_P, Any]:
    async def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return await asyncio.to_thread(method, *args, **kwargs)

    return call


def _iterated(method: Callable[_P, Iterator[_T]]) -> Callable[_P, AsyncIterator[_T]]:
    async def iterate(*args: _P.args, **kwargs: _P.kwargs) -> AsyncIterator[_T]:
        lines = await asyncio.to_thread(method, *args, **kwargs)
        while (line := await asyncio.to_thread(next, lines, _END)) is not _END:
            yield line  # type: ignore[misc] # it is not _END

    return iterate
