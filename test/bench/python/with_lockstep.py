from lockstep import JobFailed, MPIClient, MPITrainer

client = MPIClient()
good = MPITrainer(nodes=2, slots=2, command=["mpirun", "mpi-hello"])
bad = MPITrainer(nodes=2, slots=2, command=["mpirun", "mpi-hello", "--exit-rank", "2", "--exit-code", "7"])
name = client.train(runtime="openmpi5-cpu", trainer=good)
client.wait(name, timeout=300)
print(*client.logs(name), sep="\n")
name = client.train(runtime="openmpi5-cpu", trainer=bad)
try:
    client.wait(name, timeout=300)
except JobFailed as failed:
    print("TOLD", failed)
