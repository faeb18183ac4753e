package capacity

import "testing"

// The verdicts of Kueue v0.16.1's own scheduler (pkg/cache/scheduler and pkg/scheduler/flavorassigner, with nodes for topology-aware
// scheduling) on the objects that testdata/clusters.txtar compiles to: how much of a flavor a queue can ever get, and the largest job
// that it admits.
var (
	potentials = []struct {
		queue, flavor, resource string
		want                    int64
	}{
		{"speech", "cpu", "cpu", 32_000},
		{"speech", "cpu", "memory", 137438953472},
		{"speech", "cpu", "nvidia.com/gpu", 0},
		{"speech", "gpu", "cpu", 1_818_000},
		{"speech", "gpu", "hugepages-2Mi", 38654705664},
		{"speech", "gpu", "memory", 17471926960128},
		{"speech", "gpu", "nvidia.com/gpu", 72},
		{"vision", "cpu", "cpu", 64_000},
		{"vision", "gpu", "cpu", 1_616_000},
		{"vision", "gpu", "nvidia.com/gpu", 64},
		{"vision", "gpu", "rdma/ib", 8},
	}
	largestJobs = []struct {
		queue, runtime string
		want           int64
	}{
		{"speech", "first", 9}, {"speech", "train", 9}, {"vision", "first", 8}, {"vision", "train", 8},
	}
)

// checkKueue compares the arithmetic with Kueue's.
func checkKueue(t *testing.T, facts []Facts) {
	t.Helper()
	b := newKueueModel(facts)
	for _, p := range potentials {
		if got := b.potentialAvailable(b.queues[p.queue], p.flavor, p.resource); got != p.want {
			t.Errorf("`%s` can get %d %s of `%s`, Kueue says %d", p.queue, got, p.resource, p.flavor, p.want)
		}
	}
	runtimes := map[string]*runtime{}
	for i := range facts {
		for j := range facts[i].runtimes {
			runtimes[facts[i].runtimes[j].name] = &facts[i].runtimes[j]
		}
	}
	for _, job := range largestJobs {
		q, r := b.queues[job.queue], runtimes[job.runtime]
		if got := b.largestAdmitted(q, r, 1, 100); got != job.want {
			t.Errorf("the largest job of `%s` in `%s` has %d nodes, Kueue says %d", job.runtime, job.queue, got, job.want)
		}
	}
}

// CheckKueue is checkKueue for tests that compile.
var CheckKueue = checkKueue
