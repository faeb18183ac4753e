package chart

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"runtime/debug"
	"strings"

	"lockstep.dev/lockstep/internal/version"
)

// sources are those of both sides of the border, as they were compiled into a program.
//
//go:embed *.go helm/*.go
var sources embed.FS

// BuildID names what a program was built from: the release, the revision and whether it was changed, and a digest of the sources of the
// border and of the renderer. The first two may be the same for builds that differ, as without a repository around the source; the digest
// is not.
func BuildID() string {
	recorded := []string{"version " + version.String()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
				recorded = append(recorded, s.Key+"="+s.Value)
			}
		}
	}
	return strings.Join(append(recorded, "source "+shortDigest(sources)), " ")
}

// shortDigest is short: it tells builds apart that nobody tries to confuse.
func shortDigest(files fs.FS) string {
	sum := sha256.New()
	// What was embedded can be read.
	_ = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, _ error) error {
		if !entry.IsDir() && !strings.HasSuffix(name, "_test.go") {
			data, _ := fs.ReadFile(files, name)
			fmt.Fprintf(sum, "%s %d\n%s", name, len(data), data)
		}
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
