"""How much a job has used."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


def _size(count: float) -> str:
    """A size as ``kubectl mpi`` writes it: ``3.97 GiB``."""
    units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    while count >= 1000 and len(units) > 1:
        count, units = count / 1024, units[1:]
    digits = 0 if count == int(count) or count >= 100 else 1 if count >= 10 else 2
    return f"{count:.{digits}f} {units[0]}"


@dataclass(frozen=True)
class Usage:
    """How much a job has used, as its record has it; all but the machines is measured at its end."""

    #: Nodes times seconds of all spans that are over: restarts count, suspensions do not.
    machine_seconds: int
    #: When the span that is still open began, None while the job has no machines.
    since: datetime | None = None
    #: What a node costs in an hour, 0 if the platform does not price it.
    node_price: float = 0
    #: How many pods with ranks were measured; without any the rest is 0.
    pods: int = 0
    #: How many processors each of them kept busy, on average.
    cpu_per_pod: float = 0
    #: The most bytes that one of them needed, its limit, and its host name.
    memory_peak: int = 0
    memory_limit: int = 0
    memory_pod: str = ""
    #: How many bytes they sent over the network of the cluster.
    sent_bytes: int = 0

    def machine_hours(self, nodes: int, at: datetime) -> float:
        """Those of a job with so many nodes, until a moment."""
        seconds = self.machine_seconds
        if self.since:
            seconds += nodes * max(0, int((at - self.since).total_seconds()))
        return seconds / 3600

    def text(self, nodes: int, at: datetime) -> str:
        """All of it in a line."""
        hours = self.machine_hours(nodes, at)
        parts = [f"{hours:.4f} machine-hours" if hours < 0.1 else f"{hours:.2f} machine-hours"]
        if self.node_price:
            parts.append(f"cost {hours * self.node_price:.2f}")
        if self.pods:
            limit = f" of {_size(self.memory_limit)}" if self.memory_limit else ""
            parts.append(f"memory {_size(self.memory_peak)}{limit} ({self.memory_pod})")
            parts += [f"CPU {self.cpu_per_pod:.1f} per pod", f"{_size(self.sent_bytes)} sent"]
        return ", ".join(parts)
