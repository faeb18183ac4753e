package match

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// Path leads to a value in an object: keys of maps; items of lists by the keys that Kubernetes tells them apart by, else by index.
type Path []string

// String returns for example `spec.hard["requests.cpu"]`, as explain takes it.
func (p Path) String() string { return object.SpellPath(p) }

// Short is the path as a sentence needs it: within the pod template of a job, after the name of the job.
func (p Path) Short() string {
	job, rest := p.InJob()
	if job != "" {
		return job + ": " + rest
	}
	return rest
}

// InJob is the path as a sentence needs it; within the pod template of a job that of the template, beside the name of the job.
func (p Path) InJob() (job, rest string) {
	if p.Is("metadata", "annotations", "*") || p.Is("metadata", "labels", "*") {
		return "", p[2]
	}
	for i := len(p) - 1; i > 1; i-- {
		if p[i-1] == "spec" && p[i-2] == "template" {
			return p.lastJob(), p[i:].String()
		}
	}
	if len(p) > 1 && p[0] == "spec" {
		return "", p[1:].String()
	}
	return "", p.String()
}

// lastJob is the name of the last job of a JobSet that the path leads into, or "".
func (p Path) lastJob() string {
	for i := len(p) - 2; i >= 0; i-- {
		if p[i] == "replicatedJobs" {
			return p[i+1]
		}
	}
	return ""
}

// Is reports whether the path is equal to a pattern of keys, in which `*` stands for any one of them and `**` at the end for the rest.
func (p Path) Is(pattern ...string) bool {
	for i, key := range pattern {
		switch {
		case key == "**":
			return true
		case i >= len(p) || key != "*" && key != p[i]:
			return false
		}
	}
	return len(p) == len(pattern)
}

// Has reports whether a key is in the path.
func (p Path) Has(key string) bool { return slices.Contains(p, key) }

// Last is the last key, or "".
func (p Path) Last() string {
	if len(p) == 0 {
		return ""
	}
	return p[len(p)-1]
}
