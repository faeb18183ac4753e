"""Follows a job while the API server, a kubelet, and the API server once more are started again; or killed, and at the end a token expires.

    survive.py RUNTIME CLUSTER [CONFIG EXPIRE]

CLUSTER is the program of the local cluster. With CONFIG they are killed: it has a token, which the command EXPIRE ends; another one is then in CONFIG. Prints one JSON
object: the numbers that were read, by reader, how many there were when each ran again, and what readers raised.
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


def following(lines, into, errors):
    try:
        numbers(lines, into)
    except Exception as e:
        errors.append(repr(e))


def restart(cluster, component, machine):
    subprocess.run([cluster, "restart", component, "--node", machine.removeprefix("node")], check=True, stdout=sys.stderr)


def kill(cluster, component, machine):
    """Sends SIGKILL to a component, which its supervisor starts again."""
    status = json.loads(subprocess.run([cluster, "status", "-o", "json"], stdout=subprocess.PIPE, check=False).stdout)
    node = next(n for n in status["nodes"] if n["name"] == machine)
    process = next(c["pid"] for c in node["components"] if c["name"] == component)
    subprocess.run(["nsenter", "--target", str(node["pid"]), "--pid", "sh", "-c", f"kill -9 {process}"], check=True)


def main(runtime, cluster, config=None, expire="true"):
    client = MPIClient(config_file=config)
    end = kill if config else restart
    name = client.train(runtime=runtime, trainer=MPITrainer(nodes=2, slots=2, command=["bash", "-c", COUNT]))
    read = {"logs": [], "merged": []}
    errors = []
    job = {}
    readers = [
        threading.Thread(target=following, args=(client.logs(name, follow=True), read["logs"], errors)),
        threading.Thread(target=following, args=(client.logs(name, follow=True, merge=True), read["merged"], errors)),
        threading.Thread(target=lambda: job.update(phase=client.wait(name, timeout=600).phase)),
    ]
    for reader in readers:
        reader.start()
    machine = client.wait(name, until="Running", timeout=200).pods[0].machine
    again = []
    for after, component, where in ((100, "kube-apiserver", "node0"), (300, "kubelet", machine), (500, "kube-apiserver", "node0")):
        while len(read["logs"]) < after and readers[0].is_alive():
            readers[0].join(0.1)
        if after == 500:
            subprocess.run(expire, shell=True, check=True, stdout=sys.stderr)
        end(cluster, component, where)
        again.append(len(read["logs"]))
    for reader in readers:
        reader.join(300)
    client.delete(name)
    json.dump({**read, **job, "expected": LINES, "again": again, "errors": errors}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
