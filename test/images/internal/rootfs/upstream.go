package rootfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// aptHelper downloads single files with the settings of apt, and refuses those of another hash.
const aptHelper = "/usr/lib/apt/apt-helper"

// FetchUpstream returns what a package of Debian's archive is made of, as its authors published it, in the folder cache; apt downloads it first if
// it is not there. hash is the SHA-256 of the file.
func (s Source) FetchUpstream(ctx context.Context, name, version, hash, cache string, report func(string)) (string, error) {
	file := filepath.Join(cache, name+"-"+version+"-"+hash[:16]+".orig.tar.gz")
	if _, err := os.Stat(file); err == nil {
		return file, nil // it was moved there when apt had checked it
	}
	report("downloading " + name + " " + version)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp(cache, ".tmp-")
	if err != nil {
		return "", err
	}
	download := filepath.Join(temp, "file")
	err = run(exec.CommandContext(ctx, aptHelper, "download-file", s.upstream(name, version), download, "SHA256:"+hash), func(string) {})
	if err == nil {
		err = os.Rename(download, file)
	}
	if err := errors.Join(err, os.RemoveAll(temp)); err != nil {
		return "", fmt.Errorf("download %s %s: %w", name, version, err)
	}
	return file, nil
}

// upstream is where an archive has the source of a package: a folder for each first letter, and for the names of libraries for each first four.
// Rule: Debian's policy for archives, https://wiki.debian.org/DebianRepository/Format
func (s Source) upstream(name, version string) string {
	folder := name[:1]
	if strings.HasPrefix(name, "lib") && len(name) > len("lib") {
		folder = name[:len("lib")+1]
	}
	return fmt.Sprintf("%s/pool/main/%s/%s/%s_%s.orig.tar.gz", strings.TrimRight(s.URI, "/"), folder, name, name, version)
}
