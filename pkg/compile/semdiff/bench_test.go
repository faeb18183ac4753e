package semdiff_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
)

// many is a repository of three clusters and 1,500 tenants on each of them: 45,000 objects.
func many(b *testing.B, cidr string) fstest.MapFS {
	b.Helper()
	files := base(b)
	tenant, cluster := string(files["tenants/students.yaml"].Data), string(files["overlays/lab/cluster.yaml"].Data)
	for name := range files {
		if strings.HasPrefix(name, "tenants/") || strings.HasPrefix(name, "overlays/") {
			delete(files, name)
		}
	}
	for i := range 3 {
		name := fmt.Sprintf("c%d", i)
		files["overlays/"+name+"/cluster.yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(cluster, "name: lab", "name: "+name, 1))}
	}
	for i := range 1500 {
		name := fmt.Sprintf("team-%04d", i)
		text := strings.NewReplacer("namespaces: [students, students-exam]", "namespaces: ["+name+"]", "students", name, "clusters: [lab]", "clusters: [c0, c1, c2]",
			"  quota:", "  network:\n    egress: [{cidr: "+cidr+", ports: [{port: 2049}]}]\n  quota:").Replace(tenant)
		files["tenants/"+name+".yaml"] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

func compiledUnits(b *testing.B, files fstest.MapFS) []compile.Unit {
	b.Helper()
	var units []compile.Unit
	list, err := compile.Stream(files, compile.Options{Today: today}, func(u compile.Unit) error {
		units = append(units, u)
		return nil
	})
	if err != nil || list.Errors() > 0 {
		b.Fatalf("%v, %d errors, for example %s", err, list.Errors(), list.Sorted()[0].Message)
	}
	return units
}

// heap is what is alive; 0 where it is not asked for, because it takes time.
func heap(asked bool) uint64 {
	if !asked {
		return 0
	}
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.HeapAlloc
}

// BenchmarkCompare compares two states of three clusters with 1,500 tenants each, all units of both sides: equal ones, and such
// with another range that every tenant may reach.
func BenchmarkCompare(b *testing.B) {
	before := compiledUnits(b, many(b, "10.20.0.0/16"))
	for name, after := range map[string][]compile.Unit{
		"equal": before, "every_tenant": compiledUnits(b, many(b, "0.0.0.0/0")),
	} {
		b.Run(name, func(b *testing.B) {
			objects, entries, live := 0, 0, uint64(0)
			for b.Loop() {
				start := heap(live == 0)
				var in semdiff.Input
				for i := range before {
					in.Units = append(in.Units, semdiff.NewUnit(before[i].Cluster, before[i].Name, before[i].Objects, after[i].Objects, nil))
				}
				live = max(live, heap(live == 0)-start)
				r := semdiff.Compare(in)
				objects, entries = r.Totals.Objects, len(r.Entries)
			}
			b.ReportMetric(float64(live)/(1<<20), "MiB-kept")
			b.ReportMetric(float64(objects), "objects")
			b.ReportMetric(float64(entries), "entries")
		})
	}
}
