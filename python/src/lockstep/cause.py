"""Why a job fails or does not start."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lockstep._reasons import CLASSES

#: The folder of the pages about reasons.
DOCS_URL = "https://lockstep.dev/failures/"

_REMEDY = ". What to do: "
_LAST_LINES = "\nLast lines:\n"
_POD = re.compile(r"\bpod (\S+-(?:launcher|node)-0-\d+-\w+)(?: on machine ([^\s,;:)]+))?")


@dataclass(frozen=True)
class Cause:
    """What keeps a job, or what ended it, in the words of a condition of its TrainJob.

    The same words are shown by ``kubectl mpi why`` and are in the events of the job.
    """

    #: Name of a closed list, such as ``OOMKilled``; every reason has a page, see :attr:`url`.
    reason: str
    #: The message of the condition, word by word.
    text: str

    @property
    def message(self) -> str:
        """What happened, without what to do and without the last lines of the program."""
        before, found, _ = self._said.rpartition(_REMEDY)
        return before if found else self._said

    @property
    def remedy(self) -> str:
        """What to do, as part of a sentence; empty where nobody can say."""
        _, found, after = self._said.rpartition(_REMEDY)
        return after if found else ""

    @property
    def lines(self) -> tuple[str, ...]:
        """The last lines of the program that failed; the pod that had them all may be gone by now."""
        _, found, last = self.text.partition(_LAST_LINES)
        return tuple(last.split("\n")) if found else ()

    @property
    def where(self) -> str | None:
        """The pod where it happened and its machine, as the message names them; None where it names none.

        >>> Cause("OOMKilled", "Worker 1 (pod a-node-0-1-x7x2p on machine m3) failed").where
        'pod a-node-0-1-x7x2p on machine m3'
        """
        found = _POD.search(self.message)
        return found.group(0) if found else None

    @property
    def evidence(self) -> str:
        """What proves it: the message, and below it the last lines of the program."""
        return "\n".join((self.message, *self.lines))

    @property
    def url(self) -> str:
        """The page about the reason; empty for one that is not documented."""
        return DOCS_URL + self.reason if self.reason in CLASSES else ""

    @property
    def whose(self) -> str:
        """Whose failure it is: ``infrastructure``, ``application``, ``request`` or ``hand``; empty where nobody can say.

        A job that failed for a reason of the infrastructure may succeed when it is started again; the others would fail again.
        """
        return CLASSES.get(self.reason, "")

    @property
    def _said(self) -> str:
        return self.text.partition(_LAST_LINES)[0]

    def __str__(self) -> str:
        return f"{self.reason}: {self.text}"
