#!/usr/bin/env python3
"""torch-train: a small network of PyTorch that learns on all ranks together, by the framework that is named.

    torch-train --with torch|horovod|deepspeed|accelerate [--backend gloo|mpi] [--fail RANK:CODE|RANK:kill|RANK:memory] [--checkpoint PATH] [--pause SECONDS]

It is mpi-train once more: points inside a ring are told from those around it, all ranks make the same seeded points, and each learns from its own
share. The gradients of all shares are averaged by the framework, so the weights are those of one process that has all points, up to the rounding of
32-bit floats: rank 0 learns once more alone and compares. Every rank prints

    rank=R size=N host=HOST loss=FIRST->LAST accuracy=A weights=DIGEST

with the accuracy on points that nobody learned from; rank 0 then prints `difference=D from one process`. With --fail a rank ends in the middle: it
exits, is killed, or takes all the memory that it can get. With --checkpoint each step is saved, by rank 0 into a file, or by DeepSpeed's own means
into a folder of that name; a run that finds it goes on where it ends, and rank 0 prints `step=S loss=L` of its first and its last step. --pause is
how long a step rests.

Exit code: 0, or 1 if the accuracy is at most 0.98, or the difference more than 0.01.
"""

import argparse
import hashlib
import os
import signal
import sys
import time

import torch

POINTS, HIDDEN, STEPS, RATE, MOMENTUM = 2000, 16, 150, 0.5, 0.9


def make_points(seed):
    random = torch.Generator().manual_seed(seed)
    x = torch.rand(POINTS, 2, generator=random) * 2 - 1
    return x, (x.norm(dim=1, keepdim=True) < 0.7).float()


def make_network():
    torch.manual_seed(2)
    network = torch.nn.Sequential(torch.nn.Linear(2, HIDDEN), torch.nn.Tanh(), torch.nn.Linear(HIDDEN, 1))
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter)
    return network


def make_optimizer(network):
    return torch.optim.SGD(network.parameters(), lr=RATE, momentum=MOMENTUM)


class Alone:
    """One process: what the frameworks below are compared with. Each has the rank, the size, and a step of learning."""

    rank, size = 0, 1

    def __init__(self):
        self.network = make_network()
        self.optimizer = make_optimizer(self.network)

    def forward(self, x):
        return self.network(x)

    def step(self, loss):
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def weights(self):
        return torch.cat([p.detach().flatten() for p in self.network.parameters()])

    def save(self, path, losses):
        """Rank 0 writes what was learned, into a file that is whole at any time."""
        if self.rank != 0:
            return
        state = {"network": self.network.state_dict(), "optimizer": self.optimizer.state_dict(), "losses": losses}
        torch.save(state, path + ".new")
        os.replace(path + ".new", path)

    def load(self, path):
        """The losses of the steps that were saved, which are none if there is no file."""
        if not os.path.exists(path):
            return []
        state = torch.load(path)
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        return state["losses"]

    def end(self):
        pass


class Torch(Alone):
    """torch.distributed under torchrun, which says all in the environment, or under mpirun, of which it knows the ranks."""

    def __init__(self, backend):
        import torch.distributed as dist

        if backend != "mpi" and "RANK" not in os.environ:
            os.environ["RANK"] = os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["PMI_RANK"]
            os.environ["WORLD_SIZE"] = os.environ.get("OMPI_COMM_WORLD_SIZE") or os.environ["PMI_SIZE"]
            os.environ.setdefault("MASTER_PORT", "29500")
        dist.init_process_group(backend)
        self.rank, self.size, self.end = dist.get_rank(), dist.get_world_size(), dist.destroy_process_group
        self.network = make_network()
        self.parallel = torch.nn.parallel.DistributedDataParallel(self.network)
        self.optimizer = make_optimizer(self.network)

    def forward(self, x):
        return self.parallel(x)


class Horovod(Alone):
    def __init__(self):
        import horovod.torch as hvd

        hvd.init()
        self.rank, self.size, self.end = hvd.rank(), hvd.size(), hvd.shutdown
        super().__init__()
        hvd.broadcast_parameters(self.network.state_dict(), root_rank=0)
        self.optimizer = hvd.DistributedOptimizer(self.optimizer, named_parameters=self.network.named_parameters())


class DeepSpeed(Alone):
    """ZeRO stage 1: each rank has a part of the optimiser's state."""

    def __init__(self, backend):
        import deepspeed

        deepspeed.init_distributed(dist_backend=backend, verbose=False)
        super().__init__()
        config = {
            "train_micro_batch_size_per_gpu": POINTS // deepspeed.comm.get_world_size(),
            "zero_optimization": {"stage": 1},
            "zero_allow_untested_optimizer": True,
        }
        self.engine = deepspeed.initialize(model=self.network, optimizer=self.optimizer, config=config)[0]
        self.rank, self.size, self.end = deepspeed.comm.get_rank(), deepspeed.comm.get_world_size(), deepspeed.comm.destroy_process_group

    def forward(self, x):
        return self.engine(x)

    def step(self, loss):
        self.engine.backward(loss)
        self.engine.step()

    def save(self, path, losses):
        self.engine.save_checkpoint(path, client_state={"losses": losses})

    def load(self, path):
        found, state = self.engine.load_checkpoint(path)
        return state["losses"] if found else []


class Accelerate(Alone):
    """Accelerate on CPUs takes the ranks from any launcher, and the backend MPI wherever PyTorch has it, unless it is told another."""

    def __init__(self, backend):
        import accelerate

        self.accelerator = accelerate.Accelerator(cpu=True, kwargs_handlers=[accelerate.InitProcessGroupKwargs(backend=backend)])
        self.rank, self.size, self.end = self.accelerator.process_index, self.accelerator.num_processes, self.accelerator.end_training
        self.network = make_network()
        self.parallel, self.optimizer = self.accelerator.prepare(self.network, make_optimizer(self.network))

    def forward(self, x):
        return self.parallel(x)

    def step(self, loss):
        self.optimizer.zero_grad()
        self.accelerator.backward(loss)
        self.optimizer.step()


def learn(framework, fail="", checkpoint=None, pause=0.0):
    x, y = make_points(seed=1)
    x, y = x[framework.rank :: framework.size], y[framework.rank :: framework.size]
    losses = framework.load(checkpoint) if checkpoint else []
    for step in range(first := len(losses), STEPS):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(framework.forward(x), y)
        framework.step(loss)
        losses.append(loss.item())
        if checkpoint:
            framework.save(checkpoint, losses)
        if checkpoint and framework.rank == 0 and step in (first, STEPS - 1):
            say(f"step={step} loss={losses[-1]:.6f}")
        if step == STEPS // 3 and fail.startswith(f"{framework.rank}:"):
            end(fail.split(":")[1])
        time.sleep(pause)
    return losses


def end(how):
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    taken = []
    while how == "memory":
        taken.append(b"x" * (16 << 20))
    sys.exit(int(how))


def say(line):
    os.write(1, (line + "\n").encode())  # one write, so that lines of different ranks never mix


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--with", dest="framework", choices=["torch", "horovod", "deepspeed", "accelerate"], required=True)
    parser.add_argument("--backend", default="gloo", choices=["gloo", "mpi"])
    parser.add_argument("--fail", default="", metavar="RANK:CODE|RANK:kill|RANK:memory")
    parser.add_argument("--checkpoint", metavar="PATH")
    parser.add_argument("--pause", default=0.0, type=float, metavar="SECONDS")
    parser.add_argument("--local_rank", help="given by DeepSpeed's launcher, and in the environment")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    framework = {
        "torch": lambda: Torch(arguments.backend),
        "horovod": Horovod,
        "deepspeed": lambda: DeepSpeed(arguments.backend),
        "accelerate": lambda: Accelerate(arguments.backend),
    }[arguments.framework]()
    losses = learn(framework, arguments.fail, arguments.checkpoint, arguments.pause)
    weights = framework.weights()
    x, y = make_points(seed=3)
    with torch.no_grad():
        accuracy = ((framework.network(x) > 0) == (y > 0.5)).float().mean().item()
    digest = hashlib.sha256(weights.numpy().tobytes()).hexdigest()[:12]
    say(f"rank={framework.rank} size={framework.size} host={os.uname().nodename} loss={losses[0]:.3f}->{losses[-1]:.3f} accuracy={accuracy:.4f} weights={digest}")
    difference = 0.0
    if framework.rank == 0:
        alone = Alone()
        learn(alone)
        difference = (weights - alone.weights()).abs().max().item()
        say(f"difference={difference:.1e} from one process")
    framework.end()
    sys.exit(accuracy <= 0.98 or difference > 0.01)


main()
