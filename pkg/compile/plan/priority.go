package plan

import (
	"cmp"
	"slices"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
)

// Priority is a class of jobs.
type Priority struct {
	Name        Value[string]
	Level       Value[int32]
	Description Value[string]
	Default     Value[bool]
}

// Priority returns a priority of the cluster, or nil.
func (c *Cluster) Priority(name string) *Priority {
	for i := range c.Priorities {
		if c.Priorities[i].Name.V == name {
			return &c.Priorities[i]
		}
	}
	return nil
}

// PriorityOf returns the priority of the jobs of a runtime: the one that it names, or the default one of the cluster. It is nil
// where the cluster has neither.
func (c *Cluster) PriorityOf(r *Runtime) *Priority {
	if named := r.Gang.Priority.V; named != "" {
		return c.Priority(named)
	}
	for i := range c.Priorities {
		if c.Priorities[i].Default.V {
			return &c.Priorities[i]
		}
	}
	return nil
}

func priorities(d *decode.Document, list []v1alpha1.Priority) []Priority {
	var result []Priority
	for i := range list {
		p := &list[i]
		result = append(result, Priority{
			Name: writtenValue(d, &p.Name), Level: writtenValue(d, &p.Value), Description: writtenValue(d, &p.Description),
			Default: orDefault(d, &p.Default, "jobs name the priority that they want"),
		})
	}
	slices.SortStableFunc(result, func(a, b Priority) int { return cmp.Compare(a.Name.V, b.Name.V) })
	return result
}
