package rootfs

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"lockstep.dev/lockstep/test/images/internal/pinned"
)

// aptHelper downloads single files with the settings of apt.
const aptHelper = "/usr/lib/apt/apt-helper"

// tarball is how the names of what packages are made of end.
const tarball = ".orig.tar.gz"

// FetchUpstream returns what a package of Debian's archive is made of, as its authors published it, in the folder cache; apt downloads it first if
// it is not there. hash is the SHA-256 of the file.
func (s Source) FetchUpstream(ctx context.Context, name, version, hash, cache string, report func(string)) (string, error) {
	return pinned.File{Name: name, Version: version, SHA256: hash, Suffix: tarball}.Fetch(cache, report, func(folder string) error {
		return run(exec.CommandContext(ctx, aptHelper, "download-file", s.upstream(name, version), filepath.Join(folder, name+tarball)), func(string) {})
	})
}

// upstream is where an archive has the source of a package: a folder for each first letter, and for the names of libraries for each first four.
// Rule: https://wiki.debian.org/DebianRepository/Format
func (s Source) upstream(name, version string) string {
	folder := name[:1]
	if strings.HasPrefix(name, "lib") && len(name) > len("lib") {
		folder = name[:len("lib")+1]
	}
	return fmt.Sprintf("%s/pool/main/%s/%s/%s_%s%s", strings.TrimRight(s.URI, "/"), folder, name, name, version, tarball)
}
