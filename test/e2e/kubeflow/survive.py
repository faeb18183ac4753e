"""Follows a job while a kubelet and the API server are killed.

    survive.py RUNTIME CLUSTER

CLUSTER is the program of the local cluster. Prints one JSON object: the numbers that were read, by reader, and how many there were when each ran again.
"""

import json
import subprocess
import sys
import threading

from lockstep import MPIClient, MPITrainer

LINES = 1400
COUNT = f"mpirun mpi-hello && for i in $(seq 0 {LINES - 1}); do echo count $i; sleep 0.1; done"


def numbers(lines, into):
    for line in lines:
        word, _, number = line.removeprefix("launcher| ").partition(" ")
        if word == "count":
            into.append(int(number))


def main(runtime, cluster):
    client = MPIClient()
    name = client.train(runtime=runtime, trainer=MPITrainer(nodes=2, slots=2, command=["bash", "-c", COUNT]))
    read = {"logs": [], "merged": []}
    job = {}
    readers = [
        threading.Thread(target=numbers, args=(client.logs(name, follow=True), read["logs"])),
        threading.Thread(target=numbers, args=(client.logs(name, follow=True, merge=True), read["merged"])),
        threading.Thread(target=lambda: job.update(phase=client.wait(name, timeout=600).phase)),
    ]
    for reader in readers:
        reader.start()
    machine = client.wait(name, until="Running", timeout=200).pods[0].machine
    again = []
    for after, what in ((100, "kube-apiserver"), (300, "kubelet"), (500, "kube-apiserver")):
        while len(read["logs"]) < after and readers[0].is_alive():
            readers[0].join(0.2)
        if what == "kubelet":
            subprocess.run([cluster, "restart", "kubelet", "--node", machine.removeprefix("node")], check=True, stdout=sys.stderr)
        else:
            subprocess.run([cluster, "restart", what], check=True, stdout=sys.stderr)
        again.append(len(read["logs"]))
    for reader in readers:
        reader.join(300)
    client.delete(name)
    json.dump({**read, **job, "expected": LINES, "again": again}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
