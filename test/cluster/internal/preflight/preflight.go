// Package preflight checks what the cluster needs of the machine before it
// touches it, and says everything that is missing at once.
package preflight

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"lockstep.dev/lockstep/test/cluster/internal/progress"
)

// Need is something that a Debian package provides.
type Need struct {
	Package string
	// Programs are looked for in PATH and the system's folders.
	Programs []string
	// Files is a list of patterns, of which one must match a file.
	Files []string
}

// ToRun is what a running node calls.
func ToRun() []Need {
	return []Need{
		{Package: "iptables", Programs: []string{"iptables", "iptables-save", "iptables-restore"}},
		{Package: "ipset", Programs: []string{"ipset"}},
		{Package: "conntrack", Programs: []string{"conntrack"}},
		{Package: "iproute2", Programs: []string{"ip"}},
		{Package: "mount", Programs: []string{"mount", "umount"}},
	}
}

// ToLoad is what a machine needs whose kernel lacks a module.
func ToLoad() []Need {
	return []Need{{Package: "kmod", Programs: []string{"modprobe"}}}
}

// ToBuild is what building runc needs; all other programs are pure Go.
func ToBuild() []Need {
	return []Need{
		{Package: "gcc", Programs: []string{"gcc"}},
		{Package: "libc6-dev", Files: []string{"/usr/include/stdio.h"}},
		{Package: "pkg-config", Programs: []string{"pkg-config"}},
		{Package: "libseccomp-dev", Files: []string{"/usr/lib/*/libseccomp.a", "/usr/lib/libseccomp.a", "/usr/lib64/libseccomp.a"}},
	}
}

// RootError says what needs root.
type RootError struct{ For string }

func (e RootError) Error() string {
	return e.For + " needs root, because it makes namespaces, control groups and links: run it as root"
}

// Root returns a RootError for everybody else.
func Root(purpose string) error {
	if os.Geteuid() != 0 {
		return RootError{For: purpose}
	}
	return nil
}

// MissingError names the packages that must be installed.
type MissingError struct{ Packages []string }

func (e MissingError) Error() string {
	return "these Debian packages, or what they contain, are missing: " + strings.Join(e.Packages, " ") +
		": run `apt-get install " + strings.Join(e.Packages, " ") + "`"
}

// Provide makes sure that needs are met: as root with apt-get it installs what
// is missing and says so, otherwise it returns a MissingError.
func Provide(ctx context.Context, needs []Need, say *progress.Reporter) error {
	missing := Missing(needs, hasProgram, hasFile)
	if len(missing) == 0 {
		return nil
	}
	apt, err := exec.LookPath("apt-get")
	if os.Geteuid() != 0 || err != nil {
		return MissingError{Packages: missing}
	}
	step := say.Begin("install Debian packages: %s", strings.Join(missing, " "))
	return step.End(install(ctx, apt, missing))
}

// Missing names the packages of the needs that are not met.
func Missing(needs []Need, hasProgram, hasFile func(string) bool) []string {
	var missing []string
	for _, n := range needs {
		programs := !slices.ContainsFunc(n.Programs, func(p string) bool { return !hasProgram(p) })
		files := len(n.Files) == 0 || slices.ContainsFunc(n.Files, hasFile)
		if !programs || !files {
			missing = append(missing, n.Package)
		}
	}
	return missing
}

func hasProgram(name string) bool {
	if _, err := exec.LookPath(name); err == nil {
		return true
	}
	return hasFile("/usr/sbin/"+name) || hasFile("/sbin/"+name)
}

func hasFile(pattern string) bool {
	found, _ := filepath.Glob(pattern)
	return len(found) > 0
}

// install tries with the package lists that are there, and then with new ones.
func install(ctx context.Context, apt string, packages []string) error {
	args := append([]string{"install", "-y", "-q", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=120"}, packages...)
	if _, err := run(ctx, apt, args...); err == nil {
		return nil
	}
	if out, err := run(ctx, apt, "update", "-q"); err != nil {
		return fmt.Errorf("update the package lists: %w\n%s", err, out)
	}
	if out, err := run(ctx, apt, args...); err != nil {
		return errors.Join(MissingError{Packages: packages}, fmt.Errorf("apt-get failed: %w\n%s", err, out))
	}
	return nil
}

func run(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C")
	return cmd.CombinedOutput()
}
