package chart

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"runtime/debug"
	"strings"
)

// sources are those of both sides of the border, as they were compiled into a program.
//
//go:embed *.go helm/*.go
var sources embed.FS

// Build names what a program was built from: the module's version, the revision and whether it was changed, and a digest of the sources
// of the border and of the renderer. The first two are what the Go toolchain recorded; without a repository around the source they are
// the same for all builds, and the digest is not.
func Build() string {
	var recorded []string
	if info, ok := debug.ReadBuildInfo(); ok {
		recorded = append(recorded, "version "+info.Main.Version)
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
				recorded = append(recorded, s.Key+"="+s.Value)
			}
		}
	}
	return strings.Join(append(recorded, "source "+digest(sources)), " ")
}

// digest is short: it tells builds apart that nobody tries to confuse.
func digest(files fs.FS) string {
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
