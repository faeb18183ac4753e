"""Follows a job while a kubelet and the API server are killed, and the token is no longer any.

    survive.py RUNTIME CLUSTER CONFIG EXPIRE

CLUSTER is the program of the local cluster. CONFIG has a token, which the command EXPIRE ends; another one is then in CONFIG. Prints one JSON object: the numbers
that were read, by reader, and how many there were when each was killed.
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


def kill(cluster, component, machine):
    """Sends SIGKILL to a component, which its supervisor starts again."""
    status = json.loads(subprocess.run([cluster, "status", "-o", "json"], stdout=subprocess.PIPE, check=False).stdout)
    node = next(n for n in status["nodes"] if n["name"] == machine)
    process = next(c["pid"] for c in node["components"] if c["name"] == component)
    subprocess.run(["nsenter", "--target", str(node["pid"]), "--pid", "sh", "-c", f"kill -9 {process}"], check=True)


def main(runtime, cluster, config, expire):
    client = MPIClient(config_file=config)
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
    for after, component, where in ((100, "kube-apiserver", "node0"), (400, "kubelet", machine), (700, "kube-apiserver", "node0")):
        while len(read["logs"]) < after and readers[0].is_alive():
            readers[0].join(0.1)
        again.append(len(read["logs"]))
        if after == 700:
            subprocess.run(expire, shell=True, check=True, stdout=sys.stderr)
        kill(cluster, component, where)
    for reader in readers:
        reader.join(300)
    client.delete(name)
    json.dump({**read, **job, "expected": LINES, "again": again}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
