"""A function that reports its progress, and what a client sees of it.

    progress.py RUNTIME

Prints one JSON object. It judges nothing; progress_test.go does.
"""

import json
import sys

from lockstep import MPIClient, MPITrainer


def train(steps):
    import time

    from lockstep import progress

    for step in range(1, steps + 1):
        told = progress(100 * step / steps, remaining=steps - step, metrics={"loss": 1 / step})
        print("step", step, "told", told)
        time.sleep(1)


def main(runtime):
    client = MPIClient()
    name = client.train(runtime=runtime, trainer=MPITrainer(nodes=2, slots=2, func=train, func_args={"steps": 12}))
    seen = [{"progress": job.progress, "metrics": job.metrics} for job in client.watch(name, timeout=200)]
    last = client.get_job(name)
    log = list(client.logs(name))
    client.delete(name)
    json.dump({"phase": last.phase, "seen": seen, "progress": last.progress, "metrics": last.metrics, "log": log}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
