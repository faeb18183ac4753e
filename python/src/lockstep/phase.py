"""Where a job is in its life."""

from __future__ import annotations

from enum import Enum


class Phase(str, Enum):
    """Where a job is in its life; each is also a plain string, so that ``job.phase == "Running"`` works."""

    #: Ended before anything was made of it: what it asks for cannot be had.
    REFUSED = "Refused"
    #: Waits for its turn in a queue of Kueue.
    QUEUED = "Queued"
    #: Somebody holds it back.
    SUSPENDED = "Suspended"
    #: Its objects are being made.
    CREATING = "Creating"
    #: What its initializer names is being fetched; its machines are asked for after that.
    FETCHING = "Fetching"
    #: Its pods wait for machines.
    SCHEDULING = "Scheduling"
    #: Its pods have machines and are not ready yet: images, volumes.
    PULLING = "Pulling"
    #: All pods are ready, and the launcher waits for all nodes to answer.
    STARTING = "Starting"
    #: The command runs.
    RUNNING = "Running"
    #: It is started again after a fault of the infrastructure.
    RESTARTING = "Restarting"
    #: Its room was taken for another job, and it waits to get some again.
    PREEMPTED = "Preempted"
    #: Its pods are being ended.
    STOPPING = "Stopping"
    #: Over, and did what was asked.
    COMPLETE = "Complete"
    #: Over, and did not.
    FAILED = "Failed"

    __str__ = str.__str__

    @property
    def finished(self) -> bool:
        """Whether a job of this phase is over."""
        return self in (Phase.COMPLETE, Phase.FAILED, Phase.REFUSED)

    @property
    def state(self) -> str:
        """The condition that Kubeflow's API shows for it (column STATE of ``kubectl get``); empty for Running and Stopping."""
        return _STATES.get(self, "")


_STATES = {
    Phase.CREATING: "Created",
    Phase.FETCHING: "Created",
    Phase.SCHEDULING: "Created",
    Phase.PULLING: "Created",
    Phase.STARTING: "Created",
    Phase.QUEUED: "Suspended",
    Phase.SUSPENDED: "Suspended",
    Phase.PREEMPTED: "Suspended",
    Phase.RESTARTING: "Restarting",
    Phase.COMPLETE: "Complete",
    Phase.REFUSED: "Failed",
    Phase.FAILED: "Failed",
}
