package sysctl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type machine struct {
	t    *testing.T
	root string
}

func newMachine(t *testing.T, values map[string]string) machine {
	t.Helper()
	m := machine{t: t, root: t.TempDir()}
	for name, value := range values {
		m.set(name, value)
	}
	return m
}

func (m machine) set(name, value string) {
	m.t.Helper()
	path := filepath.Join(m.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(value+"\n"), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func (m machine) values(names ...string) map[string]string {
	m.t.Helper()
	got := map[string]string{}
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(m.root, name))
		if err != nil {
			m.t.Fatal(err)
		}
		got[name] = strings.TrimSpace(string(content))
	}
	return got
}

func TestSaveRestore(t *testing.T) {
	own := map[string]string{"vm/overcommit_memory": "0", "kernel/panic": "30"}
	cases := map[string]struct {
		reason string
		// then is what happens between the first save and the restore.
		then func(t *testing.T, m machine, k Keeper)
		boot string
		want map[string]string
	}{
		"changed": {
			reason: "what kubelet changed comes back",
			then:   func(_ *testing.T, m machine, _ Keeper) { m.set("vm/overcommit_memory", "1") },
			boot:   "b1",
			want:   own,
		},
		"second save after a crash": {
			reason: "the values of a half-dead cluster must not become the machine's own",
			then: func(t *testing.T, m machine, k Keeper) {
				m.set("kernel/panic", "10")
				if err := k.Save([]string{"vm/overcommit_memory", "kernel/panic"}); err != nil {
					t.Fatal(err)
				}
			},
			boot: "b1",
			want: own,
		},
		"machine was rebooted": {
			reason: "a boot resets sysctls, an older save says nothing about them",
			then:   func(_ *testing.T, m machine, _ Keeper) { m.set("kernel/panic", "5") },
			boot:   "b2",
			want:   map[string]string{"vm/overcommit_memory": "0", "kernel/panic": "5"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, own)
			k := Keeper{Root: m.root, File: filepath.Join(t.TempDir(), "save.json"), Boot: "b1"}
			if err := k.Save([]string{"vm/overcommit_memory", "kernel/panic", "not/there"}); err != nil {
				t.Fatal(err)
			}
			tc.then(t, m, k)
			k.Boot = tc.boot
			if err := k.Restore(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, m.values("vm/overcommit_memory", "kernel/panic")); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", tc.reason, diff)
			}
			if _, err := os.Stat(k.File); !os.IsNotExist(err) {
				t.Errorf("the save is still there after the restore: %v", err)
			}
		})
	}
}

func TestRestoreWithoutSaveChangesNothing(t *testing.T) {
	m := newMachine(t, map[string]string{"kernel/panic": "3"})
	k := Keeper{Root: m.root, File: filepath.Join(t.TempDir(), "save.json")}
	if err := k.Restore(); err != nil {
		t.Fatal(err)
	}
	if got := m.values("kernel/panic")["kernel/panic"]; got != "3" {
		t.Errorf("kernel/panic is %s after a restore of nothing, want 3", got)
	}
}

func TestRaiseNeverLowers(t *testing.T) {
	m := newMachine(t, map[string]string{"a": "128", "b": "9000"})
	k := Keeper{Root: m.root}
	for _, name := range []string{"a", "b"} {
		if err := k.Raise(name, 1024); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{"a": "1024", "b": "9000"}
	if diff := cmp.Diff(want, m.values("a", "b")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
