"""Why a job fails or does not start."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cause:
    """What keeps a job from running, or what ended it.

    The same words are shown by ``kubectl mpi why`` and are in the events of the job.
    """

    #: Name of a closed list, such as ``OOMKilled``; ``kubectl mpi explain`` prints the page of each.
    reason: str
    #: The whole message of the condition: what happened, what to do, and the last lines of the program.
    text: str
    #: What happened; the whole text of a job that no mpi-controller looks after.
    message: str
    #: What to do, as part of a sentence; empty if that is not known.
    remedy: str = ""
    #: The last lines of the program that failed; the pod that had them all may be gone by now.
    lines: tuple[str, ...] = ()
    #: Whose failure it is: ``infrastructure``, ``application``, ``request`` or ``hand``; empty if that is not known.
    #:
    #: A job that failed for a reason of the infrastructure may succeed when it is started again; the others would fail again.
    whose: str = ""
    #: The pod where it happened and the machine under it; empty if they are not known.
    pod: str = ""
    machine: str = ""
    #: The first rank that failed, None if none is known.
    rank: int | None = None
    #: Exit code of the program that failed, 128 + n after signal n, and the name of that signal; 0 and empty if there is none.
    exit_code: int = 0
    signal: str = ""
    #: The address of the page about the reason; empty if the platform has no pages.
    url: str = ""

    @property
    def where(self) -> str | None:
        """The pod where it happened and its machine; None if they are not known.

        >>> Cause("OOMKilled", "Worker 1 failed", "Worker 1 failed", pod="a-node-0-1-x7x2p", machine="m3").where
        'pod a-node-0-1-x7x2p on machine m3'
        """
        if not self.pod:
            return None
        return f"pod {self.pod}" + (f" on machine {self.machine}" if self.machine else "")

    @property
    def evidence(self) -> str:
        """What proves it: the message, and below it the last lines of the program."""
        return "\n".join((self.message, *self.lines))

    def __str__(self) -> str:
        return f"{self.reason}: {self.text}"
