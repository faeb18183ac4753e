package rsh

import (
	"debug/buildinfo"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
)

// FindOtherSSH finds the program that a call of `ssh` means whose host is not of this job, as git and rsync make it: the first
// `ssh` on the PATH of the environment that is not an agent. It is "" where there is none. For a host of this job, and for
// one that may be of it because nobody knows the hosts yet, no other is meant.
func FindOtherSSH(s state.Settings, hostname string, args, environment []string) (program string, meant bool) {
	host := hostOfSSH(args)
	if host == "" || IsOwnHost(s, host, hostname) || !isForeignHost(s, host) {
		return "", false
	}
	for _, dir := range filepath.SplitList(process.SearchPath(environment)) {
		if !filepath.IsAbs(dir) {
			continue // as for package os/exec, what depends on the current folder does not count
		}
		path, err := exec.LookPath(filepath.Join(dir, "ssh"))
		if err == nil && !isAgent(path) {
			return path, true
		}
	}
	return "", true
}

// isForeignHost reports whether a host is surely none of this job.
func isForeignHost(s state.Settings, name string) bool {
	host, err := resolveHost(s, name)
	unknown := new(unknownHostError)
	return errors.As(err, &unknown) || err == nil && !host.ofJob
}

// optionsWithValue are the letters of ssh(1) that take a value.
const optionsWithValue = "BbcDEeFIiJLlmOoPpQRSWw"

// hostOfSSH returns the host of a command line of ssh, also of one with options that Options does not have: its first word
// that is neither an option nor the value of one. It is "" where there is none.
func hostOfSSH(args []string) string {
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		switch {
		case word == "--":
			return stripUser(strings.Join(args[:min(len(args), 1)], ""))
		case len(word) < 2 || word[0] != '-':
			return stripUser(word)
		case strings.IndexAny(word[1:], optionsWithValue) == len(word)-2: // the value is the next word
			args = args[min(len(args), 1):]
		}
	}
	return ""
}

// isAgent reports whether a file is this program, or the agent of another version: two agents that pass on to each other
// would never end.
func isAgent(path string) bool {
	self, selfErr := os.Stat("/proc/self/exe")
	file, err := os.Stat(path)
	if selfErr == nil && err == nil && os.SameFile(self, file) {
		return true
	}
	own, known := debug.ReadBuildInfo()
	other, err := buildinfo.ReadFile(path)
	return known && err == nil && other.Path == own.Path
}
