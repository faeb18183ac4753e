#!/usr/bin/env python3
"""mpi-train: a small network that learns on all ranks together, with mpi4py and NumPy.

It tells points inside a ring from those around it. All ranks make the same seeded points; each learns from its own share of them, and the
gradients of all shares are added up. So the weights are those of a single process that has all points, up to rounding: rank 0 learns once more
alone and compares. Every rank prints one line,

    rank=R size=N host=HOST loss=FIRST->LAST accuracy=A weights=DIGEST

with the accuracy on points that nobody learned from, and a digest that is the same on all ranks; rank 0 then prints

    difference=D from one process

Exit code: 0, or 1 if the accuracy is at most 0.98, or the difference more than 1e-6.
"""

import hashlib
import os
import sys

import numpy as np
from mpi4py import MPI

POINTS, HIDDEN, STEPS, RATE, MOMENTUM = 2000, 16, 150, 0.5, 0.9
SHAPES = [(2, HIDDEN), (HIDDEN,), (HIDDEN, 1), (1,)]
SIZES = [int(np.prod(shape)) for shape in SHAPES]


def make_points(seed):
    random = np.random.default_rng(seed)
    x = random.uniform(-1, 1, (POINTS, 2))
    return x, (np.hypot(x[:, :1], x[:, 1:]) < 0.7).astype(float)


def unpack(weights):
    return [part.reshape(shape) for part, shape in zip(np.split(weights, np.cumsum(SIZES)[:-1]), SHAPES)]


def predict(weights, x):
    w1, b1, w2, b2 = unpack(weights)
    hidden = np.tanh(x @ w1 + b1)
    return hidden, 1 / (1 + np.exp(-(hidden @ w2 + b2)))


def gradient(weights, x, y):
    """The sum over points: of the gradient, and behind it of the loss."""
    hidden, p = predict(weights, x)
    error = p - y
    back = (error @ unpack(weights)[2].T) * (1 - hidden**2)
    loss = -np.sum(y * np.log(p) + (1 - y) * np.log(1 - p))
    return np.concatenate([(x.T @ back).ravel(), back.sum(0), (hidden.T @ error).ravel(), error.sum(0), [loss]])


def learn(comm):
    x, y = make_points(seed=1)
    x, y = x[comm.rank :: comm.size], y[comm.rank :: comm.size]
    weights = np.random.default_rng(2).normal(0, 1, sum(SIZES))
    speed, losses, total = np.zeros_like(weights), [], np.empty(sum(SIZES) + 1)
    for _ in range(STEPS):
        comm.Allreduce(gradient(weights, x, y), total)
        total /= POINTS
        losses.append(total[-1])
        speed = MOMENTUM * speed - RATE * total[:-1]
        weights += speed
    return weights, losses


def say(line):
    os.write(1, (line + "\n").encode())  # one write, so that lines of different ranks never mix


def main():
    comm = MPI.COMM_WORLD
    weights, losses = learn(comm)
    x, y = make_points(seed=3)
    accuracy = float(np.mean((predict(weights, x)[1] > 0.5) == y))
    digest = hashlib.sha256(weights.tobytes()).hexdigest()[:12]
    say(f"rank={comm.rank} size={comm.size} host={os.uname().nodename} loss={losses[0]:.3f}->{losses[-1]:.3f} accuracy={accuracy:.4f} weights={digest}")
    difference = 0.0
    if comm.rank == 0:
        difference = float(np.abs(weights - learn(MPI.COMM_SELF)[0]).max())
        say(f"difference={difference:.1e} from one process")
    sys.exit(accuracy <= 0.98 or difference > 1e-6)


main()
