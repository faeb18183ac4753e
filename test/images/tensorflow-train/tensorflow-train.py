#!/usr/bin/env python3
"""tensorflow-train: a small network of TensorFlow that learns on all ranks together, by Horovod.

    tensorflow-train [--fail RANK:CODE|RANK:kill|RANK:memory]

It is torch-train once more: points inside a ring are told from those around it, all ranks make the same seeded points, and each learns from its own
share. Horovod averages the gradients of all shares, so the weights are those of one process that has all points, up to the rounding of 32-bit floats:
rank 0 learns once more alone and compares. Every rank prints

    rank=R size=N host=HOST loss=FIRST->LAST accuracy=A weights=DIGEST

with the accuracy on points that nobody learned from; rank 0 then prints `difference=D from one process`. With --fail a rank ends in the middle: it
exits, is killed, or takes all the memory that it can get.

Exit code: 0, or 1 if the accuracy is at most 0.98, or the difference more than 0.01.
"""

import argparse
import hashlib
import os
import signal
import sys

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

POINTS, HIDDEN, STEPS, RATE, MOMENTUM = 2000, 16, 150, 0.5, 0.9


def make_points(seed):
    x = np.random.default_rng(seed).uniform(-1, 1, (POINTS, 2)).astype(np.float32)
    return x, (np.linalg.norm(x, axis=1, keepdims=True) < 0.7).astype(np.float32)


def make_weights(seed):
    random = np.random.default_rng(seed)
    return [tf.Variable(random.standard_normal(shape).astype(np.float32)) for shape in [(2, HIDDEN), (HIDDEN,), (HIDDEN, 1), (1,)]]


def forward(weights, x):
    w1, b1, w2, b2 = weights
    return tf.tanh(x @ w1 + b1) @ w2 + b2


def learn(weights, x, y, wrap=lambda tape: tape, fail=""):
    """Gradient descent with momentum. wrap makes a tape whose gradients are those of all ranks."""
    velocities = [tf.Variable(tf.zeros_like(w)) for w in weights]
    losses = []
    for step in range(STEPS):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(y, forward(weights, x)))
        for w, v, gradient in zip(weights, velocities, wrap(tape).gradient(loss, weights)):
            v.assign(MOMENTUM * v + gradient)
            w.assign_sub(RATE * v)
        losses.append(float(loss))
        if step == STEPS // 3 and fail:
            end(fail)
    return losses


def end(how):
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    taken = []
    while how == "memory":
        taken.append(b"x" * (16 << 20))
    sys.exit(int(how))


def flat(weights):
    return np.concatenate([w.numpy().ravel() for w in weights])


def say(line):
    os.write(1, (line + "\n").encode())  # one write, so that lines of different ranks never mix


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fail", default=":", metavar="RANK:CODE|RANK:kill|RANK:memory")
    failing, how = parser.parse_args().fail.split(":")
    hvd.init()
    rank, size = hvd.rank(), hvd.size()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    x, y = make_points(seed=1)
    weights = make_weights(seed=2)
    hvd.broadcast_variables(weights, root_rank=0)
    losses = learn(weights, x[rank::size], y[rank::size], hvd.DistributedGradientTape, how if failing == str(rank) else "")
    new_x, new_y = make_points(seed=3)
    accuracy = float(((forward(weights, new_x).numpy() > 0) == (new_y > 0.5)).mean())
    digest = hashlib.sha256(flat(weights).tobytes()).hexdigest()[:12]
    say(f"rank={rank} size={size} host={os.uname().nodename} loss={losses[0]:.3f}->{losses[-1]:.3f} accuracy={accuracy:.4f} weights={digest}")
    difference = 0.0
    if rank == 0:
        alone = make_weights(seed=2)
        learn(alone, x, y)
        difference = float(np.abs(flat(weights) - flat(alone)).max())
        say(f"difference={difference:.1e} from one process")
    hvd.shutdown()
    sys.exit(accuracy <= 0.98 or difference > 0.01)


main()
