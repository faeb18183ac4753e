import secrets
import time

from kubernetes import client, config

config.load_kube_config()
namespace = config.list_kube_config_contexts()[1]["context"]["namespace"]
jobs, core = client.CustomObjectsApi(), client.CoreV1Api()
where = ("trainer.kubeflow.org", "v1alpha1", namespace, "trainjobs")


def train(command):
    name = "j" + secrets.token_hex(5)
    trainer = {"numNodes": 2, "numProcPerNode": 2, "command": command}
    spec = {"runtimeRef": {"name": "openmpi5-cpu"}, "trainer": trainer}
    meta = {"name": name}
    jobs.create_namespaced_custom_object(*where, {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": meta, "spec": spec})
    return name


def wait(name):
    end = time.monotonic() + 300
    while time.monotonic() < end:
        for c in jobs.get_namespaced_custom_object(*where, name).get("status", {}).get("conditions", []):
            if c["type"] in ("Complete", "Failed") and c["status"] == "True":
                return c
        time.sleep(2)
    raise TimeoutError(name)


def logs(name):
    selector = f"jobset.sigs.k8s.io/jobset-name={name},jobset.sigs.k8s.io/replicatedjob-name=launcher"
    (pod,) = core.list_namespaced_pod(namespace, label_selector=selector).items
    return core.read_namespaced_pod_log(pod.metadata.name, namespace, container="node")


name = train(["mpirun", "mpi-hello"])
wait(name)
print(logs(name))
name = train(["mpirun", "mpi-hello", "--exit-rank", "2", "--exit-code", "7"])
failed = wait(name)
if failed["type"] == "Failed":
    print("TOLD", failed["reason"], failed["message"])
