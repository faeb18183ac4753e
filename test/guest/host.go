package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"lockstep.dev/lockstep/test/reporoot"
)

const qemu = "qemu-system-x86_64"

// provide makes sure that this machine can boot another one: root installs what is missing and says so, anybody else is told.
func provide(ctx context.Context, t task, emulate bool, out io.Writer) error {
	if os.Geteuid() != 0 {
		return errors.New("a guest needs root, to install a Debian for it and to share folders with it: run as root")
	}
	missing := missingPackages(t, emulate, func(program string) bool { _, err := exec.LookPath(program); return err == nil })
	if len(missing) == 0 {
		return nil
	}
	words := append([]string{"install", "-y", "-q", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=120"}, missing...)
	_, _ = fmt.Fprintf(out, "INSTALLING ON THIS MACHINE with apt-get: %s\n", strings.Join(missing, " "))
	if call(ctx, io.Discard, "apt-get", words...) == nil {
		return nil
	}
	if err := call(ctx, io.Discard, "apt-get", "update", "-q"); err != nil {
		return err
	}
	if err := call(ctx, out, "apt-get", words...); err != nil {
		return fmt.Errorf("install what a guest needs: %w: run `apt-get install %s`", err, strings.Join(missing, " "))
	}
	return nil
}

func missingPackages(t task, emulate bool, has func(program string) bool) []string {
	var missing []string
	for _, need := range []struct {
		needed        bool
		program, name string
	}{
		{true, "mke2fs", "e2fsprogs"},
		{emulate, qemu, "qemu-system-x86"},
		{t.network && !emulate, slirp, "slirp"},
	} {
		if need.needed && !has(need.program) {
			missing = append(missing, need.name)
		}
	}
	return missing
}

// host is what a guest may need to know of this machine.
type host struct {
	// root is the checkout.
	root string
	// cache is that of finished programs and images.
	cache string
	// golang are Go's own settings.
	golang map[string]string
}

// settings of Go that decide where it finds what, and whom it asks.
var settings = []string{"GOROOT", "GOMODCACHE", "GOCACHE", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GONOPROXY", "GOFLAGS"}

func lookAround(ctx context.Context) (host, error) {
	root, err := reporoot.Find()
	if err != nil {
		return host{}, err
	}
	caches, err := os.UserCacheDir()
	if err != nil {
		return host{}, err
	}
	raw, err := exec.CommandContext(ctx, "go", append([]string{"env", "-json"}, settings...)...).Output()
	if err != nil {
		return host{}, fmt.Errorf("ask Go for its settings: %w", err)
	}
	h := host{root: root, cache: filepath.Join(caches, "lockstep")}
	return h, json.Unmarshal(raw, &h.golang)
}

func (h host) path(below string) string { return filepath.Join(h.root, below) }

func (h host) images() string { return h.path("build/bin/images") }

// shares are the folders that a task sees. Where one lies in another, the outer one comes first.
func (h host) shares(t task, compiled bool) []share {
	shares := []share{{"checkout", h.root}, {"go", h.golang["GOROOT"]}}
	if t.caches || compiled {
		shares = append(shares, share{"modules", h.golang["GOMODCACHE"]}, share{"builds", h.golang["GOCACHE"]})
	}
	if t.caches {
		shares = append(shares, share{"programs", h.cache})
	}
	return shares
}

// environment is that of the script. Certificates and package indexes are this machine's.
func (h host) environment() [][2]string {
	variables := [][2]string{
		{"HOME", os.Getenv("HOME")},
		{"PATH", filepath.Join(h.golang["GOROOT"], "bin") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		{"CHECKOUT", h.root},
		{"LOCKSTEP_CACHE", h.cache},
		{"XDG_CACHE_HOME", filepath.Dir(h.cache)},
	}
	for _, name := range settings {
		if value := h.golang[name]; value != "" {
			variables = append(variables, [2]string{name, value})
		}
	}
	return variables
}
