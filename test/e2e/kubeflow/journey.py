"""What a user of Kubeflow's SDK does and sees: unmodified, as the person of KUBECONFIG.

    journey.py NAMESPACE RUNTIME...

Prints one JSON object: what was seen of each runtime. It judges nothing; kubeflow_test.go does.
"""

import concurrent.futures
import json
import logging
import sys
import time

from kubeflow.trainer import CustomTrainer, CustomTrainerContainer, KubernetesBackendConfig, TrainerClient
from kubeflow.trainer.options import TrainerCommand

POLL, PATIENCE = 1, 120


def say_rank():
    import os

    print("function rank", os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK")), flush=True)


def statuses(client, name, until):
    """The statuses of a job, each once in a row, with the second at which it was first seen."""
    seen, end = [], time.time() + PATIENCE
    while time.time() < end:
        status = client.get_job(name).status
        if not seen or seen[-1][0] != status:
            seen.append((status, time.time()))
        if status in until:
            return seen
        time.sleep(0.3)
    return seen


def contained(client, runtime):
    """A command in a container, watched from its beginning to its end."""
    # A rank says when it began: that clock and ours are the same machine's. It must still run when we look, also on a slow machine.
    command = ["mpirun", "bash", "-c", "date +began=%s.%N; exec mpi-hello --sleep 12"]
    name = client.train(
        runtime=runtime,
        trainer=CustomTrainerContainer(image=runtime.trainer.image, num_nodes=2),
        options=[TrainerCommand(command)],
    )
    seen = statuses(client, name, {"Running", "Complete", "Failed"})
    client.wait_for_job_status(name, status={"Running"}, timeout=PATIENCE, polling_interval=POLL)
    running = time.time()
    steps = [[s.name, s.status, s.device] for s in client.get_job(name).steps]
    log = list(client.get_job_logs(name, follow=True))
    job = client.wait_for_job_status(name, timeout=PATIENCE, polling_interval=POLL)
    began = [float(line.split("=")[1]) for line in log if line.startswith("began=")]
    result = {
        "statuses": [s for s, _ in seen + statuses(client, name, {"Complete", "Failed"})],
        "runningAfter": running - max(began, default=0),
        "nodes": job.num_nodes,
        "steps": sorted(steps),
        "log": log,
        "events": sorted({e.reason for e in client.get_job_events(name) if e.involved_object_kind == "TrainJob"}),
        "listed": name in [j.name for j in client.list_jobs()],
    }
    client.delete_job(name)
    return result


def function(client, runtime):
    """A function of this file, as every rank. Its job names no number of nodes."""
    name = client.train(runtime=runtime, trainer=CustomTrainer(func=say_rank))
    job = client.wait_for_job_status(name, status={"Complete", "Failed"}, timeout=PATIENCE, polling_interval=POLL)
    result = {"status": job.status, "log": list(client.get_job_logs(name))}
    client.delete_job(name)
    return result


def failing(client, runtime):
    """A job that fails raises an error in whoever waits for it."""
    name = client.train(
        runtime=runtime,
        trainer=CustomTrainerContainer(image=runtime.trainer.image, num_nodes=2),
        options=[TrainerCommand(["bash", "-c", "exit 3"])],
    )
    try:
        client.wait_for_job_status(name, timeout=PATIENCE, polling_interval=POLL)
        error = ""
    except RuntimeError as e:
        error = str(e)
    result = {"error": error, "events": sorted({e.reason for e in client.get_job_events(name) if e.involved_object_kind == "TrainJob"})}
    client.delete_job(name)
    return result


def main(namespace, names):
    # Whether Trainer says which version it has is no matter here.
    logging.getLogger("kubeflow").setLevel(logging.ERROR)
    client = TrainerClient(backend_config=KubernetesBackendConfig(namespace=namespace))
    listed = {r.name: [r.trainer.num_nodes, r.trainer.device, r.trainer.device_count] for r in client.list_runtimes()}
    runtimes = [client.get_runtime(name) for name in names]
    result = {"runtimes": listed, "jobs": {name: {} for name in names}}
    # Eight pods at a time fit two small machines, and the ranks of three jobs that spin on two processors can keep an agent from answering for so long
    # that its node counts as lost.
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        for kind in (contained, function, failing):
            for runtime, seen in zip(runtimes, pool.map(lambda r: kind(client, r), runtimes)):
                result["jobs"][runtime.name][kind.__name__] = seen
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
