"""Jobs that fail, or cannot start, for thirty different reasons, told by `diagnose`.

    faults.py RUNTIME...

Prints one JSON object: what was told of each job, by its name, and the TrainJob as it was then. It judges nothing; python_test.go does.
"""

import concurrent.futures
import json
import sys

from lockstep import LockstepError, MPIClient, MPITrainer

HELLO = ["mpirun", "mpi-hello"]
#: What ends a job.
FAILING = {
    "exits": [*HELLO, "--exit-rank", "2", "--exit-code", "7"],
    "crashes": [*HELLO, "--segv-rank", "1"],
    "raises": ["mpirun", "python3", "-c", "raise ValueError('bad label')"],
    "imports": ["mpirun", "python3", "-c", "import no_such_module"],
    "no-program": ["mpirun", "no-such-program"],
    "no-launcher": ["no-such-launcher", "mpi-hello"],
    "script": ["bash", "-c", "mpirun mpi-hello; exit 3"],
    "script-killed": ["bash", "-c", "mpirun mpi-hello; kill -9 $BASHPID"],
    "alone": ["true"],
    "aborts": ["mpirun", "python3", "-c", "from mpi4py import MPI; MPI.COMM_WORLD.rank == 1 and MPI.COMM_WORLD.Abort(5); MPI.COMM_WORLD.Barrier()"],
}
#: What keeps a job from starting.
WAITING = {
    "no-image": {"image": "lockstep.test/no/such:1"},
    "no-claim": {"volumes": {"/data": "no-such-claim"}},
}


def fails(client, name, runtime, command):
    client.train(runtime=runtime, trainer=MPITrainer(nodes=2, slots=2, command=command), name=name)
    client.wait(name, until=["Failed", "Refused", "Complete"], timeout=400)


def waits(client, name, runtime, fault):
    client.train(runtime=runtime, trainer=MPITrainer(nodes=2, slots=2, command=HELLO, **fault), name=name)
    next((job for job in client.watch(name, timeout=100) if job.cause), None)


def main(runtimes):
    client = MPIClient()
    todo = {f"fault-{fault}-{r.split('-')[0]}": (fails, r, command) for r in runtimes for fault, command in FAILING.items()}
    todo |= {f"fault-{fault}": (waits, runtimes[0], more) for fault, more in WAITING.items()}
    where = ("trainer.kubeflow.org", "v1alpha1", client.namespace, "trainjobs")

    def told(name):
        how, runtime, what = todo[name]
        try:
            how(client, name, runtime, what)
            cause = client.diagnose(name)
            job = client.backend.custom_api.get_namespaced_custom_object(*where, name)  # by the plain client
            client.delete(name)  # a tenant has room for so many only
        except (LockstepError, ValueError) as e:
            return {"error": str(e)}
        return {"reason": cause and cause.reason, "text": cause and cause.text, "trainJob": job}

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        json.dump(dict(zip(todo, pool.map(told, todo))), sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
