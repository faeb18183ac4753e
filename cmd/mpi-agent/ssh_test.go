package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// ssh calls ssh in the launcher by its path, with a PATH of these folders.
func (j *job) ssh(path []string, arguments ...string) *running {
	j.t.Helper()
	environment := append(j.environment(j.hosts[0]), "PATH="+strings.Join(path, ":"), "MARK=kept")
	return start(j.t, environment, append([]string{filepath.Join(j.bin, "ssh")}, arguments...)...)
}

// imageSSH says what it was called with, and ends with 7.
const imageSSH = "#!/bin/sh\necho \"image: $# $* $MARK\"\nread line && echo \"read $line\"\nexit 7\n"

func TestSSHToOtherHostsIsThatOfTheImage(t *testing.T) {
	t.Parallel()
	j, _ := serving(t, 1)
	j.script("ssh", imageSSH)
	another := filepath.Join(t.TempDir(), "bin")
	if got := start(t, []string{asAgent + "=1"}, filepath.Join(j.bin, "mpi-agent"), "install", another).wait(); got.code != 0 {
		t.Fatal(got)
	}
	unknown := "mpi-agent rsh: elsewhere is not a host of this job, which has demo-launcher-0-0, demo-node-0-0\n"
	none := "mpi-agent rsh: the image has no ssh, which hosts that are not of this job need\n"
	cases := map[string]struct {
		reason string
		path   []string
		args   []string
		want   ended
	}{
		"git":      {"its options are kept", []string{j.bin, j.scripts}, []string{"-i", "/k", "-F", "/f", "git@elsewhere", "git-upload-pack 'a b'"}, ended{code: 7, stdout: "image: 6 -i /k -F /f git@elsewhere git-upload-pack 'a b' kept\n"}},
		"terminal": {"options that the agent does not have", []string{j.bin, j.scripts}, []string{"-tt", "elsewhere"}, ended{code: 7, stdout: "image: 2 -tt elsewhere kept\n"}},
		"agents":   {"they do not pass on to each other", []string{j.bin, another, j.bin, j.scripts}, []string{"elsewhere", "true"}, ended{code: 7, stdout: "image: 2 elsewhere true kept\n"}},
		"none":     {"an image without ssh", []string{j.bin, another}, []string{"elsewhere", "true"}, ended{code: 255, stderr: unknown + none}},
		"node":     {"a host of the job", []string{j.bin, j.scripts}, []string{"-i", "/k", "demo-node-0-0", "echo $HOSTNAME; exit 3"}, ended{code: 3, stdout: "demo-node-0-0\n"}},
		"mistake":  {"at a host of the job", []string{j.bin, j.scripts}, []string{"-tt", "demo-node-0-0"}, ended{code: 255, stderr: "mpi-agent rsh: option -t: terminals are not offered\n"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := j.ssh(c.path, c.args...).wait(); got != c.want {
				t.Errorf("%s: got %+v, want %+v", c.reason, got, c.want)
			}
		})
	}
}

// MPI calls rsh: a host that is not of the job is a mistake there, whatever the image has.
func TestRshStaysInTheJob(t *testing.T) {
	t.Parallel()
	j, _ := serving(t, 1)
	j.script("ssh", imageSSH)
	j.script("rsh", imageSSH)
	if got := j.rsh("elsewhere", "true").wait(); got.code != 255 || got.stdout != "" || strings.Contains(got.stderr, "no ssh") {
		t.Errorf("%+v", got)
	}
}

// In FIPS mode the agent changes its own environment, and the other ssh must not see that.
func TestTheOtherSSHHasTheEnvironmentOfTheCaller(t *testing.T) {
	t.Parallel()
	j, _ := serving(t, 1)
	j.setenv("LOCKSTEP_FIPS", "true")
	j.script("ssh", "#!/bin/sh\necho \"${GODEBUG-none} ${LOCKSTEP_SAVED_GODEBUG-none}\"\n")
	if got := j.ssh([]string{j.bin, j.scripts}, "elsewhere", "true").wait(); got.stdout != "none none\n" {
		t.Errorf("%+v", got)
	}
}

func TestACommandClonesAndLaunches(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1)
	j.setenv("MARK", "kept")
	j.script("ssh", imageSSH)
	got, lines := j.launched("sh", "-c", "ssh -p 22 git@elsewhere git-upload-pack; ssh demo-node-0-0 orted")
	if got.code != 0 || strings.Join(lines, "; ") != "image: 4 -p 22 git@elsewhere git-upload-pack kept; rank on demo-node-0-0:" {
		t.Errorf("%+v, %q", got, lines)
	}
}
