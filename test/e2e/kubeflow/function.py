"""Functions as ranks, from Python: one that ends well, and one of which a rank raises.

    function.py RUNTIME...

Prints one JSON object: what was seen of each runtime. It judges nothing; python_test.go does.
"""

import json
import sys

from lockstep import JobFailed, MPIClient, MPITrainer


def train(size, broken=None):
    import os

    rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK", "-1")))
    print("rank", rank, "of", size, "pays $(HOME) and $$", flush=True)
    if rank == broken:
        raise ValueError("bad label")


def journey(client, runtime):
    name = client.train(runtime=runtime, trainer=MPITrainer(nodes=2, slots=2, func=train, func_args={"size": 4}), strict=True)
    seen = {"phase": client.wait(name, timeout=120).phase, "log": list(client.logs(name))}
    client.delete(name)
    name = client.train(runtime=runtime, trainer=MPITrainer(nodes=2, slots=2, func=train, func_args={"size": 4, "broken": 2}))
    try:
        client.wait(name, timeout=120)
    except JobFailed as failed:
        rank = failed.__cause__
        seen |= {"reason": failed.cause.reason, "rank": rank and rank.rank, "raised": rank and rank.kind, "traceback": rank and rank.traceback}
    client.delete(name)
    return seen


if __name__ == "__main__":
    client = MPIClient()
    json.dump({runtime: journey(client, runtime) for runtime in sys.argv[1:]}, sys.stdout)
