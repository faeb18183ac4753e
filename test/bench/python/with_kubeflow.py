from kubeflow.trainer import CustomTrainerContainer, TrainerClient
from kubeflow.trainer.options import TrainerCommand

client = TrainerClient()
runtime = client.get_runtime("openmpi5-cpu")
trainer = CustomTrainerContainer(image=runtime.trainer.image, num_nodes=2)
good = TrainerCommand(["mpirun", "mpi-hello"])
bad = TrainerCommand(["mpirun", "mpi-hello", "--exit-rank", "2", "--exit-code", "7"])
name = client.train(runtime=runtime, trainer=trainer, options=[good])
client.wait_for_job_status(name, timeout=300)
print(*client.get_job_logs(name), sep="\n")
name = client.train(runtime=runtime, trainer=trainer, options=[bad])
try:
    client.wait_for_job_status(name, timeout=300)
except RuntimeError as failed:
    print("TOLD", failed)
