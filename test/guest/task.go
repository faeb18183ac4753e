package main

import (
	"embed"
	"fmt"
	"strings"
)

// inside are the files that go into the guest.
//
//go:embed inside
var inside embed.FS

// task is a script in inside/ with what it needs of a machine.
type task struct {
	// packages are on the disk besides those that every machine needs to start.
	packages []string
	// network connects the guest with whatever this machine reaches.
	network bool
	// caches brings in what was built and downloaded here: what Go keeps, and finished programs and images.
	caches bool
}

var tasks = map[string]task{
	"look": {packages: nodePackages, caches: true},
	// Without a network: nothing may be missing that a later run would have to download.
	"proof": {packages: nodePackages, caches: true},
	"fresh": {packages: []string{"git", "make"}, network: true},
}

var (
	// basePackages make a machine of Debian that starts once it has a kernel. An installer brings apparmor, because the kernel recommends it.
	basePackages = []string{
		"apparmor", "apt", "ca-certificates", "dbus", "debian-archive-keyring", "iproute2", "kmod", "procps", "systemd-sysv", "udev",
	}
	// nodePackages are what the local cluster would install.
	nodePackages = []string{"conntrack", "ipset", "iptables"}
)

// share is a folder of this machine that the guest sees at the same path.
type share struct{ tag, path string }

// sharesFile is what inside/shares reads.
func sharesFile(shares []share) string {
	var b strings.Builder
	for _, s := range shares {
		fmt.Fprintln(&b, s.tag, s.path)
	}
	return b.String()
}

// environmentFile is what inside/lockstep-task reads.
func environmentFile(variables [][2]string) string {
	var b strings.Builder
	for _, v := range variables {
		fmt.Fprintf(&b, "export %s=%s\n", v[0], quote(v[1]))
	}
	return b.String()
}

// quote makes one word for a shell.
func quote(value string) string { return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'" }
