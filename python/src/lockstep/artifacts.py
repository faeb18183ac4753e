"""What a job makes, and where it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Artifacts:
    """The folder of a job that outlives its pods, and its copy; known from the end of the job on.

    A job gets one by ``options=[Annotations({"lockstep.dev/artifacts": "{to: s3://models/runs, secret: bucket}"})]``.
    """

    #: The claim of the namespace and the folder in it, below ``artifacts``.
    claim: str
    folder: str
    #: The prefix it is copied to, ``s3://BUCKET/PREFIX``; empty for none.
    to: str = ""
    #: How far the copy is: ``Copying``, ``Copied``, ``Failed``, ``Kept`` (of a failed job), or empty.
    state: str = ""
    #: How much was copied, and the SHA-256 of its manifest ``lockstep.json``.
    files: int = 0
    bytes: int = 0
    digest: str = ""
    #: Why it is not there yet.
    reason: str = ""
    message: str = ""
