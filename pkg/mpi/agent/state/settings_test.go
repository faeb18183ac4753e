package state

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
)

func TestSettingsFrom(t *testing.T) {
	environment := map[string]string{KeyDirVariable: "/k", StateDirVariable: "/s", PortVariable: "22"}
	lookup := func(name string) (string, bool) { value, found := environment[name]; return value, found }
	got, err := SettingsFrom(lookup)
	if diff := cmp.Diff(Settings{KeyDir: "/k", StateDir: "/s", Port: 22}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	environment[PortVariable] = "ssh"
	if _, err := SettingsFrom(lookup); err == nil {
		t.Error("accepted a port that is none")
	}
	clear(environment)
	got, err = SettingsFrom(lookup)
	want := Settings{KeyDir: mpi.SSHAuthMountPath, StateDir: mpi.StateDir, Port: mpi.AgentPort}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if got.HostTablePath() != mpi.HostTablePath || got.HydraHostfilePath() != mpi.HydraHostfilePath {
		t.Error("the state files are not where compiled runtimes look for them")
	}
}
