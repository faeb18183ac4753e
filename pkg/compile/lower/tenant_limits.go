package lower

import (
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// tenantLimits are annotations of a tenant's namespace: what the policy for TrainJobs must know of the tenant.
func tenantLimits(c *plan.Cluster, t *plan.Tenant) []object.Node {
	if !c.AdmissionPolicies() {
		return nil
	}
	limits := append(make([]object.Node, 0, 7),
		allowedRuntimes(t), externalRuntimes(t), variantBounds(t), acceleratorLimits(t), containerLimits(t))
	if t.Queue != nil {
		limits = append(limits, object.Text(queueAnnotation, plan.LocalQueue, annotationRule))
	}
	return limits
}

func allowedRuntimes(t *plan.Tenant) object.Node {
	var names strings.Builder
	for i, r := range t.Usable {
		if i > 0 {
			names.WriteByte(',')
		}
		names.WriteString(r.Name.V)
	}
	from := &origin.Origin{At: t.Name.At, Kind: origin.Derived, Why: "all runtimes of the cluster that admit the tenant"}
	if len(t.Named) > 0 {
		from.At, from.Why = t.Named[0].Name.At, "the runtimes that the tenant names, as far as the cluster has them"
	}
	return object.Text(runtimesAnnotation, names.String(), from)
}

// externalRuntimes are in an annotation of their own: a name in it has no bounds, so that one of ours must never come there by chance.
func externalRuntimes(t *plan.Tenant) object.Node {
	if len(t.External) == 0 {
		return object.Node{}
	}
	from := &origin.Origin{At: t.External[0].At, Kind: origin.Derived, Why: "the runtimes of others that the tenant names"}
	names := make([]string, len(t.External))
	for i := range t.External {
		names[i] = t.External[i].V
		from.Also = append(from.Also, t.External[i].At)
	}
	return object.Text(externalAnnotation, strings.Join(names, ","), from)
}

func variantBounds(t *plan.Tenant) object.Node {
	if len(t.Variants) == 0 {
		return object.Node{}
	}
	from := &origin.Origin{At: t.Variants[0].Runtime.Name.At, Kind: origin.Derived, Why: "the runtimes of the tenant's own, with their bounds"}
	entries := make([]string, len(t.Variants))
	for i, v := range t.Variants {
		r := v.Runtime
		from.Also = append(from.Also, r.Name.At, v.Base.Name.At, r.MinNodes.At, r.MaxNodes.At, r.DefaultNodes.At)
		entries[i] = r.Name.V + "=" + v.Base.Name.V + ":" + decimal(r.MinNodes.V) + ":" + decimal(r.MaxNodes.V) + ":" + decimal(r.DefaultNodes.V)
	}
	return object.Text(variantsAnnotation, strings.Join(entries, ","), from)
}

func decimal(n int32) string { return strconv.FormatInt(int64(n), 10) }

// acceleratorLimits has an entry for each profile of the tenant's runtimes that has accelerators.
func acceleratorLimits(t *plan.Tenant) object.Node {
	var entries strings.Builder
	var from *origin.Origin
	var last *plan.Profile
	seen := map[*plan.Profile]bool{}
	for _, r := range t.Usable {
		if r.Profile == last || seen[r.Profile] {
			continue
		}
		last, seen[r.Profile] = r.Profile, true
		most, bounded := t.MaxAccelerators(r.Profile)
		if !bounded {
			continue
		}
		if from == nil {
			from = &most.Origin
		} else {
			entries.WriteByte(',')
			from.Also = append(append(from.Also, most.At), most.Also...)
		}
		entries.WriteString(r.Profile.Name)
		entries.WriteByte('=')
		entries.WriteString(strconv.FormatInt(most.V, 10))
	}
	if from == nil {
		return object.Node{}
	}
	return object.Text(acceleratorsAnnotation, entries.String(), from)
}

// containerLimits repeats the LimitRange, whose refusal of a pod nobody sees who created a TrainJob.
func containerLimits(t *plan.Tenant) object.Node {
	l := &t.Limits
	var entries []string
	from := &l.MaxCPU.Origin
	if l.MaxMemory.V != nil {
		from = &l.MaxMemory.Origin
	}
	if l.MaxCPU.V != nil {
		entries = append(entries, "cpu="+l.MaxCPU.V.String())
	}
	if l.MaxMemory.V != nil {
		entries = append(entries, "memory="+l.MaxMemory.V.String())
	}
	if len(entries) == 0 {
		return object.Node{}
	}
	return object.Text(containerAnnotation, strings.Join(entries, ","),
		&origin.Origin{At: from.At, Kind: origin.Derived, Why: "the bounds of the LimitRange"})
}
