"""The size of a job, by the rules of mpi-controller (``pkg/mpi/job``)."""

from __future__ import annotations

from lockstep._objects import (
    ANCESTOR_LABEL,
    IMPLEMENTATION_LABEL,
    LAUNCHER,
    NODE,
    Object,
    annotation,
    labels,
    main_container,
    name,
    parallelism,
    parts,
    spec,
)
from lockstep.job import World

#: Kubernetes' limit for the machines of a cluster, and more slots than any machine has hardware threads.
MAX_NODES, MAX_SLOTS = 5000, 4096
#: A host name is a DNS label, and JobSet adds a dash and five characters to it for the name of the pod.
_LONGEST_HOST = 63 - 6
#: How long the name of a job may be: its longest host name is that of the launcher.
MAX_NAME = _LONGEST_HOST - len("-launcher-0-0")
#: Variables that carry the wiring of a job: its nodes are found through them.
RESERVED_VARIABLES = frozenset(
    v.casefold()
    for v in (
        "OMPI_MCA_orte_default_hostfile",
        "OMPI_MCA_orte_keep_fqdn_hostnames",
        "OMPI_MCA_orte_set_default_slots",
        "OMPI_MCA_plm_rsh_agent",
        "OMPI_MCA_plm_rsh_args",
        "PRTE_MCA_prte_default_hostfile",
        "PRTE_MCA_prte_keep_fqdn_hostnames",
        "PRTE_MCA_prte_set_default_slots",
        "PRTE_MCA_plm_ssh_agent",
        "PRTE_MCA_plm_ssh_args",
        "OMPI_MCA_orte_rsh_agent",
        "OMPI_MCA_pls_rsh_agent",
        "PRTE_MCA_prte_ssh_agent",
        "PRTE_MCA_pls_ssh_agent",
        "PRTE_MCA_plm_rsh_agent",
        "HYDRA_HOST_FILE",
        "HYDRA_LAUNCHER",
        "HYDRA_LAUNCHER_EXEC",
        "I_MPI_HYDRA_HOST_FILE",
        "I_MPI_HYDRA_BOOTSTRAP",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC",
    )
)


def is_mpi(runtime: Object) -> bool:
    """Whether a runtime is one for MPI."""
    return bool((spec(runtime).get("mlPolicy") or {}).get("mpi") is not None)


def bounds(runtime: Object) -> tuple[int | None, int | None]:
    """The fewest and the most nodes that a runtime allows, None where it has no such bound."""

    def bound(of: str) -> int | None:
        text = annotation(runtime, of)
        return int(text) if text.isascii() and text.isdigit() else None

    return bound("lockstep.dev/min-nodes"), bound("lockstep.dev/max-nodes")


def asked(runtime: Object, trainer: Object) -> World | None:
    """The world of a runtime with what ``spec.trainer`` of a TrainJob asks for, whether or not it is allowed; None without MPI."""
    template = spec(spec(runtime).get("template") or {})
    found = {part["name"]: part for part in parts(template)}
    if not is_mpi(runtime) or not all(r in found and main_container(found[r]) is not None for r in (LAUNCHER, NODE)):
        return None
    policy = spec(runtime)["mlPolicy"]
    slots = trainer.get("numProcPerNode") or policy["mpi"].get("numProcPerNode") or 1
    if trainer.get("numProcPerNode") is None and slots == 1 and IMPLEMENTATION_LABEL not in labels(runtime):
        slots = _slots_by_gpu(trainer, found[NODE])
    runs_ranks = bool(policy["mpi"].get("runLauncherAsNode"))
    nodes = trainer.get("numNodes")
    if nodes is None:
        node = found[NODE]
        trains = labels(node.get("template") or {}).get(ANCESTOR_LABEL) == "trainer"
        nodes = (policy.get("numNodes") or 1) if trains else parallelism(node)
        nodes += 1 if runs_ranks else 0
    if trainer.get("numProcPerNode") == 0:
        slots = 0
    return World(int(nodes), int(slots), runs_ranks)


def world(trainjob: Object, runtime: Object) -> World | None:
    """The world of a job, None where mpi-controller would refuse it."""
    job = spec(trainjob)
    trainer = job.get("trainer") or {}
    w = asked(runtime, trainer)
    if w is None or any(reserved(v) for v in variables(trainjob)):
        return None
    least, most = bounds(runtime)
    fits = (least or 1) <= w.nodes <= min(most or MAX_NODES, MAX_NODES) and 1 <= w.slots_per_node <= MAX_SLOTS
    return w if fits and len(f"{name(trainjob)}-launcher-0-0") <= _LONGEST_HOST else None


def reserved(variable: str) -> bool:
    """Whether a variable carries the wiring of a job. Launchers do not tell small letters from capitals."""
    return variable.casefold() in RESERVED_VARIABLES


def variables(trainjob: Object) -> list[str]:
    """The names of all variables that a TrainJob brings into the main containers."""
    job = spec(trainjob)
    found = [v["name"] for v in (job.get("trainer") or {}).get("env") or []]
    for patch in job.get("runtimePatches") or []:
        template = spec((patch.get("trainingRuntimeSpec") or {}).get("template") or {})
        for part in template.get("replicatedJobs") or []:
            found += [v["name"] for v in (main_container(part) or {}).get("env") or []]
    return found


def accelerators(resources: Object) -> int:
    """How many accelerators a node asks for; 0 without any."""
    most = 0
    for amounts in (resources.get("requests") or {}, resources.get("limits") or {}):
        for resource, amount in amounts.items():
            if "gpu" in resource.lower() and str(amount).isdigit():
                most = max(most, int(amount))
    return most


def _slots_by_gpu(trainer: Object, node: Object) -> int:
    """A runtime of Kubeflow Trainer's has a slot for each accelerator of a node, where nothing else is said."""
    resources = trainer.get("resourcesPerNode") or (main_container(node) or {}).get("resources") or {}
    return min(max(1, accelerators(resources)), MAX_SLOTS)
