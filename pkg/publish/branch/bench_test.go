package branch

import (
	"bytes"
	"fmt"
	"testing"

	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/publish"
)

// BenchmarkPublish publishes one changed file of 3,003: a thousand tenants on three clusters.
func BenchmarkPublish(b *testing.B) {
	folder := b.TempDir()
	runIn(b, folder, "init", "-q", "-b", "main")
	var tree publish.Tree
	for i := range 3003 {
		tree.Files = append(tree.Files, emit.File{Path: fmt.Sprintf("c%d/tenants/t%04d/tenant.yaml", i%3, i), Data: bytes.Repeat([]byte(fmt.Sprintf("tenant: %d\n", i)), 500)})
	}
	tree.Folder = "dist"
	for n := 0; b.Loop(); n++ {
		runIn(b, folder, "commit", "-q", "--allow-empty", "-m", fmt.Sprint(n))
		source, err := publish.ReadSource(folder, runIn(b, folder, "rev-parse", "HEAD"))
		if err != nil {
			b.Fatal(err)
		}
		tree.Source = source
		tree.Files[7].Data = fmt.Appendf(nil, "n: %d\n", n)
		branch, err := OpenLocal(folder, "rendered")
		if err != nil {
			b.Fatal(err)
		}
		if done, err := branch.Publish(b.Context(), &tree, by); err != nil || done.State != Published {
			b.Fatal(done, err)
		}
	}
}
