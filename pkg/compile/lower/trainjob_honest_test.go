package lower_test

import (
	"testing"

	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/test/attacker"
)

// honest are TrainJobs as people write them, by what they want.
var honest = map[string]string{
	"Defaults":        "spec: {runtimeRef: {name: gpu}}",
	"Command":         "spec: {runtimeRef: {name: gpu}, trainer: {image: \"example.org/train:1\", command: [mpirun, python, train.py], args: [--epochs, \"3\"]}}",
	"Size":            "spec: {runtimeRef: {name: gpu}, suspend: true, activeDeadlineSeconds: 86400, trainer: {numNodes: 4, numProcPerNode: 8}}",
	"Variant":         "spec: {runtimeRef: {name: gpu-wide, kind: TrainingRuntime, apiGroup: trainer.kubeflow.org}}",
	"ManagedBy":       "spec: {runtimeRef: {name: gpu}, managedBy: trainer.kubeflow.org/trainjob-controller}",
	"HalfAMachine":    "spec: {runtimeRef: {name: gpu}, trainer: {resourcesPerNode: {requests: {cpu: 32, memory: 256Gi}, limits: {memory: 256Gi, nvidia.com/gpu: 4}}}}",
	"Priority":        "metadata: {name: x, labels: {kueue.x-k8s.io/queue-name: lockstep, kueue.x-k8s.io/priority-class: high, kueue.x-k8s.io/max-exec-time-seconds: \"3600\", team: a}}\nspec: {runtimeRef: {name: gpu}}",
	"OwnAnnotations":  "metadata: {name: x, labels: {kueue.x-k8s.io/queue-name: lockstep}, annotations: {example.com/ticket: A-1, kubectl.kubernetes.io/last-applied-configuration: \"{}\"}}\nspec: {runtimeRef: {name: gpu}}",
	"Environment":     "spec: {runtimeRef: {name: gpu}, trainer: {env: [{name: NCCL_DEBUG, value: INFO}, {name: CUDA_VISIBLE_DEVICES, value: \"0,1\"}, {name: NVIDIA_DRIVER_CAPABILITIES, value: \"compute,utility\"}, {name: OMP_NUM_THREADS, value: \"8\"}]}}",
	"Token":           "spec: {runtimeRef: {name: gpu}, trainer: {env: [{name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hub, key: token}}}, {name: SET, valueFrom: {configMapKeyRef: {name: run, key: set}}}, {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {name: CPUS, valueFrom: {resourceFieldRef: {resource: requests.cpu}}}]}}",
	"PatchedVariable": withPod("{spec: {containers: [{name: node, env: [{name: WANDB_MODE, value: offline}]}]}}"),
	"Data":            withPod("{spec: {volumes: [{name: data, persistentVolumeClaim: {claimName: datasets, readOnly: true}}], containers: [{name: node, volumeMounts: [{name: data, mountPath: /data, readOnly: true, subPath: imagenet}]}]}}"),
	"Scratch":         withPod("{spec: {volumes: [{name: scratch, emptyDir: {sizeLimit: 50Gi}}], containers: [{name: node, volumeMounts: [{name: scratch, mountPath: /scratch/}]}]}}"),
	"SharedMemory":    withPod("{spec: {volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 16Gi}}], containers: [{name: node, volumeMounts: [{name: shm, mountPath: /dev/shm}]}]}}"),
	"Configuration":   withPod("{spec: {volumes: [{name: run, configMap: {name: run}}, {name: hub, secret: {secretName: hub}}, {name: all, projected: {sources: [{configMap: {name: run}}, {secret: {name: hub}}, {downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}]}}, {name: self, downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}], containers: [{name: node, volumeMounts: [{name: run, mountPath: /etc/run}, {name: hub, mountPath: /var/secrets/hub}, {name: all, mountPath: /opt/run}, {name: self, mountPath: /tmp/self}]}]}}"),
	"Certificates":    withPod("{spec: {volumes: [{name: ca, configMap: {name: ca}}], containers: [{name: node, volumeMounts: [{name: ca, mountPath: /etc/ssl/certs/own.pem, subPath: own.pem}]}]}}"),
	"Model":           withPod("{spec: {volumes: [{name: model, image: {reference: \"example.org/model:1\"}}], containers: [{name: node, volumeMounts: [{name: model, mountPath: /models/base}]}]}}"),
	"Labels":          withPatch("{metadata: {labels: {team: a}, annotations: {note: b}}, spec: {replicatedJobs: [{name: node, template: {metadata: {labels: {app: train}}, spec: {template: {metadata: {labels: {app.kubernetes.io/part-of: vision, run_1: x}, annotations: {prometheus.io/scrape: \"true\", cluster-autoscaler.kubernetes.io/safe-to-evict: \"false\"}}}}}}]}}"),
	"Topology":        withPod("{metadata: {annotations: {kueue.x-k8s.io/podset-preferred-topology: rack}}}"),
	"Rack":            withPod("{spec: {nodeSelector: {rack: a, topology.kubernetes.io/zone: b}}}"),
	"OwnProfile":      withPod("{spec: {nodeSelector: {pool: gpu}, tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]}}"),
	"NotThatMachine":  withPod("{spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: NotIn, values: [gpu-7]}]}]}}}}}"),
	"Together":        withPod("{spec: {affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: rack, labelSelector: {matchLabels: {app: train}}}}]}}}}"),
	"Apart":           withAntiAffinity("requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {jobset.sigs.k8s.io/jobset-name: demo, jobset.sigs.k8s.io/replicatedjob-name: node}}}]"),
	"PreferApart":     withAntiAffinity("preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {}}}]"),
	"Identity":        withPod("{spec: {securityContext: {runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000, supplementalGroups: [2000], runAsNonRoot: true, fsGroupChangePolicy: OnRootMismatch}, containers: [{name: node, securityContext: {runAsUser: 1000, readOnlyRootFilesystem: true}}]}}"),
	"PullSecret":      withPod("{spec: {imagePullSecrets: [{name: registry}]}}"),
	"Gate":            withPod("{spec: {schedulingGates: [{name: example.com/wait}]}}"),
	"Checkpoint":      withPod("{spec: {terminationGracePeriodSeconds: 120}}"),
	"Launcher":        withPatch("{spec: {replicatedJobs: [{name: launcher, template: {spec: {template: {spec: {nodeSelector: {rack: a}}}}}}]}}"),
	"TwoManagers":     "spec: {runtimeRef: {name: gpu}, runtimePatches: [{manager: a.example.com/a, time: \"2026-11-23T00:00:00Z\", trainingRuntimeSpec: {template: {metadata: {labels: {team: a}}}}}, {manager: kueue.x-k8s.io/manager, trainingRuntimeSpec: {template: {spec: {}}}}]}",
}

// TestHonestTrainJobs: what people write is admitted.
func TestHonestTrainJobs(t *testing.T) {
	c := attacker.PlanOf(t, attacker.Specs)
	s := attacker.NewServer(t, lower.PlatformObjects(c))
	vision := attacker.NamespaceOf(t, c, "vision")
	for name, text := range honest {
		if got := s.Ask(t, "lockstep-trainjob", attacker.CreateTrainJob(vision, job(t, text))); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if len(honest) < 20 {
		t.Errorf("only %d TrainJobs", len(honest))
	}
}
