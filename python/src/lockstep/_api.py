"""Requests to an API server, with the credentials of a client of the ``kubernetes`` package. Objects are Kubernetes' JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import urllib3
from kubernetes.client import ApiClient, ApiException

from lockstep._objects import CLUSTER_RUNTIME, Object
from lockstep.errors import explained

#: How long an answer may take, in seconds: to connect, and between two pieces of it.
_TIMEOUT = (10, 60)
#: How many objects a page of a list has.
_PAGE = 500
#: How many bytes of a stream are read at once, at most.
_PIECE = 1 << 16
_TRAINER = "/apis/trainer.kubeflow.org/v1alpha1"
_JOBSET = "/apis/jobset.x-k8s.io/v1alpha2"
_KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
_HISTORY = "/apis/history.lockstep.dev/v1alpha1"

Failures = (ApiException, urllib3.exceptions.HTTPError, OSError)


class Paths:
    """Where the objects of a namespace are."""

    def __init__(self, namespace: str) -> None:
        ns = f"namespaces/{quote(namespace, safe='')}"
        self.namespace = f"/api/v1/{ns}"
        self.trainjobs = f"{_TRAINER}/{ns}/trainjobs"
        self.runtimes = f"{_TRAINER}/{ns}/trainingruntimes"
        self.cluster_runtimes = f"{_TRAINER}/clustertrainingruntimes"
        self.jobsets = f"{_JOBSET}/{ns}/jobsets"
        self.pods = f"/api/v1/{ns}/pods"
        self.events = f"/api/v1/{ns}/events"
        self.config_maps = f"/api/v1/{ns}/configmaps"
        self.claims = f"/api/v1/{ns}/persistentvolumeclaims"
        self.quotas = f"/api/v1/{ns}/resourcequotas"
        self.limits = f"/api/v1/{ns}/limitranges"
        self.queues = f"{_KUEUE}/{ns}/localqueues"
        self.kept = f"{_HISTORY}/{ns}/keptjobs"

    def runtimes_of(self, kind: str) -> str:
        """Where runtimes of a kind are."""
        return self.cluster_runtimes if kind == CLUSTER_RUNTIME else self.runtimes


def named(collection: str, name: str) -> str:
    """Where one object of a collection is. Names come from users: one with a slash in it must not become another path, nor may none or a dot
    become that of the collection, which can be deleted as a whole."""
    if not isinstance(name, str):
        raise TypeError(f"the name is {name!r}: give a text")
    if name in ("", ".", ".."):
        raise ValueError("the name is empty" if not name else f"{name!r} is no name")
    return f"{collection}/{quote(name, safe='')}"


class Api:
    """An API server. All methods raise the errors of :mod:`lockstep.errors`.

    ``renew`` brings new credentials into the client: it is called once for a request that is refused for want of them, which is then made again.
    """

    def __init__(self, client: ApiClient, renew: Callable[[], None] | None = None) -> None:
        self._client, self._renew = client, renew

    def get(self, path: str) -> Object:
        return self._json("GET", path)

    def list(self, path: str, **query: str) -> tuple[list[Object], str]:
        """All objects of a collection, page by page, and the version of the list."""
        items: list[Object] = []
        onward = ""
        while True:
            more = {"continue": onward} if onward else {}
            page = self._json("GET", path, {**query, "limit": str(_PAGE), **more})
            items += page.get("items") or []
            onward = page["metadata"].get("continue") or ""
            if not onward:
                return items, page["metadata"].get("resourceVersion", "")

    def create(self, path: str, body: Object, *, dry_run: bool = False) -> Object:
        return self._json("POST", path, {"dryRun": "All"} if dry_run else {}, body)

    def patch(self, path: str, body: Object) -> Object:
        """Changes an object by a JSON merge patch."""
        return self._json("PATCH", path, {}, body, "application/merge-patch+json")

    def delete(self, path: str, body: Object) -> None:
        self._json("DELETE", path, {}, body)

    def open(self, path: str, query: dict[str, str], timeout: float) -> urllib3.response.HTTPResponse:
        """A stream that breaks after as many seconds without a byte. It raises what the libraries below raise: who reads on looks at that."""
        stream: urllib3.response.HTTPResponse = self._request("GET", path, query, None, "application/json", (_TIMEOUT[0], timeout))
        return stream

    def _json(
        self, method: str, path: str, query: dict[str, str] | None = None, body: Object | None = None, kind: str = "application/json"
    ) -> Object:
        try:
            answer: Object = json.loads(self._request(method, path, query or {}, body, kind, _TIMEOUT).data)
        except Failures as e:
            raise explained(e) from e
        return answer

    def _request(self, *request: Any) -> Any:
        try:
            return self._once(*request)
        except ApiException as e:
            if e.status != 401 or not self._renew:
                raise
        self._renew()
        return self._once(*request)

    def _once(self, method: str, path: str, query: dict[str, str], body: Object | None, kind: str, timeout: tuple[float, float]) -> Any:
        return self._client.call_api(
            path,
            method,
            query_params=list(query.items()),
            header_params={"Accept": "application/json", "Content-Type": kind},
            body=body,
            auth_settings=["BearerToken"],
            _preload_content=False,
            _return_http_data_only=True,
            _request_timeout=timeout,
        )


def lines(stream: urllib3.response.HTTPResponse, *, rest_too: bool = False, longest: int = 1 << 20) -> Iterator[bytes]:
    """The lines of a stream, as they come. What follows the last newline may have been cut off, and is left out unless it is asked for.

    A line of more bytes than the longest may have goes on as another one: a program that never ends its line takes no memory without end.
    """
    rest = bytearray()
    for piece in stream.stream(_PIECE, decode_content=True):
        *ended, begun = piece.split(b"\n")
        for part, end in [*((p, True) for p in ended), (begun, False)]:
            rest += part
            while len(rest) > longest:
                yield bytes(rest[:longest])
                del rest[:longest]
            if end:
                yield bytes(rest)
                rest.clear()
    if rest and rest_too:
        yield bytes(rest)
