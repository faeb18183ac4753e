package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"lockstep.dev/lockstep/test/bench/workload"
)

// git runs git in a folder, without the settings of the user.
func git(ctx context.Context, folder string, args ...string) error {
	settings := []string{
		"-C", folder, "-c", "user.name=Bench", "-c", "user.email=bench@example.org", "-c", "commit.gpgsign=false",
	}
	cmd := exec.CommandContext(ctx, "git", append(settings, args...)...) //nolint:gosec // the arguments are ours
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, output)
	}
	return nil
}

// repository makes a git repository with two commits: the state base of a site, and a tenant changed in it. As in a
// clone, there is one pack.
func (s *site) repository(ctx context.Context, folder string) error {
	err := os.CopyFS(folder, os.DirFS(s.same))
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch", "main"}, {"add", "--all"}, {"commit", "--quiet", "--message", "The platform"},
	} {
		if err == nil {
			err = git(ctx, folder, args...)
		}
	}
	if err == nil {
		err = workload.ChangeTenant(folder, s.TenantFiles[len(s.TenantFiles)/2], 1001)
	}
	for _, args := range [][]string{
		{"commit", "--quiet", "--all", "--message", "A tenant gets more jobs"}, {"gc", "--quiet"},
	} {
		if err == nil {
			err = git(ctx, folder, args...)
		}
	}
	return err
}
