#!/usr/bin/env python3
"""train.py SECONDS [WARM]: a small network that learns on all ranks together, and how long its steps take.

A step is the gradient of a network of one hidden layer on points of the rank's own, and an Allreduce of it, 64 KiB. Strong scaling divides the
points among the ranks, weak scaling gives each rank as many. Every rank keeps to the processor of its number, so that no launcher's placement is
measured. Rank 0 prints

    started=T               when all ranks had come through MPI_Init, in seconds since 1970
    KIND ms=T stack=S       milliseconds of a step, measured between two barriers over SECONDS, and the part of a processor that the processes
                            of the stack beside a rank took meanwhile: agent, sshd, daemons of the launcher; the mean of all ranks

WARM are seconds of steps that do not count, before the first kind. Exit code: 0, or 1 if the network did not learn, or not the same on all ranks.
"""

import os
import sys
import time

rank = int(os.environ.get("PMI_RANK") or os.environ["OMPI_COMM_WORLD_RANK"])
os.sched_setaffinity(0, {rank % os.cpu_count()})  # before MPI_Init, which starts threads
os.environ["OPENBLAS_NUM_THREADS"] = "1"

from mpi4py import MPI  # noqa: E402

comm = MPI.COMM_WORLD
comm.Barrier()
started = time.time()

import numpy as np  # noqa: E402

POINTS, FEATURES, HIDDEN, RATE = 2048, 127, 64, 0.1
STACK = {"mpi-agent", "rsh", "ssh", "sshd", "mpirun", "mpiexec", "mpiexec.hydra", "hydra_pmi_proxy", "prted", "prterun"}


def say(line):
    os.write(1, (line + "\n").encode())


def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:  # it has ended
        return ""


def stack_seconds():
    """Seconds that the stack in this pod has had of the processors."""
    pids = [p for p in os.listdir("/proc") if p.isdigit() and read(f"/proc/{p}/comm").strip() in STACK]
    threads = [f"/proc/{p}/task/{t}/schedstat" for p in pids for t in os.listdir(f"/proc/{p}/task")]
    return sum(int((read(t) or "0").split()[0]) for t in threads) / 1e9


class Network:
    def __init__(self, points):
        random = np.random.default_rng(1)
        x = random.normal(0, 1, (points * comm.size, FEATURES + 1))
        x[:, FEATURES] = 1
        y = np.tanh(x @ random.normal(0, 1, (FEATURES + 1, 1)))
        self.x, self.y = x[comm.rank :: comm.size].copy(), y[comm.rank :: comm.size].copy()
        self.weights, self.out = random.normal(0, 0.1, (FEATURES + 1, HIDDEN)), random.normal(0, 0.1, (HIDDEN, 1))
        # All memory of a step is there before the first one: pages that are new in each make the times uneven.
        self.hidden, self.back, self.error = np.empty((points, HIDDEN)), np.empty((points, HIDDEN)), np.empty((points, 1))
        self.mine, self.gradient, self.losses = np.empty_like(self.weights), np.empty_like(self.weights), []

    def step(self):
        np.matmul(self.x, self.weights, out=self.hidden)
        np.tanh(self.hidden, out=self.hidden)
        np.matmul(self.hidden, self.out, out=self.error)
        self.error -= self.y
        self.losses.append(float(np.vdot(self.error, self.error)) / len(self.error))
        np.matmul(self.error, self.out.T, out=self.back)
        np.multiply(self.hidden, self.hidden, out=self.hidden)
        np.subtract(1, self.hidden, out=self.hidden)
        self.back *= self.hidden
        np.matmul(self.x.T, self.back, out=self.mine)
        comm.Allreduce(self.mine, self.gradient)
        self.gradient *= RATE / len(self.x) / comm.size
        self.weights -= self.gradient

    def run(self, seconds):
        """Steps for about so many seconds, and how long one took."""
        for count in (20, None):  # the first ones tell how many make the seconds
            count = count or max(1, comm.bcast(int(seconds / took)))
            comm.Barrier()
            start = time.perf_counter()
            for _ in range(count):
                self.step()
            comm.Barrier()
            took = (time.perf_counter() - start) / count
        return took, took * count


def main():
    if comm.rank == 0:
        say(f"started={started:.6f}")
    seconds, warm = float(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0
    for kind, points in ("strong", POINTS // comm.size), ("weak", POINTS):
        network = Network(points)
        network.run(max(warm, 0.2))
        warm = 0
        before = stack_seconds()
        took, wall = network.run(seconds)
        stack = comm.allreduce(stack_seconds() - before) / comm.size / wall
        if comm.rank == 0:
            say(f"{kind} ms={1e3 * took:.4f} stack={stack:.6f}")
        digests = comm.allgather(network.weights.tobytes())
        if network.losses[-1] >= 0.9 * network.losses[0] or len(set(digests)) != 1:
            sys.exit(f"rank {comm.rank} did not learn, or not what the others did: loss {network.losses[0]:.3f}, then {network.losses[-1]:.3f}")


main()
