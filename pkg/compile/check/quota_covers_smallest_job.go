package check

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// quotaCoversSmallestJob asks that one smallest job of every usable runtime fits the quota, launcher included: otherwise the
// tenant could never start one. A line of the quota is told once, with the runtime that takes the most.
func quotaCoversSmallestJob(c *plan.Cluster, list *diag.List) {
	smallest := map[*plan.Runtime]corev1.ResourceList{} // one runtime has many tenants
	for _, t := range c.Tenants {
		var short []shortage
		for r := range t.RuntimesToCheck() {
			wanted, known := smallest[r]
			if !known {
				wanted = r.JobResources(r.MinNodes.V)
				smallest[r] = wanted
			}
			pods := *resource.NewQuantity(t.Quota.Pods.V, resource.DecimalSI)
			short = addShortage(short, shortage{"pods", pods, t.Quota.Pods.At, wanted[corev1.ResourcePods], r, 0})
			if t.Queue != nil {
				// Kueue counts the rest: the proof of capacity asks the queue.
				continue
			}
			short = addShortage(short, shortage{"cpu", t.Quota.CPU.V, t.Quota.CPU.At, wanted[corev1.ResourceCPU], r, 0})
			short = addShortage(short, shortage{"memory", t.Quota.Memory.V, t.Quota.Memory.At, wanted[corev1.ResourceMemory], r, 0})
			// An accelerator that the quota leaves out is there with 0: the quota that is compiled says so too.
			if name := r.Profile.Accelerator.V; name != "" {
				granted := t.Quota.Accelerator(name)
				short = addShortage(short, shortage{name, granted.V, granted.At, wanted[corev1.ResourceName(name)], r, 0})
			}
		}
		for i := range short {
			short[i].report(list)
		}
	}
}

// shortage is a part of a quota that is less than the smallest job of a runtime takes.
type shortage struct {
	what    string
	granted resource.Quantity
	at      source.Span
	wanted  resource.Quantity
	runtime *plan.Runtime
	// others is how many other runtimes take more than the quota, too.
	others int
}

// addShortage adds what is too little to what was found before: of one part of the quota only the runtime that takes the most.
func addShortage(found []shortage, s shortage) []shortage {
	if s.wanted.Cmp(s.granted) <= 0 {
		return found
	}
	i := slices.IndexFunc(found, func(known shortage) bool { return known.what == s.what })
	if i < 0 {
		return append(found, s)
	}
	known := &found[i]
	if known.others++; s.wanted.Cmp(known.wanted) > 0 {
		known.wanted, known.runtime = s.wanted, s.runtime
	}
	return found
}

func (s *shortage) report(list *diag.List) {
	r := s.runtime
	d := list.Errorf(diag.QuotaTooSmall, s.at, "the quota is %s %s, the smallest job of the runtime `%s` takes %s", s.granted.String(), s.what, r.Name.V, s.wanted.String()).
		Also(r.Name.At, "nodes of the smallest job: %d", r.MinNodes.V)
	if s.others > 0 {
		d.Notef("of the tenant's other runtimes %d take too much as well", s.others).Helpf("raise `%s` to %s or more, or leave these runtimes out of `runtimes`", s.what, s.wanted.String())
		return
	}
	d.Helpf("raise `%s` to %s or more, or leave the runtime out of `runtimes`", s.what, s.wanted.String())
}
