package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"time"

	"golang.org/x/crypto/ssh"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/test/platform"
)

// Networks that do not carry what a job needs.
func networkFaults() []Fault {
	return append(append(everywhere(withoutDNS), refusedAtFirst.in(openMPI4, openMPI5)...), []Fault{
		{
			Name: "NetworkPolicy blocks 2222", How: "machines drop packets to port 2222 but those of the controller; the launcher gives up after 20 s instead of 60",
			Want: []mpi.Reason{diagnose.ConnectionTimedOut, diagnose.ConnectionRefused}, Says: []string{"2222", "NetworkPolic"},
			Shape: inSandbox("fault-impatient"), Before: impatient(agentsUnreachable(drop)),
		},
		{
			Name: "port 2222 refused", How: "machines answer connections to port 2222 with a reset but those of the controller; the launcher gives up after 20 s instead of 60",
			Want: []mpi.Reason{diagnose.ConnectionRefused}, Says: []string{"2222"},
			Shape: inSandbox("fault-impatient"), Before: impatient(agentsUnreachable(reject)),
		},
		{
			Name: "controller cut off", How: "machines drop packets of the controller to port 2222: the launcher must start without it",
			Shape: command("mpirun", "-n", "4", "mpi-hello"), Before: dropController,
		},
		{
			Name: "NetworkPolicy blocks MPI ports", How: "machines drop new TCP connections between pods but to ports 53 and 2222; the job waits",
			Want: []mpi.Reason{diagnose.MPIPortsBlocked}, Says: []string{"NetworkPolic"}, Waits: true, Limit: warned,
			Before: drop("-p", "tcp", "-s", podNetwork, "-d", podNetwork, "--syn", "-m", "multiport", "!", "--dports", "53,2222"),
		},
		{
			Name: "NetworkPolicy blocks ports of running ranks", How: "machines drop TCP packets between pods but to and from ports 53 and 2222, " +
				"and a rank that has run for 5 s connects to another pod",
			Ranks: true, Want: []mpi.Reason{diagnose.MPIPortsBlocked}, Says: []string{"NetworkPolic"}, Waits: true, Limit: warned, After: 3 * time.Second,
			Shape: command("mpirun", "-n", "4", "bash", "-c", `echo "fault: rank `+rankOfShell+`"; sleep 5; `+
				`[ "`+rankOfShell+`" != 3 ] || exec 3<>/dev/tcp/$(grep -o '"address":"[^"]*' `+mpi.HostTablePath+` | head -n 1 | cut -d '"' -f 4)/4000; sleep 120`),
			During: drop("-p", "tcp", "-s", podNetwork, "-d", podNetwork, "-m", "multiport", "!", "--ports", "53,2222"),
		},
		{
			Name: "wrong key", How: "the nodes hold another key than the launcher",
			Want: []mpi.Reason{diagnose.AuthenticationFailed}, Shape: inSandbox("fault-key"), Before: otherKey,
		},
	}...)
}

// withoutDNS runs a job in a cluster without DNS. It must not take longer for that.
var withoutDNS = Fault{
	Name: "DNS broken", How: "CoreDNS has no pod: the job must complete all the same, within 10 s", Limit: 10 * time.Second,
	Shape: command("mpirun", "-n", "4", "mpi-hello"),
	Before: func(ctx context.Context, t *attempt) (func(context.Context) error, error) {
		dns := client.ObjectKey{Namespace: "kube-system", Name: "coredns"}
		return func(ctx context.Context) error { return t.scale(ctx, dns, 1) }, t.scale(ctx, dns, 0)
	},
}

// refusedAtFirst is a policy engine that learns of the job's pods late. Agents reach each other: the daemons of MPI must try again.
// Those of MPICH do so for a moment only (docs/limits.md).
var refusedAtFirst = Fault{
	Name: "MPI ports refused at first", How: "machines answer new TCP connections between pods, but to ports 53 and 2222, with a reset until the launcher has run for 2 s: the job must complete all the same",
	Limit: 15 * time.Second, Shape: command("mpirun", "-n", "4", "mpi-hello"),
	During: func(ctx context.Context, t *attempt) (func(context.Context) error, error) {
		undo, err := reject("-p", "tcp", "-s", podNetwork, "-d", podNetwork, "--syn", "-m", "multiport", "!", "--dports", "53,2222")(ctx, t)
		if err != nil {
			return undo, err
		}
		return nil, errors.Join(t.launcherRuns(ctx, 2*time.Second), undo(context.WithoutCancel(ctx)))
	},
}

// launcherRuns returns when the launcher has run for some time, or has ended.
func (t *attempt) launcherRuns(ctx context.Context, since time.Duration) error {
	return until(ctx, time.Minute, "the launcher does not run", func(ctx context.Context) (bool, error) {
		pods := &corev1.PodList{}
		err := t.admin.Client.List(ctx, pods, client.InNamespace(t.job.Namespace),
			client.MatchingLabels{mpi.JobSetNameLabel: t.job.Name, mpi.ReplicatedJobLabel: mpi.LauncherJob})
		return slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool {
			return slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
				return c.State.Terminated != nil || c.State.Running != nil && time.Since(c.State.Running.StartedAt.Time) > since
			})
		}), err
	})
}

// podNetwork holds the addresses of all pods of the local cluster.
const podNetwork = "10.244.0.0/16"

func (c *cluster) controllerAddress(ctx context.Context) (string, error) {
	pods := &corev1.PodList{}
	err := c.admin.Client.List(ctx, pods, client.InNamespace(platform.Namespace), client.MatchingLabels{mpi.ControllerLabel: mpi.ControllerName})
	// One that is being replaced may still be there.
	pods.Items = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
	if err == nil && len(pods.Items) != 1 {
		err = fmt.Errorf("%d pods of the controller, one is expected", len(pods.Items))
	}
	if err != nil {
		return "", err
	}
	return pods.Items[0].Status.PodIP, nil
}

// agentsUnreachable keeps everybody but the controller from the agents.
func agentsUnreachable(how func(match ...string) step) step {
	return func(ctx context.Context, t *attempt) (func(context.Context) error, error) {
		address, err := t.controllerAddress(ctx)
		if err != nil {
			return nil, err
		}
		return how("-p", "tcp", "--dport", "2222", "!", "-s", address)(ctx, t)
	}
}

// impatient makes a runtime before a step whose launchers give up earlier on nodes that nobody reaches.
func impatient(before step) step {
	return func(ctx context.Context, t *attempt) (func(context.Context) error, error) {
		err := t.CopyRuntime(ctx, t.fault.mpi().runtime, "fault-impatient", func(r *trainer.ClusterTrainingRuntime) {
			eachPod(r, func(role string, pod *corev1.PodSpec) {
				if role == mpi.LauncherJob {
					pod.Containers[0].Command = []string{mpi.AgentBin, "run", "--dark-after=20s", "--"}
				}
			})
		})
		if err != nil {
			return nil, err
		}
		return before(ctx, t)
	}
}

func dropController(ctx context.Context, t *attempt) (func(context.Context) error, error) {
	address, err := t.controllerAddress(ctx)
	if err != nil {
		return nil, err
	}
	return drop("-p", "tcp", "--dport", "2222", "-s", address)(ctx, t)
}

// hostLink sets the machine's end of a node's link up or down.
func hostLink(ctx context.Context, node, state string) error {
	link := "lockstep-n" + node[len("node"):]
	if out, err := exec.CommandContext(ctx, "ip", "link", "set", link, state).CombinedOutput(); err != nil {
		return fmt.Errorf("set link %s %s: %w: %s", link, state, err, out)
	}
	return nil
}

// otherKey makes a runtime whose nodes read a key from a Secret of its own instead of that of the job.
func otherKey(ctx context.Context, t *attempt) (func(context.Context) error, error) {
	secret, err := keySecret("fault-other-key")
	if err != nil {
		return nil, err
	}
	if err := t.admin.Client.Create(ctx, secret); err != nil {
		return nil, err
	}
	return t.forget(secret), t.CopyRuntime(ctx, "openmpi4-cpu", "fault-key", func(r *trainer.ClusterTrainingRuntime) {
		eachPod(r, func(role string, pod *corev1.PodSpec) {
			if role != mpi.NodeJob {
				return
			}
			pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "other", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
				SecretName: secret.Name, DefaultMode: ptr.To[int32](0o444), Items: []corev1.KeyToPath{
					{Key: mpi.PrivateKeyKey, Path: mpi.PrivateKeyFile}, {Key: mpi.PublicKeyKey, Path: mpi.PublicKeyFile},
					{Key: mpi.PublicKeyKey, Path: mpi.AuthorizedKeysFile},
				},
			}}})
			for i := range pod.Containers {
				pod.Containers[i].Env = append(pod.Containers[i].Env, corev1.EnvVar{Name: "LOCKSTEP_KEY_DIR", Value: "/other"})
				pod.Containers[i].VolumeMounts = append(pod.Containers[i].VolumeMounts, corev1.VolumeMount{Name: "other", MountPath: "/other"})
			}
		})
	})
}

func keySecret(name string) (*corev1.Secret, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	private, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		return nil, err
	}
	public, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		return nil, err
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: sandbox}, Type: corev1.SecretTypeSSHAuth,
		Data: map[string][]byte{mpi.PrivateKeyKey: pem.EncodeToMemory(private), mpi.PublicKeyKey: ssh.MarshalAuthorizedKey(public)},
	}, nil
}
