package submit

import (
	"fmt"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
)

// Runtime is one that a job may name.
type Runtime struct {
	Name string
	// Kind is ClusterTrainingRuntime or TrainingRuntime.
	Kind string
	// Default: the platform offers it first. Deprecated: it will go.
	Default, Deprecated bool
}

// The kinds of runtimes.
const (
	ClusterTrainingRuntime = "ClusterTrainingRuntime"
	TrainingRuntime        = "TrainingRuntime"
)

// ChooseRuntime returns the runtime of a name; without a name the default one, or the only one. A runtime of the namespace comes before
// one of the cluster that has the same name.
func ChooseRuntime(all []Runtime, name string) (Runtime, error) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Runtime) int {
		if a.Kind != b.Kind && a.Kind == TrainingRuntime {
			return -1
		}
		return strings.Compare(a.Name, b.Name)
	})
	if name != "" {
		return findRuntime(all, name)
	}
	var defaults, current []Runtime
	for _, r := range all {
		if r.Default {
			defaults = append(defaults, r)
		}
		if !r.Deprecated {
			current = append(current, r)
		}
	}
	switch {
	case len(all) == 0:
		return Runtime{}, fmt.Errorf("there is no runtime that you may see: name one with --runtime, or ask the platform team which there are")
	case len(defaults) == 1:
		return defaults[0], nil
	case len(current) == 1:
		return current[0], nil
	}
	return Runtime{}, fmt.Errorf("which runtime? None of them is the default: name one with --runtime: %s", quoteNames(all, Runtime.runtimeName))
}

func (r Runtime) runtimeName() string { return r.Name }

func findRuntime(all []Runtime, name string) (Runtime, error) {
	var names []string
	for _, r := range all {
		if r.Name == name {
			return r, nil
		}
		names = append(names, r.Name)
	}
	if near, found := diag.Nearest(name, names); found {
		return Runtime{}, fmt.Errorf("there is no runtime `%s`: did you mean `%s`?", name, near)
	}
	if len(all) == 0 {
		return Runtime{}, fmt.Errorf("there is no runtime `%s`, nor any other that you may see: ask the platform team which there are", name)
	}
	return Runtime{}, fmt.Errorf("there is no runtime `%s`: there are %s", name, quoteNames(all, Runtime.runtimeName))
}

// ChooseQueue returns the queue of a name. Without a name it is the platform's, if there is one, or the only one, or "" if
// there is none. The queues are nil if they are not known.
func ChooseQueue(queues []string, platform, name string) (string, error) {
	switch {
	case name != "" && (slices.Contains(queues, name) || queues == nil):
		return name, nil
	case name != "" && len(queues) == 0:
		return "", fmt.Errorf("there is no queue `%s`, nor any other in the namespace: leave `--queue` out", name)
	case name != "":
		if near, found := diag.Nearest(name, queues); found {
			return "", fmt.Errorf("there is no queue `%s` in the namespace: did you mean `%s`?", name, near)
		}
		return "", fmt.Errorf("there is no queue `%s` in the namespace: there are %s", name, quoteNames(queues, func(q string) string { return q }))
	case len(queues) == 0:
		return "", nil
	case slices.Contains(queues, platform):
		return platform, nil
	case len(queues) == 1:
		return queues[0], nil
	}
	return "", fmt.Errorf("which queue? Name one with --queue: %s", quoteNames(queues, func(q string) string { return q }))
}

// CheckClaims returns an error for a claim whose name is nearly that of another one. A job may wait for a claim that is
// still to be made.
func CheckClaims(claims []VolumeClaim, known []string) error {
	for _, c := range claims {
		near, found := diag.Nearest(c.Name, known)
		if found && !slices.Contains(known, c.Name) {
			return fmt.Errorf("there is no claim `%s` in the namespace: did you mean `%s`?", c.Name, near)
		}
	}
	return nil
}

func quoteNames[T any](all []T, name func(T) string) string {
	texts := make([]string, 0, len(all))
	for _, one := range all {
		texts = append(texts, "`"+name(one)+"`")
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), ", ")
}
