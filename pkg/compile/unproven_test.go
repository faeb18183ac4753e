package compile_test

import (
	"io/fs"
	"os"
	"syscall"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/compile/emit/disk"
	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/resolve"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/test/bench/workload"
)

// BenchmarkUnproven measures what a build does beside checks and proofs: read 1,000 tenants for three clusters, plan, lower, encode and
// write. It is here and in no program, so that nobody can write for a cluster what was not proven:
//
//	GOMAXPROCS=1 go test -run - -bench Unproven ./pkg/compile
func BenchmarkUnproven(b *testing.B) {
	dir := b.TempDir()
	if _, err := workload.Generate(dir, workload.Options{Tenants: 1000, Clusters: 3, Seed: 1}); err != nil {
		b.Fatal(err)
	}
	objects := 0
	b.ResetTimer()
	before := processorTime(b)
	for range b.N {
		objects += unproven(b, os.DirFS(dir), b.TempDir())
	}
	b.ReportMetric(float64(objects)/(processorTime(b)-before).Seconds(), "objects/CPU-s")
}

// processorTime is that of the process so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// unproven compiles into a folder and returns the number of objects.
func unproven(b *testing.B, root fs.FS, out string) (objects int) {
	b.Helper()
	list := &diag.List{}
	plans := plan.Clusters(resolve.IndexDocuments(decode.Loader{Root: root}.Load(source.Find(root), list), list), "")
	dir, err := disk.Open(out)
	if err != nil {
		b.Fatal(err)
	}
	defer dir.Close()
	writer, err := emit.NewWriter(dir)
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range plans {
		var entries []emit.KustomizationEntry
		write := func(unit []object.Object) {
			files, more := emit.Files(p.Name.V, unit)
			objects, entries = objects+len(unit), append(entries, more...)
			if err := writer.Add(files); err != nil {
				b.Fatal(err)
			}
		}
		write(lower.PlatformObjects(p))
		write(lower.RuntimeObjects(p, list))
		for _, t := range p.Tenants {
			write(lower.TenantObjects(p, t, list))
		}
		if err := writer.Add(emit.Kustomizations(p.Name.V, entries, lower.GitOpsFolder)); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := writer.Finish(func(string) bool { return false }); err != nil || list.Errors() > 0 {
		b.Fatal(err, list.Errors())
	}
	return objects
}
