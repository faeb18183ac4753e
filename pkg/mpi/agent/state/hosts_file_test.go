package state

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
)

func TestOwnsFile(t *testing.T) {
	line := func(root, at string) string {
		return "700 650 8:1 " + root + " " + at + " rw,relatime - ext4 /dev/sda1 rw\n"
	}
	pod := "/var/lib/kubelet/pods/9d0e/"
	for name, c := range map[string]struct {
		mounts string
		want   bool
	}{
		"a file of an emptyDir":       {line(pod+"volumes/kubernetes.io~empty-dir/lockstep-state/hosts", "/etc/hosts"), true},
		"by the way of a subPath":     {line("/", "/etc") + line(pod+"volume-subpaths/lockstep-state/node/0", "/etc/hosts"), true},
		"kubelet's own":               {line(pod+"etc-hosts", "/etc/hosts"), false},
		"kubelet's own under another": {line(pod+"etc-hosts", "/etc/hosts") + line("/x/hosts", "/etc/hosts"), true},
		"the image's":                 {line("/", "/") + line("/x", "/etc/hostname"), false},
		"nonsense":                    {"a b\n\n", false},
	} {
		if got := isVolumeMount(c.mounts, "/etc/hosts"); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestUpdateHostsReplacesItsOwnPartOnly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(file, []byte("127.0.0.1 localhost\n\n10.9.9.9 licence-server"), 0o644); err != nil {
		t.Fatal(err)
	}
	long := mpi.HostTable{Hosts: []mpi.HostAddress{{Name: "a-launcher-0-0.a", Address: "10.0.0.1"}, {Name: "a-node-0-0.a", Address: "fd00::2"}}}
	short := mpi.HostTable{Hosts: []mpi.HostAddress{{Name: "b", Address: "10.0.0.3"}}}
	for _, table := range []mpi.HostTable{long, short, long} {
		if err := updateHostsFile(file, table); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	want := "127.0.0.1 localhost\n10.9.9.9 licence-server\n" + hostsBegin +
		"\n10.0.0.1 a-launcher-0-0.a a-launcher-0-0\nfd00::2 a-node-0-0.a a-node-0-0\n" + hostsEnd + "\n"
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if err := updateHostsFile(filepath.Join(filepath.Dir(file), "none"), long); err == nil {
		t.Error("wrote a file that is not there")
	}
}

func TestAnEmptyHostsFileGetsLocalhost(t *testing.T) {
	want := "127.0.0.1 localhost\n::1 localhost\n" + hostsBegin + "\n" + hostsEnd + "\n"
	if diff := cmp.Diff(want, ReplaceHostsPart("\n", mpi.HostTable{})); diff != "" {
		t.Error(diff)
	}
}

func FuzzWithHosts(f *testing.F) {
	f.Add("127.0.0.1 localhost\n")
	f.Add(hostsBegin + "\nx\n")
	f.Fuzz(func(t *testing.T, old string) {
		table := mpi.HostTable{Hosts: []mpi.HostAddress{{Name: "a.b", Address: "10.0.0.1"}}}
		once := ReplaceHostsPart(old, table)
		if twice := ReplaceHostsPart(once, table); twice != once {
			t.Errorf("%q becomes %q and then %q", old, once, twice)
		}
	})
}
