"""Webhooks: what :meth:`lockstep.MPIClient.on_end` sends when a job is over, signed, so that whoever gets it can tell who sent it.

The body is JSON: ``id``, ``name``, ``namespace``, ``uid``, ``phase``, ``reason``, ``message``, ``started`` and ``ended``; the last lines of the
program are left out. The header ``Lockstep-Signature`` is ``t=<seconds since 1970>,v1=<hex>``: the HMAC-SHA256 of the time, a dot and the body.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from time import sleep, time
from typing import Any
from urllib.parse import urlsplit

import urllib3

from lockstep.errors import LockstepError
from lockstep.job import Job

#: The header with time and signature.
HEADER = "Lockstep-Signature"
#: How long to wait before each further try, in seconds: eight tries in about four minutes.
PAUSES = (1, 2, 4, 8, 30, 60, 120)
#: How long one try may take, in seconds.
_TIMEOUT = 10


class WebhookFailed(LockstepError):
    """Nobody took what was to be sent, or whoever did refused it; the job is over all the same."""


def sign(secret: str, body: bytes, at: int) -> str:
    """The value of the header of a body.

    >>> sign("secret", b"{}", 1700000000)
    't=1700000000,v1=b8569b78799ff9e3cbff0fc2d63a33a2b57f3282abd07c37ae5e8e7d79a5f163'
    """
    return f"t={at},v1={hmac.new(secret.encode(), b'%d.' % at + body, hashlib.sha256).hexdigest()}"


def verify(secret: str, body: bytes, header: str, *, tolerance: float = 300, at: float | None = None) -> dict[str, Any]:
    """What a webhook says, for whoever gets it. The same job may come more than once: ``id`` is the same then.

    Args:
        secret: What was given to ``on_end``.
        body: The body, byte by byte.
        header: The header ``Lockstep-Signature``.
        tolerance: How many seconds old it may be: an old one may be somebody's copy.
        at: The present, in seconds since 1970; by default the clock's.

    Raises:
        ValueError: The signature is none of this body and secret, or it is too old.

    Example:
        >>> verify("secret", b'{"name": "train"}', sign("secret", b'{"name": "train"}', 1700000000), at=1700000060)
        {'name': 'train'}
    """
    said, _, _ = header.removeprefix("t=").partition(",")
    if not (said.isascii() and said.isdigit() and hmac.compare_digest(sign(secret, body, int(said)).encode(), header.encode())):
        raise ValueError("the signature does not fit the body: the secret is another one, or somebody has changed it")
    if abs((time() if at is None else at) - int(said)) > tolerance:
        raise ValueError(f"it was signed more than {tolerance:g} s ago: it may be a copy")
    content: dict[str, Any] = json.loads(body)
    return content


class Webhook:
    """A URL that is told of jobs that are over.

    Args:
        url: Where to: ``https://…``, or ``http://…`` inside the cluster. No redirect is followed.
        secret: What the message is signed with.

    Raises:
        ValueError: There is no secret, or the URL is none.
    """

    def __init__(self, url: str, secret: str | None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("https", "http") or not parts.hostname:
            raise ValueError(f"{url!r} is no URL of a webhook: give https://… or http://…")
        if not secret:
            raise ValueError("a webhook is signed, so that its receiver can tell who sent it: give secret=")
        self._url, self._secret = url, secret
        self._where = f"{parts.scheme}://{parts.hostname}"  # URLs of webhooks have secrets in their paths

    def __call__(self, job: Job) -> None:
        """Sends it until somebody takes it.

        Raises:
            WebhookFailed: Nobody did in eight tries, or it was refused.
        """
        body = json.dumps(_content(job)).encode()
        for pause in (*PAUSES, None):
            why, passes = self._send(body)
            if not why:
                return
            if pause is None or not passes:
                break
            sleep(pause)
        raise WebhookFailed(f"the webhook at {self._where} was not told that job {job.name} is {job.phase}: {why}")

    def _send(self, body: bytes) -> tuple[str, bool]:
        """Sends it once. Returns what is wrong, and whether that may pass."""
        headers = {"Content-Type": "application/json", HEADER: sign(self._secret, body, int(time()))}
        try:
            with urllib3.PoolManager() as pool:
                status = pool.request("POST", self._url, body=body, headers=headers, timeout=_TIMEOUT, retries=False, redirect=False).status
        except urllib3.exceptions.HTTPError as e:
            return f"{type(e).__name__}: nobody answers", True
        return ("", False) if 200 <= status < 300 else (f"it answered {status}", status in (408, 429) or status >= 500)


def _content(job: Job) -> dict[str, Any]:
    """What is said of a job. The status may come before the record: then its message goes on with the last lines."""
    message, _, _ = (job.cause.message if job.cause else job.message).partition("\n")
    return {
        "id": f"{job.uid}/{job.phase}",
        "name": job.name,
        "namespace": job.namespace,
        "uid": job.uid,
        "phase": str(job.phase),
        "reason": job.cause.reason if job.cause else "",
        "message": message,
        "started": job.started.isoformat() if job.started else None,
        "ended": job.ended.isoformat() if job.ended else None,
    }
