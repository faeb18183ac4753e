package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// sourceCommit is the commit that a release is made of.
type sourceCommit struct {
	commit string
	// time is that of the commit, and of everything in the release.
	time time.Time
}

var errChanged = errors.New("the checkout has changes that are not committed: nobody could make this release again")

// readSourceCommit returns the commit of the checkout. Where the release has a tag already it must be that commit.
func readSourceCommit(version string) (sourceCommit, error) {
	changes, err := commandOutput("git", "status", "--porcelain")
	if err != nil {
		return sourceCommit{}, err
	}
	if changes != "" {
		return sourceCommit{}, errChanged
	}
	text, err := commandOutput("git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return sourceCommit{}, err
	}
	commit, seconds, _ := strings.Cut(text, " ")
	if tagged, err := commandOutput("git", "rev-parse", "--quiet", "--verify", "refs/tags/"+version+"^{commit}"); err == nil && tagged != commit {
		return sourceCommit{}, fmt.Errorf("the checkout is commit %.12s, and the tag %s is %.12s: run `git checkout %s`", commit, version, tagged, version)
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	return sourceCommit{commit: commit, time: time.Unix(unix, 0).UTC()}, err
}

// commandOutput runs a program of ours and returns what it prints, without the last line end.
func commandOutput(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}
