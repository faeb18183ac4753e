package template

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/mpi"
)

func TestGateOfAnInitContainer(t *testing.T) {
	cases := map[string]struct {
		reason      string
		imageVolume bool
		command     []string
		more        map[string]string
	}{
		"ImageVolume": {"the agent is there", true, []string{"/bin/mpi-agent", "gate"}, nil},
		"InstalledAgent": {
			"one init container does both: each costs up to a second", false,
			[]string{"/bin/mpi-agent", "gate", "--install", "/opt/lockstep/bin"}, map[string]string{mpi.AgentVolume: mpi.AgentDir},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := sample()
			r.Agent.ImageVolume, r.UnderTrainer = tc.imageVolume, true
			_, launcher, node := build(t, r)
			last := launcher.InitContainers[0]
			if diff := cmp.Diff(tc.command, last.Command); diff != "" || len(launcher.InitContainers) != 1 {
				t.Errorf("%s: the launcher has %d init containers, the first (-want +got):\n%s", tc.reason, len(launcher.InitContainers), diff)
			}
			mounts := map[string]string{}
			for _, m := range last.VolumeMounts {
				mounts[m.Name] = m.MountPath
			}
			want := map[string]string{mpi.StateVolume: mpi.StateDir, mpi.SSHAuthVolume: mpi.SSHAuthMountPath, mpi.HostfileVolume: mpi.HostfileDir}
			maps.Copy(want, tc.more)
			if diff := cmp.Diff(want, mounts); diff != "" {
				t.Errorf("its mounts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(launcher.Containers[0].Resources, last.Resources); diff != "" {
				t.Errorf("a quota would count more than for the launcher alone:\n%s", diff)
			}
			if readOnly := last.SecurityContext.ReadOnlyRootFilesystem; readOnly == nil || !*readOnly {
				t.Error("it may write to its image")
			}
			hosts := corev1.VolumeMount{Name: mpi.StateVolume, MountPath: "/etc/hosts", SubPath: "hosts"}
			if got := launcher.Containers[0].VolumeMounts; !cmp.Equal(got[len(got)-1], hosts) {
				t.Errorf("mounts of the launcher = %v", got)
			}
			for _, c := range node.InitContainers {
				if c.Name == mpi.GateContainer {
					t.Error("a node waits for itself")
				}
				if readOnly := c.SecurityContext.ReadOnlyRootFilesystem; readOnly == nil || !*readOnly {
					t.Errorf("%s may write to its image", c.Name)
				}
			}
			if command := launcher.Containers[0].Command; command[0] != mpi.AgentBin {
				t.Errorf("the launcher's own command is %v: a TrainJob with arguments only would run without the agent", command)
			}
		})
	}
}
