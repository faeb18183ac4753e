package rsh

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/mpi/agent/install"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
)

// installed returns a folder with an agent in it that is another file than this program.
func installed(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := install.Install(self, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// withSSH returns a folder with a file ssh.
func withSSH(t *testing.T, mode os.FileMode) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte("#!/bin/sh\n"), mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOtherSSH(t *testing.T) {
	s := state.Settings{StateDir: t.TempDir()}
	if err := state.WriteHostTable(s.HostTablePath(), jobTable); err != nil {
		t.Fatal(err)
	}
	own, image, note := t.TempDir(), withSSH(t, 0o755), withSSH(t, 0o644)
	if err := os.Symlink("/proc/self/exe", filepath.Join(own, "ssh")); err != nil {
		t.Fatal(err)
	}
	another, found := installed(t), filepath.Join(image, "ssh")
	t.Chdir(withSSH(t, 0o755))
	cases := map[string]struct {
		reason string
		args   string
		path   []string
		want   string
		meant  bool
	}{
		"git":         {"behind this program", "-o SendEnv=GIT_PROTOCOL git@host.example git-upload-pack", []string{own, image}, found, true},
		"in front":    {"the folder of the agent may be the last", "host true", []string{image, own}, found, true},
		"two agents":  {"of other versions too, whatever the order", "host true", []string{own, another, own, image, another}, found, true},
		"no other":    {"nothing but agents", "host true", []string{own, another}, "", true},
		"no program":  {"a file that cannot run", "host true", []string{own, note, filepath.Join(note, "none"), image}, found, true},
		"here":        {"the current folder is not asked", "host true", []string{own, "", ".", image}, found, true},
		"address":     {"not in the table", "192.0.2.1 true", []string{own, image}, found, true},
		"node":        {"it has our agent only", "-p 22 demo-node-0-0 true", []string{own, image}, "", false},
		"node, far":   {"a cluster name of it", "me@demo-node-0-0.demo.ns.svc true", []string{own, image}, "", false},
		"its address": {"it is in the table", "10.0.0.2 true", []string{own, image}, "", false},
		"no host":     {"a mistake is ours to name", "-x", []string{own, image}, "", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := "PATH=" + strings.Join(c.path, ":")
			got, meant := FindOtherSSH(s, "demo-launcher-0-0", strings.Fields(c.args), []string{path})
			if got != c.want || meant != c.meant {
				t.Errorf("%s: got %q, %v", c.reason, got, meant)
			}
		})
	}
	if got, meant := FindOtherSSH(state.Settings{StateDir: t.TempDir()}, "demo-launcher-0-0", []string{"host", "true"}, []string{"PATH=" + image}); got != "" || meant {
		t.Errorf("without a table any host may be one of the job: %q, %v", got, meant)
	}
}

func TestHostOfSSH(t *testing.T) {
	for args, want := range map[string]string{
		"h c":                           "h",
		"u@h":                           "h",
		"-i /k -F /f -p 22 -l u h c":    "h",
		"-tt -vJ jump -L1:a:2 -W x:1 h": "h",
		"-oPort=1 -p22 -xqo A=b h -p c": "h",
		"-4 -- h -c":                    "h",
		"-Q cipher":                     "",
		"-p":                            "",
		"--":                            "",
		"-V":                            "",
		"":                              "",
	} {
		if got := hostOfSSH(strings.Fields(args)); got != want {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
}
